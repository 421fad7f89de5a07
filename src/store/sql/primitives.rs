//! What transactions do, on either database, in statements that both share.

use std::collections::HashMap;
use std::ops::ControlFlow;

use super::filter::filter_text;
use super::list::list as list_statement;
use super::query::{Query, Sql, Value};
use super::rows::{
    DifferenceRow, EventRow, HeadRow, HistoryRow, LeaseRow, ListedRow, PagedEventRow, ScopeRow, SeenRow, StateRow,
    TrimRow, ViewRow, event_page, listed,
};
use crate::domain::access::NameRange;
use crate::domain::command::Fork;
use crate::domain::erasure::Removed;
use crate::domain::event::StoredEvent;
use crate::domain::history;
use crate::domain::ids::{
    AppName, EventId, IdempotencyKey, ScopeKey, SessionId, SessionKey, StateAddress, UserId, UserKey,
};
use crate::domain::json::RawJson;
use crate::domain::lease::{Exclusive, Lease, LeaseView};
use crate::domain::loaded::{LockedSession, SessionHead};
use crate::domain::policy::{Forget, Scopes};
use crate::domain::query::{EventPage, EventQuery, ListQuery, Page, ScopeView, SessionQuery, SessionView, StateFilter};
use crate::domain::request_key::RequestKey;
use crate::domain::rewind::{Difference, hidden};
use crate::domain::scope::join;
use crate::domain::session::{MetadataPatch, SessionInfo};
use crate::domain::tag::Tag;
use crate::domain::time::{Micros, Timestamp};
use crate::domain::writes::{Committed, Removal, SessionChange};
use crate::store::error::{Cause, StoreError, corrupt};

type Result<T> = std::result::Result<T, StoreError>;

/// How many events one statement copies: it must end within its time limit.
const COPIED_EVENTS: i64 = 10_000;

/// The one row of a statement that always has one.
pub async fn one<R: super::query::Row>(db: &mut impl Sql, query: Query<'_>) -> Result<R> {
    let row = db.fetch(query).await?.pop();
    row.ok_or_else(|| StoreError::new(Cause::Internal, "a statement that always has a row had none"))
}

/// The row of a statement that has at most one.
pub async fn at_most_one<R: super::query::Row>(db: &mut impl Sql, query: Query<'_>) -> Result<Option<R>> {
    Ok(db.fetch(query).await?.pop())
}

/// A statement over the rows of one incarnation of a session.
fn of<'a>(text: &'static str, key: &'a SessionKey, incarnation: i64) -> Query<'a> {
    Query::new(text).session(key).bind(incarnation)
}

/// How many sessions a user has that have not expired, counted up to `most`.
pub async fn count_sessions(db: &mut impl Sql, user: &UserKey, now: Micros, most: i64) -> Result<i64> {
    let query = Query::new(&*db.statements().count_sessions).app(&user.app).bind(user.user.as_str());
    let (count,): (i64,) = one(db, query.bind(now.0).bind(most)).await?;
    Ok(count)
}

pub async fn set_metadata(db: &mut impl Sql, key: &SessionKey, patch: &MetadataPatch, now: Micros) -> Result<()> {
    let query = Query::new(&*db.statements().set_metadata)
        .session(key)
        .bind(patch.display_name.is_some())
        .bind(patch.display_name.as_ref().and_then(|name| name.as_ref().map(RawJson::text)))
        .bind(patch.labels.is_some())
        .bind(patch.labels.as_ref().and_then(|labels| labels.as_ref().map(RawJson::text)))
        .bind(patch.expiry.is_some())
        .bind(patch.expiry.flatten().map(|expiry| expiry.at(now).0))
        .bind(patch.expiry.flatten().and_then(|expiry| expiry.counted_from(now)).map(|from| from.0))
        .bind(now.0);
    db.execute(query).await.map(drop)
}

/// A session's lease; `None` if there is no such session, or it has expired.
pub async fn lease(db: &mut impl Sql, key: &SessionKey, now: Micros) -> Result<Option<LeaseView>> {
    let query = Query::new(&*db.statements().lease).session(key).bind(now.0);
    at_most_one::<LeaseRow>(db, query).await?.map(LeaseView::try_from).transpose()
}

