//! PostgreSQL, 13 and later, also behind PgBouncer in transaction mode.

pub mod connect;
mod distributed;
mod ours;
mod read;
mod snapshots;
mod statement;
pub mod statements;
pub mod words;
mod write;

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::ControlFlow;
use std::sync::{Arc, Mutex, PoisonError};

use connect::{Server, durable};
use distributed::{distributed, half_distributed, is_distributed, is_sent, tables};
use futures_util::TryStreamExt as _;
use ours::{Ours, look};
use read::{ReadRow, read_statement};
pub use snapshots::Snapshots;
use sqlx::migrate::Migrator;
use sqlx::postgres::{PgArguments, PgConnectOptions};
use sqlx::{Arguments as _, AssertSqlSafe, Connection as _, PgConnection, Row as _};
use statements::{
    CLAIM_BURIED, DROP_APP, DROP_USERS, EXPIRED, EXPIRED_UNLOCKED, HOLD_USER, HOLD_USER_ALONE, IS_RECORDED,
    IS_RESTORED, KEEP_SESSION, LOCK_APP, LOCK_SESSIONS, LOCK_SESSIONS_SKIPPING, LOCK_TICKS, LOCK_USERS, MAKE_APP,
    MAKE_USERS, NEW_EPOCH, NEXT_BURIED, NEXT_BURIED_UNLOCKED, PRUNE_CHANGES, PRUNE_TICKS, READ_HEADS, READ_REVISIONS,
    RECORD, REMOVE_FUTURE, TICK, TICKED, VALUES,
};
use url::Url;
use words::{DISTRIBUTED, STATEMENTS, clock, pinned};
#[cfg(test)]
pub use write::composed;
use write::{apps_of, create_sessions, insert_sessions, insert_unlisted, list_sessions, write_call};

use super::backend::{
    Backend, Buried, Database, DatabaseClock, OnLocked, Scrubbed, Seen, SessionInsert, Standby, Tx, UserLock, Verdict,
};
use super::error::{Cause, StoreError};
use super::limits::{PostgresOptions, StoreLimits};
use super::migrations::{Applied, all_applied, pending, statements};
use super::pool::{Lease, Nodes, Pool, PoolUse};
use super::shape::Shape;
use super::sql::feed::latest;
use super::sql::heads::{HeadsQuery, HeadsRow};
use super::sql::primitives::view_in_parts;
use super::sql::query::{Query, Row, Sql, Value};
use super::sql::rows::{BuriedRow, IncarnationRow, LockedRow, ViewRow};
use super::sql::statements::Statements;
use crate::domain::ids::{AppName, EventId, ScopeKey, ScopeRef, SessionId, SessionKey, StateAddress, UserId};
use crate::domain::json::RawJson;
use crate::domain::loaded::{Loaded, LockedSession, Needs, Revisions, StateEntry};
use crate::domain::query::{EventPage, SessionQuery, SessionView, StateFilter};
use crate::domain::tag::Timeline;
use crate::domain::time::Micros;
use crate::domain::writes::{ChangeRow, Writes};

type Result<T> = std::result::Result<T, StoreError>;

pub(super) static MIGRATOR: Migrator = sqlx::migrate!("migrations/postgres");

/// Whether the server is a standby, commits wait for one, there is one, writes are refused, and the schema is distributed, or half of
/// it is. Any role may ask.
const CHECK: &str = concat!(
    "select pg_is_in_recovery(), \
    current_setting('synchronous_standby_names') <> '' and current_setting('synchronous_commit') in ('on', 'remote_apply'), \
    exists (select from pg_stat_replication where state is distinct from 'backup'), \
    current_setting('default_transaction_read_only')::bool, ",
    distributed!(),
    ", ",
    half_distributed!()
);

/// What is set, and locked, for as long as a connection lives would be left to others.
const DIRECTLY: &str = "a distributed database is not migrated behind PgBouncer: run `sessiond migrate` at the coordinator directly, \
                        without --pgbouncer";

/// An arbitrary number that every sessiond locks while it migrates.
const MIGRATION_LOCK: i64 = 0x7365_7373_696f_6e64;

pub struct Postgres {
    pool: Pool<Arc<Server>>,
    server: Arc<Server>,
    connect: PgConnectOptions,
    options: PostgresOptions,
    limits: StoreLimits,
    /// On one server, and on one that distributes.
    begin_read: [String; 2],
    begin_write: [String; 2],
    /// As it was at the last check.
    standby: Mutex<Option<Standby>>,
}

