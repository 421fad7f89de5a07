//! State: the merged state of a session, single keys of it, and app and user state on their own.

use tokio::time::Instant;

use super::retry::{Repeat, Tried};
use super::{Changed, Error, Guard, Made, Reader, Result, Service};
use crate::domain::Limits;
use crate::domain::append::Append;
use crate::domain::change::{Condition, Edit, Keys, Precondition, WrittenEdit};
use crate::domain::event::{EventDraft, cost_beside};
use crate::domain::ids::{EventId, ScopeKey, SessionKey};
use crate::domain::json::{Json, RawJson};
use crate::domain::query::{ScopePart, ScopeView, SessionView, StateFilter, StatePart};
use crate::domain::request_key::RequestKey;
use crate::domain::scope::{self, Scope};
use crate::domain::scope_write::ScopeWrite;
use crate::domain::session::SessionInfo;
use crate::domain::state_range::StatePage;
use crate::domain::tag::{IfMatch, Tag};
use crate::domain::template::{Missing, Template, Texts};

/// A state change for which the server composes the event: the session, and the other fields of the event.
#[derive(Debug)]
pub struct StateChange<'a> {
    pub key: SessionKey,
    pub id: Option<EventId>,
    pub author: &'a str,
    pub invocation_id: &'a str,
    pub guard: Guard,
}

/// A value of the merged state, with the text that the event has.
#[derive(Debug)]
pub struct StoredValue {
    pub tag: Tag,
    pub value: RawJson,
}

impl Reader {
    /// One value of the merged state, and the session's head.
    ///
    /// # Errors
    /// `SessionNotFound`, `StateKeyNotFound` (always for a `temp:` key: none is ever stored).
    pub async fn value(&self, key: &SessionKey, state_key: &str, deadline: Instant) -> Result<(SessionInfo, RawJson)> {
        let Some((scope, stored)) = scope::split(state_key) else {
            self.head(key, deadline).await?;
            return Err(Error::StateKeyNotFound);
        };
        let now = self.clock.now();
        let found = self.read(deadline, || self.reads.value(key, scope, stored, now, deadline)).await?;
        let (head, value) = found.ok_or(Error::SessionNotFound)?;
        Ok((head, value.ok_or(Error::StateKeyNotFound)?))
    }

    /// A template filled in with the merged state and with artifacts, and the tag of that state.
    ///
    /// # Errors
    /// `SessionNotFound`; `Rejected` as [`Template::render`] has it, with the limit of a page; `ArtifactStore`.
    pub async fn render(
        &self,
        key: SessionKey,
        template: &Template<'_>,
        missing: Missing,
        deadline: Instant,
    ) -> Result<(Tag, String)> {
        let filter = StateFilter::keys(template.keys().iter().copied());
        let (view, texts) = match template.artifacts() {
            [] => (self.session(key, Some(filter), None, deadline).await?, Texts::new()),
            names => self.session_with_texts(key, filter, names, deadline).await?,
        };
        let state = view.state.unwrap_or_default();
        let text = template.render(Json::trusted(&state), &texts, missing, self.limits.page_bytes)?;
        Ok((view.head.tag(), text))
    }

    /// A part of the merged state as it is now.
    ///
    /// # Errors
    /// `SessionNotFound`.
    pub async fn state(&self, key: SessionKey, part: StatePart, deadline: Instant) -> Result<(Tag, StatePage)> {
        match part {
            StatePart::Keys(filter) => {
                let view = self.session(key, Some(filter), None, deadline).await?;
                Ok((view.head.tag(), StatePage { state: view.state.unwrap_or_default(), next: None }))
            }
            StatePart::Range(range) => {
                let now = self.clock.now();
                let found = self.read(deadline, || self.reads.state_range(&key, &range, now, deadline)).await?;
                let (head, page) = found.ok_or(Error::SessionNotFound)?;
                Ok((head.tag(), page))
            }
        }
    }

    /// App or user state on its own, or a part of it.
    pub async fn scope(&self, scope: &ScopeKey, part: ScopePart, deadline: Instant) -> Result<ScopeView> {
        self.read(deadline, || self.reads.scope(scope, &part, deadline)).await
    }

    /// One value of app or user state, and the scope's revision.
    ///
    /// # Errors
    /// `StateKeyNotFound`.
    pub async fn scope_value(&self, scope: &ScopeKey, key: String, deadline: Instant) -> Result<(i64, RawJson)> {
        let view = self.scope(scope, ScopePart::Keys(vec![key.clone()]), deadline).await?;
        let value = Json::trusted(&view.state).get(&key).ok_or(Error::StateKeyNotFound)?;
        Ok((view.revision, value.to_raw()))
    }
}

