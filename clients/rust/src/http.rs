//! Connections, retries, errors.

use std::{error::Error as StdError, sync::Arc, time::Duration};

use chrono::{DateTime, Utc};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use reqwest::{
    Client as Connections, Method, Response, StatusCode, Url,
    header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderName, HeaderValue, RETRY_AFTER, USER_AGENT},
    redirect,
};
use rustls::{ClientConfig, RootCertStore};
use tokio::time::{Instant, sleep, timeout};

use crate::{
    error::{Error, ErrorKind, Outcome},
    token::{Bearer, Token},
};

/// Answers after which the same request is sent again.
const RETRIED: [u16; 5] = [408, 429, 502, 503, 504];

/// The pause before the second attempt, four times as long before each further one up to the second number, and spread by
/// jitter: five attempts outlast some 12 s.
const FIRST_PAUSE: Duration = Duration::from_millis(200);
const LONGEST_PAUSE: Duration = Duration::from_secs(8);

/// What need not be encoded in a segment of a path (RFC 3986, section 2.3).
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

pub(crate) type Traceparent = Arc<dyn Fn() -> Option<String> + Send + Sync>;

/// How long, and how often.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    /// To connect.
    pub connect: Duration,
    /// One attempt, from the connection to the last byte.
    pub attempt: Duration,
    /// All attempts and the pauses between them.
    pub total: Duration,
    /// Attempts.
    pub attempts: u32,
    /// Without a byte of a stream.
    pub silence: Duration,
}

/// Sends requests that may be sent twice, and does so if an answer does not come.
pub(crate) struct Http {
    base: String,
    connections: Connections,
    bearer: Bearer,
    limits: Limits,
    traceparent: Option<Traceparent>,
}

/// A request.
pub(crate) struct Call {
    method: Method,
    url: String,
    body: Option<Vec<u8>>,
    headers: HeaderMap,
    patience: Duration,
    is_download: bool,
}

/// For so many bytes of a file, an attempt to send it may take a second more.
const BYTES_PER_SECOND: usize = 256 << 10;

impl Call {
    /// A query parameter. The names are this crate's own.
    pub fn query(mut self, name: &str, value: &str) -> Self {
        self.url.push(if self.url.contains('?') { '&' } else { '?' });
        self.url.push_str(&format!("{name}={}", utf8_percent_encode(value, ENCODED)));
        self
    }

    pub fn json(mut self, body: String) -> Self {
        self.headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        self.body = Some(body.into_bytes());
        self
    }

    /// A file, with its type if it has one. How long an attempt may take grows with it.
    pub fn file(mut self, bytes: Vec<u8>, mime_type: &str) -> Result<Self, Error> {
        if !mime_type.is_empty() {
            let value = HeaderValue::try_from(mime_type);
            let value = value.map_err(|_| Error::input("The type of the file has characters that no type has."))?;
            self.headers.insert(CONTENT_TYPE, value);
        }
        self.patience = Duration::from_secs((bytes.len() / BYTES_PER_SECOND) as u64);
        self.body = Some(bytes);
        Ok(self)
    }

    /// The answer is a file: it may take any time, but none in which no byte comes for as long as an attempt may take.
    pub fn download(mut self) -> Self {
        self.is_download = true;
        self
    }

    pub fn header(mut self, name: &'static str, value: &str) -> Self {
        // The values are this crate's own: revisions, epochs and marks of the server.
        if let Ok(value) = HeaderValue::try_from(value) {
            self.headers.insert(HeaderName::from_static(name), value);
        }
        self
    }

    /// For how long the server is asked to hold the answer back, on top of the time of attempts.
    pub fn patience(mut self, patience: Duration) -> Self {
        self.patience = patience;
        self
    }

    /// The URL without its query, for people.
    pub fn shown(&self) -> &str {
        self.url.split('?').next().unwrap_or_default()
    }
}

