//! Pages of state in byte order of keys.

use super::query::{Query, Sql, row};
use crate::domain::state_range::{KeyPage, PageLimit};
use crate::store::error::StoreError;

/// A page of rows `key`, `value`: in byte order of keys, up to a bound number of rows and of bytes, the first row in any case.
pub fn page_of_keys(rows: &str, max_rows: &str, max_bytes: &str) -> String {
    format!(
        "select key, value, total from ( \
           select key, value, count(*) over () as total, row_number() over (order by key) as place, \
             sum(octet_length(key) + octet_length(value)) over (order by key) as size_so_far \
           from ({rows} order by key limit 0 + {max_rows}) as page) as sized \
         where size_so_far <= {max_bytes} or place = 1 order by key"
    )
}

/// That the key of a row is in a range.
pub fn in_range(key: &str, begin: &str, end: &str) -> String {
    format!(" and {key} >= {begin} and {key} < {end}")
}

/// The rows of a statement of [`page_of_keys`], which lacks its limits yet.
pub async fn part(db: &mut impl Sql, query: Query<'_>, limit: PageLimit) -> Result<KeyPage, StoreError> {
    let number = |limit: usize| i64::try_from(limit).unwrap_or(i64::MAX);
    let rows: Vec<KeyRow> =
        db.fetch(query.bind(number(limit.rows).saturating_add(1)).bind(number(limit.bytes))).await?;
    let total = rows.first().map_or(0, |row| row.total);
    let more = (rows.len() as i64) < total;
    Ok(KeyPage { entries: rows.into_iter().map(|row| (row.key, row.value)).collect(), more }.cut(limit))
}

row! {
    struct KeyRow {
        key: String,
        value: String,
        /// How many there were before the limit of bytes.
        total: i64,
    }
}
