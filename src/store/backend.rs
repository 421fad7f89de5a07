//! What a database brings: transactions, and what can be loaded, locked and applied within one. No rules.

use std::collections::{BTreeSet, HashMap};
use std::future::Future;

use super::error::StoreError;
use super::limits::StoreLimits;
use super::pool::PoolUse;
use crate::domain::command::Fork;
use crate::domain::event::StoredEvent;
use crate::domain::ids::{AppName, EventId, IdempotencyKey, ScopeKey, SessionKey, StateAddress, UserKey};
use crate::domain::json::RawJson;
use crate::domain::loaded::{Loaded, Needs, SessionHead, StateEntry};
use crate::domain::query::{ListQuery, Page, ScopeView, SessionQuery, SessionView, StateFilter};
use crate::domain::request_key::RequestKey;
use crate::domain::rewind::Difference;
use crate::domain::session::{Creation, MetadataPatch, SessionInfo};
use crate::domain::tag::{Tag, Timeline};
use crate::domain::time::{Micros, Timestamp};
use crate::domain::writes::Writes;

type Result<T> = std::result::Result<T, StoreError>;

/// A database that can begin transactions.
pub trait Backend: Send + Sync + 'static {
    type Tx: Tx;

    /// Whether appends are optimistic: [`Tx::read_heads`], then [`Tx::commit_if_unchanged`].
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
    /// Begins what ends with [`Tx::commit_if_unchanged`].
    fn optimistic(&self) -> impl Future<Output = Result<Self::Tx>> + Send;
    fn batching(&self) -> Batching;
    fn limits(&self) -> StoreLimits;
    fn pool(&self) -> PoolUse;
    fn close(&self) -> impl Future<Output = ()> + Send;
}

/// A locked row of a session, live or expired.
#[derive(Debug, Clone)]
pub struct LockedSession {
    pub key: SessionKey,
    pub head: SessionHead,
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

/// What became of [`Tx::commit_if_unchanged`]. Losing a race is no error: it is normal, and is in no log.
#[derive(Debug)]
pub enum Verdict {
    Written(Seen),
    /// A head is no more what was decided on, or an event id is taken: nothing was written.
    Conflict,
    /// Somebody else has a head locked: nothing was written.
    Busy,
}

/// A transaction under way: what it can load, lock and apply. Dropping it undoes it.
pub trait Tx: Send {
    /// Whether others may write meanwhile what is not locked.
    const CONCURRENT: bool;

    /// The timeline of all that it reads.
    fn timeline(&self) -> Timeline;

    /// Locks the rows that exist, in key order; those that someone else has locked are waited for, or left out.
    fn lock_sessions(
        &mut self,
        keys: &BTreeSet<&SessionKey>,
        on_locked: OnLocked,
    ) -> impl Future<Output = Result<Vec<LockedSession>>> + Send;
    /// Locks scope rows, in the given order, made where they are missing.
    fn lock_users(&mut self, keys: &[&UserKey]) -> impl Future<Output = Result<()>> + Send;
    fn lock_apps(&mut self, keys: &[&AppName]) -> impl Future<Output = Result<()>> + Send;
    /// Reads heads, and events by their ids, without locks and all at one moment.
    fn read_heads(&mut self, needs: &Needs<'_>) -> impl Future<Output = Result<Loaded>> + Send;
    /// Writes and commits in one statement, if every head is still what it was. Reads the revisions that are
    /// [`UNREAD`](crate::domain::loaded::UNREAD). Where others may write ([`Tx::CONCURRENT`]), all is of one app.
    fn commit_if_unchanged(&mut self, writes: &Writes<'_>) -> impl Future<Output = Result<Verdict>> + Send;
    /// Whether a [`Tx::commit_if_unchanged`] that was cut off may have committed.
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
    ) -> impl Future<Output = Result<Vec<(StateAddress, StateEntry)>>> + Send;
    /// The revisions at which keys that are not there were removed, all of one owner: at least if that was after `since`.
    /// `locked` is the session, of session keys.
    fn removed_since(
        &mut self,
        addresses: &[&StateAddress],
        locked: Option<SessionHead>,
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
        head: &SessionInfo,
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

/// What to do about sessions that another transaction has locked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnLocked {
    Wait,
    /// Leave them out; also those that are not there, which look the same.
    Skip,
}

/// How appends share transactions best.
#[derive(Debug, Clone, Copy)]
pub struct Batching {
    /// A batch is of one app: where others write too, it is one call that can be sent to where the app's data is.
    pub one_app: bool,
    /// How many transactions may be under way at once.
    pub writers: usize,
}

/// The clock of a database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DatabaseClock {
    /// What it says now. It judges whether sessions have expired.
    Own(Micros),
    /// It has none but that of its one process. The latest time at which a session or an event was made, if there is one.
    OfProcess(Option<Micros>),
}
