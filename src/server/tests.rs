//! The accept loop and its connections, over real sockets.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use axum::body::{Body, Bytes};
use axum::{Extension, Router, routing};
use futures_util::stream;
use tokio::io::AsyncReadExt as _;
use tokio::sync::{Notify, oneshot};
use tokio::task::JoinHandle;

use super::refusal::{SAFETY, refusal_of_head};
use super::*;

const NEVER: Duration = Duration::MAX;
const GET: &str = "GET / HTTP/1.1\r\nhost: a\r\n\r\n";

fn generous() -> ConnectionLimits {
    ConnectionLimits {
        max_connections: 100,
        header_read_timeout: NEVER,
        idle_timeout: NEVER,
        stall_timeout: NEVER,
        min_rate: 1,
        always_served: &[],
        max_header_bytes: 128 * 1024,
        drain_deadline: NEVER,
    }
}

#[derive(Default)]
struct Counts {
    opened: AtomicUsize,
    closed: AtomicUsize,
    refused: AtomicUsize,
}

impl ConnectionObserver for Counts {
    fn opened(&self) {
        self.opened.fetch_add(1, Ordering::SeqCst);
    }
    fn closed(&self) {
        self.closed.fetch_add(1, Ordering::SeqCst);
    }
    fn refused(&self) {
        self.refused.fetch_add(1, Ordering::SeqCst);
    }
}

struct Running {
    address: SocketAddr,
    counts: Arc<Counts>,
    stop: oneshot::Sender<()>,
    served: JoinHandle<Drained>,
}

async fn start(router: Router, limits: ConnectionLimits) -> Running {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let (stop, stopped) = oneshot::channel();
    let counts = Arc::<Counts>::default();
    let served = tokio::spawn(serve(listener, router, limits, counts.clone(), crate::http::refusal, async {
        let _ = stopped.await;
    }));
    Running { address, counts, stop, served }
}

impl Running {
    async fn connect(&self) -> TcpStream {
        TcpStream::connect(self.address).await.unwrap()
    }

    async fn until_closed(&self, connections: usize) {
        while self.counts.closed.load(Ordering::SeqCst) < connections {
            sleep(Duration::from_millis(5)).await;
        }
    }

    async fn stop(self) -> Drained {
        self.stop.send(()).unwrap();
        soon(self.served).await.unwrap()
    }
}

/// Turns a hang into a failure.
async fn soon<F: Future>(future: F) -> F::Output {
    timeout(Duration::from_secs(20), future).await.expect("hangs")
}

async fn send(stream: &mut TcpStream, text: &str) {
    soon(stream.write_all(text.as_bytes())).await.unwrap();
}

/// Reads everything until the server closes.
async fn rest(stream: &mut TcpStream) -> String {
    let mut text = String::new();
    soon(stream.read_to_string(&mut text)).await.unwrap();
    text
}

/// Reads one answer with a content length from a connection that stays open.
async fn answer(stream: &mut TcpStream) -> String {
    let mut text = String::new();
    loop {
        let mut byte = [0];
        soon(stream.read_exact(&mut byte)).await.unwrap();
        text.push(char::from(byte[0]));
        if let Some(at) = text.find("\r\n\r\n") {
            let length = text.split("content-length: ").nth(1).unwrap();
            let length: usize = length.split("\r\n").next().unwrap().parse().unwrap();
            if text.len() == at + 4 + length {
                return text;
            }
        }
    }
}

fn hello() -> Router {
    Router::new().route("/", routing::get(async || "hello"))
}

/// `/` notifies the first when it has begun, and answers once the second is notified.
fn gated() -> (Router, Arc<Notify>, Arc<Notify>) {
    let (begun, gate) = (Arc::new(Notify::new()), Arc::new(Notify::new()));
    let (tell, wait) = (begun.clone(), gate.clone());
    let handler = async move || {
        tell.notify_one();
        wait.notified().await;
        "done"
    };
    (Router::new().route("/", routing::get(handler)), begun, gate)
}

