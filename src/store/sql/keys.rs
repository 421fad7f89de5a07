//! Pages of state in byte order of keys.

use super::composed::{self, Composed};
use super::query::{Query, Sql};
use crate::domain::state_range::{KeyPage, PageLimit};
use crate::store::error::StoreError;

/// A page of rows `key`, `value`, as one text, which [`page`] reads; null if there are none. In byte order of keys, up to a bound number of
/// rows and of bytes, the first row in any case.
pub fn page_of_keys(rows: &str, max_rows: &str, max_bytes: &str) -> String {
    format!(
        "select max(total) || ' ' || string_agg(concat_ws(' ', octet_length(key), octet_length(value), key || value), '') as page from ( \
           select key, value, total from ( \
             select key, value, count(*) over () as total, row_number() over (order by key) as place, \
               sum(octet_length(key) + octet_length(value)) over (order by key) as size_so_far \
             from ({rows} order by key limit 0 + {max_rows}) as page) as sized \
           where size_so_far <= {max_bytes} or place = 1 order by key) as page"
    )
}

/// That the key of a row is in a range.
pub fn in_range(key: &str, begin: &str, end: &str) -> String {
    format!(" and {key} >= {begin} and {key} < {end}")
}

/// A statement with the limits of [`page_of_keys`], which it lacks yet. One more row tells that there are more.
pub fn limited(query: Query<'_>, limit: PageLimit) -> Query<'_> {
    let number = |limit: usize| i64::try_from(limit).unwrap_or(i64::MAX);
    query.bind(number(limit.rows).saturating_add(1)).bind(number(limit.bytes))
}

/// The page of a text of [`page_of_keys`].
///
/// # Errors
/// It has another form.
pub fn page(text: &str, limit: PageLimit) -> Result<KeyPage, StoreError> {
    let (mut text, mut entries) = (Composed(text), Vec::new());
    // How many there were before the limit of bytes.
    let total = if text.is_over() { 0 } else { text.number()? };
    while !text.is_over() {
        let (key, value) = (text.number()?, text.number()?);
        entries.push((text.text(key)?.to_owned(), text.text(value)?.to_owned()));
    }
    let more = (entries.len() as i64) < total;
    Ok(KeyPage { entries, more }.cut(limit))
}

/// The page of a statement of [`page_of_keys`], which lacks its limits yet.
pub async fn part(db: &mut impl Sql, query: Query<'_>, limit: PageLimit) -> Result<KeyPage, StoreError> {
    page(&composed::fetch(db, limited(query, limit)).await?, limit)
}
