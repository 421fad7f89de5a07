//! What exports read and imports write, on either database, in statements that both share.

use std::collections::HashSet;

use super::columns::{EVENT, EVENT_COLUMNS, OWNER, Part};
use super::primitives::{at_most_one, in_scope, insert_listed, one};
use super::query::{Query, Sql, Value};
use super::rows::{ExportedEventRow, ExportedRow, IncarnationRow, PastRow};
use crate::domain::history;
use crate::domain::ids::{ScopeKey, SessionKey};
use crate::domain::json::RawJson;
use crate::domain::scope::join;
use crate::domain::session::SessionInfo;
use crate::domain::time::Micros;
use crate::domain::transfer::{
    ImportEnd, ImportRows, LogRow, PastChange, PastEnd, PastQuery, PastRows, PastValue, ScopeHead, ScopeImport,
};
use crate::domain::writes::EventWrite;
use crate::store::error::StoreError;

type Result<T> = std::result::Result<T, StoreError>;

/// Rows of one insertion: full ones have the same text, so that it is planned once.
const CHUNK: usize = 100;

fn of<'a>(text: &'static str, key: &'a SessionKey, incarnation: i64) -> Query<'a> {
    Query::new(text).session(key).bind(incarnation)
}

pub async fn exported(db: &mut impl Sql, session: &SessionInfo) -> Result<ExportedRow> {
    one(db, of(&db.statements().exported, &session.key, session.incarnation)).await
}

/// Rows of the log after one sequence, up to another.
pub async fn exported_rows(
    db: &mut impl Sql,
    session: &SessionInfo,
    (after, through): (i64, i64),
    max_rows: usize,
    max_bytes: usize,
) -> Result<Vec<LogRow>> {
    let query = of(&db.statements().exported_rows, &session.key, session.incarnation)
        .bind(after)
        .bind(through)
        .bind(max_rows as i64)
        .bind(max_bytes as i64)
        .bind(session.base_revision);
    let rows: Vec<ExportedEventRow> = db.fetch(query).await?;
    rows.into_iter().map(LogRow::try_from).collect()
}

/// Notes that a session is being imported, or still is.
pub async fn note_import(db: &mut impl Sql, key: &SessionKey, incarnation: i64, now: Micros) -> Result<()> {
    db.execute(of(&db.statements().note_import, key, incarnation).bind(now.0)).await.map(drop)
}

/// Notes that an import goes on; `false` if it is not known.
pub async fn renew_import(db: &mut impl Sql, key: &SessionKey, incarnation: i64, now: Micros) -> Result<bool> {
    Ok(db.execute(of(&db.statements().renew_import, key, incarnation).bind(now.0)).await? > 0)
}

/// Whether the import was noted.
pub async fn forget_import(db: &mut impl Sql, key: &SessionKey, incarnation: i64) -> Result<bool> {
    Ok(db.execute(of(&db.statements().forget_import, key, incarnation)).await? > 0)
}

/// Leaves the rows of an import to the sweep.
pub async fn abandon_import(db: &mut impl Sql, key: &SessionKey, incarnation: i64) -> Result<()> {
    if forget_import(db, key, incarnation).await? {
        db.execute(of(&db.statements().bury_session, key, incarnation)).await?;
    }
    Ok(())
}

/// An import that wrote nothing for so many microseconds.
pub async fn dead_import(db: &mut impl Sql, now: Micros, age: i64) -> Result<Option<(SessionKey, i64)>> {
    let query = Query::new(&*db.statements().dead_import).bind(now.0).bind(age);
    let row: Option<IncarnationRow> = at_most_one(db, query).await?;
    let Some((key, incarnation)) = row.map(IncarnationRow::decode).transpose()? else { return Ok(None) };
    if db.shape().is_distributed() {
        let claimed: Option<(i32,)> = at_most_one(db, of(&db.statements().claim_import, &key, incarnation)).await?;
        return Ok(claimed.map(|_| (key, incarnation)));
    }
    Ok(Some((key, incarnation)))
}

