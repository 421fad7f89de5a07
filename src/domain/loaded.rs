//! What a decision needs, and what the store has loaded for it.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::event::StoredEvent;
use super::ids::{AppName, EventId, SessionKey, StateAddress, UserKey};
use super::json::RawJson;
use super::lease::LeaseHead;
use super::session::SessionInfo;
use super::tag::{Tag, Timeline};
use super::time::Micros;

/// What must be loaded before a batch can be decided, in the order in which rows are locked.
#[derive(Debug, Default)]
pub struct Needs<'a> {
    /// Locked, where locks are taken.
    pub sessions: BTreeSet<&'a SessionKey>,
    /// Scope rows, and whether they are held: locked, or compared by the write.
    pub users: BTreeMap<&'a UserKey, bool>,
    pub apps: BTreeMap<&'a AppName, bool>,
    /// Event ids to look up.
    pub events: BTreeSet<(&'a SessionKey, &'a EventId)>,
    /// State keys whose values matter.
    pub keys: KeyNeeds,
    /// Invocations whose first events matter.
    pub invocations: BTreeSet<(&'a SessionKey, &'a str)>,
}

impl Needs<'_> {
    pub fn is_empty(&self) -> bool {
        let Self { sessions, users, apps, events, keys, invocations } = self;
        sessions.is_empty()
            && users.is_empty()
            && apps.is_empty()
            && events.is_empty()
            && keys.is_empty()
            && invocations.is_empty()
    }
}

/// The head of a session: what a decision depends on, and an optimistic write compares again.
#[derive(Debug, Clone)]
pub struct SessionHead {
    pub incarnation: i64,
    pub revision: i64,
    pub metadata_revision: i64,
    pub update_time: Micros,
    /// Where the database's clock decides about expiry: the earliest time if the session has expired, else `None`.
    pub expire_time: Option<Micros>,
    /// The last revision that the app's policy allows, where it is looked at; a write compares it.
    pub most_revision: Option<i64>,
    pub lease: LeaseHead,
}

impl SessionHead {
    pub fn is_live(&self, now: Micros) -> bool {
        self.expire_time.is_none_or(|at| at > now)
    }
}

/// A locked row of a session, live or expired.
#[derive(Debug, Clone)]
pub struct LockedSession {
    pub key: SessionKey,
    pub head: SessionHead,
}

/// As of a session that never had a lease, of an app without a policy, of which the other says nothing.
impl From<&SessionInfo> for SessionHead {
    fn from(head: &SessionInfo) -> Self {
        let SessionInfo { incarnation, revision, metadata_revision, expire_time, .. } = *head;
        let (update_time, lease) = (head.update_time.micros, LeaseHead::default());
        Self { incarnation, revision, metadata_revision, update_time, expire_time, most_revision: None, lease }
    }
}

/// An event that the session already has.
#[derive(Debug, Clone)]
pub struct Known {
    pub digest: [u8; 32],
    pub timestamp: Micros,
    pub event: StoredEvent,
}

/// Placeholder for a scope revision that an event merely records; the statement that writes fills it in.
pub const UNREAD: i64 = -1;

/// How far a session is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Revisions {
    pub incarnation: i64,
    pub revision: i64,
    pub metadata: i64,
}

impl From<&SessionHead> for Revisions {
    fn from(head: &SessionHead) -> Self {
        Self { incarnation: head.incarnation, revision: head.revision, metadata: head.metadata_revision }
    }
}

/// What the store loaded. `decide` carries it forward, so that each append of a batch sees those before it.
#[derive(Debug, Default)]
pub struct Loaded {
    /// The timeline on which all of this was read.
    pub timeline: Timeline,
    /// Sessions that exist, expired ones included.
    pub sessions: HashMap<SessionKey, SessionHead>,
    /// Revisions of shared scopes. Absent means 0; [`UNREAD`] is filled in by the statement that writes.
    pub users: HashMap<UserKey, i64>,
    pub apps: HashMap<AppName, i64>,
    /// Where the state of users begins whose state has no revision: above this. Absent means 0.
    pub erased: HashMap<AppName, i64>,
    pub known: HashMap<SessionKey, HashMap<EventId, Known>>,
    /// The needed keys, those that do not exist included.
    pub values: HashMap<StateAddress, StateEntry>,
    /// The first stored event of each needed invocation.
    pub invocations: HashMap<SessionKey, HashMap<String, i64>>,
}

impl Loaded {
    /// The moment of a session, if it is there.
    pub fn tag(&self, key: &SessionKey) -> Option<Tag> {
        let head = self.sessions.get(key)?;
        Some(Tag {
            revision: head.revision,
            user: self.users.get(&key.user).copied().unwrap_or(0),
            app: self.apps.get(key.app()).copied().unwrap_or(0),
            incarnation: head.incarnation,
            timeline: self.timeline,
            metadata: head.metadata_revision,
        })
    }

    /// The revision of user state after this one. No state of a user has a number again that an erased one had.
    pub fn user_revision_after(&self, app: &AppName, revision: i64) -> i64 {
        let before = if revision == 0 { self.erased.get(app).copied().unwrap_or(0) } else { revision };
        before + 1
    }

    /// Merges what was loaded separately.
    pub fn extend(&mut self, other: Self) {
        let Self { timeline: _, sessions, users, apps, erased, known, values, invocations } = other;
        self.sessions.extend(sessions);
        self.users.extend(users);
        self.apps.extend(apps);
        self.erased.extend(erased);
        self.known.extend(known);
        self.values.extend(values);
        self.invocations.extend(invocations);
    }
}

/// State keys to be loaded. With a revision, a later removal of the key matters, too.
pub type KeyNeeds = BTreeMap<StateAddress, Option<i64>>;

/// Adds a key to what must be loaded.
pub fn need_key(needs: &mut KeyNeeds, address: StateAddress, since: Option<i64>) {
    let known = needs.entry(address).or_default();
    *known = match (*known, since) {
        (Some(a), Some(b)) => Some(a.min(b)),
        (a, b) => a.or(b),
    };
}

/// A state key as loaded: its value, if it exists, and the revision (of its session or scope) that last set or removed it.
/// For a missing key the revision is known only as far as [`KeyNeeds`] asked for it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct StateEntry {
    pub value: Option<RawJson>,
    pub revision: i64,
}