pub async fn set_lease(db: &mut impl Sql, key: &SessionKey, lease: &Lease) -> Result<()> {
    let holding = lease.holding.as_ref();
    let query = Query::new(&*db.statements().set_lease)
        .session(key)
        .bind(lease.epoch)
        .bind(holding.map(|holding| filter_text(&holding.owner)))
        .bind(holding.and_then(|holding| holding.invocation_id.as_deref()).map(filter_text))
        .bind(holding.map(|holding| holding.expire_time.0))
        .bind(holding.map(|holding| holding.ttl))
        .bind(holding.is_some_and(|holding| holding.exclusive == Exclusive::All));
    db.execute(query).await.map(drop)
}

/// Notes the revisions of user and app state that a creation came to, if it changed them itself.
pub async fn set_created_revisions(db: &mut impl Sql, key: &SessionKey, user: i64, app: i64) -> Result<()> {
    let query = Query::new(&*db.statements().set_created_revisions).session(key).bind(user).bind(app);
    db.execute(query).await.map(drop)
}

/// Cuts a locked session at a revision of its log.
pub async fn cut(db: &mut impl Sql, session: &SessionInfo, base: i64) -> Result<()> {
    let query = of(&db.statements().cut, &session.key, session.incarnation)
        .bind(base)
        .bind(history::path(base, session.revision));
    db.execute(query).await.map(drop)
}

/// The timestamp of the event of this sequence, be it a stub.
pub async fn event_time(
    db: &mut impl Sql,
    key: &SessionKey,
    incarnation: i64,
    sequence: i64,
) -> Result<Option<Micros>> {
    let query = of(&db.statements().event_time, key, incarnation).bind(sequence);
    Ok(at_most_one::<(i64,)>(db, query).await?.map(|(time,)| Micros(time)))
}

/// When the event of this sequence was committed.
pub async fn commit_time(db: &mut impl Sql, key: &SessionKey, incarnation: i64, sequence: i64) -> Result<Micros> {
    let (time,): (i64,) = one(db, of(&db.statements().commit_time, key, incarnation).bind(sequence)).await?;
    Ok(Micros(time))
}

/// The first event after this sequence that was committed at `time` or later.
pub async fn committed_since(
    db: &mut impl Sql,
    key: &SessionKey,
    incarnation: i64,
    after: i64,
    time: Micros,
) -> Result<Option<i64>> {
    let query = of(&db.statements().committed_since, key, incarnation).bind(after).bind(time.0);
    Ok(at_most_one::<(i64,)>(db, query).await?.map(|(sequence,)| sequence))
}

/// Notes that the events after `emptied`, up to the session's base, are to be emptied.
pub async fn note_trim(db: &mut impl Sql, key: &SessionKey, incarnation: i64, emptied: i64) -> Result<()> {
    db.execute(of(&db.statements().note_trim, key, incarnation).bind(emptied)).await.map(drop)
}

/// A session of which trimmed events are to be emptied: its key, its incarnation, and how far that is done.
pub async fn next_trim(db: &mut impl Sql) -> Result<Option<(SessionKey, i64, i64)>> {
    let Some(row) = at_most_one::<TrimRow>(db, Query::new(&*db.statements().next_trim)).await? else { return Ok(None) };
    let (key, incarnation) = row.session.decode()?;
    if !db.shape().is_distributed() {
        return Ok(Some((key, incarnation, row.emptied)));
    }
    let claimed: Option<(i64,)> = at_most_one(db, of(&db.statements().claim_trim, &key, incarnation)).await?;
    Ok(claimed.map(|(emptied,)| (key, incarnation, emptied)))
}

/// Makes stubs of the events after one sequence, up to another.
pub async fn empty_events(
    db: &mut impl Sql,
    key: &SessionKey,
    incarnation: i64,
    after: i64,
    through: i64,
) -> Result<()> {
    let statements = db.statements();
    db.execute(of(&statements.empty_events, key, incarnation).bind(after).bind(through)).await?;
    db.execute(of(&statements.set_emptied, key, incarnation).bind(through)).await.map(drop)
}

/// Removes up to `limit` values that held no longer at `base`; how many there were.
pub async fn purge_passed(db: &mut impl Sql, key: &SessionKey, incarnation: i64, base: i64, limit: i64) -> Result<u64> {
    let statements = db.statements();
    let last = of(&statements.last_passed, key, incarnation).bind(base).bind(limit);
    let Some((node, name)) = at_most_one::<(i64, String)>(db, last).await? else { return Ok(0) };
    db.execute(of(&statements.purge_passed, key, incarnation).bind(base).bind(node).bind(&*name)).await
}

