//! Redaction: of an event there stays when and by whom it was; its content is gone for every reader, its values as asked.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use reqwest::Method;
use serde_json::{Value, json};
use sqlx::{Connection as _, PgConnection};

use super::transfer::{assert_all, exported, import, results};
use crate::artifact_faults::until;
use crate::support::binary::{PATIENT, together};
use crate::support::client::{APP_STATE, Answer, Client, EVENTS, ONE, S, STATE, USER_STATE};
use crate::support::databases::{Fixture as _, Place, on_both_databases};
use crate::support::postgres::{Database, dedicated};
use crate::support::random::Random;
use crate::support::server::TestServer;
use crate::support::sse::Watch;
use crate::support::state::assert_folds;

/// In what must not be read again.
const SECRET: &str = "hunter2";

fn redact_at(session: &str, event: &str) -> String {
    format!("{S}/{session}/events/{event}/redact")
}

async fn redact(server: &Client, event: &str, body: Value) -> Answer {
    server.post(redact_at("s", event)).json(body).await.expect(200)
}

async fn keep(server: &Client, event: &str) -> Answer {
    redact(server, event, json!({})).await
}

async fn remove(server: &Client, event: &str) -> Answer {
    redact(server, event, json!({"state": "remove"})).await
}

async fn fork(server: &Client, source: &str, body: Value) {
    server.post(format!("{S}/{source}/fork")).json(body).await.expect(201);
}

async fn state_at(server: &Client, session: &str, revision: i64) -> Value {
    server.get(format!("{S}/{session}/state?atRevision={revision}")).await.expect(200).json()
}

/// An event with a secret in each part.
fn telling(id: &str) -> Value {
    json!({
        "id": id, "timestamp": 1.50, "author": "ann", "invocationId": "i1", "branch": "b",
        "content": {"role": "user", "parts": [{"text": format!("my password is {SECRET}")}]},
        "errorMessage": SECRET, "customMetadata": {"note": SECRET, "rewindToRevision": SECRET}, SECRET: SECRET,
        "actions": {
            "stateDelta": {"k": 1}, "artifactDelta": {"f": 0, "g": SECRET}, "transferToAgent": SECRET,
            "preconditions": [{"key": SECRET, "exists": false}], SECRET: 1,
        },
    })
}

/// Everything that can be read of the app.
async fn all(server: &Client, sessions: &[&str]) -> String {
    let mut all = String::new();
    for session in sessions {
        for path in ["", "/events", "/events?order=desc&author=ann", "/state", "/export"] {
            all += server.get(format!("{S}/{session}{path}")).await.expect(200).text();
        }
        let revision = server.get(format!("{S}/{session}")).await.json()["revision"].as_i64().expect("a revision");
        for n in 0..=revision {
            all += server.get(format!("{S}/{session}/state?atRevision={n}")).await.expect(200).text();
        }
        all += server.get(format!("/apps/app/users/user/sessions/{session}")).await.expect(200).text();
    }
    for path in ["/v1/apps/app/export", "/v1/apps/app/feed", "/v1/apps/app/sessions?includeState=true"] {
        let answer = server.get(path).await;
        all += answer.text();
    }
    all
}

