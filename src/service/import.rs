//! Imports: the lines of an export become sessions again, each whole or not at all. What is in memory is a part of one session, its
//! state, and the names of its invocations: [`Import::held`] says how much.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;
use std::time::Duration;

use tokio::time::Instant;

use super::retry::{Repeat, Tried};
use super::{Error, Result, Service};
use crate::domain::change::{Keys, parse_delta};
use crate::domain::erasure::Subject;
use crate::domain::event::Rewind;
use crate::domain::ids::{AppName, ScopeKey, SessionKey, UserId, UserKey};
use crate::domain::json::{Json, ObjectText, RawJson};
use crate::domain::ops::Op;
use crate::domain::scope::Scope;
use crate::domain::time::Timestamp;
use crate::domain::transfer::{
    EventLine, ImportEnd, ImportOutcome, ImportRows, ImportedRow, Line, LinesDigest, LogRow, PastValue, RowsOutcome,
    ScopeImport, SessionLine,
};
use crate::domain::{Limits, Rejected};

/// What one transaction writes.
const CHUNK_ROWS: usize = 500;
const CHUNK_BYTES: usize = 4 << 20;

/// What a value, or the name of an invocation, takes in memory beside its text.
const ENTRY_BYTES: usize = 200;

/// Why a line is not read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unread {
    TooLong,
    /// There is no memory for it now.
    NoRoom,
}

/// What to do with a session of which there is another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnConflict {
    #[default]
    Fail,
    Skip,
}

/// How to import.
#[derive(Debug, Clone, Default)]
pub struct ImportOptions {
    pub on_conflict: OnConflict,
    /// The name that the app gets.
    pub app: Option<AppName>,
    /// Judge everything, and write nothing.
    pub dry_run: bool,
}

/// What became of a session.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Imported {
    /// `None` if not even that could be read.
    pub session: Option<(UserId, String)>,
    pub result: ImportResult,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ImportResult {
    Created,
    /// This very session is there already.
    Unchanged,
    Skipped {
        code: &'static str,
        detail: String,
    },
    Failed {
        code: &'static str,
        detail: String,
    },
}

impl Imported {
    /// The line of an answer.
    pub fn to_line(&self) -> String {
        let mut line = ObjectText::default();
        if let Some((user, session)) = &self.session {
            line.push_str("session", session);
            line.push_str("userId", user.as_str());
        } else {
            line.push("session", "null");
        }
        let (result, why) = match &self.result {
            ImportResult::Created => ("created", None),
            ImportResult::Unchanged => ("unchanged", None),
            ImportResult::Skipped { code, detail } => ("skipped", Some((code, detail))),
            ImportResult::Failed { code, detail } => ("failed", Some((code, detail))),
        };
        line.push_str("result", result);
        if let Some((code, detail)) = why {
            line.push_str("code", code);
            line.push_str("detail", detail);
        }
        let mut text = line.close();
        text.push('\n');
        text
    }
}

/// Whether whoever imports may write there: to a user's sessions, or to what an app shares.
pub type MayWrite = Box<dyn Fn(&AppName, Option<&UserId>) -> bool + Send + Sync>;

/// An import under way: takes lines with [`Import::line`], and ends with [`Import::finish`]. Dropped before, it leaves nothing that
/// anybody sees.
pub struct Import {
    service: Arc<Service>,
    options: ImportOptions,
    may_write: MayWrite,
    patience: Duration,
    app: Option<AppName>,
    open: Option<Open>,
    /// The lines of a session that failed are read over.
    failed: bool,
    ended: bool,
    counts: (u64, u64),
}

