//! Leases: who may write a session next. Granted, renewed and released under the lock of the session's row, which every write
//! takes as well: a write is before a grant, or is judged by it.

use async_trait::async_trait;
use tokio::time::Instant;

use crate::domain::command::LeaseCommand;
use crate::domain::ids::SessionKey;
use crate::domain::lease::{LeaseDone, LeaseView};
use crate::domain::refusal::Refusal;
use crate::domain::time::Micros;
use crate::domain::writes::{Committed, SessionChange};
use crate::store::backend::{Backend, Tx};
use crate::store::error::{Decided, StoreError};
use crate::store::run::End;
use crate::store::sessions::change::locked_live;
use crate::store::sql::primitives;
use crate::store::transactions::Transactions;

type Result<T> = std::result::Result<T, StoreError>;

#[async_trait]
pub trait Reads: Send + Sync {
    /// The lease of a session, in one statement; `None` if there is no such session, or it has expired.
    async fn lease(&self, key: &SessionKey, now: Micros, deadline: Instant) -> Result<Option<LeaseView>>;
}

#[async_trait]
pub trait Writes: Send + Sync {
    /// Grants, renews or releases the lease of a session. The same call again finds what the first one did; after another
    /// grant it may be refused for that.
    async fn change_lease(&self, command: &LeaseCommand, deadline: Instant) -> Decided<(LeaseDone, LeaseView)>;
}

#[async_trait]
impl<B: Backend> Reads for Transactions<B> {
    async fn lease(&self, key: &SessionKey, now: Micros, deadline: Instant) -> Result<Option<LeaseView>> {
        self.runner.of(key.app(), deadline).one_statement(async |tx| lease(tx, key, now).await).await
    }
}

#[async_trait]
impl<B: Backend> Writes for Transactions<B> {
    async fn change_lease(&self, command: &LeaseCommand, deadline: Instant) -> Decided<(LeaseDone, LeaseView)> {
        self.remembered.evict_session(&command.key);
        self.runner.of(command.key.app(), deadline).decide(async |tx| change(tx, command).await).await
    }
}

/// Reads a session's lease in one statement.
pub async fn lease<X: Tx>(tx: &mut X, key: &SessionKey, now: Micros) -> Result<Option<LeaseView>> {
    let mut view = primitives::lease(tx, key, now).await?;
    if let Some(view) = &mut view {
        view.head.timeline = tx.timeline();
    }
    Ok(view)
}

pub async fn change<X: Tx>(tx: &mut X, command: &LeaseCommand) -> Decided<((LeaseDone, LeaseView), End)> {
    let LeaseCommand { key, change, now } = command;
    // Read after it is locked, so that the time now is no earlier than the wait.
    let view = match locked_live(tx, key, *now).await? {
        Some(_) => lease(tx, key, *now).await?,
        None => None,
    };
    let view = view.ok_or(Refusal::SessionNotFound)?;
    let (lease, done) = view.lease.after(change, view.head.mark(), view.now)?;
    let mut end = End::Release;
    if done != LeaseDone::Nothing {
        primitives::set_lease(tx, key, &lease).await?;
        end = End::Commit(vec![Committed::Session {
            key: key.clone(),
            incarnation: view.head.incarnation,
            change: SessionChange::Leased,
        }]);
    }
    Ok(((done, LeaseView { lease, ..view }), end))
}
