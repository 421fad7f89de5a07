//! Reads of a session, and lists of names.

use crate::domain::access::{NameRange, Names};
use crate::domain::activity::{COUNTED, EVENTS, LARGEST, LOOKED_AT, Looked};
use crate::domain::event::StoredEvent;
use crate::domain::ids::{AppName, EventId, SessionId, SessionKey, UserId};
use crate::domain::json::RawJson;
use crate::domain::loaded::LockedSession;
use crate::domain::query::{ANY_TIME, EventQuery, SessionQuery, SessionView, StateFilter};
use crate::domain::scope::Scope;
use crate::domain::session::{SessionInfo, UPDATE_BUCKET_MICROS};
use crate::domain::shown::Shown;
use crate::domain::state_range::{StatePage, StateRange};
use crate::domain::tag::Timeline;
use crate::domain::time::Micros;
use crate::store::backend::{Read, Tx};
use crate::store::error::{Cause, Result, StoreError};
use crate::store::sql::columns::{HEAD_COLUMNS, OF_INCARNATION, of_session};
use crate::store::sql::keys::{self, in_range, page_of_keys};
use crate::store::sql::query::{Query, Row, Sql, all_values, at_most_one, row};
use crate::store::sql::rows::{HeadRow, StateRow};
use crate::store::sql::scope::{SHOWN_STATES, ShownState};
use crate::store::sql::statements::statements;
use crate::store::sql::words::Words;

/// The events `e` of a listed session `s` of the app `$1`.
const OF_LISTED: &str =
    "e.app_name = $1 and e.user_id = s.user_id and e.session_id = s.id and e.incarnation = s.incarnation";

pub async fn session<X: Tx>(tx: &mut X, query: &SessionQuery) -> Result<Option<SessionView>> {
    Ok(sessions(tx, &[query]).await?.pop().flatten())
}

/// As [`session`], with one statement if that suffices for what is stored.
pub async fn session_at_once<X: Tx>(tx: &mut X, query: &SessionQuery) -> Result<Read> {
    Ok(match tx.view_at_once(query).await? {
        Read::Done(view) => Read::Done(on_timeline(view, query, tx.timeline())),
        Read::Unfinished => Read::Unfinished,
    })
}

/// Several at once, in their order.
pub async fn sessions<X: Tx>(tx: &mut X, queries: &[&SessionQuery]) -> Result<Vec<Option<SessionView>>> {
    let views = tx.views(queries).await?;
    Ok(queries.iter().zip(views).map(|(query, view)| on_timeline(view, query, tx.timeline())).collect())
}

pub fn session_state(key: &SessionKey, now: Micros) -> SessionQuery {
    SessionQuery { state: Some(StateFilter::default()), ..head_alone(key, now) }
}

fn head_alone(key: &SessionKey, now: Micros) -> SessionQuery {
    SessionQuery { key: key.clone(), now, incarnation: None, timeline: None, state: None, events: None }
}

/// Marks a view with the timeline on which it was read. `None` if the query continues an answer from another timeline.
pub fn on_timeline(view: Option<SessionView>, query: &SessionQuery, timeline: Timeline) -> Option<SessionView> {
    let mut view = view.filter(|_| query.timeline.is_none_or(|wanted| wanted == timeline))?;
    view.head.timeline = timeline;
    Some(view)
}

/// What the answer to a write shows of a session.
pub fn written(key: &SessionKey, now: Micros, shows: Shown) -> SessionQuery {
    match shows {
        Shown::Full => SessionQuery { events: Some(EventQuery::all()), ..session_state(key, now) },
        Shown::Minimal => head_alone(key, now),
    }
}

/// Reads a session that this transaction holds locked. Its absence would be a bug.
pub async fn view<X: Tx>(tx: &mut X, query: &SessionQuery) -> Result<SessionView> {
    // A session that was created already expired is shown once, to its creator.
    let query = SessionQuery { now: ANY_TIME, ..query.clone() };
    session(tx, &query).await?.ok_or_else(not_there)
}

/// Protects a session against deletion, redactions and trims; whether it is what it was, but for its events.
pub async fn keep_unchanged<X: Tx>(tx: &mut X, was: &SessionInfo) -> Result<bool> {
    let is_same = |row: LockedSession| {
        (row.head.incarnation, row.head.metadata_revision) == (was.incarnation, was.metadata_revision)
    };
    Ok(tx.keep_session(&was.key).await?.is_some_and(is_same))
}

pub fn not_there() -> StoreError {
    StoreError::new(Cause::Internal, "a locked session is not there")
}

pub async fn head<X: Tx>(tx: &mut X, key: &SessionKey, now: Micros) -> Result<Option<SessionInfo>> {
    Ok(session(tx, &head_alone(key, now)).await?.map(|view| view.head))
}

/// The ranges of `within` as far as they come after the name `after`, in byte order.
pub fn ranges_after(within: &Names, after: &str) -> Vec<NameRange> {
    // Names have no control characters, so nothing is between a name and this.
    let next = format!("{after}\u{1}");
    let ranges = within.ranges().into_iter();
    let left = ranges.filter(|range| range.end.as_ref().is_none_or(|end| next < *end));
    left.map(|range| NameRange { begin: range.begin.max(next.clone()), ..range }).collect()
}

