//! SQLite: how the database is opened, migrated and scrubbed, and how transactions begin.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::{Duration, SystemTime};

use sqlx::migrate::Migrator;
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection, SqliteJournalMode, SqliteSynchronous};
use sqlx::{AssertSqlSafe, ConnectOptions as _, Connection as _, Row as _};
use tokio::time::{Instant, sleep};

use super::file::{OpenFile, Opener, lock, missing, real_path, warn_of_readers};
use super::ours::{applied, is_there};
use super::rows::STATEMENTS;
use super::tx::{BEGIN_EARLY, SqliteTx};
use crate::domain::query::SessionQuery;
use crate::domain::time::Micros;
use crate::store::backend::{Backend, Database, DatabaseClock, Durable, Now, Scrubbed, Standby, Tx as _};
use crate::store::error::{Result, StoreError};
use crate::store::limits::StoreLimits;
use crate::store::migrations::{SQLITE, TABLE, all_applied, pending};
use crate::store::pool::{Connect as _, Lease, Pool, PoolUse};
use crate::store::shape::Shape;
use crate::store::sql::query::{Query, one};

/// The page cache of a connection, in negative KiB. Readers find the rest of the file in the system's cache, which all of
/// them share; pages that the writer changes stay in its own cache until the commit.
const WRITER_CACHE: &str = "-16384";
const READER_CACHE: &str = "-2048";

/// How often, and after which pause, a database that is closed looks whether all of its connections are.
const CLOSING: u32 = 50;
const CLOSING_PAUSE: Duration = Duration::from_millis(20);

/// A file of up to so many bytes is written anew to be scrubbed: it takes memory, and the time of everybody who writes.
const REWRITTEN_BYTES: u64 = 64 << 20;

pub struct Sqlite {
    writer: Pool<Opener>,
    readers: Pool<Opener>,
    /// Opens the file as one that writes.
    opener: Opener,
    limits: StoreLimits,
    clock: Arc<OnceLock<Now>>,
    file: OpenFile,
    /// The log as of the last [`Database::settle`].
    settled: Mutex<Option<(u64, SystemTime)>>,
    /// Held while this process has the file open. SQLite itself would let a second process write, and the two would
    /// wait for each other's locks instead of failing clearly.
    lock: Option<File>,
}

impl Sqlite {
    /// Opens the file at `path`, made if it is missing.
    pub async fn open(path: &str, limits: StoreLimits) -> Result<Self> {
        is_there(Path::new(path), limits).await?;
        let path = real_path(Path::new(path))?;
        let lock = lock(&path)?.ok_or_else(|| {
            StoreError::config(format!(
                "another process has {} open; a SQLite file serves one process (PostgreSQL serves many)",
                path.display()
            ))
        })?;
        Self::locked(path, limits, Some(lock)).await
    }

    /// Opens the file, also if another process has it open; whether none has. SQLite's own locks keep single transactions
    /// apart. `creates`: a file that is missing is made.
    pub async fn open_beside(path: &str, creates: bool, limits: StoreLimits) -> Result<(Self, bool)> {
        if !is_there(Path::new(path), limits).await? && !creates {
            return Err(missing(path));
        }
        let path = real_path(Path::new(path))?;
        let lock = lock(&path)?;
        let is_alone = lock.is_some();
        Ok((Self::locked(path, limits, lock).await?, is_alone))
    }

    async fn locked(path: PathBuf, limits: StoreLimits, lock: Option<File>) -> Result<Self> {
        let options = SqliteConnectOptions::new()
            .filename(&path)
            .create_if_missing(true)
            .journal_mode(SqliteJournalMode::Wal)
            // A commit is durable when it is answered: the log is synced every time.
            .synchronous(SqliteSynchronous::Full)
            .busy_timeout(limits.lock_wait)
            // Moving the log into the file costs the same pages again, and two syncs; so less often than every 4 MB.
            .pragma("wal_autocheckpoint", "8000")
            .pragma("cache_size", WRITER_CACHE)
            // What is removed is overwritten, or an erasure would leave it in free pages.
            .pragma("secure_delete", "on")
            // The undo log of one statement over many rows needs no file.
            .pragma("temp_store", "memory")
            .statement_cache_capacity(STATEMENTS)
            .disable_statement_logging();
        let pool = |options, connections| Pool::new(Opener(options), connections, limits.acquire);
        let writer = pool(options.clone(), 1);
        // Makes the file, without which there is nothing to read.
        writer.acquire().await?.release();
        warn_of_readers(&path);
        let options = options.create_if_missing(false);
        let opener = Opener(options.clone());
        let readers = options.pragma("query_only", "on").pragma("cache_size", READER_CACHE);
        let readers = pool(readers, limits.connections);
        let (clock, settled) = (Arc::default(), Mutex::default());
        Ok(Self { writer, readers, opener, limits, clock, file: OpenFile::at(path)?, settled, lock })
    }

