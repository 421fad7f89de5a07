//! Erasures: everything that names a user goes in one transaction, but for the rows of sessions, which are buried.
//!
//! Whoever makes something for a user out of nothing (a session, state) holds the user meanwhile, and an erasure holds the user
//! alone: so each of them is before it and goes with it, or after it and is judged by whether the user is blocked. Writes of
//! what is there need no more than the locks of its rows, which the erasure takes. The user is held before any row is locked.

use async_trait::async_trait;
use tokio::time::Instant;

use crate::domain::command::Made;
use crate::domain::erasure::{Erasing, Erasure, Removed, Subject};
use crate::domain::ids::{AppName, ScopeKey, SessionId, SessionKey, UserKey};
use crate::domain::refusal::Refusal;
use crate::domain::time::Micros;
use crate::domain::writes::{Committed, Removal, SessionChange};
use crate::store::backend::{Backend, Database as _, Scrubbed, Tx, UserLock};
use crate::store::error::{Cause, Decided, StoreError, corrupt};
use crate::store::run::{Call, End};
use crate::store::sql::feed;
use crate::store::sql::primitives::{at_most_one, one};
use crate::store::sql::query::Query;
use crate::store::sql::rows::ErasureRow;
use crate::store::transactions::Transactions;

type Result<T> = std::result::Result<T, StoreError>;

#[async_trait]
pub trait Reads: Send + Sync {
    /// With which users are hashed where nothing may name them: never another one, also after a restore.
    async fn erasure_salt(&self, deadline: Instant) -> Result<[u8; 32]>;

    async fn erasure(&self, id: &str, deadline: Instant) -> Result<Option<Erasure>>;

    /// Up to `limit` erasures, by id in byte order, after `after`.
    async fn erasures(&self, after: &str, limit: usize, deadline: Instant) -> Result<Vec<Erasure>>;

    /// Up to `limit` erasures of which no row is left, and that are not finished.
    async fn erasures_to_finish(&self, limit: usize, deadline: Instant) -> Result<Vec<Erasure>>;

    /// The apps that had erasures, and how many.
    async fn erasure_counts(&self, deadline: Instant) -> Result<Vec<(AppName, i64)>>;
}

#[async_trait]
pub trait Writes: Send + Sync {
    /// Erases a user: at the commit no session and no state is there, and the rows follow in [`upkeep::Writes::sweep`](crate::store::upkeep::Writes::sweep). The same call again
    /// finds what the first one did.
    async fn erase(&self, erasing: &Erasing, deadline: Instant) -> Decided<(Made, Erasure)>;

    /// Overwrites what was removed by now, in the files of this process. Not a transaction.
    async fn scrub(&self, deadline: Instant) -> Result<Scrubbed>;

    /// Notes that nothing is left, with the receipt, unless that was noted.
    async fn finish_erasure(&self, erasure: &Erasure, done: Micros, receipt: &str, deadline: Instant) -> Result<()>;

    /// The key that signs receipts (PKCS#8): the same for every process. The first call stores its `draw`.
    async fn receipt_key(&self, draw: &[u8], deadline: Instant) -> Result<Vec<u8>>;
}

impl<B: Backend> Transactions<B> {
    /// It never changes, so it is read once.
    pub async fn salt(&self, call: &Call<'_, B>) -> Result<&[u8; 32]> {
        self.salt.get_or_try_init(|| call.one_statement(async |tx| salt(tx).await)).await
    }
}

#[async_trait]
impl<B: Backend> Reads for Transactions<B> {
    async fn erasure_salt(&self, deadline: Instant) -> Result<[u8; 32]> {
        self.salt(&self.runner.across_apps(deadline)).await.copied()
    }

    async fn erasure(&self, id: &str, deadline: Instant) -> Result<Option<Erasure>> {
        self.runner.across_apps(deadline).one_statement(async |tx| erasure(tx, id).await).await
    }

