//! Statements and rows that both databases share.
//!
//! SQLite reads `$1` as PostgreSQL does, so one text serves both, but for three things that a [`Dialect`] names.
//! Statements are put together from literals at compile time; only the list of sessions, whose order and filters
//! vary, is built at run time, from literals too. Values are always bound.
//!
//! A bound limit is a sum, `0 + $1`: for a mere parameter, SQLite would plan the statement anew each time that it is bound.

pub mod heads;
pub mod primitives;

use sqlx::FromRow;

use super::backend::LockedSession;
use super::error::{StoreError, corrupt};
use crate::domain::event::StoredEvent;
use crate::domain::ids::{AppName, SessionId, SessionKey, UserId, UserKey};
use crate::domain::json::RawJson;
use crate::domain::loaded::SessionHead;
use crate::domain::query::{ANY_TIME, EventPage, EventQuery, ListQuery, OrderBy, SessionQuery, SessionView};
use crate::domain::rewind::Difference;
use crate::domain::scope;
use crate::domain::session::SessionInfo;
use crate::domain::tag::Timeline;
use crate::domain::time::{Micros, Timestamp};

/// The columns of [`HeadRow`], from `sessions s`.
macro_rules! head_columns {
    () => {
        "s.app_name, s.user_id, s.id, s.incarnation, s.revision, s.metadata_revision, s.create_time, \
         s.update_time, s.update_time_number, s.display_name, s.labels, s.expire_time, s.forked_from, s.forked_revision, \
         coalesce((select u.revision from user_scopes u \
                   where u.app_name = s.app_name and u.user_id = s.user_id), 0) as user_revision, \
         coalesce((select a.revision from app_scopes a where a.app_name = s.app_name), 0) as app_revision"
    };
}

pub const HEAD_COLUMNS: &str = head_columns!();

/// The columns of a new event, in the order in which both databases bind them.
pub const EVENT_COLUMNS: &str = "app_name, user_id, session_id, incarnation, sequence, id, event_time, commit_time, \
    author, invocation_id, branch, user_revision, app_revision, rewind_to, digest, body";

/// The tables of one scope's state.
pub struct StateTables {
    /// The columns that name whose state it is.
    pub owner: &'static str,
    pub state: &'static str,
    pub spans: &'static str,
    /// The log of a session is its events; their bodies hold many keys, so its spans have the values.
    pub log: Option<&'static str>,
}

pub const SESSION: StateTables = StateTables {
    owner: "app_name, user_id, session_id, incarnation",
    state: "session_state",
    spans: "session_spans",
    log: None,
};
pub const USER: StateTables =
    StateTables { owner: "app_name, user_id", state: "user_state", spans: "user_spans", log: Some("user_log") };
pub const APP: StateTables =
    StateTables { owner: "app_name", state: "app_state", spans: "app_spans", log: Some("app_log") };

/// The parts of the merged state, from `sessions s`, each as the members of an object, without braces. `$member`
/// makes them of the rows of `t`; the other three narrow the keys of app, user and session.
macro_rules! state_columns {
    ($member:ident, $app:expr, $user:expr, $session:expr) => {
        concat!(
            "(select ",
            $member!("'app:' || t.key"),
            " from app_state t where t.app_name = s.app_name",
            $app,
            ") as app_state, (select ",
            $member!("'user:' || t.key"),
            " from user_state t where t.app_name = s.app_name and t.user_id = s.user_id",
            $user,
            ") as user_state, (select ",
            $member!("t.key"),
            " from session_state t where t.app_name = s.app_name and t.user_id = s.user_id and t.session_id = s.id \
               and t.incarnation = s.incarnation",
            $session,
            ") as session_state"
        )
    };
}

/// The database's clock, in whole microseconds. The time at which the statement that a client sent began: one moment for
/// all of it, later than any wait of the statements before, and unlike `clock_timestamp()` a value that an index is searched
/// by. (Exact: of a time of this century, also a double has the microseconds.)
macro_rules! postgres_clock {
    () => {
        "(extract(epoch from statement_timestamp()) * 1000000)::bigint"
    };
}
pub(super) use postgres_clock;
pub const POSTGRES_CLOCK: &str = postgres_clock!();

/// The time of a [`SessionQuery`] that does not leave it to PostgreSQL's clock.
pub fn pinned(now: Micros) -> Option<i64> {
    (now == ANY_TIME).then_some(now.0)
}

