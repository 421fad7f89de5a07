//! State: the merged state of a session, its keys, and app and user state on their own.

use axum::http::StatusCode;

use crate::domain::access::Role;
use crate::domain::change::{Condition, Keys, Precondition, WrittenEdit, check_value};
use crate::domain::envelope::Fields;
use crate::domain::ids::EventId;
use crate::domain::json::ObjectText;
use crate::domain::query::{ScopePart, ScopeView, StateFilter, StatePart};
use crate::domain::refusal::Mismatch;
use crate::domain::scope::{Scope, split};
use crate::domain::state_range::{PageLimit, StatePage, StateRange};
use crate::domain::{FieldError, Limits, Rejected};
use crate::http::call::{Call, Query};
use crate::http::describe::{Access, Header, Kind, Operation, PAGE_TOKEN, Param, WAIT};
use crate::http::live::wait::current;
use crate::http::reply::{Answer, Binding, Problem, foreign_token};

use crate::service::{Changed, Error, StateChange, StoredValue};

const SCOPE: Param = Param::new("scope", Kind::OneOf(&["app", "user", "session"]));
const KEYS: Param = Param::new("keys", Kind::StateKeys);

const PREFIX: Param = Param::new("prefix", Kind::StateKey);
const PAGE_KEYS: Param = Param::new("pageSize", Kind::at_least(1));

const AT_REVISION: Param = Param::new("atRevision", Kind::at_least(0));

pub const GET: Operation = Operation::of("getState", Access::Read(Role::Reader))
    .query(&[SCOPE, KEYS, PREFIX, PAGE_KEYS, PAGE_TOKEN, AT_REVISION, WAIT])
    .headers(&[Header::IfNoneMatch]);

pub async fn get(mut call: Call) -> Result<Answer, Problem> {
    let query = call.take_query();
    let key = call.names.session()?;
    let at = query.integer(&AT_REVISION);
    for (param, why) in [(&AT_REVISION, "the past does not change"), (&PAGE_TOKEN, "the first page has waited")] {
        if query.wait().is_some() && query.text(param).is_some() {
            return Err(Problem::field(WAIT.name, format!("excludes `{}`: {why}", param.name)));
        }
    }
    let scope = query.text(&SCOPE);
    let binding = call.binding("state").with(key.app().as_str()).with(key.user.user.as_str());
    let binding =
        binding.with(key.session.as_str()).with(scope.unwrap_or("")).with(query.text(&AT_REVISION).unwrap_or(""));
    let pages = Pages::of(&query, binding, &call.limits())?;
    // A page goes on in the same session, and not in one that was made anew.
    let go_on = match pages.as_ref().and_then(|pages| pages.token) {
        Some(_) => Some(call.service.head(&key, call.deadline).await?.mark()),
        None => None,
    };
    let part = match &pages {
        Some(pages) => StatePart::Range(pages.range(go_on, scope.and_then(named_scope))?),
        None => StatePart::Keys(filter(&query, &call.limits())?),
    };
    let (tag, page) = match at {
        Some(revision) => call.service.state_at(key, revision, part, call.deadline).await?,
        None => {
            if let Some(answer) = current(&mut call, &key, query.wait()).await? {
                return Ok(answer);
            }
            call.service.state(key, part, call.deadline).await?
        }
    };
    if go_on.is_some_and(|mark| mark != tag.mark()) {
        return Err(Error::SessionNotFound.into());
    }
    call.headers.tagged(tag, || shown(pages.as_ref(), Some(tag.mark()), page))
}

fn named_scope(name: &str) -> Option<Scope> {
    [("app", Scope::App), ("user", Scope::User), ("session", Scope::Session)]
        .into_iter()
        .find_map(|(known, scope)| (known == name).then_some(scope))
}

/// What asks for a range of keys, perhaps in pages.
struct Pages<'q> {
    prefix: &'q str,
    limit: Option<PageLimit>,
    token: Option<&'q str>,
    /// Of its page tokens.
    binding: Binding,
}

impl<'q> Pages<'q> {
    /// `None` if neither a prefix nor pages are asked for.
    fn of(query: &'q Query, binding: Binding, limits: &Limits) -> Result<Option<Self>, Problem> {
        let [prefix, size, token] = [&PREFIX, &PAGE_KEYS, &PAGE_TOKEN].map(|param| query.text(param));
        if prefix.is_none() && size.is_none() && token.is_none() {
            return Ok(None);
        }
        if query.text(&KEYS).is_some() {
            return Err(Problem::field(KEYS.name, "excludes `prefix`, `pageSize` and `pageToken`"));
        }
        let rows = query.page_rows(limits)?;
        let limit = (size.is_some() || token.is_some()).then_some(PageLimit { rows, bytes: limits.page_bytes });
        let prefix = prefix.unwrap_or("");
        Ok(Some(Self { prefix, limit, token, binding: binding.with(prefix) }))
    }

