//! PostgreSQL as people have it: roles, schemas, collations, settings, limits of time and ways to log in. Each serves, or says at
//! once why it does not.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::time::Duration;

use reqwest::Url;
use serde_json::{Value, json};
use sqlx::{AssertSqlSafe, Connection as _, PgConnection};
use tokio::time::{sleep, timeout};
use uuid::Uuid;

use crate::contract::erasure::{done, fill};
use crate::support::{
    binary::{Server, ended, log_says, spawn, together},
    client::{Client, ONE, PATIENCE, S, USER_STATE, segment},
    databases::Place,
    pgbouncer::PgBouncer,
    postgres::{Database, database, database_with, dedicated},
};

/// Limits that even a slow machine never reaches, and sweeps that nobody waits for.
const FLAGS: &[&str] = &[
    "--lock-timeout=50s",
    "--acquire-timeout=50s",
    "--statement-timeout=50s",
    "--request-timeout=55s",
    "--sweep-interval=50ms",
];

/// A database, and the role that owns it.
struct Tenant {
    place: Place,
    role: String,
}

impl Tenant {
    async fn new() -> Self {
        Self::on(database().await).await
    }

    async fn on(database: Database) -> Self {
        let (place, role) = (Place::Postgres(database), format!("r_{}", Uuid::new_v4().simple()));
        let tenant = Self { place, role };
        tenant.run("create role ROLE login; alter database DATABASE owner to ROLE").await;
        tenant
    }

    fn name(&self) -> String {
        Url::parse(&self.place.url()).unwrap().path().trim_start_matches('/').to_owned()
    }

    /// Runs SQL as a superuser, with the names of this database and this role.
    async fn run(&self, sql: &str) {
        self.place.execute(sql.replace("DATABASE", &self.name()).replace("ROLE", &self.role)).await;
    }

    /// What the role has, in each connection.
    async fn set(&self, settings: &[(&str, &str)]) {
        for (name, value) in settings {
            self.run(&format!("alter role ROLE set {name} = {value}")).await;
        }
    }

    /// As the role.
    fn url(&self) -> String {
        self.url_of(&self.role)
    }

    fn url_of(&self, role: &str) -> String {
        let mut url = Url::parse(&self.place.url()).unwrap();
        url.set_username(role).unwrap();
        url.into()
    }

    /// With a parameter.
    fn url_with(&self, name: &str, value: &str) -> String {
        let url = Url::parse_with_params(&self.url(), [(name, value)]).unwrap();
        // As in a form; libpq takes a plus for a plus.
        url.as_str().replace('+', "%20")
    }

    async fn version(&self) -> i64 {
        self.place.number("select current_setting('server_version_num')::bigint / 10000").await
    }

    /// Proves that all its data follows from its events, and removes it with these roles.
    async fn finish(&self, url: &str, roles: &[&str]) {
        let (status, log) = ended(url, &["verify"]).await;
        assert!(status.success(), "{log}");
        let mut server = Url::parse(&self.place.url()).unwrap();
        server.set_path("postgres");
        let mut connection = PgConnection::connect(server.as_str()).await.unwrap();
        let mut sql = vec![format!("drop database {} with (force)", self.name())];
        sql.extend([&*self.role].iter().chain(roles).map(|role| format!("drop role {role}")));
        for sql in sql {
            sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut connection).await.unwrap();
        }
    }
}