/// By how many microseconds two clocks may differ and pass for the same.
macro_rules! clock_tolerance {
    () => {
        5_000_000
    };
}
pub const CLOCK_TOLERANCE: i64 = clock_tolerance!();

/// How much is to be added to an expiry that a process computed as its time `$now` and a time to live: if its clock is wrong,
/// what it is wrong by.
macro_rules! correction {
    ($clock:expr, $now:literal) => {
        concat!(
            "case when abs(",
            $clock,
            " - ",
            $now,
            ") > ",
            clock_tolerance!(),
            " then ",
            $clock,
            " - ",
            $now,
            " else 0 end"
        )
    };
}
pub const POSTGRES_CORRECTION: &str = correction!(postgres_clock!(), "ttl_from");

/// What finds the session of a query: its key, and that it has not expired at a time.
macro_rules! of_session {
    ($now:expr) => {
        concat!(
            " from sessions s where s.app_name = $1 and s.user_id = $2 and s.id = $3 \
              and (s.expire_time is null or s.expire_time > ",
            $now,
            ")"
        )
    };
}

/// One page of events: the inner query picks rows by the filters without their bodies, the middle one adds up sizes
/// (with what an answer adds to a body), the outer one fetches the bodies that fit, one by one: of a join, a planner that
/// does not know how many events the session has may go through all of them for each. The first row always fits.
macro_rules! events_page {
    ($direction:literal, $filter:expr) => {
        concat!(
            "select sequence, commit_time, total, (select e.body from events e where e.app_name = $1 \
                 and e.user_id = $2 and e.session_id = $3 and e.incarnation = $4 and e.sequence = sized.sequence) as body \
             from ( \
                 select sequence, commit_time, sum(size) over (order by sequence ",
            $direction,
            ") as size_so_far, row_number() over (order by sequence ",
            $direction,
            ") as place, count(*) over () as total from ( \
                     select sequence, commit_time, octet_length(body) + 80 as size from events \
                     where app_name = $1 and user_id = $2 and session_id = $3 and incarnation = $4 \
                       and sequence > $5 and sequence < $6 \
                       and ($7 is null or event_time >= $7) and ($8 is null or author = $8) \
                       and ($9 is null or invocation_id = $9) and ($10 is null or branch = $10)",
            $filter,
            " order by sequence ",
            $direction,
            " limit 0 + $11) as page) as sized \
             where size_so_far <= $12 or place = 1 order by sequence ",
            $direction
        )
    };
}

pub const EVENTS_ASCENDING: &str = events_page!("asc", "");
pub const EVENTS_DESCENDING: &str = events_page!("desc", "");

/// What the key says beside the incarnation is compared so that no index serves it: only the one by id is left.
pub const EVENT: &str = "select sequence, commit_time, body from events \
     where app_name || '' = $1 and user_id || '' = $2 and session_id || '' = $3 and incarnation = $4 and id = $5";

pub const EVENT_AT: &str = "select sequence, commit_time, body from events \
     where app_name = $1 and user_id = $2 and session_id = $3 and incarnation = $4 and sequence = $5";
pub const FIRST_OF_INVOCATION: &str = "select min(sequence) from events \
     where app_name = $1 and user_id = $2 and session_id = $3 and incarnation = $4 and invocation_id = $5";
pub const REWINDS: &str = "select sequence, rewind_to from events \
     where app_name = $1 and user_id = $2 and session_id = $3 and incarnation = $4 and rewind_to is not null \
     order by sequence";
/// The revisions of the shared scopes that an event saw, or the creation.
pub const SEEN_REVISIONS: &str = "select user_revision, app_revision from events \
     where app_name = $1 and user_id = $2 and session_id = $3 and incarnation = $4 and sequence = $5 \
     union all select created_user_revision, created_app_revision from sessions \
     where app_name = $1 and user_id = $2 and id = $3 and incarnation = $4 and $5 = 0";

pub const SESSION_VALUE: &str = "select value from session_state \
     where app_name = $1 and user_id = $2 and session_id = $3 and incarnation = $4 and key = $5";
pub const USER_VALUE: &str = "select value from user_state where app_name = $1 and user_id = $2 and key = $3";
pub const APP_VALUE: &str = "select value from app_state where app_name = $1 and key = $2";

