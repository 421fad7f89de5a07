//! What this process has seen of sessions, and whose turn it is.
//!
//! ADK's trait appends by the name of a session, not through the object that was read. So the service remembers the
//! objects that it gave out, as long as somebody holds them: a runner holds its one for an invocation.

use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError, Weak},
    time::Duration,
};

use adk_core::identity::{AdkIdentity, SessionId};
use futures::{Stream, StreamExt as _};
use reqwest::Method;
use serde_json::json;
use tokio::{
    runtime::Handle,
    time::{Instant, sleep},
};

use crate::{
    error::{Error, ErrorKind},
    http::{Http, spread},
    wire,
};

/// For how many sessions that nobody holds the last revision is remembered.
const REMEMBERED: usize = 10_000;

/// For how long one request waits for a lease, so that a wait survives what closes idle connections.
const ONE_WAIT: Duration = Duration::from_secs(30);

/// The lease of a session.
#[derive(Clone)]
pub(crate) struct Lease {
    epoch: u64,
    incarnation: String,
    pub revision: u64,
    path: String,
    http: Arc<Http>,
}

impl Lease {
    /// The value of the header `Sessiond-Lease`.
    pub fn shown(&self) -> String {
        format!("{}-{}", self.epoch, self.incarnation)
    }

    pub async fn release(&self) -> Result<(), Error> {
        let call = self.http.call(Method::DELETE, &format!("{}/lease", self.path));
        let call = call.query("epoch", &self.epoch.to_string()).query("incarnation", &self.incarnation);
        self.http.send(call).await.map(drop)
    }

    /// Takes the lease of the session at `path`, and waits for it at most for `wait`.
    pub async fn take(
        http: &Arc<Http>,
        path: &str,
        invocation: &str,
        ttl: Duration,
        wait: Duration,
    ) -> Result<Self, Error> {
        let body = json!({"owner": owner(), "invocationId": invocation, "ttl": ttl.as_secs_f64()}).to_string();
        let deadline = Instant::now() + wait;
        let mut patience = Duration::ZERO;
        loop {
            let mut call = http.call(Method::POST, &format!("{path}/lease")).json(body.clone());
            if !patience.is_zero() {
                call = call.query("wait", &patience.as_secs().to_string()).patience(patience);
            }
            match http.send(call).await {
                Ok(answer) => {
                    let granted = wire::members(&answer)?;
                    return Ok(Self {
                        epoch: wire::member(&granted, "epoch")?,
                        incarnation: wire::text(&granted, "incarnation").unwrap_or_default(),
                        revision: wire::member(&granted, "revision")?,
                        path: path.to_owned(),
                        http: http.clone(),
                    });
                }
                Err(error) if error.kind != ErrorKind::Busy => return Err(error),
                Err(error) => {
                    let left = deadline.saturating_duration_since(Instant::now());
                    if left.is_zero() {
                        return Err(error);
                    }
                    if !patience.is_zero() {
                        // The server ended the wait early.
                        sleep(spread(Duration::from_millis(300)).min(left)).await;
                    }
                    patience = left.min(ONE_WAIT).max(Duration::from_secs(1));
                }
            }
        }
    }
}

/// What names this process among those that take leases.
fn owner() -> &'static str {
    static OWNER: OnceLock<String> = OnceLock::new();
    OWNER.get_or_init(|| format!("rust/{}/{}", std::process::id(), uuid::Uuid::new_v4().simple()))
}

/// A session object that was given out, or a [`Turn`].
pub(crate) struct Visit {
    revision: Mutex<u64>,
    /// The invocation that it is for. One of a [`Turn`] is for all.
    invocation: Mutex<Option<String>>,
    whole: bool,
    task: Option<tokio::task::Id>,
    /// Taken at the first event of the invocation. The lock is held meanwhile: its events wait for it.
    lease: tokio::sync::Mutex<Option<Lease>>,
}

impl Visit {
    fn new(revision: u64, whole: bool, lease: Option<Lease>) -> Arc<Self> {
        Arc::new(Self {
            revision: Mutex::new(revision),
            invocation: Mutex::new(None),
            whole,
            task: tokio::task::try_id(),
            lease: tokio::sync::Mutex::new(lease),
        })
    }

