//! PostgreSQL: how the database is opened and checked, and how transactions begin.

use std::sync::{Arc, Mutex, PoisonError};

use sqlx::AssertSqlSafe;
use sqlx::postgres::PgConnectOptions;
use url::Url;

use super::connect::{self, Server, durable};
use super::distributed::{self, distributed, half_distributed, is_sent, tables};
use super::migrate::Migration;
use super::ours::{self, Ours};
use super::tx::PgTx;
use super::words::clock;
use crate::domain::query::{EventQuery, SessionQuery, StateFilter};
use crate::domain::time::Micros;
use crate::store::backend::{Backend, Database, DatabaseClock, Durable, Scrubbed, Standby, Tx as _};
use crate::store::error::{Cause, Result, StoreError};
use crate::store::limits::{PostgresOptions, StoreLimits};
use crate::store::migrations::{POSTGRES, all_applied};
use crate::store::pool::{Nodes, Pool, PoolUse};
use crate::store::shape::Shape;
use crate::store::sql::query::{Query, one};

/// Whether the server is a standby, commits wait for one, there is one, writes are refused, and the schema is distributed, or half of
/// it is. Any role may ask.
/// So many transactions, or locks of several, after the oldest that a database of the server may show, PostgreSQL gives no number to
/// another: 3 million before they would be taken for later ones.
macro_rules! out_of_ids {
    () => {
        "(select max(greatest(age(datfrozenxid), mxid_age(datminmxid))) >= 2144483647 from pg_database)"
    };
}

const CHECK: &str = concat!(
    "select pg_is_in_recovery(), \
    current_setting('synchronous_standby_names') <> '' and current_setting('synchronous_commit') in ('on', 'remote_apply'), \
    exists (select from pg_stat_replication where state is distinct from 'backup'), \
    current_setting('default_transaction_read_only')::bool or ",
    out_of_ids!(),
    ", ",
    distributed!(),
    ", ",
    half_distributed!()
);

pub struct Postgres {
    pool: Pool<Arc<Server>>,
    server: Arc<Server>,
    connect: PgConnectOptions,
    options: PostgresOptions,
    limits: StoreLimits,
    /// On one server, and on one that distributes.
    begin_read: [String; 2],
    begin_write: [String; 2],
    /// Of [`Durable::Later`].
    begin_early: [String; 2],
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
        // every execution, an append takes twice as long. A statement that commits by itself has the isolation that is set here: each
        // statement of a function must see what was committed before it. Rows that a policy hides must not be taken for missing.
        let fixed = [
            ("default_transaction_isolation", "read committed"),
            ("row_security", "off"),
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
        // A commit that waits flushes the log up to itself, so all commits that were answered before. Where the database is distributed
        // each is durable at once: which node would have to flush, nobody here knows.
        let [_, distributed_write] = &begin_write;
        let early = format!("begin isolation level read committed{local}; set local synchronous_commit = off");
        let begin_early = [early, distributed_write.clone()];
        let (with_settings, kept) = match options.pgbouncer {
            true => (connect.clone(), None),
            false => {
                let times =
                    settings.iter().map(|(name, limit)| format!("current_setting('{name}')::interval = '{limit}ms'"));
                let fixed = fixed.map(|(name, value)| (name, value, format!("current_setting('{name}') = '{value}'")));
                let each: Vec<String> = times.chain(fixed.iter().map(|(.., is)| is.clone())).collect();
                let set =
                    connect.clone().options(settings.clone()).options(fixed.map(|(name, value, _)| (name, value)));
                (set, Some(format!("select {}", each.join(" and "))))
            }
        };
        let server = Arc::new(Server::new(with_settings, kept));
        let pool = Pool::new(server.clone(), limits.connections, limits.acquire);
        Ok(Self {
            pool,
            server,
            connect,
            options,
            limits,
            begin_read,
            begin_write,
            begin_early,
            standby: Default::default(),
        })
    }

