//! Access from outside: the command line, the files and the issuer of a server, several servers, and data that none of
//! them may reveal. [`contract::access`](crate::contract::access) tests the requirements of each endpoint.

use std::{
    env, fs,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

use serde_json::{Value, json};
use sqlx::{Connection as _, PgConnection, SqliteConnection};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpListener, TcpStream},
    sync::watch,
    task::JoinHandle,
    time::{sleep, timeout},
};
use uuid::Uuid;

use crate::contract::access::told;
use crate::support::{
    binary::{Server, ended, together},
    client::{Answer, Client, PATIENCE, Request},
    databases::{Place, on_both_databases},
    process::{Sessiond, free_port},
    signing::{SigningKey, base64url, jwks},
};

on_both_databases!(
    keys_are_made_listed_and_revoked_on_the_command_line,
    what_makes_no_sense_makes_no_key,
    the_first_key_closes_an_open_server,
    a_key_is_rotated,
    an_open_address_takes_authentication,
    jwt_are_judged,
    names_and_roles_come_from_claims,
    keys_that_come_late_are_taken,
    keys_of_the_issuer_are_rotated_under_load,
    no_credential_is_told,
    keys_and_their_tokens_pay_from_one_bucket,
    what_is_refused_costs_nothing,
    who_was_revoked_elsewhere_makes_nothing_that_stays,
    an_issuer_that_does_not_answer_keeps_nobody_waiting,
    a_secret_that_is_made_up_is_none,
);

pub const ADMIN: &str = "an-admin-key-of-a-test_0123456789abcdef";
const SESSIONS: &str = "/v1/apps/a/users/u/sessions";
const SESSION: &str = "/v1/apps/a/users/u/sessions/s";
const WHOAMI: &str = "/v1/whoami";

/// A file that goes with the test.
pub struct TempFile(PathBuf);

impl TempFile {
    /// A name without a file.
    fn absent() -> Self {
        Self(env::temp_dir().join(format!("sessiond-file-{}", Uuid::new_v4().simple())))
    }

    pub fn new(content: impl AsRef<[u8]>) -> Self {
        let file = Self::absent();
        fs::write(&file.0, content).expect("write the file");
        file
    }

