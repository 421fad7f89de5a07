//! The transactions, written once: each database brings only the primitives of [`Tx`].
//!
//! Locks are taken in one order everywhere: sessions, then users, then apps, rows of one kind in key order. What
//! everybody shares is locked last and so held the shortest, and no two transactions can wait for each other.

use std::collections::{BTreeSet, HashMap};
use std::future::Future;
use std::sync::OnceLock;
use std::time::Duration;

use async_trait::async_trait;
use tokio::time::{Instant, timeout_at};

use super::{
    Cause, CreateOutcome, DeleteOutcome, Deletion, ListQuery, MetadataUpdate, OnWait, Page, PoolUse, ScopeKey,
    ScopeOutcome, ScopeView, ScopeWrite, SessionQuery, SessionView, StateFilter, Store, StoreError, UpdateOutcome,
};
use crate::domain::append::{
    Append, Heads, Known, Locked, Needs, Outcome, StateAddress, Writes, creation_holds, decide, decide_creation, needs,
};
use crate::domain::event::StoredEvent;
use crate::domain::ids::{AppName, EventId, SessionKey, UserId, UserKey};
use crate::domain::json::{ObjectText, RawJson};
use crate::domain::scope::{Change, Scope};
use crate::domain::session::{Creation, Head, IfExists, MetadataPatch};
use crate::domain::tag::Tag;
use crate::domain::time::{Micros, Timestamp};

type Result<T> = std::result::Result<T, StoreError>;

/// How much one sweep does: it must fit into one time limit also where the database is far away, and it holds locks.
const SWEEP_SESSIONS: i64 = 50;
const SWEEP_ROWS: i64 = 1000;

/// The least time that a COMMIT is given, however close the deadline is: an unclear outcome is worse than a late one.
const COMMIT_GRACE: Duration = Duration::from_secs(1);

/// A database that can begin transactions.
pub trait Backend: Send + Sync + 'static {
    type Tx: Tx;

    fn migrate(&self) -> impl Future<Output = Result<()>> + Send;
    fn check(&self) -> impl Future<Output = Result<()>> + Send;
    /// Begins what reads one moment; `single` promises that it will be one statement.
    fn read(&self, single: bool) -> impl Future<Output = Result<Self::Tx>> + Send;
    fn write(&self) -> impl Future<Output = Result<Self::Tx>> + Send;
    /// How long one transaction may take, COMMIT aside.
    fn unit_limit(&self) -> Duration;
    fn pool(&self) -> PoolUse;
    fn close(&self) -> impl Future<Output = ()> + Send;
}

/// A locked row of a session, live or expired.
#[derive(Debug, Clone)]
pub struct LockedSession {
    pub key: SessionKey,
    pub incarnation: i64,
    pub revision: i64,
    pub metadata_revision: i64,
    pub expire_time: Option<Micros>,
}

impl LockedSession {
    fn is_live(&self, now: Micros) -> bool {
        self.expire_time.is_none_or(|at| at > now)
    }
}

/// A session row to be inserted.
pub struct SessionInsert<'a> {
    pub creation: &'a Creation,
    pub revision: i64,
    pub update_time: Timestamp,
    pub initial_state: String,
}

/// A transaction under way: what it can load, lock and apply. Dropping it undoes it.
pub trait Tx: Send {
    /// Locks the rows that exist, in key order.
    fn lock_sessions(
        &mut self,
        keys: &BTreeSet<&SessionKey>,
    ) -> impl Future<Output = Result<Vec<LockedSession>>> + Send;
    /// Locks scope rows, in the given order, made where they are missing; their revisions in that order.
    fn lock_users(&mut self, keys: &[&UserKey]) -> impl Future<Output = Result<Vec<i64>>> + Send;
    fn lock_apps(&mut self, keys: &[&AppName]) -> impl Future<Output = Result<Vec<i64>>> + Send;
    /// The revisions of scopes that exist, without locks.
    fn revisions(
        &mut self,
        users: &[&UserKey],
        apps: &[&AppName],
    ) -> impl Future<Output = Result<(HashMap<UserKey, i64>, HashMap<AppName, i64>)>> + Send;
    fn known_events(
        &mut self,
        ids: &[(&SessionKey, i64, &EventId)],
    ) -> impl Future<Output = Result<Vec<(SessionKey, EventId, Known)>>> + Send;

