//! Appends, as a pure decision over loaded data.
//!
//! The store does three things with a batch: it loads what [`needs`] names, calls [`decide`] for each append in turn, and applies
//! the [`Writes`], if the loaded data is still current. So the two databases cannot drift apart, and every rule is tested here
//! without a database.
//!
//! The invariant that `decide` keeps: folding the stored events over the initial state, in sequence order, gives the
//! session's state. To fold an event, remove the keys that a `remove` of its `stateOps` names, then set its `stateDelta`.

use std::borrow::Cow;
use std::collections::HashMap;
use std::sync::Arc;

use super::change::{Change, Keys};
use super::effective::COMPACTION;
use super::event::{NewEvent, REDACTED, Rewind, StoredEvent, show_delta, stored_digest};
use super::guard::Guard;
use super::ids::{EventId, ScopeKey, ScopeRef, SessionKey, StateAddress};
use super::lease::LeaseMark;
use super::loaded::{KeyNeeds, Known, Loaded, Needs, Revisions, SessionHead, StateEntry, need_key};
use super::query::StateFilter;
use super::refusal::{Bound, Mismatch, Refusal};
use super::resolve::{Resolved, Working};
use super::scope::Scope;
use super::session::{Creation, IfExists};
use super::shown::Shown;
use super::tag::{IfMatch, Tag};
use super::time::Micros;
use super::writes::{EventRef, EventWrite, ScopeUpdate, SessionUpdate, Writes};
use super::{Limits, Rejected};

/// Events for one session: all of them are appended, or none.
#[derive(Debug)]
pub struct Append {
    pub key: SessionKey,
    pub events: Vec<NewEvent>,
    pub guard: Guard,
    /// If this key is missing, nothing is appended: its removal would change nothing.
    pub only_if_present: Option<(Scope, Box<str>)>,
    /// The limits apply to the results of operators, too.
    pub limits: Limits,
    /// When the request arrived: decides whether the session has expired, and is the commit time of its events.
    pub now: Micros,
    /// What the answer shows of the merged state afterwards.
    pub with_state: Option<StateFilter>,
    /// The incarnation of the session that is made if there is none; `None` to make none.
    pub creates: Option<i64>,
}

impl Append {
    /// Of events that the server composes from stored state, under no condition but this lease.
    pub fn composed(key: &SessionKey, events: Vec<NewEvent>, lease: Option<LeaseMark>, now: Micros) -> Self {
        Self {
            key: key.clone(),
            events,
            guard: Guard { lease, if_match: None },
            only_if_present: None,
            limits: Limits::unbounded_input(),
            now,
            with_state: None,
            creates: None,
        }
    }

    /// The session that it makes if there is none: empty, to be appended to as to any other.
    ///
    /// # Errors
    /// `RevisionMismatch`: `If-Match: *` asks for one that is there.
    pub fn creation(&self) -> Result<Option<Creation>, Refusal> {
        let Some(incarnation) = self.creates else { return Ok(None) };
        if self.guard.if_match.as_ref().is_some_and(IfMatch::is_any) {
            return Err(Mismatch { revision: 0, shared: None, failed: Vec::new() }.into());
        }
        Ok(Some(Creation {
            key: self.key.clone(),
            incarnation,
            now: self.now,
            state: Vec::new(),
            events: Vec::new(),
            display_name: None,
            labels: None,
            expiry: None,
            if_exists: IfExists::Return,
            request: None,
            shows: Shown::Minimal,
            limits: self.limits,
        }))
    }

    /// An estimate of the memory that its decision takes: the text that it stores, and a guess for each value that operators and
    /// preconditions read, as their sizes are not known yet.
    pub fn weight(&self) -> usize {
        const READ: usize = 64 << 10;
        self.events.iter().map(|event| event.body.len() + READ * event.edit.reads().count()).sum()
    }

    /// Whether an event of it names versions of artifacts, so that what is named has to be folded.
    pub fn names_artifacts(&self) -> bool {
        self.events.iter().any(|event| !event.artifacts.is_empty())
    }

    /// The shared scopes that it [depends on](Append::depends_on).
    pub fn scopes(&self) -> Vec<ScopeKey> {
        self.key.scopes().into_iter().filter(|scope| self.depends_on(scope.scope())).map(ScopeRef::to_key).collect()
    }

    /// Whether the scope must not change until the commit: it is written, or a precondition depends on it. Without the
    /// second, two writers of different scopes could each miss the other's change (write skew).
    fn depends_on(&self, scope: Scope) -> bool {
        self.events.iter().any(|event| event.edit.touches(scope))
            || self.guard.if_match.as_ref().is_some_and(IfMatch::depends_on_scopes)
    }
}

/// The data to load for a decision about `batch`.
pub fn needs<'a>(batch: impl Iterator<Item = &'a Append>) -> Needs<'a> {
    let mut needs = Needs::default();
    for append in batch {
        needs.sessions.insert(&append.key);
        for scope in append.key.scopes() {
            *needs.scopes.entry(scope).or_default() |= append.depends_on(scope.scope());
        }
        needs.events.extend(append.events.iter().map(|event| (&append.key, &event.id)));
        need_keys(&mut needs.keys, &append.events, |scope, key| StateAddress::new(&append.key, scope, key));
        if let Some((scope, key)) = &append.only_if_present {
            needs.keys.entry(StateAddress::new(&append.key, *scope, key)).or_default();
        }
        needs.invocations.extend(append.events.iter().filter_map(|event| match &event.rewind {
            Some(Rewind::Before(invocation)) => Some((&append.key, invocation.as_str())),
            Some(Rewind::To(_)) | None => None,
        }));
    }
    needs
}

