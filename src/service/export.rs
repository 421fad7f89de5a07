//! Exports: whole sessions as lines. Memory is bounded whatever is exported: the beginning of one session, and one page.

use std::sync::Arc;

use tokio::time::{Duration, Instant};

use super::files::{FileLines, Files};
use super::{Error, Reader, Result};
use crate::domain::access::Names;
use crate::domain::ids::{ScopeKey, SessionKey, UserId, UserKey};
use crate::domain::query::{ListPosition, ListQuery, OrderBy};
use crate::domain::transfer::{
    ExportQuery, ExportSource, Exported, LinesDigest, LogRow, PastPage, PastQuery, Totals, change_line, empty_export,
    end_of_session, first_line, last_line, old_session_line, row_line, session_line, state_line,
};

/// Rows of a page; also how many names of users and sessions are read at a time.
const PAGE_ROWS: usize = 500;
const PAGE_BYTES: usize = 1 << 20;

/// A session with at most this many bytes of lines is buffered before its first line is returned. If it is trimmed or redacted meanwhile, it
/// is read again, up to `TRIES` times.
const BUFFERED_BYTES: usize = 4 << 20;
const TRIES: u32 = 10;

/// A running export. [`Export::next`] returns its lines, in parts.
pub struct Export {
    service: Arc<Reader>,
    source: ExportSource,
    /// It continues after this session.
    after: Option<ListPosition>,
    /// Artifacts are a part of it.
    has_files: bool,
    users: Vec<UserId>,
    /// The user of the sessions.
    user: Option<UserKey>,
    sessions: Vec<SessionKey>,
    /// The position of the last one in the list.
    last: Option<ListPosition>,
    /// The scope whose history is being read: up to which revision it was read, and its last revision.
    past: Option<(ScopeKey, i64, i64)>,
    /// The artifacts of the user, behind that.
    files: Option<Files>,
    /// The session that is partly read.
    open: Option<PartialSession>,
    /// How often reading the next session was restarted.
    tries: u32,
    step: Step,
    totals: Totals,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Step {
    Begin,
    Users,
    Sessions,
    End,
    Over,
}

struct PartialSession {
    /// Its first page, of which the rows are taken.
    first: Exported,
    digest: LinesDigest,
    sequence: i64,
    events: u64,
    has_files: bool,
    /// Its artifacts, behind all events.
    files: Option<Files>,
    /// Lines that were read and not returned yet.
    buffered: String,
    /// None of its lines was returned.
    is_new: bool,
}

impl Reader {
    /// Begins an export, after the session of a cursor if there is one. `has_files`: with artifacts.
    pub fn export(self: &Arc<Self>, source: ExportSource, after: Option<ListPosition>, has_files: bool) -> Export {
        Export {
            service: self.clone(),
            source,
            after,
            has_files,
            users: Vec::new(),
            user: None,
            sessions: Vec::new(),
            last: None,
            past: None,
            files: None,
            open: None,
            tries: 0,
            step: Step::Begin,
            totals: Totals::default(),
        }
    }

    /// The export of a database without apps.
    pub fn empty_export(&self) -> String {
        empty_export(self.clock.now())
    }

