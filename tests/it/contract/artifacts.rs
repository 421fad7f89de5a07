//! Artifacts: versioned files of sessions and of users.

use std::time::Duration;

use base64::Engine as _;
use futures_util::future::join_all;
use serde_json::{Value, json};
use sha2::{Digest as _, Sha256};
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpStream;

use super::erasure::done;
use crate::support::client::{Answer, Client, EVENTS, ONE, PATIENCE, S, segment};
use crate::support::databases::on_both_databases;
use crate::support::server::TestServer;

const FILES: &str = "/v1/apps/app/users/user/sessions/s/artifacts";
const OF_USER: &str = "/v1/apps/app/users/user/artifacts";

/// A part of the bytes that the service writes and reads at once.
const PART: usize = 256 << 10;

/// Bytes that repeat nowhere within them.
pub(super) fn bytes(length: usize) -> Vec<u8> {
    let mut state = length as u64 + 1;
    let mut next = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as u8
    };
    (0..length).map(|_| next()).collect()
}

fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

fn names(list: &Answer) -> Vec<String> {
    let artifacts = list.json()["artifacts"].take();
    artifacts.as_array().expect("a list").iter().map(|one| one["name"].as_str().expect("a name").to_owned()).collect()
}

async fn loose(server: &TestServer) -> i64 {
    server.number("select count(*) from blobs where versions < 1").await
}

/// Sends the head of an upload and some bytes of it.
async fn begin(server: &Client, path: &str, length: usize, sent: &[u8]) -> TcpStream {
    let mut stream = TcpStream::connect(server.address()).await.expect("connect");
    let head = format!("PUT {path} HTTP/1.1\r\nhost: localhost\r\ncontent-length: {length}\r\n\r\n");
    stream.write_all(head.as_bytes()).await.expect("send");
    stream.write_all(sent).await.expect("send");
    stream
}

