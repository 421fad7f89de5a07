//! The credential.

use std::{sync::LazyLock, time::Duration};

use adk_core::ErrorCategory;
use adk_session::SessionService;
use reqwest::Method;
use serde_json::json;
use sessiond_adk::{SessiondSessionService, Token};

use crate::support::{Server, app, append, create, event, get_request, new_session, plain_as, source};

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

#[test]
fn no_text_of_a_service_shows_its_token() {
    assert!(!format!("{:?}", with(Token::fixed(ADMIN))).contains(ADMIN));
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
    let (url, asked) = (format!("{}/v1/tokens", server()), json!({"app": app, "user": "ada", "role": "user"}));
    let minted = plain_as(ADMIN, Method::POST, url, asked).await;
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