pub async fn finish_trim(db: &mut impl Sql, key: &SessionKey, incarnation: i64) -> Result<()> {
    db.execute(of(&db.statements().finish_trim, key, incarnation)).await.map(drop)
}

/// Removes stubs of events that were committed before `time`: of the first `limit` stubs those before the first that is not.
/// How many these were.
pub async fn purge_stubs(db: &mut impl Sql, session: &SessionInfo, time: Micros, limit: usize) -> Result<usize> {
    let statements = db.statements();
    let of = |text| of(text, &session.key, session.incarnation);
    let first = of(&statements.first_stubs).bind(session.base_revision).bind(limit as i64);
    let stubs: Vec<(i64, i64)> = db.fetch(first).await?;
    let old = stubs.iter().take_while(|(_, committed)| *committed < time.0);
    let Some((last, _)) = old.clone().last() else { return Ok(0) };
    db.execute(of(&statements.purge_stubs).bind(*last)).await?;
    Ok(old.count())
}

/// Removes the session's row and notes its incarnation for [`purge`]; what is to be told of it.
pub async fn bury(db: &mut impl Sql, key: &SessionKey, incarnation: i64, removal: Removal) -> Result<Committed> {
    let statements = db.statements();
    for text in [&statements.unlist_update, &statements.unlist_session, &statements.bury_session] {
        db.execute(of(text, key, incarnation)).await?;
    }
    Ok(Committed::Session { key: key.clone(), incarnation, change: SessionChange::Deleted(removal) })
}

/// Removes up to `limit` rows of each kind that a buried incarnation left; how many there were.
pub async fn purge(db: &mut impl Sql, key: &SessionKey, incarnation: i64, limit: i64) -> Result<Removed> {
    let statements = db.statements();
    let mut purged = Removed::default();
    for (text, count) in [
        (&statements.purge_events, &mut purged.events),
        (&statements.purge_state, &mut purged.state_keys),
        (&statements.purge_spans, &mut purged.changes),
    ] {
        *count = db.execute(of(text, key, incarnation).bind(limit)).await? as i64;
    }
    Ok(purged)
}

/// Nothing of the incarnation is left.
pub async fn finish_purge(db: &mut impl Sql, key: &SessionKey, incarnation: i64) -> Result<()> {
    finish_trim(db, key, incarnation).await?;
    let query = of(&db.statements().forget_buried, key, incarnation);
    db.execute(query).await.map(drop)
}

pub async fn event(db: &mut impl Sql, key: &SessionKey, incarnation: i64, id: &EventId) -> Result<Option<StoredEvent>> {
    let query = of(&db.statements().event, key, incarnation).bind(id.as_str());
    Ok(at_most_one::<EventRow>(db, query).await?.map(StoredEvent::from))
}

pub async fn event_at(
    db: &mut impl Sql,
    key: &SessionKey,
    incarnation: i64,
    sequence: i64,
) -> Result<Option<StoredEvent>> {
    let query = of(&db.statements().event_at, key, incarnation).bind(sequence);
    Ok(at_most_one::<EventRow>(db, query).await?.map(StoredEvent::from))
}

pub async fn value(db: &mut impl Sql, address: &StateAddress, incarnation: i64) -> Result<Option<RawJson>> {
    let statements = db.statements();
    let query = match address {
        StateAddress::Session(key, name) => of(&statements.session_value, key, incarnation).bind(&**name),
        StateAddress::Shared(ScopeKey::User(key), name) => Query::new(&*statements.user_value).user(key).bind(&**name),
        StateAddress::Shared(ScopeKey::App(key), name) => Query::new(&*statements.app_value).app(key).bind(&**name),
    };
    let value: Option<(String,)> = at_most_one(db, query).await?;
    Ok(value.map(|(text,)| RawJson::trusted(text)))
}

pub async fn scope(db: &mut impl Sql, scope: &ScopeKey) -> Result<ScopeView> {
    let statements = db.statements();
    let query = match scope {
        ScopeKey::App(app) => Query::new(&*statements.app_scope).app(app),
        ScopeKey::User(key) => Query::new(&*statements.user_scope).user(key),
    };
    let row: ScopeRow = one(db, query).await?;
    Ok(ScopeView { revision: row.revision, state: join([row.state.as_deref()]) })
}

