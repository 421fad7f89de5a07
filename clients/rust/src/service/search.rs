//! What was said, found by its words.

use adk_core::Event;
use chrono::{DateTime, Utc};
use reqwest::Method;

use super::{SessiondSessionService, reads::micros};
#[cfg(doc)]
use crate::error::ErrorKind;
use crate::{error::Error, http::path, wire};

/// What narrows a search.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SearchOptions {
    /// How many events there are at most, 1 to 100; 10 by default.
    pub limit: Option<u32>,
    /// Only events that were stored at this time or later, in whole microseconds.
    pub since: Option<DateTime<Utc>>,
    /// Only events that were stored before this time, in whole microseconds.
    pub until: Option<DateTime<Utc>>,
    /// Only events of this author.
    pub author: Option<String>,
    /// Only events of this session.
    pub session_id: Option<String>,
    /// No events of this session.
    pub except_session_id: Option<String>,
}

/// What a search has found.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct SearchHits {
    /// The best first.
    pub hits: Vec<SearchHit>,
    /// Whether all was looked at: what was said before the index was switched on is taken in by and by, and of very many
    /// events only those with the rarest words are looked at.
    pub complete: bool,
}

/// An event that a search has found.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct SearchHit {
    /// The session that it is in.
    pub session_id: String,
    /// The name of that session for people.
    pub display_name: Option<String>,
    /// The larger, the better: it counts the words that the event has, rare ones more.
    pub score: f64,
    /// The event, as `get` shows it.
    pub event: Event,
    /// When it was stored, by the server's clock.
    pub commit_time: DateTime<Utc>,
}

impl SessiondSessionService {
    /// Returns what was said in the sessions of a user: events that have one of the words of `text`, whole ones, the best
    /// first. Case and accents do not count. Nothing is found that was rewound, redacted, trimmed or deleted.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::SearchOff`]: the app has no index. [`ErrorKind::InvalidInput`]: there is no word in `text`, or the limit is
    /// not 1 to 100.
    pub async fn search(
        &self,
        app_name: &str,
        user_id: &str,
        text: &str,
        options: &SearchOptions,
    ) -> Result<SearchHits, Error> {
        let path = format!("{}/search", path(&[("apps", app_name), ("users", user_id)])?);
        let mut call = self.0.http.call(Method::GET, &path).query("text", text);
        for (name, value) in [
            ("limit", options.limit.map(|limit| limit.to_string())),
            ("from", options.since.map(micros)),
            ("to", options.until.map(micros)),
            ("author", options.author.clone()),
            ("session", options.session_id.clone()),
            ("exceptSession", options.except_session_id.clone()),
        ] {
            if let Some(value) = value {
                call = call.query(name, &value);
            }
        }
        let answer = self.0.http.send(call).await?;
        let answer = wire::members(&answer)?;
        let hits = wire::list(&answer, "hits")?.into_iter().map(|hit| {
            let hit = wire::members(hit.get().as_bytes())?;
            let stored = wire::event(hit.get("event").ok_or_else(wire::not_ours)?.get())?;
            Ok(SearchHit {
                session_id: wire::text(&hit, "sessionId").ok_or_else(wire::not_ours)?,
                display_name: wire::text(&hit, "displayName"),
                score: wire::member(&hit, "score")?,
                event: stored.event,
                commit_time: stored.commit_time,
            })
        });
        Ok(SearchHits { hits: hits.collect::<Result<_, Error>>()?, complete: wire::member(&answer, "complete")? })
    }
}