/// Writes rows of a session that is not visible; those that are there already stay.
pub async fn insert_rows(db: &mut impl Sql, import: &ImportRows) -> Result<()> {
    let owner = (&import.key, import.incarnation);
    for rows in import.rows.chunks(CHUNK) {
        let query = inserting("events", &EVENT_COLUMNS, owner, rows, |row, values| {
            let write = EventWrite {
                key: &import.key,
                incarnation: import.incarnation,
                sequence: row.sequence,
                user_revision: row.saw.0,
                app_revision: row.saw.1,
                commit_time: row.commit_time,
                rewind_to: row.rewind_to,
                event: &row.event,
                body: row.event.body.clone(),
            };
            for (_, part) in &EVENT {
                values.push(match part {
                    Part::Number(of) => of(&write).into(),
                    Part::Text(of) => Value::Text(of(&write).map(|text| text.into_owned().into())),
                    Part::Shared(_) => (&*row.event.body).into(),
                    Part::Bytes(_) => row.event.digest.as_slice().into(),
                });
            }
        });
        db.execute(query).await?;
    }
    let columns = format!("{OWNER}, node, key, valid_from, valid_to, value");
    for past in import.past.chunks(CHUNK) {
        let query = inserting("session_spans", &columns, owner, past, |PastValue { key, from, to, value }, values| {
            values.extend([
                history::node(*from, *to).into(),
                key.into(),
                (*from).into(),
                (*to).into(),
                value.text().into(),
            ]);
        });
        db.execute(query).await?;
    }
    Ok(())
}

/// Inserts the row of an imported session; `false` if one of its id is there.
pub async fn insert_session(db: &mut impl Sql, import: &ImportEnd) -> Result<bool> {
    let begin = &import.begin;
    let (source, revision) = begin.forked_from.as_ref().map(|(id, revision)| (id.as_str(), *revision)).unzip();
    let query = of(&db.statements().insert_imported, &import.key, import.incarnation)
        .bind(import.revision)
        .bind(begin.create_time.0)
        .bind(import.update_time.micros.0)
        .bind(import.update_time.number.text())
        .bind(begin.display_name.as_ref().map(RawJson::text))
        .bind(begin.labels.as_ref().map(RawJson::text))
        .bind(begin.expire_time.map(|time| time.0))
        .bind(begin.base)
        .bind(begin.base_state.text())
        .bind(source)
        .bind(revision)
        .bind(&begin.origin)
        .bind(import.sha256.as_slice())
        .bind(import.now.0)
        .bind(import.commit_time.0)
        .bind(import.base_saw.0)
        .bind(import.base_saw.1)
        .bind(import.lost.user.map(|(from, _)| from))
        .bind(import.lost.user.map(|(_, through)| through))
        .bind(import.lost.app.map(|(from, _)| from))
        .bind(import.lost.app.map(|(_, through)| through));
    insert_listed(db, query, &import.key).await
}

/// Writes the state of an imported session.
pub async fn insert_state(db: &mut impl Sql, import: &ImportEnd) -> Result<()> {
    let columns = format!("{OWNER}, key, value, revision");
    for rows in import.state.chunks(CHUNK) {
        let query = inserting(
            "session_state",
            &columns,
            (&import.key, import.incarnation),
            rows,
            |(key, value, revision), values| values.extend([key.into(), value.text().into(), (*revision).into()]),
        );
        db.execute(query).await?;
    }
    Ok(())
}

/// Where a shared scope stands; `None` if it never had state.
pub async fn scope_head(db: &mut impl Sql, scope: &ScopeKey) -> Result<Option<ScopeHead>> {
    let statements = db.statements();
    let row: Option<(i64, i64, i64)> =
        at_most_one(db, in_scope(&statements.user_scope_head, &statements.app_scope_head, scope)).await?;
    Ok(row.map(|(revision, floor, imported)| ScopeHead { revision, floor, imported }))
}

/// The state of a scope as it was at a revision, which is not below its floor; `last` is its present revision.
pub async fn scope_then(db: &mut impl Sql, scope: &ScopeKey, revision: i64, last: i64) -> Result<String> {
    let statements = db.statements();
    let query = in_scope(&statements.user_then, &statements.app_then, scope);
    let (state,): (Option<String>,) = one(db, query.bind(revision).bind(history::path(revision, last))).await?;
    Ok(join([state.as_deref()]))
}

/// When what held at a revision was written.
pub async fn base_time(db: &mut impl Sql, scope: &ScopeKey, revision: i64) -> Result<Micros> {
    let statements = db.statements();
    let query = in_scope(&statements.user_base_time, &statements.app_base_time, scope).bind(revision);
    let (time,): (i64,) = one(db, query).await?;
    Ok(Micros(time))
}