impl Postgres {
    pub fn open(url: &Url, options: PostgresOptions, limits: StoreLimits) -> Result<Self> {
        let connect = connect::options(url)?;
        connect::warn_if_exposed(&connect);
        let settings = [
            ("statement_timeout", limits.statement),
            ("lock_timeout", limits.lock_wait),
            // Frees the locks of a process that stopped or was cut off from the network in the middle of a transaction:
            // the others would wait for it until TCP gives up, after minutes or hours.
            ("idle_in_transaction_session_timeout", limits.acquire + limits.statement),
        ]
        .map(|(name, limit)| (name, limit.as_millis().to_string()));
        // Every statement is a few index lookups, whatever its values, so it is planned once per connection. With a plan for
        // every execution, an append takes twice as long.
        let plans = [
            ("plan_cache_mode", "force_generic_plan"),
            ("enable_seqscan", "off"),
            ("enable_hashjoin", "off"),
            ("enable_mergejoin", "off"),
            ("jit", "off"),
        ];
        // PgBouncer refuses these as start-up parameters, and a setting that outlives its transaction would leak to others.
        let each: String = settings.iter().map(|(name, limit)| format!("; set local {name} = {limit}")).collect();
        let local = if options.pgbouncer { each.as_str() } else { "" };
        let durable = if options.pgbouncer { concat!("; ", durable!("true")) } else { "" };
        // The nodes where the rows are have no settings of ours but those of the transaction. Citus sends them the text that has
        // the command, which must be no more than the command.
        let distributed = format!(
            "; set local citus.node_connection_timeout = 1000; set local citus.propagate_set_commands = 'local'; \
             do $$begin {}; execute 'set local synchronous_commit = ' || replace(current_setting('synchronous_commit'), 'off', 'on'); \
             end$$",
            &each[2..]
        );
        let begin_read =
            [local, &distributed].map(|set| format!("begin isolation level repeatable read, read only{set}"));
        let begin_write =
            [local, &distributed].map(|set| format!("begin isolation level read committed{set}{durable}"));
        let (with_settings, kept) = match options.pgbouncer {
            true => (connect.clone(), None),
            false => {
                let times =
                    settings.iter().map(|(name, limit)| format!("current_setting('{name}')::interval = '{limit}ms'"));
                let plans = plans.map(|(name, value)| (name, value, format!("current_setting('{name}') = '{value}'")));
                let each: Vec<String> = times.chain(plans.iter().map(|(.., is)| is.clone())).collect();
                let set =
                    connect.clone().options(settings.clone()).options(plans.map(|(name, value, _)| (name, value)));
                (set, Some(format!("select {}", each.join(" and "))))
            }
        };
        let server = Arc::new(Server::new(with_settings, kept));
        let pool = Pool::new(server.clone(), limits.connections, limits.acquire);
        Ok(Self { pool, server, connect, options, limits, begin_read, begin_write, standby: Mutex::new(None) })
    }

    async fn begin(&self, begin: Option<&str>) -> Result<PgTx> {
        // After a restart of the server the pool may hold nothing but dead connections; BEGIN finds that out, and
        // nothing has happened yet.
        for _ in 0..self.limits.connections {
            match self.try_begin(begin).await {
                Err(error) if error.cause == Cause::ConnectionLost => {}
                other => return other,
            }
        }
        self.try_begin(begin).await
    }

    async fn try_begin(&self, begin: Option<&str>) -> Result<PgTx> {
        let mut conn = self.pool.acquire().await?;
        let mut timeline = conn.timeline();
        match begin {
            // PgBouncer may have another server behind the same connection by now.
            Some(begin) if self.options.pgbouncer => timeline = self.server.run_and_tell(&mut conn, begin).await?,
            Some(begin) => {
                sqlx::raw_sql(AssertSqlSafe(begin)).execute(&mut *conn).await?;
            }
            None => {}
        }
        Ok(PgTx {
            shape: self.shape(),
            feeds: self.feeds(),
            in_transaction: begin.is_some(),
            ..PgTx::new(conn, timeline, !self.options.pgbouncer)
        })
    }

    fn begin_read(&self) -> &str {
        let [one, distributed] = &self.begin_read;
        if self.server.is_distributed() { distributed } else { one }
    }

    fn begin_write(&self) -> &str {
        let [one, distributed] = &self.begin_write;
        if self.server.is_distributed() { distributed } else { one }
    }
}

/// Applies migrations, and notes them as sqlx would, but that it prepares its statements by name, which PgBouncer would pass on with the
/// server's connection.
async fn apply(conn: &mut PgConnection, versions: &[i64]) -> Result<()> {
    const NOTES: &str = "create table if not exists sessiond_migrations (version bigint primary key, description text not null, \
                         installed_on timestamptz not null default now(), success boolean not null, checksum bytea not null, \
                         execution_time bigint not null)";
    const NOTE: &str = "insert into sessiond_migrations (version, description, success, checksum, execution_time) \
                        values ($1, $2, true, $3, -1)";
    sqlx::raw_sql(NOTES).execute(&mut *conn).await?;
    for migration in MIGRATOR.iter().filter(|migration| versions.contains(&migration.version)) {
        for statement in statements(migration.sql.as_str()) {
            sqlx::raw_sql(AssertSqlSafe(statement)).execute(&mut *conn).await?;
        }
        sqlx::query(NOTE)
            .persistent(false)
            .bind(migration.version)
            .bind(&*migration.description)
            .bind(&*migration.checksum)
            .execute(&mut *conn)
            .await?;
    }
    Ok(())
}

fn not_allowed(error: StoreError) -> StoreError {
    if error.cause == Cause::ReadOnly {
        return StoreError::config(format!("migrations are pending, and the database takes no writes: {error}"));
    }
    if !error.lacks_privilege() {
        return error;
    }
    let what =
        "migrations are pending, and this user may not apply them: run `sessiond migrate` as the owner of the tables";
    StoreError::config(format!("{what}: {error}"))
}

impl Database for Postgres {
    const NAME: &'static str = "postgresql";

    fn shape(&self) -> Shape {
        if self.server.is_distributed() { Shape::Distributed } else { Shape::Server }
    }

    /// Not behind PgBouncer, where time limits hold within an explicit transaction only.
    fn is_optimistic(&self) -> bool {
        !self.options.pgbouncer
    }

