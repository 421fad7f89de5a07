//! Whether the stored state follows from the events: each session is recomputed from its events, each shared scope from its
//! log.
//!
//! Nothing here reads a database. A store passes the events of a session to a [`SessionCheck`] in order, looks up the rows that
//! the check [wants](Wanted) on the way, and then passes the rows of the state; the same for a [`ScopeCheck`]. Each difference
//! becomes a line of [`Findings`]. Lines name keys, events and revisions, never a value.

pub mod artifacts;
mod findings;
mod scope;
mod session;
#[cfg(test)]
mod tests;

use std::collections::HashMap;

use super::time::Micros;
use artifacts::NamedSpan;
pub use findings::Findings;
pub use scope::{LogRow, ScopeCheck};
pub use session::SessionCheck;

/// How many lookups a check collects before it requests them: entries, and bytes of their values.
const FULL_COUNT: usize = 500;
const FULL_BYTES: usize = 1 << 20;

/// The revisions of the shared scopes that an event or a creation saw.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Seen {
    pub user: i64,
    pub app: i64,
}

impl Seen {
    fn each(self) -> [(&'static str, i64); 2] {
        [("user", self.user), ("app", self.app)]
    }
}

/// A session's row, and the revisions of its scopes at the same moment.
#[derive(Debug, Clone)]
pub struct SessionRow {
    pub revision: i64,
    /// Events up to this one were trimmed: at most their stubs are left.
    pub base: i64,
    pub create_time: Micros,
    pub update_time: Micros,
    pub update_time_number: String,
    /// Whether the list by last update has it with its update time.
    pub listed: bool,
    /// A JSON object: the state at `base`.
    pub initial_state: String,
    pub created: Seen,
    pub now: Seen,
    /// The history of the shared scopes before these revisions is unknown.
    pub floors: Seen,
    /// If the session is a fork: its events up to this one are copies.
    pub forked_revision: Option<i64>,
    /// If the session was imported: the events up to this one saw shared state of another database.
    pub imported_revision: Option<i64>,
    /// Whether the columns of the lease agree: all or none are set, and a holder has an epoch.
    pub lease_agrees: bool,
}

/// An event's row, with texts as clients see them.
#[derive(Debug, Clone)]
pub struct EventRow {
    pub sequence: i64,
    pub id: String,
    pub event_time: Micros,
    pub author: String,
    pub invocation_id: String,
    pub branch: Option<String>,
    pub saw: Seen,
    pub effect: Option<i64>,
    pub digest: Vec<u8>,
    pub body: String,
}

/// A value that was overwritten or removed, with the revisions between which it was current; stored, or expected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Span {
    pub node: i64,
    pub key: Box<str>,
    pub from: i64,
    pub to: i64,
    /// Both for a session only; values of a shared scope are in its log.
    pub removed: bool,
    pub value: Option<Box<str>>,
}

/// The result of a request at a key of a shared scope, which the scope's log has at this revision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Logged {
    pub key: Box<str>,
    pub revision: i64,
    pub left: Left,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Left {
    Value(Box<str>),
    /// Removed. If the key was missing before, the log has no row.
    Nothing,
    /// An unknown change.
    Something,
}

/// The rows to look up for a [`SessionCheck`], in a bounded number.
#[derive(Debug, Default)]
pub struct Wanted {
    pub spans: Vec<Span>,
    pub named: Vec<NamedSpan>,
    pub user_log: Vec<Logged>,
    pub app_log: Vec<Logged>,
    /// Of all values.
    bytes: usize,
}

impl Wanted {
    fn is_full(&self) -> bool {
        self.spans.len() + self.user_log.len() + self.app_log.len() >= FULL_COUNT || self.bytes >= FULL_BYTES
    }
}

/// The row of a log at a wanted key and revision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogValue {
    pub key: Box<str>,
    pub revision: i64,
    pub value: Option<Box<str>>,
}

/// Compares the expected spans with their rows; returns the number of rows.
fn compare_spans(findings: &mut Findings, wanted: &[Span], found: &[Span]) -> i64 {
    let found: HashMap<(i64, &str), &Span> = found.iter().map(|span| ((span.node, &*span.key), span)).collect();
    for Span { node, key, from, to, removed, value } in wanted {
        let fault = match found.get(&(*node, &**key)) {
            None => "is missing",
            Some(row) if (row.from, row.to) != (*from, *to) => "has other bounds",
            Some(row) if row.value != *value => "has another value",
            Some(row) if row.removed != *removed => "has another end",
            Some(_) => continue,
        };
        findings.note(|| format!("key {key:?}: its span from {from} to {to} {fault}"));
    }
    found.len() as i64
}

fn more_spans(findings: &mut Findings, count: i64) {
    if count > 0 {
        findings.note(|| format!("spans without a value that was overwritten or removed: {count}"));
    }
    if count < 0 {
        findings.note(|| format!("values that were overwritten or removed, without a span: {}", -count));
    }
}
