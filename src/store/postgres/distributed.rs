//! PostgreSQL with Citus: tables that are distributed by app. An app is on one node, with all that belongs to it, so what names it
//! is sent there whole. What is of no app stays on the coordinator, which all processes ask: API keys and secrets, and the locks
//! of users and migrations.

use std::time::Duration;

use sqlx::{AssertSqlSafe, PgConnection};
use tokio::time::sleep;

use super::words::clock;
use crate::store::error::{Result, StoreError};
use crate::store::pool::Nodes;
use crate::store::sql::query::{Query, Sql, one};

/// The tables that are distributed, in this order: where the first is, there go the others, and where the last is, all are.
macro_rules! tables {
    () => {
        "app_log app_patches app_scopes app_spans app_state artifact_names artifact_places artifact_spans artifact_state \
         artifacts blob_chunks blobs blocked_users buried_sessions effective_ids effective_views erased_revisions \
         erasure_counts erasures event_words events imports policies removed_forks scrubs session_spans session_state session_updates \
         token_epochs trims user_log user_patches user_scopes user_spans user_state sessions"
    };
}
const FIRST: &str = "app_log";
const LAST: &str = "sessions";

/// Whether a table is distributed, in words that a server without Citus understands: then it has this trigger.
macro_rules! is_sent {
    ($table:literal) => {
        concat!(
            "exists (select from pg_trigger t join pg_proc p on p.oid = t.tgfoid \
               where t.tgrelid = to_regclass(",
            $table,
            ") and p.proname = 'citus_truncate_trigger')"
        )
    };
}

/// Whether this schema is distributed.
macro_rules! distributed {
    () => {
        is_sent!("'sessions'")
    };
}

/// Whether some of the tables that are there are distributed, and some are not.
macro_rules! half_distributed {
    () => {
        concat!(
            "(select coalesce(bool_or(d) and not bool_and(d), false) from (select ",
            is_sent!("n.name"),
            " as d from unnest(string_to_array('",
            tables!(),
            "', ' ')) as n(name) where to_regclass(n.name) is not null) as n)"
        )
    };
}
pub(super) use {distributed, half_distributed, is_sent, tables};

/// The functions that name an app first, and are sent to where it is; and what makes them anew, with bodies of statements that Citus
/// routes.
const FUNCTIONS: [(&str, &str); 1] = [("sessiond_write", include_str!("../../../migrations/citus/sessiond_write.sql"))];

/// The oldest version that is known to do what is asked of it.
const OLDEST: u32 = 13;

/// How the connection that distributes is called, which is no process that serves.
pub const NAME: &str = "sessiond migrate";

pub async fn is_distributed(conn: &mut PgConnection) -> Result<bool> {
    let found = sqlx::query_scalar(concat!("select ", distributed!())).persistent(false).fetch_one(conn).await?;
    Ok(found)
}

/// Distributes all tables by app, each with what it has, and the functions. What is distributed already stays as it is, and what a
/// run that was interrupted left undone is done. If nothing is to do, it only reads. `name` is how processes that serve may be called.
///
/// # Errors
/// The server has no Citus, or an old one; a process serves a database that is not distributed yet.
pub async fn distribute(conn: &mut PgConnection, name: Option<&str>) -> Result<()> {
    see_version(conn).await?;
    if !is_distributed(conn).await? {
        see_that_nobody_serves(conn, name).await?;
    }
    let tables: Vec<(String, bool, bool)> = sqlx::query_as(concat!(
        "select n.name, exists (select from pg_dist_partition where logicalrelid = to_regclass(n.name)), \
           pg_relation_size(to_regclass(n.name)) > 0 from unnest(string_to_array('",
        tables!(),
        "', ' ')) with ordinality as n(name, place) order by n.place"
    ))
    .persistent(false)
    .fetch_all(&mut *conn)
    .await?;
    for (table, is_distributed, has_rows) in tables {
        if table == LAST {
            for (function, body) in FUNCTIONS {
                distribute_function(conn, function, body).await?;
            }
        }
        if !is_distributed {
            let with = if table == FIRST { "none" } else { FIRST };
            let create = format!("select create_distributed_table('{table}', 'app_name', colocate_with => '{with}')");
            sqlx::raw_sql(AssertSqlSafe(create)).execute(&mut *conn).await?;
        }
        if has_rows {
            // They were copied, and are still in the table of the coordinator, where no statement sees them.
            let truncate = format!("select truncate_local_data_after_distributing_table('{table}')");
            sqlx::raw_sql(AssertSqlSafe(truncate)).execute(&mut *conn).await?;
        }
        if !is_distributed || has_rows {
            tracing::info!(table, "distributed by app");
        }
    }
    Ok(())
}

async fn see_version(conn: &mut PgConnection) -> Result<()> {
    let version: Option<String> = sqlx::query_scalar("select extversion from pg_extension where extname = 'citus'")
        .persistent(false)
        .fetch_optional(conn)
        .await?;
    let Some(version) = version else {
        return Err(StoreError::config(
            "the database has no Citus: load it on the server, and `create extension citus` in this database on all nodes",
        ));
    };
    match version.split(['.', '-']).next().and_then(|major| major.parse::<u32>().ok()) {
        Some(major) if major >= OLDEST => Ok(()),
        _ => Err(StoreError::config(format!("Citus {version} is too old: {OLDEST} is needed"))),
    }
}

