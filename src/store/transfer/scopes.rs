//! Shared state and its past, as exports show it and imports take it.

use std::collections::HashSet;

use sqlx::FromRow;

use crate::domain::erasure::Subject;
use crate::domain::history;
use crate::domain::ids::ScopeKey;
use crate::domain::json::{Json, RawJson};
use crate::domain::loaded::Needs;
use crate::domain::refusal::Refusal;
use crate::domain::scope::join;
use crate::domain::time::Micros;
use crate::domain::transfer::{PastChange, PastEnd, PastPage, PastQuery, PastRows, ScopeHead, ScopeImport};
use crate::domain::writes::Committed;
use crate::store::backend::Tx;
use crate::store::error::{Decided, StoreError};
use crate::store::policies::forget::purge_log;
use crate::store::run::End;
use crate::store::shared::statements::scope;
use crate::store::sql::query::{Query, Sql, Value, at_most_one, in_scope, one};
use crate::store::sql::statements::statements;
use crate::store::sql::words::Words;
use crate::store::transfer::import::admit_import;
use crate::store::transfer::insert::{CHUNK, rows_of, values_of};

type Result<T> = std::result::Result<T, StoreError>;

async fn admit_scope<X: Tx>(tx: &mut X, scope: &ScopeKey, subject: Option<&Subject>, since: i64) -> Decided<()> {
    match subject {
        Some(subject) => admit_import(tx, scope.app(), subject, since).await,
        None => Ok(()),
    }
}

/// A part of the past of shared state.
pub async fn past<X: Tx>(tx: &mut X, query: &PastQuery) -> Result<PastPage> {
    let nothing = PastPage { view: None, floor: 0, changes: Vec::new(), more: false };
    let Some(head) = scope_head(tx, &query.scope).await? else { return Ok(nothing) };
    let mut page = PastPage { floor: head.floor, ..nothing };
    let after = match query.after {
        Some(after) => after,
        None => {
            page.view = Some(scope(tx, &query.scope).await?);
            head.floor
        }
    };
    let through = if query.after.is_none() { head.revision } else { query.through };
    let is_base = query.after.is_none() && head.floor > 0;
    if is_base {
        let state = scope_then(tx, &query.scope, head.floor, head.revision).await?;
        let members = Json::trusted(&state).as_object().into_iter().flatten();
        page.changes.push(PastChange {
            revision: head.floor,
            time: base_time(tx, &query.scope, head.floor).await?,
            is_base,
            set: members.map(|member| (member.key.into_owned(), member.value.to_raw())).collect(),
            removed: Vec::new(),
        });
    }
    let (changes, more) = changes_of(tx, query, after, through).await?;
    page.changes.extend(changes);
    page.more = more;
    Ok(page)
}

/// Where a shared scope stands, and what its state was at a revision, if that is known.
pub async fn scope_at<X: Tx>(tx: &mut X, scope: &ScopeKey, revision: i64) -> Result<(ScopeHead, Option<String>)> {
    let head = scope_head(tx, scope).await?.unwrap_or(ScopeHead { revision: 0, floor: 0, imported: 0 });
    let is_known = (head.floor.max(1)..=head.revision).contains(&revision);
    let state = if is_known { Some(scope_then(tx, scope, revision, head.revision).await?) } else { None };
    Ok((head, state))
}

/// Writes what a scope was before an import took it: below its floor, where nobody sees it.
pub async fn import_past<X: Tx>(tx: &mut X, rows: &PastRows) -> Decided<((), End)> {
    admit_scope(tx, &rows.scope, rows.subject.as_ref(), rows.since).await?;
    tx.lock_scopes(&[rows.scope.borrowed()]).await?;
    let head = scope_head(tx, &rows.scope).await?;
    if head.is_none_or(|head| head.imported != rows.revision || head.floor != rows.revision) {
        return Err(Refusal::OtherState.into());
    }
    insert_past(tx, rows).await?;
    Ok(((), End::UNTOLD))
}

