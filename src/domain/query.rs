//! The queries of readers and their results.

use std::sync::Arc;

use super::access::{NameRange, Names};
use super::event::StoredEvent;
use super::ids::{AppName, SessionId, SessionKey, UserId, UserKey};
use super::json::RawJson;
use super::scope::{Scope, split};
use super::session::SessionInfo;
use super::state_range::{StatePage, StateRange};
use super::tag::{Tag, Timeline};
use super::time::Micros;

/// A session with the parts that a query asked for, all at one moment.
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
    /// More events match the query, after the last one here.
    pub more: bool,
    /// The view of the effective history that is kept is far behind the log.
    pub is_behind: bool,
    /// For the next page; `None` of a range.
    pub selected: Option<Arc<Selected>>,
}

/// The events of a log of which a query has pages, as of the first one.
#[derive(Debug)]
pub struct Selected {
    /// The sequence of the last one.
    pub end: i64,
    /// What readers skip, as [`hidden`](super::effective::hidden) has it.
    pub hidden: Vec<(i64, i64)>,
    /// Their sequences: ascending ranges.
    pub left: Vec<(i64, i64)>,
    /// Compactions cover some.
    pub is_view: bool,
}

impl SessionView {
    /// An estimate of its size in a list, in bytes.
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
    /// The page ended because of its size, before the last row of the statement.
    pub cut: bool,
}

/// A time before any expiry: finds expired sessions, too.
pub const ANY_TIME: Micros = Micros(i64::MIN);

/// The query for a session.
#[derive(Debug, Clone)]
pub struct SessionQuery {
    pub key: SessionKey,
    /// Decides about expiry where the database has no clock; expired sessions are not found. [`ANY_TIME`] finds them, with either
    /// clock.
    pub now: Micros,
    /// Only this incarnation on this timeline matches: a stream or a page token continues the same session.
    pub incarnation: Option<i64>,
    pub timeline: Option<Timeline>,
    pub state: Option<StateFilter>,
    pub events: Option<EventQuery>,
}

impl SessionQuery {
    /// Whether it asks at most for a range of events, as most readers do.
    pub fn is_plain(&self) -> bool {
        self.events.as_ref().is_none_or(EventQuery::is_range)
    }
}

/// A part of the merged state: for each scope the keys, or `None` for all.
#[derive(Debug, Clone, Default)]
pub struct StateFilter {
    pub app: Option<Vec<String>>,
    pub user: Option<Vec<String>>,
    pub session: Option<Vec<String>>,
}

impl StateFilter {
    /// The keys of one scope.
    pub fn of(&self, scope: Scope) -> &Option<Vec<String>> {
        match scope {
            Scope::App => &self.app,
            Scope::User => &self.user,
            Scope::Session => &self.session,
        }
    }

    pub fn is_whole(&self) -> bool {
        self.app.is_none() && self.user.is_none() && self.session.is_none()
    }

    /// These keys, given with their prefixes; `temp:` keys are dropped.
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

/// Which events of the log count.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum History {
    Whole,
    /// Without events that a rewind took back, and without rewinds.
    NotRewound,
    /// Those of which ADK makes a prompt ([`effective`](super::effective)), as of a revision, or of the last one.
    Effective(Option<i64>),
}

impl History {
    /// The same, as it was at a revision.
    pub fn as_of(self, revision: i64) -> Self {
        match self {
            Self::Effective(_) => Self::Effective(Some(revision)),
            other => other,
        }
    }
}

/// How many events, or sessions, one request looks through for words.
const LOOKED_AT: usize = 10_000;

/// How many of them one page has, and how many bytes of them.
const LOOKED_AT_ONCE: (usize, usize) = (1000, 1 << 20);

/// A look through rows, page by page, for up to so many: through up to [`LOOKED_AT`], and up to so many bytes.
#[derive(Debug)]
pub struct Look<T, P> {
    pub found: Vec<T>,
    /// The last row that was looked at.
    pub at: Option<P>,
    /// Rows are left behind it.
    pub more: bool,
    most: usize,
    rows: usize,
    bytes: usize,
}

impl<T, P> Look<T, P> {
    pub fn new(most: usize, bytes: usize) -> Self {
        Self { found: Vec::new(), at: None, more: true, most, rows: LOOKED_AT, bytes }
    }

    /// The rows and bytes of the next page, which has at most these.
    pub fn next(&self) -> (usize, usize) {
        (self.rows.min(LOOKED_AT_ONCE.0), self.bytes.min(LOOKED_AT_ONCE.1))
    }

    /// How many rows were looked at.
    pub fn looked(&self) -> usize {
        LOOKED_AT - self.rows
    }

    /// Looks through a page, of each row of which `look` says the position, the bytes and whether it is wanted. `more`: rows come after it.
    #[must_use]
    pub fn through(mut self, page: Vec<T>, more: bool, look: impl Fn(&T) -> (P, usize, bool)) -> Self {
        let mut rows = page.into_iter();
        self.more = more;
        while !self.is_over()
            && let Some(row) = rows.next()
        {
            let (at, bytes, is_wanted) = look(&row);
            (self.rows, self.bytes, self.at) = (self.rows - 1, self.bytes.saturating_sub(bytes), Some(at));
            if is_wanted {
                self.found.push(row);
            }
        }
        self.more |= rows.len() > 0;
        self
    }