    async fn erasures(&self, after: &str, limit: usize, deadline: Instant) -> Result<Vec<Erasure>> {
        let erasures = async |tx: &mut B::Tx| erasures(tx, after, limit).await;
        self.runner.across_apps(deadline).one_statement(erasures).await
    }

    async fn erasures_to_finish(&self, limit: usize, deadline: Instant) -> Result<Vec<Erasure>> {
        self.runner.across_apps(deadline).one_statement(async |tx| to_finish(tx, limit).await).await
    }

    async fn erasure_counts(&self, deadline: Instant) -> Result<Vec<(AppName, i64)>> {
        self.runner.across_apps(deadline).one_statement(async |tx| counts(tx).await).await
    }
}

#[async_trait]
impl<B: Backend> Writes for Transactions<B> {
    async fn erase(&self, erasing: &Erasing, deadline: Instant) -> Decided<(Made, Erasure)> {
        if let Some(user) = &erasing.user {
            self.remembered.evict_scope(&ScopeKey::User(user.clone()));
        }
        self.runner.of(&erasing.app, deadline).decide(async |tx| erase(tx, erasing).await).await
    }

    async fn scrub(&self, deadline: Instant) -> Result<Scrubbed> {
        self.runner.across_apps(deadline).ask(self.runner.database().scrub()).await
    }

    async fn finish_erasure(&self, erasure: &Erasure, done: Micros, receipt: &str, deadline: Instant) -> Result<()> {
        let finish = async |tx: &mut B::Tx| finish(tx, erasure, done, receipt).await;
        self.runner.of(&erasure.app, deadline).write(finish).await
    }

    async fn receipt_key(&self, draw: &[u8], deadline: Instant) -> Result<Vec<u8>> {
        self.runner.across_apps(deadline).write(async |tx| receipt_key(tx, draw).await).await
    }
}

/// The secrets of a database, by their names.
pub const SALT: &str = "salt";
pub const RECEIPT: &str = "receipt";

/// Holds a user against erasures until the transaction ends; `false` if nothing may be made for the user.
pub async fn admit<X: Tx>(tx: &mut X, app: &AppName, subject: &Subject) -> Result<bool> {
    tx.hold_user(subject.lock(), UserLock::Shared).await?;
    Ok(!is_blocked(tx, app, subject).await?)
}

async fn is_blocked<X: Tx>(tx: &mut X, app: &AppName, subject: &Subject) -> Result<bool> {
    let query = Query::new(&*tx.statements().blocked_user).app(app).bind(&subject.bytes()[..]);
    let found: Option<(Vec<u8>,)> = at_most_one(tx, query).await?;
    Ok(found.is_some())
}

pub async fn erase<X: Tx>(tx: &mut X, erasing: &Erasing) -> Decided<((Made, Erasure), End)> {
    let Erasing { app, subject, .. } = erasing;
    tx.hold_user(subject.lock(), UserLock::Alone).await?;
    let again = Query::new(&*tx.statements().erasure_of_app).app(app).bind(&*erasing.id);
    if let Some(row) = at_most_one::<ErasureRow>(tx, again).await? {
        // Of an earlier try, whose COMMIT was not answered.
        return Ok(((Made::New, row.try_into()?), End::Release));
    }
    if let Some(request) = &erasing.request {
        let query = Query::new(&*tx.statements().erasure_of_request).app(app).bind(&request[..]);
        if let Some(row) = at_most_one::<ErasureRow>(tx, query).await? {
            let found = Erasure::try_from(row)?;
            return match found.subject == *subject {
                true => Ok(((Made::Before, found), End::Release)),
                false => Err(Refusal::ErasureConflict(Box::new(found)).into()),
            };
        }
    }
    let (mut removed, mut committed) = (Removed::default(), Vec::new());
    if let Some(user) = &erasing.user {
        committed = remove(tx, user, &erasing.id, &mut removed).await?;
    }
    let statements = tx.statements();
    let of_subject = |text: &'static str| Query::new(text).app(app).bind(&subject.bytes()[..]);
    match erasing.block {
        Some(true) => drop(tx.execute(of_subject(&statements.block_user)).await?),
        Some(false) => drop(tx.execute(of_subject(&statements.unblock_user)).await?),
        None => {}
    }
    let _: (i64,) = one(tx, of_subject(&statements.revoke_tokens)).await?;
    // Holds the app's count until the commit: what an import that begins now reads has all erasures of a lower number.
    let (number,): (i64,) = one(tx, Query::new(&*statements.number_erasure).app(app)).await?;
    tx.execute(of_subject(&statements.note_erasure).bind(number)).await?;
    let erasure = Erasure {
        id: erasing.id.clone(),
        app: app.clone(),
        subject: *subject,
        request: erasing.request,
        reference: erasing.reference.clone(),
        block: erasing.block,
        blocked: is_blocked(tx, app, subject).await?,
        request_time: erasing.time,
        done_time: None,
        removed,
        receipt: None,
    };
    insert(tx, &erasure).await?;
    committed.push(Committed::Erased { app: app.clone(), subject: *subject, erasure: erasing.id.clone() });
    Ok(((Made::New, erasure), End::Commit(committed)))
}

