//! A read outside of a grant sends nothing to the database: PostgreSQL's log of all statements proves it. The time of
//! an answer that waits for a statement could reveal what exists.

use std::collections::HashMap;
use std::time::Duration;

use reqwest::Method;
use serde_json::json;
use sqlx::{Connection as _, PgConnection};
use tokio::time::{sleep, timeout};

use crate::contract::access::{body_of, filled, operations};
use crate::support::{
    binary::{PATIENT, Server, ended},
    client::PATIENCE,
    postgres::{DedicatedPostgres, dedicated},
};

/// What one connection was asked in one transaction.
#[derive(Debug)]
struct Transaction {
    /// Where it begins in the log.
    at: usize,
    statements: Vec<String>,
    ended: bool,
}

impl Transaction {
    /// It does this and nothing else.
    fn is(&self, named: fn(&str) -> bool) -> bool {
        let is_control = |statement: &&String| matches!(word(statement), "begin" | "commit" | "rollback");
        let mut others = self.statements.iter().filter(|statement| !is_control(statement)).peekable();
        others.peek().is_some() && others.all(|statement| named(statement))
    }
}

fn word(statement: &str) -> &str {
    statement.split([' ', ';']).next().unwrap_or_default()
}

/// All transactions in a log whose lines begin with `%m [%p]`, as they do unless it is set otherwise.
fn transactions(log: &str) -> Vec<Transaction> {
    let mut all: Vec<Transaction> = Vec::new();
    // Of each backend, which one is not at its end.
    let mut open: HashMap<&str, usize> = HashMap::new();
    let mut at = 0;
    for line in log.split_inclusive('\n') {
        let begins = at;
        at += line.len();
        // The texts of all statements in question are one line.
        let Some((head, rest)) = line.trim_end().split_once("LOG:  ") else { continue };
        let statement = match rest.split_once(": ") {
            Some(("statement", statement)) => statement,
            Some((name, statement)) if name.starts_with("execute ") => statement,
            _ => continue,
        };
        let statement = statement.to_ascii_lowercase();
        let backend = head.split(['[', ']']).nth(1).expect("a process id");
        let (ends, begun) = (matches!(word(&statement), "commit" | "rollback"), word(&statement) == "begin");
        let nth = open.remove(backend).unwrap_or_else(|| {
            all.push(Transaction { at: begins, statements: Vec::new(), ended: !begun });
            all.len() - 1
        });
        all[nth].statements.push(statement);
        all[nth].ended |= ends;
        if !all[nth].ended {
            open.insert(backend, nth);
        }
    }
    all
}

/// The look-up of a credential: its key, and how often the tokens of its user were revoked.
fn looks_up_a_credential(statement: &str) -> bool {
    statement.starts_with("select ")
        && [" from api_keys where id = $1 ", " from token_epochs where ", " from token_secrets where "]
            .iter()
            .any(|from| statement.contains(from))
}

/// That a key is in use is noted after its look-up, once an hour.
fn notes_the_use_of_a_key(statement: &str) -> bool {
    statement.starts_with("update api_keys set last_used_time = ")
}

/// The sweep: before anything else it compares the clocks.
fn sweeps(statement: &str) -> bool {
    statement == "select (extract(epoch from statement_timestamp()) * 1000000)::bigint"
        || statement.ends_with(" for update skip locked")
        || statement.ends_with(" for update skip locked)")
        || statement.starts_with("select app_name, policy from policies ")
}

/// What begins on every connection before it is used.
fn sets_up_a_connection(statement: &str) -> bool {
    statement.starts_with("select set_config('synchronous_commit', ")
}

