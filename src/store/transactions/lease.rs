//! Leases: who may write a session next. Granted, renewed and released under the lock of the session's row, which every write
//! takes as well: a write is before a grant, or is judged by it.

use super::change::locked_live;
use crate::domain::command::LeaseCommand;
use crate::domain::ids::SessionKey;
use crate::domain::lease::{LeaseDone, LeaseView};
use crate::domain::refusal::Refusal;
use crate::domain::time::Micros;
use crate::domain::writes::{Committed, SessionChange};
use crate::store::backend::Tx;
use crate::store::error::{Failure, StoreError};
use crate::store::run::End;
use crate::store::sql::primitives;

type Result<T> = std::result::Result<T, StoreError>;
type Decided<T> = std::result::Result<T, Failure>;

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
