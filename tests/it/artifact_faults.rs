//! Artifacts while processes are killed and uploads are cut: versions are dense, none is half there, and nothing is left behind.

use std::any::Any;
use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use serde_json::{Value, json};
use sqlx::{Connection as _, PgConnection, SqliteConnection};
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};

use crate::artifact_stores::{Store, due, pattern, until_swept};
use crate::support::binary::{Server, spawn_with};
use crate::support::client::{Client, EVENTS, ONE, PATIENCE};
use crate::support::databases::{Place, on_both_databases};

const FILES: &str = "/v1/apps/app/users/user/sessions/s/artifacts";

/// A part of the bytes that the service writes at once.
const PART: usize = 256 << 10;

const SAVERS: usize = 20;

/// How often a process is killed, and how many saves must succeed before each time.
const KILLS: usize = 3;
const BETWEEN: usize = 20;

on_both_databases!(
    savers_of_one_name_that_are_killed,
    savers_of_one_name_that_are_killed_with_a_folder,
    a_cut_upload_leaves_nothing,
    a_cut_upload_leaves_nothing_in_a_folder,
);

/// Where the bytes are: in the database, or in a folder.
struct Bytes(Option<Store>);

impl Bytes {
    async fn server(&self, place: &Place, flags: &[&str]) -> Server {
        match &self.0 {
            Some(store) => store.server(place, flags).await,
            None => Server::start(&place.url(), flags).await,
        }
    }

    /// What `sessiond verify --artifacts` says of a database without differences.
    async fn verify(&self, place: &Place, artifacts: usize) {
        let (status, log) = match &self.0 {
            Some(store) => store.verify(place).await,
            None => {
                let mut process = spawn_with(&place.url(), &["verify", "--artifacts"], &[]);
                (process.wait().await, process.log())
            }
        };
        assert_eq!(status.code(), Some(0), "{log}");
        assert!(log.contains(&format!("artifacts={artifacts} differences=0")), "{log}");
    }

    /// After a sweep there is what the versions hold, and nothing else.
    async fn only(&self, place: &Place, versions: usize) {
        due(place).await;
        until_swept(place).await;
        let count = i64::try_from(versions).expect("a number");
        assert_eq!(place.number("select count(*) from artifacts").await, count);
        assert_eq!(place.number("select count(*) from blobs").await, count);
        let loose = "select count(*) from blob_chunks c where not exists (select 1 from blobs b \
                     where b.app_name = c.app_name and b.user_id = c.user_id and b.id = c.blob)";
        assert_eq!(place.number(loose).await, 0);
        match &self.0 {
            Some(store) => {
                assert_eq!(place.number("select count(*) from blob_chunks").await, 0);
                store.until_objects(versions).await;
            }
            None => assert!(place.number("select count(distinct blob) from blob_chunks").await <= count),
        }
        self.verify(place, versions).await;
    }
}

async fn savers_of_one_name_that_are_killed(place: Place) {
    savers(Bytes(None), place).await;
}

async fn savers_of_one_name_that_are_killed_with_a_folder(place: Place) {
    savers(Bytes(Some(Store::folder())), place).await;
}

/// Saves until it is told to stop, each with a key of its own, and again until an answer says that it is there: the versions, what they
/// hold, and whether each appended an event.
async fn saver(
    n: usize,
    clients: Arc<Mutex<Vec<Client>>>,
    stop: Arc<AtomicBool>,
    saved: Arc<AtomicUsize>,
) -> Vec<(i64, (Vec<u8>, bool))> {
    let mut versions = Vec::new();
    for k in 0.. {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        let size = [3, PART + 1, 100, 3 * PART][(n + k) % 4];
        let mut bytes = format!("saver {n} save {k} ").into_bytes();
        bytes.resize(bytes.len() + size, b'x');
        let appends = (n + k).is_multiple_of(2);
        let event = if appends { "append" } else { "none" };
        let answer = async {
            let mut turn = n + k;
            loop {
                let client = {
                    let clients = clients.lock().expect("no panic");
                    clients[turn % clients.len()].clone()
                };
                let save =
                    client.put(format!("{FILES}/one?event={event}")).header("idempotency-key", format!("{n}-{k}"));
                match save.body("text/plain", bytes.clone()).send().await {
                    Ok(answer) if answer.status() < 300 => return answer,
                    Ok(answer) => drop(answer.expect(503)),
                    // It was killed.
                    Err(_) => {}
                }
                turn += 1;
                sleep(Duration::from_millis(20)).await;
            }
        };
        let answer = timeout(PATIENCE, answer).await.expect("a save is answered");
        versions.push((answer.json()["version"].as_i64().expect("a number"), (bytes, appends)));
        saved.fetch_add(1, Ordering::Relaxed);
    }
    versions
}

