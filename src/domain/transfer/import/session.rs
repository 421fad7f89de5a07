//! A session: its rows in their order, what they come to, and whether the last line says the same.

use std::collections::{HashMap, HashSet};
use std::mem;

use super::ask::{CHUNK_BYTES, CHUNK_ROWS, ENTRY_BYTES, weight};
use super::files::{IdDigest, OwnFiles, digest_of, out_of_place};
use super::result::Fault;
use super::scope::SameRange;
use crate::domain::artifact::{MAX_VERSIONS, Version};
use crate::domain::effective::COMPACTION;
use crate::domain::erasure::Subject;
use crate::domain::event::{Rewind, cost, cost_beside};
use crate::domain::fold::{Fold, Held, Span};
use crate::domain::ids::{ArtifactName, EventId, SessionKey};
use crate::domain::json::RawJson;
use crate::domain::ops::Op;
use crate::domain::scope::Scope;
use crate::domain::time::Micros;
use crate::domain::transfer::rows::{
    ImportChunk, ImportEnd, ImportRows, ImportedArtifact, ImportedRow, LogRow, Lost, NamedFile, SessionLine,
};

/// The version of an artifact that is named last; the first revision that names one, and the lowest and the highest version.
#[derive(Debug)]
struct Named {
    version: i64,
    first: i64,
    least: i64,
    most: i64,
}

/// A session that is partly read.
#[derive(Debug)]
pub(super) struct SessionReading {
    /// As far as it is known: without state and artifacts that are named.
    pub import: ImportEnd,
    /// A session of this id exists: the lines are only compared with it.
    pub exists: bool,
    /// None of its rows is written yet.
    begins: bool,
    /// The last row of its log.
    last: Option<i64>,
    state: Fold<String, RawJson>,
    /// The artifacts that events name.
    named: Fold<ArtifactName, Named>,
    chunk: ImportChunk,
    /// The approximate memory of `chunk`, but for the past, in bytes.
    bytes: usize,
    /// The approximate memory, in bytes, of its values, present and past, and of its invocations.
    memory: usize,
    /// The last version of an artifact.
    last_version: Option<(ArtifactName, i64)>,
    /// The first event of each invocation, for rewinds.
    invocations: HashMap<String, i64>,
    ids: HashSet<IdDigest>,
    /// Which revisions of user and app state are known here.
    known: (SameRange, SameRange),
    /// The revisions of user and app state that were seen at the base.
    base_saw: Option<(i64, i64)>,
}

impl SessionReading {
    /// Begins with the state of its base.
    pub fn new(
        key: SessionKey,
        mut begin: SessionLine,
        base_state: &[(String, RawJson)],
        (subject, since): (Subject, i64),
        known: (SameRange, SameRange),
    ) -> Self {
        let (base, base_saw, named) = (begin.base, begin.saw, mem::take(&mut begin.base_artifacts));
        let values: usize = base_state.iter().map(|(key, value)| weight(key, value)).sum();
        let held = |(key, value): &(String, RawJson)| (key.clone(), Held { value: value.clone(), since: base });
        let memory = values + begin.base_state.text().len();
        let import = ImportEnd {
            key,
            incarnation: 0,
            subject,
            since,
            base_saw: (0, 0),
            lost: Lost::default(),
            nearest_source: None,
            revision: base,
            update_time: begin.create_time.into(),
            commit_time: Micros(0),
            state: Vec::new(),
            named: Vec::new(),
            versions: 0,
            events: 0,
            sha256: [0; 32],
            now: Micros(0),
            begin,
        };
        let mut session = Self {
            import,
            exists: true,
            begins: true,
            last: None,
            state: Fold { now: base_state.iter().map(held).collect() },
            named: Fold::default(),
            chunk: ImportChunk::default(),
            bytes: 0,
            memory,
            last_version: None,
            invocations: HashMap::new(),
            ids: HashSet::new(),
            known,
            base_saw,
        };
        if let Some(saw) = base_saw {
            session.saw(base, saw);
        }
        session.name_versions(&named, base);
        session
    }

    /// Some of its rows are written.
    pub fn is_begun(&self) -> bool {
        !self.begins
    }

    /// The approximate memory that it takes, in bytes.
    pub fn memory(&self) -> usize {
        self.bytes + self.memory + 2 * size_of::<IdDigest>() * self.ids.len()
    }

