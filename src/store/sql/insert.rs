//! Insertions of many rows.

use std::iter;

use crate::domain::ids::{SessionKey, UserKey};
use crate::store::error::Result;
use crate::store::sql::query::{Query, Sql, Value};

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

/// Whose a row is: the values of [`OWNER`](super::columns::OWNER). The session is empty of a user's own.
pub fn owner<'a>(user: &'a UserKey, session: &'a str, incarnation: i64) -> [Value<'a>; 4] {
    [user.app.as_str().into(), user.user.as_str().into(), session.into(), incarnation.into()]
}

/// The same of a session.
pub fn owner_of(key: &SessionKey, incarnation: i64) -> [Value<'_>; 4] {
    owner(&key.user, key.session.as_str(), incarnation)
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

/// Inserts any number of rows, [`CHUNK`] at a time; `rest` is what follows them in each statement.
///
/// # Errors
/// Those of the database.
pub async fn insert_all<'a, R>(
    db: &mut impl Sql,
    table: &str,
    columns: &str,
    rows: &'a [R],
    rest: &str,
    add: impl Fn(&'a R, &mut Vec<Value<'a>>),
) -> Result<()> {
    for rows in rows.chunks(CHUNK) {
        db.execute(rows_of(table, columns, rows, &add).sql(rest)).await?;
    }
    Ok(())
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
