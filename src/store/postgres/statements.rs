//! PostgreSQL's own statements with a fixed text. Rows are found one by one by their whole keys, in lateral queries that
//! `offset 0` or a lock keeps apart. Otherwise a planner without statistics would begin a join with an index that begins with
//! the app, and scan everything that the app has.

use super::words::{clock, valid_ticks};

/// The expiry of a row of sessions as the database judges it: of one that is live, nothing. And its lease, as writes are judged
/// by it: its epoch and, of one that excludes all others, the owner, the expiry, and the time now.
macro_rules! judged {
    ($row:literal) => {
        concat!(
            "case when ",
            $row,
            ".expire_time <= ",
            clock!(),
            " then '-9223372036854775808'::bigint end as expire_time, ",
            $row,
            ".lease_epoch, case when ",
            $row,
            ".lease_all then ",
            $row,
            ".lease_owner end as lease_owner, ",
            $row,
            ".lease_expire, case when ",
            $row,
            ".lease_all then ",
            clock!(),
            " end as lease_now"
        )
    };
}

macro_rules! lock_sessions {
    ($lock:literal) => {
        concat!(
            "select s.* from unnest($2::text[], $3::text[]) as k(user_id, id) \
             cross join lateral (select l.app_name, l.user_id, l.id, l.incarnation, l.revision, \
                 l.metadata_revision, l.update_time, ",
            judged!("l"),
            " from sessions l where l.app_name = $1 and l.user_id = k.user_id and l.id = k.id ",
            $lock,
            ") s"
        )
    };
}
pub const LOCK_SESSIONS: &str = lock_sessions!("for no key update");
pub const LOCK_SESSIONS_SKIPPING: &str = lock_sessions!("for no key update skip locked");
/// Against forks, too, which hold what they copy by `for key share`.
pub const LOCK_SESSIONS_ALONE: &str = lock_sessions!("for update");

/// Locks the rows of users, one by one, in the order given; the numbers of those that are there.
pub const LOCK_USERS: &str = "select k.n from unnest($2::text[]) with ordinality as k(user_id, n) \
    cross join lateral (select 1 from user_scopes l \
    where l.app_name = $1 and l.user_id = k.user_id for update) s";

pub const LOCK_APP: &str = "select 1::bigint as n from app_scopes where app_name = $1 for update";

/// Creates the rows of users that are to be locked.
pub const MAKE_USERS: &str = "insert into user_scopes (app_name, user_id, revision) \
    select $1, k.user_id, 0 from unnest($2::text[]) as k(user_id) on conflict do nothing";

pub const MAKE_APP: &str = "insert into app_scopes (app_name, revision) values ($1, 0) on conflict do nothing";

/// Protects a session against deletion.
pub const KEEP_SESSION: &str = concat!(
    "select app_name, user_id, id, incarnation, revision, metadata_revision, update_time, ",
    judged!("s"),
    " from sessions s where app_name = $1 and user_id = $2 and id = $3 for key share"
);

/// State rows of all scopes, each named by the parts of its key that its scope has.
pub const VALUES: &str = "with k as materialized (select * from unnest($2::smallint[], $3::text[], $4::text[], \
    $5::bigint[], $6::text[]) with ordinality as k(scope, user_id, session_id, incarnation, key, n)) \
    select k.n, s.value, s.revision from k cross join lateral (select * from session_state l \
    where l.app_name = $1 and l.user_id = k.user_id and l.session_id = k.session_id \
    and l.incarnation = k.incarnation and l.key = k.key offset 0) s where k.scope = 0 \
    union all select k.n, s.value, s.revision from k cross join lateral (select * from user_state l \
    where l.app_name = $1 and l.user_id = k.user_id and l.key = k.key offset 0) s where k.scope = 1 \
    union all select k.n, s.value, s.revision from k cross join lateral (select * from app_state l \
    where l.app_name = $1 and l.key = k.key offset 0) s where k.scope = 2";

/// What an append is decided on. Rows are found one by one, as in `sessiond_write`.
pub const READ_HEADS: &str = concat!(
    "select 0 as kind, k.n, s.revision, s.incarnation, s.metadata_revision, s.update_time, ",
    judged!("s"),
    ", s.base_revision + (select p.events_per_session from policies p where p.app_name = $1) as most_revision, \
                   e.sequence, e.event_time, e.commit_time, e.digest, \
                   case when e.sequence > s.base_revision then e.body end as body \
                 from unnest($2::text[], $3::text[], $4::text[]) with ordinality as k(user_id, session_id, id, n) \
                 cross join lateral (select * from sessions l where l.app_name = $1 and l.user_id = k.user_id \
                                       and l.id = k.session_id offset 0) s \
                 left join lateral (select * from events l where l.app_name = $1 and l.user_id = k.user_id \
                                      and l.session_id = k.session_id and l.incarnation = s.incarnation \
                                      and l.id = k.id offset 0) e on true \
                 union all select 1, k.n, s.revision, null, null, null, null, null, null, null, null, null, null, null, null, null, null \
                 from unnest($5::text[]) with ordinality as k(user_id, n) \
                 cross join lateral (select l.revision from user_scopes l \
                                     where l.app_name = $1 and l.user_id = k.user_id offset 0) s \
                 union all select 1, cardinality($5::text[]) + 1, s.revision, null, null, null, null, null, null, null, null, null, null, null, null, null, null \
                 from app_scopes s where s.app_name = $1 and $6 \
                 union all select 2, 1, e.revision, null, null, null, null, null, null, null, null, null, null, null, null, null, null \
                 from erased_revisions e where e.app_name = $1 and $7"
);

