//! State: app and user state on their own.

use serde_json::json;

use crate::support::client::{APP_STATE, ONE, STATE, USER_STATE, segment};
use crate::support::databases::on_both_databases;
use crate::support::server::TestServer;

on_both_databases! {
    async fn a_scope_needs_no_session(server: &TestServer) {
        for path in [USER_STATE, APP_STATE] {
            assert_eq!(server.get(path).await.expect(200).text(), "{}");
            let patched = server.patch(path).json(r#"{"stateDelta":{"k":{"a": 1.0},"l":null}}"#).await.expect(200);
            assert_eq!(patched.raw(&["k"]), r#"{"a": 1.0}"#);
            assert_eq!(server.get(path).await.expect(200).text(), patched.text());
            assert_eq!(server.head(path).await.expect(200).etag(), "\"1\"");
        }
        let created = server.create("{}").await;
        let shown = json!({"app:k": {"a": 1.0}, "app:l": null, "user:k": {"a": 1.0}, "user:l": null});
        assert_eq!(created.json()["state"], shown);
        assert_eq!(server.get("/v1/apps/app/users/other/state").await.text(), "{}");
    }

    async fn keys_have_no_prefix_there(server: &TestServer) {
        for path in [USER_STATE, APP_STATE] {
            for key in ["app:k", "user:k", "temp:k", "app:", "temp:"] {
                let body = json!({"stateDelta": {"good": 1, key: 1}}).to_string();
                server.patch(path).json(body).await.invalid(&[&format!("/stateDelta/{key}")]);
            }
            assert_eq!(server.get(path).await.text(), "{}");
            let body = r#"{"state_delta":{"App:k":1,"temp_k":2,"":3,"session":4}}"#;
            let patched = server.patch(path).json(body).await.expect(200);
            assert_eq!(patched.json(), json!({"App:k": 1, "temp_k": 2, "": 3, "session": 4}));
        }
    }

    async fn a_prefixed_key_inside_of_a_scope_is_shown_though_it_cannot_be_patched_there(server: &TestServer) {
        server.create(r#"{"state":{"app:user:x":1}}"#).await;
        assert_eq!(server.get(APP_STATE).await.json()["user:x"], 1);
    }

    async fn a_change_of_a_scope_is_no_event_of_any_session(server: &TestServer) {
        let created = server.create("{}").await.json();
        server.patch(USER_STATE).json(r#"{"stateDelta":{"k":1}}"#).await.expect(200);
        let session = server.get(ONE).await.json();
        assert_eq!((&session["revision"], &session["lastUpdateTime"]), (&json!(0), &created["lastUpdateTime"]));
        assert_eq!(session["state"], json!({"user:k": 1}));
        assert_eq!(server.get(format!("{STATE}/user:k")).await.expect(200).text(), "1");
    }

    async fn a_patch_of_a_scope_takes_known_fields_of_their_types_only(server: &TestServer) {
        for path in [USER_STATE, APP_STATE] {
            for (body, field) in [
                (r#"{"stateDelta":[]}"#, "/stateDelta"),
                (r#"{"k":1}"#, "k"),
                (r#"{"author":"a"}"#, "author"),
                (r#"{"eventId":"a"}"#, "eventId"),
                (r#"{"stateDelta":{},"state_delta":{}}"#, "stateDelta"),
                ("7", ""),
            ] {
                server.patch(path).json(body).await.invalid(&[field]);
            }
            server.patch(path).await.problem(400, "invalid_json");
            assert_eq!(server.patch(path).json("{}").await.expect(200).etag(), "\"0\"");
        }
        let long = "x".repeat(513);
        server.patch(APP_STATE).json(json!({"stateDelta": {long: 1}}).to_string()).await.invalid(&["/stateDelta"]);
    }

    async fn one_key_of_a_scope_is_read_set_and_removed(server: &TestServer) {
        for scope in [USER_STATE, APP_STATE] {
            let path = format!("{scope}/k");
            server.get(&path).await.problem(404, "state_key_not_found");
            let put = server.put(&path).json(r#" {"a": 1.0, "a_b": null} "#).await.expect(200);
            assert_eq!((put.text(), &*put.etag()), (r#"{"a": 1.0, "a_b": null}"#, "\"1\""));
            let read = server.get(&path).await.expect(200);
            assert_eq!((read.text(), &*read.etag()), (r#"{"a": 1.0, "a_b": null}"#, "\"1\""));
            assert_eq!(server.head(&path).await.expect(200).etag(), "\"1\"");
            server.get(&path).header("if-none-match", "\"1\"").await.expect(304);
            assert_eq!(server.put(format!("{scope}/null")).json("null").await.expect(200).etag(), "\"2\"");
            assert_eq!(server.get(format!("{scope}/null")).await.expect(200).text(), "null");
            assert_eq!(server.get(scope).await.text(), r#"{"k":{"a": 1.0, "a_b": null},"null":null}"#);
            assert_eq!(server.delete(&path).await.expect(204).etag(), "\"3\"");
            // What is not there is no change.
            assert_eq!(server.delete(&path).await.expect(204).etag(), "\"3\"");
            server.get(&path).await.problem(404, "state_key_not_found");
            server.head(&path).await.expect(404);
            for key in ["a/b", "é", "\u{1}", "...", "a,b"] {
                let path = format!("{scope}/{}", segment(key));
                server.put(&path).json("7").await.expect(200);
                assert_eq!(server.get(&path).await.expect(200).text(), "7");
                server.delete(&path).await.expect(204);
            }
            for bad in ["app:k", "user:k", "temp:k", &"x".repeat(513), "a%00"] {
                server.put(format!("{scope}/{bad}")).json("1").await.invalid(&["key"]);
                server.delete(format!("{scope}/{bad}")).await.invalid(&["key"]);
                server.get(format!("{scope}/{bad}")).await.invalid(&["key"]);
                server.head(format!("{scope}/{bad}")).await.expect(422);
                server.get(format!("{scope}/{bad}/history")).await.invalid(&["key"]);
                server.get(format!("{scope}?keys=k,{bad}")).await.invalid(&["keys"]);
            }
            server.put(&path).await.problem(400, "invalid_json");
            let deep = format!("{}{}", "[".repeat(65), "]".repeat(65));
            server.put(&path).json(deep).await.expect(422);
            server.put(format!("{path}?author=a")).json("1").await.invalid(&["author"]);
            server.post(&path).await.problem(405, "method_not_allowed");
        }
        // One that a session wrote so is shown with the others, and with its prefix in a session.
        server.create(r#"{"sessionId":"s","state":{"app:user:x":1,"user:temp:y":2}}"#).await;
        assert_eq!(server.get(APP_STATE).await.json()["user:x"], 1);
        assert_eq!(server.get(format!("{ONE}/state/user:temp:y")).await.expect(200).text(), "2");
    }

    async fn a_write_of_one_key_keeps_its_conditions(server: &TestServer) {
        for scope in [USER_STATE, APP_STATE] {
            let path = format!("{scope}/k");
            let put = |value: &str| server.put(&path).json(value);
            put("1").header("if-match", "\"1\"").await.problem(412, "revision_mismatch");
            put("1").header("if-match", "\"0\"").await.expect(200);
            put("2").header("if-none-match", "*").await.problem(412, "revision_mismatch");
            let stale = put("2").header("if-match", "\"0\"").await.problem(412, "revision_mismatch");
            assert_eq!((&stale["revision"], &stale["outcome"]), (&json!(1), &json!("not_applied")));
            server.delete(&path).header("if-match", "\"0\"").await.problem(412, "revision_mismatch");
            assert_eq!(server.delete(&path).header("if-match", "\"1\"").await.expect(204).etag(), "\"2\"");
            put("2").header("if-none-match", "*").header("if-match", "\"2\"").await.expect(200);

            let keyed = |value: &str| put(value).header("idempotency-key", "one");
            let first = keyed(r#"{"a_b":1}"#).await.expect(200);
            put("9").await.expect(200);
            let again = keyed(r#"{ "a_b": 1.0 }"#).await.expect(200);
            assert!(again.was_replayed() && !first.was_replayed());
            // As the scope is now.
            assert_eq!((&*first.etag(), &*again.etag()), ("\"4\"", "\"5\""));
            assert_eq!(server.get(&path).await.text(), "9");
            for other in [r#"{"aB":1}"#, r#"{"a_b":1,"c":null}"#, "1"] {
                keyed(other).await.problem(409, "event_id_conflict");
            }
            // Of another key, and another operation, it is another request.
            server.put(format!("{scope}/l")).json(r#"{"a_b":1}"#).header("idempotency-key", "one").await.problem(409, "event_id_conflict");
            server.delete(&path).header("idempotency-key", "one").await.problem(409, "event_id_conflict");
            server.delete(&path).header("idempotency-key", "two").await.expect(204);
            put("3").await.expect(200);
            assert!(server.delete(&path).header("idempotency-key", "two").await.expect(204).was_replayed());
            assert_eq!(server.get(&path).await.text(), "3");
        }
    }

    async fn one_bad_key_leaves_the_scope_alone(server: &TestServer) {
        let deep = format!("{}{}", "[".repeat(65), "]".repeat(65));
        let body = format!(r#"{{"stateDelta":{{"good":1,"bad":{deep}}}}}"#);
        server.patch(APP_STATE).json(body).await.invalid(&[&format!("/stateDelta/bad{}", "/0".repeat(64))]);
        let answer = server.get(APP_STATE).await;
        assert_eq!((answer.text(), answer.etag().as_str()), ("{}", "\"0\""));
    }
}
