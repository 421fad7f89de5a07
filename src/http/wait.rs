//! Requests that outlast their first answer: they wait for a session to change, or stream what changes.

use std::io;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use axum::response::Response;
use tokio::sync::watch;
use tokio::time::{Instant, timeout_at};

use super::admission::{Held, Watching};
use super::answer::not_modified;
use super::app::App;
use super::pipeline::{ClientGone, unauthenticated};
use super::problem::Problem;
use super::request::{Call, Standing};
use super::shares::Asker;
use crate::access::{Client, Refusal};
use crate::domain::access::Grant;
use crate::domain::ids::SessionKey;
use crate::domain::time::Micros;
use crate::service::{FeedSubscription, Subscription};

/// How often a credential is judged again. With the 3 s for which a look-up is remembered, what is revoked ends within 5 s.
const JUDGE_EVERY: Duration = Duration::from_millis(1500);

/// A client whose credential is judged again and again, while it is served.
pub struct Watched {
    app: Arc<App>,
    credential: Option<Arc<str>>,
    standing: Standing,
    /// As it was found at last.
    client: Arc<Client>,
    next: Instant,
}

impl Watched {
    pub fn new(call: &Call) -> Self {
        Self {
            app: call.app.clone(),
            credential: call.credential(),
            standing: call.standing(),
            client: call.client.clone(),
            next: Instant::now() + JUDGE_EVERY,
        }
    }

    /// What the client may do, as it was judged at last.
    pub fn grant(&self) -> &Grant {
        &self.client.grant
    }

    /// When the credential is to be judged again.
    pub fn due(&self) -> Instant {
        self.next
    }

    /// Whether the client may still be served as at the beginning. What cannot be found out now holds until the next time.
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
            Err(Refusal::Store(_) | Refusal::Overloaded) => true,
            Err(Refusal::Unauthenticated(_)) => false,
        }
    }

    /// As [`Watched::still_may`], for the next part of an answer that has begun.
    ///
    /// # Errors
    /// The client may not have it. It is too late for an error document: the answer is cut, which no client takes for a whole one.
    pub async fn still_must(&mut self) -> io::Result<()> {
        if self.still_may().await {
            return Ok(());
        }
        tracing::info!("an answer was cut: the client may not go on any more");
        Err(io::Error::other("cut"))
    }

    /// What comes of a wait for the client, which is judged meanwhile.
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

/// What a request waits for.
pub trait Awaited: Send {
    /// Waits until it may have changed. Cancel-safe.
    fn changed(&mut self) -> impl Future<Output = ()> + Send;
    /// What has changed by now wakes no more.
    fn seen(&mut self);
}

impl Awaited for Subscription {
    async fn changed(&mut self) {
        Subscription::changed(self).await;
    }

    fn seen(&mut self) {
        self.latest();
    }
}

/// `changed` does it.
impl Awaited for FeedSubscription {
    async fn changed(&mut self) {
        FeedSubscription::changed(self).await;
    }

    fn seen(&mut self) {}
}

/// A request that waits for a session, or a feed, to change.
pub struct Wait<A = Subscription> {
    app: Arc<App>,
    awaited: A,
    until: Instant,
    watched: Watched,
    gone: Option<ClientGone>,
    ending: watch::Receiver<bool>,
    held: Option<Held>,
    sharer: Asker,
    place: Option<Watching>,
}

impl Wait {
    /// Waits for a session: at most so long, for changes from now on, `with_scopes` also of shared state: the first look at the session comes after
    /// this.
    ///
    /// # Errors
    /// The names of the path.
    pub fn new(call: &Call, longest: Duration, with_scopes: bool) -> Result<Self, Problem> {
        Ok(Self::on(call, longest, call.service.subscribe(&call.session()?, with_scopes)))
    }
}

impl<A: Awaited> Wait<A> {
    /// Waits at most so long.
    pub fn on(call: &Call, longest: Duration, awaited: A) -> Self {
        let longest = longest.min(call.app.settings.watch.longest_wait);
        Self {
            awaited,
            until: Instant::now() + longest,
            watched: Watched::new(call),
            gone: call.extensions.get().cloned(),
            ending: call.app.ending(),
            held: call.extensions.get().cloned(),
            sharer: call.sharer(),
            place: None,
            app: call.app.clone(),
        }
    }

    /// Waits until there may be a change, or a session has expired. `None`: there will be no more waiting, as the time is up, the server
    /// stops, or nobody listens any more. Else the deadline for the next look.
    ///
    /// # Errors
    /// All places are taken; the client may not see the session any more.
    pub async fn changed(&mut self, expire_time: Option<Micros>) -> Result<Option<Instant>, Problem> {
        if Instant::now() >= self.until || *self.ending.borrow() {
            return Ok(None);
        }
        if self.place.is_none() {
            self.place = Some(self.app.places.watch(&self.app.metrics, self.sharer)?);
            if let Some(held) = &self.held {
                held.give_back();
            }
        }
        let look = self.app.service(true).look_for_expiry(expire_time);
        let revocation = self.place.as_ref().map(|place| place.revocation.clone());
        loop {
            let revoked = async {
                match &revocation {
                    Some(revocation) => revocation.revoked().await,
                    None => std::future::pending().await,
                }
            };
            let gone = async {
                match &mut self.gone {
                    Some(gone) => gone.wait().await,
                    None => std::future::pending().await,
                }
            };
            let next = self.until.min(self.watched.due()).min(look.unwrap_or(self.until));
            let changed = tokio::select! {
                // Whoever is not there any more gets nothing.
                biased;
                _ = self.ending.wait_for(|ending| *ending) => return Ok(None),
                () = gone => return Ok(None),
                // Its place is another user's now: the wait is over, as if its time were up.
                () = revoked => return Ok(None),
                changed = timeout_at(next, self.awaited.changed()) => changed.is_ok(),
            };
            if !self.watched.still_may().await {
                return Err(unauthenticated());
            }
            if changed || look.is_some_and(|look| look <= Instant::now()) {
                self.awaited.seen();
                return Ok(Some(Instant::now() + self.app.settings.request_timeout));
            }
            if Instant::now() >= self.until {
                return Ok(None);
            }
        }
    }
}

/// 304, if the client has what there is of the session, also after `wait`. Reads the head alone, and only of a request with
/// `If-None-Match`.
pub async fn current(call: &mut Call, key: &SessionKey, wait: Option<Duration>) -> Result<Option<Response>, Problem> {
    if !call.asks_if_none_match() {
        return Ok(None);
    }
    let mut wait = wait.filter(|wait| !wait.is_zero()).map(|wait| Wait::new(call, wait, true)).transpose()?;
    loop {
        let head = call.service.head(key, call.deadline).await?;
        let tag = head.tag().to_string();
        if !call.has_current(&tag)? {
            return Ok(None);
        }
        let next = match &mut wait {
            Some(wait) => wait.changed(head.expire_time).await?,
            None => None,
        };
        match next {
            Some(deadline) => call.deadline = deadline,
            None => return Ok(Some(not_modified(tag))),
        }
    }
}
