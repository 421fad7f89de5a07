//! Following a session: which items a watcher gets, in which order.
//!
//! A [`Follower`] is a position in an event log, and what its client knows of metadata and state. [`Follower::read`] returns the
//! next items and moves on; [`Follower::changed`] waits until there may be more. Nothing is queued, so a follower takes the same
//! memory however far behind it is.

use std::collections::HashMap;
use std::future::pending;
use std::sync::Arc;
use std::time::Duration;

use sha2::{Digest as _, Sha256};
use tokio::time::{Instant, sleep_until};

use super::live::Subscription;
use super::news::{Batch, MarkedEvent, News, Recent};
use super::{Error, Reader, Result};
use crate::domain::cursor::{Cursor, EventMark, NO_EVENT, Position, mark};
use crate::domain::event::StoredEvent;
use crate::domain::ids::SessionKey;
use crate::domain::json::{Json, Member};
use crate::domain::query::{EventPage, EventQuery, RedactedQuery, SessionView, StateFilter};
use crate::domain::scope::{self, Scope};
use crate::domain::session::SessionInfo;
use crate::domain::tag::{Tag, Timeline};
use crate::domain::time::Micros;
use crate::domain::writes::Removal;

/// How much is read, and sent, at a time.
const PAGE_ROWS: usize = 100;
const PAGE_BYTES: usize = 256 << 10;

/// How soon a session is read again that should have expired: the database's clock decides, and may be behind.
const EXPIRY_RETRY: Duration = Duration::from_millis(250);
const LONGEST_WAIT: Duration = Duration::from_secs(3600);

/// Where a watch begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Begin {
    /// With the first event of the log.
    Start,
    Now,
    At(Position),
}

/// An item of a watch.
#[derive(Debug)]
pub enum Item {
    Event(MarkedEvent),
    /// An event that was sent before, as it is now that it is redacted.
    Redacted(StoredEvent),
    /// The metadata as a JSON object, at the beginning and after each change.
    Metadata(String),
    /// The whole merged state as one JSON object.
    State {
        tag: Tag,
        state: String,
    },
    /// The changes of shared state since the last item of state: keys with new values, and removed keys. Keys have prefixes.
    Change {
        tag: Tag,
        set: Vec<(String, String)>,
        removed: Vec<String>,
    },
    /// The log begins after this event: the first item of a watch from the start, if anything was trimmed.
    Begins(i64),
    /// The last item: a trim removed events that the follower had not read. The log now begins after this event.
    Trimmed(i64),
    /// Everything that was committed at the time of the read was sent, up to the follower's cursor.
    CaughtUp,
    /// The last item: the session is gone, or another one has its id. The reason is the best known one.
    Deleted(Removal),
    /// The last item: the database has lost acknowledged commits, or may have. A client that begins again at its cursor learns
    /// whether the log still has it.
    Lost,
}

/// The shared state that a client knows.
struct KnownState {
    user: i64,
    app: i64,
    /// A digest of each value, by key.
    values: HashMap<String, [u8; 32]>,
    /// Its approximate size in memory, in bytes.
    memory: usize,
}

/// The memory that a key of [`KnownState`] takes beside its text.
const KEY_BYTES: usize = 120;

/// A position in the log of a session, for one client.
pub struct Follower {
    service: Arc<Reader>,
    subscription: Subscription,
    incarnation: i64,
    timeline: Timeline,
    /// The last event that was sent.
    sequence: i64,
    event: EventMark,
    /// Where the log begins, until this was sent.
    trimmed: Option<i64>,
    with_state: bool,
    /// `None` until the state was sent.
    shared: Option<KnownState>,
    /// The metadata revision that was read last, and a digest of the metadata that was sent.
    metadata: Option<(i64, [u8; 32])>,
    /// The metadata revision up to which redactions of events that were sent are told, and whether there are more.
    redacted: i64,
    misses_redactions: bool,
    /// The log has more events than the last page.
    is_behind: bool,
    caught_up: bool,
    ended: bool,
    /// [`News::other`] at the last read.
    other: u64,
    expire_time: Option<Micros>,
    /// When to read whether it has expired.
    expiry_check: Option<Instant>,
    is_due: bool,
    page: (usize, usize),
}

