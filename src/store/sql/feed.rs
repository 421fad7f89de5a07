//! The change feed: its statements that both databases share, and their rows.
//!
//! PostgreSQL's ticks are snapshots; on SQLite, where commits have an order, each change is a tick.

use sqlx::FromRow;

use super::primitives::at_most_one;
use super::query::{Query, Sql};
use super::rows::EventRow;
use crate::domain::event::StoredEvent;
use crate::domain::feed::{Change, ChangeKind, Content, FeedKey, FeedPlace, FeedScope, Tick};
use crate::domain::ids::{AppName, SessionId, SessionKey, UserId, UserKey};
use crate::domain::time::Micros;
use crate::store::error::{StoreError, corrupt};

type Result<T> = std::result::Result<T, StoreError>;

/// The texts in which the databases differ. Changes are those after the row `$2` of the tick `$1`, up to the tick `$3`, `$4` of them.
#[derive(Clone, Copy)]
pub struct FeedWords {
    /// Columns of a tick, and where ticks are.
    pub ticks: &'static str,
    /// What makes a tick one of this database; begins with `where`.
    pub valid: &'static str,
    /// All changes, or those of the app `$5`.
    pub changes: &'static str,
    /// Those of the user `$6`.
    pub changes_of_user: &'static str,
    /// What finds the changes of the user `$2` of the app `$1` in an index; ends with `and `.
    pub of_user: &'static str,
    /// How many ticks the first statement of a page goes through, the others at most, and those that look for changes of a user. What
    /// the ticks of one statement have is sorted.
    pub first_window: i64,
    pub window: i64,
    pub window_of_user: i64,
    /// Each change is a tick.
    pub is_row: bool,
}

#[derive(FromRow)]
pub struct TickRow {
    tick: i64,
    time: i64,
    snapshot: String,
}

impl From<TickRow> for Tick {
    fn from(row: TickRow) -> Self {
        Self { number: row.tick, time: Micros(row.time), snapshot: row.snapshot }
    }
}

#[derive(FromRow)]
struct FeedRow {
    tick: i64,
    tick_time: i64,
    snapshot: String,
    id: i64,
    kind: i64,
    app_name: String,
    user_id: Option<String>,
    session_id: Option<String>,
    incarnation: Option<i64>,
    first_revision: i64,
    last_revision: i64,
    detail: Option<String>,
    time: i64,
}

impl FeedRow {
    /// `None`: of a kind that this version does not know.
    fn change(self, is_row: bool, key: &FeedKey) -> Result<Option<(FeedPlace, Change)>> {
        let Some(kind) = ChangeKind::of_number(self.kind) else { return Ok(None) };
        let tick = Tick { number: self.tick, time: Micros(self.tick_time), snapshot: self.snapshot };
        let session = self.session_id.as_deref().map(SessionId::parse).transpose().map_err(corrupt)?;
        let place = if is_row { tick.end() } else { tick.at(self.id) };
        let change = Change {
            position: key.seal(&place),
            time: Micros(self.time),
            kind,
            app: AppName::parse(&self.app_name).map_err(corrupt)?,
            user: self.user_id.as_deref().map(UserId::parse).transpose().map_err(corrupt)?,
            session: session.zip(self.incarnation),
            first: self.first_revision,
            last: self.last_revision,
            detail: self.detail,
            content: Content::None,
        };
        Ok(Some((place, change)))
    }
}

/// The tick of this number.
pub async fn tick(db: &mut impl Sql, number: i64) -> Result<Option<Tick>> {
    let query = Query::new(&*db.statements().feed_tick).bind(number);
    Ok(at_most_one::<TickRow>(db, query).await?.map(Tick::from))
}

/// The oldest tick; nothing is kept of what is before its end.
pub async fn oldest(db: &mut impl Sql) -> Result<Option<Tick>> {
    Ok(at_most_one::<TickRow>(db, Query::new(&*db.statements().feed_oldest)).await?.map(Tick::from))
}

pub async fn latest(db: &mut impl Sql) -> Result<Option<Tick>> {
    Ok(at_most_one::<TickRow>(db, Query::new(&*db.statements().feed_latest)).await?.map(Tick::from))
}

/// How many ticks the first statement of a page goes through, and how many the others at most.
pub fn windows(db: &mut impl Sql, scope: &FeedScope) -> (i64, i64) {
    let feed = &db.statements().words.feed;
    (feed.first_window, if matches!(scope, FeedScope::User(_)) { feed.window_of_user } else { feed.window })
}

/// The last of so many ticks from one on.
pub async fn last_of_window(db: &mut impl Sql, from: i64, ticks: i64) -> Result<Option<Tick>> {
    let query = Query::new(&*db.statements().feed_window).bind(from).bind(ticks);
    Ok(at_most_one::<TickRow>(db, query).await?.map(Tick::from))
}

/// The next changes behind a place, up to `limit`, none after the tick `through`, of the scope alone; and whether that is all.
pub async fn changes(
    db: &mut impl Sql,
    scope: &FeedScope,
    after: &FeedPlace,
    through: i64,
    limit: usize,
    key: &FeedKey,
) -> Result<(Vec<(FeedPlace, Change)>, bool)> {
    let statements = db.statements();
    let (app, user): (Option<&AppName>, Option<&UserKey>) = match scope {
        FeedScope::All => (None, None),
        FeedScope::App(app) => (Some(app), None),
        FeedScope::User(user) => (Some(&user.app), Some(user)),
    };
    let text = if user.is_some() { &statements.feed_changes_of_user } else { &statements.feed_changes };
    let mut query = Query::new(&**text)
        .bind(after.tick)
        .bind(after.row.unwrap_or(i64::MAX))
        .bind(through)
        .bind(limit as i64)
        .bind(app.map(AppName::as_str));
    if let Some(user) = user {
        query = query.bind(user.user.as_str());
    }
    let is_row = statements.words.feed.is_row;
    let rows: Vec<FeedRow> = db.fetch(query).await?;
    let is_all = rows.len() < limit;
    let changes = rows.into_iter().filter_map(|row| row.change(is_row, key).transpose()).collect::<Result<_>>()?;
    Ok((changes, is_all))
}

/// The events of a session from one sequence to another that are still there.
pub async fn events(
    db: &mut impl Sql,
    key: &SessionKey,
    incarnation: i64,
    first: i64,
    last: i64,
) -> Result<Vec<StoredEvent>> {
    let query = Query::new(&*db.statements().feed_events).session(key).bind(incarnation).bind(first).bind(last);
    let rows: Vec<EventRow> = db.fetch(query).await?;
    Ok(rows.into_iter().map(StoredEvent::from).collect())
}

/// What was set (with its value) and removed in a shared scope from one revision to another, in order.
pub async fn state(
    db: &mut impl Sql,
    app: &AppName,
    user: Option<&UserKey>,
    first: i64,
    last: i64,
) -> Result<Vec<(i64, String, Option<String>)>> {
    let statements = db.statements();
    let query = match user {
        Some(user) => Query::new(&*statements.feed_user_state).user(user),
        None => Query::new(&*statements.feed_app_state).app(app),
    };
    db.fetch(query.bind(first).bind(last)).await
}

/// Takes what the feed has of a user.
pub async fn forget_user(db: &mut impl Sql, user: &UserKey) -> Result<()> {
    let query = Query::new(&*db.statements().feed_forget_user).user(user);
    db.execute(query).await.map(drop)
}
