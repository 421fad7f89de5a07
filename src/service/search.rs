//! Search over what was said: a search, and the index that it reads.

use std::time::Duration;

use tokio::task::spawn_blocking;
use tokio::time::{Instant, sleep_until};

use super::sweep::rest;
use super::{Error, Reader, Result, Service, StoreResult};
use crate::domain::Rejected;
use crate::domain::event::StoredEvent;
use crate::domain::ids::{AppName, SessionKey, UserKey};
use crate::domain::json::RawJson;
use crate::domain::query::{ANY_TIME, EventQuery, SessionQuery, SessionView};
use crate::domain::search::{Candidate, Corpus, Entry, Filter, Hit, Index, IndexWalk, Indexing, LOOKED};

/// How many events of a session the index may lack before a search tells of it.
const BEHIND: i64 = 128;

/// A search that is under way: what the index has, and the sessions of which it lacks events.
pub struct Search {
    user: UserKey,
    index: Index,
    asked: Vec<i64>,
    corpus: Corpus,
    tails: Vec<Tail>,
    is_complete: bool,
}

/// Events of a session that are to be read, since the index lacks them.
struct Tail {
    key: SessionKey,
    incarnation: i64,
    after: i64,
    through: i64,
}

/// A hit, as it is shown.
pub struct Shown {
    pub hit: Hit,
    pub display_name: Option<RawJson>,
    pub event: StoredEvent,
}

impl Search {
    /// How many events the index had.
    pub fn looked(&self) -> usize {
        self.corpus.candidates.len()
    }

    /// Notes that not all was looked at.
    pub fn cut(&mut self) {
        self.is_complete = false;
        self.tails.clear();
    }

    pub fn is_complete(&self) -> bool {
        self.is_complete
    }

    /// Takes a page of events over that the index lacks. On a thread for such work.
    pub fn take(&mut self, page: &SessionView) {
        for event in &page.events.events {
            let entry = self.index.entry(event);
            self.corpus.candidates.extend(Candidate::of(page.head.incarnation, entry, &self.asked));
        }
    }
}

impl Reader {
    /// Begins a search for the words of a text in what a user and agents said to each other.
    ///
    /// # Errors
    /// `Rejected` if the text has no word; `SearchOff`.
    pub async fn search(&self, user: &UserKey, text: &str, deadline: Instant) -> Result<Search> {
        let index = Index::of(user);
        let asked = index.asked(text).map_err(|message| Rejected::field("text", message))?;
        let now = self.clock.now();
        let corpus = self.read(deadline, || self.reads.corpus(user, &asked, now, deadline)).await?;
        let corpus = corpus.ok_or(Error::SearchOff)?;
        let mut behind: Vec<_> = corpus.sessions.iter().filter(|place| place.is_live && place.behind() > 0).collect();
        behind.sort_by_key(|place| place.behind());
        let (mut left, mut tails) = (LOOKED as i64, Vec::new());
        let mut is_complete = !corpus.is_cut;
        for place in behind {
            let key = SessionKey { user: user.clone(), session: place.id.clone() };
            if place.behind() > BEHIND {
                self.unindexed.note(&key);
            }
            // The last ones, of a session that lacks more.
            let events = place.behind().min(left);
            is_complete &= events == place.behind();
            left -= events;
            if events > 0 {
                let (incarnation, through) = (place.incarnation, place.revision);
                tails.push(Tail { key, incarnation, after: through - events, through });
            }
        }
        // They are taken from the end.
        tails.reverse();
        Ok(Search { user: user.clone(), index, asked, corpus, tails, is_complete })
    }

    /// The next page of events that the index lacks.
    ///
    /// # Errors
    /// Of the database.
    pub async fn next_to_search(&self, search: &mut Search, deadline: Instant) -> Result<Option<SessionView>> {
        while let Some(tail) = search.tails.last_mut() {
            let query = tail_of(&tail.key, Some(tail.incarnation), tail.after, tail.through);
            let page = self.read(deadline, || self.reads.session(&query, deadline)).await?;
            let last = page.as_ref().and_then(|page| page.events.events.last()).map(|event| event.sequence);
            match last.filter(|last| *last < tail.through) {
                Some(last) => tail.after = last,
                None => drop(search.tails.pop()),
            }
            if let Some(page) = page.filter(|_| last.is_some()) {
                return Ok(Some(page));
            }
        }
        Ok(None)
    }

