//! The lines of an export: sessions and shared state as text, which an import restores byte for byte (contract, section 12).

use std::borrow::Cow;
use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use sha2::{Digest as _, Sha256};

use super::artifact::{
    Blob, Content, Kind as ArtifactKind, LAST, SavedBlob, Version, parse_metadata, take_display_name, take_file_uri,
    take_mime_type,
};
use super::change::{Edit, Keys, parse_delta};
use super::envelope::{Fields, MAX_BODY_DEPTH};
use super::erasure::Subject;
use super::event::{EventDraft, NewEvent, REDACTED, StoredEvent, redaction_of, stored_digest, with_known_names};
use super::ids::{AppName, ArtifactName, EventId, ScopeKey, SessionId, SessionKey, UserId, UserKey};
use super::json::{Json, Kind, ObjectText, RawJson, string_array};
use super::key_history::MadeBy;
use super::query::{ListPosition, ScopeView};
use super::refusal::Refusal;
use super::scope::{self, Scope};
use super::session::{MetadataPatch, SessionInfo};
use super::time::{Micros, Timestamp};
use super::{Limits, Rejected};

/// The version of the format.
const FORMAT: &str = "1";

/// How many bytes of an artifact a line `artifact.data` has, but for the last of each.
pub const DATA_BYTES: usize = 1 << 20;

/// The longest such line but for its name and its white space.
pub const LONGEST_DATA: usize = DATA_BYTES.div_ceil(3) * 4;

/// How many lines some bytes take.
pub fn data_lines(bytes: u64) -> u64 {
    bytes.div_ceil(DATA_BYTES as u64)
}

/// The source of an export.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    App(AppName),
    User(UserKey),
    Session(SessionKey),
}

impl Source {
    pub fn app(&self) -> &AppName {
        match self {
            Self::App(app) => app,
            Self::User(user) => &user.app,
            Self::Session(session) => session.app(),
        }
    }

    /// Binds a cursor to this source: in another one the same position is after other sessions.
    fn mark(&self) -> String {
        let (user, session) = match self {
            Self::App(_) => (None, None),
            Self::User(user) => (Some(&user.user), None),
            Self::Session(session) => (Some(&session.user.user), Some(&session.session)),
        };
        let mut hash = Sha256::new();
        for name in [Some(self.app().as_str()), user.map(UserId::as_str), session.map(SessionId::as_str)] {
            hash.update(name.unwrap_or_default());
            // No name contains it, and none is empty.
            hash.update([0]);
        }
        hex(&hash.finalize()[..8])
    }
}

/// The query for a page of a session's export: its log after one sequence, up to another, within limits of rows and bytes.
#[derive(Debug, Clone)]
pub struct ExportQuery {
    pub key: SessionKey,
    pub now: Micros,
    pub after: i64,
    /// `None` for the first page, which has no end and includes the state.
    pub through: Option<i64>,
    pub max_rows: usize,
    pub max_bytes: usize,
}

/// A part of a session at one moment.
#[derive(Debug, Clone)]
pub struct Exported {
    pub head: SessionInfo,
    /// The session's own state at the base, and the revisions of user and app state that the base saw.
    pub base_state: RawJson,
    pub base_saw: (i64, i64),
    /// The versions of artifacts that the events up to the base name.
    pub base_artifacts: Vec<(ArtifactName, i64)>,
    /// It has, or has had, artifacts of its own.
    pub has_artifacts: bool,
    /// The metadata revision that the last redaction of an event made; 0 if none was.
    pub redacted: i64,
    /// Of a fork whose source was removed: the nearest session above it that is there.
    pub nearest_source: Option<SessionId>,
    pub lost: Lost,
    /// If it was imported: its incarnation there, and the digest of its lines.
    pub origin: Option<String>,
    pub imported_digest: Option<Vec<u8>>,
    /// The session's own state, on the first page.
    pub state: Option<String>,
    pub rows: Vec<LogRow>,
    /// There are more rows.
    pub more: bool,
}

/// The ranges of sequences of an imported session for which the user and app state that the events saw is unknown, and in which they name
/// files of the user that are not those which the user has here under these numbers. The base counts as an event.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Lost {
    pub user: Option<(i64, i64)>,
    pub app: Option<(i64, i64)>,
    pub files: Option<(i64, i64)>,
}

impl Lost {
    /// Whether the user state and the app state that this event saw are unknown.
    pub fn at(&self, sequence: i64) -> (bool, bool) {
        let holds = |range: Option<(i64, i64)>| range.is_some_and(|(from, to)| (from..=to).contains(&sequence));
        (holds(self.user), holds(self.app))
    }

    /// Merges the ranges of another one; each becomes one range, which may cover more.
    pub fn add(&mut self, other: &Self) {
        let ranges = [(&mut self.user, other.user), (&mut self.app, other.app), (&mut self.files, other.files)];
        for (range, other) in ranges {
            *range = match (*range, other) {
                (Some((from, to)), Some((first, last))) => Some((from.min(first), to.max(last))),
                (range, other) => range.or(other),
            };
        }
    }

    fn take(fields: &mut Fields<'_>) -> Option<Self> {
        let Some(ranges) = fields.take("unknownPast") else { return Some(Self::default()) };
        let range = |name: &str| match ranges.get(name) {
            None => Some(None),
            Some(range) => {
                let numbers: Vec<i64> = range.as_array()?.filter_map(|n| n.text().parse().ok()).collect();
                <[i64; 2]>::try_from(numbers).ok().map(|[from, to]| Some((from, to)))
            }
        };
        let read = range("user").zip(range("app")).zip(range("files"));
        let read = read.map(|((user, app), files)| Self { user, app, files });
        if read.is_none() {
            fields.refuse("unknownPast", "must have two sequences for `user`, for `app` and for `files`");
        }
        read
    }

    fn push(&self, line: &mut ObjectText) {
        let mut ranges = ObjectText::default();
        for (name, range) in [("user", self.user), ("app", self.app), ("files", self.files)] {
            if let Some((from, to)) = range {
                ranges.push(name, &format!("[{from},{to}]"));
            }
        }
        if *self != Self::default() {
            line.push("unknownPast", &ranges.close());
        }
    }
}

/// The change of shared state at one revision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PastChange {
    pub revision: i64,
    pub time: Micros,
    /// It is the whole state; the history before it is unknown.
    pub is_base: bool,
    /// In the order of keys, as `removed`.
    pub set: Vec<(String, RawJson)>,
    pub removed: Vec<String>,
    /// Who made the changes of keys, where that is known.
    pub by: BTreeMap<String, MadeBy>,
}

impl PastChange {
    /// Whether both are the same change, apart from the time.
    pub fn same(&self, other: &Self) -> bool {
        self.revision == other.revision && self.set == other.set && self.removed == other.removed
    }
}

/// The query for a page of the history of shared state.
#[derive(Debug, Clone)]
pub struct PastQuery {
    pub scope: ScopeKey,
    /// `None` for the first page, which includes the present state; else the changes after this revision.
    pub after: Option<i64>,
    /// Up to this revision; the first page goes up to the present one.
    pub through: i64,
    pub max_rows: usize,
    pub max_bytes: usize,
}

/// A page of that history, at one moment.
#[derive(Debug)]
pub struct PastPage {
    /// The present state, on the first page.
    pub view: Option<ScopeView>,
    /// The history before this revision is unknown.
    pub floor: i64,
    pub changes: Vec<PastChange>,
    /// There are more changes.
    pub more: bool,
}

/// The head of a shared scope whose history an import may write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScopeHead {
    pub revision: i64,
    pub floor: i64,
    /// The revision at which an import created it, until its history is complete.
    pub imported: i64,
}

