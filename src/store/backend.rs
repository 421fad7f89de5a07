//! What a database brings: transactions, and what can be loaded, locked and applied within one. No rules.

use std::collections::{BTreeSet, HashMap};
use std::future::Future;
use std::sync::Arc;

use super::error::{Result, StoreError};
use super::limits::StoreLimits;
use super::pool::{Nodes, PoolUse};
use super::shape::Shape;
use super::sql::query::Sql;
pub use super::sql::rows::{Buried, IncarnationRow};
use crate::domain::erasure::Subject;
use crate::domain::ids::{AppName, ScopeRef, SessionKey, StateAddress, UserId};
use crate::domain::loaded::{Loaded, LockedSession, Needs, Revisions, StateEntry};
use crate::domain::query::{SessionQuery, SessionView};
use crate::domain::session::Creation;
use crate::domain::tag::Timeline;
use crate::domain::time::{Micros, Timestamp};
use crate::domain::writes::{ChangeRow, Writes};

/// A database, beside its transactions.
pub trait Database: Send + Sync + 'static {
    /// `sqlite` or `postgresql`.
    const NAME: &'static str;

    fn shape(&self) -> Shape;
    /// Whether a statement may be a transaction of its own. Then appends are optimistic: [`Tx::read_heads`], then
    /// [`Tx::commit_if_unchanged`].
    fn is_optimistic(&self) -> bool;
    fn migrate(&self) -> impl Future<Output = Result<()>> + Send;
    /// Distributes the tables by app over the nodes of the database.
    fn distribute(&self) -> impl Future<Output = Result<()>> + Send {
        async { Err(StoreError::config("only PostgreSQL can be distributed")) }
    }
    /// As of the last [`Database::check`], if the database is distributed.
    fn nodes(&self) -> Option<Nodes> {
        None
    }
    fn check(&self) -> impl Future<Output = Result<Standby>> + Send;
    /// Whether another process has the database open; `None` where that cannot be told.
    fn is_open_elsewhere(&self) -> impl Future<Output = Result<Option<bool>>> + Send;
    fn clock(&self) -> impl Future<Output = Result<DatabaseClock>> + Send;
    /// Whether [`Tx::views`] answers the query with one statement.
    fn is_one_statement(&self, query: &SessionQuery) -> bool;
    /// Whether [`Tx::view_at_once`] may answer it.
    fn may_be_one_statement(&self, _query: &SessionQuery) -> bool {
        false
    }
    /// Whether [`Tx::views`] may read it together with other queries.
    fn may_share(&self, query: &SessionQuery) -> bool;
    /// How many transactions of appends may run at once.
    fn writers(&self) -> usize;
    /// Overwrites what was removed by now wherever this process can reach it: in its files.
    fn scrub(&self) -> impl Future<Output = Result<Scrubbed>> + Send;
    /// Moves what was written to where it stays, if nothing was written since the last call: a server that is idle leaves nothing
    /// elsewhere.
    fn settle(&self) -> impl Future<Output = Result<()>> + Send {
        async { Ok(()) }
    }
    /// Sets the clock of a database that has none of its own. Only the first call counts.
    fn set_clock(&self, _now: Now) {}
    fn limits(&self) -> StoreLimits;
    /// Whether there is a change feed. Not where the database is distributed: there, transactions have no snapshot in common.
    fn feeds(&self) -> bool {
        self.limits().feeds() && !self.shape().is_distributed()
    }
    fn pool(&self) -> PoolUse;
    fn close(&self) -> impl Future<Output = ()> + Send;
}

/// When what a transaction commits outlasts a crash of the machine, or of the database's server.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Durable {
    /// When it is answered.
    AtOnce,
    /// With the next commit that is durable at once, which may be of another connection. A log is written in order, so what makes that
    /// one durable makes this one so, too; and what a crash undoes of these is the end of a row of them, never one without those after it.
    Later,
}

/// A database that can begin transactions. Who begins one is [`run`](super::run) alone.
pub trait Backend: Database {
    type Tx: Tx;

    /// Begins a read of one snapshot; `single` promises that it will be one statement.
    fn read(&self, single: bool) -> impl Future<Output = Result<Self::Tx>> + Send;
    fn write(&self, durable: Durable) -> impl Future<Output = Result<Self::Tx>> + Send;
    /// Begins what one statement will commit: [`Tx::commit_if_unchanged`] or [`Tx::create_at_once`].
    fn at_once(&self) -> impl Future<Output = Result<Self::Tx>> + Send;
}

