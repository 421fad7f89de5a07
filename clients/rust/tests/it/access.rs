//! The credential.

use std::{
    sync::{
        Arc, LazyLock,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use adk_core::ErrorCategory;
use adk_session::SessionService;
use serde_json::json;
use sessiond_adk::{Builder, ErrorKind, SessiondSessionService, Token, WatchFrom};

use futures::StreamExt as _;

use crate::support::{Script, Server, answer, app, append, create, event, get_request, identity, new_session, source};

const ADMIN: &str = "an-administrator-of-these-tests-0123456789";

/// A server that asks who one is.
fn server() -> &'static str {
    static SERVER: LazyLock<Server> = LazyLock::new(|| {
        let file = std::env::temp_dir().join(format!("sessiond-rust-key-{}", uuid::Uuid::new_v4()));
        std::fs::write(&file, ADMIN).unwrap();
        let server = Server::start(&["--admin-key-file", file.to_str().unwrap()]);
        let _ = std::fs::remove_file(file);
        server
    });
    &SERVER.url
}

fn with(token: Token) -> SessiondSessionService {
    SessiondSessionService::builder(server()).token(token).build().unwrap()
}

/// A token that `callback` gives, by how often it was called.
fn counted(calls: &Arc<AtomicUsize>, callback: fn(usize) -> Result<String, String>) -> Token {
    let calls = calls.clone();
    Token::callback(move || {
        let call = calls.fetch_add(1, Ordering::SeqCst);
        async move {
            tokio::task::yield_now().await;
            callback(call)
        }
    })
}

#[tokio::test]
async fn a_fixed_token_is_shown_to_the_server_alone() {
    let service = with(Token::fixed(format!(" {ADMIN}\n")));
    new_session(&service, &app()).await;
    assert!(!format!("{service:?}").contains(ADMIN));

    for token in [Token::none(), Token::fixed("sdk_wrong")] {
        let error = create(&with(token), &app(), "ada", None, json!({})).await.err().unwrap();
        assert_eq!((error.category, error.code), (ErrorCategory::Unauthorized, "session.unauthenticated"));
        assert_eq!(source(&error).status, Some(401));
        assert!(!format!("{error:?}").contains("sdk_wrong"), "{error:?}");
    }
}

#[tokio::test]
async fn a_callback_is_asked_again_once_for_all_that_wait() {
    let calls = Arc::default();
    let service = with(counted(&calls, |call| Ok(if call == 0 { "sdk_expired".into() } else { ADMIN.into() })));
    let app = app();
    let creates = (0..10).map(|number| {
        let (service, app) = (service.clone(), app.clone());
        tokio::spawn(async move { create(&service, &app, "ada", Some(&number.to_string()), json!({})).await })
    });
    for create in creates.collect::<Vec<_>>() {
        create.await.unwrap().unwrap();
    }
    assert_eq!(calls.load(Ordering::SeqCst), 2);
}

#[tokio::test]
async fn a_second_refusal_is_an_error() {
    let calls = Arc::default();
    let service = with(counted(&calls, |_| Ok("sdk_revoked".into())));
    let nobody = identity("a", "u", "s");
    let error = append(&service, &nobody, event("i", json!({}))).await.err().unwrap();
    assert_eq!(error.category, ErrorCategory::Unauthorized);
    assert_eq!(calls.load(Ordering::SeqCst), 2);
    // A watch ends with it, too.
    let mut watch = service.watch(&nobody, WatchFrom::Start, false);
    assert_eq!(watch.next().await.unwrap().err().unwrap().kind, ErrorKind::Unauthenticated);
    assert!(watch.next().await.is_none());
}

#[tokio::test]
async fn a_callback_that_fails_is_asked_by_the_next_request() {
    let calls = Arc::default();
    let failing = |call| if call == 0 { Err("no secret is mounted".into()) } else { Ok(ADMIN.into()) };
    let service = with(counted(&calls, failing));
    let app = app();
    let error = create(&service, &app, "ada", None, json!({})).await.err().unwrap();
    assert_eq!(error.category, ErrorCategory::Unauthorized);
    assert!(error.message.contains("no secret is mounted"), "{error}");
    create(&service, &app, "ada", None, json!({})).await.unwrap();
}

#[test]
fn the_token_of_the_environment_is_shown() {
    let app = app();
    for (token, code) in [(ADMIN, "session_not_found"), ("sdk_wrong", "unauthenticated"), ("", "unauthenticated")] {
        let mut matrix = std::process::Command::new(crate::programs::program("matrix"))
            .env("SESSIOND_URL", server())
            .env("SESSIOND_TOKEN", token)
            .stdin(std::process::Stdio::piped())
            .stdout(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let get = json!({"do": "get", "app": app, "user": "ada", "session": "s"});
        std::io::Write::write_all(&mut matrix.stdin.take().unwrap(), get.to_string().as_bytes()).unwrap();
        let said = matrix.wait_with_output().unwrap();
        let said: serde_json::Value = serde_json::from_slice(&said.stdout).unwrap();
        assert_eq!(said["code"], code);
    }
}

#[tokio::test]
async fn a_callback_that_hangs_is_given_up() {
    let token = Token::callback(std::future::pending::<Result<String, String>>);
    let service = SessiondSessionService::builder(server()).token(token).timeout(Duration::from_millis(200));
    let error = create(&service.build().unwrap(), &app(), "ada", None, json!({})).await.err().unwrap();
    assert_eq!(error.category, ErrorCategory::Unauthorized);
    assert!(error.message.contains("took longer than 200ms"), "{error}");
}

#[tokio::test]
async fn what_a_credential_does_not_allow_is_forbidden() {
    let (service, app) = (with(Token::fixed(ADMIN)), app());
    let identity = new_session(&service, &app).await;
    let body = json!({"app": app, "user": "ada", "role": "user"}).to_string();
    let request = reqwest::Client::builder().tls_backend_preconfigured(tls()).build().unwrap();
    let request = request.post(format!("{}/v1/tokens", server())).header("content-type", "application/json");
    let minted = request.header("authorization", format!("Bearer {ADMIN}")).body(body).send().await.unwrap();
    let minted: serde_json::Value = serde_json::from_str(&minted.text().await.unwrap()).unwrap();
    let user = with(Token::fixed(minted["token"].as_str().unwrap()));

    assert_eq!(user.get(get_request(&identity)).await.unwrap().id(), "s");
    let mut said = event("i", json!({"k": 1}));
    said.author = "agent".into();
    let error = append(&user, &identity, said).await.err().unwrap();
    assert_eq!((error.category, error.code), (ErrorCategory::Forbidden, "session.forbidden"));
    assert_eq!(source(&error).code.as_deref(), Some("permission_denied"));
    // What one may not see looks as if it were not there.
    let other = crate::support::identity(&app, "bob", "s");
    assert!(user.get(get_request(&other)).await.err().unwrap().is_not_found());
}

fn tls() -> rustls::ClientConfig {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let tls = rustls::ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    tls.with_root_certificates(rustls::RootCertStore::empty()).with_no_client_auth()
}

#[tokio::test]
async fn a_token_is_not_sent_to_where_an_answer_points() {
    let other = Script::of([&answer(200, "", "{}")]).await;
    let script = Script::of([&answer(307, &format!("Location: {}/v1\r\n", other.url), "")]).await;
    let service = SessiondSessionService::builder(&script.url).token(Token::fixed(ADMIN));
    assert!(append(&Builder::build(service).unwrap(), &identity("a", "u", "s"), event("i", json!({}))).await.is_err());
    assert!(script.requests()[0].contains(&format!("\r\nauthorization: Bearer {ADMIN}\r\n")));
    assert_eq!(other.requests(), [""; 0]);
}
