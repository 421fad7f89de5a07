//! The machine of an import. A line is a few steps; each may ask, and the next one waits until all that was asked is answered.

use std::collections::{HashMap, VecDeque};
use std::mem;

use sha2::{Digest as _, Sha256};

use super::ask::{Ask, Write};
use super::files::{File, Measure, OwnFile, OwnFiles, Sink, TakenFile, stored};
use super::result::{Fault, ImportOptions, ImportResult, Imported, ImportedPart, OnConflict, Unread};
use super::scope::{Ends, History, SameRange, checked};
use super::session::SessionReading;
use crate::domain::Limits;
use crate::domain::access::{Grant, Target};
use crate::domain::artifact::SavedBlob;
use crate::domain::erasure::Subject;
use crate::domain::ids::{AppName, ScopeKey, SessionKey, UserId, UserKey};
use crate::domain::json::RawJson;
use crate::domain::refusal::Refusal;
use crate::domain::time::Micros;
use crate::domain::transfer::format::LinesDigest;
use crate::domain::transfer::read::{ArtifactLine, Line, Totals};
use crate::domain::transfer::rows::{
    ArtifactImport, ImportEnd, ImportRows, ImportedArtifact, PastChange, PastPage, ScopeHead, ScopeImport, SessionLine,
};

/// How often the bytes are renewed that wait for an artifact of a user to be whole: long before the sweep takes them for
/// left behind.
const RENEWED_MICROS: i64 = 300_000_000;

/// What is being read of sessions.
#[derive(Debug, Default)]
enum Reading {
    #[default]
    Nothing,
    Session(Box<SessionReading>),
    /// The lines of a session that failed.
    Skipping,
}

/// What is being read of an app or a user.
#[derive(Debug, Default)]
enum Beside {
    #[default]
    Nothing,
    /// State, and its history. Without one the changes are skipped.
    Scope(Option<UserId>, Option<Box<History>>),
    Own(Box<OwnFile>),
}

/// What is left to do of a line.
#[derive(Debug)]
enum Step {
    /// The artifact of a user is whole.
    EndOwn,
    /// No more changes of shared state follow.
    EndScope,
    /// All changes are settled.
    SettleScope,
    /// No more lines of anything that is read follow.
    Cut,
    Take(Line),
    /// A version of the artifact of a user of which it is known whether there is one.
    OwnVersion(Box<ArtifactLine>),
    /// All rows of a session are written.
    Close([u8; 32]),
}

/// A running import. Give it a line, do what it [asks](Self::ask), and take the [results](Self::results). In memory are a part of one
/// session, its state, the names of its invocations, a digest of each event id, and, of an artifact of a user, all versions without their
/// bytes.
#[derive(Debug, Default)]
pub struct ImportMachine {
    options: ImportOptions,
    /// The grant of the importing client; `None` allows nothing.
    grant: Option<Grant>,
    limits: Limits,
    now: Micros,
    app: Option<AppName>,
    /// The number of erasures of each app when the import began; `None` before the first line.
    since: Option<HashMap<AppName, i64>>,
    /// Of subjects.
    salt: [u8; 32],
    reading: Reading,
    beside: Beside,
    /// The version whose lines of bytes are being read: of an artifact of a user, if one is being read, else of the session.
    file: Option<File>,
    /// Of the lines of the session.
    digest: LinesDigest,
    /// Which revisions of app and user state are the same here as in the export.
    app_known: SameRange,
    user_known: Option<(UserId, SameRange)>,
    own_files: OwnFiles,
    /// A line could not be read that may have been one of the artifact of a user that begins next.
    unsure: bool,
    ended: bool,
    /// The totals read so far, and whether a line could not be read.
    read: Totals,
    has_unread: bool,
    created: Totals,
    /// The user for whom something was stored, and its cost, since [`ImportMachine::take_stored`] was last called.
    stored: Option<(UserKey, u32)>,
    steps: VecDeque<Step>,
    asks: VecDeque<Ask>,
    results: Vec<Imported>,
}

impl ImportMachine {
    pub fn new(options: ImportOptions, grant: Grant, limits: Limits) -> Self {
        Self { options, grant: Some(grant), limits, ..Self::default() }
    }

    /// The grant for the lines from here on.
    pub fn set_grant(&mut self, grant: &Grant) {
        if self.grant.as_ref() != Some(grant) {
            self.grant = Some(grant.clone());
        }
    }

