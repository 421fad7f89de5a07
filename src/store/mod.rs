//! What the service asks of a database, and the two databases that answer.
//!
//! - [`Store`]: one method is one transaction; no transaction handle leaves this module
//! - [`transactions`]: the transactions themselves, written once over [`transactions::Tx`]
//! - `unlocked`: appends without locks; `group`: reads and creations that go together; `look`: what an append looks at
//! - `database_url`: what a database URL may say; `postgres_connect`: making connections, and why one cannot be made
//! - `pool`: connections between one transaction and the next
//! - `postgres`, `sqlite`: the primitives of each database: lock, load, apply; no rules
//! - `sql`: the statements that both databases share; `write_statement` and `read_statement`, `sqlite_rows`: those of each
//!   that have many rows
//! - [`inspect`]: what `sessiond verify` reads, beside a server or without one
//! - [`error`]: what a failure means for the caller, SQLSTATE by SQLSTATE

mod database_url;
mod error;
mod group;
pub mod inspect;
mod look;
mod pool;
mod postgres;
mod postgres_connect;
mod read_statement;
mod shared;
mod sql;
mod sqlite;
mod sqlite_rows;
mod statement;
mod transactions;
mod unlocked;
mod write_statement;

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use database_url::DatabaseUrl;
use tokio::time::Instant;

use crate::domain::append::{Append, Outcome};
use crate::domain::command::{
    AppendOutcome, CreateOutcome, DeleteOutcome, Deletion, Fork, ForkOutcome, MetadataUpdate, RewindOutcome,
    RewindRequest, ScopeOutcome, UpdateOutcome,
};
use crate::domain::event::StoredEvent;
use crate::domain::ids::{AppName, EventId, ScopeKey, SessionKey, UserId};
use crate::domain::json::RawJson;
use crate::domain::query::{ListQuery, Moment, MomentQuery, Page, ScopeView, SessionQuery, SessionView};
use crate::domain::scope::Scope;
use crate::domain::scope_write::ScopeWrite;
use crate::domain::session::{Creation, Head};
use crate::domain::time::Micros;

pub use error::{Cause, StoreError};
pub use postgres::PostgresOptions;
pub use sql::CLOCK_TOLERANCE;

/// Time limits on what is asked of a database. The server keeps those on a statement and on the wait for a lock (SQLite
/// that on the wait alone); on our side, the beginning of a transaction and its work are each bounded by `acquire` and
/// `statement` together, and by the deadline.
#[derive(Debug, Clone, Copy)]
pub struct StoreLimits {
    pub statement: Duration,
    pub lock_wait: Duration,
    pub acquire: Duration,
    /// Connections to the database (PostgreSQL) or readers (SQLite, which has one writer besides).
    pub connections: u32,
}

impl Default for StoreLimits {
    fn default() -> Self {
        Self {
            statement: Duration::from_secs(5),
            lock_wait: Duration::from_secs(2),
            acquire: Duration::from_secs(2),
            connections: 16,
        }
    }
}

/// Opens the database that `url` names; connects lazily, changes nothing.
///
/// # Errors
/// A URL of another kind or form, a SQLite file that cannot be opened or that another process holds.
pub async fn open(url: &str, options: PostgresOptions, limits: StoreLimits) -> Result<Arc<dyn Store>, StoreError> {
    match DatabaseUrl::parse(url)? {
        DatabaseUrl::Postgres(url) => {
            Ok(Arc::new(transactions::Transactions::new(postgres::Postgres::open(&url, options, limits)?)))
        }
        DatabaseUrl::Sqlite(path) => {
            Ok(Arc::new(transactions::Transactions::new(sqlite::Sqlite::open(path, limits).await?)))
        }
    }
}

/// Whether [`open`] would take the URL, as far as the URL itself tells.
///
/// # Errors
/// What is wrong with it, without any value in it.
pub fn check_url(url: &str) -> Result<(), StoreError> {
    match DatabaseUrl::parse(url)? {
        DatabaseUrl::Postgres(url) => postgres_connect::options(&url).map(drop),
        DatabaseUrl::Sqlite(_) => Ok(()),
    }
}

