//! What is known of a request before its path is read: what the way to its handler found out.

use std::sync::Arc;

use tokio::sync::watch;
use tokio::time::Instant;

use crate::access::Client;
use crate::http::limits::admission::Held;
use crate::server::HalfClosed;

/// What a request brings to its handler, beside what the client sent.
pub struct Passage {
    /// Who sent it: nobody, if what it asks for is open to all.
    pub client: Arc<Client>,
    /// The credential that it showed.
    pub credential: Option<Arc<str>>,
    /// Until when it is to be answered.
    pub deadline: Instant,
    pub place: Held,
    pub gone: ClientGone,
}

/// Tells that the client does not wait for the answer any more, or sends nothing more: whether it is still there cannot be told then.
#[derive(Debug, Clone)]
pub struct ClientGone {
    here: watch::Receiver<()>,
    half_closed: HalfClosed,
}

impl ClientGone {
    /// `here` closes when the answer is not awaited any more.
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

    /// What still tells it once the answer has begun.
    pub fn half_closed(&self) -> HalfClosed {
        self.half_closed.clone()
    }
}
