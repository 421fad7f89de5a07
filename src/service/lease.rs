//! Leases: one turn at a time.

use tokio::time::Instant;

use super::retry::{Repeat, Tried};
use super::{Error, Reader, Result, Service};
use crate::domain::command::LeaseCommand;
use crate::domain::ids::SessionKey;
use crate::domain::lease::{Held, LeaseChange, LeaseDone, LeaseDraft, LeaseMark, LeaseRefusal, LeaseView};
use crate::domain::refusal::Refusal;
use crate::domain::time::Micros;

/// The result of a request for a lease.
#[derive(Debug)]
pub enum Taken {
    Granted {
        /// The lease as granted.
        view: LeaseView,
        /// It had been granted before: the request was a retry.
        retried: bool,
    },
    /// Somebody else holds it, and it has not expired: nothing was changed.
    Held(Held),
}

impl Reader {
    /// The lease of a session, with its head.
    ///
    /// # Errors
    /// `SessionNotFound`.
    pub async fn lease(&self, key: &SessionKey, deadline: Instant) -> Result<LeaseView> {
        let now = self.clock.now();
        self.read(deadline, || self.reads.lease(key, now, deadline)).await?.ok_or(Error::SessionNotFound)
    }

    /// How many watches and waits follow a session in this process.
    pub fn watchers(&self, key: &SessionKey) -> usize {
        self.live.followers(key)
    }

    /// When to try again for a lease that expires then. Releases by other processes wake nobody here.
    pub fn next_lease_attempt(&self, expire_time: Micros) -> Micros {
        const EVERY_MICROS: i64 = 250_000;
        if self.reads.shape().is_shared() { expire_time.min(self.clock.now().plus(EVERY_MICROS)) } else { expire_time }
    }
}

impl Service {
    /// Tries once to take a lease. If somebody else holds it, the same request may be repeated.
    ///
    /// # Errors
    /// `SessionNotFound`.
    pub async fn take_lease(&self, key: &SessionKey, draft: &LeaseDraft, deadline: Instant) -> Result<Taken> {
        let Tried { value, unclear } = self.change_lease(key, LeaseChange::Take(draft.clone()), deadline).await?;
        match value {
            Ok((done, view)) => {
                // Granted by an earlier try of this request, whose answer was lost: for the client, it is new.
                let retried = done == LeaseDone::Retried && !unclear;
                self.metrics.leases.inc(match done {
                    LeaseDone::Stolen => "stolen",
                    _ if retried => "retried",
                    _ => "granted",
                });
                Ok(Taken::Granted { view, retried })
            }
            Err(Refusal::Lease(LeaseRefusal::Held(held))) if !unclear => {
                self.metrics.leases.inc("held");
                Ok(Taken::Held(held))
            }
            Err(refusal) => Err(self.refusal(refusal, unclear)),
        }
    }

    /// Renews a lease: it ends `ttl_micros` from now.
    ///
    /// # Errors
    /// `SessionNotFound`; `Lease` if it was superseded or released.
    pub async fn renew_lease(
        &self,
        key: &SessionKey,
        mark: LeaseMark,
        ttl_micros: i64,
        deadline: Instant,
    ) -> Result<LeaseView> {
        let Tried { value, unclear } =
            self.change_lease(key, LeaseChange::Renew { mark, ttl_micros }, deadline).await?;
        let (_, view) = value.map_err(|refusal| self.refusal(refusal, unclear))?;
        self.metrics.leases.inc("renewed");
        Ok(view)
    }

    /// Releases a lease; succeeds also if it was superseded or released before.
    ///
    /// # Errors
    /// `SessionNotFound`.
    pub async fn release_lease(&self, key: &SessionKey, mark: LeaseMark, deadline: Instant) -> Result<()> {
        let Tried { value, unclear } = self.change_lease(key, LeaseChange::Release(mark), deadline).await?;
        let (done, _) = value.map_err(|refusal| self.refusal(refusal, unclear))?;
        if done == LeaseDone::Released {
            self.metrics.leases.inc("released");
        }
        Ok(())
    }

    /// Retried even if unclear: a retry finds the lease as the first try left it, unless others changed it meanwhile.
    async fn change_lease(
        &self,
        key: &SessionKey,
        change: LeaseChange,
        deadline: Instant,
    ) -> Result<Tried<std::result::Result<(LeaseDone, LeaseView), Refusal>>> {
        let command = LeaseCommand { key: key.clone(), change, now: self.clock.now() };
        self.attempt(Repeat::Safe, deadline, |_| self.store.change_lease(&command, deadline)).await
    }
}