    pub fn revision(&self) -> u64 {
        *lock(&self.revision)
    }

    pub async fn lease(&self) -> tokio::sync::MutexGuard<'_, Option<Lease>> {
        self.lease.lock().await
    }

    /// Counts an event that was appended by its invocation. A gap before it means that others appended what it has not
    /// seen: then its revision stays.
    fn saw(&self, sequence: u64) {
        let mut revision = lock(&self.revision);
        if sequence == *revision + 1 {
            *revision = sequence;
        }
    }
}

impl Drop for Visit {
    /// The runner is done with the session object, or nobody holds the [`Turn`] any more.
    fn drop(&mut self) {
        let (Some(lease), Ok(runtime)) = (self.lease.get_mut().take(), Handle::try_current()) else {
            return;
        };
        runtime.spawn(async move {
            if let Err(error) = lease.release().await {
                tracing::warn!("a lease is not released, and ends by itself: {error}");
            }
        });
    }
}

#[derive(Default)]
struct Seen {
    visits: Vec<Weak<Visit>>,
    /// The revision that was read last, and counted on as long as nobody else has appended.
    revision: u64,
    /// When it was used, in the order of uses.
    used: u64,
}

/// What a service has seen.
#[derive(Default)]
pub(crate) struct Memory(Mutex<(u64, HashMap<AdkIdentity, Seen>)>);

impl Memory {
    /// Notes that a session was read, and returns what the session object has to hold.
    pub fn read(&self, identity: &AdkIdentity, revision: u64) -> Arc<Visit> {
        self.note(identity, Visit::new(revision, false, None))
    }

    fn note(&self, identity: &AdkIdentity, visit: Arc<Visit>) -> Arc<Visit> {
        self.with(identity, |seen| {
            seen.revision = visit.revision();
            seen.visits.push(Arc::downgrade(&visit));
        });
        visit
    }

    /// The object that an invocation reads and writes through, and the revision that was seen last without one.
    ///
    /// It is what this invocation has used before; else the latest turn; else the object that was read last and is no
    /// other invocation's, by preference in this very task. What is no part of an invocation has no object but a turn.
    pub fn visit(&self, identity: &AdkIdentity, invocation: &str) -> (Option<Arc<Visit>>, Option<u64>) {
        let task = tokio::task::try_id();
        let mut memory = lock(&self.0);
        let Some(seen) = memory.1.get_mut(&key(identity)) else {
            return (None, None);
        };
        let mut visits: Vec<_> = seen.visits.iter().filter_map(Weak::upgrade).collect();
        if invocation.is_empty() {
            visits.retain(|visit| visit.whole);
        }
        let is_of = |visit: &Visit, wanted: Option<&str>| lock(&visit.invocation).as_deref() == wanted;
        let found = (visits.iter().find(|visit| is_of(visit, Some(invocation))))
            .or_else(|| visits.iter().rev().find(|visit| visit.whole))
            .or_else(|| visits.iter().rev().find(|visit| is_of(visit, None) && visit.task == task))
            .or_else(|| visits.iter().rev().find(|visit| is_of(visit, None)));
        if let Some(visit) = found {
            *lock(&visit.invocation) = Some(invocation.to_owned());
        }
        (found.cloned(), Some(seen.revision))
    }

    /// Counts an event that was appended.
    pub fn appended(&self, identity: &AdkIdentity, visit: Option<&Visit>, sequence: u64) {
        if let Some(visit) = visit {
            visit.saw(sequence);
        }
        self.with(identity, |seen| {
            if sequence == seen.revision + 1 {
                seen.revision = sequence;
            }
        });
    }

    /// Whether an invocation reads and writes through it.
    pub fn runs(&self, identity: &AdkIdentity, invocation: &str) -> bool {
        let memory = lock(&self.0);
        let visits = memory.1.get(&key(identity)).into_iter().flat_map(|seen| &seen.visits);
        visits.filter_map(Weak::upgrade).any(|visit| lock(&visit.invocation).as_deref() == Some(invocation))
    }

