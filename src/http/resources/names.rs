//! `/v1/apps` and `/v1/apps/{app}/users`: the apps and users that exist; `/v1/apps/{app}/activity`: how much an app does.

use crate::domain::access::Role;
use crate::domain::ids::AppName;
use crate::domain::json::ObjectText;
use crate::http::call::{Call, Query};
use crate::http::describe::{Access, Operation, PAGE_SIZE, PAGE_TOKEN};
use crate::http::reply::{self, Answer, Binding, Problem, foreign_token};

pub const APPS: Operation = Operation::of("listApps", Access::Read(Role::Reader)).query(&[PAGE_SIZE, PAGE_TOKEN]);

pub async fn apps(mut call: Call) -> Result<Answer, Problem> {
    let query = call.take_query();
    let binding = call.binding("apps");
    let (after, rows) = place(&call, &query, &binding)?;
    let names = call.service.apps(&after, rows + 1, &call.client.grant.apps, call.deadline).await?;
    let names: Vec<&str> = names.iter().map(|name| name.as_str()).collect();
    Ok(page("apps", "appName", &names, rows, &binding))
}

pub const USERS: Operation =
    Operation::of("listUsers", Access::ReadShared(Role::Reader)).query(&[PAGE_SIZE, PAGE_TOKEN]);

pub async fn users(mut call: Call) -> Result<Answer, Problem> {
    let query = call.take_query();
    let app = call.names.app()?;
    let binding = call.binding("users").with(app.as_str());
    let (after, rows) = place(&call, &query, &binding)?;
    let names = call.service.users(&app, &after, rows + 1, &call.client.grant.users, call.deadline).await?;
    let names: Vec<&str> = names.iter().map(|name| name.as_str()).collect();
    Ok(page("users", "userId", &names, rows, &binding))
}

pub const ACTIVITY: Operation = Operation::of("readAppActivity", Access::Read(Role::Reader));

pub async fn activity(call: Call) -> Result<Answer, Problem> {
    let activity = call.service.activity(&call.names.app()?, call.deadline).await?;
    let mut object = ObjectText::default();
    object.push("sessions", &activity.sessions.to_string());
    object.push("moreSessions", if activity.more_sessions { "true" } else { "false" });
    object.push("events", &activity.events.to_string());
    object.push("moreEvents", if activity.more_events { "true" } else { "false" });
    if let Some(last) = activity.last_error {
        let mut error = ObjectText::default();
        error.push_str("userId", last.user.as_str());
        error.push_str("sessionId", last.session.as_str());
        error.push_str("eventId", &last.event);
        error.push("sequence", &last.sequence.to_string());
        error.push("commitTime", &last.commit_time.to_number());
        error.push_str("errorCode", &last.code);
        error.push_some_str("errorMessage", last.message);
        object.push("lastError", &error.close());
    }
    Ok(Answer::ok().json(object.close()))
}

/// Where the page begins, and its size.
fn place(call: &Call, query: &Query, binding: &Binding) -> Result<(String, usize), Problem> {
    let after: String = query.position(binding)?.unwrap_or_default();
    // All ids follow the same rule. A token that breaks it is not ours.
    if !after.is_empty() && AppName::parse(&after).is_err() {
        return Err(foreign_token());
    }
    Ok((after, query.page_rows(&call.limits())?))
}

fn page(list: &str, field: &str, names: &[&str], rows: usize, binding: &Binding) -> Answer {
    let shown = &names[..names.len().min(rows)];
    let next = shown.last().filter(|_| names.len() > rows).map(|last| binding.token(last));
    let item = |name: &&str| {
        let mut item = ObjectText::default();
        item.push_str(field, name);
        item.close()
    };
    let items: Vec<String> = shown.iter().map(item).collect();
    Answer::ok().json(reply::page(list, &items, next))
}
