//! Forgets what shared scopes were: raises their floors, and removes what is below.

use crate::domain::ids::{ScopeKey, UserId, UserKey};
use crate::domain::policy::{Forget, Scopes};
use crate::store::backend::Tx;
use crate::store::error::{Result, corrupt};
use crate::store::run::End;
use crate::store::sql::query::{Column, Query, Sql, at_most_one, one, row};
use crate::store::sql::scope::ScopeTables;
use crate::store::sql::statements::statements;
use crate::store::sql::words::Words;

/// How many scopes one transaction reads, and how many changes it reads of each and removes of all: it must fit into the time limit.
const SCOPES: i64 = 100;
const ROWS: i64 = 1000;

/// Where to go on, if nothing is to be forgotten in the next scopes.
pub async fn find<X: Tx>(tx: &mut X, forget: &Forget) -> Result<Option<Option<Scopes>>> {
    let rows = histories(tx, forget).await?;
    if rows.iter().any(HistoryRow::is_due) { Ok(None) } else { next(forget, &rows).map(Some) }
}

/// Goes through the next scopes until as much is removed as one transaction may; where to go on.
pub async fn forget<X: Tx>(tx: &mut X, forget: &Forget) -> Result<(Option<Scopes>, End)> {
    let rows = histories(tx, forget).await?;
    let (mut left, mut done) = (ROWS, forget.from.clone());
    for row in &rows {
        let (scope, after) = match forget.from {
            Scopes::All => (ScopeKey::App(forget.app.clone()), Scopes::OfUsers(None)),
            Scopes::OfUsers(_) => {
                let user = user(row)?;
                (ScopeKey::User(UserKey { app: forget.app.clone(), user: user.clone() }), Scopes::OfUsers(Some(user)))
            }
        };
        // It may have gone, and come anew, since it was found.
        if row.is_due()
            && let Some(row) = locked_history(tx, &scope, forget).await?
            && !forget_one(tx, &scope, &row, &mut left).await?
        {
            return Ok((Some(done), End::UNTOLD));
        }
        done = after;
    }
    Ok((next(forget, &rows)?, End::UNTOLD))
}

/// Where to go on after these.
fn next(forget: &Forget, rows: &[HistoryRow]) -> Result<Option<Scopes>> {
    match (&forget.from, rows.last()) {
        (Scopes::All, _) => Ok(Some(Scopes::OfUsers(None))),
        (Scopes::OfUsers(_), Some(last)) if rows.len() == SCOPES as usize => {
            Ok(Some(Scopes::OfUsers(Some(user(last)?))))
        }
        _ => Ok(None),
    }
}

fn user(row: &HistoryRow) -> Result<UserId> {
    UserId::parse(&row.user_id).map_err(corrupt)
}

/// Raises the floor of a scope, and removes up to `left` rows of what is below. Returns whether nothing is left to do.
async fn forget_one<X: Tx>(tx: &mut X, scope: &ScopeKey, row: &HistoryRow, left: &mut i64) -> Result<bool> {
    let floor = row.new_floor();
    let statements = ScopeStatements::of(tx, scope);
    tx.execute(Query::new(&statements.raise_floor).owner(scope).bind(floor)).await?;
    *left -= purge_values(tx, scope, floor, *left).await?;
    if *left > 0 {
        *left -= purge_removals(tx, scope, row.emptied, floor, *left).await?;
    }
    if *left > 0 {
        tx.execute(Query::new(&statements.set_emptied).owner(scope).bind(floor)).await?;
    }
    Ok(*left > 0 && row.is_whole())
}

/// The histories of the next shared scopes: the first change of each after its floor, which is enough to know whether there is anything
/// to forget.
async fn histories(db: &mut impl Sql, forget: &Forget) -> Result<Vec<HistoryRow>> {
    let statements = Statements::of(db);
    let query = match &forget.from {
        Scopes::All => Query::new(&statements.history_of_app).app(&forget.app),
        Scopes::OfUsers(after) => Query::new(&statements.history_of_users)
            .app(&forget.app)
            .bind(after.as_ref().map_or("", UserId::as_str))
            .bind(SCOPES),
    };
    db.fetch(query.bind(1).bind(forget.age_micros).bind(forget.now.0)).await
}

/// The history of one scope, whose row is locked: its first [`ROWS`] changes; `None` if it is gone.
async fn locked_history(db: &mut impl Sql, scope: &ScopeKey, forget: &Forget) -> Result<Option<HistoryRow>> {
    let query = Query::new(&ScopeStatements::of(db, scope).locked_history).owner(scope);
    at_most_one(db, query.bind(ROWS).bind(forget.age_micros).bind(forget.now.0)).await
}

/// Removes up to `limit` values of a shared scope that ended by `floor`. Returns how many.
async fn purge_values(db: &mut impl Sql, scope: &ScopeKey, floor: i64, limit: i64) -> Result<i64> {
    let statements = ScopeStatements::of(db, scope);
    let find = Query::new(&statements.values_before).owner(scope).bind(floor).bind(limit);
    let values: Vec<(i64, String, i64)> = db.fetch(find).await?;
    let Some((node, key, _)) = values.last() else { return Ok(0) };
    let (keys, revisions) = values.iter().map(|(_, key, revision)| (key.as_str(), *revision)).unzip();
    purge_log(db, scope, keys, revisions).await?;
    let spans = Query::new(&statements.purge_spans).owner(scope);
    db.execute(spans.bind(floor).bind(*node).bind(&**key)).await?;
    Ok(values.len() as i64)
}

