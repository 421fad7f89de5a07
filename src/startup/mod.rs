//! Starts and stops the parts of a server in order, for `main` and for tests.

mod metrics_listener;

use std::io::{self, IsTerminal as _, Write as _};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use futures_util::{Stream, StreamExt as _};
use secrecy::ExposeSecret as _;
use tokio::net::TcpListener;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep, timeout};

use crate::access::Authenticator;
use crate::access::audit::Audit;
use crate::blobs::{Blobs, open as open_blobs};
use crate::config::{self, Config, HttpSettings, ListenError};
use crate::http::{self, Observers, refusal, report_refusals};
use crate::metrics::Metrics;
use crate::server;
use crate::service::{Clock as _, Service, SystemClock};
use crate::store::Store;
use crate::store::error::{Cause, StoreError};
use crate::store::open;
use crate::traces::Traces;

/// How long to wait at start for a database that is starting too.
const DATABASE_PATIENCE: Duration = Duration::from_secs(30);
const DATABASE_PAUSE: Duration = Duration::from_millis(500);
/// How often the log reports the wait.
const DATABASE_REPORT: Duration = Duration::from_secs(3);
/// The time limit for one check of the database.
const DATABASE_CHECK: Duration = Duration::from_secs(5);
/// How long closing the database may take.
const CLOSE_GRACE: Duration = Duration::from_secs(2);

