//! Subscriptions to changes of sessions, and how they are woken.
//!
//! News is a hint to read, never the data. So nothing is queued, and no subscriber is too slow: a watcher that is woken reads
//! from its own position. Commits of this process wake at once, from the one place that knows of them
//! ([`OnCommit`](crate::store::run::OnCommit)). Those of other processes are found by
//! [`Service::poll_forever`](super::Service::poll_forever).

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::{Notify, watch};
use tokio::time::{sleep, timeout};

use super::news::{News, Recent};
use crate::domain::feed::FeedScope;
use crate::domain::ids::{AppName, ScopeKey, ScopeRef, SessionKey, UserId, UserKey};
use crate::domain::session::SessionInfo;
use crate::domain::writes::Committed;

/// A session with subscribers.
pub(super) struct Topic {
    news: watch::Sender<News>,
    /// The last read, shared by its followers.
    pub recent: tokio::sync::Mutex<Recent>,
}

impl Topic {
    pub(super) fn tell(&self, heard: Option<News>) {
        self.news.send_if_modified(|news| match heard {
            Some(heard) => news.add(heard),
            None => news.lose(),
        });
    }
}

/// Topics with the number of their subscribers, in the order of their keys.
struct Topics<K, T>(BTreeMap<K, (usize, Arc<T>)>);

impl<K, T> Default for Topics<K, T> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

impl<K: Ord + Clone, T> Topics<K, T> {
    fn get(&self, key: &K) -> Option<&Arc<T>> {
        self.0.get(key).map(|(_, topic)| topic)
    }

    fn enter(&mut self, key: &K, new: impl FnOnce() -> T) -> Arc<T> {
        let (count, topic) = self.0.entry(key.clone()).or_insert_with(|| (0, Arc::new(new())));
        *count += 1;
        topic.clone()
    }

    fn leave(&mut self, key: &K) {
        let Some((count, _)) = self.0.get_mut(key) else { return };
        *count -= 1;
        if *count == 0 {
            self.0.remove(key);
        }
    }
}

#[derive(Default)]
struct All {
    sessions: Topics<SessionKey, Topic>,
    /// Revisions of app and user state, for subscribers that follow state.
    scopes: Topics<ScopeKey, watch::Sender<i64>>,
    feeds: Topics<FeedScope, watch::Sender<()>>,
}

impl All {
    fn tell_feed(&self, app: &AppName, user: Option<&UserId>) {
        let user = user.map(|user| FeedScope::User(UserKey { app: app.clone(), user: user.clone() }));
        for scope in [Some(FeedScope::All), Some(FeedScope::App(app.clone())), user].into_iter().flatten() {
            if let Some(topic) = self.feeds.get(&scope) {
                // Its last subscriber is about to leave.
                let _ = topic.send(());
            }
        }
    }
}

/// All subscriptions of this process.
#[derive(Default)]
pub struct Live {
    all: Mutex<All>,
    /// The number of subscriptions: without any, a commit costs one load of this.
    waiting: AtomicUsize,
    pub(super) first: Notify,
    /// The first follower of a feed.
    first_feed: Notify,
    /// Commits are not in the feed before a tick.
    has_ticks: bool,
}

impl Live {
    pub fn new(has_ticks: bool) -> Self {
        Self { has_ticks, ..Self::default() }
    }

    fn all(&self) -> MutexGuard<'_, All> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Wakes the subscribers of a commit.
    pub fn committed(&self, committed: &[Committed]) {
        if self.waiting.load(Ordering::SeqCst) == 0 {
            return;
        }
        let all = self.all();
        if !self.has_ticks && !all.feeds.0.is_empty() {
            committed.iter().filter_map(Committed::row).for_each(|row| all.tell_feed(row.app, row.user));
        }
        for change in committed {
            match change {
                Committed::Events { key, incarnation, last, .. } => {
                    let Some(topic) = all.sessions.get(key) else { continue };
                    topic.news.send_if_modified(|news| news.add_events(*incarnation, *last));
                }
                Committed::Session { key, incarnation, change } => {
                    if let Some(topic) = all.sessions.get(key) {
                        topic.news.send_modify(|news| news.add_change(*incarnation, change));
                    }
                }
                Committed::Scope { key, last: revision, .. } => {
                    if let Some(topic) = all.scopes.get(key) {
                        topic.send_if_modified(|known| {
                            let is_new = *revision > *known;
                            *known = (*known).max(*revision);
                            is_new
                        });
                    }
                }
                Committed::Artifact { .. } | Committed::Erased { .. } => {}
            }
        }
    }

