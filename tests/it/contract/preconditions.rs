//! Preconditions: ETag, If-None-Match, If-Match.

use std::future::IntoFuture as _;

use serde_json::json;

use crate::support::client::{APP_STATE, EVENTS, ONE, S, STATE, USER_STATE};
use crate::support::databases::on_both_databases;
use crate::support::server::TestServer;

/// What a session, its state or a stored event of it is read by.
const READS: [&str; 5] =
    [ONE, STATE, "/v1/apps/app/users/user/sessions/s/state/k", EVENTS, "/v1/apps/app/users/user/sessions/s/events/e"];
const WITH_EVENT: &str = r#"{"state":{"k":1},"events":[{"id":"e"}]}"#;

on_both_databases! {
    async fn a_tag_is_the_revisions_of_session_user_and_app_and_a_mark(server: &TestServer) {
        let created = server.create(r#"{"state":{"app:a":1},"events":[{},{}]}"#).await;
        let (revision, user, app, mark) = created.tag();
        assert_eq!((revision, user, app), (2, 0, 1));
        assert!(!mark.is_empty());
        let appended = server.append_delta(r#"{"user:u":1}"#).await;
        assert_eq!(appended.tag(), (3, 1, 1, mark.clone()));
        server.append(r#"{"id":"e","actions":{"stateDelta":{"k":1}}}"#).await;
        for path in READS {
            assert_eq!(server.get(path).await.expect(200).tag(), (4, 1, 1, mark.clone()), "{path}");
            assert_eq!(server.head(path).await.expect(200).tag(), (4, 1, 1, mark.clone()), "{path}");
        }
        server.patch(APP_STATE).json(r#"{"stateDelta":{"a":2}}"#).await.expect(200);
        assert_eq!(server.get(STATE).await.tag(), (4, 1, 2, mark));
    }

    async fn every_answer_about_a_session_carries_its_tag(server: &TestServer) {
        let created = server.create(WITH_EVENT).await;
        let mark = created.tag().3;
        let key = format!("{STATE}/x");
        for (answer, revision) in [
            (server.put(ONE).await.expect(200), 1),
            (server.append("{}").await, 2),
            (server.append("[{},{}]").await, 4),
            (server.post(EVENTS).json(r#"{"id":"e"}"#).await.expect(200), 4),
            (server.post(EVENTS).json(r#"{"partial":true}"#).await.expect(200), 4),
            (server.put(&key).json("1").await.expect(200), 5),
            (server.delete(&key).await.expect(204), 6),
            (server.delete(&key).await.expect(204), 6),
            (server.patch(STATE).json(r#"{"stateDelta":{"k":2}}"#).await.expect(200), 7),
        ] {
            assert_eq!(answer.tag(), (revision, 0, 0, mark.clone()), "{answer}");
            assert_eq!(answer.header("cache-control"), Some("private, no-cache"));
        }
    }

    async fn if_none_match_is_304_as_long_as_nothing_changed(server: &TestServer) {
        let etag = server.create(WITH_EVENT).await.etag();
        for path in READS {
            for tag in [etag.clone(), format!("W/{etag}"), format!("\"x\", {etag}"), "*".to_owned()] {
                let answer = server.get(path).header("if-none-match", &tag).await.expect(304);
                assert_eq!(answer.etag(), etag);
                server.head(path).header("if-none-match", &tag).await.expect(304);
            }
            for tag in ["\"1\"", "\"1.0.0\"", "\"\"", "\"1.0.0.0\""] {
                server.get(path).header("if-none-match", tag).await.expect(200);
            }
            server.get(path).header("if-none-match", "unquoted").await.invalid(&["If-None-Match"]);
        }
    }

    async fn if_none_match_sees_every_change(server: &TestServer) {
        let mut etag = server.create(WITH_EVENT).await.etag();
        for (method, path, body) in [
            ("append", EVENTS, "{}"),
            ("patch", USER_STATE, r#"{"stateDelta":{"k":1}}"#),
            ("patch", APP_STATE, r#"{"stateDelta":{"k":1}}"#),
            ("patch", ONE, r#"{"displayName":"x"}"#),
            ("patch", ONE, r#"{"ttl":3600}"#),
        ] {
            let done = if method == "append" { server.post(path) } else { server.patch(path) };
            assert!(done.json(body).await.status < 300);
            for read in READS {
                server.get(read).header("if-none-match", &etag).await.expect(200);
            }
            etag = server.get(ONE).await.etag();
            server.get(ONE).header("if-none-match", &etag).await.expect(304);
        }
    }

    async fn if_none_match_does_not_hide_what_is_missing(server: &TestServer) {
        let etag = server.create("{}").await.etag();
        for (path, code) in [
            (format!("{STATE}/none"), "state_key_not_found"),
            (format!("{EVENTS}/none"), "event_not_found"),
            (format!("{S}/none"), "session_not_found"),
        ] {
            server.get(path).header("if-none-match", &etag).await.problem(404, code);
        }
        server.get(format!("{STATE}?bogus=1")).header("if-none-match", &etag).await.invalid(&["bogus"]);
    }

    async fn a_session_made_anew_never_matches_an_old_tag(server: &TestServer) {
        let old = server.create(WITH_EVENT).await.etag();
        server.delete(ONE).await.expect(204);
        let new = server.create(WITH_EVENT).await.etag();
        assert_ne!(old, new);
        for path in READS {
            server.get(path).header("if-none-match", &old).await.expect(200);
        }
        server.post(EVENTS).header("if-match", old).json("{}").await.problem(412, "revision_mismatch");
        server.post(EVENTS).header("if-match", new).json("{}").await.expect(201);
    }

    async fn an_append_holds_for_the_whole_tag_or_for_the_revision_alone(server: &TestServer) {
        let stale = server.create("{}").await.etag();
        server.patch(APP_STATE).json(r#"{"stateDelta":{"k":1}}"#).await.expect(200);
        // The session has not changed, but the merged state has.
        let refused = server.post(EVENTS).header("if-match", &stale).json("{}").await;
        assert_eq!(refused.problem(412, "revision_mismatch")["revision"], 0);
        server.post(EVENTS).header("if-match", "\"0\"").json("{}").await.expect(201);
        let refused = server.post(EVENTS).header("if-match", "\"0\"").json("{}").await;
        assert_eq!(refused.problem(412, "revision_mismatch")["revision"], 1);
        let whole = server.get(ONE).await.etag();
        server.post(EVENTS).header("if-match", whole).json("[{},{}]").await.expect(201);
        assert_eq!(server.get(ONE).await.json()["revision"], 3);
    }

    async fn every_write_of_a_session_honours_if_match(server: &TestServer) {
        server.create(r#"{"state":{"k":1},"events":[{}]}"#).await;
        let key = format!("{STATE}/k");
        let before = server.get(ONE).await;
        let (stale, current) = ("\"0\"", before.etag());
        let (_, user, app, mark) = before.tag();
        let never = format!("\"1.{user}.{}.{mark}\"", app + 1);
        for wrong in [stale, "\"2\"", &never, "\"0.0.0.0\"", "W/\"1\"", "\"\"", "\"x\""] {
            for write in [
                server.post(EVENTS).json("{}"),
                server.post(EVENTS).json("[{}]"),
                server.post(EVENTS).json(r#"{"partial":true}"#),
                server.patch(STATE).json(r#"{"stateDelta":{"k":2}}"#),
                server.put(&key).json("2"),
                server.delete(&key),
                server.patch(ONE).json(r#"{"displayName":"x"}"#),
                server.delete(ONE),
            ] {
                let problem = write.header("if-match", wrong).await.problem(412, "revision_mismatch");
                assert_eq!((&problem["revision"], &problem["outcome"]), (&json!(1), &json!("not_applied")));
            }
        }
        let after = server.get(ONE).await;
        assert_eq!((after.text(), after.etag()), (before.text(), current.clone()));
        server.put(&key).header("if-match", &current).json("2").await.expect(200);
        server.patch(STATE).header("if-match", "\"2\"").json(r#"{"stateDelta":{"k":3}}"#).await.expect(200);
        server.delete(&key).header("if-match", "\"7\", \"3\"").await.expect(204);
        server.patch(ONE).header("if-match", "\"4\"").json(r#"{"displayName":"x"}"#).await.expect(200);
        server.post(EVENTS).header("if-match", "*").json("{}").await.expect(201);
        server.delete(ONE).header("if-match", "\"5\"").await.expect(204);
    }

    async fn deleting_an_absent_key_honours_if_match(server: &TestServer) {
        server.create(r#"{"events":[{}]}"#).await;
        server.delete(format!("{STATE}/none")).header("if-match", "\"0\"").await.problem(412, "revision_mismatch");
        server.delete(format!("{STATE}/none")).header("if-match", "\"1\"").await.expect(204);
    }

    async fn an_if_match_that_is_no_tag_is_refused(server: &TestServer) {
        server.create("{}").await;
        for bad in ["0", "\"0", "0\"", "\"a\"\"b\"", "\"0\" \"1\"", "\"0\",x"] {
            server.post(EVENTS).header("if-match", bad).json("{}").await.invalid(&["If-Match"]);
        }
        let twice = server.post(EVENTS).header("if-match", "\"0\"").header("if-match", "\"0\"");
        twice.json("{}").await.invalid(&["If-Match"]);
    }

    async fn new_metadata_is_a_new_tag_but_no_broken_precondition(server: &TestServer) {
        let before = server.create("{}").await.etag();
        let patched = server.patch(ONE).json(r#"{"displayName":"x"}"#).await.expect(200);
        assert_ne!(patched.etag(), before);
        assert_eq!(server.get(ONE).await.etag(), patched.etag());
        server.post(EVENTS).header("if-match", &before).json("{}").await.expect(201);
        let newer = server.get(ONE).await.etag();
        assert!(newer.ends_with(&patched.etag()[patched.etag().rfind('.').unwrap()..]));
        server.patch(ONE).json(r#"{"displayName":"y"}"#).await.expect(200);
        server.put(format!("{STATE}/k")).header("if-match", newer).json("1").await.expect(200);
    }

    async fn a_precondition_on_a_missing_session_is_404(server: &TestServer) {
        server.post(EVENTS).header("if-match", "*").json("{}").await.problem(404, "session_not_found");
        server.put(format!("{STATE}/k")).header("if-match", "\"0\"").json("1").await.problem(404, "session_not_found");
        server.delete(ONE).header("if-match", "\"0\"").await.expect(204);
    }

    async fn a_scope_has_its_own_revision_as_tag(server: &TestServer) {
        for path in [USER_STATE, APP_STATE] {
            let empty = server.get(path).await.expect(200);
            assert_eq!((empty.text(), empty.etag().as_str()), ("{}", "\"0\""));
            server.get(path).header("if-none-match", "\"0\"").await.expect(304);
            let first = server.patch(path).header("if-match", "\"0\"").json(r#"{"stateDelta":{"k":1}}"#).await.expect(200);
            assert_eq!(first.etag(), "\"1\"");
            server.head(path).header("if-none-match", "\"1\"").await.expect(304);
            server.get(path).header("if-none-match", "\"0\"").await.expect(200);
            for wrong in ["\"0\"", "\"2\"", "\"1.0.0.1\"", "W/\"1\""] {
                let refused = server.patch(path).header("if-match", wrong).json(r#"{"stateDelta":{"k":2}}"#).await;
                assert_eq!(refused.problem(412, "revision_mismatch")["revision"], 1, "{wrong}");
            }
            server.patch(path).header("if-match", "*").json(r#"{"stateDelta":{"k":3}}"#).await.expect(200);
            server.patch(path).header("if-match", "x").json(r#"{"stateDelta":{"k":3}}"#).await.invalid(&["If-Match"]);
            assert_eq!(server.get(path).await.text(), r#"{"k":3}"#);
        }
    }

    async fn of_several_writers_with_one_tag_exactly_one_wins(server: &TestServer) {
        let created = server.create("{}").await;
        for if_match in [created.etag(), "\"1\"".to_owned()] {
            let writers = (0..8).map(|_| server.post(EVENTS).header("if-match", &if_match).json("{}").into_future());
            let mut statuses: Vec<u16> =
                futures_util::future::join_all(writers).await.iter().map(|answer| answer.status).collect();
            statuses.sort_unstable();
            assert_eq!(statuses, [201, 412, 412, 412, 412, 412, 412, 412]);
        }
        let writers = (0..8).map(|n| {
            server.patch(APP_STATE).header("if-match", "\"0\"").json(format!(r#"{{"stateDelta":{{"k{n}":1}}}}"#)).into_future()
        });
        let answers = futures_util::future::join_all(writers).await;
        assert_eq!(answers.iter().filter(|answer| answer.status == 200).count(), 1);
        assert_eq!(server.get(APP_STATE).await.etag(), "\"1\"");
    }

    async fn a_whole_tag_makes_nobody_exist(server: &TestServer) {
        let etag = server.create("{}").await.etag();
        server.post(EVENTS).header("if-match", &etag).json("{}").await.expect(201);
        assert_eq!(server.get("/v1/apps").await.json()["apps"].as_array().unwrap().len(), 1);
        server.delete(ONE).await.expect(204);
        assert_eq!(server.get("/v1/apps").await.json(), json!({"apps": []}));
    }
}
