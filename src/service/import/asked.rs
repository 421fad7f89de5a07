//! What an import asks for, done.

use std::time::Duration;

use futures_util::TryFutureExt as _;
use futures_util::future::BoxFuture;
use tokio::time::Instant;

use super::Import;
use crate::domain::artifact::{Found, Place};
use crate::domain::ids::{SessionKey, UserKey};
use crate::domain::query::ScopePart;
use crate::domain::refusal::Refusal;
use crate::domain::transfer::{Ask, Fault, ImportEnd, Write};
use crate::service::retry::Repeat;
use crate::service::{Error, Result, Service};
use crate::store::error::Failure;

impl Import {
    pub(super) async fn asked(&mut self, ask: Ask) -> Result<()> {
        let (service, deadline) = (self.service.clone(), Instant::now() + self.patience);
        let store = &service.store;
        match ask {
            Ask::Begin => {
                let erasures = service.read(deadline, || store.erasure_counts(deadline)).await?;
                self.machine.begun(erasures, store.erasure_salt(deadline).await?);
            }
            Ask::Write(write) => {
                let run = |_| -> BoxFuture<'_, std::result::Result<bool, Failure>> {
                    match &write {
                        Write::Scope(import) => Box::pin(store.import_scope(import, deadline).map_ok(|()| true)),
                        Write::Past(rows) => Box::pin(store.import_past(rows, deadline).map_ok(|()| true)),
                        Write::PastEnd(end) => Box::pin(store.end_past(end, deadline).map_ok(|()| true)),
                        Write::Rows(rows) => Box::pin(store.import_rows(rows, deadline).map_ok(|()| true)),
                        Write::Session(import) => Box::pin(store.import_session(import, deadline).map_ok(|()| true)),
                        Write::File(import, _) => store.import_artifact(import, deadline),
                    }
                };
                let outcome = service.attempt(Repeat::Safe, deadline, run).await?.value;
                self.machine.written(write, outcome);
            }
            Ask::Judge(write) => {
                let outcome = judged(&service, &write, deadline).await?;
                self.machine.written(write, outcome);
            }
            Ask::ScopeAt(scope, revision) => {
                let read = || store.scope_at(&scope, revision, deadline);
                let (head, then) = service.read(deadline, read).await?;
                self.machine.scope_was(head, then.as_deref());
            }
            Ask::Past(query) => {
                self.machine.past_was(&service.read(deadline, || store.past(&query, deadline)).await?);
            }
            Ask::FindSession(key, is_timed) => self.find_session(&key, is_timed, deadline).await?,
            Ask::Compare(import) => {
                let is_same = is_same(&service, &import, self.patience).await?;
                self.machine.compared(&import, is_same);
            }
            Ask::Abandon(key, incarnation) => {
                let abandon = |_| store.abandon_import(&key, incarnation, deadline);
                service.transact(Repeat::Safe, deadline, abandon).await?;
                service.to_sweep.notify_one();
            }
            Ask::FindFile(user, name) => {
                let (place, now) = (Place::User(user), service.clock.now());
                let read = || store.artifact_versions(&place, &name, -1, 1, now, deadline);
                let found = service.read(deadline, read).await?;
                self.machine.file_found(matches!(found, Found::There(_)), service.clock.incarnation());
            }
            Ask::Push(user, bytes) => self.push(user, &bytes).await?,
            Ask::Keep => {
                if let Some(upload) = self.upload.take() {
                    let kept = match upload.done().await {
                        Ok(blob) => Ok(blob),
                        Err(error) => Err(of_bytes(error)?),
                    };
                    self.machine.kept(kept);
                }
            }
            Ask::Drop => {
                if let Some(upload) = self.upload.take() {
                    upload.leave().await;
                }
            }
            // Whether they are there is seen at the end.
            Ask::Renew(key) => drop(store.renew_blob(&key, None, service.clock.now(), deadline).await),
            Ask::Leave(key) => {
                // If it fails, the sweep finds it later.
                let _ = store.leave_blob(&key, deadline).await;
                service.to_sweep.notify_one();
            }
            Ask::Stop(refusal) => return Err(refusal.into()),
        }
        Ok(())
    }

    async fn find_session(&mut self, key: &SessionKey, is_timed: bool, deadline: Instant) -> Result<()> {
        let service = &self.service;
        let time = match is_timed {
            true => Some(service.read(deadline, || Box::pin(service.time(deadline))).await?),
            false => None,
        };
        let exists = match service.head(key, deadline).await {
            Ok(_) => true,
            Err(Error::SessionNotFound) => false,
            Err(error) => return Err(error),
        };
        self.machine.session_found(exists, service.clock.incarnation(), time);
        Ok(())
    }

    async fn push(&mut self, user: UserKey, bytes: &[u8]) -> Result<()> {
        let upload = self.upload.get_or_insert_with(|| self.service.upload(Place::User(user.clone())));
        let before = upload.cost();
        let pushed = match upload.push(bytes).await {
            // The first 1 is paid with the row of the version.
            Ok(()) => Ok((upload.read(), user, upload.cost() - before)),
            Err(error) => Err(of_bytes(error)?),
        };
        self.machine.pushed(pushed);
        Ok(())
    }
}

/// What would come of a write. Only those of scopes and of artifacts of users depend on what is there.
async fn judged(service: &Service, write: &Write, deadline: Instant) -> Result<std::result::Result<bool, Refusal>> {
    let store = &service.store;
    Ok(match write {
        Write::Scope(import) => {
            let read = || store.scope(&import.scope, &ScopePart::Whole, deadline);
            import.beside(&service.read(deadline, read).await?)
        }
        Write::File(import, exists) => {
            match service.read(deadline, || store.has_other_artifact(import, deadline)).await? {
                true => Err(Refusal::ArtifactVersionExists),
                false => Ok(!exists),
            }
        }
        Write::Past(_) | Write::PastEnd(_) | Write::Rows(_) | Write::Session(_) => Ok(true),
    })
}

/// Whether the session that is there was imported from the same lines, or is exported as them.
async fn is_same(service: &Service, import: &ImportEnd, patience: Duration) -> Result<bool> {
    let ImportEnd { key, sha256, .. } = import;
    let was_imported = service.imported_digest(key, Instant::now() + patience).await? == Some(sha256.to_vec());
    Ok(was_imported || service.is_exported_as(key, *sha256, patience).await?)
}

/// Why bytes were not stored.
///
/// # Errors
/// It is not a fault of theirs.
fn of_bytes(error: Error) -> Result<Fault> {
    match error {
        Error::Rejected(rejected) => Ok(rejected.into()),
        Error::UserErased => Ok(Fault::bytes_lost()),
        error => Err(error),
    }
}
