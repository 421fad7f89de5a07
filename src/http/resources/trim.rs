//! `.../sessions/{session}/trim`: a session's log begins at a later revision.

use crate::domain::access::Role;
use crate::domain::json::ObjectText;
use crate::domain::trim::Cut;
use crate::http::call::Call;
use crate::http::describe::{Access, Header, Operation};
use crate::http::reply::{Answer, Problem};

pub const TRIM: Operation =
    Operation::of("trimSession", Access::Write(Role::Operator)).headers(&[Header::Lease, Header::IfMatch]);

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
