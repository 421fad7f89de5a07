//! Whether the stored state follows from the events: each session is recomputed from its events, each shared scope from its
//! log.
//!
//! Nothing here reads a database. A store passes the events of a session to a [`SessionCheck`] in order, looks up the rows that
//! the check [wants](Wanted) on the way, and then passes the rows of the state; the same for a [`ScopeCheck`]. Each difference
//! becomes a line of [`Findings`]. Lines name keys, events and revisions, never a value.

pub mod artifacts;
mod findings;

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::fmt;

use super::effective::{COMPACTION, compacts};
use super::envelope::MAX_BODY_DEPTH;
use super::event::{named_versions, stored_digest};
use super::fold::{self, Fold};
use super::history::node;
use super::ids::ArtifactName;
use super::json::Json;
use super::scope::{Scope, split};
use super::time::{Micros, Timestamp};
use artifacts::{NamedCheck, NamedSpan};
pub use findings::Findings;

/// How many lookups a check collects before it requests them: entries, and bytes of their values.
const FULL_COUNT: usize = 500;
const FULL_BYTES: usize = 1 << 20;

/// The revisions of the shared scopes that an event or a creation saw.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Seen {
    pub user: i64,
    pub app: i64,
}

impl Seen {
    fn each(self) -> [(&'static str, i64); 2] {
        [("user", self.user), ("app", self.app)]
    }
}

/// A session's row, and the revisions of its scopes at the same moment.
#[derive(Debug, Clone)]
pub struct SessionRow {
    pub revision: i64,
    /// Events up to this one were trimmed: at most their stubs are left.
    pub base: i64,
    pub create_time: Micros,
    pub update_time: Micros,
    pub update_time_number: String,
    /// Whether the list by last update has it with its update time.
    pub listed: bool,
    /// A JSON object: the state at `base`.
    pub initial_state: String,
    pub created: Seen,
    pub now: Seen,
    /// The history of the shared scopes before these revisions is unknown.
    pub floors: Seen,
    /// If the session is a fork: its events up to this one are copies.
    pub forked_revision: Option<i64>,
    /// If the session was imported: the events up to this one saw shared state of another database.
    pub imported_revision: Option<i64>,
    /// Whether the columns of the lease agree: all or none are set, and a holder has an epoch.
    pub lease_agrees: bool,
}

/// An event's row, with texts as clients see them.
#[derive(Debug, Clone)]
pub struct EventRow {
    pub sequence: i64,
    pub id: String,
    pub event_time: Micros,
    pub author: String,
    pub invocation_id: String,
    pub branch: Option<String>,
    pub saw: Seen,
    pub effect: Option<i64>,
    pub digest: Vec<u8>,
    pub body: String,
}

/// A value that was overwritten or removed, with the revisions between which it was current; stored, or expected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Span {
    pub node: i64,
    pub key: Box<str>,
    pub from: i64,
    pub to: i64,
    /// For a session only; values of a shared scope are in its log.
    pub value: Option<Box<str>>,
}

/// The result of a request at a key of a shared scope, which the scope's log has at this revision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Logged {
    pub key: Box<str>,
    pub revision: i64,
    pub left: Left,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Left {
    Value(Box<str>),
    /// Removed. If the key was missing before, the log has no row.
    Nothing,
    /// An unknown change.
    Something,
}

/// The rows to look up for a [`SessionCheck`], in a bounded number.
#[derive(Debug, Default)]
pub struct Wanted {
    pub spans: Vec<Span>,
    pub named: Vec<NamedSpan>,
    pub user_log: Vec<Logged>,
    pub app_log: Vec<Logged>,
    /// Of all values.
    bytes: usize,
}

impl Wanted {
    fn is_full(&self) -> bool {
        self.spans.len() + self.user_log.len() + self.app_log.len() >= FULL_COUNT || self.bytes >= FULL_BYTES
    }
}

/// The row of a log at a wanted key and revision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogValue {
    pub key: Box<str>,
    pub revision: i64,
    pub value: Option<Box<str>>,
}

/// The changes of a shared scope by the events of one request, so far.
#[derive(Debug, Default)]
struct Request {
    revision: i64,
    changes: BTreeMap<Box<str>, Left>,
}

impl Request {
    /// Ends the request: a later one changes the scope, or the log ends.
    fn settle(&mut self, wanted: &mut Vec<Logged>, bytes: &mut usize) {
        let revision = self.revision;
        for (key, left) in std::mem::take(&mut self.changes) {
            if let Left::Value(value) = &left {
                *bytes += value.len();
            }
            wanted.push(Logged { key, revision, left });
        }
    }
}

/// Folds one session's events over its initial state, and compares.
#[derive(Debug)]
pub struct SessionCheck {
    row: SessionRow,
    findings: Findings,
    state: Fold<String, Box<str>>,
    /// The next sequence.
    next: i64,
    saw: Seen,
    /// The last event's time, if it could be read.
    last_time: Option<Timestamp>,
    user: Request,
    app: Request,
    wanted: Wanted,
    /// The versions of artifacts that the events name.
    named: NamedCheck,
    /// How many of the expected spans were found.
    found_spans: i64,
}

