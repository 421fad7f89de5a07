//! A real nginx before several servers, with its defaults.

use std::{
    env, fs,
    path::PathBuf,
    thread,
    time::{Duration, Instant},
};

use super::process::{Guard, free_port};

/// An nginx that sends requests to servers in turn. Ends on drop, and with the tests however they end.
pub struct Nginx {
    guard: Guard,
    port: u16,
}

impl Nginx {
    /// Starts nginx before servers on these ports of 127.0.0.1; it takes connections when this returns, which blocks the
    /// thread for a moment.
    pub fn start(ports: &[u16]) -> Self {
        let bin = bin_dir().expect("nginx, which scripts/test installs");
        let mut log = String::new();
        // Another process may take the port between the look and the start.
        for _ in 0..5 {
            let port = free_port();
            let mut guard = Guard::new("sessiond-nginx", &bin, r#"kill -TERM "$server"; wait "$server""#);
            fs::write(guard.dir().join("nginx.conf"), settings(ports, port)).expect("write the settings");
            guard.run("nginx -p . -c nginx.conf -e stderr & server=$!").expect("a command in the background");
            let start = Instant::now();
            while start.elapsed() < Duration::from_secs(10) && !log.contains("[emerg]") {
                log = guard.log();
                if guard.dir().join("nginx.pid").is_file() {
                    return Self { guard, port };
                }
                thread::sleep(Duration::from_millis(10));
            }
        }
        panic!("nginx does not start:\n{log}")
    }

    pub fn url(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// What it complained about so far.
    pub fn log(&self) -> String {
        self.guard.log()
    }
}

/// All that decides what becomes of a request is left at its default. (The name of the upstream is what the servers get
/// as `Host`.)
fn settings(ports: &[u16], port: u16) -> String {
    let servers: String = ports.iter().map(|port| format!("server 127.0.0.1:{port}; ")).collect();
    let folders: String =
        ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"].map(|name| format!("{name}_temp_path {name}; ")).concat();
    format!(
        "daemon off; pid nginx.pid; error_log stderr; events {{}}\n\
         http {{ access_log off; {folders}\n\
         upstream localhost {{ {servers} }}\n\
         server {{ listen 127.0.0.1:{port}; location / {{ proxy_pass http://localhost; }} }} }}\n"
    )
}

/// The folder of the `nginx` program. Debian has it in /usr/sbin, which is not on everybody's `PATH`.
fn bin_dir() -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let usual = ["/usr/sbin", "/usr/local/sbin", "/opt/homebrew/bin"].map(PathBuf::from);
    env::split_paths(&path).chain(usual).find(|dir: &PathBuf| dir.join("nginx").is_file())
}
