//! The index of past values: finds the state at a revision without reading what came before or after.
//!
//! A value that was overwritten or removed was current during a span of revisions, from `from` up to, not including, `to`. Each
//! span is stored under one node of an implicit binary tree over the whole numbers: of the numbers in `from + 1 ..= to`, the one
//! that is divisible by the highest power of two. All spans that contain a revision are stored under nodes on the [`path`] to it,
//! one node for each level. The spans of one key do not overlap, so a node has at most one of each key, and each contains the
//! node's own number. (Interval trees over relations: Kriegel, Pötke and Seidl, "Managing Intervals Efficiently in
//! Object-Relational Databases", 2000.)
//!
//! So reading the state at a revision takes one index lookup for each level, that is the binary logarithm of the last revision,
//! and each lookup finds at most as many rows as the state had keys at some moment.

/// The node of the span from `from` up to, not including, `to`; `0 <= from < to`.
pub fn node(from: i64, to: i64) -> i64 {
    let level = (from ^ to).checked_ilog2().unwrap_or(0);
    to >> level << level
}

/// The nodes of all spans that contain `revision`, if none ends after `last`.
pub fn path(revision: i64, last: i64) -> Vec<i64> {
    let at = revision + 1;
    (0..=last.checked_ilog2().unwrap_or(0))
        .map(|level| (at >> level | 1) << level)
        .filter(|node| *node <= last)
        .collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_node_is_the_roundest_number_of_its_span() {
        for (from, to, expected) in
            [(0, 1, 1), (0, 7, 4), (0, 8, 8), (3, 4, 4), (4, 5, 5), (4, 6, 6), (7, 9, 8), (8, 16, 16)]
        {
            assert_eq!(node(from, to), expected, "{from}..{to}");
        }
    }

    proptest! {
        #[test]
        fn a_span_is_found_at_each_of_its_revisions(from in 0_i64..1 << 40, length in 1_i64..1 << 20, at in 0_i64..1 << 20, more in 0_i64..1 << 20) {
            let to = from + length;
            let path = path(from + at % length, to + more);
            prop_assert!(path.contains(&node(from, to)));
            prop_assert!(path.len() <= 42);
            prop_assert!(super::path(from + at % length, i64::MAX).contains(&node(from, to)));
        }

        #[test]
        fn what_a_node_files_held_at_the_number_of_the_node(from in 0_i64..1 << 40, length in 1_i64..1 << 20) {
            let node = node(from, from + length);
            prop_assert!(from < node && node <= from + length);
        }
    }
}
