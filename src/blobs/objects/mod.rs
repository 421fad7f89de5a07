//! Objects outside of the database: files of a folder, or objects of a bucket.
//!
//! - `address`: which store a setting names
//! - `folder`: files, each written and flushed under its own name
//! - `bucket`: S3, Google Cloud Storage, Azure Blob Storage; `client`: how requests to them go out; `none`: in place of these, in a
//!   program that is built without the feature `buckets`
//!
//! A name is a path, `DATABASE/SHELF/NAME`: the database's own folder, so that several databases may share a store; the last two digits
//! of the name, by which objects are listed in small parts; and a random name that is used once.

pub mod address;
#[cfg(feature = "buckets")]
mod bucket;
#[cfg(feature = "buckets")]
mod client;
pub mod folder;
#[cfg(not(feature = "buckets"))]
mod none;

use std::ops::Range;

use async_trait::async_trait;
#[cfg(feature = "buckets")]
pub use bucket::open as open_bucket;
use bytes::Bytes;
use futures_util::stream::BoxStream;
#[cfg(not(feature = "buckets"))]
pub use none::open as open_bucket;

use super::PART;

/// Why an object cannot be written, read, removed or listed.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ObjectError {
    /// The store has no object of this name, or a shorter one.
    #[error("has no such object")]
    Missing,
    /// The store does not answer, or refuses: which it is, without a name and without what the store wrote.
    #[error("{0}")]
    Unavailable(String),
}

pub type Result<T> = std::result::Result<T, ObjectError>;

/// The parts of an object, in order, each at most [`PART`] long.
pub type ObjectParts = BoxStream<'static, Result<Bytes>>;

/// An object that a store lists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    pub object: String,
    /// In bytes.
    pub size: u64,
    /// Microseconds since 1970, by the clock of the store.
    pub written: i64,
}

/// A store. Each call, each part of a stream and each part that is written ends within the patience with which it was opened.
#[async_trait]
pub trait Objects: Send + Sync {
    /// Begins to write an object, of which nothing is there before its first part.
    fn write(&self, object: &str) -> Box<dyn WritesObject>;

    /// Reads a range, which lies within the object.
    fn read(&self, object: &str, range: Range<u64>) -> ObjectParts;

    /// Removes an object, and what was written to it under `upload`. One that is not there is removed.
    ///
    /// # Errors
    /// The store fails.
    async fn remove(&self, object: &str, upload: Option<&str>) -> Result<()>;

    /// All objects of a shelf, which is the path before their names.
    ///
    /// # Errors
    /// The store fails.
    async fn list(&self, shelf: &str) -> Result<Vec<Listed>>;
}

/// An object that is being written. Nobody reads it before [`finish`](WritesObject::finish). Whoever does not finish it leaves what it
/// wrote to [`Objects::remove`].
#[async_trait]
pub trait WritesObject: Send {
    /// Writes the next part: [`PART`] bytes, and fewer only if it is the last. Once the store keeps an unfinished upload, this returns
    /// its name: without it, nothing can remove the upload.
    ///
    /// # Errors
    /// The store fails. Nothing may be written after it.
    async fn write(&mut self, part: Bytes) -> Result<Option<String>>;

    /// All is written, and survives a loss of power as far as the store does.
    ///
    /// # Errors
    /// The store fails; the object may be there or not.
    async fn finish(&mut self) -> Result<()>;
}
