//! `sessiond backup`: a copy of a SQLite file that holds what was acknowledged, or no copy.

use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::{PermissionsExt as _, symlink},
    path::{Path, PathBuf},
    time::Duration,
};

use serde_json::{Value, json};
use sqlx::{Connection as _, Executor as _, SqliteConnection};

use crate::contract::erasure::{CANARY, done, fill, finds, stopped};
use crate::support::{
    binary::{PATIENT, Server, ended, spawn_with},
    client::{Client, ONE, PATIENCE, S},
    databases::{Place, verify},
    disk::{self, FaultyDisk},
    load::{self, Load},
    process::Sessiond,
};

/// The name of what is not whole.
const PART: &str = "sessiond-backup.part";
const LEFT: &str = "sessiond-backup.part-journal";

fn dir_of(place: &Place) -> PathBuf {
    let Place::Sqlite(dir) = place else { panic!("it is SQLite") };
    fs::canonicalize(dir).unwrap()
}

fn url(file: &Path) -> String {
    format!("sqlite://{}", file.display())
}

/// Every file of a folder, byte for byte.
fn contents(dir: &Path) -> BTreeMap<String, Vec<u8>> {
    let files = fs::read_dir(dir).unwrap().map(|entry| entry.unwrap()).filter(|entry| entry.path().is_file());
    files.map(|file| (file.file_name().into_string().unwrap(), fs::read(file.path()).unwrap())).collect()
}

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap().permissions().mode() & 0o7777
}

/// A backup that succeeds; what it wrote.
async fn backed_up(place: &Place, file: &Path, more: &[&str]) -> String {
    let (status, log) = ended(&place.url(), &[&["backup", file.to_str().unwrap()], more].concat()).await;
    assert!(status.success(), "{log}");
    log
}

/// One that does not; why.
async fn refused(place: &Place, file: impl AsRef<Path>, more: &[&str], says: &str) -> String {
    let file = file.as_ref().to_str().unwrap();
    let (status, log) = ended(&place.url(), &[&["backup", file], more].concat()).await;
    assert_eq!(status.code(), Some(1), "{file}: {log}");
    assert!(log.contains("error: ") && log.contains(says), "{file}: {log}");
    log
}

