//! Forgets what shared scopes were: raises their floors, and removes what is below.

use sqlx::FromRow;

use crate::domain::ids::{ScopeKey, UserId, UserKey};
use crate::domain::policy::{Forget, Scopes};
use crate::store::backend::Tx;
use crate::store::error::{StoreError, corrupt};
use crate::store::run::End;
use crate::store::sql::query::{Query, Sql, at_most_one, in_scope, one};
use crate::store::sql::statements::statements;
use crate::store::sql::words::Words;

type Result<T> = std::result::Result<T, StoreError>;

/// How many scopes one transaction reads, and how many changes it reads of each and removes of all: it must fit into the time limit.
const SCOPES: i64 = 100;
const ROWS: i64 = 1000;

/// One change after the floor is enough to know whether there is anything to forget.
const FIRST: i64 = 1;

/// Where to go on, if nothing is to be forgotten in the next scopes.
pub async fn find<X: Tx>(tx: &mut X, forget: &Forget) -> Result<Option<Option<Scopes>>> {
    let rows = histories(tx, forget, SCOPES, FIRST).await?;
    if rows.iter().any(HistoryRow::is_due) { Ok(None) } else { next(forget, &rows).map(Some) }
}

/// Goes through the next scopes until as much is removed as one transaction may; where to go on.
pub async fn forget<X: Tx>(tx: &mut X, forget: &Forget) -> Result<(Option<Scopes>, End)> {
    let rows = histories(tx, forget, SCOPES, FIRST).await?;
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
            && let Some(row) = locked_history(tx, &scope, forget, ROWS).await?
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
    raise_floor(tx, scope, floor).await?;
    *left -= purge_values(tx, scope, floor, *left).await?;
    if *left > 0 {
        *left -= purge_removals(tx, scope, row.emptied, floor, *left).await?;
    }
    if *left > 0 {
        set_emptied(tx, scope, floor).await?;
    }
    Ok(*left > 0 && row.is_whole())
}

/// The histories of the next `scopes` shared scopes: the first `changes` changes of each after its floor.
async fn histories(db: &mut impl Sql, forget: &Forget, scopes: i64, changes: i64) -> Result<Vec<HistoryRow>> {
    let statements = Statements::of(db);
    let query = match &forget.from {
        Scopes::All => Query::new(&statements.history_of_app).app(&forget.app),
        Scopes::OfUsers(after) => Query::new(&statements.history_of_users)
            .app(&forget.app)
            .bind(after.as_ref().map_or("", UserId::as_str))
            .bind(scopes),
    };
    db.fetch(query.bind(changes).bind(forget.age).bind(forget.now.0)).await
}

/// The same of one scope, whose row is locked; `None` if it is gone.
async fn locked_history(
    db: &mut impl Sql,
    scope: &ScopeKey,
    forget: &Forget,
    changes: i64,
) -> Result<Option<HistoryRow>> {
    let statements = Statements::of(db);
    let query = in_scope(&statements.locked_history_of_user, &statements.locked_history_of_app, scope);
    at_most_one(db, query.bind(changes).bind(forget.age).bind(forget.now.0)).await
}

/// Makes a revision the floor of a shared scope, unless it has a higher one.
async fn raise_floor(db: &mut impl Sql, scope: &ScopeKey, floor: i64) -> Result<()> {
    let statements = Statements::of(db);
    let query = in_scope(&statements.raise_user_floor, &statements.raise_app_floor, scope).bind(floor);
    db.execute(query).await.map(drop)
}

/// Nothing is left of what a shared scope was before its floor.
async fn set_emptied(db: &mut impl Sql, scope: &ScopeKey, floor: i64) -> Result<()> {
    let statements = Statements::of(db);
    let query = in_scope(&statements.set_user_emptied, &statements.set_app_emptied, scope).bind(floor);
    db.execute(query).await.map(drop)
}

/// Removes up to `limit` values of a shared scope that ended by `floor`. Returns how many.
async fn purge_values(db: &mut impl Sql, scope: &ScopeKey, floor: i64, limit: i64) -> Result<i64> {
    let statements = Statements::of(db);
    let find = in_scope(&statements.user_values_before, &statements.app_values_before, scope).bind(floor).bind(limit);
    let values: Vec<(i64, String, i64)> = db.fetch(find).await?;
    let Some((node, key, _)) = values.last() else { return Ok(0) };
    let keys: Vec<String> = values.iter().map(|(_, key, _)| key.clone()).collect();
    let revisions: Vec<i64> = values.iter().map(|(.., revision)| *revision).collect();
    purge_log(db, scope, &keys, revisions).await?;
    let spans = in_scope(&statements.purge_user_spans, &statements.purge_app_spans, scope);
    db.execute(spans.bind(floor).bind(*node).bind(&**key)).await?;
    Ok(values.len() as i64)
}

/// Removes changes of these keys at these revisions from the log of a shared scope.
pub async fn purge_log(db: &mut impl Sql, scope: &ScopeKey, keys: &[String], revisions: Vec<i64>) -> Result<()> {
    let statements = Statements::of(db);
    let query = in_scope(&statements.purge_user_log, &statements.purge_app_log, scope);
    db.execute(query.bind(Some(keys)).bind(revisions)).await.map(drop)
}

