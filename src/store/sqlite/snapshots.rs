//! SQLite: snapshots for `sessiond verify`, also of a file that another process serves.

use std::path::Path;
use std::sync::Arc;

use sqlx::ConnectOptions as _;
use sqlx::sqlite::SqliteConnectOptions;

use super::file::{Opener, missing};
use super::ours::is_there;
use super::tx::SqliteTx;
use crate::store::error::Result;
use crate::store::limits::StoreLimits;
use crate::store::pool::Pool;

pub struct Snapshots(Pool<Opener>);

impl Snapshots {
    /// # Errors
    /// There is no such file, or it is not sessiond's.
    pub async fn open(path: &str, limits: StoreLimits) -> Result<Self> {
        if !is_there(Path::new(path), limits).await? {
            return Err(missing(path));
        }
        let options = SqliteConnectOptions::new()
            .filename(path)
            .read_only(true)
            .pragma("query_only", "on")
            .busy_timeout(limits.lock_wait)
            .disable_statement_logging();
        Ok(Self(Pool::new(Opener(options), limits.connections, limits.acquire)))
    }

    /// # Errors
    /// The file cannot be opened.
    pub async fn begin(&self) -> Result<SqliteTx> {
        SqliteTx::begin(&self.0, Some("begin"), Arc::default(), false).await
    }
}