impl Service {
    /// Changes state through one appended event, and shows what is asked of the merged state afterwards.
    pub async fn patch_state(
        &self,
        edit: WrittenEdit<'_>,
        change: StateChange<'_>,
        shows: StateFilter,
        deadline: Instant,
    ) -> Result<Changed<SessionView>> {
        let append = Append { with_state: Some(shows), ..self.append_of(change, edit) };
        let committed = self.commit(append, deadline).await?;
        let (replayed, cost) = (committed.is_replay(), committed.cost());
        Ok(Changed { replayed, cost, after: committed.view.ok_or(Error::SessionNotFound)? })
    }

    /// Sets one key of the merged state through an appended event; with `if_absent` only if there is no such key. Returns the
    /// value as the event has it: the text of a replayed event may differ from this request's.
    pub async fn put_value(
        &self,
        (scope, key): (Scope, &str),
        value: Json<'_>,
        if_absent: bool,
        change: StateChange<'_>,
        deadline: Instant,
    ) -> Result<Changed<StoredValue>> {
        let mut append = self.append_of(change, WrittenEdit::set(scope, key, value.to_raw()));
        if if_absent {
            let absent = Precondition { scope, key: key.into(), condition: Condition::Exists(false) };
            // As `if_match`, it is no part of the event.
            append.events.iter_mut().for_each(|event| event.edit.preconditions.push(absent.clone()));
        }
        let committed = self.commit(append, deadline).await?;
        let (replayed, cost, tag) = (committed.is_replay(), committed.cost(), committed.done.tag);
        let stored = committed.done.events.first().and_then(|appended| {
            let event = Json::trusted(&appended.event.body);
            Some(event.get("actions")?.get("stateDelta")?.get(&Keys::Merged.show(scope, key))?.to_raw())
        });
        let value = stored.unwrap_or_else(|| value.to_raw());
        Ok(Changed { replayed, cost, after: StoredValue { tag, value } })
    }

    /// Removes one key of the merged state through an appended event, or does nothing if it is missing. Returns the tag
    /// afterwards.
    pub async fn delete_value(
        &self,
        (scope, key): (Scope, &str),
        change: StateChange<'_>,
        deadline: Instant,
    ) -> Result<Changed<Tag>> {
        let only_if_present = Some((scope, key.into()));
        let append = Append { only_if_present, ..self.append_of(change, WrittenEdit::remove(scope, key)) };
        let committed = self.commit(append, deadline).await?;
        Ok(Changed { replayed: committed.is_replay(), cost: committed.cost(), after: committed.done.tag })
    }

    /// The append of the event that carries a change of state.
    fn append_of(&self, change: StateChange<'_>, edit: WrittenEdit<'_>) -> Append {
        let StateChange { key, id, author, invocation_id, guard } = change;
        let now = self.clock.now();
        let events = self.seal(std::iter::once(EventDraft::of_change(id, author, invocation_id, edit)), now);
        // The limit is for what the client sent, the value or the body, and not for the event around it.
        let limits = Limits { event_bytes: usize::MAX, ..self.limits };
        Append { key, events, guard, only_if_present: None, limits, now, with_state: None, creates: None }
    }

    /// Changes app or user state on its own, and returns what `shows` says of it afterwards. There is no event id to recognise a retry by. So without
    /// a `request`, the error after a lost commit says that the outcome is unknown, and the client decides.
    ///
    /// # Errors
    /// `RevisionMismatch`, `PatchKeyConflict`.
    pub async fn write_scope(
        &self,
        scope: ScopeKey,
        edit: Edit,
        if_match: Option<IfMatch>,
        request: Option<RequestKey>,
        shows: ScopePart,
        deadline: Instant,
    ) -> Result<Changed<ScopeView>> {
        let cost = 1 + cost_beside(edit.sets.iter().map(|change| change.value.text().len()).sum());
        let repeat = if request.is_some() { Repeat::Safe } else { Repeat::UnlessUnclear };
        let write = ScopeWrite { scope, edit, if_match, request, shows, limits: self.limits, now: self.clock.now() };
        let write = |_| self.store.write_scope(&write, deadline);
        let Tried { value: (made, view), unclear } = self.transact(repeat, deadline, write).await?;
        // Made by an earlier try of this request, whose answer was lost: for the client, it is new.
        let replayed = made == Made::Before && !unclear;
        Ok(Changed { replayed, cost: if made == Made::New { cost } else { 0 }, after: view })
    }
}
