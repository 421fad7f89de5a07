//! The transactions, written once: each database brings only the primitives of [`Tx`].
//!
//! Locks are taken in one order everywhere: sessions, then users, then apps, rows of one kind in key order. What
//! everybody shares is locked last and so held the shortest, and no two transactions can wait for each other.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::future::Future;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use async_trait::async_trait;
use tokio::time::{Instant, timeout_at};

use super::group::Group;
use super::unlocked::Unlocked;
use super::{Batching, Busy, Cause, DatabaseClock, Judged, OnWait, PoolUse, Store, StoreError};
use crate::domain::append::{Append, Outcome, creation_needs, decide, decide_creation, distinct_events, needs};
use crate::domain::change::Change;
use crate::domain::command::{
    AppendOutcome, CreateOutcome, DeleteOutcome, Deletion, Fork, ForkOutcome, MetadataUpdate, RewindOutcome,
    RewindRequest, ScopeOutcome, UpdateOutcome,
};
use crate::domain::event::{EventDraft, NewEvent, Rewind, StoredEvent};
use crate::domain::ids::{AppName, EventId, IdempotencyKey, ScopeKey, SessionKey, StateAddress, UserId, UserKey};
use crate::domain::json::{Json, ObjectText, RawJson};
use crate::domain::loaded::{Heads, Held, KeyNeeds, Locked, Needs};
use crate::domain::query::{
    ANY_TIME, EventQuery, ListQuery, Moment, MomentQuery, Page, ScopeView, SessionQuery, SessionView, StateFilter,
};
use crate::domain::request_key::RequestKey;
use crate::domain::resolve::{Mismatch, Refusal};
use crate::domain::rewind::{self, Difference, RewindTarget};
use crate::domain::scope::Scope;
use crate::domain::scope_write::{ScopeWrite, decide_scope};
use crate::domain::session::{Creation, Head, IfExists, MetadataPatch};
use crate::domain::tag::{Tag, Timeline};
use crate::domain::time::{Micros, Timestamp};
use crate::domain::writes::Writes;

type Result<T> = std::result::Result<T, StoreError>;

/// How much one sweep does: it must fit into one time limit also where the database is far away, and it holds locks.
const SWEEP_SESSIONS: i64 = 50;
const SWEEP_ROWS: i64 = 1000;

/// How long a scope remembers requests, in microseconds: for 24 hours, and an hour more for clocks that do not agree.
const REQUEST_MEMORY: i64 = 25 * 3600 * 1_000_000;

/// The least time that a COMMIT is given, however close the deadline is: an unclear outcome is worse than a late one.
pub(super) const COMMIT_GRACE: Duration = Duration::from_secs(1);

/// A database that can begin transactions.
pub trait Backend: Send + Sync + 'static {
    type Tx: Tx;

    /// Whether appends are tried without locks: [`Tx::look`], then [`Tx::write_at_once`].
    fn is_optimistic(&self) -> bool;
    fn migrate(&self) -> impl Future<Output = Result<()>> + Send;
    fn check(&self) -> impl Future<Output = Result<()>> + Send;
    fn clock(&self) -> impl Future<Output = Result<DatabaseClock>> + Send;
    /// Whether [`Tx::view`] answers the query with one statement.
    fn is_one_statement(&self, query: &SessionQuery) -> bool;
    /// Whether [`Tx::views`] reads it along with others.
    fn may_share(&self, query: &SessionQuery) -> bool;
    /// Begins what reads one moment; `single` promises that it will be one statement.
    fn read(&self, single: bool) -> impl Future<Output = Result<Self::Tx>> + Send;
    fn write(&self) -> impl Future<Output = Result<Self::Tx>> + Send;
    /// Begins what ends with [`Tx::write_at_once`].
    fn unlocked(&self) -> impl Future<Output = Result<Self::Tx>> + Send;
    fn batching(&self) -> Batching;
    /// How long one transaction may take, COMMIT aside.
    fn unit_limit(&self) -> Duration;
    fn pool(&self) -> PoolUse;
    fn close(&self) -> impl Future<Output = ()> + Send;
}

/// A locked row of a session, live or expired.
#[derive(Debug, Clone)]
pub struct LockedSession {
    pub key: SessionKey,
    pub head: Locked,
}

/// A session row to be inserted.
pub struct SessionInsert<'a> {
    pub creation: &'a Creation,
    pub revision: i64,
    pub update_time: Timestamp,
    pub initial_state: String,
}

/// The revisions of user and app state that events saw, by incarnation of their sessions, where the database read them
/// itself.
pub type Seen = HashMap<i64, (i64, i64)>;

/// What became of [`Tx::write_at_once`]. Losing a race is no error: it is normal, and is in no log.
#[derive(Debug)]
pub enum Verdict {
    Written(Seen),
    /// A head is no more what was decided on, or an event id is taken: nothing was written.
    Conflict,
    /// Somebody else has a head locked: nothing was written.
    Locked,
}

/// A transaction under way: what it can load, lock and apply. Dropping it undoes it.
pub trait Tx: Send {
    /// Whether others may write meanwhile what is not locked.
    const SHARED: bool;

    /// The timeline of all that it reads.
    fn timeline(&self) -> Timeline;

