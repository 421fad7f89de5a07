//! `create=true`: an append that makes its session.

use serde_json::{Value, json};

use crate::contract::access::Guarded;
use crate::support::client::{APP_STATE, Answer, Client, EVENTS, ONE, Request, S, USER_STATE};
use crate::support::databases::on_both_databases;
use crate::support::server::TestServer;

fn first(server: &Client, body: impl crate::support::client::IntoJson) -> Request {
    server.post(format!("{EVENTS}?create=true")).json(body)
}

fn made(answer: &Answer) -> bool {
    match answer.header("sessiond-created") {
        None => false,
        Some(value) => value == "true" || panic!("{value}"),
    }
}

on_both_databases! {
    async fn an_append_makes_the_session_that_is_not_there(server: &TestServer) {
        server.post(EVENTS).json("{}").await.problem(404, "session_not_found");
        server.post(format!("{EVENTS}?create=false")).json("{}").await.problem(404, "session_not_found");
        server.patch(APP_STATE).json(r#"{"stateDelta":{"n":1}}"#).await.expect(200);
        let body = r#"[{"id":"a","actions":{"stateDelta":{"k":1,"user:k":2},"stateOps":[{"op":"increment","key":"app:n","value":1}]}},
                       {"id":"b","timestamp":7},{"id":"b","timestamp":7}]"#;
        let answer = first(server, body).await.expect(201);
        assert!(made(&answer) && !answer.was_replayed(), "{answer}");
        let (revision, user, app, _) = answer.tag();
        assert_eq!((revision, user, app), (2, 1, 2));
        let session = server.get(ONE).await.expect(200);
        assert_eq!(session.etag(), answer.etag());
        let shown = session.json();
        assert_eq!(shown["state"], json!({"app:n": 2, "user:k": 2, "k": 1}));
        assert_eq!((&shown["revision"], &shown["lastUpdateTime"]), (&json!(2), &json!(7)));
        let names = ["displayName", "labels", "expireTime", "forkedFrom", "baseRevision"];
        assert!(names.iter().all(|name| shown.get(name).is_none()), "{shown}");
        for (place, of) in [("0", "0"), ("1", "1"), ("2", "1")] {
            assert_eq!(answer.raw(&[place]), session.raw(&["events", of]));
        }
        // What was there before the first event.
        assert_eq!(server.get(format!("{ONE}/state?atRevision=0")).await.json(), json!({"app:n": 1}));
        let listed = server.get(S).await.json();
        assert_eq!(listed["sessions"][0]["id"], "s");

        let next = first(server, r#"{"id":"c"}"#).await.expect(201);
        assert!(!made(&next));
        assert_eq!((next.tag().0, &next.json()["sequence"]), (3, &json!(3)));
    }

    async fn a_retry_of_what_made_the_session_is_a_retry(server: &TestServer) {
        let answer = first(server, r#"{"id":"a","actions":{"stateDelta":{"k":1}}}"#).await.expect(201);
        for _ in 0..2 {
            let again = first(server, r#"{"id":"a","actions":{"stateDelta":{"k":1}}}"#).await.expect(200);
            assert!(again.was_replayed() && !made(&again), "{again}");
            assert_eq!((again.text(), again.etag()), (answer.text(), answer.etag()));
        }
        first(server, r#"{"id":"a"}"#).await.problem(409, "event_id_conflict");
        // Anew after a deletion, with nothing of what was there.
        server.delete(ONE).await.expect(204);
        let anew = first(server, r#"{"id":"a"}"#).await.expect(201);
        assert!(made(&anew));
        assert_ne!(anew.tag().3, answer.tag().3);
        assert_eq!(server.state().await, json!({}));

        // The key is the id of the event.
        let keyed = |session: &str| {
            server.post(format!("{S}/{session}/events?create=true")).header("idempotency-key", "key").json(r#"{"author":"a"}"#)
        };
        let answer = keyed("keyed").await.expect(201);
        assert_eq!((&answer.json()["id"], made(&answer)), (&json!("key"), true));
        assert!(keyed("keyed").await.expect(200).was_replayed());
        assert!(made(&keyed("other").await.expect(201)));
        // Two contents of one id within one request make nothing.
        let clash = server.post(format!("{S}/clash/events?create=true")).json(r#"[{"id":"a"},{"id":"a","author":"b"}]"#);
        clash.await.problem(409, "event_id_conflict");
        server.get(format!("{S}/clash")).await.problem(404, "session_not_found");
    }

    async fn an_expired_session_makes_room_for_a_new_one(server: &TestServer) {
        let old = server.create(r#"{"state":{"k":1},"expireTime":1}"#).await;
        let answer = first(server, r#"{"id":"a"}"#).await.expect(201);
        assert!(made(&answer));
        assert_ne!(answer.tag().3, old.tag().3);
        assert_eq!(server.state().await, json!({}));
    }

    async fn what_is_refused_makes_no_session(server: &TestServer) {
        server.patch(USER_STATE).json(r#"{"stateDelta":{"k":1}}"#).await.expect(200);
        let tag = server.create("{}").await.etag();
        server.delete(ONE).await.expect(204);
        for header in ["\"1\"", "*", "\"7\", \"1\"", &tag, "W/\"0\""] {
            let refused = first(server, r#"{"id":"a"}"#).header("if-match", header).await.problem(412, "revision_mismatch");
            assert_eq!((&refused["revision"], &refused["outcome"]), (&json!(0), &json!("not_applied")), "{header}");
        }
        for lease in ["1", "0-1", "3-abc"] {
            first(server, "{}").header("sessiond-lease", lease).await.problem(409, "fenced");
        }
        for (condition, body) in [
            (r#"{"key":"k","exists":true}"#, ""),
            (r#"{"key":"user:k","exists":false}"#, ""),
            (r#"{"key":"user:k","revision":0}"#, ""),
            (r#"{"key":"l","exists":true}"#, r#"{"actions":{"stateDelta":{"k":1}}},"#),
        ] {
            let event = format!(r#"[{body}{{"actions":{{"preconditions":[{condition}]}}}}]"#);
            first(server, event).await.problem(412, "revision_mismatch");
        }
        let ops = r#"{"actions":{"stateOps":[{"op":"increment","key":"user:k","value":"x"}]}}"#;
        first(server, ops).await.expect(422);
        let wrong = r#"[{"actions":{"stateDelta":{"k":"text"}}},{"actions":{"stateOps":[{"op":"increment","key":"k","value":1}]}}]"#;
        first(server, wrong).await.expect(422);
        // What is not stored makes none.
        let partial = first(server, r#"{"partial":true}"#).await.expect(200);
        assert_eq!((partial.text(), made(&partial), partial.header("etag")), (r#"{"partial":true}"#, false, Some("\"0\"")));
        first(server, r#"{"partial":true}"#).header("if-match", "\"0\"").await.expect(200);
        for tag in ["*", "\"1\""] {
            first(server, r#"{"partial":true}"#).header("if-match", tag).await.problem(412, "revision_mismatch");
        }
        server.post(format!("{EVENTS}?create=maybe")).json("{}").await.invalid(&["create"]);
        server.get(ONE).await.problem(404, "session_not_found");
        assert_eq!(server.get(S).await.json()["sessions"], json!([]));
        assert_eq!(server.get(USER_STATE).await.text(), r#"{"k":1}"#);

        let body = r#"[{"partial":true},{"id":"a","actions":{"preconditions":[{"key":"user:k","equals":1},{"key":"k","exists":false}]}}]"#;
        let fits = first(server, body).header("if-match", "\"7\", \"0\"").header("sessiond-lease", "0").await.expect(201);
        assert!(made(&fits));
        assert_eq!((&fits.json()[0]["sequence"], &fits.json()[1]["sequence"]), (&Value::Null, &json!(1)));
        // A retry comes before the preconditions, as ever.
        assert!(first(server, body).header("if-match", "\"0\"").await.expect(200).was_replayed());
        first(server, r#"{"id":"b"}"#).header("if-match", "\"0\"").await.problem(412, "revision_mismatch");
    }

    async fn bounds_hold_for_what_an_append_makes(server: &TestServer) {
        let policy = json!({"limits": {"sessionsPerUser": 1, "eventsPerSession": 2}});
        server.put("/v1/apps/app/policy").json(policy).await.expect(200);
        let refused = first(server, r#"[{"id":"a"},{"id":"b"},{"id":"c"}]"#).await.problem(409, "limit_reached");
        assert_eq!(refused["limit"], "eventsPerSession");
        assert!(made(&first(server, r#"[{"id":"a"},{"id":"b"}]"#).await.expect(201)));
        let refused = server.post(format!("{S}/t/events?create=true")).json("{}").await.problem(409, "limit_reached");
        assert_eq!((&refused["limit"], &refused["outcome"]), (&json!("sessionsPerUser"), &json!("not_applied")));
        server.get(format!("{S}/t")).await.problem(404, "session_not_found");
    }

    async fn who_may_create_and_append_may_do_both(server: &Guarded) {
        let grant = |role: &str| json!({"role": role, "apps": ["app"], "users": ["user"]});
        let events = |key: &str, path: &str| server.with(key, "POST", &format!("{path}/events?create=true"));
        let reader = server.key(grant("reader")).await;
        events(&reader, ONE).json("{}").await.problem(403, "permission_denied");
        for role in ["user", "agent"] {
            let key = server.key(grant(role)).await;
            let answer = events(&key, &format!("{S}/{role}")).json(r#"{"author":"user"}"#).await.expect(201);
            assert!(made(&answer), "{role}");
            let outside = events(&key, "/v1/apps/app/users/other/sessions/s").json(r#"{"author":"user"}"#).await;
            outside.problem(403, "permission_denied");
        }
        let user = server.key(grant("user")).await;
        for body in [r#"{"author":"agent"}"#, r#"{"author":"user","actions":{"stateDelta":{"app:k":1}}}"#] {
            events(&user, ONE).json(body).await.problem(403, "permission_denied");
        }
        server.admin("GET", ONE).await.problem(404, "session_not_found");
    }
}