    /// Moves the log into the file and cuts it off. Readers of an older state are waited for a moment, as writers wait meanwhile; false if one
    /// is left.
    async fn cut_log(&self, mut conn: Lease<SqliteConnection>) -> Result<bool> {
        sqlx::raw_sql("pragma busy_timeout = 100").execute(&mut *conn).await?;
        let row = sqlx::raw_sql("pragma wal_checkpoint(truncate)").fetch_one(&mut *conn).await?;
        let patience = format!("pragma busy_timeout = {}", self.limits.lock_wait.as_millis());
        sqlx::raw_sql(AssertSqlSafe(patience)).execute(&mut *conn).await?;
        conn.release();
        let is_busy: i64 = row.try_get(0)?;
        Ok(is_busy == 0)
    }

    async fn begin(&self, pool: &Pool<Opener>, begin: Option<&'static str>) -> Result<SqliteTx> {
        self.file.check()?;
        SqliteTx::begin(pool, begin, self.clock.clone(), self.limits.feeds()).await
    }
}

impl Database for Sqlite {
    const NAME: &'static str = "sqlite";

    fn shape(&self) -> Shape {
        Shape::File
    }

    fn is_optimistic(&self) -> bool {
        true
    }

    async fn migrate(&self) -> Result<()> {
        let mut conn = self.writer.acquire().await?;
        // Whoever made the tables under another build has other ones.
        pending(&SQLITE, &applied(&mut conn).await?)?;
        let mut migrator = Migrator::with_migrations(SQLITE.iter().cloned().collect());
        migrator.set_ignore_missing(true);
        migrator.dangerous_set_table_name(TABLE);
        // `run` itself is generic over `Acquire`, which a future that must be `Send` cannot be.
        migrator.run_direct(None, &mut *conn, false).await?;
        conn.release();
        Ok(())
    }

    async fn check(&self) -> Result<Standby> {
        let mut tx = self.read(true).await?;
        let applied = tx.applied().await?;
        tx.rollback().await?;
        all_applied(&SQLITE, &applied)?;
        Ok(Standby::Absent)
    }

    async fn is_open_elsewhere(&self) -> Result<Option<bool>> {
        Ok(Some(self.lock.is_none()))
    }

    /// The rows that were made last have the highest numbers.
    async fn clock(&self) -> Result<DatabaseClock> {
        let mut tx = self.read(true).await?;
        let latest = Query::new(
            "select max(time) from (select * from (select commit_time as time from events order by rowid desc limit 1) \
             union all select * from (select create_time from sessions order by rowid desc limit 1))",
        );
        let (latest,): (Option<i64>,) = one(&mut tx, latest).await?;
        tx.rollback().await?;
        Ok(DatabaseClock::OfProcess(latest.map(Micros)))
    }

    fn may_share(&self, query: &SessionQuery) -> bool {
        self.is_one_statement(query)
    }

    fn is_one_statement(&self, query: &SessionQuery) -> bool {
        query.events.is_none() || query.state.is_some() && query.is_plain()
    }

    /// There is one connection that writes. A second batch that waits for it starts as soon as the first one ends.
    fn writers(&self) -> usize {
        2
    }

    /// SQLite overwrites cells that it frees, but not those that it has moved to another page before. Only a file that is written
    /// anew has none of those. Then the log is moved into the file and cut off; a reader of an older state is not waited for.
    async fn scrub(&self) -> Result<Scrubbed> {
        self.file.check()?;
        let mut conn = self.writer.acquire().await?;
        let is_small = self.file.bytes()? <= REWRITTEN_BYTES;
        if is_small {
            sqlx::raw_sql("vacuum").execute(&mut *conn).await?;
        }
        let is_cut = self.cut_log(conn).await?;
        let readers = self.readers.in_use();
        Ok(match (is_cut, is_small) {
            (true, true) => Scrubbed::Clean,
            (true, false) => Scrubbed::Slack,
            (false, _) if readers.open > readers.idle => Scrubbed::Occupied,
            (false, _) => Scrubbed::Busy,
        })
    }

    /// With a truncating checkpoint. While there is much to write, SQLite makes others, which overwrite the log and do not cut it off.
    async fn settle(&self) -> Result<()> {
        self.file.check()?;
        let log = self.file.log();
        let was = std::mem::replace(&mut *self.settled.lock().unwrap_or_else(PoisonError::into_inner), log);
        if log.is_some_and(|(bytes, _)| bytes > 0) && was == log {
            self.cut_log(self.writer.acquire().await?).await?;
        }
        Ok(())
    }

