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

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::domain::Limits;
    use crate::domain::event::EventDraft;
    use crate::domain::ids::{SessionId, UserId};
    use crate::domain::json::Json;
    use crate::domain::scope::parse_delta;
    use crate::domain::session::IfExists;

    const NOW: Micros = Micros(5_000_000);

    fn key(session: &str) -> SessionKey {
        let user = UserKey { app: AppName::parse("app").unwrap(), user: UserId::parse("user").unwrap() };
        SessionKey { user, session: SessionId::parse(session).unwrap() }
    }

    fn event(text: &str) -> NewEvent {
        let draft = EventDraft::parse(Json::trusted(text), "", None, &Limits::default()).unwrap();
        let id = draft.id.clone().unwrap();
        draft.seal(id, Micros(1_000_000))
    }

    fn append(session: &str, events: &[&str]) -> Append {
        let events = events.iter().map(|text| event(text)).collect();
        Append { key: key(session), events, if_match: None, only_if_present: None }
    }

    /// The heads of sessions `s` and `t`, at revision 7, with user revision 2 and app revision 3.
    fn heads() -> Heads {
        let mut heads = Heads::default();
        for (session, incarnation) in [("s", 1), ("t", 2)] {
            heads.sessions.insert(key(session), Locked { incarnation, revision: 7, metadata_revision: 0 });
        }
        heads.users.insert(key("s").user, 2);
        heads.apps.insert(key("s").user.app, 3);
        heads
    }

    fn done(outcome: Outcome) -> Done {
        match outcome {
            Outcome::Done(done) => done,
            other => panic!("{other:?}"),
        }
    }

    fn revisions(tag: &Tag) -> (i64, i64, i64) {
        (tag.revision, tag.user, tag.app)
    }

    fn sequences(done: &Done) -> Vec<(i64, bool)> {
        done.events.iter().map(|appended| (appended.event.sequence, appended.replayed)).collect()
    }

    #[test]
    fn a_session_that_is_not_there_is_not_found() {
        let append = append("none", &[r#"{"id":"a"}"#]);
        let mut writes = Writes::default();
        assert_eq!(decide(&mut heads(), &append, NOW, &mut writes), Outcome::SessionNotFound);
        assert!(writes.is_empty());
    }

    #[test]
    fn fresh_events_take_the_next_numbers_in_their_order() {
        let append = append("s", &[r#"{"id":"a","timestamp":9}"#, r#"{"id":"b","timestamp":4.50}"#]);
        let mut writes = Writes::default();
        let done = done(decide(&mut heads(), &append, NOW, &mut writes));
        assert_eq!(sequences(&done), [(8, false), (9, false)]);
        assert_eq!(revisions(&done.tag), (9, 2, 3));
        let rows: Vec<_> =
            writes.events.iter().map(|row| (row.sequence, row.incarnation, row.event.id.as_str())).collect();
        assert_eq!(rows, [(8, 1, "a"), (9, 1, "b")]);
        let update = &writes.sessions[&append.key];
        assert_eq!((update.revision, update.update_time.number.text()), (9, "4.50"));
        assert!(writes.users.is_empty() && writes.apps.is_empty());
        assert!(done.events.iter().all(|appended| appended.event.commit_time == NOW));
    }

    #[test]
    fn a_shared_scope_grows_by_one_however_many_events_change_it() {
        let deltas = [
            r#"{"id":"a","actions":{"stateDelta":{"user:x":1,"app:x":1,"k":1}}}"#,
            r#"{"id":"b","actions":{"stateDelta":{"user:x":2,"user:y":2}}}"#,
        ];
        let append = append("s", &deltas);
        let mut writes = Writes::default();
        let done = done(decide(&mut heads(), &append, NOW, &mut writes));
        assert_eq!(revisions(&done.tag), (9, 3, 4));
        // What each event saw is what the whole transaction made.
        assert!(writes.events.iter().all(|row| (row.user_revision, row.app_revision) == (3, 4)));
        let value = |write: &StateWrite<'_>| (write.value.map(|value| value.text().to_owned()), write.revision);
        assert_eq!(value(&writes.user_state[&(&append.key.user, "x")]), (Some("2".to_owned()), 3));
        assert_eq!(value(&writes.user_state[&(&append.key.user, "y")]), (Some("2".to_owned()), 3));
        assert_eq!(value(&writes.app_state[&(append.key.app(), "x")]), (Some("1".to_owned()), 4));
        assert_eq!(value(&writes.session_state[&(&append.key, 1, "k")]), (Some("1".to_owned()), 8));
    }

    #[test]
    fn a_retry_is_answered_with_what_is_stored_and_writes_nothing() {
        let first = append("s", &[r#"{"id":"a","timestamp":1,"author":"x"}"#]);
        let mut heads = heads();
        let mut writes = Writes::default();
        let stored = done(decide(&mut heads, &first, NOW, &mut writes));
        for retry in [r#"{"id":"a","timestamp":1.0,"author":"x"}"#, r#"{"author":"x","id":"a"}"#] {
            let mut retry = append("s", &[retry]);
            retry.if_match = Some(IfMatch::parse("\"7\"").unwrap());
            let mut writes = Writes::default();
            let again = done(decide(&mut heads, &retry, Micros(9), &mut writes));
            assert_eq!(again.events, [Appended { replayed: true, ..stored.events[0].clone() }]);
            assert_eq!(again.tag, stored.tag);
            assert!(writes.is_empty());
        }
    }

    #[test]
    fn other_content_or_another_time_under_a_known_id_is_a_conflict() {
        let first = append("s", &[r#"{"id":"a","timestamp":1,"author":"x"}"#]);
        let mut heads = heads();
        decide(&mut heads, &first, NOW, &mut Writes::default());
        for other in [r#"{"id":"a","author":"y"}"#, r#"{"id":"a","timestamp":2,"author":"x"}"#] {
            let other = append("s", &[r#"{"id":"fresh"}"#, other]);
            let mut writes = Writes::default();
            assert_eq!(decide(&mut heads, &other, NOW, &mut writes), Outcome::EventIdConflict);
            assert!(writes.is_empty());
        }
        // Ids belong to their session.
        let elsewhere = append("t", &[r#"{"id":"a","author":"y"}"#]);
        done(decide(&mut heads, &elsewhere, NOW, &mut Writes::default()));
    }

    #[test]
    fn the_same_event_twice_in_one_append_is_stored_once() {
        let same = append("s", &[r#"{"id":"a","author":"x"}"#, r#"{"id":"b"}"#, r#"{"author":"x","id":"a"}"#]);
        let mut writes = Writes::default();
        let done = done(decide(&mut heads(), &same, NOW, &mut writes));
        assert_eq!(sequences(&done), [(8, false), (9, false), (8, true)]);
        assert_eq!(writes.events.len(), 2);
        let other = append("s", &[r#"{"id":"a","author":"x"}"#, r#"{"id":"a"}"#]);
        assert_eq!(decide(&mut heads(), &other, NOW, &mut Writes::default()), Outcome::EventIdConflict);
    }

    #[test]
    fn a_conflict_comes_before_the_precondition_and_the_precondition_before_any_write() {
        let mut heads = heads();
        decide(&mut heads, &append("s", &[r#"{"id":"a"}"#]), NOW, &mut Writes::default());
        for (events, if_match, expected) in [
            (&[r#"{"id":"a","author":"y"}"#][..], "\"7\"", Outcome::EventIdConflict),
            (&[r#"{"id":"b"}"#], "\"7\"", Outcome::RevisionMismatch { revision: 8 }),
            (&[r#"{"id":"a"}"#, r#"{"id":"b"}"#], "\"7\"", Outcome::RevisionMismatch { revision: 8 }),
            (&[r#"{"id":"b"}"#], "\"8.2.4.1\"", Outcome::RevisionMismatch { revision: 8 }),
            (&[r#"{"id":"b"}"#], "\"8.2.3.2\"", Outcome::RevisionMismatch { revision: 8 }),
        ] {
            let append = Append { if_match: Some(IfMatch::parse(if_match).unwrap()), ..append("s", events) };
            let mut writes = Writes::default();
            assert_eq!(decide(&mut heads, &append, NOW, &mut writes), expected, "{events:?} {if_match}");
            assert!(writes.is_empty());
        }
        for (id, if_match) in [("c", "\"8\""), ("d", "\"9.2.3.1\""), ("e", "*")] {
            let text = format!(r#"{{"id":"{id}"}}"#);
            let append = Append { if_match: Some(IfMatch::parse(if_match).unwrap()), ..append("s", &[&text]) };
            done(decide(&mut heads, &append, NOW, &mut Writes::default()));
        }
    }

    #[test]
    fn the_appends_of_one_batch_see_each_other() {
        let batch = [
            append("s", &[r#"{"id":"a","actions":{"stateDelta":{"user:x":1,"k":1}}}"#]),
            append("t", &[r#"{"id":"a","actions":{"stateDelta":{"user:x":2}}}"#]),
            append("s", &[r#"{"id":"b","actions":{"stateDelta":{"k":2}}}"#, r#"{"id":"c"}"#]),
            append("s", &[r#"{"id":"a","actions":{"stateDelta":{"user:x":1,"k":1}}}"#]),
            append("s", &[r#"{"id":"b","author":"other"}"#]),
            Append { if_match: Some(IfMatch::parse("\"7\"").unwrap()), ..append("s", &[r#"{"id":"d"}"#]) },
            Append { if_match: Some(IfMatch::parse("\"8.4.3.2\"").unwrap()), ..append("t", &[r#"{"id":"d"}"#]) },
        ];
        let mut heads = heads();
        let mut writes = Writes::default();
        let outcomes: Vec<Outcome> = batch.iter().map(|append| decide(&mut heads, append, NOW, &mut writes)).collect();
        let tags: Vec<_> = outcomes[..4].iter().map(|outcome| revisions(&done(outcome.clone()).tag)).collect();
        assert_eq!(tags, [(8, 3, 3), (8, 4, 3), (10, 4, 3), (10, 4, 3)]);
        assert_eq!(sequences(&done(outcomes[3].clone())), [(8, true)]);
        assert_eq!(outcomes[4], Outcome::EventIdConflict);
        assert_eq!(outcomes[5], Outcome::RevisionMismatch { revision: 10 });
        assert_eq!(sequences(&done(outcomes[6].clone())), [(9, false)]);
        // Each row once, as the last of them left it.
        let ids: Vec<_> = writes.events.iter().map(|row| (row.key.session.as_str(), row.sequence)).collect();
        assert_eq!(ids, [("s", 8), ("t", 8), ("s", 9), ("s", 10), ("t", 9)]);
        let rows: Vec<_> = writes.sessions.values().map(|update| (update.incarnation, update.revision)).collect();
        assert_eq!(rows, [(1, 10), (2, 9)]);
        let shared = writes.user_state[&(&batch[0].key.user, "x")];
        assert_eq!((shared.value.map(RawJson::text), shared.revision), (Some("2"), 4));
        assert_eq!(writes.users[&batch[0].key.user], 4);
    }

    #[test]
    fn removing_what_is_not_there_does_nothing() {
        let removal = |id: &str| {
            let text = format!(r#"{{"id":"{id}","actions":{{"stateOps":[{{"op":"remove","key":"k"}}]}}}}"#);
            Append { only_if_present: Some((Scope::Session, "k".into())), ..append("s", &[&text]) }
        };
        let mut heads = heads();
        let (absent, set, present, again, gone) = (
            removal("1"),
            append("s", &[r#"{"id":"set","actions":{"stateDelta":{"k":null}}}"#]),
            removal("2"),
            removal("2"),
            removal("3"),
        );
        let mut writes = Writes::default();
        let mut appended = |append| done(decide(&mut heads, append, NOW, &mut writes));
        assert_eq!(appended(&absent).events, []);
        assert_eq!(sequences(&appended(&set)), [(8, false)]);
        assert_eq!(sequences(&appended(&present)), [(9, false)]);
        assert_eq!(sequences(&appended(&again)), [(9, true)]);
        let nothing = appended(&gone);
        assert_eq!((nothing.events.len(), nothing.tag.revision), (0, 9));
        let write = writes.session_state[&(&set.key, 1, "k")];
        assert_eq!((write.value, write.revision), (None, 9));
        let stale = Append { if_match: Some(IfMatch::parse("\"7\"").unwrap()), ..removal("4") };
        let refused = decide(&mut heads, &stale, NOW, &mut Writes::default());
        assert_eq!(refused, Outcome::RevisionMismatch { revision: 9 });
    }

    #[test]
    fn a_batch_needs_each_row_once_and_locks_what_it_writes_or_looks_at() {
        let mut batch = vec![
            append("t", &[r#"{"id":"a"}"#]),
            append("s", &[r#"{"id":"a","actions":{"stateDelta":{"app:x":1}}}"#, r#"{"id":"b"}"#]),
        ];
        let needs = needs(&batch);
        assert_eq!(needs.sessions.iter().map(|key| key.session.as_str()).collect::<Vec<_>>(), ["s", "t"]);
        assert_eq!(needs.users.values().collect::<Vec<_>>(), [&false]);
        assert_eq!(needs.apps.values().collect::<Vec<_>>(), [&true]);
        assert_eq!(needs.events.len(), 3);
        for (if_match, held) in [("\"7\"", false), ("*", false), ("\"7.2.3.1\"", true)] {
            batch[0].if_match = Some(IfMatch::parse(if_match).unwrap());
            assert_eq!(super::needs(&batch).users.values().collect::<Vec<_>>(), [&held], "{if_match}");
        }
    }

    fn creation(state: &str, events: &[&str]) -> Creation {
        Creation {
            key: key("s"),
            incarnation: 1,
            now: NOW,
            state: parse_delta(Json::trusted(state), "/state", &Limits::default()).unwrap(),
            events: events.iter().map(|text| event(text)).collect(),
            display_name: None,
            labels: None,
            expire_time: None,
            if_exists: IfExists::Refuse,
        }
    }

    #[test]
    fn a_creation_is_one_transaction_of_state_and_events() {
        let creation = creation(
            r#"{"k":0,"l":0,"app:x":0}"#,
            &[r#"{"id":"a","actions":{"stateDelta":{"k":1,"app:x":1}}}"#, r#"{"id":"b"}"#, r#"{"id":"b"}"#],
        );
        assert_eq!(creation_holds(&creation), (false, true));
        let Created { writes, tag } = decide_creation(&creation, 5, 6).unwrap();
        assert_eq!((revisions(&tag), tag.incarnation, tag.metadata), ((2, 5, 7), 1, 0));
        assert_eq!(writes.events.iter().map(|row| row.sequence).collect::<Vec<_>>(), [1, 2]);
        let state: Vec<_> = writes
            .session_state
            .iter()
            .map(|((_, _, key), write)| (*key, write.value.map(RawJson::text), write.revision))
            .collect();
        assert_eq!(state, [("k", Some("1"), 1), ("l", Some("0"), 0)]);
        assert_eq!(writes.app_state[&(creation.key.app(), "x")].value.map(RawJson::text), Some("1"));
        assert!(writes.users.is_empty());
    }

    #[test]
    fn a_creation_with_one_id_for_two_contents_is_a_conflict() {
        let creation = creation("{}", &[r#"{"id":"a"}"#, r#"{"id":"a","author":"x"}"#]);
        assert_eq!(decide_creation(&creation, 0, 0).map(|_| ()).unwrap_err(), EventIdConflict);
    }

    /// What a random event does: keys to set and keys to remove, of all scopes.
    type Delta = (Vec<(String, u8)>, Vec<String>);

    fn deltas() -> impl Strategy<Value = Vec<Delta>> {
        let name = || prop::sample::select(vec!["a", "b", "c", "user:a", "user:b", "app:a", "temp:a"]);
        let sets = prop::collection::btree_map(name().prop_map(str::to_owned), any::<u8>(), 0..4)
            .prop_map(|sets| sets.into_iter().collect());
        let removals = prop::collection::vec(name().prop_filter("never stored", |key| *key != "temp:a"), 0..3)
            .prop_map(|keys| keys.into_iter().map(str::to_owned).collect());
        prop::collection::vec((sets, removals), 0..8)
    }

    fn object(sets: &[(String, u8)]) -> String {
        let members: Vec<String> = sets.iter().map(|(key, value)| format!("\"{key}\":{value}")).collect();
        format!("{{{}}}", members.join(","))
    }

    /// Folds a stored event, as a reader does: `stateDelta`, then the removals of `stateOps`.
    fn fold(state: &mut BTreeMap<String, String>, body: &str) {
        let actions = Json::trusted(body).get("actions");
        let delta = actions.and_then(|actions| actions.get("stateDelta"));
        for member in delta.and_then(Json::as_object).into_iter().flatten() {
            state.insert(member.key.into_owned(), member.value.text().to_owned());
        }
        let ops = actions.and_then(|actions| actions.get("stateOps"));
        for op in ops.and_then(Json::as_array).into_iter().flatten() {
            state.remove(&*op.get("key").and_then(Json::as_str).unwrap());
        }
    }

    proptest! {
        /// The invariant: fold(initial state, events) == state, for every scope while one session alone writes.
        #[test]
        fn folding_the_events_over_the_initial_state_gives_the_state(
            initial in prop::collection::btree_map("(user:|app:|temp:)?[abc]", any::<u8>(), 0..5),
            at_creation in deltas(),
            later in prop::collection::vec(deltas(), 0..4),
        ) {
            let mut count = 0;
            let mut texts = |deltas: &[Delta]| -> Vec<String> {
                deltas.iter().map(|(sets, removals)| {
                    count += 1;
                    let ops: Vec<String> =
                        removals.iter().map(|key| format!(r#"{{"op":"remove","key":"{key}"}}"#)).collect();
                    let (delta, ops) = (object(sets), ops.join(","));
                    format!(r#"{{"id":"{count}","actions":{{"stateDelta":{delta},"stateOps":[{ops}]}}}}"#)
                }).collect()
            };
            let initial: Vec<(String, u8)> = initial.into_iter().collect();
            let first = texts(&at_creation);
            let creation = creation(&object(&initial), &first.iter().map(String::as_str).collect::<Vec<_>>());
            let Created { mut writes, tag } = decide_creation(&creation, 0, 0).unwrap();
            let appends: Vec<Append> = later
                .iter()
                .map(|deltas| append("s", &texts(deltas).iter().map(String::as_str).collect::<Vec<_>>()))
                .collect();
            let mut heads = Heads::default();
            heads.sessions.insert(
                creation.key.clone(),
                Locked { incarnation: tag.incarnation, revision: tag.revision, metadata_revision: 0 },
            );
            heads.users.insert(creation.key.user.clone(), tag.user);
            heads.apps.insert(creation.key.app().clone(), tag.app);
            let mut last = tag;
            for append in &appends {
                last = done(decide(&mut heads, append, NOW, &mut writes)).tag;
            }

            let mut folded: BTreeMap<String, String> = initial
                .iter()
                .filter(|(key, _)| !key.starts_with("temp:"))
                .map(|(key, value)| (key.clone(), value.to_string()))
                .collect();
            for (n, row) in writes.events.iter().enumerate() {
                prop_assert_eq!(row.sequence, n as i64 + 1);
                prop_assert!(!row.event.body.contains("temp:"));
                fold(&mut folded, &row.event.body);
            }
            prop_assert_eq!(last.revision, writes.events.len() as i64);
            let shown = |prefix: &str, key: &str, write: &StateWrite<'_>| {
                write.value.map(|value| (format!("{prefix}{key}"), value.text().to_owned()))
            };
            let state: BTreeMap<String, String> = writes
                .session_state.iter().filter_map(|((_, _, key), write)| shown("", key, write))
                .chain(writes.user_state.iter().filter_map(|((_, key), write)| shown("user:", key, write)))
                .chain(writes.app_state.iter().filter_map(|((_, key), write)| shown("app:", key, write)))
                .collect();
            prop_assert_eq!(folded, state);
        }
    }
}