/// A part of the history of an imported scope. It is invisible until [`PastEnd`].
#[derive(Debug)]
pub struct PastRows {
    pub scope: ScopeKey,
    pub subject: Option<Subject>,
    pub since: i64,
    /// The revision at which the scope was imported.
    pub revision: i64,
    pub changes: Vec<PastChange>,
    /// Values that were overwritten or removed: the key, and the revisions from and to which it was current.
    pub spans: Vec<(String, i64, i64)>,
}

/// Makes the history of an imported scope visible.
#[derive(Debug)]
pub struct PastEnd {
    pub scope: ScopeKey,
    pub subject: Option<Subject>,
    pub since: i64,
    pub revision: i64,
    /// The time of the last change.
    pub time: Micros,
    /// The first revision of the history.
    pub floor: i64,
    /// The values at `revision` that were written before: the key, the value and the revision that wrote it.
    pub unchanged: Vec<(String, RawJson, i64)>,
}

/// An event, or the stub that a trim left of it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogRow {
    pub sequence: i64,
    pub id: EventId,
    pub invocation_id: String,
    pub event_time: Micros,
    pub commit_time: Micros,
    /// The revisions of user and app state that it saw.
    pub saw: (i64, i64),
    pub digest: [u8; 32],
    /// `None` for a stub.
    pub body: Option<String>,
}

/// The query for a page of the artifacts of a session or of a user: all versions, by name and number, and then the names of which no
/// version is left.
#[derive(Debug, Clone)]
pub struct ArtifactsQuery {
    pub user: UserKey,
    /// A session, by its incarnation; `None`: those of the user.
    pub session: Option<(SessionId, i64)>,
    pub after: AfterArtifact,
    pub now: Micros,
    pub max_rows: usize,
}

/// Where a page of artifacts begins.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AfterArtifact {
    /// Behind this version of this name.
    Version(String, i64),
    /// Behind all versions, and behind this name among those without any.
    Name(String),
}

impl AfterArtifact {
    /// Before all of them.
    pub const NONE: Self = Self::Version(String::new(), -1);
}

#[derive(Debug, Default)]
pub struct ArtifactsPage {
    pub artifacts: Vec<ExportedArtifact>,
    /// Where to go on, if there may be more.
    pub next: Option<AfterArtifact>,
}

/// A version of an artifact, or, without one, the name of an artifact of which none is left.
#[derive(Debug, Clone)]
pub struct ExportedArtifact {
    pub name: ArtifactName,
    pub version: Option<Version>,
    pub blob: Option<Blob>,
    /// The number of the next version.
    pub next: i64,
}

/// The first line of an export.
pub fn first_line(source: &Source, now: Micros) -> String {
    let mut line = typed("export");
    line.push("format", FORMAT);
    let (scope, user, session) = match source {
        Source::App(_) => ("app", None, None),
        Source::User(user) => ("user", Some(&user.user), None),
        Source::Session(session) => ("session", Some(&session.user.user), Some(&session.session)),
    };
    line.push_str("scope", scope);
    line.push_str("appName", source.app().as_str());
    if let Some(user) = user {
        line.push_str("userId", user.as_str());
    }
    if let Some(session) = session {
        line.push_str("sessionId", session.as_str());
    }
    line.push("time", &now.to_number());
    line.push_str("server", concat!("sessiond ", env!("CARGO_PKG_VERSION")));
    closed(line)
}

/// The state of the app, or of a user.
pub fn state_line(user: Option<&UserId>, revision: i64, state: &str) -> String {
    let mut line = typed(if user.is_some() { "user.state" } else { "app.state" });
    if let Some(user) = user {
        line.push_str("userId", user.as_str());
    }
    line.push("revision", &revision.to_string());
    push_value(&mut line, "state", state);
    closed(line)
}

/// A change of the app's state, or of a user's.
pub fn change_line(user: Option<&UserId>, change: &PastChange) -> String {
    let mut line = typed(if user.is_some() { "user.change" } else { "app.change" });
    if let Some(user) = user {
        line.push_str("userId", user.as_str());
    }
    line.push("revision", &change.revision.to_string());
    line.push("time", &change.time.to_number());
    if change.is_base {
        line.push("base", "true");
    }
    if change.is_base || !change.set.is_empty() {
        let mut set = ObjectText::default();
        change.set.iter().for_each(|(key, value)| set.push(key, value.text()));
        push_value(&mut line, "set", &set.close());
    }
    if !change.removed.is_empty() {
        line.push("removed", &string_array(&change.removed));
    }
    if !change.by.is_empty() {
        let mut by = ObjectText::default();
        change.by.iter().for_each(|(key, made_by)| by.push(key, &made_by.to_object()));
        line.push("by", &by.close());
    }
    closed(line)
}

/// A version of an artifact of a session or, if one is named, of a user; the lines of its bytes follow.
pub fn artifact_line(user: Option<&UserId>, artifact: &ExportedArtifact) -> String {
    let mut line = typed("artifact");
    if let Some(user) = user {
        line.push_str("userId", user.as_str());
    }
    match &artifact.version {
        Some(version) => version.push_to(&mut line, push_value),
        None => line.push_str("name", artifact.name.as_str()),
    }
    line.push("next", &artifact.next.to_string());
    let size = artifact.version.as_ref().and_then(|version| version.content.bytes).map_or(0, |(size, _)| size);
    line.push("chunks", &data_lines(size).to_string());
    closed(line)
}

/// The next bytes of an artifact.
pub fn data_line(bytes: &[u8]) -> String {
    let mut line = ObjectText::with_capacity(LONGEST_DATA + 50);
    line.push_str("type", "artifact.data");
    let mut data = String::with_capacity(LONGEST_DATA + 2);
    data.push('"');
    STANDARD.encode_string(bytes, &mut data);
    data.push('"');
    line.push("data", &data);
    closed(line)
}

/// The first line of a session.
pub fn session_line(session: &Exported) -> String {
    session_line_with(session, true)
}

/// The first line of a session in the format before `saw`.
pub fn old_session_line(session: &Exported) -> String {
    session_line_with(session, false)
}

fn session_line_with(session: &Exported, saw: bool) -> String {
    let head = &session.head;
    let mut line = typed("session");
    line.push_str("userId", head.key.user.user.as_str());
    line.push_str("id", head.key.session.as_str());
    line.push_str("incarnation", &session.origin.clone().unwrap_or_else(|| format!("{:x}", head.incarnation)));
    line.push("createTime", &head.create_time.to_number());
    line.push("baseRevision", &head.base_revision.to_string());
    push_value(&mut line, "baseState", session.base_state.text());
    if saw {
        if !session.base_artifacts.is_empty() {
            let mut named = ObjectText::default();
            session.base_artifacts.iter().for_each(|(name, version)| named.push(name.as_str(), &version.to_string()));
            line.push("baseArtifacts", &named.close());
        }
        line.push("saw", &format!("[{},{}]", session.base_saw.0, session.base_saw.1));
    }
    for (name, value) in [("displayName", &head.display_name), ("labels", &head.labels)] {
        if let Some(value) = value {
            push_value(&mut line, name, value.text());
        }
    }
    if let Some(time) = head.expire_time {
        line.push("expireTime", &time.to_number());
    }
    if let Some((session, revision)) = &head.forked_from {
        let mut source = ObjectText::default();
        source.push_str("sessionId", session.as_str());
        source.push("revision", &revision.to_string());
        line.push("forkedFrom", &source.close());
    }
    closed(line)
}

