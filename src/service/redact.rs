//! Redactions of events.

use std::collections::BTreeSet;
use std::time::Duration;

use tokio::time::Instant;

use super::retry::Repeat;
use super::{Guard, Result, Service, StoreResult};
use crate::domain::ids::{EventId, SessionKey};
use crate::domain::redact::{FORKS_AT_ONCE, RedactDraft, Redacted, Redaction, Step};
use crate::store::backend::Scrubbed;

impl Service {
    /// Overwrites in the files what redactions took, where they are this process's; `false` if a reader of the file is in the way. `limit`
    /// is the time for each step.
    ///
    /// # Errors
    /// The database fails; it is tried again with the next sweep.
    pub(super) async fn scrub_redacted(&self, limit: Duration) -> StoreResult<bool> {
        let due = || Instant::now() + limit;
        let apps = self.store.to_scrub(due()).await?;
        if apps.is_empty() {
            return Ok(true);
        }
        if matches!(self.store.scrub(due()).await?, Scrubbed::Busy | Scrubbed::Occupied) {
            return Ok(false);
        }
        for (app, count) in apps {
            self.store.scrubbed(&app, count, due()).await?;
        }
        Ok(true)
    }

    /// Redacts an event, in its session and in all forks that hold it: in one transaction, if these are few.
    ///
    /// # Errors
    /// `SessionNotFound`, `EventNotFound`, `Trimmed`, `Lease`, `RevisionMismatch`.
    pub async fn redact(
        &self,
        key: SessionKey,
        event: EventId,
        draft: RedactDraft,
        guard: Guard,
        deadline: Instant,
    ) -> Result<Redacted> {
        let (forks, done) = (BTreeSet::new(), BTreeSet::new());
        let (removal_id, now) = (self.clock.fresh_id(), self.clock.now());
        let time = self.time(deadline).await?;
        let mut redaction = Redaction { key, event, draft, guard, removal_id, time, now, forks, done };
        let (mut revision, mut carried_on) = (None, BTreeSet::new());
        loop {
            let redact = |_| self.store.redact(&redaction, deadline);
            match self.transact(Repeat::Safe, deadline, redact).await?.value {
                Step::Wider(forks) => redaction.forks = forks,
                Step::Done(mut redacted) => {
                    self.metrics.appended_events.inc_by(redacted.appended as u64);
                    revision = revision.or(redacted.revision);
                    carried_on.append(&mut redacted.carried_on);
                    if redacted.left.is_empty() {
                        self.to_sweep.notify_one();
                        return Ok(Redacted { revision, carried_on, ..redacted });
                    }
                    let next = redacted.left.into_iter().take(FORKS_AT_ONCE).collect();
                    redaction.done.extend(std::mem::replace(&mut redaction.forks, next));
                }
            }
        }
    }
}
