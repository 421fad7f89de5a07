//! The SQL as it is sent, for people to read: `docs/sql/*.sql`, generated and compared here. The plans of these statements
//! are checked on SQLite here, and on PostgreSQL in the integration tests.

use std::fmt::Write as _;
use std::{env, fs};

use sqlx::sqlite::SqliteConnection;
use sqlx::{AssertSqlSafe, Connection as _, Row as _};

use crate::domain::access::Names;
use crate::domain::ids::{AppName, SessionId, UserId};
use crate::domain::query::{ListPosition, ListQuery, OrderBy};
use crate::domain::time::Micros;
use crate::store::sessions::list;
use crate::store::sql::view;
use crate::store::sql::words::Words;
use crate::store::{
    access, artifacts, blocked, effective, erasures, feed, leases, load, migrations, named, past, policies, postgres,
    redact, search, sessions, sql, sqlite, transfer, trim,
};

type Named = (String, String);

/// The lists, by order and by whose sessions they are.
fn lists(words: &Words) -> Vec<Named> {
    let app = AppName::parse("a").unwrap();
    let user = UserId::parse("u").unwrap();
    let session = SessionId::parse("s").unwrap();
    let mut lists = Vec::new();
    let mut add = |name, query: &ListQuery| {
        lists.push((name, list::statement(words, query, Micros(0)).text().to_owned()));
    };
    for (order, order_by) in [("update", OrderBy::LastUpdateTime), ("create", OrderBy::CreateTime)] {
        for (of, user_filter) in [("app", None), ("user", Some(user.clone()))] {
            for (variant, descending, labels, with_state) in [
                ("", false, Vec::new(), false),
                ("_backwards", true, Vec::new(), false),
                ("_labelled_with_state", false, vec![("name".to_owned(), "value".to_owned())], true),
            ] {
                let query = ListQuery {
                    app: app.clone(),
                    user: user_filter.clone(),
                    users: Names::all(),
                    order_by,
                    descending,
                    labels,
                    user_range: None,
                    id_range: None,
                    forked_from: None,
                    after: Some(ListPosition { time: Micros(0), user: user.clone(), session: session.clone() }),
                    with_state,
                    max_rows: 1,
                    max_bytes: 1,
                };
                add(format!("list_of_{of}_by_{order}{variant}"), &query);
                if of == "user" && variant.is_empty() {
                    let query = ListQuery { forked_from: Some(session.clone()), ..query.clone() };
                    add(format!("list_of_forks_by_{order}"), &query);
                }
                if of == "app" && variant.is_empty() {
                    let query = ListQuery { users: Names::patterns(["a", "b*"]), ..query };
                    add(format!("list_of_{of}_by_{order}_within"), &query);
                }
            }
        }
    }
    lists
}

/// Those of the resources.
fn fixed(words: &'static Words) -> Vec<Named> {
    let of_resources = [
        view::Statements::named(words),
        sessions::read::Statements::named(words),
        sessions::create::Statements::named(words),
        sessions::change::Statements::named(words),
        sessions::bury::Statements::named(words),
        sessions::sources::Statements::named(words),
        load::absent::Statements::named(words),
        sql::shared::ScopeStatements::named(words),
        leases::Statements::named(words),
        past::fork::Statements::named(words),
        past::rewind::Statements::named(words),
        sql::effective::Statements::named(words),
        effective::Statements::named(words),
        past::moment::Statements::named(words),
        past::moment::ScopeStatements::named(words),
        past::key::Statements::named(words),
        past::key::ScopeStatements::named(words),
        sql::makers::ScopeStatements::named(words),
        sql::past::Statements::named(words),
        trim::Statements::named(words),
        redact::Statements::named(words),
        redact::ScopeStatements::named(words),
        artifacts::blobs::Statements::named(words),
        artifacts::keep::Statements::named(words),
        named::Statements::named(words),
        artifacts::read::Statements::named(words),
        artifacts::remove::Statements::named(words),
        artifacts::restore::Statements::named(words),
        artifacts::save::Statements::named(words),
        transfer::artifacts::Statements::named(words),
        transfer::export::Statements::named(words),
        transfer::import::Statements::named(words),
        transfer::scopes::ScopeStatements::named(words),
        access::Statements::named(words),
        blocked::Statements::named(words),
        sessions::bounds::Statements::named(words),
        search::Statements::named(words),
        policies::Statements::named(words),
        policies::forget::Statements::named(words),
        policies::forget::ScopeStatements::named(words),
        erasures::Statements::named(words),
        feed::Statements::named(words),
        feed::ScopeStatements::named(words),
    ];
    let named = of_resources.into_iter().flatten().map(|(name, text)| (name, text.to_owned()));
    named.chain(lists(words)).chain(artifacts::save::composed()).collect()
}

