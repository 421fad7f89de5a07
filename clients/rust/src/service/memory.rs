//! The memory service.

use std::collections::BTreeSet;

use adk_core::{
    Content, Event, Part,
    identity::{AdkIdentity, AppName, SessionId, UserId},
};
use adk_memory::{MemoryEntry, MemoryService, SearchRequest, SearchResponse};
use async_trait::async_trait;
use chrono::{DateTime, Utc};
use reqwest::Method;
use uuid::Uuid;

use super::{
    SearchHit, SearchOptions, SessiondSessionService,
    reads::{PAGE, micros},
    session_path,
};
use crate::{
    error::{Error, ErrorKind},
    http::path,
    wire,
};

/// The session of a user that has what was said nowhere else.
const MEMORIES: &str = "memories";

/// The server gives no more.
const MOST: usize = 100;

/// Characters of a query that are sent: the server looks for 32 words.
const QUERY: usize = 2000;

/// What ADK agents remember of a user: what was said in the sessions of that user, which are in sessiond. See
/// [`SessiondSessionService::memory`].
///
/// Nothing is copied, so all that is stored is remembered at once, also if nobody calls `add_session`; and what is rewound,
/// redacted, trimmed, expired, deleted or erased is not, from then on. The policy of the app has to say
/// `{"search": {"index": true}}`, which is for an operator to set; until then the error is [`ErrorKind::SearchOff`].
///
/// ADK's `LoadMemoryTool` and `PreloadMemoryTool` take it as it is, and runners through an
/// [`adk_memory::MemoryServiceAdapter`], for one user.
///
/// Errors are an `AdkError` whose `source` is an [`Error`]; its code begins with `memory.`. Methods of the trait that are not
/// here are an error, too: there are no projects, a session is deleted by the session service, and a user by an erasure.
///
/// A clone is the same service.
#[derive(Debug, Clone)]
pub struct SessiondMemoryService(pub(super) SessiondSessionService);

impl SessiondMemoryService {
    /// The events that have a word of the query; none if it has no word.
    async fn found(&self, app: &str, user: &str, query: &str, limit: usize) -> Result<Vec<SearchHit>, Error> {
        let words: String = query.chars().take(QUERY).collect();
        let options = SearchOptions { limit: Some(limit.min(MOST) as u32), ..SearchOptions::default() };
        match self.0.search(app, user, &words, &options).await {
            Err(error) if error.status == Some(422) && error.message.contains("`text`:") => Ok(Vec::new()),
            found => Ok(found?.hits),
        }
    }

    async fn remembered(&self, req: &SearchRequest) -> Result<Vec<MemoryEntry>, Error> {
        if req.project_id.is_some() {
            return Err(Error::input("sessiond keeps no memories by project: search without a `project_id`."));
        }
        let limit = req.limit.unwrap_or(10).min(MOST);
        if limit == 0 {
            return Ok(Vec::new());
        }
        let hits = self.found(&req.app_name, &req.user_id, &req.query, 2 * limit).await?;
        let memories = hits.into_iter().filter_map(|hit| {
            let content = hit.event.llm_response.content?;
            let said = spoken(&content);
            // A runner has stored the question before it is looked for.
            if said.is_empty() || said.concat().split_whitespace().eq(req.query.split_whitespace()) {
                return None;
            }
            let parts = said.into_iter().map(Part::text_part).collect();
            let content = Content { role: content.role, parts };
            Some(MemoryEntry { content, author: hit.event.author, timestamp: hit.event.timestamp })
        });
        Ok(memories.take(limit).collect())
    }

    /// Appends what no event of the session says.
    async fn add(&self, app: &str, user: &str, session: &str, mut entries: Vec<MemoryEntry>) -> Result<(), Error> {
        let identity = AdkIdentity::new(
            AppName::new_unchecked(app),
            UserId::new_unchecked(user),
            SessionId::new_unchecked(session.trim()),
        );
        let events = format!("{}/events", session_path(&identity)?);
        entries.retain(|entry| !spoken(&entry.content).is_empty());
        let Some(since) = entries.iter().map(|entry| entry.timestamp).min() else { return Ok(()) };
        let parameters = [("afterTimestamp", &*micros(since)), ("pageSize", &*PAGE.to_string())];
        let looked = self.0.each(&events, &parameters, "events", |stored| {
            let stored = wire::event(stored)?.event;
            entries.retain(|entry| !is_of(&stored, entry));
            Ok(!entries.is_empty())
        });
        match looked.await {
            // What was read from sessiond and is gone was taken back; all else is of another service.
            Err(error) if error.kind == ErrorKind::NotFound && !self.0.0.memory.knows(&identity) => {}
            looked => looked?,
        }
        for entry in &entries {
            self.append(app, user, entry).await?;
        }
        Ok(())
    }

