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
use crate::http::describe::{Access, Body, Operation, PAGE_SIZE, PAGE_TOKEN, Reply};
use crate::http::reply::{self, Answer, Code, Problem};

const TAG: &str = "Erasures";

pub const ERASE: Operation = Operation {
    id: "eraseUser",
    summary: "Erase a user",
    description: "When the answer comes, the user's sessions and state are gone and streams have ended. Tokens of the \
                  user are invalid everywhere within 5 s (only the issuer can revoke JWTs). Then the rows are removed, \
                  and a receipt is signed. A user without data can be erased too. The same `requestId` returns the \
                  same erasure. `block` refuses the user from then on; without it the user may start again, and an \
                  existing block stays.",
    body: Some(Body { schema: "EraseUser", required: false }),
    answers: &[
        Reply::ok("The erasure. The user's data can no longer be read.", "Erasure")
            .status(StatusCode::ACCEPTED)
            .with(&["Location"]),
        Reply::ok("A retry: the erasure as it is now.", "Erasure").with(&["Location", "Idempotent-Replayed"]),
    ],
    errors: &[Code::ErasureConflict],
    ..Operation::of(TAG, Access::Write(Role::Operator))
};

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

pub const GET: Operation = Operation {
    id: "getErasure",
    summary: "Read an erasure",
    description: "`done` once all rows are removed; then it has a receipt. `reason` says what it waits for, if that is \
                  outside of the server. It does not name the user.",
    answers: &[Reply::ok("The erasure.", "Erasure")],
    errors: &[Code::NotFound],
    ..Operation::of(TAG, Access::Read(Role::Operator))
};

pub async fn get(call: Call) -> Result<Answer, Problem> {
    let erasure = call.service.erasure(&call.names.id()?, &call.client.grant, call.deadline).await?;
    Ok(Answer::ok().json(object(&call.app, &erasure, call.deadline).await?))
}

pub const LIST: Operation = Operation {
    id: "listErasures",
    summary: "List the erasures",
    description: "The erasures of the credential's apps and users, the oldest first; none for users that its grant \
                  names by a prefix.",
    query: &[PAGE_SIZE, PAGE_TOKEN],
    answers: &[Reply::ok("A page of erasures.", "ErasureList")],
    ..Operation::of(TAG, Access::Read(Role::Operator))
};

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

pub const KEYS: Operation = Operation {
    id: "listReceiptKeys",
    summary: "The keys that verify receipts",
    description: "Store them separately from the receipts: a receipt with its own key proves nothing.",
    answers: &[Reply::ok("The public keys.", "ReceiptKeys")],
    ..Operation::of(TAG, Access::Known)
};

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
