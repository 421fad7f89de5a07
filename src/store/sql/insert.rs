//! Insertions of many rows.

use std::iter;

use crate::store::sql::query::{Query, Value};

/// Rows of one insertion: full ones have the same text, so that it is planned once.
pub const CHUNK: usize = 100;

/// Rows in pieces of few sizes, so that an insertion of any number of them takes few texts.
pub fn in_sizes<R>(mut rows: &[R]) -> impl Iterator<Item = &[R]> {
    const SIZES: [usize; 6] = [64, 16, 8, 4, 2, 1];
    iter::from_fn(move || {
        let size = SIZES.into_iter().find(|size| *size <= rows.len())?;
        let (now, later) = rows.split_at_checked(size)?;
        rows = later;
        Some(now)
    })
}

/// An insertion of rows.
pub fn rows_of<'a, R>(
    table: &str,
    columns: &str,
    rows: &'a [R],
    add: impl Fn(&'a R, &mut Vec<Value<'a>>),
) -> Query<'a> {
    let mut query = Query::new(format!("insert into {table} ({columns}) values "));
    for (n, row) in rows.iter().enumerate() {
        let mut values = Vec::new();
        add(row, &mut values);
        query = query.sql(if n == 0 { "(" } else { ", (" });
        for (n, value) in values.into_iter().enumerate() {
            if n > 0 {
                query = query.sql(", ");
            }
            query = query.arg(value);
        }
        query = query.sql(")");
    }
    query
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_of_few_sizes_and_leave_nothing_out() {
        for (length, expected) in
            [(0, &[][..]), (1, &[1]), (15, &[8, 4, 2, 1]), (16, &[16]), (100, &[64, 16, 16, 4]), (130, &[64, 64, 2])]
        {
            let rows: Vec<usize> = (0..length).collect();
            let pieces: Vec<&[usize]> = in_sizes(&rows).collect();
            assert_eq!(pieces.iter().map(|piece| piece.len()).collect::<Vec<_>>(), expected);
            assert_eq!(pieces.concat(), rows);
        }
    }
}
