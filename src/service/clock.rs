//! Time, fresh ids and randomness: the only place that reads them (clippy.toml enforces it).

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use uuid::Uuid;

use crate::domain::time::Micros;

/// Time, ids and randomness, which the rules take as arguments and tests replace.
pub trait Clock: Send + Sync + 'static {
    fn now(&self) -> Micros;
    /// A UUIDv7: unique, and sorted by creation time.
    fn fresh_id(&self) -> Uuid;
    /// A random positive number of 63 bits.
    fn incarnation(&self) -> i64;
    /// A random time of at most `limit`, so that callers that failed together do not retry together.
    fn jitter(&self, limit: Duration) -> Duration;
}

/// The machine's clock and its random numbers.
#[derive(Debug, Default, Clone, Copy)]
pub struct SystemClock;

impl SystemClock {
    #[expect(clippy::disallowed_methods, reason = "the one place that reads random numbers")]
    fn random(self) -> u64 {
        let (high, low) = Uuid::new_v4().as_u64_pair();
        // A version and a variant sit in fixed bits of each half; folding one half over the other covers them.
        high.rotate_left(32) ^ low
    }
}

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "the one place that reads the clock")]
    fn now(&self) -> Micros {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        Micros(i64::try_from(since.as_micros()).unwrap_or(i64::MAX))
    }

    #[expect(clippy::disallowed_methods, reason = "the one place that makes ids")]
    fn fresh_id(&self) -> Uuid {
        Uuid::now_v7()
    }

    fn incarnation(&self) -> i64 {
        (self.random() >> 1).max(1) as i64
    }

    fn jitter(&self, limit: Duration) -> Duration {
        limit.mul_f64((self.random() >> 11) as f64 / (1u64 << 53) as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn incarnations_are_positive_and_differ() {
        let (a, b) = (SystemClock.incarnation(), SystemClock.incarnation());
        assert!(a > 0 && b > 0 && a != b);
    }

    #[test]
    fn jitter_stays_below_its_limit() {
        let limit = Duration::from_millis(10);
        assert!((0..100).all(|_| SystemClock.jitter(limit) <= limit));
    }
}
