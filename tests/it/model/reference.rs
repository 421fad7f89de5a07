//! The reference model: the service's data and the effect of each request, in plain maps. It keeps everything: a
//! session has a whole [`Moment`] for each of its revisions, so reading the past is a look-up.

use std::collections::BTreeMap;
use std::ops::Range;

use super::value::{Decimal, Json, State};

/// Where a session is, by numbers. A session need not exist there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Place {
    pub app: u8,
    pub user: u8,
    pub session: u8,
}

impl Place {
    pub fn id(self) -> String {
        format!("s{}", self.session)
    }
}

/// A scope that is shared by sessions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shared {
    App,
    User,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Operator {
    Set,
    Remove,
    Increment,
    Append,
    Union,
    Max,
    Min,
    Merge,
}

impl Operator {
    pub fn word(self) -> &'static str {
        match self {
            Self::Set => "set",
            Self::Remove => "remove",
            Self::Increment => "increment",
            Self::Append => "append",
            Self::Union => "union",
            Self::Max => "max",
            Self::Min => "min",
            Self::Merge => "merge",
        }
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct Op {
    pub operator: Operator,
    pub key: String,
    /// `Null` for `remove`, which has none.
    pub value: Json,
}

#[derive(Debug, Clone, PartialEq)]
pub struct Precondition {
    pub key: String,
    pub want: Want,
}

#[derive(Debug, Clone, PartialEq)]
pub enum Want {
    Revision(i64),
    Exists(bool),
    Equals(Json),
}

/// What a request or an event asks of the state.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Change {
    pub preconditions: Vec<Precondition>,
    pub delta: State,
    pub ops: Vec<Op>,
}

/// An event as it is sent.
#[derive(Debug, Clone, PartialEq)]
pub struct Sent {
    pub id: String,
    pub author: String,
    pub invocation: String,
    pub change: Change,
    /// `actions.rewindBeforeInvocationId`, which any client may send.
    pub rewinds_before: Option<String>,
}

/// An event as it is stored.
#[derive(Debug, Clone)]
pub struct Event {
    pub sent: Sent,
    /// What it set, as it came out.
    pub delta: State,
    /// Of an event that rewinds: the last event before those that it takes back.
    pub rewinds_to: Option<i64>,
    /// Of an event that a rewind appended once more: the id of the one that it is a copy of.
    pub copy_of: Option<String>,
    /// All of its bytes, once seen: they never change, in no fork either.
    pub text: Option<String>,
}

/// Why a request does nothing.
#[derive(Debug, Clone, PartialEq)]
pub enum Refusal {
    NoSession,
    NoEvent,
    SessionExists,
    EventIdTaken,
    /// `If-Match`, or the precondition at this place.
    Precondition(Option<String>),
    /// What is at this place cannot be done.
    Invalid(String),
}

/// One scope, at one moment.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Scope {
    pub revision: i64,
    pub state: State,
    /// At which revision each key was set or removed last.
    changed: BTreeMap<String, i64>,
    /// All that each key was.
    pub past: BTreeMap<String, Vec<Past>>,
}

/// A change of a key, or what it was in the beginning.
#[derive(Debug, Clone, PartialEq)]
pub struct Past {
    pub revision: i64,
    /// `None`: it was removed.
    pub value: Option<Json>,
    pub is_base: bool,
    pub by: Option<Maker>,
}

/// The event that made a change.
#[derive(Debug, Clone, PartialEq)]
pub struct Maker {
    pub user: u8,
    pub session: String,
    pub event: String,
    pub sequence: i64,
    pub author: String,
    pub invocation: String,
}

impl Maker {
    fn of(at: Place, sent: &Sent, sequence: i64) -> Self {
        let (author, invocation) = (sent.author.clone(), sent.invocation.clone());
        Self { user: at.user, session: at.id(), event: sent.id.clone(), sequence, author, invocation }
    }
}

/// All that one session shows of state, at one moment.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Moment {
    pub session: Scope,
    pub user: Scope,
    pub app: Scope,
}

#[derive(Debug, Clone)]
pub struct Session {
    /// One for each revision. The shared scopes are as its event saw them; what they are now, the world knows.
    pub moments: Vec<Moment>,
    pub events: Vec<Event>,
    pub forked_from: Option<(u8, i64)>,
    pub display_name: Option<String>,
    /// What tells it from others of its name, once seen.
    pub incarnation: Option<String>,
}

