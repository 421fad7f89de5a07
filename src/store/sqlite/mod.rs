//! SQLite, embedded: one file, one process, one writer and many readers (WAL).

mod rows;
pub mod words;

use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fs::{self, File, TryLockError};
use std::io::ErrorKind;
use std::mem;
use std::ops::ControlFlow;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use futures_util::TryStreamExt as _;
use rows::{Columns, STATEMENTS, Script, Values, piece, pieces};
use sqlx::migrate::Migrator;
use sqlx::sqlite::{
    SqliteArguments, SqliteConnectOptions, SqliteConnection, SqliteJournalMode, SqliteRow, SqliteSynchronous,
};
use sqlx::{Arguments as _, ConnectOptions as _, FromRow, Row as _};
use tokio::time::{Instant, timeout_at};
use words::PLAIN_VIEW;

use super::backend::{Backend, Batching, DatabaseClock, LockedSession, OnLocked, Seen, SessionInsert, Tx, Verdict};
use super::error::{Cause, StoreError};
use super::limits::StoreLimits;
use super::migrations::all_applied;
use super::pool::{Connect, Lease, Pool, PoolUse};
use super::sql::columns::{APP_STATE, SESSION_STATE, StateTables, USER_STATE, event_columns, session_columns};
use super::sql::filter::filter_text;
use super::sql::heads::{HeadsQuery, HeadsRow};
use super::sql::primitives::view_in_parts;
use super::sql::query::{Query, Row, Sql, Value};
use super::sql::rows::{IncarnationRow, LockedRow, ViewRow};
use super::sql::statements::Statements;
use crate::domain::event::StoredEvent;
use crate::domain::history;
use crate::domain::ids::{AppName, EventId, SessionKey, StateAddress, UserKey};
use crate::domain::json::{RawJson, push_string};
use crate::domain::loaded::{Loaded, Needs, StateEntry};
use crate::domain::query::{SessionQuery, SessionView};
use crate::domain::tag::Timeline;
use crate::domain::time::Micros;
use crate::domain::writes::{EventWrite, Passed, ScopeUpdate, SessionUpdate, StateWrite, StateWrites, Writes};

type Result<T> = std::result::Result<T, StoreError>;

/// What a connection keeps of the file in its own memory, in negative KiB. Reads find the rest in the system's cache, which is
/// the same for all of them; what the writer changes stays with it until the commit.
const WRITER_CACHE: &str = "-16384";
const READER_CACHE: &str = "-2048";

pub(super) static MIGRATOR: Migrator = sqlx::migrate!("migrations/sqlite");

pub struct Sqlite {
    writer: Pool<Opener>,
    readers: Pool<Opener>,
    limits: StoreLimits,
    file: OpenFile,
    /// Held while this process has the file open. SQLite itself would let a second process write, and the two would
    /// wait for each other's locks instead of failing clearly.
    _lock: File,
}

impl Sqlite {
    /// Opens the file at `path`, made if it is missing.
    pub async fn open(path: &str, limits: StoreLimits) -> Result<Self> {
        let path = real_path(Path::new(path))?;
        let lock = lock(&path)?;
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
            // What a statement over many rows keeps to undo itself needs no file.
            .pragma("temp_store", "memory")
            .statement_cache_capacity(STATEMENTS)
            .disable_statement_logging();
        let pool = |options, connections| Pool::new(Opener(options), connections, limits.acquire);
        let writer = pool(options.clone(), 1);
        // Makes the file, without which there is nothing to read.
        writer.acquire().await?.release();
        let readers = options.create_if_missing(false).pragma("query_only", "on").pragma("cache_size", READER_CACHE);
        let readers = pool(readers, limits.connections);
        Ok(Self { writer, readers, limits, file: OpenFile::at(path)?, _lock: lock })
    }

