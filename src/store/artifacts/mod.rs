//! Artifacts: versions of files, and the bytes that the database has of them.
//!
//! Bytes come before their version: a blob is noted, its chunks are written, each in a transaction of its own, and the transaction
//! that saves the version takes it. What no version holds is removed by the sweep: blobs of which nothing has come for long, and those
//! that the last version left.

pub mod blobs;
pub mod keep;
pub mod read;
pub mod remove;
pub mod restore;
pub mod save;

use std::collections::HashSet;
use std::sync::Arc;

use async_trait::async_trait;
use tokio::time::Instant;

use crate::domain::artifact::{
    ArtifactDeletion, ArtifactList, ArtifactPage, Blob, BlobBegin, BlobKey, Found, HeldName, KeepVersions, LooseBlob,
    Place, Save, Saved, Version, VersionPage, Wanted,
};
use crate::domain::ids::{AppName, ArtifactName};
use crate::domain::query::{SessionQuery, SessionView};
use crate::domain::time::Micros;
use crate::store::backend::Backend;
use crate::store::error::{Decided, Result};
use crate::store::transactions::Transactions;

#[async_trait]
pub trait Reads: Send + Sync {
    /// A version of an artifact, and where its bytes are, if it has any.
    async fn artifact(
        &self,
        place: &Place,
        name: &ArtifactName,
        wanted: Wanted,
        now: Micros,
        deadline: Instant,
    ) -> Result<Found<(Version, Option<Blob>)>>;

    /// Up to `rows` versions of an artifact, above `after`, ascending.
    async fn artifact_versions(
        &self,
        place: &Place,
        name: &ArtifactName,
        after: i64,
        rows: usize,
        now: Micros,
        deadline: Instant,
    ) -> Result<Found<VersionPage>>;

    /// A page of artifacts.
    async fn artifacts(&self, list: &ArtifactList, deadline: Instant) -> Result<Found<ArtifactPage>>;

    /// A session, and of some artifacts that it sees the latest versions, as far as there are any; `None` if there is no session.
    async fn session_with_latest(
        &self,
        query: &SessionQuery,
        names: &[ArtifactName],
        deadline: Instant,
    ) -> Result<Option<(SessionView, Vec<(Version, Option<Blob>)>)>>;
}

#[async_trait]
pub trait Writes: Send + Sync {
    /// Notes bytes that are about to come, for an artifact of a place that is there. The same again changes nothing. A crash may undo
    /// it if they come to the database.
    async fn begin_blob(&self, begin: &BlobBegin, deadline: Instant) -> Decided<()>;

    /// Writes a chunk of a blob, unless it is there. Without an answer to wait for: a crash may undo it, but not after the commit of
    /// the version that has it.
    async fn add_chunk(&self, blob: &BlobKey, n: i64, bytes: &[u8], now: Micros, deadline: Instant) -> Decided<()>;

    /// Notes that bytes have come to a blob that is elsewhere, so that it is not taken for left behind; and the unfinished upload
    /// that its store keeps, if one has begun.
    async fn renew_blob(&self, blob: &BlobKey, upload: Option<&str>, now: Micros, deadline: Instant) -> Decided<()>;

    /// Leaves a blob that no version holds to the sweep.
    async fn leave_blob(&self, blob: &BlobKey, deadline: Instant) -> Result<()>;

    /// Saves a version, perhaps in one transaction with others. With `again`, what an earlier try of the same save has made is found.
    async fn save_artifact(&self, save: &Arc<Save>, again: bool, deadline: Instant) -> Decided<Saved>;

    /// Removes a version of an artifact, or all. What is not there is removed already.
    async fn delete_artifact(&self, deletion: &ArtifactDeletion, deadline: Instant) -> Decided<()>;

    /// Goes through a bounded number of artifacts of an app, and removes all but the last versions of each; where to go on, `None` at the
    /// end.
    async fn keep_versions(&self, walk: &KeepVersions, deadline: Instant) -> Result<Option<HeldName>>;

    /// Claims loose blobs of an app, so that no version takes them any more. Returns which: not those that a version has taken, or to
    /// which bytes come.
    async fn claim_blobs(
        &self,
        app: &AppName,
        blobs: &[&BlobKey],
        now: Micros,
        deadline: Instant,
    ) -> Result<HashSet<String>>;

