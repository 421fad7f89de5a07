//! The promises of a database to the service ([`Store`]), method by method, on each database. The tests do not depend
//! on which one it is: a new database is a new [`Place`].
//!
//! The contract tests cover most of this through HTTP. These tests cover outcomes that a client cannot distinguish,
//! such as a second try of a write whose answer was lost, and races of single transactions, without the service's
//! retries.

pub mod access;
mod append;
mod change;
mod commits;
mod create;
mod functions;
mod lease;
mod past;
mod read;
mod upkeep;

use std::fmt::Debug;
use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;
use sessiond::domain::Limits;
use sessiond::domain::append::{Append, Done};
use sessiond::domain::change::{Edit, Keys, parse_delta, parse_ops, parse_preconditions};
use sessiond::domain::command::{AppendAnswer, Deletion, Made};
use sessiond::domain::event::{EventDraft, NewEvent};
use sessiond::domain::guard::Guard;
use sessiond::domain::ids::{AppName, EventId, IdempotencyKey, ScopeKey, SessionId, SessionKey, UserId, UserKey};
use sessiond::domain::json::Json;
use sessiond::domain::query::{EventQuery, ScopePart, ScopeView, SessionQuery, SessionView, StateFilter};
use sessiond::domain::refusal::{Mismatch, Refusal};
use sessiond::domain::request_key::RequestKey;
use sessiond::domain::scope::Scope;
use sessiond::domain::scope_write::ScopeWrite;
use sessiond::domain::session::{Creation, IfExists, SessionDraft};
use sessiond::domain::shown::Shown;
use sessiond::domain::tag::IfMatch;
use sessiond::domain::time::Micros;
use sessiond::service::{Clock as _, SystemClock};
use sessiond::store::Store;
use sessiond::store::error::{Failure, StoreError};
use sessiond::store::limits::PostgresOptions;
use sessiond::store::limits::StoreLimits;
use sessiond::store::open;
use sessiond::store::run::together::Sharing;
use tokio::time::Instant;

use crate::support::databases::{Fixture, Place};

/// Limits so long that a slow machine never meets them.
const LIMITS: StoreLimits = StoreLimits {
    feed: Duration::ZERO,
    statement: Duration::from_secs(50),
    lock_wait: Duration::from_secs(50),
    acquire: Duration::from_secs(50),
    connections: 6,
};

/// A store on a database of its own, migrated.
pub struct TestStore {
    store: Arc<dyn Store>,
    place: Place,
}

impl Fixture for TestStore {
    async fn start(place: Place, flags: &[&str]) -> Self {
        assert!(flags.is_empty(), "a store has no command line");
        let store = Self::open(&place).await;
        store.migrate().await.unwrap();
        Self { store, place }
    }

    async fn stop(self) {
        self.store.close().await;
        self.place.finish().await;
    }
}

impl Deref for TestStore {
    type Target = Arc<dyn Store>;

    fn deref(&self) -> &Arc<dyn Store> {
        &self.store
    }
}

impl TestStore {
    async fn open(place: &Place) -> Arc<dyn Store> {
        open::database(&place.url(), PostgresOptions::default(), LIMITS).await.unwrap()
    }

    /// A second store on the database, as another process has it, if the database allows several; else the same one. It
    /// does not share the cache.
    async fn another(&self) -> Arc<dyn Store> {
        match self.place {
            Place::Postgres(_) => Self::open(&self.place).await,
            Place::Sqlite(_) => self.store.clone(),
        }
    }

    /// Creates a new session with this body.
    async fn make(&self, id: &str, body: &str) -> SessionView {
        created(self.create(&creation(id, body).into(), deadline()).await)
    }

    /// Appends to a session, as one event each.
    async fn add(&self, id: &str, events: &[&str]) -> Done {
        done(self.append(&append(id, events).into(), Sharing::Group, deadline()).await)
    }

    /// All that a session shows; `None` if it is not there.
    async fn shown(&self, id: &str) -> Option<SessionView> {
        self.session(&whole(id), deadline()).await.unwrap()
    }

    async fn revision(&self, id: &str) -> i64 {
        self.shown(id).await.unwrap().head.revision
    }

    /// Deletes what is there now.
    async fn remove(&self, id: &str) {
        let incarnation = self.shown(id).await.unwrap().head.incarnation;
        let deletion = Deletion { key: key(id), incarnation, guard: Guard::default(), now: now() };
        self.delete(&deletion, deadline()).await.unwrap();
    }

    async fn scope_of(&self, scope: &ScopeKey) -> ScopeView {
        self.scope(scope, &ScopePart::Whole, deadline()).await.unwrap()
    }
}

fn deadline() -> Instant {
    Instant::now() + Duration::from_secs(55)
}

fn now() -> Micros {
    SystemClock.now()
}

fn app() -> ScopeKey {
    ScopeKey::App(user().app)
}

fn of_user() -> ScopeKey {
    ScopeKey::User(user())
}

fn user() -> UserKey {
    UserKey { app: AppName::parse("app").unwrap(), user: UserId::parse("user").unwrap() }
}

fn key(id: &str) -> SessionKey {
    SessionKey { user: user(), session: SessionId::parse(id).unwrap() }
}

/// A session of another user of the app, or of another app.
fn key_of(app: &str, user: &str, id: &str) -> SessionKey {
    let user = UserKey { app: AppName::parse(app).unwrap(), user: UserId::parse(user).unwrap() };
    SessionKey { user, session: SessionId::parse(id).unwrap() }
}

