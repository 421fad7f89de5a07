//! A real PostgreSQL for the tests: [`database`] on a server that all tests share, [`dedicated`] for tests that break a
//! server. The tests start the server themselves, with the programs in `TEST_DATABASE_BIN` if that is set, or use
//! `TEST_DATABASE_URL`. No test is skipped: without PostgreSQL they fail and say what to install.

use std::{
    env, fs,
    net::{Ipv4Addr, SocketAddr, ToSocketAddrs},
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::Command,
    sync::OnceLock,
};

use clap::Parser as _;
use reqwest::Url;
use sessiond::{config::Cli, startup};
use sqlx::{AssertSqlSafe, Connection, PgConnection};
use tokio::sync::{Mutex, OnceCell};
use uuid::Uuid;

use super::process::{Guard, free_port};

/// The database of one test. It is removed with the server; on a server of `TEST_DATABASE_URL` it stays, as
/// `sessiond_test_...`, for inspection.
pub struct Database {
    pub url: String,
    /// For [`Database::number`].
    connection: Mutex<Option<PgConnection>>,
}

impl Database {
    pub fn at(url: String) -> Self {
        Self { url, connection: Mutex::new(None) }
    }

    /// The number that a query returns. A test asks a hundred times until something has happened: on one connection, as each costs more
    /// than most queries, and on another one if that was cut.
    pub async fn number(&self, sql: &str) -> i64 {
        let mut kept = self.connection.lock().await;
        if let Some(connection) = &mut *kept
            && let Ok(number) = sqlx::query_scalar(AssertSqlSafe(sql)).fetch_one(connection).await
        {
            return number;
        }
        let connection = kept.insert(PgConnection::connect(&self.url).await.expect("connect"));
        sqlx::query_scalar(AssertSqlSafe(sql)).fetch_one(connection).await.expect("a number")
    }
}

/// A new, empty UTF-8 database on the server shared by all tests of this process, or on that of `TEST_DATABASE_URL`,
/// whose user must be allowed to create databases.
///
/// The first call starts the server, which takes a second or two and blocks its thread; the server does not depend on
/// the caller's tokio runtime. It ends with the test process, however that ends.
pub async fn database() -> Database {
    copy(&env::var("TEST_DATABASE_TEMPLATE").unwrap_or_else(|_| "template0".into())).await
}

/// The same with sessiond's tables: a copy of a database that was migrated once, which takes a third of the work.
pub async fn migrated() -> Database {
    static TEMPLATE: OnceCell<String> = OnceCell::const_new();
    if env::var_os("TEST_DATABASE_TEMPLATE").is_some() {
        return database().await;
    }
    let template = TEMPLATE.get_or_init(async || {
        let url = database().await.url;
        let flags = ["sessiond", "--database-url", &url];
        let config = Cli::try_parse_from(flags).expect("valid settings").config;
        startup::migrate(&config, false).await.expect("migrate");
        Url::parse(&url).expect("a database URL").path().trim_start_matches('/').to_owned()
    });
    copy(template.await).await
}

async fn copy(template: &str) -> Database {
    database_with(&format!("ENCODING 'UTF8' TEMPLATE {template}")).await
}

/// As [`database`], with other options of `CREATE DATABASE`.
pub async fn database_with(options: &str) -> Database {
    static SHARED: OnceLock<Server> = OnceLock::new();
    let server = match env::var("TEST_DATABASE_URL") {
        Ok(url) if !url.is_empty() => url,
        // fsync is off because this machine is not powered off: a crash of PostgreSQL loses nothing that the kernel
        // already has, and the data ends with the tests.
        _ => SHARED
            .get_or_init(|| {
                Server::create("fsync = off\nfull_page_writes = off\nautovacuum = off\nshared_buffers = 32MB")
            })
            .url("postgres"),
    };
    let name = format!("sessiond_test_{}", Uuid::new_v4().simple());
    let create = format!("CREATE DATABASE {name} {options}");
    on_all_nodes(&server, &create).await.expect("create a database");

    let mut url = Url::parse(&server).expect("TEST_DATABASE_URL is a URL");
    url.set_path(&name);
    Database::at(url.into())
}

