//! `/v1/apps/{app}/users/{user}/erasure`, `/v1/erasures` and `/v1/receipts/keys`: erased users, and the receipts that
//! prove it.

use axum::http::{StatusCode, header};
use tokio::time::Instant;

use crate::domain::access::Role;
use crate::domain::erasure::{Erasure, ErasureDraft};
use crate::domain::json::ObjectText;
use crate::domain::receipt::counts;
use crate::domain::time::Micros;
use crate::http::app::App;
use crate::http::call::Call;
use crate::http::describe::{Access, Operation, PAGE_SIZE, PAGE_TOKEN};
use crate::http::reply::{self, Answer, Problem};

pub const ERASE: Operation = Operation::of("eraseUser", Access::Write(Role::Operator));

pub async fn erase(mut call: Call) -> Result<Answer, Problem> {
    let user = call.names.user()?;
    let draft = match call.body().await? {
        Some(body) => ErasureDraft::parse(body.json()?)?,
        None => ErasureDraft::default(),
    };
    let (replayed, erasure) = call.writer()?.erase(user, draft, &call.client.grant, call.deadline).await?;
    // Clears this process's cache of credentials. Other processes read the database again within 5 s.
    call.app.authenticator.forget();
    let status = if replayed { StatusCode::OK } else { StatusCode::ACCEPTED };
    let answer = Answer::new(status).header(header::LOCATION, format!("/v1/erasures/{}", erasure.id));
    Ok(answer.replayed(replayed).json(object(&call.app, &erasure, call.deadline).await?))
}

pub const GET: Operation = Operation::of("getErasure", Access::Read(Role::Operator));

pub async fn get(call: Call) -> Result<Answer, Problem> {
    let erasure = call.service.erasure(&call.names.id()?, &call.client.grant, call.deadline).await?;
    Ok(Answer::ok().json(object(&call.app, &erasure, call.deadline).await?))
}

pub const LIST: Operation = Operation::of("listErasures", Access::Read(Role::Operator)).query(&[PAGE_SIZE, PAGE_TOKEN]);

pub async fn list(mut call: Call) -> Result<Answer, Problem> {
    let query = call.take_query();
    let binding = call.binding("erasures");
    let after: String = query.position(&binding)?.unwrap_or_default();
    let rows = query.page_rows(&call.limits())?;
    let (erasures, more) = call.service.erasures(&after, rows, &call.client.grant, call.deadline).await?;
    let next = erasures.last().filter(|_| more).map(|last| binding.token(&last.id));
    let mut objects = Vec::with_capacity(erasures.len());
    for erasure in &erasures {
        objects.push(object(&call.app, erasure, call.deadline).await?);
    }
    Ok(Answer::ok().json(reply::page("erasures", &objects, next)))
}

pub const KEYS: Operation = Operation::of("listReceiptKeys", Access::Known);

pub async fn keys(call: Call) -> Result<Answer, Problem> {
    let public = call.app.writer().receipt_key(call.deadline).await?;
    let mut key = ObjectText::default();
    key.push_str("keyId", &public.id());
    key.push_str("algorithm", "Ed25519");
    key.push_str("publicKey", &public.to_text());
    Ok(Answer::ok().json(format!("{{\"keys\":[{}]}}", key.close())))
}

async fn object(app: &App, erasure: &Erasure, deadline: Instant) -> Result<String, Problem> {
    let mut object = ObjectText::default();
    object.push_str("id", &erasure.id);
    object.push_str("appName", erasure.app.as_str());
    object.push_some_str("reference", erasure.reference.as_ref());
    object.push_str("state", if erasure.done_time.is_some() { "done" } else { "running" });
    object.push("requestTime", &erasure.request_time.to_number());
    object.push_some("doneTime", erasure.done_time.map(Micros::to_number));
    object.push("counts", &counts(erasure));
    if let Some(reason) = app.writer().why_it_waits(erasure, deadline).await? {
        object.push_str("reason", reason);
    }
    object.push_some("receipt", erasure.receipt.as_ref());
    Ok(object.close())
}
