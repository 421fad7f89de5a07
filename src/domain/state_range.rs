//! A range of the keys of a state, and its pages.
//!
//! A range is of keys as they are shown, with prefixes. Each scope has the part of it that its prefix leaves, so a store looks at keys
//! as it keeps them, in its own order, and the pages of several scopes are put together here.

use super::access::NameRange;
use super::json::ObjectText;
use super::scope::{MAX_KEY_BYTES, Scope};

/// Which keys of the merged state, or of one scope.
#[derive(Debug, Clone)]
pub struct StateRange {
    keys: NameRange,
    /// Of this scope alone.
    scope: Option<Scope>,
    /// `None` for all in one answer.
    page: Option<PageLimit>,
}

/// What a page has at most; the first key in any case.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PageLimit {
    pub rows: usize,
    /// Of keys and values.
    pub bytes: usize,
}

impl StateRange {
    /// The keys that begin with `prefix`, byte by byte; of a page, those after the key `after`.
    pub fn new(prefix: &str, scope: Option<Scope>, page: Option<PageLimit>, after: Option<&str>) -> Self {
        let mut keys = NameRange::of_prefix(prefix);
        if let Some(after) = after {
            // No key has U+0000, so nothing is between a key and this.
            keys.begin = keys.begin.max(format!("{after}\u{1}"));
        }
        Self { keys, scope, page }
    }

    /// Those of a scope of the merged state; see [`StateRange::behind`].
    pub fn of_scope(&self, scope: Scope) -> Option<(String, String)> {
        self.scope.is_none_or(|only| only == scope).then(|| self.behind(scope.prefix())).flatten()
    }

    /// The keys that are shown behind `prefix`, as they are without it: from the first up to, not including, the second. `None` if
    /// there can be none.
    pub fn behind(&self, prefix: &str) -> Option<(String, String)> {
        let begin = match self.keys.begin.strip_prefix(prefix) {
            Some(rest) => rest,
            None if *self.keys.begin < *prefix => "",
            None => return None,
        };
        // No key is so long. (One that was written with the prefix of another scope has it within its own.)
        let last = || "\u{10ffff}".repeat(MAX_KEY_BYTES / 4 + 2);
        let end = match &self.keys.end {
            None => last(),
            Some(end) => match end.strip_prefix(prefix) {
                Some(rest) => rest.to_owned(),
                None if **end > *prefix => last(),
                None => return None,
            },
        };
        (*begin < *end).then(|| (begin.to_owned(), end))
    }

    /// What to read of each part; one more row tells that there is more.
    pub fn page(&self) -> PageLimit {
        self.page.unwrap_or(PageLimit { rows: usize::MAX, bytes: usize::MAX })
    }

    /// Puts parts together, each with the prefix behind which its keys are shown: a page in byte order of the keys that it shows, or
    /// all of them part by part, as the whole state is shown.
    pub fn join(&self, parts: Vec<(&str, KeyPage)>) -> StatePage {
        let last = |(prefix, part): &(&str, KeyPage)| {
            part.more.then(|| part.entries.last().map(|(key, _)| format!("{prefix}{key}"))).flatten()
        };
        // Behind the last key of a part that goes on, its next ones would be missing.
        let end = parts.iter().filter_map(last).min();
        let entries = parts.into_iter().flat_map(|(prefix, part)| {
            part.entries.into_iter().map(move |(key, value)| (format!("{prefix}{key}"), value))
        });
        let mut entries: Vec<(String, String)> = entries.collect();
        let mut more = end.is_some();
        if let Some(PageLimit { rows, bytes }) = self.page {
            entries.sort_unstable();
            entries.retain(|(key, _)| end.as_ref().is_none_or(|end| key <= end));
            let mut left = bytes;
            let fits = |(n, (key, value)): &(usize, &(String, String))| {
                let size = key.len() + value.len();
                let fits = *n == 0 || *n < rows && size <= left;
                left = left.saturating_sub(size);
                fits
            };
            let count = entries.iter().enumerate().take_while(fits).count();
            more |= count < entries.len();
            entries.truncate(count);
        }
        let next = entries.last().filter(|_| more).map(|(key, _)| key.clone());
        let mut state = ObjectText::default();
        entries.iter().for_each(|(key, value)| state.push(key, value));
        StatePage { state: state.close(), next }
    }
}