    /// Locks the rows that exist, in key order; those that someone else has locked are waited for, or left out.
    fn lock_sessions(
        &mut self,
        keys: &BTreeSet<&SessionKey>,
        busy: Busy,
    ) -> impl Future<Output = Result<Vec<LockedSession>>> + Send;
    /// Locks scope rows, in the given order, made where they are missing.
    fn lock_users(&mut self, keys: &[&UserKey]) -> impl Future<Output = Result<()>> + Send;
    fn lock_apps(&mut self, keys: &[&AppName]) -> impl Future<Output = Result<()>> + Send;
    /// Reads heads, and events by their ids, without locks and all at one moment.
    fn look(&mut self, needs: &Needs<'_>) -> impl Future<Output = Result<Heads>> + Send;
    /// Writes and commits in one statement, if every head is still what it was. Reads the revisions that are
    /// [`UNREAD`](crate::domain::append::UNREAD). Where others may write ([`Tx::SHARED`]), all is of one app.
    fn write_at_once(&mut self, writes: &Writes<'_>) -> impl Future<Output = Result<Verdict>> + Send;
    /// Whether a [`Tx::write_at_once`] that was cut off may have committed.
    fn may_have_committed(&self) -> bool;

    /// Inserts the rows of sessions of which neither the id nor the request is there, in key order; the incarnations of those.
    fn insert_sessions(&mut self, inserts: &[SessionInsert<'_>]) -> impl Future<Output = Result<Vec<i64>>> + Send;
    /// Notes the revisions of user and app that the creations of sessions saw.
    fn set_created_revisions(&mut self, seen: &[(&SessionKey, i64, i64)]) -> impl Future<Output = Result<()>> + Send;
    fn apply(&mut self, writes: &Writes<'_>) -> impl Future<Output = Result<()>> + Send;
    fn set_metadata(
        &mut self,
        key: &SessionKey,
        patch: &MetadataPatch,
        now: Micros,
    ) -> impl Future<Output = Result<()>> + Send;

    /// The state rows of these keys, of sessions with their incarnations; keys that are not there are left out.
    fn values(
        &mut self,
        keys: &[(&StateAddress, i64)],
    ) -> impl Future<Output = Result<Vec<(StateAddress, Held)>>> + Send;
    /// The revisions at which keys that are not there were removed, all of one owner: at least if that was after `since`.
    /// `locked` is the session, of session keys.
    fn removed_since(
        &mut self,
        addresses: &[&StateAddress],
        locked: Option<Locked>,
        since: i64,
    ) -> impl Future<Output = Result<HashMap<String, i64>>> + Send;
    fn first_of_invocation(
        &mut self,
        key: &SessionKey,
        incarnation: i64,
        invocation: &str,
    ) -> impl Future<Output = Result<Option<i64>>> + Send;

    /// The revisions of user and app state that the event of this sequence saw; of 0, that the creation saw.
    fn seen_revisions(
        &mut self,
        key: &SessionKey,
        incarnation: i64,
        revision: i64,
    ) -> impl Future<Output = Result<Option<(i64, i64)>>> + Send;
    fn state_then(
        &mut self,
        head: &Head,
        then: &Tag,
        filter: &StateFilter,
    ) -> impl Future<Output = Result<String>> + Send;
    /// The session keys that were set or removed after `revision`, in key order.
    fn differences(
        &mut self,
        row: &LockedSession,
        revision: i64,
    ) -> impl Future<Output = Result<Vec<Difference>>> + Send;
    fn event_at(
        &mut self,
        key: &SessionKey,
        incarnation: i64,
        sequence: i64,
    ) -> impl Future<Output = Result<Option<StoredEvent>>> + Send;

    /// Keeps a session from going away; it may go on changing.
    fn keep_session(&mut self, key: &SessionKey) -> impl Future<Output = Result<Option<LockedSession>>> + Send;
    /// Inserts the row of a fork; `false` if the session exists, or one that the request made.
    fn insert_fork(
        &mut self,
        source: &LockedSession,
        fork: &Fork,
        revision: i64,
        update_time: &Timestamp,
    ) -> impl Future<Output = Result<bool>> + Send;
    /// Copies events, spans and the state as of `revision` to the fork.
    fn copy_history(
        &mut self,
        source: &LockedSession,
        fork: &Fork,
        revision: i64,
    ) -> impl Future<Output = Result<()>> + Send;

    /// The session that a request of this key made, be it expired, its incarnation, and the request's digest.
    fn made_by(
        &mut self,
        user: &UserKey,
        key: &IdempotencyKey,
    ) -> impl Future<Output = Result<Option<(SessionKey, i64, Vec<u8>)>>> + Send;
    /// The digest of the request of this key that changed the scope.
    fn patched_by(
        &mut self,
        scope: &ScopeKey,
        key: &IdempotencyKey,
    ) -> impl Future<Output = Result<Option<Vec<u8>>>> + Send;
    fn remember_patch(
        &mut self,
        scope: &ScopeKey,
        request: &RequestKey,
        now: Micros,
    ) -> impl Future<Output = Result<()>> + Send;
    /// Removes up to `limit` requests of each kind of scope of before that time; how many there were.
    fn forget_patches(&mut self, before: Micros, limit: i64) -> impl Future<Output = Result<u64>> + Send;

    /// Removes the session's row and notes its incarnation for [`Tx::purge`].
    fn bury(&mut self, key: &SessionKey, incarnation: i64) -> impl Future<Output = Result<()>> + Send;
    /// Where the database has a clock, by that and not by `now`.
    fn expired(&mut self, now: Micros, limit: i64) -> impl Future<Output = Result<Vec<(SessionKey, i64)>>> + Send;
    fn next_buried(&mut self) -> impl Future<Output = Result<Option<(SessionKey, i64)>>> + Send;
    /// Removes up to `limit` rows that a buried incarnation left; how many there were.
    fn purge(&mut self, key: &SessionKey, incarnation: i64, limit: i64) -> impl Future<Output = Result<u64>> + Send;
    fn forget(&mut self, key: &SessionKey, incarnation: i64) -> impl Future<Output = Result<()>> + Send;

    fn view(&mut self, query: &SessionQuery) -> impl Future<Output = Result<Option<SessionView>>> + Send;
    /// Reads several at once, in their order.
    fn views(&mut self, queries: &[&SessionQuery]) -> impl Future<Output = Result<Vec<Option<SessionView>>>> + Send;
    fn event(
        &mut self,
        key: &SessionKey,
        incarnation: i64,
        id: &EventId,
    ) -> impl Future<Output = Result<Option<StoredEvent>>> + Send;
    fn value(
        &mut self,
        address: &StateAddress,
        incarnation: i64,
    ) -> impl Future<Output = Result<Option<RawJson>>> + Send;
    fn scope(&mut self, scope: &ScopeKey) -> impl Future<Output = Result<ScopeView>> + Send;
    fn list(&mut self, query: &ListQuery, now: Micros) -> impl Future<Output = Result<Page<SessionView>>> + Send;
    fn apps(&mut self, after: &str, limit: i64) -> impl Future<Output = Result<Vec<String>>> + Send;
    fn users(&mut self, app: &AppName, after: &str, limit: i64) -> impl Future<Output = Result<Vec<String>>> + Send;

    fn commit(self) -> impl Future<Output = Result<()>> + Send;
    fn rollback(self) -> impl Future<Output = Result<()>> + Send;
}

/// Every [`Backend`] is a [`Store`].
pub struct Transactions<B> {
    pub(super) backend: B,
    /// Told how long each transaction waited for its connection and BEGIN.
    on_wait: OnceLock<OnWait>,
    pub(super) unlocked: Unlocked,
    reads: Arc<Group<SessionQuery, Option<SessionView>>>,
    creations: Arc<Group<Arc<Creation>, Result<Option<CreateOutcome>>>>,
}

impl<B: Backend> Transactions<B> {
    pub fn new(backend: B) -> Self {
        Self {
            backend,
            on_wait: OnceLock::new(),
            unlocked: Unlocked::default(),
            reads: Arc::default(),
            creations: Arc::default(),
        }
    }

    /// Runs the part of a transaction before its end. Nothing has happened if this fails: dropping the
    /// transaction, which the caller then does, ends it without COMMIT.
    pub(super) async fn within<T>(&self, deadline: Instant, work: impl Future<Output = Result<T>>) -> Result<T> {
        let limit = deadline.min(Instant::now() + self.backend.unit_limit());
        timeout_at(limit, work).await.unwrap_or_else(|_| Err(out_of_time()))
    }

    pub(super) async fn read(&self, single: bool, deadline: Instant) -> Result<B::Tx> {
        self.begin(deadline, self.backend.read(single)).await
    }

    async fn write(&self, deadline: Instant) -> Result<B::Tx> {
        self.begin(deadline, self.backend.write()).await
    }

    /// Waits for a transaction to begin, and tells for how long, also if it was in vain.
    pub(super) async fn begin(&self, deadline: Instant, begin: impl Future<Output = Result<B::Tx>>) -> Result<B::Tx> {
        let started = Instant::now();
        let begun = self.within(deadline, begin).await;
        if let Some(on_wait) = self.on_wait.get() {
            on_wait(started.elapsed());
        }
        begun
    }

    /// Ends a transaction that read, or wrote nothing after all: its end can lose nothing.
    pub(super) async fn release(&self, tx: B::Tx, deadline: Instant) {
        let _ = self.within(deadline, tx.rollback()).await;
    }

    async fn commit(&self, tx: B::Tx, deadline: Instant) -> Result<()> {
        let limit = deadline.max(Instant::now() + COMMIT_GRACE);
        timeout_at(limit, tx.commit()).await.unwrap_or_else(|_| Err(out_of_time())).map_err(StoreError::in_commit)
    }

    async fn views(&self, queries: &[&SessionQuery], deadline: Instant) -> Result<Vec<Option<SessionView>>> {
        let mut tx = self.read(true, deadline).await?;
        let views = self.within(deadline, tx.views(queries)).await?;
        let timeline = tx.timeline();
        self.release(tx, deadline).await;
        Ok(queries.iter().zip(views).map(|(query, view)| on_timeline(view, query, timeline)).collect())
    }

    async fn create_alone(&self, creation: &Creation, deadline: Instant) -> Result<CreateOutcome> {
        let mut tx = self.write(deadline).await?;
        let (outcome, wrote) = self.within(deadline, create(&mut tx, creation)).await?;
        self.end(tx, wrote, deadline).await?;
        Ok(outcome)
    }

    /// Creates sessions in one transaction. Each that it does not create is to be tried alone, and so are all if it fails,
    /// perhaps because of one of them.
    async fn create_batch(
        &self,
        batch: &[&Arc<Creation>],
        deadline: Instant,
    ) -> Result<Vec<Result<Option<CreateOutcome>>>> {
        if let [creation] = batch {
            return Ok(vec![self.create_alone(creation, deadline).await.map(Some)]);
        }
        let creations: Vec<&Creation> = batch.iter().map(|creation| &***creation).collect();
        let created = async {
            let mut tx = self.write(deadline).await?;
            let (outcomes, wrote) = self.within(deadline, create_together(&mut tx, &creations)).await?;
            Ok::<_, StoreError>((tx, outcomes, wrote))
        };
        let (tx, outcomes, wrote) = match created.await {
            Ok(created) => created,
            Err(error) if error.is_transient() => return Err(error),
            Err(_) => return Ok(batch.iter().map(|_| Ok(None)).collect()),
        };
        match self.end(tx, wrote, deadline).await {
            Ok(()) => Ok(outcomes.into_iter().map(Ok).collect()),
            // Of what it did not create, nothing can have been committed.
            Err(error) if error.unclear => {
                Ok(outcomes.into_iter().map(|made| made.map_or(Ok(None), |_| Err(error.share()))).collect())
            }
            Err(error) => Err(error),
        }
    }

    async fn end(&self, tx: B::Tx, wrote: bool, deadline: Instant) -> Result<()> {
        if wrote {
            self.commit(tx, deadline).await
        } else {
            self.release(tx, deadline).await;
            Ok(())
        }
    }
}

pub(super) fn out_of_time() -> StoreError {
    StoreError::new(Cause::Timeout, "the database did not answer within the time limit")
}

/// Appends a batch, and reads the states that are asked for, all as the whole batch left them.
async fn append<X: Tx>(tx: &mut X, batch: &[Arc<Append>], busy: Busy) -> Result<(Vec<Option<AppendOutcome>>, bool)> {
    let mut heads = load(tx, &needs(batch.iter().map(|append| &**append)), busy).await?;
    let mut writes = Writes::default();
    let outcomes: Vec<Option<Outcome>> = batch
        .iter()
        .map(|append| {
            let there = busy == Busy::Wait || heads.sessions.contains_key(&append.key);
            there.then(|| decide(&mut heads, append, &mut writes))
        })
        .collect();
    let wrote = !writes.is_empty();
    if wrote {
        tx.apply(&writes).await?;
    }
    let mut answers = Vec::with_capacity(batch.len());
    for (append, outcome) in batch.iter().zip(outcomes) {
        let view = match outcome {
            Some(Outcome::Done(_)) if append.with_state => {
                Some(view(tx, &session_state(&append.key, append.now)).await?)
            }
            _ => None,
        };
        answers.push(outcome.map(|outcome| AppendOutcome { outcome, view }));
    }
    Ok((answers, wrote))
}

/// Loads what a decision needs, under lock and in lock order. What is read without a lock is read after the session
/// is locked, so that the revisions that the events of one session saw never go backwards.
async fn load<X: Tx>(tx: &mut X, needs: &Needs<'_>, busy: Busy) -> Result<Heads> {
    let mut heads = if X::SHARED {
        let locked = tx.lock_sessions(&needs.sessions, busy).await?;
        let locked: BTreeSet<&SessionKey> = locked.iter().map(|row| &row.key).collect();
        // Sessions that are not there need nothing else.
        let users: BTreeSet<&UserKey> = locked.iter().map(|key| &key.user).collect();
        let apps: BTreeSet<&AppName> = locked.iter().map(|key| key.app()).collect();
        let mut held = Needs { users: needs.users.clone(), apps: needs.apps.clone(), ..Needs::default() };
        held.users.retain(|key, _| users.contains(key));
        held.apps.retain(|key, _| apps.contains(key));
        lock_scopes(tx, &held).await?;
        let mut heads = tx.look(needs).await?;
        heads.sessions.retain(|key, _| locked.contains(key));
        heads
    } else {
        tx.look(needs).await?
    };
    heads.timeline = tx.timeline();
    load_keys(tx, needs, &mut heads).await?;
    Ok(heads)
}

/// Locks the scopes that are to be held, users first.
async fn lock_scopes<X: Tx>(tx: &mut X, needs: &Needs<'_>) -> Result<()> {
    let users = needs.users.iter().filter(|(_, held)| **held);
    let users: Vec<&UserKey> = users.map(|(key, _)| *key).collect();
    if !users.is_empty() {
        tx.lock_users(&users).await?;
    }
    let apps = needs.apps.iter().filter(|(_, held)| **held);
    let apps: Vec<&AppName> = apps.map(|(key, _)| *key).collect();
    if !apps.is_empty() {
        tx.lock_apps(&apps).await?;
    }
    Ok(())
}

/// Loads what lies behind the heads: values, and places in the log.
pub(super) async fn load_keys<X: Tx>(tx: &mut X, needs: &Needs<'_>, heads: &mut Heads) -> Result<()> {
    heads.values = values(tx, &needs.keys, &heads.sessions).await?;
    for (key, invocation) in &needs.invocations {
        if let Some(locked) = heads.sessions.get(*key)
            && let Some(sequence) = tx.first_of_invocation(key, locked.incarnation, invocation).await?
        {
            heads.invocations.entry((*key).clone()).or_default().insert((*invocation).to_owned(), sequence);
        }
    }
    Ok(())
}

/// Reads state keys, those that are not there included; keys of sessions that are not there are left out.
async fn values<X: Tx>(
    tx: &mut X,
    needs: &KeyNeeds,
    sessions: &HashMap<SessionKey, Locked>,
) -> Result<HashMap<StateAddress, Held>> {
    let locked = |address: &StateAddress| match address {
        StateAddress::Session(key, _) => sessions.get(key).copied().map(Some),
        StateAddress::User(..) | StateAddress::App(..) => Some(None),
    };
    let incarnation = |locked: Option<Locked>| locked.map_or(0, |locked| locked.incarnation);
    let keys: Vec<_> =
        needs.keys().filter_map(|address| locked(address).map(|locked| (address, incarnation(locked)))).collect();
    if keys.is_empty() {
        return Ok(HashMap::new());
    }
    let mut values: HashMap<StateAddress, Held> = tx.values(&keys).await?.into_iter().collect();
    let absent: Vec<_> =
        needs.iter().filter(|(address, _)| locked(address).is_some() && !values.contains_key(*address)).collect();
    // In the order of addresses, so those of one owner follow each other.
    for keys in absent.chunk_by(|(one, _), (other, _)| one.has_owner_of(other)) {
        let (asked, since): (Vec<&StateAddress>, Vec<i64>) =
            keys.iter().filter_map(|(address, since)| Some((*address, (**since)?))).unzip();
        let removed = match (asked.first(), since.iter().min()) {
            (Some(first), Some(since)) => tx.removed_since(&asked, locked(first).flatten(), *since).await?,
            _ => HashMap::new(),
        };
        for (address, since) in keys {
            let revision = since.and_then(|_| removed.get(address.key()).copied()).unwrap_or(0);
            values.insert((*address).clone(), Held { value: None, revision });
        }
    }
    Ok(values)
}

/// Inserts the session first, so that its row is the first lock, as everywhere.
async fn create<X: Tx>(tx: &mut X, creation: &Creation) -> Result<(CreateOutcome, bool)> {
    let events = match distinct_events(creation) {
        Ok(events) => events,
        Err(refusal) => return Ok((CreateOutcome::Refused(refusal), false)),
    };
    let query = whole_session(&creation.key, creation.now);
    let inserts = [insert(creation, &events)];
    // Others may delete and create the same id meanwhile; each turn sees what they have committed by then.
    while tx.insert_sessions(&inserts).await?.is_empty() {
        let request = creation.request.as_ref();
        let outcome = match in_the_way(tx, &creation.key, request, creation.incarnation, creation.now).await? {
            InTheWay::Nothing => continue,
            InTheWay::OurOwn => CreateOutcome::Created(view(tx, &query).await?),
            InTheWay::Retried(key) => CreateOutcome::Replayed(view(tx, &whole_session(&key, creation.now)).await?),
            InTheWay::OtherRequest => CreateOutcome::KeyConflict,
            InTheWay::Other => match creation.if_exists {
                IfExists::Refuse => CreateOutcome::AlreadyExists,
                IfExists::Return => CreateOutcome::Existing(view(tx, &query).await?),
                IfExists::Mismatch => {
                    let tag = view(tx, &query).await?.head.tag();
                    CreateOutcome::Refused(Refusal::RevisionMismatch(Mismatch::of_session(&tag, Vec::new())))
                }
            },
        };
        return Ok((outcome, false));
    }
    match populate(tx, &[(creation, events)]).await? {
        Some(refusal) => Ok((CreateOutcome::Refused(refusal), false)),
        None => Ok((view(tx, &query).await.map(CreateOutcome::Created)?, true)),
    }
}

/// Creates several sessions, and reads them as all of it left them. What is not simply created is `None`, and so are all, and
/// nothing is to be committed, if one is refused.
async fn create_together<X: Tx>(tx: &mut X, creations: &[&Creation]) -> Result<(Vec<Option<CreateOutcome>>, bool)> {
    let inserts: Vec<SessionInsert<'_>> = creations.iter().map(|creation| insert(creation, &[])).collect();
    let made: HashSet<i64> = tx.insert_sessions(&inserts).await?.into_iter().collect();
    let is_made = |creation: &&Creation| made.contains(&creation.incarnation);
    let fresh: Vec<_> = creations.iter().copied().filter(is_made).map(|creation| (creation, Vec::new())).collect();
    if fresh.is_empty() || populate(tx, &fresh).await?.is_some() {
        return Ok((creations.iter().map(|_| None).collect(), false));
    }
    let queries: Vec<SessionQuery> = fresh.iter().map(|(creation, _)| whole_session(&creation.key, ANY_TIME)).collect();
    let views = tx.views(&queries.iter().collect::<Vec<_>>()).await?;
    let mut views = queries.iter().zip(views).map(|(query, view)| on_timeline(view, query, tx.timeline()));
    let mut outcome = || views.next().flatten().map(CreateOutcome::Created).ok_or_else(not_there);
    let outcomes = creations.iter().map(|creation| is_made(creation).then(&mut outcome).transpose());
    Ok((outcomes.collect::<Result<_>>()?, true))
}

fn insert<'a>(creation: &'a Creation, events: &[&NewEvent]) -> SessionInsert<'a> {
    SessionInsert {
        creation,
        revision: events.len() as i64,
        update_time: events.last().map_or_else(|| creation.now.into(), |last| last.timestamp.clone()),
        initial_state: initial_state(&creation.state),
    }
}

/// Gives sessions that were just inserted their states and events, and notes which shared scopes they saw; the refusal of the
/// first that is refused.
async fn populate<X: Tx>(tx: &mut X, creations: &[(&Creation, Vec<&NewEvent>)]) -> Result<Option<Refusal>> {
    let needs = creation_needs(creations.iter().map(|(creation, _)| *creation));
    lock_scopes(tx, &needs).await?;
    let mut heads = tx.look(&needs).await?;
    // No row of their state is there yet.
    let fresh = |creation: &Creation| Locked {
        incarnation: creation.incarnation,
        revision: 0,
        metadata_revision: 0,
        update_time: creation.now,
        expire_time: None,
    };
    let sessions = creations.iter().map(|(creation, _)| (creation.key.clone(), fresh(creation))).collect();
    heads.values = values(tx, &needs.keys, &sessions).await?;
    let mut writes = Writes::default();
    let mut seen = Vec::new();
    for (creation, events) in creations {
        match decide_creation(&mut heads, creation, events, &mut writes) {
            Ok(tag) if (tag.user, tag.app) != (0, 0) => seen.push((&creation.key, tag.user, tag.app)),
            Ok(_) => {}
            Err(refusal) => return Ok(Some(refusal)),
        }
    }
    // The rows were inserted with the revisions and times that they end with.
    writes.sessions.clear();
    tx.apply(&writes).await?;
    if !seen.is_empty() {
        tx.set_created_revisions(&seen).await?;
    }
    Ok(None)
}

/// What keeps a row from being inserted.
enum InTheWay {
    /// Nothing any more: it had expired, and is buried now, or it is gone.
    Nothing,
    /// The very one, from a try whose COMMIT was not answered.
    OurOwn,
    /// The request had come before, and made this session.
    Retried(SessionKey),
    /// Another request of the same key had come before.
    OtherRequest,
    /// A session of the same id.
    Other,
}

async fn in_the_way<X: Tx>(
    tx: &mut X,
    key: &SessionKey,
    request: Option<&RequestKey>,
    incarnation: i64,
    now: Micros,
) -> Result<InTheWay> {
    if let Some(request) = request
        && let Some(found) = made_before(tx, &key.user, request, incarnation, now).await?
    {
        return Ok(found);
    }
    let Some(existing) = tx.lock_sessions(&BTreeSet::from([key]), Busy::Wait).await?.into_iter().next() else {
        return Ok(InTheWay::Nothing);
    };
    if existing.head.is_live(now) {
        return Ok(if existing.head.incarnation == incarnation { InTheWay::OurOwn } else { InTheWay::Other });
    }
    tx.bury(key, existing.head.incarnation).await?;
    Ok(InTheWay::Nothing)
}

/// What an earlier request of the same key made, if that is still there. The session is locked, so that it stays.
async fn made_before<X: Tx>(
    tx: &mut X,
    user: &UserKey,
    request: &RequestKey,
    incarnation: i64,
    now: Micros,
) -> Result<Option<InTheWay>> {
    // It may go meanwhile, and with it the memory of the request; each turn sees what is committed by then.
    while let Some((key, found, digest)) = tx.made_by(user, &request.key).await? {
        let row = tx.lock_sessions(&BTreeSet::from([&key]), Busy::Wait).await?.into_iter().next();
        let Some(row) = row.filter(|row| row.head.incarnation == found) else { continue };
        if !row.head.is_live(now) {
            tx.bury(&key, found).await?;
            continue;
        }
        return Ok(Some(if found == incarnation {
            InTheWay::OurOwn
        } else if request.is_retry_of(&digest) {
            InTheWay::Retried(key)
        } else {
            InTheWay::OtherRequest
        }));
    }
    Ok(None)
}

/// Copies the past of one session to a new one.
async fn fork<X: Tx>(tx: &mut X, fork: &Fork) -> Result<(ForkOutcome, bool)> {
    let key = SessionKey { user: fork.source.user.clone(), session: fork.session.clone() };
    // First of all: a retry is answered also if the source is gone by now.
    if let Some(request) = &fork.request
        && let Some(found) = made_before(tx, &key.user, request, fork.incarnation, fork.now).await?
        && let Some(outcome) = forked_before(tx, fork, &key, found).await?
    {
        return Ok((outcome, false));
    }
    let Some(source) = tx.keep_session(&fork.source).await?.filter(|row| row.head.is_live(fork.now)) else {
        return Ok((ForkOutcome::SessionNotFound, false));
    };
    let revision = fork.at.unwrap_or(source.head.revision);
    if revision > source.head.revision {
        return Ok((ForkOutcome::Beyond(source.head.revision), false));
    }
    let update_time = match revision {
        0 => fork.now.into(),
        _ => timestamp_of(&event_of(tx, &source, revision).await?)?,
    };
    while !tx.insert_fork(&source, fork, revision, &update_time).await? {
        let found = in_the_way(tx, &key, fork.request.as_ref(), fork.incarnation, fork.now).await?;
        if let Some(outcome) = forked_before(tx, fork, &key, found).await? {
            return Ok((outcome, false));
        }
    }
    tx.copy_history(&source, fork, revision).await?;
    Ok((view(tx, &whole_session(&key, fork.now)).await.map(ForkOutcome::Created)?, true))
}

/// What a fork comes to if something is in its way.
async fn forked_before<X: Tx>(
    tx: &mut X,
    fork: &Fork,
    key: &SessionKey,
    found: InTheWay,
) -> Result<Option<ForkOutcome>> {
    Ok(match found {
        InTheWay::Nothing => None,
        InTheWay::OurOwn => Some(ForkOutcome::Created(view(tx, &whole_session(key, fork.now)).await?)),
        InTheWay::Retried(key) => Some(ForkOutcome::Replayed(view(tx, &whole_session(&key, fork.now)).await?)),
        InTheWay::OtherRequest => Some(ForkOutcome::KeyConflict),
        InTheWay::Other => Some(ForkOutcome::AlreadyExists),
    })
}

/// An event that must be there, because sequences are dense.
async fn event_of<X: Tx>(tx: &mut X, row: &LockedSession, sequence: i64) -> Result<StoredEvent> {
    let event = tx.event_at(&row.key, row.head.incarnation, sequence).await?;
    event.ok_or_else(|| StoreError::new(Cause::Internal, "an event is missing in a session's sequence"))
}

fn timestamp_of(event: &StoredEvent) -> Result<Timestamp> {
    let timestamp = Json::trusted(&event.body).get("timestamp").and_then(|number| Timestamp::parse(number).ok());
    timestamp.ok_or_else(|| StoreError::new(Cause::Internal, "a stored event has no timestamp"))
}

/// Appends the event that takes others back: what it sets follows from what is there, under lock.
async fn rewind<X: Tx>(tx: &mut X, request: &RewindRequest) -> Result<(RewindOutcome, bool)> {
    let Some(row) = locked_live(tx, &request.key, request.now).await? else {
        return Ok((RewindOutcome::SessionNotFound, false));
    };
    let query = whole_session(&request.key, request.now);
    let needs = Needs {
        sessions: BTreeSet::from([&request.key]),
        users: BTreeMap::from([(&request.key.user, false)]),
        apps: BTreeMap::from([(request.key.app(), false)]),
        events: BTreeSet::from([(&request.key, &request.event_id)]),
        ..Needs::default()
    };
    let mut heads = tx.look(&needs).await?;
    if let Some(known) = heads.known.remove(&request.key).and_then(|mut known| known.remove(&request.event_id)) {
        let outcome = match request.target.is_of(&known.event.body) {
            true => RewindOutcome::Done { view: view(tx, &query).await?, replayed: true },
            false => RewindOutcome::Refused(Refusal::EventIdConflict),
        };
        return Ok((outcome, false));
    }
    if let Some(mismatch) = mismatch(tx, &row, request.if_match.as_ref()).await? {
        return Ok((RewindOutcome::Refused(Refusal::RevisionMismatch(mismatch)), false));
    }
    let (to, before) = match &request.target {
        RewindTarget::BeforeInvocation(invocation) => {
            match tx.first_of_invocation(&request.key, row.head.incarnation, invocation).await? {
                Some(first) => (first - 1, invocation.clone()),
                None => return Ok((RewindOutcome::InvocationNotFound, false)),
            }
        }
        RewindTarget::Revision(revision) if *revision >= row.head.revision => {
            let refusal = Refusal::Rejected(RewindTarget::beyond(row.head.revision));
            return Ok((RewindOutcome::Refused(refusal), false));
        }
        RewindTarget::Revision(revision) => {
            let first = event_of(tx, &row, revision + 1).await?;
            let invocation = Json::trusted(&first.body).get("invocationId").and_then(Json::as_str);
            (*revision, invocation.unwrap_or_default().into_owned())
        }
    };
    let differences = tx.differences(&row, to).await?;
    let text = rewind::event(&request.invocation_id, &request.target, &before, &differences);
    let limits = crate::domain::Limits::none();
    let draft = EventDraft::parse(Json::trusted(&text), "", None, &limits)
        .map_err(|_| StoreError::new(Cause::Internal, "the event of a rewind is none"))?;
    let mut event = draft.seal(request.event_id.clone(), request.now);
    event.rewind = Some(Rewind::To(to));
    let append = Append {
        key: request.key.clone(),
        events: vec![event],
        if_match: None,
        only_if_present: None,
        limits,
        now: request.now,
        with_state: false,
    };
    let held = differences.into_iter().map(|difference| {
        let held = Held { value: difference.now, revision: row.head.revision };
        (StateAddress::new(&append.key, Scope::Session, &difference.key), held)
    });
    heads.values = held.collect();
    let mut writes = Writes::default();
    if let Outcome::Refused(refusal) = decide(&mut heads, &append, &mut writes) {
        return Ok((RewindOutcome::Refused(refusal), false));
    }
    tx.apply(&writes).await?;
    Ok((RewindOutcome::Done { view: view(tx, &query).await?, replayed: false }, true))
}

/// Reads the state of a moment that is past, or of now.
async fn moment<X: Tx>(tx: &mut X, query: &MomentQuery) -> Result<Moment> {
    let Some(head) = head(tx, &query.key, query.now).await? else { return Ok(Moment::SessionNotFound) };
    if query.revision > head.revision {
        return Ok(Moment::Beyond(head.revision));
    }
    let seen = tx.seen_revisions(&query.key, head.incarnation, query.revision).await?;
    let (user, app) =
        seen.ok_or_else(|| StoreError::new(Cause::Internal, "an event is missing in a session's sequence"))?;
    let tag = Tag {
        revision: query.revision,
        user,
        app,
        incarnation: head.incarnation,
        timeline: head.timeline,
        metadata: 0,
    };
    let state = tx.state_then(&head, &tag, &query.filter).await?;
    Ok(Moment::Then { tag, state })
}

/// The session keys of an initial state, as one JSON object.
fn initial_state(changes: &[Change]) -> String {
    let mut state = ObjectText::default();
    for change in changes.iter().filter(|change| change.scope == Scope::Session) {
        state.push(&change.key, change.value.text());
    }
    state.close()
}

fn session_state(key: &SessionKey, now: Micros) -> SessionQuery {
    SessionQuery { state: Some(StateFilter::default()), ..head_alone(key, now) }
}

fn head_alone(key: &SessionKey, now: Micros) -> SessionQuery {
    SessionQuery { key: key.clone(), now, incarnation: None, timeline: None, state: None, events: None }
}

/// Says of what was read where that was; nothing, if the query goes on with what was read on another timeline.
fn on_timeline(view: Option<SessionView>, query: &SessionQuery, timeline: Timeline) -> Option<SessionView> {
    let mut view = view.filter(|_| query.timeline.is_none_or(|wanted| wanted == timeline))?;
    view.head.timeline = timeline;
    Some(view)
}

fn whole_session(key: &SessionKey, now: Micros) -> SessionQuery {
    SessionQuery { events: Some(EventQuery::all()), ..session_state(key, now) }
}

/// Reads a session that this transaction holds. That it is not there would be a bug.
async fn view<X: Tx>(tx: &mut X, query: &SessionQuery) -> Result<SessionView> {
    // A session that was created already expired is shown once, to its creator.
    let query = SessionQuery { now: ANY_TIME, ..query.clone() };
    on_timeline(tx.view(&query).await?, &query, tx.timeline()).ok_or_else(not_there)
}

fn not_there() -> StoreError {
    StoreError::new(Cause::Internal, "a locked session is not there")
}

async fn locked_live<X: Tx>(tx: &mut X, key: &SessionKey, now: Micros) -> Result<Option<LockedSession>> {
    Ok(tx.lock_sessions(&BTreeSet::from([key]), Busy::Wait).await?.into_iter().find(|row| row.head.is_live(now)))
}

/// Whether the precondition of a change that writes no state holds; the scopes are read, not held.
async fn mismatch<X: Tx>(
    tx: &mut X,
    row: &LockedSession,
    if_match: Option<&crate::domain::tag::IfMatch>,
) -> Result<Option<Mismatch>> {
    let Some(if_match) = if_match else { return Ok(None) };
    let (user, app) = (&row.key.user, row.key.app());
    let scopes =
        Needs { users: BTreeMap::from([(user, false)]), apps: BTreeMap::from([(app, false)]), ..Needs::default() };
    let found = tx.look(&scopes).await?;
    let tag = Tag {
        revision: row.head.revision,
        user: found.users.get(user).copied().unwrap_or(0),
        app: found.apps.get(app).copied().unwrap_or(0),
        incarnation: row.head.incarnation,
        timeline: tx.timeline(),
        metadata: row.head.metadata_revision,
    };
    Ok((!if_match.holds(&tag)).then(|| Mismatch::of_session(&tag, Vec::new())))
}

async fn update_metadata<X: Tx>(tx: &mut X, update: &MetadataUpdate) -> Result<(UpdateOutcome, bool)> {
    let Some(row) = locked_live(tx, &update.key, update.now).await? else {
        return Ok((UpdateOutcome::SessionNotFound, false));
    };
    if let Some(mismatch) = mismatch(tx, &row, update.if_match.as_ref()).await? {
        return Ok((UpdateOutcome::RevisionMismatch(mismatch), false));
    }
    if !update.patch.is_empty() {
        tx.set_metadata(&update.key, &update.patch, update.now).await?;
    }
    Ok((view(tx, &whole_session(&update.key, update.now)).await.map(UpdateOutcome::Done)?, !update.patch.is_empty()))
}

async fn delete<X: Tx>(tx: &mut X, delete: &Deletion) -> Result<(DeleteOutcome, bool)> {
    let row = tx.lock_sessions(&BTreeSet::from([&delete.key]), Busy::Wait).await?.into_iter().next();
    let Some(row) = row.filter(|row| row.head.incarnation == delete.incarnation) else {
        return Ok((DeleteOutcome::Done, false));
    };
    if let Some(mismatch) = mismatch(tx, &row, delete.if_match.as_ref()).await? {
        return Ok((DeleteOutcome::RevisionMismatch(mismatch), false));
    }
    tx.bury(&delete.key, row.head.incarnation).await?;
    Ok((DeleteOutcome::Done, true))
}

async fn write_scope<X: Tx>(tx: &mut X, write: &ScopeWrite) -> Result<(ScopeOutcome, bool)> {
    let scope = match &write.scope {
        ScopeKey::User(key) => Needs { users: BTreeMap::from([(key, true)]), ..Needs::default() },
        ScopeKey::App(key) => Needs { apps: BTreeMap::from([(key, true)]), ..Needs::default() },
    };
    lock_scopes(tx, &scope).await?;
    let heads = tx.look(&scope).await?;
    let revision = heads.users.into_values().chain(heads.apps.into_values()).next().unwrap_or(0);
    if let Some(request) = &write.request
        && let Some(digest) = tx.patched_by(&write.scope, &request.key).await?
    {
        let outcome = match request.is_retry_of(&digest) {
            true => ScopeOutcome::Replayed(tx.scope(&write.scope).await?),
            false => ScopeOutcome::KeyConflict,
        };
        return Ok((outcome, false));
    }
    let values = values(tx, &write.needs(), &HashMap::new()).await?;
    let writes = match decide_scope(&values, write, revision) {
        Ok(writes) => writes,
        Err(refusal) => return Ok((ScopeOutcome::Refused(refusal), false)),
    };
    let wrote = !writes.is_empty() || write.request.is_some();
    if wrote {
        tx.apply(&writes).await?;
    }
    if let Some(request) = &write.request {
        tx.remember_patch(&write.scope, request, write.now).await?;
    }
    Ok((ScopeOutcome::Done(tx.scope(&write.scope).await?), wrote))
}

/// Buries what has expired, if that is wanted, forgets requests, then removes rows of one buried incarnation.
async fn sweep<X: Tx>(tx: &mut X, now: Micros, expired: bool) -> Result<bool> {
    let limit = if expired { SWEEP_SESSIONS } else { 0 };
    for (key, incarnation) in tx.expired(now, limit).await? {
        tx.bury(&key, incarnation).await?;
    }
    let limit = if expired { SWEEP_ROWS } else { 0 };
    let forgotten = tx.forget_patches(now.plus(-REQUEST_MEMORY), limit).await?;
    let Some((key, incarnation)) = tx.next_buried().await? else { return Ok(forgotten > 0) };
    if tx.purge(&key, incarnation, SWEEP_ROWS).await? == 0 {
        tx.forget(&key, incarnation).await?;
    }
    Ok(true)
}

#[async_trait]
impl<B: Backend> Store for Transactions<B> {
    async fn migrate(&self) -> Result<()> {
        self.backend.migrate().await
    }

    async fn check(&self, deadline: Instant) -> Result<()> {
        self.within(deadline, self.backend.check()).await
    }

    async fn create(&self, creation: &Arc<Creation>, deadline: Instant) -> Result<CreateOutcome> {
        let mut outcome = None;
        // Two transactions with several requests each could wait for one another: there is no order of both ids and keys.
        if creation.is_simple() && (creation.request.is_none() || !B::Tx::SHARED) {
            let create = async |batch: &[&Arc<Creation>], deadline| self.create_batch(batch, deadline).await;
            outcome = self.creations.ask(creation, deadline, create).await??;
        }
        let outcome = match outcome {
            Some(outcome) => outcome,
            None => self.create_alone(creation, deadline).await?,
        };
        if self.backend.is_optimistic()
            && let CreateOutcome::Created(view) | CreateOutcome::Existing(view) | CreateOutcome::Replayed(view) =
                &outcome
        {
            self.unlocked.remember(&view.head);
        }
        Ok(outcome)
    }

    async fn append(&self, batch: &[Arc<Append>], busy: Busy, deadline: Instant) -> Result<Vec<Judged>> {
        if let Some(judged) = self.append_unlocked(batch, deadline).await? {
            return Ok(judged);
        }
        let mut tx = self.write(deadline).await?;
        let (outcomes, wrote) = self.within(deadline, append(&mut tx, batch, busy)).await?;
        match self.end(tx, wrote, deadline).await {
            Ok(()) => Ok(outcomes.into_iter().map(|done| done.map_or(Judged::LeftOut, Judged::Done)).collect()),
            Err(error) if error.unclear => {
                Ok(Judged::after_unclear(outcomes.into_iter().map(|done| done.map(|done| done.outcome)), &error))
            }
            Err(error) => Err(error),
        }
    }

    fn batching(&self) -> Batching {
        self.backend.batching()
    }

    async fn update_metadata(&self, update: &MetadataUpdate, deadline: Instant) -> Result<UpdateOutcome> {
        self.unlocked.forget_session(&update.key);
        let mut tx = self.write(deadline).await?;
        let (outcome, wrote) = self.within(deadline, update_metadata(&mut tx, update)).await?;
        self.end(tx, wrote, deadline).await?;
        Ok(outcome)
    }

    async fn delete(&self, deletion: &Deletion, deadline: Instant) -> Result<DeleteOutcome> {
        self.unlocked.forget_session(&deletion.key);
        let mut tx = self.write(deadline).await?;
        let (outcome, wrote) = self.within(deadline, delete(&mut tx, deletion)).await?;
        self.end(tx, wrote, deadline).await?;
        Ok(outcome)
    }

    async fn write_scope(&self, write: &ScopeWrite, deadline: Instant) -> Result<ScopeOutcome> {
        self.unlocked.forget_scope(&write.scope);
        let mut tx = self.write(deadline).await?;
        let (outcome, wrote) = self.within(deadline, write_scope(&mut tx, write)).await?;
        self.end(tx, wrote, deadline).await?;
        Ok(outcome)
    }

    async fn fork(&self, request: &Fork, deadline: Instant) -> Result<ForkOutcome> {
        let mut tx = self.write(deadline).await?;
        let (outcome, wrote) = self.within(deadline, fork(&mut tx, request)).await?;
        self.end(tx, wrote, deadline).await?;
        Ok(outcome)
    }

    async fn rewind(&self, request: &RewindRequest, deadline: Instant) -> Result<RewindOutcome> {
        self.unlocked.forget_session(&request.key);
        let mut tx = self.write(deadline).await?;
        let (outcome, wrote) = self.within(deadline, rewind(&mut tx, request)).await?;
        self.end(tx, wrote, deadline).await?;
        Ok(outcome)
    }

    async fn moment(&self, query: &MomentQuery, deadline: Instant) -> Result<Moment> {
        let mut tx = self.read(false, deadline).await?;
        let moment = self.within(deadline, moment(&mut tx, query)).await?;
        self.release(tx, deadline).await;
        Ok(moment)
    }

    async fn session(&self, query: &SessionQuery, deadline: Instant) -> Result<Option<SessionView>> {
        if self.backend.may_share(query) {
            return self
                .reads
                .ask(query, deadline, async |queries, deadline| self.views(queries, deadline).await)
                .await
                // It was only read.
                .map_err(|error| error.of_read());
        }
        let mut tx = self.read(self.backend.is_one_statement(query), deadline).await?;
        let view = self.within(deadline, tx.view(query)).await?;
        let view = on_timeline(view, query, tx.timeline());
        self.release(tx, deadline).await;
        Ok(view)
    }

    async fn event(
        &self,
        key: &SessionKey,
        id: &EventId,
        now: Micros,
        deadline: Instant,
    ) -> Result<Option<(Head, Option<StoredEvent>)>> {
        let mut tx = self.read(false, deadline).await?;
        let found = self
            .within(deadline, async {
                let Some(head) = head(&mut tx, key, now).await? else { return Ok(None) };
                let event = tx.event(key, head.incarnation, id).await?;
                Ok(Some((head, event)))
            })
            .await?;
        self.release(tx, deadline).await;
        Ok(found)
    }

    async fn value(
        &self,
        key: &SessionKey,
        scope: Scope,
        state_key: &str,
        now: Micros,
        deadline: Instant,
    ) -> Result<Option<(Head, Option<RawJson>)>> {
        let mut tx = self.read(false, deadline).await?;
        let found = self
            .within(deadline, async {
                let Some(head) = head(&mut tx, key, now).await? else { return Ok(None) };
                let value = tx.value(&StateAddress::new(key, scope, state_key), head.incarnation).await?;
                Ok(Some((head, value)))
            })
            .await?;
        self.release(tx, deadline).await;
        Ok(found)
    }

    async fn scope(&self, scope: &ScopeKey, deadline: Instant) -> Result<ScopeView> {
        let mut tx = self.read(true, deadline).await?;
        let view = self.within(deadline, tx.scope(scope)).await?;
        self.release(tx, deadline).await;
        Ok(view)
    }

    async fn sessions(&self, query: &ListQuery, now: Micros, deadline: Instant) -> Result<Page<SessionView>> {
        let mut tx = self.read(true, deadline).await?;
        let mut page = self.within(deadline, tx.list(query, now)).await?;
        page.items.iter_mut().for_each(|view| view.head.timeline = tx.timeline());
        if page.cut {
            // Unread rows are of unknown size: the connection is closed rather than drained.
            drop(tx);
        } else {
            self.release(tx, deadline).await;
        }
        Ok(page)
    }

    async fn apps(&self, after: &str, limit: usize, deadline: Instant) -> Result<Vec<AppName>> {
        let mut tx = self.read(true, deadline).await?;
        let names = self.within(deadline, tx.apps(after, limit as i64)).await?;
        self.release(tx, deadline).await;
        names.iter().map(|name| AppName::parse(name).map_err(corrupt)).collect()
    }

    async fn users(&self, app: &AppName, after: &str, limit: usize, deadline: Instant) -> Result<Vec<UserId>> {
        let mut tx = self.read(true, deadline).await?;
        let names = self.within(deadline, tx.users(app, after, limit as i64)).await?;
        self.release(tx, deadline).await;
        names.iter().map(|name| UserId::parse(name).map_err(corrupt)).collect()
    }

    async fn clock(&self, deadline: Instant) -> Result<DatabaseClock> {
        self.within(deadline, self.backend.clock()).await
    }

    async fn sweep(&self, now: Micros, expired: bool, deadline: Instant) -> Result<bool> {
        let mut tx = self.write(deadline).await?;
        let more = self.within(deadline, sweep(&mut tx, now, expired)).await?;
        self.end(tx, more, deadline).await?;
        Ok(more)
    }

    fn pool(&self) -> PoolUse {
        self.backend.pool()
    }

    fn watch_waits(&self, on_wait: OnWait) {
        // There is one to be told; if there were two, the first would go on.
        let _ = self.on_wait.set(on_wait);
    }

    async fn close(&self) {
        self.backend.close().await;
    }
}

async fn head<X: Tx>(tx: &mut X, key: &SessionKey, now: Micros) -> Result<Option<Head>> {
    let query = head_alone(key, now);
    Ok(on_timeline(tx.view(&query).await?, &query, tx.timeline()).map(|view| view.head))
}

/// A stored id that breaks the rules of ids: the database was written by something else.
pub fn corrupt(what: &'static str) -> StoreError {
    StoreError::new(Cause::Internal, format!("a stored id is invalid: it {what}"))
}
