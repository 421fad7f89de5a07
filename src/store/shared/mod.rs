//! App and user state on its own.

use std::collections::HashMap;

use async_trait::async_trait;
use tokio::time::Instant;

use crate::domain::command::Made;
use crate::domain::erasure::Subject;
use crate::domain::ids::ScopeKey;
use crate::domain::loaded::Needs;
use crate::domain::query::{ScopePart, ScopeView};
use crate::domain::refusal::Refusal;
use crate::domain::scope_write::{ScopeWrite, decide_scope};
use crate::store::backend::{Backend, Tx};
use crate::store::blocked::admit;
use crate::store::error::{Decided, Result};
use crate::store::load::values;
use crate::store::run::{End, apply};
use crate::store::sql::shared;
use crate::store::transactions::Transactions;

#[async_trait]
pub trait Reads: Send + Sync {
    /// Reads app or user state on its own, or a part of it: revision 0 and `{}` if there is none.
    async fn scope(&self, scope: &ScopeKey, part: &ScopePart, deadline: Instant) -> Result<ScopeView>;
}

#[async_trait]
pub trait Writes: Send + Sync {
    /// Changes app or user state on its own.
    async fn write_scope(&self, write: &ScopeWrite, deadline: Instant) -> Decided<(Made, ScopeView)>;

    /// Reads the revisions of app and user state, of those that have one.
    async fn scope_revisions(&self, keys: &[ScopeKey], deadline: Instant) -> Result<Vec<(ScopeKey, i64)>>;
}

#[async_trait]
impl<B: Backend> Reads for Transactions<B> {
    async fn scope(&self, scope: &ScopeKey, part: &ScopePart, deadline: Instant) -> Result<ScopeView> {
        let call = self.runner.of(scope.app(), deadline);
        let show = async |tx: &mut B::Tx| show(tx, scope, part).await;
        match part {
            ScopePart::Whole | ScopePart::Keys(_) => call.one_statement(show).await,
            ScopePart::Range(_) => call.read(show).await,
        }
    }
}

#[async_trait]
impl<B: Backend> Writes for Transactions<B> {
    async fn write_scope(&self, write: &ScopeWrite, deadline: Instant) -> Decided<(Made, ScopeView)> {
        self.remembered.evict_scope(&write.scope);
        let call = self.runner.of(write.scope.app(), deadline);
        let salt = self.salt(&call).await?;
        call.decide(async |tx| write_scope(tx, salt, write).await).await
    }

    async fn scope_revisions(&self, keys: &[ScopeKey], deadline: Instant) -> Result<Vec<(ScopeKey, i64)>> {
        let scopes = keys.iter().map(|key| (key.borrowed(), false)).collect();
        let needs = Needs { scopes, ..Needs::default() };
        let read = async |tx: &mut B::Tx| tx.read_heads(&needs).await;
        Ok(self.runner.across_apps(deadline).one_statement(read).await?.scopes.into_iter().collect())
    }
}

/// A scope as this transaction sees it; a range of it takes several statements.
async fn show<X: Tx>(tx: &mut X, scope: &ScopeKey, part: &ScopePart) -> Result<ScopeView> {
    let range = match part {
        ScopePart::Whole => return shared::scope(tx, scope, None).await,
        ScopePart::Keys(keys) => return shared::scope(tx, scope, Some(keys)).await,
        ScopePart::Range(range) => range,
    };
    let parts = match range.behind("") {
        Some(keys) => vec![("", shared::range(tx, scope, &keys, range.page()).await?)],
        None => Vec::new(),
    };
    let heads = tx.read_heads(&Needs::of_scope(scope)).await?;
    Ok(ScopeView::of_page(heads.revision(scope.borrowed()), range.join(parts)))
}

pub async fn write_scope<X: Tx>(tx: &mut X, salt: &[u8; 32], write: &ScopeWrite) -> Decided<((Made, ScopeView), End)> {
    if let ScopeKey::User(user) = &write.scope
        && !admit(tx, &user.app, &Subject::of(salt, user)).await?
    {
        return Err(Refusal::UserErased.into());
    }
    let scope = write.scope.borrowed();
    tx.lock_scopes(&[scope]).await?;
    let heads = tx.read_heads(&Needs::of_scope(&write.scope)).await?;
    let revision = heads.revision(scope);
    let next = heads.revision_after(scope, revision);
    if let Some(request) = &write.request
        && let Some(digest) = shared::patched_by(tx, &write.scope, &request.key).await?
    {
        if !request.is_retry_of(&digest) {
            return Err(Refusal::PatchKeyConflict.into());
        }
        return Ok(((Made::Before, show(tx, &write.scope, &write.shows).await?), End::Release));
    }
    let values = values(tx, &write.needs(), &HashMap::new()).await?;
    let writes = decide_scope(&values, write, (revision, next))?;
    let mut end = End::Release;
    if !writes.is_empty() || write.request.is_some() {
        (_, end) = apply(tx, &writes).await?;
    }
    if let Some(request) = &write.request {
        shared::remember_patch(tx, &write.scope, request, write.now).await?;
    }
    Ok(((Made::New, show(tx, &write.scope, &write.shows).await?), end))
}
