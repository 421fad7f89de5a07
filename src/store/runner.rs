//! Runs transactions: begin, work, then commit or release, each within its time.

use std::future::Future;
use std::sync::OnceLock;
use std::time::Duration;

use tokio::time::{Instant, timeout_at};

use super::backend::{Backend, Tx};
use super::error::{Cause, StoreError};
use super::limits::{Deadline, StoreLimits};

type Result<T> = std::result::Result<T, StoreError>;

/// Told of a wait; called on the hot path: be quick.
pub type OnWait = Box<dyn Fn(Duration) + Send + Sync>;

/// How a transaction ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum End {
    Commit,
    /// It wrote nothing, or nothing that is to stay.
    Release,
}

pub struct Runner<B> {
    pub backend: B,
    limits: StoreLimits,
    /// Told how long each transaction waited for its connection and BEGIN.
    on_wait: OnceLock<OnWait>,
}

impl<B: Backend> Runner<B> {
    pub fn new(backend: B) -> Self {
        Self { limits: backend.limits(), backend, on_wait: OnceLock::new() }
    }

    pub fn deadline(&self, at: Instant) -> Deadline {
        Deadline::new(at, &self.limits)
    }

    /// Whom to tell of waits. The first call counts.
    pub fn watch_waits(&self, on_wait: OnWait) {
        // There is one to be told; if there were two, the first would go on.
        let _ = self.on_wait.set(on_wait);
    }

    /// Reads in one transaction; `single` promises that it will be one statement.
    pub async fn read<T>(
        &self,
        single: bool,
        deadline: Deadline,
        work: impl AsyncFnOnce(&mut B::Tx) -> Result<T>,
    ) -> Result<T> {
        let mut tx = self.begin(deadline, self.backend.read(single)).await?;
        let read = self.within(deadline, work(&mut tx)).await?;
        self.release(tx, deadline).await;
        Ok(read)
    }

    /// Writes in one transaction, which ends as `work` says.
    pub async fn write<T>(
        &self,
        deadline: Deadline,
        work: impl AsyncFnOnce(&mut B::Tx) -> Result<(T, End)>,
    ) -> Result<T> {
        let mut tx = self.begin(deadline, self.backend.write()).await?;
        let (written, end) = self.within(deadline, work(&mut tx)).await?;
        self.end(tx, end, deadline).await?;
        Ok(written)
    }

    /// Waits for a transaction to begin, and tells for how long, also if it was in vain.
    pub async fn begin(&self, deadline: Deadline, begin: impl Future<Output = Result<B::Tx>>) -> Result<B::Tx> {
        let started = Instant::now();
        let begun = self.within(deadline, begin).await;
        if let Some(on_wait) = self.on_wait.get() {
            on_wait(started.elapsed());
        }
        begun
    }

    /// Runs the part of a transaction before its end. Nothing has happened if this fails: dropping the transaction, which
    /// the caller then does, ends it without COMMIT.
    pub async fn within<T>(&self, deadline: Deadline, work: impl Future<Output = Result<T>>) -> Result<T> {
        timeout_at(deadline.unit(), work).await.unwrap_or_else(|_| Err(out_of_time()))
    }

    /// # Errors
    /// Of a commit: the error says whether it may have happened.
    pub async fn end(&self, tx: B::Tx, end: End, deadline: Deadline) -> Result<()> {
        match end {
            End::Commit => timeout_at(deadline.commit(), tx.commit())
                .await
                .unwrap_or_else(|_| Err(out_of_time()))
                .map_err(StoreError::in_commit),
            End::Release => {
                self.release(tx, deadline).await;
                Ok(())
            }
        }
    }

    /// Ends a transaction that read, or wrote nothing after all: its end can lose nothing.
    pub async fn release(&self, tx: B::Tx, deadline: Deadline) {
        let _ = self.within(deadline, tx.rollback()).await;
    }
}

pub fn out_of_time() -> StoreError {
    StoreError::new(Cause::Timeout, "the database did not answer within the time limit")
}
