//! The accept loop: how connections are admitted, bounded, and let go.
//!
//! `axum::serve` limits neither the number of connections, nor the time a request head may take,
//! nor the silence of a peer, so the service drives hyper's HTTP/1.1 connections itself:
//!
//! * at most [`ConnectionLimits::max_connections`] are served; one more is answered 503 and closed, unless it asks for
//!   one of [`ConnectionLimits::always_served`];
//! * a request head, a silent peer, a peer that does not take its answer and a drain each have a deadline, kept by one
//!   timer per connection;
//! * a connection whose request was refused for overload is paused: see [`Pause`];
//! * at shutdown, what the kernel has accepted on our behalf is served before the listener closes;
//! * what hyper answers by itself (400, 414, 431) carries a problem document like every other answer;
//! * a request with two lengths, which hyper takes, is marked: see [`TwoLengths`];
//! * every answer has the headers that keep it from pages of other sites: see `SAFETY`;
//! * a closed connection has its last answer delivered: see `LINGER`;
//! * an accept error or a panic in one connection never ends the loop or another connection.
//!
//! hyper's own `header_read_timeout` stays off. It starts when hyper begins to wait for a head, not
//! at the head's first byte (`Conn::poll_read_head` in hyper 1.12), so it would also close every
//! idle keep-alive connection after that short time, behind the back of the client's pool.
//!
//! A peer that has sent whole requests and then closes its sending side is answered, as one that closes both sides cannot be told
//! from it until a write fails: see [`HalfClosed`]. One that closes in the middle of a request, or resets the connection, has
//! cancelled its request: hyper drops the handler's future then, as under `axum::serve`.

mod framing;

use std::convert::Infallible;
use std::future::{Future, poll_fn};
use std::io::{self, IoSlice, Write as _};
use std::mem::MaybeUninit;
use std::net::SocketAddr;
use std::pin::{Pin, pin};
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::Router;
use framing::Framing;
use hyper::Request;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use hyper::header::{HeaderName, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::{Service as _, service_fn};
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use socket2::SockRef;
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt as _, ReadBuf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::{JoinError, JoinSet};
use tokio::time::{Instant, sleep, sleep_until, timeout};

use crate::allowance::Allowance;

/// How long a connection that we have closed is still read from, and what arrives discarded.
///
/// Closing a socket with unread input makes the kernel send RST, and an RST can destroy an answer
/// that the peer has not read yet: a 413 to someone still uploading, a 431, the 503 of a full house.
const LINGER: Duration = Duration::from_secs(2);

/// How many connections beyond the limit may be looked at and linger at once; beyond it a refusal is written and dropped.
const MAX_LINGERING_REFUSALS: usize = 128;

/// How long a connection beyond the limit has for the first line of its request, and then for the whole of it.
const SPARE_PATIENCE: Duration = Duration::from_secs(1);

/// How long a drain waits for the rest of a request head, from its first byte or from the accept: whoever has just
/// connected is about to ask, and closing would lose a request that is on its way.
const HEAD_GRACE: Duration = Duration::from_secs(1);

/// The pause after an accept error that concerns the process (EMFILE, ENOMEM), not one peer.
const ACCEPT_RETRY: Duration = Duration::from_millis(100);

/// How long aborted connections get to drop what they hold. Only a handler that blocks its thread
/// needs longer, and the drain does not wait for such a one.
const ABORT_GRACE: Duration = Duration::from_secs(1);

/// Room for a query that names many keys of 512 bytes, percent-encoded. (hyper panics below 8 KiB.)
const LEAST_HEADER_BYTES: usize = 64 * 1024;

/// How often a peer that takes nothing, as far as the kernel says, is asked anew: see [`Wire::ask`].
const ASK: Duration = Duration::from_secs(1);

/// The part of the drain for which a peer may take nothing of its answer: clients that do not read do not hold the drain up.
const DRAIN_STALL: u32 = 4;

/// Times are cut to a year, so that `now + limit` cannot overflow on a setting that means "never".
const LONGEST: Duration = Duration::from_secs(365 * 24 * 3600);

/// What one listener and each of its connections may take.
#[derive(Debug, Clone, Copy)]
pub struct ConnectionLimits {
    /// Connections served at once. Those beyond get a 503 `overloaded` and never wait.
    pub max_connections: usize,
    /// From the first byte of a request head (for the first request: from the accept) to its end.
    pub header_read_timeout: Duration,
    /// A connection on which no byte moves in either direction for this long is closed without an
    /// answer: idle keep-alive, a half-sent body, a reader that stopped reading. A handler at work
    /// moves no byte either, so this must be longer than the longest request.
    pub idle_timeout: Duration,
    /// The [`Allowance`] of a peer that takes an answer: a connection that takes no byte of it for this long is reset,
    /// and one that takes fewer than `min_rate` bytes per second on average uses this time up.
    pub stall_timeout: Duration,
    /// Bytes per second.
    pub min_rate: usize,
    /// Paths that are served to `GET`, `HEAD` and `OPTIONS` on connections beyond `max_connections` too, one request each.
    pub always_served: &'static [&'static str],
    /// The request line and headers together; a larger head is 431. Taken as 64 KiB if smaller.
    /// It is also the size to which hyper's read and write buffers may grow, per connection.
    pub max_header_bytes: usize,
    /// From the shutdown signal until the connections that remain are aborted. In a drain, a peer may take no byte of its answer for
    /// a quarter of it at most.
    pub drain_deadline: Duration,
}

/// On every answer: its type is what it says, and pages of other origins may not embed it.
const SAFETY: [(&str, &str); 2] =
    [("x-content-type-options", "nosniff"), ("cross-origin-resource-policy", "same-origin")];

/// Put into the extensions of a request that came with both `Content-Length` and `Transfer-Encoding`; of the two, its
/// headers have only the latter. hyper closes the connection after the answer.
#[derive(Debug, Clone, Copy)]
pub struct TwoLengths;

/// Who is at the other end of a request's connection: among its extensions.
#[derive(Debug, Clone, Copy)]
pub struct Peer(pub SocketAddr);

/// Among the extensions of a request: whether its peer sends nothing more. It may still read, or may have gone: what waits for
/// something to happen, and sends nothing meanwhile, should end.
#[derive(Debug, Clone)]
pub struct HalfClosed(watch::Receiver<bool>);

impl HalfClosed {
    /// Resolves once the peer has closed its sending side. Cancel-safe.
    pub async fn wait(&mut self) {
        if self.0.wait_for(|closed| *closed).await.is_err() {
            // The connection is gone, and with it whoever waits here.
            std::future::pending().await
        }
    }
}

/// Told of every connection's coming and going, for the metrics. Called on the hot path: be quick.
///
/// `opened` and `closed` come in pairs, also if the connection's task panics, so that their
/// difference is the number of connections open now.
pub trait ConnectionObserver: Send + Sync + 'static {
    fn opened(&self) {}
    fn closed(&self) {}
    /// A connection beyond `max_connections` was turned away; it was neither opened nor closed.
    fn refused(&self) {}
}

/// Observes nothing.
impl ConnectionObserver for () {}

/// Writes the problem document of an answer that the accept loop or hyper gives by itself: from its status (400, 414,
/// 431 or 503) and a detail to a request id and the JSON text.
pub type Refusal = fn(status: u16, detail: &str) -> (String, String);

/// In the extensions of a response: the next request of its connection is left alone for so long before it is served.
///
/// For refusals. A client that comes back at once is slowed down, and does not cost the time that others need.
#[derive(Debug, Clone, Copy)]
pub struct Pause(pub Duration);

/// In the extensions of a response: its peer may take no byte of it for so long, instead of the
/// [`ConnectionLimits::stall_timeout`], and at any rate.
#[derive(Debug, Clone, Copy)]
pub struct Stall(pub Duration);

