//! Idempotency: an event id that the session has is a retry, or a conflict.

use std::future::IntoFuture as _;

use serde_json::json;

use crate::support::client::{EVENTS, ONE, STATE};
use crate::support::databases::on_both_databases;
use crate::support::server::TestServer;

const EVENT: &str =
    r#"{"id":"e","timestamp":1.50,"author":"a","actions":{"stateDelta":{"k":1,"app:a":1}},"x":{"p":1,"q":[2]}}"#;

on_both_databases! {
    async fn a_retry_gets_the_stored_event_byte_for_byte_and_applies_nothing(server: &TestServer) {
        server.create("{}").await;
        let first = server.append(EVENT).await;
        assert!(!first.was_replayed());
        server.append_delta(r#"{"k":2,"app:a":2}"#).await;
        for _ in 0..2 {
            let again = server.post(EVENTS).json(EVENT).await.expect(200);
            assert!(again.was_replayed());
            assert_eq!(again.text(), first.text());
        }
        assert_eq!(server.state().await, json!({"app:a": 2, "k": 2}));
        assert_eq!(server.get(ONE).await.json()["revision"], 2);
    }

    async fn the_same_content_may_be_written_differently(server: &TestServer) {
        server.create("{}").await;
        let first = server.append(EVENT).await;
        for same in [
            // Without the timestamp, or with the same moment in other words.
            r#"{"id":"e","author":"a","actions":{"stateDelta":{"k":1,"app:a":1}},"x":{"p":1,"q":[2]}}"#,
            r#"{"id":"e","timestamp":"1970-01-01T00:00:01.5Z","author":"a","actions":{"stateDelta":{"k":1,"app:a":1}},"x":{"p":1,"q":[2]}}"#,
            r#"{"id":"e","timestamp":15e-1,"author":"a","actions":{"stateDelta":{"k":1,"app:a":1}},"x":{"p":1,"q":[2]}}"#,
            // Other order, white space, spelling, numbers of the same value.
            r#"{"x":{"q":[ 2.0 ],"p":1e0},"author":"\u0061","actions":{"state_delta":{"app:a":1,"k":1}},"id":"e"}"#,
            // temp: keys come and go.
            r#"{"id":"e","author":"a","actions":{"stateDelta":{"temp:t":7,"k":1,"app:a":1}},"x":{"p":1,"q":[2]}}"#,
            // The server's own fields.
            r#"{"id":"e","author":"a","actions":{"stateDelta":{"k":1,"app:a":1}},"x":{"p":1,"q":[2]},"sequence":9,"commitTime":3}"#,
            first.text(),
        ] {
            let again = server.post(EVENTS).json(same).await.expect(200);
            assert!(again.was_replayed(), "{same}");
            assert_eq!(again.text(), first.text(), "{same}");
        }
    }

    async fn other_content_under_the_same_id_is_a_conflict(server: &TestServer) {
        server.create("{}").await;
        server.append(EVENT).await;
        let before = server.get(ONE).await.text().to_owned();
        for other in [
            r#"{"id":"e"}"#,
            r#"{"id":"e","author":"b","actions":{"stateDelta":{"k":1,"app:a":1}},"x":{"p":1,"q":[2]}}"#,
            r#"{"id":"e","author":"a","actions":{"stateDelta":{"k":2,"app:a":1}},"x":{"p":1,"q":[2]}}"#,
            r#"{"id":"e","author":"a","actions":{"stateDelta":{"k":1}},"x":{"p":1,"q":[2]}}"#,
            r#"{"id":"e","author":"a","actions":{"stateDelta":{"k":1,"app:a":1}},"x":{"p":1,"q":[3]}}"#,
            r#"{"id":"e","author":"a","actions":{"stateDelta":{"k":1,"app:a":1}},"x":{"p":1,"q":[2]},"y":null}"#,
            r#"{"id":"e","author":"a","actions":{"stateDelta":{"k":"1","app:a":1}},"x":{"p":1,"q":[2]}}"#,
            r#"{"id":"e","timestamp":2,"author":"a","actions":{"stateDelta":{"k":1,"app:a":1}},"x":{"p":1,"q":[2]}}"#,
        ] {
            server.post(EVENTS).json(other).await.problem(409, "event_id_conflict");
        }
        assert_eq!(server.get(ONE).await.text(), before);
    }

    async fn a_retry_of_a_success_succeeds_whatever_it_was_conditional_on(server: &TestServer) {
        let created = server.create("{}").await;
        let first = server.post(EVENTS).header("if-match", created.etag()).json(EVENT).await.expect(201);
        for if_match in [created.etag(), "\"0\"".to_owned(), "\"77\"".to_owned()] {
            let again = server.post(EVENTS).header("if-match", if_match).json(EVENT).await.expect(200);
            assert_eq!(again.text(), first.text());
        }
        let other = r#"{"id":"e","author":"other"}"#;
        server.post(EVENTS).header("if-match", "\"0\"").json(other).await.problem(409, "event_id_conflict");
    }

    async fn in_a_batch_each_event_is_judged(server: &TestServer) {
        server.create("{}").await;
        let first = server.append(EVENT).await;
        let mixed = server.append(format!(r#"[{{"id":"f"}},{EVENT},{{"id":"g"}}]"#)).await;
        assert!(!mixed.was_replayed());
        assert_eq!(mixed.raw(&["1"]), first.text());
        assert_eq!((&mixed.json()[0]["sequence"], &mixed.json()[2]["sequence"]), (&json!(2), &json!(3)));
        let all = server.post(EVENTS).json(format!(r#"[{{"id":"g"}},{EVENT}]"#)).await.expect(200);
        assert!(all.was_replayed());
        assert_eq!(all.raw(&["0"]), mixed.raw(&["2"]));
        assert_eq!(server.get(ONE).await.json()["revision"], 3);
    }

    async fn one_conflict_fails_the_whole_batch(server: &TestServer) {
        server.create("{}").await;
        server.append(EVENT).await;
        let batch = format!(r#"[{{"id":"new"}},{EVENT},{{"id":"e","author":"x"}}]"#);
        server.post(EVENTS).json(batch).await.problem(409, "event_id_conflict");
        server.get(format!("{EVENTS}/new")).await.problem(404, "event_not_found");
        assert_eq!(server.get(ONE).await.json()["revision"], 1);
    }

    async fn the_same_event_twice_in_one_batch_is_stored_once(server: &TestServer) {
        server.create("{}").await;
        let answer = server.append(format!("[{EVENT},{EVENT}]")).await;
        assert_eq!(answer.raw(&["0"]), answer.raw(&["1"]));
        assert_eq!(server.get(ONE).await.json()["revision"], 1);
    }

    async fn idempotency_holds_for_the_life_of_the_session_and_no_longer(server: &TestServer) {
        server.create("{}").await;
        server.append(EVENT).await;
        for _ in 0..3 {
            server.append("[{},{},{}]").await;
        }
        server.post(EVENTS).json(EVENT).await.expect(200);
        server.delete(ONE).await.expect(204);
        server.create("{}").await;
        assert_eq!(server.append(EVENT).await.json()["sequence"], 1);
    }

    async fn an_idempotency_key_becomes_the_id_of_a_single_event_without_one(server: &TestServer) {
        server.create("{}").await;
        let post = |body: &'static str| server.post(EVENTS).header("idempotency-key", "key/ 1é").json(body);
        let first = post(r#"{"author":"a"}"#).await.expect(201);
        assert_eq!(first.json()["id"], "key/ 1é");
        let again = post(r#"{"author":"a"}"#).await.expect(200);
        assert!(again.was_replayed());
        assert_eq!(again.text(), first.text());
        post(r#"{"author":"b"}"#).await.problem(409, "event_id_conflict");
        post(r#"{"id":"own","author":"b"}"#).await.invalid(&["Idempotency-Key"]);
    }

    async fn an_idempotency_key_is_a_valid_id_and_names_one_event(server: &TestServer) {
        server.create("{}").await;
        for bad in ["", ".", "..", &"x".repeat(257)] {
            server.post(EVENTS).header("idempotency-key", bad).json("{}").await.invalid(&["Idempotency-Key"]);
        }
        server.post(EVENTS).header("idempotency-key", "k").json("[{},{}]").await.invalid(&["Idempotency-Key"]);
    }

    async fn patching_state_can_be_retried_by_event_id_and_by_header(server: &TestServer) {
        server.create("{}").await;
        let body = r#"{"stateDelta":{"k":1},"eventId":"e1","author":"a","invocationId":"i"}"#;
        let first = server.patch(STATE).json(body).await.expect(200);
        assert!(!first.was_replayed());
        assert!(server.patch(STATE).json(body).await.expect(200).was_replayed());
        server.patch(STATE).json(r#"{"stateDelta":{"k":2},"event_id":"e1"}"#).await.problem(409, "event_id_conflict");
        let keyed = |delta: &str| server.patch(STATE).header("idempotency-key", "e2").json(format!(r#"{{"stateDelta":{delta}}}"#));
        keyed(r#"{"k":3}"#).await.expect(200);
        server.put(format!("{STATE}/k")).json("4").await.expect(200);
        let again = keyed(r#"{"k":3}"#).await.expect(200);
        assert!(again.was_replayed());
        // The state is that of now: nothing was applied twice.
        assert_eq!(again.json(), json!({"k": 4}));
        keyed(r#"{"k":5}"#).await.problem(409, "event_id_conflict");
        let event = server.get(format!("{EVENTS}/e1")).await.expect(200).json();
        assert_eq!((&event["author"], &event["invocationId"]), (&json!("a"), &json!("i")));
        assert_eq!(server.get(format!("{EVENTS}/e2")).await.expect(200).json()["author"], "user");
        let both = server.patch(STATE).header("idempotency-key", "x").json(r#"{"eventId":"y"}"#);
        both.await.invalid(&["eventId"]);
        server.patch(STATE).header("idempotency-key", "z").json(r#"{"eventId":"z"}"#).await.expect(200);
    }

    async fn putting_and_deleting_a_key_can_be_retried(server: &TestServer) {
        server.create("{}").await;
        let put = |value: &'static str| server.put(format!("{STATE}/k")).header("idempotency-key", "p").json(value);
        let delete = || server.delete(format!("{STATE}/k")).header("idempotency-key", "d");
        assert!(!put("1").await.expect(200).was_replayed());
        assert!(put("1").await.expect(200).was_replayed());
        put("2").await.problem(409, "event_id_conflict");
        assert!(!delete().await.expect(204).was_replayed());
        assert!(delete().await.expect(204).was_replayed());
        assert!(put("1").await.expect(200).was_replayed());
        assert_eq!(server.state().await, json!({}));
        assert_eq!(server.get(ONE).await.json()["revision"], 2);
        server.put(format!("{STATE}/k")).json("3").await.expect(200);
        assert!(delete().await.expect(204).was_replayed());
        assert_eq!(server.state().await, json!({"k": 3}));
    }

    async fn a_retry_comes_before_if_match_for_state_too(server: &TestServer) {
        server.create("{}").await;
        let patch = || server.patch(STATE).header("if-match", "\"0\"").json(r#"{"stateDelta":{"k":1},"eventId":"a"}"#);
        let put = || server.put(format!("{STATE}/k")).header("if-match", "\"1\"").header("idempotency-key", "b").json("2");
        let delete = || server.delete(format!("{STATE}/k")).header("if-match", "\"2\"").header("idempotency-key", "c");
        patch().await.expect(200);
        put().await.expect(200);
        delete().await.expect(204);
        assert!(patch().await.expect(200).was_replayed());
        assert!(put().await.expect(200).was_replayed());
        assert!(delete().await.expect(204).was_replayed());
    }

    async fn concurrent_retries_store_one_event(server: &TestServer) {
        server.create("{}").await;
        let answers = futures_util::future::join_all((0..8).map(|_| server.post(EVENTS).json(EVENT).into_future())).await;
        assert_eq!(answers.iter().filter(|answer| answer.status == 201).count(), 1);
        assert!(answers.iter().all(|answer| answer.text() == answers[0].text()));
        assert_eq!(server.get(ONE).await.json()["revision"], 1);
    }

    async fn a_replayed_put_answers_what_is_stored(server: &TestServer) {
        server.create("{}").await;
        let put = |value| server.put(format!("{STATE}/app%3Ak")).header("idempotency-key", "p").json(value);
        put(r#"{"a": 1}"#).await.expect(200);
        let replay = put(r#"{"a":1.0}"#).await.expect(200);
        assert!(replay.was_replayed());
        assert_eq!(replay.text(), r#"{"a": 1}"#);
    }

    async fn an_event_twice_in_a_creation_is_stored_once(server: &TestServer) {
        let events = r#"[{"id":"a","timestamp":1},{"id":"b","timestamp":2},{"id":"a","timestamp":1}]"#;
        let session = server.create(&format!(r#"{{"events":{events}}}"#)).await.json();
        assert_eq!((&session["revision"], &session["lastUpdateTime"]), (&json!(2), &json!(2)));
    }
}
