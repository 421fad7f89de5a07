//! Databases as releases made them (`tests/data/VERSION`), and what those releases answered of them: each later build migrates, serves and
//! verifies them, gives the same answers, and goes on from there.
//!
//! Until a version is released, `UPDATE_RELEASED=1 scripts/test released::` writes its databases and answers anew, and its list of migrations.
//! After that they never change: a new version has a folder of its own, which that command makes.

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use sqlx::{AssertSqlSafe, Connection as _, SqliteConnection};
use tokio::time::{sleep, timeout};

use crate::contract::fidelity::KEPT;
use crate::support::binary::{PATIENT, Server, ended};
use crate::support::client::{Answer, PATIENCE, Request, segment};
use crate::support::databases::{Place, on_both_databases};
use crate::support::postgres;
use crate::support::process::Sessiond;

on_both_databases!(a_released_database_is_served_as_it_was);

const UPDATE: &str = "UPDATE_RELEASED";
const THIS: &str = env!("CARGO_PKG_VERSION");

fn root() -> &'static Path {
    Path::new(crate::support::ROOT)
}

pub fn folder(version: &str) -> PathBuf {
    root().join("tests/data").join(version)
}

/// The versions that have left something.
pub fn versions() -> Vec<String> {
    let folders = fs::read_dir(root().join("tests/data")).expect("tests/data");
    folders.map(|folder| folder.expect("an entry").file_name().into_string().expect("UTF-8")).collect()
}

/// Whether this version is to be written anew, which it must not be once it is released.
pub fn updates() -> bool {
    if env::var_os(UPDATE).is_none() {
        return false;
    }
    let tag = format!("refs/tags/v{THIS}");
    let found = Command::new("git").args(["rev-parse", "--quiet", "--verify", &tag]).current_dir(root()).output();
    assert!(!found.expect("run git").status.success(), "{THIS} is released: what it left stays as it is");
    fs::create_dir_all(folder(THIS)).expect("make the folder");
    true
}

/// `sha256sum --check` reads these lines, too.
fn checksums() -> String {
    let mut lines = Vec::new();
    for database in ["postgres", "sqlite"] {
        for file in fs::read_dir(root().join("migrations").join(database)).expect("migrations") {
            let file = format!("migrations/{database}/{}", file.expect("an entry").file_name().display());
            let digest = Sha256::digest(fs::read(root().join(&file)).expect("read it"));
            let digest: String = digest.iter().map(|byte| format!("{byte:02x}")).collect();
            lines.push(format!("{digest}  {file}\n"));
        }
    }
    lines.sort_by(|one, other| one[64..].cmp(&other[64..]));
    lines.concat()
}

#[test]
fn a_released_migration_never_changes() {
    let now = checksums();
    if updates() {
        fs::write(folder(THIS).join("migrations.sha256"), &now).expect("write the list");
    }
    for version in versions() {
        let released = fs::read_to_string(folder(&version).join("migrations.sha256")).expect("a list");
        assert!(released.lines().count() >= 2, "{released}");
        for line in released.lines() {
            assert!(
                now.lines().any(|now| now == line),
                "{} is not what it is in {version}: a server refuses databases that have it in another form. Leave it as it is, and add a \
                 migration. If {version} is not released yet, `{UPDATE}=1 scripts/test released::` renews the list",
                &line[66..]
            );
        }
    }
}

/// What was recorded of a database beside its dump.
#[derive(Deserialize)]
struct Record {
    /// Credentials: of an admin, of a reader of one app, and one that was revoked.
    admin: String,
    reader: String,
    revoked: String,
    /// `sessiond erasures export`.
    ledger: String,
    /// In the feed, and all that is behind it.
    position: String,
    changes: String,
    /// Path and body of each `GET`.
    answers: Vec<(String, String)>,
}

impl Record {
    /// A line for each answer.
    fn to_json(&self) -> String {
        let text = |value: &str| Value::from(value).to_string();
        let fields = [
            ("admin", &self.admin),
            ("reader", &self.reader),
            ("revoked", &self.revoked),
            ("ledger", &self.ledger),
            ("position", &self.position),
            ("changes", &self.changes),
        ];
        let fields: String = fields.iter().map(|(name, value)| format!("\"{name}\":{},\n", text(value))).collect();
        let answers: Vec<String> = self.answers.iter().map(|answer| json!(answer).to_string()).collect();
        format!("{{{fields}\"answers\":[\n{}\n]}}\n", answers.join(",\n"))
    }
}

