//! Bytes as chunks in the database.

use std::ops::Range;
use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::future::BoxFuture;
use futures_util::{StreamExt as _, stream};
use tokio::time::{Duration, Instant, sleep};

use super::{BlobError, Blobs, PART, Parts, Result, Writing};
use crate::domain::artifact::{Blob, BlobBegin, BlobKey, Place};
use crate::domain::time::Micros;
use crate::store::Store;
use crate::store::error::Failure;

/// How long one part may take to be written or read, and how long to wait after a failure that may pass.
const LIMIT: Duration = Duration::from_secs(10);
const PAUSE: Duration = Duration::from_millis(100);

pub struct Database {
    store: Arc<dyn Store>,
}

impl Database {
    pub fn new(store: Arc<dyn Store>) -> Self {
        Self { store }
    }
}

/// When a part that is begun now must be done.
pub(super) fn due() -> Instant {
    Instant::now() + LIMIT
}

/// Tries again what changes nothing if it is done twice, until it is due.
pub(super) async fn patiently<'a, T, E: Into<Failure>>(
    due: Instant,
    run: impl Fn() -> BoxFuture<'a, std::result::Result<T, E>>,
) -> Result<T> {
    loop {
        match run().await.map_err(Into::into) {
            Ok(done) => return Ok(done),
            Err(failure) if failure.is_transient() && Instant::now() + PAUSE < due => sleep(PAUSE).await,
            Err(failure) => return Err(failure.into()),
        }
    }
}

#[async_trait]
impl Blobs for Database {
    fn object(&self, _: &str) -> Option<(String, String)> {
        None
    }

    fn saves_with_version(&self, _: u64) -> bool {
        true
    }

    async fn begin(&self, place: &Place, blob: &Blob, now: Micros) -> Result<Box<dyn Writing>> {
        let begin = BlobBegin { place: place.clone(), blob: blob.clone(), now };
        let due = due();
        patiently(due, || self.store.begin_blob(&begin, due)).await?;
        Ok(Box::new(Chunks { store: self.store.clone(), blob: blob.key.clone(), next: 0 }))
    }

    fn read(&self, blob: &Blob, range: Range<u64>) -> Parts {
        let (store, blob) = (self.store.clone(), blob.key.clone());
        let parts = stream::try_unfold(range, move |range| {
            let (store, blob) = (store.clone(), blob.clone());
            async move {
                if range.is_empty() {
                    return Ok(None);
                }
                let (n, skipped) = (range.start / PART as u64, range.start % PART as u64);
                let due = due();
                let n = i64::try_from(n).unwrap_or(i64::MAX);
                let chunk = patiently(due, || store.chunk(&blob, n, due)).await?;
                let chunk = Bytes::from(chunk.ok_or(BlobError::Missing)?);
                let length = (range.end - range.start).min((chunk.len() as u64).saturating_sub(skipped));
                if length == 0 {
                    return Err(BlobError::Missing);
                }
                // Both are within a chunk.
                let part = chunk.slice(skipped as usize..(skipped + length) as usize);
                Ok(Some((part, range.start + length..range.end)))
            }
        });
        parts.boxed()
    }

    async fn remove(&self, _: &Blob, _: Option<&str>) -> Result<()> {
        Ok(())
    }

    async fn remove_strays(&self, _: u8, _: Micros) -> Result<()> {
        Ok(())
    }
}

/// Chunks that are being written.
struct Chunks {
    store: Arc<dyn Store>,
    blob: BlobKey,
    next: i64,
}

#[async_trait]
impl Writing for Chunks {
    async fn write(&mut self, part: Bytes, now: Micros) -> Result<()> {
        let due = due();
        let (store, blob, next) = (&self.store, &self.blob, self.next);
        patiently(due, || store.add_chunk(blob, next, &part, now, due)).await?;
        self.next += 1;
        Ok(())
    }

    async fn finish(&mut self, _: Micros) -> Result<()> {
        Ok(())
    }

    async fn abandon(self: Box<Self>) {
        // If it fails, the sweep finds it later.
        let _ = self.store.leave_blob(&self.blob, due()).await;
    }
}
