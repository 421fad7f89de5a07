//! The queries of readers and their results.

use super::access::{NameRange, Names};
use super::event::StoredEvent;
use super::ids::{AppName, SessionId, SessionKey, UserId};
use super::json::RawJson;
use super::scope::{Scope, split};
use super::session::SessionInfo;
use super::tag::{Tag, Timeline};
use super::time::Micros;

/// A session with the parts that a query asked for, all of one moment.
#[derive(Debug, Clone)]
pub struct SessionView {
    pub head: SessionInfo,
    /// The merged state (or the part that was asked for) as one JSON object.
    pub state: Option<String>,
    /// The first page of the events that were asked for.
    pub events: EventPage,
}

#[derive(Debug, Clone, Default)]
pub struct EventPage {
    pub events: Vec<StoredEvent>,
    /// More events answer the same query, after the last one here.
    pub more: bool,
}

impl SessionView {
    /// An estimate of its bytes in a list.
    pub fn weight(&self) -> usize {
        let optional = |json: &Option<RawJson>| json.as_ref().map_or(0, |json| json.text().len());
        let names = self.head.key.app().as_str().len()
            + self.head.key.user.user.as_str().len()
            + self.head.key.session.as_str().len();
        300 + names
            + optional(&self.head.display_name)
            + optional(&self.head.labels)
            + self.state.as_ref().map_or(0, String::len)
    }
}

#[derive(Debug, Clone)]
pub struct Page<T> {
    pub items: Vec<T>,
    pub more: bool,
    /// It ended because of its size, with rows of the statement unread.
    pub cut: bool,
}

/// A time before any expiry: shows expired sessions, too.
pub const ANY_TIME: Micros = Micros(i64::MIN);

/// What to read of a session.
#[derive(Debug, Clone)]
pub struct SessionQuery {
    pub key: SessionKey,
    /// An expired session is not found: by the database's clock, or by this time where the database has none. [`ANY_TIME`]
    /// finds it all the same.
    pub now: Micros,
    /// Only this incarnation, on this timeline, matches: a stream or a page token continues what it began.
    pub incarnation: Option<i64>,
    pub timeline: Option<Timeline>,
    pub state: Option<StateFilter>,
    pub events: Option<EventQuery>,
}

impl SessionQuery {
    /// Whether it asks for the state, and at most for a range of events: what most readers ask for.
    pub fn is_plain(&self) -> bool {
        self.state.is_some() && self.events.as_ref().is_none_or(EventQuery::is_range)
    }
}

/// Which part of the merged state: per scope `None` for all keys, or the keys.
#[derive(Debug, Clone, Default)]
pub struct StateFilter {
    pub app: Option<Vec<String>>,
    pub user: Option<Vec<String>>,
    pub session: Option<Vec<String>>,
}

impl StateFilter {
    pub fn is_whole(&self) -> bool {
        self.app.is_none() && self.user.is_none() && self.session.is_none()
    }

    /// These keys, given with their prefixes; of `temp:` keys there are none.
    pub fn keys<'a>(keys: impl Iterator<Item = &'a str>) -> Self {
        let (mut app, mut user, mut session) = (Vec::new(), Vec::new(), Vec::new());
        for (scope, key) in keys.filter_map(split) {
            match scope {
                Scope::App => &mut app,
                Scope::User => &mut user,
                Scope::Session => &mut session,
            }
            .push(key.to_owned());
        }
        Self { app: Some(app), user: Some(user), session: Some(session) }
    }
}

#[derive(Debug, Clone)]
pub struct EventQuery {
    /// Exclusive bounds on the sequence.
    pub after: i64,
    pub before: i64,
    /// Inclusive.
    pub since: Option<Micros>,
    pub author: Option<String>,
    pub invocation_id: Option<String>,
    pub branch: Option<String>,
    /// Without those that a rewind took back, and without rewinds.
    pub exclude_rewound: bool,
    /// Only the last so many of the whole log.
    pub last: Option<i64>,
    pub descending: bool,
    pub max_rows: usize,
    pub max_bytes: usize,
}

impl EventQuery {
    /// Whether it picks by sequence alone, in ascending order.
    pub fn is_range(&self) -> bool {
        let Self { since, author, invocation_id, branch, exclude_rewound, descending, .. } = self;
        since.is_none() && (author, invocation_id, branch) == (&None, &None, &None) && !exclude_rewound && !descending
    }

    /// Every event in sequence order, in pages for streaming: how much of a history is in memory at a time.
    pub fn all() -> Self {
        Self {
            after: 0,
            before: i64::MAX,
            since: None,
            author: None,
            invocation_id: None,
            branch: None,
            exclude_rewound: false,
            last: None,
            descending: false,
            max_rows: 256,
            max_bytes: 1 << 20,
        }
    }
}

/// What to read of a session's past.
#[derive(Debug)]
pub struct MomentQuery {
    pub key: SessionKey,
    pub revision: i64,
    pub filter: StateFilter,
    pub now: Micros,
}

#[derive(Debug)]
pub enum Moment {
    /// The merged state then, and what identified that moment.
    Then {
        tag: Tag,
        state: String,
    },
    SessionNotFound,
    /// The session has not reached that revision; this is its current one.
    Beyond(i64),
    /// The session begins here, after that revision.
    Trimmed(i64),
}

#[derive(Debug)]
pub struct ScopeView {
    pub revision: i64,
    /// A JSON object, keys without prefix.
    pub state: String,
}

/// A page of an app's sessions, or of one user's: of those, the sessions of `users`.
#[derive(Debug, Clone)]
pub struct ListQuery {
    pub app: AppName,
    pub user: Option<UserId>,
    pub users: Names,
    pub order_by: OrderBy,
    pub descending: bool,
    /// Pairs that a session's labels must hold.
    pub labels: Vec<(String, String)>,
    /// Where a session's user and id must be.
    pub user_range: Option<NameRange>,
    pub id_range: Option<NameRange>,
    pub after: Option<ListPosition>,
    pub with_state: bool,
    pub max_rows: usize,
    pub max_bytes: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OrderBy {
    LastUpdateTime,
    CreateTime,
}

/// The sort key of the last row of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListPosition {
    pub time: Micros,
    pub user: UserId,
    pub session: SessionId,
}