fn need_keys(needs: &mut KeyNeeds, events: &[NewEvent], address: impl Fn(Scope, &str) -> StateAddress) {
    for (scope, key, since) in events.iter().flat_map(|event| event.edit.reads()) {
        need_key(needs, address(scope, key), since);
    }
}

/// The outcome of one append.
pub type Outcome = Result<Done, Refusal>;

#[derive(Debug, Clone, PartialEq)]
pub struct Done {
    /// In request order; empty if there was nothing to do.
    pub events: Vec<Appended>,
    /// The session's tag after the append.
    pub tag: Tag,
}

impl Done {
    /// Whether it appends something.
    pub fn is_fresh(&self) -> bool {
        self.events.iter().any(|event| !event.replayed)
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct Appended {
    pub event: StoredEvent,
    /// An earlier request stored it: nothing was applied.
    pub replayed: bool,
}

/// Decides one append: its outcome, and what to write.
///
/// Idempotency comes before the lease and the preconditions, so that the retry of a success succeeds. Each fresh event takes the
/// next sequence number; a shared scope's revision grows by one per append that changes it.
pub fn decide<'a>(loaded: &mut Loaded, append: &'a Append, writes: &mut Writes<'a>) -> Outcome {
    let head = loaded.sessions.get(&append.key).filter(|head| head.is_live(append.now)).cloned();
    let head = head.ok_or(Refusal::SessionNotFound)?;
    let plan = plan(loaded.known.get(&append.key), &append.events)?;
    let mut tag = loaded.tag(&append.key).ok_or(Refusal::SessionNotFound)?;
    let fresh: Vec<&NewEvent> = plan.iter().filter_map(Planned::fresh).collect();
    let mut stored = Vec::new();
    if !fresh.is_empty() {
        append.guard.judge(&head.lease, &tag, append.now)?;
        if let Some((scope, key)) = &append.only_if_present
            && loaded.values.get(&StateAddress::new(&append.key, *scope, key)).is_none_or(|entry| entry.value.is_none())
        {
            return Ok(Done { events: Vec::new(), tag });
        }
        if head.most_revision.is_some_and(|most| head.revision.saturating_add(fresh.len() as i64) > most) {
            return Err(Refusal::LimitReached(Bound::EventsPerSession));
        }
        let resolved = resolve_events(loaded, &append.key, &tag, &[], &fresh, &append.limits)?;
        let lease = append.guard.lease.as_ref();
        stored = write(loaded, &append.key, &mut tag, &[], resolved, (append.now, lease), writes);
        let update_time = fresh.last().map_or(head.update_time, |last| last.timestamp.micros);
        let rough = head.is_rough_at(update_time);
        loaded.sessions.insert(append.key.clone(), SessionHead { revision: tag.revision, update_time, rough, ..head });
        for (event, stored) in fresh.iter().zip(&stored) {
            loaded.known.entry(append.key.clone()).or_default().insert(event.id.clone(), known(event, stored));
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
    Ok(Done { events, tag })
}

fn known(event: &NewEvent, stored: &StoredEvent) -> Known {
    Known { digest: event.digest, timestamp: event.timestamp.micros, event: stored.clone() }
}

/// The plan for one event of a request.
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

/// Separates fresh events from retries, given what is stored of these ids.
///
/// # Errors
/// `EventIdConflict`: an id has other content, stored or in the same request.
fn plan<'a>(stored: Option<&HashMap<EventId, Known>>, events: &'a [NewEvent]) -> Result<Vec<Planned<'a>>, Refusal> {
    let mut seen: HashMap<&EventId, (usize, &NewEvent)> = HashMap::new();
    let mut plan = Vec::with_capacity(events.len());
    for event in events {
        plan.push(if let Some(known) = stored.and_then(|known| known.get(&event.id)) {
            if !is_retry(event, &known.digest, known.timestamp) && !is_stored(event, known) {
                return Err(Refusal::EventIdConflict);
            }
            Planned::Known(known.event.clone())
        } else if let Some(&(at, first)) = seen.get(&event.id) {
            if !is_retry(event, &first.digest, first.timestamp.micros) {
                return Err(Refusal::EventIdConflict);
            }
            Planned::Repeat { at }
        } else {
            let at = seen.len();
            seen.insert(&event.id, (at, event));
            Planned::Fresh { at, event }
        });
    }
    Ok(plan)
}

/// Whether the content is the same: the digests agree, and so does the timestamp, if the client gives one. A redacted event is recognised by
/// its id alone, or its content could be guessed.
fn is_retry(event: &NewEvent, digest: &[u8; 32], timestamp: Micros) -> bool {
    *digest == REDACTED || event.digest == *digest && event.claimed_time.is_none_or(|claimed| claimed == timestamp)
}

/// Whether a client sends a stored event as it was read, with the results of its operators.
fn is_stored(event: &NewEvent, known: &Known) -> bool {
    !event.edit.ops.is_empty()
        && !known.event.is_stub
        && stored_digest(&known.event.body).is_some_and(|digest| is_retry(event, &digest, known.timestamp))
}

/// An event with its resolved changes.
struct ResolvedEvent<'a> {
    event: &'a NewEvent,
    changes: Vec<Resolved<'a>>,
    body: Arc<str>,
}

