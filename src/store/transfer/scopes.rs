//! Shared state and its past, as exports show it and imports take it.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashSet};

use crate::domain::erasure::Subject;
use crate::domain::history;
use crate::domain::ids::{ScopeKey, UserKey};
use crate::domain::json::{Json, RawJson};
use crate::domain::key_history::MadeBy;
use crate::domain::loaded::Needs;
use crate::domain::refusal::Refusal;
use crate::domain::scope::join;
use crate::domain::time::Micros;
use crate::domain::transfer::{PastChange, PastEnd, PastPage, PastQuery, PastRows, ScopeHead, ScopeImport};
use crate::domain::writes::Committed;
use crate::store::backend::Tx;
use crate::store::blocked::{admit_import, erased_among};
use crate::store::error::{Decided, Result};
use crate::store::policies::forget::purge_log;
use crate::store::run::End;
use crate::store::sql::filter::filter_text;
use crate::store::sql::insert::{CHUNK, insert_all};
use crate::store::sql::makers::{BY, LOGGED_BY, MADE_BY, MadeByRow, maker};
use crate::store::sql::query::{Query, Sql, Value, all_values, at_most_one, one, row};
use crate::store::sql::scope::{SCOPES, ScopeTables, of_scope};
use crate::store::sql::shared::scope;
use crate::store::sql::statements::statements;

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
            page.view = Some(scope(tx, &query.scope, None).await?);
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
            by: BTreeMap::new(),
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
pub async fn import_past<X: Tx>(tx: &mut X, salt: &[u8; 32], rows: &PastRows) -> Decided<((), End)> {
    admit_scope(tx, &rows.scope, rows.subject.as_ref(), rows.since).await?;
    let makers = rows.changes.iter().flat_map(|change| change.by.values());
    let makers: BTreeSet<UserKey> =
        makers.map(|by| UserKey { app: rows.scope.app().clone(), user: by.user.clone() }).collect();
    let unnamed = match &rows.scope {
        // A change of a user's state is made in a session of the user.
        ScopeKey::User(user) => makers.into_iter().filter(|maker| maker != user).collect(),
        ScopeKey::App(app) => erased_among(tx, salt, app, makers, rows.since).await?,
    };
    tx.lock_scopes(&[rows.scope.borrowed()]).await?;
    let head = scope_head(tx, &rows.scope).await?;
    if head.is_none_or(|head| head.imported != rows.revision || head.floor != rows.revision) {
        return Err(Refusal::OtherState.into());
    }
    insert_past(tx, rows, &unnamed).await?;
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
    if !import.beside(&scope(tx, &import.scope, None).await?)? {
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
pub async fn scope_head(db: &mut impl Sql, scope: &ScopeKey) -> Result<Option<ScopeHead>> {
    let query = Query::new(&ScopeStatements::of(db, scope).scope_head).owner(scope);
    at_most_one(db, query).await
}

/// The state of a scope as it was at a revision, which is not below its floor; `last` is its present revision.
async fn scope_then(db: &mut impl Sql, scope: &ScopeKey, revision: i64, last: i64) -> Result<String> {
    let query = Query::new(&ScopeStatements::of(db, scope).then).owner(scope);
    let (state,): (Option<String>,) = one(db, query.bind(revision).bind(history::path(revision, last))).await?;
    Ok(join([state.as_deref()]))
}

/// When the state of a scope at a revision was written.
pub async fn base_time(db: &mut impl Sql, scope: &ScopeKey, revision: i64) -> Result<Micros> {
    let query = Query::new(&ScopeStatements::of(db, scope).base_time).owner(scope).bind(revision);
    let (time,) = one(db, query).await?;
    Ok(time)
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
    let query = Query::new(&ScopeStatements::of(db, scope).past).owner(scope);
    db.fetch(query.bind(after).bind(through).bind(rows).bind(bytes)).await
}

/// Rows of a log as changes, one for each revision.
fn changes(rows: Vec<PastRow>) -> Vec<PastChange> {
    let mut changes: Vec<PastChange> = Vec::new();
    for PastRow { revision, key, value, time, by, .. } in rows {
        if changes.last().is_none_or(|last| last.revision != revision) {
            let (set, removed, by) = (Vec::new(), Vec::new(), BTreeMap::new());
            changes.push(PastChange { revision, time, is_base: false, set, removed, by });
        }
        let Some(change) = changes.last_mut() else { continue };
        if let Some(by) = by.made_by() {
            change.by.insert(key.clone(), by);
        }
        match value {
            Some(value) => change.set.push((key, value)),
            None => change.removed.push(key),
        }
    }
    changes
}

/// A change of one key.
type KeyRow<'a> = (&'a PastChange, &'a String, Option<&'a RawJson>, Option<&'a MadeBy>);

/// Writes what a scope was before it was taken. What is there already stays, and gets who made it. Nobody `unnamed` is named.
async fn insert_past(db: &mut impl Sql, past: &PastRows, unnamed: &BTreeSet<UserKey>) -> Result<()> {
    let is_named = |by: &&MadeBy| !unnamed.iter().any(|key| key.user == by.user);
    let mut rows: Vec<KeyRow<'_>> = Vec::new();
    for change in &past.changes {
        let set = change.set.iter().map(|(key, value)| (key, Some(value)));
        let all = set.chain(change.removed.iter().map(|key| (key, None)));
        rows.extend(all.map(|(key, value)| (change, key, value, change.by.get(key).filter(is_named))));
    }
    let owner = of_scope(&past.scope, &SCOPES).owner;
    let told: Vec<String> =
        ["sequence"].into_iter().chain(BY.split(", ")).map(|name| format!("{name} = excluded.{name}")).collect();
    let rest = format!(" on conflict ({owner}, key, revision) do update set {}", told.join(", "));
    let columns = format!("key, revision, time, value, sequence, {BY}");
    insert(db, ("log", &columns), &past.scope, &rows, &rest, |(change, key, value, by), values| {
        let of = |part: fn(&MadeBy) -> Cow<'_, str>| Value::Text(by.map(part));
        values.extend([
            (*key).into(),
            change.revision.into(),
            change.time.0.into(),
            value.map(RawJson::text).into(),
            by.map(|by| by.sequence).into(),
            of(|by| by.user.as_str().into()),
            of(|by| by.session.as_str().into()),
            of(|by| by.event.as_str().into()),
            of(|by| filter_text(&by.author)),
            of(|by| filter_text(&by.invocation_id)),
        ]);
    })
    .await?;
    insert_spans(db, &past.scope, &past.spans).await
}

async fn insert_spans(db: &mut impl Sql, scope: &ScopeKey, spans: &[(String, i64, i64)]) -> Result<()> {
    let table = ("spans", "node, key, valid_from, valid_to");
    insert(db, table, scope, spans, " on conflict do nothing", |(key, from, to), values| {
        values.extend([history::node(*from, *to).into(), key.into(), (*from).into(), (*to).into()]);
    })
    .await
}

/// Makes the past of a scope that an import took visible: what it held then was written earlier.
async fn settle_past(db: &mut impl Sql, end: &PastEnd) -> Result<()> {
    let (scope, revision) = (&end.scope, end.revision);
    let statements = ScopeStatements::of(db, scope);
    db.execute(Query::new(&statements.set_time).owner(scope).bind(revision).bind(end.time.0)).await?;
    let still: Vec<String> = all_values(db, Query::new(&statements.keys_at).owner(scope).bind(revision)).await?;
    let still: HashSet<String> = still.into_iter().collect();
    let (held, changed): (Vec<_>, Vec<_>) = end.unchanged.iter().partition(|(key, ..)| still.contains(key));
    for rows in held.chunks(CHUNK) {
        let keys = rows.iter().map(|(key, ..)| key.as_str()).collect();
        purge_log(db, scope, keys, vec![revision; rows.len()]).await?;
    }
    let rest =
        format!(" on conflict ({}, key) do update set revision = excluded.revision", of_scope(scope, &SCOPES).owner);
    insert(db, ("state", "key, value, revision"), scope, &held, &rest, |(key, value, revision), values| {
        values.extend([key.into(), value.text().into(), (*revision).into()]);
    })
    .await?;
    // What somebody changed since it was taken has a span from then on.
    let spans: Vec<_> = changed.into_iter().map(|(key, _, from)| (key.clone(), *from, revision)).collect();
    insert_spans(db, scope, &spans).await?;
    db.execute(Query::new(&statements.settle_past).owner(scope).bind(end.floor)).await.map(drop)
}

/// Writes the state of a scope that has none, and its log, as of one revision; `began`: that of a user may have none up to here.
async fn insert_scope(db: &mut impl Sql, import: &ScopeImport, revision: i64, began: i64) -> Result<()> {
    let scope = &import.scope;
    let take = Query::new(&ScopeStatements::of(db, scope).take).owner(scope).bind(revision);
    let take = if matches!(scope, ScopeKey::User(_)) { take.bind(began) } else { take };
    db.execute(take).await?;
    for table in ["state", "log"] {
        let table = (table, "key, value, revision");
        insert(db, table, scope, &import.state, " on conflict do nothing", |(key, value), values| {
            values.extend([key.into(), value.text().into(), revision.into()]);
        })
        .await?;
    }
    Ok(())
}

/// Inserts rows of the scope into one of its tables, with columns beside those of the owner; `rest` follows them.
async fn insert<'a, R>(
    db: &mut impl Sql,
    (table, columns): (&str, &str),
    scope: &'a ScopeKey,
    rows: &'a [R],
    rest: &str,
    add: impl Fn(&'a R, &mut Vec<Value<'a>>),
) -> Result<()> {
    let ScopeTables { name, owner, .. } = of_scope(scope, &SCOPES);
    insert_all(db, &format!("{name}_{table}"), &format!("{owner}, {columns}"), rows, rest, |row, values| {
        values.push(scope.app().as_str().into());
        values.extend(scope.user().map(|user| user.user.as_str().into()));
        add(row, values);
    })
    .await
}

statements! { words, ScopeTables { name, owner, values, of, e_of, l_of, params: [p, q, r, s, ..], began, .. },
    /// Begins a scope at the revision `p`; `q` is the revision behind which a user's began.
    take: {
        let (column, value, set) = match *began {
            "0" => ("", String::new(), ""),
            _ => (", began", format!(", {q}"), ", began = excluded.began"),
        };
        format!(
            "insert into {name}_scopes ({owner}, revision, floor, emptied, imported{column}) \
               values ({values}, {p}, {p}, {p}, {p}{value}) \
             on conflict ({owner}) do update set revision = excluded.revision, floor = excluded.floor, \
               emptied = excluded.emptied, imported = excluded.imported{set}"
        )
    },
    scope_head: format!("select revision, floor, imported from {name}_scopes where {of}"),
    /// The state of a scope as it was at the revision `p`, `q` being the nodes of the path to it.
    then: format!(
        "select (select {} from (select key, value from {name}_state where {of} and revision <= {p} \
           union all select t.key, (select l.value from {name}_log l where {l_of} and l.key = t.key \
             and l.revision = t.valid_from) from {} \
             where t.valid_from <= {p} and t.valid_to > {p}) as t) as state",
        (words.member)("t.key"),
        (words.filed)(&format!("{name}_spans"), of, q)
    ),
    /// When the state at the revision `p` was written last, or the first change after it was made.
    base_time: format!(
        "select coalesce((select time from {name}_log where {of} and revision <= {p} order by revision desc limit 1), \
           (select time from {name}_log where {of} and revision > {p} order by revision limit 1), 0)"
    ),
    /// Changes after the revision `p`, up to `q`: up to `r` rows and `s` bytes, the first in any case.
    past: format!(
        "select logged.revision, logged.key, logged.value, logged.time, logged.total, {MADE_BY} from (select page.*, count(*) over () as total, \
             sum(size) over (order by revision, key) as size_so_far, \
             row_number() over (order by revision, key) as place \
           from (select revision, key, value, time, {LOGGED_BY}, octet_length(key) + coalesce(octet_length(value), 0) + 400 as size \
                 from {name}_log where {of} and revision > {p} and revision <= {q} \
                 order by revision, key limit 0 + {r}) as page) as logged {} \
         where size_so_far <= {s} or place = 1 order by logged.revision, logged.key",
        maker(words, e_of)
    ),
    set_time: format!("update {name}_log set time = {q} where {of} and revision = {p}"),
    keys_at: format!("select key from {name}_state where {of} and revision = {p}"),
    settle_past: format!("update {name}_scopes set floor = {p}, emptied = {p}, imported = 0 where {of}"),
}

row! {
    impl ScopeHead {
        revision: i64,
        floor: i64,
        imported: i64,
    }
}

row! {
    /// A row of the log of a shared scope, and how many there are in a page.
    struct PastRow {
        revision: i64,
        key: String,
        value: Option<RawJson>,
        time: Micros,
        by: MadeByRow,
        total: i64,
    }
}