#[derive(Debug, Default)]
pub struct World {
    apps: BTreeMap<u8, Scope>,
    users: BTreeMap<(u8, u8), Scope>,
    pub sessions: BTreeMap<Place, Session>,
}

/// The scope of a key, and the key within it. `None` for a `temp:` key, which is nowhere.
fn split(key: &str) -> Option<(&'static str, &str)> {
    for scope in ["app:", "user:"] {
        if let Some(key) = key.strip_prefix(scope) {
            return Some((scope, key));
        }
    }
    (!key.starts_with("temp:")).then_some(("", key))
}

impl Want {
    fn holds(&self, scope: &Scope, key: &str) -> bool {
        match self {
            Self::Revision(revision) => {
                *revision <= scope.revision && scope.changed.get(key).is_none_or(|changed| changed <= revision)
            }
            Self::Exists(exists) => scope.state.contains_key(key) == *exists,
            Self::Equals(value) => scope.state.get(key).is_some_and(|there| there.same(value)),
        }
    }
}

impl Op {
    /// What the key is worth after it (`None`: it is gone), or an error if what is there is of the wrong type.
    pub fn applied(&self, there: Option<&Json>) -> Result<Option<Json>, ()> {
        let number = |there: Option<&Json>| match there {
            None => Ok(None),
            Some(Json::Number(text)) => Ok(Some(Decimal::parse(text))),
            Some(_) => Err(()),
        };
        let list = |there: Option<&Json>| match there {
            None => Ok(Vec::new()),
            Some(Json::Array(elements)) => Ok(elements.clone()),
            Some(_) => Err(()),
        };
        let value = self.value.clone();
        let outcome = match (self.operator, &self.value) {
            (Operator::Remove, _) => return Ok(None),
            (Operator::Set, _) => value,
            (Operator::Increment, Json::Number(step)) => {
                let start = number(there)?.unwrap_or(Decimal::parse("0"));
                Json::Number(start.plus(Decimal::parse(step)).to_string())
            }
            (Operator::Max | Operator::Min, Json::Number(bound)) => match (number(there)?, there) {
                (Some(have), Some(there)) => {
                    let order = Decimal::parse(bound).compare(&have);
                    let replaces = if self.operator == Operator::Max { order.is_gt() } else { order.is_lt() };
                    if replaces { value } else { there.clone() }
                }
                _ => value,
            },
            (Operator::Append, Json::Array(more)) => Json::Array([list(there)?, more.clone()].concat()),
            (Operator::Union, Json::Array(more)) => {
                let mut elements = list(there)?;
                for element in more {
                    if !elements.iter().any(|known| known.same(element)) {
                        elements.push(element.clone());
                    }
                }
                Json::Array(elements)
            }
            (Operator::Merge, Json::Object(_)) => match there {
                None => Json::Object(Vec::new()).merged(&value),
                Some(there @ Json::Object(_)) => there.merged(&value),
                Some(_) => return Err(()),
            },
            _ => return Err(()),
        };
        Ok(Some(outcome))
    }
}

impl Scope {
    /// Keeps what `key` came to, as of `revision`. Removing what is not there is no change.
    fn keep(&mut self, key: &str, value: Option<Json>, revision: i64, by: Option<&Maker>) {
        let gone = self.state.remove(key).is_some();
        if gone || value.is_some() {
            self.revision = revision;
            self.changed.insert(key.to_owned(), revision);
            // Of what one request does to a shared key, the last counts.
            let past = self.past.entry(key.to_owned()).or_default();
            past.pop_if(|last| last.revision == revision);
            if value.is_some() || past.last().is_some_and(|last| last.value.is_some()) {
                let (value, is_base) = (value.clone(), revision == 0);
                past.push(Past { revision, value, is_base, by: by.cloned() });
            }
        }
        self.state.extend(value.map(|value| (key.to_owned(), value)));
    }
}

impl Moment {
    fn scope(&self, scope: &str) -> &Scope {
        match scope {
            "app:" => &self.app,
            "user:" => &self.user,
            _ => &self.session,
        }
    }

