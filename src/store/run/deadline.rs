//! What each step of a call may take of its time.
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
use crate::store::limits::StoreLimits;

/// The least time for a `COMMIT`, however close the deadline is: an unknown outcome is worse than a late one.
const COMMIT_GRACE: Duration = Duration::from_secs(1);

/// The least time for what several calls share, or one call whose time is nearly up would fail the others.
const GROUP_GRACE: Duration = Duration::from_millis(500);

/// When a call must be answered, and what its steps may take of that time.
#[derive(Debug, Clone, Copy)]
pub struct Deadline {
    at: Instant,
    acquire: Duration,
    unit: Duration,
    app: Option<u64>,
}

impl Deadline {
    /// Of a call of this app alone, or of one that is not of one app.
    pub(super) fn new(at: Instant, limits: &StoreLimits, app: Option<&AppName>) -> Self {
        let number = |app: &AppName| {
            let mut hasher = DefaultHasher::new();
            app.hash(&mut hasher);
            hasher.finish()
        };
        Self { at, acquire: limits.acquire, unit: limits.unit(), app: app.map(number) }
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
