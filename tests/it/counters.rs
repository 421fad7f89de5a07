//! Counters and keys that many clients write: no update is lost, doubled or overwritten unnoticed.

use std::{
    collections::BTreeSet,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use serde_json::{Value, json};
use tokio::time::{sleep, timeout};

use crate::support::{
    binary::{PATIENT, Server, together},
    client::{Answer, Client, PATIENCE},
    databases::{Place, on_both_databases, verify},
    load::check_log,
};

const SESSIONS: &str = "/v1/apps/a/users/u/sessions";
const USER_STATE: &str = "/v1/apps/a/users/u/state";

on_both_databases!(
    increments_survive_kill_9_and_retries_exactly,
    a_precondition_on_a_key_has_one_winner,
    writers_of_other_keys_fail_no_precondition,
    increments_by_reading_and_writing_lose_none,
);

fn session(n: usize) -> String {
    format!("{SESSIONS}/s{n}")
}

async fn create(api: &Client, count: usize) {
    for n in 0..count {
        api.post(SESSIONS).json(json!({"sessionId": format!("s{n}")})).await.expect(201);
    }
}

/// The server that is alive right now.
type Alive = Arc<Mutex<Client>>;

/// 64 writers add 1 a thousand times each, 20 events a request, while the server is killed and started again. They
/// send a request until they have its answer, always with the same event ids.
async fn increments_survive_kill_9_and_retries_exactly(place: Place) {
    const WRITERS: usize = 64;
    const BATCHES: usize = 50;
    const BATCH: usize = 20;
    const COUNT: usize = WRITERS * BATCHES * BATCH;
    const LOGS: usize = 8;

    let mut server = Server::start(&place.url(), PATIENT).await;
    create(&server, LOGS).await;
    let alive: Alive = Arc::new(Mutex::new(server.api.clone()));
    let stored = Arc::new(AtomicUsize::new(0));
    let writers: Vec<_> = (0..WRITERS)
        .map(|writer| {
            let (alive, stored) = (alive.clone(), stored.clone());
            tokio::spawn(async move {
                for batch in 0..BATCHES {
                    let increment = json!([{"op": "increment", "key": "user:n", "value": 1}]);
                    let event = |n| json!({"id": format!("{writer}-{batch}-{n}"), "actions": {"stateOps": increment}});
                    let events: Value = (0..BATCH).map(event).collect();
                    send_until_stored(&alive, &format!("{}/events", session(writer % LOGS)), &events).await;
                    stored.fetch_add(BATCH, Ordering::Relaxed);
                }
            })
        })
        .collect();
    for third in 1..=2 {
        let waiting = async {
            while stored.load(Ordering::Relaxed) < COUNT * third / 3 {
                assert!(!writers.iter().any(|writer| writer.is_finished() && third == 1), "a writer failed");
                sleep(Duration::from_millis(5)).await;
            }
        };
        timeout(3 * PATIENCE, waiting).await.expect("writes succeed");
        server.process.kill_9();
        server.process.wait().await;
        server = Server::start(&place.url(), PATIENT).await;
        *alive.lock().unwrap() = server.api.clone();
    }
    for writer in writers {
        writer.await.expect("a writer met only what it may meet");
    }

    let state = server.get(USER_STATE).await.expect(200);
    assert_eq!(state.json(), json!({"n": COUNT}));
    assert_eq!(state.header("etag"), Some(&*format!("\"{}\"", WRITERS * BATCHES)), "one step for each request");
    let mut values = BTreeSet::new();
    for n in 0..LOGS {
        let log = server.get(session(n)).await.expect(200).json();
        assert_eq!(log["revision"], COUNT / LOGS);
        check_log(&log);
        let shown = log["events"].as_array().unwrap().iter().map(|event| &event["actions"]["stateDelta"]["user:n"]);
        values.extend(shown.map(|value| value.as_u64().unwrap()));
        // All events of a request saw what the whole request left.
        for revision in [1, COUNT / LOGS / 2, COUNT / LOGS] {
            let state = server.get(format!("{}/state?atRevision={revision}", session(n))).await.expect(200).json();
            let last = revision.div_ceil(BATCH) * BATCH - 1;
            assert_eq!(state["user:n"], log["events"][last]["actions"]["stateDelta"]["user:n"]);
        }
    }
    assert_eq!(values.len(), COUNT, "each number was reached by one event");
    verify(&place.url()).await;
}

async fn send_until_stored(alive: &Alive, path: &str, events: &Value) {
    let sending = async {
        loop {
            let api = alive.lock().unwrap().clone();
            match api.send("POST", path, &[], Some(events)).await {
                Ok(answer) if [200, 201].contains(&answer.status) => break,
                Ok(answer) => drop(answer.outcome_of_503()),
                // The server was killed, or is not there yet.
                Err(_) => {}
            }
            sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(PATIENCE, sending).await.expect("a request is answered in the end");
}

/// An event that sets a key if the precondition holds.
fn set(key: &str, value: impl Into<Value>, precondition: &Value) -> Value {
    json!({"actions": {"stateDelta": {key: value.into()}, "preconditions": [precondition]}})
}

/// Where the revision of the scope of `key` stands in a session's tag.
fn place_in_tag(key: &str) -> usize {
    match key.split_once(':') {
        Some(("user", _)) => 1,
        Some(("app", _)) => 2,
        _ => 0,
    }
}

async fn a_precondition_on_a_key_has_one_winner(place: Place) {
    const RACERS: usize = 16;
    let fleet = place.fleet(PATIENT).await;
    create(&fleet.api(0), RACERS).await;
    for key in ["k", "user:k", "app:k"] {
        for round in 0..6 {
            // Keys of a session are fought for in one session, and others in as many as there are racers.
            let log = |n: usize| if place_in_tag(key) == 0 { session(0) } else { session(n) };
            let seen = fleet.api(round).get(format!("{}/state", log(0))).await.expect(200);
            let revision: i64 = seen.tag_parts()[place_in_tag(key)].parse().unwrap();
            let precondition = match (round, round % 2) {
                (0, _) => json!({"key": key, "exists": false}),
                (_, 0) => json!({"key": key, "equals": seen.json()[key]}),
                _ => json!({"key": key, "revision": revision}),
            };
            let answers = together((0..RACERS).map(|n| {
                let (api, path) = (fleet.api(n), format!("{}/events", log(n)));
                let event = set(key, round * RACERS + n, &precondition);
                async move { api.post(&path).json(&event).await }
            }))
            .await;
            let (won, lost): (Vec<_>, Vec<_>) =
                answers.iter().enumerate().partition(|(_, answer)| answer.status == 201);
            let [(winner, _)] = won[..] else { panic!("{} winners with {precondition}", won.len()) };
            for (_, answer) in lost {
                let problem = refused(answer);
                assert_eq!(problem["errors"][0]["field"], "/actions/preconditions/0", "{problem}");
                let name = ["revision", "userRevision", "appRevision"][place_in_tag(key)];
                assert_eq!(problem[name], revision + 1, "{problem}");
            }
            let state = fleet.api(round).get(format!("{}/state", log(0))).await.expect(200).json();
            assert_eq!(state[key], round * RACERS + winner);
        }
    }
    fleet.verify().await;
}

/// The problem of a failed precondition.
#[track_caller]
fn refused(answer: &Answer) -> Value {
    assert_eq!(answer.status, 412, "{answer:?}");
    let problem = answer.json();
    assert_eq!((&problem["code"], &problem["outcome"]), (&json!("revision_mismatch"), &json!("not_applied")));
    problem
}

async fn writers_of_other_keys_fail_no_precondition(place: Place) {
    const WRITERS: usize = 12;
    const ROUNDS: usize = 10;
    let fleet = place.fleet(PATIENT).await;
    create(&fleet.api(0), 1).await;
    together((0..WRITERS).map(|writer| {
        let (api, key) = (fleet.api(writer), format!("{}k{writer}", ["", "user:", "app:"][writer % 3]));
        async move {
            let mut precondition = json!({"key": key, "revision": 0});
            for round in 0..ROUNDS {
                let event = set(&key, round, &precondition);
                let answer = api.post(format!("{}/events", session(0))).json(&event).await.expect(201);
                let revision: i64 = answer.tag_parts()[place_in_tag(&key)].parse().unwrap();
                precondition = json!({"key": key, "revision": revision});
            }
        }
    }))
    .await;
    let state = fleet.api(1).get(format!("{}/state", session(0))).await.expect(200);
    assert_eq!(
        state.tag_parts()[..3],
        [WRITERS, WRITERS / 3, WRITERS / 3].map(|writers| (writers * ROUNDS).to_string())
    );
    let state = state.json();
    assert!(state.as_object().unwrap().values().all(|value| *value == ROUNDS - 1), "{state}");
    fleet.verify().await;
}

/// Each client reads a shared key, adds 1 and writes it back if nobody was faster, be it by a precondition on the key
/// or by one on all that it saw.
async fn increments_by_reading_and_writing_lose_none(place: Place) {
    const WRITERS: usize = 6;
    const EACH: usize = 10;
    let fleet = place.fleet(PATIENT).await;
    create(&fleet.api(0), WRITERS).await;
    together((0..WRITERS).map(|writer| {
        let (api, path) = (fleet.api(writer), session(writer));
        async move {
            let mut done = 0;
            while done < EACH {
                let seen = api.get(format!("{path}/state")).await.expect(200);
                let count = seen.json()["user:n"].as_u64().unwrap_or(0);
                let revision: i64 = seen.tag_parts()[1].parse().unwrap();
                let whole = seen.header("etag").unwrap().to_owned();
                let mut event = json!({"actions": {"stateDelta": {"user:n": count + 1}}});
                let mut headers = Vec::new();
                match writer % 3 {
                    0 => event["actions"]["preconditions"] = json!([{"key": "user:n", "revision": revision}]),
                    1 if count == 0 => {
                        event["actions"]["preconditions"] = json!([{"key": "user:n", "exists": false}]);
                    }
                    1 => event["actions"]["preconditions"] = json!([{"key": "user:n", "equals": count}]),
                    _ => headers.push(("if-match", &*whole)),
                }
                let answer = api.send("POST", &format!("{path}/events"), &headers, Some(&event)).await.unwrap();
                if answer.status == 201 {
                    done += 1;
                } else {
                    refused(&answer);
                }
            }
        }
    }))
    .await;
    let state = fleet.api(0).get(USER_STATE).await.expect(200);
    assert_eq!(state.json(), json!({"n": WRITERS * EACH}));
    assert_eq!(state.header("etag"), Some(&*format!("\"{}\"", WRITERS * EACH)), "nobody wrote more often");
    fleet.verify().await;
}