    fn value(&self, key: &str) -> Option<&Json> {
        let (scope, key) = split(key)?;
        self.scope(scope).state.get(key)
    }

    /// App and user keys with their prefix, session keys bare.
    pub fn merged(&self) -> State {
        ["app:", "user:", ""].into_iter().flat_map(|scope| self.part(scope)).collect()
    }

    /// The keys of one scope, with its prefix.
    pub fn part(&self, scope: &str) -> State {
        self.scope(scope).state.iter().map(|(key, value)| (format!("{scope}{key}"), value.clone())).collect()
    }

    /// The revision of the scope of `key`, and that at which the key was last set or removed.
    pub fn revisions(&self, key: &str) -> (i64, i64) {
        let (scope, key) = split(key).expect("a key that is stored");
        let scope = self.scope(scope);
        (scope.revision, scope.changed.get(key).copied().unwrap_or(0))
    }
}

/// A request under way: the moment that it found, and what it has made of it so far.
struct Work {
    found: Moment,
    now: Moment,
}

impl Work {
    fn on(found: Moment) -> Self {
        Self { now: found.clone(), found }
    }

    /// What is set, and where the first fault is, below the event. A shared scope moves by one per request, however
    /// many of its events change it; the session's revision is that of the event.
    fn apply(&mut self, change: &Change, revision: i64, by: Option<&Maker>) -> Result<State, Refusal> {
        for (n, Precondition { key, want }) in change.preconditions.iter().enumerate() {
            let (scope, key) = split(key).expect("a key that is stored");
            if !want.holds(self.now.scope(scope), key) {
                return Err(Refusal::Precondition(Some(format!("preconditions/{n}"))));
            }
        }
        let mut touched: State = change.delta.clone();
        touched.retain(|key, _| split(key).is_some());
        let mut touched: BTreeMap<String, Option<Json>> =
            touched.into_iter().map(|(key, value)| (key, Some(value))).collect();
        for (n, op) in change.ops.iter().enumerate() {
            let there = match touched.get(&op.key) {
                Some(value) => value.as_ref(),
                None => self.now.value(&op.key),
            };
            let value = op.applied(there).map_err(|()| Refusal::Invalid(format!("stateOps/{n}")))?;
            touched.insert(op.key.clone(), value);
        }
        self.now.session.revision = revision;
        for (key, value) in &touched {
            let (scope, key) = split(key).expect("a key that is stored");
            let (user, app) = (self.found.user.revision + 1, self.found.app.revision + 1);
            match scope {
                "app:" => self.now.app.keep(key, value.clone(), app, by),
                "user:" => self.now.user.keep(key, value.clone(), user, by),
                _ => self.now.session.keep(key, value.clone(), revision, by),
            }
        }
        Ok(touched.into_iter().filter_map(|(key, value)| Some((key, value?))).collect())
    }
}

/// The last event before those that an event takes back which comes after these and names this invocation: all from
/// its first event on. If there is no such invocation, it takes back nothing but itself.
fn rewinds_to(before: &[Event], invocation: &str) -> i64 {
    let first = before.iter().position(|event| event.sent.invocation == invocation);
    i64::try_from(first.unwrap_or(before.len())).expect("few events")
}

impl Session {
    pub fn revision(&self) -> i64 {
        self.last().session.revision
    }

    pub fn last(&self) -> &Moment {
        self.moments.last().expect("that of the creation")
    }

    /// Takes in the events of one request and what they made of the state. All of them saw the shared scopes as the
    /// whole request left them.
    fn extend(&mut self, events: Vec<(Sent, State, Scope)>, work: &Work) {
        for (sent, delta, session) in events {
            let rewinds_to = sent.rewinds_before.as_ref().map(|invocation| rewinds_to(&self.events, invocation));
            self.events.push(Event { sent, delta, rewinds_to, copy_of: None, text: None });
            self.moments.push(Moment { session, user: work.now.user.clone(), app: work.now.app.clone() });
        }
    }

    /// The events that no rewind took back, by index.
    pub fn standing(&self) -> Vec<usize> {
        shown(&self.events).0
    }

