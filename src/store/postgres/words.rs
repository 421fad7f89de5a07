//! PostgreSQL's words.

use crate::domain::query::ANY_TIME;
use crate::domain::time::Micros;
use crate::store::shape::Shape;
use crate::store::sql::words::{FeedWords, Words};

/// The database's clock, in whole microseconds: the start of the statement that the client sent. It is one moment for the whole
/// statement, later than the waits of earlier statements, and stable (unlike `clock_timestamp()`), so that an index can be
/// searched by it. (Exact: a double holds the microseconds of any time of this century.)
macro_rules! clock {
    () => {
        "(extract(epoch from statement_timestamp()) * 1000000)::bigint"
    };
}
pub(super) use clock;

/// The JSON number that shows a time, as [`Micros::to_number`] writes it.
pub(super) fn number_of(time: &str) -> String {
    format!("(({time}) / 1000000)::text || '.' || lpad((({time}) % 1000000)::text, 6, '0')")
}

/// The ticks of the present epoch, and of this database: one that was restored from a dump begins with low transaction ids.
macro_rules! valid_ticks {
    () => {
        "where pg_snapshot_xmax(snapshot) <= pg_snapshot_xmax(pg_current_snapshot()) \
           and epoch = (select l.epoch from ticks l order by l.tick desc limit 1)"
    };
}
pub(super) use valid_ticks;

/// What each tick added: what its snapshot shows, and the one before did not. Of the transactions that were running then, each is
/// looked up.
macro_rules! changes {
    ($of:literal, $filter:literal) => {
        concat!(
            "select t.tick, t.time as tick_time, t.snapshot::text as snapshot, c.id, c.kind, c.app_name, c.user_id, c.session_id, \
               c.incarnation, c.first_revision, c.last_revision, c.detail, c.time \
             from (select * from ticks where tick >= $1 and tick <= $3 order by tick) as t cross join lateral ( \
               select n.* from changes n where n.tx >= pg_snapshot_xmax(t.since) and n.tx < pg_snapshot_xmax(t.snapshot) \
                 and pg_visible_in_snapshot(n.tx, t.snapshot)",
            $of,
            " union all select n.* from pg_snapshot_xip(t.since) as x(tx) cross join lateral ( \
                 select * from changes n where n.tx = x.tx and pg_visible_in_snapshot(n.tx, t.snapshot)",
            $of,
            " offset 0) as n) as c where c.kind <> 0 and (t.tick > $1 or c.id > $2) ",
            $filter,
            " order by t.tick, c.id limit 0 + $4"
        )
    };
}

pub static WORDS: Words = WORDS_OF_SERVER;

/// On Citus, distributed by app. It sends what an insertion within a statement returns to all nodes.
pub static DISTRIBUTED: Words =
    Words { shape: Shape::Distributed, listed: |insert, _| insert.to_owned(), ..WORDS_OF_SERVER };

/// The time of a query that does not leave it to the database's clock.
pub fn pinned(now: Micros) -> Option<i64> {
    (now == ANY_TIME).then_some(now.0)
}

const WORDS_OF_SERVER: Words = Words {
    shape: Shape::Server,
    clock: Some(clock!()),
    now: concat!("coalesce($4, ", clock!(), ")"),
    member: |key| format!("string_agg(to_json({key})::text || ':' || t.value, ',' order by t.key)"),
    wanted: |keys| format!(" and ({keys}::text[] is null or t.key = any({keys}))"),
    among: |numbers| format!(" = any({numbers}::bigint[])"),
    each: |keys| format!("unnest({keys}::text[]) as k(value)"),
    numbers: |numbers| format!("unnest({numbers}::bigint[]) as k(value)"),
    rows: |name, columns| {
        let lists: Vec<String> = columns.iter().map(|(list, _, of)| format!("{list}::{of}[]")).collect();
        let names: Vec<&str> = columns.iter().map(|(_, name, _)| *name).collect();
        format!("unnest({}) as {name}({})", lists.join(", "), names.join(", "))
    },
    filed: |table, of, nodes| {
        format!(
            "unnest({nodes}::bigint[]) as n(node) cross join lateral (select * from {table} s where {of} \
               and s.node = n.node offset 0) as t"
        )
    },
    look_up: |table, key| format!("cross join lateral (select * from {table} l where {key} offset 0) as l"),
    logged: |log| format!("{log} as l"),
    look_up_logged: |log, key| format!("cross join lateral (select * from {log} l where {key} offset 0) as l"),
    look_up_if: |table, name, key| {
        format!("left join lateral (select * from {table} {name} where {key} offset 0) as {name} on true")
    },
    listed: |insert, _| {
        format!(
            "with made as ({insert} returning app_name, user_id, id, update_time) \
             insert into session_updates (app_name, user_id, id, place) \
             select app_name, user_id, id, update_time from made"
        )
    },
    by_source: |of| format!("(select * from sessions s where {of} offset 0) s"),
    join_listed: "cross join lateral (select * from sessions l where l.app_name = $1 and l.user_id = o.user_id \
                                        and l.id = o.id offset 0) s",
    place_in: "strpos",
    unit_separator: "chr(31)",
    visible: " and not exists (select from unnest($13::bigint[], $14::bigint[]) as h(first, last) \
                               where sequence > h.first and sequence <= h.last)",
    later: "greatest",
    number_of,
    ttl_clock: clock!(),
    // Planned as if all were read: for a part of the rows, of which it does not know how many there are, a planner would scan the table.
    with_word: "(with found as materialized (select f.app_name, f.user_id, f.incarnation, f.sequence, f.commit_time, f.author \
                from event_words f where f.words @> array[$3::bigint] and f.app_name = $1 and f.user_id = $2) \
                select * from found) as w where true",
    has_word: |word| format!("l.words @> array[{word}::bigint]"),
    feed: FeedWords {
        ticks: "tick, time, snapshot::text as snapshot from ticks",
        valid: valid_ticks!(),
        changes: changes!("", "and ($5::text is null or c.app_name = $5)"),
        changes_of_user: changes!(
            " and hashtextextended(n.user_id, hashtextextended(n.app_name, 0)) = hashtextextended($6, hashtextextended($5, 0)) \
              and n.app_name = $5 and n.user_id = $6",
            ""
        ),
        of_user: "hashtextextended(user_id, hashtextextended(app_name, 0)) = hashtextextended($2, hashtextextended($1, 0)) and ",
        first_window: 1,
        window: 100,
        window_of_user: 1000,
        is_row: false,
    },
    label: |name| format!("(s.labels::jsonb ->> {name})"),
};
