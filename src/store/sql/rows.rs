//! The rows that the databases themselves read, and what more than one resource reads.

use sqlx::FromRow;

use super::query::{Field, row};
use crate::domain::event::StoredEvent;
use crate::domain::ids::{SessionId, SessionKey};
use crate::domain::json::RawJson;
use crate::domain::loaded::{LockedSession, SessionHead, StateEntry};
use crate::domain::query::{EventPage, EventQuery, SessionQuery, SessionView};
use crate::domain::scope;
use crate::domain::session::SessionInfo;
use crate::domain::tag::Timeline;
use crate::domain::time::{Micros, Timestamp};

row! {
    impl SessionInfo {
        key: SessionKey = "id",
        incarnation: i64,
        timeline: Timeline,
        revision: i64,
        metadata_revision: i64,
        base_revision: i64,
        user_revision: i64,
        app_revision: i64,
        create_time: Micros,
        update_time: Timestamp,
        display_name: Option<RawJson>,
        labels: Option<RawJson>,
        expire_time: Option<Micros>,
        forked_from: Option<(SessionId, i64)>,
    }
}

/// The first sequence that a range can have: sequences are dense.
pub fn first_event(head: &SessionInfo, events: &EventQuery) -> i64 {
    let before_last = events.last.map_or(0, |last| head.revision.saturating_sub(last));
    events.after.max(head.base_revision).max(before_last) + 1
}

/// The answer to a [plain](SessionQuery::is_plain) query; `None` if it asks for another incarnation.
pub fn plain_view(
    head: SessionInfo,
    query: &SessionQuery,
    state: Option<String>,
    events: Vec<StoredEvent>,
) -> Option<SessionView> {
    if query.incarnation.is_some_and(|wanted| wanted != head.incarnation) {
        return None;
    }
    // Sequences are dense, so nothing has to be counted.
    let end = query.events.as_ref().map_or(0, |events| events.before);
    let more = events.last().is_some_and(|event| event.sequence < head.revision.min(end - 1));
    Some(SessionView { head, state, events: EventPage { events, more, ..EventPage::default() } })
}

/// A session, and what a statement reads beside it: from the column `value`, or from several.
pub struct HeadRow<T> {
    pub head: SessionInfo,
    pub value: T,
}

impl<'r, R: sqlx::Row, T: Field<'r, R>> FromRow<'r, R> for HeadRow<T>
where
    SessionInfo: Field<'r, R>,
{
    fn from_row(row: &'r R) -> sqlx::Result<Self> {
        Ok(Self { head: Field::read(row, "")?, value: Field::read(row, "value")? })
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
    /// In the order of the merged state.
    pub fn parts(&self) -> [Option<&str>; 3] {
        [self.app_state.as_deref(), self.user_state.as_deref(), self.session_state.as_deref()]
    }

    pub fn merged(&self) -> String {
        scope::join(self.parts())
    }
}

impl<'r, R: sqlx::Row> FromRow<'r, R> for StoredEvent
where
    Self: Field<'r, R>,
{
    fn from_row(row: &'r R) -> sqlx::Result<Self> {
        Field::read(row, "")
    }
}

row! { impl LockedSession { key: SessionKey = "id", head: SessionHead, } }
row! { impl StateEntry { value: Option<RawJson>, revision: i64, } }

row! {
    /// A session's key and incarnation.
    pub struct IncarnationRow {
        pub key: SessionKey = "session_id",
        pub incarnation: i64,
    }
}

row! {
    /// A session that is gone, whose rows are still to be removed.
    pub struct Buried {
        pub key: SessionKey = "session_id",
        pub incarnation: i64,
        /// The erasure that it is a part of.
        pub erasure: Option<String>,
    }
}
