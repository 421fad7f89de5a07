//! How a transaction is tried again, and what is answered after a try whose outcome is not known.

use std::time::Duration;

use futures_util::future::BoxFuture;
use tokio::time::{Instant, sleep};

use super::{Error, Result, Service};
use crate::store::error::{Cause, StoreError};

/// How often one request tries its transaction.
const MAX_TRIES: u32 = 6;
const FIRST_PAUSE: Duration = Duration::from_millis(10);
const LONGEST_PAUSE: Duration = Duration::from_millis(500);

/// Whether a transaction may run again although an earlier run of it may have committed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Repeat {
    /// It recognises its own traces (event ids, the incarnation), or twice is the same as once.
    Safe,
    /// Another writer may have come in between, and would be overwritten: the client has to decide.
    UnlessUnclear,
}

/// What the last try of a transaction came to.
pub(super) struct Tried<T> {
    pub value: T,
    /// An earlier try may have committed: the answer to its commit was lost.
    pub unclear: bool,
}

impl Service {
    pub(super) async fn read<'a, T>(
        &'a self,
        deadline: Instant,
        read: impl Fn() -> BoxFuture<'a, std::result::Result<T, StoreError>>,
    ) -> Result<T> {
        Ok(self.transact(Repeat::Safe, deadline, read).await?.value)
    }

    /// Runs a transaction, again if it failed for a passing reason: bounded in number and by the deadline, with
    /// growing, jittered pauses.
    ///
    /// # Errors
    /// The last failure; unclear if any try was.
    pub(super) async fn transact<'a, T>(
        &self,
        repeat: Repeat,
        deadline: Instant,
        run: impl Fn() -> BoxFuture<'a, std::result::Result<T, StoreError>>,
    ) -> Result<Tried<T>> {
        self.transact_try(repeat, deadline, |_| run()).await
    }

    /// [`Service::transact`] of what is told whether it is its first try.
    pub(super) async fn transact_try<'a, T>(
        &self,
        repeat: Repeat,
        deadline: Instant,
        run: impl Fn(bool) -> BoxFuture<'a, std::result::Result<T, StoreError>>,
    ) -> Result<Tried<T>> {
        let mut unclear = false;
        let mut pause = FIRST_PAUSE;
        let mut tries = 1;
        loop {
            let error = match run(tries == 1).await {
                Ok(value) => return Ok(Tried { value, unclear }),
                Err(error) => error,
            };
            unclear |= error.unclear;
            let may_repeat = error.is_transient() && (repeat == Repeat::Safe || !unclear);
            let wait = self.clock.jitter(pause);
            if !may_repeat || tries == MAX_TRIES || Instant::now() + wait >= deadline {
                if unclear {
                    self.metrics.unknown_outcome();
                }
                return Err(Error::Store(error.after_unclear(unclear)));
            }
            self.metrics.retried(if error.unclear { "unclear_commit" } else { error.cause.name() });
            sleep(wait).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
            tries += 1;
        }
    }

    /// What to answer when a transaction refuses. After a try whose outcome is open it may refuse because of what
    /// that one did, or what others did on top of it: then all that is known is that the outcome is not.
    pub(super) fn refusal(&self, error: Error, unclear: bool) -> Error {
        if !unclear {
            return error;
        }
        self.metrics.unknown_outcome();
        let refused = StoreError::new(Cause::ConnectionLost, format!("after an unclear commit: {error}"));
        Error::Store(refused.after_unclear(true))
    }
}
