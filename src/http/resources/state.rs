//! State: the merged state of a session, its keys, and app and user state on their own.

use axum::http::StatusCode;

use crate::domain::access::Role;
use crate::domain::change::{Keys, WrittenEdit, check_value};
use crate::domain::envelope::Fields;
use crate::domain::ids::{EventId, ScopeKey};
use crate::domain::query::{ScopeView, StateFilter};
use crate::domain::refusal::Mismatch;
use crate::domain::scope::{Scope, split};
use crate::domain::{FieldError, Limits, Rejected};
use crate::http::call::{Call, Query};
use crate::http::describe::{Access, Body, Header, Kind, Operation, Param, Reply, Serving, WAIT};
use crate::http::live::wait::current;
use crate::http::reply::{Answer, Code, Problem};
use crate::http::resources::events::APPEND_ERRORS;
use crate::service::{Changed, Error, StateChange, StoredValue};

const SCOPE: Param = Param {
    name: "scope",
    kind: Kind::OneOf(&["app", "user", "session"]),
    about: "Only this scope; keys keep their prefixes.",
};
const KEYS: Param = Param {
    name: "keys",
    kind: Kind::StateKeys,
    about: "Only these keys, separated by commas, with their prefixes. Missing keys are omitted.",
};

const AT_REVISION: Param = Param {
    name: "atRevision",
    kind: Kind::Integer { min: 0, max: i64::MAX },
    about: "The state after the event of this sequence, including app and user state; 0 for the creation. The ETag \
            belongs to that state.",
};

pub const GET: Operation = Operation {
    id: "getState",
    tag: "State",
    serving: Serving::NATIVE,
    access: Access::Read(Role::Reader),
    summary: "Read the merged state",
    description: "Session keys bare, user keys as `user:KEY`, app keys as `app:KEY`, in one object; a snapshot.",
    query: &[SCOPE, KEYS, AT_REVISION, WAIT],
    headers: &[Header::IfNoneMatch],
    body: None,
    answers: &[Reply {
        status: StatusCode::OK,
        about: "The merged state, or the requested part.",
        schema: Some("State"),
        headers: &["ETag"],
    }],
    errors: &[Code::SessionNotFound, Code::RevisionTrimmed, Code::PayloadTooLarge],
};