/// Of one scope: keys without prefix, in byte order, with the texts of their values.
#[derive(Debug, Clone, Default)]
pub struct KeyPage {
    pub entries: Vec<(String, String)>,
    /// There are more behind them.
    pub more: bool,
}

impl KeyPage {
    /// Of the keys that were found, up to one more than a page has, those that it has.
    pub fn cut(mut self, page: PageLimit) -> Self {
        self.more |= self.entries.len() > page.rows;
        self.entries.truncate(page.rows);
        self
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StatePage {
    /// A JSON object.
    pub state: String,
    /// Its last key, if there are more.
    pub next: Option<String>,
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;
    use crate::domain::json::Json;
    use crate::domain::scope::split;

    const SCOPES: [Scope; 3] = [Scope::App, Scope::User, Scope::Session];

    fn key() -> impl Strategy<Value = String> {
        let begin =
            prop::sample::select(vec!["", "app:", "user:", "app", "apq", "us", "usf", "\u{d7ff}", "\u{10ffff}"]);
        (begin, "[a:\u{1}\u{d7ff}\u{e000}\u{10ffff}é]{0,3}").prop_map(|(begin, rest)| format!("{begin}{rest}"))
    }

    /// What a store answers.
    fn read(state: &BTreeMap<String, String>, range: &StateRange) -> Vec<(&'static str, KeyPage)> {
        let part = |scope: Scope| {
            let (begin, end) = range.of_scope(scope)?;
            let of_scope = state.iter().filter_map(|(key, value)| {
                split(key).filter(|(of, _)| *of == scope).map(|(_, key)| (key.to_owned(), value.clone()))
            });
            let mut entries: Vec<_> = of_scope.filter(|(key, _)| (&begin..&end).contains(&key)).collect();
            entries.sort_unstable();
            let mut bytes = 0;
            let limit = range.page();
            let fits = |(key, value): &(String, String)| {
                bytes += key.len() + value.len();
                bytes
            };
            let count = entries.iter().map(fits).enumerate().take_while(|(n, bytes)| *n == 0 || *bytes <= limit.bytes);
            let count = count.count();
            let more = count < entries.len();
            entries.truncate(count);
            Some((scope.prefix(), KeyPage { entries, more }.cut(limit)))
        };
        SCOPES.into_iter().filter_map(part).collect()
    }

    fn entries(page: &StatePage) -> Vec<(String, String)> {
        let members = Json::trusted(&page.state).as_object().unwrap();
        members.into_iter().map(|member| (member.key.into_owned(), member.value.text().to_owned())).collect()
    }

    proptest! {
        /// All pages together are the keys with the prefix, each once, in byte order.
        #[test]
        fn pages_are_the_whole(
            state in prop::collection::btree_map(key(), "[0-9]{1,9}", 0..24),
            prefix in key(),
            only in prop::option::of(prop::sample::select(SCOPES.to_vec())),
            rows in 1..6usize,
            bytes in 0..40usize,
        ) {
            let wanted = |key: &str| key.starts_with(&prefix) && only.is_none_or(|only| split(key).is_some_and(|(of, _)| of == only));
            let expected: Vec<_> = state.clone().into_iter().filter(|(key, _)| wanted(key)).collect();
            let whole = StateRange::new(&prefix, only, None, None);
            let mut all = entries(&whole.join(read(&state, &whole)));
            all.sort_unstable();
            prop_assert_eq!(&all, &expected);
            let mut found = Vec::new();
            let mut after: Option<String> = None;
            loop {
                let range = StateRange::new(&prefix, only, Some(PageLimit { rows, bytes }), after.as_deref());
                let page = range.join(read(&state, &range));
                let shown = entries(&page);
                prop_assert!(shown.len() <= rows);
                prop_assert!(shown.len() <= 1 || shown.iter().map(|(key, value)| key.len() + value.len()).sum::<usize>() <= bytes);
                prop_assert_eq!(page.next.as_ref(), page.next.as_ref().and(shown.last().map(|(key, _)| key)));
                prop_assert!(page.next.is_none() || !shown.is_empty());
                found.extend(shown);
                after = page.next;
                if after.is_none() {
                    break;
                }
            }
            prop_assert_eq!(found, expected);
        }
    }
}
