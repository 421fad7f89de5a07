//! The database itself: its migrations, whether it answers, its clock; and what is removed in the background, a chunk at a time.

use std::time::Duration;

use async_trait::async_trait;
use tokio::time::Instant;

use crate::domain::erasure::Removed;
use crate::domain::time::Micros;
use crate::domain::writes::Removal;
use crate::store::artifacts::remove::purge_artifacts;
use crate::store::backend::{Backend, Buried, Database as _, DatabaseClock, IncarnationRow, Now, Standby, Tx};
use crate::store::error::Result;
use crate::store::pool::{Nodes, PoolUse};
use crate::store::run::{End, OnCommit, OnWait};
use crate::store::sessions::bury;
use crate::store::shape::Shape;
use crate::store::sql::makers::Events;
use crate::store::sql::shared::forget_patches;
use crate::store::transactions::Transactions;
use crate::store::{effective, erasures, search, transfer, trim};

#[async_trait]
pub trait Reads: Send + Sync {
    /// As of the last [`Reads::check`], where that can change.
    fn shape(&self) -> Shape;

    /// The kind of the database: `sqlite` or `postgresql`.
    fn name(&self) -> &'static str;

    /// The nodes of the database as of the last [`Reads::check`], if it is distributed.
    fn nodes(&self) -> Option<Nodes>;

    /// Reachable, and every migration of this binary applied.
    async fn check(&self, deadline: Instant) -> Result<Standby>;

    /// What time the database thinks it is.
    async fn clock(&self, deadline: Instant) -> Result<DatabaseClock>;
}

#[async_trait]
pub trait Writes: Send + Sync {
    /// Applies pending migrations, one process at a time; none pending is fine.
    async fn migrate(&self) -> Result<()>;

    /// Distributes the tables by app over the nodes of the database; those that are distributed stay so.
    async fn distribute(&self) -> Result<()>;

    /// Removes one chunk of what was deleted and, with `expired`, of what has expired; whether there is more to do.
    async fn sweep(&self, now: Micros, expired: bool, deadline: Instant) -> Result<bool>;

    /// Moves what was written to where it stays, if nothing was written since the last call. Not a transaction.
    async fn settle(&self, deadline: Instant) -> Result<()>;

    /// Registers the callback for the time that each transaction waited for its connection and BEGIN; only the first call counts.
    fn watch_waits(&self, on_wait: OnWait);

    /// Registers the callback for commits of this process; only the first call counts. It gets each committed range of events of a
    /// session exactly once, also if the outcome of the commit is unknown, and every other change that a reader can see.
    fn watch_commits(&self, on_commit: OnCommit);

    /// Sets the clock of a database that has none of its own; it is read as an append is written. Only the first call counts.
    fn set_clock(&self, now: Now);

    async fn close(&self);

    /// Whether another process has the database open; `None` where that cannot be told.
    async fn is_open_elsewhere(&self, deadline: Instant) -> Result<Option<bool>>;

    /// Connections in use and open, for the metrics.
    fn pool(&self) -> PoolUse;
}

#[async_trait]
impl<B: Backend> Reads for Transactions<B> {
    fn shape(&self) -> Shape {
        self.runner.database().shape()
    }

    fn name(&self) -> &'static str {
        B::NAME
    }

    fn nodes(&self) -> Option<Nodes> {
        self.runner.database().nodes()
    }

    async fn check(&self, deadline: Instant) -> Result<Standby> {
        let standby = self.runner.across_apps(deadline).ask(self.runner.database().check()).await?;
        Ok(if self.runner.is_full() { Standby::Full } else { standby })
    }

    async fn clock(&self, deadline: Instant) -> Result<DatabaseClock> {
        self.runner.across_apps(deadline).ask(self.runner.database().clock()).await
    }
}

#[async_trait]
impl<B: Backend> Writes for Transactions<B> {
    async fn migrate(&self) -> Result<()> {
        self.runner.database().migrate().await
    }

    async fn distribute(&self) -> Result<()> {
        self.runner.database().distribute().await
    }

