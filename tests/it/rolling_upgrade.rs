//! Builds beside newer ones, on one PostgreSQL whose schema is migrated while clients go on: docs/versions.md, "Database". The migrations
//! of `tests/upgrade` stand for those of a later release.

use std::collections::BTreeMap;
use std::env;
use std::path::{Path, PathBuf};
use std::slice;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde_json::{Value, json};
use sqlx::{AssertSqlSafe, Connection as _, PgConnection};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::sleep;

use crate::model;
use crate::support::binary::PATIENT;
use crate::support::client::Client;
use crate::support::databases::verify;
use crate::support::load::{self, Load, Record, check_log};
use crate::support::nginx::Nginx;
use crate::support::postgres::database;
use crate::support::process::{Sessiond, THIS_BUILD, free_port};
use crate::support::sse::{Part, Watch};

const PROBE: [&str; 3] = [
    include_str!("../upgrade/0_sessions.sql"),
    include_str!("../upgrade/1_events.sql"),
    include_str!("../upgrade/2_functions.sql"),
];

/// Sequences of the model that are played at the same time.
const PLAYERS: usize = 3;

/// What a process of some build is started with.
fn flags(port: u16) -> Vec<String> {
    let own = [format!("--listen=127.0.0.1:{port}"), "--metrics-listen=off".into(), "--log-format=json".into()];
    let more = ["--feed-retention=1h", "--shutdown-delay=300ms"].map(str::to_owned);
    own.into_iter().chain(more).chain(PATIENT.iter().map(|flag| (*flag).to_owned())).collect()
}

/// A process of a build that serves.
struct Running {
    process: Sessiond,
    api: Client,
}

impl Running {
    async fn start(build: &Path, database_url: &str, port: u16, more: &[&str]) -> Self {
        let flags = flags(port);
        let args: Vec<&str> = flags.iter().map(String::as_str).chain(more.iter().copied()).collect();
        let mut process = Sessiond::spawn_build(build, &args, &[("DATABASE_URL", database_url)]);
        let api = Client::at(&process.base_url().await);
        api.get_until("/readyz", 200).await;
        Self { process, api }
    }

    async fn stop(mut self) {
        self.process.sigterm();
        assert_eq!(self.process.wait().await.code(), Some(0), "{}", self.process.log());
        self.is_well();
    }

    /// No answer was 500. Some are 503, as a migration locks tables.
    fn is_well(&self) {
        let log = self.process.log();
        assert!(!log.contains("\"status\":500"), "{log}");
    }
}

/// Runs a command of a build to its end.
async fn run(build: &Path, database_url: &str, args: &[&str]) -> String {
    let mut process = Sessiond::spawn_build(build, args, &[("DATABASE_URL", database_url)]);
    assert!(process.wait().await.success(), "{args:?}: {}", process.log());
    process.log()
}

/// What goes on meanwhile: writers who fight for few sessions, watchers of these, a reader of the feed, and players of the model.
struct Traffic {
    stop: Arc<AtomicBool>,
    loads: Vec<Load>,
    players: Vec<JoinHandle<usize>>,
    watchers: Vec<JoinHandle<Seen>>,
    reader: JoinHandle<BTreeMap<String, i64>>,
    /// How many events the sessions have in the end.
    tell: watch::Sender<Option<BTreeMap<String, i64>>>,
}

/// What a watcher saw: the ids of the events, and how often it connected.
struct Seen {
    session: String,
    ids: Vec<String>,
    connections: usize,
}

/// What was done in the end.
struct Done {
    record: Record,
    sequences: usize,
    connections: usize,
}

