//! What a decision changes: the rows that the store writes.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use super::event::NewEvent;
use super::ids::{AppName, ScopeKey, SessionKey, UserKey};
use super::json::RawJson;
use super::loaded::SessionHead;
use super::time::{Micros, Timestamp};

/// A row of the event log.
#[derive(Debug)]
pub struct EventWrite<'a> {
    pub key: &'a SessionKey,
    pub incarnation: i64,
    pub sequence: i64,
    /// Revisions of the shared scopes after this transaction's changes: what the event saw.
    pub user_revision: i64,
    pub app_revision: i64,
    pub commit_time: Micros,
    /// The last event before those that this one takes back.
    pub rewind_to: Option<i64>,
    pub event: &'a NewEvent,
    pub body: Arc<str>,
}

/// The row of a session after the batch.
#[derive(Debug)]
pub struct SessionUpdate<'a> {
    pub revision: i64,
    pub update_time: &'a Timestamp,
    /// The session's head before the batch; `None` if the batch creates it.
    pub was: Option<SessionHead>,
    /// The epoch that an append of the batch names: it must still be the present one, and its lease is extended.
    pub lease: Option<i64>,
    /// An append of the batch names no lease, so none may exclude it.
    pub side: bool,
    /// When the last of them arrived: the time of the write, where the database has no clock of its own.
    pub now: Micros,
}

/// The revision of a shared scope before and after the batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScopeUpdate {
    pub was: i64,
    pub revision: i64,
}

/// A state row after the batch.
#[derive(Debug, Clone)]
pub struct StateWrite<'a> {
    /// `None` if it is removed.
    pub value: Option<Cow<'a, RawJson>>,
    /// The revision that replaced the value from before the batch.
    pub first: i64,
    /// The revision that wrote it last.
    pub revision: i64,
}

/// A value that a batch wrote and then replaced: it held from `from` up to, not including, `to`.
#[derive(Debug, Clone)]
pub struct Passed<'a, K> {
    pub key: K,
    pub from: i64,
    pub to: i64,
    pub value: Option<Cow<'a, RawJson>>,
}

/// The state rows of one scope that a batch changes, each once, in key order, and the values that did not outlast it.
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
    pub fn write(&mut self, key: K, value: Option<Cow<'a, RawJson>>, revision: i64) {
        let mut first = revision;
        if let Some(before) = self.rows.remove(&key) {
            first = before.first;
            // Of two writes at one revision the first was never visible.
            if before.revision < revision {
                let passed = Passed { key: key.clone(), from: before.revision, to: revision, value: before.value };
                self.passed.push(passed);
            }
        }
        self.rows.insert(key, StateWrite { value, first, revision });
    }
}

/// A part of what one transaction committed, for those who wait for it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Committed {
    /// Events of one session: the sequences from `first` to `last`.
    Events { key: SessionKey, incarnation: i64, first: i64, last: i64 },
    /// Something else of a session: its metadata, its lease, or that it is gone.
    Session(SessionKey),
    /// State of an app or a user, which is at this revision now.
    Scope(ScopeKey, i64),
}

/// Everything that a batch changes, each row once, in key order.
#[derive(Debug, Default)]
pub struct Writes<'a> {
    pub events: Vec<EventWrite<'a>>,
    pub sessions: BTreeMap<&'a SessionKey, SessionUpdate<'a>>,
    pub users: BTreeMap<&'a UserKey, ScopeUpdate>,
    pub apps: BTreeMap<&'a AppName, ScopeUpdate>,
    /// By session, incarnation and key.
    pub session_state: StateWrites<'a, (&'a SessionKey, i64, &'a str)>,
    pub user_state: StateWrites<'a, (&'a UserKey, &'a str)>,
    pub app_state: StateWrites<'a, (&'a AppName, &'a str)>,
}

impl Writes<'_> {
    /// What it commits: the events by session, in the order of their sequences, and the shared scopes that it changes.
    pub fn committed(&self) -> Vec<Committed> {
        let mut committed: Vec<Committed> = Vec::new();
        let mut places: HashMap<&SessionKey, usize> = HashMap::new();
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
        let users = self.users.iter().map(|(key, update)| (ScopeKey::User((*key).clone()), update));
        let apps = self.apps.iter().map(|(key, update)| (ScopeKey::App((*key).clone()), update));
        let changed = users.chain(apps).filter(|(_, update)| update.revision != update.was);
        committed.extend(changed.map(|(key, update)| Committed::Scope(key, update.revision)));
        committed
    }

    pub fn is_empty(&self) -> bool {
        self.events.is_empty() && self.users.is_empty() && self.apps.is_empty()
    }
}