    /// The sessions, the events and the versions of artifacts created so far.
    pub fn created(&self) -> Totals {
        self.created
    }

    /// The user for whom something was stored since the last call, and its cost.
    pub fn take_stored(&mut self) -> Option<(UserKey, u32)> {
        self.stored.take()
    }

    /// Whether the last line of the export was read: otherwise lines are missing at its end.
    pub fn is_whole(&self) -> bool {
        self.ended
    }

    /// The approximate memory that it takes between two lines, in bytes.
    pub fn memory(&self) -> usize {
        let beside = match &self.beside {
            Beside::Nothing => 0,
            Beside::Scope(_, history) => history.as_ref().map_or(0, |history| history.memory()),
            Beside::Own(own) => own.memory,
        };
        beside + if let Reading::Session(session) = &self.reading { session.memory() } else { 0 }
    }

    /// Takes a line without its line feed. A carriage return at its end and a byte order mark are ignored.
    pub fn line(&mut self, line: &[u8], now: Micros) {
        self.now = now;
        let line = line.strip_prefix("\u{feff}".as_bytes()).unwrap_or(line);
        let line = line.strip_suffix(b"\r").filter(|line| line.ends_with(b"}")).unwrap_or(line);
        if line.trim_ascii().is_empty() {
            return;
        }
        if self.since.is_none() {
            self.asks.push_back(Ask::Begin);
        }
        if let Err(fault) = self.parse(line) {
            self.fail(fault);
        }
    }

    /// Notes a line that was skipped unread.
    pub fn unread(&mut self, why: Unread) {
        self.has_unread = true;
        let (code, detail) = match why {
            Unread::TooLong => ("payload_too_large", "a line is too long"),
            Unread::NoRoom => ("overloaded", "there is no memory for a line or the state now; import it again later"),
        };
        self.fail(Fault::new(code, detail));
    }

    /// Ends the import: a session and an artifact of a user that are not whole fail.
    pub fn finish(&mut self, now: Micros) {
        self.now = now;
        self.steps.extend([Step::EndScope, Step::Cut]);
    }

    /// What is to be done next; `None`: nothing, until the next line.
    pub fn ask(&mut self) -> Option<Ask> {
        loop {
            if let Some(ask) = self.asks.pop_front() {
                return Some(ask);
            }
            let step = self.steps.pop_front()?;
            let done = self.step(step);
            self.or_fail(done);
        }
    }

    /// What became of parts since the last call.
    pub fn results(&mut self) -> Vec<Imported> {
        mem::take(&mut self.results)
    }

    fn parse(&mut self, line: &[u8]) -> Result<(), Fault> {
        let parsed = Line::parse(line, &self.limits).inspect_err(|_| self.has_unread = true)?;
        self.read.add(&parsed);
        let (is_own, own_goes_on) = match (&self.beside, &parsed) {
            (Beside::Own(own), Line::Artifact(line)) => {
                (true, line.user.as_ref() == Some(&own.import.user.user) && line.name == own.import.name)
            }
            // If it is the next export that begins, it was cut.
            (Beside::Own(_), Line::Export { .. }) => (true, true),
            (beside, _) => (matches!(beside, Beside::Own(_)), false),
        };
        let is_of_session = match &parsed {
            Line::Session(_) => {
                self.digest = LinesDigest::default();
                true
            }
            _ if !matches!(self.reading, Reading::Session(_)) => false,
            Line::Event(_) | Line::Stub(_) => true,
            Line::Artifact(line) => line.user.is_none(),
            Line::ArtifactData(_) => !is_own,
            _ => false,
        };
        if is_of_session {
            self.digest.add(line);
            self.digest.add(b"\n");
        }
        let parsed = match parsed {
            Line::ArtifactData(bytes) => return self.data(bytes),
            parsed => parsed,
        };
        if self.file.as_ref().is_some_and(|file| file.taken.is_some()) {
            self.fail(Fault::invalid("bytes of an artifact are missing"));
        }
        self.drop_file();
        if !matches!(&parsed, Line::Artifact(artifact) if artifact.user.is_some()) {
            self.unsure = false;
        }
        if is_own && !own_goes_on {
            self.steps.push_back(Step::EndOwn);
        }
        if !matches!(parsed, Line::Change { .. }) {
            self.steps.push_back(Step::EndScope);
        }
        if matches!(parsed, Line::Export { .. } | Line::Session(_) | Line::End(_)) {
            self.steps.push_back(Step::Cut);
        }
        self.steps.push_back(Step::Take(parsed));
        Ok(())
    }