/// Resolves `events` one after the other, on a session at `tag` to which `initial` state is already written.
fn resolve_events<'a>(
    loaded: &Loaded,
    session: &SessionKey,
    tag: &Tag,
    initial: &[Change],
    events: &[&'a NewEvent],
    limits: &Limits,
) -> Result<Vec<ResolvedEvent<'a>>, Refusal> {
    let address = |scope: Scope, key: &str| StateAddress::new(session, scope, key);
    let mut working = Working::new(&loaded.values);
    let mut now = *tag;
    // All changes of a request to a shared scope get one revision.
    let grow = |now: &mut Tag, scope| {
        if let Some(shared) = session.shared(scope) {
            now.set(scope, loaded.revision_after(shared, tag.of(scope)));
        }
        now.of(scope)
    };
    for change in initial {
        let revision = grow(&mut now, change.scope);
        working.set(address(change.scope, &change.key), Some(&change.value), revision);
    }
    let mut resolved = Vec::with_capacity(events.len());
    for event in events {
        let failed = working.failed(&event.edit, Keys::Merged, &event.actions_at, &address, |scope| now.of(scope))?;
        if !failed.is_empty() {
            return Err(Refusal::RevisionMismatch(Mismatch::of_session(tag, failed)));
        }
        let changes = working.resolve(&event.edit, Keys::Merged, &event.actions_at, &address, limits)?;
        now.revision += 1;
        for change in &changes {
            let revision = grow(&mut now, change.scope);
            if !loaded.values.is_empty() {
                working.set(address(change.scope, change.key), change.value.as_deref(), revision);
            }
        }
        let body = if event.edit.ops.is_empty() {
            event.body.clone()
        } else {
            event.body_with(&show_delta(changes.iter().filter_map(|c| Some((c.scope, c.key, c.value.as_deref()?)))))
        };
        if !event.edit.ops.is_empty() && body.len() > limits.event_bytes {
            let most = limits.event_bytes;
            let detail = format!("with what its operators come to, an event is larger than {most} bytes");
            return Err(Rejected::too_large("event", detail).into());
        }
        resolved.push(ResolvedEvent { event, changes, body });
    }
    Ok(resolved)
}

/// Writes initial state and events of one session, carries `tag` and `loaded` forward, and returns the events as stored.
fn write<'a>(
    loaded: &mut Loaded,
    key: &'a SessionKey,
    tag: &mut Tag,
    initial: &'a [Change],
    events: Vec<ResolvedEvent<'a>>,
    (now, lease): (Micros, Option<&LeaseMark>),
    writes: &mut Writes<'a>,
) -> Vec<StoredEvent> {
    let changed = |scope| {
        initial.iter().any(|change| change.scope == scope)
            || events.iter().any(|event| event.changes.iter().any(|change| change.scope == scope))
    };
    for shared in key.scopes().into_iter().filter(|shared| changed(shared.scope())) {
        let was = tag.of(shared.scope());
        let next = loaded.revision_after(shared, was);
        writes.scopes.entry(shared).or_insert(ScopeUpdate { was, first: next, revision: next }).revision = next;
        loaded.scopes.insert(shared.to_key(), next);
        tag.set(shared.scope(), next);
    }
    for change in initial {
        let value = Some(Cow::Borrowed(&change.value));
        change_state(loaded, key, tag, None, Resolved { scope: change.scope, key: &change.key, value }, writes);
    }
    let mut stored = Vec::with_capacity(events.len());
    for ResolvedEvent { event, changes, body } in events {
        tag.revision += 1;
        let by = EventRef { incarnation: tag.incarnation, sequence: tag.revision };
        for change in changes {
            change_state(loaded, key, tag, Some(by), change, writes);
        }
        let effect = match &event.rewind {
            Some(Rewind::To(sequence)) => Some(*sequence),
            // An unknown invocation takes nothing back.
            Some(Rewind::Before(invocation)) => {
                Some(first_of(loaded, key, invocation, writes).unwrap_or(tag.revision) - 1)
            }
            None => event.compacts.then_some(COMPACTION),
        };
        stored.push(StoredEvent::new(tag.revision, now, body.clone()));
        writes.events.push(EventWrite {
            key,
            incarnation: tag.incarnation,
            sequence: tag.revision,
            user_revision: tag.user,
            app_revision: tag.app,
            commit_time: now,
            effect,
            event,
            body,
        });
        let (was, leased, side) = match writes.sessions.remove(key) {
            Some(earlier) => (earlier.was, earlier.lease, earlier.side),
            None => (loaded.sessions.get(key).cloned(), None, false),
        };
        let update = SessionUpdate {
            revision: tag.revision,
            update_time: &event.timestamp,
            rough: loaded.sessions.get(key).is_some_and(|head| head.is_rough_at(event.timestamp.micros)),
            was,
            lease: lease.map(|mark| mark.epoch).or(leased),
            side: side || lease.is_none(),
            now,
        };
        writes.sessions.insert(key, update);
    }
    stored
}

/// The first event of an invocation so far: a stored one, or one of this batch.
fn first_of(loaded: &Loaded, key: &SessionKey, invocation: &str, writes: &Writes<'_>) -> Option<i64> {
    let stored = loaded.invocations.get(key).and_then(|invocations| invocations.get(invocation)).copied();
    stored.or_else(|| {
        let new = writes.events.iter().find(|row| row.key == key && row.event.invocation_id == invocation);
        new.map(|row| row.sequence)
    })
}

fn change_state<'a>(
    loaded: &mut Loaded,
    key: &'a SessionKey,
    tag: &Tag,
    by: Option<EventRef>,
    change: Resolved<'a>,
    writes: &mut Writes<'a>,
) {
    let Resolved { scope, key: name, value } = change;
    let revision = tag.of(scope);
    if !loaded.values.is_empty()
        && let Some(entry) = loaded.values.get_mut(&StateAddress::new(key, scope, name))
    {
        *entry = StateEntry { value: value.as_deref().cloned(), revision };
    }
    match key.shared(scope) {
        None => writes.session_state.write((key, tag.incarnation, name), value, revision, None),
        Some(shared) => writes.shared_state.write((shared, name), value, revision, by),
    }
}