    /// Leaves a claimed blob alone for some minutes, as its store fails.
    async fn postpone_blob(&self, blob: &BlobKey, now: Micros, deadline: Instant) -> Result<()>;

    /// Removes claimed blobs of an app, and their chunks, which must not be many.
    async fn remove_blobs(&self, app: &AppName, blobs: &[&BlobKey], deadline: Instant) -> Result<()>;

    /// Removes some chunks of a claimed blob, or, if there are none, the blob itself; whether there may be more.
    async fn remove_blob(&self, blob: &BlobKey, deadline: Instant) -> Result<bool>;

    /// A chunk of a blob; `None` if it is not there.
    async fn chunk(&self, blob: &BlobKey, n: i64, deadline: Instant) -> Result<Option<Vec<u8>>>;

    /// Up to `limit` blobs that no version holds, and to which nothing has come for long: those of erasures first.
    async fn loose_blobs(&self, now: Micros, limit: usize, deadline: Instant) -> Result<Vec<LooseBlob>>;

    /// Goes through a bounded number of artifacts of an app, and counts the versions that [`Writes::keep_versions`] would remove; where to
    /// go on, `None` at the end.
    async fn excess_versions(&self, walk: &KeepVersions, deadline: Instant) -> Result<(i64, Option<HeldName>)>;

    /// Those of some objects of a store that a blob has.
    async fn known_objects(&self, store: &str, objects: &[String], deadline: Instant) -> Result<Vec<String>>;
}

#[async_trait]
impl<B: Backend> Reads for Transactions<B> {
    async fn artifact(
        &self,
        place: &Place,
        name: &ArtifactName,
        wanted: Wanted,
        now: Micros,
        deadline: Instant,
    ) -> Result<Found<(Version, Option<Blob>)>> {
        let read = async |tx: &mut B::Tx| read::artifact(tx, place, name, wanted, now).await;
        self.runner.of(place.app(), deadline).read(read).await
    }

    async fn artifact_versions(
        &self,
        place: &Place,
        name: &ArtifactName,
        after: i64,
        rows: usize,
        now: Micros,
        deadline: Instant,
    ) -> Result<Found<VersionPage>> {
        let read = async |tx: &mut B::Tx| read::versions(tx, place, name, (after, rows), now).await;
        self.runner.of(place.app(), deadline).read(read).await
    }

    async fn artifacts(&self, list: &ArtifactList, deadline: Instant) -> Result<Found<ArtifactPage>> {
        self.runner.of(list.place.app(), deadline).read(async |tx| read::artifacts(tx, list).await).await
    }

    async fn session_with_latest(
        &self,
        query: &SessionQuery,
        names: &[ArtifactName],
        deadline: Instant,
    ) -> Result<Option<(SessionView, Vec<(Version, Option<Blob>)>)>> {
        let read = async |tx: &mut B::Tx| read::session_with_latest(tx, query, names).await;
        self.runner.of(query.key.app(), deadline).read(read).await
    }
}

#[async_trait]
impl<B: Backend> Writes for Transactions<B> {
    async fn begin_blob(&self, begin: &BlobBegin, deadline: Instant) -> Decided<()> {
        let call = self.runner.of(begin.place.app(), deadline);
        let salt = self.salt(&call).await?;
        if begin.blob.object.is_none() {
            return call.early().decide(async |tx| save::begin_blob(tx, salt, begin).await).await;
        }
        // Of an object elsewhere the database must know whatever crashes.
        let group = async |begins: &[&BlobBegin], deadline| {
            save::begin_together(&self.runner.resume(deadline), salt, begins).await
        };
        match self.begins.ask(begin, call.deadline(), group).await?? {
            Some(()) => Ok(()),
            None => call.decide(async |tx| save::begin_blob(tx, salt, begin).await).await,
        }
    }

    async fn add_chunk(&self, blob: &BlobKey, n: i64, bytes: &[u8], now: Micros, deadline: Instant) -> Decided<()> {
        let call = self.runner.of(&blob.user.app, deadline).early();
        call.decide(async |tx| blobs::add_chunk(tx, blob, n, bytes, now).await).await
    }