/// The revisions of user and app state that the event of this sequence saw; of the base, that were seen there. And where these are
/// not known.
pub async fn seen_revisions(
    db: &mut impl Sql,
    key: &SessionKey,
    incarnation: i64,
    revision: i64,
) -> Result<Option<SeenRow>> {
    let query = of(&db.statements().seen_revisions, key, incarnation).bind(revision);
    at_most_one(db, query).await
}

/// The merged state as it was at a moment.
pub async fn state_then(db: &mut impl Sql, head: &SessionInfo, then: &Tag, filter: &StateFilter) -> Result<String> {
    let query = of(&db.statements().state_then, &head.key, head.incarnation)
        .bind(then.revision)
        .bind(then.user)
        .bind(then.app)
        .bind(history::path(then.revision, head.revision))
        .bind(history::path(then.user, head.user_revision))
        .bind(history::path(then.app, head.app_revision))
        .bind(filter.app.as_deref())
        .bind(filter.user.as_deref())
        .bind(filter.session.as_deref());
    Ok(one::<StateRow>(db, query).await?.merged())
}

/// The session keys that were set or removed after `revision`, in key order.
pub async fn differences(db: &mut impl Sql, row: &LockedSession, revision: i64) -> Result<Vec<Difference>> {
    let query = of(&db.statements().differences, &row.key, row.head.incarnation)
        .bind(revision)
        .bind(history::path(revision, row.head.revision));
    let rows: Vec<DifferenceRow> = db.fetch(query).await?;
    Ok(rows.into_iter().map(Difference::from).collect())
}

/// The revisions at which keys that are not there were removed, all of one owner: at least if that was after the revision
/// that each is asked about.
/// `session` is the session, of session keys.
pub async fn removed_since(
    db: &mut impl Sql,
    addresses: &[&StateAddress],
    session: Option<&SessionHead>,
    each_since: &[i64],
) -> Result<HashMap<String, i64>> {
    let names: Vec<String> = addresses.iter().map(|address| address.key().to_owned()).collect();
    let keys = Some(&*names);
    let since = each_since.iter().min().copied().unwrap_or(0);
    let (incarnation, revision) = session.map_or((0, 0), |head| (head.incarnation, head.revision));
    let Some(owner) = addresses.first() else { return Ok(HashMap::new()) };
    let statements = db.statements();
    let query = match owner {
        StateAddress::Session(key, _) => {
            of(&statements.removed, key, incarnation).bind(keys).bind(since).bind(history::path(since, revision))
        }
        StateAddress::Shared(ScopeKey::User(key), _) => {
            Query::new(&*statements.user_keys_changed).user(key).bind(keys).bind(each_since.to_vec())
        }
        StateAddress::Shared(ScopeKey::App(key), _) => {
            Query::new(&*statements.app_keys_changed).app(key).bind(keys).bind(each_since.to_vec())
        }
    };
    let rows: Vec<(String, Option<i64>)> = db.fetch(query).await?;
    Ok(rows.into_iter().filter_map(|(key, revision)| Some((key, revision?))).collect())
}

/// What is to be known of the next `scopes` shared scopes to raise their floors: `changes` of each.
pub async fn histories(db: &mut impl Sql, forget: &Forget, scopes: i64, changes: i64) -> Result<Vec<HistoryRow>> {
    let statements = db.statements();
    let query = match &forget.from {
        Scopes::All => Query::new(&*statements.history_of_app).app(&forget.app),
        Scopes::OfUsers(after) => Query::new(&*statements.history_of_users)
            .app(&forget.app)
            .bind(after.as_ref().map_or("", UserId::as_str))
            .bind(scopes),
    };
    db.fetch(query.bind(changes).bind(forget.age).bind(forget.now.0)).await
}

/// The same of one scope, whose row is locked; `None` if it is gone.
pub async fn locked_history(
    db: &mut impl Sql,
    scope: &ScopeKey,
    forget: &Forget,
    changes: i64,
) -> Result<Option<HistoryRow>> {
    let statements = db.statements();
    let query = in_scope(&statements.locked_history_of_user, &statements.locked_history_of_app, scope);
    at_most_one(db, query.bind(changes).bind(forget.age).bind(forget.now.0)).await
}

