//! The accept loop: how connections are admitted, limited, and closed.
//!
//! `axum::serve` limits neither the number of connections, nor the time a request head may take,
//! nor the silence of a peer, so the service drives hyper's HTTP/1.1 connections itself:
//!
//! * at most [`ConnectionLimits::max_connections`] are served; one more is answered 503 and closed, unless it asks for
//!   one of [`ConnectionLimits::always_served`];
//! * request heads, silent peers, peers that do not read their answer, and drains each have a deadline, all kept by one
//!   timer per connection;
//! * a connection whose request was refused for overload is paused: see [`Pace::pause`];
//! * at shutdown, connections that the kernel has already accepted are served before the listener closes;
//! * answers that hyper makes itself (400, 414, 431) have a problem document like every other answer;
//! * a request with two lengths, which hyper serves, is marked: see [`Arrival::has_two_lengths`];
//! * every answer has the headers that keep it from pages of other sites: see `refusal::SAFETY`;
//! * a closed connection still delivers its last answer: see `limits::LINGER`;
//! * an accept error or a panic in one connection never ends the loop or another connection.
//!
//! hyper's own `header_read_timeout` stays off. It starts when hyper begins to wait for a head, not
//! at the head's first byte (`Conn::poll_read_head` in hyper 1.12), so it would also close every
//! idle keep-alive connection after that short time, behind the back of the client's pool.
//!
//! A peer that sends whole requests and then closes its sending side is answered: until a write fails, it looks the
//! same as one that has closed both sides, see [`HalfClosed`]. A peer that closes in the middle of a request, or resets
//! the connection, has cancelled its request: then hyper drops the handler's future, as under `axum::serve`.

mod arrival;
mod connection;
mod framing;
mod limits;
mod pulse;
mod refusal;
mod wire;

use std::future::Future;
use std::io::{self, Write as _};
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use connection::{Reuse, connection};
use limits::LINGER;
use refusal::overloaded;
use tokio::io::AsyncWriteExt as _;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio::task::{JoinError, JoinSet};
use tokio::time::{sleep, timeout};

pub use arrival::{Arrival, HalfClosed, Pace};
pub use limits::ConnectionLimits;
pub use refusal::ProblemWriter;

/// How many connections beyond the limit may be read and may linger at once. Further ones get a refusal and are
/// dropped.
const MAX_LINGERING_REFUSALS: usize = 128;

/// How long a connection beyond the limit may take for the first line of its request, and then for the whole request.
const SPARE_PATIENCE: Duration = Duration::from_secs(1);

/// The pause after an accept error of the process (EMFILE, ENOMEM), not of one peer.
const ACCEPT_RETRY: Duration = Duration::from_millis(100);

/// How long aborted connections may take to drop their resources. Only a handler that blocks its thread needs longer,
/// and the drain does not wait for it.
const ABORT_GRACE: Duration = Duration::from_secs(1);

/// Gets notified when a connection opens and closes, for the metrics. Called on the hot path: be quick.
///
/// `opened` and `closed` come in pairs, also if the connection's task panics, so that their
/// difference is the number of connections open now.
pub trait ConnectionObserver: Send + Sync + 'static {
    fn opened(&self) {}
    fn closed(&self) {}
    /// A connection beyond `max_connections` was refused; it counts as neither opened nor closed.
    fn refused(&self) {}
}

/// Does nothing.
impl ConnectionObserver for () {}

/// How the connections ended that were open when the shutdown began.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Drained {
    /// Ended in time by themselves: idle, or with their request answered.
    pub closed_cleanly: usize,
    /// Cut off at the deadline or by a panic. It is unknown whether their requests were applied.
    pub aborted: usize,
}

