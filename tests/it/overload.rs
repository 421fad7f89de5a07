//! Overload: which requests are refused, what that costs the others, and which are never refused.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpSocket, TcpStream},
    time::{sleep, timeout},
};

use crate::support::{
    binary::{PATIENT, Server, together},
    client::{Answer, Client, PATIENCE},
    databases::{Place, on_both_databases, verify},
    postgres::database,
    process::free_port,
    sse::Watch,
};

const SESSIONS: &str = "/v1/apps/a/users/u/sessions";
const SESSION: &str = "/v1/apps/a/users/u/sessions/s";
const EVENTS: &str = "/v1/apps/a/users/u/sessions/s/events";

on_both_databases!(
    refusals_are_counted_and_not_logged_one_by_one,
    readers_that_do_not_read_take_the_places_of_streams_only,
    readers_that_do_not_read_are_cut_off,
    readers_that_do_not_read_do_not_hold_up_a_stop,
    answers_that_nobody_reads_take_no_more_than_their_room,
    a_search_gives_its_connection_back_between_its_pages,
    an_app_leaves_places_of_watches_and_transfers_to_another,
    bodies_that_were_only_announced_take_no_memory,
    small_bodies_have_memory_when_large_ones_have_none,
    a_body_that_makes_no_progress_is_408,
    health_is_answered_beyond_the_limit_of_connections,
    the_counters_of_refusals_are_there_from_the_start,
);

/// A server that is measured, and a client for its metrics.
pub async fn measured(place: &Place, args: &[&str]) -> (Server, Client) {
    let port = free_port();
    let listen = format!("--metrics-listen=127.0.0.1:{port}");
    let server = Server::start(&place.url(), &[args, &[&listen]].concat()).await;
    (server, Client::at(&format!("http://127.0.0.1:{port}")).unchecked())
}

/// A sample of the metrics, `None` if there is none of that name and labels.
async fn sample(metrics: &Client, name: &str) -> Option<f64> {
    let answer = metrics.get("/metrics").await.expect(200);
    let line = answer.text().lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '));
    line.map(|value| value.parse().expect("a number"))
}

pub async fn until_sample(metrics: &Client, name: &str, is_right: impl Fn(f64) -> bool) {
    let mut last = None;
    let waiting = async {
        loop {
            last = sample(metrics, name).await;
            if last.is_some_and(&is_right) {
                break;
            }
            sleep(Duration::from_millis(20)).await;
        }
    };
    if timeout(PATIENCE, waiting).await.is_err() {
        panic!("{name} stays {last:?}");
    }
}

#[track_caller]
fn overloaded(answer: &Answer) {
    assert_eq!(answer.status, 503, "{answer:?}");
    assert_eq!(answer.json()["code"], "overloaded", "{answer:?}");
    assert!(answer.header("retry-after").is_some(), "{answer:?}");
}

async fn connect(api: &Client) -> TcpStream {
    TcpStream::connect(api.address()).await.expect("connect")
}

