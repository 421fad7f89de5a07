//! Whose a database is, as far as the role's `search_path` leads: every name of ours must mean what our migrations made.

use sqlx::PgConnection;

use crate::store::error::{Result, StoreError};
use crate::store::migrations::{Applied, Named, POSTGRES, READ_APPLIED, TABLE, anothers, names, none_too_new};

/// The oldest server that is tested.
const OLDEST: i32 = 15;

/// What a name leads to: its schema, its kind, whether the role may read it, and whether policies hide its rows from the role.
const NAMES: &str = "select n.name, s.nspname::text, c.relkind::text, coalesce(has_table_privilege(c.oid, 'select'), false), \
                       coalesce(row_security_active(c.oid), false) \
                     from unnest($1::text[]) with ordinality as n(name, place) \
                       left join pg_class c on c.oid = to_regclass(n.name) left join pg_namespace s on s.oid = c.relnamespace \
                     order by n.place";

/// What the server is; where a table would be made, and what the path is; functions of ours that do not lead to the schema.
const SCHEMA: &str = "select current_setting('server_version_num')::int / 10000, current_setting('server_encoding'), \
                        current_schema()::text, current_setting('search_path'), \
                      array(select f.name from unnest($1::text[]) as f(name) where not exists ( \
                        select from pg_proc p join pg_namespace s on s.oid = p.pronamespace \
                        where p.proname = f.name and s.nspname = $2 and pg_function_is_visible(p.oid)))";

/// The tables of the schema `$1` with the names `$2`, each with the rights that the role lacks to change rows.
const LACKING: &str = "select c.relname::text, array(select r.name from unnest(array['insert', 'update', 'delete']) as r(name) \
                         where not has_table_privilege(c.oid, r.name)) \
                       from pg_class c join pg_namespace s on s.oid = c.relnamespace \
                       where s.nspname = $1 and c.relname = any($2::text[])";

/// The functions of the schema `$1` with the names `$2` that the role may not call.
const NOT_CALLED: &str = "select p.proname::text from pg_proc p join pg_namespace s on s.oid = p.pronamespace \
                          where s.nspname = $1 and p.proname = any($2::text[]) and not has_function_privilege(p.oid, 'execute')";

/// The schemas of the path in which everybody may make functions.
const OPEN: &str = "select s.nspname::text from pg_namespace s \
                    where s.nspname = any(current_schemas(false)) and has_schema_privilege('public', s.oid, 'create')";

/// Rights that docs/postgresql.md takes away.
const UNNEEDED: [(&str, &[&str]); 3] =
    [(TABLE, &["insert", "update", "delete"]), ("api_keys", &["delete"]), ("token_secrets", &["update", "delete"])];

const A_SCHEMA: &str = "a schema of its own";

/// A database of which nothing is known to be wrong.
pub struct Ours {
    /// None, unless the database is sessiond's already.
    pub applied: Vec<Applied>,
    /// The schema of our tables, or the one in which they would be made.
    pub schema: String,
    /// Whether the tables would be made where they are.
    pub is_first: bool,
}

type Lead = (String, Option<String>, Option<String>, bool, bool);
type Place = (i32, String, Option<String>, String, Vec<String>);

/// Looks at the names that are ours. Only reads. `serves`: every table must be one that the role may read.
///
/// # Errors
/// They lead to another program's, or past ours; the path leads nowhere. The server is too old, or has another encoding.
pub async fn look(conn: &mut PgConnection, persistent: bool, serves: bool) -> Result<Ours> {
    let leads: Vec<Lead> = sqlx::query_as(NAMES).persistent(persistent).bind(tables()).fetch_all(&mut *conn).await?;
    let home = leads.first().and_then(|(_, schema, kind, ..)| Some((schema.clone()?, kind.clone()?)));
    let (version, encoding, current, path, astray): Place = sqlx::query_as(SCHEMA)
        .persistent(persistent)
        .bind(names(&POSTGRES, "function"))
        .bind(home.as_ref().map(|(schema, _)| schema))
        .fetch_one(&mut *conn)
        .await?;
    if version < OLDEST {
        return Err(StoreError::config(format!("PostgreSQL {version} is too old: sessiond needs {OLDEST} or later")));
    }
    if encoding != "UTF8" {
        return Err(StoreError::config(format!(
            "the encoding of the database is {encoding}, and must be UTF8: name another one, as by `create database sessiond encoding \
             'UTF8' template template0`"
        )));
    }
    let rest = leads.get(1..).unwrap_or_default();
    let Some((schema, kind)) = home else {
        let schema = current.ok_or_else(|| nowhere(&path))?;
        free(&schema, rest)?;
        return Ok(Ours { applied: Vec::new(), schema, is_first: true });
    };
    let remedy = format!(
        "let the search_path begin with the schema of sessiond's tables ({schema}) or give sessiond {A_SCHEMA}"
    );
    if !is_table(&kind) {
        return Err(StoreError::config(format!(
            "{schema}.{TABLE} is {}, and not sessiond's table: {remedy}",
            what(&kind)
        )));
    }
    if let Some((name, ..)) = leads.iter().find(|(_, found, _, _, hides)| *hides && found.as_ref() == Some(&schema)) {
        return Err(StoreError::config(format!(
            "row-level security hides rows of {schema}.{name} from the role: switch it off, as by `alter table {schema}.{name} disable \
             row level security`, or give the role `bypassrls`"
        )));
    }
    if leads.first().is_some_and(|(_, _, _, may_read, ..)| !may_read) {
        return Err(StoreError::config(may_not_read(&schema, TABLE)));
    }
    let applied: Vec<Applied> = sqlx::query_as(READ_APPLIED).persistent(persistent).fetch_all(conn).await?;
    none_too_new(&POSTGRES, &applied)?;
    let are_all = POSTGRES.iter().all(|migration| applied.iter().any(|applied| applied.version == migration.version));
    for (name, found, kind, may_read, ..) in rest {
        let why = match (found, kind) {
            (Some(found), Some(kind)) if *found != schema || !is_table(kind) => {
                let what = what(kind);
                format!("{name} leads to {found}.{name}, {what} which is not sessiond's: {remedy}")
            }
            (Some(_), Some(_)) if *may_read || !serves => continue,
            (Some(_), Some(_)) => may_not_read(&schema, name),
            // It may be among those that are pending.
            _ if !are_all => continue,
            _ => format!("the table {schema}.{name} of sessiond is not there: restore a backup"),
        };
        return Err(StoreError::config(why));
    }
    if let Some(name) = astray.first()
        && are_all
    {
        let why = format!("the function {name} does not lead to {schema}.{name}, which is sessiond's: {remedy}");
        return Err(StoreError::config(why));
    }
    let is_first = current.as_ref() == Some(&schema);
    Ok(Ours { applied, schema, is_first })
}

