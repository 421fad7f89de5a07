//! Objects of a bucket, below its prefix.

use std::future::Future;
use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::{Bytes, BytesMut};
use futures_util::{StreamExt as _, TryStreamExt as _, stream};
use object_store::aws::{AmazonS3Builder, AmazonS3ConfigKey};
use object_store::azure::MicrosoftAzureBuilder;
use object_store::gcp::GoogleCloudStorageBuilder;
use object_store::multipart::{MultipartStore, PartId};
use object_store::path::Path;
use object_store::{BackoffConfig, GetOptions, ObjectStore, ObjectStoreExt as _, RetryConfig};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::timeout;
use url::Url;

use super::client::Connector;
use super::{Listed, ObjectError, ObjectParts, Objects, PART, Result, WritesObject};

/// The least that a bucket takes as a part of an upload, but for its last. Longer objects are written in parts of this size.
const UPLOAD: usize = 20 * PART;

/// How many parts of uploads are in memory, of all that are being written.
const UPLOADS: usize = 12;

/// How often a request is repeated.
const REPETITIONS: usize = 3;

#[derive(Clone)]
struct Bucket {
    store: Arc<dyn ObjectStore>,
    uploads: Arc<dyn MultipartStore>,
    prefix: Path,
    patience: Duration,
    memory: Arc<Semaphore>,
}

/// Opens a bucket, without a request to it.
///
/// # Errors
/// The environment cannot be used; in words for an operator.
pub fn open(url: &Url, patience: Duration) -> std::result::Result<Arc<dyn Objects>, String> {
    // A third each: for a server that says nothing, for the repetitions, for the last of them.
    let retry = RetryConfig {
        backoff: BackoffConfig { max_backoff: patience / 10, ..BackoffConfig::default() },
        max_retries: REPETITIONS,
        retry_timeout: patience / 3,
    };
    let connector = Connector { patience: patience / 3 };
    let prefix = Path::from_url_path(url.path()).map_err(|error| error.to_string())?;
    // The builders have these methods in common, and no trait.
    macro_rules! build {
        ($builder:expr) => {
            $builder.with_url(url.as_str()).with_http_connector(connector).with_retry(retry).build().map(both)
        };
    }
    let opened = match url.scheme() {
        // Some that speak as S3 does cannot remove several objects by one request.
        "s3" => build!(AmazonS3Builder::from_env().with_config(AmazonS3ConfigKey::DisableBulkDelete, "true")),
        "gs" => build!(GoogleCloudStorageBuilder::from_env()),
        _ => build!(MicrosoftAzureBuilder::from_env()),
    };
    let (store, uploads) = opened.map_err(|error| error.to_string())?;
    Ok(Arc::new(Bucket { store, uploads, prefix, patience, memory: Arc::new(Semaphore::new(UPLOADS)) }))
}

impl Bucket {
    fn path(&self, object: &str) -> Path {
        object.split('/').fold(self.prefix.clone(), |path, part| path.join(part))
    }

    async fn patiently<T>(&self, run: impl Future<Output = object_store::Result<T>>) -> Result<T> {
        patiently(self.patience, run).await
    }
}

fn both<T: ObjectStore + MultipartStore>(store: T) -> (Arc<dyn ObjectStore>, Arc<dyn MultipartStore>) {
    let store = Arc::new(store);
    (store.clone(), store)
}

async fn patiently<T>(patience: Duration, run: impl Future<Output = object_store::Result<T>>) -> Result<T> {
    match timeout(patience, run).await {
        Ok(done) => done.map_err(|error| failure(&error)),
        Err(_) => Err(ObjectError::Unavailable("does not answer".to_owned())),
    }
}

/// What failed, in words that say neither a name nor what the store wrote: its status, and the word for it in its answer.
fn failure(error: &object_store::Error) -> ObjectError {
    let text = error.to_string();
    let word = between(&text, "<Code>", "</Code>").filter(|word| word.bytes().all(|byte| byte.is_ascii_alphanumeric()));
    // That there is no such object means something only where there is a bucket.
    let is_missing = matches!(error, object_store::Error::NotFound { .. });
    if is_missing && !matches!(word, Some("NoSuchBucket" | "ContainerNotFound")) {
        return ObjectError::Missing;
    }
    let status = between(&text, "status code: ", ":").filter(|status| status.len() < 40);
    if status.is_some_and(|status| status.starts_with("416")) {
        // It ends before the range begins.
        return ObjectError::Missing;
    }
    if text.contains("redirect without LOCATION") {
        return ObjectError::Unavailable("is elsewhere: the region may be wrong".to_owned());
    }
    ObjectError::Unavailable(match (status, word) {
        (Some(status), Some(word)) => format!("refuses: {status}, {word}"),
        (Some(status), None) => format!("refuses: {}", status.trim()),
        (None, Some(word)) => format!("refuses: {word}"),
        (None, None) => cause(error),
    })
}

/// The kind of a failure that no answer of the store tells.
fn cause(error: &object_store::Error) -> String {
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(error);
    while let Some(error) = cause {
        if let Some(error) = error.downcast_ref::<object_store::client::HttpError>() {
            return match error.kind() {
                object_store::client::HttpErrorKind::Connect => "cannot be reached".to_owned(),
                object_store::client::HttpErrorKind::Timeout => "does not answer".to_owned(),
                _ => "breaks the connection".to_owned(),
            };
        }
        cause = error.source();
    }
    "answers what cannot be understood".to_owned()
}

