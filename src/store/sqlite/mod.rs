//! SQLite, embedded: one file, one process, one writer and many readers (WAL).

mod ours;
mod rows;
mod snapshots;
pub mod words;
mod write;

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fs::{self, File, TryLockError};
use std::io::ErrorKind;
use std::mem;
use std::ops::ControlFlow;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

use futures_util::TryStreamExt as _;
use ours::{Found, applied, look};
use rows::{Columns, STATEMENTS, Script, piece, pieces};
use sqlx::migrate::Migrator;
use sqlx::sqlite::{
    SqliteArguments, SqliteConnectOptions, SqliteConnection, SqliteJournalMode, SqliteRow, SqliteSynchronous,
};
use sqlx::{Arguments as _, AssertSqlSafe, ConnectOptions as _, FromRow, Row as _};
use tokio::time::{Instant, timeout_at};
use words::PLAIN_VIEW;
use write::{
    END_FEED, EXPIRED, NEXT_BURIED, PRUNE_FEED, StateParts, find, insert_events, insert_sessions, record,
    set_revisions, update_sessions, write_passed, write_state,
};

use super::backend::{
    Backend, Buried, Database, DatabaseClock, Noted, Now, OnLocked, Scrubbed, Seen, SessionInsert, Standby, Tx,
    UserLock, Verdict,
};
use super::error::{Cause, StoreError};
use super::limits::StoreLimits;
use super::migrations::{Applied, TABLE, all_applied, pending};
use super::pool::{Connect, Lease, Pool, PoolUse};
use super::shape::Shape;
use super::sql::columns::StateTables;
use super::sql::feed::latest;
use super::sql::heads::{HeadsQuery, HeadsRow};
use super::sql::primitives::view_in_parts;
use super::sql::query::{Query, Row, Sql, Value};
use super::sql::rows::{BuriedRow, IncarnationRow, LockedRow, ViewRow};
use super::sql::statements::Statements;
use crate::domain::event::StoredEvent;
use crate::domain::ids::{EventId, ScopeRef, SessionKey, StateAddress};
use crate::domain::json::{RawJson, string_array};
use crate::domain::loaded::{Loaded, LockedSession, Needs, StateEntry};
use crate::domain::query::{SessionQuery, SessionView};
use crate::domain::scope::Scope;
use crate::domain::tag::Timeline;
use crate::domain::time::Micros;
use crate::domain::writes::{ChangeRow, Committed, Passed, Writes};

pub use snapshots::Snapshots;
#[cfg(test)]
pub use write::composed;

type Result<T> = std::result::Result<T, StoreError>;

/// The page cache of a connection, in negative KiB. Readers find the rest of the file in the system's cache, which all of
/// them share; pages that the writer changes stay in its own cache until the commit.
const WRITER_CACHE: &str = "-16384";
const READER_CACHE: &str = "-2048";

/// A file of up to so many bytes is written anew to be scrubbed: it takes memory, and the time of everybody who writes.
const REWRITTEN_BYTES: u64 = 64 << 20;

pub(super) static MIGRATOR: Migrator = sqlx::migrate!("migrations/sqlite");

pub struct Sqlite {
    writer: Pool<Opener>,
    readers: Pool<Opener>,
    limits: StoreLimits,
    clock: Arc<OnceLock<Now>>,
    file: OpenFile,
    /// Held while this process has the file open. SQLite itself would let a second process write, and the two would
    /// wait for each other's locks instead of failing clearly.
    lock: Option<File>,
}

