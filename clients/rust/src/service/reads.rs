//! What a service loads, and what programs get of it.

use adk_core::identity::{AdkIdentity, AppName, SessionId, UserId};
use chrono::{DateTime, Utc};
use reqwest::Method;

use super::{History, SessiondSessionService, session::SessiondSession, session_path};
use crate::{
    error::Error,
    wire::{self, StoredEvent, StoredSession},
};

/// Of a list and of a log, the rows of a page. A page of sessions with their state may also end at 8 MiB.
pub(super) const PAGE: usize = 1000;

/// How many of the last events come with an effective history.
const LAST: u64 = 100;

impl SessiondSessionService {
    pub(super) async fn read(
        &self,
        identity: &AdkIdentity,
        recent: Option<usize>,
        after: Option<DateTime<Utc>>,
    ) -> Result<SessiondSession, Error> {
        let path = session_path(identity)?;
        // Until no event comes between the state and the log.
        loop {
            let mut call = self.0.http.call(Method::GET, &path);
            if self.0.history == History::Effective {
                call = call.query("history", "effective");
            }
            // Agents ask for all by a number that the service does not take.
            if let Some(recent) = recent.and_then(|recent| i64::try_from(recent).ok()) {
                call = call.query("numRecentEvents", &recent.to_string());
            }
            if let Some(after) = after {
                call = call.query("afterTimestamp", &micros(after));
            }
            let mut stored = wire::session(&self.0.http.send(call).await?)?;
            // Rewound events come before what took them back. So if that is not here, neither are they.
            if stored.events.iter().any(|event| event.rewinds) {
                let (revision, events) = self.visible(identity, recent, after).await?;
                if revision != stored.revision {
                    continue;
                }
                stored.events = events;
            }
            if self.0.history == History::Effective && recent.is_none() && after.is_none() {
                self.add_the_last(identity, &mut stored).await?;
            }
            if let Some(after) = after {
                // The server compares whole microseconds.
                stored.events.retain(|event| event.event.timestamp >= after);
            }
            return Ok(self.given(stored));
        }
    }

    /// Adds the last events of the log to a session that has its effective history.
    ///
    /// A prompt is the same with what a compaction covers, as long as the compaction is there.
    async fn add_the_last(&self, identity: &AdkIdentity, stored: &mut StoredSession) -> Result<(), Error> {
        let last = stored.events.iter().filter(|event| event.sequence + LAST > stored.revision).count();
        let compacted = stored.events.iter().any(|event| event.event.actions.compaction.is_some());
        if !compacted || last as u64 == stored.revision.min(LAST) {
            return Ok(());
        }
        let path = format!("{}/events", session_path(identity)?);
        let call = self.0.http.call(Method::GET, &path).query("excludeRewound", "true").query("order", "desc");
        let call =
            call.query("beforeSequence", &(stored.revision + 1).to_string()).query("pageSize", &LAST.to_string());
        let answer = self.0.http.send(call).await?;
        let page = wire::members(&answer)?;
        if wire::member::<u64>(&page, "revision")? >= stored.revision {
            for event in wire::list(&page, "events")? {
                stored.events.push(wire::event(event.get())?);
            }
            stored.events.sort_by_key(|event| event.sequence);
            stored.events.dedup_by_key(|event| event.sequence);
        }
        Ok(())
    }

    /// The events without what was taken back, of these the last `recent`, and the revision of the session.
    pub(super) async fn visible(
        &self,
        identity: &AdkIdentity,
        recent: Option<usize>,
        after: Option<DateTime<Utc>>,
    ) -> Result<(u64, Vec<StoredEvent>), Error> {
        let path = format!("{}/events", session_path(identity)?);
        let wanted = recent.unwrap_or(usize::MAX);
        let (mut events, mut token, mut revision) = (Vec::new(), None::<String>, 0);
        loop {
            let size = PAGE.min(wanted - events.len()).max(1);
            let mut call = self.0.http.call(Method::GET, &path).query("excludeRewound", "true").query("order", "desc");
            call = call.query("pageSize", &size.to_string());
            if let (Some(after), None) = (after, recent) {
                call = call.query("afterTimestamp", &micros(after));
            }
            if let Some(token) = &token {
                call = call.query("pageToken", token);
            }
            let answer = self.0.http.send(call).await?;
            let page = wire::members(&answer)?;
            // The later pages are about what was there at the first one.
            if token.is_none() {
                revision = wire::member(&page, "revision")?;
            }
            for event in wire::list(&page, "events")? {
                events.push(wire::event(event.get())?);
            }
            token = wire::text(&page, "nextPageToken");
            if token.is_none() || events.len() >= wanted {
                events.truncate(wanted);
                events.reverse();
                return Ok((revision, events));
            }
        }
    }

    /// What a program gets of a stored session.
    pub(super) fn given(&self, stored: StoredSession) -> SessiondSession {
        // The server has checked the names.
        let identity = AdkIdentity::new(
            AppName::new_unchecked(&stored.app_name),
            UserId::new_unchecked(&stored.user_id),
            SessionId::new_unchecked(&stored.id),
        );
        SessiondSession {
            visit: Some(self.0.memory.read(&identity, stored.revision)),
            identity,
            state: stored.state,
            events: stored.events.into_iter().map(|stored| stored.event).collect(),
            last_update_time: stored.last_update_time,
        }
    }

    /// Calls `visit` with each element of a list until it returns false.
    pub(super) async fn each(
        &self,
        path: &str,
        parameters: &[(&str, &str)],
        list: &str,
        mut visit: impl FnMut(&str) -> Result<bool, Error>,
    ) -> Result<(), Error> {
        let mut token: Option<String> = None;
        loop {
            let mut call = self.0.http.call(Method::GET, path);
            for (name, value) in parameters {
                call = call.query(name, value);
            }
            if let Some(token) = &token {
                call = call.query("pageToken", token);
            }
            let answer = self.0.http.send(call).await?;
            let page = wire::members(&answer)?;
            for stored in wire::list(&page, list)? {
                if !visit(stored.get())? {
                    return Ok(());
                }
            }
            token = wire::text(&page, "nextPageToken");
            if token.is_none() {
                return Ok(());
            }
        }
    }

    /// The only session with this id that this service has seen.
    pub(super) fn find(&self, id: &str) -> Result<AdkIdentity, Error> {
        let id = id.trim();
        let mut known = self.0.memory.named(id);
        let count = known.len();
        match (known.pop(), count) {
            (Some(identity), 1) => Ok(identity),
            _ => Err(Error::input(format!(
                "The id {id} alone says too little, as this service has seen {count} such sessions: name app and user, too, \
                 as `append_event_for_identity` and `rewind_for_identity` do."
            ))),
        }
    }
}

/// A time for the server's filters, which compare whole microseconds.
pub(super) fn micros(time: DateTime<Utc>) -> String {
    let micros = DateTime::from_timestamp_micros(time.timestamp_micros()).unwrap_or(time);
    wire::time_to_number(micros)
}
