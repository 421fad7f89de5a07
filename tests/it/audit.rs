//! The access log: who did what to which names, and nothing else.

use std::fs;
use std::process::Command;
use std::time::Duration;

use reqwest::Method;
use serde_json::{Value, json};

use crate::support::binary::Server;
use crate::support::client::{Answer, PATIENCE};
use crate::support::databases::Place;

const ADMIN: &str = "an-admin-key-of-a-test_0123456789abcdef";

fn lines(path: &std::path::Path) -> Vec<Value> {
    let text = fs::read_to_string(path).expect("an access log");
    text.lines().map(|line| serde_json::from_str(line).expect("a JSON object a line")).collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_access_log_names_the_session_that_was_made() {
    let log = std::env::temp_dir().join(format!("sessiond-audit-{}.log", uuid::Uuid::new_v4()));
    let place = Place::sqlite();
    let server = Server::start(&place.url(), &[&format!("--audit-log={}", log.display())]).await;
    let id_of = |answer: Answer, status: u16| answer.expect(status).json()["id"].as_str().expect("an id").to_owned();
    let (native, adk) = ("/v1/apps/a/users/u/sessions", "/apps/a/users/u/sessions");
    let made = id_of(server.post(native).await, 201);
    let given = id_of(server.post(native).json(json!({"sessionId": "given"})).await, 201);
    let of_adk = id_of(server.post(adk).await, 200);
    let fork = id_of(server.post(format!("{native}/given/fork")).await, 201);
    assert_eq!(id_of(server.post(format!("{adk}/in-path")).await, 200), "in-path");
    server.post(native).json(json!({"sessionId": "given"})).await.expect(409);

    let text = fs::read_to_string(&log).expect("an access log");
    let named: Vec<Value> = lines(&log).iter().map(|line| line["session"].clone()).collect();
    assert_eq!(named, [json!(made), json!(given), json!(of_adk), json!("given"), json!("in-path"), Value::Null]);
    assert_eq!(lines(&log)[3]["fork"], json!(fork));
    // No name stands twice in a line.
    assert!(text.lines().all(|line| line.matches("\"session\":").count() <= 1), "{text}");
    drop(server);
    fs::remove_file(&log).expect("remove the log");
    place.finish().await;
}

/// A file is named as the path names it, once; its metadata, its type and its bytes are nowhere.
#[tokio::test(flavor = "multi_thread")]
async fn the_access_log_names_files_of_paths() {
    let log = std::env::temp_dir().join(format!("sessiond-audit-{}.log", uuid::Uuid::new_v4()));
    let place = Place::sqlite();
    let server = Server::start(&place.url(), &[&format!("--audit-log={}", log.display())]).await;
    let session = "/v1/apps/a/users/u/sessions/s";
    let files = format!("{session}/artifacts");
    server.put(session).await.expect(201);
    let save = server.put(format!("{files}/in%2Fpath?metadata=%7B%22canary%22%3A1%7D&displayName=canary"));
    save.body("text/canary", "canary").await.expect(201);
    let body = json!({"name": "canary", "part": {"text": "canary"}, "metadata": {"canary": 1}, "author": "canary"});
    server.post(&files).json(body).await.expect(201);
    server.get(format!("{files}/in%2Fpath?version=0")).await.expect(200);
    server.get(format!("{files}?prefix=canary")).await.expect(200);
    server.delete(format!("{files}/in%2Fpath")).await.expect(204);
    let text = fs::read_to_string(&log).expect("an access log");
    let named: Vec<Value> = lines(&log).iter().skip(1).map(|line| line["artifact"].clone()).collect();
    assert_eq!(named, [json!("in/path"), Value::Null, json!("in/path"), Value::Null, json!("in/path")]);
    assert!(text.lines().all(|line| line.matches("\"artifact\":").count() <= 1), "{text}");
    assert!(!text.contains("canary"), "{text}");
    assert!(!server.process.log().contains("canary") && !server.process.log().contains("in/path"));
    drop(server);
    fs::remove_file(&log).expect("remove the log");
    place.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_access_log_has_names_and_no_secrets_and_moves_on_hangup() {
    let folder = std::env::temp_dir().join(format!("sessiond-audit-{}", uuid::Uuid::new_v4()));
    fs::create_dir(&folder).expect("a folder");
    let (key, log) = (folder.join("key"), folder.join("audit.log"));
    fs::write(&key, ADMIN).expect("write the key");
    let place = Place::sqlite();
    let flags = [format!("--admin-key-file={}", key.display()), format!("--audit-log={}", log.display())];
    let server = Server::start(&place.url(), &[&flags[0], &flags[1]]).await;
    let bearer = format!("Bearer {ADMIN}");
    let path = "/v1/apps/shop%2F1/users/ada/sessions/s";
    server.put(path).header("authorization", &bearer).json(json!({"state": {"k": "a stored value"}})).await.expect(201);
    server
        .get("/v1/apps/shop/users/ada/sessions/s")
        .header("authorization", "Bearer not-a-credential")
        .await
        .expect(401);
    server.get("/healthz").await.expect(200);
    let mint = server.post("/v1/tokens").header("authorization", &bearer).json(json!({"app": "shop", "user": "bob"}));
    let token = mint.await.expect(201).json()["token"].as_str().expect("a token").to_owned();

    // A method may be of any length and content.
    let odd = format!(
        "{} /v1/whoami HTTP/1.1\r\nhost: localhost\r\nauthorization: {bearer}\r\nconnection: close\r\n\r\n",
        "M".repeat(9000)
    );
    assert!(server.wire(&[odd.as_bytes()]).await.starts_with("HTTP/1.1 405 "));
    let mut told = lines(&log);
    told.retain(|line| line["count"].is_null());
    assert_eq!(told.pop().expect("a line")["method"], "_OTHER");
    assert!(!server.process.log().contains("MMM"));
    assert_eq!(told.len(), 2, "{told:?}");
    assert_eq!((&told[1]["app"], &told[1]["user"]), (&json!("shop"), &json!("bob")));
    assert_eq!(told[0]["principal"]["kind"], "key");
    assert_eq!(told[0]["principal"]["role"], "admin");
    let names = ["app", "user", "session"].map(|name| told[0][name].as_str().expect("a name").to_owned());
    assert_eq!(names, ["shop/1", "ada", "s"]);
    assert_eq!((&told[0]["method"], &told[0]["status"]), (&json!("PUT"), &json!(201)));
    assert!(told[0]["address"].as_str().is_some_and(|address| address.starts_with("127.0.0.1:")));
    let text = fs::read_to_string(&log).expect("an access log");
    for secret in [ADMIN, "not-a-credential", "a stored value", &token] {
        assert!(!text.contains(secret) && !server.process.log().contains(secret), "{secret}");
    }

    let moved = folder.join("audit.log.1");
    fs::rename(&log, &moved).expect("move the log away");
    let hangup = format!("kill -HUP {}", server.process.pid());
    assert!(Command::new("sh").args(["-c", &hangup]).status().expect("run sh").success());
    for _ in 0..200 {
        server.get("/v1/whoami").header("authorization", &bearer).await.expect(200);
        if log.exists() && !lines(&log).is_empty() {
            assert_eq!(lines(&log)[0]["route"], "/v1/whoami");
            fs::remove_dir_all(&folder).expect("remove the folder");
            return;
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    panic!("the log is not opened anew");
}

/// The lines that count refusals, until they count so many.
async fn counted(log: &std::path::Path, refusals: u64) -> Vec<Value> {
    let counting = async {
        loop {
            let told: Vec<Value> = lines(log).into_iter().filter(|line| line["count"].is_u64()).collect();
            if told.iter().filter_map(|line| line["count"].as_u64()).sum::<u64>() >= refusals {
                return told;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(PATIENCE, counting).await.expect("all are counted")
}

/// Whatever a client without a credential sends: the logs grow by lines a second, of a length that it does not decide.
#[tokio::test(flavor = "multi_thread")]
async fn without_a_credential_nobody_fills_the_disk() {
    let folder = std::env::temp_dir().join(format!("sessiond-audit-{}", uuid::Uuid::new_v4()));
    fs::create_dir(&folder).expect("a folder");
    let (key, log) = (folder.join("key"), folder.join("audit.log"));
    fs::write(&key, ADMIN).expect("write the key");
    let place = Place::sqlite();
    let flags = [format!("--admin-key-file={}", key.display()), format!("--audit-log={}", log.display())];
    let server = Server::start(&place.url(), &[&flags[0], &flags[1], "--cors-origins=https://app.example"]).await;
    let began = std::time::Instant::now();
    let quiet = server.process.log().len();
    let long = "%61".repeat(5000);
    let app = format!("/v1/apps/{long}/users/{long}/sessions");
    const ROUNDS: u64 = 100;
    for _ in 0..ROUNDS {
        server.get(&app).await.expect(401);
        server.get("/v1/whoami").bearer("not-a-credential").await.expect(401);
        server
            .request(Method::from_bytes(&b"M".repeat(5000)).expect("a method"), &app)
            .send()
            .await
            .expect("sent")
            .expect(401);
        server.get(format!("/{long}")).await.expect(401);
        server.get("/v1/whoami?access_token=x").await.expect(400);
        let preflight = server.request(Method::OPTIONS, &app).header("origin", "https://app.example");
        preflight.header("access-control-request-method", "GET").await.expect(204);
        for open in ["/", "/docs", "/openapi.yaml", "/version", "/console/nothing.js"] {
            server.get(open).await;
        }
        server.post("/docs").await.expect(405);
    }
    let told = counted(&log, 4 * ROUNDS).await;
    let seconds = usize::try_from(began.elapsed().as_secs()).expect("seconds") + 3;
    assert!(told.len() <= seconds, "{} lines in {seconds} s", told.len());
    assert_eq!(lines(&log).len(), told.len(), "nothing else is told");
    assert_eq!(told.iter().filter_map(|line| line["count"].as_u64()).sum::<u64>(), 4 * ROUNDS);
    assert!(told.iter().all(|line| line["status"] == 401 && line["addresses"] == json!(["127.0.0.1"])), "{told:?}");
    let said = server.process.log();
    let more = said[quiet..].lines().count();
    assert!(more <= seconds, "{more} lines in {seconds} s:\n{said}");

    // Of those with one, names are cut.
    let bearer = format!("Bearer {ADMIN}");
    server.get(&app).header("authorization", &bearer).await.expect(422);
    let last = lines(&log).into_iter().rfind(|line| line["count"].is_null()).expect("a line");
    assert_eq!((&last["app"], &last["user"]), (&json!("a".repeat(256)), &json!("a".repeat(256))));
    server.get("/nothing").header("authorization", &bearer).await.expect(404);
    assert!(server.process.log().contains("\"status\":404"), "who has a credential is told");
    drop(server);
    fs::remove_dir_all(&folder).expect("remove the folder");
    place.finish().await;
}
