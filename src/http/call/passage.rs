//! What the pipeline knows about a request before its handler runs.

use std::sync::Arc;

use tokio::sync::watch;
use tokio::time::Instant;

use crate::access::Client;
use crate::http::limits::admission::RequestShare;
use crate::server::HalfClosed;

/// The pipeline's part of a request.
pub struct Passage {
    /// The client, or nobody for an open endpoint.
    pub client: Arc<Client>,
    pub credential: Option<Arc<str>>,
    /// When the request times out.
    pub deadline: Instant,
    pub place: RequestShare,
    pub gone: ClientGone,
}

/// Signals that the client has disconnected, or has closed its sending side, after which a disconnect cannot be
/// detected.
#[derive(Debug, Clone)]
pub struct ClientGone {
    here: watch::Receiver<()>,
    half_closed: HalfClosed,
}

impl ClientGone {
    /// `here` closes when nobody awaits the answer any more.
    pub fn new(here: watch::Receiver<()>, half_closed: HalfClosed) -> Self {
        Self { here, half_closed }
    }

    /// Cancel-safe.
    pub async fn wait(&mut self) {
        tokio::select! {
            () = async { while self.here.changed().await.is_ok() {} } => {}
            () = self.half_closed.wait() => {}
        }
    }

    /// The part of this signal that still works once the answer has begun.
    pub fn half_closed(&self) -> HalfClosed {
        self.half_closed.clone()
    }
}