on_both_databases! {
    async fn the_content_is_gone_and_what_says_when_and_by_whom_stays(server: &TestServer) with ["--feed-retention=1h"] {
        server.create(r#"{"state":{"k":0}}"#).await;
        let given = telling("e1");
        server.append(given.to_string()).await;
        server.append(r#"{"id":"e2","author":"bob","actions":{"stateDelta":{"l":2}}}"#).await;
        let before = server.get(ONE).await.expect(200);
        assert!(all(server, &["s"]).await.contains(SECRET));
        let commit_time = before.raw(&["events", "0", "commitTime"]);

        let answer = redact(server, "e1", json!({"reason": "a password"})).await;
        let time = answer.raw(&["redacted", "time"]);
        let event = format!(
            r#"{{"id":"e1","timestamp":1.5,"author":"ann","invocationId":"i1","branch":"b","actions":{{"stateDelta":{{"k":1}},"artifactDelta":{{"f":0}}}},"redacted":{{"time":{time},"reason":"a password"}},"sequence":1,"commitTime":{commit_time}}}"#
        );
        assert_eq!(answer.text(), format!(r#"{},"forks":0}}"#, event.strip_suffix('}').expect("an object")));
        assert!(!all(server, &["s"]).await.contains(SECRET));
        assert_eq!(server.get(format!("{EVENTS}/e1")).await.expect(200).text(), event);
        for path in [EVENTS.to_owned(), format!("{EVENTS}?author=ann"), format!("{EVENTS}?branch=b&invocationId=i1"), ONE.to_owned()] {
            assert_eq!(server.get(&path).await.expect(200).raw(&["events", "0"]), event, "{path}");
        }
        // States are what they were, and no revision has changed but the last part of the tag.
        let after = server.get(ONE).await.expect(200);
        assert_eq!(after.raw(&["state"]), before.raw(&["state"]));
        assert_eq!(after.etag(), format!("{}-1\"", before.etag().trim_end_matches('"')));
        assert_eq!(after.etag(), answer.etag());
        assert_eq!(after.json()["lastUpdateTime"], before.json()["lastUpdateTime"]);
        assert_eq!(state_at(server, "s", 1).await, json!({"k": 1}));
        // ADK's own paths show what ADK has of it.
        let adk = server.get("/apps/app/users/user/sessions/s").await.expect(200).json();
        assert_eq!(adk["events"][0]["author"], "ann");
        assert!(adk["events"][0].get("redacted").is_none() && adk["events"][0].get("content").is_none(), "{adk}");

        // Again, with whatever reason: nothing changes.
        for body in [json!({}), json!({"reason": "other"}), json!({"state": "keep"})] {
            let again = redact(server, "e1", body).await;
            assert_eq!((again.text(), again.etag()), (answer.text(), answer.etag()));
        }
        let feed = server.get("/v1/apps/app/feed?kinds=event.redacted").await.expect(200).json();
        let changes = feed["changes"].as_array().expect("changes");
        assert_eq!((changes.len(), &changes[0]["sequence"], &changes[0]["events"][0]["id"]), (1, &json!(1), &json!("e1")));
        let bare = server.get("/v1/apps/app/feed?kinds=event.redacted&include=none").await.expect(200).json();
        assert!(bare["changes"][0]["sequence"] == 1 && bare["changes"][0].get("events").is_none(), "{bare}");
    }

    async fn a_retry_of_a_redacted_event_is_recognised(server: &TestServer) {
        server.create("{}").await;
        let ops = json!({"id": "ops", "author": "a", "actions": {"stateOps": [{"op": "increment", "key": "n", "value": 1}]}});
        for event in [telling("e1"), ops.clone(), json!({"id": "e3", "author": "a"})] {
            server.append(event.to_string()).await;
        }
        server.patch(STATE).json(r#"{"stateDelta":{"x":1},"eventId":"patched"}"#).await.expect(200);
        for event in ["e1", "patched"] {
            keep(server, event).await;
        }
        remove(server, "ops").await;
        let revision = server.get(ONE).await.json()["revision"].clone();
        let answer = server.post(EVENTS).json(telling("e1").to_string()).await.expect(200);
        assert_eq!(answer.text(), r#"{"id":"e1","sequence":1,"redacted":true}"#);
        assert!(answer.was_replayed());
        let answer = server.post(EVENTS).json(ops).await.expect(200);
        assert_eq!(answer.json(), json!({"id": "ops", "sequence": 2, "redacted": true}));
        let both = server.post(EVENTS).json(json!([telling("e1"), {"id": "e3", "author": "a"}])).await.expect(200);
        assert_eq!((&both.json()[0]["redacted"], &both.json()[1]["sequence"]), (&json!(true), &json!(3)));
        assert!(server.patch(STATE).json(r#"{"stateDelta":{"x":1},"eventId":"patched"}"#).await.expect(200).was_replayed());
        // By its id alone: nobody may guess what it was.
        let left = server.get(format!("{EVENTS}/e1")).await.text().to_owned();
        for other in [json!({"id": "e1", "author": "ann", "timestamp": 7}).to_string(), left] {
            let again = server.post(EVENTS).json(other).await.expect(200);
            assert_eq!(again.text(), r#"{"id":"e1","sequence":1,"redacted":true}"#);
        }
        let other = server.put(format!("{STATE}/x")).header("idempotency-key", "patched").json("9").await.expect(200);
        assert!(other.was_replayed());
        assert_eq!(server.get(format!("{STATE}/x")).await.text(), "1");
        let digests = server.number("select count(*) from events where redaction > 0 and digest <> (select digest from events where id = 'e1')");
        assert_eq!(digests.await, 0);
        assert_eq!(server.get(ONE).await.json()["revision"], revision);
        // In an event that is appended the field is the server's.
        let given = r#"{"id":"mine","author":"a","redacted":{"time":1,"reason":"mine"}}"#;
        assert!(!server.append(given).await.text().contains("redacted"));
        assert!(server.post(EVENTS).json(r#"{"id":"mine","author":"a"}"#).await.expect(200).was_replayed());
    }

    async fn values_go_from_the_past_and_the_present_of_all_scopes(server: &TestServer) {
        server.create(r#"{"state":{"k":0,"user:k":0,"app:k":0}}"#).await;
        let delta = |value: i64| json!({"k": value, "l": value, "user:k": value, "user:l": value, "app:k": value, "app:l": value});
        let appended = |id: &str, value: i64| json!({"id": id, "author": "a", "actions": {"stateDelta": delta(value)}}).to_string();
        server.append(appended("e1", 1)).await;
        // Of some keys the next event has another value; of the shared ones a change of the scope's own, too.
        server.append(r#"{"id":"e2","author":"a","actions":{"stateDelta":{"k":2,"user:k":2}}}"#).await;
        server.patch(APP_STATE).json(r#"{"stateDelta":{"k":2}}"#).await.expect(200);
        server.append(r#"{"id":"e3","author":"a","content":{}}"#).await;
        let before = server.get(ONE).await.expect(200).tag();
        let kept = keep(server, "e1").await;
        assert!(kept.json().get("revision").is_none(), "{kept}");
        for n in 0..=3 {
            assert_eq!(state_at(server, "s", n).await["l"].is_null(), n == 0);
        }

        let answer = remove(server, "e1").await;
        assert_eq!(answer.json()["revision"], 4);
        let removals = ["k", "l", "user:k", "user:l", "app:k", "app:l"].map(|key| json!({"op": "remove", "key": key}));
        assert_eq!(answer.json()["actions"], json!({"stateDelta": {}, "stateOps": removals}));
        assert_eq!(state_at(server, "s", 0).await, json!({"k": 0, "user:k": 0, "app:k": 0}));
        assert_eq!(state_at(server, "s", 1).await, json!({}));
        assert_eq!(state_at(server, "s", 2).await, json!({"k": 2, "user:k": 2}));
        assert_eq!(state_at(server, "s", 3).await, json!({"k": 2, "user:k": 2, "app:k": 2}));
        let now = server.get(STATE).await.expect(200);
        assert_eq!(now.json(), json!({"k": 2, "user:k": 2, "app:k": 2}));
        assert_eq!(state_at(server, "s", 4).await, now.json());
        // The event that removes what was still there.
        let removal = server.get(format!("{EVENTS}?afterSequence=3")).await.json()["events"][0].clone();
        let left = ["l", "user:l", "app:l"].map(|key| json!({"op": "remove", "key": key}));
        assert_eq!((&removal["author"], &removal["actions"]), (&json!("user"), &json!({"stateDelta": {}, "stateOps": left})));
        let after = server.get(ONE).await.expect(200);
        let tag: Vec<i64> = after.etag().trim_matches('"').split('.').take(3).map(|part| part.parse().expect("a number")).collect();
        assert_eq!(tag, [4, before.1 + 1, before.2 + 1]);
        assert!(after.etag().ends_with("-2\""), "{after}");
        assert_eq!(server.get(USER_STATE).await.json(), json!({"k": 2}));
        assert_eq!(server.get(APP_STATE).await.json(), json!({"k": 2}));
        assert_folds(server, ONE).await;
        // A key that was removed so has changed, here and in a copy; one that was not there has not.
        fork(server, "s", json!({"sessionId": "f"})).await;
        for session in ["s", "f"] {
            for (key, revision, status) in [("l", 3, 412), ("l", 4, 201), ("none", 0, 201), ("user:l", before.1, 412), ("user:l", before.1 + 1, 201)] {
                let event = json!({"author": "a", "actions": {"preconditions": [{"key": key, "revision": revision}]}});
                server.post(format!("{S}/{session}/events")).json(event).await.expect(status);
            }
        }
        // Once more, in whatever way.
        for (again, revision) in [(remove(server, "e1").await, answer.json()["revision"].take()), (keep(server, "e1").await, json!(null))] {
            let (mut again, mut first) = (again.json(), answer.json());
            assert_eq!(again["revision"], revision, "{again}");
            for object in [&mut again, &mut first] {
                object.as_object_mut().expect("an object").remove("revision");
            }
            assert_eq!((first["forks"].take(), again["forks"].take()), (json!(0), json!(1)));
            assert_eq!(again, first);
        }
        // A past without the values is where a rewind returns to.
        server.post(format!("{ONE}/rewind")).json(r#"{"toRevision":1}"#).await.expect(200);
        assert_eq!(server.get(format!("{STATE}?scope=session")).await.json(), json!({}));
    }

    async fn what_others_wrote_in_the_same_request_stays(server: &TestServer) {
        server.create(r#"{"events":[{"id":"c1","actions":{"stateDelta":{"user:a":1,"user:b":1}}},{"id":"c2","actions":{"stateDelta":{"user:a":2}}}]}"#).await;
        // The same value once more is a change of its own.
        let batch = json!([
            {"id": "e1", "author": "a", "actions": {"stateDelta": {"user:x": 1, "user:y": 1, "user:z": 1, "k": 1}}},
            {"id": "e2", "author": "a", "actions": {"stateDelta": {"user:x": 1, "k": 1}, "stateOps": [{"op": "remove", "key": "user:z"}]}},
            {"id": "e3", "author": "a"},
        ]);
        server.post(EVENTS).json(batch).await.expect(201);
        assert_eq!(remove(server, "e1").await.json()["revision"], 6);
        let shared = json!({"user:a": 2, "user:b": 1, "user:x": 1});
        assert_eq!(state_at(server, "s", 3).await, shared);
        let mut now = shared;
        now["k"] = json!(1);
        assert_eq!(server.get(STATE).await.json(), now);
        assert_eq!(state_at(server, "s", 4).await, now);
        // Of what is written twice in a request, the last counts.
        assert!(remove(server, "c1").await.json()["revision"] == 7);
        assert_eq!(server.get(USER_STATE).await.json(), json!({"a": 2, "x": 1}));
        assert_eq!(remove(server, "e2").await.json()["revision"], 8);
        assert_eq!(server.get(STATE).await.json(), json!({"user:a": 2}));
        assert_folds(server, ONE).await;
    }

    async fn results_of_operators_go_with_their_event(server: &TestServer) {
        server.create(r#"{"state":{"n":1,"l":[0]}}"#).await;
        let ops = |n: i64| json!([{"op": "increment", "key": "n", "value": n}, {"op": "append", "key": "l", "value": [n]}, {"op": "remove", "key": "gone"}]);
        for n in 1..=3 {
            server.append(json!({"id": format!("e{n}"), "author": "a", "actions": {"stateOps": ops(n)}}).to_string()).await;
        }
        let kept = keep(server, "e2").await;
        assert_eq!(kept.json()["actions"], json!({"stateDelta": {"n": 4, "l": [0, 1, 2]}, "stateOps": ops(2)}));
        let removed = remove(server, "e2").await;
        assert!(removed.json().get("revision").is_none());
        let keys = ["gone", "n", "l"].map(|key| json!({"op": "remove", "key": key}));
        assert_eq!(removed.json()["actions"]["stateOps"], json!(keys));
        assert_eq!(state_at(server, "s", 2).await, json!({}));
        assert_eq!(state_at(server, "s", 3).await, json!({"n": 7, "l": [0, 1, 2, 3]}));
        assert_folds(server, ONE).await;
    }

    async fn what_operators_made_of_a_removed_value_is_named(server: &TestServer) {
        server.create(r#"{"state":{"kept":[0]}}"#).await;
        let appended = async |id: &str, ops: Value| {
            server.append(json!({"id": id, "author": "a", "actions": {"stateOps": ops}}).to_string()).await
        };
        let append = |key: &str, value: &str| json!({"op": "append", "key": key, "value": [value]});
        let merge = |key: &str, value: Value| json!({"op": "merge", "key": key, "value": value});
        let first = json!([
            append("notes", SECRET), append("set", SECRET), append("last", SECRET), append("user:notes", SECRET), append("app:notes", SECRET),
            merge("p", json!({"pin": SECRET})), {"op": "remove", "key": "gone"},
        ]);
        // Events of one request make one change of a shared scope.
        let batch = json!([
            {"id": "e1", "author": "a", "actions": {"stateOps": first}},
            {"id": "e2", "author": "a", "actions": {"stateOps": [append("user:notes", "milk"), append("kept", "milk")]}},
        ]);
        server.post(EVENTS).json(batch).await.expect(201);
        appended("e3", json!([append("notes", "milk"), merge("p", json!({"name": "Ada"})), append("app:notes", "milk")])).await;
        // Nothing is carried on by who sets a key, or begins with nothing.
        appended("e4", json!([{"op": "set", "key": "set", "value": []}, append("gone", "milk")])).await;
        appended("e5", json!([append("set", "milk")])).await;
        let keys = json!(["app:notes", "notes", "p", "user:notes"]);
        let answer = remove(server, "e1").await;
        assert_eq!(answer.json()["carriedOn"], keys, "{answer}");
        assert_eq!(server.get(format!("{STATE}/notes")).await.json(), json!([SECRET, "milk"]));
        assert_eq!(remove(server, "e1").await.text(), answer.text());
        assert!(keep(server, "e1").await.json().get("carriedOn").is_none());
        // As it says: these are redacted, too.
        assert_eq!(remove(server, "e2").await.json().get("carriedOn"), None);
        let last = remove(server, "e3").await;
        assert!(last.json().get("carriedOn").is_none(), "{last}");
        assert!(!server.get(STATE).await.text().contains(SECRET));
        assert_folds(server, ONE).await;
    }

    async fn copies_that_rewinds_made_are_redacted_with_it(server: &TestServer) with ["--feed-retention=1h"] {
        server.create("{}").await;
        let event = |id: &str, more: Value| {
            let mut event = json!({"id": id, "author": "a", "invocationId": "i", "content": {"parts": [{"text": SECRET}]}});
            event.as_object_mut().expect("an object").extend(more.as_object().expect("an object").clone());
            event.to_string()
        };
        let rewind = async |session: &str, revision: i64| {
            server.post(format!("{S}/{session}/rewind")).json(json!({"toRevision": revision})).await.expect(200)
        };
        for id in ["e1", "e2", "e3"] {
            server.append(event(id, json!({"actions": {"stateDelta": {id: SECRET}}}))).await;
        }
        // It keeps 1 and 2, so it appends them once more: 5 and 6. Then a copy of the copy of 1: 8.
        rewind("s", 2).await;
        rewind("s", 5).await;
        // In forks, one of which begins after the event, another makes a copy of its own.
        fork(server, "s", json!({"sessionId": "f"})).await;
        fork(server, "f", json!({"sessionId": "g"})).await;
        fork(server, "s", json!({"sessionId": "own", "atRevision": 3})).await;
        rewind("own", 1).await;
        server.post(format!("{S}/g/trim")).json(json!({"beforeSequence": 3})).await.expect(200);
        // A client's event that looks like a copy.
        let claimed = event("claimed", json!({"content": {"parts": [{"text": "mine"}]}, "customMetadata": {"rewindCopyOf": "e1"}}));
        server.append(claimed).await;
        let copies = async |session: &str, of: &str| {
            let read = server.get(format!("{S}/{session}/events?pageSize=1000")).await.expect(200).json();
            let events = read["events"].as_array().expect("events").clone();
            let is_copy = |event: &&Value| event["customMetadata"]["rewindCopyOf"] == of;
            events.iter().filter(is_copy).map(|event| event["sequence"].as_i64().expect("a number")).collect::<Vec<_>>()
        };
        assert_eq!((copies("s", "e1").await, copies("s", "e2").await), (vec![5, 9], vec![6]));
        assert_eq!((copies("g", "e1").await, copies("own", "e1").await), (vec![5], vec![5]));

        let answer = keep(server, "e1").await;
        assert_eq!(answer.json()["forks"], 2, "{answer}");
        for (session, gone) in [("s", vec![1, 5, 8]), ("f", vec![1, 5, 8]), ("g", vec![5, 8]), ("own", vec![1, 5])] {
            let read = server.get(format!("{S}/{session}/events?pageSize=1000")).await.expect(200).json();
            let events = read["events"].as_array().expect("events").clone();
            let redacted = events.iter().filter(|event| event["redacted"].is_object());
            let redacted: Vec<i64> = redacted.map(|event| event["sequence"].as_i64().expect("a number")).collect();
            assert_eq!(redacted, gone, "{session}");
            for event in events.iter().filter(|event| event["redacted"].is_object()) {
                assert!(event.get("content").is_none() && event.get("customMetadata").is_none(), "{event}");
            }
            // What is left of the secret is the other events'.
            let effective = server.get(format!("{S}/{session}/events?history=effective&text={SECRET}")).await.expect(200);
            assert!(!effective.event_ids().contains("e1"), "{effective}");
        }
        assert_eq!(copies("s", "e1").await, [9]);
        let feed = server.get("/v1/apps/app/feed?kinds=event.redacted").await.expect(200).json();
        let told: BTreeSet<(String, i64)> = feed["changes"].as_array().expect("changes").iter()
            .map(|change| (change["sessionId"].as_str().expect("an id").to_owned(), change["sequence"].as_i64().expect("a number"))).collect();
        assert_eq!(told.len(), 10, "{feed}");
        // Again, and the values: the copies have set none.
        assert_eq!(keep(server, "e1").await.text(), answer.text());
        let removed = remove(server, "e1").await;
        assert!(removed.json()["forks"] == 2 && removed.json()["revision"].is_number(), "{removed}");
        assert_folds(server, ONE).await;
    }

    async fn a_rewind_is_still_one(server: &TestServer) {
        server.create(r#"{"state":{"k":0}}"#).await;
        for n in 1..=3 {
            server.append(json!({"id": format!("e{n}"), "author": "a", "invocationId": format!("i{n}"), "actions": {"stateDelta": {"k": n}}}).to_string()).await;
        }
        for (key, body) in [("r1", r#"{"beforeInvocationId":"i3"}"#), ("r2", r#"{"toRevision":1}"#)] {
            server.post(format!("{ONE}/rewind")).header("idempotency-key", key).json(body).await.expect(200);
        }
        let visible = async || server.get(format!("{EVENTS}?excludeRewound=true")).await.expect(200).event_ids();
        let before = visible().await;
        assert_eq!(keep(server, "r1").await.json()["actions"]["rewindBeforeInvocationId"], "i3");
        assert_eq!(visible().await, before);
        let second = remove(server, "r2").await.json();
        assert_eq!(second["customMetadata"], json!({"rewindToRevision": 1}));
        // The event that removes what it restored is no part of the rewind.
        assert!(visible().await.starts_with(&format!("{before} ")), "{before}");
        assert_eq!(server.get(STATE).await.json(), json!({}));
        let again = server.post(format!("{ONE}/rewind")).header("idempotency-key", "r2").json(r#"{"toRevision":1}"#).await.expect(200);
        assert!(again.was_replayed());
        assert_folds(server, ONE).await;
    }

    async fn it_is_refused_like_other_writes(server: &TestServer) {
        server.create("{}").await;
        for n in 1..=3 {
            server.append(json!({"id": format!("e{n}"), "author": "a", "actions": {"stateDelta": {"k": n}}}).to_string()).await;
        }
        let asked = |event: &str, body: &str| server.post(redact_at("s", event)).json(body.to_owned());
        let long = json!({"reason": "é".repeat(129)}).to_string();
        for (body, field) in [(&*long, "reason"), (r#"{"reason":1}"#, "reason"), (r#"{"state":"drop"}"#, "state"), (r#"{"x":1}"#, "x")] {
            asked("e1", body).await.invalid(&[field]);
        }
        asked("none", "{}").await.problem(404, "event_not_found");
        server.post(redact_at("none", "e1")).json("{}").await.problem(404, "session_not_found");
        let etag = server.get(ONE).await.etag();
        asked("e1", "{}").header("if-match", r#""2""#).await.problem(412, "revision_mismatch");
        asked("e2", "{}").header("if-match", &etag).await.expect(200);
        // The last part of the tag is overlooked; and what is done already is not judged.
        asked("e3", r#"{"state":"remove"}"#).header("if-match", &etag).await.expect(200);
        asked("e3", r#"{"state":"remove"}"#).header("if-match", &etag).await.expect(200);
        let lease = server.post(format!("{ONE}/lease")).json(r#"{"owner":"me","exclusive":"all"}"#).await.expect(201).json();
        asked("e1", r#"{"state":"remove"}"#).await.problem(409, "lease_held");
        asked("e1", "{}").header("sessiond-lease", "7").await.problem(409, "fenced");
        let mark = format!("{}-{}", lease["epoch"], lease["incarnation"].as_str().expect("a mark"));
        asked("e1", r#"{"state":"remove"}"#).header("sessiond-lease", mark.clone()).await.expect(200);
        // Without a body it is the simplest one.
        server.delete(format!("{ONE}/lease?epoch=1")).await.expect(204);
        assert_eq!(server.append(r#"{"id":"e5","author":"a"}"#).await.json()["sequence"], 5);
        server.post(redact_at("s", "e5")).await.expect(200);
        server.post(format!("{ONE}/trim")).json(r#"{"keepLast":1}"#).await.expect(200);
        let gone = asked("e2", "{}").await.problem(410, "revision_trimmed");
        assert_eq!(gone["baseRevision"], 4);
        // No bound of a policy refuses it.
        server.append(r#"{"id":"e6","author":"a","actions":{"stateDelta":{"k":6}}}"#).await;
        server.put("/v1/apps/app/policy").json(json!({"limits": {"eventsPerSession": 2}})).await.expect(200);
        server.post(EVENTS).json(r#"{"author":"a"}"#).await.problem(409, "limit_reached");
        // A retry is answered as the first time.
        let first = asked("e6", r#"{"state":"remove"}"#).await.expect(200);
        assert_eq!(first.json()["revision"], 7);
        assert_eq!(asked("e6", r#"{"state":"remove"}"#).await.expect(200).text(), first.text());
        // A stub of it is one of a trimmed event.
        server.until_swept().await;
        let again = server.post(EVENTS).json(r#"{"id":"e2","author":"a","actions":{"stateDelta":{"k":2}}}"#).await.expect(200);
        assert_eq!(again.json(), json!({"id": "e2", "sequence": 2, "trimmed": true}));
    }

    async fn forks_that_hold_the_event_are_redacted_with_it(server: &TestServer) {
        server.create(r#"{"state":{"k":0}}"#).await;
        server.append(json!({"id": "e1", "author": "a", "actions": {"stateDelta": {"other": 1}}}).to_string()).await;
        fork(server, "s", json!({"sessionId": "early"})).await;
        let event = json!({"id": "e2", "author": "a", "content": {"parts": [{"text": SECRET}]}, "actions": {"stateDelta": {"k": SECRET, "user:k": SECRET}}});
        server.append(event.to_string()).await;
        fork(server, "s", json!({"sessionId": "f1"})).await;
        fork(server, "f1", json!({"sessionId": "f11"})).await;
        fork(server, "f11", json!({"sessionId": "a111"})).await;
        fork(server, "s", json!({"sessionId": "trimmed"})).await;
        fork(server, "s", json!({"sessionId": "f2"})).await;
        // In one the value was set anew, another has a later base, one holds another event of this id.
        server.post(format!("{S}/f2/events")).json(r#"{"author":"a","actions":{"stateDelta":{"k":2}}}"#).await.expect(201);
        server.post(format!("{S}/trimmed/events")).json(r#"{"author":"a","actions":{"stateDelta":{"k":2}}}"#).await.expect(201);
        server.post(format!("{S}/trimmed/trim")).json(r#"{"keepLast":0}"#).await.expect(200);
        server.post(format!("{S}/early/events")).json(event.clone()).await.expect(201);
        server.post(format!("{S}/f11/lease")).json(r#"{"owner":"me","exclusive":"all"}"#).await.expect(201);
        let tags = async |session: &str| server.get(format!("{S}/{session}")).await.expect(200).etag();
        let before = [tags("early").await, tags("trimmed").await];

        let answer = remove(server, "e2").await;
        assert_eq!((&answer.json()["forks"], &answer.json()["revision"]), (&json!(4), &json!(3)));
        for (session, revision) in [("s", 3), ("f1", 3), ("f11", 3), ("a111", 3), ("f2", 3)] {
            let read = server.get(format!("{S}/{session}")).await.expect(200);
            assert_eq!(read.json()["revision"], revision, "{session}");
            assert!(read.etag().ends_with("-1\""), "{read}");
            let copy = server.get(format!("{S}/{session}/events/e2")).await.expect(200).json();
            assert_eq!(copy["redacted"], answer.json()["redacted"], "{session}");
            assert_eq!(state_at(server, session, 1).await["k"], 0);
            let then = state_at(server, session, 2).await;
            assert!(then.get("k").is_none() && then.get("user:k").is_none(), "{session}: {then}");
            assert_folds(server, &format!("{S}/{session}")).await;
        }
        assert_eq!(server.get(format!("{S}/f2/state")).await.json()["k"], 2);
        assert_eq!([tags("early").await, tags("trimmed").await], before);
        assert_eq!(server.get(format!("{S}/early/events/e2")).await.json()["content"]["parts"][0]["text"], SECRET);
        // What it wrote in the shared scope is another event's.
        assert_eq!(server.get(USER_STATE).await.json(), json!({"k": SECRET}));
        // A fork made now has nothing of it.
        fork(server, "s", json!({"sessionId": "late"})).await;
        assert!(server.get(format!("{S}/late/events/e2")).await.json()["redacted"].is_object());
        assert_eq!(remove(server, "e2").await.json()["forks"], 5);
    }

    async fn forks_of_what_is_gone_are_redacted(server: &TestServer) {
        server.create("{}").await;
        server.append(json!({"id": "e1", "author": "a", "content": SECRET, "actions": {"stateDelta": {"k": SECRET}}}).to_string()).await;
        fork(server, "s", json!({"sessionId": "deleted"})).await;
        fork(server, "deleted", json!({"sessionId": "expired"})).await;
        fork(server, "expired", json!({"sessionId": "last"})).await;
        fork(server, "last", json!({"sessionId": "very-last"})).await;
        server.patch(format!("{S}/expired")).json(r#"{"ttl":0.001}"#).await.expect(200);
        server.delete(format!("{S}/deleted")).await.expect(204);
        // Moved by an export, which has to tell the link.
        server.delete(format!("{S}/very-last")).await.expect(204);
        fork(server, "last", json!({"sessionId": "gone"})).await;
        fork(server, "gone", json!({"sessionId": "moved"})).await;
        server.delete(format!("{S}/gone")).await.expect(204);
        let export = server.get(format!("{S}/moved/export")).await.expect(200).text().to_owned();
        assert!(export.contains(r#","nearestSource":"last","sha256":"#), "{export}");
        server.delete(format!("{S}/moved")).await.expect(204);
        assert_all(&import(server, "", &export).await, "created", 1);
        // Another session of an id that was the source's.
        server.put(format!("{S}/deleted")).json("{}").await.expect(201);
        assert_eq!(remove(server, "e1").await.json()["forks"], 2);
        // The source comes again, by an import.
        let export = exported(server, &format!("{ONE}/export")).await;
        server.delete(ONE).await.expect(204);
        assert_all(&import(server, "", &export).await, "created", 1);
        assert_eq!(remove(server, "e1").await.json()["forks"], 2);
        for session in ["last", "moved"] {
            let read = server.get(format!("{S}/{session}")).await.expect(200);
            assert!(!read.text().contains(SECRET), "{read}");
        }
    }

    async fn a_copy_leaves_alone_what_another_session_wrote(server: &TestServer) {
        server.create("{}").await;
        server.append(json!({"id": "e1", "author": "a", "content": SECRET, "actions": {"stateDelta": {"k": 1, "user:k": 1}}}).to_string()).await;
        fork(server, "s", json!({"sessionId": "f"})).await;
        fork(server, "f", json!({"sessionId": "g"})).await;
        let removed = async |session: &str| {
            let answer = server.post(redact_at(session, "e1")).json(r#"{"state":"remove"}"#).await.expect(200).json();
            (answer["forks"].as_i64().expect("a count"), answer["revision"].as_i64())
        };
        assert_eq!(removed("f").await, (1, Some(2)));
        // The source has it still, and so has the scope.
        assert_eq!(server.get(ONE).await.json()["events"][0]["content"], SECRET);
        assert_eq!(server.get(STATE).await.json(), json!({"k": 1, "user:k": 1}));
        assert_eq!(state_at(server, "s", 1).await, json!({"k": 1, "user:k": 1}));
        assert_eq!(server.get(format!("{S}/f/state?scope=session")).await.json(), json!({}));
        // Once it is gone, the scope's value is nobody else's.
        fork(server, "s", json!({"sessionId": "h"})).await;
        server.delete(ONE).await.expect(204);
        assert_eq!(removed("h").await, (0, Some(2)));
        assert_eq!(server.get(USER_STATE).await.json(), json!({}));
    }

    async fn watchers_learn_of_a_redaction(server: &TestServer) {
        server.create("{}").await;
        for n in 1..=3 {
            server.append(json!({"id": format!("e{n}"), "author": "a", "content": SECRET, "actions": {"stateDelta": {"k": n}}}).to_string()).await;
        }
        let open = async |query: &str| {
            let request = server.get(format!("{ONE}/watch{query}")).header("accept", "text/event-stream");
            Watch::open(request).await
        };
        let (mut whole, mut second, mut behind) = (open("").await, open("").await, open("?afterSequence=1").await);
        let (frames, _) = whole.caught_up().await;
        let cursors: Vec<String> = frames.iter().filter_map(|frame| frame.id.clone()).collect();
        second.caught_up().await;
        behind.caught_up().await;
        let answer = keep(server, "e2").await;
        let event = server.get(format!("{EVENTS}/e2")).await.text().to_owned();
        for watch in [&mut whole, &mut second, &mut behind] {
            assert_eq!(watch.expect("redacted").await.data, event);
        }
        assert_eq!(answer.json()["forks"], 0);
        // Values that are removed are one event more, in the same commit.
        remove(server, "e3").await;
        assert_eq!(whole.expect("redacted").await.json()["id"], "e3");
        assert_eq!(whole.expect("event").await.json()["sequence"], 4);
        for watch in [&mut second, &mut behind] {
            assert_eq!(watch.expect("redacted").await.json()["id"], "e3");
            assert_eq!(watch.expect("event").await.json()["actions"]["stateOps"][0]["key"], "k");
        }
        // A change of metadata is none of these.
        server.patch(ONE).json(r#"{"displayName":"n"}"#).await.expect(200);
        assert_eq!(whole.expect("metadata").await.json()["displayName"], "n");
        // Whoever comes later, or resumes, sees the events as they are; a cursor of a redacted event holds.
        let (later, _) = open("").await.caught_up().await;
        let texts: Vec<&str> = later.iter().filter(|frame| frame.event == "event").map(|frame| &*frame.data).collect();
        assert_eq!((texts.len(), texts[1]), (4, &*event));
        let (resumed, _) = open(&format!("?lastEventId={}", cursors[1])).await.caught_up().await;
        let sequences: Vec<Value> = resumed.iter().filter(|frame| frame.event == "event").map(|frame| frame.json()["sequence"].clone()).collect();
        assert_eq!(sequences, [3, 4]);
        // Of an event before its beginning a watch tells, too: its client may have it.
        let mut from_now = open("?afterSequence=2").await;
        from_now.caught_up().await;
        keep(server, "e1").await;
        assert_eq!(from_now.expect("redacted").await.json()["id"], "e1");
        // A read that waits for a change of the session gets one.
        let etag = server.get(ONE).await.etag();
        let waits = tokio::spawn({
            let asked = server.get(format!("{ONE}?wait=30")).header("if-none-match", &etag);
            async move { asked.await }
        });
        keep(server, "e3").await;
        server.append(r#"{"id":"e9","author":"a"}"#).await;
        keep(server, "e9").await;
        waits.await.expect("no panic").expect(200);
    }

    async fn exports_have_it_as_it_is_and_imports_bring_it_back_so(server: &TestServer) {
        server.create(r#"{"state":{"k":0}}"#).await;
        let first = telling("e1");
        server.append(first.to_string()).await;
        let second = json!({"id": "e2", "author": "a", "content": SECRET, "actions": {"stateDelta": {"k": SECRET, "user:k": SECRET, "app:k": SECRET, "user:new": SECRET}}});
        server.append(second.to_string()).await;
        server.append(r#"{"id":"e3","author":"a","actions":{"stateDelta":{"k":3,"user:k":3}}}"#).await;
        let old = exported(server, "/v1/apps/app/export").await;
        keep(server, "e1").await;
        remove(server, "e2").await;
        let export = exported(server, "/v1/apps/app/export").await;
        assert!(old.contains(SECRET) && !export.contains(SECRET), "{export}");
        assert_all(&import(server, "", &export).await, "unchanged", 1);
        // The file from before is of another session now.
        let (found, _) = results(&import(server, "", &old).await);
        assert!(found.contains(&("s".into(), "failed".into())), "{found:?}");
        assert_all(&import(server, "?appName=copy", &export).await, "created", 1);
        assert_all(&import(server, "?appName=copy", &export).await, "unchanged", 1);
        let copy = "/v1/apps/copy/users/user/sessions/s";
        assert_eq!(server.get(format!("{copy}/events")).await.raw(&["events"]), server.get(EVENTS).await.raw(&["events"]));
        for n in 0..=4 {
            let there = server.get(format!("{copy}/state?atRevision={n}")).await.expect(200);
            assert_eq!(there.json(), state_at(server, "s", n).await, "{n}");
        }
        let again = server.post(format!("{copy}/events")).json(json!([first, second])).await.expect(200);
        assert_eq!(again.json()[1], json!({"id": "e2", "sequence": 2, "redacted": true}));
        // What was imported can be redacted, with what came along of its scopes.
        assert_all(&import(server, "?appName=third", &old).await, "created", 1);
        let third = "/v1/apps/third/users/user/sessions/s";
        let answer = server.post(format!("{third}/events/e2/redact")).json(r#"{"state":"remove"}"#).await.expect(200);
        assert_eq!(answer.json()["revision"], 4);
        server.post(format!("{third}/events/e1/redact")).await.expect(200);
        let export = exported(server, "/v1/apps/third/export").await;
        assert!(!export.contains(SECRET), "{export}");
        // No digest is kept, and a retry is recognised after an import, too.
        assert!(!export.lines().any(|line| line.contains(r#""redacted""#) && line.contains("digest")), "{export}");
        assert_all(&import(server, "?appName=fourth", &export).await, "created", 1);
        let again = server.post("/v1/apps/fourth/users/user/sessions/s/events").json(r#"{"id":"e1","author":"guess"}"#).await;
        assert_eq!(again.expect(200).json(), json!({"id": "e1", "sequence": 1, "redacted": true}));
    }

    async fn a_retry_of_a_creation_is_recognised_by_its_key_alone(server: &TestServer) {
        let create = |pin| server.post(S).header("idempotency-key", "c").json(json!({"sessionId": "s", "events": [{"id": "pin", "author": pin}]}));
        create("4711").await.expect(201);
        create("1234").await.problem(409, "session_already_exists");
        keep(server, "pin").await;
        for guess in ["1234", "4711"] {
            assert!(create(guess).await.expect(200).was_replayed());
        }
    }

    async fn the_forks_of_a_session_are_listed(server: &TestServer) {
        for id in ["s", "other"] {
            server.post(S).json(json!({"sessionId": id, "labels": {"l": id}})).await.expect(201);
        }
        for (source, id) in [("s", "b"), ("s", "a"), ("other", "x"), ("b", "bb"), ("s", "c")] {
            fork(server, source, json!({"sessionId": id})).await;
        }
        server.post(format!("{S}/b/events")).json(r#"{"author":"a","timestamp":1}"#).await.expect(201);
        server.patch(format!("{S}/a")).json(r#"{"labels":{"l":"mine"}}"#).await.expect(200);
        let listed = async |query: &str| {
            let answer = server.get(format!("{S}?{query}")).await.expect(200).json();
            let ids: Vec<String> = answer["sessions"].as_array().expect("sessions").iter().map(|s| s["id"].as_str().expect("an id").to_owned()).collect();
            (ids.join(" "), answer["nextPageToken"].as_str().map(str::to_owned))
        };
        for (query, ids) in [
            ("forkedFrom=s&orderBy=createTime", "b a c"),
            ("forkedFrom=s&orderBy=createTime&order=desc", "c a b"),
            ("forkedFrom=s", "b a c"),
            ("forkedFrom=s&order=desc", "c a b"),
            ("forkedFrom=s&label.l=mine", "a"),
            ("forkedFrom=s&idPrefix=c", "c"),
            ("forkedFrom=b", "bb"),
            ("forkedFrom=a", ""),
            ("forkedFrom=none", ""),
            ("forked_from=other&includeState=true", "x"),
        ] {
            assert_eq!(listed(query).await.0, ids, "{query}");
        }
        for order in ["orderBy=createTime", "orderBy=lastUpdateTime", "order=desc"] {
            let (mut ids, mut token) = (Vec::new(), String::new());
            loop {
                let (page, next) = listed(&format!("forkedFrom=s&pageSize=1&{order}{token}")).await;
                ids.push(page);
                let Some(next) = next else { break };
                token = format!("&pageToken={next}");
            }
            assert_eq!(ids.join(" "), listed(&format!("forkedFrom=s&{order}")).await.0);
            server.get(format!("{S}?forkedFrom=b&pageSize=1&{order}{token}")).await.invalid(&["pageToken"]);
        }
        server.get(format!("{S}?forkedFrom=")).await.invalid(&["forkedFrom"]);
        server.get("/v1/apps/app/sessions?forkedFrom=s").await.invalid(&["forkedFrom"]);
    }

    /// Random appends, changes of scopes, forks, rewinds, trims and redactions, against a model of who wrote what.
    async fn states_are_what_the_rule_says(server: &TestServer) {
        for seed in 0..2 {
            walk(server, seed).await;
        }
    }

    /// More than one transaction takes.
    async fn a_hundred_forks_and_more_are_redacted(server: &TestServer) {
        const FORKS: usize = 130;
        server.create("{}").await;
        for id in ["e1", "e2"] {
            server.append(json!({"id": id, "author": "a", "content": SECRET, "actions": {"stateDelta": {"k": SECRET}}}).to_string()).await;
        }
        for n in 0..FORKS {
            // Forks of forks, too.
            let source = if n < 100 { "s".to_owned() } else { format!("f{}", n - 100) };
            fork(server, &source, json!({"sessionId": format!("f{n}"), "atRevision": 1 + n % 2})).await;
        }
        let answer = remove(server, "e1").await.json();
        assert_eq!((&answer["forks"], &answer["revision"]), (&json!(FORKS), &Value::Null));
        for n in 0..FORKS {
            let session = format!("f{n}");
            let event = server.get(format!("{S}/{session}/events/e1")).await.expect(200).json();
            assert!(event["redacted"].is_object() && event.get("content").is_none(), "{session}: {event}");
            // Where it was the last to set the key, that is gone, too.
            let state = server.get(format!("{S}/{session}/state")).await.expect(200).json();
            assert_eq!(state, if n % 2 == 0 { json!({}) } else { json!({"k": SECRET}) }, "{session}");
        }
        let again = remove(server, "e1").await.json();
        assert_eq!((&again["forks"], &again["redacted"]), (&json!(FORKS), &answer["redacted"]));
    }

    async fn no_byte_of_it_is_left_after_the_sweep(server: &TestServer) {
        redact_many(server).await;
        for table in ["events", "session_state", "session_spans", "user_state", "user_log", "app_state", "app_log", "changes"] {
            if server.database_url().starts_with("postgres") {
                let found = server.number(&format!("select count(*) from {table} t where t::text like '%{SECRET}%'")).await;
                assert_eq!(found, 0, "{table}");
            }
        }
        if let Some(path) = server.database_url().strip_prefix("sqlite://") {
            let folder = Path::new(path).parent().expect("a folder");
            assert!(!files_with(folder, "app-value").is_empty());
            assert_eq!(files_with(folder, SECRET), [] as [PathBuf; 0]);
        }
    }
}

/// Appends events, redacts each, and waits for the sweep.
async fn redact_many(server: &TestServer) {
    server.create("{}").await;
    // Long ones, and many, so that pages overflow, and move.
    for n in 0..60 {
        let text = format!("{SECRET}{n} ").repeat(if n % 3 == 0 { 900 } else { 3 });
        let delta = json!({"k": text, format!("k{n}"): n, "user:k": text, "app:k": text});
        let event = json!({"id": format!("e{n}"), "author": "app-value", "content": {"parts": [{"text": text}]}, "actions": {"stateDelta": delta}});
        server.append(event.to_string()).await;
        if n == 30 {
            fork(server, "s", json!({"sessionId": "f"})).await;
        }
    }
    if server.database_url().starts_with("postgres") {
        server.execute("analyze").await;
    }
    for n in 0..60 {
        remove(server, &format!("e{n}")).await;
    }
    server.until_swept().await;
}

/// The files in a folder, and in those within, that have a text.
fn files_with(folder: &Path, text: &str) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            files.extend(files_with(&path, text));
        } else if fs::read(&path).expect("its bytes").windows(text.len()).any(|window| window == text.as_bytes()) {
            files.push(path);
        }
    }
    files
}

/// PostgreSQL keeps what was removed until its tables are written anew. It has looked at all of it for its planner.
#[tokio::test(flavor = "multi_thread")]
async fn no_byte_of_it_is_left_in_files_of_postgresql_after_what_the_documents_say() {
    let postgres = dedicated().await;
    let place = Place::Postgres(Database::at(postgres.url("postgres")));
    let server = TestServer::start(place, PATIENT).await;
    redact_many(&server).await;
    let folder = postgres.data().join("base");
    server.execute("checkpoint").await;
    assert!(!files_with(&folder, SECRET).is_empty(), "nothing is to be shown");
    let (_, documents) = include_str!("../../../docs/data.md").split_once("```sql\nvacuum").expect("what is to be run");
    let (statements, _) = documents.split_once("```").expect("its end");
    server.execute(&format!("vacuum{statements}")).await;
    server.execute("checkpoint").await;
    assert!(!files_with(&folder, "app-value").is_empty());
    assert_eq!(files_with(&folder, SECRET), [] as [PathBuf; 0]);
    server.stop().await;
}

/// A write of a value: of which event, by its number. No event: a scope's own path, or a creation.
type By = Option<usize>;
type Keys = BTreeMap<String, (Value, By)>;
/// Keys of all scopes with new values; without one it is removed.
type Changes = Vec<(String, Option<Value>)>;

/// What one session is, by the rule.
#[derive(Clone)]
struct Modelled {
    /// Its own state after each event.
    states: Vec<Keys>,
    /// The number of each event, its id, the revisions of user and app state that it saw, and whether its values were taken.
    events: Vec<(usize, String, [usize; 2], bool)>,
    created: [usize; 2],
    base: usize,
    source: Option<String>,
}

#[derive(Default)]
struct Model {
    sessions: BTreeMap<String, Modelled>,
    /// User state and app state after each revision.
    shared: [Vec<Keys>; 2],
    /// In which session an event was appended.
    origin: Vec<String>,
    /// Forks that were removed while forks of them were there, and what they were forks of.
    removed: Vec<(String, String)>,
}

const PREFIXES: [&str; 2] = ["user:", "app:"];

impl Model {
    fn now(&self) -> [usize; 2] {
        [0, 1].map(|scope| self.shared[scope].len() - 1)
    }

    fn merged(&self, session: &Modelled, revision: usize) -> Value {
        let saw = if revision == 0 { session.created } else { session.events[revision - 1].2 };
        let mut all = serde_json::Map::new();
        for (key, (value, _)) in &session.states[revision] {
            all.insert(key.clone(), value.clone());
        }
        for scope in [0, 1] {
            for (key, (value, _)) in &self.shared[scope][saw[scope]] {
                all.insert(format!("{}{key}", PREFIXES[scope]), value.clone());
            }
        }
        Value::Object(all)
    }

    /// Appends events, given their ids and what they change.
    fn append(&mut self, session: &str, events: &[(String, Changes)]) {
        let mut scopes = [0, 1].map(|scope| self.shared[scope].last().expect("a state").clone());
        let mut changed = [false; 2];
        let mut states = Vec::new();
        let mut own = self.sessions[session].states.last().expect("a state").clone();
        let first = self.origin.len();
        for (n, (_, delta)) in events.iter().enumerate() {
            self.origin.push(session.to_owned());
            for (key, value) in delta {
                let scope = PREFIXES.iter().position(|prefix| key.starts_with(prefix));
                let keys = match scope {
                    Some(scope) => &mut scopes[scope],
                    None => &mut own,
                };
                let bare = scope.map_or(&**key, |scope| &key[PREFIXES[scope].len()..]);
                let is_change = match value {
                    Some(value) => {
                        keys.insert(bare.to_owned(), (value.clone(), Some(first + n)));
                        true
                    }
                    None => keys.remove(bare).is_some(),
                };
                if let Some(scope) = scope {
                    changed[scope] |= is_change;
                }
            }
            states.push(own.clone());
        }
        for scope in [0, 1].into_iter().filter(|scope| changed[*scope]) {
            self.shared[scope].push(scopes[scope].clone());
        }
        let saw = self.now();
        let modelled = self.sessions.get_mut(session).expect("a session");
        modelled.states.extend(states);
        modelled.events.extend(events.iter().enumerate().map(|(n, (id, _))| (first + n, id.clone(), saw, false)));
    }

    /// What is a fork, and of which session, by their ids.
    fn forks(&self) -> impl Iterator<Item = (&String, &String)> {
        let there = self.sessions.iter().filter_map(|(id, modelled)| Some((id, modelled.source.as_ref()?)));
        there.chain(self.removed.iter().map(|(id, source)| (id, source)))
    }

    fn delete(&mut self, session: &str) {
        let gone = self.sessions.remove(session).expect("a session");
        let has_forks = self.forks().any(|(_, source)| source == session);
        self.removed.extend(gone.source.filter(|_| has_forks).map(|source| (session.to_owned(), source)));
    }

    /// Its forks, and theirs, which hold the event.
    fn holders(&self, session: &str, event: usize) -> Vec<String> {
        let mut reached = BTreeSet::from([session.to_owned()]);
        loop {
            let is_new = |(id, source): &(&String, &String)| reached.contains(*source) && !reached.contains(*id);
            let more: Vec<String> = self.forks().filter(is_new).map(|(id, _)| id.clone()).collect();
            if more.is_empty() {
                break;
            }
            reached.extend(more);
        }
        reached.remove(session);
        let holds = |id: &String| {
            let modelled = self.sessions.get(id);
            modelled.is_some_and(|of| of.events.iter().skip(of.base).any(|(n, ..)| *n == event))
        };
        reached.into_iter().filter(holds).collect()
    }

    /// Takes what the event wrote; how many forks hold it, and whether the session gets an event more.
    fn remove(&mut self, session: &str, at: usize) -> (usize, bool) {
        let &(event, _, _, taken) = &self.sessions[session].events[at];
        let holders = self.holders(session, event);
        let origin = self.origin[event].clone();
        let is_held = self
            .sessions
            .get(&origin)
            .is_some_and(|modelled| modelled.events.iter().skip(modelled.base).any(|(n, ..)| *n == event));
        // A copy from which the values were taken does not know any more what else there was to take.
        let owns = !taken && (origin == session || !is_held);
        let mut removed: [bool; 2] = [false; 2];
        if owns {
            for scope in [0, 1] {
                removed[scope] = self.shared[scope].last().expect("a state").values().any(|(_, by)| *by == Some(event));
                for state in &mut self.shared[scope] {
                    state.retain(|_, (_, by)| *by != Some(event));
                }
                if removed[scope] {
                    let now = self.shared[scope].last().expect("a state").clone();
                    self.shared[scope].push(now);
                }
            }
        }
        let mut appends = false;
        for id in std::iter::once(session.to_owned()).chain(holders.iter().cloned()) {
            let is_own = id == session;
            let modelled = self.sessions.get_mut(&id).expect("a session");
            if let Some(copy) = modelled.events.iter_mut().find(|(n, ..)| *n == event) {
                copy.3 = true;
            }
            let present = modelled.states.last().expect("a state").values().any(|(_, by)| *by == Some(event));
            // What was trimmed is in the base, and stays.
            let base = modelled.base;
            for state in modelled.states.iter_mut().skip(base) {
                state.retain(|_, (_, by)| *by != Some(event));
            }
            if present || is_own && (removed[0] || removed[1]) {
                appends |= is_own;
                let state = modelled.states.last().expect("a state").clone();
                modelled.states.push(state);
                let saw = [0, 1].map(|scope| self.shared[scope].len() - 1);
                modelled.events.push((self.origin.len(), String::new(), saw, false));
                self.origin.push(id.clone());
            }
        }
        (holders.len(), appends)
    }
}

async fn walk(server: &TestServer, seed: u64) {
    let mut random = Random(seed);
    let app = format!("walk{seed}");
    let sessions = format!("/v1/apps/{app}/users/user/sessions");
    let mut model = Model { shared: [vec![Keys::new()], vec![Keys::new()]], ..Model::default() };
    server.post(&sessions).json(json!({"sessionId": "s0", "state": {"a": "first", "n": 0}})).await.expect(201);
    let initial = Keys::from([("a".into(), (json!("first"), None)), ("n".into(), (json!(0), None))]);
    model.sessions.insert(
        "s0".into(),
        Modelled { states: vec![initial], events: Vec::new(), created: [0, 0], base: 0, source: None },
    );
    let (mut ids, mut cache) = (0, Cache::new());
    for step in 0..70 {
        let names: Vec<String> = model.sessions.keys().cloned().collect();
        let session = names[random.below(names.len() as u64) as usize].clone();
        let path = format!("{sessions}/{session}");
        let (base, revision) = (model.sessions[&session].base, model.sessions[&session].events.len());
        match random.below(20) {
            0..=8 => {
                let count = 1 + random.below(3);
                let (mut given, mut expected) = (Vec::new(), Vec::new());
                let mut number = model.sessions[&session]
                    .states
                    .last()
                    .expect("a state")
                    .get("n")
                    .map_or(0, |(n, _)| n.as_i64().expect("a number"));
                for _ in 0..count {
                    ids += 1;
                    let (mut delta, mut ops, mut changes) = (serde_json::Map::new(), Vec::new(), Vec::new());
                    for key in ["a", "b", "user:a", "user:b", "app:a", "app:b"] {
                        match random.below(6) {
                            0 | 1 => {
                                // Now and then the same value again.
                                let value = json!(format!("{SECRET}-{}", random.below(3) + 10 * (ids % 7)));
                                delta.insert(key.into(), value.clone());
                                changes.push((key.to_owned(), Some(value)));
                            }
                            2 => {
                                ops.push(json!({"op": "remove", "key": key}));
                                changes.push((key.to_owned(), None));
                            }
                            _ => {}
                        }
                    }
                    if random.below(3) == 0 {
                        number += 1;
                        ops.push(json!({"op": "increment", "key": "n", "value": 1}));
                        changes.push(("n".into(), Some(json!(number))));
                    }
                    let id = format!("e{ids}");
                    given.push(json!({"id": id, "author": "a", "content": SECRET, "actions": {"stateDelta": delta, "stateOps": ops}}));
                    expected.push((id, changes));
                }
                server.post(format!("{path}/events")).json(json!(given)).await.expect(201);
                model.append(&session, &expected);
            }
            9 => {
                let scope = random.below(2) as usize;
                let of = ["users/user/state", "state"][scope];
                let value = json!(format!("own-{step}"));
                server
                    .patch(format!("/v1/apps/{app}/{of}"))
                    .json(json!({"stateDelta": {"a": value}}))
                    .await
                    .expect(200);
                let mut state = model.shared[scope].last().expect("a state").clone();
                state.insert("a".into(), (value, None));
                model.shared[scope].push(state);
            }
            10 | 11 if names.len() < 6 => {
                let at = base + random.below((revision - base + 1) as u64) as usize;
                // The id of one that was deleted may be used again.
                let id = (0..).map(|n| format!("s{n}")).find(|id| !names.contains(id)).expect("an id");
                server.post(format!("{path}/fork")).json(json!({"sessionId": id, "atRevision": at})).await.expect(201);
                let mut fork = model.sessions[&session].clone();
                fork.states.truncate(at + 1);
                fork.events.truncate(at);
                fork.source = Some(session);
                model.sessions.insert(id, fork);
            }
            12 | 13 if revision > base => {
                let to = base + random.below((revision - base) as u64) as usize;
                let answer = server.post(format!("{path}/rewind")).json(json!({"toRevision": to})).await.expect(200);
                assert_eq!(answer.json()["revision"], revision + 1);
                let modelled = &model.sessions[&session];
                let (then, now) = (&modelled.states[to], modelled.states.last().expect("a state"));
                let mut changes: Changes = then
                    .iter()
                    .filter(|(key, (value, _))| now.get(*key).map(|(now, _)| now) != Some(value))
                    .map(|(key, (value, _))| (key.clone(), Some(value.clone())))
                    .collect();
                changes.extend(now.keys().filter(|key| !then.contains_key(*key)).map(|key| (key.clone(), None)));
                model.append(&session, &[(String::new(), changes)]);
            }
            14 if revision > base => {
                let to = base + random.below((revision - base + 1) as u64) as usize;
                server.post(format!("{path}/trim")).json(json!({"beforeSequence": to + 1})).await.expect(200);
                model.sessions.get_mut(&session).expect("a session").base = to;
            }
            15 if names.len() > 1 => {
                server.delete(&path).await.expect(204);
                model.delete(&session);
                cache.retain(|of, _| !of.starts_with(&format!("{path}/")));
            }
            _ => {
                let held: Vec<usize> =
                    (base..revision).filter(|at| !model.sessions[&session].events[*at].1.is_empty()).collect();
                let Some(at) = held.get(random.below(held.len().max(1) as u64) as usize).copied() else { continue };
                let id = model.sessions[&session].events[at].1.clone();
                let event = model.sessions[&session].events[at].0;
                let takes = random.below(3) > 0;
                let body = json!({"state": if takes { "remove" } else { "keep" }});
                let answer = server.post(format!("{path}/events/{id}/redact")).json(body).await.expect(200).json();
                let (forks, appends) = match takes {
                    true => model.remove(&session, at),
                    false => (model.holders(&session, event).len(), false),
                };
                let revision = model.sessions[&session].events.len();
                assert_eq!(answer["forks"], forks, "seed {seed}, step {step}: {answer}");
                // Of an event whose values an earlier redaction removed, it is that one's.
                let told = answer["revision"].as_u64().map(|told| told as usize);
                let is_right =
                    if appends { told == Some(revision) } else { takes && told < Some(revision) || told.is_none() };
                assert!(is_right, "seed {seed}, step {step}: {answer}");
                if step % 3 == 0 {
                    check(server, &sessions, &model, &mut cache, &format!("seed {seed}, step {step}")).await;
                }
            }
        }
    }
    check(server, &sessions, &model, &mut cache, &format!("seed {seed}, at the end")).await;
}

/// What a client has of past states, with their tags.
type Cache = BTreeMap<String, (String, Value)>;

/// That each session is, at each revision, as the model says; also for a client that asks whether what it has still holds.
async fn check(server: &TestServer, sessions: &str, model: &Model, cache: &mut Cache, when: &str) {
    for (id, modelled) in &model.sessions {
        let path = format!("{sessions}/{id}");
        let read = server.get(format!("{path}/events?pageSize=1000")).await.expect(200).json();
        assert_eq!(read["revision"], modelled.events.len(), "{when}: {id}");
        for revision in modelled.base..=modelled.events.len() {
            let path = format!("{path}/state?atRevision={revision}");
            let answer = match cache.get(&path) {
                Some((tag, _)) => server.get(&path).header("if-none-match", tag).await,
                None => server.get(&path).await,
            };
            if answer.status() != 304 {
                cache.insert(path.clone(), (answer.etag(), answer.expect(200).json()));
            }
            assert_eq!(cache[&path].1, model.merged(modelled, revision), "{when}: {id} at {revision}");
        }
    }
}

/// Appends, forks, rewinds, exports and redactions of two processes: each has an answer, and when all were redacted, nothing shows it.
async fn whoever_copies_or_reads_meanwhile_keeps_nothing(place: Place) {
    let fleet = place.fleet(PATIENT).await;
    let api = fleet.api(0);
    api.post(S).json(json!({"sessionId": "s"})).await.expect(201);
    let secret = |id: String| json!({"id": id, "author": "a", "content": SECRET, "actions": {"stateDelta": {"k": SECRET, "user:k": SECRET, "app:k": SECRET}}});
    for n in 0..12 {
        api.post(EVENTS).json(secret(format!("e{n}"))).await.expect(201);
    }
    let answers = together((0..60).map(|n: usize| {
        let api = fleet.api(n);
        async move {
            match n % 5 {
                0 | 1 => {
                    let event = format!("e{}", n / 5);
                    let body = json!({"state": if n.is_multiple_of(5) { "remove" } else { "keep" }});
                    api.post(redact_at("s", &event)).json(body).await
                }
                2 => api.post(format!("{S}/s/fork")).json(json!({"sessionId": format!("f{n}")})).await,
                3 => api.post(EVENTS).json(json!({"author": "a", "actions": {"stateDelta": {"own": n}}})).await,
                // Few may be under way.
                _ if n.is_multiple_of(2) => api.get_until(&format!("{ONE}/export"), 200).await,
                _ => api.post(format!("{ONE}/rewind")).json(json!({"toRevision": 11})).await,
            }
        }
    }))
    .await;
    for answer in &answers {
        assert!(answer.status() < 300, "{answer}");
    }
    // Forks of forks, while their source is redacted once more.
    let forks = together((0..8).map(|n: usize| {
        let api = fleet.api(n);
        async move {
            match n % 2 {
                0 => api.post(redact_at("s", &format!("e{n}"))).json(json!({"state": "remove"})).await,
                _ => api.post(format!("{S}/f{}/fork", 2 + 5 * n)).json(json!({"sessionId": format!("g{n}")})).await,
            }
        }
    }))
    .await;
    assert!(forks.iter().all(|answer| answer.status() < 300), "{forks:?}");
    for n in 0..12 {
        let answer =
            fleet.api(n).post(redact_at("s", &format!("e{n}"))).json(json!({"state": "remove"})).await.expect(200);
        assert_eq!(answer.json()["forks"], 16, "{answer}");
    }
    let list = api.get(format!("{S}?pageSize=1000")).await.expect(200).json();
    for session in list["sessions"].as_array().expect("sessions") {
        let id = session["id"].as_str().expect("an id");
        // A rewind that came first set the values anew, in events of its own.
        let events = api.get(format!("{S}/{id}/events?pageSize=1000")).await.expect(200).json();
        for event in events["events"].as_array().expect("events") {
            let is_ours = event["id"].as_str().is_some_and(|id| id.starts_with('e'));
            assert!(!is_ours || event["redacted"].is_object() && !event.to_string().contains(SECRET), "{id}: {event}");
            assert!(event.get("content").is_none(), "{id}: {event}");
        }
    }
    fleet.verify().await;
}

/// Forks are made, and the sources of forks are deleted, at the same time: a redaction reaches each that is left.
async fn forks_of_what_goes_meanwhile_are_redacted(place: Place) {
    const FAMILIES: usize = 12;
    let fleet = place.fleet(PATIENT).await;
    let api = fleet.api(0);
    api.post(S).json(json!({"sessionId": "s"})).await.expect(201);
    let secret = json!({"id": "e", "author": "a", "content": SECRET, "actions": {"stateDelta": {"k": SECRET}}});
    api.post(EVENTS).json(secret).await.expect(201);
    for n in 0..FAMILIES {
        fork(&api, "s", json!({"sessionId": format!("a{n}")})).await;
        fork(&api, &format!("a{n}"), json!({"sessionId": format!("b{n}")})).await;
        fork(&api, &format!("b{n}"), json!({"sessionId": format!("c{n}")})).await;
    }
    let statuses = together((0..4 * FAMILIES).map(|n| {
        let (api, family) = (fleet.api(n), n / 4);
        async move {
            match n % 4 {
                0 => api.post(format!("{S}/a{family}/fork")).json(json!({"sessionId": format!("x{family}")})).await,
                1 => api.post(format!("{S}/b{family}/fork")).json(json!({"sessionId": format!("y{family}")})).await,
                2 => api.delete(format!("{S}/a{family}")).await,
                _ => api.delete(format!("{S}/b{family}")).await,
            }
            .status()
        }
    }))
    .await;
    // A fork may come too late.
    let is_done = |(n, status): (usize, &u16)| if n % 4 < 2 { [201, 404].contains(status) } else { *status == 204 };
    assert!(statuses.iter().enumerate().all(is_done), "{statuses:?}");
    let made = statuses.iter().filter(|status| **status == 201).count();
    assert_eq!(remove(&api, "e").await.json()["forks"], FAMILIES + made);
    let list = api.get(format!("{S}?pageSize=1000&includeState=true")).await.expect(200);
    assert_eq!(list.json()["sessions"].as_array().expect("sessions").len(), 1 + FAMILIES + made);
    assert!(!list.text().contains(SECRET), "{list}");
    fleet.verify().await;
}

on_both_databases!(whoever_copies_or_reads_meanwhile_keeps_nothing);
on_both_databases!(forks_of_what_goes_meanwhile_are_redacted);

/// A fork is made of a fork that is trimmed, or expires, in that moment: the redaction waits for it.
#[tokio::test(flavor = "multi_thread")]
async fn a_fork_that_is_being_made_of_a_trimmed_or_expired_fork_is_redacted() {
    let place = Place::postgres().await;
    let url = place.url();
    let fleet = place.fleet(PATIENT).await;
    let (api, other) = (fleet.api(0), fleet.api(1));
    for (round, (method, path, body)) in
        [(Method::POST, "/trim", r#"{"keepLast":0}"#), (Method::PATCH, "", r#"{"ttl":0.001}"#)].into_iter().enumerate()
    {
        let [source, middle, late] = ["s", "b", "c"].map(|name| format!("{name}{round}"));
        api.post(S).json(json!({"sessionId": source})).await.expect(201);
        let secret = json!([{"id": "e1", "author": "a", "content": SECRET}, {"id": "e2", "author": "a"}]);
        api.post(format!("{S}/{source}/events")).json(secret).await.expect(201);
        fork(&api, &source, json!({"sessionId": middle})).await;
        // What a fork writes after its events; who trims only reads it.
        let mut held = PgConnection::connect(&url).await.expect("connect");
        sqlx::raw_sql("begin; lock table session_spans in exclusive mode").execute(&mut held).await.expect("a lock");
        let waiting = async |query: &str| {
            let mut conn = PgConnection::connect(&url).await.expect("connect");
            let sql = format!(
                "select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and query like '{query}'"
            );
            sqlx::query_scalar::<_, i64>(sqlx::AssertSqlSafe(sql)).fetch_one(&mut conn).await.expect("a number") > 0
        };
        let making = tokio::spawn({
            let request = api.post(format!("{S}/{middle}/fork")).json(json!({"sessionId": late}));
            async move { request.await }
        });
        until("the fork waits", async || waiting("insert into session_spans%").await).await;
        other.request(method, &format!("{S}/{middle}{path}")).json(body).await.expect(200);
        let redacting = tokio::spawn({
            let request = other.post(redact_at(&source, "e1"));
            async move { request.await }
        });
        until("the redaction waits, or is done", async || redacting.is_finished() || waiting("%for update) s").await)
            .await;
        drop(held);
        making.await.expect("no panic").expect(201);
        assert_eq!(redacting.await.expect("no panic").expect(200).json()["forks"], 1);
        let read = api.get(format!("{S}/{late}/events")).await.expect(200);
        assert!(!read.text().contains(SECRET), "{read}");
    }
    fleet.verify().await;
}
