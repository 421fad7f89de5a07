//! Secrets on disk and after revocation: who may read their files, how the secret of tokens is replaced, and how
//! revocations are repeated on a restored backup.

use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::Path,
    process::{Command, Stdio},
    time::Duration,
};

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use ring::hmac;
use serde_json::{Value, json};
use sqlx::{Connection as _, PgConnection, SqliteConnection};

use crate::access::{ADMIN, TempFile, make_key, mint};
use crate::contract::erasure::{copied, stopped};
use crate::support::{
    binary::{Server, ended, log_says},
    client::{Client, PATIENCE, Request},
    databases::{Place, on_both_databases},
    process::Sessiond,
};

on_both_databases!(
    a_replaced_secret_voids_all_tokens,
    no_token_lives_for_longer_than_a_day,
    a_replayed_ledger_revokes_again_what_a_backup_brought_back,
    an_operator_of_one_user_learns_nothing_of_another,
);

const WHOAMI: &str = "/v1/whoami";

fn mode(path: &Path) -> u32 {
    fs::metadata(path).unwrap_or_else(|error| panic!("{}: {error}", path.display())).permissions().mode() & 0o7777
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).expect("change the mode");
}

/// The binary, under a umask that takes nothing away.
fn open_handed(dir: &Path, args: &[&str]) -> Command {
    let mut command = Command::new("sh");
    command.args(["-c", "umask 0; exec \"$0\" \"$@\"", env!("CARGO_BIN_EXE_sessiond")]).args(args);
    command.current_dir(dir).env("DATABASE_URL", "sqlite://data.db").stdin(Stdio::null());
    command
}