impl Sqlite {
    /// Opens the file at `path`, made if it is missing.
    pub async fn open(path: &str, limits: StoreLimits) -> Result<Self> {
        look(Path::new(path), limits).await?;
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
        match look(Path::new(path), limits).await? {
            Found::Nothing if !creates => return Err(missing(path)),
            Found::Nothing | Found::Ours => {}
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
        let readers = options.create_if_missing(false).pragma("query_only", "on").pragma("cache_size", READER_CACHE);
        let readers = pool(readers, limits.connections);
        let clock = Arc::default();
        Ok(Self { writer, readers, limits, clock, file: OpenFile::at(path)?, lock })
    }

    async fn begin(&self, pool: &Pool<Opener>, begin: Option<&'static str>) -> Result<SqliteTx> {
        self.file.check()?;
        SqliteTx::begin(pool, begin, self.clock.clone(), self.limits.feeds()).await
    }
}

/// How the file is opened.
struct Opener(SqliteConnectOptions);

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
fn missing(path: &str) -> StoreError {
    match all_applied(&MIGRATOR, &[]) {
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
fn real_path(path: &Path) -> Result<PathBuf> {
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
fn lock(path: &Path) -> Result<Option<File>> {
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
fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    name.into()
}

/// Warns of what others than the owner may read: a file from elsewhere, or of an earlier version.
fn warn_of_readers(path: &Path) {
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
struct OpenFile {
    path: PathBuf,
    device: u64,
    inode: u64,
}

impl OpenFile {
    fn at(path: PathBuf) -> Result<Self> {
        let found = fs::metadata(&path).map_err(|error| {
            StoreError::new(Cause::Unavailable, format!("cannot look at {}: {error}", path.display()))
        })?;
        Ok(Self { path, device: found.dev(), inode: found.ino() })
    }

    fn bytes(&self) -> Result<u64> {
        let found = fs::metadata(&self.path);
        let found =
            found.map_err(|error| StoreError::new(Cause::Unavailable, format!("cannot look at the file: {error}")));
        Ok(found?.len())
    }

    /// Fails if the path now leads to another file: data written to an unlinked file is lost with this process.
    fn check(&self) -> Result<()> {
        match fs::metadata(&self.path) {
            Ok(found) if (found.dev(), found.ino()) == (self.device, self.inode) => Ok(()),
            _ => Err(StoreError::new(
                Cause::Unavailable,
                format!("{} was removed or replaced while it was open", self.path.display()),
            )),
        }
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
        pending(&MIGRATOR, &applied(&mut conn).await?)?;
        let mut migrator = Migrator::with_migrations(MIGRATOR.iter().cloned().collect());
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
        all_applied(&MIGRATOR, &applied)?;
        Ok(Standby::Absent)
    }

    async fn is_open_elsewhere(&self) -> Result<Option<bool>> {
        Ok(Some(self.lock.is_none()))
    }

    /// The rows that were made last have the highest numbers.
    async fn clock(&self) -> Result<DatabaseClock> {
        let mut tx = self.read(true).await?;
        let latest: Option<i64> = sqlx::query_scalar(
            "select max(time) from (select * from (select commit_time as time from events order by rowid desc limit 1) \
             union all select * from (select create_time from sessions order by rowid desc limit 1))",
        )
        .fetch_one(&mut *tx.conn)
        .await?;
        tx.rollback().await?;
        Ok(DatabaseClock::OfProcess(latest.map(Micros)))
    }

    fn may_share(&self, query: &SessionQuery) -> bool {
        self.is_one_statement(query)
    }

    fn is_one_statement(&self, query: &SessionQuery) -> bool {
        query.events.is_none() || query.is_plain()
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
        sqlx::raw_sql("pragma busy_timeout = 0").execute(&mut *conn).await?;
        let row = sqlx::raw_sql("pragma wal_checkpoint(truncate)").fetch_one(&mut *conn).await?;
        let patience = format!("pragma busy_timeout = {}", self.limits.lock_wait.as_millis());
        sqlx::raw_sql(AssertSqlSafe(patience)).execute(&mut *conn).await?;
        conn.release();
        let is_busy: i64 = row.try_get(0)?;
        Ok(match (is_busy, is_small) {
            (0, true) => Scrubbed::Clean,
            (0, false) => Scrubbed::Slack,
            _ => Scrubbed::Busy,
        })
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
    }
}

impl Backend for Sqlite {
    type Tx = SqliteTx;

    async fn read(&self, single: bool) -> Result<SqliteTx> {
        self.begin(&self.readers, (!single).then_some("begin")).await
    }

    async fn write(&self) -> Result<SqliteTx> {
        // A plain BEGIN takes the write lock only at the first write, and fails if someone wrote since the first read.
        self.begin(&self.writer, Some("begin immediate")).await
    }

    async fn at_once(&self) -> Result<SqliteTx> {
        // Nobody else has the connection that writes; the transaction begins with the writing.
        self.begin(&self.writer, None).await
    }
}

fn entry((value, revision): (String, i64)) -> StateEntry {
    StateEntry { value: Some(RawJson::trusted(value)), revision }
}

/// The events of [`PLAIN_VIEW`], the first of which has this sequence.
fn read_events(first: i64, mut text: &str) -> Result<Vec<StoredEvent>> {
    let mut events = Vec::new();
    while !text.is_empty() {
        let mut parts = text.splitn(3, ' ');
        let (commit_time, bytes) = (parts.next().map(str::parse), parts.next().map(str::parse));
        let (Some(Ok(commit_time)), Some(Ok(bytes)), Some(rest)) = (commit_time, bytes, parts.next()) else {
            return Err(StoreError::new(Cause::Internal, "the events were not read as they were composed"));
        };
        let (body, rest) = rest.split_at_checked(bytes).unwrap_or((rest, ""));
        let sequence = first + events.len() as i64;
        events.push(StoredEvent::new(sequence, Micros(commit_time), body));
        text = rest;
    }
    Ok(events)
}

/// Dropped before its end, its connection is closed, once the statement under way is done, and with it the transaction.
pub struct SqliteTx {
    conn: Lease<SqliteConnection>,
    in_transaction: bool,
    /// The next [`SqliteTx::script`] begins the transaction.
    begins: bool,
    /// [`Tx::commit_if_unchanged`] has reached its commit.
    committing: bool,
    clock: Arc<OnceLock<Now>>,
    feeds: bool,
}

impl SqliteTx {
    /// See [`applied`].
    pub async fn applied(&mut self) -> Result<Vec<Applied>> {
        applied(&mut self.conn).await
    }

    async fn begin(
        pool: &Pool<Opener>,
        begin: Option<&'static str>,
        clock: Arc<OnceLock<Now>>,
        feeds: bool,
    ) -> Result<Self> {
        let mut conn = pool.acquire().await?;
        if let Some(begin) = begin {
            sqlx::raw_sql(begin).execute(&mut *conn).await?;
        }
        Ok(Self { conn, in_transaction: begin.is_some(), begins: false, committing: false, clock, feeds })
    }

    /// One session, with its events in the same statement if it can be.
    async fn view(&mut self, query: &SessionQuery) -> Result<Option<SessionView>> {
        let (Some(filter), Some(events), true) = (&query.state, &query.events, query.is_plain()) else {
            return view_in_parts(self, query, query.now.0).await;
        };
        let row = sqlx::query(&**PLAIN_VIEW)
            .bind(query.key.app().to_arc())
            .bind(query.key.user.user.to_arc())
            .bind(query.key.session.to_arc())
            .bind(query.now.0)
            .bind(filter.app.as_deref().map(string_array))
            .bind(filter.user.as_deref().map(string_array))
            .bind(filter.session.as_deref().map(string_array))
            .bind(events.after)
            .bind(events.last)
            .bind(events.before)
            .bind(events.max_rows as i64)
            .bind(events.max_bytes as i64)
            .fetch_optional(&mut *self.conn)
            .await?;
        let Some(row) = row else { return Ok(None) };
        let view = ViewRow::from_row(&row)?;
        let first = view.first_event(events);
        let texts: Option<&str> = row.try_get("events")?;
        view.with_events(query, read_events(first, texts.unwrap_or_default())?)
    }

    async fn end(mut self, statement: &'static str) -> Result<()> {
        if self.in_transaction {
            sqlx::raw_sql(statement).execute(&mut *self.conn).await?;
        }
        self.conn.release();
        Ok(())
    }

    /// Commits. If that fails because the disk is full or a lock is held, the transaction is certainly undone: SQLite
    /// writes the record that makes it valid last, and has rolled back by then, or is told to. (A disk error leaves it
    /// open.)
    async fn try_commit(&mut self) -> Result<()> {
        let Err(error) = sqlx::raw_sql("commit").execute(&mut *self.conn).await else { return Ok(()) };
        let error = StoreError::from(error);
        if !error.is_full_or_busy() {
            return Err(error);
        }
        match sqlx::raw_sql("rollback").execute(&mut *self.conn).await.map_err(StoreError::from) {
            Ok(_) => Err(error.rolled_back()),
            Err(none) if none.is_plain_error() => Err(error.rolled_back()),
            Err(_) => Err(error),
        }
    }

    async fn run(&mut self, statements: Script) -> Result<()> {
        statements.build()?.execute(&mut *self.conn).await?;
        Ok(())
    }

    /// Rows by key; keys that are not there are left out.
    async fn find<K, R>(&mut self, table: &str, key: &str, columns: &str, keys: &[K]) -> Result<Vec<(K, R)>>
    where
        K: Columns + Copy + Send + Sync,
        R: for<'r> FromRow<'r, SqliteRow> + Send,
    {
        let mut found = Vec::with_capacity(keys.len());
        for from in pieces([keys.len()]) {
            let keys = piece(keys, from);
            for row in find(table, key, columns, keys).build()?.fetch_all(&mut *self.conn).await? {
                let n: i64 = row.try_get("n")?;
                let key = usize::try_from(n).ok().and_then(|n| keys.get(n));
                let key = key.ok_or_else(|| StoreError::new(Cause::Internal, "a row was found by no key"))?;
                found.push((*key, R::from_row(&row)?));
            }
        }
        Ok(found)
    }

    async fn find_values<K>(&mut self, scope: Scope, keys: &[K]) -> Result<Vec<(K, (String, i64))>>
    where
        K: Columns + Copy + Send + Sync,
    {
        let tables = StateTables::of(scope);
        self.find(tables.state, &format!("{}, key", tables.owner), "value, revision", keys).await
    }

    /// For lists of these lengths. The first of a transaction that has not begun begins it.
    fn script(&mut self, lengths: impl IntoIterator<Item = usize>) -> Script {
        let mut statements = Script::over(lengths);
        if mem::take(&mut self.begins) {
            statements.push("begin immediate; ");
        }
        statements
    }

    /// Writes all that a batch changes, heads last, as events are compared with them, and what the feed is told. What was noted of
    /// the events of sessions that were there.
    async fn write(&mut self, writes: &Writes<'_>, told: &[Committed]) -> Result<Seen> {
        let now = self.clock.get().map(|now| now());
        let mut seen = Seen::new();
        let own = StateParts::of(Scope::Session, &writes.session_state, |_| true);
        let shared =
            Scope::SHARED.map(|scope| StateParts::of(scope, &writes.shared_state, |(owner, _)| owner.scope() == scope));
        let of_shared = shared.each_ref().map(|parts| parts.set.len());
        for from in pieces([writes.events.len(), own.set.len()].into_iter().chain(of_shared)) {
            let (events, set) = (piece(&writes.events, from), piece(&own.set, from));
            let shared = shared.each_ref().map(|parts| (parts.tables, piece(&parts.set, from)));
            let of_shared = shared.map(|(_, set)| set.len());
            let mut statements = self.script([events.len(), set.len()].into_iter().chain(of_shared));
            insert_events(&mut statements, events, writes, now);
            write_state(&mut statements, own.tables, set, false);
            for (tables, set) in shared {
                write_state(&mut statements, tables, set, false);
            }
            for row in statements.build()?.fetch_all(&mut *self.conn).await? {
                let (incarnation, user, app, commit_time) = FromRow::from_row(&row)?;
                seen.insert(incarnation, Noted { user, app, commit_time: Micros(commit_time) });
            }
        }
        self.write_rest(&own).await?;
        for parts in &shared {
            self.write_rest(parts).await?;
        }
        let sessions: Vec<_> = writes.sessions.iter().collect();
        let raised = writes.scopes.iter().filter(|(_, update)| update.was != update.revision);
        let (users, apps): (Vec<_>, Vec<_>) = raised.partition(|(scope, _)| scope.scope() == Scope::User);
        let changes: Vec<_> = told.iter().filter_map(Committed::row).collect();
        for from in pieces([sessions.len(), users.len(), apps.len(), changes.len()]) {
            let (sessions, users, apps) = (piece(&sessions, from), piece(&users, from), piece(&apps, from));
            let changes = piece(&changes, from);
            let mut statements = self.script([sessions.len(), users.len(), apps.len(), changes.len()]);
            update_sessions(&mut statements, sessions, now);
            set_revisions(&mut statements, Scope::User, users);
            set_revisions(&mut statements, Scope::App, apps);
            record(&mut statements, changes);
            self.run(statements).await?;
        }
        Ok(seen)
    }

    /// Writes what is rare in an append: removals, and keys that are set more than once.
    async fn write_rest<K: Columns + Sync>(&mut self, parts: &StateParts<'_, '_, K>) -> Result<()> {
        let StateParts { tables, removed, passed, .. } = parts;
        for from in pieces([removed.len()]) {
            let rows = piece(removed, from);
            let mut statements = self.script([rows.len()]);
            write_state(&mut statements, tables, rows, true);
            self.run(statements).await?;
        }
        // Without a log, nothing is noted of what was not there.
        let noted = passed.iter().filter(|row| row.value.is_some() || tables.log.is_some());
        let (removed, set): (Vec<&Passed<'_, K>>, Vec<_>) = noted.copied().partition(|row| row.value.is_none());
        for (rows, removed) in [(set, false), (removed, true)] {
            for from in pieces([rows.len()]) {
                let rows = piece(&rows, from);
                let mut statements = self.script([rows.len()]);
                write_passed(&mut statements, tables, rows, removed);
                self.run(statements).await?;
            }
        }
        Ok(())
    }
}

impl Sql for SqliteTx {
    fn statements(&self) -> &'static Statements {
        &words::STATEMENTS
    }

    async fn fetch<R: Row>(&mut self, query: Query<'_>) -> Result<Vec<R>> {
        let (text, values) = query.into_parts();
        Ok(sqlx::query_as_with(text, arguments(values)?).fetch_all(&mut *self.conn).await?)
    }

    async fn fetch_until<R: Row>(
        &mut self,
        query: Query<'_>,
        mut take: impl FnMut(R) -> Result<ControlFlow<()>> + Send,
    ) -> Result<()> {
        let (text, values) = query.into_parts();
        let mut rows = sqlx::query_as_with(text, arguments(values)?).fetch(&mut *self.conn);
        while let Some(row) = rows.try_next().await? {
            if take(row)?.is_break() {
                break;
            }
        }
        Ok(())
    }

    async fn execute(&mut self, query: Query<'_>) -> Result<u64> {
        let (text, values) = query.into_parts();
        Ok(sqlx::query_with(text, arguments(values)?).execute(&mut *self.conn).await?.rows_affected())
    }
}

fn arguments(values: Vec<Value<'_>>) -> Result<SqliteArguments> {
    let mut arguments = SqliteArguments::default();
    for value in values {
        match value {
            Value::Text(text) => arguments.add(text.map(Cow::into_owned)),
            Value::Integer(number) => arguments.add(number),
            Value::Bytes(bytes) => arguments.add(bytes.map(<[u8]>::to_vec)),
            Value::Flag(flag) => arguments.add(flag),
            Value::Texts(texts) => arguments.add(texts.map(string_array)),
            Value::Integers(numbers) => arguments.add(json_numbers(&numbers)),
        }
        .map_err(sqlx::Error::Encode)?;
    }
    Ok(arguments)
}

fn json_numbers(numbers: &[i64]) -> String {
    let numbers: Vec<String> = numbers.iter().map(i64::to_string).collect();
    format!("[{}]", numbers.join(","))
}

/// Rows need no locks of their own here: the write transaction has the whole file.
impl Tx for SqliteTx {
    fn timeline(&self) -> Timeline {
        self.conn.timeline()
    }

    async fn views(&mut self, queries: &[&SessionQuery]) -> Result<Vec<Option<SessionView>>> {
        let mut views = Vec::with_capacity(queries.len());
        for query in queries {
            views.push(self.view(query).await?);
        }
        Ok(views)
    }

    async fn lock_sessions(&mut self, keys: &BTreeSet<&SessionKey>, _: OnLocked) -> Result<Vec<LockedSession>> {
        let keys: Vec<&SessionKey> = keys.iter().copied().collect();
        let columns = "app_name, user_id, id, incarnation, revision, metadata_revision, update_time, expire_time, \
             lease_epoch, case when lease_all then lease_owner end as lease_owner, lease_expire, null as lease_now";
        let rows: Vec<(_, LockedRow)> = self.find("sessions", "app_name, user_id, id", columns, &keys).await?;
        rows.into_iter().map(|(_, row)| row.try_into()).collect()
    }

    async fn lock_scopes(&mut self, _: &[ScopeRef<'_>]) -> Result<()> {
        Ok(())
    }

    async fn read_heads(&mut self, needs: &Needs<'_>) -> Result<Loaded> {
        let keys = HeadsQuery::of(needs);
        let sessions: Vec<_> =
            (1..).zip(keys.sessions.iter().map(|(key, id)| (*key, id.map(EventId::as_str)))).collect();
        let scopes = (1..).zip(keys.scopes.iter().copied());
        let (users, apps): (Vec<_>, Vec<_>) = scopes.partition(|(_, scope)| scope.scope() == Scope::User);
        let erased: Vec<_> = (1..).zip(keys.erased.iter().copied()).collect();
        let mut rows: Vec<HeadsRow> = Vec::new();
        for from in pieces([sessions.len(), users.len(), apps.len(), erased.len()]) {
            let shared = [piece(&users, from), piece(&apps, from)];
            let statement = write::read_heads(piece(&sessions, from), &shared, piece(&erased, from));
            for row in statement.build()?.fetch_all(&mut *self.conn).await? {
                rows.push(HeadsRow::from_row(&row)?);
            }
        }
        let mut heads = keys.heads(rows)?;
        // No other process creates them, so their absence may be cached as well.
        for scope in &keys.scopes {
            if heads.scopes.get(*scope).is_none() {
                heads.scopes.insert(scope.to_key(), 0);
            }
        }
        Ok(heads)
    }

    async fn insert_sessions(&mut self, inserts: &[SessionInsert<'_>]) -> Result<Vec<i64>> {
        let mut made = Vec::new();
        for from in pieces([inserts.len()]) {
            for row in insert_sessions(piece(inserts, from)).build()?.fetch_all(&mut *self.conn).await? {
                made.push(row.try_get("incarnation")?);
            }
        }
        Ok(made)
    }

    async fn create_at_once(&mut self, _: &[SessionInsert<'_>]) -> Result<Vec<SessionView>> {
        Ok(Vec::new())
    }

    async fn commit_if_unchanged(&mut self, writes: &Writes<'_>) -> Result<Verdict> {
        self.begins = true;
        let told = if self.feeds { writes.committed() } else { Vec::new() };
        let seen = match self.write(writes, &told).await {
            Ok(seen) => seen,
            Err(error) if error.cause == Cause::Conflict => {
                sqlx::raw_sql("rollback").execute(&mut *self.conn).await?;
                return Ok(Verdict::Conflict);
            }
            Err(error) => return Err(error),
        };
        self.committing = true;
        self.try_commit().await.map_err(StoreError::in_commit)?;
        Ok(Verdict::Written(seen))
    }

    fn may_have_committed(&self) -> bool {
        self.committing
    }

    async fn apply(&mut self, writes: &Writes<'_>) -> Result<Seen> {
        self.write(writes, &[]).await
    }

    fn feeds(&self) -> bool {
        self.feeds
    }

    async fn record(&mut self, changes: &[ChangeRow<'_>]) -> Result<()> {
        for from in pieces([changes.len()]) {
            let rows = piece(changes, from);
            let mut statements = self.script([rows.len()]);
            record(&mut statements, rows);
            self.run(statements).await?;
        }
        Ok(())
    }

    async fn tick(&mut self, _: bool) -> Result<i64> {
        Ok(latest(self).await?.map_or(0, |tick| tick.number))
    }

    /// What this process commits is told without that, and no other one commits.
    async fn ticked(&mut self, _: i64, _: i64, _: i64) -> Result<Vec<(String, Option<String>)>> {
        Ok(Vec::new())
    }

    async fn end_feed(&mut self, always: bool) -> Result<()> {
        self.execute(Query::new(END_FEED).bind(always)).await.map(drop)
    }

    async fn prune_feed(&mut self, now: Micros, age: i64, limit: i64) -> Result<u64> {
        self.execute(Query::new(PRUNE_FEED).bind(now.0 - age).bind(limit)).await
    }

    async fn keep_session(&mut self, key: &SessionKey) -> Result<Option<LockedSession>> {
        Ok(self.lock_sessions(&BTreeSet::from([key]), OnLocked::Wait).await?.into_iter().next())
    }

    async fn values(&mut self, keys: &[(&StateAddress, i64)]) -> Result<Vec<(StateAddress, StateEntry)>> {
        let (mut own, mut shared) = (Vec::new(), Vec::new());
        for (address, incarnation) in keys {
            match address {
                StateAddress::Session(key, name) => own.push((key, *incarnation, &**name)),
                StateAddress::Shared(scope, name) => shared.push((scope.borrowed(), &**name)),
            }
        }
        let own = self.find_values(Scope::Session, &own).await?.into_iter();
        let address = |key: &SessionKey, name: &str| StateAddress::Session(key.clone(), name.into());
        let mut found: Vec<_> = own.map(|((key, _, name), row)| (address(key, name), entry(row))).collect();
        for scope in Scope::SHARED {
            let keys: Vec<_> = shared.iter().filter(|(owner, _)| owner.scope() == scope).copied().collect();
            let rows = self.find_values(scope, &keys).await?.into_iter();
            let address = |owner: ScopeRef<'_>, name: &str| StateAddress::Shared(owner.to_key(), name.into());
            found.extend(rows.map(|((owner, name), row)| (address(owner, name), entry(row))));
        }
        Ok(found)
    }

    async fn expired(&mut self, now: Micros, limit: i64) -> Result<Vec<(SessionKey, i64)>> {
        let rows: Vec<IncarnationRow> =
            sqlx::query_as(EXPIRED).bind(now.0).bind(limit).fetch_all(&mut *self.conn).await?;
        rows.into_iter().map(IncarnationRow::decode).collect()
    }

    async fn next_buried(&mut self) -> Result<Option<Buried>> {
        let row: Option<BuriedRow> = sqlx::query_as(NEXT_BURIED).fetch_optional(&mut *self.conn).await?;
        row.map(BuriedRow::decode).transpose()
    }

    async fn hold_user(&mut self, _: i64, _: UserLock) -> Result<()> {
        Ok(())
    }

    async fn commit(mut self) -> Result<()> {
        let committed = self.try_commit().await;
        if committed.is_ok() {
            self.conn.release();
        }
        committed
    }

    async fn rollback(self) -> Result<()> {
        self.end("rollback").await
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::domain::Limits;
    use crate::domain::command::Made;
    use crate::domain::ids::{AppName, SessionId, UserId, UserKey};
    use crate::domain::session::{Creation, IfExists};
    use crate::store::appends;
    use crate::store::sessions::Writes as _;
    use crate::store::transactions::Transactions;
    use crate::store::upkeep::Writes as _;

    fn key() -> SessionKey {
        let user = UserKey { app: AppName::parse("a").unwrap(), user: UserId::parse("u").unwrap() };
        SessionKey { user, session: SessionId::parse("s").unwrap() }
    }

    /// In WAL mode a COMMIT waits for nobody, so here the file is in another.
    #[tokio::test]
    async fn a_commit_that_waits_in_vain_leaves_nothing() {
        let path = std::env::temp_dir().join(format!("sessiond-busy-{}.db", std::process::id()));
        let options = SqliteConnectOptions::new().filename(&path).busy_timeout(Duration::ZERO);
        let pool = Pool::new(Opener(options.clone().create_if_missing(true)), 1, Duration::from_secs(60));
        let mut conn = pool.acquire().await.unwrap();
        sqlx::raw_sql("create table t (x)").execute(&mut *conn).await.unwrap();
        let mut reader = options.connect().await.unwrap();
        sqlx::raw_sql("begin; select * from t").execute(&mut reader).await.unwrap();

        sqlx::raw_sql("begin immediate; insert into t values (1)").execute(&mut *conn).await.unwrap();
        let mut tx = SqliteTx {
            conn,
            in_transaction: true,
            begins: false,
            committing: false,
            clock: Arc::default(),
            feeds: false,
        };
        let error = tx.try_commit().await.unwrap_err().in_commit();
        assert_eq!((error.cause, error.unclear, error.is_transient()), (Cause::Overloaded, false, false), "{error}");

        sqlx::raw_sql("rollback").execute(&mut reader).await.unwrap();
        // On the very connection, where it would still be open.
        sqlx::raw_sql("begin immediate; commit").execute(&mut *tx.conn).await.unwrap();
        let rows: i64 = sqlx::query_scalar("select count(*) from t").fetch_one(&mut reader).await.unwrap();
        assert_eq!(rows, 0);
        fs::remove_file(path).unwrap();
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
        let creation = Creation {
            key: key(),
            incarnation: 7,
            now: Micros(1),
            state: Vec::new(),
            events: Vec::new(),
            display_name: None,
            labels: None,
            expiry: None,
            if_exists: IfExists::Refuse,
            request: None,
            limits: Limits::unbounded_input(),
        };
        let creation = Arc::new(creation);
        for _ in 0..2 {
            let (made, view) = store.create(&creation, Instant::now() + Duration::from_secs(60)).await.unwrap();
            assert_eq!((made, view.head.incarnation), (Made::New, 7));
        }
        store.close().await;
        fs::remove_dir_all(folder).unwrap();
    }
}