pub fn row_line(row: &LogRow) -> String {
    let saw = format!("[{},{}]", row.saw.0, row.saw.1);
    let Some(body) = &row.body else {
        let mut line = typed("stub");
        line.push_str("id", row.id.as_str());
        line.push("sequence", &row.sequence.to_string());
        line.push_str("invocationId", &row.invocation_id);
        line.push("timestamp", &row.event_time.to_number());
        line.push("commitTime", &row.commit_time.to_number());
        line.push_str("digest", &hex(&row.digest));
        line.push("saw", &saw);
        return closed(line);
    };
    let mut event = String::new();
    StoredEvent::new(row.sequence, row.commit_time, body.as_str()).write_json(&mut event);
    let mut line = typed("event");
    if has_line_break(&event) {
        line.push_str("raw", &event);
    } else {
        line.push("event", &event);
    }
    line.push("saw", &saw);
    // The digest of the client's content, if the body has the results of its operators instead.
    if row.digest != REDACTED && stored_digest(body) != Some(row.digest) {
        line.push_str("digest", &hex(&row.digest));
    }
    closed(line)
}

/// The last line of a session; `sha256` is the digest of its lines before.
pub fn end_of_session(
    source: &Source,
    head: &SessionInfo,
    state: &str,
    lost: &Lost,
    nearest_source: Option<&SessionId>,
    sha256: [u8; 32],
) -> String {
    let mut line = typed("session.end");
    line.push_str("id", head.key.session.as_str());
    line.push("revision", &head.revision.to_string());
    push_value(&mut line, "state", state);
    lost.push(&mut line);
    if let Some(source) = nearest_source {
        line.push_str("nearestSource", source.as_str());
    }
    line.push_str("sha256", &hex(&sha256));
    line.push_str("cursor", &cursor(source, head));
    closed(line)
}

pub fn last_line(totals: Totals) -> String {
    let mut line = typed("end");
    line.push("sessions", &totals.sessions.to_string());
    line.push("events", &totals.events.to_string());
    if totals.artifacts > 0 {
        line.push("artifacts", &totals.artifacts.to_string());
    }
    closed(line)
}

/// The export of a database without apps.
pub fn empty_export(now: Micros) -> String {
    let mut line = typed("export");
    line.push("format", FORMAT);
    line.push_str("scope", DATABASE);
    line.push("time", &now.to_number());
    line.push_str("server", concat!("sessiond ", env!("CARGO_PKG_VERSION")));
    closed(line) + &last_line(Totals::default())
}

/// The `scope` of an export without an app.
const DATABASE: &str = "database";

/// JSON may have line breaks between its tokens only (RFC 8259, section 2).
fn has_line_break(json: &str) -> bool {
    json.bytes().any(|byte| matches!(byte, b'\n' | b'\r'))
}

/// The same JSON with spaces instead of line breaks.
fn on_one_line(json: &str) -> String {
    json.replace(['\n', '\r'], " ")
}

/// The name of the member that has the exact text of another one, as a JSON string.
fn raw_name(name: &str) -> String {
    format!("{name}Raw")
}

/// Adds stored JSON to a line. If it has line breaks, they become spaces, and a second member has the exact text for imports.
fn push_value(line: &mut ObjectText, name: &str, json: &str) {
    if has_line_break(json) {
        line.push(name, &on_one_line(json));
        line.push_str(&raw_name(name), json);
    } else {
        line.push(name, json);
    }
}

/// The stored text of a value: the exact text if the line has it, else the value itself.
fn exact(name: &str, shown: Option<RawJson>, raw: Option<Cow<'_, str>>) -> Result<Option<RawJson>, Rejected> {
    let Some(raw) = raw else { return Ok(shown) };
    let exact = Json::parse(raw.as_bytes(), MAX_BODY_DEPTH)?.to_raw();
    if shown.is_some_and(|shown| shown.text() == on_one_line(exact.text())) {
        return Ok(Some(exact));
    }
    Err(Rejected::field(raw_name(name), format!("is not the text of `{name}` with its line breaks")))
}

fn take_value(fields: &mut Fields<'_>, name: &str) -> Result<Option<RawJson>, Rejected> {
    let raw = fields.take_str(&raw_name(name));
    exact(name, fields.take(name).map(Json::to_raw), raw)
}

fn typed(kind: &str) -> ObjectText {
    let mut line = ObjectText::default();
    line.push_str("type", kind);
    line
}

fn closed(line: ObjectText) -> String {
    let mut text = line.close();
    text.push('\n');
    text
}

/// The cursor at which an export of this source continues after this session.
fn cursor(source: &Source, head: &SessionInfo) -> String {
    let key = &head.key;
    let parts = [key.user.user.as_str(), &head.create_time.0.to_string(), key.session.as_str()];
    format!("{}-{}", parts.map(|part| hex(part.as_bytes())).join("-"), source.mark())
}

/// Reads the cursor of a `session.end`.
///
/// # Errors
/// It is not a cursor, or not one of this source.
pub fn parse_cursor(source: &Source, text: &str) -> Result<ListPosition, &'static str> {
    const NO_CURSOR: &str = "must be the cursor of a `session.end` of this very export";
    let part = |part: &str| unhex(part).and_then(|bytes| String::from_utf8(bytes).ok()).ok_or(NO_CURSOR);
    let [user, time, session, mark] = text.split('-').collect::<Vec<_>>()[..] else { return Err(NO_CURSOR) };
    if mark != source.mark() {
        return Err(NO_CURSOR);
    }
    Ok(ListPosition {
        user: UserId::parse(&part(user)?).map_err(|_| NO_CURSOR)?,
        time: Micros(part(time)?.parse().map_err(|_| NO_CURSOR)?),
        session: SessionId::parse(&part(session)?).map_err(|_| NO_CURSOR)?,
    })
}

pub fn hex(bytes: &[u8]) -> String {
    use std::fmt::Write as _;
    let mut text = String::with_capacity(2 * bytes.len());
    for byte in bytes {
        let _ = write!(text, "{byte:02x}");
    }
    text
}

pub fn unhex(text: &str) -> Option<Vec<u8>> {
    let digits = text.as_bytes();
    if !digits.len().is_multiple_of(2) || !digits.iter().all(u8::is_ascii_hexdigit) {
        return None;
    }
    digits.chunks(2).map(|pair| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok()).collect()
}

/// The digest of a session's lines, line feeds included.
#[derive(Debug, Clone, Default)]
pub struct LinesDigest(Sha256);

impl LinesDigest {
    pub fn add(&mut self, line: &[u8]) {
        self.0.update(line);
    }

    pub fn finish(self) -> [u8; 32] {
        self.0.finalize().into()
    }
}

/// An event, or a stub, that is imported.
#[derive(Debug)]
pub struct ImportedRow {
    pub sequence: i64,
    pub commit_time: Micros,
    pub saw: (i64, i64),
    pub effect: Option<i64>,
    /// Of a stub without author, branch and body.
    pub event: NewEvent,
}

impl ImportedRow {
    pub fn stub(row: LogRow) -> Self {
        let event = NewEvent {
            id: row.id,
            timestamp: row.event_time.into(),
            claimed_time: None,
            author: String::new(),
            invocation_id: row.invocation_id,
            branch: None,
            edit: Edit::default(),
            actions_at: "".into(),
            rewind: None,
            compacts: false,
            artifacts: Vec::new(),
            body: "".into(),
            digest: row.digest,
        };
        Self { sequence: row.sequence, commit_time: row.commit_time, saw: row.saw, effect: None, event }
    }
}

