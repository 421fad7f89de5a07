//! Artifacts: files of sessions and users. Their bytes come and go part by part; memory does not grow with them.

use std::collections::{BTreeMap, HashSet};
use std::mem;
use std::ops::Range;
use std::sync::Arc;

use bytes::{Bytes, BytesMut};
use futures_util::future::join_all;
use futures_util::{Stream, StreamExt as _};
use sha2::{Digest as _, Sha256};
use tokio::task::JoinHandle;
use tokio::time::{Duration, Instant, timeout_at};

use super::retry::{Repeat, Tried};
use super::sweep::rest;
use super::{Error, Reader, Result, Service, StoreResult};
use crate::blobs::{BlobError, PART, Writing};
use crate::domain::Rejected;
use crate::domain::artifact::{
    ArtifactDeletion, ArtifactList, ArtifactPage, Blob, BlobKey, Found, IfVersion, LooseBlob, Part, Place, Save,
    SaveEvent, SavedBlob, StoreFault, Version, VersionPage, Wanted,
};
use crate::domain::event::{cost, cost_beside};
use crate::domain::ids::{AppName, ArtifactName, IdempotencyKey, SessionKey};
use crate::domain::json::RawJson;
use crate::domain::lease::LeaseMark;
use crate::domain::query::{SessionQuery, SessionView, StateFilter};
use crate::domain::refusal::Refusal;
use crate::domain::template::Texts;
use crate::store::error::{Cause, StoreError};

/// A version to be saved, but for its bytes.
#[derive(Debug)]
pub struct SaveRequest {
    pub place: Place,
    pub name: ArtifactName,
    /// Its bytes are saved, unless an upload has them.
    pub part: Part,
    pub metadata: Option<RawJson>,
    pub version: Option<i64>,
    pub is_first: bool,
    pub if_match: Option<IfVersion>,
    pub lease: Option<LeaseMark>,
    pub key: Option<IdempotencyKey>,
    /// Author and invocation of the event that is appended.
    pub event: Option<(String, String)>,
}

/// A saved version.
#[derive(Debug)]
pub struct SavedArtifact {
    pub version: Version,
    /// An earlier request saved it.
    pub replayed: bool,
    pub cost: u32,
}

/// Bytes on their way to be saved. Whoever does not save them [abandons](Upload::abandon) them.
pub struct Upload {
    service: Arc<Service>,
    place: Place,
    id: String,
    /// What has come of the next part.
    buffer: BytesMut,
    hash: Sha256,
    size: u64,
    written: UploadState,
}

/// What becomes of the parts of an upload. One is written while the next one comes.
enum UploadState {
    /// No more has come than one part.
    Nothing,
    Ready(Box<dyn Writing>),
    Busy(JoinHandle<(Box<dyn Writing>, std::result::Result<(), BlobError>)>),
}

impl Upload {
    /// How many bytes it holds in memory.
    pub fn held(&self) -> usize {
        self.buffer.len() + if matches!(self.written, UploadState::Busy(_)) { PART } else { 0 }
    }

    /// What the bytes cost that have come.
    pub fn cost(&self) -> u32 {
        cost(usize::try_from(self.size).unwrap_or(usize::MAX))
    }

    /// Takes the next bytes. Those before may still be on their way to their place: its failure is told by a later call.
    ///
    /// # Errors
    /// They are too many; the place is not there; the database, or the place for bytes, fails.
    pub async fn push(&mut self, bytes: &[u8]) -> Result<()> {
        self.size += bytes.len() as u64;
        self.service.metrics.artifact_bytes.add("in", bytes.len());
        self.service.limits.check_artifact(self.size)?;
        self.hash.update(bytes);
        let mut rest = bytes;
        // The last part is written at the end, so that none is empty.
        while self.buffer.len() + rest.len() > PART {
            let (now, later) = rest.split_at(PART - self.buffer.len());
            self.buffer.extend_from_slice(now);
            rest = later;
            let part = mem::take(&mut self.buffer);
            self.write(part.freeze()).await?;
            self.buffer.reserve(PART);
        }
        self.buffer.extend_from_slice(rest);
        Ok(())
    }

    /// The size and the digest of all bytes so far.
    pub(super) fn read(&self) -> (u64, [u8; 32]) {
        (self.size, self.hash.clone().finalize().into())
    }