    fn saw_id(&mut self, id: &EventId) -> Result<(), Fault> {
        let is_new = self.ids.insert(digest_of(id.as_str()));
        Fault::unless(is_new, || Fault::invalid("two events of the session have the same id"))
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
        self.import.lost.add(&Lost { user: range(self.known.0, saw.0), app: range(self.known.1, saw.1), files: None });
    }

    /// Notes which versions of artifacts an event names.
    fn name_versions(&mut self, artifacts: &[(ArtifactName, i64)], at: i64) {
        for (name, version) in artifacts {
            let (version, before) = (*version, self.named.now.get(name).map(|held| &held.value));
            let is_new = before.is_none();
            let named = Named {
                version,
                first: before.map_or(at, |named| named.first),
                least: before.map_or(version, |named| named.least.min(version)),
                most: before.map_or(version, |named| named.most.max(version)),
            };
            let span = self.named.change(name, Some(named), at);
            if is_new || span.is_some() {
                self.memory += name.as_str().len() + ENTRY_BYTES;
            }
            let version_of = |Span { key, from, to, removed, value }: Span<_, Named>| Span {
                key,
                from,
                to,
                removed,
                value: value.version,
            };
            self.chunk.named.extend(span.map(version_of));
        }
    }

    /// Sets or removes a key at a revision.
    fn set(&mut self, key: &str, value: Option<&RawJson>, at: i64) {
        self.memory += value.map_or(0, |value| weight(key, value));
        let before = self.state.now.get(key).map_or(0, |held| weight(key, &held.value));
        match self.state.change(key, value.cloned(), at) {
            Some(span) => self.chunk.past.push(span),
            None => self.memory -= before,
        }
    }

    /// # Errors
    /// It is not in its place.
    pub fn stub(&mut self, stub: LogRow) -> Result<(), Fault> {
        let base = self.import.begin.base;
        if stub.sequence > base || self.last.is_some_and(|last| stub.sequence != last + 1) {
            return Err(Fault::invalid("a stub is not in its place"));
        }
        self.saw_id(&stub.id)?;
        self.last = Some(stub.sequence);
        if stub.sequence == base {
            self.base_saw = Some(stub.saw);
            self.saw(base, stub.saw);
            self.import.update_time = stub.event_time.into();
            self.import.commit_time = self.import.commit_time.max(stub.commit_time);
        }
        self.saw_invocation(&stub.invocation_id, stub.sequence);
        self.bytes += 500;
        self.chunk.rows.push(ImportedRow::stub(stub));
        Ok(())
    }

    /// # Errors
    /// It is not in its place.
    pub fn event(&mut self, mut row: ImportedRow) -> Result<(), Fault> {
        let next = self.import.revision + 1;
        // Stubs may be missing at the beginning only, or all of them up to the base.
        let stubs_end = self.last.is_none_or(|last| last >= self.import.begin.base);
        if row.sequence != next || !stubs_end {
            return Err(Fault::invalid(format!("the event of sequence {next} is not in its place")));
        }
        let (sequence, event) = (row.sequence, &row.event);
        self.saw_id(&event.id)?;
        self.saw(sequence, row.saw);
        (self.last, self.import.revision) = (Some(sequence), sequence);
        self.import.events += 1;
        self.import.update_time = event.timestamp.clone();
        self.import.commit_time = self.import.commit_time.max(row.commit_time);
        let sets = || event.edit.sets.iter().filter(|change| change.scope == Scope::Session);
        // What is removed and then set is set.
        let set: HashSet<&str> = sets().map(|change| &*change.key).collect();
        let removed = event.edit.ops.iter().filter(|op| op.scope == Scope::Session && matches!(op.op, Op::Remove));
        removed.filter(|op| !set.contains(&*op.key)).for_each(|op| self.set(&op.key, None, sequence));
        sets().for_each(|change| self.set(&change.key, Some(&change.value), sequence));
        // As for readers of ADK, the invocation decides; the revision, if it has no name.
        if let Some(Rewind::Before(invocation)) = &event.rewind {
            let first = self.invocations.get(invocation).copied();
            // A rewind to an unknown invocation takes nothing back.
            row.effect = Some(first.unwrap_or(sequence) - 1);
        }
        if event.compacts && event.rewind.is_none() {
            row.effect = Some(COMPACTION);
        }
        self.name_versions(&event.artifacts, sequence);
        self.saw_invocation(&event.invocation_id, sequence);
        self.bytes += event.body.len() + 500;
        self.chunk.rows.push(row);
        Ok(())
    }

