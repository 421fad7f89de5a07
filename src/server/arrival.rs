//! Data that the server and a handler exchange about a connection: one extension each way.

use std::net::SocketAddr;
use std::time::Duration;

use tokio::sync::watch;

/// An extension of every request: what the server knows about it beyond its bytes.
#[derive(Debug, Clone)]
pub struct Arrival {
    /// The other end of the connection.
    pub peer: Option<SocketAddr>,
    /// It had both `Content-Length` and `Transfer-Encoding`; hyper keeps only the latter header. hyper closes the
    /// connection after the answer.
    pub has_two_lengths: bool,
    pub half_closed: HalfClosed,
}

/// An extension of an answer: how its connection continues. Without it, nothing changes.
#[derive(Debug, Clone, Copy, Default)]
pub struct Pace {
    /// How long the connection's next request is ignored before it is served.
    ///
    /// Used for refusals: a client that retries at once is slowed down and does not take time from others.
    pub pause: Option<Duration>,
    /// How long the peer may accept no byte of the answer, at whatever rate it reads, instead of
    /// [`ConnectionLimits::stall_timeout`](super::ConnectionLimits::stall_timeout).
    pub stall: Option<Duration>,
}

/// Whether the peer has closed its sending side. It may still read, or it may have gone. A handler that waits and sends
/// nothing meanwhile should end.
#[derive(Debug, Clone)]
pub struct HalfClosed(watch::Receiver<bool>);

impl HalfClosed {
    /// `closed` becomes true once the peer has closed its sending side.
    pub fn new(closed: watch::Receiver<bool>) -> Self {
        Self(closed)
    }

    /// Resolves once the peer has closed its sending side. Cancel-safe.
    pub async fn wait(&mut self) {
        if self.0.wait_for(|closed| *closed).await.is_err() {
            // The connection is gone, and this future will be dropped with it.
            std::future::pending().await
        }
    }
}
