//! The session service.

use std::{
    fmt,
    sync::{Arc, Mutex, Weak},
    time::Duration,
};

use adk_core::identity::AdkIdentity;
use futures::Stream;
use reqwest::Method;
#[cfg(doc)]
use serde_json::Value;

#[cfg(doc)]
use crate::error::ErrorKind;
use crate::{
    artifacts::SessiondArtifactService,
    error::Error,
    http::{Http, path},
    turn::{Lease, Memory, Turn, lock},
    watch::{self, WatchFrom, WatchItem},
    wire,
};

mod adk;
mod appends;
mod memory;
mod ops;
mod reads;
mod rewinds;
mod search;
mod session;
mod settings;

pub use self::{
    memory::SessiondMemoryService,
    search::{SearchHit, SearchHits, SearchOptions},
    settings::{Builder, Concurrency, History},
};

/// Keeps the sessions of ADK agents in sessiond.
///
/// What it guarantees, beyond what ADK asks of a session service:
///
/// - When an append returns, the event and all its state changes are on disk, and every later read through any process
///   shows them. If it fails, the same event may be appended again: its id makes sure that it is stored once.
/// - Concurrent writers of different keys of app or user state never undo one another. For several writers of one key
///   see [`ops`](crate::ops).
/// - Reads are snapshots, and events are in the order in which they were stored, whatever the clocks of the writers
///   say.
///
/// A clone is the same service. It needs a tokio runtime with I/O and time.
#[derive(Clone)]
pub struct SessiondSessionService(Arc<Inner>);

struct Inner {
    http: Arc<Http>,
    concurrency: Concurrency,
    history: History,
    keep_model_requests: bool,
    memory: Memory,
}

/// The services of this process: a tool's context does not say which one it belongs to.
static LIVE: Mutex<Vec<Weak<Inner>>> = Mutex::new(Vec::new());

impl SessiondSessionService {
    /// A service at `http://HOST:PORT` or `https://HOST` with the defaults of [`Builder`].
    ///
    /// # Errors
    ///
    /// See [`Builder::build`].
    pub fn new(url: impl Into<String>) -> Result<Self, Error> {
        Self::builder(url).build()
    }

    /// A service at `http://HOST:PORT` or `https://HOST`, with settings.
    pub fn builder(url: impl Into<String>) -> Builder {
        Builder::new(url.into())
    }

    /// The artifact service of the same sessiond, with the same settings.
    pub fn artifacts(&self) -> SessiondArtifactService {
        SessiondArtifactService::new(self.0.http.clone())
    }

    /// The memory service of the same sessiond, with the same settings.
    pub fn memory(&self) -> SessiondMemoryService {
        SessiondMemoryService(self.clone())
    }

    /// Takes the turn of a session, and waits at most for `wait` for that of another.
    ///
    /// As long as the turn lasts, all that this service writes to the session is part of it. To take it before the
    /// runner reads the session means that a turn which had to wait sees all that the one before it did:
    ///
    /// ```no_run
    /// # async fn f(
    /// #     sessions: sessiond_adk::SessiondSessionService, identity: adk_core::AdkIdentity,
    /// #     events: std::pin::Pin<Box<dyn futures::Stream<Item = ()>>>,
    /// # ) -> Result<(), sessiond_adk::Error> {
    /// use std::time::Duration;
    ///
    /// let turn = sessions.turn(&identity, Duration::from_secs(300), Duration::from_secs(60)).await?;
    /// // `events` is what `runner.run(…).await?` gave: the turn ends with it.
    /// let mut events = turn.hold(events);
    /// # Ok(()) }
    /// ```
    ///
    /// A turn that stores nothing for `ttl` (1 s to 15 min) may be superseded by another. From then on its writes are
    /// [`ErrorKind::Stale`], whatever the clocks say.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Busy`]: another turn has the session, also after the wait. [`ErrorKind::NotFound`]: there is no
    /// such session.
    pub async fn turn(&self, identity: &AdkIdentity, wait: Duration, ttl: Duration) -> Result<Turn, Error> {
        let invocation = uuid::Uuid::new_v4().to_string();
        let lease = Lease::take(&self.0.http, &session_path(identity)?, &invocation, ttl, wait).await?;
        Ok(Turn::new(&self.0.memory, identity, lease))
    }

    /// Follows a session: what is there, and then each event as it is committed, by whichever process.
    ///
    /// When the connection breaks, the stream ends at the server or sessiond restarts, it comes back by itself behind
    /// the last item: no event comes twice, none is missing. A connection that brings nothing for 45 s is given up.
    /// Each watch has a connection of its own, which is closed when the stream is dropped.
    ///
    /// With `include_state`, [`WatchItem::State`] comes, too.
    ///
    /// The stream ends after [`WatchItem::Deleted`], or after an error: [`ErrorKind::NotFound`],
    /// [`ErrorKind::PositionGone`], if there is nothing to go on from, [`ErrorKind::Unauthenticated`],
    /// [`ErrorKind::Forbidden`], [`ErrorKind::InvalidInput`], [`ErrorKind::Internal`].
    pub fn watch(
        &self,
        identity: &AdkIdentity,
        from: WatchFrom,
        include_state: bool,
    ) -> impl Stream<Item = Result<WatchItem, Error>> + Send + Unpin + use<> {
        watch::watch(self.0.http.clone(), session_path(identity), from, include_state)
    }

    /// The exact JSON text of a value of the merged state: for numbers that [`Value`] cannot hold. None if there is no
    /// such key.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NotFound`]: there is no such session.
    pub async fn state_text(&self, identity: &AdkIdentity, key: &str) -> Result<Option<String>, Error> {
        let path = format!("{}/state", session_path(identity)?);
        // By the whole state: a key may be one that no path can hold.
        let answer = self.0.http.send(self.0.http.call(Method::GET, &path)).await?;
        Ok(wire::members(&answer)?.get(key).map(|raw| raw.get().to_owned()))
    }

    /// The service of the runner of an invocation: that which it has read and written with, else the only one.
    pub(crate) fn of(identity: &AdkIdentity, invocation: &str) -> Result<Self, Error> {
        let live: Vec<_> = lock(&LIVE).iter().filter_map(Weak::upgrade).collect();
        let found = live.iter().find(|service| service.memory.runs(identity, invocation));
        match (found, live.as_slice()) {
            (Some(service), _) | (None, [service]) => Ok(Self(service.clone())),
            _ => Err(Error::input(format!(
                "None of the {} SessiondSessionServices here runs this invocation: is it the runner's? Or use `apply_ops`.",
                live.len()
            ))),
        }
    }
}

impl fmt::Debug for SessiondSessionService {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SessiondSessionService")
            .field("url", &self.0.http.base())
            .field("concurrency", &self.0.concurrency)
            .finish_non_exhaustive()
    }
}

fn session_path(identity: &AdkIdentity) -> Result<String, Error> {
    path(&[
        ("apps", identity.app_name.as_ref()),
        ("users", identity.user_id.as_ref()),
        ("sessions", identity.session_id.as_ref().trim()),
    ])
}