impl SessionCheck {
    pub fn new(mut row: SessionRow) -> Self {
        let mut findings = Findings::default();
        let mut state = Fold::default();
        let initial = std::mem::take(&mut row.initial_state);
        match Json::parse(initial.as_bytes(), MAX_BODY_DEPTH).ok().and_then(Json::as_object) {
            Some(members) => {
                for member in members {
                    state.change(&*member.key, Some(member.value.text().into()), row.base);
                }
            }
            None => findings.note(|| "the initial state is no JSON object".to_owned()),
        }
        if !row.lease_agrees {
            findings.note(|| "the columns of the lease do not agree".to_owned());
        }
        let is_imported = row.imported_revision.is_some_and(|last| last >= row.base);
        let created = if is_imported { Seen::default() } else { row.created };
        for ((scope, created), (_, now)) in created.each().into_iter().zip(row.now.each()) {
            if created > now {
                findings.note(|| format!("created at revision {created} of the {scope} state, which is at {now}"));
            }
        }
        Self {
            findings,
            state,
            next: row.base + 1,
            saw: created,
            last_time: None,
            user: Request::default(),
            app: Request::default(),
            wanted: Wanted::default(),
            named: NamedCheck::new(row.base),
            found_spans: 0,
            row,
        }
    }

    /// The next event of the log, in sequence order, from the very first row on.
    pub fn event(&mut self, event: &EventRow) {
        let n = event.sequence;
        if n < 1 || n > self.row.revision {
            let revision = self.row.revision;
            self.findings.note(|| format!("event {n} is not one of 1 to {revision}"));
            return;
        }
        if n <= self.row.base {
            return;
        }
        self.missing(n - 1);
        self.next = n + 1;
        self.revisions(event);
        let body = Json::parse(event.body.as_bytes(), MAX_BODY_DEPTH).ok().and_then(Body::of);
        self.last_time = None;
        let Some(body) = body else {
            self.findings.note(|| format!("event {n}: the body is no event in JSON"));
            return;
        };
        self.columns(event, &body);
        self.named.event(n, &body.named);
        for key in &body.removed {
            self.change(event, key, None);
        }
        for (key, value) in &body.set {
            self.change(event, key, Some(value.text()));
        }
        self.last_time = body.timestamp;
    }

    /// Notes that the events from `next` to `last` are missing, if there are any.
    fn missing(&mut self, last: i64) {
        let first = self.next;
        if first == last {
            self.findings.note(|| format!("event {first} is missing"));
        } else if first < last {
            self.findings.note(|| format!("events {first} to {last} are missing"));
        }
    }

    /// The revisions of the shared scopes that the events of a session saw never go back.
    fn revisions(&mut self, event: &EventRow) {
        let n = event.sequence;
        if self.row.imported_revision.is_some_and(|last| n <= last) {
            return;
        }
        let known = self.saw.each().into_iter().zip(self.row.now.each());
        for ((scope, saw), ((_, before), (_, now))) in event.saw.each().into_iter().zip(known) {
            if saw < before {
                self.findings.note(|| format!("event {n}: {scope}_revision is {saw}, and was {before} before"));
            }
            if saw > now {
                self.findings
                    .note(|| format!("event {n}: {scope}_revision is {saw}, and the {scope} state is at {now}"));
            }
        }
        self.saw = event.saw;
    }

    /// Compares the columns with the body.
    fn columns(&mut self, event: &EventRow, body: &Body<'_>) {
        let n = event.sequence;
        let time = body.timestamp.as_ref().map(|time| time.micros);
        for (name, agrees) in [
            ("id", body.id.as_deref() == Some(&*event.id)),
            ("timestamp", time == Some(event.event_time)),
            ("author", body.author.as_deref().unwrap_or_default() == event.author),
            ("invocationId", body.invocation_id.as_deref().unwrap_or_default() == event.invocation_id),
            ("branch", body.branch.as_deref() == event.branch.as_deref()),
            // For an event with operators the digest is of the client's content, and the body has the results; for a redacted one, too,
            // and the body has next to nothing.
            (
                "digest",
                body.resolved
                    || body.is_redacted
                    || stored_digest(&event.body).is_some_and(|digest| digest == *event.digest),
            ),
        ] {
            if !agrees {
                self.findings
                    .note(|| format!("event {n}: the {name} of the body is not the one that was stored with it"));
            }
        }
        if (event.effect == Some(COMPACTION)) != (body.compacts && !body.rewinds) {
            self.findings
                .note(|| format!("event {n}: it is stored as a compaction and is none, or the other way round"));
        }
        if let Some(other) = body.others.first().filter(|_| body.is_redacted) {
            self.findings.note(|| format!("event {n}: it is redacted, and has {other:?}"));
        }
        match event.effect.filter(|to| *to != COMPACTION) {
            Some(to) if !(0..n).contains(&to) => {
                self.findings.note(|| format!("event {n}: it rewinds to {to}, which is not before it"));
            }
            Some(to) if !body.rewinds && !body.rewinds_to(to) => {
                self.findings.note(|| format!("event {n}: it is stored as one that rewinds, and is none"));
            }
            None if body.rewinds => {
                self.findings.note(|| format!("event {n}: it rewinds, and is not stored as one that does"));
            }
            _ => {}
        }
    }

    fn change(&mut self, event: &EventRow, key: &str, value: Option<&str>) {
        let Some((scope, key)) = split(key) else {
            let n = event.sequence;
            return self.findings.note(|| format!("event {n}: a `temp:` key was stored"));
        };
        let Wanted { user_log, app_log, bytes, .. } = &mut self.wanted;
        let (request, revision, wanted) = match scope {
            Scope::Session => return self.change_session(event.sequence, key, value),
            Scope::User | Scope::App if self.row.imported_revision.is_some_and(|last| event.sequence <= last) => return,
            Scope::User => (&mut self.user, event.saw.user, user_log),
            Scope::App => (&mut self.app, event.saw.app, app_log),
        };
        if request.revision != revision {
            request.settle(wanted, bytes);
            request.revision = revision;
        }
        // The copied part of a fork may end in the middle of a request, whose later events are not in this log.
        let copied = self.row.forked_revision.is_some_and(|last| event.sequence <= last);
        let left = match value {
            Some(_) if copied => Left::Something,
            Some(value) => Left::Value(value.into()),
            None if copied => return drop(request.changes.remove(key)),
            None => Left::Nothing,
        };
        request.changes.insert(key.into(), left);
    }