    /// Whether this is the digest of a session's lines: with its artifacts, without, or in the format before `saw`. Each read has so much
    /// time.
    pub(super) async fn is_exported_as(&self, key: &SessionKey, sha256: [u8; 32], patience: Duration) -> Result<bool> {
        let due = || Instant::now() + patience;
        let Some(mut page) = self.export_page(key, None, 0, due()).await? else { return Ok(false) };
        let (mut digest, mut old) = (LinesDigest::default(), LinesDigest::default());
        digest.add(session_line(&page).as_bytes());
        old.add(old_session_line(&page).as_bytes());
        let (incarnation, revision, has_files) = (page.head.incarnation, page.head.revision, page.has_artifacts);
        loop {
            for line in page.rows.iter().map(row_line) {
                digest.add(line.as_bytes());
                old.add(line.as_bytes());
            }
            let Some(last) = page.rows.last().filter(|_| page.more) else { break };
            let after = last.sequence;
            let next = self.export_page(key, Some(revision), after, due()).await?;
            let Some(next) = next.filter(|next| next.head.incarnation == incarnation) else { return Ok(false) };
            page = next;
        }
        if old.finish() == sha256 || digest.clone().finish() == sha256 {
            return Ok(true);
        }
        if !has_files {
            return Ok(false);
        }
        let mut files = Files::of_session(key, incarnation);
        loop {
            match files.next(self, due()).await {
                Ok(Some(lines)) => digest.add(lines.text.as_bytes()),
                Ok(None) => return Ok(digest.finish() == sha256),
                Err(Error::SessionCut) => return Ok(false),
                Err(error) => return Err(error),
            }
        }
    }

    /// The digest of the lines that a session was imported from, if it was imported.
    pub(super) async fn imported_digest(&self, key: &SessionKey, deadline: Instant) -> Result<Option<Vec<u8>>> {
        let found = self.export_page(key, Some(0), i64::MAX, deadline).await?;
        Ok(found.and_then(|found| found.imported_digest))
    }

    async fn export_page(
        &self,
        key: &SessionKey,
        through: Option<i64>,
        after: i64,
        deadline: Instant,
    ) -> Result<Option<Exported>> {
        let (max_rows, max_bytes) = (PAGE_ROWS.min(self.limits.page_rows), PAGE_BYTES.min(self.limits.page_bytes));
        let query = ExportQuery { key: key.clone(), now: self.clock.now(), after, through, max_rows, max_bytes };
        self.read(deadline, || self.reads.export(&query, deadline)).await
    }
}

/// The user whose state it is; `None` for the app's.
fn user_of(scope: &ScopeKey) -> Option<&UserId> {
    scope.user().map(|key| &key.user)
}

impl Export {
    /// What is exported so far.
    pub fn totals(&self) -> Totals {
        self.totals
    }

    /// The next lines; `None` after the last. May be retried after an error.
    ///
    /// # Errors
    /// `SessionCut` if a partly exported session was deleted or trimmed, or an event of it redacted, a partly exported artifact deleted,
    /// or if a session is trimmed again and again: the export is incomplete. [`Error::Store`], [`Error::ArtifactStore`].
    pub async fn next(&mut self, deadline: Instant) -> Result<Option<String>> {
        if self.open.is_some() {
            return self.go_on(deadline).await.map(Some);
        }
        if let Some((scope, after, through)) = self.past.clone() {
            return self.next_past(scope, after, through, deadline).await.map(Some);
        }
        if self.files.is_some() {
            return self.next_files(deadline).await.map(Some);
        }
        match self.step {
            Step::Begin => self.begin(deadline).await.map(Some),
            Step::Users => self.next_user(deadline).await.map(Some),
            Step::Sessions => self.next_session(deadline).await.map(Some),
            Step::End => {
                self.step = Step::Over;
                Ok(Some(last_line(self.totals)))
            }
            Step::Over => Ok(None),
        }
    }

    async fn begin(&mut self, deadline: Instant) -> Result<String> {
        let mut lines = first_line(&self.source, self.service.clock.now());
        match self.source.clone() {
            ExportSource::App(app) => {
                if self.after.is_none() {
                    lines += &self.scope(&ScopeKey::App(app), deadline).await?;
                }
                self.step = Step::Users;
            }
            ExportSource::User(user) => {
                if self.after.is_none() {
                    lines += &self.scope(&ScopeKey::User(user.clone()), deadline).await?;
                    self.files = self.has_files.then(|| Files::of_user(user.clone()));
                }
                self.enter(user);
            }
            ExportSource::Session(session) => {
                let is_behind = self.after.as_ref().is_some_and(|after| after.session == session.session);
                self.sessions.extend((!is_behind).then_some(session));
                self.step = Step::Sessions;
            }
        }
        Ok(lines)
    }

