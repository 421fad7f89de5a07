//! Imports: the lines of an export become sessions again, each whole or not at all. In memory are a part of one session, its
//! state, the names of its invocations, a digest of each event id, and, of an artifact of a user, all versions without their bytes:
//! [`Import::memory`] says how much.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::mem;
use std::sync::Arc;
use std::time::Duration;

use sha2::{Digest as _, Sha256};
use tokio::time::Instant;

use super::artifacts::Upload;
use super::retry::Repeat;
use super::{Error, Result, Service};
use crate::domain::access::{Grant, Target};
use crate::domain::artifact::{BlobKey, Found, MAX_VERSIONS, Place, SavedBlob, Version};
use crate::domain::change::{Keys, parse_delta};
use crate::domain::effective::COMPACTION;
use crate::domain::erasure::Subject;
use crate::domain::event::{Rewind, cost, cost_beside};
use crate::domain::ids::{AppName, ArtifactName, EventId, ScopeKey, SessionId, SessionKey, UserId, UserKey};
use crate::domain::json::{Json, ObjectText, RawJson};
use crate::domain::ops::Op;
use crate::domain::query::ScopePart;
use crate::domain::refusal::Refusal;
use crate::domain::scope::Scope;
use crate::domain::time::{Micros, Timestamp};
use crate::domain::transfer::{
    ArtifactImport, ArtifactLine, EventLine, ImportEnd, ImportRows, ImportedArtifact, ImportedRow, Line, LinesDigest,
    LogRow, Lost, NamedFile, PastChange, PastEnd, PastQuery, PastRows, PastValue, PastVersion, ScopeHead, ScopeImport,
    SessionLine, Totals, is_object,
};
use crate::domain::{Limits, Rejected};

/// The most that one transaction writes.
const CHUNK_ROWS: usize = 500;
const CHUNK_BYTES: usize = 4 << 20;

/// The memory that a value or the name of an invocation takes beside its text.
const ENTRY_BYTES: usize = 200;

/// How often the bytes are renewed that wait for an artifact of a user to be whole: long before the sweep takes them for left behind.
const RENEWED: Duration = Duration::from_secs(300);

/// Why a line was skipped unread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unread {
    TooLong,
    /// There was no memory for it.
    NoRoom,
}

/// What to do with a session if its id is taken by another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OnConflict {
    #[default]
    Fail,
    Skip,
}

#[derive(Debug, Clone, Default)]
pub struct ImportOptions {
    pub on_conflict: OnConflict,
    /// The name for the imported app.
    pub app: Option<AppName>,
    /// Check everything and write nothing.
    pub dry_run: bool,
}

/// The result of one part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Imported {
    pub of: Part,
    pub result: ImportResult,
}