/// `POST /` notifies when it has begun, and answers with the length of its body.
fn upload() -> (Router, Arc<Notify>) {
    let begun = Arc::new(Notify::new());
    let tell = begun.clone();
    let handler = async move |body: Body| {
        tell.notify_one();
        #[expect(clippy::disallowed_methods, reason = "the body is this test's own, and small")]
        let body = axum::body::to_bytes(body, usize::MAX).await;
        body.map_or_else(|error| error.to_string(), |body| body.len().to_string())
    };
    (Router::new().route("/", routing::post(handler)), begun)
}

#[track_caller]
fn assert_problem(text: &str, status: &str, code: &str) {
    let (head, body) = text.split_once("\r\n\r\n").unwrap_or_else(|| panic!("{text:?}"));
    assert!(head.starts_with(&format!("HTTP/1.1 {status}")), "{text}");
    assert!(head.contains("content-type: application/problem+json"), "{text}");
    assert!(head.contains("connection: close"), "{text}");
    for (name, value) in SAFETY {
        assert!(head.contains(&format!("{name}: {value}")), "{text}");
    }
    assert!(head.contains(&format!("content-length: {}", body.len())), "{text}");
    assert_eq!(head.matches("content-length").count(), 1, "{text}");
    assert!(body.starts_with('{') && body.ends_with("}\n"), "{text}");
    assert!(body.contains(&format!(r#""code":"{code}""#)), "{text}");
    assert!(body.contains(&format!(r#""status":{}"#, &status[..3])), "{text}");
    assert!(body.contains(r#""outcome":"not_applied""#), "{text}");
}

#[tokio::test]
async fn whoever_has_sent_whole_requests_and_closes_its_sending_side_is_answered() {
    let (router, begun, gate) = gated();
    let (uploads, _) = upload();
    let server = start(
        router.merge(Router::new().nest("/up", uploads)).route("/fast", routing::get(async || "fast")),
        generous(),
    )
    .await;
    // Immediately, with more requests behind it, with each kind of body, and while the handler works.
    let fast = "GET /fast HTTP/1.1\r\nhost: a\r\n\r\n";
    let long = "POST /up HTTP/1.1\r\nhost: a\r\ncontent-length: 3\r\n\r\nabc";
    let chunked = "POST /up HTTP/1.1\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n";
    for (requests, answers) in [
        (fast.to_owned(), 1),
        (fast.repeat(3), 3),
        (long.repeat(2), 2),
        (chunked.repeat(2), 2),
        (chunked.to_owned() + fast, 2),
    ] {
        for _ in 0..20 {
            let mut stream = server.connect().await;
            send(&mut stream, &requests).await;
            stream.shutdown().await.unwrap();
            let text = rest(&mut stream).await;
            assert_eq!(text.matches("HTTP/1.1 200").count(), answers, "{requests:?}: {text}");
        }
    }
    let mut stream = server.connect().await;
    send(&mut stream, GET).await;
    soon(begun.notified()).await;
    stream.shutdown().await.unwrap();
    sleep(Duration::from_millis(50)).await;
    gate.notify_one();
    assert!(rest(&mut stream).await.ends_with("done"));
    // An incomplete request is cancelled.
    let mut stream = server.connect().await;
    send(&mut stream, &long[..long.len() - 1]).await;
    stream.shutdown().await.unwrap();
    assert!(!rest(&mut stream).await.ends_with("\r\n\r\n3"));
    let opened = server.counts.opened.load(Ordering::SeqCst);
    soon(server.until_closed(opened)).await;
}

#[tokio::test]
async fn a_handler_hears_that_its_peer_sends_nothing_more() {
    let handler = async |request: axum::http::Request<Body>| {
        let mut closed = request.extensions().get::<Arrival>().cloned().expect("told of every request").half_closed;
        closed.wait().await;
        "heard"
    };
    let server = start(Router::new().route("/", routing::get(handler)), generous()).await;
    let mut stream = server.connect().await;
    send(&mut stream, GET).await;
    sleep(Duration::from_millis(50)).await;
    stream.shutdown().await.unwrap();
    assert!(rest(&mut stream).await.ends_with("heard"));
}

#[tokio::test]
async fn serves_many_requests_on_a_connection() {
    let router = Router::new().route("/", routing::get(async || "here"));
    let server = start(router, generous()).await;
    let mut stream = server.connect().await;
    for _ in 0..3 {
        send(&mut stream, GET).await;
        assert!(answer(&mut stream).await.ends_with("here"));
    }
    let counts = server.counts.clone();
    assert_eq!(server.stop().await, Drained { closed_cleanly: 1, aborted: 0 });
    assert_eq!(counts.opened.load(Ordering::SeqCst), 1);
    assert_eq!(counts.closed.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn a_head_must_arrive_in_time_even_if_it_trickles() {
    let limits = ConnectionLimits { header_read_timeout: Duration::from_millis(300), ..generous() };
    let server = start(hello(), limits).await;

    let mut silent = server.connect().await;
    assert_eq!(rest(&mut silent).await, "");

    let mut half = server.connect().await;
    send(&mut half, "GET / HTTP/1.1\r\nhos").await;
    assert_eq!(rest(&mut half).await, "");

    let mut second = server.connect().await;
    send(&mut second, GET).await;
    answer(&mut second).await;
    sleep(Duration::from_millis(500)).await;
    soon(async {
        while second.write_all(b"G").await.is_ok() {
            sleep(Duration::from_millis(10)).await;
        }
    })
    .await;
}

#[tokio::test]
async fn idle_keep_alive_outlives_the_head_timeout() {
    let limits = ConnectionLimits { header_read_timeout: Duration::from_millis(500), ..generous() };
    let server = start(hello(), limits).await;
    let mut stream = server.connect().await;
    for _ in 0..2 {
        send(&mut stream, GET).await;
        assert!(answer(&mut stream).await.ends_with("hello"));
        sleep(Duration::from_millis(700)).await;
    }
    send(&mut stream, GET).await;
    assert!(answer(&mut stream).await.ends_with("hello"));
}

fn impatient() -> ConnectionLimits {
    ConnectionLimits { idle_timeout: Duration::from_millis(150), ..generous() }
}

#[tokio::test]
async fn idle_keep_alive_is_closed() {
    let server = start(hello(), impatient()).await;
    let mut stream = server.connect().await;
    send(&mut stream, GET).await;
    assert!(rest(&mut stream).await.ends_with("hello"));
}

#[tokio::test]
async fn a_half_sent_body_is_closed_when_silent() {
    let (router, begun) = upload();
    let server = start(router, impatient()).await;
    let mut stream = server.connect().await;
    send(&mut stream, "POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 10\r\n\r\nhalf").await;
    soon(begun.notified()).await;
    assert_eq!(rest(&mut stream).await, "");
}

#[tokio::test]
async fn a_reader_that_stops_is_closed() {
    let (alive, dead) = oneshot::channel::<()>();
    let alive = Arc::new(Mutex::new(Some(alive)));
    let router = Router::new().route(
        "/",
        routing::get(async move || {
            let alive = alive.lock().unwrap().take();
            Body::from_stream(stream::repeat_with(move || {
                let _ = &alive;
                Ok::<_, Infallible>(Bytes::from_static(&[b'x'; 4096]))
            }))
        }),
    );
    let server = start(router, impatient()).await;
    let mut stream = server.connect().await;
    send(&mut stream, GET).await;
    assert!(soon(dead).await.is_err(), "the answer's stream is dropped with its connection");
}

/// `GET /` answers with more than any buffer can take.
fn endless() -> Router {
    let body = || {
        let bytes = stream::repeat_with(|| Ok::<_, Infallible>(Bytes::from_static(&[b'x'; 4096])));
        Body::from_stream(bytes)
    };
    Router::new().route("/", routing::get(async move || body()))
}

#[tokio::test]
async fn a_reader_that_trickles_is_closed() {
    let limits = ConnectionLimits { stall_timeout: Duration::from_millis(300), min_rate: usize::MAX, ..generous() };
    let server = start(endless(), limits).await;
    let mut stream = server.connect().await;
    send(&mut stream, GET).await;
    let mut some = vec![0; 1 << 16];
    soon(async {
        while stream.read(&mut some).await.is_ok_and(|length| length > 0) {
            sleep(Duration::from_millis(10)).await;
        }
    })
    .await;
    soon(server.until_closed(1)).await;
}

/// A connection whose client reads little at a time, with a small receive buffer.
async fn narrow(server: &Running) -> TcpStream {
    let socket = tokio::net::TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(4096).unwrap();
    socket.connect(server.address).await.unwrap()
}

/// The kernel reports room when a third of its buffer is free, which is a megabyte or more.
#[tokio::test]
async fn a_reader_of_little_who_is_steady_is_not_closed() {
    let limits = ConnectionLimits { stall_timeout: Duration::from_secs(4), min_rate: 8 << 10, ..generous() };
    let server = start(endless(), limits).await;
    let mut stream = narrow(&server).await;
    send(&mut stream, GET).await;
    let mut some = vec![0; 8 << 10];
    for _ in 0..48 {
        sleep(Duration::from_millis(250)).await;
        soon(stream.read_exact(&mut some)).await.unwrap();
    }
    // It receives more than the buffers contained at the start.
    let mut more = vec![0; 16 << 20];
    soon(stream.read_exact(&mut more)).await.unwrap();
    assert_eq!(server.counts.closed.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn a_drain_does_not_wait_for_who_takes_nothing() {
    let limits = ConnectionLimits { drain_deadline: Duration::from_secs(8), ..generous() };
    let server = start(endless(), limits).await;
    let mut streams = Vec::new();
    for _ in 0..2 {
        let mut stream = narrow(&server).await;
        send(&mut stream, GET).await;
        soon(stream.readable()).await.unwrap();
        streams.push(stream);
    }
    assert_eq!(server.stop().await, Drained { closed_cleanly: 2, aborted: 0 });
}

#[tokio::test]
async fn a_reader_that_is_fast_enough_is_not_closed() {
    let limits = ConnectionLimits { stall_timeout: Duration::from_secs(10), min_rate: 1, ..generous() };
    let server = start(endless(), limits).await;
    let mut stream = server.connect().await;
    send(&mut stream, GET).await;
    let mut some = vec![0; 1 << 20];
    for _ in 0..64 {
        soon(stream.read_exact(&mut some)).await.unwrap();
    }
}

/// `GET /` counts its calls and asks for a pause.
fn pausing(pause: Duration) -> (Router, Arc<AtomicUsize>) {
    let count = Arc::new(AtomicUsize::new(0));
    let counted = count.clone();
    let handler = async move || {
        counted.fetch_add(1, Ordering::SeqCst);
        (Extension(Pace { pause: Some(pause), stall: None }), "hello")
    };
    (Router::new().route("/", routing::get(handler)), count)
}

#[tokio::test]
async fn a_paused_connection_holds_up_itself_only() {
    let (router, count) = pausing(NEVER);
    let server = start(router, generous()).await;
    let mut paused = server.connect().await;
    send(&mut paused, GET).await;
    assert!(answer(&mut paused).await.ends_with("hello"), "the pause comes after the answer");
    send(&mut paused, GET).await;
    for n in 0..10 {
        let mut other = server.connect().await;
        send(&mut other, GET).await;
        assert!(answer(&mut other).await.ends_with("hello"));
        assert_eq!(count.load(Ordering::SeqCst), n + 2, "the second request is left alone");
    }
    // A paused connection ends with its client.
    drop(paused);
    soon(server.until_closed(11)).await;
}

#[tokio::test]
async fn a_pause_ends() {
    let (router, count) = pausing(Duration::from_millis(20));
    let server = start(router, generous()).await;
    let mut stream = server.connect().await;
    send(&mut stream, &format!("{GET}{GET}{GET}")).await;
    for _ in 0..3 {
        assert!(answer(&mut stream).await.ends_with("hello"));
    }
    assert_eq!(count.load(Ordering::SeqCst), 3);
}

#[tokio::test]
async fn a_slow_but_steady_body_is_not_idle() {
    let (router, _) = upload();
    let limits = ConnectionLimits { idle_timeout: Duration::from_millis(1000), ..generous() };
    let server = start(router, limits).await;
    let mut stream = server.connect().await;
    send(&mut stream, "POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 15\r\n\r\n").await;
    for _ in 0..15 {
        sleep(Duration::from_millis(100)).await;
        send(&mut stream, "x").await;
    }
    assert!(answer(&mut stream).await.ends_with("15"));
}

#[tokio::test]
async fn one_too_many_is_told_so_and_room_comes_back() {
    let server = start(hello(), ConnectionLimits { max_connections: 1, ..generous() }).await;
    let mut first = server.connect().await;
    send(&mut first, GET).await;
    answer(&mut first).await;

    // Input that the server leaves unread must not destroy the answer.
    // The pauses let a reset, if there is one, come before the next write.
    let part = "x".repeat(100_000);
    for _ in 0..5 {
        let mut refused = server.connect().await;
        send(&mut refused, "POST / HTTP/1.1\r\ncontent-length: 300000\r\n\r\n").await;
        for _ in 0..3 {
            sleep(Duration::from_millis(20)).await;
            send(&mut refused, &part).await;
        }
        let text = rest(&mut refused).await;
        assert_problem(&text, "503 Service Unavailable", "overloaded");
        assert!(text.contains("retry-after: 1\r\n"), "{text}");
    }
    assert_eq!(server.counts.refused.load(Ordering::SeqCst), 5);
    assert_eq!(server.counts.opened.load(Ordering::SeqCst), 1);

    drop(first);
    soon(async {
        loop {
            let mut next = server.connect().await;
            send(&mut next, GET).await;
            if answer(&mut next).await.ends_with("hello") {
                break;
            }
        }
    })
    .await;
}

#[tokio::test]
async fn a_flood_beyond_the_lingering_refusals_is_answered_too() {
    let server = start(hello(), ConnectionLimits { max_connections: 0, ..generous() }).await;
    let mut flood = Vec::new();
    for _ in 0..MAX_LINGERING_REFUSALS + 20 {
        flood.push(server.connect().await);
    }
    for mut refused in flood {
        assert_problem(&rest(&mut refused).await, "503", "overloaded");
    }
}

#[tokio::test]
async fn an_answer_to_an_unread_upload_arrives() {
    let server = start(hello(), generous()).await;
    for _ in 0..5 {
        let mut stream = server.connect().await;
        let part = "x".repeat(1_000_000);
        let length = 3 * part.len();
        send(&mut stream, &format!("POST / HTTP/1.1\r\ncontent-length: {length}\r\n\r\n")).await;
        for _ in 0..3 {
            sleep(Duration::from_millis(20)).await;
            send(&mut stream, &part).await;
        }
        assert!(rest(&mut stream).await.starts_with("HTTP/1.1 405"));
    }
}

#[tokio::test]
async fn a_peer_that_never_closes_does_not_hold_its_connection() {
    let server = start(hello(), generous()).await;
    let mut stream = server.connect().await;
    send(&mut stream, "GET / HTTP/1.1\r\nconnection: close\r\n\r\n").await;
    assert!(rest(&mut stream).await.ends_with("hello"));
    soon(server.until_closed(1)).await;
}

#[tokio::test]
async fn heads_that_hyper_refuses_get_a_problem_document() {
    let server = start(hello(), generous()).await;
    let large = format!("GET / HTTP/1.1\r\na: {}\r\n\r\n", "x".repeat(200_000));
    let many = format!("GET / HTTP/1.1\r\n{}\r\n", "a: b\r\n".repeat(200));
    let long = format!("GET /{} HTTP/1.1\r\n\r\n", "x".repeat(70_000));
    for (head, status, code) in [
        ("garbage\r\n\r\n", "400 Bad Request", "invalid_request"),
        ("GET / HTTP/1.1\r\nno colon\r\n\r\n", "400 Bad Request", "invalid_request"),
        ("GET /\0 HTTP/1.1\r\n\r\n", "400 Bad Request", "invalid_request"),
        (&large, "431 Request Header Fields Too Large", "header_fields_too_large"),
        (&many, "431 Request Header Fields Too Large", "header_fields_too_large"),
        (&long, "414 URI Too Long", "uri_too_long"),
    ] {
        let mut stream = server.connect().await;
        send(&mut stream, head).await;
        let text = rest(&mut stream).await;
        assert_problem(&text, status, code);
        assert!(text.contains("\r\ndate: "), "{text}");
    }
}

#[tokio::test]
async fn a_bad_head_behind_good_requests_leaves_their_answers_alone() {
    let own = Router::new().route("/", routing::get(async || (axum::http::StatusCode::BAD_REQUEST, "mine")));
    let server = start(own, generous()).await;
    let mut stream = server.connect().await;
    send(&mut stream, &format!("{GET}{GET}garbage\r\n\r\n")).await;
    for _ in 0..2 {
        let text = answer(&mut stream).await;
        assert!(text.starts_with("HTTP/1.1 400") && text.ends_with("mine"), "{text}");
    }
    assert_problem(&rest(&mut stream).await, "400", "invalid_request");
}

#[test]
fn only_hypers_own_refusals_are_replaced() {
    let own = b"HTTP/1.1 400 Bad Request\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";
    assert!(refusal_of_head(own, crate::http::refusal).is_some());
    for other in [
        &own[..own.len() - 1],
        b"",
        b"HTTP/1.1 ",
        b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n",
        b"HTTP/1.1 400 Bad Request\r\ncontent-length: 1\r\n\r\nx",
        b"\xff",
    ] {
        assert_eq!(refusal_of_head(other, crate::http::refusal), None);
    }
}

#[tokio::test]
async fn a_panic_ends_its_own_connection_only() {
    let router = hello().route("/panic", routing::get(async || -> &'static str { panic!("a handler's bug") }));
    let server = start(router, generous()).await;
    let mut bystander = server.connect().await;
    send(&mut bystander, GET).await;
    answer(&mut bystander).await;

    let mut stream = server.connect().await;
    send(&mut stream, "GET /panic HTTP/1.1\r\n\r\n").await;
    assert_eq!(rest(&mut stream).await, "");

    send(&mut bystander, GET).await;
    assert!(answer(&mut bystander).await.ends_with("hello"));
    soon(server.until_closed(1)).await;
}

#[tokio::test]
async fn drain_finishes_what_is_in_service_and_closes_the_rest() {
    let (router, begun, gate) = gated();
    let server = start(router.route("/hello", routing::get(async || "hello")), generous()).await;
    let mut busy = server.connect().await;
    send(&mut busy, GET).await;
    soon(begun.notified()).await;

    let mut idle = server.connect().await;
    send(&mut idle, "GET /hello HTTP/1.1\r\n\r\n").await;
    answer(&mut idle).await;
    let mut half_head = server.connect().await;
    send(&mut half_head, "GET /hello HTTP/1.1\r\n\r\n").await;
    answer(&mut half_head).await;
    send(&mut half_head, "GET /hello HT").await;

    let (address, stop) = (server.address, server.stop);
    stop.send(()).unwrap();
    assert_eq!(rest(&mut idle).await, "");
    // The close may arrive as a reset, whether or not the half head was read.
    let _ = soon(half_head.read_to_end(&mut Vec::new())).await;
    assert!(TcpStream::connect(address).await.is_err(), "the listener is closed");
    assert!(!server.served.is_finished());

    gate.notify_one();
    let text = rest(&mut busy).await;
    assert!(text.contains("connection: close") && text.ends_with("done"), "{text}");
    drop(busy);
    let drained = soon(server.served).await.unwrap();
    assert_eq!(drained, Drained { closed_cleanly: 3, aborted: 0 });
}

/// The server's task has not run since these connected, so they are in the kernel's queue.
#[tokio::test]
async fn what_waits_to_be_accepted_is_served_before_the_drain() {
    let server = start(hello(), generous()).await;
    tokio::task::yield_now().await;
    let connect = || {
        let stream = std::net::TcpStream::connect(server.address).unwrap();
        stream.set_nonblocking(true).unwrap();
        stream
    };
    let mut asked: Vec<_> = (0..10).map(|_| connect()).collect();
    for stream in &mut asked {
        stream.write_all(GET.as_bytes()).unwrap();
    }
    let mut silent: Vec<_> = (0..3).map(|_| connect()).collect();
    let Running { address, counts, stop, served } = server;
    stop.send(()).unwrap();
    // No other task has run until here.
    soon(async {
        while counts.opened.load(Ordering::SeqCst) < 13 {
            tokio::task::yield_now().await;
        }
    })
    .await;
    // These were accepted before their requests arrive.
    for stream in &mut silent {
        stream.write_all(GET.as_bytes()).unwrap();
    }
    for stream in asked.into_iter().chain(silent) {
        assert!(rest(&mut TcpStream::from_std(stream).unwrap()).await.ends_with("hello"));
    }
    assert!(TcpStream::connect(address).await.is_err(), "the listener is closed");
    assert_eq!(soon(served).await.unwrap().aborted, 0);
    assert_eq!(counts.opened.load(Ordering::SeqCst), 13);
}

#[tokio::test]
async fn what_is_always_served_is_served_beyond_the_limit() {
    let router = hello().route("/health", routing::get(async || "well"));
    let limits = ConnectionLimits { max_connections: 0, always_served: &["/health"], ..generous() };
    let server = start(router, limits).await;
    for (request, well) in [
        ("GET /health HTTP/1.1\r\nhost: a\r\n\r\n", true),
        ("GET /health?a=b HTTP/1.1\r\nhost: a\r\n\r\n", true),
        ("HEAD /health HTTP/1.1\r\nhost: a\r\n\r\n", true),
        ("GET /healthy HTTP/1.1\r\nhost: a\r\n\r\n", false),
        ("GET /healt HTTP/1.1\r\nhost: a\r\n\r\n", false),
        ("POST /health HTTP/1.1\r\nhost: a\r\n\r\n", false),
        ("GET /hea\r\n\r\n", false),
        ("G", false),
        (GET, false),
    ] {
        let mut stream = server.connect().await;
        send(&mut stream, request).await;
        let text = rest(&mut stream).await;
        assert!(text.starts_with(if well { "HTTP/1.1 200" } else { "HTTP/1.1 503" }), "{request}: {text}");
        assert!(text.contains("connection: close"), "{text}");
    }
    assert_eq!(server.counts.refused.load(Ordering::SeqCst), 6);
    assert_eq!(server.counts.opened.load(Ordering::SeqCst), 0);
}

#[tokio::test]
async fn drain_is_not_held_by_a_half_sent_first_head() {
    let server = start(hello(), generous()).await;
    let mut stream = server.connect().await;
    send(&mut stream, "GET / HTTP/1.1\r\nhost").await;
    soon(async {
        while server.counts.opened.load(Ordering::SeqCst) < 1 {
            tokio::task::yield_now().await;
        }
    })
    .await;
    assert_eq!(server.stop().await, Drained { closed_cleanly: 1, aborted: 0 });
}

#[tokio::test]
async fn drain_lets_a_half_sent_body_finish_but_not_beyond_the_deadline() {
    let (router, begun) = upload();
    let limits = ConnectionLimits { drain_deadline: Duration::from_millis(300), ..generous() };
    let server = start(router, limits).await;
    let mut stuck = server.connect().await;
    let mut finishing = server.connect().await;
    for stream in [&mut stuck, &mut finishing] {
        send(stream, "POST / HTTP/1.1\r\nhost: a\r\ncontent-length: 8\r\n\r\nhalf").await;
        soon(begun.notified()).await;
    }
    server.stop.send(()).unwrap();
    send(&mut finishing, "half").await;
    assert!(rest(&mut finishing).await.ends_with('8'));
    drop(finishing);
    let drained = soon(server.served).await.unwrap();
    assert_eq!(drained, Drained { closed_cleanly: 1, aborted: 1 });
    let _ = soon(stuck.read_to_end(&mut Vec::new())).await;
}
