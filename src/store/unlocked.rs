//! Appends without locks: decided on heads that were read or remembered, which are compared before anything is written.
//! Where nobody else writes the same sessions and scopes, nothing has to be asked.
//!
//! Why nothing is lost: the heads are locked as they are compared (on SQLite the whole file is), and nothing is written if
//! one is no more what was decided on. So whatever is written follows from what is there, however old the memory is. What
//! is not compared may not matter to the decision; an append that is not simply appended is decided on what is there, never
//! on memory.

use std::collections::{BTreeMap, HashMap};
use std::hash::Hash;
use std::mem;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::time::{Instant, timeout_at};

use super::transactions::{Backend, COMMIT_GRACE, Transactions, Tx, Verdict, load_keys, out_of_time};
use super::{Judged, StoreError};
use crate::domain::append::{Append, Done, Outcome, decide, needs};
use crate::domain::command::AppendOutcome;
use crate::domain::ids::{AppName, ScopeKey, SessionKey, UserKey};
use crate::domain::loaded::{Heads, Locked, Needs, UNREAD};
use crate::domain::session::Head;
use crate::domain::tag::Timeline;
use crate::domain::writes::{ScopeUpdate, Writes};

type Result<T> = std::result::Result<T, StoreError>;

/// After a try in which another process came first, so many go the slower way: where processes write the same sessions or
/// shared scopes in turns, trying costs more than it saves.
const DOUBTS: u32 = 32;

/// Of sessions, users and apps: the heads of so many, and up to twice as many, are remembered.
const REMEMBERED: usize = 16_384;

#[derive(Default)]
pub struct Unlocked {
    memory: Mutex<Memory>,
    /// How many of the next batches are not to be decided on memory, and how many not without locks.
    memory_doubts: AtomicU32,
    doubts: AtomicU32,
}

impl Unlocked {
    fn memory(&self) -> MutexGuard<'_, Memory> {
        self.memory.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is remembered of this timeline. On another one the same revisions may stand for other content, so all is forgotten.
    fn memory_of(&self, timeline: Timeline) -> MutexGuard<'_, Memory> {
        let mut memory = self.memory();
        if memory.timeline != timeline {
            *memory = Memory { timeline, ..Memory::default() };
        }
        memory
    }

    pub fn remember(&self, head: &Head) {
        let mut memory = self.memory_of(head.timeline);
        // It may have been found, and others may have appended since.
        let is_later = |known: Locked| known.incarnation == head.incarnation && known.revision > head.revision;
        if !memory.sessions.get(&head.key).is_some_and(is_later) {
            memory.sessions.put(head.key.clone(), head.into());
        }
        memory.users.raise(head.key.user.clone(), head.user_revision);
        memory.apps.raise(head.key.app().clone(), head.app_revision);
    }

    /// Forgets a session whose head this process changes in another way; what others change is found out.
    pub fn forget_session(&self, key: &SessionKey) {
        self.memory().sessions.forget(key);
    }

    pub fn forget_scope(&self, scope: &ScopeKey) {
        match scope {
            ScopeKey::User(key) => self.memory().users.forget(key),
            ScopeKey::App(key) => self.memory().apps.forget(key),
        }
    }

    pub fn forget(&self, needs: &Needs<'_>) {
        let mut memory = self.memory();
        needs.sessions.iter().for_each(|key| memory.sessions.forget(key));
        needs.users.keys().for_each(|key| memory.users.forget(key));
        needs.apps.keys().for_each(|key| memory.apps.forget(key));
    }
}

/// One less, if there are any.
fn has_doubts(doubts: &AtomicU32) -> bool {
    doubts.fetch_update(Relaxed, Relaxed, |doubts| doubts.checked_sub(1)).is_ok()
}

/// The heads that this process has seen lately.
#[derive(Default)]
struct Memory {
    timeline: Timeline,
    sessions: Recent<SessionKey, Locked>,
    users: Recent<UserKey, i64>,
    apps: Recent<AppName, i64>,
}

