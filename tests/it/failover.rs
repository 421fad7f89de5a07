//! Failover to a standby. A synchronous one has every acknowledged write. An asynchronous one may lack the latest: then
//! revisions are used again for other content, and no tag, token or cursor of the old content may match the new.

use std::time::Duration;

use serde_json::{Value, json};
use sqlx::{AssertSqlSafe, Connection as _, PgConnection};
use tokio::time::{sleep, timeout};

use crate::support::{
    binary::{Server, log_says},
    client::PATIENCE,
    databases::verify,
    load::{self, Load, check_log},
    pgbouncer::PgBouncer,
    postgres::{DedicatedPostgres, address, database, dedicated, through},
    proxy::TcpProxy,
};

const SESSIONS: &str = "/v1/apps/a/users/u/sessions";
const SESSION: &str = "/v1/apps/a/users/u/sessions/s";
const EVENTS: &str = "/v1/apps/a/users/u/sessions/s/events";
const STATE: &str = "/v1/apps/a/users/u/sessions/s/state";

/// A primary and its standby, and the address of whichever is the primary.
pub struct Pair {
    primary: DedicatedPostgres,
    standby: DedicatedPostgres,
    pub replication: TcpProxy,
    moving: TcpProxy,
}

impl Pair {
    pub async fn start() -> Self {
        let primary = dedicated().await;
        let replication = TcpProxy::start(address(&primary.url("postgres")));
        let standby = primary.standby(replication.addr());
        let moving = TcpProxy::start(address(&primary.url("postgres")));
        Self { primary, standby, replication, moving }
    }

    pub fn url(&self) -> String {
        through(&self.primary.url("postgres"), self.moving.addr())
    }

    /// Until the primary says so of its standby.
    async fn primary_says(&self, condition: &'static str) {
        let mut connection = PgConnection::connect(&self.primary.url("postgres")).await.unwrap();
        let asking = async {
            while !sqlx::query_scalar::<_, bool>(condition).fetch_one(&mut connection).await.unwrap() {
                sleep(Duration::from_millis(10)).await;
            }
        };
        timeout(PATIENCE, asking).await.unwrap_or_else(|_| panic!("never: {condition}"));
    }

    /// From now on commits wait for the standby.
    async fn await_standby(&self) {
        let mut connection = PgConnection::connect(&self.primary.url("postgres")).await.unwrap();
        for statement in ["alter system set synchronous_standby_names = '*'", "select pg_reload_conf()"] {
            sqlx::query(statement).execute(&mut connection).await.unwrap();
        }
        connection.close().await.unwrap();
        self.primary_says("select count(*) > 0 from pg_stat_replication where sync_state = 'sync'").await;
    }

    /// The standby has all that there is.
    pub async fn catch_up(&self) {
        self.primary_says("select count(*) > 0 from pg_stat_replication where replay_lsn >= pg_current_wal_lsn()")
            .await;
    }

    /// The primary dies, the standby is promoted, and the address moves.
    pub fn fail_over(&mut self) {
        self.primary.stop_immediate();
        self.standby.promote();
        self.moving.lead_to(address(&self.standby.url("postgres")));
        self.moving.cut();
        self.moving.restore();
    }
}

fn event(id: &str, timestamp: u32) -> Value {
    let delta = json!({"k": id, "user:k": id, "app:k": id});
    json!({"id": id, "timestamp": timestamp, "author": "a", "actions": {"stateDelta": delta}})
}

/// Whoever asks whether a server is ready learns that a standby may lack what was acknowledged.
#[tokio::test(flavor = "multi_thread")]
async fn readiness_tells_of_a_standby_that_commits_do_not_wait_for() {
    let pair = Pair::start().await;
    let server = Server::start(&pair.url(), &[]).await;
    pair.catch_up().await;
    let warning = async || server.get("/readyz").await.expect(200).json()["warning"].is_string();
    assert!(warning().await);
    log_says(&server.process, "commits wait for no standby").await;
    pair.await_standby().await;
    assert!(!warning().await);
}