pub async fn get(mut call: Call) -> Result<Answer, Problem> {
    let query = call.take_query();
    let key = call.names.session()?;
    let filter = filter(&query, &call.limits())?;
    if let Some(revision) = query.integer(&AT_REVISION) {
        if query.wait().is_some() {
            return Err(Problem::field(WAIT.name, "excludes `atRevision`: the past does not change"));
        }
        let (tag, state) = call.service.state_at(key, revision, filter, call.deadline).await?;
        let tag = tag.to_string();
        if call.headers.has_current(&tag)? {
            return Ok(Answer::not_modified(tag));
        }
        return Ok(Answer::ok().tag(tag).json(state));
    }
    if let Some(answer) = current(&mut call, &key, query.wait()).await? {
        return Ok(answer);
    }
    let view = call.service.session(key, Some(filter), None, call.deadline).await?;
    Ok(Answer::ok().tag(view.head.tag()).json(view.state.unwrap_or_default()))
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

pub const PATCH: Operation = Operation {
    id: "patchState",
    tag: "State",
    serving: Serving::NATIVE,
    access: Access::Write(Role::User),
    summary: "Change the state",
    description: "Through one appended event, whose id is `eventId` or `Idempotency-Key` if one is given; then a retry \
                  changes nothing twice. `stateDelta` replaces values whole, `temp:` keys dropped; then the operators \
                  of `stateOps` are applied. With `preconditions`, only if they hold.",
    query: &[],
    headers: &[Header::Lease, Header::IfMatch, Header::IdempotencyKey],
    body: Some(Body { schema: "PatchState", required: true }),
    answers: &[Reply {
        status: StatusCode::OK,
        about: "The merged state.",
        schema: Some("State"),
        headers: &["ETag", "Idempotent-Replayed"],
    }],
    errors: APPEND_ERRORS,
};

pub async fn patch(mut call: Call) -> Result<Answer, Problem> {
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
    let Changed { replayed, cost, after: view } = call.writer()?.patch_state(edit, change, call.deadline).await?;
    call.costs(cost);
    Ok(Answer::ok().tag(view.head.tag()).replayed(replayed).json(view.state.unwrap_or_default()))
}

const DEFAULT_AUTHOR: &str = "user";

const AUTHOR: Param =
    Param { name: "author", kind: Kind::Text, about: "The author of the appended event; `user` by default." };

pub const GET_KEY: Operation = Operation {
    id: "getStateKey",
    tag: "State",
    serving: Serving::NATIVE,
    access: Access::Read(Role::Reader),
    summary: "Read one key",
    description: "The bare JSON value, byte for byte as it was written. The key carries its prefix.",
    query: &[],
    headers: &[Header::IfNoneMatch],
    body: None,
    answers: &[Reply { status: StatusCode::OK, about: "The value.", schema: Some("Value"), headers: &["ETag"] }],
    errors: &[Code::SessionNotFound, Code::StateKeyNotFound],
};

pub async fn get_key(call: Call) -> Result<Answer, Problem> {
    let (key, state_key) = (call.names.session()?, call.names.state_key()?);
    let (head, value) = call.service.value(&key, &state_key, call.deadline).await?;
    let tag = head.tag().to_string();
    if call.headers.has_current(&tag)? {
        return Ok(Answer::not_modified(tag));
    }
    Ok(Answer::ok().tag(tag).json(value.into_string()))
}

pub const PUT_KEY: Operation = Operation {
    id: "putStateKey",
    tag: "State",
    serving: Serving::NATIVE,
    access: Access::Write(Role::User),
    summary: "Set one key",
    description: "Through one appended event; with `Idempotency-Key`, which becomes its id, a retry changes nothing \
                  twice. With `If-None-Match: *` only if the state has no such key. `temp:` keys are not stored, so they are \
                  refused.",
    query: &[AUTHOR],
    headers: &[Header::Lease, Header::IfMatch, Header::CreateOnly, Header::IdempotencyKey],
    body: Some(Body { schema: "Value", required: true }),
    answers: &[Reply {
        status: StatusCode::OK,
        about: "The value, as written.",
        schema: Some("Value"),
        headers: &["ETag", "Idempotent-Replayed"],
    }],
    errors: APPEND_ERRORS,
};

pub async fn put_key(mut call: Call) -> Result<Answer, Problem> {
    let query = call.take_query();
    let (key, (scope, state_key)) = (call.names.session()?, stored_key(&call)?);
    check_writer(&call, &query, scope)?;
    let (guard, id) = (call.headers.guard()?, call.headers.idempotency_key()?);
    let body = call.required_body().await?;
    let value = body.json()?;
    check_value(value, String::new, &call.limits())?;
    let change =
        StateChange { key, id, author: query.text(&AUTHOR).unwrap_or(DEFAULT_AUTHOR), invocation_id: "", guard };
    let if_absent = call.headers.is_create_only()?;
    call.charge(body.cost())?;
    let put = call.writer()?.put_value((scope, &state_key), value, if_absent, change, call.deadline).await;
    let Changed { replayed, cost, after: StoredValue { tag, value } } = put.map_err(|error| match error {
        // The header is the only precondition on the key.
        Error::RevisionMismatch(mismatch) if !mismatch.failed.is_empty() => {
            let failed = vec![FieldError::new(Header::CreateOnly.title(), "the state has the key")];
            Error::RevisionMismatch(Mismatch { failed, ..mismatch })
        }
        error => error,
    })?;
    call.costs(cost);
    Ok(Answer::ok().tag(tag).replayed(replayed).json(value.into_string()))
}

pub const DELETE_KEY: Operation = Operation {
    id: "deleteStateKey",
    tag: "State",
    serving: Serving::NATIVE,
    access: Access::Write(Role::User),
    summary: "Remove one key",
    description: "Appends one event, or none if there is no such key.",
    query: &[AUTHOR],
    headers: &[Header::Lease, Header::IfMatch, Header::IdempotencyKey],
    body: None,
    answers: &[Reply {
        status: StatusCode::NO_CONTENT,
        about: "The state has no such key now.",
        schema: None,
        headers: &["ETag", "Idempotent-Replayed"],
    }],
    errors: APPEND_ERRORS,
};

pub async fn delete_key(mut call: Call) -> Result<Answer, Problem> {
    let query = call.take_query();
    let (key, (scope, state_key)) = (call.names.session()?, stored_key(&call)?);
    check_writer(&call, &query, scope)?;
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
fn check_writer(call: &Call, query: &Query, scope: Scope) -> Result<(), Problem> {
    let writer = call.limits().writer;
    writer.check_author(query.text(&AUTHOR).unwrap_or(DEFAULT_AUTHOR))?;
    Ok(writer.check_scopes([scope].into_iter())?)
}

/// The scope and the key, without prefix, of the path's state key, which must be one that is stored.
fn stored_key(call: &Call) -> Result<(Scope, String), Problem> {
    match split(&call.names.state_key()?) {
        Some((scope, key)) => Ok((scope, key.to_owned())),
        None => Err(Problem::field("key", "`temp:` keys are never stored")),
    }
}

const SCOPE_ANSWERS: &[Reply] = &[Reply {
    status: StatusCode::OK,
    about: "The state of this scope, keys without prefix.",
    schema: Some("State"),
    headers: &["ETag"],
}];

pub const GET_APP: Operation = Operation {
    id: "getAppState",
    tag: "State",
    serving: Serving::NATIVE,
    access: Access::ReadShared(Role::Reader),
    summary: "Read app state on its own",
    description: "Keys without prefix; `{}` if there is none. The ETag is the revision of the app's state.",
    query: &[],
    headers: &[Header::IfNoneMatch],
    body: None,
    answers: SCOPE_ANSWERS,
    errors: &[],
};

pub async fn get_app(call: Call) -> Result<Answer, Problem> {
    let scope = ScopeKey::App(call.names.app()?);
    get_scope(call, scope).await
}

pub const GET_USER: Operation = Operation {
    id: "getUserState",
    tag: "State",
    serving: Serving::NATIVE,
    access: Access::Read(Role::Reader),
    summary: "Read user state on its own",
    description: "Keys without prefix; `{}` if there is none. The ETag is the revision of the user's state.",
    query: &[],
    headers: &[Header::IfNoneMatch],
    body: None,
    answers: SCOPE_ANSWERS,
    errors: &[],
};

pub async fn get_user(call: Call) -> Result<Answer, Problem> {
    let scope = ScopeKey::User(call.names.user()?);
    get_scope(call, scope).await
}

async fn get_scope(call: Call, scope: ScopeKey) -> Result<Answer, Problem> {
    let view = call.service.scope(&scope, call.deadline).await?;
    let tag = scope_tag(&view);
    if call.headers.has_current(&tag)? {
        return Ok(Answer::not_modified(tag));
    }
    Ok(Answer::ok().tag(tag).json(view.state))
}

const PATCHED_SCOPE: &[Reply] = &[Reply { headers: &["ETag", "Idempotent-Replayed"], ..SCOPE_ANSWERS[0] }];

pub const PATCH_APP: Operation = Operation {
    id: "patchAppState",
    tag: "State",
    serving: Serving::NATIVE,
    access: Access::Write(Role::Agent),
    summary: "Change app state on its own",
    description: "Needs no session. Keys have no prefix here. `stateDelta`, `stateOps` and `preconditions` mean what \
                  they mean in a change of a session's state. The scope remembers an `Idempotency-Key` for a day: then the \
                  same request with the same key changes nothing, and is answered with the state as it is. Without one a \
                  lost answer is told as `outcome: unknown`.",
    query: &[],
    headers: &[Header::IfMatch, Header::IdempotencyKey],
    body: Some(Body { schema: "PatchScope", required: true }),
    answers: PATCHED_SCOPE,
    errors: &[Code::EventIdConflict, Code::RevisionMismatch],
};

pub async fn patch_app(call: Call) -> Result<Answer, Problem> {
    let scope = ScopeKey::App(call.names.app()?);
    patch_scope(call, scope).await
}

pub const PATCH_USER: Operation = Operation {
    id: "patchUserState",
    tag: "State",
    serving: Serving::NATIVE,
    access: Access::Write(Role::User),
    summary: "Change user state on its own",
    description: PATCH_APP.description,
    query: PATCH_APP.query,
    headers: PATCH_APP.headers,
    body: PATCH_APP.body,
    answers: PATCHED_SCOPE,
    errors: &[Code::EventIdConflict, Code::RevisionMismatch, Code::UserErased],
};

pub async fn patch_user(call: Call) -> Result<Answer, Problem> {
    let scope = ScopeKey::User(call.names.user()?);
    patch_scope(call, scope).await
}

async fn patch_scope(mut call: Call, scope: ScopeKey) -> Result<Answer, Problem> {
    let if_match = call.headers.if_match()?;
    let body = call.required_body().await?;
    let json = body.json()?;
    let mut fields = Fields::of(json, "")?;
    let WrittenEdit { edit, .. } = WrittenEdit::take(&mut fields, Keys::Of(scope.scope()), &call.limits())?;
    fields.finish()?;
    let request = call.request_key(Some(json))?;
    call.charge(body.cost())?;
    let Changed { replayed, cost, after: view } =
        call.writer()?.write_scope(scope, edit, if_match, request, call.deadline).await?;
    call.costs(cost);
    Ok(Answer::ok().tag(scope_tag(&view)).replayed(replayed).json(view.state))
}

fn scope_tag(view: &ScopeView) -> String {
    format!("\"{}\"", view.revision)
}
