//! Policies: how long the data of an app is kept.

use std::time::Duration;

use tokio::time::Instant;

use super::retry::Repeat;
use super::sweep::rest;
use super::{Error, Reader, Result, Service, StoreResult};
use crate::domain::artifact::KeepVersions;
use crate::domain::ids::AppName;
use crate::domain::policy::{Counts, Forget, Found, Policy, PolicyWrite, Scopes, StoredPolicy, Walk};

impl Reader {
    /// The policy of an app, if it has one.
    pub async fn policy(&self, app: &AppName, deadline: Instant) -> Result<StoredPolicy> {
        self.read(deadline, || self.reads.policy(app, deadline)).await
    }
}

impl Service {
    /// Replaces or removes the policy of an app, and returns what is stored. The next sweep applies it.
    ///
    /// # Errors
    /// `RevisionMismatch`.
    pub async fn set_policy(&self, write: PolicyWrite, deadline: Instant) -> Result<StoredPolicy> {
        let write = |_| self.store.set_policy(&write, deadline);
        let stored = self.transact(Repeat::UnlessUnclear, deadline, write).await?.value;
        self.to_index.notify_one();
        Ok(stored)
    }

    /// Counts what a sweep would remove now under this policy: sessions, events and, if it says something of them, versions of
    /// artifacts; also returns the present policy.
    ///
    /// # Errors
    /// `RevisionMismatch`.
    pub async fn try_policy(
        &self,
        write: PolicyWrite,
        deadline: Instant,
    ) -> Result<(StoredPolicy, Counts, Option<i64>)> {
        let stored = self.policy(&write.app, deadline).await?;
        write.decide(&stored).map_err(Error::RevisionMismatch)?;
        let PolicyWrite { app, policy, .. } = write;
        let mut versions = None;
        if let Some(keep) = policy.as_ref().and_then(|policy| policy.keep_versions) {
            let mut walk = KeepVersions { app: app.clone(), keep, after: None };
            loop {
                let (excess, next) = self.read(deadline, || self.store.excess_versions(&walk, deadline)).await?;
                *versions.get_or_insert(0) += excess;
                let Some(next) = next else { break };
                walk.after = Some(next);
            }
        }
        let mut walk =
            Walk { app, policy: policy.unwrap_or_default(), after: None, dry_run: true, now: self.clock.now() };
        let mut counts = Counts::default();
        while walk.policy.judges_sessions() {
            let found = self.read(deadline, || self.store.walk(&walk, deadline)).await?;
            counts.add(found.counts);
            let Some(next) = found.next else { break };
            walk.after = Some(next);
        }
        Ok((stored, counts, versions))
    }

    /// Applies a policy of an app once. A change of it meanwhile takes effect the next time.
    ///
    /// # Errors
    /// Of the database; rows that were removed before it stay removed.
    pub(super) async fn apply_policy(&self, app: AppName, policy: Policy, limit: Duration) -> StoreResult<()> {
        if let Some(age) = &policy.shared_age {
            let mut from = Some(Scopes::All);
            while let Some(scopes) = from {
                let begun = Instant::now();
                let forget = Forget { app: app.clone(), age_micros: age.micros, from: scopes, now: self.clock.now() };
                from = self.store.forget(&forget, begun + limit).await?;
                rest(begun).await;
            }
        }
        if let Some(keep) = policy.keep_versions {
            let mut walk = KeepVersions { app: app.clone(), keep, after: None };
            loop {
                let begun = Instant::now();
                walk.after = self.store.keep_versions(&walk, begun + limit).await?;
                if walk.after.is_none() {
                    break;
                }
                rest(begun).await;
            }
        }
        if !policy.judges_sessions() {
            return Ok(());
        }
        let mut walk = Walk { app, policy, after: None, dry_run: false, now: self.clock.now() };
        loop {
            let begun = Instant::now();
            let Found { counts, again, next } = self.store.walk(&walk, begun + limit).await?;
            if counts != Counts::default() {
                self.to_sweep.notify_one();
            }
            match next {
                _ if again => {}
                Some(next) => walk.after = Some(next),
                None => return Ok(()),
            }
            rest(begun).await;
            walk.now = self.clock.now();
        }
    }
}
