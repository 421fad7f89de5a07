//! The rows that a decision writes.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use super::erasure::Subject;
use super::event::NewEvent;
use super::feed::ChangeKind;
use super::ids::{AppName, ArtifactName, ScopeKey, ScopeRef, SessionId, SessionKey, UserId, UserKey};
use super::json::{ObjectText, RawJson};
use super::loaded::SessionHead;
use super::session::{source_object, update_bucket};
use super::time::{Micros, Timestamp};
use super::word::words;

/// A row of the event log.
#[derive(Debug)]
pub struct EventWrite<'a> {
    pub key: &'a SessionKey,
    pub incarnation: i64,
    pub sequence: i64,
    /// The revisions of the shared scopes that the event saw: after this transaction's changes.
    pub user_revision: i64,
    pub app_revision: i64,
    pub commit_time: Micros,
    /// The last event before those that this one takes back, or [`COMPACTION`](super::effective::COMPACTION).
    pub effect: Option<i64>,
    pub event: &'a NewEvent,
    pub body: Arc<str>,
}

/// The row of a session after the batch.
#[derive(Debug)]
pub struct SessionUpdate<'a> {
    pub revision: i64,
    pub update_time: &'a Timestamp,
    /// Whether its place in the list by last update is rough.
    pub rough: bool,
    /// The session's head before the batch; `None` if the batch creates it.
    pub was: Option<SessionHead>,
    /// The lease's epoch that an append of the batch names. It must still be the present one, and the lease is extended.
    pub lease: Option<i64>,
    /// An append of the batch names no lease, so none may exclude it.
    pub side: bool,
    /// When the last append arrived: the time of the write, where the database has no clock.
    pub now: Micros,
}

impl SessionUpdate<'_> {
    /// Its place in the list by last update, and whether that is rough; `None` if it stays where it is, or the batch creates it.
    pub fn move_in_list(&self) -> Option<(bool, i64)> {
        let place = |rough, time| (rough, if rough { update_bucket(time) } else { time.0 });
        let was = self.was.as_ref()?;
        let now = place(self.rough, self.update_time.micros);
        (now != place(was.rough, was.update_time)).then_some(now)
    }
}

/// The revision of a shared scope before and after the batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScopeUpdate {
    pub was: i64,
    /// The first new revision of the batch.
    pub first: i64,
    pub revision: i64,
}

/// An event that changes shared state, by its session's incarnation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventRef {
    pub incarnation: i64,
    pub sequence: i64,
}

/// A state row after the batch.
#[derive(Debug, Clone)]
pub struct StateWrite<'a> {
    /// `None` if it is removed.
    pub value: Option<Cow<'a, RawJson>>,
    /// The event that writes it, of shared state that one does.
    pub by: Option<EventRef>,
    /// The revision that replaced the value before the batch, and whether it removed it.
    pub first: i64,
    pub first_removes: bool,
    /// The revision that wrote it last.
    pub revision: i64,
}

/// A value that a batch wrote and then replaced or removed: it was current from `from` up to, not including, `to`.
#[derive(Debug, Clone)]
pub struct Passed<'a, K> {
    pub key: K,
    pub from: i64,
    pub to: i64,
    pub removed: bool,
    pub value: Option<Cow<'a, RawJson>>,
    pub by: Option<EventRef>,
}

/// The state rows that a batch changes, each once, in key order, and the values that did not outlast it.
#[derive(Debug)]
pub struct StateWrites<'a, K> {
    pub rows: BTreeMap<K, StateWrite<'a>>,
    pub passed: Vec<Passed<'a, K>>,
}

impl<K> Default for StateWrites<'_, K> {
    fn default() -> Self {
        Self { rows: BTreeMap::new(), passed: Vec::new() }
    }
}

impl<'a, K: Ord + Clone> StateWrites<'a, K> {
    /// Sets a key, or removes it, at a revision.
    pub fn write(&mut self, key: K, value: Option<Cow<'a, RawJson>>, revision: i64, by: Option<EventRef>) {
        let removed = value.is_none();
        let (mut first, mut first_removes) = (revision, removed);
        if let Some(before) = self.rows.remove(&key) {
            // If both have the same revision, the first value was never visible.
            if before.revision < revision {
                (first, first_removes) = (before.first, before.first_removes);
                let StateWrite { value, by, revision: from, .. } = before;
                self.passed.push(Passed { key: key.clone(), from, to: revision, removed, value, by });
            } else {
                first = before.first;
            }
        }
        self.rows.insert(key, StateWrite { value, by, first, first_removes, revision });
    }
}