    fn step(&mut self, step: Step) -> Result<(), Fault> {
        match step {
            Step::EndOwn => self.end_own(),
            Step::EndScope => self.end_scope(),
            Step::SettleScope => self.settle_scope(),
            Step::Cut => self.cut(),
            Step::Take(line) => return self.take(line),
            Step::OwnVersion(line) => return self.own_version(*line),
            Step::Close(sha256) => self.close(sha256),
        }
        Ok(())
    }

    fn take(&mut self, line: Line) -> Result<(), Fault> {
        let is_skipped = matches!(self.reading, Reading::Skipping);
        match line {
            Line::Change { user, change } => self.change(user.as_ref(), change),
            Line::Artifact(artifact) if artifact.user.is_some() => self.own_artifact(artifact),
            Line::Export { app } => {
                self.export(self.options.app.clone().or(app));
                Ok(())
            }
            Line::State { user, revision, state } => self.scope(user, revision, &state),
            Line::Session(begin) => self.begin(*begin),
            Line::End(totals) => {
                self.ended = true;
                if !self.has_unread && self.read != totals {
                    self.unnamed(
                        "the last line, `end`, counts other sessions and events than there are: lines are missing",
                    );
                }
                Ok(())
            }
            Line::ArtifactData(_) => Ok(()),
            _ if is_skipped => Ok(()),
            Line::Event(event) => self.session()?.event(*event).map(|()| self.settle_if_full()),
            Line::Stub(stub) => self.session()?.stub(*stub).map(|()| self.settle_if_full()),
            Line::Artifact(artifact) => {
                let session = self.session()?;
                if let Some(version) = &artifact.version {
                    session.check_next(version)?;
                }
                let user = (!session.exists).then(|| session.import.key.user.clone());
                self.begin_file(*artifact, user)
            }
            Line::SessionEnd { id, revision, state, lost, nearest_source, sha256 } => {
                let digest = self.digest.clone().finish();
                let session = self.session()?;
                if session.import.begin.id != id {
                    return Err(Fault::invalid("`session.end` is of another session"));
                }
                session.import.lost.add(&lost);
                session.import.nearest_source = nearest_source;
                session.check(revision, &state, (digest, sha256))?;
                self.settle();
                self.steps.push_front(Step::Close(sha256));
                Ok(())
            }
        }
    }

    fn or_fail(&mut self, done: Result<(), Fault>) {
        if let Err(fault) = done {
            self.steps.clear();
            self.fail(fault);
        }
    }

    /// Fails what is being read: an artifact of a user, or a session.
    fn fail(&mut self, fault: Fault) {
        let is_own = matches!(self.beside, Beside::Own(_)) && self.file.is_some();
        // A line that could not be read may have been one of the artifact, or of the next one.
        self.fail_own(fault.clone());
        if is_own {
            return;
        }
        self.unsure = !matches!(self.reading, Reading::Session(_));
        self.drop_file();
        let of = match mem::replace(&mut self.reading, Reading::Skipping) {
            Reading::Session(session) => {
                if session.is_begun() {
                    self.asks.push_back(Ask::Abandon(session.import.key.clone(), session.import.incarnation));
                }
                of_session(&session.import)
            }
            Reading::Nothing => ImportedPart::Unread,
            Reading::Skipping => return,
        };
        self.report(of, ImportResult::Failed(fault));
    }

    /// Fails the artifact of a user that is being read, if it has not failed before; its remaining lines are skipped.
    fn fail_own(&mut self, fault: Fault) {
        let Beside::Own(own) = &mut self.beside else { return };
        if mem::replace(&mut own.failed, true) {
            return;
        }
        let of = of_file(&own.import);
        let (user, versions) = (own.import.user.clone(), mem::take(&mut own.import.versions));
        own.memory = 0;
        // What is left of its bytes is skipped.
        let left = self.file.as_ref().map_or(0, |file| file.left);
        self.drop_file();
        self.file = (left > 0).then(|| File::skipped(left));
        self.leave(&user, &versions);
        self.report(of, ImportResult::Failed(fault));
    }