fn parsed(text: &str) -> Json<'_> {
    Json::parse(text.as_bytes(), 64).unwrap()
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

/// A creation from the body that a client would send.
fn creation(id: &str, body: &str) -> Creation {
    let draft = SessionDraft::parse(parsed(body), false, &Limits::default()).unwrap();
    Creation {
        key: key(id),
        incarnation: SystemClock.incarnation(),
        now: now(),
        state: draft.state,
        events: draft.events.into_iter().map(sealed).collect(),
        display_name: draft.display_name,
        labels: draft.labels,
        expiry: draft.expiry,
        if_exists: IfExists::Refuse,
        request: None,
        shows: Shown::Full,
        limits: Limits::default(),
    }
}

fn sealed(draft: EventDraft) -> NewEvent {
    let id = draft.id.clone().unwrap_or_else(|| EventId::parse(&SystemClock.fresh_id().to_string()).unwrap());
    draft.seal(id, now())
}

fn append(id: &str, events: &[&str]) -> Append {
    let event = |text: &&str| sealed(EventDraft::parse(parsed(text), "", None, &Limits::default()).unwrap());
    Append {
        key: key(id),
        events: events.iter().map(event).collect(),
        guard: Guard::default(),
        only_if_present: None,
        limits: Limits::default(),
        now: now(),
        with_state: None,
        creates: None,
    }
}

/// A change of `stateDelta`, `stateOps` and `preconditions`, each of which may be missing.
fn scope_write(scope: ScopeKey, body: &str) -> ScopeWrite {
    let limits = Limits::default();
    let keys = Keys::Of(if matches!(scope, ScopeKey::App(_)) { Scope::App } else { Scope::User });
    let body = parsed(body);
    let field = |name: &str, none: &'static str| body.get(name).unwrap_or_else(|| parsed(none));
    let edit = Edit {
        preconditions: parse_preconditions(field("preconditions", "[]"), keys, "", &limits).unwrap(),
        sets: parse_delta(field("stateDelta", "{}"), keys, "", &limits).unwrap(),
        ops: parse_ops(field("stateOps", "[]"), keys, "", &limits).unwrap(),
    };
    ScopeWrite { scope, edit, if_match: None, request: None, shows: ScopePart::Whole, limits, now: now() }
}

/// The `Idempotency-Key` of a request that asks for `asks`.
fn request(name: &str, asks: &str) -> Option<RequestKey> {
    Some(RequestKey::new(IdempotencyKey::parse(name).unwrap(), [asks].into_iter(), None))
}

fn if_match(header: &str) -> Option<IfMatch> {
    Some(IfMatch::parse(header).unwrap())
}

fn head_alone(id: &str) -> SessionQuery {
    SessionQuery { key: key(id), now: now(), incarnation: None, timeline: None, state: None, events: None }
}

fn whole(id: &str) -> SessionQuery {
    SessionQuery { state: Some(StateFilter::default()), events: Some(EventQuery::all()), ..head_alone(id) }
}

fn state(view: &SessionView) -> Value {
    json(view.state.as_deref().unwrap_or_else(|| panic!("no state in {view:?}")))
}

/// The ids of the events that it shows, in their order.
fn events(view: &SessionView) -> Vec<String> {
    view.events.events.iter().map(|event| json(&event.body)["id"].as_str().unwrap().to_owned()).collect()
}

/// Of a session at this revision, and neither its state nor its events.
#[track_caller]
fn assert_head(view: &SessionView, revision: i64) {
    assert_eq!((view.head.revision, &view.state, view.events.events.len()), (revision, &None, 0));
}

/// The revisions of session, user and app.
fn revisions(view: &SessionView) -> (i64, i64, i64) {
    (view.head.revision, view.head.user_revision, view.head.app_revision)
}

/// Sequences with whether each had been stored before.
fn sequences(done: &Done) -> Vec<(i64, bool)> {
    done.events.iter().map(|appended| (appended.event.sequence, appended.replayed)).collect()
}

#[track_caller]
fn created(outcome: Result<(Made, SessionView), Failure>) -> SessionView {
    let (made, view) = outcome.unwrap();
    assert_eq!(made, Made::New);
    view
}

#[track_caller]
fn done(outcome: Result<AppendAnswer, Failure>) -> Done {
    outcome.unwrap().done
}

#[track_caller]
fn refused<T: Debug>(outcome: Result<T, Failure>) -> Refusal {
    match outcome {
        Err(Failure::Refused(refusal)) => refusal,
        other => panic!("{other:?}"),
    }
}

/// What a write is judged by that names this tag alone.
fn only_if(text: &str) -> Guard {
    Guard { if_match: if_match(text), ..Guard::default() }
}

/// A session precondition that failed as a whole, where the revisions were these.
fn mismatch(revision: i64, user: i64, app: i64) -> Refusal {
    Refusal::RevisionMismatch(Mismatch { revision, shared: Some((user, app)), failed: Vec::new() })
}

/// Tries again while a race is lost, as the service does. The call must be one that can be repeated.
async fn settled<T>(call: impl AsyncFn() -> Result<T, Failure>) -> Result<T, Failure> {
    loop {
        match call().await {
            Err(error) if error.is_transient() => tokio::task::yield_now().await,
            settled => return settled,
        }
    }
}
