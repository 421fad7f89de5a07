//! Erasure: no data of the user is left, and the erasure itself does not name the user.

use std::process::Output;
use std::time::Duration;

use futures_util::future::join_all;
use serde_json::{Value, json};
use sqlx::{AssertSqlSafe, Connection as _, PgConnection, Row as _, SqliteConnection};

use crate::support::binary::Server;
use crate::support::client::{APP_STATE, Answer, Client, ONE, PATIENCE, S, USER_STATE};
use crate::support::databases::{Place, on_both_databases};
use crate::support::process::{Sessiond, free_port};
use crate::support::server::TestServer;
use crate::support::sse::Watch;

const ERASURE: &str = "/v1/apps/app/users/user/erasure";
/// Each kind of thing of a user has one of its own in it.
pub const CANARY: &str = "canary-";

async fn erase(server: &Client, body: Value) -> Answer {
    server.post(ERASURE).json(body).await
}

fn state_of(user: &str) -> String {
    format!("/v1/apps/app/users/{user}/state")
}

/// The revision of a shared scope.
async fn revision(server: &Client, path: &str) -> i64 {
    server.get(path).await.expect(200).etag().trim_matches('"').parse().expect("a revision")
}

/// The erasure of this answer, once it is done.
pub async fn done(server: &Client, answer: &Answer) -> Value {
    let path = answer.header("location").expect("a location").to_owned();
    let asking = async {
        loop {
            let erasure = server.get(&path).await.expect(200).json();
            if erasure["state"] == "done" {
                return erasure;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(PATIENCE, asking).await.expect("the erasure is done")
}

/// A user with all that a user can have, and a canary in each part.
pub async fn fill(server: &Client, user: &str) -> String {
    let sessions = format!("/v1/apps/app/users/{user}/sessions");
    let session = format!("{sessions}/{CANARY}session");
    let body = json!({
        "sessionId": format!("{CANARY}session"), "displayName": format!("{CANARY}name"),
        "labels": {format!("{CANARY}label"): format!("{CANARY}label-value")},
        "state": {"k": format!("{CANARY}value"), "user:k": format!("{CANARY}user-value"), "app:k": "app-value"},
        "events": [{"id": format!("{CANARY}event"), "author": format!("{CANARY}author"),
                    "invocationId": format!("{CANARY}invocation"), "branch": format!("{CANARY}branch"),
                    "content": {"role": "user", "parts": [{"text": format!("{CANARY}text")}]}}],
    });
    server.post(&sessions).header("idempotency-key", format!("{CANARY}creation")).json(body).await.expect(201);
    for n in 0..30 {
        let delta = json!({
            format!("{CANARY}key"): format!("{CANARY}value-{n}"), format!("user:{CANARY}key"): n, "app:n": n,
            "long": format!("{CANARY}{}", "long ".repeat(2000)),
        });
        let event = json!({"author": format!("{CANARY}author"), "actions": {"stateDelta": delta}});
        server.post(format!("{session}/events")).json(event).await.expect(201);
    }
    fill_files(server, &format!("{session}/artifacts")).await;
    let patch = json!({"stateDelta": {format!("{CANARY}patched"): 1}});
    let state = server.patch(format!("/v1/apps/app/users/{user}/state"));
    state.header("idempotency-key", format!("{CANARY}patch")).json(patch).await.expect(200);
    server.post(format!("{session}/lease")).json(json!({"owner": format!("{CANARY}owner")})).await.expect(201);
    server.post(format!("{session}/fork")).json(json!({"sessionId": format!("{CANARY}fork")})).await.expect(201);
    // One that is gone already, and whose rows may be there still.
    let deleted = json!({"sessionId": format!("{CANARY}deleted"), "state": {"k": format!("{CANARY}gone")}});
    server.post(&sessions).json(deleted).await.expect(201);
    server.delete(format!("{sessions}/{CANARY}deleted")).await.expect(204);
    session
}

/// Files of a session and of its user, with a canary in each part: four versions, of which one appends an event.
pub async fn fill_files(server: &Client, files: &str) {
    // One in each chunk, and across the borders of two.
    let large = format!("{CANARY}bytes ").repeat(40_000);
    for (name, event, bytes) in [("file", "append", "short"), ("file", "none", &*large), ("user:file", "none", &*large)]
    {
        let name = name.replace("file", &format!("{CANARY}file")).replace(':', "%3A");
        let query = format!(
            "event={event}&author={CANARY}author&displayName={CANARY}title&metadata=%7B%22{CANARY}m%22:%22{CANARY}m%22%7D"
        );
        let save =
            server.put(format!("{files}/{name}?{query}")).header("idempotency-key", format!("{CANARY}save-{event}"));
        save.body(&format!("text/{CANARY}type"), format!("{CANARY}{bytes}")).await.expect(201);
    }
    let part =
        json!({"fileData": {"fileUri": format!("x://{CANARY}address"), "mimeType": format!("text/{CANARY}type")}});
    let address = json!({"name": format!("{CANARY}address"), "part": part, "event": "none"});
    server.post(files).json(address).await.expect(201);
}

/// All that a database holds in tables, as text.
async fn rows(place: &Place) -> String {
    let Place::Postgres(database) = place else { return String::new() };
    let mut connection = PgConnection::connect(&database.url).await.unwrap();
    let tables = "select relname::text from pg_class where relkind = 'r' and relnamespace = 'public'::regnamespace";
    let mut all = String::new();
    for table in sqlx::raw_sql(tables).fetch_all(&mut connection).await.unwrap() {
        let rows = format!("select t::text from {} t", table.get::<String, _>(0));
        for row in sqlx::raw_sql(AssertSqlSafe(rows)).fetch_all(&mut connection).await.unwrap() {
            all += &row.get::<String, _>(0);
            all.push('\n');
        }
    }
    assert!(all.contains("app-value"), "the tables are read");
    all
}

/// All bytes of the files of a database that is a file.
fn files(place: &Place) -> Vec<u8> {
    let Place::Sqlite(dir) = place else { return Vec::new() };
    let files = std::fs::read_dir(dir).unwrap();
    let bytes: Vec<u8> = files.flat_map(|file| std::fs::read(file.unwrap().path()).unwrap()).collect();
    assert!(finds(&bytes, "app-value"), "the file is read");
    bytes
}

pub fn finds(bytes: &[u8], text: &str) -> bool {
    bytes.windows(text.len()).any(|window| window == text.as_bytes())
}

/// Whether a table has a canary, also as bytes, which are shown in hexadecimal digits.
async fn rows_have_canary(place: &Place) -> bool {
    let (rows, bytes) = (rows(place).await, CANARY.bytes().map(|byte| format!("{byte:02x}")).collect::<String>());
    rows.contains(CANARY) || rows.contains(&bytes)
}

/// Whether anything is stored that has a canary.
pub async fn has_canary(place: &Place) -> bool {
    rows_have_canary(place).await || finds(&files(place), CANARY)
}

async fn run(place: &Place, args: &[&str]) -> Output {
    Sessiond::run(args, &[("DATABASE_URL", &place.url())]).await
}

/// What a command wrote, which succeeded.
async fn ran(place: &Place, args: &[&str]) -> String {
    let output = run(place, args).await;
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

pub async fn stopped(mut server: Server) {
    server.process.sigterm();
    assert!(server.process.wait().await.success(), "{}", server.process.log());
}

/// A copy of a database that nobody uses.
pub async fn copied(place: &Place) -> Place {
    match place {
        Place::Sqlite(dir) => {
            let copy = Place::sqlite();
            let Place::Sqlite(to) = &copy else { panic!("it is a file") };
            for file in std::fs::read_dir(dir).unwrap() {
                let file = file.unwrap();
                std::fs::copy(file.path(), to.join(file.file_name())).unwrap();
            }
            copy
        }
        Place::Postgres(database) => {
            let copy = Place::postgres().await;
            let name = |url: &str| url.rsplit('/').next().unwrap().to_owned();
            let (from, to) = (name(&database.url), name(&copy.url()));
            let mut server = reqwest::Url::parse(&database.url).unwrap();
            server.set_path("postgres");
            let mut connection = PgConnection::connect(server.as_str()).await.unwrap();
            for sql in [format!("drop database {to}"), format!("create database {to} template {from}")] {
                sqlx::raw_sql(AssertSqlSafe(sql)).execute(&mut connection).await.unwrap();
            }
            copy
        }
    }
}

on_both_databases! {
    /// Others may delete as fast as rows are removed.
    async fn an_erasure_does_not_wait_until_all_that_was_deleted_is_gone(server: &TestServer) with ["--sweep-interval=100ms"] {
        server.patch(USER_STATE).json(json!({"stateDelta": {"k": 1}})).await.expect(200);
        server
            .execute(
                "with recursive rows(n) as (select 1 union all select n + 1 from rows where n < 50000) \
                 insert into buried_sessions select 'app', 'other', 's', n, null from rows",
            )
            .await;
        let answer = erase(server, json!({})).await.expect(202);
        done(server, &answer).await;
        assert!(server.number("select count(*) from buried_sessions").await > 0);
    }
}

on_both_databases! {
    async fn nothing_of_an_erased_user_can_be_read(server: &TestServer) {
        let session = fill(server, "user").await;
        server.post("/v1/apps/app/users/other/sessions").json(json!({"sessionId": "s"})).await.expect(201);
        let had = revision(server, USER_STATE).await;
        let answer = erase(server, json!({"reference": "case 7"})).await.expect(202);
        for path in [&session, &format!("{session}/events"), &format!("{session}/lease"), &format!("{S}/{CANARY}fork")] {
            server.get(path).await.problem(404, "session_not_found");
        }
        server.post(format!("{session}/events")).json(json!({"author": "a"})).await.problem(404, "session_not_found");
        assert_eq!(server.get(S).await.expect(200).json()["sessions"], json!([]));
        let state = server.get(USER_STATE).await.expect(200);
        assert_eq!((state.text().trim(), &*state.etag()), ("{}", "\"0\""));
        assert_eq!(server.get("/v1/apps/app/users").await.json()["users"], json!([{"userId": "other"}]));
        assert_eq!(server.get(APP_STATE).await.json()["n"], 29);

        let erasure = done(server, &answer).await;
        assert_eq!(erasure["id"], answer.json()["id"]);
        assert_eq!((&erasure["appName"], &erasure["reference"]), (&json!("app"), &json!("case 7")));
        let counts = &erasure["counts"];
        assert!(counts["sessions"].as_i64() >= Some(2), "{counts}");
        assert_eq!(counts["events"], 64);
        // The fork has what events have named; one is the user's.
        assert_eq!(counts["artifacts"], 5);
        for count in ["stateKeys", "changes"] {
            assert!(counts[count].as_i64() > Some(0), "{counts}");
        }
        assert_eq!(&erasure["receipt"]["counts"], counts);
        assert!(!erasure.to_string().contains("\"user\""), "{erasure}");
        let list = server.get("/v1/erasures").await.expect(200).json();
        assert_eq!(list["erasures"], json!([erasure]));
        server.get("/v1/erasures/none").await.problem(404, "not_found");

        // What comes after it is a new start: the keys of requests are forgotten, too.
        let body = json!({"sessionId": "s", "state": {"user:k": 1}});
        let made = server.post(S).header("idempotency-key", format!("{CANARY}creation")).json(body).await.expect(201);
        assert!(made.tag().1 > had, "the user's state begins again, at {made:?}");
        server.append_delta(r#"{"user:k":2,"app:k":3}"#).await;
        assert_eq!(server.get(format!("{ONE}/state?atRevision=0")).await.expect(200).json()["user:k"], 1);
    }

    async fn no_tag_of_erased_state_holds_for_what_comes_after_it(server: &TestServer) {
        let patch = async |user: &str, body: Value| server.patch(state_of(user)).json(body).await;
        let erase = async |user: &str| {
            let answer = server.post(format!("/v1/apps/app/users/{user}/erasure")).json(json!({})).await.expect(202);
            done(server, &answer).await;
        };
        for n in 1..=3 {
            patch("user", json!({"stateDelta": {"a": n, "b": n}})).await.expect(200);
        }
        patch("other", json!({"stateDelta": {"a": 1}})).await.expect(200);
        server.post(S).json(json!({"sessionId": "s"})).await.expect(201);
        let old = server.get(ONE).await.expect(200).etag();
        let had = revision(server, USER_STATE).await;
        assert_eq!(had, 3);
        erase("user").await;

        let stale = async || {
            for n in 1..=had {
                let tag = format!("\"{n}\"");
                server.get(USER_STATE).header("if-none-match", &tag).await.expect(200);
                let write = server.patch(USER_STATE).header("if-match", &tag).json(json!({"stateDelta": {"a": "stale"}}));
                write.await.problem(412, "revision_mismatch");
                // Of a key that is not there, and of one that may be.
                for key in ["b", "a"] {
                    let unchanged = json!({"preconditions": [{"key": key, "revision": n}], "stateDelta": {key: "stale"}});
                    patch("user", unchanged).await.problem(412, "revision_mismatch");
                }
            }
        };
        stale().await;
        let none = server.get(USER_STATE).await.expect(200);
        assert_eq!((none.text().trim(), &*none.etag()), ("{}", "\"0\""));
        assert_eq!(server.get(USER_STATE).header("if-none-match", "\"0\"").await.status(), 304);
        // The first change goes above, by whatever way it comes.
        patch("user", json!({"stateDelta": {"a": 1}})).await.expect(200);
        let first = revision(server, USER_STATE).await;
        assert!(first > had, "{first}");
        stale().await;
        server.post(S).json(json!({"sessionId": "s"})).await.expect(201);
        server.get(ONE).header("if-none-match", &old).await.expect(200);
        server.append_delta(r#"{"user:a":2}"#).await;
        assert_eq!(revision(server, USER_STATE).await, first + 1);
        stale().await;
        assert_eq!(server.get(format!("{ONE}/state?atRevision=0")).await.expect(200).json()["user:a"], 1);
        assert_eq!(server.get(format!("{ONE}/state?atRevision=1")).await.expect(200).json()["user:a"], 2);

        erase("user").await;
        let had = first + 1;
        let event = json!({"author": "a", "actions": {"stateDelta": {"user:a": 3}}});
        server.post(S).json(json!({"sessionId": "s", "events": [event]})).await.expect(201);
        assert!(revision(server, USER_STATE).await > had);
        // A user who was never erased begins in the same way, and two writers of different keys do not fail each other.
        for key in ["a", "b"] {
            let unchanged = json!({"preconditions": [{"key": key, "revision": 0}], "stateDelta": {key: 1}});
            patch("new", unchanged).await.expect(200);
        }
        let unchanged = json!({"preconditions": [{"key": "a", "revision": 0}], "stateDelta": {"a": 2}});
        patch("new", unchanged).await.problem(412, "revision_mismatch");
        // One with state goes on where it is.
        patch("other", json!({"stateDelta": {"a": 2}})).await.expect(200);
        assert_eq!(revision(server, &state_of("other")).await, 2);
        // And in another app nothing has happened.
        server.patch("/v1/apps/second/users/user/state").json(json!({"stateDelta": {"a": 1}})).await.expect(200);
        assert_eq!(revision(server, "/v1/apps/second/users/user/state").await, 1);
    }

    async fn a_request_is_made_once(server: &TestServer) {
        server.create("{}").await;
        let first = erase(server, json!({"requestId": "r", "reference": "x"})).await.expect(202);
        let one = done(server, &first).await;
        server.create("{}").await;
        let again = erase(server, json!({"requestId": "r"})).await.expect(200);
        assert!(again.was_replayed());
        assert_eq!((again.json(), again.header("location")), (one, first.header("location")));
        server.get(ONE).await.expect(200);
        let other = server.post("/v1/apps/app/users/other/erasure").json(json!({"requestId": "r"}));
        other.await.problem(409, "erasure_conflict");
        server.post("/v1/apps/other/users/other/erasure").json(json!({"requestId": "r"})).await.expect(202);
        // Without a body, too, and of a user of whom nothing is there.
        let unknown = server.post("/v1/apps/app/users/unknown/erasure").await.expect(202);
        assert_eq!(done(server, &unknown).await["counts"], json!({"sessions": 0, "events": 0, "stateKeys": 0, "changes": 0, "artifacts": 0}));
        erase(server, json!({"reference": "a\nb", "block": 1, "x": 1})).await.invalid(&["reference", "block", "x"]);
    }

    async fn a_blocked_user_gets_nothing_new(server: &TestServer) {
        server.create("{}").await;
        let answer = erase(server, json!({"block": true})).await.expect(202);
        assert_eq!(done(server, &answer).await["receipt"]["blocked"], true);
        let refused = async || {
            for body in [json!({}), json!({"state": {"user:k": 1}, "events": [{"author": "a"}]})] {
                server.post(S).json(&body).await.problem(410, "user_erased");
                server.post(S).header("idempotency-key", "k").json(&body).await.problem(410, "user_erased");
                server.put(ONE).json(&body).await.problem(410, "user_erased");
            }
            server.post(format!("{ONE}/events?create=true")).json("{}").await.problem(410, "user_erased");
            server.patch(USER_STATE).json(json!({"stateDelta": {"k": 1}})).await.problem(410, "user_erased");
            server.put(format!("{USER_STATE}/k")).json("1").await.problem(410, "user_erased");
            server.post(format!("{ONE}/fork")).json(json!({})).await.problem(404, "session_not_found");
            assert_eq!(server.get(USER_STATE).await.expect(200).text().trim(), "{}");
        };
        refused().await;
        assert_eq!(server.post("/apps/app/users/user/sessions").json(json!({})).await.status(), 410);
        // Others are not.
        server.post("/v1/apps/app/users/other/sessions").json(json!({})).await.expect(201);
        server.post("/v1/apps/other/users/user/sessions").json(json!({})).await.expect(201);
        erase(server, json!({})).await.expect(202);
        refused().await;
        let lifted = erase(server, json!({"block": false})).await.expect(202);
        assert_eq!(done(server, &lifted).await["receipt"]["blocked"], false);
        server.create("{}").await;
    }

    async fn an_erasure_ends_watches(server: &TestServer) {
        server.create("{}").await;
        let request = server.get(format!("{ONE}/watch")).header("accept", "text/event-stream");
        let mut watch = Watch::open(request).await;
        watch.caught_up().await;
        erase(server, json!({})).await.expect(202);
        watch.deleted("erased").await;
    }
}

async fn who_writes_meanwhile_is_before_or_after(place: Place) {
    const ROUNDS: usize = 6;
    let (fleet, url) = (place.fleet(&[]).await, "/v1/apps/app/users/user");
    for round in 0..ROUNDS {
        let blocks = round % 2 == 1;
        let writers = (0..8).map(|n| {
            let api = fleet.api(n);
            async move {
                let mut refused = 0;
                for k in 0..8 {
                    let session = format!("{url}/sessions/{round}-{n}-{k}");
                    let body = match n % 3 {
                        0 => json!({}),
                        1 => json!({"state": {"user:k": k, "k": 1}}),
                        _ => json!({"events": [{"author": "a", "actions": {"stateDelta": {"user:n": k}}}]}),
                    };
                    let made = api.put(&session).json(body).await;
                    refused += usize::from(made.status() == 410);
                    assert!(matches!(made.status(), 201 | 410), "{}", made.text());
                    let event = json!({"author": "a", "actions": {"stateDelta": {"user:k": k, "k": k, "app:k": k}}});
                    let appended = api.post(format!("{session}/events")).json(event).await;
                    assert!(matches!(appended.status(), 201 | 404), "{}", appended.text());
                    api.post(format!("{session}/fork")).json(json!({})).await;
                    api.patch(format!("{url}/state")).json(json!({"stateDelta": {"patched": k}})).await;
                }
                refused
            }
        });
        let erasing = async {
            tokio::time::sleep(Duration::from_millis(40)).await;
            let answer = fleet.api(round).post(ERASURE).json(json!({"block": blocks})).await.expect(202);
            if blocks {
                // From now on.
                for n in 0..2 {
                    fleet.api(n).post(S).json(json!({})).await.problem(410, "user_erased");
                    assert_eq!(fleet.api(n).get(S).await.json()["sessions"], json!([]));
                }
            }
            answer
        };
        let (refused, answer) = futures_util::join!(join_all(writers), erasing);
        if blocks {
            assert!(refused.into_iter().sum::<usize>() > 0, "some came after it");
            assert_eq!(fleet.api(0).get(S).await.json()["sessions"], json!([]));
            assert_eq!(fleet.api(1).get(USER_STATE).await.text().trim(), "{}");
        }
        done(&fleet.api(0), &answer).await;
        fleet.verify().await;
    }
}

async fn no_trace_of_an_erased_user_is_stored(place: Place) {
    let server = Server::start(&place.url(), &[]).await;
    // Among others, so that pages are shared, split and merged.
    for n in 0..10 {
        let sessions = format!("/v1/apps/app/users/other{n}/sessions");
        for m in 0..10 {
            let state = json!({"sessionId": format!("s{m}"), "state": {"k": "v".repeat(300), "user:k": m}});
            server.post(&sessions).json(state).await.expect(201);
        }
        if n % 3 == 0 {
            fill(&server, &format!("{CANARY}user{n}")).await;
        }
    }
    assert!(has_canary(&place).await);
    for n in [0, 3, 6, 9] {
        let path = format!("/v1/apps/app/users/{CANARY}user{n}/erasure");
        let body = json!({"requestId": format!("{CANARY}request{n}"), "block": n == 3});
        let answer = server.post(path).json(body).await.expect(202);
        done(&server, &answer).await;
    }
    assert!(!rows_have_canary(&place).await);
    assert!(!finds(&files(&place), CANARY), "in the file while it is open");
    assert!(!server.process.log().contains(CANARY));
    stopped(server).await;
    assert!(!has_canary(&place).await);
    place.finish().await;
}

async fn a_replayed_ledger_erases_again_what_a_backup_brought_back(place: Place) {
    let server = Server::start(&place.url(), &[]).await;
    fill(&server, "user").await;
    fill(&server, "unblocked").await;
    server.post("/v1/apps/app/users/stays/sessions").json(json!({"sessionId": "s"})).await.expect(201);
    stopped(server).await;
    let backup = copied(&place).await;

    let server = Server::start(&place.url(), &[]).await;
    let answer = erase(&server, json!({"requestId": "r", "block": true, "reference": "case"})).await.expect(202);
    let erasure = done(&server, &answer).await;
    for block in [true, false] {
        let path = "/v1/apps/app/users/unblocked/erasure";
        done(&server, &server.post(path).json(json!({"block": block})).await.expect(202)).await;
    }
    let key = server.get("/v1/receipts/keys").await.expect(200).json()["keys"][0].clone();
    assert_eq!(key["keyId"], erasure["receipt"]["keyId"]);
    // While it runs.
    let ledger = ran(&place, &["erasures", "export"]).await;
    assert_eq!(ledger.lines().count(), 4, "{ledger}");
    stopped(server).await;
    let dir = std::env::temp_dir().join(format!("sessiond-ledger-{}", uuid::Uuid::new_v4()));
    std::fs::create_dir(&dir).unwrap();
    let file = |name: &str, text: &str| {
        let path = dir.join(name);
        std::fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_owned()
    };
    let ledger = file("ledger", &ledger);

    // A receipt is genuine as it is, by the database or by the key, and otherwise not.
    let public = key["publicKey"].as_str().unwrap();
    let receipt = file("receipt", &erasure["receipt"].to_string());
    let whole = file("whole", &serde_json::to_string_pretty(&erasure).unwrap());
    for receipt in [&receipt, &whole] {
        assert!(ran(&place, &["receipts", "verify", receipt]).await.starts_with("genuine"));
        let output = Sessiond::run(&["receipts", "verify", receipt, "--key", public], &[]).await;
        assert!(output.status.success(), "{output:?}");
        ran(&place, &["receipts", "verify", receipt, "--app", "app", "--user", "user"]).await;
        let other = run(&place, &["receipts", "verify", receipt, "--app", "app", "--user", "stays"]).await;
        assert_eq!(other.status.code(), Some(1));
    }
    let mut altered = erasure["receipt"].clone();
    altered["counts"]["events"] = json!(0);
    let altered = file("altered", &altered.to_string());
    let elsewhere = Place::sqlite();
    ran(&elsewhere, &["migrate"]).await;
    for (place, receipt) in [(&place, &altered), (&place, &ledger), (&elsewhere, &receipt)] {
        let output = run(place, &["receipts", "verify", receipt]).await;
        assert_eq!(output.status.code(), Some(1), "{output:?}");
    }
    let foreign = run(&elsewhere, &["erasures", "replay", &ledger]).await;
    assert_eq!(foreign.status.code(), Some(1));
    assert!(String::from_utf8_lossy(&foreign.stderr).contains("of another database"), "{foreign:?}");

    // The backup has it all; after the replay it has not.
    assert!(has_canary(&backup).await);
    let said = ran(&backup, &["erasures", "replay", &ledger]).await;
    assert_eq!(said, "erasures in the ledger: 3, new to this database: 3, users erased again: 3\n");
    assert!(!has_canary(&backup).await);
    let server = Server::start(&backup.url(), &[]).await;
    server.get("/v1/apps/app/users/stays/sessions/s").await.expect(200);
    server.post(S).json(json!({})).await.problem(410, "user_erased");
    let again = server.get(answer.header("location").unwrap()).await.expect(200).json();
    assert_eq!((&again["state"], &again["requestTime"]), (&json!("done"), &erasure["requestTime"]));
    assert_eq!(again["counts"]["events"], erasure["counts"]["events"]);
    assert!(erase(&server, json!({"requestId": "r"})).await.expect(200).was_replayed());
    server.post("/v1/apps/app/users/unblocked/sessions").json(json!({"sessionId": "s"})).await.expect(201);
    stopped(server).await;
    let said = ran(&backup, &["erasures", "replay", &ledger]).await;
    assert!(said.contains("new to this database: 0, users erased again: 0"), "{said}");
    let server = Server::start(&backup.url(), &[]).await;
    server.get("/v1/apps/app/users/unblocked/sessions/s").await.expect(200);
    stopped(server).await;
    backup.finish().await;
    place.finish().await;
    std::fs::remove_dir_all(dir).unwrap();
}

on_both_databases!(
    who_writes_meanwhile_is_before_or_after,
    no_trace_of_an_erased_user_is_stored,
    a_replayed_ledger_erases_again_what_a_backup_brought_back,
);

/// Whoever has the file open in a transaction keeps its log, and with it what was removed.
#[tokio::test]
async fn an_erasure_says_that_a_reader_of_the_file_holds_it_up() {
    let place = Place::sqlite();
    let metrics_port = free_port();
    let server = Server::start(&place.url(), &[&*format!("--metrics-listen=127.0.0.1:{metrics_port}")]).await;
    let metrics = Client::at(&format!("http://127.0.0.1:{metrics_port}")).unchecked();
    let waiting = async |count: &str| {
        metrics.get("/metrics").await.expect(200).text().contains(&format!("\nsessiond_erasures_waiting {count}\n"))
    };
    fill(&server, "user").await;
    let mut reader = SqliteConnection::connect(&place.url()).await.unwrap();
    sqlx::raw_sql("begin; select count(*) from events").execute(&mut reader).await.unwrap();
    let answer = erase(&server, json!({})).await.expect(202);
    let path = answer.header("location").unwrap().to_owned();
    let told = async {
        loop {
            let erasure = server.get(&path).await.expect(200).json();
            assert_eq!(erasure["state"], "running");
            if erasure["reason"].as_str().is_some_and(|reason| reason.contains("-wal")) {
                break;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(PATIENCE, told).await.expect("a reason");
    assert!(waiting("1").await);
    assert!(server.process.log().contains("erasures wait for a reader"), "{}", server.process.log());
    sqlx::raw_sql("commit").execute(&mut reader).await.unwrap();
    reader.close().await.unwrap();
    let erasure = done(&server, &answer).await;
    assert!(erasure.get("reason").is_none() && erasure["receipt"].is_object());
    assert!(waiting("0").await);
    stopped(server).await;
    place.finish().await;
}

/// Its log holds what was removed, until it is moved into the file.
#[tokio::test(flavor = "multi_thread")]
async fn an_idle_server_leaves_nothing_in_its_log() {
    let place = Place::sqlite();
    let server = Server::start(&place.url(), &["--sweep-interval=200ms"]).await;
    let Place::Sqlite(dir) = &place else { panic!("it is a file") };
    let log = dir.join("data.db-wal");
    let session = fill(&server, "user").await;
    server.post(format!("{session}/trim")).json(json!({"keepLast": 0})).await.expect(200);
    server.delete(&session).await.expect(204);
    let is_cut = async {
        while std::fs::metadata(&log).unwrap().len() > 0 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(PATIENCE, is_cut).await.expect("a log of no length");
    // And it is written to again.
    server.post(S).json(json!({"sessionId": "again"})).await.expect(201);
    stopped(server).await;
    place.finish().await;
}

/// A receipt and a ledger that went through a system with other ends of lines.
#[tokio::test]
async fn files_of_other_systems_are_read() {
    let place = Place::sqlite();
    let server = Server::start(&place.url(), &[]).await;
    fill(&server, "user").await;
    let answer = erase(&server, json!({})).await.expect(202);
    let receipt = done(&server, &answer).await["receipt"].to_string();
    stopped(server).await;
    let ledger = ran(&place, &["erasures", "export"]).await;
    let Place::Sqlite(dir) = &place else { panic!("it is a file") };
    let file = dir.join("of another system");
    let path = file.to_str().unwrap();
    for around in
        [|text: &str| text.replace('\n', "\r\n"), |text: &str| format!("\u{feff}{}\r\n", text.replace('\n', "\r\n"))]
    {
        std::fs::write(&file, around(&ledger)).unwrap();
        assert!(
            ran(&place, &["erasures", "replay", path])
                .await
                .starts_with("erasures in the ledger: 1, new to this database: 0")
        );
        std::fs::write(&file, around(&receipt)).unwrap();
        assert!(ran(&place, &["receipts", "verify", path]).await.starts_with("genuine"));
    }
    let utf16: Vec<u8> = [0xff, 0xfe].into_iter().chain(receipt.encode_utf16().flat_map(u16::to_le_bytes)).collect();
    std::fs::write(&file, utf16).unwrap();
    let refused = run(&place, &["receipts", "verify", path]).await;
    let told = String::from_utf8_lossy(&refused.stderr).into_owned();
    assert!(!refused.status.success() && told.contains("of another system: is UTF-16"), "{told}");
    place.finish().await;
}
