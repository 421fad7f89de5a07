//! All places for bytes of one server: its database, and the stores that are configured.

use std::ops::Range;
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::{StreamExt as _, stream};
use tokio::time::{Duration, Instant};

use super::database::{Database, due, patiently};
use super::objects::{Listed, ObjectError, Objects, WritesObject};
use super::{BlobError, Blobs, Parts, Result, Writing};
use crate::domain::artifact::{Blob, BlobBegin, BlobKey, Place, StoreFault};
use crate::domain::time::Micros;
use crate::metrics::Metrics;
use crate::store::Store;

/// While bytes come in, the database is told this often.
const RENEWED: Duration = Duration::from_secs(60);

/// How old an object is before it is removed if the database does not have it. Older than any upload, and than any
/// difference between the clocks of a store and of a server.
const STRAY_MICROS: i64 = 24 * 3600 * 1_000_000;

/// About how many objects the database is asked at once.
const ASKED: usize = 500;

/// Shelves of a database's objects: two hexadecimal digits.
pub const SHELVES: u16 = 256;

/// Stores of objects, each with the name that rows know it by.
pub type Named = Vec<(String, Arc<dyn Objects>)>;

pub struct Places {
    database: Database,
    rows: Arc<dyn Store>,
    /// By the names under which the database knows them.
    stores: Named,
    /// The database takes what is new up to this size, and the first of them what is larger; 0: it takes nothing, not even an empty file.
    /// `None`: the database takes all that is new.
    inline_max: Option<u64>,
    /// The database's own folder in each.
    folder: String,
    metrics: Arc<Metrics>,
}

impl Places {
    pub fn new(
        rows: Arc<dyn Store>,
        stores: Named,
        inline_max: Option<u64>,
        folder: String,
        metrics: Arc<Metrics>,
    ) -> Self {
        Self { database: Database::new(rows.clone()), rows, stores, inline_max, folder, metrics }
    }

    /// The store that has some bytes, and their object there; `None` if the database has them.
    fn of<'a>(&self, blob: &'a Blob) -> Result<Option<(&Arc<dyn Objects>, &'a str)>> {
        let Some((name, object)) = &blob.object else { return Ok(None) };
        let store = self.stores.iter().find(|(configured, _)| configured == name);
        let (_, store) = store.ok_or(BlobError::Elsewhere(StoreFault::NotConfigured))?;
        Ok(Some((store, object)))
    }
}

/// Counts what a store has done, and how long it took.
fn counted<T>(
    metrics: &Metrics,
    what: &'static str,
    took: Duration,
    done: std::result::Result<T, ObjectError>,
) -> Result<T> {
    metrics.artifact_store(what, took, done.is_ok());
    done.map_err(|error| BlobError::Elsewhere(error.into()))
}

impl From<ObjectError> for StoreFault {
    fn from(error: ObjectError) -> Self {
        match error {
            ObjectError::Missing => Self::Lacks,
            ObjectError::Unavailable(how) => Self::Fails(how),
        }
    }
}

#[async_trait]
impl Blobs for Places {
    fn object(&self, id: &str) -> Option<(String, String)> {
        self.inline_max?;
        let (name, _) = self.stores.first()?;
        let digits = id.replace('-', "");
        // The first digits of an id tell its time, and would put all on one shelf.
        let shelf = digits.len().checked_sub(2).and_then(|end| digits.get(end..))?;
        Some((name.clone(), format!("{}/{shelf}/{digits}", self.folder)))
    }

    fn saves_with_version(&self, size: u64) -> bool {
        self.inline_max.is_none_or(|most| most > 0 && size <= most)
    }

    async fn begin(&self, place: &Place, blob: &Blob, now: Micros) -> Result<Box<dyn Writing>> {
        let Some((store, object)) = self.of(blob)? else { return self.database.begin(place, blob, now).await };
        let begin = BlobBegin { place: place.clone(), blob: blob.clone(), now };
        let due = due();
        patiently(due, || self.rows.begin_blob(&begin, due)).await?;
        Ok(Box::new(WritesElsewhere {
            rows: self.rows.clone(),
            blob: blob.key.clone(),
            writing: store.write(object),
            renewed: Instant::now(),
            took: Duration::ZERO,
            metrics: self.metrics.clone(),
        }))
    }

