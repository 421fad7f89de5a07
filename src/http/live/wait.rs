//! Requests that wait for a change.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, timeout_at};

use super::watched::Watched;
use crate::domain::ids::SessionKey;
use crate::domain::time::Micros;
use crate::http::app::App;
use crate::http::call::{Call, ClientGone, unauthenticated};
use crate::http::limits::admission::{RequestShare, Watching};
use crate::http::limits::shares::{Asker, preempted};
use crate::http::reply::{Answer, Problem};
use crate::service::{FeedSubscription, Subscription};

/// The object of a wait.
pub trait Awaited: Send {
    /// Waits until it may have changed. Cancel-safe.
    fn changed(&mut self) -> impl Future<Output = ()> + Send;
    /// Marks everything up to now as seen.
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

/// `changed` already marks it as seen.
impl Awaited for FeedSubscription {
    async fn changed(&mut self) {
        FeedSubscription::changed(self).await;
    }

    fn seen(&mut self) {}
}

/// A request that waits for a session or the feed to change.
pub struct Wait<A = Subscription> {
    app: Arc<App>,
    awaited: A,
    until: Instant,
    watched: Watched,
    gone: ClientGone,
    ending: watch::Receiver<bool>,
    share: RequestShare,
    sharer: Asker,
    place: Option<Watching>,
}

impl Wait {
    /// Waits at most `longest` for changes of the session from now on, and of its shared state too if `with_scopes`.
    /// Read the session after this call, or changes in between are missed.
    ///
    /// A name in the path is missing.
    /// The names of the path.
    pub fn new(call: &Call, longest: Duration, with_scopes: bool) -> Result<Self, Problem> {
        Ok(Self::on(call, longest, call.service.subscribe(&call.names.session()?, with_scopes)))
    }
}

impl<A: Awaited> Wait<A> {
    /// Waits at most `longest`.
    pub fn on(call: &Call, longest: Duration, awaited: A) -> Self {
        let longest = longest.min(call.app.settings.watch.longest_wait);
        Self {
            awaited,
            until: Instant::now() + longest,
            watched: Watched::new(call),
            gone: call.gone.clone(),
            ending: call.app.ending(),
            share: call.place.clone(),
            sharer: call.sharer(),
            place: None,
            app: call.app.clone(),
        }
    }

    /// Waits until there may be a change, or the session has expired. Returns the deadline for the next read, or `None`
    /// if the wait is over: the time is up, the server stops, or the client has disconnected.
    ///
    /// # Errors
    /// All places are taken; the client may no longer see the session.
    pub async fn changed(&mut self, expire_time: Option<Micros>) -> Result<Option<Instant>, Problem> {
        if Instant::now() >= self.until || *self.ending.borrow() {
            return Ok(None);
        }
        if self.place.is_none() {
            self.place = Some(self.app.places.watch(&self.app.metrics, self.sharer)?);
            self.share.give_back();
        }
        let expiry = self.app.reader(true).next_expiry_check(expire_time);
        let preemption = self.place.as_ref().map(|place| place.preemption.clone());
        loop {
            let next = self.until.min(self.watched.due()).min(expiry.unwrap_or(self.until));
            let changed = tokio::select! {
                // A client that has disconnected gets nothing.
                biased;
                _ = self.ending.wait_for(|ending| *ending) => return Ok(None),
                () = self.gone.wait() => return Ok(None),
                // The place was preempted for another user: the wait ends as if its time were up.
                () = preempted(preemption.as_deref()) => return Ok(None),
                changed = timeout_at(next, self.awaited.changed()) => changed.is_ok(),
            };
            if !self.watched.still_may().await {
                return Err(unauthenticated());
            }
            if changed || expiry.is_some_and(|expiry| expiry <= Instant::now()) {
                self.awaited.seen();
                return Ok(Some(Instant::now() + self.app.settings.request_timeout));
            }
            if Instant::now() >= self.until {
                return Ok(None);
            }
        }
    }
}

/// 304 if the client already has the current version of the session, also after `wait`. Reads only the session's head,
/// and only for a request with `If-None-Match`.
pub async fn current(call: &mut Call, key: &SessionKey, wait: Option<Duration>) -> Result<Option<Answer>, Problem> {
    if !call.headers.asks_if_none_match() {
        return Ok(None);
    }
    let mut wait = wait.filter(|wait| !wait.is_zero()).map(|wait| Wait::new(call, wait, true)).transpose()?;
    loop {
        let head = call.service.head(key, call.deadline).await?;
        let tag = head.tag().to_string();
        if !call.headers.has_current(&tag)? {
            return Ok(None);
        }
        let next = match &mut wait {
            Some(wait) => wait.changed(head.expire_time).await?,
            None => None,
        };
        match next {
            Some(deadline) => call.deadline = deadline,
            None => return Ok(Some(Answer::not_modified(tag))),
        }
    }
}
