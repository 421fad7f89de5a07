//! `.../events/{event}/redact`: what must not be read again.

use crate::domain::access::Role;
use crate::domain::json::string_array;
use crate::domain::redact::RedactDraft;
use crate::http::call::{Call, Received};
use crate::http::describe::{Access, Body, Header, Operation, Reply};
use crate::http::reply::{Answer, Code, Problem};

pub const REDACT: Operation = Operation {
    id: "redactEvent",
    summary: "Redact an event",
    description: "Of the event there stays when, by whom and in which invocation it was; its content is gone for every \
                  reader. With `state: keep` (the default) it still shows the changes of state that it made, and \
                  states are what they were. With `remove` its values are gone, too: past states lack them, and those \
                  that are still present are removed by an event that is appended, whose `revision` the answer has. \
                  What an operator of a later event made of such a value stays; `carriedOn` names these keys. Forks that \
                  hold the event are redacted with it, and so are the copies of it that rewinds made. Repeating the request changes nothing. A retry of the \
                  event is still recognised. The last part of the `ETag` changes.",
    headers: &[Header::Lease, Header::IfMatch],
    body: Some(Body { schema: "RedactEvent", required: false }),
    answers: &[Reply::ok("The event as it is now, and in how many forks.", "RedactedEvent").with(&["ETag"])],
    errors: &[
        Code::SessionNotFound,
        Code::EventNotFound,
        Code::RevisionTrimmed,
        Code::LeaseHeld,
        Code::Fenced,
        Code::RevisionMismatch,
    ],
    ..Operation::of("Events", Access::Write(Role::Operator))
};

pub async fn redact(mut call: Call) -> Result<Answer, Problem> {
    let (key, id) = (call.names.session()?, call.names.event_id()?);
    let guard = call.headers.guard()?;
    let body = call.body().await?;
    let draft = match body.as_ref().map(Received::json).transpose()? {
        Some(json) => RedactDraft::parse(json)?,
        None => RedactDraft::default(),
    };
    let redacted = call.writer()?.redact(key, id, draft, guard, call.deadline).await?;
    let mut text = String::new();
    redacted.event.write_json(&mut text);
    // A stored event is an object that is not empty.
    text.pop();
    text.push_str(&format!(",\"forks\":{}", redacted.forks));
    if let Some(revision) = redacted.revision {
        text.push_str(&format!(",\"revision\":{revision}"));
    }
    if !redacted.carried_on.is_empty() {
        text.push_str(",\"carriedOn\":");
        text.push_str(&string_array(&redacted.carried_on.into_iter().collect::<Vec<_>>()));
    }
    text.push('}');
    Ok(Answer::ok().tag(redacted.tag).json(text))
}
