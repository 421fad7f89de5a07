//! What happens when the network or the server fails.

use std::{sync::atomic::Ordering, time::Duration};

use adk_core::ErrorCategory;
use adk_session::SessionService;
use serde_json::{Value, json};
use sessiond_adk::{ErrorKind, Outcome, SessiondSessionService, Token};
use tokio::net::TcpListener;

use crate::support::{
    Proxy, Script, Server, answer, app, append, create, event, get_request, identity, ids, new_session, sessions,
    shared, source,
};

const STORED: &str = r#"{"id":"e","timestamp":1,"sequence":1,"commitTime":1}"#;

fn unknown() -> String {
    answer(
        503,
        "",
        r#"{"status":503,"code":"storage_unavailable","detail":"Lost","outcome":"unknown","requestId":"r1"}"#,
    )
}

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
async fn the_same_request_is_sent_again() {
    let script = Script::of([&unknown(), &answer(502, "", "busy"), &answer(200, "", STORED)]).await;
    let service = SessiondSessionService::builder(&script.url).token(Token::none()).build().unwrap();
    append(&service, &identity("a", "u", "s"), event("i", json!({"k": 1}))).await.unwrap();
    let requests = script.requests();
    assert_eq!(requests.len(), 3);
    let body = |request: &String| request.split_once("\r\n\r\n").unwrap().1.to_owned();
    assert!(requests.iter().all(|request| body(request) == body(&requests[0])));
    assert!(requests[0].starts_with("POST /v1/apps/a/users/u/sessions/s/events?answer=minimal HTTP/1.1\r\n"));
    assert!(requests[0].contains("\r\nuser-agent: sessiond-rust/0.1.0\r\n"), "{}", requests[0]);
    assert!(!requests[0].contains("authorization"));
}

#[tokio::test]
async fn a_server_that_is_away_is_named() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    drop(listener);
    let error = append(&quickly(&url), &identity("a", "u", "s"), event("i", json!({}))).await.err().unwrap();
    assert_eq!((error.category, error.code), (ErrorCategory::Unavailable, "session.unavailable"));
    assert!(error.is_retryable());
    assert_eq!(source(&error).outcome, Some(Outcome::NotApplied));
    let tried = format!("Gave up POST {url}/v1/apps/a/users/u/sessions/s/events after ");
    assert!(error.message.contains(&tried) && error.message.contains(" attempts in "), "{error}");
    assert!(error.message.contains("refused"), "{error}");
    let error = quickly(&url).health_check().await.err().unwrap();
    assert!(error.message.contains(&url), "{error}");
}

#[tokio::test]
async fn a_silent_server_is_given_up() {
    let script = Script::of([]).await;
    let error = append(&quickly(&script.url), &identity("a", "u", "s"), event("i", json!({}))).await.err().unwrap();
    assert_eq!(error.category, ErrorCategory::Unavailable);
    assert!(error.message.contains("no answer in time"), "{error}");
    assert_eq!(source(&error).outcome, Some(Outcome::Unknown));
    assert!((1..=5).contains(&script.requests().len()));
    // Of a read, nothing is to be told.
    let error = quickly(&script.url).get(get_request(&identity("a", "u", "s"))).await.err().unwrap();
    assert_eq!(source(&error).outcome, None);
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
async fn the_number_of_attempts_is_limited() {
    let failures = [(); 7].map(|()| unknown());
    let script = Script::of(failures.each_ref().map(String::as_str)).await;
    let service = SessiondSessionService::builder(&script.url).attempts(3).token(Token::none()).build().unwrap();
    let error = append(&service, &identity("a", "u", "s"), event("i", json!({}))).await.err().unwrap();
    assert_eq!(script.requests().len(), 3);
    assert!(error.message.contains("after 3 attempts"), "{error}");
    let source = source(&error);
    assert_eq!((source.status, source.code.as_deref()), (Some(503), Some("storage_unavailable")));
    assert_eq!((source.request_id.as_deref(), source.outcome), (Some("r1"), Some(Outcome::Unknown)));
    assert_eq!((error.details.upstream_status_code, error.details.request_id.as_deref()), (Some(503), Some("r1")));
    assert_eq!(error.details.metadata["code"], "storage_unavailable");
    assert_eq!(error.details.metadata["outcome"], "unknown");
}

#[tokio::test]
async fn a_longer_retry_after_ends_the_attempts() {
    let refusal = r#"{"status":503,"code":"overloaded","detail":"Busy","outcome":"not_applied"}"#;
    let script = Script::of([&answer(503, "Retry-After: 60\r\n", refusal)]).await;
    let error = append(&quickly(&script.url), &identity("a", "u", "s"), event("i", json!({}))).await.err().unwrap();
    assert_eq!(script.requests().len(), 1);
    assert_eq!(source(&error).outcome, Some(Outcome::NotApplied));
}

#[tokio::test]
async fn answers_that_are_not_sessionds_are_errors() {
    for (status, body) in [(200, "hello"), (200, "[]"), (302, ""), (404, "no such page"), (500, "{}")] {
        let script = Script::of([&answer(status, "Location: http://127.0.0.1:1/\r\n", body)]).await;
        let error = quickly(&script.url).get(get_request(&identity("a", "u", "s"))).await.err().unwrap();
        assert_eq!(error.category, ErrorCategory::Internal, "{status}: {error}");
        assert_eq!(script.requests().len(), 1, "{status}");
    }
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