/// What became of the connections that were open when the shutdown began.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Drained {
    /// Ended by themselves in time: idle, or with their request answered.
    pub closed_cleanly: usize,
    /// Cut off at the deadline, or by a panic. A request among them may or may not have happened.
    pub aborted: usize,
}

/// Serves `router` on `listener` until `shutdown` resolves, then drains.
///
/// The drain accepts what waits to be accepted, closes the listener, and then at once every connection that is idle. One
/// that is new or in the middle of a request head gets [`HEAD_GRACE`]. Requests in service finish, with
/// `Connection: close`. What is left at `drain_deadline` is aborted, so this returns within about the deadline.
pub async fn serve(
    listener: TcpListener,
    router: Router,
    limits: ConnectionLimits,
    observer: Arc<dyn ConnectionObserver>,
    refusal: Refusal,
    shutdown: impl Future<Output = ()>,
) -> Drained {
    let (start_drain, drain) = watch::channel(false);
    let mut connections = JoinSet::new();
    let mut refusals = JoinSet::new();
    let mut shutdown = pin!(shutdown);
    let admit = |stream: TcpStream, connections: &mut JoinSet<()>, refusals: &mut JoinSet<()>| {
        let (router, drain) = (router.clone(), drain.clone());
        if connections.len() < limits.max_connections {
            let open = Open::new(observer.clone());
            connections.spawn(async move {
                let _open = open;
                connection(stream, router, limits, Reuse::KeepAlive, refusal, drain).await;
            });
        } else if refusals.len() < MAX_LINGERING_REFUSALS {
            refusals.spawn(spare(stream, router, limits, observer.clone(), refusal, drain));
        } else {
            observer.refused();
            refuse_and_drop(stream, refusal);
        }
    };

    loop {
        tokio::select! {
            biased;
            () = &mut shutdown => break,
            Some(ended) = connections.join_next() => { ended_by_itself(&ended); }
            Some(_) = refusals.join_next() => {}
            stream = accept(&listener) => {
                // Those that ended since the last turn must not be counted against a newcomer.
                while let Some(ended) = connections.try_join_next() {
                    ended_by_itself(&ended);
                }
                admit(stream, &mut connections, &mut refusals);
            }
        }
    }

    for stream in backlog(listener) {
        admit(stream, &mut connections, &mut refusals);
    }
    // They end within LINGER, and nothing of ours depends on them.
    refusals.detach_all();
    while let Some(ended) = connections.try_join_next() {
        ended_by_itself(&ended);
    }
    start_drain.send_replace(true);

    let mut drained = Drained { closed_cleanly: 0, aborted: 0 };
    let mut deadline = pin!(sleep(limits.drain_deadline));
    loop {
        tokio::select! {
            biased;
            ended = connections.join_next() => match ended {
                Some(ended) if ended_by_itself(&ended) => drained.closed_cleanly += 1,
                Some(_) => drained.aborted += 1,
                None => break,
            },
            () = &mut deadline => {
                drained.aborted += connections.len();
                tracing::warn!(aborted = connections.len(), "drain deadline reached");
                let _ = timeout(ABORT_GRACE, connections.shutdown()).await;
                break;
            }
        }
    }
    drained
}

/// The next connection. Errors are not the caller's: none of them says that the next accept fails.
async fn accept(listener: &TcpListener) -> TcpStream {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                // Without it an answer in two writes waits for the peer's delayed acknowledgement.
                if let Err(error) = stream.set_nodelay(true) {
                    tracing::debug!(%error, "TCP_NODELAY not set");
                }
                return stream;
            }
            Err(error) if is_of_the_peer(&error) => {}
            Err(error) => {
                tracing::error!(%error, "accept failed; retrying");
                sleep(ACCEPT_RETRY).await;
            }
        }
    }
}

/// The connections that the kernel has accepted on our behalf, to the last one; then the listener is closed. Without it
/// each of them would be reset, and the request that is on its way with it.
fn backlog(listener: TcpListener) -> impl Iterator<Item = TcpStream> {
    // Through std: tokio asks the kernel again only once it has been told of a newcomer. It is non-blocking still.
    let listener = listener.into_std().ok();
    std::iter::from_fn(move || {
        loop {
            match listener.as_ref()?.accept() {
                Ok((stream, _)) => {
                    let _ = stream.set_nodelay(true);
                    let stream = stream.set_nonblocking(true).and_then(|()| TcpStream::from_std(stream));
                    return stream.inspect_err(|error| tracing::error!(%error, "a connection is lost")).ok();
                }
                Err(error) if is_of_the_peer(&error) => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return None,
                Err(error) => {
                    tracing::error!(%error, "accept failed");
                    return None;
                }
            }
        }
    })
}

/// The peer had gone before we came to it.
fn is_of_the_peer(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset)
}

fn ended_by_itself(ended: &Result<(), JoinError>) -> bool {
    if let Err(error) = ended {
        // Not the error itself: it holds the payload of the panic, which may quote anything.
        tracing::error!(panicked = error.is_panic(), "connection task failed");
    }
    ended.is_ok()
}

/// Keeps the observer's pairs, whichever way the connection's task ends.
struct Open(Arc<dyn ConnectionObserver>);

impl Open {
    fn new(observer: Arc<dyn ConnectionObserver>) -> Self {
        observer.opened();
        Self(observer)
    }
}

impl Drop for Open {
    fn drop(&mut self) {
        self.0.closed();
    }
}

/// A connection beyond the limit: served once if it asks for what is always served, else refused.
async fn spare(
    stream: TcpStream,
    router: Router,
    limits: ConnectionLimits,
    observer: Arc<dyn ConnectionObserver>,
    refusal: Refusal,
    drain: watch::Receiver<bool>,
) {
    // Also because clients with a connection pool take an answer that comes before they have asked for a broken
    // connection.
    let asks = timeout(SPARE_PATIENCE, asks_for_one_of(&stream, limits.always_served)).await;
    if asks.unwrap_or(false) {
        let limits = ConnectionLimits { header_read_timeout: SPARE_PATIENCE, ..limits };
        connection(stream, router, limits, Reuse::Once, refusal, drain).await;
    } else {
        observer.refused();
        refuse(stream, refusal).await;
    }
}

/// Whether the first line of what arrives asks for one of the paths. Takes nothing off the stream.
async fn asks_for_one_of(stream: &TcpStream, paths: &[&str]) -> bool {
    const PAUSE: Duration = Duration::from_millis(10);
    let longest = paths.iter().map(|path| path.len()).max().unwrap_or(0);
    let mut start = vec![0; "OPTIONS ".len() + longest + 1];
    loop {
        let length = match stream.peek(&mut start).await {
            Ok(0) | Err(_) => return false,
            Ok(length) => length,
        };
        let line = &start[..length];
        let asked = [&b"GET "[..], b"HEAD ", b"OPTIONS "].iter().find_map(|method| line.strip_prefix(*method));
        if let Some(target) = asked
            && let Some(end) = target.iter().position(|byte| matches!(byte, b' ' | b'?'))
        {
            return paths.iter().any(|path| path.as_bytes() == &target[..end]);
        }
        if length == start.len() || line.contains(&b'\n') {
            return false;
        }
        // What is there can be peeked at again and again; the rest of the line is hardly ever in another packet.
        sleep(PAUSE).await;
    }
}

/// Answers 503 without having read the request, and sees to it that the answer arrives.
async fn refuse(mut stream: TcpStream, refusal: Refusal) {
    let answer = async {
        stream.write_all(overloaded(refusal).as_bytes()).await?;
        stream.shutdown().await?;
        tokio::io::copy(&mut stream, &mut tokio::io::sink()).await
    };
    let _ = timeout(LINGER, answer).await;
}

