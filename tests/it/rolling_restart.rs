//! Two servers behind a load balancer that are restarted one after the other, while clients go on.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    time::Duration,
};

use serde_json::json;
use tokio::time::{sleep, timeout};

use crate::support::{
    client::Client,
    client::PATIENCE,
    databases::verify,
    load::check_log,
    nginx::Nginx,
    postgres::database,
    process::{Sessiond, free_port},
};

const SESSIONS: &str = "/v1/apps/a/users/u/sessions";

/// Longer than nginx leaves a server alone that refused a connection (its `fail_timeout`): with both left alone, there
/// would be nobody to ask.
const BETWEEN_RESTARTS: Duration = Duration::from_secs(11);

/// A server on a port of its own, once it serves.
async fn start(database_url: &str, port: u16) -> Sessiond {
    let listen = format!("--listen=127.0.0.1:{port}");
    let args = [&*listen, "--metrics-listen=off", "--log-format=json", "--shutdown-delay=300ms"];
    let mut process = Sessiond::spawn(&args, &[("DATABASE_URL", database_url)]);
    let api = Client::at(&process.base_url().await);
    api.get_until("/readyz", 200).await;
    process
}

/// With nginx' defaults: it does not ask for readiness, and sends nothing again that a server may have got.
#[tokio::test(flavor = "multi_thread")]
async fn a_rolling_restart_behind_nginx_loses_no_request() {
    const CLIENTS: usize = 8;
    let database = database().await;
    let ports = [free_port(), free_port()];
    let nginx = Nginx::start(&ports);
    let mut servers = Vec::new();
    for port in ports {
        servers.push(start(&database.url, port).await);
    }
    let api = Client::at(&nginx.url());
    for client in 0..CLIENTS {
        api.post(SESSIONS).json(json!({"sessionId": format!("s{client}")})).await.expect(201);
    }

    let stop = Arc::new(AtomicBool::new(false));
    let done = Arc::new(AtomicUsize::new(0));
    let clients: Vec<_> = (0..CLIENTS)
        .map(|client| {
            let (api, stop, done) = (api.clone(), stop.clone(), done.clone());
            tokio::spawn(async move {
                let session = format!("{SESSIONS}/s{client}");
                let mut appended = 0;
                while !stop.load(Ordering::Relaxed) {
                    let event = json!({"id": format!("e{appended}"), "actions": {"stateDelta": {"n": appended}}});
                    // 201, and not 200: nothing was sent twice either.
                    api.post(format!("{session}/events")).json(&event).await.expect(201);
                    appended += 1;
                    let state = api.get(format!("{session}/state")).await.expect(200).json();
                    assert_eq!(state["n"], appended - 1);
                    done.fetch_add(1, Ordering::Relaxed);
                }
                appended
            })
        })
        .collect();
    let some_more = async || {
        let before = done.load(Ordering::Relaxed);
        let waiting = async {
            while done.load(Ordering::Relaxed) < before + 100 && !clients.iter().any(|client| client.is_finished()) {
                sleep(Duration::from_millis(5)).await;
            }
        };
        timeout(PATIENCE, waiting).await.expect("requests are served");
    };
    for (n, (server, port)) in servers.iter_mut().zip(ports).enumerate() {
        if n > 0 {
            sleep(BETWEEN_RESTARTS).await;
        }
        some_more().await;
        server.sigterm();
        let status = server.wait().await;
        assert_eq!(status.code(), Some(0), "{}", server.log());
        some_more().await;
        *server = start(&database.url, port).await;
        some_more().await;
    }
    stop.store(true, Ordering::Relaxed);
    for (client, task) in clients.into_iter().enumerate() {
        let appended = match task.await {
            Ok(appended) => appended,
            Err(error) => panic!("{error}; nginx says:\n{}", nginx.log()),
        };
        let session = api.get(format!("{SESSIONS}/s{client}")).await.expect(200).json();
        assert_eq!(session["revision"], appended);
        check_log(&session);
    }
    verify(&database.url).await;
}

