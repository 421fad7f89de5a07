//! PostgreSQL: what writes many rows. All that a batch of appends changes in one app is one call of a function in the
//! database (`sessiond_write`, or `sessiond_append` for one event: migrations/postgres), which compares the heads and returns its
//! verdict.

use std::collections::{BTreeMap, BTreeSet};

use sqlx::Postgres;
use sqlx::postgres::PgArguments;
use sqlx::query::QueryAs;
use sqlx::query_builder::QueryBuilder;

use super::statement::Statement;
use super::statements::LIST_SESSIONS;
use super::words::{clock, number_of};
use crate::domain::feed::ChangeKind;
use crate::domain::ids::{AppName, ScopeRef};
use crate::domain::json::RawJson;
use crate::domain::loaded::SessionHead;
use crate::domain::policy::DAY_MICROS;
use crate::domain::scope::Scope;
use crate::domain::session::Creation;
use crate::domain::shown::Shown;
use crate::domain::time::Micros;
use crate::domain::writes::{EventRef, EventWrite, ScopeUpdate, StateWrite, StateWrites, Writes};
use crate::store::backend::{Noted, SessionInsert, Verdict};
use crate::store::error::{Cause, StoreError};
use crate::store::shape::Shape;
use crate::store::sql::columns::{EVENT, EventValue, HEAD_COLUMNS, SESSION_COLUMNS};
use crate::store::sql::query::{Column, Query, row};
use crate::store::sql::scope::{SHOWN_STATES, ShownState};
use crate::store::sql::words::ttl_correction;

const CALL: &str = "select verdict, incarnations, user_revisions, app_revisions, commit_times from sessiond_write(\
     $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24, $25, \
     $26, $27, $28, $29, $30, $31, $32, $33, $34, $35, $36, $37, $38, $39, $40, $41, $42, $43, $44, $45, $46, $47, $48, $49, $50, $51, $52, \
     $53, $54, $55, $56, $57, $58)";

/// Of one event. Half of what [`CALL`] with arrays of one element costs is making rows of arrays.
const CALL_FOR_ONE: &str = "select verdict, array[$4] as incarnations, array[coalesce(user_revision, 0)] as user_revisions, \
     array[coalesce(app_revision, 0)] as app_revisions, array[coalesce(commit_time, 0)] as commit_times from sessiond_append(\
     $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24, $25, $26, $27, \
     $28, $29, $30, $31, $32, $33, $34)";

row! {
    /// The result of a call: the verdict, and for each stored event the incarnation of its session, the revisions of user and app that
    /// it records, and when it was committed.
    pub struct VerdictRow {
        verdict: String,
        incarnations: Vec<i64>,
        user_revisions: Vec<i64>,
        app_revisions: Vec<i64>,
        commit_times: Vec<i64>,
    }
}

impl VerdictRow {
    /// # Errors
    /// A function of another version.
    pub fn verdict(self) -> Result<Verdict, StoreError> {
        let Self { verdict, incarnations, user_revisions, app_revisions, commit_times } = self;
        match &*verdict {
            "ok" => {
                let noted = user_revisions.into_iter().zip(app_revisions).zip(commit_times);
                let noted =
                    noted.map(|((user, app), commit_time)| Noted { user, app, commit_time: Micros(commit_time) });
                Ok(Verdict::Written(incarnations.into_iter().zip(noted).collect()))
            }
            "conflict" => Ok(Verdict::Conflict),
            "locked" => Ok(Verdict::Busy),
            _ => Err(StoreError::new(Cause::Internal, "an unknown verdict on a batch of writes")),
        }
    }
}

/// The apps of which a batch changes something.
pub fn apps_of<'a>(writes: &Writes<'a>) -> BTreeSet<&'a AppName> {
    let Writes { events, sessions, scopes, session_state, shared_state: _ } = writes;
    // Shared state changes only with its scope's revision, and values that did not outlast the batch belong to rows listed
    // here.
    let events = events.iter().map(|row| row.key.app());
    let states = session_state.rows.keys().map(|(session, ..)| session.app());
    let sessions = sessions.keys().map(|key| key.app());
    sessions.chain(scopes.keys().map(|scope| scope.app())).chain(events).chain(states).collect()
}

