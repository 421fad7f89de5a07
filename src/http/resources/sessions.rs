//! `/v1/apps/{app}/users/{user}/sessions` and below: the sessions themselves.

use axum::http::{StatusCode, header};

use super::look;
use crate::domain::FieldError;
use crate::domain::access::{NameRange, Role};
use crate::domain::event::cost;
use crate::domain::find::Words;
use crate::domain::ids::{SessionId, SessionKey, UserId};
use crate::domain::query::{EventQuery, History, ListPosition, ListQuery, Look, OrderBy, SessionView, StateFilter};
use crate::domain::refusal::Mismatch;
use crate::domain::request_key::RequestKey;
use crate::domain::session::{IfExists, MetadataPatch, SessionDraft};
use crate::domain::time::Micros;
use crate::http::call::{Call, Received};
use crate::http::describe::{ANSWER, Access, Header, Kind, Operation, PAGE_SIZE, PAGE_TOKEN, Param, WAIT};
use crate::http::live::history;
use crate::http::live::wait::current;
use crate::http::reply::{self, Answer, Binding, Problem, foreign_token};
use crate::http::resources::events::HISTORY;
use crate::service::{Error, Made};

pub const CREATE: Operation =
    Operation::of("createSession", Access::Write(Role::User)).query(&[ANSWER]).headers(&[Header::IdempotencyKey]);

pub async fn create(mut call: Call) -> Result<Answer, Problem> {
    let (user, shows) = (call.names.user()?, call.take_query().shown());
    let (draft, request) = session_draft(&mut call, true).await?;
    let cost = draft.cost();
    call.charge(cost)?;
    let created = call.writer()?.create_session(user, draft, request, IfExists::Refuse, shows, call.deadline);
    let (made, view) = created.await?;
    call.costs(cost_of_creation(cost, made, &view));
    let id = view.head.key.session.to_string();
    Ok(history::written(&call, of_creation(made, &view), view, shows).named(vec![("session", id)]))
}

/// The actual cost of a creation with this charge: more if operators made its events larger, 0 if it created nothing.
pub fn cost_of_creation(charged: u32, made: Made, view: &SessionView) -> u32 {
    let events = view.events.events.iter().map(|event| cost(event.body.len()));
    if made == Made::New { charged.max(events.fold(0, u32::saturating_add)) } else { 0 }
}

/// The answer to a request that creates a session.
pub fn of_creation(made: Made, view: &SessionView) -> Answer {
    match made {
        Made::New => Answer::new(StatusCode::CREATED).header(header::LOCATION, reply::session_path(&view.head.key)),
        Made::Found => Answer::ok(),
        Made::Before => Answer::ok().replayed(true),
    }
}

pub const GET_OR_CREATE: Operation = Operation::of("getOrCreateSession", Access::Write(Role::User))
    .query(&[ANSWER])
    .headers(&[Header::CreateOnly, Header::IdempotencyKey]);

pub async fn get_or_create(mut call: Call) -> Result<Answer, Problem> {
    let (SessionKey { user, session }, shows) = (call.names.session()?, call.take_query().shown());
    let if_exists = if call.headers.is_create_only()? { IfExists::Mismatch } else { IfExists::Return };
    let (draft, request) = session_draft(&mut call, false).await?;
    let draft = SessionDraft { session_id: Some(session), ..draft };
    let cost = draft.cost();
    call.charge(cost)?;
    let created = call.writer()?.create_session(user, draft, request, if_exists, shows, call.deadline);
    let (made, view) = created.await.map_err(|error| match error {
        // Not for an event's precondition, which names the cause itself.
        Error::RevisionMismatch(mismatch) if mismatch.failed.is_empty() => {
            let failed = vec![FieldError::new(Header::CreateOnly.title(), "the session exists")];
            Error::RevisionMismatch(Mismatch { failed, ..mismatch })
        }
        error => error,
    })?;
    call.costs(cost_of_creation(cost, made, &view));
    Ok(history::written(&call, of_creation(made, &view), view, shows))
}