    /// Gives up the bytes that are being read.
    fn drop_file(&mut self) {
        let taken = self.file.take().and_then(|file| file.taken);
        if taken.is_some_and(|taken| matches!(taken.sink, Sink::Stored(_))) {
            self.asks.push_back(Ask::Drop);
        }
    }

    /// Leaves bytes to the sweep that no version holds.
    fn leave(&mut self, user: &UserKey, versions: &[ImportedArtifact]) {
        self.asks.extend(stored(user, versions).into_iter().map(Ask::Leave));
    }

    fn report(&mut self, of: ImportedPart, result: ImportResult) {
        self.results.push(Imported { of, result });
    }

    /// The result of sessions whose names are unknown.
    fn unnamed(&mut self, detail: &str) {
        self.report(ImportedPart::Unread, ImportResult::Failed(Fault::invalid(detail)));
    }

    /// The fault of a write that was refused; `None` if the import ends for it.
    fn fault_of(&mut self, refusal: Refusal) -> Option<Fault> {
        Fault::of(refusal).map_err(|refusal| self.asks.push_back(Ask::Stop(refusal))).ok()
    }

    /// Ends what is not whole.
    fn cut(&mut self) {
        // More versions of it may have been to follow.
        self.fail_own(Fault::invalid("the lines end before the artifact does; import the whole file again"));
        self.drop_file();
        self.beside = Beside::Nothing;
        if matches!(self.reading, Reading::Session(_)) {
            self.fail(Fault::invalid("the lines end before the session does; import the whole file again"));
        }
    }

    fn export(&mut self, app: Option<AppName>) {
        // The rest of a session that was cut off may follow.
        if !self.ended && self.app.is_some() && self.app != app {
            self.unnamed("the last line, `end`, of the export before is missing: it was cut");
        }
        if self.ended || self.app != app {
            self.app_known = SameRange::default();
            self.user_known = None;
        }
        self.app = app;
        self.reading = Reading::Nothing;
        (self.ended, self.read, self.has_unread) = (false, Totals::default(), false);
    }

    /// Whether the grant allows writes for this user or, without one, to app state.
    fn check_grant(&self, app: &AppName, user: Option<&UserId>) -> Result<(), Fault> {
        let target = user.map_or(Target::App(app), |user| Target::User(app, user));
        let is_reached = self.grant.as_ref().is_some_and(|grant| grant.reaches(target));
        Fault::unless(is_reached, || Fault::new("permission_denied", "the credential is not for this app and user"))
    }

    /// The number of erasures in an app when the import began: it must not bring back what a later erasure removes.
    fn since(&self, app: &AppName) -> i64 {
        self.since.as_ref().and_then(|since| since.get(app)).copied().unwrap_or_default()
    }

    fn named(&self) -> Result<AppName, Fault> {
        let named = self.app.as_ref().or(self.options.app.as_ref());
        named.cloned().ok_or_else(|| Fault::invalid("the first line is not that of an export"))
    }

    fn session(&mut self) -> Result<&mut SessionReading, Fault> {
        match &mut self.reading {
            Reading::Session(session) => Ok(session),
            Reading::Nothing | Reading::Skipping => Err(Fault::invalid("a line is not within a session")),
        }
    }

    /// Notes what was stored.
    fn charge(&mut self, user: UserKey, cost: u32) {
        if cost > 0 {
            let before = self.stored.take().map_or(0, |(_, before)| before);
            self.stored = Some((user, before.saturating_add(cost)));
        }
    }

    pub fn begun(&mut self, erasures: Vec<(AppName, i64)>, salt: [u8; 32]) {
        (self.since, self.salt) = (Some(erasures.into_iter().collect()), salt);
    }

    fn write(&mut self, write: Write) {
        self.asks.push_back(if self.options.dry_run { Ask::Judge(write) } else { Ask::Write(write) });
    }

    /// What came of a write, and of one that was judged: whether it was made; not, if the same is there.
    pub fn written(&mut self, write: Write, outcome: Result<bool, Refusal>) {
        match write {
            Write::Scope(import) => self.scope_taken(import, outcome),
            Write::Past(rows) => {
                if let Some(is_taken) = self.took(outcome) {
                    self.history_asks(|history| history.written(rows.changes, is_taken));
                }
            }
            Write::PastEnd(end) => {
                if self.took(outcome).is_some() {
                    self.know(SameRange(Some((1, end.revision))));
                }
                self.beside = Beside::Nothing;
            }
            Write::Rows(rows) => self.rows_written(rows, outcome),
            Write::Session(import) => self.session_taken(import, outcome),
            Write::File(import, _) => self.file_taken(import, outcome),
        }
    }
}

