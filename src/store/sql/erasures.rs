//! Erasures, on either database.

use sqlx::FromRow;

use super::primitives::at_most_one;
use super::query::{Query, Sql};
use crate::domain::erasure::{Counts, Erase, Erasure, Subject};
use crate::domain::ids::{AppName, UserId, UserKey};
use crate::domain::time::Micros;
use crate::store::error::{StoreError, corrupt};

type Result<T> = std::result::Result<T, StoreError>;

#[derive(FromRow)]
struct ErasureRow {
    id: String,
    app_name: String,
    user_id: Option<String>,
    subject: String,
    request_id: Option<String>,
    reference: Option<String>,
    block: Option<bool>,
    request_time: i64,
    done_time: Option<i64>,
    sessions: i64,
    events: i64,
    state_keys: i64,
    changes: i64,
    receipt: Option<String>,
}

impl TryFrom<ErasureRow> for Erasure {
    type Error = StoreError;

    fn try_from(row: ErasureRow) -> Result<Self> {
        Ok(Self {
            id: row.id,
            app: AppName::parse(&row.app_name).map_err(corrupt)?,
            subject: Subject::trusted(row.subject),
            request_id: row.request_id,
            reference: row.reference,
            block: row.block,
            request_time: Micros(row.request_time),
            done_time: row.done_time.map(Micros),
            counts: Counts {
                sessions: row.sessions,
                events: row.events,
                state_keys: row.state_keys,
                changes: row.changes,
            },
            receipt: row.receipt,
        })
    }
}

pub async fn erasure(db: &mut impl Sql, id: &str) -> Result<Option<Erasure>> {
    let row: Option<ErasureRow> = at_most_one(db, Query::new(&*db.statements().erasure).bind(id)).await?;
    row.map(Erasure::try_from).transpose()
}

pub async fn of_request(db: &mut impl Sql, app: &AppName, request_id: &str) -> Result<Option<Erasure>> {
    let query = Query::new(&*db.statements().erasure_of_request).app(app).bind(request_id);
    let row: Option<ErasureRow> = at_most_one(db, query).await?;
    row.map(Erasure::try_from).transpose()
}

/// Up to `limit` erasures before that id, the latest first.
pub async fn erasures(db: &mut impl Sql, before: Option<&str>, limit: i64) -> Result<Vec<Erasure>> {
    let query = Query::new(&*db.statements().erasures).bind(before).bind(limit);
    let rows: Vec<ErasureRow> = db.fetch(query).await?;
    rows.into_iter().map(Erasure::try_from).collect()
}

pub async fn insert(db: &mut impl Sql, erase: &Erase) -> Result<()> {
    let query = Query::new(&*db.statements().insert_erasure)
        .user(&erase.user)
        .bind(&erase.id)
        .bind(erase.subject.as_str())
        .bind(erase.draft.request_id.as_deref())
        .bind(erase.draft.reference.as_deref())
        .bind(erase.draft.block.map(i64::from))
        .bind(erase.now.0);
    db.execute(query).await.map(drop)
}

/// Buries all sessions of a user, and imports under way; the ids of the sessions.
pub async fn bury_user(db: &mut impl Sql, user: &UserKey, erasure: &str) -> Result<Vec<String>> {
    let statements = db.statements();
    let ids: Vec<(String,)> = db.fetch(Query::new(&*statements.sessions_of_user).user(user)).await?;
    db.execute(Query::new(&*statements.bury_user).user(user).bind(erasure)).await?;
    db.execute(Query::new(&*statements.bury_imports).user(user).bind(erasure)).await?;
    db.execute(Query::new(&*statements.unlist_user).user(user)).await?;
    let sessions = i64::try_from(ids.len()).unwrap_or(i64::MAX);
    count(db, erasure, Counts { sessions, ..Counts::default() }).await?;
    Ok(ids.into_iter().map(|(id,)| id).collect())
}

/// Removes user state, its history, and the keys of its changes.
pub async fn remove_scope(db: &mut impl Sql, user: &UserKey, erasure: &str) -> Result<()> {
    let statements = db.statements();
    let state_keys = number(db.execute(Query::new(&*statements.remove_user_state).user(user)).await?);
    let changes = number(db.execute(Query::new(&*statements.remove_user_log).user(user)).await?);
    for text in [&statements.remove_user_spans, &statements.remove_user_patches, &statements.remove_user_scope] {
        db.execute(Query::new(&**text).user(user)).await?;
    }
    count(db, erasure, Counts { state_keys, changes, ..Counts::default() }).await
}

pub fn number(rows: u64) -> i64 {
    i64::try_from(rows).unwrap_or(i64::MAX)
}

/// Adds what was removed to the counts of an erasure.
pub async fn count(db: &mut impl Sql, erasure: &str, removed: Counts) -> Result<()> {
    let Counts { sessions, events, state_keys, changes } = removed;
    let query = Query::new(&*db.statements().count_erased)
        .bind(erasure)
        .bind(sessions)
        .bind(events)
        .bind(state_keys)
        .bind(changes);
    db.execute(query).await.map(drop)
}

pub async fn block(db: &mut impl Sql, app: &AppName, subject: &Subject) -> Result<()> {
    db.execute(Query::new(&*db.statements().block_user).app(app).bind(subject.as_str())).await.map(drop)
}

pub async fn unblock(db: &mut impl Sql, app: &AppName, subject: &Subject) -> Result<()> {
    db.execute(Query::new(&*db.statements().unblock_user).app(app).bind(subject.as_str())).await.map(drop)
}

pub async fn is_blocked(db: &mut impl Sql, app: &AppName, subject: &Subject) -> Result<bool> {
    let query = Query::new(&*db.statements().is_blocked).app(app).bind(subject.as_str());
    Ok(at_most_one::<(String,)>(db, query).await?.is_some())
}

pub async fn revoke(db: &mut impl Sql, app: &AppName, subject: &Subject) -> Result<i64> {
    let query = Query::new(&*db.statements().revoke_tokens).app(app).bind(subject.as_str());
    let (epoch,) = super::primitives::one(db, query).await?;
    Ok(epoch)
}

/// An erasure that is running, of which no row is left, and its user.
pub async fn unfinished(db: &mut impl Sql) -> Result<Option<(Erasure, Option<UserId>)>> {
    let row: Option<ErasureRow> = at_most_one(db, Query::new(&*db.statements().unfinished_erasure)).await?;
    let Some(mut row) = row else { return Ok(None) };
    let user = row.user_id.take().map(|user| UserId::parse(&user).map_err(corrupt)).transpose()?;
    Ok(Some((Erasure::try_from(row)?, user)))
}

/// Notes that an erasure is done, and forgets whose it was.
pub async fn finish(db: &mut impl Sql, id: &str, receipt: &str, now: Micros) -> Result<()> {
    db.execute(Query::new(&*db.statements().finish_erasure).bind(id).bind(now.0).bind(receipt)).await.map(drop)
}