/// A server of this build, and an admin of it.
struct Served {
    server: Server,
    key: String,
}

impl Served {
    async fn start(place: &Place, key: &str) -> Self {
        let server = Server::start(&place.url(), &[PATIENT, &["--feed-retention=7d"]].concat()).await;
        Self { server, key: key.to_owned() }
    }

    fn ask(&self, method: &str, path: &str) -> Request {
        self.server.request(method.parse().expect("a method"), path).bearer(&self.key)
    }

    async fn get(&self, path: &str) -> Answer {
        self.ask("GET", path).await.expect(200)
    }

    async fn send(&self, method: &str, path: &str, body: &str, status: u16) -> Answer {
        self.ask(method, path).json(body).await.expect(status)
    }

    /// The names in a list, as in a path.
    async fn names(&self, path: &str, list: &str, name: &str) -> Vec<String> {
        let found = self.get(path).await.json();
        assert!(found["nextPageToken"].is_null(), "{path} has several pages");
        let names = found[list].as_array().unwrap_or_else(|| panic!("no {list} in {found}")).iter();
        names.map(|one| in_path(one[name].as_str().expect("a name"))).collect()
    }

    async fn stop(mut self) {
        self.server.api.hang_up();
        self.server.process.sigterm();
        assert!(self.server.process.wait().await.success(), "{}", self.server.process.log());
    }
}

/// A name as a segment of a path, readable if it can be.
fn in_path(name: &str) -> String {
    let is_plain = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte));
    if is_plain { name.to_owned() } else { segment(name) }
}

async fn a_released_database_is_served_as_it_was(place: Place) {
    let kind = if matches!(place, Place::Sqlite(_)) { "sqlite" } else { "postgres" };
    if updates() {
        let (record, dump) = made(&place).await;
        fs::write(folder(THIS).join(format!("{kind}.sql")), dump).expect("write the dump");
        fs::write(folder(THIS).join(format!("{kind}.json")), record.to_json()).expect("write the answers");
    }
    for version in versions() {
        let read = |end: &str| fs::read_to_string(folder(&version).join(format!("{kind}.{end}"))).expect("read it");
        let record: Record = serde_json::from_str(&read("json")).expect("a record");
        let place = match &place {
            Place::Sqlite(_) => Place::sqlite(),
            Place::Postgres(_) => Place::postgres().await,
        };
        restore(&place, read("sql")).await;
        check(&place, &record).await;
        place.finish().await;
    }
}

// What a database is filled with.

const ADA: &str = "/v1/apps/shop/users/ada";
const ORDER: &str = "/v1/apps/shop/users/ada/sessions/order-1";
/// Names that have to be encoded in a path.
const ODD: (&str, &str, &str) = ("läger/1 ü", "ß ø@例え", "a b\u{1F600}");

