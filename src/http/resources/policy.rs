//! `/v1/apps/{app}/policy`: how long the data of an app is kept.

use axum::http::StatusCode;

use crate::domain::access::Role;
use crate::domain::json::ObjectText;
use crate::domain::policy::{Policy, PolicyWrite, StoredPolicy};
use crate::http::call::Call;
use crate::http::describe::{Access, Body, Header, Kind, Operation, Param, Reply};
use crate::http::reply::{Answer, Code, Problem};
use crate::http::resources::state::is_there;

const TAG: &str = "Policies";

const POLICY: &[Reply] = &[Reply::ok("The policy.", "Policy").with(&["ETag"])];

pub const GET: Operation = Operation {
    id: "getPolicy",
    summary: "Read the policy of an app",
    description: "`{}` if there is none. The ETag is its revision, which counts changes and removals.",
    headers: &[Header::IfNoneMatch],
    answers: POLICY,
    ..Operation::of(TAG, Access::Read(Role::Operator))
};

pub async fn get(call: Call) -> Result<Answer, Problem> {
    let stored = call.service.policy(&call.names.app()?, call.deadline).await?;
    call.headers.tagged(tag(&stored), || text(&stored))
}

const DRY_RUN: Param =
    Param::new("dryRun", Kind::Boolean).about("Change nothing, and return what a sweep would remove now.");

pub const PUT: Operation = Operation {
    id: "putPolicy",
    summary: "Replace the policy of an app",
    description: "The sweep applies it, to existing data too. Sessions are idle from their last commit on, to the day \
                  and never early; reads and timestamps in events do not count. `sessions` does not affect a session \
                  with an expiry of its own. With `dryRun=true` it changes nothing, and returns `{wouldExpire: \
                  {sessions}, wouldTrim: {sessions, events}}`, and with `artifacts` in the policy also `wouldRemove: \
                  {artifactVersions}`, with the ETag of the current policy. `events.keepLast` \
                  beats the others; alone it removes nothing. `sharedHistory` removes what app and user state were, \
                  never what they are: `atRevision` from before then is 410 `revision_trimmed`, but for \
                  `scope=session`.",
    query: &[DRY_RUN],
    headers: &[Header::IfMatch, Header::CreateOnly],
    body: Some(Body { schema: "Policy", required: true }),
    answers: &[Reply::ok("The policy; of a dry run, what it would remove.", "PolicyAnswer").with(&["ETag"])],
    errors: &[Code::RevisionMismatch],
    ..Operation::of(TAG, Access::Write(Role::Operator))
};

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

pub const DELETE: Operation = Operation {
    id: "deletePolicy",
    summary: "Remove the policy of an app",
    description: "From then on nothing is removed without a request. Succeeds without a policy too.",
    headers: &[Header::IfMatch],
    answers: &[Reply::no_content("The app has no policy now.").with(&["ETag"])],
    errors: &[Code::RevisionMismatch],
    ..Operation::of(TAG, Access::Write(Role::Operator))
};

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