    /// Subscribes to a session, and `with_scopes` to its app's and user's state. Every commit from now on wakes.
    pub fn subscribe(self: &Arc<Self>, key: &SessionKey, with_scopes: bool) -> Subscription {
        let new = || Topic { news: watch::Sender::new(News::default()), recent: tokio::sync::Mutex::default() };
        // First, so that a commit that sees no subscriptions was over before this one began.
        self.waiting.fetch_add(1, Ordering::SeqCst);
        let mut all = self.all();
        // Under the lock: if `poll_forever` has just found no session, this ends its wait, or the next one at once.
        if all.sessions.0.is_empty() {
            self.first.notify_one();
        }
        let topic = all.sessions.enter(key, new);
        let scopes = with_scopes.then(|| {
            key.scopes().map(ScopeRef::to_key).map(|scope| {
                let news = all.scopes.enter(&scope, || watch::Sender::new(0)).subscribe();
                (scope, news)
            })
        });
        Subscription { live: self.clone(), key: key.clone(), news: topic.news.subscribe(), topic, scopes }
    }

    /// How many subscriptions a session has.
    pub fn followers(&self, key: &SessionKey) -> usize {
        self.all().sessions.0.get(key).map_or(0, |(count, _)| *count)
    }

    /// Subscribes to a feed.
    pub fn enter_feed(&self, scope: &FeedScope) -> watch::Receiver<()> {
        self.waiting.fetch_add(1, Ordering::SeqCst);
        let mut all = self.all();
        if all.feeds.0.is_empty() {
            self.first_feed.notify_one();
        }
        all.feeds.enter(scope, || watch::Sender::new(())).subscribe()
    }

    pub fn leave_feed(&self, scope: &FeedScope) {
        self.all().feeds.leave(scope);
        self.waiting.fetch_sub(1, Ordering::SeqCst);
    }

    /// Whether a feed has subscribers.
    pub fn follows_feeds(&self) -> bool {
        !self.all().feeds.0.is_empty()
    }

    /// Wakes the subscribers of these feeds, or of all.
    pub fn tell_feeds(&self, scopes: Option<&[FeedScope]>) {
        let all = self.all();
        match scopes {
            None => all.feeds.0.values().for_each(|(_, topic)| topic.send_replace(())),
            Some(scopes) => scopes.iter().for_each(|scope| match scope {
                FeedScope::All => {}
                FeedScope::App(app) => all.tell_feed(app, None),
                FeedScope::User(user) => all.tell_feed(&user.app, Some(&user.user)),
            }),
        }
    }

    /// Waits for `followed` if a feed has subscribers, else for `idle` or until it gets one.
    pub async fn until_feed(&self, followed: Duration, idle: Duration) {
        if self.follows_feeds() {
            sleep(followed).await;
        } else {
            let _ = timeout(idle, self.first_feed.notified()).await;
        }
    }

    /// All topics.
    pub(super) fn watched(&self) -> (Vec<SessionKey>, Vec<Arc<Topic>>, Vec<ScopeKey>) {
        let all = self.all();
        let sessions = all.sessions.0.iter().map(|(key, (_, topic))| (key.clone(), topic.clone()));
        let (keys, topics) = sessions.unzip();
        (keys, topics, all.scopes.0.keys().cloned().collect())
    }
}

/// A subscription to changes of a session.
pub struct Subscription {
    live: Arc<Live>,
    key: SessionKey,
    pub(super) topic: Arc<Topic>,
    news: watch::Receiver<News>,
    scopes: Option<[(ScopeKey, watch::Receiver<i64>); 2]>,
}

impl Subscription {
    pub fn key(&self) -> &SessionKey {
        &self.key
    }

    /// Waits until there is news that [`Subscription::latest`] has not returned. Cancel-safe.
    pub async fn changed(&mut self) {
        // No sender ends before its subscriptions.
        match &mut self.scopes {
            None => drop(self.news.changed().await),
            Some([(_, user), (_, app)]) => tokio::select! {
                _ = self.news.changed() => {}
                _ = user.changed() => {}
                _ = app.changed() => {}
            },
        }
    }

    /// The latest news; later news wakes again.
    pub fn latest(&mut self) -> News {
        let mut news = *self.news.borrow_and_update();
        if let Some([(_, user), (_, app)]) = &mut self.scopes {
            news.user = news.user.max(*user.borrow_and_update());
            news.app = news.app.max(*app.borrow_and_update());
        }
        news
    }

    /// Passes what was read of the session to all its subscribers.
    pub fn observe(&self, head: Option<&SessionInfo>) {
        self.topic.tell(head.map(News::of));
    }

    /// The latest news of the session itself.
    pub(super) fn session_news(&self) -> News {
        *self.topic.news.borrow()
    }

    /// The news that a read includes: the read began after `before`, found this head, and was [observed](Self::observe).
    pub(super) fn news_after(&self, before: News, head: &SessionInfo) -> News {
        let mut found = before;
        found.add(News::of(head));
        if found == self.session_news() { found } else { before }
    }

    /// Whether the session has other subscribers.
    pub(super) fn is_shared(&self) -> bool {
        self.topic.news.receiver_count() > 1
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        let mut all = self.live.all();
        all.sessions.leave(&self.key);
        for (scope, _) in self.scopes.iter().flatten() {
            all.scopes.leave(scope);
        }
        self.live.waiting.fetch_sub(1, Ordering::SeqCst);
    }
}
