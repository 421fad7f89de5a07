//! Reads the change feed.

use std::collections::BTreeMap;

use async_trait::async_trait;
use tokio::time::Instant;

use crate::domain::feed::{Change, ChangeKind, Content, FeedBegin, FeedKey, FeedPage, FeedQuery, FeedScope};
use crate::domain::ids::{AppName, SessionKey, UserId, UserKey};
use crate::domain::time::Micros;
use crate::store::backend::{Backend, Database as _, Tx};
use crate::store::error::{Cause, StoreError, corrupt};
use crate::store::run::End;
use crate::store::sql::feed;
use crate::store::transactions::Transactions;

type Result<T> = std::result::Result<T, StoreError>;

#[async_trait]
pub trait Reads: Send + Sync {
    /// Whether changes are recorded for the feed.
    fn feeds(&self) -> bool;

    /// Reads the change feed. It may look no longer than until `until` for changes that the query wants.
    async fn feed(&self, query: &FeedQuery, until: Instant, deadline: Instant) -> Result<FeedPage>;
}

#[async_trait]
pub trait Writes: Send + Sync {
    /// Makes what was committed since the last call part of the feed, where that takes a tick, unless one was a moment ago. `at_once`: all
    /// that was committed before the call. The last tick, and the names of apps and
    /// users in the changes after the tick `after`, or none if these are too many, or there is no such tick.
    async fn tick(&self, after: i64, at_once: bool, deadline: Instant) -> Result<(i64, Option<Vec<FeedScope>>)>;

    /// Ends the feed, of which changes begin to be missing: no position from before holds.
    async fn end_feed(&self, deadline: Instant) -> Result<()>;

    /// Removes a chunk of what is too old for the feed; whether there is more to do.
    async fn prune_feed(&self, now: Micros, deadline: Instant) -> Result<bool>;
}

#[async_trait]
impl<B: Backend> Reads for Transactions<B> {
    fn feeds(&self) -> bool {
        self.runner.database().feeds()
    }

    async fn feed(&self, query: &FeedQuery, until: Instant, deadline: Instant) -> Result<FeedPage> {
        if !self.feeds() {
            return Ok(FeedPage::Disabled);
        }
        let call = self.runner.across_apps(deadline);
        let key = FeedKey::of(self.salt(&call).await?);
        let page = async |tx: &mut B::Tx| page(tx, query, &key, until).await;
        call.read(page).await
    }
}

#[async_trait]
impl<B: Backend> Writes for Transactions<B> {
    async fn tick(&self, after: i64, at_once: bool, deadline: Instant) -> Result<(i64, Option<Vec<FeedScope>>)> {
        self.runner.across_apps(deadline).write(async |tx| tick(tx, after, at_once).await).await
    }

    async fn end_feed(&self, deadline: Instant) -> Result<()> {
        self.runner.across_apps(deadline).write(async |tx| end(tx).await).await
    }

    async fn prune_feed(&self, now: Micros, deadline: Instant) -> Result<bool> {
        let age = i64::try_from(self.runner.database().limits().feed.as_micros()).unwrap_or(i64::MAX);
        self.runner.across_apps(deadline).write(async |tx| prune(tx, now, age).await).await
    }
}

/// How many changes one statement reads at most that the reader may not want.
const LOOK: usize = 1000;

/// A page. It may be empty and not be up to date: there was nothing for this reader in as much as one transaction looks at before
/// `until`.
pub async fn page<X: Tx>(tx: &mut X, query: &FeedQuery, key: &FeedKey, until: Instant) -> Result<FeedPage> {
    let lacking = || StoreError::new(Cause::Unavailable, "the change feed is not ready yet");
    let oldest = feed::oldest(tx).await?.ok_or_else(lacking)?;
    let latest = feed::latest(tx).await?.ok_or_else(lacking)?;
    let mut place = match &query.begin {
        FeedBegin::Start => oldest.end(),
        FeedBegin::Now => latest.end(),
        FeedBegin::Behind(position) => {
            let gone = || Ok(FeedPage::Gone { oldest: key.seal(&oldest.end()) });
            let Some(place) = key.open(position) else { return gone() };
            let tick = feed::tick(tx, place.tick).await?;
            // Changes up to the end of the oldest tick are not kept.
            let is_pruned = place.row.is_some() && place.tick == oldest.number;
            if is_pruned || tick.is_none_or(|tick| tick.proof() != place.proof) {
                return gone();
            }
            place
        }
    };
    let mut changes: Vec<Change> = Vec::new();
    let mut bytes = 0;
    let (mut ticks, most_ticks) = feed::windows(tx, &query.scope);
    loop {
        let window = feed::last_of_window(tx, place.tick, ticks).await?.ok_or_else(lacking)?;
        let limit = LOOK.min(query.max_rows.saturating_mul(4));
        let (found, is_all) = feed::changes(tx, &query.scope, &place, window.number, limit, key).await?;
        for (behind, mut change) in found {
            if query.wants(change.kind, &change.app, change.user.as_ref()) {
                if changes.len() == query.max_rows || bytes > query.max_bytes {
                    return Ok(FeedPage::Changes { changes, position: key.seal(&place), up_to_date: false });
                }
                if query.with_content {
                    bytes += fill(tx, &mut change).await?;
                }
                changes.push(change);
            }
            place = behind;
        }
        if is_all {
            place = window.end();
            ticks = (ticks * 4).min(most_ticks);
        }
        let up_to_date = is_all && window.number == latest.number;
        if up_to_date || changes.len() == query.max_rows || Instant::now() >= until {
            return Ok(FeedPage::Changes { changes, position: key.seal(&place), up_to_date });
        }
    }
}

