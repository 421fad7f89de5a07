//! Removes what has expired or was deleted, a chunk at a time.

use crate::domain::erasure::Removed;
use crate::domain::time::Micros;
use crate::domain::writes::Removal;
use crate::store::backend::{Buried, Tx};
use crate::store::error::StoreError;
use crate::store::runner::End;
use crate::store::sql::primitives;

type Result<T> = std::result::Result<T, StoreError>;

/// How much one transaction removes. It must fit into the time limit even where the database is far away, and it holds locks.
const SWEEP_SESSIONS: i64 = 50;

const SWEEP_ROWS: i64 = 1000;

/// How long idempotency keys of scopes are kept, in microseconds: 24 hours, plus one for clocks that differ.
const REQUEST_MEMORY: i64 = 25 * 3600 * 1_000_000;

/// Buries expired sessions, if `expired`, removes old idempotency keys, then removes rows of one buried incarnation, or
/// empties trimmed events.
pub async fn sweep<X: Tx>(tx: &mut X, now: Micros, expired: bool) -> Result<(bool, End)> {
    let limit = if expired { SWEEP_SESSIONS } else { 0 };
    let mut gone = Vec::new();
    for (key, incarnation) in tx.expired(now, limit).await? {
        gone.push(primitives::bury(tx, &key, incarnation, Removal::Expired).await?);
    }
    let limit = if expired { SWEEP_ROWS } else { 0 };
    let forgotten = primitives::forget_patches(tx, now.plus(-REQUEST_MEMORY), limit).await?;
    let Some(Buried { key, incarnation, erasure }) = tx.next_buried().await? else {
        let buried = expired && super::transfer::bury_dead(tx, now).await?;
        let emptied = super::trim::empty(tx, SWEEP_ROWS).await?;
        let more = buried || emptied || forgotten > 0 || !gone.is_empty();
        return Ok((more, if more { End::Commit(gone) } else { End::Release }));
    };
    let purged = primitives::purge(tx, &key, incarnation, SWEEP_ROWS).await?;
    if purged == Removed::default() {
        primitives::finish_purge(tx, &key, incarnation).await?;
    } else if let Some(erasure) = erasure {
        super::erasure::count(tx, key.app(), &erasure, &purged).await?;
    }
    Ok((true, End::Commit(gone)))
}