/// A session of which lines were read.
struct Open {
    key: SessionKey,
    begin: SessionLine,
    incarnation: i64,
    subject: Subject,
    /// Nothing of it is written yet.
    begins: bool,
    digest: LinesDigest,
    /// The last sequence.
    sequence: i64,
    /// The first row that a log has, if it has one.
    first: Option<i64>,
    events: u64,
    update_time: Timestamp,
    state: BTreeMap<String, (i64, RawJson)>,
    rows: Vec<ImportedRow>,
    past: Vec<PastValue>,
    bytes: usize,
    /// Bytes in memory beside those, about: of values, present and past, and of invocations.
    held: usize,
    /// The first event of each invocation, for rewinds.
    invocations: HashMap<String, i64>,
    /// Another session of this id is there: this one is only compared.
    exists: bool,
}

impl Open {
    fn saw_invocation(&mut self, invocation: &str, sequence: i64) {
        if !invocation.is_empty() && !self.invocations.contains_key(invocation) {
            self.invocations.insert(invocation.to_owned(), sequence);
            self.held += invocation.len() + ENTRY_BYTES;
        }
    }

    /// Sets a key, or removes it, at a revision; what held before is kept if it held at all.
    fn set(&mut self, key: &str, value: Option<RawJson>, to: i64) {
        self.held += value.as_ref().map_or(0, |value| weight(key, value));
        let before = match value {
            Some(value) => self.state.insert(key.to_owned(), (to, value)),
            None => self.state.remove(key),
        };
        match before {
            Some((from, value)) if from < to => self.past.push(PastValue { key: key.to_owned(), from, to, value }),
            Some((_, value)) => self.held -= weight(key, &value),
            None => {}
        }
    }
}

fn weight(key: &str, value: &RawJson) -> usize {
    key.len() + value.text().len() + ENTRY_BYTES
}

impl Service {
    /// Begins an import. Each write has `patience`.
    pub fn import(self: &Arc<Self>, options: ImportOptions, may_write: MayWrite, patience: Duration) -> Import {
        Import {
            service: self.clone(),
            options,
            may_write,
            patience,
            app: None,
            open: None,
            failed: false,
            ended: false,
            counts: (0, 0),
        }
    }
}

/// Why a session is not imported.
struct Fault {
    code: &'static str,
    detail: String,
}

impl Fault {
    fn new(code: &'static str, detail: impl Into<String>) -> Self {
        Self { code, detail: detail.into() }
    }

    fn invalid(detail: impl Into<String>) -> Self {
        Self::new("invalid_argument", detail)
    }
}

impl From<Rejected> for Fault {
    fn from(rejected: Rejected) -> Self {
        let code = match &rejected {
            Rejected::InvalidJson { .. } => "invalid_json",
            Rejected::Invalid(_) => "invalid_argument",
            Rejected::Denied { .. } => "permission_denied",
            Rejected::TooLarge { .. } => "payload_too_large",
        };
        Self::new(code, rejected.to_string())
    }
}

/// A line is refused, or the database fails.
enum Failed {
    Line(Fault),
    Service(Error),
}

impl<T: Into<Fault>> From<T> for Failed {
    fn from(fault: T) -> Self {
        Self::Line(fault.into())
    }
}

impl Import {
    /// Sessions and events that were created so far.
    pub fn counts(&self) -> (u64, u64) {
        self.counts
    }

    /// Takes a line, without its line feed; what became of a session that it ends.
    ///
    /// # Errors
    /// Only [`Error::Store`]. The import may go on with the next line, or be begun again.
    pub async fn line(&mut self, line: &[u8]) -> Result<Vec<Imported>> {
        let mut results = Vec::new();
        if line.trim_ascii().is_empty() {
            return Ok(results);
        }
        match self.take(line, &mut results).await {
            Ok(()) => Ok(results),
            Err(Failed::Line(fault)) => {
                results.extend(self.fail(fault).await?);
                Ok(results)
            }
            Err(Failed::Service(error)) => Err(error),
        }
    }

    /// Bytes in memory, about, between two lines.
    pub fn held(&self) -> usize {
        self.open.as_ref().map_or(0, |open| open.bytes + open.held)
    }

