//! Changes of sessions that append no event: metadata, deletions.

use std::collections::BTreeSet;

use crate::domain::command::{Deletion, MetadataUpdate};
use crate::domain::guard::Guard;
use crate::domain::ids::SessionKey;
use crate::domain::loaded::{Loaded, LockedSession, Needs};
use crate::domain::query::SessionView;
use crate::domain::refusal::Refusal;
use crate::domain::time::Micros;
use crate::domain::writes::{Committed, Removal, SessionChange};
use crate::store::backend::{OnLocked, Tx};
use crate::store::error::{Decided, StoreError};
use crate::store::run::End;
use crate::store::sessions::read::{not_there, view, whole_session};
use crate::store::sql::primitives;

type Result<T> = std::result::Result<T, StoreError>;

pub async fn locked_live<X: Tx>(tx: &mut X, key: &SessionKey, now: Micros) -> Result<Option<LockedSession>> {
    Ok(tx.lock_sessions(&BTreeSet::from([key]), OnLocked::Wait).await?.into_iter().find(|row| row.head.is_live(now)))
}

/// Judges a change of a locked session that writes no state. The scopes are read, and may change meanwhile.
///
/// # Errors
/// `Lease`, `RevisionMismatch`.
pub async fn judge<X: Tx>(tx: &mut X, row: &LockedSession, guard: &Guard, now: Micros) -> Decided<()> {
    let mut found = Loaded::default();
    if guard.if_match.is_some() {
        found = tx.read_heads(&Needs::of_revisions(&row.key)).await?;
    }
    found.timeline = tx.timeline();
    found.sessions.insert(row.key.clone(), row.head.clone());
    let tag = found.tag(&row.key).ok_or_else(not_there)?;
    Ok(guard.judge(&row.head.lease, &tag, now)?)
}

pub async fn update_metadata<X: Tx>(tx: &mut X, update: &MetadataUpdate) -> Decided<(SessionView, End)> {
    let row = locked_live(tx, &update.key, update.now).await?.ok_or(Refusal::SessionNotFound)?;
    judge(tx, &row, &update.guard, update.now).await?;
    let changes = !update.patch.is_empty();
    if changes {
        primitives::set_metadata(tx, &update.key, &update.patch, update.now).await?;
    }
    let view = view(tx, &whole_session(&update.key, update.now)).await?;
    let (key, incarnation) = (update.key.clone(), row.head.incarnation);
    let end = match changes {
        false => End::Release,
        true => {
            let change = SessionChange::Updated(view.head.metadata_json());
            End::Commit(vec![Committed::Session { key, incarnation, change }])
        }
    };
    Ok((view, end))
}

pub async fn delete<X: Tx>(tx: &mut X, delete: &Deletion) -> Decided<((), End)> {
    let row = tx.lock_sessions(&BTreeSet::from([&delete.key]), OnLocked::Wait).await?.into_iter().next();
    let Some(row) = row.filter(|row| row.head.incarnation == delete.incarnation) else {
        return Ok(((), End::Release));
    };
    judge(tx, &row, &delete.guard, delete.now).await?;
    let told = primitives::bury(tx, &delete.key, row.head.incarnation, Removal::Deleted).await?;
    Ok(((), End::Commit(vec![told])))
}