type Call<'q> = QueryAs<'q, Postgres, VerdictRow, PgArguments>;

/// The call that writes what a batch changes in one app; `feeds`: and tells the change feed.
pub fn write_call<'q>(app: &'q AppName, writes: &'q Writes<'_>, feeds: bool, shape: Shape) -> Call<'q> {
    // Citus does not route what the function for one event does.
    let one = if shape.is_distributed() { None } else { call_for_one(app, writes, feeds) };
    one.unwrap_or_else(|| call_for_batch(app, writes, feeds))
}

/// `None` if the batch is more than one event, or guards what is not of its session.
fn call_for_one<'q>(app: &'q AppName, writes: &'q Writes<'_>, feeds: bool) -> Option<Call<'q>> {
    let (key, update) = only(writes.sessions.iter().filter(|(key, _)| key.app() == app))?;
    let event = only(writes.events.iter().filter(|row| row.key.app() == app))?;
    let was = update.was.as_ref()?;
    let [user, of_app] = [ScopeRef::User(&key.user), ScopeRef::App(app)];
    if writes.scopes.keys().any(|scope| scope.app() == app && ![user, of_app].contains(scope)) {
        return None;
    }
    let moved = update.move_in_list();
    let mut query = sqlx::query_as(CALL_FOR_ONE)
        .bind(app.as_str())
        .bind(key.user.user.as_str())
        .bind(key.session.as_str())
        .bind(was.incarnation)
        .bind(was.revision)
        .bind(was.metadata_revision)
        .bind(moved.map(|(rough, _)| rough))
        .bind(moved.map(|(_, place)| place))
        .bind(update.revision)
        .bind(update.update_time.micros.0)
        .bind(update.update_time.number.text())
        .bind(update.lease)
        .bind(update.side);
    for scope in [user, of_app] {
        let update = writes.scopes.get(&scope);
        query = query.bind(update.map(|update| update.was)).bind(update.map(|update| update.revision));
    }
    for (_, part) in EVENT.iter().filter(|(name, _)| !["sequence", "commit_time"].contains(name)) {
        query = match part {
            EventValue::Number(of) => query.bind(of(event)),
            EventValue::Text(of) => query.bind(of(event)),
            EventValue::Shared(of) => query.bind(&**of(event)),
            EventValue::Bytes(of) => query.bind(of(event)),
        };
    }
    let query = bind_changes(query, &writes.session_state.rows, |(session, ..)| session.app() == app, |(.., key)| key);
    let query = bind_changes(query, &writes.shared_state.rows, |(scope, _)| *scope == user, |(_, key)| key);
    let query = bind_changes(query, &writes.shared_state.rows, |(scope, _)| *scope == of_app, |(_, key)| key);
    Some(query.bind(feeds))
}

fn only<T>(mut all: impl Iterator<Item = T>) -> Option<T> {
    let first = all.next();
    if all.next().is_some() { None } else { first }
}

/// Binds the keys and values that one event changes.
fn bind_changes<'q, K>(
    query: Call<'q>,
    rows: &'q BTreeMap<K, StateWrite<'_>>,
    is_of_app: impl Fn(&K) -> bool,
    name: impl Fn(&K) -> &'q str,
) -> Call<'q> {
    let rows = || rows.iter().filter(|(key, _)| is_of_app(key));
    let values = rows().map(|(_, row)| row.value.as_deref().map(RawJson::text));
    query.bind(rows().map(|(key, _)| name(key)).collect::<Vec<_>>()).bind(values.collect::<Vec<_>>())
}

