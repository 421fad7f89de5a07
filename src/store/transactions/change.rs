//! Changes that append no event: metadata, deletions, shared state on its own.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::erasure::admit;
use super::load::{lock_scopes, values};
use super::read::{view, whole_session};
use crate::domain::command::{DeleteOutcome, Deletion, MetadataUpdate, ScopeOutcome, UpdateOutcome};
use crate::domain::erasure::Subject;
use crate::domain::ids::{ScopeKey, SessionKey};
use crate::domain::lease::{LeaseMark, LeaseRefusal};
use crate::domain::loaded::{LockedSession, Needs};
use crate::domain::resolve::Mismatch;
use crate::domain::scope_write::{ScopeWrite, decide_scope};
use crate::domain::tag::IfMatch;
use crate::domain::time::Micros;
use crate::domain::writes::{Committed, Removal, SessionChange};
use crate::store::backend::{OnLocked, Tx};
use crate::store::error::StoreError;
use crate::store::run::{End, apply};
use crate::store::sql::primitives;

type Result<T> = std::result::Result<T, StoreError>;

pub async fn locked_live<X: Tx>(tx: &mut X, key: &SessionKey, now: Micros) -> Result<Option<LockedSession>> {
    Ok(tx.lock_sessions(&BTreeSet::from([key]), OnLocked::Wait).await?.into_iter().find(|row| row.head.is_live(now)))
}

/// Whether the lease of a locked session allows a change.
pub fn judge<X: Tx>(
    tx: &X,
    row: &LockedSession,
    given: Option<&LeaseMark>,
    now: Micros,
) -> std::result::Result<(), LeaseRefusal> {
    row.head.lease.judge(tx.timeline().mark(row.head.incarnation), given, now)
}

/// Whether the precondition of a change that writes no state holds; the scopes are read, not held.
pub async fn mismatch<X: Tx>(tx: &mut X, row: &LockedSession, if_match: Option<&IfMatch>) -> Result<Option<Mismatch>> {
    let Some(if_match) = if_match else { return Ok(None) };
    let (user, app) = (&row.key.user, row.key.app());
    let scopes =
        Needs { users: BTreeMap::from([(user, false)]), apps: BTreeMap::from([(app, false)]), ..Needs::default() };
    let mut found = tx.read_heads(&scopes).await?;
    found.timeline = tx.timeline();
    found.sessions.insert(row.key.clone(), row.head.clone());
    let tag = found.tag(&row.key).filter(|tag| !if_match.holds(tag));
    Ok(tag.map(|tag| Mismatch::of_session(&tag, Vec::new())))
}

pub async fn update_metadata<X: Tx>(tx: &mut X, update: &MetadataUpdate) -> Result<(UpdateOutcome, End)> {
    let Some(row) = locked_live(tx, &update.key, update.now).await? else {
        return Ok((UpdateOutcome::SessionNotFound, End::Release));
    };
    if let Err(refusal) = judge(tx, &row, update.lease.as_ref(), update.now) {
        return Ok((UpdateOutcome::Lease(refusal), End::Release));
    }
    if let Some(mismatch) = mismatch(tx, &row, update.if_match.as_ref()).await? {
        return Ok((UpdateOutcome::RevisionMismatch(mismatch), End::Release));
    }
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
    Ok((UpdateOutcome::Done(view), end))
}

pub async fn delete<X: Tx>(tx: &mut X, delete: &Deletion) -> Result<(DeleteOutcome, End)> {
    let row = tx.lock_sessions(&BTreeSet::from([&delete.key]), OnLocked::Wait).await?.into_iter().next();
    let Some(row) = row.filter(|row| row.head.incarnation == delete.incarnation) else {
        return Ok((DeleteOutcome::Done, End::Release));
    };
    if let Err(refusal) = judge(tx, &row, delete.lease.as_ref(), delete.now) {
        return Ok((DeleteOutcome::Lease(refusal), End::Release));
    }
    if let Some(mismatch) = mismatch(tx, &row, delete.if_match.as_ref()).await? {
        return Ok((DeleteOutcome::RevisionMismatch(mismatch), End::Release));
    }
    let told = primitives::bury(tx, &delete.key, row.head.incarnation, Removal::Deleted).await?;
    Ok((DeleteOutcome::Done, End::Commit(vec![told])))
}

pub async fn write_scope<X: Tx>(tx: &mut X, salt: &[u8; 32], write: &ScopeWrite) -> Result<(ScopeOutcome, End)> {
    if let ScopeKey::User(user) = &write.scope
        && !admit(tx, &user.app, &Subject::of(salt, user)).await?
    {
        return Ok((ScopeOutcome::UserErased, End::Release));
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
        let outcome = match request.is_retry_of(&digest) {
            true => ScopeOutcome::Replayed(primitives::scope(tx, &write.scope).await?),
            false => ScopeOutcome::KeyConflict,
        };
        return Ok((outcome, End::Release));
    }
    let values = values(tx, &write.needs(), &HashMap::new()).await?;
    let writes = match decide_scope(&values, write, (revision, next)) {
        Ok(writes) => writes,
        Err(refusal) => return Ok((ScopeOutcome::Refused(refusal), End::Release)),
    };
    let mut end = End::Release;
    if !writes.is_empty() || write.request.is_some() {
        (_, end) = apply(tx, &writes).await?;
    }
    if let Some(request) = &write.request {
        primitives::remember_patch(tx, &write.scope, request, write.now).await?;
    }
    Ok((ScopeOutcome::Done(primitives::scope(tx, &write.scope).await?), end))
}
