//! Runs transactions: begin, work, then commit or release, each within its time.

use std::future::Future;
use std::sync::OnceLock;
use std::time::Duration;

use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::{Instant, timeout_at};

use super::backend::{Backend, Seen, Tx};
use super::error::{Cause, StoreError};
use super::limits::{Deadline, StoreLimits};
use crate::domain::writes::{ChangeRow, Committed, Writes};

type Result<T> = std::result::Result<T, StoreError>;

/// Told of a wait; called on the hot path: be quick.
pub type OnWait = Box<dyn Fn(Duration) + Send + Sync>;

/// Told of what was committed; called on the hot path: be quick.
pub type OnCommit = Box<dyn Fn(&[Committed]) + Send + Sync>;

/// How a transaction ends.
#[derive(Debug, PartialEq, Eq)]
pub enum End {
    /// With these changes, as far as somebody may wait for them.
    Commit(Vec<Committed>),
    /// It wrote nothing, or nothing that is to stay.
    Release,
}

impl End {
    /// Nobody waits for what was written.
    pub const UNTOLD: Self = Self::Commit(Vec::new());

    /// What was told before this.
    pub fn after(self, mut told: Vec<Committed>) -> Self {
        match self {
            Self::Commit(more) => {
                told.extend(more);
                Self::Commit(told)
            }
            Self::Release => Self::Release,
        }
    }
}

/// Applies writes in a transaction. The only way but for the optimistic append, so that none of their events can be left out
/// of what the commit tells.
///
/// # Errors
/// As of [`Tx::apply`].
pub async fn apply<X: Tx>(tx: &mut X, writes: &Writes<'_>) -> Result<(Seen, End)> {
    let seen = tx.apply(writes).await?;
    Ok((seen, End::Commit(writes.committed())))
}

/// Tells the change feed, if it is on, of what is about to be committed.
///
/// # Errors
/// As of [`Tx::record`].
async fn record<X: Tx>(tx: &mut X, told: &[Committed]) -> Result<()> {
    let rows: Vec<ChangeRow<'_>> = told.iter().filter_map(Committed::row).collect();
    if tx.feeds() && !rows.is_empty() { tx.record(&rows).await } else { Ok(()) }
}

/// How many groups of apps there are, by their numbers, that share a part of the connections.
const GROUPS: usize = 256;

/// The part of the connections that one app may have where [`Backend::fails_by_app`].
const PART: u32 = 4;

pub struct Runner<B> {
    pub backend: B,
    limits: StoreLimits,
    /// A permit for each connection that a group of apps may have. Most groups are of one app.
    places: Vec<Semaphore>,
    /// Told how long each transaction waited for its connection and BEGIN.
    on_wait: OnceLock<OnWait>,
    on_commit: OnceLock<OnCommit>,
}

impl<B: Backend> Runner<B> {
    pub fn new(backend: B) -> Self {
        let limits = backend.limits();
        let part = (limits.connections / PART).max(1) as usize;
        let places = (0..GROUPS).map(|_| Semaphore::new(part)).collect();
        Self { limits, backend, places, on_wait: OnceLock::new(), on_commit: OnceLock::new() }
    }

    pub fn deadline(&self, at: Instant) -> Deadline {
        Deadline::new(at, &self.limits)
    }

    /// Whom to tell of waits. The first call counts.
    pub fn watch_waits(&self, on_wait: OnWait) {
        // There is one to be told; if there were two, the first would go on.
        let _ = self.on_wait.set(on_wait);
    }

    /// Whom to tell of committed events. The first call counts.
    pub fn watch_commits(&self, on_commit: OnCommit) {
        let _ = self.on_commit.set(on_commit);
    }

    /// The one place that knows what was committed: each event of an append, a state change, a rewind, a creation or a fork, once,
    /// those of one session in the order of their sequences; and changes of shared state, of metadata, and deletions. It tells of a
    /// commit that was not answered, too, as that may have happened. Two transactions of one session, of which one was tried alone, may be told in either order.
    pub fn committed(&self, committed: impl FnOnce() -> Vec<Committed>) {
        if let Some(on_commit) = self.on_commit.get() {
            let committed = committed();
            if !committed.is_empty() {
                on_commit(&committed);
            }
        }
    }

