//! Past states of a session: forks and rewinds.

use crate::domain::access::Role;
use crate::domain::envelope::Fields;
use crate::domain::ids::SessionId;
use crate::domain::rewind::RewindTarget;
use crate::http::call::{Call, Received};
use crate::http::describe::{ANSWER, Access, Header, Operation};
use crate::http::live::history;
use crate::http::reply::{Answer, Problem};
use crate::http::resources::sessions::of_creation;
use crate::service::{Changed, Made};

pub const FORK: Operation =
    Operation::of("forkSession", Access::Write(Role::User)).query(&[ANSWER]).headers(&[Header::IdempotencyKey]);

pub async fn fork(mut call: Call) -> Result<Answer, Problem> {
    let (source, shows) = (call.names.session()?, call.take_query().shown());
    let (mut at, mut id) = (None, None);
    let body = call.body().await?;
    let json = body.as_ref().map(Received::json).transpose()?;
    if let Some(json) = json {
        let mut fields = Fields::of(json, "")?;
        at = fields.take_integer("atRevision", 0.., "must be an integer of at least 0");
        id = SessionId::take(&mut fields);
        fields.finish()?;
    }
    let request = call.request_key(json)?;
    if call.pays() {
        let cost = call.service.fork_cost(&source, at, call.deadline).await?;
        call.charge(cost)?;
    }
    let (made, view) = call.writer()?.fork(source, at, id, request, shows, call.deadline).await?;
    if made != Made::New {
        call.costs(0);
    }
    let id = view.head.key.session.to_string();
    // The access log already has `session`, the source, from the path.
    Ok(history::written(&call, of_creation(made, &view), view, shows).named(vec![("fork", id)]))
}

pub const REWIND: Operation = Operation::of("rewindSession", Access::Write(Role::User)).query(&[ANSWER]).headers(&[
    Header::Lease,
    Header::IfMatch,
    Header::IdempotencyKey,
]);

pub async fn rewind(mut call: Call) -> Result<Answer, Problem> {
    let (key, shows) = (call.names.session()?, call.take_query().shown());
    let (guard, id) = (call.headers.guard()?, call.headers.idempotency_key()?);
    let target = RewindTarget::parse(call.required_body().await?.json()?)?;
    let Changed { replayed, cost, after: view } =
        call.writer()?.rewind(key, target, id, guard, shows, call.deadline).await?;
    call.costs(cost);
    Ok(history::written(&call, Answer::ok().replayed(replayed), view, shows))
}
