//! Keeps views of effective histories, so that no reader has to begin with the first event.

use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::Service;

/// How long one view may take: the first compaction of a long log looks at all of it.
const PATIENCE: Duration = Duration::from_secs(60);

impl Service {
    /// Keeps views of the sessions that were compacted, or of which a reader had to go far. Runs until it is dropped.
    pub async fn keep_views_forever(&self, limit: Duration) {
        loop {
            let key = self.behind.next().await;
            loop {
                let begun = Instant::now();
                match self.store.keep_view(&key, begun + limit.max(PATIENCE)).await {
                    Ok(true) => sleep(begun.elapsed()).await,
                    Ok(false) => break,
                    // Readers go further, and tell of it again.
                    Err(error) => {
                        self.metrics.background_failures.inc("views");
                        tracing::debug!(cause = ?error.cause, %error, "a view of an effective history was not kept");
                        break;
                    }
                }
            }
        }
    }
}
