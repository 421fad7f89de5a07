//! A thin HTTP client: text in, text out. It checks every answer for what all answers promise.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::future::{Future, IntoFuture};
use std::net::SocketAddr;
use std::pin::Pin;
use std::time::{Duration, Instant};

use reqwest::Method;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use serde_json::Value;
use serde_json::value::RawValue;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::sleep;

use super::schema;

/// The sessions of the user that most tests use.
pub const S: &str = "/v1/apps/app/users/user/sessions";
/// The session that [`Client::create`] creates by default.
pub const ONE: &str = "/v1/apps/app/users/user/sessions/s";
pub const EVENTS: &str = "/v1/apps/app/users/user/sessions/s/events";
pub const STATE: &str = "/v1/apps/app/users/user/sessions/s/state";
pub const USER_STATE: &str = "/v1/apps/app/users/user/state";
pub const APP_STATE: &str = "/v1/apps/app/state";

/// How long anything may take before the test fails instead of hanging.
pub const PATIENCE: Duration = Duration::from_secs(60);

/// A client of one server. It validates every answer against `openapi.yaml`.
#[derive(Debug, Clone)]
pub struct Client {
    http: reqwest::Client,
    address: SocketAddr,
    checks: bool,
    is_patient: bool,
}

macro_rules! methods {
    ($($name:ident $method:ident),*) => {$(
        pub fn $name(&self, path: impl AsRef<str>) -> Request {
            self.request(Method::$method, path.as_ref())
        }
    )*};
}

impl Client {
    pub fn new(address: SocketAddr) -> Self {
        Self { http: Self::connections(), address, checks: true, is_patient: false }
    }

    /// `base` is `http://ADDRESS:PORT`.
    pub fn at(base: &str) -> Self {
        let address = base.strip_prefix("http://").and_then(|address| address.parse().ok());
        Self::new(address.unwrap_or_else(|| panic!("no address: {base}")))
    }

    /// Accepts answers that are not the API's, such as those of a proxy or of the metrics listener.
    pub fn unchecked(self) -> Self {
        Self { checks: false, ..self }
    }