    fn enter(&mut self, user: UserKey) {
        self.last = self.after.take().filter(|after| after.user == user.user);
        self.user = Some(user);
        self.step = Step::Sessions;
    }

    /// The state of a scope, if it ever had one, and the beginning of its history.
    async fn scope(&mut self, scope: &ScopeKey, deadline: Instant) -> Result<String> {
        let page = self.past_page(scope, None, 0, deadline).await?;
        let Some(view) = page.view.as_ref().filter(|view| view.revision > 0) else { return Ok(String::new()) };
        let mut lines = state_line(user_of(scope), view.revision, &view.state);
        page.changes.iter().for_each(|change| lines += &change_line(user_of(scope), change));
        let last = page.changes.last().map_or(page.floor, |change| change.revision);
        self.past = page.more.then(|| (scope.clone(), last, view.revision));
        Ok(lines)
    }

    async fn next_past(&mut self, scope: ScopeKey, after: i64, through: i64, deadline: Instant) -> Result<String> {
        let page = self.past_page(&scope, Some(after), through, deadline).await?;
        let Some(last) = page.changes.last().filter(|_| page.floor <= after) else {
            // Its history was removed meanwhile, by a policy or an erasure.
            return Err(Error::SessionCut);
        };
        let lines = page.changes.iter().map(|change| change_line(user_of(&scope), change)).collect();
        let last = last.revision;
        self.past = page.more.then_some((scope, last, through));
        Ok(lines)
    }

    async fn past_page(
        &self,
        scope: &ScopeKey,
        after: Option<i64>,
        through: i64,
        deadline: Instant,
    ) -> Result<PastPage> {
        let service = &self.service;
        let (max_rows, max_bytes) =
            (PAGE_ROWS.min(service.limits.page_rows), PAGE_BYTES.min(service.limits.page_bytes));
        let query = PastQuery { scope: scope.clone(), after, through, max_rows, max_bytes };
        service.read(deadline, || service.reads.past(&query, deadline)).await
    }

    async fn next_user(&mut self, deadline: Instant) -> Result<String> {
        let app = self.source.app().clone();
        if self.users.is_empty() {
            let begun = self.user.as_ref().map(|user| user.user.as_str().to_owned());
            // The user of the cursor is listed again.
            if let (None, Some(after)) = (&begun, &self.after) {
                let user = UserKey { app, user: after.user.clone() };
                self.enter(user);
                return Ok(String::new());
            }
            let mut users =
                self.service.users(&app, &begun.unwrap_or_default(), PAGE_ROWS, &Names::all(), deadline).await?;
            users.reverse();
            self.users = users;
        }
        let Some(user) = self.users.last().cloned() else {
            self.step = Step::End;
            return Ok(String::new());
        };
        let user = UserKey { app, user };
        let lines = self.scope(&ScopeKey::User(user.clone()), deadline).await?;
        self.files = self.has_files.then(|| Files::of_user(user.clone()));
        self.users.pop();
        self.enter(user);
        Ok(lines)
    }

    /// The next lines of the user's artifacts.
    async fn next_files(&mut self, deadline: Instant) -> Result<String> {
        let Some(files) = &mut self.files else { return Ok(String::new()) };
        let Some(FileLines { text, versions }) = files.next(&self.service, deadline).await? else {
            self.files = None;
            return Ok(String::new());
        };
        self.totals.artifacts += versions;
        Ok(text)
    }