    /// Whether a version of its own may be the next one.
    ///
    /// # Errors
    /// It is not above the one before, or there are too many.
    pub fn check_next(&mut self, version: &Version) -> Result<(), Fault> {
        let place = (version.name.clone(), version.version);
        if self.last_version.as_ref().is_some_and(|last| *last >= place) {
            return Err(out_of_place(version));
        }
        self.last_version = Some(place);
        self.import.versions += 1;
        Fault::unless(self.import.versions <= MAX_VERSIONS, Fault::too_many)
    }

    pub fn add_artifact(&mut self, artifact: ImportedArtifact) {
        self.bytes += artifact.weight();
        self.chunk.artifacts.push(artifact);
    }

    pub fn is_full(&self) -> bool {
        self.chunk.rows.len() + self.chunk.artifacts.len() >= CHUNK_ROWS || self.bytes >= CHUNK_BYTES
    }

    /// The rows read so far, if they are to be written, or forgets them.
    pub fn settle(&mut self, is_written: bool, now: Micros) -> Option<ImportRows> {
        let chunk = mem::take(&mut self.chunk);
        self.bytes = 0;
        self.memory -= chunk.past.iter().map(|past| weight(&past.key, &past.value)).sum::<usize>();
        self.memory -= chunk.named.iter().map(|past| past.key.as_str().len() + ENTRY_BYTES).sum::<usize>();
        if !is_written {
            return None;
        }
        let begins = mem::take(&mut self.begins);
        let ImportEnd { begin, key, incarnation, subject, since, .. } = &self.import;
        let base = if begins { begin.base_state.text().len() } else { 0 };
        // A stub has no text.
        let events = chunk.rows.iter().map(|row| row.event.body.len()).filter(|bytes| *bytes > 0).map(cost);
        let versions = chunk.artifacts.iter().filter(|artifact| artifact.version.is_some()).map(|_| 1);
        let cost = events.chain(versions).fold(cost_beside(base), u32::saturating_add);
        let (key, incarnation, subject, since) = (key.clone(), *incarnation, *subject, *since);
        Some(ImportRows { key, incarnation, subject, since, begins, chunk, cost, now })
    }

    /// Whether its last line says what its lines come to, `digest` among it.
    ///
    /// # Errors
    /// It does not.
    pub fn check(&self, revision: i64, state: &RawJson, (digest, sha256): ([u8; 32], [u8; 32])) -> Result<(), Fault> {
        Fault::unless(digest == sha256, || Fault::invalid("the lines are not those that `sha256` is of"))?;
        let is_last = self.import.revision == revision;
        Fault::unless(is_last, || Fault::invalid("events are missing before `session.end`"))?;
        let mut members = 0;
        let same = state.json().as_object().into_iter().flatten().all(|member| {
            members += 1;
            self.state.now.get(&*member.key).is_some_and(|held| held.value.text() == member.value.text())
        });
        let is_same = same && members == self.state.now.len();
        Fault::unless(is_same, || Fault::invalid("the state is not what base state and events come to"))
    }

    /// Ends it, once its last rows are settled.
    pub fn end(self, sha256: [u8; 32], own_files: &OwnFiles, now: Micros) -> ImportEnd {
        let Self { mut import, state, named, base_saw, .. } = self;
        if base_saw.is_none() {
            // Without the base's revisions the state that it saw is unknown.
            let base = Some((import.begin.base, import.begin.base));
            import.lost.add(&Lost { user: base, app: base, files: None });
        }
        let named = named.now.into_iter().map(|(name, Held { value, since })| NamedFile {
            is_elsewhere: own_files.is_elsewhere(&import.key.user, &name),
            name,
            version: value.version,
            revision: since,
            first_revision: value.first,
            versions: (value.least, value.most),
        });
        import.named = named.collect();
        import.state = state.now.into_iter().map(|(key, held)| (key, held.value, held.since)).collect();
        ImportEnd { base_saw: base_saw.unwrap_or_default(), sha256, now, ..import }
    }
}
