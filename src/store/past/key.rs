//! The past of one key.

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::domain::ids::{EventId, ScopeKey};
use crate::domain::json::RawJson;
use crate::domain::key_history::{Held, KeyChange, KeyHistory, KeyHistoryQuery, KeyOwner, MadeBy, changes_of};
use crate::domain::session::SessionInfo;
use crate::domain::time::Micros;
use crate::store::backend::Tx;
use crate::store::error::{Cause, Result, StoreError};
use crate::store::sessions::read::head;
use crate::store::sql::columns::{OF_INCARNATION, OF_L};
use crate::store::sql::filter::plain_text;
use crate::store::sql::makers::{LOGGED_BY, MADE_BY, MadeByRow, maker};
use crate::store::sql::query::{Query, Sql, at_most_one, row};
use crate::store::sql::scope::ScopeTables;
use crate::store::sql::statements::statements;
use crate::store::sql::words::Words;
use crate::store::transfer::scopes::{base_time, scope_head};

/// A page of the changes of a key, at one moment; `None` if the session is not there.
pub async fn key_history<X: Tx>(tx: &mut X, query: &KeyHistoryQuery) -> Result<Option<KeyHistory>> {
    let head = match query.owner.session() {
        None => None,
        Some(session) => match head(tx, session, query.now).await? {
            None => return Ok(None),
            head => head,
        },
    };
    let mark = head.as_ref().map_or(0, |head| head.tag().mark());
    let (changes, more) = match (&query.owner, &head) {
        (KeyOwner::Shared { scope, .. }, _) => of_scope(tx, scope, query).await?,
        (KeyOwner::Session(_), Some(head)) => of_session(tx, head, query).await?,
        (KeyOwner::Session(_), None) => return Ok(None),
    };
    Ok(Some(KeyHistory::of(mark, changes, more, query.max_rows)))
}

/// The changes of a session's key, and whether there are more.
async fn of_session(db: &mut impl Sql, head: &SessionInfo, query: &KeyHistoryQuery) -> Result<(Vec<KeyChange>, bool)> {
    let base = head.base_revision;
    let (low, high) = query.bounds();
    let statements = Statements::of(db);
    let text = if query.descending { &statements.held_backwards } else { &statements.held };
    // One that began before the page shows at most its end, and one more tells that there are more.
    let rows = Query::of(text, &head.key, head.incarnation)
        .bind(&query.key)
        .bind(low.max(base))
        .bind(high)
        .bind(query.max_rows as i64 + 2)
        .bind(query.max_bytes as i64)
        .bind(within_block());
    let rows: Vec<HeldRow> = db.fetch(rows).await?;
    let more = rows.first().is_some_and(|row| row.total > rows.len() as i64);
    let changes = changes_of(rows.into_iter().map(|row| row.held).collect(), base, query);
    let revisions: Vec<i64> = changes.iter().map(|(revision, _)| *revision).collect();
    let events: Vec<MakerRow> =
        db.fetch(Query::of(&statements.makers, &head.key, head.incarnation).bind(revisions)).await?;
    let mut events: HashMap<i64, MakerRow> = events.into_iter().map(|row| (row.sequence, row)).collect();
    let change = |(revision, value): (i64, Option<RawJson>)| {
        let event = events.remove(&revision);
        if revision == base {
            // Of the last event of the base, unless a policy has removed its stub.
            let time = event.map_or(head.create_time, |event| event.commit_time);
            return Ok(KeyChange { revision, time, value, is_base: true, by: None });
        }
        let event = event.ok_or_else(|| {
            StoreError::new(Cause::Internal, "an event is missing that a session's state was changed by")
        })?;
        let by = MadeBy {
            user: head.key.user.user.clone(),
            session: head.key.session.clone(),
            event: event.id,
            sequence: revision,
            author: plain_text(&event.author),
            invocation_id: plain_text(&event.invocation_id),
        };
        Ok(KeyChange { revision, time: event.commit_time, value, is_base: false, by: Some(by) })
    };
    Ok((changes.into_iter().map(change).collect::<Result<_>>()?, more))
}

/// The changes of a key of user or app state, and whether there are more.
async fn of_scope(db: &mut impl Sql, scope: &ScopeKey, query: &KeyHistoryQuery) -> Result<(Vec<KeyChange>, bool)> {
    let Some(scope_head) = scope_head(db, scope).await? else { return Ok((Vec::new(), false)) };
    let floor = scope_head.floor;
    let (low, high) = query.bounds();
    let statements = ScopeStatements::of(db, scope);
    let text = if query.descending { &statements.key_changes_backwards } else { &statements.key_changes };
    let rows = Query::new(text)
        .owner(scope)
        .bind(&query.key)
        .bind(low.max(floor))
        .bind(high)
        .bind(query.max_rows as i64 + 1)
        .bind(query.max_bytes as i64);
    let rows: Vec<ChangeRow> = db.fetch(rows).await?;
    let more = rows.first().is_some_and(|row| row.total > rows.len() as i64);
    let mut changes: Vec<_> = rows.into_iter().map(ChangeRow::change).collect();
    let is_base_due = floor > 0 && low < floor && floor < high && !(query.descending && more);
    if is_base_due && let Some(value) = value_at_floor(db, scope, query, (floor, scope_head.imported)).await? {
        let time = base_time(db, scope, floor).await?;
        let base = KeyChange { revision: floor, time, value: Some(value), is_base: true, by: None };
        changes.insert(if query.descending { changes.len() } else { 0 }, base);
    }
    Ok((changes, more))
}

