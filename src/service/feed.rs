//! The change feed: reads, subscriptions, and the ticks that make commits visible.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, sleep};

use super::live::Live;
use super::{Error, Reader, Result, Service, StoreResult};
use crate::domain::erasure::Subject;
use crate::domain::feed::{Change, FeedPage, FeedPosition, FeedQuery, FeedScope, Quiet};
use crate::domain::ids::UserKey;

/// How long one request searches for changes that match its filter.
const SEARCH: Duration = Duration::from_millis(500);

/// The time between two ticks: while somebody follows a feed, and otherwise, so that ticks stay small.
const TICK: Duration = Duration::from_millis(50);
const IDLE_TICK: Duration = Duration::from_secs(1);

/// How often all followers are woken, with or without news for them, so that none falls further behind than this.
const REFRESH: Duration = Duration::from_secs(30);

/// The time limit of a tick, and the pause after a failed one.
const TICK_LIMIT: Duration = Duration::from_secs(5);
const RETRY: Duration = Duration::from_secs(1);

/// Changes, in order.
#[derive(Debug)]
pub struct Changes {
    /// Each change with the hash of its user, if it has one.
    pub changes: Vec<(Change, Option<Subject>)>,
    /// The position after them; without any, the one that was asked with, or that of the last change.
    pub position: FeedPosition,
    /// Where the search ended: a follower goes on there.
    pub through: FeedPosition,
    /// There were no changes after it.
    pub up_to_date: bool,
}

impl Reader {
    /// Changes after a position.
    ///
    /// # Errors
    /// `FeedDisabled`; `FeedGone`, if the feed does not have the position, or no longer.
    pub async fn feed(&self, query: &FeedQuery, deadline: Instant) -> Result<Changes> {
        let until = deadline.min(Instant::now() + SEARCH);
        let known = self.silence.of(query);
        match self.reads.feed(query, known, self.clock.now(), until, deadline).await? {
            FeedPage::Disabled => Err(Error::FeedDisabled),
            FeedPage::Gone { oldest } => Err(Error::FeedGone { oldest }),
            FeedPage::Changes { changes, position, through, up_to_date } => {
                if changes.is_empty() && up_to_date {
                    self.silence.note(query, Quiet { position, through });
                }
                let salt = if changes.is_empty() { [0; 32] } else { self.reads.erasure_salt(deadline).await? };
                let subject = |change: &Change| {
                    let user = change.user.clone()?;
                    Some(Subject::of(&salt, &UserKey { app: change.app.clone(), user }))
                };
                let changes = changes.into_iter().map(|change| (subject(&change), change));
                let changes = changes.map(|(subject, change)| (change, subject)).collect();
                Ok(Changes { changes, position, through, up_to_date })
            }
        }
    }

    /// Subscribes to changes of a scope. Call it before the first read, or changes in between are missed.
    pub fn subscribe_feed(&self, scope: &FeedScope) -> FeedSubscription {
        FeedSubscription { news: self.live.enter_feed(scope), live: self.live.clone(), scope: scope.clone() }
    }
}

impl Service {
    /// Adds a tick at once, so that the next read shows everything committed by now.
    pub async fn refresh_feed(&self, deadline: Instant) -> Result<()> {
        if self.store.feeds() && self.store.shape().is_shared() {
            self.store.tick(i64::MAX, true, deadline).await?;
        }
        Ok(())
    }

    /// Adds ticks, which make the commits of all processes visible in the feed, and wakes its followers. Runs until it is
    /// dropped; returns at once if there is no feed, or if only this process commits.
    pub async fn tick_forever(&self) {
        if !self.store.feeds() || !self.store.shape().is_shared() {
            return;
        }
        // Nobody waits for earlier changes.
        let (mut last, mut failed) = (i64::MAX, false);
        let mut refreshed = Instant::now();
        loop {
            // The names are needed only to wake followers.
            let after = if self.live.follows_feeds() { last } else { i64::MAX };
            match self.store.tick(after, false, Instant::now() + TICK_LIMIT).await {
                Ok((tick, scopes)) => {
                    (last, failed) = (tick, false);
                    let is_due = refreshed.elapsed() > REFRESH;
                    if is_due {
                        refreshed = Instant::now();
                    }
                    self.live.tell_feeds(scopes.filter(|_| !is_due).as_deref());
                    self.live.until_feed(TICK, IDLE_TICK / 2 + self.clock.jitter(IDLE_TICK)).await;
                }
                Err(error) => {
                    self.metrics.background_failures.inc("feed");
                    // Logged once: every request that fails meanwhile has its own line.
                    if !std::mem::replace(&mut failed, true) {
                        tracing::warn!(cause = ?error.cause, error = %error, "the change feed stands still, and is tried again");
                    }
                    sleep(RETRY).await;
                }
            }
        }
    }

    /// Removes changes that are older than the feed keeps them.
    pub(super) async fn prune_feed(&self, limit: Duration) -> StoreResult<()> {
        loop {
            let begun = Instant::now();
            if !self.store.prune_feed(self.clock.now(), begun + limit).await? {
                return Ok(());
            }
            super::sweep::rest(begun).await;
        }
    }
}

/// A subscription to changes of a feed.
pub struct FeedSubscription {
    live: Arc<Live>,
    scope: FeedScope,
    news: watch::Receiver<()>,
}

impl FeedSubscription {
    /// Waits until there may be something new. Cancel-safe.
    pub async fn changed(&mut self) {
        // The sender does not end before its subscriptions.
        let _ = self.news.changed().await;
    }
}

impl Drop for FeedSubscription {
    fn drop(&mut self) {
        self.live.leave_feed(&self.scope);
    }
}