impl Reader {
    /// Begins to follow a session.
    ///
    /// # Errors
    /// `SessionNotFound`; `PositionGone` if its log has no such position.
    pub async fn follow(
        self: &Arc<Self>,
        key: &SessionKey,
        begin: Begin,
        with_state: bool,
        deadline: Instant,
    ) -> Result<Follower> {
        // Before the first read, so that no change between it and the first wait is missed.
        let subscription = self.subscribe(key, with_state);
        let view = match begin {
            Begin::At(position) => {
                let view = self.at(key, position.sequence(), deadline).await?;
                let event = view.events.events.first();
                if !position.is_in(&view.head, event) {
                    let SessionInfo { base_revision: base, revision, .. } = view.head;
                    return Err(Error::PositionGone { base, revision });
                }
                view
            }
            Begin::Start => {
                SessionView { head: self.head(key, deadline).await?, state: None, events: EventPage::default() }
            }
            Begin::Now => loop {
                let head = self.head(key, deadline).await?;
                let view = self.at(key, head.revision, deadline).await?;
                // Otherwise it was created anew in between, and has fewer events.
                if view.head.incarnation == head.incarnation {
                    break SessionView { head, ..view };
                }
            },
        };
        let (head, event) = (view.head, view.events.events.into_iter().next());
        let sequence = match begin {
            Begin::Start => head.base_revision,
            Begin::Now => head.revision,
            Begin::At(position) => position.sequence(),
        };
        Ok(Follower {
            incarnation: head.incarnation,
            timeline: head.timeline,
            sequence,
            event: event.as_ref().map_or(NO_EVENT, mark),
            trimmed: (begin == Begin::Start && head.base_revision > 0).then_some(head.base_revision),
            with_state,
            shared: None,
            metadata: None,
            redacted: head.metadata_revision,
            misses_redactions: false,
            is_behind: false,
            caught_up: false,
            ended: false,
            other: 0,
            expire_time: None,
            expiry_check: None,
            is_due: false,
            page: (self.limits.page_rows.min(PAGE_ROWS), self.limits.page_bytes.min(PAGE_BYTES)),
            service: self.clone(),
            subscription,
        })
    }

    /// When to read whether a session has expired. At the latest in an hour; repeatedly, if the database's clock, which decides,
    /// is behind.
    pub fn next_expiry_check(&self, expire_time: Option<Micros>) -> Option<Instant> {
        let left = expire_time?.0.saturating_sub(self.clock.now().0);
        let left = Duration::from_micros(u64::try_from(left).unwrap_or(0));
        Some(Instant::now() + left.clamp(EXPIRY_RETRY, LONGEST_WAIT))
    }

    /// The session with the event of this sequence, if it has one.
    async fn at(&self, key: &SessionKey, sequence: i64, deadline: Instant) -> Result<SessionView> {
        let before = sequence.saturating_add(1);
        let event = EventQuery { after: sequence.saturating_sub(1), before, max_rows: 1, ..EventQuery::all() };
        self.session(key.clone(), Some(nothing()), Some(event), deadline).await
    }
}

/// No part of the state; reading events with it is one statement.
fn nothing() -> StateFilter {
    StateFilter::keys(std::iter::empty())
}

impl Follower {
    /// The approximate memory, in bytes, that it takes to know the client's shared state.
    pub fn memory(&self) -> usize {
        self.shared.as_ref().map_or(0, |shared| shared.memory)
    }

    /// The position after everything that [`Follower::read`] has returned.
    pub fn cursor(&self) -> Cursor {
        Cursor { sequence: self.sequence, incarnation: self.timeline.mark(self.incarnation), event: self.event }
    }

    /// The position after an event that [`Follower::read`] returned.
    pub fn cursor_of(&self, marked: &MarkedEvent) -> Cursor {
        Cursor { sequence: marked.event.sequence, event: marked.mark, ..self.cursor() }
    }

    /// Waits until there may be something to read. Cancel-safe.
    pub async fn changed(&mut self) {
        let check = self.expiry_check;
        let due = async {
            match check {
                Some(at) => sleep_until(at).await,
                None => pending().await,
            }
        };
        tokio::select! {
            () = self.subscription.changed() => {}
            () = due => self.is_due = true,
        }
    }

    /// The next items; none if there is no news. May be retried after an error.
    pub async fn read(&mut self, deadline: Instant) -> Result<Vec<Item>> {
        let news = self.subscription.latest();
        if self.ended || !self.is_interested(news) {
            return Ok(Vec::new());
        }
        let batch = match self.batch(news, deadline).await? {
            Some(batch) => batch,
            None => return Ok(self.end(Item::Deleted(self.reason()))),
        };
        self.take(batch, news, deadline).await
    }