async fn session_draft(call: &mut Call, takes_id: bool) -> Result<(SessionDraft, Option<RequestKey>), Problem> {
    let body = call.body().await?;
    let json = body.as_ref().map(Received::json).transpose()?;
    let draft = match json {
        Some(json) => SessionDraft::parse(json, takes_id, &call.limits())?,
        None => SessionDraft::default(),
    };
    Ok((draft, call.request_key(json)?))
}

const NUM_RECENT_EVENTS: Param = Param::new("numRecentEvents", Kind::at_least(0));
const AFTER_TIMESTAMP: Param = Param::new("afterTimestamp", Kind::Time);

pub const GET: Operation = Operation::of("getSession", Access::Read(Role::Reader))
    .query(&[NUM_RECENT_EVENTS, AFTER_TIMESTAMP, HISTORY, WAIT])
    .headers(&[Header::IfNoneMatch]);

pub async fn get(mut call: Call) -> Result<Answer, Problem> {
    let query = call.take_query();
    let key = call.names.session()?;
    if let Some(answer) = current(&mut call, &key, query.wait()).await? {
        return Ok(answer);
    }
    let last = query.integer(&NUM_RECENT_EVENTS);
    let history = if query.text(&HISTORY) == Some("effective") { History::Effective(None) } else { History::Whole };
    let events = EventQuery { last, since: query.time(&AFTER_TIMESTAMP), history, ..EventQuery::all() };
    let asked = (last != Some(0)).then(|| events.clone());
    let view = call.service.session(key, Some(StateFilter::default()), asked, call.deadline).await?;
    Ok(history::session(&call, Answer::ok(), view, events))
}

pub const PATCH: Operation = Operation::of("updateSession", Access::Write(Role::User))
    .query(&[ANSWER])
    .headers(&[Header::Lease, Header::IfMatch]);

pub async fn patch(mut call: Call) -> Result<Answer, Problem> {
    let (key, shows) = (call.names.session()?, call.take_query().shown());
    let guard = call.headers.guard()?;
    let patch = MetadataPatch::parse(call.required_body().await?.json()?)?;
    let view = call.writer()?.update_metadata(key, patch, guard, shows, call.deadline).await?;
    Ok(history::written(&call, Answer::ok(), view, shows))
}

pub const DELETE: Operation =
    Operation::of("deleteSession", Access::Write(Role::User)).headers(&[Header::Lease, Header::IfMatch]);

pub async fn delete(call: Call) -> Result<Answer, Problem> {
    let guard = call.headers.guard()?;
    call.writer()?.delete_session(call.names.session()?, guard, call.deadline).await?;
    Ok(Answer::new(StatusCode::NO_CONTENT))
}

const ORDER_BY: Param = Param::new("orderBy", Kind::OneOf(&["lastUpdateTime", "createTime"]));
const ORDER: Param = Param::new("order", Kind::OneOf(&["asc", "desc"]));
const INCLUDE_STATE: Param = Param::new("includeState", Kind::Boolean);
const LABELS: Param = Param::new("label", Kind::Labels);
const USER_PREFIX: Param = Param::new("userPrefix", Kind::Prefix);
const ID_PREFIX: Param = Param::new("idPrefix", Kind::Prefix);
const FORKED_FROM: Param = Param::new("forkedFrom", Kind::Id);
const TITLE: Param = Param::new("title", Kind::Words { required: false });
const LIST_QUERY: &[Param] =
    &[PAGE_SIZE, PAGE_TOKEN, ORDER_BY, ORDER, INCLUDE_STATE, USER_PREFIX, ID_PREFIX, TITLE, LABELS];
const LIST_OF_USER_QUERY: &[Param] =
    &[PAGE_SIZE, PAGE_TOKEN, ORDER_BY, ORDER, INCLUDE_STATE, USER_PREFIX, ID_PREFIX, FORKED_FROM, TITLE, LABELS];

pub const LIST_OF_USER: Operation = Operation::of("listSessions", Access::Read(Role::Reader)).query(LIST_OF_USER_QUERY);

pub const LIST_OF_APP: Operation = Operation::of("listAppSessions", Access::ReadShared(Role::Reader)).query(LIST_QUERY);