/// The head of a POST of so many bytes, and a part of them.
async fn begin_post(api: &Client, announced: usize, part: &[u8]) -> TcpStream {
    let mut stream = connect(api).await;
    let head = format!(
        "POST {EVENTS} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: {announced}\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).await.expect("send");
    stream.write_all(part).await.expect("send");
    stream
}

/// What the server says on a connection until it closes it, and whether that was a clean end.
async fn rest(stream: &mut TcpStream) -> (Vec<u8>, bool) {
    let mut bytes = Vec::new();
    let end = timeout(PATIENCE, stream.read_to_end(&mut bytes)).await.expect("the connection ends");
    (bytes, end.is_ok())
}

const STILL: &[&str] = &["--request-timeout=50s", "--body-stall-timeout=50s"];

async fn refusals_are_counted_and_not_logged_one_by_one(place: Place) {
    const REFUSED: usize = 40;
    let (server, metrics) = measured(&place, &[STILL, &["--max-in-flight=1"]].concat()).await;
    server.post(SESSIONS).json(json!({"sessionId": "s"})).await.expect(201);
    let mut held = begin_post(&server, 2, b"{").await;
    until_sample(&metrics, "sessiond_http_requests_in_flight", |now| now >= 1.0).await;
    let asks = (0..REFUSED).map(|n| {
        let api = server.api.clone();
        async move {
            let id = format!("id\"{n}\\");
            let headers = [("x-request-id", &*id)];
            let (method, body) = if n % 2 == 0 { ("GET", None) } else { ("POST", Some(json!({}))) };
            let answer = api.send(method, EVENTS, &headers, body.as_ref()).await.expect("an answer");
            overloaded(&answer);
            assert_eq!(answer.header("x-request-id"), Some(&*id));
            assert_eq!(answer.header("content-type"), Some("application/problem+json"));
            let problem = answer.json();
            assert_eq!(problem["requestId"], id);
            assert_eq!(problem["status"], 503);
            let outcome = if n % 2 == 0 { Value::Null } else { json!("not_applied") };
            assert_eq!(problem["outcome"], outcome, "{problem}");
        }
    });
    together(asks).await;
    // An id of its own for each, if it brings none.
    let ids = [server.get(SESSION).await, server.get(SESSION).await].map(|answer| {
        overloaded(&answer);
        answer.header("x-request-id").map(str::to_owned)
    });
    assert!(ids[0].is_some() && ids[0] != ids[1], "{ids:?}");
    let refused = sample(&metrics, "sessiond_rejections_total{limit=\"in_flight\"}").await;
    assert_eq!(refused.map(|count| count.round() as usize), Some(REFUSED + 2));
    // Health is asked for on the connections of those refused, too.
    server.get("/healthz").await.expect(200);

    held.write_all(b"}").await.unwrap();
    assert_eq!(status(&mut held).await, "HTTP/1.1 201");
    let told = || {
        let log = server.process.log();
        let lines: Vec<Value> = log.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        assert!(!lines.iter().any(|line| line["message"] == "request" && line["status"] == 503), "{log}");
        lines.iter().filter_map(|line| line["in_flight"].as_u64()).sum::<u64>()
    };
    let telling = async {
        while told() < REFUSED as u64 + 2 {
            sleep(Duration::from_millis(50)).await;
        }
    };
    timeout(PATIENCE, telling).await.expect("the log tells how many were refused");
    assert_eq!(told(), REFUSED as u64 + 2);
    verify(&place.url()).await;
}

/// While one connection serves all.
async fn a_search_gives_its_connection_back_between_its_pages(place: Place) {
    let server = Server::start(&place.url(), &["--database-connections=1", "--acquire-timeout=50s"]).await;
    server.post(SESSIONS).json(json!({"sessionId": "s"})).await.expect(201);
    for _ in 0..10 {
        server.post(EVENTS).json(json!(vec![json!({}); 1000])).await.expect(201);
    }
    // Before it has the connection, and between its pages; on a busy machine, where the others come late, not of every search.
    let mut most = 0;
    for _ in 0..20 {
        let mut search = Box::pin(async { server.get(format!("{EVENTS}?text=tea")).await });
        let mut between = 0;
        let found = loop {
            let other = server.get("/v1/apps/b/state");
            tokio::select! {
                biased;
                found = &mut search => break found,
                answer = other => {
                    answer.expect(200);
                    between += 1;
                }
            }
        };
        assert_eq!(found.expect(200).json()["events"], json!([]));
        most = most.max(between);
        if most >= 6 {
            break;
        }
    }
    assert!(most >= 6, "{most}");
    drop(server);
    place.finish().await;
}

/// More than the buffers of the kernel hold on both sides.
const LONG: usize = 24;

/// A session whose history is streamed, and too long for any buffer.
async fn create_long(api: &Client) {
    api.post(SESSIONS).json(json!({"sessionId": "s"})).await.expect(201);
    api.post(SESSIONS).json(json!({"sessionId": "short"})).await.expect(201);
    let event = json!({"content": {"parts": [{"text": "x".repeat(1 << 20)}]}});
    for _ in 0..LONG / 6 {
        api.post(EVENTS).json(json!(vec![&event; 6])).await.expect(201);
    }
}

/// Asks for the history, and takes nothing of the answer.
async fn ask_for_history(api: &Client) -> TcpStream {
    ask_for(api, SESSION).await
}

async fn ask_for(api: &Client, path: &str) -> TcpStream {
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(4096).unwrap();
    let mut stream = socket.connect(api.address()).await.unwrap();
    let head = format!("GET {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n");
    stream.write_all(head.as_bytes()).await.unwrap();
    stream
}

async fn status(stream: &mut TcpStream) -> String {
    let mut start = [0; "HTTP/1.1 200".len()];
    timeout(PATIENCE, stream.read_exact(&mut start)).await.expect("an answer").expect("an answer");
    String::from_utf8_lossy(&start).into_owned()
}

async fn readers_that_do_not_read_take_the_places_of_streams_only(place: Place) {
    let stalls = ["--max-streams=2", "--max-in-flight=1", "--answer-stall-timeout=10m", "--idle-timeout=20m"];
    let args = [&["--max-body-bytes=16MiB"][..], PATIENT, &stalls].concat();
    let (server, metrics) = measured(&place, &args).await;
    create_long(&server).await;
    let in_flight = "sessiond_http_requests_in_flight";
    until_sample(&metrics, in_flight, |now| now < 1.0).await;

    let mut readers = Vec::new();
    for n in 1..=2 {
        let mut reader = ask_for_history(&server).await;
        assert_eq!(status(&mut reader).await, "HTTP/1.1 200");
        readers.push(reader);
        until_sample(&metrics, in_flight, |now| now.round() as usize == n).await;
    }
    let refused = server.get(SESSION).await;
    overloaded(&refused);
    assert_eq!(sample(&metrics, "sessiond_rejections_total{limit=\"streams\"}").await, Some(1.0));
    // All else is served, one at a time as the limit says.
    for _ in 0..5 {
        server.get(format!("{SESSIONS}/short")).await.expect(200);
        server.post(format!("{SESSIONS}/short/events")).json(json!({})).await.expect(201);
        server.get(format!("{EVENTS}?pageSize=1")).await.expect(200);
    }
    assert_eq!(sample(&metrics, in_flight).await, Some(2.0), "they are under way, and shown so");

    // They have their places until they go, or until they have it all.
    drop(readers.pop());
    until_sample(&metrics, in_flight, |now| now < 2.0).await;
    server.get(SESSION).await.expect(200);
    let (whole, cleanly) = rest(&mut readers[0]).await;
    assert!(cleanly && whole.ends_with(b"0\r\n\r\n"), "nothing was cut");
    until_sample(&metrics, in_flight, |now| now < 1.0).await;
    verify(&place.url()).await;
}

async fn readers_that_do_not_read_are_cut_off(place: Place) {
    let args = ["--max-body-bytes=16MiB", "--answer-stall-timeout=300ms"];
    let (server, metrics) = measured(&place, &args).await;
    create_long(&server).await;
    let mut reader = ask_for_history(&server).await;
    assert_eq!(status(&mut reader).await, "HTTP/1.1 200");
    until_sample(&metrics, "sessiond_http_requests_in_flight", |now| now < 1.0).await;
    let (part, _) = rest(&mut reader).await;
    assert!(!part.ends_with(b"0\r\n\r\n"), "no client takes it for the whole");
    // Who reads gets all of it, however short the time for one who does not.
    let whole = server.get(SESSION).await.expect(200).json();
    assert_eq!(whole["events"].as_array().unwrap().len(), LONG);
}

/// The kernel tells a writer that there is room when a third of its buffer is free, which takes such a reader longer than it is
/// given.
#[tokio::test(flavor = "multi_thread")]
async fn readers_of_little_who_are_steady_get_all() {
    let place = Place::sqlite();
    let args = ["--max-body-bytes=16MiB", "--answer-stall-timeout=4s", "--watch-stall=4s", "--min-rate=8KiB"];
    let server = Server::start(&place.url(), &[&args[..], PATIENT].concat()).await;
    create_long(&server).await;
    let read = async |path: String, end: &[u8]| {
        let mut reader = ask_for(&server, &path).await;
        let mut some = vec![0; 8 << 10];
        for _ in 0..48 {
            sleep(Duration::from_millis(250)).await;
            timeout(PATIENCE, reader.read_exact(&mut some)).await.expect("more").expect("more");
        }
        // More than the buffers held when it began: it was not cut off meanwhile.
        let mut bytes = Vec::new();
        let whole = async {
            while !bytes.ends_with(end) {
                assert_ne!(reader.read_buf(&mut bytes).await.expect("the rest"), 0, "{path} ends early");
            }
        };
        timeout(PATIENCE, whole).await.expect("the rest");
        assert!(bytes.len() > 16 << 20, "{path}: {}", bytes.len());
    };
    let caught_up = format!("\"revision\":{LONG}}}\n\n\r\n");
    tokio::join!(
        read(SESSION.into(), b"0\r\n\r\n"),
        read("/v1/apps/a/export".into(), b"0\r\n\r\n"),
        read(format!("{SESSION}/watch?afterSequence=0"), caught_up.as_bytes()),
    );
    verify(&place.url()).await;
}

/// What stays of a peak is no share of it: the bound is well below what each of the rounds takes.
#[tokio::test(flavor = "multi_thread")]
async fn memory_of_readers_that_do_not_read_is_given_back() {
    let place = Place::sqlite();
    let stalls = ["--answer-stall-timeout=10m", "--idle-timeout=20m"];
    let sizes = ["--max-body-bytes=16MiB", "--max-page-bytes=30MiB", "--max-answer-bytes=400MiB"];
    let (server, metrics) = measured(&place, &[&sizes[..], PATIENT, &stalls].concat()).await;
    create_long(&server).await;
    let resident = "process_resident_memory_bytes";
    server.get(EVENTS).await.expect(200);
    let before = sample(&metrics, resident).await.expect("a sample");
    for _ in 0..3 {
        let mut readers = Vec::new();
        for _ in 0..12 {
            let mut reader = ask_for(&server, EVENTS).await;
            assert_eq!(status(&mut reader).await, "HTTP/1.1 200");
            readers.push(reader);
        }
        until_sample(&metrics, resident, |now| now > before + 100e6).await;
        drop(readers);
        until_sample(&metrics, resident, |now| now < before + 50e6).await;
    }
}

async fn readers_that_do_not_read_do_not_hold_up_a_stop(place: Place) {
    let args = ["--max-body-bytes=16MiB", "--answer-stall-timeout=10m", "--idle-timeout=20m", "--drain-timeout=20s"];
    let mut server = Server::start(&place.url(), &[&args[..], PATIENT].concat()).await;
    create_long(&server).await;
    let mut readers = Vec::new();
    for path in [SESSION, "/v1/apps/a/export"] {
        let mut reader = ask_for(&server, path).await;
        assert_eq!(status(&mut reader).await, "HTTP/1.1 200");
        readers.push(reader);
    }
    server.process.sigterm();
    assert!(server.process.wait().await.success(), "{}", server.process.log());
    let log = server.process.log();
    assert!(log.contains("\"aborted\":0"), "none was left at the end of the drain: {log}");
    verify(&place.url()).await;
}

async fn answers_that_nobody_reads_take_no_more_than_their_room(place: Place) {
    let stalls = ["--answer-stall-timeout=10m", "--watch-stall=10m", "--idle-timeout=20m"];
    // An eighth of it is for other apps.
    let sizes = ["--max-body-bytes=16MiB", "--max-page-bytes=30MiB", "--max-answer-bytes=30MiB"];
    let (server, metrics) = measured(&place, &[&sizes[..], PATIENT, &stalls].concat()).await;
    create_long(&server).await;
    let other = "/v1/apps/b/users/u/sessions";
    server.post(other).json(json!({"sessionId": "s", "events": [{"content": "x".repeat(1 << 20)}]})).await.expect(201);
    let watch = || server.get(format!("{SESSION}/watch?afterSequence={LONG}")).header("accept", "text/event-stream");
    let mut live = Watch::open(watch()).await;
    let (_, caught_up) = live.caught_up().await;

    let mut reader = ask_for(&server, EVENTS).await;
    assert_eq!(status(&mut reader).await, "HTTP/1.1 200");
    overloaded(&server.get(EVENTS).await);
    overloaded(&server.get(SESSION).await);
    let refused = "sessiond_rejections_total{limit=\"answer_bytes\"}";
    assert_eq!(sample(&metrics, refused).await, Some(2.0));
    // What is small is served, and so is another app.
    for _ in 0..5 {
        server.get(format!("{SESSIONS}/short")).await.expect(200);
        server.post(format!("{SESSIONS}/short/events")).json(json!({})).await.expect(201);
        server.get(format!("{other}/s/events")).await.expect(200);
    }
    // A write is made, and its client is told to ask again. A watch that is to show it says goodbye.
    let large = |id: &str| json!({"id": id, "content": "x".repeat((4 << 20) - 100)});
    let write = || server.post(EVENTS).json(json!([large("one"), large("two")]));
    let answer = write().await;
    overloaded(&answer);
    assert_eq!(answer.json()["outcome"], "unknown", "{answer:?}");
    let head = server.get(format!("{SESSION}?numRecentEvents=0")).await.expect(200);
    assert_eq!(head.json()["revision"], LONG + 2);
    live.bye("overloaded").await;

    drop(reader);
    let trying = async { while server.get(EVENTS).await.status != 200 {} };
    timeout(PATIENCE, trying).await.expect("room comes back");
    let mut again = Watch::open(watch().header("last-event-id", caught_up.cursor())).await;
    for id in ["one", "two"] {
        assert_eq!(again.expect("event").await.json()["id"], id);
    }
    write().await.expect(200);
    server.get(SESSION).await.expect(200);
    verify(&place.url()).await;
}

async fn an_app_leaves_places_of_watches_and_transfers_to_another(place: Place) {
    let args = [&["--max-watchers=8"], STILL].concat();
    let server = Server::start(&place.url(), &args).await;
    let watch = |app: &str| {
        let path = format!("/v1/apps/{app}/users/u/sessions/s/watch");
        Watch::try_open(server.get(path).header("accept", "*/*"))
    };
    for app in ["a", "b"] {
        server.post(format!("/v1/apps/{app}/users/u/sessions")).json(json!({"sessionId": "s"})).await.expect(201);
    }
    let mut of_a = Vec::new();
    for _ in 0..7 {
        of_a.push(watch("a").await.expect("a place"));
    }
    assert_eq!(watch("a").await.expect_err("one is kept").status(), 429);
    let of_b = watch("b").await.expect("the one that is kept");
    assert_eq!(watch("b").await.expect_err("all are taken").status(), 429);
    drop((of_a, of_b));

    // Imports that send nothing, of one client.
    let begin = async || {
        let mut import = connect(&server).await;
        let head = "POST /v1/import HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/x-ndjson\r\n\
                    transfer-encoding: chunked\r\n\r\n";
        import.write_all(head.as_bytes()).await.unwrap();
        import
    };
    let mut imports = Vec::new();
    for _ in 0..3 {
        let mut import = begin().await;
        assert_eq!(status(&mut import).await, "HTTP/1.1 200");
        imports.push(import);
    }
    assert_eq!(status(&mut begin().await).await, "HTTP/1.1 503");
    server.get("/v1/apps/a/export").await.expect(200);
}

/// The answer has begun, so there is no other way to tell of trouble that passes than to wait for its end.
#[tokio::test(flavor = "multi_thread")]
async fn a_stream_waits_for_a_connection_to_the_database() {
    let database = database().await;
    let limits = ["--database-connections=1", "--acquire-timeout=1s", "--max-body-bytes=16MiB"];
    let patient = ["--lock-timeout=50s", "--statement-timeout=50s", "--request-timeout=55s"];
    let server = Server::start(&database.url, &[&limits[..], &patient].concat()).await;
    create_long(&server).await;
    let mut reader = ask_for_history(&server).await;
    assert_eq!(status(&mut reader).await, "HTTP/1.1 200");

    // The one connection waits for a lock.
    use sqlx::Connection as _;
    let mut held = sqlx::PgConnection::connect(&database.url).await.unwrap();
    sqlx::raw_sql("begin; select 1 from sessions for update").execute(&mut held).await.unwrap();
    let append = tokio::spawn({
        let api = server.api.clone();
        async move { api.post(format!("{SESSIONS}/short/events")).json(json!({})).await }
    });
    let refused = async {
        while server.get(format!("{SESSIONS}/short")).await.status != 503 {
            sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(PATIENCE, refused).await.expect("the connection is taken");
    let reading = tokio::spawn(async move { rest(&mut reader).await });
    // Others are refused several times in which the stream would have been, too.
    for _ in 0..5 {
        overloaded(&server.get(format!("{SESSIONS}/short")).await);
    }
    assert!(!reading.is_finished(), "there is more to come");
    held.close().await.unwrap();
    append.await.unwrap().expect(201);
    let (whole, cleanly) = reading.await.unwrap();
    assert!(cleanly && whole.ends_with(b"0\r\n\r\n"), "nothing was cut");
    assert!(!server.process.log().contains("was cut"));
}

const LARGE: usize = 1 << 20;

async fn bodies_that_were_only_announced_take_no_memory(place: Place) {
    let sizes = ["--max-value-bytes=1MiB", "--max-event-bytes=1MiB", "--max-body-bytes=1MiB"];
    let args = [STILL, &sizes, &["--max-buffered-bytes=1MiB"]].concat();
    let (server, metrics) = measured(&place, &args).await;
    server.post(SESSIONS).json(json!({"sessionId": "s"})).await.expect(201);
    let mut announced = Vec::new();
    for _ in 0..32 {
        announced.push(begin_post(&server, LARGE, b"{").await);
    }
    until_sample(&metrics, "sessiond_http_requests_in_flight", |now| now >= 32.0).await;
    for n in 0..4 {
        let event = json!({"id": format!("e{n}"), "content": "x".repeat(LARGE / 2)});
        server.post(EVENTS).json(&event).await.expect(201);
    }
    assert_eq!(sample(&metrics, "sessiond_rejections_total{limit=\"buffered_bytes\"}").await, Some(0.0));
    drop(announced);
    verify(&place.url()).await;
}

async fn small_bodies_have_memory_when_large_ones_have_none(place: Place) {
    let sizes = ["--max-value-bytes=1MiB", "--max-event-bytes=1MiB", "--max-body-bytes=1MiB"];
    let args = [STILL, &sizes, &["--max-buffered-bytes=2MiB"]].concat();
    let (server, metrics) = measured(&place, &args).await;
    server.post(SESSIONS).json(json!({"sessionId": "s"})).await.expect(201);
    // Two are together more than there is for large ones: one of them is refused, or both, and one that is not holds what it has.
    let part = vec![b' '; LARGE - 10];
    let large = json!({"content": "x".repeat(LARGE - 100)});
    let mut begun = Vec::new();
    let trying = async {
        loop {
            begun.push(begin_post(&server, LARGE, &part).await);
            let answer = server.post(EVENTS).json(&large).await;
            if answer.status == 503 {
                break overloaded(&answer);
            }
        }
    };
    timeout(PATIENCE, trying).await.expect("there is no memory for a large one");
    for _ in 0..20 {
        server.post(EVENTS).json(json!({"content": "x".repeat(10_000)})).await.expect(201);
    }
    assert!(sample(&metrics, "sessiond_rejections_total{limit=\"buffered_bytes\"}").await.unwrap() >= 1.0);
    drop(begun.pop());
    for stream in &mut begun {
        let _ = stream.shutdown().await;
    }
    let trying = async { while server.post(EVENTS).json(&large).await.status != 201 {} };
    timeout(PATIENCE, trying).await.expect("memory comes back");
    verify(&place.url()).await;
}

async fn a_body_that_makes_no_progress_is_408(place: Place) {
    let args = ["--request-timeout=10m", "--idle-timeout=20m", "--body-stall-timeout=500ms", "--min-rate=1MiB"];
    let server = Server::start(&place.url(), &args).await;
    server.post(SESSIONS).json(json!({"sessionId": "s"})).await.expect(201);
    let mut silent = begin_post(&server, 100, b"{").await;
    let mut trickle = begin_post(&server, 1 << 20, b"{").await;
    let (mut read, mut write) = trickle.split();
    let mut answer = [0; "HTTP/1.1 408".len()];
    let trickling = async {
        while write.write_all(b" ").await.is_ok() {
            sleep(Duration::from_millis(20)).await
        }
    };
    let answered = async {
        tokio::select! {
            read = read.read_exact(&mut answer) => drop(read.unwrap()),
            () = trickling => panic!("closed without an answer"),
        }
    };
    timeout(PATIENCE, answered).await.expect("an answer to the trickle");
    assert_eq!(&answer, b"HTTP/1.1 408");
    assert_eq!(status(&mut silent).await, "HTTP/1.1 408");
    // A body that comes, comes through, whatever the rate of its last bytes.
    server.post(EVENTS).json(json!({})).await.expect(201);
    assert_eq!(server.get(SESSION).await.expect(200).json()["revision"], 1);
}

async fn health_is_answered_beyond_the_limit_of_connections(place: Place) {
    let (server, metrics) = measured(&place, &["--max-connections=2"]).await;
    let mut held = Vec::new();
    for _ in 0..2 {
        let mut stream = connect(&server).await;
        stream.write_all(b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\n").await.unwrap();
        assert_eq!(status(&mut stream).await, "HTTP/1.1 200");
        held.push(stream);
    }
    let ask = async |parts: &[&str]| {
        let mut stream = connect(&server).await;
        for part in parts {
            stream.write_all(part.as_bytes()).await.unwrap();
            stream.flush().await.unwrap();
            sleep(Duration::from_millis(if parts.len() > 1 { 50 } else { 0 })).await;
        }
        String::from_utf8_lossy(&rest(&mut stream).await.0).into_owned()
    };
    let end = "HTTP/1.1\r\nhost: localhost\r\n\r\n";
    for path in ["/healthz", "/readyz", "/health", "/readyz?"] {
        for method in ["GET", "HEAD"] {
            let answer = ask(&[&format!("{method} {path} {end}")]).await;
            assert!(answer.starts_with("HTTP/1.1 200 "), "{method} {path}: {answer}");
        }
    }
    let slow = ask(&["GET /hea", "lthz HTTP/1.1\r\nhost:", " localhost\r\n\r\n"]).await;
    assert!(slow.starts_with("HTTP/1.1 200 "), "{slow}");
    // One request each, and nothing else.
    let twice = ask(&[&format!("GET /healthz {end}GET /v1/apps {end}")]).await;
    assert_eq!(twice.matches("HTTP/1.1 ").count(), 1, "{twice}");
    let before = sample(&metrics, "sessiond_rejections_total{limit=\"connections\"}").await.unwrap();
    for request in ["GET /healthzz ", "GET /v1/apps ", "POST /healthz ", "GET /docs ", "GET /healthz/x ", "nonsense "] {
        let answer = ask(&[&format!("{request}{end}")]).await;
        assert!(answer.starts_with("HTTP/1.1 503 ") && answer.contains("\"overloaded\""), "{request}: {answer}");
    }
    let after = sample(&metrics, "sessiond_rejections_total{limit=\"connections\"}").await.unwrap();
    assert_eq!((after - before).round() as usize, 6);
    assert_eq!(sample(&metrics, "sessiond_http_connections").await, Some(2.0));
}

async fn the_counters_of_refusals_are_there_from_the_start(place: Place) {
    let (_server, metrics) = measured(&place, &[]).await;
    for limit in [
        "connections",
        "in_flight",
        "streams",
        "buffered_bytes",
        "answer_bytes",
        "look_ups",
        "body",
        "event",
        "value",
        "batch",
        "operators",
        "template",
        "rendered",
        "rate_app",
        "rate_key",
        "rate_user",
    ] {
        let name = format!("sessiond_rejections_total{{limit=\"{limit}\"}}");
        assert_eq!(sample(&metrics, &name).await, Some(0.0), "{name}");
    }
    for state in ["idle", "used"] {
        assert!(sample(&metrics, &format!("sessiond_database_connections{{state=\"{state}\"}}")).await.is_some());
    }
    for (name, least) in [
        ("process_cpu_seconds_total", 0.0),
        ("process_resident_memory_bytes", 1e6),
        ("process_virtual_memory_bytes", 1e6),
        ("process_open_fds", 5.0),
        ("process_max_fds", 5.0),
        ("process_start_time_seconds", 1.6e9),
        ("process_threads", 2.0),
    ] {
        let value = sample(&metrics, name).await;
        assert!(value.is_some_and(|value| value >= least), "{name}: {value:?}");
    }
}
