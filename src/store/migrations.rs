//! Migrations, as far as both databases share them.

use sqlx::migrate::Migrator;

use super::error::StoreError;

/// Refuses a database that lacks a migration of this binary. What it has on top, a newer binary applied: migrations
/// within a major version keep older binaries working.
///
/// # Errors
/// Migrations are pending.
pub fn all_applied(migrator: &Migrator, applied: &[i64]) -> Result<(), StoreError> {
    if migrator.iter().all(|migration| applied.contains(&migration.version)) {
        Ok(())
    } else {
        Err(StoreError::config("migrations are pending: run `sessiond migrate`"))
    }
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
    use super::*;

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
        for migration in crate::store::postgres::MIGRATOR.iter() {
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