/// The transactions since the log was so long, but for those of a credential and of the background. Of one that is not
/// at its end nobody can say what it is: it is waited for.
async fn for_requests(postgres: &DedicatedPostgres, since: usize) -> Vec<Transaction> {
    let accounted = [looks_up_a_credential, notes_the_use_of_a_key, sweeps, sets_up_a_connection];
    let all_ended = async {
        loop {
            let mut all = transactions(&postgres.log());
            all.retain(|transaction| transaction.at >= since && !accounted.iter().any(|named| transaction.is(*named)));
            if all.iter().all(|transaction| transaction.ended) {
                return all;
            }
            sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(PATIENCE, all_ended).await.expect("all transactions end")
}

#[tokio::test(flavor = "multi_thread")]
async fn no_statement_reaches_the_database_for_a_read_outside_of_a_grant() {
    let postgres = dedicated().await;
    let url = postgres.url("postgres");
    let mut connection = PgConnection::connect(&url).await.expect("connect");
    sqlx::raw_sql("alter database postgres set log_statement = 'all'").execute(&mut connection).await.expect("set it");
    connection.close().await.expect("close");

    ended(&url, &["migrate"]).await;
    let (_, made) = ended(&url, &["keys", "create", "--name=a test", "--role=admin", "--apps=*"]).await;
    let admin = made.lines().find(|line| line.starts_with("sdk_")).expect("a key");
    let server = Server::start(&url, &[PATIENT, &["--sweep-interval=1h"]].concat()).await;
    for (app, user) in [("a", "u"), ("a", "other"), ("foreign", "u")] {
        let body = json!({
            "sessionId": "s", "state": {"k": 1, "user:k": 2, "app:k": 3}, "events": [{"id": "e", "author": "agent"}],
        });
        server.post(format!("/v1/apps/{app}/users/{user}/sessions")).bearer(admin).json(body).await.expect(201);
        for place in ["sessions/s/artifacts/f?event=none", "artifacts/f"] {
            server
                .put(format!("/v1/apps/{app}/users/{user}/{place}"))
                .bearer(admin)
                .body("text/plain", "a file")
                .await
                .expect(201);
        }
    }
    let key = json!({"name": "n", "role": "agent", "apps": ["a"], "users": ["u"]});
    let key = server.post("/v1/keys").bearer(admin).json(key).await.expect(201).json();
    let key = key["key"].as_str().expect("a key");
    let operator = async |users: &str| {
        let key = json!({"name": "n", "role": "operator", "apps": ["a"], "users": [users]});
        let key = server.post("/v1/keys").bearer(admin).json(key).await.expect(201).json();
        key["key"].as_str().expect("a key").to_owned()
    };
    let (of_all, of_one) = (operator("*").await, operator("u").await);
    let token = server.post("/v1/tokens").bearer(key).json(json!({"app": "a", "user": "u"})).await.expect(201).json();
    let token = token["token"].as_str().expect("a token");

    for operator in [&of_all, &of_one] {
        server.get("/v1/whoami").bearer(operator).await.expect(200);
    }
    // What a start and a new key bring with them is over, so that what follows is hardly ever excused.
    let settled = async {
        let count = |all: &[Transaction], named| all.iter().filter(|one| one.ended && one.is(named)).count();
        loop {
            let all = transactions(&postgres.log());
            if count(&all, notes_the_use_of_a_key) >= 4 && count(&all, sweeps) >= 2 {
                return;
            }
            sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(PATIENCE, settled).await.expect("the sweep at the start, and the use of four keys");

    let ask = async |credential: &str, method: &Method, template: &str, place: [&str; 3]| {
        let since = postgres.log().len();
        let [app, user, session] = place;
        let path = filled(method.as_str(), template, app, user, session);
        let query = if template.ends_with("/search") { "?text=word" } else { "" };
        let mut request = server.request(method.clone(), &format!("{path}{query}")).bearer(credential);
        if let Some(body) = body_of(method.as_str(), template) {
            request = request.json(body);
        }
        let answer = request.await;
        (answer.status(), for_requests(&postgres, since).await)
    };
    let mut asked = 0;
    for credential in [key, token] {
        server.get("/v1/whoami").bearer(credential).await.expect(200);
        for (method, template, _) in operations().iter().filter(|(_, path, reads)| *reads && path.contains("{app}")) {
            // Not for the others' roles, or not for a grant of some users.
            let credential = match ["/policy", "/export", "/activity"].iter().any(|last| template.ends_with(last)) {
                true if template.contains("{user}") => &of_one,
                true => &of_all,
                false => credential,
            };
            let methods = match &**method {
                "GET" => vec![Method::GET, Method::HEAD],
                other => vec![Method::from_bytes(other.as_bytes()).expect("a method")],
            };
            for method in &methods {
                let mut foreign = vec![["foreign", "u", "s"], ["missing", "u", "missing"]];
                if template.contains("{user}") {
                    foreign.extend([["a", "other", "s"], ["a", "nobody", "missing"]]);
                }
                for place in foreign {
                    let (status, reached) = ask(credential, method, template, place).await;
                    assert!(matches!(status, 200 | 404), "{method} {template} {place:?}: {status}");
                    assert!(reached.is_empty(), "{method} {template} {place:?}: {reached:?}");
                    asked += 1;
                }
                // It would not end, and looks for other processes' commits while it is there.
                if template.ends_with("/watch") {
                    continue;
                }
                // Off, as its ticks would be in the log at any time.
                if template.ends_with("/feed") {
                    continue;
                }
                // Its lines are read as they are taken, and here none is.
                if template.ends_with("/export") && method == Method::HEAD {
                    continue;
                }
                // The same within the grant is seen to reach it.
                let (status, reached) = ask(credential, method, template, ["a", "u", "s"]).await;
                // Search is off, as who makes its index would be in the log at any time.
                let expected = if template.ends_with("/search") { 409 } else { 200 };
                assert_eq!(status, expected, "{method} {template}");
                assert!(!reached.is_empty(), "{method} {template}");
            }
        }
    }
    assert!(asked > 100, "{asked}");
}
