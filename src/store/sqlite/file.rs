//! SQLite: the file, and what lies beside it: its path, its lock, who may read it, and whether it is still the one that was opened.

use std::fs::{self, File, TryLockError};
use std::io::ErrorKind;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use sqlx::ConnectOptions as _;
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection};
use tokio::time::{Instant, timeout_at};

use crate::domain::tag::Timeline;
use crate::store::error::{Cause, Result, StoreError};
use crate::store::migrations::{SQLITE, all_applied};
use crate::store::pool::Connect;

/// How the file is opened.
pub struct Opener(pub SqliteConnectOptions);

impl Connect for Opener {
    type Connection = SqliteConnection;

    async fn connect(&self, until: Instant) -> Result<(SqliteConnection, Timeline)> {
        let opened = timeout_at(until, self.0.connect()).await;
        let opened =
            opened.map_err(|_| StoreError::new(Cause::Timeout, "the file was not opened within the time limit"))?;
        let conn = opened.map_err(|error| {
            let error = StoreError::from(error);
            StoreError::new(Cause::Unavailable, format!("the SQLite file cannot be opened: {error}"))
        })?;
        Ok((conn, Timeline::default()))
    }
}

/// Its owner reads and writes, and nobody else: the database has the secret that signs tokens.
const PRIVATE: u32 = 0o600;

/// Why what needs a database finds none.
pub fn missing(path: &str) -> StoreError {
    match all_applied(&SQLITE, &[]) {
        Err(pending) if Path::new(path).exists() => pending,
        _ => StoreError::config(format!(
            "there is no file {}: name the right one in --database-url (DATABASE_URL), or make one by `sessiond migrate`",
            place(path)
        )),
    }
}

/// The path of the file, for people.
pub fn place(path: &str) -> String {
    let absolute = std::path::absolute(path).unwrap_or_else(|_| path.into());
    fs::canonicalize(&absolute).unwrap_or(absolute).display().to_string()
}

/// The canonical path of the file, which is created if it is missing. SQLite gives the log and its index the mode of the file.
pub fn real_path(path: &Path) -> Result<PathBuf> {
    let found = match fs::canonicalize(path) {
        // Never opened if it is there: to close it would release the locks that SQLite has on it in this process.
        Err(error) if error.kind() == ErrorKind::NotFound => {
            let private = File::options().write(true).create(true).truncate(false).mode(PRIVATE).open(path);
            private.and_then(|_| fs::canonicalize(path))
        }
        found => found,
    };
    found.map_err(|error| StoreError::config(format!("cannot open {}: {error}", path.display())))
}

/// The lock of the file; `None` if another process has it.
pub fn lock(path: &Path) -> Result<Option<File>> {
    let lock_path = beside(path, ".lock");
    // Whoever can open it can hold the lock, and keep the service from starting.
    let file = File::options().write(true).create(true).truncate(false).mode(PRIVATE).open(&lock_path);
    let file = file.map_err(|error| StoreError::config(format!("cannot open {}: {error}", lock_path.display())))?;
    match file.try_lock() {
        Ok(()) => Ok(Some(file)),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) => {
            Err(StoreError::config(format!("cannot lock {}: {error}", lock_path.display())))
        }
    }
}

/// The name of the file with something behind it: what else of the database lies in its directory.
pub fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

/// Warns of what others than the owner may read: a file from elsewhere, or of an earlier version.
pub fn warn_of_readers(path: &Path) {
    for suffix in ["", "-wal", "-shm", ".lock"] {
        let file = beside(path, suffix);
        let mode = fs::metadata(&file).map_or(0, |found| found.permissions().mode());
        if mode & 0o077 != 0 {
            let mode = format!("{:04o}", mode & 0o7777);
            tracing::warn!(file = %file.display(), mode, "others than its owner may open a file of the database, which holds secrets: chmod 600");
        }
    }
}

/// The identity of the open file: its device and inode.
pub struct OpenFile {
    path: PathBuf,
    device: u64,
    inode: u64,
}

impl OpenFile {
    pub fn at(path: PathBuf) -> Result<Self> {
        let found = fs::metadata(&path).map_err(|error| {
            StoreError::new(Cause::Unavailable, format!("cannot look at {}: {error}", path.display()))
        })?;
        Ok(Self { path, device: found.dev(), inode: found.ino() })
    }

    pub fn bytes(&self) -> Result<u64> {
        let found = fs::metadata(&self.path);
        let found =
            found.map_err(|error| StoreError::new(Cause::Unavailable, format!("cannot look at the file: {error}")));
        Ok(found?.len())
    }

    /// The length of the log and when it was written; `None` if there is none.
    pub fn log(&self) -> Option<(u64, SystemTime)> {
        let found = fs::metadata(beside(&self.path, "-wal")).ok()?;
        Some((found.len(), found.modified().ok()?))
    }

    /// Fails if the path now leads to another file: data written to an unlinked file is lost with this process.
    pub fn check(&self) -> Result<()> {
        match fs::metadata(&self.path) {
            Ok(found) if (found.dev(), found.ino()) == (self.device, self.inode) => Ok(()),
            _ => Err(StoreError::new(
                Cause::Unavailable,
                format!("{} was removed or replaced while it was open", self.path.display()),
            )),
        }
    }
}
