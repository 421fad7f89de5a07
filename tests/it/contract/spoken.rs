//! HTTP as real clients, proxies, balancers and health checks send it.

use std::net::SocketAddr;
use std::time::Duration;

use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;

use crate::support::client::{EVENTS, ONE, PATIENCE, S};
use crate::support::databases::on_sqlite;
use crate::support::server::TestServer;

/// What is answered to a client that sends whole requests and then closes its sending side.
async fn half_closed(address: SocketAddr, requests: &str) -> String {
    let mut stream = TcpStream::connect(address).await.expect("connect");
    stream.write_all(requests.as_bytes()).await.expect("send");
    stream.shutdown().await.expect("close the sending side");
    let mut answer = String::new();
    timeout(PATIENCE, stream.read_to_string(&mut answer)).await.expect("in time").expect("an answer");
    answer
}

fn request(method: &str, path: &str, headers: &str, body: &str) -> String {
    format!("{method} {path} HTTP/1.1\r\nhost: localhost\r\n{headers}\r\n{body}")
}

/// A request with a body in chunks that has no chunk.
fn empty_chunks(method: &str, path: &str, headers: &str) -> String {
    request(method, path, &format!("connection: close\r\ntransfer-encoding: chunked\r\n{headers}"), "0\r\n\r\n")
}

