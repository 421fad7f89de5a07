//! Artifacts whose bytes are outside of the database: in a folder, and in a bucket that fails in every way.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::time::{Duration, SystemTime};

use futures_util::future::join_all;
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;
use tokio::time::sleep;
use uuid::Uuid;

use crate::artifact_faults::until;
use crate::contract::erasure::{CANARY, done, fill_files, finds, has_canary, stopped};
use crate::support::binary::{Server, log_says, spawn_with};
use crate::support::client::{Answer, Client, EVENTS, ONE, PATIENCE, S};
use crate::support::databases::{Place, on_both_databases};
use crate::support::process::free_port;
use crate::support::s3::{Mode, S3, files_in};

const FILES: &str = "/v1/apps/app/users/user/sessions/s/artifacts";

/// A part of the bytes that the service writes and reads at once, and the part of an object that a bucket takes.
const PART: usize = 256 << 10;
const UPLOAD: usize = 5 << 20;

/// One step of a store may take so long in tests of its faults.
const INLINE: &str = "--artifact-inline-max";
const HASTY: &str = "--artifact-store-timeout=6s";

on_both_databases!(
    bytes_are_in_a_folder,
    bytes_are_in_a_bucket,
    small_files_stay_in_the_database,
    a_bucket_that_fails_costs_bytes_alone,
    what_a_crash_leaves_in_a_folder_goes,
    what_a_crash_leaves_in_a_bucket_goes,
    an_erasure_waits_for_the_objects,
    nothing_is_left_of_erased_files,
    objects_of_nobody_go,
    a_store_is_changed,
    lost_and_damaged_objects_are_named,
    exports_and_imports_go_from_store_to_store,
);

/// A store, and a server with its bytes in there.
pub enum Store {
    Folder(PathBuf),
    Bucket(S3),
}

impl Store {
    pub fn folder() -> Self {
        let path = std::env::temp_dir().join(format!("sessiond-objects-{}", Uuid::new_v4().simple()));
        fs::create_dir(&path).expect("create a folder");
        Self::Folder(path)
    }

    fn path(&self) -> PathBuf {
        match self {
            Self::Folder(path) => path.clone(),
            Self::Bucket(s3) => s3.folder(),
        }
    }

    fn flag(&self) -> String {
        match self {
            Self::Folder(path) => format!("--artifact-store=file://{}", path.display()),
            Self::Bucket(s3) => format!("--artifact-store={}", s3.url()),
        }
    }

    fn environment(&self) -> Vec<(&'static str, String)> {
        match self {
            Self::Folder(_) => Vec::new(),
            Self::Bucket(s3) => s3.environment(),
        }
    }

    pub async fn server(&self, place: &Place, flags: &[&str]) -> Server {
        let mut all = flags.to_vec();
        let flag = self.flag();
        all.push(&flag);
        if !flags.iter().any(|flag| flag.starts_with(INLINE)) {
            // The smallest file goes there.
            all.push("--artifact-inline-max=0");
        }
        Server::start_with(&place.url(), &all, &self.environment()).await
    }

    /// Runs `sessiond verify --artifacts`.
    pub async fn verify(&self, place: &Place) -> (ExitStatus, String) {
        let args = ["verify", "--artifacts", &self.flag()];
        let mut process = spawn_with(&place.url(), &args, &self.environment());
        (process.wait().await, process.log())
    }

    pub fn objects(&self) -> Vec<PathBuf> {
        files_in(&self.path()).into_iter().filter(|path| !path.to_string_lossy().contains("/.")).collect()
    }

    pub async fn until_objects(&self, count: usize) {
        let waited = tokio::time::timeout(PATIENCE, async {
            while self.objects().len() != count {
                sleep(Duration::from_millis(20)).await;
            }
        });
        waited.await.unwrap_or_else(|_| panic!("never {count} objects, but {:?}", self.objects()));
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        if let Self::Folder(path) = self {
            let _ = fs::remove_dir_all(path);
        }
    }
}

pub fn pattern(size: usize) -> Vec<u8> {
    (0..size).map(|n| (n % 251) as u8 ^ (n >> 16) as u8).collect()
}

