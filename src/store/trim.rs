//! Cuts sessions, and empties what was trimmed.

use async_trait::async_trait;
use tokio::time::Instant;

use crate::domain::ids::SessionKey;
use crate::domain::query::ANY_TIME;
use crate::domain::refusal::Refusal;
use crate::domain::session::SessionInfo;
use crate::domain::time::Micros;
use crate::domain::trim::{Cut, Trim, Trimmed, new_base};
use crate::domain::writes::{Committed, SessionChange};
use crate::store::backend::{Backend, Tx};
use crate::store::error::{Decided, StoreError};
use crate::store::run::End;
use crate::store::sessions::change::{judge, locked_live};
use crate::store::sessions::read::head;
use crate::store::sql::primitives;
use crate::store::transactions::Transactions;

type Result<T> = std::result::Result<T, StoreError>;

#[async_trait]
pub trait Writes: Send + Sync {
    /// Lets a session begin at a later revision, at once; what was before it is emptied in [`upkeep::Writes::sweep`](crate::store::upkeep::Writes::sweep).
    async fn trim(&self, trim: &Trim, deadline: Instant) -> Decided<Trimmed>;
}

#[async_trait]
impl<B: Backend> Writes for Transactions<B> {
    async fn trim(&self, request: &Trim, deadline: Instant) -> Decided<Trimmed> {
        self.remembered.evict_session(&request.key);
        self.runner.of(request.key.app(), deadline).decide(async |tx| trim(tx, request).await).await
    }
}

/// How far the clocks of processes may be apart that write to one session, in microseconds: within it commit times may go back
/// from one event to the next, and each is looked at.
const SKEW: i64 = 60_000_000;

/// Cuts a session. One row changes, whatever the length of the log; the sweep empties what is trimmed.
pub async fn trim<X: Tx>(tx: &mut X, trim: &Trim) -> Decided<(Trimmed, End)> {
    let row = locked_live(tx, &trim.key, trim.now).await?.ok_or(Refusal::SessionNotFound)?;
    judge(tx, &row, &trim.guard, trim.now).await?;
    let session = head(tx, &trim.key, ANY_TIME).await?.ok_or(Refusal::SessionNotFound)?;
    let wanted = match trim.cut {
        Cut::Before(sequence) => sequence.saturating_sub(1),
        Cut::Keep(events) => session.revision.saturating_sub(events),
        Cut::BeforeTime(time) => before(tx, &session, time).await?,
    };
    let base = new_base(wanted, session.base_revision, session.revision);
    let (events, mut tag) = (base - session.base_revision, session.tag());
    let end = if events > 0 {
        tag.metadata += 1;
        End::Commit(vec![cut(tx, &session, base).await?])
    } else {
        End::Release
    };
    Ok((Trimmed { base, events, tag }, end))
}

/// Cuts a locked session at `base`, which is beyond its own and not beyond its revision.
pub async fn cut<X: Tx>(tx: &mut X, session: &SessionInfo, base: i64) -> Result<Committed> {
    primitives::cut(tx, session, base).await?;
    primitives::note_trim(tx, &session.key, session.incarnation, session.base_revision).await?;
    let (key, incarnation) = (session.key.clone(), session.incarnation);
    Ok(Committed::Session { key, incarnation, change: SessionChange::Trimmed(base) })
}

/// The last event before the first that was committed at `time` or later. Commit times grow with sequences but for the clocks
/// of processes, so all but the last minute before `time` is skipped by bisection.
pub async fn before<X: Tx>(tx: &mut X, session: &SessionInfo, time: Micros) -> Result<i64> {
    let (mut earlier, mut end) = (session.base_revision, session.revision + 1);
    let skipped = time.plus(-SKEW);
    while end - earlier > 1 {
        let middle = earlier + (end - earlier) / 2;
        let committed = primitives::commit_time(tx, &session.key, session.incarnation, middle).await?;
        *if committed < skipped { &mut earlier } else { &mut end } = middle;
    }
    let first = primitives::committed_since(tx, &session.key, session.incarnation, earlier, time).await?;
    Ok(first.map_or(session.revision, |first| first - 1))
}

/// Empties up to `limit` trimmed events of one session, and removes as many of the values that held before them; whether there was
/// anything to do.
pub async fn empty<X: Tx>(tx: &mut X, limit: i64) -> Result<bool> {
    let Some((key, incarnation, emptied)) = primitives::next_trim(tx).await? else { return Ok(false) };
    let Some(base) = base_of(tx, &key, incarnation).await? else {
        primitives::finish_trim(tx, &key, incarnation).await?;
        return Ok(true);
    };
    let through = base.min(emptied.saturating_add(limit));
    let mut removed = 0;
    if through > emptied {
        primitives::empty_events(tx, &key, incarnation, emptied, through).await?;
    } else {
        removed = primitives::purge_passed(tx, &key, incarnation, base, limit).await?;
    }
    if through == emptied && removed == 0 {
        primitives::finish_trim(tx, &key, incarnation).await?;
    }
    Ok(true)
}

/// `None` if the incarnation is gone.
async fn base_of<X: Tx>(tx: &mut X, key: &SessionKey, incarnation: i64) -> Result<Option<i64>> {
    let session = head(tx, key, ANY_TIME).await?.filter(|session| session.incarnation == incarnation);
    Ok(session.map(|session| session.base_revision))
}