    async fn sweep(&self, now: Micros, expired: bool, deadline: Instant) -> Result<bool> {
        self.runner.across_apps(deadline).write(async |tx| sweep(tx, now, expired).await).await
    }

    async fn settle(&self, deadline: Instant) -> Result<()> {
        self.runner.across_apps(deadline).ask(self.runner.database().settle()).await
    }

    fn watch_waits(&self, on_wait: OnWait) {
        self.runner.watch_waits(on_wait);
    }

    fn watch_commits(&self, on_commit: OnCommit) {
        self.runner.watch_commits(on_commit);
    }

    fn set_clock(&self, now: Now) {
        self.runner.database().set_clock(now);
    }

    async fn close(&self) {
        self.runner.database().close().await;
    }

    async fn is_open_elsewhere(&self, deadline: Instant) -> Result<Option<bool>> {
        self.runner.across_apps(deadline).ask(self.runner.database().is_open_elsewhere()).await
    }

    fn pool(&self) -> PoolUse {
        self.runner.database().pool()
    }
}

/// How much one transaction removes. It must fit into the time limit even where the database is far away, and it holds locks.
const SWEEP_SESSIONS: i64 = 50;

const SWEEP_ROWS: i64 = 1000;

/// Within this time, one transaction removes several small sessions: one that others wait for, and one that they don't.
const SWEEP_TIMES: [Duration; 2] = [Duration::from_millis(10), Duration::from_millis(50)];

/// How long idempotency keys of scopes are kept, in microseconds: 24 hours at least.
const REQUEST_MEMORY: i64 = 25 * 3600 * 1_000_000;

/// Buries expired sessions, if `expired`, and removes rows of buried incarnations. If there are none, removes old idempotency keys, or
/// the rows of a dead import (both if `expired`), or empties trimmed events. Does only one of these per transaction: they may belong to
/// different apps, and on Citus that would be a commit on several nodes.
pub async fn sweep<X: Tx>(tx: &mut X, now: Micros, expired: bool) -> Result<(bool, End)> {
    let limit = if expired { SWEEP_SESSIONS } else { 0 };
    let mut gone = Vec::new();
    for IncarnationRow { key, incarnation } in tx.expired(now, limit).await? {
        gone.push(bury::bury(tx, &key, incarnation, Removal::Expired).await?);
    }
    let begun = Instant::now();
    let mut purged_one = false;
    while let Some(Buried { key, incarnation, erasure }) = tx.next_buried().await? {
        purged_one = true;
        let events = if erasure.is_some() { Events::Erased } else { Events::Leave };
        let mut purged = bury::purge(tx, (&key, incarnation), events, SWEEP_ROWS).await?;
        let (artifacts, more) = purge_artifacts(tx, &key, incarnation, SWEEP_ROWS).await?;
        purged.artifacts = artifacts;
        let more = more
            || effective::purge(tx, &key, incarnation, SWEEP_ROWS).await? == SWEEP_ROWS
            || search::purge(tx, &key, incarnation, SWEEP_ROWS).await? == SWEEP_ROWS;
        if let Some(erasure) = erasure.filter(|_| purged != Removed::default()) {
            erasures::count(tx, key.app(), &erasure, &purged).await?;
        }
        if more || purged.events.max(purged.state_keys).max(purged.changes) == SWEEP_ROWS {
            break;
        }
        trim::finish_trim(tx, &key, incarnation).await?;
        bury::finish(tx, &key, incarnation).await?;
        if begun.elapsed() > SWEEP_TIMES[usize::from(tx.shape().is_shared())] {
            break;
        }
    }
    if purged_one || !gone.is_empty() {
        return Ok((true, End::Commit(gone)));
    }
    let more = expired
        && (forget_patches(tx, now, REQUEST_MEMORY, SWEEP_ROWS).await? > 0
            || transfer::import::bury_dead(tx, now).await?)
        || trim::empty(tx, SWEEP_ROWS).await?;
    Ok((more, if more { End::UNTOLD } else { End::Release }))
}
