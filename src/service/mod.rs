//! The use cases: what HTTP asks for, in terms of the domain and the store.
//!
//! Owns the clock, the limits and the retries. The only caller of [`Store`]. Knows nothing of HTTP: another face
//! (ADK's own paths, a command) calls the same methods.

mod clock;

use std::sync::Arc;
use std::time::Duration;

use futures_util::future::BoxFuture;
use tokio::sync::Notify;
use tokio::time::{Instant, sleep};

use crate::domain::append::{Append, Done, Outcome};
use crate::domain::change::{Condition, Edit, Precondition};
use crate::domain::command::{
    AppendOutcome, CreateOutcome, DeleteOutcome, Deletion, Fork, ForkOutcome, MetadataUpdate, RewindOutcome,
    RewindRequest, ScopeOutcome, UpdateOutcome,
};
use crate::domain::event::{EventDraft, NewEvent, StoredEvent, carrier};
use crate::domain::ids::{AppName, EventId, ScopeKey, SessionId, SessionKey, UserId, UserKey};
use crate::domain::json::{Json, ObjectText, RawJson};
use crate::domain::query::{
    EventQuery, ListQuery, Moment, MomentQuery, Page, ScopeView, SessionQuery, SessionView, StateFilter,
};
use crate::domain::request_key::RequestKey;
use crate::domain::resolve::{Mismatch, Refusal};
use crate::domain::rewind::RewindTarget;
use crate::domain::scope_write::ScopeWrite;
use crate::domain::session::{Creation, IfExists, MetadataPatch, SessionDraft, SessionInfo};
use crate::domain::tag::{IfMatch, Tag};
use crate::domain::template::{Missing, Template};
use crate::domain::time::Micros;
use crate::domain::{FieldError, Limits, Rejected, scope};
use crate::metrics::Metrics;
use crate::store::Store;
use crate::store::backend::DatabaseClock;
use crate::store::error::{Cause, StoreError};
use crate::store::limits::CLOCK_TOLERANCE;
use crate::store::together::Sharing;

pub use clock::{Clock, SystemClock};

/// How often one request tries its transaction.
const MAX_TRIES: u32 = 6;
const FIRST_PAUSE: Duration = Duration::from_millis(10);
const LONGEST_PAUSE: Duration = Duration::from_millis(500);

/// Why a request was not served. What it means in HTTP is the error table's business.
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
    #[error("the precondition failed")]
    RevisionMismatch(Mismatch),
    #[error(transparent)]
    Store(#[from] StoreError),
}

impl Error {
    /// The database's trouble, and the same request may succeed a while later.
    pub fn may_pass(&self) -> bool {
        matches!(self, Self::Store(error) if error.cause.may_pass())
    }
}

impl From<Refusal> for Error {
    fn from(refusal: Refusal) -> Self {
        match refusal {
            Refusal::EventIdConflict => Self::EventIdConflict,
            Refusal::RevisionMismatch(mismatch) => Self::RevisionMismatch(mismatch),
            Refusal::Rejected(rejected) => Self::Rejected(rejected),
        }
    }
}

impl From<Rejected> for Error {
    fn from(rejected: Rejected) -> Self {
        Self::Rejected(rejected)
    }
}

pub type Result<T> = std::result::Result<T, Error>;

/// Whether a transaction may run again although an earlier run of it may have committed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Repeat {
    /// It recognises its own traces (event ids, the incarnation), or twice is the same as once.
    Safe,
    /// Another writer may have come in between, and would be overwritten: the client has to decide.
    UnlessUnclear,
}

pub struct Service {
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    limits: Limits,
    metrics: Arc<Metrics>,
    /// Something was deleted: there are rows to remove.
    to_sweep: Notify,
}

/// How a session came to be answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Made {
    New,
    /// It was there.
    Found,
    /// An earlier one of the same request made it.
    Before,
}

/// An event of an append's answer.
#[derive(Debug)]
pub enum Answered {
    Stored {
        event: StoredEvent,
        replayed: bool,
    },
    /// A partial event: as given, not stored.
    Partial(RawJson),
}

#[derive(Debug)]
pub struct Appended {
    pub events: Vec<Answered>,
    pub tag: Tag,
}

