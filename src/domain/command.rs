//! The commands of writers and what they get. Appends and creations have files of their own.

use super::append::Done;
use super::event::cost;
use super::guard::Guard;
use super::ids::{SessionId, SessionKey};
use super::lease::LeaseChange;
use super::query::SessionView;
use super::request_key::RequestKey;
use super::session::MetadataPatch;
use super::time::Micros;

/// How it comes that something is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Made {
    New,
    /// It existed.
    Found,
    /// An earlier try of the same request made it.
    Before,
}

/// What an append came to.
#[derive(Debug)]
pub struct AppendAnswer {
    pub done: Done,
    /// The session with its merged state as the transaction left it, if it was asked for.
    pub view: Option<SessionView>,
}

impl AppendAnswer {
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

/// A session to be created from another one's past. A retry of the same fork is recognised by its incarnation.
#[derive(Debug)]
pub struct Fork {
    pub source: SessionKey,
    /// The current revision, if it is `None`.
    pub at: Option<i64>,
    pub session: SessionId,
    pub incarnation: i64,
    pub request: Option<RequestKey>,
    pub now: Micros,
}

#[derive(Debug)]
pub struct MetadataUpdate {
    pub key: SessionKey,
    pub patch: MetadataPatch,
    pub guard: Guard,
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
