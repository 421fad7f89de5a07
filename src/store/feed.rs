//! Reads the change feed.

use std::collections::BTreeMap;

use async_trait::async_trait;
use tokio::time::Instant;

use crate::domain::event::StoredEvent;
use crate::domain::feed::{
    Change, ChangeKind, Content, FeedBegin, FeedKey, FeedPage, FeedPlace, FeedPosition, FeedQuery, FeedScope, Quiet,
    Tick,
};
use crate::domain::ids::{AppName, ScopeKey, SessionId, SessionKey, UserId, UserKey};
use crate::domain::time::Micros;
use crate::store::backend::{Backend, Database as _, FeedTx as _, Tx};
use crate::store::error::{Cause, Result, StoreError};
use crate::store::run::End;
use crate::store::sql::columns::{OF_INCARNATION, OF_SESSION};
use crate::store::sql::query::{Query, at_most_one, row};
use crate::store::sql::scope::ScopeTables;
use crate::store::sql::statements::statements;
use crate::store::sql::words::Words;
use crate::store::transactions::Transactions;

#[async_trait]
pub trait Reads: Send + Sync {
    /// Whether changes are recorded for the feed.
    fn feeds(&self) -> bool;

    /// Reads the change feed. It searches for changes that the query wants until `until` at the longest; `known` says of what the query
    /// begins with where it need not search again. `now` is the process's time.
    async fn feed(
        &self,
        query: &FeedQuery,
        known: Option<Quiet>,
        now: Micros,
        until: Instant,
        deadline: Instant,
    ) -> Result<FeedPage>;
}

#[async_trait]
pub trait Writes: Send + Sync {
    /// Adds a tick, which makes earlier commits visible in the feed, unless one was added a moment ago; with `at_once` in any case.
    /// Returns the last tick, with the apps and users that changed after the tick `after`; `None` if there are too many, or `after` is
    /// unknown.
    async fn tick(&self, after: i64, at_once: bool, deadline: Instant) -> Result<(i64, Option<Vec<FeedScope>>)>;

    /// Ends the feed, of which changes begin to be missing: no position from before holds.
    async fn end_feed(&self, deadline: Instant) -> Result<()>;

    /// Removes a chunk of the changes that are too old for the feed. Returns whether there is more to do.
    async fn prune_feed(&self, now: Micros, deadline: Instant) -> Result<bool>;
}

#[async_trait]
impl<B: Backend> Reads for Transactions<B> {
    fn feeds(&self) -> bool {
        self.runner.database().feeds()
    }

    async fn feed(
        &self,
        query: &FeedQuery,
        known: Option<Quiet>,
        now: Micros,
        until: Instant,
        deadline: Instant,
    ) -> Result<FeedPage> {
        if !self.feeds() {
            return Ok(FeedPage::Disabled);
        }
        let kept = i64::try_from(self.runner.database().limits().feed.as_micros()).unwrap_or(i64::MAX);
        let call = self.runner.across_apps(deadline);
        let key = FeedKey::of(self.salt(&call).await?);
        let page = async |tx: &mut B::Tx| {
            let oldest = at_most_one(tx, Query::new(&Statements::of(tx).feed_oldest)).await?.ok_or_else(lacking)?;
            let latest = latest_tick(tx).await?.ok_or_else(lacking)?;
            let search = Search { query, key: &key, oldest, latest, until };
            search.page(tx, known, Micros(now.0.saturating_sub(kept / 2))).await
        };
        call.read(page).await
    }
}

#[async_trait]
impl<B: Backend> Writes for Transactions<B> {
    async fn tick(&self, after: i64, at_once: bool, deadline: Instant) -> Result<(i64, Option<Vec<FeedScope>>)> {
        self.runner.across_apps(deadline).write(async |tx| tick(tx, after, at_once).await).await
    }

    async fn end_feed(&self, deadline: Instant) -> Result<()> {
        self.runner.across_apps(deadline).write(async |tx| Ok((tx.end_feed(true).await?, End::UNTOLD))).await
    }

    async fn prune_feed(&self, now: Micros, deadline: Instant) -> Result<bool> {
        let age = i64::try_from(self.runner.database().limits().feed.as_micros()).unwrap_or(i64::MAX);
        self.runner.across_apps(deadline).write(async |tx| prune(tx, now, age).await).await
    }
}

/// How many changes one statement reads at most that the reader may not want.
const LOOK: usize = 1000;