/// Runs a statement on a server, and on the other nodes (`TEST_DATABASE_NODES`) if it is the coordinator of a
/// distributed database. There, tests copy a template (`TEST_DATABASE_TEMPLATE`) that is the same on all nodes.
pub async fn on_all_nodes(server: &str, statement: &str) -> sqlx::Result<()> {
    let nodes = env::var("TEST_DATABASE_NODES").unwrap_or_default();
    for url in [server].into_iter().chain(nodes.split_whitespace()) {
        let mut connection = PgConnection::connect(url).await?;
        sqlx::raw_sql(AssertSqlSafe(statement)).execute(&mut connection).await?;
        connection.close().await?;
    }
    Ok(())
}

/// A database as plain SQL, without what belongs to the server that it is on: as `pg_dump` writes it, but that settings, which a server
/// of another version may not know, and comments are left out. No value in it may have lines that look like these.
pub fn dump(url: &str) -> String {
    let program = bin_dir().expect("PostgreSQL").join("pg_dump");
    let args = ["--inserts", "--rows-per-insert=100", "--no-owner", "--no-privileges", "--encoding=UTF8", url];
    let output = Command::new(program).args(args).output().expect("run pg_dump");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    let is_kept = |line: &&str| !line.is_empty() && !["SET ", "--", "\\"].iter().any(|begin| line.starts_with(begin));
    text.split('\n').filter(is_kept).flat_map(|line| [line, "\n"]).collect()
}

/// A running server for one test, with `fsync = on`, which can be crashed and restarted. Blocks its thread for a second
/// or two. Removed with its data when dropped. Ignores `TEST_DATABASE_URL`.
pub async fn dedicated() -> DedicatedPostgres {
    DedicatedPostgres(Server::create("fsync = on"))
}

/// See [`dedicated`].
pub struct DedicatedPostgres(Server);

impl DedicatedPostgres {
    /// The URL of a database, which need not exist; `postgres` does, and is empty. Stays valid over a restart.
    pub fn url(&self, database: &str) -> String {
        self.0.url(database)
    }

    /// The folder of its data.
    pub fn data(&self) -> PathBuf {
        self.0.guard.dir().join("data")
    }

    /// What the server has written to its log.
    pub fn log(&self) -> String {
        fs::read_to_string(self.0.guard.dir().join("server.log")).expect("read the server's log")
    }

    /// Admits whom these lines of `pg_hba.conf` admit, from now on. Over the socket it admits all.
    pub fn admit(&mut self, lines: &str) {
        fs::write(self.data().join("pg_hba.conf"), format!("local all all trust\n{lines}\n")).expect("write the lines");
        self.stop_immediate();
        self.start_again();
    }

    /// The folder of its Unix socket.
    pub fn socket(&self) -> &Path {
        self.0.guard.dir()
    }

    /// Accepts connections over TLS too from now on, with this certificate and its key. What has signed it may sign those of
    /// clients, too, if `authority` is given.
    pub async fn serve_tls(&mut self, certificate: &Path, key: &Path, authority: Option<&Path>) {
        let dir = self.0.guard.dir().to_owned();
        fs::copy(certificate, dir.join("server.crt")).expect("copy the certificate");
        fs::copy(key, dir.join("server.key")).expect("copy the key");
        // The server's user copies it: the key must belong to that user alone.
        fs::set_permissions(dir.join("server.key"), fs::Permissions::from_mode(0o644)).expect("let it be read");
        self.0.guard.run("cp server.crt server.key data && chmod 0600 data/server.key").expect("the files of TLS");
        let mut connection = PgConnection::connect(&self.url("postgres")).await.expect("connect");
        sqlx::raw_sql("alter system set ssl = on").execute(&mut connection).await.expect("switch TLS on");
        if let Some(authority) = authority {
            fs::copy(authority, dir.join("root.crt")).expect("copy the authority");
            fs::set_permissions(dir.join("root.crt"), fs::Permissions::from_mode(0o644)).expect("let it be read");
            self.0.guard.run("cp root.crt data").expect("the authority");
            let set = sqlx::raw_sql("alter system set ssl_ca_file = 'root.crt'");
            set.execute(&mut connection).await.expect("name the authority");
        }
        self.stop_immediate();
        self.start_again();
    }

