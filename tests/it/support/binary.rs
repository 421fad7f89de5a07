//! The real binary as a client sees it: servers on either database, asked over TCP.

use std::{ops::Deref, process::ExitStatus, time::Duration};

use super::client::{Client, PATIENCE};
use super::databases::{Place, verify};
use super::process::Sessiond;

/// Limits that even a slow machine never reaches, for tests about something else.
pub const PATIENT: &[&str] =
    &["--lock-timeout=50s", "--acquire-timeout=50s", "--statement-timeout=50s", "--request-timeout=55s"];

/// A server, and a client of it.
pub struct Server {
    pub process: Sessiond,
    pub api: Client,
}

impl Server {
    /// Starts a server on the database, with further arguments; it serves when this returns.
    pub async fn start(database_url: &str, args: &[&str]) -> Self {
        Self::start_with(database_url, args, &[]).await
    }

    pub async fn start_with(database_url: &str, args: &[&str], environment: &[(&str, String)]) -> Self {
        let mut process = spawn_with(database_url, args, environment);
        let api = Client::at(&process.base_url().await);
        Self { process, api }
    }
}

impl Deref for Server {
    type Target = Client;

    fn deref(&self) -> &Client {
        &self.api
    }
}

/// The binary on a free port, without metrics unless `args` say so.
pub fn spawn(database_url: &str, args: &[&str]) -> Sessiond {
    spawn_with(database_url, args, &[])
}

pub fn spawn_with(database_url: &str, args: &[&str], environment: &[(&str, String)]) -> Sessiond {
    let mut all = vec!["--listen=127.0.0.1:0", "--log-format=json"];
    if !args.iter().any(|arg| arg.starts_with("--metrics-listen")) {
        all.push("--metrics-listen=off");
    }
    all.extend(args);
    let environment: Vec<(&str, &str)> = environment.iter().map(|(name, value)| (*name, value.as_str())).collect();
    Sessiond::spawn(&all, &[&[("DATABASE_URL", database_url)], &*environment].concat())
}

/// Runs a command to its end: its status and all that it wrote.
pub async fn ended(database_url: &str, args: &[&str]) -> (ExitStatus, String) {
    let mut process = spawn(database_url, args);
    let status = process.wait().await;
    (status, process.log())
}

/// Waits until the log of the process contains this text. Returns the whole log.
pub async fn log_says(process: &Sessiond, text: &str) -> String {
    let reading = async {
        loop {
            let log = process.log();
            if log.contains(text) {
                return log;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    let found = tokio::time::timeout(PATIENCE, reading).await;
    found.unwrap_or_else(|_| panic!("no {text:?} in:\n{}", process.log()))
}

impl Place {
    /// Replicas on it: as many as the database takes, but two at most.
    pub async fn fleet(self, args: &[&str]) -> Fleet {
        let count = match self {
            Self::Sqlite(_) => 1,
            Self::Postgres(_) => 2,
        };
        let mut servers = Vec::new();
        for _ in 0..count {
            servers.push(Server::start(&self.url(), args).await);
        }
        Fleet { servers, place: self }
    }
}

/// Replicas on one database.
pub struct Fleet {
    servers: Vec<Server>,
    place: Place,
}

impl Fleet {
    /// A client of one of the replicas, in turn by `n`.
    pub fn api(&self, n: usize) -> Client {
        self.servers[n % self.servers.len()].api.clone()
    }

    /// As [`verify`], while the replicas run.
    pub async fn verify(&self) {
        verify(&self.place.url()).await;
    }
}

/// Runs all of them at once; their results in order.
pub async fn together<T: Send + 'static>(
    work: impl IntoIterator<Item = impl Future<Output = T> + Send + 'static>,
) -> Vec<T> {
    let tasks: Vec<_> = work.into_iter().map(tokio::spawn).collect();
    let mut results = Vec::new();
    for task in tasks {
        results.push(task.await.expect("no panic"));
    }
    results
}
