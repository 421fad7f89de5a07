//! Sessions that expire, and incarnations.

use serde_json::json;

use crate::support::client::{Client, EVENTS, ONE, S, STATE};
use crate::support::databases::on_both_databases;
use crate::support::server::TestServer;

const PAST: &str = r#"{"sessionId":"s","state":{"k":1,"user:u":1},"events":[{"id":"e"}],"expireTime":1}"#;

/// Every request of a session that is not there.
async fn assert_gone(server: &Client) {
    for path in [ONE, EVENTS, STATE, &format!("{EVENTS}/e"), &format!("{STATE}/k")] {
        server.get(path).await.problem(404, "session_not_found");
        server.head(path).await.expect(404);
        server.get(path).header("if-none-match", "*").await.problem(404, "session_not_found");
    }
    for request in [
        server.post(EVENTS).json("{}"),
        server.post(EVENTS).json(r#"{"partial":true}"#),
        server.patch(ONE).json(r#"{"ttl":null}"#),
        server.patch(STATE).json("{}"),
        server.put(format!("{STATE}/k")).json("1"),
        server.delete(format!("{STATE}/k")),
    ] {
        request.await.problem(404, "session_not_found");
    }
    for path in [S, "/v1/apps/app/sessions"] {
        assert_eq!(server.get(path).await.expect(200).json(), json!({"sessions": []}));
    }
}

on_both_databases! {
    async fn an_expired_session_is_gone_though_not_swept_yet(server: &TestServer) {
        let created = server.create(PAST).await;
        assert_eq!(created.raw(&["expireTime"]), "1.000000");
        assert_gone(server).await;
        // What it did to shared state stays.
        assert_eq!(server.get("/v1/apps/app/users/user/state").await.text(), r#"{"u":1}"#);
    }

    async fn an_expired_session_is_swept_and_stays_gone(server: &TestServer) with ["--sweep-interval=10ms"] {
        for _ in 0..3 {
            server.create(PAST).await;
            assert_gone(server).await;
        }
    }

    async fn the_id_of_an_expired_session_is_free_and_its_new_bearer_is_another(server: &TestServer) {
        let old = server.create(PAST).await;
        let new = server.create("{}").await;
        assert_eq!(new.json()["state"], json!({"user:u": 1}));
        assert_eq!((&new.json()["events"], &new.json()["revision"]), (&json!([]), &json!(0)));
        assert_ne!(old.tag().3, new.tag().3);
        server.post(EVENTS).header("if-match", old.etag()).json("{}").await.problem(412, "revision_mismatch");
        assert_eq!(server.append(r#"{"id":"e","author":"other"}"#).await.json()["sequence"], 1);
        server.delete(ONE).await.expect(204);
        server.create(PAST).await;
        server.put(ONE).await.expect(201);
    }

    async fn an_expired_session_can_be_deleted(server: &TestServer) {
        server.create(PAST).await;
        server.delete(ONE).header("if-match", "\"77\"").await.expect(204);
        server.delete(ONE).await.expect(204);
    }

    async fn a_session_lives_for_its_ttl_in_either_form(server: &TestServer) {
        for (id, ttl) in [("number", "0.05"), ("text", r#""0.05s""#), ("second", r#""1s""#)] {
            let path = format!("{S}/{id}");
            let created = server.put(&path).json(format!(r#"{{"ttl":{ttl}}}"#)).await.expect(201).json();
            assert!(created["expireTime"].as_f64() > created["createTime"].as_f64());
            // However long the machine takes.
            while server.get(&path).await.status == 200 {
                tokio::time::sleep(std::time::Duration::from_millis(20)).await;
            }
            server.get(&path).await.problem(404, "session_not_found");
        }
    }

    async fn ttl_counts_from_now_and_expire_time_is_kept(server: &TestServer) {
        server.create(r#"{"ttl":3600}"#).await;
        let session = server.get(ONE).await.expect(200).json();
        let lives = session["expireTime"].as_f64().unwrap() - session["createTime"].as_f64().unwrap();
        assert!((lives - 3600.0).abs() < 0.001, "{lives}");
        let patched = server.patch(ONE).json(r#"{"expireTime":"2100-01-01T00:00:00Z"}"#).await.expect(200);
        assert_eq!(patched.raw(&["expireTime"]), "4102444800.000000");
        server.append("{}").await;
        assert_eq!(server.get(ONE).await.raw(&["expireTime"]), "4102444800.000000");
        let patched = server.patch(ONE).json(r#"{"displayName":"x"}"#).await.expect(200);
        assert_eq!(patched.raw(&["expireTime"]), "4102444800.000000");
        let before = patched.json()["expireTime"].as_f64();
        let shorter = server.patch(ONE).json(r#"{"ttl":"7200s"}"#).await.expect(200).json();
        assert!(shorter["expireTime"].as_f64() < before);
    }

    async fn null_makes_a_session_live_for_ever(server: &TestServer) {
        for field in ["ttl", "expireTime", "expire_time"] {
            server.put(ONE).json(r#"{"ttl":3600}"#).await;
            server.patch(ONE).json(r#"{"ttl":3600}"#).await.expect(200);
            let patched = server.patch(ONE).json(format!(r#"{{"{field}":null}}"#)).await.expect(200);
            assert!(patched.json().get("expireTime").is_none());
            assert!(server.get(ONE).await.json().get("expireTime").is_none());
        }
    }

    async fn a_session_can_be_patched_to_an_end_in_the_past(server: &TestServer) {
        server.create(r#"{"state":{"k":1},"events":[{"id":"e"}]}"#).await;
        server.patch(ONE).json(r#"{"expireTime":0}"#).await.expect(200);
        assert_gone(server).await;
    }

    async fn ttl_and_expire_time_exclude_each_other_and_have_their_forms(server: &TestServer) {
        server.create("{}").await;
        for bad in ["0", "-1", r#""1h""#, r#""3600""#, r#""s""#, r#"" 1s""#, r#""-1s""#, "true", "{}", "[1]", r#""1e400s""#] {
            server.post(S).json(format!(r#"{{"ttl":{bad}}}"#)).await.invalid(&["ttl"]);
            server.patch(ONE).json(format!(r#"{{"ttl":{bad}}}"#)).await.invalid(&["ttl"]);
        }
        server.post(S).json(r#"{"ttl":1,"expireTime":9999999999}"#).await.invalid(&["ttl"]);
        server.post(S).json(r#"{"ttl":null,"expireTime":9999999999}"#).await.expect(201);
        server.patch(ONE).json(r#"{"ttl":1,"expire_time":9999999999}"#).await.invalid(&["ttl"]);
        assert!(server.get(ONE).await.json().get("expireTime").is_none());
    }

    async fn an_expired_session_is_no_one_in_the_middle_of_a_page(server: &TestServer) {
        for (id, time) in [("a", 1), ("b", 2), ("c", 3), ("d", 4)] {
            let expiry = if id == "b" { r#","expireTime":1"# } else { "" };
            server.post(S).json(format!(r#"{{"sessionId":"{id}","events":[{{"timestamp":{time}}}]{expiry}}}"#)).await.expect(201);
        }
        let first = server.get(format!("{S}?pageSize=2")).await.json();
        assert_eq!((&first["sessions"][0]["id"], &first["sessions"][1]["id"]), (&json!("a"), &json!("c")));
        assert!(first["nextPageToken"].is_string());
    }

    async fn what_a_deleted_session_leaves_is_not_seen_by_the_next(server: &TestServer) {
        for n in 0..5 {
            let created = server.create(&format!(r#"{{"state":{{"k{n}":1}},"events":[{{"id":"e","author":"{n}"}}]}}"#)).await;
            assert_eq!(created.json()["revision"], 1);
            assert_eq!(created.json()["state"].as_object().unwrap().len(), 1);
            assert_eq!(server.get(ONE).await.text(), created.text());
            assert_eq!(server.get(EVENTS).await.json()["events"].as_array().unwrap().len(), 1);
            server.delete(ONE).await.expect(204);
        }
    }
}
