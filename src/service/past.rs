//! A session's past: its state as it was, a fork of it, a rewind to it.

use tokio::time::Instant;

use super::retry::{Repeat, Tried};
use super::{Changed, Error, Guard, Made, Reader, Result, Service};
use crate::domain::command::Fork;
use crate::domain::ids::{EventId, SessionId, SessionKey};
use crate::domain::key_history::{KeyHistory, KeyHistoryQuery, KeyOwner};
use crate::domain::query::{Moment, MomentQuery, SessionView, StatePart};
use crate::domain::refusal::Refusal;
use crate::domain::request_key::RequestKey;
use crate::domain::rewind::{RewindRequest, RewindTarget, Rewound};
use crate::domain::shown::Shown;
use crate::domain::state_range::StatePage;
use crate::domain::tag::Tag;

impl Reader {
    /// The merged state as it was when event `revision` had committed (0: at creation), and the tag of that moment.
    ///
    /// # Errors
    /// `SessionNotFound`, `Trimmed`, `Forgotten`; `Rejected` if the session has not reached that revision.
    pub async fn state_at(
        &self,
        key: SessionKey,
        revision: i64,
        part: StatePart,
        deadline: Instant,
    ) -> Result<(Tag, StatePage)> {
        let query = MomentQuery { key, revision, part, now: self.clock.now() };
        match self.read(deadline, || self.reads.moment(&query, deadline)).await? {
            Moment::Then { tag, state } => Ok((tag, state)),
            Moment::SessionNotFound => Err(Error::SessionNotFound),
            Moment::Beyond(revision) => Err(Refusal::Beyond(revision).into()),
            Moment::Trimmed(base) => Err(Error::Trimmed { base }),
            Moment::Forgotten(base) => Err(Error::Forgotten { base }),
        }
    }

    /// A page of the changes of one key, of which the whole is not empty: those after a revision, in descending order or not, up to a
    /// number of them.
    ///
    /// # Errors
    /// `SessionNotFound`, `StateKeyNotFound`.
    pub async fn key_history(
        &self,
        owner: KeyOwner,
        key: String,
        (after, descending, max_rows): (Option<i64>, bool, usize),
        deadline: Instant,
    ) -> Result<KeyHistory> {
        let (now, max_bytes) = (self.clock.now(), self.limits.page_bytes);
        let query = KeyHistoryQuery { owner, key, after, descending, now, max_rows, max_bytes };
        let found = self.read(deadline, || self.reads.key_history(&query, deadline)).await?;
        let history = found.ok_or(Error::SessionNotFound)?;
        if after.is_none() && history.changes.is_empty() { Err(Error::StateKeyNotFound) } else { Ok(history) }
    }

    /// The cost of a fork of the session: that of the events that it copies.
    ///
    /// # Errors
    /// `SessionNotFound`.
    pub async fn fork_cost(&self, source: &SessionKey, at: Option<i64>, deadline: Instant) -> Result<u32> {
        let found = self.read(deadline, || self.reads.log_cost(source, at.unwrap_or(i64::MAX), deadline)).await?;
        Ok(u32::try_from(found).unwrap_or(u32::MAX))
    }
}

impl Service {
    /// Creates a session with the past of another one, up to `at` or all of it, under `id` or a fresh id. It stores `request`.
    ///
    /// # Errors
    /// `SessionNotFound`, `Trimmed`, `SessionAlreadyExists`, `CreationKeyConflict`, `LimitReached`; `Rejected` if the source has
    /// not reached `at`.
    pub async fn fork(
        &self,
        source: SessionKey,
        at: Option<i64>,
        id: Option<SessionId>,
        request: Option<RequestKey>,
        shows: Shown,
        deadline: Instant,
    ) -> Result<(Made, SessionView)> {
        let session = id.unwrap_or_else(|| self.clock.fresh_id().into());
        let (incarnation, now) = (self.clock.incarnation(), self.clock.now());
        let fork = Fork { source, at, session, incarnation, request, shows, now };
        Ok(self.transact(Repeat::Safe, deadline, |_| self.store.fork(&fork, deadline)).await?.value)
    }

    /// Appends an event that restores the session's own state and takes events back, and copies of the events that stay of an
    /// invocation cut in two. Returns the session afterwards. `id` is the event's.
    ///
    /// # Errors
    /// `SessionNotFound`, `InvocationNotFound`, `Trimmed`, `EventIdConflict`, `Lease`, `RevisionMismatch`;
    /// `Rejected` if there is nothing to take back.
    pub async fn rewind(
        &self,
        key: SessionKey,
        target: RewindTarget,
        id: Option<EventId>,
        guard: Guard,
        shows: Shown,
        deadline: Instant,
    ) -> Result<Changed<SessionView>> {
        let event_id = id.unwrap_or_else(|| self.clock.fresh_id().into());
        let invocation_id = format!("rewind-{}", self.clock.fresh_id());
        let (copy_id, now) = (self.clock.fresh_id(), self.clock.now());
        let request = RewindRequest { key, target, event_id, copy_id, invocation_id, guard, shows, now };
        let Tried { value: Rewound { view, appended, cost }, unclear } =
            self.transact(Repeat::Safe, deadline, |_| self.store.rewind(&request, deadline)).await?;
        // Made by an earlier try of this request, whose answer was lost: for the client, it is new.
        let replayed = appended == 0 && !unclear;
        if replayed {
            self.metrics.replayed_events.inc_by(1);
        } else {
            self.metrics.appended_events.inc_by(appended.max(1) as u64);
        }
        Ok(Changed { replayed, cost, after: view })
    }
}
