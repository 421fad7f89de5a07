//! The machine of an import over a database that is a few maps.

use std::collections::{BTreeMap, BTreeSet};
use std::mem;

use proptest::prelude::*;
use sha2::{Digest as _, Sha256};

use super::ask::{CHUNK_ROWS, weight};
use super::*;
use crate::domain::Limits;
use crate::domain::access::{Grant, Names, Role};
use crate::domain::artifact::{Content, Kind, MAX_VERSIONS, SavedBlob, Version};
use crate::domain::effective::COMPACTION;
use crate::domain::event::EventDraft;
use crate::domain::ids::{AppName, ArtifactName, EventId, ScopeKey, SessionId, SessionKey, UserId, UserKey};
use crate::domain::json::{Json, RawJson};
use crate::domain::refusal::{Bound, Refusal};
use crate::domain::session::SessionInfo;
use crate::domain::tag::Timeline;
use crate::domain::time::Micros;
use crate::domain::transfer::{
    ArtifactImport, DATA_BYTES, ExportSource, Exported, ExportedArtifact, ImportEnd, ImportedRow, LinesDigest, LogRow,
    Lost, NamedFile, PastChange, PastPage, ScopeHead, ScopeImport, Totals, artifact_line, change_line, data_line,
    end_of_session, first_line, is_object, last_line, row_line, session_line, state_line,
};

// The export.

fn app(name: &str) -> AppName {
    AppName::parse(name).unwrap()
}

fn user(name: &str) -> UserKey {
    UserKey { app: app("a"), user: UserId::parse(name).unwrap() }
}

fn file(name: &str) -> ArtifactName {
    ArtifactName::parse(name).unwrap()
}

fn pairs(json: &str) -> Vec<(String, RawJson)> {
    Json::trusted(json).as_object().unwrap().map(|member| (member.key.into_owned(), member.value.to_raw())).collect()
}

fn changed(revision: i64, is_base: bool, set: &str, removed: &[&str]) -> PastChange {
    let removed = removed.iter().map(|key| (*key).to_owned()).collect();
    PastChange { revision, time: Micros(revision), is_base, set: pairs(set), removed, by: BTreeMap::new() }
}