/// Writes and reads of every kind, in byte order where there is an order; at the end, the user is erased.
async fn serves(api: &Client) {
    let session = fill(api, "user").await;
    let shown = api.get(&session).await.expect(200).json();
    assert_eq!(shown["state"]["user:canary-key"], 29, "{shown}");
    let mut keys = ["Z", "a", "_", "\u{e4}", "B", "10", "2", "\u{e9}", "b", "\u{df}", "ss"];
    for key in keys {
        let user = format!("/v1/apps/names/users/{}/sessions", segment(key));
        api.post(user).json(json!({"sessionId": "s", "state": {key: key, "back\\slash'": "\\x41'"}})).await.expect(201);
        let delta = json!({"author": "a", "actions": {"stateDelta": {key: key, format!("user:{key}"): "\\x41"}}});
        api.post(format!("{session}/events")).json(delta).await.expect(201);
    }
    keys.sort_unstable();
    let mut found: Vec<String> = Vec::new();
    let mut page = String::new();
    loop {
        let users = api.get(format!("/v1/apps/names/users?pageSize=3{page}")).await.expect(200).json();
        found.extend(users["users"].as_array().unwrap().iter().map(|user| user["userId"].as_str().unwrap().to_owned()));
        let Some(token) = users["nextPageToken"].as_str() else { break };
        page = format!("&pageToken={token}");
    }
    assert_eq!(found, keys);
    for key in keys {
        let session = format!("/v1/apps/names/users/{}/sessions/s", segment(key));
        let state = api.get(&session).await.expect(200).json();
        assert_eq!((&state["state"][key], &state["state"]["back\\slash'"]), (&json!(key), &json!("\\x41'")), "{state}");
        api.delete(&session).await.expect(204);
    }
    let state = api.get(format!("{session}/state")).await.expect(200);
    let at: Vec<usize> = keys.iter().map(|key| state.text().find(&format!("\"{key}\":")).expect("the key")).collect();
    assert!(at.is_sorted(), "{}", state.text());
    let rewound = api.post(format!("{session}/rewind")).json(json!({"toRevision": 3}));
    rewound.await.expect(200);
    api.put("/v1/apps/app/policy").json(json!({"events": {"maxCount": 1000}})).await.expect(200);
    api.get(format!("{session}/state/canary-key/history")).await.expect(200);
    api.post(format!("{session}/events/canary-event/redact")).json(json!({})).await.expect(200);
    api.get("/v1/apps/app/export").await.expect(200);
    let erasure = api.post("/v1/apps/app/users/user/erasure").json(json!({})).await;
    assert_eq!(done(api, &erasure).await["state"], "done");
    api.get(&session).await.expect(404);
    api.get("/readyz").await.expect(200);
}

