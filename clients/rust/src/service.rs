//! The session service.

use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, Mutex, Weak},
    time::Duration,
};

use adk_core::{
    Event,
    identity::{AdkIdentity, AppName, SessionId, UserId},
};
use adk_session::{
    AppendEventRequest, CreateRequest, DeleteRequest, Events, GetRequest, KEY_PREFIX_TEMP, ListRequest, Session,
    SessionService, State,
};
use async_trait::async_trait;
use chrono::{DateTime, Utc};
use futures::Stream;
use reqwest::Method;
use serde_json::{Map, Value, json};

use crate::{
    artifacts::SessiondArtifactService,
    error::{Error, ErrorKind},
    http::{Call, Http, Limits, Traceparent, path},
    op::Op,
    token::Token,
    turn::{Lease, Memory, Turn, Visit, lock},
    watch::{self, WatchFrom, WatchItem},
    wire::{self, StoredEvent, StoredSession},
};

/// Of a list and of a log, the rows of a page. A page of sessions with their state may also end at 8 MiB.
const PAGE: usize = 1000;

/// How many of the last events come with an effective history.
const LAST: u64 = 100;

/// Where `LlmAgent` puts what it has asked the model, and what that has answered, besides the field `llm_request`.
const MODEL_REQUESTS: [&str; 2] = ["gcp.vertex.agent.llm_request", "gcp.vertex.agent.llm_response"];

/// How several writers of a session get along.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Concurrency {
    /// Appends are unconditional: events of several writers interleave, and for each key the last writer wins.
    #[default]
    None,
    /// An invocation appends only if nobody else has appended since it has read the session; otherwise the error is
    /// [`ErrorKind::Stale`], and nothing is stored. What was seen is what `create`, `get` or the last append of this
    /// service showed; a session that this service has not seen is stale, too.
    Session,
    /// The invocations of a session take turns, those of all services that say so, in all processes. The first event of
    /// an invocation takes the lease of its session, which is released when the runner lets go of the session object
    /// that it has read. Events without an invocation take none. See also [`SessiondSessionService::turn`].
    Lease {
        /// For how long to wait for the turn of another invocation; with zero, the error [`ErrorKind::Busy`] comes at
        /// once. If that turn has stored something, what the runner has read is out of date: the error is
        /// [`ErrorKind::Stale`] then, before anything is stored, and the message may be sent again.
        wait: Duration,
        /// How long a turn may store nothing before another one may take over, 1 s to 15 min. An invocation that was
        /// superseded stores nothing any more: its appends are [`ErrorKind::Stale`].
        ttl: Duration,
    },
}

/// Which events of a session are loaded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum History {
    /// All, except what was rewound.
    #[default]
    Full,
    /// Without what compactions cover, too. The number of recent events counts what is left. If nothing limits the events,
    /// the last 100 are loaded in any case, covered or not: in these a runner looks for the agent that goes on, and for
    /// calls that are answered. What else is covered, it does not find: to answer a call there needs [`History::Full`].
    Effective,
}

/// Makes a [`SessiondSessionService`].
#[must_use]
pub struct Builder {
    url: String,
    token: Option<Token>,
    concurrency: Concurrency,
    history: History,
    limits: Limits,
    traceparent: Option<Traceparent>,
    keep_model_requests: bool,
}

impl Builder {
    /// The credential; by default that of the variable `SESSIOND_TOKEN`, which is read by [`Builder::build`].
    pub fn token(mut self, token: Token) -> Self {
        self.token = Some(token);
        self
    }

    /// How several writers of a session get along; by default they do not care about each other.
    pub fn concurrency(mut self, concurrency: Concurrency) -> Self {
        self.concurrency = concurrency;
        self
    }

    /// Which events of a session are loaded; by default all, except what was rewound.
    pub fn history(mut self, history: History) -> Self {
        self.history = history;
        self
    }