on_sqlite! {
    async fn whoever_closes_its_sending_side_is_answered(server: &TestServer) {
        server.create("{}").await;
        for n in 0..40 {
            let event = format!(r#"{{"id":"e{n}"}}"#);
            let headers = format!("content-type: application/json\r\ncontent-length: {}\r\n", event.len());
            let answer = half_closed(server.address(), &request("POST", EVENTS, &headers, &event)).await;
            assert!(answer.starts_with("HTTP/1.1 201 ") && answer.contains(&event[..event.len() - 1]), "{n}: {answer}");
        }
        assert_eq!(server.get(ONE).await.json()["revision"], 40);
        for path in ["/readyz", "/healthz", ONE, &format!("{ONE}/export")] {
            let answer = half_closed(server.address(), &request("GET", path, "", "")).await;
            assert!(answer.starts_with("HTTP/1.1 200 "), "{path}: {answer}");
        }
        // Several, one behind the other.
        let answer = half_closed(server.address(), &request("GET", "/healthz", "", "").repeat(3)).await;
        assert_eq!(answer.matches("HTTP/1.1 200 ").count(), 3, "{answer}");
    }

    async fn a_wait_of_whom_may_be_gone_ends_with_what_there_is(server: &TestServer) with ["--max-watchers=1"] {
        server.create("{}").await;
        let waits = request("GET", &format!("{EVENTS}?wait=60&afterSequence=0"), "", "");
        let answer = half_closed(server.address(), &waits).await;
        assert!(answer.starts_with("HTTP/1.1 200 ") && answer.contains(r#""events":[]"#), "{answer}");
        // A watch sends nothing that would show whether it is read, and gives its place back.
        let watch = request("GET", &format!("{ONE}/watch"), "accept: text/event-stream\r\n", "");
        let seen = half_closed(server.address(), &watch).await;
        assert!(seen.contains("event: caught_up"), "{seen}");
        let free = async {
            while server.get(format!("{EVENTS}?wait=1&afterSequence=0")).await.status() == 429 {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        timeout(PATIENCE, free).await.expect("its place is free");
    }

    async fn a_body_in_chunks_that_has_none_is_no_body(server: &TestServer) {
        let of_adk = "/apps/app/users/user/sessions";
        server.create("{}").await;
        for (n, headers) in ["", "content-type: application/json\r\n", "content-type: text/plain\r\n"].iter().enumerate() {
            for (method, path, status) in [
                ("POST", S.to_owned(), 201),
                ("PUT", format!("{S}/put-{n}"), 201),
                ("POST", format!("{ONE}/fork"), 201),
                ("POST", of_adk.to_owned(), 200),
                ("POST", format!("{of_adk}/adk-{n}"), 200),
            ] {
                let answer = server.wire(&[empty_chunks(method, &path, headers).as_bytes()]).await;
                assert!(answer.starts_with(&format!("HTTP/1.1 {status} ")), "{method} {path} {headers:?}: {answer}");
            }
            // Where one is needed, there is none.
            let answer = server.wire(&[empty_chunks("POST", EVENTS, headers).as_bytes()]).await;
            assert!(answer.starts_with("HTTP/1.1 400 "), "{answer}");
        }
        // One that has something needs a type.
        let body = "2\r\n{}\r\n0\r\n\r\n";
        let sent = request("POST", S, "connection: close\r\ntransfer-encoding: chunked\r\n", body);
        assert!(server.wire(&[sent.as_bytes()]).await.starts_with("HTTP/1.1 415 "));
    }

    async fn a_watch_is_what_accept_takes(server: &TestServer) {
        server.create("{}").await;
        let watch = format!("{ONE}/watch");
        for accept in ["text/*", "text/event-stream;q=0.5, text/*;q=0", "*/*;q=0.1", "application/json, text/*"] {
            server.head(&watch).header("accept", accept).await.expect(200);
        }
        for accept in ["text/event-stream;q=0, */*", "text/*;q=0, */*", "*/*;q=0", "application/json", "text/html"] {
            server.head(&watch).header("accept", accept).await.expect(406);
            server.get(&watch).header("accept", accept).await.problem(406, "not_acceptable");
        }
    }

    async fn health_checks_ask_in_many_ways(server: &TestServer) {
        for path in ["/healthz", "/readyz", "/health", "/healthz?t=1&cachebuster", "/readyz?verbose=1", "/health?x"] {
            for head in [format!("GET {path}"), format!("HEAD {path}"), format!("OPTIONS {path}")] {
                for version in ["HTTP/1.1\r\nhost: localhost\r\nconnection: close", "HTTP/1.0"] {
                    let answer = server.wire(&[format!("{head} {version}\r\n\r\n").as_bytes()]).await;
                    assert!(answer.split(' ').nth(1) == Some("200"), "{head} {version}: {answer}");
                }
            }
        }
        server.post("/readyz").await.problem(405, "method_not_allowed");
        let other = server.wire(&[request("OPTIONS", "/v1/apps", "connection: close\r\n", "").as_bytes()]).await;
        assert!(other.starts_with("HTTP/1.1 405 "), "{other}");
    }

    async fn tags_that_a_compressing_proxy_wrote_anew_still_count(server: &TestServer) {
        server.create("{}").await;
        let rewritten = |tag: &str| {
            let bare = tag.trim_matches('"');
            [format!("W/{tag}"), format!("\"{bare}-gzip\""), format!("W/\"{bare}-gzip\""), format!("\"{bare}--gzip\""), format!("\"{bare}-br\"")]
        };
        let first = server.get(ONE).await.etag();
        for (n, tag) in rewritten(&first).iter().enumerate() {
            server.get(ONE).header("if-none-match", tag).await.expect(304);
            let other = server.post(S).json(r#"{}"#).await.expect(201);
            let path = format!("{S}/{}/events", other.json()["id"].as_str().unwrap());
            server.post(path).header("if-match", &rewritten(&other.etag())[n]).json("{}").await.expect(201);
        }
        server.append("{}").await;
        for tag in rewritten(&first) {
            server.get(ONE).header("if-none-match", &tag).await.expect(200);
            server.post(EVENTS).header("if-match", &tag).json("{}").await.problem(412, "revision_mismatch");
        }
    }

    async fn links_of_pages_are_relative(server: &TestServer) {
        let led = async |path: &str| {
            let answer = server.wire(&[request("GET", path, "connection: close\r\n", "").as_bytes()]).await;
            assert!(answer.starts_with("HTTP/1.1 308 "), "{answer}");
            answer.lines().find_map(|line| line.strip_prefix("location: ")).map(str::to_owned)
        };
        assert_eq!(led("/docs/").await.as_deref(), Some("../docs"));
        assert_eq!(led("/console").await.as_deref(), Some("console/"));
        for page in ["/", "/docs", "/console/"] {
            let text = server.get(page).await.expect(200).text().to_owned();
            for absolute in ["href=\"/", "src=\"/"] {
                assert!(!text.contains(absolute), "{page}: {absolute}");
            }
        }
    }

    async fn a_misspelt_name_is_told_what_was_meant(server: &TestServer) {
        server.create("{}").await;
        for (path, body, meant) in [
            (S, r#"{"sesionId":"x"}"#, "did you mean `sessionId`?"),
            (&format!("{ONE}/rewind"), r#"{"toRevison":0}"#, "did you mean `toRevision`?"),
            (EVENTS, r#"{"actions":{"stateDetla":{}}}"#, "did you mean `stateDelta`?"),
            (EVENTS, r#"{"actions":{"state_deltas":{}}}"#, "did you mean `stateDelta`?"),
            (EVENTS, r#"{"actions":{"skipSumarisation":true}}"#, "did you mean `skipSummarization`?"),
            (EVENTS, r#"{"delta":{"k":1}}"#, "it belongs at `/actions/stateDelta`"),
            (EVENTS, r#"[{"state":{"k":1}}]"#, "it belongs at `/0/actions/stateDelta`"),
            (EVENTS, r#"{"ops":[]}"#, "it belongs at `/actions/stateOps`"),
            (EVENTS, r#"{"role":"user","content":{}}"#, "it belongs at `/content/role`"),
        ] {
            let problem = server.post(path).json(body).await.problem(422, "invalid_argument");
            assert!(problem["errors"][0]["message"].as_str().unwrap().contains(meant), "{problem}");
        }
        // What is far from all names is a field of the client's own.
        server.post(EVENTS).json(json!({"actions": {"myDelta": {}, "note": 1}}).to_string()).await.expect(201);
    }
}