    /// What readers take back with a rewind. ADK knows whole invocations alone: if it cuts one in two, all from the first event of
    /// that invocation on, and what stays of it is appended once more. If an earlier rewind took that event back, from what that one
    /// took back on, or this one would be within it; but not where no invocation has a name.
    pub fn taken_back(&self, to: &RewindTo, target: usize) -> TakenBack {
        let named = |from: usize| self.events[from].sent.invocation.clone();
        let invocation = named(target);
        let all = TakenBack { from: target, invocation: invocation.clone(), copied: Vec::new() };
        let begin =
            self.events.iter().position(|event| event.sent.invocation == invocation).expect("that event at least");
        if matches!(to, RewindTo::Before(_)) || invocation.is_empty() || begin == target {
            return all;
        }
        let (standing, ranges) = shown(&self.events[..target]);
        let around = ranges.into_iter().find(|range| range.contains(&begin)).map(|range| range.start);
        let from = around.filter(|from| !named(*from).is_empty()).unwrap_or(begin);
        TakenBack { from, invocation: named(from), copied: standing.into_iter().filter(|at| *at >= from).collect() }
    }
}

/// What readers take back with a rewind: from an event on, the invocation that it names, and what is appended once more.
pub struct TakenBack {
    pub from: usize,
    pub invocation: String,
    pub copied: Vec<usize>,
}

/// The events that no rewind took back, by index, and the ranges of those that one did: walks back from the end, and from an event
/// that rewinds to what stood before the events that it takes back.
fn shown(events: &[Event]) -> (Vec<usize>, Vec<Range<usize>>) {
    let (mut standing, mut ranges) = (Vec::new(), Vec::new());
    let mut at = events.len();
    while at > 0 {
        match events[at - 1].rewinds_to {
            Some(before) => {
                let before = usize::try_from(before).expect("a revision");
                ranges.push(before..at);
                at = before;
            }
            None => {
                at -= 1;
                standing.push(at);
            }
        }
    }
    standing.reverse();
    (standing, ranges)
}

/// What became of one event of an append: its sequence, and whether it had been there before.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Appended {
    pub sequence: i64,
    pub replayed: bool,
}

/// The places that events take after those that are `known`; an event that is known keeps its own.
fn places<'a>(mut known: Vec<&'a Sent>, events: &'a [Sent]) -> Result<Vec<Appended>, Refusal> {
    let mut places = Vec::new();
    for sent in events {
        let place = known.iter().position(|known| known.id == sent.id);
        if place.is_some_and(|place| !sent.is_retry_of(known[place])) {
            return Err(Refusal::EventIdTaken);
        }
        places.push(Appended { sequence: place.unwrap_or(known.len()) as i64 + 1, replayed: place.is_some() });
        if place.is_none() {
            known.push(sent);
        }
    }
    Ok(places)
}

impl World {
    /// A scope that the session has in common with others.
    pub fn shared(&self, at: Place, shared: Shared) -> Scope {
        match shared {
            Shared::App => self.apps.get(&at.app).cloned(),
            Shared::User => self.users.get(&(at.app, at.user)).cloned(),
        }
        .unwrap_or_default()
    }

    fn keep(&mut self, at: Place, shared: Shared, scope: Scope) {
        match shared {
            Shared::App => self.apps.insert(at.app, scope),
            Shared::User => self.users.insert((at.app, at.user), scope),
        };
    }

    /// What a session shows right now.
    pub fn now(&self, at: Place) -> Option<Moment> {
        let session = self.sessions.get(&at)?.last().session.clone();
        Some(Moment { session, ..self.without_session(at) })
    }

    fn without_session(&self, at: Place) -> Moment {
        let (user, app) = (self.shared(at, Shared::User), self.shared(at, Shared::App));
        Moment { session: Scope::default(), user, app }
    }

    fn commit(&mut self, at: Place, work: Work) {
        self.keep(at, Shared::User, work.now.user);
        self.keep(at, Shared::App, work.now.app);
    }

