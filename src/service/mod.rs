//! The use cases of the API, in terms of the domain and the store.
//!
//! It owns the clock, the limits and the retries, and is the only caller of [`Store`]. Reads are in [`Reader`], writes in
//! [`Service`]. It does not know HTTP: ADK's own paths and the commands call the same methods. Each uses only what stands above it
//! (`tests/it/walls.rs`):
//!
//! - `clock`: time, fresh ids and chance; `retry`: how a transaction is retried; `sweep`: background work
//! - `behind`, `views`: views of the effective history; `silence`: what readers of the feed asked for in vain
//! - `sessions`: create, read, list, change, delete; apps and users
//! - `events`: append and read
//! - `state`: the merged state, its keys, app and user state on their own
//! - `lease`: one turn at a time
//! - `artifacts`: files of sessions and users
//! - `past`: fork, rewind, the state as it was; `trim`: where the log begins; `redact`: what of an event must not be read again
//! - `files`: artifacts as lines of an export; `export`, `import`: sessions as lines, and back
//! - `policy`: how long the data of an app is kept; `search`: what was said
//! - `news`: news and the last read of a session; `live`: subscriptions to changes of sessions; `follow`: the items of a watch, in
//!   their order; `poll`: commits of other processes; `feed`: the change feed
//! - `receipts`: receipts of erasures are signed; `erasure`: users are erased

mod artifacts;
mod behind;
mod clock;
mod erasure;
mod events;
mod export;
mod feed;
mod files;
mod follow;
mod import;
mod lease;
mod live;
mod news;
mod past;
mod policy;
mod poll;
pub mod receipts;
mod redact;
mod retry;
mod search;
mod sessions;
mod silence;
mod state;
mod sweep;
mod trim;
mod views;

use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize};

use receipts::Signer;
use tokio::sync::{Notify, OnceCell, Semaphore};
use tokio::time::Instant;

use crate::blobs::Blobs;
use crate::blobs::database::Database;
use crate::domain::artifact::StoreFault;
use crate::domain::feed::FeedPosition;
use crate::domain::lease::LeaseRefusal;
use crate::domain::refusal::{Bound, Mismatch, Refusal};
use crate::domain::time::Micros;
use crate::domain::{Limits, Rejected};
use crate::metrics::Metrics;
use crate::store::backend::DatabaseClock;
pub use crate::store::backend::Standby;
use crate::store::error::{Result as StoreResult, StoreError};
use crate::store::nowhere::Nowhere;
pub use crate::store::pool::Nodes;
use crate::store::{Reads, Store};

pub use crate::domain::command::Made;
pub use crate::domain::guard::Guard;
pub use crate::domain::transfer::{ImportOptions, ImportResult, Imported, ImportedPart, OnConflict, Unread};
/// Of [`Error::Store`].
pub use crate::store::error::Cause;
pub use artifacts::{SaveRequest, SavedArtifact, Upload};
use behind::Behind;
pub use clock::{Clock, SystemClock};
pub use erasure::Replayed;
pub use events::{Answered, Appended};
pub use export::Export;
pub use feed::{Changes, FeedSubscription};
pub use follow::{Begin, Follower, Item};
pub use import::Import;
pub use lease::Taken;
use live::Live;
pub use live::Subscription;
pub use news::MarkedEvent;
pub use search::Search;
use silence::Silence;
pub use state::{StateChange, StoredValue};

