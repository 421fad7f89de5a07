//! Changes that append no event: metadata, deletions, shared state on its own.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::erasure::admit;
use super::load::{lock_scopes, values};
use super::read::{not_there, view, whole_session};
use crate::domain::command::{Deletion, Made, MetadataUpdate};
use crate::domain::erasure::Subject;
use crate::domain::guard::Guard;
use crate::domain::ids::{ScopeKey, SessionKey};
use crate::domain::loaded::{Loaded, LockedSession, Needs};
use crate::domain::query::{ScopeView, SessionView};
use crate::domain::refusal::Refusal;
use crate::domain::scope_write::{ScopeWrite, decide_scope};
use crate::domain::time::Micros;
use crate::domain::writes::{Committed, Removal, SessionChange};
use crate::store::backend::{OnLocked, Tx};
use crate::store::error::{Failure, StoreError};
use crate::store::run::{End, apply};
use crate::store::sql::primitives;

type Result<T> = std::result::Result<T, StoreError>;
type Decided<T> = std::result::Result<T, Failure>;

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
        let (user, app) = (&row.key.user, row.key.app());
        let scopes =
            Needs { users: BTreeMap::from([(user, false)]), apps: BTreeMap::from([(app, false)]), ..Needs::default() };
        found = tx.read_heads(&scopes).await?;
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

pub async fn write_scope<X: Tx>(tx: &mut X, salt: &[u8; 32], write: &ScopeWrite) -> Decided<((Made, ScopeView), End)> {
    if let ScopeKey::User(user) = &write.scope
        && !admit(tx, &user.app, &Subject::of(salt, user)).await?
    {
        return Err(Refusal::UserErased.into());
    }
    let scope = match &write.scope {
        ScopeKey::User(key) => Needs { users: BTreeMap::from([(key, true)]), ..Needs::default() },
        ScopeKey::App(key) => Needs { apps: BTreeMap::from([(key, true)]), ..Needs::default() },
    };
    lock_scopes(tx, &scope).await?;
    let heads = tx.read_heads(&scope).await?;
    let revision = heads.users.values().chain(heads.apps.values()).next().copied().unwrap_or(0);
    let next = match &write.scope {
        ScopeKey::User(user) => heads.user_revision_after(&user.app, revision),
        ScopeKey::App(_) => revision + 1,
    };
    if let Some(request) = &write.request
        && let Some(digest) = primitives::patched_by(tx, &write.scope, &request.key).await?
    {
        if !request.is_retry_of(&digest) {
            return Err(Refusal::PatchKeyConflict.into());
        }
        return Ok(((Made::Before, primitives::scope(tx, &write.scope).await?), End::Release));
    }
    let values = values(tx, &write.needs(), &HashMap::new()).await?;
    let writes = decide_scope(&values, write, (revision, next))?;
    let mut end = End::Release;
    if !writes.is_empty() || write.request.is_some() {
        (_, end) = apply(tx, &writes).await?;
    }
    if let Some(request) = &write.request {
        primitives::remember_patch(tx, &write.scope, request, write.now).await?;
    }
    Ok(((Made::New, primitives::scope(tx, &write.scope).await?), end))
}