    /// Crashes the server (`-m immediate`): no checkpoint, no message to clients, recovery at the next start. It is
    /// down when this returns.
    pub fn stop_immediate(&mut self) {
        let stopped = self.0.guard.run("pg_ctl stop -w -m immediate -D data");
        stopped.unwrap_or_else(|log| panic!("cannot stop PostgreSQL:\n{log}"));
    }

    /// A standby of this server, which follows it through `address`, for instance that of a proxy. When this returns,
    /// it answers reads and has all data.
    pub fn standby(&self, address: SocketAddr) -> Self {
        let (host, port) = (address.ip(), address.port());
        let copy = format!("pg_basebackup -h {host} -p {port} -U postgres -D data -R --checkpoint=fast --no-sync");
        Self(Server::make(&copy, "fsync = on"))
    }

    /// Promotes a standby to a primary, which accepts writes when this returns.
    pub fn promote(&mut self) {
        let promoted = self.0.guard.run("pg_ctl promote -w -D data");
        promoted.unwrap_or_else(|log| panic!("cannot promote PostgreSQL:\n{log}"));
    }

    /// Goes on with transactions of this number, and forgets none of the earlier ones.
    pub async fn go_on_at(&mut self, number: u32) {
        let mut connection = PgConnection::connect(&self.url("postgres")).await.expect("connect");
        let rarely = sqlx::raw_sql("alter system set autovacuum_naptime = '20d'");
        rarely.execute(&mut connection).await.expect("set it");
        connection.close().await.expect("close");
        // Where the server notes what became of transactions, in segments of 2^20.
        let segment = number >> 20;
        let command = format!(
            "pg_ctl stop -w -m fast -D data && pg_resetwal -x {number} data && \
             dd if=/dev/zero of=data/pg_xact/{segment:04X} bs=256k count=1"
        );
        self.0.guard.run(&command).unwrap_or_else(|log| panic!("cannot set the number:\n{log}"));
        self.start_again();
    }

    /// Starts the server with the same port and data. It has recovered and accepts connections when this returns.
    pub fn start_again(&mut self) {
        self.0.start().unwrap_or_else(|log| panic!("cannot start PostgreSQL again:\n{log}"));
    }
}

/// The address in a database URL, to put a proxy in front of it.
pub fn address(url: &str) -> SocketAddr {
    let url = Url::parse(url).expect("a database URL");
    let host = url.host_str().expect("a database URL with a host").trim_matches(['[', ']']);
    let mut addresses = (host, url.port().unwrap_or(5432)).to_socket_addrs().expect("resolve the database host");
    addresses.next().expect("the database host has an address")
}

/// The same database URL with another address, for instance that of a proxy.
pub fn through(url: &str, address: SocketAddr) -> String {
    let mut url = Url::parse(url).expect("a database URL");
    url.set_ip_host(address.ip()).expect("a database URL has a host");
    url.set_port(Some(address.port())).expect("a database URL has a port");
    url.into()
}

struct Server {
    guard: Guard,
    port: u16,
}

impl Server {
    /// Makes a cluster with this extra setting and starts it on a free port.
    fn create(setting: &str) -> Self {
        Self::make("initdb -D data -U postgres --auth=trust --encoding=UTF8 --locale=C --no-sync", setting)
    }

