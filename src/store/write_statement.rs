//! PostgreSQL: one statement writes all that a batch of appends changes.
//!
//! Its parts are named queries, which all see the rows as they were before it. The heads come first: each is compared with
//! what was decided on, in lock order, and if one is no more what it was, the whole statement fails ("another transaction
//! came first"). PostgreSQL runs the parts that the last one reads as it reads them, the others after it.

use std::collections::BTreeMap;

use sqlx::Postgres;
use sqlx::query_builder::QueryBuilder;

use super::sql::{APP, EVENT_COLUMNS, SESSION, SESSION_COLUMNS, StateTables, USER, filter_text};
use super::statement::{Columns, Statement, apps, sessions, users};
use super::transactions::SessionInsert;
use crate::domain::append::{Locked, ScopeUpdate, StateWrites, UNREAD, Writes};
use crate::domain::history;
use crate::domain::ids::SessionKey;
use crate::domain::json::RawJson;

/// The statement; `None` if there is nothing to write. It returns one row, with more than one column only if it
/// [`reads_revisions`].
pub fn write_statement(writes: &Writes<'_>) -> Option<QueryBuilder<Postgres>> {
    let mut statement = Statement::default();
    let mut guards = Vec::new();
    if !writes.sessions.is_empty() {
        write_heads(&mut statement, writes);
        guards.push(("heads", writes.sessions.len()));
    }
    if !writes.users.is_empty() {
        write_scopes(&mut statement, "user_scopes", USER.owner, &writes.users, |columns, keys| {
            users(columns, keys.iter().map(|key| **key))
        });
        guards.push(("set_user_scopes", writes.users.len()));
    }
    if !writes.apps.is_empty() {
        write_scopes(&mut statement, "app_scopes", APP.owner, &writes.apps, |columns, keys| {
            apps(columns, keys.iter().map(|key| **key))
        });
        guards.push(("set_app_scopes", writes.apps.len()));
    }
    if !writes.events.is_empty() {
        write_events(&mut statement, writes);
    }
    write_state(
        &mut statement,
        &SESSION,
        &writes.session_state,
        |(.., key)| key,
        |columns, keys| {
            sessions(columns, keys.iter().map(|(key, ..)| *key))
                .numbers(keys.iter().map(|(_, incarnation, _)| *incarnation))
        },
    );
    write_state(
        &mut statement,
        &USER,
        &writes.user_state,
        |(_, key)| key,
        |columns, keys| users(columns, keys.iter().map(|(key, _)| *key)),
    );
    write_state(
        &mut statement,
        &APP,
        &writes.app_state,
        |(_, key)| key,
        |columns, keys| apps(columns, keys.iter().map(|(key, _)| *key)),
    );
    let mut sql = statement.end()?;
    sql.push(" select (case");
    for (part, count) in guards {
        sql.push(" when (select count(*) from ").push(part).push(") <> ").push_bind(count as i64);
        sql.push(" then 'another transaction came first'");
    }
    // Never a case without a branch.
    sql.push(" when false then '' else '1' end)::integer");
    if reads_revisions(writes) {
        sql.push(
            ", (select array_agg(incarnation) from appended), (select array_agg(user_revision) from appended), \
             (select array_agg(app_revision) from appended)",
        );
    }
    Some(sql)
}