    /// Begins to write a part, once the one before is written. If too many uploads hold two parts, this one writes it before it takes more.
    async fn write(&mut self, part: Bytes) -> Result<()> {
        self.settle().await?;
        let now = self.service.clock.now();
        let mut writing = match mem::replace(&mut self.written, UploadState::Nothing) {
            UploadState::Ready(writing) => writing,
            UploadState::Nothing | UploadState::Busy(_) => {
                let blob = Blob {
                    key: BlobKey { user: self.place.user().clone(), id: self.id.clone() },
                    size: 0,
                    object: self.service.blobs.object(&self.id),
                };
                self.service.blobs.begin(&self.place, &blob, now).await?
            }
        };
        let Ok(place) = self.service.ahead.clone().try_acquire_owned() else {
            let written = writing.write(part, now).await;
            self.written = UploadState::Ready(writing);
            return Ok(written?);
        };
        self.written = UploadState::Busy(tokio::spawn(async move {
            let written = writing.write(part, now).await;
            drop(place);
            (writing, written)
        }));
        Ok(())
    }

    /// Waits for the part that is being written.
    async fn settle(&mut self) -> Result<()> {
        match mem::replace(&mut self.written, UploadState::Nothing) {
            UploadState::Busy(busy) => {
                // It panicked.
                let abandoned = |_| StoreError::new(Cause::Internal, "the writing of a part was abandoned");
                let (writing, written) = busy.await.map_err(abandoned)?;
                self.written = UploadState::Ready(writing);
                Ok(written?)
            }
            written => {
                self.written = written;
                Ok(())
            }
        }
    }

    /// Writes what is left, unless the version is saved with it.
    async fn finish(&mut self) -> Result<SavedBlob> {
        let last = mem::take(&mut self.buffer).freeze();
        if matches!(self.written, UploadState::Nothing) && self.service.blobs.saves_with_version(self.size) {
            return Ok(SavedBlob { id: self.id.clone(), bytes: Some(last.into()) });
        }
        self.write(last).await?;
        self.settle().await?;
        if let UploadState::Ready(writing) = &mut self.written {
            writing.finish(self.service.clock.now()).await?;
        }
        Ok(SavedBlob { id: self.id.clone(), bytes: None })
    }

    /// Writes what is left, for a version that will hold it soon.
    ///
    /// # Errors
    /// The database, or the place for bytes, fails. Nothing of it is left then.
    pub(super) async fn done(mut self) -> Result<SavedBlob> {
        match self.finish().await {
            Ok(blob) => Ok(blob),
            Err(error) => {
                self.leave().await;
                Err(error)
            }
        }
    }

    /// It did not come whole, and nothing of it is wanted.
    pub async fn abandon(self) {
        self.service.metrics.artifact_saves.inc("cut");
        self.leave().await;
    }

    /// Leaves what was written to the sweep, unless a version holds it.
    pub(super) async fn leave(mut self) {
        // A part that comes too late would take what is left for what still comes.
        let _ = self.settle().await;
        if let UploadState::Ready(writing) = self.written {
            writing.abandon().await;
            self.service.to_sweep.notify_one();
        }
    }
}

impl Reader {
    /// A version, and where its bytes are, if it has any.
    ///
    /// # Errors
    /// `SessionNotFound`, `ArtifactNotFound`, `Trimmed`.
    pub async fn artifact(
        &self,
        place: &Place,
        name: &ArtifactName,
        wanted: Wanted,
        deadline: Instant,
    ) -> Result<(Version, Option<Blob>)> {
        let now = self.clock.now();
        found(self.read(deadline, || self.reads.artifact(place, name, wanted, now, deadline)).await?)
    }

    /// Up to `rows` versions above `after`, ascending.
    ///
    /// # Errors
    /// `SessionNotFound`, `ArtifactNotFound`.
    pub async fn artifact_versions(
        &self,
        place: &Place,
        name: &ArtifactName,
        (after, rows): (i64, usize),
        deadline: Instant,
    ) -> Result<VersionPage> {
        let now = self.clock.now();
        let mut page = found(
            self.read(deadline, || self.reads.artifact_versions(place, name, after, rows, now, deadline)).await?,
        )?;
        let cut = self.cut(&mut page.versions);
        page.more |= cut;
        Ok(page)
    }

    /// A page of artifacts: the latest version of each, or, `at` a revision, the one that its events name.
    ///
    /// # Errors
    /// `SessionNotFound`, `Trimmed`.
    pub async fn artifacts(
        &self,
        place: Place,
        prefix: String,
        at: Option<i64>,
        (after, rows): (String, usize),
        deadline: Instant,
    ) -> Result<ArtifactPage> {
        let list = ArtifactList { place, prefix, after, rows, at, now: self.clock.now() };
        let mut page = found(self.read(deadline, || self.reads.artifacts(&list, deadline)).await?)?;
        if self.cut(&mut page.artifacts) {
            page.next = page.artifacts.last().map(|last| last.name.to_string());
        }
        Ok(page)
    }

