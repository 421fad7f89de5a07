//! What an import asks of whoever runs it.

use crate::domain::artifact::BlobKey;
use crate::domain::ids::{ArtifactName, ScopeKey, SessionKey, UserKey};
use crate::domain::json::RawJson;
use crate::domain::refusal::Refusal;
use crate::domain::transfer::rows::{ArtifactImport, ImportEnd, ImportRows, PastEnd, PastQuery, PastRows, ScopeImport};

/// The most that one transaction writes.
pub(super) const CHUNK_ROWS: usize = 500;
pub(super) const CHUNK_BYTES: usize = 4 << 20;

/// The memory that a value or the name of an invocation takes beside its text.
pub(super) const ENTRY_BYTES: usize = 200;

/// The approximate memory of a value, in bytes.
pub(super) fn weight(key: &str, value: &RawJson) -> usize {
    key.len() + value.text().len() + ENTRY_BYTES
}

/// One thing to do. It is answered, unless it says otherwise, by the method of [`ImportMachine`](super::ImportMachine) that it names.
#[derive(Debug)]
pub enum Ask {
    /// Read the number of erasures of each app, and the salt of subjects: `begun`.
    Begin,
    /// Write something: `written`.
    Write(Write),
    /// Say what would come of the write of a scope or a file, and write nothing: `written`.
    Judge(Write),
    /// Read where a scope stands, and what it was at a revision: `scope_was`.
    ScopeAt(ScopeKey, i64),
    /// Read a part of a history: `past_was`.
    Past(PastQuery),
    /// Read whether there is a session and, if asked, the time: `session_found`.
    FindSession(SessionKey, bool),
    /// Read whether the session of this id is the one of the lines: `compared`.
    Compare(Box<ImportEnd>),
    /// Leave the rows of a session to the sweep. No answer.
    Abandon(SessionKey, i64),
    /// Read whether a user has an artifact: `file_found`.
    FindFile(UserKey, ArtifactName),
    /// Store the first, or the next, bytes of an artifact for a user: `pushed`.
    Push(UserKey, Vec<u8>),
    /// Store what is left of them: `kept`.
    Keep,
    /// Give up what is stored of them, if anything is. No answer.
    Drop,
    /// Renew bytes that no version holds yet. No answer.
    Renew(BlobKey),
    /// Leave bytes to the sweep that no version will hold. No answer.
    Leave(BlobKey),
    /// End the import, as a write was refused for a reason that no import has. No answer.
    Stop(Refusal),
}

/// What is written, in one transaction.
#[derive(Debug)]
pub enum Write {
    /// The state of an app or a user.
    Scope(ScopeImport),
    /// A part of its history.
    Past(PastRows),
    /// Its history becomes visible.
    PastEnd(PastEnd),
    /// Rows of a session.
    Rows(ImportRows),
    /// The session becomes visible.
    Session(Box<ImportEnd>),
    /// An artifact of a user, and whether there is one of its name.
    File(ArtifactImport, bool),
}
