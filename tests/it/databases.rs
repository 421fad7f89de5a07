//! Databases of other programs: the owner is checked before anything is changed, and the error names what was found.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde_json::json;
use sqlx::{AssertSqlSafe, Connection as _, Executor as _, PgConnection, SqliteConnection};

use crate::support::{
    binary::{Server, ended, log_says},
    databases::{Place, on_both_databases},
    postgres::database,
};

const SESSIONS: &str = "/v1/apps/a/users/u/sessions";

/// Every command that needs a database and makes none.
const NEEDS_ONE: [&[&str]; 9] = [
    &["export"],
    &["import", "--dry-run", "/dev/null"],
    &["keys", "list"],
    &["keys", "create", "--name", "ops", "--role", "admin", "--apps", "*"],
    &["keys", "revoke", "k"],
    &["keys", "rotate", "k"],
    &["erasures", "export"],
    &["erasures", "replay", "/dev/null"],
    &["verify"],
];

/// Those that make one.
const MAKES_ONE: [&[&str]; 3] = [&["serve"], &["migrate"], &["import", "/dev/null"]];

on_both_databases!(
    a_command_finds_no_database,
    tables_that_are_gone_are_not_ready,
    what_an_earlier_build_made_is_known,
    a_key_that_no_process_asks_for,
    whoever_runs_it_learns_which_database_it_is
);

/// The names of what is there.
async fn names(place: &Place) -> Vec<String> {
    match place {
        Place::Sqlite(dir) => {
            let mut names: Vec<String> = contents(dir).into_keys().collect();
            if dir.join("data.db").exists() {
                let mut connection = SqliteConnection::connect(&place.url()).await.unwrap();
                let tables: Vec<String> = sqlx::query_scalar("select name from sqlite_master order by name")
                    .fetch_all(&mut connection)
                    .await
                    .unwrap();
                names.extend(tables);
            }
            names
        }
        Place::Postgres(database) => {
            let mut connection = PgConnection::connect(&database.url).await.unwrap();
            sqlx::query_scalar(
                "select relname::text || ' of ' || relnamespace::regnamespace from pg_class \
                 where relnamespace::regnamespace::text not in ('pg_catalog', 'pg_toast', 'information_schema') order by 1",
            )
            .fetch_all(&mut connection)
            .await
            .unwrap()
        }
    }
}

/// Every file of a folder, byte for byte.
fn contents(dir: &Path) -> BTreeMap<String, Vec<u8>> {
    let files = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap());
    files.map(|file| (file.file_name().into_string().unwrap(), fs::read(file.path()).unwrap())).collect()
}

/// Runs a command that needs a database.
async fn refused(place: &Place, command: &[&str]) -> String {
    let (status, log) = ended(&place.url(), command).await;
    let expected = if ["serve", "migrate"].contains(&command[0]) { 1 } else { 2 };
    assert_eq!(status.code(), Some(expected), "{command:?}: {log}");
    log
}

async fn a_command_finds_no_database(place: Place) {
    if let Place::Postgres(database) = &place {
        let mut connection = PgConnection::connect(&database.url).await.unwrap();
        connection.execute("create table notes (id int)").await.unwrap();
    }
    let before = names(&place).await;
    for command in NEEDS_ONE {
        let log = refused(&place, command).await;
        assert!(log.contains("run `sessiond migrate`") || log.contains("by `sessiond migrate`"), "{command:?}: {log}");
        if let Place::Sqlite(dir) = &place {
            assert!(log.contains(dir.join("data.db").to_str().unwrap()), "{command:?}: {log}");
        }
        assert_eq!(names(&place).await, before, "{command:?} made something");
    }
    // And an import makes it.
    let (status, log) = ended(&place.url(), &["import", "/dev/null"]).await;
    assert_ne!(status.code(), Some(2), "{log}");
    let (status, log) = ended(&place.url(), &["keys", "list"]).await;
    assert_eq!(status.code(), Some(0), "{log}");
    place.finish().await;
}

