//! The change feed: who follows it, and how they hear of changes.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, sleep};

use super::live::Live;
use super::{Error, Reader, Result, Service};
use crate::domain::erasure::Subject;
use crate::domain::feed::Change;
use crate::domain::feed::{FeedPage, FeedPosition, FeedQuery, FeedScope};
use crate::domain::ids::UserKey;

/// How long one request looks for changes that its reader wants, among others.
const LOOK: Duration = Duration::from_millis(500);

/// The time between two ticks: while somebody follows a feed, and else, so that ticks stay small.
const TICK: Duration = Duration::from_millis(50);
const IDLE_TICK: Duration = Duration::from_secs(1);

/// How often all who follow a feed look, whether there is something for them or not: so nobody falls behind by more ticks than that.
const REFRESH: Duration = Duration::from_secs(30);

/// How long one tick may take, and the pause after one that failed.
const TICK_LIMIT: Duration = Duration::from_secs(5);
const RETRY: Duration = Duration::from_secs(1);

/// Changes, in order.
#[derive(Debug)]
pub struct Changes {
    /// Each with what stands for its user where nothing names one.
    pub changes: Vec<(Change, Option<Subject>)>,
    /// Behind them.
    pub position: FeedPosition,
    /// There was nothing behind it.
    pub up_to_date: bool,
}

impl Reader {
    /// Changes behind a position.
    ///
    /// # Errors
    /// `FeedDisabled`; `FeedGone`, if the position is not in the feed, or not any more.
    pub async fn feed(&self, query: &FeedQuery, deadline: Instant) -> Result<Changes> {
        let until = deadline.min(Instant::now() + LOOK);
        match self.reads.feed(query, until, deadline).await? {
            FeedPage::Disabled => Err(Error::FeedDisabled),
            FeedPage::Gone { oldest } => Err(Error::FeedGone { oldest }),
            FeedPage::Changes { changes, position, up_to_date } => {
                let salt = if changes.is_empty() { [0; 32] } else { self.reads.erasure_salt(deadline).await? };
                let subject = |change: &Change| {
                    let user = change.user.clone()?;
                    Some(Subject::of(&salt, &UserKey { app: change.app.clone(), user }))
                };
                let changes = changes.into_iter().map(|change| (subject(&change), change));
                let changes = changes.map(|(subject, change)| (change, subject)).collect();
                Ok(Changes { changes, position, up_to_date })
            }
        }
    }

    /// Waits for changes of a scope, from now on: must come before the first read.
    pub fn subscribe_feed(&self, scope: &FeedScope) -> FeedSubscription {
        FeedSubscription { news: self.live.enter_feed(scope), live: self.live.clone(), scope: scope.clone() }
    }
}

impl Service {
    /// Makes all that is committed by now part of the feed, so that the next read has it. Otherwise it comes with the next tick.
    ///
    /// # Errors
    /// The database's.
    pub async fn refresh_feed(&self, deadline: Instant) -> Result<()> {
        if self.store.feeds() && self.store.shape().is_shared() {
            self.store.tick(i64::MAX, true, deadline).await?;
        }
        Ok(())
    }

    /// Makes what any process commits part of the feed, where that takes ticks, and wakes who waits for it. Runs until it is dropped;
    /// ends at once if there is no feed, or only this process commits.
    pub async fn tick_forever(&self) {
        if !self.store.feeds() || !self.store.shape().is_shared() {
            return;
        }
        // Nobody waits for what was there before.
        let (mut last, mut failed) = (i64::MAX, false);
        let mut refreshed = Instant::now();
        loop {
            // Where nobody listens, nobody needs the names.
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
                    self.metrics.failed("feed");
                    // Once: the database is away for everybody.
                    if !std::mem::replace(&mut failed, true) {
                        tracing::warn!(cause = ?error.cause, error = %error, "the change feed stands still, and is tried again");
                    }
                    sleep(RETRY).await;
                }
            }
        }
    }

    /// Removes what is too old for the feed.
    pub(super) async fn prune_feed(&self, limit: Duration) -> std::result::Result<(), crate::store::error::StoreError> {
        loop {
            let begun = Instant::now();
            if !self.store.prune_feed(self.clock.now(), begun + limit).await? {
                return Ok(());
            }
            super::sweep::rest(begun).await;
        }
    }
}

/// Somebody who waits for changes.
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