    fn read(&self, blob: &Blob, range: Range<u64>) -> Parts {
        let (store, object) = match self.of(blob) {
            Ok(Some(found)) => found,
            Ok(None) => return self.database.read(blob, range),
            Err(error) => return stream::once(async { Err(error) }).boxed(),
        };
        let (mut parts, metrics) = (store.read(object, range), self.metrics.clone());
        let first = async move {
            let begun = Instant::now();
            let first = parts.next().await.transpose();
            let first = counted(&metrics, "read", begun.elapsed(), first).transpose();
            let rest = parts.map(|part| part.map_err(|error| BlobError::Elsewhere(error.into())));
            stream::iter(first).chain(rest)
        };
        stream::once(first).flatten().boxed()
    }

    async fn remove(&self, blob: &Blob, upload: Option<&str>) -> Result<()> {
        if let Some((store, object)) = self.of(blob)? {
            let begun = Instant::now();
            let removed = store.remove(object, upload).await;
            counted(&self.metrics, "remove", begun.elapsed(), removed)?;
        }
        Ok(())
    }

    async fn remove_strays(&self, shelf: u8, now: Micros) -> Result<()> {
        let shelf = format!("{}/{shelf:02x}", self.folder);
        let mut result = Ok(());
        for (name, store) in &self.stores {
            let removed = async {
                let begun = Instant::now();
                let listed = store.list(&shelf).await;
                let listed = counted(&self.metrics, "list", begun.elapsed(), listed)?;
                let is_old = |listed: &Listed| listed.written < now.0.saturating_sub(STRAY_MICROS);
                let old: Vec<String> = listed.into_iter().filter(is_old).map(|listed| listed.object).collect();
                for some in old.chunks(ASKED) {
                    let known = self.rows.known_objects(name, some, due()).await?;
                    for stray in some.iter().filter(|object| !known.contains(*object)) {
                        let begun = Instant::now();
                        let removed = store.remove(stray, None).await;
                        counted(&self.metrics, "remove", begun.elapsed(), removed)?;
                        self.metrics.artifact_strays.inc();
                    }
                }
                Ok(())
            };
            // A store that fails does not keep the others from being looked at.
            result = result.and(removed.await);
        }
        result
    }
}

/// Bytes that are being written to a store, of which the database is told.
struct WritesElsewhere {
    rows: Arc<dyn Store>,
    blob: BlobKey,
    writing: Box<dyn WritesObject>,
    /// When the database was told last.
    renewed: Instant,
    /// How long the store has taken.
    took: Duration,
    metrics: Arc<Metrics>,
}

#[async_trait]
impl Writing for WritesElsewhere {
    async fn write(&mut self, part: Bytes, now: Micros) -> Result<()> {
        let begun = Instant::now();
        let written = self.writing.write(part).await;
        self.took += begun.elapsed();
        let upload = match written {
            Ok(upload) => upload,
            Err(error) => return counted(&self.metrics, "write", self.took, Err(error)),
        };
        if upload.is_some() || self.renewed.elapsed() >= RENEWED {
            let due = due();
            let upload = upload.as_deref();
            patiently(due, || self.rows.renew_blob(&self.blob, upload, now, due)).await?;
            self.renewed = Instant::now();
        }
        Ok(())
    }

    async fn finish(&mut self, _: Micros) -> Result<()> {
        let begun = Instant::now();
        let finished = self.writing.finish().await;
        counted(&self.metrics, "write", self.took + begun.elapsed(), finished)
    }

    async fn abandon(self: Box<Self>) {
        // What is there, the sweep removes. If this fails, it finds it later.
        let _ = self.rows.leave_blob(&self.blob, due()).await;
    }
}
