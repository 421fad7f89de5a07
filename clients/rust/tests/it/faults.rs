//! What happens when the network or the server fails.

use std::sync::atomic::Ordering;

use adk_artifact::ArtifactService as _;
use adk_core::ErrorCategory;
use adk_session::SessionService;
use serde_json::json;
use sessiond_adk::{SessiondSessionService, Token};

use crate::support::{Proxy, Script, answer, app, append, create, event, get_request, identity, ids, sessions, shared};

const STORED: &str = r#"{"id":"e","timestamp":1,"sequence":1,"commitTime":1}"#;

#[tokio::test]
async fn a_lost_answer_loses_and_doubles_nothing() {
    let proxy = Proxy::to(shared()).await;
    let (service, app) = (SessiondSessionService::new(&proxy.url).unwrap(), app());
    let lose = || proxy.lose_answers.store(1, Ordering::SeqCst);

    lose();
    create(&service, &app, "ada", Some("s"), json!({})).await.unwrap();
    lose();
    create(&service, &app, "ada", None, json!({})).await.unwrap();
    let identity = identity(&app, "ada", "s");
    let said = event("i", json!({"k": 1}));
    lose();
    append(&service, &identity, said.clone()).await.unwrap();
    lose();
    let ops = [sessiond_adk::ops::Op::increment("app:n", 1)];
    assert_eq!(service.apply_ops(&identity, &ops, "user", "").await.unwrap()["app:n"], 1);
    lose();
    let read = service.get(get_request(&identity)).await.unwrap();
    assert_eq!(read.events().len(), 2);
    lose();
    let rewound = service.rewind_for_identity(&identity, &said.id).await.unwrap();
    assert_eq!(ids(rewound.as_ref()), [said.id]);
    lose();
    service.delete_for_identity(&identity).await.unwrap();
    assert_eq!(proxy.lose_answers.load(Ordering::SeqCst), 0);
    // One for each answer that was lost, and at least one more.
    assert!(proxy.connections.load(Ordering::SeqCst) > 7);
    let list = adk_session::ListRequest { app_name: app, user_id: "ada".into(), limit: None, offset: None };
    assert_eq!(sessions().list(list).await.unwrap().len(), 1);
}

#[tokio::test]
async fn a_health_check_says_whether_the_server_is_there() {
    let (there, away) = (sessions(), SessiondSessionService::new("http://127.0.0.1:1").unwrap());
    there.health_check().await.unwrap();
    there.artifacts().health_check().await.unwrap();
    let of_sessions = away.health_check().await.err().unwrap();
    let of_artifacts = away.artifacts().health_check().await.err().unwrap();
    assert_eq!((of_sessions.code, of_artifacts.code), ("session.unavailable", "artifact.unavailable"));
    for error in [of_sessions, of_artifacts] {
        assert!(error.is_retryable());
        assert!(error.message.contains("http://127.0.0.1:1"), "{error}");
    }
}

#[tokio::test]
async fn a_server_without_tls_is_not_talked_to_by_https() {
    let script = Script::of([&answer(400, "", ""), &answer(400, "", ""), &answer(400, "", "")]).await;
    let url = script.url.replace("http:", "https:");
    let service = SessiondSessionService::builder(&url).token(Token::fixed("sdk_secret")).attempts(1).build().unwrap();
    let error = append(&service, &identity("a", "u", "s"), event("i", json!({}))).await.err().unwrap();
    assert_eq!(error.category, ErrorCategory::Unavailable);
    assert!(error.message.contains(&url), "{error}");
    assert!(script.requests().iter().all(|request| !request.contains("secret")));
}

#[tokio::test]
async fn a_traceparent_is_forwarded() {
    const PARENT: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
    let script = Script::of([&answer(200, "", STORED)]).await;
    let service = SessiondSessionService::builder(&script.url).traceparent(|| Some(PARENT.into())).build().unwrap();
    append(&service, &identity("a", "u", "s"), event("i", json!({}))).await.unwrap();
    assert!(script.requests()[0].contains(&format!("\r\ntraceparent: {PARENT}\r\n")));
}
