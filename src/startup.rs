//! Starts what a running server is made of, and stops it in order.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use futures_util::{Stream, StreamExt as _};
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio::time::{sleep, timeout};

use crate::config::Config;
use crate::http::{App, HEALTH_PATHS, refusal, report_refusals, router};
use crate::metrics::{self, Metrics};
use crate::server;
use crate::service::{Service, SystemClock};
use crate::store::Store;

/// How long the database may take to be closed.
const CLOSE_GRACE: Duration = Duration::from_secs(2);

/// Serves on `listener` until `shutdown` says so; then not ready, but all else served for the shutdown's delay, or until
/// `shutdown` says so again; then no new connections, what is in flight finished within the drain's deadline, the
/// database closed.
///
/// # Errors
/// The metrics' address, if it was asked for by name and cannot be had.
pub async fn serve(
    config: Config,
    store: Arc<dyn Store>,
    listener: TcpListener,
    mut shutdown: impl Stream<Item = ()> + Unpin,
) -> io::Result<()> {
    let clock = Arc::new(SystemClock);
    let metrics = Arc::new(Metrics::new());
    let watched = store.clone();
    metrics.watch_pool(move || watched.pool());
    let measured = metrics.clone();
    store.watch_waits(Box::new(move |wait| measured.database_wait(wait)));
    let service = Service::new(store.clone(), clock.clone(), config.limits(), config.acquire_timeout, metrics.clone());
    let settings = config.http_settings();
    let origins = settings.origins.clone();
    let app = App::new(service, settings, metrics.clone(), clock);

    let (stop, stopped) = watch::channel(false);
    let mut metrics_stopped = stopped.clone();
    if let Some(listener) = metrics::bind(&config).await? {
        tokio::spawn(metrics::serve_metrics(listener, metrics.clone(), origins, async move {
            let _ = metrics_stopped.wait_for(|stopped| *stopped).await;
        }));
    }
    let sweeper = tokio::spawn({
        let (app, interval, unit) = (app.clone(), config.sweep_interval, config.statement_timeout);
        async move { app.service.sweep_forever(interval, unit).await }
    });

    let refusals = tokio::spawn(report_refusals(metrics.clone()));

    let not_ready = app.clone();
    let shutdown = async move {
        shutdown.next().await;
        not_ready.stop();
        tokio::select! {
            () = sleep(config.shutdown_delay) => {}
            Some(()) = shutdown.next() => {}
        }
    };
    let limits = config.connection_limits(HEALTH_PATHS);
    let drained = server::serve(listener, router(app), limits, metrics, refusal, shutdown).await;
    sweeper.abort();
    refusals.abort();
    // A request that was cut off may still wait for the database, on a connection that the pool would wait for.
    let _ = timeout(CLOSE_GRACE, store.close()).await;
    let _ = stop.send(true);
    tracing::info!(closed = drained.closed_cleanly, aborted = drained.aborted, "stopped");
    Ok(())
}
