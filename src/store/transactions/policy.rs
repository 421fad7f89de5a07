//! Policies of apps, and what they remove.

use std::collections::BTreeSet;

use crate::domain::ids::{AppName, SessionKey};
use crate::domain::json::Json;
use crate::domain::policy::{Found, Kept, Policy, PolicyOutcome, PolicyWrite, StoredPolicy, Walk, Walked};
use crate::domain::writes::Committed;
use crate::store::backend::{OnLocked, Tx};
use crate::store::error::{Cause, StoreError, corrupt};
use crate::store::runner::End;
use crate::store::sql::primitives::{self, at_most_one};
use crate::store::sql::query::Query;
use crate::store::sql::rows::KeptRow;

type Result<T> = std::result::Result<T, StoreError>;

/// How many sessions one transaction looks at, and how many it removes: it holds locks, and must fit into the time limit.
const WALKED: i64 = 500;
const BURIED: usize = 50;

pub async fn policy<X: Tx>(tx: &mut X, app: &AppName) -> Result<StoredPolicy> {
    let row: Option<(i64, Option<String>)> = at_most_one(tx, Query::new(&*tx.statements().policy).app(app)).await?;
    let Some((revision, text)) = row else { return Ok(StoredPolicy::default()) };
    Ok(StoredPolicy { revision, policy: text.as_deref().map(parsed).transpose()? })
}

pub async fn policies<X: Tx>(tx: &mut X, after: &str, limit: usize) -> Result<Vec<(AppName, Policy)>> {
    let query = Query::new(&*tx.statements().policies).bind(after).bind(limit as i64);
    let rows: Vec<(String, String)> = tx.fetch(query).await?;
    rows.iter().map(|(app, text)| Ok((AppName::parse(app).map_err(corrupt)?, parsed(text)?))).collect()
}

fn parsed(text: &str) -> Result<Policy> {
    let odd = |_| StoreError::new(Cause::Internal, "a stored policy is not one");
    Policy::parse(Json::trusted(text)).map_err(odd)
}

pub async fn set_policy<X: Tx>(tx: &mut X, write: &PolicyWrite) -> Result<(PolicyOutcome, End)> {
    loop {
        let stored = policy(tx, &write.app).await?;
        let next = match write.decide(&stored) {
            Ok(Some(next)) => next,
            Ok(None) => return Ok((PolicyOutcome::Done(stored), End::Release)),
            Err(mismatch) => return Ok((PolicyOutcome::RevisionMismatch(mismatch), End::Release)),
        };
        let text = next.policy.as_ref().map(Policy::to_json);
        let query = Query::new(&*tx.statements().set_policy).app(&write.app).bind(next.revision).bind(text.as_deref());
        // None if another write came between: it is read, and this one decided anew.
        if tx.execute(query).await? > 0 {
            return Ok((PolicyOutcome::Done(next), End::UNTOLD));
        }
    }
}

/// What [`walk`] would remove.
pub async fn find<X: Tx>(tx: &mut X, walk: &Walk) -> Result<Found> {
    let (due, next) = due(tx, walk, usize::MAX).await?;
    Ok(Found { sessions: due.len() as u64, next })
}

pub async fn walk<X: Tx>(tx: &mut X, walk: &Walk) -> Result<(Found, End)> {
    let (due, next) = due(tx, walk, BURIED).await?;
    let mut gone = Vec::new();
    let locked = tx.lock_sessions(&due.iter().collect::<BTreeSet<_>>(), OnLocked::Skip).await?;
    for row in locked {
        // It may have been written to, or made anew, since it was found.
        let query = Query::new(&*tx.statements().kept).session(&row.key).bind(walk.now.0);
        let now: Option<KeptRow> = at_most_one(tx, query).await?;
        if now.is_some_and(|now| walk.policy.expires(&Kept::from(&now))) {
            primitives::bury(tx, &row.key, row.head.incarnation).await?;
            gone.push(Committed::Session(row.key));
        }
    }
    let found = Found { sessions: gone.len() as u64, next };
    Ok((found, if gone.is_empty() { End::Release } else { End::Commit(gone) }))
}

/// The sessions that are due among the next ones, `most` of them, and where to go on.
async fn due<X: Tx>(tx: &mut X, walk: &Walk, most: usize) -> Result<(Vec<SessionKey>, Option<Walked>)> {
    if !walk.policy.expires_sessions() {
        return Ok((Vec::new(), None));
    }
    let after = walk.after.as_ref();
    let query = Query::new(&*tx.statements().walk)
        .app(&walk.app)
        .bind(after.map_or(i64::MIN, |after| after.create_time.0))
        .bind(after.map_or("", |after| after.key.user.user.as_str()))
        .bind(after.map_or("", |after| after.key.session.as_str()))
        .bind(WALKED)
        .bind(walk.now.0);
    let rows: Vec<KeptRow> = tx.fetch(query).await?;
    let full = rows.len() == WALKED as usize;
    let mut due = Vec::new();
    for (n, row) in rows.iter().enumerate() {
        if walk.policy.expires(&Kept::from(row)) {
            due.push(row.key(&walk.app)?);
        }
        let is_last = n + 1 == rows.len();
        if (due.len() == most && !is_last) || (is_last && full) {
            return Ok((due, Some(Walked { create_time: row.create_time(), key: row.key(&walk.app)? })));
        }
    }
    Ok((due, None))
}
