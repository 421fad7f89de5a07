//! Rates: which requests are refused, what that costs, and who is not affected.
//!
//! These tests use real time. Their rates are so low that a bucket does not fill again during a test, or such that a
//! slow machine cannot make a correct server fail.

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::time::{Duration, sleep, timeout};

use crate::support::{
    binary::{PATIENT, Server, ended},
    client::{Answer, Client, PATIENCE},
    databases::{Place, on_both_databases},
    sse::Watch,
};

on_both_databases!(
    a_large_batch_leaves_a_debt,
    an_app_with_half_of_the_places_gets_no_more_beside_another,
    what_is_refused_for_its_body_costs_nothing,
    what_is_stored_is_paid_for_by_whatever_request,
    a_search_is_paid_for_by_what_it_looks_at,
    a_file_is_paid_for_by_its_bytes,
    bodies_that_never_end_are_bounded_by_the_rate,
    an_import_is_slowed_down_to_the_rate,
    a_user_s_watches_leave_places_to_the_others_of_its_app,
    a_user_s_bodies_leave_places_to_the_others_of_its_app,
    a_user_s_uploads_leave_places_to_the_others_of_its_app,
);

/// An event in 1000 s.
const SLOW: &str = "0.001";

fn sessions(app: &str, user: &str) -> String {
    format!("/v1/apps/{app}/users/{user}/sessions")
}

fn events(app: &str) -> String {
    format!("/v1/apps/{app}/users/u/sessions/s/events")
}

/// A refusal by this limit, as it is promised; the seconds until the bucket is full enough.
#[track_caller]
fn limited(answer: &Answer, limit: &str, policy: &str) -> u64 {
    let problem = answer.problem(429, "rate_limited");
    assert_eq!(problem["limit"], limit, "{answer}");
    assert_eq!(answer.header("ratelimit-policy"), Some(policy), "{answer}");
    let service = answer.header("ratelimit").expect("RateLimit");
    let start = format!("\"{limit}\";r=0;t=");
    let seconds: u64 = service.strip_prefix(&start).expect(service).parse().expect(service);
    let retry: u64 = answer.header("retry-after").expect("Retry-After").parse().expect("seconds");
    // Up to a quarter more, rounded up.
    assert!((seconds..=seconds + seconds.div_ceil(4) + 1).contains(&retry), "{answer}");
    seconds
}

async fn create(api: &Client, app: &str) {
    api.post(sessions(app, "u")).json(json!({"sessionId": "s"})).await.expect(201);
}

fn batch(count: usize) -> Value {
    (0..count).map(|n| json!({"id": n.to_string(), "author": "agent"})).collect()
}

#[tokio::test]
async fn beyond_its_rate_an_app_is_refused_and_no_other() {
    let place = Place::sqlite();
    let server = Server::start(&place.url(), &[&format!("--rate-limit-app={SLOW}")]).await;
    create(&server, "a").await;
    let policy = r#""app";q=1;w=1000"#;
    for _ in 0..3 {
        let read = server.get(events("a")).await;
        assert!((1..=1000).contains(&limited(&read, "app", policy)), "{read}");
        assert_eq!(read.json()["outcome"], Value::Null);
        let write = server.post(events("a")).json(json!({"author": "agent"})).await;
        limited(&write, "app", policy);
        assert_eq!(write.json()["outcome"], "not_applied");
        // Whatever the path, and however it writes the name.
        for path in ["/v1/apps/%61/state", "/v1/apps/a/users", "/apps/a/users/u/sessions"] {
            limited(&server.get(path).await, "app", policy);
        }
    }
    for path in ["/healthz", "/readyz", "/health", "/version", "/v1/apps", "/openapi.yaml"] {
        for _ in 0..3 {
            server.get(path).await.expect(200);
        }
    }
    server.get("/nothing").await.problem(404, "not_found");
    create(&server, "b").await;
    drop(server);
    // What was refused did not happen.
    let server = Server::start(&place.url(), &[]).await;
    assert_eq!(server.get(events("a")).await.expect(200).json()["events"], json!([]));
    drop(server);
    place.finish().await;
}

