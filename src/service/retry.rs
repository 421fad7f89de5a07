//! Retries of transactions, and the answer after a try with an unknown outcome.

use std::time::Duration;

use futures_util::future::BoxFuture;
use tokio::time::{Instant, sleep};

use super::{Error, Reader, Result, StoreResult};
use crate::domain::lease::LeaseRefusal;
use crate::domain::refusal::Refusal;
use crate::store::error::{Cause, Failure, StoreError};

/// The most tries of a transaction, the first included.
const MAX_TRIES: u32 = 6;
const FIRST_PAUSE: Duration = Duration::from_millis(10);
const LONGEST_PAUSE: Duration = Duration::from_millis(500);

/// Whether a transaction may be retried although an earlier try of it may have committed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Repeat {
    /// It recognises the writes of an earlier try (by event ids, or the incarnation), or is idempotent.
    Safe,
    /// A retry could overwrite another writer's commit in between: the client has to decide.
    UnlessUnclear,
}

/// The result of the last try of a transaction.
pub(super) struct Tried<T> {
    pub value: T,
    /// An earlier try may have committed: the answer to its commit was lost.
    pub unclear: bool,
}

impl Reader {
    /// Runs a transaction that only reads, with retries.
    pub(super) async fn read<'a, T>(
        &'a self,
        deadline: Instant,
        read: impl Fn() -> BoxFuture<'a, StoreResult<T>>,
    ) -> Result<T> {
        Ok(self.transact(Repeat::Safe, deadline, |_| read()).await?.value)
    }

    /// Runs a transaction, and retries it after a transient failure: a bounded number of times, until the deadline, with
    /// exponential backoff and jitter. `run` is told whether it is the first try.
    ///
    /// # Errors
    /// The refusal, see [`Reader::refusal`], or the last failure; unclear if any try was.
    pub(super) async fn transact<'a, T, E>(
        &self,
        repeat: Repeat,
        deadline: Instant,
        run: impl Fn(bool) -> BoxFuture<'a, std::result::Result<T, E>>,
    ) -> Result<Tried<T>>
    where
        Failure: From<E>,
    {
        let Tried { value, unclear } = self.attempt(repeat, deadline, run).await?;
        let value = value.map_err(|refusal| self.refusal(refusal, unclear))?;
        Ok(Tried { value, unclear })
    }

    /// As [`Reader::transact`], but returns a refusal to the caller.
    ///
    /// # Errors
    /// The last failure; unclear if any try was.
    pub(super) async fn attempt<'a, T, E>(
        &self,
        repeat: Repeat,
        deadline: Instant,
        run: impl Fn(bool) -> BoxFuture<'a, std::result::Result<T, E>>,
    ) -> Result<Tried<std::result::Result<T, Refusal>>>
    where
        Failure: From<E>,
    {
        let mut unclear = false;
        let mut pause = FIRST_PAUSE;
        let mut tries = 1;
        loop {
            let error = match run(tries == 1).await.map_err(Failure::from) {
                Ok(value) => return Ok(Tried { value: Ok(value), unclear }),
                Err(Failure::Refused(refusal)) => return Ok(Tried { value: Err(refusal), unclear }),
                Err(Failure::Store(error)) => error,
            };
            unclear |= error.unclear;
            let may_repeat = error.is_transient() && (repeat == Repeat::Safe || !unclear);
            let wait = self.clock.jitter(pause);
            if !may_repeat || tries == MAX_TRIES || Instant::now() + wait >= deadline {
                if unclear {
                    self.metrics.unknown_outcomes.inc();
                }
                return Err(Error::Store(error.after_unclear(unclear)));
            }
            self.metrics.database_retries.inc(if error.unclear { "unclear_commit" } else { error.cause.as_str() });
            sleep(wait).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
            tries += 1;
        }
    }

    /// The error for a refusal. After an unclear try, the refusal may be due to what that try wrote, or to what others wrote
    /// after it: then the error says that the outcome is unknown.
    pub(super) fn refusal(&self, refusal: Refusal, unclear: bool) -> Error {
        if matches!(refusal, Refusal::Lease(LeaseRefusal::Fenced { .. })) {
            self.metrics.fenced.inc();
        }
        let error = Error::from(refusal);
        if !unclear {
            return error;
        }
        self.metrics.unknown_outcomes.inc();
        let refused = StoreError::new(Cause::ConnectionLost, format!("after an unclear commit: {error}"));
        Error::Store(refused.after_unclear(true))
    }
}