/// What [`SessionInsert`](crate::store::backend::SessionInsert) brings.
pub const SESSION_COLUMNS: &str = "app_name, user_id, id, incarnation, revision, create_time, update_time, \
    update_time_number, display_name, labels, expire_time, initial_state, creation_key, creation_digest";
/// The session that the request `$3` of a user made.
pub const MADE_BY: &str = "select id, incarnation, creation_digest from sessions \
     where app_name = $1 and user_id = $2 and creation_key = $3";

/// The digest of a request that changed a shared scope.
pub const USER_PATCH: &str =
    "select digest from user_patches where app_name = $1 and user_id = $2 and request_key = $3";
pub const APP_PATCH: &str = "select digest from app_patches where app_name = $1 and request_key = $2";
/// Remembers requests at the time that `$now` makes of the one that is bound: that of a process, whose clock may be behind.
macro_rules! remember_patches {
    ($now:ident) => {
        [
            concat!(
                "insert into user_patches (app_name, user_id, request_key, digest, time) values ($1, $2, $3, $4, ",
                $now!("$5"),
                ")"
            ),
            concat!(
                "insert into app_patches (app_name, request_key, digest, time) values ($1, $2, $3, ",
                $now!("$4"),
                ")"
            ),
        ]
    };
}

/// Removes up to `$2` requests of before `$1`.
macro_rules! forget_patches {
    ($table:literal, $key:literal, $lock:literal) => {
        concat!(
            "delete from ",
            $table,
            " where (",
            $key,
            ") in (select ",
            $key,
            " from ",
            $table,
            " where time < $1 order by time limit 0 + $2",
            $lock,
            ")"
        )
    };
}

/// For each field a flag, whether to set it, and its value; `$10` is the time from which a time to live was counted, or null.
macro_rules! set_metadata {
    ($clock:expr) => {
        concat!(
            "update sessions set metadata_revision = metadata_revision + 1, \
               display_name = case when $4 then $5 else display_name end, labels = case when $6 then $7 else labels end, \
               expire_time = case when $8 then $9 + ",
            correction!($clock, "$10"),
            " else expire_time end where app_name = $1 and user_id = $2 and id = $3"
        )
    };
}

/// A copy of session `$1, $2, $3` (incarnation `$4`) as it was at revision `$8`: under the id `$5`, incarnation `$6`,
/// created at `$7`, last updated at `$9` and `$10`, by the request `$11` with the digest `$12`.
macro_rules! insert_fork {
    () => {
        "insert into sessions (app_name, user_id, id, incarnation, revision, create_time, update_time, \
           update_time_number, display_name, labels, expire_time, initial_state, created_user_revision, \
           created_app_revision, forked_from, forked_revision, creation_key, creation_digest) \
         select app_name, user_id, $5, $6, $8, $7, $9, $10, display_name, labels, expire_time, initial_state, \
           created_user_revision, created_app_revision, id, $8, $11, $12 \
         from sessions where app_name = $1 and user_id = $2 and id = $3 and incarnation = $4 \
         on conflict do nothing"
    };
}
/// Those after `$7`, up to `$8`.
pub const COPY_EVENTS: &str = "insert into events (app_name, user_id, session_id, incarnation, sequence, id, \
       event_time, commit_time, author, invocation_id, branch, user_revision, app_revision, rewind_to, digest, body) \
     select app_name, user_id, $5, $6, sequence, id, event_time, commit_time, author, invocation_id, branch, \
       user_revision, app_revision, rewind_to, digest, body \
     from events where app_name = $1 and user_id = $2 and session_id = $3 and incarnation = $4 \
       and sequence > $7 and sequence <= $8";
/// What no longer held at revision `$7`.
pub const COPY_SPANS: &str = "insert into session_spans (app_name, user_id, session_id, incarnation, node, key, \
       valid_from, valid_to, value) \
     select app_name, user_id, $5, $6, node, key, valid_from, valid_to, value \
     from session_spans where app_name = $1 and user_id = $2 and session_id = $3 and incarnation = $4 \
       and valid_to <= $7";

pub const UNLIST_UPDATE: &str = "delete from session_updates where app_name = $1 and user_id = $2 and id = $3 \
     and update_time = (select update_time from sessions \
       where app_name = $1 and user_id = $2 and id = $3 and incarnation = $4)";
pub const UNLIST_SESSION: &str =
    "delete from sessions where app_name = $1 and user_id = $2 and id = $3 and incarnation = $4";
