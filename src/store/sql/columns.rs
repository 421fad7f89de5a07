//! The columns of the tables, and the conditions that find rows by their keys, each written once.

use std::borrow::Cow;
use std::sync::{Arc, LazyLock};

use super::filter::filter_text;
use super::scope::{SHOWN_STATES, ShownState};
use super::words::Words;
use crate::domain::loaded::UNREAD;
use crate::domain::scope::Scope;
use crate::domain::writes::EventWrite;

/// The value of a column of an event.
pub enum EventValue {
    Number(fn(&EventWrite<'_>) -> Option<i64>),
    Text(for<'e> fn(&'e EventWrite<'_>) -> Option<Cow<'e, str>>),
    /// A text that may be large: it is not copied.
    Shared(for<'e> fn(&'e EventWrite<'_>) -> &'e Arc<str>),
    Bytes(for<'e> fn(&'e EventWrite<'_>) -> &'e [u8]),
}

/// The columns of an event beside the key of its session, in the order in which both databases bind them.
pub const EVENT: [(&str, EventValue); 12] = [
    ("sequence", EventValue::Number(|row| Some(row.sequence))),
    ("id", EventValue::Text(|row| Some(row.event.id.as_str().into()))),
    ("event_time", EventValue::Number(|row| Some(row.event.timestamp.micros.0))),
    ("commit_time", EventValue::Number(|row| Some(row.commit_time.0))),
    ("author", EventValue::Text(|row| Some(filter_text(&row.event.author)))),
    ("invocation_id", EventValue::Text(|row| Some(filter_text(&row.event.invocation_id)))),
    ("branch", EventValue::Text(|row| row.event.branch.as_deref().map(filter_text))),
    ("user_revision", EventValue::Number(|row| read(row.user_revision))),
    ("app_revision", EventValue::Number(|row| read(row.app_revision))),
    ("effect", EventValue::Number(|row| row.effect)),
    ("digest", EventValue::Bytes(|row| &row.event.digest)),
    ("body", EventValue::Shared(|row| &row.body)),
];

fn read(revision: i64) -> Option<i64> {
    (revision != UNREAD).then_some(revision)
}

/// The names of [`EVENT`].
pub static EVENT_NAMES: LazyLock<String> = LazyLock::new(|| EVENT.map(|(name, _)| name).join(", "));

/// The place in the list by last update that the session `s` has: if it is rough, that of
/// [`update_bucket`](crate::domain::session::update_bucket).
pub const LISTED_PLACE: &str = "case when s.rough then s.update_time / 10000000 else s.update_time end";

/// The metadata that a client gives a session, and may change.
pub const SESSION_METADATA: &str = "display_name, labels, expire_time";

/// Where an imported session lost what shared scopes, and the files of its user, were.
pub const LOST: &str =
    "lost_user_from, lost_user_through, lost_app_from, lost_app_through, lost_files_from, lost_files_through";

/// The key of a session's rows in other tables.
pub const OWNER: &str = "app_name, user_id, session_id, incarnation";

/// The rows of a session that its incarnation keys.
pub const OF_INCARNATION: &str = "app_name = $1 and user_id = $2 and session_id = $3 and incarnation = $4";

/// The same of the rows `l` of a look-up.
pub const OF_L: &str = "l.app_name = $1 and l.user_id = $2 and l.session_id = $3 and l.incarnation = $4";

/// The session `s` of that incarnation.
pub const OF_SESSION: &str = "s.app_name = $1 and s.user_id = $2 and s.id = $3 and s.incarnation = $4";

/// The events `e` of that incarnation.
pub const OF_EVENT: &str = "e.app_name = $1 and e.user_id = $2 and e.session_id = $3 and e.incarnation = $4";

/// The columns of a new session that its insertion binds on both databases.
pub static SESSION_COLUMNS: LazyLock<String> = LazyLock::new(|| {
    format!(
        "app_name, user_id, id, incarnation, revision, update_time, update_time_number, {SESSION_METADATA}, \
         initial_state, creation_key, creation_digest"
    )
});

/// The columns of a new event.
pub static EVENT_COLUMNS: LazyLock<String> = LazyLock::new(|| format!("{OWNER}, {}", *EVENT_NAMES));

/// The columns of a [`SessionInfo`](crate::domain::session::SessionInfo), from `sessions s` of the app `$1`.
pub const HEAD_COLUMNS: &str = "s.app_name, s.user_id, s.id, s.incarnation, s.revision, s.metadata_revision, s.base_revision, \
     s.create_time, s.update_time, s.update_time_number, s.display_name, s.labels, s.expire_time, s.forked_from, s.forked_revision, \
     coalesce((select u.revision from user_scopes u \
               where u.app_name = $1 and u.user_id = s.user_id), 0) as user_revision, \
     coalesce((select a.revision from app_scopes a where a.app_name = $1), 0) as app_revision";

/// The condition that finds the session of a query: its key, and that it has not expired.
pub fn of_session(now: &str) -> String {
    format!(
        " from sessions s where s.app_name = $1 and s.user_id = $2 and s.id = $3 \
          and (s.expire_time is null or s.expire_time > {now})"
    )
}

/// The parts of the merged state, from `sessions s` of the app `$1`, each as the members of an object, without braces; narrowed
/// to some keys of app, user and session.
pub fn state_columns(words: &Words, app: &str, user: &str, session: &str) -> String {
    let column = |(state, wanted): (&ShownState, &str)| {
        let ShownState { table, of_session, .. } = state;
        format!("(select {} from {table} t where {of_session}{wanted}) as {table}", (words.member)(&state.key()))
    };
    SHOWN_STATES.iter().zip([app, user, session]).map(column).collect::<Vec<_>>().join(", ")
}

/// The tables of one scope's state.
pub struct StateTables {
    /// The columns that name whose state it is.
    pub owner: &'static str,
    /// The owners, with their revisions.
    pub heads: &'static str,
    pub state: &'static str,
    pub spans: &'static str,
    /// The log of a session is its events; their bodies hold many keys, so its spans have the values.
    pub log: Option<&'static str>,
}

impl StateTables {
    pub fn of(scope: Scope) -> &'static Self {
        match scope {
            Scope::Session => &SESSION_STATE,
            Scope::User => &USER_STATE,
            Scope::App => &APP_STATE,
        }
    }
}

const SESSION_STATE: StateTables =
    StateTables { owner: OWNER, heads: "sessions", state: "session_state", spans: "session_spans", log: None };
const USER_STATE: StateTables = StateTables {
    owner: "app_name, user_id",
    heads: "user_scopes",
    state: "user_state",
    spans: "user_spans",
    log: Some("user_log"),
};
const APP_STATE: StateTables = StateTables {
    owner: "app_name",
    heads: "app_scopes",
    state: "app_state",
    spans: "app_spans",
    log: Some("app_log"),
};
