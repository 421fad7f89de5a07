//! Instruction templates, filled in with the state and the artifacts of a session.

use crate::domain::access::Role;
use crate::domain::envelope::Fields;
use crate::domain::json::{Json, ObjectText};
use crate::domain::template::{Braces, Missing, Template};
use crate::http::call::Call;
use crate::http::describe::{Access, Body, Operation, Reply};
use crate::http::reply::{Answer, Code, Problem};

pub const RENDER: Operation = Operation {
    id: "renderTemplate",
    summary: "Fill in an instruction template",
    description: "`{key}` is replaced by the value of `key` in the merged state, and `{key?}` by nothing if there is \
                  no such key. A key is an identifier, perhaps after `app:`, `user:` or `temp:`; `temp:` keys are \
                  never there. Strings are inserted raw, `null` as nothing, everything else as compact JSON, and \
                  inserted text is not read as a template. `{artifact.NAME}` is replaced by the text of the latest \
                  version of an artifact, of the session or, if the name begins with `user:`, of its user: a text, or \
                  bytes of a type of text or JSON in UTF-8, of up to 1 MiB. Any other artifact is missing. Anything \
                  else in braces stays as it is, and so do `\\{key}` and `${key}`. Changes nothing.",
    body: Some(Body { schema: "Render", required: true }),
    answers: &[Reply::ok("The text. The ETag is that of the state that it shows.", "Rendered").with(&["ETag"])],
    errors: &[Code::SessionNotFound],
    ..Operation::of("State", Access::Read(Role::Reader))
};

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
