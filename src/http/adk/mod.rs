//! The paths of ADK's own server, `adk api_server` 2.13: its forms, on the same service. `docs/adk.md` lists the
//! differences and their reasons.
//!
//! Unknown parameters and fields of a body are ignored, as that server ignores them, so that its clients work
//! unchanged. Otherwise the conventions of the rest of the API apply.

pub mod artifacts;
mod restored;
mod secrets;
pub mod shape;

use restored::restored;
use tokio::time::Instant;

use crate::domain::Limits;
use crate::domain::access::{Names, Role};
use crate::domain::change::{Keys, WrittenEdit, parse_delta};
use crate::domain::envelope::Fields;
use crate::domain::ids::{SessionKey, UserKey};
use crate::domain::json::{Json, Kind as JsonKind, ObjectText, RawJson};
use crate::domain::query::{EventQuery, ListQuery, OrderBy, SessionView, StateFilter};
use crate::domain::request_key::RequestKey;
use crate::domain::session::{IfExists, SessionDraft};
use crate::domain::shown::Shown;
use crate::http::call::{Call, Received};
use crate::http::describe::{Access, Header, Kind, Operation, Param, Serving};
use crate::http::live::array::{Pages, array};
use crate::http::live::history::session_as;
use crate::http::live::wait::current;
use crate::http::reply::{Answer, Code, Problem};
use crate::http::resources::sessions::cost_of_creation;
use crate::http::resources::system;
use crate::service::{self, Changed, Guard, Made, Reader, StateChange};

/// As at the API's own path.
pub use crate::http::resources::system::health;

/// Sessions of ADK's evaluations, which ADK's lists omit.
const HIDDEN: &[&str] = &["adk-eval-session-", "___eval___session___"];

/// Of stored data, in ADK's form.
const fn adk(id: &'static str, access: Access) -> Operation {
    Operation::of(id, access).serving(Serving::ADK)
}

pub const CREATE: Operation = adk("adkCreateSession", Access::Write(Role::User)).headers(&[Header::IdempotencyKey]);

pub async fn create(mut call: Call) -> Result<Answer, Problem> {
    let user = call.names.user()?;
    let body = call.body().await?;
    let native = given(body.as_ref())?.map(native_creation).transpose()?;
    let native = native.as_deref().map(Json::trusted);
    let draft = match native {
        Some(json) => SessionDraft::parse(json, true, &call.limits())?,
        None => SessionDraft::default(),
    };
    let request = call.request_key(native)?;
    created(call, user, draft, request).await
}

/// The body, which may be absent or `null`.
fn given(body: Option<&Received>) -> Result<Option<Json<'_>>, Problem> {
    Ok(body.map(Received::json).transpose()?.filter(|json| !json.is_null()))
}

/// The body of the native API's request for the same session.
fn native_creation(json: Json<'_>) -> Result<String, Problem> {
    let mut fields = Fields::of(json, "")?;
    let mut native = ObjectText::default();
    for name in ["sessionId", "state", "events"] {
        let Some(value) = fields.take(name) else { continue };
        match value.as_array() {
            Some(events) if name == "events" => {
                let events: Vec<String> =
                    events.enumerate().map(|(n, event)| restored(event, n, &mut fields)).collect();
                native.push(name, &format!("[{}]", events.join(",")));
            }
            _ => native.push(name, value.text()),
        }
    }
    if let Some(options) = fields.take("options")
        && options.as_object().is_none_or(|mut members| members.next().is_some())
    {
        fields.refuse("options", "must be empty: there are none");
    }
    fields.ignore_others();
    fields.finish()?;
    Ok(native.close())
}

pub const CREATE_WITH_ID: Operation =
    adk("adkCreateSessionWithId", Access::Write(Role::User)).headers(&[Header::IdempotencyKey]);

pub async fn create_with_id(mut call: Call) -> Result<Answer, Problem> {
    let SessionKey { user, session } = call.names.session()?;
    let body = call.body().await?;
    let json = given(body.as_ref())?;
    let limits = &call.limits();
    let state = match json {
        Some(json) => parse_delta(json, Keys::Merged, "", limits)?,
        None => Vec::new(),
    };
    limits.check_keys(state.len())?;
    let request = call.request_key(json)?;
    created(call, user, SessionDraft { session_id: Some(session), state, ..SessionDraft::default() }, request).await
}

async fn created(
    call: Call,
    user: UserKey,
    draft: SessionDraft,
    request: Option<RequestKey>,
) -> Result<Answer, Problem> {
    let is_in_path = call.names.session().is_ok();
    let cost = draft.cost();
    call.charge(cost)?;
    let created =
        call.writer()?.create_session(user, draft, request, IfExists::Refuse, Shown::Full, call.deadline).await;
    let (made, view) = created.map_err(|error| match error {
        // The native API's advice does not apply: there is no PUT here.
        service::Error::SessionAlreadyExists => {
            Problem::new(Code::SessionAlreadyExists, "the session exists and was left as it is")
        }
        error => error.into(),
    })?;
    call.costs(cost_of_creation(cost, made, &view));
    let names = if is_in_path { Vec::new() } else { vec![("session", view.head.key.session.to_string())] };
    Ok(session(&call, Answer::ok().replayed(made == Made::Before), view).named(names))
}

fn session(call: &Call, answer: Answer, view: SessionView) -> Answer {
    session_as(shape::FORM, call, answer, view, EventQuery::all())
}

