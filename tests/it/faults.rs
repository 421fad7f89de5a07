//! Faults between a client, a server and its database. An acknowledged write is there once, a refused one is not, and
//! one with an unknown outcome can be sent again.

use std::time::Duration;

use serde_json::{Value, json};
use sqlx::{Connection as _, PgConnection, SqliteConnection};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::TcpStream,
    time::{sleep, timeout},
};

#[cfg(target_os = "linux")]
use crate::support::disk::{self, FaultyDisk};
use crate::support::{
    binary::{PATIENT, Server, ended, log_says, spawn, together},
    client::{Answer, Client, PATIENCE},
    databases::{Place, on_both_databases, verify},
    load::{self, Load, check_log},
    postgres::{Database, address, database, dedicated, through},
    process::{Sessiond, free_port},
    proxy::TcpProxy,
};

const SESSIONS: &str = "/v1/apps/a/users/u/sessions";
const SESSION: &str = "/v1/apps/a/users/u/sessions/s";
const EVENTS: &str = "/v1/apps/a/users/u/sessions/s/events";
const STATE: &str = "/v1/apps/a/users/u/sessions/s/state";
const USER_STATE: &str = "/v1/apps/a/users/u/state";

/// Limits so short that a test of their end is short, too.
const HASTY: &[&str] =
    &["--lock-timeout=400ms", "--acquire-timeout=400ms", "--statement-timeout=800ms", "--request-timeout=2s"];

/// The whole message by which the service commits; `commit` alone is a word of its BEGIN, too.
const COMMIT: &[u8] = b"Q\0\0\0\x0bcommit\0";

/// Part of an event's text: an append to PostgreSQL sends it in the one statement that also commits.
const WRITE: &[u8] = b"\"timestamp\":";

/// The initial state of a session: a simple creation is one statement, too.
const CREATE: &[u8] = b"{\"k\":1}";

on_both_databases!(kill_9_under_load);

/// A server whose database is behind a proxy.
async fn behind_proxy(args: &[&str]) -> (Database, TcpProxy, Server) {
    let database = database().await;
    let proxy = TcpProxy::start(address(&database.url));
    // The sweeper would run into the traps.
    let args = [&["--sweep-interval=24h"], args].concat();
    let server = Server::start(&through(&database.url, proxy.addr()), &args).await;
    (database, proxy, server)
}

/// The database is away: writes say what became of them, and the process lives.
async fn outage(api: &Client) {
    api.get_until("/readyz", 503).await;
    let probe = api.post(EVENTS).json(json!({"author": "probe"})).await;
    assert_eq!(probe.outcome_of_503(), "not_applied", "it got nowhere near a commit");
    let read = api.get(SESSION).await;
    assert_eq!(read.status, 503, "{read:?}");
    assert!(read.header("retry-after").is_some());
    assert!(read.json().get("outcome").is_none(), "a read has no outcome: {read:?}");
    api.get("/healthz").await.expect(200);
    let ready = api.get("/readyz").await.expect(503);
    assert_eq!(ready.header("content-type"), Some("application/problem+json"));
}

