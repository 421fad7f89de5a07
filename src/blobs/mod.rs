//! Where the bytes of artifacts are. Used by `service` alone; which bytes there are, and which versions hold them, the database knows.
//!
//! - [`Blobs`]: what the service asks of a place for bytes
//! - `database`: the chunks of the database itself
//! - [`objects`]: stores of objects, which know nothing of artifacts
//! - [`places`]: the database and all stores of a server; [`open`](mod@open): those that its settings name
//!
//! Bytes have random names, so nothing about a person is in one. They are written before the version that holds them is saved, and
//! removed after the last version that holds them.

pub mod database;
pub mod objects;
pub mod open;
pub mod places;

use std::ops::Range;

use async_trait::async_trait;
use bytes::Bytes;
use futures_util::stream::BoxStream;

use crate::domain::artifact::{Blob, Place, StoreFault};
use crate::domain::refusal::Refusal;
use crate::domain::time::Micros;
use crate::store::error::{Failure, StoreError};

/// Bytes are written and read in parts of at most this size.
pub const PART: usize = 256 << 10;

/// Why bytes cannot be written or read.
#[derive(Debug, thiserror::Error)]
pub enum BlobError {
    /// What was to hold them is not there, or they are being removed.
    #[error("the bytes are refused")]
    Refused(Refusal),
    /// There are none of this name.
    #[error("the bytes are not there")]
    Missing,
    /// The database knows them, but their store does not give or take them.
    #[error("the artifact store {0}")]
    Elsewhere(StoreFault),
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl From<Failure> for BlobError {
    fn from(failure: Failure) -> Self {
        match failure {
            Failure::Refused(refusal) => Self::Refused(refusal),
            Failure::Store(error) => Self::Store(error),
        }
    }
}

type Result<T> = std::result::Result<T, BlobError>;

/// The parts of some bytes, in order, each at most [`PART`] long.
pub type Parts = BoxStream<'static, Result<Bytes>>;

/// A place for bytes.
#[async_trait]
pub trait Blobs: Send + Sync {
    /// Where the bytes of this name go: the object, if it is elsewhere than in the database.
    fn object(&self, id: &str) -> Option<(String, String)>;

    /// Whether so many bytes, at most [`PART`], are written by the transaction that saves their version.
    fn saves_with_version(&self, size: u64) -> bool;

    /// Begins to write bytes for an artifact of a place, of which the database is told first. Whoever does not [finish](Writing::finish)
    /// it leaves the bytes to the sweep.
    ///
    /// # Errors
    /// The place is not there; the database, or the place for bytes, fails.
    async fn begin(&self, place: &Place, blob: &Blob, now: Micros) -> Result<Box<dyn Writing>>;

    /// Reads a range, which lies within the bytes. A failure that may pass is met with patience before it ends the stream.
    fn read(&self, blob: &Blob, range: Range<u64>) -> Parts;

    /// Removes what a store has of bytes that the database has claimed for that, and the unfinished upload of that name. Bytes that are not
    /// there are removed. What the database has is not touched.
    ///
    /// # Errors
    /// The place for bytes fails.
    async fn remove(&self, blob: &Blob, upload: Option<&str>) -> Result<()>;

    /// Removes the old objects of a shelf, one of [`SHELVES`](places::SHELVES), that the database does not have.
    ///
    /// # Errors
    /// The database, or a store fails; others were looked at all the same.
    async fn remove_strays(&self, shelf: u8, now: Micros) -> Result<()>;
}

/// Bytes that are being written.
#[async_trait]
pub trait Writing: Send {
    /// Writes the next part: [`PART`] bytes, and fewer only if it is the last.
    ///
    /// # Errors
    /// The bytes were given up; the database, or the place for bytes, fails.
    async fn write(&mut self, part: Bytes, now: Micros) -> Result<()>;

    /// All is written.
    ///
    /// # Errors
    /// As of [`Writing::write`].
    async fn finish(&mut self, now: Micros) -> Result<()>;

    /// Nothing of it is wanted, finished or not, unless a version holds it by now.
    async fn abandon(self: Box<Self>);
}
