//! The issuer's signing keys (RFC 7517), from a URL or a file.
//!
//! [`Jwks::keep`] reads them at once and then every [`INTERVAL`]; after a failure, every [`RETRY`]. A token with an
//! unknown key causes another read, at most once in [`RETRY`]. The last good set is used for at most [`MAX_AGE`]. A
//! file is read every [`FILE_INTERVAL`].
//!
//! A fetch has limits of time, bytes, keys and redirects, and redirects stay at the origin. TLS trusts the system's
//! certificates, or those in `SSL_CERT_FILE`. Proxy variables are ignored, because every setting must be in `--help`:
//! behind a proxy, download the keys to a file.

use std::io::Read as _;
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jsonwebtoken::{Algorithm, DecodingKey};
use reqwest::{Client, StatusCode, redirect};
use serde::Deserialize;
use serde::de::IgnoredAny;
use tokio::sync::{Notify, Semaphore, watch};
use tokio::time::{Instant, sleep_until, timeout, timeout_at};
use url::Url;

use super::KeySource;
use crate::metrics::Metrics;
use crate::outgoing::{self, SetupError};

/// The interval after a good fetch.
const INTERVAL: Duration = Duration::from_secs(5 * 60);
/// The interval after a failed fetch, and the least interval between fetches for unknown keys.
const RETRY: Duration = Duration::from_secs(30);
const FILE_INTERVAL: Duration = Duration::from_secs(5);
/// How long a set is used if no newer one can be fetched.
const MAX_AGE: Duration = Duration::from_secs(24 * 60 * 60);
/// The time limit for one fetch, and for a request that waits for one.
const PATIENCE: Duration = Duration::from_secs(5);
/// How many requests may wait for a fetch: each takes a place among the concurrent requests.
const MAX_WAITING: usize = 64;
const MAX_BYTES: usize = 1 << 20;
const MAX_KEYS: usize = 100;
const MAX_REDIRECTS: usize = 3;
/// ring verifies with RSA moduli of 2048 to 8192 bits.
const RSA_BITS: std::ops::RangeInclusive<usize> = 2048..=8192;

/// The interval after a good read.
fn interval(source: &KeySource) -> Duration {
    match source {
        KeySource::Url(_) => INTERVAL,
        KeySource::File(_) => FILE_INTERVAL,
    }
}

/// A public key, and the only algorithm that it is used for.
pub(crate) struct Key {
    id: Option<String>,
    algorithm: Algorithm,
    key: DecodingKey,
}

impl Key {
    pub(super) fn decoding(&self) -> &DecodingKey {
        &self.key
    }
}

/// Why there is no key for a token.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NoKey {
    /// No set was ever read, or the last one is too old.
    NoSet,
    /// No key has that id; or, without an id, not exactly one is for that algorithm.
    Unknown,
    /// The key of that id is for another algorithm.
    OtherAlgorithm,
    /// It may be in the set that is being read, but too many requests wait for that.
    Busy,
}

/// The issuer's keys, as of the last read.
pub(crate) struct Jwks {
    source: KeySource,
    client: Client,
    state: Mutex<State>,
    /// Wakes [`Jwks::keep`] for a load.
    wake: Notify,
    /// Notified at the end of every load.
    loaded: watch::Sender<()>,
    waiting: Semaphore,
}

struct State {
    set: Option<Set>,
    /// A load is running or about to run.
    loading: bool,
    /// When an unknown key last caused a load.
    asked: Option<Instant>,
    failing: bool,
}

struct Set {
    keys: Vec<Arc<Key>>,
    /// When this set was last confirmed.
    since: Instant,
}

impl Jwks {
    /// Reads nothing yet. Every key is unknown until [`Jwks::keep`] runs.
    ///
    /// # Errors
    /// TLS cannot be set up.
    pub(crate) fn new(source: KeySource) -> Result<Self, SetupError> {
        let state = State { set: None, loading: true, asked: None, failing: false };
        let client = outgoing::client(redirect::Policy::custom(same_origin))?;
        Ok(Self {
            source,
            client,
            state: Mutex::new(state),
            wake: Notify::new(),
            loaded: watch::Sender::new(()),
            waiting: Semaphore::new(MAX_WAITING),
        })
    }

    /// A fixed set of keys.
    #[cfg(test)]
    pub(super) fn fixed(text: &str) -> Self {
        let jwks = Self::new(KeySource::File("unused".into())).unwrap();
        jwks.settle(parse(text.as_bytes()));
        jwks
    }

    /// Keeps the keys up to date, forever. Run it once, in a task of its own.
    pub(crate) async fn keep(&self, metrics: &Metrics) {
        loop {
            self.state().loading = true;
            let result = self.load().await;
            let mut pause = interval(&self.source);
            if result.is_err() {
                metrics.background_failures.inc("issuer_keys");
                pause = pause.min(RETRY);
            }
            self.settle(result);
            tokio::select! {
                () = sleep_until(Instant::now() + pause) => {}
                () = self.woken() => {}
            }
        }
    }

