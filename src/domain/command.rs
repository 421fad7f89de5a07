//! Commands of writers and their results. Appends and creations have files of their own.

use super::append::Done;
use super::event::cost;
use super::guard::Guard;
use super::ids::{SessionId, SessionKey};
use super::lease::LeaseChange;
use super::query::SessionView;
use super::request_key::RequestKey;
use super::session::MetadataPatch;
use super::shown::Shown;
use super::time::Micros;

/// How the result of a creation came to exist.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Made {
    New,
    /// It existed before.
    Found,
    /// An earlier try of the same request made it.
    Before,
}

/// The result of an append.
#[derive(Debug)]
pub struct AppendAnswer {
    pub done: Done,
    /// The session with its merged state after the transaction, if asked for.
    pub view: Option<SessionView>,
}

impl AppendAnswer {
    /// Whether an earlier request stored the event; for an append of one.
    pub fn is_replay(&self) -> bool {
        self.done.events.iter().any(|event| event.replayed)
    }

    /// The cost of the events that it stored.
    pub fn cost(&self) -> u32 {
        let stored = self.done.events.iter().filter(|event| !event.replayed);
        stored.map(|event| cost(event.event.body.len())).fold(0, u32::saturating_add)
    }
}

/// A session to be created from the past of another one. A retry of the same fork is recognised by its incarnation.
#[derive(Debug)]
pub struct Fork {
    pub source: SessionKey,
    /// `None` for the current revision.
    pub at: Option<i64>,
    pub session: SessionId,
    pub incarnation: i64,
    pub request: Option<RequestKey>,
    pub shows: Shown,
    pub now: Micros,
}

#[derive(Debug)]
pub struct MetadataUpdate {
    pub key: SessionKey,
    pub patch: MetadataPatch,
    pub guard: Guard,
    pub shows: Shown,
    pub now: Micros,
}

#[derive(Debug)]
pub struct Deletion {
    pub key: SessionKey,
    pub incarnation: i64,
    pub guard: Guard,
    pub now: Micros,
}

/// A change of a session's lease.
#[derive(Debug)]
pub struct LeaseCommand {
    pub key: SessionKey,
    pub change: LeaseChange,
    pub now: Micros,
}
