//! The rows that both databases return, and how they are decoded.

use std::sync::Arc;

use sqlx::FromRow;

use super::filter::plain_text;
use crate::domain::access::{ApiKey, Grant, Names, Role};
use crate::domain::erasure::{Erasure, Removed, Subject};
use crate::domain::event::StoredEvent;
use crate::domain::ids::{AppName, EventId, SessionId, SessionKey, UserId, UserKey};
use crate::domain::json::{Json, RawJson};
use crate::domain::lease::{Exclusion, Exclusive, Holding, Lease, LeaseHead, LeaseView};
use crate::domain::loaded::{LockedSession, SessionHead, UNREAD};
use crate::domain::policy::Kept;
use crate::domain::query::{EventPage, EventQuery, SessionQuery, SessionView};
use crate::domain::rewind::Difference;
use crate::domain::scope;
use crate::domain::session::SessionInfo;
use crate::domain::tag::Timeline;
use crate::domain::time::{Micros, Timestamp};
use crate::domain::transfer::{LogRow, Lost};
use crate::store::error::{Cause, StoreError, corrupt};

#[derive(FromRow)]
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

/// A session of the app of a list, from [`listed_column`](super::columns::listed_column). Its revisions of shared scopes are
/// [`UNREAD`].
///
/// # Errors
/// Another form, or stored ids that break the rules.
pub fn listed(app: &AppName, text: &str) -> Result<SessionInfo, StoreError> {
    fn optional(text: &str) -> Option<&str> {
        (!text.is_empty()).then_some(text)
    }
    fn odd() -> StoreError {
        StoreError::new(Cause::Internal, "a listed session is not what its statement composes")
    }
    fn number(text: &str) -> Result<i64, StoreError> {
        text.parse().map_err(|_| odd())
    }
    let (mut parts, mut count) = ([""; 14], 0);
    for part in text.split('\u{1f}') {
        *parts.get_mut(count).ok_or_else(odd)? = part;
        count += 1;
    }
    let [user, id, incarnation, revision, metadata_revision, base, create_time, update_time, update_number, rest @ ..] =
        parts;
    let [name, labels, expire_time, forked_from, forked_revision] = rest;
    if count < parts.len() {
        return Err(odd());
    }
    let user = UserKey { app: app.clone(), user: UserId::parse(user).map_err(corrupt)? };
    let json = |text: &str| RawJson::trusted(text.to_owned());
    Ok(SessionInfo {
        key: SessionKey { user, session: SessionId::parse(id).map_err(corrupt)? },
        incarnation: number(incarnation)?,
        timeline: Timeline::default(),
        revision: number(revision)?,
        metadata_revision: number(metadata_revision)?,
        base_revision: number(base)?,
        user_revision: UNREAD,
        app_revision: UNREAD,
        create_time: Micros(number(create_time)?),
        update_time: Timestamp { micros: Micros(number(update_time)?), number: json(update_number) },
        display_name: optional(name).map(json),
        labels: optional(labels).map(json),
        expire_time: optional(expire_time).map(number).transpose()?.map(Micros),
        forked_from: optional(forked_from)
            .map(|id| Ok::<_, StoreError>((SessionId::parse(id).map_err(corrupt)?, number(forked_revision)?)))
            .transpose()?,
    })
}

/// A session of a list with its state.
#[derive(FromRow)]
pub struct ListedRow {
    pub listed: String,
    #[sqlx(flatten)]
    pub state: StateRow,
}

#[derive(FromRow)]
pub struct ViewRow {
    #[sqlx(flatten)]
    pub head: HeadRow,
    #[sqlx(flatten)]
    pub state: StateRow,
}

impl ViewRow {
    /// The first sequence that a range can have: sequences are dense.
    pub fn first_event(&self, events: &EventQuery) -> i64 {
        let before_last = events.last.map_or(0, |last| self.head.revision.saturating_sub(last));
        events.after.max(self.head.base_revision).max(before_last) + 1
    }