/// Requests with a key that is remembered for as long as what they made is there. Sent again, each is answered by what it made.
const REMEMBERED: &[(&str, &str, &str, &str)] = &[
    (
        "POST",
        "/v1/apps/shop/users/ada/sessions",
        "create-1",
        r#"{"sessionId":"order-1","state":{"topic":"return","n":1.10,"user:name":"Ada","app:currency":"EUR"},"displayName":"Ünï😀","labels":{"channel":"web"},"expireTime":4102444800}"#,
    ),
    (
        "POST",
        ORDER_EVENTS,
        "",
        r#"{"id":"e1","author":"user","invocationId":"i1","timestamp":1.50,"content":{"role":"user","parts":[{"text":"a\nb\u2028\u0000"}]},"actions":{"stateDelta":{"n":1E2,"big":1180591620717411303424,"neg":-0,"user:n":-0.0}}}"#,
    ),
    (
        "POST",
        ORDER_EVENTS,
        "",
        r#"[{"id":"e2","author":"agent","invocationId":"i1","branch":"a.b","actions":{"stateDelta":{"item":{"b" : 1,"a":[ ]}},"stateOps":[{"op":"append","key":"list","value":[-0.0]},{"op":"increment","key":"app:count","value":2}]}},{"id":"e3","author":"agent","invocationId":"i2","actions":{"stateDelta":{"n":null},"stateOps":[{"op":"remove","key":"topic"}]}}]"#,
    ),
    ("POST", "/v1/apps/shop/users/ada/sessions/order-1/rewind", "rewind-1", r#"{"beforeInvocationId":"i2"}"#),
    (
        "PUT",
        "/v1/apps/shop/users/ada/sessions/order-1/state/refund",
        "put-1",
        r#"{"amount": 39.90, "currency": "EUR"}"#,
    ),
    (
        "PATCH",
        "/v1/apps/shop/users/ada/sessions/order-1/state",
        "patch-1",
        r#"{"author":"agent","stateDelta":{"step":"refund"},"stateOps":[{"op":"increment","key":"user:returns","value":1}]}"#,
    ),
    (
        "POST",
        "/v1/apps/shop/users/ada/sessions/order-1/fork",
        "fork-1",
        r#"{"sessionId":"order-1-again","atRevision":3}"#,
    ),
    (
        "POST",
        "/v1/apps/shop/users/ada/sessions/files/artifacts",
        "save-1",
        r#"{"name":"notes/summary","part":{"text":"grüß\u0000\n\"Gott\""},"metadata":{"n":1.0}}"#,
    ),
    (
        "POST",
        "/v1/apps/shop/users/ada/sessions/files/artifacts",
        "save-2",
        r#"{"name":"notes/summary","part":{"inlineData":{"mimeType":"a/b","data":"AAECAwQF/w==","displayName":"n"}},"event":"none"}"#,
    ),
    (
        "POST",
        "/v1/apps/shop/users/ada/sessions/files/artifacts",
        "save-3",
        r#"{"name":"user:address","part":{"fileData":{"fileUri":"gs://a/b","mimeType":"c/d"}}}"#,
    ),
];
const ORDER_EVENTS: &str = "/v1/apps/shop/users/ada/sessions/order-1/events";

fn remembered(served: &Served, (method, path, key, body): &(&str, &str, &str, &str)) -> Request {
    let request = served.ask(method, path).json(*body);
    if key.is_empty() { request } else { request.header("idempotency-key", key) }
}

/// A database of this build with some of all that there can be, and what it answers.
async fn made(place: &Place) -> (Record, String) {
    let run = async |args: &[&str]| {
        let output = Sessiond::run(args, &[("DATABASE_URL", &place.url())]).await;
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).expect("UTF-8").trim_end().to_owned()
    };
    let migrated = ended(&place.url(), &["migrate"]).await;
    assert!(migrated.0.success(), "{}", migrated.1);
    let admin = run(&["keys", "create", "--name=admin", "--role=admin", "--apps=*"]).await;
    let served = Served::start(place, &admin).await;
    let (reader, revoked) = fill_access(&served).await;
    fill_sessions(&served).await;
    fill_odd(&served).await;
    fill_erasures(&served).await;
    until_swept(place).await;

    let first = served.get("/v1/feed?after=start&pageSize=5").await.json();
    let position = first["position"].as_str().expect("a position").to_owned();
    let changes = served.get(&changes_after(&position)).await;
    assert_eq!(changes.json()["upToDate"], true, "{changes}");
    let mut answers = Vec::new();
    for path in paths(&served).await {
        let answer = served.ask("GET", &path).await;
        // Of what was trimmed or came from elsewhere there is not all.
        if answer.status != 410 {
            answers.push((path, answer.expect(200).text().to_owned()));
        }
    }
    served.stop().await;
    let ledger = run(&["erasures", "export"]).await;
    let dump = match place {
        Place::Sqlite(_) => dump_sqlite(&place.url()).await,
        Place::Postgres(database) => postgres::dump(&database.url),
    };
    let changes = changes.text().to_owned();
    (Record { admin, reader, revoked, ledger, position, changes, answers }, dump)
}

fn changes_after(position: &str) -> String {
    format!("/v1/feed?after={position}&pageSize=1000")
}

