//! The dialect of a database: the fragments in which otherwise common statements differ.

use super::feed::FeedWords;

/// What the databases say differently.
#[derive(Clone, Copy)]
pub struct Words {
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
    /// An insertion of the session with an id, and of its place in the list by last update; affects no row if it is there.
    pub listed: fn(insert: &str, id: &str) -> String,
    /// That insertion is of the session alone, and the place in the list takes a statement of its own.
    pub lists_apart: bool,
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
    /// How rows are locked one by one, by their keys, that were found without a lock; `None`: they are locked as they are found.
    pub claims: Option<&'static str>,
    /// The clause that skips rows that others have locked.
    pub skip_locked: &'static str,
    /// The clause that locks the rows that are read.
    pub for_update: &'static str,
    /// The change feed.
    pub feed: FeedWords,
    /// A label's value, given the placeholder of its name.
    pub label: fn(name: &str) -> String,
}
