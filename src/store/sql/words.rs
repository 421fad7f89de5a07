//! The dialect of a database: the fragments in which otherwise common statements differ.

use std::sync::OnceLock;

use crate::domain::policy::DAY_MICROS;
use crate::store::shape::Shape;

/// A column of rows: its parameter, its name, and its type.
type ColumnOf<'a> = (&'a str, &'a str, &'a str);

/// What the databases say differently.
#[derive(Clone, Copy)]
pub struct Words {
    pub shape: Shape,
    /// The clock that decides about expiry; `None`: the process's own.
    pub clock: Option<&'static str>,
    /// Now, where `$4` is the time of a [`SessionQuery`](crate::domain::query::SessionQuery).
    pub now: &'static str,
    /// Members of a JSON object, without braces, of the rows `t`, given the expression of their keys.
    pub member: fn(key: &str) -> String,
    /// Restricts the rows `t` to a list of keys, unless the list is null.
    pub wanted: fn(keys: &str) -> String,
    /// That a number is in a list.
    pub among: fn(numbers: &str) -> String,
    /// The elements of a list of texts, as rows `k(value)`.
    pub each: fn(keys: &str) -> String,
    /// The elements of a list of numbers, as rows `k(value)`.
    pub numbers: fn(numbers: &str) -> String,
    /// Rows of a name that are bound as [columns](super::query::Query::columns).
    pub rows: fn(name: &str, columns: &[ColumnOf<'_>]) -> String,
    /// The rows `t` of a table of spans that are filed under a list of nodes: one index lookup per node.
    pub filed: fn(table: &str, of: &str, nodes: &str) -> String,
    /// A join to the rows `l` of a table, each looked up by its key, in the order of the rows before.
    pub look_up: fn(table: &str, key: &str) -> String,
    /// The rows `l` of the log of a shared scope, which are looked up by revision; and as `look_up`.
    pub logged: fn(log: &str) -> String,
    pub look_up_logged: fn(log: &str, key: &str) -> String,
    /// As `look_up`, with the name of the rows; nulls, if there is none.
    pub look_up_if: fn(table: &str, name: &str, key: &str) -> String,
    /// An insertion of the session with an id, and of its place in the list by last update; affects no row if it is there. On a
    /// distributed database it is of the session alone, and the place in the list takes a statement of its own.
    pub listed: fn(insert: &str, id: &str) -> String,
    /// The sessions `s` of a user that are forks of one session, as the condition on rows `s` says, found by their source.
    pub by_source: fn(of: &str) -> String,
    /// Nested-loop join from `session_updates o` to `sessions s`; keeps the index order of `o`.
    pub join_listed: &'static str,
    /// The function of the place of a text in another one, which is its first argument; 0: it is not there.
    pub place_in: &'static str,
    /// The character U+001F. No id and no JSON text holds it.
    pub unit_separator: &'static str,
    /// Leaves out the events in ranges that begin after `$13` and end with `$14`.
    pub visible: &'static str,
    /// The function of the greatest of its arguments.
    pub later: &'static str,
    /// The JSON number that shows a time.
    pub number_of: fn(time: &str) -> String,
    /// The clock to compare with the time from which a time to live was counted.
    pub ttl_clock: &'static str,
    /// Entries `w` of the index that have the word `$3`.
    pub with_word: &'static str,
    /// Whether the entry `l` of the index has a word.
    pub has_word: fn(word: &str) -> String,
    /// The change feed.
    pub feed: FeedWords,
    /// A label's value, given the placeholder of its name.
    pub label: fn(name: &str) -> String,
}

impl Words {
    /// The time now, where `now` is that of the process, which counts if the database has no clock. (No `coalesce`: Citus allows no
    /// clock in one where something is written.)
    pub fn present(&self, now: &str) -> String {
        self.clock.map_or_else(|| now.to_owned(), |clock| format!("({clock} + 0 * {now}::bigint)"))
    }

    /// Pairs of a text and a number, as rows `p(text, number)`.
    pub fn pairs(&self, texts: &str, numbers: &str) -> String {
        (self.rows)("p", &[(texts, "text", "text"), (numbers, "number", "bigint")])
    }

    /// Artifacts, as rows `k(user_id, session_id, incarnation, name)`.
    pub fn artifacts(&self, [users, sessions, incarnations, names]: [&str; 4]) -> String {
        let (users, sessions) = ((users, "user_id", "text"), (sessions, "session_id", "text"));
        (self.rows)("k", &[users, sessions, (incarnations, "incarnation", "bigint"), (names, "name", "text")])
    }

    /// The day of now, in whole days since 1970.
    pub fn day(&self, now: &str) -> String {
        format!("{} / {DAY_MICROS}", self.present(now))
    }

    /// The clause that locks the rows that are read. Nobody else writes a file.
    pub fn for_update(&self) -> &'static str {
        if self.shape.is_shared() { " for update" } else { "" }
    }

    /// The clause that locks the rows that are found, but for those that others have locked.
    pub fn skip_locked(&self) -> &'static str {
        if self.shape == Shape::Server { SKIP_LOCKED } else { "" }
    }

    /// The clause that locks a row by its key, unless others have locked it.
    pub fn unless_locked(&self) -> &'static str {
        if self.shape.is_shared() { SKIP_LOCKED } else { "" }
    }

    /// The clause that locks a row by its key that was found without a lock, where the database is distributed.
    pub fn claim(&self) -> &'static str {
        if self.shape.is_distributed() { SKIP_LOCKED } else { "" }
    }
}

const SKIP_LOCKED: &str = " for update skip locked";

/// The correction of an expiry that a process computed from its own `now`, if that is not null, and a time to live: it counts from
/// the database's.
pub fn ttl_correction(clock: &str, now: &str) -> String {
    format!("case when {now} is null then 0 else {clock} - {now} end")
}

/// What the databases say differently in the change feed. Changes are those after the row `$2` of the tick `$1`, up to the tick `$3`, `$4` of them.
#[derive(Clone, Copy)]
pub struct FeedWords {
    /// Columns of a tick, and where ticks are.
    pub ticks: &'static str,
    /// What makes a tick one of this database; begins with `where`.
    pub valid: &'static str,
    /// All changes, or those of the app `$5`.
    pub changes: &'static str,
    /// Those of the user `$6`.
    pub changes_of_user: &'static str,
    /// What finds the changes of the user `$2` of the app `$1` in an index; ends with `and `.
    pub of_user: &'static str,
    /// How many ticks the first statement of a page goes through, the others at most, and those that look for changes of a user. What
    /// the ticks of one statement have is sorted.
    pub first_window: i64,
    pub window: i64,
    pub window_of_user: i64,
    /// Each change is a tick.
    pub is_row: bool,
}

/// A value for each shape, made when it is first asked for.
pub struct PerShape<T>([OnceLock<T>; 3]);

impl<T> PerShape<T> {
    pub const fn new() -> Self {
        Self([const { OnceLock::new() }; 3])
    }

    pub fn get(&self, shape: Shape, make: impl FnOnce() -> T) -> &T {
        let [file, server, distributed] = &self.0;
        let made = match shape {
            Shape::File => file,
            Shape::Server => server,
            Shape::Distributed => distributed,
        };
        made.get_or_init(make)
    }
}