    /// The key for a token with this `kid` and algorithm. Without a `kid`, the only key for the algorithm.
    ///
    /// Returns at once if the key is known. Otherwise waits at most 5 s for a load, if one is running or may be
    /// started.
    ///
    /// # Errors
    /// There is no such key.
    pub(crate) async fn find(&self, id: Option<&str>, algorithm: Algorithm) -> Result<Arc<Key>, NoKey> {
        let deadline = Instant::now() + PATIENCE;
        let mut place = None;
        loop {
            let mut loaded = {
                let mut state = self.state();
                let why = match state.find(id, algorithm) {
                    Err(why @ (NoKey::Unknown | NoKey::NoSet)) => why,
                    found => return found,
                };
                if !state.loading {
                    if state.asked.is_some_and(|asked| asked.elapsed() < RETRY) {
                        return Err(why);
                    }
                    state.asked = Some(Instant::now());
                    state.loading = true;
                    self.wake.notify_one();
                }
                if place.is_none() {
                    place = Some(self.waiting.try_acquire().map_err(|_| NoKey::Busy)?);
                }
                // Subscribe before the lock is released, so that the end of the load is not missed.
                self.loaded.subscribe()
            };
            if !matches!(timeout_at(deadline, loaded.changed()).await, Ok(Ok(()))) {
                return self.state().find(id, algorithm);
            }
        }
    }

    /// Waits for a request to load. A request made just as another load began is served by that load.
    async fn woken(&self) {
        loop {
            self.wake.notified().await;
            if self.state().loading {
                return;
            }
        }
    }

    async fn load(&self) -> Result<Vec<Arc<Key>>, LoadError> {
        let text = match &self.source {
            KeySource::Url(url) => timeout(PATIENCE, fetch(&self.client, url)).await.map_err(|_| LoadError::Slow)??,
            KeySource::File(path) => {
                let path = path.clone();
                tokio::task::spawn_blocking(move || read_file(&path)).await.map_err(|_| LoadError::Stopped)??
            }
        };
        parse(&text)
    }