/// A search for the changes of a page, within what the feed has.
struct Search<'a> {
    query: &'a FeedQuery,
    key: &'a FeedKey,
    /// Nothing is kept of what is before its end.
    oldest: Tick,
    latest: Tick,
    /// When it ends, found or not.
    until: Instant,
}

impl Search<'_> {
    /// A page. It may be empty and not be up to date: the changes that one transaction reads before `until` had none for this reader. A
    /// position of a tick that is older than `aging` is given to nobody who can have a later one.
    async fn page<X: Tx>(&self, tx: &mut X, known: Option<Quiet>, aging: Micros) -> Result<FeedPage> {
        let Self { query, key, .. } = *self;
        let known = match known {
            Some(Quiet { position, through }) => self.held(tx, &through).await?.map(|(place, _)| (position, place)),
            None => None,
        };
        // The position to give back if there is nothing, and where to look.
        let (mut quiet, mut place) = match &query.begin {
            FeedBegin::Start => (key.seal(&self.oldest.end()), self.oldest.end()),
            FeedBegin::Behind(position) => {
                let Some((place, _)) = self.held(tx, position).await? else {
                    return Ok(FeedPage::Gone { oldest: key.seal(&self.oldest.end()) });
                };
                known.unwrap_or((*position, place))
            }
            FeedBegin::Now => match known {
                Some(known) => known,
                None => (self.last(tx).await?, self.latest.end()),
            },
        };
        let mut changes: Vec<Change> = Vec::new();
        let mut bytes = 0;
        let (mut ticks, most_ticks) = windows(tx, &query.scope);
        let up_to_date = 'search: loop {
            let window = Query::new(&Statements::of(tx).feed_window).bind(place.tick).bind(ticks);
            let window: Tick = at_most_one(tx, window).await?.ok_or_else(lacking)?;
            let limit = LOOK.min(query.max_rows.saturating_mul(4));
            let (found, is_all) = changes_after(tx, &query.scope, &place, window.number, limit, key).await?;
            for (behind, mut change) in found {
                if query.wants(change.kind, &change.app, change.user.as_ref()) {
                    if changes.len() == query.max_rows || bytes > query.max_bytes {
                        break 'search false;
                    }
                    quiet = change.position;
                    if query.begin != FeedBegin::Now {
                        if query.with_content {
                            bytes += fill(tx, &mut change).await?;
                        }
                        changes.push(change);
                    }
                }
                place = behind;
            }
            if is_all {
                place = window.end();
                ticks = (ticks * 4).min(most_ticks);
            }
            let up_to_date = is_all && window.number == self.latest.number;
            if up_to_date || changes.len() == query.max_rows || Instant::now() >= self.until {
                break up_to_date;
            }
        };
        // What is now needs no search.
        let is_cut = !up_to_date && query.begin == FeedBegin::Now;
        let through = key.seal(&if is_cut { self.latest.end() } else { place });
        let position = match (changes.is_empty(), up_to_date) {
            (false, _) => quiet,
            // Whoever asks again does not search this part again.
            (true, false) => through,
            (true, true) => match self.held(tx, &quiet).await? {
                Some((_, tick)) if tick.time >= aging => quiet,
                _ => through,
            },
        };
        Ok(FeedPage::Changes { changes, position, through, up_to_date: up_to_date || is_cut })
    }

    /// The place of a position and its tick, if the feed has what is behind it.
    async fn held<X: Tx>(&self, tx: &mut X, position: &FeedPosition) -> Result<Option<(FeedPlace, Tick)>> {
        let Some(place) = self.key.open(position) else { return Ok(None) };
        // Changes up to the end of the oldest tick are not kept.
        let is_pruned = place.row.is_some() && place.tick == self.oldest.number;
        let tick: Option<Tick> = at_most_one(tx, Query::new(&Statements::of(tx).feed_tick).bind(place.tick)).await?;
        let tick = tick.filter(|tick| !is_pruned && tick.proof() == place.proof);
        Ok(tick.map(|tick| (place, tick)))
    }

    /// The position of the last change that the reader may see, or of the oldest tick if there is none; the latest, if that takes too long
    /// to find out.
    async fn last<X: Tx>(&self, tx: &mut X) -> Result<FeedPosition> {
        let Self { query, key, oldest, latest, until } = self;
        let (mut ticks, most_ticks) = windows(tx, &query.scope);
        let mut end = latest.clone();
        loop {
            let begin = Query::new(&Statements::of(tx).feed_window_back).bind(end.number).bind(ticks + 1);
            let begin: Tick = at_most_one(tx, begin).await?.ok_or_else(lacking)?;
            let (mut place, mut last) = (begin.end(), None);
            loop {
                let (found, is_all) = changes_after(tx, &query.scope, &place, end.number, LOOK, key).await?;
                for (behind, change) in found {
                    if query.wants(change.kind, &change.app, change.user.as_ref()) {
                        last = Some(change.position);
                    }
                    place = behind;
                }
                if is_all {
                    break;
                }
            }
            if let Some(last) = last {
                return Ok(last);
            }
            if begin.number == end.number || begin.number == oldest.number {
                return Ok(key.seal(&oldest.end()));
            }
            if Instant::now() >= *until {
                return Ok(key.seal(&latest.end()));
            }
            end = begin;
            ticks = (ticks * 4).min(most_ticks);
        }
    }
}

