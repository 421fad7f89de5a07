//! The data that a decision needs, and the data that the store loaded for it.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::event::StoredEvent;
use super::ids::{AppName, EventId, ScopeKey, ScopeRef, SessionKey, StateAddress};
use super::json::RawJson;
use super::lease::LeaseHead;
use super::session::{SessionInfo, update_bucket};
use super::tag::{Tag, Timeline};
use super::time::Micros;

/// The data to load before a batch can be decided, in the order in which rows are locked.
#[derive(Debug, Default)]
pub struct Needs<'a> {
    /// Locked, where locks are taken.
    pub sessions: BTreeSet<&'a SessionKey>,
    /// Shared scopes, and whether the decision depends on their state. If it does, they are locked, or the write compares their
    /// revisions.
    pub scopes: BTreeMap<ScopeRef<'a>, bool>,
    /// Event ids to look up.
    pub events: BTreeSet<(&'a SessionKey, &'a EventId)>,
    /// State keys whose values matter.
    pub keys: KeyNeeds,
    /// Invocations whose first events matter.
    pub invocations: BTreeSet<(&'a SessionKey, &'a str)>,
}

impl<'a> Needs<'a> {
    /// One scope alone, on which the decision depends.
    pub fn of_scope(scope: &'a ScopeKey) -> Self {
        Self { scopes: BTreeMap::from([(scope.borrowed(), true)]), ..Self::default() }
    }

    /// The revisions of the shared scopes of a session, which may change meanwhile.
    pub fn of_revisions(session: &'a SessionKey) -> Self {
        Self { scopes: session.scopes().map(|scope| (scope, false)).into(), ..Self::default() }
    }

    /// The scopes on which the decision depends, in the order of locks.
    pub fn fixed_scopes(&self) -> impl Iterator<Item = ScopeRef<'a>> {
        self.scopes.iter().filter(|(_, depends)| **depends).map(|(scope, _)| *scope)
    }

    pub fn is_empty(&self) -> bool {
        let Self { sessions, scopes, events, keys, invocations } = self;
        sessions.is_empty() && scopes.is_empty() && events.is_empty() && keys.is_empty() && invocations.is_empty()
    }
}

/// The head of a session: decisions depend on it, and an optimistic write compares it again.
#[derive(Debug, Clone)]
pub struct SessionHead {
    pub incarnation: i64,
    pub revision: i64,
    pub metadata_revision: i64,
    pub update_time: Micros,
    /// Whether its place in the list by last update is rough. A hint: false where it was not read.
    pub rough: bool,
    /// Where the database's clock decides about expiry, this is the earliest time if the session has expired, else `None`.
    pub expire_time: Option<Micros>,
    /// The highest revision that the app's policy allows, where it was read; a write compares it.
    pub most_revision: Option<i64>,
    pub lease: LeaseHead,
}

impl SessionHead {
    pub fn is_live(&self, now: Micros) -> bool {
        self.expire_time.is_none_or(|at| at > now)
    }

    /// Whether an event of this time makes the session's place in the list by last update rough, or leaves it so. A page of the list
    /// costs as much as its rows and all rough places of some ten seconds; an exact place costs each append of the session.
    pub fn is_rough_at(&self, time: Micros) -> bool {
        // The first turn of a session is exact, and what comes as slowly as turns do.
        const FIRST: i64 = 4;
        const OFTEN_MICROS: u64 = 2_000_000;
        let stays = self.rough && update_bucket(time) == update_bucket(self.update_time);
        stays || self.revision >= FIRST && time.0.abs_diff(self.update_time.0) < OFTEN_MICROS
    }
}

/// A locked row of a session, live or expired.
#[derive(Debug, Clone)]
pub struct LockedSession {
    pub key: SessionKey,
    pub head: SessionHead,
}

/// Without lease and policy, which a [`SessionInfo`] does not have.
impl From<&SessionInfo> for SessionHead {
    fn from(head: &SessionInfo) -> Self {
        let SessionInfo { incarnation, revision, metadata_revision, expire_time, .. } = *head;
        let (update_time, lease) = (head.update_time.micros, LeaseHead::default());
        Self {
            incarnation,
            revision,
            metadata_revision,
            update_time,
            rough: false,
            expire_time,
            most_revision: None,
            lease,
        }
    }
}

/// An event that the session already has.
#[derive(Debug, Clone)]
pub struct Known {
    pub digest: [u8; 32],
    pub timestamp: Micros,
    pub event: StoredEvent,
}

/// Placeholder for a scope's revision that an event only records; the statement that writes fills it in.
pub const UNREAD: i64 = -1;