/// Inserts rows of sessions of which neither the id nor the request is there, in key order, and their places in the list by last update; returns the
/// incarnations of those.
pub fn insert_sessions(inserts: &[SessionInsert<'_>]) -> Option<QueryBuilder<Postgres>> {
    let mut rows: Vec<&SessionInsert<'_>> = inserts.iter().collect();
    rows.sort_by_key(|insert| &insert.creation.key);
    let rows = rows.iter();
    let mut statement = Statement::default();
    statement.rows("k", SESSION_COLUMNS, rows.len(), |columns| {
        sessions(columns, rows.clone().map(|row| &row.creation.key))
            .numbers(rows.clone().map(|row| row.creation.incarnation))
            .numbers(rows.clone().map(|row| row.revision))
            .numbers(rows.clone().map(|row| row.creation.now.0))
            .numbers(rows.clone().map(|row| row.update_time.micros.0))
            .texts(rows.clone().map(|row| row.update_time.number.text()))
            .optional_texts(rows.clone().map(|row| row.creation.display_name.as_ref().map(RawJson::text)))
            .optional_texts(rows.clone().map(|row| row.creation.labels.as_ref().map(RawJson::text)))
            .add("bigint", rows.clone().map(|row| row.creation.expire_time.map(|time| time.0)))
            .texts(rows.clone().map(|row| row.initial_state.as_str()))
            .optional_texts(rows.clone().map(|row| row.creation.request.as_ref().map(|request| request.key.as_str())))
            .add("bytea", rows.clone().map(|row| row.creation.request.as_ref().map(|request| &request.digest[..])));
    });
    statement.part(
        "made",
        format_args!(
            "(insert into sessions ({SESSION_COLUMNS}, created_user_revision, created_app_revision) \
             select {SESSION_COLUMNS}, 0, 0 from k on conflict do nothing \
             returning app_name, user_id, id, update_time, incarnation)"
        ),
    );
    statement.part(
        "listed",
        "(insert into session_updates (app_name, user_id, id, update_time) \
          select app_name, user_id, id, update_time from made)",
    );
    let mut sql = statement.end()?;
    sql.push(" select incarnation from made");
    Some(sql)
}

/// Notes which revisions of user and app the creations of sessions saw.
pub fn set_created_revisions(seen: &[(&SessionKey, i64, i64)]) -> Option<QueryBuilder<Postgres>> {
    let rows = seen.iter();
    let mut statement = Statement::default();
    statement.rows("k", "app_name, user_id, id, user_revision, app_revision", rows.len(), |columns| {
        sessions(columns, rows.clone().map(|(key, ..)| *key))
            .numbers(rows.clone().map(|(_, user, _)| *user))
            .numbers(rows.clone().map(|(.., app)| *app));
    });
    let mut sql = statement.end()?;
    sql.push(
        " update sessions s set created_user_revision = k.user_revision, created_app_revision = k.app_revision \
         from k where s.app_name = k.app_name and s.user_id = k.user_id and s.id = k.id",
    );
    Some(sql)
}

/// Whether the statement reads the revision of a shared scope that an event saw. Then it returns, as arrays, those of all
/// events: the incarnations of their sessions, the revisions of user and app.
pub fn reads_revisions(writes: &Writes<'_>) -> bool {
    writes.events.iter().any(|row| row.user_revision == UNREAD || row.app_revision == UNREAD)
}

fn write_heads(statement: &mut Statement, writes: &Writes<'_>) {
    let rows = writes.sessions.iter();
    let was =
        |part: fn(&Locked) -> i64| writes.sessions.values().map(move |update| update.was.as_ref().map_or(0, part));
    let names = "app_name, user_id, id, revision, update_time, update_time_number, incarnation, old_revision, \
                 metadata_revision, old_update_time";
    statement.rows("h", names, rows.len(), |columns| {
        sessions(columns, rows.clone().map(|(key, _)| *key))
            .numbers(rows.clone().map(|(_, update)| update.revision))
            .numbers(rows.clone().map(|(_, update)| update.update_time.micros.0))
            .texts(rows.clone().map(|(_, update)| update.update_time.number.text()))
            .numbers(was(|was| was.incarnation))
            .numbers(was(|was| was.revision))
            .numbers(was(|was| was.metadata_revision))
            .numbers(was(|was| was.update_time.0));
    });
    statement.part(
        "heads",
        "(update sessions s set revision = h.revision, update_time = h.update_time, \
             update_time_number = h.update_time_number \
           from h where s.app_name = h.app_name and s.user_id = h.user_id and s.id = h.id \
             and s.incarnation = h.incarnation and s.revision = h.old_revision \
             and s.metadata_revision = h.metadata_revision returning 1)",
    );
    statement.part(
        "moved",
        "(update session_updates o set update_time = h.update_time from h where o.app_name = h.app_name \
           and o.user_id = h.user_id and o.update_time = h.old_update_time and o.id = h.id)",
    );
}

fn write_events(statement: &mut Statement, writes: &Writes<'_>) {
    let rows = writes.events.iter();
    let read = |revision: i64| (revision != UNREAD).then_some(revision);
    statement.rows("e", EVENT_COLUMNS, rows.len(), |columns| {
        sessions(columns, rows.clone().map(|row| row.key))
            .numbers(rows.clone().map(|row| row.incarnation))
            .numbers(rows.clone().map(|row| row.sequence))
            .texts(rows.clone().map(|row| row.event.id.as_str()))
            .numbers(rows.clone().map(|row| row.event.timestamp.micros.0))
            .numbers(rows.clone().map(|row| row.commit_time.0))
            .add("text", rows.clone().map(|row| filter_text(&row.event.author)))
            .add("text", rows.clone().map(|row| filter_text(&row.event.invocation_id)))
            .add("text", rows.clone().map(|row| row.event.branch.as_deref().map(filter_text)))
            .add("bigint", rows.clone().map(|row| read(row.user_revision)))
            .add("bigint", rows.clone().map(|row| read(row.app_revision)))
            .add("bigint", rows.clone().map(|row| row.rewind_to))
            .add("bytea", rows.clone().map(|row| &row.event.digest[..]))
            .texts(rows.clone().map(|row| &*row.body));
    });
    statement.part(
        "appended",
        format_args!(
            "(insert into events ({EVENT_COLUMNS}) \
             select app_name, user_id, session_id, incarnation, sequence, id, event_time, commit_time, author, \
               invocation_id, branch, \
               coalesce(user_revision, (select u.revision from user_scopes u \
                                        where u.app_name = e.app_name and u.user_id = e.user_id), 0), \
               coalesce(app_revision, (select a.revision from app_scopes a where a.app_name = e.app_name), 0), \
               rewind_to, digest, body \
             from e returning incarnation, user_revision, app_revision)"
        ),
    );
}

/// Revisions of shared scopes that are there, or that the batch makes.
fn write_scopes<K>(
    statement: &mut Statement,
    scopes: &str,
    owner: &str,
    updates: &BTreeMap<&K, ScopeUpdate>,
    owners: impl for<'q> Fn(Columns<'q>, &[&&K]) -> Columns<'q>,
) {
    let keys: Vec<&&K> = updates.keys().collect();
    statement.rows(
        format_args!("h_{scopes}"),
        format_args!("{owner}, revision, old_revision"),
        keys.len(),
        |columns| {
            owners(columns, &keys)
                .numbers(updates.values().map(|update| update.revision))
                .numbers(updates.values().map(|update| update.was));
        },
    );
    statement.part(
        format_args!("set_{scopes}"),
        format_args!(
            "(insert into {scopes} as s ({owner}, revision) select {owner}, revision from h_{scopes} \
               on conflict ({owner}) do update set revision = excluded.revision \
                 where s.revision = (select h.old_revision from h_{scopes} h \
                                     where ({owner}) = ({})) returning 1)",
            owner.split(", ").map(|name| format!("excluded.{name}")).collect::<Vec<_>>().join(", ")
        ),
    );
}

