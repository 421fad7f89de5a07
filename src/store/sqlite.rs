//! SQLite, embedded: one file, one process, one writer and many readers (WAL).

use std::collections::BTreeSet;
use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};
use std::time::Duration;

use futures_util::TryStreamExt as _;
use sqlx::migrate::Migrator;
use sqlx::sqlite::{SqliteConnectOptions, SqliteConnection, SqliteJournalMode, SqliteSynchronous};
use sqlx::{AssertSqlSafe, ConnectOptions as _, FromRow as _};
use tokio::time::{Instant, timeout_at};

use super::pool::{Connect, Lease, Pool};
use super::shared::{COPIED_EVENTS, shared_helpers, shared_primitives};
use super::sql::{
    self, Dialect, DifferenceRow, EventRow, HeadRow, IncarnationRow, KnownRow, ListValue, LockedRow, ScopeRow,
    StateRow, ViewRow, event_page, filter_text,
};
use super::transactions::{Backend, Found, LockedSession, LookUp, Seen, SessionInsert, Tx};
use super::{
    Busy, Cause, EventPage, EventQuery, Fork, ListQuery, Page, PoolUse, ScopeKey, ScopeView, SessionQuery, SessionView,
    StateFilter, StoreError, StoreLimits,
};
use crate::domain::append::{Heads, Locked, Needs, Passed, StateWrite, Writes};
use crate::domain::event::StoredEvent;
use crate::domain::history;
use crate::domain::ids::{AppName, EventId, SessionKey, UserKey};
use crate::domain::json::{RawJson, push_string};
use crate::domain::resolve::{Held, StateAddress};
use crate::domain::rewind::{self, Difference};
use crate::domain::scope::join;
use crate::domain::session::{Head, MetadataPatch};
use crate::domain::tag::Tag;
use crate::domain::time::{Micros, Timestamp};

type Result<T> = std::result::Result<T, StoreError>;

pub(super) static MIGRATOR: Migrator = sqlx::migrate!("migrations/sqlite");

pub struct Sqlite {
    writer: Pool<Opener>,
    readers: Pool<Opener>,
    limits: StoreLimits,
    /// Held while this process has the file open. SQLite itself would let a second process write, and the two would
    /// wait for each other's locks instead of failing clearly.
    _lock: File,
}

impl Sqlite {
    /// Opens the file at `path`, made if it is missing.
    pub async fn open(path: &str, limits: StoreLimits) -> Result<Self> {
        let path = file(path)?;
        let lock = lock(Path::new(path))?;
        let options = SqliteConnectOptions::new()
            .filename(path)
            .create_if_missing(true)
            .journal_mode(SqliteJournalMode::Wal)
            // A commit is durable when it is answered: the log is synced every time.
            .synchronous(SqliteSynchronous::Full)
            .busy_timeout(limits.lock_wait)
            // Moving the log into the file costs the same pages again, and two syncs; so less often than every 4 MB.
            .pragma("wal_autocheckpoint", "8000")
            .pragma("cache_size", "-16384")
            .disable_statement_logging();
        let pool = |options, connections| Pool::new(Opener(options), connections, limits.acquire);
        let writer = pool(options.clone(), 1);
        // Makes the file, without which there is nothing to read.
        writer.acquire().await?.release();
        let readers = pool(options.create_if_missing(false).pragma("query_only", "on"), limits.connections);
        Ok(Self { writer, readers, limits, _lock: lock })
    }

    async fn begin(&self, pool: &Pool<Opener>, begin: Option<&'static str>) -> Result<SqliteTx> {
        let mut conn = pool.acquire().await?;
        if let Some(begin) = begin {
            sqlx::raw_sql(begin).execute(&mut *conn).await?;
        }
        Ok(SqliteTx { conn, persistent: true, in_transaction: begin.is_some() })
    }
}

/// How the file is opened.
struct Opener(SqliteConnectOptions);

impl Connect for Opener {
    type Connection = SqliteConnection;

    async fn connect(&self, until: Instant) -> Result<SqliteConnection> {
        let opened = timeout_at(until, self.0.connect()).await;
        let opened =
            opened.map_err(|_| StoreError::new(Cause::Timeout, "the file was not opened within the time limit"))?;
        opened.map_err(|error| {
            let error = StoreError::from(error);
            StoreError::new(Cause::Unavailable, format!("the SQLite file cannot be opened: {error}"))
        })
    }
}

