//! PostgreSQL: snapshots for `sessiond verify`, also of a standby.

use sqlx::postgres::PgConnectOptions;
use sqlx::{AssertSqlSafe, PgConnection};
use tokio::time::Instant;
use url::Url;

use super::connect::{self, unlimited};
use super::tx::PgTx;
use crate::domain::tag::Timeline;
use crate::store::error::Result;
use crate::store::limits::{PostgresOptions, StoreLimits};
use crate::store::pool::{Connect, Pool};

pub struct Snapshots {
    pool: Pool<AnyServer>,
    begin: String,
    persistent: bool,
}

/// A primary or a standby.
struct AnyServer(PgConnectOptions);

impl Connect for AnyServer {
    type Connection = PgConnection;

    async fn connect(&self, until: Instant) -> Result<(PgConnection, Timeline)> {
        let limit = until.saturating_duration_since(Instant::now());
        Ok((connect::connect(&self.0, limit).await?, Timeline::default()))
    }
}

impl Snapshots {
    /// Connects lazily.
    ///
    /// # Errors
    /// A URL with wrong parameters.
    pub fn open(url: &Url, options: PostgresOptions, limits: StoreLimits) -> Result<Self> {
        let patience = limits.statement.as_millis();
        let begin = format!(
            "begin isolation level repeatable read, read only; set local statement_timeout = {patience}; \
             set local idle_in_transaction_session_timeout = {patience}; {}",
            unlimited!("true")
        );
        let pool = Pool::new(AnyServer(connect::options(url)?), limits.connections, limits.acquire);
        Ok(Self { pool, begin, persistent: !options.pgbouncer })
    }

    /// # Errors
    /// The database cannot be reached.
    pub async fn begin(&self) -> Result<PgTx> {
        let mut conn = self.pool.acquire().await?;
        sqlx::raw_sql(AssertSqlSafe(&*self.begin)).execute(&mut *conn).await?;
        let mut tx = PgTx::new(conn, Timeline::default(), self.persistent);
        tx.in_transaction = true;
        Ok(tx)
    }
}
