//! A real PgBouncer in front of a PostgreSQL, as many operators run it: transaction pooling, few server connections.

use std::{
    env, fs,
    net::Ipv4Addr,
    path::PathBuf,
    thread,
    time::{Duration, Instant},
};

use reqwest::Url;

use super::{
    postgres::address,
    process::{Guard, free_port},
};

/// A PgBouncer that gives every transaction, and every statement outside of one, any of 4 server connections per
/// database. `ignore_startup_parameters` and `server_reset_query` are left at their defaults: a client that sends
/// `extra_float_digits` is turned away. Ends on drop, and with the tests however they end.
pub struct PgBouncer {
    _guard: Guard,
    port: u16,
}

impl PgBouncer {
    /// Starts PgBouncer in front of the server of `upstream_url`, as the user of that URL; its database does not
    /// matter. It accepts connections when this returns, which blocks the thread for a moment. Panics if PgBouncer is
    /// not installed.
    pub fn start(upstream_url: &str) -> Self {
        Self::start_with(upstream_url, "")
    }

    /// [`PgBouncer::start`], with further settings, which take precedence.
    pub fn start_with(upstream_url: &str, more: &str) -> Self {
        let bin = bin_dir().unwrap_or_else(|| {
            panic!(
                "PgBouncer not found (on PATH and in /usr/sbin, /usr/local/sbin, /opt/homebrew/bin). Install it: \
                 `apt-get install pgbouncer`, `dnf install pgbouncer` or `brew install pgbouncer`."
            )
        });
        let mut log = String::new();
        // Another process may take the port before PgBouncer does.
        for _ in 0..5 {
            let port = free_port();
            // Since 1.23, PgBouncer would wait for its clients after SIGTERM.
            let mut guard = Guard::new("sessiond-pgb", &bin, r#"kill -KILL "$server"; wait "$server""#);
            fs::write(guard.dir().join("pgbouncer.ini"), settings(upstream_url, port) + more)
                .expect("write the settings");
            guard.run("pgbouncer pgbouncer.ini & server=$!").expect("a command in the background");
            let start = Instant::now();
            log.clear();
            // Read its log instead of connecting: another process may have the port.
            while start.elapsed() < Duration::from_secs(10) && !log.contains("FATAL") {
                log = guard.log();
                if log.contains("process up") {
                    return Self { _guard: guard, port };
                }
                thread::sleep(Duration::from_millis(10));
            }
        }
        panic!("PgBouncer does not start:\n{log}")
    }

    /// The URL of a database of the upstream server through this PgBouncer.
    pub fn url(&self, database: &str) -> String {
        format!("postgres://postgres@{}:{}/{database}", Ipv4Addr::LOCALHOST, self.port)
    }
}

fn settings(upstream_url: &str, port: u16) -> String {
    let upstream = address(upstream_url);
    let url = Url::parse(upstream_url).expect("a database URL");
    let quoted = |text: &str| format!("'{}'", text.replace('\'', "''"));
    let password = url.password().map(|password| format!(" password={}", quoted(password))).unwrap_or_default();
    // `any` takes every client without a password; it needs the server's user in the settings.
    format!(
        "[databases]\n\
         * = host={} port={} user={}{password}\n\
         [pgbouncer]\n\
         listen_addr = {}\n\
         listen_port = {port}\n\
         unix_socket_dir =\n\
         auth_type = any\n\
         pool_mode = transaction\n\
         default_pool_size = 4\n",
        upstream.ip(),
        upstream.port(),
        quoted(url.username()),
        Ipv4Addr::LOCALHOST,
    )
}

/// The folder of the `pgbouncer` program. Debian has it in /usr/sbin, which is not on everybody's `PATH`.
fn bin_dir() -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let usual = ["/usr/sbin", "/usr/local/sbin", "/opt/homebrew/bin"].map(PathBuf::from);
    env::split_paths(&path).chain(usual).find(|dir: &PathBuf| dir.join("pgbouncer").is_file())
}
