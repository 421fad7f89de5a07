//! What a session was: forks, rewinds, and reading a moment.

pub mod fork;
pub mod key;
pub mod moment;
pub mod rewind;

use async_trait::async_trait;
use tokio::time::Instant;

use crate::domain::command::{Fork, Made};
use crate::domain::ids::SessionKey;
use crate::domain::key_history::{KeyHistory, KeyHistoryQuery};
use crate::domain::query::{Moment, MomentQuery, SessionView};
use crate::domain::rewind::{RewindRequest, Rewound};
use crate::store::backend::Backend;
use crate::store::error::{Decided, Result};
use crate::store::transactions::Transactions;

#[async_trait]
pub trait Reads: Send + Sync {
    /// Reads the merged state as it was when an event had committed.
    async fn moment(&self, query: &MomentQuery, deadline: Instant) -> Result<Moment>;

    /// Reads a page of the changes of one key; `None` if the session is not there.
    async fn key_history(&self, query: &KeyHistoryQuery, deadline: Instant) -> Result<Option<KeyHistory>>;

    /// What the events of a session cost that are not trimmed, up to a revision; 0 if it is not there.
    async fn log_cost(&self, key: &SessionKey, to: i64, deadline: Instant) -> Result<i64>;
}

#[async_trait]
pub trait Writes: Send + Sync {
    /// Creates a session from another one's past.
    async fn fork(&self, fork: &Fork, deadline: Instant) -> Decided<(Made, SessionView)>;

    /// Appends the event that rewinds a session, and reads the session in the same transaction.
    async fn rewind(&self, rewind: &RewindRequest, deadline: Instant) -> Decided<Rewound>;
}

#[async_trait]
impl<B: Backend> Reads for Transactions<B> {
    async fn moment(&self, query: &MomentQuery, deadline: Instant) -> Result<Moment> {
        self.runner.of(query.key.app(), deadline).read(async |tx| moment::moment(tx, query).await).await
    }

    async fn key_history(&self, query: &KeyHistoryQuery, deadline: Instant) -> Result<Option<KeyHistory>> {
        self.runner.of(query.owner.app(), deadline).read(async |tx| key::key_history(tx, query).await).await
    }

    async fn log_cost(&self, key: &SessionKey, to: i64, deadline: Instant) -> Result<i64> {
        let cost = async |tx: &mut B::Tx| fork::log_cost(tx, key, to).await;
        self.runner.of(key.app(), deadline).one_statement(cost).await
    }
}

#[async_trait]
impl<B: Backend> Writes for Transactions<B> {
    async fn fork(&self, request: &Fork, deadline: Instant) -> Decided<(Made, SessionView)> {
        let call = self.runner.of(request.source.app(), deadline);
        let salt = self.salt(&call).await?;
        call.decide(async |tx| fork::fork(tx, salt, request).await).await
    }

    async fn rewind(&self, request: &RewindRequest, deadline: Instant) -> Decided<Rewound> {
        self.remembered.evict_session(&request.key);
        self.runner.of(request.key.app(), deadline).decide(async |tx| rewind::rewind(tx, request).await).await
    }
}