    /// Cuts a page to the bytes that one may have; whether anything was cut. One version always fits.
    fn cut(&self, versions: &mut Vec<Version>) -> bool {
        let mut bytes = 0;
        let fits = versions.iter().take_while(|version| {
            bytes += version.weight();
            bytes <= self.limits.page_bytes
        });
        let fits = fits.count().max(1);
        let is_cut = fits < versions.len();
        versions.truncate(fits);
        is_cut
    }

    /// A session with some of its state, and the texts of the latest versions of some artifacts, as far as these are texts: all of one
    /// moment.
    ///
    /// # Errors
    /// `SessionNotFound`; `Rejected` if the texts have more bytes than a page; `ArtifactStore`.
    pub(super) async fn session_with_texts(
        &self,
        key: SessionKey,
        state: StateFilter,
        names: &[&str],
        deadline: Instant,
    ) -> Result<(SessionView, Texts)> {
        /// How often the session is read anew, as a text was removed before it was read.
        const READS: usize = 3;
        let names: Vec<ArtifactName> = names.iter().filter_map(|name| ArtifactName::parse(name).ok()).collect();
        let now = self.clock.now();
        let query = SessionQuery { key, now, incarnation: None, timeline: None, state: Some(state), events: None };
        for _ in 0..READS {
            let read = || self.reads.session_with_latest(&query, &names, deadline);
            let (view, found) = self.read(deadline, read).await?.ok_or(Error::SessionNotFound)?;
            let texts = timeout_at(deadline, self.texts(found)).await;
            match texts.unwrap_or_else(|_| Err(Error::ArtifactStore(StoreFault::Fails("is too slow".to_owned())))) {
                Err(Error::ArtifactNotFound) => {}
                texts => return Ok((view, texts?)),
            }
        }
        Err(Error::ArtifactStore(StoreFault::Lacks))
    }

    /// The texts among some versions.
    async fn texts(&self, found: Vec<(Version, Option<Blob>)>) -> Result<Texts> {
        let found = found.into_iter().filter(|(version, _)| version.content.is_text());
        let found: Vec<(Version, Blob)> = found.filter_map(|(version, blob)| Some((version, blob?))).collect();
        // Each is filled in at least once, so no more are read.
        let limit = self.limits.page_bytes;
        if found.iter().map(|(_, blob)| blob.size).sum::<u64>() > limit as u64 {
            let detail = format!("the texts of the artifacts are larger than {limit} bytes");
            return Err(Rejected::TooLarge { limit: "rendered", detail }.into());
        }
        let mut texts = Texts::new();
        for (version, blob) in found {
            let mut bytes = Vec::new();
            let mut parts = self.bytes(&blob, 0..blob.size);
            while let Some(part) = parts.next().await {
                bytes.extend_from_slice(&part?);
            }
            if let Ok(text) = String::from_utf8(bytes) {
                texts.insert(version.name.to_string(), text);
            }
        }
        Ok(texts)
    }

    /// A range of bytes, part by part. One that fails for long ends with an error.
    pub fn bytes(&self, blob: &Blob, range: Range<u64>) -> impl Stream<Item = Result<Bytes>> + Send + Unpin + use<> {
        let metrics = self.metrics.clone();
        self.blobs.read(blob, range).map(move |part| {
            let part = part.map_err(Error::from)?;
            metrics.artifact_bytes.add("out", part.len());
            Ok(part)
        })
    }
}

fn found<T>(found: Found<T>) -> Result<T> {
    match found {
        Found::There(found) => Ok(found),
        Found::Nothing => Err(Error::ArtifactNotFound),
        Found::SessionNotFound => Err(Error::SessionNotFound),
        Found::Beyond(revision) => Err(Refusal::Beyond(revision).into()),
        Found::Trimmed(base) => Err(Error::Trimmed { base }),
    }
}

impl Service {
    /// Begins to take bytes for an artifact of a place.
    pub fn upload(self: &Arc<Self>, place: Place) -> Upload {
        let id = self.clock.fresh_id().to_string();
        Upload {
            service: self.clone(),
            place,
            id,
            buffer: BytesMut::new(),
            hash: Sha256::new(),
            size: 0,
            written: UploadState::Nothing,
        }
    }