/// Removes changes of these keys at these revisions from the log of a shared scope.
pub async fn purge_log(db: &mut impl Sql, scope: &ScopeKey, keys: Vec<&str>, revisions: Vec<i64>) -> Result<()> {
    let query = Query::new(&ScopeStatements::of(db, scope).purge_log).owner(scope);
    db.execute(query.columns([Column::Texts(keys), Column::Integers(revisions)])).await.map(drop)
}

/// Removes up to `limit` removals of keys from the log of a shared scope, those after one revision up to another. Returns how many.
/// All of one revision go at once.
async fn purge_removals(db: &mut impl Sql, scope: &ScopeKey, after: i64, through: i64, limit: i64) -> Result<i64> {
    let statements = ScopeStatements::of(db, scope);
    let find = Query::new(&statements.last_removal).owner(scope).bind(after).bind(through).bind(limit);
    let (last, count): (Option<i64>, i64) = one(db, find).await?;
    if let Some(last) = last {
        db.execute(Query::new(&statements.purge_removals).owner(scope).bind(after).bind(last)).await?;
    }
    Ok(count)
}

statements! { words,
    /// The app's shared scope, with what of the first `$2` changes after its floor was made `$3` microseconds ago or later;
    /// `$4` is now, where the database has no clock.
    history_of_app: history(
        words,
        "app",
        "l.app_name = $1",
        ["$2", "$3", "$4"],
        "'' as user_id",
        "where s.app_name = $1"
    ),
    /// The same of users after `$2`, up to `$3`; `$4`, `$5` and `$6` are those parameters.
    history_of_users: history(
        words,
        "user",
        "l.app_name = $1 and l.user_id = s.user_id",
        ["$4", "$5", "$6"],
        "s.user_id",
        "where s.app_name = $1 and s.user_id > $2 order by s.user_id limit 0 + $3"
    ),
}

statements! { words, ScopeTables { name, of, l_of, s_of, params: [p, q, r, ..], .. },
    /// The same of one scope, whose row is locked; `p`, `q` and `r` are those parameters.
    locked_history: history(
        words,
        name,
        l_of,
        [p, q, r],
        "'' as user_id",
        &format!("where {s_of}{}", words.for_update())
    ),
    raise_floor: format!("update {name}_scopes set floor = {p} where {of} and floor < {p}"),
    set_emptied: format!("update {name}_scopes set emptied = {p} where {of}"),
    /// The first `q` values that ended with the revision `p` or before.
    values_before: format!(
        "select node, key, valid_from from {name}_spans where {of} and node <= {p} and valid_to <= {p} \
         order by node, key limit 0 + {q}"
    ),
    /// Their changes in the log.
    purge_log: format!(
        "delete from {name}_log where {of} and (key, revision) in (select p.text, p.number from {})",
        words.pairs(p, q)
    ),
    /// Their spans, up to the last one.
    purge_spans: format!("delete from {name}_spans where {of} and valid_to <= {p} and (node, key) <= ({q}, {r})"),
    /// Removals with a revision after `p`, up to `q`: the revision that ends the first `r`.
    last_removal: format!(
        "select max(revision), count(*) from (select revision from {name}_log where {of} and revision > {p} \
           and revision <= {q} and value is null order by revision limit 0 + {r}) as r"
    ),
    purge_removals: format!(
        "delete from {name}_log where {of} and revision > {p} and revision <= {q} and value is null"
    ),
}

/// The histories of shared scopes: of the first `most` changes after the floor, the revision of the last, and that of the first that is
/// not older than `age`.
fn history(words: &Words, name: &str, of: &str, [most, age, now]: [&str; 3], user: &str, which: &str) -> String {
    let changes = |result: &str| {
        format!(
            "case when s.floor < s.revision then (select {result} from (select l.revision, l.time from {name}_log l \
               where {of} and l.revision > s.floor order by l.revision limit 0 + {most}) as l) end"
        )
    };
    let young = format!("min(case when l.time >= {} - {age} then l.revision end)", words.present(now));
    format!(
        "select {user}, s.floor, s.emptied, {} as young, {} as last from {name}_scopes s {which}",
        changes(&young),
        changes("max(l.revision)"),
    )
}

row! {
    /// The history of a shared scope, from which its new floor follows.
    struct HistoryRow {
        /// Of one of many users.
        user_id: String,
        floor: i64,
        emptied: i64,
        /// Of the first changes after the floor: the first one that is to stay, and the last.
        young: Option<i64>,
        last: Option<i64>,
    }
}

impl HistoryRow {
    /// The last of the changes that were read and are all to be forgotten.
    fn new_floor(&self) -> i64 {
        self.young.map(|young| young - 1).or(self.last).unwrap_or(self.floor)
    }

    fn is_due(&self) -> bool {
        self.new_floor() > self.emptied
    }

    /// Whether no later change can be one to be forgotten.
    fn is_whole(&self) -> bool {
        self.young.is_some() || self.last.is_none()
    }
}
