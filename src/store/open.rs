//! Opens the database that a URL names.

use std::sync::Arc;

use super::Store;
use super::error::StoreError;
use super::limits::PostgresOptions;
use super::limits::StoreLimits;
use super::postgres::{Postgres, connect};
use super::sqlite::Sqlite;
use super::transactions::Transactions;
use super::url::DatabaseUrl;

/// Opens the database that `url` names; connects lazily, changes nothing.
///
/// # Errors
/// A URL of another kind or form, a SQLite file that cannot be opened or that another process holds.
pub async fn database(url: &str, options: PostgresOptions, limits: StoreLimits) -> Result<Arc<dyn Store>, StoreError> {
    match DatabaseUrl::parse(url)? {
        DatabaseUrl::Postgres(url) => Ok(Arc::new(Transactions::new(Postgres::open(&url, options, limits)?))),
        DatabaseUrl::Sqlite(path) => Ok(Arc::new(Transactions::new(Sqlite::open(path, limits).await?))),
    }
}

/// Whether [`database`] would take the URL, as far as the URL itself tells.
///
/// # Errors
/// What is wrong with it, without any value in it.
pub fn check_url(url: &str) -> Result<(), StoreError> {
    match DatabaseUrl::parse(url)? {
        DatabaseUrl::Postgres(url) => connect::options(&url).map(drop),
        DatabaseUrl::Sqlite(_) => Ok(()),
    }
}