async fn save(api: &Client, name: &str, bytes: &[u8]) -> Answer {
    api.put(format!("{FILES}/{name}?event=none")).body("a/b", bytes.to_vec()).await
}

async fn read(api: &Client, name: &str) -> Vec<u8> {
    api.get(format!("{FILES}/{name}")).await.expect(200).bytes().to_vec()
}

/// A template of an artifact.
async fn render(api: &Client) -> Answer {
    api.post(format!("{ONE}/render")).json(json!({"template": "{artifact.note}"})).await
}

/// That the store is what fails, in words that name neither the bucket nor what it wrote.
fn is_unavailable(answer: &Answer) {
    answer.clone().problem(503, "storage_unavailable");
    let text = answer.text();
    assert!(text.contains("artifact store") && !text.contains("bucket") && !text.contains("wrote"), "{text}");
    assert!(answer.header("retry-after").is_some());
}

/// Nothing that needs no bytes of a store notices anything.
async fn the_rest_is_served(api: &Client) {
    api.get("/readyz").await.expect(200);
    api.post(EVENTS).json(json!({"author": "a", "actions": {"stateDelta": {"k": 1}}})).await.expect(201);
    api.get(ONE).await.expect(200);
    api.get(FILES).await.expect(200);
    let by_address = json!({"name": "address", "part": {"fileData": {"fileUri": "x://y"}}});
    api.post(FILES).json(by_address).await.expect(201);
}

/// Waits until no blob is without a version. Its row goes after its object.
pub async fn until_swept(place: &Place) {
    let swept = tokio::time::timeout(PATIENCE, async {
        while place.number("select count(*) from blobs where versions < 1").await > 0 {
            sleep(Duration::from_millis(20)).await;
        }
    });
    swept.await.expect("a sweep");
}

/// What the sweep has put off is due.
pub async fn due(place: &Place) {
    place.execute("update blobs set loose_since = 0 where versions < 1").await;
}

/// As [`until_swept`], but also what a sweep that still meets the failure puts off meanwhile.
async fn until_due_is_swept(place: &Place) {
    let swept = tokio::time::timeout(PATIENCE, async {
        while place.number("select count(*) from blobs where versions < 1").await > 0 {
            due(place).await;
            sleep(Duration::from_millis(100)).await;
        }
    });
    swept.await.expect("a sweep");
}

async fn bytes_are_in_a_folder(place: Place) {
    bytes_are_in(Store::folder(), place).await;
}

async fn bytes_are_in_a_bucket(place: Place) {
    bytes_are_in(Store::Bucket(S3::start().await), place).await;
}

/// What a store that is gone does not matter to.
async fn small_files_stay_in_the_database(place: Place) {
    let store = Store::folder();
    let server = store.server(&place, &["--artifact-inline-max=10"]).await;
    server.create("{}").await;
    for (name, size) in [("empty", 0), ("small", 10), ("large", 11)] {
        save(&server, name, &pattern(size)).await.expect(201);
    }
    assert_eq!(store.objects().len(), 1);
    let (status, log) = store.verify(&place).await;
    assert!(status.success(), "{log}");
    fs::remove_dir_all(store.path()).expect("the folder");
    for (name, size) in [("empty", 0), ("small", 10)] {
        assert_eq!(read(&server, name).await, pattern(size));
    }
    is_unavailable(&server.get(format!("{FILES}/large")).await);
    save(&server, "small", &pattern(9)).await.expect(201);
}

