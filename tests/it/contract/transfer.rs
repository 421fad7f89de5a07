//! Exports and imports: sessions as lines, byte for byte, each whole or not at all.

use serde_json::{Value, json};

use crate::support::client::{Answer, Client, ONE, S, STATE};
use crate::support::databases::on_both_databases;
use crate::support::server::TestServer;
use crate::support::state::ODD_KEYS;

const EXPORT: &str = "/v1/apps/app/export";
const NDJSON: &str = "application/x-ndjson";

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

async fn exported(server: &Client, path: &str) -> String {
    let answer = server.get(path).await.expect(200);
    assert_eq!(answer.header("content-type"), Some(NDJSON));
    answer.text().to_owned()
}

/// The lines but for the first, which has the time.
fn body(export: &str) -> &str {
    export.split_once('\n').expect("lines").1
}

async fn import(server: &Client, query: &str, lines: &str) -> Answer {
    server.post(format!("/v1/import{query}")).body(NDJSON, lines.to_owned()).await.expect(200)
}

/// What became of each session, and what was counted.
fn results(answer: &Answer) -> (Vec<(String, String)>, Value) {
    let mut lines: Vec<Value> = answer.text().lines().map(|line| serde_json::from_str(line).expect("JSON")).collect();
    let counts = lines.pop().expect("a last line");
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    (lines.iter().map(|line| (text(&line["session"]), text(&line["result"]))).collect(), counts)
}

#[track_caller]
fn assert_all(answer: &Answer, result: &str, sessions: usize) {
    let (results, _) = results(answer);
    assert_eq!(results.len(), sessions, "{answer}");
    assert!(results.iter().all(|(_, became)| became == result), "{answer}");
}

on_both_databases! {
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
        assert!(now.iter().all(|(_, result)| result == "unchanged"), "{now:?}");
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
        assert_eq!(kinds(&user), ["export", "user.state", "end"]);
        let session = exported(server, "/v1/apps/app/users/user/sessions/empty/export").await;
        assert_eq!(kinds(&session), ["export", "session", "session.end", "end"]);
        for nothing in ["/v1/apps/none/export", "/v1/apps/app/users/none/export", "/v1/apps/app/users/user/sessions/none/export"] {
            let export = exported(server, nothing).await;
            assert_eq!(kinds(&export), ["export", "end"], "{nothing}");
        }
        server.get(format!("{EXPORT}?after=x")).await.invalid(&["after"]);
    }

    async fn a_cut_import_shows_nothing_half_done_and_is_completed(server: &TestServer) {
        fill(server).await;
        let export = exported(server, EXPORT).await;
        let lines: Vec<&str> = export.split_inclusive('\n').collect();
        let expected = body(&export).replace("\"appName\":\"app\"", "");
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
            assert_eq!(body(&exported(server, &format!("/v1/apps/{app}/export")).await), expected, "{n}");
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
        let (became, _) = results(&import(server, "?appName=other&onConflict=skip", &export).await);
        let of_user = |became: &[(String, String)], id: &str| became.iter().filter(|(session, _)| session == id).map(|(_, result)| result.clone()).collect::<Vec<_>>();
        assert_eq!(of_user(&became, "s"), ["created", "skipped"]);
        let answer = import(server, "?appName=other", &export).await;
        let (became, _) = results(&answer);
        assert_eq!(of_user(&became, "s"), ["unchanged", "failed"]);
        assert!(became.iter().filter(|(id, _)| id != "s").all(|(_, result)| result == "unchanged"), "{answer}");
        assert!(answer.text().contains("session_already_exists"));
        let state = server.get(format!("{other}/s/state")).await.expect(200).json();
        assert_eq!((&state["mine"], &state["app:model"], &state["user:name"]), (&json!(1), &json!("mine"), &json!("Ada")));
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