    /// All pending migrations in one transaction, which holds the lock: works behind PgBouncer too, and leaves
    /// nothing half done. What a distributed database lacks then, it gets after that.
    async fn migrate(&self) -> Result<()> {
        // Its own connection, closed afterwards: migrations take their time.
        let mut conn = self.server.connect_for_itself(self.limits.unit()).await?;
        // In the transaction from the first look on: PgBouncer keeps the server's connection for that long only.
        let mut tx = conn.begin().await?;
        // Looking takes `select` alone, so a role that may not create tables can start a server.
        let found = look(&mut tx, false, false).await?;
        if pending(&MIGRATOR, &found.applied)?.is_empty() {
            let distributed = is_distributed(&mut tx).await?;
            self.server.set_distributed(distributed);
            tx.rollback().await?;
            conn.close().await?;
            // Whoever migrated it may have ended before it was distributed.
            return if distributed && !self.options.pgbouncer { self.distribute().await } else { Ok(()) };
        }
        if self.options.pgbouncer && is_distributed(&mut tx).await? {
            return Err(StoreError::config(DIRECTLY));
        }
        sqlx::raw_sql("set local statement_timeout = 0; set local lock_timeout = 0").execute(&mut *tx).await?;
        sqlx::query("select pg_advisory_xact_lock($1)")
            .persistent(false)
            .bind(MIGRATION_LOCK)
            .execute(&mut *tx)
            .await?;
        let encoding: String = sqlx::query_scalar("show server_encoding").persistent(false).fetch_one(&mut *tx).await?;
        if encoding != "UTF8" {
            return Err(StoreError::config("the database's encoding must be UTF8"));
        }
        // Whoever had the lock may have applied them.
        let Ours { applied, schema, is_first } = look(&mut tx, false, false).await?;
        let versions = pending(&MIGRATOR, &applied)?;
        if !is_first && !versions.is_empty() {
            let what = "new tables would be made elsewhere: let the search_path begin with it";
            return Err(StoreError::config(format!("sessiond's tables are in the schema {schema}, and {what}")));
        }
        apply(&mut tx, &versions).await.map_err(not_allowed)?;
        let distributed = is_distributed(&mut tx).await?;
        tx.commit().await?;
        conn.close().await?;
        if distributed {
            // What was just made is to go where the rest is.
            self.distribute().await?;
        }
        Ok(())
    }

    async fn distribute(&self) -> Result<()> {
        if self.options.pgbouncer {
            return Err(StoreError::config(DIRECTLY));
        }
        let options = self.connect.clone().statement_cache_capacity(0).application_name(distributed::NAME);
        let mut conn = connect::connect(&options, self.limits.unit()).await?;
        sqlx::raw_sql("set statement_timeout = 0; set lock_timeout = 0").execute(&mut conn).await?;
        sqlx::query("select pg_advisory_lock($1)").persistent(false).bind(MIGRATION_LOCK).execute(&mut conn).await?;
        distributed::distribute(&mut conn, self.connect.get_application_name()).await?;
        conn.close().await?;
        self.server.set_distributed(true);
        Ok(())
    }

    fn nodes(&self) -> Option<Nodes> {
        self.server.nodes()
    }

    async fn check(&self) -> Result<Standby> {
        let mut tx = self.begin(Some(self.begin_read())).await?;
        let (is_standby, awaits, has_standby, read_only, distributed, half): (bool, bool, bool, bool, bool, bool) =
            sqlx::query_as(CHECK).persistent(tx.persistent).fetch_one(&mut *tx.conn).await?;
        if is_standby {
            return Err(StoreError::new(Cause::Unavailable, "the server is a standby, which cannot be written to"));
        }
        let applied = tx.applied(true).await?;
        self.server.set_distributed(distributed);
        if half {
            return Err(StoreError::config("the conversion was interrupted: run `sessiond migrate --citus` again"));
        }
        if distributed {
            self.server.set_nodes(distributed::nodes(&mut tx.conn, tx.persistent).await?);
        }
        tx.rollback().await?;
        all_applied(&MIGRATOR, &applied)?;
        let standby = match (has_standby, awaits) {
            _ if read_only => Standby::ReadOnly,
            (_, true) => Standby::Awaited,
            (true, false) => Standby::NotAwaited,
            (false, false) => Standby::Absent,
        };
        let before = self.standby.lock().unwrap_or_else(PoisonError::into_inner).replace(standby);
        match standby {
            _ if before == Some(standby) => {}
            Standby::NotAwaited => tracing::warn!(
                "commits wait for no standby, though there is one: if it takes over, what was acknowledged last may be lost"
            ),
            Standby::ReadOnly => tracing::warn!(
                "the database takes no writes (default_transaction_read_only is on): reads are served, and writes are refused"
            ),
            Standby::Absent | Standby::Awaited => {}
        }
        Ok(standby)
    }

    /// By the names of their connections, which any role sees. Those of PgBouncer outlive their clients.
    async fn is_open_elsewhere(&self) -> Result<Option<bool>> {
        const OTHERS: &str = "select exists (select from pg_stat_activity where datname = current_database() \
                              and application_name in ('sessiond', current_setting('application_name')) \
                              and pid <> pg_backend_pid())";
        if self.options.pgbouncer {
            return Ok(None);
        }
        let mut tx = self.read(true).await?;
        let others: bool = tx.is_so(OTHERS).await?;
        tx.rollback().await?;
        Ok(Some(others))
    }