/// A noisy app costs no line per refusal.
#[tokio::test]
async fn what_is_beyond_a_rate_is_counted_in_the_log_and_not_told_line_by_line() {
    let place = Place::sqlite();
    // The user's wait is the longer one, so it is the one that is told.
    let args = ["--rate-limit-app=0.002", &format!("--rate-limit-user={SLOW}")];
    let server = Server::start(&place.url(), &args).await;
    let paths = ["/v1/apps/a/state".to_owned(), sessions("b", "u")];
    for path in &paths {
        server.get(path).await.expect(200);
    }
    for _ in 0..20 {
        for path in &paths {
            server.get(path).await.problem(429, "rate_limited");
        }
    }
    let told = |name: &str| -> u64 {
        let log = server.process.log();
        let lines = log.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
        lines.filter_map(|line| line[name].as_u64()).sum()
    };
    let counting = async {
        while (told("rate_app"), told("rate_user")) != (20, 20) {
            sleep(Duration::from_millis(20)).await;
        }
    };
    let counted = timeout(PATIENCE, counting).await;
    let log = server.process.log();
    assert!(counted.is_ok(), "{log}");
    assert!(!log.contains("rate_limited") && !log.contains("\"status\":429"), "{log}");
    drop(server);
    place.finish().await;
}

async fn a_large_batch_leaves_a_debt(place: Place) {
    let server = Server::start(&place.url(), &[]).await;
    create(&server, "a").await;
    create(&server, "b").await;
    drop(server);
    let server = Server::start(&place.url(), &["--rate-limit-app=1", "--rate-limit-key=1"]).await;
    server.post(events("a")).json(batch(1000)).await.expect(201);
    // 1000 s worth were taken, of which 2 s worth were there. A key's limit concerns no one without a key.
    let policy = r#""app";q=2;w=2"#;
    let again = server.post(events("a")).json(batch(1000)).await;
    assert!((500..=1000).contains(&limited(&again, "app", policy)), "{again}");
    let one = server.get(events("a")).await;
    assert!((500..=1000).contains(&limited(&one, "app", policy)), "{one}");
    // The body is not even looked at.
    limited(&server.post(events("a")).json("{").await, "app", policy);
    server.get(events("b")).await.expect(200);
    drop(server);
    place.finish().await;
}

#[tokio::test]
async fn one_user_s_limit_leaves_the_app_alone() {
    let place = Place::sqlite();
    let args = ["--rate-limit-app=5", &format!("--rate-limit-user={SLOW}")];
    let server = Server::start(&place.url(), &args).await;
    let policy = r#""app";q=10;w=2, "user";q=1;w=1000"#;
    server.get(sessions("a", "u1")).await.expect(200);
    // Had each taken from the app's bucket, the app would be refused now, and not the user.
    for _ in 0..50 {
        limited(&server.get(sessions("a", "u1")).await, "user", policy);
    }
    server.get(sessions("a", "u2")).await.expect(200);
    server.get(sessions("b", "u1")).await.expect(200);
    server.get("/v1/apps/a/state").await.expect(200);
    drop(server);
    place.finish().await;
}

