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
use crate::store::artifacts::remove::erase_artifacts;
use crate::store::backend::{Backend, Database as _, Scrubbed, Tx, UserLock};
use crate::store::blocked::is_blocked;
use crate::store::error::{Cause, Decided, Result, StoreError};
use crate::store::run::{Call, End};
use crate::store::sql::query::{Query, at_most_one, one, row, value};
use crate::store::sql::statements::statements;
use crate::store::transactions::Transactions;
use crate::store::{access, feed};

#[async_trait]
pub trait Reads: Send + Sync {
    /// The salt for hashing user names. It never changes, not even by a restore.
    async fn erasure_salt(&self, deadline: Instant) -> Result<[u8; 32]>;

    async fn erasure(&self, id: &str, deadline: Instant) -> Result<Option<Erasure>>;

    /// Up to `limit` erasures, by id in byte order, after `after`.
    async fn erasures(&self, after: &str, limit: usize, deadline: Instant) -> Result<Vec<Erasure>>;
}

#[async_trait]
pub trait Writes: Send + Sync {
    /// Erases a user: at the commit no session and no state is there, and the rows follow in [`upkeep::Writes::sweep`](crate::store::upkeep::Writes::sweep). The same call again
    /// finds what the first one did.
    async fn erase(&self, erasing: &Erasing, deadline: Instant) -> Decided<(Made, Erasure)>;

    /// Overwrites removed rows in the files of this process. Not a transaction.
    async fn scrub(&self, deadline: Instant) -> Result<Scrubbed>;

    /// Records that no row is left, with the receipt, unless that is recorded.
    async fn finish_erasure(&self, erasure: &Erasure, done: Micros, receipt: &str, deadline: Instant) -> Result<()>;

    /// The key that signs receipts (PKCS#8): the same for every process. The first call stores its `draw`.
    async fn receipt_key(&self, draw: &[u8], deadline: Instant) -> Result<Vec<u8>>;

    /// Up to `limit` erasures of which no row is left, and that are not finished.
    async fn erasures_to_finish(&self, limit: usize, deadline: Instant) -> Result<Vec<Erasure>>;

    /// Whether files of an erasure are left that an artifact store did not remove when it was asked.
    async fn waits_for_files(&self, app: &AppName, id: &str, deadline: Instant) -> Result<bool>;

    /// The apps that had erasures, and how many.
    async fn erasure_counts(&self, deadline: Instant) -> Result<Vec<(AppName, i64)>>;
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
        let query = |tx: &B::Tx| Query::new(&Statements::of(tx).erasure).bind(id);
        self.runner.across_apps(deadline).at_most_one(query).await
    }

    async fn erasures(&self, after: &str, limit: usize, deadline: Instant) -> Result<Vec<Erasure>> {
        let query = |tx: &B::Tx| Query::new(&Statements::of(tx).erasures).bind(after).bind(limit as i64);
        self.runner.across_apps(deadline).fetch(query).await
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
        let query = |tx: &B::Tx| {
            let query = Query::new(&Statements::of(tx).finish_erasure).app(&erasure.app).bind(&*erasure.id);
            query.bind(done.0).bind(receipt)
        };
        self.runner.of(&erasure.app, deadline).execute(query).await.map(drop)
    }

    async fn receipt_key(&self, draw: &[u8], deadline: Instant) -> Result<Vec<u8>> {
        self.runner.across_apps(deadline).write(async |tx| receipt_key(tx, draw).await).await
    }

    async fn erasures_to_finish(&self, limit: usize, deadline: Instant) -> Result<Vec<Erasure>> {
        let query = |tx: &B::Tx| Query::new(&Statements::of(tx).erasures_to_finish).bind(limit as i64);
        self.runner.across_apps(deadline).fetch(query).await
    }

    async fn waits_for_files(&self, app: &AppName, id: &str, deadline: Instant) -> Result<bool> {
        let query = |tx: &B::Tx| Query::new(&Statements::of(tx).erasure_files).app(app).bind(id);
        let found = self.runner.of(app, deadline).at_most_one(query).await?;
        Ok(found.is_some_and(|(count,): (i64,)| count > 0))
    }

    async fn erasure_counts(&self, deadline: Instant) -> Result<Vec<(AppName, i64)>> {
        self.runner.across_apps(deadline).fetch(|tx| Query::new(&Statements::of(tx).erasure_counts)).await
    }
}

/// The secrets of a database, by their names.
pub const SALT: &str = "salt";
pub const RECEIPT: &str = "receipt";

