//! Erases users: at its commit nobody sees them any more; the sweep removes the rest.

use crate::domain::erasure::{Erase, EraseOutcome, Erasure};
use crate::domain::ids::{SessionId, SessionKey, UserKey};
use crate::domain::time::Micros;
use crate::domain::writes::Committed;
use crate::store::backend::Tx;
use crate::store::error::{StoreError, corrupt};
use crate::store::runner::End;
use crate::store::sql::erasures;

type Result<T> = std::result::Result<T, StoreError>;

pub async fn erase<X: Tx>(tx: &mut X, erase: &Erase) -> Result<(EraseOutcome, End)> {
    let before = match &erase.draft.request_id {
        Some(id) => erasures::of_request(tx, &erase.user.app, id).await?,
        None => None,
    };
    let before = match before {
        None => erasures::erasure(tx, &erase.id).await?,
        found => found,
    };
    if let Some(found) = before {
        let outcome = if found.subject == erase.subject && found.app == erase.user.app {
            EraseOutcome::Found(found)
        } else {
            EraseOutcome::Conflict
        };
        return Ok((outcome, End::Release));
    }
    erasures::insert(tx, erase).await?;
    let sessions = erasures::bury_user(tx, &erase.user, &erase.id).await?;
    erasures::remove_scope(tx, &erase.user, &erase.id).await?;
    match erase.draft.block {
        Some(true) => erasures::block(tx, &erase.user.app, &erase.subject).await?,
        Some(false) => erasures::unblock(tx, &erase.user.app, &erase.subject).await?,
        None => {}
    }
    erasures::revoke(tx, &erase.user.app, &erase.subject).await?;
    let erasure = erasures::erasure(tx, &erase.id).await?.ok_or_else(|| corrupt("an erasure is not there"))?;
    let mut told = Vec::with_capacity(sessions.len());
    for id in sessions {
        let session = SessionId::parse(&id).map_err(corrupt)?;
        told.push(Committed::Session(SessionKey { user: erase.user.clone(), session }));
    }
    Ok((EraseOutcome::Begun(erasure), End::Commit(told)))
}

/// An erasure of which all rows are gone, to be finished. Of a blocked user, sessions that slipped in are buried before.
pub async fn unfinished<X: Tx>(tx: &mut X) -> Result<(Option<Erasure>, End)> {
    let Some((erasure, user)) = erasures::unfinished(tx).await? else { return Ok((None, End::Release)) };
    if erasure.block == Some(true)
        && let Some(user) = user
    {
        let user = UserKey { app: erasure.app.clone(), user };
        if !erasures::bury_user(tx, &user, &erasure.id).await?.is_empty() {
            return Ok((None, End::UNTOLD));
        }
    }
    Ok((Some(erasure), End::Release))
}

pub async fn finish<X: Tx>(tx: &mut X, id: &str, receipt: &str, now: Micros) -> Result<((), End)> {
    erasures::finish(tx, id, receipt, now).await?;
    Ok(((), End::UNTOLD))
}
