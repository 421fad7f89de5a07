//! What happens when the network or the server fails.

use std::{sync::atomic::Ordering, time::Duration};

use adk_core::ErrorCategory;
use adk_session::SessionService;
use serde_json::{Value, json};
use sessiond_adk::{ErrorKind, Outcome, SessiondSessionService, Token};
use tokio::net::TcpListener;

use crate::support::{
    Proxy, Script, Server, answer, app, append, create, event, get_request, identity, ids, new_session, sessions,
    shared,
};

const STORED: &str = r#"{"id":"e","timestamp":1,"sequence":1,"commitTime":1}"#;

fn quickly(url: &str) -> SessiondSessionService {
    let (attempt, total) = (Duration::from_millis(300), Duration::from_secs(2));
    let service = SessiondSessionService::builder(url).timeout(attempt).retry_for(total);
    service.token(Token::none()).build().unwrap()
}

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
async fn a_server_that_is_away_is_unavailable() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let error = append(&quickly(&url), &identity("a", "u", "s"), event("i", json!({}))).await.err().unwrap();
    assert_eq!((error.category, error.code), (ErrorCategory::Unavailable, "session.unavailable"));
    assert!(error.is_retryable());
    let error = quickly(&url).health_check().await.err().unwrap();
    assert!(error.message.contains(&url), "{error}");
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

#[tokio::test]
async fn a_restart_is_waited_for() {
    let mut server = Server::start(&[]);
    // However slow the machine is.
    let service = SessiondSessionService::builder(&server.url).attempts(100).retry_for(Duration::from_secs(120));
    let (service, app) = (service.build().unwrap(), app());
    let identity = new_session(&service, &app).await;
    service.health_check().await.unwrap();
    let restarted = tokio::task::spawn_blocking(move || {
        server.restart();
        server
    });
    let mut sent = Vec::new();
    while !restarted.is_finished() || sent.is_empty() {
        let said = event("i", json!({}));
        sent.push(said.id.clone());
        append(&service, &identity, said).await.unwrap();
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    let server = restarted.await.unwrap();
    assert_eq!(ids(service.get(get_request(&identity)).await.unwrap().as_ref()), sent);
    drop(server);
}

#[tokio::test]
async fn nothing_of_a_state_is_in_an_error() {
    let (service, app) = (sessions(), app());
    let identity = new_session(&service, &app).await;
    append(&service, &identity, event("i", json!({"k": "secret"}))).await.unwrap();
    let ops = [sessiond_adk::ops::Op::increment("k", 1)];
    let error = service.apply_ops(&identity, &ops, "user", "").await.err().unwrap();
    assert_eq!((error.kind, error.status), (ErrorKind::InvalidInput, Some(422)));
    assert_eq!(error.outcome, Some(Outcome::NotApplied));
    assert!(!format!("{error:?}").contains("secret"), "{error:?}");
    let nothing: Value = json!(service.get(get_request(&identity)).await.unwrap().state().get("k"));
    assert_eq!(nothing, "secret");
}
