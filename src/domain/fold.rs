//! A map whose past is kept: what each key holds, since which revision, and, once that ends, in which span it held.

use std::borrow::Borrow;
use std::collections::BTreeMap;
use std::mem;

/// What a key holds, and the revision since which it does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Held<V> {
    pub value: V,
    pub since: i64,
}

/// What a key held from one revision up to, not including, another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Span<K, V> {
    pub key: K,
    pub from: i64,
    pub to: i64,
    /// A removal ended it.
    pub removed: bool,
    pub value: V,
}

/// What changes come to, given in the order of their revisions.
#[derive(Debug)]
pub struct Fold<K, V> {
    pub now: BTreeMap<K, Held<V>>,
}

impl<K, V> Default for Fold<K, V> {
    fn default() -> Self {
        Self { now: BTreeMap::new() }
    }
}

impl<K: Ord, V> Fold<K, V> {
    /// Sets or removes a key at a revision. Returns the span that ends with it: none if the key held nothing, or since this very revision.
    pub fn change<Q>(&mut self, key: &Q, value: Option<V>, at: i64) -> Option<Span<K, V>>
    where
        K: Borrow<Q>,
        Q: Ord + ToOwned<Owned = K> + ?Sized,
    {
        let removed = value.is_none();
        let before = match (value, self.now.get_mut(key)) {
            (Some(value), Some(held)) => Some(mem::replace(held, Held { value, since: at })),
            (Some(value), None) => self.now.insert(key.to_owned(), Held { value, since: at }),
            (None, _) => self.now.remove(key),
        };
        let before = before.filter(|held| held.since < at)?;
        Some(Span { key: key.to_owned(), from: before.since, to: at, removed, value: before.value })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// At each revision, what holds and the spans that contain it are the values that a reader saw then.
        #[test]
        fn what_was_is_in_one_span(changes in prop::collection::vec((0..4_usize, prop::option::of(0..9_u8), 0..2_i64), 0..40)) {
            let mut fold: Fold<String, u8> = Fold::default();
            let (mut now, mut seen, mut spans) = (BTreeMap::<String, u8>::new(), Vec::new(), Vec::new());
            let mut at = 0;
            for (key, value, later) in changes {
                if later > 0 {
                    seen.push((at, now.clone()));
                    at += later;
                }
                let key = format!("k{key}");
                match value {
                    Some(value) => drop(now.insert(key.clone(), value)),
                    None => drop(now.remove(&key)),
                }
                spans.extend(fold.change(key.as_str(), value, at));
            }
            seen.push((at, now));
            for (at, expected) in seen {
                let held = fold.now.iter().filter(|(_, held)| held.since <= at).map(|(key, held)| (key.clone(), held.value));
                let past = spans.iter().filter(|span| (span.from..span.to).contains(&at)).map(|span| (span.key.clone(), span.value));
                let mut found: Vec<_> = held.chain(past).collect();
                found.sort();
                prop_assert_eq!(found, expected.into_iter().collect::<Vec<_>>());
            }
            prop_assert!(spans.iter().all(|span| span.from < span.to));
        }
    }

    #[test]
    fn what_held_for_no_revision_leaves_no_span() {
        let mut fold: Fold<String, u8> = Fold::default();
        assert_eq!(fold.change("k", Some(0), 1), None);
        assert_eq!(fold.change("k", Some(1), 1), None);
        assert_eq!(
            fold.change("k", None, 3),
            Some(Span { key: "k".to_owned(), from: 1, to: 3, removed: true, value: 1 })
        );
        assert_eq!(fold.change("k", None, 4), None);
        assert!(fold.now.is_empty());
    }
}
