//! Making connections to PostgreSQL: where they lead, what is set on them, and why one cannot be made.

use std::io::ErrorKind;
use std::net::IpAddr;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use sqlx::postgres::{PgConnectOptions, PgRow, PgSslMode};
use sqlx::{AssertSqlSafe, ConnectOptions as _, Error, PgConnection, Row as _};
use tokio::time::{Instant, sleep, timeout_at};
use url::Url;

use super::distributed::{distributed, is_sent};
use crate::domain::tag::Timeline;
use crate::store::error::{Cause, Result, StoreError};
use crate::store::pool::{Connect, Nodes};

/// The pause before a server that refuses connections is asked again.
const PAUSE: Duration = Duration::from_millis(50);

/// Sets `synchronous_commit` for a connection or a transaction: a success is answered after a durable commit, also on a
/// server whose default is to be lax.
macro_rules! durable {
    ($local:literal) => {
        concat!(
            "select set_config('synchronous_commit', case current_setting('synchronous_commit') when 'off' then 'on' \
               else current_setting('synchronous_commit') end, ",
            $local,
            ")"
        )
    };
}
pub(super) use durable;

/// Lifts the limit that PostgreSQL 17 and later have for whole transactions: here, each part of one has a limit.
macro_rules! unlimited {
    ($local:literal) => {
        concat!(
            "select set_config('transaction_timeout', '0', ",
            $local,
            ") where current_setting('transaction_timeout', true) is not null"
        )
    };
}
pub(super) use unlimited;

/// The timeline of a server that can be written to, in hexadecimal; null on a standby. Any role may ask.
const TIMELINE: &str =
    "select case when not pg_is_in_recovery() then left(pg_walfile_name(pg_current_wal_lsn()), 8) end as timeline";

/// What is set on a connection. Citus plans nothing without values, and waits half a minute for a node that is silent.
const SETTINGS: &str = concat!(
    durable!("false"),
    "; ",
    unlimited!("false"),
    "; select set_config(name, value, false) from (values ('plan_cache_mode', 'force_custom_plan'), \
       ('citus.node_connection_timeout', '1000')) as s(name, value) where ",
    distributed!()
);

/// What a server answers that keeps its timeline to itself: feature_not_supported, insufficient_privilege,
/// undefined_function, object_not_in_prerequisite_state.
const KEEPS_TIMELINE: [&str; 4] = ["0A000", "42501", "42883", "55000"];

/// Where connections of the pool lead.
pub struct Server {
    options: PgConnectOptions,
    /// Asks whether the settings of the connection are in force; `None` behind PgBouncer, where it has none.
    kept: Option<String>,
    tells_timeline: AtomicBool,
    distributed: AtomicBool,
    nodes: Mutex<Option<Nodes>>,
}

impl Server {
    pub fn new(options: PgConnectOptions, kept: Option<String>) -> Self {
        let distributed = AtomicBool::new(false);
        Self { options, kept, tells_timeline: AtomicBool::new(true), distributed, nodes: Mutex::new(None) }
    }

    /// As of the last look: when the process started, or was asked whether it is ready.
    pub fn is_distributed(&self) -> bool {
        self.distributed.load(Relaxed)
    }

    pub fn set_distributed(&self, distributed: bool) {
        self.distributed.store(distributed, Relaxed);
    }