/// The file that a URL names, given what follows `sqlite://`.
pub(super) fn file(path: &str) -> Result<&str> {
    // What other programs write into such URLs, and what happens here in any case.
    let path = path.strip_suffix("?mode=rwc").unwrap_or(path);
    if path.is_empty() || path.contains('?') || path.contains(":memory:") {
        return Err(StoreError::config("the database URL must name a file and nothing else: sqlite://PATH"));
    }
    Ok(path)
}

fn lock(path: &Path) -> Result<File> {
    let lock_path = PathBuf::from(format!("{}.lock", path.display()));
    let file = File::create(&lock_path)
        .map_err(|error| StoreError::config(format!("cannot open {}: {error}", lock_path.display())))?;
    match file.try_lock() {
        Ok(()) => Ok(file),
        Err(TryLockError::WouldBlock) => Err(StoreError::config(format!(
            "another process has {} open; a SQLite file serves one process (PostgreSQL serves many)",
            path.display()
        ))),
        Err(TryLockError::Error(error)) => {
            Err(StoreError::config(format!("cannot lock {}: {error}", lock_path.display())))
        }
    }
}

impl Backend for Sqlite {
    type Tx = SqliteTx;

    fn is_optimistic(&self) -> bool {
        false
    }

    async fn migrate(&self) -> Result<()> {
        let mut conn = self.writer.acquire().await?;
        let mut migrator = Migrator::with_migrations(MIGRATOR.iter().cloned().collect());
        migrator.set_ignore_missing(true);
        // `run` itself is generic over `Acquire`, which a future that must be `Send` cannot be.
        migrator.run_direct(None, &mut *conn, false).await?;
        conn.release();
        Ok(())
    }

    async fn check(&self) -> Result<()> {
        let mut tx = self.read(true).await?;
        let tables: i64 =
            sqlx::query_scalar("select count(*) from sqlite_master where type = 'table' and name = '_sqlx_migrations'")
                .fetch_one(&mut *tx.conn)
                .await?;
        let applied: Vec<i64> = if tables == 0 {
            Vec::new()
        } else {
            sqlx::query_scalar("select version from _sqlx_migrations where success").fetch_all(&mut *tx.conn).await?
        };
        tx.rollback().await?;
        super::all_applied(&MIGRATOR, &applied)
    }

    fn may_share(&self, _: &SessionQuery) -> bool {
        false
    }

    fn is_one_statement(&self, query: &SessionQuery) -> bool {
        query.events.is_none()
    }

    async fn read(&self, single: bool) -> Result<SqliteTx> {
        self.begin(&self.readers, (!single).then_some("begin")).await
    }

    async fn write(&self) -> Result<SqliteTx> {
        // A plain BEGIN takes the write lock only at the first write, and fails if someone wrote since the first read.
        self.begin(&self.writer, Some("begin immediate")).await
    }