/// The value that a key had at the floor of its scope.
async fn value_at_floor(
    db: &mut impl Sql,
    scope: &ScopeKey,
    query: &KeyHistoryQuery,
    (floor, imported): (i64, i64),
) -> Result<Option<RawJson>> {
    // While an import writes what was before, that is not whole.
    let first = if imported > 0 { floor } else { 0 };
    let statement = Query::new(&ScopeStatements::of(db, scope).key_at_floor).owner(scope);
    let row: Option<(Option<RawJson>,)> = at_most_one(db, statement.bind(&query.key).bind(first).bind(floor)).await?;
    Ok(row.and_then(|(value,)| value))
}

statements! { words,
    /// The values that the key `$5` had and has, of those that ended after the revision `$6`, and by `$7`: up to `$8` rows and `$9`
    /// bytes, the first in any case; one that began by `$6` does not count. The present one has not ended. `$10` are the numbers within a block.
    held: held(words, "asc"),
    held_backwards: held(words, "desc"),
    /// The events of the sequences `$5`.
    makers: format!(
        "select l.sequence, l.id, l.commit_time, l.author, l.invocation_id from {} {}",
        (words.numbers)("$5"),
        (words.look_up)("events", &format!("{OF_L} and l.sequence = k.value"))
    ),
}

/// The revisions are in blocks of this many. A span is a landmark if it goes beyond its block, so that its node is a multiple of this,
/// or if a removal ended it: landmarks have an index by key (migrations). All others begin and end in one block, and are followed there by
/// values of the same key up to a landmark, or the present value. So those are in the blocks in which these begin, each under one of the few
/// nodes there; but where a landmark ends as the next one begins, nothing is between them.
const BLOCK: i64 = 32;

/// That a span is a landmark.
static LANDMARK: LazyLock<String> = LazyLock::new(|| format!("node & {} = 0 or removed", BLOCK - 1));

/// The numbers from the beginning of a block to its other nodes.
pub fn within_block() -> Vec<i64> {
    (1..BLOCK).collect()
}

/// The revisions after `$6` that set each of the keys `$5` next, or null; `$7`: [`within_block`]. Before the first landmark there are only
/// those of its block.
pub fn next_values(words: &Words) -> String {
    const OF_S: &str =
        "s.app_name = $1 and s.user_id = $2 and s.session_id = $3 and s.incarnation = $4 and s.key = k.value";
    let landmark = &*LANDMARK;
    format!(
        "select t.value, coalesce((select min(l.valid_from) from {} {} where l.valid_from > $6), t.began) \
         from (select k.value, coalesce((select s.valid_from from session_spans s where {OF_S} and ({landmark}) \
               and s.valid_to > $6 and s.valid_from > $6 order by s.valid_to limit 1), \
             (select s.revision from session_state s where {OF_S} and s.revision > $6)) as began from {}) as t",
        (words.numbers)("$7"),
        (words.look_up)(
            "session_spans",
            &format!("{OF_L} and l.key = t.value and l.node = t.began / {BLOCK} * {BLOCK} + k.value")
        ),
        (words.each)("$5"),
    )
}

