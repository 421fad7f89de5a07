//! The merged state of a session and its keys, without operators.

use serde_json::json;

use crate::support::client::{EVENTS, ONE, S, STATE, segment};
use crate::support::databases::on_both_databases;
use crate::support::server::TestServer;

on_both_databases! {
    async fn the_merged_state_is_one_object(server: &TestServer) {
        assert_eq!(server.create("{}").await.json()["state"], json!({}));
        assert_eq!(server.get(STATE).await.expect(200).text(), "{}");
        server.append_delta(r#"{"k":1,"user:k":2,"app:k":3}"#).await;
        assert_eq!(server.state().await, json!({"app:k": 3, "user:k": 2, "k": 1}));
        server.get(format!("{S}/none/state")).await.problem(404, "session_not_found");
    }

    async fn a_key_is_read_as_a_bare_value(server: &TestServer) {
        server.create(r#"{"state":{"k":{"a": 1.0},"user:k":"u","app:k":[]}}"#).await;
        for (key, value) in [("k", r#"{"a": 1.0}"#), ("user:k", r#""u""#), ("app:k", "[]"), ("app%3Ak", "[]")] {
            let answer = server.get(format!("{STATE}/{key}")).await.expect(200);
            assert_eq!(answer.text(), value);
            let head = server.head(format!("{STATE}/{key}")).await.expect(200);
            assert_eq!(head.etag(), answer.etag());
        }
        for missing in ["K", "app:K", "user:", "l", "k%20"] {
            server.get(format!("{STATE}/{missing}")).await.problem(404, "state_key_not_found");
            server.head(format!("{STATE}/{missing}")).await.expect(404);
        }
        server.get(format!("{S}/none/state/k")).await.problem(404, "session_not_found");
    }

    async fn a_key_in_a_path_is_decoded_once_and_may_hold_anything(server: &TestServer) {
        server.create("{}").await;
        for key in ["a/b", "a b", "%2F", "é", "日本", "a?b#c", "app:x/y", "user: ", "\u{1}\n\u{7f}", "\"\\", "...", "a,b", "😀"] {
            let path = format!("{STATE}/{}", segment(key));
            assert_eq!(server.put(&path).json("7").await.expect(200).text(), "7");
            assert_eq!(server.get(&path).await.expect(200).text(), "7");
            assert_eq!(server.state().await, json!({key: 7}));
            server.delete(&path).await.expect(204);
            assert_eq!(server.state().await, json!({}));
        }
    }

    async fn putting_a_key_appends_an_event(server: &TestServer) {
        server.create("{}").await;
        let put = server.put(format!("{STATE}/k")).json(" [1, 2] ").await.expect(200);
        assert_eq!(put.text(), "[1, 2]");
        assert_eq!(put.tag().0, 1);
        server.put(format!("{STATE}/app:k?author=agent")).json("{}").await.expect(200);
        let events = server.get(EVENTS).await.json();
        let events = events["events"].as_array().unwrap();
        assert_eq!((&events[0]["author"], &events[0]["actions"]["stateDelta"]), (&json!("user"), &json!({"k": [1, 2]})));
        assert_eq!((&events[1]["author"], &events[1]["actions"]["stateDelta"]), (&json!("agent"), &json!({"app:k": {}})));
        assert_eq!(server.get(ONE).await.raw(&["lastUpdateTime"]), server.get(EVENTS).await.raw(&["events", "1", "timestamp"]));
        server.put(format!("{S}/none/state/k")).json("1").await.problem(404, "session_not_found");
        server.put(format!("{STATE}/k")).await.problem(400, "invalid_json");
    }

    async fn deleting_a_key_appends_an_event_that_lists_the_removal(server: &TestServer) {
        server.create(r#"{"state":{"k":1,"l":2,"user:k":3,"app:k":4}}"#).await;
        for (n, key) in ["k", "user:k", "app:k"].iter().enumerate() {
            let deleted = server.delete(format!("{STATE}/{key}?author=agent")).await.expect(204);
            assert_eq!(deleted.tag().0, n as i64 + 1);
            let event = server.get(format!("{EVENTS}?order=desc&pageSize=1")).await.json()["events"][0].clone();
            assert_eq!(event["author"], "agent");
            assert_eq!(event["actions"]["stateOps"], json!([{"op": "remove", "key": key}]));
            assert_eq!(event["actions"]["stateDelta"], json!({}));
        }
        assert_eq!(server.state().await, json!({"l": 2}));
        assert_eq!(server.get("/v1/apps/app/state").await.text(), "{}");
        assert_eq!(server.get(format!("{STATE}/k")).await.problem(404, "state_key_not_found")["status"], 404);
    }

    async fn deleting_an_absent_key_appends_nothing(server: &TestServer) {
        server.create(r#"{"state":{"k":1}}"#).await;
        for key in ["none", "user:k", "app:k", "K"] {
            server.delete(format!("{STATE}/{key}")).await.expect(204);
        }
        assert_eq!(server.get(ONE).await.json()["revision"], 0);
        server.delete(format!("{STATE}/k")).await.expect(204);
        server.delete(format!("{STATE}/k")).await.expect(204);
        assert_eq!(server.get(ONE).await.json()["revision"], 1);
        server.delete(format!("{S}/none/state/k")).await.problem(404, "session_not_found");
    }

    async fn a_removed_key_can_come_back(server: &TestServer) {
        server.create(r#"{"state":{"k":1}}"#).await;
        server.delete(format!("{STATE}/k")).await.expect(204);
        server.append_delta(r#"{"k":null}"#).await;
        assert_eq!(server.state().await, json!({"k": null}));
    }

    async fn patching_state_appends_one_event_and_answers_the_merged_state(server: &TestServer) {
        server.create(r#"{"state":{"a":1,"app:a":1}}"#).await;
        let patched = server
            .patch(STATE)
            .json(r#"{"stateDelta":{"b":{"x": 1.0},"app:a":2,"user:u":null,"temp:t":5},"author":"agent","invocation_id":"i","eventId":"e"}"#)
            .await
            .expect(200);
        assert_eq!(patched.json(), json!({"app:a": 2, "user:u": null, "a": 1, "b": {"x": 1.0}}));
        assert_eq!(patched.raw(&["b"]), r#"{"x": 1.0}"#);
        let event = server.get(format!("{EVENTS}/e")).await.expect(200).json();
        assert_eq!((&event["author"], &event["invocationId"], &event["sequence"]), (&json!("agent"), &json!("i"), &json!(1)));
        assert_eq!(event["actions"]["stateDelta"], json!({"b": {"x": 1.0}, "app:a": 2, "user:u": null}));
        assert_eq!(server.get(ONE).await.json()["revision"], 1);
    }

    async fn patching_state_takes_known_fields_of_their_types_only(server: &TestServer) {
        server.create("{}").await;
        for (body, field) in [
            (r#"{"stateDelta":[]}"#, "/stateDelta"),
            (r#"{"state_delta":7}"#, "/stateDelta"),
            (r#"{"author":1}"#, "author"),
            (r#"{"invocationId":{}}"#, "invocationId"),
            (r#"{"eventId":".."}"#, "eventId"),
            (r#"{"delta":{}}"#, "delta"),
            (r#"{"state":{}}"#, "state"),
            (r#"{"stateDelta":{},"state_delta":{}}"#, "stateDelta"),
            ("[]", ""),
        ] {
            server.patch(STATE).json(body).await.invalid(&[field]);
        }
        server.patch(STATE).await.problem(400, "invalid_json");
        server.patch(format!("{S}/none/state")).json("{}").await.problem(404, "session_not_found");
        server.patch(STATE).json(r#"{"stateDelta":null,"author":null,"eventId":null}"#).await.expect(200);
        assert_eq!(server.get(ONE).await.json()["revision"], 1);
    }

    async fn state_keys_are_at_most_512_bytes(server: &TestServer) {
        let longest = "é".repeat(256);
        server.create(&format!(r#"{{"state":{{"{longest}":1,"app:{longest}":1}}}}"#)).await;
        let longer = format!("{longest}x");
        for key in [longer.clone(), format!("user:{longer}"), format!("temp:{longer}")] {
            let delta = json!({ &key: 1 }).to_string();
            server.post(EVENTS).json(format!(r#"{{"actions":{{"stateDelta":{delta}}}}}"#)).await.invalid(&["/actions/stateDelta"]);
            server.patch(STATE).json(format!(r#"{{"stateDelta":{delta}}}"#)).await.invalid(&["/stateDelta"]);
            server.post(S).json(format!(r#"{{"state":{delta}}}"#)).await.invalid(&["/state"]);
            server.put(format!("{STATE}/{}", segment(&key))).json("1").await.invalid(&["key"]);
        }
        server.put(format!("{STATE}/{}", segment(&longest))).json("2").await.expect(200);
        server.get(format!("{STATE}/a%00b")).await.invalid(&["key"]);
    }

    /// The invariant: fold(initial state, events) over session keys == session state.
    async fn folding_the_events_over_the_initial_state_gives_the_state(server: &TestServer) {
        let created = server.create(r#"{"state":{"a":1,"b":2,"c":3},"events":[{"actions":{"stateDelta":{"a":2}}}]}"#).await;
        assert_eq!(created.json()["revision"], 1);
        server.append_delta(r#"{"b":null,"d":4,"temp:x":1,"user:a":9}"#).await;
        server.delete(format!("{STATE}/c")).await.expect(204);
        server.put(format!("{STATE}/e")).json("[]").await.expect(200);
        server.delete(format!("{STATE}/a")).await.expect(204);
        server.patch(STATE).json(r#"{"stateDelta":{"c":7}}"#).await.expect(200);
        let mut folded = json!({"a": 1, "b": 2, "c": 3}).as_object().unwrap().clone();
        for event in server.get(EVENTS).await.json()["events"].as_array().unwrap() {
            for (key, value) in event["actions"]["stateDelta"].as_object().into_iter().flatten() {
                if !key.contains(':') {
                    folded.insert(key.clone(), value.clone());
                }
            }
            for op in event["actions"]["stateOps"].as_array().into_iter().flatten() {
                folded.remove(op["key"].as_str().unwrap());
            }
        }
        assert_eq!(server.get(format!("{STATE}?scope=session")).await.json(), json!(folded));
    }
}