    /// Sends a request again for as long as a busy server answers 503 and has done nothing, up to [`PATIENCE`].
    pub fn patient(self) -> Self {
        Self { is_patient: true, ..self }
    }

    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Plain HTTP connections. (reqwest needs a TLS provider nevertheless, and would read the system's certificates each time.)
    pub fn connections() -> reqwest::Client {
        let _ = rustls::crypto::ring::default_provider().install_default();
        reqwest::Client::builder().tls_certs_only([]).no_proxy().timeout(PATIENCE).build().expect("an HTTP client")
    }

    /// Closes idle connections, which a draining server would wait for.
    pub fn hang_up(&mut self) {
        self.http = Self::connections();
    }

    methods!(get GET, head HEAD, post POST, put PUT, patch PATCH, delete DELETE);

    pub fn request(&self, method: Method, path: &str) -> Request {
        let request = self.http.request(method.clone(), format!("http://{}{path}", self.address));
        Request { method, path: path.to_owned(), request, checks: self.checks, is_patient: self.is_patient }
    }

    /// As [`Request::send`], with all parts as values.
    pub async fn send(
        &self,
        method: &str,
        path: &str,
        headers: &[(&str, &str)],
        body: Option<&Value>,
    ) -> Result<Answer, reqwest::Error> {
        let mut request = self.request(method.parse().expect("a method"), path);
        for (name, value) in headers {
            request = request.header(name, value);
        }
        match body {
            Some(body) if headers.iter().any(|(name, _)| *name == "content-type") => {
                request.body_without_type(&body.to_string())
            }
            Some(body) => request.json(body),
            None => request,
        }
        .send()
        .await
    }

    /// Repeats the request until the answer has this status.
    pub async fn get_until(&self, path: &str, status: u16) -> Answer {
        let mut last = None;
        let asking = async {
            loop {
                let answer = self.get(path).await;
                if answer.status == status {
                    return answer;
                }
                last = Some(answer);
                sleep(Duration::from_millis(20)).await;
            }
        };
        let found = tokio::time::timeout(PATIENCE, asking).await;
        found.unwrap_or_else(|_| panic!("{path} is never {status}, but {last:?}"))
    }

    /// Sends a request byte for byte, for requests that no client library would send, and reads the whole answer.
    pub async fn raw(&self, request: &[u8]) -> Answer {
        let mut stream = TcpStream::connect(self.address).await.expect("connect");
        stream.write_all(request).await.expect("send");
        let mut bytes = Vec::new();
        // A server that refuses a body may reset the connection once it has answered.
        let _ = stream.read_to_end(&mut bytes).await;
        let text = String::from_utf8_lossy(request);
        let mut line = text.split(' ');
        let (method, path) = (line.next().unwrap_or_default(), line.next().unwrap_or_default());
        let answer = Answer::read(&bytes);
        answer.check(method, path);
        answer
    }

    /// Sends these bytes, each part in a segment of its own, and reads until the server closes.
    pub async fn wire(&self, parts: &[&[u8]]) -> String {
        let mut stream = TcpStream::connect(self.address).await.expect("connect");
        stream.set_nodelay(true).expect("set TCP_NODELAY");
        for part in parts {
            // A server that refuses the request early may have closed.
            let _ = stream.write_all(part).await;
            if parts.len() > 1 {
                sleep(Duration::from_millis(2)).await;
            }
        }
        let mut bytes = Vec::new();
        let _ = stream.read_to_end(&mut bytes).await;
        String::from_utf8(bytes).expect("UTF-8")
    }

    /// Sends part of a request and then closes. The answer, if any, is ignored.
    pub async fn cut_off(&self, request: &[u8]) {
        let mut stream = TcpStream::connect(self.address).await.expect("connect");
        stream.write_all(request).await.expect("send");
        stream.shutdown().await.expect("end the request");
        let _ = stream.read_to_end(&mut Vec::new()).await;
    }

    /// Announces a body and does not send it. The request is in progress until the connection is dropped: the server
    /// has asked for the body.
    pub async fn hold(&self, path: &str, length: usize) -> TcpStream {
        self.hold_as("POST", path, length).await
    }

    pub async fn hold_as(&self, method: &str, path: &str, length: usize) -> TcpStream {
        let mut stream = TcpStream::connect(self.address).await.expect("connect");
        let head = format!(
            "{method} {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\
             expect: 100-continue\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).await.expect("send");
        let mut asked = [0; b"HTTP/1.1 100".len()];
        stream.read_exact(&mut asked).await.expect("100 Continue");
        assert_eq!(&asked, b"HTTP/1.1 100");
        stream
    }

    /// Sends a request line with the path unchanged: HTTP clients normalize `..` and the like.
    pub async fn raw_path(&self, method: &str, path: &str) -> Answer {
        let head = format!("{method} {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n");
        self.raw(head.as_bytes()).await
    }

    /// Creates a session; with the id `s`, unless `body` names one.
    pub async fn create(&self, body: &str) -> Answer {
        let body = match body.strip_prefix('{') {
            Some("}") => r#"{"sessionId":"s"}"#.to_owned(),
            Some(rest) if !body.contains("sessionId") => format!(r#"{{"sessionId":"s",{rest}"#),
            _ => body.to_owned(),
        };
        self.post(S).json(body).await.expect(201)
    }

    /// Appends an event, or several, to [`ONE`].
    pub async fn append(&self, body: impl IntoJson) -> Answer {
        self.post(EVENTS).json(body).await.expect(201)
    }

    /// Appends an event with this delta to [`ONE`].
    pub async fn append_delta(&self, delta: &str) -> Answer {
        self.append(format!(r#"{{"author":"agent","actions":{{"stateDelta":{delta}}}}}"#)).await
    }

    /// Appends an event with these operators to [`ONE`].
    pub async fn append_ops(&self, ops: &str) -> Answer {
        self.append(format!(r#"{{"author":"agent","actions":{{"stateOps":{ops}}}}}"#)).await
    }

    /// Everything that [`ONE`] shows, and its tag: the same before and after, unless something was written.
    pub async fn shown(&self) -> (String, String) {
        let session = self.get(ONE).await.expect(200);
        (session.text().to_owned(), session.etag())
    }

    /// The merged state of [`ONE`], as text.
    pub async fn state(&self) -> Value {
        self.get(STATE).await.expect(200).json()
    }
}

/// The text of a JSON document.
pub trait IntoJson {
    fn into_json(self) -> String;
}

impl IntoJson for String {
    fn into_json(self) -> String {
        self
    }
}

impl IntoJson for &String {
    fn into_json(self) -> String {
        self.clone()
    }
}

impl IntoJson for &str {
    fn into_json(self) -> String {
        self.to_owned()
    }
}

impl IntoJson for &Value {
    fn into_json(self) -> String {
        self.to_string()
    }
}

impl IntoJson for Value {
    fn into_json(self) -> String {
        self.to_string()
    }
}

/// A request; await it for the answer.
pub struct Request {
    method: Method,
    path: String,
    request: reqwest::RequestBuilder,
    checks: bool,
    is_patient: bool,
}

impl Request {
    pub fn json(self, body: impl IntoJson) -> Self {
        self.body("application/json", body.into_json().into_bytes())
    }

    pub fn body(mut self, content_type: &str, body: impl Into<reqwest::Body>) -> Self {
        self.request = self.request.header("content-type", content_type).body(body);
        self
    }

    pub fn body_without_type(mut self, body: &str) -> Self {
        self.request = self.request.body(body.to_owned());
        self
    }

    pub fn header(mut self, name: &str, value: impl AsRef<[u8]>) -> Self {
        let value = HeaderValue::from_bytes(value.as_ref()).expect("a header value");
        self.request = self.request.header(name, value);
        self
    }

    /// With this credential.
    pub fn bearer(self, credential: &str) -> Self {
        self.header("authorization", format!("Bearer {credential}"))
    }

    /// For an answer that may last for an hour.
    pub fn lasting(mut self) -> Self {
        self.request = self.request.timeout(Duration::from_secs(3600));
        self
    }

    /// Sends it and reads the whole answer. An error means that there was no complete answer.
    pub async fn send(self) -> Result<Answer, reqwest::Error> {
        let begun = Instant::now();
        while self.is_patient && begun.elapsed() < PATIENCE {
            let request = self.request.try_clone().expect("a body in memory");
            let answer =
                Self { request, path: self.path.clone(), method: self.method.clone(), is_patient: false, ..self };
            let answer = Box::pin(answer.send()).await?;
            if answer.status != 503 || answer.json()["outcome"] == "unknown" {
                return Ok(answer);
            }
            sleep(Duration::from_millis(100)).await;
        }
        let response = self.request.send().await?;
        let (status, headers) = (response.status().as_u16(), response.headers().clone());
        let answer = Answer::new(status, headers, response.bytes().await?.to_vec());
        if self.checks {
            answer.check(self.method.as_str(), &self.path);
        }
        Ok(answer)
    }

    /// Sends it and returns the response before its body; only its head has been checked.
    pub async fn stream(self) -> reqwest::Response {
        self.try_stream().await.expect("an answer")
    }

    /// As [`Request::stream`]; an error means that there was no answer.
    pub async fn try_stream(self) -> Result<reqwest::Response, reqwest::Error> {
        self.request.send().await
    }
}

impl IntoFuture for Request {
    type Output = Answer;
    type IntoFuture = Pin<Box<dyn Future<Output = Answer> + Send>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            let what = format!("{} {}", self.method, self.path);
            self.send().await.unwrap_or_else(|error| panic!("no answer to {what}: {error:?}"))
        })
    }
}

#[derive(Clone)]
pub struct Answer {
    pub status: u16,
    headers: HeaderMap,
    body: Vec<u8>,
}

impl Answer {
    /// Removes the newline at the end of every JSON body.
    fn new(status: u16, headers: HeaderMap, mut body: Vec<u8>) -> Self {
        let is_json = headers.get("content-type").is_some_and(|value| value.as_bytes().ends_with(b"json"));
        // A file has the type that it was given.
        let is_file = headers.contains_key("content-disposition");
        if is_json && !is_file && !body.is_empty() {
            assert_eq!(body.pop(), Some(b'\n'), "no newline at the end: {}", String::from_utf8_lossy(&body));
        }
        Self { status, headers, body }
    }

    /// Reads a response off the wire; its body ends with the connection.
    fn read(bytes: &[u8]) -> Self {
        let end = bytes.windows(4).position(|w| w == b"\r\n\r\n").expect("the head of an answer");
        let head = std::str::from_utf8(&bytes[..end]).expect("an ASCII head");
        let mut lines = head.split("\r\n");
        let status = lines.next().and_then(|line| line.split(' ').nth(1)).expect("a status");
        let mut headers = HeaderMap::new();
        for (name, value) in lines.filter_map(|line| line.split_once(':')) {
            let name: HeaderName = name.parse().expect("a header name");
            headers.append(name, value.trim().parse().expect("a header value"));
        }
        Self::new(status.parse().expect("a number"), headers, bytes[end + 4..].to_vec())
    }

    pub fn status(&self) -> u16 {
        self.status
    }

    pub fn headers(&self) -> &HeaderMap {
        &self.headers
    }

    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().expect("visible ASCII"))
    }

    pub fn etag(&self) -> String {
        self.header("etag").unwrap_or_else(|| panic!("no ETag in {self}")).to_owned()
    }

    /// The parts of the ETag: session, user and app revision, and the mark.
    pub fn tag(&self) -> (i64, i64, i64, String) {
        let [revision, user, app, mark] = self.tag_parts();
        let number = |part: String| part.parse().unwrap_or_else(|_| panic!("not a whole tag: {self}"));
        (number(revision), number(user), number(app), mark)
    }

    /// As [`Answer::tag`], as text.
    pub fn tag_parts(&self) -> [String; 4] {
        let parts: Vec<String> = self.etag().trim_matches('"').split('.').map(str::to_owned).collect();
        parts.try_into().unwrap_or_else(|_| panic!("not a whole tag: {self}"))
    }

    pub fn was_replayed(&self) -> bool {
        self.header("idempotent-replayed") == Some("true")
    }

    pub fn text(&self) -> &str {
        std::str::from_utf8(&self.body).expect("UTF-8")
    }

    pub fn bytes(&self) -> &[u8] {
        &self.body
    }

    pub fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap_or_else(|error| panic!("{error} in {self}"))
    }

    /// The exact text of a value inside the body; numbers index arrays.
    pub fn raw(&self, path: &[&str]) -> String {
        self.find_raw(path).unwrap_or_else(|| panic!("no {path:?} in {self}"))
    }

    pub fn find_raw(&self, path: &[&str]) -> Option<String> {
        raw_in(self.text(), path)
    }

    /// The ids of the events in the body, in their order.
    pub fn event_ids(&self) -> String {
        let events = self.json()["events"].take();
        let events = events.as_array().unwrap_or_else(|| panic!("no `events` in {self}"));
        events.iter().map(|event| event["id"].as_str().expect("an id")).collect::<Vec<_>>().join(" ")
    }

    #[track_caller]
    pub fn expect(self, status: u16) -> Self {
        assert_eq!(self.status, status, "{self}");
        self
    }

    /// Asserts that this is a problem, and returns its document.
    #[track_caller]
    pub fn problem(&self, status: u16, code: &str) -> Value {
        assert_eq!(self.status, status, "{self}");
        let problem = self.json();
        assert_eq!(problem["code"], code, "{self}");
        problem
    }

    /// Asserts a 422 for these fields, in this order.
    #[track_caller]
    pub fn invalid(&self, fields: &[&str]) -> Value {
        let problem = self.problem(422, "invalid_argument");
        let named: Vec<&str> = problem["errors"]
            .as_array()
            .unwrap_or_else(|| panic!("no `errors` in {self}"))
            .iter()
            .map(|error| error["field"].as_str().expect("a field"))
            .collect();
        assert_eq!(named, fields, "{self}");
        problem
    }

    /// Whether a failed write may have happened.
    #[track_caller]
    pub fn outcome_of_503(&self) -> String {
        assert_eq!(self.status, 503, "{self}");
        let problem = self.json();
        problem["outcome"].as_str().unwrap_or_else(|| panic!("no outcome in {self}")).to_owned()
    }

    /// Checks the promises that hold for every answer.
    fn check(&self, method: &str, path: &str) {
        let header = |name: &str| self.header(name).map(str::to_owned);
        assert!(self.header("x-request-id").is_some_and(|id| !id.is_empty()), "no x-request-id in {self}");
        assert_eq!(self.header("x-content-type-options"), Some("nosniff"), "{self}");
        assert_eq!(self.header("cross-origin-resource-policy"), Some("same-origin"), "{self}");
        if self.status >= 400 {
            self.check_problem(method);
        } else if matches!(self.status, 204 | 304) {
            assert!(self.body.is_empty(), "{self}");
        } else if path.starts_with("/v1/") && !is_file(method, path) {
            let content_type = match path.split('?').next().unwrap_or_default().rsplit('/').next() {
                Some("watch") => "text/event-stream",
                Some("export" | "import") => "application/x-ndjson",
                _ => "application/json",
            };
            assert_eq!(self.header("content-type"), Some(content_type), "{self}");
        }
        if method == "HEAD" {
            assert!(self.body.is_empty(), "{self}");
        }
        schema::check_answer(method, path, self.status, self.header("content-type"), &header, &self.body);
    }

    fn check_problem(&self, method: &str) {
        assert_eq!(self.header("content-type"), Some("application/problem+json"), "{self}");
        if self.status == 503 {
            assert!(self.header("retry-after").is_some(), "no Retry-After in {self}");
        }
        if self.status == 405 {
            assert!(self.header("allow").is_some_and(|methods| !methods.is_empty()), "no Allow in {self}");
        }
        if method == "HEAD" {
            return;
        }
        let problem = self.json();
        let text = |name: &str| match problem[name].as_str() {
            Some(text) if !text.is_empty() => text,
            _ => panic!("no `{name}` in {self}"),
        };
        let (code, _, _) = (text("code"), text("title"), (text("type"), text("detail")));
        assert_eq!(problem["status"], self.status, "{self}");
        let listed = schema::codes().contains(&(code.to_owned(), self.status));
        assert!(listed, "not a code of openapi.yaml: {self}");
        let is_write = !matches!(method, "GET" | "HEAD" | "OPTIONS" | "TRACE");
        match &problem["outcome"] {
            Value::Null => assert!(!is_write, "a write without `outcome`: {self}"),
            outcome => {
                assert!(is_write, "a read with `outcome`: {self}");
                assert!(outcome == "not_applied" || outcome == "unknown", "{self}");
            }
        }
        if code == "invalid_argument" {
            let errors = problem["errors"].as_array().unwrap_or_else(|| panic!("no `errors` in {self}"));
            assert!(errors.iter().all(|e| e["field"].is_string() && e["message"].is_string()), "{self}");
        }
        // A feed has positions too.
        let of_log = code == "position_gone" && problem["oldest"].is_null();
        // An artifact has versions.
        let of_artifact = problem["version"].is_i64() || text("detail").contains("the artifact");
        let has_revision = code == "revision_mismatch" && !of_artifact || of_log;
        assert_eq!(has_revision, problem["revision"].is_i64(), "{self}");
        let has_base = code == "revision_trimmed" || of_log;
        assert_eq!(has_base, problem["baseRevision"].is_i64(), "{self}");
    }
}

impl std::fmt::Debug for Answer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        std::fmt::Display::fmt(self, f)
    }
}