    /// The answer to a [plain](SessionQuery::is_plain) query, given its events; `None` if it asks for another incarnation.
    ///
    /// # Errors
    /// Stored ids that break the rules: something else wrote them.
    pub fn with_events(
        self,
        query: &SessionQuery,
        events: Vec<StoredEvent>,
    ) -> Result<Option<SessionView>, StoreError> {
        let head = SessionInfo::try_from(self.head)?;
        if query.incarnation.is_some_and(|wanted| wanted != head.incarnation) {
            return Ok(None);
        }
        // Sequences are dense, so nothing has to be counted.
        let end = query.events.as_ref().map_or(0, |events| events.before);
        let more = events.last().is_some_and(|event| event.sequence < head.revision.min(end - 1));
        Ok(Some(SessionView { head, state: Some(self.state.merged()), events: EventPage { events, more } }))
    }
}

#[derive(FromRow)]
pub struct StateRow {
    app_state: Option<String>,
    user_state: Option<String>,
    session_state: Option<String>,
}

impl StateRow {
    pub fn merged(&self) -> String {
        scope::join([self.app_state.as_deref(), self.user_state.as_deref(), self.session_state.as_deref()])
    }
}

#[derive(FromRow)]
pub struct ScopeRow {
    pub revision: i64,
    pub state: Option<String>,
}

#[derive(FromRow)]
pub struct DifferenceRow {
    key: String,
    was: Option<String>,
    now: Option<String>,
}

impl From<DifferenceRow> for Difference {
    fn from(row: DifferenceRow) -> Self {
        Self { key: row.key, was: row.was.map(RawJson::trusted), now: row.now.map(RawJson::trusted) }
    }
}

#[derive(FromRow)]
pub struct EventRow {
    sequence: i64,
    commit_time: i64,
    body: String,
}

impl From<EventRow> for StoredEvent {
    fn from(row: EventRow) -> Self {
        Self::new(row.sequence, Micros(row.commit_time), row.body)
    }
}

#[derive(FromRow)]
pub struct PagedEventRow {
    #[sqlx(flatten)]
    event: EventRow,
    /// Rows that the filters found, up to one more than the page holds.
    total: i64,
}

/// A page from its rows.
pub fn event_page(rows: Vec<PagedEventRow>, max_rows: usize) -> EventPage {
    let total = rows.first().map_or(0, |row| row.total as usize);
    let events: Vec<StoredEvent> = rows.into_iter().take(max_rows).map(|row| row.event.into()).collect();
    EventPage { more: events.len() < total, events }
}

/// A session with the head that an append locks.
#[derive(FromRow)]
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

/// A session with its lease, and the time now.
#[derive(FromRow)]
pub struct LeaseRow {
    #[sqlx(flatten)]
    head: HeadRow,
    lease_epoch: i64,
    lease_owner: Option<String>,
    lease_invocation: Option<String>,
    lease_expire: Option<i64>,
    lease_ttl: Option<i64>,
    lease_all: bool,
    now: i64,
}

impl TryFrom<LeaseRow> for LeaseView {
    type Error = StoreError;

    fn try_from(row: LeaseRow) -> Result<Self, StoreError> {
        let (owner, times) = (row.lease_owner, row.lease_expire.zip(row.lease_ttl));
        let holding = owner.zip(times).map(|(owner, (expire, ttl))| Holding {
            owner: plain_text(&owner),
            invocation_id: row.lease_invocation.as_deref().map(plain_text),
            expire_time: Micros(expire),
            ttl,
            exclusive: if row.lease_all { Exclusive::All } else { Exclusive::Turn },
        });
        let lease = Lease { epoch: row.lease_epoch, holding };
        Ok(Self { head: row.head.try_into()?, lease, now: Micros(row.now) })
    }
}