    fn unit_limit(&self) -> Duration {
        self.limits.acquire + self.limits.statement
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

/// The node (domain/history.rs) of a span from the revision of a state row to the given one: in `$to`, all bits below the
/// highest in which the two differ are cleared. Its place is counted in hexadecimal digits, for want of a logarithm.
macro_rules! node {
    ($to:literal) => {
        concat!(
            $to,
            " & (-1 << (select (length(h) - 1) * 4 + (h >= '2') + (h >= '4') + (h >= '8') \
                        from (select printf('%x', (revision | ",
            $to,
            ") - (revision & ",
            $to,
            ")) as h)))"
        )
    };
}

/// Statements that go to the database together: what was there until now gets a span that ends with `first`, the value is
/// set or removed, and a change of shared state is logged. The parameters are the key, `first`, the value, the revision.
macro_rules! end_session_value {
    () => {
        concat!(
            "insert into session_spans (app_name, user_id, session_id, incarnation, node, key, valid_from, valid_to, \
               value) select app_name, user_id, session_id, incarnation, ",
            node!("$6"),
            ", key, revision, $6, value from session_state \
             where app_name = $1 and user_id = $2 and session_id = $3 and incarnation = $4 and key = $5; "
        )
    };
}
const SET_SESSION_VALUE: &str = concat!(
    end_session_value!(),
    "insert into session_state (app_name, user_id, session_id, incarnation, key, value, revision) \
     values ($1, $2, $3, $4, $5, $7, $8) on conflict (incarnation, key, session_id, user_id, app_name) \
     do update set value = excluded.value, revision = excluded.revision"
);
const REMOVE_SESSION_VALUE: &str = concat!(
    end_session_value!(),
    "delete from session_state where app_name = $1 and user_id = $2 and session_id = $3 and incarnation = $4 \
     and key = $5"
);

macro_rules! end_user_value {
    () => {
        concat!(
            "insert into user_spans (app_name, user_id, node, key, valid_from, valid_to) select app_name, user_id, ",
            node!("$4"),
            ", key, revision, $4 from user_state where app_name = $1 and user_id = $2 and key = $3; \
             insert into user_log (app_name, user_id, key, revision, value) values ($1, $2, $3, $6, $5); "
        )
    };
}
const SET_USER_VALUE: &str = concat!(
    end_user_value!(),
    "insert into user_state (app_name, user_id, key, value, revision) values ($1, $2, $3, $5, $6) \
     on conflict (app_name, user_id, key) do update set value = excluded.value, revision = excluded.revision"
);
const REMOVE_USER_VALUE: &str =
    concat!(end_user_value!(), "delete from user_state where app_name = $1 and user_id = $2 and key = $3");

macro_rules! end_app_value {
    () => {
        concat!(
            "insert into app_spans (app_name, node, key, valid_from, valid_to) select app_name, ",
            node!("$3"),
            ", key, revision, $3 from app_state where app_name = $1 and key = $2; \
             insert into app_log (app_name, key, revision, value) values ($1, $2, $5, $4); "
        )
    };
}
const SET_APP_VALUE: &str = concat!(
    end_app_value!(),
    "insert into app_state (app_name, key, value, revision) values ($1, $2, $4, $5) \
     on conflict (app_name, key) do update set value = excluded.value, revision = excluded.revision"
);
const REMOVE_APP_VALUE: &str = concat!(end_app_value!(), "delete from app_state where app_name = $1 and key = $2");

/// Dropped before its end, its connection is closed, once the statement under way is done, and with it the transaction.
pub struct SqliteTx {
    conn: Lease<SqliteConnection>,
    persistent: bool,
    in_transaction: bool,
}

impl SqliteTx {
    const DIALECT: Dialect = sql::SQLITE;

    /// A JSON array: SQLite has no arrays of its own.
    fn keys(keys: Option<&[String]>) -> Option<String> {
        let mut out = String::from("[");
        for key in keys? {
            if out.len() > 1 {
                out.push(',');
            }
            push_string(&mut out, key);
        }
        out.push(']');
        Some(out)
    }

    /// A JSON array, too.
    fn numbers(numbers: Vec<i64>) -> String {
        let numbers: Vec<String> = numbers.iter().map(i64::to_string).collect();
        format!("[{}]", numbers.join(","))
    }

    shared_helpers!();

    async fn end(mut self, statement: &'static str) -> Result<()> {
        if self.in_transaction {
            sqlx::raw_sql(statement).execute(&mut *self.conn).await?;
        }
        self.conn.release();
        Ok(())
    }

    async fn write_session(&mut self, address: (&SessionKey, i64, &str), write: &StateWrite<'_>) -> Result<()> {
        let (key, incarnation, name) = address;
        sqlx::query(if write.value.is_some() { SET_SESSION_VALUE } else { REMOVE_SESSION_VALUE })
            .bind(key.app().as_str())
            .bind(key.user.user.as_str())
            .bind(key.session.as_str())
            .bind(incarnation)
            .bind(name)
            .bind(write.first)
            .bind(write.value.as_ref().map(|value| value.text()))
            .bind(write.revision)
            .execute(&mut *self.conn)
            .await?;
        Ok(())
    }

    async fn write_user(&mut self, (key, name): (&UserKey, &str), write: &StateWrite<'_>) -> Result<()> {
        sqlx::query(if write.value.is_some() { SET_USER_VALUE } else { REMOVE_USER_VALUE })
            .bind(key.app.as_str())
            .bind(key.user.as_str())
            .bind(name)
            .bind(write.first)
            .bind(write.value.as_ref().map(|value| value.text()))
            .bind(write.revision)
            .execute(&mut *self.conn)
            .await?;
        Ok(())
    }

    async fn log_user(&mut self, (key, name): (&UserKey, &str), revision: i64, value: Option<&RawJson>) -> Result<()> {
        sqlx::query("insert into user_log (app_name, user_id, key, revision, value) values ($1, $2, $3, $4, $5)")
            .bind(key.app.as_str())
            .bind(key.user.as_str())
            .bind(name)
            .bind(revision)
            .bind(value.map(RawJson::text))
            .execute(&mut *self.conn)
            .await?;
        Ok(())
    }

    async fn write_app(&mut self, (key, name): (&AppName, &str), write: &StateWrite<'_>) -> Result<()> {
        sqlx::query(if write.value.is_some() { SET_APP_VALUE } else { REMOVE_APP_VALUE })
            .bind(key.as_str())
            .bind(name)
            .bind(write.first)
            .bind(write.value.as_ref().map(|value| value.text()))
            .bind(write.revision)
            .execute(&mut *self.conn)
            .await?;
        Ok(())
    }

    async fn log_app(&mut self, (key, name): (&AppName, &str), revision: i64, value: Option<&RawJson>) -> Result<()> {
        sqlx::query("insert into app_log (app_name, key, revision, value) values ($1, $2, $3, $4)")
            .bind(key.as_str())
            .bind(name)
            .bind(revision)
            .bind(value.map(RawJson::text))
            .execute(&mut *self.conn)
            .await?;
        Ok(())
    }

    /// What did not outlast its batch.
    async fn write_passed(&mut self, writes: &Writes<'_>) -> Result<()> {
        for Passed { key: (key, incarnation, name), from, to, value } in &writes.session_state.passed {
            let Some(value) = value else { continue };
            sqlx::query(
                "insert into session_spans (app_name, user_id, session_id, incarnation, node, key, valid_from, \
                   valid_to, value) values ($1, $2, $3, $4, $5, $6, $7, $8, $9)",
            )
            .bind(key.app().as_str())
            .bind(key.user.user.as_str())
            .bind(key.session.as_str())
            .bind(incarnation)
            .bind(history::node(*from, *to))
            .bind(*name)
            .bind(from)
            .bind(to)
            .bind(value.text())
            .execute(&mut *self.conn)
            .await?;
        }
        for Passed { key: (key, name), from, to, value } in &writes.user_state.passed {
            self.log_user((key, name), *from, value.as_deref()).await?;
            if value.is_some() {
                sqlx::query(
                    "insert into user_spans (app_name, user_id, node, key, valid_from, valid_to) \
                     values ($1, $2, $3, $4, $5, $6)",
                )
                .bind(key.app.as_str())
                .bind(key.user.as_str())
                .bind(history::node(*from, *to))
                .bind(*name)
                .bind(from)
                .bind(to)
                .execute(&mut *self.conn)
                .await?;
            }
        }
        for Passed { key: (key, name), from, to, value } in &writes.app_state.passed {
            self.log_app((key, name), *from, value.as_deref()).await?;
            if value.is_some() {
                sqlx::query(
                    "insert into app_spans (app_name, node, key, valid_from, valid_to) values ($1, $2, $3, $4, $5)",
                )
                .bind(key.as_str())
                .bind(history::node(*from, *to))
                .bind(*name)
                .bind(from)
                .bind(to)
                .execute(&mut *self.conn)
                .await?;
            }
        }
        Ok(())
    }

    async fn user_revision(&mut self, key: &UserKey) -> Result<i64> {
        let row: Option<i64> =
            sqlx::query_scalar("select revision from user_scopes where app_name = $1 and user_id = $2")
                .bind(key.app.as_str())
                .bind(key.user.as_str())
                .fetch_optional(&mut *self.conn)
                .await?;
        Ok(row.unwrap_or(0))
    }

    async fn app_revision(&mut self, key: &AppName) -> Result<i64> {
        let row: Option<i64> = sqlx::query_scalar("select revision from app_scopes where app_name = $1")
            .bind(key.as_str())
            .fetch_optional(&mut *self.conn)
            .await?;
        Ok(row.unwrap_or(0))
    }

    async fn set_user_revision(&mut self, key: &UserKey, revision: i64) -> Result<()> {
        sqlx::query(
            "insert into user_scopes (app_name, user_id, revision) values ($1, $2, $3) \
             on conflict (app_name, user_id) do update set revision = excluded.revision",
        )
        .bind(key.app.as_str())
        .bind(key.user.as_str())
        .bind(revision)
        .execute(&mut *self.conn)
        .await?;
        Ok(())
    }

    async fn set_app_revision(&mut self, key: &AppName, revision: i64) -> Result<()> {
        sqlx::query(
            "insert into app_scopes (app_name, revision) values ($1, $2) \
             on conflict (app_name) do update set revision = excluded.revision",
        )
        .bind(key.as_str())
        .bind(revision)
        .execute(&mut *self.conn)
        .await?;
        Ok(())
    }
}

/// Rows need no locks of their own here: the write transaction has the whole file.
impl Tx for SqliteTx {
    shared_primitives!();

    async fn view(&mut self, query: &SessionQuery) -> Result<Option<SessionView>> {
        self.view_in_parts(query).await
    }

    async fn views(&mut self, queries: &[&SessionQuery]) -> Result<Vec<Option<SessionView>>> {
        let mut views = Vec::with_capacity(queries.len());
        for query in queries {
            views.push(self.view(query).await?);
        }
        Ok(views)
    }

    async fn lock_sessions(&mut self, keys: &BTreeSet<&SessionKey>, _: Busy) -> Result<Vec<LockedSession>> {
        let mut locked = Vec::with_capacity(keys.len());
        for key in keys {
            let row: Option<LockedRow> = sqlx::query_as(
                "select app_name, user_id, id, incarnation, revision, metadata_revision, update_time, expire_time \
                 from sessions \
                 where app_name = $1 and user_id = $2 and id = $3",
            )
            .bind(key.app().as_str())
            .bind(key.user.user.as_str())
            .bind(key.session.as_str())
            .fetch_optional(&mut *self.conn)
            .await?;
            locked.extend(row.map(LockedSession::try_from).transpose()?);
        }
        Ok(locked)
    }

    async fn lock_users(&mut self, keys: &[&UserKey]) -> Result<Vec<i64>> {
        let mut revisions = Vec::with_capacity(keys.len());
        for key in keys {
            revisions.push(self.user_revision(key).await?);
        }
        Ok(revisions)
    }

    async fn lock_apps(&mut self, keys: &[&AppName]) -> Result<Vec<i64>> {
        let mut revisions = Vec::with_capacity(keys.len());
        for key in keys {
            revisions.push(self.app_revision(key).await?);
        }
        Ok(revisions)
    }

    async fn look_up(&mut self, look_up: &LookUp<'_>) -> Result<Found> {
        let mut found = Found::default();
        for key in &look_up.users {
            found.users.insert((*key).clone(), self.user_revision(key).await?);
        }
        for key in &look_up.apps {
            found.apps.insert((*key).clone(), self.app_revision(key).await?);
        }
        for (key, incarnation, id) in &look_up.events {
            let row: Option<KnownRow> = sqlx::query_as(
                "select digest, event_time, sequence, commit_time, body from events \
                 where app_name = $1 and user_id = $2 and session_id = $3 and incarnation = $4 and id = $5",
            )
            .bind(key.app().as_str())
            .bind(key.user.user.as_str())
            .bind(key.session.as_str())
            .bind(incarnation)
            .bind(id.as_str())
            .fetch_optional(&mut *self.conn)
            .await?;
            if let Some(row) = row {
                found.events.push(((*key).clone(), (*id).clone(), row.try_into()?));
            }
        }
        Ok(found)
    }

    async fn look(&mut self, _: &Needs<'_>) -> Result<Heads> {
        Err(StoreError::new(Cause::Internal, "there is one writer here, and it has the whole file"))
    }

    async fn write_at_once(&mut self, _: &Writes<'_>) -> Result<Seen> {
        Err(StoreError::new(Cause::Internal, "there is one writer here, and it has the whole file"))
    }

    async fn apply(&mut self, writes: &Writes<'_>) -> Result<()> {
        for row in &writes.events {
            sqlx::query(
                "insert into events (app_name, user_id, session_id, incarnation, sequence, id, event_time, \
                   commit_time, author, invocation_id, branch, user_revision, app_revision, rewind_to, digest, body) \
                 values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)",
            )
            .bind(row.key.app().as_str())
            .bind(row.key.user.user.as_str())
            .bind(row.key.session.as_str())
            .bind(row.incarnation)
            .bind(row.sequence)
            .bind(row.event.id.as_str())
            .bind(row.event.timestamp.micros.0)
            .bind(row.commit_time.0)
            .bind(filter_text(&row.event.author))
            .bind(filter_text(&row.event.invocation_id))
            .bind(row.event.branch.as_deref().map(filter_text))
            .bind(row.user_revision)
            .bind(row.app_revision)
            .bind(row.rewind_to)
            .bind(&row.event.digest[..])
            .bind(&*row.body)
            .execute(&mut *self.conn)
            .await?;
        }
        for (address, write) in &writes.session_state.rows {
            self.write_session(*address, write).await?;
        }
        for (address, write) in &writes.user_state.rows {
            self.write_user(*address, write).await?;
        }
        for (address, write) in &writes.app_state.rows {
            self.write_app(*address, write).await?;
        }
        self.write_passed(writes).await?;
        for (key, update) in &writes.sessions {
            sqlx::query(
                "update sessions set revision = $4, update_time = $5, update_time_number = $6 \
                 where app_name = $1 and user_id = $2 and id = $3; \
                 update session_updates set update_time = $5 \
                 where app_name = $1 and user_id = $2 and update_time = $7 and id = $3",
            )
            .bind(key.app().as_str())
            .bind(key.user.user.as_str())
            .bind(key.session.as_str())
            .bind(update.revision)
            .bind(update.update_time.micros.0)
            .bind(update.update_time.number.text())
            .bind(update.was.map(|was| was.update_time.0))
            .execute(&mut *self.conn)
            .await?;
        }
        for (key, update) in &writes.users {
            self.set_user_revision(key, update.revision).await?;
        }
        for (key, update) in &writes.apps {
            self.set_app_revision(key, update.revision).await?;
        }
        Ok(())
    }

    async fn keep_session(&mut self, key: &SessionKey) -> Result<Option<LockedSession>> {
        Ok(self.lock_sessions(&BTreeSet::from([key]), Busy::Wait).await?.into_iter().next())
    }

    async fn values(&mut self, keys: &[(&StateAddress, i64)]) -> Result<Vec<(StateAddress, Held)>> {
        let mut values = Vec::with_capacity(keys.len());
        for (address, incarnation) in keys {
            let query = match address {
                StateAddress::Session(key, name) => sqlx::query_as(
                    "select value, revision from session_state where app_name = $1 and user_id = $2 \
                     and session_id = $3 and incarnation = $4 and key = $5",
                )
                .bind(key.app().as_str())
                .bind(key.user.user.as_str())
                .bind(key.session.as_str())
                .bind(incarnation)
                .bind(&**name),
                StateAddress::User(key, name) => sqlx::query_as(
                    "select value, revision from user_state where app_name = $1 and user_id = $2 and key = $3",
                )
                .bind(key.app.as_str())
                .bind(key.user.as_str())
                .bind(&**name),
                StateAddress::App(key, name) => {
                    sqlx::query_as("select value, revision from app_state where app_name = $1 and key = $2")
                        .bind(key.as_str())
                        .bind(&**name)
                }
            };
            let row: Option<(String, i64)> = query.fetch_optional(&mut *self.conn).await?;
            values.extend(row.map(|(value, revision)| {
                ((*address).clone(), Held { value: Some(RawJson::trusted(value)), revision })
            }));
        }
        Ok(values)
    }

    async fn expired(&mut self, now: Micros, limit: i64) -> Result<Vec<(SessionKey, i64)>> {
        let rows: Vec<IncarnationRow> = sqlx::query_as(
            "select app_name, user_id, id as session_id, incarnation from sessions where expire_time <= $1 limit $2",
        )
        .bind(now.0)
        .bind(limit)
        .fetch_all(&mut *self.conn)
        .await?;
        rows.into_iter().map(IncarnationRow::decode).collect()
    }

    async fn next_buried(&mut self) -> Result<Option<(SessionKey, i64)>> {
        let row: Option<IncarnationRow> =
            sqlx::query_as("select app_name, user_id, session_id, incarnation from buried_sessions limit 1")
                .fetch_optional(&mut *self.conn)
                .await?;
        row.map(IncarnationRow::decode).transpose()
    }

    async fn commit(self) -> Result<()> {
        self.end("commit").await
    }

    async fn rollback(self) -> Result<()> {
        self.end("rollback").await
    }
}
