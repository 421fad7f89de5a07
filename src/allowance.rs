//! How long a peer may keep the service waiting for bytes that it sends or receives.

use std::time::Duration;

/// An allowance of time: waiting for the peer uses it up, and every byte that moves earns some of it back.
///
/// So a peer that moves nothing is cut off after `most`, and one that moves fewer than `rate` bytes per second on
/// average somewhat later, however steady it is. Time in which nobody waits for the peer costs nothing.
#[derive(Debug, Clone, Copy)]
pub struct Allowance {
    most: Duration,
    /// Bytes per second, at least 1.
    rate: usize,
    left: Duration,
}

impl Allowance {
    pub fn new(most: Duration, rate: usize) -> Self {
        Self { most, rate: rate.max(1), left: most }
    }

    /// How much longer the next wait may take.
    pub fn left(&self) -> Duration {
        self.left
    }

    /// Records a wait, and the bytes that moved after it.
    pub fn settle(&mut self, waited: Duration, bytes: usize) {
        // One second for each `rate` bytes. Numbers so large that this is inexact earn the whole allowance anyway.
        let earned = Duration::try_from_secs_f64(bytes as f64 / self.rate as f64).unwrap_or(self.most);
        self.left = self.left.saturating_sub(waited).saturating_add(earned).min(self.most);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const MOST: Duration = Duration::from_secs(30);
    const RATE: usize = 4096;

    /// How long a peer is served that moves this many bytes after each pause; `None` for at least ten minutes.
    fn lasts(pause: Duration, bytes: usize) -> Option<Duration> {
        let mut allowance = Allowance::new(MOST, RATE);
        let mut total = Duration::ZERO;
        while total < Duration::from_secs(600) {
            if pause >= allowance.left() {
                return Some(total + allowance.left());
            }
            total += pause;
            allowance.settle(pause, bytes);
        }
        None
    }

    #[test]
    fn silence_lasts_as_long_as_the_allowance() {
        assert_eq!(lasts(Duration::from_secs(60), 1 << 30), Some(MOST));
    }

    #[test]
    fn a_trickle_is_given_up_and_a_steady_peer_is_not() {
        let trickle = lasts(Duration::from_secs(1), RATE / 10).unwrap();
        assert!(trickle > MOST && trickle < 2 * MOST, "{trickle:?}");
        assert_eq!(lasts(Duration::from_secs(1), RATE), None);
        assert_eq!(lasts(Duration::from_secs(29), 29 * RATE), None);
    }

    #[test]
    fn a_burst_earns_no_more_than_the_whole() {
        let mut allowance = Allowance::new(MOST, RATE);
        allowance.settle(Duration::from_secs(20), usize::MAX);
        assert_eq!(allowance.left(), MOST);
        assert_eq!(Allowance::new(MOST, 0).rate, 1);
    }

    proptest! {
        #[test]
        fn whoever_is_slower_than_the_rate_ends_and_whoever_is_faster_does_not(
            millis in 100_u64..10_000, percent in prop_oneof![1_u64..80, 120_u64..400]
        ) {
            let pause = Duration::from_millis(millis);
            let bytes = usize::try_from(RATE as u64 * millis * percent / 100_000 + u64::from(percent > 100)).unwrap();
            prop_assert_eq!(lasts(pause, bytes).is_none(), percent > 100);
        }
    }
}
