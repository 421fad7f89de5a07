//! Following a session.

use std::pin::Pin;

use adk_core::identity::AdkIdentity;
use adk_session::SessionService;
use futures::{Stream, StreamExt as _};
use reqwest::Method;
use serde_json::{Value, json};
use sessiond_adk::{Error, ErrorKind, SessiondSessionService, WatchFrom, WatchItem};

use crate::support::{app, append, event, identity, new_session, plain, sessions, shared};

type Items = Pin<Box<dyn Stream<Item = Result<WatchItem, Error>> + Send>>;

fn watch(service: &SessiondSessionService, identity: &AdkIdentity, from: WatchFrom) -> Items {
    Box::pin(service.watch(identity, from, false))
}

async fn say(service: &SessiondSessionService, identity: &AdkIdentity, count: usize) -> Vec<String> {
    let mut sent = Vec::new();
    for _ in 0..count {
        let said = event("i", json!({}));
        sent.push(said.id.clone());
        append(service, identity, said).await.unwrap();
    }
    sent
}

/// The next events, with the cursor of the last one.
async fn events(items: &mut Items, count: usize) -> (Vec<String>, String) {
    let (mut ids, mut last) = (Vec::new(), String::new());
    while ids.len() < count {
        if let WatchItem::Event { event, cursor, .. } = items.next().await.unwrap().unwrap() {
            ids.push(event.id);
            last = cursor;
        }
    }
    (ids, last)
}

#[tokio::test]
async fn what_was_and_what_comes_is_yielded_in_order() {
    let (service, app) = (sessions(), app());
    let identity = new_session(&service, &app).await;
    let mut sent = say(&service, &identity, 3).await;
    let mut items = watch(&service, &identity, WatchFrom::Start);
    let (seen, cursor) = events(&mut items, 3).await;
    assert_eq!(seen, sent);
    let mut revision = None;
    while revision.is_none() {
        if let WatchItem::CaughtUp { revision: caught, .. } = items.next().await.unwrap().unwrap() {
            revision = Some(caught);
        }
    }
    assert_eq!(revision, Some(3));
    sent.extend(say(&service, &identity, 2).await);
    assert_eq!(events(&mut items, 2).await.0, sent[3..]);

    assert_eq!(events(&mut watch(&service, &identity, WatchFrom::Cursor(cursor)), 2).await.0, sent[3..]);
    assert_eq!(events(&mut watch(&service, &identity, WatchFrom::Sequence(1)), 4).await.0, sent[1..]);
    let mut now = watch(&service, &identity, WatchFrom::Now);
    while !matches!(now.next().await.unwrap().unwrap(), WatchItem::CaughtUp { .. }) {}
    let new = say(&service, &identity, 1).await;
    assert_eq!(events(&mut now, 1).await.0, new);

    service.delete_for_identity(&identity).await.unwrap();
    assert_eq!(events(&mut items, 1).await.0, new);
    let gone = loop {
        if let Some(Ok(WatchItem::Deleted { reason, .. })) = items.next().await {
            break reason;
        }
    };
    assert_eq!(gone, "deleted");
    assert!(items.next().await.is_none());
}

#[tokio::test]
async fn the_state_and_the_metadata_are_yielded() {
    let (service, app) = (sessions(), app());
    let identity = new_session(&service, &app).await;
    append(&service, &identity, event("i", json!({"k": 1, "app:a": 1}))).await.unwrap();
    let mut items = service.watch(&identity, WatchFrom::Start, true);
    let (mut whole, mut metadata) = (None, None);
    loop {
        match items.next().await.unwrap().unwrap() {
            WatchItem::State { state, .. } => whole = state,
            WatchItem::Metadata { labels, display_name, expire_time, .. } => {
                metadata = Some((labels.len(), display_name, expire_time));
            }
            WatchItem::CaughtUp { .. } => break,
            _ => {}
        }
    }
    assert_eq!(json!(whole), json!({"k": 1, "app:a": 1}));
    assert_eq!(metadata, Some((0, None, None)));

    let app_state = format!("{}/v1/apps/{app}/state", shared());
    let ops = json!({"stateDelta": {"b": 2}, "stateOps": [{"op": "remove", "key": "a"}]});
    plain(Method::PATCH, app_state, ops).await;
    let url = format!("{}/v1/apps/{app}/users/ada/sessions/s", shared());
    plain(Method::PATCH, url, json!({"displayName": "Tea", "labels": {"x": "y"}, "expireTime": 4_000_000_000.5_f64}))
        .await;
    let (mut change, mut metadata) = (None, None);
    while change.is_none() || metadata.is_none() {
        match items.next().await.unwrap().unwrap() {
            WatchItem::State { state: None, set, removed, revisions, .. } => {
                assert_eq!(revisions.split('.').count(), 4, "{revisions}");
                change = Some((Value::Object(set), removed));
            }
            WatchItem::Metadata { display_name, labels, expire_time, .. } => {
                metadata = Some((display_name, labels["x"].clone(), expire_time.unwrap().timestamp_millis()));
            }
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(change, Some((json!({"app:b": 2}), vec!["app:a".to_owned()])));
    assert_eq!(metadata, Some((Some("Tea".into()), "y".into(), 4_000_000_000_500)));
}

#[tokio::test]
async fn a_watch_of_no_session_ends_with_an_error() {
    let mut items = watch(&sessions(), &identity(&app(), "ada", " "), WatchFrom::Start);
    assert_eq!(items.next().await.unwrap().err().unwrap().kind, ErrorKind::InvalidInput);
    assert!(items.next().await.is_none());
}