async fn bytes_are_in(store: Store, place: Place) {
    let server = store.server(&place, &["--sweep-interval=100ms"]).await;
    server.create("{}").await;
    let sizes = [0, 1, PART, PART + 1, UPLOAD - 1, UPLOAD, UPLOAD + 1, 2 * UPLOAD, 13_000_000];
    for size in sizes {
        let bytes = pattern(size);
        let name = format!("f{size}");
        assert_eq!(save(&server, &name, &bytes).await.expect(201).json()["size"], size);
        assert!(read(&server, &name).await == bytes, "{size}");
        for (from, to) in [(0, 1), (size / 3, size / 2), (size.saturating_sub(10), size)] {
            if from < to && to <= size {
                let range = format!("bytes={from}-{}", to - 1);
                let part = server.get(format!("{FILES}/{name}")).header("range", range).await.expect(206);
                assert!(part.bytes() == &bytes[from..to], "{from}..{to} of {size}");
            }
        }
    }
    assert_eq!(place.number("select count(*) from blob_chunks").await, 0);
    let objects = store.objects();
    assert_eq!(objects.len(), sizes.len());
    for object in &objects {
        let name = object.strip_prefix(store.path()).expect("within").to_string_lossy().into_owned();
        // The database's own folder, a shelf, and a name; none is of a person or an app.
        let lengths: Vec<usize> = name.split('/').map(str::len).collect();
        assert_eq!(lengths, [32, 2, 32], "{name}");
        assert!(name.bytes().all(|byte| byte.is_ascii_hexdigit() || byte == b'/'), "{name}");
    }
    let (status, log) = store.verify(&place).await;
    assert_eq!(status.code(), Some(0), "{log}");
    assert!(log.contains(&format!("artifacts={} differences=0", sizes.len())), "{log}");

    server.delete(format!("{FILES}/f1")).await.expect(204);
    store.until_objects(sizes.len() - 1).await;
    // Several savers of one name.
    let bytes = pattern(UPLOAD + 17);
    let saves = join_all((0..8).map(|_| save(&server, "together", &bytes))).await;
    let mut versions: Vec<Value> = saves.into_iter().map(|saved| saved.expect(201).json()["version"].clone()).collect();
    versions.sort_by_key(Value::as_i64);
    assert_eq!(versions, (0..8).map(Value::from).collect::<Vec<_>>());
    store.until_objects(sizes.len() + 7).await;
    let text = "text ".repeat(PART / 4);
    server.put(format!("{FILES}/note")).body("text/plain", text.clone()).await.expect(201);
    let rendered = render(&server).await.expect(200).json();
    assert!(rendered["text"].as_str() == Some(&text));
    server.delete(ONE).await.expect(204);
    store.until_objects(0).await;
    until_swept(&place).await;
    assert_eq!(place.number("select count(*) from blobs").await, 0);
    if let Store::Bucket(s3) = &store {
        assert_eq!(s3.unfinished(), 0);
    }
}

async fn a_bucket_that_fails_costs_bytes_alone(place: Place) {
    let store = Store::Bucket(S3::start().await);
    let Store::Bucket(s3) = &store else { return };
    let server = store.server(&place, &[HASTY, "--sweep-interval=100ms"]).await;
    server.create("{}").await;
    let large = pattern(2 * UPLOAD + 1);
    save(&server, "large", &large).await.expect(201);
    server.put(format!("{FILES}/note?event=none")).body("text/plain", "text").await.expect(201);
    let modes =
        [Mode::Answers(503), Mode::Answers(500), Mode::Answers(403), Mode::Answers(301), Mode::Hangs, Mode::Gone];
    for mode in modes {
        s3.set(mode);
        for answer in [save(&server, "new", b"abc").await, save(&server, "new", &large).await] {
            is_unavailable(&answer);
            assert_eq!(answer.outcome_of_503(), "not_applied", "{mode:?}");
        }
        is_unavailable(&server.get(format!("{FILES}/large")).await);
        is_unavailable(&server.get(format!("{FILES}/large?as=part")).await);
        is_unavailable(&server.get("/apps/app/users/user/sessions/s/artifacts/large").await);
        is_unavailable(&render(&server).await);
        // What the database knows is told.
        server.head(format!("{FILES}/large")).await.expect(200);
        the_rest_is_served(&server).await;
    }
    // Half of the object comes, and then nothing: the answer is cut, and is never taken for the whole.
    s3.set(Mode::Stalls);
    server.get(format!("{FILES}/large")).send().await.expect_err("half an object");
    the_rest_is_served(&server).await;

    s3.set(Mode::Serves);
    server.get(format!("{FILES}/new")).await.problem(404, "artifact_not_found");
    assert!(read(&server, "large").await == large);
    assert_eq!(render(&server).await.expect(200).json(), json!({"text": "text"}));
    // What passes soon is not noticed.
    for _ in 0..3 {
        s3.set(Mode::Stumbles(2));
        save(&server, "stumbled", &large).await.expect(201);
        s3.set(Mode::Stumbles(2));
        assert!(read(&server, "stumbled").await == large);
    }
    // What is removed meanwhile is removed at once for clients, and in the bucket once that is back.
    s3.set(Mode::Gone);
    server.delete(format!("{FILES}/large")).await.expect(204);
    server.get(format!("{FILES}/large")).await.problem(404, "artifact_not_found");
    log_says(&server.process, "objects were not removed from an artifact store").await;
    s3.set(Mode::Serves);
    until_due_is_swept(&place).await;
    assert_eq!(store.objects().len(), 4);
    assert_eq!(s3.unfinished(), 0);
    let (status, log) = store.verify(&place).await;
    assert_eq!(status.code(), Some(0), "{log}");

    // Without the bucket nothing is known of any object: none counts as removed, or as lost.
    s3.set(Mode::NoBucket);
    is_unavailable(&server.get(format!("{FILES}/stumbled")).await);
    let blobs = place.number("select count(*) from blobs where versions > 0").await;
    server.delete(format!("{FILES}/stumbled?version=0")).await.expect(204);
    due(&place).await;
    the_rest_is_served(&server).await;
    sleep(Duration::from_millis(500)).await;
    assert_eq!(place.number("select count(*) from blobs where versions <> 0").await, blobs);
    let (status, log) = store.verify(&place).await;
    assert_eq!(status.code(), Some(1), "{log}");
    assert!(log.contains("NoSuchBucket"), "{log}");
    assert!(!server.process.log().contains("what the store wrote"));
}