    fn migration(&self) -> Migration<'_> {
        let Self { server, connect, options, limits, .. } = self;
        Migration { server, options: connect, pgbouncer: options.pgbouncer, patience: limits.unit() }
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
        let mut tx = PgTx::new(conn, timeline, !self.options.pgbouncer);
        (tx.shape, tx.feeds, tx.in_transaction) = (self.shape(), self.feeds(), begin.is_some());
        Ok(tx)
    }

    fn begin_read(&self) -> &str {
        let [one, distributed] = &self.begin_read;
        if self.server.is_distributed() { distributed } else { one }
    }

    fn begin_write(&self, durable: Durable) -> &str {
        let [one, distributed] = match durable {
            Durable::AtOnce => &self.begin_write,
            Durable::Later => &self.begin_early,
        };
        if self.server.is_distributed() { distributed } else { one }
    }
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

    async fn migrate(&self) -> Result<()> {
        self.migration().migrate().await
    }

    async fn distribute(&self) -> Result<()> {
        self.migration().distribute().await
    }

    fn nodes(&self) -> Option<Nodes> {
        self.server.nodes()
    }

    async fn check(&self) -> Result<Standby> {
        let mut tx = self.begin(Some(self.begin_read())).await?;
        let (is_standby, awaits, has_standby, read_only, distributed, half): (bool, bool, bool, bool, bool, bool) =
            one(&mut tx, Query::new(CHECK)).await?;
        if is_standby {
            return Err(StoreError::new(Cause::Unavailable, "the server is a standby, which cannot be written to"));
        }
        let Ours { applied, schema, .. } = tx.look(true).await?;
        let is_first = self.standby.lock().unwrap_or_else(PoisonError::into_inner).is_none();
        if is_first {
            let warnings = ours::warnings(&mut tx.conn, tx.persistent, &schema).await?;
            warnings.iter().for_each(|warning| tracing::warn!("{warning}"));
        }
        self.server.set_distributed(distributed);
        if half {
            return Err(StoreError::config("the conversion was interrupted: run `sessiond migrate --citus` again"));
        }
        if distributed {
            self.server.set_nodes(distributed::nodes(&mut tx).await?);
        }
        tx.rollback().await?;
        all_applied(&POSTGRES, &applied)?;
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
                "the database takes no writes (default_transaction_read_only is on, or its transaction ids are used up: then vacuum the \
                 oldest database, and end what holds old transactions): reads are served, and writes are refused"
            ),
            Standby::Absent | Standby::Awaited | Standby::Full => {}
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
        let (now,): (i64,) = one(&mut tx, Query::new(concat!("select ", clock!()))).await?;
        let nodes = if tx.shape.is_distributed() { distributed::clocks(&mut tx).await? } else { None };
        tx.rollback().await?;
        let (earliest, latest) = nodes.unwrap_or((now, now));
        Ok(DatabaseClock::Own(Micros(earliest.min(now)), Micros(latest.max(now))))
    }

    fn is_one_statement(&self, query: &SessionQuery) -> bool {
        query.is_plain()
    }

    fn may_be_one_statement(&self, query: &SessionQuery) -> bool {
        query.events.as_ref().is_some_and(EventQuery::is_simple)
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

    async fn write(&self, durable: Durable) -> Result<PgTx> {
        self.begin(Some(self.begin_write(durable))).await
    }

    async fn at_once(&self) -> Result<PgTx> {
        self.read(true).await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_an_early_transaction_of_one_server_is_durable_later() {
        let url = Url::parse("postgres://localhost/x").unwrap();
        for pgbouncer in [false, true] {
            let options = PostgresOptions { pgbouncer };
            let database = Postgres::open(&url, options, StoreLimits::default()).unwrap();
            for (distributed, durable, is_later) in [
                (false, Durable::AtOnce, false),
                (false, Durable::Later, true),
                (true, Durable::AtOnce, false),
                (true, Durable::Later, false),
            ] {
                database.server.set_distributed(distributed);
                let begin = database.begin_write(durable);
                assert_eq!(begin.contains("set local synchronous_commit = off"), is_later, "{begin}");
            }
        }
    }
}
