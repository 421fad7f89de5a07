//! PostgreSQL's own log has no errors in normal operation: a retry, a lost race or a taken id is an answer to a client,
//! not an error of the database.

use std::time::Duration;

use serde_json::{Value, json};
use sqlx::{Connection as _, PgConnection};
use tokio::time::{sleep, timeout};

use crate::support::{
    binary::{PATIENT, Server, together},
    client::Answer,
    client::PATIENCE,
    databases::verify,
    postgres::{DedicatedPostgres, dedicated},
};

const SESSIONS: &str = "/v1/apps/a/users/u/sessions";
const SESSION: &str = "/v1/apps/a/users/u/sessions/s";
const EVENTS: &str = "/v1/apps/a/users/u/sessions/s/events";
const STATE: &str = "/v1/apps/a/users/u/sessions/s/state";

/// The lines that say that something went wrong.
fn errors(postgres: &DedicatedPostgres) -> Vec<String> {
    let severe = ["ERROR:", "FATAL:", "PANIC:", "WARNING:"];
    let log = postgres.log();
    log.lines().filter(|line| severe.iter().any(|word| line.contains(word))).map(str::to_owned).collect()
}

#[track_caller]
fn expect_one_of(answers: &[Answer], statuses: &[u16]) {
    for answer in answers {
        assert!(statuses.contains(&answer.status), "{answer:?}");
    }
}