    async fn next_session(&mut self, deadline: Instant) -> Result<String> {
        if self.sessions.is_empty() {
            if let Some(user) = self.user.clone() {
                let all = ListQuery::of_user(user, OrderBy::CreateTime, (PAGE_ROWS, PAGE_BYTES));
                let query = ListQuery { after: self.last.clone(), ..all };
                let page = self.service.list_sessions(query, deadline).await?;
                if let Some(last) = page.items.last() {
                    self.last = Some(OrderBy::CreateTime.position(&last.head));
                }
                self.sessions = page.items.into_iter().map(|view| view.head.key).rev().collect();
            }
            if self.sessions.is_empty() {
                self.step = if matches!(self.source, ExportSource::App(_)) { Step::Users } else { Step::End };
                return Ok(String::new());
            }
        }
        let Some(key) = self.sessions.last().cloned() else { return Ok(String::new()) };
        let page = self.service.export_page(&key, None, 0, deadline).await?;
        self.sessions.pop();
        if self.sessions.is_empty() && self.user.is_none() {
            self.step = Step::End;
        }
        // Gone since it was listed.
        let Some(mut page) = page else { return Ok(String::new()) };
        let (buffered, rows, more) = (session_line(&page), std::mem::take(&mut page.rows), page.more);
        let mut open = PartialSession {
            digest: LinesDigest::default(),
            sequence: 0,
            events: 0,
            has_files: self.has_files && page.has_artifacts,
            files: None,
            buffered,
            is_new: true,
            first: page,
        };
        open.digest.add(open.buffered.as_bytes());
        Ok(self.page(open, &rows, more))
    }

    async fn go_on(&mut self, deadline: Instant) -> Result<String> {
        if let Some(open) = &mut self.open
            && let Some(files) = &mut open.files
        {
            let Some(FileLines { text, versions }) = files.next(&self.service, deadline).await? else {
                let open = self.open.take();
                return Ok(open.map(|open| self.end(open)).unwrap_or_default());
            };
            open.digest.add(text.as_bytes());
            self.totals.artifacts += versions;
            return Ok(text);
        }
        let Some(open) = &self.open else { return Ok(String::new()) };
        let (head, after) = (&open.first.head, open.sequence);
        let page = self.service.export_page(&head.key, Some(head.revision), after, deadline).await?;
        let is_same = |page: &Exported| {
            let now = &page.head;
            (now.incarnation, now.timeline, now.base_revision, page.redacted)
                == (head.incarnation, head.timeline, head.base_revision, open.first.redacted)
        };
        let page = page.filter(is_same);
        let Some(open) = self.open.take() else { return Ok(String::new()) };
        match page {
            Some(page) => Ok(self.page(open, &page.rows, page.more)),
            None if open.is_new && self.tries < TRIES => {
                self.tries += 1;
                self.sessions.push(open.first.head.key);
                self.step = Step::Sessions;
                Ok(String::new())
            }
            None => Err(Error::SessionCut),
        }
    }

    /// Adds a page to a session; returns the lines that are ready. `more`: there are more rows.
    fn page(&mut self, mut open: PartialSession, rows: &[LogRow], more: bool) -> String {
        for row in rows {
            let line = row_line(row);
            open.digest.add(line.as_bytes());
            open.sequence = row.sequence;
            open.events += u64::from(row.body.is_some());
            open.buffered.push_str(&line);
        }
        if more && open.is_new && open.buffered.len() < BUFFERED_BYTES {
            self.open = Some(open);
            return String::new();
        }
        self.tries = 0;
        self.totals.events += std::mem::take(&mut open.events);
        let mut lines = std::mem::take(&mut open.buffered);
        if more || open.has_files {
            if !more {
                open.files = Some(Files::of_session(&open.first.head.key, open.first.head.incarnation));
            }
            open.is_new = false;
            self.open = Some(open);
        } else {
            lines.push_str(&self.end(open));
        }
        lines
    }

    /// The last line of a session.
    fn end(&mut self, open: PartialSession) -> String {
        self.totals.sessions += 1;
        let Exported { head, state, lost, nearest_source, .. } = &open.first;
        let state = state.as_deref().unwrap_or_default();
        end_of_session(&self.source, head, state, lost, nearest_source.as_ref(), open.digest.finish())
    }
}