/// Changes of a scope after one revision, up to another; whether there are more. All of one revision come at once.
pub async fn past(db: &mut impl Sql, query: &PastQuery, after: i64, through: i64) -> Result<(Vec<PastChange>, bool)> {
    let rows = past_rows(db, &query.scope, (after, through), query.max_rows as i64, query.max_bytes as i64).await?;
    let is_whole = rows.first().is_none_or(|row| row.total < query.max_rows as i64 && row.total == rows.len() as i64);
    if is_whole {
        return Ok((changes(rows), false));
    }
    // The last revision may be cut.
    let last = rows.last().map_or(0, |row| row.revision);
    let mut found = changes(rows);
    if found.len() > 1 {
        found.pop();
        return Ok((found, true));
    }
    let rows = past_rows(db, &query.scope, (last - 1, last), i64::from(i32::MAX), i64::MAX).await?;
    Ok((changes(rows), last < through))
}

async fn past_rows(
    db: &mut impl Sql,
    scope: &ScopeKey,
    (after, through): (i64, i64),
    rows: i64,
    bytes: i64,
) -> Result<Vec<PastRow>> {
    let statements = db.statements();
    let query = in_scope(&statements.user_past, &statements.app_past, scope);
    db.fetch(query.bind(after).bind(through).bind(rows).bind(bytes)).await
}

/// Rows of a log as changes, one for each revision.
fn changes(rows: Vec<PastRow>) -> Vec<PastChange> {
    let mut changes: Vec<PastChange> = Vec::new();
    for PastRow { revision, key, value, time, .. } in rows {
        if changes.last().is_none_or(|last| last.revision != revision) {
            let (set, removed) = (Vec::new(), Vec::new());
            changes.push(PastChange { revision, time: Micros(time), is_base: false, set, removed });
        }
        let Some(change) = changes.last_mut() else { continue };
        match value {
            Some(value) => change.set.push((key, RawJson::trusted(value))),
            None => change.removed.push(key),
        }
    }
    changes
}

fn tables(scope: &ScopeKey) -> (&'static str, &'static str) {
    match scope {
        ScopeKey::User(_) => ("user", "app_name, user_id"),
        ScopeKey::App(_) => ("app", "app_name"),
    }
}

fn push_owner<'a>(scope: &'a ScopeKey, values: &mut Vec<Value<'a>>) {
    match scope {
        ScopeKey::User(owner) => values.extend([owner.app.as_str().into(), owner.user.as_str().into()]),
        ScopeKey::App(owner) => values.push(owner.as_str().into()),
    }
}

/// Writes what a scope was before it was taken. What is there already stays.
pub async fn insert_past(db: &mut impl Sql, past: &PastRows) -> Result<()> {
    let (prefix, owner) = tables(&past.scope);
    let set = |change: &'_ PastChange| -> Vec<(String, i64, i64, Option<RawJson>)> {
        let row = |key: &String, value: Option<&RawJson>| (key.clone(), change.revision, change.time.0, value.cloned());
        let set = change.set.iter().map(|(key, value)| row(key, Some(value)));
        set.chain(change.removed.iter().map(|key| row(key, None))).collect()
    };
    let rows: Vec<_> = past.changes.iter().flat_map(set).collect();
    let columns = format!("{owner}, key, revision, time, value");
    for rows in rows.chunks(CHUNK) {
        let query = rows_of(&format!("{prefix}_log"), &columns, rows, |(key, revision, time, value), values| {
            push_owner(&past.scope, values);
            values.extend([key.into(), (*revision).into(), (*time).into(), value.as_ref().map(RawJson::text).into()]);
        });
        db.execute(query).await?;
    }
    insert_spans(db, &past.scope, &past.spans).await
}

async fn insert_spans(db: &mut impl Sql, scope: &ScopeKey, spans: &[(String, i64, i64)]) -> Result<()> {
    let (prefix, owner) = tables(scope);
    let columns = format!("{owner}, node, key, valid_from, valid_to");
    for rows in spans.chunks(CHUNK) {
        let query = rows_of(&format!("{prefix}_spans"), &columns, rows, |(key, from, to), values| {
            push_owner(scope, values);
            values.extend([history::node(*from, *to).into(), key.into(), (*from).into(), (*to).into()]);
        });
        db.execute(query).await?;
    }
    Ok(())
}