    /// The right to a connection, for as long as it is held: of a node that is silent, connections do not come back for long, and
    /// its apps must not take them all. To be asked for before [`Runner::begin`].
    ///
    /// # Errors
    /// The app of the call has as many connections as it may.
    pub async fn place(&self, deadline: Deadline) -> Result<Option<SemaphorePermit<'_>>> {
        let group = deadline.app().filter(|_| self.backend.fails_by_app());
        let Some(places) = group.and_then(|app| self.places.get(app as usize % GROUPS)) else { return Ok(None) };
        match timeout_at(deadline.turn(), places.acquire()).await {
            // They are never closed.
            Ok(place) => Ok(place.ok()),
            Err(_) => Err(StoreError::new(Cause::Overloaded, "the app has its part of the connections in use")),
        }
    }

    /// Reads in one transaction; `single` promises that it will be one statement.
    ///
    /// # Errors
    /// Those of `work`, and of the database.
    pub async fn read<T>(
        &self,
        single: bool,
        deadline: Deadline,
        work: impl AsyncFnOnce(&mut B::Tx) -> Result<T>,
    ) -> Result<T> {
        let _place = self.place(deadline).await?;
        let mut tx = self.begin(deadline, self.backend.read(single)).await?;
        match self.within(deadline, work(&mut tx)).await {
            Ok(read) => {
                self.release(tx, deadline).await;
                Ok(read)
            }
            Err(error) => Err(self.failed(tx, error, deadline).await),
        }
    }

    /// Writes in one transaction, which ends as `work` says.
    ///
    /// # Errors
    /// Those of `work`, and of the database; of a commit, the error says whether it may have happened.
    pub async fn write<T>(
        &self,
        deadline: Deadline,
        work: impl AsyncFnOnce(&mut B::Tx) -> Result<(T, End)>,
    ) -> Result<T> {
        let _place = self.place(deadline).await?;
        let mut tx = self.begin(deadline, self.backend.write()).await?;
        match self.within(deadline, work(&mut tx)).await {
            Ok((written, end)) => {
                self.end(tx, end, deadline).await?;
                Ok(written)
            }
            Err(error) => Err(self.failed(tx, error, deadline).await),
        }
    }

    /// Waits for a transaction to begin, and tells for how long, also if it was in vain.
    ///
    /// # Errors
    /// Of the database; the time has run out.
    pub async fn begin(&self, deadline: Deadline, begin: impl Future<Output = Result<B::Tx>>) -> Result<B::Tx> {
        let started = Instant::now();
        let begun = self.within(deadline, begin).await;
        if let Some(on_wait) = self.on_wait.get() {
            on_wait(started.elapsed());
        }
        begun
    }

    /// Runs the part of a transaction before its end. Nothing has happened if this fails: dropping the transaction, or
    /// [`Runner::failed`], which the caller then does, ends it without COMMIT.
    ///
    /// # Errors
    /// Those of `work`; the time has run out.
    pub async fn within<T>(&self, deadline: Deadline, work: impl Future<Output = Result<T>>) -> Result<T> {
        timeout_at(deadline.unit(), work).await.unwrap_or_else(|_| Err(out_of_time()))
    }

    /// # Errors
    /// Of a commit: the error says whether it may have happened.
    pub async fn end(&self, mut tx: B::Tx, end: End, deadline: Deadline) -> Result<()> {
        match end {
            End::Commit(told) => {
                self.within(deadline, record(&mut tx, &told)).await?;
                let done = timeout_at(deadline.commit(), tx.commit()).await.unwrap_or_else(|_| Err(out_of_time()));
                let done = done.map_err(StoreError::in_commit);
                if done.as_ref().map_or_else(|error| error.unclear, |()| true) {
                    self.committed(|| told);
                }
                done
            }
            End::Release => {
                self.release(tx, deadline).await;
                Ok(())
            }
        }
    }

    /// Ends a transaction whose work failed, with which error. Its connection is in an unknown state, and is closed, unless all that is
    /// wrong is elsewhere.
    pub async fn failed(&self, tx: B::Tx, error: StoreError, deadline: Deadline) -> StoreError {
        if error.lacks_node() {
            self.release(tx, deadline).await;
        }
        error
    }

    /// Ends a transaction that read, or wrote nothing after all: its end can lose nothing.
    pub async fn release(&self, tx: B::Tx, deadline: Deadline) {
        let _ = self.within(deadline, tx.rollback()).await;
    }
}

pub fn out_of_time() -> StoreError {
    StoreError::new(Cause::Timeout, "the database did not answer within the time limit")
}