/// A value that was current in a session from one revision up to, not including, another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PastValue {
    pub key: String,
    pub from: i64,
    pub to: i64,
    pub value: RawJson,
}

/// A version of an artifact that events named last from one revision up to, not including, another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PastVersion {
    pub name: String,
    pub version: i64,
    pub from: i64,
    pub to: i64,
}

/// A version of an artifact that is imported, or, without one, what numbers an artifact has had.
#[derive(Debug)]
pub struct ImportedArtifact {
    pub name: ArtifactName,
    pub version: Option<Version>,
    /// Its bytes, if it has any: no version holds them yet.
    pub blob: Option<SavedBlob>,
    pub next: i64,
}

impl ImportedArtifact {
    /// The approximate memory that it takes, in bytes.
    pub fn weight(&self) -> usize {
        let bytes = self.blob.as_ref().and_then(|blob| blob.bytes.as_ref()).map_or(0, Vec::len);
        let version = self.version.as_ref().map_or(0, Version::weight);
        size_of::<Self>() + self.name.as_str().len() + version + bytes
    }
}

/// Imports an artifact of a user who has none of its name.
#[derive(Debug)]
pub struct ArtifactImport {
    pub user: UserKey,
    pub subject: Subject,
    /// The number of erasures of the app when the import began.
    pub since: i64,
    pub name: ArtifactName,
    /// All of this name, ascending.
    pub versions: Vec<ImportedArtifact>,
    /// Marks what is written.
    pub mark: i64,
}

impl ArtifactImport {
    /// The number of the next version.
    pub fn next(&self) -> i64 {
        self.versions.iter().map(|version| version.next).max().unwrap_or(0)
    }

    /// Whether the user has the artifact with these very versions, given the versions of these numbers that are there. Others may be
    /// there, too.
    pub fn is_among(&self, found: &[Version]) -> bool {
        self.versions.iter().filter_map(|given| given.version.as_ref()).all(|given| {
            let same = |found: &Version| Version { revision: None, ..found.clone() } == *given;
            found.iter().any(same)
        })
    }
}

/// Rows of a session that is still invisible.
#[derive(Debug)]
pub struct ImportRows {
    pub key: SessionKey,
    pub incarnation: i64,
    pub subject: Subject,
    /// The number of erasures of the app when the import began.
    pub since: i64,
    /// The first rows of the session. For later rows the import must still exist: the sweep or an erasure may have removed it.
    pub begins: bool,
    pub rows: Vec<ImportedRow>,
    pub past: Vec<PastValue>,
    pub named: Vec<PastVersion>,
    pub artifacts: Vec<ImportedArtifact>,
    pub now: Micros,
}

/// An artifact that events of an imported session name.
#[derive(Debug)]
pub struct NamedFile {
    pub name: ArtifactName,
    /// The version that is named last, and the revision that names it.
    pub version: i64,
    pub revision: i64,
    pub first_revision: i64,
    /// The lowest and the highest version that is named.
    pub versions: (i64, i64),
    /// It did not come along: a file that the user has under one of these numbers is another one.
    pub is_elsewhere: bool,
}

/// Makes an imported session visible.
#[derive(Debug)]
pub struct ImportEnd {
    pub key: SessionKey,
    pub incarnation: i64,
    pub begin: SessionLine,
    pub subject: Subject,
    pub since: i64,
    /// The revisions of user and app state that the base saw.
    pub base_saw: (i64, i64),
    pub lost: Lost,
    /// Of a fork, if it is another one than `begin` names.
    pub nearest_source: Option<SessionId>,
    pub revision: i64,
    pub update_time: Timestamp,
    /// The latest commit time of its events, stubs included; 0 without events.
    pub commit_time: Micros,
    /// Key, value, and the revision that wrote it.
    pub state: Vec<(String, RawJson, i64)>,
    pub named: Vec<NamedFile>,
    /// How many versions of artifacts it has.
    pub versions: i64,
    pub sha256: [u8; 32],
    pub now: Micros,
}

/// Imports the state of an app or a user that has none.
#[derive(Debug)]
pub struct ScopeImport {
    pub scope: ScopeKey,
    /// Of a user.
    pub subject: Option<Subject>,
    /// The number of erasures of the app when the import began.
    pub since: i64,
    pub revision: i64,
    pub state: Vec<(String, RawJson)>,
    pub now: Micros,
}

impl ScopeImport {
    /// Whether it is to be written, given the scope's present state: not if that is the same.
    ///
    /// # Errors
    /// `OtherState`.
    pub fn beside(&self, found: &ScopeView) -> Result<bool, Refusal> {
        match found.revision {
            0 => Ok(self.revision > 0),
            _ if is_object(&self.state, &found.state) => Ok(false),
            _ => Err(Refusal::OtherState),
        }
    }
}

/// Whether a JSON object has exactly these keys and texts.
pub fn is_object(state: &[(String, RawJson)], object: &str) -> bool {
    let own: BTreeMap<&str, &str> = state.iter().map(|(key, value)| (&**key, value.text())).collect();
    let members: Vec<_> = Json::trusted(object).as_object().into_iter().flatten().collect();
    members.len() == own.len()
        && members.iter().all(|member| own.get(&*member.key).is_some_and(|text| *text == member.value.text()))
}

/// A line of an import.
#[derive(Debug)]
pub enum Line {
    /// Without an app, the export of a database without apps.
    Export {
        app: Option<AppName>,
    },
    AppState {
        revision: i64,
        state: Vec<(String, RawJson)>,
    },
    UserState {
        user: UserId,
        revision: i64,
        state: Vec<(String, RawJson)>,
    },
    /// Of the app, or of a user.
    Change {
        user: Option<UserId>,
        change: PastChange,
    },
    Session(Box<SessionLine>),
    Event(Box<EventLine>),
    Stub(Box<LogRow>),
    Artifact(Box<ArtifactLine>),
    /// Bytes of the artifact whose line came last.
    ArtifactData(Vec<u8>),
    SessionEnd {
        id: SessionId,
        revision: i64,
        state: RawJson,
        lost: Lost,
        nearest_source: Option<SessionId>,
        sha256: [u8; 32],
    },
    End(Totals),
}

/// The totals of an export.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Totals {
    pub sessions: u64,
    /// Stubs are not counted.
    pub events: u64,
    /// Versions of artifacts.
    pub artifacts: u64,
}

impl Totals {
    pub fn add(&mut self, line: &Line) {
        match line {
            Line::Session(_) => self.sessions += 1,
            Line::Event(_) => self.events += 1,
            Line::Artifact(artifact) if artifact.version.is_some() => self.artifacts += 1,
            _ => {}
        }
    }
}

/// The first line of a session.
#[derive(Debug)]
pub struct SessionLine {
    pub user: UserId,
    pub id: SessionId,
    /// Its incarnation in the source.
    pub origin: String,
    pub create_time: Micros,
    pub base: i64,
    pub base_state: RawJson,
    /// The versions of artifacts that the events up to the base name.
    pub base_artifacts: Vec<(ArtifactName, i64)>,
    /// The revisions of user and app state that the base saw, if known.
    pub saw: Option<(i64, i64)>,
    pub display_name: Option<RawJson>,
    pub labels: Option<RawJson>,
    pub expire_time: Option<Micros>,
    pub forked_from: Option<(SessionId, i64)>,
}

#[derive(Debug)]
pub struct EventLine {
    pub sequence: i64,
    pub commit_time: Micros,
    pub event: NewEvent,
    pub saw: (i64, i64),
    /// The digest that recognises a retry.
    pub digest: [u8; 32],
    /// The target revision of a rewind.
    pub rewound_to: Option<i64>,
}