    /// `mark`: of the session.
    fn range(&self, mark: Option<i64>, scope: Option<Scope>) -> Result<StateRange, Problem> {
        let after: Option<String> = self.token.map(|token| self.bound(mark).position(token)).transpose()?;
        // Anybody can write a token, and no database takes this in a text.
        if after.as_ref().is_some_and(|after| after.contains('\0')) {
            return Err(foreign_token());
        }
        Ok(StateRange::new(self.prefix, scope, self.limit, after.as_deref()))
    }

    fn bound(&self, mark: Option<i64>) -> Binding {
        self.binding.clone().with(&mark.map(|mark| mark.to_string()).unwrap_or_default())
    }
}

/// The body of an answer: the state, or a page of it.
fn shown(pages: Option<&Pages<'_>>, mark: Option<i64>, StatePage { state, next }: StatePage) -> String {
    let Some(pages) = pages.filter(|pages| pages.limit.is_some()) else { return state };
    let mut page = ObjectText::default();
    page.push("state", &state);
    page.push_some_str("nextPageToken", next.map(|last| pages.bound(mark).token(&last)));
    page.close()
}

fn filter(query: &Query, limits: &Limits) -> Result<StateFilter, Rejected> {
    let mut filter = match query.text(&KEYS) {
        None => StateFilter::default(),
        Some(keys) => {
            limits.check_keys(keys.split(',').count())?;
            StateFilter::keys(keys.split(','))
        }
    };
    if let Some(only) = query.text(&SCOPE) {
        for (scope, keys) in [("app", &mut filter.app), ("user", &mut filter.user), ("session", &mut filter.session)] {
            if scope != only {
                *keys = Some(Vec::new());
            }
        }
    }
    Ok(filter)
}

const ANSWER_OF_PATCH: Param = Param::new("answer", Kind::OneOf(&["full", "changed"]));

pub const PATCH: Operation = Operation::of("patchState", Access::Write(Role::User))
    .query(&[ANSWER_OF_PATCH])
    .headers(&[Header::Lease, Header::IfMatch, Header::IdempotencyKey]);

pub async fn patch(mut call: Call) -> Result<Answer, Problem> {
    let changed = call.take_query().text(&ANSWER_OF_PATCH) == Some("changed");
    let key = call.names.session()?;
    let guard = call.headers.guard()?;
    let idempotency_key = call.headers.idempotency_key()?;
    let body = call.required_body().await?;
    let mut fields = Fields::of(body.json()?, "")?;
    let edit = WrittenEdit::take(&mut fields, Keys::Merged, &call.limits())?;
    let author = fields.take_str("author");
    let invocation_id = fields.take_str("invocationId");
    let event_id = fields.take_str_with("eventId", EventId::parse);
    if let (Some(id), Some(header)) = (&event_id, &idempotency_key)
        && id != header
    {
        fields.refuse("eventId", "and the header Idempotency-Key name different events");
    }
    fields.finish()?;
    call.limits().writer.check_author(author.as_deref().unwrap_or(DEFAULT_AUTHOR))?;
    call.charge(body.cost())?;
    let change = StateChange {
        key,
        id: event_id.or(idempotency_key),
        author: author.as_deref().unwrap_or(DEFAULT_AUTHOR),
        invocation_id: invocation_id.as_deref().unwrap_or_default(),
        guard,
    };
    let named = changed.then(|| edit.edit.names(Keys::Merged));
    let shows = named.map_or_else(StateFilter::default, |keys| StateFilter::keys(keys.iter().map(String::as_str)));
    let patched = call.writer()?.patch_state(edit, change, shows, call.deadline);
    let Changed { replayed, cost, after: view } = patched.await?;
    call.costs(cost);
    Ok(Answer::ok().tag(view.head.tag()).replayed(replayed).json(view.state.unwrap_or_default()))
}

const DEFAULT_AUTHOR: &str = "user";

const AUTHOR: Param = Param::new("author", Kind::Text);

pub const GET_KEY: Operation = Operation::of("getStateKey", Access::Read(Role::Reader)).headers(&[Header::IfNoneMatch]);

pub async fn get_key(call: Call) -> Result<Answer, Problem> {
    let (key, state_key) = (call.names.session()?, call.names.state_key()?);
    let (head, value) = call.service.value(&key, &state_key, call.deadline).await?;
    call.headers.tagged(head.tag(), || value.into_string())
}

pub const PUT_KEY: Operation = Operation::of("putStateKey", Access::Write(Role::User)).query(&[AUTHOR]).headers(&[
    Header::Lease,
    Header::IfMatch,
    Header::CreateOnly,
    Header::IdempotencyKey,
]);

