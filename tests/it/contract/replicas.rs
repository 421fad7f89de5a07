//! Several processes on one database: after an answered success, every read through any replica shows it.

use serde_json::json;

use crate::support::client::{APP_STATE, EVENTS, ONE, STATE, USER_STATE};
use crate::support::databases::{Fixture as _, Place};
use crate::support::server::TestServer;

#[tokio::test(flavor = "multi_thread")]
async fn what_one_replica_has_answered_every_other_shows_at_once() {
    let first = TestServer::start(Place::postgres().await, &[]).await;
    let second = first.replica().await;
    first.create("{}").await;
    for n in 0..10 {
        let (writer, reader) = if n % 2 == 0 { (&first, &second) } else { (&second, &first) };
        let written = writer.append_delta(&format!(r#"{{"k":{n},"app:k":{n}}}"#)).await;
        assert_eq!(reader.get(format!("{STATE}/k")).await.expect(200).text(), n.to_string());
        assert_eq!(reader.get(ONE).await.expect(200).etag(), written.etag());
        reader.get(STATE).header("if-none-match", written.etag()).await.expect(304);
    }
    second.stop().await;
    first.delete(ONE).await.expect(204);
    first.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn replicas_serialise_appends_and_recognise_each_others_events() {
    let first = TestServer::start(Place::postgres().await, &[]).await;
    let second = first.replica().await;
    first.create("{}").await;
    let appends = (0..20).map(|n| {
        let server = if n % 2 == 0 { &first } else { &second };
        server.append(format!(r#"{{"id":"e{n}"}}"#))
    });
    futures_util::future::join_all(appends).await;
    for n in 0..20 {
        let server = if n % 2 == 0 { &second } else { &first };
        assert!(server.post(EVENTS).json(format!(r#"{{"id":"e{n}"}}"#)).await.expect(200).was_replayed());
    }
    assert_eq!(second.get(ONE).await.json()["revision"], 20);
    second.stop().await;
    first.stop().await;
}

/// Two replicas, of which the first has just written the session, its user's and its app's state: it remembers how it left
/// them, and whatever the second does then, it has to find out.
async fn first_remembers() -> (TestServer, TestServer) {
    let first = TestServer::start(Place::postgres().await, &[]).await;
    let second = first.replica().await;
    first.create("{}").await;
    first.append_delta(r#"{"n":1,"user:n":1,"app:n":1}"#).await;
    (first, second)
}

async fn stop((first, second): (TestServer, TestServer)) {
    second.stop().await;
    first.stop().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn appends_of_another_replica_come_before_ours() {
    let pair = first_remembers().await;
    pair.1.append_ops(r#"[{"op":"increment","key":"n","value":1},{"op":"increment","key":"app:n","value":1}]"#).await;
    let ops = r#"[{"op":"increment","key":"n","value":1},{"op":"increment","key":"user:n","value":1},{"op":"increment","key":"app:n","value":1}]"#;
    assert_eq!(pair.0.append_ops(ops).await.tag().0, 3);
    assert_eq!(pair.1.state().await, json!({"n": 3, "user:n": 2, "app:n": 3}));
    stop(pair).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_another_replica_made_anew_is_the_one_appended_to() {
    let pair = first_remembers().await;
    pair.1.delete(ONE).await.expect(204);
    pair.0.post(EVENTS).json("{}").await.problem(404, "session_not_found");
    pair.1.create("{}").await;
    pair.0.append_delta(r#"{"k":1}"#).await;
    pair.1.delete(ONE).await.expect(204);
    pair.1.create("{}").await;
    assert_eq!(pair.0.append_delta(r#"{"k":2}"#).await.tag().0, 1);
    stop(pair).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_that_another_replica_let_expire_is_gone() {
    let pair = first_remembers().await;
    pair.1.patch(ONE).json(r#"{"expireTime":1}"#).await.expect(200);
    pair.0.post(EVENTS).json("{}").await.problem(404, "session_not_found");
    stop(pair).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_event_saw_what_another_replica_wrote_before_it() {
    let pair = first_remembers().await;
    pair.1.patch(APP_STATE).json(r#"{"stateDelta":{"n":7}}"#).await.expect(200);
    pair.1.patch(USER_STATE).json(r#"{"stateDelta":{"n":8}}"#).await.expect(200);
    let (revision, user, app, _) = pair.0.append_delta(r#"{"k":1}"#).await.tag();
    assert_eq!((revision, user, app), (2, 2, 2));
    let then = pair.0.get(format!("{STATE}?atRevision=2")).await.expect(200).json();
    assert_eq!((&then["app:n"], &then["user:n"]), (&json!(7), &json!(8)));
    stop(pair).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_event_that_another_replica_stored_is_known() {
    let pair = first_remembers().await;
    pair.1.append(r#"{"id":"e","author":"a"}"#).await;
    assert!(pair.0.post(EVENTS).json(r#"{"id":"e","author":"a"}"#).await.expect(200).was_replayed());
    pair.0.post(EVENTS).json(r#"{"id":"e","author":"b"}"#).await.problem(409, "event_id_conflict");
    stop(pair).await;

    let pair = first_remembers().await;
    pair.0.append(r#"{"id":"e","author":"a"}"#).await;
    assert!(pair.0.post(EVENTS).json(r#"{"id":"e","author":"a"}"#).await.expect(200).was_replayed());
    pair.0.post(EVENTS).json(r#"{"id":"e","author":"b"}"#).await.problem(409, "event_id_conflict");
    stop(pair).await;
}