/// A version of an artifact, or, without one, an artifact of which none is left.
#[derive(Debug)]
pub struct ArtifactLine {
    /// Whose it is, if it is not the session's.
    pub user: Option<UserId>,
    pub name: ArtifactName,
    pub version: Option<Version>,
    /// The number of the next version.
    pub next: i64,
    /// How many lines of bytes follow.
    pub lines: u64,
}

impl Line {
    /// Reads a line, without its line feed.
    ///
    /// # Errors
    /// Not JSON, not a line of an export, or an event that this service would not store.
    pub fn parse(line: &[u8], limits: &Limits) -> Result<Self, Rejected> {
        let json = Json::parse(line, MAX_BODY_DEPTH)?;
        let kind = json.get("type").and_then(Json::as_str).unwrap_or_default();
        let mut fields = Fields::of(json, "")?;
        fields.take("type");
        let line = match &*kind {
            "export" => {
                if fields.take("format").map(Json::text) != Some(FORMAT) {
                    fields.refuse("format", "is not one that this version reads: 1");
                }
                let is_of_no_app = fields.take_str("scope").as_deref() == Some(DATABASE);
                let app = fields.take_str_with("appName", AppName::parse);
                fields.ignore_others();
                (app.is_some() || is_of_no_app).then_some(Self::Export { app })
            }
            "app.state" => {
                let (revision, state) = (integer(&mut fields, "revision"), state(&mut fields)?);
                revision.zip(state).map(|(revision, state)| Self::AppState { revision, state })
            }
            "user.state" => {
                let user = fields.take_str_with("userId", UserId::parse);
                let (revision, state) = (integer(&mut fields, "revision"), state(&mut fields)?);
                let parts = user.zip(revision).zip(state);
                parts.map(|((user, revision), state)| Self::UserState { user, revision, state })
            }
            "app.change" => change(&mut fields)?.map(|change| Self::Change { user: None, change }),
            "user.change" => {
                let user = fields.take_str_with("userId", UserId::parse);
                user.zip(change(&mut fields)?).map(|(user, change)| Self::Change { user: Some(user), change })
            }
            "session" => SessionLine::take(&mut fields)?.map(|session| Self::Session(Box::new(session))),
            "event" => EventLine::take(&mut fields, limits)?.map(|event| Self::Event(Box::new(event))),
            "stub" => stub(&mut fields).map(|stub| Self::Stub(Box::new(stub))),
            "artifact" => ArtifactLine::take(&mut fields)?.map(|artifact| Self::Artifact(Box::new(artifact))),
            "artifact.data" => fields
                .take_str_with("data", |data| match STANDARD.decode(data) {
                    Ok(bytes) if bytes.len() <= DATA_BYTES => Ok(bytes),
                    Ok(_) => Err("must be at most 1 MiB"),
                    Err(_) => Err("must be base64"),
                })
                .map(Self::ArtifactData),
            "session.end" => {
                let id = fields.take_str_with("id", SessionId::parse);
                let revision = integer(&mut fields, "revision");
                let state = take_value(&mut fields, "state")?.filter(|state| state.json().kind() == Kind::Object);
                let nearest_source = fields.take_str_with("nearestSource", SessionId::parse);
                let sha256 = digest(&mut fields, "sha256");
                fields.take("cursor");
                let parts = id.zip(revision).zip(state).zip(sha256.zip(Lost::take(&mut fields)));
                parts.map(|(((id, revision), state), (sha256, lost))| Self::SessionEnd {
                    id,
                    revision,
                    state,
                    lost,
                    nearest_source,
                    sha256,
                })
            }
            "end" => {
                let counts = ["sessions", "events"].map(|name| integer(&mut fields, name).map(i64::unsigned_abs));
                let artifacts = integer(&mut fields, "artifacts").unwrap_or(0).unsigned_abs();
                fields.ignore_others();
                let [sessions, events] = counts;
                sessions.zip(events).map(|(sessions, events)| Self::End(Totals { sessions, events, artifacts }))
            }
            _ => {
                fields.ignore_others();
                fields.refuse("type", "is none of a line of an export");
                None
            }
        };
        fields.finish()?;
        line.ok_or_else(|| Rejected::field("", format!("a line of the type `{kind}` lacks a field")))
    }
}

fn integer(fields: &mut Fields<'_>, name: &str) -> Option<i64> {
    fields.take_integer(name, 0, "must be an integer of at least 0")
}

fn digest(fields: &mut Fields<'_>, name: &str) -> Option<[u8; 32]> {
    fields.take_str_with(name, |text| {
        unhex(text).and_then(|bytes| bytes.try_into().ok()).ok_or("must be 64 hexadecimal digits")
    })
}

fn time(fields: &mut Fields<'_>, name: &str) -> Option<Micros> {
    match Timestamp::parse(fields.take(name)?) {
        Ok(time) => Some(time.micros),
        Err(message) => {
            fields.refuse(name, message);
            None
        }
    }
}

fn state(fields: &mut Fields<'_>) -> Result<Option<Vec<(String, RawJson)>>, Rejected> {
    let state = take_value(fields, "state")?;
    let members = state.as_ref().and_then(|state| state.json().as_object());
    Ok(members.map(|members| members.map(|member| (member.key.into_owned(), member.value.to_raw())).collect()))
}

fn change(fields: &mut Fields<'_>) -> Result<Option<PastChange>, Rejected> {
    let (revision, time) = (integer(fields, "revision"), time(fields, "time"));
    let is_base = fields.take("base").and_then(Json::as_bool).unwrap_or_default();
    let set = take_value(fields, "set")?;
    let removed = match fields.take("removed") {
        None => Some(Vec::new()),
        Some(removed) => removed
            .as_array()
            .and_then(|keys| keys.map(|key| key.as_str().map(Cow::into_owned)).collect::<Option<Vec<_>>>()),
    };
    let mut pairs = Vec::new();
    if let Some(set) = &set {
        let Some(members) = set.json().as_object() else { return Err(Rejected::field("set", "must be an object")) };
        pairs.extend(members.map(|member| (member.key.into_owned(), member.value.to_raw())));
    }
    pairs.sort_by(|one, other| one.0.cmp(&other.0));
    let Some(mut removed) = removed else { return Err(Rejected::field("removed", "must be an array of keys")) };
    removed.sort_unstable();
    let mut by = BTreeMap::new();
    if let Some(makers) = fields.take("by") {
        const FORM: &str = "must have for keys the event that changed them";
        let members = makers.as_object().ok_or_else(|| Rejected::field("by", FORM))?;
        for member in members {
            let made_by = made_by(member.value).ok_or_else(|| Rejected::field("by", FORM))?;
            by.insert(member.key.into_owned(), made_by);
        }
    }
    Ok(revision.zip(time).map(|(revision, time)| PastChange { revision, time, is_base, set: pairs, removed, by }))
}

/// As [`MadeBy::to_object`] writes it.
fn made_by(json: Json<'_>) -> Option<MadeBy> {
    let text = |name: &str| json.get(name).and_then(Json::as_str);
    Some(MadeBy {
        user: UserId::parse(&text("userId")?).ok()?,
        session: SessionId::parse(&text("sessionId")?).ok()?,
        event: EventId::parse(&text("eventId")?).ok()?,
        sequence: json.get("sequence")?.text().parse().ok().filter(|sequence| *sequence > 0)?,
        author: text("author")?.into_owned(),
        invocation_id: text("invocationId").unwrap_or_default().into_owned(),
    })
}

