//! PostgreSQL with Citus: tables that are distributed by app. An app is on one node, with all that belongs to it, so what names it
//! is sent there whole. What is of no app stays on the coordinator, which all processes ask: API keys and secrets, and the locks
//! of users and migrations.

use sqlx::{AssertSqlSafe, PgConnection};

use super::Result;
use crate::store::error::StoreError;
use crate::store::pool::Nodes;

/// Whether this schema is distributed, in words that a server without Citus understands: distributed tables have this trigger.
/// `sessions` is the last one to be distributed.
macro_rules! distributed {
    () => {
        "exists (select from pg_trigger t join pg_proc p on p.oid = t.tgfoid \
           where t.tgrelid = to_regclass('sessions') and p.proname = 'citus_truncate_trigger')"
    };
}
pub(super) use distributed;

/// Tables that stay on the coordinator: see the module. The change feed is off, as transactions of several nodes have no snapshot in
/// common.
const LOCAL: [&str; 6] = ["_sqlx_migrations", "api_keys", "token_secrets", "erasure_secrets", "changes", "ticks"];

/// The functions that name an app first, and are sent to where it is. Not `sessiond_admits`, which asks for a lock.
const FUNCTIONS: [&str; 1] = ["sessiond_write"];

pub async fn is_distributed(conn: &mut PgConnection) -> Result<bool> {
    let found = sqlx::query_scalar(concat!("select ", distributed!())).persistent(false).fetch_one(conn).await?;
    Ok(found)
}

/// Distributes all tables by app, each with what it has, and the functions. What is distributed already stays as it is.
///
/// # Errors
/// The server has no Citus.
pub async fn distribute(conn: &mut PgConnection) -> Result<()> {
    let version: Option<String> = sqlx::query_scalar("select extversion from pg_extension where extname = 'citus'")
        .persistent(false)
        .fetch_optional(&mut *conn)
        .await?;
    if version.is_none() {
        return Err(StoreError::config(
            "the database has no Citus: load it on the server, and `create extension citus` in this database on all nodes",
        ));
    }
    let tables: Vec<String> = sqlx::query_scalar(
        "select c.relname::text from pg_class c join pg_class s on s.oid = to_regclass('sessions') \
         where c.relnamespace = s.relnamespace and c.relkind = 'r' and c.relname::text <> all($1) \
           and c.oid not in (select logicalrelid from pg_dist_partition) \
         order by c.relname = 'sessions', c.relname",
    )
    .persistent(false)
    .bind(LOCAL.map(str::to_owned).to_vec())
    .fetch_all(&mut *conn)
    .await?;
    // The first one that is distributed is `app_log`, and the others go with it.
    for table in tables.iter().filter(|table| *table != "sessions") {
        distribute_table(conn, table).await?;
    }
    for function in FUNCTIONS {
        let found: Option<String> = sqlx::query_scalar(
            "select p.oid::regprocedure::text from pg_proc p where p.proname = $1 and pg_function_is_visible(p.oid) \
               and not exists (select from pg_dist_object o where o.classid = 'pg_proc'::regclass and o.objid = p.oid \
                               and o.distribution_argument_index is not null)",
        )
        .persistent(false)
        .bind(function)
        .fetch_optional(&mut *conn)
        .await?;
        if let Some(function) = found {
            sqlx::query("select create_distributed_function($1::regprocedure, 'p_app', colocate_with => 'app_log')")
                .persistent(false)
                .bind(&function)
                .execute(&mut *conn)
                .await?;
            // For a plan that outlives its execution, Citus plans on the shard each time too, and never frees that. Citus passes
            // this on to the nodes. The name comes from PostgreSQL, which quotes what needs it.
            let statement = format!("alter function {function} set plan_cache_mode = force_custom_plan");
            sqlx::raw_sql(AssertSqlSafe(statement)).execute(&mut *conn).await?;
        }
    }
    if tables.iter().any(|table| table == "sessions") {
        distribute_table(conn, "sessions").await?;
    }
    Ok(())
}

async fn distribute_table(conn: &mut PgConnection, table: &str) -> Result<()> {
    let colocate = if table == "app_log" { "default" } else { "app_log" };
    // A name of our own schema.
    let statement = format!("select create_distributed_table('{table}', 'app_name', colocate_with => '{colocate}')");
    sqlx::raw_sql(AssertSqlSafe(statement)).execute(&mut *conn).await?;
    // The rows that were copied are still in the table of the coordinator, where no statement sees them.
    let statement = format!("select truncate_local_data_after_distributing_table('{table}')");
    sqlx::raw_sql(AssertSqlSafe(statement)).execute(&mut *conn).await?;
    tracing::info!(table, "distributed by app");
    Ok(())
}

/// Asks all workers, within a transaction.
///
/// # Errors
/// One of them may lose what it has acknowledged.
pub async fn nodes(conn: &mut PgConnection, persistent: bool) -> Result<Nodes> {
    sqlx::raw_sql("set local citus.node_connection_timeout = 1000").execute(&mut *conn).await?;
    let answers: Vec<(bool, Option<String>)> =
        sqlx::query_as("select success, result from run_command_on_workers('show synchronous_commit')")
            .persistent(persistent)
            .fetch_all(conn)
            .await?;
    if answers.iter().any(|(success, setting)| *success && setting.as_deref() == Some("off")) {
        return Err(StoreError::config("a worker has synchronous_commit = off: what it acknowledges may be lost"));
    }
    let gone = answers.iter().filter(|(success, _)| !success).count() as u32;
    Ok(Nodes { all: answers.len() as u32, gone })
}
