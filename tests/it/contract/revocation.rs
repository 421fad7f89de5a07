//! Revoking or restricting a credential ends its running requests, and no change of a key undoes another.

use std::time::Duration;

use futures_util::future::join_all;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::{sleep, timeout};

use super::access::{Guarded, body_of, filled, operations};
use crate::support::client::{PATIENCE, segment};
use crate::support::databases::on_both_databases;
use crate::support::sse::Watch;

/// For so long a credential may hold on (contract, section 11).
const SETTLED: Duration = Duration::from_secs(5);

fn id_of(key: &str) -> &str {
    key.split('_').nth(1).expect("sdk_ID_SECRET")
}

/// A connection that takes little at a time, with the head of a request.
async fn asked(server: &Guarded, key: &str, head: &str, more: &str) -> TcpStream {
    let socket = TcpSocket::new_v4().expect("a socket");
    socket.set_recv_buffer_size(4096).expect("set it");
    let mut stream = socket.connect(server.address()).await.expect("connect");
    let head =
        format!("{head} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {key}\r\nconnection: close\r\n{more}\r\n");
    stream.write_all(head.as_bytes()).await.expect("send");
    stream
}

/// An import under way.
struct Import(TcpStream);

impl Import {
    async fn begin(server: &Guarded, key: &str, query: &str) -> Self {
        let more = "content-type: application/x-ndjson\r\ntransfer-encoding: chunked\r\n";
        Self(asked(server, key, &format!("POST /v1/import{query}"), more).await)
    }

    /// Whether it could be sent.
    async fn send(&mut self, lines: &str) -> bool {
        let chunk = format!("{:x}\r\n{lines}\r\n", lines.len());
        self.0.write_all(chunk.as_bytes()).await.is_ok()
    }

    /// Sends blank lines, fast enough, until what was revoked holds nowhere any more.
    async fn linger(&mut self) {
        for _ in 0..SETTLED.as_millis() / 250 {
            if !self.send(&"\n".repeat(5000)).await {
                return;
            }
            sleep(Duration::from_millis(250)).await;
        }
    }

    /// Ends it; all that was answered, and whether that is whole.
    async fn end(mut self) -> (String, bool) {
        let _ = self.0.write_all(b"0\r\n\r\n").await;
        let mut answer = Vec::new();
        let _ = timeout(PATIENCE, self.0.read_to_end(&mut answer)).await.expect("an end");
        (String::from_utf8_lossy(&answer).into_owned(), answer.ends_with(b"\r\n0\r\n\r\n"))
    }
}

async fn exported(server: &Guarded, app: &str) -> String {
    let body = json!({"sessionId": "s", "state": {"k": 1, "user:k": 2, "app:k": 3}, "events": [{"author": "agent"}]});
    server.admin("POST", &format!("/v1/apps/{app}/users/u/sessions")).json(body).await.expect(201);
    server.admin("GET", &format!("/v1/apps/{app}/export")).await.expect(200).text().to_owned() + "\n"
}