fn between<'t>(text: &'t str, before: &str, after: &str) -> Option<&'t str> {
    let (_, rest) = text.split_once(before)?;
    rest.split_once(after).map(|(word, _)| word)
}

#[async_trait]
impl Objects for Bucket {
    fn write(&self, object: &str) -> Box<dyn WritesObject> {
        Box::new(Writing {
            bucket: self.clone(),
            path: self.path(object),
            buffer: BytesMut::new(),
            permit: None,
            upload: None,
            parts: Vec::new(),
        })
    }

    fn read(&self, object: &str, range: Range<u64>) -> ObjectParts {
        if range.is_empty() {
            return stream::empty().boxed();
        }
        let (bucket, path, length) = (self.clone(), self.path(object), range.end - range.start);
        let options = GetOptions { range: Some(range.into()), ..GetOptions::default() };
        let parts = stream::once(async move {
            let found = bucket.patiently(bucket.store.get_opts(&path, options)).await?;
            if found.range.end - found.range.start != length {
                return Err(ObjectError::Missing);
            }
            let parts = stream::try_unfold(found.into_stream(), move |mut parts| async move {
                let part = patiently(bucket.patience, async { parts.try_next().await }).await?;
                Ok(part.map(|part| (part, parts)))
            });
            Ok(parts.map_ok(|part| stream::iter(split(part).map(Ok))).try_flatten())
        });
        parts.try_flatten().boxed()
    }

    async fn remove(&self, object: &str, upload: Option<&str>) -> Result<()> {
        let path = self.path(object);
        if let Some(upload) = upload {
            gone(self.patiently(self.uploads.abort_multipart(&path, &upload.to_owned())).await)?;
        }
        gone(self.patiently(self.store.delete(&path)).await)
    }

    async fn list(&self, shelf: &str) -> Result<Vec<Listed>> {
        let mut pages = self.store.list(Some(&self.path(shelf)));
        let mut found = Vec::new();
        while let Some(object) = self.patiently(async { pages.try_next().await }).await? {
            if let Some(name) = object.location.filename() {
                let written = object.last_modified.timestamp_micros();
                found.push(Listed { object: format!("{shelf}/{name}"), size: object.size, written });
            }
        }
        Ok(found)
    }
}

/// What is not there is removed.
fn gone(removed: Result<()>) -> Result<()> {
    match removed {
        Err(ObjectError::Missing) => Ok(()),
        removed => removed,
    }
}

/// Parts of at most [`PART`].
fn split(mut bytes: Bytes) -> impl Iterator<Item = Bytes> {
    std::iter::from_fn(move || (!bytes.is_empty()).then(|| bytes.split_to(bytes.len().min(PART))))
}

struct Writing {
    bucket: Bucket,
    path: Path,
    /// What is not sent yet, up to [`UPLOAD`] bytes. What is longer than a part has a permit.
    buffer: BytesMut,
    permit: Option<OwnedSemaphorePermit>,
    upload: Option<String>,
    parts: Vec<PartId>,
}

impl Writing {
    /// Sends the buffer as the next part of the upload.
    async fn send(&mut self, upload: &String) -> Result<()> {
        let part = std::mem::take(&mut self.buffer).freeze();
        let sent = self.bucket.uploads.put_part(&self.path, upload, self.parts.len(), part.into());
        self.parts.push(self.bucket.patiently(sent).await?);
        self.permit = None;
        Ok(())
    }
}

#[async_trait]
impl WritesObject for Writing {
    async fn write(&mut self, part: Bytes) -> Result<Option<String>> {
        if self.buffer.len() + part.len() > UPLOAD
            && let Some(upload) = self.upload.clone()
        {
            self.send(&upload).await?;
        }
        if self.buffer.len() + part.len() > PART && self.permit.is_none() {
            let permit = timeout(self.bucket.patience, self.bucket.memory.clone().acquire_owned()).await;
            let Ok(Ok(permit)) = permit else {
                return Err(ObjectError::Unavailable("takes too long for what is being written".to_owned()));
            };
            self.permit = Some(permit);
            self.buffer.reserve(UPLOAD - self.buffer.len());
        }
        self.buffer.extend_from_slice(&part);
        if self.buffer.len() < UPLOAD || self.upload.is_some() {
            return Ok(None);
        }
        let upload = self.bucket.patiently(self.bucket.uploads.create_multipart(&self.path)).await?;
        self.upload = Some(upload.clone());
        Ok(Some(upload))
    }

    async fn finish(&mut self) -> Result<()> {
        let Some(upload) = self.upload.take() else {
            let object = std::mem::take(&mut self.buffer).freeze();
            return self.bucket.patiently(self.bucket.store.put(&self.path, object.into())).await.map(drop);
        };
        if !self.buffer.is_empty() {
            self.send(&upload).await?;
        }
        let complete = self.bucket.uploads.complete_multipart(&self.path, &upload, std::mem::take(&mut self.parts));
        self.bucket.patiently(complete).await.map(drop)
    }
}