#[tokio::test(flavor = "multi_thread")]
async fn files_with_secrets_are_their_owners_alone() {
    let place = Place::sqlite();
    let Place::Sqlite(dir) = &place else { panic!("it is a file") };
    let log = fs::File::create(dir.join("log")).unwrap();
    let args = ["--listen=127.0.0.1:0", "--metrics-listen=off", "--audit-log=access.log"];
    let mut server = open_handed(dir, &args).stdout(log.try_clone().unwrap()).stderr(log).spawn().unwrap();
    let written = async {
        while !fs::read_to_string(dir.join("log")).unwrap().contains("listening") {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    tokio::time::timeout(PATIENCE, written).await.expect("it serves");
    for name in ["data.db", "data.db-wal", "data.db-shm", "data.db.lock"] {
        assert_eq!(mode(&dir.join(name)), 0o600, "{name}");
    }
    // Names, and no secret: whoever collects logs may be of the group.
    assert_eq!(mode(&dir.join("access.log")), 0o640);
    assert!(!fs::read_to_string(dir.join("log")).unwrap().contains("chmod"), "there is nothing to warn of");
    let command = ["export", "--output", "export.ndjson"];
    assert!(open_handed(dir, &command).status().unwrap().success());
    assert_eq!(mode(&dir.join("export.ndjson")), 0o600);
    assert!(open_handed(dir, &["backup", "backup.db"]).status().unwrap().success());
    assert_eq!(mode(&dir.join("backup.db")), 0o600);
    server.kill().unwrap();
    server.wait().unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_start_warns_of_files_that_others_may_read() {
    let place = Place::sqlite();
    let Place::Sqlite(dir) = &place else { panic!("it is a file") };
    let file = dir.join("data.db");
    let admin = TempFile::new(ADMIN);
    set_mode(admin.path(), 0o640);
    let start = async || {
        let server = Server::start(&place.url(), &[&admin.flag("--admin-key-file")]).await;
        let log = log_says(&server.process, "listening").await;
        stopped(server).await;
        log
    };
    assert!(!start().await.contains("chmod"));
    for wide in [0o644, 0o660, 0o604] {
        set_mode(&file, wide);
        let log = start().await;
        assert!(log.contains("data.db") && log.contains(&format!("{wide:04o}")) && log.contains("chmod 600"), "{log}");
    }
    set_mode(&file, 0o600);
    for wide in [0o644, 0o660, 0o604] {
        set_mode(admin.path(), wide);
        let log = start().await;
        assert!(
            log.contains("admin key") && log.contains(&format!("{wide:04o}")) && log.contains("chmod 640"),
            "{log}"
        );
    }
    set_mode(admin.path(), 0o440);
    assert!(!start().await.contains("chmod"));
}

/// Every token shows the id of the key that minted it.
#[tokio::test(flavor = "multi_thread")]
async fn the_id_of_the_admin_key_is_of_its_database() {
    let admin = TempFile::new(ADMIN);
    let mut ids = Vec::new();
    for _ in 0..2 {
        let place = Place::sqlite();
        let server = Server::start(&place.url(), &[&admin.flag("--admin-key-file")]).await;
        let id = server.get(WHOAMI).bearer(ADMIN).await.expect(200).json()["id"].as_str().unwrap().to_owned();
        let token = mint(&server, ADMIN, "a", "u").await;
        let whoami = server.get(WHOAMI).bearer(&token).await.expect(200).json();
        assert_eq!((&whoami["kind"], &whoami["id"]), (&json!("token"), &json!(id)));
        stopped(server).await;
        let server = Server::start(&place.url(), &[&admin.flag("--admin-key-file")]).await;
        assert_eq!(server.get(WHOAMI).bearer(ADMIN).await.expect(200).json()["id"], id, "it stays");
        server.get(WHOAMI).bearer(&token).await.expect(200);
        ids.push(id);
    }
    assert_ne!(ids[0], ids[1]);
}

/// A tag may be moved by whoever can; what a digest names cannot change.
#[test]
fn base_images_are_named_by_digest() {
    let read = |name: &str| fs::read_to_string(Path::new(crate::support::ROOT).join(name)).expect("read it");
    let (dockerfile, compose) = (read("Dockerfile"), read("docker-compose.yml"));
    let of_stages = dockerfile.lines().filter_map(|line| line.strip_prefix("FROM ")?.split(' ').next());
    let of_services = compose.lines().filter_map(|line| line.trim().strip_prefix("image: ")?.split(' ').next());
    let images = of_stages.chain(of_services.filter(|image| *image != "sessiond"));
    // Those of compose's profiles have no digest so far: a tag, which names a version.
    let profiles = ["nginx:", "prom/prometheus:v", "grafana/grafana:"];
    let (of_profiles, images): (Vec<&str>, Vec<&str>) =
        images.partition(|image| profiles.iter().any(|name| image.starts_with(name)));
    assert_eq!((images.len(), of_profiles.len()), (4, 4), "{images:?} {of_profiles:?}");
    for image in of_profiles {
        let version = profiles.iter().find_map(|name| image.strip_prefix(name)).unwrap();
        assert!(version.starts_with(|first: char| first.is_ascii_digit()), "no version: {image}");
    }
    for image in &images {
        let (name, digest) = image.split_once("@sha256:").unwrap_or_else(|| panic!("no digest: {image}"));
        assert!(name.contains(':'), "no tag for people: {image}");
        assert!(digest.len() == 64 && digest.bytes().all(|b| matches!(b, b'0'..=b'9' | b'a'..=b'f')), "{image}");
    }
    assert_eq!(images[2], images[3], "one PostgreSQL");
    let base = images[1].split_once('@').unwrap();
    for (label, value) in [("name", base.0), ("digest", base.1)] {
        assert!(dockerfile.contains(&format!("image.base.{label}=\"{value}\"")), "{label}");
    }
}

/// Whoever follows the page sends a credential: to whom, a `Host` that anybody may have written does not say.
#[tokio::test(flavor = "multi_thread")]
async fn the_first_page_names_no_host_where_a_credential_is_sent() {
    let place = Place::sqlite();
    let server = Server::start(&place.url(), &["--require-auth"]).await;
    for host in ["evil.example", "$(id)", "127.0.0.1:1", "localhost"] {
        let page = server.get("/").header("host", host).header("x-forwarded-host", "evil.example").await.expect(200);
        let text = page.text();
        assert!(!text.contains(host) && !text.contains("evil") && !text.contains("http:"), "{text}");
        assert!(text.contains("$SESSIOND_URL/v1/apps") && text.contains("$SESSIOND_TOKEN"), "{text}");
        assert_eq!((page.header("vary"), page.header("cache-control")), (Some("Host"), Some("private, no-store")));
    }
    stopped(server).await;
    let server = Server::start(&place.url(), &["--allowed-hosts=*"]).await;
    let page = server.get("/").header("host", "localhost:7").await.expect(200);
    assert!(page.text().contains("curl -X POST http://localhost:7/v1/apps/"), "{}", page.text());
    assert_eq!((page.header("vary"), page.header("cache-control")), (Some("Host"), Some("private, no-store")));
    // What a shell would run is no host.
    for host in ["$(id)", "a;id", "a&b"] {
        let page = server.get("/").header("host", host).await.expect(200);
        assert!(page.text().contains("http://127.0.0.1:8080/v1/apps/") && !page.text().contains(host), "{host}");
    }
}

/// A query may hold the name of a parameter in many ways, and each of them is logged.
#[tokio::test(flavor = "multi_thread")]
async fn a_credential_in_a_query_is_seen_however_it_is_written() {
    let place = Place::sqlite();
    let admin = TempFile::new(ADMIN);
    let server = Server::start(&place.url(), &[&admin.flag("--admin-key-file")]).await;
    let token = mint(&server, ADMIN, "a", "u").await;
    for name in ["access_token", "%61ccess_token", "access%5Ftoken", "%61%63%63%65%73%73%5f%74%6f%6b%65%6e"] {
        for path in ["/apps/a/users/u/sessions", "/list-apps", "/v1/apps", WHOAMI, "/v1/apps/a/users/u/sessions/s"] {
            let answer = server.get(format!("{path}?{name}={token}")).bearer(&token).await;
            answer.problem(400, "invalid_request");
        }
        let path = format!("/v1/apps/a/users/u/sessions/none/watch?{name}={token}");
        server.get(path).header("accept", "text/event-stream").await.problem(404, "session_not_found");
    }
}

async fn ran(place: &Place, args: &[&str]) -> String {
    let output = Sessiond::run(args, &[("DATABASE_URL", &place.url())]).await;
    assert!(output.status.success(), "{args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).expect("UTF-8")
}

/// Until a credential has this status, within the time that the contract gives a revocation, and some for a slow machine.
async fn until(status: u16, ask: impl Fn() -> Request) {
    let asking = async {
        while ask().await.status() != status {
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    tokio::time::timeout(PATIENCE, asking).await.expect("it comes to that");
}

/// Replicas: two where the database takes two.
async fn servers(place: &Place, args: &[&str]) -> Vec<Server> {
    let mut servers = vec![Server::start(&place.url(), args).await];
    if matches!(place, Place::Postgres(_)) {
        servers.push(Server::start(&place.url(), args).await);
    }
    servers
}

async fn a_replaced_secret_voids_all_tokens(place: Place) {
    let admin = TempFile::new(ADMIN);
    let servers = servers(&place, &[&admin.flag("--admin-key-file")]).await;
    let agent = make_key(&servers[0], json!({"role": "agent", "apps": ["a"]})).await;
    let mut tokens = Vec::new();
    for key in [ADMIN, &agent] {
        tokens.push(mint(&servers[0], key, "a", "u").await);
    }
    for server in &servers {
        for token in &tokens {
            server.get(WHOAMI).bearer(token).await.expect(200);
        }
    }
    assert_eq!(ran(&place, &["keys", "rotate-token-secret"]).await, "");
    // What is minted from now on holds everywhere, also where one from before still does.
    let fresh = mint(&servers[0], &agent, "a", "u").await;
    for server in &servers {
        server.get(WHOAMI).bearer(&fresh).await.expect(200);
        for token in &tokens {
            until(401, || server.get(WHOAMI).bearer(token)).await;
        }
        server.get(WHOAMI).bearer(&agent).await.expect(200);
        server.get(WHOAMI).bearer(&fresh).await.expect(200);
    }
    drop(servers);
    place.finish().await;
}

async fn secret(place: &Place) -> Vec<u8> {
    const SQL: &str = "select secret from token_secrets";
    match place {
        Place::Sqlite(_) => {
            let mut connection = SqliteConnection::connect(&place.url()).await.expect("open the file");
            sqlx::query_scalar(SQL).fetch_one(&mut connection).await.expect("a secret")
        }
        Place::Postgres(_) => {
            let mut connection = PgConnection::connect(&place.url()).await.expect("connect");
            sqlx::query_scalar(SQL).fetch_one(&mut connection).await.expect("a secret")
        }
    }
}

/// What a token says.
fn claims(token: &str) -> Value {
    let claims = token.strip_prefix("sdu_").and_then(|rest| rest.split('.').next()).expect("a token");
    serde_json::from_slice(&URL_SAFE_NO_PAD.decode(claims).expect("base64url")).expect("JSON")
}

fn signed(secret: &[u8], claims: &Value) -> String {
    let signed = format!("sdu_{}", URL_SAFE_NO_PAD.encode(claims.to_string()));
    let mac = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, secret), signed.as_bytes());
    format!("{signed}.{}", URL_SAFE_NO_PAD.encode(mac))
}

async fn no_token_lives_for_longer_than_a_day(place: Place) {
    const DAY: i64 = 24 * 3600;
    let admin = TempFile::new(ADMIN);
    let server = Server::start(&place.url(), &[&admin.flag("--admin-key-file")]).await;
    let body = json!({"app": "a", "user": "u", "ttl": DAY});
    let longest = server.post("/v1/tokens").bearer(ADMIN).json(body).await.expect(201).json();
    let longest = longest["token"].as_str().expect("a token").to_owned();
    server.get(WHOAMI).bearer(&longest).await.expect(200);
    // Whoever has read the secret makes tokens of any life.
    let (secret, said) = (secret(&place).await, claims(&longest));
    let now = said["iat"].as_i64().expect("a time");
    let made = |iat: i64, exp: i64| {
        let mut claims = said.clone();
        (claims["iat"], claims["exp"]) = (json!(iat), json!(exp));
        signed(&secret, &claims)
    };
    server.get(WHOAMI).bearer(&made(now - 5, now + 600)).await.expect(200);
    for (iat, exp) in [
        (now, now + DAY + 3600),
        (now, now + 365 * DAY),
        (now - 2 * DAY, now + 600),
        (now + DAY, now + DAY + 3600),
        (now, i64::MAX),
        (i64::MIN, now + 600),
    ] {
        server.get(WHOAMI).bearer(&made(iat, exp)).await.problem(401, "unauthenticated");
    }
    drop(server);
    place.finish().await;
}

async fn a_replayed_ledger_revokes_again_what_a_backup_brought_back(place: Place) {
    let admin = TempFile::new(ADMIN);
    let flag = admin.flag("--admin-key-file");
    let server = Server::start(&place.url(), &[&flag]).await;
    let made = async |api: &Client, name: &str| {
        let body = json!({"name": name, "role": "agent", "apps": ["a"]});
        let made = api.post("/v1/keys").bearer(ADMIN).json(body).await.expect(201).json();
        (made["id"].as_str().unwrap().to_owned(), made["key"].as_str().unwrap().to_owned())
    };
    let (revoked_id, revoked) = made(&server, "revoked").await;
    let (ending_id, ending) = made(&server, "ending").await;
    let (narrowed_id, narrowed) = made(&server, "narrowed").await;
    let (_, kept) = made(&server, "kept").await;
    let of_revoked = mint(&server, &revoked, "a", "u").await;
    let of_user = mint(&server, &kept, "a", "lost his phone").await;
    let of_other = mint(&server, &kept, "a", "other").await;
    let session = json!({"sessionId": "s"});
    server.post("/v1/apps/a/users/erased/sessions").bearer(ADMIN).json(session).await.expect(201);
    let of_erased = mint(&server, &kept, "a", "erased").await;
    stopped(server).await;
    let (backup, later) = (copied(&place).await, copied(&place).await);

    // All of it is revoked after the backup was made.
    let server = Server::start(&place.url(), &[&flag]).await;
    let api = &server.api;
    api.delete(format!("/v1/keys/{revoked_id}")).bearer(ADMIN).await.expect(204);
    let end = json!({"expireTime": 1_000_000_000});
    api.patch(format!("/v1/keys/{ending_id}")).bearer(ADMIN).json(end).await.expect(200);
    let less = json!({"role": "reader"});
    api.patch(format!("/v1/keys/{narrowed_id}")).bearer(ADMIN).json(less).await.expect(200);
    let user = json!({"app": "a", "user": "lost his phone"});
    api.post("/v1/tokens/revoke").bearer(ADMIN).json(user).await.expect(204);
    api.post("/v1/apps/a/users/erased/erasure").bearer(ADMIN).json(json!({})).await.expect(202);
    let ledger = ran(&place, &["erasures", "export"]).await;
    let kinds = |kind: &str| ledger.lines().filter(|line| line.contains(&format!("\"type\":\"{kind}\""))).count();
    let counts = ["erasures", "erasure", "key.revoked", "key", "tokens.revoked", "token.secret"].map(kinds);
    assert_eq!(counts, [1, 1, 1, 3, 1, 1], "{ledger}");
    for secret in ["phone", &revoked, &kept, ADMIN] {
        assert!(!ledger.contains(secret), "a ledger names nobody and holds no secret");
    }
    // Later, all tokens there were.
    ran(&place, &["keys", "rotate-token-secret"]).await;
    let with_secret = ran(&place, &["erasures", "export"]).await;
    stopped(server).await;
    let (ledger, with_secret) = (TempFile::new(ledger), TempFile::new(with_secret));
    let path = |file: &TempFile| file.path().to_str().unwrap().to_owned();

    // The backup knows nothing of that.
    let server = Server::start(&backup.url(), &[&flag]).await;
    for credential in [&revoked, &ending, &narrowed, &kept, &of_revoked, &of_user, &of_other, &of_erased] {
        server.get(WHOAMI).bearer(credential).await.expect(200);
    }
    stopped(server).await;
    let said = ran(&backup, &["erasures", "replay", &path(&ledger)]).await;
    let expected = format!(
        "erasures in the ledger: 1, new to this database: 1, users erased again: 1\n\
         keys revoked again: 2, users whose tokens were: 1, secret of tokens: as it was\n\
         key {narrowed_id} may do what it could at the time of the backup, and was changed since: look at it\n"
    );
    assert_eq!(said, expected);
    let server = Server::start(&backup.url(), &[&flag]).await;
    for credential in [&revoked, &ending, &of_revoked, &of_user, &of_erased] {
        server.get(WHOAMI).bearer(credential).await.problem(401, "unauthenticated");
    }
    for credential in [&narrowed, &kept, &of_other] {
        server.get(WHOAMI).bearer(credential).await.expect(200);
    }
    // A token that is minted now is good, also of whom tokens were revoked.
    let again = mint(&server, &kept, "a", "lost his phone").await;
    server.get(WHOAMI).bearer(&again).await.expect(200);
    // Again does no harm, also beside the server.
    let said = ran(&backup, &["erasures", "replay", &path(&ledger)]).await;
    assert!(said.contains("keys revoked again: 0, users whose tokens were: 0, secret of tokens: as it was"), "{said}");
    server.get(WHOAMI).bearer(&again).await.expect(200);
    stopped(server).await;

    // The secret that was replaced is replaced again, once.
    for secret in ["replaced again", "as it was"] {
        let said = ran(&later, &["erasures", "replay", &path(&with_secret)]).await;
        assert!(said.contains(&format!("secret of tokens: {secret}")), "{said}");
        // The ledger of the place that has another secret now would replace it again: it is exported anew.
        fs::write(with_secret.path(), ran(&later, &["erasures", "export"]).await).unwrap();
    }
    let server = Server::start(&later.url(), &[&flag]).await;
    for credential in [&of_other, &of_user, &of_revoked, &revoked] {
        server.get(WHOAMI).bearer(credential).await.problem(401, "unauthenticated");
    }
    server.get(WHOAMI).bearer(&kept).await.expect(200);
    stopped(server).await;

    let (_, log) = ended(&backup.url(), &["erasures", "replay", &path(&TempFile::new("{\"type\":\"key\"}\n"))]).await;
    assert!(log.contains("line 1 is not one of a ledger"), "{log}");
    for place in [backup, later, place] {
        place.finish().await;
    }
}

async fn an_operator_of_one_user_learns_nothing_of_another(place: Place) {
    let admin = TempFile::new(ADMIN);
    let server = Server::start(&place.url(), &[&admin.flag("--admin-key-file")]).await;
    let operator =
        async |users: Value| make_key(&server, json!({"role": "operator", "apps": ["a"], "users": users})).await;
    let (of_u, of_both) = (operator(json!(["u"])).await, operator(json!(["u", "v"])).await);
    let erase = |key: &str, user: &str, request: &str| {
        let path = format!("/v1/apps/a/users/{user}/erasure");
        server.post(path).bearer(key).json(json!({"requestId": request}))
    };
    let id = |answer: &crate::support::client::Answer| answer.json()["id"].as_str().unwrap().to_owned();
    let of_v = id(&erase(ADMIN, "v", "r").await.expect(202));
    // Who may know of `v` is told; who may not, is answered as if nothing had been asked for `v`, and finds its own again.
    erase(ADMIN, "u", "r").await.problem(409, "erasure_conflict");
    erase(&of_both, "u", "r").await.problem(409, "erasure_conflict");
    let made = id(&erase(&of_u, "u", "r").await.expect(202));
    for _ in 0..2 {
        let again = erase(&of_u, "u", "r").await.expect(200);
        assert!(again.was_replayed());
        assert_eq!(id(&again), made);
    }
    assert_eq!(id(&erase(ADMIN, "v", "r").await.expect(200)), of_v);
    // Nor is it told by its id.
    server.get(format!("/v1/erasures/{of_v}")).bearer(&of_u).await.problem(404, "not_found");
    server.get(format!("/v1/erasures/{made}")).bearer(&of_u).await.expect(200);
    drop(server);
    place.finish().await;
}