/// Keys, of which one is revoked and one was changed, and tokens of a user, which are revoked.
async fn fill_access(served: &Served) -> (String, String) {
    let mut keys = Vec::new();
    for body in [
        r#"{"name":"reads","role":"reader","apps":["shop"],"users":["*"]}"#,
        r#"{"name":"is revoked","role":"agent","apps":["shop","läger*"]}"#,
        r#"{"name":"ends","role":"operator","apps":["*"],"expireTime":4102444800}"#,
    ] {
        let made = served.send("POST", "/v1/keys", body, 201).await.json();
        keys.push((made["id"].as_str().expect("an id").to_owned(), made["key"].as_str().expect("a key").to_owned()));
    }
    served.ask("DELETE", &format!("/v1/keys/{}", keys[1].0)).await.expect(204);
    served.send("PATCH", &format!("/v1/keys/{}", keys[0].0), r#"{"name":"reads less","users":["ada"]}"#, 200).await;
    let user = r#"{"app":"shop","user":"bob"}"#;
    served.send("POST", "/v1/tokens", user, 201).await;
    served.send("POST", "/v1/tokens/revoke", user, 204).await;
    (keys[0].1.clone(), keys[1].1.clone())
}

async fn fill_sessions(served: &Served) {
    let new = async |id: &str, state: &str| {
        let body = format!(r#"{{"sessionId":"{id}","state":{state}}}"#);
        served.send("POST", &format!("{ADA}/sessions"), &body, 201).await;
    };
    let append = async |id: &str, body: &str| {
        served.send("POST", &format!("{ADA}/sessions/{id}/events"), body, 201).await;
    };
    let policy = r#"{"sessions":{"maxAge":"36500d"},"limits":{"sessionsPerUser":1000,"eventsPerSession":1000},"artifacts":{"keepVersions":50}}"#;
    served.send("PUT", "/v1/apps/shop/policy", policy, 200).await;
    served.send("PUT", "/v1/apps/none/policy", r#"{"limits":{"sessionsPerUser":1}}"#, 200).await;
    served.ask("DELETE", "/v1/apps/none/policy").await.expect(204);
    served.send("PATCH", "/v1/apps/shop/state", r#"{"stateDelta":{"returnDays":30,"gone":[1.0]}}"#, 200).await;
    served.ask("DELETE", "/v1/apps/shop/state/gone").await.expect(204);
    served.send("PATCH", "/v1/apps/shop/users/zoe/state", r#"{"stateDelta":{"alone":true}}"#, 200).await;
    served.send("PATCH", &format!("{ADA}/state"), r#"{"stateDelta":{"language":"en"}}"#, 200).await;

    new("files", "{}").await;
    for request in REMEMBERED {
        let answer = remembered(served, request).await;
        assert!(matches!(answer.status, 200 | 201) && !answer.was_replayed(), "{request:?}: {answer}");
    }
    let lease = r#"{"owner":"pod-7/4f1c","invocationId":"i9","ttl":60}"#;
    served.send("POST", &format!("{ORDER}/lease"), lease, 201).await;
    let order = format!("{ADA}/sessions/order-1-again");
    served.send("PATCH", &order, r#"{"displayName":"forked","labels":{"a":"b"}}"#, 200).await;
    append("order-1-again", r#"{"id":"own","author":"user","actions":{"stateDelta":{"user:n":7}}}"#).await;

    new("files-2", r#"{"k":1}"#).await;
    let file = format!("{ADA}/sessions/files-2/artifacts/page.html");
    for (content, query) in [("<b>1</b>", ""), ("<b>2</b>", "?event=none"), ("<b>3</b>", "?displayName=%C3%BC")] {
        served.ask("PUT", &format!("{file}{query}")).body("text/html", content).await.expect(201);
    }
    served.send("POST", &format!("{ADA}/sessions/files-2/rewind"), r#"{"toRevision":1}"#, 200).await;
    served.ask("PUT", &format!("{ADA}/sessions/files-2/artifacts/gone")).body("a/b", "x").await.expect(201);
    served.ask("DELETE", &format!("{ADA}/sessions/files-2/artifacts/gone")).await.expect(204);

    new("compacted", "{}").await;
    for n in 1..=4 {
        append(
            "compacted",
            &format!(r#"{{"id":"c{n}","author":"user","timestamp":{n},"content":{{"parts":[{{"text":"{n}"}}]}}}}"#),
        )
        .await;
    }
    append("compacted", r#"{"id":"sum","author":"agent","timestamp":5,"actions":{"compaction":{"startTimestamp":1,"endTimestamp":3,"compactedContent":{"role":"model","parts":[{"text":"1 to 3"}]}}}}"#).await;
    append("compacted", r#"{"id":"last","author":"user","timestamp":6}"#).await;

    for id in ["trimmed", "moved"] {
        new(id, r#"{"k":0}"#).await;
        for n in 1..=5 {
            append(id, &format!(r#"{{"id":"t{n}","author":"a","actions":{{"stateDelta":{{"k":{n},"k{n}":{n}}}}}}}"#))
                .await;
        }
        served.send("POST", &format!("{ADA}/sessions/{id}/trim"), r#"{"keepLast":2}"#, 200).await;
    }

    new("redacted", "{}").await;
    for (id, state) in [("kept", "keep"), ("removed", "remove")] {
        append("redacted", &format!(r#"{{"id":"{id}","author":"user","content":{{"parts":[{{"text":"a password"}}]}},"actions":{{"stateDelta":{{"{id}":"hunter2","user:{id}":"hunter2"}}}}}}"#)).await;
        let body = format!(r#"{{"reason":"a password","state":"{state}"}}"#);
        served.send("POST", &format!("{ADA}/sessions/redacted/events/{id}/redact"), &body, 200).await;
    }

    new("deleted", r#"{"k":1,"app:by":"deleted"}"#).await;
    served.ask("DELETE", &format!("{ADA}/sessions/deleted")).await.expect(204);
    let adk = "/apps/shop/users/bob/sessions/by-adk";
    served.send("POST", adk, r#"{"topic":"warranty","user:name":"Bob"}"#, 200).await;
    let artifact = r#"{"filename":"a","artifact":{"text":"by ADK"},"customMetadata":{"m":"s"}}"#;
    served.send("POST", &format!("{adk}/artifacts"), artifact, 200).await;
    // One comes back in its place, one in another app.
    for (query, session) in [("", "moved"), ("?appName=copy", "order-1")] {
        let session = format!("{ADA}/sessions/{session}");
        let lines = served.get(&format!("{session}/export")).await.text().to_owned() + "\n";
        if query.is_empty() {
            served.ask("DELETE", &session).await.expect(204);
        }
        let import = served.ask("POST", &format!("/v1/import{query}")).body("application/x-ndjson", lines);
        let imported = import.await.expect(200);
        assert!(imported.text().contains(r#""result":"created""#), "{imported}");
    }
}

/// Names and values that are easily spoilt, in all scopes.
async fn fill_odd(served: &Served) {
    let (app, user, session) = ODD;
    let path = format!("/v1/apps/{}/users/{}/sessions", segment(app), segment(user));
    served.send("POST", &path, &json!({ "sessionId": session }).to_string(), 201).await;
    for prefix in ["", "user:", "app:"] {
        let members: Vec<String> =
            KEPT.iter().enumerate().map(|(n, value)| format!(r#""{prefix}k{n}ä": {value}"#)).collect();
        let event = format!(
            r#"{{"id":"{prefix}e/ä","author":"agent","actions":{{"stateDelta":{{ {} }}}},"content":{{"parts":[{{"text":"😀"}}]}},"x":[{}]}}"#,
            members.join(" , "),
            KEPT.join(", ")
        );
        served.send("POST", &format!("{path}/{}/events", segment(session)), &event, 201).await;
    }
}

/// Users who are erased, of whom one is blocked.
async fn fill_erasures(served: &Served) {
    for (user, body) in [
        ("eve", r#"{"requestId":"case-17","reference":"case 17","block":true}"#),
        ("dan", r#"{"reference":"case 18"}"#),
    ] {
        let path = format!("/v1/apps/shop/users/{user}");
        let session = r#"{"sessionId":"s","state":{"k":1,"user:k":2},"events":[{"id":"e","author":"user","actions":{"stateDelta":{"app:last":"x"}}}]}"#;
        served.send("POST", &format!("{path}/sessions"), session, 201).await;
        let answer = served.send("POST", &format!("{path}/erasure"), body, 202).await;
        let erasure = answer.header("location").expect("a location").to_owned();
        let done = async {
            while served.get(&erasure).await.json()["state"] != "done" {
                sleep(Duration::from_millis(20)).await;
            }
        };
        timeout(PATIENCE, done).await.expect("the erasure is done");
    }
}

/// Until nothing is left that the sweep of a later server would remove.
async fn until_swept(place: &Place) {
    let left = "select (select count(*) from buried_sessions) + (select count(*) from trims) + (select count(*) from scrubs) \
                  + (select count(*) from blobs where versions < 1)";
    let swept = async {
        while place.number(left).await > 0 {
            sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(PATIENCE, swept).await.expect("a sweep");
}

/// All that can be read and does not depend on when it is.
async fn paths(served: &Served) -> Vec<String> {
    let mut all =
        ["/v1/apps", "/list-apps", "/v1/keys", "/v1/erasures", "/v1/receipts/keys"].map(str::to_owned).to_vec();
    for id in served.names("/v1/erasures", "erasures", "id").await {
        all.push(format!("/v1/erasures/{id}"));
    }
    for app in served.names("/v1/apps", "apps", "appName").await {
        let app = format!("/v1/apps/{app}");
        for rest in ["policy", "state", "users", "sessions?includeState=true", "export"] {
            all.push(format!("{app}/{rest}"));
        }
        all.extend(histories(served, &app).await);
        for user in served.names(&format!("{app}/users"), "users", "userId").await {
            let user = format!("{app}/users/{user}");
            for rest in ["state", "artifacts", "sessions", "export"] {
                all.push(format!("{user}/{rest}"));
            }
            all.extend(histories(served, &user).await);
            all.extend(files(served, &user).await);
            for session in served.names(&format!("{user}/sessions"), "sessions", "id").await {
                all.extend(of_session(served, &format!("{user}/sessions/{session}")).await);
            }
        }
    }
    all
}

/// What became of each key that is there.
async fn histories(served: &Served, owner: &str) -> Vec<String> {
    let state = served.get(&format!("{owner}/state")).await.json();
    let keys = state.as_object().expect("an object").keys();
    keys.filter(|key| !key.contains(':')).map(|key| format!("{owner}/state/{}/history", in_path(key))).collect()
}

async fn files(served: &Served, owner: &str) -> Vec<String> {
    let mut all = Vec::new();
    for name in served.names(&format!("{owner}/artifacts"), "artifacts", "name").await {
        let file = format!("{owner}/artifacts/{name}");
        let versions = served.get(&format!("{file}/versions")).await.json();
        all.push(format!("{file}/versions"));
        for version in versions["versions"].as_array().expect("versions") {
            all.push(format!("{file}?as=part&version={}", version["version"]));
        }
    }
    all
}

async fn of_session(served: &Served, path: &str) -> Vec<String> {
    let session = served.get(path).await.json();
    let mut all = vec![path.to_owned()];
    for rest in [
        "?history=effective",
        "/events?pageSize=1000",
        "/events?order=desc&excludeRewound=true",
        "/state",
        "/artifacts",
        "/export",
    ] {
        all.push(format!("{path}{rest}"));
    }
    all.push(path.replacen("/v1", "", 1));
    let revision = session["revision"].as_i64().expect("a revision");
    let base = session["baseRevision"].as_i64().unwrap_or(0);
    for revision in base..=revision {
        all.push(format!("{path}/state?atRevision={revision}"));
        all.push(format!("{path}/state?atRevision={revision}&scope=session"));
    }
    for event in served.names(&format!("{path}/events?pageSize=1000"), "events", "id").await {
        all.push(format!("{path}/events/{event}"));
    }
    all.extend(histories(served, path).await);
    all.extend(files(served, path).await);
    all
}

// Dumps.

/// All of a file as SQL, like `.dump` of SQLite's shell.
async fn dump_sqlite(url: &str) -> String {
    let mut conn = SqliteConnection::connect(url).await.expect("open the file");
    let objects =
        "select sql from sqlite_master where sql is not null and name not like 'sqlite\\_%' escape '\\' order by rowid";
    let objects: Vec<String> = sqlx::query_scalar(objects).fetch_all(&mut conn).await.unwrap();
    let mut dump: Vec<String> = objects.into_iter().map(|sql| format!("{sql};")).collect();
    // The one behind `autoincrement` comes with its table, and is written by the rows of that.
    let tables = "select name from sqlite_master where type = 'table' order by name <> 'sqlite_sequence' desc, name";
    let tables: Vec<String> = sqlx::query_scalar(tables).fetch_all(&mut conn).await.unwrap();
    for table in tables {
        let columns = format!(
            "select group_concat('quote(\"' || name || '\")', ' || '', '' || ') from pragma_table_info('{table}')"
        );
        let columns: String = sqlx::query_scalar(AssertSqlSafe(columns)).fetch_one(&mut conn).await.unwrap();
        let rows = format!("select 'insert into {table} values (' || {columns} || ');' from {table}");
        let rows: Vec<String> = sqlx::query_scalar(AssertSqlSafe(rows)).fetch_all(&mut conn).await.unwrap();
        if table == "sqlite_sequence" {
            dump.push("delete from sqlite_sequence;".to_owned());
        }
        dump.extend(rows);
    }
    conn.close().await.expect("close it");
    format!("begin;\n{}\ncommit;\n", dump.join("\n"))
}

async fn restore(place: &Place, dump: String) {
    let Place::Sqlite(_) = place else {
        place.execute(dump).await;
        // As many transactions as where it comes from, so that the feed goes on (docs/feed.md).
        let as_many = "do $$ declare last xid8 := (select pg_snapshot_xmax(snapshot) from ticks order by tick desc limit 1); \
                       begin while pg_current_xact_id() <= last loop commit; end loop; end $$";
        return place.execute(as_many).await;
    };
    let mut conn = SqliteConnection::connect(&format!("{}?mode=rwc", place.url())).await.expect("make the file");
    sqlx::raw_sql(AssertSqlSafe(dump)).execute(&mut conn).await.expect("valid SQL");
    // Changes are kept for seven days at most, and these are older one day.
    let keep = "create trigger kept before delete on changes begin select raise(ignore); end";
    sqlx::raw_sql(keep).execute(&mut conn).await.expect("valid SQL");
    conn.close().await.expect("close it");
}

// What must be so with every later build.

async fn check(place: &Place, record: &Record) {
    let migrated = ended(&place.url(), &["migrate"]).await;
    assert!(migrated.0.success(), "{}", migrated.1);
    let served = Served::start(place, &record.admin).await;
    assert!(record.answers.len() > 100);
    check_answers(&served, record, |_| true).await;
    check_feed(&served, record).await;
    check_access(place, &served, record).await;

    // It goes on from there, and the past stays what it was.
    for request in REMEMBERED {
        let again = remembered(&served, request).await.expect(200);
        assert!(again.was_replayed(), "{request:?}: {again}");
    }
    let lease = served.send("POST", &format!("{ORDER}/lease"), r#"{"owner":"next","ttl":1,"steal":true}"#, 201).await;
    assert_eq!(lease.json()["epoch"], 2, "{lease}");
    served.ask("DELETE", &format!("{ORDER}/lease?epoch=2")).await.expect(204);
    let mut sessions = 0;
    for (path, body) in &record.answers {
        let parts: Vec<&str> = path.split('/').collect();
        if !(path.starts_with("/v1/") && parts.len() == 8 && parts[6] == "sessions" && !path.contains('?')) {
            continue;
        }
        let revision = serde_json::from_str::<Value>(body).expect("JSON")["revision"].as_i64().expect("a revision");
        let event = r#"{"id":"later","author":"agent","actions":{"stateDelta":{"later":-0.0,"user:later":1,"app:later":[2.0]}}}"#;
        let append = served.send("POST", &format!("{path}/events"), event, 201).await;
        assert_eq!(append.json()["sequence"], revision + 1, "{path}");
        let state = served.get(&format!("{path}/state")).await;
        for (key, value) in [("later", "-0.0"), ("user:later", "1"), ("app:later", "[2.0]")] {
            assert_eq!(state.raw(&[key]), value, "{path}");
        }
        sessions += 1;
    }
    assert_eq!(sessions, 11, "sessions");
    check_answers(&served, record, |path| path.contains("/state?atRevision=") || path.contains("/events/")).await;
    served.stop().await;
    let verified = ended(&place.url(), &["verify", "--artifacts"]).await;
    assert!(verified.0.success(), "{}", verified.1);
}

async fn check_answers(served: &Served, record: &Record, which: impl Fn(&str) -> bool) {
    for (path, body) in record.answers.iter().filter(|(path, _)| which(path)) {
        let answer = served.get(path).await;
        let (recorded, answered): (Vec<&str>, Vec<&str>) =
            (body.split('\n').collect(), answer.text().split('\n').collect());
        assert_eq!(recorded.len(), answered.len(), "lines of {path}");
        let is_stored = path.contains("/state") || path.contains("?as=part");
        // The first line of an export says when it was made, and by which version.
        let says = |(recorded, _): &(&str, &str)| !recorded.starts_with(r#"{"type":"export","#);
        for (recorded, answered) in recorded.into_iter().zip(answered).filter(says) {
            if let Some(difference) = difference("", recorded, answered, is_stored) {
                panic!("{path}: {difference}");
            }
        }
    }
}

/// What is stored as it was given.
const STORED: [&str; 7] = ["state", "stateDelta", "content", "labels", "metadata", "customMetadata", "value"];

/// Where an answer differs from what was recorded. New fields are no difference (docs/versions.md), except in what clients stored.
fn difference(at: &str, recorded: &str, answered: &str, is_stored: bool) -> Option<String> {
    if recorded == answered {
        return None;
    }
    let differs = || Some(format!("{at} was {recorded} and is {answered}"));
    if is_stored {
        return differs();
    }
    if recorded.starts_with('{') && answered.starts_with('{') {
        let members = |text| serde_json::from_str::<BTreeMap<String, &RawValue>>(text).expect("an object");
        let (recorded, answered) = (members(recorded), members(answered));
        // A key is used by this test, too.
        let mut tells = recorded.iter().filter(|(name, _)| **name != "lastUsedTime");
        return tells.find_map(|(name, value)| match answered.get(name) {
            Some(found) => difference(&format!("{at}/{name}"), value.get(), found.get(), STORED.contains(&&**name)),
            None => Some(format!("{at}/{name} is missing")),
        });
    }
    if recorded.starts_with('[') && answered.starts_with('[') {
        let elements = |text| serde_json::from_str::<Vec<&RawValue>>(text).expect("an array");
        let (recorded, answered) = (elements(recorded), elements(answered));
        if recorded.len() == answered.len() {
            let mut pairs = recorded.iter().zip(&answered).enumerate();
            return pairs.find_map(|(n, (one, other))| difference(&format!("{at}/{n}"), one.get(), other.get(), false));
        }
    }
    differs()
}

/// It goes on; what is too old is gone.
async fn check_feed(served: &Served, record: &Record) {
    let answer = served.ask("GET", &changes_after(&record.position)).await;
    if answer.status == 410 {
        answer.problem(410, "position_gone");
        return;
    }
    if let Some(difference) = difference("", &record.changes, answer.expect(200).text(), false) {
        panic!("{difference}");
    }
}

async fn check_access(place: &Place, served: &Served, record: &Record) {
    let with = |key: &str, path: &str| served.server.get(path).bearer(key);
    assert_eq!(with(&record.reader, "/v1/whoami").await.expect(200).json()["users"], json!(["ada"]));
    with(&record.reader, ORDER).await.expect(200);
    with(&record.revoked, "/v1/whoami").await.expect(401);
    served.server.get("/v1/apps").await.expect(401);
    let token = served.send("POST", "/v1/tokens", r#"{"app":"shop","user":"bob"}"#, 201).await.json();
    with(token["token"].as_str().expect("a token"), "/v1/apps/shop/users/bob/sessions").await.expect(200);
    let blocked = served.ask("POST", "/v1/apps/shop/users/eve/sessions").json("{}").await;
    blocked.problem(410, "user_erased");
    served.send("POST", "/v1/apps/shop/users/dan/sessions", "{}", 201).await;

    let run = async |args: &[&str]| Sessiond::run(args, &[("DATABASE_URL", &place.url())]).await;
    let ledger = run(&["erasures", "export"]).await;
    assert_eq!(String::from_utf8_lossy(&ledger.stdout).trim_end(), record.ledger);
    let erasures = served.get("/v1/erasures").await;
    let file = served.server.process.dir().join("receipt.json");
    for (n, erasure) in erasures.json()["erasures"].as_array().expect("erasures").iter().enumerate() {
        fs::write(&file, erasures.raw(&["erasures", &n.to_string()])).expect("write it");
        let user = if erasure["reference"] == "case 17" { "eve" } else { "dan" };
        let verify = ["receipts", "verify", file.to_str().expect("UTF-8"), "--app=shop", &format!("--user={user}")];
        let verified = run(&verify).await;
        assert!(verified.status.success(), "{}", String::from_utf8_lossy(&verified.stderr));
    }
}

#[test]
fn additions_are_no_difference_and_changes_are() {
    let is_same = |recorded, answered| difference("", recorded, answered, false).is_none();
    assert!(is_same(r#"{"a":1,"b":[{"c":2}]}"#, r#"{"b":[{"c":2,"new":0}],"a":1,"more":{}}"#));
    for answered in [r#"{"a":1.0,"b":[]}"#, r#"{"b":[]}"#, r#"{"a":1,"b":[0]}"#, r#"{"a":1,"b":{}}"#, "[]", "7"] {
        assert!(!is_same(r#"{"a":1,"b":[]}"#, answered), "{answered}");
    }
    assert!(!is_same(r#"{"state":{"a":1}}"#, r#"{"state":{"a":1,"b":2}}"#));
    assert!(!is_same(r#"{"content":{"a": 1}}"#, r#"{"content":{"a":1}}"#));
}
