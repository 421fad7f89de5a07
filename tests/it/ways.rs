//! Ways to connect to PostgreSQL: URLs, poolers that drop settings, read-only servers.

use std::path::PathBuf;
use std::process::Command;
use std::{env, fs};

use serde_json::json;
use sqlx::{Connection as _, Executor as _, PgConnection};

use crate::support::{
    binary::{Server, ended, log_says},
    client::Client,
    pgbouncer::PgBouncer,
    postgres::{DedicatedPostgres, address, database, dedicated},
};

const SESSIONS: &str = "/v1/apps/a/users/u/sessions";
const SESSION: &str = "/v1/apps/a/users/u/sessions/s";

/// Every command that reaches the database.
const COMMANDS: [&[&str]; 5] = [&["serve"], &["migrate"], &["export"], &["keys", "list"], &["import", "/dev/null"]];

/// Refused at once, by every command, with these words.
async fn refused(url: &str, words: &[&str]) {
    for command in COMMANDS {
        let (status, log) = ended(url, command).await;
        assert!(matches!(status.code(), Some(1 | 2)), "{command:?}: {log}");
        assert!(!log.contains("waiting for the database"), "{command:?}: {log}");
        for words in words {
            assert!(log.contains(words), "no {words:?} of {command:?}: {log}");
        }
    }
}