/// The number of the user's last erasure in the app, 0 without one.
pub async fn last_erasure<X: Tx>(tx: &mut X, app: &AppName, subject: &Subject) -> Result<i64> {
    let query = Query::new(&*tx.statements().last_erasure).app(app).bind(&subject.bytes()[..]);
    let found: Option<(i64,)> = at_most_one(tx, query).await?;
    Ok(found.map_or(0, |(number,)| number))
}

/// How many erasures each app had; none that is not there.
pub async fn counts<X: Tx>(tx: &mut X) -> Result<Vec<(AppName, i64)>> {
    let rows: Vec<(String, i64)> = tx.fetch(Query::new(&*tx.statements().erasure_counts)).await?;
    rows.into_iter().map(|(app, count)| Ok((AppName::parse(&app).map_err(corrupt)?, count))).collect()
}

/// Removes what is there of a user, and buries the sessions; whom to tell.
async fn remove<X: Tx>(tx: &mut X, user: &UserKey, id: &str, removed: &mut Removed) -> Result<Vec<Committed>> {
    let statements = tx.statements();
    let of_user = |text: &'static str| Query::new(text).user(user);
    let sessions: Vec<(String, i64)> = tx.fetch(of_user(&statements.sessions_of_user)).await?;
    let claimed = tx.execute(of_user(&statements.claim_buried).bind(id)).await?;
    tx.execute(of_user(&statements.bury_sessions_of_user).bind(id)).await?;
    tx.execute(of_user(&statements.bury_imports_of_user).bind(id)).await?;
    tx.execute(of_user(&statements.forget_imports_of_user)).await?;
    tx.execute(of_user(&statements.unlist_updates_of_user)).await?;
    tx.execute(of_user(&statements.unlist_sessions_of_user)).await?;
    tx.execute(of_user(&statements.outlast_user_scope)).await?;
    tx.execute(of_user(&statements.forget_user_scope)).await?;
    removed.sessions = sessions.len() as i64 + claimed as i64;
    removed.state_keys = tx.execute(of_user(&statements.forget_user_state)).await? as i64;
    for text in [&statements.forget_user_log, &statements.forget_user_spans] {
        removed.changes += tx.execute(of_user(text)).await? as i64;
    }
    tx.execute(of_user(&statements.forget_patches_of_user)).await?;
    feed::forget_user(tx, user).await?;
    let told = |(session, incarnation): (String, i64)| {
        let session = SessionId::parse(&session).map_err(corrupt)?;
        let (key, change) = (SessionKey { user: user.clone(), session }, SessionChange::Deleted(Removal::Erased));
        Ok(Committed::Session { key, incarnation, change })
    };
    sessions.into_iter().map(told).collect()
}