pub const BURY_SESSION: &str = "insert into buried_sessions (app_name, user_id, session_id, incarnation) \
     values ($1, $2, $3, $4) on conflict do nothing";
pub const PURGE_EVENTS: &str = "delete from events where app_name = $1 and user_id = $2 and session_id = $3 \
     and incarnation = $4 and sequence in (select sequence from events where app_name = $1 and user_id = $2 \
       and session_id = $3 and incarnation = $4 order by sequence limit 0 + $5)";
pub const PURGE_STATE: &str = "delete from session_state where app_name = $1 and user_id = $2 and session_id = $3 \
     and incarnation = $4 and key in (select key from session_state where app_name = $1 and user_id = $2 \
       and session_id = $3 and incarnation = $4 order by key limit 0 + $5)";
pub const PURGE_SPANS: &str = "delete from session_spans where app_name = $1 and user_id = $2 and session_id = $3 \
     and incarnation = $4 and (node, key) in (select node, key from session_spans where app_name = $1 \
       and user_id = $2 and session_id = $3 and incarnation = $4 order by node, key limit 0 + $5)";
pub const FORGET_BURIED: &str = "delete from buried_sessions \
     where app_name = $1 and user_id = $2 and session_id = $3 and incarnation = $4";

/// The next name after `$1`, found by one look into each index, again and again: names, not rows, are counted.
macro_rules! names {
    ($next:ident) => {
        concat!(
            "with recursive names(name) as ( \
                 select min(n) from (",
            $next!("$1"),
            ") as first union all select (select min(n) from (",
            $next!("names.name"),
            ") as next) from names where names.name is not null) \
             select name from names where name is not null limit 0 + $2"
        )
    };
}
macro_rules! next_app {
    ($after:literal) => {
        concat!(
            "select min(app_name) as n from sessions where app_name > ",
            $after,
            " union all select min(app_name) from app_scopes where app_name > ",
            $after,
            " union all select min(app_name) from user_scopes where app_name > ",
            $after
        )
    };
}
macro_rules! next_user {
    ($after:literal) => {
        concat!(
            "select min(user_id) as n from sessions where app_name = $3 and user_id > ",
            $after,
            " union all select min(user_id) from user_scopes where app_name = $3 and user_id > ",
            $after
        )
    };
}

pub const APPS: &str = names!(next_app);
pub const USERS: &str = names!(next_user);

/// The columns of a session's rows, and of a user's.
macro_rules! of_incarnation {
    () => {
        "app_name = $1 and user_id = $2 and session_id = $3 and incarnation = $4"
    };
}

/// The parts of the merged state as it was at a moment, each as the members of an object, without braces: what is still
/// there from then, and what was there then and is no more. `$5`, `$6`, `$7` are the revisions of session, user and app
/// then; `$8`, `$9`, `$10` the nodes where their spans may be filed; `$11`, `$12`, `$13` the keys wanted of app, user and
/// session, or null.
macro_rules! state_then {
    ($member:ident, $wanted:ident, $filed:ident) => {
        concat!(
            "select (select ",
            $member!("'app:' || t.key"),
            " from (select t.key, t.value from app_state t where t.app_name = $1 and t.revision <= $7",
            $wanted!("$11"),
            " union all select t.key, (select l.value from app_log l where l.app_name = t.app_name and l.key = t.key \
                and l.revision = t.valid_from) from ",
            $filed!("app_spans", "app_name = $1", "$10"),
            " where t.valid_from <= $7 and t.valid_to > $7",
            $wanted!("$11"),
            ") as t) as app_state, (select ",
            $member!("'user:' || t.key"),
            " from (select t.key, t.value from user_state t where t.app_name = $1 and t.user_id = $2 \
                and t.revision <= $6",
            $wanted!("$12"),
            " union all select t.key, (select l.value from user_log l where l.app_name = t.app_name \
                and l.user_id = t.user_id and l.key = t.key and l.revision = t.valid_from) from ",
            $filed!("user_spans", "app_name = $1 and user_id = $2", "$9"),
            " where t.valid_from <= $6 and t.valid_to > $6",
            $wanted!("$12"),
            ") as t) as user_state, (select ",
            $member!("t.key"),
            " from (select t.key, t.value from session_state t where t.app_name = $1 and t.user_id = $2 \
                and t.session_id = $3 and t.incarnation = $4 and t.revision <= $5",
            $wanted!("$13"),
            " union all select t.key, t.value from ",
            $filed!("session_spans", of_incarnation!(), "$8"),
            " where t.valid_from <= $5 and t.valid_to > $5",
            $wanted!("$13"),
            ") as t) as session_state"
        )
    };
}