/// One that has begun to write, and waits until the disk works.
async fn stuck(place: &Place, file: &Path, disk: &FaultyDisk, more: &[&str]) -> Sessiond {
    disk.fail(disk::STUCK);
    let args = [&["backup", file.to_str().unwrap()], more].concat();
    let process = spawn_with(&place.url(), &args, &disk.envs());
    let part = file.with_file_name(PART);
    let begun = async {
        while !fs::metadata(&part).is_ok_and(|part| part.len() > 0) {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(PATIENCE, begun).await.unwrap_or_else(|_| panic!("it writes nothing: {}", process.log()));
    process
}

/// The events of the sessions of a [`Load`], in order.
async fn logs(api: &Client) -> Vec<Vec<Value>> {
    let mut logs = Vec::new();
    for session in load::sessions() {
        let session = api.get(session).await.expect(200).json();
        load::check_log(&session);
        logs.push(session["events"].as_array().unwrap().clone());
    }
    logs
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backup_is_one_moment_between_the_writes() {
    let (place, disk) = (Place::sqlite(), FaultyDisk::of(PART));
    let file = dir_of(&place).join("backup.db");
    let server = Server::start(&place.url(), PATIENT).await;
    load::create_sessions(&server).await;
    let load = Load::start(&server, "load");
    load.succeeds(200).await;
    let before = logs(&server).await;
    let mut backup = stuck(&place, &file, &disk, &["--verify"]).await;
    // Nobody waits for it, however long it takes.
    load.succeeds(200).await;
    assert!(!file.exists());
    assert_eq!(mode(&file.with_file_name(PART)), 0o600);
    disk.work();
    assert!(backup.wait().await.success(), "{}", backup.log());
    assert!(
        backup.log().contains("differences=0") && backup.log().contains(file.to_str().unwrap()),
        "{}",
        backup.log()
    );
    load.succeeds(20).await;
    load.stop().await;
    let after = logs(&server).await;
    stopped(server).await;

    assert_eq!(mode(&file), 0o600);
    assert!(!file.with_file_name(PART).exists() && !file.with_file_name(LEFT).exists());
    verify(&url(&file)).await;
    let server = Server::start(&url(&file), &[]).await;
    let copied = logs(&server).await;
    let count = |logs: &[Vec<Value>]| logs.iter().map(Vec::len).sum::<usize>();
    assert!(count(&copied) + 200 <= count(&after), "what came later is not in it");
    for ((before, copied), after) in before.iter().zip(&copied).zip(&after) {
        assert!(copied.starts_with(before), "all that was acknowledged before it is in it");
        assert!(after.starts_with(copied), "and what is in it is the beginning of what there is");
    }
    let session = load::sessions().next().unwrap();
    server.post(format!("{session}/events")).json(json!({"author": "a"})).await.expect(201);
    stopped(server).await;
    verify(&url(&file)).await;
    place.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backup_that_is_killed_leaves_nothing_that_looks_like_one() {
    let (place, disk) = (Place::sqlite(), FaultyDisk::of(PART));
    let dir = dir_of(&place).join("backups");
    fs::create_dir(&dir).unwrap();
    let (first, second) = (dir.join("first.db"), dir.join("second.db"));
    let server = Server::start(&place.url(), &[]).await;
    server.post(S).json(json!({"sessionId": "s"})).await.expect(201);
    let mut backup = stuck(&place, &first, &disk, &[]).await;
    let names = |dir: &Path| contents(dir).into_keys().collect::<Vec<_>>();
    assert_eq!(names(&dir), [PART, LEFT]);
    refused(&place, &second, &[], "another backup is being written").await;
    assert_eq!(names(&dir), [PART, LEFT]);
    backup.kill_9();
    backup.wait().await;
    assert_eq!(names(&dir), [PART, LEFT], "it had no time to remove anything");
    // And the one after it is not the worse for what it left.
    backed_up(&place, &second, &["--verify"]).await;
    assert_eq!(names(&dir), ["second.db"]);
    verify(&url(&second)).await;
    stopped(server).await;
    place.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backup_for_which_there_is_no_space_is_none() {
    let (place, disk) = (Place::sqlite(), FaultyDisk::of(PART));
    let dir = dir_of(&place);
    let server = Server::start(&place.url(), &[]).await;
    server.post(S).json(json!({"sessionId": "s"})).await.expect(201);
    for (error, says) in
        [(disk::FULL, "no space is left for the backup"), (disk::BROKEN, "cannot be copied: disk I/O error")]
    {
        disk.fail(error);
        let mut backup = spawn_with(&place.url(), &["backup", dir.join("backup.db").to_str().unwrap()], &disk.envs());
        assert_eq!(backup.wait().await.code(), Some(1), "{}", backup.log());
        assert!(backup.log().contains(says), "{}", backup.log());
        let names: Vec<_> = contents(&dir).into_keys().filter(|name| !name.starts_with("data.db")).collect();
        assert!(names.is_empty(), "{names:?}");
    }
    server.get(ONE).await.expect(200);
    stopped(server).await;
    place.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn no_file_is_overwritten() {
    let place = Place::sqlite();
    let dir = dir_of(&place);
    let server = Server::start(&place.url(), &[]).await;
    server.post(S).json(json!({"sessionId": "s"})).await.expect(201);
    stopped(server).await;
    fs::write(dir.join("old.db"), "an earlier backup").unwrap();
    fs::create_dir(dir.join("folder")).unwrap();
    symlink("nowhere", dir.join("link.db")).unwrap();
    symlink(&dir, dir.join("folder/back")).unwrap();
    let before = contents(&dir);
    for (file, says) in [
        ("old.db", "is there already: name another file, or remove it first"),
        ("link.db", "is there already"),
        ("folder", "is a folder: name a file in it"),
        ("data.db", "is of the database itself"),
        ("data.db-wal", "is of the database itself"),
        ("data.db-shm", "is of the database itself"),
        ("data.db-journal", "is of the database itself"),
        ("data.db.lock", "is of the database itself"),
        ("folder/../data.db", "is of the database itself"),
        ("folder/back/data.db-wal", "is of the database itself"),
        (PART, "of a backup under way"),
        ("missing/backup.db", "missing: No such file"),
        ("old.db/backup.db", "Not a directory"),
        ("folder/..", "names no file"),
        ("/proc/backup.db", "cannot make /proc/"),
    ] {
        refused(&place, dir.join(file), &[], says).await;
    }
    assert_eq!(contents(&dir), before);
    // In the folder where it runs, of which nothing is said.
    let mut backup = Sessiond::spawn(&["backup", "here.db"], &[("DATABASE_URL", &*place.url())]);
    assert!(backup.wait().await.success(), "{}", backup.log());
    assert!(backup.log().ends_with("\nhere.db\n"), "{}", backup.log());
    verify(&url(&backup.dir().join("here.db"))).await;
    place.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_no_database_of_a_file_has_no_backup() {
    let place = Place::sqlite();
    let dir = dir_of(&place);
    let file = dir.join("backup.db");
    let none = async |url: &str, says: &str| {
        let before = contents(&dir);
        let (status, log) = ended(url, &["backup", file.to_str().unwrap()]).await;
        assert_eq!(status.code(), Some(2), "{log}");
        assert!(log.contains(says), "{log}");
        assert_eq!(contents(&dir), before, "{url}");
    };
    none(&place.url(), "there is no file").await;
    // Nobody is asked.
    none("postgres://nobody@127.0.0.1:1/sessiond", "by pg_dump").await;
    none("postgres://nobody@127.0.0.1:1/sessiond", "docs/operate.md#backup").await;
    fs::write(dir.join("data.db"), "no database, but long enough to be taken for one".repeat(100)).unwrap();
    none(&place.url(), "not a database").await;
    fs::write(dir.join("data.db"), "").unwrap();
    none(&place.url(), "run `sessiond migrate`").await;
    let mut other = SqliteConnection::connect(&place.url()).await.unwrap();
    other.execute("create table notes (id)").await.unwrap();
    other.close().await.unwrap();
    none(&place.url(), "is another program's").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_verified_backup_is_right_or_is_named_otherwise() {
    let damages = [
        ("delete from events where sequence = 2", "session app/user/s: event 2 is missing"),
        // A row that breaks a rule of the table, which is nothing that sessiond compares.
        (
            "pragma writable_schema = on; \
             update sqlite_schema set sql = replace(sql, 'display_name          text,', 'display_name text not null,') \
             where name = 'sessions'",
            "pages: NULL value in sessions.display_name",
        ),
    ];
    for (damage, says) in damages {
        let place = Place::sqlite();
        let dir = dir_of(&place);
        let server = Server::start(&place.url(), &[]).await;
        server.post(S).json(json!({"sessionId": "s"})).await.expect(201);
        for n in 0..3 {
            let event = json!({"author": "a", "actions": {"stateDelta": {"k": format!("hunter2-{n}")}}});
            server.post(format!("{ONE}/events")).json(event).await.expect(201);
        }
        stopped(server).await;
        let log = backed_up(&place, &dir.join("right.db"), &["--verify"]).await;
        assert!(log.contains("verified sessions=1 events=3") && log.contains("differences=0"), "{log}");
        place.execute(damage).await;
        // The copy is kept, each time, and is no backup.
        for more in ["", "-2"] {
            let log = refused(&place, dir.join("wrong.db"), &["--verify"], says).await;
            assert!(
                log.contains("verified sessions=1") && log.contains("wrong") && log.contains("-differs.db"),
                "{log}"
            );
            assert!(!log.contains("hunter2"), "a value is in {log}");
            let differs =
                contents(&dir).into_keys().filter(|name| name.starts_with("wrong-") && name.ends_with("-differs.db"));
            assert_eq!(differs.count(), if more.is_empty() { 1 } else { 2 });
        }
        assert!(dir.join("wrong-differs.db").exists() && mode(&dir.join("wrong-differs.db")) == 0o600);
        for name in ["wrong.db", PART, LEFT] {
            assert!(!dir.join(name).exists(), "{name}");
        }
        // Those that were right stay, whatever comes later; of those that are not, as many as of these.
        let nightly = dir.join("nightly");
        fs::create_dir(&nightly).unwrap();
        let earlier =
            ["data-20200101T000000Z.db", "data-20210101T000000Z-differs.db", "data-20220101T000000Z-differs.db"];
        for name in earlier {
            fs::write(nightly.join(name), name).unwrap();
        }
        refused(&place, &nightly, &["--verify", "--keep", "2"], says).await;
        let names: Vec<_> = contents(&nightly).into_keys().collect();
        assert_eq!((names.len(), &*names[0], &*names[1]), (3, earlier[0], earlier[2]), "{names:?}");
        assert!(names[2].ends_with("Z-differs.db"), "{names:?}");
        // Whoever does not ask gets what there is.
        backed_up(&place, &dir.join("wrong.db"), &[]).await;
        assert!(dir.join("wrong.db").exists());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn no_page_of_a_backup_holds_what_was_erased() {
    let place = Place::sqlite();
    let dir = dir_of(&place);
    let server = Server::start(&place.url(), &[]).await;
    fill(&server, "user").await;
    server.post("/v1/apps/app/users/stays/sessions").json(json!({"sessionId": "s"})).await.expect(201);
    backed_up(&place, &dir.join("before.db"), &[]).await;
    assert!(finds(&fs::read(dir.join("before.db")).unwrap(), CANARY));
    done(&server, &server.post("/v1/apps/app/users/user/erasure").json(json!({})).await.expect(202)).await;
    // Pages of the original that are free, and were not overwritten.
    let free = format!(
        "pragma secure_delete = off; create table free (x); \
         insert into free select '{CANARY}' || hex(randomblob(2000)) from pragma_function_list limit 100; drop table free"
    );
    place.execute(free).await;
    backed_up(&place, &dir.join("after.db"), &["--verify"]).await;
    stopped(server).await;
    assert!(finds(&fs::read(dir.join("data.db")).unwrap(), CANARY), "the original holds it");
    let after = fs::read(dir.join("after.db")).unwrap();
    assert!(finds(&after, "stays") && !finds(&after, CANARY));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_restored_backup_and_the_ledger_bring_nobody_back() {
    let place = Place::sqlite();
    let dir = dir_of(&place);
    let (backup, ledger) = (dir.join("backup"), dir.join("ledger"));
    let server = Server::start(&place.url(), &[]).await;
    let session = fill(&server, "user").await;
    let stays = "/v1/apps/app/users/stays/sessions";
    server.post(stays).json(json!({"sessionId": "s"})).await.expect(201);
    let shown = server.get(format!("{stays}/s")).await.expect(200);
    backed_up(&place, &backup, &[]).await;
    server.post(stays).json(json!({"sessionId": "later"})).await.expect(201);
    done(&server, &server.post("/v1/apps/app/users/user/erasure").json(json!({})).await.expect(202)).await;
    let exported = Sessiond::run(&["erasures", "export"], &[("DATABASE_URL", &*place.url())]).await;
    fs::write(&ledger, exported.stdout).unwrap();
    stopped(server).await;

    for name in contents(&dir).into_keys().filter(|name| name.starts_with("data.db")) {
        fs::remove_file(dir.join(name)).unwrap();
    }
    fs::copy(&backup, dir.join("data.db")).unwrap();
    assert!(finds(&fs::read(dir.join("data.db")).unwrap(), CANARY));
    let (status, log) = ended(&place.url(), &["erasures", "replay", ledger.to_str().unwrap()]).await;
    assert!(status.success() && log.contains("new to this database: 1, users erased again: 1"), "{log}");
    let server = Server::start(&place.url(), &[]).await;
    server.get(session).await.expect(404);
    let restored = server.get(format!("{stays}/s")).await.expect(200);
    assert_eq!((restored.text(), restored.etag()), (shown.text(), shown.etag()));
    server.get(format!("{stays}/later")).await.expect(404);
    stopped(server).await;
    assert!(!finds(&fs::read(dir.join("data.db")).unwrap(), CANARY));
    place.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_latest_backups_are_kept() {
    let place = Place::sqlite();
    let dir = dir_of(&place).join("backups");
    fs::create_dir(&dir).unwrap();
    let (status, log) = ended(&place.url(), &["migrate"]).await;
    assert!(status.success(), "{log}");
    let made = ["data-20200101T000000Z.db", "data-20210101T000000Z.db", "data-20220101T000000Z.db"];
    // Of another database, or of somebody.
    let others = [
        "data-2020.db",
        "data-20200101T0000000.db",
        "data.db",
        "other-20200101T000000Z.db",
        "data-20200101T000000Z.db.gz",
    ];
    for name in made.iter().chain(&others) {
        fs::write(dir.join(name), name).unwrap();
    }
    refused(&place, dir.join("missing"), &["--keep", "2"], "cannot write into the folder").await;
    let log = backed_up(&place, &dir, &["--keep", "2", "--verify"]).await;
    let new = PathBuf::from(log.lines().last().unwrap());
    verify(&url(&new)).await;
    let names: Vec<_> = contents(&dir).into_keys().collect();
    let new = new.file_name().unwrap().to_str().unwrap();
    let mut expected = [&others[..], &[made[2], new]].concat();
    expected.sort_unstable();
    assert_eq!(names, expected);
    let (status, log) = ended(&place.url(), &["backup", dir.to_str().unwrap(), "--keep", "0"]).await;
    assert_eq!(status.code(), Some(2), "{log}");
    place.finish().await;
}