async fn what_a_crash_leaves_in_a_folder_goes(place: Place) {
    what_a_crash_leaves_goes(Store::folder(), place).await;
}

async fn what_a_crash_leaves_in_a_bucket_goes(place: Place) {
    what_a_crash_leaves_goes(Store::Bucket(S3::start().await), place).await;
}

/// A process is killed while uploads come in, at several stages.
async fn what_a_crash_leaves_goes(store: Store, place: Place) {
    let mut server = store.server(&place, &[]).await;
    server.create("{}").await;
    save(&server, "before", b"abc").await.expect(201);
    let whole = pattern(4 * UPLOAD);
    let mut streams = Vec::new();
    for sent in [0, 1, PART, PART + 1, UPLOAD + PART, 2 * UPLOAD + 1, 4 * UPLOAD - 1] {
        let mut stream = TcpStream::connect(server.address()).await.expect("connect");
        let head = format!("PUT {FILES}/cut HTTP/1.1\r\nhost: localhost\r\ncontent-length: {}\r\n\r\n", whole.len());
        stream.write_all(head.as_bytes()).await.expect("send");
        stream.write_all(&whole[..sent]).await.expect("send");
        streams.push(stream);
    }
    // Until the three long ones have begun an upload, or all that have more than a part a file.
    let begun = async || match &store {
        Store::Bucket(s3) => s3.unfinished() >= 3,
        Store::Folder(_) => store.objects().len() >= 5,
    };
    let waited = tokio::time::timeout(PATIENCE, async {
        while !begun().await || place.number("select count(*) from blobs where versions = 0").await < 4 {
            sleep(Duration::from_millis(20)).await;
        }
    });
    waited.await.expect("uploads begin");
    server.process.kill_9();
    server.process.wait().await;
    drop(streams);
    due(&place).await;

    let server = store.server(&place, &["--sweep-interval=100ms"]).await;
    server.get(format!("{FILES}/cut")).await.problem(404, "artifact_not_found");
    until_swept(&place).await;
    store.until_objects(1).await;
    if let Store::Bucket(s3) = &store {
        assert_eq!(s3.unfinished(), 0);
    }
    assert_eq!(read(&server, "before").await, b"abc");
    assert_eq!(save(&server, "cut", &whole).await.expect(201).json()["version"], 0);
    let (status, log) = store.verify(&place).await;
    assert_eq!(status.code(), Some(0), "{log}");
}

