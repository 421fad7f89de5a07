//! The statements that both databases share, built once for each in its [`Words`].
//!
//! SQLite reads `$1` as PostgreSQL does, so one text serves both, except for those words. Statements are built from
//! literals; values are always bound. Parameters that name a session come first: `$1` the app, `$2` the user, `$3` the
//! session, `$4` the incarnation. A bound limit is written as a sum, `0 + $1`: SQLite plans a statement again whenever a
//! bare limit is bound.

use super::columns::{API_KEY, EVENT_NAMES, HEAD_COLUMNS, LOST, OWNER, SESSION_METADATA, SPAN, STATE, state_columns};
use super::words::Words;
use crate::domain::policy::DAY;

/// The rows of a session that its incarnation keys.
const OF_INCARNATION: &str = "app_name = $1 and user_id = $2 and session_id = $3 and incarnation = $4";

/// The session `s` of that incarnation.
const OF_SESSION: &str = "s.app_name = $1 and s.user_id = $2 and s.id = $3 and s.incarnation = $4";

/// The events `e` of that incarnation.
const OF_EVENT: &str = "e.app_name = $1 and e.user_id = $2 and e.session_id = $3 and e.incarnation = $4";

/// The columns of an erasure.
const ERASURE: &str = "id, app_name, subject, request, reference, block, blocked, request_time, done_time, sessions, events, \
                       state_keys, changes, receipt";

/// How old the time of a key's last use may be, in microseconds: an hour.
const LAST_USED_TO: i64 = 3600 * 1_000_000;

