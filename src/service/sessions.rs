//! Sessions, and the names of apps and users.

use std::sync::Arc;

use tokio::time::Instant;

use super::retry::Repeat;
use super::{Error, Guard, Made, Reader, Result, Service};
use crate::domain::access::Names;
use crate::domain::activity::{ACTIVE_MICROS, Activity};
use crate::domain::command::{Deletion, MetadataUpdate};
use crate::domain::ids::{AppName, SessionKey, UserId, UserKey};
use crate::domain::query::{EventQuery, ListQuery, Page, SessionQuery, SessionView, StateFilter};
use crate::domain::request_key::RequestKey;
use crate::domain::session::{Creation, IfExists, MetadataPatch, SessionDraft, SessionInfo};
use crate::domain::shown::Shown;

impl Reader {
    /// The session with what `state` and `events` ask for.
    ///
    /// # Errors
    /// `SessionNotFound`.
    pub async fn session(
        &self,
        key: SessionKey,
        state: Option<StateFilter>,
        events: Option<EventQuery>,
        deadline: Instant,
    ) -> Result<SessionView> {
        self.view(key, None, state, events, deadline).await
    }

    async fn view(
        &self,
        key: SessionKey,
        of: Option<&SessionInfo>,
        state: Option<StateFilter>,
        events: Option<EventQuery>,
        deadline: Instant,
    ) -> Result<SessionView> {
        let (incarnation, timeline) = (of.map(|head| head.incarnation), of.map(|head| head.timeline));
        let query = SessionQuery { key, now: self.clock.now(), incarnation, timeline, state, events };
        let view = self.read(deadline, || self.reads.session(&query, deadline)).await?.ok_or(Error::SessionNotFound)?;
        if view.events.is_behind {
            self.behind.note(&view.head.key);
        }
        Ok(view)
    }

    /// Events, as they are now, of a session that was read before.
    ///
    /// # Errors
    /// `SessionNotFound` if it is gone, a session of another incarnation took its place, or the database has failed over.
    pub async fn events_of(&self, head: &SessionInfo, events: EventQuery, deadline: Instant) -> Result<SessionView> {
        self.view(head.key.clone(), Some(head), None, Some(events), deadline).await
    }

    /// The head alone: revisions and metadata.
    ///
    /// # Errors
    /// `SessionNotFound`.
    pub async fn head(&self, key: &SessionKey, deadline: Instant) -> Result<SessionInfo> {
        Ok(self.session(key.clone(), None, None, deadline).await?.head)
    }

    /// A page of sessions, without events.
    pub async fn list_sessions(&self, query: ListQuery, deadline: Instant) -> Result<Page<SessionView>> {
        let now = self.clock.now();
        self.read(deadline, || self.reads.sessions(&query, now, deadline)).await
    }

    /// How much an app did in the last day.
    pub async fn activity(&self, app: &AppName, deadline: Instant) -> Result<Activity> {
        let since = self.clock.now().plus(-ACTIVE_MICROS);
        self.read(deadline, || self.reads.activity(app, since, deadline)).await
    }

    /// Names of apps, in byte order, after `after`: those within a grant.
    pub async fn apps(&self, after: &str, limit: usize, within: &Names, deadline: Instant) -> Result<Vec<AppName>> {
        self.read(deadline, || self.reads.apps(after, limit, within, deadline)).await
    }

    /// Names of an app's users, in byte order, after `after`: those within a grant.
    pub async fn users(
        &self,
        app: &AppName,
        after: &str,
        limit: usize,
        within: &Names,
        deadline: Instant,
    ) -> Result<Vec<UserId>> {
        self.read(deadline, || self.reads.users(app, after, limit, within, deadline)).await
    }
}

impl Service {
    /// Creates a session under the id of the draft, or a fresh one; returns what it shows, and whether it was created or found. It
    /// stores `request`.
    ///
    /// # Errors
    /// `SessionAlreadyExists`, or `RevisionMismatch`, if it exists and is not to be returned; `CreationKeyConflict`;
    /// `EventIdConflict` and `RevisionMismatch` within the events.
    pub async fn create_session(
        &self,
        user: UserKey,
        draft: SessionDraft,
        request: Option<RequestKey>,
        if_exists: IfExists,
        shows: Shown,
        deadline: Instant,
    ) -> Result<(Made, SessionView)> {
        let now = self.clock.now();
        let session = draft.session_id.unwrap_or_else(|| self.clock.fresh_id().into());
        let creation = Arc::new(Creation {
            key: SessionKey { user, session },
            incarnation: self.clock.incarnation(),
            now,
            state: draft.state,
            events: self.seal(draft.events.into_iter().filter(|event| event.partial.is_none()), now),
            display_name: draft.display_name,
            labels: draft.labels,
            expiry: draft.expiry,
            request,
            shows,
            if_exists,
            limits: self.limits,
        });
        let (made, view) =
            self.transact(Repeat::Safe, deadline, |_| self.store.create(&creation, deadline)).await?.value;
        if made == Made::New {
            self.metrics.appended_events.inc_by(u64::try_from(view.head.revision).unwrap_or(0));
        }
        Ok((made, view))
    }

    /// Changes metadata; returns what it shows of the session, with the first page of its events.
    ///
    /// # Errors
    /// `SessionNotFound`, `Lease`, `RevisionMismatch`.
    pub async fn update_metadata(
        &self,
        key: SessionKey,
        patch: MetadataPatch,
        guard: Guard,
        shows: Shown,
        deadline: Instant,
    ) -> Result<SessionView> {
        let update = MetadataUpdate { key, patch, guard, shows, now: self.clock.now() };
        // Retried even if unclear: fields are set, not computed, and either of two concurrent PATCHes may be the last.
        let write = |_| self.store.update_metadata(&update, deadline);
        Ok(self.transact(Repeat::Safe, deadline, write).await?.value)
    }

    /// Deletes a session; succeeds also if there is none.
    ///
    /// # Errors
    /// `Lease`, `RevisionMismatch`.
    pub async fn delete_session(&self, key: SessionKey, guard: Guard, deadline: Instant) -> Result<()> {
        // Only the incarnation that exists now: a retry after a lost answer must not delete a session that was created
        // meanwhile.
        let incarnation = match self.head(&key, deadline).await {
            Ok(head) => head.incarnation,
            Err(Error::SessionNotFound) => return Ok(()),
            Err(error) => return Err(error),
        };
        let deletion = Deletion { key, incarnation, guard, now: self.clock.now() };
        self.transact(Repeat::Safe, deadline, |_| self.store.delete(&deletion, deadline)).await?;
        self.to_sweep.notify_one();
        Ok(())
    }
}