impl std::fmt::Display for Answer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let body: String = String::from_utf8_lossy(&self.body).chars().take(2000).collect();
        write!(f, "{} {:?}\n{body}", self.status, self.headers)
    }
}

/// Whether an answer is an artifact, of any type.
pub fn is_file(method: &str, path: &str) -> bool {
    let (path, query) = path.split_once('?').unwrap_or((path, ""));
    let parts: Vec<&str> = path.split('/').collect();
    let names_one = parts.len() >= 2 && parts[parts.len() - 2] == "artifacts";
    matches!(method, "GET" | "HEAD") && path.starts_with("/v1/") && names_one && !query.contains("as=part")
}

/// The text of a value inside of a JSON document.
pub fn raw_in(text: &str, path: &[&str]) -> Option<String> {
    let Some((step, rest)) = path.split_first() else { return Some(text.to_owned()) };
    let value: &RawValue = if text.starts_with('[') {
        let elements: Vec<&RawValue> = serde_json::from_str(text).ok()?;
        elements.get(step.parse::<usize>().ok()?)?
    } else {
        let members: BTreeMap<String, &RawValue> = serde_json::from_str(text).ok()?;
        members.get(*step)?
    };
    raw_in(value.get(), rest)
}

/// A path segment with every byte percent-encoded.
pub fn segment(text: &str) -> String {
    text.bytes().fold(String::new(), |mut out, byte| {
        let _ = write!(out, "%{byte:02X}");
        out
    })
}