/// What a poll asks of sessions: one row, with a list for each column. A row for each session would cost several times as much
/// on both sides.
pub const READ_REVISIONS: &str = concat!(
    "select array_agg(k.n), array_agg(s.incarnation), array_agg(s.revision), array_agg(s.metadata_revision) \
     from unnest($2::text[], $3::text[]) with ordinality as k(user_id, session_id, n) \
     cross join lateral (select l.incarnation, l.revision, l.metadata_revision from sessions l where l.app_name = $1 \
                           and l.user_id = k.user_id and l.id = k.session_id \
                           and (l.expire_time is null or l.expire_time > ",
    clock!(),
    ") offset 0) s"
);

pub const EXPIRED: &str = concat!(
    "select app_name, user_id, id as session_id, incarnation from sessions where expire_time <= ",
    clock!(),
    " order by app_name, user_id, id limit $1 for update skip locked"
);

pub const NEXT_BURIED: &str =
    "select app_name, user_id, session_id, incarnation, erasure from buried_sessions limit 1 for update skip locked";

/// Where rows can be locked by their keys alone: what the two above look for, to be locked one by one.
pub const EXPIRED_UNLOCKED: &str = concat!(
    "select app_name, user_id, id as session_id, incarnation from sessions where expire_time <= ",
    clock!(),
    " order by app_name, user_id, id limit $1"
);
/// Some of them, as the first may be another's.
pub const NEXT_BURIED_UNLOCKED: &str =
    "select app_name, user_id, session_id, incarnation, erasure from buried_sessions limit 16";
pub const CLAIM_BURIED: &str = "select app_name, user_id, session_id, incarnation, erasure from buried_sessions \
    where app_name = $1 and user_id = $2 and session_id = $3 and incarnation = $4 for update skip locked";

/// The places in the list by last update of sessions that are inserted without them.
pub const LIST_SESSIONS: &str = "insert into session_updates (app_name, user_id, id, place) \
    select $1, k.user_id, k.id, k.place from unnest($2::text[], $3::text[], $4::bigint[]) as k(user_id, id, place)";

/// Until the transaction ends.
pub const HOLD_USERS: &str = "select pg_advisory_xact_lock_shared(k.number) from unnest($1::bigint[]) as k(number)";
pub const HOLD_USERS_ALONE: &str = "select pg_advisory_xact_lock(k.number) from unnest($1::bigint[]) as k(number)";

/// Removes rows that were created just to be locked.
pub const DROP_USERS: &str =
    "delete from user_scopes where app_name = $1 and user_id = any($2::text[]) and revision = 0";

pub const DROP_APP: &str = "delete from app_scopes where app_name = $1 and revision = 0";

/// Adds changes to the feed.
pub const RECORD: &str = "insert into changes (kind, app_name, user_id, session_id, incarnation, first_revision, last_revision, detail) \
    select * from unnest($1::bigint[], $2::text[], $3::text[], $4::text[], $5::bigint[], $6::bigint[], $7::bigint[], $8::text[])";

/// Adds a tick, if there is something that the last one did not show, which is `$1` old. Of two that come at once one is in vain. Not on a standby: its snapshots take what was running for finished.
pub const TICK: &str = concat!(
    "insert into ticks (tick, epoch, since, snapshot) select t.tick + 1, t.epoch, t.snapshot, pg_current_snapshot() \
    from (select tick, epoch, snapshot, time from ticks order by tick desc limit 1) as t \
    where not pg_is_in_recovery() and pg_snapshot_xmax(t.snapshot) <= pg_snapshot_xmax(pg_current_snapshot()) and abs(t.time - ",
    clock!(),
    ") >= $1 \
      and (exists (select from changes c where c.tx >= pg_snapshot_xmax(t.snapshot)) \
        or exists (select from pg_snapshot_xip(t.snapshot) as x(tx) cross join lateral \
                     (select from changes c where c.tx = x.tx limit 1) as c)) \
    on conflict do nothing"
);

