//! The event log of a session: appends and reads.

use std::sync::Arc;

use tokio::time::Instant;

use super::retry::{Repeat, Tried};
use super::{Error, Guard, Reader, Result, Service};
use crate::domain::append::{Append, Appended as Stored, Done};
use crate::domain::command::AppendAnswer;
use crate::domain::event::{EventDraft, NewEvent, StoredEvent};
use crate::domain::ids::{EventId, SessionKey};
use crate::domain::json::{Json, ObjectText, RawJson};
use crate::domain::lease::LeaseHead;
use crate::domain::refusal::Refusal;
use crate::domain::session::SessionInfo;
use crate::domain::shown::Shown;
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

#[derive(Debug)]
pub struct Appended {
    pub events: Vec<Answered>,
    /// None if there is no session: partial events make none.
    pub tag: Option<Tag>,
    /// Of what this request stored.
    pub cost: u32,
    /// The session was made for them.
    pub created: bool,
}

impl Reader {
    /// One event, with its session's head.
    ///
    /// # Errors
    /// `SessionNotFound`, `EventNotFound`, `Trimmed`.
    pub async fn event(&self, key: &SessionKey, id: &EventId, deadline: Instant) -> Result<(SessionInfo, StoredEvent)> {
        let now = self.clock.now();
        let found = self.read(deadline, || self.reads.event(key, id, now, deadline)).await?;
        let (head, event) = found.ok_or(Error::SessionNotFound)?;
        let event = event.ok_or(Error::EventNotFound)?;
        if event.sequence <= head.base_revision {
            return Err(Error::Trimmed { base: head.base_revision });
        }
        Ok((head, event))
    }
}

impl Service {
    /// Appends events, all or none. Partial ones are answered and not stored. With `create`, those that are not partial make the
    /// session if there is none.
    ///
    /// # Errors
    /// `SessionNotFound`, `EventIdConflict`, `Lease`, `RevisionMismatch`, `LimitReached`; with `create` also `UserErased`.
    pub async fn append(
        &self,
        key: SessionKey,
        drafts: Vec<EventDraft>,
        guard: Guard,
        create: bool,
        shows: Shown,
        deadline: Instant,
    ) -> Result<Appended> {
        let now = self.clock.now();
        let (partial, complete): (Vec<_>, Vec<_>) =
            drafts.into_iter().enumerate().partition(|(_, draft)| draft.partial.is_some());
        let places: Vec<usize> = complete.iter().map(|(n, _)| *n).collect();
        let events = self.seal(complete.into_iter().map(|(_, draft)| draft), now);
        let creates = create.then(|| self.clock.incarnation());
        let (only_if_present, limits) = (None, self.limits);
        let append = Arc::new(Append { key, events, guard, only_if_present, limits, now, with_state: None, creates });
        let (done, cost) = if append.events.is_empty() {
            let (lease, tag, now) = match (self.lease(&append.key, deadline).await, creates) {
                (Ok(view), _) => (view.as_head(), view.head.tag(), view.now),
                // Judged as if the session were made, which partial events do not.
                (Err(Error::SessionNotFound), Some(incarnation)) => {
                    append.creation().map_err(|refusal| self.refusal(refusal, false))?;
                    (LeaseHead::default(), Tag::of_new(incarnation), now)
                }
                (Err(error), _) => return Err(error),
            };
            append.guard.judge(&lease, &tag, now).map_err(|refusal| self.refusal(refusal, false))?;
            (Done { events: Vec::new(), tag }, 0)
        } else {
            let committed = self.commit(append.clone(), deadline).await?;
            let cost = committed.cost();
            (committed.done, cost)
        };
        let is_minimal = shows == Shown::Minimal;
        let stored = done.events.into_iter().zip(&append.events).map(|(Stored { event, replayed }, given)| {
            let event = if is_minimal { event.place(given, replayed) } else { event };
            Answered::Stored { event, replayed }
        });
        let shown = |given: RawJson| Answered::Partial(if is_minimal { short(given.json()) } else { given });
        let partial = partial.into_iter().filter_map(|(n, draft)| draft.partial.map(|given| (n, shown(given))));
        let mut events: Vec<(usize, Answered)> = places.into_iter().zip(stored).chain(partial).collect();
        events.sort_by_key(|(n, _)| *n);
        let is_new = creates == Some(done.tag.incarnation);
        let created = is_new && !append.events.is_empty();
        let events = events.into_iter().map(|(_, answered)| answered).collect();
        Ok(Appended { events, tag: Some(done.tag).filter(|_| created || !is_new), cost, created })
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
    pub(super) async fn commit(&self, append: impl Into<Arc<Append>>, deadline: Instant) -> Result<AppendAnswer> {
        let append: Arc<Append> = append.into();
        let write = |first| {
            let sharing = if first { Sharing::Group } else { Sharing::Alone };
            self.store.append(&append, sharing, deadline)
        };
        let Tried { value, unclear } = self.attempt(Repeat::Safe, deadline, write).await?;
        let mut answer = value.map_err(|refusal| match refusal {
            // The session has an event of this id, and events stay. So an earlier try, which writes all of its events or none,
            // wrote nothing. If the session was created anew meanwhile, an earlier try could have changed shared state only.
            Refusal::EventIdConflict if append.scopes().is_empty() => Error::EventIdConflict,
            refusal => self.refusal(refusal, unclear),
        })?;
        for event in &mut answer.done.events {
            // Stored by an earlier try of this request, whose answer was lost: for the client, it is new. (A try is unclear
            // only if it found an event new, and wrote it if anything.)
            event.replayed &= !unclear;
        }
        let replayed = answer.done.events.iter().filter(|event| event.replayed).count();
        self.metrics.replayed_events.inc_by(replayed as u64);
        self.metrics.appended_events.inc_by((answer.done.events.len() - replayed) as u64);
        if append.events.iter().any(|event| event.compacts) {
            self.behind.note(&append.key);
        }
        Ok(answer)
    }
}

/// What [`Shown::Minimal`] has of a partial event, which has no place.
fn short(event: Json<'_>) -> RawJson {
    let mut short = ObjectText::default();
    for name in ["id", "timestamp", "partial"] {
        short.push_some(name, event.get(name).map(|value| value.text()));
    }
    RawJson::trusted(short.close())
}