    async fn clock(&self) -> Result<DatabaseClock> {
        let mut tx = self.read(true).await?;
        let now: i64 =
            sqlx::query_scalar(concat!("select ", clock!())).persistent(tx.persistent).fetch_one(&mut *tx.conn).await?;
        let nodes =
            if tx.shape.is_distributed() { distributed::clocks(&mut tx.conn, tx.persistent).await? } else { None };
        tx.rollback().await?;
        let (earliest, latest) = nodes.unwrap_or((now, now));
        Ok(DatabaseClock::Own(Micros(earliest.min(now)), Micros(latest.max(now))))
    }

    fn is_one_statement(&self, query: &SessionQuery) -> bool {
        query.events.is_none() || query.is_plain()
    }

    fn may_share(&self, query: &SessionQuery) -> bool {
        query.is_plain() && query.state.as_ref().is_some_and(StateFilter::is_whole)
    }

    /// Half of the connections stay free for reads.
    fn writers(&self) -> usize {
        (self.limits.connections as usize / 2).clamp(2, 8)
    }

    /// Its files are not this process's.
    async fn scrub(&self) -> Result<Scrubbed> {
        Ok(Scrubbed::Foreign)
    }

    fn limits(&self) -> StoreLimits {
        self.limits
    }

    fn pool(&self) -> PoolUse {
        self.pool.in_use()
    }

    async fn close(&self) {
        self.pool.close().await;
    }
}

impl Backend for Postgres {
    type Tx = PgTx;

    async fn read(&self, single: bool) -> Result<PgTx> {
        let begin = if single && !self.options.pgbouncer { None } else { Some(self.begin_read()) };
        self.begin(begin).await
    }

    async fn write(&self) -> Result<PgTx> {
        self.begin(Some(self.begin_write())).await
    }

    async fn at_once(&self) -> Result<PgTx> {
        self.read(true).await
    }
}

/// If it is dropped before its end, its state is unknown and its connection may not answer. The pool then closes the
/// connection, which ends the transaction for certain, and nothing waits for it.
pub struct PgTx {
    conn: Lease<PgConnection>,
    timeline: Timeline,
    persistent: bool,
    shape: Shape,
    /// Scope rows that may have been created just to be locked.
    made_scopes: Vec<ScopeKey>,
    in_transaction: bool,
    feeds: bool,
    /// Where it is distributed, the app that this transaction sweeps, and what was found of it that is buried.
    swept: Option<AppName>,
    buried: Vec<Buried>,
}

impl PgTx {
    /// The migrations that the database has; none, if there is nothing of sessiond. `serves`: the role reads every table.
    ///
    /// # Errors
    /// Names of ours lead to another program's.
    pub async fn applied(&mut self, serves: bool) -> Result<Vec<Applied>> {
        Ok(look(&mut self.conn, self.persistent, serves).await?.applied)
    }

    /// Of a server, without BEGIN and without the change feed.
    fn new(conn: Lease<PgConnection>, timeline: Timeline, persistent: bool) -> Self {
        Self {
            conn,
            timeline,
            persistent,
            shape: Shape::Server,
            made_scopes: Vec::new(),
            in_transaction: false,
            feeds: false,
            swept: None,
            buried: Vec::new(),
        }
    }

    async fn end(mut self, statement: &'static str) -> Result<()> {
        if self.in_transaction {
            sqlx::raw_sql(statement).execute(&mut *self.conn).await?;
        }
        self.conn.release();
        Ok(())
    }

    /// Locks the rows that exist of [one table and app](by_table); which those are.
    async fn lock_scope_rows<'k>(&mut self, scopes: &[ScopeRef<'k>]) -> Result<BTreeSet<ScopeRef<'k>>> {
        let rows =
            over_scopes(LOCK_USERS, LOCK_APP, scopes).persistent(self.persistent).fetch_all(&mut *self.conn).await?;
        let numbers: Vec<i64> = rows.iter().map(|row| row.try_get(0)).collect::<std::result::Result<_, _>>()?;
        Ok(numbers.into_iter().filter_map(|n| counted(scopes, n)).copied().collect())
    }

    async fn is_so(&mut self, question: &'static str) -> Result<bool> {
        Ok(sqlx::query_scalar(question).persistent(self.persistent).fetch_one(&mut *self.conn).await?)
    }

    /// Begins the change feed anew if the condition holds; whether it did. It is judged again under the lock: of two transactions
    /// that both find it true, one begins the feed, or the positions that its readers got would be gone at once.
    async fn new_epoch_if(&mut self, condition: &'static str) -> Result<bool> {
        if !self.is_so(condition).await? {
            return Ok(false);
        }
        self.lock_ticks().await?;
        let holds = self.is_so(condition).await?;
        if holds {
            self.new_epoch().await?;
        }
        Ok(holds)
    }

    async fn lock_ticks(&mut self) -> Result<()> {
        sqlx::raw_sql(LOCK_TICKS).execute(&mut *self.conn).await?;
        Ok(())
    }

    /// Begins the change feed anew. The ticks are locked.
    async fn new_epoch(&mut self) -> Result<()> {
        sqlx::query(NEW_EPOCH).persistent(self.persistent).execute(&mut *self.conn).await?;
        Ok(())
    }

    /// Writes what a batch changes in one app, unless a head has changed; `feeds`: and tells the change feed.
    async fn write_app(&mut self, app: &AppName, writes: &Writes<'_>, feeds: bool) -> Result<Verdict> {
        let row = write_call(app, writes, feeds).persistent(self.persistent).fetch_one(&mut *self.conn).await?;
        row.verdict()
    }
}