/// Reads what a change holds; how many bytes that is.
async fn fill<X: Tx>(tx: &mut X, change: &mut Change) -> Result<usize> {
    let Change { kind, app, user, session, first, last, .. } = change;
    let user = user.as_ref().map(|user| UserKey { app: app.clone(), user: user.clone() });
    let mut bytes = 0;
    change.content = match (*kind, user, session) {
        (ChangeKind::Events, Some(user), Some((session, incarnation))) => {
            let key = SessionKey { user, session: session.clone() };
            let events = feed::events(tx, &key, *incarnation, *first, *last).await?;
            bytes = events.iter().map(|event| event.body.len()).sum();
            Content::Events { gone: (events.len() as i64) <= *last - *first, events }
        }
        (kind @ (ChangeKind::UserState | ChangeKind::AppState), user, _) => {
            let user = user.filter(|_| kind == ChangeKind::UserState);
            let rows = feed::state(tx, app, user.as_ref(), *first, *last).await?;
            let mut revisions: Vec<i64> = rows.iter().map(|(revision, ..)| *revision).collect();
            revisions.dedup();
            let gone = (revisions.len() as i64) <= *last - *first;
            // In order: the last change of a key counts.
            let keys: BTreeMap<String, Option<String>> = rows.into_iter().map(|(_, key, value)| (key, value)).collect();
            let (mut set, mut removed) = (Vec::new(), Vec::new());
            for (key, value) in keys {
                bytes += key.len() + value.as_ref().map_or(0, String::len);
                match value {
                    Some(value) => set.push((key, value)),
                    None => removed.push(key),
                }
            }
            Content::State { set, removed, gone }
        }
        _ => Content::None,
    };
    Ok(bytes)
}

/// How many names one tick tells of.
const NAMES: i64 = 1000;

pub async fn tick<X: Tx>(tx: &mut X, after: i64, at_once: bool) -> Result<((i64, Option<Vec<FeedScope>>), End)> {
    tx.tick(at_once).await?;
    let latest = feed::latest(tx).await?.map_or(0, |tick| tick.number);
    if latest < after {
        return Ok(((latest, None), End::UNTOLD));
    }
    if latest == after {
        return Ok(((latest, Some(Vec::new())), End::UNTOLD));
    }
    let names = tx.ticked(after, latest, NAMES).await?;
    let is_all = (names.len() as i64) < NAMES;
    let scope = |(app, user): (String, Option<String>)| {
        let app = AppName::parse(&app).map_err(corrupt)?;
        Ok(match user {
            Some(user) => FeedScope::User(UserKey { app, user: UserId::parse(&user).map_err(corrupt)? }),
            None => FeedScope::App(app),
        })
    };
    let scopes = names.into_iter().map(scope).collect::<Result<Vec<_>>>()?;
    Ok(((latest, is_all.then_some(scopes)), End::UNTOLD))
}

/// How much one transaction removes.
const PRUNED: i64 = 1000;

/// Ends the feed: from now on changes are not recorded.
pub async fn end<X: Tx>(tx: &mut X) -> Result<((), End)> {
    Ok((tx.end_feed(true).await?, End::UNTOLD))
}

/// Removes what is older than `age`, in microseconds; all, if the feed is off.
pub async fn prune<X: Tx>(tx: &mut X, now: Micros, mut age: i64) -> Result<(bool, End)> {
    if !tx.feeds() {
        tx.end_feed(false).await?;
        age = i64::MIN / 2;
    }
    let removed = tx.prune_feed(now, age, PRUNED).await?;
    Ok((removed > 0, if removed > 0 { End::UNTOLD } else { End::Release }))
}