#[tokio::test]
async fn an_append_that_cannot_be_read_costs_as_much_as_any_request() {
    let place = Place::sqlite();
    let server = Server::start(&place.url(), &[&format!("--rate-limit-app={SLOW}")]).await;
    for (app, body, status) in [("a", "{", 400), ("b", r#"{"author":1}"#, 422), ("c", "[]", 422), ("d", "{}", 404)] {
        server.post(events(app)).json(body).await.expect(status);
        limited(&server.post(events(app)).json(body).await, "app", r#""app";q=1;w=1000"#);
    }
    drop(server);
    place.finish().await;
}

/// A key that the command line makes.
async fn key(place: &Place, grant: &[&str]) -> String {
    let (_, printed) = ended(&place.url(), &[&["keys", "create", "--name=a test"], grant].concat()).await;
    printed.lines().find(|line| line.starts_with("sdk_")).expect("a key").to_owned()
}

async fn what_is_refused_for_its_body_costs_nothing(place: Place) {
    ended(&place.url(), &["migrate"]).await;
    let user = key(&place, &["--role=user", "--apps=a", "--users=u"]).await;
    let agent = key(&place, &["--role=agent", "--apps=a", "--users=u"]).await;
    let admin = key(&place, &["--role=admin", "--apps=a", "--users=u"]).await;
    let server = Server::start(&place.url(), &[]).await;
    server.post(sessions("a", "u")).bearer(&user).json(json!({"sessionId": "s"})).await.expect(201);
    drop(server);
    let args = ["app", "key", "user"].map(|limit| format!("--rate-limit-{limit}={SLOW}"));
    let server = Server::start(&place.url(), &args.each_ref().map(String::as_str)).await;

    let (native, adk) = (sessions("a", "u"), "/apps/a/users/u/sessions");
    let (theirs, shared) = (json!([{"author": "agent"}]), json!({"app:k": 1}));
    for (method, path, body) in [
        ("POST", native.clone(), json!({"events": theirs})),
        ("POST", native.clone(), json!({"state": shared})),
        ("PUT", format!("{native}/s"), json!({"state": shared})),
        ("POST", format!("{native}/s/events"), theirs.clone()),
        ("PATCH", format!("{native}/s/state"), json!({"stateDelta": {"k": 1}, "author": "agent"})),
        ("PUT", format!("{native}/s/state/app:k"), json!(1)),
        ("POST", adk.to_owned(), json!({"events": theirs})),
        ("POST", format!("{adk}/t"), shared.clone()),
        ("PATCH", format!("{adk}/s"), json!({"stateDelta": shared})),
    ] {
        for _ in 0..3 {
            let method = method.parse().expect("a method");
            let answer = server.request(method, &path).bearer(&user).json(&body).await;
            answer.problem(403, "permission_denied");
        }
    }
    // All that there is is one request's worth, and it is still there.
    server.get(format!("{native}/s")).bearer(&user).await.expect(200);
    let policy = r#""app";q=1;w=1000, "key";q=1;w=1000, "user";q=1;w=1000"#;
    let answer = server.post(&native).bearer(&user).json(json!({"events": theirs})).await;
    answer.problem(429, "rate_limited");
    assert_eq!(answer.header("ratelimit-policy"), Some(policy), "{answer}");

    // On paths that name no app, the key pays.
    let reader = |app: &str| json!({"name": "n", "role": "reader", "apps": [app], "users": ["u"]});
    let token = |user: &str| json!({"app": "a", "user": user});
    for (key, path, beyond, within) in
        [(&admin, "/v1/keys", reader("b"), reader("a")), (&agent, "/v1/tokens", token("v"), token("u"))]
    {
        for _ in 0..5 {
            server.post(path).bearer(key).json(&beyond).await.problem(403, "permission_denied");
        }
        server.post(path).bearer(key).json(&within).await.expect(201);
        limited(&server.post(path).bearer(key).json(&within).await, "key", r#""key";q=1;w=1000"#);
    }
    drop(server);
    place.finish().await;
}

async fn an_app_with_half_of_the_places_gets_no_more_beside_another(place: Place) {
    let still = ["--max-in-flight=4", "--body-stall-timeout=50s"];
    let server = Server::start(&place.url(), &[PATIENT, &still].concat()).await;
    create(&server, "a").await;
    let path = events("a");
    let mut held = Vec::new();
    for _ in 0..4 {
        held.push(server.hold(&path, 100).await);
    }
    // They are taken when one more of the app is refused; alone, it may have all.
    server.get_until(&path, 503).await;
    server.get(sessions("b", "u")).await.problem(503, "overloaded");
    held.pop();
    server.get_until(&sessions("b", "u"), 200).await;
    server.get(&path).await.problem(503, "overloaded");
    // Below its half, it gets one beside the other again.
    held.truncate(1);
    server.get_until(&path, 200).await;
    server.get(sessions("b", "u")).await.expect(200);
    drop((held, server));
    place.finish().await;
}

/// What a request cost that met a full bucket of 1/s, seen by how long the next one would have to wait.
async fn owed(server: &Server, app: &str) -> u64 {
    let seconds = limited(&server.get(format!("/v1/apps/{app}/state")).await, "app", r#""app";q=2;w=2"#);
    // Of the two that the bucket holds, the next request would take one.
    seconds + 1
}

/// Within what came in since: the machine may be slow.
#[track_caller]
fn about(owed: u64, cost: u64) {
    assert!((cost / 2..=cost).contains(&owed), "{owed} of {cost}");
}

async fn what_is_stored_is_paid_for_by_whatever_request(place: Place) {
    let server = Server::start(&place.url(), &[]).await;
    let large = |bytes: usize| json!({"author": "agent", "content": {"parts": [{"text": "x".repeat(bytes)}]}});
    for app in ["fork", "operator", "rewind", "retry", "found", "taken"] {
        create(&server, app).await;
    }
    server.post(events("fork")).json(batch(400)).await.expect(201);
    for _ in 0..10 {
        // Of 100 KiB and a little more: 7 each.
        server.post(events("fork")).json(large(100 << 10)).await.expect(201);
    }
    let long = "x".repeat(1 << 20);
    for app in ["operator", "rewind"] {
        let state = format!("/v1/apps/{app}/users/u/sessions/s/state");
        server.patch(state).json(json!({"stateDelta": {"list": [long], "other": 1}})).await.expect(200);
    }
    server.delete("/v1/apps/rewind/users/u/sessions/s/state/list").await.expect(204);
    server.post(events("retry")).json(batch(400)).await.expect(201);
    drop(server);

    let server = Server::start(&place.url(), &["--rate-limit-app=1"]).await;
    let session = |app: &str| format!("{}/s", sessions(app, "u"));
    server.post(sessions("create", "u")).json(json!({"events": batch(500)})).await.expect(201);
    about(owed(&server, "create").await, 500);
    server.put(session("put")).json(json!({"events": batch(500)})).await.expect(201);
    about(owed(&server, "put").await, 500);
    server.post("/apps/adk/users/u/sessions").json(json!({"events": batch(500)})).await.expect(200);
    about(owed(&server, "adk").await, 500);
    server.post(format!("{}/fork", session("fork"))).await.expect(201);
    about(owed(&server, "fork").await, 470);
    // The text of the stored event counts, with what its operators come to.
    let append = json!({"author": "a", "actions": {"stateOps": [{"op": "append", "key": "list", "value": [1]}]}});
    server.post(events("operator")).json(append).await.expect(201);
    about(owed(&server, "operator").await, 65);
    server.post(format!("{}/rewind", session("rewind"))).json(json!({"toRevision": 1})).await.expect(200);
    about(owed(&server, "rewind").await, 65);
    server.put(session("large")).json(json!({"events": [large(3 << 20)]})).await.expect(201);
    about(owed(&server, "large").await, 193);

    // What stores nothing costs 1, whatever it would have cost: another one passes.
    let again = server.post(events("retry")).json(batch(400)).await.expect(200);
    assert_eq!(again.header("idempotent-replayed"), Some("true"));
    server.get(events("retry")).await.expect(200);
    server.put(session("found")).json(json!({"events": batch(400)})).await.expect(200);
    server.get(events("found")).await.expect(200);
    server.post(sessions("taken", "u")).json(json!({"sessionId": "s", "events": batch(400)})).await.expect(409);
    server.get(events("taken")).await.expect(200);
    drop(server);
    place.finish().await;
}

async fn a_search_is_paid_for_by_what_it_looks_at(place: Place) {
    let server = Server::start(&place.url(), &[]).await;
    for app in ["long", "short"] {
        create(&server, app).await;
    }
    let plain = json!(vec![json!({}); 1000]);
    for _ in 0..3 {
        server.post(events("long")).json(&plain).await.expect(201);
    }
    server.post(events("long")).json("{}").await.expect(201);
    server.post(events("short")).json(&plain).await.expect(201);
    drop(server);
    let server = Server::start(&place.url(), &["--rate-limit-app=0.01"]).await;
    for (app, cost) in [("long", 4), ("short", 1)] {
        let found = server.get(format!("{}?text=tea", events(app))).await.expect(200);
        assert_eq!(found.json()["events"], json!([]));
        let next = server.get(events(app)).await;
        about(limited(&next, "app", r#""app";q=1;w=100"#), 100 * cost);
    }
    drop(server);
    place.finish().await;
}

/// Waits until an app owes this much. What is under way is read in pieces, on a slow machine with time between them.
async fn until_paid(server: &Server, app: &str, least: u64) {
    let paid = async {
        loop {
            let answer = server.get(format!("/v1/apps/{app}/state")).await;
            if answer.status() == 429 && limited(&answer, "app", r#""app";q=2;w=2"#) >= least {
                break;
            }
            sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(PATIENCE, paid).await.expect("the bytes are paid");
}

async fn a_file_is_paid_for_by_its_bytes(place: Place) {
    let apps = ["put", "event", "post", "adk", "chunks", "cut", "fork", "retry", "address"];
    let server = Server::start(&place.url(), &[]).await;
    for app in apps {
        create(&server, app).await;
    }
    let file = |app: &str| format!("{}/s/artifacts/f?event=none", sessions(app, "u"));
    let save =
        |app: &str, path: String| server.put(path).header("idempotency-key", app).body("a/b", vec![b'x'; 1 << 20]);
    save("fork", file("fork").replace("none", "append")).await.expect(201);
    save("retry", file("retry")).await.expect(201);
    let export = server.get("/v1/apps/fork/export").await.expect(200).text().to_owned() + "\n";
    drop(server);

    // Of 64 each: 1 MiB.
    let server = Server::start(&place.url(), &["--rate-limit-app=1"]).await;
    let bytes = || vec![b'x'; 1 << 20];
    let put = |path: String| server.put(path).body("a/b", bytes());
    put(file("put")).await.expect(201);
    about(owed(&server, "put").await, 64);
    put(file("event").replace("none", "append")).await.expect(201);
    about(owed(&server, "event").await, 64);
    let text = "x".repeat(1 << 20);
    let of_user = "/v1/apps/post/users/u/artifacts";
    server.post(of_user).json(json!({"name": "f", "part": {"text": text}})).await.expect(201);
    about(owed(&server, "post").await, 64);
    let part = json!({"filename": "f", "artifact": {"text": text}});
    server.post("/apps/adk/users/u/sessions/s/artifacts").json(part).await.expect(200);
    about(owed(&server, "adk").await, 64);
    let chunks = futures_util::stream::iter((0..16).map(|_| Ok::<_, std::io::Error>(vec![b'x'; 64 << 10])));
    server.put(file("chunks")).body("a/b", reqwest::Body::wrap_stream(chunks)).await.expect(201);
    about(owed(&server, "chunks").await, 64);
    // What has come is paid, also if no more does. (What was only announced is not.)
    let mut cut = server.hold_as("PUT", &file("cut"), 2 << 20).await;
    server.get(events("cut")).await.expect(200);
    cut.write_all(&bytes()).await.expect("send");
    until_paid(&server, "cut", 50).await;
    drop(cut);
    about(owed(&server, "cut").await, 67);
    // Lines of an import, as they come.
    let importing = server.post("/v1/import?appName=import").body("application/x-ndjson", export);
    tokio::select! {
        _ = importing => panic!("it is faster than its rate"),
        () = until_paid(&server, "import", 20) => {}
    }
    // A copy shares them.
    server.post(format!("{}/s/fork", sessions("fork", "u"))).await.expect(201);
    server.get(events("fork")).await.expect(200);
    // What stores nothing costs 1.
    let again = server.put(file("retry")).header("idempotency-key", "retry").body("a/b", bytes());
    assert_eq!(again.await.expect(200).header("idempotent-replayed"), Some("true"));
    server.get(events("retry")).await.expect(200);
    let address = json!({"name": "f", "part": {"fileData": {"fileUri": "gs://a/b"}}, "event": "none"});
    server.post(format!("{}/s/artifacts", sessions("address", "u"))).json(address).await.expect(201);
    server.get(events("address")).await.expect(200);
    drop(server);
    place.finish().await;
}

/// One is taken at the head, so bodies that never come are bounded, too.
async fn bodies_that_never_end_are_bounded_by_the_rate(place: Place) {
    let server = Server::start(&place.url(), &[]).await;
    create(&server, "a").await;
    drop(server);
    let args = [PATIENT, &["--rate-limit-user=0.002", "--body-stall-timeout=50s"]].concat();
    let server = Server::start(&place.url(), &args).await;
    let held = server.hold(&events("a"), 100).await;
    let answer = server.post(events("a")).json(json!({"author": "agent"})).await;
    limited(&answer, "user", r#""user";q=1;w=500"#);
    drop((held, server));
    place.finish().await;
}

/// The lines of an import come no faster than the rate of what they store.
async fn an_import_is_slowed_down_to_the_rate(place: Place) {
    let server = Server::start(&place.url(), &[]).await;
    server.post(sessions("a", "u")).json(json!({"sessionId": "s", "events": batch(250)})).await.expect(201);
    let export = server.get("/v1/apps/a/export").await.expect(200).text().to_owned() + "\n";
    drop(server);
    let server = Server::start(&place.url(), &["--rate-limit-user=50"]).await;
    let import = || server.post("/v1/import?appName=b").body("application/x-ndjson", export.clone());
    let begun = std::time::Instant::now();
    let answer = import().await.expect(200);
    assert!(answer.text().contains("\"created\"") && answer.text().ends_with("\"events\":250}"), "{answer}");
    // 100 are in the bucket, and 1 is left for the next request.
    assert!(begun.elapsed() >= Duration::from_millis(2900), "{:?}", begun.elapsed());
    // What is there already is not stored again.
    for _ in 0..5 {
        let again = import().await.expect(200);
        assert!(again.text().contains("\"unchanged\""), "{again}");
    }
    server.get(events("b")).await.expect(200);
    drop(server);
    place.finish().await;
}

/// One user's watches, opened before anybody else came: the others of its app get theirs.
async fn a_user_s_watches_leave_places_to_the_others_of_its_app(place: Place) {
    let server = Server::start(&place.url(), &["--max-watchers=16"]).await;
    let users = ["noisy", "b", "c", "d", "e", "f"];
    for user in users {
        server.post(sessions("a", user)).json(json!({"sessionId": "s"})).await.expect(201);
    }
    let watch = |user: &str| {
        let path = format!("{}/s/watch", sessions("a", user));
        Watch::try_open(server.get(path).header("accept", "*/*"))
    };
    let mut noisy = Vec::new();
    while let Ok(mut watch) = watch("noisy").await {
        watch.caught_up().await;
        noisy.push(watch);
        assert!(noisy.len() <= 16);
    }
    assert!(noisy.len() >= 12, "alone, it has most of the places: {}", noisy.len());
    let mut others = Vec::new();
    for _ in 0..2 {
        for user in &users[1..] {
            others.push(watch(user).await.unwrap_or_else(|answer| panic!("{user}: {answer:?}")));
        }
    }
    // It has lost what is more than a quarter, and gets no more.
    assert_eq!(watch("noisy").await.expect_err("a quarter").status(), 429);
    for watch in noisy.split_off(4) {
        watch.bye("overloaded").await;
    }
    for watch in &mut others {
        watch.caught_up().await;
    }
    // Those who wait are as those who watch.
    drop(others);
    let wait = format!("{}/s/events?afterSequence=0&wait=1", sessions("a", "b"));
    server.get(wait).await.expect(200);
    drop((noisy, server));
    place.finish().await;
}

/// Appends of one user of which the bodies stop: the others of its app are served.
async fn a_user_s_bodies_leave_places_to_the_others_of_its_app(place: Place) {
    let still = ["--max-in-flight=4", "--body-stall-timeout=50s"];
    let server = Server::start(&place.url(), &[]).await;
    for user in ["u", "b", "c"] {
        server.post(sessions("a", user)).json(json!({"sessionId": "s"})).await.expect(201);
    }
    drop(server);
    // Nobody else has asked yet: it gets all places.
    let server = Server::start(&place.url(), &[PATIENT, &still].concat()).await;
    let path = events("a");
    let mut held = Vec::new();
    for _ in 0..4 {
        held.push(server.hold(&path, 100).await);
    }
    server.get_until(&path, 503).await;
    for _ in 0..10 {
        for user in ["b", "c"] {
            server.get(format!("{}/s", sessions("a", user))).await.expect(200);
            let append = server.post(format!("{}/s/events", sessions("a", user))).json(json!({"author": "user"}));
            append.await.expect(201);
        }
    }
    server.get("/v1/apps/a/state").await.expect(200);
    server.get(&path).await.problem(503, "overloaded");
    drop((held, server));
    place.finish().await;
}

/// Uploads of one user that trickle, more than half of the places: once another app has asked, the others of its app are served.
async fn a_user_s_uploads_leave_places_to_the_others_of_its_app(place: Place) {
    let server = Server::start(&place.url(), &[PATIENT, &["--body-stall-timeout=50s"]].concat()).await;
    for (app, user) in [("a", "u"), ("a", "v"), ("b", "u")] {
        server.post(sessions(app, user)).json(json!({"sessionId": "s"})).await.expect(201);
    }
    let file = |app: &str, user: &str| format!("{}/s/artifacts/f?event=none", sessions(app, user));
    let mut held = Vec::new();
    for _ in 0..80 {
        held.push(server.hold_as("PUT", &file("a", "u"), 1000).await);
    }
    for _ in 0..10 {
        for (app, user) in [("b", "u"), ("a", "v")] {
            server.put(file(app, user)).body("a/b", "bytes").await.expect(201);
        }
    }
    server.put(file("a", "u")).body("a/b", "bytes").await.problem(503, "overloaded");
    // The last ones gave way, and saved nothing.
    let mut last = held.pop().expect("80 uploads");
    let mut start = [0; "HTTP/1.1 100 Continue\r\n\r\n".len()];
    last.read_exact(&mut start["HTTP/1.1 100".len()..]).await.expect("the rest of 100 Continue");
    let mut answer = String::new();
    last.read_to_string(&mut answer).await.expect("an answer");
    assert!(answer.starts_with("HTTP/1.1 503") && answer.contains("\"not_applied\""), "{answer}");
    let mut first = held.remove(0);
    first.write_all(&[b'x'; 1000]).await.expect("send");
    server.get_until(file("a", "u").trim_end_matches("?event=none"), 200).await;
    drop((held, first, server));
    place.finish().await;
}