pub async fn erase<X: Tx>(tx: &mut X, erasing: &Erasing) -> Decided<((Made, Erasure), End)> {
    let Erasing { app, subject, .. } = erasing;
    tx.hold_users(&[subject.lock()], UserLock::Alone).await?;
    let again = Query::new(&Statements::of(tx).erasure_of_app).app(app).bind(&*erasing.id);
    if let Some(found) = at_most_one(tx, again).await? {
        // Of an earlier try, whose COMMIT was not answered.
        return Ok(((Made::New, found), End::Release));
    }
    if let Some(request) = &erasing.request {
        let query = Query::new(&Statements::of(tx).erasure_of_request).app(app).bind(&request[..]);
        if let Some(found) = at_most_one::<Erasure>(tx, query).await? {
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
    let statements = Statements::of(tx);
    let of_subject = |text: &'static str| Query::new(text).app(app).bind(&subject.bytes()[..]);
    match erasing.block {
        Some(true) => drop(tx.execute(of_subject(&statements.block_user)).await?),
        Some(false) => drop(tx.execute(of_subject(&statements.unblock_user)).await?),
        None => {}
    }
    let _: (i64,) = one(tx, of_subject(&access::Statements::of(tx).revoke_tokens)).await?;
    // Holds the app's count until the commit: what an import that begins now reads has all erasures of a lower number.
    let (number,): (i64,) = one(tx, Query::new(&statements.number_erasure).app(app)).await?;
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

/// Removes all rows of a user, and buries the sessions. Returns the changes to announce.
async fn remove<X: Tx>(tx: &mut X, user: &UserKey, id: &str, removed: &mut Removed) -> Result<Vec<Committed>> {
    let statements = Statements::of(tx);
    let of_user = |text: &'static str| Query::new(text).user(user);
    let sessions: Vec<(SessionId, i64)> = tx.fetch(of_user(&statements.sessions_of_user)).await?;
    let claimed = tx.execute(of_user(&statements.claim_buried).bind(id)).await?;
    tx.execute(of_user(&statements.bury_sessions_of_user).bind(id)).await?;
    tx.execute(of_user(&statements.bury_imports_of_user).bind(id)).await?;
    tx.execute(of_user(&statements.forget_imports_of_user)).await?;
    tx.execute(of_user(&statements.unlist_updates_of_user)).await?;
    tx.execute(of_user(&statements.unlist_sessions_of_user)).await?;
    tx.execute(of_user(&statements.forget_removed_forks)).await?;
    tx.execute(of_user(&statements.outlast_user_scope)).await?;
    tx.execute(of_user(&statements.forget_user_scope)).await?;
    removed.sessions = sessions.len() as i64 + claimed as i64;
    removed.state_keys = tx.execute(of_user(&statements.forget_user_state)).await? as i64;
    for text in [&statements.forget_user_log, &statements.forget_user_spans] {
        removed.changes += tx.execute(of_user(text)).await? as i64;
    }
    // What the sweep has kept of events that are gone is there by now: it locks their sessions, as this did.
    tx.execute(of_user(&statements.forget_user_as_maker)).await?;
    tx.execute(of_user(&statements.forget_patches_of_user)).await?;
    removed.artifacts = erase_artifacts(tx, user, id).await?;
    tx.execute(of_user(&feed::Statements::of(tx).feed_forget_user)).await?;
    let told = |(session, incarnation)| {
        let (key, change) = (SessionKey { user: user.clone(), session }, SessionChange::Deleted(Removal::Erased));
        Committed::Session { key, incarnation, change }
    };
    Ok(sessions.into_iter().map(told).collect())
}

async fn insert<X: Tx>(tx: &mut X, erasure: &Erasure) -> Result<()> {
    let query = Query::new(&Statements::of(tx).insert_erasure)
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
        .bind(erasure.removed.changes)
        .bind(erasure.removed.artifacts);
    tx.execute(query).await.map(drop)
}

/// Adds what the sweep removed of a part of an erasure.
pub async fn count<X: Tx>(tx: &mut X, app: &AppName, id: &str, removed: &Removed) -> Result<()> {
    let query = Query::new(&Statements::of(tx).count_removed)
        .app(app)
        .bind(id)
        .bind(removed.events)
        .bind(removed.state_keys)
        .bind(removed.changes)
        .bind(removed.artifacts);
    tx.execute(query).await.map(drop)
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
    tx.execute(Query::new(&Statements::of(tx).insert_erasure_secret).bind(RECEIPT).bind(draw)).await?;
    let stored = secret(tx, RECEIPT).await?;
    let stored = stored.ok_or_else(|| StoreError::new(Cause::Internal, "a key that was stored is not there"))?;
    Ok((stored, End::UNTOLD))
}

async fn secret<X: Tx>(tx: &mut X, name: &str) -> Result<Option<Vec<u8>>> {
    value(tx, Query::new(&Statements::of(tx).erasure_secret).bind(name)).await
}

/// The columns of an erasure.
const ERASURE: &str = "id, app_name, subject, request, reference, block, blocked, request_time, done_time, sessions, events, \
                       state_keys, changes, artifacts, receipt";

statements! { words,
    /// Locks the sessions of a user.
    sessions_of_user: format!(
        "select id, incarnation from sessions where app_name = $1 and user_id = $2 order by id{}",
        words.for_update()
    ),
    /// What was buried before becomes a part of the erasure `$3`.
    claim_buried: "update buried_sessions set erasure = $3 where app_name = $1 and user_id = $2 and erasure is null",
    bury_sessions_of_user: "insert into buried_sessions (app_name, user_id, session_id, incarnation, erasure) \
                            select app_name, user_id, id, incarnation, $3 from sessions where app_name = $1 and user_id = $2",
    bury_imports_of_user: "insert into buried_sessions (app_name, user_id, session_id, incarnation, erasure) \
                           select app_name, user_id, session_id, incarnation, $3 from imports \
                           where app_name = $1 and user_id = $2",
    forget_imports_of_user: of_user("imports"),
    unlist_sessions_of_user: of_user("sessions"),
    unlist_updates_of_user: of_user("session_updates"),
    forget_removed_forks: of_user("removed_forks"),
    /// Lets the state of users of the app begin above the revision of this one's.
    outlast_user_scope: "insert into erased_revisions (app_name, revision) \
                         select app_name, revision + 1 from user_scopes where app_name = $1 and user_id = $2 \
                         on conflict (app_name) do update set revision = excluded.revision \
                         where erased_revisions.revision < excluded.revision",
    forget_user_scope: of_user("user_scopes"),
    forget_user_state: of_user("user_state"),
    forget_user_log: of_user("user_log"),
    forget_user_spans: of_user("user_spans"),
    forget_patches_of_user: of_user("user_patches"),
    forget_user_as_maker: "update app_log set sequence = null, by_user = null, by_session = null, by_event = null, \
                           by_author = null, by_invocation = null where app_name = $1 and by_user = $2",
    erasure: format!("select {ERASURE} from erasures where id = $1"),
    erasure_of_app: format!("select {ERASURE} from erasures where app_name = $1 and id = $2"),
    erasure_of_request: format!("select {ERASURE} from erasures where app_name = $1 and request = $2"),
    /// Those after the id `$1`, up to `$2`.
    erasures: format!("select {ERASURE} from erasures where id > $1 order by id limit 0 + $2"),
    /// Up to `$1` erasures of which no row is left, nor of an earlier one of the same user.
    erasures_to_finish: format!(
        "select {ERASURE} from erasures e where done_time is null \
           and not exists (select 1 from buried_sessions b where b.app_name = e.app_name and b.erasure = e.id) \
           and not exists (select 1 from blobs b where b.app_name = e.app_name and b.erasure = e.id) \
           and not exists (select 1 from erasures l where l.app_name = e.app_name and l.subject = e.subject \
             and l.done_time is null and (l.request_time, l.id) < (e.request_time, e.id)) \
         order by request_time, id limit 0 + $1"
    ),
    /// How many blobs of the erasure `$2` were claimed and put off: see `artifacts::blobs`.
    erasure_files: "select count(*) from blobs where app_name = $1 and erasure = $2 and versions = -1 and loose_since > 0",
    /// The next number of an erasure of the app.
    number_erasure: "insert into erasure_counts (app_name, count) values ($1, 1) \
                     on conflict (app_name) do update set count = erasure_counts.count + 1 returning count",
    note_erasure: "update token_epochs set erasure = $3 where app_name = $1 and subject = $2",
    /// The apps that had erasures, and how many.
    erasure_counts: "select app_name, count from erasure_counts",
    insert_erasure: format!(
        "insert into erasures ({ERASURE}) values ($1, $2, $3, $4, $5, $6, $7, $8, null, $9, $10, $11, $12, $13, null)"
    ),
    count_removed: "update erasures set events = events + $3, state_keys = state_keys + $4, changes = changes + $5, \
                      artifacts = artifacts + $6 \
                    where app_name = $1 and id = $2",
    finish_erasure: "update erasures set done_time = $3, receipt = $4 where app_name = $1 and id = $2 and done_time is null",
    block_user: "insert into blocked_users (app_name, subject) values ($1, $2) on conflict do nothing",
    unblock_user: "delete from blocked_users where app_name = $1 and subject = $2",
    erasure_secret: "select secret from erasure_secrets where name = $1",
    insert_erasure_secret: "insert into erasure_secrets (name, secret) values ($1, $2) on conflict do nothing",
}

/// Removes the rows of a user from a table.
fn of_user(table: &str) -> String {
    format!("delete from {table} where app_name = $1 and user_id = $2")
}

row! {
    impl Erasure {
        id: String,
        app: AppName = "app_name",
        subject: Subject,
        request: Option<[u8; 32]>,
        reference: Option<String>,
        block: Option<bool>,
        blocked: bool,
        request_time: Micros,
        done_time: Option<Micros>,
        removed: Removed,
        receipt: Option<String>,
    }
}

row! {
    impl Removed {
        sessions: i64,
        events: i64,
        state_keys: i64,
        changes: i64,
        artifacts: i64,
    }
}