/// The revisions of a session.
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

/// Revisions of shared scopes, sorted, so that a borrowed key finds one.
#[derive(Debug, Default)]
pub struct ScopeRevisions(Vec<(ScopeKey, i64)>);

impl ScopeRevisions {
    pub fn get(&self, scope: ScopeRef<'_>) -> Option<i64> {
        self.find(scope).ok().and_then(|at| self.0.get(at)).map(|(_, revision)| *revision)
    }

    pub fn insert(&mut self, scope: ScopeKey, revision: i64) {
        match self.find(scope.borrowed()) {
            Ok(at) => self.0.get_mut(at).into_iter().for_each(|(_, known)| *known = revision),
            Err(at) => self.0.insert(at, (scope, revision)),
        }
    }

    fn find(&self, scope: ScopeRef<'_>) -> Result<usize, usize> {
        self.0.binary_search_by(|(key, _)| key.borrowed().cmp(&scope))
    }
}

impl IntoIterator for ScopeRevisions {
    type Item = (ScopeKey, i64);
    type IntoIter = std::vec::IntoIter<Self::Item>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

/// Data that the store loaded. `decide` updates it, so that each append of a batch sees those before it.
#[derive(Debug, Default)]
pub struct Loaded {
    /// The timeline on which all of this was read.
    pub timeline: Timeline,
    /// Existing sessions, expired ones included.
    pub sessions: HashMap<SessionKey, SessionHead>,
    /// Revisions of shared scopes. Absent means 0; the statement that writes fills in [`UNREAD`].
    pub scopes: ScopeRevisions,
    /// The highest revision of the users of an app that were erased. Absent means 0.
    pub erased: HashMap<AppName, i64>,
    pub known: HashMap<SessionKey, HashMap<EventId, Known>>,
    /// The needed keys, missing ones included.
    pub values: HashMap<StateAddress, StateEntry>,
    /// The first stored event of each needed invocation.
    pub invocations: HashMap<SessionKey, HashMap<String, i64>>,
}

impl Loaded {
    /// The tag of a session, if it exists.
    pub fn tag(&self, key: &SessionKey) -> Option<Tag> {
        Some(self.tag_at(key, self.sessions.get(key)?.into()))
    }

    /// The tag of a session at these revisions.
    pub fn tag_at(&self, key: &SessionKey, own: Revisions) -> Tag {
        let Revisions { incarnation, revision, metadata } = own;
        let [user, app] = key.scopes().map(|scope| self.revision(scope));
        Tag { revision, user, app, incarnation, timeline: self.timeline, metadata }
    }

    /// The revision of a shared scope; 0 if it has none.
    pub fn revision(&self, scope: ScopeRef<'_>) -> i64 {
        self.scopes.get(scope).unwrap_or(0)
    }

    /// The next revision of a shared scope after this one. A user's state never reuses a revision that an erased user had.
    pub fn revision_after(&self, scope: ScopeRef<'_>, revision: i64) -> i64 {
        let before = match scope {
            ScopeRef::User(user) if revision == 0 => self.erased.get(&user.app).copied().unwrap_or(0),
            _ => revision,
        };
        before + 1
    }

    /// Merges data that was loaded separately.
    pub fn extend(&mut self, other: Self) {
        let Self { timeline: _, sessions, scopes, erased, known, values, invocations } = other;
        self.sessions.extend(sessions);
        scopes.0.into_iter().for_each(|(scope, revision)| self.scopes.insert(scope, revision));
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::ids::{UserId, UserKey};

    #[test]
    fn the_revision_of_a_scope_is_found_however_they_were_inserted() {
        let app = |name: &str| AppName::parse(name).unwrap();
        let user = |name: &str, user: &str| UserKey { app: app(name), user: UserId::parse(user).unwrap() };
        let keys = [
            ScopeKey::App(app("b")),
            ScopeKey::User(user("b", "u")),
            ScopeKey::App(app("a")),
            ScopeKey::User(user("a", "v")),
            ScopeKey::User(user("a", "u")),
        ];
        let mut revisions = ScopeRevisions::default();
        for (revision, key) in (1..).zip(&keys) {
            assert_eq!(revisions.get(key.borrowed()), None);
            revisions.insert(key.clone(), 0);
            revisions.insert(key.clone(), revision);
        }
        assert_eq!(
            keys.each_ref().map(|key| revisions.get(key.borrowed())),
            [Some(1), Some(2), Some(3), Some(4), Some(5)]
        );
        assert_eq!(revisions.into_iter().count(), 5);
    }
}
