//! Insertions of many rows.

use crate::store::sql::query::{Query, Value};

/// Rows of one insertion: full ones have the same text, so that it is planned once.
pub const CHUNK: usize = 100;

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