/// State rows, with what they end, and what did not last.
fn write_state<K>(
    statement: &mut Statement,
    tables: &StateTables,
    writes: &StateWrites<'_, K>,
    name: impl Fn(&K) -> &str,
    owners: impl for<'q> Fn(Columns<'q>, &[&K]) -> Columns<'q>,
) {
    let StateWrites { rows, passed } = writes;
    if rows.is_empty() {
        return;
    }
    let StateTables { owner, state, spans, log } = tables;
    let keys: Vec<&K> = rows.keys().collect();
    statement.rows(
        format_args!("k_{state}"),
        format_args!("{owner}, key, value, first, revision"),
        keys.len(),
        |columns| {
            owners(columns, &keys)
                .texts(keys.iter().map(|key| name(key)))
                .optional_texts(rows.values().map(|row| row.value.as_ref().map(|value| value.text())))
                .numbers(rows.values().map(|row| row.first))
                .numbers(rows.values().map(|row| row.revision));
        },
    );
    let (value, was) = if log.is_some() { ("", "") } else { (", value", ", was") };
    // Whoever holds the head holds its state rows: where one was found, it stays.
    statement.part(
        format_args!("old_{state}"),
        format_args!(
            "materialized (select k.*, s.ctid as place, s.revision as since, s.value as was \
             from k_{state} k left join {state} s using ({owner}, key))"
        ),
    );
    // The node (domain/history.rs) of a span from `since` to `first`: in the latter, all bits below the highest in which
    // the two differ are cleared.
    statement.part(
        format_args!("ended_{state}"),
        format_args!(
            "(insert into {spans} ({owner}, node, key, valid_from, valid_to{value}) select {owner}, \
               first & (-1::bigint << (length(ltrim((since # first)::bit(64)::text, '0')) - 1)), key, since, first{was} \
             from old_{state} where place is not null)"
        ),
    );
    statement.part(
        format_args!("kept_{state}"),
        format_args!(
            "(update {state} s set value = o.value, revision = o.revision from old_{state} o \
             where s.ctid = o.place and o.value is not null)"
        ),
    );
    statement.part(
        format_args!("added_{state}"),
        format_args!(
            "(insert into {state} ({owner}, key, value, revision) select {owner}, key, value, revision \
             from old_{state} where place is null and value is not null)"
        ),
    );
    if rows.values().any(|row| row.value.is_none()) {
        statement.part(
            format_args!("gone_{state}"),
            format_args!("(delete from {state} s using old_{state} o where s.ctid = o.place and o.value is null)"),
        );
    }
    if let Some(log) = log {
        statement.part(
            format_args!("logged_{state}"),
            format_args!(
                "(insert into {log} ({owner}, key, revision, value) select {owner}, key, revision, value from k_{state})"
            ),
        );
    }
    if passed.is_empty() {
        return;
    }
    let keys: Vec<&K> = passed.iter().map(|span| &span.key).collect();
    statement.rows(
        format_args!("p_{state}"),
        format_args!("{owner}, key, value, valid_from, valid_to, node"),
        keys.len(),
        |columns| {
            owners(columns, &keys)
                .texts(keys.iter().map(|key| name(key)))
                .optional_texts(passed.iter().map(|span| span.value.as_ref().map(|value| value.text())))
                .numbers(passed.iter().map(|span| span.from))
                .numbers(passed.iter().map(|span| span.to))
                .numbers(passed.iter().map(|span| history::node(span.from, span.to)));
        },
    );
    statement.part(
        format_args!("passed_{state}"),
        format_args!(
            "(insert into {spans} ({owner}, node, key, valid_from, valid_to{value}) \
             select {owner}, node, key, valid_from, valid_to{value} from p_{state} where value is not null)"
        ),
    );
    if let Some(log) = log {
        statement.part(
            format_args!("passed_log_{state}"),
            format_args!(
                "(insert into {log} ({owner}, key, revision, value) select {owner}, key, valid_from, value from p_{state})"
            ),
        );
    }
}
