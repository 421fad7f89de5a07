//! `/v1/keys`, `/v1/tokens` and `/v1/whoami`: credentials and their grants.

use std::sync::Arc;

use axum::http::{StatusCode, header};
use secrecy::ExposeSecret as _;

use crate::access::{Authenticator, Error};
use crate::domain::access::{ApiKey, Grant, KeyDraft, Role, TokenDraft, parse_user};
use crate::domain::ids::UserKey;
use crate::domain::json::{ObjectText, push_string};
use crate::domain::time::Micros;
use crate::http::call::Call;
use crate::http::describe::{Access, Operation, PAGE_SIZE, PAGE_TOKEN};
use crate::http::reply::{self, Answer, Code, Problem};

pub const CREATE_KEY: Operation = Operation::of("createKey", Access::Write(Role::Admin));

pub async fn create_key(mut call: Call) -> Result<Answer, Problem> {
    let authenticator = manager(&call)?;
    let draft = KeyDraft::parse(call.required_body().await?.json()?, false)?;
    let client = call.client_now().await?;
    let (key, text) = authenticator.create_key(&client, draft, call.deadline).await?;
    let mut object = key_object(&key);
    object.push_str("key", text.expose_secret());
    let location = format!("/v1/keys/{}", key.id);
    let answer = Answer::new(StatusCode::CREATED).header(header::LOCATION, &location).secret().json(object.close());
    Ok(answer.named(vec![("id", key.id)]))
}

pub const LIST_KEYS: Operation = Operation::of("listKeys", Access::Read(Role::Admin)).query(&[PAGE_SIZE, PAGE_TOKEN]);

pub async fn list_keys(mut call: Call) -> Result<Answer, Problem> {
    let authenticator = manager(&call)?;
    let query = call.take_query();
    let binding = call.binding("keys");
    let after: String = query.position(&binding)?.unwrap_or_default();
    let rows = query.page_rows(&call.limits())?;
    let (keys, more) = authenticator.keys(&call.client, &after, rows, call.deadline).await?;
    let next = keys.last().filter(|_| more).map(|last| binding.token(&last.id));
    let keys: Vec<String> = keys.iter().map(|key| key_object(key).close()).collect();
    Ok(Answer::ok().json(reply::page("keys", &keys, next)))
}

pub const GET_KEY: Operation = Operation::of("getKey", Access::Read(Role::Admin));

pub async fn get_key(call: Call) -> Result<Answer, Problem> {
    let key = manager(&call)?.key(&call.client, &call.names.id()?, call.deadline).await?;
    Ok(Answer::ok().json(key_object(&key).close()))
}

pub const UPDATE_KEY: Operation = Operation::of("updateKey", Access::Write(Role::Admin));

pub async fn update_key(mut call: Call) -> Result<Answer, Problem> {
    let authenticator = manager(&call)?;
    let draft = KeyDraft::parse(call.required_body().await?.json()?, true)?;
    let client = call.client_now().await?;
    let key = authenticator.change_key(&client, &call.names.id()?, draft, call.deadline).await?;
    Ok(Answer::ok().json(key_object(&key).close()))
}

pub const DELETE_KEY: Operation = Operation::of("deleteKey", Access::Write(Role::Admin));

pub async fn delete_key(call: Call) -> Result<Answer, Problem> {
    manager(&call)?.revoke_key(&call.client, &call.names.id()?, call.deadline).await?;
    Ok(Answer::new(StatusCode::NO_CONTENT))
}

pub const CREATE_TOKEN: Operation = Operation::of("createToken", Access::Write(Role::Agent));

pub async fn create_token(mut call: Call) -> Result<Answer, Problem> {
    let authenticator = manager(&call)?;
    let draft = TokenDraft::parse(call.required_body().await?.json()?)?;
    let names = names(&draft.user);
    let client = call.client_now().await?;
    let (token, expire_time) = authenticator.mint(&client, draft, call.deadline).await?;
    let mut object = ObjectText::default();
    object.push_str("token", &token);
    object.push("expireTime", &expire_time.to_number());
    Ok(Answer::new(StatusCode::CREATED).secret().json(object.close()).named(names))
}

pub const REVOKE_TOKENS: Operation = Operation::of("revokeTokens", Access::Write(Role::Agent));

pub async fn revoke_tokens(mut call: Call) -> Result<Answer, Problem> {
    let authenticator = manager(&call)?;
    let user = parse_user(call.required_body().await?.json()?)?;
    authenticator.revoke_tokens(&call.client, &user, call.deadline).await?;
    Ok(Answer::new(StatusCode::NO_CONTENT).named(names(&user)))
}

pub const WHOAMI: Operation = Operation::of("whoami", Access::Known);

pub async fn whoami(call: Call) -> Result<Answer, Problem> {
    let client = &call.client;
    let mut object = ObjectText::default();
    object.push_str("kind", client.kind.as_str());
    object.push_some_str("id", client.id.as_ref());
    push_grant(&mut object, &client.grant);
    object.push_some("expireTime", client.expire_time.map(Micros::to_number));
    Ok(Answer::ok().json(object.close()))
}

fn names(user: &UserKey) -> Vec<(&'static str, String)> {
    vec![("app", user.app.to_string()), ("user", user.user.to_string())]
}

/// The manager of credentials. An error if authentication is off.
fn manager(call: &Call) -> Result<Arc<Authenticator>, Problem> {
    call.app.authenticator.must_be_on()?;
    Ok(call.app.authenticator.clone())
}

fn key_object(key: &ApiKey) -> ObjectText {
    let mut object = ObjectText::default();
    object.push_str("id", &key.id);
    object.push_str("name", &key.name);
    push_grant(&mut object, &key.grant);
    object.push("createTime", &key.create_time.to_number());
    for (name, time) in [("expireTime", key.expire_time), ("lastUsedTime", key.last_used_time)] {
        object.push_some(name, time.map(Micros::to_number));
    }
    object
}

fn push_grant(object: &mut ObjectText, grant: &Grant) {
    object.push_str("role", grant.role.as_str());
    for (name, names) in [("apps", &grant.apps), ("users", &grant.users)] {
        let quoted = |text: String| {
            let mut quoted = String::new();
            push_string(&mut quoted, &text);
            quoted
        };
        let list: Vec<String> = names.to_shown().into_iter().map(quoted).collect();
        object.push(name, &format!("[{}]", list.join(",")));
    }
}

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        match error {
            Error::Off => Self::new(Code::PermissionDenied, error.to_string()),
            Error::Beyond(detail) => Self::over("grant", Code::PermissionDenied, detail),
            Error::NotFound => Self::new(Code::NotFound, error.to_string()),
            Error::Rejected(rejected) => rejected.into(),
            Error::Store(error) => crate::service::Error::Store(error).into(),
        }
    }
}