    fn change_session(&mut self, revision: i64, key: &str, value: Option<&str>) {
        let Some(span) = self.state.change(key, value.map(Into::into), revision) else { return };
        let fold::Span { key, from, to, value } = span;
        if from == self.row.base && from > 0 {
            // The event that wrote it is unknown, so its span can only be counted.
            self.found_spans += 1;
            return;
        }
        self.wanted.bytes += value.len();
        self.wanted.spans.push(Span { node: node(from, to), key: key.into(), from, to, value: Some(value) });
    }

    /// The rows to look up, if there are many by now; answered with [`Self::found`].
    pub fn wanted_if_full(&mut self) -> Option<Wanted> {
        (self.wanted.is_full() || self.named.waiting() >= FULL_COUNT).then(|| self.wanted())
    }

    /// The rows to look up; answered with [`Self::found`].
    pub fn wanted(&mut self) -> Wanted {
        let mut wanted = std::mem::take(&mut self.wanted);
        wanted.named = self.named.wanted();
        wanted
    }

    /// The rows found, in any order: spans by nodes and keys of the wanted ones, and rows of the logs by keys and revisions.
    pub fn found(
        &mut self,
        wanted: &Wanted,
        spans: &[Span],
        named: &[NamedSpan],
        user_log: &[LogValue],
        app_log: &[LogValue],
    ) {
        self.named.found(&mut self.findings, &wanted.named, named);
        self.found_spans += compare_spans(&mut self.findings, &wanted.spans, spans);
        compare_log(&mut self.findings, "user", self.row.floors.user, &wanted.user_log, user_log);
        compare_log(&mut self.findings, "app", self.row.floors.app, &wanted.app_log, app_log);
    }

    /// After the last event: checks the end of the log.
    pub fn end_of_events(&mut self) {
        self.missing(self.row.revision);
        let Wanted { user_log, app_log, bytes, .. } = &mut self.wanted;
        self.user.settle(user_log, bytes);
        self.app.settle(app_log, bytes);
        let agrees = if self.row.revision == 0 {
            let created = Timestamp::from(self.row.create_time);
            self.row.update_time == created.micros && self.row.update_time_number == created.number.text()
        } else {
            // A missing or unreadable event is reported by itself.
            let whole = self.next > self.row.revision && self.row.revision > self.row.base;
            self.last_time.as_ref().filter(|_| whole).is_none_or(|last| {
                self.row.update_time == last.micros && self.row.update_time_number == last.number.text()
            })
        };
        if !agrees {
            self.findings.note(|| "the update time is not that of the last event, or of the creation".to_owned());
        }
        if !self.row.listed {
            self.findings.note(|| "the list by last update does not have it at its update time".to_owned());
        }
    }

    /// A row of the session's state, after [`Self::end_of_events`].
    pub fn state(&mut self, key: &str, value: &str, revision: i64) {
        match self.state.now.remove(key) {
            None => self.findings.note(|| format!("key {key:?}: it is in the state, and should not be")),
            Some(expected) => {
                let by = WrittenBy { revision: expected.since, base: self.row.base };
                let is_base = expected.since == self.row.base && (0..=self.row.base).contains(&revision);
                if *expected.value != *value {
                    self.findings.note(|| format!("key {key:?}: the state has not the value of {by}"));
                }
                if expected.since != revision && !is_base {
                    self.findings.note(|| format!("key {key:?}: the state has revision {revision}, not that of {by}"));
                }
            }
        }
    }

    /// A version that events named at the base, and another one from a later event on, after [`Self::end_of_events`].
    pub fn named_at_base(&mut self, name: &str, to: i64) {
        self.named.held_at_base(&mut self.findings, name, to);
    }

    /// The version of an artifact that events name last, after [`Self::end_of_events`].
    pub fn named(&mut self, name: &str, version: i64, revision: i64) {
        self.named.state(&mut self.findings, name, version, revision);
    }

    /// After the last row of state, and the last answer; `spans` is the number of the session's spans that end after its base,
    /// `named` that of its spans of versions that begin after it.
    pub fn finish(mut self, spans: i64, named: i64) -> Findings {
        for (key, expected) in &self.state.now {
            let by = WrittenBy { revision: expected.since, base: self.row.base };
            self.findings.note(|| format!("key {key:?}: the state lacks it, as it was left by {by}"));
        }
        more_spans(&mut self.findings, spans - self.found_spans);
        self.named.finish(&mut self.findings, named);
        self.findings
    }
}

/// Who wrote a session's key last.
struct WrittenBy {
    revision: i64,
    base: i64,
}

impl fmt::Display for WrittenBy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.revision {
            0 => f.write_str("the creation"),
            n if n == self.base => f.write_str("the events that were trimmed"),
            n => write!(f, "event {n}"),
        }
    }
}