    /// A line that was not read.
    ///
    /// # Errors
    /// Only [`Error::Store`].
    pub async fn unread(&mut self, why: Unread) -> Result<Option<Imported>> {
        let (code, detail) = match why {
            Unread::TooLong => ("payload_too_large", "a line is too long"),
            Unread::NoRoom => ("overloaded", "there is no memory for a line or the state now; import it again later"),
        };
        self.fail(Fault::new(code, detail)).await
    }

    /// After the last line; what became of a session that was cut.
    ///
    /// # Errors
    /// Only [`Error::Store`].
    pub async fn finish(&mut self) -> Result<Option<Imported>> {
        const CUT: &str = "the lines end before the session does; import the whole file again";
        if self.open.is_some() {
            return self.fail(Fault::invalid(CUT)).await;
        }
        Ok(None)
    }

    /// Whether the lines had their last one: else they were cut, between two sessions perhaps.
    pub fn is_whole(&self) -> bool {
        self.ended
    }

    async fn fail(&mut self, fault: Fault) -> Result<Option<Imported>> {
        let was_failed = std::mem::replace(&mut self.failed, true);
        let session = match self.open.take() {
            Some(open) => {
                self.abandon(&open).await?;
                Some((open.begin.user, open.key.session.to_string()))
            }
            // Lines after one that failed are read over.
            None if was_failed => return Ok(None),
            None => None,
        };
        let Fault { code, detail } = fault;
        Ok(Some(Imported { session, result: ImportResult::Failed { code, detail } }))
    }

    async fn abandon(&self, open: &Open) -> Result<()> {
        if open.exists || self.options.dry_run {
            return Ok(());
        }
        let deadline = self.deadline();
        let abandon = || self.service.store.abandon_import(&open.key, open.incarnation, deadline);
        self.service.transact(Repeat::Safe, deadline, abandon).await?;
        self.service.to_sweep.notify_one();
        Ok(())
    }

    fn deadline(&self) -> Instant {
        Instant::now() + self.patience
    }

    async fn take(&mut self, line: &[u8], results: &mut Vec<Imported>) -> std::result::Result<(), Failed> {
        let parsed = Line::parse(line, &self.service.limits)?;
        match parsed {
            Line::Export { app } => {
                results.extend(self.finish().await.map_err(Failed::Service)?);
                self.app = Some(self.options.app.clone().unwrap_or(app));
                (self.failed, self.ended) = (false, false);
                Ok(())
            }
            Line::AppState { revision, state } => self.scope(None, revision, &state).await,
            Line::UserState { user, revision, state } => self.scope(Some(user), revision, &state).await,
            Line::Session(begin) => {
                results.extend(self.finish().await.map_err(Failed::Service)?);
                self.failed = false;
                self.begin(*begin, line).await
            }
            Line::End => {
                results.extend(self.finish().await.map_err(Failed::Service)?);
                self.ended = true;
                Ok(())
            }
            _ if self.failed => Ok(()),
            Line::Event(event) => {
                self.add_line(line)?;
                self.event(*event).await
            }
            Line::Stub(stub) => {
                self.add_line(line)?;
                self.stub(*stub).await
            }
            Line::SessionEnd { id, revision, state, sha256 } => {
                let Some(open) = self.open.as_ref() else { return Err(no_session().into()) };
                if open.begin.id != id {
                    return Err(Fault::invalid("`session.end` is of another session").into());
                }
                results.push(self.end(revision, &state, sha256).await?);
                Ok(())
            }
        }
    }

    fn named(&self) -> std::result::Result<AppName, Fault> {
        self.app
            .clone()
            .or_else(|| self.options.app.clone())
            .ok_or_else(|| Fault::invalid("the first line is not that of an export"))
    }

