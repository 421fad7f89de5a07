//! Reads sessions and shared state whole, and takes them in.

pub mod artifacts;
pub mod export;
pub mod import;
pub mod scopes;

use async_trait::async_trait;
use tokio::time::Instant;

use crate::domain::ids::{ScopeKey, SessionKey};
use crate::domain::transfer::{
    ArtifactImport, ArtifactsPage, ArtifactsQuery, ExportQuery, Exported, ImportEnd, ImportRows, PastEnd, PastPage,
    PastQuery, PastRows, ScopeHead, ScopeImport,
};
use crate::store::backend::Backend;
use crate::store::error::{Decided, Result};
use crate::store::run::End;
use crate::store::transactions::Transactions;

#[async_trait]
pub trait Reads: Send + Sync {
    /// A part of a session, as exports show it; `None` if it is not there.
    async fn export(&self, query: &ExportQuery, deadline: Instant) -> Result<Option<Exported>>;

    /// A page of the artifacts of a session or a user, as exports show them; `None` if the session is not there.
    async fn exported_artifacts(&self, query: &ArtifactsQuery, deadline: Instant) -> Result<Option<ArtifactsPage>>;

    /// A part of the past of shared state, as exports show it.
    async fn past(&self, query: &PastQuery, deadline: Instant) -> Result<PastPage>;
}

#[async_trait]
pub trait Writes: Send + Sync {
    /// Writes rows of a session that is not visible yet. The same again changes nothing.
    async fn import_rows(&self, rows: &ImportRows, deadline: Instant) -> Decided<()>;

    /// Makes the session of such rows visible, if there is none of its id.
    async fn import_session(&self, import: &ImportEnd, deadline: Instant) -> Decided<()>;

    /// Leaves such rows to [`upkeep::Writes::sweep`](crate::store::upkeep::Writes::sweep).
    async fn abandon_import(&self, key: &SessionKey, incarnation: i64, deadline: Instant) -> Result<()>;

    /// Takes an artifact of a user who has none of its name; whether it was not there. `ArtifactVersionExists` if there is another one.
    async fn import_artifact(&self, import: &ArtifactImport, deadline: Instant) -> Decided<bool>;

    /// Takes the state of an app or a user that has none.
    async fn import_scope(&self, import: &ScopeImport, deadline: Instant) -> Decided<()>;

    /// Writes a part of what shared state was before [`Writes::import_scope`] took it, which nobody sees yet; `OtherState` if it was not
    /// taken so, or its past is there. The same again changes nothing.
    async fn import_past(&self, rows: &PastRows, deadline: Instant) -> Decided<()>;

    /// Makes all of that visible. The same again changes nothing.
    async fn end_past(&self, end: &PastEnd, deadline: Instant) -> Decided<()>;

    /// Whether a user has another artifact of the name of one that is to be imported.
    async fn has_other_artifact(&self, import: &ArtifactImport, deadline: Instant) -> Result<bool>;

    /// Where shared state stands, and what it was at a revision; `None` if that is not known.
    async fn scope_at(&self, scope: &ScopeKey, revision: i64, deadline: Instant)
    -> Result<(ScopeHead, Option<String>)>;
}

#[async_trait]
impl<B: Backend> Reads for Transactions<B> {
    async fn export(&self, query: &ExportQuery, deadline: Instant) -> Result<Option<Exported>> {
        self.runner.of(query.key.app(), deadline).read(async |tx| export::export(tx, query).await).await
    }

    async fn exported_artifacts(&self, query: &ArtifactsQuery, deadline: Instant) -> Result<Option<ArtifactsPage>> {
        let read = async |tx: &mut B::Tx| artifacts::exported(tx, query).await;
        self.runner.of(&query.user.app, deadline).read(read).await
    }

    async fn past(&self, query: &PastQuery, deadline: Instant) -> Result<PastPage> {
        self.runner.of(query.scope.app(), deadline).read(async |tx| scopes::past(tx, query).await).await
    }
}

#[async_trait]
impl<B: Backend> Writes for Transactions<B> {
    async fn import_rows(&self, rows: &ImportRows, deadline: Instant) -> Decided<()> {
        self.runner.of(rows.key.app(), deadline).decide(async |tx| import::import_rows(tx, rows).await).await
    }

    async fn import_session(&self, import: &ImportEnd, deadline: Instant) -> Decided<()> {
        self.runner.of(import.key.app(), deadline).decide(async |tx| import::import_session(tx, import).await).await
    }

    async fn abandon_import(&self, key: &SessionKey, incarnation: i64, deadline: Instant) -> Result<()> {
        let abandon = async |tx: &mut B::Tx| Ok((import::abandon(tx, key, incarnation).await?, End::UNTOLD));
        self.runner.of(key.app(), deadline).write(abandon).await
    }

    async fn import_artifact(&self, import: &ArtifactImport, deadline: Instant) -> Decided<bool> {
        let call = self.runner.of(&import.user.app, deadline);
        call.decide(async |tx| artifacts::import_artifact(tx, import).await).await
    }

    async fn import_scope(&self, import: &ScopeImport, deadline: Instant) -> Decided<()> {
        self.remembered.evict_scope(&import.scope);
        self.runner.of(import.scope.app(), deadline).decide(async |tx| scopes::import_scope(tx, import).await).await
    }

    async fn import_past(&self, rows: &PastRows, deadline: Instant) -> Decided<()> {
        let call = self.runner.of(rows.scope.app(), deadline);
        let salt = self.salt(&call).await?;
        call.decide(async |tx| scopes::import_past(tx, salt, rows).await).await
    }

    async fn end_past(&self, end: &PastEnd, deadline: Instant) -> Decided<()> {
        self.remembered.evict_scope(&end.scope);
        self.runner.of(end.scope.app(), deadline).decide(async |tx| scopes::end_past(tx, end).await).await
    }

    async fn has_other_artifact(&self, import: &ArtifactImport, deadline: Instant) -> Result<bool> {
        let beside = async |tx: &mut B::Tx| artifacts::beside(tx, import).await;
        Ok(self.runner.of(&import.user.app, deadline).read(beside).await? == artifacts::Beside::Other)
    }

    async fn scope_at(
        &self,
        scope: &ScopeKey,
        revision: i64,
        deadline: Instant,
    ) -> Result<(ScopeHead, Option<String>)> {
        self.runner.of(scope.app(), deadline).read(async |tx| scopes::scope_at(tx, scope, revision).await).await
    }
}