/// The sessions of an app, or of one user of it.
pub async fn list(mut call: Call) -> Result<Answer, Problem> {
    let query = call.take_query();
    let (app, user) = (call.names.app()?, call.names.user.clone());
    let order_by = match query.text(&ORDER_BY) {
        Some("createTime") => OrderBy::CreateTime,
        _ => OrderBy::LastUpdateTime,
    };
    let descending = query.text(&ORDER) == Some("desc");
    let with_state = query.boolean(&INCLUDE_STATE);
    let mut binding = call
        .binding("sessions")
        .with(app.as_str())
        .with(user.as_ref().map_or("", UserId::as_str))
        .with(if order_by == OrderBy::CreateTime { "createTime" } else { "lastUpdateTime" })
        .with(if descending { "desc" } else { "asc" });
    let prefixes =
        [query.text(&USER_PREFIX), query.text(&ID_PREFIX)].map(|prefix| prefix.filter(|text| !text.is_empty()));
    binding = prefixes.iter().fold(binding, |binding, prefix| binding.with(prefix.unwrap_or("")));
    let forked_from = query.parsed(&FORKED_FROM, SessionId::parse)?;
    binding = binding.with(forked_from.as_ref().map_or("", SessionId::as_str));
    binding = binding.with(query.text(&TITLE).unwrap_or(""));
    let title = query.parsed(&TITLE, Words::parse)?;
    let [user_range, id_range] = prefixes.map(|prefix| prefix.map(NameRange::of_prefix));
    for (name, value) in query.labels() {
        binding = binding.with(name).with(value);
    }
    let after = query.text(&PAGE_TOKEN).map(|token| position(&binding, token)).transpose()?;
    let limits = &call.limits();
    let list = ListQuery {
        app,
        user,
        users: call.client.grant.users.clone(),
        order_by,
        descending,
        labels: query.labels().to_vec(),
        user_range,
        id_range,
        forked_from,
        after,
        with_state,
        max_rows: query.page_rows(limits)?,
        max_bytes: limits.page_bytes,
    };
    let (items, last) = match title {
        Some(words) => titled(&mut call, list, &words).await?,
        None => {
            let page = call.service.list_sessions(list, call.deadline).await?;
            let last = page.items.last().filter(|_| page.more).map(|view| order_by.position(&view.head));
            (page.items, last)
        }
    };
    let next = last.map(|last| binding.token(&(last.time.0, last.user.as_str(), last.session.as_str())));
    let sessions: Vec<String> = items.iter().map(|view| reply::session_object(view).close()).collect();
    Ok(Answer::ok().json(reply::page("sessions", &sessions, next)))
}

/// Those of a list with these words in the display name or the id, and where to go on, if there are more.
async fn titled(
    call: &mut Call,
    mut list: ListQuery,
    words: &Words,
) -> Result<(Vec<SessionView>, Option<ListPosition>), Problem> {
    let (service, order_by) = (call.service.clone(), list.order_by);
    let mut look = Look::new(list.max_rows, list.max_bytes);
    loop {
        let turn = call.turn().await?;
        (list.max_rows, list.max_bytes) = look.next();
        let page = service.list_sessions(list.clone(), call.deadline).await?;
        let words = words.clone();
        let judge = move |view: &SessionView| {
            let name = view.head.display_name.as_ref().and_then(|name| name.json().as_str());
            let is_wanted = words.are_in(name.into_iter().chain([view.head.key.session.as_str().into()]));
            (order_by.position(&view.head), view.weight(), is_wanted)
        };
        look = look::through(turn, look, (page.items, page.more), judge).await?;
        if !look::goes_on(call, 0, &look) {
            return Ok((look.found, look.at.filter(|_| look.more)));
        }
        list.after.clone_from(&look.at);
    }
}

fn position(binding: &Binding, token: &str) -> Result<ListPosition, Problem> {
    let (time, user, session): (i64, String, String) = binding.position(token)?;
    Ok(ListPosition {
        time: Micros(time),
        user: UserId::parse(&user).map_err(|_| foreign_token())?,
        session: SessionId::parse(&session).map_err(|_| foreign_token())?,
    })
}
