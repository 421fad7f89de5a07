//! Opens the database that a URL names, or finds its file.

use std::sync::Arc;

use super::error::StoreError;
use super::limits::PostgresOptions;
use super::limits::StoreLimits;
use super::postgres::{Postgres, connect};
use super::sqlite::{self, Sqlite};
pub use super::sqlite::{Original, wrong_pages};
use super::transactions::Transactions;
use super::url::DatabaseUrl;
use super::{Store, appends};

/// Opens the database that `url` names; connects lazily, changes nothing.
///
/// # Errors
/// A URL of another kind or form, a SQLite file that cannot be opened or that another process holds.
pub async fn database(url: &str, options: PostgresOptions, limits: StoreLimits) -> Result<Arc<dyn Store>, StoreError> {
    match DatabaseUrl::parse(url)? {
        DatabaseUrl::Postgres(url) => {
            Ok(Arc::new(Transactions::new(Postgres::open(&url, options, limits)?, appends::queue)))
        }
        DatabaseUrl::Sqlite(path) => Ok(Arc::new(Transactions::new(Sqlite::open(path, limits).await?, appends::queue))),
    }
}

/// As [`database`], also a SQLite file that another process holds; whether nobody else holds it. Changes of what a serving process
/// remembers (sessions, their events and state) must not be made beside it. Unless `creates`, a file must be there.
///
/// # Errors
/// As [`database`].
pub async fn beside(
    url: &str,
    creates: bool,
    options: PostgresOptions,
    limits: StoreLimits,
) -> Result<(Arc<dyn Store>, bool), StoreError> {
    match DatabaseUrl::parse(url)? {
        DatabaseUrl::Postgres(_) => Ok((database(url, options, limits).await?, true)),
        DatabaseUrl::Sqlite(path) => {
            let (sqlite, is_alone) = Sqlite::open_beside(path, creates, limits).await?;
            Ok((Arc::new(Transactions::new(sqlite, appends::queue)), is_alone))
        }
    }
}

/// The file of the database that `url` names, to be copied.
///
/// # Errors
/// It is no file but a server; there is no such file, or it is not sessiond's.
pub async fn original(url: &str, limits: StoreLimits) -> Result<Original, StoreError> {
    match DatabaseUrl::parse(url)? {
        DatabaseUrl::Postgres(_) => Err(StoreError::config(
            "a PostgreSQL database is backed up by pg_dump, or by a base backup and its log: see docs/operate.md#backup",
        )),
        DatabaseUrl::Sqlite(path) => Original::find(path, limits).await,
    }
}

/// The database that a URL names, for people: a file by its path; a server, and its database, without the user.
///
/// # Errors
/// As [`check_url`].
pub fn place(url: &str) -> Result<String, StoreError> {
    match DatabaseUrl::parse(url)? {
        DatabaseUrl::Postgres(url) => Ok(connect::place_of_database(&connect::options(&url)?)),
        DatabaseUrl::Sqlite(path) => Ok(sqlite::place(path)),
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
