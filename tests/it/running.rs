//! The process: how it starts, what it says, how it stops.

use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};
use sessiond::domain::ids::{AppName, UserId, UserKey};
use sessiond::domain::time::Micros;
use sessiond::store::limits::{PostgresOptions, StoreLimits};
use sessiond::store::open;
use sqlx::{AssertSqlSafe, Connection as _, PgConnection, SqliteConnection};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    time::{Instant, sleep, timeout},
};

use crate::store::access::api_key;
use crate::support::{
    binary::{PATIENT, Server, ended, log_says, spawn, together},
    client::Client,
    client::PATIENCE,
    databases::{Place, on_both_databases},
    load::check_log,
    pgbouncer::PgBouncer,
    postgres::{address, database, through},
    process::{Sessiond, free_port},
    proxy::TcpProxy,
};

const SESSIONS: &str = "/v1/apps/a/users/u/sessions";
const SESSION: &str = "/v1/apps/a/users/u/sessions/s";
const EVENTS: &str = "/v1/apps/a/users/u/sessions/s/events";
const STATE: &str = "/v1/apps/a/users/u/sessions/s/state";

on_both_databases!(
    a_restart_keeps_all_but_temp,
    pending_migrations_are_refused,
    a_newer_schema_is_served_if_it_only_adds,
    nothing_of_a_client_is_logged,
    metrics_count_what_happened,
    the_shutdown_delay_serves_all_but_readiness,
);