    /// The sessions of this id that it has seen.
    pub fn named(&self, id: &str) -> Vec<AdkIdentity> {
        lock(&self.0).1.keys().filter(|identity| identity.session_id.as_ref() == id).cloned().collect()
    }

    /// Whether it has seen the session.
    pub fn knows(&self, identity: &AdkIdentity) -> bool {
        lock(&self.0).1.contains_key(&key(identity))
    }

    pub fn forget(&self, identity: &AdkIdentity) {
        lock(&self.0).1.remove(&key(identity));
    }

    fn with(&self, identity: &AdkIdentity, change: impl FnOnce(&mut Seen)) {
        let identity = key(identity);
        let mut memory = lock(&self.0);
        let (uses, seen) = &mut *memory;
        *uses += 1;
        if seen.len() >= REMEMBERED && !seen.contains_key(&identity) {
            // The older half of those that nobody holds.
            let limit = uses.saturating_sub(REMEMBERED as u64 / 2);
            seen.retain(|_, seen| seen.used > limit || seen.visits.iter().any(|visit| visit.strong_count() > 0));
        }
        let entry = seen.entry(identity).or_default();
        entry.used = *uses;
        entry.visits.retain(|visit| visit.strong_count() > 0);
        change(entry);
    }
}

/// sessiond takes no white space around the id of a session for a part of it.
fn key(identity: &AdkIdentity) -> AdkIdentity {
    let session_id = SessionId::new_unchecked(identity.session_id.as_ref().trim());
    AdkIdentity { session_id, ..identity.clone() }
}

/// A turn: as long as it lasts, no other one writes events of an invocation into the session. See
/// [`SessiondSessionService::turn`](crate::SessiondSessionService::turn).
pub struct Turn {
    visit: Arc<Visit>,
}

impl Turn {
    pub(crate) fn new(memory: &Memory, identity: &AdkIdentity, lease: Lease) -> Self {
        Self { visit: memory.note(identity, Visit::new(lease.revision, true, Some(lease))) }
    }

    /// Ends the turn. To drop it ends it, too, a moment later.
    ///
    /// # Errors
    ///
    /// The server cannot be reached. The turn ends by itself then, when it has stored nothing for its `ttl`.
    pub async fn end(self) -> Result<(), Error> {
        match self.visit.lease().await.take() {
            Some(lease) => lease.release().await,
            None => Ok(()),
        }
    }

    /// The same stream, which ends the turn when it ends or is dropped: for that of `Runner::run`.
    pub fn hold<S: Stream + Unpin>(self, stream: S) -> impl Stream<Item = S::Item> + Unpin {
        // `Some` until the stream has ended.
        let holds = Some((self, stream));
        Box::pin(futures::stream::unfold(holds, async |holds| {
            let (turn, mut stream) = holds?;
            match stream.next().await {
                Some(item) => Some((item, Some((turn, stream)))),
                None => {
                    if let Err(error) = turn.end().await {
                        tracing::warn!("a lease is not released, and ends by itself: {error}");
                    }
                    None
                }
            }
        }))
    }
}

impl fmt::Debug for Turn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Turn").finish_non_exhaustive()
    }
}

/// What these locks guard is whole after each statement.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use adk_core::identity::{AppName, UserId};

    use super::*;

    #[test]
    fn what_is_remembered_is_limited_and_what_is_held_stays() {
        let session = |number: usize| {
            let id = SessionId::new_unchecked(number.to_string());
            AdkIdentity::new(AppName::new_unchecked("a"), UserId::new_unchecked("u"), id)
        };
        let memory = Memory::default();
        let held = memory.read(&session(0), 7);
        for number in 1..=3 * REMEMBERED {
            drop(memory.read(&session(number), 1));
        }
        assert!(lock(&memory.0).1.len() <= REMEMBERED);
        assert_eq!(memory.visit(&session(0), "i").0.map(|visit| visit.revision()), Some(held.revision()));
        assert_eq!(memory.visit(&session(3 * REMEMBERED), "i").1, Some(1));
        // Forgotten, which is no revision to go by.
        assert_eq!(memory.visit(&session(1), "i").1, None);
    }
}
