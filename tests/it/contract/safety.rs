//! Safety headers of writes are honoured or refused, never ignored: every write of the API with each of them.

use std::collections::BTreeSet;

use reqwest::Method;
use serde_json::json;

use crate::support::client::{APP_STATE, Answer, Client, ONE, S, STATE, USER_STATE};
use crate::support::databases::on_both_databases;
use crate::support::schema::document;
use crate::support::server::TestServer;

/// A write: its operation, method, path below the user's or ADK's, a body, and another body.
struct Write {
    app: String,
    operation: &'static str,
    method: Method,
    path: String,
    body: &'static str,
    other: &'static str,
}

/// All of them, on a user that has a session `s` with one event.
fn writes(app: &str) -> Vec<Write> {
    let user = format!("/v1/apps/{app}/users/u");
    let sessions = format!("{user}/sessions");
    let adk = format!("/apps/{app}/users/u/sessions");
    let write = |operation, method, path: String, body, other| {
        let app = app.to_owned();
        Write { app, operation, method, path, body, other }
    };
    vec![
        write(
            "createSession",
            Method::POST,
            sessions.clone(),
            r#"{"state":{"k":1,"app:k":1},"events":[{"author":"a"}]}"#,
            r#"{"state":{"k":2}}"#,
        ),
        write("getOrCreateSession", Method::PUT, format!("{sessions}/new"), r#"{"state":{"k":1}}"#, "{}"),
        write("updateSession", Method::PATCH, format!("{sessions}/s"), r#"{"displayName":"n"}"#, "{}"),
        write("deleteSession", Method::DELETE, format!("{sessions}/s"), "", ""),
        write(
            "appendEvents",
            Method::POST,
            format!("{sessions}/s/events"),
            r#"{"actions":{"stateOps":[{"op":"increment","key":"n","value":1}]}}"#,
            r#"{"author":"b"}"#,
        ),
        write("forkSession", Method::POST, format!("{sessions}/s/fork"), r#"{"atRevision":1}"#, r#"{"atRevision":0}"#),
        write(
            "rewindSession",
            Method::POST,
            format!("{sessions}/s/rewind"),
            r#"{"beforeInvocationId":"i"}"#,
            r#"{"toRevision":0}"#,
        ),
        write(
            "patchState",
            Method::PATCH,
            format!("{sessions}/s/state"),
            r#"{"stateOps":[{"op":"increment","key":"n","value":1}]}"#,
            r#"{"stateDelta":{"n":1}}"#,
        ),
        write("putStateKey", Method::PUT, format!("{sessions}/s/state/new"), "1", "2"),
        write("deleteStateKey", Method::DELETE, format!("{sessions}/s/state/k"), "", ""),
        write("putArtifact", Method::PUT, format!("{sessions}/s/artifacts/f"), "1", "2"),
        write(
            "postArtifact",
            Method::POST,
            format!("{sessions}/s/artifacts"),
            r#"{"name":"f","part":{"text":"a"}}"#,
            r#"{"name":"f","part":{"text":"b"}}"#,
        ),
        write("deleteArtifact", Method::DELETE, format!("{sessions}/s/artifacts/there"), "", ""),
        write("putUserArtifact", Method::PUT, format!("{user}/artifacts/f"), "1", "2"),
        write(
            "postUserArtifact",
            Method::POST,
            format!("{user}/artifacts"),
            r#"{"name":"f","part":{"text":"a"}}"#,
            r#"{"name":"user:f","part":{"text":"b"}}"#,
        ),
        write("deleteUserArtifact", Method::DELETE, format!("{user}/artifacts/there"), "", ""),
        write("takeLease", Method::POST, format!("{sessions}/s/lease"), r#"{"owner":"o"}"#, ""),
        write("renewLease", Method::PUT, format!("{sessions}/s/lease"), r#"{"epoch":1,"ttl":60}"#, ""),
        write("releaseLease", Method::DELETE, format!("{sessions}/s/lease?epoch=1"), "", ""),
        write("renderTemplate", Method::POST, format!("{sessions}/s/render"), r#"{"template":"{k}"}"#, ""),
        write(
            "patchAppState",
            Method::PATCH,
            format!("/v1/apps/{app}/state"),
            r#"{"stateOps":[{"op":"increment","key":"n","value":1}]}"#,
            r#"{"stateDelta":{"n":1}}"#,
        ),
        write(
            "patchUserState",
            Method::PATCH,
            format!("{user}/state"),
            r#"{"stateOps":[{"op":"increment","key":"n","value":1}]}"#,
            r#"{"stateDelta":{"n":1}}"#,
        ),
        write("putAppStateKey", Method::PUT, format!("/v1/apps/{app}/state/new"), r#"{"a_b":1}"#, r#"{"aB":1}"#),
        write("deleteAppStateKey", Method::DELETE, format!("/v1/apps/{app}/state/k"), "", ""),
        write("putUserStateKey", Method::PUT, format!("{user}/state/new"), "1", "2"),
        write("deleteUserStateKey", Method::DELETE, format!("{user}/state/k"), "", ""),
        write(
            "putPolicy",
            Method::PUT,
            format!("/v1/apps/{app}/policy"),
            r#"{"sessions":{"idleTtl":"30d"}}"#,
            r#"{"sessions":{"idleTtl":"31d"}}"#,
        ),
        write("deletePolicy", Method::DELETE, format!("/v1/apps/{app}/policy"), "", ""),
        write("trimSession", Method::POST, format!("{sessions}/s/trim"), r#"{"keepLast":1}"#, r#"{"keepLast":0}"#),
        write("redactEvent", Method::POST, format!("{sessions}/s/events/e/redact"), r#"{"reason":"why"}"#, "{}"),
        write("importSessions", Method::POST, "/v1/import".into(), "{}", "[]"),
        write("eraseUser", Method::POST, format!("{user}/erasure"), "{}", r#"{"block":true}"#),
        write("adkCreateSession", Method::POST, adk.clone(), r#"{"state":{"k":1}}"#, "{}"),
        write("adkCreateSessionWithId", Method::POST, format!("{adk}/new"), r#"{"k":1}"#, r#"{"k":2}"#),
        write(
            "adkUpdateSession",
            Method::PATCH,
            format!("{adk}/s"),
            r#"{"stateDelta":{"k":3}}"#,
            r#"{"stateDelta":{}}"#,
        ),
        write("adkDeleteSession", Method::DELETE, format!("{adk}/s"), "", ""),
        write(
            "adkSaveArtifact",
            Method::POST,
            format!("{adk}/s/artifacts"),
            r#"{"filename":"f","artifact":{"text":"a"}}"#,
            r#"{"filename":"f","artifact":{"text":"b"}}"#,
        ),
        write("adkDeleteArtifact", Method::DELETE, format!("{adk}/s/artifacts/there"), "", ""),
    ]
}

/// The write of this operation on an app of its own.
async fn prepared(server: &Client, operation: &str, n: usize) -> Write {
    let app = format!("app{n}");
    let body = r#"{"sessionId":"s","state":{"k":1},"events":[{"id":"e","invocationId":"i"}]}"#;
    let user = format!("/v1/apps/{app}/users/u");
    server.post(format!("{user}/sessions")).json(body).await.expect(201);
    for place in ["sessions/s/artifacts/there?event=none", "artifacts/there"] {
        server.put(format!("{user}/{place}")).await.expect(201);
    }
    writes(&app).into_iter().find(|write| write.operation == operation).expect("a write")
}

async fn send(server: &Client, write: &Write, body: &str, headers: &[(&str, &str)]) -> Answer {
    let mut request = server.request(write.method.clone(), &write.path);
    for (name, value) in headers {
        request = request.header(name, value);
    }
    match body {
        "" => request.await,
        lines if write.operation == "importSessions" => request.body("application/x-ndjson", lines.to_owned()).await,
        body => request.json(body).await,
    }
}

/// All that an app shows.
async fn shown(server: &Client, write: &Write) -> Vec<String> {
    let app = &write.app;
    let mut all = Vec::new();
    let list = server.get(format!("/v1/apps/{app}/sessions?includeState=true&orderBy=createTime")).await.expect(200);
    for session in list.json()["sessions"].as_array().expect("sessions") {
        let path = format!("/v1/apps/{app}/users/u/sessions/{}", session["id"].as_str().expect("an id"));
        let session = server.get(&path).await.expect(200);
        all.push(format!("{} {}", session.etag(), session.text()));
        all.push(server.get(format!("{path}/artifacts")).await.expect(200).text().to_owned());
    }
    all.push(server.get(format!("/v1/apps/{app}/users/u/artifacts")).await.expect(200).text().to_owned());
    for scope in ["state", "users/u/state", "policy"].map(|path| format!("/v1/apps/{app}/{path}")) {
        let scope = server.get(scope).await.expect(200);
        all.push(format!("{} {}", scope.etag(), scope.text()));
    }
    all
}

/// What the description says that a write of what is stored takes: operation and names of parameters.
fn described() -> Vec<(String, BTreeSet<String>)> {
    described_of(false)
}

/// Those of credentials, or the others.
fn described_of(credentials: bool) -> Vec<(String, BTreeSet<String>)> {
    let paths = document()["paths"].as_object().expect("paths");
    let operations = paths.values().flat_map(|item| item.as_object().expect("a path item").iter());
    let writes = operations.filter(|(method, _)| ["post", "put", "patch", "delete"].contains(&method.as_str()));
    let writes = writes.filter(|(_, operation)| (operation["tags"][0] == "Access") == credentials);
    let takes = writes.map(|(_, operation)| {
        let parameters = operation["parameters"].as_array().expect("parameters").iter();
        let names = parameters.filter_map(|parameter| parameter["$ref"].as_str()?.rsplit('/').next());
        (operation["operationId"].as_str().expect("an id").to_owned(), names.map(str::to_owned).collect())
    });
    takes.collect()
}

const CREATE_ONLY: &str = "If-None-Match-Any";

/// The headers, each with its name in the description and a value.
const SAFETY: [(&str, &str, &str); 5] = [
    ("Sessiond-Lease", "Sessiond-Lease", "1"),
    ("Idempotency-Key", "Idempotency-Key", "key 1"),
    ("If-Match", "If-Match", "\"1\""),
    (CREATE_ONLY, "If-None-Match", "*"),
    ("(none)", "If-None-Match", "\"1\""),
];

on_both_databases! {
    async fn what_a_write_cannot_keep_is_refused(server: &TestServer) {
        let described = described();
        let listed: BTreeSet<&str> = described.iter().map(|(operation, _)| operation.as_str()).collect();
        let tested = writes("app");
        assert_eq!(listed, tested.iter().map(|write| write.operation).collect(), "every write is in the table");
        for (n, (operation, takes)) in described.iter().enumerate() {
            let write = prepared(server, operation, n).await;
            let before = shown(server, &write).await;
            for (name, header, value) in SAFETY {
                if !takes.contains(name) {
                    let refused = send(server, &write, write.body, &[(header, value)]).await;
                    assert_eq!(refused.invalid(&[header])["outcome"], "not_applied", "{operation}");
                    assert_eq!(shown(server, &write).await, before, "{operation} with {header}");
                }
            }
            let all = [("idempotency-key", "k"), ("if-match", "\"1\""), ("if-none-match", "\"1\"")];
            assert_eq!(send(server, &write, write.body, &all).await.status, 422, "{operation}");
            assert_eq!(shown(server, &write).await, before, "{operation}");
        }
    }

    async fn writes_of_credentials_keep_none(server: &TestServer) {
        let writes = [
            ("createKey", Method::POST, "/v1/keys"),
            ("updateKey", Method::PATCH, "/v1/keys/k"),
            ("deleteKey", Method::DELETE, "/v1/keys/k"),
            ("createToken", Method::POST, "/v1/tokens"),
            ("revokeTokens", Method::POST, "/v1/tokens/revoke"),
        ];
        let described: BTreeSet<String> = described_of(true).into_iter().map(|(operation, _)| operation).collect();
        assert_eq!(described, writes.iter().map(|(operation, ..)| (*operation).to_owned()).collect());
        for (operation, method, path) in writes {
            for (_, header, value) in SAFETY {
                let refused = server.request(method.clone(), path).json("{}").header(header, value).await;
                assert_eq!(refused.invalid(&[header])["outcome"], "not_applied", "{operation}");
            }
        }
    }

    async fn a_key_that_is_taken_is_honoured(server: &TestServer) {
        for (n, (operation, takes)) in described().iter().enumerate() {
            if !takes.contains("Idempotency-Key") {
                continue;
            }
            let write = prepared(server, operation, n).await;
            let key = [("idempotency-key", "key/ 1é")];
            let first = send(server, &write, write.body, &key).await;
            assert!(first.status < 300 && !first.was_replayed(), "{operation}: {first}");
            let after = shown(server, &write).await;
            for _ in 0..2 {
                let again = send(server, &write, write.body, &key).await;
                assert!(again.status < 300 && again.was_replayed(), "{operation}: {again}");
                assert_eq!(again.text(), first.text(), "{operation}");
                assert_eq!(shown(server, &write).await, after, "{operation}");
            }
            if !write.other.is_empty() {
                let conflict = send(server, &write, write.other, &key).await;
                let code = conflict.json()["code"].as_str().unwrap_or_default().to_owned();
                assert_eq!(conflict.status, 409, "{operation}: {conflict}");
                assert!(["event_id_conflict", "session_already_exists"].contains(&&*code), "{operation}: {conflict}");
                assert_eq!(shown(server, &write).await, after, "{operation}");
            }
            for bad in ["", ".", &"x".repeat(257)] {
                let refused = send(server, &write, write.body, &[("idempotency-key", bad)]).await;
                refused.invalid(&["Idempotency-Key"]);
            }
            let twice = send(server, &write, write.body, &[("idempotency-key", "a"), ("idempotency-key", "a")]).await;
            twice.invalid(&["Idempotency-Key"]);
            assert_eq!(shown(server, &write).await, after, "{operation}");
        }
    }

    async fn a_precondition_that_is_taken_is_honoured(server: &TestServer) {
        for (n, (operation, takes)) in described().iter().enumerate() {
            let write = prepared(server, operation, n).await;
            let before = shown(server, &write).await;
            if takes.contains("If-Match") {
                let failed = send(server, &write, write.body, &[("if-match", "\"77\"")]).await;
                failed.problem(412, "revision_mismatch");
                assert_eq!(shown(server, &write).await, before, "{operation}");
            }
            if takes.contains(CREATE_ONLY) {
                let made = send(server, &write, write.body, &[("if-none-match", " * ")]).await;
                assert!([200, 201].contains(&made.status), "{operation}: {made}");
                let after = shown(server, &write).await;
                let failed = send(server, &write, write.other, &[("if-none-match", "*")]).await;
                let problem = failed.problem(412, "revision_mismatch");
                assert_eq!(problem["errors"][0]["field"], "If-None-Match", "{failed}");
                assert_eq!(shown(server, &write).await, after, "{operation}");
            }
        }
    }

    async fn putting_a_key_if_it_is_absent_is_judged_by_the_key(server: &TestServer) {
        server.create(r#"{"state":{"null":null}}"#).await;
        let put = |key: &str| server.put(format!("{STATE}/{key}")).header("if-none-match", "*").json("1");
        for key in ["own", "user%3Ak", "app%3Ak"] {
            put(key).await.expect(200);
            let problem = put(key).await.problem(412, "revision_mismatch");
            assert_eq!(problem["detail"], "`If-None-Match`: the state has the key");
            server.delete(format!("{STATE}/{key}")).await.expect(204);
            put(key).await.expect(200);
        }
        put("null").await.problem(412, "revision_mismatch");
        put("temp%3Ak").await.invalid(&["key"]);
        // A retry comes before the precondition; and with If-Match, both must hold.
        let keyed = || server.put(format!("{STATE}/l")).header("if-none-match", "*").header("idempotency-key", "p").json("1");
        keyed().await.expect(200);
        assert!(keyed().await.expect(200).was_replayed());
        let revision = server.get(ONE).await.json()["revision"].as_i64().unwrap();
        for (tag, status) in [(revision - 1, 412), (revision, 200)] {
            let both = put("m").header("if-match", format!("\"{tag}\"")).await;
            assert_eq!(both.status, status, "{both}");
        }
        // It is no part of the event.
        let events = server.get(format!("{ONE}/events")).await.text().to_owned();
        assert!(!events.contains("preconditions"), "{events}");
    }

    async fn a_session_that_is_only_to_be_created_is_not_returned(server: &TestServer) {
        server.create("{}").await;
        server.append("{}").await;
        let put = |body: &'static str| server.put(ONE).header("if-none-match", "*").json(body);
        let problem = put("{}").await.problem(412, "revision_mismatch");
        assert_eq!((&problem["revision"], &problem["outcome"]), (&json!(1), &json!("not_applied")));
        server.delete(ONE).await.expect(204);
        put(r#"{"expireTime":1}"#).await.expect(201);
        // Expired.
        put("{}").await.expect(201);
        put("{}").await.problem(412, "revision_mismatch");
        let keyed = || server.put(format!("{S}/two")).header("if-none-match", "*").header("idempotency-key", "k").json("{}");
        keyed().await.expect(201);
        assert!(keyed().await.expect(200).was_replayed());
    }

    async fn a_key_finds_the_session_that_it_made_as_it_is_now(server: &TestServer) {
        let create = |body: &str| server.post(S).header("idempotency-key", "k").json(body);
        let body = r#"{"state":{"n":1},"displayName":"d","ttl":3600}"#;
        let first = create(body).await.expect(201);
        let path = first.header("location").unwrap().to_owned();
        server.post(format!("{path}/events")).json(r#"{"actions":{"stateDelta":{"n":2}}}"#).await.expect(201);
        // In other words, the same request.
        let again = create(r#"{ "display_name": "\u0064", "ttl": 36e2, "state": {"n": 1.0}, "labels": null }"#).await.expect(200);
        assert!(again.was_replayed());
        assert_eq!((&again.json()["id"], &again.json()["state"]), (&first.json()["id"], &json!({"n": 2})));
        assert_eq!(again.text(), server.get(&path).await.text());
        let conflict = create(r#"{"state":{"n":1},"displayName":"d"}"#).await;
        let problem = conflict.problem(409, "session_already_exists");
        assert!(problem["detail"].as_str().unwrap().contains("Idempotency-Key"), "{conflict}");
        // Another user's key is another key; so is the same one of another operation, which is another request.
        server.post("/v1/apps/app/users/other/sessions").header("idempotency-key", "k").json(body).await.expect(201);
        server.post("/v1/apps/other/users/user/sessions").header("idempotency-key", "k").json(body).await.expect(201);
        server.put(format!("{S}/own")).header("idempotency-key", "k").json(body).await.problem(409, "session_already_exists");
        server.post(format!("{path}/fork")).header("idempotency-key", "k").await.problem(409, "session_already_exists");
        assert_eq!(server.get(S).await.json()["sessions"].as_array().unwrap().len(), 1);
    }

    async fn a_key_is_forgotten_with_its_session(server: &TestServer) {
        let create = |body: &str| server.post(S).header("idempotency-key", "k").json(body);
        let first = create("{}").await.expect(201).json()["id"].clone();
        server.delete(format!("{S}/{}", first.as_str().unwrap())).await.expect(204);
        let second = create(r#"{"sessionId":"s","expireTime":1}"#).await.expect(201).json();
        assert_eq!(second["id"], "s");
        // It has expired, and does not count.
        let third = create(r#"{"sessionId":"t"}"#).await.expect(201).json();
        assert_eq!(third["id"], "t");
        assert!(create(r#"{"sessionId":"t"}"#).await.expect(200).was_replayed());
        // The id is free, too.
        server.create("{}").await;
        server.post(S).header("idempotency-key", "l").json(r#"{"sessionId":"t"}"#).await.problem(409, "session_already_exists");
        server.post(S).header("idempotency-key", "l").json(r#"{"sessionId":"u"}"#).await.expect(201);
    }

    async fn a_fork_by_key_is_found_again_and_copies_no_key(server: &TestServer) {
        let made = server.post(S).header("idempotency-key", "made").json(r#"{"sessionId":"s"}"#).await.expect(201);
        assert_eq!(made.json()["id"], "s");
        server.append_delta(r#"{"k":1}"#).await;
        let fork = |body: &str| server.post(format!("{ONE}/fork")).header("idempotency-key", "f").json(body);
        let forked = fork("{}").await.expect(201);
        server.append_delta(r#"{"k":2}"#).await;
        let again = fork("{}").await.expect(200);
        assert!(again.was_replayed());
        assert_eq!(again.text(), forked.text());
        fork(r#"{"atRevision":1}"#).await.problem(409, "session_already_exists");
        // The key of the source is still the source's.
        let source = server.post(S).header("idempotency-key", "made").json(r#"{"sessionId":"s"}"#).await.expect(200);
        assert_eq!(source.json()["id"], "s");
        // Also when the source is gone.
        server.delete(ONE).await.expect(204);
        assert_eq!(fork("{}").await.expect(200).text(), forked.text());
        server.post(format!("{ONE}/fork")).header("idempotency-key", "g").await.problem(404, "session_not_found");
    }

    async fn a_key_of_a_scope_changes_it_once(server: &TestServer) {
        for scope in [USER_STATE, APP_STATE] {
            let add = |key: &str, by: &str| {
                let body = format!(r#"{{"stateOps":[{{"op":"increment","key":"n","value":{by}}}]}}"#);
                server.patch(scope).header("idempotency-key", key).json(body)
            };
            assert_eq!(add("a", "1").await.expect(200).text(), r#"{"n":1}"#);
            assert_eq!(add("b", "1").await.expect(200).text(), r#"{"n":2}"#);
            // The state as it is now, and the retry in other words.
            let again = add("a", "1.0").await.expect(200);
            assert!(again.was_replayed());
            assert_eq!((again.text(), again.etag()), (r#"{"n":2}"#, "\"2\"".to_owned()));
            let problem = add("a", "2").await.problem(409, "event_id_conflict");
            assert!(problem["detail"].as_str().unwrap().contains("Idempotency-Key"));
            // A retry comes before preconditions; what was refused is not remembered.
            let guarded = |key: &str, tag: &str| {
                let body = r#"{"stateDelta":{"g":1},"preconditions":[{"key":"g","exists":false}]}"#;
                server.patch(scope).header("idempotency-key", key).header("if-match", tag).json(body)
            };
            guarded("c", "\"1\"").await.problem(412, "revision_mismatch");
            assert!(!guarded("c", "\"2\"").await.expect(200).was_replayed());
            assert!(guarded("c", "\"1\"").await.expect(200).was_replayed());
            guarded("d", "*").await.problem(412, "revision_mismatch");
            add("e", "\"x\"").await.invalid(&["/stateOps/0"]);
            add("e", "1").await.expect(200);
            // One that changes nothing, be it on a scope that is not there.
            let nothing = || server.patch(format!("/v1/apps/none{}", &scope["/v1/apps/app".len()..])).header("idempotency-key", "n").json("{}");
            assert!(!nothing().await.expect(200).was_replayed());
            assert!(nothing().await.expect(200).was_replayed());
        }
        assert_eq!(server.get("/v1/apps").await.json(), json!({"apps": [{"appName": "app"}]}));
        assert_eq!(server.get(USER_STATE).await.text(), r#"{"g":1,"n":3}"#);
    }

    async fn a_key_beside_another_id_is_refused(server: &TestServer) {
        server.create("{}").await;
        let events = format!("{ONE}/events");
        let post = |body: &'static str| server.post(&events).header("idempotency-key", "k").json(body);
        post(r#"{"id":"other"}"#).await.invalid(&["Idempotency-Key"]);
        post(r#"[{"id":"other"}]"#).await.invalid(&["Idempotency-Key"]);
        post(r#"[{"id":"k"}]"#).await.invalid(&["Idempotency-Key"]);
        assert_eq!(server.get(ONE).await.json()["revision"], 0);
        post(r#"{"id":"k"}"#).await.expect(201);
        assert!(post("{}").await.expect(200).was_replayed());
    }
}
