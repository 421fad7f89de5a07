//! The cache of heads: what this process has seen lately of sessions and shared scopes, and of small values that appends depended on.

use std::collections::HashMap;
use std::hash::Hash;
use std::mem;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::domain::ids::{ScopeKey, SessionKey, StateAddress};
use crate::domain::loaded::{Loaded, Needs, Revisions, SessionHead, StateEntry, UNREAD};
use crate::domain::session::SessionInfo;
use crate::domain::tag::Timeline;

/// Backoff: after another process overtook an optimistic append, so many batches take the slower path. Where processes
/// write the same sessions or shared scopes in turns, optimistic tries cost more than they save.
const DOUBTS: u32 = 32;

/// How many heads of sessions are cached, and how many of shared scopes; up to twice as many.
const REMEMBERED: usize = 16_384;

/// How many bytes of keys and values are cached of a session.
const MOST_VALUES: usize = 512;

/// The cache, and its backoff. It is never a source of truth: a write compares each head with the database first.
#[derive(Default)]
pub struct Remembered {
    memory: Mutex<Memory>,
    /// The cache was out of date: the next batches do not use it.
    pub cache_doubts: Doubts,
    /// An optimistic append was overtaken, or met a lock: the next batches are not optimistic.
    pub doubts: Doubts,
}

/// For how many of the next batches there is a doubt.
#[derive(Default)]
pub struct Doubts(AtomicU32);

impl Doubts {
    pub fn raise(&self) {
        self.0.store(DOUBTS, Relaxed);
    }

    /// Consumes one; whether there was one.
    pub fn take(&self) -> bool {
        self.0.fetch_update(Relaxed, Relaxed, |doubts| doubts.checked_sub(1)).is_ok()
    }
}

impl Remembered {
    /// The needed heads that are cached, with what is cached of their values, and the needed heads that are not. Where other processes write too (`concurrent`), a scope
    /// revision that an event merely records is left to the statement that writes.
    pub fn heads<'a>(&self, timeline: Timeline, needs: &Needs<'a>, concurrent: bool) -> (Loaded, Needs<'a>) {
        let memory = self.memory_of(timeline);
        let (mut heads, mut missing) = (Loaded::default(), Needs::default());
        heads.sessions.reserve(needs.sessions.len());
        for key in &needs.sessions {
            match memory.sessions.get(key) {
                Some(cached) => {
                    heads.values.extend(cached.values);
                    heads.sessions.insert((*key).clone(), cached.head);
                }
                None => drop(missing.sessions.insert(key)),
            }
        }
        missing.events.extend(needs.events.iter().filter(|(key, _)| missing.sessions.contains(key)));
        for (scope, depends) in &needs.scopes {
            let key = scope.to_key();
            match if *depends || !concurrent { memory.scopes.get(&key) } else { Some(UNREAD) } {
                // Where the state of a new user begins, above that of erased ones, is not cached.
                Some(0) if *depends && scope.user().is_some() => drop(missing.scopes.insert(*scope, true)),
                Some(revision) => heads.scopes.insert(key, revision),
                None => drop(missing.scopes.insert(*scope, true)),
            }
        }
        (heads, missing)
    }

    /// Caches the heads that an append has written, or found unchanged.
    pub fn keep(&self, heads: Loaded) {
        let mut memory = self.memory_of(heads.timeline);
        heads.sessions.into_iter().for_each(|(key, head)| memory.sessions.put(key, Cached::from(head)));
        for (address, entry) in heads.values {
            if let StateAddress::Session(key, _) = &address
                && let Some(cached) = memory.sessions.young.get_mut(key)
            {
                cached.note(address, entry);
            }
        }
        // `raise` ignores `UNREAD`.
        heads.scopes.into_iter().for_each(|(scope, revision)| memory.scopes.raise(scope, revision));
    }

    /// Caches the head of a session that was created or found.
    pub fn remember(&self, head: &SessionInfo) {
        let mut memory = self.memory_of(head.timeline);
        // It may have been found, and others may have appended since.
        let known = memory.sessions.get(&head.key).filter(|known| known.head.incarnation == head.incarnation);
        if known.as_ref().is_none_or(|known| known.head.revision <= head.revision) {
            let found = SessionHead::from(head);
            let mut cached = known.unwrap_or_else(|| Cached::from(found.clone()));
            if Revisions::from(&cached.head) != Revisions::from(&found) {
                cached.values.clear();
            }
            // Its lease was not looked at.
            cached.head = SessionHead { lease: cached.head.lease, ..found };
            memory.sessions.put(head.key.clone(), cached);
        }
        for (scope, revision) in head.key.scopes().into_iter().zip([head.user_revision, head.app_revision]) {
            memory.scopes.raise(scope.to_key(), revision);
        }
    }

    /// Evicts a session whose head this process is about to change otherwise. Changes by other processes show in the compare.
    pub fn evict_session(&self, key: &SessionKey) {
        self.memory().sessions.evict(key);
    }

    pub fn evict_scope(&self, scope: &ScopeKey) {
        self.memory().scopes.evict(scope);
    }

    pub fn evict(&self, needs: &Needs<'_>) {
        let mut memory = self.memory();
        needs.sessions.iter().for_each(|key| memory.sessions.evict(key));
        needs.scopes.keys().for_each(|scope| memory.scopes.evict(&scope.to_key()));
    }

    fn memory(&self) -> MutexGuard<'_, Memory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The cache of this timeline. On another one the same revisions may stand for other content, so all is evicted.
    fn memory_of(&self, timeline: Timeline) -> MutexGuard<'_, Memory> {
        let mut memory = self.memory();
        if memory.timeline != timeline {
            *memory = Memory { timeline, ..Memory::default() };
        }
        memory
    }
}

