//! Sessions without what compactions cover.

use adk_core::identity::AdkIdentity;
use adk_session::SessionService;
use reqwest::Method;
use serde_json::{Value, json};
use sessiond_adk::{Concurrency, History, SessiondSessionService};

use crate::support::{app, append, event, get_request, ids, new_session, plain, sessions, shared};

fn effective(concurrency: Concurrency) -> SessiondSessionService {
    let builder = SessiondSessionService::builder(shared()).history(History::Effective);
    builder.concurrency(concurrency).build().unwrap()
}

fn summary(id: &str, start: u32, end: u32) -> Value {
    let content = json!({"role": "model", "parts": [{"text": "in short"}]});
    let compaction = json!({"startTimestamp": start, "endTimestamp": end, "compactedContent": content});
    json!({"id": id, "author": "user", "timestamp": end + 2, "actions": {"compaction": compaction}})
}

async fn store(identity: &AdkIdentity, event: Value) {
    let app: &str = identity.app_name.as_ref();
    plain(Method::POST, format!("{}/v1/apps/{app}/users/ada/sessions/s/events", shared()), event).await;
}

/// A session of six events, of which the fifth sums up the first three, and 100 more.
async fn compacted() -> AdkIdentity {
    let identity = new_session(&sessions(), &app()).await;
    let said = |n: u32| json!({"id": format!("e{n}"), "author": "user", "timestamp": 1000 + n, "actions": {"stateDelta": {"n": n}}});
    for event in [said(0), said(1), said(2), said(3), summary("c", 1000, 1002), said(5)] {
        store(&identity, event).await;
    }
    store(&identity, (6..106).map(said).collect()).await;
    identity
}

#[tokio::test]
async fn what_is_covered_is_not_loaded() {
    let (identity, service) = (compacted().await, effective(Concurrency::None));
    let read = service.get(get_request(&identity)).await.unwrap();
    assert_eq!(ids(read.as_ref())[..4], ["e3", "c", "e5", "e6"]);
    assert_eq!((read.events().len(), read.state().get("n")), (103, Some(json!(105))));
    let mut recent = get_request(&identity);
    recent.num_recent_events = Some(102);
    assert_eq!(ids(service.get(recent).await.unwrap().as_ref())[..2], ["c", "e5"]);
    assert_eq!(sessions().get(get_request(&identity)).await.unwrap().events().len(), 106);
    // The last ones are there, also if they are covered.
    store(&identity, summary("all", 1000, 1200)).await;
    let read = service.get(get_request(&identity)).await.unwrap();
    assert_eq!((read.events().len(), &*ids(read.as_ref())[0]), (100, "e7"));
    // A rewind counts all events.
    let rewound = service.rewind_for_identity(&identity, "e1").await.unwrap();
    assert_eq!(rewound.state().get("n"), Some(json!(1)));
    assert_eq!(ids(rewound.as_ref()), ["e0", "e1"]);
}

#[tokio::test]
async fn what_was_compacted_meanwhile_is_stale() {
    let (identity, service) = (compacted().await, effective(Concurrency::Session));
    let read = service.get(get_request(&identity)).await.unwrap();
    append(&service, &identity, event("i", json!({}))).await.unwrap();
    store(&identity, summary("all", 1000, 1200)).await;
    let error = append(&service, &identity, event("i", json!({}))).await.err().unwrap();
    assert_eq!(error.code, "session.stale");
    drop(read);
    let again = service.get(get_request(&identity)).await.unwrap();
    assert_eq!(again.events().len(), 100);
    append(&service, &identity, event("j", json!({}))).await.unwrap();
}