    pub fn create(&mut self, at: Place, state: &State, events: &[Sent]) -> Result<(), Refusal> {
        // A body that contradicts itself is refused, whatever is there.
        let places = places(Vec::new(), events)?;
        if self.sessions.contains_key(&at) {
            return Err(Refusal::SessionExists);
        }
        let mut work = Work::on(self.without_session(at));
        work.apply(&Change { delta: state.clone(), ..Change::default() }, 0, None)?;
        let start = work.now.session.clone();
        let mut stored = Vec::new();
        for (n, Appended { sequence, replayed }) in places.into_iter().enumerate() {
            if !replayed {
                let below = |refusal: Refusal| refusal.below(&format!("/events/{n}/actions/"));
                let by = Maker::of(at, &events[n], sequence);
                let delta = work.apply(&events[n].change, sequence, Some(&by)).map_err(below)?;
                stored.push((events[n].clone(), delta, work.now.session.clone()));
            }
        }
        let mut session = Session {
            moments: vec![Moment { session: start, user: work.now.user.clone(), app: work.now.app.clone() }],
            events: Vec::new(),
            forked_from: None,
            display_name: None,
            incarnation: None,
        };
        session.extend(stored, &work);
        self.sessions.insert(at, session);
        self.commit(at, work);
        Ok(())
    }

    /// All of the events, or none. `if_match` is whether that header holds. `pointer` is the JSON pointer of what an
    /// event asks of the state, by its index.
    pub fn append(
        &mut self,
        at: Place,
        events: &[Sent],
        if_match: bool,
        pointer: impl Fn(usize) -> String,
    ) -> Result<Vec<Appended>, Refusal> {
        let now = self.now(at).ok_or(Refusal::NoSession)?;
        let known: Vec<&Sent> = self.sessions[&at].events.iter().map(|event| &event.sent).collect();
        // First of all, as a retry succeeds whatever has happened since.
        let appended = places(known, events)?;
        let fresh: Vec<_> = appended.iter().enumerate().filter(|(_, appended)| !appended.replayed).collect();
        if !fresh.is_empty() && !if_match {
            return Err(Refusal::Precondition(None));
        }
        let mut work = Work::on(now);
        let mut stored = Vec::new();
        for (n, Appended { sequence, .. }) in fresh {
            let by = Maker::of(at, &events[n], *sequence);
            let delta = work.apply(&events[n].change, *sequence, Some(&by));
            let delta = delta.map_err(|refusal| refusal.below(&pointer(n)))?;
            stored.push((events[n].clone(), delta, work.now.session.clone()));
        }
        self.sessions.entry(at).and_modify(|session| session.extend(stored, &work));
        self.commit(at, work);
        Ok(appended)
    }

    pub fn patch_shared(&mut self, at: Place, shared: Shared, change: &Change, if_match: bool) -> Result<(), Refusal> {
        if !if_match {
            return Err(Refusal::Precondition(None));
        }
        // A scope alone is a moment whose keys have no prefix.
        let found = self.shared(at, shared);
        let mut work = Work::on(Moment { session: found.clone(), ..Moment::default() });
        work.apply(change, found.revision + 1, None).map_err(|refusal| refusal.below("/"))?;
        if work.now.session.changed != found.changed {
            self.keep(at, shared, work.now.session);
        }
        Ok(())
    }

    /// A fork with the history of another session up to a revision.
    pub fn fork(&mut self, at: Place, revision: i64, to: u8) -> Result<Place, Refusal> {
        let source = self.sessions.get(&at).ok_or(Refusal::NoSession)?;
        if revision > source.revision() {
            return Err(Refusal::Invalid("atRevision".to_owned()));
        }
        let place = Place { session: to, ..at };
        if self.sessions.contains_key(&place) {
            return Err(Refusal::SessionExists);
        }
        let count = usize::try_from(revision).expect("a revision");
        let fork = Session {
            moments: source.moments[..=count].to_vec(),
            events: source.events[..count].to_vec(),
            forked_from: Some((at.session, revision)),
            display_name: source.display_name.clone(),
            incarnation: None,
        };
        self.sessions.insert(place, fork);
        Ok(place)
    }

    /// To which revision a session is to be rewound.
    pub fn rewind_target(&self, at: Place, to: &RewindTo) -> Result<i64, Refusal> {
        let session = self.sessions.get(&at).ok_or(Refusal::NoSession)?;
        match to {
            RewindTo::Revision(revision) if *revision < session.revision() => Ok(*revision),
            RewindTo::Revision(_) => Err(Refusal::Invalid("toRevision".to_owned())),
            RewindTo::Before(invocation) => {
                let target = rewinds_to(&session.events, invocation);
                if target < session.revision() { Ok(target) } else { Err(Refusal::NoEvent) }
            }
        }
    }

