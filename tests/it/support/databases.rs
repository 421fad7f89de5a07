//! The two databases: a test database on either, and macros that instantiate a test for both.

use std::{env, fs, path::PathBuf, time::Duration};

use reqwest::Url;
use sessiond::store::inspect::Inspector;
use sessiond::store::limits::PostgresOptions;
use sessiond::store::limits::StoreLimits;
use sqlx::{AssertSqlSafe, Connection as _, PgConnection, SqliteConnection};
use uuid::Uuid;

use super::postgres::{self, Database};

/// A test database of either kind. Dropping it removes it.
pub enum Place {
    Sqlite(PathBuf),
    Postgres(Database),
}

impl Place {
    pub fn sqlite() -> Self {
        let dir = env::temp_dir().join(format!("sessiond-data-{}", Uuid::new_v4().simple()));
        fs::create_dir(&dir).expect("create a folder");
        Self::Sqlite(dir)
    }

    pub async fn postgres() -> Self {
        Self::Postgres(postgres::database().await)
    }

    /// A database with sessiond's tables, unlike the other two, which are empty.
    pub async fn migrated_postgres() -> Self {
        Self::Postgres(postgres::migrated().await)
    }

    pub fn url(&self) -> String {
        match self {
            Self::Sqlite(dir) => format!("sqlite://{}", dir.join("data.db").display()),
            Self::Postgres(database) => database.url.clone(),
        }
    }

    /// Runs SQL directly on the database.
    pub async fn execute(&self, sql: impl Into<String>) {
        let statement = sqlx::raw_sql(AssertSqlSafe(sql.into()));
        match self {
            Self::Sqlite(_) => {
                let mut connection = SqliteConnection::connect(&self.url()).await.expect("open the file");
                statement.execute(&mut connection).await.expect("valid SQL");
            }
            Self::Postgres(database) => {
                let mut connection = PgConnection::connect(&database.url).await.expect("connect");
                statement.execute(&mut connection).await.expect("valid SQL");
            }
        }
    }

    /// The number that a query returns.
    pub async fn number(&self, sql: &str) -> i64 {
        match self {
            Self::Sqlite(_) => {
                let mut connection = SqliteConnection::connect(&self.url()).await.expect("open the file");
                sqlx::query_scalar(AssertSqlSafe(sql)).fetch_one(&mut connection).await.expect("a number")
            }
            Self::Postgres(database) => database.number(sql).await,
        }
    }

    /// Proves that all its data follows from its events, and removes it. Hundreds of test databases would take
    /// gigabytes of disk, so each is removed when its test has passed. One that cannot be removed goes with the
    /// PostgreSQL server of the tests.
    pub async fn finish(self) {
        verify(&self.url()).await;
        let Self::Postgres(Database { url, .. }) = &self else { return };
        let mut server = Url::parse(url).expect("a database URL");
        let name = server.path().trim_start_matches('/').to_owned();
        server.set_path("postgres");
        let _ = postgres::on_all_nodes(server.as_str(), &format!("DROP DATABASE {name} WITH (FORCE)")).await;
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if let Self::Sqlite(dir) = self {
            let _ = fs::remove_dir_all(dir);
        }
    }
}

/// Proves that all data of a database follows from its events, as `sessiond verify` does.
pub async fn verify(url: &str) {
    // A busy machine may stand still for longer than the service waits.
    let limits = StoreLimits { acquire: Duration::from_secs(30), ..StoreLimits::default() };
    let inspector = Inspector::open(url, PostgresOptions::default(), limits).await;
    let mut differences = Vec::new();
    let mut report = |line: &str| differences.push(line.to_owned());
    sessiond::commands::verify::run(&inspector.expect("open the database"), &mut report).await.expect("verify it");
    assert!(differences.is_empty(), "{differences:#?}");
}

/// The argument of such a test: a service or a store on a database of its own.
pub trait Fixture: Sized {
    /// `flags` as on the command line of `sessiond`.
    async fn start(place: Place, flags: &[&str]) -> Self;

    /// Ends it, and calls [`Place::finish`].
    async fn stop(self);
}

/// Runs a test on a database.
pub async fn run_on<F: Fixture>(place: Place, flags: &[&str], test: impl AsyncFnOnce(&F)) {
    let fixture = F::start(place, flags).await;
    test(&fixture).await;
    fixture.stop().await;
}

/// Instantiates each test for each database: `name::sqlite` and `name::postgres`. Takes names of `async fn name(place:
/// Place)`, or whole functions that take a [`Fixture`]; `with [FLAG, ...]` sets flags of the server.
macro_rules! on_both_databases {
    ($($name:ident),+ $(,)?) => {$(
        mod $name {
            use $crate::support::databases::Place;

            #[tokio::test(flavor = "multi_thread")]
            async fn sqlite() {
                super::$name(Place::sqlite()).await;
            }

            #[tokio::test(flavor = "multi_thread")]
            async fn postgres() {
                super::$name(Place::postgres().await).await;
            }
        }
    )+};
    ($($(#[$about:meta])* async fn $name:ident($fixture:ident: &$type:ty) $(with [$($flag:literal),*])? $body:block)+) => {$(
        $(#[$about])*
        mod $name {
            use super::*;
            use $crate::support::databases::{Place, run_on};

            const FLAGS: &[&str] = &[$($($flag),*)?];

            async fn run($fixture: &$type) $body

            #[tokio::test(flavor = "multi_thread")]
            async fn sqlite() {
                run_on(Place::sqlite(), FLAGS, run).await;
            }

            #[tokio::test(flavor = "multi_thread")]
            async fn postgres() {
                run_on(Place::migrated_postgres().await, FLAGS, run).await;
            }
        }
    )+};
}
pub(crate) use on_both_databases;

/// The same for SQLite alone, for tests in which the database plays no part.
macro_rules! on_sqlite {
    ($($(#[$about:meta])* async fn $name:ident($fixture:ident: &$type:ty) $(with [$($flag:literal),*])? $body:block)+) => {$(
        $(#[$about])*
        #[tokio::test(flavor = "multi_thread")]
        async fn $name() {
            async fn run($fixture: &$type) $body
            $crate::support::databases::run_on($crate::support::databases::Place::sqlite(), &[$($($flag),*)?], run).await;
        }
    )+};
}
pub(crate) use on_sqlite;