    /// The best hits of a search, with their events.
    ///
    /// # Errors
    /// Of the database.
    pub async fn found(&self, search: &Search, filter: &Filter, deadline: Instant) -> Result<Vec<Shown>> {
        let hits = search.corpus.rank(filter);
        if hits.is_empty() {
            return Ok(Vec::new());
        }
        let mut events = self.read(deadline, || self.reads.hits(&search.user, &hits, deadline)).await?;
        let shown = |hit: Hit| {
            // It was deleted meanwhile, or something was taken of it.
            let event = events.remove(&(hit.incarnation, hit.sequence))?;
            Candidate::of(hit.incarnation, search.index.entry(&event), &search.asked)?;
            let place = search.corpus.sessions.iter().find(|place| place.incarnation == hit.incarnation);
            Some(Shown { display_name: place.and_then(|place| place.display_name.clone()), hit, event })
        };
        Ok(hits.into_iter().filter_map(shown).collect())
    }
}

/// The events of a session after one, up to another: a page.
fn tail_of(key: &SessionKey, incarnation: Option<i64>, after: i64, through: i64) -> SessionQuery {
    let events = EventQuery { after, before: through.saturating_add(1), ..EventQuery::all() };
    SessionQuery { key: key.clone(), now: ANY_TIME, incarnation, timeline: None, state: None, events: Some(events) }
}

impl Service {
    /// Indexes what is said in the apps whose policies say so, and removes the indexes of others. Runs until it is dropped.
    pub(super) async fn index_forever(&self, interval: Duration, limit: Duration) {
        let mut next = Instant::now();
        loop {
            tokio::select! {
                () = sleep_until(next) => {
                    let pause = match self.index_all(limit).await {
                        Ok(()) => interval,
                        Err(error) => self.failed(&error).min(interval),
                    };
                    next = Instant::now() + pause;
                }
                () = self.to_index.notified() => next = Instant::now(),
                key = self.unindexed.next() => {
                    // The walk comes to it, too.
                    if let Err(error) = self.index_session(&key, limit).await {
                        self.failed(&error);
                    }
                }
            }
        }
    }

    async fn index_all(&self, limit: Duration) -> StoreResult<()> {
        const PAGE: usize = 100;
        let mut after = String::new();
        loop {
            let apps = self.store.indexed_apps(&after, PAGE, Instant::now() + limit).await?;
            let is_last = apps.len() < PAGE;
            for (app, indexing) in apps {
                after = app.to_string();
                // The others have their turn.
                if let Err(error) = self.index_app(app, indexing, limit).await {
                    self.failed(&error);
                }
            }
            if is_last {
                return Ok(());
            }
        }
    }

    async fn index_app(&self, app: AppName, indexing: Indexing, limit: Duration) -> StoreResult<()> {
        let mut walk = IndexWalk { app, after: None };
        loop {
            let begun = Instant::now();
            let (sessions, next) = self.store.to_index(&walk, indexing, begun + limit).await?;
            rest(begun).await;
            for key in sessions {
                match indexing {
                    Indexing::On => self.index_session(&key, limit).await?,
                    Indexing::Ending => {
                        let mut more = true;
                        while more {
                            let begun = Instant::now();
                            more = self.store.unindex(&key, begun + limit).await?;
                            rest(begun).await;
                        }
                    }
                }
            }
            walk.after = next;
            if walk.after.is_none() {
                break;
            }
        }
        match indexing {
            Indexing::On => Ok(()),
            Indexing::Ending => self.store.end_index(&walk.app, Instant::now() + limit).await,
        }
    }

    /// Indexes the events of a session that the index lacks.
    async fn index_session(&self, key: &SessionKey, limit: Duration) -> StoreResult<()> {
        let mut after = self.store.indexed(key, Instant::now() + limit).await?;
        loop {
            let begun = Instant::now();
            let page = self.store.session(&tail_of(key, None, after, i64::MAX), begun + limit).await?;
            let Some(page) = page.filter(|page| !page.events.events.is_empty()) else { return Ok(()) };
            let (head, more) = (page.head.clone(), page.events.more);
            let user = key.user.clone();
            let Ok(entries) = spawn_blocking(move || entries(&user, &page)).await else { return Ok(()) };
            let Some(last) = entries.last().map(|entry| entry.sequence) else { return Ok(()) };
            if !self.store.index(&head, &entries, begun + limit).await? || !more {
                return Ok(());
            }
            after = last;
            rest(begun).await;
        }
    }
}

/// What the index has of a page of events: those that have words, and the last one, to say how far it is.
fn entries(user: &UserKey, page: &SessionView) -> Vec<Entry> {
    let index = Index::of(user);
    let last = page.events.events.last().map(|event| event.sequence);
    let entries = page.events.events.iter().map(|event| index.entry(event));
    entries.filter(|entry| !entry.words.is_empty() || Some(entry.sequence) == last).collect()
}