    /// The same, with data that a command makes.
    fn make(command: &str, setting: &str) -> Self {
        let bin = bin_dir().unwrap_or_else(|| {
            panic!(
                "PostgreSQL not found (initdb, pg_ctl and postgres, in TEST_DATABASE_BIN if that is set, else by \
                 `pg_config --bindir`, in the usual places and on PATH). Install it: `apt-get install postgresql`, `dnf install postgresql-server` or `brew install \
                 postgresql`. Or set TEST_DATABASE_URL to a server on which the tests may create databases."
            )
        });
        let mut guard = Guard::new("sessiond-pg", &bin, "pg_ctl stop -w -m fast -D data");
        guard.run(command).unwrap_or_else(|log| panic!("{command} of {} failed:\n{log}", bin.display()));
        let settings = format!(
            "listen_addresses = '127.0.0.1'\n\
             unix_socket_directories = '{}'\n\
             max_connections = 300\n\
             {setting}\n",
            guard.dir().display()
        );
        // A file of ours beside initdb's, which `include` makes part of it: the folder is the server user's.
        fs::write(guard.dir().join("tests.conf"), settings).expect("write the settings");
        guard.run("echo \"include '../tests.conf'\" >> data/postgresql.conf").expect("include the settings");

        let mut server = Self { guard, port: 0 };
        let mut started = Err(String::new());
        // Another process may take the port before the server does.
        for _ in 0..5 {
            server.port = free_port();
            started = server.start();
            if started.is_ok() {
                return server;
            }
        }
        panic!("PostgreSQL of {} does not start:\n{}", bin.display(), started.unwrap_err())
    }

    /// Starts the server on its port and waits until it accepts connections. The error is its log.
    fn start(&mut self) -> Result<(), String> {
        let port = self.port;
        self.guard.run(&format!("pg_ctl start -w -D data -l server.log -o '-p {port}' || {{ cat server.log; false; }}"))
    }

    fn url(&self, database: &str) -> String {
        format!("postgres://postgres@{}:{}/{database}", Ipv4Addr::LOCALHOST, self.port)
    }
}

/// The folder of the server's programs: `TEST_DATABASE_BIN`, else from `pg_config`, else the newest in the usual places, else on `PATH`.
fn bin_dir() -> Option<PathBuf> {
    // pg_config is also part of the client library alone, so check that the programs are there.
    let complete = |dir: &PathBuf| ["initdb", "pg_ctl", "postgres"].iter().all(|program| dir.join(program).is_file());
    if let Some(dir) = env::var_os("TEST_DATABASE_BIN").filter(|dir| !dir.is_empty()) {
        return Some(PathBuf::from(dir)).filter(complete);
    }
    let config = || {
        let output = Command::new("pg_config").arg("--bindir").output().ok()?;
        Some(PathBuf::from(String::from_utf8(output.stdout).ok()?.trim_end()))
    };
    let usual =
        [("/usr/lib/postgresql", ""), ("/usr", "pgsql-"), ("/usr/local", "pgsql"), ("/opt/homebrew/opt", "postgresql")];
    let path = env::var_os("PATH").unwrap_or_default();
    config()
        .into_iter()
        .chain(usual.into_iter().flat_map(|(parent, prefix)| versions(Path::new(parent), prefix)))
        .chain(env::split_paths(&path))
        .find(complete)
}

/// The `bin` folders of the installations `parent/prefixVERSION`, newest first.
fn versions(parent: &Path, prefix: &str) -> Vec<PathBuf> {
    let mut found: Vec<(u32, PathBuf)> = fs::read_dir(parent)
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            let digits = name.strip_prefix(prefix)?.trim_start_matches('@');
            let major = digits.split('.').next()?.parse().unwrap_or(0);
            Some((major, entry.path().join("bin")))
        })
        .collect();
    found.sort_by(|a, b| b.cmp(a));
    found.into_iter().map(|(_, dir)| dir).collect()
}
