//! The rows that the databases themselves read, and what more than one resource reads.

use std::sync::Arc;

use super::filter::plain_text;
use super::query::row;
use crate::domain::event::StoredEvent;
use crate::domain::ids::{AppName, SessionId, SessionKey, UserId, UserKey};
use crate::domain::json::RawJson;
use crate::domain::lease::{Exclusion, LeaseHead};
use crate::domain::loaded::{LockedSession, SessionHead};
use crate::domain::query::{EventPage, EventQuery, SessionQuery, SessionView};
use crate::domain::scope;
use crate::domain::session::SessionInfo;
use crate::domain::tag::Timeline;
use crate::domain::time::{Micros, Timestamp};
use crate::domain::transfer::Lost;
use crate::store::error::{StoreError, corrupt};

row! {
    pub struct HeadRow {
        app_name: String,
        user_id: String,
        id: String,
        incarnation: i64,
        revision: i64,
        metadata_revision: i64,
        base_revision: i64,
        create_time: i64,
        update_time: i64,
        update_time_number: String,
        display_name: Option<String>,
        labels: Option<String>,
        expire_time: Option<i64>,
        forked_from: Option<String>,
        forked_revision: Option<i64>,
        user_revision: i64,
        app_revision: i64,
    }
}

impl HeadRow {
    /// The first sequence that a range can have: sequences are dense.
    pub fn first_event(&self, events: &EventQuery) -> i64 {
        let before_last = events.last.map_or(0, |last| self.revision.saturating_sub(last));
        events.after.max(self.base_revision).max(before_last) + 1
    }

    /// The answer to a [plain](SessionQuery::is_plain) query, given state and events; `None` if it asks for another incarnation.
    ///
    /// # Errors
    /// Stored ids that break the rules: something else wrote them.
    pub fn with_events(
        self,
        query: &SessionQuery,
        state: Option<String>,
        events: Vec<StoredEvent>,
    ) -> Result<Option<SessionView>, StoreError> {
        let head = SessionInfo::try_from(self)?;
        if query.incarnation.is_some_and(|wanted| wanted != head.incarnation) {
            return Ok(None);
        }
        // Sequences are dense, so nothing has to be counted.
        let end = query.events.as_ref().map_or(0, |events| events.before);
        let more = events.last().is_some_and(|event| event.sequence < head.revision.min(end - 1));
        Ok(Some(SessionView { head, state, events: EventPage { events, more, ..EventPage::default() } }))
    }
}

impl TryFrom<HeadRow> for SessionInfo {
    type Error = StoreError;

    fn try_from(row: HeadRow) -> Result<Self, StoreError> {
        Ok(Self {
            key: session_key(&row.app_name, &row.user_id, &row.id)?,
            incarnation: row.incarnation,
            // The transaction fills it in.
            timeline: Timeline::default(),
            revision: row.revision,
            metadata_revision: row.metadata_revision,
            base_revision: row.base_revision,
            user_revision: row.user_revision,
            app_revision: row.app_revision,
            create_time: Micros(row.create_time),
            update_time: Timestamp {
                micros: Micros(row.update_time),
                number: RawJson::trusted(row.update_time_number),
            },
            display_name: row.display_name.map(RawJson::trusted),
            labels: row.labels.map(RawJson::trusted),
            expire_time: row.expire_time.map(Micros),
            forked_from: row
                .forked_from
                .zip(row.forked_revision)
                .map(|(id, revision)| Ok::<_, StoreError>((SessionId::parse(&id).map_err(corrupt)?, revision)))
                .transpose()?,
        })
    }
}

row! {
    pub struct ViewRow {
        pub head: HeadRow,
        pub state: StateRow,
    }
}

row! {
    pub struct StateRow {
        app_state: Option<String>,
        user_state: Option<String>,
        session_state: Option<String>,
    }
}

impl StateRow {
    pub fn merged(&self) -> String {
        scope::join([self.app_state.as_deref(), self.user_state.as_deref(), self.session_state.as_deref()])
    }
}