async fn an_erasure_waits_for_the_objects(place: Place) {
    let store = Store::Bucket(S3::start().await);
    let Store::Bucket(s3) = &store else { return };
    let server = store.server(&place, &[HASTY, "--sweep-interval=100ms"]).await;
    server.create("{}").await;
    for name in ["a", "b", "user%3Ac"] {
        save(&server, name, &pattern(UPLOAD + 1)).await.expect(201);
    }
    s3.set(Mode::Gone);
    let erased = server.post("/v1/apps/app/users/user/erasure").json(json!({})).await.expect(202);
    let path = erased.header("location").expect("a location").to_owned();
    log_says(&server.process, "objects were not removed from an artifact store").await;
    until("it says what it waits for", async || {
        let erasure = server.get(&path).await.expect(200).json();
        assert_ne!(erasure["state"], "done");
        erasure["reason"].as_str().is_some_and(|reason| reason.contains("an artifact store does not remove"))
    })
    .await;
    server.get(format!("{FILES}/a")).await.problem(404, "session_not_found");
    s3.set(Mode::Serves);
    let done = tokio::time::timeout(PATIENCE, async {
        loop {
            due(&place).await;
            let erasure = server.get(&path).await.expect(200).json();
            if erasure["state"] == "done" {
                return erasure;
            }
            sleep(Duration::from_millis(50)).await;
        }
    });
    let done = done.await.expect("it is done");
    assert_eq!(done["counts"]["artifacts"], 3);
    assert!(done.get("reason").is_none(), "{done}");
    assert_eq!(store.objects(), Vec::<PathBuf>::new());
}