/// The content of a stored event.
struct Body<'a> {
    id: Option<Cow<'a, str>>,
    timestamp: Option<Timestamp>,
    author: Option<Cow<'a, str>>,
    invocation_id: Option<Cow<'a, str>>,
    branch: Option<Cow<'a, str>>,
    /// It has operators.
    resolved: bool,
    /// Whether it names an invocation to rewind to.
    rewinds: bool,
    compacts: bool,
    /// The revision to which it rewinds, if the invocation has no name.
    rewound_to: Option<Json<'a>>,
    /// Applied before `set`, as readers do.
    removed: BTreeSet<Cow<'a, str>>,
    set: Vec<(Cow<'a, str>, Json<'a>)>,
    /// The versions of artifacts that it names.
    named: Vec<(ArtifactName, i64)>,
    is_redacted: bool,
    /// The names of members that a redacted event has not.
    others: Vec<Cow<'a, str>>,
}

impl<'a> Body<'a> {
    fn of(json: Json<'a>) -> Option<Self> {
        let mut body = Self {
            id: None,
            timestamp: None,
            author: None,
            invocation_id: None,
            branch: None,
            resolved: false,
            rewinds: false,
            compacts: false,
            rewound_to: None,
            removed: BTreeSet::new(),
            set: Vec::new(),
            named: Vec::new(),
            is_redacted: false,
            others: Vec::new(),
        };
        for member in json.as_object()? {
            match &*member.key {
                "id" => body.id = member.value.as_str(),
                "timestamp" => body.timestamp = Timestamp::parse(member.value).ok(),
                "author" => body.author = member.value.as_str(),
                "invocationId" => body.invocation_id = member.value.as_str(),
                "branch" => body.branch = member.value.as_str(),
                "actions" => body.actions(member.value),
                "customMetadata" => body.rewound_to = member.value.get("rewindToRevision"),
                "redacted" => body.is_redacted = true,
                _ => body.others.push(member.key),
            }
        }
        Some(body)
    }

    fn rewinds_to(&self, revision: i64) -> bool {
        self.rewound_to.is_some_and(|to| to.text() == revision.to_string())
    }

    fn actions(&mut self, actions: Json<'a>) {
        self.compacts = compacts(actions);
        for member in actions.as_object().into_iter().flatten() {
            match &*member.key {
                "stateDelta" => {
                    self.set = member.value.as_object().into_iter().flatten().map(|m| (m.key, m.value)).collect();
                }
                "stateOps" => {
                    self.resolved = !member.value.is_null();
                    let ops = member.value.as_array().into_iter().flatten();
                    let removed = ops.filter(|op| op.get("op").and_then(Json::as_str).as_deref() == Some("remove"));
                    self.removed = removed.filter_map(|op| op.get("key").and_then(Json::as_str)).collect();
                }
                "artifactDelta" => self.named = named_versions(member.value),
                "rewindBeforeInvocationId" => self.rewinds = member.value.as_str().is_some_and(|id| !id.is_empty()),
                _ => {}
            }
        }
    }
}

/// Compares the expected spans with their rows; returns the number of rows.
fn compare_spans(findings: &mut Findings, wanted: &[Span], found: &[Span]) -> i64 {
    let found: HashMap<(i64, &str), &Span> = found.iter().map(|span| ((span.node, &*span.key), span)).collect();
    for Span { node, key, from, to, value } in wanted {
        let fault = match found.get(&(*node, &**key)) {
            None => "is missing",
            Some(row) if (row.from, row.to) != (*from, *to) => "has other bounds",
            Some(row) if row.value != *value => "has another value",
            Some(_) => continue,
        };
        findings.note(|| format!("key {key:?}: its span from {from} to {to} {fault}"));
    }
    found.len() as i64
}

/// Compares the results of requests with the rows of a scope's log. Rows up to its floor may be missing.
fn compare_log(findings: &mut Findings, scope: &str, floor: i64, wanted: &[Logged], found: &[LogValue]) {
    let found: HashMap<(&str, i64), &LogValue> = found.iter().map(|row| ((&*row.key, row.revision), row)).collect();
    for Logged { key, revision, left } in wanted {
        let fault = match (left, found.get(&(&**key, *revision)).map(|row| &row.value)) {
            (Left::Value(_) | Left::Something, None) if *revision > floor => "lacks",
            (Left::Value(value), Some(logged)) if logged.as_ref() != Some(value) => "has another value for",
            (Left::Nothing, Some(Some(_))) => "has a value for",
            _ => continue,
        };
        let key = format!("{scope}:{key}");
        findings
            .note(|| format!("key {key:?}: the {scope} log {fault} what an event did to it at revision {revision}"));
    }
}

fn more_spans(findings: &mut Findings, count: i64) {
    if count > 0 {
        findings.note(|| format!("spans without a value that was overwritten or removed: {count}"));
    }
    if count < 0 {
        findings.note(|| format!("values that were overwritten or removed, without a span: {}", -count));
    }
}

/// A row of a shared scope's log, with the state at its key.
#[derive(Debug, Clone)]
pub struct LogRow {
    pub key: String,
    pub revision: i64,
    pub removed: bool,
    /// The revision of the key's row of state, if there is one, and whether it has the log's value.
    pub state: Option<(i64, bool)>,
}

/// Compares a shared scope's state and spans with its log.
#[derive(Debug)]
pub struct ScopeCheck {
    findings: Findings,
    /// `None` if it is not known.
    revision: Option<i64>,
    floor: i64,
    /// The history before this revision is incomplete: an import is still writing it, or was interrupted.
    imported: i64,
    last: Option<LogRow>,
    /// The revisions in the log, one bit each, 64 to an entry.
    logged: BTreeMap<i64, u64>,
    spans: Vec<Span>,
    found_spans: i64,
    keys: u64,
}