/// Who changes state without an event of its own, and of which session.
#[derive(Debug)]
pub struct StateChange<'a> {
    pub key: SessionKey,
    pub id: Option<EventId>,
    pub author: &'a str,
    pub invocation_id: &'a str,
    pub if_match: Option<IfMatch>,
    /// A key that must not be there.
    pub if_absent: Option<&'a str>,
}

/// Faults of an event that was made of a request's parts, at the places where the request has them.
fn outside_of_event(rejected: Rejected) -> Rejected {
    let outside = |field: String| field.strip_prefix("/actions").map(str::to_owned).unwrap_or(field);
    match rejected {
        Rejected::Invalid(errors) => Rejected::Invalid(
            errors.into_iter().map(|error| FieldError::new(outside(error.field), error.message)).collect(),
        ),
        other => other,
    }
}

fn beyond(revision: i64) -> Error {
    let message = format!("must be at most the current revision, which is {revision}");
    Rejected::field("atRevision", message).into()
}

/// Whether the one event of a change had been stored before.
fn is_replay(done: &Done) -> bool {
    done.events.iter().any(|event| event.replayed)
}

impl Service {
    pub fn new(store: Arc<dyn Store>, clock: Arc<dyn Clock>, limits: Limits, metrics: Arc<Metrics>) -> Self {
        Self { store, clock, limits, metrics, to_sweep: Notify::new() }
    }

    pub fn limits(&self) -> &Limits {
        &self.limits
    }

    /// Whether requests can be served: the database answers and is migrated.
    ///
    /// # Errors
    /// Only [`Error::Store`]: they cannot.
    pub async fn ready(&self, deadline: Instant) -> Result<()> {
        Ok(self.store.check(deadline).await?)
    }

    /// Creates a session under `id`, a given or a fresh one; whether it was created or found, and the session. It remembers
    /// `request`.
    ///
    /// # Errors
    /// `SessionAlreadyExists`, or `RevisionMismatch`, if it exists and is not to be returned; `CreationKeyConflict`;
    /// `EventIdConflict` and `RevisionMismatch` within the events.
    pub async fn create_session(
        &self,
        user: UserKey,
        id: Option<SessionId>,
        draft: SessionDraft,
        request: Option<RequestKey>,
        if_exists: IfExists,
        deadline: Instant,
    ) -> Result<(Made, SessionView)> {
        let now = self.clock.now();
        let session = match id.or(draft.session_id) {
            Some(id) => id,
            None => self.fresh(SessionId::parse)?,
        };
        let creation = Arc::new(Creation {
            key: SessionKey { user, session },
            incarnation: self.clock.incarnation(),
            now,
            state: draft.state,
            events: self.seal(draft.events.into_iter().filter(|event| event.partial.is_none()), now)?,
            display_name: draft.display_name,
            labels: draft.labels,
            expiry: draft.expiry,
            request,
            if_exists,
            limits: self.limits,
        });
        let (outcome, repeated) =
            self.transact(Repeat::Safe, deadline, || self.store.create(&creation, deadline)).await?;
        match outcome {
            CreateOutcome::Created(view) => {
                self.metrics.appended(usize::try_from(view.head.revision).unwrap_or(0));
                Ok((Made::New, view))
            }
            CreateOutcome::Existing(view) => Ok((Made::Found, view)),
            CreateOutcome::Replayed(view) => Ok((Made::Before, view)),
            CreateOutcome::KeyConflict => Err(self.refusal(Error::CreationKeyConflict, repeated)),
            CreateOutcome::AlreadyExists => Err(self.refusal(Error::SessionAlreadyExists, repeated)),
            CreateOutcome::Refused(refusal) => Err(self.refusal(refusal.into(), repeated)),
        }
    }

    /// The session with what `state` and `events` ask for.
    ///
    /// # Errors
    /// `SessionNotFound`.
    pub async fn session(
        &self,
        key: SessionKey,
        state: Option<StateFilter>,
        events: Option<EventQuery>,
        deadline: Instant,
    ) -> Result<SessionView> {
        self.view(key, None, state, events, deadline).await
    }