async fn nothing_is_left_of_erased_files(place: Place) {
    let store = Store::folder();
    let metrics_port = free_port();
    let listen = format!("--metrics-listen=127.0.0.1:{metrics_port}");
    let server = store.server(&place, &["--sweep-interval=100ms", &listen]).await;
    let metrics = Client::at(&format!("http://127.0.0.1:{metrics_port}")).unchecked();
    server.create(r#"{"state":{"app:k":"app-value"}}"#).await;
    fill_files(&server, FILES).await;
    // One that is cut, whose object is there already.
    let mut cut = TcpStream::connect(server.address()).await.expect("connect");
    let head = format!("PUT {FILES}/{CANARY}cut HTTP/1.1\r\nhost: localhost\r\ncontent-length: {UPLOAD}\r\n\r\n");
    cut.write_all(head.as_bytes()).await.expect("send");
    cut.write_all(CANARY.repeat(UPLOAD / CANARY.len() / 2).as_bytes()).await.expect("send");
    store.until_objects(4).await;
    let objects = store.objects();
    assert!(objects.iter().all(|object| !object.to_string_lossy().contains(CANARY)));
    assert!(objects.iter().all(|object| finds(&fs::read(object).expect("read an object"), CANARY)));
    assert!(has_canary(&place).await);

    let erased = server.post("/v1/apps/app/users/user/erasure").json(json!({})).await.expect(202);
    drop(cut);
    let erasure = done(&server, &erased).await;
    assert_eq!(erasure["counts"]["artifacts"], 4);
    store.until_objects(0).await;
    until_swept(&place).await;
    let measured = metrics.get("/metrics").await.expect(200).text().to_owned();
    let log = server.process.log();
    stopped(server).await;
    assert!(!has_canary(&place).await);
    for (what, text) in [("metrics", &measured), ("log", &log), ("receipt", &erasure.to_string())] {
        assert!(!text.contains(CANARY), "{what}: {text}");
    }
    assert_eq!(store.objects(), Vec::<PathBuf>::new());
    for line in
        ["sessiond_artifact_saves_total{outcome=\"saved\"} 4", "sessiond_artifact_saves_total{outcome=\"cut\"} 1"]
    {
        assert!(measured.lines().any(|found| found == line), "no {line} in {measured}");
    }
}

/// Makes a file as old as a stray must be.
fn age(path: &Path) {
    let old = SystemTime::now() - Duration::from_secs(25 * 3600);
    File::options().write(true).open(path).and_then(|file| file.set_modified(old)).expect("set its time");
}

async fn objects_of_nobody_go(place: Place) {
    let store = Store::folder();
    let server = store.server(&place, &["--sweep-interval=10ms"]).await;
    server.create("{}").await;
    save(&server, "kept", b"abc").await.expect(201);
    let kept = store.objects().pop().expect("an object");
    age(&kept);
    let own = kept.ancestors().nth(2).expect("the database's own folder").to_owned();
    let other = store.path().join("0123456789abcdef0123456789abcdef/00");
    fs::create_dir_all(&other).expect("create a folder");
    let stray = |folder: &Path, name: &str, is_old: bool| {
        let path = folder.join(name);
        fs::create_dir_all(folder).expect("create a folder");
        fs::write(&path, "stray").expect("write a file");
        if is_old {
            age(&path);
        }
        path
    };
    let mut stays = vec![kept, stray(&other, "another-databases", true)];
    stays.push(stray(&own.join("00"), "what-is-being-saved", false));
    for shelf in 0..256 {
        stray(&own.join(format!("{shelf:02x}")), "old", true);
    }
    store.until_objects(stays.len()).await;
    assert!(stays.iter().all(|path| path.exists()));
    assert_eq!(read(&server, "kept").await, b"abc");
}

async fn a_store_is_changed(place: Place) {
    let (folder, bucket) = (Store::folder(), Store::Bucket(S3::start().await));
    let start = async |flags: &[&str]| {
        let all = [flags, &["--artifact-inline-max=0"]].concat();
        Server::start_with(&place.url(), &all, &bucket.environment()).await
    };
    let (in_folder, in_bucket) = (folder.flag(), bucket.flag());
    let server = start(&[]).await;
    server.create("{}").await;
    save(&server, "1", b"in the database").await.expect(201);
    drop(server);
    let server = start(&[&in_folder]).await;
    save(&server, "2", b"in the folder").await.expect(201);
    drop(server);
    let server = start(&[&format!("{in_bucket},{}", in_folder.trim_start_matches("--artifact-store="))]).await;
    save(&server, "3", b"in the bucket").await.expect(201);
    for (name, bytes) in [("1", "in the database"), ("2", "in the folder"), ("3", "in the bucket")] {
        assert_eq!(read(&server, name).await, bytes.as_bytes());
    }
    assert_eq!((folder.objects().len(), bucket.objects().len()), (1, 1));
    drop(server);

    // Without their stores, bytes are unavailable, and nothing else.
    let server = start(&["--artifact-store=database", &in_folder]).await;
    save(&server, "4", b"in the database").await.expect(201);
    for (name, bytes) in [("1", "in the database"), ("2", "in the folder"), ("4", "in the database")] {
        assert_eq!(read(&server, name).await, bytes.as_bytes());
    }
    let lacking = server.get(format!("{FILES}/3")).await;
    is_unavailable(&lacking);
    assert!(lacking.text().contains("not configured"), "{}", lacking.text());
    the_rest_is_served(&server).await;
    server.delete(format!("{FILES}/3")).await.expect(204);
    log_says(&server.process, "not configured").await;
    assert_eq!(bucket.objects().len(), 1);
    drop(server);
    due(&place).await;
    let server = start(&["--sweep-interval=100ms", &in_bucket]).await;
    bucket.until_objects(0).await;
    is_unavailable(&server.get(format!("{FILES}/2")).await);
}

async fn lost_and_damaged_objects_are_named(place: Place) {
    let store = Store::folder();
    let server = store.server(&place, &[]).await;
    server.create("{}").await;
    let of = async |name: &str, bytes: &[u8]| {
        let before = store.objects();
        save(&server, name, bytes).await.expect(201);
        store.objects().into_iter().find(|object| !before.contains(object)).expect("its object")
    };
    let (lost, cut, damaged) = (of("lo%2Fst", b"abc").await, of("cut", b"abcdef").await, of("damaged", b"abc").await);
    of("fine", b"abc").await;
    fs::remove_file(lost).expect("remove it");
    fs::write(cut, "abcde").expect("cut it");
    fs::write(damaged, "abd").expect("damage it");
    let answer = server.get(format!("{FILES}/lo%2Fst")).await;
    is_unavailable(&answer);
    assert!(answer.text().contains("lost"), "{}", answer.text());
    is_unavailable(&server.get(format!("{FILES}/cut")).await);
    assert_eq!(read(&server, "fine").await, b"abc");
    let (status, log) = store.verify(&place).await;
    assert_eq!(status.code(), Some(1), "{log}");
    for line in [
        "session app/user/s: artifact lo%2Fst version 0: the artifact store has lost these bytes",
        "session app/user/s: artifact cut version 0: the artifact store has lost these bytes",
        "session app/user/s: artifact damaged version 0: the bytes have another digest",
    ] {
        assert!(log.lines().any(|found| found == line), "no {line:?} in {log}");
    }
    assert!(log.contains("artifacts=4 differences=3"), "{log}");
    // A lost object can be removed as any other.
    server.delete(format!("{FILES}/lo%2Fst")).await.expect(204);
    server.get(format!("{S}/s/artifacts/lo%2Fst")).await.problem(404, "artifact_not_found");
}

/// A store that cannot be is refused at start; one that is gone is not.
#[tokio::test]
async fn settings_are_checked_at_start() {
    let place = Place::sqlite();
    for (setting, says) in [
        ("s3:///prefix", "must name a bucket"),
        ("https://bucket", "must be `database`"),
        ("s3://user:password@bucket", "must not have credentials"),
        ("file://folder", "absolute path"),
        // Not even root may write there.
        ("file:///sys", "cannot be written"),
        ("az://container", "Account"),
    ] {
        let mut process = spawn_with(&place.url(), &[&format!("--artifact-store={setting}")], &[]);
        let status = process.wait().await;
        let log = process.log();
        assert!(!status.success() && log.contains(says) && log.contains("--artifact-store"), "{setting}: {log}");
    }
    let environment = [("AWS_ALLOW_INVALID_CERTIFICATES", "true".to_owned())];
    let mut process = spawn_with(&place.url(), &["--artifact-store=s3://bucket"], &environment);
    assert!(!process.wait().await.success());
    assert!(process.log().contains("certificates are always verified"), "{}", process.log());
    let server = Server::start_with(&place.url(), &["--artifact-store=file:///nowhere/at/all"], &[]).await;
    server.get("/readyz").await.expect(200);
    log_says(&server.process, "an artifact store").await;
}

async fn exports_and_imports_go_from_store_to_store(place: Place) {
    const NDJSON: &str = "application/x-ndjson";
    let (from, to) = (Store::folder(), Store::Bucket(S3::start().await));
    let server = from.server(&place, &[]).await;
    server.create("{}").await;
    let sizes = [0, 10, PART + 1, UPLOAD + 1];
    for size in sizes {
        save(&server, &format!("f{size}"), &pattern(size)).await.expect(201);
    }
    let export = server.get("/v1/apps/app/export").await.expect(200).text().to_owned();
    let target = Place::sqlite();
    let other = to.server(&target, &["--sweep-interval=100ms"]).await;
    // Cut within the last of them: nothing is there, and nothing stays.
    let cut: String = export.split_inclusive('\n').take(export.lines().count() - 3).collect();
    let answer = other.post("/v1/import").body(NDJSON, cut).await.expect(200);
    assert!(answer.text().contains("\"failed\""), "{answer}");
    to.until_objects(0).await;
    until_swept(&target).await;
    let answer = other.post("/v1/import").body(NDJSON, export.clone()).await.expect(200);
    assert!(answer.text().contains("\"created\""), "{answer}");
    for size in sizes {
        assert!(read(&other, &format!("f{size}")).await == pattern(size), "{size}");
    }
    assert_eq!((to.objects().len(), target.number("select count(*) from blob_chunks").await), (sizes.len(), 0));
    let (status, log) = to.verify(&target).await;
    assert_eq!(status.code(), Some(0), "{log}");
    assert!(log.contains(&format!("artifacts={} differences=0", sizes.len())), "{log}");
    // What is exported there is the same.
    let back = other.get("/v1/apps/app/export").await.expect(200).text().to_owned();
    assert_eq!(back.split_once('\n').expect("lines").1, export.split_once('\n').expect("lines").1);
    // An export without bytes that are lost is no export, but for one without artifacts.
    let large = from.objects().into_iter().max_by_key(|path| fs::metadata(path).expect("a file").len());
    fs::remove_file(large.expect("an object")).expect("lose it");
    assert!(server.get("/v1/apps/app/export").send().await.is_err());
    server.get("/v1/apps/app/export?artifacts=none").await.expect(200);
}
