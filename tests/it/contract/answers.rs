//! `answer`: short answers of writes.

use serde_json::{Value, json};

use crate::support::client::{APP_STATE, EVENTS, ONE, S, STATE, USER_STATE};
use crate::support::databases::on_both_databases;
use crate::support::server::TestServer;

/// A session without its state and events.
fn head(session: &Value) -> Value {
    let mut head = session.clone();
    head.as_object_mut().unwrap().retain(|name, _| name != "state" && name != "events");
    head
}

on_both_databases! {
    async fn a_minimal_answer_says_where_each_event_is(server: &TestServer) {
        server.create("{}").await;
        let minimal = |body: &str| server.post(format!("{EVENTS}?answer=minimal")).json(body);
        let one = minimal(r#"{"id":"a","timestamp":1.50,"author":"x","actions":{"stateDelta":{"k":1}}}"#).await.expect(201);
        let stored = server.get(format!("{EVENTS}/a")).await;
        let place = json!({"id": "a", "sequence": 1, "timestamp": 1.5, "commitTime": stored.json()["commitTime"]});
        assert_eq!((one.json(), one.raw(&["timestamp"]), one.etag()), (place, "1.50".to_owned(), stored.etag()));
        let again = minimal(r#"{"id":"a","author":"x","actions":{"stateDelta":{"k":1}}}"#).await.expect(200);
        assert!(again.was_replayed());
        assert_eq!(again.text(), one.text());
        let partial = r#"{"id":"p","partial":true,"content":{"parts":[]}}"#;
        let several = minimal(&format!(r#"[{{"id":"b"}},{partial},{{"id":"a","author":"x","actions":{{"stateDelta":{{"k":1}}}}}}]"#)).await.expect(201);
        let shown = several.json();
        assert_eq!((shown[0].as_object().unwrap().len(), &shown[0]["sequence"]), (4, &json!(2)));
        assert_eq!(shown[1], json!({"id": "p", "partial": true}));
        assert_eq!(several.raw(&["2"]), one.text());
        assert_eq!(minimal(partial).await.expect(200).json(), json!({"id": "p", "partial": true}));
        server.post(format!("{ONE}/trim")).json(r#"{"keepLast":1}"#).await.expect(200);
        let trimmed = minimal(r#"{"id":"a","author":"x","actions":{"stateDelta":{"k":1}}}"#).await.expect(200);
        assert_eq!(trimmed.json(), json!({"id": "a", "sequence": 1, "trimmed": true}));
        assert_eq!(server.post(format!("{EVENTS}?answer=full")).json(r#"{"id":"c","author":"x"}"#).await.expect(201).json()["author"], "x");
        server.post(format!("{EVENTS}?answer=changed")).json("{}").await.invalid(&["answer"]);
    }

    async fn a_minimal_answer_is_of_the_event_as_it_is_stored(server: &TestServer) {
        let events = |key: &str, body: &str| {
            server.post(format!("{EVENTS}?create=true&answer=minimal")).header("idempotency-key", key).json(body)
        };
        // An operator changes the text, and a key is the id; the time is told as it is stored.
        let body = r#"{"timestamp":"1970-01-01T00:00:02Z","actions":{"stateOps":[{"op":"increment","key":"k","value":1}]}}"#;
        let made = events("k", body).await.expect(201);
        assert_eq!(made.header("sessiond-created"), Some("true"));
        let mut stored = server.get(EVENTS).await.json()["events"][0].take();
        stored.as_object_mut().unwrap().retain(|name, _| name != "actions");
        assert_eq!(made.json(), stored);
        let again = events("k", body).await.expect(200);
        assert_eq!((again.text(), again.header("sessiond-created")), (made.text(), None));
        events("k", "{}").await.problem(409, "event_id_conflict");
    }

    async fn a_minimal_answer_is_a_session_without_state_and_events(server: &TestServer) {
        let body = r#"{"sessionId":"s","displayName":"n","state":{"k":1},"events":[{"id":"e","invocationId":"i"}]}"#;
        let create = || server.post(format!("{S}?answer=minimal")).header("idempotency-key", "k").json(body);
        let made = create().await.expect(201);
        assert_eq!(made.header("location"), Some(ONE));
        let whole = server.get(ONE).await;
        assert_eq!((made.json(), made.etag()), (head(&whole.json()), whole.etag()));
        let again = create().await.expect(200);
        assert!(again.was_replayed());
        assert_eq!(again.text(), made.text());
        let found = server.put(format!("{ONE}?answer=minimal")).await.expect(200);
        assert_eq!(found.text(), made.text());
        let put = server.put(format!("{S}/t?answer=minimal")).json("{}").await.expect(201);
        assert_eq!(put.json(), head(&server.get(format!("{S}/t")).await.json()));
        for (request, path) in [
            (server.patch(format!("{ONE}?answer=minimal")).json(r#"{"displayName":"m"}"#), ONE.to_owned()),
            (server.post(format!("{ONE}/rewind?answer=minimal")).json(r#"{"toRevision":0}"#), ONE.to_owned()),
            (server.post(format!("{ONE}/fork?answer=minimal")).json(r#"{"sessionId":"f"}"#), format!("{S}/f")),
        ] {
            let answer = request.await;
            let whole = server.get(&path).await.expect(200);
            assert_eq!((answer.json(), answer.etag()), (head(&whole.json()), whole.etag()), "{answer}");
        }
        server.patch(format!("{ONE}?answer=changed")).json("{}").await.invalid(&["answer"]);
    }

    async fn a_patch_shows_only_what_it_names_if_asked(server: &TestServer) {
        server.create(r#"{"state":{"a":1,"b":2,"user:a":3,"app:a":4,"user:other":5}}"#).await;
        let patch = |path: &str, body: &str| server.patch(format!("{path}?answer=changed")).json(body);
        let body = r#"{"stateDelta":{"c":7,"user:a":8,"temp:t":9},"stateOps":[{"op":"remove","key":"b"},{"op":"increment","key":"app:a","value":1}],
                       "preconditions":[{"key":"a","equals":1},{"key":"none","exists":false}],"eventId":"e"}"#;
        let first = patch(STATE, body).await.expect(200);
        assert_eq!(first.text(), r#"{"app:a":5,"user:a":8,"a":1,"c":7}"#);
        assert_eq!(first.etag(), server.get(STATE).await.etag());
        server.append_delta(r#"{"c":0}"#).await;
        let again = patch(STATE, body).await.expect(200);
        assert!(again.was_replayed());
        // As they are now.
        assert_eq!(again.text(), r#"{"app:a":5,"user:a":8,"a":1,"c":0}"#);
        assert_eq!(patch(STATE, "{}").await.expect(200).text(), "{}");
        let scope = r#"{"stateDelta":{"z":1},"stateOps":[{"op":"remove","key":"a"},{"op":"increment","key":"n","value":2}]}"#;
        for path in [USER_STATE, APP_STATE] {
            let keyed = || patch(path, scope).header("idempotency-key", "k");
            let first = keyed().await.expect(200);
            assert_eq!((first.text(), first.etag()), (r#"{"n":2,"z":1}"#, server.get(path).await.etag()));
            assert!(keyed().await.expect(200).was_replayed());
            assert_eq!(patch(path, "{}").await.expect(200).text(), "{}");
            server.patch(format!("{path}?answer=minimal")).json("{}").await.invalid(&["answer"]);
        }
        server.patch(format!("{STATE}?answer=minimal")).json("{}").await.invalid(&["answer"]);
        let full = server.patch(format!("{STATE}?answer=full")).json("{}").await.expect(200);
        assert_eq!(full.text(), server.get(STATE).await.text());
    }
}