/// The refusal of last resort, for a flood: no task and no waiting, so the peer may see a reset.
fn refuse_and_drop(stream: TcpStream, refusal: Refusal) {
    // Through std, because tokio's `try_write` fails until the reactor has first seen the socket.
    // It is non-blocking still, and a new socket's buffer has room for the few bytes.
    let _ = stream.into_std().and_then(|mut stream| stream.write_all(overloaded(refusal).as_bytes()));
}

fn overloaded(refusal: Refusal) -> String {
    let head = "HTTP/1.1 503 Service Unavailable\r\nretry-after: 1\r\nconnection: close\r\n";
    with_problem(head, refusal(503, "all connections are taken; try again"))
}

/// `head` (up to, but without, the empty line) completed into an answer with a problem document.
fn with_problem(head: &str, (id, body): (String, String)) -> String {
    let length = body.len();
    let safety: String = SAFETY.iter().map(|(name, value)| format!("{name}: {value}\r\n")).collect();
    format!(
        "{head}{safety}content-type: application/problem+json\r\nx-request-id: {id}\r\ncontent-length: {length}\r\n\r\n{body}"
    )
}

/// How many requests a connection may bring.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Reuse {
    KeepAlive,
    Once,
}

/// One connection, from accept to close.
async fn connection(
    stream: TcpStream,
    router: Router,
    limits: ConnectionLimits,
    reuse: Reuse,
    refusal: Refusal,
    mut drain: watch::Receiver<bool>,
) {
    let pulse = Arc::new(Pulse::new(&limits));
    let peer = stream.peer_addr().ok().map(Peer);
    let router = TowerToHyperService::new(router);
    let service = service_fn({
        let pulse = pulse.clone();
        move |mut request: Request<Incoming>| {
            let turn = pulse.serve();
            if pulse.has_two_lengths(turn) {
                request.extensions_mut().insert(TwoLengths);
            }
            if let Some(peer) = peer {
                request.extensions_mut().insert(peer);
            }
            let mut half_closed = HalfClosed(pulse.half_closed.subscribe());
            request.extensions_mut().insert(half_closed.clone());
            let (pulse, router) = (pulse.clone(), router.clone());
            async move {
                if let Some(until) = pulse.paused() {
                    // Whoever sends nothing more, and may have gone, does not come back on this connection.
                    tokio::select! {
                        () = sleep_until(until) => {}
                        () = half_closed.wait() => {}
                    }
                }
                let mut answer = router.call(request).await?;
                pulse.pause(answer.extensions_mut().remove().map(|Pause(pause)| pause));
                if let Some(Stall(most)) = answer.extensions_mut().remove() {
                    pulse.beat(|beat| beat.allowance = Allowance::new(most.min(LONGEST), 1));
                }
                for (name, value) in SAFETY {
                    answer.headers_mut().insert(HeaderName::from_static(name), HeaderValue::from_static(value));
                }
                Ok::<_, Infallible>(answer.map(|body| Answer { body, pulse, turn }))
            }
        }
    });
    let framing = Framing::default();
    let io =
        TokioIo::new(Wire { stream, pulse: pulse.clone(), framing, own_answer: Vec::new(), refusal, has_room: false });
    let mut connection = pin!(
        http1::Builder::new()
            .header_read_timeout(None)
            .keep_alive(reuse == Reuse::KeepAlive)
            .max_buf_size(limits.max_header_bytes.max(LEAST_HEADER_BYTES))
            .serve_connection(io, service)
    );
    // An error means that `serve` itself was dropped; draining is right then, too.
    let mut drain = pin!(async move { drain.wait_for(|draining| *draining).await.is_ok() });
    let (mut draining, mut finishing) = (false, false);
    let mut timer = pin!(sleep_until(pulse.deadline()));

    // One poll function rather than a `select!`: hyper must be polled first, to take in a request
    // that has already arrived before we look whether there is one, and its reads and writes move
    // the deadline.
    let ended = poll_fn(|cx| {
        if let Poll::Ready(result) = connection.as_mut().poll(cx) {
            return Poll::Ready(result.map_err(|error| error.to_string()));
        }
        if !draining && drain.as_mut().poll(cx).is_ready() {
            draining = true;
            pulse.drain();
        }
        if draining && !finishing {
            match pulse.phase() {
                Phase::Quiet => return Poll::Ready(Ok(())),
                // hyper would close it here and now; so the deadline does, after `HEAD_GRACE`.
                Phase::Head { .. } => {}
                Phase::Serving { .. } | Phase::Flushing | Phase::Closing { .. } => {
                    finishing = true;
                    connection.as_mut().graceful_shutdown();
                    cx.waker().wake_by_ref();
                }
            }
        }
        // Activity moves the deadline later far more often than sooner. The timer follows only the
        // latter, and looks again when it fires, so that a busy connection hardly ever sets it.
        let due = pulse.due();
        if due < timer.deadline() {
            timer.as_mut().reset(due);
        }
        while timer.as_mut().poll(cx).is_ready() {
            let now = Instant::now();
            if pulse.deadline() <= now {
                return Poll::Ready(Err(format!("timed out in {:?}", pulse.phase())));
            }
            if pulse.is_blocked() {
                // hyper then writes what is left, which asks the peer anew.
                cx.waker().wake_by_ref();
                timer.as_mut().reset(pulse.deadline().min(now + ASK));
            } else {
                timer.as_mut().reset(pulse.deadline());
            }
        }
        Poll::Pending
    })
    .await;
    if let Err(error) = ended {
        tracing::debug!(error, "connection closed");
    }
}

/// Where a connection is in the cycle of head, handler and answer.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// Nothing is owed to the peer, and nothing has come from it since the last answer.
    Quiet,
    /// Waiting for the rest of a request head.
    Head { since: Instant },
    /// From the call of the service until the answer's body is used up.
    Serving { turn: u64 },
    /// The answer is complete, but a part of it is still in hyper's buffer.
    Flushing,
    /// Our side is shut down; see [`LINGER`].
    Closing { since: Instant },
}

/// What the wire, the service and the answer's body know together: the phase, and when a byte last
/// moved. All are polled by the connection's one task, so the lock is never contended.
struct Pulse {
    header_read_timeout: Duration,
    idle_timeout: Duration,
    /// That of each answer at its beginning.
    allowance: Allowance,
    /// For how long a peer may take nothing in a drain.
    drain_stall: Duration,
    beat: Mutex<Beat>,
    half_closed: watch::Sender<bool>,
}

#[derive(Clone, Copy)]
struct Beat {
    phase: Phase,
    /// Requests so far.
    turns: u64,
    moved: Instant,
    /// The turn of the request that has two lengths, once it has come in; there is one at most.
    two_lengths: Option<u64>,
    /// How long the peer may take no byte of the present answer.
    allowance: Allowance,
    /// Since when it takes none, if it does not.
    blocked: Option<Instant>,
    /// When it was last asked whether it takes any, while it does not.
    asked: Instant,
    /// Until when the next request is left alone.
    paused: Option<Instant>,
    /// Since when the server stops, if it does.
    draining: Option<Instant>,
}

impl Pulse {
    fn new(limits: &ConnectionLimits) -> Self {
        let now = Instant::now();
        let allowance = Allowance::new(limits.stall_timeout.min(LONGEST), limits.min_rate);
        let beat = Beat {
            phase: Phase::Head { since: now },
            turns: 0,
            moved: now,
            allowance,
            blocked: None,
            asked: now,
            paused: None,
            draining: None,
            two_lengths: None,
        };
        Self {
            header_read_timeout: limits.header_read_timeout.min(LONGEST),
            idle_timeout: limits.idle_timeout.min(LONGEST),
            allowance,
            drain_stall: limits.drain_deadline.min(LONGEST) / DRAIN_STALL,
            beat: Mutex::new(beat),
            half_closed: watch::channel(false).0,
        }
    }