impl Traffic {
    /// By way of these servers, in turn.
    async fn start(apis: &[Client]) -> Self {
        load::create_sessions(&apis[0]).await;
        let stop = Arc::new(AtomicBool::new(false));
        let (tell, told) = watch::channel(None);
        let api = |n: usize| apis[n % apis.len()].clone();
        let watchers = load::sessions().enumerate().map(|(n, path)| tokio::spawn(follow(api(n), path, told.clone())));
        let players = (0..PLAYERS).map(|n| {
            let (api, stop) = (api(n), stop.clone());
            tokio::spawn(async move { model::play(&api, &format!("p{n}-"), &stop).await })
        });
        let (watchers, players) = (watchers.collect(), players.collect());
        let reader = tokio::spawn(read_feed(api(1), told));
        let loads = (0..2).map(|n| Load::start(&api(n), &format!("load{n}"))).collect();
        Self { stop, loads, players, watchers, reader, tell }
    }

    /// Lets it go on for a while.
    async fn some_more(&self) {
        for load in &self.loads {
            load.succeeds(50).await;
        }
        assert!(!self.players.iter().any(JoinHandle::is_finished), "a player met what the model does not say");
        assert!(!self.watchers.iter().any(JoinHandle::is_finished) && !self.reader.is_finished(), "a reader ended");
    }

    /// Ends it, and checks all that was told to anybody.
    async fn end(self, api: &Client) -> Done {
        self.stop.store(true, Ordering::Relaxed);
        let mut record = Record::default();
        for load in self.loads {
            record.extend(load.stop().await);
        }
        assert_eq!((record.refused(), record.open()), (0, 0), "every write is done, and its writer knows");
        load::verify(api, &mut record).await;
        let mut sequences = 0;
        for player in self.players {
            sequences += player.await.expect("the service does what the model does");
        }
        let (mut logs, mut revisions) = (BTreeMap::new(), BTreeMap::new());
        for path in load::sessions() {
            let session = api.get(&path).await.expect(200).json();
            check_log(&session);
            let ids =
                session["events"].as_array().unwrap().iter().map(|event| event["id"].as_str().unwrap().to_owned());
            logs.insert(path.clone(), ids.collect::<Vec<_>>());
            revisions.insert(path, session["revision"].as_i64().unwrap());
        }
        self.tell.send_replace(Some(revisions.clone()));
        let mut connections = 0;
        for watcher in self.watchers {
            let seen = watcher.await.expect("a watcher gets each event once");
            assert!(seen.ids == logs[&seen.session], "{}: each event once, and in order", seen.session);
            connections += seen.connections;
        }
        assert_eq!(self.reader.await.expect("the feed has no gap"), revisions);
        Done { record, sequences, connections }
    }
}

/// Watches a session until it has seen as many events as are told of in the end.
async fn follow(api: Client, session: String, mut told: watch::Receiver<Option<BTreeMap<String, i64>>>) -> Seen {
    let mut seen = Seen { session, ids: Vec::new(), connections: 0 };
    loop {
        let path = format!("{}/watch?afterSequence={}", seen.session, seen.ids.len());
        let mut stream = Watch::open(api.get(path).lasting()).await;
        seen.connections += 1;
        loop {
            if told.borrow().as_ref().is_some_and(|told| told[&seen.session] == seen.ids.len() as i64) {
                return seen;
            }
            let part = tokio::select! {
                part = stream.part() => part,
                changed = told.changed() => {
                    changed.expect("somebody tells");
                    continue;
                }
            };
            let Ok(part) = part else { break };
            let Part::Frame(frame) = part else { continue };
            if frame.event == "event" {
                let event: Value = frame.json();
                assert_eq!(event["sequence"], seen.ids.len() + 1, "{}", seen.session);
                seen.ids.push(event["id"].as_str().expect("an id").to_owned());
            }
        }
    }
}