    /// Takes the state of a scope, if it has none.
    async fn scope(
        &mut self,
        user: Option<UserId>,
        revision: i64,
        state: &[(String, RawJson)],
    ) -> std::result::Result<(), Failed> {
        let app = self.named()?;
        if self.options.dry_run || !(self.may_write)(&app, user.as_ref()) {
            return Ok(());
        }
        let (scope, own) = match user {
            Some(user) => (ScopeKey::User(UserKey { app, user }), Scope::User),
            None => (ScopeKey::App(app), Scope::App),
        };
        let mut text = ObjectText::default();
        state.iter().for_each(|(key, value)| text.push(key, value.text()));
        let changes = parse_delta(Json::trusted(&text.close()), Keys::Of(own), "/state", &Limits::unbounded_input())?;
        let state = changes.into_iter().map(|change| (change.key.into(), change.value)).collect();
        let subject = match &scope {
            ScopeKey::User(user) => Some(self.service.subject(user, self.deadline()).await.map_err(Failed::Service)?),
            ScopeKey::App(_) => None,
        };
        let import = ScopeImport { scope, subject, revision, state, now: self.service.clock.now() };
        let deadline = self.deadline();
        let write = || self.service.store.import_scope(&import, deadline);
        self.service.transact(Repeat::Safe, deadline, write).await.map_err(Failed::Service)?;
        Ok(())
    }

    async fn begin(&mut self, begin: SessionLine, line: &[u8]) -> std::result::Result<(), Failed> {
        let app = self.named()?;
        let may_write = (self.may_write)(&app, Some(&begin.user));
        let key = SessionKey { user: UserKey { app, user: begin.user.clone() }, session: begin.id.clone() };
        let mut digest = LinesDigest::default();
        digest.add(line);
        digest.add(b"\n");
        let mut open = Open {
            incarnation: self.service.clock.incarnation(),
            subject: self.service.subject(&key.user, self.deadline()).await.map_err(Failed::Service)?,
            begins: true,
            digest,
            sequence: 0,
            first: None,
            events: 0,
            update_time: begin.create_time.into(),
            state: BTreeMap::new(),
            rows: Vec::new(),
            past: Vec::new(),
            bytes: 0,
            held: 0,
            invocations: HashMap::new(),
            exists: true,
            key,
            begin,
        };
        let base_state = open.begin.base_state.clone();
        let (base, expire_time) = (open.begin.base, open.begin.expire_time);
        let key = open.key.clone();
        // From here on, its name is known to a failure.
        let changes = parse_delta(base_state.json(), Keys::Merged, "/baseState", &Limits::unbounded_input());
        if let Ok(changes) = &changes {
            let entry = |key: &str, value: &RawJson| (key.to_owned(), (base, value.clone()));
            open.state = changes.iter().map(|change| entry(&change.key, &change.value)).collect();
            open.held = changes.iter().map(|change| weight(&change.key, &change.value)).sum::<usize>()
                + base_state.text().len();
        }
        self.open = Some(open);
        if !may_write {
            return Err(Fault::new("permission_denied", "the credential is not for this app and user").into());
        }
        if changes?.iter().any(|change| change.scope != Scope::Session) {
            return Err(Fault::invalid("`baseState` has keys of other scopes").into());
        }
        if expire_time.is_some_and(|time| time <= self.service.clock.now()) {
            return Err(Fault::new("session_not_found", "the session has expired").into());
        }
        let deadline = self.deadline();
        let exists = match self.service.head(&key, deadline).await {
            Ok(_) => true,
            Err(Error::SessionNotFound) => false,
            Err(error) => return Err(Failed::Service(error)),
        };
        if let Some(open) = &mut self.open {
            open.exists = exists;
        }
        // Noted, also if it has no event.
        self.flush().await
    }

    fn add_line(&mut self, line: &[u8]) -> std::result::Result<(), Fault> {
        let open = self.open.as_mut().ok_or_else(no_session)?;
        open.digest.add(line);
        open.digest.add(b"\n");
        Ok(())
    }

