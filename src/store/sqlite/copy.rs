//! SQLite: a copy of the file, also of one that another process serves; for `sessiond backup`.

use std::path::{Path, PathBuf};

use sqlx::sqlite::SqliteConnectOptions;
use sqlx::{ConnectOptions as _, Connection as _};

use super::file::{beside, missing, real_path};
use super::ours::is_there;
use crate::store::error::{Cause, Result, StoreError};
use crate::store::limits::StoreLimits;

/// The file of a database, which is to be copied.
pub struct Original {
    path: PathBuf,
    limits: StoreLimits,
}

impl Original {
    /// # Errors
    /// There is no such file, or it is not sessiond's.
    pub async fn find(path: &str, limits: StoreLimits) -> Result<Self> {
        if !is_there(Path::new(path), limits).await? {
            return Err(missing(path));
        }
        Ok(Self { path: real_path(Path::new(path))?, limits })
    }

    /// Its path, without links.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether a path without links is of this database, whether a file is there or not.
    pub fn has(&self, file: &Path) -> bool {
        ["", "-wal", "-shm", "-journal", ".lock"].iter().any(|suffix| beside(&self.path, suffix) == file)
    }

    /// Writes what is committed by now into `file`, an absolute path at which an empty file is: live rows alone, page by page, as one
    /// reader, for which no writer waits. The log cannot be cut off meanwhile. (SQLite's backup API would begin anew whenever another
    /// process writes, and takes free pages along.)
    ///
    /// # Errors
    /// One of the two files fails, and nothing can be said of `file`.
    pub async fn copy(&self, file: &str) -> Result<()> {
        let mut conn = reading(&self.path).busy_timeout(self.limits.lock_wait).connect().await?;
        let copied = sqlx::query("vacuum into ?").bind(file).execute(&mut conn).await;
        let _ = conn.close().await;
        copied.map(drop).map_err(|error| {
            let error = StoreError::from(error);
            match error.is_disk_full() {
                true => StoreError::new(Cause::Unavailable, "no space is left for the backup"),
                false => StoreError::new(error.cause, format!("it cannot be copied: {error}")),
            }
        })
    }
}

/// What SQLite finds wrong with a file's pages, up to 100 lines, without a value of any row. Nobody may write to it.
///
/// # Errors
/// The file cannot be read.
pub async fn wrong_pages(file: &Path) -> Result<Vec<String>> {
    let mut conn = reading(file).connect().await?;
    let found: sqlx::Result<Vec<String>> = sqlx::query_scalar("pragma integrity_check").fetch_all(&mut conn).await;
    let _ = conn.close().await;
    Ok(found?.into_iter().filter(|line| line != "ok").collect())
}

fn reading(file: &Path) -> SqliteConnectOptions {
    SqliteConnectOptions::new().filename(file).read_only(true).disable_statement_logging()
}