impl ScopeCheck {
    /// `revision` is that of the scope's row, if there is one. The log may lack rows before `floor`, and may be incomplete before
    /// `imported`.
    pub fn new(revision: Option<i64>, floor: i64, imported: i64) -> Self {
        let mut findings = Findings::default();
        if revision.is_none() {
            findings.note(|| "its row of the scope's revision is missing".to_owned());
        }
        Self {
            findings,
            revision,
            floor,
            imported,
            last: None,
            logged: BTreeMap::new(),
            spans: Vec::new(),
            found_spans: 0,
            keys: 0,
        }
    }

    /// The next row of the log, in order of key and revision.
    pub fn log(&mut self, row: LogRow) {
        let n = row.revision;
        match self.revision {
            Some(revision) if n < 1 || n > revision => self
                .findings
                .note(|| format!("key {:?}: the log has revision {n}, not one of 1 to {revision}", row.key)),
            Some(_) if n > self.floor => *self.logged.entry(n / 64).or_default() |= 1 << (n % 64),
            _ => {}
        }
        match self.last.take() {
            Some(last) if last.key == row.key => {
                if !last.removed && n > self.floor {
                    let (from, to) = (last.revision, n);
                    let span = Span { node: node(from, to), key: last.key.into(), from, to, value: None };
                    self.spans.push(span);
                }
            }
            last => self.conclude(last),
        }
        self.last = Some(row);
    }

    /// The last row of a key must agree with the state.
    fn conclude(&mut self, last: Option<LogRow>) {
        let Some(LogRow { key, revision, removed, state }) = last else { return };
        self.keys += u64::from(!removed);
        let fault = match state {
            None if removed || revision < self.imported => return,
            None => format!("the state lacks it, and the log has it at revision {revision}"),
            Some(_) if removed => format!("it is in the state, and the log says that revision {revision} removed it"),
            Some((at, _)) if at != revision => format!("the state has revision {at}, the log {revision}"),
            Some((_, false)) => format!("the state has not the value that the log has at revision {revision}"),
            Some((_, true)) => return,
        };
        self.findings.note(|| format!("key {key:?}: {fault}"));
    }

    /// Spans to be looked up; answered with [`Self::found`]. Call it after each page of the log.
    pub fn wanted(&mut self) -> Vec<Span> {
        std::mem::take(&mut self.spans)
    }

    /// The rows found by the nodes and keys of the wanted ones, in any order.
    pub fn found(&mut self, wanted: &[Span], found: &[Span]) {
        self.found_spans += compare_spans(&mut self.findings, wanted, found);
    }

    /// After the last row of the log.
    pub fn end_of_log(&mut self) {
        let last = self.last.take();
        self.conclude(last);
        let revision = self.revision.unwrap_or(0).max(0);
        let present: u64 = self.logged.values().map(|bits| u64::from(bits.count_ones())).sum();
        let floor = self.floor.clamp(0, revision);
        let absent = (revision - floor).unsigned_abs().saturating_sub(present);
        if absent > 0 {
            let first = (floor + 1..=revision).find(|n| !self.has_logged(*n)).unwrap_or_default();
            self.findings.note(|| format!("revisions that are not in the log: {absent}, the first of them {first}"));
        }
    }

    fn has_logged(&self, revision: i64) -> bool {
        self.logged.get(&(revision / 64)).is_some_and(|bits| bits >> (revision % 64) & 1 == 1)
    }

    /// A key of the state without any row in the log.
    pub fn unlogged(&mut self, key: &str) {
        self.findings.note(|| format!("key {key:?}: it is in the state, and not in the log"));
    }

    /// After the last answer; `spans` is the number of the scope's spans.
    pub fn finish(mut self, spans: i64) -> (Findings, u64) {
        more_spans(&mut self.findings, spans - self.found_spans);
        (self.findings, self.keys)
    }
}

#[cfg(test)]
mod tests {
    use super::findings::MAX_LINES;
    use super::*;
    use crate::domain::Limits;
    use crate::domain::event::EventDraft;
    use crate::domain::ids::EventId;

    /// A session with all that is stored of it.
    struct Stored {
        row: SessionRow,
        events: Vec<EventRow>,
        state: Vec<(&'static str, &'static str, i64)>,
        spans: Vec<Span>,
        user_log: Vec<LogValue>,
        app_log: Vec<LogValue>,
    }