pub async fn put_key(mut call: Call) -> Result<Answer, Problem> {
    let query = call.take_query();
    let (key, (scope, state_key)) = (call.names.session()?, stored_key(&call)?);
    check_writer(&call, &query, (scope, &state_key))?;
    let (guard, id) = (call.headers.guard()?, call.headers.idempotency_key()?);
    let body = call.required_body().await?;
    let value = body.json()?;
    check_value(value, String::new, &call.limits())?;
    let change =
        StateChange { key, id, author: query.text(&AUTHOR).unwrap_or(DEFAULT_AUTHOR), invocation_id: "", guard };
    let if_absent = call.headers.is_create_only()?;
    call.charge(body.cost())?;
    let put = call.writer()?.put_value((scope, &state_key), value, if_absent, change, call.deadline).await;
    let Changed { replayed, cost, after: StoredValue { tag, value } } = put.map_err(has_key)?;
    call.costs(cost);
    Ok(Answer::ok().tag(tag).replayed(replayed).json(value.into_string()))
}

/// The error of a write of one key, of which `If-None-Match: *` is the only precondition on it.
fn has_key(error: Error) -> Error {
    is_there(error, "the state has the key")
}

/// The error of a write of which `If-None-Match: *` is the only precondition but for a revision: it names the header, and says why.
pub fn is_there(error: Error, why: &str) -> Error {
    match error {
        Error::RevisionMismatch(mismatch) if !mismatch.failed.is_empty() => {
            let failed = vec![FieldError::new(Header::CreateOnly.title(), why)];
            Error::RevisionMismatch(Mismatch { failed, ..mismatch })
        }
        error => error,
    }
}

pub const DELETE_KEY: Operation = Operation::of("deleteStateKey", Access::Write(Role::User))
    .query(&[AUTHOR])
    .headers(&[Header::Lease, Header::IfMatch, Header::IdempotencyKey]);

pub async fn delete_key(mut call: Call) -> Result<Answer, Problem> {
    let query = call.take_query();
    let (key, (scope, state_key)) = (call.names.session()?, stored_key(&call)?);
    check_writer(&call, &query, (scope, &state_key))?;
    let change = StateChange {
        key,
        id: call.headers.idempotency_key()?,
        author: query.text(&AUTHOR).unwrap_or(DEFAULT_AUTHOR),
        invocation_id: "",
        guard: call.headers.guard()?,
    };
    let delete = call.writer()?.delete_value((scope, &state_key), change, call.deadline);
    let Changed { replayed, cost, after: tag } = delete.await?;
    call.costs(cost);
    Ok(Answer::new(StatusCode::NO_CONTENT).tag(tag).replayed(replayed))
}

/// Checks that the client may write a key of this scope as the author that it names.
fn check_writer(call: &Call, query: &Query, (scope, key): (Scope, &str)) -> Result<(), Problem> {
    let writer = call.limits().writer;
    writer.check_author(query.text(&AUTHOR).unwrap_or(DEFAULT_AUTHOR))?;
    Ok(writer.check_keys([(scope, key)])?)
}

/// The scope and the key, without prefix, of the path's state key, which must be one that is stored.
fn stored_key(call: &Call) -> Result<(Scope, String), Problem> {
    match split(&call.names.state_key()?) {
        Some((scope, key)) => Ok((scope, key.to_owned())),
        None => Err(Problem::field("key", "`temp:` keys are never stored")),
    }
}

const KEYS_OF_SCOPE: Param = Param::new("keys", Kind::StateKeys);

pub const GET_APP: Operation = Operation::of("getAppState", Access::ReadShared(Role::Reader))
    .query(&[KEYS_OF_SCOPE, PREFIX, PAGE_KEYS, PAGE_TOKEN])
    .headers(&[Header::IfNoneMatch]);

pub const GET_USER: Operation = Operation { id: "getUserState", access: Access::Read(Role::Reader), ..GET_APP };

pub async fn get_scope(mut call: Call) -> Result<Answer, Problem> {
    let scope = call.names.scope()?;
    let query = call.take_query();
    let user = scope.borrowed().user().map_or("", |user| user.user.as_str());
    let binding = call.binding(scope.scope().prefix()).with(scope.app().as_str()).with(user);
    let pages = Pages::of(&query, binding, &call.limits())?;
    let part = match (&pages, query.text(&KEYS_OF_SCOPE)) {
        (Some(pages), _) => ScopePart::Range(pages.range(None, None)?),
        (None, Some(keys)) => {
            call.limits().check_keys(keys.split(',').count())?;
            let bare = |key| Keys::Of(scope.scope()).read(key).map(|_| key.to_owned());
            let keys: Result<_, _> = keys.split(',').map(bare).collect();
            ScopePart::Keys(keys.map_err(|message| Problem::field(KEYS_OF_SCOPE.name, message))?)
        }
        (None, None) => ScopePart::Whole,
    };
    let ScopeView { revision, state, next } = call.service.scope(&scope, part, call.deadline).await?;
    call.headers.tagged(scope_tag(revision), || shown(pages.as_ref(), None, StatePage { state, next }))
}