/// Serves `router` on `listener` until `shutdown` resolves, then drains.
///
/// The drain accepts the connections in the kernel's queue and closes the listener. It closes idle connections at once,
/// and gives `HEAD_GRACE` to one that is new or in the middle of a request head. Requests in progress finish with
/// `Connection: close`. The rest is aborted at `drain_deadline`, so this returns soon after the deadline.
pub async fn serve(
    listener: TcpListener,
    router: Router,
    limits: ConnectionLimits,
    observer: Arc<dyn ConnectionObserver>,
    refusal: ProblemWriter,
    shutdown: impl Future<Output = ()>,
) -> Drained {
    let (start_drain, drain) = watch::channel(false);
    let mut connections = JoinSet::new();
    let mut refusals = JoinSet::new();
    let mut shutdown = pin!(shutdown);
    let admit = |stream: TcpStream, connections: &mut JoinSet<()>, refusals: &mut JoinSet<()>| {
        let (router, drain) = (router.clone(), drain.clone());
        if connections.len() < limits.max_connections {
            let open = OpenConnection::new(observer.clone());
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
                // Remove ended connections first, so that they do not count against the new one.
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
    // They end within LINGER, and nothing depends on them.
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

/// Returns the next connection. An error does not mean that the next accept fails, so it is retried here.
async fn accept(listener: &TcpListener) -> TcpStream {
    loop {
        match listener.accept().await {
            Ok((stream, _)) => {
                // Otherwise an answer in two writes would wait for the peer's delayed acknowledgement.
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

/// The connections that the kernel has already accepted; then closes the listener. Without this, each would be reset,
/// and its request lost.
fn backlog(listener: TcpListener) -> impl Iterator<Item = TcpStream> {
    // Through std: tokio polls the kernel again only after an event. The socket stays non-blocking.
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

/// The peer closed the connection before it was accepted.
fn is_of_the_peer(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionRefused, ConnectionReset};
    matches!(error.kind(), ConnectionAborted | ConnectionRefused | ConnectionReset)
}

fn ended_by_itself(ended: &Result<(), JoinError>) -> bool {
    if let Err(error) = ended {
        // The error itself is not logged: it contains the panic's payload, which may quote any data.
        tracing::error!(panicked = error.is_panic(), "connection task failed");
    }
    ended.is_ok()
}

/// Reports `closed` when dropped, even if the connection's task panics.
struct OpenConnection(Arc<dyn ConnectionObserver>);

impl OpenConnection {
    fn new(observer: Arc<dyn ConnectionObserver>) -> Self {
        observer.opened();
        Self(observer)
    }
}

impl Drop for OpenConnection {
    fn drop(&mut self) {
        self.0.closed();
    }
}

/// Serves one request of a connection beyond the limit if its path is always served, else refuses it.
async fn spare(
    stream: TcpStream,
    router: Router,
    limits: ConnectionLimits,
    observer: Arc<dyn ConnectionObserver>,
    refusal: ProblemWriter,
    drain: watch::Receiver<bool>,
) {
    // Waiting for the request has a second reason: clients with a connection pool take an answer before their request
    // for a broken connection.
    let asks = timeout(SPARE_PATIENCE, asks_for_one_of(&stream, limits.always_served)).await;
    if asks.unwrap_or(false) {
        let limits = ConnectionLimits { header_read_timeout: SPARE_PATIENCE, ..limits };
        connection(stream, router, limits, Reuse::Once, refusal, drain).await;
    } else {
        observer.refused();
        refuse(stream, refusal).await;
    }
}

/// Whether the first line asks for one of the paths. Only peeks: the stream still has all bytes.
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
        // Peeking returns the same bytes again, so poll. The line is rarely split over packets.
        sleep(PAUSE).await;
    }
}

/// Answers 503 without reading the request, and lingers so that the answer arrives.
async fn refuse(mut stream: TcpStream, refusal: ProblemWriter) {
    let answer = async {
        stream.write_all(overloaded(refusal).as_bytes()).await?;
        stream.shutdown().await?;
        tokio::io::copy(&mut stream, &mut tokio::io::sink()).await
    };
    let _ = timeout(LINGER, answer).await;
}

/// Refuses a connection in a flood: no task and no waiting, so the peer may see a reset.
fn refuse_and_drop(stream: TcpStream, refusal: ProblemWriter) {
    // Through std, because tokio's `try_write` fails until the reactor knows the socket. The socket stays non-blocking,
    // and a new socket's buffer has room for the few bytes.
    let _ = stream.into_std().and_then(|mut stream| stream.write_all(overloaded(refusal).as_bytes()));
}

#[cfg(test)]
mod tests;