    /// Appends an entry, once: its id is made of what it says, by whom and when.
    async fn append(&self, app: &str, user: &str, entry: &MemoryEntry) -> Result<(), Error> {
        let MemoryEntry { content, author, timestamp } = entry;
        let said = format!("{author}\0{}\0{}", wire::time_to_number(*timestamp), spoken(content).join("\0"));
        let id = Uuid::new_v5(&Uuid::NAMESPACE_OID, said.as_bytes()).to_string();
        let path = format!("{}/events", path(&[("apps", app), ("users", user), ("sessions", MEMORIES)])?);
        let call = self.0.0.http.call(Method::POST, &path).query("create", "true").query("answer", "minimal");
        match self.0.0.http.send(call.json(wire::said_to_text(&id, author, *timestamp, content))).await {
            // One that is there with another content, or none any more, stays as it is.
            Err(error) if error.kind != ErrorKind::EventIdConflict => Err(error),
            _ => Ok(()),
        }
    }

    /// Redacts the events that have all words of the query.
    async fn forget(&self, app: &str, user: &str, query: &str) -> Result<u64, Error> {
        let wanted = words(query);
        let mut count = 0;
        while !wanted.is_empty() {
            let mut hits = self.found(app, user, query, MOST).await?;
            // They come before those with some of the words.
            hits.retain(|hit| {
                hit.event.content().is_some_and(|said| wanted.is_subset(&words(&spoken(said).join(" "))))
            });
            for hit in &hits {
                let event =
                    [("apps", app), ("users", user), ("sessions", &*hit.session_id), ("events", &*hit.event.id)];
                let call = self.0.0.http.call(Method::POST, &format!("{}/redact", path(&event)?));
                match self.0.0.http.send(call).await {
                    Err(error) if error.kind == ErrorKind::NotFound => {}
                    redacted => count += redacted.map(|_| 1)?,
                }
            }
            if hits.len() < MOST {
                break;
            }
        }
        Ok(count)
    }
}

#[async_trait]
impl MemoryService for SessiondMemoryService {
    /// Sees that what was said in a session is remembered: if it is in sessiond, it is already.
    ///
    /// What no event of the session in sessiond says, of that author and time, is appended to the session `memories` of the
    /// user, each once, and without a change of state. If this service has read the session and it is not there any more,
    /// that is an error ([`ErrorKind::NotFound`]).
    async fn add_session(
        &self,
        app_name: &str,
        user_id: &str,
        session_id: &str,
        entries: Vec<MemoryEntry>,
    ) -> adk_core::Result<()> {
        self.add(app_name, user_id, session_id, entries).await.map_err(Error::of_memory)
    }

    /// Returns what the user and agents have said that has a word of the query, the best first: see
    /// [`SessiondSessionService::search`]. What says just the query is left out: a runner has stored the user's question
    /// before it is looked for. Of a memory there is the text, without what a model thought. A query without a word finds
    /// nothing.
    ///
    /// There are at most 100. `min_score` is for services that compare meanings; with a `project_id`, it is an error.
    async fn search(&self, req: SearchRequest) -> adk_core::Result<SearchResponse> {
        Ok(SearchResponse { memories: self.remembered(&req).await.map_err(Error::of_memory)? })
    }

    /// Appends an entry to the session `memories` of the user, once.
    async fn add_entry(&self, app_name: &str, user_id: &str, entry: MemoryEntry) -> adk_core::Result<()> {
        self.append(app_name, user_id, &entry).await.map_err(Error::of_memory)
    }

    /// Redacts what a search finds, in all sessions of the user, and has all words of the query: whole ones as they are
    /// written, but for the case. It is gone for good; the state that these events have set stays. It takes the role
    /// `operator`.
    async fn delete_entries(&self, app_name: &str, user_id: &str, query: &str) -> adk_core::Result<u64> {
        self.forget(app_name, user_id, query).await.map_err(Error::of_memory)
    }

    /// Whether sessiond is there and has its database. It is asked once.
    async fn health_check(&self) -> adk_core::Result<()> {
        self.0.0.http.once(Method::GET, "/readyz").await.map_err(Error::of_memory)
    }
}

/// The texts of a content, without what a model thought.
fn spoken(content: &Content) -> Vec<&str> {
    content.parts.iter().filter_map(Part::text).filter(|text| !text.is_empty()).collect()
}

/// Whether an entry is what an event says, or has said before it was redacted.
fn is_of(event: &Event, entry: &MemoryEntry) -> bool {
    let time = |time: DateTime<Utc>| time.timestamp_micros();
    event.author == entry.author
        && time(event.timestamp) == time(entry.timestamp)
        && event.content().is_none_or(|content| spoken(content) == spoken(&entry.content))
}

/// The words of a text, in lower case.
fn words(text: &str) -> BTreeSet<String> {
    let words = text.split(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty());
    words.map(str::to_lowercase).collect()
}
