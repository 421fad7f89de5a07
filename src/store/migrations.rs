//! Migrations, and whose a database is, as far as both databases share that. Nothing of a database is changed before it is known.

use std::sync::LazyLock;

use sqlx::SqlStr;
use sqlx::migrate::{Migration, MigrationType, Migrator};

use super::error::StoreError;
use super::sql::query::row;

/// Where a database notes its migrations. Other programs have `_sqlx_migrations`, which is the name that sqlx gives.
pub const TABLE: &str = "sessiond_migrations";

pub static POSTGRES: LazyLock<Migrator> =
    LazyLock::new(|| migrator(&[("sessions", include_str!("../../migrations/postgres/0001_sessions.sql"))]));
pub static SQLITE: LazyLock<Migrator> =
    LazyLock::new(|| migrator(&[("sessions", include_str!("../../migrations/sqlite/0001_sessions.sql"))]));

/// Of the names and texts of all migrations, from number 1 on.
fn migrator(migrations: &[(&'static str, &'static str)]) -> Migrator {
    let numbered = (1..).zip(migrations).map(|(number, (name, sql))| {
        Migration::new(number, (*name).into(), MigrationType::Simple, SqlStr::from_static(sql), false)
    });
    Migrator::with_migrations(numbered.collect())
}

row! {
    /// A migration as the database has it.
    #[derive(Debug)]
    pub struct Applied {
        pub version: i64,
        pub description: String,
        pub checksum: Vec<u8>,
        pub success: bool,
    }
}

/// Reads every [`Applied`].
pub const READ_APPLIED: &str = "select version, description, checksum, success from sessiond_migrations";

/// How the description of a migration begins with which releases go on that do not know it: it only adds. So do all of a major version but
/// the first one.
const ADDITIVE: &str = "additive ";

/// Refuses a database with a migration of a later release that does more than add: this one might read and write it wrongly.
///
/// # Errors
/// There is such a one.
pub fn none_too_new(migrator: &Migrator, applied: &[Applied]) -> Result<(), StoreError> {
    let is_too_new =
        |applied: &&Applied| !migrator.version_exists(applied.version) && !applied.description.starts_with(ADDITIVE);
    let Some(Applied { version, .. }) = applied.iter().filter(is_too_new).min_by_key(|applied| applied.version) else {
        return Ok(());
    };
    Err(StoreError::config(format!(
        "a later version of sessiond has migrated the database (migration {version}) in a way that this one, {}, does not know: start \
         that version or a newer one, or restore the backup from before",
        env!("CARGO_PKG_VERSION")
    )))
}

/// Refuses a database that lacks a migration of this binary.
///
/// # Errors
/// Migrations are pending, or one was applied in another form.
pub fn all_applied(migrator: &Migrator, applied: &[Applied]) -> Result<(), StoreError> {
    match (pending(migrator, applied)?.is_empty(), applied.is_empty()) {
        (true, _) => Ok(()),
        (false, false) => Err(StoreError::config("migrations are pending: run `sessiond migrate`")),
        (false, true) => Err(StoreError::config(
            "migrations are pending: run `sessiond migrate`, or name another database: this one has nothing of sessiond",
        )),
    }
}

/// Those that the database lacks, in their order.
///
/// # Errors
/// One was applied in another form, or in part.
pub fn pending<'m>(migrator: &'m Migrator, applied: &[Applied]) -> Result<Vec<&'m Migration>, StoreError> {
    if let Some(Applied { version, .. }) = applied.iter().find(|applied| !applied.success) {
        return Err(StoreError::config(format!("migration {version} was applied in part: restore a backup")));
    }
    let mut pending = Vec::new();
    for migration in migrator.iter() {
        match applied.iter().find(|applied| applied.version == migration.version) {
            None => pending.push(migration),
            Some(applied) if *applied.checksum == *migration.checksum => {}
            Some(_) => return Err(StoreError::config(ANOTHER_BUILD)),
        }
    }
    Ok(pending)
}

/// Migrations never change once they are released.
const ANOTHER_BUILD: &str = "the database was made by a build of sessiond that was never released, and cannot be converted: name a \
                             new database, and move the sessions by `sessiond export` of that build and `sessiond import`";

/// Names of what migrations make: `create table NAME`, `create function NAME`.
pub fn names<'m>(migrator: &'m Migrator, kind: &str) -> Vec<&'m str> {
    let opening = format!("create {kind} ");
    let lines = migrator.iter().flat_map(|migration| migration.sql.as_str().lines());
    let names = lines.filter_map(|line| line.strip_prefix(&opening)?.split([' ', '(']).next());
    names.collect()
}

/// What a look at a database finds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Named {
    pub name: String,
    /// A table, and not a view, an index, or a table of another server.
    pub is_table: bool,
}