    fn set_clock(&self, now: Now) {
        let _ = self.clock.set(now);
    }

    fn limits(&self) -> StoreLimits {
        self.limits
    }

    fn pool(&self) -> PoolUse {
        let (writer, readers) = (self.writer.in_use(), self.readers.in_use());
        PoolUse { open: writer.open + readers.open, idle: writer.idle + readers.idle }
    }

    async fn close(&self) {
        // The writer last: the last connection that closes moves the log into the file.
        self.readers.close().await;
        self.writer.close().await;
        // One that was dropped in a transaction is closed by a thread of its own, perhaps after these: the log is there until then.
        for _ in 0..CLOSING {
            if self.file.log().is_none() || self.file.check().is_err() {
                break;
            }
            sleep(CLOSING_PAUSE).await;
            if let Ok((last, _)) = self.opener.connect(Instant::now() + CLOSING_PAUSE).await {
                // A failure leaves the log, which is part of the database.
                let _ = last.close().await;
            }
        }
    }
}

impl Backend for Sqlite {
    type Tx = SqliteTx;

    async fn read(&self, single: bool) -> Result<SqliteTx> {
        self.begin(&self.readers, (!single).then_some("begin")).await
    }

    async fn write(&self, durable: Durable) -> Result<SqliteTx> {
        // A plain BEGIN takes the write lock only at the first write, and fails if someone wrote since the first read.
        let begin = match durable {
            Durable::AtOnce => "begin immediate",
            Durable::Later => BEGIN_EARLY,
        };
        self.begin(&self.writer, Some(begin)).await
    }

    async fn at_once(&self) -> Result<SqliteTx> {
        // Nobody else has the connection that writes; the transaction begins with the writing.
        self.begin(&self.writer, None).await
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::time::Duration;

    use tokio::time::Instant;

    use super::*;
    use crate::domain::command::Made;
    use crate::domain::session::Creation;
    use crate::domain::shown::Shown;
    use crate::store::appends;
    use crate::store::sessions::Writes as _;
    use crate::store::tests::creation;
    use crate::store::transactions::Transactions;
    use crate::store::upkeep::Writes as _;

    /// Of the connection that writes: 1 is `normal`, 2 is `full`.
    async fn synchronous(tx: &mut SqliteTx) -> i64 {
        sqlx::query_scalar("pragma synchronous").fetch_one(&mut *tx.conn).await.unwrap()
    }

    /// However it ends: by a commit, a rollback, or because whoever began it is gone.
    #[tokio::test]
    async fn only_an_early_transaction_is_durable_later() {
        let folder = std::env::temp_dir().join(format!("sessiond-early-{}", std::process::id()));
        fs::create_dir(&folder).unwrap();
        let backend = Sqlite::open(folder.join("test.db").to_str().unwrap(), StoreLimits::default()).await.unwrap();
        for ends in [Some(true), Some(false), None] {
            let mut tx = backend.write(Durable::Later).await.unwrap();
            assert_eq!(synchronous(&mut tx).await, 1);
            match ends {
                Some(true) => tx.commit().await.unwrap(),
                Some(false) => tx.rollback().await.unwrap(),
                None => drop(tx),
            }
            let mut tx = backend.write(Durable::AtOnce).await.unwrap();
            assert_eq!(synchronous(&mut tx).await, 2, "{ends:?}");
            tx.rollback().await.unwrap();
            let mut tx = backend.at_once().await.unwrap();
            assert_eq!(synchronous(&mut tx).await, 2, "{ends:?}");
            tx.rollback().await.unwrap();
        }
        backend.close().await;
        fs::remove_dir_all(folder).unwrap();
    }

    /// A try whose COMMIT was not answered may have made the session.
    #[tokio::test]
    async fn a_creation_recognises_what_an_earlier_try_of_it_made() {
        let folder = std::env::temp_dir().join(format!("sessiond-recognised-{}", std::process::id()));
        fs::create_dir(&folder).unwrap();
        let path = folder.join("test.db");
        let backend = Sqlite::open(path.to_str().unwrap(), StoreLimits::default()).await.unwrap();
        let store = Transactions::new(backend, appends::queue);
        store.migrate().await.unwrap();
        let creation = Arc::new(Creation { incarnation: 7, ..creation(Shown::Full) });
        for _ in 0..2 {
            let (made, view) = store.create(&creation, Instant::now() + Duration::from_secs(60)).await.unwrap();
            assert_eq!((made, view.head.incarnation), (Made::New, 7));
        }
        store.close().await;
        fs::remove_dir_all(folder).unwrap();
    }
}