/// Until somebody waits for a lock in the database.
async fn somebody_waits(database_url: &str) {
    let mut connection = PgConnection::connect(database_url).await.unwrap();
    let waiting = async {
        let statement =
            "select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'";
        while sqlx::query_scalar::<_, i64>(statement).fetch_one(&mut connection).await.unwrap() == 0 {
            sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(PATIENCE, waiting).await.expect("somebody waits for the lock");
}

async fn lock_sessions(database_url: &str) -> PgConnection {
    let mut connection = PgConnection::connect(database_url).await.unwrap();
    sqlx::raw_sql("begin; select 1 from sessions for update").execute(&mut connection).await.unwrap();
    connection
}

/// Until nobody listens there.
async fn closed(api: &Client) {
    let closing = async {
        while TcpStream::connect(api.address()).await.is_ok() {
            sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(PATIENCE, closing).await.expect("new connections are refused");
}

#[tokio::test(flavor = "multi_thread")]
async fn sigterm_finishes_what_is_under_way() {
    let database = database().await;
    let mut server = Server::start(&database.url, PATIENT).await;
    server.post(SESSIONS).json(json!({"sessionId": "s"})).await.expect(201);
    let mut kept = TcpStream::connect(server.address()).await.unwrap();
    kept.write_all(b"GET /readyz HTTP/1.1\r\nhost: localhost\r\n\r\n").await.unwrap();
    let mut answer = [0; 4096];
    let length = kept.read(&mut answer).await.unwrap();
    assert!(answer[..length].starts_with(b"HTTP/1.1 200 "));

    let held = lock_sessions(&database.url).await;
    let slow = tokio::spawn({
        let api = server.api.clone();
        async move { api.post(EVENTS).json(json!({"id": "slow"})).await }
    });
    somebody_waits(&database.url).await;
    server.process.sigterm();
    closed(&server).await;
    assert!(!slow.is_finished());
    // Either the connection is closed, or it says that there is nothing to be had here.
    let _ = kept.write_all(b"GET /readyz HTTP/1.1\r\nhost: localhost\r\n\r\n").await;
    match timeout(PATIENCE, kept.read(&mut answer)).await.expect("closed or answered") {
        Ok(0) | Err(_) => {}
        Ok(length) => assert!(answer[..length].starts_with(b"HTTP/1.1 503 ")),
    }
    held.close().await.unwrap();
    slow.await.unwrap().expect(201);
    let status = server.process.wait().await;
    assert_eq!(status.code(), Some(0), "{}", server.process.log());

    let again = Server::start(&database.url, &[]).await;
    again.post(EVENTS).json(json!({"id": "slow"})).await.expect(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn sigterm_waits_no_longer_than_the_drain() {
    let database = database().await;
    // Nothing but the drain ends anything here before the test has failed.
    let long = ["--request-timeout=5m", "--idle-timeout=10m", "--header-timeout=5m", "--lock-timeout=5m"];
    let args = [&long[..], &["--statement-timeout=5m", "--acquire-timeout=5m", "--drain-timeout=200ms"]].concat();
    let mut server = Server::start(&database.url, &args).await;
    server.post(SESSIONS).json(json!({"sessionId": "s"})).await.expect(201);
    let mut halves = Vec::new();
    let head = format!("POST {EVENTS} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n");
    for part in [&head[..20], &head, &format!("{head}content-length: 100\r\n\r\n{{\"id\"")] {
        let mut stream = TcpStream::connect(server.address()).await.unwrap();
        stream.write_all(part.as_bytes()).await.unwrap();
        halves.push(stream);
    }
    let _held = lock_sessions(&database.url).await;
    let stuck = tokio::spawn({
        let api = server.api.clone();
        async move { api.send("POST", EVENTS, &[], Some(&json!({"id": "stuck"}))).await }
    });
    somebody_waits(&database.url).await;
    server.process.sigterm();
    let status = server.process.wait().await;
    assert_eq!(status.code(), Some(0), "{}", server.process.log());
    assert!(stuck.await.unwrap().is_err(), "no answer is better than a wrong one");
}

/// One request on a connection that is kept open: the answer.
async fn ask(stream: &mut TcpStream, path: &str) -> String {
    stream.write_all(format!("GET {path} HTTP/1.1\r\nhost: localhost\r\n\r\n").as_bytes()).await.unwrap();
    let mut answer = vec![0; 4096];
    let length = timeout(PATIENCE, stream.read(&mut answer)).await.unwrap().unwrap();
    String::from_utf8_lossy(&answer[..length]).into_owned()
}

/// Load balancers need time to notice that a server goes, and until then what they send is served.
async fn the_shutdown_delay_serves_all_but_readiness(place: Place) {
    let mut server = Server::start(&place.url(), &["--shutdown-delay=10m"]).await;
    server.post(SESSIONS).json(json!({"sessionId": "s"})).await.expect(201);
    let mut kept = TcpStream::connect(server.address()).await.unwrap();
    let ready = ask(&mut kept, "/readyz").await;
    assert!(ready.starts_with("HTTP/1.1 200 ") && !ready.contains("connection: close"), "{ready}");
    server.process.sigterm();
    assert_eq!(server.get_until("/readyz", 503).await.json()["code"], "overloaded");
    // A planned stop is no error.
    let log = log_says(&server.process, "\"status\":503").await;
    assert!(!log.contains("\"level\":\"ERROR\""), "{log}");
    for _ in 0..3 {
        server.get("/healthz").await.expect(200);
        server.post(EVENTS).json(json!({})).await.expect(201);
        // On a new connection, too.
        Client::at(&format!("http://{}", server.address())).get(SESSION).await.expect(200);
    }
    // Whoever keeps a connection is told to make a new one, which a load balancer makes elsewhere.
    let told = ask(&mut kept, "/healthz").await;
    assert!(told.starts_with("HTTP/1.1 200 ") && told.contains("connection: close"), "{told}");
    // A second signal ends the delay.
    server.process.sigterm();
    let status = server.process.wait().await;
    assert_eq!(status.code(), Some(0), "{}", server.process.log());

    // And it ends by itself.
    let mut server = Server::start(&place.url(), &["--shutdown-delay=200ms"]).await;
    server.process.sigterm();
    assert_eq!(server.process.wait().await.code(), Some(0), "{}", server.process.log());
}

/// Everything in the database as text.
async fn dump(place: &Place) -> String {
    let tables = [
        "sessions",
        "events",
        "session_state",
        "user_state",
        "user_scopes",
        "app_state",
        "app_scopes",
        "buried_sessions",
    ];
    let mut text = String::new();
    match place {
        Place::Postgres(database) => {
            let mut connection = PgConnection::connect(&database.url).await.unwrap();
            for table in tables {
                let select = format!("select coalesce(string_agg(t::text, ' '), '') from {table} t");
                text +=
                    &sqlx::query_scalar::<_, String>(AssertSqlSafe(select)).fetch_one(&mut connection).await.unwrap();
            }
        }
        Place::Sqlite(dir) => {
            for file in std::fs::read_dir(dir).unwrap() {
                text += &String::from_utf8_lossy(&std::fs::read(file.unwrap().path()).unwrap());
            }
        }
    }
    text
}

async fn a_restart_keeps_all_but_temp(place: Place) {
    let mut server = Server::start(&place.url(), &[]).await;
    let body = json!({"sessionId": "s", "displayName": "n", "labels": {"a": "b"}, "ttl": 3600,
        "state": {"app:a": 1, "user:u": [1.0], "temp:gone": "VANISHES", "own": {"k": null}}});
    server.post(SESSIONS).json(&body).await.expect(201);
    for n in 0..3 {
        let event = json!({"id": format!("e{n}"), "author": "a", "content": {"parts": [{"text": "t"}]},
            "actions": {"stateDelta": {"n": n, "temp:n": "VANISHES"}}});
        let stored = server.post(EVENTS).json(&event).await.expect(201);
        assert!(!stored.text().contains("VANISHES") && !stored.text().contains("temp:"), "{stored:?}");
    }
    server.patch(STATE).json(json!({"stateDelta": {"p": 1, "temp:p": "VANISHES"}})).await.expect(200);
    let paths = [SESSION, STATE, EVENTS, SESSIONS, "/v1/apps/a/state", "/v1/apps/a/users/u/state", "/v1/apps"];
    let mut before = Vec::new();
    for path in paths {
        before.push(server.get(path).await.expect(200));
    }
    server.process.sigterm();
    assert_eq!(server.process.wait().await.code(), Some(0));
    let server = Server::start(&place.url(), &[]).await;
    for (path, before) in paths.into_iter().zip(before) {
        let after = server.get(path).await.expect(200);
        assert_eq!((&after.text(), after.header("etag")), (&before.text(), before.header("etag")), "{path}");
    }
    let dump = dump(&place).await;
    assert!(dump.contains("displayName") || dump.contains("e2"), "the dump shows what is stored");
    assert!(!dump.contains("VANISHES") && !dump.contains("temp:"), "a temp: key was stored");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_sqlite_file_serves_one_process() {
    let place = Place::sqlite();
    let first = Server::start(&place.url(), &[]).await;
    for command in ["serve", "migrate"] {
        let (status, log) = ended(&place.url(), &[command]).await;
        assert_eq!(status.code(), Some(1), "{log}");
        assert!(log.contains("another process has") && log.contains("data.db open"), "{log}");
    }
    first.get("/readyz").await.expect(200);
    // By whatever path.
    let Place::Sqlite(dir) = &place else { panic!("it is SQLite") };
    let (folder, link) = (dir.join("folder"), dir.join("link.db"));
    std::fs::create_dir(&folder).unwrap();
    std::os::unix::fs::symlink("data.db", &link).unwrap();
    std::os::unix::fs::symlink(dir, folder.join("back")).unwrap();
    for path in [link.clone(), folder.join("../data.db"), folder.join("back/link.db")] {
        let (status, log) = ended(&format!("sqlite://{}", path.display()), &[]).await;
        assert_eq!(status.code(), Some(1), "{log}");
        assert!(log.contains("another process has") && log.contains("data.db open"), "{log}");
    }
    drop(first);
    Server::start(&place.url(), &[]).await.get("/readyz").await.expect(200);
    // A link to a file that is to be made.
    let fresh = dir.join("fresh.db");
    std::fs::remove_file(&link).unwrap();
    std::os::unix::fs::symlink("fresh.db", &link).unwrap();
    let server = Server::start(&format!("sqlite://{}", link.display()), &[]).await;
    server.post(SESSIONS).json(json!({"sessionId": "s"})).await.expect(201);
    let (status, log) = ended(&format!("sqlite://{}", fresh.display()), &[]).await;
    assert_eq!(status.code(), Some(1), "{log}");
}

/// Started without a word, it serves from a file beside it.
#[tokio::test(flavor = "multi_thread")]
async fn the_default_database_is_a_file_in_the_working_directory() {
    let mut process = Sessiond::spawn(&["--listen=127.0.0.1:0", "--metrics-listen=off"], &[]);
    let api = Client::at(&process.base_url().await);
    api.post(SESSIONS).json(json!({"sessionId": "s"})).await.expect(201);
    assert!(process.dir().join("sessiond.db").is_file());
}

async fn pending_migrations_are_refused(place: Place) {
    let (status, log) = ended(&place.url(), &["--no-migrate"]).await;
    assert_eq!(status.code(), Some(1), "{log}");
    assert!(log.contains("migrations are pending: run `sessiond migrate`"), "{log}");
    let (status, log) = ended(&place.url(), &["migrate"]).await;
    assert_eq!(status.code(), Some(0), "{log}");
    let server = Server::start(&place.url(), &["--no-migrate"]).await;
    server.get("/readyz").await.expect(200);
    server.post(SESSIONS).json(json!({})).await.expect(201);
    // Somebody undoes them while it runs.
    execute(&place, "delete from sessiond_migrations").await;
    let ready = server.get("/readyz").await.expect(503);
    assert_eq!(ready.json()["code"], "storage_unavailable");
}

async fn execute(place: &Place, sql: &'static str) {
    match place {
        Place::Postgres(database) => {
            let mut connection = PgConnection::connect(&database.url).await.unwrap();
            sqlx::raw_sql(sql).execute(&mut connection).await.unwrap();
        }
        Place::Sqlite(_) => {
            let mut connection = SqliteConnection::connect(&place.url()).await.unwrap();
            sqlx::raw_sql(sql).execute(&mut connection).await.unwrap();
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn processes_that_migrate_at_once_agree() {
    let database = database().await;
    let mut processes: Vec<_> = (0..2).map(|_| spawn(&database.url, &["migrate"])).collect();
    processes.extend((0..2).map(|_| spawn(&database.url, &[])));
    for process in &mut processes[..2] {
        let status = process.wait().await;
        assert_eq!(status.code(), Some(0), "{}", process.log());
    }
    for process in &mut processes[2..] {
        Client::at(&process.base_url().await).get("/readyz").await.expect(200);
    }
    let mut connection = PgConnection::connect(&database.url).await.unwrap();
    let twice: i64 = sqlx::query_scalar("select count(*) - count(distinct version) from sessiond_migrations")
        .fetch_one(&mut connection)
        .await
        .unwrap();
    assert_eq!(twice, 0);
}

/// What every kind of write and read of the API does, once.
async fn workload(api: &Client) {
    api.post(SESSIONS).json(json!({"sessionId": "s", "state": {"app:k": 1, "user:k": 1, "k": 1}})).await.expect(201);
    api.put(format!("{SESSIONS}/t")).json(json!({})).await.expect(201);
    api.post(EVENTS).json(json!([{"id": "e1"}, {"id": "e2", "actions": {"stateDelta": {"k": 2}}}])).await.expect(201);
    api.post(EVENTS).json(json!({"id": "e1"})).await.expect(200);
    api.patch(STATE).json(json!({"stateDelta": {"p": 1}, "eventId": "e3"})).await.expect(200);
    api.put(format!("{STATE}/q")).json(json!(1)).await.expect(200);
    api.delete(format!("{STATE}/q")).await.expect(204);
    api.patch(SESSION).json(json!({"displayName": "n", "labels": {"a": "b"}})).await.expect(200);
    api.patch("/v1/apps/a/state").json(json!({"stateDelta": {"x": 1}})).await.expect(200);
    api.patch("/v1/apps/a/users/u/state").json(json!({"stateDelta": {"x": 1}})).await.expect(200);
    let session = api.get(SESSION).await.expect(200);
    assert_eq!(session.tag_parts()[..3], ["5", "2", "2"]);
    let expected = json!({"app:k": 1, "app:x": 1, "user:k": 1, "user:x": 1, "k": 2, "p": 1});
    assert_eq!(session.json()["state"], expected);
    for path in
        [STATE, EVENTS, SESSIONS, "/v1/apps/a/sessions?label.a=b&includeState=true", "/v1/apps", "/v1/apps/a/users"]
    {
        api.get(path).await.expect(200);
    }
    api.get(format!("{STATE}/k")).await.expect(200);
    api.get(format!("{EVENTS}/e2")).await.expect(200);
    api.get("/v1/apps/a/state").await.expect(200);
    api.get("/v1/apps/a/users/u/state").await.expect(200);
    api.delete(format!("{SESSIONS}/t")).await.expect(204);
    api.get(format!("{SESSIONS}/t")).await.expect(404);
}

/// What [`workload`] leaves out.
async fn rest_of_the_api(api: &Client) {
    let fork = api.post(format!("{SESSION}/fork")).json(json!({"atRevision": 1, "sessionId": "f"})).await;
    assert_eq!(fork.expect(201).json()["revision"], 1);
    api.get(format!("{STATE}?atRevision=1")).await.expect(200);
    api.post(format!("{SESSION}/rewind")).json(json!({"toRevision": 1})).await.expect(200);
    api.get(format!("{EVENTS}?excludeRewound=true&pageSize=1")).await.expect(200);
    api.post(format!("{SESSION}/render")).json(json!({"template": "{app:k}"})).await.expect(200);
    let operators = json!({"stateOps": [{"op": "increment", "key": "app:n", "value": 1}, {"op": "remove", "key": "k"}],
        "preconditions": [{"key": "user:k", "equals": 1}]});
    api.patch(STATE).json(&operators).await.expect(200);
    api.post(EVENTS).json(json!({"actions": operators})).await.expect(201);
    api.post(EVENTS).header("if-match", api.get(STATE).await.etag()).json(json!({"author": "a"})).await.expect(201);
    for n in 0..20 {
        api.post(EVENTS).json(json!({"actions": {"stateDelta": {"n": n, "app:n": n, "user:n": n}}})).await.expect(201);
    }
    let simple = (0..8).map(|n| {
        let api = api.clone();
        async move { api.put(format!("{SESSIONS}/simple{n}")).json(json!({})).await.expect(201) }
    });
    together(simple).await;
    api.patch("/v1/apps/a/state").json(json!({"stateOps": [{"op": "remove", "key": "x"}]})).await.expect(200);
    api.get("/apps/a/users/u/sessions").await.expect(200);
    api.patch("/apps/a/users/u/sessions/f").json(json!({"stateDelta": {"adk": 1}})).await.expect(200);
    // Expires at once, is made anew, and is deleted: all of it is for the sweep.
    api.patch(format!("{SESSIONS}/simple0")).json(json!({"ttl": 0.001})).await.expect(200);
    api.get_until(&format!("{SESSIONS}/simple0"), 404).await;
    api.post(SESSIONS).json(json!({"sessionId": "simple0"})).await.expect(201);
    api.patch(format!("{SESSIONS}/simple1")).json(json!({"ttl": 0.001})).await.expect(200);
    for gone in [SESSION, &format!("{SESSIONS}/f")] {
        api.delete(gone).await.expect(204);
    }
}

/// The statements of a section of the documents.
fn documented_sql(document: &str) -> &str {
    let (_, rest) = document.split_once("```sql\n").expect("a block of SQL");
    rest.split_once("```").expect("its end").0
}

/// A server needs no more than to read and write rows, if somebody else migrates.
#[tokio::test(flavor = "multi_thread")]
async fn a_role_that_owns_nothing_serves() {
    let database = database().await;
    let (status, log) = ended(&database.url, &["migrate"]).await;
    assert_eq!(status.code(), Some(0), "{log}");
    let mut owner = PgConnection::connect(&database.url).await.unwrap();
    let (name, user): (String, String) =
        sqlx::query_as("select current_database()::text, current_user::text").fetch_one(&mut owner).await.unwrap();
    let role = name.replace("test", "app");
    let grants = documented_sql(include_str!("../../docs/postgresql.md"))
        .replace("database sessiond ", &format!("database {name} "))
        .replace("sessiond_owner", &user)
        .replace("sessiond_app", &role);
    assert!(grants.matches(&role).count() > 5 && grants.contains(&name), "{grants}");
    // What every role may do otherwise.
    let revoke = format!("revoke all on database {name} from public; revoke all on schema public from public;");
    sqlx::raw_sql(AssertSqlSafe(revoke + &grants)).execute(&mut owner).await.unwrap();
    let mut url = reqwest::Url::parse(&database.url).unwrap();
    url.set_username(&role).unwrap();
    url.set_password(Some("change-me")).unwrap();

    for flags in [&["--sweep-interval=20ms", "--no-migrate"][..], &["--sweep-interval=20ms"]] {
        let server = Server::start(url.as_str(), flags).await;
        workload(&server).await;
        rest_of_the_api(&server).await;
        let left =
            "select (select count(*) from buried_sessions) + (select count(*) from sessions where id = 'simple1')";
        let sweeping = async {
            while sqlx::query_scalar::<_, i64>(left).fetch_one(&mut owner).await.unwrap() > 0 {
                sleep(Duration::from_millis(5)).await;
            }
        };
        timeout(PATIENCE, sweeping).await.expect("all is swept");
        server.get("/readyz").await.expect(200);
        assert!(!server.process.log().contains("permission denied"), "{}", server.process.log());
        drop(server);
        let (status, log) = ended(url.as_str(), &["verify"]).await;
        assert_eq!(status.code(), Some(0), "{log}");
        sqlx::raw_sql(
            "truncate sessions, session_updates, events, session_state, user_scopes, user_state, app_scopes, \
                       app_state, session_spans, user_log, user_spans, app_log, app_spans",
        )
        .execute(&mut owner)
        .await
        .unwrap();
    }
    // Keys, the secret and revocations of tokens, of which none can be removed.
    let store = open::database(url.as_str(), PostgresOptions::default(), StoreLimits::default()).await.unwrap();
    let (now, deadline) = (Micros(1), Instant::now() + PATIENCE);
    let user = UserKey { app: AppName::parse("a").unwrap(), user: UserId::parse("u").unwrap() };
    let key = api_key("k");
    store.insert_api_key(&key, deadline).await.unwrap();
    assert!(store.change_api_key(&key, &key, deadline).await.unwrap());
    store.touch_api_key("k", now, deadline).await.unwrap();
    assert!(store.api_key("k", deadline).await.unwrap().is_some());
    assert!(store.revoke_api_key("k", now, deadline).await.unwrap());
    assert!(store.has_keys(deadline).await.unwrap());
    for draw in [[1; 32], [2; 32]] {
        assert_eq!(store.token_secret(draw, deadline).await.unwrap(), [1; 32]);
    }
    assert_eq!(store.revoke_tokens(&user, deadline).await.unwrap(), 1);
    store.close().await;
    let mut serving = PgConnection::connect(url.as_str()).await.unwrap();
    for removal in ["delete from api_keys", "delete from token_secrets", "update token_secrets set secret = ''"] {
        let error = sqlx::raw_sql(removal).execute(&mut serving).await.unwrap_err();
        assert!(error.to_string().contains("permission denied"), "{error}");
    }
    serving.close().await.unwrap();
    let (status, log) = ended(url.as_str(), &["migrate"]).await;
    assert_eq!(status.code(), Some(0), "nothing is to be done: {log}");
    sqlx::raw_sql("delete from sessiond_migrations").execute(&mut owner).await.unwrap();
    for command in ["serve", "migrate"] {
        let (status, log) = ended(url.as_str(), &[command]).await;
        assert_eq!(status.code(), Some(1), "{log}");
        assert!(log.contains("run `sessiond migrate` as the owner") && !log.contains("waiting"), "{log}");
    }
    let drop = format!("drop owned by {role}; drop role {role}");
    sqlx::raw_sql(AssertSqlSafe(drop)).execute(&mut owner).await.unwrap();
}

/// What the next version may do to the database while this one still runs, and what a program that does not know it leaves alone.
async fn a_newer_schema_is_served_if_it_only_adds(place: Place) {
    let (status, log) = ended(&place.url(), &["migrate"]).await;
    assert_eq!(status.code(), Some(0), "{log}");
    for table in ["sessions", "events", "session_state", "user_scopes", "user_state", "app_scopes", "app_state"] {
        let sql: &'static str = format!("alter table {table} add column from_the_future text").leak();
        execute(&place, sql).await;
    }
    let row = match place {
        Place::Postgres(_) => {
            "insert into sessiond_migrations (version, description, success, checksum, execution_time) \
             values (9999, 'additive future', true, '\\x00', 0)"
        }
        Place::Sqlite(_) => {
            "insert into sessiond_migrations (version, description, success, checksum, execution_time) \
             values (9999, 'additive future', true, x'00', 0)"
        }
    };
    execute(&place, row).await;
    let server = Server::start(&place.url(), &[]).await;
    server.get("/readyz").await.expect(200);
    workload(&server).await;
    drop(server);
    let server = Server::start(&place.url(), &["--no-migrate"]).await;
    server.get(SESSION).await.expect(200);
    // The next major version does more than add. Whoever runs says so, and nothing starts on it.
    execute(&place, "update sessiond_migrations set description = 'future' where version = 9999").await;
    const SAYS: &str = "a later version of sessiond has migrated the database (migration 9999)";
    assert_eq!(server.get_until("/readyz", 503).await.json()["code"], "storage_unavailable");
    log_says(&server.process, SAYS).await;
    drop(server);
    for command in
        [&["serve"][..], &["serve", "--no-migrate"], &["migrate"], &["export"], &["keys", "list"], &["verify"]]
    {
        let (status, log) = ended(&place.url(), command).await;
        assert_ne!(status.code(), Some(0), "{command:?}: {log}");
        assert!(log.contains(SAYS) && log.contains("or restore the backup from before"), "{command:?}: {log}");
    }
}

/// The words in which a start fails are a line of the log, in its form.
#[tokio::test(flavor = "multi_thread")]
async fn the_last_line_of_a_failed_start_has_the_form_of_the_log() {
    let place = Place::sqlite();
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let listen = format!("--listen={}", taken.local_addr().unwrap());
    for (args, says) in [
        (&["serve", &*listen][..], "cannot listen on"),
        (&["serve", "--admin-key-file=/nowhere/at all"], "/nowhere/at all"),
        (&["migrate", "--citus"], "only PostgreSQL can be distributed"),
    ] {
        let (status, log) = ended(&place.url(), &[args, &["--log-format=json"]].concat()).await;
        assert!(!status.success(), "{log}");
        let last: Value =
            serde_json::from_str(log.trim_end().lines().last().unwrap()).unwrap_or_else(|_| panic!("{log}"));
        assert_eq!((&last["level"], &last["target"]), (&json!("ERROR"), &json!("sessiond")), "{log}");
        assert!(last["message"].as_str().unwrap().contains(says) && last["timestamp"].is_string(), "{log}");
        let (_, log) = ended(&place.url(), &[args, &["--log-format=pretty"]].concat()).await;
        assert!(log.trim_end().lines().last().unwrap().starts_with("error: "), "{log}");
    }
}

/// Taken for a target, a mistyped level would be a log without a line.
#[tokio::test(flavor = "multi_thread")]
async fn a_mistyped_level_of_the_log_is_refused() {
    let place = Place::sqlite();
    for level in ["inof", "sqlx=", "info,sessiond", "sqlx=loud"] {
        let (status, log) = ended(&place.url(), &["serve", &format!("--log={level}")]).await;
        assert_eq!(status.code(), Some(2), "{level}: {log}");
        assert!(log.contains("off, error, warn, info, debug or trace"), "{level}: {log}");
    }
}

/// `check` says what a start would, and makes, changes and serves nothing.
#[tokio::test(flavor = "multi_thread")]
async fn settings_are_checked_without_a_start() {
    let place = Place::sqlite();
    let url = place.url();
    let checked = async |args: &[&str], envs: &[(&str, &str)]| {
        let output = Sessiond::run(&[&["check"], args].concat(), &[&[("DATABASE_URL", &*url)], envs].concat()).await;
        let said = |bytes| String::from_utf8(bytes).expect("text");
        (output.status.code(), said(output.stdout), said(output.stderr))
    };
    let right = (Some(0), "the settings can be used\n".to_owned(), String::new());
    assert_eq!(checked(&[], &[]).await, right);
    // Another process has the address, and that is none of its business.
    let mut server = Server::start(&url, &[]).await;
    let taken = server.process.base_url().await.replace("http://", "--listen=");
    assert_eq!(checked(&[&taken], &[]).await, right);
    drop(server);
    for (args, says) in [
        (&["--watch-heartbeat=80s"][..], "--idle-timeout"),
        (&["--jwt-issuer=https://id.example.com"], "--jwt-audience"),
        (&["--admin-key-file=/nowhere/key"], "/nowhere/key"),
        (&["--log=info,sqlx=nonsense"], "--log"),
        (&["--otlp-endpoint=x"], "--otlp-endpoint"),
        (&["--database-connections=0"], "--database-connections"),
        // Not even root may write there.
        (&["--artifact-store=file:///sys"], "cannot be written"),
        (&["--database", "--database-url=sqlite:///nowhere/at/all.db"], "/nowhere/at/all.db"),
    ] {
        let (status, out, log) = checked(args, &[]).await;
        assert_eq!((status, &*out), (Some(2), ""), "{args:?}: {log}");
        assert!(log.starts_with("error: ") && log.contains(says), "{args:?}: {log}");
    }
    // What a start warns of, or what the database alone knows.
    let (status, out, _) = checked(&["--listen=0.0.0.0:0"], &[("SESSIOND_LISTNE", "x")]).await;
    assert_eq!(status, Some(0), "{out}");
    let [unknown, exposed, end] = out.lines().collect::<Vec<_>>()[..] else { panic!("{out}") };
    assert!(unknown.starts_with("warning: ") && unknown.contains("SESSIOND_LISTNE"), "{out}");
    assert!(exposed.starts_with("warning: ") && exposed.contains("--insecure-no-auth"), "{out}");
    assert_eq!(end, "the settings can be used");
    let whole = (Some(0), "the settings and the database can be used\n".to_owned(), String::new());
    assert_eq!(checked(&["--database"], &[]).await, whole);
}

/// sqlx would log the value of a parameter that it does not know.
#[tokio::test(flavor = "multi_thread")]
async fn unknown_parameters_of_the_database_url_are_refused_by_name() {
    let place = Place::sqlite();
    let address = format!("127.0.0.1:{}", free_port());
    for url in [format!("postgres://u:{SECRET}@{address}/n?sslmode=require&sslpassword={SECRET}"), {
        format!("{}?mode=rwc&sslpassword={SECRET}", place.url())
    }] {
        for command in ["serve", "migrate", "verify"] {
            let (status, log) = ended(&url, &[command, "--log=trace"]).await;
            assert_eq!(status.code(), Some(2), "{log}");
            assert!(log.contains("parameter `sslpassword`") && !log.contains(SECRET), "{log}");
        }
    }
    let (status, log) = ended(&format!("postgres://u:{SECRET}@{address}/n?sslmode={SECRET}"), &[]).await;
    assert_eq!(status.code(), Some(2), "{log}");
    assert!(log.contains("no valid value") && !log.contains(SECRET), "{log}");
    Server::start(&format!("{}?mode=rwc", place.url()), &[]).await.get("/readyz").await.expect(200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_that_others_could_read_is_warned_of() {
    let warning = "sslmode=verify-full";
    for (parameters, warned) in [("", true), ("?sslmode=require", true), ("?sslmode=verify-full", false)] {
        let url = format!("postgres://{SECRET}:{SECRET}@nowhere.invalid/n{parameters}");
        let process = spawn(&url, &["migrate"]);
        let log = log_says(&process, "waiting for the database").await;
        assert_eq!(log.matches(warning).count(), usize::from(warned), "{log}");
        assert!(!log.contains(SECRET), "{log}");
    }
    let database = database().await;
    let server = Server::start(&database.url, &[]).await;
    assert!(!server.process.log().contains(warning), "{}", server.process.log());
}

/// Where it was looked for, and what was met there.
#[tokio::test(flavor = "multi_thread")]
async fn a_database_that_cannot_be_reached_is_named_with_the_cause() {
    let database = database().await;
    let proxy = TcpProxy::start(address(&database.url));
    let login = |url: &str| url.replace("postgres@", &format!("{SECRET}:{SECRET}@"));
    let through = login(&through(&database.url, proxy.addr()));
    let refused = format!("127.0.0.1:{}", free_port());
    let there = proxy.addr().to_string();
    for (url, place, cause) in [
        (format!("postgres://{SECRET}@{refused}/n"), &*refused, "connection refused"),
        (format!("postgres://{SECRET}@nowhere.invalid/n"), "nowhere.invalid:5432", "failed to lookup address"),
        (format!("postgres:///n?host=/nowhere&user={SECRET}"), "/nowhere/.s.PGSQL.5432", "No such file or directory"),
    ] {
        for flag in ["--metrics-listen=off", "--no-migrate"] {
            let process = spawn(&url, &[flag, "--acquire-timeout=200ms", "--statement-timeout=200ms"]);
            let log = log_says(&process, "waiting for the database").await;
            assert!(log.contains(&format!("PostgreSQL at {place} cannot be reached: {cause}")), "{cause}: {log}");
            assert!(!log.contains(SECRET), "{log}");
        }
    }
    // Waiting makes neither a role nor a database.
    let no_database = format!("{}/{SECRET}", database.url.rsplit_once('/').expect("a name").0);
    for (url, place, cause) in [
        (through.clone(), &*there, "it refuses the user, or pg_hba.conf has no line for this connection (28000)"),
        (format!("{through}?sslmode=verify-full"), &*there, "TLS: server does not support TLS"),
        (no_database, &*address(&database.url).to_string(), "it has no such database (3D000)"),
    ] {
        for command in ["serve", "migrate", "export"] {
            let (status, log) = ended(&url, &[command]).await;
            assert_eq!(status.code(), Some(1), "{log}");
            assert!(log.contains(&format!("PostgreSQL at {place} cannot be reached: {cause}")), "{cause}: {log}");
            assert!(!log.contains("waiting for the database") && !log.contains(SECRET), "{log}");
        }
    }
    // A proxy that takes connections and has no server behind it: as good as nobody there.
    let hasty = ["--acquire-timeout=200ms", "--statement-timeout=200ms"];
    for (mode, cause) in [("cut", "closed before an answer"), ("blackhole", "does not answer within the time limit")] {
        for parameters in ["", "?sslmode=disable", "?sslmode=require"] {
            for flag in ["--metrics-listen=off", "--no-migrate"] {
                if mode == "cut" {
                    proxy.cut()
                } else {
                    proxy.blackhole()
                }
                let process = spawn(&format!("{through}{parameters}"), &[&hasty[..], &[flag]].concat());
                let log = log_says(&process, "waiting for the database").await;
                assert!(log.contains(&format!("PostgreSQL at {there} cannot be reached")), "{log}");
                assert!(log.contains(cause) && !log.contains(SECRET), "{mode} {parameters} {flag}: {log}");
                proxy.cut();
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn healthcheck_tells_by_its_status() {
    let database = database().await;
    let proxy = TcpProxy::start(address(&database.url));
    let short = ["--acquire-timeout=300ms", "--statement-timeout=300ms"];
    let server = Server::start(&through(&database.url, proxy.addr()), &short).await;
    let listen = format!("--listen={}", server.address());
    let check = async || {
        let mut process = Sessiond::spawn(&["healthcheck", &listen], &[]);
        let status = process.wait().await;
        (status.code(), process.log())
    };
    assert_eq!(check().await, (Some(0), String::new()));
    proxy.cut();
    let (status, log) = check().await;
    assert_eq!(status, Some(1), "{log}");
    assert!(log.contains("not ready: status 503"), "{log}");
    drop(server);
    let (status, log) = check().await;
    assert_eq!(status, Some(1), "{log}");
    assert!(log.contains("not reachable"), "{log}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_open_address_needs_consent() {
    let place = Place::sqlite();
    for listen in ["0.0.0.0:0", "[::]:0"] {
        let mut process = Sessiond::spawn(&["--listen", listen], &[("DATABASE_URL", &place.url())]);
        let status = process.wait().await;
        assert_eq!(status.code(), Some(2), "{}", process.log());
        assert!(process.log().contains("--insecure-no-auth"), "{}", process.log());
    }
    // By its variable, too.
    let envs = [("DATABASE_URL", &*place.url()), ("SESSIOND_INSECURE_NO_AUTH", "true")];
    let port = free_port();
    let listen = format!("0.0.0.0:{port}");
    let process = Sessiond::spawn(&["--listen", &listen, "--metrics-listen=off"], &envs);
    let serving = async {
        while TcpStream::connect(("127.0.0.1", port)).await.is_err() {
            sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(PATIENCE, serving).await.expect("it serves");
    log_says(&process, "no authentication").await;
}

#[tokio::test]
async fn a_variable_that_is_no_setting_is_told_of() {
    let output =
        Sessiond::run(&["--listen=0.0.0.0:0"], &[("SESSIOND_LISTENS", SECRET), ("SESSIOND_OTLP_ENDPOINT", "")]).await;
    let log = String::from_utf8(output.stderr).expect("text");
    assert!(log.contains("SESSIOND_LISTENS"), "{log}");
    assert!(!log.contains(SECRET) && !log.contains("SESSIOND_OTLP_ENDPOINT"), "{log}");
}

/// One word that is in everything that a client sends, and must be in nothing that is logged.
const SECRET: &str = "HUSH";

const TRACEPARENT: &str = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01";

async fn nothing_of_a_client_is_logged(place: Place) {
    for level in ["info", "debug", "trace"] {
        let proxy = match &place {
            Place::Postgres(database) => Some(TcpProxy::start(address(&database.url))),
            Place::Sqlite(_) => None,
        };
        let url = match &proxy {
            Some(proxy) => through(&place.url(), proxy.addr()).replace("postgres@", &format!("postgres:{SECRET}@")),
            None => place.url(),
        };
        let log = format!("--log={level}");
        let args = [&*log, "--lock-timeout=200ms", "--acquire-timeout=200ms", "--statement-timeout=400ms"];
        let server =
            Server::start(&url, &[&args[..], &["--max-event-bytes=20KiB", "--max-value-bytes=20KiB"]].concat()).await;
        let requests = secrets(&server, level, &place, proxy.as_ref()).await;
        let api = server.api.clone();
        let mut process = server.process;
        process.sigterm();
        process.wait().await;
        drop(api);
        let log = process.log();
        assert!(!log.contains(SECRET), "at {level}: {:?}", log.lines().find(|line| line.contains(SECRET)));
        // An id of one request is in one line that speaks of requests.
        let lines: Vec<Value> = log.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        for id in requests {
            let lines: Vec<_> =
                lines.iter().filter(|line| line["message"] == "request" && line["request_id"] == id).collect();
            assert_eq!(lines.len(), 1, "at {level}, of {id}: {lines:?}");
            assert_eq!(lines[0]["trace_id"], TRACEPARENT[3..35], "{lines:?}");
            assert!(lines[0]["status"].is_u64() && lines[0]["route"].is_string(), "{lines:?}");
        }
    }
}

/// Sends the word in every place, on ways that succeed and ways that fail; the ids of the requests.
async fn secrets(server: &Server, level: &str, place: &Place, proxy: Option<&TcpProxy>) -> Vec<String> {
    let mut ids = Vec::new();
    let mut sent = async |method: &str, path: &str, headers: &[(&str, &str)], body: Option<Value>, status: u16| {
        let id = format!("request-{}", ids.len());
        let mut all = vec![
            ("x-request-id", &*id),
            ("traceparent", TRACEPARENT),
            ("authorization", SECRET),
            ("user-agent", SECRET),
            ("cookie", SECRET),
        ];
        all.extend(headers);
        let answer = server.send(method, path, &all, body.as_ref()).await.unwrap();
        assert_eq!(answer.status, status, "{method} {path}: {answer:?}");
        assert_eq!(answer.header("x-request-id"), Some(&*id));
        ids.push(id);
    };
    let app = format!("/v1/apps/app-{SECRET}-{level}");
    let sessions = format!("{app}/users/user-{SECRET}/sessions");
    let session = format!("{sessions}/session-{SECRET}");
    let (events, state) = (format!("{session}/events"), format!("{session}/state"));
    let word = |prefix: &str| format!("{prefix}{SECRET}");
    let delta = json!({word("app:"): SECRET, word("user:"): SECRET, word("temp:"): SECRET, word(""): SECRET});
    let event = json!({"id": word("e"), "author": SECRET, "invocationId": SECRET, "branch": SECRET,
        "content": {"parts": [{"text": SECRET}]}, "errorMessage": SECRET, "actions": {"stateDelta": delta}});

    let create = json!({"sessionId": word("session-"), "displayName": SECRET, "labels": {"l": SECRET}, "state": delta,
        "events": [{"id": word("first"), "author": SECRET}]});
    sent("POST", &sessions, &[], Some(create.clone()), 201).await;
    sent("POST", &sessions, &[], Some(create), 409).await;
    sent("POST", &events, &[], Some(event.clone()), 201).await;
    sent("POST", &events, &[], Some(event.clone()), 200).await;
    sent("POST", &events, &[], Some(json!({"id": word("e"), "author": "other"})), 409).await;
    sent("POST", &events, &[("idempotency-key", SECRET)], Some(json!({"author": SECRET})), 201).await;
    sent("POST", &events, &[("if-match", "\"99\"")], Some(json!({"author": SECRET})), 412).await;
    sent("POST", &events, &[("if-match", SECRET)], Some(json!({"author": SECRET})), 422).await;
    sent("POST", &events, &[("content-type", SECRET)], Some(json!({"author": SECRET})), 415).await;
    sent("POST", &events, &[("content-encoding", SECRET)], Some(json!({"author": SECRET})), 415).await;
    sent("POST", &events, &[("host", SECRET)], Some(json!({"author": SECRET})), 403).await;
    sent("POST", &events, &[("host", &word("not a host"))], Some(json!({"author": SECRET})), 400).await;
    sent("POST", &events, &[("origin", &format!("https://{SECRET}"))], Some(json!({"author": SECRET})), 403).await;
    sent("POST", &events, &[], Some(json!({"id": word(&"x".repeat(300))})), 422).await;
    sent("POST", &events, &[], Some(json!({"timestamp": SECRET})), 422).await;
    sent("POST", &events, &[], Some(json!({"content": SECRET.repeat(6000)})), 413).await;
    sent("POST", &sessions, &[], Some(json!({word("field"): SECRET})), 422).await;
    sent("PATCH", &state, &[], Some(json!({"stateDelta": delta})), 200).await;
    sent("PATCH", &session, &[], Some(json!({"displayName": SECRET, "labels": {"l": SECRET}})), 200).await;
    sent("PATCH", &session, &[], Some(json!({"labels": {SECRET: SECRET}})), 422).await;
    sent("PATCH", &format!("{app}/state"), &[], Some(json!({"stateDelta": {SECRET: SECRET}})), 200).await;
    sent("PATCH", &format!("{app}/state"), &[], Some(json!({"stateDelta": {word("app:"): SECRET}})), 422).await;
    sent("PUT", &format!("{state}/{SECRET}?author={SECRET}"), &[], Some(json!(SECRET)), 200).await;
    sent("GET", &format!("{state}/{SECRET}"), &[], None, 200).await;
    sent("GET", &format!("{state}/absent-{SECRET}"), &[], None, 404).await;
    sent("GET", &format!("{state}/temp:{SECRET}"), &[], None, 404).await;
    sent("DELETE", &format!("{state}/{SECRET}"), &[], None, 204).await;
    sent("GET", &format!("{events}?author={SECRET}&invocationId={SECRET}"), &[], None, 200).await;
    sent("GET", &format!("{events}?pageToken={SECRET}"), &[], None, 422).await;
    sent("GET", &format!("{events}?{SECRET}={SECRET}"), &[], None, 422).await;
    sent("GET", &format!("{events}/{SECRET}%zz"), &[], None, 422).await;
    sent("GET", &format!("{app}/sessions?label.l={SECRET}"), &[], None, 200).await;
    sent("GET", &format!("/{SECRET}"), &[], None, 404).await;
    sent("POST", &format!("/v1/apps/{SECRET}"), &[], None, 404).await;
    sent("PUT", &sessions, &[], Some(json!(SECRET)), 405).await;
    sent("GET", &session, &[("if-none-match", "*")], None, 304).await;

    // The database says no, in its own words.
    match place {
        Place::Postgres(database) => {
            let mut held = PgConnection::connect(&database.url).await.unwrap();
            sqlx::raw_sql("begin; lock table sessions in access exclusive mode").execute(&mut held).await.unwrap();
            sent("POST", &events, &[], Some(json!({"id": word("held")})), 503).await;
            held.close().await.unwrap();
            let sql = "alter table events add constraint refuse check (body not like '%POISON%') not valid";
            execute(place, sql).await;
            sent("POST", &events, &[], Some(json!({"id": word("POISON")})), 500).await;
            execute(place, "alter table events drop constraint refuse").await;
        }
        Place::Sqlite(_) => {
            execute(
                place,
                "create trigger refuse before insert on events when new.body like '%POISON%' \
                 begin select raise(abort, 'refused'); end",
            )
            .await;
            sent("POST", &events, &[], Some(json!({"id": word("POISON")})), 500).await;
            execute(place, "drop trigger refuse").await;
        }
    }
    if let Some(proxy) = proxy {
        proxy.cut();
        sent("POST", &events, &[], Some(json!({"id": word("cut")})), 503).await;
        sent("GET", &session, &[], None, 503).await;
        sent("GET", "/readyz", &[], None, 503).await;
        proxy.restore();
    }
    ids
}

async fn metrics_count_what_happened(place: Place) {
    let port = free_port();
    let listen = format!("--metrics-listen=127.0.0.1:{port}");
    let server = Server::start(&place.url(), &[&listen]).await;
    workload(&server).await;
    server.post(format!("{SESSIONS}/none/events")).json(json!({})).await.expect(404);
    server.get("/nothing-of-ours").await.expect(404);
    let metrics = Client::at(&format!("http://127.0.0.1:{port}")).unchecked();
    for foreign in [("host", "evil.example"), ("origin", "http://evil.example"), ("sec-fetch-site", "cross-site")] {
        server.send("POST", SESSIONS, &[foreign], None).await.unwrap().expect(403);
        let answer = metrics.send("GET", "/metrics", &[foreign], None).await.unwrap().expect(403);
        assert_eq!(answer.json()["code"], "permission_denied");
        assert_eq!(answer.header("cross-origin-resource-policy"), Some("same-origin"));
    }
    let scrape = metrics.get("/metrics").await.expect(200);
    assert!(scrape.header("content-type").unwrap().starts_with("application/openmetrics-text"));
    assert!(scrape.text().ends_with("# EOF\n"));

    let mut samples = Vec::new();
    for line in scrape.text().lines().filter(|line| !line.starts_with('#')) {
        let (name, value) = line.rsplit_once(' ').expect("a name and a value");
        let value: f64 = value.parse().unwrap_or_else(|_| panic!("no number in {line}"));
        assert!(value >= 0.0 && value.is_finite(), "{line}");
        samples.push((name.to_owned(), value));
        if let Some((_, rest)) = name.split_once("route=\"") {
            let route = rest.split('"').next().unwrap();
            let template = route.split('/').all(|part| !["a", "u", "s", "t", "none", "e1"].contains(&part));
            assert!(route == "unmatched" || (route.starts_with('/') && template), "{line}");
        }
    }
    // Counters and gauges of ours are whole numbers.
    let value = |name: &str| {
        samples.iter().filter(|(sample, _)| sample == name).map(|(_, value)| value.round() as u64).sum::<u64>()
    };
    assert_eq!(value("sessiond_rejections_total{limit=\"host\"}"), 2);
    assert_eq!(value("sessiond_rejections_total{limit=\"origin\"}"), 4);
    let events = "/v1/apps/{app}/users/{user}/sessions/{session}/events";
    for (status, count) in [("201", 1), ("200", 1), ("404", 1)] {
        let name = format!("sessiond_http_requests_total{{method=\"POST\",route=\"{events}\",status=\"{status}\"}}");
        assert_eq!(value(&name), count, "{name}");
    }
    assert_eq!(value("sessiond_http_requests_total{method=\"GET\",route=\"unmatched\",status=\"404\"}"), 1);
    assert_eq!(value("sessiond_appended_events_total"), 5);
    assert_eq!(value("sessiond_replayed_events_total"), 1);
    assert_eq!(value("sessiond_unknown_outcomes_total"), 0);
    assert_eq!(value("sessiond_http_requests_in_flight"), 0);
    let total = |sample: &&(String, f64)| sample.0.starts_with("sessiond_http_requests_total");
    let requests = samples.iter().filter(total).map(|sample| sample.1.round() as u64).sum::<u64>();
    assert!(value("sessiond_database_wait_seconds_count") > 0);
    assert!(value("sessiond_database_wait_seconds_count") <= 2 * requests, "about one transaction a request");
    // Nothing but metrics is to be had there, and no metrics here.
    metrics.get("/v1/apps").await.expect(404);
    server.get("/metrics").await.expect(404);
}

/// Four connections to the server for all, in transaction mode, as PgBouncer is run.
#[tokio::test(flavor = "multi_thread")]
async fn pgbouncer_in_between_changes_nothing() {
    let database = database().await;
    let bouncer = PgBouncer::start(&database.url);
    let name = database.url.rsplit('/').next().unwrap();
    let url = bouncer.url(name);
    let (status, log) = ended(&url, &["migrate", "--pgbouncer"]).await;
    assert_eq!(status.code(), Some(0), "{log}");
    let args = [PATIENT, &["--pgbouncer", "--sweep-interval=50ms"]].concat();
    let servers = [Server::start(&url, &args).await, Server::start(&url, &args).await];
    workload(&servers[0]).await;

    let clients = (0..32).map(|n| {
        let api = servers[n % 2].api.clone();
        async move {
            for round in 0..6 {
                let event = json!({"id": format!("w{n}-{round}"), "actions": {"stateDelta": {
                    "k": n, format!("app:w{n}"): round, format!("user:w{n}"): round}}});
                api.post(EVENTS).json(&event).await.expect(201);
                let session = api.get(SESSION).await.expect(200).json();
                assert_eq!(session["state"][format!("app:w{n}")], round);
                api.get("/v1/apps/a/sessions?includeState=true").await.expect(200);
                api.get(format!("{EVENTS}?pageSize=3")).await.expect(200);
                api.patch("/v1/apps/a/users/u/state")
                    .json(json!({"stateDelta": {format!("p{n}"): round}}))
                    .await
                    .expect(200);
                let own = format!("{SESSIONS}/own{n}");
                api.put(&own).json(json!({"state": {"k": 1}})).await.expect(201);
                api.delete(&own).await.expect(204);
                let key = format!("{n}-{round}");
                for fresh in [true, false] {
                    let keyed = async |method, path: &str, body: &Value| {
                        let answer = api.send(method, path, &[("idempotency-key", &*key)], Some(body)).await.unwrap();
                        assert_eq!(answer.header("idempotent-replayed").is_none(), fresh, "{answer:?}");
                        answer
                    };
                    let (made, status) = (format!("/v1/apps/a/users/m{n}/sessions"), if fresh { 201 } else { 200 });
                    keyed("POST", &made, &json!({"state": {"k": round}})).await.expect(status);
                    keyed("PATCH", "/v1/apps/a/users/u/state", &json!({"stateDelta": {"key": n}})).await.expect(200);
                }
            }
        }
    });
    together(clients).await;
    let session = servers[1].get(SESSION).await.expect(200).json();
    assert_eq!(session["revision"], 5 + 32 * 6);
    check_log(&session);
}

/// A success is durable also where the database is lax by default.
#[tokio::test(flavor = "multi_thread")]
async fn writes_are_synchronous_on_a_lax_database() {
    let database = database().await;
    let (status, log) = ended(&database.url, &["migrate"]).await;
    assert_eq!(status.code(), Some(0), "{log}");
    let mut connection = PgConnection::connect(&database.url).await.unwrap();
    let name: String = sqlx::query_scalar("select current_database()").fetch_one(&mut connection).await.unwrap();
    let tables = ["sessions", "events", "session_state", "user_state", "app_state", "user_scopes", "app_scopes"];
    let triggers: String = tables
        .iter()
        .map(|table| {
            format!(
                "create trigger spy before insert or update or delete on {table} for each row execute function spy();"
            )
        })
        .collect();
    let setup = format!(
        "alter database {name} set synchronous_commit = off; \
         create table seen (setting text not null); \
         create function spy() returns trigger language plpgsql as $$ begin \
           insert into seen values (current_setting('synchronous_commit')); \
           return coalesce(new, old); end $$; {triggers}"
    );
    sqlx::raw_sql(AssertSqlSafe(setup)).execute(&mut connection).await.unwrap();
    connection.close().await.unwrap();

    let server = Server::start(&database.url, &["--sweep-interval=20ms"]).await;
    workload(&server).await;
    let mut connection = PgConnection::connect(&database.url).await.unwrap();
    let seen = |setting: &'static str| {
        sqlx::query_scalar::<_, i64>("select count(*) from seen where setting = $1").bind(setting)
    };
    let lax: String = sqlx::query_scalar("show synchronous_commit").fetch_one(&mut connection).await.unwrap();
    assert_eq!(lax, "off", "the setting would have been in force");
    assert!(seen("on").fetch_one(&mut connection).await.unwrap() > 10);
    assert_eq!(seen("off").fetch_one(&mut connection).await.unwrap(), 0);
}

/// The server remembers how it left sessions and scopes. Nobody else is to write into its file, but if somebody does, no
/// append is answered that goes nowhere.
#[tokio::test(flavor = "multi_thread")]
async fn what_another_program_does_to_the_file_is_found_out() {
    let place = Place::sqlite();
    let server = Server::start(&place.url(), &[]).await;
    let append = json!({"author": "a", "actions": {"stateDelta": {"k": 1, "app:k": 1, "user:k": 1}}});
    server.post(SESSIONS).json(json!({"sessionId": "s"})).await.expect(201);
    server.post(EVENTS).json(&append).await.expect(201);
    execute(&place, "update app_scopes set revision = 41; update user_scopes set revision = 6").await;
    let answer = server.post(EVENTS).json(&append).await.expect(201);
    assert_eq!(answer.tag_parts()[..3], ["2", "7", "42"]);
    execute(&place, "update sessions set metadata_revision = 5").await;
    server.post(EVENTS).json(&append).await.expect(201);
    assert!(server.get(STATE).await.expect(200).header("etag").unwrap().ends_with("-5\""));
    execute(&place, "delete from session_updates; delete from sessions").await;
    server.post(EVENTS).json(&append).await.expect(404);
}

#[tokio::test(flavor = "multi_thread")]
async fn probes_that_succeed_are_logged_at_debug() {
    for (level, logged) in [("info", false), ("debug", true)] {
        let place = Place::sqlite();
        let server = Server::start(&place.url(), &[&format!("--log={level}")]).await;
        for path in ["/healthz", "/readyz"] {
            let headers = [("x-request-id", path)];
            server.send("GET", path, &headers, None).await.unwrap().expect(200);
        }
        server.send("GET", "/version", &[("x-request-id", "last")], None).await.unwrap();
        let log = log_says(&server.process, "\"request_id\":\"last\"").await;
        for path in ["/healthz", "/readyz"] {
            assert_eq!(log.contains(&format!("\"request_id\":\"{path}\"")), logged, "at {level}: {log}");
        }
        drop(server);
        place.finish().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_hangup_without_an_access_log_changes_nothing() {
    let place = Place::sqlite();
    let server = Server::start(&place.url(), &["--log=debug"]).await;
    let hangup = format!("kill -HUP {}", server.process.pid());
    assert!(std::process::Command::new("sh").args(["-c", &hangup]).status().expect("run sh").success());
    log_says(&server.process, "SIGHUP: no access log is written").await;
    server.get("/readyz").await.expect(200);
    drop(server);
    place.finish().await;
}

/// A transaction of the sweep that is cut off is closed before the end, so that one file is left.
#[tokio::test(flavor = "multi_thread")]
async fn a_stop_while_the_sweep_writes_leaves_one_file() {
    let place = Place::sqlite();
    let mut server = Server::start(&place.url(), &[]).await;
    let event =
        r#"{"author":"user","content":{"parts":[{"text":"one two three four five six seven eight nine ten"}]}}"#;
    let events = format!("[{}]", vec![event; 1000].join(","));
    for session in 0..4 {
        let path = format!("/v1/apps/app/users/user/sessions/s{session}/events?create=true&answer=minimal");
        server.post(path).json(events.as_str()).await.expect(201);
    }
    server.put("/v1/apps/app/policy").json(r#"{"search":{"index":true}}"#).await.expect(200);
    let indexed = async { while place.number("select count(*) from event_words").await == 0 {} };
    timeout(PATIENCE, indexed).await.expect("the index");
    server.process.sigterm();
    assert!(server.process.wait().await.success());
    let url = place.url();
    let log = format!("{}-wal", url.trim_start_matches("sqlite://"));
    assert!(!Path::new(&log).exists(), "{}", server.process.log());
    drop(server);
    place.finish().await;
}