/// The session keys that have changed since revision `$5`, with their values then and now.
macro_rules! differences {
    ($filed:ident) => {
        concat!(
            "select coalesce(p.key, n.key) as key, p.value as was, n.value as now from (select t.key, t.value from ",
            $filed!("session_spans", of_incarnation!(), "$6"),
            " where t.valid_from <= $5 and t.valid_to > $5) as p \
             full join (select key, value from session_state where ",
            of_incarnation!(),
            " and revision > $5) as n on n.key = p.key order by 1"
        )
    };
}

/// When those of the session keys `$5` that are not there were removed, if that was after revision `$6`: their spans were
/// filed beyond `$6`, or on the path to it. One pass over these spans, whatever the number of keys; `is true` keeps
/// PostgreSQL from making a join of it, for which it has no plan but a loop over the keys for each span.
macro_rules! removed {
    ($among:ident, $each:ident) => {
        concat!(
            "select key, max(valid_to) from session_spans where app_name = $1 and user_id = $2 and session_id = $3 \
               and incarnation = $4 and (key in (select k.value from ",
            $each!("$5"),
            ")) is true and valid_to > $6 and (node > $6 or node",
            $among!("$7"),
            ") group by key"
        )
    };
}

/// The last changes of shared keys, their removals included.
macro_rules! keys_changed {
    ($log:literal, $of:literal, $keys:literal, $each:ident) => {
        concat!(
            "select k.value, (select max(l.revision) from ",
            $log,
            " l where ",
            $of,
            " and l.key = k.value) from ",
            $each!($keys)
        )
    };
}

/// The state of a session as it was at revision `$7`, written as that of its fork; `$8` are the nodes of the path to it.
macro_rules! copy_state {
    ($filed:ident) => {
        concat!(
            "insert into session_state (app_name, user_id, session_id, incarnation, key, value, revision) \
             select app_name, user_id, $5, $6, key, value, revision from session_state where ",
            of_incarnation!(),
            " and revision <= $7 union all select t.app_name, t.user_id, $5, $6, t.key, t.value, t.valid_from from ",
            $filed!("session_spans", of_incarnation!(), "$8"),
            " where t.valid_from <= $7 and t.valid_to > $7"
        )
    };
}