async fn until(what: &str, mut is_so: impl AsyncFnMut() -> bool) {
    let waited = tokio::time::timeout(PATIENCE, async {
        while !is_so().await {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    });
    waited.await.unwrap_or_else(|_| panic!("never: {what}"));
}

on_both_databases! {
    async fn bytes_come_back_as_they_were_saved(server: &TestServer) {
        server.create("{}").await;
        for (version, length) in [0, 1, PART - 1, PART, PART + 1, 3 * PART, 3 * PART + 17].into_iter().enumerate() {
            let given = bytes(length);
            let saved = server.put(format!("{FILES}/f?event=none")).body("image/x; a=\"b\"", given.clone()).await.expect(201);
            let shown = saved.json();
            assert_eq!((&shown["version"], &shown["size"]), (&json!(version), &json!(length)));
            assert_eq!((&shown["kind"], &shown["mimeType"]), (&json!("bytes"), &json!("image/x; a=\"b\"")));
            assert_eq!(shown["sha256"], sha256(&given));
            assert_eq!(saved.header("location"), Some(&*format!("{FILES}/f?version={version}")));
            let read = server.get(format!("{FILES}/f")).await.expect(200);
            assert!(read.bytes() == given, "{length}");
            assert_eq!(read.header("content-type"), Some("image/x; a=\"b\""));
            assert_eq!(read.header("content-length"), Some(&*length.to_string()));
            assert_eq!(read.etag(), format!("\"{version}-{}\"", &sha256(&given)[..8]));
            assert_eq!(saved.etag(), read.etag());
            let head = server.head(format!("{FILES}/f")).await.expect(200);
            assert_eq!(head.header("content-length"), Some(&*length.to_string()));
            assert_eq!(head.etag(), read.etag());
        }
        assert_eq!(server.get(format!("{FILES}/f?version=3")).await.expect(200).bytes().len(), PART);
        assert_eq!(loose(server).await, 0);
        let none = server.put(format!("{FILES}/g?event=none")).await.expect(201).json();
        assert_eq!((&none["mimeType"], &none["size"]), (&json!("application/octet-stream"), &json!(0)));
        server.get(format!("{FILES}/none")).await.problem(404, "artifact_not_found");
        server.get(format!("{FILES}/f?version=7")).await.problem(404, "artifact_not_found");
        server.get(format!("{S}/none/artifacts/f")).await.problem(404, "session_not_found");
        server.put(format!("{S}/none/artifacts/f")).await.problem(404, "session_not_found");
        server.put(format!("{S}/none/artifacts/f")).body("a/b", bytes(2 * PART)).await.problem(404, "session_not_found");
    }

    async fn what_an_agent_wrote_never_runs_in_a_browser(server: &TestServer) {
        server.create("{}").await;
        for (name, disposition) in [
            ("a/page.html", "attachment; filename=\"page.html\""),
            ("ü.svg", "attachment; filename=\"_.svg\"; filename*=UTF-8''%C3%BC.svg"),
            ("user:x\"y", "attachment; filename=\"x_y\"; filename*=UTF-8''x%22y"),
            // No folder is the name of a file.
            ("x/..", "attachment; filename=\"x\""),
            ("../..", "attachment; filename=\"file\""),
        ] {
            let path = format!("{FILES}/{}", segment(name));
            server.put(&path).body("text/html", "<script>1</script>").await.expect(201);
            for answer in [server.get(&path).await.expect(200), server.head(&path).await.expect(200)] {
                assert_eq!(answer.header("content-disposition"), Some(disposition));
                assert_eq!(answer.header("content-security-policy"), Some("sandbox; default-src 'none'"));
                assert_eq!(answer.header("content-type"), Some("text/html"));
            }
        }
    }

    async fn a_part_of_adk_comes_back_as_such(server: &TestServer) {
        server.create("{}").await;
        for (version, (part, kind)) in [
            (json!({"text": "grüß\u{0}\n\"Gott\""}), "text"),
            (json!({"inlineData": {"mimeType": "a/b", "data": "AAEC", "displayName": "n"}}), "bytes"),
            (json!({"fileData": {"fileUri": "gs://a/b", "mimeType": "c/d"}}), "uri"),
            (json!({"fileData": {"fileUri": "gs://a/b"}}), "uri"),
            (json!({"text": "é".repeat(PART)}), "text"),
            (json!({"inlineData": {"mimeType": "a/b", "data": base64::engine::general_purpose::STANDARD.encode(bytes(2 * PART + 1))}}), "bytes"),
        ].into_iter().enumerate() {
            let body = json!({"name": "p", "part": part, "metadata": {"n": version}, "event": "none"});
            let saved = server.post(FILES).json(body).await.expect(201);
            assert_eq!((&saved.json()["kind"], &saved.json()["metadata"]), (&json!(kind), &json!({"n": version})));
            assert_eq!(saved.json()["size"].is_null(), kind == "uri");
            let read = server.get(format!("{FILES}/p?as=part")).await.expect(200);
            assert_eq!(read.json(), part);
            assert_eq!(server.head(format!("{FILES}/p?as=part")).await.expect(200).etag(), read.etag());
        }
        let named = format!("{FILES}/named?displayName=%C3%BC%20%22%25&event=none");
        let saved = server.put(&named).header("idempotency-key", "k").body("text/plain", "x").await.expect(201);
        assert_eq!((&saved.json()["displayName"], &saved.json()["kind"]), (&json!("ü \"%"), &json!("bytes")));
        for answer in [server.get(format!("{FILES}/named")).await.expect(200), server.head(format!("{FILES}/named")).await.expect(200)] {
            assert_eq!(answer.header("sessiond-artifact-display-name"), Some("%C3%BC%20%22%25"));
        }
        let part = server.get(format!("{FILES}/named?as=part")).await.expect(200).json();
        assert_eq!(part["inlineData"]["displayName"], "ü \"%");
        server.put(&named).header("idempotency-key", "k").body("text/plain", "x").await.expect(200);
        let other = named.replace("%C3%BC", "u");
        let other = server.put(other).header("idempotency-key", "k").body("text/plain", "x").await;
        other.problem(409, "event_id_conflict");
        let long = format!("{FILES}/named?displayName={}", "x".repeat(1023));
        server.put(long).body("text/plain", "x").await.invalid(&["displayName"]);
        for (version, name) in [(0, None), (1, Some("n"))] {
            let read = server.get(format!("{FILES}/p?version={version}")).await.expect(200);
            assert_eq!(read.header("sessiond-artifact-display-name"), name);
        }
        let text = server.get(format!("{FILES}/p?version=0")).await.expect(200);
        assert_eq!((text.bytes(), text.header("content-type")), ("grüß\u{0}\n\"Gott\"".as_bytes(), Some("text/plain; charset=utf-8")));
        // Bytes of the same type are no text.
        let same = server.put(format!("{FILES}/p?event=none")).body("text/plain; charset=utf-8", "x").await.expect(201);
        let other = server.get(format!("{FILES}/p?version={}", same.json()["version"])).await.expect(200);
        let part_of = server.get(format!("{FILES}/p?version=0")).header("range", "bytes=1-2").await.expect(206);
        for (answer, kind) in [(&text, "text"), (&other, "bytes"), (&part_of, "text")] {
            assert_eq!(answer.header("sessiond-artifact-kind"), Some(kind));
        }
        for version in [2, 3] {
            server.get(format!("{FILES}/p?version={version}")).await.invalid(&["as"]);
        }
        for (data, expected) in [("-_8", [0xfb, 0xff]), ("+/8=", [0xfb, 0xff])] {
            let body = json!({"name": "q", "part": {"inline_data": {"mime_type": "a/b", "data": data}}, "event": "none"});
            server.post(FILES).json(body).await.expect(201);
            assert_eq!(server.get(format!("{FILES}/q")).await.bytes(), expected);
        }
        for (bad, field) in [
            (json!({"part": {"text": ""}}), "name"),
            (json!({"name": "p"}), "part"),
            (json!({"name": "p", "part": {}}), "/part"),
            (json!({"name": "p", "part": {"text": ""}, "bogus": 1}), "bogus"),
            (json!({"name": "p", "part": {"text": ""}, "event": "maybe"}), "event"),
            (json!({"name": "p", "part": {"text": ""}, "metadata": []}), "metadata"),
            (json!({"name": "p", "part": {"text": ""}, "version": -1}), "version"),
            (json!({"name": "..", "part": {"text": ""}}), "name"),
        ] {
            server.post(FILES).json(bad).await.invalid(&[field]);
        }
    }

    async fn one_range_is_answered(server: &TestServer) {
        server.create("{}").await;
        let given = bytes(2 * PART + 100);
        server.put(format!("{FILES}/f")).body("a/b", given.clone()).await.expect(201);
        let tag = server.head(format!("{FILES}/f")).await.etag();
        let size = given.len();
        for (range, expected) in [
            ("bytes=0-0", 0..1),
            (&*format!("bytes={}-{}", PART - 3, PART + 2), PART - 3..PART + 3),
            (&*format!("bytes={PART}-"), PART..size),
            ("bytes=-7", size - 7..size),
            ("bytes=5-999999999999", 5..size),
        ] {
            let read = server.get(format!("{FILES}/f")).header("range", range).await.expect(206);
            assert!(read.bytes() == &given[expected.clone()], "{range}");
            let shown = format!("bytes {}-{}/{size}", expected.start, expected.end - 1);
            assert_eq!(read.header("content-range"), Some(&*shown));
            assert_eq!(read.header("content-length"), Some(&*expected.len().to_string()));
        }
        for whole in ["bytes=1-2,4-5", "items=1-2", "bytes=3-1"] {
            assert_eq!(server.get(format!("{FILES}/f")).header("range", whole).await.expect(200).bytes().len(), size, "{whole}");
        }
        let beyond = server.get(format!("{FILES}/f")).header("range", format!("bytes={size}-")).await;
        beyond.problem(416, "range_not_satisfiable");
        assert_eq!(beyond.header("content-range"), Some(&*format!("bytes */{size}")));
        let if_range = |tag: &str| server.get(format!("{FILES}/f")).header("range", "bytes=1-2").header("if-range", tag);
        if_range(&tag).await.expect(206);
        if_range("\"0\"").await.expect(200);
        assert_eq!(server.get(format!("{FILES}/f")).header("if-none-match", &tag).await.status(), 304);
        server.get(format!("{FILES}/f")).header("if-none-match", "\"1-00000000\"").await.expect(200);
        assert_eq!(server.head(format!("{FILES}/f")).header("range", "bytes=1-2").await.expect(200).header("content-length"), Some(&*size.to_string()));
    }

    async fn a_save_appends_the_event_that_names_its_version(server: &TestServer) {
        server.create(r#"{"state":{"k":1}}"#).await;
        let saved = server.put(format!("{FILES}/a%2Fb?author=agent&invocationId=i")).body("a/b", "x").await.expect(201);
        assert_eq!(saved.json()["revision"], 1);
        let event = server.get(EVENTS).await.expect(200).json()["events"][0].clone();
        assert_eq!((&event["author"], &event["invocationId"]), (&json!("agent"), &json!("i")));
        assert_eq!(event["actions"]["artifactDelta"], json!({"a/b": 0}));
        let before = server.shown().await;
        let none = server.put(format!("{FILES}/a%2Fb?event=none")).body("a/b", "y").await.expect(201);
        assert!(none.json()["revision"].is_null());
        assert_eq!(server.shown().await, before, "the session does not change");
        let posted = server.post(FILES).json(json!({"name": "user:p", "part": {"text": "t"}})).await.expect(201);
        assert_eq!(posted.json()["revision"], 2);
        let events = server.get(EVENTS).await.json();
        assert_eq!(events["events"][1]["actions"]["artifactDelta"], json!({"user:p": 0}));
        assert_eq!(events["events"][1]["author"], "user");
        assert_eq!(server.state().await, json!({"k": 1}), "no state");
        // On the user's path there is no log.
        server.put(format!("{OF_USER}/q?event=none")).body("a/b", "x").await.expect(201);
        let appended = server.put(format!("{OF_USER}/q?event=append")).body("a/b", "x").await;
        assert_eq!(appended.problem(422, "invalid_argument")["errors"][0]["field"], "event");
        // Nothing of it happens by half.
        server.put("/v1/apps/app/policy").json(json!({"limits": {"eventsPerSession": 2}})).await.expect(200);
        let refused = server.put(format!("{FILES}/z")).body("a/b", bytes(2 * PART)).await;
        assert_eq!(refused.problem(409, "limit_reached")["limit"], "eventsPerSession");
        server.get(format!("{FILES}/z")).await.problem(404, "artifact_not_found");
        server.until_swept().await;
        assert_eq!(loose(server).await, 0);
    }

    async fn artifacts_of_a_user_are_the_same_from_everywhere(server: &TestServer) {
        server.create("{}").await;
        server.post(S).json(json!({"sessionId": "t"})).await.expect(201);
        let saved = server.put(format!("{OF_USER}/f")).body("a/b", "1").await.expect(201);
        assert_eq!((&saved.json()["name"], saved.header("location")), (&json!("user:f"), Some("/v1/apps/app/users/user/artifacts/user%3Af?version=0")));
        server.put(format!("{OF_USER}/user:f")).body("a/b", "2").await.expect(201);
        server.put(format!("{FILES}/user:f?event=none")).body("a/b", "3").await.expect(201);
        for path in [format!("{OF_USER}/f"), format!("{OF_USER}/user:f"), format!("{FILES}/user:f"), format!("{S}/t/artifacts/user:f")] {
            assert_eq!(server.get(&path).await.expect(200).bytes(), b"3", "{path}");
        }
        server.put(format!("{FILES}/f?event=none")).body("a/b", "own").await.expect(201);
        assert_eq!(server.get(format!("{FILES}/f")).await.bytes(), b"own");
        assert_eq!(names(&server.get(FILES).await.expect(200)), ["f", "user:f"]);
        assert_eq!(names(&server.get(format!("{S}/t/artifacts")).await.expect(200)), ["user:f"]);
        assert_eq!(names(&server.get(OF_USER).await.expect(200)), ["user:f"]);
        server.put(format!("{OF_USER}/f?event=append")).await.invalid(&["event"]);
        server.post(OF_USER).json(json!({"name": "f", "part": {"text": ""}, "event": "append"})).await.invalid(&["event"]);
        server.get(format!("{S}/none/artifacts/user:f")).await.problem(404, "session_not_found");
        assert_eq!(server.get("/v1/apps/app/users/other/artifacts").await.expect(200).json(), json!({"artifacts": []}));
        // They outlast the session that saved them.
        server.delete(ONE).await.expect(204);
        assert_eq!(server.get(format!("{OF_USER}/f")).await.expect(200).bytes(), b"3");
    }

    async fn versions_count_on_and_are_not_used_again(server: &TestServer) {
        server.create("{}").await;
        let save = |query: &str| server.put(format!("{FILES}/f?event=none{query}")).body("a/b", "x");
        for version in 0..3 {
            assert_eq!(save("").await.expect(201).json()["version"], version);
        }
        assert_eq!(save("&version=7").await.expect(201).json()["version"], 7);
        for taken in ["5", "7", "0", "9007199254740992"] {
            save(&format!("&version={taken}")).await.problem(409, "artifact_version_exists");
        }
        assert_eq!(save("").await.expect(201).json()["version"], 8);
        let listed = async |query: &str| {
            let page = server.get(format!("{FILES}/f/versions{query}")).await.expect(200).json();
            let versions: Vec<i64> = page["versions"].as_array().unwrap().iter().map(|v| v["version"].as_i64().unwrap()).collect();
            (versions, page["nextPageToken"].as_str().map(str::to_owned))
        };
        assert_eq!(listed("").await, (vec![0, 1, 2, 7, 8], None));
        let (first, token) = listed("?pageSize=3").await;
        assert_eq!(first, [0, 1, 2]);
        let token = token.unwrap();
        assert_eq!(listed(&format!("?pageSize=3&pageToken={token}")).await, (vec![7, 8], None));
        server.get(format!("{FILES}/g/versions?pageToken={token}")).await.invalid(&["pageToken"]);
        // One, which is the latest, and then all.
        server.delete(format!("{FILES}/f?version=8")).await.expect(204);
        assert_eq!(server.get(format!("{FILES}/f")).await.etag()[..3], *"\"7-");
        server.delete(format!("{FILES}/f?version=8")).await.expect(204);
        server.delete(format!("{FILES}/f")).await.expect(204);
        server.delete(format!("{FILES}/none")).await.expect(204);
        server.get(format!("{FILES}/f")).await.problem(404, "artifact_not_found");
        server.get(format!("{FILES}/f/versions")).await.problem(404, "artifact_not_found");
        assert_eq!(names(&server.get(FILES).await), Vec::<String>::new());
        assert_eq!(save("").await.expect(201).json()["version"], 9);
        server.until_swept().await;
        assert_eq!(server.number("select count(*) from blobs").await, 1);
        assert_eq!(server.number("select count(*) from blob_chunks").await, 1);
        assert_eq!(server.number("select versions from artifact_places where session_id = 's'").await, 1);
    }

    async fn lists_are_in_byte_order_and_paged(server: &TestServer) {
        server.create("{}").await;
        let mut all = vec!["a", "a/b", "a/b/c", "ab", "b", "user", "user:a", "user:b", "z", "é"];
        for name in all.iter().rev() {
            server.put(format!("{FILES}/{}?event=none&metadata={}", segment(name), segment("{ \"n\":1.0}"))).body("a/b", *name).await.expect(201);
        }
        all.sort_unstable();
        let (mut found, mut token) = (Vec::new(), String::new());
        loop {
            let page = server.get(format!("{FILES}?pageSize=3{token}")).await.expect(200);
            assert!(page.text().contains(r#""metadata":{ "n":1.0}"#));
            found.extend(names(&page));
            match page.json()["nextPageToken"].as_str() {
                Some(next) => token = format!("&pageToken={next}"),
                None => break,
            }
        }
        assert_eq!(found, all);
        for (prefix, expected) in [("a/", vec!["a/b", "a/b/c"]), ("user:", vec!["user:a", "user:b"]), ("x", vec![]), ("é", vec!["é"])] {
            assert_eq!(names(&server.get(format!("{FILES}?prefix={}", segment(prefix))).await.expect(200)), expected, "{prefix}");
        }
    }

    async fn preconditions_are_on_the_latest_version(server: &TestServer) {
        server.create("{}").await;
        let put = || server.put(format!("{FILES}/f?event=none")).body("a/b", "x");
        let first = put().header("if-none-match", "*").await.expect(201);
        let problem = put().header("if-none-match", "*").await.problem(412, "revision_mismatch");
        assert_eq!((&problem["version"], &problem["outcome"]), (&json!(0), &json!("not_applied")));
        put().header("if-match", first.etag()).await.expect(201);
        assert_eq!(put().header("if-match", "\"0\"").await.problem(412, "revision_mismatch")["version"], 1);
        put().header("if-match", "\"1\"").await.expect(201);
        let other = server.put(format!("{FILES}/g?event=none")).header("if-match", "*").await;
        assert!(other.problem(412, "revision_mismatch")["version"].is_null());
        put().header("if-none-match", "\"1\"").await.invalid(&["If-None-Match"]);

        let delete = |name, tag| server.delete(format!("{FILES}/{name}")).header("if-match", tag);
        assert_eq!(delete("f", "\"1\"").await.problem(412, "revision_mismatch")["version"], 2);
        assert!(delete("g", "\"0\"").await.problem(412, "revision_mismatch")["version"].is_null());
        assert_eq!(delete("f?version=0", "\"0\"").await.problem(412, "revision_mismatch")["version"], 2);
        delete("f?version=0", "\"2\"").await.expect(204);
        delete("f", "\"2\"").await.expect(204);
        server.get(format!("{FILES}/f")).await.problem(404, "artifact_not_found");
        delete("f", "*").await.problem(412, "revision_mismatch");
    }

    async fn a_retry_saves_nothing_twice(server: &TestServer) {
        server.create("{}").await;
        for (place, length) in [(FILES, 10), (OF_USER, 10), (FILES, 2 * PART)] {
            let path = format!("{place}/r{length}?metadata={}", segment("{\"a\":1}"));
            let put = |body: Vec<u8>| server.put(&path).header("idempotency-key", "k").body("a/b", body);
            let first = put(bytes(length)).await.expect(201);
            server.put(format!("{place}/r{length}")).body("a/b", "later").await.expect(201);
            let again = put(bytes(length)).header("if-match", "\"77\"").await.expect(200);
            assert!(again.was_replayed());
            assert_eq!(again.text(), first.text());
            put(bytes(length + 1)).await.problem(409, "event_id_conflict");
            let typed = server.put(&path).header("idempotency-key", "k").body("a/c", bytes(length)).await;
            typed.problem(409, "event_id_conflict");
            // Another artifact has keys of its own.
            server.put(format!("{place}/other{length}")).header("idempotency-key", "k").await.expect(201);
        }
        server.until_swept().await;
        assert_eq!(loose(server).await, 0);
    }

    async fn a_superseded_holder_saves_nothing(server: &TestServer) {
        server.create("{}").await;
        let lease = server.post(format!("{ONE}/lease")).json(json!({"owner": "a", "exclusive": "all"})).await.expect(201).json();
        let mark = format!("{}-{}", lease["epoch"], lease["incarnation"].as_str().unwrap());
        for event in ["none", "append"] {
            let put = || server.put(format!("{FILES}/f?event={event}")).body("a/b", "x");
            put().await.problem(409, "lease_held");
            put().header("sessiond-lease", "7").await.problem(409, "fenced");
            put().header("sessiond-lease", &mark).await.expect(201);
        }
        server.delete(format!("{FILES}/f")).await.problem(409, "lease_held");
        server.delete(format!("{FILES}/f")).header("sessiond-lease", &mark).await.expect(204);
        server.put(format!("{OF_USER}/f")).header("sessiond-lease", &mark).await.invalid(&["Sessiond-Lease"]);
    }

    async fn what_cannot_be_kept_is_refused(server: &TestServer) with ["--max-artifact-bytes=300KiB"] {
        server.create("{}").await;
        let path = format!("{FILES}/f");
        let problem = server.put(&path).body("a/b", bytes(301 << 10)).await.problem(413, "payload_too_large");
        assert_eq!(problem["outcome"], "not_applied");
        // As it comes, if it is not announced.
        let chunks = futures_util::stream::iter((0..10).map(|_| Ok::<_, std::io::Error>(bytes(64 << 10))));
        let chunked = server.put(&path).body("a/b", reqwest::Body::wrap_stream(chunks)).await;
        chunked.problem(413, "payload_too_large");
        server.put(&path).body("a/b", bytes(300 << 10)).await.expect(201);
        let partly = server.put(&path).header("content-range", "bytes 0-1/2").body("a/b", "xy").await;
        partly.problem(400, "invalid_request");
        server.put(&path).header("content-encoding", "gzip").body("a/b", "xy").await.problem(415, "unsupported_media_type");
        for (query, field) in [
            ("metadata=1", "metadata"),
            ("metadata=", "metadata"),
            ("event=maybe", "event"),
            ("version=-1", "version"),
            ("bogus=1", "bogus"),
        ] {
            server.put(format!("{path}?{query}")).body("a/b", "x").await.invalid(&[field]);
        }
        let long = segment(&json!({"a": "x".repeat(8 << 10)}).to_string());
        server.put(format!("{path}?metadata={long}")).body("a/b", "x").await.invalid(&["metadata"]);
        server.put(format!("{FILES}/.")).body("a/b", "x").await;
        server.raw_path("GET", &format!("{FILES}/%2E%2E")).await.invalid(&["name"]);
        server.get(format!("{FILES}/f?as=whole")).await.invalid(&["as"]);
        server.until_swept().await;
        assert_eq!((loose(server).await, server.number("select count(*) from artifacts").await), (0, 1));
    }

    async fn a_cut_upload_leaves_nothing(server: &TestServer) with ["--body-stall-timeout=1s", "--sweep-interval=1s"] {
        server.create("{}").await;
        let sent = bytes(3 * PART);
        for length in [10, PART - 1, 3 * PART] {
            drop(begin(server, &format!("{FILES}/cut"), length + 1, &sent[..length]).await);
        }
        // This one keeps still.
        let idle = begin(server, &format!("{OF_USER}/cut"), 4 * PART, &sent).await;
        until("some came", async || server.number("select count(*) from blob_chunks").await > 0).await;
        until("nothing is left", async || server.number("select count(*) from blobs").await == 0).await;
        assert_eq!(server.number("select count(*) from blob_chunks").await, 0);
        drop(idle);
        for path in [FILES, OF_USER] {
            assert_eq!(names(&server.get(path).await.expect(200)), Vec::<String>::new());
        }
        assert_eq!(server.get(ONE).await.json()["revision"], 0);
    }

    async fn others_go_on_while_bytes_come(server: &TestServer) {
        server.create("{}").await;
        let sent = bytes(2 * PART + 7);
        let mut slow = begin(server, &format!("{FILES}/slow"), sent.len(), &sent[..sent.len() - 1]).await;
        until("some came", async || server.number("select count(*) from blob_chunks").await > 0).await;
        server.append_delta(r#"{"k":1}"#).await;
        server.put(format!("{FILES}/quick")).body("a/b", "x").await.expect(201);
        server.put(format!("{FILES}/slow?event=none")).body("a/b", "x").await.expect(201);
        server.get(format!("{FILES}/slow?version=1")).await.problem(404, "artifact_not_found");
        slow.write_all(&sent[sent.len() - 1..]).await.expect("send");
        until("it is there", async || server.get(format!("{FILES}/slow?version=1")).await.status() == 200).await;
        assert!(server.get(format!("{FILES}/slow")).await.bytes() == sent);
        assert_eq!(server.get(ONE).await.json()["revision"], 3);
    }

    async fn no_two_savers_get_one_version(server: &TestServer) {
        server.create("{}").await;
        for (place, length, event) in [(FILES, 10, "?event=none"), (FILES, 10, ""), (OF_USER, 10, ""), (FILES, PART + 9, "")] {
            let name = format!("{length}{}", event.len());
            let save = |n: usize| {
                let name = &name;
                async move {
                    let mut given = bytes(length);
                    given[0] = n as u8;
                    let saved = server.put(format!("{place}/{name}{event}")).body("a/b", given).await.expect(201);
                    saved.json()["version"].as_i64().unwrap()
                }
            };
            let mut versions = join_all((0..20).map(save)).await;
            versions.sort_unstable();
            assert_eq!(versions, (0..20).collect::<Vec<_>>(), "{place} {length}");
            let listed = server.get(format!("{place}/{name}/versions")).await.expect(200).json();
            assert_eq!(listed["versions"].as_array().unwrap().len(), 20);
        }
        assert_eq!(server.get(ONE).await.json()["revision"], 40);
    }

    async fn they_go_with_what_they_belong_to(server: &TestServer) {
        server.create("{}").await;
        server.put(format!("{FILES}/f")).body("a/b", bytes(2 * PART)).await.expect(201);
        server.put(format!("{FILES}/g")).body("a/b", "x").await.expect(201);
        server.delete(ONE).await.expect(204);
        server.create("{}").await;
        assert_eq!(names(&server.get(FILES).await.expect(200)), Vec::<String>::new());
        assert_eq!(server.put(format!("{FILES}/f")).body("a/b", "new").await.expect(201).json()["version"], 0);
        server.until_swept().await;
        for (table, left) in [("artifacts", 1), ("artifact_names", 1), ("artifact_places", 1), ("blobs", 1), ("blob_chunks", 1)] {
            assert_eq!(server.number(&format!("select count(*) from {table}")).await, left, "{table}");
        }
        server.put(format!("{OF_USER}/h")).body("a/b", bytes(2 * PART)).await.expect(201);
        server.put(format!("{OF_USER}/h")).body("a/b", "x").await.expect(201);
        let erasure = server.post("/v1/apps/app/users/user/erasure").json(json!({})).await.expect(202);
        server.get(format!("{OF_USER}/h")).await.problem(404, "artifact_not_found");
        let path = erasure.header("location").unwrap().to_owned();
        let mut done = Value::Null;
        until("it is done", async || {
            done = server.get(&path).await.expect(200).json();
            done["state"] == "done"
        }).await;
        assert_eq!(done["counts"]["artifacts"], 3);
        for table in ["artifacts", "artifact_names", "artifact_places", "blobs", "blob_chunks"] {
            assert_eq!(server.number(&format!("select count(*) from {table}")).await, 0, "{table}");
        }
        assert_eq!(server.put(format!("{OF_USER}/h")).await.expect(201).json()["version"], 0);
    }

    async fn an_erasure_waits_for_no_other_files(server: &TestServer) with ["--sweep-interval=1h"] {
        server.put(format!("{OF_USER}/f")).body("a/b", "x").await.expect(201);
        // As many as take a second or more.
        let others = if server.database_url().starts_with("postgres") { 1_000 } else { 3_000 };
        server.execute(&format!(
            "insert into blobs (app_name, user_id, id, size, versions, loose_since) \
             with recursive n(i) as (select 1 union all select i + 1 from n where i < {others}) \
             select 'app', 'other', 'b' || i, 1, 0, 0 from n",
        )).await;
        let erasure = server.post("/v1/apps/app/users/user/erasure").json(json!({})).await.expect(202);
        assert_eq!(done(server, &erasure).await["counts"]["artifacts"], 1);
        assert!(loose(server).await > 0, "it waited for all");
        until("all are removed", async || loose(server).await == 0).await;
    }

    async fn an_erasure_ends_what_comes_in(server: &TestServer) {
        let sent = bytes(3 * PART);
        let mut coming = begin(server, &format!("{OF_USER}/f"), sent.len() + 1, &sent).await;
        until("some came", async || server.number("select count(*) from blob_chunks").await > 0).await;
        server.post("/v1/apps/app/users/user/erasure").json(json!({})).await.expect(202);
        coming.write_all(b"x").await.expect("send");
        until("nothing is left", async || server.number("select count(*) from blobs").await == 0).await;
        server.get(format!("{OF_USER}/f")).await.problem(404, "artifact_not_found");
    }

    async fn a_moment_has_the_files_that_its_events_name(server: &TestServer) {
        server.create("{}").await;
        let put = async |name: &str| server.put(format!("{FILES}/{name}")).body("a/b", format!("{name} of a revision")).await.expect(201);
        put("f").await;
        put("g").await;
        server.append("{}").await;
        server.put(format!("{FILES}/f?event=none")).body("a/b", "unnamed").await.expect(201);
        put("f").await;
        server.append(json!({"actions": {"artifactDelta": {"f": 7, "none": 0, "odd": "x"}}})).await;
        put("user:u").await;
        server.append(json!([{"actions": {"artifactDelta": {"f": 0}}}, {"actions": {"artifact_delta": {"f": 1}}}])).await;
        let check = async |when: &str, from: i64| {
            for (revision, expected) in [
                (0, vec![]),
                (1, vec![("f", 0)]),
                (3, vec![("f", 0), ("g", 0)]),
                (4, vec![("f", 2), ("g", 0)]),
                (5, vec![("g", 0)]),
                (6, vec![("g", 0), ("user:u", 0)]),
                (7, vec![("f", 0), ("g", 0), ("user:u", 0)]),
                (8, vec![("f", 1), ("g", 0), ("user:u", 0)]),
            ] {
                if revision < from {
                    let gone = server.get(format!("{FILES}?atRevision={revision}")).await;
                    assert_eq!(gone.problem(410, "revision_trimmed")["baseRevision"], from, "{when}");
                    server.get(format!("{FILES}/f?atRevision={revision}")).await.problem(410, "revision_trimmed");
                    continue;
                }
                let list = server.get(format!("{FILES}?atRevision={revision}")).await.expect(200).json();
                let shown: Vec<(&str, i64)> = list["artifacts"].as_array().unwrap().iter()
                    .map(|one| (one["name"].as_str().unwrap(), one["version"].as_i64().unwrap())).collect();
                assert_eq!(shown, expected, "{revision} {when}");
                for name in ["f", "g", "user:u"] {
                    let read = server.get(format!("{FILES}/{name}?atRevision={revision}")).await;
                    match expected.iter().find(|(named, _)| *named == name) {
                        Some((_, version)) => assert!(read.expect(200).etag().starts_with(&format!("\"{version}-")), "{name}"),
                        None => drop(read.problem(404, "artifact_not_found")),
                    }
                }
            }
        };
        check("", 0).await;
        let page = server.get(format!("{FILES}?atRevision=8&pageSize=2")).await.expect(200).json();
        let token = page["nextPageToken"].as_str().unwrap().to_owned();
        assert_eq!(names(&server.get(format!("{FILES}?atRevision=8&pageSize=2&pageToken={token}")).await.expect(200)), ["user:u"]);
        server.get(format!("{FILES}?atRevision=7&pageToken={token}")).await.invalid(&["pageToken"]);
        assert_eq!(names(&server.get(format!("{FILES}?atRevision=8&prefix=user:")).await.expect(200)), ["user:u"]);
        server.get(format!("{FILES}?atRevision=9")).await.invalid(&["atRevision"]);
        server.get(format!("{FILES}/f?atRevision=9")).await.invalid(&["atRevision"]);
        server.get(format!("{FILES}/f?atRevision=1&version=0")).await.invalid(&["version"]);
        server.get(format!("{S}/none/artifacts?atRevision=0")).await.problem(404, "session_not_found");
        assert_eq!(server.state().await, json!({}), "no state");
        server.post(format!("{ONE}/trim")).json(json!({"beforeSequence": 5})).await.expect(200);
        check("after a trim", 4).await;
        server.until_swept().await;
        check("after the sweep", 4).await;
        assert_eq!(server.number("select count(*) from artifact_spans where valid_to <= 4").await, 0);
        server.delete(ONE).await.expect(204);
        server.until_swept().await;
        assert_eq!(server.number("select (select count(*) from artifact_state) + (select count(*) from artifact_spans)").await, 0);
    }

    async fn events_of_a_creation_name_files_too(server: &TestServer) {
        let events = json!([{"actions": {"artifactDelta": {"f": 0}}}, {"actions": {"artifactDelta": {"f": 1}}}]);
        server.post(S).json(json!({"sessionId": "s", "events": events})).await.expect(201);
        // They follow their log.
        for n in 0..2 {
            server.put(format!("{FILES}/f?event=none&version={n}")).body("a/b", format!("{n}")).await.expect(201);
        }
        for n in 0..2 {
            let read = server.get(format!("{FILES}/f?atRevision={}", n + 1)).await.expect(200);
            assert_eq!(read.bytes(), format!("{n}").as_bytes());
        }
    }

    async fn a_number_that_the_log_names_is_used(server: &TestServer) {
        server.create("{}").await;
        let next = async |path: &str| server.put(path).body("a/b", "other").await.expect(201).json()["version"].take();
        let nothing = async |path: &str| drop(server.get(path).await.problem(404, "artifact_not_found"));
        for delta in [json!({"f": 3, "g": 2, "h": 5, "last": i64::MAX, "user:u": 5}), json!({"h": 2}), json!({"f": 0})] {
            server.append(json!({"actions": {"artifactDelta": delta}})).await;
        }
        server.post(format!("{ONE}/fork")).json(json!({"sessionId": "t"})).await.expect(201);
        server.post(format!("{ONE}/fork")).json(json!({"sessionId": "first", "atRevision": 1})).await.expect(201);
        for session in ["s", "t"] {
            let files = format!("{S}/{session}/artifacts");
            for (name, expected) in [("f", 4), ("h", 6), ("last", 0)] {
                assert_eq!(next(&format!("{files}/{name}?event=none")).await, expected, "{name} of {session}");
                for revision in 1..=3 {
                    nothing(&format!("{files}/{name}?atRevision={revision}")).await;
                }
            }
            // Whoever asks for the number knows what it was.
            assert_eq!(next(&format!("{files}/g?event=none&version=2")).await, 2);
            assert_eq!(names(&server.get(format!("{files}?atRevision=2")).await), ["g"]);
            assert_eq!(next(&format!("{files}/g?event=none")).await, 3);
            server.put(format!("{files}/f?version=3")).body("a/b", "late").await.problem(409, "artifact_version_exists");
        }
        assert_eq!(next(&format!("{S}/first/artifacts/h?event=none")).await, 6);
        assert_eq!(next(&format!("{OF_USER}/u")).await, 6);
        for session in ["s", "t", "first"] {
            nothing(&format!("{S}/{session}/artifacts/user:u?atRevision=1")).await;
        }
        // A rewind names what it cannot bring back, and gives its number to nothing else.
        server.post(format!("{ONE}/rewind")).json(json!({"toRevision": 1})).await.expect(200);
        nothing(&format!("{FILES}/f?atRevision=4")).await;
        assert_eq!(next(&format!("{FILES}/f?event=none")).await, 5);
        nothing(&format!("{FILES}/f?atRevision=4")).await;
    }

    async fn a_fork_has_the_files_of_its_moment_and_shares_their_bytes(server: &TestServer) {
        server.create("{}").await;
        let large = bytes(2 * PART);
        server.put(format!("{FILES}/f")).body("a/b", large.clone()).await.expect(201);
        server.put(format!("{FILES}/f")).header("idempotency-key", "k").body("a/b", "1").await.expect(201);
        server.put(format!("{FILES}/g")).body("a/b", "g").await.expect(201);
        server.put(format!("{FILES}/f")).body("a/b", "2").await.expect(201);
        server.put(format!("{FILES}/user:u")).body("a/b", "u").await.expect(201);
        let chunks = server.number("select count(*) from blob_chunks").await;
        server.post(format!("{ONE}/fork")).json(json!({"sessionId": "t", "atRevision": 2})).await.expect(201);
        server.post(format!("{ONE}/fork")).json(json!({"sessionId": "all"})).await.expect(201);
        assert_eq!(server.number("select count(*) from blob_chunks").await, chunks, "nothing is copied");
        let forked = format!("{S}/t/artifacts");
        assert_eq!(names(&server.get(&forked).await.expect(200)), ["f", "user:u"]);
        assert_eq!(names(&server.get(format!("{S}/all/artifacts")).await.expect(200)), ["f", "g", "user:u"]);
        assert_eq!(names(&server.get(format!("{forked}?atRevision=2")).await.expect(200)), ["f"]);
        assert_eq!(server.get(format!("{forked}/f")).await.expect(200).bytes(), b"1");
        server.get(format!("{forked}/f?version=2")).await.problem(404, "artifact_not_found");
        // It goes its own way, and remembers no keys.
        let own = server.put(format!("{forked}/f")).header("idempotency-key", "k").body("a/b", "own").await.expect(201);
        assert_eq!(own.json()["version"], 2);
        server.delete(ONE).await.expect(204);
        server.until_swept().await;
        assert!(server.get(format!("{forked}/f?version=0")).await.expect(200).bytes() == large);
        assert!(server.get(format!("{S}/all/artifacts/f?version=0")).await.expect(200).bytes() == large);
        for session in ["t", "all"] {
            server.delete(format!("{S}/{session}")).await.expect(204);
        }
        server.until_swept().await;
        assert_eq!(server.number("select count(*) from blobs").await, 1, "that of the user");
        assert_eq!(server.number("select count(*) from blob_chunks").await, 1);
    }

    async fn a_rewind_restores_files(server: &TestServer) {
        server.create("{}").await;
        let put = async |name: &str, text: &'static str| {
            server.put(format!("{FILES}/{name}?invocationId={text}")).body("a/b", text).await.expect(201)
        };
        put("f", "f0").await;
        put("same", "same").await;
        put("user:u", "u0").await;
        put("f", "f1").await;
        put("new", "new").await;
        put("user:u", "u1").await;
        server.append(json!({"actions": {"artifactDelta": {"elsewhere": 3}}})).await;
        server.post(format!("{ONE}/rewind")).json(json!({"toRevision": 3})).await.expect(200);
        let events = server.get(format!("{EVENTS}?order=desc")).await.expect(200).json();
        assert_eq!(events["events"][0]["actions"]["artifactDelta"], json!({"elsewhere": 4, "f": 2, "new": 1}));
        let f = server.get(format!("{FILES}/f")).await.expect(200);
        assert_eq!((f.bytes(), &f.etag()[..3]), (&b"f0"[..], "\"2-"));
        assert_eq!(server.get(format!("{FILES}/user:u")).await.bytes(), b"u1", "it is not rewound");
        for gone in ["new", "new?version=1", "elsewhere"] {
            server.get(format!("{FILES}/{gone}")).await.problem(404, "artifact_not_found");
        }
        assert_eq!(server.get(format!("{FILES}/new?version=0")).await.expect(200).bytes(), b"new");
        assert_eq!(names(&server.get(FILES).await), ["f", "same", "user:u"]);
        assert_eq!(names(&server.get(format!("{FILES}?atRevision=8")).await), ["f", "same", "user:u"]);
        assert_eq!(names(&server.get(format!("{FILES}?atRevision=6")).await), ["f", "new", "same", "user:u"]);
        let first = server.put(format!("{FILES}/new?event=none")).header("if-none-match", "*").body("a/b", "again").await.expect(201);
        assert_eq!(first.json()["version"], 2);
        let versions = server.get(format!("{FILES}/new/versions")).await.expect(200).json();
        assert_eq!(versions["versions"].as_array().unwrap().len(), 2, "that which is nothing is not shown");
        // Before an invocation, to what an earlier rewind made.
        put("f", "later").await;
        server.post(format!("{ONE}/rewind")).json(json!({"beforeInvocationId": "later"})).await.expect(200);
        assert_eq!(server.get(format!("{FILES}/f")).await.bytes(), b"f0");
        server.delete(ONE).await.expect(204);
        server.until_swept().await;
        assert_eq!(server.number("select count(*) from blobs").await, 2, "those of the user");
    }

    async fn a_policy_keeps_the_last_versions(server: &TestServer) with ["--sweep-interval=1s"] {
        server.create("{}").await;
        for place in [FILES, OF_USER] {
            for n in 0..5 {
                server.put(format!("{place}/f")).body("a/b", format!("{n}")).await.expect(201);
            }
            server.put(format!("{place}/one")).body("a/b", "x").await.expect(201);
        }
        let policy = json!({"artifacts": {"keepVersions": 2}});
        assert_eq!(server.put("/v1/apps/app/policy").json(&policy).await.expect(200).json(), policy);
        until("it is applied", async || server.number("select count(*) from artifacts").await == 6).await;
        for place in [FILES, OF_USER] {
            let versions = server.get(format!("{place}/f/versions")).await.expect(200).json();
            let versions: Vec<i64> = versions["versions"].as_array().unwrap().iter().map(|one| one["version"].as_i64().unwrap()).collect();
            assert_eq!(versions, [3, 4]);
            assert_eq!(server.put(format!("{place}/f")).await.expect(201).json()["version"], 5);
        }
        until("bytes follow", async || server.number("select count(*) from blobs").await <= 8).await;
        server.put("/v1/apps/app/policy").json(json!({"artifacts": {"keepVersions": 0}})).await.invalid(&["/artifacts/keepVersions"]);
    }
}
