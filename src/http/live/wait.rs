//! Requests that wait for a session, or a feed, to change.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::{Instant, timeout_at};

use super::watched::Watched;
use crate::domain::ids::SessionKey;
use crate::domain::time::Micros;
use crate::http::app::App;
use crate::http::call::{Call, ClientGone, unauthenticated};
use crate::http::limits::admission::{Held, Watching};
use crate::http::limits::shares::Asker;
use crate::http::reply::{Answer, Problem};
use crate::service::{FeedSubscription, Subscription};

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
    gone: ClientGone,
    ending: watch::Receiver<bool>,
    held: Held,
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
        Ok(Self::on(call, longest, call.service.subscribe(&call.names.session()?, with_scopes)))
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
            gone: call.gone.clone(),
            ending: call.app.ending(),
            held: call.place.clone(),
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
            self.held.give_back();
        }
        let look = self.app.reader(true).look_for_expiry(expire_time);
        let revocation = self.place.as_ref().map(|place| place.revocation.clone());
        loop {
            let revoked = async {
                match &revocation {
                    Some(revocation) => revocation.revoked().await,
                    None => std::future::pending().await,
                }
            };
            let next = self.until.min(self.watched.due()).min(look.unwrap_or(self.until));
            let changed = tokio::select! {
                // Whoever is not there any more gets nothing.
                biased;
                _ = self.ending.wait_for(|ending| *ending) => return Ok(None),
                () = self.gone.wait() => return Ok(None),
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
