//! Every limit of time on what is asked of a database.
//!
//! | step | ends at the latest |
//! |---|---|
//! | wait for a turn in a group commit | [`Deadline::turn`] |
//! | a connection and `BEGIN`; then the statements: each of the two | [`Deadline::unit`] |
//! | `COMMIT` | [`Deadline::commit`] |
//! | one statement that writes and commits | [`Deadline::unit_with_commit`] |
//!
//! Within a unit, the server bounds each statement and each wait for a lock ([`StoreLimits`]); SQLite bounds the latter alone.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};
use std::time::Duration;

use tokio::time::Instant;

use crate::domain::ids::AppName;

/// The least time for a `COMMIT`, however close the deadline is: an unknown outcome is worse than a late one.
const COMMIT_GRACE: Duration = Duration::from_secs(1);

/// The least time for what several calls share, or one call whose time is nearly up would fail the others.
const GROUP_GRACE: Duration = Duration::from_millis(500);

/// The settings.
#[derive(Debug, Clone, Copy)]
pub struct StoreLimits {
    /// One statement (`--statement-timeout`).
    pub statement: Duration,
    /// The wait for a lock (`--lock-timeout`).
    pub lock_wait: Duration,
    /// The wait for a turn, and for a connection (`--acquire-timeout`).
    pub acquire: Duration,
    /// Connections to the database (PostgreSQL) or readers (SQLite, which has one writer besides).
    pub connections: u32,
    /// How long changes stay in the change feed (`--feed-retention`); zero: there is none.
    pub feed: Duration,
}

impl Default for StoreLimits {
    fn default() -> Self {
        Self {
            statement: Duration::from_secs(5),
            lock_wait: Duration::from_secs(2),
            acquire: Duration::from_secs(2),
            connections: 16,
            feed: Duration::ZERO,
        }
    }
}

impl StoreLimits {
    /// Whether there is a change feed.
    pub fn feeds(&self) -> bool {
        !self.feed.is_zero()
    }

    /// One step of a transaction, `COMMIT` aside.
    pub fn unit(&self) -> Duration {
        self.acquire + self.statement
    }
}

/// How the PostgreSQL server is reached.
#[derive(Debug, Clone, Copy, Default)]
pub struct PostgresOptions {
    /// The server is reached through PgBouncer in transaction mode: every statement runs in an explicit transaction,
    /// nothing is prepared by name, nothing is set for longer than a transaction.
    pub pgbouncer: bool,
}

/// By how many microseconds two clocks may differ and pass for the same.
pub const CLOCK_TOLERANCE: i64 = 5_000_000;

/// When a call must be answered, and what its steps may take of that time.
#[derive(Debug, Clone, Copy)]
pub struct Deadline {
    at: Instant,
    acquire: Duration,
    unit: Duration,
    app: Option<u64>,
}

impl Deadline {
    pub fn new(at: Instant, limits: &StoreLimits) -> Self {
        Self { at, acquire: limits.acquire, unit: limits.unit(), app: None }
    }

    /// Of a call that is of this app alone.
    pub fn of(self, app: &AppName) -> Self {
        let mut hasher = DefaultHasher::new();
        app.hash(&mut hasher);
        Self { app: Some(hasher.finish()), ..self }
    }

    /// A number that stands for the app of the call, if it is of one alone.
    pub fn app(&self) -> Option<u64> {
        self.app
    }

    /// When the call must be answered.
    pub fn at(&self) -> Instant {
        self.at
    }

    /// For as many calls together, of which this is the earliest deadline.
    pub fn for_group(self, calls: usize) -> Self {
        let at = if calls == 1 { self.at } else { self.at.max(Instant::now() + GROUP_GRACE) };
        Self { at, ..self }
    }

    pub fn turn(&self) -> Instant {
        self.at.min(Instant::now() + self.acquire)
    }

    pub fn unit(&self) -> Instant {
        self.at.min(Instant::now() + self.unit)
    }

    pub fn commit(&self) -> Instant {
        self.at.max(Instant::now() + COMMIT_GRACE)
    }

    pub fn unit_with_commit(&self) -> Instant {
        self.unit().max(Instant::now() + COMMIT_GRACE)
    }
}
