//! The real binary as a client sees it: servers on either database, asked over TCP.

use std::{ops::Deref, process::ExitStatus, time::Duration};

use reqwest::{Client, Method, header::HeaderMap};
use serde_json::Value;

use super::databases::{Place, verify};
use super::process::Sessiond;

/// How long anything may take before the test fails instead of hanging.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// Limits so long that a slow machine never meets them: for tests about something else.
pub const PATIENT: &[&str] =
    &["--lock-timeout=50s", "--acquire-timeout=50s", "--statement-timeout=50s", "--request-timeout=55s"];

/// An answer, read to its end.
#[derive(Debug, Clone)]
pub struct Answer {
    pub status: u16,
    pub headers: HeaderMap,
    pub text: String,
}

impl Answer {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().expect("a header in ASCII"))
    }

    pub fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap_or_else(|error| panic!("{error} in {self:?}"))
    }

    /// The four parts of the tag of a session: its revision, those of the user and of the app, the incarnation.
    pub fn tag(&self) -> [String; 4] {
        let tag = self.header("etag").expect("an ETag").trim_matches('"').split('.');
        tag.map(str::to_owned).collect::<Vec<_>>().try_into().expect("four parts")
    }

    /// The tag, as it is sent back.
    pub fn tag_header(&self) -> &str {
        self.header("etag").expect("an ETag")
    }

    #[track_caller]
    pub fn expect(self, status: u16) -> Self {
        assert_eq!(self.status, status, "{self:?}");
        self
    }

    /// Whether a failed write may have happened; checks everything else that a 503 promises.
    #[track_caller]
    pub fn outcome_of_503(&self) -> String {
        assert_eq!(self.status, 503, "{self:?}");
        assert_eq!(self.header("content-type"), Some("application/problem+json"), "{self:?}");
        assert!(self.header("retry-after").is_some(), "{self:?}");
        let problem = self.json();
        assert!(["overloaded", "storage_unavailable"].contains(&problem["code"].as_str().unwrap()), "{self:?}");
        let outcome = problem["outcome"].as_str().unwrap_or_else(|| panic!("no outcome in {self:?}"));
        assert!(["not_applied", "unknown"].contains(&outcome), "{self:?}");
        outcome.to_owned()
    }
}

/// A client of one server.
#[derive(Debug, Clone)]
pub struct Api {
    base: String,
    client: Client,
}

impl Api {
    pub fn new(base: String) -> Self {
        let client = Client::builder().no_proxy().timeout(PATIENCE).build().expect("a client");
        Self { base, client }
    }

    /// `127.0.0.1:PORT`
    pub fn address(&self) -> &str {
        self.base.trim_start_matches("http://")
    }

    /// The error is that there was no whole answer.
    pub async fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: Option<&Value>,
    ) -> Result<Answer, reqwest::Error> {
        let method: Method = method.parse().expect("a method");
        let mut request = self.client.request(method, format!("{}{path}", self.base));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        if let Some(body) = body {
            if !headers.iter().any(|(name, _)| *name == "content-type") {
                request = request.header("content-type", "application/json");
            }
            request = request.body(body.to_string());
        }
        let response = request.send().await?;
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let mut text = response.text().await?;
        // Every JSON body ends with a newline, which is no part of what it says.
        if headers.get("content-type").is_some_and(|value| value.as_bytes().ends_with(b"json")) {
            assert!(text.pop().is_none_or(|last| last == '\n'), "no newline at the end of {text}");
        }
        Ok(Answer { status, headers, text })
    }

    async fn answer(&self, method: &str, path: &str, headers: &[(&str, &str)], body: Option<&Value>) -> Answer {
        let answer = self.send(method, path, headers, body).await;
        answer.unwrap_or_else(|error| panic!("no answer to {method} {path}: {error:?}"))
    }

    pub async fn get(&self, path: &str) -> Answer {
        self.answer("GET", path, &[], None).await
    }

    pub async fn post(&self, path: &str, body: &Value) -> Answer {
        self.answer("POST", path, &[], Some(body)).await
    }

    pub async fn put(&self, path: &str, body: &Value) -> Answer {
        self.answer("PUT", path, &[], Some(body)).await
    }

    pub async fn patch(&self, path: &str, body: &Value) -> Answer {
        self.answer("PATCH", path, &[], Some(body)).await
    }

    pub async fn delete(&self, path: &str) -> Answer {
        self.answer("DELETE", path, &[], None).await
    }

    pub async fn post_if_match(&self, path: &str, tag: &str, body: &Value) -> Answer {
        self.answer("POST", path, &[("if-match", tag)], Some(body)).await
    }

    /// [`Api::post`], for a task of its own.
    pub fn post_owned(&self, path: &'static str, body: Value) -> impl Future<Output = Answer> + Send + 'static {
        let api = self.clone();
        async move { api.post(path, &body).await }
    }

    /// Asks until the status is this one.
    pub async fn get_until(&self, path: &str, status: u16) -> Answer {
        let mut last = None;
        let asking = async {
            loop {
                let answer = self.get(path).await;
                if answer.status == status {
                    return answer;
                }
                last = Some(answer);
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        let found = tokio::time::timeout(PATIENCE, asking).await;
        found.unwrap_or_else(|_| panic!("{path} is never {status}, but {last:?}"))
    }
}

/// A server, and a client of it.
pub struct Server {
    pub process: Sessiond,
    pub api: Api,
}

impl Server {
    /// Starts a server on the database, with further arguments; it serves when this returns.
    pub async fn start(database_url: &str, args: &[&str]) -> Self {
        let mut process = spawn(database_url, args);
        let api = Api::new(process.base_url().await);
        Self { process, api }
    }
}

impl Deref for Server {
    type Target = Api;

    fn deref(&self) -> &Api {
        &self.api
    }
}

/// The binary on a free port, without metrics unless `args` say so.
pub fn spawn(database_url: &str, args: &[&str]) -> Sessiond {
    let mut all = vec!["--listen=127.0.0.1:0", "--log-format=json"];
    if !args.iter().any(|arg| arg.starts_with("--metrics-listen")) {
        all.push("--metrics-listen=off");
    }
    all.extend(args);
    Sessiond::spawn(&all, &[("DATABASE_URL", database_url)])
}

/// Runs a command to its end: its status and all that it wrote.
pub async fn ended(database_url: &str, args: &[&str]) -> (ExitStatus, String) {
    let mut process = spawn(database_url, args);
    let status = process.wait().await;
    (status, process.log())
}

/// Until the log of the process has these words; all of it.
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
    /// A client of the `n`th replica, round and round.
    pub fn api(&self, n: usize) -> Api {
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