fn saw(fields: &mut Fields<'_>) -> Option<(i64, i64)> {
    let numbers: Vec<i64> =
        fields.take("saw")?.as_array()?.filter_map(|n| n.text().parse().ok().filter(|n| *n >= 0)).collect();
    let [user, app] = numbers[..] else {
        fields.refuse("saw", "must be two revisions");
        return None;
    };
    Some((user, app))
}

fn stub(fields: &mut Fields<'_>) -> Option<LogRow> {
    let id = fields.take_str_with("id", EventId::parse);
    let sequence = integer(fields, "sequence");
    let invocation_id = fields.take_str("invocationId").map(Cow::into_owned);
    let times = time(fields, "timestamp").zip(time(fields, "commitTime"));
    let (digest, saw) = (digest(fields, "digest"), saw(fields));
    let (event_time, commit_time) = times?;
    Some(LogRow {
        sequence: sequence?,
        id: id?,
        invocation_id: invocation_id?,
        event_time,
        commit_time,
        saw: saw?,
        digest: digest?,
        body: None,
    })
}

impl SessionLine {
    /// The state at the beginning of the log.
    ///
    /// # Errors
    /// A broken rule for state, or a key of another scope or `temp:`.
    pub fn base_state(&self) -> Result<Vec<(String, RawJson)>, Rejected> {
        let json = self.base_state.json();
        let is_own = |key: &str| matches!(scope::split(key), Some((Scope::Session, _)));
        if json.as_object().is_some_and(|mut members| members.any(|member| !is_own(&member.key))) {
            return Err(Rejected::field("/baseState", "has keys of other scopes"));
        }
        let changes = parse_delta(json, Keys::Merged, "/baseState", &Limits::unbounded_input())?;
        Ok(changes.into_iter().map(|change| (change.key.into(), change.value)).collect())
    }

    fn take(fields: &mut Fields<'_>) -> Result<Option<Self>, Rejected> {
        let user = fields.take_str_with("userId", UserId::parse);
        let id = fields.take_str_with("id", SessionId::parse);
        // In any form: an export of another system has no incarnation, but a mark of its own.
        let origin = fields.take_str_with("incarnation", |text| match text.len() {
            1..=64 if text.bytes().all(|b| b.is_ascii_graphic()) => Ok(text.to_owned()),
            _ => Err("must be 1 to 64 visible ASCII characters"),
        });
        let create_time = time(fields, "createTime");
        let base = integer(fields, "baseRevision");
        let base_state = take_value(fields, "baseState")?.filter(|state| state.json().kind() == Kind::Object);
        let base_artifacts = base_artifacts(fields, base);
        let saw = saw(fields);
        let raw_labels = fields.take_str(&raw_name("labels"));
        let metadata = MetadataPatch::take(fields);
        let forked_from = fields.take("forkedFrom").and_then(|source| {
            let parsed = fork_source(source);
            if parsed.is_none() {
                fields.refuse("forkedFrom", "must be a `sessionId` and a `revision`");
            }
            parsed
        });
        let labels = exact("labels", metadata.labels.flatten(), raw_labels)?;
        let parts = user.zip(id).zip(origin).zip(create_time).zip(base.zip(base_state));
        Ok(parts.map(|((((user, id), origin), create_time), (base, base_state))| Self {
            user,
            id,
            origin,
            create_time,
            base,
            base_state,
            base_artifacts,
            saw,
            display_name: metadata.display_name.flatten(),
            labels,
            expire_time: metadata.expiry.flatten().map(|expiry| expiry.at(Micros(0))),
            forked_from,
        }))
    }
}

/// The versions that the events up to the base name, by their names.
fn base_artifacts(fields: &mut Fields<'_>, base: Option<i64>) -> Vec<(ArtifactName, i64)> {
    let Some(named) = fields.take("baseArtifacts") else { return Vec::new() };
    let version = |text: &str| text.parse().ok().filter(|version| (0..=LAST).contains(version));
    let read: Option<Vec<_>> = named.as_object().and_then(|mut members| {
        members.try_fold(Vec::new(), |mut read, member| {
            read.push((ArtifactName::parse(&member.key).ok()?, version(member.value.text())?));
            Some(read)
        })
    });
    match read.filter(|read| read.is_empty() || base != Some(0)) {
        Some(read) => read,
        None => {
            fields.refuse("baseArtifacts", "must have the number of a version for each artifact that a base names");
            Vec::new()
        }
    }
}

impl ArtifactLine {
    fn take(fields: &mut Fields<'_>) -> Result<Option<Self>, Rejected> {
        let user = fields.take_str_with("userId", UserId::parse);
        let name = fields.take_str_with("name", ArtifactName::parse);
        if name.as_ref().is_some_and(|name| name.is_of_user() != user.is_some()) {
            fields.refuse("name", "must begin with `user:` where there is a `userId`, and nowhere else");
        }
        let (number, next, lines) = (integer(fields, "version"), integer(fields, "next"), integer(fields, "chunks"));
        let (Some(name), Some(lines)) = (name, lines) else { return Ok(None) };
        let Some(number) = number else {
            // A line without a number has nothing else: what it has is refused as unknown.
            if lines != 0 {
                fields.refuse("chunks", "must be 0 where there is no version");
            }
            return Ok(next.map(|next| Self { user, name, version: None, next, lines: 0 }));
        };
        let kind = fields.take_str_with("kind", |kind| ArtifactKind::parse(kind).ok_or("is none of an artifact"));
        let bytes = integer(fields, "size").map(i64::unsigned_abs).zip(digest(fields, "sha256"));
        let metadata = match take_value(fields, "metadata")?.map(|metadata| parse_metadata(metadata.text())) {
            Some(Err(message)) => {
                fields.refuse("metadata", message);
                None
            }
            metadata => metadata.transpose().unwrap_or_default(),
        };
        let (mime_type, display_name) = (take_mime_type(fields), take_display_name(fields));
        let (file_uri, create_time) = (take_file_uri(fields), time(fields, "createTime"));
        let (Some(kind), Some(create_time)) = (kind, create_time) else { return Ok(None) };
        let content = Content { kind, mime_type, bytes, display_name, file_uri, metadata };
        if let Err(message) = content.check() {
            fields.refuse("kind", message);
        }
        let lines = lines.unsigned_abs();
        if lines != data_lines(bytes.map_or(0, |(size, _)| size)) {
            fields.refuse("chunks", "must be the number of lines that bytes of this `size` take");
        }
        let next = next.unwrap_or(number.saturating_add(1));
        if number > LAST || next <= number || next > LAST + 1 {
            fields.refuse("next", "must be above the `version`, which is at most 2^53 - 1");
        }
        let version = Version { name: name.clone(), version: number, content, create_time, revision: None };
        Ok(Some(Self { user, name, version: Some(version), next, lines }))
    }
}

fn fork_source(json: Json<'_>) -> Option<(SessionId, i64)> {
    let [session, revision] = ["sessionId", "revision"].map(|name| json.get(name));
    let id = SessionId::parse(&session?.as_str()?).ok()?;
    Some((id, revision?.text().parse().ok().filter(|n| *n >= 0)?))
}

/// The text of a stored event with the member `redacted` at its end.
fn with_redaction(body: &str, redaction: Json<'_>) -> String {
    let open = body.strip_suffix('}').unwrap_or(body);
    format!("{open},\"redacted\":{}}}", redaction.text())
}

