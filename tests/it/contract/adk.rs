//! ADK's own paths: the behaviour that clients of `adk api_server` rely on (docs/adk.md). `scripts/adk-compare` makes
//! the same requests to a real one.

use serde_json::{Value, json};

use crate::support::client::{ONE, segment};
use crate::support::databases::{Fixture as _, Place, on_both_databases};
use crate::support::server::TestServer;

/// As the native API's, at ADK's path.
const S: &str = "/apps/app/users/user/sessions";
const A: &str = "/apps/app/users/user/sessions/s";
const FILES: &str = "/apps/app/users/user/sessions/s/artifacts";

fn members(value: &Value) -> Vec<&str> {
    let mut names: Vec<&str> = value.as_object().expect("an object").keys().map(String::as_str).collect();
    names.sort_unstable();
    names
}

const SESSION_FIELDS: [&str; 6] = ["appName", "events", "id", "lastUpdateTime", "state", "userId"];

on_both_databases! {
    async fn creation_answers_200_and_a_session_of_exactly_adks_fields(server: &TestServer) {
        for body in ["", "null", "{}", r#"{"sessionId":null,"state":null,"events":null,"options":{},"bogus":1}"#] {
            let session = server.post(S).json(body).await.expect(200).json();
            assert_eq!(members(&session), SESSION_FIELDS, "{body}");
            assert_eq!((&session["appName"], &session["userId"]), (&json!("app"), &json!("user")));
            assert_eq!((&session["state"], &session["events"]), (&json!({}), &json!([])));
        }
        server.post(S).await.expect(200);
    }

    async fn creation_takes_both_spellings(server: &TestServer) {
        for (body, id) in [
            (r#"{"sessionId":"a","state":{"k":1.0,"app:x":1,"user:y":null,"temp:t":2}}"#, "a"),
            (r#"{"session_id":" b ","state":{}}"#, "b"),
        ] {
            let created = server.post(S).json(body).await.expect(200);
            assert_eq!(created.json()["id"], id);
            assert_eq!(server.get(format!("{S}/{id}")).await.expect(200).text(), created.text());
        }
        assert_eq!(server.get(format!("{S}/a")).await.json()["state"], json!({"k": 1.0, "app:x": 1, "user:y": null}));
        assert_eq!(server.get(format!("{S}/b")).await.json()["state"], json!({"app:x": 1, "user:y": null}));
        server.post(S).json(r#"{"sessionId":"a"}"#).await.problem(409, "session_already_exists");
        server.post(S).json(r#"{"sessionId":"c","session_id":"c"}"#).await.invalid(&["sessionId"]);
        server.post(S).json(r#"{"state":[],"options":{"a":1}}"#).await.invalid(&["options"]);
        server.post(S).json(r#"{"state":[]}"#).await.invalid(&["/state"]);
    }

    async fn the_body_of_a_creation_by_path_is_the_state(server: &TestServer) {
        let created = server.post(A).json(r#"{"state":{"a":1},"user:n":"Ada","temp:t":1}"#).await.expect(200);
        assert_eq!(created.json()["state"], json!({"state": {"a": 1}, "user:n": "Ada"}));
        server.post(A).json("{}").await.problem(409, "session_already_exists");
        server.post(format!("{S}/empty")).await.expect(200);
        server.post(format!("{S}/null")).json("null").await.expect(200);
        server.post(format!("{S}/list")).json("[1]").await.problem(422, "invalid_argument");
        server.get(format!("{S}/list")).await.problem(404, "session_not_found");
    }

    async fn initial_events_are_what_was_said_and_nothing_that_an_agent_did(server: &TestServer) {
        let created = server
            .post(S)
            .json(r#"{"sessionId":"s","events":[{"id":"e1","timestamp":5,"author":"user","custom_metadata":{"a":null},
                     "content":{"parts":[{"text":"hi"}]}},{"id":"p","partial":true},{"id":"e2","timestamp":4,"actions":{}}]}"#)
            .await
            .expect(200);
        assert_eq!(created.raw(&["lastUpdateTime"]), "4");
        assert_eq!(created.raw(&["events", "0", "customMetadata"]), r#"{"a":null}"#);
        assert_eq!(created.json()["events"].as_array().map(Vec::len), Some(2));
        assert!(created.find_raw(&["events", "1", "customMetadata"]).is_none());
        // ADK's mark of a restored event is there for agents, who read the native API.
        let native = server.get(ONE).await.expect(200);
        assert_eq!(native.raw(&["events", "1", "customMetadata"]), r#"{"__adk_internal_restored_event":true}"#);

        for (event, field) in [
            (r#"{"actions":{"stateDelta":{"k":1}}}"#, "/events/1/actions"),
            (r#"{"long_running_tool_ids":["f"]}"#, "/events/1/long_running_tool_ids"),
            (r#"{"content":{"parts":[{"functionResponse":{"name":"adk_request_confirmation"}}]}}"#, "/events/1/content"),
            (r#"{"message":"hi"}"#, "/events/1/message"),
        ] {
            let body = format!(r#"{{"sessionId":"x","events":[{{}},{event}]}}"#);
            server.post(S).json(body).await.invalid(&[field]);
        }
        server.get(format!("{S}/x")).await.problem(404, "session_not_found");
    }

    async fn events_have_exactly_adks_fields(server: &TestServer) {
        server.create(r#"{"events":[{"id":"e1","timestamp":1.50,"mine":1,"branch":null,"turn_complete":true,
            "content":{"parts":[{"text": "a"}]},"actions":{"state_delta":{"n":null,"temp:t":1},"mine":1,"escalate":null,
            "stateOps":[{"op":"increment","key":"i","value":1}],"preconditions":[]}},{"id":"e2","actions":null}]}"#).await;
        let session = server.get(A).await.expect(200);
        assert_eq!(members(&session.json()), SESSION_FIELDS);
        assert_eq!(
            session.json()["events"][0],
            json!({
                "id": "e1", "timestamp": 1.5, "turnComplete": true, "content": {"parts": [{"text": "a"}]},
                "author": "", "invocationId": "", "nodeInfo": {"path": ""},
                "actions": {
                    "stateDelta": {"n": null, "i": 1}, "artifactDelta": {}, "requestedAuthConfigs": {},
                    "requestedToolConfirmations": {},
                },
            })
        );
        assert_eq!(session.raw(&["events", "0", "timestamp"]), "1.50");
        assert_eq!(session.raw(&["events", "0", "content"]), r#"{"parts":[{"text": "a"}]}"#);
        let always = ["artifactDelta", "requestedAuthConfigs", "requestedToolConfirmations", "stateDelta"];
        assert_eq!(members(&session.json()["events"][1]["actions"]), always);
    }

    async fn values_come_back_byte_for_byte(server: &TestServer) {
        let value = r#"{"b":1E2, "a":[ -0.0,123456789012345678901234567890,"\u00e9"],"$serde_json::private::RawValue":"[1]"}"#;
        let created = server.post(A).json(format!(r#"{{"k":{value}}}"#)).await.expect(200);
        assert_eq!(created.raw(&["state", "k"]), value);
        let patched = server.patch(A).json(format!(r#"{{"stateDelta":{{"l":{value}}}}}"#)).await.expect(200);
        assert_eq!(patched.raw(&["state", "l"]), value);
        assert_eq!(patched.raw(&["events", "0", "actions", "stateDelta", "l"]), value);
        let listed = server.get(S).await.expect(200);
        assert_eq!(listed.raw(&["0", "state", "k"]), value);
        server.post(format!("{S}/x")).json(r#"{"k":1e400}"#).await.invalid(&["/k"]);
    }

    async fn secrets_of_credentials_are_not_shown(server: &TestServer) {
        let credential = r#"{"authType":"oauth2","oauth2":{"clientId":"i","clientSecret":"s"}}"#;
        let shown = json!({"authType": "oauth2", "oauth2": {"clientId": "i"}});
        server.create(&format!(r#"{{"state":{{"c":{credential},"token":"t"}},"events":[
            {{"id":"e","actions":{{"requestedAuthConfigs":{{"f":{{"authScheme":{{"type":"oauth2"}},"rawAuthCredential":{credential}}}}}}}}}]}}"#)).await;
        let session = server.get(A).await.expect(200).json();
        assert_eq!(session["state"], json!({"c": shown, "token": "t"}));
        assert_eq!(session["events"][0]["actions"]["requestedAuthConfigs"]["f"]["rawAuthCredential"], shown);
        assert_eq!(server.get(S).await.json()[0]["state"]["c"], shown);
        assert_eq!(server.get(ONE).await.raw(&["state", "c"]), credential);
    }

    async fn a_list_is_a_bare_array_with_state_and_without_events(server: &TestServer) {
        assert_eq!(server.get(S).await.expect(200).text(), "[]");
        server.create(r#"{"sessionId":"b","state":{"k":1,"app:x":1},"events":[{"timestamp":2}]}"#).await;
        server.create(r#"{"sessionId":"a","state":{"user:y":1},"events":[{"timestamp":2}]}"#).await;
        server.create(r#"{"sessionId":"c","events":[{"timestamp":1}]}"#).await;
        for hidden in ["adk-eval-session-1", "___eval___session___1"] {
            server.post(format!("{S}/{hidden}")).await.expect(200);
            server.get(format!("{S}/{hidden}")).await.expect(200);
        }
        let listed = server.get(format!("{S}?bogus=1")).await.expect(200).json();
        let row = |id: &str, time: i64, state: Value| {
            json!({"id": id, "appName": "app", "userId": "user", "state": state, "events": [], "lastUpdateTime": time})
        };
        assert_eq!(
            listed,
            json!([
                row("c", 1, json!({"app:x": 1, "user:y": 1})),
                row("a", 2, json!({"app:x": 1, "user:y": 1})),
                row("b", 2, json!({"app:x": 1, "user:y": 1, "k": 1})),
            ])
        );
    }

    async fn deletion_answers_null_whether_or_not_there_was_a_session(server: &TestServer) {
        server.create("{}").await;
        for _ in 0..2 {
            let deleted = server.delete(A).await.expect(200);
            assert_eq!((deleted.text(), deleted.header("content-type")), ("null", Some("application/json")));
        }
        server.get(A).await.problem(404, "session_not_found");
    }

    async fn a_patch_appends_an_event_and_answers_the_whole_session(server: &TestServer) {
        server.create(r#"{"state":{"k":{"a":1},"app:x":1},"events":[{"id":"e1"}]}"#).await;
        let delta = r#"{"k":{"b":2},"n":null,"user:u":1,"temp:t":1}"#;
        let patched = server.patch(A).json(format!(r#"{{"stateDelta":{delta},"bogus":1}}"#)).await.expect(200);
        let session = patched.json();
        assert_eq!(session["state"], json!({"k": {"b": 2}, "n": null, "user:u": 1, "app:x": 1}));
        assert_eq!(session["events"].as_array().map(Vec::len), Some(2));
        let event = &session["events"][1];
        assert_eq!(event["author"], "user");
        assert!(event["invocationId"].as_str().is_some_and(|id| id.starts_with("p-")), "{event}");
        assert_eq!(event["actions"]["stateDelta"], json!({"k": {"b": 2}, "n": null, "user:u": 1}));
        assert_eq!(session["lastUpdateTime"], event["timestamp"]);
        assert_eq!(server.get(A).await.text(), patched.text());

        let empty = server.patch(A).json(r#"{"state_delta":{}}"#).await.expect(200);
        assert_eq!(empty.json()["events"].as_array().map(Vec::len), Some(3));
        for body in ["{}", r#"{"stateDelta":null}"#, r#"{"stateDelta":[]}"#] {
            server.patch(A).json(body).await.invalid(&["stateDelta"]);
        }
        server.patch(A).await.problem(400, "invalid_json");
        server.patch(format!("{S}/none")).json(r#"{"stateDelta":{}}"#).await.problem(404, "session_not_found");
    }

    async fn no_patch_fails_because_of_another(server: &TestServer) {
        server.create("{}").await;
        let patches = (0..20).map(|n| async move {
            let delta = format!(r#"{{"stateDelta":{{"k{n}":{n},"app:k{n}":{n},"user:same":{n}}}}}"#);
            server.patch(A).json(delta).await.expect(200).json()
        });
        for session in futures_util::future::join_all(patches).await {
            // One moment: the state is what the events that are shown have made.
            let mut state = serde_json::Map::new();
            for event in session["events"].as_array().expect("events") {
                state.extend(event["actions"]["stateDelta"].as_object().expect("a delta").clone());
            }
            assert_eq!(Value::Object(state), session["state"]);
        }
        let session = server.get(A).await.json();
        assert_eq!(session["events"].as_array().map(Vec::len), Some(20));
        assert_eq!(session["state"].as_object().map(serde_json::Map::len), Some(41));
    }

    async fn both_paths_lead_to_the_same_sessions(server: &TestServer) {
        server.post(A).json(r#"{"k":1}"#).await.expect(200);
        assert_eq!(server.get(ONE).await.expect(200).json()["state"], json!({"k": 1}));
        server.append_delta(r#"{"k":2}"#).await;
        assert_eq!(server.get(A).await.json()["state"], json!({"k": 2}));
        server.get(A).header("if-none-match", server.get(ONE).await.etag()).await.expect(304);
    }

    async fn artifacts_have_adks_shapes(server: &TestServer) {
        server.create("{}").await;
        let save = async |body: Value| server.post(FILES).json(body).await.expect(200);
        let text = json!({"text": "grüß\u{0}\n\"Gott\""});
        let saved = save(json!({"filename": "a/b.txt", "artifact": text, "customMetadata": {"n": 1}, "bogus": 1})).await;
        let first = saved.json();
        assert_eq!(members(&first), ["canonicalUri", "createTime", "customMetadata", "mimeType", "version"]);
        assert_eq!((&first["version"], &first["mimeType"]), (&json!(0), &json!("text/plain")));
        assert_eq!(first["canonicalUri"], "sessiond://apps/app/users/user/sessions/s/artifacts/a%2Fb.txt/versions/0");
        assert_eq!(saved.raw(&["customMetadata"]), r#"{"n":1}"#);
        let blob = json!({"inlineData": {"mimeType": "a/b", "data": "-_8=", "displayName": "n"}});
        let second = save(json!({"filename": "a/b.txt", "artifact": {"inline_data": {"mime_type": "a/b", "data": "+/8", "display_name": "n"}}})).await.json();
        assert_eq!((&second["version"], &second["customMetadata"], &second["mimeType"]), (&json!(1), &json!({}), &json!("a/b")));
        let of_user = save(json!({"filename": "user:u", "artifact": {"fileData": {"fileUri": "gs://a/b"}}, "custom_metadata": null})).await.json();
        assert_eq!(members(&of_user), ["canonicalUri", "createTime", "customMetadata", "version"]);
        assert_eq!(of_user["canonicalUri"], "sessiond://apps/app/users/user/artifacts/user%3Au/versions/0");

        assert_eq!(server.get(FILES).await.expect(200).json(), json!(["a/b.txt", "user:u"]));
        // A slash in the name stands as it is, or escaped.
        for name in ["a/b.txt", "a%2Fb.txt"] {
            let read = async |rest: &str| server.get(format!("{FILES}/{name}{rest}")).await;
            for (rest, expected) in [
                ("", &blob), ("?version=1", &blob), ("?version=0", &text), ("/versions/0", &text), ("/versions/1", &blob),
                ("/versions/latest", &blob), ("?bogus=1", &blob), ("/versions", &json!([0, 1])),
                ("/versions/metadata", &json!([first, second])), ("/versions/0/metadata", &first),
                ("/versions/latest/metadata", &second),
            ] {
                let answer = read(rest).await.expect(200);
                assert_eq!((&answer.json(), answer.header("content-type")), (expected, Some("application/json")), "{rest}");
                server.head(format!("{FILES}/{name}{rest}")).await.expect(200);
            }
            for none in ["?version=2", "/versions/2", "/versions/2/metadata", "/versions/99999999999999999999"] {
                read(none).await.problem(404, "artifact_not_found");
            }
            for bad in ["/versions/-1", "/versions/x", "/versions/Latest/metadata"] {
                read(bad).await.invalid(&["version"]);
            }
            for bad in ["?version=-1", "?version=x", "?version="] {
                read(bad).await.invalid(&["version"]);
            }
            let tag = read("").await.etag();
            assert_eq!(server.get(format!("{FILES}/{name}")).header("if-none-match", &tag).await.status(), 304);
        }
        // Nothing of it is in the log, and the native API shows the same.
        assert_eq!(server.get(ONE).await.json()["revision"], 0);
        let native = server.get("/v1/apps/app/users/user/sessions/s/artifacts/a%2Fb.txt?as=part").await.expect(200);
        assert_eq!(native.json()["inlineData"]["data"], "+/8=");
        assert_eq!(native.etag(), server.get(format!("{FILES}/a/b.txt")).await.etag());

        for (name, left) in [("a/b.txt?version=1", json!([0])), ("a/b.txt", json!([])), ("a/b.txt", json!([]))] {
            let deleted = server.delete(format!("{FILES}/{name}")).await.expect(200);
            assert_eq!((deleted.text(), server.get(format!("{FILES}/a/b.txt/versions")).await.json()), ("null", left), "{name}");
        }
        server.get(format!("{FILES}/a/b.txt")).await.problem(404, "artifact_not_found");
        assert_eq!(server.get(format!("{FILES}/a/b.txt/versions/metadata")).await.expect(200).text(), "[]");
        assert_eq!(save(json!({"filename": "a/b.txt", "artifact": {"text": ""}})).await.json()["version"], 2);
        // What ADK's own rewind leaves of a file that was not there: no file to ADK, a version like others here.
        let nothing = json!({"inlineData": {"mimeType": "application/octet-stream", "data": ""}});
        save(json!({"filename": "gone", "artifact": nothing})).await.expect(200);
        for path in ["gone", "gone?version=0", "gone/versions/0", "gone/versions/latest"] {
            server.get(format!("{FILES}/{path}")).await.problem(404, "artifact_not_found");
        }
        assert_eq!(server.get(format!("{FILES}/gone/versions")).await.json(), json!([0]));
        assert_eq!(server.get(format!("/v1{FILES}/gone")).await.expect(200).text(), "");
    }

    async fn artifacts_with_odd_names_are_told_apart(server: &TestServer) {
        server.create("{}").await;
        let names = ["versions", "x", "x/versions", "x/versions/0", "x/", "x//y", "versions/0", "é /?#%2F"];
        for name in names {
            server.post(FILES).json(json!({"filename": name, "artifact": {"text": name}})).await.expect(200);
        }
        for name in names {
            let encoded = format!("{FILES}/{}", segment(name));
            for path in [encoded.clone(), format!("{encoded}/versions/0"), format!("{encoded}/versions/latest")] {
                assert_eq!(server.get(&path).await.expect(200).json(), json!({"text": name}), "{path}");
            }
            assert_eq!(server.get(format!("{encoded}/versions")).await.json(), json!([0]));
        }
        // As ADK's server has it, what follows the last `/versions` of a path that may follow is meant.
        assert_eq!(server.get(format!("{FILES}/x/versions")).await.json(), json!([0]));
        assert_eq!(server.get(format!("{FILES}/x/versions/0")).await.json(), json!({"text": "x"}));
        server.get(format!("{FILES}/x/versions/versions")).await.invalid(&["version"]);
        assert_eq!(server.get(format!("{FILES}/versions")).await.json(), json!({"text": "versions"}));
        assert_eq!(server.get(format!("{FILES}/x//y/versions/0")).await.json(), json!({"text": "x//y"}));
        server.delete(format!("{FILES}/x/versions")).await.problem(405, "method_not_allowed");
        server.put(format!("{FILES}/x")).await.problem(405, "method_not_allowed");
        server.get(format!("{FILES}/")).await.problem(404, "not_found");
    }

    async fn artifacts_that_cannot_be_are_refused(server: &TestServer) {
        server.create("{}").await;
        for (body, fields) in [
            (json!({}), &["filename", "artifact"][..]),
            (json!({"filename": "", "artifact": {"text": ""}}), &["filename"]),
            (json!({"filename": "..", "artifact": {"text": ""}}), &["filename"]),
            (json!({"filename": "f", "artifact": {}}), &["/artifact"]),
            (json!({"filename": "f", "artifact": {"text": 1}, "customMetadata": []}), &["/artifact/text", "customMetadata"]),
            (json!({"filename": "f", "artifact": {"text": "", "thought": true}}), &["/artifact/thought"]),
            (json!({"filename": "f", "artifact": {"functionCall": {"name": "f"}}}), &["/artifact/functionCall"]),
            (json!({"filename": "f", "artifact": {"inlineData": {"data": "a"}}}), &["/artifact/inlineData/data"]),
        ] {
            server.post(FILES).json(body).await.invalid(fields);
        }
        server.post(FILES).await.problem(400, "invalid_json");
        server.post(FILES).body("text/plain", "{}").await.problem(415, "unsupported_media_type");
        assert_eq!(server.get(FILES).await.text(), "[]");
        for rest in ["", "/f", "/f/versions", "/f/versions/0", "/f/versions/metadata", "/f/versions/0/metadata"] {
            server.get(format!("{S}/none/artifacts{rest}")).await.problem(404, "session_not_found");
        }
        let text = json!({"filename": "f", "artifact": {"text": ""}});
        server.post(format!("{S}/none/artifacts")).json(text).await.problem(404, "session_not_found");
        assert_eq!(server.delete(format!("{S}/none/artifacts/f")).await.expect(200).text(), "null");
    }

    async fn artifacts_heed_leases_and_keys(server: &TestServer) {
        server.create("{}").await;
        let lease = json!({"owner": "o", "exclusive": "all"});
        let lease = server.post(format!("{ONE}/lease")).json(lease).await.expect(201).json();
        let mark = format!("{}-{}", lease["epoch"], lease["incarnation"].as_str().unwrap());
        let body = json!({"filename": "f", "artifact": {"text": "a"}});
        server.post(FILES).json(&body).await.problem(409, "lease_held");
        server.post(FILES).header("sessiond-lease", "7").json(&body).await.problem(409, "fenced");
        let held = || server.post(FILES).header("sessiond-lease", &mark).header("idempotency-key", "k").json(&body);
        let first = held().await.expect(200);
        let again = held().await.expect(200);
        assert!(again.was_replayed() && !first.was_replayed());
        assert_eq!(again.text(), first.text());
        server.delete(format!("{FILES}/f")).await.problem(409, "lease_held");
        server.delete(format!("{FILES}/f")).header("sessiond-lease", &mark).await.expect(200);
    }

    async fn long_lists_of_artifacts_are_whole(server: &TestServer) with ["--max-page-rows=2"] {
        server.create("{}").await;
        for n in 0..5 {
            for name in [format!("f{n}"), format!("user:u{n}"), "many".to_owned()] {
                server.post(FILES).json(json!({"filename": name, "artifact": {"text": "x"}})).await.expect(200);
            }
        }
        let expected = json!(["f0", "f1", "f2", "f3", "f4", "many", "user:u0", "user:u1", "user:u2", "user:u3", "user:u4"]);
        assert_eq!(server.get(FILES).await.expect(200).json(), expected);
        assert_eq!(server.get(format!("{FILES}/many/versions")).await.expect(200).json(), json!([0, 1, 2, 3, 4]));
        let all = server.get(format!("{FILES}/many/versions/metadata")).await.expect(200).json();
        assert_eq!(all.as_array().map(Vec::len), Some(5));
    }

    async fn names_may_be_anything(server: &TestServer) {
        let path = format!("/apps/{}/users/{}/sessions", segment("é/ü"), segment("日本 x"));
        let created = server.post(&path).json(r#"{"sessionId":"a/b+\"c\""}"#).await.expect(200).json();
        assert_eq!(created["appName"], "é/ü");
        let read = server.get(format!("{path}/{}", segment("a/b+\"c\""))).await.expect(200);
        assert_eq!(read.json(), created);
        assert_eq!(server.get("/list-apps").await.json(), json!(["é/ü"]));
    }

    async fn errors_have_a_detail(server: &TestServer) {
        for (answer, status) in [
            (server.get(A).await, 404),
            (server.post(S).json("{").await, 400),
            (server.post(S).body("text/plain", "{}").await, 415),
            (server.post(S).json("[]").await, 422),
            (server.put(A).await, 405),
            (server.delete(S).await, 405),
            (server.get("/apps/app/users//sessions").await, 422),
            (server.get("/apps/app").await, 404),
            (server.get("/list-apps?detailed=true").await, 422),
        ] {
            assert!(answer.json()["detail"].as_str().is_some_and(|detail| !detail.is_empty()), "{answer}");
            assert_eq!(answer.status, status, "{answer}");
        }
    }

    async fn what_serves_is_told(server: &TestServer) {
        assert_eq!(server.get("/health").await.expect(200).text(), r#"{"status":"ok"}"#);
        let version = server.get("/version").await.expect(200).json();
        assert_eq!(members(&version), ["language", "language_version", "version"]);
        assert_eq!(version["version"], env!("CARGO_PKG_VERSION"));
        server.create(r#"{"sessionId":"s"}"#).await;
        server.post("/apps/other/users/u/sessions").await.expect(200);
        for query in ["", "?detailed=false", "?relative_path=.%2F"] {
            assert_eq!(server.get(format!("/list-apps{query}")).await.expect(200).json(), json!(["app", "other"]));
        }
    }
}

/// Lists are read by page, and are whole all the same.
#[tokio::test]
async fn a_long_list_is_streamed() {
    let server = TestServer::start(Place::sqlite(), &["--max-page-rows", "2"]).await;
    for n in 0..7 {
        server.post(format!("/apps/a{n}/users/u/sessions")).await.expect(200);
        let id = if n < 3 { format!("adk-eval-session-{n}") } else { n.to_string() };
        server.post(format!("{S}/{id}")).await.expect(200);
    }
    let listed = server.get(S).await.expect(200).json();
    let ids: Vec<&str> = listed.as_array().expect("an array").iter().filter_map(|row| row["id"].as_str()).collect();
    assert_eq!(ids, ["3", "4", "5", "6"]);
    assert_eq!(server.get("/list-apps").await.json(), json!(["a0", "a1", "a2", "a3", "a4", "a5", "a6", "app"]));
    server.stop().await;
}