    /// Takes in the event that rewound a session, which says itself what it set and removed, and the copies behind it, by their ids.
    /// An error says what is wrong with that: the session keys must be as they were, and no more may be touched than has changed since.
    pub fn rewound(
        &mut self,
        at: Place,
        target: usize,
        sent: Sent,
        back: &TakenBack,
        ids: Vec<String>,
    ) -> Result<(), String> {
        let session = &self.sessions[&at];
        let then = session.moments[target].session.clone();
        let revision = i64::try_from(target).expect("a revision");
        let touched = sent.change.delta.keys().chain(sent.change.ops.iter().map(|op| &op.key));
        for key in touched {
            if session.last().session.changed.get(key).is_none_or(|changed| *changed <= revision) {
                return Err(format!("the rewind touches `{key}`, which has not changed since revision {target}"));
            }
        }
        let sources: Vec<Sent> = back.copied.iter().map(|at| session.events[*at].sent.clone()).collect();
        let copies =
            sources.iter().zip(ids).map(|(source, id)| Sent { id, change: Change::default(), ..source.clone() });
        let events: Vec<Sent> = std::iter::once(sent).chain(copies).collect();
        let if_match = true;
        self.append(at, &events, if_match, |_| String::new()).map_err(|refusal| format!("{refusal:?}"))?;
        let now = &self.sessions[&at].last().session;
        if now.state != then.state {
            return Err(format!("rewound to revision {target}: {:?} instead of {:?}", now.state, then.state));
        }
        let session = self.sessions.get_mut(&at).expect("it is there");
        let begin = session.events.len() - events.len();
        session.events[begin].rewinds_to = Some(i64::try_from(back.from).expect("a revision"));
        for (event, source) in session.events[begin + 1..].iter_mut().zip(sources) {
            event.copy_of = Some(source.id);
        }
        Ok(())
    }
}

/// Where a rewind goes.
#[derive(Debug, Clone, PartialEq)]
pub enum RewindTo {
    Revision(i64),
    Before(String),
}

impl Refusal {
    /// With the place of the fault below `pointer`.
    fn below(self, pointer: &str) -> Self {
        match self {
            Self::Precondition(Some(place)) => Self::Precondition(Some(format!("{pointer}{place}"))),
            Self::Invalid(place) => Self::Invalid(format!("{pointer}{place}")),
            other => other,
        }
    }
}

impl Sent {
    /// What there is to store of it.
    pub fn without_temp(&self) -> Self {
        let mut sent = self.clone();
        sent.change.delta.retain(|key, _| split(key).is_some());
        sent
    }

    fn is_retry_of(&self, other: &Self) -> bool {
        self.without_temp() == other.without_temp()
    }

    pub fn to_json(&self) -> Json {
        let mut actions = self.change.members();
        actions.extend(self.rewinds_before.as_deref().map(|id| ("rewindBeforeInvocationId", Json::string(id))));
        Json::object([
            ("id", Json::string(&self.id)),
            ("author", Json::string(&self.author)),
            ("invocationId", Json::string(&self.invocation)),
            ("actions", Json::object(actions)),
        ])
    }
}

impl Change {
    /// As members of a request's body, or of an event's `actions`.
    pub fn members(&self) -> Vec<(&'static str, Json)> {
        let op = |op: &Op| {
            let value = (op.operator != Operator::Remove).then(|| ("value", op.value.clone()));
            Json::object(
                [("op", Json::string(op.operator.word())), ("key", Json::string(&op.key))].into_iter().chain(value),
            )
        };
        let precondition = |Precondition { key, want }: &Precondition| {
            let want = match want {
                Want::Revision(revision) => ("revision", Json::Number(revision.to_string())),
                Want::Exists(exists) => ("exists", Json::Bool(*exists)),
                Want::Equals(value) => ("equals", value.clone()),
            };
            Json::object([("key", Json::string(key)), want])
        };
        let mut members = vec![("stateDelta", Json::Object(self.delta.clone().into_iter().collect()))];
        if !self.ops.is_empty() {
            members.push(("stateOps", Json::Array(self.ops.iter().map(op).collect())));
        }
        if !self.preconditions.is_empty() {
            members.push(("preconditions", Json::Array(self.preconditions.iter().map(precondition).collect())));
        }
        members
    }
}