/// Shared state.
impl ImportMachine {
    /// Imports the state of a scope that has none.
    fn scope(&mut self, user: Option<UserId>, revision: i64, state: &[(String, RawJson)]) -> Result<(), Fault> {
        let app = self.named()?;
        // Changes that follow are skipped until it is imported, or found to be the same.
        self.beside = Beside::Scope(user.clone(), None);
        self.know(SameRange::default());
        if let Err(fault) = self.check_grant(&app, user.as_ref()) {
            self.report(ImportedPart::State(user), ImportResult::Failed(fault));
            return Ok(());
        }
        let since = self.since(&app);
        let scope = ScopeKey::new(app, user);
        let state = checked(state, scope.scope(), "/state")?;
        let subject = scope.user().map(|user| Subject::of(&self.salt, user));
        self.write(Write::Scope(ScopeImport { scope, subject, since, revision, state }));
        Ok(())
    }

    fn scope_taken(&mut self, import: ScopeImport, outcome: Result<bool, Refusal>) {
        let Beside::Scope(user, history) = &mut self.beside else { return };
        if matches!(outcome, Ok(_) | Err(Refusal::OtherState)) {
            if !self.options.dry_run {
                self.asks.push_back(Ask::ScopeAt(import.scope.clone(), import.revision));
            }
            *history = Some(Box::new(History::new(import)));
        }
        let of = ImportedPart::State(user.clone());
        match outcome.map_err(|refusal| (refusal == Refusal::OtherState, self.fault_of(refusal))) {
            Err((true, Some(fault))) => self.report(of, ImportResult::Skipped(fault)),
            Err((false, Some(fault))) => self.report(of, ImportResult::Failed(fault)),
            Ok(_) | Err((_, None)) => {}
        }
    }

    fn history_asks(&mut self, go_on: impl FnOnce(&mut History) -> Option<Ask>) {
        if let Beside::Scope(_, Some(history)) = &mut self.beside {
            self.asks.extend(go_on(history));
        }
    }

    pub fn scope_was(&mut self, head: ScopeHead, then: Option<&str>) {
        self.history_asks(|history| history.was(head, then));
    }

    pub fn past_was(&mut self, page: &PastPage) {
        self.history_asks(|history| history.read(page));
    }

    /// A change of shared state, whose line must follow that state's.
    fn change(&mut self, user: Option<&UserId>, change: PastChange) -> Result<(), Fault> {
        let added = match &mut self.beside {
            Beside::Scope(of, history) if of.as_ref() == user => history.as_mut().map(|history| history.add(change)),
            _ => return Err(Fault::invalid("a change is not behind the state that it is of")),
        };
        match added {
            Some(Ok(true)) => self.history_asks(History::settle),
            Some(Err(fault)) => self.fail_history(fault),
            Some(Ok(false)) | None => {}
        }
        Ok(())
    }

    /// Reports a history that is not imported; its remaining lines are skipped.
    fn fail_history(&mut self, fault: Fault) {
        if let Beside::Scope(user, history) = &mut self.beside {
            *history = None;
            let of = ImportedPart::State(user.clone());
            self.report(of, ImportResult::Failed(fault));
        }
    }

    fn end_scope(&mut self) {
        let Beside::Scope(_, history) = &self.beside else { return };
        match history.as_ref().map_or(Ok(()), |history| history.check()) {
            Ok(()) => self.history_asks(History::settle),
            Err(fault) => self.fail_history(fault),
        }
        self.steps.push_front(Step::SettleScope);
    }

    fn settle_scope(&mut self) {
        let Beside::Scope(_, history) = &mut self.beside else { return };
        match history.take().map(|history| history.end()) {
            // It stays until that is written.
            Some(Ends::Visible(end)) => return self.write(Write::PastEnd(end)),
            Some(Ends::Known(range)) => self.know(range),
            None => {}
        }
        self.beside = Beside::Nothing;
    }