    /// Whether there may be something that the client does not have.
    fn is_interested(&self, news: News) -> bool {
        !self.caught_up
            || self.is_behind
            || self.is_due
            || self.misses_redactions
            || news.other != self.other
            || news.incarnation != self.incarnation
            || news.revision > self.sequence
            || self.metadata.is_some_and(|(known, _)| news.metadata > known)
            || self.misses_state(news)
    }

    fn misses_state(&self, news: News) -> bool {
        self.shared.as_ref().is_some_and(|known| news.user > known.user || news.app > known.app)
    }

    fn reason(&self) -> Removal {
        let removed =
            self.subscription.session_news().removed.filter(|(incarnation, _)| *incarnation == self.incarnation);
        match (removed, self.expire_time) {
            (Some((_, removal)), _) => removal,
            (None, Some(at)) if at <= self.service.clock.now() => Removal::Expired,
            _ => Removal::Deleted,
        }
    }

    fn end(&mut self, last: Item) -> Vec<Item> {
        self.ended = true;
        vec![last]
    }

    /// The head, and events after the cursor. `None` if the session is gone.
    async fn batch(&self, news: News, deadline: Instant) -> Result<Option<Batch>> {
        // A read cannot be shared if it is for news of shared state, which other sessions have, too, or for an expiry, of which
        // there is no news.
        let may_share = self.caught_up
            && !self.is_behind
            && !self.is_due
            && !self.misses_state(news)
            && self.subscription.is_shared();
        if !may_share {
            let found = self.view(nothing(), deadline).await?;
            self.subscription.observe(found.as_ref().map(|view| &view.head));
            return Ok(found.map(batch_of));
        }
        // One follower reads, and the others wait for its result.
        let topic = self.subscription.topic.clone();
        let mut recent = topic.recent.lock().await;
        let news = self.subscription.session_news();
        if let Some(batch) = recent.behind(self.sequence, self.incarnation, news) {
            return Ok(Some(batch));
        }
        let found = self.view(nothing(), deadline).await?;
        self.subscription.observe(found.as_ref().map(|view| &view.head));
        let batch = found.map(batch_of);
        match &batch {
            Some(batch) => recent.keep(self.subscription.news_after(news, &batch.head), batch),
            None => *recent = Recent::default(),
        }
        Ok(batch)
    }