    /// Stores the result of a load, logs changes, and wakes waiting requests.
    fn settle(&self, result: Result<Vec<Arc<Key>>, LoadError>) {
        let mut state = self.state();
        state.loading = false;
        match result {
            Ok(keys) => {
                let before = state.set.as_ref().map(|set| set.keys.len());
                if keys.is_empty() && before != Some(0) {
                    tracing::warn!("the issuer has no key for RS256, ES256 or EdDSA: its tokens are refused");
                } else if state.failing || before != Some(keys.len()) {
                    tracing::info!(keys = keys.len(), "read the issuer's keys");
                }
                state.failing = false;
                state.set = Some(Set { keys, since: Instant::now() });
            }
            Err(error) => {
                if !state.failing {
                    tracing::warn!(%error, "the issuer's keys cannot be read; the last ones stay valid for 24 h");
                }
                state.failing = true;
                if state.set.as_ref().is_some_and(Set::is_too_old) {
                    tracing::warn!(%error, "the issuer's keys are older than 24 h: its tokens are refused");
                    state.set = None;
                }
            }
        }
        drop(state);
        self.loaded.send_replace(());
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn find(&self, id: Option<&str>, algorithm: Algorithm) -> Result<Arc<Key>, NoKey> {
        let set = self.set.as_ref().filter(|set| !set.is_too_old()).ok_or(NoKey::NoSet)?;
        let mut fitting = set.keys.iter().filter(|key| key.algorithm == algorithm);
        let Some(id) = id else {
            return match (fitting.next(), fitting.next()) {
                (Some(only), None) => Ok(only.clone()),
                _ => Err(NoKey::Unknown),
            };
        };
        match fitting.find(|key| key.id.as_deref() == Some(id)) {
            Some(key) => Ok(key.clone()),
            None if set.keys.iter().any(|key| key.id.as_deref() == Some(id)) => Err(NoKey::OtherAlgorithm),
            None => Err(NoKey::Unknown),
        }
    }
}

impl Set {
    fn is_too_old(&self) -> bool {
        self.since.elapsed() >= MAX_AGE
    }
}

/// Why the keys cannot be read. Never contains the URL, which may contain credentials.
#[derive(Debug, thiserror::Error)]
enum LoadError {
    #[error("no whole answer within 5 s")]
    Slow,
    #[error("{0}")]
    Http(String),
    #[error("status {0}")]
    Status(StatusCode),
    #[error("more than 1 MiB")]
    TooLarge,
    #[error("{0}")]
    File(#[from] std::io::Error),
    #[error("the reading was cut off")]
    Stopped,
    #[error("no JWK set (RFC 7517, section 5)")]
    NoSet,
    #[error("more than 100 keys")]
    TooManyKeys,
}

impl From<reqwest::Error> for LoadError {
    fn from(error: reqwest::Error) -> Self {
        Self::Http(outgoing::describe(error))
    }
}

fn same_origin(attempt: redirect::Attempt<'_>) -> redirect::Action {
    let is_same = attempt.previous().first().is_some_and(|first| first.origin() == attempt.url().origin());
    if !is_same {
        attempt.error("a redirect to another origin")
    } else if attempt.previous().len() > MAX_REDIRECTS {
        attempt.error("too many redirects")
    } else {
        attempt.follow()
    }
}

async fn fetch(client: &Client, url: &Url) -> Result<Vec<u8>, LoadError> {
    let mut answer = client.get(url.clone()).send().await?;
    if answer.status() != StatusCode::OK {
        return Err(LoadError::Status(answer.status()));
    }
    let mut text = Vec::new();
    while let Some(chunk) = answer.chunk().await? {
        if text.len() + chunk.len() > MAX_BYTES {
            return Err(LoadError::TooLarge);
        }
        text.extend_from_slice(&chunk);
    }
    Ok(text)
}

fn read_file(path: &Path) -> Result<Vec<u8>, LoadError> {
    let mut text = Vec::new();
    let file = std::fs::File::open(path);
    let file = file.map_err(|error| std::io::Error::new(error.kind(), format!("{}: {error}", path.display())))?;
    file.take(MAX_BYTES as u64 + 1).read_to_end(&mut text)?;
    if text.len() > MAX_BYTES { Err(LoadError::TooLarge) } else { Ok(text) }
}

#[derive(Deserialize)]
struct JwkSet {
    keys: Vec<Entry>,
}

/// An entry that cannot be parsed is a key for somebody else (RFC 7517, section 5).
#[derive(Deserialize)]
#[serde(untagged)]
enum Entry {
    Key(Box<Jwk>),
    Other(IgnoredAny),
}

#[derive(Deserialize)]
struct Jwk {
    kty: String,
    kid: Option<String>,
    #[serde(rename = "use")]
    usage: Option<String>,
    key_ops: Option<Vec<String>>,
    alg: Option<String>,
    crv: Option<String>,
    n: Option<String>,
    e: Option<String>,
    x: Option<String>,
    y: Option<String>,
}

/// The usable keys of a set. An empty set is valid: the issuer has withdrawn its keys.
fn parse(text: &[u8]) -> Result<Vec<Arc<Key>>, LoadError> {
    let set: JwkSet = serde_json::from_slice(text).map_err(|_| LoadError::NoSet)?;
    if set.keys.len() > MAX_KEYS {
        return Err(LoadError::TooManyKeys);
    }
    let key = |entry| match entry {
        Entry::Key(jwk) => jwk.into_key().map(Arc::new),
        Entry::Other(_) => None,
    };
    Ok(set.keys.into_iter().filter_map(key).collect())
}

impl Jwk {
    fn into_key(self) -> Option<Key> {
        let (algorithm, name) = match (&*self.kty, self.crv.as_deref()) {
            ("RSA", _) => (Algorithm::RS256, "RS256"),
            ("EC", Some("P-256")) => (Algorithm::ES256, "ES256"),
            ("OKP", Some("Ed25519")) => (Algorithm::EdDSA, "EdDSA"),
            _ => return None,
        };
        let is_for_us = self.usage.is_none_or(|usage| usage == "sig")
            && self.key_ops.is_none_or(|all| all.iter().any(|one| one == "verify"))
            && self.alg.is_none_or(|alg| alg == name);
        if !is_for_us {
            return None;
        }
        let number = |text: Option<String>| URL_SAFE_NO_PAD.decode(text?).ok();
        let coordinate = |text| number(text).filter(|bytes| bytes.len() == 32);
        let key = match algorithm {
            Algorithm::RS256 => {
                let (n, e) = (unsigned(number(self.n)?), unsigned(number(self.e)?));
                let bits = n.len() * 8 - n.first()?.leading_zeros() as usize;
                if !RSA_BITS.contains(&bits) || e.is_empty() {
                    return None;
                }
                DecodingKey::from_rsa_raw_components(&n, &e)
            }
            Algorithm::ES256 => {
                let point = [&[4], &*coordinate(self.x)?, &*coordinate(self.y)?].concat();
                DecodingKey::from_ec_der(&point)
            }
            _ => DecodingKey::from_ed_der(&coordinate(self.x)?),
        };
        Some(Key { id: self.kid, algorithm, key })
    }
}

/// Removes leading zeros of a big-endian number, which some issuers write and ring refuses.
fn unsigned(bytes: Vec<u8>) -> Vec<u8> {
    bytes.into_iter().skip_while(|byte| *byte == 0).collect()
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::sync::LazyLock;
    use std::sync::atomic::{AtomicU32, Ordering};

    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    use tokio::net::{TcpListener, TcpStream};
    use tracing::Dispatch;
    use tracing::subscriber::{DefaultGuard, NoSubscriber};

    use super::super::testing::{SigningKey, base64url, jwks};
    use super::*;

    /// How the issuer answers requests for a path.
    #[derive(Clone)]
    enum Reply {
        Say(String),
        /// These bytes, then nothing more.
        Stall(&'static str),
        /// An endless body.
        Flood,
        HangUp,
    }

    fn ok(body: &str) -> Reply {
        Reply::Say(format!("HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}", body.len()))
    }

    fn redirect(to: &str) -> Reply {
        Reply::Say(format!("HTTP/1.1 302 Found\r\nconnection: close\r\nlocation: {to}\r\ncontent-length: 0\r\n\r\n"))
    }

    /// A set with an Ed25519 key for each id. The keys do not matter where nothing is verified.
    fn set(ids: &[&str]) -> String {
        let x = "A".repeat(43);
        let key = |id: &&str| format!(r#"{{"kid":"{id}","kty":"OKP","crv":"Ed25519","x":"{x}"}}"#);
        jwks(&ids.iter().map(key).collect::<Vec<_>>())
    }

    struct Issuer {
        address: String,
        reply: watch::Sender<Reply>,
        /// The number of requests so far.
        requests: watch::Receiver<usize>,
        handshakes: watch::Receiver<usize>,
        jwks: Arc<Jwks>,
    }

    impl Issuer {
        /// An issuer, and a reader of its `/keys` that has not fetched yet.
        async fn new(reply: Reply) -> Self {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let address = listener.local_addr().unwrap().to_string();
            let (reply, replies) = watch::channel(reply);
            let (count, requests) = watch::channel(0);
            let (begun, handshakes) = watch::channel(0);
            tokio::spawn(async move {
                loop {
                    let (stream, _) = listener.accept().await.unwrap();
                    tokio::spawn(answer(stream, replies.clone(), count.clone(), begun.clone()));
                }
            });
            let source = KeySource::url(&format!("http://name:hunter2@{address}/keys")).unwrap();
            let jwks = Arc::new(Jwks::new(source).unwrap());
            Self { address, reply, requests, handshakes, jwks }
        }

        /// The same, with its keys kept up to date.
        async fn kept(reply: Reply) -> Self {
            let issuer = Self::new(reply).await;
            let jwks = issuer.jwks.clone();
            tokio::spawn(async move { jwks.keep(&Metrics::new()).await });
            issuer
        }

        fn replies(&self, reply: Reply) {
            self.reply.send_replace(reply);
        }

        /// Waits until it is known whether there is a key with this id.
        async fn find(&self, id: &str) -> Result<(), NoKey> {
            self.jwks.find(Some(id), Algorithm::EdDSA).await.map(drop)
        }

        fn asked(&self) -> usize {
            *self.requests.borrow()
        }

        async fn wait_for_requests(&mut self, n: usize) {
            let _ = within(self.requests.wait_for(|count| *count >= n)).await.unwrap();
        }

        /// Advances time, and waits for the load that this causes.
        async fn load_after(&self, time: Duration) {
            let mut loaded = self.jwks.loaded.subscribe();
            pass(time).await;
            within(loaded.changed()).await.unwrap();
        }
    }

    async fn answer(
        mut stream: TcpStream,
        replies: watch::Receiver<Reply>,
        count: watch::Sender<usize>,
        handshakes: watch::Sender<usize>,
    ) {
        let mut head = Vec::new();
        while !head.ends_with(b"\r\n\r\n") {
            match stream.read_u8().await {
                // A TLS handshake (RFC 8446, section 5.1), which this issuer does not support.
                Ok(22) if head.is_empty() => return handshakes.send_modify(|count| *count += 1),
                Ok(byte) => head.push(byte),
                Err(_) => return,
            }
        }
        count.send_modify(|count| *count += 1);
        let reply = replies.borrow().clone();
        // The client may have disconnected.
        let _ = match reply {
            Reply::Say(text) => stream.write_all(text.as_bytes()).await,
            Reply::Stall(text) => {
                let _ = stream.write_all(text.as_bytes()).await;
                std::future::pending().await
            }
            Reply::Flood => {
                let _ = stream.write_all(b"HTTP/1.1 200 OK\r\nconnection: close\r\n\r\n").await;
                while stream.write_all(&[b' '; 4096]).await.is_ok() {}
                Ok(())
            }
            Reply::HangUp => Ok(()),
        };
    }

    /// Turns a hang into a failure.
    async fn within<T>(future: impl Future<Output = T>) -> T {
        timeout(Duration::from_secs(20), future).await.unwrap()
    }

    /// Advances the clock. It is not paused otherwise, because a paused clock jumps whenever a test waits for the
    /// network.
    async fn pass(time: Duration) {
        tokio::time::pause();
        tokio::time::advance(time).await;
        tokio::time::resume();
    }

    /// Captures the log of this thread.
    #[derive(Clone, Default)]
    struct Log(Arc<Mutex<Vec<u8>>>);

    impl Write for Log {
        fn write(&mut self, text: &[u8]) -> std::io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(text);
            Ok(text.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    impl Log {
        fn of_this_thread() -> (Self, DefaultGuard) {
            // With a single subscriber, tracing asks only the first thread that meets a line whether it is wanted, and
            // caches that for all threads.
            static ANOTHER: LazyLock<Dispatch> = LazyLock::new(|| Dispatch::new(NoSubscriber::default()));
            LazyLock::force(&ANOTHER);
            let log = Self::default();
            let writer = log.clone();
            let subscriber = tracing_subscriber::fmt().with_ansi(false).with_writer(move || writer.clone()).finish();
            (log, tracing::subscriber::set_default(subscriber))
        }

        fn warnings(&self) -> Vec<String> {
            let text = String::from_utf8(self.0.lock().unwrap().clone()).unwrap();
            assert!(!text.contains("hunter2") && !text.contains("127.0.0.1"), "{text}");
            text.lines().filter(|line| line.contains("WARN")).map(str::to_owned).collect()
        }
    }

    #[tokio::test]
    async fn keys_are_there_from_the_start_and_renewed() {
        let mut issuer = Issuer::kept(ok(&set(&["a"]))).await;
        // This request comes before the first load, and waits for it.
        assert_eq!(issuer.find("a").await, Ok(()));
        assert_eq!(issuer.asked(), 1);
        pass(INTERVAL - Duration::from_secs(60)).await;
        assert_eq!((issuer.find("a").await, issuer.asked()), (Ok(()), 1));
        issuer.replies(ok(&set(&["a", "b"])));
        issuer.load_after(Duration::from_secs(60)).await;
        assert_eq!((issuer.find("b").await, issuer.asked()), (Ok(()), 2));
        pass(INTERVAL).await;
        issuer.wait_for_requests(3).await;
    }

    #[tokio::test]
    async fn a_new_key_is_found_by_its_first_token() {
        let issuer = Issuer::kept(ok(&set(&["a"]))).await;
        assert_eq!(issuer.find("a").await, Ok(()));
        issuer.replies(ok(&set(&["a", "b"])));
        let all = futures_util::future::join_all((0..MAX_WAITING).map(|_| issuer.find("b"))).await;
        assert!(all.iter().all(Result::is_ok));
        assert_eq!(issuer.asked(), 2);
        // A key that the issuer withdrew is removed here.
        issuer.replies(ok(&set(&["b"])));
        issuer.load_after(INTERVAL).await;
        assert_eq!(issuer.find("a").await, Err(NoKey::Unknown));
        assert_eq!(issuer.find("b").await, Ok(()));
        issuer.replies(ok(&set(&[])));
        issuer.load_after(INTERVAL).await;
        assert_eq!(issuer.find("b").await, Err(NoKey::Unknown));
    }

    #[tokio::test]
    async fn a_thousand_unknown_keys_cause_one_fetch_in_30_s() {
        let mut issuer = Issuer::kept(ok(&set(&["a"]))).await;
        assert_eq!(issuer.find("a").await, Ok(()));
        for fetches in 1..4 {
            let all: Vec<_> = (0..1000).map(|n| format!("{fetches}-{n}")).collect();
            let found = futures_util::future::join_all(all.iter().map(|id| issuer.find(id))).await;
            assert!(found[..MAX_WAITING].iter().all(|found| *found == Err(NoKey::Unknown)));
            assert!(found[MAX_WAITING..].iter().all(|found| *found == Err(NoKey::Busy)));
            issuer.wait_for_requests(1 + fetches).await;
            pass(RETRY / 2).await;
            assert_eq!(issuer.find("x").await, Err(NoKey::Unknown));
            assert_eq!(issuer.find("a").await, Ok(()));
            assert_eq!(issuer.asked(), 1 + fetches);
            pass(RETRY / 2).await;
        }
    }

    /// For instance when a regular fetch is due.
    #[tokio::test]
    async fn a_fetch_that_was_asked_for_as_another_began_is_that_one() {
        let issuer = Issuer::new(ok(&set(&["a"]))).await;
        issuer.jwks.settle(parse(set(&[]).as_bytes()));
        let asking = futures_util::FutureExt::now_or_never(issuer.find("a"));
        assert_eq!(asking, None);
        let jwks = issuer.jwks.clone();
        tokio::spawn(async move { jwks.keep(&Metrics::new()).await });
        assert_eq!(issuer.find("a").await, Ok(()));
        assert_eq!(issuer.find("b").await, Err(NoKey::Unknown));
        assert_eq!(issuer.asked(), 1);
    }

    #[tokio::test]
    async fn those_who_wait_do_not_wait_for_ever() {
        let mut issuer = Issuer::kept(ok(&set(&["a"]))).await;
        assert_eq!(issuer.find("a").await, Ok(()));
        issuer.replies(Reply::Stall(""));
        let jwks = issuer.jwks.clone();
        let waiting = tokio::spawn(async move { jwks.find(Some("b"), Algorithm::EdDSA).await.map(drop) });
        issuer.wait_for_requests(2).await;
        // A known key is returned at once.
        assert_eq!(issuer.find("a").await, Ok(()));
        assert!(!waiting.is_finished());
        pass(PATIENCE).await;
        assert_eq!(within(waiting).await.unwrap(), Err(NoKey::Unknown));
        assert_eq!(issuer.asked(), 2);
    }

    #[tokio::test]
    async fn an_issuer_that_starts_later_is_found() {
        let (log, _guard) = Log::of_this_thread();
        let mut issuer = Issuer::kept(Reply::HangUp).await;
        issuer.wait_for_requests(1).await;
        assert_eq!(issuer.find("a").await, Err(NoKey::NoSet));
        issuer.replies(ok(&set(&["a"])));
        issuer.load_after(RETRY).await;
        assert_eq!(issuer.find("a").await, Ok(()));
        let warnings = log.warnings();
        assert!(warnings.len() == 1 && warnings[0].contains("cannot be read"), "{warnings:?}");
    }

    #[tokio::test]
    async fn the_last_set_serves_for_a_day() {
        let (log, _guard) = Log::of_this_thread();
        let issuer = Issuer::kept(ok(&set(&["a"]))).await;
        assert_eq!(issuer.find("a").await, Ok(()));
        issuer.replies(Reply::HangUp);
        for _ in 0..23 {
            issuer.load_after(Duration::from_secs(60 * 60)).await;
            assert_eq!(issuer.find("a").await, Ok(()));
        }
        // Many failures cause one warning.
        assert_eq!(log.warnings().len(), 1, "{:?}", log.warnings());
        issuer.load_after(Duration::from_secs(60 * 60)).await;
        assert_eq!(issuer.find("a").await, Err(NoKey::NoSet));
        let warnings = log.warnings();
        assert!(warnings.len() == 2 && warnings[1].contains("older than 24 h"), "{warnings:?}");
        issuer.load_after(RETRY).await;
        assert_eq!(log.warnings().len(), 2);

        issuer.replies(ok(&set(&["a"])));
        issuer.load_after(RETRY).await;
        assert_eq!(issuer.find("a").await, Ok(()));
        issuer.replies(Reply::HangUp);
        issuer.load_after(INTERVAL).await;
        assert_eq!(log.warnings().len(), 3);
    }

    /// Also between two failed fetches.
    #[tokio::test(start_paused = true)]
    async fn a_set_is_too_old_to_the_second() {
        let jwks = Jwks::fixed(&set(&["a"]));
        tokio::time::advance(MAX_AGE - Duration::from_secs(1)).await;
        assert_eq!(jwks.find(Some("a"), Algorithm::EdDSA).await.map(drop), Ok(()));
        tokio::time::advance(Duration::from_secs(1)).await;
        assert_eq!(jwks.find(Some("a"), Algorithm::EdDSA).await.map(drop), Err(NoKey::NoSet));
    }

    #[tokio::test]
    async fn a_fetch_is_bounded() {
        let issuer = Issuer::new(Reply::HangUp).await;
        let load = async |reply: Reply| {
            issuer.replies(reply);
            within(issuer.jwks.load()).await.map(|keys| keys.len())
        };
        let keys: Vec<_> = (0..100).map(|n| n.to_string()).collect();
        let mut ids: Vec<_> = keys.iter().map(String::as_str).collect();
        assert!(matches!(load(ok(&set(&ids))).await, Ok(100)));
        ids.push("one more");
        assert!(matches!(load(ok(&set(&ids))).await, Err(LoadError::TooManyKeys)));

        let text = set(&["a"]);
        let most = format!("{text}{}", " ".repeat(MAX_BYTES - text.len()));
        assert!(matches!(load(ok(&most)).await, Ok(1)));
        assert!(matches!(load(ok(&format!("{most} "))).await, Err(LoadError::TooLarge)));
        assert!(matches!(load(Reply::Flood).await, Err(LoadError::TooLarge)));
        assert!(matches!(load(Reply::HangUp).await, Err(LoadError::Http(_))));
        let short = format!("HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: 100000\r\n\r\n{text}");
        assert!(matches!(load(Reply::Say(short)).await, Err(LoadError::Http(_))));
        for text in ["", "null", "[]", "{}", r#"{"keys":{}}"#, r#"{"keys":null}"#, "<html>"] {
            assert!(matches!(load(ok(text)).await, Err(LoadError::NoSet)), "{text}");
        }
        for status in ["201 Created", "304 Not Modified", "401 Unauthorized", "404 Not Found", "500 Oops"] {
            let answer = format!("HTTP/1.1 {status}\r\nconnection: close\r\ncontent-length: 0\r\n\r\n");
            assert!(matches!(load(Reply::Say(answer)).await, Err(LoadError::Status(_))), "{status}");
        }
    }

    #[tokio::test]
    async fn a_slow_issuer_is_left() {
        for stalled in ["", "HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{\"keys\":["] {
            let mut issuer = Issuer::new(Reply::Stall(stalled)).await;
            let jwks = issuer.jwks.clone();
            let loading = tokio::spawn(async move { jwks.load().await.map(drop) });
            issuer.wait_for_requests(1).await;
            pass(PATIENCE).await;
            assert!(matches!(within(loading).await.unwrap(), Err(LoadError::Slow)), "{stalled}");
        }
    }

    #[tokio::test]
    async fn only_so_many_wait_for_a_slow_issuer() {
        let mut issuer = Issuer::new(Reply::Stall("")).await;
        let (keeping, finding) = (issuer.jwks.clone(), issuer.jwks.clone());
        let keeper = tokio::spawn(async move { keeping.keep(&Metrics::new()).await });
        issuer.wait_for_requests(1).await;
        let find = |n: usize| {
            let jwks = finding.clone();
            async move { jwks.find(Some(&n.to_string()), Algorithm::EdDSA).await.map(drop) }
        };
        let mut waiting: Vec<_> = (0..MAX_WAITING).map(|n| Box::pin(find(n))).collect();
        for find in &mut waiting {
            assert!(futures_util::FutureExt::now_or_never(find.as_mut()).is_none());
        }
        assert_eq!(find(MAX_WAITING).await, Err(NoKey::Busy));
        // A request that gives up makes room for another.
        drop(waiting.pop());
        assert!(futures_util::FutureExt::now_or_never(find(MAX_WAITING)).is_none());
        keeper.abort();
    }

    #[tokio::test]
    async fn redirects_stay_at_the_origin() {
        let other = Issuer::new(ok(&set(&["evil"]))).await;
        let mut issuer = Issuer::new(Reply::HangUp).await;
        let port = issuer.address.rsplit_once(':').unwrap().1.to_owned();
        for to in [
            format!("http://{}/keys", other.address),
            format!("http://localhost:{port}/keys"),
            format!("https://{}/keys", issuer.address),
            "file:///etc/passwd".to_owned(),
        ] {
            let before = issuer.asked();
            issuer.replies(redirect(&to));
            let error = within(issuer.jwks.load()).await.map(drop).unwrap_err();
            assert!(!error.to_string().contains("hunter2"), "{error}");
            assert_eq!(issuer.asked(), before + 1, "{to}");
        }
        assert_eq!(other.asked(), 0);
        // A redirect loop at the origin ends after the first request and three more.
        let before = issuer.asked();
        issuer.replies(redirect("/keys"));
        assert!(matches!(within(issuer.jwks.load()).await, Err(LoadError::Http(_))));
        assert_eq!(issuer.asked(), before + 1 + MAX_REDIRECTS);
        // A redirect that leads to the keys is followed.
        issuer.replies(redirect("/elsewhere"));
        let jwks = issuer.jwks.clone();
        let mut requests = issuer.requests.clone();
        requests.mark_unchanged();
        let loading = tokio::spawn(async move { jwks.load().await.map(|keys| keys.len()) });
        within(requests.changed()).await.unwrap();
        issuer.replies(ok(&set(&["a"])));
        assert!(matches!(within(loading).await.unwrap(), Ok(1)));
        issuer.wait_for_requests(before + 3 + MAX_REDIRECTS).await;
    }

    /// TLS is set up for `https`, and fails if the peer does not speak it.
    #[tokio::test]
    async fn https_is_spoken_to_https() {
        let issuer = Issuer::new(ok(&set(&["a"]))).await;
        let source = KeySource::url(&format!("https://name:hunter2@{}/keys", issuer.address)).unwrap();
        let error = within(Jwks::new(source).unwrap().load()).await.map(drop).unwrap_err().to_string();
        assert!(!error.contains("hunter2") && issuer.asked() == 0, "{error}");
        assert_eq!(*issuer.handshakes.borrow(), 1);
    }

    #[tokio::test]
    async fn a_file_is_read_when_it_changes() {
        static FILES: AtomicU32 = AtomicU32::new(0);
        let n = FILES.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("sessiond-jwks-{}-{n}.json", std::process::id()));
        std::fs::write(&path, set(&["a"])).unwrap();
        let jwks = Arc::new(Jwks::new(KeySource::File(path.clone())).unwrap());
        let keeping = jwks.clone();
        let keeper = tokio::spawn(async move { keeping.keep(&Metrics::new()).await });
        let load_after = async |time| {
            let mut loaded = jwks.loaded.subscribe();
            pass(time).await;
            within(loaded.changed()).await.unwrap();
        };
        let find = async |id| jwks.find(Some(id), Algorithm::EdDSA).await.map(drop);
        assert_eq!(find("a").await, Ok(()));
        std::fs::write(&path, set(&["b"])).unwrap();
        load_after(FILE_INTERVAL).await;
        assert_eq!((find("a").await, find("b").await), (Err(NoKey::Unknown), Ok(())));
        // A file that is incomplete, too large or missing changes nothing.
        for text in ["{\"keys\":[", &" ".repeat(MAX_BYTES + 1)] {
            std::fs::write(&path, text).unwrap();
            load_after(FILE_INTERVAL).await;
            assert_eq!(find("b").await, Ok(()));
        }
        std::fs::remove_file(&path).unwrap();
        load_after(FILE_INTERVAL).await;
        assert_eq!(find("b").await, Ok(()));
        std::fs::write(&path, set(&["c"])).unwrap();
        load_after(FILE_INTERVAL).await;
        assert_eq!(find("c").await, Ok(()));
        keeper.abort();
        std::fs::remove_file(&path).unwrap();
    }

    #[test]
    fn keys_that_are_not_for_us_are_left_out() {
        let rsa = SigningKey::rsa();
        let good = [
            rsa.jwk(""),
            rsa.jwk(r#""use":"sig","alg":"RS256","key_ops":["verify"],"x5c":["AAAA"],"#),
            SigningKey::ec().jwk(r#""alg":"ES256","#),
            SigningKey::ed().jwk(r#""alg":"EdDSA","#),
        ];
        let n = |bytes: &[u8]| format!(r#"{{"kty":"RSA","n":"{}","e":"AQAB"}}"#, base64url(bytes));
        let coordinate = "A".repeat(43);
        let bad = [
            rsa.jwk(r#""use":"enc","#),
            rsa.jwk(r#""use":"","#),
            rsa.jwk(r#""key_ops":["sign"],"#),
            rsa.jwk(r#""alg":"PS256","#),
            rsa.jwk(r#""alg":"RSA-OAEP","#),
            rsa.jwk(r#""kid":1,"#),
            SigningKey::ec().jwk(r#""alg":"EdDSA","#),
            n(&[255; 128]),
            n(&[&[127], &[255; 255][..]].concat()),
            n(&[&[0; 200], &[255; 100][..]].concat()),
            n(&[255; 1025]),
            n(&[]),
            r#"{"kty":"RSA","n":"AQAB"}"#.to_owned(),
            format!(r#"{{"kty":"EC","crv":"P-384","x":"{coordinate}","y":"{coordinate}"}}"#),
            format!(r#"{{"kty":"EC","crv":"P-256","x":"{coordinate}","y":"AAAA"}}"#),
            format!(r#"{{"kty":"EC","crv":"P-256","x":"{coordinate}"}}"#),
            format!(r#"{{"kty":"OKP","crv":"X25519","x":"{coordinate}"}}"#),
            format!(r#"{{"kty":"OKP","crv":"Ed25519","x":"{coordinate}A"}}"#),
            r#"{"kty":"oct","k":"c2VjcmV0","alg":"HS256"}"#.to_owned(),
            r#"{"kty":"new","crv":"new"}"#.to_owned(),
            "{}".to_owned(),
            "null".to_owned(),
            "1".to_owned(),
            r#""key""#.to_owned(),
        ];
        for key in &good {
            assert_eq!(parse(jwks(std::slice::from_ref(key)).as_bytes()).unwrap().len(), 1, "{key}");
        }
        for key in &bad {
            assert_eq!(parse(jwks(std::slice::from_ref(key)).as_bytes()).unwrap().len(), 0, "{key}");
        }
        // Bad keys do not affect good ones. Some issuers write a modulus with a leading zero.
        let padded = n(&[&[0], &[255; 256][..]].concat());
        let all: Vec<_> = bad.into_iter().chain(good).chain([padded]).collect();
        assert_eq!(parse(jwks(&all).as_bytes()).unwrap().len(), 5);
    }

    #[tokio::test(start_paused = true)]
    async fn a_token_without_a_kid_has_the_only_key_of_its_type() {
        let (a, b) = (SigningKey::ed(), SigningKey::ec());
        let find = async |keys: &[String], id, algorithm| Jwks::fixed(&jwks(keys)).find(id, algorithm).await.map(drop);
        let one_of_each = [a.jwk(""), b.jwk(r#""kid":"b","#)];
        assert_eq!(find(&one_of_each, None, Algorithm::EdDSA).await, Ok(()));
        assert_eq!(find(&one_of_each, None, Algorithm::ES256).await, Ok(()));
        assert_eq!(find(&one_of_each, None, Algorithm::RS256).await, Err(NoKey::Unknown));
        assert_eq!(find(&one_of_each, Some(""), Algorithm::EdDSA).await, Err(NoKey::Unknown));
        assert_eq!(find(&one_of_each, Some("b"), Algorithm::ES256).await, Ok(()));
        assert_eq!(find(&one_of_each, Some("b"), Algorithm::EdDSA).await, Err(NoKey::OtherAlgorithm));
        let two = [a.jwk(""), a.jwk(r#""kid":"a","#)];
        assert_eq!(find(&two, None, Algorithm::EdDSA).await, Err(NoKey::Unknown));
        assert_eq!(find(&two, Some("a"), Algorithm::EdDSA).await, Ok(()));
    }

    #[test]
    fn keys_come_by_https_or_from_this_machine() {
        for good in [
            "https://issuer.example/keys",
            "HTTPS://issuer.example",
            "http://127.0.0.1:9/k",
            "http://[::1]/k",
            "http://localhost/k",
            "http://[::ffff:127.0.0.1]/",
        ] {
            assert!(KeySource::url(good).is_ok(), "{good}");
        }
        for bad in [
            "",
            "issuer.example",
            "http://issuer.example/keys",
            "http://127.0.0.1.example/",
            "http://localhost.example/",
            "http://10.0.0.1/",
            "http://[::]/",
            "ftp://127.0.0.1/",
            "file:///keys",
            "https:",
        ] {
            assert!(KeySource::url(bad).is_err(), "{bad}");
        }
    }
}
