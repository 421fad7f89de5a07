//! What appends do: a pure decision over what the store loaded under lock.
//!
//! A store does three things with a batch: it loads the [`Heads`] that [`needs`] names, under lock and in that
//! order; it asks [`decide`] about each append in turn; it applies the [`Writes`]. So the two databases cannot
//! drift apart, and every rule is tested here without either.
//!
//! The invariant that `decide` keeps: folding the events' changes over the initial state, in sequence order,
//! gives the session's state.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::event::{NewEvent, StoredEvent};
use super::ids::{AppName, EventId, SessionKey, UserKey};
use super::json::RawJson;
use super::scope::{Change, Scope};
use super::session::Creation;
use super::tag::{IfMatch, Tag};
use super::time::{Micros, Timestamp};

/// Events for one session: all of them are appended, or none.
#[derive(Debug)]
pub struct Append {
    pub key: SessionKey,
    pub events: Vec<NewEvent>,
    pub if_match: Option<IfMatch>,
    /// A key without which there is nothing to do: removing what is not there appends no event.
    pub only_if_present: Option<(Scope, Box<str>)>,
}

impl Append {
    fn touches(&self, scope: Scope) -> bool {
        self.events.iter().any(|event| touches(&event.changes, scope))
    }

    /// Whether the scope's row must be held until the commit: it is written, or the precondition speaks of it.
    /// Without the second, two writers of different scopes could each miss the other's change.
    fn holds(&self, scope: Scope) -> bool {
        self.touches(scope) || self.if_match.as_ref().is_some_and(IfMatch::looks_at_scopes)
    }
}

fn touches(changes: &[Change], scope: Scope) -> bool {
    changes.iter().any(|change| change.scope == scope)
}

/// A key in a scope of its owner.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum StateAddress {
    Session(SessionKey, Box<str>),
    User(UserKey, Box<str>),
    App(AppName, Box<str>),
}

impl StateAddress {
    pub fn new(session: &SessionKey, scope: Scope, key: &str) -> Self {
        match scope {
            Scope::Session => Self::Session(session.clone(), key.into()),
            Scope::User => Self::User(session.user.clone(), key.into()),
            Scope::App => Self::App(session.app().clone(), key.into()),
        }
    }
}

/// What must be loaded before a batch can be decided, in the order in which rows are locked.
#[derive(Debug, Default)]
pub struct Needs<'a> {
    /// Locked, always.
    pub sessions: BTreeSet<&'a SessionKey>,
    /// Scope rows, and whether to lock them.
    pub users: BTreeMap<&'a UserKey, bool>,
    pub apps: BTreeMap<&'a AppName, bool>,
    /// Event ids to look up.
    pub events: BTreeSet<(&'a SessionKey, &'a EventId)>,
    /// State keys whose presence matters.
    pub keys: BTreeSet<StateAddress>,
}

/// Names what deciding `batch` takes.
pub fn needs(batch: &[Append]) -> Needs<'_> {
    let mut needs = Needs::default();
    for append in batch {
        needs.sessions.insert(&append.key);
        *needs.users.entry(&append.key.user).or_default() |= append.holds(Scope::User);
        *needs.apps.entry(append.key.app()).or_default() |= append.holds(Scope::App);
        needs.events.extend(append.events.iter().map(|event| (&append.key, &event.id)));
        needs
            .keys
            .extend(append.only_if_present.as_ref().map(|(scope, key)| StateAddress::new(&append.key, *scope, key)));
    }
    needs
}

/// A live session, as locked.
#[derive(Debug, Clone, Copy)]
pub struct Locked {
    pub incarnation: i64,
    pub revision: i64,
    pub metadata_revision: i64,
}

/// An event that the session already has.
#[derive(Debug, Clone)]
pub struct Known {
    pub digest: [u8; 32],
    pub timestamp: Micros,
    pub event: StoredEvent,
}

/// What the store loaded. `decide` carries it forward, so that each append of a batch sees those before it.
#[derive(Debug, Default)]
pub struct Heads {
    /// Sessions that exist and have not expired.
    pub sessions: HashMap<SessionKey, Locked>,
    /// Revisions of shared scopes; absent is 0.
    pub users: HashMap<UserKey, i64>,
    pub apps: HashMap<AppName, i64>,
    pub known: HashMap<SessionKey, HashMap<EventId, Known>>,
    /// Which of the needed keys exist.
    pub present: BTreeSet<StateAddress>,
}

/// A row of the event log.
#[derive(Debug)]
pub struct EventRow<'a> {
    pub key: &'a SessionKey,
    pub incarnation: i64,
    pub sequence: i64,
    /// Revisions of the shared scopes once this transaction had changed them: what the event saw.
    pub user_revision: i64,
    pub app_revision: i64,
    pub commit_time: Micros,
    pub event: &'a NewEvent,
}

/// The row of a session after the batch.
#[derive(Debug)]
pub struct SessionUpdate<'a> {
    pub incarnation: i64,
    pub revision: i64,
    pub update_time: &'a Timestamp,
}