/// A session's key and incarnation.
#[derive(FromRow)]
pub struct IncarnationRow {
    app_name: String,
    user_id: String,
    session_id: String,
    incarnation: i64,
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

#[derive(FromRow)]
pub struct BuriedRow {
    #[sqlx(flatten)]
    session: IncarnationRow,
    erasure: Option<String>,
}

impl BuriedRow {
    pub fn decode(self) -> Result<Buried, StoreError> {
        let (key, incarnation) = self.session.decode()?;
        Ok(Buried { key, incarnation, erasure: self.erasure })
    }
}

#[derive(FromRow)]
pub struct ErasureRow {
    id: String,
    app_name: String,
    subject: Vec<u8>,
    request: Option<Vec<u8>>,
    reference: Option<String>,
    block: Option<bool>,
    blocked: bool,
    request_time: i64,
    done_time: Option<i64>,
    sessions: i64,
    events: i64,
    state_keys: i64,
    changes: i64,
    receipt: Option<String>,
}

impl TryFrom<ErasureRow> for Erasure {
    type Error = StoreError;

    fn try_from(row: ErasureRow) -> Result<Self, StoreError> {
        let digest = |bytes: Vec<u8>| {
            let odd = |_| StoreError::new(Cause::Internal, "a digest of an erasure does not have 32 bytes");
            <[u8; 32]>::try_from(bytes).map_err(odd)
        };
        Ok(Self {
            id: row.id,
            app: AppName::parse(&row.app_name).map_err(corrupt)?,
            subject: Subject::trusted(digest(row.subject)?),
            request: row.request.map(digest).transpose()?,
            reference: row.reference,
            block: row.block,
            blocked: row.blocked,
            request_time: Micros(row.request_time),
            done_time: row.done_time.map(Micros),
            removed: Removed {
                sessions: row.sessions,
                events: row.events,
                state_keys: row.state_keys,
                changes: row.changes,
            },
            receipt: row.receipt,
        })
    }
}

/// A session whose trimmed events are to be emptied.
#[derive(FromRow)]
pub struct TrimRow {
    #[sqlx(flatten)]
    pub session: IncarnationRow,
    pub emptied: i64,
}

/// What of a session only exports show.
#[derive(FromRow)]
pub struct ExportedRow {
    pub initial_state: String,
    pub created_user_revision: i64,
    pub created_app_revision: i64,
    pub imported_mark: Option<String>,
    pub imported_digest: Option<Vec<u8>>,
    #[sqlx(flatten)]
    pub lost: LostRow,
}

/// Where an imported session lost what shared scopes were.
#[derive(FromRow)]
pub struct LostRow {
    lost_user_from: Option<i64>,
    lost_user_through: Option<i64>,
    lost_app_from: Option<i64>,
    lost_app_through: Option<i64>,
}

impl From<LostRow> for Lost {
    fn from(row: LostRow) -> Self {
        Self { user: row.lost_user_from.zip(row.lost_user_through), app: row.lost_app_from.zip(row.lost_app_through) }
    }
}

/// The revisions of shared scopes that an event saw, and from when on these are known.
#[derive(FromRow)]
pub struct SeenRow {
    pub user_revision: i64,
    pub app_revision: i64,
    pub user_floor: i64,
    pub app_floor: i64,
    #[sqlx(flatten)]
    pub lost: LostRow,
}

/// A row of the log of a shared scope, and how many there are in a page.
#[derive(FromRow)]
pub struct PastRow {
    pub revision: i64,
    pub key: String,
    pub value: Option<String>,
    pub time: i64,
    pub total: i64,
}

#[derive(FromRow)]
pub struct ExportedEventRow {
    sequence: i64,
    id: String,
    invocation_id: String,
    event_time: i64,
    commit_time: i64,
    user_revision: i64,
    app_revision: i64,
    digest: Vec<u8>,
    body: Option<String>,
}

impl TryFrom<ExportedEventRow> for LogRow {
    type Error = StoreError;