/// Makes such a past visible.
pub async fn end_past<X: Tx>(tx: &mut X, end: &PastEnd) -> Decided<((), End)> {
    admit_scope(tx, &end.scope, end.subject.as_ref(), end.since).await?;
    tx.lock_scopes(&[end.scope.borrowed()]).await?;
    let head = scope_head(tx, &end.scope).await?;
    if head.is_none_or(|head| head.imported != end.revision || head.floor != end.revision) {
        // Perhaps an earlier try of this call did it.
        return Err(Refusal::OtherState.into());
    }
    settle_past(tx, end).await?;
    Ok(((), End::UNTOLD))
}

/// Takes the state of a scope that has none; one that has a revision is left alone.
pub async fn import_scope<X: Tx>(tx: &mut X, import: &ScopeImport) -> Decided<((), End)> {
    admit_scope(tx, &import.scope, import.subject.as_ref(), import.since).await?;
    tx.lock_scopes(&[import.scope.borrowed()]).await?;
    if !import.beside(&scope(tx, &import.scope).await?)? {
        return Ok(((), End::Release));
    }
    let heads = tx.read_heads(&Needs::of_scope(&import.scope)).await?;
    let began = heads.revision_after(import.scope.borrowed(), 0) - 1;
    // Not a revision that an erased user had.
    let revision = import.revision.max(began + 1);
    insert_scope(tx, import, revision, began).await?;
    let told = Committed::Scope { key: import.scope.clone(), first: 1, last: revision };
    Ok(((), End::Commit(vec![told])))
}

/// Where a shared scope stands; `None` if it never had state.
async fn scope_head(db: &mut impl Sql, scope: &ScopeKey) -> Result<Option<ScopeHead>> {
    let statements = Statements::of(db);
    let row: Option<(i64, i64, i64)> =
        at_most_one(db, in_scope(&statements.user_scope_head, &statements.app_scope_head, scope)).await?;
    Ok(row.map(|(revision, floor, imported)| ScopeHead { revision, floor, imported }))
}

/// The state of a scope as it was at a revision, which is not below its floor; `last` is its present revision.
async fn scope_then(db: &mut impl Sql, scope: &ScopeKey, revision: i64, last: i64) -> Result<String> {
    let statements = Statements::of(db);
    let query = in_scope(&statements.user_then, &statements.app_then, scope);
    let (state,): (Option<String>,) = one(db, query.bind(revision).bind(history::path(revision, last))).await?;
    Ok(join([state.as_deref()]))
}

/// When what held at a revision was written.
async fn base_time(db: &mut impl Sql, scope: &ScopeKey, revision: i64) -> Result<Micros> {
    let statements = Statements::of(db);
    let query = in_scope(&statements.user_base_time, &statements.app_base_time, scope).bind(revision);
    let (time,): (i64,) = one(db, query).await?;
    Ok(Micros(time))
}

