//! Where the past is filed: an interval tree over revisions, as numbers.

/// The node of a value that held from revision `from` up to, not including, `to`: `to` with all bits below the highest
/// bit in which the two differ cleared. Intervals that do not overlap have different nodes.
pub fn node(from: i64, to: i64) -> i64 {
    let highest = 63 - ((from ^ to) | 1).leading_zeros();
    (to >> highest) << highest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_node_lies_within_its_interval() {
        for to in 1..200 {
            for from in 0..to {
                assert!((from + 1..=to).contains(&node(from, to)), "{from}..{to}");
            }
        }
        assert_eq!([node(0, 1), node(5, 7), node(3, 4), node(7, 21)], [1, 6, 4, 16]);
    }
}
