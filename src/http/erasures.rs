//! Erasures of users, and their receipts.

use axum::http::{StatusCode, header};
use axum::response::Response;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD as BASE64;
use tokio::time::Instant;

use super::answer::{self, Answer};
use super::describe::{Access, Body, Operation, PAGE_SIZE, PAGE_TOKEN, Reply, Serving};
use super::problem::{Code, Problem};
use super::request::{Call, Received};
use crate::domain::access::{Grant, Place, Role};
use crate::domain::erasure::{Erasure, ErasureDraft, key_id};
use crate::domain::ids::{UserId, UserKey};
use crate::domain::json::ObjectText;
use crate::service::{Error, Service};

const TAG: &str = "Erasures";

/// Erasures that are read at a time, of which some may be outside of the grant.
const PAGE_ROWS: usize = 200;

pub const ERASE: Operation = Operation {
    id: "eraseUser",
    tag: TAG,
    serving: Serving::NATIVE,
    access: Access::Write(Role::Operator),
    summary: "Erase a user",
    description: "From the answer on, no session of the user exists for anybody, the user's state is `{}`, streams have ended, and \
                  within 5 s the user's tokens are void; then the rows are removed. Also for a user of whom nothing is stored. The \
                  same `requestId` again finds the same erasure. With `block`, new sessions of the user are refused until a later \
                  erasure says `block: false`.",
    query: &[],
    headers: &[],
    body: Some(Body { schema: "EraseUser", required: false }),
    answers: &[
        Reply {
            status: StatusCode::OK,
            about: "A retry: the erasure that the first request began.",
            schema: Some("Erasure"),
            headers: &["Location"],
        },
        Reply {
            status: StatusCode::ACCEPTED,
            about: "The erasure, which has begun.",
            schema: Some("Erasure"),
            headers: &["Location"],
        },
    ],
    errors: &[Code::ErasureConflict],
};

pub async fn erase(mut call: Call) -> Result<Response, Problem> {
    let user = call.user()?;
    let body = call.body().await?;
    let json = body.as_ref().map(Received::json).transpose()?;
    let draft = json.map(ErasureDraft::parse).transpose()?.unwrap_or_default();
    let (was_known, erasure) = call.service.erase(user, draft, call.deadline).await?;
    let status = if was_known { StatusCode::OK } else { StatusCode::ACCEPTED };
    let location = format!("/v1/erasures/{}", erasure.id);
    Ok(Answer::new(status).header(header::LOCATION, &location).json(erasure.to_json()))
}

pub const GET: Operation = Operation {
    id: "getErasure",
    tag: TAG,
    serving: Serving::NATIVE,
    access: Access::Write(Role::Operator),
    summary: "Read an erasure",
    description: "`state` is `done` once all rows are gone; then there is a `receipt`, which proves that without the user's name.",
    query: &[],
    headers: &[],
    body: None,
    answers: &[Reply { status: StatusCode::OK, about: "The erasure.", schema: Some("Erasure"), headers: &[] }],
    errors: &[Code::NotFound],
};

pub async fn get(call: Call) -> Result<Response, Problem> {
    let id = call.credential_id()?;
    let (service, client, deadline) = (call.service.clone(), call.client.clone(), call.deadline);
    let erasure = service.erasure(&id, deadline).await?;
    if !may_see(&service, &client.grant, &erasure, deadline).await? {
        return Err(Error::ErasureNotFound.into());
    }
    Ok(Answer::ok().json(erasure.to_json()))
}

pub const LIST: Operation = Operation {
    id: "listErasures",
    tag: TAG,
    serving: Serving::NATIVE,
    access: Access::Write(Role::Operator),
    summary: "List erasures",
    description: "The latest first: those within the grant, as far as that can be told without the users' names.",
    query: &[PAGE_SIZE, PAGE_TOKEN],
    headers: &[],
    body: None,
    answers: &[Reply {
        status: StatusCode::OK,
        about: "A page of erasures.",
        schema: Some("ErasureList"),
        headers: &[],
    }],
    errors: &[],
};

pub async fn list(mut call: Call) -> Result<Response, Problem> {
    let query = call.take_query();
    let binding = call.binding("erasures");
    let limit = query.page_rows(&call.limits())?;
    let (service, client, deadline) = (call.service.clone(), call.client.clone(), call.deadline);
    let mut before = query.text(&PAGE_TOKEN).map(|token| binding.position::<String>(token)).transpose()?;
    let mut found: Vec<Erasure> = Vec::new();
    'pages: loop {
        let page = service.erasures(before.as_deref(), PAGE_ROWS, deadline).await?;
        let Some(last) = page.last() else { break };
        before = Some(last.id.clone());
        for erasure in page {
            if may_see(&service, &client.grant, &erasure, deadline).await? {
                found.push(erasure);
                // One more tells that there is more.
                if found.len() > limit {
                    break 'pages;
                }
            }
        }
    }
    let more = found.len() > limit;
    found.truncate(limit);
    let next = found.last().filter(|_| more).map(|last| binding.token(&last.id));
    let erasures: Vec<String> = found.iter().map(Erasure::to_json).collect();
    Ok(Answer::ok().json(answer::page("erasures", &erasures, next)))
}

/// Whether an erasure is within the client's grant. Of a grant for some users only, one alone can be told without a name.
async fn may_see(service: &Service, grant: &Grant, erasure: &Erasure, deadline: Instant) -> Result<bool, Problem> {
    if grant.reaches(Place::App(&erasure.app)) {
        return Ok(true);
    }
    let Some(user) = grant.users.only().and_then(|user| UserId::parse(user).ok()) else { return Ok(false) };
    if !grant.reaches(Place::User(&erasure.app, &user)) {
        return Ok(false);
    }
    let user = UserKey { app: erasure.app.clone(), user };
    Ok(service.subject(&user, deadline).await? == erasure.subject)
}

pub const KEYS: Operation = Operation {
    id: "listReceiptKeys",
    tag: TAG,
    serving: Serving::NATIVE,
    access: Access::Known,
    summary: "The public keys of receipts",
    description: "Ed25519, in base64. Keep them apart from the receipts: a key that comes with a receipt proves nothing.",
    query: &[],
    headers: &[],
    body: None,
    answers: &[Reply { status: StatusCode::OK, about: "The keys.", schema: Some("ReceiptKeys"), headers: &[] }],
    errors: &[],
};

pub async fn keys(call: Call) -> Result<Response, Problem> {
    let key = call.service.receipt_key(call.deadline).await?;
    let mut object = ObjectText::default();
    object.push_str("id", &key_id(&key));
    object.push_str("publicKey", &BASE64.encode(&key));
    Ok(Answer::ok().json(answer::page("keys", &[object.close()], None)))
}