async fn insert<X: Tx>(tx: &mut X, erasure: &Erasure) -> Result<()> {
    let query = Query::new(&*tx.statements().insert_erasure)
        .bind(&*erasure.id)
        .app(&erasure.app)
        .bind(&erasure.subject.bytes()[..])
        .bind(erasure.request.as_ref().map(|request| &request[..]))
        .bind(erasure.reference.as_deref())
        .bind(erasure.block)
        .bind(erasure.blocked)
        .bind(erasure.request_time.0)
        .bind(erasure.removed.sessions)
        .bind(erasure.removed.events)
        .bind(erasure.removed.state_keys)
        .bind(erasure.removed.changes);
    tx.execute(query).await.map(drop)
}

pub async fn erasure<X: Tx>(tx: &mut X, id: &str) -> Result<Option<Erasure>> {
    let row: Option<ErasureRow> = at_most_one(tx, Query::new(&*tx.statements().erasure).bind(id)).await?;
    row.map(Erasure::try_from).transpose()
}

pub async fn erasures<X: Tx>(tx: &mut X, after: &str, limit: usize) -> Result<Vec<Erasure>> {
    let query = Query::new(&*tx.statements().erasures).bind(after).bind(limit as i64);
    all(tx, query).await
}

pub async fn to_finish<X: Tx>(tx: &mut X, limit: usize) -> Result<Vec<Erasure>> {
    let query = Query::new(&*tx.statements().erasures_to_finish).bind(limit as i64);
    all(tx, query).await
}

async fn all<X: Tx>(tx: &mut X, query: Query<'_>) -> Result<Vec<Erasure>> {
    let rows: Vec<ErasureRow> = tx.fetch(query).await?;
    rows.into_iter().map(Erasure::try_from).collect()
}

/// Adds what the sweep removed of a part of an erasure.
pub async fn count<X: Tx>(tx: &mut X, app: &AppName, id: &str, removed: &Removed) -> Result<()> {
    let query = Query::new(&*tx.statements().count_removed)
        .app(app)
        .bind(id)
        .bind(removed.events)
        .bind(removed.state_keys)
        .bind(removed.changes);
    tx.execute(query).await.map(drop)
}

pub async fn finish<X: Tx>(tx: &mut X, erasure: &Erasure, done: Micros, receipt: &str) -> Result<((), End)> {
    let query = Query::new(&*tx.statements().finish_erasure).app(&erasure.app).bind(&*erasure.id);
    tx.execute(query.bind(done.0).bind(receipt)).await?;
    Ok(((), End::UNTOLD))
}

/// The salt, which the database was made with.
pub async fn salt<X: Tx>(tx: &mut X) -> Result<[u8; 32]> {
    let odd = || StoreError::new(Cause::Internal, "the salt of erasures is not there, or does not have 32 bytes");
    secret(tx, SALT).await?.and_then(|salt| salt.try_into().ok()).ok_or_else(odd)
}

/// The key that signs receipts: `draw`, if there was none.
pub async fn receipt_key<X: Tx>(tx: &mut X, draw: &[u8]) -> Result<(Vec<u8>, End)> {
    if let Some(stored) = secret(tx, RECEIPT).await? {
        return Ok((stored, End::Release));
    }
    // Another process may be first: this waits for it, and the next statement sees what it stored.
    tx.execute(Query::new(&*tx.statements().insert_erasure_secret).bind(RECEIPT).bind(draw)).await?;
    let stored = secret(tx, RECEIPT).await?;
    let stored = stored.ok_or_else(|| StoreError::new(Cause::Internal, "a key that was stored is not there"))?;
    Ok((stored, End::UNTOLD))
}

async fn secret<X: Tx>(tx: &mut X, name: &str) -> Result<Option<Vec<u8>>> {
    let row: Option<(Vec<u8>,)> = at_most_one(tx, Query::new(&*tx.statements().erasure_secret).bind(name)).await?;
    Ok(row.map(|(secret,)| secret))
}