/// A part of a commit, for subscribers and for the change feed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Committed {
    /// Events of one session: the sequences from `first` to `last`.
    Events { key: SessionKey, incarnation: i64, first: i64, last: i64 },
    /// Another change of a session.
    Session { key: SessionKey, incarnation: i64, change: SessionChange },
    /// State of an app or a user: the revisions from `first` to `last`.
    Scope { key: ScopeKey, first: i64, last: i64 },
    /// A change of an artifact of a session, with its incarnation, or of a user.
    Artifact { user: UserKey, session: Option<(SessionId, i64)>, name: ArtifactName, change: ArtifactChange },
    /// A user was erased. Each of the sessions has an entry of its own.
    Erased { app: AppName, subject: Subject, erasure: String },
}

/// What happened to a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SessionChange {
    /// With events up to this revision, which have an entry of their own; for a fork with its source.
    Created {
        revision: i64,
        forked_from: Option<(SessionId, i64)>,
    },
    /// Its new metadata, as a JSON object.
    Updated(String),
    /// Its log begins after this revision.
    Trimmed(i64),
    /// The event of this sequence was redacted.
    Redacted(i64),
    Deleted(Removal),
    /// Its lease changed, which the feed does not show.
    Leased,
}

/// What happened to an artifact. Versions that come or go with their session are not told one by one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ArtifactChange {
    /// A version is there, of so many bytes; an address has none.
    Saved {
        version: i64,
        size: Option<i64>,
    },
    /// A version was deleted.
    Deleted {
        version: i64,
        size: Option<i64>,
    },
    AllDeleted,
    /// A policy removed all versions up to this one.
    Outdated {
        through: i64,
    },
    /// A rewind took the artifact back: this version, the latest, is nothing.
    Rewound {
        version: i64,
    },
}

impl ArtifactChange {
    /// Why it was deleted, beside those of [`Removal`].
    pub const REWOUND: &'static str = "rewound";

    fn kind(self) -> ChangeKind {
        match self {
            Self::Saved { .. } => ChangeKind::ArtifactSaved,
            Self::Deleted { .. } | Self::AllDeleted | Self::Outdated { .. } | Self::Rewound { .. } => {
                ChangeKind::ArtifactDeleted
            }
        }
    }

    /// As the feed shows it.
    fn to_object(self, name: &ArtifactName) -> String {
        let mut object = ObjectText::default();
        object.push_str("name", name.as_str());
        let (version, through, size, reason) = match self {
            Self::Saved { version, size } => (Some(version), None, size, None),
            Self::Deleted { version, size } => (Some(version), None, size, Some(Removal::Deleted.as_str())),
            Self::AllDeleted => (None, None, None, Some(Removal::Deleted.as_str())),
            Self::Outdated { through } => (None, Some(through), None, Some(Removal::Retention.as_str())),
            Self::Rewound { version } => (Some(version), None, None, Some(Self::REWOUND)),
        };
        for (name, number) in [("version", version), ("throughVersion", through), ("size", size)] {
            object.push_some(name, number.map(|number| number.to_string()));
        }
        object.push_some_str("reason", reason);
        object.close()
    }
}

words! {
    /// Why a session was removed.
    pub enum Removal {
        Deleted = "deleted",
        Expired = "expired",
        /// By a policy.
        Retention = "retention",
        Erased = "erased",
    }
}

/// A row of the feed's table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChangeRow<'a> {
    pub kind: ChangeKind,
    pub app: &'a AppName,
    pub user: Option<&'a UserId>,
    /// The session and its incarnation.
    pub session: Option<(&'a SessionId, i64)>,
    pub first: i64,
    pub last: i64,
    /// For a fork its source, for an update the metadata, for a deletion the reason, for an erasure its id and subject, for an artifact
    /// what happened to it.
    pub detail: Option<Cow<'a, str>>,
}

impl<'a> ChangeRow<'a> {
    fn of(kind: ChangeKind, key: &'a SessionKey, incarnation: i64) -> Self {
        let (user, session) = (Some(&key.user.user), Some((&key.session, incarnation)));
        Self { kind, app: key.app(), user, session, first: 0, last: 0, detail: None }
    }
}

