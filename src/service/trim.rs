//! Trims of sessions.

use tokio::time::Instant;

use super::retry::{Repeat, Tried};
use super::{Error, Guard, Result, Service};
use crate::domain::ids::SessionKey;
use crate::domain::trim::{Cut, Trim, TrimOutcome, Trimmed};

impl Service {
    /// Lets a session begin at a later revision.
    ///
    /// # Errors
    /// `SessionNotFound`, `Lease`, `RevisionMismatch`.
    pub async fn trim(
        &self,
        key: SessionKey,
        cut: Cut,
        Guard { lease, if_match }: Guard,
        deadline: Instant,
    ) -> Result<Trimmed> {
        let trim = Trim { key, cut, lease, if_match, now: self.clock.now() };
        let Tried { value: outcome, unclear } =
            self.transact(Repeat::Safe, deadline, || self.store.trim(&trim, deadline)).await?;
        match outcome {
            TrimOutcome::Done(trimmed) => {
                self.to_sweep.notify_one();
                Ok(trimmed)
            }
            TrimOutcome::SessionNotFound => Err(self.refusal(Error::SessionNotFound, unclear)),
            TrimOutcome::Lease(refusal) => Err(self.refusal(Error::Lease(refusal), unclear)),
            TrimOutcome::RevisionMismatch(mismatch) => Err(self.refusal(Error::RevisionMismatch(mismatch), unclear)),
        }
    }
}