    async fn begin(&self, pool: &Pool<Opener>, begin: Option<&'static str>) -> Result<SqliteTx> {
        self.file.check()?;
        let mut conn = pool.acquire().await?;
        if let Some(begin) = begin {
            sqlx::raw_sql(begin).execute(&mut *conn).await?;
        }
        Ok(SqliteTx { conn, in_transaction: begin.is_some(), begins: false, committing: false })
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

/// Where the file really is, made if it is missing: the one path of all that lead to it, through links or folders.
fn real_path(path: &Path) -> Result<PathBuf> {
    let found = match fs::canonicalize(path) {
        // Never opened if it is there: to close it would release the locks that SQLite has on it in this process.
        Err(error) if error.kind() == ErrorKind::NotFound => {
            File::options().write(true).create(true).truncate(false).open(path).and_then(|_| fs::canonicalize(path))
        }
        found => found,
    };
    found.map_err(|error| StoreError::config(format!("cannot open {}: {error}", path.display())))
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

/// The file that is open, by what the system knows it by.
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

    /// Fails if the path leads elsewhere by now: what is written to a file without a name is gone with this process.
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

impl Backend for Sqlite {
    type Tx = SqliteTx;

    fn is_optimistic(&self) -> bool {
        true
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
        all_applied(&MIGRATOR, &applied)
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

    async fn read(&self, single: bool) -> Result<SqliteTx> {
        self.begin(&self.readers, (!single).then_some("begin")).await
    }

    async fn write(&self) -> Result<SqliteTx> {
        // A plain BEGIN takes the write lock only at the first write, and fails if someone wrote since the first read.
        self.begin(&self.writer, Some("begin immediate")).await
    }

    async fn optimistic(&self) -> Result<SqliteTx> {
        // Nobody else has the connection that writes; the transaction begins with the writing.
        self.begin(&self.writer, None).await
    }

    /// There is one connection that writes. Who waits for it with a batch of their own waits no longer than in the line.
    fn batching(&self) -> Batching {
        Batching { one_app: false, writers: 2 }
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

/// The node (domain/history.rs) of a span from `revision` to `first`: in the latter, all bits below the highest in which the
/// two differ are cleared. Its place is counted in hexadecimal digits, for want of a logarithm.
const NODE: &str = "first & (-1 << (select (length(h) - 1) * 4 + (h >= '2') + (h >= '4') + (h >= '8') \
                                    from (select printf('%x', (revision | first) - (revision & first)) as h)))";

impl Columns for EventWrite<'_> {
    fn add_to(&self, values: &mut Values) {
        (self.key, self.incarnation, self.sequence, &self.event.id).add_to(values);
        (self.event.timestamp.micros.0, self.commit_time.0).add_to(values);
        values.add(filter_text(&self.event.author));
        values.add(filter_text(&self.event.invocation_id));
        values.add(self.event.branch.as_deref().map(filter_text));
        (self.user_revision, self.app_revision, self.rewind_to).add_to(values);
        values.add(&self.event.digest[..]);
        values.add(Arc::clone(&self.body));
    }
}

/// Looks for rows by all columns of a key, one by one in that order; `n` counts the keys from 0.
fn find<K: Columns>(table: &str, key: &str, columns: &str, keys: &[K]) -> Script {
    let mut statement = Script::over([keys.len()]);
    statement.with(
        &format!("n, {key}"),
        (0..).zip(keys),
        format_args!("select {columns}, n from k cross join {table} using ({key})"),
    );
    statement
}

/// What an append looks at.
fn look(
    sessions: &[(i64, (&SessionKey, Option<&str>))],
    users: &[(i64, &UserKey)],
    apps: &[(i64, &AppName)],
) -> Script {
    let mut statement = Script::over([sessions.len(), users.len(), apps.len()]);
    statement.list("with ks", "n, app_name, user_id, session_id, id", sessions.iter());
    statement.list(", ku", "n, app_name, user_id", users.iter());
    statement.list(", ka", "n, app_name", apps.iter());
    statement.push(
        " select 0 as kind, k.n, s.revision, s.incarnation, s.metadata_revision, s.update_time, s.expire_time, \
            e.sequence, e.event_time, e.commit_time, e.digest, e.body \
          from ks as k cross join sessions s on s.app_name = k.app_name and s.user_id = k.user_id and s.id = k.session_id \
          left join events e on e.incarnation = s.incarnation and e.id = k.id and e.app_name = k.app_name \
            and e.user_id = k.user_id and e.session_id = k.session_id \
          union all select 1, n, revision, null, null, null, null, null, null, null, null, null \
          from ku cross join user_scopes using (app_name, user_id) \
          union all select 2, n, revision, null, null, null, null, null, null, null, null, null \
          from ka cross join app_scopes using (app_name)",
    );
    statement
}

impl Columns for SessionInsert<'_> {
    fn add_to(&self, values: &mut Values) {
        let creation = self.creation;
        (&creation.key, creation.incarnation, self.revision, creation.now.0, self.update_time.micros.0).add_to(values);
        values.add(self.update_time.number.text());
        values.add(creation.display_name.as_ref().map(RawJson::text));
        values.add(creation.labels.as_ref().map(RawJson::text));
        values.add(creation.expire_time().map(|time| time.0));
        values.add(self.initial_state.as_str());
        let request = creation.request.as_ref();
        values.add(request.map(|request| request.key.as_str()));
        values.add(request.map(|request| &request.digest[..]));
    }
}

/// Inserts rows of sessions of which neither the id nor the request is there, and their places in the list by last update; returns the incarnations of
/// those.
fn insert_sessions(rows: &[SessionInsert<'_>]) -> Script {
    let mut statements = Script::over([rows.len()]);
    statements.insert(
        "sessions",
        &format!("{}, created_user_revision, created_app_revision", session_columns()),
        rows.iter().map(|row| (row, 0, 0)),
        " on conflict do nothing returning incarnation",
    );
    statements.with(
        "app_name, user_id, id, incarnation",
        rows.iter().map(|row| (&row.creation.key, row.creation.incarnation)),
        // One that an earlier try of ours inserted is there already.
        "insert or ignore into session_updates (app_name, user_id, id, update_time) \
         select app_name, user_id, id, update_time from k cross join sessions using (app_name, user_id, id, incarnation)",
    );
    statements
}

/// Notes which revisions of user and app the creations of sessions saw.
fn set_created_revisions(seen: &[(&SessionKey, i64, i64)]) -> Script {
    let mut statements = Script::over([seen.len()]);
    statements.with(
        "app_name, user_id, id, user_revision, app_revision",
        seen.iter(),
        "update sessions as s set created_user_revision = k.user_revision, created_app_revision = k.app_revision \
         from k where s.app_name = k.app_name and s.user_id = k.user_id and s.id = k.id",
    );
    statements
}

/// An event, with the heads that it was decided on.
impl Columns for (&EventWrite<'_>, &Writes<'_>) {
    fn add_to(&self, values: &mut Values) {
        let (event, writes) = self;
        let was = writes.sessions.get(event.key).and_then(|update| update.was);
        let user = writes.users.get(&event.key.user).map_or(event.user_revision, |update| update.was);
        let app = writes.apps.get(event.key.app()).map_or(event.app_revision, |update| update.was);
        (*event, was.map(|was| was.revision), was.map(|was| was.metadata_revision), user, app).add_to(values);
    }
}

fn insert_events(statements: &mut Script, rows: &[EventWrite<'_>], writes: &Writes<'_>) {
    // Of a session that this transaction made, or just of changes of shared state.
    if writes.sessions.is_empty() {
        return statements.insert("events", &event_columns(), rows.iter(), "");
    }
    // If a head is no more what was decided on, a column becomes null, which it must not be.
    let columns = event_columns();
    statements.with(
        &format!("{columns}, was, metadata_was, user_was, app_was"),
        rows.iter().map(|row| (row, writes)),
        format_args!(
            "insert into events ({columns}) select app_name, user_id, session_id, \
               (select s.incarnation from sessions s where s.app_name = k.app_name and s.user_id = k.user_id \
                  and s.id = k.session_id and s.incarnation = k.incarnation and s.revision = k.was \
                  and s.metadata_revision = k.metadata_was), \
               sequence, id, event_time, commit_time, author, invocation_id, branch, \
               (select k.user_revision where k.user_was = \
                  coalesce((select s.revision from user_scopes s where s.app_name = k.app_name \
                              and s.user_id = k.user_id), 0)), \
               (select k.app_revision where k.app_was = \
                  coalesce((select s.revision from app_scopes s where s.app_name = k.app_name), 0)), \
               rewind_to, digest, body from k"
        ),
    );
}

fn update_sessions(statements: &mut Script, rows: &[(&&SessionKey, &SessionUpdate<'_>)]) {
    statements.with(
        "app_name, user_id, id, revision, update_time, update_time_number",
        rows.iter()
            .map(|(key, update)| (key, update.revision, update.update_time.micros.0, update.update_time.number.text())),
        "update sessions as s set revision = k.revision, update_time = k.update_time, \
           update_time_number = k.update_time_number \
         from k where s.app_name = k.app_name and s.user_id = k.user_id and s.id = k.id",
    );
    statements.with(
        "app_name, user_id, id, update_time, old_update_time",
        rows.iter().map(|(key, update)| (key, update.update_time.micros.0, update.was.map(|was| was.update_time.0))),
        "update session_updates as o set update_time = k.update_time from k where o.app_name = k.app_name \
           and o.user_id = k.user_id and o.update_time = k.old_update_time and o.id = k.id",
    );
}

fn set_revisions<K: Columns>(statements: &mut Script, scopes: &str, owner: &str, rows: &[(&&K, &ScopeUpdate)]) {
    statements.insert(
        scopes,
        &format!("{owner}, revision"),
        rows.iter().map(|(key, update)| (key, update.revision)),
        format_args!(" on conflict ({owner}) do update set revision = excluded.revision"),
    );
}

/// What was there until now gets a span that ends with `first`, a change of shared state is logged, and the values are set,
/// or the rows, which then have none, removed.
fn write_state<K: Columns>(
    statements: &mut Script,
    tables: &StateTables,
    rows: &[(&K, &StateWrite<'_>)],
    removed: bool,
) {
    let StateTables { owner, state, spans, log } = tables;
    let value = if log.is_some() { "" } else { ", value" };
    statements.with(
        &format!("{owner}, key, first"),
        rows.iter().map(|(key, row)| (key, row.first)),
        format_args!(
            "insert into {spans} ({owner}, key, node, valid_from, valid_to{value}) \
             select {owner}, key, {NODE}, revision, first{value} from k cross join {state} using ({owner}, key)"
        ),
    );
    let written = rows.iter().map(|(key, row)| (key, row.revision, text(row.value.as_ref())));
    let names = format!("{owner}, key, revision, value");
    if let Some(log) = log {
        statements.insert(log, &names, written.clone(), "");
    }
    if removed {
        statements.with(
            &format!("{owner}, key"),
            rows.iter().map(|(key, _)| key),
            format_args!("delete from {state} where ({owner}, key) in k"),
        );
    } else {
        let replace = format_args!(
            " on conflict ({owner}, key) do update set value = excluded.value, revision = excluded.revision"
        );
        statements.insert(state, &names, written, replace);
    }
}

/// What did not outlast its batch: spans, of what was not removed, and the log.
fn write_passed<K: Columns>(statements: &mut Script, tables: &StateTables, rows: &[&Passed<'_, K>], removed: bool) {
    let StateTables { owner, spans, log, .. } = tables;
    let names = format!("{owner}, key, node, valid_from, valid_to");
    let held = rows.iter().map(|row| (&row.key, history::node(row.from, row.to), row.from, row.to));
    let values = rows.iter().map(|row| text(row.value.as_ref()));
    match log {
        None => statements.insert(spans, &format!("{names}, value"), held.zip(values), ""),
        Some(log) => {
            let written = rows.iter().map(|row| (&row.key, row.from)).zip(values);
            statements.insert(log, &format!("{owner}, key, revision, value"), written, "");
            if !removed {
                statements.insert(spans, &names, held, "");
            }
        }
    }
}

fn text<'a>(value: Option<&'a Cow<'_, RawJson>>) -> Option<&'a str> {
    value.map(|value| value.text())
}

fn held((value, revision): (String, i64)) -> StateEntry {
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
        events.push(StoredEvent { sequence, commit_time: Micros(commit_time), body: body.into() });
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
    /// [`Tx::write_at_once`] has come to its commit.
    committing: bool,
}

impl SqliteTx {
    /// One session, with its events in the same statement if it can be.
    async fn view(&mut self, query: &SessionQuery) -> Result<Option<SessionView>> {
        let (Some(filter), Some(events), true) = (&query.state, &query.events, query.is_plain()) else {
            return view_in_parts(self, query, query.now.0).await;
        };
        let row = sqlx::query(&**PLAIN_VIEW)
            .bind(query.key.app().shared())
            .bind(query.key.user.user.shared())
            .bind(query.key.session.shared())
            .bind(query.now.0)
            .bind(filter.app.as_deref().map(json_texts))
            .bind(filter.user.as_deref().map(json_texts))
            .bind(filter.session.as_deref().map(json_texts))
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

    /// Commits. If that fails for want of space or of a lock, nothing of the transaction is left: SQLite writes what makes it
    /// valid last, and has rolled back then, or is told to. (Of an error of the disk that cannot be said.)
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

    async fn find_values<K>(&mut self, tables: &StateTables, keys: &[K]) -> Result<Vec<(K, (String, i64))>>
    where
        K: Columns + Copy + Send + Sync,
    {
        self.find(tables.state, &format!("{}, key", tables.owner), "value, revision", keys).await
    }

    /// For lists of these lengths. The first of a transaction that has not begun begins it.
    fn script<const N: usize>(&mut self, lengths: [usize; N]) -> Script {
        let mut statements = Script::over(lengths);
        if mem::take(&mut self.begins) {
            statements.push("begin immediate; ");
        }
        statements
    }

    /// Writes all that a batch changes, heads last, as events are compared with them.
    async fn write(&mut self, writes: &Writes<'_>) -> Result<()> {
        let (set, removed) = parts(&writes.session_state);
        let (of_users, removed_of_users) = parts(&writes.user_state);
        let (of_apps, removed_of_apps) = parts(&writes.app_state);
        for from in pieces([writes.events.len(), set.len(), of_users.len(), of_apps.len()]) {
            let (events, set) = (piece(&writes.events, from), piece(&set, from));
            let (of_users, of_apps) = (piece(&of_users, from), piece(&of_apps, from));
            let mut statements = self.script([events.len(), set.len(), of_users.len(), of_apps.len()]);
            insert_events(&mut statements, events, writes);
            write_state(&mut statements, &SESSION_STATE, set, false);
            write_state(&mut statements, &USER_STATE, of_users, false);
            write_state(&mut statements, &APP_STATE, of_apps, false);
            self.run(statements).await?;
        }
        self.write_rest(&SESSION_STATE, &removed, &writes.session_state.passed).await?;
        self.write_rest(&USER_STATE, &removed_of_users, &writes.user_state.passed).await?;
        self.write_rest(&APP_STATE, &removed_of_apps, &writes.app_state.passed).await?;
        let sessions: Vec<_> = writes.sessions.iter().collect();
        let users: Vec<_> = writes.users.iter().filter(|(_, update)| update.was != update.revision).collect();
        let apps: Vec<_> = writes.apps.iter().filter(|(_, update)| update.was != update.revision).collect();
        for from in pieces([sessions.len(), users.len(), apps.len()]) {
            let (sessions, users, apps) = (piece(&sessions, from), piece(&users, from), piece(&apps, from));
            let mut statements = self.script([sessions.len(), users.len(), apps.len()]);
            update_sessions(&mut statements, sessions);
            set_revisions(&mut statements, "user_scopes", USER_STATE.owner, users);
            set_revisions(&mut statements, "app_scopes", APP_STATE.owner, apps);
            self.run(statements).await?;
        }
        Ok(())
    }

    /// What an append rarely does: it removes keys, or sets them more than once.
    async fn write_rest<K: Columns + Sync>(
        &mut self,
        tables: &StateTables,
        removed: &[(&K, &StateWrite<'_>)],
        passed: &[Passed<'_, K>],
    ) -> Result<()> {
        for from in pieces([removed.len()]) {
            let rows = piece(removed, from);
            let mut statements = self.script([rows.len()]);
            write_state(&mut statements, tables, rows, true);
            self.run(statements).await?;
        }
        // Without a log, nothing is noted of what was not there.
        let noted = passed.iter().filter(|row| row.value.is_some() || tables.log.is_some());
        let (removed, set): (Vec<_>, Vec<_>) = noted.partition(|row| row.value.is_none());
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

type StateRows<'w, 'a, K> = Vec<(&'w K, &'w StateWrite<'a>)>;

/// The rows that are set, and those that are removed.
fn parts<'w, 'a, K>(writes: &'w StateWrites<'a, K>) -> (StateRows<'w, 'a, K>, StateRows<'w, 'a, K>) {
    writes.rows.iter().partition(|(_, row)| row.value.is_some())
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
            Value::Texts(texts) => arguments.add(texts.map(json_texts)),
            Value::Integers(numbers) => arguments.add(json_numbers(&numbers)),
        }
        .map_err(sqlx::Error::Encode)?;
    }
    Ok(arguments)
}

fn json_texts(texts: &[String]) -> String {
    let mut out = String::from("[");
    for text in texts {
        if out.len() > 1 {
            out.push(',');
        }
        push_string(&mut out, text);
    }
    out.push(']');
    out
}

fn json_numbers(numbers: &[i64]) -> String {
    let numbers: Vec<String> = numbers.iter().map(i64::to_string).collect();
    format!("[{}]", numbers.join(","))
}

/// Rows need no locks of their own here: the write transaction has the whole file.
impl Tx for SqliteTx {
    const CONCURRENT: bool = false;

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
        let columns = "app_name, user_id, id, incarnation, revision, metadata_revision, update_time, expire_time";
        let rows: Vec<(_, LockedRow)> = self.find("sessions", "app_name, user_id, id", columns, &keys).await?;
        rows.into_iter().map(|(_, row)| row.try_into()).collect()
    }

    async fn lock_users(&mut self, _: &[&UserKey]) -> Result<()> {
        Ok(())
    }

    async fn lock_apps(&mut self, _: &[&AppName]) -> Result<()> {
        Ok(())
    }

    async fn read_heads(&mut self, needs: &Needs<'_>) -> Result<Loaded> {
        let keys = HeadsQuery::of(needs);
        let sessions: Vec<_> =
            (1..).zip(keys.sessions.iter().map(|(key, id)| (*key, id.map(EventId::as_str)))).collect();
        let users: Vec<_> = (1..).zip(keys.users.iter().copied()).collect();
        let apps: Vec<_> = (1..).zip(keys.apps.iter().copied()).collect();
        let mut rows: Vec<HeadsRow> = Vec::new();
        for from in pieces([sessions.len(), users.len(), apps.len()]) {
            let statement = look(piece(&sessions, from), piece(&users, from), piece(&apps, from));
            for row in statement.build()?.fetch_all(&mut *self.conn).await? {
                rows.push(HeadsRow::from_row(&row)?);
            }
        }
        let mut heads = keys.heads(rows)?;
        // Nobody else makes them, so that they are not there is worth remembering.
        for user in &keys.users {
            heads.users.entry((*user).clone()).or_insert(0);
        }
        for app in &keys.apps {
            heads.apps.entry((*app).clone()).or_insert(0);
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

    async fn set_created_revisions(&mut self, seen: &[(&SessionKey, i64, i64)]) -> Result<()> {
        for from in pieces([seen.len()]) {
            self.run(set_created_revisions(piece(seen, from))).await?;
        }
        Ok(())
    }

    async fn commit_if_unchanged(&mut self, writes: &Writes<'_>) -> Result<Verdict> {
        self.begins = true;
        if let Err(error) = self.write(writes).await {
            if error.cause == Cause::Conflict {
                sqlx::raw_sql("rollback").execute(&mut *self.conn).await?;
                return Ok(Verdict::Conflict);
            }
            return Err(error);
        }
        self.committing = true;
        self.try_commit().await.map_err(StoreError::in_commit)?;
        Ok(Verdict::Written(Seen::new()))
    }

    fn may_have_committed(&self) -> bool {
        self.committing
    }

    async fn apply(&mut self, writes: &Writes<'_>) -> Result<()> {
        self.write(writes).await
    }

    async fn keep_session(&mut self, key: &SessionKey) -> Result<Option<LockedSession>> {
        Ok(self.lock_sessions(&BTreeSet::from([key]), OnLocked::Wait).await?.into_iter().next())
    }

    async fn values(&mut self, keys: &[(&StateAddress, i64)]) -> Result<Vec<(StateAddress, StateEntry)>> {
        let (mut of_sessions, mut of_users, mut of_apps) = (Vec::new(), Vec::new(), Vec::new());
        for (address, incarnation) in keys {
            match address {
                StateAddress::Session(key, name) => of_sessions.push((key, *incarnation, &**name)),
                StateAddress::User(key, name) => of_users.push((key, &**name)),
                StateAddress::App(key, name) => of_apps.push((key, &**name)),
            }
        }
        let of_sessions = self.find_values(&SESSION_STATE, &of_sessions).await?.into_iter();
        let of_users = self.find_values(&USER_STATE, &of_users).await?.into_iter();
        let of_apps = self.find_values(&APP_STATE, &of_apps).await?.into_iter();
        Ok(of_sessions
            .map(|((key, _, name), row)| (StateAddress::Session(key.clone(), name.into()), held(row)))
            .chain(of_users.map(|((key, name), row)| (StateAddress::User(key.clone(), name.into()), held(row))))
            .chain(of_apps.map(|((key, name), row)| (StateAddress::App(key.clone(), name.into()), held(row))))
            .collect())
    }

    async fn expired(&mut self, now: Micros, limit: i64) -> Result<Vec<(SessionKey, i64)>> {
        let rows: Vec<IncarnationRow> = sqlx::query_as(
            "select app_name, user_id, id as session_id, incarnation from sessions where expire_time <= $1 limit 0 + $2",
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

    use sqlx::{AssertSqlSafe, Connection as _};

    use super::*;
    use crate::domain::Limits;
    use crate::domain::command::CreateOutcome;
    use crate::domain::ids::{SessionId, UserId};
    use crate::domain::session::{Creation, IfExists};
    use crate::domain::time::Timestamp;
    use crate::store::Store as _;
    use crate::store::transactions::Transactions;

    fn key() -> SessionKey {
        let user = UserKey { app: AppName::parse("a").unwrap(), user: UserId::parse("u").unwrap() };
        SessionKey { user, session: SessionId::parse("s").unwrap() }
    }

    const TABLES: [&str; 13] = [
        "sessions",
        "session_updates",
        "events",
        "session_state",
        "session_spans",
        "user_scopes",
        "user_state",
        "user_log",
        "user_spans",
        "app_scopes",
        "app_state",
        "app_log",
        "app_spans",
    ];

    /// The statements that are put together here.
    fn over_rows() -> Vec<Script> {
        let (key, time) = (key(), Timestamp::from(Micros(0)));
        let (user, app) = (&key.user, key.app());
        let session = || SessionUpdate { revision: 1, update_time: &time, was: None };
        let write = StateWrite { value: None, first: 1, revision: 1 };
        let scope = ScopeUpdate { was: 0, revision: 1 };
        let mut all = vec![
            look(&[(1, (&key, Some("e"))); 2], &[(1, user); 2], &[(1, app); 2]),
            find("sessions", "app_name, user_id, id", "revision", &[&key; 2]),
            find("session_state", "app_name, user_id, session_id, incarnation, key", "value", &[(&key, 1, "k"); 2]),
            find("user_state", "app_name, user_id, key", "value", &[(user, "k"); 2]),
            find("app_state", "app_name, key", "value", &[(app, "k"); 2]),
        ];
        let mut writes = Script::over([2]);
        insert_events(&mut writes, &[], &Writes { sessions: [(&key, session())].into(), ..Writes::default() });
        update_sessions(&mut writes, &[(&&key, &session()); 2]);
        set_revisions(&mut writes, "user_scopes", USER_STATE.owner, &[(&user, &scope); 2]);
        set_revisions(&mut writes, "app_scopes", APP_STATE.owner, &[(&app, &scope); 2]);
        write_passed(
            &mut writes,
            &SESSION_STATE,
            &[&Passed { key: (&key, 1, "k"), from: 1, to: 2, value: None }; 2],
            false,
        );
        for removed in [false, true] {
            write_state(&mut writes, &SESSION_STATE, &[(&(&key, 1, "k"), &write); 2], removed);
            write_state(&mut writes, &USER_STATE, &[(&(user, "k"), &write); 2], removed);
            write_state(&mut writes, &APP_STATE, &[(&(app, "k"), &write); 2], removed);
            let of_user = Passed { key: (user, "k"), from: 1, to: 2, value: None };
            write_passed(&mut writes, &USER_STATE, &[&of_user; 2], removed);
            let of_app = Passed { key: (app, "k"), from: 1, to: 2, value: None };
            write_passed(&mut writes, &APP_STATE, &[&of_app; 2], removed);
        }
        all.push(writes);
        all
    }

    #[tokio::test]
    async fn rows_are_found_by_their_keys() {
        let mut conn = SqliteConnection::connect("sqlite::memory:").await.unwrap();
        MIGRATOR.run_direct(None, &mut conn, false).await.unwrap();
        let fixed = words::STATEMENTS.all().into_iter().map(|(_, text)| text.to_owned());
        let fixed = fixed.chain([PLAIN_VIEW.clone()]);
        for text in over_rows().into_iter().map(Script::text).chain(fixed) {
            for statement in text.split_terminator("; ") {
                let explain = AssertSqlSafe(format!("explain query plan {statement}"));
                for row in sqlx::raw_sql(explain).fetch_all(&mut conn).await.unwrap() {
                    let step: String = row.get("detail");
                    // A table by its name, or by the letter that stands for it; other things are lists that are bound.
                    let scanned = step.strip_prefix("SCAN ").and_then(|rest| rest.split(' ').next());
                    let scans = scanned.is_some_and(|name| {
                        let is_table = !statement.contains(&format!(") as {name}"));
                        TABLES.contains(&name) || is_table && ["s", "t", "o", "l", "e", "u", "a"].contains(&name)
                    });
                    assert!(!scans && !step.contains("AUTOMATIC"), "{step}: {statement}");
                }
            }
        }
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
        let mut tx = SqliteTx { conn, in_transaction: true, begins: false, committing: false };
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
        let store = Transactions::new(backend);
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
            limits: Limits::none(),
        };
        let creation = Arc::new(creation);
        for _ in 0..2 {
            let outcome = store.create(&creation, Instant::now() + Duration::from_secs(60)).await.unwrap();
            assert!(matches!(outcome, CreateOutcome::Created(view) if view.head.incarnation == 7));
        }
        store.close().await;
        fs::remove_dir_all(folder).unwrap();
    }
}