pub const PATCH_APP: Operation = Operation::of("patchAppState", Access::Write(Role::Agent))
    .query(&[ANSWER_OF_PATCH])
    .headers(&[Header::IfMatch, Header::IdempotencyKey]);

pub const PATCH_USER: Operation = Operation { id: "patchUserState", access: Access::Write(Role::User), ..PATCH_APP };

pub async fn patch_scope(mut call: Call) -> Result<Answer, Problem> {
    let scope = call.names.scope()?;
    let changed = call.take_query().text(&ANSWER_OF_PATCH) == Some("changed");
    let if_match = call.headers.if_match()?;
    let body = call.required_body().await?;
    let json = body.json()?;
    let mut fields = Fields::of(json, "")?;
    let keys = Keys::Of(scope.scope());
    let WrittenEdit { edit, .. } = WrittenEdit::take(&mut fields, keys, &call.limits())?;
    let shows = if changed { ScopePart::Keys(edit.names(keys)) } else { ScopePart::Whole };
    fields.finish()?;
    let request = call.request_key(Some(json))?;
    call.charge(body.cost())?;
    let Changed { replayed, cost, after: view } =
        call.writer()?.write_scope(scope, edit, if_match, request, shows, call.deadline).await?;
    call.costs(cost);
    Ok(Answer::ok().tag(scope_tag(view.revision)).replayed(replayed).json(view.state))
}

fn scope_tag(revision: i64) -> String {
    format!("\"{revision}\"")
}

pub const GET_APP_KEY: Operation =
    Operation::of("getAppStateKey", Access::ReadShared(Role::Reader)).headers(&[Header::IfNoneMatch]);

pub const GET_USER_KEY: Operation =
    Operation { id: "getUserStateKey", access: Access::Read(Role::Reader), ..GET_APP_KEY };

pub async fn get_scope_key(call: Call) -> Result<Answer, Problem> {
    let (scope, key) = call.names.scope_key()?;
    let (revision, value) = call.service.scope_value(&scope, key, call.deadline).await?;
    call.headers.tagged(scope_tag(revision), || value.into_string())
}

pub const PUT_APP_KEY: Operation = Operation::of("putAppStateKey", Access::Write(Role::Agent)).headers(&[
    Header::IfMatch,
    Header::CreateOnly,
    Header::IdempotencyKey,
]);

pub const PUT_USER_KEY: Operation =
    Operation { id: "putUserStateKey", access: Access::Write(Role::User), ..PUT_APP_KEY };

pub async fn put_scope_key(mut call: Call) -> Result<Answer, Problem> {
    let (scope, key) = call.names.scope_key()?;
    let (if_match, if_absent) = (call.headers.if_match()?, call.headers.is_create_only()?);
    let body = call.required_body().await?;
    let value = body.json()?;
    check_value(value, String::new, &call.limits())?;
    let mut edit = WrittenEdit::set(scope.scope(), &key, value.to_raw()).edit;
    if if_absent {
        let condition = Condition::Exists(false);
        edit.preconditions.push(Precondition { scope: scope.scope(), key: key.into(), condition });
    }
    let request = call.request_key_of_value(value)?;
    call.charge(body.cost())?;
    let put = call.writer()?.write_scope(scope, edit, if_match, request, NOTHING, call.deadline).await;
    let Changed { replayed, cost, after: view } = put.map_err(has_key)?;
    call.costs(cost);
    Ok(Answer::ok().tag(scope_tag(view.revision)).replayed(replayed).json(value.text()))
}

/// The revision alone.
const NOTHING: ScopePart = ScopePart::Keys(Vec::new());

pub const DELETE_APP_KEY: Operation =
    Operation::of("deleteAppStateKey", Access::Write(Role::Agent)).headers(&[Header::IfMatch, Header::IdempotencyKey]);

pub const DELETE_USER_KEY: Operation =
    Operation { id: "deleteUserStateKey", access: Access::Write(Role::User), ..DELETE_APP_KEY };

pub async fn delete_scope_key(call: Call) -> Result<Answer, Problem> {
    let (scope, key) = call.names.scope_key()?;
    let (if_match, request) = (call.headers.if_match()?, call.request_key(None)?);
    let edit = WrittenEdit::remove(scope.scope(), &key).edit;
    let delete = call.writer()?.write_scope(scope, edit, if_match, request, NOTHING, call.deadline);
    let Changed { replayed, cost, after: view } = delete.await?;
    call.costs(cost);
    Ok(Answer::new(StatusCode::NO_CONTENT).tag(scope_tag(view.revision)).replayed(replayed))
}
