//! Polls for the commits of other processes while there are subscriptions.

use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep, sleep_until};

use super::live::{Subscription, Topic};
use super::news::News;
use super::{Reader, Service, StoreResult};
use crate::domain::ids::{ScopeKey, SessionKey};
use crate::domain::writes::Committed;

/// How many keys one query has.
const KEYS_AT_ONCE: usize = 1000;

/// The pause after a failed poll.
const POLL_RETRY: Duration = Duration::from_secs(1);

/// The time limit of a query.
const POLL_LIMIT: Duration = Duration::from_secs(5);

impl Reader {
    /// As [`Live::subscribe`](super::live::Live::subscribe). Call it before the first read, or changes in between are missed.
    pub fn subscribe(&self, key: &SessionKey, with_scopes: bool) -> Subscription {
        self.live.subscribe(key, with_scopes)
    }
}

impl Service {
    /// Polls for the commits of other processes while there are subscriptions. Runs until it is dropped; returns at once where no
    /// other process can write.
    pub async fn poll_forever(&self, every: Duration) {
        if !self.store.shape().is_shared() {
            return;
        }
        let mut failed = false;
        loop {
            let (keys, topics, scopes) = self.live.watched();
            if keys.is_empty() {
                self.live.first.notified().await;
                continue;
            }
            let began = Instant::now();
            match self.poll(&keys, &topics, &scopes).await {
                // Polling takes at most half of the time, however many sessions are watched.
                Ok(()) => {
                    failed = false;
                    sleep_until(began + every.max(began.elapsed() * 2)).await;
                }
                Err(error) => {
                    self.metrics.background_failures.inc("watch_poll");
                    // Logged once: every request that fails meanwhile has its own line.
                    if !std::mem::replace(&mut failed, true) {
                        tracing::warn!(cause = ?error.cause, error = %error, "looking for changes of watched sessions failed");
                    }
                    sleep(POLL_RETRY).await;
                }
            }
        }
    }

    /// Asks app by app, in the order of the keys, so that one app's failure does not affect others. The error is the last one.
    async fn poll(&self, keys: &[SessionKey], topics: &[Arc<Topic>], scopes: &[ScopeKey]) -> StoreResult<()> {
        let mut polled = Ok(());
        let mut rest = topics;
        for keys in keys.chunk_by(|a, b| a.app() == b.app()) {
            let (topics, others) = rest.split_at(keys.len());
            rest = others;
            for (keys, topics) in keys.chunks(KEYS_AT_ONCE).zip(topics.chunks(KEYS_AT_ONCE)) {
                polled = self.poll_sessions(keys, topics).await.and(polled);
            }
        }
        for keys in scopes.chunk_by(|a, b| a.app() == b.app()) {
            for keys in keys.chunks(KEYS_AT_ONCE) {
                polled = self.poll_scopes(keys).await.and(polled);
            }
        }
        polled
    }

    async fn poll_sessions(&self, keys: &[SessionKey], topics: &[Arc<Topic>]) -> StoreResult<()> {
        self.metrics.watch_polls.inc();
        let deadline = Instant::now() + POLL_LIMIT;
        let (timeline, found) = self.store.revisions(keys, self.clock.now(), deadline).await?;
        for (topic, found) in topics.iter().zip(found) {
            topic.tell(found.map(|revisions| News::of_revisions(timeline, revisions)));
        }
        Ok(())
    }

    async fn poll_scopes(&self, keys: &[ScopeKey]) -> StoreResult<()> {
        self.metrics.watch_polls.inc();
        let found = self.store.scope_revisions(keys, Instant::now() + POLL_LIMIT).await?;
        let found: Vec<_> = found.into_iter().map(|(key, last)| Committed::Scope { key, first: last, last }).collect();
        self.live.committed(&found);
        Ok(())
    }
}
