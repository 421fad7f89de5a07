//! Whose a file is. It is looked at before anything of it is changed, or made beside it.

use std::fs;
use std::io::ErrorKind;
use std::path::Path;

use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use sqlx::{ConnectOptions as _, Connection as _};

use super::file::beside;
use crate::store::error::{Result, StoreError};
use crate::store::limits::StoreLimits;
use crate::store::migrations::{Applied, Named, READ_APPLIED, SQLITE, TABLE, anothers, names, none_too_new};

/// Looks at the file, and leaves it, and what is beside it, as it is. Whether it is there, and has anything in it.
///
/// # Errors
/// It is no database, or another program's; it cannot be read.
pub async fn is_there(path: &Path, limits: StoreLimits) -> Result<bool> {
    let path = match fs::canonicalize(path) {
        Ok(path) => path,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(false),
        Err(error) => return Err(StoreError::config(format!("cannot open {}: {error}", path.display()))),
    };
    let bytes = |path: &Path| fs::metadata(path).ok().filter(fs::Metadata::is_file).map(|found| found.len());
    let file = bytes(&path).ok_or_else(|| StoreError::config(format!("{} is not a file", path.display())))?;
    let log = bytes(&beside(&path, "-wal"));
    if file == 0 && log.unwrap_or(0) == 0 {
        return Ok(false);
    }
    // Without a log, the file is all there is, and to read it as any other would leave one behind.
    let has_log = log.is_some_and(|log| log > 0) || (log.is_some() && bytes(&beside(&path, "-shm")).is_some());
    let options = SqliteConnectOptions::new()
        .filename(&path)
        .read_only(true)
        .immutable(!has_log)
        .busy_timeout(limits.lock_wait)
        .disable_statement_logging();
    let cannot = |error: sqlx::Error| {
        let error = StoreError::from(error);
        let file = path.display();
        StoreError::config(match error.sqlite_code() {
            Some(SQLITE_NOTADB) => {
                format!("{file} is not a database of SQLite, or not a database at all; nothing was changed")
            }
            _ => format!("{file} cannot be read: {error}"),
        })
    };
    let mut conn = options.connect().await.map_err(cannot)?;
    let found = objects(&mut conn).await;
    let _ = conn.close().await;
    let found = found.map_err(cannot)?;
    if found.is_empty() {
        return Ok(false);
    }
    if !found.iter().any(|named| named.is_table && named.name == TABLE) {
        let remedy = "name a file of sessiond's own in --database-url (DATABASE_URL)";
        return Err(anothers(&path.display().to_string(), &found, remedy));
    }
    Ok(true)
}

const SQLITE_NOTADB: i32 = 26;

/// Whatever the file has a name for, but SQLite's own.
async fn objects(conn: &mut SqliteConnection) -> sqlx::Result<Vec<Named>> {
    let rows: Vec<(String, bool)> = sqlx::query_as(
        "select name, type = 'table' from sqlite_master where name not like 'sqlite\\_%' escape '\\' order by rowid",
    )
    .fetch_all(conn)
    .await?;
    Ok(rows.into_iter().map(|(name, is_table)| Named { name, is_table }).collect())
}

/// The migrations that the file has, with all tables of theirs.
///
/// # Errors
/// A table is not there, or something else has its name.
pub async fn applied(conn: &mut SqliteConnection) -> Result<Vec<Applied>> {
    let found = objects(conn).await?;
    let table = |name: &str| found.iter().find(|named| named.name == name);
    if table(TABLE).is_none() {
        return Ok(Vec::new());
    }
    let applied: Vec<Applied> = sqlx::query_as(READ_APPLIED).fetch_all(&mut *conn).await?;
    none_too_new(&SQLITE, &applied)?;
    let are_all = SQLITE.iter().all(|migration| applied.iter().any(|applied| applied.version == migration.version));
    let wrong = names(&SQLITE, "table").into_iter().find(|name| !table(name).is_some_and(|named| named.is_table));
    match wrong {
        Some(name) if are_all => {
            let what = if table(name).is_some() { "is not a table" } else { "is not there" };
            Err(StoreError::config(format!("the table {name} of sessiond {what}: restore a backup")))
        }
        _ => Ok(applied),
    }
}