/// What a process writes that does not know of the nodes would be lost in the copying, or fail.
async fn see_that_nobody_serves(conn: &mut PgConnection, name: Option<&str>) -> Result<()> {
    /// One that has just ended may still be there.
    const PATIENCE: u32 = 20;
    const PAUSE: Duration = Duration::from_millis(100);
    for _ in 0..PATIENCE {
        let serves: bool = sqlx::query_scalar(
            "select exists (select from pg_stat_activity \
               where datname = current_database() and application_name in ('sessiond', $1))",
        )
        .persistent(false)
        .bind(name)
        .fetch_one(&mut *conn)
        .await?;
        if !serves {
            return Ok(());
        }
        sleep(PAUSE).await;
    }
    Err(StoreError::config("another sessiond is connected to the database: stop all that serve, and run this again"))
}

async fn distribute_function(conn: &mut PgConnection, name: &str, body: &str) -> Result<()> {
    // That it keeps no plans tells the body for Citus from the other one.
    let (function, schema, is_for_citus, is_distributed): (String, String, bool, bool) = sqlx::query_as(
        "select p.oid::regprocedure::text, p.pronamespace::regnamespace::text, coalesce('plan_cache_mode=force_custom_plan' = any(p.proconfig), false), \
           exists (select from pg_dist_object o where o.classid = 'pg_proc'::regclass and o.objid = p.oid \
                   and o.distribution_argument_index is not null) \
         from pg_proc p where p.proname = $1 and pg_function_is_visible(p.oid)",
    )
    .persistent(false)
    .bind(name)
    .fetch_one(&mut *conn)
    .await?;
    if !is_for_citus {
        // The schema comes from PostgreSQL, which quotes what needs it.
        let body = body.replacen(&format!("function {name}("), &format!("function {schema}.{name}("), 1);
        sqlx::raw_sql(AssertSqlSafe(body)).execute(&mut *conn).await?;
    }
    if !is_distributed {
        sqlx::query("select create_distributed_function($1::regprocedure, 'p_app', colocate_with => $2)")
            .persistent(false)
            .bind(&function)
            .bind(FIRST)
            .execute(conn)
            .await?;
    }
    Ok(())
}

/// How many workers there are, and how many of them do not answer.
pub async fn nodes(db: &mut impl Sql) -> Result<Nodes> {
    const NODES: &str = "select count(*), count(*) filter (where not success) from run_command_on_workers('select 1')";
    let (all, gone): (i64, i64) = one(db, Query::new(NODES)).await?;
    Ok(Nodes { all: all as u32, gone: gone as u32 })
}

/// The clocks of the workers that answer, the earliest and the latest.
pub async fn clocks(db: &mut impl Sql) -> Result<Option<(i64, i64)>> {
    const CLOCKS: &str = concat!(
        "select min(result::bigint), max(result::bigint) from run_command_on_workers('select ",
        clock!(),
        "') where success"
    );
    let (earliest, latest): (Option<i64>, Option<i64>) = one(db, Query::new(CLOCKS)).await?;
    Ok(earliest.zip(latest))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Tables that stay on the coordinator: see the module. The change feed is off, as transactions of several nodes have no
    /// snapshot in common.
    const LOCAL: [&str; 5] = ["api_keys", "token_secrets", "erasure_secrets", "changes", "ticks"];

    /// One asks for a lock, which is one of the coordinator; the other is not called where the database is distributed.
    const NOT_SENT: [&str; 2] = ["sessiond_admits", "sessiond_append"];

    #[test]
    fn each_table_and_function_of_the_schema_has_its_place() {
        let tables: Vec<&str> = tables!().split(' ').collect();
        assert_eq!((tables.first(), tables.last()), (Some(&FIRST), Some(&LAST)));
        let mut found = 0;
        for migration in crate::store::migrations::POSTGRES.iter() {
            for statement in crate::store::migrations::statements(migration.sql.as_str()) {
                let statement: Vec<&str> = statement.lines().filter(|line| !line.starts_with("--")).collect();
                let statement = statement.join(" ");
                if let Some((table, columns)) =
                    statement.trim().strip_prefix("create table ").and_then(|rest| rest.split_once(' '))
                {
                    assert_eq!(tables.contains(&table), !LOCAL.contains(&table), "{table}");
                    assert!(LOCAL.contains(&table) || columns.contains("app_name "), "{table}");
                    found += 1;
                }
                if let Some((function, rest)) =
                    statement.trim().strip_prefix("create function ").and_then(|rest| rest.split_once('('))
                    && rest.trim_start().starts_with("p_app ")
                {
                    let is_sent = FUNCTIONS.iter().any(|(name, _)| *name == function);
                    assert_ne!(is_sent, NOT_SENT.contains(&function), "{function}");
                }
            }
        }
        assert_eq!(found, tables.len() + LOCAL.len());
    }
}