    pub fn nodes(&self) -> Option<Nodes> {
        *self.nodes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub fn set_nodes(&self, nodes: Nodes) {
        let before = self.nodes.lock().unwrap_or_else(PoisonError::into_inner).replace(nodes);
        if nodes.gone != before.map_or(0, |before| before.gone) {
            tracing::warn!(
                nodes = nodes.all,
                gone = nodes.gone,
                "the nodes of the database that do not answer have changed"
            );
        }
    }

    /// Connects, for a task of its own, which prepares nothing by name.
    ///
    /// # Errors
    /// The server cannot be reached, or does not keep the settings of a connection.
    pub async fn connect_for_itself(&self, limit: Duration) -> Result<PgConnection> {
        let mut conn = connect(&self.options.clone().statement_cache_capacity(0), limit).await?;
        self.see_settings(&mut conn).await?;
        Ok(conn)
    }

    /// A pooler may swallow the settings of a connection: then no limit of time is in force, and what is prepared by name is met by
    /// others.
    async fn see_settings(&self, conn: &mut PgConnection) -> Result<()> {
        let Some(kept) = &self.kept else { return Ok(()) };
        let row = sqlx::raw_sql(AssertSqlSafe(&**kept)).fetch_one(conn).await?;
        if row.try_get::<bool, _>(0)? {
            return Ok(());
        }
        let what =
            "does not keep the settings that a connection begins with, as a pooler does by ignore_startup_parameters";
        Err(StoreError::config(format!("PostgreSQL at {} {what}: {TO_A_POOLER}", place(&self.options))))
    }

    /// Runs statements, and returns the timeline on which they ran.
    ///
    /// # Errors
    /// The server is a standby, besides what may happen to any statement.
    pub async fn run_and_tell(&self, conn: &mut PgConnection, statements: &str) -> Result<Timeline> {
        if self.tells_timeline.load(Relaxed) {
            let all = AssertSqlSafe(format!("{statements}; {TIMELINE}"));
            match sqlx::raw_sql(all).fetch_all(&mut *conn).await {
                Ok(rows) => return self.timeline(rows.last()),
                Err(Error::Database(error)) if KEEPS_TIMELINE.contains(&&*error.code().unwrap_or_default()) => {
                    if self.tells_timeline.swap(false, Relaxed) {
                        tracing::warn!(
                            code = %error.code().unwrap_or_default(),
                            "PostgreSQL does not tell its timeline: after a failover that loses what was acknowledged, an \
                             ETag may match what it does not stand for"
                        );
                    }
                    sqlx::raw_sql("rollback").execute(&mut *conn).await?;
                }
                Err(error) => return Err(error.into()),
            }
        }
        sqlx::raw_sql(AssertSqlSafe(statements)).execute(conn).await?;
        Ok(Timeline::default())
    }

    fn timeline(&self, row: Option<&PgRow>) -> Result<Timeline> {
        let text: Option<String> = row.map(|row| row.try_get("timeline")).transpose()?.flatten();
        let text = text.ok_or_else(|| {
            let what = format!("PostgreSQL at {} is a standby, which cannot be written to", place(&self.options));
            StoreError::new(Cause::Unavailable, what)
        })?;
        let number = u32::from_str_radix(&text, 16);
        number.map(Timeline).map_err(|_| StoreError::new(Cause::Internal, "the timeline is no number"))
    }
}

impl Connect for Arc<Server> {
    type Connection = PgConnection;