impl Http {
    pub fn new(url: &str, token: &Token, limits: Limits, traceparent: Option<Traceparent>) -> Result<Self, Error> {
        let base = base(url)?;
        let mut roots = RootCertStore::empty();
        if base.starts_with("https:") {
            roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        }
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let tls = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| Error::input(format!("TLS cannot be set up: {error}.")))?;
        let connections = Connections::builder()
            .tls_backend_preconfigured(tls.with_root_certificates(roots).with_no_client_auth())
            .connect_timeout(limits.connect)
            // Less than the 75 s after which sessiond closes a connection that nobody uses.
            .pool_idle_timeout(Duration::from_secs(60))
            // The credential is for this server alone.
            .redirect(redirect::Policy::none())
            .build()
            .map_err(|error| Error::input(format!("The HTTP client cannot be made: {}.", why(&error))))?;
        Ok(Self { base, connections, bearer: Bearer::new(token, limits.attempt)?, limits, traceparent })
    }

    pub fn silence(&self) -> Duration {
        self.limits.silence
    }

    pub fn base(&self) -> &str {
        &self.base
    }

    /// A request at a path, which is percent-encoded: see [`path`].
    pub fn call(&self, method: Method, path: &str) -> Call {
        let url = format!("{}{path}", self.base);
        Call { method, url, body: None, headers: HeaderMap::new(), patience: Duration::ZERO, is_download: false }
    }

    /// The body of the answer to [`Http::exchange`].
    pub async fn send(&self, call: Call) -> Result<Vec<u8>, Error> {
        Ok(self.exchange(call).await?.1)
    }

    /// Sends a request until there is a final answer, no attempt left, or no time for another one.
    pub async fn exchange(&self, call: Call) -> Result<(HeaderMap, Vec<u8>), Error> {
        let (began, total) = (Instant::now(), self.limits.total + call.patience);
        let mut in_doubt = false;
        let mut attempt = 0;
        loop {
            attempt += 1;
            let left = total.saturating_sub(began.elapsed());
            let limit = (self.limits.attempt + call.patience).min(left);
            let (error, at_least) = match self.attempt(&call, limit).await {
                Ok((status, headers, body)) if status.is_success() => {
                    if call.is_download || status == StatusCode::NO_CONTENT || body.starts_with(b"{") {
                        return Ok((headers, body));
                    }
                    let error = Error::new(ErrorKind::Internal, "The answer is not sessiond's.");
                    return Err(Error { status: Some(status.as_u16()), ..error });
                }
                Ok((status, headers, body)) => {
                    let error = Error::answered(status.as_u16(), &body);
                    let unknown = error.outcome == Some(Outcome::Unknown);
                    if matches!(status.as_u16(), 401 | 403) {
                        // It speaks of this attempt; those before may have been applied.
                        return Err(self.of_write(&call, self.hinted(error), in_doubt));
                    }
                    if !unknown && !RETRIED.contains(&status.as_u16()) {
                        // What the server says holds for all attempts: it looks for the id of the event first.
                        return Err(error);
                    }
                    in_doubt |= error.outcome != Some(Outcome::NotApplied);
                    (error, retry_after(&headers))
                }
                Err(Failed::Final(error)) => return Err(self.of_write(&call, error, in_doubt)),
                Err(Failed::Sending(error)) => {
                    // What never left this process did not happen.
                    in_doubt |= !error.is_connect();
                    if error.is_builder() {
                        return Err(Error::input(format!("{} is no URL that can be asked.", call.shown())));
                    }
                    let message = format!("sessiond cannot be reached: {}.", why(&error));
                    (Error::new(ErrorKind::Unavailable, message), Duration::ZERO)
                }
                Err(Failed::Silent) => {
                    in_doubt = true;
                    let message = format!("sessiond cannot be reached: {SILENT}.");
                    (Error::new(ErrorKind::Unavailable, message), Duration::ZERO)
                }
            };
            let pause = spread((FIRST_PAUSE * 4u32.pow(attempt.min(4) - 1)).min(LONGEST_PAUSE)).max(at_least);
            let mut is_last = attempt >= self.limits.attempts || began.elapsed() + pause >= total;
            if !is_last {
                tracing::warn!(
                    method = %call.method,
                    url = call.shown(),
                    attempt,
                    "trying again in {:.1} s: {}",
                    pause.as_secs_f64(),
                    error.message
                );
                sleep(pause).await;
                // On a busy machine a pause takes longer. An attempt without time would only put the outcome in doubt.
                is_last = began.elapsed() >= total;
            }
            if is_last {
                let (times, seconds) =
                    (if attempt == 1 { "attempt" } else { "attempts" }, began.elapsed().as_secs_f64());
                let gave_up =
                    format!("Gave up {} {} after {attempt} {times} in {seconds:.1} s.", call.method, call.shown());
                let message = format!("{} {gave_up}", error.message);
                return Err(self.of_write(&call, Error { message, ..error }, in_doubt));
            }
        }
    }

    /// Sends a request once, without a body.
    pub async fn once(&self, method: Method, path: &str) -> Result<(), Error> {
        let call = self.call(method, path);
        match self.attempt(&call, self.limits.attempt).await {
            Ok((status, _, _)) if status.is_success() => Ok(()),
            Ok((status, _, body)) => Err(Error::answered(status.as_u16(), &body)),
            Err(Failed::Final(error)) => Err(error),
            Err(failed) => {
                let message = format!("sessiond cannot be reached: {}. Tried GET {} once.", failed.why(), call.shown());
                Err(Error::new(ErrorKind::Unavailable, message))
            }
        }
    }

    /// Opens a stream, once. The time for the head of the answer is limited, that for the body is not.
    pub async fn open(&self, call: &Call) -> Result<Response, Failed> {
        let opened = self.authorized(call, None);
        match timeout(self.limits.attempt, opened).await {
            Ok(response) => response,
            Err(_) => {
                let message = format!("sessiond gave no answer within {:.0} s.", self.limits.attempt.as_secs_f64());
                Err(Failed::Final(Error::new(ErrorKind::Unavailable, message)))
            }
        }
    }

    async fn attempt(&self, call: &Call, limit: Duration) -> Result<(StatusCode, HeaderMap, Vec<u8>), Failed> {
        if call.is_download {
            return self.download(call, limit).await;
        }
        let response = self.authorized(call, Some(limit)).await?;
        let (status, headers) = (response.status(), response.headers().clone());
        Ok((status, headers, response.bytes().await?.into()))
    }

    async fn download(&self, call: &Call, limit: Duration) -> Result<(StatusCode, HeaderMap, Vec<u8>), Failed> {
        let mut response = timeout(limit, self.authorized(call, None)).await.map_err(|_| Failed::Silent)??;
        let (status, headers, mut body) = (response.status(), response.headers().clone(), Vec::new());
        while let Some(part) = timeout(limit, response.chunk()).await.map_err(|_| Failed::Silent)?? {
            body.extend_from_slice(&part);
        }
        Ok((status, headers, body))
    }

    /// Sends a request with the credential, and once more if that is refused and there can be another.
    async fn authorized(&self, call: &Call, limit: Option<Duration>) -> Result<Response, Failed> {
        let (number, credential) = self.bearer.later_than(0).await?;
        let response = self.request(call, credential, limit).await?;
        if response.status() != StatusCode::UNAUTHORIZED {
            return Ok(response);
        }
        let (later, credential) = self.bearer.later_than(number).await?;
        if later == number {
            return Ok(response);
        }
        Ok(self.request(call, credential, limit).await?)
    }

    async fn request(
        &self,
        call: &Call,
        credential: Option<HeaderValue>,
        limit: Option<Duration>,
    ) -> Result<Response, reqwest::Error> {
        let mut request = self.connections.request(call.method.clone(), &call.url).headers(call.headers.clone());
        request = request.header(USER_AGENT, concat!("sessiond-rust/", env!("CARGO_PKG_VERSION")));
        if let Some(credential) = credential {
            request = request.header(AUTHORIZATION, credential);
        }
        if let Some(parent) = self.traceparent.as_ref().and_then(|parent| HeaderValue::try_from(parent()?).ok()) {
            request = request.header("traceparent", parent);
        }
        if let Some(body) = &call.body {
            request = request.body(body.clone());
        }
        if let Some(limit) = limit {
            request = request.timeout(limit);
        }
        request.send().await
    }

    /// Says what to do if there is no credential.
    fn hinted(&self, mut error: Error) -> Error {
        if error.status == Some(401) && self.bearer.is_none() {
            error.message.push_str(" No token was sent: give one to the builder, or set SESSIOND_TOKEN.");
        }
        error
    }

    /// An error of a write says whether it may have been applied, by any of its attempts.
    fn of_write(&self, call: &Call, mut error: Error, in_doubt: bool) -> Error {
        error.outcome = match call.method {
            Method::GET => None,
            _ if in_doubt => Some(Outcome::Unknown),
            _ => error.outcome.or(Some(Outcome::NotApplied)),
        };
        error
    }
}

