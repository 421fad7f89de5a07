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
use crate::http::describe::{Access, Body, Operation, PAGE_SIZE, PAGE_TOKEN, Reply};
use crate::http::reply::{self, Answer, Code, Problem};

const TAG: &str = "Access";

pub const CREATE_KEY: Operation = Operation {
    id: "createKey",
    summary: "Create an API key",
    description: "For a role, apps and users: names, or prefixes with a trailing `*`. Only this answer shows the key. \
                  It cannot exceed the role, apps, users and expiry of the credential that creates it. The role `user` \
                  is for exactly one user.",
    body: Some(Body { schema: "CreateKey", required: true }),
    answers: &[Reply::created("The key.", "CreatedKey").with(&["Location"])],
    ..Operation::of(TAG, Access::Write(Role::Admin))
};

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

pub const LIST_KEYS: Operation = Operation {
    id: "listKeys",
    summary: "List the API keys",
    description: "The keys within the grant of the credential, without secrets and without revoked keys.",
    query: &[PAGE_SIZE, PAGE_TOKEN],
    answers: &[Reply::ok("A page of keys.", "KeyList")],
    ..Operation::of(TAG, Access::Read(Role::Admin))
};

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

pub const GET_KEY: Operation = Operation {
    id: "getKey",
    summary: "Read an API key",
    description: "Without its secret.",
    answers: KEY,
    errors: &[Code::NotFound],
    ..Operation::of(TAG, Access::Read(Role::Admin))
};

const KEY: &[Reply] = &[Reply::ok("The key.", "Key")];

pub async fn get_key(call: Call) -> Result<Answer, Problem> {
    let key = manager(&call)?.key(&call.client, &call.names.id()?, call.deadline).await?;
    Ok(Answer::ok().json(key_object(&key).close()))
}

pub const UPDATE_KEY: Operation = Operation {
    id: "updateKey",
    summary: "Change an API key",
    description: "Absent fields stay unchanged. Within 5 s the key and its tokens lose removed permissions everywhere.",
    body: Some(Body { schema: "UpdateKey", required: true }),
    answers: KEY,
    errors: &[Code::NotFound],
    ..Operation::of(TAG, Access::Write(Role::Admin))
};

pub async fn update_key(mut call: Call) -> Result<Answer, Problem> {
    let authenticator = manager(&call)?;
    let draft = KeyDraft::parse(call.required_body().await?.json()?, true)?;
    let client = call.client_now().await?;
    let key = authenticator.change_key(&client, &call.names.id()?, draft, call.deadline).await?;
    Ok(Answer::ok().json(key_object(&key).close()))
}

pub const DELETE_KEY: Operation = Operation {
    id: "deleteKey",
    summary: "Revoke an API key",
    description: "Within 5 s the key and its tokens are invalid everywhere.",
    answers: REVOKED,
    errors: &[Code::NotFound],
    ..Operation::of(TAG, Access::Write(Role::Admin))
};

const REVOKED: &[Reply] = &[Reply::no_content("It is revoked.")];

pub async fn delete_key(call: Call) -> Result<Answer, Problem> {
    manager(&call)?.revoke_key(&call.client, &call.names.id()?, call.deadline).await?;
    Ok(Answer::new(StatusCode::NO_CONTENT))
}

pub const CREATE_TOKEN: Operation = Operation {
    id: "createToken",
    summary: "Mint a token for a user",
    description: "Needs an API key, not a token or a JWT. The token is for one user of one app, of the role `user` \
                  unless `role` says otherwise, and never allows more than its key; it ends with its key.",
    body: Some(Body { schema: "CreateToken", required: true }),
    answers: &[Reply::created("The token, which is not stored.", "CreatedToken")],
    ..Operation::of(TAG, Access::Write(Role::Agent))
};

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

pub const REVOKE_TOKENS: Operation = Operation {
    id: "revokeTokens",
    summary: "Revoke the tokens of a user",
    description: "Within 5 s all earlier tokens of the user are invalid everywhere. Tokens minted after the answer are \
                  valid.",
    body: Some(Body { schema: "RevokeTokens", required: true }),
    answers: REVOKED,
    ..Operation::of(TAG, Access::Write(Role::Agent))
};

pub async fn revoke_tokens(mut call: Call) -> Result<Answer, Problem> {
    let authenticator = manager(&call)?;
    let user = parse_user(call.required_body().await?.json()?)?;
    authenticator.revoke_tokens(&call.client, &user, call.deadline).await?;
    Ok(Answer::new(StatusCode::NO_CONTENT).named(names(&user)))
}

pub const WHOAMI: Operation = Operation {
    id: "whoami",
    summary: "Show the grant of the credential",
    description: "Its kind, its role, its apps and its users.",
    answers: &[Reply::ok("The client.", "Caller")],
    ..Operation::of(TAG, Access::Known)
};

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
