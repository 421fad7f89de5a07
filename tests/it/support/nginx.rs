//! A real nginx in front of several servers, with its defaults, or as in ops/nginx and docs/operate.md.

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
    /// Starts nginx with its defaults, in front of servers on these ports of 127.0.0.1. It accepts connections when
    /// this returns, which blocks the thread for a moment.
    pub fn start(ports: &[u16]) -> Self {
        Self::with(|port| defaults(ports, port))
    }

    /// The same, configured as in ops/nginx/sessiond.conf, except for addresses and TLS.
    pub fn documented(upstream: u16) -> Self {
        Self::with(|port| documented(upstream, port))
    }

    /// Configured as in docs/operate.md for a server below a path.
    pub fn below_a_path(upstream: u16) -> Self {
        let document =
            fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/operate.md")).expect("read it");
        let block =
            document.split("```nginx\n").nth(1).and_then(|rest| rest.split("```").next()).expect("a configuration");
        Self::with(|port| {
            format!(
                "upstream sessiond {{ server 127.0.0.1:{upstream}; }}\nserver {{ listen 127.0.0.1:{port};\n{block} }}"
            )
        })
    }

    fn with(server: impl Fn(u16) -> String) -> Self {
        let bin = bin_dir().expect("nginx, which scripts/test installs");
        let folders: String = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
            .map(|name| format!("{name}_temp_path {name}; "))
            .concat();
        let mut log = String::new();
        // Another process may take the port before nginx does.
        for _ in 0..5 {
            let port = free_port();
            let mut guard = Guard::new("sessiond-nginx", &bin, r#"kill -TERM "$server"; wait "$server""#);
            let settings = format!(
                "daemon off; pid nginx.pid; error_log stderr; events {{}}\nhttp {{ access_log off; {folders}\n{} }}\n",
                server(port)
            );
            fs::write(guard.dir().join("nginx.conf"), settings).expect("write the settings");
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

    /// The errors in its log so far.
    pub fn log(&self) -> String {
        self.guard.log()
    }
}

/// Everything that affects requests is left at its default. (The servers get the name of the upstream as `Host`.)
fn defaults(ports: &[u16], port: u16) -> String {
    let servers: String = ports.iter().map(|port| format!("server 127.0.0.1:{port}; ")).collect();
    format!(
        "upstream localhost {{ {servers} }}\n\
         server {{ listen 127.0.0.1:{port}; location / {{ proxy_pass http://localhost; }} }}"
    )
}

fn documented(upstream: u16, port: u16) -> String {
    let file =
        fs::read_to_string(concat!(env!("CARGO_MANIFEST_DIR"), "/../../ops/nginx/sessiond.conf")).expect("read it");
    let mut settings = String::new();
    // `http2 on` is newer than the nginx of Debian 12.
    for line in file.lines().filter(|line| !line.contains("ssl_") && !line.contains("http2 on;")) {
        let line = match line.trim_start() {
            server if server.starts_with("server sessiond:8080 resolve;") => format!("server 127.0.0.1:{upstream};"),
            listen if listen.starts_with("listen 8443 ssl;") => format!("listen 127.0.0.1:{port};"),
            _ => line.to_owned(),
        };
        settings.push_str(&line);
        settings.push('\n');
    }
    settings
}

/// The folder of the `nginx` program. Debian has it in /usr/sbin, which is not on everybody's `PATH`.
fn bin_dir() -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let usual = ["/usr/sbin", "/usr/local/sbin", "/opt/homebrew/bin"].map(PathBuf::from);
    env::split_paths(&path).chain(usual).find(|dir: &PathBuf| dir.join("nginx").is_file())
}
