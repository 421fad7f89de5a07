//! PostgreSQL: the change feed. A tick is a snapshot: it has what the transactions that it sees have recorded.

use super::statements::{
    IS_RECORDED, IS_RESTORED, LOCK_TICKS, NEW_EPOCH, PRUNE_CHANGES, PRUNE_TICKS, RECORD, REMOVE_FUTURE, TICK, TICKED,
};
use super::tx::PgTx;
use crate::domain::ids::{AppName, UserId};
use crate::domain::time::Micros;
use crate::domain::writes::ChangeRow;
use crate::store::backend::FeedTx;
use crate::store::error::Result;
use crate::store::sql::query::{Query, Sql as _};

impl FeedTx for PgTx {
    fn feeds(&self) -> bool {
        self.feeds
    }

    async fn record(&mut self, changes: &[ChangeRow<'_>]) -> Result<()> {
        let rows = || changes.iter();
        sqlx::query(RECORD)
            .persistent(self.persistent)
            .bind(rows().map(|row| row.kind.number()).collect::<Vec<_>>())
            .bind(rows().map(|row| row.app.as_str()).collect::<Vec<_>>())
            .bind(rows().map(|row| row.user.map(UserId::as_str)).collect::<Vec<_>>())
            .bind(rows().map(|row| row.session.map(|(session, _)| session.as_str())).collect::<Vec<_>>())
            .bind(rows().map(|row| row.session.map(|(_, incarnation)| incarnation)).collect::<Vec<_>>())
            .bind(rows().map(|row| row.first).collect::<Vec<_>>())
            .bind(rows().map(|row| row.last).collect::<Vec<_>>())
            .bind(rows().map(|row| row.detail.as_deref()).collect::<Vec<_>>())
            .execute(&mut *self.conn)
            .await?;
        Ok(())
    }

    async fn tick(&mut self, at_once: bool) -> Result<()> {
        /// How many changes of a dump are removed at once. Until none is left, the feed begins anew at each tick.
        const REMOVED: i64 = 10_000;
        /// How old the last tick is at least, in microseconds, that is followed by another for nobody in particular.
        const BETWEEN: i64 = 40_000;
        // Before a tick: whoever adds one could not get the lock of another one's.
        if self.new_epoch_if(IS_RESTORED).await? {
            self.execute(Query::new(REMOVE_FUTURE).bind(REMOVED)).await?;
        } else {
            // One that is in vain has waited for another one, which may be older than what is asked for. The next one is in vain
            // only if one came between that saw what was committed by now, or if there is nothing to tell.
            for _ in 0..=i32::from(at_once) {
                if self.execute(Query::new(TICK).bind(if at_once { 0 } else { BETWEEN })).await? > 0 {
                    break;
                }
            }
        }
        Ok(())
    }

    async fn ticked(&mut self, after: i64, through: i64, limit: i64) -> Result<Vec<(AppName, Option<UserId>)>> {
        self.fetch(Query::new(TICKED).bind(after).bind(through).bind(limit)).await
    }

    async fn end_feed(&mut self, always: bool) -> Result<()> {
        if always {
            self.lock_ticks().await?;
            self.new_epoch().await
        } else {
            self.new_epoch_if(IS_RECORDED).await.map(drop)
        }
    }

    async fn prune_feed(&mut self, _: Micros, age: i64, limit: i64) -> Result<u64> {
        let ticks = self.execute(Query::new(PRUNE_TICKS).bind(age).bind(limit)).await?;
        Ok(ticks + self.execute(Query::new(PRUNE_CHANGES).bind(limit)).await?)
    }
}

impl PgTx {
    /// Begins the change feed anew if the condition holds; whether it did. It is judged again under the lock: of two transactions
    /// that both find it true, one begins the feed, or the positions that its readers got would be gone at once.
    async fn new_epoch_if(&mut self, condition: &'static str) -> Result<bool> {
        if !self.is_so(condition).await? {
            return Ok(false);
        }
        self.lock_ticks().await?;
        let holds = self.is_so(condition).await?;
        if holds {
            self.new_epoch().await?;
        }
        Ok(holds)
    }

    async fn lock_ticks(&mut self) -> Result<()> {
        sqlx::raw_sql(LOCK_TICKS).execute(&mut *self.conn).await?;
        Ok(())
    }

    /// Begins the change feed anew. The ticks are locked.
    async fn new_epoch(&mut self) -> Result<()> {
        self.execute(Query::new(NEW_EPOCH)).await.map(drop)
    }
}
