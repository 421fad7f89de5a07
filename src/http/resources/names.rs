//! `/v1/apps` and `/v1/apps/{app}/users`: the apps and users that exist.

use axum::http::StatusCode;

use crate::domain::access::Role;
use crate::domain::ids::AppName;
use crate::domain::json::ObjectText;
use crate::http::call::{Call, Query};
use crate::http::describe::{Access, Operation, PAGE_SIZE, PAGE_TOKEN, Reply, Serving};
use crate::http::reply::{self, Answer, Binding, Problem};

pub const APPS: Operation = Operation {
    id: "listApps",
    tag: "Apps and users",
    serving: Serving::NATIVE,
    access: Access::Read(Role::Reader),
    summary: "List the apps that have sessions or state",
    description: "In byte order. An expired session counts until it is swept.",
    query: &[PAGE_SIZE, PAGE_TOKEN],
    headers: &[],
    body: None,
    answers: &[Reply { status: StatusCode::OK, about: "A page of apps.", schema: Some("AppList"), headers: &[] }],
    errors: &[],
};

pub async fn apps(mut call: Call) -> Result<Answer, Problem> {
    let query = call.take_query();
    let binding = call.binding("apps");
    let (after, rows) = place(&call, &query, &binding)?;
    let names = call.service.apps(&after, rows + 1, &call.client.grant.apps, call.deadline).await?;
    let names: Vec<&str> = names.iter().map(|name| name.as_str()).collect();
    Ok(page("apps", "appName", &names, rows, &binding))
}

pub const USERS: Operation = Operation {
    id: "listUsers",
    tag: "Apps and users",
    serving: Serving::NATIVE,
    access: Access::ReadShared(Role::Reader),
    summary: "List the users of an app that have sessions or state",
    description: "In byte order. An unknown app has none. An expired session counts until it is swept.",
    query: &[PAGE_SIZE, PAGE_TOKEN],
    headers: &[],
    body: None,
    answers: &[Reply { status: StatusCode::OK, about: "A page of users.", schema: Some("UserList"), headers: &[] }],
    errors: &[],
};

pub async fn users(mut call: Call) -> Result<Answer, Problem> {
    let query = call.take_query();
    let app = call.names.app()?;
    let binding = call.binding("users").with(app.as_str());
    let (after, rows) = place(&call, &query, &binding)?;
    let names = call.service.users(&app, &after, rows + 1, &call.client.grant.users, call.deadline).await?;
    let names: Vec<&str> = names.iter().map(|name| name.as_str()).collect();
    Ok(page("users", "userId", &names, rows, &binding))
}

/// Where the page begins, and its size.
fn place(call: &Call, query: &Query, binding: &Binding) -> Result<(String, usize), Problem> {
    let after: String = match query.text(&PAGE_TOKEN) {
        Some(token) => binding.position(token)?,
        None => String::new(),
    };
    // All ids follow the same rule. A token that breaks it is not ours.
    if !after.is_empty() && AppName::parse(&after).is_err() {
        return Err(Problem::field(PAGE_TOKEN.name, "is not a token of this query"));
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