/// It is back: the same process serves again.
async fn recovery(api: &Client, load: &Load) {
    api.get_until("/readyz", 200).await;
    load.succeeds(100).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cut_database_loses_and_doubles_nothing() {
    let (database, proxy, server) = behind_proxy(HASTY).await;
    load::create_sessions(&server).await;
    let load = Load::start(&server, "cut");
    for _ in 0..3 {
        load.succeeds(100).await;
        proxy.cut();
        outage(&server).await;
        proxy.restore();
        recovery(&server, &load).await;
    }
    // Longer than any limit: nobody hangs up, and nobody answers.
    proxy.blackhole();
    outage(&server).await;
    proxy.restore();
    recovery(&server, &load).await;
    // Only what was open is lost, and never heard of again.
    proxy.strand();
    recovery(&server, &load).await;
    proxy.cut();
    proxy.restore();
    recovery(&server, &load).await;
    let mut record = load.stop().await;
    assert!(record.refused() > 0);
    load::verify(&server, &mut record).await;
    verify(&database.url).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_crashed_database_loses_and_doubles_nothing() {
    let mut postgres = dedicated().await;
    let server = Server::start(&postgres.url("postgres"), HASTY).await;
    load::create_sessions(&server).await;
    let load = Load::start(&server, "crash");
    for _ in 0..2 {
        load.succeeds(100).await;
        postgres.stop_immediate();
        outage(&server).await;
        postgres.start_again();
        recovery(&server, &load).await;
    }
    let mut record = load.stop().await;
    load::verify(&server, &mut record).await;
    verify(&postgres.url("postgres")).await;
}

async fn kill_9_under_load(place: Place) {
    let mut record = load::Record::default();
    let mut server = Server::start(&place.url(), HASTY).await;
    load::create_sessions(&server).await;
    for round in 0..3 {
        let load = Load::start(&server, &format!("life{round}"));
        load.succeeds(150).await;
        server.process.kill_9();
        server.process.wait().await;
        record.extend(load.stop().await);
        server = Server::start(&place.url(), HASTY).await;
        load::verify(&server, &mut record).await;
    }
    verify(&place.url()).await;
}

/// Runs `write` with the answer to its COMMIT lost (`swallowed`), or the COMMIT itself.
async fn unclear(proxy: &TcpProxy, swallowed: bool, write: impl IntoFuture<Output = Answer>) -> Answer {
    unclear_by(COMMIT, proxy, swallowed, write).await
}

/// [`unclear`], of an append.
async fn unclear_append(proxy: &TcpProxy, swallowed: bool, append: impl IntoFuture<Output = Answer>) -> Answer {
    unclear_by(WRITE, proxy, swallowed, append).await
}

async fn unclear_by(
    what: &'static [u8],
    proxy: &TcpProxy,
    swallowed: bool,
    write: impl IntoFuture<Output = Answer>,
) -> Answer {
    let fired = proxy.fired();
    if swallowed {
        proxy.cut_on(what)
    } else {
        proxy.cut_before(what)
    };
    let answer = write.await;
    assert_eq!(proxy.fired(), fired + 1, "the trap was met once: {answer:?}");
    answer
}

/// The service finds its own traces: the client sees a plain success, and nothing happens twice.
#[tokio::test(flavor = "multi_thread")]
async fn a_lost_answer_to_commit_is_found_out() {
    let (database, proxy, server) = behind_proxy(&[]).await;
    for swallowed in [true, false] {
        let fresh = |answer: &Answer| assert_eq!(answer.header("idempotent-replayed"), None, "{answer:?}");
        let user = format!("/v1/apps/a-{swallowed}/users/u/sessions");
        let session = format!("{user}/s");
        let (events, state) = (format!("{session}/events"), format!("{session}/state"));

        let body = json!({"sessionId": "s", "state": {"app:c": 1}, "events": [{"id": "first"}, {"author": "b"}]});
        let created = unclear(&proxy, swallowed, server.post(&user).json(&body)).await.expect(201);
        assert_eq!((created.json()["revision"].clone(), &*created.tag_parts()[2]), (2.into(), "1"));
        server.post(&user).json(&body).await.expect(409);

        let put = server.put(format!("{user}/p")).json(json!({"state": {"k": 1}}));
        let put = unclear_by(CREATE, &proxy, swallowed, put).await;
        assert_eq!(put.clone().expect(201).json()["state"]["k"], 1);
        assert_eq!(server.put(format!("{user}/p")).json(json!({})).await.expect(200).tag_parts(), put.tag_parts());

        let event = json!({"id": "e", "author": "a", "actions": {"stateDelta": {"k": 1, "user:k": 1}}});
        let stored = unclear_append(&proxy, swallowed, server.post(&events).json(&event)).await.expect(201);
        fresh(&stored);
        assert_eq!(server.post(&events).json(&event).await.expect(200).text(), stored.text());
        // Without an id of the client's: the service keeps the one that it made.
        fresh(&unclear_append(&proxy, swallowed, server.post(&events).json(json!({"author": "a"}))).await.expect(201));
        // The precondition was met, and is not asked about again.
        let event_by_revision = json!({"author": "a"});
        let append = server.post(&events).header("if-match", "\"4\"").json(&event_by_revision);
        fresh(&unclear_append(&proxy, swallowed, append).await.expect(201));
        let batch = json!([{"id": "b1"}, {"id": "e", "author": "a", "actions": event["actions"]}, {"id": "b2"}]);
        let stored = unclear_append(&proxy, swallowed, server.post(&events).json(&batch)).await.expect(201).json();
        assert_eq!([&stored[0]["sequence"], &stored[1]["sequence"], &stored[2]["sequence"]], [6, 3, 7]);

        let patched = unclear(&proxy, swallowed, server.patch(&state).json(json!({"stateDelta": {"k": 2}}))).await;
        fresh(&patched);
        assert_eq!(patched.expect(200).json()["k"], 2);
        fresh(&unclear_append(&proxy, swallowed, server.put(format!("{state}/x")).json(json!([1]))).await.expect(200));
        fresh(&unclear_append(&proxy, swallowed, server.delete(format!("{state}/x"))).await.expect(204));
        let named = json!({"displayName": "n", "labels": {"a": "b"}});
        let renamed = unclear(&proxy, swallowed, server.patch(&session).json(&named)).await.expect(200);
        assert_eq!(renamed.json()["displayName"], "n");

        let whole = server.get(&session).await.expect(200).json();
        assert_eq!(whole["revision"], 10);
        assert_eq!(whole["state"], json!({"k": 2, "user:k": 1, "app:c": 1}));
        let numbers: Vec<_> = whole["events"].as_array().unwrap().iter().map(|event| &event["sequence"]).collect();
        assert_eq!(numbers, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10]);

        unclear(&proxy, swallowed, server.delete(&session)).await.expect(204);
        server.get(&session).await.expect(404);
    }
    verify(&database.url).await;
}

/// A change of a scope on its own has no event that would tell a second try from the first.
#[tokio::test(flavor = "multi_thread")]
async fn a_lost_answer_without_an_event_is_unknown() {
    let (database, proxy, server) = behind_proxy(&[]).await;
    for scope in [USER_STATE, "/v1/apps/a/state"] {
        let body = json!({"stateDelta": {"k": 1}});
        let answer = unclear(&proxy, true, server.patch(scope).json(&body)).await;
        assert_eq!(answer.outcome_of_503(), "unknown");
        assert_eq!(server.get(scope).await.expect(200).header("etag"), Some("\"1\""), "applied, and once");
        let answer = unclear(&proxy, false, server.patch(scope).json(&body)).await;
        assert_eq!(answer.outcome_of_503(), "unknown", "the server cannot know that it was not applied");
        assert_eq!(server.get(scope).await.expect(200).header("etag"), Some("\"1\""), "not applied");
        assert_eq!(server.patch(scope).json(&body).await.expect(200).header("etag"), Some("\"2\""));
    }
    verify(&database.url).await;
}

/// With a key there is something that tells.
#[tokio::test(flavor = "multi_thread")]
async fn a_lost_answer_to_a_request_with_a_key_is_found_out() {
    let (database, proxy, server) = behind_proxy(&[]).await;
    server.post(SESSIONS).json(json!({"sessionId": "s", "events": [{"id": "e"}]})).await.expect(201);
    let add = json!({"stateOps": [{"op": "increment", "key": "n", "value": 1}]});
    for (n, swallowed) in [true, false].into_iter().enumerate() {
        let keyed = async |method, path: &str, body: &Value| {
            let key = format!("key-{swallowed}");
            server.send(method, path, &[("idempotency-key", &*key)], Some(body)).await.expect("an answer")
        };
        for scope in [USER_STATE, "/v1/apps/a/state"] {
            let first = unclear(&proxy, swallowed, keyed("PATCH", scope, &add)).await.expect(200);
            assert_eq!((first.json()["n"].clone(), first.header("idempotent-replayed")), ((n + 1).into(), None));
            let again = keyed("PATCH", scope, &add).await.expect(200);
            assert_eq!((again.text(), again.header("idempotent-replayed")), (first.text(), Some("true")));
        }
        let sessions = format!("/v1/apps/a/users/k{swallowed}/sessions");
        let body = json!({"state": {"k": 1, "app:k": n}, "events": [{"author": "a"}]});
        let made = unclear(&proxy, swallowed, keyed("POST", &sessions, &body)).await.expect(201);
        assert_eq!(made.header("idempotent-replayed"), None);
        assert_eq!(keyed("POST", &sessions, &body).await.expect(200).text(), made.text());
        let fork = format!("{sessions}/{}/fork", made.json()["id"].as_str().unwrap());
        let refused = keyed("POST", &fork, &json!({})).await.expect(409);
        assert_eq!(refused.json()["code"], "session_already_exists");
        let refork = async || {
            server.send("POST", &fork, &[("idempotency-key", "fork")], Some(&json!({}))).await.expect("an answer")
        };
        let forked = unclear(&proxy, swallowed, refork()).await.expect(201);
        let again = refork().await;
        assert_eq!(again.expect(200).text(), forked.text());
        let list = server.get(&sessions).await.expect(200).json();
        assert_eq!(list["sessions"].as_array().unwrap().len(), 2);
    }
    verify(&database.url).await;
}

/// A second try that fails for another reason does not make the first one's outcome any clearer.
#[tokio::test(flavor = "multi_thread")]
async fn an_unclear_commit_stays_unclear_if_the_database_is_busy() {
    let (database, proxy, server) = behind_proxy(&["--lock-timeout=6s"]).await;
    server.post(SESSIONS).json(json!({"sessionId": "s"})).await.expect(201);
    server.patch(USER_STATE).json(json!({"stateDelta": {"k": 0}})).await.expect(200);
    // The append is held up after it has the session's row, for which another one queues meanwhile.
    let mut user = lock(&database, "user_scopes").await;
    proxy.cut_on(COMMIT);
    // Its answer shows the state, so it takes locks.
    let change = json!({"eventId": "e", "stateDelta": {"user:k": 1}});
    let append = tokio::spawn({
        let (api, change) = (server.api.clone(), change.clone());
        async move { api.patch(STATE).json(&change).await }
    });
    waiting(&mut user, 1).await;
    let queued = tokio::spawn(async move { (lock(&database, "sessions").await, database) });
    waiting(&mut user, 2).await;
    user.close().await.unwrap();
    let (session, database) = queued.await.unwrap();
    let answer = append.await.unwrap();
    assert_eq!(answer.outcome_of_503(), "unknown");
    session.close().await.unwrap();
    let again = server.patch(STATE).json(&change).await.expect(200);
    assert_eq!(again.header("idempotent-replayed"), Some("true"));
    assert_eq!(server.get(SESSION).await.expect(200).json()["revision"], 1);
    verify(&database.url).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_unclear_commit_stays_unclear_if_the_database_stays_away() {
    let (database, proxy, server) = behind_proxy(HASTY).await;
    server.post(SESSIONS).json(json!({"sessionId": "s"})).await.expect(201);
    // The service's second try comes within milliseconds, and may be faster than the cut.
    for n in 0..100 {
        let fired = proxy.fired();
        proxy.cut_on(WRITE);
        let event = json!({"id": format!("e{n}")});
        let append = tokio::spawn({
            let (api, event) = (server.api.clone(), event.clone());
            async move { api.post(EVENTS).json(&event).await }
        });
        while proxy.fired() == fired {
            tokio::task::yield_now().await;
        }
        proxy.cut();
        let answer = append.await.unwrap();
        proxy.restore();
        if answer.status == 503 {
            assert_eq!(answer.outcome_of_503(), "unknown");
            server.get_until("/readyz", 200).await;
            server.post(EVENTS).json(&event).await.expect(200);
            check_log(&server.get(SESSION).await.expect(200).json());
            verify(&database.url).await;
            return;
        }
        answer.expect(201);
    }
    panic!("the second try was always faster");
}

/// Whatever the database is asked about a lease, a second try finds what the first one did.
#[tokio::test(flavor = "multi_thread")]
async fn a_lost_answer_about_a_lease_is_found_out() {
    let (database, proxy, server) = behind_proxy(&[]).await;
    for swallowed in [true, false] {
        let session = format!("{SESSIONS}/s-{swallowed}");
        let (lease, events) = (format!("{session}/lease"), format!("{session}/events"));
        server.put(&session).json(json!({})).await.expect(201);
        let ask = json!({"owner": "o", "ttl": 900});
        let granted = unclear(&proxy, swallowed, server.post(&lease).json(&ask)).await.expect(201).json();
        assert_eq!(granted["epoch"], 1);
        let renewed = server.put(&lease).json(json!({"epoch": 1, "ttl": 800}));
        unclear(&proxy, swallowed, renewed).await.expect(200);
        let event = json!({"id": "e"});
        let append = server.post(&events).header("sessiond-lease", "1").json(&event);
        let stored = unclear_append(&proxy, swallowed, append).await.expect(201);
        assert_eq!(stored.header("idempotent-replayed"), None);
        let steal = server.post(&lease).json(json!({"owner": "p", "steal": true}));
        assert_eq!(unclear(&proxy, swallowed, steal).await.expect(201).json()["epoch"], 2);
        let again = server.post(&events).header("sessiond-lease", "1").json(&event).await.expect(200);
        assert_eq!((again.text(), again.header("idempotent-replayed")), (stored.text(), Some("true")));
        unclear(&proxy, swallowed, server.delete(format!("{lease}?epoch=2"))).await.expect(204);
        assert!(server.get(&lease).await.expect(200).json().get("owner").is_none());
    }
    verify(&database.url).await;
}

/// The answer to an append is lost for good, and its writer is superseded before it asks again: what was committed is a
/// replay, and what was not is fenced.
#[tokio::test(flavor = "multi_thread")]
async fn a_retry_after_a_lost_answer_is_a_replay_though_it_was_superseded() {
    let (database, proxy, server) = behind_proxy(HASTY).await;
    let direct = Server::start(&database.url, HASTY).await;
    let lease = format!("{SESSION}/lease");
    let mut met = [false; 2];
    for n in 0..100 {
        let swallowed = met[0];
        server.put(SESSION).json(json!({})).await;
        let body = json!({"owner": format!("o{n}"), "steal": true});
        let epoch = direct.post(&lease).json(&body).await.expect(201).json()["epoch"].to_string();
        let fired = proxy.fired();
        if swallowed {
            proxy.cut_on(WRITE)
        } else {
            proxy.cut_before(WRITE)
        }
        let event = json!({"id": format!("e{n}")});
        let append = tokio::spawn({
            let (api, event, epoch) = (server.api.clone(), event.clone(), epoch.clone());
            async move { api.post(EVENTS).header("sessiond-lease", epoch).json(&event).await }
        });
        while proxy.fired() == fired {
            tokio::task::yield_now().await;
        }
        proxy.cut();
        let answer = append.await.unwrap();
        proxy.restore();
        server.get_until("/readyz", 200).await;
        // The service's second try comes within milliseconds, and may be faster than the cut.
        if answer.status == 503 {
            assert_eq!(answer.outcome_of_503(), "unknown");
            let body = json!({"owner": format!("p{n}"), "steal": true});
            direct.post(&lease).json(&body).await.expect(201);
            let again = server.post(EVENTS).header("sessiond-lease", &epoch).json(&event).await;
            if swallowed {
                assert_eq!(again.expect(200).header("idempotent-replayed"), Some("true"));
                met[1] = true;
            } else {
                assert_eq!(again.problem(409, "fenced")["outcome"], "not_applied");
                met[0] = true;
            }
        }
        if met == [true; 2] {
            check_log(&server.get(SESSION).await.expect(200).json());
            verify(&database.url).await;
            return;
        }
    }
    panic!("the second try was always faster");
}

/// A transaction that holds every row of a table, of the app that the tests use.
async fn lock(database: &Database, table: &'static str) -> PgConnection {
    let mut connection = PgConnection::connect(&database.url).await.unwrap();
    let statement = match table {
        "sessions" => "begin; select 1 from sessions where app_name = 'a' for update",
        "user_scopes" => "begin; select 1 from user_scopes where app_name = 'a' for update",
        "app_scopes" => "begin; select 1 from app_scopes where app_name = 'a' for update",
        _ => panic!("no such lock: {table}"),
    };
    sqlx::raw_sql(statement).execute(&mut connection).await.unwrap();
    connection
}

/// Until so many connections to the database wait for a lock.
async fn waiting(connection: &mut PgConnection, count: i64) {
    let distributed: bool = sqlx::query_scalar("select to_regclass('citus_stat_activity') is not null")
        .fetch_one(&mut *connection)
        .await
        .unwrap();
    let count_waits = match distributed {
        false => {
            "select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'"
        }
        // Those of all nodes.
        true => {
            "select count(*) from citus_stat_activity where datname = current_database() and wait_event_type = 'Lock'"
        }
    };
    let waiting = async {
        loop {
            // A transaction sees the same statistics until its end.
            sqlx::query("select pg_stat_clear_snapshot()").execute(&mut *connection).await.unwrap();
            let found: i64 = sqlx::query_scalar(count_waits).fetch_one(&mut *connection).await.unwrap();
            if found >= count {
                break;
            }
            sleep(Duration::from_millis(5)).await;
        }
    };
    timeout(PATIENCE, waiting).await.expect("somebody waits for the lock");
}

#[track_caller]
fn overloaded(answer: &Answer) {
    assert_eq!(answer.outcome_of_503(), "not_applied", "{answer:?}");
    assert_eq!(answer.json()["code"], "overloaded", "{answer:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lock_that_is_held_too_long_is_overload() {
    let database = database().await;
    let server = Server::start(&database.url, HASTY).await;
    server.post(SESSIONS).json(json!({"sessionId": "s", "state": {"user:k": 0, "app:k": 0}})).await.expect(201);
    for (table, key) in [("sessions", "k"), ("user_scopes", "user:k"), ("app_scopes", "app:k")] {
        let held = lock(&database, table).await;
        let event = json!({"actions": {"stateDelta": {key: 1}}});
        overloaded(&server.post(EVENTS).json(&event).await);
        if table == "sessions" {
            overloaded(&server.delete(SESSION).await);
            overloaded(&server.patch(SESSION).json(json!({"displayName": "n"})).await);
        }
        // Readers wait for nobody.
        server.get(SESSION).await.expect(200);
        held.close().await.unwrap();
        server.post(EVENTS).json(&event).await.expect(201);
    }
    assert_eq!(server.get(SESSION).await.expect(200).json()["revision"], 3);
    verify(&database.url).await;
}

/// Appends that come together share transactions; a session that somebody else has locked is not let in.
#[tokio::test(flavor = "multi_thread")]
async fn a_locked_session_holds_up_no_other() {
    const OTHERS: usize = 30;
    const LOCKED: usize = 5;
    // In a hurry for locks alone.
    const HASTY: &[&str] =
        &["--lock-timeout=1s", "--acquire-timeout=50s", "--statement-timeout=50s", "--request-timeout=55s"];
    let database = database().await;
    let patient = Server::start(&database.url, PATIENT).await;
    let hasty = Server::start(&database.url, HASTY).await;
    for n in 0..=10 {
        patient.post(SESSIONS).json(json!({"sessionId": format!("s{n}")})).await.expect(201);
    }
    // To `s0`, which will be locked, and to others, in turn.
    let appends = |api: &Client, name: &str| {
        let append = |session: usize, n: usize| {
            let (api, id) = (api.clone(), format!("{name}-{n}"));
            let event = json!({"id": id, "actions": {"stateDelta": {"k": n, "user:k": n, "app:k": n}}});
            tokio::spawn(async move { api.post(format!("{SESSIONS}/s{session}/events")).json(&event).await })
        };
        let (mut others, mut locked) = (Vec::new(), Vec::new());
        for n in 0..OTHERS {
            others.push(append(1 + n % 10, n));
            if n % (OTHERS / LOCKED) == 0 {
                locked.push(append(0, OTHERS + n));
            }
        }
        (others, locked)
    };
    let lock = async || {
        let mut held = PgConnection::connect(&database.url).await.unwrap();
        let lock = "begin; select 1 from sessions where app_name = 'a' and id = 's0' for update";
        sqlx::raw_sql(lock).execute(&mut held).await.unwrap();
        held
    };
    for round in 0..3 {
        let held = lock().await;
        let (others, locked) = appends(&patient, &format!("patient{round}"));
        for other in others {
            other.await.unwrap().expect(201);
        }
        assert!(locked.iter().all(|append| !append.is_finished()), "they wait, and nobody for them");
        held.close().await.unwrap();
        for append in locked {
            append.await.unwrap().expect(201);
        }

        let held = lock().await;
        let name = format!("hasty{round}");
        let (others, locked) = appends(&hasty, &name);
        for other in others {
            other.await.unwrap().expect(201);
        }
        for append in locked {
            assert_eq!(append.await.unwrap().outcome_of_503(), "not_applied");
        }
        held.close().await.unwrap();
        // The same once more: what was refused was not applied, and what succeeded is known.
        let (others, locked) = appends(&hasty, &name);
        for other in others {
            assert_eq!(other.await.unwrap().expect(200).header("idempotent-replayed"), Some("true"));
        }
        for append in locked {
            append.await.unwrap().expect(201);
        }
    }
    for n in 0..=10 {
        let session = patient.get(format!("{SESSIONS}/s{n}")).await.expect(200).json();
        check_log(&session);
        assert_eq!(session["revision"], 6 * if n == 0 { LOCKED } else { OTHERS / 10 });
    }
    verify(&database.url).await;
}

/// The answer to what several appends commit by is lost, or that itself: each of them finds out on its own.
#[tokio::test(flavor = "multi_thread")]
async fn a_lost_answer_to_a_shared_commit_is_found_out() {
    let (database, proxy, server) = behind_proxy(&[]).await;
    for n in 0..4 {
        server.post(SESSIONS).json(json!({"sessionId": format!("s{n}")})).await.expect(201);
    }
    let append = |round: usize, n: usize| {
        let event = json!({"id": format!("e{round}-{n}"), "actions": {"stateDelta": {"k": n, "app:k": n}}});
        let (api, path) = (server.api.clone(), format!("{SESSIONS}/s{}/events", n % 4));
        async move { api.post(&path).json(&event).await }
    };
    for round in 0..20 {
        let fired = proxy.fired();
        if round % 2 == 0 {
            proxy.cut_on(WRITE)
        } else {
            proxy.cut_before(WRITE)
        };
        for answer in together((0..32).map(|n| append(round, n))).await {
            assert_eq!(answer.clone().expect(201).header("idempotent-replayed"), None, "{answer:?}");
        }
        assert_eq!(proxy.fired(), fired + 1);
    }
    for n in 0..4 {
        let session = server.get(format!("{SESSIONS}/s{n}")).await.expect(200).json();
        assert_eq!(session["revision"], 20 * 8);
        check_log(&session);
    }
    verify(&database.url).await;
}

/// What a batch would have refused is certain, also if the answer to the commit that it shared is lost.
#[tokio::test(flavor = "multi_thread")]
async fn a_refusal_beside_a_lost_answer_stays_a_refusal() {
    let (database, proxy, server) = behind_proxy(&[]).await;
    let other = Server::start(&database.url, &[]).await;
    for n in 0..8 {
        server
            .post(SESSIONS)
            .json(json!({"sessionId": format!("s{n}"), "events": [{"author": "a"}]}))
            .await
            .expect(201);
    }
    // The server remembers this one: by its memory, an event of a taken id is a new one.
    let known = "known";
    server.post(SESSIONS).json(json!({"sessionId": known, "events": [{"id": "first"}]})).await.expect(201);
    for round in 0..20 {
        // The server does not remember this one, so it knows of the event before it tries.
        let taken = format!("taken{round}");
        other.post(SESSIONS).json(json!({"sessionId": taken, "events": [{"id": "first"}]})).await.expect(201);
        let fired = proxy.fired();
        proxy.cut_on(WRITE);
        let answers = together((0..32).map(|n| {
            // To sessions that others write meanwhile, and to such as nobody does.
            let own = format!("{SESSIONS}/s{}/events", if n < 16 { n / 4 } else { n % 8 });
            let taken = if n % 8 == 1 { known } else { &taken };
            let (api, taken) = (server.api.clone(), format!("{SESSIONS}/{taken}/events"));
            async move {
                match n % 4 {
                    0 => api.post(&own).header("if-match", "\"0\"").json(json!({"author": "a"})).await,
                    1 => api.post(&taken).json(json!({"id": "first", "author": "b"})).await,
                    _ => api.post(&own).json(json!({"id": format!("e{round}-{n}")})).await,
                }
            }
        }))
        .await;
        assert_eq!(proxy.fired(), fired + 1);
        for (n, answer) in answers.into_iter().enumerate() {
            let status = [412, 409, 201, 201][n % 4];
            let answer = answer.expect(status);
            if status != 201 {
                assert_eq!(answer.json()["outcome"], "not_applied", "{answer:?}");
            }
        }
    }
    verify(&database.url).await;
}

/// Who comes right after a slow append, and has nothing to do with it, does not wait for it, nor for others to come.
#[tokio::test(flavor = "multi_thread")]
async fn an_append_that_waits_for_a_lock_holds_up_no_other() {
    let database = database().await;
    let server = Server::start(&database.url, PATIENT).await;
    server.post(SESSIONS).json(json!({"sessionId": "s", "state": {"user:k": 0}})).await.expect(201);
    let others = "/v1/apps/a/users/v/sessions";
    for id in TWO {
        server.post(others).json(json!({"sessionId": id})).await.expect(201);
    }
    for round in 0..10 {
        let mut held = lock(&database, "user_scopes").await;
        let slow = tokio::spawn(
            server.api.post(EVENTS).json(json!({"actions": {"stateDelta": {"user:k": round}}})).into_future(),
        );
        waiting(&mut held, 1).await;
        let quick = together(TWO.map(|id| {
            let api = server.api.clone();
            async move { api.post(format!("{others}/{id}/events")).json(json!({"author": "a"})).await }
        }));
        for answer in quick.await {
            answer.expect(201);
        }
        assert!(!slow.is_finished(), "the lock is still held");
        held.close().await.unwrap();
        slow.await.unwrap().expect(201);
    }
    verify(&database.url).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_locked_sqlite_file_is_overload() {
    let place = Place::sqlite();
    let server = Server::start(&place.url(), HASTY).await;
    server.post(SESSIONS).json(json!({"sessionId": "s"})).await.expect(201);
    let mut other = SqliteConnection::connect(&place.url()).await.unwrap();
    sqlx::raw_sql("begin immediate").execute(&mut other).await.unwrap();
    let answers = together((0..8).map(|_| {
        let api = server.api.clone();
        async move { api.post(EVENTS).json(json!({"author": "a"})).await }
    }))
    .await;
    answers.iter().for_each(overloaded);
    server.get(SESSION).await.expect(200);
    server.get("/readyz").await.expect(200);
    sqlx::raw_sql("rollback").execute(&mut other).await.unwrap();
    server.post(EVENTS).json(json!({"author": "a"})).await.expect(201);
    assert_eq!(server.get(SESSION).await.expect(200).json()["revision"], 1);
    verify(&place.url()).await;
}

/// Nothing of a commit that found no space is there, now or later; of one that met another error nobody knows.
#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread")]
async fn a_full_disk_refuses_for_certain() {
    let (place, disk, port) = (Place::sqlite(), FaultyDisk::new(), free_port());
    let metrics = format!("--metrics-listen=127.0.0.1:{port}");
    let url = place.url();
    let mut envs = vec![("DATABASE_URL", &*url)];
    let on_disk = disk.envs();
    envs.extend(on_disk.iter().map(|(name, value)| (*name, &**value)));
    let args = ["--listen=127.0.0.1:0", "--log-format=json", "--sweep-interval=24h", &metrics];
    let mut process = Sessiond::spawn(&args, &envs);
    let server = Client::at(&process.base_url().await);
    server.post(SESSIONS).json(json!({"sessionId": "s", "state": {"k": 1}})).await.expect(201);
    let before = server.get(SESSION).await.expect(200);

    disk.fail(disk::FULL);
    let refused = [
        server.post(EVENTS).json(json!({"id": "e", "author": "a"})).await,
        server.post(SESSIONS).json(json!({"sessionId": "t"})).await,
        server.post(SESSIONS).json(json!({"sessionId": "u", "events": [{"author": "a"}]})).await,
        server.patch(STATE).json(json!({"stateDelta": {"k": 2}})).await,
        server.patch(SESSION).json(json!({"displayName": "n"})).await,
        server.patch(USER_STATE).json(json!({"stateDelta": {"k": 2}})).await,
        server.delete(SESSION).await,
    ];
    for answer in refused {
        assert_eq!(answer.outcome_of_503(), "not_applied", "{answer:?}");
        assert_eq!(answer.json()["code"], "storage_unavailable", "{answer:?}");
    }
    assert_eq!(server.get(SESSION).await.expect(200).text(), before.text());
    assert!(process.log().contains("database or disk is full (13)"), "{}", process.log());
    // The line of a write says whether it happened.
    let lines: Vec<String> =
        process.log().lines().filter(|line| line.contains("is full (13)")).map(str::to_owned).collect();
    assert!(lines.iter().all(|line| line.contains(r#""outcome":"not_applied""#)), "{lines:?}");
    let warning = server.get("/readyz").await.expect(200).json()["warning"].to_string();
    assert!(warning.contains("disk of the database was full"), "{warning}");
    let metrics = Client::at(&format!("http://127.0.0.1:{port}")).unchecked().get("/metrics").await.expect(200);
    let count = |name: &str| metrics.text().lines().filter(|line| line.starts_with(name)).collect::<Vec<_>>();
    let retries = count("sessiond_database_retries_total");
    assert!(!retries.is_empty() && retries.iter().all(|line| line.ends_with(" 0")), "each was tried once: {retries:?}");
    assert_eq!(count("sessiond_unknown_outcomes_total"), ["sessiond_unknown_outcomes_total 0"]);

    disk.work();
    server.post(EVENTS).json(json!({"id": "e", "author": "a"})).await.expect(201);
    assert!(server.get("/readyz").await.expect(200).json().get("warning").is_none());
    disk.fail(disk::BROKEN);
    let open = server.post(EVENTS).json(json!({"id": "f", "author": "a"})).await;
    assert_eq!(open.outcome_of_503(), "unknown", "{open:?}");
    disk.work();
    assert!([200, 201].contains(&server.post(EVENTS).json(json!({"id": "f", "author": "a"})).await.status));
    assert_eq!(server.get(SESSION).await.expect(200).json()["revision"], 2);

    disk.fail(disk::FULL);
    assert_eq!(server.post(EVENTS).json(json!({"id": "g"})).await.outcome_of_503(), "not_applied");
    process.kill_9();
    process.wait().await;
    let server = Server::start(&place.url(), &[]).await;
    assert_eq!(server.get(SESSION).await.expect(200).json()["revision"], 2);
    server.post(EVENTS).json(json!({"id": "g"})).await.expect(201);
    verify(&place.url()).await;
}

/// What is written to a file that has no name any more is gone with the process.
#[tokio::test(flavor = "multi_thread")]
async fn a_file_that_is_not_there_any_more_takes_no_writes() {
    let place = Place::sqlite();
    let Place::Sqlite(dir) = &place else { panic!("it is SQLite") };
    let server = Server::start(&place.url(), &[]).await;
    server.post(SESSIONS).json(json!({"sessionId": "s"})).await.expect(201);
    let (file, aside) = (dir.join("data.db"), dir.join("aside.db"));
    for replaced in [false, true] {
        std::fs::rename(&file, &aside).unwrap();
        if replaced {
            std::fs::copy(&aside, &file).unwrap();
        }
        assert_eq!(server.get("/readyz").await.expect(503).json()["code"], "storage_unavailable");
        for answer in [
            server.post(EVENTS).json(json!({"id": "e"})).await,
            server.patch(USER_STATE).json(json!({"stateDelta": {}})).await,
        ] {
            assert_eq!(answer.outcome_of_503(), "not_applied", "{answer:?}");
        }
        server.get(SESSION).await.expect(503);
        server.get("/healthz").await.expect(200);
        assert!(server.process.log().contains("data.db was removed or replaced while it was open"));
        std::fs::rename(&aside, &file).unwrap();
        server.get("/readyz").await.expect(200);
        server.get(SESSION).await.expect(200);
    }
    server.post(EVENTS).json(json!({"id": "e"})).await.expect(201);
    verify(&place.url()).await;
}

/// Sessions of their own: those of one session would wait for one lock together.
const TWO: [&str; 2] = ["s", "t"];

async fn create_two(api: &Client) {
    for id in TWO {
        api.post(SESSIONS).json(json!({"sessionId": id})).await.expect(201);
    }
}

/// The `n`th append, to one of the two.
fn append_in_turn(api: &Client, n: usize) -> impl Future<Output = Answer> + Send + 'static {
    let (api, path) = (api.clone(), format!("{SESSIONS}/{}/events", TWO[n % 2]));
    async move { api.post(&path).json(json!({"id": format!("e{n}")})).await }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_used_up_pool_refuses_and_queues_nobody() {
    let database = database().await;
    let args = ["--database-connections=2", "--acquire-timeout=300ms", "--lock-timeout=50s", "--statement-timeout=50s"];
    let server = Server::start(&database.url, &[&args[..], &["--request-timeout=55s"]].concat()).await;
    create_two(&server).await;
    let mut held = lock(&database, "sessions").await;
    let append = |n: usize| append_in_turn(&server, n);
    let served: Vec<_> = (0..2).map(|n| tokio::spawn(append(n))).collect();
    // First without locks, for some milliseconds, and then to the end.
    waiting(&mut held, 2).await;
    sleep(Duration::from_millis(300)).await;
    waiting(&mut held, 2).await;
    let refused = together((2..102).map(append)).await;
    refused.iter().for_each(overloaded);
    server.get("/readyz").await.expect(503);
    server.get("/healthz").await.expect(200);
    held.close().await.unwrap();
    for answer in served {
        answer.await.unwrap().expect(201);
    }
    server.get("/readyz").await.expect(200);
    for id in TWO {
        let session = server.get(format!("{SESSIONS}/{id}")).await.expect(200).json();
        assert_eq!(session["revision"], 1, "nobody was queued");
    }
    verify(&database.url).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_beyond_the_limit_are_refused_at_once() {
    let database = database().await;
    let args = ["--max-in-flight=2", "--lock-timeout=50s", "--statement-timeout=50s", "--request-timeout=55s"];
    let server = Server::start(&database.url, &args).await;
    create_two(&server).await;
    let mut held = lock(&database, "sessions").await;
    let append = |n: usize| append_in_turn(&server, n);
    let served: Vec<_> = (0..2).map(|n| tokio::spawn(append(n))).collect();
    waiting(&mut held, 2).await;
    together((2..34).map(append)).await.iter().for_each(overloaded);
    let read = server.get(SESSION).await.expect(503);
    assert_eq!((read.json()["code"].as_str(), read.header("retry-after").is_some()), (Some("overloaded"), true));
    // Whoever asks for health must not be told that the process is dead because it is busy.
    server.get("/healthz").await.expect(200);
    server.get("/readyz").await.expect(200);
    held.close().await.unwrap();
    for answer in served {
        answer.await.unwrap().expect(201);
    }
    append(2).await.expect(201);
    verify(&database.url).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn connections_beyond_the_limit_are_refused_at_once() {
    let place = Place::sqlite();
    let server = Server::start(&place.url(), &["--max-connections=3"]).await;
    let mut open = Vec::new();
    for _ in 0..3 {
        let mut stream = TcpStream::connect(server.address()).await.unwrap();
        assert!(ask(&mut stream, "GET /healthz").await.starts_with("HTTP/1.1 200 "));
        open.push(stream);
    }
    let refused = server.post(SESSIONS).json(json!({})).await;
    overloaded(&refused);
    assert!(ask(&mut open[1], "GET /healthz").await.starts_with("HTTP/1.1 200 "), "the others live on");
    drop(open);
    server.get_until("/healthz", 200).await;
    verify(&place.url()).await;
}

/// One request on a connection that stays open: the head of the answer and what came with it.
async fn ask(stream: &mut TcpStream, head: &str) -> String {
    stream.write_all(format!("{head} HTTP/1.1\r\nhost: localhost\r\n\r\n").as_bytes()).await.unwrap();
    let mut answer = vec![0; 4096];
    let length = timeout(PATIENCE, stream.read(&mut answer)).await.unwrap().unwrap();
    String::from_utf8_lossy(&answer[..length]).into_owned()
}

/// Connections that neither answer nor break must not use up the pool, whatever they were doing.
#[tokio::test(flavor = "multi_thread")]
async fn silent_connections_leave_the_pool() {
    let (database, proxy, server) = behind_proxy(&[HASTY, &["--database-connections=4"]].concat()).await;
    server.post(SESSIONS).json(json!({"sessionId": "s"})).await.expect(201);
    let reads = || {
        together((0..12).map(|n| {
            let api = server.api.clone();
            let path = [USER_STATE, STATE, SESSIONS, SESSION][n % 4];
            async move { api.get(path).await }
        }))
    };
    for _ in 0..2 {
        assert!(reads().await.iter().all(|answer| answer.status == 200));
        proxy.strand();
        let answers = reads().await;
        assert!(answers.iter().all(|answer| [200, 503].contains(&answer.status)), "{answers:?}");
        let recovering = async { while reads().await.iter().any(|answer| answer.status != 200) {} };
        timeout(PATIENCE, recovering).await.expect("all connections are replaced");
    }
    verify(&database.url).await;
}

/// All connections of the pool have ended since they were last used, as after a failover: nobody hears of it.
#[tokio::test(flavor = "multi_thread")]
async fn connections_that_ended_are_replaced_unnoticed() {
    let database = database().await;
    let server = Server::start(&database.url, &["--sweep-interval=24h"]).await;
    server.post(SESSIONS).json(json!({"sessionId": "s", "state": {"k": 1}})).await.expect(201);
    let mut other = PgConnection::connect(&database.url).await.unwrap();
    let key = format!("{STATE}/k");
    for path in [SESSION, STATE, &key, SESSIONS, USER_STATE, EVENTS, "/v1/apps"] {
        let reads = together((0..64).map(|_| {
            let (api, path) = (server.api.clone(), path.to_owned());
            async move { api.get(&path).await }
        }));
        assert!(reads.await.iter().all(|answer| answer.status == 200));
        let ended: i64 = sqlx::query_scalar(
            "select count(pg_terminate_backend(pid)) from pg_stat_activity \
             where datname = current_database() and application_name = 'sessiond'",
        )
        .fetch_one(&mut other)
        .await
        .unwrap();
        assert!(ended > 1, "there are several: {ended}");
        server.get(path).await.expect(200);
    }
    server.post(EVENTS).json(json!({"author": "a"})).await.expect(201);
    verify(&database.url).await;
}

/// A replica that the network cuts off in the middle of a transaction must not hold its locks for as long as TCP
/// keeps hoping.
#[tokio::test(flavor = "multi_thread")]
async fn a_replica_that_is_cut_off_lets_go_of_its_locks() {
    let (database, proxy, lonely) = behind_proxy(HASTY).await;
    let other = Server::start(&database.url, HASTY).await;
    lonely.post(SESSIONS).json(json!({"sessionId": "s", "state": {"user:k": 0}})).await.expect(201);
    let mut held = lock(&database, "user_scopes").await;
    let append = tokio::spawn({
        let api = lonely.api.clone();
        // Its answer shows the state, so it takes locks.
        async move { api.patch(STATE).json(json!({"eventId": "lonely", "stateDelta": {"user:k": 1}})).await }
    });
    waiting(&mut held, 1).await;
    proxy.strand();
    held.close().await.unwrap();
    assert_eq!(append.await.unwrap().outcome_of_503(), "not_applied");
    let event = json!({"id": "other", "actions": {"stateDelta": {"user:k": 2}}});
    let trying = async {
        loop {
            let answer = other.post(EVENTS).json(&event).await;
            if answer.status == 201 {
                break;
            }
            overloaded(&answer);
        }
    };
    timeout(PATIENCE, trying).await.expect("the locks are let go");
    let session = other.get(SESSION).await.expect(200).json();
    assert_eq!(session["events"].as_array().unwrap().len(), 1, "{session}");
    verify(&database.url).await;
}

/// A server that starts before its database waits for it, also behind a proxy that takes connections and closes them.
#[tokio::test(flavor = "multi_thread")]
async fn a_start_waits_for_its_database() {
    let database = database().await;
    let (status, log) = ended(&database.url, &["migrate"]).await;
    assert_eq!(status.code(), Some(0), "{log}");
    let proxy = TcpProxy::start(address(&database.url));
    let url = through(&database.url, proxy.addr());
    let plain = format!("{url}?sslmode=disable");
    let flags: [&[&str]; 2] = [HASTY, &[HASTY, &["--no-migrate"]].concat()];
    let mut waiting = Vec::new();
    for cut in [false, true] {
        if cut {
            proxy.cut()
        } else {
            proxy.blackhole()
        }
        for url in [&url, &plain] {
            for flags in flags {
                let process = spawn(url, flags);
                log_says(&process, "waiting for the database").await;
                waiting.push(process);
            }
        }
    }
    proxy.restore();
    for mut process in waiting {
        Client::at(&process.base_url().await).get("/readyz").await.expect(200);
    }
    verify(&database.url).await;
}