impl Committed {
    /// Its row in the feed, if the feed shows it.
    pub fn row(&self) -> Option<ChangeRow<'_>> {
        Some(match self {
            Self::Events { key, incarnation, first, last } => {
                ChangeRow { first: *first, last: *last, ..ChangeRow::of(ChangeKind::Events, key, *incarnation) }
            }
            Self::Session { key, incarnation, change } => {
                let (kind, first, last, detail) = match change {
                    SessionChange::Created { revision, forked_from } => {
                        let source = forked_from.as_ref().map(source_object).map(Cow::Owned);
                        (ChangeKind::SessionCreated, 0, *revision, source)
                    }
                    SessionChange::Updated(metadata) => {
                        (ChangeKind::SessionUpdated, 0, 0, Some(Cow::Borrowed(&**metadata)))
                    }
                    SessionChange::Trimmed(base) => (ChangeKind::SessionTrimmed, 0, *base, None),
                    SessionChange::Redacted(sequence) => (ChangeKind::EventRedacted, *sequence, *sequence, None),
                    // The erasure has a row of its own, and nothing may name the user.
                    SessionChange::Leased | SessionChange::Deleted(Removal::Erased) => return None,
                    SessionChange::Deleted(removal) => {
                        (ChangeKind::SessionDeleted, 0, 0, Some(Cow::Borrowed(removal.as_str())))
                    }
                };
                ChangeRow { first, last, detail, ..ChangeRow::of(kind, key, *incarnation) }
            }
            Self::Scope { key, first, last } => {
                let (kind, app, user) = match key {
                    ScopeKey::User(key) => (ChangeKind::UserState, &key.app, Some(&key.user)),
                    ScopeKey::App(app) => (ChangeKind::AppState, app, None),
                };
                ChangeRow { kind, app, user, session: None, first: *first, last: *last, detail: None }
            }
            Self::Artifact { user, session, name, change } => ChangeRow {
                kind: change.kind(),
                app: &user.app,
                user: Some(&user.user),
                session: session.as_ref().map(|(session, incarnation)| (session, *incarnation)),
                first: 0,
                last: 0,
                detail: Some(Cow::Owned(change.to_object(name))),
            },
            Self::Erased { app, subject, erasure } => {
                let mut detail = ObjectText::default();
                detail.push_str("erasureId", erasure);
                detail.push_str("subject", &subject.to_hex());
                let detail = Some(Cow::Owned(detail.close()));
                ChangeRow { kind: ChangeKind::UserErased, app, user: None, session: None, first: 0, last: 0, detail }
            }
        })
    }
}

/// Everything that a batch changes, each row once, in key order.
#[derive(Debug, Default)]
pub struct Writes<'a> {
    pub events: Vec<EventWrite<'a>>,
    pub sessions: BTreeMap<&'a SessionKey, SessionUpdate<'a>>,
    pub scopes: BTreeMap<ScopeRef<'a>, ScopeUpdate>,
    /// By session, incarnation and key.
    pub session_state: StateWrites<'a, (&'a SessionKey, i64, &'a str)>,
    pub shared_state: StateWrites<'a, (ScopeRef<'a>, &'a str)>,
}

impl Writes<'_> {
    /// Its commit: the events by session, in the order of their sequences, and the changed shared scopes.
    pub fn committed(&self) -> Vec<Committed> {
        let mut committed: Vec<Committed> = Vec::with_capacity(self.events.len());
        let mut places: HashMap<&SessionKey, usize> = HashMap::with_capacity(self.events.len());
        for event in &self.events {
            match places.get(event.key).and_then(|at| committed.get_mut(*at)) {
                Some(Committed::Events { last, .. }) => *last = event.sequence,
                _ => {
                    places.insert(event.key, committed.len());
                    let (key, first) = (event.key.clone(), event.sequence);
                    committed.push(Committed::Events { key, incarnation: event.incarnation, first, last: first });
                }
            }
        }
        let changed = self.scopes.iter().filter(|(_, update)| update.revision != update.was);
        committed.extend(changed.map(|(scope, update)| Committed::Scope {
            key: scope.to_key(),
            first: update.first,
            last: update.revision,
        }));
        committed
    }

    pub fn is_empty(&self) -> bool {
        self.events.is_empty() && self.scopes.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_of_an_artifact_has_its_name_and_what_happened() {
        let user = UserKey { app: AppName::parse("app").unwrap(), user: UserId::parse("user").unwrap() };
        for (session, change, kind, detail) in [
            (true, ArtifactChange::Saved { version: 3, size: Some(7) }, "saved", r#""version":3,"size":7"#),
            (false, ArtifactChange::Saved { version: 0, size: None }, "saved", r#""version":0"#),
            (
                true,
                ArtifactChange::Deleted { version: 3, size: Some(0) },
                "deleted",
                r#""version":3,"size":0,"reason":"deleted""#,
            ),
            (true, ArtifactChange::AllDeleted, "deleted", r#""reason":"deleted""#),
            (false, ArtifactChange::Outdated { through: 2 }, "deleted", r#""throughVersion":2,"reason":"retention""#),
            (true, ArtifactChange::Rewound { version: 4 }, "deleted", r#""version":4,"reason":"rewound""#),
        ] {
            let session = session.then(|| (SessionId::parse("s").unwrap(), 5));
            let name = ArtifactName::parse("a\"b").unwrap();
            let told = Committed::Artifact { user: user.clone(), session: session.clone(), name, change };
            let row = told.row().unwrap();
            assert_eq!(row.kind.as_str(), format!("artifact.{kind}"));
            assert_eq!(row.detail.as_deref(), Some(&*format!(r#"{{"name":"a\"b",{detail}}}"#)));
            assert_eq!((row.app, row.user), (&user.app, Some(&user.user)));
            assert_eq!(row.session, session.as_ref().map(|(session, incarnation)| (session, *incarnation)));
        }
    }
}
