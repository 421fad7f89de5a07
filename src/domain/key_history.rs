//! The past of a state key: its changes, and who made them.

use super::ids::{AppName, EventId, ScopeKey, SessionId, SessionKey, UserId};
use super::json::{ObjectText, RawJson};
use super::time::Micros;

/// Whose key it is.
#[derive(Debug, Clone)]
pub enum KeyOwner {
    Session(SessionKey),
    /// User or app state, perhaps asked for by way of a session, which must be there.
    Shared {
        scope: ScopeKey,
        session: Option<SessionKey>,
    },
}

impl KeyOwner {
    pub fn app(&self) -> &AppName {
        match self {
            Self::Session(session) => session.app(),
            Self::Shared { scope, .. } => scope.app(),
        }
    }

    pub fn session(&self) -> Option<&SessionKey> {
        match self {
            Self::Session(session) => Some(session),
            Self::Shared { session, .. } => session.as_ref(),
        }
    }
}

/// The query for a page of the changes of one key.
#[derive(Debug, Clone)]
pub struct KeyHistoryQuery {
    pub owner: KeyOwner,
    /// Without prefix.
    pub key: String,
    /// The revision of the last change of the page before.
    pub after: Option<i64>,
    pub descending: bool,
    pub now: Micros,
    pub max_rows: usize,
    pub max_bytes: usize,
}

impl KeyHistoryQuery {
    /// The bounds of the revisions to be shown, both exclusive.
    pub fn bounds(&self) -> (i64, i64) {
        match self.after {
            Some(after) if self.descending => (-1, after),
            Some(after) => (after, i64::MAX),
            None => (-1, i64::MAX),
        }
    }

    fn shows(&self, revision: i64) -> bool {
        let (low, high) = self.bounds();
        low < revision && revision < high
    }
}

/// A page of the changes of one key.
#[derive(Debug, Default)]
pub struct KeyHistory {
    /// The mark of the session by way of which it was asked for, or 0.
    pub mark: i64,
    pub changes: Vec<KeyChange>,
    /// There are more, after the last one here.
    pub more: bool,
}

impl KeyHistory {
    /// A page of changes in the order asked for, of which `more` says whether they are all.
    pub fn of(mark: i64, mut changes: Vec<KeyChange>, more: bool, max_rows: usize) -> Self {
        let more = more || changes.len() > max_rows;
        changes.truncate(max_rows);
        Self { mark, changes, more }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct KeyChange {
    /// Of the session, or of the scope.
    pub revision: i64,
    pub time: Micros,
    /// `None`: the key was removed.
    pub value: Option<RawJson>,
    /// The key had this value where its known past begins.
    pub is_base: bool,
    pub by: Option<MadeBy>,
}

/// The event that made a change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MadeBy {
    pub user: UserId,
    pub session: SessionId,
    pub event: EventId,
    pub sequence: i64,
    pub author: String,
    /// May be empty.
    pub invocation_id: String,
}

impl MadeBy {
    pub fn to_object(&self) -> String {
        let mut by = ObjectText::default();
        by.push_str("userId", self.user.as_str());
        by.push_str("sessionId", self.session.as_str());
        by.push_str("eventId", self.event.as_str());
        by.push("sequence", &self.sequence.to_string());
        by.push_str("author", &self.author);
        if !self.invocation_id.is_empty() {
            by.push_str("invocationId", &self.invocation_id);
        }
        by.close()
    }
}

impl KeyChange {
    /// Without who made it, if that is not `shown`.
    pub fn to_object(&self, shown: impl Fn(&MadeBy) -> bool) -> String {
        let mut change = ObjectText::default();
        change.push("revision", &self.revision.to_string());
        change.push("time", &self.time.to_number());
        match &self.value {
            Some(value) => change.push("value", value.text()),
            None => change.push("removed", "true"),
        }
        if self.is_base {
            change.push("base", "true");
        }
        change.push_some("by", self.by.as_ref().filter(|by| shown(by)).map(|by| by.to_object()));
        change.close()
    }
}

/// A value that a session's key had.
#[derive(Debug, Clone)]
pub struct Held {
    pub from: i64,
    /// The revision that ended it; `None` if it is the present one.
    pub to: Option<i64>,
    pub value: RawJson,
    /// What ended it was another value.
    pub is_replaced: bool,
}

/// The changes that the values of a session's key show, in the order asked for: the revision, and the value or, of a removal, `None`.
/// The one of the base is what the key had there.
pub fn changes_of(rows: Vec<Held>, base: i64, query: &KeyHistoryQuery) -> Vec<(i64, Option<RawJson>)> {
    let changes = rows.into_iter().flat_map(|held| {
        let removed = held.to.filter(|_| !held.is_replaced).map(|to| (to, None));
        let set = Some((held.from.max(base), Some(held.value)));
        if query.descending { [removed, set] } else { [set, removed] }
    });
    changes.flatten().filter(|(revision, _)| query.shows(*revision)).collect()
}