/// Changes of a scope after one revision, up to another; whether there are more. All of one revision come at once.
async fn changes_of(db: &mut impl Sql, query: &PastQuery, after: i64, through: i64) -> Result<(Vec<PastChange>, bool)> {
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
    let statements = Statements::of(db);
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
async fn insert_past(db: &mut impl Sql, past: &PastRows) -> Result<()> {
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
async fn settle_past(db: &mut impl Sql, end: &PastEnd) -> Result<()> {
    let (statements, scope, revision) = (Statements::of(db), &end.scope, end.revision);
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
        purge_log(db, scope, &keys, at).await?;
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
async fn insert_scope(db: &mut impl Sql, import: &ScopeImport, revision: i64, began: i64) -> Result<()> {
    let statements = Statements::of(db);
    let (prefix, owner, query) = match &import.scope {
        ScopeKey::User(key) => {
            let query = Query::new(&statements.set_user_revision).user(key).bind(revision).bind(began);
            ("user", "app_name, user_id", query)
        }
        ScopeKey::App(app) => ("app", "app_name", Query::new(&statements.set_app_revision).app(app).bind(revision)),
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

statements! { words,
    set_user_revision: "insert into user_scopes (app_name, user_id, revision, floor, emptied, began, imported) \
                          values ($1, $2, $3, $3, $3, $4, $3) \
                        on conflict (app_name, user_id) do update set revision = excluded.revision, floor = excluded.floor, \
                          emptied = excluded.emptied, began = excluded.began, imported = excluded.imported",
    set_app_revision: "insert into app_scopes (app_name, revision, floor, emptied, imported) values ($1, $2, $2, $2, $2) \
                       on conflict (app_name) do update set revision = excluded.revision, floor = excluded.floor, \
                         emptied = excluded.emptied, imported = excluded.imported",
    user_scope_head: "select revision, floor, imported from user_scopes where app_name = $1 and user_id = $2",
    app_scope_head: "select revision, floor, imported from app_scopes where app_name = $1",
    /// The state of a scope as it was at the revision `$3`, `$4` being the nodes of the path to it.
    user_then: then(words, "user", "app_name = $1 and user_id = $2", "l.app_name = $1 and l.user_id = $2", ["$3", "$4"]),
    app_then: then(words, "app", "app_name = $1", "l.app_name = $1", ["$2", "$3"]),
    /// When what held at the revision `$3` was written last, or the first change after it was made.
    user_base_time: base_time_text("user", "app_name = $1 and user_id = $2", "$3"),
    app_base_time: base_time_text("app", "app_name = $1", "$2"),
    /// Changes after the revision `$3`, up to `$4`: up to `$5` rows and `$6` bytes, the first in any case.
    user_past: past_text("user", "app_name = $1 and user_id = $2", ["$3", "$4", "$5", "$6"]),
    app_past: past_text("app", "app_name = $1", ["$2", "$3", "$4", "$5"]),
    time_user_log: "update user_log set time = $4 where app_name = $1 and user_id = $2 and revision = $3",
    time_app_log: "update app_log set time = $3 where app_name = $1 and revision = $2",
    user_keys_at: "select key from user_state where app_name = $1 and user_id = $2 and revision = $3",
    app_keys_at: "select key from app_state where app_name = $1 and revision = $2",
    settle_user_past: "update user_scopes set floor = $3, emptied = $3, imported = 0 where app_name = $1 and user_id = $2",
    settle_app_past: "update app_scopes set floor = $2, emptied = $2, imported = 0 where app_name = $1",
}

fn then(words: &Words, scope: &str, of: &str, logged: &str, [revision, nodes]: [&str; 2]) -> String {
    let spans = (words.filed)(&format!("{scope}_spans"), of, nodes);
    format!(
        "select (select {} from (select key, value from {scope}_state where {of} and revision <= {revision} \
           union all select t.key, (select l.value from {scope}_log l where {logged} and l.key = t.key \
             and l.revision = t.valid_from) from {spans} \
             where t.valid_from <= {revision} and t.valid_to > {revision}) as t) as state",
        (words.member)("t.key")
    )
}

fn base_time_text(scope: &str, of: &str, revision: &str) -> String {
    format!(
        "select coalesce((select max(time) from {scope}_log where {of} and revision <= {revision}), \
           (select time from {scope}_log where {of} and revision > {revision} order by revision limit 1), 0)"
    )
}

fn past_text(scope: &str, of: &str, [after, through, rows, bytes]: [&str; 4]) -> String {
    format!(
        "select revision, key, value, time, total from (select revision, key, value, time, count(*) over () as total, \
             sum(size) over (order by revision, key) as size_so_far, \
             row_number() over (order by revision, key) as place \
           from (select revision, key, value, time, octet_length(key) + coalesce(octet_length(value), 0) + 100 as size \
                 from {scope}_log where {of} and revision > {after} and revision <= {through} \
                 order by revision, key limit 0 + {rows}) as page) as sized \
         where size_so_far <= {bytes} or place = 1 order by revision, key"
    )
}

/// A row of the log of a shared scope, and how many there are in a page.
#[derive(FromRow)]
struct PastRow {
    revision: i64,
    key: String,
    value: Option<String>,
    time: i64,
    total: i64,
}