    async fn renew_blob(&self, blob: &BlobKey, upload: Option<&str>, now: Micros, deadline: Instant) -> Decided<()> {
        let call = self.runner.of(&blob.user.app, deadline);
        call.decide(async |tx| blobs::renew(tx, blob, upload, now).await).await
    }

    async fn leave_blob(&self, blob: &BlobKey, deadline: Instant) -> Result<()> {
        self.runner.of(&blob.user.app, deadline).execute(|tx| blobs::leave(tx, blob)).await.map(drop)
    }

    async fn save_artifact(&self, save: &Arc<Save>, again: bool, deadline: Instant) -> Decided<Saved> {
        if let (Some(session), Some(_)) = (save.place.session(), &save.event) {
            self.remembered.evict_session(session);
        }
        let call = self.runner.of(save.place.app(), deadline);
        let salt = self.salt(&call).await?;
        if !again && save::may_share(save) {
            let group =
                async |saves: &[&Arc<Save>], deadline| save::together(&self.runner.resume(deadline), salt, saves).await;
            if let Some(saved) = self.saves.ask(save, call.deadline(), group).await?? {
                return Ok(saved);
            }
        }
        save::alone(&call, salt, save, again).await
    }

    async fn delete_artifact(&self, deletion: &ArtifactDeletion, deadline: Instant) -> Decided<()> {
        let call = self.runner.of(deletion.place.app(), deadline);
        call.decide(async |tx| remove::delete(tx, deletion).await).await
    }

    async fn keep_versions(&self, walk: &KeepVersions, deadline: Instant) -> Result<Option<HeldName>> {
        let call = self.runner.of(&walk.app, deadline);
        // Most often nothing is due, and then no writer need wait.
        let (due, next) = call.one_statement(async |tx| keep::find(tx, walk).await).await?;
        if due.is_empty() {
            return Ok(next);
        }
        call.write(async |tx| keep::keep(tx, walk, &due, next).await).await
    }

    async fn claim_blobs(
        &self,
        app: &AppName,
        blobs: &[&BlobKey],
        now: Micros,
        deadline: Instant,
    ) -> Result<HashSet<String>> {
        self.runner.of(app, deadline).write(async |tx| blobs::claim(tx, blobs, now).await).await
    }

    async fn remove_blobs(&self, app: &AppName, blobs: &[&BlobKey], deadline: Instant) -> Result<()> {
        self.runner.of(app, deadline).write(async |tx| blobs::remove_all(tx, blobs).await).await
    }

    async fn postpone_blob(&self, blob: &BlobKey, now: Micros, deadline: Instant) -> Result<()> {
        self.runner.of(&blob.user.app, deadline).execute(|tx| blobs::postpone(tx, blob, now)).await.map(drop)
    }

    async fn remove_blob(&self, blob: &BlobKey, deadline: Instant) -> Result<bool> {
        self.runner.of(&blob.user.app, deadline).write(async |tx| blobs::remove(tx, blob).await).await
    }

    async fn chunk(&self, blob: &BlobKey, n: i64, deadline: Instant) -> Result<Option<Vec<u8>>> {
        let chunk = self.runner.of(&blob.user.app, deadline).at_most_one(|tx| blobs::chunk(tx, blob, n)).await?;
        Ok(chunk.map(|(bytes,)| bytes))
    }

    async fn loose_blobs(&self, now: Micros, limit: usize, deadline: Instant) -> Result<Vec<LooseBlob>> {
        self.runner.across_apps(deadline).fetch(|tx| blobs::loose(tx, now, limit)).await
    }

    async fn excess_versions(&self, walk: &KeepVersions, deadline: Instant) -> Result<(i64, Option<HeldName>)> {
        self.runner.of(&walk.app, deadline).one_statement(async |tx| keep::excess(tx, walk).await).await
    }

    async fn known_objects(&self, store: &str, objects: &[String], deadline: Instant) -> Result<Vec<String>> {
        let known = self.runner.across_apps(deadline).fetch(|tx| blobs::known(tx, store, objects)).await?;
        Ok(known.into_iter().map(|(object,)| object).collect())
    }
}