pub const GET: Operation = adk("adkGetSession", Access::Read(Role::Reader)).headers(&[Header::IfNoneMatch]);

pub async fn get(mut call: Call) -> Result<Answer, Problem> {
    let key = call.names.session()?;
    if let Some(answer) = current(&mut call, &key, None).await? {
        return Ok(answer);
    }
    let asked = (Some(StateFilter::default()), Some(EventQuery::all()));
    let view = call.service.session(key, asked.0, asked.1, call.deadline).await?;
    Ok(session(&call, Answer::ok(), view))
}

pub const PATCH: Operation =
    adk("adkUpdateSession", Access::Write(Role::User)).headers(&[Header::Lease, Header::IdempotencyKey]);

pub async fn patch(mut call: Call) -> Result<Answer, Problem> {
    let key = call.names.session()?;
    let (guard, id) = (Guard { lease: call.headers.lease()?, if_match: None }, call.headers.idempotency_key()?);
    let body = call.required_body().await?;
    let mut fields = Fields::of(body.json()?, "")?;
    let delta = fields.take("stateDelta").filter(|delta| delta.kind() == JsonKind::Object);
    if delta.is_none() {
        fields.refuse("stateDelta", "must be an object");
    }
    let pointer = fields.pointer("stateDelta");
    fields.ignore_others();
    fields.finish()?;
    let limits = &call.limits();
    let edit = delta.map(|delta| WrittenEdit::of_delta(delta, &pointer, limits)).transpose()?.unwrap_or_default();
    let invocation_id = match &id {
        // A retry appends the same event.
        Some(id) => format!("p-{id}"),
        None => format!("p-{}", call.app.clock.fresh_id()),
    };
    let invocation_id = &invocation_id;
    let change = StateChange { key, id, author: "user", invocation_id, guard };
    call.charge(body.cost())?;
    let Changed { replayed, cost, after: mut view } =
        call.writer()?.patch_state(edit, change, StateFilter::default(), call.deadline).await?;
    call.costs(cost);
    // No event has been read yet.
    view.events.more = true;
    Ok(session(&call, Answer::ok().replayed(replayed), view))
}

pub const DELETE: Operation = adk("adkDeleteSession", Access::Write(Role::User));

pub async fn delete(call: Call) -> Result<Answer, Problem> {
    call.writer()?.delete_session(call.names.session()?, Guard::default(), call.deadline).await?;
    Ok(Answer::ok().json("null"))
}

pub const LIST: Operation = adk("adkListSessions", Access::Read(Role::Reader));

pub async fn list(call: Call) -> Result<Answer, Problem> {
    let Limits { page_rows, page_bytes, .. } = call.limits();
    let all = ListQuery::of_user(call.names.user()?, OrderBy::LastUpdateTime, (page_rows, page_bytes));
    all_of(call, Sessions(ListQuery { with_state: true, ..all })).await
}

const DETAILED: Param = Param::new("detailed", Kind::OneOf(&["false", "False", "0"]));

pub const APPS: Operation = adk("adkListApps", Access::Read(Role::Reader)).query(&[DETAILED]);

pub async fn apps(call: Call) -> Result<Answer, Problem> {
    let within = call.client.grant.apps.clone();
    all_of(call, Apps { after: String::new(), within }).await
}

/// An array of all pages, as ADK has no pages.
async fn all_of(call: Call, mut pages: impl Pages) -> Result<Answer, Problem> {
    let (first, more) = pages.next(&call.service, call.deadline).await?;
    Ok(array(&call, Answer::ok(), format!("[{first}"), more, "]", pages))
}

/// The elements of a page.
fn elements<T>(page: impl IntoIterator<Item = T>, shown: impl FnMut(T) -> String) -> String {
    page.into_iter().map(shown).collect::<Vec<_>>().join(",")
}

/// The sessions of a user.
struct Sessions(ListQuery);

impl Pages for Sessions {
    async fn next(&mut self, service: &Reader, deadline: Instant) -> service::Result<(String, bool)> {
        let Self(query) = self;
        let page = service.list_sessions(query.clone(), deadline).await?;
        query.after = page.items.last().map(|view| query.order_by.position(&view.head));
        let is_shown =
            |view: &&SessionView| !HIDDEN.iter().any(|mark| view.head.key.session.as_str().starts_with(mark));
        Ok((elements(page.items.iter().filter(is_shown), shape::summary), page.more))
    }
}

/// The apps of a grant.
struct Apps {
    after: String,
    within: Names,
}

impl Pages for Apps {
    async fn next(&mut self, service: &Reader, deadline: Instant) -> service::Result<(String, bool)> {
        let rows = service.limits().page_rows;
        let names = service.apps(&self.after, rows, &self.within, deadline).await?;
        if let Some(last) = names.last() {
            last.as_str().clone_into(&mut self.after);
        }
        Ok((elements(&names, |name| RawJson::string(name.as_str()).into_string()), names.len() == rows))
    }
}

pub const HEALTH: Operation = Operation { id: "adkHealth", ..system::HEALTH };

pub const VERSION: Operation =
    Operation::of("adkVersion", Access::Open).serving(Serving { strict_query: false, ..Serving::PROCESS });

pub async fn version(_: Call) -> Result<Answer, Problem> {
    let mut object = ObjectText::default();
    object.push_str("version", env!("CARGO_PKG_VERSION"));
    object.push_str("language", "rust");
    object.push_str("language_version", env!("CARGO_PKG_RUST_VERSION"));
    Ok(Answer::ok().json(object.close()))
}