    /// Saves a version with the bytes of an upload, or, without one, an address.
    ///
    /// # Errors
    /// `SessionNotFound`, `ArtifactMismatch`, `ArtifactVersionExists`, `ArtifactKeyConflict`, `Lease`, `LimitReached`, `UserErased`.
    pub async fn save_artifact(
        &self,
        request: SaveRequest,
        upload: Option<Upload>,
        deadline: Instant,
    ) -> Result<SavedArtifact> {
        let saved = self.save(request, upload, deadline).await;
        self.metrics.artifact_saves.inc(match &saved {
            Ok(saved) if saved.replayed => "replayed",
            Ok(_) => "saved",
            Err(Error::Store(_) | Error::ArtifactStore(_)) => "failed",
            Err(_) => "refused",
        });
        saved
    }

    async fn save(&self, request: SaveRequest, upload: Option<Upload>, deadline: Instant) -> Result<SavedArtifact> {
        let (mut blob, mut bytes, mut upload) = (None, None, upload);
        if let Some(upload) = &mut upload {
            blob = Some(upload.finish().await);
            bytes = Some(upload.read());
        }
        let blob = match blob.transpose() {
            Ok(blob) => blob,
            Err(error) => return Err(self.given_up(upload, error).await),
        };
        let content = request.part.content(bytes, request.metadata);
        let save = Arc::new(Save {
            request: request.key.map(|key| Save::request(key, &content)),
            content,
            blob,
            mark: self.clock.incarnation(),
            version: request.version,
            is_first: request.is_first,
            if_match: request.if_match,
            lease: request.lease,
            event: request.event.map(|(author, invocation_id)| SaveEvent {
                id: self.clock.fresh_id().into(),
                author,
                invocation_id,
            }),
            place: request.place,
            name: request.name,
            now: self.clock.now(),
        });
        let saved =
            self.transact(Repeat::Safe, deadline, |first| self.store.save_artifact(&save, !first, deadline)).await;
        let Tried { value: saved, unclear } = match saved {
            Ok(saved) => saved,
            Err(error) => return Err(self.given_up(upload, error).await),
        };
        let replayed = saved.replayed && !unclear;
        if saved.replayed
            && let Some(upload) = upload
        {
            upload.leave().await;
        }
        if saved.tag.is_some() {
            self.metrics.appended_events.inc_by(1);
        }
        let size = saved.version.content.bytes.filter(|_| !saved.replayed).map_or(0, |(size, _)| size);
        let of_event = if saved.tag.is_some() { cost(saved.event_bytes) } else { 1 };
        let cost = of_event.saturating_add(cost_beside(usize::try_from(size).unwrap_or(usize::MAX)));
        Ok(SavedArtifact { version: saved.version, replayed, cost })
    }

    /// The error of a save, of which the bytes are left to the sweep: unless a version has taken them after all.
    async fn given_up(&self, upload: Option<Upload>, error: Error) -> Error {
        if let Some(upload) = upload {
            upload.leave().await;
        }
        error
    }

    /// Removes a version, or all of an artifact. What is not there is removed already.
    ///
    /// # Errors
    /// `SessionNotFound`, `Lease`, `ArtifactMismatch`.
    pub async fn delete_artifact(
        &self,
        place: Place,
        name: ArtifactName,
        version: Option<i64>,
        (if_match, lease): (Option<IfVersion>, Option<LeaseMark>),
        deadline: Instant,
    ) -> Result<()> {
        let deletion = ArtifactDeletion { place, name, version, if_match, lease, now: self.clock.now() };
        self.transact(Repeat::Safe, deadline, |_| self.store.delete_artifact(&deletion, deadline)).await?;
        self.to_sweep.notify_one();
        Ok(())
    }

    /// Removes the bytes that no version holds: what uploads left that were cut, and what versions left that are gone.
    pub(super) async fn sweep_blobs(&self, limit: Duration) -> StoreResult<()> {
        const PAGE: usize = 200;
        let mut failing = HashSet::new();
        loop {
            let loose = self.store.loose_blobs(self.clock.now(), PAGE, Instant::now() + limit).await?;
            let mut apps: BTreeMap<&AppName, Vec<&LooseBlob>> = BTreeMap::new();
            for one in &loose {
                apps.entry(&one.blob.key.user.app).or_default().push(one);
            }
            for (app, loose) in apps {
                self.remove_loose(app, loose, &mut failing, limit).await?;
            }
            if loose.iter().any(|one| one.is_erased) {
                self.to_sweep.notify_one();
            }
            if loose.len() < PAGE {
                return Ok(());
            }
        }
    }

