//! The service as `main` starts it, in this process, over real TCP.

use std::ops::Deref;
use std::path::PathBuf;
use std::sync::Arc;

use clap::Parser as _;
use sessiond::config::{Cli, Config};
use sessiond::startup;
use sessiond::store::inspect::Inspector;
use sessiond::store::limits::PostgresOptions;
use sessiond::store::limits::StoreLimits;
use sqlx::{AssertSqlSafe, Connection as _, PgConnection};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;

use super::client::Client;
use super::postgres;

/// The databases that the tests run on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Sqlite,
    Postgres,
}

/// A running service with a database of its own. Derefs to the [`Client`] that talks to it.
///
/// Stops when dropped; [`TestServer::stop`] also waits, and removes a database on PostgreSQL.
pub struct TestServer {
    client: Client,
    running: Option<(oneshot::Sender<()>, JoinHandle<()>)>,
    database: Arc<Database>,
}

struct Database {
    url: String,
    /// The folder of a SQLite file, removed with the last server on it.
    dir: Option<PathBuf>,
}

impl Drop for Database {
    fn drop(&mut self) {
        if let Some(dir) = &self.dir {
            let _ = std::fs::remove_dir_all(dir);
        }
    }
}

impl TestServer {
    pub async fn start(kind: Kind) -> Self {
        Self::start_with(kind, &[]).await
    }

    /// `flags` as on the command line.
    pub async fn start_with(kind: Kind, flags: &[&str]) -> Self {
        let database = match kind {
            Kind::Sqlite => {
                let dir = std::env::temp_dir().join(format!("sessiond-it-{}", uuid::Uuid::new_v4().simple()));
                std::fs::create_dir(&dir).expect("create a temporary folder");
                Database { url: format!("sqlite://{}", dir.join("test.db").display()), dir: Some(dir) }
            }
            Kind::Postgres => Database { url: postgres::database().await.url, dir: None },
        };
        Self::serve(Arc::new(database), flags).await
    }

    pub fn database_url(&self) -> &str {
        &self.database.url
    }

    /// Another instance on the same database, which must be PostgreSQL.
    pub async fn replica(&self) -> Self {
        Self::serve(self.database.clone(), &[]).await
    }

    async fn serve(database: Arc<Database>, flags: &[&str]) -> Self {
        let config = config(&database.url, flags);
        let prepared = startup::prepare(config).await.expect("prepare");
        let address = prepared.address().expect("a bound address");
        let (stop, stopped) = oneshot::channel();
        let task = tokio::spawn(async move {
            let shutdown = async move {
                let _ = stopped.await;
            };
            let shutdown = Box::pin(futures_util::stream::once(shutdown));
            startup::serve(prepared, shutdown).await.expect("serve");
        });
        Self { client: Client::new(address), running: Some((stop, task)), database }
    }

    /// Stops the server and waits until it has. Its client cannot be reached any more. The last one on a database leaves
    /// nothing in it that its events do not say.
    pub async fn stop(mut self) {
        if let Some((stop, task)) = self.running.take() {
            let _ = stop.send(());
            self.client.hang_up();
            task.await.expect("the server ends well");
        }
        if Arc::strong_count(&self.database) > 1 {
            return;
        }
        verify(&self.database.url).await;
        if self.database.dir.is_none() {
            drop_database(&self.database.url).await;
        }
    }
}

impl Deref for TestServer {
    type Target = Client;

    fn deref(&self) -> &Client {
        &self.client
    }
}

fn config(url: &str, flags: &[&str]) -> Config {
    let fixed =
        ["sessiond", "--metrics-listen=off", "--listen=127.0.0.1:0", "--database-connections=6", "--database-url", url];
    Cli::try_parse_from(fixed.iter().chain(flags)).expect("valid settings").config
}

async fn verify(url: &str) {
    let inspector = Inspector::open(url, PostgresOptions::default(), StoreLimits::default()).await;
    let mut differences = Vec::new();
    let mut report = |line: &str| differences.push(line.to_owned());
    sessiond::verify::run(&mut inspector.expect("open the database"), &mut report).await.expect("verify it");
    assert!(differences.is_empty(), "{differences:#?}");
}

/// Hundreds of test databases are gigabytes of disk, so each goes when its test has passed. One that cannot be
/// removed goes with the PostgreSQL that the tests started.
async fn drop_database(url: &str) {
    let mut server = reqwest::Url::parse(url).expect("a database URL");
    let name = server.path().trim_start_matches('/').to_owned();
    server.set_path("postgres");
    if let Ok(mut connection) = PgConnection::connect(server.as_str()).await {
        let drop = AssertSqlSafe(format!("DROP DATABASE {name} WITH (FORCE)"));
        let _ = sqlx::raw_sql(drop).execute(&mut connection).await;
        let _ = connection.close().await;
    }
}

/// Stamps each test once per store: `name::sqlite` and `name::postgres`. `with [FLAG, ...]` starts the server with
/// these flags.
macro_rules! on_both_stores {
    ($($(#[$about:meta])* async fn $name:ident($server:ident: &TestServer) $(with [$($flag:literal),*])? $body:block)*) => {$(
        $(#[$about])*
        mod $name {
            use super::*;

            async fn run($server: &TestServer) $body

            async fn on(kind: $crate::support::server::Kind) {
                let flags: &[&str] = &[$($($flag),*)?];
                let server = TestServer::start_with(kind, flags).await;
                run(&server).await;
                server.stop().await;
            }

            #[tokio::test(flavor = "multi_thread")]
            async fn sqlite() {
                on($crate::support::server::Kind::Sqlite).await;
            }

            #[tokio::test(flavor = "multi_thread")]
            async fn postgres() {
                on($crate::support::server::Kind::Postgres).await;
            }
        }
    )*};
}
pub(crate) use on_both_stores;