    async fn view(
        &self,
        key: SessionKey,
        of: Option<&SessionInfo>,
        state: Option<StateFilter>,
        events: Option<EventQuery>,
        deadline: Instant,
    ) -> Result<SessionView> {
        let (incarnation, timeline) = (of.map(|head| head.incarnation), of.map(|head| head.timeline));
        let query = SessionQuery { key, now: self.clock.now(), incarnation, timeline, state, events };
        self.read(deadline, || self.store.session(&query, deadline)).await?.ok_or(Error::SessionNotFound)
    }

    /// Events of a session that was read before, as of now.
    ///
    /// # Errors
    /// `SessionNotFound` if it is gone, a session of another incarnation took its place, or the database has failed over.
    pub async fn events_of(&self, head: &SessionInfo, events: EventQuery, deadline: Instant) -> Result<SessionView> {
        self.view(head.key.clone(), Some(head), None, Some(events), deadline).await
    }

    /// The head alone: revisions and metadata.
    ///
    /// # Errors
    /// `SessionNotFound`.
    pub async fn head(&self, key: &SessionKey, deadline: Instant) -> Result<SessionInfo> {
        Ok(self.session(key.clone(), None, None, deadline).await?.head)
    }

    /// A page of sessions, without events.
    ///
    /// # Errors
    /// Only [`Error::Store`].
    pub async fn list_sessions(&self, query: ListQuery, deadline: Instant) -> Result<Page<SessionView>> {
        let now = self.clock.now();
        self.read(deadline, || self.store.sessions(&query, now, deadline)).await
    }

    /// Names of apps, in byte order, after `after`.
    ///
    /// # Errors
    /// Only [`Error::Store`].
    pub async fn apps(&self, after: &str, limit: usize, deadline: Instant) -> Result<Vec<AppName>> {
        self.read(deadline, || self.store.apps(after, limit, deadline)).await
    }

    /// Names of an app's users, in byte order, after `after`.
    ///
    /// # Errors
    /// Only [`Error::Store`].
    pub async fn users(&self, app: &AppName, after: &str, limit: usize, deadline: Instant) -> Result<Vec<UserId>> {
        self.read(deadline, || self.store.users(app, after, limit, deadline)).await
    }

    /// Changes metadata; the answer is the session with the first of its events.
    ///
    /// # Errors
    /// `SessionNotFound`, `RevisionMismatch`.
    pub async fn update_metadata(
        &self,
        key: SessionKey,
        patch: MetadataPatch,
        if_match: Option<IfMatch>,
        deadline: Instant,
    ) -> Result<SessionView> {
        let update = MetadataUpdate { key, patch, if_match, now: self.clock.now() };
        // Repeated even if unclear: fields are set, not computed, and of two PATCHes under way at once either may be
        // the last.
        let (outcome, repeated) =
            self.transact(Repeat::Safe, deadline, || self.store.update_metadata(&update, deadline)).await?;
        match outcome {
            UpdateOutcome::Done(view) => Ok(view),
            UpdateOutcome::SessionNotFound => Err(self.refusal(Error::SessionNotFound, repeated)),
            UpdateOutcome::RevisionMismatch(mismatch) => Err(self.refusal(Error::RevisionMismatch(mismatch), repeated)),
        }
    }

    /// Deletes a session; that there is none is fine.
    ///
    /// # Errors
    /// `RevisionMismatch`.
    pub async fn delete_session(&self, key: SessionKey, if_match: Option<IfMatch>, deadline: Instant) -> Result<()> {
        // The incarnation that is there now, and no later one: a try after a lost answer must not take away what
        // somebody made anew meanwhile.
        let incarnation = match self.head(&key, deadline).await {
            Ok(head) => head.incarnation,
            Err(Error::SessionNotFound) => return Ok(()),
            Err(error) => return Err(error),
        };
        let deletion = Deletion { key, incarnation, if_match };
        let (outcome, repeated) =
            self.transact(Repeat::Safe, deadline, || self.store.delete(&deletion, deadline)).await?;
        match outcome {
            DeleteOutcome::Done => {
                self.to_sweep.notify_one();
                Ok(())
            }
            DeleteOutcome::RevisionMismatch(mismatch) => Err(self.refusal(Error::RevisionMismatch(mismatch), repeated)),
        }
    }