/// Makes the past of a scope that an import took visible: what it held then was written earlier.
pub async fn settle_past(db: &mut impl Sql, end: &PastEnd) -> Result<()> {
    let (statements, scope, revision) = (db.statements(), &end.scope, end.revision);
    let time = in_scope(&statements.time_user_log, &statements.time_app_log, scope).bind(revision).bind(end.time.0);
    db.execute(time).await?;
    let still = in_scope(&statements.user_keys_at, &statements.app_keys_at, scope).bind(revision);
    let still: Vec<(String,)> = db.fetch(still).await?;
    let still: HashSet<String> = still.into_iter().map(|(key,)| key).collect();
    let (held, changed): (Vec<_>, Vec<_>) = end.held.iter().partition(|(key, ..)| still.contains(key));
    let (prefix, owner) = tables(scope);
    let columns = format!("{owner}, key, value, revision");
    for rows in held.chunks(CHUNK) {
        let keys: Vec<String> = rows.iter().map(|(key, ..)| key.clone()).collect();
        let at = vec![revision; keys.len()];
        let log = in_scope(&statements.purge_user_log, &statements.purge_app_log, scope).bind(Some(&*keys)).bind(at);
        db.execute(log).await?;
        let row = |row: &&'_ (String, RawJson, i64)| (row.0.clone(), row.1.clone(), row.2);
        let rows: Vec<_> = rows.iter().map(row).collect();
        let table = format!("{prefix}_state");
        let query = values_of(&table, &columns, &rows, |(key, value, revision), values| {
            push_owner(scope, values);
            values.extend([key.into(), value.text().into(), (*revision).into()]);
        });
        let query = query.sql(" on conflict (").sql(owner).sql(", key) do update set revision = excluded.revision");
        db.execute(query).await?;
    }
    // What somebody changed since it was taken has a span from then on.
    let spans: Vec<_> = changed.into_iter().map(|(key, _, from)| (key.clone(), *from, revision)).collect();
    insert_spans(db, scope, &spans).await?;
    let settle = in_scope(&statements.settle_user_past, &statements.settle_app_past, scope).bind(end.floor);
    db.execute(settle).await.map(drop)
}

/// Writes the state of a scope that has none, and its log, as of one revision; `began`: that of a user may have none up to here.
pub async fn insert_scope(db: &mut impl Sql, import: &ScopeImport, revision: i64, began: i64) -> Result<()> {
    let statements = db.statements();
    let (prefix, owner, query) = match &import.scope {
        ScopeKey::User(key) => {
            let query = Query::new(&*statements.set_user_revision).user(key).bind(revision).bind(began);
            ("user", "app_name, user_id", query)
        }
        ScopeKey::App(app) => ("app", "app_name", Query::new(&*statements.set_app_revision).app(app).bind(revision)),
    };
    db.execute(query).await?;
    let columns = format!("{owner}, key, value, revision");
    for table in ["state", "log"] {
        for rows in import.state.chunks(CHUNK) {
            let table = format!("{prefix}_{table}");
            let query = rows_of(&table, &columns, rows, |(key, value), values| {
                match &import.scope {
                    ScopeKey::User(owner) => values.extend([owner.app.as_str().into(), owner.user.as_str().into()]),
                    ScopeKey::App(owner) => values.push(owner.as_str().into()),
                }
                values.extend([key.into(), value.text().into(), revision.into()]);
            });
            db.execute(query).await?;
        }
    }
    Ok(())
}

/// An insertion of rows of one incarnation, which leaves those that are there.
fn inserting<'a, R>(
    table: &str,
    columns: &str,
    (key, incarnation): (&'a SessionKey, i64),
    rows: &'a [R],
    add: impl Fn(&'a R, &mut Vec<Value<'a>>),
) -> Query<'a> {
    rows_of(table, columns, rows, |row, values| {
        let user = &key.user;
        values.extend([user.app.as_str().into(), user.user.as_str().into(), key.session.as_str().into()]);
        values.push(incarnation.into());
        add(row, values);
    })
}

fn rows_of<'a, R>(table: &str, columns: &str, rows: &'a [R], add: impl Fn(&'a R, &mut Vec<Value<'a>>)) -> Query<'a> {
    values_of(table, columns, rows, add).sql(" on conflict do nothing")
}

fn values_of<'a, R>(table: &str, columns: &str, rows: &'a [R], add: impl Fn(&'a R, &mut Vec<Value<'a>>)) -> Query<'a> {
    let mut query = Query::new(format!("insert into {table} ({columns}) values "));
    for (n, row) in rows.iter().enumerate() {
        let mut values = Vec::new();
        add(row, &mut values);
        query = query.sql(if n == 0 { "(" } else { ", (" });
        for (n, value) in values.into_iter().enumerate() {
            if n > 0 {
                query = query.sql(", ");
            }
            query = query.arg(value);
        }
        query = query.sql(")");
    }
    query
}