    /// Retries until `until`, as a server that restarts is away for a moment. A server's timeline changes when it is promoted;
    /// that ends no connection, but connections are made to primaries only.
    async fn connect(&self, until: Instant) -> Result<(PgConnection, Timeline)> {
        let mut last = None;
        let connecting = async {
            loop {
                let error = match self.options.connect().await {
                    Ok(conn) => return Ok(conn),
                    Err(error) => error,
                };
                let may_pass = is_passing(&error);
                let failure = failure(&self.options, error);
                if !may_pass {
                    return Err(failure);
                }
                last = Some(failure);
                sleep(PAUSE).await;
            }
        };
        let connected = timeout_at(until, connecting).await;
        let mut conn = connected.map_err(|_| last.unwrap_or_else(|| silent(&self.options)))??;
        let mut timeline = Timeline::default();
        if self.kept.is_some() {
            let set = async {
                self.see_settings(&mut conn).await?;
                self.run_and_tell(&mut conn, SETTINGS).await
            };
            timeline = timeout_at(until, set).await.map_err(|_| silent(&self.options))??;
        }
        Ok((conn, timeline))
    }
}

/// What to do about a pooler.
const TO_A_POOLER: &str = "give --pgbouncer (SESSIOND_PGBOUNCER=true) if it is PgBouncer or another pooler";

/// Connects, for a task of its own.
pub async fn connect(options: &PgConnectOptions, limit: Duration) -> Result<PgConnection> {
    // A server may accept the connection and then never answer.
    let connected = timeout_at(Instant::now() + limit, options.connect()).await;
    connected.map_err(|_| silent(options))?.map_err(|error| failure(options, error))
}

/// The options of a URL of [`DatabaseUrl`](crate::store::url::DatabaseUrl), and none that PgBouncer would refuse.
pub fn options(url: &Url) -> Result<PgConnectOptions> {
    let options = PgConnectOptions::from_url(url)
        // It would quote a value.
        .map_err(|_| StoreError::config("a parameter of the database URL has no valid value"))?
        // For floats, which are never read.
        .extra_float_digits(None)
        .disable_statement_logging();
    let is_named = options.get_application_name().is_some_and(|name| !name.is_empty());
    Ok(if is_named { options } else { options.application_name("sessiond") })
}

/// Warns if an attacker on the network could read or change what is sent.
pub fn warn_if_exposed(options: &PgConnectOptions) {
    if !is_local(options) && !matches!(options.get_ssl_mode(), PgSslMode::VerifyFull) {
        tracing::warn!(
            server = place(options),
            "nothing proves that this is the right PostgreSQL, and the connection may not be encrypted: say \
             sslmode=verify-full in the database URL, unless the network between is yours alone"
        );
    }
}

/// A Unix socket, or an address of this machine.
fn is_local(options: &PgConnectOptions) -> bool {
    let host = options.get_host();
    let is_loopback = |host: &str| host.parse().is_ok_and(|ip: IpAddr| ip.to_canonical().is_loopback());
    options.get_socket().is_some()
        || host.starts_with('/')
        || host == "localhost"
        || is_loopback(host.trim_matches(['[', ']']))
}

/// The server, without user, password and database.
fn place(options: &PgConnectOptions) -> String {
    let port = options.get_port();
    let folder = options.get_socket().map(|folder| folder.display().to_string());
    match folder.or_else(|| options.get_host().starts_with('/').then(|| options.get_host().to_owned())) {
        Some(folder) => format!("{folder}/.s.PGSQL.{port}"),
        None if options.get_host().contains(':') => format!("[{}]:{port}", options.get_host()),
        None => format!("{}:{port}", options.get_host()),
    }
}

/// The server and the database, for people.
pub fn place_of_database(options: &PgConnectOptions) -> String {
    let database = options.get_database().unwrap_or_else(|| options.get_username());
    format!("PostgreSQL at {}, database {database}", place(options))
}

/// Whether an immediate retry may help: the server is starting, is out of connections for now, or the network failed.
fn is_passing(error: &Error) -> bool {
    match error {
        Error::Database(error) => error.is_transient_in_connect_phase(),
        // A bad certificate or certificate file stays bad.
        Error::Io(error) => error.kind() != ErrorKind::InvalidData,
        Error::Protocol(_) => true,
        _ => false,
    }
}

fn silent(options: &PgConnectOptions) -> StoreError {
    unreachable(options, Cause::Unavailable, "it does not answer within the time limit")
}

fn unreachable(options: &PgConnectOptions, cause: Cause, why: &str) -> StoreError {
    StoreError::new(cause, format!("PostgreSQL at {} cannot be reached: {why}", place(options)))
}

const POOLERS: [&str; 2] = ["unsupported startup parameter", "command-line options"];

/// Why a connection could not be made. Of what the server says only the code: the text names the user.
fn failure(options: &PgConnectOptions, error: Error) -> StoreError {
    let is_closed =
        |kind| matches!(kind, ErrorKind::UnexpectedEof | ErrorKind::ConnectionReset | ErrorKind::BrokenPipe);
    let closed = "the connection was closed before an answer came; is it a proxy whose server is away?";
    let unavailable = |why: &str| unreachable(options, Cause::Unavailable, why);
    // A certificate that is no good stays so.
    let refused = |error: &dyn std::fmt::Display| {
        let text = error.to_string();
        // Which `openssl req -x509` makes, unless it is told otherwise.
        let hint = match text.contains("CaUsedAsEndEntity") {
            true => {
                ": the server shows the certificate of an authority as its own; make one with basicConstraints=CA:FALSE"
            }
            false => "",
        };
        unreachable(options, Cause::Refused, &format!("TLS: {text}{hint}"))
    };
    match &error {
        Error::Io(error) if is_closed(error.kind()) => unavailable(closed),
        Error::Io(error) => match error.kind() {
            ErrorKind::ConnectionRefused => unavailable("connection refused"),
            ErrorKind::InvalidData => refused(error),
            _ => unavailable(&error.to_string()),
        },
        Error::Tls(error) => refused(error),
        // A closed connection reads like a wrong answer to the request for TLS.
        Error::Protocol(text) if text.contains("0x00") => unavailable(closed),
        Error::Protocol(_) => unavailable("what answers does not speak PostgreSQL's protocol"),
        // As PgBouncer and its kin say it, and RDS Proxy.
        Error::Database(answer) if POOLERS.iter().any(|words| answer.message().contains(words)) => {
            let code = answer.code().unwrap_or_default().into_owned();
            let why = format!(
                "it takes no settings with the connection ({code}): {TO_A_POOLER}, and no `options` in the URL"
            );
            unreachable(options, Cause::Config, &why)
        }
        Error::Database(answer) => {
            let code = answer.code().unwrap_or_default().into_owned();
            let why = match (&*code, code.get(..2)) {
                // A role that is not there or may not log in, too.
                ("28000", _) => "it refuses the user, or pg_hba.conf has no line for this connection",
                (_, Some("28")) => "it refuses the user or the password",
                ("3D000", _) => "it has no such database",
                ("42501", _) => "the user may not connect to the database",
                ("42704", _) => {
                    "it does not know a setting of the connection: PostgreSQL must be 15 or later, and what `options` of the URL \
                     name a setting"
                }
                ("53300", _) => "it has no connection left",
                ("57P03", _) => "it is starting or stopping",
                _ => "it refuses the connection",
            };
            unreachable(options, StoreError::from(error).cause, &format!("{why} ({code})"))
        }
        _ => error.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::store::url::DatabaseUrl;

    fn of(url: &str) -> PgConnectOptions {
        match DatabaseUrl::parse(url) {
            Ok(DatabaseUrl::Postgres(url)) => options(&url).unwrap(),
            _ => panic!("{url}"),
        }
    }

    #[test]
    fn only_what_leaves_the_machine_is_exposed() {
        for url in [
            "postgres://localhost/n",
            "postgres://127.0.0.1:1/n",
            "postgres://127.9.9.9/n",
            "postgres://[::1]/n",
            "postgres:///n?host=/run/postgresql",
            "postgres://%2Frun%2Fpostgresql/n",
            "postgres://h/n?hostaddr=127.0.0.1",
        ] {
            assert!(is_local(&of(url)), "{url}");
        }
        for url in
            ["postgres://db/n", "postgres://192.0.2.1/n", "postgres://[2001:db8::1]/n", "postgres://localhost.x/n"]
        {
            assert!(!is_local(&of(url)), "{url}");
        }
    }

    #[test]
    fn a_server_is_named_without_who_asks() {
        for (url, expected) in [
            ("postgres://u:p@db/n", "db:5432"),
            ("postgres://u:p@[::1]:7/n", "[::1]:7"),
            ("postgres:///n?user=u&password=p&host=/run/pg&port=7", "/run/pg/.s.PGSQL.7"),
        ] {
            assert_eq!(place(&of(url)), expected);
        }
    }
}
