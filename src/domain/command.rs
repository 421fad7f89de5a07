//! The commands of writers and their outcomes. Appends and creations have files of their own.

use super::append::Outcome;
use super::ids::{SessionId, SessionKey};
use super::lease::{LeaseChange, LeaseDone, LeaseMark, LeaseRefusal, LeaseView};
use super::query::{ScopeView, SessionView};
use super::request_key::RequestKey;
use super::resolve::{Bound, Mismatch, Refusal};
use super::session::MetadataPatch;
use super::tag::IfMatch;
use super::time::Micros;

/// The outcome of one append of a batch.
#[derive(Debug)]
pub struct AppendOutcome {
    pub outcome: Outcome,
    /// The session with its merged state as the batch left it, if it was asked for and the append was not refused.
    pub view: Option<SessionView>,
}

#[derive(Debug)]
pub enum CreateOutcome {
    Created(SessionView),
    /// It existed: refused, or returned untouched, as the creation asked.
    AlreadyExists,
    Existing(SessionView),
    /// A retry: this is what the first request created.
    Replayed(SessionView),
    /// An earlier request with the same key had other content.
    KeyConflict,
    /// The user was erased, and gets no sessions.
    UserErased,
    Refused(Refusal),
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
pub enum ForkOutcome {
    Created(SessionView),
    AlreadyExists,
    /// As of a [`CreateOutcome`].
    Replayed(SessionView),
    KeyConflict,
    SessionNotFound,
    /// The source has not reached that revision; this is its current one.
    Beyond(i64),
    /// The source begins here, after that revision.
    Trimmed(i64),
    /// The app's policy allows no such fork.
    LimitReached(Bound),
}

#[derive(Debug)]
pub struct MetadataUpdate {
    pub key: SessionKey,
    pub patch: MetadataPatch,
    pub lease: Option<LeaseMark>,
    pub if_match: Option<IfMatch>,
    pub now: Micros,
}

#[derive(Debug)]
pub enum UpdateOutcome {
    Done(SessionView),
    SessionNotFound,
    Lease(LeaseRefusal),
    RevisionMismatch(Mismatch),
}

#[derive(Debug)]
pub struct Deletion {
    pub key: SessionKey,
    pub incarnation: i64,
    pub lease: Option<LeaseMark>,
    pub if_match: Option<IfMatch>,
    pub now: Micros,
}

#[derive(Debug, PartialEq, Eq)]
pub enum DeleteOutcome {
    /// Gone, or never there.
    Done,
    Lease(LeaseRefusal),
    RevisionMismatch(Mismatch),
}

#[derive(Debug)]
pub enum ScopeOutcome {
    Done(ScopeView),
    /// A retry: nothing was changed now.
    Replayed(ScopeView),
    /// An earlier request with the same key had other content.
    KeyConflict,
    /// The user was erased, and gets no state.
    UserErased,
    Refused(Refusal),
}

/// A change of a session's lease.
#[derive(Debug)]
pub struct LeaseCommand {
    pub key: SessionKey,
    pub change: LeaseChange,
    pub now: Micros,
}

#[derive(Debug)]
pub enum LeaseOutcome {
    /// With the lease as it is now.
    Done(LeaseDone, LeaseView),
    SessionNotFound,
    Refused(LeaseRefusal),
}
