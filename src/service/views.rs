//! Keeps views of effective histories, so that no reader has to begin with the first event.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{Instant, sleep};

use super::Service;
use crate::domain::ids::SessionKey;

/// How many sessions may wait. One that is not taken is told of again by its next reader.
const WAITING: usize = 10_000;

/// The sessions of which a view is to be kept.
#[derive(Default)]
pub struct Behind {
    sessions: Mutex<BTreeSet<SessionKey>>,
    more: Notify,
}

impl Behind {
    pub fn note(&self, key: &SessionKey) {
        let mut sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        if sessions.len() < WAITING && sessions.insert(key.clone()) {
            self.more.notify_one();
        }
    }

    async fn next(&self) -> SessionKey {
        loop {
            let next = self.sessions.lock().unwrap_or_else(PoisonError::into_inner).pop_first();
            match next {
                Some(key) => return key,
                None => self.more.notified().await,
            }
        }
    }
}

impl Service {
    /// Keeps views of the sessions that were compacted, or of which a reader had to go far. Runs until it is dropped.
    pub async fn keep_views_forever(&self, limit: Duration) {
        loop {
            let key = self.behind.next().await;
            loop {
                let begun = Instant::now();
                match self.store.keep_view(&key, begun + limit).await {
                    Ok(true) => sleep(begun.elapsed()).await,
                    Ok(false) => break,
                    // Readers go further, and tell of it again.
                    Err(error) => {
                        self.metrics.failed("views");
                        tracing::debug!(cause = ?error.cause, %error, "a view of an effective history was not kept");
                        break;
                    }
                }
            }
        }
    }
}