    fn try_from(row: ExportedEventRow) -> Result<Self, StoreError> {
        Ok(Self {
            sequence: row.sequence,
            id: EventId::parse(&row.id).map_err(corrupt)?,
            invocation_id: plain_text(&row.invocation_id),
            event_time: Micros(row.event_time),
            commit_time: Micros(row.commit_time),
            saw: (row.user_revision, row.app_revision),
            digest: row.digest.try_into().map_err(|_| corrupt("has no digest of 32 bytes"))?,
            body: row.body,
        })
    }
}

/// What a policy judges a session by, and its names within its app.
#[derive(FromRow)]
pub struct KeptRow {
    user_id: String,
    id: String,
    create_time: i64,
    active_day: i64,
    expire_time: Option<i64>,
    revision: i64,
    base_revision: i64,
    first_commit: Option<i64>,
    first_stub: Option<i64>,
    now: i64,
}

impl KeptRow {
    pub fn key(&self, app: &AppName) -> Result<SessionKey, StoreError> {
        session_key(app.as_str(), &self.user_id, &self.id)
    }

    pub fn create_time(&self) -> Micros {
        Micros(self.create_time)
    }
}

impl From<&KeptRow> for Kept {
    fn from(row: &KeptRow) -> Self {
        Self {
            now: Micros(row.now),
            create_time: row.create_time(),
            active_day: row.active_day,
            has_expiry: row.expire_time.is_some(),
            revision: row.revision,
            base: row.base_revision,
            first_commit: row.first_commit.map(Micros),
            first_stub: row.first_stub.map(Micros),
        }
    }
}

/// What is to be known of a shared scope to raise its floor.
#[derive(FromRow)]
pub struct HistoryRow {
    /// Of a user.
    pub user_id: String,
    floor: i64,
    pub emptied: i64,
    /// Of the first changes after the floor: the first one that is to stay, and the last.
    young: Option<i64>,
    last: Option<i64>,
}

impl HistoryRow {
    /// Up to where all changes that were looked at are to be forgotten.
    pub fn new_floor(&self) -> i64 {
        self.young.map(|young| young - 1).or(self.last).unwrap_or(self.floor)
    }

    pub fn is_due(&self) -> bool {
        self.new_floor() > self.emptied
    }

    /// Whether no change after those that were looked at can be one to be forgotten.
    pub fn is_whole(&self) -> bool {
        self.young.is_some() || self.last.is_none()
    }
}

#[derive(FromRow)]
pub struct ApiKeyRow {
    id: String,
    name: String,
    digest: Option<Vec<u8>>,
    role: String,
    apps: String,
    users: String,
    create_time: i64,
    expire_time: Option<i64>,
    last_used_time: Option<i64>,
}

impl TryFrom<ApiKeyRow> for ApiKey {
    type Error = StoreError;

    fn try_from(row: ApiKeyRow) -> Result<Self, StoreError> {
        let odd = || StoreError::new(Cause::Internal, "a stored API key is not what its statement writes");
        let names = |text| {
            let patterns: Option<Vec<_>> = Json::trusted(text).as_array()?.map(Json::as_str).collect();
            Some(Names::patterns(patterns?.iter().map(|pattern| &**pattern)))
        };
        Ok(Self {
            digest: row.digest.and_then(|digest| digest.try_into().ok()).ok_or_else(odd)?,
            grant: Grant {
                role: Role::parse(&row.role).ok_or_else(odd)?,
                apps: names(&row.apps).ok_or_else(odd)?,
                users: names(&row.users).ok_or_else(odd)?,
            },
            id: row.id,
            name: plain_text(&row.name),
            create_time: Micros(row.create_time),
            expire_time: row.expire_time.map(Micros),
            last_used_time: row.last_used_time.map(Micros),
        })
    }
}

fn session_key(app: &str, user: &str, session: &str) -> Result<SessionKey, StoreError> {
    Ok(SessionKey {
        user: UserKey { app: AppName::parse(app).map_err(corrupt)?, user: UserId::parse(user).map_err(corrupt)? },
        session: SessionId::parse(session).map_err(corrupt)?,
    })
}