/// Why a database in which this was found, and no [`TABLE`], is not to be touched. `place` is where it was found, such as "the
/// schema public", and `remedy` what to do.
pub fn anothers(place: &str, found: &[Named], remedy: &str) -> StoreError {
    /// Tables by which a database of sessiond is known that was made before [`TABLE`] had its name.
    const KNOWN_BY: [&str; 4] = ["sessions", "events", "buried_sessions", "session_spans"];
    const SHOWN: usize = 5;
    if KNOWN_BY.iter().all(|name| found.iter().any(|named| named.is_table && named.name == *name)) {
        return StoreError::config(ANOTHER_BUILD);
    }
    let mut names: Vec<&str> = found.iter().take(SHOWN).map(|named| named.name.as_str()).collect();
    if found.len() > SHOWN {
        names.push("\u{2026}");
    }
    let names = names.join(", ");
    let is_not = if found.len() == 1 { "is not one" } else { "are none" };
    StoreError::config(format!(
        "{place} is another program's: {names} there {is_not} of sessiond's; {remedy}; nothing was changed"
    ))
}

/// The statements of a migration, one by one: a distributed PostgreSQL refuses several in one message where one makes an index.
/// They end at semicolons outside of quotes, dollar quotes and line comments; migrations have no other comments.
pub fn statements(sql: &str) -> Vec<&str> {
    let mut statements = Vec::new();
    let (mut begin, mut at) = (0, 0);
    while let Some(rest) = sql.get(at..).filter(|rest| !rest.is_empty()) {
        let next = rest.chars().next().unwrap_or_default();
        // What begins here and must be passed as a whole: how it opens, and how it ends.
        let whole = if rest.starts_with("--") {
            Some(("--".to_owned(), "\n".to_owned()))
        } else if matches!(next, '\'' | '"') {
            Some((next.to_string(), next.to_string()))
        } else {
            dollar_quote(rest).map(|quote| (quote.clone(), quote))
        };
        if let Some((opening, end)) = whole {
            let inside = rest.get(opening.len()..).unwrap_or_default();
            at += inside.find(&end).map_or(rest.len(), |found| opening.len() + found + end.len());
            continue;
        }
        at += next.len_utf8();
        if next == ';' {
            statements.push(sql.get(begin..at).unwrap_or_default().trim());
            begin = at;
        }
    }
    statements
}

/// The `$tag$` that a text begins with.
fn dollar_quote(text: &str) -> Option<String> {
    let (tag, _) = text.strip_prefix('$')?.split_once('$')?;
    let is_tag = !tag.starts_with(|c: char| c.is_ascii_digit()) && tag.chars().all(|c| c == '_' || c.is_alphanumeric());
    is_tag.then(|| format!("${tag}$"))
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    #[tokio::test]
    async fn all_migrations_are_listed_as_sqlx_finds_them() {
        for (folder, listed) in [("postgres", &POSTGRES), ("sqlite", &SQLITE)] {
            let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("migrations").join(folder);
            let found = Migrator::new(folder).await.unwrap();
            let shown = |migrator: &Migrator| -> Vec<_> {
                let all = migrator.iter().map(|it| (it.version, it.description.clone(), it.no_tx, it.checksum.clone()));
                all.collect()
            };
            assert_eq!(shown(listed), shown(&found));
        }
    }

    #[test]
    fn statements_end_where_postgresql_ends_them() {
        for (sql, expected) in [
            ("", vec![]),
            ("a; b;\n", vec!["a;", "b;"]),
            ("a ';' ''';' b; c;", vec!["a ';' ''';' b;", "c;"]),
            ("-- it's; $$\na; -- b;\nc;", vec!["-- it's; $$\na;", "-- b;\nc;"]),
            ("f $$ x; 'y; $1 $$; g;", vec!["f $$ x; 'y; $1 $$;", "g;"]),
            ("f $b$ $$; $b$; \"a;\" $1;", vec!["f $b$ $$; $b$;", "\"a;\" $1;"]),
        ] {
            assert_eq!(statements(sql), expected, "{sql}");
        }
    }

    #[test]
    fn nothing_of_a_migration_is_left_out() {
        for migration in POSTGRES.iter() {
            let sql = migration.sql.as_str();
            let found = statements(sql);
            let without_space = |text: &str| text.split_whitespace().collect::<String>();
            assert_eq!(without_space(&found.concat()), without_space(sql));
            for statement in found {
                let begins = |line: &&str| ["create ", "alter ", "insert "].iter().any(|begin| line.starts_with(begin));
                assert_eq!(statement.lines().filter(begins).count(), 1, "{statement}");
            }
        }
    }
}
