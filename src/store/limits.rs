//! The settings that limit what is asked of a database, and what it may cost.

use std::time::Duration;

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