row! {
    pub struct EventRow {
        sequence: i64,
        commit_time: i64,
        body: String,
    }
}

impl From<EventRow> for StoredEvent {
    fn from(row: EventRow) -> Self {
        Self::new(row.sequence, Micros(row.commit_time), row.body)
    }
}

row! {
    /// A session with the head that an append locks.
    pub struct LockedRow {
        pub app_name: String,
        pub user_id: String,
        pub id: String,
        pub incarnation: i64,
        pub revision: i64,
        pub metadata_revision: i64,
        pub update_time: i64,
        pub expire_time: Option<i64>,
        lease_epoch: i64,
        lease_owner: Option<String>,
        lease_expire: Option<i64>,
        lease_now: Option<i64>,
    }
}

impl TryFrom<LockedRow> for LockedSession {
    type Error = StoreError;

    fn try_from(row: LockedRow) -> Result<Self, StoreError> {
        Ok(Self {
            key: session_key(&row.app_name, &row.user_id, &row.id)?,
            head: SessionHead {
                incarnation: row.incarnation,
                revision: row.revision,
                metadata_revision: row.metadata_revision,
                update_time: Micros(row.update_time),
                expire_time: row.expire_time.map(Micros),
                most_revision: None,
                lease: lease_head(row.lease_epoch, row.lease_owner.as_deref(), row.lease_expire, row.lease_now),
            },
        })
    }
}

/// The lease by which writes are judged; `owner` only of one that excludes all others.
pub fn lease_head(epoch: i64, owner: Option<&str>, expire: Option<i64>, now: Option<i64>) -> LeaseHead {
    let all = owner.zip(expire).map(|(owner, expire)| {
        Arc::new(Exclusion { owner: plain_text(owner), expire_time: Micros(expire), now: now.map(Micros) })
    });
    LeaseHead { epoch, all }
}

row! {
    /// A session's key and incarnation.
    pub struct IncarnationRow {
        app_name: String,
        user_id: String,
        session_id: String,
        incarnation: i64,
    }
}

impl IncarnationRow {
    pub fn decode(self) -> Result<(SessionKey, i64), StoreError> {
        Ok((session_key(&self.app_name, &self.user_id, &self.session_id)?, self.incarnation))
    }
}

/// A session that is gone, whose rows are still to be removed.
pub struct Buried {
    pub key: SessionKey,
    pub incarnation: i64,
    /// The erasure that it is a part of.
    pub erasure: Option<String>,
}

row! {
    pub struct BuriedRow {
        session: IncarnationRow,
        erasure: Option<String>,
    }
}

impl BuriedRow {
    pub fn decode(self) -> Result<Buried, StoreError> {
        let (key, incarnation) = self.session.decode()?;
        Ok(Buried { key, incarnation, erasure: self.erasure })
    }
}

row! {
    /// Where an imported session lost what shared scopes, and the files of its user, were.
    #[derive(Clone, Copy)]
    pub struct LostRow {
        lost_user_from: Option<i64>,
        lost_user_through: Option<i64>,
        lost_app_from: Option<i64>,
        lost_app_through: Option<i64>,
        lost_files_from: Option<i64>,
        lost_files_through: Option<i64>,
    }
}

impl From<LostRow> for Lost {
    fn from(row: LostRow) -> Self {
        Self {
            user: row.lost_user_from.zip(row.lost_user_through),
            app: row.lost_app_from.zip(row.lost_app_through),
            files: row.lost_files_from.zip(row.lost_files_through),
        }
    }
}

pub fn session_key(app: &str, user: &str, session: &str) -> Result<SessionKey, StoreError> {
    Ok(SessionKey {
        user: UserKey { app: AppName::parse(app).map_err(corrupt)?, user: UserId::parse(user).map_err(corrupt)? },
        session: SessionId::parse(session).map_err(corrupt)?,
    })
}
