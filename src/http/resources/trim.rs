//! `.../sessions/{session}/trim`: a session's log begins at a later revision.

use crate::domain::access::Role;
use crate::domain::json::ObjectText;
use crate::domain::trim::Cut;
use crate::http::call::Call;
use crate::http::describe::{Access, Body, Header, Operation, Reply};
use crate::http::reply::{Answer, Code, Problem};

pub const TRIM: Operation = Operation {
    id: "trimSession",
    summary: "Trim a session",
    description: "The session then begins at `baseRevision`: the state stays, and the events up to there are gone for \
                  every reader. Takes one of `beforeSequence`, `keepLast` and `beforeTime` (by `commitTime`); a value \
                  beyond the log means its end, and a base never goes back, so repeating the request changes nothing. \
                  A retry of a trimmed event is still recognised. No event is appended and no revision changes; the \
                  last part of the `ETag` does.",
    headers: &[Header::Lease, Header::IfMatch],
    body: Some(Body { schema: "TrimSession", required: true }),
    answers: &[
        Reply::ok("Where the log begins, and how many events this request took.", "TrimmedSession").with(&["ETag"])
    ],
    errors: &[Code::SessionNotFound, Code::LeaseHeld, Code::Fenced, Code::RevisionMismatch],
    ..Operation::of("Sessions", Access::Write(Role::Operator))
};

pub async fn trim(mut call: Call) -> Result<Answer, Problem> {
    let key = call.names.session()?;
    let guard = call.headers.guard()?;
    let cut = Cut::parse(call.required_body().await?.json()?)?;
    let trimmed = call.writer()?.trim(key, cut, guard, call.deadline).await?;
    let mut object = ObjectText::default();
    object.push("baseRevision", &trimmed.base.to_string());
    object.push("trimmedEvents", &trimmed.events.to_string());
    object.push("revision", &trimmed.tag.revision.to_string());
    Ok(Answer::ok().tag(trimmed.tag).json(object.close()))
}