fn call_for_batch<'q>(app: &'q AppName, writes: &'q Writes<'_>, feeds: bool) -> Call<'q> {
    let query = sqlx::query_as(CALL).bind(app.as_str());

    let rows: Vec<_> = writes.sessions.iter().filter(|(key, _)| key.app() == app).collect();
    let was = |part: fn(&SessionHead) -> i64| -> Vec<i64> {
        rows.iter().map(|(_, update)| update.was.as_ref().map_or(0, part)).collect()
    };
    let moved: Vec<_> = rows.iter().map(|(_, update)| update.move_in_list()).collect();
    let is_moved = moved.iter().any(Option::is_some);
    let query = query
        .bind(texts(&rows, |(key, _)| key.user.user.as_str()))
        .bind(texts(&rows, |(key, _)| key.session.as_str()))
        .bind(was(|was| was.incarnation))
        .bind(was(|was| was.revision))
        .bind(was(|was| was.metadata_revision))
        .bind(is_moved.then(|| moved.iter().map(|to| to.map(|(rough, _)| rough)).collect::<Vec<_>>()))
        .bind(is_moved.then(|| moved.iter().map(|to| to.map(|(_, place)| place)).collect::<Vec<_>>()))
        .bind(numbers(&rows, |(_, update)| update.revision))
        .bind(numbers(&rows, |(_, update)| update.update_time.micros.0))
        .bind(texts(&rows, |(_, update)| update.update_time.number.text()));
    let is_leased = rows.iter().any(|(_, update)| update.lease.is_some());
    let query = query
        .bind(is_leased.then(|| rows.iter().map(|(_, update)| update.lease).collect::<Vec<_>>()))
        .bind(is_leased.then(|| rows.iter().map(|(_, update)| update.side).collect::<Vec<_>>()));

    let rows: Vec<_> =
        writes.scopes.iter().filter_map(|(scope, update)| Some((user_of(app, *scope)?, update))).collect();
    let of_app: Option<&ScopeUpdate> = writes.scopes.get(&ScopeRef::App(app));
    let query = query
        .bind(texts(&rows, |(user, _)| user))
        .bind(numbers(&rows, |(_, update)| update.was))
        .bind(numbers(&rows, |(_, update)| update.first))
        .bind(numbers(&rows, |(_, update)| update.revision))
        .bind(of_app.map(|update| update.was))
        .bind(of_app.map(|update| update.revision));

    let rows: Vec<&EventWrite<'_>> = writes.events.iter().filter(|row| row.key.app() == app).collect();
    let mut query = query
        .bind(texts(&rows, |row| row.key.user.user.as_str()))
        .bind(texts(&rows, |row| row.key.session.as_str()))
        .bind(numbers(&rows, |row| row.incarnation));
    // The database has a clock.
    for (_, part) in EVENT.iter().filter(|(name, _)| *name != "commit_time") {
        let rows = rows.iter();
        query = match part {
            EventValue::Number(of) => query.bind(rows.map(|row| of(row)).collect::<Vec<_>>()),
            EventValue::Text(of) => query.bind(rows.map(|row| of(row)).collect::<Vec<_>>()),
            EventValue::Shared(of) => query.bind(rows.map(|row| &**of(row)).collect::<Vec<_>>()),
            EventValue::Bytes(of) => query.bind(rows.map(|row| of(row)).collect::<Vec<_>>()),
        };
    }

    let of_sessions = StateRows::of(&writes.session_state, |(session, ..)| session.app() == app);
    let query = query
        .bind(texts(&of_sessions.keys, |(session, ..)| session.user.user.as_str()))
        .bind(texts(&of_sessions.keys, |(session, ..)| session.session.as_str()))
        .bind(numbers(&of_sessions.keys, |(_, incarnation, _)| *incarnation))
        .bind(texts(&of_sessions.keys, |(.., key)| key));
    let query = of_sessions.bind_marked(query);

    let of_users = StateRows::of(&writes.shared_state, |(scope, _)| user_of(app, *scope).is_some());
    let query = query
        .bind(texts(&of_users.keys, |(scope, _)| user_of(app, *scope).unwrap_or_default()))
        .bind(texts(&of_users.keys, |(_, key)| key));
    let query = of_users.bind_logged(query);

    let of_app = StateRows::of(&writes.shared_state, |(scope, _)| *scope == ScopeRef::App(app));
    let query = query.bind(texts(&of_app.keys, |(_, key)| key));
    of_app.bind_logged(query).bind(feeds)
}

/// The user of a scope, if it is one's in this app.
fn user_of<'a>(app: &AppName, scope: ScopeRef<'a>) -> Option<&'a str> {
    scope.user().filter(|key| key.app == *app).map(|key| key.user.as_str())
}

fn texts<'t, T>(rows: &[T], part: impl Fn(&T) -> &'t str) -> Vec<&'t str> {
    rows.iter().map(part).collect()
}

