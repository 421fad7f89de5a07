//! State: app and user state on their own.

use serde_json::json;

use crate::support::client::{APP_STATE, ONE, STATE, USER_STATE};
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
        assert_eq!(server.get(APP_STATE).await.json(), json!({"user:x": 1}));
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

    async fn one_bad_key_leaves_the_scope_alone(server: &TestServer) {
        let deep = format!("{}{}", "[".repeat(65), "]".repeat(65));
        let body = format!(r#"{{"stateDelta":{{"good":1,"bad":{deep}}}}}"#);
        server.patch(APP_STATE).json(body).await.invalid(&[&format!("/stateDelta/bad{}", "/0".repeat(64))]);
        let answer = server.get(APP_STATE).await;
        assert_eq!((answer.text(), answer.etag().as_str()), ("{}", "\"0\""));
    }
}