/// A session row to be inserted.
pub struct SessionInsert<'a> {
    pub creation: &'a Creation,
    pub subject: Subject,
    pub revision: i64,
    /// Of the last event; without one it is the time of the creation.
    pub update_time: Option<Timestamp>,
    pub initial_state: String,
}

/// What the database recorded with the events of a session that it wrote.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Noted {
    /// The revisions of user and app state that they saw.
    pub user: i64,
    pub app: i64,
    pub commit_time: Micros,
}

/// What was recorded, by incarnation.
pub type Seen = HashMap<i64, Noted>;

/// The clock of a database that has none of its own.
pub type Now = Arc<dyn Fn() -> Micros + Send + Sync>;

/// The result of [`Tx::commit_if_unchanged`]. Losing a race is normal: it is no error, and is not logged.
#[derive(Debug)]
pub enum Verdict {
    Written(Seen),
    /// A head has changed since the decision, or an event id is taken: nothing was written.
    Conflict,
    /// Another transaction has a head locked: nothing was written.
    Busy,
}

/// The part of a transaction in the change feed.
pub trait FeedTx: Sql {
    /// Whether the change feed is on.
    fn feeds(&self) -> bool;
    /// Adds changes to the feed. Writes of one statement do this themselves.
    fn record(&mut self, changes: &[ChangeRow<'_>]) -> impl Future<Output = Result<()>> + Send;
    /// Adds a tick to the feed, if anything was committed since the last one, and that was not a moment ago, and repairs a feed that was
    /// restored. `at_once`: the last tick then has all that was committed before the call.
    fn tick(&mut self, at_once: bool) -> impl Future<Output = Result<()>> + Send;
    /// The names of apps and users in the changes of the ticks after one up to another, up to a limit.
    fn ticked(
        &mut self,
        after: i64,
        through: i64,
        limit: i64,
    ) -> impl Future<Output = Result<Vec<(AppName, Option<UserId>)>>> + Send;
    /// Ends the feed: no position from before holds. Unless `always`, only if something was recorded since the last end.
    fn end_feed(&mut self, always: bool) -> impl Future<Output = Result<()>> + Send;
    /// Removes ticks that are older, in microseconds, but for the last one, and up to `limit` changes before the oldest that is left; how
    /// many there were. `now` counts where the database has no clock.
    fn prune_feed(&mut self, now: Micros, age: i64, limit: i64) -> impl Future<Output = Result<u64>> + Send;
}

/// An open transaction: what it can load, lock and apply. Dropping it rolls it back.
pub trait Tx: FeedTx {
    /// The timeline on which it reads.
    fn timeline(&self) -> Timeline;

    /// Locks the rows that exist, in key order. Rows that another transaction has locked are waited for, or left out.
    fn lock_sessions(
        &mut self,
        keys: &BTreeSet<&SessionKey>,
        on_locked: OnLocked,
    ) -> impl Future<Output = Result<Vec<LockedSession>>> + Send;
    /// Locks the rows of shared scopes, which are given in their order; missing rows are created.
    fn lock_scopes(&mut self, scopes: &[ScopeRef<'_>]) -> impl Future<Output = Result<()>> + Send;
    /// Reads heads, and events by their ids, without locks and all at one moment.
    fn read_heads(&mut self, needs: &Needs<'_>) -> impl Future<Output = Result<Loaded>> + Send;
    /// Reads the revisions of sessions, in the order of their keys, without locks; nothing of one that is not there or, by the
    /// database's clock if it has one, else by `now`, has expired.
    fn read_revisions(
        &mut self,
        keys: &[SessionKey],
        now: Micros,
    ) -> impl Future<Output = Result<Vec<Option<Revisions>>>> + Send {
        async move {
            let needs = Needs { sessions: keys.iter().collect(), ..Needs::default() };
            let heads = self.read_heads(&needs).await?.sessions;
            let live = |key| heads.get(key).filter(|head| head.is_live(now)).map(Revisions::from);
            Ok(keys.iter().map(live).collect())
        }
    }
    /// Writes and commits in one statement, if every head is still what it was. Reads the revisions that are
    /// [`UNREAD`](crate::domain::loaded::UNREAD). Where others may write ([`Shape::is_shared`]), all is of one app. Events are committed
    /// as by [`Tx::apply`].
    fn commit_if_unchanged(&mut self, writes: &Writes<'_>) -> impl Future<Output = Result<Verdict>> + Send;
    /// Whether a write that commits with its statement may have committed if it was cut off.
    fn may_have_committed(&self) -> bool;

    /// Inserts, in key order, the sessions whose id and idempotency key are unused, each with the present revisions of user and app
    /// state. Returns their incarnations.
    fn insert_sessions(&mut self, inserts: &[SessionInsert<'_>]) -> impl Future<Output = Result<Vec<i64>>> + Send;
    /// Creates [simple](Creation::is_simple) sessions of one app in one statement, which commits. Returns those that it created, with
    /// their merged states unless no creation shows it. The ids or the idempotency keys of the others are in use.
    fn create_at_once(
        &mut self,
        inserts: &[SessionInsert<'_>],
    ) -> impl Future<Output = Result<Vec<SessionView>>> + Send;
    /// Events are committed now, by the database's clock if it has one, and never before the last one of their session.
    fn apply(&mut self, writes: &Writes<'_>) -> impl Future<Output = Result<Seen>> + Send;

    /// The state rows of these keys, of sessions with their incarnations; keys that are not there are left out.
    fn values(
        &mut self,
        keys: &[(&StateAddress, i64)],
    ) -> impl Future<Output = Result<Vec<(StateAddress, StateEntry)>>> + Send;

    /// Protects a session against deletion, but not against changes.
    fn keep_session(&mut self, key: &SessionKey) -> impl Future<Output = Result<Option<LockedSession>>> + Send;
    /// Expired sessions, by the database's clock if it has one, else by `now`.
    fn expired(&mut self, now: Micros, limit: i64) -> impl Future<Output = Result<Vec<IncarnationRow>>> + Send;
    fn next_buried(&mut self) -> impl Future<Output = Result<Option<Buried>>> + Send;
    /// Locks the users for whom these numbers stand, in their order, until the transaction ends.
    fn hold_users(&mut self, users: &[i64], lock: UserLock) -> impl Future<Output = Result<()>> + Send;

    /// Reads sessions, in their order; several only if [`Database::may_share`] allows each, and all are of one app where
    /// [`Shape::batches_by_app`].
    fn views(&mut self, queries: &[&SessionQuery]) -> impl Future<Output = Result<Vec<Option<SessionView>>>> + Send;
    /// Reads a session with one statement, if that suffices for what is stored.
    fn view_at_once(&mut self, _query: &SessionQuery) -> impl Future<Output = Result<Read>> + Send {
        async { Ok(Read::Unfinished) }
    }

    fn commit(self) -> impl Future<Output = Result<()>> + Send;
    fn rollback(self) -> impl Future<Output = Result<()>> + Send;
}

/// What one statement has read.
pub enum Read {
    Done(Option<SessionView>),
    /// It lacks a large body, or what rewinds and compactions leave.
    Unfinished,
}

/// What is left of rows that were removed, where files are overwritten.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scrubbed {
    /// Nothing.
    Clean,
    /// Perhaps copies in unused parts of pages of a file that is too large to be written anew.
    Slack,
    /// All that the database keeps for itself: its files are not this process's.
    Foreign,
    /// Readers of this process are in the way: to be tried again.
    Occupied,
    /// A reader of another program is in the way: to be tried again.
    Busy,
}

/// With whom a lock of a user is shared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UserLock {
    /// With all who make something for the user.
    Shared,
    /// With nobody: an erasure.
    Alone,
}

/// What to do about sessions that another transaction has locked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OnLocked {
    Wait,
    /// Wait, also for who copies them, and let nobody copy them until the transaction ends.
    WaitAlone,
    /// Leave them out. Sessions that do not exist look the same.
    Skip,
}

/// Whether a standby has what is acknowledged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standby {
    /// There is none.
    Absent,
    /// Commits wait for one.
    Awaited,
    /// There is one, and commits do not wait for it: it may lack what was acknowledged last.
    NotAwaited,
    /// Nobody can tell, as the server takes no writes: `default_transaction_read_only` is on, or its transaction ids are used up.
    ReadOnly,
    /// The last write failed for want of space.
    Full,
}

/// The clock of a database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DatabaseClock {
    /// Its current time; where it has several nodes with clocks of their own, the earliest and the latest. It decides whether
    /// sessions have expired.
    Own(Micros, Micros),
    /// It has only the clock of its one process. The latest time at which a session or an event was created, if any.
    OfProcess(Option<Micros>),
}