/// Reads the feed of the app of the load, page by page, until it has told of as many events as there are in the end.
async fn read_feed(api: Client, told: watch::Receiver<Option<BTreeMap<String, i64>>>) -> BTreeMap<String, i64> {
    let mut revisions: BTreeMap<String, i64> = load::sessions().map(|path| (path, 0)).collect();
    let mut position = "start".to_owned();
    loop {
        if told.borrow().as_ref() == Some(&revisions) {
            return revisions;
        }
        let page = api.get(format!("/v1/apps/load/feed?kinds=events&after={position}&wait=1")).await;
        if page.status() == 503 {
            // A table is being migrated.
            sleep(Duration::from_millis(100)).await;
            continue;
        }
        let page = page.expect(200).json();
        for change in page["changes"].as_array().expect("changes") {
            let path = format!("/v1/apps/load/users/u/sessions/{}", change["sessionId"].as_str().expect("a session"));
            let revision = revisions.get_mut(&path).expect("a session of the load");
            assert_eq!(change["firstSequence"], *revision + 1, "no gap, and nothing twice: {change}");
            *revision = change["lastSequence"].as_i64().expect("a sequence");
        }
        position = page["position"].as_str().expect("a position").to_owned();
    }
}

/// Each reads at once what the other has written, in each scope.
async fn read_each_other(one: &Client, other: &Client) {
    let session = format!("/v1/apps/both/users/u/sessions/{}", uuid::Uuid::new_v4());
    one.put(&session).json(r#"{"state":{"k":0}}"#).await.expect(201);
    for n in 1..=6 {
        let (writes, reads) = if n % 2 == 0 { (one, other) } else { (other, one) };
        let event =
            json!({"id": format!("e{n}"), "author": "a", "actions": {"stateDelta": {"k": n, "user:k": n, "app:k": n}}});
        writes.post(format!("{session}/events")).json(&event).await.expect(201);
        let shown = reads.get(&session).await.expect(200).json();
        assert_eq!(shown["state"], json!({"app:k": n, "user:k": n, "k": n}));
        check_log(&shown);
        let again = reads.post(format!("{session}/events")).json(&event).await.expect(200);
        assert!(again.was_replayed());
        let before = reads.get(format!("{session}/state?atRevision={}", n - 1)).await.expect(200).json();
        assert_eq!(before["k"], n - 1);
    }
    one.post(format!("{session}/rewind")).json(r#"{"toRevision":2}"#).await.expect(200);
    let fork = other.post(format!("{session}/fork")).json("{}").await.expect(201).json();
    assert_eq!(fork["state"]["k"], 2);
}

/// Applies the migrations of a later release as such a release would, and notes them.
async fn migrate_by_sql(database_url: &str) {
    let mut connection = PgConnection::connect(database_url).await.expect("connect");
    for (number, sql) in (1000..).zip(PROBE) {
        let note = format!("insert into sessiond_migrations values ({number}, 'additive probe', now(), true, '', -1)");
        let script = format!("set local lock_timeout = '500ms'; {sql}; {note}");
        loop {
            let mut transaction = connection.begin().await.expect("begin");
            match sqlx::raw_sql(AssertSqlSafe(script.clone())).execute(&mut *transaction).await {
                Ok(_) => break transaction.commit().await.expect("commit"),
                Err(error) => {
                    let code = error.as_database_error().and_then(|error| error.code()).unwrap_or_default();
                    assert_eq!(code, "55P03", "{error}");
                }
            }
            transaction.rollback().await.expect("rollback");
            // A table is in use, on a machine that has much to do for longer than a migration waits.
            sleep(Duration::from_millis(500)).await;
        }
    }
}

/// Events are there of which each part was written by a function of the older and of the newer schema.
async fn function_was_replaced(database_url: &str) {
    let mut connection = PgConnection::connect(database_url).await.expect("connect");
    let counts = "select count(*) filter (where probe = 42), count(*) filter (where probe is null) from events where app_name = 'load'";
    let (new, old): (i64, i64) = sqlx::query_as(counts).fetch_one(&mut connection).await.expect("counts");
    assert!(new >= 100 && old >= 100, "{new} by the new function, {old} by the old one");
    let mixed = "select count(*) from events l join events r using (incarnation) \
                 where l.app_name = 'load' and l.probe = 42 and r.probe is null and r.sequence > l.sequence";
    let mixed: i64 = sqlx::query_scalar(mixed).fetch_one(&mut connection).await.expect("a count");
    assert_eq!(mixed, 0, "once replaced, the new one alone writes");
}

/// This build, on a schema that becomes a newer one while it serves.
#[tokio::test(flavor = "multi_thread")]
async fn a_schema_becomes_a_newer_one_under_load() {
    let database = database().await;
    let build = Path::new(THIS_BUILD);
    let one = Running::start(build, &database.url, 0, &[]).await;
    let two = Running::start(build, &database.url, 0, &["--no-migrate"]).await;
    let traffic = Traffic::start(&[one.api.clone(), two.api.clone()]).await;
    traffic.some_more().await;
    migrate_by_sql(&database.url).await;
    traffic.some_more().await;
    read_each_other(&one.api, &two.api).await;
    // As when somebody goes back: an older build starts on it.
    let three = Running::start(build, &database.url, 0, &[]).await;
    let four = Running::start(build, &database.url, 0, &["--no-migrate"]).await;
    read_each_other(&one.api, &three.api).await;
    read_each_other(&four.api, &two.api).await;
    run(build, &database.url, &["migrate"]).await;
    traffic.some_more().await;
    let done = traffic.end(&two.api).await;
    assert_eq!(done.connections, load::sessions().count(), "no stream was cut");
    function_was_replaced(&database.url).await;
    run(build, &database.url, &["verify"]).await;
    verify(&database.url).await;
    for running in [one, two, three, four] {
        running.stop().await;
    }
}

/// Longer than nginx leaves a server alone that refused a connection: see rolling_restart.rs.
const BETWEEN_RESTARTS: Duration = Duration::from_secs(11);

/// From the build `UPGRADE_OLD` to `UPGRADE_NEW`, which has further migrations, one process after the other, and back again.
#[tokio::test(flavor = "multi_thread")]
#[ignore = "takes two builds: scripts/upgrade-test"]
#[expect(clippy::print_stderr, reason = "figures for who runs it by hand")]
async fn two_builds_replace_each_other_under_load() {
    let build = |name: &str| PathBuf::from(env::var_os(name).unwrap_or_else(|| panic!("{name} is not set")));
    let (old, new) = (build("UPGRADE_OLD"), build("UPGRADE_NEW"));
    let database = database().await;
    let ports = [free_port(), free_port()];
    let nginx = Nginx::start(&ports);
    let mut servers = Vec::new();
    for port in ports {
        servers.push(Running::start(&old, &database.url, port, &[]).await);
    }
    let clients = Client::at(&nginx.url());
    let traffic = Traffic::start(slice::from_ref(&clients)).await;
    traffic.some_more().await;
    let log = run(&new, &database.url, &["migrate"]).await;
    eprintln!("migrated under load, after {} attempts", 1 + log.matches("is tried again").count());
    traffic.some_more().await;
    for (build, other) in [(&new, &old), (&old, &new)] {
        for (at, &port) in ports.iter().enumerate() {
            let stopped = servers.remove(at);
            stopped.stop().await;
            traffic.some_more().await;
            servers.insert(at, Running::start(build, &database.url, port, &[]).await);
            if at == 0 {
                read_each_other(&servers[0].api, &servers[1].api).await;
            }
            // Until nginx asks both again.
            sleep(BETWEEN_RESTARTS).await;
            traffic.some_more().await;
        }
        run(build, &database.url, &["verify"]).await;
        run(other, &database.url, &["verify"]).await;
    }
    let done = traffic.end(&clients).await;
    function_was_replaced(&database.url).await;
    run(&old, &database.url, &["verify"]).await;
    verify(&database.url).await;
    eprintln!(
        "processes: {}; events acknowledged: {}; sequences of the model: {}; watches: {}, connected {} times; nothing was lost or doubled",
        3 * ports.len(),
        done.record.acknowledged(),
        done.sequences,
        load::sessions().count(),
        done.connections
    );
    for server in servers {
        server.stop().await;
    }
}