    /// Notes which revisions of the scope that is read are the same here.
    fn know(&mut self, range: SameRange) {
        match &self.beside {
            Beside::Scope(Some(user), _) => self.user_known = Some((user.clone(), range)),
            Beside::Scope(None, _) => self.app_known = range,
            Beside::Nothing | Beside::Own(_) => {}
        }
    }

    /// Whether a part of a history was written; not, if there is one already. `None`: it failed.
    fn took(&mut self, outcome: Result<bool, Refusal>) -> Option<bool> {
        match outcome {
            Ok(_) => return Some(true),
            Err(Refusal::OtherState) => return Some(false),
            Err(refusal) => {
                let fault = self.fault_of(refusal)?;
                self.fail_history(fault);
            }
        }
        None
    }
}

/// Sessions.
impl ImportMachine {
    fn begin(&mut self, begin: SessionLine) -> Result<(), Fault> {
        self.reading = Reading::Nothing;
        let app = self.named()?;
        let may_write = self.check_grant(&app, Some(&begin.user));
        let user_known = self.user_known.as_ref().filter(|(user, _)| *user == begin.user);
        let known = (user_known.map(|(_, known)| *known).unwrap_or_default(), self.app_known);
        let key = SessionKey { user: UserKey { app, user: begin.user.clone() }, session: begin.id.clone() };
        let of = (Subject::of(&self.salt, &key.user), self.since(key.app()));
        let (base_state, expires) = (begin.base_state(), begin.expire_time.is_some());
        // From here on a failure can name the session.
        let state = base_state.as_deref().unwrap_or_default();
        self.reading = Reading::Session(Box::new(SessionReading::new(key.clone(), begin, state, of, known)));
        may_write?;
        base_state?;
        self.asks.push_back(Ask::FindSession(key, expires));
        Ok(())
    }

    /// Whether there is a session; a fresh incarnation, and the time, if that was asked for.
    pub fn session_found(&mut self, exists: bool, incarnation: i64, time: Option<Micros>) {
        let Reading::Session(session) = &mut self.reading else { return };
        if session.import.begin.expire_time.zip(time).is_some_and(|(expires, now)| expires <= now) {
            return self.or_fail(Err(Fault::new("session_not_found", "the session has expired")));
        }
        (session.exists, session.import.incarnation) = (exists, incarnation);
    }

    fn settle(&mut self) {
        if let Reading::Session(session) = &mut self.reading {
            let is_written = !session.exists && !self.options.dry_run;
            let rows = session.settle(is_written, self.now);
            self.asks.extend(rows.map(|rows| Ask::Write(Write::Rows(rows))));
        }
    }

    fn settle_if_full(&mut self) {
        if matches!(&self.reading, Reading::Session(session) if session.is_full()) {
            self.settle();
        }
    }

    fn rows_written(&mut self, rows: ImportRows, outcome: Result<bool, Refusal>) {
        let Err(refusal) = outcome else { return self.charge(rows.key.user, rows.cost) };
        self.leave(&rows.key.user, &rows.chunk.artifacts);
        if let Some(fault) = self.fault_of(refusal) {
            self.or_fail(Err(fault));
        }
    }

    fn close(&mut self, sha256: [u8; 32]) {
        let Reading::Session(session) = mem::take(&mut self.reading) else { return };
        let exists = session.exists;
        let import = Box::new(session.end(sha256, &self.own_files, self.now));
        match exists {
            true => self.asks.push_back(Ask::Compare(import)),
            false if self.options.dry_run => self.session_taken(import, Ok(true)),
            false => self.write(Write::Session(import)),
        }
    }

    fn session_taken(&mut self, import: Box<ImportEnd>, outcome: Result<bool, Refusal>) {
        let of = of_session(&import);
        let Err(refusal) = outcome else {
            self.created.sessions += 1;
            self.created.events += import.events;
            self.created.artifacts += import.versions.unsigned_abs();
            return self.report(of, ImportResult::Created);
        };
        // Otherwise its rows are gone already.
        if refusal != Refusal::ImportLost {
            self.asks.push_back(Ask::Abandon(import.key.clone(), import.incarnation));
        }
        if refusal == Refusal::SessionAlreadyExists {
            self.asks.push_back(Ask::Compare(import));
        } else if let Some(fault) = self.fault_of(refusal) {
            self.report(of, ImportResult::Failed(fault));
        }
    }