/// Refused at once by what serves, makes tables and reads.
async fn refused(url: &str, words: &[&str]) {
    for command in [&["serve"][..], &["migrate"], &["export"], &["verify"]] {
        let (status, log) = ended(url, command).await;
        assert!(matches!(status.code(), Some(1 | 2)), "{command:?}: {log}");
        assert!(!log.contains("waiting for the database") && !log.contains("HUSH"), "{command:?}: {log}");
        for words in words {
            assert!(log.contains(words), "no {words:?} of {command:?}: {log}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_rights_that_a_role_lacks_are_named() {
    let tenant = Tenant::new().await;
    let app = format!("{}_app", tenant.role);
    tenant
        .run(
            "create role ROLE_app login; revoke create on database DATABASE from ROLE; \
             revoke all on schema public from public; grant usage on schema public to ROLE_app; \
             grant create, usage on schema public to ROLE",
        )
        .await;
    let url = tenant.url_of(&app);
    for command in ["serve", "migrate"] {
        let (status, log) = ended(&url, &[command]).await;
        assert_eq!(status.code(), Some(1), "{log}");
        for words in ["this user may not apply them", "`sessiond migrate` as the owner", "schema public (42501)"] {
            assert!(log.contains(words) && !log.contains("waiting"), "no {words:?}: {log}");
        }
    }
    // Its owner may make tables, and no schemas.
    let (status, log) = ended(&tenant.url(), &["migrate"]).await;
    assert!(status.success(), "{log}");
    let (status, log) = ended(&url, &["serve"]).await;
    assert_eq!(status.code(), Some(1), "{log}");
    assert!(log.contains("may not read public.sessiond_migrations") && !log.contains("waiting"), "{log}");
    tenant.run("grant select, insert, update, delete on all tables in schema public to ROLE_app").await;
    for flags in [&["--no-migrate"][..], &[]] {
        let server = Server::start(&url, &[FLAGS, flags].concat()).await;
        serves(&server).await;
        assert!(!server.process.log().contains("the role may not"), "{}", server.process.log());
    }

    tenant.run("revoke insert, delete on events from ROLE_app; revoke execute on all functions in schema public from public").await;
    let server = Server::start(&url, FLAGS).await;
    let log = server.process.log();
    assert!(log.contains("the role may not insert, delete rows of public.events"), "{log}");
    assert!(log.contains("the role may not execute public.sessiond_write"), "{log}");
    let problem = server.post(S).json(json!({"events": [{"author": "a"}]})).await.problem(503, "storage_unavailable");
    assert_eq!(problem["outcome"], "not_applied", "{problem}");
    server.get(S).await.expect(200);
    drop(server);
    tenant.finish(&tenant.url(), &[&app]).await;
}

/// Policies would make rows look as if they were not there.
#[tokio::test(flavor = "multi_thread")]
async fn rows_that_a_policy_hides_are_not_taken_for_missing() {
    let tenant = Tenant::new().await;
    let (app, url) = (format!("{}_app", tenant.role), tenant.url_of(&format!("{}_app", tenant.role)));
    let (status, log) = ended(&tenant.url(), &["migrate"]).await;
    assert!(status.success(), "{log}");
    tenant.run("create role ROLE_app login; grant select, insert, update, delete on all tables in schema public to ROLE_app").await;
    let server = Server::start(&url, FLAGS).await;
    server.create("{}").await;
    for table in ["sessions", "sessiond_migrations"] {
        tenant.run(&format!("alter table {table} enable row level security")).await;
        let words = format!("row-level security hides rows of public.{table} from the role");
        refused(&url, &[&words, "disable row level security"]).await;
        server.get("/readyz").await.expect(503);
        if table == "sessions" {
            server.get(ONE).await.problem(503, "storage_unavailable");
        }
        // It does not hold for the owner.
        Server::start(&tenant.url(), &[]).await.get(ONE).await.expect(200);
        tenant.run(&format!("alter table {table} disable row level security")).await;
        server.get_until("/readyz", 200).await;
    }
    drop(server);
    tenant.finish(&tenant.url(), &[&app]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn all_is_in_one_place_wherever_the_search_path_leads() {
    const STRANGE: &str = "My, \"Schema\"";
    let quoted = format!("\"{}\"", STRANGE.replace('"', "\"\""));
    // What stands behind ours under the same names must not be called.
    let hostile = "create schema hostile; \
        create function hostile.sessiond_admits(p_app text, p_user text, p_subject bytea, p_revision bigint) returns boolean \
          language plpgsql as $$begin raise 'hostile'; end$$; \
        create function hostile.sessiond_admits(p_app varchar, p_user varchar, p_subject bytea, p_revision int) returns boolean \
          language plpgsql as $$begin raise 'hostile'; end$$; \
        create table hostile.sessions (id int); create view hostile.events as select 1 as id; \
        grant usage on schema hostile to public";
    for (schema, set, query) in [
        ("ROLE", "alter role ROLE set search_path = \"$user\", hostile, public".to_owned(), None),
        ("own", "alter role ROLE set search_path = own, hostile".to_owned(), None),
        ("own", "alter database DATABASE set search_path = own, pg_catalog, hostile".to_owned(), None),
        (STRANGE, String::new(), Some(format!("{quoted},hostile"))),
    ] {
        let tenant = Tenant::new().await;
        let schema = schema.replace("ROLE", &tenant.role);
        tenant.run(&format!("{hostile}; {set}")).await;
        let make = format!("create schema \"{}\" authorization ROLE", schema.replace('"', "\"\""));
        tenant.run(&make).await;
        let url = query.map_or_else(|| tenant.url(), |path| tenant.url_with("options[search_path]", &path));
        let server = Server::start(&url, FLAGS).await;
        serves(&server).await;
        assert!(!server.process.log().contains("hostile"), "{}", server.process.log());
        drop(server);
        let elsewhere = format!(
            "select (select count(*) from pg_class where relnamespace <> to_regnamespace('\"{0}\"') and relkind in ('r', 'S', 'i') \
                       and relname not in ('sessions') and relnamespace::regnamespace::text !~ '^(pg_|information_schema)') \
                  + (select count(*) from pg_proc where proname ~ 'sessiond' and pronamespace <> to_regnamespace('\"{0}\"') \
                       and pronamespace <> to_regnamespace('hostile'))",
            schema.replace('"', "\"\"")
        );
        assert_eq!(tenant.place.number(&elsewhere).await, 0, "{schema}");
        tenant.finish(&url, &[]).await;
    }
}

/// As PostgreSQL before 15 had the schema `public`, and databases that were upgraded have it still.
#[tokio::test(flavor = "multi_thread")]
async fn a_schema_in_which_everybody_makes_functions_is_warned_of() {
    let tenant = Tenant::new().await;
    let warning = "everybody may make functions in the schema public";
    let log = Server::start(&tenant.url(), &[]).await.process.log();
    assert!(!log.contains(warning), "{log}");
    tenant.run("grant create on schema public to public").await;
    log_says(&Server::start(&tenant.url(), &[]).await.process, warning).await;
    tenant.finish(&tenant.url(), &[]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn names_are_in_byte_order_under_any_collation() {
    let mut options =
        vec!["locale_provider icu icu_locale 'und'", "locale_provider icu icu_locale 'en-US-u-ks-level2'"];
    let tenant = Tenant::new().await;
    if tenant.version().await >= 17 {
        options.push("locale_provider builtin builtin_locale 'C.UTF-8'");
    }
    for options in options {
        let tenant = Tenant::on(database_with(&format!("encoding 'UTF8' {options} template template0")).await).await;
        serves(&Server::start(&tenant.url(), FLAGS).await.api).await;
        tenant.finish(&tenant.url(), &[]).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn another_encoding_is_refused() {
    for encoding in ["LATIN1", "SQL_ASCII"] {
        let tenant =
            Tenant::on(database_with(&format!("encoding '{encoding}' locale 'C' template template0")).await).await;
        let words = format!("the encoding of the database is {encoding}, and must be UTF8");
        refused(&tenant.url(), &[&words, "encoding 'UTF8' template template0"]).await;
    }
}

/// Statements that commit by themselves begin with the isolation of the role, unless it is set.
#[tokio::test(flavor = "multi_thread")]
async fn the_isolation_of_the_role_changes_nothing() {
    for level in ["serializable", "\"repeatable read\"", "\"read uncommitted\""] {
        let tenant = Tenant::new().await;
        tenant.set(&[("default_transaction_isolation", level), ("default_transaction_deferrable", "on")]).await;
        let bouncer = PgBouncer::start(&tenant.url());
        let through = bouncer.url(&tenant.name());
        // All find nothing, and migrate one after the other.
        let migrations = (0..4).map(|n| {
            let (url, flags) = match n % 2 {
                0 => (tenant.url(), &["migrate"][..]),
                _ => (through.clone(), &["migrate", "--pgbouncer"][..]),
            };
            async move { ended(&url, flags).await }
        });
        for (status, log) in together(migrations).await {
            assert!(status.success() && !log.contains("waiting"), "{log}");
        }
        for (url, flags) in [(tenant.url(), &[][..]), (through.clone(), &["--pgbouncer"])] {
            let server = Server::start(&url, &[FLAGS, flags].concat()).await;
            serves(&server).await;
            let session = server.post(S).json(json!({})).await.expect(201).json();
            let events = format!("{S}/{}/events", session["id"].as_str().unwrap());
            let appends = (0..12).map(|n| {
                let (api, events) = (server.api.clone(), events.clone());
                async move {
                    let ops = json!([{"op": "increment", "key": "user:count", "value": 1}]);
                    let event = json!({"id": n.to_string(), "author": "a", "actions": {"stateOps": ops}});
                    api.post(&events).json(event).await.status()
                }
            });
            assert_eq!(together(appends).await, [201; 12]);
            let state = server.get(USER_STATE).await.expect(200).json();
            assert_eq!(state["count"], 12, "{state}");
            let erasure = server.post("/v1/apps/app/users/user/erasure").json(json!({})).await;
            done(&server, &erasure).await;
        }
        tenant.finish(&tenant.url(), &[]).await;
    }
}

/// The role's limits of time end nothing: sessiond has its own.
#[tokio::test(flavor = "multi_thread")]
async fn limits_of_the_role_end_nothing() {
    let tenant = Tenant::new().await;
    tenant
        .set(&[
            ("statement_timeout", "'300ms'"),
            ("lock_timeout", "'100ms'"),
            ("idle_in_transaction_session_timeout", "'100ms'"),
            ("idle_session_timeout", "'3s'"),
        ])
        .await;
    if tenant.version().await >= 17 {
        tenant.set(&[("transaction_timeout", "'300ms'")]).await;
    }
    // A migration waits for another one for longer than any of the limits.
    let mut other = PgConnection::connect(&tenant.place.url()).await.unwrap();
    let lock = i64::from_be_bytes(*b"sessiond");
    sqlx::query("select pg_advisory_lock($1)").bind(lock).execute(&mut other).await.unwrap();
    let mut migrating = spawn(&tenant.url(), &["migrate", FLAGS[0], FLAGS[1], FLAGS[2]]);
    let waiting = async {
        let waits = "select count(*) from pg_locks where locktype = 'advisory' and not granted and database = \
                     (select oid from pg_database where datname = current_database())";
        while tenant.place.number(waits).await == 0 {
            sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(PATIENCE, waiting).await.expect("the migration waits");
    sleep(Duration::from_millis(700)).await;
    other.close().await.unwrap();
    let status = migrating.wait().await;
    assert!(status.success() && !migrating.log().contains("waiting"), "{}", migrating.log());

    let server = Server::start(&tenant.url(), FLAGS).await;
    server.create("{}").await;
    // An append waits for a lock for longer than any of them.
    let mut other = PgConnection::connect(&tenant.place.url()).await.unwrap();
    sqlx::raw_sql("begin; select 1 from sessions for update").execute(&mut other).await.unwrap();
    let append = tokio::spawn({
        let api = server.api.clone();
        async move { api.append(json!({"author": "a"})).await }
    });
    sleep(Duration::from_millis(700)).await;
    other.close().await.unwrap();
    append.await.unwrap();
    // The server has closed what was idle.
    let idle = "select count(*) from pg_stat_activity where datname = current_database() and state = 'idle'";
    let closing = async {
        while tenant.place.number(idle).await > 0 {
            sleep(Duration::from_millis(50)).await;
        }
    };
    let _ = timeout(Duration::from_secs(5), closing).await;
    serves(&server).await;
    // An id of a request may have the digits of a code.
    let log = server.process.log();
    let log: String = log.split_inclusive('\n').filter(|line| !line.contains(r#""level":"INFO""#)).collect();
    for code in ["57014", "55P03", "25P03", "25P04"] {
        assert!(!log.contains(code), "{log}");
    }
    drop(server);
    tenant.run("alter role ROLE reset all").await;
    tenant.finish(&tenant.url(), &[]).await;
}

/// Settings of the role, of the database or of the server that change how values are written, read and planned.
#[tokio::test(flavor = "multi_thread")]
async fn other_settings_change_nothing() {
    let tenant = Tenant::new().await;
    let settings = [
        ("standard_conforming_strings", "off"),
        ("backslash_quote", "on"),
        ("datestyle", "'German, DMY'"),
        ("timezone", "'Asia/Kathmandu'"),
        ("intervalstyle", "sql_standard"),
        ("bytea_output", "escape"),
        ("extra_float_digits", "-15"),
        ("client_encoding", "LATIN1"),
        ("row_security", "off"),
        ("synchronous_commit", "off"),
        ("jit", "on"),
        ("plan_cache_mode", "force_custom_plan"),
        ("array_nulls", "off"),
        ("transform_null_equals", "on"),
        ("check_function_bodies", "off"),
        ("quote_all_identifiers", "on"),
        ("xmloption", "document"),
        ("from_collapse_limit", "1"),
        ("plpgsql.variable_conflict", "use_variable"),
    ];
    for (name, value) in settings {
        // A later version may have dropped one.
        let known = format!("select count(*) from pg_settings where name = lower('{name}')");
        if name.contains('.') || tenant.place.number(&known).await == 1 {
            tenant.set(&[(name, value)]).await;
        }
    }
    let bouncer = PgBouncer::start(&tenant.url());
    let through = bouncer.url(&tenant.name());
    for (url, flags) in [(tenant.url(), &[][..]), (through.clone(), &["--pgbouncer"])] {
        let server = Server::start(&url, &[FLAGS, flags, &["--feed-retention=1h"]].concat()).await;
        serves(&server).await;
        let mut position = "start".to_owned();
        let following = async {
            loop {
                let changes: Value = server.get(format!("/v1/feed?after={position}&wait=20")).await.expect(200).json();
                if changes["changes"].to_string().contains(r#""names""#) {
                    break;
                }
                position = changes["position"].as_str().unwrap().to_owned();
            }
        };
        timeout(PATIENCE, following).await.expect("the change is told");
    }
    tenant.finish(&tenant.url(), &[]).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_setting_that_the_server_does_not_know_is_refused() {
    let tenant = Tenant::new().await;
    let url = tenant.url_with("options[no_such_setting]", "1");
    refused(&url, &["it does not know a setting of the connection: PostgreSQL must be 15 or later", "(42704)"]).await;
}

/// Passwords and sockets, as URLs, variables and files have them.
#[tokio::test(flavor = "multi_thread")]
async fn passwords_and_sockets_are_taken_as_libpq_takes_them() {
    const PASSWORD: &str = "HUSH p@ss:/?#[]%25&='\"\\ \u{e4}\u{20ac}";
    let mut postgres = dedicated().await;
    let mut connection = PgConnection::connect(&postgres.url("postgres")).await.unwrap();
    let login = format!("create role \"o'n@me\" login superuser password '{}'", PASSWORD.replace('\'', "''"));
    sqlx::raw_sql(AssertSqlSafe(login)).execute(&mut connection).await.unwrap();
    postgres.admit("host all all 127.0.0.1/32 scram-sha-256");
    let address = Url::parse(&postgres.url("postgres")).unwrap();
    let port = address.port().unwrap();
    let encoded: String = PASSWORD.bytes().map(|byte| format!("%{byte:02X}")).collect();
    let user = "o%27n%40me";
    let (folder, dir) = (postgres.socket().to_str().unwrap(), postgres.socket().to_str().unwrap().replace('/', "%2F"));
    let file = std::env::temp_dir().join(format!("sessiond-pgpass-{}", Uuid::new_v4().simple()));
    let escaped = PASSWORD.replace('\\', "\\\\").replace(':', "\\:");
    fs::write(&file, format!("# a comment\n127.0.0.1:{port}:postgres:o'n@me:{escaped}\n")).unwrap();
    fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
    let path = file.to_str().unwrap();
    for (url, variables) in [
        (format!("postgres://{user}:{encoded}@127.0.0.1:{port}/postgres"), &[][..]),
        (format!("postgres://127.0.0.1:{port}/postgres?user={user}&password={encoded}"), &[]),
        (format!("postgres://{user}@127.0.0.1:{port}/postgres"), &[("PGPASSWORD", PASSWORD)]),
        (format!("postgres://{user}@127.0.0.1:{port}/postgres"), &[("PGPASSFILE", path)]),
        (format!("postgres://{user}@/postgres?host={folder}&port={port}"), &[]),
        (format!("postgres://{user}@{dir}:{port}/postgres"), &[]),
        (format!("postgres://{user}@/postgres"), &[("PGHOST", folder), ("PGPORT", &*port.to_string())]),
    ] {
        let variables: Vec<_> = variables.iter().map(|(name, value)| (*name, (*value).to_owned())).collect();
        let server = Server::start_with(&url, &[], &variables).await;
        server.post(S).json(json!({})).await.expect(201);
        assert!(!server.process.log().contains("HUSH"), "{}", server.process.log());
    }
    fs::remove_file(&file).unwrap();
    for wrong in ["HUSH", ""] {
        let url = format!("postgres://{user}:{wrong}@127.0.0.1:{port}/postgres");
        refused(&url, &["it refuses the user or the password (28P01)"]).await;
    }
    // Who is not admitted at all.
    postgres.admit("host all postgres 127.0.0.1/32 trust");
    let url = format!("postgres://{user}:{encoded}@127.0.0.1:{port}/postgres");
    refused(&url, &["it refuses the user, or pg_hba.conf has no line for this connection (28000)"]).await;
}