fn held(words: &Words, direction: &str) -> String {
    const OF_S: &str = "s.app_name = $1 and s.user_id = $2 and s.session_id = $3 and s.incarnation = $4 and s.key = $5";
    const PRESENT: i64 = i64::MAX;
    let landmark = &*LANDMARK;
    let columns = |table: &str, of: &str, to: &str| {
        format!(
            "{of}, {to} as valid_to, case when {of} <= $6 then 0 else octet_length({table}.value) + 300 end as size"
        )
    };
    let landmarks = |condition: &str| {
        format!(
            "select * from (select {}, node, removed from session_spans where {OF_INCARNATION} and key = $5 \
               and ({landmark}) and {condition}) as t",
            columns("session_spans", "valid_from", "valid_to")
        )
    };
    format!(
        "with landmarks as ({} union all {}), \
         blocks as (select began / {BLOCK} * {BLOCK} as first, max(began) as last \
             from (select began, coalesce(lag(ended) over (order by ended), -1) as before \
               from (select valid_from as began, valid_to as ended from landmarks \
                 union all select s.revision, {PRESENT} from session_state s where {OF_S}) as t) as t \
             where before <> began group by began / {BLOCK} * {BLOCK}) \
         select valid_from, nullif(valid_to, {PRESENT}) as ended, total, not removed as is_replaced, \
           case when valid_to = {PRESENT} then (select s.value from session_state s where {OF_S}) \
             else (select s.value from session_spans s where {OF_S} and s.node = sized.node and s.valid_to = sized.valid_to) \
             end as value \
         from (select valid_from, valid_to, node, removed, size, count(*) over () as total, \
             sum(size) over (order by valid_to {direction}) as size_so_far \
           from (select * from landmarks where valid_to <= $7 \
               union all select * from (select {}, node, removed from (select * from blocks order by first {direction}) as b \
                 cross join (select value from {}) as k {} where not removed and valid_to > $6 and valid_to <= $7 \
                 order by b.first {direction}, k.value {direction} limit 0 + $8) as t \
               union all select {}, 0, false from session_state where {OF_INCARNATION} and key = $5 and $7 = {PRESENT} \
               order by valid_to {direction} limit 0 + $8) as page) as sized \
         where size_so_far <= $9 or size_so_far = size order by valid_to {direction}",
        landmarks(&format!("valid_to > $6 and valid_to <= $7 order by valid_to {direction} limit 0 + $8")),
        landmarks("valid_to > $7 order by valid_to limit 1"),
        columns("l", "valid_from", "valid_to"),
        (words.numbers)("$10"),
        (words.look_up)(
            "session_spans",
            &format!("{OF_L} and l.key = $5 and l.node = b.first + k.value and l.node <= b.last")
        ),
        columns("session_state", "revision", &PRESENT.to_string()),
    )
}

statements! { words, tables @ ScopeTables { name, of, params: [p, q, r, ..], .. },
    /// The changes of the key `p` after the revision `q` and before `r`: up to a number of rows and of bytes, the first in any case.
    key_changes: key_changes(words, tables, "asc"),
    key_changes_backwards: key_changes(words, tables, "desc"),
    /// The last change of the key `p` from the revision `q` up to `r`.
    key_at_floor: format!(
        "select value from {name}_log where {of} and (key, revision) >= ({p}, {q}) and (key, revision) <= ({p}, {r}) \
         order by key desc, revision desc limit 1"
    ),
}

/// A removal of what was not there is no change: that is what a redaction makes of a change. A key and its revisions are compared as rows:
/// for single columns, a planner without statistics would take the index by revision, and go through all changes of the scope.
fn key_changes(words: &Words, tables: &ScopeTables, direction: &str) -> String {
    let ScopeTables { name, l_of, s_of, e_of, params: [p, q, r, s, t, _], .. } = tables;
    format!(
        "select logged.revision, logged.time, logged.total, {MADE_BY}, \
           (select s.value from {name}_log s where {s_of} and s.key = {p} and s.revision = logged.revision) as value \
         from (select page.*, count(*) over () as total, row_number() over (order by revision {direction}) as place, \
             sum(size) over (order by revision {direction}) as size_so_far \
           from (select revision, time, {LOGGED_BY}, coalesce(octet_length(value), 0) + 300 as size \
               from {name}_log l where {l_of} and (l.key, l.revision) > ({p}, {q}) and (l.key, l.revision) < ({p}, {r}) \
                 and (l.value is not null or (select case when s.key = {p} then s.value end from {name}_log s \
                   where {s_of} and (s.key, s.revision) < ({p}, l.revision) order by s.key desc, s.revision desc limit 1) is not null) \
               order by l.key {direction}, l.revision {direction} limit 0 + {s}) as page) as logged {} \
         where size_so_far <= {t} or place = 1 order by logged.revision {direction}",
        maker(words, e_of)
    )
}

row! {
    struct HeldRow {
        held: Held,
        /// How many rows there were before the limit of bytes.
        total: i64,
    }
}
row! { impl Held { from: i64 = "valid_from", to: Option<i64> = "ended", value: RawJson, is_replaced: bool, } }

row! {
    /// What an event says of itself.
    struct MakerRow {
        sequence: i64,
        id: EventId,
        commit_time: Micros,
        author: String,
        invocation_id: String,
    }
}

row! {
    /// A change of a key of shared state.
    struct ChangeRow {
        revision: i64,
        time: Micros,
        value: Option<RawJson>,
        by: MadeByRow,
        total: i64,
    }
}

impl ChangeRow {
    fn change(self) -> KeyChange {
        let Self { revision, time, value, by, .. } = self;
        KeyChange { revision, time, value, is_base: false, by: by.made_by() }
    }
}

#[cfg(test)]
mod tests {
    use super::LANDMARK;
    use crate::store::migrations::{POSTGRES, SQLITE};

    #[test]
    fn the_index_has_all_landmarks() {
        for migration in [&POSTGRES, &SQLITE].map(|migrator| migrator.iter().next().unwrap()) {
            let index = format!("on session_spans (key, incarnation, valid_to) where {};", *LANDMARK);
            assert!(migration.sql.as_str().contains(&index), "{index}");
        }
    }
}