impl EventLine {
    fn take(fields: &mut Fields<'_>, limits: &Limits) -> Result<Option<Self>, Rejected> {
        let raw = fields.take_str("raw");
        let given = match (&raw, fields.take("event")) {
            (Some(raw), None) => Json::parse(raw.as_bytes(), MAX_BODY_DEPTH)?,
            (None, Some(event)) => event,
            _ => return Err(Rejected::field("event", "or `raw` is required, and not both")),
        };
        let (saw, given_digest) = (saw(fields), digest(fields, "digest"));
        let sequence = given.get("sequence").and_then(|n| n.text().parse().ok()).filter(|n: &i64| *n > 0);
        let commit_time = given.get("commitTime").and_then(|time| Timestamp::parse(time).ok());
        let (Some(saw), Some(sequence), Some(commit_time)) = (saw, sequence, commit_time) else {
            return Err(Rejected::field("event", "needs `sequence`, `commitTime` and `saw`"));
        };
        let draft = EventDraft::parse(given, "/event", None, limits)?;
        let not_stored = || Rejected::field("event", "is not as this service stores events, byte for byte");
        if draft.partial.is_some() || draft.timestamp.is_none() {
            return Err(not_stored());
        }
        let Some(id) = draft.id.clone() else { return Err(not_stored()) };
        let mut event = draft.seal(id, commit_time.micros);
        // A field of the server, which an event that is appended has not.
        let redaction = redaction_of(given.text());
        let is_redacted = redaction.is_some();
        if let Some(redaction) = redaction {
            event.body = with_redaction(&event.body, redaction).into();
        }
        let stored = StoredEvent::new(sequence, commit_time.micros, event.body.clone());
        let mut text = String::new();
        stored.write_json(&mut text);
        // An earlier version stored some names in snake_case; they become camelCase.
        if text != given.text() && text != with_known_names(given) {
            return Err(not_stored());
        }
        let digest = match given_digest {
            _ if is_redacted => REDACTED,
            Some(digest) if !event.edit.ops.is_empty() => digest,
            _ => event.digest,
        };
        let body = Json::trusted(&event.body);
        let metadata = body.get("customMetadata").and_then(|metadata| metadata.get("rewindToRevision"));
        let is_rewind = body.get("actions").is_some_and(|actions| actions.get("rewindBeforeInvocationId").is_some());
        let rewound_to = metadata.filter(|_| is_rewind).and_then(|to| to.text().parse().ok());
        Ok(Some(Self { sequence, commit_time: commit_time.micros, event, saw, digest, rewound_to }))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::tag::Timeline;
    use super::*;

    /// Lines of this very format, as text within a value and as values.
    fn planted() -> impl Strategy<Value = String> {
        let lines = [
            r#"{"type":"export","format":1,"scope":"app","appName":"other"}"#,
            r#"{"type":"app.state","revision":1,"state":{"role":"owner"}}"#,
            r#"{"type":"user.state","userId":"zoe","revision":1,"state":{"role":"owner"}}"#,
            r#"{"type":"user.change","userId":"zoe","revision":1,"time":1,"base":true,"set":{"role":"owner"}}"#,
            r#"{"type":"session.end","id":"s","revision":0,"state":{},"sha256":"","cursor":""}"#,
            r#"{"type":"end","sessions":0,"events":0}"#,
            r#""{\"type\":\"end\"}\n""#,
            r#""\u000a""#,
            "1.50",
            "[]",
        ];
        prop::sample::select(lines.to_vec()).prop_map(str::to_owned)
    }

    /// JSON with white space of all kinds between its tokens.
    fn value() -> impl Strategy<Value = RawJson> {
        let space = || "[ \t\r\n]{0,3}";
        let leaf = planted();
        leaf.prop_recursive(3, 12, 4, move |inner| {
            let spaced = (space(), inner, space()).prop_map(|(before, value, after)| before + &value + &after);
            prop_oneof![
                prop::collection::vec(spaced.clone(), 0..4).prop_map(|values| format!("[{}]", values.join(","))),
                prop::collection::vec((space(), spaced, space()), 0..4).prop_map(|members| {
                    let member = |(n, (before, value, after)): (usize, (String, String, String))| {
                        format!("{before}\"k{n}\"{after}:{value}")
                    };
                    let members: Vec<String> = members.into_iter().enumerate().map(member).collect();
                    format!("{{{}}}", members.join(","))
                }),
            ]
        })
        .prop_map(|text| Json::parse(text.as_bytes(), MAX_BODY_DEPTH).expect("JSON").to_raw())
    }

    fn object(values: &[RawJson]) -> String {
        let mut object = ObjectText::default();
        values.iter().enumerate().for_each(|(n, value)| object.push(&format!("k{n}"), value.text()));
        object.close()
    }

    fn session(base_state: RawJson, labels: Option<RawJson>) -> Exported {
        let user = UserKey { app: AppName::parse("a").expect("a name"), user: UserId::parse("u").expect("a name") };
        Exported {
            head: SessionInfo {
                key: SessionKey { user, session: SessionId::parse("s").expect("an id") },
                incarnation: 1,
                timeline: Timeline::default(),
                revision: 2,
                metadata_revision: 0,
                base_revision: 2,
                user_revision: 0,
                app_revision: 0,
                create_time: Micros(1_000_000),
                update_time: Micros(1_000_000).into(),
                display_name: None,
                labels,
                expire_time: None,
                forked_from: None,
            },
            base_state,
            base_saw: (3, 4),
            base_artifacts: vec![(ArtifactName::parse("a/\u{e9}").expect("a name"), 7)],
            has_artifacts: true,
            redacted: 0,
            nearest_source: None,
            lost: Lost { user: Some((1, 2)), app: None, files: Some((2, 2)) },
            origin: None,
            imported_digest: None,
            state: None,
            rows: Vec::new(),
            more: false,
        }
    }

    /// The one value of a line, which is all of it.
    fn read(line: &str) -> Line {
        let text = line.strip_suffix('\n').expect("a line feed");
        assert!(!text.contains(['\n', '\r']), "{line}");
        Line::parse(text.as_bytes(), &Limits::unbounded_input()).expect("a line")
    }

    proptest! {
        #[test]
        fn a_line_is_one_value_and_gives_back_what_was_stored(values in prop::collection::vec(value(), 0..4)) {
            let state = object(&values);
            let pairs: Vec<(String, RawJson)> =
                values.iter().enumerate().map(|(n, value)| (format!("k{n}"), value.clone())).collect();
            let user = UserId::parse("u").expect("a name");
            for of in [None, Some(&user)] {
                match read(&state_line(of, 7, &state)) {
                    Line::AppState { revision: 7, state } | Line::UserState { revision: 7, state, .. } => {
                        prop_assert_eq!(&state, &pairs);
                    }
                    other => prop_assert!(false, "{other:?}"),
                }
                let made_by = |invocation: &str| MadeBy {
                    user: user.clone(), session: SessionId::parse("s").expect("a name"), event: EventId::parse("e").expect("a name"),
                    sequence: 3, author: "a\n\0".into(), invocation_id: invocation.into(),
                };
                let change = PastChange {
                    revision: 7, time: Micros(1_500_000), is_base: true, set: pairs.clone(), removed: vec!["\n".into()],
                    by: [("\n".to_owned(), made_by("")), ("k0".to_owned(), made_by("i"))].into(),
                };
                let Line::Change { user: found, change: read } = read(&change_line(of, &change)) else {
                    return Err(TestCaseError::fail("no change"));
                };
                prop_assert_eq!((found.as_ref(), read), (of, change));
            }
            let Line::Session(begin) = read(&session_line(&session(RawJson::trusted(&*state), None))) else {
                return Err(TestCaseError::fail("no session"));
            };
            prop_assert_eq!((begin.base_state.text(), begin.saw), (&*state, Some((3, 4))));
            prop_assert_eq!(begin.base_artifacts, vec![(ArtifactName::parse("a/\u{e9}").expect("a name"), 7)]);
            let labels = RawJson::trusted("{\n\"a\"\r\n:\"b\"\r}");
            let labelled = session(RawJson::trusted("{}"), Some(labels.clone()));
            let Line::Session(begin) = read(&session_line(&labelled)) else {
                return Err(TestCaseError::fail("no session"));
            };
            prop_assert_eq!(begin.labels, Some(labels));
            let source = Source::App(labelled.head.key.app().clone());
            let end = end_of_session(&source, &labelled.head, &state, &labelled.lost, Some(&labelled.head.key.session), [7; 32]);
            let Line::SessionEnd { state: found, lost, nearest_source, sha256, .. } = read(&end) else {
                return Err(TestCaseError::fail("no end"));
            };
            prop_assert_eq!((found.text(), lost, sha256), (&*state, labelled.lost, [7; 32]));
            prop_assert_eq!(nearest_source, Some(labelled.head.key.session));
        }

        #[test]
        fn an_artifact_comes_back_as_it_was(values in prop::collection::vec(value(), 1..4), n in 0_u64..3, next in 1_i64..9) {
            let metadata = RawJson::trusted(object(&values));
            prop_assume!(parse_metadata(metadata.text()).is_ok());
            let size = n * DATA_BYTES as u64 + n;
            let of = |kind, bytes, file_uri: Option<&str>| Content {
                kind,
                mime_type: Some("a/b; c=\"d\"".to_owned()),
                bytes,
                display_name: Some(RawJson::trusted(r#""\u0000""#)),
                file_uri: file_uri.map(RawJson::trusted),
                metadata: Some(metadata.clone()),
            };
            let gone = Content { metadata: None, display_name: None, mime_type: None, ..of(ArtifactKind::Gone, None, None) };
            let contents = [
                of(ArtifactKind::Bytes, Some((size, [7; 32])), None),
                Content { display_name: None, ..of(ArtifactKind::Text, Some((size, [7; 32])), None) },
                of(ArtifactKind::Uri, None, Some(r#""gs://\u00e9""#)),
                gone,
            ];
            let user = UserId::parse("u").expect("a name");
            for content in contents {
                for (name, of) in [("a/\u{e9}\"", None), ("user:n", Some(&user))] {
                    let name = ArtifactName::parse(name).expect("a name");
                    let version = Version {
                        name: name.clone(), version: 0, content: content.clone(), create_time: Micros(1_500_000), revision: None,
                    };
                    let lines = version.content.bytes.map_or(0, |(size, _)| data_lines(size));
                    let line = artifact_line(of, &ExportedArtifact { name, version: Some(version.clone()), blob: None, next });
                    let Line::Artifact(read) = read(&line) else { return Err(TestCaseError::fail("no artifact")) };
                    prop_assert_eq!((read.user.as_ref(), read.version, read.next, read.lines), (of, Some(version), next, lines));
                }
            }
        }

        #[test]
        fn a_line_that_shows_other_than_its_exact_text_is_refused(value in value(), other in value()) {
            let broken = |values: &[RawJson]| object(values).replacen('{', "{\n", 1);
            let raw = broken(std::slice::from_ref(&value));
            // Without the space for the line break, and with a member more.
            for shown in [on_one_line(&object(std::slice::from_ref(&other))), on_one_line(&broken(&[value, other]))] {
                let mut line = typed("app.state");
                line.push("revision", "1");
                line.push("state", &shown);
                line.push_str("stateRaw", &raw);
                prop_assert!(Line::parse(line.close().as_bytes(), &Limits::unbounded_input()).is_err());
            }
        }
    }

    #[test]
    fn an_artifact_of_which_nothing_is_left_says_its_next_number() {
        let name = ArtifactName::parse("n").expect("a name");
        let line = artifact_line(None, &ExportedArtifact { name: name.clone(), version: None, blob: None, next: 4 });
        assert_eq!(line, "{\"type\":\"artifact\",\"name\":\"n\",\"next\":4,\"chunks\":0}\n");
        let Line::Artifact(read) = read(&line) else { panic!("no artifact") };
        assert_eq!((read.name, read.version, read.next, read.lines), (name, None, 4, 0));
    }

    #[test]
    fn bytes_come_back_as_they_were() {
        for length in [1, 2, 3, DATA_BYTES - 1, DATA_BYTES] {
            let bytes: Vec<u8> = (0..length).map(|n| (n % 251) as u8).collect();
            let line = data_line(&bytes);
            assert!(line.len() <= LONGEST_DATA + 50, "{}", line.len());
            assert!(matches!(read(&line), Line::ArtifactData(read) if read == bytes), "{length}");
        }
        assert_eq!([0, 1, DATA_BYTES as u64, DATA_BYTES as u64 + 1].map(data_lines), [0, 1, 1, 2]);
    }

    #[test]
    fn an_artifact_that_cannot_be_one_is_refused() {
        const BYTES: &str = r#""version":0,"kind":"bytes","mimeType":"a/b","createTime":1"#;
        let sha = format!("\"sha256\":\"{}\"", "ab".repeat(32));
        let sized = |size: u64| format!("{BYTES},\"size\":{size},{sha}");
        let good = [
            (r#""name":"n""#, sized(1), r#""next":1,"chunks":1"#),
            (r#""name":"n""#, sized(0), r#""chunks":0"#),
            (r#""name":"user:n","userId":"u""#, sized(2 << 20), r#""next":9,"chunks":2"#),
        ];
        let parse = |(name, version, rest): &(&str, String, &str)| {
            let line = format!("{{\"type\":\"artifact\",{name},{version},{rest}}}");
            Line::parse(line.as_bytes(), &Limits::unbounded_input()).map(|_| line)
        };
        for line in &good {
            assert!(parse(line).is_ok(), "{line:?}");
        }
        let uri = r#""version":0,"kind":"uri","createTime":1,"fileUri":"u","size":1"#.to_owned();
        for line in [
            (r#""name":"n""#, sized(1), r#""chunks":2"#),
            (r#""name":"n""#, sized(1), r#""next":0,"chunks":1"#),
            (r#""name":"n""#, sized(1), r#""next":1"#),
            (r#""name":"user:n""#, sized(1), r#""chunks":1"#),
            (r#""name":"n","userId":"u""#, sized(1), r#""chunks":1"#),
            (r#""name":"..""#, sized(1), r#""chunks":1"#),
            (r#""name":"n""#, BYTES.to_owned(), r#""chunks":0"#),
            (r#""name":"n""#, sized(1).replace("bytes", "none"), r#""chunks":1"#),
            (r#""name":"n""#, sized(1).replace("a/b", "\u{e9}"), r#""chunks":1"#),
            (r#""name":"n""#, format!("{},\"metadata\":[]", sized(1)), r#""chunks":1"#),
            (r#""name":"n""#, format!("{},\"fileUri\":\"u\"", sized(1)), r#""chunks":1"#),
            (r#""name":"n""#, r#""kind":"gone""#.to_owned(), r#""next":1,"chunks":0"#),
            (r#""name":"n""#, format!("{uri},{sha}"), r#""chunks":1"#),
        ] {
            assert!(parse(&line).is_err(), "{line:?}");
        }
        let data = |text: &str| {
            let line = format!("{{\"type\":\"artifact.data\",\"data\":\"{text}\"}}");
            Line::parse(line.as_bytes(), &Limits::unbounded_input()).is_ok()
        };
        assert!(data("aGk=") && data(""));
        assert!(!data("aGk") && !data("!!!!") && !data(&STANDARD.encode(vec![0; DATA_BYTES + 1])));
    }
}
