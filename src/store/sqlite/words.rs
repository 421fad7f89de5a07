//! SQLite's words. It has no arrays: a list is a JSON array, and rows are an array of arrays, in the first parameter of their columns.

use std::sync::LazyLock;

use crate::store::shape::Shape;
use crate::store::sql::columns::{HEAD_COLUMNS, of_session, state_columns};
use crate::store::sql::words::{FeedWords, Words};

macro_rules! changes {
    ($of:literal) => {
        concat!(
            "select id as tick, time as tick_time, '' as snapshot, id, kind, app_name, user_id, session_id, incarnation, \
               first_revision, last_revision, detail, time from changes where ",
            $of,
            " and id > $1 and $2 is not null and id <= $3 and kind <> 0 order by id limit 0 + $4"
        )
    };
}

pub static WORDS: Words = Words {
    shape: Shape::File,
    clock: None,
    now: "$4",
    member: |key| format!("group_concat(json_quote({key}) || ':' || t.value, ',' order by t.key)"),
    wanted: |keys| format!(" and ({keys} is null or t.key in (select value from json_each({keys})))"),
    among: |numbers| format!(" in (select value from json_each({numbers}))"),
    each: |keys| format!("json_each({keys}) as k"),
    numbers: |numbers| format!("json_each({numbers}) as k"),
    rows: |name, columns| {
        let values: Vec<String> =
            columns.iter().zip(0..).map(|((_, name, _), n)| format!("value ->> {n} as {name}")).collect();
        let rows = columns.first().map_or("", |(rows, ..)| rows);
        format!("(select {} from json_each({rows})) as {name}", values.join(", "))
    },
    filed: |table, of, nodes| format!("json_each({nodes}) as n cross join {table} as t on {of} and t.node = n.value"),
    look_up: |table, key| format!("cross join {table} as l on {key}"),
    // Without statistics, the planner takes the primary key, of which it has the first column.
    logged: |log| format!("{log} as l indexed by {log}_by_revision"),
    look_up_logged: |log, key| format!("cross join {log} as l indexed by {log}_by_revision on {key}"),
    look_up_if: |table, name, key| format!("left join {table} as {name} on {key}"),
    listed: |insert, id| {
        format!(
            "{insert}; insert into session_updates (app_name, user_id, id, place) \
               select app_name, user_id, id, update_time from sessions \
               where changes() = 1 and app_name = $1 and user_id = $2 and id = {id}"
        )
    },
    by_source: |_| "sessions s indexed by sessions_by_source".to_owned(),
    join_listed: "cross join sessions s on s.app_name = $1 and s.user_id = o.user_id and s.id = o.id",
    place_in: "instr",
    unit_separator: "char(31)",
    visible: " and not exists (select 1 from json_each($13) where sequence > value ->> 0 and sequence <= value ->> 1)",
    later: "max",
    number_of: |time| format!("printf('%d.%06d', ({time}) / 1000000, ({time}) % 1000000)"),
    // The clock of its one process is never wrong by its own.
    ttl_clock: "$10",
    with_word: "event_words_by_word p cross join event_words w on w.incarnation = p.incarnation and w.sequence = p.sequence \
                where p.word = $3",
    has_word: |word| {
        format!(
            "exists (select 1 from event_words_by_word p where p.word = {word} and p.incarnation = l.incarnation \
               and p.sequence = l.sequence)"
        )
    },
    feed: FeedWords {
        ticks: "id as tick, time, '' as snapshot from changes",
        valid: "where id >= coalesce((select max(l.id) from changes l where l.app_name = ''), 0)",
        changes: changes!("($5 is null or app_name = $5)"),
        changes_of_user: changes!("app_name = $5 and user_id = $6"),
        of_user: "",
        first_window: 2000,
        window: 2000,
        window_of_user: 2000,
        is_row: true,
    },
    label: |name| format!("json_extract(s.labels, '$.\"' || {name} || '\"')"),
};

/// As the statement `view`, with a range of events: those after `$8` that are among the last `$9`, or all, before `$10`, up to
/// `$11` and `$12` bytes of them, the first in any case. Of each the commit time, the bytes of its body, and its body.
pub static PLAIN_VIEW: LazyLock<String> = LazyLock::new(|| {
    let wanted = WORDS.wanted;
    format!(
        "select {}, {}, (select group_concat(commit_time || ' ' || octet_length(body) || ' ' || body, '' order by sequence) \
           from (select sequence, commit_time, body, octet_length(body) + 80 as size, \
                   sum(octet_length(body) + 80) over (order by sequence rows unbounded preceding) as size_so_far \
                 from (select sequence, commit_time, body from events e \
                       where e.app_name = $1 and e.user_id = s.user_id and e.session_id = s.id \
                         and e.incarnation = s.incarnation \
                         and e.sequence > max($8, s.base_revision, s.revision - coalesce($9, s.revision)) and e.sequence < $10 \
                       order by e.sequence limit 0 + $11)) \
           where size_so_far <= $12 or size_so_far = size) as events{}",
        HEAD_COLUMNS,
        state_columns(&WORDS, &wanted("$5"), &wanted("$6"), &wanted("$7")),
        of_session(WORDS.now)
    )
});