/// What another program has in a file, and a word that the refusal must have.
const FILES: [(&str, &str); 5] = [
    ("create table sessions (id); create table events (id)", "sessions, events"),
    ("pragma journal_mode = wal; create table sessions (id); insert into sessions values (1)", "sessions"),
    ("create table notes (id); create table _sqlx_migrations (version)", "notes, _sqlx_migrations"),
    ("create table n (id); create view sessions as select * from n", "n, sessions"),
    ("create view events as select 1", "events"),
];

#[tokio::test(flavor = "multi_thread")]
async fn a_file_of_another_program_is_left_as_it_is() {
    let all_refuse = async |place: &Place, says: &str| {
        let Place::Sqlite(dir) = place else { panic!("not a file") };
        let before = contents(dir);
        for command in NEEDS_ONE.iter().chain(&MAKES_ONE) {
            let log = refused(place, command).await;
            assert!(log.contains(says) && log.contains("nothing was changed"), "{command:?}: {log}");
            assert_eq!(contents(dir), before, "{command:?}");
        }
    };
    for (sql, says) in FILES {
        let place = Place::sqlite();
        let mut connection = SqliteConnection::connect(&format!("{}?mode=rwc", place.url())).await.unwrap();
        connection.execute(AssertSqlSafe(sql)).await.unwrap();
        connection.close().await.unwrap();
        all_refuse(&place, says).await;
    }
    let place = Place::sqlite();
    let Place::Sqlite(dir) = &place else { panic!("not a file") };
    fs::write(dir.join("data.db"), "a text, which is no database at all ".repeat(9)).unwrap();
    all_refuse(&place, "is not a database").await;

    // One that is in use, and has all of it in its log.
    let place = Place::sqlite();
    let Place::Sqlite(dir) = &place else { panic!("not a file") };
    let mut connection = SqliteConnection::connect(&format!("{}?mode=rwc", place.url())).await.unwrap();
    connection.execute("pragma journal_mode = wal; create table sessions (id)").await.unwrap();
    let mut before = contents(dir);
    // The places of readers, which SQLite keeps for all of them.
    before.remove("data.db-shm");
    for command in NEEDS_ONE.iter().chain(&MAKES_ONE) {
        let log = refused(&place, command).await;
        assert!(log.contains("another program's"), "{command:?}: {log}");
        let mut after = contents(dir);
        assert!(after.remove("data.db-shm").is_some());
        assert_eq!(after, before, "{command:?}");
    }
    connection.close().await.unwrap();
}

/// What another program has in a schema of PostgreSQL under a name of ours.
#[tokio::test(flavor = "multi_thread")]
async fn a_schema_of_another_program_is_left_as_it_is() {
    for (sql, says) in [
        (
            "create table sessions (id int); create table events (id int)",
            "sessions, events there are none of sessiond's",
        ),
        ("create table n (id int); create view sessions as select * from n", "sessions there is not one of sessiond's"),
        (
            "create foreign data wrapper w; create server s foreign data wrapper w; create foreign table events (id int) server s",
            "events there is not one of sessiond's",
        ),
        ("create sequence imports", "imports there is not one of sessiond's"),
    ] {
        let place = Place::postgres().await;
        place.execute(sql).await;
        let before = names(&place).await;
        for command in NEEDS_ONE.iter().chain(&MAKES_ONE) {
            let log = refused(&place, command).await;
            for says in ["the schema public", says, "options[search_path]=", "nothing was changed"] {
                assert!(log.contains(says), "no {says:?} of {command:?}: {log}");
            }
            assert!(!log.contains("waiting"), "{log}");
            assert_eq!(names(&place).await, before, "{command:?}");
        }
        // As the words say: a schema of its own, before or without the other.
        place.execute("create schema sessiond").await;
        for path in ["sessiond", "sessiond,public"] {
            let url = format!("{}?options[search_path]={path}", place.url());
            let server = Server::start(&url, &[]).await;
            server.post(SESSIONS).json(json!({})).await.expect(201);
            server.get("/readyz").await.expect(200);
        }
    }
}

