//! Clients of long requests: their credentials are checked again regularly, and the answer is cut if they lose access.

use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::time::{Instant, sleep, timeout_at};

use crate::access::{AuthError, Client};
use crate::domain::access::Grant;
use crate::http::app::App;
use crate::http::call::{Call, Standing};
use crate::service;

/// How often a credential is checked again. Together with the 3 s for which credentials are cached, a revoked one ends
/// its streams within 5 s.
const JUDGE_EVERY: Duration = Duration::from_millis(1500);

/// The client of a long request, whose credential is checked again regularly.
pub struct Watched {
    app: Arc<App>,
    credential: Option<Arc<str>>,
    standing: Standing,
    /// The result of the last check.
    client: Arc<Client>,
    next: Instant,
}

impl Watched {
    pub fn new(call: &Call) -> Self {
        Self {
            app: call.app.clone(),
            credential: call.credential.clone(),
            standing: call.standing(),
            client: call.client.clone(),
            next: Instant::now() + JUDGE_EVERY,
        }
    }

    /// The client's grant at the last check.
    pub fn grant(&self) -> &Grant {
        &self.client.grant
    }

    /// When the credential must be checked again.
    pub fn due(&self) -> Instant {
        self.next
    }

    /// Whether the client may still be served as at the beginning. If the check cannot be made, the last result stands
    /// until the next one.
    pub async fn still_may(&mut self) -> bool {
        if Instant::now() < self.next {
            return true;
        }
        self.next = Instant::now() + JUDGE_EVERY;
        let deadline = Instant::now() + self.app.settings.request_timeout;
        match self.app.authenticator.client(self.credential.as_deref(), deadline).await {
            Ok(client) => {
                self.client = client;
                self.standing.still_holds(&self.client)
            }
            Err(AuthError::Store(_) | AuthError::Overloaded) => true,
            Err(AuthError::Unauthenticated(_)) => false,
        }
    }

    /// As [`Watched::still_may`], before the next part of an answer that has begun.
    ///
    /// # Errors
    /// The client may not have it. It is too late for an error document, so the connection is cut: no client takes the
    /// answer for complete.
    pub async fn still_must(&mut self) -> io::Result<()> {
        if self.still_may().await {
            return Ok(());
        }
        tracing::info!("an answer was cut: the client has lost access");
        Err(io::Error::other("cut"))
    }

    /// The deadline for reading the next part of an answer that has begun: each has the time limit of a request.
    ///
    /// # Errors
    /// As of [`Watched::still_must`].
    pub async fn next_part(&mut self) -> io::Result<Instant> {
        self.still_must().await?;
        Ok(Instant::now() + self.app.settings.request_timeout)
    }

    /// Awaits `waiting`, and checks the credential every 1.5 s meanwhile.
    ///
    /// # Errors
    /// As of [`Watched::still_must`].
    pub async fn during<T>(&mut self, waiting: impl Future<Output = T>) -> io::Result<T> {
        let mut waiting = pin!(waiting);
        loop {
            let waited = timeout_at(self.next, &mut waiting).await;
            self.still_must().await?;
            if let Ok(waited) = waited {
                return Ok(waited);
            }
        }
    }
}

/// Waits after a failure to read the next part of an answer that has begun, before it is tried again.
///
/// # Errors
/// The deadline has passed, or a retry makes no sense. It is too late for an error document, so the connection is cut:
/// no client takes the answer for complete.
pub async fn wait_or_cut(error: &service::Error, deadline: Instant) -> io::Result<()> {
    const PAUSE: Duration = Duration::from_millis(100);
    if error.may_pass() && Instant::now() + PAUSE < deadline {
        sleep(PAUSE).await;
        return Ok(());
    }
    tracing::warn!(%error, "a streamed answer was cut");
    Err(io::Error::other("cut"))
}