/// A state row after the batch: its value (`None`: gone) and the revision that wrote it last.
#[derive(Debug, Clone, Copy)]
pub struct StateWrite<'a> {
    pub value: Option<&'a RawJson>,
    pub revision: i64,
}

/// Everything that a batch changes, each row once, in key order.
#[derive(Debug, Default)]
pub struct Writes<'a> {
    pub events: Vec<EventRow<'a>>,
    pub sessions: BTreeMap<&'a SessionKey, SessionUpdate<'a>>,
    pub users: BTreeMap<&'a UserKey, i64>,
    pub apps: BTreeMap<&'a AppName, i64>,
    pub session_state: BTreeMap<(&'a SessionKey, i64, &'a str), StateWrite<'a>>,
    pub user_state: BTreeMap<(&'a UserKey, &'a str), StateWrite<'a>>,
    pub app_state: BTreeMap<(&'a AppName, &'a str), StateWrite<'a>>,
}

impl Writes<'_> {
    pub fn is_empty(&self) -> bool {
        self.events.is_empty()
    }
}

/// What one append came to.
#[derive(Debug, Clone, PartialEq)]
pub enum Outcome {
    Done(Done),
    SessionNotFound,
    /// The session has this event id with other content.
    EventIdConflict,
    /// The precondition failed; the revision is the current one.
    RevisionMismatch {
        revision: i64,
    },
}

#[derive(Debug, Clone, PartialEq)]
pub struct Done {
    /// In request order; empty if there was nothing to do.
    pub events: Vec<Appended>,
    /// The moment after the append.
    pub tag: Tag,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Appended {
    pub event: StoredEvent,
    /// It had been stored before: nothing was applied.
    pub replayed: bool,
}

/// Decides one append: its outcome, and what to write.
///
/// Idempotency comes before the precondition, so that the retry of a success succeeds. Each fresh event takes the
/// next sequence number; a shared scope's revision grows by one per append that changes it.
pub fn decide<'a>(heads: &mut Heads, append: &'a Append, now: Micros, writes: &mut Writes<'a>) -> Outcome {
    let Some(&locked) = heads.sessions.get(&append.key) else {
        return Outcome::SessionNotFound;
    };
    let Some(plan) = plan(heads, append) else {
        return Outcome::EventIdConflict;
    };
    let mut tag = Tag {
        revision: locked.revision,
        user: heads.users.get(&append.key.user).copied().unwrap_or(0),
        app: heads.apps.get(append.key.app()).copied().unwrap_or(0),
        incarnation: locked.incarnation,
        metadata: locked.metadata_revision,
    };
    let fresh: Vec<&NewEvent> = plan.iter().filter_map(Planned::fresh).collect();
    let mut stored = Vec::new();
    if !fresh.is_empty() {
        if append.if_match.as_ref().is_some_and(|if_match| !if_match.holds(&tag)) {
            return Outcome::RevisionMismatch { revision: tag.revision };
        }
        if let Some((scope, key)) = &append.only_if_present
            && !heads.present.contains(&StateAddress::new(&append.key, *scope, key))
        {
            return Outcome::Done(Done { events: Vec::new(), tag });
        }
        stored = write(&append.key, &mut tag, &[], &fresh, now, writes);
        heads.sessions.insert(append.key.clone(), Locked { revision: tag.revision, ..locked });
        heads.users.insert(append.key.user.clone(), tag.user);
        heads.apps.insert(append.key.app().clone(), tag.app);
        for (event, stored) in fresh.iter().zip(&stored) {
            heads.known.entry(append.key.clone()).or_default().insert(event.id.clone(), known(event, stored));
            for change in &event.changes {
                let address = StateAddress::new(&append.key, change.scope, &change.key);
                match change.value {
                    Some(_) => heads.present.insert(address),
                    None => heads.present.remove(&address),
                };
            }
        }
    }
    let events = plan
        .into_iter()
        .filter_map(|planned| match planned {
            Planned::Known(event) => Some(Appended { event, replayed: true }),
            Planned::Fresh { at, .. } => stored.get(at).cloned().map(|event| Appended { event, replayed: false }),
            Planned::Repeat { at } => stored.get(at).cloned().map(|event| Appended { event, replayed: true }),
        })
        .collect();
    Outcome::Done(Done { events, tag })
}

fn known(event: &NewEvent, stored: &StoredEvent) -> Known {
    Known { digest: event.digest, timestamp: event.timestamp.micros, event: stored.clone() }
}

/// What becomes of one event of a request.
enum Planned<'a> {
    /// Stored before this request.
    Known(StoredEvent),
    /// To be stored, as the `at`th of the fresh ones.
    Fresh { at: usize, event: &'a NewEvent },
    /// The same as the `at`th fresh one, earlier in the same request.
    Repeat { at: usize },
}

impl<'a> Planned<'a> {
    fn fresh(&self) -> Option<&'a NewEvent> {
        match self {
            Self::Fresh { event, .. } => Some(event),
            _ => None,
        }
    }
}