/// A statement over the rows of a shared scope: one of users, or of apps.
pub fn in_scope<'a>(of_users: &'static str, of_apps: &'static str, scope: &'a ScopeKey) -> Query<'a> {
    match scope {
        ScopeKey::User(key) => Query::new(of_users).user(key),
        ScopeKey::App(app) => Query::new(of_apps).app(app),
    }
}

/// Makes a revision the floor of a shared scope, unless it has a higher one.
pub async fn raise_floor(db: &mut impl Sql, scope: &ScopeKey, floor: i64) -> Result<()> {
    let statements = db.statements();
    let query = in_scope(&statements.raise_user_floor, &statements.raise_app_floor, scope).bind(floor);
    db.execute(query).await.map(drop)
}

/// Nothing is left of what a shared scope was before its floor.
pub async fn set_emptied(db: &mut impl Sql, scope: &ScopeKey, floor: i64) -> Result<()> {
    let statements = db.statements();
    let query = in_scope(&statements.set_user_emptied, &statements.set_app_emptied, scope).bind(floor);
    db.execute(query).await.map(drop)
}

/// Removes up to `limit` values of a shared scope that held no longer at `floor`; how many there were.
pub async fn purge_values(db: &mut impl Sql, scope: &ScopeKey, floor: i64, limit: i64) -> Result<i64> {
    let statements = db.statements();
    let find = in_scope(&statements.user_values_before, &statements.app_values_before, scope).bind(floor).bind(limit);
    let values: Vec<(i64, String, i64)> = db.fetch(find).await?;
    let Some((node, key, _)) = values.last() else { return Ok(0) };
    let keys: Vec<String> = values.iter().map(|(_, key, _)| key.clone()).collect();
    let revisions: Vec<i64> = values.iter().map(|(.., revision)| *revision).collect();
    let log = in_scope(&statements.purge_user_log, &statements.purge_app_log, scope);
    db.execute(log.bind(Some(&*keys)).bind(revisions)).await?;
    let spans = in_scope(&statements.purge_user_spans, &statements.purge_app_spans, scope);
    db.execute(spans.bind(floor).bind(*node).bind(&**key)).await?;
    Ok(values.len() as i64)
}

/// Removes up to `limit` removals of keys from the log of a shared scope, those after one revision up to another; how many there
/// were. All of one revision go at once.
pub async fn purge_removals(db: &mut impl Sql, scope: &ScopeKey, after: i64, through: i64, limit: i64) -> Result<i64> {
    let statements = db.statements();
    let find = in_scope(&statements.last_user_removal, &statements.last_app_removal, scope);
    let (last, count): (Option<i64>, i64) = one(db, find.bind(after).bind(through).bind(limit)).await?;
    if let Some(last) = last {
        let purge = in_scope(&statements.purge_user_removals, &statements.purge_app_removals, scope);
        db.execute(purge.bind(after).bind(last)).await?;
    }
    Ok(count)
}

pub async fn first_of_invocation(
    db: &mut impl Sql,
    key: &SessionKey,
    incarnation: i64,
    invocation: &str,
    after: i64,
) -> Result<Option<i64>> {
    let query = of(&db.statements().first_of_invocation, key, incarnation).bind(filter_text(invocation)).bind(after);
    let (first,): (Option<i64>,) = one(db, query).await?;
    Ok(first)
}

/// Inserts the row of a fork, without a time as one that was updated last at its creation; `false` if the session exists, or one that the request made.
pub async fn insert_fork(
    db: &mut impl Sql,
    source: &LockedSession,
    fork: &Fork,
    revision: i64,
    update_time: Option<&Timestamp>,
) -> Result<bool> {
    let query = of(&db.statements().insert_fork, &source.key, source.head.incarnation)
        .bind(fork.session.as_str())
        .bind(fork.incarnation)
        .bind(fork.now.0)
        .bind(revision)
        .bind(update_time.map(|time| time.micros.0))
        .bind(update_time.map(|time| time.number.text()))
        .bind(fork.request.as_ref().map(|request| request.key.as_str()))
        .bind(fork.request.as_ref().map(|request| &request.digest[..]));
    let key = SessionKey { user: source.key.user.clone(), session: fork.session.clone() };
    insert_listed(db, query, &key).await
}

