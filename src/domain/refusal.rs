//! Why a write was not made: the error of every decision.

use super::erasure::Erasure;
use super::lease::LeaseRefusal;
use super::tag::Tag;
use super::word::words;
use super::{FieldError, Rejected};

words! {
    /// A bound on stored data, most often set by the policy of an app, by its name in policies and errors.
    pub enum Bound {
        SessionsPerUser = "sessionsPerUser",
        EventsPerSession = "eventsPerSession",
        ArtifactBytesPerUser = "artifactBytesPerUser",
        /// Of the artifacts of a session, or of a user. No policy sets it.
        ArtifactVersions = "artifactVersions",
    }
}

/// Why nothing was written.
#[derive(Debug, Clone, PartialEq)]
pub enum Refusal {
    SessionNotFound,
    /// The session has no event of this id.
    EventNotFound,
    /// No event of the session has this invocation.
    InvocationNotFound,
    SessionAlreadyExists,
    /// An earlier request with the same key and other content created a session.
    CreationKeyConflict,
    /// An earlier request with the same key and other content changed the scope.
    PatchKeyConflict,
    /// The session has an event with this id and other content.
    EventIdConflict,
    /// The user was erased, and is blocked.
    UserErased,
    /// An earlier request with this id made an erasure of another user.
    ErasureConflict(Box<Erasure>),
    /// The session has not reached that revision; this is its current one.
    Beyond(i64),
    /// The session begins here, after that revision.
    Trimmed(i64),
    /// The write names another lease than the session's, or none while a lease excludes all others.
    Lease(LeaseRefusal),
    /// The app's policy allows no more.
    LimitReached(Bound),
    /// A precondition failed.
    RevisionMismatch(Mismatch),
    /// An operator does not fit the current value, or its result is over a limit.
    Rejected(Rejected),
    /// The import took too long between two lines, so that the sweep removed its rows.
    ImportLost,
    /// The user was erased since the import began.
    ErasedSince,
    /// The scope to be imported has other state, which stays.
    OtherState,
    /// A precondition on the latest version of an artifact failed; this is its number, if there is one.
    ArtifactMismatch(Option<i64>),
    /// The artifact has had a version of this number, or a higher one.
    ArtifactVersionExists,
    /// An earlier request with the same key saved other content.
    ArtifactKeyConflict,
    /// The bytes came too slowly, so that the sweep removed them; or their user was erased meanwhile.
    BlobLost,
}

impl From<LeaseRefusal> for Refusal {
    fn from(refusal: LeaseRefusal) -> Self {
        Self::Lease(refusal)
    }
}

impl From<Mismatch> for Refusal {
    fn from(mismatch: Mismatch) -> Self {
        Self::RevisionMismatch(mismatch)
    }
}

impl From<Rejected> for Refusal {
    fn from(rejected: Rejected) -> Self {
        Self::Rejected(rejected)
    }
}

/// The current revisions, where a precondition failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mismatch {
    /// Of the session, or of the scope that was addressed on its own.
    pub revision: i64,
    /// Of user and app state, if a session was addressed.
    pub shared: Option<(i64, i64)>,
    /// The preconditions on keys that failed; none if the precondition on the entity tag failed.
    pub failed: Vec<FieldError>,
}

impl Mismatch {
    pub fn of_session(tag: &Tag, failed: Vec<FieldError>) -> Self {
        Self { revision: tag.revision, shared: Some((tag.user, tag.app)), failed }
    }

    pub fn of_scope(revision: i64, failed: Vec<FieldError>) -> Self {
        Self { revision, shared: None, failed }
    }
}
