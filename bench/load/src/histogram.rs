//! Latencies, counted in buckets that grow with the value: every quantile is known to 1 %, at a fixed size, and
//! recording one is an addition.

use std::time::Duration;

/// Each power of two is cut into this many buckets, so a bucket is at most 1/128 of its values wide.
const STEPS: u64 = 128;
const STEP_BITS: u32 = STEPS.trailing_zeros();

/// Counts of durations in nanoseconds.
pub struct Histogram {
    counts: Vec<u64>,
    total: u64,
    sum: u128,
    max: u64,
}

impl Default for Histogram {
    fn default() -> Self {
        Self { counts: vec![0; bucket(u64::MAX) + 1], total: 0, sum: 0, max: 0 }
    }
}

impl Histogram {
    pub fn record(&mut self, latency: Duration) {
        let nanos = u64::try_from(latency.as_nanos()).unwrap_or(u64::MAX);
        self.counts[bucket(nanos)] += 1;
        self.total += 1;
        self.sum += u128::from(nanos);
        self.max = self.max.max(nanos);
    }

    pub fn merge(&mut self, other: &Self) {
        for (mine, theirs) in self.counts.iter_mut().zip(&other.counts) {
            *mine += theirs;
        }
        self.total += other.total;
        self.sum += other.sum;
        self.max = self.max.max(other.max);
    }

    pub fn count(&self) -> u64 {
        self.total
    }

    /// The value that a share `q` of all recorded values do not exceed, in microseconds; 0 if nothing was recorded.
    pub fn quantile(&self, q: f64) -> f64 {
        let rank = ((self.total as f64 * q).ceil() as u64).clamp(1, self.total.max(1));
        let mut seen = 0;
        for (index, count) in self.counts.iter().enumerate() {
            seen += count;
            if seen >= rank {
                // The middle of a bucket can lie above the greatest value in it.
                return micros(middle(index).min(self.max));
            }
        }
        0.0
    }

    /// Exact, as it is not read from the buckets.
    pub fn max(&self) -> f64 {
        micros(self.max)
    }

    /// Exact, as it is not read from the buckets.
    pub fn mean(&self) -> f64 {
        if self.total == 0 { 0.0 } else { self.sum as f64 / self.total as f64 / 1000.0 }
    }
}

/// The buckets of values below 2 * STEPS hold one value each; from there on each power of two has STEPS buckets.
fn bucket(value: u64) -> usize {
    let shift = (u64::BITS - value.leading_zeros()).saturating_sub(STEP_BITS + 1);
    (u64::from(shift) * STEPS + (value >> shift)) as usize
}

/// The middle of the values in a bucket.
fn middle(index: usize) -> u64 {
    let index = index as u64;
    let shift = (index / STEPS).saturating_sub(1);
    let first = (index - shift * STEPS) << shift;
    first + (1 << shift) / 2
}

fn micros(nanos: u64) -> f64 {
    nanos as f64 / 1000.0
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bucket_is_within_one_percent_of_its_values() {
        let mut value = 1_u64;
        while value < u64::MAX / 4 {
            for value in [value, value + 1, value + value / 3] {
                let found = middle(bucket(value));
                let error = found.abs_diff(value) as f64 / value as f64;
                assert!(error <= 0.01, "{value} is taken for {found}");
            }
            value = value * 3 / 2 + 1;
        }
    }

    #[test]
    fn buckets_follow_each_other() {
        let mut last = 0;
        for value in 0..100_000 {
            let index = bucket(value);
            assert!(index == last || index == last + 1, "{value}");
            last = index;
        }
    }

    #[test]
    fn quantiles_of_a_thousand_values() {
        let mut histogram = Histogram::default();
        for micros in 1..=1000 {
            histogram.record(Duration::from_micros(micros));
        }
        for (q, expected) in [(0.5, 500.0), (0.95, 950.0), (0.99, 990.0), (0.999, 999.0), (0.0, 1.0)] {
            let found = histogram.quantile(q);
            assert!((found - expected).abs() <= expected * 0.01, "{q}: {found}");
        }
        assert_eq!(histogram.max(), 1000.0);
        assert_eq!(histogram.mean(), 500.5);
    }

    #[test]
    fn merged_is_as_if_recorded_in_one() {
        let (mut a, mut b) = (Histogram::default(), Histogram::default());
        a.record(Duration::from_micros(10));
        b.record(Duration::from_micros(30));
        b.record(Duration::from_millis(2));
        a.merge(&b);
        assert_eq!((a.count(), a.max()), (3, 2000.0));
        assert!((a.quantile(0.5) - 30.0).abs() <= 0.3);
    }

    #[test]
    fn nothing_recorded_is_zero() {
        let histogram = Histogram::default();
        assert_eq!((histogram.quantile(0.99), histogram.max(), histogram.mean()), (0.0, 0.0, 0.0));
    }
}
