//! PostgreSQL: migrations, and the distribution of the tables over nodes.

use std::time::Duration;

use sqlx::postgres::PgConnectOptions;
use sqlx::{AssertSqlSafe, Connection as _, PgConnection};
use tokio::time::sleep;

use super::connect::{self, Server, unlimited};
use super::distributed::{self, is_distributed};
use super::ours::{Ours, look};
use crate::store::error::{Cause, Result, StoreError};
use crate::store::migrations::{POSTGRES, pending, statements};

/// What is set, and locked, for as long as a connection lives would be left to others.
const DIRECTLY: &str = "a distributed database is not migrated behind PgBouncer: run `sessiond migrate` at the coordinator directly, \
                        without --pgbouncer";

/// An arbitrary number that every sessiond locks while it migrates.
const MIGRATION_LOCK: i64 = 0x7365_7373_696f_6e64;

/// How long a migration waits for a table. Requests that need the table wait behind it, for --lock-timeout at most.
const PATIENCE: &str = "set local lock_timeout = '500ms'";

/// Between two attempts, for the requests that waited.
const PAUSE: Duration = Duration::from_secs(1);

/// Migrates a server.
pub struct Migration<'a> {
    pub server: &'a Server,
    pub options: &'a PgConnectOptions,
    pub pgbouncer: bool,
    /// How long a connection may take to be made.
    pub patience: Duration,
}

impl Migration<'_> {
    /// Applies what is pending, and distributes what a distributed database lacks then.
    ///
    /// Each migration has a transaction of its own, which holds the lock: that works behind PgBouncer too, and leaves none half done.
    /// After the first one each changes one table that requests use. With a second one it would wait for requests that wait for it.
    /// Where a table is in use, it waits a moment and not longer, as requests wait behind it, and begins again.
    ///
    /// # Errors
    /// The database is another program's, or its tables are elsewhere; the role may not create tables.
    pub async fn migrate(&self) -> Result<()> {
        loop {
            match self.next().await {
                Ok(false) => return Ok(()),
                Ok(true) => {}
                Err(error) if error.is_about_locks() => {
                    tracing::warn!(error = %error, "a table to be migrated is in use, and the migration is tried again");
                    sleep(PAUSE).await;
                }
                Err(error) => return Err(error),
            }
        }
    }

    /// Applies the first one that is pending. False if there is none.
    async fn next(&self) -> Result<bool> {
        // Its own connection, closed afterwards: migrations take their time.
        let mut conn = self.server.connect_for_itself(self.patience).await?;
        // All within the transaction: PgBouncer keeps the server's connection for that long only.
        let mut tx = conn.begin_with("begin isolation level read committed").await?;
        // This takes `select` alone, so a role that may not create tables can start a server.
        let found = look(&mut tx, false, false).await?;
        let distributed = is_distributed(&mut tx).await?;
        if pending(&POSTGRES, &found.applied)?.is_empty() {
            self.server.set_distributed(distributed);
            tx.rollback().await?;
            conn.close().await?;
            // What was just made is to go where the rest is. Whoever made it may have ended before that.
            if distributed && !self.pgbouncer {
                self.distribute().await?;
            }
            return Ok(false);
        }
        if self.pgbouncer && distributed {
            return Err(StoreError::config(DIRECTLY));
        }
        sqlx::raw_sql(concat!("set local statement_timeout = 0; set local lock_timeout = 0; ", unlimited!("true")))
            .execute(&mut *tx)
            .await?;
        sqlx::query("select pg_advisory_xact_lock($1)")
            .persistent(false)
            .bind(MIGRATION_LOCK)
            .execute(&mut *tx)
            .await?;
        sqlx::raw_sql(PATIENCE).execute(&mut *tx).await?;
        // Whoever had the lock may have applied it.
        let Ours { applied, schema, is_first } = look(&mut tx, false, false).await?;
        if let Some(migration) = pending(&POSTGRES, &applied)?.first() {
            if !is_first {
                let what = "new tables would be made elsewhere: let the search_path begin with it";
                return Err(StoreError::config(format!("sessiond's tables are in the schema {schema}, and {what}")));
            }
            apply(&mut tx, migration).await.map_err(not_allowed)?;
        }
        tx.commit().await?;
        conn.close().await?;
        Ok(true)
    }

    /// Distributes what is not distributed yet.
    ///
    /// # Errors
    /// As of [`distributed::distribute`].
    pub async fn distribute(&self) -> Result<()> {
        if self.pgbouncer {
            return Err(StoreError::config(DIRECTLY));
        }
        let options = self.options.clone().statement_cache_capacity(0).application_name(distributed::NAME);
        let mut conn = connect::connect(&options, self.patience).await?;
        let lift = concat!(
            "set statement_timeout = 0; set lock_timeout = 0; set default_transaction_isolation = 'read committed'; ",
            unlimited!("false")
        );
        sqlx::raw_sql(lift).execute(&mut conn).await?;
        sqlx::query("select pg_advisory_lock($1)").persistent(false).bind(MIGRATION_LOCK).execute(&mut conn).await?;
        distributed::distribute(&mut conn, self.options.get_application_name()).await?;
        conn.close().await?;
        self.server.set_distributed(true);
        Ok(())
    }
}

/// Applies a migration, and notes it as sqlx would, but that it prepares its statements by name, which PgBouncer would pass on with the
/// server's connection.
async fn apply(conn: &mut PgConnection, migration: &sqlx::migrate::Migration) -> Result<()> {
    const NOTES: &str = "create table if not exists sessiond_migrations (version bigint primary key, description text not null, \
                         installed_on timestamptz not null default now(), success boolean not null, checksum bytea not null, \
                         execution_time bigint not null)";
    const NOTE: &str = "insert into sessiond_migrations (version, description, success, checksum, execution_time) \
                        values ($1, $2, true, $3, -1)";
    sqlx::raw_sql(NOTES).execute(&mut *conn).await?;
    for statement in statements(migration.sql.as_str()) {
        sqlx::raw_sql(AssertSqlSafe(statement)).execute(&mut *conn).await?;
    }
    sqlx::query(NOTE)
        .persistent(false)
        .bind(migration.version)
        .bind(&*migration.description)
        .bind(&*migration.checksum)
        .execute(&mut *conn)
        .await?;
    Ok(())
}

fn not_allowed(error: StoreError) -> StoreError {
    if error.cause == Cause::ReadOnly {
        return StoreError::config(format!("migrations are pending, and the database takes no writes: {error}"));
    }
    if !error.lacks_privilege() {
        return error;
    }
    let what =
        "migrations are pending, and this user may not apply them: run `sessiond migrate` as the owner of the tables";
    StoreError::config(format!("{what}: {error}"))
}
