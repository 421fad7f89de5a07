//! `.../events/{event}/redact`: what must not be read again.

use crate::domain::access::Role;
use crate::domain::json::string_array;
use crate::domain::redact::RedactDraft;
use crate::http::call::{Call, Received};
use crate::http::describe::{Access, Header, Operation};
use crate::http::reply::{self, Answer, Problem};

pub const REDACT: Operation =
    Operation::of("redactEvent", Access::Write(Role::Operator)).headers(&[Header::Lease, Header::IfMatch]);

pub async fn redact(mut call: Call) -> Result<Answer, Problem> {
    let (key, id) = (call.names.session()?, call.names.event_id()?);
    let guard = call.headers.guard()?;
    let body = call.body().await?;
    let draft = match body.as_ref().map(Received::json).transpose()? {
        Some(json) => RedactDraft::parse(json)?,
        None => RedactDraft::default(),
    };
    let redacted = call.writer()?.redact(key, id, draft, guard, call.deadline).await?;
    let mut text = reply::event_text(&redacted.event);
    // A stored event is an object that is not empty.
    text.pop();
    text.push_str(&format!(",\"forks\":{}", redacted.forks));
    if let Some(revision) = redacted.revision {
        text.push_str(&format!(",\"revision\":{revision}"));
    }
    if !redacted.carried_on.is_empty() {
        text.push_str(",\"carriedOn\":");
        text.push_str(&string_array(redacted.carried_on));
    }
    text.push('}');
    Ok(Answer::ok().tag(redacted.tag).json(text))
}