/// Up to `limit` names in these ranges, of the users of an app, or without one of apps.
pub async fn names<X: Tx, T>(tx: &mut X, of: Option<&AppName>, ranges: &[NameRange], limit: usize) -> Result<Vec<T>>
where
    (T,): Row,
{
    let statements = Statements::of(tx);
    let text = if of.is_some() { &statements.users } else { &statements.apps };
    let mut found = Vec::new();
    for range in ranges {
        let rest = limit.saturating_sub(found.len());
        if rest == 0 {
            break;
        }
        let query = Query::new(&**text).bind(&range.begin).bind(rest as i64).bind(range.end.as_deref());
        found.extend(all_values(tx, of.into_iter().fold(query, Query::app)).await?);
    }
    Ok(found)
}

/// A session, and its event of an id.
pub async fn event<X: Tx>(
    tx: &mut X,
    key: &SessionKey,
    id: &EventId,
    now: Micros,
) -> Result<Option<(SessionInfo, Option<StoredEvent>)>> {
    let query = with_head(tx, &Statements::of(tx).event, key, now).bind(id.as_str());
    beside_head(tx, query).await
}

/// A statement that reads a session with something else.
fn with_head<'a>(db: &impl Sql, text: &'static str, key: &'a SessionKey, now: Micros) -> Query<'a> {
    // Where the clock is not the database's own.
    let now = db.words().clock.is_none().then_some(now.0);
    Query::new(text).session(key).bind(now)
}

/// The session of such a statement, and what it reads beside it.
async fn beside_head<X: Tx, T>(tx: &mut X, query: Query<'_>) -> Result<Option<(SessionInfo, T)>>
where
    HeadRow<T>: Row,
{
    let row: Option<HeadRow<T>> = at_most_one(tx, query).await?;
    Ok(row.map(|HeadRow { head, value }| (SessionInfo { timeline: tx.timeline(), ..head }, value)))
}

/// An event that must be there, because sequences are dense.
pub async fn event_at(db: &mut impl Sql, row: &LockedSession, sequence: i64) -> Result<StoredEvent> {
    let query = Query::of(&Statements::of(db).event_at, &row.key, row.head.incarnation).bind(sequence);
    let event = at_most_one(db, query).await?;
    event.ok_or_else(|| StoreError::new(Cause::Internal, "an event is missing in a session's sequence"))
}

/// A session, and the value of a key of a scope.
pub async fn value<X: Tx>(
    tx: &mut X,
    key: &SessionKey,
    scope: Scope,
    state_key: &str,
    now: Micros,
) -> Result<Option<(SessionInfo, Option<RawJson>)>> {
    let statements = Statements::of(tx);
    let text = match scope {
        Scope::App => &statements.app_value,
        Scope::User => &statements.user_value,
        Scope::Session => &statements.session_value,
    };
    let query = with_head(tx, text, key, now).bind(state_key);
    beside_head(tx, query).await
}

/// A session, and a range of its merged state.
pub async fn state_range<X: Tx>(
    tx: &mut X,
    key: &SessionKey,
    range: &StateRange,
    now: Micros,
) -> Result<Option<(SessionInfo, StatePage)>> {
    let mut query = with_head(tx, &Statements::of(tx).state_range, key, now);
    for shown in &SHOWN_STATES {
        // The empty range, if the scope has no such keys.
        let (begin, end) = range.of_scope(shown.scope).unwrap_or_default();
        query = query.bind(begin).bind(end);
    }
    let query = keys::limited(query, range.page());
    let Some((head, states)) = beside_head::<_, StateRow>(tx, query).await? else { return Ok(None) };
    let mut parts = Vec::new();
    for (shown, text) in SHOWN_STATES.iter().zip(states.parts()) {
        parts.push((shown.scope.prefix(), keys::page(text.unwrap_or_default(), range.page())?));
    }
    Ok(Some((head, range.join(parts))))
}

/// How much an app did from `since` on.
pub fn activity<'a>(db: &impl Sql, app: &'a AppName, since: Micros) -> Query<'a> {
    Query::new(&Statements::of(db).activity).app(app).bind(since.0).bind(COUNTED + 1).bind(LOOKED_AT)
}

row! {
    pub struct ActivityRow {
        pub counted: i64,
        pub looked: Looked,
    }
}

row! {
    impl Looked {
        user: UserId = "user_id",
        session: SessionId = "id",
        revision: i64,
        commit_time: Micros,
        events: i64,
        body: Option<String>,
    }
}

/// The last of an app's sessions that have a rough place in the list by last update, or an exact one, in units of this many microseconds.
fn last_updated(rough: bool, unit: i64) -> String {
    format!(
        "select * from (select user_id, id, (place + 1) * {unit} as time from session_updates \
                        where app_name = $1 and rough = {rough} order by place desc, user_id desc, id desc limit 0 + $4) as l"
    )
}