    fn beat<T>(&self, change: impl FnOnce(&mut Beat) -> T) -> T {
        change(&mut self.beat.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn read(&self) {
        let now = Instant::now();
        self.beat(|beat| {
            beat.moved = now;
            // A pipelined head that came along with its predecessor is noticed at its next byte
            // only; until then the idle timeout has it.
            if beat.phase == Phase::Quiet {
                beat.phase = Phase::Head { since: now };
            }
        });
    }

    fn wrote(&self, bytes: usize) {
        let now = Instant::now();
        self.beat(|beat| {
            beat.moved = now;
            let waited = beat.blocked.take().map_or(Duration::ZERO, |since| now - since);
            beat.allowance.settle(waited, bytes);
        });
    }

    /// There is something to write, and the peer does not take it.
    fn blocked(&self) {
        let now = Instant::now();
        self.beat(|beat| {
            if beat.blocked.is_none() {
                (beat.blocked, beat.asked) = (Some(now), now);
            }
        });
    }

    /// Whether a peer that takes nothing is to be asked again, which this notes.
    fn may_ask(&self) -> bool {
        let now = Instant::now();
        self.beat(|beat| {
            let is_due = beat.blocked.is_some() && now >= beat.asked + ASK;
            if is_due {
                beat.asked = now;
            }
            is_due
        })
    }

    fn is_blocked(&self) -> bool {
        self.beat(|beat| beat.blocked.is_some())
    }

    /// Until when the request that has begun is to be left alone.
    fn paused(&self) -> Option<Instant> {
        self.beat(|beat| beat.paused.take())
    }

    fn pause(&self, pause: Option<Duration>) {
        self.beat(|beat| beat.paused = pause.map(|pause| Instant::now() + pause.min(LONGEST)));
    }

    fn drain(&self) {
        let now = Instant::now();
        self.beat(|beat| beat.draining = beat.draining.or(Some(now)));
    }

    fn enter(&self, phase: Phase) {
        self.beat(|beat| beat.phase = phase);
    }

    /// A request begins; the turn is what tells its answer from another's.
    fn serve(&self) -> u64 {
        self.beat(|beat| {
            beat.turns += 1;
            beat.allowance = self.allowance;
            beat.phase = Phase::Serving { turn: beat.turns };
            beat.turns
        })
    }

    fn has_two_lengths(&self, turn: u64) -> bool {
        self.beat(|beat| beat.two_lengths == Some(turn))
    }

    /// hyper is done with the body of an answer. It may keep a body whose declared length is
    /// written until after it has called the service again; that one changes nothing any more.
    fn answered(&self, turn: u64) {
        self.beat(|beat| {
            if beat.phase == (Phase::Serving { turn }) {
                beat.phase = Phase::Flushing;
            }
        });
    }

    fn flushed(&self) {
        self.beat(|beat| {
            if beat.phase == Phase::Flushing {
                beat.phase = Phase::Quiet;
            }
        });
    }

    fn phase(&self) -> Phase {
        self.beat(|beat| beat.phase)
    }

    /// When the connection is to be looked at again, if nothing happens before.
    fn due(&self) -> Instant {
        let deadline = self.deadline();
        let ask = self.beat(|beat| beat.blocked.map(|_| beat.asked + ASK));
        ask.map_or(deadline, |ask| deadline.min(ask))
    }

    /// A request was taken, and its answer has not left as a whole.
    fn owes_answer(&self) -> bool {
        matches!(self.phase(), Phase::Serving { .. } | Phase::Flushing)
    }

    fn is_between_requests(&self) -> bool {
        matches!(self.phase(), Phase::Quiet | Phase::Head { .. })
    }

    fn deadline(&self) -> Instant {
        let Beat { phase, moved, allowance, blocked, draining, .. } = self.beat(|beat| *beat);
        let idle = moved + self.idle_timeout;
        match phase {
            Phase::Quiet => idle,
            Phase::Serving { .. } | Phase::Flushing => blocked.map_or(idle, |since| {
                let in_drain = draining.map(|begun| begun.max(since) + self.drain_stall);
                idle.min(since + allowance.left()).min(in_drain.unwrap_or(idle))
            }),
            Phase::Head { since } if draining.is_some() => idle.min(since + self.header_read_timeout.min(HEAD_GRACE)),
            Phase::Head { since } => idle.min(since + self.header_read_timeout),
            Phase::Closing { since } => since + LINGER,
        }
    }
}

/// An answer's body that tells the pulse when hyper is done with it.
struct Answer {
    body: axum::body::Body,
    pulse: Arc<Pulse>,
    turn: u64,
}

impl Drop for Answer {
    fn drop(&mut self) {
        self.pulse.answered(self.turn);
    }
}

impl Body for Answer {
    type Data = <axum::body::Body as Body>::Data;
    type Error = <axum::body::Body as Body>::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Self::Data>, Self::Error>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// The socket, as hyper sees it.
struct Wire {
    stream: TcpStream,
    pulse: Arc<Pulse>,
    framing: Framing,
    /// What is still to be written instead of an answer of hyper's own.
    own_answer: Vec<u8>,
    refusal: Refusal,
    /// The kernel took something although it had not said that there is room.
    has_room: bool,
}

impl Wire {
    /// Writes, although the kernel has not said that there is room again. Linux says so when a third of the socket's buffer is free,
    /// which may have grown to megabytes: a peer that takes some KiB a second would seem to take nothing for minutes. But it takes
    /// what there is room for.
    fn ask(&mut self, written: Poll<io::Result<usize>>, bufs: &[IoSlice<'_>]) -> Poll<io::Result<usize>> {
        if written.is_pending() && (self.has_room || self.pulse.may_ask()) {
            let sent = SockRef::from(&self.stream).send_vectored(bufs);
            // As long as it takes something, the rest is asked for at once.
            self.has_room = sent.is_ok();
            if let Ok(bytes) = sent {
                return Poll::Ready(Ok(bytes));
            }
        }
        written
    }

    /// Notes what came of a write.
    fn wrote(&self, written: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        match &written {
            Poll::Ready(Ok(bytes)) => self.pulse.wrote(*bytes),
            Poll::Ready(Err(_)) => {}
            Poll::Pending => self.pulse.blocked(),
        }
        written
    }
}

impl Drop for Wire {
    /// What the peer does not take goes with the connection: else the kernel would keep it, for minutes.
    fn drop(&mut self) {
        if self.pulse.is_blocked() {
            let _ = self.stream.set_zero_linger();
        }
    }
}

impl AsyncRead for Wire {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        ready!(Pin::new(&mut self.stream).poll_read(cx, buf))?;
        if buf.filled().len() == before && buf.remaining() > 0 && self.pulse.owes_answer() && self.framing.is_whole() {
            // hyper would take it for the end of the connection. It comes to see it behind the answer, whose flush wakes it.
            self.pulse.half_closed.send_replace(true);
            return Poll::Pending;
        }
        if buf.filled().len() > before {
            self.pulse.read();
            if let Some(turn) = self.framing.read(&buf.filled()[before..]) {
                self.pulse.beat(|beat| beat.two_lengths = Some(turn));
            }
        }
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Wire {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
        if self.pulse.is_between_requests()
            && let Some(answer) = refusal_of_head(buf, self.refusal)
        {
            // Taken whole, so hyper's next call is a flush, and that writes the replacement.
            self.own_answer = answer.into_bytes();
            self.pulse.enter(Phase::Flushing);
            return Poll::Ready(Ok(buf.len()));
        }
        let written = Pin::new(&mut self.stream).poll_write(cx, buf);
        let written = self.ask(written, &[IoSlice::new(buf)]);
        self.wrote(written)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        if self.pulse.is_between_requests() {
            let first = bufs.iter().find(|buf| !buf.is_empty());
            return self.poll_write(cx, first.map_or(&[], |buf| &**buf));
        }
        let written = Pin::new(&mut self.stream).poll_write_vectored(cx, bufs);
        let written = self.ask(written, bufs);
        self.wrote(written)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    /// hyper flushes the wire only once its own buffer is empty (`Buffered::poll_flush`), and so
    /// tells us that an answer has left.
    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let wire = &mut *self;
        while !wire.own_answer.is_empty() {
            let written = Pin::new(&mut wire.stream).poll_write(cx, &wire.own_answer);
            let written = ready!(wire.wrote(written))?;
            if written == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            wire.own_answer.drain(..written);
        }
        ready!(Pin::new(&mut wire.stream).poll_flush(cx))?;
        wire.pulse.flushed();
        if *wire.pulse.half_closed.borrow() && !wire.pulse.owes_answer() {
            cx.waker().wake_by_ref();
        }
        Poll::Ready(Ok(()))
    }

    /// Shuts down our side, then reads until the peer closes its own. Time is bounded by the pulse.
    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        ready!(self.as_mut().poll_flush(cx))?;
        let Self { stream, pulse, .. } = &mut *self;
        let mut stream = Pin::new(stream);
        // Never pending on a TCP socket, and an error if repeated after the peer has gone.
        if !matches!(pulse.phase(), Phase::Closing { .. }) {
            let since = Instant::now();
            pulse.enter(Phase::Closing { since });
            ready!(stream.as_mut().poll_shutdown(cx))?;
        }
        let mut scratch = [MaybeUninit::uninit(); 4096];
        loop {
            let mut discarded = ReadBuf::uninit(&mut scratch);
            ready!(stream.as_mut().poll_read(cx, &mut discarded))?;
            if discarded.filled().is_empty() {
                return Poll::Ready(Ok(()));
            }
        }
    }
}

/// What to write instead of `written`, if that is hyper's answer to a head that it cannot parse.
///
/// hyper offers no hook for these answers. They are told by three signs: written while no request
/// is in service, complete in one write (hyper writes all heads so, and these have no body), and of
/// one of the statuses of hyper's `Server::on_error`. Anything else goes out unchanged.
fn refusal_of_head(written: &[u8], refusal: Refusal) -> Option<String> {
    let head = str::from_utf8(written).ok()?.strip_suffix("\r\n\r\n")?;
    let (status, detail) = match head.strip_prefix("HTTP/1.")?.get(2..5)? {
        "400" => (400, "the request head is not valid HTTP/1.1"),
        "414" => (414, "the request's URI is too long"),
        "431" => (431, "the request head is too large or has too many fields"),
        _ => return None,
    };
    // hyper's status line, `Date` and `Connection` stay true.
    let mut kept = String::new();
    for line in head.split("\r\n").filter(|line| !line.starts_with("content-length:")) {
        kept.push_str(line);
        kept.push_str("\r\n");
    }
    Some(with_problem(&kept, refusal(status, detail)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::{
        net::SocketAddr,
        sync::atomic::{AtomicUsize, Ordering},
    };

    use axum::{body::Bytes, routing};
    use futures_util::stream;
    use tokio::{
        io::AsyncReadExt as _,
        sync::{Notify, oneshot},
        task::JoinHandle,
    };

    const NEVER: Duration = Duration::MAX;
    const GET: &str = "GET / HTTP/1.1\r\nhost: a\r\n\r\n";

    fn generous() -> ConnectionLimits {
        ConnectionLimits {
            max_connections: 100,
            header_read_timeout: NEVER,
            idle_timeout: NEVER,
            stall_timeout: NEVER,
            min_rate: 1,
            always_served: &[],
            max_header_bytes: 128 * 1024,
            drain_deadline: NEVER,
        }
    }

    #[derive(Default)]
    struct Counts {
        opened: AtomicUsize,
        closed: AtomicUsize,
        refused: AtomicUsize,
    }

    impl ConnectionObserver for Counts {
        fn opened(&self) {
            self.opened.fetch_add(1, Ordering::SeqCst);
        }
        fn closed(&self) {
            self.closed.fetch_add(1, Ordering::SeqCst);
        }
        fn refused(&self) {
            self.refused.fetch_add(1, Ordering::SeqCst);
        }
    }

    struct Running {
        address: SocketAddr,
        counts: Arc<Counts>,
        stop: oneshot::Sender<()>,
        served: JoinHandle<Drained>,
    }

    async fn start(router: Router, limits: ConnectionLimits) -> Running {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let (stop, stopped) = oneshot::channel();
        let counts = Arc::<Counts>::default();
        let served = tokio::spawn(serve(listener, router, limits, counts.clone(), crate::http::refusal, async {
            let _ = stopped.await;
        }));
        Running { address, counts, stop, served }
    }

    impl Running {
        async fn connect(&self) -> TcpStream {
            TcpStream::connect(self.address).await.unwrap()
        }

        async fn until_closed(&self, connections: usize) {
            while self.counts.closed.load(Ordering::SeqCst) < connections {
                sleep(Duration::from_millis(5)).await;
            }
        }

        async fn stop(self) -> Drained {
            self.stop.send(()).unwrap();
            soon(self.served).await.unwrap()
        }
    }

    /// Turns a hang into a failure.
    async fn soon<F: Future>(future: F) -> F::Output {
        timeout(Duration::from_secs(20), future).await.expect("hangs")
    }

    async fn send(stream: &mut TcpStream, text: &str) {
        soon(stream.write_all(text.as_bytes())).await.unwrap();
    }

    /// Everything until the server closes.
    async fn rest(stream: &mut TcpStream) -> String {
        let mut text = String::new();
        soon(stream.read_to_string(&mut text)).await.unwrap();
        text
    }

    /// One answer with a content length, on a connection that stays open.
    async fn answer(stream: &mut TcpStream) -> String {
        let mut text = String::new();
        loop {
            let mut byte = [0];
            soon(stream.read_exact(&mut byte)).await.unwrap();
            text.push(char::from(byte[0]));
            if let Some(at) = text.find("\r\n\r\n") {
                let length = text.split("content-length: ").nth(1).unwrap();
                let length: usize = length.split("\r\n").next().unwrap().parse().unwrap();
                if text.len() == at + 4 + length {
                    return text;
                }
            }
        }
    }

    fn hello() -> Router {
        Router::new().route("/", routing::get(async || "hello"))
    }

    /// `/` answers once the second notify is notified, and notifies the first when it has begun.
    fn gated() -> (Router, Arc<Notify>, Arc<Notify>) {
        let (begun, gate) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
        let (tell, wait) = (begun.clone(), gate.clone());
        let handler = async move || {
            tell.notify_one();
            wait.notified().await;
            "done"
        };
        (Router::new().route("/", routing::get(handler)), begun, gate)
    }

    /// `POST /` answers the length of its body, and notifies when it has begun.
    fn upload() -> (Router, Arc<Notify>) {
        let begun = Arc::new(Notify::new());
        let tell = begun.clone();
        let handler = async move |body: axum::body::Body| {
            tell.notify_one();
            #[expect(clippy::disallowed_methods, reason = "the body is this test's own, and small")]
            let body = axum::body::to_bytes(body, usize::MAX).await;
            body.map_or_else(|error| error.to_string(), |body| body.len().to_string())
        };
        (Router::new().route("/", routing::post(handler)), begun)
    }

    #[track_caller]
    fn assert_problem(text: &str, status: &str, code: &str) {
        let (head, body) = text.split_once("\r\n\r\n").unwrap_or_else(|| panic!("{text:?}"));
        assert!(head.starts_with(&format!("HTTP/1.1 {status}")), "{text}");
        assert!(head.contains("content-type: application/problem+json"), "{text}");
        assert!(head.contains("connection: close"), "{text}");
        for (name, value) in SAFETY {
            assert!(head.contains(&format!("{name}: {value}")), "{text}");
        }
        assert!(head.contains(&format!("content-length: {}", body.len())), "{text}");
        assert_eq!(head.matches("content-length").count(), 1, "{text}");
        assert!(body.starts_with('{') && body.ends_with("}\n"), "{text}");
        assert!(body.contains(&format!(r#""code":"{code}""#)), "{text}");
        assert!(body.contains(&format!(r#""status":{}"#, &status[..3])), "{text}");
        assert!(body.contains(r#""outcome":"not_applied""#), "{text}");
    }

    #[tokio::test]
    async fn whoever_has_sent_whole_requests_and_closes_its_sending_side_is_answered() {
        let (router, begun, gate) = gated();
        let (uploads, _) = upload();
        let server = start(
            router.merge(Router::new().nest("/up", uploads)).route("/fast", routing::get(async || "fast")),
            generous(),
        )
        .await;
        // At once, with requests behind it, with a body of either kind, and while it is worked on.
        let fast = "GET /fast HTTP/1.1\r\nhost: a\r\n\r\n";
        let long = "POST /up HTTP/1.1\r\nhost: a\r\ncontent-length: 3\r\n\r\nabc";
        let chunked = "POST /up HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n";
        for (requests, answers) in [
            (fast.to_owned(), 1),
            (fast.repeat(3), 3),
            (long.repeat(2), 2),
            (chunked.repeat(2), 2),
            (chunked.to_owned() + fast, 2),
        ] {
            for _ in 0..20 {
                let mut stream = server.connect().await;
                send(&mut stream, &requests).await;
                stream.shutdown().await.unwrap();
                let text = rest(&mut stream).await;
                assert_eq!(text.matches("HTTP/1.1 200").count(), answers, "{requests:?}: {text}");
            }
        }
        let mut stream = server.connect().await;
        send(&mut stream, GET).await;
        soon(begun.notified()).await;
        stream.shutdown().await.unwrap();
        sleep(Duration::from_millis(50)).await;
        gate.notify_one();
        assert!(rest(&mut stream).await.ends_with("done"));
        // It has no request that is not whole.
        let mut stream = server.connect().await;
        send(&mut stream, &long[..long.len() - 1]).await;
        stream.shutdown().await.unwrap();
        assert!(!rest(&mut stream).await.ends_with("\r\n\r\n3"));
        let opened = server.counts.opened.load(Ordering::SeqCst);
        soon(server.until_closed(opened)).await;
    }

    #[tokio::test]
    async fn a_handler_hears_that_its_peer_sends_nothing_more() {
        let handler = async |request: Request<axum::body::Body>| {
            let mut closed = request.extensions().get::<HalfClosed>().cloned().expect("told of every request");
            closed.wait().await;
            "heard"
        };
        let server = start(Router::new().route("/", routing::get(handler)), generous()).await;
        let mut stream = server.connect().await;
        send(&mut stream, GET).await;
        sleep(Duration::from_millis(50)).await;
        stream.shutdown().await.unwrap();
        assert!(rest(&mut stream).await.ends_with("heard"));
    }

    #[tokio::test]
    async fn serves_many_requests_on_a_connection() {
        let router = Router::new().route("/", routing::get(async || "here"));
        let server = start(router, generous()).await;
        let mut stream = server.connect().await;
        for _ in 0..3 {
            send(&mut stream, GET).await;
            assert!(answer(&mut stream).await.ends_with("here"));
        }
        let counts = server.counts.clone();
        assert_eq!(server.stop().await, Drained { closed_cleanly: 1, aborted: 0 });
        assert_eq!(counts.opened.load(Ordering::SeqCst), 1);
        assert_eq!(counts.closed.load(Ordering::SeqCst), 1);
    }

    #[tokio::test]
    async fn a_head_must_arrive_in_time_even_if_it_trickles() {
        let limits = ConnectionLimits { header_read_timeout: Duration::from_millis(300), ..generous() };
        let server = start(hello(), limits).await;

        let mut silent = server.connect().await;
        assert_eq!(rest(&mut silent).await, "");

        let mut half = server.connect().await;
        send(&mut half, "GET / HTTP/1.1\r\nhos").await;
        assert_eq!(rest(&mut half).await, "");

        let mut second = server.connect().await;
        send(&mut second, GET).await;
        answer(&mut second).await;
        sleep(Duration::from_millis(500)).await;
        soon(async {
            while second.write_all(b"G").await.is_ok() {
                sleep(Duration::from_millis(10)).await;
            }
        })
        .await;
    }

    #[tokio::test]
    async fn idle_keep_alive_outlives_the_head_timeout() {
        let limits = ConnectionLimits { header_read_timeout: Duration::from_millis(500), ..generous() };
        let server = start(hello(), limits).await;
        let mut stream = server.connect().await;
        for _ in 0..2 {
            send(&mut stream, GET).await;
            assert!(answer(&mut stream).await.ends_with("hello"));
            sleep(Duration::from_millis(700)).await;
        }
        send(&mut stream, GET).await;
        assert!(answer(&mut stream).await.ends_with("hello"));
    }

    fn impatient() -> ConnectionLimits {
        ConnectionLimits { idle_timeout: Duration::from_millis(150), ..generous() }
    }

    #[tokio::test]
    async fn idle_keep_alive_is_closed() {
        let server = start(hello(), impatient()).await;
        let mut stream = server.connect().await;
        send(&mut stream, GET).await;
        assert!(rest(&mut stream).await.ends_with("hello"));
    }

    #[tokio::test]
    async fn a_half_sent_body_is_closed_when_silent() {
        let (router, begun) = upload();
        let server = start(router, impatient()).await;
        let mut stream = server.connect().await;
        send(&mut stream, "POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 10\r\n\r\nhalf").await;
        soon(begun.notified()).await;
        assert_eq!(rest(&mut stream).await, "");
    }

    #[tokio::test]
    async fn a_reader_that_stops_is_closed() {
        let (alive, dead) = oneshot::channel::<()>();
        let alive = Arc::new(Mutex::new(Some(alive)));
        let router = Router::new().route(
            "/",
            routing::get(async move || {
                let alive = alive.lock().unwrap().take();
                axum::body::Body::from_stream(stream::repeat_with(move || {
                    let _ = &alive;
                    Ok::<_, Infallible>(Bytes::from_static(&[b'x'; 4096]))
                }))
            }),
        );
        let server = start(router, impatient()).await;
        let mut stream = server.connect().await;
        send(&mut stream, GET).await;
        assert!(soon(dead).await.is_err(), "the answer's stream is dropped with its connection");
    }

    /// `GET /` answers more than any buffer holds.
    fn endless() -> Router {
        let body = || {
            let bytes = stream::repeat_with(|| Ok::<_, Infallible>(Bytes::from_static(&[b'x'; 4096])));
            axum::body::Body::from_stream(bytes)
        };
        Router::new().route("/", routing::get(async move || body()))
    }

    #[tokio::test]
    async fn a_reader_that_trickles_is_closed() {
        let limits = ConnectionLimits { stall_timeout: Duration::from_millis(300), min_rate: usize::MAX, ..generous() };
        let server = start(endless(), limits).await;
        let mut stream = server.connect().await;
        send(&mut stream, GET).await;
        let mut some = vec![0; 1 << 16];
        soon(async {
            while stream.read(&mut some).await.is_ok_and(|length| length > 0) {
                sleep(Duration::from_millis(10)).await;
            }
        })
        .await;
        soon(server.until_closed(1)).await;
    }

    /// A connection whose client takes little at a time, of which its kernel tells the server at once.
    async fn narrow(server: &Running) -> TcpStream {
        let socket = tokio::net::TcpSocket::new_v4().unwrap();
        socket.set_recv_buffer_size(4096).unwrap();
        socket.connect(server.address).await.unwrap()
    }

    /// The kernel says that there is room when a third of its buffer is free, which is a megabyte or more.
    #[tokio::test]
    async fn a_reader_of_little_who_is_steady_is_not_closed() {
        let limits = ConnectionLimits { stall_timeout: Duration::from_secs(4), min_rate: 8 << 10, ..generous() };
        let server = start(endless(), limits).await;
        let mut stream = narrow(&server).await;
        send(&mut stream, GET).await;
        let mut some = vec![0; 8 << 10];
        for _ in 0..48 {
            sleep(Duration::from_millis(250)).await;
            soon(stream.read_exact(&mut some)).await.unwrap();
        }
        // It is sent more than the buffers held when it began.
        let mut more = vec![0; 16 << 20];
        soon(stream.read_exact(&mut more)).await.unwrap();
        assert_eq!(server.counts.closed.load(Ordering::SeqCst), 0);
    }

    #[tokio::test]
    async fn a_drain_does_not_wait_for_who_takes_nothing() {
        let limits = ConnectionLimits { drain_deadline: Duration::from_secs(8), ..generous() };
        let server = start(endless(), limits).await;
        let mut streams = Vec::new();
        for _ in 0..2 {
            let mut stream = narrow(&server).await;
            send(&mut stream, GET).await;
            soon(stream.readable()).await.unwrap();
            streams.push(stream);
        }
        assert_eq!(server.stop().await, Drained { closed_cleanly: 2, aborted: 0 });
    }

    #[tokio::test]
    async fn a_reader_that_is_fast_enough_is_not_closed() {
        let limits = ConnectionLimits { stall_timeout: Duration::from_secs(10), min_rate: 1, ..generous() };
        let server = start(endless(), limits).await;
        let mut stream = server.connect().await;
        send(&mut stream, GET).await;
        let mut some = vec![0; 1 << 20];
        for _ in 0..64 {
            soon(stream.read_exact(&mut some)).await.unwrap();
        }
    }

    /// `GET /` counts itself and asks for a pause.
    fn pausing(pause: Duration) -> (Router, Arc<AtomicUsize>) {
        let count = Arc::new(AtomicUsize::new(0));
        let counted = count.clone();
        let handler = async move || {
            counted.fetch_add(1, Ordering::SeqCst);
            (axum::Extension(Pause(pause)), "hello")
        };
        (Router::new().route("/", routing::get(handler)), count)
    }

    #[tokio::test]
    async fn a_paused_connection_holds_up_itself_only() {
        let (router, count) = pausing(NEVER);
        let server = start(router, generous()).await;
        let mut paused = server.connect().await;
        send(&mut paused, GET).await;
        assert!(answer(&mut paused).await.ends_with("hello"), "the pause comes after the answer");
        send(&mut paused, GET).await;
        for n in 0..10 {
            let mut other = server.connect().await;
            send(&mut other, GET).await;
            assert!(answer(&mut other).await.ends_with("hello"));
            assert_eq!(count.load(Ordering::SeqCst), n + 2, "the second request is left alone");
        }
        // It is gone with its client.
        drop(paused);
        soon(server.until_closed(11)).await;
    }

    #[tokio::test]
    async fn a_pause_ends() {
        let (router, count) = pausing(Duration::from_millis(20));
        let server = start(router, generous()).await;
        let mut stream = server.connect().await;
        send(&mut stream, &format!("{GET}{GET}{GET}")).await;
        for _ in 0..3 {
            assert!(answer(&mut stream).await.ends_with("hello"));
        }
        assert_eq!(count.load(Ordering::SeqCst), 3);
    }

    #[tokio::test]
    async fn a_slow_but_steady_body_is_not_idle() {
        let (router, _) = upload();
        let limits = ConnectionLimits { idle_timeout: Duration::from_millis(1000), ..generous() };
        let server = start(router, limits).await;
        let mut stream = server.connect().await;
        send(&mut stream, "POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 15\r\n\r\n").await;
        for _ in 0..15 {
            sleep(Duration::from_millis(100)).await;
            send(&mut stream, "x").await;
        }
        assert!(answer(&mut stream).await.ends_with("15"));
    }

    #[tokio::test]
    async fn one_too_many_is_told_so_and_room_comes_back() {
        let server = start(hello(), ConnectionLimits { max_connections: 1, ..generous() }).await;
        let mut first = server.connect().await;
        send(&mut first, GET).await;
        answer(&mut first).await;

        // Input that the server leaves unread must not destroy the answer.
        // The pauses let a reset, if there is one, come before the next write.
        let part = "x".repeat(100_000);
        for _ in 0..5 {
            let mut refused = server.connect().await;
            send(&mut refused, "POST / HTTP/1.1\r\ncontent-length: 300000\r\n\r\n").await;
            for _ in 0..3 {
                sleep(Duration::from_millis(20)).await;
                send(&mut refused, &part).await;
            }
            let text = rest(&mut refused).await;
            assert_problem(&text, "503 Service Unavailable", "overloaded");
            assert!(text.contains("retry-after: 1\r\n"), "{text}");
        }
        assert_eq!(server.counts.refused.load(Ordering::SeqCst), 5);
        assert_eq!(server.counts.opened.load(Ordering::SeqCst), 1);

        drop(first);
        soon(async {
            loop {
                let mut next = server.connect().await;
                send(&mut next, GET).await;
                if answer(&mut next).await.ends_with("hello") {
                    break;
                }
            }
        })
        .await;
    }

    #[tokio::test]
    async fn a_flood_beyond_the_lingering_refusals_is_answered_too() {
        let server = start(hello(), ConnectionLimits { max_connections: 0, ..generous() }).await;
        let mut flood = Vec::new();
        for _ in 0..MAX_LINGERING_REFUSALS + 20 {
            flood.push(server.connect().await);
        }
        for mut refused in flood {
            assert_problem(&rest(&mut refused).await, "503", "overloaded");
        }
    }

    #[tokio::test]
    async fn an_answer_to_an_unread_upload_arrives() {
        let server = start(hello(), generous()).await;
        for _ in 0..5 {
            let mut stream = server.connect().await;
            let part = "x".repeat(1_000_000);
            let length = 3 * part.len();
            send(&mut stream, &format!("POST / HTTP/1.1\r\ncontent-length: {length}\r\n\r\n")).await;
            for _ in 0..3 {
                sleep(Duration::from_millis(20)).await;
                send(&mut stream, &part).await;
            }
            assert!(rest(&mut stream).await.starts_with("HTTP/1.1 405"));
        }
    }

    #[tokio::test]
    async fn a_peer_that_never_closes_does_not_hold_its_connection() {
        let server = start(hello(), generous()).await;
        let mut stream = server.connect().await;
        send(&mut stream, "GET / HTTP/1.1\r\nconnection: close\r\n\r\n").await;
        assert!(rest(&mut stream).await.ends_with("hello"));
        soon(server.until_closed(1)).await;
    }

    #[tokio::test]
    async fn heads_that_hyper_refuses_get_a_problem_document() {
        let server = start(hello(), generous()).await;
        let large = format!("GET / HTTP/1.1\r\na: {}\r\n\r\n", "x".repeat(200_000));
        let many = format!("GET / HTTP/1.1\r\n{}\r\n", "a: b\r\n".repeat(200));
        let long = format!("GET /{} HTTP/1.1\r\n\r\n", "x".repeat(70_000));
        for (head, status, code) in [
            ("garbage\r\n\r\n", "400 Bad Request", "invalid_request"),
            ("GET / HTTP/1.1\r\nno colon\r\n\r\n", "400 Bad Request", "invalid_request"),
            ("GET /\0 HTTP/1.1\r\n\r\n", "400 Bad Request", "invalid_request"),
            (&large, "431 Request Header Fields Too Large", "header_fields_too_large"),
            (&many, "431 Request Header Fields Too Large", "header_fields_too_large"),
            (&long, "414 URI Too Long", "uri_too_long"),
        ] {
            let mut stream = server.connect().await;
            send(&mut stream, head).await;
            let text = rest(&mut stream).await;
            assert_problem(&text, status, code);
            assert!(text.contains("\r\ndate: "), "{text}");
        }
    }

    #[tokio::test]
    async fn a_bad_head_behind_good_requests_leaves_their_answers_alone() {
        let own = Router::new().route("/", routing::get(async || (axum::http::StatusCode::BAD_REQUEST, "mine")));
        let server = start(own, generous()).await;
        let mut stream = server.connect().await;
        send(&mut stream, &format!("{GET}{GET}garbage\r\n\r\n")).await;
        for _ in 0..2 {
            let text = answer(&mut stream).await;
            assert!(text.starts_with("HTTP/1.1 400") && text.ends_with("mine"), "{text}");
        }
        assert_problem(&rest(&mut stream).await, "400", "invalid_request");
    }

    #[test]
    fn only_hypers_own_refusals_are_replaced() {
        let own = b"HTTP/1.1 400 Bad Request\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";
        assert!(refusal_of_head(own, crate::http::refusal).is_some());
        for other in [
            &own[..own.len() - 1],
            b"",
            b"HTTP/1.1 ",
            b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n",
            b"HTTP/1.1 400 Bad Request\r\ncontent-length: 1\r\n\r\nx",
            b"\xff",
        ] {
            assert_eq!(refusal_of_head(other, crate::http::refusal), None);
        }
    }

    #[tokio::test]
    async fn a_panic_ends_its_own_connection_only() {
        let router = hello().route("/panic", routing::get(async || -> &'static str { panic!("a handler's bug") }));
        let server = start(router, generous()).await;
        let mut bystander = server.connect().await;
        send(&mut bystander, GET).await;
        answer(&mut bystander).await;

        let mut stream = server.connect().await;
        send(&mut stream, "GET /panic HTTP/1.1\r\n\r\n").await;
        assert_eq!(rest(&mut stream).await, "");

        send(&mut bystander, GET).await;
        assert!(answer(&mut bystander).await.ends_with("hello"));
        soon(server.until_closed(1)).await;
    }

    #[tokio::test]
    async fn drain_finishes_what_is_in_service_and_closes_the_rest() {
        let (router, begun, gate) = gated();
        let server = start(router.route("/hello", routing::get(async || "hello")), generous()).await;
        let mut busy = server.connect().await;
        send(&mut busy, GET).await;
        soon(begun.notified()).await;

        let mut idle = server.connect().await;
        send(&mut idle, "GET /hello HTTP/1.1\r\n\r\n").await;
        answer(&mut idle).await;
        let mut half_head = server.connect().await;
        send(&mut half_head, "GET /hello HTTP/1.1\r\n\r\n").await;
        answer(&mut half_head).await;
        send(&mut half_head, "GET /hello HT").await;

        let (address, stop) = (server.address, server.stop);
        stop.send(()).unwrap();
        assert_eq!(rest(&mut idle).await, "");
        // Whether that half head had been read or not, the close may come as a reset.
        let _ = soon(half_head.read_to_end(&mut Vec::new())).await;
        assert!(TcpStream::connect(address).await.is_err(), "the listener is closed");
        assert!(!server.served.is_finished());

        gate.notify_one();
        let text = rest(&mut busy).await;
        assert!(text.contains("connection: close") && text.ends_with("done"), "{text}");
        drop(busy);
        let drained = soon(server.served).await.unwrap();
        assert_eq!(drained, Drained { closed_cleanly: 3, aborted: 0 });
    }

    /// The server's task has not run since these have connected, so the kernel holds them for it.
    #[tokio::test]
    async fn what_waits_to_be_accepted_is_served_before_the_drain() {
        let server = start(hello(), generous()).await;
        tokio::task::yield_now().await;
        let connect = || {
            let stream = std::net::TcpStream::connect(server.address).unwrap();
            stream.set_nonblocking(true).unwrap();
            stream
        };
        let mut asked: Vec<_> = (0..10).map(|_| connect()).collect();
        for stream in &mut asked {
            stream.write_all(GET.as_bytes()).unwrap();
        }
        let mut silent: Vec<_> = (0..3).map(|_| connect()).collect();
        let Running { address, counts, stop, served } = server;
        stop.send(()).unwrap();
        // No other task has run until here.
        soon(async {
            while counts.opened.load(Ordering::SeqCst) < 13 {
                tokio::task::yield_now().await;
            }
        })
        .await;
        // These have been accepted while their requests are on their way.
        for stream in &mut silent {
            stream.write_all(GET.as_bytes()).unwrap();
        }
        for stream in asked.into_iter().chain(silent) {
            assert!(rest(&mut TcpStream::from_std(stream).unwrap()).await.ends_with("hello"));
        }
        assert!(TcpStream::connect(address).await.is_err(), "the listener is closed");
        assert_eq!(soon(served).await.unwrap().aborted, 0);
        assert_eq!(counts.opened.load(Ordering::SeqCst), 13);
    }

    #[tokio::test]
    async fn what_is_always_served_is_served_beyond_the_limit() {
        let router = hello().route("/health", routing::get(async || "well"));
        let limits = ConnectionLimits { max_connections: 0, always_served: &["/health"], ..generous() };
        let server = start(router, limits).await;
        for (request, well) in [
            ("GET /health HTTP/1.1\r\nhost: a\r\n\r\n", true),
            ("GET /health?a=b HTTP/1.1\r\nhost: a\r\n\r\n", true),
            ("HEAD /health HTTP/1.1\r\nhost: a\r\n\r\n", true),
            ("GET /healthy HTTP/1.1\r\nhost: a\r\n\r\n", false),
            ("GET /healt HTTP/1.1\r\nhost: a\r\n\r\n", false),
            ("POST /health HTTP/1.1\r\nhost: a\r\n\r\n", false),
            ("GET /hea\r\n\r\n", false),
            ("G", false),
            (GET, false),
        ] {
            let mut stream = server.connect().await;
            send(&mut stream, request).await;
            let text = rest(&mut stream).await;
            assert!(text.starts_with(if well { "HTTP/1.1 200" } else { "HTTP/1.1 503" }), "{request}: {text}");
            assert!(text.contains("connection: close"), "{text}");
        }
        assert_eq!(server.counts.refused.load(Ordering::SeqCst), 6);
        assert_eq!(server.counts.opened.load(Ordering::SeqCst), 0);
    }

    #[tokio::test]
    async fn drain_is_not_held_by_a_half_sent_first_head() {
        let server = start(hello(), generous()).await;
        let mut stream = server.connect().await;
        send(&mut stream, "GET / HTTP/1.1\r\nhost").await;
        soon(async {
            while server.counts.opened.load(Ordering::SeqCst) < 1 {
                tokio::task::yield_now().await;
            }
        })
        .await;
        assert_eq!(server.stop().await, Drained { closed_cleanly: 1, aborted: 0 });
    }

    #[tokio::test]
    async fn drain_lets_a_half_sent_body_finish_but_not_beyond_the_deadline() {
        let (router, begun) = upload();
        let limits = ConnectionLimits { drain_deadline: Duration::from_millis(300), ..generous() };
        let server = start(router, limits).await;
        let mut stuck = server.connect().await;
        let mut finishing = server.connect().await;
        for stream in [&mut stuck, &mut finishing] {
            send(stream, "POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 8\r\n\r\nhalf").await;
            soon(begun.notified()).await;
        }
        server.stop.send(()).unwrap();
        send(&mut finishing, "half").await;
        assert!(rest(&mut finishing).await.ends_with('8'));
        drop(finishing);
        let drained = soon(server.served).await.unwrap();
        assert_eq!(drained, Drained { closed_cleanly: 1, aborted: 1 });
        let _ = soon(stuck.read_to_end(&mut Vec::new())).await;
    }
}
