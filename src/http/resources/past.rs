//! Past states of a session: forks and rewinds.

use crate::domain::access::Role;
use crate::domain::envelope::Fields;
use crate::domain::ids::SessionId;
use crate::domain::rewind::RewindTarget;
use crate::http::call::{Call, Received};
use crate::http::describe::{ANSWER, Access, Body, Header, Operation, Reply};
use crate::http::live::history;
use crate::http::reply::{Answer, Code, Problem};
use crate::http::resources::sessions::{REPLAYED, of_creation};
use crate::service::{Changed, Made};

pub const FORK: Operation = Operation {
    id: "forkSession",
    summary: "Fork a session",
    description: "A new session of the same user begins with the events up to `atRevision` (all by default), with the \
                  same ids, sequences and times, and with the session's own state as it was then; `forkedFrom` says \
                  so. App and user state are shared and not copied. Display name, labels and expiry are copied. The \
                  source does not change. `Idempotency-Key` works as for a creation.",
    query: &[ANSWER],
    headers: &[Header::IdempotencyKey],
    body: Some(Body { schema: "ForkSession", required: false }),
    answers: &[REPLAYED, Reply::created("The new session.", "WrittenSession").with(&["Location", "ETag"])],
    errors: &[Code::SessionNotFound, Code::SessionAlreadyExists, Code::LimitReached, Code::RevisionTrimmed],
    ..Operation::of("Sessions", Access::Write(Role::User))
};

pub async fn fork(mut call: Call) -> Result<Answer, Problem> {
    let (source, shows) = (call.names.session()?, call.take_query().shown());
    let (mut at, mut id) = (None, None);
    let body = call.body().await?;
    let json = body.as_ref().map(Received::json).transpose()?;
    if let Some(json) = json {
        let mut fields = Fields::of(json, "")?;
        at = fields.take_integer("atRevision", 0, "must be an integer of at least 0");
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

pub const REWIND: Operation = Operation {
    id: "rewindSession",
    summary: "Rewind a session",
    description: "To before the first event of an invocation, or to right after the event `toRevision`. One event is \
                  appended, with `actions.rewindBeforeInvocationId` and what restores the session's own state: keys as \
                  they were, later ones removed. App and user state stay. No event is removed; `GET events` omits the \
                  rewound events with `excludeRewound`. If `toRevision` cuts an invocation in two, its events up to \
                  there are appended once more after that event (new ids, `customMetadata.rewindCopyOf`, no change of \
                  state), because ADK rewinds whole invocations. `Idempotency-Key` is the id of the event.",
    query: &[ANSWER],
    headers: &[Header::Lease, Header::IfMatch, Header::IdempotencyKey],
    body: Some(Body { schema: "RewindSession", required: true }),
    answers: &[Reply::ok("The session.", "WrittenSession").with(&["ETag", "Idempotent-Replayed"])],
    errors: &[
        Code::SessionNotFound,
        Code::EventNotFound,
        Code::RevisionTrimmed,
        Code::EventIdConflict,
        Code::LeaseHeld,
        Code::Fenced,
        Code::LimitReached,
        Code::RevisionMismatch,
    ],
    ..Operation::of("Sessions", Access::Write(Role::User))
};

pub async fn rewind(mut call: Call) -> Result<Answer, Problem> {
    let (key, shows) = (call.names.session()?, call.take_query().shown());
    let (guard, id) = (call.headers.guard()?, call.headers.idempotency_key()?);
    let target = RewindTarget::parse(call.required_body().await?.json()?)?;
    let Changed { replayed, cost, after: view } =
        call.writer()?.rewind(key, target, id, guard, shows, call.deadline).await?;
    call.costs(cost);
    Ok(history::written(&call, Answer::ok().replayed(replayed), view, shows))
}
