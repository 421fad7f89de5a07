//! Following a session: what a watcher gets, in which order.
//!
//! A [`Follower`] is a place in an event log, and what its client knows of the rest. [`Follower::read`] returns what comes next and moves
//! on; [`Follower::changed`] waits until there may be more. Neither keeps anything for later, so a follower takes the same memory however
//! far behind it is.

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
use crate::domain::ids::SessionKey;
use crate::domain::json::{Json, Member};
use crate::domain::query::{EventPage, EventQuery, SessionView, StateFilter};
use crate::domain::scope::{self, Scope};
use crate::domain::session::SessionInfo;
use crate::domain::tag::{Tag, Timeline};
use crate::domain::time::Micros;
use crate::domain::writes::Removal;

/// The most that is read, and sent, at a time.
const PAGE_ROWS: usize = 100;
const PAGE_BYTES: usize = 256 << 10;

/// How soon a session is looked at again that should have expired: the clock of the database decides, and may be behind.
const EXPIRY_RETRY: Duration = Duration::from_millis(250);
const LONGEST_LOOK: Duration = Duration::from_secs(3600);

/// Where a watch begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Begin {
    /// With the first event that there is.
    Start,
    Now,
    At(Position),
}

/// What comes next in a watch.
#[derive(Debug)]
pub enum Item {
    Event(MarkedEvent),
    /// The metadata, at the beginning and after each change: a JSON object.
    Metadata(String),
    /// The whole merged state: one JSON object.
    State {
        tag: Tag,
        state: String,
    },
    /// What has changed in the shared scopes since the last such item: the values that are new or other, as a JSON object, and the names
    /// of those that are gone. With prefixes.
    Change {
        tag: Tag,
        set: Vec<(String, String)>,
        removed: Vec<String>,
    },
    /// The log begins behind this event: the first item of a watch from the start, if anything was trimmed.
    Begins(i64),
    /// A trim has overtaken the follower: the log begins behind this event now. Nothing follows.
    Trimmed(i64),
    /// All that was committed by then was sent. The revision is that of the follower's cursor.
    CaughtUp,
    /// The session is gone, or another one has its id; why, as far as it is known. Nothing follows.
    Deleted(Removal),
    /// The log is not the one that was followed: the database has lost what it had acknowledged, or may have. Nothing follows. Whoever
    /// begins again at its cursor learns whether it is still in the log.
    Lost,
}

/// The shared state that a client knows.
struct Shared {
    user: i64,
    app: i64,
    /// A digest of each value, by key.
    values: HashMap<String, [u8; 32]>,
    /// Bytes of that in memory, about.
    held: usize,
}

/// What a key of [`Shared`] takes in memory beside its text.
const KEY_BYTES: usize = 120;

/// Somebody who follows a session.
pub struct Follower {
    service: Arc<Reader>,
    subscription: Subscription,
    incarnation: i64,
    timeline: Timeline,
    /// Behind this event, all is still to be sent.
    sequence: i64,
    event: EventMark,
    /// Where the log begins, until that was sent.
    trimmed: Option<i64>,
    with_state: bool,
    /// `None` until the state was sent.
    shared: Option<Shared>,
    /// The revision up to which changes of metadata were looked at, and a digest of what was sent.
    metadata: Option<(i64, [u8; 32])>,
    /// A part of what is behind was sent, and there is more.
    is_behind: bool,
    caught_up: bool,
    ended: bool,
    /// [`News::other`] at the last read.
    other: u64,
    expire_time: Option<Micros>,
    /// When to look whether it has expired.
    look: Option<Instant>,
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
        // Before the first read, so that nothing is missed between it and the first wait.
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
                // Else it was made anew in between, and has less.
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
            is_behind: false,
            caught_up: false,
            ended: false,
            other: 0,
            expire_time: None,
            look: None,
            is_due: false,
            page: (self.limits.page_rows.min(PAGE_ROWS), self.limits.page_bytes.min(PAGE_BYTES)),
            service: self.clone(),
            subscription,
        })
    }

    /// When to look whether a session has expired: in an hour at the latest, and again and again if the clock of the database, which
    /// decides, is behind.
    pub fn look_for_expiry(&self, expire_time: Option<Micros>) -> Option<Instant> {
        let left = expire_time?.0.saturating_sub(self.clock.now().0);
        let left = Duration::from_micros(u64::try_from(left).unwrap_or(0));
        Some(Instant::now() + left.clamp(EXPIRY_RETRY, LONGEST_LOOK))
    }

    /// The session with the event of this sequence, if it has one.
    async fn at(&self, key: &SessionKey, sequence: i64, deadline: Instant) -> Result<SessionView> {
        let before = sequence.saturating_add(1);
        let event = EventQuery { after: sequence.saturating_sub(1), before, max_rows: 1, ..EventQuery::all() };
        self.session(key.clone(), Some(nothing()), Some(event), deadline).await
    }
}