fn lacking() -> StoreError {
    StoreError::new(Cause::Unavailable, "the change feed is not ready yet")
}

/// Reads the content of a change. Returns how many bytes it has.
async fn fill<X: Tx>(tx: &mut X, change: &mut Change) -> Result<usize> {
    let Change { kind, app, user, session, first, last, .. } = change;
    let user = user.as_ref().map(|user| UserKey { app: app.clone(), user: user.clone() });
    let mut bytes = 0;
    change.content = match (*kind, user, session) {
        // A redacted event is shown as it is now.
        (ChangeKind::Events | ChangeKind::EventRedacted, Some(user), Some((session, incarnation))) => {
            let key = SessionKey { user, session: session.clone() };
            let query = Query::of(&Statements::of(tx).feed_events, &key, *incarnation).bind(*first).bind(*last);
            let events: Vec<StoredEvent> = tx.fetch(query).await?;
            bytes = events.iter().map(|event| event.body.len()).sum();
            Content::Events { gone: (events.len() as i64) <= *last - *first, events }
        }
        (kind @ (ChangeKind::UserState | ChangeKind::AppState), user, _) => {
            let user = user.filter(|_| kind == ChangeKind::UserState);
            let scope = user.map_or_else(|| ScopeKey::App(app.clone()), ScopeKey::User);
            let query = Query::new(&ScopeStatements::of(tx, &scope).feed_state).owner(&scope).bind(*first).bind(*last);
            // What was set (with its value) and removed, in order.
            let rows: Vec<(i64, String, Option<String>)> = tx.fetch(query).await?;
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

/// How many names are returned for one tick.
const NAMES: i64 = 1000;

pub async fn tick<X: Tx>(tx: &mut X, after: i64, at_once: bool) -> Result<((i64, Option<Vec<FeedScope>>), End)> {
    tx.tick(at_once).await?;
    let latest = latest_tick(tx).await?.map_or(0, |tick| tick.number);
    if latest < after {
        return Ok(((latest, None), End::UNTOLD));
    }
    if latest == after {
        return Ok(((latest, Some(Vec::new())), End::UNTOLD));
    }
    let names = tx.ticked(after, latest, NAMES).await?;
    let is_all = (names.len() as i64) < NAMES;
    let scope = |(app, user)| match user {
        Some(user) => FeedScope::User(UserKey { app, user }),
        None => FeedScope::App(app),
    };
    let scopes = is_all.then(|| names.into_iter().map(scope).collect());
    Ok(((latest, scopes), End::UNTOLD))
}

/// How much one transaction removes.
const PRUNED: i64 = 1000;

/// Removes what is older than `age`, in microseconds; all, if the feed is off.
pub async fn prune<X: Tx>(tx: &mut X, now: Micros, mut age: i64) -> Result<(bool, End)> {
    if !tx.feeds() {
        tx.end_feed(false).await?;
        age = i64::MIN / 2;
    }
    let removed = tx.prune_feed(now, age, PRUNED).await?;
    Ok((removed > 0, if removed > 0 { End::UNTOLD } else { End::Release }))
}

async fn latest_tick(tx: &mut impl Tx) -> Result<Option<Tick>> {
    at_most_one(tx, Query::new(&Statements::of(tx).feed_latest)).await
}

/// How many ticks the first statement of a page goes through, and how many the others at most.
fn windows(tx: &mut impl Tx, scope: &FeedScope) -> (i64, i64) {
    let feed = &tx.words().feed;
    (feed.first_window, if matches!(scope, FeedScope::User(_)) { feed.window_of_user } else { feed.window })
}

/// The next changes behind a place, up to `limit`, none after the tick `through`, of the scope alone; and whether that is all.
async fn changes_after(
    tx: &mut impl Tx,
    scope: &FeedScope,
    after: &FeedPlace,
    through: i64,
    limit: usize,
    key: &FeedKey,
) -> Result<(Vec<(FeedPlace, Change)>, bool)> {
    let statements = Statements::of(tx);
    let (app, user): (Option<&AppName>, Option<&UserKey>) = match scope {
        FeedScope::All => (None, None),
        FeedScope::App(app) => (Some(app), None),
        FeedScope::User(user) => (Some(&user.app), Some(user)),
    };
    let text = if user.is_some() { &statements.feed_changes_of_user } else { &statements.feed_changes };
    let mut query = Query::new(text)
        .bind(after.tick)
        .bind(after.row.unwrap_or(i64::MAX))
        .bind(through)
        .bind(limit as i64)
        .bind(app.map(AppName::as_str));
    if let Some(user) = user {
        query = query.bind(user.user.as_str());
    }
    let is_row = tx.words().feed.is_row;
    let rows: Vec<FeedRow> = tx.fetch(query).await?;
    let is_all = rows.len() < limit;
    Ok((rows.into_iter().filter_map(|row| row.change(is_row, key)).collect(), is_all))
}

statements! { words,
    /// The tick `$1`, and others.
    feed_tick: format!("select {} {} and {} = $1", words.feed.ticks, words.feed.valid, tick_column(words)),
    feed_oldest: format!("select {} {} order by {} limit 1", words.feed.ticks, words.feed.valid, tick_column(words)),
    feed_latest: format!("select {} {} order by {} desc limit 1", words.feed.ticks, words.feed.valid, tick_column(words)),
    /// The last of `$2` ticks from `$1` on.
    feed_window: format!(
        "select tick, time, snapshot from (select {} {} and {tick} >= $1 order by {tick} limit 0 + $2) as t \
         order by tick desc limit 1",
        words.feed.ticks,
        words.feed.valid,
        tick = tick_column(words)
    ),
    /// The first of `$2` ticks up to `$1`.
    feed_window_back: format!(
        "select tick, time, snapshot from (select {} {} and {tick} <= $1 order by {tick} desc limit 0 + $2) as t \
         order by tick limit 1",
        words.feed.ticks,
        words.feed.valid,
        tick = tick_column(words)
    ),
    feed_changes: words.feed.changes,
    feed_changes_of_user: words.feed.changes_of_user,
    /// The events from `$5` to `$6`, as far as they are there.
    feed_events: format!(
        "select sequence, commit_time, body from events where {OF_INCARNATION} and sequence >= $5 and sequence <= $6 \
           and sequence > (select s.base_revision from sessions s where {OF_SESSION}) order by sequence"
    ),
    /// Removes the names of a user from the feed.
    feed_forget_user: format!(
        "update changes set kind = 0, user_id = null, session_id = null, incarnation = null, detail = null \
         where {}app_name = $1 and user_id = $2",
        words.feed.of_user
    ),
}

statements! { _words, ScopeTables { name, of, params: [p, q, ..], .. },
    feed_state: format!(
        "select revision, key, value from {name}_log where {of} and revision >= {p} and revision <= {q} order by revision, key"
    ),
}

/// The column that numbers ticks.
fn tick_column(words: &Words) -> &'static str {
    if words.feed.is_row { "id" } else { "tick" }
}

row! {
    impl Tick {
        number: i64 = "tick",
        time: Micros,
        snapshot: String,
    }
}

row! {
    struct FeedRow {
        tick: i64,
        tick_time: Micros,
        snapshot: String,
        id: i64,
        kind: i64,
        app_name: AppName,
        user_id: Option<UserId>,
        session_id: Option<SessionId>,
        incarnation: Option<i64>,
        first_revision: i64,
        last_revision: i64,
        detail: Option<String>,
        time: Micros,
    }
}

impl FeedRow {
    /// `None`: of a kind that this version does not know.
    fn change(self, is_row: bool, key: &FeedKey) -> Option<(FeedPlace, Change)> {
        let kind = ChangeKind::of_number(self.kind)?;
        let tick = Tick { number: self.tick, time: self.tick_time, snapshot: self.snapshot };
        let place = if is_row { tick.end() } else { tick.at(self.id) };
        let change = Change {
            position: key.seal(&place),
            time: self.time,
            kind,
            app: self.app_name,
            user: self.user_id,
            session: self.session_id.zip(self.incarnation),
            first: self.first_revision,
            last: self.last_revision,
            detail: self.detail,
            content: Content::None,
        };
        Some((place, change))
    }
}