/// Removes up to `limit` removals of keys from the log of a shared scope, those after one revision up to another. Returns how many.
/// All of one revision go at once.
async fn purge_removals(db: &mut impl Sql, scope: &ScopeKey, after: i64, through: i64, limit: i64) -> Result<i64> {
    let statements = Statements::of(db);
    let find = in_scope(&statements.last_user_removal, &statements.last_app_removal, scope);
    let (last, count): (Option<i64>, i64) = one(db, find.bind(after).bind(through).bind(limit)).await?;
    if let Some(last) = last {
        let purge = in_scope(&statements.purge_user_removals, &statements.purge_app_removals, scope);
        db.execute(purge.bind(after).bind(last)).await?;
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
    /// The same of one scope, whose row is locked.
    locked_history_of_app: history(
        words,
        "app",
        "l.app_name = $1",
        ["$2", "$3", "$4"],
        "'' as user_id",
        &format!("where s.app_name = $1{}", words.for_update())
    ),
    locked_history_of_user: history(
        words,
        "user",
        "l.app_name = $1 and l.user_id = $2",
        ["$3", "$4", "$5"],
        "s.user_id",
        &format!("where s.app_name = $1 and s.user_id = $2{}", words.for_update())
    ),
    raise_user_floor: "update user_scopes set floor = $3 where app_name = $1 and user_id = $2 and floor < $3",
    raise_app_floor: "update app_scopes set floor = $2 where app_name = $1 and floor < $2",
    set_user_emptied: "update user_scopes set emptied = $3 where app_name = $1 and user_id = $2",
    set_app_emptied: "update app_scopes set emptied = $2 where app_name = $1",
    /// The first `$4` values that ended with the revision `$3` or before.
    user_values_before: values_before("user", "app_name = $1 and user_id = $2", ["$3", "$4"]),
    app_values_before: values_before("app", "app_name = $1", ["$2", "$3"]),
    /// Their changes in the log.
    purge_user_log: purge_log_text(words, "user", "app_name = $1 and user_id = $2", ["$3", "$4"]),
    purge_app_log: purge_log_text(words, "app", "app_name = $1", ["$2", "$3"]),
    /// Their spans, up to the last one.
    purge_user_spans: "delete from user_spans where app_name = $1 and user_id = $2 and valid_to <= $3 \
                       and (node, key) <= ($4, $5)",
    purge_app_spans: "delete from app_spans where app_name = $1 and valid_to <= $2 and (node, key) <= ($3, $4)",
    /// Removals with a revision after `$3`, up to `$4`: the revision that ends the first `$5`.
    last_user_removal: last_removal("user", "app_name = $1 and user_id = $2", ["$3", "$4", "$5"]),
    last_app_removal: last_removal("app", "app_name = $1", ["$2", "$3", "$4"]),
    purge_user_removals: "delete from user_log where app_name = $1 and user_id = $2 and revision > $3 and revision <= $4 \
                          and value is null",
    purge_app_removals: "delete from app_log where app_name = $1 and revision > $2 and revision <= $3 and value is null",
}

/// The histories of shared scopes: of the first `most` changes after the floor, the revision of the last, and that of the first that is
/// not older than `age`.
fn history(words: &Words, scope: &str, of: &str, [most, age, now]: [&str; 3], user: &str, which: &str) -> String {
    let changes = |result: &str| {
        format!(
            "case when s.floor < s.revision then (select {result} from (select l.revision, l.time from {scope}_log l \
               where {of} and l.revision > s.floor order by l.revision limit 0 + {most}) as l) end"
        )
    };
    let young = format!("min(case when l.time >= {} - {age} then l.revision end)", words.present(now));
    format!(
        "select {user}, s.floor, s.emptied, {} as young, {} as last from {scope}_scopes s {which}",
        changes(&young),
        changes("max(l.revision)"),
    )
}

fn values_before(scope: &str, of: &str, [floor, most]: [&str; 2]) -> String {
    format!(
        "select node, key, valid_from from {scope}_spans where {of} and node <= {floor} and valid_to <= {floor} \
         order by node, key limit 0 + {most}"
    )
}

fn purge_log_text(words: &Words, scope: &str, of: &str, [keys, revisions]: [&str; 2]) -> String {
    let pairs = (words.pairs)(keys, revisions);
    format!("delete from {scope}_log where {of} and (key, revision) in (select p.text, p.number from {pairs})")
}

fn last_removal(scope: &str, of: &str, [after, through, most]: [&str; 3]) -> String {
    format!(
        "select max(revision), count(*) from (select revision from {scope}_log where {of} and revision > {after} \
           and revision <= {through} and value is null order by revision limit 0 + {most}) as r"
    )
}

/// The history of a shared scope, from which its new floor follows.
#[derive(FromRow)]
struct HistoryRow {
    /// Of a user.
    user_id: String,
    floor: i64,
    emptied: i64,
    /// Of the first changes after the floor: the first one that is to stay, and the last.
    young: Option<i64>,
    last: Option<i64>,
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