/// No part of the state. With it, a read of events is one statement.
fn nothing() -> StateFilter {
    StateFilter::keys(std::iter::empty())
}

impl Follower {
    /// Bytes in memory, about, of what its client knows of shared state.
    pub fn held(&self) -> usize {
        self.shared.as_ref().map_or(0, |shared| shared.held)
    }

    /// Where it stands: behind all that [`Follower::read`] has returned.
    pub fn cursor(&self) -> Cursor {
        Cursor { sequence: self.sequence, incarnation: self.timeline.mark(self.incarnation), event: self.event }
    }

    /// That of an event that [`Follower::read`] returned.
    pub fn cursor_of(&self, marked: &MarkedEvent) -> Cursor {
        Cursor { sequence: marked.event.sequence, event: marked.mark, ..self.cursor() }
    }

    /// Waits until there may be something to read. Cancel-safe.
    pub async fn changed(&mut self) {
        let look = self.look;
        let due = async {
            match look {
                Some(at) => sleep_until(at).await,
                None => pending().await,
            }
        };
        tokio::select! {
            () = self.subscription.changed() => {}
            () = due => self.is_due = true,
        }
    }

    /// What comes next: nothing, if it is not known of anything new. If it fails, it may be tried again.
    ///
    /// # Errors
    /// Only [`Error::Store`].
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

    /// Whether the client does not know it all.
    fn is_interested(&self, news: News) -> bool {
        !self.caught_up
            || self.is_behind
            || self.is_due
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
        let told = self.subscription.session_news().removed.filter(|(incarnation, _)| *incarnation == self.incarnation);
        match (told, self.expire_time) {
            (Some((_, removal)), _) => removal,
            (None, Some(at)) if at <= self.service.clock.now() => Removal::Expired,
            _ => Removal::Deleted,
        }
    }

    fn end(&mut self, last: Item) -> Vec<Item> {
        self.ended = true;
        vec![last]
    }

    /// The head, and events behind the cursor. `None` if the session is gone.
    async fn batch(&self, news: News, deadline: Instant) -> Result<Option<Batch>> {
        // News of shared state is not of one session, so what was read after it is not known.
        // Nor is a session that should have expired: no news comes of that.
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
        // One reads, and the others wait for it.
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

    /// Turns what was read into items, and moves on.
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
        // Nothing can fail from here on.
        self.is_due = false;
        self.other = news.other;
        let mut items: Vec<Item> = Vec::with_capacity(events.len() + 4);
        items.extend(self.trimmed.take().map(Item::Begins));
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
            // A trim counts as a change, and so does one to what is there.
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

    /// Whether the database, which has failed over, still has the event behind which all is to be sent. Shared state may have lost
    /// changes that were sent, so whoever follows that begins again.
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

    /// Whether the session is another one, or its log not the one that was followed, or begins further on.
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
        self.look = self.service.look_for_expiry(head.expire_time);
    }

    /// The whole state, or what has changed in the shared part of it.
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
        let held = values.keys().map(|key: &String| key.len() + KEY_BYTES).sum();
        let before = self.shared.replace(Shared { user: head.user_revision, app: head.app_revision, values, held });
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