impl Memory {
    /// What is remembered of what decides, and what is not. Where others write too, what an event only notes is left to
    /// the statement.
    fn heads<'a>(&self, needs: &Needs<'a>, shared: bool) -> (Heads, Needs<'a>) {
        let (mut heads, mut missing) = (Heads::default(), Needs::default());
        for key in &needs.sessions {
            match self.sessions.get(key) {
                Some(head) => drop(heads.sessions.insert((*key).clone(), head)),
                None => drop(missing.sessions.insert(key)),
            }
        }
        missing.events.extend(needs.events.iter().filter(|(key, _)| missing.sessions.contains(key)));
        recall(&self.users, &needs.users, shared, &mut heads.users, &mut missing.users);
        recall(&self.apps, &needs.apps, shared, &mut heads.apps, &mut missing.apps);
        (heads, missing)
    }

    fn keep(&mut self, heads: Heads) {
        heads.sessions.into_iter().for_each(|(key, head)| self.sessions.put(key, head));
        // Of `UNREAD`, nothing comes.
        heads.users.into_iter().for_each(|(key, revision)| self.users.raise(key, revision));
        heads.apps.into_iter().for_each(|(key, revision)| self.apps.raise(key, revision));
    }
}

fn recall<'a, K: Ord + Eq + Hash + Clone>(
    memory: &Recent<K, i64>,
    needs: &BTreeMap<&'a K, bool>,
    shared: bool,
    heads: &mut HashMap<K, i64>,
    missing: &mut BTreeMap<&'a K, bool>,
) {
    for (key, held) in needs {
        match if *held || !shared { memory.get(key) } else { Some(UNREAD) } {
            Some(revision) => drop(heads.insert((*key).clone(), revision)),
            None => drop(missing.insert(key, true)),
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

impl<K: Eq + Hash, V: Copy> Recent<K, V> {
    fn get(&self, key: &K) -> Option<V> {
        self.young.get(key).or_else(|| self.old.get(key)).copied()
    }

    fn put(&mut self, key: K, value: V) {
        if self.young.len() == REMEMBERED {
            self.old = mem::take(&mut self.young);
        }
        self.young.insert(key, value);
    }

    fn forget(&mut self, key: &K) {
        self.young.remove(key);
        self.old.remove(key);
    }
}

impl<K: Eq + Hash> Recent<K, i64> {
    /// Puts a revision of a shared scope, unless a later one is there: who only read it may tell late what it was.
    fn raise(&mut self, key: K, revision: i64) {
        if revision > self.get(&key).unwrap_or(UNREAD) {
            self.put(key, revision);
        }
    }
}

/// What became of a try.
enum Try {
    Done(Vec<Outcome>),
    /// Whether it was committed is open.
    Unclear(Vec<Outcome>, StoreError),
    /// Another process came first; nothing happened.
    Overtaken,
    /// Another process has something locked; nothing happened.
    Locked,
    /// It has to be decided in a surer way.
    Unsure,
}

impl<B: Backend> Transactions<B> {
    /// Appends without locks; `None` if that is not to be tried, or was in vain: nothing happened then.
    ///
    /// # Errors
    /// As [`Store::append`](super::Store::append).
    pub(super) async fn append_unlocked(
        &self,
        batch: &[Arc<Append>],
        deadline: Instant,
    ) -> Result<Option<Vec<Judged>>> {
        if !self.backend.is_optimistic() {
            return Ok(None);
        }
        let needs = needs(batch.iter().map(|append| &**append));
        let spans_apps = B::Tx::SHARED && needs.apps.len() > 1;
        if spans_apps || batch.iter().any(|append| append.with_state) || has_doubts(&self.unlocked.doubts) {
            self.unlocked.forget(&needs);
            return Ok(None);
        }
        let mut tx = self.begin(deadline, self.backend.unlocked()).await?;
        let mut done = Try::Unsure;
        if !has_doubts(&self.unlocked.memory_doubts) {
            let (mut heads, missing) = self.unlocked.memory_of(tx.timeline()).heads(&needs, B::Tx::SHARED);
            if !heads.sessions.is_empty() {
                if !missing.is_empty() {
                    heads.extend(self.within(deadline, tx.look(&missing)).await?);
                }
                done = self.try_append(&mut tx, batch, &needs, heads, true, deadline).await?;
            }
            if matches!(done, Try::Overtaken) {
                self.unlocked.forget(&needs);
                self.unlocked.memory_doubts.store(DOUBTS, Relaxed);
            }
        }
        if matches!(done, Try::Overtaken | Try::Unsure) {
            let heads = self.within(deadline, tx.look(&needs)).await?;
            done = self.try_append(&mut tx, batch, &needs, heads, false, deadline).await?;
        }
        if matches!(done, Try::Overtaken | Try::Locked) {
            self.unlocked.doubts.store(DOUBTS, Relaxed);
        }
        if let Try::Unclear(outcomes, error) = done {
            // Its connection is in an unknown state, and goes.
            self.unlocked.forget(&needs);
            return Ok(Some(Judged::after_unclear(outcomes.into_iter().map(Some), &error)));
        }
        self.release(tx, deadline).await;
        let Try::Done(outcomes) = done else {
            self.unlocked.forget(&needs);
            return Ok(None);
        };
        Ok(Some(outcomes.into_iter().map(|outcome| Judged::Done(AppendOutcome { outcome, view: None })).collect()))
    }

    /// Decides on `heads`, which are of one moment, and values, which are of a later one: whoever changed a value in between
    /// changed a head too, and the write fails.
    async fn try_append(
        &self,
        tx: &mut B::Tx,
        batch: &[Arc<Append>],
        needs: &Needs<'_>,
        mut heads: Heads,
        remembered: bool,
        deadline: Instant,
    ) -> Result<Try> {
        heads.timeline = tx.timeline();
        self.within(deadline, load_keys(tx, needs, &mut heads)).await?;
        let mut writes = Writes::default();
        let mut outcomes: Vec<Outcome> = batch.iter().map(|append| decide(&mut heads, append, &mut writes)).collect();
        // What is written is compared with what was decided on. A refusal, because of a value or at all, is not.
        let unsure = (remembered || !needs.keys.is_empty()) && !outcomes.iter().all(Outcome::is_fresh);
        if unsure || !writes.is_empty() && !guard(needs, &heads, &mut writes) {
            return Ok(Try::Unsure);
        }
        if !writes.is_empty() {
            let limit = deadline.min(Instant::now() + self.backend.unit_limit()).max(Instant::now() + COMMIT_GRACE);
            let written = match timeout_at(limit, tx.write_at_once(&writes)).await {
                Ok(written) => written.map_err(StoreError::in_one_statement),
                Err(_) if tx.may_have_committed() => Err(out_of_time().in_commit()),
                Err(_) => Err(out_of_time()),
            };
            let seen = match written {
                Ok(Verdict::Written(seen)) => seen,
                Ok(Verdict::Conflict) => return Ok(Try::Overtaken),
                Ok(Verdict::Locked) => return Ok(Try::Locked),
                Err(error) if error.unclear => return Ok(Try::Unclear(outcomes, error)),
                Err(error) => return Err(error),
            };
            for outcome in &mut outcomes {
                if let Outcome::Done(Done { tag, .. }) = outcome
                    && let Some(&(user, app)) = seen.get(&tag.incarnation)
                {
                    tag.user = if tag.user == UNREAD { user } else { tag.user };
                    tag.app = if tag.app == UNREAD { app } else { tag.app };
                }
            }
        }
        self.unlocked.memory_of(heads.timeline).keep(heads);
        Ok(Try::Done(outcomes))
    }
}

/// Adds to `writes` the heads that were decided on and are not written, so that they are compared; whether that can be
/// done: a scope that is not there cannot be compared.
fn guard<'a>(needs: &Needs<'a>, heads: &Heads, writes: &mut Writes<'a>) -> bool {
    guard_scopes(&needs.users, &heads.users, &mut writes.users)
        && guard_scopes(&needs.apps, &heads.apps, &mut writes.apps)
}

fn guard_scopes<'a, K: Ord + Eq + Hash>(
    needs: &BTreeMap<&'a K, bool>,
    heads: &HashMap<K, i64>,
    writes: &mut BTreeMap<&'a K, ScopeUpdate>,
) -> bool {
    needs.iter().filter(|(_, held)| **held).all(|(key, _)| {
        let revision = heads.get(*key).copied().unwrap_or(0);
        if revision > 0 {
            writes.entry(key).or_insert(ScopeUpdate { was: revision, revision });
        }
        writes.contains_key(key)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

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
        recent.forget(&0);
        assert_eq!(recent.get(&0), None);
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
