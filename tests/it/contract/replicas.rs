//! Several processes on one database: after an answered success, every read through any replica shows it.

use crate::support::client::{EVENTS, ONE, STATE};
use crate::support::server::{Kind, TestServer};

#[tokio::test(flavor = "multi_thread")]
async fn what_one_replica_has_answered_every_other_shows_at_once() {
    let first = TestServer::start(Kind::Postgres).await;
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
    let first = TestServer::start(Kind::Postgres).await;
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