/// Splits scopes, which are in their order, into those of one table and app each.
fn by_table<'s, 'k>(scopes: &'s [ScopeRef<'k>]) -> impl Iterator<Item = &'s [ScopeRef<'k>]> {
    scopes.chunk_by(|a, b| (a.scope(), a.app()) == (b.scope(), b.app()))
}

/// The statement over scopes of [one table and app](by_table).
fn over_scopes<'q>(
    of_users: &'static str,
    of_app: &'static str,
    scopes: &[ScopeRef<'q>],
) -> sqlx::query::Query<'q, sqlx::Postgres, PgArguments> {
    let users = user_ids(scopes);
    let app = scopes.first().map(|scope| scope.app().as_str());
    if users.is_empty() { sqlx::query(of_app).bind(app) } else { sqlx::query(of_users).bind(app).bind(users) }
}

fn user_ids<'a>(scopes: &[ScopeRef<'a>]) -> Vec<&'a str> {
    scopes.iter().filter_map(|scope| scope.user()).map(|key| key.user.as_str()).collect()
}

/// The row with a number that counts from 1.
fn counted<T>(rows: &[T], n: i64) -> Option<&T> {
    rows.get(usize::try_from(n).ok()?.checked_sub(1)?)
}

impl Sql for PgTx {
    fn statements(&self) -> &'static Statements {
        if self.shape.is_distributed() { &DISTRIBUTED } else { &STATEMENTS }
    }

    async fn fetch<R: Row>(&mut self, query: Query<'_>) -> Result<Vec<R>> {
        let (text, values) = query.into_parts();
        let query = sqlx::query_as_with(text, arguments(values)?).persistent(self.persistent);
        Ok(query.fetch_all(&mut *self.conn).await?)
    }

    async fn fetch_until<R: Row>(
        &mut self,
        query: Query<'_>,
        mut take: impl FnMut(R) -> Result<ControlFlow<()>> + Send,
    ) -> Result<()> {
        let (text, values) = query.into_parts();
        let query = sqlx::query_as_with(text, arguments(values)?).persistent(self.persistent);
        let mut rows = query.fetch(&mut *self.conn);
        while let Some(row) = rows.try_next().await? {
            if take(row)?.is_break() {
                break;
            }
        }
        Ok(())
    }

    async fn execute(&mut self, query: Query<'_>) -> Result<u64> {
        let (text, values) = query.into_parts();
        let query = sqlx::query_with(text, arguments(values)?).persistent(self.persistent);
        Ok(query.execute(&mut *self.conn).await?.rows_affected())
    }
}

fn arguments(values: Vec<Value<'_>>) -> Result<PgArguments> {
    let mut arguments = PgArguments::default();
    for value in values {
        match value {
            Value::Text(text) => arguments.add(text.as_deref()),
            Value::Integer(number) => arguments.add(number),
            Value::Bytes(bytes) => arguments.add(bytes),
            Value::Flag(flag) => arguments.add(flag),
            Value::Texts(texts) => arguments.add(texts),
            Value::Integers(numbers) => arguments.add(numbers),
        }
        .map_err(sqlx::Error::Encode)?;
    }
    Ok(arguments)
}

impl Tx for PgTx {
    fn timeline(&self) -> Timeline {
        self.timeline
    }

    async fn views(&mut self, queries: &[&SessionQuery]) -> Result<Vec<Option<SessionView>>> {
        if let [query] = queries
            && !query.is_plain()
        {
            return Ok(vec![view_in_parts(self, query, pinned(query.now)).await?]);
        }
        let mut views: Vec<Option<SessionView>> = queries.iter().map(|_| None).collect();
        let Some(mut statement) = read_statement(queries) else { return Ok(views) };
        let rows: Vec<ReadRow> =
            statement.build_query_as().persistent(self.persistent).fetch_all(&mut *self.conn).await?;
        for row in rows {
            let at = usize::try_from(row.n).unwrap_or(usize::MAX);
            if let (Some(query), Some(view)) = (queries.get(at), views.get_mut(at)) {
                *view = row.view(query)?;
            }
        }
        Ok(views)
    }

    async fn lock_sessions(&mut self, keys: &BTreeSet<&SessionKey>, on_locked: OnLocked) -> Result<Vec<LockedSession>> {
        let keys: Vec<&SessionKey> = keys.iter().copied().collect();
        let mut locked = Vec::with_capacity(keys.len());
        for keys in keys.chunk_by(|a, b| a.app() == b.app()) {
            let rows: Vec<LockedRow> = sqlx::query_as(match on_locked {
                OnLocked::Wait => LOCK_SESSIONS,
                OnLocked::Skip => LOCK_SESSIONS_SKIPPING,
            })
            .persistent(self.persistent)
            .bind(keys.first().map(|key| key.app().as_str()))
            .bind(keys.iter().map(|key| key.user.user.as_str()).collect::<Vec<_>>())
            .bind(keys.iter().map(|key| key.session.as_str()).collect::<Vec<_>>())
            .fetch_all(&mut *self.conn)
            .await?;
            for row in rows {
                locked.push(row.try_into()?);
            }
        }
        Ok(locked)
    }