/// Why a request has no answer.
pub(crate) enum Failed {
    /// There is no credential, or no time left: nothing that sending again would change.
    Final(Error),
    /// No connection, no answer, or half of one.
    Sending(reqwest::Error),
    /// For too long, no byte of a file came.
    Silent,
}

const SILENT: &str = "no answer in time";

impl Failed {
    /// What happened, for people.
    pub fn why(&self) -> String {
        match self {
            Self::Final(error) => error.message.clone(),
            Self::Sending(error) => why(error),
            Self::Silent => SILENT.into(),
        }
    }
}

impl From<Error> for Failed {
    fn from(error: Error) -> Self {
        Self::Final(error)
    }
}

impl From<reqwest::Error> for Failed {
    fn from(error: reqwest::Error) -> Self {
        Self::Sending(error)
    }
}

/// Ids as segments of a path, each with its slash before it, percent-encoded.
///
/// An id that is empty, `.` or `..` is refused: the path would be that of something else.
pub(crate) fn path(ids: &[(&'static str, &str)]) -> Result<String, Error> {
    let mut path = String::from("/v1");
    for (collection, id) in ids {
        let what = match *collection {
            "apps" => "name of the app",
            "users" => "id of the user",
            "sessions" => "id of the session",
            "artifacts" => "name of the file",
            _ => "id of the event",
        };
        match *id {
            "" => return Err(Error::input(format!("The {what} is empty."))),
            "." | ".." => {
                return Err(Error::input(format!("The {what} is {id:?}, which would address another path.")));
            }
            id => path.push_str(&format!("/{collection}/{}", utf8_percent_encode(id, ENCODED))),
        }
    }
    Ok(path)
}

/// What an error of the HTTP library says, without the URL, which may have a query.
pub(crate) fn why(error: &reqwest::Error) -> String {
    if error.is_timeout() && !error.is_connect() {
        return SILENT.into();
    }
    // The innermost cause says it: `Connection refused (os error 111)`.
    let mut innermost: &dyn StdError = error;
    while let Some(cause) = innermost.source() {
        innermost = cause;
    }
    innermost.to_string()
}

/// What the answer asks to wait for, which proxies may say as a date.
pub(crate) fn retry_after(headers: &HeaderMap) -> Duration {
    let Some(said) = headers.get(RETRY_AFTER).and_then(|value| value.to_str().ok()) else { return Duration::ZERO };
    if let Ok(seconds) = said.trim().parse::<u32>() {
        return Duration::from_secs(seconds.into());
    }
    // A date that is past, or none, asks for nothing.
    DateTime::parse_from_rfc2822(said)
        .ok()
        .and_then(|date| date.signed_duration_since(Utc::now()).to_std().ok())
        .unwrap_or_default()
}

/// The duration, times a random number from 0.5 to 1.5.
pub(crate) fn spread(duration: Duration) -> Duration {
    duration.mul_f64(0.5 + chance())
}

/// A random number from 0 to 1.
pub(crate) fn chance() -> f64 {
    let (_, low) = uuid::Uuid::new_v4().as_u64_pair();
    f64::from((low >> 16) as u32) / f64::from(u32::MAX)
}

/// The URL without a slash at its end.
fn base(url: &str) -> Result<String, Error> {
    let form = "The URL of sessiond is http://HOST:PORT or https://HOST, without a user, a query and a fragment.";
    let parsed = Url::parse(url).map_err(|_| Error::input(form))?;
    let plain = parsed.username().is_empty() && parsed.password().is_none();
    if !plain
        || parsed.query().is_some()
        || parsed.fragment().is_some()
        || !["http", "https"].contains(&parsed.scheme())
    {
        return Err(Error::input(form));
    }
    Ok(parsed.as_str().trim_end_matches('/').to_owned())
}