fn numbers<T>(rows: &[T], part: impl Fn(&T) -> i64) -> Vec<i64> {
    rows.iter().map(part).collect()
}

/// The state rows of one scope, and after them the values that did not outlast the batch.
struct StateRows<'w, K> {
    keys: Vec<&'w K>,
    values: Vec<Option<&'w str>>,
    first: Vec<i64>,
    revision: Vec<i64>,
    /// `None` if all lasted.
    until: Option<Vec<Option<i64>>>,
    /// Whether a removal ended what this ends; `None` if none did.
    removed: Option<Vec<bool>>,
    /// The events that wrote them.
    by: Vec<Option<EventRef>>,
}

impl<'w, K> StateRows<'w, K> {
    fn of(writes: &'w StateWrites<'_, K>, is_of_app: impl Fn(&K) -> bool) -> Self {
        let rows: Vec<_> = writes.rows.iter().filter(|(key, _)| is_of_app(key)).collect();
        let passed: Vec<_> = writes.passed.iter().filter(|span| is_of_app(&span.key)).collect();
        let spans = passed.iter();
        let removed: Vec<bool> =
            rows.iter().map(|(_, row)| row.first_removes).chain(spans.clone().map(|span| span.removed)).collect();
        Self {
            keys: rows.iter().map(|(key, _)| *key).chain(spans.clone().map(|span| &span.key)).collect(),
            values: rows
                .iter()
                .map(|(_, row)| row.value.as_deref())
                .chain(spans.clone().map(|span| span.value.as_deref()))
                .map(|value| value.map(RawJson::text))
                .collect(),
            first: rows.iter().map(|(_, row)| row.first).chain(spans.clone().map(|span| span.to)).collect(),
            revision: rows.iter().map(|(_, row)| row.revision).chain(spans.clone().map(|span| span.from)).collect(),
            until: (!passed.is_empty())
                .then(|| rows.iter().map(|_| None).chain(spans.clone().map(|span| Some(span.to))).collect()),
            removed: removed.contains(&true).then_some(removed),
            by: rows.iter().map(|(_, row)| row.by).chain(spans.map(|span| span.by)).collect(),
        }
    }