/// Why a server cannot start. Never contains the database URL.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The address of `--listen` cannot be used.
    #[error(transparent)]
    Listen(#[from] ListenError),
    #[error("database: {0}")]
    Database(#[from] StoreError),
    /// The socket cannot be bound.
    #[error("{0}")]
    Socket(String),
    /// A file or an issuer of the access settings cannot be used.
    #[error("{0}")]
    Access(String),
    /// A store for artifacts cannot be used.
    #[error("--artifact-store: {0}")]
    ArtifactStore(String),
}

/// The requirements of the first request.
pub struct Prepared {
    config: Config,
    store: Arc<dyn Store>,
    blobs: Arc<dyn Blobs>,
    metrics: Arc<Metrics>,
    authenticator: Arc<Authenticator>,
    audit: Option<Arc<Audit>>,
    traces: Option<Arc<Traces>>,
    /// From before it listens: whoever sees that it listens may send one.
    hangups: io::Result<Signal>,
    metrics_listener: Option<TcpListener>,
    listener: TcpListener,
}

impl Prepared {
    /// # Errors
    /// The system does not know the socket's address.
    pub fn address(&self) -> io::Result<SocketAddr> {
        self.listener.local_addr()
    }
}

/// Checks the listen address, opens and migrates the database, and binds the sockets. In this order, so that clients
/// find a closed port, not a silent one, while the server waits for the database.
///
/// # Errors
/// One of these failed.
pub async fn prepare(config: Config) -> Result<Prepared, StartError> {
    let unknown = config::unknown_variables();
    if !unknown.is_empty() {
        tracing::warn!(variables = unknown.join(" "), "unknown variables that look like settings");
    }
    let addresses = config.listen_addresses().await?;
    let store = open(&config).await?;
    ready(&*store, &config, !config.no_migrate, false).await?;
    tracing::info!(database = place(&config)?, "opened");
    if !store.feeds() {
        if !config.feed_retention.is_zero() {
            tracing::info!("a distributed database has no change feed");
        }
        let deadline = Instant::now() + DATABASE_CHECK;
        let end = async {
            store.end_feed(deadline).await?;
            // Otherwise the first sweep would prune it while the first requests are served.
            store.prune_feed(SystemClock.now(), deadline).await
        };
        match end.await {
            // Nothing reads it, and a later sweep can prune it.
            Err(error) if error.cause == Cause::ReadOnly => {}
            ended => drop(ended?),
        }
    }
    let metrics = Arc::new(Metrics::new());
    let blobs = blobs(&config, &store, &metrics).await?;
    open_blobs::check(&config.blobs()).await.map_err(StartError::ArtifactStore)?;
    let settings = config.access().map_err(StartError::Access)?;
    let clock = Arc::new(SystemClock);
    let authenticator = Arc::new(Authenticator::start(store.clone(), clock, settings).await?);
    if !authenticator.is_on() {
        config.check_exposure(&addresses)?;
    }
    let audit = config.audit_log.clone().map(|sink| Audit::open(sink, metrics.clone())).transpose();
    let audit = audit.map_err(|error| StartError::Access(format!("--audit-log: {error}")))?.map(Arc::new);
    let traces = config.traces().map_err(StartError::Access)?;
    let traces = traces.map(|settings| Traces::start(settings, metrics.clone())).transpose();
    let traces = traces.map_err(|error| StartError::Access(format!("--otlp-endpoint: {error}")))?.map(Arc::new);
    let hangups = signal(SignalKind::hangup());
    // Before the other says that it listens.
    let metrics_listener = metrics_listener::bind(&config).await;
    let metrics_listener = metrics_listener.map_err(|error| StartError::Socket(error.to_string()))?;
    let listener = bind(&config, &addresses).await?;
    Ok(Prepared { config, store, blobs, metrics, authenticator, audit, traces, hangups, metrics_listener, listener })
}

/// Migrates the database, and does nothing else.
///
/// # Errors
/// It cannot be opened or migrated.
pub async fn migrate(config: &Config, citus: bool) -> Result<(), StartError> {
    let store = open(config).await?;
    ready(&*store, config, true, citus).await?;
    store.close().await;
    tracing::info!(database = place(config)?, "the database is migrated");
    Ok(())
}

/// Opens the database for a command, even while a server uses it, and names it on standard error. `creates`: a missing
/// database is created; otherwise it must exist with all migrations.
///
/// # Errors
/// It cannot be opened, does not exist, or lacks a migration.
pub async fn open_beside(config: &Config, creates: bool) -> Result<Arc<dyn Store>, StartError> {
    let (url, options, limits) = (&config.database_url, config.postgres_options(), config.store_limits());
    let (store, is_alone) = open::beside(url.expose_secret(), creates, options, limits).await?;
    ready(&*store, config, creates && is_alone && !config.no_migrate, false).await?;
    // A failure to write to standard error must not stop the command.
    let _ = writeln!(io::stderr(), "database: {}", place(config)?);
    Ok(store)
}

/// The places for the bytes of artifacts. No store is asked: one that is gone keeps nothing else from being served.
///
/// # Errors
/// The database does not answer; a store's settings cannot be used.
pub(crate) async fn blobs(
    config: &Config,
    store: &Arc<dyn Store>,
    metrics: &Arc<Metrics>,
) -> Result<Arc<dyn Blobs>, StartError> {
    let salt = store.erasure_salt(Instant::now() + DATABASE_CHECK).await?;
    open_blobs::places(store.clone(), &salt, &config.blobs(), metrics.clone()).map_err(StartError::ArtifactStore)
}

/// Opens the database for a command, with the service over it.
///
/// # Errors
/// As of [`open_beside`] and of [`blobs`].
pub(crate) async fn service_beside(
    config: &Config,
    creates: bool,
) -> Result<(Arc<dyn Store>, Arc<Service>), StartError> {
    let store = open_beside(config, creates).await?;
    let metrics = Arc::new(Metrics::new());
    let blobs = blobs(config, &store, &metrics).await?;
    let service = Service::over(store.clone(), blobs, Arc::new(SystemClock), config.limits(), metrics);
    Ok((store, Arc::new(service)))
}

/// The location of the database, for people.
fn place(config: &Config) -> Result<String, StoreError> {
    open::place(config.database_url.expose_secret())
}

async fn open(config: &Config) -> Result<Arc<dyn Store>, StoreError> {
    open::database(config.database_url.expose_secret(), config.postgres_options(), config.store_limits()).await
}

/// Migrates the database and distributes it, or checks that it is migrated. Waits for a server that is starting too.
async fn ready(store: &dyn Store, config: &Config, migrate: bool, distribute: bool) -> Result<(), StoreError> {
    // No other process can migrate a file that this process has locked.
    let patience = if config.database_is_file() { Duration::ZERO } else { DATABASE_PATIENCE };
    let give_up = Instant::now() + patience;
    let mut report = Instant::now();
    loop {
        let attempt = async {
            if migrate {
                store.migrate().await?;
            }
            if distribute {
                store.distribute().await?;
            }
            store.check(Instant::now() + DATABASE_CHECK).await.map(drop)
        };
        match attempt.await {
            Err(error) if error.cause.may_pass() && Instant::now() + DATABASE_PAUSE < give_up => {
                if Instant::now() >= report {
                    tracing::warn!(%error, "waiting for the database");
                    report = Instant::now() + DATABASE_REPORT;
                }
                sleep(DATABASE_PAUSE).await;
            }
            other => return other,
        }
    }
}

async fn bind(config: &Config, addresses: &[SocketAddr]) -> Result<TcpListener, StartError> {
    let bound = TcpListener::bind(addresses).await.and_then(|listener| Ok((listener.local_addr()?, listener)));
    let (address, listener) =
        bound.map_err(|error| StartError::Socket(format!("cannot listen on {}: {error}", config.listen)))?;
    tracing::info!(%address, version = env!("CARGO_PKG_VERSION"), "listening");
    Ok(listener)
}

/// Serves until the first item of `shutdown`. Then reports that it is not ready, but serves everything for the shutdown
/// delay or until the next item. Then accepts no connections, finishes requests within the drain deadline, and closes
/// the database.
///
/// # Errors
/// The address of the socket cannot be asked for.
pub async fn serve(prepared: Prepared, mut shutdown: impl Stream<Item = ()> + Unpin) -> io::Result<()> {
    let Prepared { config, store, blobs, metrics, authenticator, audit, traces, hangups, metrics_listener, listener } =
        prepared;
    let clock = Arc::new(SystemClock);
    if !authenticator.is_on() && !listener.local_addr()?.ip().to_canonical().is_loopback() {
        tracing::warn!("no authentication: everyone who can reach this address can read and change every session");
    }
    let watched = store.clone();
    metrics.watch_database(move || (watched.pool(), watched.nodes()));
    let measured = metrics.clone();
    store.watch_waits(Box::new(move |wait| measured.database_wait(wait)));
    let service = Arc::new(Service::over(store.clone(), blobs, clock.clone(), config.limits(), metrics.clone()));
    let mut settings = config.http_settings();
    settings.metrics =
        metrics_listener.as_ref().and_then(|listener| Some(url_of(listener.local_addr().ok()?, "/metrics")));
    welcome(&listener.local_addr()?, &settings, &place(&config).unwrap_or_default());
    let origins = settings.origins.clone();
    let observers = Observers { audit: audit.clone(), traces: traces.clone() };
    let app = http::App::new(service.clone(), authenticator.clone(), observers, settings, metrics.clone(), clock);

    let (stop, stopped) = watch::channel(false);
    let mut metrics_stopped = stopped.clone();
    if let Some(listener) = metrics_listener {
        tokio::spawn(metrics_listener::serve(listener, metrics.clone(), origins, async move {
            let _ = metrics_stopped.wait_for(|stopped| *stopped).await;
        }));
    }
    // Background tasks until the end of the drain. Dropping the set aborts them.
    let mut beside = JoinSet::new();
    let (sweeping, polling, viewing) = (service.clone(), service.clone(), service.clone());
    let (interval, unit) = (config.sweep_interval, config.statement_timeout);
    beside.spawn(async move { sweeping.sweep_forever(interval, unit).await });
    beside.spawn(async move { polling.poll_forever(config.watch_poll).await });
    beside.spawn(async move { viewing.keep_views_forever(unit).await });
    beside.spawn(async move { service.tick_forever().await });
    let measured = metrics.clone();
    beside.spawn(async move { authenticator.watch(&measured).await });
    beside.spawn(reopen_at(hangups, audit.clone()));
    if let Some(audit) = audit.clone() {
        beside.spawn(async move { audit.report(&SystemClock).await });
    }
    beside.spawn(report_refusals(metrics.clone()));

    let not_ready = app.clone();
    let shutdown = async move {
        shutdown.next().await;
        not_ready.stop();
        tokio::select! {
            () = sleep(config.shutdown_delay) => {}
            Some(()) = shutdown.next() => {}
        }
        not_ready.end_watches();
    };
    let limits = config.connection_limits(http::always_served());
    let drained = server::serve(listener, http::router(app), limits, metrics, refusal, shutdown).await;
    drop(beside);
    if let Some(audit) = audit {
        audit.report_now(&SystemClock);
    }
    // A request that was cut off may still wait for the database on a connection, for which closing the pool would
    // wait.
    let _ = timeout(CLOSE_GRACE, store.close()).await;
    if let Some(traces) = traces {
        traces.stop().await;
    }
    let _ = stop.send(true);
    tracing::info!(closed = drained.closed_cleanly, aborted = drained.aborted, "stopped");
    Ok(())
}

fn url_of(address: SocketAddr, path: &str) -> String {
    format!("http://{address}{path}")
}

/// Shows the content of `/` to a person at a terminal.
fn welcome(address: &SocketAddr, settings: &HttpSettings, database: &str) {
    let mut out = io::stderr();
    if !out.is_terminal() {
        return;
    }
    let url = |path| url_of(*address, path);
    let mut lines = vec![format!("sessiond {}, {database}", env!("CARGO_PKG_VERSION"))];
    lines.extend(settings.console.then(|| format!("console  {}", url("/console/"))));
    lines.push(format!("docs     {}", url("/docs")));
    lines.extend(settings.metrics.as_ref().map(|metrics| format!("metrics  {metrics}")));
    lines.push(format!("try      curl {}", url("/v1/apps")));
    // A broken terminal is no reason not to serve.
    let _ = writeln!(out, "\n  {}\n", lines.join("\n  "));
}

/// Reopens the access log at each SIGHUP. Without an access log, SIGHUP does nothing.
async fn reopen_at(hangups: io::Result<Signal>, audit: Option<Arc<Audit>>) {
    match hangups {
        Ok(mut hangups) => {
            while hangups.recv().await.is_some() {
                match &audit {
                    Some(audit) => audit.reopen(),
                    None => tracing::debug!("SIGHUP: no access log is written"),
                }
            }
        }
        Err(error) => tracing::warn!(%error, "SIGHUP cannot be handled: it ends the process"),
    }
}