async fn what_was_lost_matches_nothing(pgbouncer: bool) {
    let mut pair = Pair::start().await;
    let bouncer = pgbouncer.then(|| PgBouncer::start(&pair.url()));
    let url = bouncer.as_ref().map_or_else(|| pair.url(), |bouncer| bouncer.url("postgres"));
    let flags: &[&str] = if pgbouncer { &["--pgbouncer", "--sweep-interval=24h"] } else { &["--sweep-interval=24h"] };
    let server = Server::start(&url, flags).await;
    let other = Server::start(&url, flags).await;
    server.post(SESSIONS).json(json!({"sessionId": "s"})).await.expect(201);
    for n in 1..4 {
        server.post(EVENTS).json(event(&format!("e{n}"), n)).await.expect(201);
    }
    let kept = server.get(SESSION).await.expect(200);
    let remembered = format!("{SESSIONS}/remembered/events");
    server.post(SESSIONS).json(json!({"sessionId": "remembered"})).await.expect(201);
    server.post(&remembered).json(json!({"timestamp": 1})).await.expect(201);
    pair.catch_up().await;
    pair.replication.cut();

    // The end, which the standby never gets.
    server.post(EVENTS).json(event("lost", 4)).await.expect(201);
    server.post(&remembered).json(json!({"timestamp": 2})).await.expect(201);
    let lost = server.get(SESSION).await.expect(200);
    let page = server.get(format!("{EVENTS}?pageSize=2")).await.expect(200).json()["nextPageToken"].clone();
    pair.fail_over();
    for server in [&server, &other] {
        server.get_until("/readyz", 200).await;
    }
    assert_eq!(server.get(SESSION).await.expect(200).text(), kept.text(), "the end is gone");

    // Who remembers the head of before does not decide on it, though its numbers are there again.
    other.post(&remembered).json(json!({"timestamp": 3})).await.expect(201);
    assert_eq!(server.post(&remembered).json(json!({"timestamp": 4})).await.expect(201).json()["sequence"], 3);

    // The same revisions again, of something else, by somebody else.
    other.post(EVENTS).json(event("new", 5)).await.expect(201);
    for server in [&server, &other] {
        let new = server.get(SESSION).await.expect(200);
        assert_eq!(new.tag_parts()[..3], lost.tag_parts()[..3]);
        assert_ne!(new.tag_parts()[3], lost.tag_parts()[3]);
        for path in [SESSION, STATE, EVENTS] {
            let headers = [("if-none-match", &*lost.etag())];
            server.send("GET", path, &headers, None).await.unwrap().expect(200);
            let headers = [("if-none-match", &*new.etag())];
            server.send("GET", path, &headers, None).await.unwrap().expect(304);
        }
        for (method, path, body) in [
            ("POST", EVENTS, Some(json!({"author": "a"}))),
            ("PATCH", STATE, Some(json!({"stateDelta": {"k": 1}}))),
            ("PATCH", SESSION, Some(json!({"displayName": "n"}))),
            ("DELETE", SESSION, None),
        ] {
            let headers = [("if-match", &*lost.etag())];
            server.send(method, path, &headers, body.as_ref()).await.unwrap().expect(412);
        }
        let page = format!("{EVENTS}?pageSize=2&pageToken={}", page.as_str().unwrap());
        server.get(&page).await.expect(422);
    }
    let next = server.post(EVENTS).json(event("next", 6)).await.expect(201);
    assert_eq!(next.json()["sequence"], 5);
    assert_eq!(next.tag_parts()[..3], ["5", "5", "5"]);
    let again = server.post(EVENTS).json(event("lost", 4)).await.expect(201);
    assert_eq!((again.json()["sequence"].clone(), again.header("idempotent-replayed")), (6.into(), None));
    assert_eq!(server.post(EVENTS).json(event("e1", 1)).await.expect(200).header("idempotent-replayed"), Some("true"));
    let tag = server.get(SESSION).await.expect(200);
    server.post(EVENTS).header("if-match", &*tag.etag()).json(json!({"author": "a"})).await.expect(201);

    let session = server.get(SESSION).await.expect(200);
    let fresh = Server::start(&url, flags).await;
    assert_eq!(fresh.get(SESSION).await.expect(200).header("etag"), session.header("etag"));
    let ids: Vec<_> = session.json()["events"].as_array().unwrap().iter().map(|event| event["id"].clone()).collect();
    assert_eq!(ids[..6], ["e1", "e2", "e3", "new", "next", "lost"]);
    check_log(&session.json());
    verify(&pair.standby.url("postgres")).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_an_asynchronous_standby_lost_matches_nothing() {
    what_was_lost_matches_nothing(false).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_an_asynchronous_standby_lost_matches_nothing_behind_pgbouncer() {
    what_was_lost_matches_nothing(true).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_synchronous_standby_has_all_that_was_acknowledged() {
    let mut pair = Pair::start().await;
    pair.await_standby().await;
    let hasty =
        ["--lock-timeout=400ms", "--acquire-timeout=400ms", "--statement-timeout=800ms", "--request-timeout=2s"];
    let server = Server::start(&pair.url(), &hasty).await;
    load::create_sessions(&server).await;
    let load = Load::start(&server, "failover");
    load.succeeds(200).await;
    pair.fail_over();
    server.get_until("/readyz", 200).await;
    load.succeeds(100).await;
    let mut record = load.stop().await;
    load::verify(&server, &mut record).await;
    verify(&pair.standby.url("postgres")).await;
}

/// As some managed servers may do.
#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_keeps_its_timeline_to_itself_is_served_from() {
    let database = database().await;
    let mut owner = PgConnection::connect(&database.url).await.unwrap();
    let role = database.url.rsplit('/').next().unwrap().replace("test", "plain");
    let setup = format!(
        "create role {role} login password 'p'; grant all on schema public to {role}; \
         revoke execute on function pg_current_wal_lsn() from public"
    );
    sqlx::raw_sql(AssertSqlSafe(setup)).execute(&mut owner).await.unwrap();
    let mut url = reqwest::Url::parse(&database.url).unwrap();
    url.set_username(&role).unwrap();
    url.set_password(Some("p")).unwrap();
    let bouncer = PgBouncer::start(url.as_str());
    let bounced = bouncer.url(url.path().trim_start_matches('/'));
    for (url, flags) in [(url.as_str(), &[][..]), (&*bounced, &["--pgbouncer"])] {
        let server = Server::start(url, flags).await;
        server.put(SESSION).json(json!({})).await;
        server.post(EVENTS).json(json!({"author": "a"})).await.expect(201);
        let session = server.get(SESSION).await.expect(200);
        server.post(EVENTS).header("if-match", &*session.etag()).json(json!({"author": "a"})).await.expect(201);
        assert_eq!(server.process.log().matches("does not tell its timeline").count(), 1, "{}", server.process.log());
    }
    drop(bouncer);
    let clean = format!("drop owned by {role}; drop role {role}");
    sqlx::raw_sql(AssertSqlSafe(clean)).execute(&mut owner).await.unwrap();
}

/// What a standby shows may be old, and it cannot be written to.
#[tokio::test(flavor = "multi_thread")]
async fn a_standby_is_not_served_from() {
    let pair = Pair::start().await;
    let server = Server::start(&pair.url(), &[]).await;
    server.post(SESSIONS).json(json!({"sessionId": "s"})).await.expect(201);
    pair.moving.lead_to(address(&pair.standby.url("postgres")));
    pair.moving.cut();
    pair.moving.restore();
    server.get_until("/readyz", 503).await;
    server.get(SESSION).await.expect(503);
    assert_eq!(server.post(EVENTS).json(json!({"author": "a"})).await.outcome_of_503(), "not_applied");
    assert!(server.process.log().contains("is a standby"), "{}", server.process.log());
    pair.moving.lead_to(address(&pair.primary.url("postgres")));
    server.get_until("/readyz", 200).await;
    server.post(EVENTS).json(json!({"author": "a"})).await.expect(201);
}
