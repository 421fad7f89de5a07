//! Leases: who may write a session next. Granted, renewed and released under the lock of the session's row, which every write
//! takes as well: a write is before a grant, or is judged by it.

use async_trait::async_trait;
use tokio::time::Instant;

use crate::domain::command::LeaseCommand;
use crate::domain::ids::SessionKey;
use crate::domain::lease::{Exclusive, Holding, Lease, LeaseDone, LeaseView};
use crate::domain::refusal::Refusal;
use crate::domain::session::SessionInfo;
use crate::domain::time::Micros;
use crate::domain::writes::{Committed, SessionChange};
use crate::store::backend::{Backend, Tx};
use crate::store::error::{Decided, Result};
use crate::store::run::End;
use crate::store::sessions::change::locked_live;
use crate::store::sql::columns::{HEAD_COLUMNS, of_session};
use crate::store::sql::filter::filter_text;
use crate::store::sql::query::{Query, Sql, at_most_one, row};
use crate::store::sql::statements::statements;
use crate::store::transactions::Transactions;

#[async_trait]
pub trait Reads: Send + Sync {
    /// The lease of a session, in one statement; `None` if there is no such session, or it has expired.
    async fn lease(&self, key: &SessionKey, now: Micros, deadline: Instant) -> Result<Option<LeaseView>>;
}

#[async_trait]
pub trait Writes: Send + Sync {
    /// Grants, renews or releases the lease of a session. The same call again finds what the first one did; after another
    /// grant it may be refused for that.
    async fn change_lease(&self, command: &LeaseCommand, deadline: Instant) -> Decided<(LeaseDone, LeaseView)>;
}

#[async_trait]
impl<B: Backend> Reads for Transactions<B> {
    async fn lease(&self, key: &SessionKey, now: Micros, deadline: Instant) -> Result<Option<LeaseView>> {
        self.runner.of(key.app(), deadline).one_statement(async |tx| lease(tx, key, now).await).await
    }
}

#[async_trait]
impl<B: Backend> Writes for Transactions<B> {
    async fn change_lease(&self, command: &LeaseCommand, deadline: Instant) -> Decided<(LeaseDone, LeaseView)> {
        self.remembered.evict_session(&command.key);
        self.runner.of(command.key.app(), deadline).decide(async |tx| change(tx, command).await).await
    }
}

/// A session's lease; `None` if there is no such session, or it has expired.
async fn lease<X: Tx>(tx: &mut X, key: &SessionKey, now: Micros) -> Result<Option<LeaseView>> {
    let query = Query::new(&Statements::of(tx).lease).session(key).bind(now.0);
    let view: Option<LeaseView> = at_most_one(tx, query).await?;
    Ok(view.map(|view| LeaseView { head: SessionInfo { timeline: tx.timeline(), ..view.head }, ..view }))
}

async fn change<X: Tx>(tx: &mut X, command: &LeaseCommand) -> Decided<((LeaseDone, LeaseView), End)> {
    let LeaseCommand { key, change, now } = command;
    // Read after it is locked, so that the time now is no earlier than the wait.
    let view = match locked_live(tx, key, *now).await? {
        Some(_) => lease(tx, key, *now).await?,
        None => None,
    };
    let view = view.ok_or(Refusal::SessionNotFound)?;
    let (lease, done) = view.lease.after(change, view.head.mark(), view.now)?;
    let mut end = End::Release;
    if done != LeaseDone::Nothing {
        set_lease(tx, key, &lease).await?;
        end = End::Commit(vec![Committed::Session {
            key: key.clone(),
            incarnation: view.head.incarnation,
            change: SessionChange::Leased,
        }]);
    }
    Ok(((done, LeaseView { lease, ..view }), end))
}

async fn set_lease(db: &mut impl Sql, key: &SessionKey, lease: &Lease) -> Result<()> {
    let holding = lease.holding.as_ref();
    let query = Query::new(&Statements::of(db).set_lease)
        .session(key)
        .bind(lease.epoch)
        .bind(holding.map(|holding| filter_text(&holding.owner)))
        .bind(holding.and_then(|holding| holding.invocation_id.as_deref()).map(filter_text))
        .bind(holding.map(|holding| holding.expire_time.0))
        .bind(holding.map(|holding| holding.ttl_micros))
        .bind(holding.is_some_and(|holding| holding.exclusive == Exclusive::All));
    db.execute(query).await.map(drop)
}

statements! { words,
    /// A session and its lease, and the time by which expiry is judged: the database's, or `$4` where it has no clock.
    lease: format!(
        "select {HEAD_COLUMNS}, s.lease_epoch, s.lease_owner, s.lease_invocation, s.lease_expire, s.lease_ttl, \
           s.lease_all, {0} as now{1}",
        words.present("$4"),
        of_session(&words.present("$4"))
    ),
    set_lease: "update sessions set lease_epoch = $4, lease_owner = $5, lease_invocation = $6, lease_expire = $7, \
                  lease_ttl = $8, lease_all = $9 where app_name = $1 and user_id = $2 and id = $3",
}

row! { impl LeaseView { head: SessionInfo, lease: Lease, now: Micros, } }
row! { impl Lease { epoch: i64 = "lease_epoch", holding: Option<Holding>, } }