async fn savers(store: Bytes, place: Place) {
    // SQLite takes one process.
    let replicas = if matches!(place, Place::Postgres(_)) { 2 } else { 1 };
    let mut servers = Vec::new();
    for _ in 0..replicas {
        servers.push(store.server(&place, &["--sweep-interval=200ms"]).await);
    }
    servers[0].create("{}").await;
    let clients = Arc::new(Mutex::new(servers.iter().map(|server| server.api.clone()).collect::<Vec<_>>()));
    let (stop, saved) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    let savers: Vec<_> =
        (0..SAVERS).map(|n| tokio::spawn(saver(n, clients.clone(), stop.clone(), saved.clone()))).collect();
    for round in 0..KILLS {
        let enough = saved.load(Ordering::Relaxed) + BETWEEN;
        let waited = timeout(PATIENCE, async {
            while saved.load(Ordering::Relaxed) < enough {
                sleep(Duration::from_millis(5)).await;
            }
        });
        waited.await.expect("saves succeed");
        let killed = round % replicas;
        servers[killed].process.kill_9();
        servers[killed].process.wait().await;
        servers[killed] = store.server(&place, &["--sweep-interval=200ms"]).await;
        clients.lock().expect("no panic")[killed] = servers[killed].api.clone();
    }
    stop.store(true, Ordering::Relaxed);
    let mut written = BTreeMap::new();
    for saver in savers {
        for (version, save) in saver.await.expect("no panic") {
            assert!(written.insert(version, save).is_none(), "version {version} is there twice");
        }
    }
    let count = i64::try_from(written.len()).expect("a number");
    assert!(written.len() >= KILLS * BETWEEN);
    assert_eq!(written.keys().copied().collect::<Vec<_>>(), (0..count).collect::<Vec<_>>());

    let api = &servers[0].api;
    let mut listed = Vec::new();
    let mut page = String::new();
    loop {
        let answer = api.get(format!("{FILES}/one/versions?pageSize=100{page}")).await.expect(200).json();
        listed.extend(answer["versions"].as_array().expect("a list").iter().map(|version| version["version"].clone()));
        match answer["nextPageToken"].as_str() {
            Some(token) => page = format!("&pageToken={token}"),
            None => break,
        }
    }
    assert_eq!(listed, (0..count).map(Value::from).collect::<Vec<_>>());
    for (version, (bytes, _)) in &written {
        let read = api.get(format!("{FILES}/one?version={version}")).await.expect(200);
        assert!(read.bytes() == bytes, "version {version} holds what another saver sent, or a part");
    }
    // The log names each version whose save appended an event once, in the order of the versions.
    let mut named = Vec::new();
    for event in events(api, EVENTS).await {
        named.push(event["actions"]["artifactDelta"]["one"].as_i64().expect("a version"));
    }
    let expected: Vec<i64> = written.iter().filter(|(_, (_, appends))| *appends).map(|(version, _)| *version).collect();
    assert_eq!(named, expected);
    store.only(&place, written.len()).await;
    drop(servers);
    place.finish().await;
}

/// All events of a session, of which this is the path.
pub async fn events(api: &Client, path: &str) -> Vec<Value> {
    let mut events = Vec::new();
    loop {
        let answer = api.get(format!("{path}?afterSequence={}&pageSize=1000", events.len())).await.expect(200).json();
        let page = answer["events"].as_array().expect("a list").clone();
        if page.is_empty() {
            return events;
        }
        events.extend(page);
    }
}

async fn a_cut_upload_leaves_nothing(place: Place) {
    cut_uploads(Bytes(None), place).await;
}

async fn a_cut_upload_leaves_nothing_in_a_folder(place: Place) {
    cut_uploads(Bytes(Some(Store::folder())), place).await;
}

/// Begins an upload of `length` bytes, and sends some of them.
async fn begin(api: &Client, name: &str, length: usize, sent: &[u8]) -> TcpStream {
    let mut stream = TcpStream::connect(api.address()).await.expect("connect");
    let head = format!("PUT {FILES}/{name} HTTP/1.1\r\nhost: localhost\r\ncontent-length: {length}\r\n\r\n");
    stream.write_all(head.as_bytes()).await.expect("send");
    stream.write_all(sent).await.expect("send");
    stream
}

