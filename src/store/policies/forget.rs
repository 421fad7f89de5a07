//! Forgets what shared scopes were: raises their floors, and removes what is below.

use crate::domain::ids::{ScopeKey, UserId, UserKey};
use crate::domain::policy::{Forget, Scopes};
use crate::store::backend::Tx;
use crate::store::error::{StoreError, corrupt};
use crate::store::run::End;
use crate::store::sql::primitives;
use crate::store::sql::rows::HistoryRow;

type Result<T> = std::result::Result<T, StoreError>;

/// How many scopes one transaction looks at, and how many changes of each it looks at and rows it removes of all: it must fit into
/// the time limit.
const SCOPES: i64 = 100;
const ROWS: i64 = 1000;

/// Whether a scope has anything to forget, its first change after the floor tells.
const FIRST: i64 = 1;

/// Where to go on, if nothing is to be forgotten in the next scopes.
pub async fn find<X: Tx>(tx: &mut X, forget: &Forget) -> Result<Option<Option<Scopes>>> {
    let rows = primitives::histories(tx, forget, SCOPES, FIRST).await?;
    if rows.iter().any(HistoryRow::is_due) { Ok(None) } else { next(forget, &rows).map(Some) }
}

/// Goes through the next scopes until as much is removed as one transaction may; where to go on.
pub async fn forget<X: Tx>(tx: &mut X, forget: &Forget) -> Result<(Option<Scopes>, End)> {
    let rows = primitives::histories(tx, forget, SCOPES, FIRST).await?;
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
            && let Some(row) = primitives::locked_history(tx, &scope, forget, ROWS).await?
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

/// Raises the floor of a scope, and removes up to `left` rows of what is below; whether nothing is left to do.
async fn forget_one<X: Tx>(tx: &mut X, scope: &ScopeKey, row: &HistoryRow, left: &mut i64) -> Result<bool> {
    let floor = row.new_floor();
    primitives::raise_floor(tx, scope, floor).await?;
    *left -= primitives::purge_values(tx, scope, floor, *left).await?;
    if *left > 0 {
        *left -= primitives::purge_removals(tx, scope, row.emptied, floor, *left).await?;
    }
    if *left > 0 {
        primitives::set_emptied(tx, scope, floor).await?;
    }
    Ok(*left > 0 && row.is_whole())
}