/// Whether the database was restored from a dump into a server that has given out fewer transaction ids: what the ticks and the
/// changes say of them is of another server.
pub const IS_RESTORED: &str = "select not pg_is_in_recovery() and ( \
    not exists (select from (select snapshot from ticks order by tick desc limit 1) as t \
                where pg_snapshot_xmax(t.snapshot) <= pg_snapshot_xmax(pg_current_snapshot())) \
    or exists (select from changes where tx >= pg_snapshot_xmax(pg_current_snapshot())))";

/// Whether something was recorded since the last tick.
pub const IS_RECORDED: &str = "select exists (select from changes c where c.tx >= pg_snapshot_xmax(t.snapshot)) \
    from (select snapshot from ticks order by tick desc limit 1) as t";

/// Makes others wait who would add a tick.
pub const LOCK_TICKS: &str = "lock table ticks in share row exclusive mode";

/// Begins the feed anew: no position from before holds.
pub const NEW_EPOCH: &str = "insert into ticks (tick, epoch, since, snapshot) \
    select tick + 1, epoch + 1, pg_current_snapshot(), pg_current_snapshot() \
    from (select tick, epoch from ticks order by tick desc limit 1) as t";

/// Removes up to `$1` of the changes that would turn up when the ids come to them.
pub const REMOVE_FUTURE: &str = "delete from changes where (tx, id) in (select tx, id from changes \
    where tx >= pg_snapshot_xmax(pg_current_snapshot()) order by tx, id limit $1)";

/// The names in the changes of the ticks after `$1` up to `$2`.
pub const TICKED: &str = "select distinct c.app_name, c.user_id from ticks t cross join lateral ( \
      select n.app_name, n.user_id from changes n where n.tx >= pg_snapshot_xmax(t.since) and n.tx < pg_snapshot_xmax(t.snapshot) \
        and pg_visible_in_snapshot(n.tx, t.snapshot) \
      union all select n.app_name, n.user_id from pg_snapshot_xip(t.since) as x(tx) cross join lateral ( \
        select * from changes n where n.tx = x.tx and pg_visible_in_snapshot(n.tx, t.snapshot) offset 0) as n) as c \
    where t.tick > $1 and t.tick <= $2 limit $3";

/// Removes ticks that are older than `$1`, of the first `$2`; never the last one.
pub const PRUNE_TICKS: &str = concat!(
    "delete from ticks where tick < (select max(t.tick) from (select tick, time from ticks order by tick limit $2) as t where t.time < ",
    clock!(),
    " - $1)"
);

/// Removes up to `$1` of the changes up to the oldest tick.
pub const PRUNE_CHANGES: &str = concat!(
    "delete from changes where (tx, id) in (select n.tx, n.id from (select snapshot from ticks ",
    valid_ticks!(),
    " order by tick limit 1) as t cross join lateral (select tx, id from changes n \
      where n.tx < pg_snapshot_xmax(t.snapshot) and pg_visible_in_snapshot(n.tx, t.snapshot) order by tx, id limit $1) as n)"
);

/// All of them, with their names.
#[cfg(test)]
pub const ALL: [(&str, &str); 26] = [
    ("lock_sessions", LOCK_SESSIONS),
    ("lock_sessions_skipping", LOCK_SESSIONS_SKIPPING),
    ("lock_sessions_alone", LOCK_SESSIONS_ALONE),
    ("lock_users", LOCK_USERS),
    ("lock_app", LOCK_APP),
    ("make_users", MAKE_USERS),
    ("make_app", MAKE_APP),
    ("keep_session", KEEP_SESSION),
    ("values", VALUES),
    ("read_heads", READ_HEADS),
    ("read_revisions", READ_REVISIONS),
    ("expired", EXPIRED),
    ("next_buried", NEXT_BURIED),
    ("hold_users", HOLD_USERS),
    ("hold_users_alone", HOLD_USERS_ALONE),
    ("drop_users", DROP_USERS),
    ("drop_app", DROP_APP),
    ("record", RECORD),
    ("tick", TICK),
    ("is_restored", IS_RESTORED),
    ("is_recorded", IS_RECORDED),
    ("new_epoch", NEW_EPOCH),
    ("remove_future", REMOVE_FUTURE),
    ("ticked", TICKED),
    ("prune_ticks", PRUNE_TICKS),
    ("prune_changes", PRUNE_CHANGES),
];

/// Those that are sent instead, or besides, where the database is distributed.
#[cfg(test)]
pub const OF_DISTRIBUTED: [(&str, &str); 4] = [
    ("expired", EXPIRED_UNLOCKED),
    ("next_buried", NEXT_BURIED_UNLOCKED),
    ("claim_buried", CLAIM_BURIED),
    ("list_sessions", LIST_SESSIONS),
];