/// Other programs note their migrations, too.
#[tokio::test(flavor = "multi_thread")]
async fn migrations_of_another_program_are_beside_ours() {
    let place = Place::postgres().await;
    place
        .execute(
            "create table _sqlx_migrations (version bigint primary key, description text not null, \
               installed_on timestamptz not null default now(), success boolean not null, checksum bytea not null, \
               execution_time bigint not null); \
             insert into _sqlx_migrations values (1, 'users', now(), true, '\\x00', 0), (20220101, 'x', now(), true, '\\x01', 0)",
        )
        .await;
    let count = "select count(*) from _sqlx_migrations";
    Server::start(&place.url(), &[]).await.post(SESSIONS).json(json!({})).await.expect(201);
    let (status, log) = ended(&place.url(), &["migrate"]).await;
    assert_eq!(status.code(), Some(0), "{log}");
    assert_eq!(place.number(count).await, 2);
    assert_eq!(place.number("select count(*) from sessiond_migrations").await, 1);
    place.finish().await;
}

/// Something in front of our tables in the search_path, at a start and under a running server.
#[tokio::test(flavor = "multi_thread")]
async fn only_our_tables_are_ready() {
    let place = Place::postgres().await;
    place.execute("create schema front").await;
    let url = format!("{}?options[search_path]=front,public", place.url());
    // So that they are not made in the schema in front.
    assert_eq!(ended(&place.url(), &["migrate"]).await.0.code(), Some(0));
    let server = Server::start(&url, &[]).await;
    server.get("/readyz").await.expect(200);
    for (make, drop, says) in [
        ("view events as select 1 as id", "view events", "events leads to front.events, a view"),
        ("table sessions (id int)", "table sessions", "sessions leads to front.sessions, a table"),
        (
            "table sessiond_migrations as select * from public.sessiond_migrations",
            "table sessiond_migrations",
            "public",
        ),
    ] {
        place.execute(format!("set search_path = front; create {make}")).await;
        let ready = server.get("/readyz").await.expect(503);
        assert_eq!(ready.json()["code"], "storage_unavailable");
        for command in [&["serve"][..], &["migrate"], &["export"], &["keys", "list"], &["verify"]] {
            let (status, log) = ended(&url, command).await;
            assert_ne!(status.code(), Some(0), "{command:?}: {log}");
            assert!(log.contains(says) && log.contains("search_path"), "{command:?}: {log}");
        }
        place.execute(format!("drop {}", drop.replace(' ', " front."))).await;
        server.get_until("/readyz", 200).await;
    }
    place
        .execute(
            "create function front.sessiond_admits(p_app text, p_user text, p_subject bytea, p_revision bigint) returns int \
             language sql as 'select 1'",
        )
        .await;
    server.get("/readyz").await.expect(503);
    log_says(&server.process, "the function sessiond_admits does not lead to public.sessiond_admits").await;
    place.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_search_path_that_leads_nowhere_is_named() {
    let place = Place::postgres().await;
    for (path, says) in [("\"\"", "is empty"), ("nowhere", "is nowhere, of which no schema is there")] {
        let url = reqwest::Url::parse_with_params(&place.url(), [("options[search_path]", path)]).unwrap();
        for command in [&["serve"][..], &["migrate"], &["export"]] {
            let (status, log) = ended(url.as_str(), command).await;
            assert_ne!(status.code(), Some(0), "{log}");
            assert!(log.contains("the search_path of the role") && log.contains(says), "{log}");
            assert!(!log.contains("3F000") && !log.contains("waiting"), "{log}");
        }
    }
}

async fn tables_that_are_gone_are_not_ready(place: Place) {
    let server = Server::start(&place.url(), &[]).await;
    server.get("/readyz").await.expect(200);
    place.execute("alter table trims rename to elsewhere").await;
    assert_eq!(server.get("/readyz").await.expect(503).json()["code"], "storage_unavailable");
    log_says(&server.process, "is not there").await;
    place.execute("create view trims as select * from elsewhere").await;
    server.get("/readyz").await.expect(503);
    place.execute("drop view trims; alter table elsewhere rename to trims").await;
    server.get_until("/readyz", 200).await;
}

/// Unreleased builds noted their migrations under sqlx's own name, or had others.
async fn what_an_earlier_build_made_is_known(place: Place) {
    let migrate = || async { ended(&place.url(), &["migrate"]).await };
    assert_eq!(migrate().await.0.code(), Some(0));
    for change in [
        "update sessiond_migrations set checksum = '\\x00'",
        "alter table sessiond_migrations rename to _sqlx_migrations",
    ] {
        place.execute(change).await;
        for command in [&["serve"][..], &["migrate"], &["serve", "--no-migrate"], &["export"], &["verify"]] {
            let (status, log) = ended(&place.url(), command).await;
            assert_ne!(status.code(), Some(0), "{log}");
            assert!(log.contains("by a build of sessiond that was never released"), "{command:?}: {log}");
        }
    }
}

async fn a_key_that_no_process_asks_for(place: Place) {
    const SAYS: &str = "no process serves this database";
    let create = ["keys", "create", "--name", "ops", "--role", "admin", "--apps", "*"];
    assert_eq!(ended(&place.url(), &["migrate"]).await.0.code(), Some(0));
    let (status, log) = ended(&place.url(), &create).await;
    assert!(status.success() && log.contains(SAYS), "{log}");
    let server = Server::start(&place.url(), &[]).await;
    let (status, log) = ended(&place.url(), &create).await;
    assert!(status.success() && !log.contains(SAYS), "{log}");
    drop(server);
    place.finish().await;
}

async fn whoever_runs_it_learns_which_database_it_is(place: Place) {
    let names = match &place {
        Place::Sqlite(dir) => fs::canonicalize(dir).unwrap().join("data.db").to_str().unwrap().to_owned(),
        Place::Postgres(database) => {
            let url = reqwest::Url::parse(&database.url).unwrap();
            let (host, port) = (url.host_str().unwrap(), url.port().unwrap_or(5432));
            format!("PostgreSQL at {host}:{port}, database {}", url.path().trim_start_matches('/'))
        }
    };
    let (_, log) = ended(&place.url(), &["migrate"]).await;
    assert!(log.contains(&names), "{log}");
    let server = Server::start(&place.url(), &[]).await;
    assert!(server.process.log().contains(&names), "{}", server.process.log());
    for command in [&["export"][..], &["import", "/dev/null"], &["keys", "list"], &["erasures", "export"]] {
        let (_, log) = ended(&place.url(), command).await;
        assert!(log.contains(&format!("database: {names}\n")), "{command:?}: {log}");
    }
    drop(server);
    place.finish().await;
}

/// A role that may not read a table: the server is not ready, and says which.
#[tokio::test(flavor = "multi_thread")]
async fn a_table_that_may_not_be_read_is_named() {
    let database = database().await;
    let place = Place::Postgres(database);
    assert_eq!(ended(&place.url(), &["migrate"]).await.0.code(), Some(0));
    let role = format!("r_{}", uuid::Uuid::new_v4().simple());
    place
        .execute(format!(
            "create role {role} login; grant select, insert, update, delete on all tables in schema public to {role}; \
             revoke select on policies from {role}"
        ))
        .await;
    let mut url = reqwest::Url::parse(&place.url()).unwrap();
    url.set_username(&role).unwrap();
    let (status, log) = ended(url.as_str(), &["serve"]).await;
    assert_eq!(status.code(), Some(1), "{log}");
    assert!(log.contains("may not read public.policies"), "{log}");
    place.execute(format!("drop owned by {role}; drop role {role}")).await;
}