    async fn stub(&mut self, stub: LogRow) -> std::result::Result<(), Failed> {
        let Some(open) = &mut self.open else { return Ok(()) };
        if stub.sequence > open.begin.base || open.first.is_some() && stub.sequence != open.sequence + 1 {
            return Err(Fault::invalid("a stub is not in its place").into());
        }
        open.first.get_or_insert(stub.sequence);
        open.sequence = stub.sequence;
        if stub.sequence == open.begin.base {
            open.update_time = stub.event_time.into();
        }
        open.saw_invocation(&stub.invocation_id, stub.sequence);
        open.bytes += 500;
        open.rows.push(ImportedRow::stub(stub));
        self.flush_if_full().await
    }

    async fn event(&mut self, line: EventLine) -> std::result::Result<(), Failed> {
        let Some(open) = &mut self.open else { return Ok(()) };
        let base = open.begin.base;
        let next = open.sequence.max(base) + 1;
        // Stubs may be missing from the beginning on, and only as a whole up to the base.
        let stubs_end = open.first.is_none() || open.sequence >= base;
        if line.sequence != next || !stubs_end {
            return Err(Fault::invalid(format!("the event of sequence {next} is not in its place")).into());
        }
        let EventLine { sequence, commit_time, mut event, saw, digest, rewound_to } = line;
        event.digest = digest;
        open.first.get_or_insert(sequence);
        open.sequence = sequence;
        open.events += 1;
        open.update_time = event.timestamp.clone();
        let removed = event.edit.ops.iter().filter(|op| op.scope == Scope::Session && matches!(op.op, Op::Remove));
        for op in removed {
            open.set(&op.key, None, sequence);
        }
        for change in event.edit.sets.iter().filter(|change| change.scope == Scope::Session) {
            open.set(&change.key, Some(change.value.clone()), sequence);
        }
        let mut rewind_to = rewound_to;
        if let (Some(Rewind::Before(invocation)), None) = (&event.rewind, rewound_to) {
            let first = open.invocations.get(invocation).copied();
            // An unknown invocation takes nothing back.
            rewind_to = Some(first.unwrap_or(sequence) - 1);
        }
        open.saw_invocation(&event.invocation_id, sequence);
        open.bytes += event.body.len() + 500;
        open.rows.push(ImportedRow { sequence, commit_time, saw, rewind_to, event });
        self.flush_if_full().await
    }

    async fn flush_if_full(&mut self) -> std::result::Result<(), Failed> {
        let is_full = self.open.as_ref().is_some_and(|open| open.rows.len() >= CHUNK_ROWS || open.bytes >= CHUNK_BYTES);
        if is_full { self.flush().await } else { Ok(()) }
    }

    /// Writes the rows that were read.
    async fn flush(&mut self) -> std::result::Result<(), Failed> {
        let deadline = self.deadline();
        let Some(open) = &mut self.open else { return Ok(()) };
        open.bytes = 0;
        let (rows, past) = (std::mem::take(&mut open.rows), std::mem::take(&mut open.past));
        open.held -= past.iter().map(|past| weight(&past.key, &past.value)).sum::<usize>();
        if open.exists || self.options.dry_run {
            return Ok(());
        }
        let now = self.service.clock.now();
        let begins = std::mem::take(&mut open.begins);
        let (key, incarnation, subject) = (open.key.clone(), open.incarnation, open.subject);
        let rows = ImportRows { key, incarnation, subject, begins, rows, past, now };
        let write = || self.service.store.import_rows(&rows, deadline);
        let tried = self.service.transact(Repeat::Safe, deadline, write).await.map_err(Failed::Service)?;
        match tried.value {
            RowsOutcome::Written => Ok(()),
            RowsOutcome::Lost => Err(lost().into()),
            RowsOutcome::Blocked => Err(blocked().into()),
        }
    }

