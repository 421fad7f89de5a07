//! Rewinds: session state as it was before an invocation or at a revision, and the history without the rewound part.

use std::future::IntoFuture as _;

use serde_json::{Value, json};

use crate::support::client::{APP_STATE, Answer, Client, EVENTS, ONE, S, STATE, USER_STATE, segment};
use crate::support::databases::on_both_databases;
use crate::support::server::TestServer;
use crate::support::state::{ODD_KEYS, assert_folds, elements};

const REWIND: &str = "/v1/apps/app/users/user/sessions/s/rewind";

/// Three invocations of two events each: they change, add and remove keys of all scopes.
async fn fill(server: &Client) {
    server.create(r#"{"state":{"k":0,"same":1,"gone":{ "a" : 1.0 },"app:k":0,"user:k":0}}"#).await;
    for (id, invocation, actions) in [
        ("e1", "i1", r#"{"stateDelta":{"k":1,"one":1}}"#),
        ("e2", "i1", r#"{"stateDelta":{"app:k":2,"user:k":2}}"#),
        ("e3", "i2", r#"{"stateDelta":{"k":3.0,"two":[ 1 ]},"stateOps":[{"op":"remove","key":"gone"}]}"#),
        ("e4", "i2", r#"{"stateDelta":{"one":null}}"#),
        (
            "e5",
            "i3",
            r#"{"stateDelta":{"three":1,"app:new":5},"stateOps":[{"op":"remove","key":"one"},{"op":"append","key":"two","value":[2]}]}"#,
        ),
        ("e6", "i3", r#"{"stateDelta":{"k":6,"user:k":6}}"#),
    ] {
        server
            .append(format!(
                r#"{{"id":"{id}","timestamp":1,"author":"agent","invocationId":"{invocation}","actions":{actions}}}"#
            ))
            .await;
    }
}

/// Rewinds [`ONE`].
async fn rewind(server: &Client, body: &str) -> Answer {
    server.post(REWIND).json(body).await.expect(200)
}

async fn before(server: &Client, invocation: &str) -> Answer {
    rewind(server, &json!({"beforeInvocationId": invocation}).to_string()).await
}

async fn to(server: &Client, revision: usize) -> Answer {
    rewind(server, &json!({"toRevision": revision}).to_string()).await
}

/// The last event of a session.
fn last(session: &Answer) -> Value {
    session.json()["events"].as_array().and_then(|events| events.last().cloned()).expect("an event")
}

/// The session's own keys, as text.
async fn own(server: &Client, query: &str) -> String {
    server.get(format!("{STATE}?scope=session{query}")).await.expect(200).text().to_owned()
}

/// The ids of the events that are not rewound.
async fn kept(server: &Client, query: &str) -> String {
    server.get(format!("{EVENTS}?excludeRewound=true{query}")).await.expect(200).event_ids()
}

/// Which events remain, as ADK decides it when it builds the contents of a request: backwards from the end, each event
/// that rewinds hides itself and what is before it, back to the first event of the invocation that it names.
fn kept_by_adk(events: &Value) -> String {
    let events = events["events"].as_array().expect("events");
    let (mut kept, mut end) = (Vec::new(), events.len());
    while end > 0 {
        end -= 1;
        match events[end]["actions"]["rewindBeforeInvocationId"].as_str() {
            None | Some("") => kept.push(events[end]["id"].as_str().expect("an id")),
            Some(named) => end = events[..end].iter().position(|event| event["invocationId"] == named).unwrap_or(end),
        }
    }
    kept.reverse();
    kept.join(" ")
}

/// The elements of an array.
fn listed(array: &Value) -> &[Value] {
    array.as_array().expect("an array")
}

/// What an event says, without its place and what it did to the state.
fn said(event: &Value) -> Value {
    let names = ["timestamp", "author", "invocationId", "content"];
    Value::from(names.iter().map(|name| ((*name).to_owned(), event[name].clone())).collect::<serde_json::Map<_, _>>())
}

on_both_databases! {
    async fn a_rewind_restores_the_session_keys_of_before_an_invocation(server: &TestServer) {
        for (invocation, revision) in [("i1", 0), ("i2", 2), ("i3", 4)] {
            fill(server).await;
            let past = own(server, &format!("&atRevision={revision}")).await;
            let session = before(server, invocation).await;
            assert_eq!(own(server, "").await, past, "{invocation}");
            assert_eq!(session.json()["state"], server.state().await);
            assert_folds(server, ONE).await;
            server.delete(ONE).await.expect(204);
        }
    }

    async fn a_rewind_restores_the_session_keys_of_a_revision(server: &TestServer) {
        for revision in 0..6 {
            fill(server).await;
            let past = own(server, &format!("&atRevision={revision}")).await;
            let session = to(server, revision).await;
            assert_eq!(own(server, "").await, past, "to {revision}");
            assert_eq!(session.json()["state"], server.state().await);
            assert_folds(server, ONE).await;
            server.delete(ONE).await.expect(204);
        }
    }

    async fn a_rewind_is_one_more_event(server: &TestServer) {
        fill(server).await;
        let session = before(server, "i2").await;
        let event = last(&session);
        assert_eq!((&event["sequence"], &event["author"]), (&json!(7), &json!("user")));
        assert_eq!(uuid::Uuid::parse_str(event["id"].as_str().unwrap()).unwrap().get_version_num(), 7);
        let invocation = event["invocationId"].as_str().unwrap();
        assert!(!invocation.is_empty() && !["i1", "i2", "i3"].contains(&invocation), "{invocation}");
        assert!(event["timestamp"].as_f64() > Some(1.7e9));
        assert_eq!(session.json()["lastUpdateTime"], event["timestamp"]);
        assert!(event.get("content").is_none() && event.get("customMetadata").is_none(), "{event}");
        let id = event["id"].as_str().unwrap();
        assert_eq!(server.get(format!("{EVENTS}/{id}")).await.expect(200).json(), event);
    }

    async fn its_delta_is_what_has_to_change_and_no_more(server: &TestServer) {
        fill(server).await;
        let session = before(server, "i2").await;
        let actions = session.raw(&["events", "6", "actions"]);
        let actions: Value = serde_json::from_str(&actions).unwrap();
        assert_eq!(actions["rewindBeforeInvocationId"], "i2");
        assert_eq!(actions["stateDelta"], json!({"gone": {"a": 1.0}, "k": 1, "one": 1}));
        let mut removed: Vec<(&str, &str)> = actions["stateOps"]
            .as_array()
            .expect("stateOps")
            .iter()
            .map(|op| (op["op"].as_str().unwrap(), op["key"].as_str().unwrap()))
            .collect();
        removed.sort_unstable();
        assert_eq!(removed, [("remove", "three"), ("remove", "two")]);
        // Values come back byte for byte.
        assert_eq!(session.raw(&["events", "6", "actions", "stateDelta", "gone"]), r#"{ "a" : 1.0 }"#);
        assert_eq!(server.get(format!("{STATE}/gone")).await.text(), r#"{ "a" : 1.0 }"#);
    }

    async fn keys_that_came_and_went_or_are_what_they_were_are_left_alone(server: &TestServer) {
        server.create(r#"{"state":{"back":{ "a":1 },"k":1}}"#).await;
        for actions in [
            r#"{"stateDelta":{"visitor":1,"back":2,"k":2}}"#,
            r#"{"stateDelta":{"back":{ "a":1 }},"stateOps":[{"op":"remove","key":"visitor"}]}"#,
        ] {
            server.append(format!(r#"{{"invocationId":"i","actions":{actions}}}"#)).await;
        }
        let event = last(&before(server, "i").await);
        assert_eq!(event["actions"], json!({"stateDelta": {"k": 1}, "rewindBeforeInvocationId": "i"}));
    }

    async fn without_keys_to_remove_it_lists_none(server: &TestServer) {
        server.create(r#"{"state":{"k":1}}"#).await;
        server.append(r#"{"invocationId":"i","actions":{"stateDelta":{"k":2}}}"#).await;
        let event = last(&before(server, "i").await);
        assert_eq!(event["actions"], json!({"stateDelta": {"k": 1}, "rewindBeforeInvocationId": "i"}));
    }

    async fn a_rewind_to_a_revision_tells_which(server: &TestServer) {
        fill(server).await;
        for (revision, invocation) in [(0, "i1"), (1, "i1"), (2, "i2"), (5, "i3")] {
            let session = to(server, revision).await.json();
            let is_rewind = |event: &&Value| event["actions"]["rewindBeforeInvocationId"].is_string();
            let event = listed(&session["events"]).iter().rfind(is_rewind).expect("a rewind");
            assert_eq!(event["actions"]["rewindBeforeInvocationId"], invocation, "to {revision}");
            assert_eq!(event["customMetadata"], json!({"rewindToRevision": revision}));
        }
    }

    async fn shared_keys_are_never_touched(server: &TestServer) {
        fill(server).await;
        let shared = [server.get(APP_STATE).await, server.get(USER_STATE).await];
        for body in [r#"{"beforeInvocationId":"i2"}"#, r#"{"toRevision":0}"#] {
            let session = rewind(server, body).await;
            let state = session.json()["state"].take();
            assert_eq!([&state["app:k"], &state["app:new"], &state["user:k"]], [&json!(2), &json!(5), &json!(6)]);
            let delta = last(&session)["actions"]["stateDelta"].take();
            assert!(delta.as_object().unwrap().keys().all(|key| !key.contains(':')), "{delta}");
        }
        for (path, before) in [APP_STATE, USER_STATE].iter().zip(shared) {
            let after = server.get(path).await;
            assert_eq!((after.text(), after.etag()), (before.text(), before.etag()));
        }
    }

    async fn history_is_kept(server: &TestServer) {
        fill(server).await;
        let events = elements(&server.get(ONE).await.raw(&["events"]));
        let session = before(server, "i1").await;
        assert_eq!(elements(&session.raw(&["events"]))[..6], events);
        assert_eq!(session.json()["revision"], 7);
        assert_eq!(session.tag(), server.get(ONE).await.tag());
        assert_eq!(session.text(), server.get(ONE).await.text());
        assert_eq!(elements(&server.get(EVENTS).await.raw(&["events"]))[..6], events);
        assert_eq!(server.get(format!("{EVENTS}/e5")).await.expect(200).text(), events[4]);
        // A retry of what was rewound is a retry still.
        let again = server.post(EVENTS).json(events[4].as_str()).await.expect(200);
        assert!(again.was_replayed());
        assert_eq!(server.get(ONE).await.json()["revision"], 7);
    }

    async fn an_invocation_begins_with_its_first_event(server: &TestServer) {
        server.create("{}").await;
        for (n, invocation) in ["a", "b", "a", "c", "b"].iter().enumerate() {
            server.append(format!(r#"{{"id":"{n}","invocationId":"{invocation}","actions":{{"stateDelta":{{"n":{n}}}}}}}"#)).await;
        }
        before(server, "b").await;
        assert_eq!(server.state().await, json!({"n": 0}));
        assert_eq!(kept(server, "").await, "0");
    }

    async fn an_invocation_that_is_not_there_is_404(server: &TestServer) {
        fill(server).await;
        let shown = server.shown().await;
        for unknown in ["i4", "I1", "i1 ", "e1"] {
            let body = json!({"beforeInvocationId": unknown}).to_string();
            assert_eq!(server.post(REWIND).json(body).await.problem(404, "event_not_found")["outcome"], "not_applied");
        }
        assert_eq!(server.shown().await, shown);
        server.post(format!("{S}/none/rewind")).json(r#"{"toRevision":0}"#).await.problem(404, "session_not_found");
        server.post(format!("{S}/none/rewind")).json(r#"{"beforeInvocationId":"i1"}"#).await.problem(404, "session_not_found");
        // Not that of another session either.
        server.create(r#"{"sessionId":"t","events":[{"invocationId":"other"}]}"#).await;
        server.post(REWIND).json(r#"{"beforeInvocationId":"other"}"#).await.problem(404, "event_not_found");
    }

    async fn ids_of_invocations_may_be_anything(server: &TestServer) {
        for invocation in ["日本", "a\u{0}\\b", "\"/\n", " i "] {
            server.create(r#"{"state":{"k":0}}"#).await;
            server.append(json!({"id": "e", "invocationId": invocation, "actions": {"stateDelta": {"k": 1}}}).to_string()).await;
            let session = before(server, invocation).await;
            assert_eq!(last(&session)["actions"]["rewindBeforeInvocationId"], invocation);
            assert_eq!(server.state().await, json!({"k": 0}));
            assert_eq!(kept(server, "").await, "");
            assert_eq!(server.get(format!("{EVENTS}?invocationId={}", segment(invocation))).await.expect(200).event_ids(), "e");
            server.delete(ONE).await.expect(204);
        }
    }

    async fn a_revision_that_is_not_past_is_refused(server: &TestServer) {
        fill(server).await;
        let shown = server.shown().await;
        for bad in ["6", "7", "9223372036854775808", "-1", "1.5", "\"1\"", "true", "[1]"] {
            let answer = server.post(REWIND).json(format!(r#"{{"toRevision":{bad}}}"#)).await;
            assert_eq!(answer.invalid(&["toRevision"])["outcome"], "not_applied", "{bad}");
        }
        assert_eq!(server.shown().await, shown);
        server.create(r#"{"sessionId":"t"}"#).await;
        server.post(format!("{S}/t/rewind")).json(r#"{"toRevision":0}"#).await.invalid(&["toRevision"]);
    }

    async fn exactly_one_target_is_named(server: &TestServer) {
        fill(server).await;
        let shown = server.shown().await;
        for body in [
            "{}",
            r#"{"beforeInvocationId":"i1","toRevision":0}"#,
            r#"{"beforeInvocationId":null,"toRevision":null}"#,
            r#"{"beforeInvocationId":7}"#,
            r#"{"beforeInvocationId":["i1"]}"#,
            r#"{"beforeInvocationId":""}"#,
            r#"{"toRevision":0,"to_revision":0}"#,
            r#"{"beforeInvocationId":"i1","before_invocation_id":"i1"}"#,
            r#"{"toRevision":0,"bogus":1}"#,
            r#"{"atRevision":0}"#,
            "[]",
            "7",
        ] {
            server.post(REWIND).json(body).await.problem(422, "invalid_argument");
        }
        server.post(REWIND).json(r#"{"toRevision":0,"bogus":1}"#).await.invalid(&["bogus"]);
        server.post(REWIND).await.problem(400, "invalid_json");
        server.post(REWIND).json("{").await.problem(400, "invalid_json");
        server.post(REWIND).body("text/plain", "{}").await.problem(415, "unsupported_media_type");
        server.get(REWIND).await.problem(405, "method_not_allowed");
        assert_eq!(server.shown().await, shown);
        rewind(server, r#"{"before_invocation_id":"i2","toRevision":null}"#).await;
        rewind(server, r#"{"to_revision":1,"beforeInvocationId":null}"#).await;
    }

    async fn a_rewind_honours_if_match(server: &TestServer) {
        fill(server).await;
        let shown = server.shown().await;
        let conditional = |tag: &str| server.post(REWIND).header("if-match", tag).json(r#"{"toRevision":2}"#);
        for wrong in ["\"5\"", "\"7\"", "\"0.0.0.0\"", "W/\"6\""] {
            let problem = conditional(wrong).await.problem(412, "revision_mismatch");
            assert_eq!((&problem["revision"], &problem["outcome"]), (&json!(6), &json!("not_applied")));
        }
        conditional("6").await.invalid(&["If-Match"]);
        assert_eq!(server.shown().await, shown);
        assert_eq!(conditional(&shown.1).await.expect(200).tag().0, 7);
        assert_eq!(conditional("\"7\"").await.expect(200).tag().0, 8);
        conditional("*").await.expect(200);
    }

    async fn of_several_rewinds_with_one_tag_exactly_one_wins(server: &TestServer) {
        fill(server).await;
        for tag in [server.get(ONE).await.etag(), "\"7\"".to_owned()] {
            let rewinds = (0..8).map(|_| server.post(REWIND).header("if-match", &tag).json(r#"{"toRevision":2}"#).into_future());
            let mut statuses: Vec<u16> =
                futures_util::future::join_all(rewinds).await.iter().map(|answer| answer.status).collect();
            statuses.sort_unstable();
            assert_eq!(statuses, [200, 412, 412, 412, 412, 412, 412, 412]);
        }
    }

    async fn a_rewind_can_be_retried(server: &TestServer) {
        fill(server).await;
        let keyed = |key: &str, body: &str| server.post(REWIND).header("idempotency-key", key).json(body);
        for (n, body) in [r#"{"beforeInvocationId":"i2"}"#, r#"{"toRevision":1}"#].iter().enumerate() {
            let key = format!("key {n}");
            let first = keyed(&key, body).header("if-match", server.get(ONE).await.etag()).await.expect(200);
            assert!(!first.was_replayed());
            assert!(listed(&first.json()["events"]).iter().any(|event| event["id"] == key.as_str()));
            let again = keyed(&key, body).await.expect(200);
            assert!(again.was_replayed());
            assert_eq!((again.text(), again.etag()), (first.text(), first.etag()));
            // Whatever has happened since, and whatever it was conditional on.
            server.append(r#"{"invocationId":"later","actions":{"stateDelta":{"k":"later","one":2}}}"#).await;
            let shown = server.shown().await;
            let again = keyed(&key, body).header("if-match", "\"6\"").await.expect(200);
            assert!(again.was_replayed());
            assert_eq!((again.text(), again.etag()), (shown.0.as_str(), shown.1.clone()));
            assert_eq!(server.shown().await, shown);
        }
    }

    async fn a_key_that_is_taken_is_a_conflict(server: &TestServer) {
        fill(server).await;
        let keyed = |key: &str, body: &str| server.post(REWIND).header("idempotency-key", key).json(body);
        keyed("e1", r#"{"beforeInvocationId":"i2"}"#).await.problem(409, "event_id_conflict");
        keyed("r", r#"{"beforeInvocationId":"i2"}"#).await.expect(200);
        let shown = server.shown().await;
        for other in [r#"{"beforeInvocationId":"i1"}"#, r#"{"toRevision":1}"#] {
            keyed("r", other).await.problem(409, "event_id_conflict");
        }
        keyed("..", r#"{"toRevision":1}"#).await.invalid(&["Idempotency-Key"]);
        server.post(EVENTS).json(r#"{"id":"r","author":"agent"}"#).await.problem(409, "event_id_conflict");
        assert_eq!(server.shown().await, shown);
    }

    async fn rewinding_twice_comes_to_the_same(server: &TestServer) {
        fill(server).await;
        let first = before(server, "i2").await;
        let second = before(server, "i2").await;
        assert_eq!(second.json()["state"], first.json()["state"]);
        assert_eq!((&second.json()["revision"], &last(&second)["actions"]["stateDelta"]), (&json!(8), &json!({})));
        assert_eq!(kept(server, "").await, "e1 e2");
        let further = before(server, "i1").await;
        assert_eq!(further.json()["state"]["gone"], json!({"a": 1.0}));
        assert_eq!(kept(server, "").await, "");
        assert_folds(server, ONE).await;
    }

    async fn a_rewind_can_be_rewound(server: &TestServer) {
        fill(server).await;
        let original = own(server, "").await;
        let rewound = last(&before(server, "i1").await);
        assert_eq!(kept(server, "").await, "");
        before(server, rewound["invocationId"].as_str().unwrap()).await;
        assert_eq!(own(server, "").await, original);
        assert_eq!(kept(server, "").await, "e1 e2 e3 e4 e5 e6");
        // And that, by its revision.
        to(server, 7).await;
        assert_eq!(server.state().await["k"], 0);
        assert_eq!(kept(server, "").await, "");
        to(server, 6).await;
        assert_eq!(own(server, "").await, original);
        assert_folds(server, ONE).await;
    }

    async fn a_session_goes_on_after_a_rewind(server: &TestServer) {
        fill(server).await;
        before(server, "i2").await;
        let event = r#"{"id":"e8","invocationId":"i2","actions":{"stateOps":[{"op":"append","key":"two","value":[9]},{"op":"increment","key":"k","value":1}]}}"#;
        let appended = server.append(event).await;
        assert_eq!(appended.json()["actions"]["stateDelta"], json!({"two": [9], "k": 2}));
        assert_eq!(kept(server, "").await, "e1 e2 e8");
        // The first event of an invocation counts, even if it was rewound.
        before(server, "i2").await;
        assert_eq!(server.state().await["k"], 1);
        assert_eq!(kept(server, "").await, "e1 e2");
        assert_folds(server, ONE).await;
    }

    async fn removed_keys_come_back_and_nulls_stay_null(server: &TestServer) {
        server.create(r#"{"state":{"null":null,"k":1}}"#).await;
        server
            .append(r#"{"invocationId":"i","actions":{"stateOps":[{"op":"remove","key":"null"},{"op":"remove","key":"k"},{"op":"set","key":"new","value":null}]}}"#)
            .await;
        assert_eq!(server.state().await, json!({"new": null}));
        let session = before(server, "i").await;
        assert_eq!(session.json()["state"], json!({"k": 1, "null": null}));
        assert_eq!(last(&session)["actions"]["stateOps"], json!([{"op": "remove", "key": "new"}]));
    }

    async fn what_is_rewound_is_left_out_when_asked(server: &TestServer) {
        fill(server).await;
        before(server, "i3").await;
        server.append(r#"{"id":"e8","timestamp":9,"author":"user","invocationId":"i8"}"#).await;
        server.append(r#"{"id":"e9","timestamp":8,"author":"agent","invocationId":"i9","branch":"b"}"#).await;
        for (query, ids) in [
            ("", "e1 e2 e3 e4 e8 e9"),
            ("&order=asc", "e1 e2 e3 e4 e8 e9"),
            ("&order=desc", "e9 e8 e4 e3 e2 e1"),
            ("&author=agent", "e1 e2 e3 e4 e9"),
            ("&author=user", "e8"),
            ("&invocationId=i3", ""),
            ("&invocationId=i2&order=desc", "e4 e3"),
            ("&branch=b", "e9"),
            ("&afterSequence=2", "e3 e4 e8 e9"),
            ("&afterSequence=4&beforeSequence=9", "e8"),
            ("&beforeSequence=4", "e1 e2 e3"),
            // The rewind itself is out of sight here, and counts all the same.
            ("&beforeSequence=6", "e1 e2 e3 e4"),
            ("&afterTimestamp=8", "e8 e9"),
            ("&afterTimestamp=9&order=desc", "e8"),
        ] {
            assert_eq!(kept(server, query).await, ids, "{query}");
        }
        assert_eq!(server.get(format!("{EVENTS}?exclude_rewound=true")).await.expect(200).event_ids(), "e1 e2 e3 e4 e8 e9");
        for query in ["", "?excludeRewound=false"] {
            assert_eq!(server.get(format!("{EVENTS}{query}")).await.expect(200).json()["events"].as_array().unwrap().len(), 9);
        }
        for bad in ["1", "yes", "TRUE", ""] {
            server.get(format!("{EVENTS}?excludeRewound={bad}")).await.invalid(&["excludeRewound"]);
        }
    }

    async fn pages_of_what_is_left_put_together_are_the_whole(server: &TestServer) {
        server.create("{}").await;
        for n in 1..=40 {
            match n % 9 {
                0 => drop(to(server, n - 4).await),
                _ => drop(server.append(format!(r#"{{"id":"{n}","author":"{}","invocationId":"i{n}"}}"#, n % 2)).await),
            }
        }
        for query in ["", "&order=desc", "&author=1", "&author=0&order=desc", "&afterSequence=7&beforeSequence=33"] {
            let whole = kept(server, &format!("{query}&pageSize=1000")).await;
            assert!(whole.split(' ').count() > 5, "{query}: {whole}");
            for size in [1, 2, 3, 7] {
                let (mut pages, mut token) = (Vec::new(), String::new());
                loop {
                    let page = server.get(format!("{EVENTS}?excludeRewound=true{query}&pageSize={size}{token}")).await.expect(200);
                    let ids = page.event_ids();
                    assert!(!ids.is_empty() && ids.split(' ').count() <= size, "{query} by {size}: {ids}");
                    pages.push(ids);
                    match page.json()["nextPageToken"].as_str() {
                        Some(next) => token = format!("&pageToken={next}"),
                        None => break,
                    }
                }
                assert_eq!(pages.join(" "), whole, "{query} by {size}");
            }
        }
    }

    async fn a_page_token_knows_whether_rewound_events_were_left_out(server: &TestServer) {
        fill(server).await;
        for (one, other) in [("true", "false"), ("false", "true")] {
            let first = server.get(format!("{EVENTS}?pageSize=1&excludeRewound={one}")).await.expect(200).json();
            let token = first["nextPageToken"].as_str().expect("another page");
            let next = |exclude: &str| server.get(format!("{EVENTS}?pageSize=1&excludeRewound={exclude}&pageToken={token}"));
            next(other).await.invalid(&["pageToken"]);
            assert_eq!(next(one).await.expect(200).event_ids(), "e2");
        }
    }

    async fn an_event_of_a_client_that_rewinds_counts_just_the_same(server: &TestServer) {
        fill(server).await;
        let event = r#"{"id":"r","invocationId":"ir","author":"user","actions":{"rewindBeforeInvocationId":"i2","stateDelta":{"k":1}}}"#;
        let stored = server.append(event).await;
        assert_eq!(stored.json()["actions"]["rewindBeforeInvocationId"], "i2");
        // It changes what it says, and no more.
        assert_eq!(server.state().await["k"], 1);
        assert_eq!(server.state().await["two"], json!([1, 2]));
        assert_eq!(kept(server, "").await, "e1 e2");
        server.append(r#"{"id":"e8","invocationId":"i8"}"#).await;
        assert_eq!(kept(server, "").await, "e1 e2 e8");
        server.append(r#"{"id":"r2","actions":{"rewind_before_invocation_id":"i8"}}"#).await;
        assert_eq!(kept(server, "").await, "e1 e2");
        assert_folds(server, ONE).await;
    }

    async fn in_a_batch_and_in_a_creation_they_count_too(server: &TestServer) {
        let events = r#"[{"id":"a","invocationId":"i1"},{"id":"b","invocationId":"i2"},
            {"id":"r","actions":{"rewindBeforeInvocationId":"i2"}},{"id":"c","invocationId":"i3"}]"#;
        server.create(&format!(r#"{{"events":{events}}}"#)).await;
        assert_eq!(kept(server, "").await, "a c");
        let batch = r#"[{"id":"d","invocationId":"i4"},{"id":"r2","actions":{"rewindBeforeInvocationId":"i4"}},
            {"id":"e","invocationId":"i5"},{"id":"r3","actions":{"rewindBeforeInvocationId":"i3"}}]"#;
        server.append(batch).await;
        assert_eq!(kept(server, "").await, "a");
    }

    async fn an_event_that_rewinds_to_nothing_hides_only_itself(server: &TestServer) {
        fill(server).await;
        server.append(r#"{"id":"r","invocationId":"own","actions":{"rewindBeforeInvocationId":"none"}}"#).await;
        assert_eq!(kept(server, "").await, "e1 e2 e3 e4 e5 e6");
        // Its own invocation begins with it, and what comes later is not before it.
        server.append(r#"{"id":"r2","invocationId":"own2","actions":{"rewindBeforeInvocationId":"own2"}}"#).await;
        server.append(r#"{"id":"r3","actions":{"rewindBeforeInvocationId":"later"}}"#).await;
        server.append(r#"{"id":"e10","invocationId":"later"}"#).await;
        assert_eq!(kept(server, "").await, "e1 e2 e3 e4 e5 e6 e10");
        // No rewind at all.
        server.append(r#"{"id":"e11","actions":{"rewindBeforeInvocationId":null}}"#).await;
        assert_eq!(kept(server, "&afterSequence=9").await, "e10 e11");
    }

    async fn a_rewind_that_was_rewound_hides_nothing_more(server: &TestServer) {
        server.create("{}").await;
        for event in [
            r#"{"id":"1","invocationId":"a"}"#,
            r#"{"id":"2","invocationId":"b"}"#,
            r#"{"id":"3","invocationId":"c"}"#,
            r#"{"id":"4","invocationId":"r","actions":{"rewindBeforeInvocationId":"a"}}"#,
            r#"{"id":"5","invocationId":"d"}"#,
            // Takes back 3, 4 and 5, so that 4 takes back nothing any more.
            r#"{"id":"6","invocationId":"s","actions":{"rewindBeforeInvocationId":"c"}}"#,
        ] {
            server.append(event).await;
        }
        assert_eq!(kept(server, "").await, "1 2");
        assert_eq!(kept(server, "&order=desc").await, "2 1");
        assert_eq!(kept(server, "&beforeSequence=5").await, "1 2");
    }

    async fn what_remains_is_what_adk_would_keep(server: &TestServer) {
        // Chance that is the same each time.
        let mut seed: u64 = 7;
        let mut below = |limit: u64| {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (seed >> 33) % limit
        };
        server.create(r#"{"state":{"n":0}}"#).await;
        for n in 0..60 {
            let invocation = format!("i{}", below(12));
            match below(4) {
                0 => drop(server.append(json!({"actions": {"rewindBeforeInvocationId": invocation}}).to_string()).await),
                // An invocation that is not there is none that could be rewound.
                1 => drop(server.post(REWIND).json(json!({"beforeInvocationId": invocation}).to_string()).await),
                _ => {
                    let event = json!({"invocationId": invocation, "actions": {"stateDelta": {"n": n, format!("k{}", n % 5): n}}});
                    drop(server.append(event.to_string()).await);
                }
            }
            let all = server.get(EVENTS).await.expect(200).json();
            assert_eq!(kept(server, "").await, kept_by_adk(&all), "after {n}");
        }
        assert_folds(server, ONE).await;
    }

    async fn events_without_an_invocation_can_be_rewound_by_revision(server: &TestServer) {
        server.create(r#"{"state":{"n":0}}"#).await;
        for n in 1..=4 {
            server.append(format!(r#"{{"id":"{n}","actions":{{"stateDelta":{{"n":{n}}}}}}}"#)).await;
        }
        to(server, 2).await;
        assert_eq!(server.state().await, json!({"n": 2}));
        assert_eq!(kept(server, "").await, "1 2");
        server.append(r#"{"id":"5"}"#).await;
        assert_eq!(kept(server, "").await, "1 2 5");
        to(server, 0).await;
        assert_eq!((server.state().await, kept(server, "").await), (json!({"n": 0}), String::new()));
    }

    async fn what_stays_of_an_invocation_that_a_rewind_cuts_is_appended_once_more(server: &TestServer) {
        for revision in 0..6 {
            fill(server).await;
            let all = server.get(EVENTS).await.json();
            let past = own(server, &format!("&atRevision={revision}")).await;
            let session = to(server, revision).await;
            let cut = revision % 2 == 1;
            assert_eq!(session.json()["revision"], 7 + usize::from(cut), "to {revision}");
            assert_eq!(session.etag().split('.').next(), Some(&*format!("\"{}", 7 + usize::from(cut))));
            assert_eq!(own(server, "").await, past, "to {revision}");
            assert_folds(server, ONE).await;
            // Its readers and ADK's see the same: what was there then.
            let events = server.get(EVENTS).await.json();
            assert_eq!(kept(server, "").await, kept_by_adk(&events), "to {revision}");
            let kept = server.get(format!("{EVENTS}?excludeRewound=true")).await.json();
            let said = |events: &Value| listed(&events["events"]).iter().map(said).collect::<Vec<_>>();
            assert_eq!(said(&kept), said(&all)[..revision], "to {revision}");
            if cut {
                let (copy, source) = (last(&session), &all["events"][revision - 1]);
                assert_eq!(copy["customMetadata"], json!({"rewindCopyOf": source["id"]}));
                assert_eq!(copy["sequence"], 8);
                assert_eq!(copy["actions"], json!({}));
                assert_eq!(uuid::Uuid::parse_str(copy["id"].as_str().unwrap()).unwrap().get_version_num(), 7);
                assert_eq!(own(server, "&atRevision=7").await, past);
                assert_eq!(own(server, "&atRevision=8").await, past);
                assert_eq!(session.json()["lastUpdateTime"], copy["timestamp"]);
            }
            server.delete(ONE).await.expect(204);
        }
    }

    async fn a_rewind_with_copies_keeps_to_preconditions_retries_and_leases(server: &TestServer) {
        fill(server).await;
        let lease = server.post(format!("{ONE}/lease")).json(r#"{"owner":"o","exclusive":"all"}"#).await.expect(201).json();
        let mark = format!("{}-{}", lease["epoch"], lease["incarnation"].as_str().unwrap());
        server.post(REWIND).json(r#"{"toRevision":3}"#).await.problem(409, "lease_held");
        let request = |body: &str| server.post(REWIND).json(body).header("sessiond-lease", &mark);
        request(r#"{"toRevision":3}"#).header("if-match", "\"5\"").await.problem(412, "revision_mismatch");
        let first = request(r#"{"toRevision":3}"#).header("if-match", "\"6\"").header("idempotency-key", "again").await.expect(200);
        assert_eq!(first.json()["revision"], 8);
        let again = request(r#"{"toRevision":3}"#).header("if-match", "\"6\"").header("idempotency-key", "again").await.expect(200);
        assert_eq!((again.header("idempotent-replayed"), again.text()), (Some("true"), first.text()));
        request(r#"{"toRevision":1}"#).header("idempotency-key", "again").await.problem(409, "event_id_conflict");
    }

    async fn copies_can_be_rewound_and_cut_again(server: &TestServer) {
        server.create("{}").await;
        for n in 1..=4 {
            server.append(format!(r#"{{"id":"e{n}","invocationId":"i","content":{{"parts":[{{"text":"{n}"}}]}},"actions":{{"stateDelta":{{"n":{n}}}}}}}"#)).await;
        }
        // Of e1 to e3, then of the first of these copies alone, then of nothing.
        let texts = async |server: &TestServer| {
            let events = server.get(EVENTS).await.json();
            assert_eq!(kept(server, "").await, kept_by_adk(&events));
            let kept = server.get(format!("{EVENTS}?excludeRewound=true")).await.json();
            let texts = listed(&kept["events"]).iter().map(|event| event["content"]["parts"][0]["text"].as_str().unwrap().to_owned()).collect::<Vec<_>>();
            texts.join(" ")
        };
        assert_eq!(to(server, 3).await.json()["revision"], 8);
        assert_eq!((texts(server).await, server.state().await), ("1 2 3".to_owned(), json!({"n": 3})));
        assert_eq!(to(server, 6).await.json()["revision"], 10);
        assert_eq!((texts(server).await, server.state().await), ("1".to_owned(), json!({"n": 3})));
        before(server, "i").await;
        assert_eq!((texts(server).await, server.state().await), (String::new(), json!({})));
        assert_folds(server, ONE).await;
    }

    async fn what_was_taken_back_within_an_invocation_does_not_come_back(server: &TestServer) {
        server.create("{}").await;
        for (id, invocation) in [("e1", "a"), ("e2", "b")] {
            server.append(format!(r#"{{"id":"{id}","invocationId":"{invocation}"}}"#)).await;
        }
        before(server, "a").await;
        for id in ["e4", "e5"] {
            server.append(format!(r#"{{"id":"{id}","invocationId":"b"}}"#)).await;
        }
        // Of `b` the first event is e2, and from there on the first rewind would be taken back, and e1 be there again.
        to(server, 4).await;
        let events = server.get(EVENTS).await.json();
        assert_eq!(kept(server, "").await, kept_by_adk(&events));
        let left = server.get(format!("{EVENTS}?excludeRewound=true")).await.json();
        let copies: Vec<_> = listed(&left["events"]).iter().map(|event| event["customMetadata"]["rewindCopyOf"].clone()).collect();
        assert_eq!(copies, [json!("e4")]);
    }

    async fn what_is_copied_may_be_more_than_a_page(server: &TestServer) {
        server.create("{}").await;
        for batch in 0..3 {
            let events: Vec<_> = (0..600).map(|n| json!({"id": format!("{batch}-{n}"), "invocationId": "i", "actions": {"stateDelta": {"n": n}}})).collect();
            server.append(json!(events).to_string()).await;
        }
        let session = to(server, 1500).await;
        assert_eq!(session.json()["revision"], 1801 + 1500);
        assert_eq!(listed(&session.json()["events"]).len(), 3301);
        assert_eq!(last(&session)["customMetadata"], json!({"rewindCopyOf": "2-299"}));
        let first = server.get(format!("{EVENTS}?excludeRewound=true&pageSize=1000")).await.json();
        assert_eq!(listed(&first["events"]).len(), 1000);
        let token = first["nextPageToken"].as_str().unwrap();
        let rest = server.get(format!("{EVENTS}?excludeRewound=true&pageSize=1000&pageToken={token}")).await.json();
        assert_eq!((listed(&rest["events"]).len(), rest.get("nextPageToken")), (500, None));
        assert_eq!(server.state().await, json!({"n": 299}));
    }

    async fn a_session_with_copies_moves(server: &TestServer) {
        fill(server).await;
        to(server, 3).await;
        let lines = server.get(format!("{ONE}/export")).await.expect(200).text().to_owned();
        let left = kept(server, "").await;
        server.delete(ONE).await.expect(204);
        let imported = server.post("/v1/import").body("application/x-ndjson", lines).await.expect(200);
        assert!(imported.text().contains("\"created\""), "{}", imported.text());
        assert_eq!(kept(server, "").await, left);
        assert_folds(server, ONE).await;
    }

    async fn a_fork_can_be_rewound_beyond_its_beginning(server: &TestServer) {
        fill(server).await;
        let fork = format!("{S}/f");
        server.post(format!("{ONE}/fork")).json(r#"{"sessionId":"f","atRevision":5}"#).await.expect(201);
        server.post(format!("{fork}/events")).json(r#"{"id":"f6","invocationId":"if","actions":{"stateDelta":{"k":"f","f":1}}}"#).await.expect(201);
        let shown = server.shown().await;
        let rewound = server.post(format!("{fork}/rewind")).json(r#"{"beforeInvocationId":"i2"}"#).await.expect(200);
        assert_eq!(rewound.json()["revision"], 7);
        assert_eq!(rewound.json()["forkedFrom"], json!({"sessionId": "s", "revision": 5}));
        assert_eq!(
            server.get(format!("{fork}/state?scope=session")).await.text(),
            server.get(format!("{STATE}?scope=session&atRevision=2")).await.text()
        );
        assert_eq!(server.get(format!("{fork}/events?excludeRewound=true")).await.event_ids(), "e1 e2");
        server.post(format!("{fork}/rewind")).json(r#"{"beforeInvocationId":"i3","toRevision":null}"#).await.expect(200);
        server.post(format!("{fork}/rewind")).json(r#"{"toRevision":0}"#).await.expect(200);
        assert_folds(server, &fork).await;
        assert_eq!(server.shown().await, shown);
    }

    async fn keys_of_any_kind_are_restored(server: &TestServer) {
        let all = |value: i64| Value::from(ODD_KEYS.iter().map(|key| ((*key).to_owned(), json!(value))).collect::<serde_json::Map<_, _>>());
        server.create("{}").await;
        server.append(json!({"invocationId": "a", "actions": {"stateDelta": all(1)}}).to_string()).await;
        server.append(json!({"invocationId": "b", "actions": {"stateDelta": all(2)}}).to_string()).await;
        assert_eq!(before(server, "b").await.json()["state"], all(1));
        assert_eq!(before(server, "a").await.json()["state"], json!({}));
        to(server, 2).await;
        assert_eq!(server.state().await, all(2));
        assert_folds(server, ONE).await;
    }

    async fn what_many_events_set_one_rewind_restores(server: &TestServer) with ["--max-value-bytes=1000", "--max-event-bytes=2000"] {
        server.create("{}").await;
        for value in ["a", "b"].map(|letter| letter.repeat(900)) {
            for n in 0..10 {
                server.append_delta(&json!({format!("k{n}"): value}).to_string()).await;
            }
        }
        let past = own(server, "&atRevision=10").await;
        let event = last(&to(server, 10).await);
        assert_eq!(own(server, "").await, past);
        assert_eq!(event["actions"]["stateDelta"].as_object().unwrap().len(), 10);
        assert_folds(server, ONE).await;
    }

    async fn many_keys_are_restored_at_once(server: &TestServer) {
        let object = |value: i32, keys: std::ops::Range<usize>| {
            Value::from(keys.map(|n| (format!("k{n}"), json!(value))).collect::<serde_json::Map<_, _>>())
        };
        server.create(&json!({"sessionId": "s", "state": object(0, 0..300)}).to_string()).await;
        let past = own(server, "").await;
        server.append(json!({"invocationId": "i", "actions": {"stateDelta": object(1, 150..450)}}).to_string()).await;
        let removals: Vec<Value> = (0..50).map(|n| json!({"op": "remove", "key": format!("k{n}")})).collect();
        server.append(json!({"actions": {"stateOps": removals}}).to_string()).await;
        let actions = last(&before(server, "i").await)["actions"].take();
        assert_eq!(own(server, "").await, past);
        assert_eq!(actions["stateDelta"].as_object().unwrap().len(), 200);
        assert_eq!(actions["stateOps"].as_array().unwrap().len(), 150);
    }
}