    /// Whether to store what `LlmAgent` puts into each event of a model for debugging: twice the whole request, with
    /// all the history and every byte of an image as a number, and once the answer. They are left out by default, for
    /// they would soon be most of what is stored, and beyond the limit of an event (4 MiB).
    pub fn keep_model_requests(mut self, keep: bool) -> Self {
        self.keep_model_requests = keep;
        self
    }

    /// How long to wait for a connection; 2 s by default.
    pub fn connect_timeout(mut self, timeout: Duration) -> Self {
        self.limits.connect = timeout;
        self
    }

    /// How long one attempt may take, from the connection to the last byte of the answer; 15 s by default. To send an
    /// artifact, it may take 1 s more for each 256 KiB; to read one, it may take any time in which something comes.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.limits.attempt = timeout;
        self
    }

    /// How long a request is tried again that found no connection, got no answer, or was refused for now; 30 s by
    /// default.
    pub fn retry_for(mut self, total: Duration) -> Self {
        self.limits.total = total;
        self
    }

    /// After how long without a byte the connection of a watch is given up; 45 s by default. sessiond sends a sign of
    /// life every 15 s, if it is not told otherwise.
    pub fn watch_silence(mut self, silence: Duration) -> Self {
        self.limits.silence = silence;
        self
    }

    /// How often a request is sent at most; 5 times by default.
    pub fn attempts(mut self, attempts: u32) -> Self {
        self.limits.attempts = attempts.max(1);
        self
    }

    /// What gives the W3C `traceparent` of the request that the program is serving, to be forwarded, if it has one.
    pub fn traceparent(mut self, current: impl Fn() -> Option<String> + Send + Sync + 'static) -> Self {
        self.traceparent = Some(Arc::new(current));
        self
    }

    /// Makes the service. It opens no connection yet.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidInput`]: the URL is not `http://HOST:PORT` or `https://HOST`, with a path if a proxy puts
    /// sessiond under one, or has a credential in it; or the token cannot be sent.
    pub fn build(self) -> Result<SessiondSessionService, Error> {
        let token = self.token.unwrap_or_else(Token::from_env);
        let http = Arc::new(Http::new(&self.url, &token, self.limits, self.traceparent)?);
        let inner = Arc::new(Inner {
            http,
            concurrency: self.concurrency,
            history: self.history,
            keep_model_requests: self.keep_model_requests,
            memory: Memory::default(),
        });
        let mut live = lock(&LIVE);
        live.retain(|service| service.strong_count() > 0);
        live.push(Arc::downgrade(&inner));
        Ok(SessiondSessionService(inner))
    }
}

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
        let seconds = Duration::from_secs;
        let limits =
            Limits { connect: seconds(2), attempt: seconds(15), total: seconds(30), attempts: 5, silence: seconds(45) };
        Builder {
            url: url.into(),
            token: None,
            concurrency: Concurrency::None,
            history: History::Full,
            limits,
            traceparent: None,
            keep_model_requests: false,
        }
    }

    /// The artifact service of the same sessiond, with the same settings.
    pub fn artifacts(&self) -> SessiondArtifactService {
        SessiondArtifactService::new(self.0.http.clone())
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

    /// Changes state by operators, which the server applies to what is there: nothing is lost between writers.
    ///
    /// They are applied in order, all or none, through one event that is appended to the session, once, also if the
    /// first answer gets lost. [`Concurrency::Session`] does not matter here. For tools, see [`ops`](crate::ops).
    ///
    /// Returns the values of the keys after it; a removed key is absent.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NotFound`]: there is no such session. [`ErrorKind::InvalidInput`]: an operator does not fit the
    /// value that is there; nothing was changed.
    pub async fn apply_ops(
        &self,
        identity: &AdkIdentity,
        ops: &[Op],
        author: &str,
        invocation_id: &str,
    ) -> Result<Map<String, Value>, Error> {
        self.apply_ops_if(identity, &[], ops, author, invocation_id).await
    }

    /// The same, if all preconditions hold, each an object of sessiond's: a `key`, and `equals`, a value, or `exists`, a
    /// bool, or `revision`, since which it is unchanged.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Stale`]: one does not hold; nothing was changed. Otherwise as
    /// [`SessiondSessionService::apply_ops`].
    pub async fn apply_ops_if(
        &self,
        identity: &AdkIdentity,
        preconditions: &[Value],
        ops: &[Op],
        author: &str,
        invocation_id: &str,
    ) -> Result<Map<String, Value>, Error> {
        self.change(identity, None, preconditions, ops, author, invocation_id).await
    }

    /// The same, once: `once` is an id for this change, the same in every run of the program, and the id of its event.
    ///
    /// Where the change was made before, whoever made it, nothing is changed, and the values are those that it had then.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::EventIdConflict`]: the session has another change, or another event, of this id. Otherwise as
    /// [`SessiondSessionService::apply_ops_if`].
    pub async fn apply_ops_once(
        &self,
        identity: &AdkIdentity,
        once: &str,
        preconditions: &[Value],
        ops: &[Op],
        author: &str,
        invocation_id: &str,
    ) -> Result<Map<String, Value>, Error> {
        self.change(identity, Some(once), preconditions, ops, author, invocation_id).await
    }

    pub(crate) async fn change(
        &self,
        identity: &AdkIdentity,
        once: Option<&str>,
        preconditions: &[Value],
        ops: &[Op],
        author: &str,
        invocation_id: &str,
    ) -> Result<Map<String, Value>, Error> {
        let mut actions = Map::new();
        actions.insert("stateOps".into(), ops.iter().map(Op::to_json).collect());
        if !preconditions.is_empty() {
            actions.insert("preconditions".into(), preconditions.to_vec().into());
        }
        let id = once.map_or_else(|| uuid::Uuid::new_v4().to_string(), str::to_owned);
        let body = json!({"id": id, "author": author, "invocationId": invocation_id, "actions": actions}).to_string();
        let body = match once {
            // A change that is made again has the time of the first one.
            Some(_) => body,
            // By the clock of this process, as the events of an agent are.
            None => format!(r#"{{"timestamp":{},{}"#, wire::time_to_number(Utc::now()), &body[1..]),
        };
        match self.append(identity, body, "full", invocation_id, false).await {
            Ok(stored) => Ok(wire::event(&stored)?.state_delta),
            Err(conflict) if once.is_some() && conflict.kind == ErrorKind::EventIdConflict => {
                self.made(identity, &id, &actions, conflict).await
            }
            Err(error) => Err(error),
        }
    }

    /// The values of a change that was made before, by another agent or in another invocation.
    async fn made(
        &self,
        identity: &AdkIdentity,
        id: &str,
        actions: &Map<String, Value>,
        conflict: Error,
    ) -> Result<Map<String, Value>, Error> {
        let event = path(&[
            ("apps", identity.app_name.as_ref()),
            ("users", identity.user_id.as_ref()),
            ("sessions", identity.session_id.as_ref().trim()),
            ("events", id),
        ])?;
        let answer = self.0.http.send(self.0.http.call(Method::GET, &event)).await?;
        let stored: Value = serde_json::from_slice(&answer).map_err(|_| wire::not_ours())?;
        let same = |name: &str| stored["actions"].get(name) == actions.get(name);
        if !same("stateOps") || !same("preconditions") {
            return Err(conflict);
        }
        Ok(stored["actions"]["stateDelta"].as_object().cloned().unwrap_or_default())
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

    /// As `rewind` of the trait, for the session that `identity` names.
    ///
    /// History is never truncated: the server appends an event that takes back those behind `event_id`, and what they
    /// did to the state of the session; app and user state stay. Sessions that this service reads are without what was
    /// taken back.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NotFound`]: there is no such session, or it has no such event.
    pub async fn rewind_for_identity(&self, identity: &AdkIdentity, event_id: &str) -> Result<Box<dyn Session>, Error> {
        let event = path(&[
            ("apps", identity.app_name.as_ref()),
            ("users", identity.user_id.as_ref()),
            ("sessions", identity.session_id.as_ref().trim()),
            ("events", event_id),
        ])?;
        let answer = self.0.http.send(self.0.http.call(Method::GET, &event)).await?;
        let sequence: u64 = wire::member(&wire::members(&answer)?, "sequence")?;
        self.rewind_to(identity, sequence).await
    }

    /// As `rewind_steps` of the trait, for the session that `identity` names.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NotFound`]: there is no such session. [`ErrorKind::InvalidInput`]: it has fewer events.
    pub async fn rewind_steps_for_identity(
        &self,
        identity: &AdkIdentity,
        steps: usize,
    ) -> Result<Box<dyn Session>, Error> {
        if steps == 0 {
            return Ok(Box::new(self.read(identity, None, None).await?));
        }
        let (_, events) = self.visible(identity, Some(steps.saturating_add(1)), None).await?;
        if events.len() < steps {
            return Err(Error::input(format!("The session has {} events, fewer than {steps}.", events.len())));
        }
        let target = if events.len() == steps { 0 } else { events.first().map_or(0, |event| event.sequence) };
        self.rewind_to(identity, target).await
    }

    async fn rewind_to(&self, identity: &AdkIdentity, sequence: u64) -> Result<Box<dyn Session>, Error> {
        let rewind = format!("{}/rewind", session_path(identity)?);
        let key = uuid::Uuid::new_v4().to_string();
        // To the last event is as it is.
        let now = self.0.http.call(Method::GET, &session_path(identity)?).query("numRecentEvents", "0");
        if wire::session(&self.0.http.send(now).await?)?.revision == sequence {
            return Ok(Box::new(self.read(identity, None, None).await?));
        }
        let call = self.0.http.call(Method::POST, &rewind).json(json!({"toRevision": sequence}).to_string());
        let (visit, seen) = self.0.memory.visit(identity, &key);
        let lease = self.lease(identity, visit.as_deref(), &key).await?;
        let mut call = leased(call.header("idempotency-key", &key), lease.as_ref());
        if self.0.concurrency == Concurrency::Session {
            call = self.if_seen(call, identity, visit.as_deref(), seen)?;
        }
        let sent = self.0.http.send(call).await;
        self.give_back(visit.as_deref(), lease).await;
        sent?;
        Ok(Box::new(self.read(identity, None, None).await?))
    }

    /// Appends an event, once, and returns of it as it is stored what `answer` says.
    async fn append(
        &self,
        identity: &AdkIdentity,
        body: String,
        answer: &str,
        invocation: &str,
        if_seen: bool,
    ) -> Result<String, Error> {
        let (visit, seen) = self.0.memory.visit(identity, invocation);
        let lease = self.lease(identity, visit.as_deref(), invocation).await?;
        let events = format!("{}/events", session_path(identity)?);
        let call = self.0.http.call(Method::POST, &events).query("answer", answer).json(body);
        let mut call = leased(call, lease.as_ref());
        if if_seen {
            call = self.if_seen(call, identity, visit.as_deref(), seen)?;
        }
        let sent = self.0.http.send(call).await;
        self.give_back(visit.as_deref(), lease).await;
        let stored = sent?;
        let sequence = wire::member(&wire::members(&stored)?, "sequence")?;
        self.0.memory.appended(identity, visit.as_deref(), sequence);
        Ok(String::from_utf8_lossy(&stored).into_owned())
    }

    fn if_seen(
        &self,
        call: Call,
        identity: &AdkIdentity,
        visit: Option<&Visit>,
        seen: Option<u64>,
    ) -> Result<Call, Error> {
        let revision = visit.map(Visit::revision).or(seen).ok_or_else(|| {
            let message = format!("Session {} was not read by this service: get it first.", identity.session_id);
            Error { outcome: Some(crate::Outcome::NotApplied), ..Error::new(ErrorKind::Stale, message) }
        })?;
        Ok(call.header("if-match", &format!("\"{revision}\"")))
    }

    /// The lease of the turn, or of the invocation, which is taken if it has none.
    async fn lease(
        &self,
        identity: &AdkIdentity,
        visit: Option<&Visit>,
        invocation: &str,
    ) -> Result<Option<Lease>, Error> {
        let Concurrency::Lease { wait, ttl } = self.0.concurrency else {
            return match visit {
                Some(visit) => Ok(visit.lease().await.clone()),
                None => Ok(None),
            };
        };
        let path = session_path(identity)?;
        let Some(visit) = visit else {
            if invocation.is_empty() {
                return Ok(None);
            }
            return Lease::take(&self.0.http, &path, invocation, ttl, wait).await.map(Some);
        };
        let mut held = visit.lease().await;
        if held.is_none() {
            let lease = Lease::take(&self.0.http, &path, invocation, ttl, wait).await?;
            if lease.revision != visit.revision() {
                lease.release().await?;
                let message = format!("Session {} has changed since it was read.", identity.session_id);
                return Err(Error {
                    outcome: Some(crate::Outcome::NotApplied),
                    ..Error::new(ErrorKind::Stale, message)
                });
            }
            *held = Some(lease);
        }
        Ok(held.clone())
    }

    /// Releases a lease that nobody holds on to: that of an append without a session object.
    async fn give_back(&self, visit: Option<&Visit>, lease: Option<Lease>) {
        if let (None, Some(lease)) = (visit, lease)
            && let Err(error) = lease.release().await
        {
            tracing::warn!("a lease is not released, and ends by itself: {error}");
        }
    }

    async fn read(
        &self,
        identity: &AdkIdentity,
        recent: Option<usize>,
        after: Option<DateTime<Utc>>,
    ) -> Result<SessiondSession, Error> {
        let path = session_path(identity)?;
        // Until no event comes between the state and the log.
        loop {
            let mut call = self.0.http.call(Method::GET, &path);
            if self.0.history == History::Effective {
                call = call.query("history", "effective");
            }
            // Agents ask for all by a number that the service does not take.
            if let Some(recent) = recent.and_then(|recent| i64::try_from(recent).ok()) {
                call = call.query("numRecentEvents", &recent.to_string());
            }
            if let Some(after) = after {
                call = call.query("afterTimestamp", &micros(after));
            }
            let mut stored = wire::session(&self.0.http.send(call).await?)?;
            // Rewound events come before what took them back. So if that is not here, neither are they.
            if stored.events.iter().any(|event| event.rewinds) {
                let (revision, events) = self.visible(identity, recent, after).await?;
                if revision != stored.revision {
                    continue;
                }
                stored.events = events;
            }
            if self.0.history == History::Effective && recent.is_none() && after.is_none() {
                self.add_the_last(identity, &mut stored).await?;
            }
            if let Some(after) = after {
                // The server compares whole microseconds.
                stored.events.retain(|event| event.event.timestamp >= after);
            }
            return Ok(self.given(stored));
        }
    }

    /// Adds the last events of the log to a session that has its effective history.
    ///
    /// A prompt is the same with what a compaction covers, as long as the compaction is there.
    async fn add_the_last(&self, identity: &AdkIdentity, stored: &mut StoredSession) -> Result<(), Error> {
        let last = stored.events.iter().filter(|event| event.sequence + LAST > stored.revision).count();
        let compacted = stored.events.iter().any(|event| event.event.actions.compaction.is_some());
        if !compacted || last as u64 == stored.revision.min(LAST) {
            return Ok(());
        }
        let path = format!("{}/events", session_path(identity)?);
        let call = self.0.http.call(Method::GET, &path).query("excludeRewound", "true").query("order", "desc");
        let call =
            call.query("beforeSequence", &(stored.revision + 1).to_string()).query("pageSize", &LAST.to_string());
        let answer = self.0.http.send(call).await?;
        let page = wire::members(&answer)?;
        if wire::member::<u64>(&page, "revision")? >= stored.revision {
            for event in wire::list(&page, "events")? {
                stored.events.push(wire::event(event.get())?);
            }
            stored.events.sort_by_key(|event| event.sequence);
            stored.events.dedup_by_key(|event| event.sequence);
        }
        Ok(())
    }

    /// The events without what was taken back, of these the last `recent`, and the revision of the session.
    async fn visible(
        &self,
        identity: &AdkIdentity,
        recent: Option<usize>,
        after: Option<DateTime<Utc>>,
    ) -> Result<(u64, Vec<StoredEvent>), Error> {
        let path = format!("{}/events", session_path(identity)?);
        let wanted = recent.unwrap_or(usize::MAX);
        let (mut events, mut token, mut revision) = (Vec::new(), None::<String>, 0);
        loop {
            let size = PAGE.min(wanted - events.len()).max(1);
            let mut call = self.0.http.call(Method::GET, &path).query("excludeRewound", "true").query("order", "desc");
            call = call.query("pageSize", &size.to_string());
            if let (Some(after), None) = (after, recent) {
                call = call.query("afterTimestamp", &micros(after));
            }
            if let Some(token) = &token {
                call = call.query("pageToken", token);
            }
            let answer = self.0.http.send(call).await?;
            let page = wire::members(&answer)?;
            // The later pages are about what was there at the first one.
            if token.is_none() {
                revision = wire::member(&page, "revision")?;
            }
            for event in wire::list(&page, "events")? {
                events.push(wire::event(event.get())?);
            }
            token = wire::text(&page, "nextPageToken");
            if token.is_none() || events.len() >= wanted {
                events.truncate(wanted);
                events.reverse();
                return Ok((revision, events));
            }
        }
    }

    /// What a program gets of a stored session.
    fn given(&self, stored: StoredSession) -> SessiondSession {
        // The server has checked the names.
        let identity = AdkIdentity::new(
            AppName::new_unchecked(&stored.app_name),
            UserId::new_unchecked(&stored.user_id),
            SessionId::new_unchecked(&stored.id),
        );
        SessiondSession {
            visit: Some(self.0.memory.read(&identity, stored.revision)),
            identity,
            state: stored.state,
            events: stored.events.into_iter().map(|stored| stored.event).collect(),
            last_update_time: stored.last_update_time,
        }
    }

    /// Calls `visit` with each session of a list until it returns false.
    async fn each_session(
        &self,
        path: &str,
        parameters: &[(&str, &str)],
        mut visit: impl FnMut(StoredSession) -> bool,
    ) -> Result<(), Error> {
        let mut token: Option<String> = None;
        loop {
            let mut call = self.0.http.call(Method::GET, path);
            for (name, value) in parameters {
                call = call.query(name, value);
            }
            if let Some(token) = &token {
                call = call.query("pageToken", token);
            }
            let answer = self.0.http.send(call).await?;
            let page = wire::members(&answer)?;
            for stored in wire::list(&page, "sessions")? {
                if !visit(wire::session(stored.get().as_bytes())?) {
                    return Ok(());
                }
            }
            token = wire::text(&page, "nextPageToken");
            if token.is_none() {
                return Ok(());
            }
        }
    }

    /// The only session with this id that this service has seen.
    fn find(&self, id: &str) -> Result<AdkIdentity, Error> {
        let id = id.trim();
        let mut known = self.0.memory.named(id);
        let count = known.len();
        match (known.pop(), count) {
            (Some(identity), 1) => Ok(identity),
            _ => Err(Error::input(format!(
                "The id {id} alone says too little, as this service has seen {count} such sessions: name app and user, too, \
                 as `append_event_for_identity` and `rewind_for_identity` do."
            ))),
        }
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

#[async_trait]
impl SessionService for SessiondSessionService {
    /// Creates a session, once, also if the first answer gets lost. `app:` and `user:` keys go to app and user state,
    /// `temp:` keys nowhere.
    async fn create(&self, req: CreateRequest) -> adk_core::Result<Box<dyn Session>> {
        let (app, user) = (req.try_app_name()?, req.try_user_id()?);
        req.try_session_id()?;
        let sessions = format!("{}/sessions", path(&[("apps", app.as_ref()), ("users", user.as_ref())])?);
        let state: HashMap<_, _> = req.state.iter().filter(|(key, _)| !key.starts_with(KEY_PREFIX_TEMP)).collect();
        let call = match &req.session_id {
            // Nobody else knows this id: what a get-or-create gets can only be what an attempt before has created.
            None => (self.0.http)
                .call(Method::PUT, &format!("{sessions}/{}", uuid::Uuid::new_v4()))
                .json(json!({"state": state}).to_string()),
            Some(id) => {
                path(&[("sessions", id.trim())])?;
                (self.0.http)
                    .call(Method::POST, &sessions)
                    .json(json!({"sessionId": id.trim(), "state": state}).to_string())
                    // By which sessiond knows what an attempt before has created.
                    .header("idempotency-key", &uuid::Uuid::new_v4().to_string())
            }
        };
        let answer = self.0.http.send(call).await?;
        Ok(Box::new(self.given(wire::session(&answer)?)))
    }

    /// Returns a session with its merged state and its events, as of one moment. `num_recent_events` and `after` go to
    /// the server: first the last ones, of these those that are not before `after`.
    async fn get(&self, req: GetRequest) -> adk_core::Result<Box<dyn Session>> {
        Ok(Box::new(self.read(&req.try_identity()?, req.num_recent_events, req.after).await?))
    }

    /// Returns the sessions of a user, with merged state and without events, those that were updated last first.
    async fn list(&self, req: ListRequest) -> adk_core::Result<Vec<Box<dyn Session>>> {
        let (app, user) = (req.try_app_name()?, req.try_user_id()?);
        let sessions = format!("{}/sessions", path(&[("apps", app.as_ref()), ("users", user.as_ref())])?);
        let offset = req.offset.unwrap_or_default();
        let end = req.limit.map_or(usize::MAX, |limit| offset.saturating_add(limit));
        let size = end.clamp(1, PAGE).to_string();
        let parameters = [("includeState", "true"), ("order", "desc"), ("pageSize", &*size)];
        let (mut place, mut listed) = (0, Vec::new());
        if end > offset {
            let visit = |stored: StoredSession| {
                if place >= offset {
                    listed.push(stored);
                }
                place += 1;
                place < end
            };
            self.each_session(&sessions, &parameters, visit).await?;
        }
        let shown = |stored: StoredSession| {
            let identity = AdkIdentity::new(
                AppName::new_unchecked(stored.app_name),
                UserId::new_unchecked(stored.user_id),
                SessionId::new_unchecked(stored.id),
            );
            let (state, last_update_time) = (stored.state, stored.last_update_time);
            // Nobody appends on the grounds of a list.
            Box::new(SessiondSession { visit: None, identity, state, events: Vec::new(), last_update_time }) as _
        };
        Ok(listed.into_iter().map(shown).collect())
    }

    /// Deletes a session with its events and its own state, if there is one. App and user state stay.
    async fn delete(&self, req: DeleteRequest) -> adk_core::Result<()> {
        let identity = req.try_identity()?;
        let (visit, _) = self.0.memory.visit(&identity, "");
        let lease = match visit {
            Some(visit) => visit.lease().await.clone(),
            None => None,
        };
        let call = self.0.http.call(Method::DELETE, &session_path(&identity)?);
        self.0.http.send(leased(call, lease.as_ref())).await?;
        self.0.memory.forget(&identity);
        Ok(())
    }

    /// Appends to the session with this id that this service has created or read. If there is none, or if there are
    /// several, of other apps or users, it is an error. Runners use [`SessionService::append_event_for_identity`].
    async fn append_event(&self, session_id: &str, event: Event) -> adk_core::Result<()> {
        if event.llm_response.partial {
            return Ok(());
        }
        let identity = self.find(session_id)?;
        self.append_event_for_identity(AppendEventRequest { identity, event }).await
    }

    /// Appends an event and applies its `state_delta`. A partial event is not stored, nor are `temp:` keys.
    async fn append_event_for_identity(&self, req: AppendEventRequest) -> adk_core::Result<()> {
        let AppendEventRequest { identity, mut event } = req;
        if event.llm_response.partial {
            return Ok(());
        }
        if !self.0.keep_model_requests {
            event.llm_request = None;
            event.provider_metadata.retain(|name, _| !MODEL_REQUESTS.contains(&name.as_str()));
        }
        let if_seen = self.0.concurrency == Concurrency::Session;
        self.append(&identity, wire::event_to_text(&event), "minimal", &event.invocation_id, if_seen).await?;
        Ok(())
    }

    /// Deletes the sessions of a user. User state stays: sessiond has an erasure for a person.
    async fn delete_all_sessions(&self, app_name: &str, user_id: &str) -> adk_core::Result<()> {
        let sessions = format!("{}/sessions", path(&[("apps", app_name), ("users", user_id)])?);
        let mut ids = Vec::new();
        self.each_session(&sessions, &[("pageSize", "1000")], |stored| {
            ids.push(stored.id);
            true
        })
        .await?;
        for session_id in ids {
            let (app_name, user_id) = (app_name.to_owned(), user_id.to_owned());
            self.delete(DeleteRequest { app_name, user_id, session_id }).await?;
        }
        Ok(())
    }

    /// Rewinds the session with this id that this service has created or read: see
    /// [`SessiondSessionService::rewind_for_identity`].
    async fn rewind(&self, session_id: &str, target_event_id: &str) -> adk_core::Result<Box<dyn Session>> {
        Ok(self.rewind_for_identity(&self.find(session_id)?, target_event_id).await?)
    }

    /// Rewinds the session with this id that this service has created or read: see
    /// [`SessiondSessionService::rewind_steps_for_identity`].
    async fn rewind_steps(&self, session_id: &str, steps: usize) -> adk_core::Result<Box<dyn Session>> {
        Ok(self.rewind_steps_for_identity(&self.find(session_id)?, steps).await?)
    }

    /// Whether sessiond is there and has its database. It is asked once.
    async fn health_check(&self) -> adk_core::Result<()> {
        Ok(self.0.http.once(Method::GET, "/readyz").await?)
    }
}

/// A session, as it was read.
struct SessiondSession {
    identity: AdkIdentity,
    state: HashMap<String, Value>,
    events: Vec<Event>,
    last_update_time: DateTime<Utc>,
    /// By which the service knows what an invocation has seen, and when it is over.
    #[expect(dead_code, reason = "it is held, not used")]
    visit: Option<Arc<Visit>>,
}

impl Session for SessiondSession {
    fn id(&self) -> &str {
        self.identity.session_id.as_ref()
    }

    fn app_name(&self) -> &str {
        self.identity.app_name.as_ref()
    }

    fn user_id(&self) -> &str {
        self.identity.user_id.as_ref()
    }

    fn state(&self) -> &dyn State {
        self
    }

    fn events(&self) -> &dyn Events {
        self
    }

    fn last_update_time(&self) -> DateTime<Utc> {
        self.last_update_time
    }
}

impl State for SessiondSession {
    fn get(&self, key: &str) -> Option<Value> {
        self.state.get(key).cloned()
    }

    fn set(&mut self, key: String, value: Value) {
        self.state.insert(key, value);
    }

    fn all(&self) -> HashMap<String, Value> {
        self.state.clone()
    }
}

impl Events for SessiondSession {
    fn all(&self) -> Vec<Event> {
        self.events.clone()
    }

    fn len(&self) -> usize {
        self.events.len()
    }

    fn at(&self, index: usize) -> Option<&Event> {
        self.events.get(index)
    }
}

fn session_path(identity: &AdkIdentity) -> Result<String, Error> {
    path(&[
        ("apps", identity.app_name.as_ref()),
        ("users", identity.user_id.as_ref()),
        ("sessions", identity.session_id.as_ref().trim()),
    ])
}

fn leased(call: Call, lease: Option<&Lease>) -> Call {
    match lease {
        Some(lease) => call.header("sessiond-lease", &lease.shown()),
        None => call,
    }
}

/// A time for the server's filters, which compare whole microseconds.
fn micros(time: DateTime<Utc>) -> String {
    let micros = DateTime::from_timestamp_micros(time.timestamp_micros()).unwrap_or(time);
    wire::time_to_number(micros)
}
