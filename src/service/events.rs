//! The event log of a session: appends, of events as clients give them and of the events of state changes, and reads.

use std::sync::Arc;

use tokio::time::Instant;

use super::retry::{Repeat, Tried};
use super::{Error, Guard, Result, Service};
use crate::domain::append::{Append, Done, Outcome};
use crate::domain::command::AppendOutcome;
use crate::domain::event::{EventDraft, NewEvent, StoredEvent, cost};
use crate::domain::ids::{EventId, SessionKey};
use crate::domain::json::RawJson;
use crate::domain::query::SessionView;
use crate::domain::resolve::{Mismatch, Refusal};
use crate::domain::session::SessionInfo;
use crate::domain::tag::Tag;
use crate::domain::time::Micros;
use crate::store::run::together::Sharing;

/// An event in the answer to an append.
#[derive(Debug)]
pub enum Answered {
    Stored {
        event: StoredEvent,
        replayed: bool,
    },
    /// A partial event: as given, not stored.
    Partial(RawJson),
}

impl Answered {
    /// What it costs, if this request stored it.
    pub fn cost(&self) -> u32 {
        match self {
            Self::Stored { event, replayed: false } => cost(event.body.len()),
            Self::Stored { replayed: true, .. } | Self::Partial(_) => 0,
        }
    }
}

#[derive(Debug)]
pub struct Appended {
    pub events: Vec<Answered>,
    pub tag: Tag,
}

/// What an append came to, and the session's merged state afterwards, if the append asked for it.
pub(super) struct Committed {
    pub done: Done,
    pub view: Option<SessionView>,
}

impl Committed {
    /// Whether the event, of an append of one, had been stored by an earlier request.
    pub fn is_replay(&self) -> bool {
        self.done.events.iter().any(|event| event.replayed)
    }

    /// What it stored costs so much.
    pub fn cost(&self) -> u32 {
        let stored = self.done.events.iter().filter(|event| !event.replayed);
        stored.map(|event| cost(event.event.body.len())).fold(0, u32::saturating_add)
    }
}

impl Service {
    /// Appends events, all or none. Partial ones are answered and not stored.
    ///
    /// # Errors
    /// `SessionNotFound`, `EventIdConflict`, `Lease`, `RevisionMismatch`.
    pub async fn append(
        &self,
        key: SessionKey,
        drafts: Vec<EventDraft>,
        guard: Guard,
        deadline: Instant,
    ) -> Result<Appended> {
        let now = self.clock.now();
        let (partial, complete): (Vec<_>, Vec<_>) =
            drafts.into_iter().enumerate().partition(|(_, draft)| draft.partial.is_some());
        let places: Vec<usize> = complete.iter().map(|(n, _)| *n).collect();
        let events = self.seal(complete.into_iter().map(|(_, draft)| draft), now);
        let Guard { lease, if_match } = guard;
        let append =
            Append { key, events, lease, if_match, only_if_present: None, limits: self.limits, now, with_state: false };
        let done = if append.events.is_empty() {
            let view = self.lease(&append.key, deadline).await?;
            view.judge(append.lease.as_ref()).map_err(|refusal| self.refusal(Error::Lease(refusal), false))?;
            let tag = view.head.tag();
            if append.if_match.as_ref().is_some_and(|if_match| !if_match.holds(&tag)) {
                return Err(Error::RevisionMismatch(Mismatch::of_session(&tag, Vec::new())));
            }
            Done { events: Vec::new(), tag }
        } else {
            self.commit(append, deadline).await?.done
        };
        let stored = done.events.into_iter().map(|a| Answered::Stored { event: a.event, replayed: a.replayed });
        let partial =
            partial.into_iter().filter_map(|(n, draft)| draft.partial.map(|given| (n, Answered::Partial(given))));
        let mut events: Vec<(usize, Answered)> = places.into_iter().zip(stored).chain(partial).collect();
        events.sort_by_key(|(n, _)| *n);
        Ok(Appended { events: events.into_iter().map(|(_, answered)| answered).collect(), tag: done.tag })
    }

    /// One event, with its session's head.
    ///
    /// # Errors
    /// `SessionNotFound`, `EventNotFound`, `Trimmed`.
    pub async fn event(&self, key: &SessionKey, id: &EventId, deadline: Instant) -> Result<(SessionInfo, StoredEvent)> {
        let now = self.clock.now();
        let found = self.read(deadline, || self.store.event(key, id, now, deadline)).await?;
        let (head, event) = found.ok_or(Error::SessionNotFound)?;
        let event = event.ok_or(Error::EventNotFound)?;
        if event.sequence <= head.base_revision {
            return Err(Error::Trimmed { base: head.base_revision });
        }
        Ok((head, event))
    }

    /// Completes events before the first try, so that every try appends the same ones.
    pub(super) fn seal(&self, drafts: impl Iterator<Item = EventDraft>, now: Micros) -> Vec<NewEvent> {
        let seal = |draft: EventDraft| {
            let id = draft.id.clone().unwrap_or_else(|| self.clock.fresh_id().into());
            draft.seal(id, now)
        };
        drafts.map(seal).collect()
    }

    /// Appends, at the first try in a transaction shared with others.
    pub(super) async fn commit(&self, append: Append, deadline: Instant) -> Result<Committed> {
        let append = Arc::new(append);
        let Tried { value: AppendOutcome { outcome, view }, unclear } = self
            .transact_try(Repeat::Safe, deadline, |first| {
                let sharing = if first { Sharing::Group } else { Sharing::Alone };
                self.store.append(&append, sharing, deadline)
            })
            .await?;
        Ok(Committed { done: self.done(outcome, &append, unclear)?, view })
    }

    /// Counts what was appended, or says why nothing was.
    fn done(&self, outcome: Outcome, append: &Append, unclear: bool) -> Result<Done> {
        match outcome {
            Outcome::Done(mut done) => {
                for event in &mut done.events {
                    // Stored by an earlier try of this request, whose answer was lost: for the client, it is new. (A try is unclear
                    // only if it found an event new, and wrote it if anything.)
                    event.replayed &= !unclear;
                }
                let replayed = done.events.iter().filter(|event| event.replayed).count();
                self.metrics.replayed(replayed);
                self.metrics.appended(done.events.len() - replayed);
                Ok(done)
            }
            Outcome::SessionNotFound => Err(self.refusal(Error::SessionNotFound, unclear)),
            // The session has an event of this id, and events stay. So an earlier try, which writes all of its events or
            // none, changed nothing of it. If the session was made anew meanwhile, only shared state could tell.
            Outcome::Refused(Refusal::EventIdConflict) if append.scopes().is_empty() => Err(Error::EventIdConflict),
            Outcome::Refused(refusal) => Err(self.refusal(refusal.into(), unclear)),
        }
    }
}
