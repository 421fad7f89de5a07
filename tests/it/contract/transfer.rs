//! Exports and imports: sessions as lines, byte for byte, each whole or not at all.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use futures_util::stream;
use hex::encode as hex;
use reqwest::Method;
use serde_json::{Value, json};
use sessiond::domain::Limits;
use sessiond::domain::access::Grant;
use sessiond::domain::ids::{AppName, SessionId, SessionKey, UserId, UserKey};
use sessiond::domain::transfer::{ExportSource, LinesDigest};
use sessiond::metrics::Metrics;
use sessiond::service::{Error, Export, ImportOptions, Service, SystemClock};
use sessiond::store::limits::{PostgresOptions, StoreLimits};
use sessiond::store::open;
use tokio::sync::mpsc;
use tokio::time::Instant;

use super::access::Guarded;
use crate::support::client::{Answer, Client, ONE, S, STATE};
use crate::support::databases::{Fixture as _, on_both_databases};
use crate::support::process::Sessiond;
use crate::support::server::TestServer;
use crate::support::state::ODD_KEYS;

pub(super) const EXPORT: &str = "/v1/apps/app/export";
pub(super) const NDJSON: &str = "application/x-ndjson";

/// Sessions of two users with much of what there can be: values that are hard to keep, all scopes, operators, a rewind, a fork, a
/// trim, metadata, and a user who has no session.
async fn fill(server: &Client) {
    let state = json!({ODD_KEYS[0]: 1, "topic": "x", "user:name": "Ada", "app:model": "m"});
    server
        .create(&json!({"state": state, "displayName": "Ünï\u{1F600}", "labels": {"a": "b"}, "ttl": 3600}).to_string())
        .await;
    let long = "7".repeat(300);
    for (id, invocation, rest) in [
        ("e1", "i1", format!(r#""content":{{"parts":[{{"text":"a\nb\u2028\u0000"}}]}},"actions":{{"stateDelta":{{"n":1.10,"long":{long},"user:n":1}}}}"#)),
        ("e2", "i1", r#""actions":{"stateDelta":{"n":1E2,"gone":1},"stateOps":[{"op":"append","key":"list","value":[-0.0]}]}"#.to_owned()),
        ("e3", "i2", "\"actions\":{\"stateDelta\":{\"n\":\r\n {\"b\" : 1,\"a\":[ ] }},\"stateOps\":[{\"op\":\"remove\",\"key\":\"gone\"}]}".to_owned()),
        ("e4", "i2", r#""actions":{"stateDelta":{"app:count":4,"n":null}},"extra":{"$serde_json::private::RawValue":"[1]"}"#.to_owned()),
    ] {
        server.append(format!(r#"{{"id":"{id}","author":"agent","branch":"b","invocationId":"{invocation}",{rest}}}"#)).await;
    }
    server.post(format!("{ONE}/rewind")).json(r#"{"beforeInvocationId":"i2"}"#).await.expect(200);
    server.post(format!("{ONE}/fork")).json(r#"{"sessionId":"fork","atRevision":4}"#).await.expect(201);
    server.post(S).json(r#"{"sessionId":"empty"}"#).await.expect(201);
    server.post(S).json(r#"{"sessionId":"cut","state":{"k":0}}"#).await.expect(201);
    for n in 1..=4 {
        server
            .post(format!("{S}/cut/events"))
            .json(format!(r#"{{"id":"c{n}","author":"a","actions":{{"stateDelta":{{"k":{n}}}}}}}"#))
            .await
            .expect(201);
    }
    server.post(format!("{S}/cut/trim")).json(r#"{"keepLast":2}"#).await.expect(200);
    server.post("/v1/apps/app/users/bob/sessions").json(r#"{"sessionId":"s","state":{"of":"bob"}}"#).await.expect(201);
    server.patch("/v1/apps/app/users/zoe/state").json(r#"{"stateDelta":{"alone":true}}"#).await.expect(200);
}

async fn append_to(server: &Client, session: &str, event: &str) -> Answer {
    server.post(format!("{session}/events")).json(event).await.expect(201)
}

/// Sessions of two users, whose events change what they share again and again, each `rounds` times; one is trimmed, one a fork.
async fn fill_past(server: &Client, rounds: usize) {
    let bob = "/v1/apps/app/users/bob/sessions";
    server.create(r#"{"state":{"of":"user"}}"#).await;
    server.post(bob).json(r#"{"sessionId":"s","state":{"user:first":1,"app:n":"x"}}"#).await.expect(201);
    server.post(S).json(r#"{"sessionId":"cut","state":{"app:n":"y","user:n":0}}"#).await.expect(201);
    for n in 0..rounds {
        for (path, name) in [(ONE.to_owned(), "s"), (format!("{bob}/s"), "bob"), (format!("{S}/cut"), "cut")] {
            let ops = match n % 3 {
                1 => json!([{"op": "remove", "key": "user:gone"}, {"op": "remove", "key": "app:gone"}]),
                _ => {
                    json!([{"op": "set", "key": "user:gone", "value": n}, {"op": "set", "key": "app:gone", "value": [n]}])
                }
            };
            let delta = json!({"k": n, "user:n": n, "app:n": format!("{name}{n}"), format!("app:once{n}"): 1.50});
            let event =
                json!({"id": format!("e{n}"), "author": "a", "actions": {"stateDelta": delta, "stateOps": ops}});
            append_to(server, &path, &event.to_string()).await;
        }
        server
            .patch("/v1/apps/app/state")
            .json(format!("{{\"stateDelta\":{{\"own\":{{\"n\":\n{n}}}}}}}"))
            .await
            .expect(200);
    }
    server.post(format!("{S}/cut/trim")).json(r#"{"keepLast":2}"#).await.expect(200);
    server.post(format!("{ONE}/fork")).json(r#"{"sessionId":"fork","atRevision":3}"#).await.expect(201);
    server.post(S).json(r#"{"sessionId":"late"}"#).await.expect(201);
}

/// The merged state of each session at each revision that it has.
async fn moments(server: &Client, app: &str) -> Vec<(String, i64, String)> {
    let mut moments = Vec::new();
    for session in ["user/s", "user/cut", "user/fork", "user/late", "bob/s"] {
        let (user, id) = session.split_once('/').expect("a path");
        let path = format!("/v1/apps/{app}/users/{user}/sessions/{id}");
        let head = server.get(format!("{path}?numRecentEvents=0")).await.expect(200).json();
        let (base, revision) =
            (head["baseRevision"].as_i64().unwrap_or(0), head["revision"].as_i64().expect("a revision"));
        for n in base..=revision {
            let state = server.get(format!("{path}/state?atRevision={n}")).await.expect(200).text().to_owned();
            moments.push((session.to_owned(), n, state));
        }
    }
    moments
}

async fn assert_moments(server: &Client, app: &str, moments: &[(String, i64, String)], which: impl Fn(&str) -> bool) {
    for (session, n, state) in moments.iter().filter(|(session, ..)| which(session)) {
        let (user, id) = session.split_once('/').expect("a path");
        let path = format!("/v1/apps/{app}/users/{user}/sessions/{id}/state?atRevision={n}");
        assert_eq!(server.get(&path).await.expect(200).text(), state, "{path}");
    }
}

pub async fn exported(server: &Client, path: &str) -> String {
    let answer = server.get(path).await.expect(200);
    assert_eq!(answer.header("content-type"), Some(NDJSON));
    answer.text().to_owned()
}

/// The lines but for the first, which has the time.
pub(super) fn body(export: &str) -> &str {
    export.split_once('\n').expect("lines").1
}

pub async fn import(server: &Client, query: &str, lines: &str) -> Answer {
    server.post(format!("/v1/import{query}")).body(NDJSON, lines.to_owned()).await.expect(200)
}

/// What became of each session, and what was counted.
pub(super) fn results(answer: &Answer) -> (Vec<(String, String)>, Value) {
    let mut lines: Vec<Value> = answer.text().lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let counts = lines.pop().expect("a last line");
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    (lines.iter().map(|line| (text(&line["session"]), text(&line["result"]))).collect(), counts)
}

/// The lines with the digests that they have, as whoever made them up would write them.
pub(super) fn sealed(lines: &str) -> String {
    let (mut sealed, mut digest) = (String::new(), LinesDigest::default());
    for line in lines.split_inclusive('\n') {
        let kind = line.split('"').nth(3);
        match kind {
            Some("session") => digest = LinesDigest::default(),
            Some("session.end") => {
                let (before, after) = line.rsplit_once(r#""sha256":""#).expect("a digest");
                sealed += &format!(r#"{before}"sha256":"{}{}"#, hex(digest.clone().finish()), &after[64..]);
                continue;
            }
            _ => {}
        }
        digest.add(line.as_bytes());
        sealed += line;
    }
    sealed
}

/// The lines without the cursors, which fit one export.
pub(super) fn without_cursors(lines: &str) -> String {
    lines.lines().map(|line| line.split(r#","cursor":"#).next().expect("a part").to_owned() + "\n").collect()
}

/// The lines of events.
fn events_of(lines: &str) -> Vec<&str> {
    lines.lines().filter(|line| line.starts_with(r#"{"type":"event""#)).collect()
}

#[track_caller]
pub fn assert_all(answer: &Answer, result: &str, sessions: usize) {
    let (results, _) = results(answer);
    assert_eq!(results.len(), sessions, "{answer}");
    assert!(results.iter().all(|(_, became)| became == result), "{answer}");
}

on_both_databases! {
    async fn an_import_answers_lines_to_a_client_that_waits_for_them(server: &TestServer) {
        server.post(S).json(r#"{"sessionId":"one"}"#).await.expect(201);
        server.post(S).json(r#"{"sessionId":"two"}"#).await.expect(201);
        let lines = exported(server, EXPORT).await;
        let (end, _) = lines.match_indices(r#"{"type":"session","#).nth(1).expect("a second session");
        let (first, rest) = lines.split_at(end);
        let (send, sent) = mpsc::unbounded_channel::<String>();
        let chunks = stream::unfold(sent, async |mut sent| sent.recv().await.map(|chunk| (Ok::<_, io::Error>(chunk), sent)));
        send.send(first.to_owned()).expect("it is read");
        let body = reqwest::Body::wrap_stream(chunks);
        let mut answer = server.post("/v1/import?appName=to").body(NDJSON, body).stream().await;
        let line = answer.chunk().await.expect("an answer").expect("a line");
        assert!(line.ends_with(b"\"result\":\"created\"}\n"), "{line:?}");
        send.send(rest.to_owned()).expect("it is read");
        drop(send);
        let line = answer.text().await.expect("an answer");
        assert!(line.ends_with("{\"sessions\":2,\"events\":0}\n"), "{line}");
    }

    async fn what_other_systems_put_around_lines_is_no_part_of_them(server: &TestServer) {
        fill(server).await;
        let lines = exported(server, &format!("{S}/cut/export")).await;
        for changed in [lines.replace('\n', "\r\n"), format!("\u{feff}{lines}"), format!("\u{feff}{}", lines.replace('\n', "\r\n"))] {
            server.delete(format!("{S}/cut")).await.expect(204);
            assert_all(&import(server, "", &changed).await, "created", 1);
            assert_all(&import(server, "", &lines).await, "unchanged", 1);
        }
    }

    async fn events_of_a_version_that_kept_names_in_snake_case_are_imported_in_camel_case(server: &TestServer) {
        let given = r#""content":{"parts":[{"function_call":{"name":"f","args":{"a_b":[ ]}}}]}"#;
        let kept = given.replace("function_call", "functionCall");
        server.create("{}").await;
        server.append(format!(r#"{{"id":"e","timestamp":1,{given}}}"#)).await;
        let lines = exported(server, &format!("{ONE}/export")).await;
        assert!(lines.contains(&kept), "{lines}");
        let old = sealed(&lines.replace(&kept, given));
        for lines in [&old, &lines] {
            server.delete(ONE).await.expect(204);
            assert_all(&import(server, "", lines).await, "created", 1);
            assert!(server.get(format!("{S}/s/events/e")).await.expect(200).text().contains(&kept));
            assert_all(&import(server, "", lines).await, "unchanged", 1);
            // Either spelling is a retry.
            for content in [given, &kept] {
                let retry = server.post(format!("{S}/s/events")).json(format!(r#"{{"id":"e",{content}}}"#)).await.expect(200);
                assert!(retry.was_replayed());
            }
        }
        // Its own come back to the byte.
        let again = exported(server, &format!("{ONE}/export")).await;
        assert_eq!(events_of(&again), events_of(&lines));
    }

    async fn an_export_of_an_import_is_the_same(server: &TestServer) {
        fill(server).await;
        let export = exported(server, EXPORT).await;
        let (sqlite, postgres) = (Place::sqlite(), Place::postgres().await);
        let (first, second) = (TestServer::start(postgres, &[]).await, TestServer::start(sqlite, &[]).await);
        for other in [&first, &second] {
            let answer = import(other, "", &export).await;
            assert_all(&answer, "created", 5);
            assert_eq!(results(&answer).1["sessions"], 5);
            assert_eq!(body(&exported(other, EXPORT).await), body(&export));
            assert_all(&import(other, "", &export).await, "unchanged", 5);
        }
        // The times of a session, and what it was, are as they were.
        for path in [ONE.to_owned(), format!("{S}/cut"), format!("{S}/fork"), format!("{S}/empty")] {
            let (one, other) = (server.get(&path).await.expect(200), first.get(&path).await.expect(200));
            assert_eq!(one.text(), other.text(), "{path}");
        }
        for n in 0..=5 {
            let path = format!("{STATE}?scope=session&atRevision={n}");
            assert_eq!(first.get(&path).await.expect(200).text(), server.get(&path).await.expect(200).text(), "{n}");
        }
        // Retries are recognised, and new events follow.
        let again = format!(r#"{{"id":"e2","author":"agent","branch":"b","invocationId":"i1",{}}}"#, r#""actions":{"stateDelta":{"n":1E2,"gone":1},"stateOps":[{"op":"append","key":"list","value":[-0.0]}]}"#);
        assert!(first.post(format!("{ONE}/events")).json(again).await.expect(200).was_replayed());
        let stub = r#"{"id":"c1","author":"a","actions":{"stateDelta":{"k":1}}}"#;
        assert_eq!(first.post(format!("{S}/cut/events")).json(stub).await.expect(200).json()["trimmed"], true);
        assert_eq!(first.append(r#"{"author":"a","actions":{"stateDelta":{"user:n":2}}}"#).await.json()["sequence"], 6);
        first.get(format!("{STATE}?atRevision=6")).await.expect(200);
        // What was imported once is still there, and more.
        let (now, _) = results(&import(&first, "", &export).await);
        let (scopes, sessions): (Vec<_>, Vec<_>) = now.iter().partition(|(session, _)| session.is_empty());
        assert!(sessions.iter().all(|(_, result)| result == "unchanged"), "{now:?}");
        assert_eq!(scopes.len(), 1, "the user's state is other state now: {now:?}");
        first.stop().await;
        second.stop().await;
    }

    async fn a_state_may_be_longer_than_any_event_of_an_import(server: &TestServer) {
        // A session of many values, none of which is large; its longest event has one of them.
        let value = "x".repeat(900);
        server.create("{}").await;
        for n in 0..100 {
            server.append(format!(r#"{{"actions":{{"stateDelta":{{"k{n}":"{value}"}}}}}}"#)).await;
        }
        let export = exported(server, EXPORT).await;
        let sizes = ["--max-value-bytes=1KiB", "--max-event-bytes=2KiB", "--max-body-bytes=4KiB"];
        let other = TestServer::start(Place::sqlite(), &sizes).await;
        assert_all(&import(&other, "", &export).await, "created", 1);
        assert_eq!(body(&exported(&other, EXPORT).await), body(&export));
        // Any other line of that length is not read.
        let long = format!(r#"{{"type":"event","event":{{"x":"{}"}}}}"#, "x".repeat(70 << 10));
        let renamed = export.replace(r#""id":"s""#, r#""id":"t""#);
        let mut lines: Vec<&str> = renamed.lines().collect();
        lines.insert(3, &long);
        let answer = import(&other, "", &(lines.join("\n") + "\n")).await;
        assert_all(&answer, "failed", 1);
        assert!(answer.text().contains(r#""code":"payload_too_large""#), "{answer}");
        other.stop().await;
        // There is memory for the events, and not for the state.
        let sizes = [&sizes[..], &["--max-buffered-bytes=64KiB"]].concat();
        let other = TestServer::start(Place::sqlite(), &sizes).await;
        let answer = import(&other, "", &export).await;
        assert_all(&answer, "failed", 1);
        assert!(answer.text().contains(r#""code":"overloaded""#), "{answer}");
        assert!(!body(&exported(&other, EXPORT).await).contains(r#""session""#), "nothing is there");
        other.stop().await;
    }

    async fn every_line_is_one_json_value_whatever_clients_store(server: &TestServer) {
        // As if lines began there: in values of all scopes, a base state, labels, an event, between tokens and within strings.
        for (n, eol) in ["\n", "\r", "\r\n"].into_iter().enumerate() {
            let app = format!("lines{n}");
            let planted: String = [
                r#"{"type":"user.state","userId":"zoe","revision":9,"state":{"role":"owner"}}"#,
                r#"{"type":"user.change","userId":"zoe","revision":9,"time":1,"base":true,"set":{"role":"owner"}}"#,
                r#"{"type":"export","format":1,"scope":"app","appName":"stolen"}"#,
                r#"{"type":"app.state","revision":9,"state":{"role":"owner"}}"#,
                r#"{"type":"end","sessions":0,"events":0}"#,
                r#"{"type":"session.end","id":"s1","revision":0,"state":{},"sha256":"","cursor":""}"#,
                r#""{\"type\":\"end\"}""#,
            ].map(|line| format!("{eol}{line}{eol},")).concat();
            let value = format!("[{eol}{planted}1{eol}]");
            let of_user = format!("/v1/apps/{app}/users/mallory");
            let s1 = format!("{of_user}/sessions/s1");
            let made = format!(r#"{{"sessionId":"s1","labels":{{{eol}"a":{eol}"b"{eol}}},"displayName":"x","state":{{"first":{value},"{{\"type\":\"end\"}}":1}}}}"#);
            server.post(format!("{of_user}/sessions")).json(made).await.expect(201);
            server.put(format!("{s1}/state/notes")).json(&value).await.expect(200);
            server.put(format!("{s1}/state/notes")).json(format!("{{{eol}\"ok\":{eol}true}}")).await.expect(200);
            server.post(format!("{s1}/trim")).json(r#"{"beforeSequence":2}"#).await.expect(200);
            server.patch(format!("{of_user}/state")).json(format!(r#"{{"stateDelta":{{"k":{value}}}}}"#)).await.expect(200);
            server.patch(format!("/v1/apps/{app}/state")).json(format!(r#"{{"stateDelta":{{"k":{value}}}}}"#)).await.expect(200);
            server.patch(format!("/v1/apps/{app}/users/zoe/state")).json(r#"{"stateDelta":{"role":"guest"}}"#).await.expect(200);
            server.post(format!("/v1/apps/{app}/users/zoe/sessions")).json(r#"{"sessionId":"behind"}"#).await.expect(201);

            let path = format!("/v1/apps/{app}/export");
            let export = exported(server, &path).await;
            assert!(!export.contains('\r'));
            for line in export.split_terminator('\n') {
                serde_json::from_str::<Value>(line).unwrap_or_else(|why| panic!("{why}: {line}"));
            }
            // The digest is that of the very lines.
            assert_eq!(sealed(&export), export);
            let (sqlite, postgres) = (Place::sqlite(), Place::postgres().await);
            for other in [TestServer::start(postgres, &[]).await, TestServer::start(sqlite, &[]).await] {
                assert_all(&import(&other, "", &export).await, "created", 2);
                assert_eq!(body(&exported(&other, &path).await), body(&export));
                for path in [
                    s1.clone(), format!("{s1}/state/first"), format!("{s1}/state/notes"), format!("{of_user}/state"),
                    format!("/v1/apps/{app}/state"), format!("/v1/apps/{app}/users/zoe/state"),
                ] {
                    assert_eq!(other.get(&path).await.expect(200).text(), server.get(&path).await.expect(200).text(), "{path}");
                }
                other.get("/v1/apps/stolen/users/zoe/sessions/behind").await.problem(404, "session_not_found");
                assert_all(&import(&other, "", &export).await, "unchanged", 2);
                other.stop().await;
            }
            // What is shown on one line and the exact text must be the same.
            let other = export.replace(r#"\"ok\""#, r#"\"no\""#);
            assert_ne!(other, export);
            assert!(import(server, "?appName=other", &sealed(&other)).await.text().contains(r#""code":"invalid_argument""#));
        }
    }

    async fn the_past_of_shared_state_comes_along(server: &TestServer) {
        fill_past(server, 40).await;
        let moments = moments(server, "app").await;
        let export = exported(server, EXPORT).await;
        let (sqlite, postgres) = (Place::sqlite(), Place::postgres().await);
        let (first, second) = (TestServer::start(postgres, &[]).await, TestServer::start(sqlite, &[]).await);
        assert_all(&import(&first, "", &export).await, "created", 5);
        assert_moments(&first, "app", &moments, |_| true).await;
        // What is imported is exported again, and goes on.
        let again = exported(&first, EXPORT).await;
        assert_eq!(body(&again), body(&export));
        assert_all(&import(&first, "", &export).await, "unchanged", 5);
        assert_all(&import(&second, "?appName=back", &again).await, "created", 5);
        assert_moments(&second, "back", &moments, |_| true).await;
        first.append(r#"{"author":"a","actions":{"stateDelta":{"user:n":"after","app:n":"after"}}}"#).await;
        assert_moments(&first, "app", &moments, |_| true).await;
        // The rest of the file finds the past that is there, though its state has changed since.
        let (before, last) = export.rsplit_once("{\"type\":\"session\",").expect("a session");
        let third = TestServer::start(Place::sqlite(), &[]).await;
        import(&third, "", before).await;
        third.patch("/v1/apps/app/state").json(r#"{"stateDelta":{"n":"later"}}"#).await.expect(200);
        let state = before.rsplit_once("{\"type\":\"user.state\",").expect("a state");
        assert!(last.contains("session.end") && state.1.contains("user.change"));
        import(&third, "", &export).await;
        assert_moments(&third, "app", &moments, |_| true).await;
        // A fork and a trim of what was imported keep what is known.
        third.post(format!("{ONE}/fork")).json(r#"{"sessionId":"forked","atRevision":7}"#).await.expect(201);
        third.post(format!("{ONE}/trim")).json(r#"{"beforeSequence":4}"#).await.expect(200);
        for n in 3..=7 {
            for path in [ONE.to_owned(), format!("{S}/forked")] {
                let then = third.get(format!("{path}/state?atRevision={n}")).await.expect(200).text().to_owned();
                let expected = moments.iter().find(|(session, at, _)| session == "user/s" && *at == n).expect("a moment");
                assert_eq!(then, expected.2, "{path} {n}");
            }
        }
        for other in [first, second, third] {
            other.stop().await;
        }
    }

    async fn a_past_that_did_not_come_along_is_never_another_one(server: &TestServer) {
        fill_past(server, 6).await;
        let all = moments(server, "app").await;
        let export = exported(server, EXPORT).await;
        let other = TestServer::start(Place::sqlite(), &[]).await;
        // The target has a past of its own.
        for n in 0..60 {
            other.patch("/v1/apps/app/state").json(json!({"stateDelta": {"n": format!("own{n}")}})).await.expect(200);
            other.patch("/v1/apps/app/users/user/state").json(json!({"stateDelta": {"n": format!("own{n}")}})).await.expect(200);
        }
        import(&other, "", &export).await;
        let never = async |server: &TestServer, app: &str, user: &str| {
            for (session, n, state) in all.iter().filter(|(session, ..)| session.starts_with(user)) {
                let (user, id) = session.split_once('/').expect("a path");
                let path = format!("/v1/apps/{app}/users/{user}/sessions/{id}/state?atRevision={n}");
                let answer = server.get(&path).await;
                // Where nothing shared had been seen there is nothing that could be wrong.
                if state.contains("\"app:") {
                    answer.problem(410, "revision_trimmed");
                }
                let own = server.get(format!("{path}&scope=session")).await.expect(200).json();
                let whole: Value = serde_json::from_str(state).expect("JSON");
                assert!(own.as_object().expect("an object").iter().all(|(key, value)| whole[key] == *value));
            }
        };
        never(&other, "app", "user").await;
        // The state of the other user was taken, with its past.
        never(&other, "app", "bob").await;
        let of_bob = async |server: &TestServer, path: &str| server.get(format!("/v1/apps/{path}/users/bob/sessions/s/state?atRevision=2&scope=user")).await.expect(200).text().to_owned();
        assert_eq!(of_bob(&other, "app").await, of_bob(server, "app").await);
        // Nor by a way over this one, of a fork, or of a part without what it shares.
        let there = exported(&other, EXPORT).await;
        import(&other, "?appName=second", &there).await;
        never(&other, "second", "user").await;
        other.post(format!("{ONE}/fork")).json(r#"{"sessionId":"forked"}"#).await.expect(201);
        other.get(format!("{S}/forked/state?atRevision=5")).await.problem(410, "revision_trimmed");
        append_to(&other, &format!("{S}/forked"), r#"{"author":"a"}"#).await;
        other.get(format!("{S}/forked/state")).await.expect(200);
        let part = exported(server, &format!("{ONE}/export")).await;
        assert_all(&import(&other, "?appName=part", &part).await, "created", 1);
        let alone = "/v1/apps/part/users/user/sessions/s/state?atRevision=5";
        other.get(alone).await.problem(410, "revision_trimmed");
        other.patch("/v1/apps/part/state").json(r#"{"stateDelta":{"n":1}}"#).await.expect(200);
        other.get(alone).await.problem(410, "revision_trimmed");
        other.get(format!("{alone}&scope=session")).await.expect(200);
        // What is appended here is known here.
        let path = "/v1/apps/part/users/user/sessions/s";
        let revision = append_to(&other, path, r#"{"author":"a","actions":{"stateDelta":{"user:new":1}}}"#).await.json()["sequence"].clone();
        let then = other.get(format!("{path}/state?atRevision={revision}")).await.expect(200).json();
        assert_eq!((&then["user:new"], &then["app:n"]), (&json!(1), &json!(1)));
        // Without a past, as exports were: what is known begins with the state itself.
        let old: String = export.lines().filter(|line| !line.contains(".change\"")).map(|line| {
            let (start, rest) = line.split_once(r#","saw":["#).filter(|_| line.starts_with(r#"{"type":"session""#)).unwrap_or((line, ""));
            format!("{start}{}\n", rest.split_once(']').map_or("", |(_, rest)| rest))
        }).collect();
        let old = sealed(&old);
        assert_ne!(old, export);
        assert_all(&import(server, "", &old).await, "unchanged", 5);
        assert_all(&import(&other, "?appName=old", &old).await, "created", 5);
        other.get("/v1/apps/old/users/user/sessions/s/state?atRevision=3").await.problem(410, "revision_trimmed");
        other.get("/v1/apps/old/users/user/sessions/s/state?atRevision=0").await.problem(410, "revision_trimmed");
        other.stop().await;
    }

    async fn a_past_that_was_cut_is_completed_and_one_that_cannot_be_is_refused(server: &TestServer) {
        // Of several pages.
        fill_past(server, 3).await;
        for n in 0..1300 {
            server.patch("/v1/apps/app/state").json(json!({"stateDelta": {format!("k{}", n % 7): n}, "stateOps": [{"op": "remove", "key": format!("k{}", (n + 3) % 7)}]})).await.expect(200);
        }
        let wide: serde_json::Map<_, _> = (0..700).map(|key| (format!("w{key}"), json!(key))).collect();
        server.patch("/v1/apps/app/state").json(json!({"stateDelta": wide})).await.expect(200);
        server.append(r#"{"author":"a","actions":{"stateDelta":{"app:last":true}}}"#).await;
        let moments = moments(server, "app").await;
        let export = exported(server, EXPORT).await;
        let lines: Vec<&str> = export.split_inclusive('\n').collect();
        let other = TestServer::start(Place::sqlite(), &[]).await;
        for (app, cut) in [("early", 3), ("late", 1250)] {
            import(&other, &format!("?appName={app}"), &lines[..cut].concat()).await;
            // What it is now is there at once; somebody goes on with it.
            other.patch(format!("/v1/apps/{app}/state")).json(r#"{"stateDelta":{"last":"new"}}"#).await.expect(200);
            import(&other, &format!("?appName={app}"), &export).await;
            assert_moments(&other, app, &moments, |_| true).await;
            assert_eq!(other.get(format!("/v1/apps/{app}/state")).await.expect(200).json()["last"], "new");
        }
        let at = |what: &str| lines.iter().position(|line| line.contains(what)).expect("a line");
        let change = at("\"app.change\"") + 5;
        for (n, bad) in [
            [&lines[..change], &lines[change + 1..]].concat().concat(),
            export.replacen("\"k5\":5", "\"k5\":6", 1),
            export.replacen("\"app.change\",\"revision\":7,", "\"app.change\",\"revision\":7,\"base\":true,", 1),
        ].into_iter().enumerate() {
            let answer = import(&other, &format!("?appName=bad{n}"), &bad).await;
            if bad.len() == export.len() {
                // A change that another one follows is nobody's word but the file's.
                continue;
            }
            let told = answer.text().lines().next().expect("a line").to_owned();
            assert!(told.starts_with(r#"{"scope":"app","result":"failed","code":"invalid_argument""#), "{told}");
            other.get(format!("/v1/apps/bad{n}/users/user/sessions/s/state?atRevision=3")).await.problem(410, "revision_trimmed");
        }
        // Not behind its state.
        let mut moved = lines.clone();
        let last = moved.len() - 1;
        moved.swap(change, last - 1);
        assert!(import(&other, "?appName=moved", &moved.concat()).await.text().contains("\"failed\""));
        // Judging writes nothing.
        import(&other, "?appName=dry&dryRun=true", &export).await;
        assert_eq!(other.get("/v1/apps/dry/state").await.expect(200).text(), "{}");
        other.stop().await;
    }

    async fn a_past_begins_where_it_is_known(server: &TestServer) with ["--sweep-interval=20ms"] {
        fill_past(server, 6).await;
        let all = moments(server, "app").await;
        for log in ["user_log", "app_log"] {
            server.execute(&format!("update {log} set time = time - 3456000000000 where revision <= 4")).await;
        }
        server.put("/v1/apps/app/policy").json(r#"{"sharedHistory":{"maxAge":"30d"}}"#).await.expect(200);
        let forgotten = "select count(*) from app_scopes where emptied = 4";
        while server.number(forgotten).await == 0 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        while server.number("select count(*) from user_scopes where emptied < 4 and revision > 4").await > 0 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        let export = exported(server, EXPORT).await;
        let base = export.lines().find(|line| line.contains("app.change")).expect("a change");
        assert!(base.contains(r#""revision":4,"time":"#) && base.contains(r#","base":true,"set":{"#), "{base}");
        let other = TestServer::start(Place::sqlite(), &[]).await;
        assert_all(&import(&other, "", &export).await, "created", 5);
        assert_eq!(body(&exported(&other, EXPORT).await), body(&export));
        let mut both = (0, 0);
        for (session, n, _) in &all {
            let (user, id) = session.split_once('/').expect("a path");
            let path = format!("/v1/apps/app/users/{user}/sessions/{id}/state?atRevision={n}");
            let (here, there) = (server.get(&path).await, other.get(&path).await);
            assert_eq!((here.status(), here.status() == 200 && here.text() != there.text()), (there.status(), false), "{path}");
            if here.status() == 200 { both.0 += 1 } else { both.1 += 1 }
        }
        assert!(both.0 > 0 && both.1 > 0, "{both:?}");
        other.stop().await;
    }

    async fn an_import_under_way_does_not_outlive_an_erasure(server: &TestServer) {
        for user in ["u", "v"] {
            for id in ["one", "two"] {
                let made = json!({"sessionId": id, "state": {"user:k": user, "app:k": id}, "events": [{"id": "e"}]});
                server.post(format!("/v1/apps/from/users/{user}/sessions")).json(made.to_string()).await.expect(201);
            }
        }
        let export = exported(server, "/v1/apps/from/export").await;
        let lines: Vec<&str> = export.lines().collect();
        let (store, _) = open::beside(&server.database_url(), false, PostgresOptions::default(), StoreLimits::default()).await.expect("a store");
        let service = Arc::new(Service::new(store, Arc::new(SystemClock), Limits::default(), Arc::new(Metrics::new())));
        // Erased before each of its lines in turn, the first, which begins the import, apart.
        for cut in 1..lines.len() {
            let app = format!("to{cut}");
            let options = ImportOptions { app: Some(AppName::parse(&app).expect("a name")), ..ImportOptions::default() };
            let mut import = service.import(options, Grant::unlimited(), Duration::from_secs(50));
            let mut told = String::new();
            for (n, line) in lines.iter().enumerate() {
                if n == cut {
                    server.post(format!("/v1/apps/{app}/users/u/erasure")).json("{}").await.expect(202);
                }
                told.extend(import.line(line.as_bytes()).await.expect("a line").iter().map(|line| line.to_line()));
            }
            told.extend(import.finish().await.expect("an end").iter().map(|line| line.to_line()));
            // None of its sessions, and nothing of its state, comes back; what had come went with the erasure.
            let sessions = server.get(format!("/v1/apps/{app}/users/u/sessions")).await.expect(200).json();
            assert_eq!(sessions["sessions"], json!([]), "{cut}: {told}");
            assert_eq!(server.get(format!("/v1/apps/{app}/users/u/state")).await.expect(200).text(), "{}", "{cut}");
            let failed = told.lines().filter(|line| line.contains("\"failed\"")).collect::<Vec<_>>();
            assert!(failed.iter().all(|line| line.contains("\"code\":\"user_erased\"") && line.contains("\"userId\":\"u\"")), "{cut}: {told}");
            let of_v = server.get(format!("/v1/apps/{app}/users/v/sessions")).await.expect(200).json();
            assert_eq!(of_v["sessions"].as_array().expect("sessions").len(), 2, "{cut}: {told}");
            let last_of_u = lines.iter().rposition(|line| line.contains("\"userId\":\"u\"")).expect("a line");
            assert_eq!(failed.is_empty(), cut > last_of_u + 2, "{cut}: {told}");
        }
        // One that begins afterwards may.
        let again = import(server, "?appName=to5", &export).await;
        assert!(!again.text().contains("user_erased"), "{again}");
        server.get("/v1/apps/to5/users/u/sessions/one").await.expect(200);
        service.close().await;
    }

    async fn an_export_is_read_as_other_programs_write_it(server: &TestServer) {
        // A state longer than any event, in lines with white space between the tokens, as many programs write JSON.
        server.create(&json!({"state": {"k": "x".repeat(300 << 10)}}).to_string()).await;
        let export = exported(server, EXPORT).await;
        let spaced: String = export.lines().map(|line| line.replacen(r#"{"type":"#, r#"{ "type": "#, 1) + "\n").collect();
        let other = TestServer::start(Place::sqlite(), &["--max-value-bytes=1KiB", "--max-event-bytes=2KiB", "--max-body-bytes=4KiB"]).await;
        assert_all(&import(&other, "", &sealed(&spaced)).await, "created", 1);
        other.stop().await;
    }

    async fn an_export_of_nothing_says_so_and_takes_the_place_of_another_when_it_is_whole(server: &TestServer) {
        let process = Sessiond::spawn(&["openapi"], &[]);
        let file = process.dir().join("sessions.ndjson");
        let path = file.display().to_string();
        let url = server.database_url();
        let run = async |args: &[&str]| {
            let output = Sessiond::run(args, &[("DATABASE_URL", &url)]).await;
            (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
        };
        let files = || std::fs::read_dir(process.dir()).expect("a folder").filter(|entry| {
            entry.as_ref().expect("an entry").file_name().to_string_lossy().contains("sessions")
        }).count();
        let (code, err) = run(&["export", "--output", &path]).await;
        assert_eq!(code, Some(0), "{err}");
        let empty = std::fs::read_to_string(&file).expect("a file");
        let kinds: Vec<Value> = empty.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
        assert_eq!(kinds.iter().map(|line| line["type"].as_str().expect("a type")).collect::<Vec<_>>(), ["export", "end"]);
        assert_eq!((&kinds[0]["scope"], &kinds[1]["sessions"]), (&json!("database"), &json!(0)));
        let (code, err) = run(&["import", &path]).await;
        assert_eq!(code, Some(0), "{err}");
        assert_eq!(results(&import(server, "", &empty).await), (vec![], json!({"sessions": 0, "events": 0})));
        // One that fails leaves what was there, and nothing beside it.
        let (code, err) = run(&["export", "--app", "a", "--user", "u", "--session", "none", "--output", &path]).await;
        assert_eq!((code, std::fs::read_to_string(&file).expect("a file")), (Some(1), empty), "{err}");
        assert_eq!(files(), 1);
        // So does one that is killed: the file is written beside it.
        server.create("{}").await;
        let (code, err) = run(&["export", "--output", &path]).await;
        assert_eq!((code, files()), (Some(0), 1), "{err}");
        assert!(std::fs::read_to_string(&file).expect("a file").contains(r#""type":"session.end""#));
        // What is no file is written to as it is.
        let (code, err) = run(&["export", "--output", "/dev/null"]).await;
        assert_eq!(code, Some(0), "{err}");
    }

    async fn parts_are_exported_and_gone_on_with(server: &TestServer) {
        fill(server).await;
        let whole = exported(server, EXPORT).await;
        let lines: Vec<Value> = whole.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
        let ends: Vec<&Value> = lines.iter().filter(|line| line["type"] == "session.end").collect();
        let kinds = |text: &str| -> Vec<String> {
            text.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON")["type"].as_str().expect("a type").to_owned()).collect()
        };
        for (n, end) in ends.iter().enumerate() {
            let rest = exported(server, &format!("{EXPORT}?after={}", end["cursor"].as_str().expect("a cursor"))).await;
            assert_eq!(kinds(&rest).iter().filter(|kind| *kind == "session.end").count(), ends.len() - n - 1);
            assert!(whole.contains(body(&rest).rsplit_once("{\"type\":\"end\"").expect("an end").0.trim_start()));
        }
        let user = exported(server, "/v1/apps/app/users/zoe/export").await;
        assert_eq!(kinds(&user), ["export", "user.state", "user.change", "end"]);
        let session = exported(server, "/v1/apps/app/users/user/sessions/empty/export").await;
        assert_eq!(kinds(&session), ["export", "session", "session.end", "end"]);
        for nothing in ["/v1/apps/none/export", "/v1/apps/app/users/none/export"] {
            let export = exported(server, nothing).await;
            assert_eq!(kinds(&export), ["export", "end"], "{nothing}");
        }
        // A misspelt id is not an export of nothing.
        let missing = "/v1/apps/app/users/user/sessions/none/export";
        server.get(missing).await.problem(404, "session_not_found");
        assert_eq!(server.request(Method::HEAD, missing).await.status(), 404);
        let cursor = ends[0]["cursor"].as_str().expect("a cursor");
        server.get(format!("{missing}?after={cursor}")).await.invalid(&["after"]);
        // A cursor is one of its export.
        let cursor_of = async |path: &str| {
            let export = exported(server, path).await;
            let ends: Vec<Value> = export.lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
            ends.iter().find_map(|line| line["cursor"].as_str().map(str::to_owned)).expect("a cursor")
        };
        server.post("/v1/apps/second/users/user/sessions").json(r#"{"sessionId":"s"}"#).await.expect(201);
        let paths = [
            EXPORT,
            "/v1/apps/second/export",
            "/v1/apps/app/users/user/export",
            "/v1/apps/app/users/bob/export",
            "/v1/apps/app/users/user/sessions/s/export",
            "/v1/apps/app/users/user/sessions/cut/export",
        ];
        for path in paths {
            let cursor = cursor_of(path).await;
            server.get(format!("{path}?after={cursor}")).await.expect(200);
            for other in paths.iter().filter(|other| **other != path) {
                server.get(format!("{other}?after={cursor}")).await.invalid(&["after"]);
            }
        }
        server.get(format!("{EXPORT}?after=x")).await.invalid(&["after"]);
    }

    async fn a_session_that_is_cut_while_it_is_read_is_read_anew(server: &TestServer) {
        // Of several pages.
        let events: Vec<Value> = (1..=1200).map(|n| json!({"id": format!("e{n}"), "actions": {"stateDelta": {"n": n}}})).collect();
        for part in events.chunks(600) {
            server.put(ONE).json("{}").await;
            server.append(json!(part)).await;
        }
        let (store, _) = open::beside(&server.database_url(), true, PostgresOptions::default(), StoreLimits::default()).await.expect("a store");
        let service = Arc::new(Service::new(store, Arc::new(SystemClock), Limits::default(), Arc::new(Metrics::new())));
        let user = UserKey { app: AppName::parse("app").expect("a name"), user: UserId::parse("user").expect("a name") };
        let key = SessionKey { user, session: SessionId::parse("s").expect("an id") };
        let next = async |export: &mut Export| export.next(Instant::now() + Duration::from_secs(50)).await;
        let rest = async |export: &mut Export| {
            let mut lines = String::new();
            while let Some(part) = next(export).await.expect("lines") {
                lines += &part;
            }
            lines
        };

        let mut export = service.export(ExportSource::Session(key.clone()), None, true);
        let mut lines = next(&mut export).await.expect("lines").expect("the first");
        assert_eq!(next(&mut export).await.expect("lines").as_deref(), Some(""));
        server.post(format!("{ONE}/trim")).json(r#"{"keepLast":1100}"#).await.expect(200);
        lines += &rest(&mut export).await;
        assert!(lines.ends_with("{\"type\":\"end\",\"sessions\":1,\"events\":1100}\n"), "{lines}");
        assert_all(&import(server, "?appName=copy", &lines).await, "created", 1);

        let mut export = service.export(ExportSource::Session(key.clone()), None, true);
        assert_eq!(next(&mut export).await.expect("lines").expect("the first").lines().count(), 1);
        assert_eq!(next(&mut export).await.expect("lines").as_deref(), Some(""));
        server.delete(ONE).await.expect(204);
        assert_eq!(rest(&mut export).await, "{\"type\":\"end\",\"sessions\":0,\"events\":0}\n");

        // Of one that is too long for that, a part was given.
        server.create("{}").await;
        for _ in 0..6 {
            server.append(json!({"content": "x".repeat(1 << 20)})).await;
        }
        let mut export = service.export(ExportSource::Session(key), None, true);
        while !next(&mut export).await.expect("lines").is_some_and(|lines| lines.contains(r#""type":"event""#)) {}
        server.post(format!("{ONE}/trim")).json(r#"{"keepLast":0}"#).await.expect(200);
        assert!(matches!(next(&mut export).await, Err(Error::SessionCut)));
        service.close().await;
    }

    async fn what_no_session_can_be_is_refused(server: &TestServer) {
        fill(server).await;
        let export = exported(server, EXPORT).await;
        let cases: [(&str, &str, &str); 8] = [
            ("\"baseRevision\":", "\"baseRevision\":9223372036854775807,\"x\":", "baseRevision"),
            // Two events, a stub and an event, two stubs.
            ("\"id\":\"e2\"", "\"id\":\"e1\"", "same id"),
            ("\"id\":\"c3\"", "\"id\":\"c2\"", "same id"),
            ("\"id\":\"c2\"", "\"id\":\"c1\"", "same id"),
            ("\"baseState\":{", "\"baseState\":{\"temp:t\":\"SECRET\",", "baseState"),
            ("\"baseState\":{", "\"baseState\":{\"app:t\":\"SECRET\",", "baseState"),
            ("\"forkedFrom\":{", "\"forkedFrom\":5,\"x\":{", "forkedFrom"),
            ("\"forkedFrom\":{\"sessionId\":", "\"forkedFrom\":{\"session\":", "forkedFrom"),
        ];
        assert_eq!(sealed(&export), export);
        for (n, (from, to, detail)) in cases.into_iter().enumerate() {
            assert!(export.contains(from), "{from}");
            let bad = sealed(&export.replacen(from, to, 1));
            for query in [format!("?appName=bad{n}&dryRun=true"), format!("?appName=bad{n}")] {
                let answer = import(server, &query, &bad).await;
                let (became, counts) = results(&answer);
                let failed = became.iter().filter(|(_, result)| result == "failed").count();
                assert_eq!((failed, &counts["sessions"]), (1, &json!(4)), "{to}: {answer}");
                let failed = answer.text().lines().find(|line| line.contains("\"failed\"")).expect("a line");
                assert!(failed.contains(detail) && failed.contains("\"invalid_argument\""), "{answer}");
            }
            let there = exported(server, &format!("/v1/apps/bad{n}/export")).await;
            assert_eq!(there.matches("\"type\":\"session.end\"").count(), 4, "{to}");
            assert!(!there.contains("SECRET"));
        }
        for of in [r#""app.state""#, r#""user.state","userId":"u""#] {
            let state = format!("{{\"type\":{of},\"revision\":9223372036854775807,\"state\":{{}}}}\n");
            let first = export.lines().next().unwrap();
            let answer = import(server, "?appName=far", &format!("{first}\n{state}")).await;
            assert!(answer.text().contains("must be an integer from 0 to 2^53"), "{answer}");
        }
        server.put("/v1/apps/far/state/k").json("1").await.expect(200);
        server.until_swept().await;
        assert_eq!(server.number("select count(*) from events where body like '%SECRET%'").await, 0);
        assert_eq!(server.number("select count(*) from sessions where initial_state like '%SECRET%'").await, 0);
    }

    async fn lines_that_are_missing_are_missed(server: &TestServer) {
        fill(server).await;
        let export = exported(server, EXPORT).await;
        let start = export.find("{\"type\":\"session\",").expect("a session");
        let end = start + export[start..].find("\n{\"type\":\"session\",").expect("another") + 1;
        let without = format!("{}{}", &export[..start], &export[end..]);
        let (became, counts) = results(&import(server, "?appName=one", &without).await);
        assert_eq!((became.len(), &counts["sessions"]), (5, &json!(4)));
        assert_eq!(became[4], (String::new(), "failed".to_owned()));
        // So it is with the last line of an export before another one; but one that was cut may be followed by its rest.
        let last = export.lines().last().expect("a line");
        let cut = export.trim_end().strip_suffix(last).expect("the end");
        let other = exported(server, "/v1/apps/one/export").await;
        let (became, _) = results(&import(server, "", &format!("{cut}{other}")).await);
        assert_eq!(became.iter().filter(|(_, result)| result == "failed").count(), 1, "{became:?}");
        assert_eq!(became[5], (String::new(), "failed".to_owned()));
        let cursor = cut.rsplit_once(r#""cursor":""#).and_then(|(_, after)| after.split('"').next()).expect("a cursor");
        let rest = exported(server, &format!("{EXPORT}?after={cursor}")).await;
        assert_all(&import(server, "", &format!("{cut}{rest}")).await, "unchanged", 5);
    }

    async fn a_cut_import_shows_nothing_half_done_and_is_completed(server: &TestServer) {
        fill(server).await;
        let export = exported(server, EXPORT).await;
        let lines: Vec<&str> = export.split_inclusive('\n').collect();
        let expected = without_cursors(body(&export));
        for n in 1..lines.len() {
            let app = format!("cut{n}");
            let query = format!("?appName={app}");
            let before: String = lines[..n].concat();
            let ended = before.matches("\"type\":\"session.end\"").count();
            let answer = import(server, &query, &before).await;
            let (became, counts) = results(&answer);
            assert_eq!(counts["sessions"], ended, "{answer}");
            assert_eq!(became.iter().filter(|(_, result)| result == "failed").count(), 1, "{n}: {answer}");
            let there = exported(server, &format!("/v1/apps/{app}/export")).await;
            assert_eq!(there.matches("\"type\":\"session.end\"").count(), ended, "{n}");
            let again = import(server, &query, &export).await;
            assert_eq!(results(&again).1["sessions"], 5 - ended, "{n}: {again}");
            let there = exported(server, &format!("/v1/apps/{app}/export")).await;
            assert_eq!(without_cursors(body(&there)), expected, "{n}");
        }
    }

    async fn what_does_not_fit_is_refused_and_the_rest_goes_on(server: &TestServer) {
        fill(server).await;
        let export = exported(server, EXPORT).await;
        let cases: [(&str, &str, &str); 6] = [
            ("\"n\":1.10", "\"n\":1.1", "invalid_argument"),
            ("\"sequence\":2,", "\"sequence\":9,", "invalid_argument"),
            ("\"topic\":\"x\"}", "\"topic\":\"y\"}", "invalid_argument"),
            ("\"baseRevision\":0,", "\"baseRevision\":-1,", "invalid_argument"),
            ("{\"type\":\"event\"", "{\"type\":\"evento\"", "invalid_argument"),
            ("{\"type\":\"event\"", "{type:\"event\"", "invalid_json"),
        ];
        for (n, (from, to, code)) in cases.into_iter().enumerate() {
            let answer = import(server, &format!("?appName=bad{n}"), &export.replacen(from, to, 1)).await;
            let (became, counts) = results(&answer);
            let failed = became.iter().filter(|(_, result)| result == "failed").count();
            assert_eq!((failed, &counts["sessions"]), (1, &json!(4)), "{to}: {answer}");
            assert!(answer.text().contains(&format!("\"code\":\"{code}\"")), "{answer}");
            let there = exported(server, &format!("/v1/apps/bad{n}/export")).await;
            assert_eq!(there.matches("\"type\":\"session.end\"").count(), 4, "{to}");
        }
    }

    async fn another_session_of_that_id_is_left_alone(server: &TestServer) {
        fill(server).await;
        let export = exported(server, EXPORT).await;
        let other = "/v1/apps/other/users/user/sessions";
        server.post(other).json(r#"{"sessionId":"s","state":{"mine":1}}"#).await.expect(201);
        server.patch("/v1/apps/other/state").json(r#"{"stateDelta":{"model":"mine"}}"#).await.expect(200);
        let dry = import(server, "?appName=other&dryRun=true", &export).await;
        assert_eq!(results(&dry).1["sessions"], 4);
        server.get(format!("{other}/fork")).await.problem(404, "session_not_found");
        assert!(dry.text().contains("{\"scope\":\"app\",\"result\":\"skipped\",\"code\":\"revision_mismatch\","), "{dry}");
        let (became, _) = results(&import(server, "?appName=other&onConflict=skip", &export).await);
        let of_user = |became: &[(String, String)], id: &str| became.iter().filter(|(session, _)| session == id).map(|(_, result)| result.clone()).collect::<Vec<_>>();
        assert_eq!(of_user(&became, "s"), ["created", "skipped"]);
        let answer = import(server, "?appName=other", &export).await;
        let (became, _) = results(&answer);
        assert_eq!(of_user(&became, "s"), ["unchanged", "failed"]);
        assert_eq!(of_user(&became, ""), ["skipped"], "the state of the app, and of no user");
        assert!(became.iter().filter(|(id, _)| id != "s" && !id.is_empty()).all(|(_, result)| result == "unchanged"), "{answer}");
        assert!(answer.text().contains("session_already_exists"));
        let state = server.get(format!("{other}/s/state")).await.expect(200).json();
        assert_eq!((&state["mine"], &state["app:model"], &state["user:name"]), (&json!(1), &json!("mine"), &json!("Ada")));
    }

    async fn what_is_not_taken_is_told(server: &Guarded) {
        let body = |k: i64| json!({"sessionId": "s", "state": {"user:k": k, "app:k": k}});
        for user in ["u", "v"] {
            server.admin("POST", &format!("/v1/apps/a/users/{user}/sessions")).json(body(1)).await.expect(201);
        }
        let export = server.admin("GET", "/v1/apps/a/export").await.expect(200).text().to_owned();
        let import = async |credential: &str, app: &str| {
            let request = server.with(credential, "POST", &format!("/v1/import?appName={app}"));
            let answer = request.body(NDJSON, export.clone()).await.expect(200);
            let mut lines: Vec<Value> = answer.text().lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
            lines.pop().expect("a last line");
            let field = |line: &Value, name: &str| line[name].as_str().unwrap_or("-").to_owned();
            let told = |line: &Value| ["scope", "userId", "session", "result", "code"].map(|name| field(line, name)).join(" ");
            lines.iter().map(told).collect::<Vec<_>>()
        };
        // What is outside of the grant.
        let of_u = server.key(json!({"role": "operator", "apps": ["*"], "users": ["u"]})).await;
        assert_eq!(import(&of_u, "b").await, [
            "app - - failed permission_denied", "- u s created -", "user v - failed permission_denied",
            "- v s failed permission_denied",
        ]);
        // State that is there already, and the same.
        let admin = server.key(json!({"role": "operator", "apps": ["*"]})).await;
        assert_eq!(import(&admin, "b").await, ["- u s unchanged -", "- v s created -"]);
        // Other state.
        server.admin("PATCH", "/v1/apps/b/users/v/state").json(json!({"stateDelta": {"k": 2}})).await.expect(200);
        assert_eq!(import(&admin, "b").await, [
            "- u s unchanged -", "user v - skipped revision_mismatch", "- v s unchanged -",
        ]);
        // A user who is blocked.
        server.admin("POST", "/v1/apps/c/users/u/erasure").json(json!({"block": true})).await.expect(202);
        assert_eq!(import(&admin, "c").await, [
            "user u - failed user_erased", "- u s failed user_erased", "- v s created -",
        ]);
    }

    async fn the_form_of_an_import_is_checked(server: &TestServer) {
        server.post("/v1/import").json("{}").await.problem(415, "unsupported_media_type");
        server.post("/v1/import?onConflict=merge").body(NDJSON, "").await.invalid(&["onConflict"]);
        server.post("/v1/import").header("if-match", "\"1\"").body(NDJSON, "").await.invalid(&["If-Match"]);
        let answer = import(server, "", "").await;
        assert_eq!(results(&answer), (vec![(String::new(), "failed".into())], json!({"sessions": 0, "events": 0})));
        let answer = import(server, "", "{\"type\":\"session.end\"}\n").await;
        assert_eq!(results(&answer).0[0].1, "failed");
    }
}
