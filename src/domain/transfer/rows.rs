//! What an export asks for, and what an import writes.

use std::collections::BTreeMap;

use sha2::{Digest as _, Sha256};

use crate::domain::artifact::{Blob, SavedBlob, Version};
use crate::domain::change::Edit;
use crate::domain::envelope::Fields;
use crate::domain::erasure::Subject;
use crate::domain::event::NewEvent;
use crate::domain::fold::Span;
use crate::domain::ids::{AppName, ArtifactName, EventId, ScopeKey, SessionId, SessionKey, UserId, UserKey};
use crate::domain::json::{Json, ObjectText, RawJson};
use crate::domain::key_history::MadeBy;
use crate::domain::query::ScopeView;
use crate::domain::refusal::Refusal;
use crate::domain::session::SessionInfo;
use crate::domain::time::{Micros, Timestamp};

/// The source of an export.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ExportSource {
    App(AppName),
    User(UserKey),
    Session(SessionKey),
}

impl ExportSource {
    pub fn app(&self) -> &AppName {
        match self {
            Self::App(app) => app,
            Self::User(user) => &user.app,
            Self::Session(session) => session.app(),
        }
    }

    /// Binds a cursor to this source: in another one the same position is after other sessions.
    pub(super) fn mark(&self) -> String {
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
        hex::encode(&hash.finalize()[..8])
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

    pub(super) fn take(fields: &mut Fields<'_>) -> Option<Self> {
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

    pub(super) fn push(&self, line: &mut ObjectText) {
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
    pub chunk: ImportChunk,
    /// What it costs the user.
    pub cost: u32,
    pub now: Micros,
}

#[derive(Debug, Default)]
pub struct ImportChunk {
    pub rows: Vec<ImportedRow>,
    /// Past values of the session's state, and past versions that events named last.
    pub past: Vec<Span<String, RawJson>>,
    pub named: Vec<Span<ArtifactName, i64>>,
    pub artifacts: Vec<ImportedArtifact>,
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
    /// How many versions of artifacts it has, and how many events after its base.
    pub versions: i64,
    pub events: u64,
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