/// Why a request failed. The error table maps it to HTTP.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("the input was refused")]
    Rejected(Rejected),
    #[error("there is no such session")]
    SessionNotFound,
    #[error("the session has no such event")]
    EventNotFound,
    #[error("the session has no event of such an invocation")]
    InvocationNotFound,
    #[error("there is no such key in the state")]
    StateKeyNotFound,
    #[error("the session exists")]
    SessionAlreadyExists,
    #[error("the idempotency key made a session by another request")]
    CreationKeyConflict,
    #[error("the event id is taken by other content")]
    EventIdConflict,
    #[error("the idempotency key changed the scope by another request")]
    PatchKeyConflict,
    #[error("the user was erased")]
    UserErased,
    #[error("the request made an erasure of another user")]
    ErasureConflict,
    #[error("there is no such erasure")]
    ErasureNotFound,
    #[error("the log has no such position")]
    PositionGone { base: i64, revision: i64 },
    #[error("what was said is not indexed")]
    SearchOff,
    #[error("there is no change feed")]
    FeedDisabled,
    #[error("the feed has no such position")]
    FeedGone { oldest: FeedPosition },
    #[error("the past was trimmed")]
    Trimmed { base: i64 },
    #[error("what shared state was is forgotten")]
    Forgotten { base: i64 },
    #[error("the lease refused")]
    Lease(LeaseRefusal),
    #[error("the app's policy allows no more")]
    LimitReached(Bound),
    #[error("the precondition failed")]
    RevisionMismatch(Mismatch),
    #[error("a session was deleted or trimmed, an event redacted, or an artifact deleted, while it was exported")]
    SessionCut,
    #[error("there is no such artifact, or no such version of it")]
    ArtifactNotFound,
    #[error("the artifact has had that version")]
    ArtifactVersionExists,
    #[error("the idempotency key saved other content")]
    ArtifactKeyConflict,
    #[error("the precondition on the artifact failed")]
    ArtifactMismatch { latest: Option<i64> },
    /// The rest of the service is not affected.
    #[error("the artifact store {0}")]
    ArtifactStore(StoreFault),
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Error {
    /// A transient failure of the database: the same request may succeed later.
    pub fn may_pass(&self) -> bool {
        match self {
            Self::Store(error) => error.cause.may_pass(),
            Self::ArtifactStore(fault) => matches!(fault, StoreFault::Fails(_)),
            _ => false,
        }
    }
}

impl From<Refusal> for Error {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::SessionNotFound | Refusal::ImportLost => Self::SessionNotFound,
            Refusal::EventNotFound => Self::EventNotFound,
            Refusal::InvocationNotFound => Self::InvocationNotFound,
            Refusal::SessionAlreadyExists => Self::SessionAlreadyExists,
            Refusal::CreationKeyConflict => Self::CreationKeyConflict,
            Refusal::PatchKeyConflict => Self::PatchKeyConflict,
            Refusal::EventIdConflict => Self::EventIdConflict,
            Refusal::UserErased | Refusal::ErasedSince => Self::UserErased,
            Refusal::ErasureConflict(_) => Self::ErasureConflict,
            Refusal::Beyond(revision) => {
                let message = format!("must be at most the current revision, which is {revision}");
                Self::Rejected(Rejected::field("atRevision", message))
            }
            Refusal::Trimmed(base) => Self::Trimmed { base },
            Refusal::Lease(refusal) => Self::Lease(refusal),
            Refusal::LimitReached(bound) => Self::LimitReached(bound),
            Refusal::RevisionMismatch(mismatch) => Self::RevisionMismatch(mismatch),
            Refusal::Rejected(rejected) => Self::Rejected(rejected),
            Refusal::OtherState => Self::RevisionMismatch(Mismatch::of_scope(0, Vec::new())),
            Refusal::ArtifactMismatch(latest) => Self::ArtifactMismatch { latest },
            Refusal::ArtifactVersionExists => Self::ArtifactVersionExists,
            Refusal::ArtifactKeyConflict => Self::ArtifactKeyConflict,
            Refusal::BlobLost => Self::UserErased,
        }
    }
}

impl From<Rejected> for Error {
    fn from(rejected: Rejected) -> Self {
        Self::Rejected(rejected)
    }
}

pub type Result<T> = std::result::Result<T, Error>;

/// All reads. Outside of a client's grant a reader over [`Nowhere`] answers; it has no writes, so a write there does not compile.
pub struct Reader {
    reads: Arc<dyn Reads>,
    clock: Arc<dyn Clock>,
    limits: Limits,
    metrics: Arc<Metrics>,
    live: Arc<Live>,
    blobs: Arc<dyn Blobs>,
    /// The sessions of which a view is to be kept.
    behind: Behind,
    /// Those of which the index of what was said is behind.
    unindexed: Behind,
    /// Of readers of the change feed.
    silence: Silence,
}

