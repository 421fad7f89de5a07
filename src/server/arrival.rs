//! What the server tells a handler of a request's connection, and a handler the server: one extension each way.

use std::net::SocketAddr;
use std::time::Duration;

use tokio::sync::watch;

/// An extension of every request: what the server knows of it beside what its client wrote.
#[derive(Debug, Clone)]
pub struct Arrival {
    /// Who is at the other end of its connection.
    pub peer: Option<SocketAddr>,
    /// It came with both `Content-Length` and `Transfer-Encoding`; of the two, its headers have only the latter. hyper closes the
    /// connection after the answer.
    pub has_two_lengths: bool,
    pub half_closed: HalfClosed,
}

/// An extension of an answer: how its connection goes on. Without it, as it is.
#[derive(Debug, Clone, Copy, Default)]
pub struct Pace {
    /// The next request of the connection is left alone for so long before it is served.
    ///
    /// For refusals. A client that comes back at once is slowed down, and does not cost the time that others need.
    pub pause: Option<Duration>,
    /// The peer may take no byte of the answer for so long, instead of the
    /// [`ConnectionLimits::stall_timeout`](super::ConnectionLimits::stall_timeout), and at any rate.
    pub stall: Option<Duration>,
}

/// Whether the peer of a request sends nothing more. It may still read, or may have gone: what waits for
/// something to happen, and sends nothing meanwhile, should end.
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
            // The connection is gone, and with it whoever waits here.
            std::future::pending().await
        }
    }
}