    /// Of a session whose id is taken: whether that is the one of the lines.
    pub fn compared(&mut self, import: &ImportEnd, is_same: bool) {
        let fault = Fault::new("session_already_exists", "another session of this id is there");
        let result = match self.options.on_conflict {
            _ if is_same => ImportResult::Unchanged,
            OnConflict::Fail => ImportResult::Failed(fault),
            OnConflict::Skip => ImportResult::Skipped(fault),
        };
        self.report(of_session(import), result);
    }
}

fn of_session(import: &ImportEnd) -> ImportedPart {
    ImportedPart::Session(import.begin.user.clone(), import.key.session.to_string())
}

fn of_file(import: &ArtifactImport) -> ImportedPart {
    ImportedPart::Artifact(import.user.user.clone(), import.name.clone())
}

/// Artifacts.
impl ImportMachine {
    /// A version of an artifact of a user.
    fn own_artifact(&mut self, line: Box<ArtifactLine>) -> Result<(), Fault> {
        let (false, Some(user)) = (matches!(self.beside, Beside::Own(_)), line.user.clone()) else {
            return self.own_version(*line);
        };
        let (user, name) = (UserKey { app: self.named()?, user }, line.name.clone());
        let (since, subject) = (self.since(&user.app), Subject::of(&self.salt, &user));
        let may_write = self.check_grant(&user.app, Some(&user.user));
        let ask = Ask::FindFile(user.clone(), name.clone());
        let import = ArtifactImport { user, subject, since, name, versions: Vec::new(), mark: 0 };
        let own = OwnFile { import, memory: 0, exists: true, failed: false, renewed: self.now };
        self.beside = Beside::Own(Box::new(own));
        self.file = Some(File::skipped(line.lines));
        let is_unsure = mem::take(&mut self.unsure);
        may_write?;
        if is_unsure {
            return Err(Fault::invalid("a line before it could not be read"));
        }
        self.asks.push_back(ask);
        self.steps.push_front(Step::OwnVersion(line));
        Ok(())
    }

    /// Whether there is one of its name; and a fresh mark, of what is written.
    pub fn file_found(&mut self, exists: bool, mark: i64) {
        if let Beside::Own(own) = &mut self.beside {
            (own.exists, own.import.mark) = (exists, mark);
        }
    }

    fn own_version(&mut self, line: ArtifactLine) -> Result<(), Fault> {
        let Beside::Own(own) = &self.beside else { return Ok(()) };
        self.file = (!own.failed || line.lines > 0).then(|| File::skipped(line.lines));
        if own.failed {
            return Ok(());
        }
        if let Some(version) = &line.version {
            own.check_next(version)?;
        }
        let user = (!own.exists).then(|| own.import.user.clone());
        self.begin_file(line, user)
    }

    /// Begins to take a version in; its bytes are stored for a user, if one is named and anything is written.
    fn begin_file(&mut self, line: ArtifactLine, user: Option<UserKey>) -> Result<(), Fault> {
        let ArtifactLine { name, version, next, lines, .. } = line;
        let bytes = version.as_ref().and_then(|version| version.content.bytes);
        let (size, version) = match (bytes, version) {
            (Some((size, _)), Some(version)) => (size, version),
            (_, version) => {
                self.file = None;
                self.take_version(ImportedArtifact { name, version, blob: None, next });
                return Ok(());
            }
        };
        self.file = Some(File::skipped(lines));
        self.limits.check_artifact(size)?;
        let sink = match user.filter(|_| !self.options.dry_run) {
            Some(user) => Sink::Stored(user),
            None => Sink::Checked { hash: Sha256::new(), size: 0 },
        };
        self.file = Some(File { left: lines, taken: Some(TakenFile { version, next, sink }) });
        if lines == 0 { self.push(Vec::new()) } else { Ok(()) }
    }

    /// The next bytes of the version that is being taken in.
    fn data(&mut self, bytes: Vec<u8>) -> Result<(), Fault> {
        let Some(file) = &mut self.file else {
            let is_skipped = match &self.beside {
                Beside::Own(own) => own.failed,
                Beside::Nothing | Beside::Scope(..) => matches!(self.reading, Reading::Skipping),
            };
            // Those of what failed are skipped.
            if is_skipped {
                return Ok(());
            }
            self.file = matches!(self.beside, Beside::Own(_)).then(|| File::skipped(0));
            return Err(Fault::invalid("bytes are not behind their artifact"));
        };
        file.left = file.left.saturating_sub(1);
        self.renew_own();
        self.push(bytes)
    }