    /// Appends events, all or none. Partial ones are answered and not stored.
    ///
    /// # Errors
    /// `SessionNotFound`, `EventIdConflict`, `RevisionMismatch`.
    pub async fn append(
        &self,
        key: SessionKey,
        drafts: Vec<EventDraft>,
        if_match: Option<IfMatch>,
        deadline: Instant,
    ) -> Result<Appended> {
        let now = self.clock.now();
        let (partial, complete): (Vec<_>, Vec<_>) =
            drafts.into_iter().enumerate().partition(|(_, draft)| draft.partial.is_some());
        let places: Vec<usize> = complete.iter().map(|(n, _)| *n).collect();
        let events = self.seal(complete.into_iter().map(|(_, draft)| draft), now)?;
        let append =
            Append { key, events, if_match, only_if_present: None, limits: self.limits, now, with_state: false };
        let done = if append.events.is_empty() {
            let tag = self.head(&append.key, deadline).await?.tag();
            if append.if_match.as_ref().is_some_and(|if_match| !if_match.holds(&tag)) {
                return Err(Error::RevisionMismatch(Mismatch::of_session(&tag, Vec::new())));
            }
            Done { events: Vec::new(), tag }
        } else {
            self.commit(append, deadline).await?.0
        };
        let stored = done.events.into_iter().map(|a| Answered::Stored { event: a.event, replayed: a.replayed });
        let partial =
            partial.into_iter().filter_map(|(n, draft)| draft.partial.map(|given| (n, Answered::Partial(given))));
        let mut events: Vec<(usize, Answered)> = places.into_iter().zip(stored).chain(partial).collect();
        events.sort_by_key(|(n, _)| *n);
        Ok(Appended { events: events.into_iter().map(|(_, answered)| answered).collect(), tag: done.tag })
    }

    /// One event, with its session's head.
    ///
    /// # Errors
    /// `SessionNotFound`, `EventNotFound`.
    pub async fn event(&self, key: &SessionKey, id: &EventId, deadline: Instant) -> Result<(SessionInfo, StoredEvent)> {
        let now = self.clock.now();
        let found = self.read(deadline, || self.store.event(key, id, now, deadline)).await?;
        let (head, event) = found.ok_or(Error::SessionNotFound)?;
        Ok((head, event.ok_or(Error::EventNotFound)?))
    }

    /// One value of the merged state, with its session's head.
    ///
    /// # Errors
    /// `SessionNotFound`, `StateKeyNotFound` (always for a `temp:` key: none is ever stored).
    pub async fn value(&self, key: &SessionKey, state_key: &str, deadline: Instant) -> Result<(SessionInfo, RawJson)> {
        let Some((scope, stored)) = scope::split(state_key) else {
            self.head(key, deadline).await?;
            return Err(Error::StateKeyNotFound);
        };
        let now = self.clock.now();
        let found = self.read(deadline, || self.store.value(key, scope, stored, now, deadline)).await?;
        let (head, value) = found.ok_or(Error::SessionNotFound)?;
        Ok((head, value.ok_or(Error::StateKeyNotFound)?))
    }

    /// A template filled in with the merged state, and the tag of the moment that it shows.
    ///
    /// # Errors
    /// `SessionNotFound`; `Rejected` as [`Template::render`] has it, with the limit of a page.
    pub async fn render(
        &self,
        key: SessionKey,
        template: &Template<'_>,
        missing: Missing,
        deadline: Instant,
    ) -> Result<(Tag, String)> {
        let filter = StateFilter::keys(template.keys().iter().copied());
        let view = self.session(key, Some(filter), None, deadline).await?;
        let state = view.state.unwrap_or_default();
        let text = template.render(Json::trusted(&state), missing, self.limits.page_bytes)?;
        Ok((view.head.tag(), text))
    }

