//! The service as `main` starts it, in this process, over real TCP.

use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;

use clap::Parser as _;
use sessiond::config::{Cli, Config};
use sessiond::startup::{self, Prepared, StartError};
use sessiond::store::error::Cause;
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout};

use super::client::{Client, PATIENCE};
use super::databases::{Fixture, Place};

/// A running service with a database of its own. Derefs to the [`Client`] that talks to it.
///
/// Stops when dropped; [`Fixture::stop`] also waits, and removes the database.
pub struct TestServer {
    client: Client,
    running: Option<(oneshot::Sender<()>, JoinHandle<()>)>,
    place: Arc<Place>,
}

impl TestServer {
    pub fn database_url(&self) -> String {
        self.place.url()
    }

    /// Runs SQL directly on the database.
    pub async fn execute(&self, sql: &str) {
        self.place.execute(sql).await;
    }

    /// Waits until the sweep has removed all deleted rows, emptied all trimmed ones, and overwritten what was redacted.
    pub async fn until_swept(&self) {
        let left = "select (select count(*) from buried_sessions) + (select count(*) from trims) + (select count(*) from scrubs) \
                      + (select count(*) from blobs where loose_since <= 0)";
        let swept = async {
            while self.place.number(left).await > 0 {
                sleep(Duration::from_millis(10)).await;
            }
        };
        timeout(PATIENCE, swept).await.expect("a sweep");
    }

    /// The number that a query returns, directly from the database.
    pub async fn number(&self, sql: &str) -> i64 {
        self.place.number(sql).await
    }

    /// Another instance on the same database, which must be PostgreSQL.
    pub async fn replica(&self) -> Self {
        self.replica_with(&[]).await
    }

    pub async fn replica_with(&self, flags: &[&str]) -> Self {
        Self::serve(self.place.clone(), flags).await
    }

    async fn serve(place: Arc<Place>, flags: &[&str]) -> Self {
        let prepared = prepare(&place.url(), flags).await;
        let address = prepared.address().expect("a bound address");
        let (stop, stopped) = oneshot::channel();
        let task = tokio::spawn(async move {
            let shutdown = async move {
                let _ = stopped.await;
            };
            let shutdown = Box::pin(futures_util::stream::once(shutdown));
            startup::serve(prepared, shutdown).await.expect("serve");
        });
        Self { client: Client::new(address), running: Some((stop, task)), place }
    }
}

impl Fixture for TestServer {
    async fn start(place: Place, flags: &[&str]) -> Self {
        Self::serve(Arc::new(place), flags).await
    }

    /// Stops the server and waits for its end. The last server on a database also checks that all its data follows from
    /// its events.
    async fn stop(mut self) {
        if let Some((stop, task)) = self.running.take() {
            let _ = stop.send(());
            self.client.hang_up();
            task.await.expect("the server ends well");
        }
        if let Some(place) = Arc::into_inner(self.place) {
            place.finish().await;
        }
    }
}

impl Deref for TestServer {
    type Target = Client;

    fn deref(&self) -> &Client {
        &self.client
    }
}

/// Opens the database patiently: a busy machine may stand still for longer than the service waits.
async fn prepare(url: &str, flags: &[&str]) -> Prepared {
    let begun = Instant::now();
    loop {
        match startup::prepare(config(url, flags)).await {
            Ok(prepared) => return prepared,
            Err(StartError::Database(error))
                if matches!(error.cause, Cause::Timeout | Cause::Unavailable) && begun.elapsed() < PATIENCE =>
            {
                sleep(Duration::from_millis(100)).await;
            }
            Err(error) => panic!("prepare: {error:?}"),
        }
    }
}

fn config(url: &str, flags: &[&str]) -> Config {
    let fixed =
        ["sessiond", "--metrics-listen=off", "--listen=127.0.0.1:0", "--database-connections=6", "--database-url", url];
    Cli::try_parse_from(fixed.iter().chain(flags)).expect("valid settings").config
}