    /// Removes some of an app. `failing`: stores that are not asked again.
    async fn remove_loose(
        &self,
        app: &AppName,
        mut loose: Vec<&LooseBlob>,
        failing: &mut HashSet<String>,
        limit: Duration,
    ) -> StoreResult<()> {
        /// How many objects are removed at once.
        const AT_ONCE: usize = 8;
        /// How many bytes of the database one transaction removes, and of how large a blob it removes all.
        const BYTES: u64 = 4 << 20;
        const SMALL: u64 = 1 << 20;
        let begun = Instant::now();
        let keys: Vec<&BlobKey> = loose.iter().map(|one| &one.blob.key).collect();
        let claimed = self.store.claim_blobs(app, &keys, self.clock.now(), begun + limit).await?;
        rest(begun).await;
        loose.retain(|one| claimed.contains(&one.blob.key.id));
        let (elsewhere, mut removed): (Vec<_>, Vec<_>) = loose.into_iter().partition(|one| one.blob.object.is_some());
        for some in elsewhere.chunks(AT_ONCE) {
            let tried = some.iter().map(async |one| match &one.blob.object {
                Some((store, _)) if failing.contains(store) => {
                    Err(BlobError::Elsewhere(StoreFault::Fails("fails".to_owned())))
                }
                _ => self.blobs.remove(&one.blob, one.upload.as_deref()).await,
            });
            for (one, tried) in some.iter().zip(join_all(tried).await) {
                match tried {
                    Ok(()) | Err(BlobError::Missing | BlobError::Refused(_)) => removed.push(one),
                    Err(BlobError::Elsewhere(fault)) => {
                        let store = one.blob.object.as_ref().map(|(store, _)| store.clone());
                        if failing.insert(store.unwrap_or_default()) {
                            self.artifact_store_failed(&fault);
                        }
                        let begun = Instant::now();
                        self.store.postpone_blob(&one.blob.key, self.clock.now(), begun + limit).await?;
                    }
                    Err(BlobError::Store(error)) => return Err(error),
                }
            }
        }
        // Of an upload that was cut the size is not known.
        let is_small = |one: &&LooseBlob| one.blob.object.is_some() || (1..=SMALL).contains(&one.blob.size);
        let (small, large): (Vec<_>, Vec<_>) = removed.into_iter().partition(is_small);
        let mut left = &*small;
        while !left.is_empty() {
            let mut bytes = 0;
            let fits = left.iter().take_while(|one| {
                bytes += if one.blob.object.is_some() { 0 } else { one.blob.size };
                bytes <= BYTES
            });
            let (now, later) = left.split_at(fits.count());
            let begun = Instant::now();
            let keys: Vec<&BlobKey> = now.iter().map(|one| &one.blob.key).collect();
            self.store.remove_blobs(app, &keys, begun + limit).await?;
            self.metrics.artifact_orphans.inc_by(now.len() as u64);
            rest(begun).await;
            left = later;
        }
        for one in large {
            let mut more = true;
            while more {
                let begun = Instant::now();
                more = self.store.remove_blob(&one.blob.key, begun + limit).await?;
                rest(begun).await;
            }
            self.metrics.artifact_orphans.inc();
        }
        Ok(())
    }

    /// Removes old objects of a shelf that the database does not have: of saves of which a database knows nothing that was restored.
    pub(super) async fn sweep_strays(&self, shelf: u8) -> StoreResult<()> {
        match self.blobs.remove_strays(shelf, self.clock.now()).await {
            Ok(()) | Err(BlobError::Missing | BlobError::Refused(_)) => Ok(()),
            Err(BlobError::Elsewhere(fault)) => {
                self.artifact_store_failed(&fault);
                Ok(())
            }
            Err(BlobError::Store(error)) => Err(error),
        }
    }

    /// What failed is tried again.
    fn artifact_store_failed(&self, fault: &StoreFault) {
        self.metrics.background_failures.inc("artifact_store");
        tracing::warn!(%fault, "objects were not removed from an artifact store, which is tried again");
    }
}

impl From<BlobError> for Error {
    fn from(error: BlobError) -> Self {
        match error {
            BlobError::Refused(refusal) => refusal.into(),
            BlobError::Missing => Self::ArtifactNotFound,
            BlobError::Elsewhere(fault) => Self::ArtifactStore(fault),
            BlobError::Store(error) => Self::Store(error),
        }
    }
}
