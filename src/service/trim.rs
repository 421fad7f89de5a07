//! Trims of sessions.

use tokio::time::Instant;

use super::retry::Repeat;
use super::{Guard, Result, Service};
use crate::domain::ids::SessionKey;
use crate::domain::trim::{Cut, Trim, Trimmed};

impl Service {
    /// Trims a session, whose log then begins at a later revision.
    ///
    /// # Errors
    /// `SessionNotFound`, `Lease`, `RevisionMismatch`.
    pub async fn trim(&self, key: SessionKey, cut: Cut, guard: Guard, deadline: Instant) -> Result<Trimmed> {
        let trim = Trim { key, cut, guard, now: self.clock.now() };
        let trimmed = self.transact(Repeat::Safe, deadline, |_| self.store.trim(&trim, deadline)).await?.value;
        self.to_sweep.notify_one();
        Ok(trimmed)
    }
}
