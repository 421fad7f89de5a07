//! Background work: removes the rows of deleted and expired sessions.

use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, sleep};

use super::{Service, StoreResult};
use crate::blobs::places::SHELVES;
use crate::domain::policy::DAY_MICROS;
use crate::store::backend::DatabaseClock;
use crate::store::error::StoreError;
use crate::store::limits::CLOCK_TOLERANCE;

/// The pause after a sweep that failed or has to wait. It does not wait for the next round.
const PAUSE: Duration = Duration::from_secs(5);

/// Writers go first: a sweep takes at most a seventh of the time, also where a database has one writer.
pub(super) async fn rest(since: Instant) {
    sleep(since.elapsed() * 6).await;
}

impl Service {
    /// Removes the rows of expired and deleted sessions periodically, and at once after a deletion, and applies the policies. Runs until it
    /// is dropped.
    pub async fn sweep_forever(&self, interval: Duration, limit: Duration) {
        let agrees = watch::Sender::new(false);
        // To remove many files, or to apply the policies to many sessions, takes long, and no erasure may wait for it.
        tokio::join!(
            self.remove_forever(&agrees, interval, limit),
            self.remove_blobs_forever(interval, limit),
            self.apply_forever(&agrees, interval, limit),
            self.index_forever(interval, limit)
        );
    }

    /// `agrees` becomes whether the clocks do.
    async fn remove_forever(&self, agrees: &watch::Sender<bool>, interval: Duration, limit: Duration) {
        let mut agreed = None;
        self.metrics.swept(self.clock.now());
        loop {
            let swept = async {
                let agree = self.compare_clocks(agreed, Instant::now() + limit).await?;
                agreed = Some(agree);
                agrees.send_replace(agree);
                // Where sessions are deleted as fast as rows are removed, the rest of a round has its turn, too.
                let turn = Instant::now() + interval.min(PAUSE);
                let is_done = loop {
                    let begun = Instant::now();
                    if !self.store.sweep(self.clock.now(), agree, begun + limit).await? {
                        break true;
                    }
                    rest(begun).await;
                    if Instant::now() > turn {
                        break false;
                    }
                };
                self.has_loose.notify_one();
                self.prune_feed(limit).await?;
                let is_scrubbed = self.scrub_redacted(limit).await?;
                let is_finished = self.finish_erasures(Instant::now() + limit).await?;
                self.store.settle(Instant::now() + limit).await?;
                Ok::<_, StoreError>((is_done, is_scrubbed && is_finished))
            };
            let swept = swept.await;
            if let Ok((_, true)) = &swept {
                self.metrics.swept(self.clock.now());
            }
            let pause = match swept {
                Ok((true, true)) => interval,
                Ok((false, _)) => Duration::ZERO,
                Ok((true, false)) => interval.min(PAUSE),
                Err(error) => self.failed(&error).min(interval),
            };
            tokio::select! {
                () = sleep(pause) => {}
                () = self.to_sweep.notified() => {}
            }
        }
    }

    /// Removes the bytes that no version holds, whenever a round has left some.
    async fn remove_blobs_forever(&self, interval: Duration, limit: Duration) {
        loop {
            let pause = match self.sweep_blobs(limit).await {
                Ok(()) => interval,
                Err(error) => self.failed(&error).min(interval),
            };
            tokio::select! {
                () = sleep(pause) => {}
                () = self.has_loose.notified() => {}
            }
        }
    }

    /// Applies the policies while the clocks agree: by a wrong one, sessions and events are older than they are.
    async fn apply_forever(&self, agrees: &watch::Sender<bool>, interval: Duration, limit: Duration) {
        let mut agrees = agrees.subscribe();
        // Each round looks at one shelf of the artifact stores; processes begin at different ones.
        let mut shelf = (self.clock.incarnation() % i64::from(SHELVES)) as u8;
        while agrees.wait_for(|agree| *agree).await.is_ok() {
            let applied = async {
                self.apply_policies(limit).await?;
                self.sweep_strays(shelf).await
            };
            let pause = match applied.await {
                Ok(()) => {
                    shelf = shelf.wrapping_add(1);
                    interval
                }
                Err(error) => self.failed(&error).min(interval),
            };
            sleep(pause).await;
        }
    }

    /// Logs and counts a failure of a sweep; the pause before it is tried again.
    pub(super) fn failed(&self, error: &StoreError) -> Duration {
        self.metrics.background_failures.inc("sweep");
        tracing::warn!(cause = ?error.cause, error = %error, "sweeping failed, and is tried again");
        PAUSE
    }

    /// Applies the policy of each app; continues after a failure.
    async fn apply_policies(&self, limit: Duration) -> StoreResult<()> {
        const PAGE: usize = 100;
        let mut after = String::new();
        loop {
            let page = self.store.policies(&after, PAGE, Instant::now() + limit).await?;
            let is_last = page.len() < PAGE;
            for (app, policy) in page {
                after = app.to_string();
                if let Err(error) = self.apply_policy(app, policy, limit).await {
                    self.metrics.background_failures.inc("policy");
                    tracing::warn!(cause = ?error.cause, error = %error, "a policy was not applied, and is tried again");
                }
            }
            if is_last {
                return Ok(());
            }
        }
    }

    /// Whether the clocks of this process and of the database agree. If not, one of them is wrong, and a sweep could remove
    /// sessions that have not expired. `before` is the last result; a change of it is logged.
    async fn compare_clocks(&self, before: Option<bool>, deadline: Instant) -> StoreResult<bool> {
        let asked = self.clock.now();
        let theirs = match self.store.clock(deadline).await? {
            DatabaseClock::Own(earliest, latest) => [earliest, latest],
            DatabaseClock::OfProcess(latest) => {
                // The time since the last write, or its lead over the clock.
                let ahead = latest.map_or(0, |latest| asked.0.saturating_sub(latest.0));
                if before.is_none() && ahead.saturating_abs() > DAY_MICROS {
                    tracing::warn!(
                        days = ahead / DAY_MICROS,
                        "the clock is far from the time of the last write: if it is wrong, sessions are removed that have not expired, or kept that have"
                    );
                }
                return Ok(true);
            }
        };
        // The database read its clock at some moment between the question and the answer.
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