/// Inserts the row of a session, and its place in the list by last update; `false` if it is there.
pub async fn insert_listed(db: &mut impl Sql, insert: Query<'_>, key: &SessionKey) -> Result<bool> {
    let is_made = db.execute(insert).await? > 0;
    let statements = db.statements();
    if is_made && db.shape().is_distributed() {
        db.execute(Query::new(&*statements.list_session).session(key)).await?;
    }
    Ok(is_made)
}

/// Copies events, spans and the state as of `revision` to the fork of a session that begins at `base`.
pub async fn copy_history(
    db: &mut impl Sql,
    source: &LockedSession,
    fork: &Fork,
    base: i64,
    revision: i64,
) -> Result<()> {
    let statements = db.statements();
    let copy = |text: &'static str| {
        of(text, &source.key, source.head.incarnation).bind(fork.session.as_str()).bind(fork.incarnation)
    };
    let mut after = 0;
    while after < revision {
        let last = revision.min(after + COPIED_EVENTS);
        db.execute(copy(&statements.copy_events).bind(after).bind(last)).await?;
        after = last;
    }
    db.execute(copy(&statements.copy_spans).bind(revision)).await?;
    if base > 0 {
        // Some of the copies may not be empty yet.
        let key = SessionKey { user: source.key.user.clone(), session: fork.session.clone() };
        note_trim(db, &key, fork.incarnation, 0).await?;
    }
    // Appends to the source go on meanwhile: what holds at the revision may have ended since it was read.
    let path = history::path(revision, i64::MAX);
    db.execute(copy(&statements.copy_state).bind(revision).bind(path)).await.map(drop)
}

/// The session that a request of this key made, be it expired, its incarnation, and the request's digest.
pub async fn made_by(
    db: &mut impl Sql,
    user: &UserKey,
    key: &IdempotencyKey,
) -> Result<Option<(SessionKey, i64, Vec<u8>)>> {
    let query = Query::new(&*db.statements().made_by).user(user).bind(key.as_str());
    let row: Option<(String, i64, Vec<u8>)> = at_most_one(db, query).await?;
    row.map(|(id, incarnation, digest)| {
        let session = SessionId::parse(&id).map_err(corrupt)?;
        Ok((SessionKey { user: user.clone(), session }, incarnation, digest))
    })
    .transpose()
}

/// The digest of the request of this key that changed the scope.
pub async fn patched_by(db: &mut impl Sql, scope: &ScopeKey, key: &IdempotencyKey) -> Result<Option<Vec<u8>>> {
    let statements = db.statements();
    let query = match scope {
        ScopeKey::App(app) => Query::new(&*statements.app_patch).app(app),
        ScopeKey::User(user) => Query::new(&*statements.user_patch).user(user),
    };
    let digest: Option<(Vec<u8>,)> = at_most_one(db, query.bind(key.as_str())).await?;
    Ok(digest.map(|(digest,)| digest))
}

pub async fn remember_patch(db: &mut impl Sql, scope: &ScopeKey, request: &RequestKey, now: Micros) -> Result<()> {
    let statements = db.statements();
    let query = match scope {
        ScopeKey::App(app) => Query::new(&*statements.remember_app_patch).app(app),
        ScopeKey::User(user) => Query::new(&*statements.remember_user_patch).user(user),
    };
    db.execute(query.bind(request.key.as_str()).bind(&request.digest[..]).bind(now.0)).await.map(drop)
}

/// Removes up to `limit` requests of each kind of scope that are older than `age` microseconds; how many there were.
pub async fn forget_patches(db: &mut impl Sql, now: Micros, age: i64, limit: i64) -> Result<u64> {
    let statements = db.statements();
    let mut forgotten = 0;
    for text in [&statements.forget_user_patches, &statements.forget_app_patches] {
        forgotten += db.execute(Query::new(&**text).bind(now.0).bind(age).bind(limit)).await?;
    }
    Ok(forgotten)
}