    /// Whether it is done, or to go on with another request.
    pub fn is_over(&self) -> bool {
        self.found.len() >= self.most || self.rows == 0 || self.bytes == 0
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
    pub history: History,
    /// Of the page before this one.
    pub selected: Option<Arc<Selected>>,
    /// Only among the last so many: of the log, or of an effective history.
    pub last: Option<i64>,
    pub descending: bool,
    pub max_rows: usize,
    pub max_bytes: usize,
}

impl EventQuery {
    /// Whether it selects by sequence alone, in ascending order.
    pub fn is_range(&self) -> bool {
        let Self { since, author, invocation_id, branch, history, descending, .. } = self;
        since.is_none()
            && (author, invocation_id, branch) == (&None, &None, &None)
            && *history == History::Whole
            && !descending
    }

    /// Whether one statement can select its events where nothing is rewound or compacted.
    pub fn is_simple(&self) -> bool {
        let counts_back = self.last.is_some() && matches!(self.history, History::Effective(Some(_)));
        self.selected.is_none() && !counts_back
    }

    /// The first sequence behind what it may select.
    pub fn before(&self) -> i64 {
        match self.history {
            History::Effective(Some(at)) => self.before.min(at.saturating_add(1)),
            _ => self.before,
        }
    }

    /// All events in sequence order, in pages that are small enough for streaming.
    pub fn all() -> Self {
        Self {
            after: 0,
            before: i64::MAX,
            since: None,
            author: None,
            invocation_id: None,
            branch: None,
            history: History::Whole,
            selected: None,
            last: None,
            descending: false,
            max_rows: 256,
            max_bytes: 1 << 20,
        }
    }
}

/// The query for redacted events of a session: of the redactions after one metadata revision up to another, those of events up to
/// a sequence, in the order of the redactions.
#[derive(Debug, Clone)]
pub struct RedactedQuery {
    pub key: SessionKey,
    pub incarnation: i64,
    pub after: i64,
    pub through: i64,
    pub last_sequence: i64,
    pub max_rows: usize,
}

/// The query for a past state of a session.
#[derive(Debug)]
pub struct MomentQuery {
    pub key: SessionKey,
    pub revision: i64,
    pub part: StatePart,
    pub now: Micros,
}

/// What is asked of a merged state.
#[derive(Debug)]
pub enum StatePart {
    Keys(StateFilter),
    Range(StateRange),
}

impl StatePart {
    /// Whether it may show a key of the scope.
    pub fn asks_for(&self, scope: Scope) -> bool {
        match self {
            Self::Keys(filter) => filter.of(scope).as_ref().is_none_or(|keys| !keys.is_empty()),
            Self::Range(range) => range.of_scope(scope).is_some(),
        }
    }
}

#[derive(Debug)]
pub enum Moment {
    /// The merged state and the tag of that moment.
    Then {
        tag: Tag,
        state: StatePage,
    },
    SessionNotFound,
    /// The session has not reached that revision; this is its current one.
    Beyond(i64),
    /// The session begins here, after that revision.
    Trimmed(i64),
    /// The history of user or app state does not go back so far. The session begins here.
    Forgotten(i64),
}

/// What is asked of app or user state on its own.
#[derive(Debug, Clone)]
pub enum ScopePart {
    Whole,
    /// Those of these keys that are there, in byte order.
    Keys(Vec<String>),
    Range(StateRange),
}

#[derive(Debug)]
pub struct ScopeView {
    pub revision: i64,
    /// A JSON object, keys without prefix.
    pub state: String,
    /// Its last key, if it is a page and there are more.
    pub next: Option<String>,
}

impl ScopeView {
    pub fn of_page(revision: i64, StatePage { state, next }: StatePage) -> Self {
        Self { revision, state, next }
    }
}

/// A page of an app's sessions, or of one user's: of those, the sessions of `users`.
#[derive(Debug, Clone)]
pub struct ListQuery {
    pub app: AppName,
    pub user: Option<UserId>,
    pub users: Names,
    pub order_by: OrderBy,
    pub descending: bool,
    /// Pairs that a session's labels must have.
    pub labels: Vec<(String, String)>,
    /// The ranges of a session's user and id.
    pub user_range: Option<NameRange>,
    pub id_range: Option<NameRange>,
    /// Only forks of this session. Of one user.
    pub forked_from: Option<SessionId>,
    pub after: Option<ListPosition>,
    pub with_state: bool,
    pub max_rows: usize,
    pub max_bytes: usize,
}

impl ListQuery {
    /// All sessions of a user, on pages of so many rows and bytes.
    pub fn of_user(UserKey { app, user }: UserKey, order_by: OrderBy, (max_rows, max_bytes): (usize, usize)) -> Self {
        Self {
            app,
            user: Some(user),
            users: Names::all(),
            order_by,
            descending: false,
            labels: Vec::new(),
            user_range: None,
            id_range: None,
            forked_from: None,
            after: None,
            with_state: false,
            max_rows,
            max_bytes,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OrderBy {
    LastUpdateTime,
    CreateTime,
}

impl OrderBy {
    /// The sort key of a session.
    pub fn position(self, head: &SessionInfo) -> ListPosition {
        let time = match self {
            Self::LastUpdateTime => head.update_time.micros,
            Self::CreateTime => head.create_time,
        };
        ListPosition { time, user: head.key.user.user.clone(), session: head.key.session.clone() }
    }
}

/// The sort key of the last row of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListPosition {
    pub time: Micros,
    pub user: UserId,
    pub session: SessionId,
}