/// What the two databases say differently.
pub struct Dialect {
    /// The clock that judges expiry; `None`: the process's own.
    clock: Option<&'static str>,
    /// Head of one session.
    pub head: &'static str,
    pub set_metadata: &'static str,
    /// Inserts a fork, also into the list by last update; affects no row if the session exists.
    pub insert_fork: &'static str,
    /// Joins the sessions `s` to their places `o` in the list by last update, one by one, beginning there.
    join_listed: &'static str,
    /// [`EVENTS_ASCENDING`] and [`EVENTS_DESCENDING`] without the events of the ranges that begin after `$13` and end
    /// with `$14`.
    pub visible_ascending: &'static str,
    pub visible_descending: &'static str,
    pub state_then: &'static str,
    pub differences: &'static str,
    pub removed: &'static str,
    pub user_keys_changed: &'static str,
    pub app_keys_changed: &'static str,
    pub copy_state: &'static str,
    /// Head and merged state of one session; `$5`, `$6`, `$7` are the keys wanted of app, user and session, or null.
    pub view: &'static str,
    pub app_scope: &'static str,
    pub user_scope: &'static str,
    /// Columns of a list that shows states.
    list_state: &'static str,
    /// Remember requests that changed user state, and app state.
    pub remember_patches: [&'static str; 2],
    /// Remove requests that changed user state, and app state, of before `$1`, up to `$2` of each.
    pub forget_patches: [&'static str; 2],
    /// A label's value, given the number of the parameter that names it.
    label: fn(usize) -> String,
}

macro_rules! dialect {
    ($clock:expr, $now:expr, $set_metadata:expr, $listed:ident, $join_listed:literal, $member:ident, $wanted:ident,
     $among:ident, $each:ident, $filed:ident, $visible:expr, $remembered:ident, $skip_locked:literal, $label:expr) => {
        Dialect {
            clock: $clock,
            head: concat!("select ", head_columns!(), of_session!($now)),
            set_metadata: $set_metadata,
            insert_fork: $listed!(insert_fork!(), "$5"),
            join_listed: $join_listed,
            visible_ascending: events_page!("asc", $visible),
            visible_descending: events_page!("desc", $visible),
            state_then: state_then!($member, $wanted, $filed),
            differences: differences!($filed),
            removed: removed!($among, $each),
            user_keys_changed: keys_changed!("user_log", "l.app_name = $1 and l.user_id = $2", "$3", $each),
            app_keys_changed: keys_changed!("app_log", "l.app_name = $1", "$2", $each),
            copy_state: copy_state!($filed),
            view: concat!(
                "select ",
                head_columns!(),
                ", ",
                state_columns!($member, $wanted!("$5"), $wanted!("$6"), $wanted!("$7")),
                of_session!($now)
            ),
            app_scope: concat!(
                "select coalesce((select revision from app_scopes where app_name = $1), 0) as revision, (select ",
                $member!("t.key"),
                " from app_state t where t.app_name = $1) as state"
            ),
            user_scope: concat!(
                "select coalesce((select revision from user_scopes where app_name = $1 and user_id = $2), 0) \
                 as revision, (select ",
                $member!("t.key"),
                " from user_state t where t.app_name = $1 and t.user_id = $2) as state"
            ),
            list_state: state_columns!($member, "", "", ""),
            remember_patches: remember_patches!($remembered),
            forget_patches: [
                forget_patches!("user_patches", "app_name, user_id, request_key", $skip_locked),
                forget_patches!("app_patches", "app_name, request_key", $skip_locked),
            ],
            label: $label,
        }
    };
}

macro_rules! postgres_member {
    ($key:literal) => {
        concat!("string_agg(to_json(", $key, ")::text || ':' || t.value, ',' order by t.key)")
    };
}
macro_rules! postgres_wanted {
    ($keys:literal) => {
        concat!(" and (", $keys, "::text[] is null or t.key = any(", $keys, "))")
    };
}
macro_rules! postgres_among {
    ($numbers:literal) => {
        concat!(" = any(", $numbers, "::bigint[])")
    };
}
/// The keys of a filter, as rows `k`.
macro_rules! postgres_each {
    ($keys:literal) => {
        concat!("unnest(", $keys, "::text[]) as k(value)")
    };
}
/// The rows `t` of a table of spans that are filed under some nodes: found by one look for each, also where the planner
/// does not know how many there are.
macro_rules! postgres_filed {
    ($table:literal, $of:expr, $nodes:literal) => {
        concat!(
            "unnest(",
            $nodes,
            "::bigint[]) as n(node) cross join lateral (select * from ",
            $table,
            " s where ",
            $of,
            " and s.node = n.node offset 0) as t"
        )
    };
}
/// An insertion of the session with the id `$id`, and of its place in the list by last update.
macro_rules! postgres_listed {
    ($insert:expr, $id:literal) => {
        concat!(
            "with made as (",
            $insert,
            " returning app_name, user_id, id, update_time) \
             insert into session_updates (app_name, user_id, id, update_time) \
             select app_name, user_id, id, update_time from made"
        )
    };
}
macro_rules! postgres_remembered {
    ($now:literal) => {
        concat!("greatest(", $now, ", ", postgres_clock!(), ")")
    };
}
pub const POSTGRES: Dialect = dialect!(
    Some(postgres_clock!()),
    concat!("coalesce($4, ", postgres_clock!(), ")"),
    set_metadata!(postgres_clock!()),
    postgres_listed,
    "cross join lateral (select * from sessions l where l.app_name = o.app_name and l.user_id = o.user_id \
                           and l.id = o.id offset 0) s",
    postgres_member,
    postgres_wanted,
    postgres_among,
    postgres_each,
    postgres_filed,
    " and not exists (select from unnest($13::bigint[], $14::bigint[]) as h(first, last) \
                      where sequence > h.first and sequence <= h.last)",
    postgres_remembered,
    " for update skip locked",
    |name| format!("(s.labels::jsonb ->> ${name})")
);

macro_rules! sqlite_member {
    ($key:literal) => {
        concat!("group_concat(json_quote(", $key, ") || ':' || t.value, ',' order by t.key)")
    };
}
macro_rules! sqlite_wanted {
    ($keys:literal) => {
        concat!(" and (", $keys, " is null or t.key in (select value from json_each(", $keys, ")))")
    };
}
macro_rules! sqlite_among {
    ($numbers:literal) => {
        concat!(" in (select value from json_each(", $numbers, "))")
    };
}
macro_rules! sqlite_each {
    ($keys:literal) => {
        concat!("json_each(", $keys, ") as k")
    };
}
macro_rules! sqlite_filed {
    ($table:literal, $of:expr, $nodes:literal) => {
        concat!("json_each(", $nodes, ") as n cross join ", $table, " as t on ", $of, " and t.node = n.value")
    };
}
macro_rules! sqlite_listed {
    ($insert:expr, $id:literal) => {
        concat!(
            $insert,
            "; insert into session_updates (app_name, user_id, id, update_time) \
               select app_name, user_id, id, update_time from sessions \
               where changes() = 1 and app_name = $1 and user_id = $2 and id = ",
            $id
        )
    };
}
macro_rules! sqlite_remembered {
    ($now:literal) => {
        $now
    };
}
pub const SQLITE: Dialect = dialect!(
    None,
    "$4",
    // The clock of its one process is never wrong by its own.
    set_metadata!("$10"),
    sqlite_listed,
    "cross join sessions s on s.app_name = o.app_name and s.user_id = o.user_id and s.id = o.id",
    sqlite_member,
    sqlite_wanted,
    sqlite_among,
    sqlite_each,
    sqlite_filed,
    " and not exists (select 1 from json_each($13) first join json_each($14) last on last.key = first.key \
                      where sequence > first.value and sequence <= last.value)",
    sqlite_remembered,
    "",
    |name| format!("json_extract(s.labels, '$.\"' || ${name} || '\"')")
);

/// As [`Dialect::view`], with a range of events: those after `$8` that are among the last `$9`, or all, before `$10`, up to
/// `$11` and `$12` bytes of them, the first in any case. Of each the commit time, the bytes of its body, and its body.
pub const SQLITE_PLAIN_VIEW: &str = concat!(
    "select ",
    head_columns!(),
    ", ",
    state_columns!(sqlite_member, sqlite_wanted!("$5"), sqlite_wanted!("$6"), sqlite_wanted!("$7")),
    ", (select group_concat(commit_time || ' ' || octet_length(body) || ' ' || body, '' order by sequence) \
        from (select sequence, commit_time, body, octet_length(body) + 80 as size, \
                sum(octet_length(body) + 80) over (order by sequence rows unbounded preceding) as size_so_far \
              from (select sequence, commit_time, body from events e \
                    where e.app_name = s.app_name and e.user_id = s.user_id and e.session_id = s.id \
                      and e.incarnation = s.incarnation \
                      and e.sequence > max($8, s.revision - coalesce($9, s.revision)) and e.sequence < $10 \
                    order by e.sequence limit 0 + $11)) \
        where size_so_far <= $12 or size_so_far = size) as events",
    of_session!("$4")
);

/// A bound value of a list's statement.
pub enum ListValue<'a> {
    Text(&'a str),
    Integer(i64),
}

impl Dialect {
    /// The statement of a page of sessions, with what to bind, in order.
    ///
    /// The keyset is one row-wise comparison in the order of an index, so page K is found as fast as page 1.
    pub fn list<'a>(&self, query: &'a ListQuery, now: Micros) -> (String, Vec<ListValue<'a>>) {
        let mut values = vec![ListValue::Text(query.app.as_str())];
        let mut sql = format!("select {}", head_columns!());
        if query.with_state {
            sql.push_str(", ");
            sql.push_str(self.list_state);
        }
        // The table that an index has in the order that is asked for, and the column to order by.
        let (of, time) = match query.order_by {
            OrderBy::LastUpdateTime => ("o", "o.update_time"),
            OrderBy::CreateTime => ("s", "s.create_time"),
        };
        match query.order_by {
            OrderBy::LastUpdateTime => sql += &format!(" from session_updates o {}", self.join_listed),
            OrderBy::CreateTime => sql.push_str(" from sessions s"),
        }
        sql += &format!(" where {of}.app_name = $1");
        let mut bind = |value| {
            values.push(value);
            values.len()
        };
        if let Some(user) = &query.user {
            sql += &format!(" and {of}.user_id = ${}", bind(ListValue::Text(user.as_str())));
        }
        let now = match self.clock {
            Some(clock) => clock.to_owned(),
            None => format!("${}", bind(ListValue::Integer(now.0))),
        };
        sql += &format!(" and (s.expire_time is null or s.expire_time > {now})");
        let (than, direction) = if query.descending { ("<", "desc") } else { (">", "asc") };
        // Of one user, the user is no part of the order: the index by user does not have it after the time.
        let mut order = vec![time.to_owned()];
        if query.user.is_none() {
            order.push(format!("{of}.user_id"));
        }
        order.push(format!("{of}.id"));
        if let Some(after) = &query.after {
            let mut at = vec![format!("${}", bind(ListValue::Integer(after.time.0)))];
            if query.user.is_none() {
                at.push(format!("${}", bind(ListValue::Text(after.user.as_str()))));
            }
            at.push(format!("${}", bind(ListValue::Text(after.session.as_str()))));
            sql += &format!(" and ({}) {than} ({})", order.join(", "), at.join(", "));
        }
        for (name, value) in &query.labels {
            let label = (self.label)(bind(ListValue::Text(name)));
            sql += &format!(" and {label} = ${}", bind(ListValue::Text(value)));
        }
        let limit = bind(ListValue::Integer(query.max_rows as i64 + 1));
        let order: Vec<String> = order.iter().map(|column| format!("{column} {direction}")).collect();
        sql += &format!(" order by {} limit 0 + ${limit}", order.join(", "));
        (sql, values)
    }
}

#[derive(FromRow)]
pub struct HeadRow {
    app_name: String,
    user_id: String,
    id: String,
    incarnation: i64,
    revision: i64,
    metadata_revision: i64,
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
            // For the transaction to say.
            timeline: Timeline::default(),
            revision: row.revision,
            metadata_revision: row.metadata_revision,
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
        events.after.max(before_last) + 1
    }

