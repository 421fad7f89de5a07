//! The lines that an import reads.

use std::borrow::Cow;
use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hex::FromHex as _;

use super::format::{DATA_BYTES, DATABASE, FORMAT, data_lines, on_one_line, raw_name};
use super::rows::{ImportedRow, LogRow, Lost, PastChange, SessionLine};
use crate::domain::artifact::{
    Content, Kind as ArtifactKind, LAST, Version, parse_metadata, take_display_name, take_file_uri, take_mime_type,
};
use crate::domain::change::{Keys, parse_delta};
use crate::domain::envelope::{Fields, MAX_BODY_DEPTH};
use crate::domain::event::{EventDraft, REDACTED, StoredEvent, redaction_of, with_known_names};
use crate::domain::ids::{AppName, ArtifactName, EventId, SessionId, UserId};
use crate::domain::json::{Json, Kind, Member, RawJson};
use crate::domain::key_history::MadeBy;
use crate::domain::scope::{self, Scope};
use crate::domain::session::MetadataPatch;
use crate::domain::time::{Micros, Timestamp};
use crate::domain::{Limits, Rejected};

/// A line of an import.
#[derive(Debug)]
pub enum Line {
    /// Without an app, the export of a database without apps.
    Export {
        app: Option<AppName>,
    },
    /// Of the app, or of a user.
    State {
        user: Option<UserId>,
        revision: i64,
        state: Vec<(String, RawJson)>,
    },
    /// Of the app, or of a user.
    Change {
        user: Option<UserId>,
        change: PastChange,
    },
    Session(Box<SessionLine>),
    /// With the target revision of a rewind as its effect.
    Event(Box<ImportedRow>),
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
    pub fn plus(self, Self { sessions, events, artifacts }: Self) -> Self {
        let (sessions, events) = (self.sessions + sessions, self.events + events);
        Self { sessions, events, artifacts: self.artifacts + artifacts }
    }

    pub fn add(&mut self, line: &Line) {
        match line {
            Line::Session(_) => self.sessions += 1,
            Line::Event(_) => self.events += 1,
            Line::Artifact(artifact) if artifact.version.is_some() => self.artifacts += 1,
            _ => {}
        }
    }
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
            "app.state" | "user.state" => {
                let user = owner(&kind, &mut fields);
                let (revision, state) = (integer(&mut fields, "revision"), state(&mut fields)?);
                let parts = user.zip(revision).zip(state);
                parts.map(|((user, revision), state)| Self::State { user, revision, state })
            }
            "app.change" | "user.change" => {
                let user = owner(&kind, &mut fields);
                user.zip(change(&mut fields)?).map(|(user, change)| Self::Change { user, change })
            }
            "session" => SessionLine::take(&mut fields)?.map(|session| Self::Session(Box::new(session))),
            "event" => event(&mut fields, limits)?.map(|event| Self::Event(Box::new(event))),
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

/// The greatest revision, sequence or count of a line. No service gets there, and what follows it is a number still.
const MOST: i64 = 1 << 53;

fn integer(fields: &mut Fields<'_>, name: &str) -> Option<i64> {
    fields.take_integer(name, 0..=MOST, "must be an integer from 0 to 2^53")
}

fn number(json: Json<'_>) -> Option<i64> {
    json.text().parse().ok().filter(|number| (0..=MOST).contains(number))
}

fn digest(fields: &mut Fields<'_>, name: &str) -> Option<[u8; 32]> {
    fields.take_str_with(name, |text| <[u8; 32]>::from_hex(text).map_err(|_| "must be 64 hexadecimal digits"))
}

fn time(fields: &mut Fields<'_>, name: &str) -> Option<Micros> {
    fields.take_with(name, Timestamp::parse).map(|time| time.micros)
}

/// Of a line of the app nobody, of one of a user that user.
fn owner(kind: &str, fields: &mut Fields<'_>) -> Option<Option<UserId>> {
    if kind.starts_with("app.") { Some(None) } else { fields.take_str_with("userId", UserId::parse).map(Some) }
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
        sequence: json.get("sequence").and_then(number).filter(|sequence| *sequence > 0)?,
        author: text("author")?.into_owned(),
        invocation_id: text("invocationId").unwrap_or_default().into_owned(),
    })
}

fn saw(fields: &mut Fields<'_>) -> Option<(i64, i64)> {
    let numbers: Vec<i64> = fields.take("saw")?.as_array()?.filter_map(number).collect();
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
        let forked_from = fields
            .take_with("forkedFrom", |source| fork_source(source).ok_or("must be a `sessionId` and a `revision`"));
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
    let one = |member: Member<'_>| Some((ArtifactName::parse(&member.key).ok()?, version(member.value.text())?));
    let read: Option<Vec<_>> = named.as_object().and_then(|members| members.map(one).collect());
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
    Some((id, number(revision?)?))
}

/// The text of a stored event with the member `redacted` at its end.
fn with_redaction(body: &str, redaction: Json<'_>) -> String {
    let open = body.strip_suffix('}').unwrap_or(body);
    format!("{open},\"redacted\":{}}}", redaction.text())
}

fn event(fields: &mut Fields<'_>, limits: &Limits) -> Result<Option<ImportedRow>, Rejected> {
    let raw = fields.take_str("raw");
    let given = match (&raw, fields.take("event")) {
        (Some(raw), None) => Json::parse(raw.as_bytes(), MAX_BODY_DEPTH)?,
        (None, Some(event)) => event,
        _ => return Err(Rejected::field("event", "or `raw` is required, and not both")),
    };
    let (saw, given_digest) = (saw(fields), digest(fields, "digest"));
    let sequence = given.get("sequence").and_then(number).filter(|sequence| *sequence > 0);
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
    // What recognises a retry.
    event.digest = match given_digest {
        _ if is_redacted => REDACTED,
        Some(digest) if !event.edit.ops.is_empty() => digest,
        _ => event.digest,
    };
    let body = Json::trusted(&event.body);
    let metadata = body.get("customMetadata").and_then(|metadata| metadata.get("rewindToRevision"));
    let is_rewind = body.get("actions").is_some_and(|actions| actions.get("rewindBeforeInvocationId").is_some());
    let effect = metadata.filter(|_| is_rewind).and_then(number);
    Ok(Some(ImportedRow { sequence, commit_time: commit_time.micros, saw, effect, event }))
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