fn event(id: &str, keys: &[&str], value: impl Into<Value>) -> Value {
    let value = value.into();
    let delta: Value = keys.iter().map(|key| ((*key).to_owned(), value.clone())).collect();
    json!({"id": id, "author": "a", "actions": {"stateDelta": delta}})
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_normal_is_no_error_in_the_databases_log() {
    let postgres = dedicated().await;
    let (first, second) = {
        let url = postgres.url("postgres");
        let args = [PATIENT, &["--sweep-interval=10ms"]].concat();
        // At one moment, on a database that nobody has migrated.
        tokio::join!(Server::start(&url, &args), Server::start(&url, &args))
    };
    let api = |n: usize| [first.api.clone(), second.api.clone()][n % 2].clone();

    // Creations: of one id, again, of an expired one, many at a time.
    for round in 0..4 {
        let answers = together((0..24).map(|n| {
            let api = api(n);
            async move {
                let id = format!("c{round}");
                match n % 4 {
                    0 => api.post(SESSIONS).json(json!({"sessionId": id, "state": {"k": n}})).await,
                    1 => api.put(format!("{SESSIONS}/{id}")).json(json!({"state": {"app:k": n, "user:k": n}})).await,
                    2 => api.post(SESSIONS).json(json!({"sessionId": id, "events": [event("e", &["app:k"], n)]})).await,
                    _ => api.post(SESSIONS).json(json!({"sessionId": "past", "expireTime": 1})).await,
                }
            }
        }))
        .await;
        expect_one_of(&answers, &[200, 201, 409]);
    }

    // Appends by both to the same sessions and scopes, sent again at once, and with other content.
    api(0).post(SESSIONS).json(json!({"sessionId": "s"})).await.expect(201);
    for round in 0..4 {
        let answers = together((0..48).map(|n| {
            let api = api(n);
            // Each id is sent twice, by one replica each.
            let id = format!("e{round}-{}", n / 2);
            let keys: &[&str] = [&["k"][..], &["k", "app:k"], &["user:k"], &["k", "user:k", "app:k"]][n / 2 % 4];
            async move { api.post(EVENTS).json(event(&id, keys, n / 2)).await }
        }))
        .await;
        expect_one_of(&answers, &[200, 201]);
    }
    for n in 0..2 {
        api(n).post(EVENTS).json(event("e0-0", &["k"], 0)).await.expect(200);
        api(n).post(EVENTS).json(event("e0-0", &["k"], "other")).await.expect(409);
        let batch = json!([event("e0-0", &["k"], 0), event(&format!("new{n}"), &["k"], 1)]);
        api(n).post(EVENTS).json(&batch).await.expect(201);
        api(n).post(EVENTS).json(&batch).await.expect(200);
        let ops = json!({"actions": {"stateOps": [{"op": "increment", "key": "count", "value": 1}]}});
        expect_one_of(
            &together([
                api(n).post(EVENTS).json(ops.clone()).into_future(),
                api(n + 1).post(EVENTS).json(ops).into_future(),
            ])
            .await,
            &[201],
        );
    }
    let stale = (0..8).map(|n| {
        let api = api(n);
        async move { api.post(EVENTS).header("if-match", "\"1\"").json(json!({})).await }
    });
    expect_one_of(&together(stale).await, &[412]);

    // Everything else that meets on one row, session or not.
    let answers = together((0..60).map(|n| {
        let api = api(n);
        async move {
            match n % 10 {
                0 => api.patch(STATE).json(json!({"stateDelta": {"k": n, "app:k": n}})).await,
                1 => api.patch("/v1/apps/a/state").json(json!({"stateDelta": {"k": n}})).await,
                2 => api.patch(format!("/v1/apps/fresh{}/state", n / 20)).json(json!({"stateDelta": {"k": n}})).await,
                3 => api.patch(SESSION).json(json!({"displayName": n.to_string()})).await,
                4 => api.post(format!("{SESSION}/fork")).json(json!({"sessionId": format!("f{}", n / 20)})).await,
                5 => api.delete(format!("{SESSIONS}/gone")).await,
                6 => api.post(SESSIONS).json(json!({"sessionId": "gone"})).await,
                7 => api.post(format!("{SESSIONS}/gone/events")).json(event(&format!("g{n}"), &["k"], n)).await,
                8 => api.post(format!("{SESSION}/rewind")).json(json!({"toRevision": 1})).await,
                _ => api.get(format!("{SESSIONS}?includeState=true")).await,
            }
        }
    }))
    .await;
    expect_one_of(&answers, &[200, 201, 204, 404, 409]);
    verify(&postgres.url("postgres")).await;
    assert_eq!(errors(&postgres), [""; 0]);
}

/// A row that somebody holds for a moment is waited for, and that is not in the log either.
#[tokio::test(flavor = "multi_thread")]
async fn a_lock_that_somebody_holds_for_a_moment_is_no_error_in_the_databases_log() {
    let postgres = dedicated().await;
    let url = postgres.url("postgres");
    let server = Server::start(&url, PATIENT).await;
    server.post(SESSIONS).json(json!({"sessionId": "s", "state": {"user:k": 0, "app:k": 0}})).await.expect(201);
    for (round, table) in ["sessions", "user_scopes", "app_scopes"].into_iter().enumerate() {
        let mut held = PgConnection::connect(&url).await.unwrap();
        let lock = match table {
            "sessions" => "begin; select 1 from sessions for update",
            "user_scopes" => "begin; select 1 from user_scopes for update",
            _ => "begin; select 1 from app_scopes for update",
        };
        sqlx::raw_sql(lock).execute(&mut held).await.unwrap();
        let append = tokio::spawn(
            server.api.post(EVENTS).json(event(&format!("e{round}"), &["k", "user:k", "app:k"], round)).into_future(),
        );
        let waiting = async {
            let waits = "select count(*) from pg_stat_activity where wait_event_type = 'Lock'";
            while sqlx::query_scalar::<_, i64>(waits).fetch_one(&mut held).await.unwrap() == 0 {
                sqlx::query("select pg_stat_clear_snapshot()").execute(&mut held).await.unwrap();
                sleep(Duration::from_millis(5)).await;
            }
        };
        timeout(PATIENCE, waiting).await.expect("the append waits for the row");
        held.close().await.unwrap();
        append.await.unwrap().expect(201);
    }
    assert_eq!(errors(&postgres), [""; 0]);
}