/// A part of an import.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Part {
    Session(UserId, String),
    /// The state of a user or, without one, of the app. Reported only if it was not imported.
    State(Option<UserId>),
    /// An artifact of a user. Reported only if it was not imported.
    Artifact(UserId, ArtifactName),
    /// A session whose first line could not be read.
    Unread,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ImportResult {
    Created,
    /// The same session exists already.
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
    /// Its line in the answer.
    pub fn to_line(&self) -> String {
        let mut line = ObjectText::default();
        match &self.of {
            Part::Session(user, session) => {
                line.push_str("session", session);
                line.push_str("userId", user.as_str());
            }
            Part::State(None) => line.push_str("scope", "app"),
            Part::State(Some(user)) => {
                line.push_str("scope", "user");
                line.push_str("userId", user.as_str());
            }
            Part::Artifact(user, name) => {
                line.push_str("scope", "user");
                line.push_str("userId", user.as_str());
                line.push_str("artifact", name.as_str());
            }
            Part::Unread => line.push("session", "null"),
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

/// A running import: takes lines with [`Import::line`], and ends with [`Import::finish`]. If it is dropped before that, no part
/// of an unfinished session is visible.
pub struct Import {
    service: Arc<Service>,
    options: ImportOptions,
    /// The grant of the importing client.
    grant: Grant,
    patience: Duration,
    app: Option<AppName>,
    /// The number of erasures of each app when the import began; `None` before the first line.
    since: Option<HashMap<AppName, i64>>,
    /// The shared state whose history is being read.
    past: Option<ScopeHistory>,
    /// Which revisions of app and user state are the same here as in the export.
    app_known: SameRange,
    user_known: Option<(UserId, SameRange)>,
    open: Option<OpenSession>,
    /// The artifact whose lines of bytes are being read.
    file: Option<OpenFile>,
    /// The artifact of a user whose versions are being read.
    own: Option<OwnArtifact>,
    own_files: OwnFiles,
    /// A line could not be read that may have been one of the artifact of a user that begins next.
    unsure: bool,
    /// The session failed; its remaining lines are skipped.
    failed: bool,
    ended: bool,
    /// The totals read so far; `None` if a line could not be read.
    read: Option<Totals>,
    counts: (u64, u64),
    /// The versions of artifacts that were created.
    artifacts: u64,
    /// The user for whom something was stored, and its cost, since [`Import::take_stored`] was last called.
    stored: Option<(UserKey, u32)>,
}

/// A session that is partly read.
struct OpenSession {
    key: SessionKey,
    begin: SessionLine,
    incarnation: i64,
    subject: Subject,
    /// None of its rows is written yet.
    begins: bool,
    digest: LinesDigest,
    /// The last sequence read.
    sequence: i64,
    /// The first row of its log, if it has one.
    first: Option<i64>,
    events: u64,
    update_time: Timestamp,
    commit_time: Micros,
    state: BTreeMap<String, (i64, RawJson)>,
    rows: Vec<ImportedRow>,
    past: Vec<PastValue>,
    /// The artifacts that events name.
    named: BTreeMap<ArtifactName, Named>,
    past_named: Vec<PastVersion>,
    artifacts: Vec<ImportedArtifact>,
    /// The last version of an artifact, and how many there were.
    last_version: Option<(ArtifactName, i64)>,
    versions: u64,
    bytes: usize,
    /// The approximate memory, in bytes, of its values, present and past, and of its invocations.
    memory: usize,
    /// The first event of each invocation, for rewinds.
    invocations: HashMap<String, i64>,
    ids: HashSet<IdDigest>,
    /// A session of this id exists: the lines are only compared with it.
    exists: bool,
    /// Which revisions of user and app state are known here.
    known: (SameRange, SameRange),
    lost: Lost,
    nearest_source: Option<SessionId>,
    /// The revisions of user and app state that were seen at the base.
    base_saw: Option<(i64, i64)>,
}

/// The version of an artifact that is named last, and the revision that names it; since when one is, and the lowest and the highest.
struct Named {
    version: i64,
    revision: i64,
    first_revision: i64,
    versions: (i64, i64),
}

/// An artifact whose lines of bytes are being read.
struct OpenFile {
    /// How many are missing.
    left: u64,
    of_user: bool,
    /// `None`: they are skipped.
    taken: Option<TakenFile>,
}

/// A version that is taken in.
struct TakenFile {
    version: Version,
    next: i64,
    sink: Sink,
}

/// What becomes of bytes.
enum Sink {
    Upload(Upload),
    /// They are compared with their digest alone.
    Checked {
        hash: Sha256,
        size: u64,
    },
}

impl Sink {
    async fn push(&mut self, bytes: &[u8]) -> Result<()> {
        match self {
            Self::Upload(upload) => upload.push(bytes).await,
            Self::Checked { hash, size } => {
                hash.update(bytes);
                *size += bytes.len() as u64;
                Ok(())
            }
        }
    }

    fn upload(&self) -> Option<&Upload> {
        if let Self::Upload(upload) = self { Some(upload) } else { None }
    }

    /// The size and the digest of all bytes.
    fn read(&self) -> (u64, [u8; 32]) {
        match self {
            Self::Upload(upload) => upload.read(),
            Self::Checked { hash, size } => (*size, hash.clone().finalize().into()),
        }
    }
}

/// An artifact of a user that is partly read.
struct OwnArtifact {
    user: UserKey,
    subject: Subject,
    name: ArtifactName,
    versions: Vec<ImportedArtifact>,
    memory: usize,
    /// One of this name is there: the lines are only compared with it.
    exists: bool,
    /// It is reported, and its remaining lines are skipped.
    failed: bool,
    renewed: Instant,
}

/// The artifacts of one user that came along, and are here as they were there.
#[derive(Default)]
struct OwnFiles(Option<(UserKey, HashSet<IdDigest>)>);

impl OwnFiles {
    fn add(&mut self, user: &UserKey, name: &ArtifactName) {
        match &mut self.0 {
            Some((of, names)) if of == user => drop(names.insert(digest_of(name.as_str()))),
            _ => self.0 = Some((user.clone(), HashSet::from([digest_of(name.as_str())]))),
        }
    }

    /// What events of a session of the user name.
    fn named(&self, user: &UserKey, name: ArtifactName, named: Named) -> NamedFile {
        let came_along =
            self.0.as_ref().is_some_and(|(of, names)| of == user && names.contains(&digest_of(name.as_str())));
        let is_elsewhere = name.is_of_user() && !came_along;
        let Named { version, revision, first_revision, versions } = named;
        NamedFile { name, version, revision, first_revision, versions, is_elsewhere }
    }
}

fn digest_of(name: &str) -> IdDigest {
    let mut digest = IdDigest::default();
    digest.copy_from_slice(&Sha256::digest(name)[..16]);
    digest
}

/// A digest of an event id, or of the name of an artifact, cut to a length at which no two are the same.
type IdDigest = [u8; 16];

impl OpenSession {
    fn saw_id(&mut self, id: &EventId) -> std::result::Result<(), Fault> {
        match self.ids.insert(digest_of(id.as_str())) {
            true => Ok(()),
            false => Err(Fault::invalid("two events of the session have the same id")),
        }
    }

    fn saw_invocation(&mut self, invocation: &str, sequence: i64) {
        if !invocation.is_empty() && !self.invocations.contains_key(invocation) {
            self.invocations.insert(invocation.to_owned(), sequence);
            self.memory += invocation.len() + ENTRY_BYTES;
        }
    }

    /// Notes whether the shared state that an event saw is known here.
    fn saw(&mut self, sequence: i64, saw: (i64, i64)) {
        let range = |known: SameRange, saw: i64| (!known.has(saw)).then_some((sequence, sequence));
        self.lost.add(&Lost { user: range(self.known.0, saw.0), app: range(self.known.1, saw.1), files: None });
    }

    /// Notes which versions of artifacts an event names.
    fn name_versions(&mut self, artifacts: &[(ArtifactName, i64)], to: i64) {
        for (name, version) in artifacts {
            let Some(named) = self.named.get_mut(name) else {
                self.memory += name.as_str().len() + ENTRY_BYTES;
                let (version, versions) = (*version, (*version, *version));
                self.named.insert(name.clone(), Named { version, revision: to, first_revision: to, versions });
                continue;
            };
            let (least, most) = named.versions;
            named.versions = (least.min(*version), most.max(*version));
            let (version, from) = (mem::replace(&mut named.version, *version), mem::replace(&mut named.revision, to));
            if from < to {
                let name = name.to_string();
                self.memory += name.len() + ENTRY_BYTES;
                self.past_named.push(PastVersion { name, version, from, to });
            }
        }
    }

    /// Sets or removes a key at a revision. A value that lasted for at least one revision becomes part of the past.
    fn set(&mut self, key: &str, value: Option<RawJson>, to: i64) {
        self.memory += value.as_ref().map_or(0, |value| weight(key, value));
        let before = match value {
            Some(value) => self.state.insert(key.to_owned(), (to, value)),
            None => self.state.remove(key),
        };
        match before {
            Some((from, value)) if from < to => self.past.push(PastValue { key: key.to_owned(), from, to, value }),
            Some((_, value)) => self.memory -= weight(key, &value),
            None => {}
        }
    }
}

fn weight(key: &str, value: &RawJson) -> usize {
    key.len() + value.text().len() + ENTRY_BYTES
}

/// The range of revisions of shared state that are the same here as in the export.
#[derive(Debug, Clone, Copy, Default)]
struct SameRange(Option<(i64, i64)>);

impl SameRange {
    fn has(self, revision: i64) -> bool {
        // Before the first change there was no state.
        revision == 0 || self.0.is_some_and(|(from, to)| (from..=to).contains(&revision))
    }
}

/// What to do with the history of shared state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Mode {
    /// Skip it.
    Ignore,
    /// Write it, below the revision at which this import, or an interrupted one, took the state.
    Fill,
    /// Compare it with the history here.
    Compare,
}

/// Shared state whose history is being read.
struct ScopeHistory {
    user: Option<UserId>,
    mode: Mode,
    import: Option<ScopeImport>,
    head: ScopeHead,
    /// The state here at the revision that the export has.
    then: Option<String>,
    /// The revision of the first line if it is a base, and of the last line.
    base: i64,
    last: Option<i64>,
    time: Micros,
    state: BTreeMap<String, (i64, RawJson)>,
    changes: Vec<PastChange>,
    spans: Vec<(String, i64, i64)>,
    rows: usize,
    bytes: usize,
    memory: usize,
    /// The export's state at the first revision that both have.
    first: Option<Vec<(String, RawJson)>>,
    /// The range of revisions in which both are the same.
    same: Option<(i64, i64)>,
}

impl ScopeHistory {
    fn new(user: Option<UserId>) -> Self {
        Self {
            user,
            mode: Mode::Ignore,
            import: None,
            head: ScopeHead { revision: 0, floor: 0, imported: 0 },
            then: None,
            base: 0,
            last: None,
            time: Micros(0),
            state: BTreeMap::new(),
            changes: Vec::new(),
            spans: Vec::new(),
            rows: 0,
            bytes: 0,
            memory: 0,
            first: None,
            same: None,
        }
    }

    /// The first revision that both have; in [`Mode::Fill`] there is only the export's.
    fn from(&self) -> i64 {
        let floor = if self.mode == Mode::Compare { self.head.floor } else { 0 };
        floor.max(self.base).max(1)
    }

    fn of(import: ScopeImport, head: ScopeHead, then: Option<String>, dry_run: bool) -> Self {
        let revision = import.revision;
        let is_same = then.as_ref().is_some_and(|then| is_object(&import.state, then));
        let mode = if dry_run || revision == 0 {
            Mode::Ignore
        } else if is_same && head.imported == revision && head.floor == revision {
            Mode::Fill
        } else {
            Mode::Compare
        };
        let user = import.scope.user().map(|key| key.user.clone());
        let memory = import.state.iter().map(|(key, value)| weight(key, value)).sum();
        Self { mode, head, then: then.filter(|_| is_same), memory, import: Some(import), ..Self::new(user) }
    }

    /// Whether the changes so far result in this state.
    fn is_at(&self, state: &[(String, RawJson)]) -> bool {
        let has = |(key, value): &(String, RawJson)| self.state.get(key).is_some_and(|(_, known)| known == value);
        self.state.len() == state.len() && state.iter().all(has)
    }

    /// Adds the next change.
    fn add(&mut self, change: PastChange) -> std::result::Result<(), Fault> {
        let Some(import) = &self.import else { return Ok(()) };
        let mut text = ObjectText::default();
        change.set.iter().for_each(|(key, value)| text.push(key, value.text()));
        parse_delta(Json::trusted(&text.close()), Keys::Of(import.scope.scope()), "/set", &Limits::unbounded_input())?;
        let revision = change.revision;
        let fits = match self.last {
            None => change.is_base || revision == 1,
            Some(last) => !change.is_base && revision == last + 1,
        };
        if !fits || revision > import.revision || revision == 0 {
            return Err(Fault::invalid(format!("the change of revision {revision} is not in its place")));
        }
        if change.is_base {
            self.base = revision;
        }
        (self.last, self.time) = (Some(revision), change.time);
        for (key, value) in &change.set {
            self.memory += weight(key, value);
            if let Some((from, before)) = self.state.insert(key.clone(), (revision, value.clone())) {
                self.memory -= weight(key, &before);
                self.spans.push((key.clone(), from, revision));
            }
        }
        for key in &change.removed {
            // What a redaction took is a removal, also of what was not there.
            let Some((from, before)) = self.state.remove(key) else { continue };
            self.memory -= weight(key, &before);
            self.spans.push((key.clone(), from, revision));
        }
        if self.mode == Mode::Compare && self.first.is_none() && self.same.is_none() && revision == self.from() {
            let state: Vec<_> = self.state.iter().map(|(key, (_, value))| (key.clone(), value.clone())).collect();
            self.memory += state.iter().map(|(key, value)| weight(key, value)).sum::<usize>();
            self.first = Some(state);
        }
        self.rows += change.set.len() + change.removed.len();
        let size = |(key, value): &(String, RawJson)| weight(key, value);
        self.bytes += change.set.iter().map(size).sum::<usize>() + ENTRY_BYTES * (1 + change.removed.len());
        self.changes.push(change);
        Ok(())
    }
}

impl Service {
    /// Begins an import. `patience` is the time limit of each write.
    pub fn import(self: &Arc<Self>, options: ImportOptions, grant: Grant, patience: Duration) -> Import {
        Import {
            service: self.clone(),
            options,
            grant,
            patience,
            app: None,
            since: None,
            past: None,
            app_known: SameRange::default(),
            user_known: None,
            open: None,
            file: None,
            own: None,
            own_files: OwnFiles::default(),
            unsure: false,
            failed: false,
            ended: false,
            read: Some(Totals::default()),
            counts: (0, 0),
            artifacts: 0,
            stored: None,
        }
    }
}

/// Why a session was not imported.
#[derive(Clone)]
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

/// A line was refused, or the database failed.
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
    /// The grant for the lines from here on.
    pub fn set_grant(&mut self, grant: &Grant) {
        if self.grant != *grant {
            self.grant = grant.clone();
        }
    }

    /// Whether the grant allows writes for this user or, without one, to app state.
    fn check_grant(&self, app: &AppName, user: Option<&UserId>) -> std::result::Result<(), Fault> {
        match self.grant.reaches(user.map_or(Target::App(app), |user| Target::User(app, user))) {
            true => Ok(()),
            false => Err(Fault::new("permission_denied", "the credential is not for this app and user")),
        }
    }

    /// The number of sessions and events created so far.
    pub fn counts(&self) -> (u64, u64) {
        self.counts
    }

    /// The number of versions of artifacts created so far.
    pub fn artifacts(&self) -> u64 {
        self.artifacts
    }

    /// The user for whom something was stored since the last call, and its cost.
    pub fn take_stored(&mut self) -> Option<(UserKey, u32)> {
        self.stored.take()
    }

    /// Takes a line without its line feed; returns the result of a session that it ends. A carriage return at its end and a byte
    /// order mark are ignored.
    ///
    /// # Errors
    /// [`Error::Store`]. The import may continue with the next line, or begin again.
    pub async fn line(&mut self, line: &[u8]) -> Result<Vec<Imported>> {
        let mut results = Vec::new();
        let line = line.strip_prefix("\u{feff}".as_bytes()).unwrap_or(line);
        let line = line.strip_suffix(b"\r").filter(|line| line.ends_with(b"}")).unwrap_or(line);
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

    /// The approximate memory that it takes between two lines, in bytes.
    pub fn memory(&self) -> usize {
        let past = self.past.as_ref().map_or(0, |past| past.memory + past.bytes);
        let own = self.own.as_ref().map_or(0, |own| own.memory);
        let held = match self.file.as_ref().and_then(|file| file.taken.as_ref()).map(|taken| &taken.sink) {
            Some(Sink::Upload(upload)) => upload.held(),
            _ => 0,
        };
        past + own
            + held
            + self.open.as_ref().map_or(0, |open| open.bytes + open.memory + 2 * size_of::<IdDigest>() * open.ids.len())
    }

    /// Notes a line that was skipped unread.
    pub async fn unread(&mut self, why: Unread) -> Result<Vec<Imported>> {
        self.read = None;
        let (code, detail) = match why {
            Unread::TooLong => ("payload_too_large", "a line is too long"),
            Unread::NoRoom => ("overloaded", "there is no memory for a line or the state now; import it again later"),
        };
        self.fail(Fault::new(code, detail)).await
    }

    /// Ends the import; returns the results of a session and of an artifact that were cut off.
    pub async fn finish(&mut self) -> Result<Vec<Imported>> {
        const CUT: &str = "the lines end before the session does; import the whole file again";
        let mut results = Vec::new();
        match self.end_past(&mut results).await {
            Ok(()) => {}
            Err(Failed::Line(fault)) => results.extend(self.fail(fault).await?),
            Err(Failed::Service(error)) => return Err(error),
        }
        // More versions of it may have been to follow.
        let cut = Fault::invalid("the lines end before the artifact does; import the whole file again");
        results.extend(self.fail_own(cut).await);
        self.own = None;
        self.drop_file().await;
        if self.open.is_some() {
            results.extend(self.fail(Fault::invalid(CUT)).await?);
        }
        Ok(results)
    }

    /// Whether the last line of the export was read: otherwise lines are missing at its end.
    pub fn is_whole(&self) -> bool {
        self.ended
    }

    /// Fails what is being read: an artifact of a user, or a session.
    async fn fail(&mut self, fault: Fault) -> Result<Vec<Imported>> {
        let mut results = Vec::new();
        if self.file.as_ref().is_some_and(|file| file.of_user) {
            results.extend(self.fail_own(fault).await);
            return Ok(results);
        }
        // A line that could not be read may have been one of the artifact, or of the next one.
        results.extend(self.fail_own(fault.clone()).await);
        self.unsure = self.open.is_none();
        self.drop_file().await;
        let was_failed = mem::replace(&mut self.failed, true);
        let of = match self.open.take() {
            Some(open) => {
                self.abandon(&open).await?;
                Part::Session(open.begin.user, open.key.session.to_string())
            }
            // The remaining lines of a failed session are skipped.
            None if was_failed => return Ok(results),
            None => Part::Unread,
        };
        results.push(Imported { of, result: fault.into() });
        Ok(results)
    }

    /// Fails the artifact of a user that is being read, if it has not failed before; its remaining lines are skipped.
    async fn fail_own(&mut self, fault: Fault) -> Option<Imported> {
        let own = self.own.as_mut().filter(|own| !own.failed)?;
        own.failed = true;
        let of = Part::Artifact(own.user.user.clone(), own.name.clone());
        let versions = mem::take(&mut own.versions);
        let user = own.user.clone();
        own.memory = 0;
        if self.file.as_ref().is_some_and(|file| file.of_user) {
            // What is left of its bytes is skipped.
            let left = self.file.as_ref().map_or(0, |file| file.left);
            self.drop_file().await;
            self.file = (left > 0).then_some(OpenFile { left, of_user: true, taken: None });
        }
        self.leave(&user, &versions).await;
        Some(Imported { of, result: fault.into() })
    }

    /// Gives up the bytes that are being read.
    async fn drop_file(&mut self) {
        if let Some(TakenFile { sink: Sink::Upload(upload), .. }) = self.file.take().and_then(|file| file.taken) {
            upload.leave().await;
        }
    }

    /// Leaves bytes to the sweep that no version holds.
    async fn leave(&mut self, user: &UserKey, versions: &[ImportedArtifact]) {
        let blobs = versions.iter().filter_map(|version| version.blob.as_ref());
        for blob in blobs.filter(|blob| blob.bytes.is_none()) {
            let key = BlobKey { user: user.clone(), id: blob.id.clone() };
            // If it fails, the sweep finds it later.
            let _ = self.service.store.leave_blob(&key, self.deadline()).await;
            self.service.to_sweep.notify_one();
        }
    }

    async fn abandon(&mut self, open: &OpenSession) -> Result<()> {
        // Nothing was written before.
        if open.exists || open.begins || self.options.dry_run {
            return Ok(());
        }
        let deadline = self.deadline();
        let abandon = |_| self.service.store.abandon_import(&open.key, open.incarnation, deadline);
        self.service.transact(Repeat::Safe, deadline, abandon).await?;
        self.service.to_sweep.notify_one();
        Ok(())
    }

    fn deadline(&self) -> Instant {
        Instant::now() + self.patience
    }

    async fn take(&mut self, line: &[u8], results: &mut Vec<Imported>) -> std::result::Result<(), Failed> {
        self.begun().await?;
        let parsed = Line::parse(line, &self.service.limits).inspect_err(|_| self.read = None)?;
        if let Some(read) = &mut self.read {
            read.add(&parsed);
        }
        let parsed = match parsed {
            Line::ArtifactData(bytes) => return self.data(line, &bytes).await,
            parsed => parsed,
        };
        if self.file.is_some() {
            let missing = self.file.as_ref().is_some_and(|file| file.taken.is_some());
            if missing {
                results.extend(self.fail(missing_data()).await.map_err(Failed::Service)?);
            }
            self.drop_file().await;
        }
        if !matches!(&parsed, Line::Artifact(artifact) if artifact.user.is_some()) {
            self.unsure = false;
        }
        let goes_on = |own: &OwnArtifact, artifact: &ArtifactLine| {
            artifact.user.as_ref() == Some(&own.user.user) && artifact.name == own.name
        };
        let ends_own = match (&self.own, &parsed) {
            (Some(own), Line::Artifact(artifact)) => !goes_on(own, artifact),
            // If it is the next export that begins, it was cut.
            (Some(_), Line::Export { .. }) | (None, _) => false,
            (Some(_), _) => true,
        };
        if ends_own {
            self.end_own(results).await?;
        }
        let parsed = match parsed {
            Line::Change { user, change } => {
                self.change(user.as_ref(), change, results).await?;
                return Ok(());
            }
            parsed => parsed,
        };
        self.end_past(results).await?;
        match parsed {
            Line::Change { .. } | Line::ArtifactData(_) => Ok(()),
            Line::Artifact(artifact) if artifact.user.is_some() => self.own_artifact(*artifact).await,
            Line::Export { app } => {
                results.extend(self.finish().await.map_err(Failed::Service)?);
                let app = self.options.app.clone().or(app);
                // The rest of a session that was cut off may follow.
                if !self.ended && self.app.is_some() && self.app != app {
                    results.push(unnamed("the last line, `end`, of the export before is missing: it was cut"));
                }
                if self.ended || self.app != app {
                    self.app_known = SameRange::default();
                    self.user_known = None;
                }
                self.app = app;
                (self.failed, self.ended, self.read) = (false, false, Some(Totals::default()));
                Ok(())
            }
            Line::AppState { revision, state } => {
                results.extend(self.scope(None, revision, &state).await?);
                Ok(())
            }
            Line::UserState { user, revision, state } => {
                results.extend(self.scope(Some(user), revision, &state).await?);
                Ok(())
            }
            Line::Session(begin) => {
                results.extend(self.finish().await.map_err(Failed::Service)?);
                self.failed = false;
                self.begin(*begin, line).await
            }
            Line::End(totals) => {
                results.extend(self.finish().await.map_err(Failed::Service)?);
                self.ended = true;
                if self.read.is_some_and(|read| read != totals) {
                    results.push(unnamed(
                        "the last line, `end`, counts other sessions and events than there are: lines are missing",
                    ));
                }
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
            Line::Artifact(artifact) => {
                self.add_line(line)?;
                self.artifact(*artifact).await
            }
            Line::SessionEnd { id, revision, state, lost, nearest_source, sha256 } => {
                let Some(open) = self.open.as_mut() else { return Err(no_session().into()) };
                if open.begin.id != id {
                    return Err(Fault::invalid("`session.end` is of another session").into());
                }
                open.lost.add(&lost);
                open.nearest_source = nearest_source;
                results.push(self.end(revision, &state, sha256).await?);
                Ok(())
            }
        }
    }

    /// Notes the number of erasures at the beginning: the import must not bring back what a later erasure removes.
    async fn begun(&mut self) -> std::result::Result<(), Failed> {
        if self.since.is_none() {
            let deadline = self.deadline();
            let store = &self.service.store;
            let counts = self.service.read(deadline, || store.erasure_counts(deadline)).await;
            self.since = Some(counts.map_err(Failed::Service)?.into_iter().collect());
        }
        Ok(())
    }

    fn since(&self, app: &AppName) -> i64 {
        self.since.as_ref().and_then(|since| since.get(app)).copied().unwrap_or_default()
    }

    fn named(&self) -> std::result::Result<AppName, Fault> {
        self.app
            .clone()
            .or_else(|| self.options.app.clone())
            .ok_or_else(|| Fault::invalid("the first line is not that of an export"))
    }

    /// Imports the state of a scope that has none. Returns a result only if it was not imported.
    async fn scope(
        &mut self,
        user: Option<UserId>,
        revision: i64,
        state: &[(String, RawJson)],
    ) -> std::result::Result<Option<Imported>, Failed> {
        let app = self.named()?;
        let of = Part::State(user.clone());
        // Changes that follow are skipped until it is imported, or found to be the same.
        self.past = Some(ScopeHistory::new(user.clone()));
        match &user {
            Some(user) => self.user_known = Some((user.clone(), SameRange::default())),
            None => self.app_known = SameRange::default(),
        }
        if let Err(fault) = self.check_grant(&app, user.as_ref()) {
            return Ok(Some(Imported { of, result: fault.into() }));
        }
        let since = self.since(&app);
        let scope = ScopeKey::new(app, user);
        let mut text = ObjectText::default();
        state.iter().for_each(|(key, value)| text.push(key, value.text()));
        let changes =
            parse_delta(Json::trusted(&text.close()), Keys::Of(scope.scope()), "/state", &Limits::unbounded_input())?;
        let state: Vec<(String, RawJson)> =
            changes.into_iter().map(|change| (change.key.into(), change.value)).collect();
        let subject = match scope.user() {
            Some(user) => Some(self.service.subject(user, self.deadline()).await.map_err(Failed::Service)?),
            None => None,
        };
        let import = ScopeImport { scope, subject, since, revision, state, now: self.service.clock.now() };
        let deadline = self.deadline();
        let store = &self.service.store;
        let taken = if self.options.dry_run {
            let found = self.service.read(deadline, || store.scope(&import.scope, &ScopePart::Whole, deadline)).await;
            import.beside(&found.map_err(Failed::Service)?).map(drop)
        } else {
            let write = |_| store.import_scope(&import, deadline);
            self.service.attempt(Repeat::Safe, deadline, write).await.map_err(Failed::Service)?.value
        };
        if matches!(taken, Ok(()) | Err(Refusal::OtherState)) {
            let found = self.service.read(deadline, || store.scope_at(&import.scope, revision, deadline)).await;
            let (head, then) = found.map_err(Failed::Service)?;
            self.past = Some(ScopeHistory::of(import, head, then, self.options.dry_run));
        }
        let result = match taken {
            Ok(()) => return Ok(None),
            Err(Refusal::OtherState) => {
                let detail = "the scope has other state, which stays as it is".to_owned();
                ImportResult::Skipped { code: "revision_mismatch", detail }
            }
            Err(refusal) => skipped(refusal)?,
        };
        Ok(Some(Imported { of, result }))
    }

    /// A change of shared state, whose line must follow that state's.
    async fn change(
        &mut self,
        user: Option<&UserId>,
        change: PastChange,
        results: &mut Vec<Imported>,
    ) -> std::result::Result<(), Failed> {
        let Some(past) = self.past.as_mut().filter(|past| past.user.as_ref() == user) else {
            return Err(Fault::invalid("a change is not behind the state that it is of").into());
        };
        if past.mode == Mode::Ignore && past.import.is_none() {
            return Ok(());
        }
        let added = past.add(change);
        let is_full = past.rows >= CHUNK_ROWS || past.bytes >= CHUNK_BYTES;
        let done = match added {
            Ok(()) if is_full => self.flush_past(false).await,
            Ok(()) => Ok(()),
            Err(fault) => Err(fault.into()),
        };
        self.past_failed(done, results)
    }

    /// Reports a history that is not imported; its remaining lines are skipped.
    fn past_failed(
        &mut self,
        done: std::result::Result<(), Failed>,
        results: &mut Vec<Imported>,
    ) -> std::result::Result<(), Failed> {
        match done {
            Err(Failed::Line(fault)) => {
                let user = self.past.as_ref().and_then(|past| past.user.clone());
                self.past = Some(ScopeHistory::new(user.clone()));
                results.push(Imported { of: Part::State(user), result: fault.into() });
                Ok(())
            }
            done => done,
        }
    }

    /// Ends the history of a scope.
    async fn end_past(&mut self, results: &mut Vec<Imported>) -> std::result::Result<(), Failed> {
        let Some(past) = &self.past else { return Ok(()) };
        let Some(import) = &past.import else {
            self.past = None;
            return Ok(());
        };
        let revision = import.revision;
        let done = match past.last {
            // It has none: only the state itself is known.
            None => {
                let is_here = past.then.is_some();
                self.know(is_here.then_some((revision, revision)));
                Ok(())
            }
            Some(last) if last < revision => Err(Fault::invalid("changes are missing behind a state").into()),
            Some(_) if !past.is_at(&import.state) => {
                Err(Fault::invalid("a state is not what its changes come to").into())
            }
            Some(_) => self.flush_past(true).await,
        };
        let done = self.past_failed(done, results);
        self.past = None;
        done
    }

    fn know(&mut self, range: Option<(i64, i64)>) {
        match self.past.as_ref().and_then(|past| past.user.clone()) {
            Some(user) => self.user_known = Some((user, SameRange(range))),
            None => self.app_known = SameRange(range),
        }
    }

    /// Writes or compares the changes read so far.
    async fn flush_past(&mut self, is_end: bool) -> std::result::Result<(), Failed> {
        let deadline = self.deadline();
        let Some(past) = &mut self.past else { return Ok(()) };
        let (changes, spans) = (mem::take(&mut past.changes), mem::take(&mut past.spans));
        (past.rows, past.bytes) = (0, 0);
        let Some(import) = &past.import else { return Ok(()) };
        let (scope, subject, since, revision) = (import.scope.clone(), import.subject, import.since, import.revision);
        let service = &self.service;
        let taken = |outcome| match outcome {
            Ok(()) => Ok(true),
            Err(Refusal::OtherState) => Ok(false),
            Err(refusal) => Err(failed(refusal)),
        };
        if past.mode == Mode::Fill && !changes.is_empty() {
            let rows = PastRows { scope: scope.clone(), subject, since, revision, changes, spans };
            let write = |_| service.store.import_past(&rows, deadline);
            let outcome = service.attempt(Repeat::Safe, deadline, write).await.map_err(Failed::Service)?.value;
            // Another import has written it meanwhile: compare it.
            if !taken(outcome)? {
                past.mode = Mode::Compare;
            }
            compare(service, past, &rows.changes, deadline).await.map_err(Failed::Service)?;
        } else if past.mode == Mode::Compare {
            compare(service, past, &changes, deadline).await.map_err(Failed::Service)?;
        }
        if !is_end {
            return Ok(());
        }
        let same = past.same.filter(|_| past.mode != Mode::Ignore);
        if past.mode != Mode::Fill {
            // Nobody can read below a floor that stays.
            let stays = past.head.imported == 0 && past.head.floor >= past.base;
            self.know(same.map(|(from, to)| (if stays { 1 } else { from }, to)));
            return Ok(());
        }
        // Rows below the imported revision may come from another file, whose import was interrupted.
        if same.is_none_or(|(_, to)| to + 1 < revision) {
            self.know(Some((revision, revision)));
            return Ok(());
        }
        let older = past.state.iter().filter(|(_, (from, _))| *from < revision);
        let unchanged = older.map(|(key, (from, value))| (key.clone(), value.clone(), *from)).collect();
        let (time, floor) = (past.time, past.base);
        let end = PastEnd { scope, subject, since, revision, time, floor, unchanged };
        let write = |_| service.store.end_past(&end, deadline);
        let outcome = service.attempt(Repeat::Safe, deadline, write).await.map_err(Failed::Service)?.value;
        taken(outcome)?;
        self.know(Some((1, revision)));
        Ok(())
    }

    async fn begin(&mut self, begin: SessionLine, line: &[u8]) -> std::result::Result<(), Failed> {
        let app = self.named()?;
        let may_write = self.check_grant(&app, Some(&begin.user));
        let user_known = self.user_known.as_ref().filter(|(user, _)| *user == begin.user);
        let known = (user_known.map(|(_, known)| *known).unwrap_or_default(), self.app_known);
        let key = SessionKey { user: UserKey { app, user: begin.user.clone() }, session: begin.id.clone() };
        let mut digest = LinesDigest::default();
        digest.add(line);
        digest.add(b"\n");
        let mut open = OpenSession {
            incarnation: self.service.clock.incarnation(),
            subject: self.service.subject(&key.user, self.deadline()).await.map_err(Failed::Service)?,
            begins: true,
            digest,
            sequence: 0,
            first: None,
            events: 0,
            update_time: begin.create_time.into(),
            commit_time: Micros(0),
            state: BTreeMap::new(),
            rows: Vec::new(),
            past: Vec::new(),
            named: BTreeMap::new(),
            past_named: Vec::new(),
            artifacts: Vec::new(),
            last_version: None,
            versions: 0,
            bytes: 0,
            memory: 0,
            invocations: HashMap::new(),
            ids: HashSet::new(),
            exists: true,
            known,
            lost: Lost::default(),
            nearest_source: None,
            base_saw: begin.saw,
            key,
            begin,
        };
        if let Some(saw) = open.base_saw {
            open.saw(open.begin.base, saw);
        }
        let (base, expire_time) = (open.begin.base, open.begin.expire_time);
        let (base_state, key) = (open.begin.base_state(), open.key.clone());
        // From here on a failure can name the session.
        if let Ok(state) = &base_state {
            open.state = state.iter().map(|(key, value)| (key.clone(), (base, value.clone()))).collect();
            open.memory =
                state.iter().map(|(key, value)| weight(key, value)).sum::<usize>() + open.begin.base_state.text().len();
        }
        let named = mem::take(&mut open.begin.base_artifacts);
        open.name_versions(&named, base);
        self.open = Some(open);
        may_write?;
        base_state?;
        let deadline = self.deadline();
        if let Some(time) = expire_time
            && time
                <= self
                    .service
                    .read(deadline, || Box::pin(self.service.time(deadline)))
                    .await
                    .map_err(Failed::Service)?
        {
            return Err(Fault::new("session_not_found", "the session has expired").into());
        }
        let exists = match self.service.head(&key, deadline).await {
            Ok(_) => true,
            Err(Error::SessionNotFound) => false,
            Err(error) => return Err(Failed::Service(error)),
        };
        if let Some(open) = &mut self.open {
            open.exists = exists;
        }
        Ok(())
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
        open.saw_id(&stub.id)?;
        open.first.get_or_insert(stub.sequence);
        open.sequence = stub.sequence;
        if stub.sequence == open.begin.base {
            open.base_saw = Some(stub.saw);
            open.saw(stub.sequence, stub.saw);
            open.update_time = stub.event_time.into();
            open.commit_time = open.commit_time.max(stub.commit_time);
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
        // Stubs may be missing at the beginning only, or all of them up to the base.
        let stubs_end = open.first.is_none() || open.sequence >= base;
        if line.sequence != next || !stubs_end {
            return Err(Fault::invalid(format!("the event of sequence {next} is not in its place")).into());
        }
        let EventLine { sequence, commit_time, mut event, saw, digest, rewound_to } = line;
        open.saw_id(&event.id)?;
        open.saw(sequence, saw);
        event.digest = digest;
        open.first.get_or_insert(sequence);
        open.sequence = sequence;
        open.events += 1;
        open.update_time = event.timestamp.clone();
        open.commit_time = open.commit_time.max(commit_time);
        let removed = event.edit.ops.iter().filter(|op| op.scope == Scope::Session && matches!(op.op, Op::Remove));
        for op in removed {
            open.set(&op.key, None, sequence);
        }
        for change in event.edit.sets.iter().filter(|change| change.scope == Scope::Session) {
            open.set(&change.key, Some(change.value.clone()), sequence);
        }
        let mut effect = rewound_to;
        // As for readers of ADK, the invocation decides; the revision, if it has no name.
        if let Some(Rewind::Before(invocation)) = &event.rewind {
            let first = open.invocations.get(invocation).copied();
            // A rewind to an unknown invocation takes nothing back.
            effect = Some(first.unwrap_or(sequence) - 1);
        }
        if event.compacts && event.rewind.is_none() {
            effect = Some(COMPACTION);
        }
        open.name_versions(&event.artifacts, sequence);
        open.saw_invocation(&event.invocation_id, sequence);
        open.bytes += event.body.len() + 500;
        open.rows.push(ImportedRow { sequence, commit_time, saw, effect, event });
        self.flush_if_full().await
    }

    async fn flush_if_full(&mut self) -> std::result::Result<(), Failed> {
        let is_full = self
            .open
            .as_ref()
            .is_some_and(|open| open.rows.len() + open.artifacts.len() >= CHUNK_ROWS || open.bytes >= CHUNK_BYTES);
        if is_full { self.flush().await } else { Ok(()) }
    }

    /// Writes the rows read so far.
    async fn flush(&mut self) -> std::result::Result<(), Failed> {
        let deadline = self.deadline();
        let Some(open) = &mut self.open else { return Ok(()) };
        open.bytes = 0;
        let (rows, past) = (mem::take(&mut open.rows), mem::take(&mut open.past));
        open.memory -= past.iter().map(|past| weight(&past.key, &past.value)).sum::<usize>();
        let (named, artifacts) = (mem::take(&mut open.past_named), mem::take(&mut open.artifacts));
        open.memory -= named.iter().map(|past| past.name.len() + ENTRY_BYTES).sum::<usize>();
        if open.exists || self.options.dry_run {
            return Ok(());
        }
        let now = self.service.clock.now();
        let begins = mem::take(&mut open.begins);
        let base = if begins { open.begin.base_state.text().len() } else { 0 };
        // A stub has no text.
        let events = rows.iter().filter(|row| !row.event.body.is_empty()).map(|row| cost(row.event.body.len()));
        let versions = artifacts.iter().filter(|artifact| artifact.version.is_some()).map(|_| 1);
        let cost = events.chain(versions).fold(cost_beside(base), u32::saturating_add);
        let (key, incarnation, subject) = (open.key.clone(), open.incarnation, open.subject);
        let since = self.since.as_ref().and_then(|since| since.get(key.app())).copied().unwrap_or_default();
        let rows = ImportRows { key, incarnation, subject, since, begins, rows, past, named, artifacts, now };
        let write = |_| self.service.store.import_rows(&rows, deadline);
        let tried = self.service.attempt(Repeat::Safe, deadline, write).await.map_err(Failed::Service)?;
        match tried.value {
            Ok(()) => {
                self.charge(rows.key.user, cost);
                Ok(())
            }
            Err(refusal) => {
                self.leave(&rows.key.user, &rows.artifacts).await;
                Err(failed(refusal))
            }
        }
    }

    /// Notes what was stored.
    fn charge(&mut self, user: UserKey, cost: u32) {
        if cost > 0 {
            let before = self.stored.take().map_or(0, |(_, before)| before);
            self.stored = Some((user, before.saturating_add(cost)));
        }
    }

    /// A version of an artifact of the session.
    async fn artifact(&mut self, line: ArtifactLine) -> std::result::Result<(), Failed> {
        let Some(open) = &mut self.open else { return Ok(()) };
        if let Some(version) = &line.version {
            let place = (version.name.clone(), version.version);
            if open.last_version.as_ref().is_some_and(|last| *last >= place) {
                return Err(out_of_place(version).into());
            }
            open.last_version = Some(place);
            open.versions += 1;
            if open.versions > MAX_VERSIONS.unsigned_abs() {
                return Err(too_many().into());
            }
        }
        let user = (!open.exists && !self.options.dry_run).then(|| open.key.user.clone());
        self.begin_file(line, user).await
    }

    /// A version of an artifact of a user.
    async fn own_artifact(&mut self, line: ArtifactLine) -> std::result::Result<(), Failed> {
        let Some(user) = line.user.clone() else { return Ok(()) };
        if self.own.is_none() {
            let user = UserKey { app: self.named()?, user };
            let deadline = self.deadline();
            let may_write = self.check_grant(&user.app, Some(&user.user));
            let subject = self.service.subject(&user, deadline).await.map_err(Failed::Service)?;
            let (place, name) = (Place::User(user.clone()), line.name.clone());
            let mut exists = true;
            if may_write.is_ok() {
                let now = self.service.clock.now();
                let read = || self.service.store.artifact_versions(&place, &name, -1, 1, now, deadline);
                let found = self.service.read(deadline, read).await.map_err(Failed::Service)?;
                exists = matches!(found, Found::There(_));
            }
            self.own = Some(OwnArtifact {
                user,
                subject,
                name,
                versions: Vec::new(),
                memory: 0,
                exists,
                failed: false,
                renewed: Instant::now(),
            });
            let is_sure = match mem::take(&mut self.unsure) {
                true => Err(Fault::invalid("a line before it could not be read")),
                false => Ok(()),
            };
            if let Err(fault) = may_write.and(is_sure) {
                self.file = Some(OpenFile { left: line.lines, of_user: true, taken: None });
                return Err(fault.into());
            }
        }
        let Some(own) = &self.own else { return Ok(()) };
        if own.failed {
            self.file = (line.lines > 0).then_some(OpenFile { left: line.lines, of_user: true, taken: None });
            return Ok(());
        }
        if let Some(version) = &line.version {
            let last = own.versions.iter().rev().find_map(|version| version.version.as_ref());
            let fault = if last.is_some_and(|last| last.version >= version.version) {
                Some(out_of_place(version))
            } else {
                (own.versions.len() >= MAX_VERSIONS.unsigned_abs() as usize).then(too_many)
            };
            if let Some(fault) = fault {
                self.file = Some(OpenFile { left: line.lines, of_user: true, taken: None });
                return Err(fault.into());
            }
        }
        let user = (!own.exists && !self.options.dry_run).then(|| own.user.clone());
        self.begin_file(line, user).await
    }

    /// Begins to take a version in; its bytes are stored for a user, if one is named.
    async fn begin_file(&mut self, line: ArtifactLine, user: Option<UserKey>) -> std::result::Result<(), Failed> {
        let ArtifactLine { user: owner, name, version, next, lines } = line;
        let of_user = owner.is_some();
        let Some(version) = version else {
            return self.take_version(of_user, ImportedArtifact { name, version: None, blob: None, next }).await;
        };
        let Some((size, _)) = version.content.bytes else {
            return self
                .take_version(of_user, ImportedArtifact { name, version: Some(version), blob: None, next })
                .await;
        };
        let sink = match user {
            Some(user) => Sink::Upload(self.service.upload(Place::User(user))),
            None => Sink::Checked { hash: Sha256::new(), size: 0 },
        };
        let is_allowed = self.service.limits.check_artifact(size);
        self.file = Some(OpenFile { left: lines, of_user, taken: Some(TakenFile { version, next, sink }) });
        is_allowed?;
        if lines == 0 { self.end_file().await } else { Ok(()) }
    }

    /// The next bytes of the version that is being taken in.
    async fn data(&mut self, line: &[u8], bytes: &[u8]) -> std::result::Result<(), Failed> {
        if self.file.is_none() {
            // Those of what failed are skipped.
            if self.own.as_ref().map_or(self.failed, |own| own.failed) {
                return Ok(());
            }
            self.file = self.own.is_some().then_some(OpenFile { left: 0, of_user: true, taken: None });
            return Err(Fault::invalid("bytes are not behind their artifact").into());
        }
        if self.file.as_ref().is_some_and(|file| !file.of_user) {
            self.add_line(line)?;
        }
        self.renew_own().await;
        let Some(file) = &mut self.file else { return Ok(()) };
        let mut paid = None;
        if let Some(TakenFile { sink, .. }) = &mut file.taken {
            let before = sink.upload().map_or(0, Upload::cost);
            sink.push(bytes).await.map_err(of_bytes)?;
            // The first 1 is paid with the row of the version.
            paid = sink.upload().map(|upload| (upload.user().clone(), upload.cost() - before));
        }
        file.left = file.left.saturating_sub(1);
        let is_whole = file.left == 0;
        if let Some((user, cost)) = paid {
            self.charge(user, cost);
        }
        if is_whole { self.end_file().await } else { Ok(()) }
    }

    /// Ends a version whose bytes have come.
    async fn end_file(&mut self) -> std::result::Result<(), Failed> {
        let Some(OpenFile { of_user, taken: Some(TakenFile { version, sink, .. }), .. }) = &self.file else {
            self.file = None;
            return Ok(());
        };
        let of_user = *of_user;
        if version.content.bytes != Some(sink.read()) {
            let detail = format!("the bytes of {} are not those that `size` and `sha256` are of", shown(version));
            return Err(Fault::invalid(detail).into());
        }
        let Some(TakenFile { version, next, sink }) = self.file.take().and_then(|file| file.taken) else {
            return Ok(());
        };
        let blob = match sink {
            Sink::Upload(upload) => match upload.done().await {
                Ok(blob) => Some(blob),
                Err(error) => {
                    // It is still this artifact that fails.
                    self.file = Some(OpenFile { left: 0, of_user, taken: None });
                    return Err(of_bytes(error));
                }
            },
            Sink::Checked { .. } => None,
        };
        let name = version.name.clone();
        self.take_version(of_user, ImportedArtifact { name, version: Some(version), blob, next }).await
    }

    /// Takes a version that is whole.
    async fn take_version(&mut self, of_user: bool, artifact: ImportedArtifact) -> std::result::Result<(), Failed> {
        if of_user {
            if let Some(own) = &mut self.own {
                own.memory += artifact.weight();
                own.versions.push(artifact);
            }
            return Ok(());
        }
        let Some(open) = &mut self.open else { return Ok(()) };
        open.bytes += artifact.weight();
        // Bytes that are stored are held by a version soon, or they are taken for left behind.
        let is_stored = matches!(&artifact.blob, Some(SavedBlob { bytes: None, .. }));
        open.artifacts.push(artifact);
        if is_stored { self.flush().await } else { self.flush_if_full().await }
    }

    /// Renews the bytes that wait for an artifact of a user to be whole.
    async fn renew_own(&mut self) {
        let (now, deadline) = (self.service.clock.now(), self.deadline());
        let Some(own) = self.own.as_mut().filter(|own| own.renewed.elapsed() > RENEWED) else { return };
        own.renewed = Instant::now();
        let blobs = own.versions.iter().filter_map(|version| version.blob.as_ref());
        for blob in blobs.filter(|blob| blob.bytes.is_none()) {
            let key = BlobKey { user: own.user.clone(), id: blob.id.clone() };
            // Whether they are there is seen at the end.
            let _ = self.service.store.renew_blob(&key, None, now, deadline).await;
        }
    }

    /// Imports the artifact of a user that was read.
    async fn end_own(&mut self, results: &mut Vec<Imported>) -> std::result::Result<(), Failed> {
        let Some(own) = self.own.take().filter(|own| !own.failed) else { return Ok(()) };
        let deadline = self.deadline();
        let import = ArtifactImport {
            since: self.since(&own.user.app),
            mark: self.service.clock.incarnation(),
            user: own.user,
            subject: own.subject,
            name: own.name,
            versions: own.versions,
        };
        let versions = import.versions.iter().filter(|version| version.version.is_some()).count();
        let store = &self.service.store;
        let taken = if self.options.dry_run {
            let found = self.service.read(deadline, || store.has_other_artifact(&import, deadline)).await;
            if found.map_err(Failed::Service)? { Err(Refusal::ArtifactVersionExists) } else { Ok(!own.exists) }
        } else {
            let write = |_| store.import_artifact(&import, deadline);
            self.service.attempt(Repeat::Safe, deadline, write).await.map_err(Failed::Service)?.value
        };
        let of = Part::Artifact(import.user.user.clone(), import.name.clone());
        if taken.is_ok() {
            self.own_files.add(&import.user, &import.name);
        }
        match taken {
            Ok(false) => {}
            Ok(true) => {
                self.artifacts += versions as u64;
                if !self.options.dry_run {
                    self.charge(import.user, u32::try_from(versions).unwrap_or(u32::MAX));
                }
                return Ok(());
            }
            Err(Refusal::ArtifactVersionExists) => {
                let detail = "the user has another artifact of this name, which stays as it is".to_owned();
                let result = ImportResult::Skipped { code: "artifact_version_exists", detail };
                results.push(Imported { of, result });
            }
            Err(refusal) => results.push(Imported { of, result: skipped(refusal)? }),
        }
        self.leave(&import.user, &import.versions).await;
        Ok(())
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
        let of = Part::Session(open.begin.user.clone(), open.key.session.to_string());
        let (created, events, versions) = (1, open.events, open.versions);
        let result = if open.exists {
            self.compared(&open.key, sha256).await.map_err(Failed::Service)?
        } else if self.options.dry_run {
            ImportResult::Created
        } else {
            let state = open.state.into_iter().map(|(key, (revision, value))| (key, value, revision)).collect();
            let named = open.named.into_iter();
            let named = named.map(|(name, named)| self.own_files.named(&open.key.user, name, named)).collect();
            let mut unknown = open.lost;
            if open.base_saw.is_none() {
                // Without the base's revisions the state that it saw is unknown.
                let base = Some((open.begin.base, open.begin.base));
                unknown.add(&Lost { user: base, app: base, files: None });
            }
            let import = ImportEnd {
                since: self.since(open.key.app()),
                base_saw: open.base_saw.unwrap_or_default(),
                lost: unknown,
                nearest_source: open.nearest_source,
                subject: open.subject,
                key: open.key,
                incarnation: open.incarnation,
                begin: open.begin,
                revision,
                update_time: open.update_time,
                commit_time: open.commit_time,
                state,
                named,
                versions: i64::try_from(open.versions).unwrap_or(i64::MAX),
                sha256,
                now: self.service.clock.now(),
            };
            let write = |_| self.service.store.import_session(&import, deadline);
            let tried = self.service.attempt(Repeat::Safe, deadline, write).await.map_err(Failed::Service)?;
            match tried.value {
                Ok(()) => ImportResult::Created,
                // Its rows are gone already.
                Err(Refusal::ImportLost) => lost().into(),
                Err(refusal) => {
                    let store = &self.service.store;
                    let abandon = |_| store.abandon_import(&import.key, import.incarnation, deadline);
                    self.service.transact(Repeat::Safe, deadline, abandon).await.map_err(Failed::Service)?;
                    match refusal {
                        Refusal::SessionAlreadyExists => {
                            self.compared(&import.key, sha256).await.map_err(Failed::Service)?
                        }
                        refusal => skipped(refusal)?,
                    }
                }
            }
        };
        if result == ImportResult::Created {
            self.counts = (self.counts.0 + created, self.counts.1 + events);
            self.artifacts += versions;
        }
        Ok(Imported { of, result })
    }

    /// The result for a session whose id is taken.
    async fn compared(&mut self, key: &SessionKey, sha256: [u8; 32]) -> Result<ImportResult> {
        let was_imported = self.service.imported_digest(key, self.deadline()).await? == Some(sha256.to_vec());
        if was_imported || self.service.is_exported_as(key, sha256, self.patience).await? {
            return Ok(ImportResult::Unchanged);
        }
        let (code, detail) = ("session_already_exists", "another session of this id is there".to_owned());
        Ok(match self.options.on_conflict {
            OnConflict::Fail => ImportResult::Failed { code, detail },
            OnConflict::Skip => ImportResult::Skipped { code, detail },
        })
    }
}

/// Compares the next changes with the history here; `past.same` is the range in which both are the same.
async fn compare(service: &Service, past: &mut ScopeHistory, changes: &[PastChange], deadline: Instant) -> Result<()> {
    let (Some(import), Some(first), Some(last)) = (&past.import, changes.first(), changes.last()) else {
        return Ok(());
    };
    let scope = &import.scope;
    let from = past.from();
    // In [`Mode::Fill`] it was just written, so it is the same up to the imported revision.
    let here = if past.mode == Mode::Fill { import.revision - 1 } else { past.head.revision };
    let mut after = match past.same {
        Some((_, to)) if to + 1 == first.revision => to,
        Some(_) => return Ok(()),
        None if past.mode == Mode::Fill => from - 1,
        None => {
            // The first state that both have is compared as a whole.
            let Some(state) = past.first.take() else { return Ok(()) };
            let (_, then) = service.read(deadline, || service.store.scope_at(scope, from, deadline)).await?;
            if !then.is_some_and(|then| is_object(&state, &then)) {
                past.mode = Mode::Ignore;
                return Ok(());
            }
            from
        }
    };
    past.same = Some((past.same.map_or(from, |(from, _)| from), after));
    let through = last.revision.min(here);
    // A base may have nothing.
    let is_there = |change: &&PastChange| !change.set.is_empty() || !change.removed.is_empty();
    let begun = after;
    let mut given = changes.iter().filter(|change| (begun + 1..=through).contains(&change.revision)).filter(is_there);
    while after < through {
        let (max_rows, max_bytes) = (CHUNK_ROWS, CHUNK_BYTES);
        let query = PastQuery { scope: scope.clone(), after: Some(after), through, max_rows, max_bytes };
        let page = service.read(deadline, || service.store.past(&query, deadline)).await?;
        for found in &page.changes {
            if !given.next().is_some_and(|change| change.same(found)) {
                return Ok(());
            }
            past.same = past.same.map(|(from, _)| (from, found.revision));
            after = found.revision;
        }
        if !page.more {
            break;
        }
    }
    if given.next().is_none() {
        past.same = past.same.map(|(from, to)| (from, to.max(through)));
    }
    Ok(())
}

/// The error of a session whose write was refused.
fn failed(refusal: Refusal) -> Failed {
    match refusal {
        Refusal::ImportLost => lost().into(),
        Refusal::ErasedSince => erased().into(),
        Refusal::UserErased => blocked().into(),
        Refusal::BlobLost => lost().into(),
        Refusal::LimitReached(_) => too_many().into(),
        refusal => Failed::Service(refusal.into()),
    }
}

/// The error of bytes that were not stored.
fn of_bytes(error: Error) -> Failed {
    match error {
        Error::Rejected(rejected) => Fault::from(rejected).into(),
        Error::UserErased => Fault::new("user_erased", "the user was erased, or its bytes took too long").into(),
        error => Failed::Service(error),
    }
}

/// As [`failed`], if the import continues with the next part.
fn skipped(refusal: Refusal) -> std::result::Result<ImportResult, Failed> {
    match failed(refusal) {
        Failed::Line(fault) => Ok(fault.into()),
        failed @ Failed::Service(_) => Err(failed),
    }
}

fn lost() -> Fault {
    let detail = "too much time passed between two lines; import it again";
    Fault::new("request_timeout", detail)
}

fn erased() -> Fault {
    Fault::new("user_erased", "the user was erased after the import began")
}

fn blocked() -> Fault {
    Fault::new("user_erased", "the user was erased, and is blocked")
}

impl From<Fault> for ImportResult {
    fn from(Fault { code, detail }: Fault) -> Self {
        Self::Failed { code, detail }
    }
}

fn too_many() -> Fault {
    Fault::new("limit_reached", format!("there are more than {MAX_VERSIONS} versions of artifacts"))
}

fn missing_data() -> Fault {
    Fault::invalid("bytes of an artifact are missing")
}

fn out_of_place(version: &Version) -> Fault {
    Fault::invalid(format!("{} is not in its place", shown(version)))
}

/// A version in words for a client.
fn shown(version: &Version) -> String {
    format!("version {} of the artifact {:?}", version.version, version.name.as_str())
}

/// The result of sessions whose names are unknown.
fn unnamed(detail: &str) -> Imported {
    Imported { of: Part::Unread, result: Fault::invalid(detail).into() }
}

fn no_session() -> Fault {
    Fault::invalid("a line is not within a session")
}

/// Whether a JSON object has exactly these keys and texts.
fn is_state(state: &BTreeMap<String, (i64, RawJson)>, given: &RawJson) -> bool {
    let mut members = 0;
    let same = given.json().as_object().into_iter().flatten().all(|member| {
        members += 1;
        state.get(&*member.key).is_some_and(|(_, value)| value.text() == member.value.text())
    });
    same && members == state.len()
}