    /// Another content, at once: whoever reads sees the one or the other.
    fn replace(&self, content: &str) {
        fs::rename(&Self::new(content).0, &self.0).expect("replace the file");
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    pub fn flag(&self, name: &str) -> String {
        format!("{name}={}", self.0.display())
    }
}

impl Drop for TempFile {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// Until the answer has this status; that answer.
#[track_caller]
fn until(status: u16, ask: impl Fn() -> Request) -> impl Future<Output = Answer> {
    let caller = std::panic::Location::caller();
    async move {
        let asking = async {
            loop {
                let answer = ask().await;
                if answer.status == status {
                    return answer;
                }
                sleep(Duration::from_millis(50)).await;
            }
        };
        timeout(PATIENCE, asking).await.unwrap_or_else(|_| panic!("never {status} at {caller}"))
    }
}

async fn make(api: &Client, credential: &str, path: &str, body: Value, field: &str) -> String {
    let answer = api.post(path).bearer(credential).json(body).await.expect(201);
    answer.json()[field].as_str().expect("a credential").to_owned()
}

pub async fn make_key(api: &Client, body: Value) -> String {
    let mut named = json!({"name": "a test"});
    named.as_object_mut().expect("an object").extend(body.as_object().expect("an object").clone());
    make(api, ADMIN, "/v1/keys", named, "key").await
}

pub async fn mint(api: &Client, key: &str, app: &str, user: &str) -> String {
    make(api, key, "/v1/tokens", json!({"app": app, "user": user}), "token").await
}

/// The id, which is a part of the key.
fn id_of(key: &str) -> &str {
    key.split('_').nth(1).expect("sdk_ID_SECRET")
}

// ---- The command line

/// What `sessiond keys` wrote, and its status.
struct Ran {
    status: Option<i32>,
    out: String,
    err: String,
}

async fn keys(place: &Place, args: &[&str]) -> Ran {
    let url = place.url();
    let output = Sessiond::run(&[&["keys"], args].concat(), &[("DATABASE_URL", &url)]).await;
    let text = |bytes| String::from_utf8(bytes).expect("UTF-8");
    Ran { status: output.status.code(), out: text(output.stdout), err: text(output.stderr) }
}

/// As [`keys`], for what succeeds; what it wrote to standard output.
async fn keys_out(place: &Place, args: &[&str]) -> String {
    let ran = keys(place, args).await;
    assert_eq!(ran.status, Some(0), "{args:?}: {}", ran.err);
    ran.out
}

/// A key that a command makes: alone on standard output, and nowhere else.
async fn key_made(place: &Place, args: &[&str]) -> String {
    let ran = keys(place, args).await;
    assert_eq!(ran.status, Some(0), "{args:?}: {}", ran.err);
    let key = ran.out.strip_suffix('\n').expect("a line").to_owned();
    assert!(
        key.len() == 66 && key.starts_with("sdk_") && !key.contains(char::is_whitespace),
        "{args:?}: {} bytes",
        key.len()
    );
    assert!(ran.err.contains(id_of(&key)) && !ran.err.contains(&key[17..]), "{args:?}");
    key
}

async fn keys_are_made_listed_and_revoked_on_the_command_line(place: Place) {
    // Before any server has seen the database, which no command for keys makes.
    assert!(Sessiond::run(&["migrate"], &[("DATABASE_URL", &place.url())]).await.status.success());
    assert_eq!(keys_out(&place, &["list"]).await, "");
    let admin = key_made(&place, &["create", "--name=ops", "--role=admin", "--apps=*"]).await;
    let server = Server::start(&place.url(), &[]).await;
    server.get(WHOAMI).await.problem(401, "unauthenticated");
    let whoami = server.get(WHOAMI).bearer(&admin).await.expect(200).json();
    let expected = json!({"kind": "key", "id": id_of(&admin), "role": "admin", "apps": ["*"], "users": ["*"]});
    assert_eq!(whoami, expected);

    // And beside one that serves.
    let create = ["create", "--name=the shop's", "--role=agent", "--apps=shop-*,blog", "--users=u1,v*", "--ttl=30d"];
    let agent = key_made(&place, &create).await;
    let whoami = server.get(WHOAMI).bearer(&agent).await.expect(200).json();
    assert_eq!((&whoami["role"], &whoami["apps"]), (&json!("agent"), &json!(["blog", "shop-*"])));
    assert_eq!(whoami["users"], json!(["u1", "v*"]));
    let left = whoami["expireTime"].as_f64().expect("a time") - now() as f64;
    assert!((29.0 * 86400.0..=30.0 * 86400.0 + 1.0).contains(&left), "{left}");
    let path = format!("/v1/keys/{}", id_of(&agent));
    let read = server.get(&path).bearer(&admin).await.expect(200).json();
    assert_eq!((&read["name"], &read["expireTime"]), (&json!("the shop's"), &whoami["expireTime"]));

    let list = keys_out(&place, &["list"]).await;
    assert_eq!(list.lines().count(), 2, "{list}");
    for (key, words) in
        [(&admin, "role=admin apps=* users=* expires=never"), (&agent, "role=agent apps=blog,shop-* users=u1,v*")]
    {
        let line = list.lines().find(|line| line.starts_with(id_of(key))).expect("a line of the key");
        assert!(line.contains(words), "{line}");
        assert!(!list.contains(&key[17..]));
    }

    let token = mint(&server, &agent, "blog", "u1").await;
    server.get(WHOAMI).bearer(&token).await.expect(200);
    let revoked = keys(&place, &["revoke", id_of(&agent)]).await;
    assert_eq!((revoked.status, &*revoked.out), (Some(0), ""), "{}", revoked.err);
    for credential in [&agent, &token] {
        until(401, || server.get(WHOAMI).bearer(credential)).await;
    }
    assert!(!keys_out(&place, &["list"]).await.contains(id_of(&agent)));
    server.get(WHOAMI).bearer(&admin).await.expect(200);
    drop(server);
    place.finish().await;
}

async fn what_makes_no_sense_makes_no_key(place: Place) {
    assert!(Sessiond::run(&["migrate"], &[("DATABASE_URL", &place.url())]).await.status.success());
    let key = key_made(&place, &["create", "--name=a", "--role=reader", "--apps=a"]).await;
    let ended = key_made(&place, &["create", "--name=b", "--role=reader", "--apps=a", "--ttl=1ms"]).await;
    let gone = key_made(&place, &["create", "--name=c", "--role=reader", "--apps=a"]).await;
    keys_out(&place, &["revoke", id_of(&gone)]).await;
    let before = keys_out(&place, &["list"]).await;
    let long = format!("--name={}", "n".repeat(257));
    let many = format!("--apps={}", ["a"; 101].join(","));
    for (args, words) in [
        (&["create"][..], "--role"),
        // Nothing is for all apps that does not say so, and nothing is without a name.
        (&["create", "--name=n", "--role=admin"], "--apps"),
        (&["create", "--role=admin", "--apps=*"], "--name"),
        (&["create", "--name=n", "--role=king", "--apps=a"], "must be reader, user, agent, operator or admin"),
        (&["create", "--name=n", "--role=Admin", "--apps=a"], "must be reader, user, agent, operator or admin"),
        (&["create", "--name=n", "--role=", "--apps=a"], "--role"),
        (&["create", "--name=n", "--role=user", "--apps=a"], "users of the role `user` must be exactly one name"),
        (
            &["create", "--name=n", "--role=user", "--users=u*", "--apps=a"],
            "users of the role `user` must be exactly one name",
        ),
        (
            &["create", "--name=n", "--role=user", "--users=u,v", "--apps=a"],
            "users of the role `user` must be exactly one name",
        ),
        (&["create", "--name=n", "--role=agent", "--apps="], "apps must be a list of 1 to 100 names"),
        (&["create", "--name=n", "--role=agent", "--apps=a,"], "apps must be a list of 1 to 100 names"),
        (&["create", "--name=n", "--role=agent", "--apps=.."], "apps must be a list of 1 to 100 names"),
        (&["create", "--name=n", "--role=agent", &many], "apps must be a list of 1 to 100 names"),
        (&["create", "--name=n", "--role=agent", "--users=a\nb", "--apps=a"], "users must be a list of 1 to 100 names"),
        (&["create", "--role=agent", "--name=", "--apps=a"], "without control characters"),
        (&["create", "--role=agent", "--name=a\nb", "--apps=a"], "without control characters"),
        (&["create", "--role=agent", "--name=\u{1b}[2J", "--apps=a"], "without control characters"),
        (&["create", "--role=agent", &long, "--apps=a"], "1 to 256 bytes"),
        (&["create", "--name=n", "--role=agent", "--ttl=0", "--apps=a"], "--ttl"),
        (&["create", "--name=n", "--role=agent", "--ttl=0d", "--apps=a"], "--ttl"),
        (&["create", "--name=n", "--role=agent", "--ttl=soon", "--apps=a"], "--ttl"),
        (&["revoke"], "<ID>"),
        (&["revoke", "aaaaaaaaaaaa"], "there is no such key"),
        (&["revoke", id_of(&gone)], "there is no such key"),
        (&["rotate", "aaaaaaaaaaaa"], "there is no such key"),
        (&["rotate", id_of(&gone)], "there is no such key"),
        (&["rotate", id_of(&key), "--overlap=-1s"], "--overlap"),
        (&["rotate", id_of(&ended)], "expireTime of this key has passed"),
        (&["shred"], "shred"),
    ] {
        let ran = keys(&place, args).await;
        assert!(matches!(ran.status, Some(1 | 2)), "{args:?}: {:?}", ran.status);
        assert_eq!(ran.out, "", "{args:?}");
        let line = ran.err.lines().find(|line| !line.starts_with("database: ")).unwrap_or_default();
        let is_clear = line.starts_with("error: ") && ran.err.contains(words);
        assert!(is_clear && !ran.err.contains("panicked"), "{args:?}: {line}");
    }
    assert_eq!(keys_out(&place, &["list"]).await, before);
    place.finish().await;
}

/// Whether a start ended with an error: of its settings, or, as a line of the log, of what they name.
fn has_failed(log: &str) -> bool {
    log.contains("error: ") || log.contains(r#""level":"ERROR""#)
}

/// As many servers as the database takes, but two at most.
async fn servers(place: &Place, args: &[&str]) -> Vec<Server> {
    let mut servers = vec![Server::start(&place.url(), args).await];
    if matches!(place, Place::Postgres(_)) {
        servers.push(Server::start(&place.url(), args).await);
    }
    servers
}

async fn the_first_key_closes_an_open_server(place: Place) {
    let servers = servers(&place, &[]).await;
    for server in &servers {
        assert_eq!(server.get(WHOAMI).await.expect(200).json()["kind"], "none");
    }
    servers[0].post(SESSIONS).json(json!({"sessionId": "s"})).await.expect(201);
    let key = key_made(&place, &["create", "--name=a test", "--role=reader", "--apps=a"]).await;
    for server in &servers {
        until(401, || server.get(SESSION)).await;
        server.post(SESSIONS).json(json!({})).await.problem(401, "unauthenticated");
        server.get(SESSION).bearer(&key).await.expect(200);
        server.post(SESSIONS).bearer(&key).json(json!({})).await.problem(403, "permission_denied");
        server.get("/readyz").await.expect(200);
    }
    // A key that was revoked opens nothing again.
    keys_out(&place, &["revoke", id_of(&key)]).await;
    for server in &servers {
        until(401, || server.get(SESSION).bearer(&key)).await;
        server.get(SESSION).await.expect(401);
    }
    drop(servers);
    let server = Server::start(&place.url(), &[]).await;
    server.get(SESSION).await.problem(401, "unauthenticated");
    drop(server);
    place.finish().await;
}

async fn a_key_is_rotated(place: Place) {
    let server = Server::start(&place.url(), &[]).await;
    let create = ["create", "--name=n", "--role=agent", "--apps=a,b*", "--users=u"];
    let old = key_made(&place, &create).await;
    until(401, || server.get(WHOAMI)).await;
    let before = server.get(WHOAMI).bearer(&old).await.expect(200).json();

    let new = key_made(&place, &["rotate", id_of(&old), "--overlap=1h"]).await;
    let told = server.get(WHOAMI).bearer(&new).await.expect(200).json();
    assert_eq!((&told["role"], &told["apps"], &told["users"]), (&before["role"], &before["apps"], &before["users"]));
    assert!(told["expireTime"].is_null() && told["id"] != before["id"], "{told}");
    let ends = async |key: &str| loop {
        // What was remembered of it passes.
        let whoami = server.get(WHOAMI).bearer(key).await.expect(200).json();
        if let Some(time) = whoami["expireTime"].as_f64() {
            return time - now() as f64;
        }
        sleep(Duration::from_millis(100)).await;
    };
    let left = timeout(PATIENCE, ends(&old)).await.expect("it gets an end");
    assert!((1800.0..=3601.0).contains(&left), "{left}");
    let list = keys_out(&place, &["list"]).await;
    assert_eq!(list.lines().filter(|line| line.ends_with("name=n")).count(), 2, "{list}");

    // Once the overlap is over, one holds.
    let last = key_made(&place, &["rotate", id_of(&new), "--overlap=1ms"]).await;
    until(401, || server.get(WHOAMI).bearer(&new)).await;
    server.get(WHOAMI).bearer(&last).await.expect(200);

    // A rotation prolongs nothing.
    let ending = key_made(&place, &["create", "--name=a test", "--role=reader", "--apps=*", "--ttl=1h"]).await;
    let next = key_made(&place, &["rotate", id_of(&ending), "--overlap=2d"]).await;
    let (a, b) = (server.get(WHOAMI).bearer(&ending).await.json(), server.get(WHOAMI).bearer(&next).await.json());
    assert!(a["expireTime"].is_number() && a["expireTime"] == b["expireTime"], "{a} {b}");
    drop(server);
    place.finish().await;
}

// ---- The start

async fn an_open_address_takes_authentication(place: Place) {
    let admin = TempFile::new(ADMIN);
    let keys_file = TempFile::new(jwks(&[SigningKey::ed().jwk("")]));
    let start = async |flags: &[&str]| {
        let port = free_port();
        let listen = format!("--listen=0.0.0.0:{port}");
        let args = [&[&*listen, "--metrics-listen=off", "--log-format=json"], flags].concat();
        let mut process = Sessiond::spawn(&args, &[("DATABASE_URL", &place.url())]);
        let serving = async {
            while TcpStream::connect(("127.0.0.1", port)).await.is_err() && !has_failed(&process.log()) {
                sleep(Duration::from_millis(10)).await;
            }
        };
        timeout(PATIENCE, serving).await.expect("it serves or it ends");
        if has_failed(&process.log()) {
            let status = process.wait().await;
            return Err((status.code(), process.log()));
        }
        Ok((Client::at(&format!("http://127.0.0.1:{port}")), process))
    };
    let (status, log) = start(&[]).await.err().expect("open, and open to all");
    assert_eq!(status, Some(2), "{log}");
    assert!(log.contains("--admin-key-file") && log.contains("sessiond keys create"), "{log}");

    let jwt = [
        "--jwt-issuer=https://issuer.example",
        "--jwt-audience=sessiond",
        "--jwt-apps=a",
        &keys_file.flag("--jwt-jwks-file"),
    ];
    for flags in [&[&*admin.flag("--admin-key-file")][..], &["--require-auth"], &jwt] {
        let (api, process) = start(flags).await.unwrap_or_else(|(_, log)| panic!("{flags:?}: {log}"));
        api.get(WHOAMI).await.problem(401, "unauthenticated");
        assert!(!process.log().contains("no authentication"), "{}", process.log());
    }
    // None of these is remembered by the database; a key is.
    assert!(start(&[]).await.is_err());
    let key = key_made(&place, &["create", "--name=a test", "--role=reader", "--apps=*"]).await;
    keys_out(&place, &["revoke", id_of(&key)]).await;
    let (api, process) = start(&[]).await.unwrap_or_else(|(_, log)| panic!("{log}"));
    api.get(WHOAMI).bearer(&key).await.problem(401, "unauthenticated");
    drop((api, process));
    place.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_admin_key_that_cannot_be_one_ends_the_start() {
    let place = Place::sqlite();
    for content in [
        &b""[..],
        b"\n",
        b"a-short-secret-of-31-characters",
        b"a b0123456789012345678901234567890123456789",
        b"a-secret-in-two-lines-0123456789\na-secret-in-two-lines-0123456789",
        "ein-schl\u{fc}ssel-0123456789012345678901234567".as_bytes(),
        b"a+secret/of+base64/0123456789012345678==",
        b"\xff\xfe0123456789012345678901234567890123456789",
        &[b'a'; 257],
    ] {
        let file = TempFile::new(content);
        let (status, log) = ended(&place.url(), &[&file.flag("--admin-key-file")]).await;
        assert_eq!(status.code(), Some(1), "{log}");
        assert!(has_failed(&log) && log.contains("\"--admin-key-file: the file "), "{log}");
        let text = String::from_utf8_lossy(content);
        assert!(text.trim().len() < 2 || !log.contains(text.trim()), "it is told");
    }
    let (status, log) = ended(&place.url(), &[&TempFile::absent().flag("--admin-key-file")]).await;
    assert_eq!(status.code(), Some(1), "{log}");
    assert!(log.contains("\"--admin-key-file: ") && log.contains("No such file"), "{log}");
    for content in ["a".repeat(32), format!("\r\n {} \n", "_-".repeat(128))] {
        let file = TempFile::new(&content);
        let server = Server::start(&place.url(), &[&file.flag("--admin-key-file")]).await;
        server.get(WHOAMI).bearer(content.trim()).await.expect(200);
        server.get(WHOAMI).await.expect(401);
    }
    place.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn settings_of_jwt_that_do_not_fit_end_the_start() {
    let place = Place::sqlite();
    let (issuer, audience) = ("--jwt-issuer=https://issuer.example", "--jwt-audience=sessiond");
    let (url, file) = ("--jwt-jwks-url=https://issuer.example/keys", "--jwt-jwks-file=keys.json");
    let (apps, claim) = ("--jwt-apps=a", "--jwt-apps-claim=apps");
    for (args, words) in [
        (&[audience][..], "--jwt-issuer is needed"),
        (&[url], "--jwt-issuer is needed"),
        (&[file], "--jwt-issuer is needed"),
        (&[apps], "--jwt-issuer is needed"),
        (&[claim], "--jwt-issuer is needed"),
        (&["--jwt-role-claim=role"], "--jwt-issuer is needed"),
        (&["--jwt-role=agent"], "--jwt-issuer is needed"),
        (&["--jwt-user-claim=email"], "--jwt-issuer is needed"),
        (&[audience, url, apps], "--jwt-issuer is needed"),
        (&[issuer], "--jwt-audience"),
        (&[issuer, url, apps], "--jwt-audience"),
        (&[issuer, audience, apps], "either --jwt-jwks-url or --jwt-jwks-file"),
        (&[issuer, audience, apps, url, file], "either --jwt-jwks-url or --jwt-jwks-file"),
        (&[issuer, audience, url], "either --jwt-apps or --jwt-apps-claim"),
        (&[issuer, audience, file, apps, claim], "either --jwt-apps or --jwt-apps-claim"),
        (&[issuer, audience, file, "--jwt-apps=a,.."], "--jwt-apps must be a list of 1 to 100 names"),
        (&[issuer, audience, file, apps, "--jwt-role=king"], "must be reader, user, agent, operator or admin"),
        (&[issuer, audience, apps, "--jwt-jwks-url=http://issuer.example/keys"], "--jwt-jwks-url: must be https"),
        (&[issuer, audience, apps, "--jwt-jwks-url=ftp://issuer.example/keys"], "--jwt-jwks-url: must be an https URL"),
        (&[issuer, audience, apps, "--jwt-jwks-url=keys"], "--jwt-jwks-url: must be a URL"),
    ] {
        // Whatever else would ask for a credential does not make up for it.
        for more in [&[][..], &["--require-auth"]] {
            let (status, log) = ended(&place.url(), &[args, more].concat()).await;
            assert!(matches!(status.code(), Some(1 | 2)), "{args:?}: {status}");
            assert!(has_failed(&log) && log.contains(words), "{args:?}: {log}");
        }
    }
}

// ---- An issuer

/// Publishes keys over HTTP. While it has none, it closes connections.
struct Issuer {
    url: String,
    says: watch::Sender<Option<String>>,
    asked: Arc<AtomicUsize>,
    task: JoinHandle<()>,
}

impl Issuer {
    async fn start(says: Option<String>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("bind a port");
        let url = format!("http://{}/keys", listener.local_addr().expect("a bound address"));
        let (says, said) = watch::channel(says);
        let asked = Arc::new(AtomicUsize::new(0));
        let count = asked.clone();
        let task = tokio::spawn(async move {
            loop {
                let (mut stream, _) = listener.accept().await.expect("a connection");
                count.fetch_add(1, Ordering::SeqCst);
                let Some(body) = said.borrow().clone() else { continue };
                let mut head = Vec::new();
                while !head.ends_with(b"\r\n\r\n") {
                    match stream.read_u8().await {
                        Ok(byte) => head.push(byte),
                        Err(_) => break,
                    }
                }
                let answer =
                    format!("HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}", body.len());
                let _ = stream.write_all(answer.as_bytes()).await;
            }
        });
        Self { url, says, asked, task }
    }

    fn asked(&self) -> usize {
        self.asked.load(Ordering::SeqCst)
    }
}

impl Drop for Issuer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

fn now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_secs()
}

/// The claims of a good token of its own, but for these; `null` takes one away.
fn claims(more: Value) -> String {
    let mut all = json!({"iss": "https://issuer.example", "aud": "sessiond", "sub": "u", "exp": now() + 3600,
        "jti": Uuid::new_v4().to_string()});
    let all_of_it = all.as_object_mut().expect("an object");
    all_of_it.extend(more.as_object().expect("an object").clone());
    all_of_it.retain(|_, value| !value.is_null());
    all.to_string()
}

/// A token of this key, which is published under this id.
fn jwt(key: &SigningKey, kid: &str, more: Value) -> String {
    key.sign(&json!({"alg": key.algorithm(), "kid": kid, "typ": "JWT"}).to_string(), &claims(more))
}

fn published(key: &SigningKey, kid: &str) -> String {
    key.jwk(&format!(r#""kid":"{kid}","#))
}

const JWT: [&str; 2] = ["--jwt-issuer=https://issuer.example", "--jwt-audience=sessiond"];

async fn jwt_are_judged(place: Place) {
    let keys = [SigningKey::rsa(), SigningKey::ec(), SigningKey::ed()];
    let set = jwks(&keys.iter().map(|key| published(key, key.algorithm())).collect::<Vec<_>>());
    let file = TempFile::new(&set);
    let issuer = Issuer::start(Some(set)).await;
    for (nth, source) in [file.flag("--jwt-jwks-file"), format!("--jwt-jwks-url={}", issuer.url)].iter().enumerate() {
        let server = Server::start(&place.url(), &[&JWT[..], &[source, "--jwt-apps=a,b-*"]].concat()).await;
        for key in &keys {
            let algorithm = key.algorithm();
            let user = format!("{algorithm}-{nth}");
            let good = jwt(key, algorithm, json!({"sub": user}));
            let whoami = server.get(WHOAMI).bearer(&good).await.expect(200).json();
            assert!(whoami["expireTime"].as_f64().is_some_and(|time| time > now() as f64), "{whoami}");
            assert_eq!(
                (&whoami["kind"], &whoami["id"], &whoami["role"]),
                (&json!("jwt"), &json!(user), &json!("user"))
            );
            assert_eq!((&whoami["apps"], &whoami["users"]), (&json!(["a", "b-*"]), &json!([user])));
            for (app, other, status) in [("a", &*user, 201), ("b-x", &user, 201), ("b", &user, 403), ("a", "u", 403)] {
                let sessions = format!("/v1/apps/{app}/users/{other}/sessions");
                server.post(&sessions).bearer(&good).json(json!({"sessionId": "s"})).await.expect(status);
                let read = server.get(format!("{sessions}/s")).bearer(&good).await;
                assert_eq!(read.status, if status == 201 { 200 } else { 404 }, "{algorithm} {app} {other}");
            }
            server.post("/v1/tokens").bearer(&good).json(json!({"app": "a", "user": user})).await.expect(403);
        }

        let ed = &keys[2];
        let headed = |header: &str| ed.sign(header, &claims(json!({})));
        let unsigned = |header: &str| format!("{}.{}.", base64url(header), base64url(claims(json!({}))));
        let forged = {
            let good = jwt(ed, "EdDSA", json!({}));
            let parts: Vec<&str> = good.split('.').collect();
            format!("{}.{}.{}", parts[0], base64url(claims(json!({"sub": "v"}))), parts[2])
        };
        let nobody = told(&server.get(WHOAMI).await.expect(401));
        for (what, token) in [
            ("none", unsigned(r#"{"alg":"none"}"#)),
            ("no signature", unsigned(r#"{"alg":"EdDSA","kid":"EdDSA"}"#)),
            ("HS256", headed(r#"{"alg":"HS256","kid":"EdDSA"}"#)),
            ("RS384", headed(r#"{"alg":"RS384","kid":"RS256"}"#)),
            ("another key's algorithm", headed(r#"{"alg":"ES256","kid":"EdDSA"}"#)),
            ("another key's id", headed(r#"{"alg":"EdDSA","kid":"RS256"}"#)),
            ("an unknown key", headed(r#"{"alg":"EdDSA","kid":"unknown"}"#)),
            ("a critical header", headed(r#"{"alg":"EdDSA","kid":"EdDSA","crit":["x"],"x":1}"#)),
            ("another purpose", headed(r#"{"alg":"EdDSA","kid":"EdDSA","typ":"logout+jwt"}"#)),
            ("another's key", jwt(&SigningKey::ed(), "EdDSA", json!({}))),
            ("other claims", forged),
            ("iss", jwt(ed, "EdDSA", json!({"iss": "https://issuer.example/"}))),
            ("no iss", jwt(ed, "EdDSA", json!({"iss": null}))),
            ("a list as iss", jwt(ed, "EdDSA", json!({"iss": ["https://issuer.example"]}))),
            ("aud", jwt(ed, "EdDSA", json!({"aud": ["another", "one"]}))),
            ("no aud", jwt(ed, "EdDSA", json!({"aud": null}))),
            ("exp", jwt(ed, "EdDSA", json!({"exp": now() - 61}))),
            ("no exp", jwt(ed, "EdDSA", json!({"exp": null}))),
            ("nbf", jwt(ed, "EdDSA", json!({"nbf": now() + 3600}))),
            ("no user", jwt(ed, "EdDSA", json!({"sub": null}))),
            ("no name", jwt(ed, "EdDSA", json!({"sub": ".."}))),
            ("a number", jwt(ed, "EdDSA", json!({"sub": 1}))),
        ] {
            assert_eq!(told(&server.get(WHOAMI).bearer(&token).await), nobody, "{what}");
        }
        let listed = jwt(ed, "EdDSA", json!({"aud": ["another", "sessiond"], "nbf": now() - 1}));
        server.get(WHOAMI).bearer(&listed).await.expect(200);
        // A `*` of the issuer is a character.
        let star = jwt(ed, "EdDSA", json!({"sub": "*"}));
        let whoami = server.get(WHOAMI).bearer(&star).await.expect(200).json();
        assert_eq!((&whoami["id"], &whoami["users"]), (&json!("*"), &json!(["\\*"])), "not all users");
        server.get(format!("/v1/apps/a/users/EdDSA-{nth}/sessions/s")).bearer(&star).await.expect(404);
    }
    place.finish().await;
}

async fn names_and_roles_come_from_claims(place: Place) {
    let key = SigningKey::ec();
    let file = TempFile::new(jwks(&[published(&key, "k")]));
    let from = [
        "--jwt-apps-claim=apps",
        "--jwt-role-claim=sessiond_role",
        "--jwt-user-claim=email",
        &file.flag("--jwt-jwks-file"),
    ];
    let server = Server::start(&place.url(), &[&JWT[..], &from].concat()).await;
    let token = |role: Value, apps: Value| jwt(&key, "k", json!({"sessiond_role": role, "apps": apps, "email": "u@x"}));
    for (role, apps, expected) in [
        (json!("user"), json!("a"), Some((json!(["a"]), json!(["u@x"])))),
        (json!("user"), json!(["b*", "a"]), Some((json!(["a", "b\\*"]), json!(["u@x"])))),
        (json!("agent"), json!(["a"]), Some((json!(["a"]), json!(["*"])))),
        (json!("reader"), json!(["a"]), Some((json!(["a"]), json!(["*"])))),
        (json!("admin"), json!(["a"]), Some((json!(["a"]), json!(["*"])))),
        (json!("Agent"), json!(["a"]), None),
        (json!(["agent"]), json!(["a"]), None),
        (Value::Null, json!(["a"]), None),
        (json!("agent"), json!([]), None),
        (json!("agent"), json!(""), None),
        (json!("agent"), json!(["a", ""]), None),
        (json!("agent"), json!(["a", 1]), None),
        (json!("agent"), Value::Null, None),
    ] {
        let answer = server.get(WHOAMI).bearer(&token(role.clone(), apps.clone())).await;
        match expected {
            Some((apps, users)) => {
                let whoami = answer.expect(200).json();
                assert_eq!((&whoami["role"], &whoami["apps"], &whoami["users"]), (&role, &apps, &users));
            }
            None => drop(answer.problem(401, "unauthenticated")),
        }
    }
    // A star in a claim is that character.
    let starred = token(json!("agent"), json!(["b*"]));
    server.post("/v1/apps/b%2A/users/u/sessions").bearer(&starred).json(json!({})).await.expect(201);
    server.post("/v1/apps/bc/users/u/sessions").bearer(&starred).json(json!({})).await.expect(403);
    drop(server);
    place.finish().await;
}

async fn keys_that_come_late_are_taken(place: Place) {
    let key = SigningKey::ed();
    let file = TempFile::absent();
    let args = ["--jwt-apps=a", &file.flag("--jwt-jwks-file")];
    let server = Server::start(&place.url(), &[&JWT[..], &args].concat()).await;
    let token = jwt(&key, "k", json!({}));
    server.get(WHOAMI).bearer(&token).await.problem(401, "unauthenticated");
    file.replace(&jwks(&[published(&key, "k")]));
    until(200, || server.get(WHOAMI).bearer(&token)).await;
    // What cannot be read takes nothing away; another set does, and the set before is over.
    let next = SigningKey::ed();
    file.replace("{");
    file.replace(&jwks(&[published(&next, "next")]));
    until(200, || server.get(WHOAMI).bearer(&jwt(&next, "next", json!({})))).await;
    until(401, || server.get(WHOAMI).bearer(&token)).await;
    drop(server);
    place.finish().await;
}

/// Takes half a minute: it is that long until keys that could not be fetched are asked for again.
#[tokio::test(flavor = "multi_thread")]
async fn a_start_without_the_issuer_succeeds_and_its_keys_are_fetched_once_it_is_there() {
    let place = Place::sqlite();
    let key = SigningKey::ed();
    let issuer = Issuer::start(None).await;
    let args = ["--jwt-apps=a", &format!("--jwt-jwks-url={}", issuer.url)];
    let server = Server::start(&place.url(), &[&JWT[..], &args].concat()).await;
    let token = jwt(&key, "k", json!({}));
    server.get(WHOAMI).bearer(&token).await.problem(401, "unauthenticated");
    server.get("/readyz").await.expect(200);
    issuer.says.send_replace(Some(jwks(&[published(&key, "k")])));
    until(200, || server.get(WHOAMI).bearer(&token)).await;
    // And serve when it is gone.
    issuer.says.send_replace(None);
    for _ in 0..20 {
        server.get(WHOAMI).bearer(&jwt(&key, "k", json!({}))).await.expect(200);
    }
    drop(server);
    place.finish().await;
}

async fn keys_of_the_issuer_are_rotated_under_load(place: Place) {
    let (old, new) = (Arc::new(SigningKey::ec()), Arc::new(SigningKey::ed()));
    let issuer = Issuer::start(Some(jwks(&[published(&old, "old")]))).await;
    let args = ["--jwt-apps=a", &format!("--jwt-jwks-url={}", issuer.url)];
    let server = Server::start(&place.url(), &[&JWT[..], &args].concat()).await;
    server.post(SESSIONS).bearer(&jwt(&old, "old", json!({}))).json(json!({"sessionId": "s"})).await.expect(201);

    // Tokens of the old key all the time; of the new one as soon as it is published, first from many at once.
    let is_published = watch::Sender::new(false);
    let ask = |nth: usize| {
        let (api, old, new) = (server.api.clone(), old.clone(), new.clone());
        let mut published = is_published.subscribe();
        async move {
            for round in 0.. {
                let token = match nth < 4 {
                    true => jwt(&old, "old", json!({})),
                    false => {
                        published.wait_for(|is_published| *is_published).await.expect("it is published");
                        jwt(&new, "new", json!({}))
                    }
                };
                api.get(SESSION).bearer(&token).await.expect(200);
                if *published.borrow() && round >= 50 {
                    return;
                }
            }
        }
    };
    let load = tokio::spawn(together((0..8).map(ask).collect::<Vec<_>>()));
    sleep(Duration::from_millis(100)).await;
    issuer.says.send_replace(Some(jwks(&[published(&new, "new"), published(&old, "old")])));
    let published_at = Instant::now();
    is_published.send_replace(true);
    load.await.expect("each good token holds");
    assert_eq!(issuer.asked(), 2, "at the start, and for the new key");

    // Keys that nobody knows are asked for once in 30 s, however many they are.
    let unknown = |nth: usize| {
        let (api, token) = (server.api.clone(), jwt(&new, &format!("unknown-{nth}"), json!({})));
        async move { api.get(SESSION).bearer(&token).await.expect(401) }
    };
    together((0..200).map(unknown)).await;
    let most = 2 + published_at.elapsed().as_secs() / 30 + 1;
    assert!(issuer.asked() as u64 <= most, "{} of {most}", issuer.asked());
    server.get(SESSION).bearer(&jwt(&new, "new", json!({}))).await.expect(200);
    drop((server, issuer));
    place.finish().await;
}

// ---- Several servers

/// Asks again and again, until some answers after the first of another status than `before`; which is that one, and it stays.
fn keep_asking(before: u16, ask: impl Fn() -> Request + Send + Sync + 'static) -> JoinHandle<u16> {
    tokio::spawn(async move {
        let asking = async {
            assert_eq!(ask().await.status, before);
            let after = loop {
                let status = ask().await.status;
                if status != before {
                    break status;
                }
                sleep(Duration::from_millis(10)).await;
            };
            for _ in 0..100 {
                assert_eq!(ask().await.status, after);
                sleep(Duration::from_millis(10)).await;
            }
            after
        };
        timeout(PATIENCE, asking).await.unwrap_or_else(|_| panic!("it is {before} for ever"))
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn what_is_revoked_or_narrowed_on_one_replica_is_so_on_the_other() {
    let place = Place::postgres().await;
    let admin = TempFile::new(ADMIN);
    let flag = admin.flag("--admin-key-file");
    let (a, b) = (Server::start(&place.url(), &[&flag]).await, Server::start(&place.url(), &[&flag]).await);
    let whole = json!({"role": "agent", "apps": ["a", "b"]});
    a.post(SESSIONS).bearer(ADMIN).json(json!({"sessionId": "s"})).await.expect(201);
    let on_b = |credential: &str, path: &str| {
        let (api, credential, path) = (b.api.clone(), credential.to_owned(), path.to_owned());
        move || api.get(&path).bearer(&credential)
    };

    // A key and a token of it are revoked.
    let key = make_key(&a, whole.clone()).await;
    let token = mint(&a, &key, "a", "u").await;
    let asking = [keep_asking(200, on_b(&key, SESSION)), keep_asking(200, on_b(&token, SESSION))];
    sleep(Duration::from_millis(500)).await;
    a.delete(format!("/v1/keys/{}", id_of(&key))).bearer(ADMIN).await.expect(204);
    for asked in asking {
        assert_eq!(asked.await.expect("it stays so"), 401);
    }

    // The tokens of a user are revoked, and not their key; what is minted after, on either, holds on both.
    let key = make_key(&a, whole.clone()).await;
    let before = mint(&b, &key, "a", "u").await;
    let asking = keep_asking(200, on_b(&before, SESSION));
    sleep(Duration::from_millis(500)).await;
    a.post("/v1/tokens/revoke").bearer(&key).json(json!({"app": "a", "user": "u"})).await.expect(204);
    for minter in [&a, &b] {
        let after = mint(minter, &key, "a", "u").await;
        for server in [&a, &b] {
            server.get(SESSION).bearer(&after).await.expect(200);
        }
    }
    assert_eq!(asking.await.expect("it stays so"), 401);

    // Narrowed to another app, key and token see nothing of this one.
    let token = mint(&a, &key, "a", "u").await;
    let asking = [keep_asking(200, on_b(&key, SESSION)), keep_asking(200, on_b(&token, SESSION))];
    sleep(Duration::from_millis(500)).await;
    let path = format!("/v1/keys/{}", id_of(&key));
    a.patch(&path).bearer(ADMIN).json(json!({"apps": ["b"]})).await.expect(200);
    for asked in asking {
        assert_eq!(asked.await.expect("it stays so"), 404);
    }
    assert_eq!(b.get(WHOAMI).bearer(&key).await.expect(200).json()["apps"], json!(["b"]));
    assert_eq!(b.get(WHOAMI).bearer(&token).await.expect(200).json()["apps"], json!([]));

    // Narrowed to a reader, they write no more, and read.
    let key = make_key(&a, whole).await;
    let token = mint(&a, &key, "a", "u").await;
    let write = |credential: &str| {
        let (api, credential) = (b.api.clone(), credential.to_owned());
        move || api.patch("/v1/apps/a/users/u/state").bearer(&credential).json(json!({"stateDelta": {"k": 1}}))
    };
    let asking = [keep_asking(200, write(&key)), keep_asking(200, write(&token))];
    sleep(Duration::from_millis(500)).await;
    a.patch(format!("/v1/keys/{}", id_of(&key))).bearer(ADMIN).json(json!({"role": "reader"})).await.expect(200);
    for asked in asking {
        assert_eq!(asked.await.expect("it stays so"), 403);
    }
    for credential in [&key, &token] {
        b.get(SESSION).bearer(credential).await.expect(200);
    }

    // An end that is set is one there, too.
    let key = make_key(&a, json!({"role": "reader", "apps": ["a"]})).await;
    let asking = keep_asking(200, on_b(&key, SESSION));
    sleep(Duration::from_millis(500)).await;
    a.patch(format!("/v1/keys/{}", id_of(&key))).bearer(ADMIN).json(json!({"ttl": 0.001})).await.expect(200);
    assert_eq!(asking.await.expect("it stays so"), 401);
    drop((a, b));
    place.finish().await;
}

// ---- What nobody is told

/// What signs the tokens, in hexadecimal digits.
async fn token_secret(place: &Place) -> String {
    match place {
        Place::Sqlite(_) => {
            let mut connection = SqliteConnection::connect(&place.url()).await.expect("open the file");
            let secret = sqlx::query_scalar("select lower(hex(secret)) from token_secrets");
            secret.fetch_one(&mut connection).await.expect("a secret")
        }
        Place::Postgres(database) => {
            let mut connection = PgConnection::connect(&database.url).await.expect("connect");
            let secret = sqlx::query_scalar("select encode(secret, 'hex') from token_secrets");
            secret.fetch_one(&mut connection).await.expect("a secret")
        }
    }
}

fn bytes_of(hex: &str) -> Vec<u8> {
    let digits = hex.as_bytes().chunks(2);
    digits.map(|two| u8::from_str_radix(std::str::from_utf8(two).expect("ASCII"), 16).expect("two digits")).collect()
}

/// Parts of a credential that nobody should see: of any of them, the whole could be guessed or verified.
fn parts(credential: &str) -> Vec<String> {
    let text = credential.strip_prefix("sdk_").map_or(credential, |rest| &rest[13..]);
    let long = text.split('.').skip(text.matches('.').count().saturating_sub(1)).filter(|part| part.len() >= 20);
    long.map(|part| part[..part.len() - 4].to_owned()).collect()
}

async fn no_credential_is_told(place: Place) {
    let admin = TempFile::new(ADMIN);
    let signing = SigningKey::rsa();
    let set = TempFile::new(jwks(&[published(&signing, "k")]));
    for level in ["debug", "trace"] {
        let port = free_port();
        let flags = [
            format!("--log={level}"),
            format!("--metrics-listen=127.0.0.1:{port}"),
            admin.flag("--admin-key-file"),
            set.flag("--jwt-jwks-file"),
            "--jwt-apps=a".to_owned(),
            "--rate-limit-key=100000".to_owned(),
        ];
        let flags: Vec<&str> = JWT.into_iter().chain(flags.iter().map(String::as_str)).collect();
        let mut server = Server::start(&place.url(), &flags).await;
        let key = make_key(&server, json!({"role": "admin", "apps": ["*"]})).await;
        let token = mint(&server, &key, "a", "u").await;
        let issued = jwt(&signing, "k", json!({}));
        let told = answers(&server, &place, [ADMIN, &key, &token, &issued]).await;
        let list = keys(&place, &["list"]).await;

        let metrics = Client::at(&format!("http://127.0.0.1:{port}")).unchecked();
        let metrics = metrics.get("/metrics").await.expect(200).text().to_owned();
        assert!(metrics.contains("sessiond_"), "{metrics}");
        let process = fs::read(format!("/proc/{}/cmdline", server.process.pid())).unwrap_or_default();
        server.process.sigterm();
        server.api.hang_up();
        server.process.wait().await;
        let log = server.process.log();
        assert!(log.lines().filter(|line| line.contains(r#""message":"request""#)).count() > 50, "{log}");

        let hex = token_secret(&place).await;
        let secret = bytes_of(&hex);
        let mut hidden =
            vec![ADMIN[..30].to_owned(), hex.to_uppercase(), base64url(&secret), format!("{secret:?}"), hex];
        hidden.extend([&key, &token, &issued].into_iter().flat_map(|credential| parts(credential)));
        assert_eq!(hidden.len(), 5 + 1 + 2 + 2, "each has something to hide");
        let listed = list.out + &list.err;
        let process = String::from_utf8_lossy(&process).into_owned();
        for (what, text) in
            [("log", &log), ("metrics", &metrics), ("answer", &told), ("list", &listed), ("command line", &process)]
        {
            for (nth, hidden) in hidden.iter().enumerate() {
                let found = text.lines().find(|line| line.contains(hidden));
                assert_eq!(found, None, "at {level}, in the {what}: number {nth}");
            }
        }
    }
    place.finish().await;
}

/// Shows the credentials wherever one could be, on ways that succeed and ways that fail; all that was answered.
async fn answers(server: &Server, place: &Place, credentials: [&str; 4]) -> String {
    let api = server.api.clone().unchecked();
    let mut all = String::new();
    let mut note = |answer: Answer, status: u16| all += &format!("{}\n", answer.expect(status));
    api.put(SESSION).bearer(ADMIN).json(json!({})).await;
    for credential in credentials {
        note(api.get(SESSION).bearer(credential).await, 200);
        note(api.get(WHOAMI).bearer(credential).await, 200);
        note(api.post(format!("{SESSION}/events")).bearer(credential).json(json!({"author": "user"})).await, 201);
        // Two, one in a query, one in a path, one where another scheme is.
        note(api.get(SESSION).bearer(credential).bearer(credential).await, 400);
        note(api.get(format!("{SESSION}?access_token={credential}")).await, 400);
        note(api.get(format!("{SESSION}?token={credential}")).bearer(credential).await, 422);
        note(api.get(format!("/{credential}")).bearer(credential).await, 404);
        note(api.get(format!("{SESSION}?{credential}={credential}")).await, 401);
        for scheme in ["Basic", "Token", "Bearer,", "Bearer Bearer"] {
            note(api.get(SESSION).header("authorization", format!("{scheme} {credential}")).await, 401);
        }
        // Nearly this one.
        let mut cut = credential.to_owned();
        cut.pop();
        for nearly in [&*cut, &format!("{credential}A"), &format!("{credential} x"), &credential.to_uppercase()] {
            note(api.get(SESSION).bearer(nearly).await, 401);
        }
        note(api.get("/v1/apps/a/users/v/sessions/s").bearer(credential).await, 404);
        note(api.post(SESSIONS).bearer(credential).json("{").await, 400);
        note(api.post(SESSIONS).bearer(credential).json(json!({"bogus": 1})).await, 422);
        note(api.delete(WHOAMI).bearer(credential).await, 405);
    }
    let [_, key, token, _] = credentials;
    note(api.get(format!("/v1/keys/{key}")).bearer(key).await, 404);
    note(api.delete(format!("/v1/keys/{token}")).bearer(key).await, 404);
    note(api.post("/v1/keys").bearer(key).json(json!({"name": "n", "role": key, "apps": ["a"]})).await, 422);
    note(api.post("/v1/keys").bearer(token).json(json!({"name": "n", "role": "admin", "apps": ["a"]})).await, 403);
    note(api.get("/v1/keys").bearer(key).await, 200);

    // The look-up of a credential fails in the database.
    let unseen = mint(server, key, "a", "nobody").await;
    place.execute("alter table api_keys rename to api_keys_away").await;
    let failed = api.get(WHOAMI).bearer(&unseen).await;
    place.execute("alter table api_keys_away rename to api_keys").await;
    assert!(failed.status >= 500, "{failed}");
    let status = failed.status;
    note(failed, status);
    all
}

// ---- Rates

/// An event in 1000 s: what is there is one request.
const SLOW: &str = "0.001";

#[track_caller]
fn is_limited(answer: &Answer, limit: &str) {
    assert_eq!(answer.problem(429, "rate_limited")["limit"], limit, "{answer}");
}

async fn keys_and_their_tokens_pay_from_one_bucket(place: Place) {
    let admin = TempFile::new(ADMIN);
    let admin_flag = admin.flag("--admin-key-file");
    let server = Server::start(&place.url(), &[&admin_flag]).await;
    server.post(SESSIONS).bearer(ADMIN).json(json!({"sessionId": "s"})).await.expect(201);
    let (one, two) = (
        make_key(&server, json!({"role": "agent", "apps": ["a"]})).await,
        make_key(&server, json!({"role": "agent", "apps": ["a"]})).await,
    );
    let (of_one, of_two) = (mint(&server, &one, "a", "u").await, mint(&server, &two, "a", "u").await);
    let other_of_two = mint(&server, &two, "a", "v").await;
    let of_admin = mint(&server, ADMIN, "a", "u").await;
    drop(server);

    let signing = SigningKey::ed();
    let set = TempFile::new(jwks(&[published(&signing, "k")]));
    let flags = [&*admin_flag, &set.flag("--jwt-jwks-file"), "--jwt-apps=a", &format!("--rate-limit-key={SLOW}")];
    let server = Server::start(&place.url(), &[&JWT[..], &flags].concat()).await;
    let ask = async |credential: &str| server.get(SESSION).bearer(credential).await;
    // The key pays, and its token is refused; another key does not notice.
    ask(&one).await.expect(200);
    for _ in 0..3 {
        is_limited(&ask(&one).await, "key");
        is_limited(&ask(&of_one).await, "key");
        let append = server.post(format!("{SESSION}/events")).bearer(&one).json(json!({"author": "agent"})).await;
        is_limited(&append, "key");
        assert_eq!(append.json()["outcome"], "not_applied");
    }
    // The other way round: a token pays for its key and the key's other tokens.
    ask(&of_two).await.expect(200);
    for credential in [&two, &of_two, &other_of_two] {
        is_limited(&ask(credential).await, "key");
    }
    is_limited(&server.post("/v1/tokens").bearer(&two).json(json!({"app": "a", "user": "u"})).await, "key");
    ask(&of_admin).await.expect(200);
    is_limited(&ask(ADMIN).await, "key");
    // Nobody's key: an issuer's subject is no key, were it one's id.
    for sub in ["u", id_of(&one)] {
        for _ in 0..3 {
            server.get(WHOAMI).bearer(&jwt(&signing, "k", json!({"sub": sub}))).await.expect(200);
        }
    }
    drop(server);
    place.finish().await;
}

async fn what_is_refused_costs_nothing(place: Place) {
    let admin = TempFile::new(ADMIN);
    let admin_flag = admin.flag("--admin-key-file");
    let server = Server::start(&place.url(), &[&admin_flag]).await;
    for app in ["a", "b"] {
        server
            .post(format!("/v1/apps/{app}/users/u/sessions"))
            .bearer(ADMIN)
            .json(json!({"sessionId": "s"}))
            .await
            .expect(201);
    }
    let reader = make_key(&server, json!({"role": "reader", "apps": ["a"]})).await;
    let agent = make_key(&server, json!({"role": "agent", "apps": ["a"]})).await;
    let theirs = make_key(&server, json!({"role": "agent", "apps": ["b"]})).await;
    drop(server);

    let limit = |name: &str| format!("--rate-limit-{name}={SLOW}");
    let all = [&*admin_flag, &limit("app"), &limit("key"), &limit("user")];
    let server = Server::start(&place.url(), &all).await;
    let mut nearly = reader.clone();
    nearly.pop();
    for _ in 0..10 {
        server.get(SESSION).await.expect(401);
        server.get(SESSION).bearer(&nearly).await.expect(401);
        // Not by this role; outside of the grant, which says nothing about the app there either.
        server.post(format!("{SESSION}/events")).bearer(&reader).json(json!({"author": "agent"})).await.expect(403);
        server.post("/v1/apps/b/users/u/sessions").bearer(&reader).json(json!({})).await.expect(403);
        for open in ["/healthz", "/readyz", "/health", "/version"] {
            server.get(open).bearer(&reader).await.expect(200);
        }
    }
    server.get(SESSION).bearer(&reader).await.expect(200);
    is_limited(&server.get(SESSION).bearer(&agent).await, "app");
    drop(server);

    // Of the foreign app, which is busy or not.
    let server = Server::start(&place.url(), &[&*admin_flag, &limit("app"), &limit("user")]).await;
    let foreign = "/v1/apps/b/users/u/sessions";
    let ask = async || {
        let read = server.get(format!("{foreign}/s")).bearer(&agent).await.expect(404);
        let list = server.get(foreign).bearer(&agent).await.expect(200);
        let state = server.get("/v1/apps/b/state").bearer(&agent).await.expect(200);
        let append = server.post(format!("{foreign}/s/events")).bearer(&agent).json(json!([{}, {}])).await.expect(403);
        [read, list, state, append].map(|answer| told(&answer))
    };
    let quiet = ask().await;
    for _ in 0..10 {
        assert_eq!(ask().await, quiet);
    }
    server.get(format!("{foreign}/s")).bearer(&theirs).await.expect(200);
    is_limited(&server.get(format!("{foreign}/s")).bearer(&theirs).await, "app");
    assert_eq!(ask().await, quiet, "it cannot be told that it is busy");
    server.get(SESSION).bearer(&agent).await.expect(200);
    drop(server);
    place.finish().await;
}

// ---- What is remembered, and who asks too much

async fn who_was_revoked_elsewhere_makes_nothing_that_stays(place: Place) {
    let server = Server::start(&place.url(), &[]).await;
    let other = key_made(&place, &["create", "--name=a test", "--role=reader", "--apps=*"]).await;
    let path = format!("/v1/keys/{}", id_of(&other));
    until(401, || server.get(WHOAMI)).await;
    let of_admin = async || key_made(&place, &["create", "--name=a test", "--role=admin", "--apps=*"]).await;
    let (a, b, c) = (of_admin().await, of_admin().await, of_admin().await);
    // The server remembers what they may do, and another process revokes them.
    for key in [&a, &b, &c] {
        server.get(WHOAMI).bearer(key).await.expect(200);
    }
    let revoke = async |key: &str| keys_out(&place, &["revoke", id_of(key)]).await;
    tokio::join!(revoke(&a), revoke(&b), revoke(&c));
    let body = json!({"name": "n", "role": "admin", "apps": ["*"]});
    server.post("/v1/keys").bearer(&a).json(body).await.problem(401, "unauthenticated");
    server.patch(&path).bearer(&b).json(json!({"role": "admin"})).await.problem(401, "unauthenticated");
    server.post("/v1/tokens").bearer(&c).json(json!({"app": "a", "user": "u"})).await.problem(401, "unauthenticated");
    let left = keys_out(&place, &["list"]).await;
    assert!(left.lines().count() == 1 && left.contains("role=reader"), "{left}");
    drop(server);
    place.finish().await;
}

async fn an_issuer_that_does_not_answer_keeps_nobody_waiting(place: Place) {
    // It takes connections, and is silent.
    let silent = TcpListener::bind("127.0.0.1:0").await.expect("bind a port");
    let url = format!("--jwt-jwks-url=http://{}/keys", silent.local_addr().expect("a bound address"));
    let admin = TempFile::new(ADMIN);
    let flag = admin.flag("--admin-key-file");
    let args = [&JWT[..], &[&url, "--jwt-apps=a", &flag]].concat();
    let server = Server::start(&place.url(), &args).await;
    let key = SigningKey::ed();
    let asking = (0..150).map(|n| server.get(WHOAMI).bearer(&jwt(&key, &format!("k{n}"), json!({}))).into_future());
    let others = async {
        for _ in 0..20 {
            timeout(Duration::from_secs(3), server.get(WHOAMI).bearer(ADMIN).into_future())
                .await
                .expect("in time")
                .expect(200);
            sleep(Duration::from_millis(50)).await;
        }
    };
    let (answers, ()) = tokio::join!(futures_util::future::join_all(asking), others);
    let refused = answers.iter().filter(|answer| answer.status == 503);
    for answer in refused.clone() {
        answer.problem(503, "overloaded");
        assert_eq!(answer.header("retry-after"), Some("1"));
    }
    assert!(refused.count() > 0, "not all may wait");
    assert!(answers.iter().all(|answer| matches!(answer.status, 401 | 503)));
    drop(server);
    place.finish().await;
}

/// What has the form of a key, checksum included.
fn made_up(id: &str, secret: usize) -> String {
    const BASE62: &[u8] = b"0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
    let mut key = format!("sdk_{id}_{secret:043}");
    let mut sum = crc::Crc::<u32>::new(&crc::CRC_32_ISO_HDLC).checksum(key.as_bytes());
    let mut digits = [b'0'; 6];
    for digit in digits.iter_mut().rev() {
        *digit = BASE62[(sum % 62) as usize];
        sum /= 62;
    }
    key.push_str(std::str::from_utf8(&digits).expect("ASCII"));
    key
}

async fn a_secret_that_is_made_up_is_none(place: Place) {
    let server = Server::start(&place.url(), &[]).await;
    let key = key_made(&place, &["create", "--name=a test", "--role=reader", "--apps=*"]).await;
    until(401, || server.get(WHOAMI)).await;
    for _ in 0..2 {
        server.get(WHOAMI).bearer(&made_up(id_of(&key), 1)).await.problem(401, "unauthenticated");
        server.get(WHOAMI).bearer(&made_up("aaaaaaaaaaaa", 1)).await.problem(401, "unauthenticated");
        server.get(WHOAMI).bearer(&key).await.expect(200);
    }
    drop(server);
    place.finish().await;
}

/// Keys of other ids are looked up few at a time, and those that were seen go past them.
#[tokio::test(flavor = "multi_thread")]
async fn keys_that_are_made_up_take_few_look_ups() {
    let place = Place::postgres().await;
    let server = Server::start(&place.url(), &[]).await;
    let key = key_made(&place, &["create", "--name=a test", "--role=reader", "--apps=*"]).await;
    until(401, || server.get(WHOAMI)).await;
    server.get(WHOAMI).bearer(&key).await.expect(200);

    let mut lock = PgConnection::connect(&place.url()).await.expect("connect");
    sqlx::raw_sql("begin; lock table api_keys in access exclusive mode").execute(&mut lock).await.expect("lock it");
    let ids: Vec<String> =
        (0..100).map(|n| format!("aaaaaaaaaa{}{}", char::from(b'a' + n / 10), char::from(b'a' + n % 10))).collect();
    let mut asking: futures_util::stream::FuturesUnordered<_> =
        ids.iter().map(|id| server.get(WHOAMI).bearer(&made_up(id, 1)).into_future()).collect();
    // Four are looked up, and 64 wait for that.
    for _ in 0..100 - 68 {
        let answer =
            timeout(PATIENCE, futures_util::StreamExt::next(&mut asking)).await.expect("at once").expect("an answer");
        answer.problem(503, "overloaded");
        assert_eq!(answer.header("retry-after"), Some("1"));
    }
    server.get(WHOAMI).bearer(&made_up(id_of(&key), 1)).await.problem(401, "unauthenticated");
    sqlx::raw_sql("rollback").execute(&mut lock).await.expect("let go");
    while let Some(answer) = futures_util::StreamExt::next(&mut asking).await {
        answer.problem(401, "unauthenticated");
    }
    server.get(WHOAMI).bearer(&key).await.expect(200);
    drop(server);
    place.finish().await;
}