/// A version with these bytes, or with a name of a place.
fn version(of: &str, number: i64, bytes: Option<&[u8]>) -> ExportedArtifact {
    let content = Content {
        kind: if bytes.is_some() { Kind::Bytes } else { Kind::Uri },
        mime_type: bytes.map(|_| "a/b".to_owned()),
        bytes: bytes.map(|bytes| (bytes.len() as u64, Sha256::digest(bytes).into())),
        display_name: None,
        file_uri: bytes.is_none().then(|| RawJson::trusted(r#""gs://x""#)),
        metadata: None,
    };
    let version = Version { name: file(of), version: number, content, create_time: Micros(1), revision: None };
    ExportedArtifact { name: file(of), version: Some(version), blob: None, next: number + 1 }
}

/// The lines of a version.
fn of_file(of: Option<&str>, name: &str, number: i64, bytes: Option<&[u8]>) -> Vec<String> {
    let user = of.map(|name| user(name).user);
    let mut lines = vec![artifact_line(user.as_ref(), &version(name, number, bytes))];
    lines.extend(bytes.unwrap_or_default().chunks(DATA_BYTES).map(data_line));
    lines
}

/// A row of a log: an event as it is stored, or, without a body, a stub.
fn row(sequence: i64, id: &str, rest: &str, saw: (i64, i64), is_stub: bool) -> LogRow {
    let text = format!(r#"{{"id":"{id}","timestamp":{sequence},"author":"a"{rest}}}"#);
    let draft = EventDraft::parse(Json::trusted(&text), "", None, &Limits::unbounded_input()).unwrap();
    let event = draft.seal(EventId::parse(id).unwrap(), Micros(sequence));
    LogRow {
        sequence,
        id: event.id.clone(),
        invocation_id: event.invocation_id.clone(),
        event_time: event.timestamp.micros,
        commit_time: Micros(10 * sequence),
        saw,
        digest: event.digest,
        body: (!is_stub).then(|| event.body.to_string()),
    }
}

fn head(of: &str, session: &str, base: i64, revision: i64) -> SessionInfo {
    SessionInfo {
        key: SessionKey { user: user(of), session: SessionId::parse(session).unwrap() },
        incarnation: 1,
        timeline: Timeline::default(),
        revision,
        metadata_revision: 0,
        base_revision: base,
        user_revision: 0,
        app_revision: 0,
        create_time: Micros(1),
        update_time: Micros(1).into(),
        display_name: None,
        labels: None,
        expire_time: None,
        forked_from: None,
    }
}

/// The lines of a session.
fn session(
    head: &SessionInfo,
    base: (&str, &[(&str, i64)]),
    rows: &[LogRow],
    files: &[String],
    state: &str,
) -> Vec<String> {
    let exported = Exported {
        head: head.clone(),
        base_state: RawJson::trusted(base.0),
        base_saw: (0, 0),
        base_artifacts: base.1.iter().map(|(name, version)| (file(name), *version)).collect(),
        has_artifacts: true,
        redacted: 0,
        nearest_source: None,
        lost: Lost::default(),
        origin: None,
        imported_digest: None,
        state: None,
        rows: Vec::new(),
        more: false,
    };
    let mut lines = vec![session_line(&exported)];
    lines.extend(rows.iter().map(row_line));
    lines.extend_from_slice(files);
    let mut digest = LinesDigest::default();
    lines.iter().for_each(|line| digest.add(line.as_bytes()));
    lines.push(end_of_session(&ExportSource::App(app("a")), head, state, &Lost::default(), None, digest.finish()));
    lines
}

fn totals(lines: &[String]) -> Totals {
    let mut totals = Totals::default();
    for line in lines {
        totals.sessions += u64::from(line.starts_with(r#"{"type":"session","#));
        totals.events += u64::from(line.starts_with(r#"{"type":"event""#));
        totals.artifacts += u64::from(line.starts_with(r#"{"type":"artifact","#) && line.contains(r#""version":"#));
    }
    totals
}

/// The lines of an export with these parts.
fn export_of(parts: Vec<Vec<String>>) -> Vec<String> {
    let mut lines = vec![first_line(&ExportSource::App(app("a")), Micros(0))];
    lines.extend(parts.into_iter().flatten());
    lines.push(last_line(totals(&lines)));
    lines
}

fn rewind(invocation: &str) -> String {
    format!(r#","actions":{{"rewindBeforeInvocationId":"{invocation}"}}"#)
}

/// State of the app and of a user with its past, an artifact of the user, a session with artifacts, and one that was trimmed.
fn export() -> Vec<String> {
    let u = user("u").user;
    let rows = [
        row(1, "e1", r#","invocationId":"i1","actions":{"stateDelta":{"a":1,"b":1}}"#, (1, 1), false),
        row(
            2,
            "e2",
            r#","invocationId":"i2","actions":{"stateOps":[{"op":"remove","key":"b"}],"artifactDelta":{"f":0,"user:own":0}}"#,
            (2, 2),
            false,
        ),
        row(3, "e3", r#","invocationId":"i3","actions":{"stateDelta":{"a":2},"artifactDelta":{"f":1}}"#, (2, 3), false),
        row(4, "e4", &rewind("i2"), (2, 3), false),
    ];
    let files = [of_file(None, "f", 0, Some(b"zero")), of_file(None, "f", 1, None)].concat();
    let cut = [
        row(1, "c1", r#","invocationId":"i1""#, (1, 1), true),
        row(2, "c2", r#","invocationId":"i2""#, (1, 2), true),
        row(3, "c3", r#","actions":{"stateDelta":{"k":3},"artifactDelta":{"f":4}}"#, (2, 3), false),
        row(4, "c4", &rewind("none"), (2, 3), false),
        row(5, "c5", &rewind("i2"), (2, 3), false),
    ];
    export_of(vec![
        vec![
            state_line(None, 3, r#"{"k":3,"m":1}"#),
            change_line(None, &changed(1, false, r#"{"k":1,"m":1}"#, &[])),
            change_line(None, &changed(2, false, r#"{"g":0,"k":2}"#, &[])),
            change_line(None, &changed(3, false, r#"{"k":3}"#, &["g"])),
            state_line(Some(&u), 2, r#"{"n":2}"#),
            change_line(Some(&u), &changed(1, true, r#"{"n":1}"#, &[])),
            change_line(Some(&u), &changed(2, false, r#"{"n":2}"#, &[])),
        ],
        of_file(Some("u"), "user:own", 0, Some(b"own")),
        of_file(Some("u"), "user:own", 2, None),
        session(&head("u", "s", 0, 4), (r#"{"a":0}"#, &[]), &rows, &files, r#"{"a":2}"#),
        session(&head("u", "t", 2, 5), (r#"{"k":2}"#, &[("f", 3)]), &cut, &[], r#"{"k":3}"#),
    ])
}

/// The lines with the digests that they have, as whoever made them up would write them.
fn sealed(lines: &[String]) -> Vec<String> {
    let mut digest = LinesDigest::default();
    let mut is_within = false;
    let seal = |line: &String| {
        if line.starts_with(r#"{"type":"session.end""#) && is_within {
            let (before, after) = line.split_once(r#""sha256":""#).unwrap();
            return format!(r#"{before}"sha256":"{}{}"#, hex::encode(digest.clone().finish()), &after[64..]);
        }
        if line.starts_with(r#"{"type":"session","#) {
            (digest, is_within) = (LinesDigest::default(), true);
        }
        digest.add(line.as_bytes());
        line.clone()
    };
    lines.iter().map(seal).collect()
}

fn at(lines: &[String], part: &str) -> usize {
    lines.iter().position(|line| line.contains(part)).unwrap_or_else(|| panic!("no line has {part}"))
}

/// Changes the first line that has this.
fn replace(lines: &mut [String], from: &str, to: &str) {
    let at = at(lines, from);
    lines[at] = lines[at].replacen(from, to, 1);
}

// The database.

/// Sequence, id, text, effect, and the revisions that it saw.
type StoredRow = (i64, String, String, Option<i64>, (i64, i64));

/// A session that was imported, as texts that can be compared.
#[derive(Debug, Clone, Default, PartialEq)]
struct Stored {
    rows: Vec<StoredRow>,
    state: Vec<(String, String, i64)>,
    spans: Vec<(String, String, i64, i64)>,
    named: Vec<String>,
    named_spans: Vec<(String, i64, i64, i64)>,
    files: Vec<(String, i64)>,
    head: String,
}

#[derive(Debug, Clone, PartialEq)]
struct Shared {
    revision: i64,
    imported: i64,
    floor: i64,
    state: Vec<(String, RawJson)>,
    past: Vec<PastChange>,
    spans: BTreeSet<(String, i64, i64)>,
}

impl Shared {
    fn at(&self, revision: i64) -> Option<String> {
        let mut state: BTreeMap<&str, &RawJson> = BTreeMap::new();
        if revision == self.revision {
            state = self.state.iter().map(|(key, value)| (key.as_str(), value)).collect();
        } else if revision < self.floor || revision > self.revision {
            return None;
        } else {
            for change in self.past.iter().filter(|change| change.revision <= revision) {
                state.extend(change.set.iter().map(|(key, value)| (key.as_str(), value)));
                state.retain(|key, _| !change.removed.iter().any(|removed| removed == key));
            }
        }
        let members: Vec<String> = state.iter().map(|(key, value)| format!("\"{key}\":{}", value.text())).collect();
        Some(format!("{{{}}}", members.join(",")))
    }
}

#[derive(Debug, Clone, Default)]
struct World {
    sessions: BTreeMap<String, (Stored, [u8; 32], Lost)>,
    hidden: BTreeMap<i64, (String, Stored)>,
    scopes: BTreeMap<String, Shared>,
    files: BTreeMap<String, Vec<(i64, Option<u64>)>>,
    /// Bytes that are stored, and held by no version.
    loose: BTreeSet<String>,
    upload: Option<(Sha256, u64)>,
    /// Bytes are stored apart from their versions.
    is_apart: bool,
    fresh: i64,
    time: i64,
    /// The next ask of this name is refused.
    refuses: Option<(&'static str, Refusal)>,
    bytes_fail: Option<(&'static str, Fault)>,
    /// Of the history that was written last: what changed before its last revision.
    unchanged: Vec<(String, i64)>,
    writes: usize,
    /// What the next session had written is gone.
    loses_rows: bool,
    asked: Vec<&'static str>,
    paid: u32,
    most_memory: usize,
}

fn of_key(key: &SessionKey) -> String {
    format!("{}/{}/{}", key.app().as_str(), key.user.user.as_str(), key.session)
}

fn of_scope(scope: &ScopeKey) -> String {
    format!("{}/{}", scope.app().as_str(), scope.user().map_or("", |user| user.user.as_str()))
}

fn name(ask: &Ask) -> &'static str {
    match ask {
        Ask::Begin => "begin",
        Ask::Write(Write::Scope(_)) => "take scope",
        Ask::Write(Write::Past(_)) => "write past",
        Ask::Write(Write::PastEnd(_)) => "end past",
        Ask::Write(Write::Rows(_)) => "write rows",
        Ask::Write(Write::Session(_)) => "take session",
        Ask::Write(Write::File(..)) => "take file",
        Ask::Judge(_) => "judge",
        Ask::ScopeAt(..) => "scope at",
        Ask::Past(_) => "read past",
        Ask::FindSession(..) => "find session",
        Ask::Compare(_) => "compare",
        Ask::Abandon(..) => "abandon",
        Ask::FindFile(..) => "find file",
        Ask::Push(..) => "push",
        Ask::Keep => "keep",
        Ask::Drop => "drop",
        Ask::Renew(_) => "renew",
        Ask::Leave(_) => "leave",
        Ask::Stop(_) => "stop",
    }
}

impl World {
    fn take_scope(&mut self, import: &ScopeImport, is_written: bool) -> Result<(), Refusal> {
        let key = of_scope(&import.scope);
        match self.scopes.get(&key) {
            Some(found) => {
                is_object(&import.state, &found.at(found.revision).unwrap()).then_some(()).ok_or(Refusal::OtherState)
            }
            None => {
                if is_written && import.revision > 0 {
                    let (revision, state) = (import.revision, import.state.clone());
                    let (past, spans) = (Vec::new(), BTreeSet::new());
                    self.scopes
                        .insert(key, Shared { revision, imported: revision, floor: revision, state, past, spans });
                }
                Ok(())
            }
        }
    }

    fn take_session(&mut self, import: &ImportEnd) -> Result<(), Refusal> {
        let key = of_key(&import.key);
        if self.sessions.contains_key(&key) {
            return Err(Refusal::SessionAlreadyExists);
        }
        let (_, mut stored) = self.hidden.remove(&import.incarnation).ok_or(Refusal::ImportLost)?;
        stored.state =
            import.state.iter().map(|(key, value, at)| (key.clone(), value.text().to_owned(), *at)).collect();
        let named = |named: &NamedFile| {
            let NamedFile { name, version, revision, first_revision, versions, is_elsewhere } = named;
            format!("{name} {version} {first_revision}-{revision} {}-{} {is_elsewhere}", versions.0, versions.1)
        };
        stored.named = import.named.iter().map(named).collect();
        stored.head = format!(
            "{}-{} {} {} {:?} {} {:?}",
            import.begin.base,
            import.revision,
            import.update_time.number.text(),
            import.commit_time.0,
            import.base_saw,
            import.versions,
            import.nearest_source.as_ref().map(ToString::to_string)
        );
        assert_eq!(stored.files.len() as i64, import.versions);
        self.sessions.insert(key, (stored, import.sha256, import.lost));
        Ok(())
    }

    fn write(&mut self, write: &Write) -> Result<bool, Refusal> {
        match write {
            Write::Scope(import) => {
                assert_eq!(import.since, if import.scope.app().as_str() == "a" { 7 } else { 0 });
                self.take_scope(import, true).map(|()| true)
            }
            Write::Past(rows) => {
                let found = self.scopes.get_mut(&of_scope(&rows.scope)).unwrap();
                if found.imported != rows.revision {
                    return Err(Refusal::OtherState);
                }
                let is_new = |change: &&PastChange| found.past.iter().all(|there| there.revision != change.revision);
                let new: Vec<PastChange> = rows.changes.iter().filter(is_new).cloned().collect();
                found.past.extend(new);
                found.past.sort_by_key(|change| change.revision);
                found.spans.extend(rows.spans.iter().cloned());
                Ok(true)
            }
            Write::PastEnd(end) => {
                let found = self.scopes.get_mut(&of_scope(&end.scope)).unwrap();
                if found.imported != end.revision {
                    return Err(Refusal::OtherState);
                }
                (found.imported, found.floor) = (0, end.floor);
                let is_held = |(key, value, since): &(String, RawJson, i64)| {
                    *since < end.revision && found.state.iter().any(|(there, now)| there == key && now == value)
                };
                assert!(end.unchanged.iter().all(is_held), "{:?}", end.unchanged);
                self.unchanged.extend(end.unchanged.iter().map(|(key, _, since)| (key.clone(), *since)));
                Ok(true)
            }
            Write::Rows(rows) => {
                if rows.begins == self.hidden.contains_key(&rows.incarnation) {
                    return Err(Refusal::ImportLost);
                }
                let (_, stored) = self.hidden.entry(rows.incarnation).or_insert((of_key(&rows.key), Stored::default()));
                let event = |row: &ImportedRow| {
                    (row.sequence, row.event.id.to_string(), row.event.body.to_string(), row.effect, row.saw)
                };
                stored.rows.extend(rows.chunk.rows.iter().map(event));
                let past = rows.chunk.past.iter();
                stored.spans.extend(past.map(|s| (s.key.clone(), s.value.text().to_owned(), s.from, s.to)));
                let named = rows.chunk.named.iter();
                stored.named_spans.extend(named.map(|s| (s.key.to_string(), s.value, s.from, s.to)));
                for artifact in &rows.chunk.artifacts {
                    stored.files.extend(artifact.version.iter().map(|v| (v.name.to_string(), v.version)));
                    self.loose.retain(|id| artifact.blob.as_ref().is_none_or(|blob| blob.id != *id));
                }
                self.writes += 1;
                Ok(true)
            }
            Write::Session(import) => self.take_session(import).map(|()| true),
            Write::File(import, _) => self.take_file(import, true),
        }
    }

    fn answer(&mut self, machine: &mut ImportMachine, ask: Ask) {
        let name = name(&ask);
        self.asked.push(name);
        let fault = self.bytes_fail.take_if(|(of, _)| *of == name).map(|(_, fault)| fault);
        match ask {
            Ask::Begin => machine.begun(vec![(app("a"), 7)], [1; 32]),
            Ask::Write(write) => {
                let refusal = self.refuses.take_if(|(of, _)| *of == name);
                if let Write::Session(import) = &write
                    && mem::take(&mut self.loses_rows)
                {
                    self.hidden.remove(&import.incarnation);
                }
                let outcome = refusal.map_or_else(|| self.write(&write), |(_, refusal)| Err(refusal));
                machine.written(write, outcome);
            }
            Ask::Judge(write) => {
                let outcome = match &write {
                    Write::Scope(import) => self.take_scope(import, false).map(|()| true),
                    Write::File(import, exists) => self.take_file(import, false).map(|_| !exists),
                    _ => panic!("{write:?}"),
                };
                machine.written(write, outcome);
            }
            Ask::ScopeAt(scope, revision) => {
                let found = self.scopes.get(&of_scope(&scope));
                let then = found.map_or_else(|| (revision == 0).then(|| "{}".to_owned()), |found| found.at(revision));
                let head = found.map_or(ScopeHead { revision: 0, floor: 0, imported: 0 }, |found| ScopeHead {
                    revision: found.revision,
                    floor: found.floor,
                    imported: found.imported,
                });
                machine.scope_was(head, then.as_deref());
            }
            Ask::Past(query) => {
                let past = self.scopes.get(&of_scope(&query.scope)).map(|found| found.past.clone()).unwrap_or_default();
                let is_there = |change: &PastChange| !change.set.is_empty() || !change.removed.is_empty();
                let range = query.after.unwrap() + 1..=query.through;
                let mut changes: Vec<_> =
                    past.into_iter().filter(|change| range.contains(&change.revision) && is_there(change)).collect();
                let more = changes.len() > 2;
                changes.truncate(2);
                machine.past_was(&PastPage { view: None, floor: 0, changes, more });
            }
            Ask::FindSession(key, is_timed) => {
                self.fresh += 1;
                let exists = self.sessions.contains_key(&of_key(&key));
                machine.session_found(exists, self.fresh, is_timed.then_some(Micros(self.time)));
            }
            Ask::Compare(import) => {
                let found = self.sessions.get(&of_key(&import.key));
                machine.compared(&import, found.is_some_and(|(_, sha256, _)| *sha256 == import.sha256));
            }
            Ask::Abandon(_, incarnation) => drop(self.hidden.remove(&incarnation)),
            Ask::FindFile(user, name) => {
                self.fresh += 1;
                machine.file_found(self.files.contains_key(&format!("{}/{name}", user.user.as_str())), self.fresh);
            }
            Ask::Push(user, bytes) => {
                let (hash, size) = self.upload.get_or_insert((Sha256::new(), 0));
                hash.update(&bytes);
                *size += bytes.len() as u64;
                let pushed = ((*size, hash.clone().finalize().into()), user, 1);
                machine.pushed(fault.map_or(Ok(pushed), Err));
            }
            Ask::Keep => {
                self.upload = None;
                self.fresh += 1;
                let id = format!("blob {}", self.fresh);
                if fault.is_none() {
                    self.loose.extend(self.is_apart.then(|| id.clone()));
                }
                let bytes = (!self.is_apart).then(Vec::new);
                machine.kept(fault.map_or(Ok(SavedBlob { id, bytes }), Err));
            }
            Ask::Drop => self.upload = None,
            Ask::Renew(key) => assert!(self.loose.contains(&key.id)),
            Ask::Leave(key) => assert!(self.loose.remove(&key.id)),
            Ask::Stop(refusal) => panic!("{refusal:?}"),
        }
    }

    fn take_file(&mut self, import: &ArtifactImport, is_written: bool) -> Result<bool, Refusal> {
        let given = import.versions.iter().filter_map(|version| version.version.as_ref());
        let given: Vec<_> =
            given.map(|version| (version.version, version.content.bytes.map(|(size, _)| size))).collect();
        let key = format!("{}/{}", import.user.user.as_str(), import.name);
        match self.files.get(&key) {
            Some(found) if *found == given => Ok(false),
            Some(_) => Err(Refusal::ArtifactVersionExists),
            None => {
                if is_written {
                    self.files.insert(key, given);
                    let blobs = import.versions.iter().filter_map(|version| version.blob.as_ref());
                    let held: BTreeSet<&String> = blobs.map(|blob| &blob.id).collect();
                    self.loose.retain(|id| !held.contains(id));
                }
                Ok(true)
            }
        }
    }

    fn run(&mut self, machine: &mut ImportMachine) {
        while let Some(ask) = machine.ask() {
            self.answer(machine, ask);
        }
        self.paid += machine.take_stored().map_or(0, |(_, cost)| cost);
        self.most_memory = self.most_memory.max(machine.memory());
    }

    /// As [`World::import`]; the rows of a session are gone before it ends, if `is_lost`.
    fn import_lost(&mut self, lines: &[String], is_lost: bool) -> Vec<String> {
        self.loses_rows = is_lost;
        self.import(lines)
    }

    /// Imports lines; the results, one text for each.
    fn import_with(&mut self, mut machine: ImportMachine, lines: &[String]) -> (Vec<String>, Totals, bool) {
        self.asked.clear();
        let mut told = Vec::new();
        for line in lines {
            machine.line(line.trim_end_matches('\n').as_bytes(), Micros(self.time));
            self.run(&mut machine);
            told.extend(machine.results());
        }
        machine.finish(Micros(self.time));
        self.run(&mut machine);
        told.extend(machine.results());
        assert_eq!((machine.memory(), self.upload.is_none(), self.hidden.len(), self.loose.len()), (0, true, 0, 0));
        (told.iter().map(shown).collect(), machine.created(), machine.is_whole())
    }

    fn import(&mut self, lines: &[String]) -> Vec<String> {
        self.import_with(machine(ImportOptions::default()), lines).0
    }

    fn session(&self, key: &str) -> &Stored {
        &self.sessions[key].0
    }
}

fn machine(options: ImportOptions) -> ImportMachine {
    ImportMachine::new(options, Grant::unlimited(), Limits::default())
}

/// `PART RESULT`, and for what was not taken the code and the detail.
fn shown(told: &Imported) -> String {
    let of = match &told.of {
        ImportedPart::Session(user, session) => format!("{}/{session}", user.as_str()),
        ImportedPart::State(user) => format!("state {}", user.as_ref().map_or("app", UserId::as_str)),
        ImportedPart::Artifact(user, name) => format!("{}/{name}", user.as_str()),
        ImportedPart::Unread => "?".to_owned(),
    };
    match &told.result {
        ImportResult::Created => format!("{of} created"),
        ImportResult::Unchanged => format!("{of} unchanged"),
        ImportResult::Skipped(Fault { code, detail }) => format!("{of} skipped {code}: {detail}"),
        ImportResult::Failed(Fault { code, detail }) => format!("{of} failed {code}: {detail}"),
    }
}

/// Each result begins as expected.
#[track_caller]
fn assert_told(told: &[String], expected: &[&str], of: &str) {
    let begins = told.iter().zip(expected).all(|(told, expected)| told.starts_with(expected));
    assert!(begins && told.len() == expected.len(), "{of}:\n{told:#?}\nand not\n{expected:#?}");
}

/// What a fresh database has after the whole export.
fn whole() -> World {
    let mut world = World::default();
    assert_eq!(world.import(&export()), ["u/s created", "u/t created"]);
    world
}

// What comes of an export.

#[test]
fn sessions_come_back_as_they_were() {
    let mut world = World::default();
    let (told, created, is_whole) = world.import_with(machine(ImportOptions::default()), &export());
    assert_eq!((told, is_whole), (vec!["u/s created".to_owned(), "u/t created".to_owned()], true));
    assert_eq!(created, Totals { sessions: 2, events: 7, artifacts: 4 });
    // Two versions of the user, rows of two sessions, and one for each line of bytes.
    assert_eq!(world.paid, 2 + 4 + 2 + 3 + 2);
    let s = world.session("a/u/s");
    let ids: Vec<_> =
        s.rows.iter().map(|(sequence, id, _, effect, saw)| (*sequence, id.as_str(), *effect, *saw)).collect();
    assert_eq!(
        ids,
        [(1, "e1", None, (1, 1)), (2, "e2", None, (2, 2)), (3, "e3", None, (2, 3)), (4, "e4", Some(1), (2, 3))]
    );
    assert_eq!(s.state, [("a".to_owned(), "2".to_owned(), 3)]);
    let span = |key: &str, value: &str, from, to| (key.to_owned(), value.to_owned(), from, to);
    assert_eq!(s.spans, [span("a", "0", 0, 1), span("b", "1", 1, 2), span("a", "1", 1, 3)]);
    assert_eq!(s.named, ["f 1 2-3 0-1 false", "user:own 0 2-2 0-0 false"]);
    assert_eq!(s.named_spans, [("f".to_owned(), 0, 2, 3)]);
    assert_eq!(s.files, [("f".to_owned(), 0), ("f".to_owned(), 1)]);
    assert_eq!(s.head, "0-4 4 40 (0, 0) 2 None");
    let t = world.session("a/u/t");
    // The base saw what its last stub says. A rewind to what nobody knows takes nothing back, one to a stub all behind it.
    assert_eq!(t.head, "2-5 5 50 (1, 2) 0 None");
    assert_eq!(t.rows.iter().map(|row| row.3).collect::<Vec<_>>(), [None, None, None, Some(3), Some(1)]);
    assert!(t.rows[..2].iter().all(|row| row.2.is_empty()));
    assert_eq!((&t.state[..], &t.spans[..]), (&[("k".to_owned(), "3".to_owned(), 3)][..], &[span("k", "2", 2, 3)][..]));
    assert_eq!(
        (&t.named[..], &t.named_spans[..]),
        (&["f 4 2-3 3-4 false".to_owned()][..], &[("f".to_owned(), 3, 2, 3)][..])
    );
    assert!(world.sessions.values().all(|(.., lost)| *lost == Lost::default()));
    // The past of what is shared is whole, and the artifact of the user is there.
    let app = &world.scopes["a/"];
    assert_eq!((app.revision, app.imported, app.floor, app.past.len()), (3, 0, 0, 3));
    assert_eq!(world.unchanged, [("m".to_owned(), 1)]);
    let spans = |of: &[(&str, i64, i64)]| {
        of.iter().map(|(key, from, to)| ((*key).to_owned(), *from, *to)).collect::<BTreeSet<_>>()
    };
    assert_eq!(app.spans, spans(&[("k", 1, 2), ("k", 2, 3), ("g", 2, 3)]));
    assert_eq!((world.scopes["a/u"].floor, world.scopes["a/u"].spans.clone()), (1, spans(&[("n", 1, 2)])));
    assert_eq!(world.files["u/user:own"], [(0, Some(3)), (2, None)]);
}

#[test]
fn a_compaction_and_a_rewind_to_a_revision_are_stored_as_such() {
    let compaction =
        r#","actions":{"compaction":{"startTimestamp":1,"endTimestamp":2,"compactedContent":{"parts":[]}}}"#;
    let to_revision = r#","actions":{"rewindBeforeInvocationId":""},"customMetadata":{"rewindToRevision":1}"#;
    let both = r#","actions":{"rewindBeforeInvocationId":"i","compaction":{"startTimestamp":1,"endTimestamp":2,"compactedContent":{"parts":[]}}}"#;
    let rests = [r#","invocationId":"i""#, compaction, to_revision, both];
    let rows: Vec<LogRow> =
        rests.iter().zip(1..).map(|(rest, n)| row(n, &format!("e{n}"), rest, (0, 0), false)).collect();
    let mut world = World::default();
    assert_eq!(
        world.import(&export_of(vec![session(&head("u", "s", 0, 4), ("{}", &[]), &rows, &[], "{}")])),
        ["u/s created"]
    );
    let effects: Vec<_> = world.session("a/u/s").rows.iter().map(|row| row.3).collect();
    assert_eq!(effects, [None, Some(COMPACTION), Some(1), Some(0)]);
}

#[test]
fn the_same_again_changes_nothing_and_another_session_stays() {
    let mut world = whole();
    let before = (world.sessions.clone(), world.scopes.clone(), world.files.clone());
    world.paid = 0;
    let (told, created, _) = world.import_with(machine(ImportOptions::default()), &export());
    assert_eq!((told, created), (vec!["u/s unchanged".to_owned(), "u/t unchanged".to_owned()], Totals::default()));
    assert_eq!((world.sessions.clone(), world.scopes.clone(), world.files.clone()), before);
    assert!(
        !world.asked.iter().any(|ask| ["write rows", "take session", "push", "write past", "end past"].contains(ask))
    );
    assert_eq!(world.paid, 0);
    // Another session, state and artifact of these names.
    let mut other = export();
    replace(&mut other, r#""a":1,"b":1"#, r#""a":7,"b":1"#);
    let (from, end) = (at(&other, "app.state"), at(&other, r#""session""#));
    other.splice(
        from..end,
        [vec![state_line(None, 1, r#"{"k":9}"#)], of_file(Some("u"), "user:own", 0, Some(b"longer"))].concat(),
    );
    let last = other.len() - 1;
    other[last] = last_line(totals(&other));
    let other = sealed(&other);
    let expected = [
        "state app skipped revision_mismatch: the scope has other state, which stays as it is",
        "u/user:own skipped artifact_version_exists: the user has another artifact of this name, which stays as it is",
        "u/s failed session_already_exists: another session of this id is there",
        "u/t unchanged",
    ];
    for dry_run in [true, false] {
        let options = ImportOptions { dry_run, ..ImportOptions::default() };
        let (told, created, _) = world.import_with(machine(options), &other);
        assert_told(&told, &expected, "other");
        assert_eq!(created, Totals::default());
    }
    let options = ImportOptions { on_conflict: OnConflict::Skip, ..ImportOptions::default() };
    let (told, ..) = world.import_with(machine(options), &other);
    assert_eq!(told[2], "u/s skipped session_already_exists: another session of this id is there");
    assert_eq!((world.sessions.clone(), world.scopes.clone(), world.files.clone()), before);
}

#[test]
fn a_dry_run_says_the_same_and_writes_nothing() {
    let mut world = World::default();
    let options = ImportOptions { dry_run: true, ..ImportOptions::default() };
    let (told, created, is_whole) = world.import_with(machine(options), &export());
    assert_eq!((told, is_whole), (vec!["u/s created".to_owned(), "u/t created".to_owned()], true));
    assert_eq!((created, world.paid), (Totals { sessions: 2, events: 7, artifacts: 4 }, 0));
    let mut asked = world.asked.clone();
    asked.sort_unstable();
    asked.dedup();
    assert_eq!(asked, ["begin", "find file", "find session", "judge"]);
    // What is wrong with bytes is told, too.
    let mut bad = export();
    let data = at(&bad, "artifact.data");
    bad[data] = data_line(b"oth");
    let options = ImportOptions { dry_run: true, ..ImportOptions::default() };
    assert_told(
        &world.import_with(machine(options), &bad).0,
        &["u/user:own failed invalid_argument: the bytes of", "u/s created", "u/t created"],
        "bytes",
    );
}

#[test]
fn a_part_of_an_app_of_another_name_goes_there() {
    let mut world = World::default();
    let options = ImportOptions { app: Some(app("to")), ..ImportOptions::default() };
    assert_eq!(world.import_with(machine(options), &export()).0, ["u/s created", "u/t created"]);
    assert_eq!(world.sessions.keys().collect::<Vec<_>>(), ["to/u/s", "to/u/t"]);
    assert_eq!(world.scopes.keys().collect::<Vec<_>>(), ["to/", "to/u"]);
    // It needs no first line then.
    let options = ImportOptions { app: Some(app("third")), ..ImportOptions::default() };
    assert_eq!(world.import_with(machine(options), &export()[1..]).0, ["u/s created", "u/t created"]);
}

// Faults.

type Change = Box<dyn Fn(&mut Vec<String>)>;

fn change(change: impl Fn(&mut Vec<String>) + 'static) -> Change {
    Box::new(change)
}

/// What a line is replaced by.
fn to(from: &'static str, to: &'static str) -> Change {
    change(move |lines| replace(lines, from, to))
}

fn without(part: &'static str) -> Change {
    change(move |lines| drop(lines.remove(at(lines, part))))
}

fn twice(part: &'static str) -> Change {
    change(move |lines| lines.insert(at(lines, part), lines[at(lines, part)].clone()))
}

const S: &str = "u/s created";
const T: &str = "u/t created";
const MISSED: &str = "? failed invalid_argument: the last line, `end`, counts other sessions and events than there are: lines are missing";

/// What a change of the lines leads to; they have the digests of the changed lines.
#[test]
fn a_fault_fails_what_it_is_of_and_the_rest_goes_on() {
    let cases: Vec<(Change, &[&str])> = vec![
        // Lines of a session.
        (
            to(r#""id":"e2""#, r#""id":"e1""#),
            &["u/s failed invalid_argument: two events of the session have the same id", T],
        ),
        (
            to(r#""id":"c3""#, r#""id":"c2""#),
            &[S, "u/t failed invalid_argument: two events of the session have the same id"],
        ),
        (
            to(r#""id":"c2""#, r#""id":"c1""#),
            &[S, "u/t failed invalid_argument: two events of the session have the same id"],
        ),
        (
            to(r#""sequence":2,"#, r#""sequence":9,"#),
            &["u/s failed invalid_argument: the event of sequence 2 is not in its place", T],
        ),
        (
            without(r#""id":"e2""#),
            &["u/s failed invalid_argument: the event of sequence 2 is not in its place", T, MISSED],
        ),
        (
            twice(r#""id":"e2""#),
            &["u/s failed invalid_argument: the event of sequence 3 is not in its place", T, MISSED],
        ),
        (without(r#""id":"e4""#), &["u/s failed invalid_argument: events are missing before `session.end`", T, MISSED]),
        (without(r#""id":"c1""#), &[S, T]),
        (without(r#""id":"c2""#), &[S, "u/t failed invalid_argument: the event of sequence 3 is not in its place"]),
        (
            change(|lines| {
                let at = at(lines, r#""id":"c1""#);
                lines.swap(at, at + 1);
            }),
            &[S, "u/t failed invalid_argument: a stub is not in its place"],
        ),
        (twice(r#""id":"c2""#), &[S, "u/t failed invalid_argument: a stub is not in its place"]),
        (
            change(|lines| {
                let at = at(lines, r#""id":"c1""#);
                replace(&mut lines[at..], r#""sequence":1"#, r#""sequence":7"#);
            }),
            &[S, "u/t failed invalid_argument: a stub is not in its place"],
        ),
        (to(r#""baseState":{"#, r#""baseState":{"temp:t":1,"#), &["u/s failed invalid_argument: ", T]),
        (to(r#""baseState":{"#, r#""baseState":{"app:t":1,"#), &["u/s failed invalid_argument: ", T]),
        (
            to(r#""baseState":{"a":0}"#, r#""baseState":{"a":0,"z":0}"#),
            &["u/s failed invalid_argument: the state is not what base state and events come to", T],
        ),
        (
            to(r#""state":{"a":2}"#, r#""state":{"a":3}"#),
            &["u/s failed invalid_argument: the state is not what base state and events come to", T],
        ),
        (
            to(r#""state":{"a":2}"#, r#""state":{}"#),
            &["u/s failed invalid_argument: the state is not what base state and events come to", T],
        ),
        (
            to(r#""baseRevision":0,"#, r#""baseRevision":-1,"#),
            &["u/user:own failed invalid_argument: ", "? failed invalid_argument: ", T],
        ),
        (
            to(r#""baseRevision":2,"#, r#""baseRevision":1,"#),
            &[S, "u/t failed invalid_argument: a stub is not in its place"],
        ),
        (to(r#"{"type":"event""#, r#"{"type":"evento""#), &["u/s failed invalid_argument: ", T]),
        (to(r#"{"type":"event""#, r#"{type:"event""#), &["u/s failed invalid_json: ", T]),
        (
            to(r#""revision":4,"state""#, r#""revision":5,"state""#),
            &["u/s failed invalid_argument: events are missing before `session.end`", T],
        ),
        (
            change(|lines| {
                let at = at(lines, "session.end");
                replace(&mut lines[at..], r#""id":"s""#, r#""id":"x""#);
            }),
            &["u/s failed invalid_argument: `session.end` is of another session", T],
        ),
        (without("session.end"), &["u/s failed invalid_argument: the lines end before the session does", T]),
        (twice("session.end"), &[S, "? failed invalid_argument: a line is not within a session", T]),
        (without(r#""type":"session""#), &["? failed invalid_argument: a line is not within a session", T, MISSED]),
        (
            to(r#""baseRevision":0,"#, r#""baseRevision":0,"expireTime":0.000005,"#),
            &["u/s failed session_not_found: the session has expired", T],
        ),
        // Artifacts of a session, and of a user.
        (without(r#""data":"emVybw=="#), &["u/s failed invalid_argument: bytes of an artifact are missing", T]),
        (twice(r#""data":"emVybw=="#), &["u/s failed invalid_argument: bytes are not behind their artifact", T]),
        (to("emVybw==", "emVybG=="), &["u/s failed invalid_argument: ", T]),
        (
            to("emVybw==", "emVybQ=="),
            &["u/s failed invalid_argument: the bytes of version 0 of the artifact \"f\" are not", T],
        ),
        (to("emVybw==", "!"), &["u/s failed invalid_argument: ", T]),
        (
            to(r#""name":"f","version":1"#, r#""name":"f","version":0"#),
            &["u/s failed invalid_argument: version 0 of the artifact \"f\" is not in its place", T],
        ),
        (
            to(r#""name":"f","version":1"#, r#""name":"e","version":1"#),
            &["u/s failed invalid_argument: version 1 of the artifact \"e\" is not in its place", T],
        ),
        (without(r#""data":"b3du"#), &["u/user:own failed invalid_argument: bytes of an artifact are missing", S, T]),
        (twice(r#""data":"b3du"#), &["u/user:own failed invalid_argument: bytes are not behind their artifact", S, T]),
        (
            to("b3du", "b3dx"),
            &["u/user:own failed invalid_argument: the bytes of version 0 of the artifact \"user:own\" are not", S, T],
        ),
        (to("b3du", "!"), &["u/user:own failed invalid_argument: ", S, T]),
        (
            to(r#""name":"user:own","version":2"#, r#""name":"user:own","version":0"#),
            &["u/user:own failed invalid_argument: version 0 of", S, T],
        ),
        // It may have been one of the artifact of a user that follows, or goes on.
        (
            to(r#""name":"user:own","version":0"#, r#""name":"user:own","verzion":0"#),
            &["? failed ", "u/user:own failed invalid_argument: a line before it could not be read", S, T],
        ),
        (
            to(r#""name":"user:own","version":2"#, r#""name":"user:own","verzion":2"#),
            &["u/user:own failed ", "? failed ", S, T],
        ),
        // Bytes without an artifact.
        (
            change(|lines| lines.insert(1, data_line(b"x"))),
            &["? failed invalid_argument: bytes are not behind their artifact", S, T],
        ),
        // State.
        (to(r#""set":{"g":0,"#, r#""set":{"temp:g":0,"#), &["state app failed invalid_argument: ", S, T]),
        (
            without(r#""revision":2,"time":0.000002,"set":{"g""#),
            &["state app failed invalid_argument: the change of revision 3 is not in its place", S, T],
        ),
        (
            without(r#""removed":["g"]"#),
            &["state app failed invalid_argument: changes are missing behind a state", S, T],
        ),
        (
            to(r#""removed":["g"]"#, r#""removed":["x"]"#),
            &["state app failed invalid_argument: a state is not what its changes come to", S, T],
        ),
        (
            to(r#""set":{"k":3}"#, r#""set":{"k":4}"#),
            &["state app failed invalid_argument: a state is not what its changes come to", S, T],
        ),
        (
            to(r#""revision":2,"time":0.000002,"set":{"g""#, r#""revision":2,"time":0.000002,"base":true,"set":{"g""#),
            &["state app failed invalid_argument: the change of revision 2 is not in its place", S, T],
        ),
        (
            to(r#""revision":1,"time":0.000001,"set":{"k":1"#, r#""revision":2,"time":0.000001,"set":{"k":1"#),
            &["state app failed invalid_argument: the change of revision 2 is not in its place", S, T],
        ),
        (
            to(
                r#""revision":1,"time":0.000001,"set":{"k":1"#,
                r#""revision":0,"time":0.000001,"base":true,"set":{"k":1"#,
            ),
            &["state app failed invalid_argument: the change of revision 0 is not in its place", S, T],
        ),
        (
            to(r#""app.state","revision":3"#, r#""app.state","revision":2"#),
            &["state app failed invalid_argument: the change of revision 3 is not in its place", S, T],
        ),
        (without("app.state"), &["? failed invalid_argument: a change is not behind the state that it is of", S, T]),
        (
            to(r#""user.change","userId":"u""#, r#""user.change","userId":"v""#),
            &[
                "? failed invalid_argument: a change is not behind the state that it is of",
                "state u failed invalid_argument: the change of revision 2 is not in its place",
                S,
                T,
            ],
        ),
        (to(r#""state":{"k":3,"m":1}"#, r#""state":{"temp:k":3,"m":1}"#), &["? failed invalid_argument: ", S, T]),
        // The export.
        (
            without(r#""type":"export""#),
            &["? failed invalid_argument: the first line is not that of an export", "? failed", "? failed"],
        ),
        (to(r#""sessions":2"#, r#""sessions":3"#), &[S, T, MISSED]),
        (to(r#""events":7"#, r#""events":6"#), &[S, T, MISSED]),
        (to(r#""artifacts":4"#, r#""artifacts":5"#), &[S, T, MISSED]),
        (change(|lines| drop(lines.drain(at(lines, r#""id":"s""#)..at(lines, r#""id":"t""#)))), &[T, MISSED]),
        // A line that could not be read is told itself.
        (change(|lines| lines.insert(1, "?\n".to_owned())), &["? failed invalid_json: ", S, T]),
    ];
    for (n, (change, expected)) in cases.iter().enumerate() {
        let mut lines = export();
        change(&mut lines);
        let lines = sealed(&lines);
        for is_apart in [false, true] {
            let mut world = World { time: 5, is_apart, ..World::default() };
            assert_told(&world.import(&lines), expected, &format!("case {n}"));
        }
    }
}

#[test]
fn lines_with_other_digests_are_refused() {
    for (from, to) in [(r#""a":1,"b":1"#, r#""a":1,"b":7"#), (r#""author":"a""#, r#""author":"b""#), ("zero", "zero")] {
        let mut lines = export();
        if from != to {
            replace(&mut lines, from, to);
        } else {
            // Bytes that are their own, in an artifact that has others.
            let at = at(&lines, r#""name":"f","version":0"#);
            lines.splice(at..at + 2, of_file(None, "f", 0, Some(b"othe")));
        }
        let told = World::default().import(&lines);
        assert_told(&told, &["u/s failed invalid_argument: the lines are not those that `sha256` is of", T], from);
    }
}

#[test]
fn what_is_around_lines_is_no_part_of_them() {
    let lines: Vec<String> = export().iter().map(|line| line.replace('\n', "\r\n")).collect();
    let mut lines: Vec<String> =
        lines.into_iter().flat_map(|line| [line, " \r\n".to_owned(), "\n".to_owned()]).collect();
    lines[0] = format!("\u{feff}{}", lines[0]);
    assert_eq!(World::default().import(&lines), [S, T]);
}

/// At each place: what was whole is there, and nothing of the rest, which the whole export brings then.
#[test]
fn a_cut_export_shows_nothing_half_done_and_is_completed() {
    let (lines, expected) = (export(), whole());
    for is_apart in [false, true] {
        for n in 1..lines.len() {
            let mut world = World { is_apart, ..World::default() };
            let (told, created, is_whole) = world.import_with(machine(ImportOptions::default()), &lines[..n]);
            let ended = lines[..n].iter().filter(|line| line.contains("session.end")).count();
            assert_eq!((created.sessions, world.sessions.len(), is_whole), (ended as u64, ended, false), "{n}");
            let failed = told.iter().filter(|told| told.contains(" failed ")).count();
            let of_session = n > at(&lines, r#""type":"session""#) && !lines[n - 1].contains("session.end");
            let of_own = (at(&lines, "user:own") + 1..=at(&lines, r#""type":"session""#)).contains(&n);
            let of_past =
                lines[n - 1].contains(".change") && lines[n].contains(".change") && !lines[n].contains("\"base\"");
            assert_eq!(failed, usize::from(of_session || of_own || of_past), "{n}: {told:?}");
            assert!(!of_own || !world.files.contains_key("u/user:own"), "{n}");
            // Every byte of what did not come is left to the sweep, and every row: `import_with` sees to that.
            let again = world.import(&lines);
            assert!(
                !again.iter().any(|told| told.contains(" failed ") || told.contains(" skipped ")),
                "{n}: {again:?}"
            );
            let contents = |world: &World| (world.sessions.clone(), world.scopes.clone(), world.files.clone());
            assert_eq!(contents(&world), contents(&expected), "{n}");
        }
    }
}

#[test]
fn an_export_behind_one_that_was_cut_goes_on_or_is_another_one() {
    let lines = export();
    let end = lines.len() - 1;
    let other: Vec<String> = lines.iter().map(|line| line.replace(r#""appName":"a""#, r#""appName":"b""#)).collect();
    let (told, _, is_whole) =
        whole().import_with(machine(ImportOptions::default()), &[&lines[..end], &other[..]].concat());
    let cut = "? failed invalid_argument: the last line, `end`, of the export before is missing: it was cut";
    assert_eq!(
        (told, is_whole),
        (vec!["u/s unchanged", "u/t unchanged", cut, S, T].into_iter().map(str::to_owned).collect::<Vec<_>>(), true)
    );
    // The same app again, and another one behind an end.
    assert_eq!(
        World::default().import(&[&lines[..end], &lines[..]].concat()),
        [S, T, "u/s unchanged", "u/t unchanged"]
    );
    assert_eq!(World::default().import(&[&lines[..], &other[..]].concat()), [S, T, S, T]);
    // What is known of the state of one app is not known of another's: these sessions come without state.
    let of_sessions = [&other[..1], &other[at(&other, r#""type":"session""#)..end]].concat();
    let mut world = World::default();
    world.import(&[&lines[..], &of_sessions[..]].concat());
    assert_eq!(world.sessions["a/u/s"].2, Lost::default());
    assert_eq!(world.sessions["b/u/s"].2, Lost { user: Some((1, 4)), app: Some((1, 4)), files: None });
}

#[test]
fn lines_that_were_not_read_fail_what_they_are_of() {
    let lines = export();
    let data = at(&lines, r#""data":"b3du"#);
    for (n, why, told) in [
        (at(&lines, r#""id":"e2""#), Unread::TooLong, "u/s failed payload_too_large: a line is too long"),
        (at(&lines, r#""id":"e2""#), Unread::NoRoom, "u/s failed overloaded: there is no memory"),
        (data, Unread::TooLong, "u/user:own failed payload_too_large: a line is too long"),
        (1, Unread::TooLong, "? failed payload_too_large: a line is too long"),
    ] {
        let (mut world, mut machine) = (World::default(), machine(ImportOptions::default()));
        let mut results = Vec::new();
        for (at, line) in lines.iter().enumerate() {
            match at == n {
                true => machine.unread(why),
                false => machine.line(line.trim_end().as_bytes(), Micros(0)),
            }
            world.run(&mut machine);
            results.extend(machine.results().iter().map(shown));
        }
        assert!(results.iter().any(|result| result.starts_with(told)), "{results:?}");
        // It may have been any line, so the last one counts nothing that is missing.
        assert!(results.len() <= 4 && !results.iter().any(|result| result == MISSED), "{results:?}");
    }
}

// What a database says.

#[test]
fn a_write_that_is_refused_fails_its_part_alone() {
    let erased = "user_erased: the user was erased after the import began";
    let blocked = "user_erased: the user was erased, and is blocked";
    let late = "request_timeout: too much time passed between two lines; import it again";
    let many = "limit_reached: there are more than 10000 versions of artifacts";
    let reasons = [
        (Refusal::ErasedSince, erased),
        (Refusal::UserErased, blocked),
        (Refusal::ImportLost, late),
        (Refusal::BlobLost, late),
        (Refusal::LimitReached(Bound::ArtifactVersions), many),
    ];
    for (refusal, why) in reasons {
        for (ask, of) in [
            ("take scope", "state app"),
            ("write past", "state app"),
            ("end past", "state app"),
            ("take file", "u/user:own"),
            ("write rows", "u/s"),
            ("take session", "u/s"),
        ] {
            for is_apart in [false, true] {
                let mut world = World { refuses: Some((ask, refusal.clone())), is_apart, ..World::default() };
                let told = world.import_lost(&export(), ask == "take session" && refusal == Refusal::ImportLost);
                let mut expected = vec![format!("{of} failed {why}"), S.to_owned(), T.to_owned()];
                expected.retain(|told| of != "u/s" || told != S);
                assert_eq!(told, expected, "{ask}");
                // What its events saw is not known.
                let is_known = world.sessions["a/u/t"].2.app.is_none();
                assert_eq!(is_known, of != "state app", "{ask}");
            }
        }
    }
}

#[test]
fn a_session_that_was_made_meanwhile_is_compared() {
    let mut world = World { refuses: Some(("take session", Refusal::SessionAlreadyExists)), ..World::default() };
    let told = world.import(&export());
    assert_eq!(told, ["u/s failed session_already_exists: another session of this id is there", T]);
    assert_eq!(world.asked.iter().filter(|ask| **ask == "abandon").count(), 1);
}

#[test]
fn bytes_that_cannot_be_stored_fail_their_artifact() {
    let lines = export();
    for ask in ["push", "keep"] {
        let mut world = World { bytes_fail: Some((ask, Fault::bytes_lost())), is_apart: true, ..World::default() };
        let told = world.import(&lines);
        assert_eq!(
            told,
            ["u/user:own failed user_erased: the user was erased, or its bytes took too long", S, T],
            "{ask}"
        );
        let without: Vec<String> =
            lines.iter().enumerate().filter(|(n, _)| !(8..11).contains(n)).map(|(_, line)| line.clone()).collect();
        let mut world = World { bytes_fail: Some((ask, Fault::bytes_lost())), is_apart: true, ..World::default() };
        let told = world.import(&without[..without.len() - 1]);
        assert_eq!(told, ["u/s failed user_erased: the user was erased, or its bytes took too long", T], "{ask}");
    }
}

#[test]
fn what_is_outside_of_the_grant_is_told() {
    let of = |users: &[&str]| Grant {
        role: Role::Operator,
        apps: Names::all(),
        users: Names::literal(users.iter().copied()),
    };
    let mut world = World::default();
    let machine = |grant| ImportMachine::new(ImportOptions::default(), grant, Limits::default());
    let denied = "failed permission_denied: the credential is not for this app and user";
    let (told, ..) = world.import_with(machine(of(&["v"])), &export());
    let expected = ["state app", "state u", "u/user:own", "u/s", "u/t"].map(|of| format!("{of} {denied}"));
    assert_eq!(told, expected);
    assert!(world.sessions.is_empty() && world.scopes.is_empty() && world.files.is_empty());
    // State of the app is all users'.
    let (told, ..) = world.import_with(machine(of(&["u"])), &export());
    assert_eq!(told, [expected[0].clone(), S.to_owned(), T.to_owned()]);
    assert_eq!(world.sessions["a/u/s"].2, Lost { user: None, app: Some((1, 4)), files: None });
    // It may shrink on the way.
    let mut machine = machine(Grant::unlimited());
    let lines = export();
    let mut told = Vec::new();
    for (n, line) in lines.iter().enumerate() {
        if n == at(&lines, r#""id":"t""#) {
            machine.set_grant(&of(&["v"]));
        }
        machine.line(line.trim_end().as_bytes(), Micros(0));
        world.run(&mut machine);
        told.extend(machine.results().iter().map(shown));
    }
    assert_eq!(told, ["u/s unchanged".to_owned(), format!("u/t {denied}")]);
}

// The past.

/// What is known of a session's events, if this scope is there before.
fn lost_with(key: &str, there: Shared) -> (Vec<String>, Lost, Shared) {
    let mut world = World::default();
    world.scopes.insert(key.to_owned(), there);
    let told = world.import(&export());
    (told, world.sessions["a/u/s"].2, world.scopes[key].clone())
}

#[test]
fn a_past_that_is_there_is_compared() {
    let whole = whole().scopes["a/"].clone();
    let skipped = "state app skipped revision_mismatch: the scope has other state, which stays as it is";
    // The same, and one that went on.
    assert_eq!(lost_with("a/", whole.clone()), (vec![S.to_owned(), T.to_owned()], Lost::default(), whole.clone()));
    let mut on = whole.clone();
    on.past.push(changed(4, false, r#"{"k":9}"#, &[]));
    (on.revision, on.state) = (4, pairs(r#"{"k":9,"m":1}"#));
    assert_eq!(
        lost_with("a/", on.clone()),
        (vec![skipped.to_owned(), S.to_owned(), T.to_owned()], Lost::default(), on.clone())
    );
    // It differs from a revision on: what saw it is lost. Events saw 1, 2, 3 and 3, and the base 0.
    let other = |revision: usize, change: PastChange| {
        let mut there = on.clone();
        there.past[revision - 1] = change;
        lost_with("a/", there).1.app
    };
    assert_eq!(other(3, changed(3, false, r#"{"k":7}"#, &["g"])), Some((3, 4)));
    assert_eq!(other(3, changed(3, false, r#"{"k":3}"#, &[])), Some((3, 4)));
    assert_eq!(other(2, changed(2, false, r#"{"k":2}"#, &[])), Some((2, 4)));
    assert_eq!(other(1, changed(1, false, r#"{"k":1}"#, &[])), Some((1, 4)));
    // It is older here.
    let mut older = on.clone();
    older.past.truncate(2);
    (older.revision, older.state) = (2, pairs(r#"{"g":0,"k":2,"m":1}"#));
    assert_eq!(lost_with("a/", older).1.app, Some((3, 4)));
    // Its past is forgotten here up to a revision: nobody can read below that.
    let mut late = on.clone();
    late.floor = 2;
    assert_eq!(lost_with("a/", late.clone()).1.app, None);
    late.past[1] = changed(2, false, r#"{"k":2}"#, &[]);
    assert_eq!(lost_with("a/", late).1.app, Some((1, 4)));
    // Nothing of it is known.
    let mut none = on;
    (none.floor, none.past) = (4, Vec::new());
    assert_eq!(lost_with("a/", none).1.app, Some((1, 4)));
}

#[test]
fn a_past_that_an_interrupted_import_wrote_is_completed() {
    let lines = export();
    let whole = whole();
    // Of the same file, and of another one with another past.
    for other in [None, Some(changed(2, false, r#"{"x":1}"#, &[]))] {
        let mut world = World::default();
        world.import(&lines[..4]);
        assert_eq!((world.scopes["a/"].imported, world.scopes["a/"].past.len()), (3, 0));
        let is_other = other.is_some();
        world.scopes.get_mut("a/").unwrap().past.extend(other);
        assert_eq!(world.import(&lines), [S, T]);
        let there = &world.scopes["a/"];
        match is_other {
            false => assert_eq!(there, &whole.scopes["a/"]),
            true => assert_eq!((there.imported, there.floor), (3, 3), "it stays as it is"),
        }
        let app = is_other.then_some((1, 2));
        assert_eq!(world.sessions["a/u/s"].2, Lost { user: None, app, files: None });
    }
    // Somebody else completes it meanwhile.
    let mut world = World { refuses: Some(("write past", Refusal::OtherState)), ..World::default() };
    assert_eq!(world.import(&lines), [S, T]);
    assert!(world.sessions["a/u/s"].2.app.is_some());
}

#[test]
fn state_without_a_past_is_known_from_there_on() {
    let lines: Vec<String> = export().into_iter().filter(|line| !line.contains(".change")).collect();
    let mut world = World::default();
    assert_eq!(world.import(&lines), [S, T]);
    assert_eq!(world.sessions["a/u/s"].2, Lost { user: Some((1, 1)), app: Some((1, 2)), files: None });
    // A session of an older file, which does not say what its base saw.
    let mut old = export();
    replace(&mut old, r#","saw":[0,0]"#, "");
    let mut world = World::default();
    assert_eq!(world.import(&sealed(&old)), [S, T]);
    assert_eq!(world.sessions["a/u/s"].2, Lost { user: Some((0, 0)), app: Some((0, 0)), files: None });
    // What the file says is lost stays lost, and where a fork comes from is kept.
    let mut told = export();
    let end = at(&told, "session.end");
    replace(&mut told[end..], r#","sha256""#, r#","unknownPast":{"files":[2,2]},"nearestSource":"far","sha256""#);
    let mut world = World::default();
    world.import(&told);
    assert_eq!(world.sessions["a/u/s"].2, Lost { user: None, app: None, files: Some((2, 2)) });
    assert!(world.session("a/u/s").head.ends_with(r#"Some("far")"#));
}

#[test]
fn files_of_a_user_that_did_not_come_along_are_elsewhere() {
    let mut lines = export();
    let own = at(&lines, "user:own");
    lines.drain(own..own + 3);
    let mut world = World::default();
    world.import(&lines);
    assert_eq!(world.session("a/u/s").named[1], "user:own 0 2-2 0-0 true");
    // As if another one is there already.
    let mut world = World::default();
    world.files.insert("u/user:own".to_owned(), vec![(9, None)]);
    world.import(&export());
    assert_eq!(world.session("a/u/s").named[1], "user:own 0 2-2 0-0 true");
    // And of another user it is no file of this one.
    let other: Vec<String> = export()
        .iter()
        .map(|line| match line.contains("user:own") && line.contains("userId") {
            true => line.replace(r#""userId":"u""#, r#""userId":"v""#),
            false => line.clone(),
        })
        .collect();
    let mut world = World::default();
    assert_eq!(world.import(&other), [S, T]);
    assert_eq!(world.session("a/u/s").named[1], "user:own 0 2-2 0-0 true");
}

// Much of it.

#[test]
fn a_long_session_is_written_in_parts_and_memory_does_not_grow_with_it() {
    let count = 2 * CHUNK_ROWS as i64 + 10;
    let rest = |n: i64| format!(r#","actions":{{"stateDelta":{{"n":{n}}},"artifactDelta":{{"f":{n}}}}}"#);
    let rows: Vec<LogRow> = (1..=count).map(|n| row(n, &format!("e{n}"), &rest(n), (0, 0), false)).collect();
    let mut world = World::default();
    let lines =
        export_of(vec![session(&head("u", "s", 0, count), ("{}", &[]), &rows, &[], &format!(r#"{{"n":{count}}}"#))]);
    assert_eq!(world.import(&lines), [S]);
    let s = world.session("a/u/s");
    assert_eq!(
        (world.writes, s.rows.len() as i64, s.spans.len() as i64, s.named_spans.len() as i64),
        (3, count, count - 1, count - 1)
    );
    assert!(s.spans.iter().zip(1..).all(|((key, value, from, to), n)| (key.as_str(), value.as_str(), *from, *to)
        == ("n", n.to_string().as_str(), n, n + 1)));
    let of_value = weight("n", &RawJson::trusted("1"));
    assert!(world.most_memory < CHUNK_ROWS * (3 * of_value + 600), "{}", world.most_memory);
    // One that fails behind its first part leaves nothing of it.
    let mut world = World::default();
    let told = world.import(&lines[..CHUNK_ROWS + 5]);
    assert_told(&told, &["u/s failed invalid_argument: the lines end before the session does"], "cut");
    assert!(world.asked.contains(&"abandon"));
    let mut world = World::default();
    world.import(&lines[..5]);
    assert!(!world.asked.contains(&"abandon"), "nothing is written yet");
}

#[test]
fn bytes_come_in_lines_and_are_renewed_while_they_wait() {
    let bytes: Vec<u8> = (0..DATA_BYTES + 10).map(|n| (n % 251) as u8).collect();
    let parts = || {
        vec![
            [of_file(Some("u"), "user:own", 0, Some(&bytes)), of_file(Some("u"), "user:own", 1, Some(b""))].concat(),
            session(&head("u", "s", 0, 0), ("{}", &[]), &[], &of_file(None, "f", 0, Some(&bytes)), "{}"),
        ]
    };
    let lines = export_of(parts());
    assert_eq!(World::default().import(&lines), [S]);
    let own = at(&lines, "user:own");
    let of_session = at(&lines, r#""name":"f""#);
    for (n, of) in [(own, "u/user:own failed"), (of_session, "u/s failed")] {
        for bad in [n + 1, n + 2] {
            let mut without = lines.clone();
            without.remove(bad);
            let told = World::default().import(&sealed(&without));
            assert!(told[0].starts_with(of), "{told:?}");
            assert_eq!(told.len(), if n == own { 2 } else { 1 }, "{told:?}");
        }
        let mut swapped = lines.clone();
        swapped.swap(n + 1, n + 2);
        assert!(World::default().import(&sealed(&swapped))[0].starts_with(of));
    }
    // Five minutes later.
    let (mut world, mut machine) = (World { is_apart: true, ..World::default() }, machine(ImportOptions::default()));
    let more = export_of(vec![
        [of_file(Some("u"), "user:own", 0, Some(b"x")), of_file(Some("u"), "user:own", 1, Some(b"y"))].concat(),
    ]);
    for (line, minutes) in more.iter().zip([0, 0, 0, 4, 6]) {
        machine.line(line.trim_end().as_bytes(), Micros(minutes * 60_000_000));
        world.run(&mut machine);
        assert_eq!(world.asked.iter().filter(|ask| **ask == "renew").count(), usize::from(minutes > 5));
    }
    // One that is larger than artifacts may be.
    let limits = Limits { artifact_bytes: DATA_BYTES as u64, ..Limits::default() };
    let small = ImportMachine::new(ImportOptions::default(), Grant::unlimited(), limits);
    let (told, ..) = World::default().import_with(small, &lines);
    assert_told(&told, &["u/user:own failed payload_too_large: ", "u/s failed payload_too_large: "], "large");
}

#[test]
fn there_are_not_more_versions_than_may_be() {
    for (count, is_too_many) in [(MAX_VERSIONS, false), (MAX_VERSIONS + 1, true)] {
        let versions =
            |of: Option<&str>, name: &str| (0..count).flat_map(|n| of_file(of, name, n, None)).collect::<Vec<_>>();
        let lines = export_of(vec![
            versions(Some("u"), "user:own"),
            session(&head("u", "s", 0, 0), ("{}", &[]), &[], &versions(None, "f"), "{}"),
        ]);
        let told = World::default().import(&lines);
        match is_too_many {
            true => assert_told(&told, &["u/user:own failed limit_reached: ", "u/s failed limit_reached: "], "many"),
            false => assert_eq!(told, [S]),
        }
    }
}

// Whatever it is.

/// The rest of an event: values of keys, or their removal; versions of files; an invocation.
type Rest = (Vec<(u8, Option<u8>)>, Vec<(u8, u8)>, Option<u8>);

fn rest() -> impl Strategy<Value = Rest> {
    let changes = prop::collection::btree_map(0..3_u8, prop::option::of(0..3_u8), 0..3);
    let files = prop::collection::btree_map(0..2_u8, 0..3_u8, 0..2);
    (
        changes.prop_map(|map| map.into_iter().collect()),
        files.prop_map(|map| map.into_iter().collect()),
        prop::option::of(0..2_u8),
    )
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// What the writer writes is read as what it was, at each revision.
    #[test]
    fn any_session_is_read_as_it_was_written(events in prop::collection::vec(rest(), 0..8), base in 0..3_i64) {
        let base = base.min(events.len() as i64);
        let (mut state, mut names) = (BTreeMap::<String, String>::new(), BTreeMap::<String, i64>::new());
        let mut then = vec![(state.clone(), names.clone())];
        let mut rows = Vec::new();
        for ((changes, files, invocation), n) in events.iter().zip(1..) {
            let sets: Vec<String> = changes.iter().filter_map(|(key, value)| Some(format!("\"k{key}\":{}", (*value)?))).collect();
            let ops: Vec<String> = changes.iter().filter(|(_, value)| value.is_none())
                .map(|(key, _)| format!(r#"{{"op":"remove","key":"k{key}"}}"#)).collect();
            let named: Vec<String> = files.iter().map(|(name, version)| format!("\"f{name}\":{version}")).collect();
            for (key, value) in changes {
                match value {
                    Some(value) => drop(state.insert(format!("k{key}"), value.to_string())),
                    None => drop(state.remove(&format!("k{key}"))),
                }
            }
            names.extend(files.iter().map(|(name, version)| (format!("f{name}"), i64::from(*version))));
            then.push((state.clone(), names.clone()));
            let mut actions = vec![format!(r#""stateDelta":{{{}}}"#, sets.join(","))];
            actions.extend((!ops.is_empty()).then(|| format!(r#""stateOps":[{}]"#, ops.join(","))));
            actions.extend((!named.is_empty()).then(|| format!(r#""artifactDelta":{{{}}}"#, named.join(","))));
            let invocation = invocation.map_or(String::new(), |name| format!(r#","invocationId":"i{name}""#));
            let rest = format!(r#"{invocation},"actions":{{{}}}"#, actions.join(","));
            rows.push(row(n, &format!("e{n}"), &rest, (0, 0), n <= base));
        }
        let object = |state: &BTreeMap<String, String>| {
            format!("{{{}}}", state.iter().map(|(key, value)| format!("\"{key}\":{value}")).collect::<Vec<_>>().join(","))
        };
        let (base_state, base_names) = &then[usize::try_from(base).unwrap()];
        let base_names: Vec<(&str, i64)> = base_names.iter().map(|(name, version)| (name.as_str(), *version)).collect();
        let lines = export_of(vec![session(&head("u", "s", base, events.len() as i64), (&object(base_state), &base_names), &rows, &[], &object(&state))]);
        let mut world = World::default();
        prop_assert_eq!(world.import(&lines), [S]);
        let s = world.session("a/u/s");
        prop_assert_eq!(s.rows.len(), rows.len());
        for (row, stored) in rows.iter().zip(&s.rows) {
            prop_assert_eq!((row.sequence, row.body.clone().unwrap_or_default()), (stored.0, stored.2.clone()));
        }
        for (revision, (state, names)) in (0..).zip(&then).skip(usize::try_from(base).unwrap()) {
            let held = s.state.iter().filter(|(.., since)| *since <= revision).map(|(key, value, _)| (key.clone(), value.clone()));
            let past = s.spans.iter().filter(|(.., from, to)| (*from..*to).contains(&revision)).map(|(key, value, ..)| (key.clone(), value.clone()));
            prop_assert_eq!(&held.chain(past).collect::<BTreeMap<_, _>>(), state);
            let held = s.named.iter().map(|text| text.split([' ', '-']).collect::<Vec<_>>());
            let held = held.filter(|parts| parts[3].parse::<i64>().unwrap() <= revision);
            let held = held.map(|parts| (parts[0].to_owned(), parts[1].parse().unwrap()));
            let past = s.named_spans.iter().filter(|(.., from, to)| (*from..*to).contains(&revision)).map(|(name, version, ..)| (name.clone(), *version));
            prop_assert_eq!(&held.chain(past).collect::<BTreeMap<String, i64>>(), names);
        }
    }

    /// Whatever becomes of lines, a session that is created is one that was exported, whole.
    #[test]
    fn a_damaged_export_makes_no_other_session(damage in prop::collection::vec((0..4_u8, 0..64_usize, 0..64_usize, 0..400_usize), 1..3)) {
        let expected = whole();
        let mut lines = export();
        for (kind, one, other, place) in damage {
            let (one, other) = (one % lines.len(), other % lines.len());
            match kind {
                0 => drop(lines.remove(one)),
                1 => lines.swap(one, other),
                2 => lines.insert(other, lines[one].clone()),
                _ => {
                    let mut bytes = lines[one].clone().into_bytes();
                    let place = place % bytes.len();
                    bytes[place] = match bytes[place] { b'1' => b'2', b'\n' => b'\n', b'a' => b'b', _ => b'1' };
                    lines[one] = String::from_utf8(bytes).unwrap();
                }
            }
        }
        let mut world = World::default();
        world.import(&lines);
        for (key, (stored, sha256, _)) in &world.sessions {
            // The name of the app is the first line's, and is no part of a session.
            let of = key.split_once('/').unwrap().1;
            let there = expected.sessions.iter().find(|(key, _)| key.ends_with(of));
            let Some((_, (was, digest, _))) = there else { return Err(TestCaseError::fail(format!("{key} is no session"))) };
            let contents = |of: &Stored| (of.rows.clone(), of.state.clone(), of.spans.clone(), of.named_spans.clone(), of.files.clone());
            prop_assert_eq!((contents(stored), sha256), (contents(was), digest));
        }
    }
}