on_both_databases! {
    async fn a_revoked_key_ends_the_answers_under_way(server: &Guarded) with ["--max-body-bytes=16MiB"] {
        // More than the buffers of the kernel hold on both sides.
        let event = json!({"author": "agent", "content": {"parts": [{"text": "x".repeat(1 << 20)}]}});
        server.admin("POST", "/v1/apps/a/users/u/sessions").json(json!({"sessionId": "s"})).await.expect(201);
        for _ in 0..4 {
            let path = "/v1/apps/a/users/u/sessions/s/events";
            server.admin("POST", path).json(json!(vec![&event; 6])).await.expect(201);
        }
        let key = server.key(json!({"role": "operator", "apps": ["a"]})).await;
        let mut readers = Vec::new();
        for path in ["/v1/apps/a/users/u/sessions/s", "/apps/a/users/u/sessions/s", "/v1/apps/a/export"] {
            let mut reader = asked(server, &key, &format!("GET {path}"), "").await;
            let mut status = [0; 12];
            timeout(PATIENCE, reader.read_exact(&mut status)).await.expect("an answer").expect("an answer");
            assert_eq!(&status, b"HTTP/1.1 200", "{path}");
            readers.push((path, reader));
        }
        server.admin("DELETE", &format!("/v1/keys/{}", id_of(&key))).await.expect(204);
        sleep(SETTLED).await;
        for (path, mut reader) in readers {
            let mut rest = Vec::new();
            let _ = timeout(PATIENCE, reader.read_to_end(&mut rest)).await.expect("an end");
            assert!(!rest.ends_with(b"0\r\n\r\n") && rest.len() < 20 << 20, "{path}: {} bytes", rest.len());
        }
    }

    async fn a_revoked_key_imports_nothing_more(server: &Guarded) {
        let export = exported(server, "a").await;
        let (first, rest) = export.split_once('\n').expect("lines");
        let key = server.key(json!({"role": "operator", "apps": ["to"]})).await;
        let mut import = Import::begin(server, &key, "?appName=to").await;
        assert!(import.send(&format!("{first}\n")).await);
        server.admin("DELETE", &format!("/v1/keys/{}", id_of(&key))).await.expect(204);
        import.linger().await;
        import.send(rest).await;
        let (answer, is_whole) = import.end().await;
        assert!(!is_whole && !answer.contains("created"), "{answer}");
        server.admin("GET", "/v1/apps/to/users/u/sessions/s").await.problem(404, "session_not_found");
        assert_eq!(server.admin("GET", "/v1/apps/to/state").await.expect(200).json(), json!({}));
    }

    async fn a_narrowed_key_imports_what_it_still_may(server: &Guarded) {
        let (a, b) = (exported(server, "a").await, exported(server, "b").await);
        for app in ["a", "b"] {
            server.admin("DELETE", &format!("/v1/apps/{app}/users/u/sessions/s")).await.expect(204);
        }
        let key = server.key(json!({"role": "operator", "apps": ["a", "b"]})).await;
        let mut import = Import::begin(server, &key, "").await;
        let narrowed = server.admin("PATCH", &format!("/v1/keys/{}", id_of(&key))).json(json!({"apps": ["a"]}));
        narrowed.await.expect(200);
        import.linger().await;
        let is_sent = import.send(&a).await && import.send(&b).await;
        let (answer, is_whole) = import.end().await;
        assert!(is_sent && is_whole, "{answer}");
        let results: Vec<Value> = answer.lines().filter_map(|line| serde_json::from_str(line).ok()).collect();
        let became = |of: &Value| of["result"].as_str().map(str::to_owned);
        let sessions: Vec<_> = results.iter().filter(|of| of["session"] == "s").map(became).collect();
        assert_eq!(sessions, [Some("created".to_owned()), Some("failed".to_owned())], "{answer}");
        let scopes: Vec<_> = results.iter().filter(|of| of["scope"].is_string()).map(|of| of["code"].clone()).collect();
        assert_eq!(scopes, ["permission_denied", "permission_denied"], "{answer}");
    }

    async fn a_narrowed_key_follows_no_more_than_it_may(server: &Guarded) with ["--feed-retention=1h"] {
        for (narrowed, grant) in [
            (json!({"apps": ["a1"]}), json!({"role": "reader", "apps": ["a1", "a2"]})),
            (json!({"users": ["u1"]}), json!({"role": "reader", "apps": ["a1", "a2"], "users": ["u*"]})),
        ] {
            let key = server.key(grant).await;
            let path = "/v1/feed?after=now";
            let mut watch = Watch::open(server.with(&key, "GET", path).header("accept", "text/event-stream")).await;
            watch.expect("caught_up").await;
            let waiting = server.with(&key, "GET", &format!("{path}&wait=30")).send();
            let narrow = async {
                sleep(Duration::from_millis(500)).await;
                let path = format!("/v1/keys/{}", id_of(&key));
                server.admin("PATCH", &path).json(narrowed).await.expect(200);
                let began = tokio::time::Instant::now();
                timeout(SETTLED, watch.bye("credential_expired")).await.expect("an end");
                began.elapsed()
            };
            let (waited, took) = tokio::join!(timeout(2 * SETTLED, waiting), narrow);
            waited.expect("an end").expect("an answer").problem(401, "unauthenticated");
            assert!(took <= SETTLED, "{took:?}");
            // What it may, it follows again; one that is wider than it was goes on.
            let mut again = Watch::open(server.with(&key, "GET", path).header("accept", "text/event-stream")).await;
            assert_eq!(again.frame().await.event, "caught_up");
            let path = format!("/v1/keys/{}", id_of(&key));
            server.admin("PATCH", &path).json(json!({"apps": ["a*"], "users": ["*"]})).await.expect(200);
            assert!(timeout(Duration::from_secs(3), again.frame()).await.is_err());
        }
    }

    async fn changes_of_a_key_at_the_same_time_all_hold(server: &Guarded) {
        for _ in 0..20 {
            let key = server.key(json!({"role": "operator", "apps": ["a", "b"]})).await;
            let path = format!("/v1/keys/{}", id_of(&key));
            let changes = [json!({"name": "n"}), json!({"role": "reader"}), json!({"apps": ["a"]}), json!({"users": ["u"]})];
            let answers = join_all(changes.map(|change| server.admin("PATCH", &path).json(change).send())).await;
            for answer in answers {
                answer.expect("an answer").expect(200);
            }
            let now = server.admin("GET", &path).await.expect(200).json();
            let shown = ["name", "role", "apps", "users"].map(|field| now[field].clone());
            assert_eq!(shown, [json!("n"), json!("reader"), json!(["a"]), json!(["u"])]);
        }
    }

    async fn what_can_be_no_id_is_not_there(server: &Guarded) {
        let long = "x".repeat(5000);
        for id in ["\0", "a\u{1}b", &long, "\u{1f600}"] {
            let id = segment(id);
            let path = format!("/v1/keys/{id}");
            for method in ["GET", "DELETE"] {
                server.admin(method, &path).await.problem(404, "not_found");
            }
            server.admin("PATCH", &path).json(json!({"name": "n"})).await.problem(404, "not_found");
            server.admin("GET", &format!("/v1/erasures/{id}")).await.problem(404, "not_found");
        }
    }

    async fn what_began_before_a_revocation_is_not_written_after_it(server: &Guarded) with ["--request-timeout=55s", "--body-stall-timeout=50s"] {
        let body = json!({"sessionId": "s", "state": {"k": 1}, "events": [{"id": "e", "author": "agent"}]});
        server.admin("POST", "/v1/apps/a/users/u/sessions").json(body).await.expect(201);
        let shown = async || {
            let paths = ["/v1/apps/a/export", "/v1/apps/a/policy", "/v1/erasures", "/v1/apps/a/users/u/sessions/s/lease"];
            let answers = join_all(paths.map(|path| server.admin("GET", path).send())).await;
            let texts = answers.into_iter().map(|answer| answer.expect("an answer").expect(200).text().to_owned());
            // The first line of an export has its time.
            texts.map(|text| text.lines().filter(|line| !line.contains("\"export\"")).collect::<String>()).collect::<Vec<_>>()
        };
        let before = shown().await;
        let grant = json!({"role": "admin", "apps": ["*"]});
        let (revoked, narrowed) = (server.key(grant.clone()).await, server.key(grant).await);
        let writes = || operations().into_iter().filter(|(_, path, reads)| !reads && !path.ends_with("/import"));
        let mut begun = Vec::new();
        for key in [&revoked, &narrowed] {
            for (method, path, _) in writes() {
                let Some(body) = body_of(&method, &path) else { continue };
                let session = if method == "POST" && path.ends_with("/{session}") { "new" } else { "s" };
                let head = format!("{method} {}", filled(&method, &path, "a", "u", session));
                let more = "content-type: application/json\r\ntransfer-encoding: chunked\r\n";
                begun.push((Import(asked(server, key, &head, more).await), head, body, key == &revoked));
            }
        }
        assert!(begun.len() > 40, "{}", begun.len());
        server.admin("DELETE", &format!("/v1/keys/{}", id_of(&revoked))).await.expect(204);
        let less = server.admin("PATCH", &format!("/v1/keys/{}", id_of(&narrowed))).json(json!({"role": "reader"}));
        less.await.expect(200);
        join_all(begun.iter_mut().map(|(upload, ..)| upload.linger())).await;
        for (mut upload, head, body, is_revoked) in begun {
            // What streams its body is answered before that ends.
            upload.send(&body.to_string()).await;
            let (answer, _) = upload.end().await;
            let (status, code) = if is_revoked { (401, "unauthenticated") } else { (403, "permission_denied") };
            assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{head}: {answer}");
            assert!(answer.contains(&format!(r#""code":"{code}""#)), "{head}: {answer}");
            assert!(answer.contains(r#""outcome":"not_applied""#), "{head}: {answer}");
        }
        assert_eq!(shown().await, before);
    }

    async fn an_erasure_of_another_user_is_not_there(server: &Guarded) {
        let operator = async |users: &[&str]| server.key(json!({"role": "operator", "apps": ["a"], "users": users})).await;
        let erase = async |key: &str, user: &str, status: u16| {
            let answer = server.with(key, "POST", &format!("/v1/apps/a/users/{user}/erasure")).json(json!({})).await;
            answer.expect(status).header("location").map(str::to_owned)
        };
        let (of_all, of_u, of_prefix) = (operator(&["*"]).await, operator(&["u", "w"]).await, operator(&["u*", "v*"]).await);
        let u = erase(&of_u, "u", 202).await.expect("a location");
        erase(&of_u, "v", 403).await;
        let v = erase(&of_prefix, "v", 202).await.expect("a location");
        for (key, location, status) in [(&of_all, &u, 200), (&of_all, &v, 200), (&of_u, &u, 200), (&of_u, &v, 404), (&of_prefix, &v, 404)] {
            server.with(key, "GET", location).await.expect(status);
        }
        for (key, shown) in [(&of_all, vec![&u, &v]), (&of_u, vec![&u]), (&of_prefix, vec![])] {
            let list = server.with(key, "GET", "/v1/erasures").await.expect(200).json();
            let ids = list["erasures"].as_array().expect("a list").iter();
            let ids: Vec<_> = ids.map(|erasure| format!("/v1/erasures/{}", erasure["id"].as_str().expect("an id"))).collect();
            assert_eq!(ids.iter().collect::<Vec<_>>(), shown);
        }
    }
}