    /// What a [plain](SessionQuery::is_plain) query asks for, given its events; `None` if it asks for another incarnation.
    ///
    /// # Errors
    /// What was written by something else: ids that are none.
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
        Self { sequence: row.sequence, commit_time: Micros(row.commit_time), body: row.body.into() }
    }
}

#[derive(FromRow)]
pub struct PagedEventRow {
    #[sqlx(flatten)]
    event: EventRow,
    /// Rows that the filters found, up to one more than the page holds.
    total: i64,
}

/// A page from the rows of [`EVENTS_ASCENDING`] or [`EVENTS_DESCENDING`].
pub fn event_page(rows: Vec<PagedEventRow>, max_rows: usize) -> EventPage {
    let total = rows.first().map_or(0, |row| row.total as usize);
    let events: Vec<StoredEvent> = rows.into_iter().take(max_rows).map(|row| row.event.into()).collect();
    EventPage { more: events.len() < total, events }
}

/// A session with what an append locks of it.
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
            },
        })
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

fn session_key(app: &str, user: &str, session: &str) -> Result<SessionKey, StoreError> {
    Ok(SessionKey {
        user: UserKey { app: AppName::parse(app).map_err(corrupt)?, user: UserId::parse(user).map_err(corrupt)? },
        session: SessionId::parse(session).map_err(corrupt)?,
    })
}

/// A text for a column that filters compare: PostgreSQL's text cannot hold U+0000, so it is escaped, and with it the
/// escape character. One to one, so equal stays equal.
pub fn filter_text(text: &str) -> String {
    if text.contains(['\0', '\\']) { text.replace('\\', "\\\\").replace('\0', "\\0") } else { text.to_owned() }
}

/// The text that [`filter_text`] made this one of.
pub fn plain_text(column: &str) -> String {
    let mut text = String::with_capacity(column.len());
    let mut rest = column.chars();
    while let Some(next) = rest.next() {
        // An escape character is followed by itself, or by what stands for U+0000.
        text.push(if next == '\\' && rest.next() == Some('0') { '\0' } else { next });
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_filter_text_has_one_meaning() {
        for text in ["", "agent", "a\0b", "a\\0b", "\\", "\0\0\\\\0"] {
            assert_eq!(plain_text(&filter_text(text)), text);
        }
    }

    #[test]
    fn filter_texts_stay_apart() {
        assert_eq!(filter_text("agent"), "agent");
        assert_eq!(filter_text("a\0b"), "a\\0b");
        assert_ne!(filter_text("a\\0b"), filter_text("a\0b"));
    }
}
