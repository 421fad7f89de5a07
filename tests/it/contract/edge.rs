//! Requests that are refused first: those from pages of other sites, and those that are not one message to one host.

use serde_json::json;

use crate::support::client::{APP_STATE, Answer, Client, EVENTS, ONE, S, STATE, USER_STATE};
use crate::support::databases::on_sqlite;
use crate::support::server::TestServer;

const ADK: &str = "/apps/app/users/user/sessions";

/// Requests that need no body and no header that a page could not set.
const WITHOUT_BODY: &[(&str, &str)] = &[
    ("POST", S),
    ("POST", "/v1/apps/app/users/user/sessions/s/fork"),
    ("POST", ADK),
    ("POST", "/apps/app/users/user/sessions/new"),
    ("PUT", "/v1/apps/app/users/user/sessions/new"),
    ("DELETE", ONE),
    ("DELETE", "/v1/apps/app/users/user/sessions/s/state/k"),
    ("DELETE", "/apps/app/users/user/sessions/s"),
    ("GET", ONE),
    ("HEAD", ONE),
    ("GET", STATE),
    ("GET", APP_STATE),
    ("GET", USER_STATE),
    ("GET", EVENTS),
    ("GET", "/v1/apps"),
    ("GET", "/list-apps"),
    ("GET", "/apps/app/users/user/sessions/s"),
    ("GET", "/healthz"),
    ("GET", "/readyz"),
    ("GET", "/health"),
    ("GET", "/version"),
    ("GET", "/openapi.yaml"),
    ("GET", "/nothing"),
    ("OPTIONS", ONE),
    ("OPTIONS", "*"),
    ("TRACE", "/v1/apps"),
    ("BREW", ONE),
    ("POST", "/healthz"),
    ("GET", "/v1/apps//users"),
    ("GET", "/docs/x"),
    ("GET", "/console/data"),
];