    /// Inserts the row; `false` if the session exists.
    fn insert_session(&mut self, insert: &SessionInsert<'_>) -> impl Future<Output = Result<bool>> + Send;
    fn set_created_revisions(
        &mut self,
        key: &SessionKey,
        user: i64,
        app: i64,
    ) -> impl Future<Output = Result<()>> + Send;
    fn apply(&mut self, writes: &Writes<'_>) -> impl Future<Output = Result<()>> + Send;
    fn set_metadata(
        &mut self,
        key: &SessionKey,
        patch: &MetadataPatch,
        now: Micros,
    ) -> impl Future<Output = Result<()>> + Send;
    fn write_scope(
        &mut self,
        scope: &ScopeKey,
        revision: i64,
        changes: &[Change],
    ) -> impl Future<Output = Result<()>> + Send;

    /// Removes the session's row and notes its incarnation for [`Tx::purge`].
    fn bury(&mut self, key: &SessionKey, incarnation: i64) -> impl Future<Output = Result<()>> + Send;
    fn expired(&mut self, now: Micros, limit: i64) -> impl Future<Output = Result<Vec<(SessionKey, i64)>>> + Send;
    fn next_buried(&mut self) -> impl Future<Output = Result<Option<(SessionKey, i64)>>> + Send;
    /// Removes up to `limit` rows that a buried incarnation left; how many there were.
    fn purge(&mut self, key: &SessionKey, incarnation: i64, limit: i64) -> impl Future<Output = Result<u64>> + Send;
    fn forget(&mut self, key: &SessionKey, incarnation: i64) -> impl Future<Output = Result<()>> + Send;

    fn view(&mut self, query: &SessionQuery) -> impl Future<Output = Result<Option<SessionView>>> + Send;
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
    backend: B,
    /// Told how long each transaction waited for its connection and BEGIN.
    on_wait: OnceLock<OnWait>,
}

impl<B: Backend> Transactions<B> {
    pub fn new(backend: B) -> Self {
        Self { backend, on_wait: OnceLock::new() }
    }

    /// Runs the part of a transaction before its end. Nothing has happened if this fails: dropping the
    /// transaction, which the caller then does, ends it without COMMIT.
    async fn within<T>(&self, deadline: Instant, work: impl Future<Output = Result<T>>) -> Result<T> {
        let limit = deadline.min(Instant::now() + self.backend.unit_limit());
        timeout_at(limit, work).await.unwrap_or_else(|_| Err(out_of_time()))
    }

    async fn read(&self, single: bool, deadline: Instant) -> Result<B::Tx> {
        self.begin(deadline, self.backend.read(single)).await
    }

    async fn write(&self, deadline: Instant) -> Result<B::Tx> {
        self.begin(deadline, self.backend.write()).await
    }

    /// Waits for a transaction to begin, and tells for how long, also if it was in vain.
    async fn begin(&self, deadline: Instant, begin: impl Future<Output = Result<B::Tx>>) -> Result<B::Tx> {
        let started = Instant::now();
        let begun = self.within(deadline, begin).await;
        if let Some(on_wait) = self.on_wait.get() {
            on_wait(started.elapsed());
        }
        begun
    }

    /// Ends a transaction that read, or wrote nothing after all: its end can lose nothing.
    async fn release(&self, tx: B::Tx, deadline: Instant) {
        let _ = self.within(deadline, tx.rollback()).await;
    }

    async fn commit(&self, tx: B::Tx, deadline: Instant) -> Result<()> {
        let limit = deadline.max(Instant::now() + COMMIT_GRACE);
        timeout_at(limit, tx.commit()).await.unwrap_or_else(|_| Err(out_of_time())).map_err(StoreError::in_commit)
    }

    /// Appends, and reads a session in the same transaction, if asked to.
    async fn append_then(
        &self,
        batch: &[Append],
        now: Micros,
        read: Option<&SessionQuery>,
        deadline: Instant,
    ) -> Result<(Vec<Outcome>, Option<SessionView>)> {
        let mut tx = self.write(deadline).await?;
        let (outcomes, wrote, view) = self
            .within(deadline, async {
                let (outcomes, wrote) = append(&mut tx, batch, now).await?;
                let view = match read {
                    Some(query) => tx.view(query).await?,
                    None => None,
                };
                Ok((outcomes, wrote, view))
            })
            .await?;
        self.end(tx, wrote, deadline).await?;
        Ok((outcomes, view))
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

fn out_of_time() -> StoreError {
    StoreError::new(Cause::Timeout, "the database did not answer within the time limit")
}

async fn append<X: Tx>(tx: &mut X, batch: &[Append], now: Micros) -> Result<(Vec<Outcome>, bool)> {
    let mut heads = load(tx, &needs(batch), now).await?;
    let mut writes = Writes::default();
    let outcomes = batch.iter().map(|append| decide(&mut heads, append, now, &mut writes)).collect();
    let wrote = !writes.is_empty();
    if wrote {
        tx.apply(&writes).await?;
    }
    Ok((outcomes, wrote))
}

/// Loads what a decision needs, under lock and in lock order. What is read without a lock is read after the session
/// is locked, so that the revisions that the events of one session saw never go backwards.
async fn load<X: Tx>(tx: &mut X, needs: &Needs<'_>, now: Micros) -> Result<Heads> {
    let mut heads = Heads::default();
    for row in tx.lock_sessions(&needs.sessions).await? {
        if row.is_live(now) {
            let LockedSession { incarnation, revision, metadata_revision, .. } = row;
            heads.sessions.insert(row.key, Locked { incarnation, revision, metadata_revision });
        }
    }
    // Sessions that are not there need nothing else.
    let live_users: BTreeSet<&UserKey> = heads.sessions.keys().map(|key| &key.user).collect();
    let live_apps: BTreeSet<&AppName> = heads.sessions.keys().map(SessionKey::app).collect();
    let (users, apps) = lock_scopes(
        tx,
        needs.users.iter().filter(|(key, _)| live_users.contains(*key)).map(|(key, lock)| (*key, *lock)),
        needs.apps.iter().filter(|(key, _)| live_apps.contains(*key)).map(|(key, lock)| (*key, *lock)),
    )
    .await?;
    heads.users = users;
    heads.apps = apps;
    let incarnation = |heads: &Heads, key: &SessionKey| heads.sessions.get(key).map(|locked| locked.incarnation);
    let ids: Vec<_> = needs
        .events
        .iter()
        .filter_map(|(key, id)| incarnation(&heads, key).map(|incarnation| (*key, incarnation, *id)))
        .collect();
    if !ids.is_empty() {
        for (key, id, known) in tx.known_events(&ids).await? {
            heads.known.entry(key).or_default().insert(id, known);
        }
    }
    for address in &needs.keys {
        let incarnation = match address {
            StateAddress::Session(key, _) => incarnation(&heads, key),
            StateAddress::User(..) | StateAddress::App(..) => Some(0),
        };
        if let Some(incarnation) = incarnation
            && tx.value(address, incarnation).await?.is_some()
        {
            heads.present.insert(address.clone());
        }
    }
    Ok(heads)
}

/// Locks the scopes that are to be held, users first, and reads the others.
async fn lock_scopes<X: Tx>(
    tx: &mut X,
    users: impl Iterator<Item = (&UserKey, bool)>,
    apps: impl Iterator<Item = (&AppName, bool)>,
) -> Result<(HashMap<UserKey, i64>, HashMap<AppName, i64>)> {
    let (lock_users, read_users): (Vec<_>, Vec<_>) = users.partition(|(_, lock)| *lock);
    let (lock_apps, read_apps): (Vec<_>, Vec<_>) = apps.partition(|(_, lock)| *lock);
    let (lock_users, read_users) = (keys(lock_users), keys(read_users));
    let (lock_apps, read_apps) = (keys(lock_apps), keys(read_apps));
    let mut locked = (HashMap::new(), HashMap::new());
    if !lock_users.is_empty() {
        let revisions = tx.lock_users(&lock_users).await?;
        locked.0.extend(lock_users.iter().map(|key| (*key).clone()).zip(revisions));
    }
    if !lock_apps.is_empty() {
        let revisions = tx.lock_apps(&lock_apps).await?;
        locked.1.extend(lock_apps.iter().map(|key| (*key).clone()).zip(revisions));
    }
    if !(read_users.is_empty() && read_apps.is_empty()) {
        let (users, apps) = tx.revisions(&read_users, &read_apps).await?;
        locked.0.extend(users);
        locked.1.extend(apps);
    }
    Ok(locked)
}

fn keys<K>(list: Vec<(K, bool)>) -> Vec<K> {
    list.into_iter().map(|(key, _)| key).collect()
}

/// Inserts the session first, so that its row is the first lock, as everywhere.
async fn create<X: Tx>(tx: &mut X, creation: &Creation) -> Result<(CreateOutcome, bool)> {
    let Ok(plan) = decide_creation(creation, 0, 0) else {
        return Ok((CreateOutcome::EventIdConflict, false));
    };
    let insert = SessionInsert {
        creation,
        revision: plan.tag.revision,
        update_time: match plan.writes.sessions.get(&creation.key) {
            Some(update) => update.update_time.clone(),
            None => creation.now.into(),
        },
        initial_state: initial_state(&creation.state),
    };
    let query = whole_session(&creation.key, creation.now);
    // Others may delete and create the same id meanwhile; each turn sees what they have committed by then.
    while !tx.insert_session(&insert).await? {
        let Some(existing) = tx.lock_sessions(&BTreeSet::from([&creation.key])).await?.into_iter().next() else {
            continue;
        };
        if existing.is_live(creation.now) {
            // Our own, from a try whose COMMIT was not answered.
            if existing.incarnation == creation.incarnation {
                return Ok((view(tx, &query).await.map(CreateOutcome::Created)?, false));
            }
            return match creation.if_exists {
                IfExists::Refuse => Ok((CreateOutcome::AlreadyExists, false)),
                IfExists::Return => Ok((view(tx, &query).await.map(CreateOutcome::Existing)?, false)),
            };
        }
        tx.bury(&creation.key, existing.incarnation).await?;
    }
    let (hold_user, hold_app) = creation_holds(creation);
    let (user, app) = (&creation.key.user, creation.key.app());
    let (users, apps) = lock_scopes(tx, std::iter::once((user, hold_user)), std::iter::once((app, hold_app))).await?;
    let (user, app) = (users.get(user).copied().unwrap_or(0), apps.get(app).copied().unwrap_or(0));
    let Ok(mut created) = decide_creation(creation, user, app) else {
        return Ok((CreateOutcome::EventIdConflict, false));
    };
    // The row was inserted with the revision and time that it ends with.
    created.writes.sessions.clear();
    tx.apply(&created.writes).await?;
    let Tag { user, app, .. } = created.tag;
    if (user, app) != (0, 0) {
        tx.set_created_revisions(&creation.key, user, app).await?;
    }
    Ok((view(tx, &query).await.map(CreateOutcome::Created)?, true))
}

/// The session keys of an initial state, as one JSON object.
fn initial_state(changes: &[Change]) -> String {
    let mut state = ObjectText::default();
    for change in changes.iter().filter(|change| change.scope == Scope::Session) {
        if let Some(value) = &change.value {
            state.push(&change.key, value.text());
        }
    }
    state.close()
}

fn whole_session(key: &SessionKey, now: Micros) -> SessionQuery {
    SessionQuery {
        key: key.clone(),
        now,
        incarnation: None,
        state: Some(StateFilter::default()),
        events: Some(super::EventQuery::all()),
    }
}

/// Reads a session that this transaction holds. That it is not there would be a bug.
async fn view<X: Tx>(tx: &mut X, query: &SessionQuery) -> Result<SessionView> {
    // A session that was created already expired is shown once, to its creator.
    let query = SessionQuery { now: Micros(i64::MIN), ..query.clone() };
    tx.view(&query).await?.ok_or_else(|| StoreError::new(Cause::Internal, "a locked session is not there"))
}

async fn locked_live<X: Tx>(tx: &mut X, key: &SessionKey, now: Micros) -> Result<Option<LockedSession>> {
    Ok(tx.lock_sessions(&BTreeSet::from([key])).await?.into_iter().find(|row| row.is_live(now)))
}

/// Whether the precondition of a change that writes no state holds; the scopes are read, not held.
async fn mismatch<X: Tx>(
    tx: &mut X,
    row: &LockedSession,
    if_match: Option<&crate::domain::tag::IfMatch>,
) -> Result<Option<i64>> {
    let Some(if_match) = if_match else { return Ok(None) };
    let (user, app) = (&row.key.user, row.key.app());
    let (users, apps) = tx.revisions(&[user], &[app]).await?;
    let tag = Tag {
        revision: row.revision,
        user: users.get(user).copied().unwrap_or(0),
        app: apps.get(app).copied().unwrap_or(0),
        incarnation: row.incarnation,
        metadata: row.metadata_revision,
    };
    Ok((!if_match.holds(&tag)).then_some(row.revision))
}

async fn update_metadata<X: Tx>(tx: &mut X, update: &MetadataUpdate) -> Result<(UpdateOutcome, bool)> {
    let Some(row) = locked_live(tx, &update.key, update.now).await? else {
        return Ok((UpdateOutcome::SessionNotFound, false));
    };
    if let Some(revision) = mismatch(tx, &row, update.if_match.as_ref()).await? {
        return Ok((UpdateOutcome::RevisionMismatch { revision }, false));
    }
    if !update.patch.is_empty() {
        tx.set_metadata(&update.key, &update.patch, update.now).await?;
    }
    Ok((view(tx, &whole_session(&update.key, update.now)).await.map(UpdateOutcome::Done)?, !update.patch.is_empty()))
}

async fn delete<X: Tx>(tx: &mut X, delete: &Deletion) -> Result<(DeleteOutcome, bool)> {
    let row = tx.lock_sessions(&BTreeSet::from([&delete.key])).await?.into_iter().next();
    let Some(row) = row.filter(|row| row.incarnation == delete.incarnation) else {
        return Ok((DeleteOutcome::Done, false));
    };
    if let Some(revision) = mismatch(tx, &row, delete.if_match.as_ref()).await? {
        return Ok((DeleteOutcome::RevisionMismatch { revision }, false));
    }
    tx.bury(&delete.key, row.incarnation).await?;
    Ok((DeleteOutcome::Done, true))
}

async fn write_scope<X: Tx>(tx: &mut X, write: &ScopeWrite) -> Result<(ScopeOutcome, bool)> {
    let revision = match &write.scope {
        ScopeKey::User(key) => tx.lock_users(&[key]).await?,
        ScopeKey::App(key) => tx.lock_apps(&[key]).await?,
    }
    .first()
    .copied()
    .unwrap_or(0);
    if write.if_match.as_ref().is_some_and(|if_match| !if_match.holds_for_scope(revision)) {
        return Ok((ScopeOutcome::RevisionMismatch { revision }, false));
    }
    let wrote = !write.changes.is_empty();
    if wrote {
        tx.write_scope(&write.scope, revision + 1, &write.changes).await?;
    }
    Ok((ScopeOutcome::Done(tx.scope(&write.scope).await?), wrote))
}

/// Buries what has expired, then removes rows of one buried incarnation.
async fn sweep<X: Tx>(tx: &mut X, now: Micros) -> Result<bool> {
    let expired = tx.expired(now, SWEEP_SESSIONS).await?;
    for (key, incarnation) in &expired {
        tx.bury(key, *incarnation).await?;
    }
    let Some((key, incarnation)) = tx.next_buried().await? else { return Ok(false) };
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

    async fn create(&self, creation: &Creation, deadline: Instant) -> Result<CreateOutcome> {
        let mut tx = self.write(deadline).await?;
        let (outcome, wrote) = self.within(deadline, create(&mut tx, creation)).await?;
        self.end(tx, wrote, deadline).await?;
        Ok(outcome)
    }

    async fn append(&self, batch: &[Append], now: Micros, deadline: Instant) -> Result<Vec<Outcome>> {
        Ok(self.append_then(batch, now, None, deadline).await?.0)
    }

    async fn append_and_read(
        &self,
        append: &Append,
        now: Micros,
        deadline: Instant,
    ) -> Result<(Outcome, Option<SessionView>)> {
        let query = SessionQuery { events: None, ..whole_session(&append.key, now) };
        let (outcomes, view) = self.append_then(std::slice::from_ref(append), now, Some(&query), deadline).await?;
        Ok((outcomes.into_iter().next().unwrap_or(Outcome::SessionNotFound), view))
    }

    async fn update_metadata(&self, update: &MetadataUpdate, deadline: Instant) -> Result<UpdateOutcome> {
        let mut tx = self.write(deadline).await?;
        let (outcome, wrote) = self.within(deadline, update_metadata(&mut tx, update)).await?;
        self.end(tx, wrote, deadline).await?;
        Ok(outcome)
    }

    async fn delete(&self, deletion: &Deletion, deadline: Instant) -> Result<DeleteOutcome> {
        let mut tx = self.write(deadline).await?;
        let (outcome, wrote) = self.within(deadline, delete(&mut tx, deletion)).await?;
        self.end(tx, wrote, deadline).await?;
        Ok(outcome)
    }

    async fn write_scope(&self, write: &ScopeWrite, deadline: Instant) -> Result<ScopeOutcome> {
        let mut tx = self.write(deadline).await?;
        let (outcome, wrote) = self.within(deadline, write_scope(&mut tx, write)).await?;
        self.end(tx, wrote, deadline).await?;
        Ok(outcome)
    }

    async fn session(&self, query: &SessionQuery, deadline: Instant) -> Result<Option<SessionView>> {
        let mut tx = self.read(query.events.is_none(), deadline).await?;
        let view = self.within(deadline, tx.view(query)).await?;
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
        let page = self.within(deadline, tx.list(query, now)).await?;
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

    async fn sweep(&self, now: Micros, deadline: Instant) -> Result<bool> {
        let mut tx = self.write(deadline).await?;
        let more = self.within(deadline, sweep(&mut tx, now)).await?;
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
    let query = SessionQuery { key: key.clone(), now, incarnation: None, state: None, events: None };
    Ok(tx.view(&query).await?.map(|view| view.head))
}

/// A stored id that breaks the rules of ids: the database was written by something else.
pub fn corrupt(what: &'static str) -> StoreError {
    StoreError::new(Cause::Internal, format!("a stored id is invalid: it {what}"))
}