    fn push(&mut self, bytes: Vec<u8>) -> Result<(), Fault> {
        match self.file.as_mut().and_then(|file| file.taken.as_mut()).map(|taken| &mut taken.sink) {
            Some(Sink::Stored(user)) => self.asks.push_back(Ask::Push(user.clone(), bytes)),
            Some(Sink::Checked { hash, size }) => {
                hash.update(&bytes);
                *size += bytes.len() as u64;
                let read = (*size, hash.clone().finalize().into());
                return self.end_file_if_whole(read);
            }
            None => self.file = self.file.take().filter(|file| file.left > 0),
        }
        Ok(())
    }

    /// What the bytes are that have come, and what the last ones cost; or why they were not stored.
    pub fn pushed(&mut self, pushed: Result<(Measure, UserKey, u32), Fault>) {
        let done = pushed.and_then(|(read, user, cost)| {
            self.charge(user, cost);
            self.end_file_if_whole(read)
        });
        self.or_fail(done);
    }

    fn end_file_if_whole(&mut self, read: Measure) -> Result<(), Fault> {
        let Some(File { left: 0, taken: Some(taken) }) = &self.file else { return Ok(()) };
        taken.check(read)?;
        match taken.sink {
            Sink::Stored(_) => self.asks.push_back(Ask::Keep),
            Sink::Checked { .. } => self.end_file(None),
        }
        Ok(())
    }

    /// The bytes that are stored, or why they are not.
    pub fn kept(&mut self, kept: Result<SavedBlob, Fault>) {
        match kept {
            Ok(blob) => self.end_file(Some(blob)),
            Err(fault) => {
                // It is still this artifact that fails.
                self.file = Some(File::skipped(0));
                self.or_fail(Err(fault));
            }
        }
    }

    /// Ends a version whose bytes have come.
    fn end_file(&mut self, blob: Option<SavedBlob>) {
        if let Some(TakenFile { version, next, .. }) = self.file.take().and_then(|file| file.taken) {
            self.take_version(ImportedArtifact { name: version.name.clone(), version: Some(version), blob, next });
        }
    }

    /// Takes a version that is whole.
    fn take_version(&mut self, artifact: ImportedArtifact) {
        // Bytes that are stored are held by a version soon, or they are taken for left behind.
        let is_stored = matches!(&artifact.blob, Some(SavedBlob { bytes: None, .. }));
        match (&mut self.beside, &mut self.reading) {
            (Beside::Own(own), _) => own.add(artifact),
            (_, Reading::Session(session)) => {
                session.add_artifact(artifact);
                if is_stored { self.settle() } else { self.settle_if_full() }
            }
            _ => {}
        }
    }

    /// Renews the bytes that wait for an artifact of a user to be whole.
    fn renew_own(&mut self) {
        let Beside::Own(own) = &mut self.beside else { return };
        if self.now.0 - own.renewed.0 > RENEWED_MICROS {
            own.renewed = self.now;
            // Whether they are there is seen at the end.
            self.asks.extend(stored(&own.import.user, &own.import.versions).into_iter().map(Ask::Renew));
        }
    }

    /// Imports the artifact of a user that was read.
    fn end_own(&mut self) {
        if let Beside::Own(own) = mem::take(&mut self.beside)
            && !own.failed
        {
            self.write(Write::File(own.import, own.exists));
        }
    }

    fn file_taken(&mut self, import: ArtifactImport, outcome: Result<bool, Refusal>) {
        if outcome.is_ok() {
            self.own_files.add(&import.user, &import.name);
        }
        let is_other = outcome == Err(Refusal::ArtifactVersionExists);
        match outcome {
            Ok(true) => {
                let versions = import.versions.iter().filter(|version| version.version.is_some()).count();
                self.created.artifacts += versions as u64;
                if !self.options.dry_run {
                    self.charge(import.user, u32::try_from(versions).unwrap_or(u32::MAX));
                }
                return;
            }
            Ok(false) => {}
            Err(refusal) => {
                if let Some(fault) = self.fault_of(refusal) {
                    let result = if is_other { ImportResult::Skipped(fault) } else { ImportResult::Failed(fault) };
                    self.report(of_file(&import), result);
                }
            }
        }
        self.leave(&import.user, &import.versions);
    }
}
