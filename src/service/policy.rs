//! Policies: how long the data of an app is kept.

use std::time::Duration;

use tokio::time::Instant;

use super::retry::{Repeat, Tried};
use super::{Error, Result, Service};
use crate::domain::ids::AppName;
use crate::domain::policy::{Found, Policy, PolicyOutcome, PolicyWrite, StoredPolicy, Walk};
use crate::store::error::StoreError;

impl Service {
    /// The policy of an app; none if it has none.
    ///
    /// # Errors
    /// Of the database.
    pub async fn policy(&self, app: &AppName, deadline: Instant) -> Result<StoredPolicy> {
        self.read(deadline, || self.store.policy(app, deadline)).await
    }

    /// Replaces or removes the policy of an app, and returns what is stored. The next sweep applies it.
    ///
    /// # Errors
    /// `RevisionMismatch`.
    pub async fn set_policy(&self, write: PolicyWrite, deadline: Instant) -> Result<StoredPolicy> {
        let Tried { value: outcome, unclear } =
            self.transact(Repeat::UnlessUnclear, deadline, || self.store.set_policy(&write, deadline)).await?;
        match outcome {
            PolicyOutcome::Done(stored) => Ok(stored),
            PolicyOutcome::RevisionMismatch(mismatch) => Err(self.refusal(Error::RevisionMismatch(mismatch), unclear)),
        }
    }

    /// What a sweep would remove now if this were the policy: how many sessions. And the policy that there is.
    ///
    /// # Errors
    /// `RevisionMismatch`.
    pub async fn try_policy(&self, write: PolicyWrite, deadline: Instant) -> Result<(StoredPolicy, u64)> {
        let stored = self.policy(&write.app, deadline).await?;
        write.decide(&stored).map_err(Error::RevisionMismatch)?;
        let PolicyWrite { app, policy, .. } = write;
        let policy = policy.unwrap_or_default();
        let mut walk = Walk { app, policy, after: None, dry_run: true, now: self.clock.now() };
        let mut sessions = 0;
        loop {
            let Found { sessions: more, next } = self.read(deadline, || self.store.walk(&walk, deadline)).await?;
            sessions += more;
            if next.is_none() {
                return Ok((stored, sessions));
            }
            walk.after = next;
        }
    }

    /// Applies a policy of an app once. One that is changed meanwhile counts the next time.
    ///
    /// # Errors
    /// Of the database; what was removed by then stays removed.
    pub(super) async fn apply_policy(
        &self,
        app: AppName,
        policy: Policy,
        limit: Duration,
    ) -> std::result::Result<(), StoreError> {
        let mut walk = Walk { app, policy, after: None, dry_run: false, now: self.clock.now() };
        loop {
            let Found { sessions, next } = self.store.walk(&walk, Instant::now() + limit).await?;
            if sessions > 0 {
                self.to_sweep.notify_one();
            }
            if next.is_none() {
                return Ok(());
            }
            (walk.after, walk.now) = (next, self.clock.now());
        }
    }
}