    async fn lock_scopes(&mut self, scopes: &[ScopeRef<'_>]) -> Result<()> {
        for scopes in by_table(scopes) {
            let there = self.lock_scope_rows(scopes).await?;
            let missing: Vec<ScopeRef<'_>> = scopes.iter().filter(|scope| !there.contains(scope)).copied().collect();
            if !missing.is_empty() {
                // Two statements, because a row that another transaction just made is visible only to the next one.
                let make = over_scopes(MAKE_USERS, MAKE_APP, &missing).persistent(self.persistent);
                make.execute(&mut *self.conn).await?;
                self.made_scopes.extend(missing.into_iter().map(ScopeRef::to_key));
                self.lock_scope_rows(scopes).await?;
            }
        }
        Ok(())
    }

    async fn keep_session(&mut self, key: &SessionKey) -> Result<Option<LockedSession>> {
        let row: Option<LockedRow> = sqlx::query_as(KEEP_SESSION)
            .persistent(self.persistent)
            .bind(key.app().as_str())
            .bind(key.user.user.as_str())
            .bind(key.session.as_str())
            .fetch_optional(&mut *self.conn)
            .await?;
        row.map(LockedSession::try_from).transpose()
    }

    async fn values(&mut self, keys: &[(&StateAddress, i64)]) -> Result<Vec<(StateAddress, StateEntry)>> {
        // One list for all scopes, each row with the parts of its key that its scope has.
        let parts = |address: &StateAddress| match address {
            StateAddress::Session(key, name) => {
                (0_i16, Some(key.user.user.clone()), Some(key.session.clone()), name.to_string())
            }
            StateAddress::Shared(ScopeKey::User(key), name) => (1, Some(key.user.clone()), None, name.to_string()),
            StateAddress::Shared(ScopeKey::App(_), name) => (2, None, None, name.to_string()),
        };
        let mut by_app: BTreeMap<&AppName, Vec<(&StateAddress, i64)>> = BTreeMap::new();
        for (address, incarnation) in keys {
            by_app.entry(address.app()).or_default().push((address, *incarnation));
        }
        let mut found = Vec::with_capacity(keys.len());
        for (app, keys) in by_app {
            let parts: Vec<_> = keys.iter().map(|(address, _)| parts(address)).collect();
            let rows: Vec<(i64, String, i64)> = sqlx::query_as(VALUES)
                .persistent(self.persistent)
                .bind(app.as_str())
                .bind(parts.iter().map(|(scope, ..)| *scope).collect::<Vec<_>>())
                .bind(parts.iter().map(|(_, user, ..)| user.as_ref().map(UserId::as_str)).collect::<Vec<_>>())
                .bind(parts.iter().map(|(.., session, _)| session.as_ref().map(SessionId::as_str)).collect::<Vec<_>>())
                .bind(keys.iter().map(|(_, incarnation)| *incarnation).collect::<Vec<_>>())
                .bind(parts.iter().map(|(.., name)| name.as_str()).collect::<Vec<_>>())
                .fetch_all(&mut *self.conn)
                .await?;
            found.extend(rows.into_iter().filter_map(|(n, value, revision)| {
                let (address, _) = counted(&keys, n)?;
                Some(((*address).clone(), StateEntry { value: Some(RawJson::trusted(value)), revision }))
            }));
        }
        Ok(found)
    }

    /// Of one app, all at one moment.
    async fn read_heads(&mut self, needs: &Needs<'_>) -> Result<Loaded> {
        let all = HeadsQuery::of(needs);
        let mut heads = Loaded::default();
        for app in all.named_apps() {
            let look = all.of_app(app);
            let HeadsQuery { sessions, scopes, erased } = &look;
            let rows: Vec<HeadsRow> = sqlx::query_as(READ_HEADS)
                .persistent(self.persistent)
                .bind(app.as_str())
                .bind(sessions.iter().map(|(key, _)| key.user.user.as_str()).collect::<Vec<_>>())
                .bind(sessions.iter().map(|(key, _)| key.session.as_str()).collect::<Vec<_>>())
                .bind(sessions.iter().map(|(_, id)| id.map(EventId::as_str)).collect::<Vec<_>>())
                .bind(user_ids(scopes))
                .bind(scopes.contains(&ScopeRef::App(app)))
                .bind(!erased.is_empty())
                .fetch_all(&mut *self.conn)
                .await?;
            heads.extend(look.heads(rows)?);
        }
        Ok(heads)
    }

    async fn read_revisions(&mut self, keys: &[SessionKey], _: Micros) -> Result<Vec<Option<Revisions>>> {
        type Lists = (Option<Vec<i64>>, Option<Vec<i64>>, Option<Vec<i64>>, Option<Vec<i64>>);
        let mut all = vec![None; keys.len()];
        let mut rest = &mut all[..];
        for keys in keys.chunk_by(|a, b| a.app() == b.app()) {
            let Some(app) = keys.first().map(SessionKey::app) else { continue };
            let (found, others) = rest.split_at_mut(keys.len());
            rest = others;
            let (n, incarnations, revisions, metadata): Lists = sqlx::query_as(READ_REVISIONS)
                .persistent(self.persistent)
                .bind(app.as_str())
                .bind(keys.iter().map(|key| key.user.user.as_str()).collect::<Vec<_>>())
                .bind(keys.iter().map(|key| key.session.as_str()).collect::<Vec<_>>())
                .fetch_one(&mut *self.conn)
                .await?;
            let [n, incarnations, revisions, metadata] =
                [n, incarnations, revisions, metadata].map(Option::unwrap_or_default);
            for (((n, incarnation), revision), metadata) in n.into_iter().zip(incarnations).zip(revisions).zip(metadata)
            {
                let at = usize::try_from(n).unwrap_or(0).wrapping_sub(1);
                if let Some(found) = found.get_mut(at) {
                    *found = Some(Revisions { incarnation, revision, metadata });
                }
            }
        }
        Ok(all)
    }

    async fn insert_sessions(&mut self, inserts: &[SessionInsert<'_>]) -> Result<Vec<i64>> {
        let mut rows: Vec<&SessionInsert<'_>> = inserts.iter().collect();
        rows.sort_by_key(|insert| &insert.creation.key);
        let mut made = Vec::new();
        for of_app in rows.chunk_by(|a, b| a.creation.key.app() == b.creation.key.app()) {
            let statement = if self.shape.is_distributed() { insert_unlisted(of_app) } else { insert_sessions(of_app) };
            let Some(mut statement) = statement else { continue };
            let statement = statement.build_query_as::<(i64, i64)>().persistent(self.persistent);
            let found: HashMap<i64, i64> = statement.fetch_all(&mut *self.conn).await?.into_iter().collect();
            if self.shape.is_distributed() {
                let is_made = |row: &&'_ SessionInsert<'_>| found.get(&row.creation.incarnation).copied();
                let rows: Vec<_> = of_app.iter().filter_map(|row| Some((*row, is_made(row)?))).collect();
                if let Some(list) = list_sessions(&rows) {
                    list.persistent(self.persistent).execute(&mut *self.conn).await?;
                }
            }
            made.extend(found.into_keys());
        }
        Ok(made)
    }

    async fn create_at_once(&mut self, inserts: &[SessionInsert<'_>]) -> Result<Vec<SessionView>> {
        let mut rows: Vec<&SessionInsert<'_>> = inserts.iter().collect();
        rows.sort_by_key(|insert| &insert.creation.key);
        let Some(mut statement) = create_sessions(&rows, self.feeds) else { return Ok(Vec::new()) };
        let rows: Vec<ViewRow> =
            statement.build_query_as().persistent(self.persistent).fetch_all(&mut *self.conn).await?;
        let view = |row: ViewRow| {
            let state = Some(row.state.merged());
            Ok(SessionView { head: row.head.try_into()?, state, events: EventPage::default() })
        };
        rows.into_iter().map(view).collect()
    }

    async fn commit_if_unchanged(&mut self, writes: &Writes<'_>) -> Result<Verdict> {
        let mut apps = apps_of(writes).into_iter();
        match (apps.next(), apps.next()) {
            (Some(app), None) => {
                let written = self.write_app(app, writes, self.feeds).await;
                if self.shape.is_distributed() { written.map_err(StoreError::of_node) } else { written }
            }
            _ => Err(StoreError::new(Cause::Internal, "what is written at once is of one app")),
        }
    }

    fn may_have_committed(&self) -> bool {
        true
    }

    async fn apply(&mut self, writes: &Writes<'_>) -> Result<Seen> {
        let mut all = Seen::new();
        for app in apps_of(writes) {
            let Verdict::Written(seen) = self.write_app(app, writes, false).await? else {
                // A session that has expired since it was locked, or an id that the same session has under another key.
                return Err(StoreError::new(Cause::Conflict, "a locked head is not what it was"));
            };
            all.extend(seen);
        }
        self.drop_unused_scopes(writes).await?;
        Ok(all)
    }

    fn feeds(&self) -> bool {
        self.feeds
    }

    async fn record(&mut self, changes: &[ChangeRow<'_>]) -> Result<()> {
        let rows = || changes.iter();
        sqlx::query(RECORD)
            .persistent(self.persistent)
            .bind(rows().map(|row| row.kind.number()).collect::<Vec<_>>())
            .bind(rows().map(|row| row.app.as_str()).collect::<Vec<_>>())
            .bind(rows().map(|row| row.user.map(UserId::as_str)).collect::<Vec<_>>())
            .bind(rows().map(|row| row.session.map(|(session, _)| session.as_str())).collect::<Vec<_>>())
            .bind(rows().map(|row| row.session.map(|(_, incarnation)| incarnation)).collect::<Vec<_>>())
            .bind(rows().map(|row| row.first).collect::<Vec<_>>())
            .bind(rows().map(|row| row.last).collect::<Vec<_>>())
            .bind(rows().map(|row| row.detail.as_deref()).collect::<Vec<_>>())
            .execute(&mut *self.conn)
            .await?;
        Ok(())
    }

    async fn tick(&mut self, at_once: bool) -> Result<i64> {
        /// How many changes of a dump are removed at once. Until none is left, the feed begins anew at each tick.
        const REMOVED: i64 = 10_000;
        /// How old the last tick is at least, in microseconds, that is followed by another for nobody in particular.
        const BETWEEN: i64 = 40_000;
        // Before a tick: whoever adds one could not get the lock of another one's.
        if self.new_epoch_if(IS_RESTORED).await? {
            sqlx::query(REMOVE_FUTURE).persistent(self.persistent).bind(REMOVED).execute(&mut *self.conn).await?;
        } else {
            // One that is in vain has waited for another one, which may be older than what is asked for. The next one is in vain
            // only if one came between that saw what was committed by now, or if there is nothing to tell.
            for _ in 0..=i32::from(at_once) {
                let tick = sqlx::query(TICK).persistent(self.persistent).bind(if at_once { 0 } else { BETWEEN });
                if tick.execute(&mut *self.conn).await?.rows_affected() > 0 {
                    break;
                }
            }
        }
        Ok(latest(self).await?.map_or(0, |tick| tick.number))
    }

    async fn ticked(&mut self, after: i64, through: i64, limit: i64) -> Result<Vec<(String, Option<String>)>> {
        let names = sqlx::query_as(TICKED).persistent(self.persistent).bind(after).bind(through).bind(limit);
        Ok(names.fetch_all(&mut *self.conn).await?)
    }

    async fn end_feed(&mut self, always: bool) -> Result<()> {
        if always {
            self.lock_ticks().await?;
            self.new_epoch().await
        } else {
            self.new_epoch_if(IS_RECORDED).await.map(drop)
        }
    }

    async fn prune_feed(&mut self, _: Micros, age: i64, limit: i64) -> Result<u64> {
        let ticks = sqlx::query(PRUNE_TICKS).persistent(self.persistent).bind(age).bind(limit);
        let ticks = ticks.execute(&mut *self.conn).await?.rows_affected();
        let changes = sqlx::query(PRUNE_CHANGES).persistent(self.persistent).bind(limit);
        Ok(ticks + changes.execute(&mut *self.conn).await?.rows_affected())
    }

    async fn expired(&mut self, _: Micros, limit: i64) -> Result<Vec<(SessionKey, i64)>> {
        let text = if self.shape.is_distributed() { EXPIRED_UNLOCKED } else { EXPIRED };
        let rows: Vec<IncarnationRow> =
            sqlx::query_as(text).persistent(self.persistent).bind(limit).fetch_all(&mut *self.conn).await?;
        let found: Vec<(SessionKey, i64)> = rows.into_iter().map(IncarnationRow::decode).collect::<Result<_>>()?;
        if !self.shape.is_distributed() {
            return Ok(found);
        }
        self.swept = found.first().map(|(key, _)| key.app().clone());
        let keys = found.iter().map(|(key, _)| key).filter(|key| self.swept.as_ref() == Some(key.app())).collect();
        let locked = self.lock_sessions(&keys, OnLocked::Skip).await?;
        // Only of one that has expired does a locked row tell a time.
        let expired = locked.into_iter().filter(|row| row.head.expire_time.is_some());
        Ok(expired.map(|row| (row.key, row.head.incarnation)).collect())
    }

    async fn next_buried(&mut self) -> Result<Option<Buried>> {
        if !self.shape.is_distributed() {
            let row: Option<BuriedRow> =
                sqlx::query_as(NEXT_BURIED).persistent(self.persistent).fetch_optional(&mut *self.conn).await?;
            return row.map(BuriedRow::decode).transpose();
        }
        if self.buried.is_empty() {
            let rows: Vec<BuriedRow> =
                sqlx::query_as(NEXT_BURIED_UNLOCKED).persistent(self.persistent).fetch_all(&mut *self.conn).await?;
            self.buried = rows.into_iter().map(BuriedRow::decode).collect::<Result<_>>()?;
            let app = self.swept.take().or_else(|| Some(self.buried.first()?.key.app().clone()));
            self.buried.retain(|found| app.as_ref() == Some(found.key.app()));
            self.swept = app;
        }
        // Those that are left are another's.
        while let Some(Buried { key, incarnation, .. }) = self.buried.pop() {
            let row: Option<BuriedRow> = sqlx::query_as(CLAIM_BURIED)
                .persistent(self.persistent)
                .bind(key.app().as_str())
                .bind(key.user.user.as_str())
                .bind(key.session.as_str())
                .bind(incarnation)
                .fetch_optional(&mut *self.conn)
                .await?;
            if let Some(row) = row {
                return row.decode().map(Some);
            }
        }
        Ok(None)
    }

    async fn hold_user(&mut self, user: i64, lock: UserLock) -> Result<()> {
        let statement = match lock {
            UserLock::Shared => HOLD_USER,
            UserLock::Alone => HOLD_USER_ALONE,
        };
        sqlx::query(statement).persistent(self.persistent).bind(user).execute(&mut *self.conn).await?;
        Ok(())
    }

    async fn commit(self) -> Result<()> {
        self.end("commit").await
    }

    async fn rollback(self) -> Result<()> {
        self.end("rollback").await
    }
}

impl PgTx {
    /// A scope row at revision 0 has no meaning once it is unlocked, and lists of names would have to skip it.
    async fn drop_unused_scopes(&mut self, writes: &Writes<'_>) -> Result<()> {
        let unused: Vec<ScopeRef<'_>> = self
            .made_scopes
            .iter()
            .map(ScopeKey::borrowed)
            .filter(|scope| !writes.scopes.contains_key(scope))
            .collect();
        for scopes in by_table(&unused) {
            let drop = over_scopes(DROP_USERS, DROP_APP, scopes).persistent(self.persistent);
            drop.execute(&mut *self.conn).await?;
        }
        Ok(())
    }
}