statements! { words,
    /// The `$4` sessions of an app that were updated last; of each its events from `$2` on, and its last event if it may have an error.
    /// Beside each the count of all sessions, up to `$3`. It reads as many rows as that, and no more: both go through an index in
    /// its order, as PostgreSQL does if it does not know the limit.
    activity: format!(
        "select (select count(*) from (select 1 from session_updates where app_name = $1 limit 0 + $3) as c) as counted, \
           s.user_id, s.id, s.revision, s.commit_time, \
           (select count(*) from events e where {OF_LISTED} and e.sequence > s.revision - {EVENTS} and e.commit_time >= $2) as events, \
           (select e.body from events e where {OF_LISTED} and e.sequence = s.revision and octet_length(e.body) <= {LARGEST} \
             and e.body like '%\"errorCode\"%') as body \
         from (select * from ({} union all {}) as o order by time desc, user_id desc, id desc limit 0 + $4) as o {}",
        last_updated(true, UPDATE_BUCKET_MICROS),
        last_updated(false, 1),
        words.join_listed,
    ),
    /// A session with its event of the id `$5`.
    event: format!(
        "select {HEAD_COLUMNS}, e.sequence, e.commit_time, e.body from (select * {}) as s \
         left join events e on e.app_name = $1 and e.user_id = $2 and e.session_id = $3 and e.incarnation = s.incarnation and e.id = $5",
        of_session(words.now)
    ),
    /// The event of the sequence `$5`.
    event_at: format!("select sequence, commit_time, body from events where {OF_INCARNATION} and sequence = $5"),
    /// A session with the value of the key `$5`.
    app_value: value_of(words, Scope::App),
    user_value: value_of(words, Scope::User),
    session_value: value_of(words, Scope::Session),
    /// A session with keys of its merged state: of the app from `$5` up to `$6`, of the user from `$7` up to `$8`, and its own from `$9`
    /// up to `$10`.
    state_range: state_range_text(words),
    /// Names of apps from `$1` on, up to `$2` of them, those before `$3`, or all if that is null.
    apps: apps(words),
    /// Names of the users of the app `$4`, in the same way.
    users: loose_scan(|from| {
        format!(
            "select min(user_id) as n from sessions where app_name = $4 and user_id {from} \
             union all select min(user_id) from user_scopes where app_name = $4 and user_id {from} \
             union all select min(user_id) from artifact_places where session_id = '' and app_name = $4 and user_id {from}"
        )
    }),
}

fn value_of(words: &Words, scope: Scope) -> String {
    let shown = SHOWN_STATES.iter().find(|shown| shown.scope == scope);
    let state = shown.map(|ShownState { table, of_session, .. }| format!("{table} t where {of_session}"));
    format!(
        "select {HEAD_COLUMNS}, (select t.value from {} and t.key = $5) as value{}",
        state.unwrap_or_default(),
        of_session(words.now)
    )
}

fn state_range_text(words: &Words) -> String {
    let within = [("$5", "$6"), ("$7", "$8"), ("$9", "$10")];
    let pages = SHOWN_STATES.iter().zip(within).map(|(ShownState { table, of_session, .. }, (begin, end))| {
        let rows = format!("select t.key, t.value from {table} t where {of_session}{}", in_range("t.key", begin, end));
        format!(", ({}) as {table}", page_of_keys(&rows, "$11", "$12"))
    });
    format!("select {HEAD_COLUMNS}{}{}", pages.collect::<String>(), of_session(words.now))
}

/// Citus cuts no recursive query by app.
fn apps(words: &Words) -> String {
    if words.shape.is_distributed() {
        let of_users = "artifact_places where session_id = '' and";
        let names = ["sessions where", "app_scopes where", "user_scopes where", of_users].map(|rows| {
            format!(
                "(select distinct app_name as name from {rows} app_name >= $1 and coalesce(app_name < $3, true) \
                  order by name limit 0 + $2)"
            )
        });
        return format!("select name from ({}) as names order by name limit 0 + $2", names.join(" union "));
    }
    loose_scan(|from| {
        format!(
            "select min(app_name) as n from sessions where app_name {from} \
             union all select min(app_name) from app_scopes where app_name {from} \
             union all select min(app_name) from user_scopes where app_name {from} \
             union all select min(app_name) from artifact_places where session_id = '' and app_name {from}"
        )
    })
}

/// The next names from `$1` on, each found by one lookup in each index (a loose index scan): the cost grows with names, not
/// rows. It ends with the first that is not before `$3`; that this is no part of the lookups keeps one plan for all.
fn loose_scan(next: impl Fn(&str) -> String) -> String {
    const WITHIN: &str = "coalesce(name < $3, name is not null)";
    format!(
        "with recursive names(name) as (select min(n) from ({}) as first \
           union all select (select min(n) from ({}) as next) from names where {WITHIN}) \
         select name from names where {WITHIN} limit 0 + $2",
        next(">= $1"),
        next("> names.name")
    )
}