    /// Changes state through one appended event, of whose `actions` `delta` is the `stateDelta`; whether it was a replay,
    /// and the merged state afterwards.
    ///
    /// # Errors
    /// As [`Service::append`], and what is wrong with the parts.
    pub async fn patch_state(
        &self,
        delta: Option<Json<'_>>,
        others: &[(&str, Json<'_>)],
        change: StateChange<'_>,
        deadline: Instant,
    ) -> Result<(bool, SessionView)> {
        let others: Vec<_> = others.iter().map(|(name, value)| (*name, value.text())).collect();
        let append = Append { with_state: true, ..self.carry(change, delta.map(Json::text), &others, None)? };
        let (done, view) = self.commit(append, deadline).await?;
        Ok((is_replay(&done), view.ok_or(Error::SessionNotFound)?))
    }

    /// Sets one key of the merged state through an appended event: whether it was a replay, the tag afterwards, and
    /// the value as the event holds it, which for a replay may be written otherwise than in this request.
    ///
    /// # Errors
    /// As [`Service::append`].
    pub async fn put_value(
        &self,
        state_key: &str,
        value: Json<'_>,
        change: StateChange<'_>,
        deadline: Instant,
    ) -> Result<(bool, Tag, RawJson)> {
        let mut delta = ObjectText::default();
        delta.push(state_key, value.text());
        let append = self.carry(change, Some(&delta.close()), &[], None)?;
        let (done, _) = self.commit(append, deadline).await?;
        let stored = done.events.first().and_then(|appended| {
            let event = Json::trusted(&appended.event.body);
            Some(event.get("actions")?.get("stateDelta")?.get(state_key)?.to_raw())
        });
        Ok((is_replay(&done), done.tag, stored.unwrap_or_else(|| value.to_raw())))
    }

    /// Removes one key of the merged state through an appended event, or does nothing if it is not there.
    ///
    /// # Errors
    /// As [`Service::append`].
    pub async fn delete_value(
        &self,
        state_key: &str,
        change: StateChange<'_>,
        deadline: Instant,
    ) -> Result<(bool, Tag)> {
        let mut op = ObjectText::default();
        op.push_str("op", "remove");
        op.push_str("key", state_key);
        let ops = format!("[{}]", op.close());
        let append = self.carry(change, None, &[("stateOps", &ops)], scope::split(state_key))?;
        let (done, _) = self.commit(append, deadline).await?;
        Ok((is_replay(&done), done.tag))
    }

    /// Appends, the first time together with others.
    async fn commit(&self, append: Append, deadline: Instant) -> Result<(Done, Option<SessionView>)> {
        let append = Arc::new(append);
        let (AppendOutcome { outcome, view }, repeated) = self
            .transact_try(Repeat::Safe, deadline, |first| {
                let sharing = if first { Sharing::Group } else { Sharing::Alone };
                self.store.append(&append, sharing, deadline)
            })
            .await?;
        Ok((self.done(outcome, &append, repeated)?, view))
    }

    /// App or user state on its own.
    ///
    /// # Errors
    /// Only [`Error::Store`].
    pub async fn scope(&self, scope: &ScopeKey, deadline: Instant) -> Result<ScopeView> {
        self.read(deadline, || self.store.scope(scope, deadline)).await
    }

    /// Changes app or user state on its own; whether it was a replay, and the scope as it is then. There is no event and so
    /// no event id: without a `request` to recognise it by, if the answer to the commit is lost, the error says that the
    /// outcome is unknown, and the client decides.
    ///
    /// # Errors
    /// `RevisionMismatch`, `PatchKeyConflict`.
    pub async fn write_scope(
        &self,
        scope: ScopeKey,
        edit: Edit,
        if_match: Option<IfMatch>,
        request: Option<RequestKey>,
        deadline: Instant,
    ) -> Result<(bool, ScopeView)> {
        let repeat = if request.is_some() { Repeat::Safe } else { Repeat::UnlessUnclear };
        let write = ScopeWrite { scope, edit, if_match, request, limits: self.limits, now: self.clock.now() };
        let (outcome, repeated) = self.transact(repeat, deadline, || self.store.write_scope(&write, deadline)).await?;
        match outcome {
            ScopeOutcome::Done(view) => Ok((false, view)),
            // Found by a second try of ours after a lost answer to the first: for the client, it is new.
            ScopeOutcome::Replayed(view) => Ok((!repeated, view)),
            ScopeOutcome::KeyConflict => Err(self.refusal(Error::PatchKeyConflict, repeated)),
            ScopeOutcome::Refused(refusal) => Err(self.refusal(refusal.into(), repeated)),
        }
    }

    /// The merged state as it was when event `revision` had committed (0: at creation), and the tag of that moment.
    ///
    /// # Errors
    /// `SessionNotFound`; `Rejected` if the session has not come to that revision.
    pub async fn state_at(
        &self,
        key: SessionKey,
        revision: i64,
        filter: StateFilter,
        deadline: Instant,
    ) -> Result<(Tag, String)> {
        let query = MomentQuery { key, revision, filter, now: self.clock.now() };
        match self.read(deadline, || self.store.moment(&query, deadline)).await? {
            Moment::Then { tag, state } => Ok((tag, state)),
            Moment::SessionNotFound => Err(Error::SessionNotFound),
            Moment::Beyond(revision) => Err(beyond(revision)),
        }
    }

    /// Creates a session that has the past of another one, up to `at` or all of it, under `id` or a fresh one. It remembers
    /// `request`.
    ///
    /// # Errors
    /// `SessionNotFound`, `SessionAlreadyExists`, `CreationKeyConflict`; `Rejected` if the source has not come to `at`.
    pub async fn fork(
        &self,
        source: SessionKey,
        at: Option<i64>,
        id: Option<SessionId>,
        request: Option<RequestKey>,
        deadline: Instant,
    ) -> Result<(Made, SessionView)> {
        let session = match id {
            Some(id) => id,
            None => self.fresh(SessionId::parse)?,
        };
        let (incarnation, now) = (self.clock.incarnation(), self.clock.now());
        let fork = Fork { source, at, session, incarnation, request, now };
        let (outcome, repeated) = self.transact(Repeat::Safe, deadline, || self.store.fork(&fork, deadline)).await?;
        match outcome {
            ForkOutcome::Created(view) => Ok((Made::New, view)),
            ForkOutcome::Replayed(view) => Ok((Made::Before, view)),
            ForkOutcome::KeyConflict => Err(self.refusal(Error::CreationKeyConflict, repeated)),
            ForkOutcome::AlreadyExists => Err(self.refusal(Error::SessionAlreadyExists, repeated)),
            ForkOutcome::SessionNotFound => Err(self.refusal(Error::SessionNotFound, repeated)),
            ForkOutcome::Beyond(revision) => Err(self.refusal(beyond(revision), repeated)),
        }
    }

    /// Appends an event that restores the session's own state and takes events back; the session, and whether it was a
    /// replay. `id` is that of the event.
    ///
    /// # Errors
    /// `SessionNotFound`, `InvocationNotFound`, `EventIdConflict`, `RevisionMismatch`;
    /// `Rejected` if there is nothing to take back.
    pub async fn rewind(
        &self,
        key: SessionKey,
        target: RewindTarget,
        id: Option<EventId>,
        if_match: Option<IfMatch>,
        deadline: Instant,
    ) -> Result<(bool, SessionView)> {
        let event_id = match id {
            Some(id) => id,
            None => self.fresh(EventId::parse)?,
        };
        let invocation_id = format!("rewind-{}", self.clock.fresh_id());
        let now = self.clock.now();
        let request = RewindRequest { key, target, event_id, invocation_id, if_match, now };
        let (outcome, repeated) =
            self.transact(Repeat::Safe, deadline, || self.store.rewind(&request, deadline)).await?;
        match outcome {
            RewindOutcome::Done { view, replayed } => {
                // Found by a second try of ours after a lost answer to the first: for the client, it is new.
                let replayed = replayed && !repeated;
                if replayed {
                    self.metrics.replayed(1);
                } else {
                    self.metrics.appended(1);
                }
                Ok((replayed, view))
            }
            RewindOutcome::SessionNotFound => Err(self.refusal(Error::SessionNotFound, repeated)),
            RewindOutcome::InvocationNotFound => Err(self.refusal(Error::InvocationNotFound, repeated)),
            RewindOutcome::Refused(refusal) => Err(self.refusal(refusal.into(), repeated)),
        }
    }

    /// Removes what has expired or was deleted, now and then, and at once after a deletion. Runs until it is dropped.
    pub async fn sweep_forever(&self, interval: Duration, limit: Duration) {
        /// The pause after a sweep that failed: what is left to do does not wait for the next round.
        const PAUSE: Duration = Duration::from_secs(5);
        let mut agreed = None;
        loop {
            let swept = async {
                let agrees = self.compare_clocks(agreed, Instant::now() + limit).await?;
                agreed = Some(agrees);
                while self.store.sweep(self.clock.now(), agrees, Instant::now() + limit).await? {}
                Ok::<_, StoreError>(())
            };
            let pause = match swept.await {
                Ok(()) => interval,
                Err(error) => {
                    tracing::warn!(cause = ?error.cause, error = %error, "sweeping failed, and is tried again");
                    interval.min(PAUSE)
                }
            };
            tokio::select! {
                () = sleep(pause) => {}
                () = self.to_sweep.notified() => {}
            }
        }
    }

    /// Whether this process and the database agree on what time it is, as far as they can: one of them is wrong otherwise, and
    /// what a sweep removes is gone for good. `before` is what came of the last time; the log tells of changes.
    async fn compare_clocks(&self, before: Option<bool>, deadline: Instant) -> std::result::Result<bool, StoreError> {
        /// A file that nobody has written to for this long, or that seems to be from so far ahead.
        const DAY: i64 = 24 * 3600 * 1_000_000;
        let asked = self.clock.now();
        let theirs = match self.store.clock(deadline).await? {
            DatabaseClock::Own(theirs) => theirs,
            DatabaseClock::OfProcess(latest) => {
                let ahead = latest.map_or(0, |latest| asked.0.saturating_sub(latest.0));
                if before.is_none() && ahead.saturating_abs() > DAY {
                    tracing::warn!(
                        days = ahead / DAY,
                        "the clock is far from the time of the last write: if it is wrong, sessions are removed that have not expired, or kept that have"
                    );
                }
                return Ok(true);
            }
        };
        // The answer took its time, and was true at some moment of it.
        let skew = theirs.0 - theirs.0.clamp(asked.0, self.clock.now().0.max(asked.0));
        self.metrics.clock_skew(skew);
        let agrees = skew.abs() <= CLOCK_TOLERANCE;
        match (before, agrees) {
            (None | Some(true), false) => tracing::warn!(
                skew_seconds = skew / 1_000_000,
                "the clock of this process and that of the database differ: expired sessions are not removed"
            ),
            (Some(false), true) => tracing::info!("the clock of this process agrees with that of the database again"),
            _ => {}
        }
        Ok(agrees)
    }

    fn fresh<T>(&self, parse: impl FnOnce(&str) -> std::result::Result<T, &'static str>) -> Result<T> {
        parse(&self.clock.fresh_id().to_string())
            .map_err(|what| Error::Store(StoreError::new(Cause::Internal, format!("a fresh id {what}"))))
    }

    /// Completes events before the first try, so that every try appends the same ones.
    fn seal(&self, drafts: impl Iterator<Item = EventDraft>, now: Micros) -> Result<Vec<NewEvent>> {
        drafts
            .map(|draft| {
                let id = match &draft.id {
                    Some(id) => id.clone(),
                    None => self.fresh(EventId::parse)?,
                };
                Ok(draft.seal(id, now))
            })
            .collect()
    }

    /// The append of the event that carries a change of state.
    fn carry(
        &self,
        change: StateChange<'_>,
        delta: Option<&str>,
        others: &[(&str, &str)],
        only_if_present: Option<(scope::Scope, &str)>,
    ) -> Result<Append> {
        let StateChange { key, id, author, invocation_id, if_match, if_absent } = change;
        let absent = if_absent.and_then(scope::split).map(|(scope, key)| Precondition {
            scope,
            key: key.into(),
            condition: Condition::Exists(false),
        });
        let text = carrier(id.as_ref(), author, invocation_id, delta, others);
        // The client's limits speak of what it sent: the value, or the body.
        let limits = Limits { event_bytes: usize::MAX, ..self.limits };
        let draft = EventDraft::parse(Json::trusted(&text), "", None, &limits).map_err(outside_of_event)?;
        let now = self.clock.now();
        let mut events = self.seal(std::iter::once(draft), now)?;
        for event in &mut events {
            // The client wrote these parts at the top of its body.
            event.edit.pointer = "".into();
            // As `if_match`, it is no part of the event.
            event.edit.preconditions.extend(absent.clone());
        }
        let only_if_present = only_if_present.map(|(scope, key)| (scope, key.into()));
        Ok(Append { key, events, if_match, only_if_present, limits, now, with_state: false })
    }

    fn done(&self, outcome: Outcome, append: &Append, repeated: bool) -> Result<Done> {
        match outcome {
            Outcome::Done(mut done) => {
                for event in &mut done.events {
                    // Found by a second try of ours after a lost answer to the first: for the client, it is new.
                    event.replayed &= !(repeated && event.event.commit_time == append.now);
                }
                let replayed = done.events.iter().filter(|event| event.replayed).count();
                self.metrics.replayed(replayed);
                self.metrics.appended(done.events.len() - replayed);
                Ok(done)
            }
            Outcome::SessionNotFound => Err(self.refusal(Error::SessionNotFound, repeated)),
            // The session has an event of this id, and events stay. So an earlier try, which writes all of its events or
            // none, changed nothing of it. If the session was made anew meanwhile, only shared state could tell.
            Outcome::Refused(Refusal::EventIdConflict) if append.scopes().is_empty() => Err(Error::EventIdConflict),
            Outcome::Refused(refusal) => Err(self.refusal(refusal.into(), repeated)),
        }
    }

    /// What to answer when a transaction refuses. After a try whose outcome is open it may refuse because of what
    /// that one did, or what others did on top of it: then all that is known is that the outcome is not.
    fn refusal(&self, error: Error, repeated: bool) -> Error {
        if !repeated {
            return error;
        }
        self.metrics.unknown_outcome();
        let refused = StoreError::new(Cause::ConnectionLost, format!("after an unclear commit: {error}"));
        Error::Store(refused.after_unclear(true))
    }

    async fn read<'a, T>(
        &'a self,
        deadline: Instant,
        read: impl Fn() -> BoxFuture<'a, std::result::Result<T, StoreError>>,
    ) -> Result<T> {
        Ok(self.transact(Repeat::Safe, deadline, read).await?.0)
    }

    /// Runs a transaction, again if it failed for a passing reason: bounded in number and by the deadline, with
    /// growing, jittered pauses. The flag tells that an earlier try may have committed.
    ///
    /// # Errors
    /// The last failure; unclear if any try was.
    async fn transact<'a, T>(
        &self,
        repeat: Repeat,
        deadline: Instant,
        run: impl Fn() -> BoxFuture<'a, std::result::Result<T, StoreError>>,
    ) -> Result<(T, bool)> {
        self.transact_try(repeat, deadline, |_| run()).await
    }

    /// [`Service::transact`] of what is told whether it is its first try.
    async fn transact_try<'a, T>(
        &self,
        repeat: Repeat,
        deadline: Instant,
        run: impl Fn(bool) -> BoxFuture<'a, std::result::Result<T, StoreError>>,
    ) -> Result<(T, bool)> {
        let mut unclear = false;
        let mut pause = FIRST_PAUSE;
        let mut tries = 1;
        loop {
            let error = match run(tries == 1).await {
                Ok(value) => return Ok((value, unclear)),
                Err(error) => error,
            };
            unclear |= error.unclear;
            let may_repeat = error.is_transient() && (repeat == Repeat::Safe || !unclear);
            let wait = self.clock.jitter(pause);
            if !may_repeat || tries == MAX_TRIES || Instant::now() + wait >= deadline {
                if unclear {
                    self.metrics.unknown_outcome();
                }
                return Err(Error::Store(error.after_unclear(unclear)));
            }
            self.metrics.retried(if error.unclear { "unclear_commit" } else { error.cause.name() });
            sleep(wait).await;
            pause = (pause * 2).min(LONGEST_PAUSE);
            tries += 1;
        }
    }
}