/// Requests with a JSON body.
const WITH_BODY: &[(&str, &str, &str)] = &[
    ("POST", S, r#"{"sessionId":"new"}"#),
    ("POST", EVENTS, "{}"),
    ("POST", "/v1/apps/app/users/user/sessions/s/rewind", r#"{"toRevision":0}"#),
    ("PATCH", ONE, r#"{"displayName":"x"}"#),
    ("PATCH", STATE, r#"{"stateDelta":{"k":2}}"#),
    ("PUT", "/v1/apps/app/users/user/sessions/s/state/k", "2"),
    ("PATCH", APP_STATE, r#"{"stateDelta":{"k":2}}"#),
    ("PATCH", USER_STATE, r#"{"stateDelta":{"k":2}}"#),
    ("PATCH", "/apps/app/users/user/sessions/s", r#"{"stateDelta":{"k":2}}"#),
];

/// Sends a request with these header lines, `Host` included.
async fn send(server: &Client, method: &str, path: &str, headers: &str, body: &str) -> Answer {
    let content = match body {
        "" => String::new(),
        body => format!("content-type: application/json\r\ncontent-length: {}\r\n", body.len()),
    };
    let request = format!("{method} {path} HTTP/1.1\r\n{headers}\r\n{content}connection: close\r\n\r\n{body}");
    server.raw(request.as_bytes()).await
}

/// Sends every request with these header lines: each is refused, none does anything.
async fn all_are_refused(server: &Client, headers: &str) {
    let before = everything(server).await;
    let bare = WITHOUT_BODY.iter().map(|(method, path)| (*method, *path, ""));
    for (method, path, body) in bare.chain(WITH_BODY.iter().copied()) {
        let answer = send(server, method, path, headers, body).await;
        assert_eq!(answer.status, 403, "{method} {path} with {headers:?}: {answer}");
        if method != "HEAD" {
            let problem = answer.problem(403, "permission_denied");
            let is_read = ["GET", "OPTIONS", "TRACE"].contains(&method);
            assert_eq!(problem["outcome"], if is_read { json!(null) } else { json!("not_applied") });
        }
        assert_eq!(answer.header("access-control-allow-origin"), None, "{answer}");
    }
    assert_eq!(everything(server).await, before, "with {headers:?}");
}

/// All that the requests above could change.
async fn everything(server: &Client) -> Vec<String> {
    let mut all = Vec::new();
    for path in [ONE, EVENTS, "/v1/apps/app/sessions?includeState=true", APP_STATE, USER_STATE, "/v1/apps"] {
        all.push(server.get(path).await.expect(200).text().to_owned());
    }
    all
}

on_sqlite! {
    async fn a_name_that_leads_here_without_being_ours_reaches_nothing(server: &TestServer) {
        server.create(r#"{"state":{"k":1,"app:k":1,"user:k":1}}"#).await;
        for host in ["evil.example", "evil.example:8080", "localhost.evil.example", "127.0.0.1.evil.example", "sessiond"] {
            // As a browser sends it, to which the page and the server are one origin.
            all_are_refused(server, &format!("Host: {host}\r\nOrigin: http://{host}\r\nSec-Fetch-Site: same-origin")).await;
        }
        all_are_refused(server, "Host: evil.example").await;
        all_are_refused(server, "hOST:  ").await;
    }

    async fn a_page_of_another_site_reaches_nothing(server: &TestServer) {
        server.create(r#"{"state":{"k":1,"app:k":1,"user:k":1}}"#).await;
        for headers in [
            // A form, a `fetch`, a preflight.
            "Origin: http://evil.example\r\nSec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: navigate",
            "Origin: https://evil.example\r\nSec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: no-cors",
            "Origin: http://evil.example\r\nAccess-Control-Request-Method: DELETE\r\nSec-Fetch-Mode: cors",
            // A sandboxed frame, a file, a redirect.
            "Origin: null",
            "Origin: null\r\nSec-Fetch-Site: same-origin",
            // An image or a link, which say no origin.
            "Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: no-cors\r\nSec-Fetch-Dest: image",
            "Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: navigate\r\nSec-Fetch-User: ?1",
            // Another server on the same machine.
            "Origin: http://localhost:3000\r\nSec-Fetch-Site: same-site",
            "Origin: http://127.0.0.1:8080\r\nSec-Fetch-Site: cross-site",
            "Origin: https://localhost:8080",
            "Origin: http://localhost:8080/",
            "Origin: http://localhost:8080\r\nOrigin: http://localhost:8080",
            "Origin:",
        ] {
            all_are_refused(server, &format!("Host: localhost:8080\r\n{headers}")).await;
        }
    }

    async fn pages_for_people_can_be_linked_to_but_not_rebound(server: &TestServer) {
        for (path, status) in [("/docs", 200), ("/", 200), ("/console/", 200), ("/console", 308)] {
            for headers in [
                "Sec-Fetch-Site: cross-site\r\nSec-Fetch-Mode: navigate\r\nSec-Fetch-Dest: document",
                "Origin: http://evil.example\r\nSec-Fetch-Site: cross-site",
                "Origin: null",
            ] {
                send(server, "GET", path, &format!("Host: localhost\r\n{headers}"), "").await.expect(status);
                send(server, "GET", path, &format!("Host: evil.example\r\n{headers}"), "").await.problem(403, "permission_denied");
            }
            send(server, "GET", path, "Host: evil.example", "").await.problem(403, "permission_denied");
        }
    }

    async fn who_is_no_foreigner_is_served(server: &TestServer) {
        server.create("{}").await;
        for headers in [
            "Host: localhost",
            "Host: LOCALHOST.:8080",
            "Host: a.localhost",
            "Host: 127.0.0.1:8080",
            "Host: 10.1.2.3",
            "Host: [::1]:8080",
            "Host: localhost:8080\r\nOrigin: http://localhost:8080\r\nSec-Fetch-Site: same-origin\r\nSec-Fetch-Mode: cors",
            "Host: [::1]\r\nOrigin: http://[0:0::1]:80",
            // Typed into the address bar.
            "Host: localhost:8080\r\nSec-Fetch-Site: none\r\nSec-Fetch-Mode: navigate",
            "Host: localhost:8080\r\nSec-Fetch-Site: same-site",
        ] {
            send(server, "GET", ONE, headers, "").await.expect(200);
            send(server, "POST", EVENTS, headers, "{}").await.expect(201);
            send(server, "POST", ADK, headers, "").await.expect(200);
        }
    }

    async fn the_target_of_a_request_is_judged_like_its_host(server: &TestServer) {
        server.create("{}").await;
        let ask = async |target: &str, headers: &str| {
            server.wire(&[format!("GET {target} HTTP/1.1\r\n{headers}\r\nconnection: close\r\n\r\n").as_bytes()]).await
        };
        let ours = format!("http://localhost:8080{ONE}");
        assert!(ask(&ours, "host: localhost:8080").await.starts_with("HTTP/1.1 200 "));
        assert!(ask(&ours, "host: localhost:8080\r\norigin: http://localhost:8080").await.starts_with("HTTP/1.1 200 "));
        // Where the two differ the target counts, and neither may be foreign.
        assert!(ask(&ours, "host: 127.0.0.1\r\norigin: http://localhost:8080").await.starts_with("HTTP/1.1 200 "));
        for (target, headers) in [
            (format!("http://evil.example{ONE}"), "host: localhost"),
            (format!("http://evil.example:8080{ONE}"), "host: evil.example:8080"),
            (ours.clone(), "host: evil.example"),
            (ours.clone(), "host: 127.0.0.1\r\norigin: http://127.0.0.1"),
            (format!("https://localhost:8080{ONE}"), "host: localhost:8080\r\norigin: http://localhost:8080"),
        ] {
            let answer = ask(&target, headers).await;
            assert!(answer.starts_with("HTTP/1.1 403 ") && answer.contains("permission_denied"), "{target}, {headers}: {answer}");
        }
        for (target, headers) in [(ours.as_str(), "accept: */*"), (&format!("http://user@localhost{ONE}"), "host: localhost")] {
            let answer = ask(target, headers).await;
            assert!(answer.starts_with("HTTP/1.1 400 ") && answer.contains("invalid_request"), "{target}, {headers}: {answer}");
        }
    }

    async fn names_and_origins_can_be_let_in(server: &TestServer)
        with ["--allowed-hosts=sessiond,api.example.com:8443", "--cors-origins=https://app.example.com,http://localhost:3000"]
    {
        server.create("{}").await;
        for host in ["sessiond", "Sessiond.:8080", "api.example.com:8443", "localhost"] {
            send(server, "GET", ONE, &format!("Host: {host}"), "").await.expect(200);
        }
        for host in ["api.example.com", "x.sessiond", "evil.example"] {
            send(server, "GET", ONE, &format!("Host: {host}"), "").await.problem(403, "permission_denied");
        }
        for origin in ["https://app.example.com", "http://localhost:3000", "http://sessiond:8080"] {
            let site = if origin.contains("sessiond") { "same-origin" } else { "cross-site" };
            let headers = format!("Host: sessiond:8080\r\nOrigin: {origin}\r\nSec-Fetch-Site: {site}");
            let answer = send(server, "POST", EVENTS, &headers, "{}").await.expect(201);
            let listed = site == "cross-site";
            assert_eq!(answer.header("access-control-allow-origin"), listed.then_some(origin), "{answer}");
            assert_eq!(answer.header("vary"), Some("Origin"));
            // Errors can be read too.
            let error = send(server, "GET", "/v1/apps//users", &headers, "").await.expect(422);
            assert_eq!(error.header("access-control-allow-origin"), listed.then_some(origin), "{error}");
            if listed {
                let exposed = answer.header("access-control-expose-headers").unwrap().to_owned();
                assert!(["etag", "location", "x-request-id", "idempotent-replayed", "retry-after", "ratelimit", "ratelimit-policy"].iter().all(|name| exposed.contains(name)));
            }
        }
        for origin in ["https://app.example.com:8443", "http://app.example.com", "https://evil.example", "null"] {
            let headers = format!("Host: localhost\r\nOrigin: {origin}");
            let answer = send(server, "GET", ONE, &headers, "").await;
            answer.problem(403, "permission_denied");
            assert_eq!(answer.header("access-control-allow-origin"), None);
            assert_eq!(answer.header("vary"), Some("Origin"));
        }
        assert_eq!(server.get(ONE).await.expect(200).header("vary"), Some("Origin"));
    }

    async fn a_preflight_of_a_listed_origin_is_answered(server: &TestServer) with ["--cors-origins=https://app.example.com"] {
        let ask = async |path: &str, origin: &str, more: &str| {
            send(server, "OPTIONS", path, &format!("Host: localhost:8080\r\nOrigin: {origin}{more}"), "").await
        };
        let wish = "\r\nAccess-Control-Request-Method: PATCH\r\nAccess-Control-Request-Headers: content-type,if-match";
        for path in [ONE, STATE, "/apps/app/users/user/sessions/s"] {
            let answer = ask(path, "https://app.example.com", wish).await.expect(204);
            assert_eq!(answer.header("access-control-allow-origin"), Some("https://app.example.com"));
            let methods = answer.header("access-control-allow-methods").unwrap().to_owned();
            assert!(["PUT", "PATCH", "DELETE"].iter().all(|method| methods.contains(method)), "{methods}");
            let headers = answer.header("access-control-allow-headers").unwrap().to_owned();
            assert!(["content-type", "if-match", "idempotency-key"].iter().all(|name| headers.contains(name)), "{headers}");
            assert_eq!(answer.header("access-control-allow-credentials"), None);
            ask(path, "https://evil.example", wish).await.problem(403, "permission_denied");
            // Without the question it is no preflight.
            ask(path, "https://app.example.com", "").await.problem(405, "method_not_allowed");
        }
    }

    async fn what_is_not_one_message_to_one_host_is_refused_and_the_connection_closed(server: &TestServer) {
        server.create("{}").await;
        let json = "content-type: application/json\r\n";
        let sized = format!("host: localhost\r\n{json}content-length: 2\r\n");
        for (headers, body) in [
            (format!("{json}content-length: 2\r\n"), "{}"),
            (format!("{sized}host: localhost\r\n"), "{}"),
            (format!("{sized}HOST: evil.example\r\n"), "{}"),
            (format!("{sized}{json}"), "{}"),
            (format!("{sized}content-type: text/plain\r\n"), "{}"),
            (format!("{sized}transfer-encoding: chunked\r\n"), "2\r\n{}\r\n0\r\n\r\n"),
            (format!("transfer-encoding: chunked\r\n{sized}"), "2\r\n{}\r\n0\r\n\r\n"),
            (format!("host: localhost\r\n{json}transfer-encoding: gzip, chunked\r\n"), "2\r\n{}\r\n0\r\n\r\n"),
            (format!("host: localhost\r\n{json}transfer-encoding: chunked, chunked\r\n"), "2\r\n{}\r\n0\r\n\r\n"),
            (format!("host: localhost\r\n{json}transfer-encoding: chunked\r\ntransfer-encoding: chunked\r\n"), "2\r\n{}\r\n0\r\n\r\n"),
            (format!("host: localhost\r\n{json}transfer-encoding: chunked, gzip\r\n"), "2\r\n{}\r\n0\r\n\r\n"),
            (format!("host: localhost\r\n{json}transfer-encoding: identity\r\n"), "{}"),
            (format!("host: localhost\r\n{json}transfer-encoding: xchunked\r\n"), "2\r\n{}\r\n0\r\n\r\n"),
            (format!("host: localhost\r\n{json}content-length: 2\r\ncontent-length: 3\r\n"), "{}"),
            (format!("host: localhost\r\n{json}content-length: +2\r\n"), "{}"),
            (format!("host: local host\r\n{json}content-length: 2\r\n"), "{}"),
            (format!("host: x@localhost\r\n{json}content-length: 2\r\n"), "{}"),
        ] {
            let bad = format!("POST {EVENTS} HTTP/1.1\r\n{headers}\r\n{body}");
            let next = format!("POST {EVENTS} HTTP/1.1\r\n{sized}\r\n{{}}");
            let get = format!("GET {ONE} HTTP/1.1\r\nhost: localhost\r\n\r\n");
            let chunked = format!(
                "POST {ONE}/render HTTP/1.1\r\nhost: localhost\r\n{json}transfer-encoding: chunked\r\n\r\n\
                 2;x=y\r\n{{\"\r\n0D\r\ntemplate\":\"\"}}\r\n0\r\nA: b\r\n\r\n"
            );
            // Alone, behind others on the same connection, in one segment and in many.
            for (before, answered) in [("", 0), (&get, 1), (&chunked, 1), (&format!("{get}{chunked}{get}"), 3)] {
                let text = format!("{before}{bad}{next}");
                for part in [text.len(), 29] {
                    let parts: Vec<&[u8]> = text.as_bytes().chunks(part).collect();
                    let answers = server.wire(&parts).await;
                    let statuses: Vec<&str> = answers.split("HTTP/1.1 ").skip(1).map(|answer| &answer[..3]).collect();
                    assert_eq!(statuses.len(), answered + 1, "{text}\n{answers}");
                    assert_eq!(statuses[answered], "400", "{text}\n{answers}");
                    let last = answers.rsplit("HTTP/1.1 ").next().unwrap();
                    for part in
                        [r#""code":"invalid_request""#, r#""outcome":"not_applied""#, "connection: close", "x-request-id: ", "nosniff"]
                    {
                        assert!(last.contains(part), "no {part} in {last}");
                    }
                }
            }
        }
        assert_eq!(server.get(ONE).await.json()["revision"], 0);
    }

    async fn one_message_after_another_is_served(server: &TestServer) {
        server.create("{}").await;
        let json = "host: localhost\r\ncontent-type: application/json\r\n";
        // A body that looks like a request with two lengths. It is not JSON.
        let decoy = "\r\n\r\nPOST / HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n";
        let sized = |body: &str| format!("POST {EVENTS} HTTP/1.1\r\n{json}content-length: {}\r\n\r\n{body}", body.len());
        let chunked = |body: &str| {
            let length = body.len();
            format!("POST {EVENTS} HTTP/1.1\r\n{json}Transfer-Encoding:  Chunked \r\n\r\n{length:x}\r\n{body}\r\n0\r\n\r\n")
        };
        let last = format!("GET {ONE} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n");
        let text = [sized(decoy), chunked(decoy), chunked("{}"), sized("{}"), last].concat();
        for part in [text.len(), 31] {
            let parts: Vec<&[u8]> = text.as_bytes().chunks(part).collect();
            let answers = server.wire(&parts).await;
            let statuses: Vec<&str> = answers.split("HTTP/1.1 ").skip(1).map(|answer| &answer[..3]).collect();
            assert_eq!(statuses, ["400", "400", "201", "201", "200"], "{answers}");
            assert_eq!(answers.matches(r#""code":"invalid_json""#).count(), 2, "{answers}");
        }
    }

    async fn http_1_0_needs_no_host(server: &TestServer) {
        server.create("{}").await;
        assert!(server.wire(&[b"GET /healthz HTTP/1.0\r\n\r\n"]).await.starts_with("HTTP/1.0 200 "));
        for (headers, status) in [
            ("host: evil.example\r\n", 403),
            ("origin: http://localhost\r\n", 403),
            ("sec-fetch-site: cross-site\r\n", 403),
            ("host: localhost\r\nhost: localhost\r\n", 400),
        ] {
            let answer = server.wire(&[format!("GET {ONE} HTTP/1.0\r\n{headers}\r\n").as_bytes()]).await;
            assert!(answer.starts_with(&format!("HTTP/1.0 {status} ")), "{headers}: {answer}");
        }
    }

    async fn a_body_with_a_coding_is_415_and_told_to_come_without(server: &TestServer) {
        server.create("{}").await;
        for (coding, good) in [("identity", true), ("Identity", true), ("", true), ("gzip", false), ("identity, br", false), ("x", false)] {
            for request in [server.post(S), server.post(EVENTS), server.patch(STATE), server.patch(APP_STATE), server.post(ADK)] {
                let answer = request.header("content-encoding", coding).json("{}").await;
                if good {
                    assert!(answer.status < 300 || answer.status == 422, "{coding}: {answer}");
                    assert_eq!(answer.header("accept-encoding"), None);
                } else {
                    answer.problem(415, "unsupported_media_type");
                    assert_eq!(answer.header("accept-encoding"), Some("identity"), "{coding}: {answer}");
                }
            }
        }
        // A media type that is not taken is another matter.
        let answer = server.post(EVENTS).body("text/plain", "{}").await;
        answer.problem(415, "unsupported_media_type");
        assert_eq!(answer.header("accept-encoding"), None);
    }
}