/// Tells fresh events from retries; `None` if an id is taken by other content.
fn plan<'a>(heads: &Heads, append: &'a Append) -> Option<Vec<Planned<'a>>> {
    let stored = heads.known.get(&append.key);
    let mut seen: HashMap<&EventId, (usize, &NewEvent)> = HashMap::new();
    let mut plan = Vec::with_capacity(append.events.len());
    for event in &append.events {
        plan.push(if let Some(known) = stored.and_then(|known| known.get(&event.id)) {
            if !is_retry(event, &known.digest, known.timestamp) {
                return None;
            }
            Planned::Known(known.event.clone())
        } else if let Some(&(at, first)) = seen.get(&event.id) {
            if !is_retry(event, &first.digest, first.timestamp.micros) {
                return None;
            }
            Planned::Repeat { at }
        } else {
            let at = seen.len();
            seen.insert(&event.id, (at, event));
            Planned::Fresh { at, event }
        });
    }
    Some(plan)
}

/// Same content: the digests agree, and so does the timestamp, if the client claims one.
fn is_retry(event: &NewEvent, digest: &[u8; 32], timestamp: Micros) -> bool {
    event.digest == *digest && event.claimed_time.is_none_or(|claimed| claimed == timestamp)
}

/// Writes initial state and events of one session, carries `tag` forward, and returns the events as stored.
fn write<'a>(
    key: &'a SessionKey,
    tag: &mut Tag,
    initial: &'a [Change],
    events: &[&'a NewEvent],
    now: Micros,
    writes: &mut Writes<'a>,
) -> Vec<StoredEvent> {
    let changed = |scope| touches(initial, scope) || events.iter().any(|event| touches(&event.changes, scope));
    if changed(Scope::User) {
        tag.user += 1;
        writes.users.insert(&key.user, tag.user);
    }
    if changed(Scope::App) {
        tag.app += 1;
        writes.apps.insert(key.app(), tag.app);
    }
    change_state(key, tag, initial, writes);
    let mut stored = Vec::with_capacity(events.len());
    for event in events {
        tag.revision += 1;
        change_state(key, tag, &event.changes, writes);
        writes.events.push(EventRow {
            key,
            incarnation: tag.incarnation,
            sequence: tag.revision,
            user_revision: tag.user,
            app_revision: tag.app,
            commit_time: now,
            event,
        });
        stored.push(StoredEvent { sequence: tag.revision, commit_time: now, body: event.body.clone() });
    }
    if let Some(last) = events.last() {
        writes.sessions.insert(
            key,
            SessionUpdate { incarnation: tag.incarnation, revision: tag.revision, update_time: &last.timestamp },
        );
    }
    stored
}

fn change_state<'a>(key: &'a SessionKey, tag: &Tag, changes: &'a [Change], writes: &mut Writes<'a>) {
    for change in changes {
        let value = change.value.as_ref();
        match change.scope {
            Scope::Session => {
                let write = StateWrite { value, revision: tag.revision };
                writes.session_state.insert((key, tag.incarnation, &change.key), write);
            }
            Scope::User => {
                let write = StateWrite { value, revision: tag.user };
                writes.user_state.insert((&key.user, &change.key), write);
            }
            Scope::App => {
                let write = StateWrite { value, revision: tag.app };
                writes.app_state.insert((key.app(), &change.key), write);
            }
        }
    }
}

/// What a creation comes to, given the revisions of the shared scopes under lock.
#[derive(Debug)]
pub struct Created<'a> {
    pub writes: Writes<'a>,
    pub tag: Tag,
}

/// Which shared scopes a creation writes, and so must lock: user, app.
pub fn creation_holds(creation: &Creation) -> (bool, bool) {
    let changes = |scope| touches(&creation.state, scope) || creation.events.iter().any(|e| touches(&e.changes, scope));
    (changes(Scope::User), changes(Scope::App))
}

/// Decides the creation of a session that does not exist.
///
/// # Errors
/// The first event id that the creation itself uses for two contents.
pub fn decide_creation(
    creation: &Creation,
    user_revision: i64,
    app_revision: i64,
) -> Result<Created<'_>, EventIdConflict> {
    let mut fresh: Vec<&NewEvent> = Vec::with_capacity(creation.events.len());
    let mut seen: HashMap<&EventId, &NewEvent> = HashMap::new();
    for event in &creation.events {
        match seen.get(&event.id) {
            Some(first) if is_retry(event, &first.digest, first.timestamp.micros) => {}
            Some(_) => return Err(EventIdConflict),
            None => {
                seen.insert(&event.id, event);
                fresh.push(event);
            }
        }
    }
    let mut tag =
        Tag { revision: 0, user: user_revision, app: app_revision, incarnation: creation.incarnation, metadata: 0 };
    let mut writes = Writes::default();
    write(&creation.key, &mut tag, &creation.state, &fresh, creation.now, &mut writes);
    Ok(Created { writes, tag })
}

/// One event id, two contents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EventIdConflict;