/// A pooler that drops what a connection begins with: no limit of time would be in force, and prepared statements would be others'.
#[tokio::test(flavor = "multi_thread")]
async fn a_pooler_that_swallows_settings_is_refused_with_the_flag() {
    let database = database().await;
    let name = database.url.rsplit_once('/').unwrap().1.to_owned();
    for mode in ["transaction", "session"] {
        let more = format!("pool_mode = {mode}\nignore_startup_parameters = extra_float_digits,options\n");
        let bouncer = PgBouncer::start_with(&database.url, &more);
        refused(&bouncer.url(&name), &["does not keep the settings", "give --pgbouncer"]).await;
        let mut connection = PgConnection::connect(&database.url).await.unwrap();
        let tables: i64 = sqlx::query_scalar("select count(*) from pg_tables where schemaname = 'public'")
            .fetch_one(&mut connection)
            .await
            .unwrap();
        assert_eq!(tables, 0, "nothing is made before it is known");
    }
    // And one that refuses them.
    let bouncer = PgBouncer::start(&database.url);
    refused(&bouncer.url(&name), &["08P01", "give --pgbouncer"]).await;
    let server = Server::start(&bouncer.url(&name), &["--pgbouncer"]).await;
    server.post(SESSIONS).json(json!({"sessionId": "s"})).await.expect(201);
    let (status, log) = ended(&bouncer.url(&name), &["export", "--pgbouncer"]).await;
    assert!(status.success() && log.contains(r#""type":"session","userId":"u","id":"s""#), "{log}");
}

/// As a provider does whose disk is nearly full.
async fn set_read_only(postgres: &DedicatedPostgres, value: &str) {
    let mut connection = PgConnection::connect(&postgres.url("postgres")).await.unwrap();
    for statement in
        [format!("alter system set default_transaction_read_only = {value}"), "select pg_reload_conf()".to_owned()]
    {
        connection.execute(sqlx::AssertSqlSafe(statement)).await.unwrap();
    }
    connection.close().await.unwrap();
}

/// Reads are served; writes are refused, and did not happen.
async fn serves_reads(api: &Client) {
    let expected = "the database takes no writes";
    api.get_until("/readyz", 200).await;
    let warned = async || api.get("/readyz").await.expect(200).json()["warning"].to_string().contains(expected);
    for _ in 0..500 {
        if warned().await {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    assert!(warned().await);
    api.get(SESSION).await.expect(200);
    let event =
        api.post(format!("{SESSION}/events")).json(json!({"author": "a"})).await.problem(503, "storage_unavailable");
    assert_eq!(event["outcome"], "not_applied", "{event}");
    assert!(event["detail"].as_str().unwrap().contains(expected), "{event}");
    let session = api.post(SESSIONS).json(json!({})).await.problem(503, "storage_unavailable");
    assert_eq!(session["outcome"], "not_applied", "{session}");
    let state =
        api.patch("/v1/apps/a/state").json(json!({"stateDelta": {"k": 1}})).await.problem(503, "storage_unavailable");
    assert_eq!(state["outcome"], "not_applied", "{state}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_primary_that_takes_no_writes_serves_reads() {
    let postgres = dedicated().await;
    let url = postgres.url("postgres");
    set_read_only(&postgres, "on").await;
    let (status, log) = ended(&url, &["serve"]).await;
    assert_eq!(status.code(), Some(1), "{log}");
    assert!(log.contains("migrations are pending, and the database takes no writes"), "{log}");
    set_read_only(&postgres, "off").await;
    let server = Server::start(&url, &[]).await;
    server.post(SESSIONS).json(json!({"sessionId": "s"})).await.expect(201);
    set_read_only(&postgres, "on").await;
    serves_reads(&server).await;
    log_says(&server.process, "default_transaction_read_only is on").await;
    for flags in [&[][..], &["--feed-retention=1h"], &["--pgbouncer"]] {
        let server = Server::start(&url, flags).await;
        serves_reads(&server).await;
    }
    let (status, log) = ended(&url, &["export"]).await;
    assert!(status.success(), "{log}");
    set_read_only(&postgres, "off").await;
    for _ in 0..500 {
        if server.get("/readyz").await.expect(200).json()["warning"].is_null() {
            break;
        }
        tokio::time::sleep(std::time::Duration::from_millis(20)).await;
    }
    server.post(format!("{SESSION}/events")).json(json!({"author": "a"})).await.expect(201);
}

/// PostgreSQL gives no number to another transaction when nearly all of them are used up, as by one that was forgotten.
#[tokio::test(flavor = "multi_thread")]
async fn a_primary_without_transaction_ids_serves_reads() {
    let mut postgres = dedicated().await;
    let server = Server::start(&postgres.url("postgres"), &[]).await;
    server.post(SESSIONS).json(json!({"sessionId": "s"})).await.expect(201);
    drop(server);
    // Half of all numbers, less 2 million; the server stops 3 million before that.
    postgres.go_on_at(2_145_500_000).await;
    // No vacuum comes to an end that would free some.
    let mut held = PgConnection::connect(&postgres.url("postgres")).await.unwrap();
    let lock = sqlx::raw_sql("begin; lock table sessions in share update exclusive mode");
    lock.execute(&mut held).await.unwrap();
    let server = Server::start(&postgres.url("postgres"), &["--no-migrate"]).await;
    serves_reads(&server).await;
    log_says(&server.process, "its transaction ids are used up").await;
}

/// `[::1]` as libpq has it, by a proxy of this test, as the server of the tests listens on 127.0.0.1.
#[tokio::test(flavor = "multi_thread")]
async fn an_ipv6_address_is_reached() {
    let database = database().await;
    let upstream = address(&database.url);
    let Ok(listener) = tokio::net::TcpListener::bind("[::1]:0").await else { return };
    let port = listener.local_addr().unwrap().port();
    tokio::spawn(async move {
        while let Ok((mut client, _)) = listener.accept().await {
            tokio::spawn(async move {
                if let Ok(mut server) = tokio::net::TcpStream::connect(upstream).await {
                    let _ = tokio::io::copy_bidirectional(&mut client, &mut server).await;
                }
            });
        }
    });
    let name = database.url.rsplit_once('/').unwrap().1;
    for url in [
        format!("postgres://postgres@[::1]:{port}/{name}"),
        format!("postgres://postgres@[0:0:0:0:0:0:0:1]:{port}/{name}"),
        format!("postgres:///{name}?user=postgres&host=::1&port={port}"),
        format!("postgres://postgres@nowhere.invalid:{port}/{name}?hostaddr=::1"),
    ] {
        let (status, log) = ended(&url, &["migrate"]).await;
        assert_eq!(status.code(), Some(0), "{url}: {log}");
        assert!(log.contains("PostgreSQL at ["), "{log}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn what_cannot_be_honoured_is_refused_at_once() {
    for (url, words) in [
        ("postgres://u@h1,h2/db", "names several hosts: name one"),
        ("postgres://u@h1:1,h2:2/db", "names several hosts: name one"),
        ("postgres://u@h/db?host=a,b", "names several hosts: name one"),
        (
            "postgres://u@h/db?channel_binding=require",
            "`channel_binding` of the database URL cannot be honoured: docs/postgresql.md",
        ),
        ("postgres://u@h/db?schema=x", "`schema`: write options[search_path]=NAME"),
        ("postgres://u@h/db?pgbouncer=true", "`pgbouncer`: give --pgbouncer"),
        (
            "postgres://u@h/db?connect_timeout=5",
            "`connect_timeout` of the database URL cannot be honoured: docs/postgresql.md",
        ),
        (
            "postgres://u@h/db?sslrootcert=/nowhere/root.crt",
            "sslrootcert of the database URL: /nowhere/root.crt: No such file",
        ),
        (
            "postgres://u@h/db?sslcert=/nowhere/c.crt&sslkey=/nowhere/c.key",
            "sslcert of the database URL: /nowhere/c.crt: No such file",
        ),
        ("postgresql+asyncpg://u@h/db", "must begin with sqlite:// or postgres://"),
    ] {
        refused(url, &[words]).await;
    }
}

/// Keys and certificates, made by openssl.
struct Certificates(PathBuf);

impl Certificates {
    fn new() -> Self {
        let dir = env::temp_dir().join(format!("sessiond-tls-{}", uuid::Uuid::new_v4().simple()));
        fs::create_dir(&dir).unwrap();
        Self(dir)
    }

    fn path(&self, name: &str) -> String {
        self.0.join(name).to_str().unwrap().to_owned()
    }

    /// A certificate authority, or a certificate that is signed by one, for localhost and 127.0.0.1.
    fn make(&self, name: &str, is_authority: bool, by: Option<&str>) {
        self.make_for(name, "DNS:localhost,IP:127.0.0.1", is_authority, by);
    }

    /// The same for other hosts.
    fn make_for(&self, name: &str, hosts: &str, is_authority: bool, by: Option<&str>) {
        let (key, certificate) = (self.path(&format!("{name}.key")), self.path(&format!("{name}.crt")));
        let mut args: Vec<String> = "req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2"
            .split(' ')
            .map(str::to_owned)
            .collect();
        args.extend([
            "-subj".to_owned(),
            format!("/CN={name}"),
            "-keyout".to_owned(),
            key,
            "-out".to_owned(),
            certificate,
        ]);
        args.extend(["-addext".to_owned(), format!("subjectAltName={hosts}")]);
        if let Some(by) = by {
            let (certificate, key) = (self.path(&format!("{by}.crt")), self.path(&format!("{by}.key")));
            args.extend(["-CA".to_owned(), certificate, "-CAkey".to_owned(), key]);
        }
        args.extend([
            "-addext".to_owned(),
            format!("basicConstraints=critical,CA:{}", if is_authority { "TRUE" } else { "FALSE" }),
        ]);
        let made = Command::new("openssl").args(&args).output().expect("openssl");
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    }
}

impl Drop for Certificates {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// `sslmode` and `sslrootcert` as libpq has them.
#[tokio::test(flavor = "multi_thread")]
async fn certificates_are_judged_as_libpq_judges_them() {
    let certificates = Certificates::new();
    certificates.make("ca", true, None);
    certificates.make("other", true, None);
    certificates.make("server", false, Some("ca"));
    certificates.make("own", false, None);
    let mut postgres = dedicated().await;
    postgres.serve_tls(&certificates.0.join("server.crt"), &certificates.0.join("server.key"), None).await;
    let (ca, other) = (certificates.path("ca.crt"), certificates.path("other.crt"));
    let url = postgres.url("postgres");
    for query in [
        "sslmode=require".to_owned(),
        format!("sslmode=require&sslrootcert={ca}"),
        format!("sslmode=verify-ca&sslrootcert={ca}"),
        format!("sslmode=verify-full&sslrootcert={ca}"),
    ] {
        let (status, log) = ended(&format!("{url}?{query}"), &["migrate"]).await;
        assert_eq!(status.code(), Some(0), "{query}: {log}");
    }
    for query in [
        format!("sslmode=require&sslrootcert={other}"),
        format!("sslmode=verify-ca&sslrootcert={other}"),
        format!("sslmode=verify-full&sslrootcert={other}"),
        "sslrootcert=system".to_owned(),
    ] {
        refused(&format!("{url}?{query}"), &["cannot be reached: TLS: "]).await;
    }
    // Its own root; and one that is marked as an authority.
    postgres.serve_tls(&certificates.0.join("own.crt"), &certificates.0.join("own.key"), None).await;
    let own = certificates.path("own.crt");
    let (status, log) = ended(&format!("{url}?sslmode=verify-full&sslrootcert={own}"), &["migrate"]).await;
    assert_eq!(status.code(), Some(0), "{log}");
    postgres.serve_tls(&certificates.0.join("ca.crt"), &certificates.0.join("ca.key"), None).await;
    refused(&format!("{url}?sslmode=verify-full&sslrootcert={ca}"), &["make one with basicConstraints=CA:FALSE"]).await;
}

/// A certificate for another host; one of the client; and a server that wants TLS.
#[tokio::test(flavor = "multi_thread")]
async fn names_are_proved_by_certificates() {
    let certificates = Certificates::new();
    certificates.make("ca", true, None);
    certificates.make("other", true, None);
    certificates.make_for("elsewhere", "DNS:db.example", false, Some("ca"));
    certificates.make("server", false, Some("ca"));
    certificates.make("postgres", false, Some("ca"));
    certificates.make("stranger", false, Some("ca"));
    let file = |name: &str| certificates.0.join(name);
    let mut postgres = dedicated().await;
    postgres.serve_tls(&file("elsewhere.crt"), &file("elsewhere.key"), None).await;
    let ca = certificates.path("ca.crt");
    let url = |query: &str| {
        let url = postgres.url("postgres").replace("postgres@", "postgres:HUSH@");
        format!("{url}?sslrootcert={ca}&{query}")
    };
    let (status, log) = ended(&url("sslmode=verify-ca"), &["migrate"]).await;
    assert_eq!(status.code(), Some(0), "{log}");
    refused(&url("sslmode=verify-full"), &["cannot be reached: TLS: ", "certificate not valid for name"]).await;

    postgres.serve_tls(&file("server.crt"), &file("server.key"), Some(&file("ca.crt"))).await;
    postgres.admit("hostssl all all 127.0.0.1/32 cert");
    let url = |name: Option<&str>| {
        let shown = name.map(|name| {
            let [certificate, key] = ["crt", "key"].map(|end| certificates.path(&format!("{name}.{end}")));
            format!("&sslcert={certificate}&sslkey={key}")
        });
        let url = postgres.url("postgres").replace("postgres@", "postgres:HUSH@");
        format!("{url}?sslmode=verify-full&sslrootcert={ca}{}", shown.unwrap_or_default())
    };
    let server = Server::start(&url(Some("postgres")), &[]).await;
    server.post(SESSIONS).json(json!({"sessionId": "s"})).await.expect(201);
    // Another's name, no certificate, and no TLS.
    for url in [
        url(Some("stranger")),
        url(None),
        postgres.url("postgres").replace("postgres@", "postgres:HUSH@") + "?sslmode=disable",
    ] {
        let (status, log) = ended(&url, &["migrate"]).await;
        assert_eq!(status.code(), Some(1), "{log}");
        assert!(
            log.contains("it refuses the user, or pg_hba.conf has no line for this connection (28000)"),
            "{url}: {log}"
        );
        assert!(!log.contains("HUSH") && !log.contains("waiting for the database"), "{log}");
    }
}