    fn bind<O>(self, query: QueryAs<'w, Postgres, O, PgArguments>) -> QueryAs<'w, Postgres, O, PgArguments> {
        query.bind(self.values).bind(self.first).bind(self.revision).bind(self.until)
    }

    /// And what spans that have their values have beside these.
    fn bind_marked<O>(mut self, query: QueryAs<'w, Postgres, O, PgArguments>) -> QueryAs<'w, Postgres, O, PgArguments> {
        let removed = self.removed.take();
        self.bind(query).bind(removed)
    }

    /// And what the log has beside these.
    fn bind_logged<O>(self, query: QueryAs<'w, Postgres, O, PgArguments>) -> QueryAs<'w, Postgres, O, PgArguments> {
        let numbers = |part: fn(EventRef) -> i64| self.by.iter().map(|by| by.map(part)).collect::<Vec<_>>();
        let (incarnations, sequences) = (numbers(|event| event.incarnation), numbers(|event| event.sequence));
        self.bind(query).bind(incarnations).bind(sequences)
    }
}

/// Inserts rows of sessions of one app, in key order, of which neither the id nor the request is there, and their places in
/// the list by last update; returns the incarnations of those, and when they were updated.
pub fn insert_sessions(rows: &[&SessionInsert<'_>]) -> Option<QueryBuilder<Postgres>> {
    let mut sql = made_sessions(rows, "", "app_name, user_id, id, update_time, incarnation")?.end();
    sql.push(" select incarnation, update_time from made");
    Some(sql)
}

/// The insertion of [`insert_sessions`], without their places in the list: of those that it made, to be listed by [`list_sessions`].
pub fn insert_unlisted(rows: &[&SessionInsert<'_>]) -> Option<QueryBuilder<Postgres>> {
    let (statement, insert) = session_insert(rows, "", "incarnation, update_time")?;
    let mut sql = statement.end();
    sql.push(" ").push(insert);
    Some(sql)
}

/// Inserts the places of sessions of one app in the list by last update, which are given with it.
pub fn list_sessions<'q>(rows: &[(&SessionInsert<'q>, i64)]) -> Option<Query<'q>> {
    let users = texts(rows, |(row, _)| row.creation.key.user.user.as_str());
    let sessions = texts(rows, |(row, _)| row.creation.key.session.as_str());
    let places = numbers(rows, |(_, update_time)| *update_time);
    let query = Query::new(LIST_SESSIONS).app(rows.first()?.0.creation.key.app());
    Some(query.columns([Column::Texts(users), Column::Texts(sessions), Column::Integers(places)]))
}

/// Inserts sessions as [`insert_sessions`] does, with their initial states, of session keys alone; returns those that it made,
/// with their merged states if they [are shown](shows_states). It makes none for a user who may not have one, or whom an erasure holds, or has erased since the
/// statement began.
pub fn create_sessions(rows: &[&SessionInsert<'_>], feeds: bool) -> Option<QueryBuilder<Postgres>> {
    let mut statement = made_sessions(rows, ADMITTED, "*")?;
    let state =
        || rows.iter().flat_map(|row| row.creation.state.iter().map(|change| (row.creation.incarnation, change)));
    statement.lists("k_state", "incarnation, key, value", |columns| {
        columns
            .numbers(state().map(|(incarnation, _)| incarnation))
            .texts(state().map(|(_, change)| &*change.key))
            .texts(state().map(|(_, change)| change.value.text()));
    });
    statement.part(
        "stated",
        "(insert into session_state (app_name, user_id, session_id, incarnation, key, value, revision) \
          select $1, m.user_id, m.id, m.incarnation, k.key, k.value, 0 \
          from made m join k_state k on k.incarnation = m.incarnation)",
    );
    if feeds {
        statement.part(
            "fed",
            format_args!(
                "(insert into changes (kind, app_name, user_id, session_id, incarnation, first_revision, last_revision) \
                  select {}, $1, m.user_id, m.id, m.incarnation, 0, 0 from made m)",
                ChangeKind::SessionCreated.number()
            ),
        );
    }
    let mut sql = statement.end();
    // What the statement inserts, it does not see: the state of the session is that of its creation.
    sql.push(" select ").push(HEAD_COLUMNS);
    for state in SHOWN_STATES.iter().filter(|_| shows_states(rows)) {
        let ShownState { scope, table, of_session } = *state;
        let (from, of) = match scope {
            Scope::Session => ("k_state", "t.incarnation = s.incarnation"),
            Scope::User | Scope::App => (table, of_session),
        };
        sql.push(format_args!(
            ", (select string_agg(to_json({})::text || ':' || t.value, ',' order by t.key collate \"C\") \
               from {from} t where {of}) as {table}",
            state.key()
        ));
    }
    sql.push(" from made s");
    Some(sql)
}

/// Whether a creation of these shows the state.
pub fn shows_states(rows: &[&SessionInsert<'_>]) -> bool {
    rows.iter().any(|row| row.creation.shows == Shown::Full)
}

/// Of the rows `k`, those whose users may have sessions.
const ADMITTED: &str = " where sessiond_admits($1, k.user_id, k.subject, coalesce((select u.revision from user_scopes u \
                        where u.app_name = $1 and u.user_id = k.user_id), 0))";

/// The part `made` of a statement: the sessions that it inserts, and their places in the list by last update.
fn made_sessions(rows: &[&SessionInsert<'_>], admitted: &str, returning: &str) -> Option<Statement> {
    let (mut statement, insert) = session_insert(rows, admitted, returning)?;
    statement.part("made", format_args!("({insert})"));
    statement.part(
        "listed",
        "(insert into session_updates (app_name, user_id, id, place) select $1, user_id, id, update_time from made)",
    );
    Some(statement)
}

/// A statement with the rows of sessions as its part `k`, and the insertion of these.
fn session_insert(rows: &[&SessionInsert<'_>], admitted: &str, returning: &str) -> Option<(Statement, String)> {
    let mut statement = Statement::of_app(rows.first()?.creation.key.app());
    let rows = rows.iter();
    let columns = &**SESSION_COLUMNS;
    // The app is the first column. Times are by the database's clock.
    let (_, brought) = columns.split_once(", ")?;
    let brought: Vec<&str> = brought.split(", ").collect();
    let value = |column: &&str| match *column {
        "update_time" => format!("case when update_time is null then {} else update_time end", clock!()),
        "update_time_number" => {
            format!("case when update_time is null then {} else update_time_number end", number_of(clock!()))
        }
        "expire_time" => format!("expire_time + {}", ttl_correction(clock!(), "ttl_from")),
        column => column.to_owned(),
    };
    let values: Vec<String> = brought.iter().map(value).collect();
    statement.rows("k", format_args!("{}, ttl_from, subject", brought.join(", ")), rows.len(), |k| {
        k.texts(rows.clone().map(|row| row.creation.key.user.user.as_str()))
            .texts(rows.clone().map(|row| row.creation.key.session.as_str()))
            .numbers(rows.clone().map(|row| row.creation.incarnation))
            .numbers(rows.clone().map(|row| row.revision))
            .add("bigint", rows.clone().map(|row| row.update_time.as_ref().map(|time| time.micros.0)))
            .optional_texts(rows.clone().map(|row| row.update_time.as_ref().map(|time| time.number.text())))
            .optional_texts(rows.clone().map(|row| row.creation.display_name.as_ref().map(RawJson::text)))
            .optional_texts(rows.clone().map(|row| row.creation.labels.as_ref().map(RawJson::text)))
            .add("bigint", rows.clone().map(|row| row.creation.expire_time().map(|time| time.0)))
            .texts(rows.clone().map(|row| row.initial_state.as_str()))
            .optional_texts(rows.clone().map(|row| row.creation.request.as_ref().map(|request| request.key.as_str())))
            .add("bytea", rows.clone().map(|row| row.creation.request.as_ref().map(|request| &request.digest[..])))
            .add("bigint", rows.clone().map(|row| counted_from(row.creation)))
            .add("bytea", rows.clone().map(|row| &row.subject.bytes()[..]));
    });
    let insert = format!(
        "insert into sessions ({columns}, create_time, commit_time, active_day, created_user_revision, created_app_revision) \
             select $1, {}, {clock}, {clock}, {clock} / {DAY_MICROS}, coalesce((select u.revision from user_scopes u where u.app_name = $1 \
                 and u.user_id = k.user_id), 0), coalesce((select a.revision from app_scopes a where a.app_name = $1), 0) \
             from k{admitted} on conflict do nothing returning {returning}",
        values.join(", "),
        clock = clock!()
    );
    Some((statement, insert))
}

/// The time from which the expiry of a session was counted, if it was.
fn counted_from(creation: &Creation) -> Option<i64> {
    Some(creation.expiry?.counted_from(creation.now)?.0)
}

/// The statements that are put together for each request, over one row and over two, with their names.
#[cfg(test)]
pub fn composed() -> Vec<(String, String)> {
    use super::read;
    use crate::domain::erasure::Subject;
    use crate::store::tests::creation;

    let (full, minimal) = (creation(Shown::Full), creation(Shown::Minimal));
    let insert_of = |creation| SessionInsert {
        creation,
        subject: Subject::trusted([0; 32]),
        revision: 0,
        update_time: None,
        initial_state: String::new(),
    };
    let insert = || insert_of(&full);
    let statements = [
        ("insert_session", insert_sessions(&[&insert()])),
        ("insert_sessions", insert_sessions(&[&insert(), &insert()])),
        ("distributed_insert_session", insert_unlisted(&[&insert()])),
        ("distributed_insert_sessions", insert_unlisted(&[&insert(), &insert()])),
        ("create_session", create_sessions(&[&insert()], false)),
        ("create_sessions", create_sessions(&[&insert(), &insert()], true)),
        ("create_session_minimal", create_sessions(&[&insert_of(&minimal)], false)),
    ];
    let composed = statements
        .into_iter()
        .filter_map(|(name, statement)| Some((name.to_owned(), statement?.sql().as_str().to_owned())));
    let calls = [("write", CALL), ("append", CALL_FOR_ONE)].map(|(name, text)| (name.to_owned(), text.to_owned()));
    composed.chain(read::composed()).chain(calls).collect()
}
