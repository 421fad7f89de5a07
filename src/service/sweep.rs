//! What runs in the background: rows are removed of what was deleted or has expired.

use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::Service;
use crate::store::backend::DatabaseClock;
use crate::store::error::StoreError;
use crate::store::limits::CLOCK_TOLERANCE;

/// Writers go first: a sweep takes a seventh of the time at most, also of a database that has one writer.
pub(super) async fn rest(since: Instant) {
    sleep(since.elapsed() * 6).await;
}

impl Service {
    /// Removes what has expired or was deleted, now and then, and at once after a deletion. Runs until it is dropped.
    pub async fn sweep_forever(&self, interval: Duration, limit: Duration) {
        /// The pause after a sweep that failed, or has to wait: what is left to do does not wait for the next round.
        const PAUSE: Duration = Duration::from_secs(5);
        let mut agreed = None;
        let mut applied: Option<Instant> = None;
        self.metrics.swept(self.clock.now());
        loop {
            let swept = async {
                let agrees = self.compare_clocks(agreed, Instant::now() + limit).await?;
                agreed = Some(agrees);
                // A deletion asks for a sweep, too, and that is no reason to go through all sessions again.
                if agrees && applied.is_none_or(|at| at.elapsed() >= interval) {
                    applied = Some(Instant::now());
                    self.apply_policies(limit).await?;
                }
                loop {
                    let begun = Instant::now();
                    if !self.store.sweep(self.clock.now(), agrees, begun + limit).await? {
                        break;
                    }
                    rest(begun).await;
                }
                self.prune_feed(limit).await?;
                self.finish_erasures(Instant::now() + limit).await
            };
            let pause = match swept.await {
                Ok(true) => {
                    self.metrics.swept(self.clock.now());
                    interval
                }
                Ok(false) => interval.min(PAUSE),
                Err(error) => {
                    self.metrics.failed("sweep");
                    tracing::warn!(cause = ?error.cause, error = %error, "sweeping failed, and is tried again");
                    interval.min(PAUSE)
                }
            };
            tokio::select! {
                () = sleep(pause) => {}
                () = self.to_sweep.notified() => {}
            }
        }
    }

    /// Applies the policy of each app. One that fails does not keep the others from it.
    async fn apply_policies(&self, limit: Duration) -> Result<(), StoreError> {
        const PAGE: usize = 100;
        let mut after = String::new();
        loop {
            let page = self.store.policies(&after, PAGE, Instant::now() + limit).await?;
            let is_last = page.len() < PAGE;
            for (app, policy) in page {
                after = app.to_string();
                if let Err(error) = self.apply_policy(app, policy, limit).await {
                    self.metrics.failed("policy");
                    tracing::warn!(cause = ?error.cause, error = %error, "a policy was not applied, and is tried again");
                }
            }
            if is_last {
                return Ok(());
            }
        }
    }

    /// Whether this process and the database agree on what time it is, as far as they can: one of them is wrong otherwise, and
    /// what a sweep removes is gone for good. `before` is what came of the last time; the log tells of changes.
    async fn compare_clocks(&self, before: Option<bool>, deadline: Instant) -> Result<bool, StoreError> {
        /// A file that nobody has written to for this long, or that seems to be from so far ahead.
        const DAY: i64 = 24 * 3600 * 1_000_000;
        let asked = self.clock.now();
        let theirs = match self.store.clock(deadline).await? {
            DatabaseClock::Own(earliest, latest) => [earliest, latest],
            DatabaseClock::OfProcess(latest) => {
                let ahead = latest.map_or(0, |latest| asked.0.saturating_sub(latest.0));
                if before.is_none() && ahead.saturating_abs() > DAY {
                    tracing::warn!(
                        days = ahead / DAY,
                        "the clock is far from the time of the last write: if it is wrong, sessions are removed that have not expired, or kept that have"
                    );
                }
                return Ok(true);
            }
        };
        // The answer took its time, and was true at some moment of it.
        let answered = self.clock.now().0.max(asked.0);
        let skews = theirs.map(|theirs| theirs.0 - theirs.0.clamp(asked.0, answered));
        let skew = skews.into_iter().max_by_key(|skew| skew.abs()).unwrap_or(0);
        self.metrics.clock_skew(skew);
        let agrees = skew.abs() <= CLOCK_TOLERANCE;
        match (before, agrees) {
            (None | Some(true), false) => tracing::warn!(
                skew_seconds = skew / 1_000_000,
                "the clock of this process and that of the database differ: expired sessions are not removed"
            ),
            (Some(false), true) => tracing::info!("the clock of this process agrees with that of the database again"),
            _ => {}
        }
        Ok(agrees)
    }
}
