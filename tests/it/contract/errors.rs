//! Errors: the data that they may never show. The client checks the form of every error.

use crate::support::client::{APP_STATE, EVENTS, ONE, S, STATE};
use crate::support::databases::on_both_databases;
use crate::support::server::TestServer;

on_both_databases! {
    async fn no_error_shows_a_value_of_any_state_or_the_database(server: &TestServer)
        with ["--max-value-bytes=1000", "--max-event-bytes=2000", "--max-body-bytes=4000"]
    {
        server.create(r#"{"state":{"k":"hunter2"},"events":[{"id":"e","content":"hunter2"}]}"#).await;
        let large = format!(r#"{{"stateDelta":{{"k":"hunter2{}"}}}}"#, "x".repeat(1000));
        for request in [
            server.post(S).json(r#"{"sessionId":"s","state":{"k":"hunter2"}}"#),
            server.post(S).json(r#"{"state":{"k":"hunter2","k":"hunter2"}}"#),
            server.post(S).json(r#"{"state":"hunter2"}"#),
            server.post(S).json(r#"{"state":{"k":"hunter2\ud800"}}"#),
            server.post(S).json(r#"{"state":{"k":"hunter2"}"#),
            server.post(S).json(r#"{"bogus":"hunter2"}"#),
            server.post(S).json(r#"{"ttl":"hunter2","labels":{"a":["hunter2"]},"displayName":["hunter2"],"expireTime":"hunter2"}"#),
            server.post(EVENTS).json(r#"{"id":"e","content":"hunter2!"}"#),
            server.post(EVENTS).json(r#"{"timestamp":"hunter2","author":["hunter2"],"partial":"hunter2","actions":"hunter2"}"#),
            server.post(EVENTS).json(r#"{"actions":{"stateOps":[{"op":"hunter2","key":"k","value":"hunter2"}]}}"#),
            server.post(EVENTS).header("if-match", "\"9\"").json(r#"{"content":"hunter2"}"#),
            server.patch(STATE).json(large.as_str()),
            server.patch(APP_STATE).json(r#"{"stateDelta":{"app:k":"hunter2"}}"#),
            server.put(format!("{STATE}/k")).body("text/hunter2", "hunter2"),
            server.put(format!("{STATE}/k")).json("hunter2"),
            server.put(format!("{STATE}/temp:k")).json("\"hunter2\""),
            server.get(format!("{EVENTS}?pageToken=hunter2&order=hunter2&pageSize=hunter2")),
            server.get(ONE).header("if-none-match", "hunter2"),
            server.get(format!("{STATE}/none")),
        ] {
            let answer = request.await;
            assert!(answer.status >= 400, "{answer}");
            let text = answer.text().to_ascii_lowercase();
            for leak in ["hunter2", "select ", "sqlite", "postgres", "sqlx", ".rs:", "panicked"] {
                assert!(!text.contains(leak), "{leak} in {answer}");
            }
        }
    }

    async fn every_fault_of_a_body_is_named_at_once(server: &TestServer) {
        server.create("{}").await;
        let answer = server
            .post(S)
            .json(
                r#"{"sessionId":"..","state":[],"events":[{"id":1},{"author":2,"actions":{"stateDelta":1}}],
                    "displayName":1,"labels":{"A":""},"ttl":-1,"bogus":1}"#,
            )
            .await;
        answer.invalid(&[
            "sessionId",
            "/state",
            "/events/0/id",
            "/events/1/author",
            "/events/1/actions/stateDelta",
            "displayName",
            "labels",
            "ttl",
            "bogus",
        ]);
        let problem = answer.json();
        for error in problem["errors"].as_array().unwrap() {
            assert!(problem["detail"].as_str().unwrap().contains(error["field"].as_str().unwrap()));
        }
    }

    async fn a_long_key_does_not_make_a_long_error(server: &TestServer) {
        let key = "k".repeat(5000);
        let answer = server.post(S).json(format!(r#"{{"state":{{"{key}":{{"{key}":1e400}}}}}}"#)).await.expect(422);
        assert!(answer.text().len() < 2000, "{answer}");
    }

    async fn a_body_that_does_not_arrive_in_time_is_408(server: &TestServer) with ["--request-timeout=1s"] {
        server.create("{}").await;
        let head = format!(
            "POST {EVENTS} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 100\r\nconnection: close\r\n\r\n{{"
        );
        assert_eq!(server.raw(head.as_bytes()).await.problem(408, "request_timeout")["outcome"], "not_applied");
        assert_eq!(server.get(ONE).await.json()["revision"], 0);
    }
}