/// A database of sessions. Every method is one transaction, or one statement, and shows one moment. Where it has a clock of
/// its own, that clock judges whether a session has expired, and `now` is what the calling process thinks.
///
/// `deadline` bounds the whole call. A write that returns `Ok` is durable; one that fails says in its error whether
/// it may have happened all the same.
#[async_trait]
pub trait Store: Send + Sync + 'static {
    /// Applies pending migrations, one process at a time; none pending is fine.
    async fn migrate(&self) -> Result<(), StoreError>;

    /// Reachable, and every migration of this binary applied.
    async fn check(&self, deadline: Instant) -> Result<(), StoreError>;

    /// Creates a session, or finds it.
    async fn create(&self, creation: &Arc<Creation>, deadline: Instant) -> Result<CreateOutcome, StoreError>;

    /// Appends to sessions in one transaction; each append is judged on its own, in the given order.
    async fn append(&self, batch: &[Arc<Append>], busy: Busy, deadline: Instant) -> Result<Vec<Judged>, StoreError>;

    /// Which appends should go together.
    fn batching(&self) -> Batching;

    async fn update_metadata(&self, update: &MetadataUpdate, deadline: Instant) -> Result<UpdateOutcome, StoreError>;

    /// Removes a session at once; its rows follow in [`Store::sweep`].
    async fn delete(&self, delete: &Deletion, deadline: Instant) -> Result<DeleteOutcome, StoreError>;

    /// Creates a session from another one's past.
    async fn fork(&self, fork: &Fork, deadline: Instant) -> Result<ForkOutcome, StoreError>;

    /// Appends the event that rewinds a session, and reads the session in the same transaction.
    async fn rewind(&self, rewind: &RewindRequest, deadline: Instant) -> Result<RewindOutcome, StoreError>;

    /// Reads the merged state as it was when an event had committed.
    async fn moment(&self, query: &MomentQuery, deadline: Instant) -> Result<Moment, StoreError>;

    /// Changes app or user state on its own.
    async fn write_scope(&self, write: &ScopeWrite, deadline: Instant) -> Result<ScopeOutcome, StoreError>;

    /// Reads a session; `None` if there is none, or it has expired.
    async fn session(&self, query: &SessionQuery, deadline: Instant) -> Result<Option<SessionView>, StoreError>;

    /// Reads one event with its session's head: `None` without a session, and within, without the event.
    async fn event(
        &self,
        key: &SessionKey,
        id: &EventId,
        now: Micros,
        deadline: Instant,
    ) -> Result<Option<(Head, Option<StoredEvent>)>, StoreError>;

    /// Reads one value with its session's head.
    async fn value(
        &self,
        key: &SessionKey,
        scope: Scope,
        state_key: &str,
        now: Micros,
        deadline: Instant,
    ) -> Result<Option<(Head, Option<RawJson>)>, StoreError>;

    /// Reads app or user state on its own: revision 0 and `{}` if there is none.
    async fn scope(&self, scope: &ScopeKey, deadline: Instant) -> Result<ScopeView, StoreError>;

    /// A page of live sessions, in the order that the query asks for.
    async fn sessions(
        &self,
        query: &ListQuery,
        now: Micros,
        deadline: Instant,
    ) -> Result<Page<SessionView>, StoreError>;

    /// Names in byte order, after `after`: of apps, or of the users of an app.
    async fn apps(&self, after: &str, limit: usize, deadline: Instant) -> Result<Vec<AppName>, StoreError>;
    async fn users(
        &self,
        app: &AppName,
        after: &str,
        limit: usize,
        deadline: Instant,
    ) -> Result<Vec<UserId>, StoreError>;

    /// What time the database thinks it is.
    async fn clock(&self, deadline: Instant) -> Result<DatabaseClock, StoreError>;

    /// Removes one chunk of what was deleted and, with `expired`, of what has expired; whether there is more to do.
    async fn sweep(&self, now: Micros, expired: bool, deadline: Instant) -> Result<bool, StoreError>;

    /// Connections in use and open, for the metrics.
    fn pool(&self) -> PoolUse;

    /// Whom to tell how long each transaction waited for its connection and BEGIN. The first call counts.
    fn watch_waits(&self, on_wait: OnWait);

    async fn close(&self);
}

/// Told of a wait; called on the hot path: be quick.
pub type OnWait = Box<dyn Fn(Duration) + Send + Sync>;

#[derive(Debug, Clone, Copy, Default)]
pub struct PoolUse {
    pub open: u32,
    pub idle: u32,
}

/// The clock of a database.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DatabaseClock {
    /// What it says now. It judges whether sessions have expired.
    Own(Micros),
    /// It has none but that of its one process. The latest time at which a session or an event was made, if there is one.
    OfProcess(Option<Micros>),
}

/// What to do about sessions that another transaction has locked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Busy {
    Wait,
    /// Leave them out; also those that are not there, which look the same.
    LeaveOut,
}

/// How appends share transactions best.
#[derive(Debug, Clone, Copy)]
pub struct Batching {
    /// A batch is of one app: where others write too, it is one call that can be sent to where the app's data is.
    pub one_app: bool,
    /// How many transactions may be under way at once.
    pub writers: usize,
}

/// What became of one append of a batch.
#[derive(Debug)]
pub enum Judged {
    Done(AppendOutcome),
    /// Nothing of it happened, whatever became of the others: it is to be tried alone.
    LeftOut,
    /// It was written, and whether that was committed is open.
    Unclear(StoreError),
}

impl Judged {
    /// Of appends whose commit failed with an unclear error: what writes nothing has not happened, in any case.
    fn after_unclear(outcomes: impl IntoIterator<Item = Option<Outcome>>, error: &StoreError) -> Vec<Self> {
        let judge = |outcome: Option<Outcome>| match outcome {
            Some(outcome) if outcome.is_fresh() => Self::Unclear(error.share()),
            _ => Self::LeftOut,
        };
        outcomes.into_iter().map(judge).collect()
    }
}

/// Refuses a database that lacks a migration of this binary. What it has on top, a newer binary applied: migrations
/// within a major version keep older binaries working.
fn all_applied(migrator: &sqlx::migrate::Migrator, applied: &[i64]) -> Result<(), StoreError> {
    if migrator.iter().all(|migration| applied.contains(&migration.version)) {
        Ok(())
    } else {
        Err(StoreError::config("migrations are pending: run `sessiond migrate`"))
    }
}