#[derive(Default)]
struct Memory {
    timeline: Timeline,
    sessions: Recent<SessionKey, Cached>,
    scopes: Recent<ScopeKey, i64>,
}

/// A session: its head, and values of its keys as of that.
#[derive(Clone)]
struct Cached {
    head: SessionHead,
    values: Vec<(StateAddress, StateEntry)>,
}

impl From<SessionHead> for Cached {
    fn from(head: SessionHead) -> Self {
        Self { head, values: Vec::new() }
    }
}

impl Cached {
    /// Caches a value, if it is there and small.
    fn note(&mut self, address: StateAddress, entry: StateEntry) {
        let bytes = |(address, entry): &(StateAddress, StateEntry)| {
            address.key().len() + entry.value.as_ref().map_or(0, |value| value.text().len())
        };
        let is_there = entry.value.is_some();
        self.values.push((address, entry));
        if !is_there || self.values.iter().map(bytes).sum::<usize>() > MOST_VALUES {
            self.values.pop();
        }
    }
}

/// A map that keeps at least the last [`REMEMBERED`] entries, and at most twice as many.
struct Recent<K, V> {
    young: HashMap<K, V>,
    old: HashMap<K, V>,
}

impl<K, V> Default for Recent<K, V> {
    fn default() -> Self {
        Self { young: HashMap::new(), old: HashMap::new() }
    }
}

impl<K: Eq + Hash, V: Clone> Recent<K, V> {
    fn get(&self, key: &K) -> Option<V> {
        self.young.get(key).or_else(|| self.old.get(key)).cloned()
    }

    fn put(&mut self, key: K, value: V) {
        if self.young.len() == REMEMBERED {
            self.old = mem::take(&mut self.young);
        }
        self.young.insert(key, value);
    }

    fn evict(&mut self, key: &K) {
        self.young.remove(key);
        self.old.remove(key);
    }
}

impl<K: Eq + Hash> Recent<K, i64> {
    /// Puts a revision of a shared scope, unless a later one is there: a reader may report its revision late.
    fn raise(&mut self, key: K, revision: i64) {
        if revision > self.get(&key).unwrap_or(UNREAD) {
            self.put(key, revision);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::json::RawJson;
    use crate::domain::lease::LeaseHead;
    use crate::domain::shown::Shown;
    use crate::domain::time::Micros;
    use crate::store::tests::creation;

    #[test]
    fn what_was_put_last_is_remembered_and_no_more_than_that() {
        let mut recent = Recent::default();
        for key in 0..10 * REMEMBERED {
            recent.put(key, key);
            assert_eq!(recent.get(&key), Some(key));
            assert_eq!(recent.get(&key.saturating_sub(REMEMBERED - 1)), Some(key.saturating_sub(REMEMBERED - 1)));
        }
        assert!(recent.young.len() + recent.old.len() <= 2 * REMEMBERED);
        assert_eq!(recent.get(&0), None);
    }

    #[test]
    fn what_is_forgotten_does_not_come_back() {
        let mut recent = Recent::default();
        (0..=REMEMBERED).for_each(|key| recent.put(key, 1));
        recent.put(0, 2);
        assert_eq!((recent.old.get(&0), recent.young.get(&0)), (Some(&1), Some(&2)));
        recent.evict(&0);
        assert_eq!(recent.get(&0), None);
    }

    /// When a key was removed is known only as far as it was asked for.
    #[test]
    fn only_values_that_are_there_and_small_are_remembered() {
        let address = |key: &str| StateAddress::Session(creation(Shown::Full).key, key.into());
        let mut cached = Cached::from(SessionHead {
            incarnation: 1,
            revision: 0,
            metadata_revision: 0,
            update_time: Micros(0),
            rough: false,
            expire_time: None,
            most_revision: None,
            lease: LeaseHead::default(),
        });
        for (key, value, then) in
            [("", None, 0), ("k", None, 0), ("", Some("1".to_owned()), 1), ("k", Some("2".repeat(MOST_VALUES)), 1)]
        {
            let value = value.map(RawJson::trusted);
            cached.note(address(key), StateEntry { value, revision: 1 });
            assert_eq!(cached.values.len(), then, "{key}");
        }
    }

    #[test]
    fn an_earlier_revision_takes_no_later_ones_place() {
        let mut recent = Recent::default();
        for (revision, then) in
            [(UNREAD, None), (0, Some(0)), (5, Some(5)), (4, Some(5)), (UNREAD, Some(5)), (6, Some(6))]
        {
            recent.raise("app", revision);
            assert_eq!(recent.get(&"app"), then);
        }
    }
}