    async fn end(&mut self, revision: i64, state: &RawJson, sha256: [u8; 32]) -> std::result::Result<Imported, Failed> {
        let deadline = self.deadline();
        let Some(open) = &self.open else { return Err(no_session().into()) };
        if open.digest.clone().finish() != sha256 {
            return Err(Fault::invalid("the lines are not those that `sha256` is of").into());
        }
        if open.sequence.max(open.begin.base) != revision {
            return Err(Fault::invalid("events are missing before `session.end`").into());
        }
        if !is_state(&open.state, state) {
            return Err(Fault::invalid("the state is not what base state and events come to").into());
        }
        self.flush().await?;
        let Some(open) = self.open.take() else { return Err(no_session().into()) };
        let session = Some((open.begin.user.clone(), open.key.session.to_string()));
        let (created, events) = (1, open.events);
        let result = if open.exists {
            self.compared(&open.key, sha256, deadline).await.map_err(Failed::Service)?
        } else if self.options.dry_run {
            ImportResult::Created
        } else {
            let state = open.state.into_iter().map(|(key, (revision, value))| (key, value, revision)).collect();
            let import = ImportEnd {
                subject: open.subject,
                key: open.key,
                incarnation: open.incarnation,
                begin: open.begin,
                revision,
                update_time: open.update_time,
                state,
                sha256,
                now: self.service.clock.now(),
            };
            let write = || self.service.store.import_session(&import, deadline);
            let tried = self.service.transact(Repeat::Safe, deadline, write).await.map_err(Failed::Service)?;
            let Tried { value: outcome, .. } = tried;
            match outcome {
                ImportOutcome::Created => ImportResult::Created,
                ImportOutcome::Exists => {
                    let store = &self.service.store;
                    let abandon = || store.abandon_import(&import.key, import.incarnation, deadline);
                    self.service.transact(Repeat::Safe, deadline, abandon).await.map_err(Failed::Service)?;
                    self.compared(&import.key, sha256, deadline).await.map_err(Failed::Service)?
                }
                ImportOutcome::Lost => lost().into(),
                ImportOutcome::Blocked => {
                    let store = &self.service.store;
                    let abandon = || store.abandon_import(&import.key, import.incarnation, deadline);
                    self.service.transact(Repeat::Safe, deadline, abandon).await.map_err(Failed::Service)?;
                    blocked().into()
                }
            }
        };
        if result == ImportResult::Created {
            self.counts = (self.counts.0 + created, self.counts.1 + events);
        }
        Ok(Imported { session, result })
    }

    /// What becomes of a session of which there is another one, or the same.
    async fn compared(&self, key: &SessionKey, sha256: [u8; 32], deadline: Instant) -> Result<ImportResult> {
        let was_imported = self.service.imported_digest(key, deadline).await? == Some(sha256.to_vec());
        if was_imported || self.service.export_digest(key, deadline).await? == Some(sha256) {
            return Ok(ImportResult::Unchanged);
        }
        let (code, detail) = ("session_already_exists", "another session of this id is there".to_owned());
        Ok(match self.options.on_conflict {
            OnConflict::Fail => ImportResult::Failed { code, detail },
            OnConflict::Skip => ImportResult::Skipped { code, detail },
        })
    }
}

fn lost() -> Fault {
    let detail = "too much time passed between two lines, or the user was erased meanwhile; import it again";
    Fault::new("request_timeout", detail)
}

fn blocked() -> Fault {
    Fault::new("user_erased", "the user was erased, and is blocked")
}

impl From<Fault> for ImportResult {
    fn from(Fault { code, detail }: Fault) -> Self {
        Self::Failed { code, detail }
    }
}

fn no_session() -> Fault {
    Fault::invalid("a line is not within a session")
}

/// Whether a JSON object has these keys with these very texts, and no others.
fn is_state(state: &BTreeMap<String, (i64, RawJson)>, given: &RawJson) -> bool {
    let mut members = 0;
    let same = given.json().as_object().into_iter().flatten().all(|member| {
        members += 1;
        state.get(&*member.key).is_some_and(|(_, value)| value.text() == member.value.text())
    });
    same && members == state.len()
}