pub async fn until(what: &str, mut is_so: impl AsyncFnMut() -> bool) {
    let waited = timeout(PATIENCE, async {
        while !is_so().await {
            sleep(Duration::from_millis(20)).await;
        }
    });
    waited.await.unwrap_or_else(|_| panic!("never: {what}"));
}

/// Keeps everybody from saving a version, until it is dropped.
pub async fn hold(place: &Place) -> Box<dyn Any + Send> {
    match place {
        Place::Sqlite(_) => {
            let mut connection = SqliteConnection::connect(&place.url()).await.expect("open the file");
            sqlx::raw_sql("begin immediate").execute(&mut connection).await.expect("the only writer");
            Box::new(connection)
        }
        Place::Postgres(database) => {
            let mut connection = PgConnection::connect(&database.url).await.expect("connect");
            let lock = "begin; lock table artifacts in share row exclusive mode";
            sqlx::raw_sql(lock).execute(&mut connection).await.expect("a lock");
            Box::new(connection)
        }
    }
}

async fn cut_uploads(store: Bytes, place: Place) {
    let flags = ["--sweep-interval=100ms", "--lock-timeout=50s", "--statement-timeout=50s"];
    let mut server = store.server(&place, &flags).await;
    server.create("{}").await;
    server.put(format!("{FILES}/before")).body("a/b", "abc").await.expect(201);
    let whole = pattern(3 * PART + 10);
    let stages = [0, 1, PART, PART + 1, 2 * PART + 7, whole.len() - 1];
    // By its client, before the first byte, within a part, after one, and before the last byte.
    for sent in stages {
        let stream = begin(&server, "cut", whole.len(), &whole[..sent]).await;
        let parts = i64::try_from(sent.saturating_sub(1) / PART).expect("a number");
        until("the parts arrive", async || match store.0 {
            Some(_) => place.number("select count(*) from blobs where versions = 0").await >= parts.min(1),
            None => {
                let chunks = "select count(*) from blob_chunks c join blobs b on b.app_name = c.app_name \
                              and b.user_id = c.user_id and b.id = c.blob where b.versions = 0";
                place.number(chunks).await >= parts
            }
        })
        .await;
        drop(stream);
        until("nothing is left", async || place.number("select count(*) from blobs").await == 1).await;
    }
    store.only(&place, 1).await;
    server.get(format!("{FILES}/cut")).await.problem(404, "artifact_not_found");

    // By the end of the process: all of these at once, and one of which all bytes are there, and the version is not yet.
    let mut streams = Vec::new();
    for sent in stages {
        streams.push(begin(&server, "cut", whole.len(), &whole[..sent]).await);
    }
    until("three uploads are noted", async || place.number("select count(*) from blobs where versions = 0").await == 3)
        .await;
    let mut last = begin(&server, "last", whole.len(), &whole[..3 * PART + 1]).await;
    until("a fourth is noted", async || place.number("select count(*) from blobs where versions = 0").await == 4).await;
    if store.0.is_none() {
        let chunks = "select count(*) from blob_chunks c join blobs b on b.app_name = c.app_name and b.user_id = c.user_id \
                      and b.id = c.blob where b.versions = 0";
        until("its parts are there", async || place.number(chunks).await >= 1 + 2 + 3 + 3).await;
    }
    let held = hold(&place).await;
    last.write_all(&whole[3 * PART + 1..]).await.expect("send");
    match &place {
        Place::Postgres(_) => {
            until("the save waits", async || {
                let waiting = "select count(*) from pg_locks l join pg_database d on d.oid = l.database \
                               where not l.granted and d.datname = current_database()";
                place.number(waiting).await >= 1
            })
            .await;
        }
        // Who waits for the file cannot be seen.
        Place::Sqlite(_) => sleep(Duration::from_millis(300)).await,
    }
    server.process.kill_9();
    server.process.wait().await;
    drop((held, streams, last));

    let server = store.server(&place, &flags).await;
    store.only(&place, 1).await;
    for name in ["cut", "last"] {
        server.get(format!("{FILES}/{name}")).await.problem(404, "artifact_not_found");
    }
    let session = server.get(ONE).await.expect(200).json();
    assert_eq!(session["revision"], 1);
    // The numbers were not used.
    let again = server.put(format!("{FILES}/last")).body("a/b", whole.clone()).await.expect(201).json();
    assert_eq!((&again["version"], &again["size"]), (&json!(0), &json!(whole.len())));
    store.only(&place, 2).await;
    drop(server);
    place.finish().await;
}
