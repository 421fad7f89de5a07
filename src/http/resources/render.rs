//! Instruction templates, filled in with the state and the artifacts of a session.

use crate::domain::access::Role;
use crate::domain::envelope::Fields;
use crate::domain::json::{Json, ObjectText};
use crate::domain::template::{Braces, Missing, Template};
use crate::http::call::Call;
use crate::http::describe::{Access, Operation};
use crate::http::reply::{Answer, Problem};

pub const RENDER: Operation = Operation::of("renderTemplate", Access::Read(Role::Reader));

pub async fn render(mut call: Call) -> Result<Answer, Problem> {
    let key = call.names.session()?;
    let body = call.required_body().await?;
    let mut fields = Fields::of(body.json()?, "")?;
    let text = fields.take("template").and_then(Json::as_str);
    if text.is_none() {
        fields.refuse("template", "must be a string");
    }
    let braces =
        fields.take_str_with("braces", |word| Braces::parse(word).ok_or("must be adk or literal")).unwrap_or_default();
    let missing = fields
        .take_str_with("missing", |word| Missing::parse(word).ok_or("must be error, empty or keep"))
        .unwrap_or_default();
    fields.finish()?;
    let template = Template::parse(text.as_deref().unwrap_or_default(), braces)?;
    let (tag, text) = call.service.render(key, &template, missing, call.deadline).await?;
    let mut answer = ObjectText::default();
    answer.push_str("text", &text);
    Ok(Answer::ok().tag(tag).json(answer.close()))
}