/// All writes, and the reader.
pub struct Service {
    reader: Arc<Reader>,
    store: Arc<dyn Store>,
    /// Wakes the sweep after a deletion.
    to_sweep: Notify,
    /// There may be bytes that no version holds.
    has_loose: Notify,
    /// Wakes the walk that indexes what was said.
    to_index: Notify,
    /// Signs receipts; the same for every process.
    signer: OnceCell<Signer>,
    /// Waits for a reader of the file.
    erasures_wait: AtomicBool,
    /// How often in a row its own readers were in the way.
    occupied: AtomicUsize,
    /// Places of uploads that take the next part in while one is written.
    ahead: Arc<Semaphore>,
}

impl Deref for Service {
    type Target = Arc<Reader>;

    fn deref(&self) -> &Arc<Reader> {
        &self.reader
    }
}

/// How many uploads hold a second part while the first is written: enough to keep the disk busy, and little memory however many there are.
const AHEAD: usize = 8;

/// A change, and the result after it.
#[derive(Debug)]
pub struct Changed<T> {
    /// An earlier request made it, and this one is a retry.
    pub replayed: bool,
    /// The [`cost`](crate::domain::event::cost) of what was stored.
    pub cost: u32,
    pub after: T,
}

impl Service {
    /// With all bytes in the database.
    pub fn new(store: Arc<dyn Store>, clock: Arc<dyn Clock>, limits: Limits, metrics: Arc<Metrics>) -> Self {
        let blobs = Arc::new(Database::new(store.clone()));
        Self::over(store, blobs, clock, limits, metrics)
    }

    pub(crate) fn over(
        store: Arc<dyn Store>,
        blobs: Arc<dyn Blobs>,
        clock: Arc<dyn Clock>,
        limits: Limits,
        metrics: Arc<Metrics>,
    ) -> Self {
        let reader = Arc::new(Reader::new(store.clone(), clock, limits, metrics, blobs));
        let live = reader.live.clone();
        store.watch_commits(Box::new(move |committed| live.committed(committed)));
        let now = reader.clock.clone();
        store.set_clock(Arc::new(move || now.now()));
        let (to_sweep, has_loose, to_index) = (Notify::new(), Notify::new(), Notify::new());
        let signer = OnceCell::new();
        let (erasures_wait, occupied) = (AtomicBool::new(false), AtomicUsize::new(0));
        let ahead = Arc::new(Semaphore::new(AHEAD));
        Self { reader, store, to_sweep, has_loose, to_index, signer, erasures_wait, occupied, ahead }
    }

    /// Closes the database when nothing uses it any more.
    pub async fn close(&self) {
        self.store.close().await;
    }
}

impl Reader {
    fn new(
        reads: Arc<dyn Reads>,
        clock: Arc<dyn Clock>,
        limits: Limits,
        metrics: Arc<Metrics>,
        blobs: Arc<dyn Blobs>,
    ) -> Self {
        let live = Arc::new(Live::new(reads.shape().is_shared()));
        let (behind, unindexed, silence) = (Behind::default(), Behind::default(), Silence::default());
        Self { reads, clock, limits, metrics, live, blobs, behind, unindexed, silence }
    }

    /// A reader over an empty store.
    pub fn nowhere(&self) -> Self {
        let (clock, metrics, blobs) = (self.clock.clone(), self.metrics.clone(), self.blobs.clone());
        Self::new(Arc::new(Nowhere), clock, self.limits, metrics, blobs)
    }

    /// The time by the database's clock or, if it has none, by this process's.
    async fn time(&self, deadline: Instant) -> StoreResult<Micros> {
        Ok(match self.reads.clock(deadline).await? {
            DatabaseClock::Own(earliest, _) => earliest,
            DatabaseClock::OfProcess(_) => self.clock.now(),
        })
    }

    /// The kind of the database: `sqlite` or `postgresql`.
    pub fn database(&self) -> &'static str {
        self.reads.name()
    }

    /// Whether there is a change feed.
    pub fn feeds(&self) -> bool {
        self.reads.feeds()
    }

    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Checks that requests can be served: the database answers and is migrated. Returns whether commits wait for a standby.
    pub async fn ready(&self, deadline: Instant) -> Result<Standby> {
        Ok(self.reads.check(deadline).await?)
    }

    /// The nodes of a distributed database, as of the last [`Reader::ready`].
    pub fn database_nodes(&self) -> Option<Nodes> {
        self.reads.nodes()
    }
}