/// With nginx' defaults, which buffer answers and speak HTTP/1.0 to the servers. What is in a buffer would come with the end of the
/// stream, which does not come.
#[tokio::test(flavor = "multi_thread")]
async fn a_watch_behind_nginx_shows_each_event_as_it_comes() {
    let database = database().await;
    let port = free_port();
    let nginx = Nginx::start(&[port]);
    let _server = start(&database.url, port).await;
    let api = Client::at(&nginx.url());
    api.post(SESSIONS).json(json!({"sessionId": "s", "events": [{"id": "0"}]})).await.expect(201);
    let mut watch = api.get(format!("{SESSIONS}/s/watch")).header("accept-encoding", "gzip").stream().await;
    assert_eq!(watch.status(), 200);
    assert!(watch.headers().get("content-encoding").is_none());
    let mut seen = String::new();
    for n in 1..=3 {
        // The one before has come.
        let before = format!("\"id\":\"{}\"", n - 1);
        while !seen.contains(&before) {
            let chunk = timeout(PATIENCE, watch.chunk()).await.expect("in time").unwrap().expect("the stream goes on");
            seen.push_str(str::from_utf8(&chunk).unwrap());
        }
        api.post(format!("{SESSIONS}/s/events")).json(json!({"id": n.to_string()})).await.expect(201);
    }
}

/// With the defaults both are HTML of nginx.
#[tokio::test(flavor = "multi_thread")]
async fn the_documented_nginx_leaves_sizes_to_the_server() {
    let database = database().await;
    let port = free_port();
    let nginx = Nginx::documented(port);
    let _server = start(&database.url, port).await;
    let api = Client::at(&nginx.url());
    api.post(SESSIONS).json(json!({"sessionId": "s"})).await.expect(201);
    let event = |size| json!({"id": "large", "actions": {"stateDelta": {"n": "x".repeat(size)}}});
    let events = format!("{SESSIONS}/s/events");
    api.post(&events).json(event(2_000_000)).await.expect(201);
    api.post(&events).json(event(8_500_000)).await.problem(413, "payload_too_large");
    let file = format!("{SESSIONS}/s/artifacts/f");
    api.put(&file).body("a/b", vec![7; 10_000_000]).await.expect(201);
    assert_eq!(api.get(&file).await.expect(200).bytes().len(), 10_000_000);
    for session in 0..20 {
        let create = json!({"sessionId": session.to_string(), "state": {"n": "x".repeat(200_000)}});
        api.post("/v1/apps/a/users/u/sessions").json(create).await.expect(201);
    }
    let export = api.get("/v1/apps/a/export?artifacts=none").await.expect(200).text().to_owned();
    // nginx sends no more of a request once its answer has begun.
    let imported = api.post("/v1/import?appName=b").body("application/x-ndjson", export).await.expect(200);
    assert!(imported.text().contains("{\"sessions\":21,"), "{imported}");
}

/// A browser, and a client that follows `Location`, stay below the path.
#[tokio::test]
async fn below_a_path_of_a_proxy_all_stays_there() {
    let database = database().await;
    let port = free_port();
    let server = start(&database.url, port).await;
    let nginx = Nginx::below_a_path(port);
    let api = Client::at(&nginx.url()).unchecked();
    let made = api.post(format!("/sessiond{SESSIONS}")).json(json!({"sessionId": "s"})).await.expect(201);
    let location = made.header("location").expect("a location").to_owned();
    // nginx makes it absolute.
    assert_eq!(location, format!("{}/sessiond{SESSIONS}/s", nginx.url()));
    api.get(format!("/sessiond{SESSIONS}/s")).await.expect(200);
    for (page, part) in [
        ("/sessiond/", "href=\"docs\""),
        ("/sessiond/docs", "href=\"openapi.yaml\""),
        ("/sessiond/docs/", "href=\"openapi.yaml\""),
        ("/sessiond/console", "src=\"main.js\""),
        ("/sessiond/console/api.js", "new URL('..', import.meta.url)"),
    ] {
        // Redirects are followed.
        assert!(api.get(page).await.expect(200).text().contains(part), "{page}");
    }
    drop(nginx);
    drop(server);
}
