//! A session: its events are folded over its initial state.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::fmt;

use super::artifacts::{NamedCheck, NamedSpan};
use super::findings::Findings;
use super::{EventRow, FULL_COUNT, Left, LogValue, Logged, Seen, SessionRow, Span, Wanted, compare_spans, more_spans};
use crate::domain::effective::{COMPACTION, compacts};
use crate::domain::envelope::MAX_BODY_DEPTH;
use crate::domain::event::{named_versions, removed_keys, stored_digest};
use crate::domain::fold::{self, Fold};
use crate::domain::history::node;
use crate::domain::ids::ArtifactName;
use crate::domain::json::Json;
use crate::domain::scope::{Scope, split};
use crate::domain::time::Timestamp;

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
        // What is removed and then set is set.
        let set: HashSet<&str> = body.set.iter().map(|(key, _)| &**key).collect();
        for key in body.removed.iter().filter(|key| !set.contains(&***key)) {
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
        let fold::Span { key, from, to, removed, value } = span;
        if from == self.row.base && from > 0 {
            // The event that wrote it is unknown, so its span can only be counted.
            self.found_spans += 1;
            return;
        }
        self.wanted.bytes += value.len();
        self.wanted.spans.push(Span { node: node(from, to), key: key.into(), from, to, removed, value: Some(value) });
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
#[derive(Default)]
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
        let mut body = Self::default();
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
        self.removed = removed_keys(actions).collect();
        for member in actions.as_object().into_iter().flatten() {
            match &*member.key {
                "stateDelta" => {
                    self.set = member.value.as_object().into_iter().flatten().map(|m| (m.key, m.value)).collect();
                }
                "stateOps" => self.resolved = !member.value.is_null(),
                "artifactDelta" => self.named = named_versions(member.value),
                "rewindBeforeInvocationId" => self.rewinds = member.value.as_str().is_some_and(|id| !id.is_empty()),
                _ => {}
            }
        }
    }
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