pub async fn list(db: &mut impl Sql, query: &ListQuery, now: Micros) -> Result<Page<SessionView>> {
    let statement = list_statement(db.statements().words, query, now);
    let mut page = Page { items: Vec::new(), more: false, cut: false };
    let mut bytes = 0;
    let mut take = |row: &str, state: Option<String>| {
        if page.items.len() == query.max_rows {
            page.more = true;
            return Ok(ControlFlow::Break(()));
        }
        let view = SessionView { head: listed(&query.app, row)?, state, events: EventPage::default() };
        bytes += view.weight();
        if bytes > query.max_bytes && !page.items.is_empty() {
            (page.more, page.cut) = (true, true);
            return Ok(ControlFlow::Break(()));
        }
        page.items.push(view);
        Ok(ControlFlow::Continue(()))
    };
    if query.with_state {
        db.fetch_until(statement, |row: ListedRow| take(&row.listed, Some(row.state.merged()))).await?;
    } else {
        db.fetch_until(statement, |(row,): (String,)| take(&row, None)).await?;
    }
    Ok(page)
}

/// Names in a range, of the users of an app, or without one of apps.
pub async fn names(db: &mut impl Sql, of: Option<&AppName>, range: &NameRange, limit: i64) -> Result<Vec<String>> {
    let statements = db.statements();
    let text = if of.is_some() { &statements.users } else { &statements.apps };
    let query = Query::new(&**text).bind(&range.begin).bind(limit).bind(range.end.as_deref());
    let query = match of {
        Some(app) => query.app(app),
        None => query,
    };
    Ok(db.fetch(query).await?.into_iter().map(|(name,)| name).collect())
}

/// A session, its state and its events in a statement each. `now` is the time that the statements bind.
pub async fn view_in_parts<'a>(
    db: &mut impl Sql,
    query: &'a SessionQuery,
    now: impl Into<Value<'a>>,
) -> Result<Option<SessionView>> {
    let statements = db.statements();
    let find = |text: &'static str| Query::new(text).session(&query.key).bind(now);
    let (head, state) = match &query.state {
        None => {
            let Some(row) = at_most_one::<HeadRow>(db, find(&statements.head)).await? else { return Ok(None) };
            (SessionInfo::try_from(row)?, None)
        }
        Some(filter) => {
            let query = find(&statements.view)
                .bind(filter.app.as_deref())
                .bind(filter.user.as_deref())
                .bind(filter.session.as_deref());
            let Some(row) = at_most_one::<ViewRow>(db, query).await? else { return Ok(None) };
            let state = row.state.merged();
            (SessionInfo::try_from(row.head)?, Some(state))
        }
    };
    if query.incarnation.is_some_and(|wanted| wanted != head.incarnation) {
        return Ok(None);
    }
    let events = match &query.events {
        Some(query) => events(db, &head, query).await?,
        None => EventPage::default(),
    };
    Ok(Some(SessionView { head, state, events }))
}

/// The sequences of the events that rewind, ascending, each with the last one before those that it takes back.
pub async fn rewinds(db: &mut impl Sql, head: &SessionInfo) -> Result<Vec<(i64, i64)>> {
    let query = of(&db.statements().rewinds, &head.key, head.incarnation);
    db.fetch(query).await
}

pub async fn events(db: &mut impl Sql, head: &SessionInfo, query: &EventQuery) -> Result<EventPage> {
    // Sequences are dense, so the last N are those above revision - N.
    let before_last = query.last.map_or(0, |last| head.revision.saturating_sub(last));
    let after = query.after.max(head.base_revision).max(before_last);
    let statements = db.statements();
    let hidden = match query.exclude_rewound {
        true => hidden(&rewinds(db, head).await?),
        false => Vec::new(),
    };
    let text = match (query.descending, hidden.is_empty()) {
        (false, true) => &statements.events_ascending,
        (true, true) => &statements.events_descending,
        (false, false) => &statements.visible_ascending,
        (true, false) => &statements.visible_descending,
    };
    let mut statement = of(text, &head.key, head.incarnation)
        .bind(after)
        .bind(query.before)
        .bind(query.since.map(|time| time.0))
        .bind(query.author.as_deref().map(filter_text))
        .bind(query.invocation_id.as_deref().map(filter_text))
        .bind(query.branch.as_deref().map(filter_text))
        .bind(query.max_rows as i64 + 1)
        .bind(query.max_bytes as i64);
    if !hidden.is_empty() {
        let (first, last): (Vec<i64>, Vec<i64>) = hidden.into_iter().unzip();
        statement = statement.bind(first).bind(last);
    }
    let rows: Vec<PagedEventRow> = db.fetch(statement).await?;
    Ok(event_page(rows, query.max_rows))
}