    async fn view(&self, state: StateFilter, deadline: Instant) -> Result<Option<SessionView>> {
        let (max_rows, max_bytes) = self.page;
        let events = EventQuery { after: self.sequence, max_rows, max_bytes, ..EventQuery::all() };
        let key = self.subscription.key().clone();
        match self.service.session(key, Some(state), Some(events), deadline).await {
            Ok(view) => Ok(Some(view)),
            Err(Error::SessionNotFound) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Turns a read into items, and moves on.
    async fn take(&mut self, batch: Batch, news: News, deadline: Instant) -> Result<Vec<Item>> {
        if batch.head.timeline != self.timeline && self.is_still_there(deadline).await? {
            self.timeline = batch.head.timeline;
        }
        if let Some(end) = self.end_of(&batch.head) {
            return Ok(self.end(end));
        }
        let Batch { mut head, mut events, mut more } = batch;
        let mut state = None;
        let knows_scopes = self
            .shared
            .as_ref()
            .is_some_and(|known| (known.user, known.app) == (head.user_revision, head.app_revision));
        if self.with_state && !more && !knows_scopes {
            // State and events of one moment.
            let filter = match &self.shared {
                None => StateFilter::default(),
                Some(_) => StateFilter { session: Some(Vec::new()), ..StateFilter::default() },
            };
            let Some(mut view) = self.view(filter, deadline).await? else {
                return Ok(self.end(Item::Deleted(self.reason())));
            };
            if let Some(end) = self.end_of(&view.head) {
                return Ok(self.end(end));
            }
            state = view.state.take();
            Batch { head, events, more } = batch_of(view);
        }
        let redacted = self.redactions(&head, deadline).await?;
        // Nothing below can fail.
        self.is_due = false;
        self.other = news.other;
        let mut items: Vec<Item> = Vec::with_capacity(events.len() + 4);
        items.extend(self.trimmed.take().map(Item::Begins));
        self.misses_redactions = redacted.len() == PAGE_ROWS;
        self.redacted = match redacted.last() {
            Some((revision, _)) if self.misses_redactions => *revision,
            _ => head.metadata_revision,
        };
        items.extend(redacted.into_iter().map(|(_, event)| Item::Redacted(event)));
        if let Some(last) = events.last() {
            (self.sequence, self.event) = (last.event.sequence, last.mark);
        }
        items.extend(events.into_iter().map(Item::Event));
        let was_behind = std::mem::replace(&mut self.is_behind, more);
        if more {
            return Ok(items);
        }
        self.note_expiry(&head);
        if self.metadata.is_none_or(|(known, _)| known != head.metadata_revision) {
            let metadata = head.metadata_json();
            let digest = Sha256::digest(&metadata).into();
            let before = self.metadata.replace((head.metadata_revision, digest));
            // A trim raises the revision too, and a change may set the same values.
            if before.is_none_or(|(_, sent)| sent != digest) {
                items.push(Item::Metadata(metadata));
            }
        }
        if let Some(state) = state {
            items.push(self.state(&head, state));
        }
        if !self.caught_up || was_behind {
            self.caught_up = true;
            items.push(Item::CaughtUp);
        }
        Ok(items)
    }

    /// The events that were sent and have been redacted since, as of a read with this head, and after which change of metadata each was.
    async fn redactions(&self, head: &SessionInfo, deadline: Instant) -> Result<Vec<(i64, StoredEvent)>> {
        if head.metadata_revision <= self.redacted {
            return Ok(Vec::new());
        }
        let query = RedactedQuery {
            key: head.key.clone(),
            incarnation: head.incarnation,
            after: self.redacted,
            through: head.metadata_revision,
            last_sequence: self.sequence,
            max_rows: PAGE_ROWS,
        };
        let reads = &self.service.reads;
        self.service.read(deadline, || reads.redacted(&query, deadline)).await
    }

    /// Whether the database still has the last sent event after a failover. A client that follows state has to begin again:
    /// shared state may have lost changes that were sent.
    async fn is_still_there(&self, deadline: Instant) -> Result<bool> {
        if self.with_state {
            return Ok(false);
        }
        match self.service.at(self.subscription.key(), self.sequence, deadline).await {
            Ok(view) => Ok(Position::At(self.cursor()).is_in(&view.head, view.events.events.first())),
            Err(Error::SessionNotFound) => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// The last item, if the session was replaced, or its log is another one or begins after the cursor.
    fn end_of(&self, head: &SessionInfo) -> Option<Item> {
        if head.incarnation != self.incarnation {
            Some(Item::Deleted(self.reason()))
        } else if head.timeline != self.timeline || head.revision < self.sequence {
            Some(Item::Lost)
        } else if head.base_revision > self.sequence {
            Some(Item::Trimmed(head.base_revision))
        } else {
            None
        }
    }

    fn note_expiry(&mut self, head: &SessionInfo) {
        self.expire_time = head.expire_time;
        self.expiry_check = self.service.next_expiry_check(head.expire_time);
    }

    /// The whole state, or the changes of shared state.
    fn state(&mut self, head: &SessionInfo, state: String) -> Item {
        let tag = head.tag();
        let mut values = HashMap::new();
        let mut set = Vec::new();
        for Member { key, value, .. } in Json::trusted(&state).as_object().into_iter().flatten() {
            if !matches!(scope::split(&key), Some((Scope::App | Scope::User, _))) {
                continue;
            }
            let digest = Sha256::digest(value.text()).into();
            let known = self.shared.as_mut().and_then(|known| known.values.remove(&*key));
            if known != Some(digest) {
                set.push((key.clone().into_owned(), value.text().to_owned()));
            }
            values.insert(key.into_owned(), digest);
        }
        let memory = values.keys().map(|key: &String| key.len() + KEY_BYTES).sum();
        let before =
            self.shared.replace(KnownState { user: head.user_revision, app: head.app_revision, values, memory });
        match before {
            None => Item::State { tag, state },
            Some(before) => {
                let mut removed: Vec<String> = before.values.into_keys().collect();
                removed.sort_unstable();
                Item::Change { tag, set, removed }
            }
        }
    }
}

fn batch_of(view: SessionView) -> Batch {
    let events = view.events.events.into_iter().map(MarkedEvent::new).collect();
    Batch { head: view.head, events, more: view.events.more }
}