fn of_postgres() -> Vec<Named> {
    let mut all = fixed(&postgres::words::WORDS);
    all.extend(postgres::statements::ALL.map(|(name, text)| (name.to_owned(), text.to_owned())));
    all.extend(postgres::composed());
    all.extend(of_distributed().into_iter().map(|(name, text)| (format!("distributed_{name}"), text)));
    all
}

/// What differs where Citus distributes the database.
fn of_distributed() -> Vec<Named> {
    let one = fixed(&postgres::words::WORDS);
    let differs = fixed(&postgres::words::DISTRIBUTED).into_iter().filter(|statement| !one.contains(statement));
    let own = postgres::statements::OF_DISTRIBUTED.map(|(name, text)| (name.to_owned(), text.to_owned()));
    differs.chain(own).collect()
}

fn of_sqlite() -> Vec<Named> {
    let mut all = fixed(&sqlite::words::WORDS);
    all.push(("plain_view".to_owned(), sqlite::words::PLAIN_VIEW.clone()));
    all.extend(sqlite::composed());
    all
}

/// A statement in lines of a readable length.
fn wrapped(text: &str) -> String {
    const WIDTH: usize = 110;
    let mut out = String::new();
    let mut length = 0;
    for word in text.split_whitespace() {
        if length > 0 && length + word.len() > WIDTH {
            out.push_str("\n    ");
            length = 4;
        } else if length > 0 {
            out.push(' ');
            length += 1;
        }
        out.push_str(word);
        length += word.len();
    }
    out
}

fn page(database: &str, statements: Vec<Named>) -> String {
    let mut page = format!(
        "-- The statements that sessiond sends to {database}, by name. Generated: UPDATE_DOCS=1 cargo test --lib documented\n\
         -- Lists of rows have one size or a few; here the smallest, and one larger.{}\n",
        match database {
            "PostgreSQL" => " Where Citus distributes the database, `distributed_…` is sent instead.",
            _ => "",
        }
    );
    for (name, text) in statements {
        let _ = write!(page, "\n-- {name}\n{};\n", wrapped(text.trim_end_matches("; ").trim_end_matches(';')));
    }
    page
}

/// A list has no index: what is joined with one that is not first takes as long as the product of both.
#[test]
fn sqlite_joins_no_two_lists() {
    for (name, text) in of_sqlite() {
        let is_joined =
            text.contains("join json_each") || text.starts_with("update") && text.contains("from (select value ->>");
        assert!(!is_joined, "{name}: {text}");
    }
}

#[test]
fn the_documented_statements_are_those_that_are_sent() {
    for (file, database, statements) in [("postgres", "PostgreSQL", of_postgres()), ("sqlite", "SQLite", of_sqlite())] {
        let path = format!("{}/docs/sql/{file}.sql", env!("CARGO_MANIFEST_DIR"));
        let page = page(database, statements);
        if env::var_os("UPDATE_DOCS").is_some() {
            fs::write(&path, &page).unwrap();
        }
        assert!(
            fs::read_to_string(&path).unwrap_or_default() == page,
            "{path} is out of date: UPDATE_DOCS=1 makes it anew"
        );
    }
}

/// Statements that go through a table, or through an index of a few rows of one: they have no key to find rows by.
const SCANS: [&str; 7] =
    ["next_buried", "next_trim", "dead_import", "to_scrub", "erasures_to_finish", "erasure_counts", "feed_forget_user"];

#[tokio::test]
async fn sqlite_finds_rows_by_their_keys() {
    let mut conn = SqliteConnection::connect("sqlite::memory:").await.unwrap();
    migrations::SQLITE.run_direct(None, &mut conn, false).await.unwrap();
    let tables: Vec<String> =
        sqlx::query_scalar("select name from sqlite_master where type = 'table'").fetch_all(&mut conn).await.unwrap();
    for (name, text) in of_sqlite() {
        for statement in text.split_terminator("; ") {
            let explain = AssertSqlSafe(format!("explain query plan {statement}"));
            for row in sqlx::raw_sql(explain).fetch_all(&mut conn).await.unwrap() {
                let step: String = row.get("detail");
                // A table by its name, or by the letter that stands for it; other things are lists that are bound.
                let scanned = step.strip_prefix("SCAN ").and_then(|rest| rest.split(' ').next());
                let scans = scanned.is_some_and(|scanned| {
                    let is_table = !statement.contains(&format!(") as {scanned}"));
                    tables.iter().any(|table| table == scanned)
                        || is_table && ["s", "t", "o", "l", "e", "u", "a"].contains(&scanned)
                });
                assert!(
                    SCANS.contains(&&*name) || !scans && !step.contains("AUTOMATIC"),
                    "{name}: {step}: {statement}"
                );
            }
        }
    }
}
