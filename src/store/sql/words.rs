//! The dialect of a database: the fragments in which otherwise common statements differ.

use super::feed::FeedWords;
use crate::store::shape::Shape;

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
    /// Pairs of elements of a list of texts and one of numbers, as rows `p(text, number)`.
    pub pairs: fn(texts: &str, numbers: &str) -> String,
    /// The rows `t` of a table of spans that are filed under a list of nodes: one index lookup per node.
    pub filed: fn(table: &str, of: &str, nodes: &str) -> String,
    /// An insertion of the session with an id, and of its place in the list by last update; affects no row if it is there. On a
    /// distributed database it is of the session alone, and the place in the list takes a statement of its own.
    pub listed: fn(insert: &str, id: &str) -> String,
    /// Nested-loop join from `session_updates o` to `sessions s`; keeps the index order of `o`.
    pub join_listed: &'static str,
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
    /// The change feed.
    pub feed: FeedWords,
    /// A label's value, given the placeholder of its name.
    pub label: fn(name: &str) -> String,
}

impl Words {
    /// The clause that locks the rows that are read. Nobody else writes a file.
    pub fn for_update(&self) -> &'static str {
        if self.shape.is_shared() { " for update" } else { "" }
    }

    /// The clause that locks the rows that are found, but for those that others have locked.
    pub fn skip_locked(&self) -> &'static str {
        if self.shape == Shape::Server { SKIP_LOCKED } else { "" }
    }

    /// The clause that locks a row by its key that was found without a lock, where the database is distributed.
    pub fn claim(&self) -> &'static str {
        if self.shape.is_distributed() { SKIP_LOCKED } else { "" }
    }
}

const SKIP_LOCKED: &str = " for update skip locked";