/// Makes the fields of [`Statements`], and their list, from one list of names and texts: none can be missing in the other.
macro_rules! statements {
    ($words:ident, $($(#[$doc:meta])* $name:ident: $text:expr,)*) => {
        pub struct Statements {
            pub words: &'static Words,
            $($(#[$doc])* pub $name: String,)*
        }

        impl Statements {
            pub fn new($words: &'static Words) -> Self {
                Self { words: $words, $($name: String::from($text),)* }
            }

            /// All of them, with their names.
            #[cfg(test)]
            pub fn all(&self) -> Vec<(&'static str, &str)> {
                vec![$((stringify!($name), &*self.$name)),*]
            }
        }
    };
}

statements! { words,
    /// Head of one session.
    head: format!("select {}{}", HEAD_COLUMNS, of_session(words.now)),
    /// Head and merged state of one session; `$5`, `$6`, `$7` are the keys wanted of app, user and session, or null.
    view: format!(
        "select {}, {}{}",
        HEAD_COLUMNS,
        state_columns(words, &(words.wanted)("$5"), &(words.wanted)("$6"), &(words.wanted)("$7")),
        of_session(words.now)
    ),
    /// A page of events: those after `$5` and before `$6`, since `$7`, of author `$8`, invocation `$9` and branch `$10`, up
    /// to `$11` rows and `$12` bytes.
    events_ascending: events_page("asc", ""),
    events_descending: events_page("desc", ""),
    visible_ascending: events_page("asc", words.visible),
    visible_descending: events_page("desc", words.visible),
    /// The event of the id `$5`.
    event: format!("select sequence, commit_time, body from events where {OF_INCARNATION} and id = $5"),
    /// The event of the sequence `$5`.
    event_at: format!("select sequence, commit_time, body from events where {OF_INCARNATION} and sequence = $5"),
    /// The first event of the invocation `$5` after the sequence `$6`.
    first_of_invocation: format!(
        "select min(sequence) from events where {OF_INCARNATION} and invocation_id = $5 and sequence > $6"
    ),
    rewinds: format!(
        "select sequence, rewind_to from events where {OF_INCARNATION} and rewind_to is not null order by sequence"
    ),
    /// The revisions of the shared scopes that the event of the sequence `$5` saw; of the base, that were seen there. And the
    /// floors of the scopes, and where an import lost them.
    seen_revisions: format!(
        "select seen.user_revision, seen.app_revision, \
           coalesce((select u.floor from user_scopes u where u.app_name = $1 and u.user_id = $2), 0) as user_floor, \
           coalesce((select a.floor from app_scopes a where a.app_name = $1), 0) as app_floor, \
           s.lost_user_from, s.lost_user_through, s.lost_app_from, s.lost_app_through \
         from (select user_revision, app_revision from events where {OF_INCARNATION} and sequence = $5 \
           and $5 > (select s.base_revision from sessions s where {OF_SESSION}) \
         union all select created_user_revision, created_app_revision from sessions \
         where app_name = $1 and user_id = $2 and id = $3 and incarnation = $4 and base_revision = $5) as seen \
         cross join sessions s where {OF_SESSION}"
    ),
    session_value: format!("select value from session_state where {OF_INCARNATION} and key = $5"),
    user_value: "select value from user_state where app_name = $1 and user_id = $2 and key = $3",
    app_value: "select value from app_state where app_name = $1 and key = $2",
    user_scope: format!(
        "select coalesce((select revision from user_scopes where app_name = $1 and user_id = $2), 0) as revision, \
           (select {} from user_state t where t.app_name = $1 and t.user_id = $2) as state",
        (words.member)("t.key")
    ),
    app_scope: format!(
        "select coalesce((select revision from app_scopes where app_name = $1), 0) as revision, \
           (select {} from app_state t where t.app_name = $1) as state",
        (words.member)("t.key")
    ),
    /// The parts of the merged state as it was at a moment: values that still hold, and spans that held then. `$5`, `$6`,
    /// `$7` are the revisions of session, user and app then; `$8`, `$9`, `$10` the nodes where their spans may be filed;
    /// `$11`, `$12`, `$13` the keys wanted of app, user and session, or null.
    state_then: state_then(words),
    /// The session keys that have changed since revision `$5`, with their values then and now; `$6` are the nodes.
    differences: format!(
        "select coalesce(p.key, n.key) as key, p.value as was, n.value as now from (select t.key, t.value from {} \
         where t.valid_from <= $5 and t.valid_to > $5) as p full join (select key, value from session_state \
         where {OF_INCARNATION} and revision > $5) as n on n.key = p.key order by 1",
        (words.filed)("session_spans", OF_INCARNATION, "$6")
    ),
    /// When those of the session keys `$5` that are not there were removed, if that was after revision `$6`: their spans were
    /// filed beyond `$6`, or on the path `$7` to it. What was removed before the base is not known, so each may have been. One pass over these spans, whatever the number of keys; `is true` keeps
    /// PostgreSQL from making a join of it, for which it has no plan but a loop over the keys for each span.
    removed: format!(
        "select key, max(valid_to) from (select key, valid_to from session_spans where {OF_INCARNATION} \
             and (key in (select k.value from {each})) is true and valid_to > $6 and (node > $6 or node{}) \
           union all select k.value, s.base_revision from sessions s cross join {each} \
             where s.app_name = $1 and s.user_id = $2 and s.id = $3 and s.incarnation = $4 and s.base_revision > $6) as r \
         group by key",
        (words.among)("$7"),
        each = (words.each)("$5")
    ),
    /// The last changes of shared keys, their removals included, given the revisions since which they matter. What was before the floor is
    /// not known, so each may have changed there; but where the scope began, there was nothing, as at revision 0.
    user_keys_changed: keys_changed(words, "user", "app_name = $1 and user_id = $2", ["$3", "$4"], "began"),
    app_keys_changed: keys_changed(words, "app", "app_name = $1", ["$2", "$3"], "0"),
    /// For each field a flag, whether to set it, and its value; `$10` is the time from which a time to live was counted, or
    /// null; `$11` is now.
    set_metadata: set_metadata(words),
    /// A session and its lease, and the time by which expiry is judged: the database's, or `$4` where it has no clock.
    lease: format!(
        "select {HEAD_COLUMNS}, s.lease_epoch, s.lease_owner, s.lease_invocation, s.lease_expire, s.lease_ttl, \
           s.lease_all, {0} as now{1}",
        present(words, "$4"),
        of_session(&present(words, "$4"))
    ),
    set_lease: "update sessions set lease_epoch = $4, lease_owner = $5, lease_invocation = $6, lease_expire = $7, \
                  lease_ttl = $8, lease_all = $9 where app_name = $1 and user_id = $2 and id = $3",
    /// Notes the revisions of user and app state, `$4` and `$5`, that a creation came to.
    set_created_revisions: "update sessions set created_user_revision = $4, created_app_revision = $5 \
                            where app_name = $1 and user_id = $2 and id = $3",
    /// The session that the request `$3` of a user made.
    made_by: "select id, incarnation, creation_digest from sessions \
              where app_name = $1 and user_id = $2 and creation_key = $3",
    /// A copy of session `$1, $2, $3` (incarnation `$4`) as it was at revision `$8`: under the id `$5`, incarnation `$6`,
    /// last updated at `$9` and `$10`, or if these are null now, by the request `$11` with the digest `$12`; `$7` is now, where the
    /// database has no clock.
    insert_fork: (words.listed)(
        &format!(
            "insert into sessions (app_name, user_id, id, incarnation, revision, create_time, commit_time, update_time, \
               update_time_number, {SESSION_METADATA}, base_revision, initial_state, created_user_revision, \
               created_app_revision, imported_revision, {LOST}, forked_from, forked_revision, creation_key, creation_digest, \
               active_day) \
             select app_name, user_id, $5, $6, $8, {now}, {}(commit_time, {now}), coalesce($9, {now}), coalesce($10, {}), \
               {SESSION_METADATA}, base_revision, initial_state, created_user_revision, created_app_revision, \
               case when imported_revision > $8 then $8 else imported_revision end, \
               lost_user_from, case when lost_user_through > $8 then $8 else lost_user_through end, \
               lost_app_from, case when lost_app_through > $8 then $8 else lost_app_through end, id, $8, $11, $12, {} \
             from sessions where app_name = $1 and user_id = $2 and id = $3 and incarnation = $4 \
             on conflict do nothing",
            words.later,
            (words.number_of)(&present(words, "$7")),
            day(words, "$7"),
            now = present(words, "$7")
        ),
        "$5"
    ),
    /// Copies the events after `$7`, up to `$8`, to the session `$5` of incarnation `$6`.
    copy_events: format!(
        "insert into events (app_name, user_id, session_id, incarnation, {0}) select app_name, user_id, $5, $6, {0} \
         from events where {OF_INCARNATION} and sequence > $7 and sequence <= $8",
        *EVENT_NAMES
    ),
    /// Copies what no longer held at revision `$7`.
    copy_spans: format!(
        "insert into session_spans (app_name, user_id, session_id, incarnation, {SPAN}) \
         select app_name, user_id, $5, $6, {SPAN} from session_spans where {OF_INCARNATION} and valid_to <= $7"
    ),
    /// The state of a session as it was at revision `$7`, written as that of its fork; `$8` are the nodes of the path to it.
    copy_state: format!(
        "insert into session_state (app_name, user_id, session_id, incarnation, {STATE}) \
         select app_name, user_id, $5, $6, {STATE} from session_state where {OF_INCARNATION} and revision <= $7 \
         union all select t.app_name, t.user_id, $5, $6, t.key, t.value, t.valid_from from {} \
         where t.valid_from <= $7 and t.valid_to > $7",
        (words.filed)("session_spans", OF_INCARNATION, "$8")
    ),
    /// Cuts the session at the revision `$5`; `$6` are the nodes of the path to it.
    cut: format!(
        "update sessions set base_revision = $5, metadata_revision = metadata_revision + 1, \
           initial_state = '{{' || coalesce((select {} from ( \
             select key, value from session_state where {OF_INCARNATION} and session_state.revision <= $5 \
             union all select t.key, t.value from {} where t.valid_from <= $5 and t.valid_to > $5) as t), '') || '}}', \
           created_user_revision = (select e.user_revision from events e where {OF_EVENT} and e.sequence = $5), \
           created_app_revision = (select e.app_revision from events e where {OF_EVENT} and e.sequence = $5) \
         where app_name = $1 and user_id = $2 and id = $3 and incarnation = $4",
        (words.member)("t.key"),
        (words.filed)("session_spans", OF_INCARNATION, "$6")
    ),
    event_time: format!("select event_time from events where {OF_INCARNATION} and sequence = $5"),
    commit_time: format!("select commit_time from events where {OF_INCARNATION} and sequence = $5"),
    /// What of a session only exports show.
    exported: format!(
        "select s.initial_state, s.created_user_revision, s.created_app_revision, s.imported_mark, s.imported_digest, {LOST} \
         from sessions s where {OF_SESSION}"
    ),
    /// Rows of the log after the sequence `$5`, up to `$6`: up to `$7` rows and `$8` bytes, the first in any case. Those up to
    /// `$9` are stubs.
    exported_rows: format!(
        "select sequence, id, invocation_id, event_time, commit_time, user_revision, app_revision, digest, \
           (select e.body from events e where {OF_EVENT} and e.sequence = sized.sequence and e.sequence > $9) as body \
         from (select sequence, id, invocation_id, event_time, commit_time, user_revision, app_revision, digest, \
                 sum(size) over (order by sequence) as size_so_far, row_number() over (order by sequence) as place \
               from (select sequence, id, invocation_id, event_time, commit_time, user_revision, app_revision, digest, \
                       octet_length(body) + 300 as size from events where {OF_INCARNATION} \
                       and sequence > $5 and sequence <= $6 order by sequence limit 0 + $7) as page) as sized \
         where size_so_far <= $8 or place = 1 order by sequence"
    ),
    note_import: format!(
        "insert into imports ({OWNER}, time) values ($1, $2, $3, $4, {}) \
         on conflict ({OWNER}) do update set time = excluded.time",
        present(words, "$5")
    ),
    renew_import: format!("update imports set time = {} where {OF_INCARNATION}", present(words, "$5")),
    forget_import: format!("delete from imports where {OF_INCARNATION}"),
    /// An import that wrote nothing for `$2`; `$1` is now, where the database has no clock.
    dead_import: format!(
        "select {OWNER} from imports where time < {} - $2 limit 1{}",
        present(words, "$1"),
        words.skip_locked()
    ),
    /// Locks the row of an import, where the database is distributed.
    claim_import: format!("select 1 from imports where {OF_INCARNATION}{}", words.claim()),
    /// Makes an imported session visible.
    insert_imported: (words.listed)(
        &format!(
            "insert into sessions (app_name, user_id, id, incarnation, revision, create_time, update_time, \
               update_time_number, {SESSION_METADATA}, base_revision, initial_state, forked_from, forked_revision, \
               imported_mark, imported_digest, commit_time, imported_revision, created_user_revision, created_app_revision, \
               {LOST}, active_day) \
             values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $19, $5, $20, $21, \
               $22, $23, $24, $25, {}) on conflict do nothing",
            day(words, "$18")
        ),
        "$3"
    ),
    /// Where the database is distributed.
    list_session: "insert into session_updates (app_name, user_id, id, update_time) \
                   select app_name, user_id, id, update_time from sessions where app_name = $1 and user_id = $2 and id = $3",
    set_user_revision: "insert into user_scopes (app_name, user_id, revision, floor, emptied, began, imported) \
                          values ($1, $2, $3, $3, $3, $4, $3) \
                        on conflict (app_name, user_id) do update set revision = excluded.revision, floor = excluded.floor, \
                          emptied = excluded.emptied, began = excluded.began, imported = excluded.imported",
    set_app_revision: "insert into app_scopes (app_name, revision, floor, emptied, imported) values ($1, $2, $2, $2, $2) \
                       on conflict (app_name) do update set revision = excluded.revision, floor = excluded.floor, \
                         emptied = excluded.emptied, imported = excluded.imported",
    user_scope_head: "select revision, floor, imported from user_scopes where app_name = $1 and user_id = $2",
    app_scope_head: "select revision, floor, imported from app_scopes where app_name = $1",
    /// The state of a scope as it was at the revision `$3`, `$4` being the nodes of the path to it.
    user_then: scope_then(words, "user", "app_name = $1 and user_id = $2", "l.app_name = $1 and l.user_id = $2", ["$3", "$4"]),
    app_then: scope_then(words, "app", "app_name = $1", "l.app_name = $1", ["$2", "$3"]),
    /// When what held at the revision `$3` was written last, or the first change after it was made.
    user_base_time: base_time("user", "app_name = $1 and user_id = $2", "$3"),
    app_base_time: base_time("app", "app_name = $1", "$2"),
    /// Changes after the revision `$3`, up to `$4`: up to `$5` rows and `$6` bytes, the first in any case.
    user_past: past("user", "app_name = $1 and user_id = $2", ["$3", "$4", "$5", "$6"]),
    app_past: past("app", "app_name = $1", ["$2", "$3", "$4", "$5"]),
    time_user_log: "update user_log set time = $4 where app_name = $1 and user_id = $2 and revision = $3",
    time_app_log: "update app_log set time = $3 where app_name = $1 and revision = $2",
    user_keys_at: "select key from user_state where app_name = $1 and user_id = $2 and revision = $3",
    app_keys_at: "select key from app_state where app_name = $1 and revision = $2",
    settle_user_past: "update user_scopes set floor = $3, emptied = $3, imported = 0 where app_name = $1 and user_id = $2",
    settle_app_past: "update app_scopes set floor = $2, emptied = $2, imported = 0 where app_name = $1",
    /// The first event after the sequence `$5` that was committed at `$6` or later.
    committed_since: format!(
        "select sequence from events where {OF_INCARNATION} and sequence > $5 and commit_time >= $6 \
         order by sequence limit 1"
    ),
    note_trim: format!(
        "insert into trims ({OWNER}, emptied) values ($1, $2, $3, $4, $5) on conflict ({OWNER}) \
         do update set emptied = case when trims.emptied < excluded.emptied then trims.emptied else excluded.emptied end"
    ),
    next_trim: format!("select {OWNER}, emptied from trims limit 1{}", words.skip_locked()),
    /// Locks the row of a trim, where the database is distributed, and reads how far it is.
    claim_trim: format!("select emptied from trims where {OF_INCARNATION}{}", words.claim()),
    empty_events: format!(
        "update events set author = '', branch = null, body = '' where {OF_INCARNATION} \
         and sequence > $5 and sequence <= $6"
    ),
    set_emptied: format!("update trims set emptied = $5 where {OF_INCARNATION}"),
    /// The last of the first `$6` spans that ended with the revision `$5` or before.
    last_passed: format!(
        "select node, key from (select node, key from session_spans where {OF_INCARNATION} and node <= $5 \
           and valid_to <= $5 order by node, key limit 0 + $6) as t order by node desc, key desc limit 1"
    ),
    purge_passed: format!(
        "delete from session_spans where {OF_INCARNATION} and (node, key) <= ($6, $7) and valid_to <= $5"
    ),
    finish_trim: format!("delete from trims where {OF_INCARNATION}"),
    unlist_update: "delete from session_updates where app_name = $1 and user_id = $2 and id = $3 \
                    and update_time = (select update_time from sessions \
                      where app_name = $1 and user_id = $2 and id = $3 and incarnation = $4)",
    unlist_session: "delete from sessions where app_name = $1 and user_id = $2 and id = $3 and incarnation = $4",
    bury_session: "insert into buried_sessions (app_name, user_id, session_id, incarnation) \
                   values ($1, $2, $3, $4) on conflict do nothing",
    purge_events: purge("events", "sequence"),
    purge_state: purge("session_state", "key"),
    purge_spans: purge("session_spans", "node, key"),
    forget_buried: format!("delete from buried_sessions where {OF_INCARNATION}"),
    /// Locks the sessions of a user.
    sessions_of_user: format!(
        "select id, incarnation from sessions where app_name = $1 and user_id = $2 order by id{}",
        words.for_update()
    ),
    /// What was buried before becomes a part of the erasure `$3`.
    claim_buried: "update buried_sessions set erasure = $3 where app_name = $1 and user_id = $2 and erasure is null",
    bury_sessions_of_user: "insert into buried_sessions (app_name, user_id, session_id, incarnation, erasure) \
                            select app_name, user_id, id, incarnation, $3 from sessions where app_name = $1 and user_id = $2",
    bury_imports_of_user: "insert into buried_sessions (app_name, user_id, session_id, incarnation, erasure) \
                           select app_name, user_id, session_id, incarnation, $3 from imports \
                           where app_name = $1 and user_id = $2",
    forget_imports_of_user: of_user("imports"),
    unlist_sessions_of_user: of_user("sessions"),
    unlist_updates_of_user: of_user("session_updates"),
    /// Lets the state of users of the app begin above the revision of this one's.
    outlast_user_scope: "insert into erased_revisions (app_name, revision) \
                         select app_name, revision + 1 from user_scopes where app_name = $1 and user_id = $2 \
                         on conflict (app_name) do update set revision = excluded.revision \
                         where erased_revisions.revision < excluded.revision",
    forget_user_scope: of_user("user_scopes"),
    forget_user_state: of_user("user_state"),
    forget_user_log: of_user("user_log"),
    forget_user_spans: of_user("user_spans"),
    forget_patches_of_user: of_user("user_patches"),
    erasure: format!("select {ERASURE} from erasures where id = $1"),
    erasure_of_app: format!("select {ERASURE} from erasures where app_name = $1 and id = $2"),
    erasure_of_request: format!("select {ERASURE} from erasures where app_name = $1 and request = $2"),
    /// Those after the id `$1`, up to `$2`.
    erasures: format!("select {ERASURE} from erasures where id > $1 order by id limit 0 + $2"),
    /// Up to `$1` erasures of which no row is left, nor of an earlier one of the same user.
    erasures_to_finish: format!(
        "select {ERASURE} from erasures e where done_time is null \
           and not exists (select 1 from buried_sessions b where b.app_name = e.app_name and b.erasure = e.id) \
           and not exists (select 1 from erasures l where l.app_name = e.app_name and l.subject = e.subject \
             and l.done_time is null and (l.request_time, l.id) < (e.request_time, e.id)) \
         order by request_time, id limit 0 + $1"
    ),
    /// The next number of an erasure of the app.
    number_erasure: "insert into erasure_counts (app_name, count) values ($1, 1) \
                     on conflict (app_name) do update set count = erasure_counts.count + 1 returning count",
    note_erasure: "update token_epochs set erasure = $3 where app_name = $1 and subject = $2",
    /// The number of the last erasure of a user.
    last_erasure: "select erasure from token_epochs where app_name = $1 and subject = $2",
    /// The apps that had erasures, and how many.
    erasure_counts: "select app_name, count from erasure_counts",
    insert_erasure: format!(
        "insert into erasures ({ERASURE}) values ($1, $2, $3, $4, $5, $6, $7, $8, null, $9, $10, $11, $12, null)"
    ),
    count_removed: "update erasures set events = events + $3, state_keys = state_keys + $4, changes = changes + $5 \
                    where app_name = $1 and id = $2",
    finish_erasure: "update erasures set done_time = $3, receipt = $4 where app_name = $1 and id = $2 and done_time is null",
    blocked_user: "select subject from blocked_users where app_name = $1 and subject = $2",
    block_user: "insert into blocked_users (app_name, subject) values ($1, $2) on conflict do nothing",
    unblock_user: "delete from blocked_users where app_name = $1 and subject = $2",
    erasure_secret: "select secret from erasure_secrets where name = $1",
    insert_erasure_secret: "insert into erasure_secrets (name, secret) values ($1, $2) on conflict do nothing",
    /// The digest of a request that changed a shared scope.
    user_patch: "select digest from user_patches where app_name = $1 and user_id = $2 and request_key = $3",
    app_patch: "select digest from app_patches where app_name = $1 and request_key = $2",
    remember_user_patch: format!(
        "insert into user_patches (app_name, user_id, request_key, digest, time) values ($1, $2, $3, $4, {})",
        present(words, "$5")
    ),
    remember_app_patch: format!(
        "insert into app_patches (app_name, request_key, digest, time) values ($1, $2, $3, {})",
        present(words, "$4")
    ),
    /// Removes up to `$3` requests that are older than `$2`; `$1` is now, where the database has no clock.
    forget_user_patches: forget_patches(words, "user_patches", "app_name, user_id, request_key"),
    forget_app_patches: forget_patches(words, "app_patches", "app_name, request_key"),
    /// Names of apps from `$1` on, up to `$2` of them, those before `$3`, or all if that is null.
    apps: names(|from| {
        format!(
            "select min(app_name) as n from sessions where app_name {from} \
             union all select min(app_name) from app_scopes where app_name {from} \
             union all select min(app_name) from user_scopes where app_name {from}"
        )
    }),
    /// Names of the users of the app `$4`, in the same way.
    users: names(|from| {
        format!(
            "select min(user_id) as n from sessions where app_name = $4 and user_id {from} \
             union all select min(user_id) from user_scopes where app_name = $4 and user_id {from}"
        )
    }),
    /// The policy of an app.
    policy: "select revision, policy from policies where app_name = $1",
    /// What the events of a session up to `$4` cost that are not trimmed, see `domain::event::cost`.
    log_cost: "select coalesce(sum(case when octet_length(e.body) > 16384 then (octet_length(e.body) + 16383) / 16384 else 1 end), 0) \
               from sessions s join events e on e.app_name = s.app_name and e.user_id = s.user_id and e.session_id = s.id \
                 and e.incarnation = s.incarnation and e.sequence > s.base_revision and e.sequence <= $4 \
               where s.app_name = $1 and s.user_id = $2 and s.id = $3",
    /// What it bounds of what is stored.
    bounds: "select sessions_per_user, events_per_session from policies where app_name = $1",
    /// How many sessions a user has that have not expired by now (`$3`, where the database has no clock), counted up to `$4`.
    count_sessions: format!(
        "select count(*) from (select 1 from sessions s where s.app_name = $1 and s.user_id = $2 \
           and (s.expire_time is null or s.expire_time > {}) limit 0 + $4) as counted",
        present(words, "$3")
    ),
    /// Policies of apps after `$1`, up to `$2`.
    policies: "select app_name, policy from policies where app_name > $1 and policy is not null \
               order by app_name limit 0 + $2",
    /// Affects no row, if the revision before `$2` is not the present one.
    set_policy: "insert into policies (app_name, revision, policy, sessions_per_user, events_per_session) \
                 values ($1, $2, $3, $4, $5) \
                 on conflict (app_name) do update set revision = excluded.revision, policy = excluded.policy, \
                   sessions_per_user = excluded.sessions_per_user, events_per_session = excluded.events_per_session \
                 where policies.revision = excluded.revision - 1",
    /// What a policy judges the sessions of an app by: of those after `$2, $3, $4`, up to `$5`. `$6` is now, where the database
    /// has no clock; `$7` and `$8` say whether the first event of the log and the first stub count.
    walk: kept(
        words,
        ["$6", "$7", "$8"],
        "(s.create_time, s.user_id, s.id) > ($2, $3, $4) order by s.create_time, s.user_id, s.id limit 0 + $5"
    ),
    /// The same of one session.
    kept: kept(words, ["$4", "$5", "$6"], "s.user_id = $2 and s.id = $3"),
    /// The first `$6` stubs of a session that begins at `$5`.
    first_stubs: format!(
        "select sequence, commit_time from events where {OF_INCARNATION} and sequence <= $5 order by sequence limit 0 + $6"
    ),
    purge_stubs: format!("delete from events where {OF_INCARNATION} and sequence <= $5"),
    /// The app's shared scope, with what of the first `$2` changes after its floor was made `$3` microseconds ago or later;
    /// `$4` is now, where the database has no clock.
    history_of_app: history(
        words,
        "app",
        "l.app_name = $1",
        ["$2", "$3", "$4"],
        "'' as user_id",
        "where s.app_name = $1"
    ),
    /// The same of users after `$2`, up to `$3`; `$4`, `$5` and `$6` are those parameters.
    history_of_users: history(
        words,
        "user",
        "l.app_name = $1 and l.user_id = s.user_id",
        ["$4", "$5", "$6"],
        "s.user_id",
        "where s.app_name = $1 and s.user_id > $2 order by s.user_id limit 0 + $3"
    ),
    /// The same of one scope, whose row is locked.
    locked_history_of_app: history(
        words,
        "app",
        "l.app_name = $1",
        ["$2", "$3", "$4"],
        "'' as user_id",
        &format!("where s.app_name = $1{}", words.for_update())
    ),
    locked_history_of_user: history(
        words,
        "user",
        "l.app_name = $1 and l.user_id = $2",
        ["$3", "$4", "$5"],
        "s.user_id",
        &format!("where s.app_name = $1 and s.user_id = $2{}", words.for_update())
    ),
    raise_user_floor: "update user_scopes set floor = $3 where app_name = $1 and user_id = $2 and floor < $3",
    raise_app_floor: "update app_scopes set floor = $2 where app_name = $1 and floor < $2",
    set_user_emptied: "update user_scopes set emptied = $3 where app_name = $1 and user_id = $2",
    set_app_emptied: "update app_scopes set emptied = $2 where app_name = $1",
    /// The first `$4` values that ended with the revision `$3` or before.
    user_values_before: values_before("user", "app_name = $1 and user_id = $2", ["$3", "$4"]),
    app_values_before: values_before("app", "app_name = $1", ["$2", "$3"]),
    /// Their changes in the log.
    purge_user_log: purge_log(words, "user", "app_name = $1 and user_id = $2", ["$3", "$4"]),
    purge_app_log: purge_log(words, "app", "app_name = $1", ["$2", "$3"]),
    /// Their spans, up to the last one.
    purge_user_spans: "delete from user_spans where app_name = $1 and user_id = $2 and valid_to <= $3 \
                       and (node, key) <= ($4, $5)",
    purge_app_spans: "delete from app_spans where app_name = $1 and valid_to <= $2 and (node, key) <= ($3, $4)",
    /// Removals with a revision after `$3`, up to `$4`: the revision that ends the first `$5`.
    last_user_removal: last_removal("user", "app_name = $1 and user_id = $2", ["$3", "$4", "$5"]),
    last_app_removal: last_removal("app", "app_name = $1", ["$2", "$3", "$4"]),
    purge_user_removals: "delete from user_log where app_name = $1 and user_id = $2 and revision > $3 and revision <= $4 \
                          and value is null",
    purge_app_removals: "delete from app_log where app_name = $1 and revision > $2 and revision <= $3 and value is null",
    /// One key, if there is any. All ids are after the empty one, so it is found by the index.
    any_api_key: "select id from api_keys where id > '' limit 1",
    api_key: format!("select {API_KEY} from api_keys where id = $1 and revoke_time is null"),
    /// Keys after the id `$1`, up to `$2`.
    api_keys: format!(
        "select {API_KEY} from api_keys where id > $1 and revoke_time is null order by id limit 0 + $2"
    ),
    /// Affects the row, too, if the same key is there already; no row, if it is another one.
    insert_api_key: format!(
        "insert into api_keys ({API_KEY}) values ($1, $2, $3, $4, $5, $6, $7, $8, $9) \
         on conflict (id) do update set digest = excluded.digest where api_keys.digest = excluded.digest"
    ),
    lock_api_key: format!(
        "select {API_KEY} from api_keys where id = $1 and revoke_time is null{}",
        words.for_update()
    ),
    change_api_key: "update api_keys set name = $2, role = $3, apps = $4, users = $5, expire_time = $6 \
                     where id = $1 and revoke_time is null",
    /// Affects the row again if it was revoked at this very time: an earlier try did it.
    revoke_api_key: "update api_keys set revoke_time = $2, digest = null \
                     where id = $1 and (revoke_time is null or revoke_time = $2)",
    touch_api_key: format!(
        "update api_keys set last_used_time = $2 where id = $1 and revoke_time is null \
           and coalesce(last_used_time < $2 - {LAST_USED_TO}, true)"
    ),
    token_secret: "select secret from token_secrets where name = 'current'",
    insert_token_secret: "insert into token_secrets (name, secret) values ('current', $1) on conflict do nothing",
    replace_token_secret: "insert into token_secrets (name, secret) values ('current', $1) \
                           on conflict (name) do update set secret = excluded.secret",
    /// Keys after the id `$1` that were revoked, up to `$2`.
    revoked_api_keys: "select id, revoke_time from api_keys where id > $1 and revoke_time is not null order by id limit 0 + $2",
    /// The tick `$1`, and others.
    feed_tick: format!("select {} {} and {} = $1", words.feed.ticks, words.feed.valid, tick(words)),
    feed_oldest: format!("select {} {} order by {} limit 1", words.feed.ticks, words.feed.valid, tick(words)),
    feed_latest: format!("select {} {} order by {} desc limit 1", words.feed.ticks, words.feed.valid, tick(words)),
    /// The last of `$2` ticks from `$1` on.
    feed_window: format!(
        "select tick, time, snapshot from (select {} {} and {tick} >= $1 order by {tick} limit 0 + $2) as t \
         order by tick desc limit 1",
        words.feed.ticks,
        words.feed.valid,
        tick = tick(words)
    ),
    feed_changes: words.feed.changes,
    feed_changes_of_user: words.feed.changes_of_user,
    /// The events from `$5` to `$6`, as far as they are there.
    feed_events: format!(
        "select sequence, commit_time, body from events where {OF_INCARNATION} and sequence >= $5 and sequence <= $6 \
           and sequence > (select s.base_revision from sessions s where {OF_SESSION}) order by sequence"
    ),
    feed_user_state: "select revision, key, value from user_log where app_name = $1 and user_id = $2 and revision >= $3 \
                      and revision <= $4 order by revision, key",
    feed_app_state: "select revision, key, value from app_log where app_name = $1 and revision >= $2 and revision <= $3 \
                     order by revision, key",
    feed_forget_user: format!(
        "update changes set kind = 0, user_id = null, session_id = null, incarnation = null, detail = null \
         where {}app_name = $1 and user_id = $2",
        words.feed.of_user
    ),
    /// After the user `$1` and the app `$2`, up to `$3`.
    token_epochs: "select app_name, subject, epoch from token_epochs where (subject, app_name) > ($1, $2) \
                   order by subject, app_name limit 0 + $3",
    /// Affects no row if the tokens were revoked as often already.
    raise_token_epoch: "insert into token_epochs (app_name, subject, epoch) values ($1, $2, $3) \
                        on conflict (subject, app_name) do update set epoch = excluded.epoch \
                        where token_epochs.epoch < excluded.epoch",
    token_epoch: "select epoch from token_epochs where app_name = $1 and subject = $2",
    revoke_tokens: "insert into token_epochs (app_name, subject, epoch) values ($1, $2, 1) \
                    on conflict (subject, app_name) do update set epoch = token_epochs.epoch + 1 returning epoch",
}

/// The column that numbers ticks.
fn tick(words: &Words) -> &'static str {
    if words.feed.is_row { "id" } else { "tick" }
}

/// The condition that finds the session of a query: its key, and that it has not expired.
pub fn of_session(now: &str) -> String {
    format!(
        " from sessions s where s.app_name = $1 and s.user_id = $2 and s.id = $3 \
          and (s.expire_time is null or s.expire_time > {now})"
    )
}

/// The time now, where `now` is that of the process.
fn present(words: &Words, now: &str) -> String {
    words.clock.map_or_else(|| now.to_owned(), |clock| format!("coalesce({clock}, {now})"))
}

/// Citus wants to know before it sends an update what a `case` or a `coalesce` compares: there the clock is read apart.
fn set_metadata(words: &Words) -> String {
    let (words, from) = match words.clock {
        Some(clock) if words.shape.is_distributed() => {
            let apart = Words { clock: Some("n.now"), ttl_clock: "n.now", ..*words };
            (apart, format!(" from (select {clock} as now) as n"))
        }
        _ => (*words, String::new()),
    };
    format!(
        "update sessions set metadata_revision = metadata_revision + 1, \
           display_name = case when $4 then $5 else display_name end, labels = case when $6 then $7 else labels end, \
           expire_time = case when $8 then $9 + {} else expire_time end, active_day = {}{from} \
         where app_name = $1 and user_id = $2 and id = $3",
        ttl_correction(words.ttl_clock, "$10"),
        day(&words, "$11")
    )
}

/// The day of now, in whole days since 1970.
fn day(words: &Words, now: &str) -> String {
    format!("{} / {DAY}", present(words, now))
}

/// What a policy judges sessions of the app `$1` by.
fn kept(words: &Words, [now, with_event, with_stub]: [&str; 3], which: &str) -> String {
    const OF_S: &str = "e.app_name = $1 and e.user_id = s.user_id and e.session_id = s.id \
                        and e.incarnation = s.incarnation";
    format!(
        "select s.user_id, s.id, s.create_time, s.active_day, s.expire_time, s.revision, s.base_revision, \
           case when {with_event} then (select e.commit_time from events e where {OF_S} \
             and e.sequence = s.base_revision + 1) end as first_commit, \
           case when {with_stub} then (select e.commit_time from events e where {OF_S} \
             and e.sequence <= s.base_revision order by e.sequence limit 1) end as first_stub, \
           {} as now from sessions s where s.app_name = $1 and {which}",
        present(words, now)
    )
}

/// One page of events. The inner query picks rows by the filters without their bodies; the middle one adds up sizes
/// (including what an answer adds to a body); the outer one fetches the bodies that fit, one by one. With a join, a planner
/// that does not know how many events the session has might scan all of them for each row. The first row always fits.
fn events_page(direction: &str, filter: &str) -> String {
    format!(
        "select sequence, commit_time, total, (select e.body from events e where e.app_name = $1 \
             and e.user_id = $2 and e.session_id = $3 and e.incarnation = $4 and e.sequence = sized.sequence) as body \
         from ( \
             select sequence, commit_time, sum(size) over (order by sequence {direction}) as size_so_far, \
               row_number() over (order by sequence {direction}) as place, count(*) over () as total from ( \
                 select sequence, commit_time, octet_length(body) + 80 as size from events where {OF_INCARNATION} \
                   and sequence > $5 and sequence < $6 \
                   and ($7 is null or event_time >= $7) and ($8 is null or author = $8) \
                   and ($9 is null or invocation_id = $9) and ($10 is null or branch = $10){filter} \
                 order by sequence {direction} limit 0 + $11) as page) as sized \
         where size_so_far <= $12 or place = 1 order by sequence {direction}"
    )
}

fn state_then(words: &Words) -> String {
    let Words { member, wanted, filed, .. } = words;
    format!(
        "select (select {app_member} from (select t.key, t.value from app_state t where t.app_name = $1 \
             and t.revision <= $7{app_wanted} \
           union all select t.key, (select l.value from app_log l where l.app_name = $1 and l.key = t.key \
             and l.revision = t.valid_from) from {app_filed} \
             where t.valid_from <= $7 and t.valid_to > $7{app_wanted}) as t) as app_state, \
         (select {user_member} from (select t.key, t.value from user_state t where t.app_name = $1 and t.user_id = $2 \
             and t.revision <= $6{user_wanted} \
           union all select t.key, (select l.value from user_log l where l.app_name = $1 \
             and l.user_id = $2 and l.key = t.key and l.revision = t.valid_from) from {user_filed} \
             where t.valid_from <= $6 and t.valid_to > $6{user_wanted}) as t) as user_state, \
         (select {session_member} from (select t.key, t.value from session_state t where t.app_name = $1 \
             and t.user_id = $2 and t.session_id = $3 and t.incarnation = $4 and t.revision <= $5{session_wanted} \
           union all select t.key, t.value from {session_filed} \
             where t.valid_from <= $5 and t.valid_to > $5{session_wanted}) as t) as session_state",
        app_member = member("'app:' || t.key"),
        user_member = member("'user:' || t.key"),
        session_member = member("t.key"),
        app_wanted = wanted("$11"),
        user_wanted = wanted("$12"),
        session_wanted = wanted("$13"),
        app_filed = filed("app_spans", "app_name = $1", "$10"),
        user_filed = filed("user_spans", "app_name = $1 and user_id = $2", "$9"),
        session_filed = filed("session_spans", OF_INCARNATION, "$8"),
    )
}

fn scope_then(words: &Words, scope: &str, of: &str, logged: &str, [revision, nodes]: [&str; 2]) -> String {
    let spans = (words.filed)(&format!("{scope}_spans"), of, nodes);
    format!(
        "select (select {} from (select key, value from {scope}_state where {of} and revision <= {revision} \
           union all select t.key, (select l.value from {scope}_log l where {logged} and l.key = t.key \
             and l.revision = t.valid_from) from {spans} \
             where t.valid_from <= {revision} and t.valid_to > {revision}) as t) as state",
        (words.member)("t.key")
    )
}

fn base_time(scope: &str, of: &str, revision: &str) -> String {
    format!(
        "select coalesce((select max(time) from {scope}_log where {of} and revision <= {revision}), \
           (select time from {scope}_log where {of} and revision > {revision} order by revision limit 1), 0)"
    )
}

fn past(scope: &str, of: &str, [after, through, rows, bytes]: [&str; 4]) -> String {
    format!(
        "select revision, key, value, time, total from (select revision, key, value, time, count(*) over () as total, \
             sum(size) over (order by revision, key) as size_so_far, \
             row_number() over (order by revision, key) as place \
           from (select revision, key, value, time, octet_length(key) + coalesce(octet_length(value), 0) + 100 as size \
                 from {scope}_log where {of} and revision > {after} and revision <= {through} \
                 order by revision, key limit 0 + {rows}) as page) as sized \
         where size_so_far <= {bytes} or place = 1 order by revision, key"
    )
}

fn keys_changed(words: &Words, scope: &str, of: &str, [keys, since]: [&str; 2], began: &str) -> String {
    let pairs = (words.pairs)(keys, since);
    format!(
        "select p.text, (select max(c.revision) from ( \
           select max(revision) as revision from {scope}_log where {of} and key = p.text \
           union all select floor from {scope}_scopes where {of} and (p.number > 0 or floor > {began})) as c) from {pairs}"
    )
}

/// What is to be known of shared scopes to raise their floors: of the first `most` changes after the floor, which was the last,
/// and which the first that is not older than `age`.
fn history(words: &Words, scope: &str, of: &str, [most, age, now]: [&str; 3], user: &str, which: &str) -> String {
    let changes = |result: &str| {
        format!(
            "case when s.floor < s.revision then (select {result} from (select l.revision, l.time from {scope}_log l \
               where {of} and l.revision > s.floor order by l.revision limit 0 + {most}) as l) end"
        )
    };
    let young = format!("min(case when l.time >= {} - {age} then l.revision end)", present(words, now));
    format!(
        "select {user}, s.floor, s.emptied, {} as young, {} as last from {scope}_scopes s {which}",
        changes(&young),
        changes("max(l.revision)"),
    )
}

fn values_before(scope: &str, of: &str, [floor, most]: [&str; 2]) -> String {
    format!(
        "select node, key, valid_from from {scope}_spans where {of} and node <= {floor} and valid_to <= {floor} \
         order by node, key limit 0 + {most}"
    )
}

fn purge_log(words: &Words, scope: &str, of: &str, [keys, revisions]: [&str; 2]) -> String {
    let pairs = (words.pairs)(keys, revisions);
    format!("delete from {scope}_log where {of} and (key, revision) in (select p.text, p.number from {pairs})")
}

fn last_removal(scope: &str, of: &str, [after, through, most]: [&str; 3]) -> String {
    format!(
        "select max(revision), count(*) from (select revision from {scope}_log where {of} and revision > {after} \
           and revision <= {through} and value is null order by revision limit 0 + {most}) as r"
    )
}

/// The correction of an expiry that a process computed from its own `now`, if that is not null, and a time to live: it counts from
/// the database's.
pub fn ttl_correction(clock: &str, now: &str) -> String {
    format!("case when {now} is null then 0 else {clock} - {now} end")
}

/// Removes up to `$5` rows of a buried incarnation: those up to the last key of a page. A planner without statistics would
/// look through the page once more for each row, if it were a list of keys.
fn purge(table: &str, key: &str) -> String {
    let row = if key.contains(',') { format!("({key})") } else { key.to_owned() };
    let backwards: Vec<String> = key.split(", ").map(|column| format!("{column} desc")).collect();
    format!(
        "delete from {table} where {OF_INCARNATION} and {row} <= (select {key} from (select {key} from {table} \
         where {OF_INCARNATION} order by {key} limit 0 + $5) as page order by {} limit 1)",
        backwards.join(", ")
    )
}

/// Removes what a table has of a user.
fn of_user(table: &str) -> String {
    format!("delete from {table} where app_name = $1 and user_id = $2")
}

fn forget_patches(words: &Words, table: &str, key: &str) -> String {
    let skip_locked = words.skip_locked();
    format!(
        "delete from {table} where ({key}) in (select {key} from {table} where time < {} - $2 order by time \
         limit 0 + $3{skip_locked})",
        present(words, "$1")
    )
}

/// The next names from `$1` on, each found by one lookup in each index (a loose index scan): the cost grows with names, not
/// rows. It ends with the first that is not before `$3`; that this is no part of the lookups keeps one plan for all.
fn names(next: impl Fn(&str) -> String) -> String {
    const WITHIN: &str = "coalesce(name < $3, name is not null)";
    format!(
        "with recursive names(name) as (select min(n) from ({}) as first \
           union all select (select min(n) from ({}) as next) from names where {WITHIN}) \
         select name from names where {WITHIN} limit 0 + $2",
        next(">= $1"),
        next("> names.name")
    )
}