    fn event(sequence: i64, user: i64, app: i64, actions: &str) -> EventRow {
        let body = format!(r#"{{"id":"e{sequence}","timestamp":{sequence}.50,"author":"a","actions":{{{actions}}}}}"#);
        let draft = EventDraft::parse(Json::trusted(&body), "", None, &Limits::default()).unwrap();
        let event = draft.seal(EventId::parse("none").unwrap(), Micros(0));
        EventRow {
            sequence,
            id: format!("e{sequence}"),
            event_time: Micros(sequence * 1_000_000 + 500_000),
            author: "a".to_owned(),
            invocation_id: String::new(),
            branch: None,
            saw: Seen { user, app },
            effect: None,
            digest: event.digest.to_vec(),
            body: event.body.to_string(),
        }
    }

    fn span(key: &str, from: i64, to: i64, value: &str) -> Span {
        Span { node: node(from, to), key: key.into(), from, to, value: Some(value.into()) }
    }

    fn logged(key: &str, revision: i64, value: Option<&str>) -> LogValue {
        LogValue { key: key.into(), revision, value: value.map(Box::from) }
    }

    fn sample() -> Stored {
        Stored {
            row: SessionRow {
                revision: 4,
                base: 0,
                create_time: Micros(7),
                update_time: Micros(4_500_000),
                update_time_number: "4.50".to_owned(),
                listed: true,
                initial_state: r#"{"a": 0,"b":[1.0]}"#.to_owned(),
                created: Seen { user: 2, app: 0 },
                now: Seen { user: 5, app: 1 },
                floors: Seen::default(),
                forked_revision: None,
                imported_revision: None,
                lease_agrees: true,
            },
            events: vec![
                event(1, 3, 0, r#""stateDelta":{"a":1,"user:u":1}"#),
                event(2, 3, 0, r#""stateDelta":{"user:u":2}"#),
                event(3, 4, 1, r#""stateDelta":{"a":3,"app:x":"y"},"stateOps":[{"op":"remove","key":"user:u"}]"#),
                event(4, 4, 1, r#""stateDelta":{"c":null},"stateOps":[{"op":"remove","key":"b"}]"#),
            ],
            state: vec![("a", "3", 3), ("c", "null", 4)],
            spans: vec![span("a", 0, 1, "0"), span("a", 1, 3, "1"), span("b", 0, 4, "[1.0]")],
            user_log: vec![logged("u", 3, Some("2")), logged("u", 4, None), logged("u", 5, Some("9"))],
            app_log: vec![logged("x", 1, Some("\"y\""))],
        }
    }

    fn at<'a>(log: &'a [LogValue], wanted: &'a [Logged]) -> impl Iterator<Item = LogValue> + 'a {
        let wants = |row: &&LogValue| wanted.iter().any(|w| w.key == row.key && w.revision == row.revision);
        log.iter().filter(wants).cloned()
    }

    fn findings(stored: &Stored) -> Findings {
        let mut check = SessionCheck::new(stored.row.clone());
        let answer = |check: &mut SessionCheck, wanted: Wanted| {
            let wants = |row: &&Span| wanted.spans.iter().any(|w| w.node == row.node && w.key == row.key);
            let spans: Vec<Span> = stored.spans.iter().filter(wants).cloned().collect();
            let user_log: Vec<LogValue> = at(&stored.user_log, &wanted.user_log).collect();
            let app_log: Vec<LogValue> = at(&stored.app_log, &wanted.app_log).collect();
            check.found(&wanted, &spans, &[], &user_log, &app_log);
        };
        for event in &stored.events {
            check.event(event);
            let wanted = check.wanted();
            answer(&mut check, wanted);
        }
        check.end_of_events();
        let wanted = check.wanted();
        answer(&mut check, wanted);
        stored.state.iter().for_each(|(key, value, revision)| check.state(key, value, *revision));
        check.finish(stored.spans.len() as i64, 0)
    }

    #[track_caller]
    fn differs(damage: impl FnOnce(&mut Stored), lines: &[&str]) {
        let mut stored = sample();
        damage(&mut stored);
        assert_eq!(findings(&stored).lines, lines);
    }

    #[test]
    fn what_the_events_say_is_no_difference() {
        differs(|_| {}, &[]);
        let empty = |stored: &mut Stored| {
            stored.events.clear();
            stored.spans.clear();
            stored.state = vec![("a", "0", 0), ("b", "[1.0]", 0)];
            let Stored { row, .. } = stored;
            (row.revision, row.update_time, row.update_time_number) = (0, Micros(7), "0.000007".to_owned());
        };
        differs(empty, &[]);
    }

    #[test]
    fn a_gap_in_the_log_is_found() {
        let missing = "event 2 is missing";
        let log = r#"key "user:u": the user log has another value for what an event did to it at revision 3"#;
        differs(|s| drop(s.events.remove(1)), &[missing, log]);
        differs(
            |s| s.events.truncate(2),
            &[
                "events 3 to 4 are missing",
                r#"key "a": the state has not the value of event 1"#,
                r#"key "a": the state has revision 3, not that of event 1"#,
                r#"key "c": it is in the state, and should not be"#,
                r#"key "b": the state lacks it, as it was left by the creation"#,
                "spans without a value that was overwritten or removed: 2",
            ],
        );
        differs(|s| s.row.revision = 5, &["event 5 is missing"]);
        differs(|s| s.events.push(event(5, 4, 1, "")), &["event 5 is not one of 1 to 4"]);
        differs(|s| s.events.insert(0, event(0, 4, 1, "")), &["event 0 is not one of 1 to 4"]);
    }

    #[test]
    fn a_changed_event_is_found() {
        let changed = |s: &mut Stored| s.events[0].body = s.events[0].body.replace("\"a\":1", "\"a\":7");
        let span = r#"key "a": its span from 1 to 3 has another value"#;
        let digest = "event 1: the digest of the body is not the one that was stored with it";
        differs(changed, &[digest, span]);
        let redone = |s: &mut Stored| s.events[0] = event(1, 3, 0, r#""stateDelta":{"a":7,"user:u":1}"#);
        differs(redone, &[span]);
        differs(
            |s| s.events[3].body.truncate(20),
            &[
                "event 4: the body is no event in JSON",
                r#"key "c": it is in the state, and should not be"#,
                r#"key "b": the state lacks it, as it was left by the creation"#,
                "spans without a value that was overwritten or removed: 1",
            ],
        );
        for (field, damage) in [
            ("id", (|e| e.id = "f".to_owned()) as fn(&mut EventRow)),
            ("timestamp", |e| e.event_time = Micros(1)),
            ("author", |e| e.author.clear()),
            ("invocationId", |e| e.invocation_id = "i".to_owned()),
            ("branch", |e| e.branch = Some(String::new())),
            ("digest", |e| e.digest.truncate(31)),
        ] {
            let line = format!("event 2: the {field} of the body is not the one that was stored with it");
            differs(|s| damage(&mut s.events[1]), &[&line]);
        }
    }

    #[test]
    fn a_redacted_event_has_nothing_else_and_its_values_are_gone() {
        let redacted = |s: &mut Stored, more: &str| {
            let ops = r#"[{"op":"remove","key":"a"},{"op":"remove","key":"user:u"}]"#;
            s.events[0].body = format!(
                r#"{{"id":"e1","timestamp":1.50,"author":"a"{more},"actions":{{"stateDelta":{{}},"stateOps":{ops}}},"redacted":{{"time":1}}}}"#
            );
        };
        let taken = |s: &mut Stored| s.spans.retain(|span| span.from != 1);
        let both = |s: &mut Stored, more: &str| {
            redacted(s, more);
            taken(s);
        };
        differs(|s| both(s, ""), &[]);
        differs(|s| both(s, r#","content":1"#), &[r#"event 1: it is redacted, and has "content""#]);
        differs(|s| redacted(s, ""), &["spans without a value that was overwritten or removed: 1"]);
        differs(taken, &[r#"key "a": its span from 1 to 3 is missing"#]);
        // Of a shared scope the log has a removal.
        let of_scope = |s: &mut Stored, value: Option<&str>| {
            let ops = r#"[{"op":"remove","key":"user:u"},{"op":"remove","key":"app:x"}]"#;
            s.events[2].body = format!(
                r#"{{"id":"e3","timestamp":3.50,"author":"a","actions":{{"stateDelta":{{"a":3}},"stateOps":{ops}}},"redacted":{{}}}}"#
            );
            s.app_log[0].value = value.map(Box::from);
        };
        differs(|s| of_scope(s, None), &[]);
        let kept = r#"key "app:x": the app log has a value for what an event did to it at revision 1"#;
        differs(|s| of_scope(s, Some("1")), &[kept]);
    }

    #[test]
    fn changed_state_is_found() {
        differs(|s| s.state[0].1 = "4", &[r#"key "a": the state has not the value of event 3"#]);
        differs(|s| s.state[0].2 = 1, &[r#"key "a": the state has revision 1, not that of event 3"#]);
        differs(|s| s.state.truncate(1), &[r#"key "c": the state lacks it, as it was left by event 4"#]);
        differs(|s| s.state.push(("d", "1", 4)), &[r#"key "d": it is in the state, and should not be"#]);
        differs(
            |s| s.row.initial_state.clear(),
            &["the initial state is no JSON object", "spans without a value that was overwritten or removed: 2"],
        );
        let time = "the update time is not that of the last event, or of the creation";
        differs(|s| s.row.update_time = Micros(4_500_001), &[time]);
        differs(|s| s.row.update_time_number = "4.5".to_owned(), &[time]);
        differs(|s| s.row.lease_agrees = false, &["the columns of the lease do not agree"]);
        differs(|s| s.row.listed = false, &["the list by last update does not have it at its update time"]);
    }

    #[test]
    fn changed_spans_are_found() {
        differs(|s| drop(s.spans.remove(1)), &[r#"key "a": its span from 1 to 3 is missing"#]);
        differs(|s| s.spans[2].value = None, &[r#"key "b": its span from 0 to 4 has another value"#]);
        differs(|s| s.spans[2].from = 3, &[r#"key "b": its span from 0 to 4 has other bounds"#]);
        let more = "spans without a value that was overwritten or removed: 1";
        differs(|s| s.spans.push(span("a", 3, 4, "3")), &[more]);
        differs(|s| s.spans[2].node = 3, &[r#"key "b": its span from 0 to 4 is missing"#, more]);
    }

    #[test]
    fn scopes_that_went_back_are_found() {
        differs(
            |s| s.row.now.user = 3,
            &[
                "event 3: user_revision is 4, and the user state is at 3",
                "event 4: user_revision is 4, and the user state is at 3",
            ],
        );
        differs(
            |s| s.row.created.user = 6,
            &[
                "created at revision 6 of the user state, which is at 5",
                "event 1: user_revision is 3, and was 6 before",
            ],
        );
        differs(|s| s.events[3].saw.app = 0, &["event 4: app_revision is 0, and was 1 before"]);
        let line = |log, what, revision| {
            format!(
                r#"key "{log}:{}": the {log} log {what} what an event did to it at revision {revision}"#,
                if log == "user" { "u" } else { "x" }
            )
        };
        differs(|s| s.user_log[0].value = Some("1".into()), &[&line("user", "has another value for", 3)]);
        differs(|s| s.user_log[1].value = Some("1".into()), &[&line("user", "has a value for", 4)]);
        differs(|s| drop(s.user_log.remove(1)), &[]);
        differs(|s| s.app_log.clear(), &[&line("app", "lacks", 1)]);
        let forgotten = |s: &mut Stored| {
            s.row.floors = Seen { user: 4, app: 1 };
            s.app_log.clear();
            s.user_log.drain(..2);
        };
        differs(forgotten, &[]);
    }

    #[test]
    fn a_fork_may_begin_within_a_request() {
        let forked = |s: &mut Stored| {
            s.row.forked_revision = Some(3);
            s.user_log[0].value = Some("3".into());
            s.user_log[1].value = Some("3".into());
        };
        differs(forked, &[]);
        let damaged = |s: &mut Stored| {
            forked(s);
            s.user_log.remove(0);
        };
        differs(damaged, &[r#"key "user:u": the user log lacks what an event did to it at revision 3"#]);
    }

    #[test]
    fn rewinds_are_stored_as_such() {
        let rewind = r#""stateDelta":{"c":null},"stateOps":[{"op":"remove","key":"b"}],"rewindBeforeInvocationId":"i""#;
        let of = |actions: &'static str, to| {
            move |s: &mut Stored| s.events[3] = EventRow { effect: to, ..event(4, 4, 1, actions) }
        };
        differs(of(rewind, Some(3)), &[]);
        differs(of(rewind, Some(4)), &["event 4: it rewinds to 4, which is not before it"]);
        differs(of(rewind, None), &["event 4: it rewinds, and is not stored as one that does"]);
        differs(|s| s.events[0].effect = Some(0), &["event 1: it is stored as one that rewinds, and is none"]);
        let blank: &str = &rewind.replace("\"i\"", "\"\"");
        differs(|s| s.events[3] = event(4, 4, 1, blank), &[]);
        // To a revision, and the events after it belong to no invocation.
        let rewound = |to: i64| {
            move |s: &mut Stored| {
                s.events[3] = EventRow { effect: Some(1), ..event(4, 4, 1, blank) };
                let metadata = format!("{{\"customMetadata\":{{\"rewindToRevision\":{to}}},");
                s.events[3].body = s.events[3].body.replacen('{', &metadata, 1);
            }
        };
        differs(rewound(1), &[]);
        differs(rewound(2), &["event 4: it is stored as one that rewinds, and is none"]);
    }

    #[test]
    fn the_versions_that_events_name_are_checked() {
        let named = |s: &mut Stored| {
            s.events[3] = event(
                4,
                4,
                1,
                r#""stateDelta":{"c":null},"stateOps":[{"op":"remove","key":"b"}],"artifactDelta":{"f":2,"odd":"x"}"#,
            )
        };
        differs(named, &["artifact \"f\": what event 4 names is lacking"]);
    }

    #[test]
    fn one_broken_session_does_not_fill_the_report() {
        let mut stored = sample();
        stored.state.extend((0..100).map(|n| ("z", "1", n)));
        let findings = findings(&stored);
        assert_eq!((findings.lines.len(), findings.count), (MAX_LINES, 100));
    }

    /// `(key, revision, removed)`, with the state that follows from them, and the revision of the scope.
    fn scope(
        log: &[(&str, i64, bool)],
        revision: Option<i64>,
        spans: &[(&str, i64, i64)],
        more: i64,
    ) -> (Vec<String>, u64) {
        let mut check = ScopeCheck::new(revision, 0, 0);
        for (key, revision, removed) in log {
            let last = log.iter().rev().find(|(other, ..)| other == key).filter(|(.., removed)| !removed);
            let state = last.map(|(_, at, _)| (*at, true));
            check.log(LogRow { key: (*key).to_owned(), revision: *revision, removed: *removed, state });
        }
        check.end_of_log();
        let wanted = check.wanted();
        let all: Vec<Span> =
            spans.iter().map(|(key, from, to)| Span { value: None, ..span(key, *from, *to, "") }).collect();
        check.found(&wanted, &all);
        let (findings, keys) = check.finish(all.len() as i64 + more);
        (findings.lines, keys)
    }

    #[test]
    fn a_scope_is_what_its_log_says() {
        let log = [("a", 1, false), ("a", 3, false), ("a", 4, true), ("a", 70, false), ("b", 2, false), ("c", 2, true)];
        let log: Vec<_> = log.into_iter().chain((5..70).map(|n| ("d", n, false))).collect();
        let mut spans: Vec<_> = (5..69).map(|n| ("d", n, n + 1)).collect();
        spans.extend([("a", 1, 3), ("a", 3, 4)]);
        assert_eq!(scope(&log, Some(70), &spans, 0), (vec![], 3));
        assert_eq!(scope(&log, Some(70), &spans[1..], 0).0, [r#"key "d": its span from 5 to 6 is missing"#]);
        assert_eq!(scope(&log, Some(70), &spans, 1).0, ["spans without a value that was overwritten or removed: 1"]);
        assert_eq!(scope(&log, Some(72), &spans, 0).0, ["revisions that are not in the log: 2, the first of them 71"]);
        assert_eq!(scope(&log, Some(69), &spans, 0).0, [r#"key "a": the log has revision 70, not one of 1 to 69"#]);
        assert_eq!(
            scope(&[("a", 2, false)], Some(2), &[], 0).0,
            ["revisions that are not in the log: 1, the first of them 1"]
        );
        assert_eq!(scope(&[], None, &[], 0).0, ["its row of the scope's revision is missing"]);
        assert_eq!(scope(&[], Some(i64::MAX), &[], 0).0.len(), 1);
        assert_eq!(scope(&[], Some(-1), &[], 0).0.len(), 0);
    }

    #[test]
    fn changed_state_of_a_scope_is_found() {
        for (removed, state, fault) in [
            (false, None, "the state lacks it, and the log has it at revision 1"),
            (true, Some((1, false)), "it is in the state, and the log says that revision 1 removed it"),
            (false, Some((2, false)), "the state has revision 2, the log 1"),
            (false, Some((1, false)), "the state has not the value that the log has at revision 1"),
        ] {
            let mut check = ScopeCheck::new(Some(1), 0, 0);
            check.log(LogRow { key: "k".to_owned(), revision: 1, removed, state });
            check.end_of_log();
            assert_eq!(check.finish(0).0.lines, [format!("key \"k\": {fault}")]);
        }
        let mut check = ScopeCheck::new(Some(0), 0, 0);
        check.unlogged("k");
        assert_eq!(check.finish(0).0.lines, [r#"key "k": it is in the state, and not in the log"#]);
    }
}