/// What the role may not do that something needs, and what others may do that they should not. It keeps nothing else from being served.
pub async fn warnings(conn: &mut PgConnection, persistent: bool, schema: &str) -> Result<Vec<String>> {
    let lacking: Vec<(String, Vec<String>)> =
        sqlx::query_as(LACKING).persistent(persistent).bind(schema).bind(tables()).fetch_all(&mut *conn).await?;
    let not_called: Vec<String> = sqlx::query_scalar(NOT_CALLED)
        .persistent(persistent)
        .bind(schema)
        .bind(names(&POSTGRES, "function"))
        .fetch_all(&mut *conn)
        .await?;
    let open: Vec<String> = sqlx::query_scalar(OPEN).persistent(persistent).fetch_all(conn).await?;
    let lacking = lacking.into_iter().filter_map(|(name, rights)| {
        let unneeded = UNNEEDED.iter().find(|(table, _)| *table == name).map_or(&[][..], |(_, rights)| rights);
        let lacks: Vec<&str> = rights.iter().map(String::as_str).filter(|right| !unneeded.contains(right)).collect();
        (!lacks.is_empty()).then(|| format!("the role may not {} rows of {schema}.{name}", lacks.join(", ")))
    });
    let not_called = not_called.into_iter().map(|name| format!("the role may not execute {schema}.{name}"));
    let open = open.into_iter().map(|name| {
        format!(
            "everybody may make functions in the schema {name}, to which the search_path leads, and sessiond may call them: `revoke \
             create on schema {name} from public`"
        )
    });
    Ok(lacking.chain(not_called).chain(open).collect())
}

/// The names of our tables, the one of the migrations first.
fn tables() -> Vec<&'static str> {
    [TABLE].into_iter().chain(names(&POSTGRES, "table")).collect()
}

/// Refuses a schema in which names of ours are taken. What is behind it in the path is not met once ours are there.
fn free(schema: &str, leads: &[Lead]) -> Result<()> {
    let is_here = |found: &Option<String>| found.as_deref() == Some(schema);
    let found: Vec<Named> = leads
        .iter()
        .filter(|(_, found, ..)| is_here(found))
        .map(|(name, _, kind, ..)| Named { name: name.clone(), is_table: kind.as_deref().is_some_and(is_table) })
        .collect();
    if found.is_empty() {
        return Ok(());
    }
    let remedy = format!(
        "give sessiond a database or {A_SCHEMA}, as by `create schema sessiond` and options[search_path]=sessiond in the database URL"
    );
    Err(anothers(&format!("the schema {schema} of the database"), &found, &remedy))
}

fn may_not_read(schema: &str, name: &str) -> String {
    format!("the role may not read {schema}.{name}: grant it what docs/postgresql.md says")
}

fn nowhere(path: &str) -> StoreError {
    let path = if path.trim_matches(['"', ' ']).is_empty() {
        "empty".to_owned()
    } else {
        format!("{path}, of which no schema is there or may be used")
    };
    StoreError::config(format!(
        "the search_path of the role is {path}: tables have no place. Set it, as by `alter role ROLE set search_path = public`, or by \
         options[search_path]=public in the database URL"
    ))
}

/// An ordinary table or a partitioned one.
fn is_table(kind: &str) -> bool {
    matches!(kind, "r" | "p")
}

/// As of `pg_class.relkind`.
fn what(kind: &str) -> &'static str {
    match kind {
        "r" | "p" => "a table",
        "v" => "a view",
        "m" => "a materialized view",
        "f" => "a foreign table",
        "S" => "a sequence",
        "i" | "I" => "an index",
        _ => "something",
    }
}