/// The data to load for a decision about creations. The sessions' rows are inserted before.
pub fn creation_needs<'a>(creations: impl Iterator<Item = &'a Creation>) -> Needs<'a> {
    let mut needs = Needs::default();
    for creation in creations {
        let depends_on = |scope| {
            creation.state.iter().any(|change| change.scope == scope)
                || creation.events.iter().any(|event| event.edit.touches(scope))
        };
        for scope in creation.key.scopes() {
            *needs.scopes.entry(scope).or_default() |= depends_on(scope.scope());
        }
        need_keys(&mut needs.keys, &creation.events, |scope, key| StateAddress::new(&creation.key, scope, key));
    }
    needs
}

/// The events of a creation, each id once.
///
/// # Errors
/// An id with two contents.
pub fn distinct_events(creation: &Creation) -> Result<Vec<&NewEvent>, Refusal> {
    Ok(plan(None, &creation.events)?.iter().filter_map(Planned::fresh).collect())
}

/// Decides the creation of a session that does not exist, given its [`distinct_events`]; returns its tag.
pub fn decide_creation<'a>(
    loaded: &mut Loaded,
    creation: &'a Creation,
    events: &[&'a NewEvent],
    writes: &mut Writes<'a>,
) -> Result<Tag, Refusal> {
    let new = Revisions { incarnation: creation.incarnation, revision: 0, metadata: 0 };
    let mut tag = loaded.tag_at(&creation.key, new);
    let resolved = resolve_events(loaded, &creation.key, &tag, &creation.state, events, &creation.limits)?;
    write(loaded, &creation.key, &mut tag, &creation.state, resolved, (creation.now, None), writes);
    Ok(tag)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;
    use crate::domain::change::{Keys, parse_delta};
    use crate::domain::event::EventDraft;
    use crate::domain::ids::{AppName, SessionId, UserId, UserKey};
    use crate::domain::json::Json;
    use crate::domain::lease::{Exclusion, Held, LeaseHead, LeaseRefusal};
    use crate::domain::writes::StateWrite;

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
        Append {
            key: key(session),
            events,
            guard: Guard::default(),
            only_if_present: None,
            limits: Limits::default(),
            now: NOW,
            with_state: None,
            creates: None,
        }
    }

    fn head(incarnation: i64, revision: i64) -> SessionHead {
        let (update_time, lease) = (NOW, LeaseHead::default());
        let (rough, expire_time, most_revision) = (false, None, None);
        SessionHead {
            incarnation,
            revision,
            metadata_revision: 0,
            update_time,
            rough,
            expire_time,
            most_revision,
            lease,
        }
    }

    /// The loaded of sessions `s` and `t`, at revision 7, with user revision 2 and app revision 3.
    fn loaded() -> Loaded {
        let mut loaded = Loaded::default();
        for (session, incarnation) in [("s", 1), ("t", 2)] {
            loaded.sessions.insert(key(session), head(incarnation, 7));
        }
        for (scope, revision) in key("s").scopes().into_iter().zip([2, 3]) {
            loaded.scopes.insert(scope.to_key(), revision);
        }
        loaded
    }

    fn done(outcome: Outcome) -> Done {
        outcome.unwrap()
    }

    fn mismatch(revision: i64, user: i64, app: i64) -> Outcome {
        let mismatch = Mismatch { revision, shared: Some((user, app)), failed: Vec::new() };
        Err(Refusal::RevisionMismatch(mismatch))
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
        assert_eq!(decide(&mut loaded(), &append, &mut writes), Err(Refusal::SessionNotFound));
        assert!(writes.is_empty());
    }

    #[test]
    fn fresh_events_take_the_next_numbers_in_their_order() {
        let append = append("s", &[r#"{"id":"a","timestamp":9}"#, r#"{"id":"b","timestamp":4.50}"#]);
        let mut writes = Writes::default();
        let done = done(decide(&mut loaded(), &append, &mut writes));
        assert_eq!(sequences(&done), [(8, false), (9, false)]);
        assert_eq!(revisions(&done.tag), (9, 2, 3));
        let rows: Vec<_> =
            writes.events.iter().map(|row| (row.sequence, row.incarnation, row.event.id.as_str())).collect();
        assert_eq!(rows, [(8, 1, "a"), (9, 1, "b")]);
        let update = &writes.sessions[&append.key];
        assert_eq!((update.revision, update.update_time.number.text()), (9, "4.50"));
        assert!(writes.scopes.is_empty());
        assert!(done.events.iter().all(|appended| appended.event.commit_time == NOW));
    }

    /// The place in the list by last update is exact as long as events are few, and moves once in ten seconds where they are many.
    #[test]
    fn a_session_that_changes_often_moves_seldom_in_the_list_by_last_update() {
        let moves = |times: &[f64]| {
            let (mut loaded, mut moves) = (loaded(), Vec::new());
            loaded.sessions.insert(key("s"), SessionHead { update_time: Micros(0), ..head(1, 0) });
            for (n, time) in times.iter().enumerate() {
                let append = append("s", &[&format!(r#"{{"id":"{n}","timestamp":{time}}}"#)]);
                let mut writes = Writes::default();
                done(decide(&mut loaded, &append, &mut writes));
                moves.push(writes.sessions[&append.key].move_in_list());
            }
            moves
        };
        let exact = |seconds: f64| Some((false, (seconds * 1e6) as i64));
        let (rough, stays) = (|bucket| Some((true, bucket)), None);
        let first = [0.125, 0.25, 0.5, 0.75];
        assert_eq!(moves(&first), first.map(exact));
        assert_eq!(moves(&first.map(|second| second * 16.0)), first.map(|second| exact(second * 16.0)));
        let times = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 4.5, 9.5, 10.0, 11.0, 14.0, 25.0, 27.0, 27.0, 28.0, 20.0];
        let seen = moves(&times);
        assert_eq!(seen[..4], [1.0, 2.0, 3.0, 4.0].map(exact));
        assert_eq!(seen[4..11], [rough(0), stays, stays, stays, rough(1), stays, stays]);
        assert_eq!(seen[11..], [exact(25.0), exact(27.0), rough(2), stays, stays]);
    }

    #[test]
    fn a_shared_scope_grows_by_one_however_many_events_change_it() {
        let deltas = [
            r#"{"id":"a","actions":{"stateDelta":{"user:x":1,"app:x":1,"k":1}}}"#,
            r#"{"id":"b","actions":{"stateDelta":{"user:x":2,"user:y":2}}}"#,
        ];
        let append = append("s", &deltas);
        let mut writes = Writes::default();
        let done = done(decide(&mut loaded(), &append, &mut writes));
        assert_eq!(revisions(&done.tag), (9, 3, 4));
        // What each event saw is what the whole transaction made.
        assert!(writes.events.iter().all(|row| (row.user_revision, row.app_revision) == (3, 4)));
        let [user, app] = append.key.scopes();
        let value =
            |write: &StateWrite<'_>| (write.value.as_ref().map(|value| value.text().to_owned()), write.revision);
        assert_eq!(value(&writes.shared_state.rows[&(user, "x")]), (Some("2".to_owned()), 3));
        assert_eq!(value(&writes.shared_state.rows[&(user, "y")]), (Some("2".to_owned()), 3));
        assert_eq!(value(&writes.shared_state.rows[&(app, "x")]), (Some("1".to_owned()), 4));
        assert_eq!(value(&writes.session_state.rows[&(&append.key, 1, "k")]), (Some("1".to_owned()), 8));
    }

    #[test]
    fn a_retry_is_answered_with_what_is_stored_and_writes_nothing() {
        let first = append("s", &[r#"{"id":"a","timestamp":1,"author":"x"}"#]);
        let mut loaded = loaded();
        let mut writes = Writes::default();
        let stored = done(decide(&mut loaded, &first, &mut writes));
        for retry in [r#"{"id":"a","timestamp":1.0,"author":"x"}"#, r#"{"author":"x","id":"a"}"#] {
            let mut retry = Append { now: Micros(9), ..append("s", &[retry]) };
            retry.guard.if_match = Some(IfMatch::parse("\"7\"").unwrap());
            let mut writes = Writes::default();
            let again = done(decide(&mut loaded, &retry, &mut writes));
            assert_eq!(again.events, [Appended { replayed: true, ..stored.events[0].clone() }]);
            assert_eq!(again.tag, stored.tag);
            assert!(writes.is_empty());
        }
    }

    #[test]
    fn other_content_or_another_time_under_a_known_id_is_a_conflict() {
        let first = append("s", &[r#"{"id":"a","timestamp":1,"author":"x"}"#]);
        let mut loaded = loaded();
        done(decide(&mut loaded, &first, &mut Writes::default()));
        for other in [r#"{"id":"a","author":"y"}"#, r#"{"id":"a","timestamp":2,"author":"x"}"#] {
            let other = append("s", &[r#"{"id":"fresh"}"#, other]);
            let mut writes = Writes::default();
            assert_eq!(decide(&mut loaded, &other, &mut writes), Err(Refusal::EventIdConflict));
            assert!(writes.is_empty());
        }
        // Ids belong to their session.
        let elsewhere = append("t", &[r#"{"id":"a","author":"y"}"#]);
        done(decide(&mut loaded, &elsewhere, &mut Writes::default()));
    }

    #[test]
    fn the_same_event_twice_in_one_append_is_stored_once() {
        let same = append("s", &[r#"{"id":"a","author":"x"}"#, r#"{"id":"b"}"#, r#"{"author":"x","id":"a"}"#]);
        let mut writes = Writes::default();
        let done = done(decide(&mut loaded(), &same, &mut writes));
        assert_eq!(sequences(&done), [(8, false), (9, false), (8, true)]);
        assert_eq!(writes.events.len(), 2);
        let other = append("s", &[r#"{"id":"a","author":"x"}"#, r#"{"id":"a"}"#]);
        assert_eq!(decide(&mut loaded(), &other, &mut Writes::default()), Err(Refusal::EventIdConflict));
    }

    #[test]
    fn a_conflict_comes_before_the_precondition_and_the_precondition_before_any_write() {
        let mut loaded = loaded();
        done(decide(&mut loaded, &append("s", &[r#"{"id":"a"}"#]), &mut Writes::default()));
        for (events, if_match, expected) in [
            (&[r#"{"id":"a","author":"y"}"#][..], "\"7\"", Err(Refusal::EventIdConflict)),
            (&[r#"{"id":"b"}"#], "\"7\"", mismatch(8, 2, 3)),
            (&[r#"{"id":"a"}"#, r#"{"id":"b"}"#], "\"7\"", mismatch(8, 2, 3)),
            (&[r#"{"id":"b"}"#], "\"8.2.4.1\"", mismatch(8, 2, 3)),
            (&[r#"{"id":"b"}"#], "\"8.2.3.2\"", mismatch(8, 2, 3)),
        ] {
            let append = Append {
                guard: Guard { if_match: Some(IfMatch::parse(if_match).unwrap()), ..Guard::default() },
                ..append("s", events)
            };
            let mut writes = Writes::default();
            assert_eq!(decide(&mut loaded, &append, &mut writes), expected, "{events:?} {if_match}");
            assert!(writes.is_empty());
        }
        for (id, if_match) in [("c", "\"8\""), ("d", "\"9.2.3.1\""), ("e", "*")] {
            let text = format!(r#"{{"id":"{id}"}}"#);
            let append = Append {
                guard: Guard { if_match: Some(IfMatch::parse(if_match).unwrap()), ..Guard::default() },
                ..append("s", &[&text])
            };
            done(decide(&mut loaded, &append, &mut Writes::default()));
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
            Append {
                guard: Guard { if_match: Some(IfMatch::parse("\"7\"").unwrap()), ..Guard::default() },
                ..append("s", &[r#"{"id":"d"}"#])
            },
            Append {
                guard: Guard { if_match: Some(IfMatch::parse("\"8.4.3.2\"").unwrap()), ..Guard::default() },
                ..append("t", &[r#"{"id":"d"}"#])
            },
        ];
        let mut loaded = loaded();
        let mut writes = Writes::default();
        let outcomes: Vec<Outcome> = batch.iter().map(|append| decide(&mut loaded, append, &mut writes)).collect();
        let tags: Vec<_> = outcomes[..4].iter().map(|outcome| revisions(&done(outcome.clone()).tag)).collect();
        assert_eq!(tags, [(8, 3, 3), (8, 4, 3), (10, 4, 3), (10, 4, 3)]);
        assert_eq!(sequences(&done(outcomes[3].clone())), [(8, true)]);
        assert_eq!(outcomes[4], Err(Refusal::EventIdConflict));
        assert_eq!(outcomes[5], mismatch(10, 4, 3));
        assert_eq!(sequences(&done(outcomes[6].clone())), [(9, false)]);
        // Each row once, as the last of them left it.
        let ids: Vec<_> = writes.events.iter().map(|row| (row.key.session.as_str(), row.sequence)).collect();
        assert_eq!(ids, [("s", 8), ("t", 8), ("s", 9), ("s", 10), ("t", 9)]);
        let rows: Vec<_> = writes.sessions.values().map(|update| update.revision).collect();
        assert_eq!(rows, [10, 9]);
        let [user, _] = batch[0].key.scopes();
        let shared = &writes.shared_state.rows[&(user, "x")];
        assert_eq!((shared.value.as_ref().map(|value| value.text()), shared.first, shared.revision), (Some("2"), 3, 4));
        // What the second one overwrote could be read in between.
        let passed = &writes.shared_state.passed[0];
        assert_eq!((passed.value.as_ref().map(|value| value.text()), passed.from, passed.to), (Some("1"), 3, 4));
        assert_eq!(writes.scopes[&user], ScopeUpdate { was: 2, first: 3, revision: 4 });
    }

    /// The session `s` under a lease of this epoch; with `all` it excludes all others for a second.
    fn leased(epoch: i64, all: bool) -> Loaded {
        let mut loaded = loaded();
        let exclusion = Exclusion { owner: "o".into(), expire_time: NOW.plus(1_000_000), now: None };
        let lease = LeaseHead { epoch, all: all.then(|| Arc::new(exclusion)) };
        loaded.sessions.insert(key("s"), SessionHead { lease, ..head(1, 7) });
        loaded
    }

    fn under(epoch: i64, append: Append) -> Append {
        Append { guard: Guard { lease: Some(LeaseMark { epoch, incarnation: None }), ..append.guard }, ..append }
    }

    #[test]
    fn a_lease_is_judged_after_retries_and_before_preconditions() {
        let stale = |append: Append| Append {
            guard: Guard { if_match: Some(IfMatch::parse("\"1\"").unwrap()), ..append.guard },
            ..append
        };
        let mut loaded = leased(3, true);
        let first = under(3, append("s", &[r#"{"id":"a"}"#]));
        let mut writes = Writes::default();
        done(decide(&mut loaded, &first, &mut writes));
        assert_eq!((writes.sessions[&key("s")].lease, writes.sessions[&key("s")].side), (Some(3), false));
        let fenced = Err(Refusal::Lease(LeaseRefusal::Fenced { epoch: 3 }));
        let held = Held { owner: "o".into(), epoch: 3, expire_time: NOW.plus(1_000_000), left: 1_000_000 };
        let held = Err(Refusal::Lease(LeaseRefusal::Held(held)));
        let (retry, conflict, fresh) = (r#"{"id":"a"}"#, r#"{"id":"a","author":"x"}"#, r#"{"id":"b"}"#);
        let elsewhere = Append {
            guard: Guard { lease: Some(LeaseMark { epoch: 3, incarnation: Some(2) }), ..Guard::default() },
            ..append("s", &[fresh])
        };
        for (append, outcome) in [
            (stale(under(2, append("s", &[fresh]))), &fenced),
            (under(4, append("s", &[fresh])), &fenced),
            (elsewhere, &fenced),
            (stale(append("s", &[fresh])), &held),
            // Partly a retry.
            (under(2, append("s", &[retry, fresh])), &fenced),
            (append("s", &[retry, fresh]), &held),
            (under(2, append("s", &[conflict])), &Err(Refusal::EventIdConflict)),
            (stale(under(3, append("s", &[fresh]))), &mismatch(8, 2, 3)),
        ] {
            let mut writes = Writes::default();
            assert_eq!(decide(&mut loaded, &append, &mut writes), *outcome);
            assert!(writes.is_empty());
        }
        // All of it is a retry: whatever the lease.
        for append in [under(2, append("s", &[retry])), append("s", &[retry, retry])] {
            assert!(
                done(decide(&mut loaded, &append, &mut Writes::default())).events.iter().all(|event| event.replayed)
            );
        }
        // Once it has expired, others may write, and it is still the holder's.
        let late = |append| Append { now: NOW.plus(1_000_000), ..append };
        done(decide(&mut loaded, &late(append("s", &[r#"{"id":"c"}"#])), &mut Writes::default()));
        done(decide(&mut loaded, &late(under(3, append("s", &[r#"{"id":"d"}"#]))), &mut Writes::default()));
    }

    #[test]
    fn a_batch_notes_the_lease_and_whether_others_write_beside_it() {
        let batch = [
            append("s", &[r#"{"id":"a"}"#]),
            under(3, append("s", &[r#"{"id":"b"}"#])),
            under(2, append("s", &[r#"{"id":"c"}"#])),
            append("t", &[r#"{"id":"a"}"#]),
            Append { now: NOW.plus(5), ..append("s", &[r#"{"id":"d"}"#]) },
        ];
        let mut loaded = leased(3, false);
        let mut writes = Writes::default();
        let outcomes: Vec<Outcome> = batch.iter().map(|append| decide(&mut loaded, append, &mut writes)).collect();
        assert_eq!(outcomes[2], Err(Refusal::Lease(LeaseRefusal::Fenced { epoch: 3 })));
        assert_eq!(outcomes.iter().filter(|outcome| outcome.as_ref().is_ok_and(Done::is_fresh)).count(), 4);
        let noted: Vec<_> = writes.sessions.values().map(|update| (update.lease, update.side, update.now)).collect();
        assert_eq!(noted, [(Some(3), true, NOW.plus(5)), (None, true, NOW)]);
    }

    #[test]
    fn removing_what_is_not_there_does_nothing() {
        let removal = |id: &str| {
            let text = format!(r#"{{"id":"{id}","actions":{{"stateOps":[{{"op":"remove","key":"k"}}]}}}}"#);
            Append { only_if_present: Some((Scope::Session, "k".into())), ..append("s", &[&text]) }
        };
        let mut loaded = loaded();
        loaded.values.insert(StateAddress::new(&key("s"), Scope::Session, "k"), StateEntry::default());
        let (absent, set, present, again, gone) = (
            removal("1"),
            append("s", &[r#"{"id":"set","actions":{"stateDelta":{"k":null}}}"#]),
            removal("2"),
            removal("2"),
            removal("3"),
        );
        let mut writes = Writes::default();
        let mut appended = |append| done(decide(&mut loaded, append, &mut writes));
        assert_eq!(appended(&absent).events, []);
        assert_eq!(sequences(&appended(&set)), [(8, false)]);
        assert_eq!(sequences(&appended(&present)), [(9, false)]);
        assert_eq!(sequences(&appended(&again)), [(9, true)]);
        let nothing = appended(&gone);
        assert_eq!((nothing.events.len(), nothing.tag.revision), (0, 9));
        let write = &writes.session_state.rows[&(&set.key, 1, "k")];
        assert_eq!((&write.value, write.first, write.revision), (&None, 8, 9));
        let stale = Append {
            guard: Guard { if_match: Some(IfMatch::parse("\"7\"").unwrap()), ..Guard::default() },
            ..removal("4")
        };
        let refused = decide(&mut loaded, &stale, &mut Writes::default());
        assert_eq!(refused, mismatch(9, 2, 3));
    }

    #[test]
    fn a_batch_needs_each_row_once_and_locks_what_it_writes_or_depends_on() {
        let mut batch = [
            append("t", &[r#"{"id":"a"}"#]),
            append("s", &[r#"{"id":"a","actions":{"stateDelta":{"app:x":1}}}"#, r#"{"id":"b"}"#]),
        ];
        let needs = needs(batch.iter());
        assert_eq!(needs.sessions.iter().map(|key| key.session.as_str()).collect::<Vec<_>>(), ["s", "t"]);
        // The user, then the app.
        assert_eq!(needs.scopes.values().collect::<Vec<_>>(), [&false, &true]);
        assert_eq!(needs.events.len(), 3);
        for (if_match, depends) in [("\"7\"", false), ("*", false), ("\"7.2.3.1\"", true)] {
            batch[0].guard.if_match = Some(IfMatch::parse(if_match).unwrap());
            assert_eq!(super::needs(batch.iter()).scopes.values().collect::<Vec<_>>(), [&depends, &true], "{if_match}");
        }
    }

    fn creation(state: &str, events: &[&str]) -> Creation {
        Creation {
            key: key("s"),
            incarnation: 1,
            now: NOW,
            state: parse_delta(Json::trusted(state), Keys::Merged, "/state", &Limits::default()).unwrap(),
            events: events.iter().map(|text| event(text)).collect(),
            display_name: None,
            labels: None,
            expiry: None,
            request: None,
            if_exists: IfExists::Refuse,
            shows: Shown::Full,
            limits: Limits::default(),
        }
    }

    #[test]
    fn a_creation_is_one_transaction_of_state_and_events() {
        let creation = creation(
            r#"{"k":0,"l":0,"app:x":0}"#,
            &[r#"{"id":"a","actions":{"stateDelta":{"k":1,"app:x":1}}}"#, r#"{"id":"b"}"#, r#"{"id":"b"}"#],
        );
        let needs = creation_needs([&creation].into_iter());
        let [user, app] = creation.key.scopes();
        assert_eq!((needs.scopes[&user], needs.scopes[&app]), (false, true));
        let mut loaded = Loaded::default();
        loaded.scopes.insert(user.to_key(), 5);
        loaded.scopes.insert(app.to_key(), 6);
        let events = distinct_events(&creation).unwrap();
        let mut writes = Writes::default();
        let tag = decide_creation(&mut loaded, &creation, &events, &mut writes).unwrap();
        assert_eq!((revisions(&tag), tag.incarnation, tag.metadata), ((2, 5, 7), 1, 0));
        assert_eq!(writes.events.iter().map(|row| row.sequence).collect::<Vec<_>>(), [1, 2]);
        let state: Vec<_> = writes
            .session_state
            .rows
            .iter()
            .map(|((_, _, key), write)| (*key, write.value.as_ref().map(|value| value.text()), write.revision))
            .collect();
        assert_eq!(state, [("k", Some("1"), 1), ("l", Some("0"), 0)]);
        let shared = &writes.shared_state.rows[&(app, "x")];
        assert_eq!(shared.value.as_ref().map(|value| value.text()), Some("1"));
        assert_eq!(writes.scopes.keys().collect::<Vec<_>>(), [&app]);
    }

    #[test]
    fn an_append_makes_a_session_if_it_may() {
        let with = |creates, if_match: Option<&str>| {
            let guard = Guard { if_match: if_match.map(|text| IfMatch::parse(text).unwrap()), ..Guard::default() };
            Append { guard, creates, ..append("s", &[r#"{"id":"a"}"#]) }.creation()
        };
        assert!(with(None, None).unwrap().is_none());
        for if_match in [None, Some("\"0\""), Some("\"7\"")] {
            let creation = with(Some(5), if_match).unwrap().unwrap();
            // The tag is judged, and the events come, as of any append.
            assert_eq!((creation.incarnation, creation.events.len(), creation.state.len()), (5, 0, 0));
        }
        let mismatch = Refusal::RevisionMismatch(Mismatch { revision: 0, shared: None, failed: Vec::new() });
        assert_eq!(with(Some(5), Some("*")).unwrap_err(), mismatch);
        assert!(with(None, Some("*")).unwrap().is_none());
    }

    #[test]
    fn a_creation_with_one_id_for_two_contents_is_a_conflict() {
        let creation = creation("{}", &[r#"{"id":"a"}"#, r#"{"id":"a","author":"x"}"#]);
        assert_eq!(distinct_events(&creation).map(|_| ()).unwrap_err(), Refusal::EventIdConflict);
    }

    /// What a random event does: keys to set, and operators.
    type Delta = (Vec<(String, u8)>, Vec<(&'static str, String, u8)>);

    fn deltas() -> impl Strategy<Value = Vec<Delta>> {
        let name = || prop::sample::select(vec!["a", "b", "c", "user:a", "user:b", "app:a", "temp:a"]);
        let sets = prop::collection::btree_map(name().prop_map(str::to_owned), any::<u8>(), 0..4)
            .prop_map(|sets| sets.into_iter().collect());
        let op = prop::sample::select(vec!["remove", "remove", "set", "increment", "max", "min"]);
        let key = name().prop_filter("never stored", |key| *key != "temp:a").prop_map(str::to_owned);
        let ops = prop::collection::vec((op, key, any::<u8>()), 0..3);
        prop::collection::vec((sets, ops), 0..8)
    }

    fn object(sets: &[(String, u8)]) -> String {
        let members: Vec<String> = sets.iter().map(|(key, value)| format!("\"{key}\":{value}")).collect();
        format!("{{{}}}", members.join(","))
    }

    /// Folds a stored event, as a reader does: the removals of `stateOps`, then `stateDelta`.
    fn fold(state: &mut BTreeMap<String, String>, body: &str) {
        let actions = Json::trusted(body).get("actions");
        let ops = actions.and_then(|actions| actions.get("stateOps"));
        for op in ops.and_then(Json::as_array).into_iter().flatten() {
            if op.get("op").and_then(Json::as_str).as_deref() == Some("remove") {
                state.remove(&*op.get("key").and_then(Json::as_str).unwrap());
            }
        }
        let delta = actions.and_then(|actions| actions.get("stateDelta"));
        for member in delta.and_then(Json::as_object).into_iter().flatten() {
            state.insert(member.key.into_owned(), member.value.text().to_owned());
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
                deltas.iter().map(|(sets, ops)| {
                    count += 1;
                    let ops: Vec<String> = ops.iter().map(|(op, key, value)| match *op {
                        "remove" => format!(r#"{{"op":"remove","key":"{key}"}}"#),
                        op => format!(r#"{{"op":"{op}","key":"{key}","value":{value}}}"#),
                    }).collect();
                    let (delta, ops) = (object(sets), ops.join(","));
                    format!(r#"{{"id":"{count}","actions":{{"stateDelta":{delta},"stateOps":[{ops}]}}}}"#)
                }).collect()
            };
            let initial: Vec<(String, u8)> = initial.into_iter().collect();
            let first = texts(&at_creation);
            let creation = creation(&object(&initial), &first.iter().map(String::as_str).collect::<Vec<_>>());
            let mut loaded = Loaded::default();
            for name in ["a", "b", "c"] {
                for scope in [Scope::Session, Scope::User, Scope::App] {
                    loaded.values.insert(StateAddress::new(&creation.key, scope, name), StateEntry::default());
                }
            }
            let distinct = distinct_events(&creation).unwrap();
            let mut writes = Writes::default();
            let tag = decide_creation(&mut loaded, &creation, &distinct, &mut writes).unwrap();
            let appends: Vec<Append> = later
                .iter()
                .map(|deltas| append("s", &texts(deltas).iter().map(String::as_str).collect::<Vec<_>>()))
                .collect();
            loaded.sessions.insert(
                creation.key.clone(),
                head(tag.incarnation, tag.revision),
            );
            let mut last = tag;
            for append in &appends {
                last = done(decide(&mut loaded, append, &mut writes)).tag;
            }

            let mut folded: BTreeMap<String, String> = initial
                .iter()
                .filter(|(key, _)| !key.starts_with("temp:"))
                .map(|(key, value)| (key.clone(), value.to_string()))
                .collect();
            for (n, row) in writes.events.iter().enumerate() {
                prop_assert_eq!(row.sequence, n as i64 + 1);
                prop_assert!(!row.body.contains("temp:"));
                fold(&mut folded, &row.body);
            }
            prop_assert_eq!(last.revision, writes.events.len() as i64);
            let shown = |prefix: &str, key: &str, write: &StateWrite<'_>| {
                write.value.as_ref().map(|value| (format!("{prefix}{key}"), value.text().to_owned()))
            };
            let state: BTreeMap<String, String> = writes
                .session_state.rows.iter().filter_map(|((_, _, key), write)| shown("", key, write))
                .chain(writes.shared_state.rows.iter().filter_map(|((of, key), write)| shown(of.scope().prefix(), key, write)))
                .collect();
            prop_assert_eq!(folded, state);
        }
    }
}
