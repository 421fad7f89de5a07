//! `/v1/apps/{app}/policy`: how long the data of an app is kept.

use axum::http::StatusCode;

use crate::domain::access::Role;
use crate::domain::json::ObjectText;
use crate::domain::policy::{Policy, PolicyWrite, StoredPolicy};
use crate::http::call::Call;
use crate::http::describe::{Access, Header, Kind, Operation, Param};
use crate::http::reply::{Answer, Problem};
use crate::http::resources::state::is_there;

pub const GET: Operation = Operation::of("getPolicy", Access::Read(Role::Operator)).headers(&[Header::IfNoneMatch]);

pub async fn get(call: Call) -> Result<Answer, Problem> {
    let stored = call.service.policy(&call.names.app()?, call.deadline).await?;
    call.headers.tagged(tag(&stored), || text(&stored))
}

const DRY_RUN: Param = Param::new("dryRun", Kind::Boolean);

pub const PUT: Operation = Operation::of("putPolicy", Access::Write(Role::Operator))
    .query(&[DRY_RUN])
    .headers(&[Header::IfMatch, Header::CreateOnly]);

pub async fn put(mut call: Call) -> Result<Answer, Problem> {
    let has_policy = |error| is_there(error, "the app has a policy");
    let query = call.take_query();
    let (app, if_match, if_absent) = (call.names.app()?, call.headers.if_match()?, call.headers.is_create_only()?);
    let policy = Policy::parse(call.required_body().await?.json()?)?;
    let write = PolicyWrite { app, policy: Some(policy), if_match, if_absent };
    if !query.boolean(&DRY_RUN) {
        let stored = call.writer()?.set_policy(write, call.deadline).await.map_err(has_policy)?;
        return Ok(Answer::ok().tag(tag(&stored)).json(text(&stored)));
    }
    let (stored, counts, versions) = call.writer()?.try_policy(write, call.deadline).await.map_err(has_policy)?;
    let (mut expire, mut trim, mut found) = (ObjectText::default(), ObjectText::default(), ObjectText::default());
    expire.push("sessions", &counts.expired.to_string());
    trim.push("sessions", &counts.trimmed.to_string());
    trim.push("events", &counts.events.to_string());
    found.push("wouldExpire", &expire.close());
    found.push("wouldTrim", &trim.close());
    if let Some(versions) = versions {
        let mut remove = ObjectText::default();
        remove.push("artifactVersions", &versions.to_string());
        found.push("wouldRemove", &remove.close());
    }
    Ok(Answer::ok().tag(tag(&stored)).json(found.close()))
}

pub const DELETE: Operation = Operation::of("deletePolicy", Access::Write(Role::Operator)).headers(&[Header::IfMatch]);

pub async fn delete(call: Call) -> Result<Answer, Problem> {
    let write =
        PolicyWrite { app: call.names.app()?, policy: None, if_match: call.headers.if_match()?, if_absent: false };
    let stored = call.writer()?.set_policy(write, call.deadline).await?;
    Ok(Answer::new(StatusCode::NO_CONTENT).tag(tag(&stored)))
}

fn text(stored: &StoredPolicy) -> String {
    stored.policy.as_ref().map_or_else(|| "{}".to_owned(), Policy::to_json)
}

fn tag(stored: &StoredPolicy) -> String {
    format!("\"{}\"", stored.revision)
}
