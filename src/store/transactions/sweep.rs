//! Removes what has expired or was deleted, a chunk at a time.

use std::time::Duration;

use tokio::time::Instant;

use crate::domain::erasure::Removed;
use crate::domain::time::Micros;
use crate::domain::writes::Removal;
use crate::store::backend::{Buried, Tx};
use crate::store::error::StoreError;
use crate::store::run::End;
use crate::store::sql::primitives;

type Result<T> = std::result::Result<T, StoreError>;

/// How much one transaction removes. It must fit into the time limit even where the database is far away, and it holds locks.
const SWEEP_SESSIONS: i64 = 50;

const SWEEP_ROWS: i64 = 1000;

/// Within this time, one transaction removes several small sessions: one that others wait for, and one that they don't.
const SWEEP_TIMES: [Duration; 2] = [Duration::from_millis(10), Duration::from_millis(50)];

/// How long idempotency keys of scopes are kept, in microseconds: 24 hours at least.
const REQUEST_MEMORY: i64 = 25 * 3600 * 1_000_000;

/// Buries expired sessions, if `expired`, and removes rows of buried incarnations. If there are none, removes old idempotency keys,
/// or what is left of a dead import, both if `expired`, or empties trimmed events: one of these, as each may be of other apps, and a
/// distributed database would have to commit on several nodes.
pub async fn sweep<X: Tx>(tx: &mut X, now: Micros, expired: bool) -> Result<(bool, End)> {
    let limit = if expired { SWEEP_SESSIONS } else { 0 };
    let mut gone = Vec::new();
    for (key, incarnation) in tx.expired(now, limit).await? {
        gone.push(primitives::bury(tx, &key, incarnation, Removal::Expired).await?);
    }
    let begun = Instant::now();
    let mut purged_one = false;
    while let Some(Buried { key, incarnation, erasure }) = tx.next_buried().await? {
        purged_one = true;
        let purged = primitives::purge(tx, &key, incarnation, SWEEP_ROWS).await?;
        if let Some(erasure) = erasure.filter(|_| purged != Removed::default()) {
            super::erasure::count(tx, key.app(), &erasure, &purged).await?;
        }
        if purged.events.max(purged.state_keys).max(purged.changes) == SWEEP_ROWS {
            break;
        }
        primitives::finish_purge(tx, &key, incarnation).await?;
        if begun.elapsed() > SWEEP_TIMES[usize::from(tx.shape().is_shared())] {
            break;
        }
    }
    if purged_one || !gone.is_empty() {
        return Ok((true, End::Commit(gone)));
    }
    let more = expired
        && (primitives::forget_patches(tx, now, REQUEST_MEMORY, SWEEP_ROWS).await? > 0
            || super::transfer::bury_dead(tx, now).await?)
        || super::trim::empty(tx, SWEEP_ROWS).await?;
    Ok((more, if more { End::UNTOLD } else { End::Release }))
}
