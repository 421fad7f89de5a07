//! Watches and waits in a server's life: places, clocks, shutdown, other servers on the same database, expiring
//! credentials, and databases that lose data. [`contract::watch`](crate::contract) tests the content of a stream.

use std::{fs, time::Duration};

use futures_util::future::join_all;
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::{TcpSocket, TcpStream},
    time::sleep,
};

use crate::access::{ADMIN, TempFile, make_key, mint};
use crate::failover::Pair;
use crate::overload::{measured, until_sample};
use crate::support::{
    binary::Server,
    client::{Answer, Client, Request},
    databases::{Place, on_both_databases},
    pgbouncer::PgBouncer,
    postgres::database,
    sse::{End, Part, Watch},
};

on_both_databases!(
    watchers_have_places_of_their_own,
    a_wait_has_a_place_of_a_watcher_and_of_nobody_else,
    a_stream_has_a_pulse,
    a_stream_has_a_life,
    a_reader_that_does_not_read_is_cut,
    a_drain_tells_every_stream,
    streams_end_with_the_delay_of_the_shutdown,
    a_browser_shows_its_token_in_the_query,
    what_is_revoked_or_narrowed_ends_its_streams,
    readers_watch_what_they_may_read,
);

const SESSIONS: &str = "/v1/apps/a/users/u/sessions";
const SESSION: &str = "/v1/apps/a/users/u/sessions/s";
const EVENTS: &str = "/v1/apps/a/users/u/sessions/s/events";
const STATE: &str = "/v1/apps/a/users/u/sessions/s/state";
const WATCH: &str = "/v1/apps/a/users/u/sessions/s/watch";

fn asked(api: &Client, path: &str) -> Request {
    api.get(path).header("accept", "*/*")
}

async fn live(api: &Client) -> Watch {
    live_at(asked(api, WATCH)).await
}

/// A stream that has sent what was there.
async fn live_at(request: Request) -> Watch {
    let mut watch = Watch::open(request).await;
    watch.caught_up().await;
    watch
}

async fn create(api: &Client) -> Answer {
    api.put(SESSION).json(json!({})).await.expect(201)
}

async fn append(api: &Client) -> Answer {
    api.post(EVENTS).json(json!({"author": "agent"})).await.expect(201)
}

async fn until_watchers(metrics: &Client, count: usize) {
    until_sample(metrics, "sessiond_watchers", |watchers| (watchers - count as f64).abs() < 0.5).await;
}

/// A request as bytes, on a connection of its own.
async fn raw(api: &Client, path: &str) -> TcpStream {
    let mut stream = TcpStream::connect(api.address()).await.expect("connect");
    let head = format!("GET {path} HTTP/1.1\r\nhost: localhost\r\n\r\n");
    stream.write_all(head.as_bytes()).await.expect("send");
    stream
}

#[track_caller]
fn no_place(answer: &Answer) {
    let problem = answer.problem(429, "rate_limited");
    assert_eq!(problem["limit"], "watchers");
    assert!(
        answer.header("retry-after").is_some_and(|after| after.parse().is_ok_and(|seconds: u64| seconds > 0)),
        "{answer}"
    );
}

async fn watchers_have_places_of_their_own(place: Place) {
    let (server, metrics) = measured(&place, &["--max-watchers=2", "--max-in-flight=1", "--max-streams=1"]).await;
    create(&server).await;
    let mut first = live(&server).await;
    let second = live(&server).await;
    until_watchers(&metrics, 2).await;
    for accept in ["*/*", "text/event-stream, */*", ""] {
        no_place(&server.get(WATCH).header("accept", accept).await);
    }
    // A browser would give up for good.
    let mut pauses = Vec::new();
    for _ in 0..8 {
        let mut watch = Watch::open(server.get(WATCH).header("accept", "text/event-stream")).await;
        let Ok(Part::Retry(pause)) = watch.part().await else { panic!("no `retry`") };
        pauses.push(pause);
        let bye = watch.expect("bye").await;
        assert_eq!(bye.data, r#"{"reason":"overloaded"}"#);
        watch.end().await;
    }
    assert!(pauses.iter().all(|pause| (1000..=5000).contains(pause)), "{pauses:?}");
    pauses.dedup();
    assert!(pauses.len() > 1, "they do not come back together");
    // What does not exist is no matter of places.
    server.get(format!("{SESSIONS}/none/watch")).await.problem(404, "session_not_found");
    server.get(format!("{WATCH}?afterSequence=9")).await.problem(410, "position_gone");
    server.head(WATCH).await.expect(200);
    // Others are served, and watchers of theirs.
    for _ in 0..3 {
        append(&server).await;
        first.expect("event").await;
    }
    drop(second);
    until_watchers(&metrics, 1).await;
    live(&server).await;
    server.delete(SESSION).await.expect(204);
    first.deleted("deleted").await;
    until_watchers(&metrics, 0).await;
    drop(server);
    place.finish().await;
}

async fn a_wait_has_a_place_of_a_watcher_and_of_nobody_else(place: Place) {
    let (server, metrics) = measured(&place, &["--max-watchers=2", "--max-in-flight=1"]).await;
    let tag = create(&server).await.etag();
    let api = server.api.clone();
    let events = tokio::spawn(async move { api.get(format!("{EVENTS}?wait=55")).await });
    until_watchers(&metrics, 1).await;
    let (api, tag_of) = (server.api.clone(), tag.clone());
    let session =
        tokio::spawn(async move { api.get(format!("{SESSION}?wait=55")).header("if-none-match", tag_of).await });
    until_watchers(&metrics, 2).await;
    // Whoever need not wait takes none; whoever would is refused.
    server.get(format!("{SESSION}?wait=55")).await.expect(200);
    no_place(&server.get(format!("{EVENTS}?wait=55")).await);
    no_place(&server.get(format!("{STATE}?wait=55")).header("if-none-match", &tag).await);
    no_place(&server.get(WATCH).await);
    server.get(format!("{EVENTS}?wait=0")).await.expect(200);
    append(&server).await;
    assert_eq!(events.await.expect("no panic").expect(200).json()["events"].as_array().map(Vec::len), Some(1));
    session.await.expect("no panic").expect(200);
    until_watchers(&metrics, 0).await;
    // A client that goes away.
    let tag = server.get(SESSION).await.etag();
    for path in [format!("{EVENTS}?wait=60&afterSequence=1"), format!("{EVENTS}?wait=60&author=nobody")] {
        let gone = raw(&server, &path).await;
        until_watchers(&metrics, 1).await;
        drop(gone);
        until_watchers(&metrics, 0).await;
    }
    let api = server.api.clone();
    let state = tokio::spawn(async move { api.get(format!("{STATE}?wait=60")).header("if-none-match", tag).await });
    until_watchers(&metrics, 1).await;
    state.abort();
    until_watchers(&metrics, 0).await;
    // All are served again, one after the other.
    for _ in 0..3 {
        append(&server).await;
    }
    drop(server);
    place.finish().await;
}

async fn a_stream_has_a_pulse(place: Place) {
    let server = Server::start(&place.url(), &["--watch-heartbeat=200ms", "--watch-stall=100ms"]).await;
    create(&server).await;
    let mut watch = live(&server).await;
    // Silence is no stall.
    for _ in 0..4 {
        let part = watch.part().await;
        assert!(matches!(part, Ok(Part::Comment(_))), "{part:?}");
    }
    append(&server).await;
    watch.expect("event").await;
    drop((watch, server));
    place.finish().await;
}

async fn a_stream_has_a_life(place: Place) {
    let server = Server::start(&place.url(), &["--watch-lifetime=1s"]).await;
    create(&server).await;
    let (mut cursor, mut sequences) = (String::new(), Vec::new());
    while sequences.len() < 4 {
        append(&server).await;
        let watch = Watch::open(asked(&server, WATCH).header("last-event-id", &cursor)).await;
        for frame in watch.until_bye("lifetime").await {
            cursor = frame.id.clone().unwrap_or(cursor);
            if frame.event == "event" {
                sequences.push(frame.json()["sequence"].as_u64().expect("a sequence"));
            }
        }
    }
    assert_eq!(sequences, (1..=sequences.len() as u64).collect::<Vec<_>>());
    drop(server);
    place.finish().await;
}

async fn a_reader_that_does_not_read_is_cut(place: Place) {
    let (server, metrics) = measured(&place, &["--watch-stall=3s"]).await;
    create(&server).await;
    let large = "x".repeat(250_000);
    let stalled = async {
        let socket = TcpSocket::new_v4().expect("a socket");
        socket.set_recv_buffer_size(4096).expect("a small buffer");
        let mut stream = socket.connect(server.address()).await.expect("connect");
        let head = format!("GET {WATCH} HTTP/1.1\r\nhost: localhost\r\n\r\n");
        stream.write_all(head.as_bytes()).await.expect("send");
        stream
    };
    let mut stalled = stalled.await;
    until_watchers(&metrics, 1).await;
    let mut good = live(&server).await;
    // More than the buffers of the system take.
    for n in 1..60 {
        server.post(EVENTS).json(json!({"author": "agent", "content": large})).await.expect(201);
        assert_eq!(good.expect("event").await.json()["sequence"], n);
    }
    until_sample(&metrics, r#"sessiond_watch_ends_total{reason="client"}"#, |ends| (ends - 1.0).abs() < 0.5).await;
    until_watchers(&metrics, 1).await;
    // Without a word: what is left is not the end of a body.
    let mut bytes = Vec::new();
    let _ = stalled.read_to_end(&mut bytes).await;
    assert!(bytes.starts_with(b"HTTP/1.1 200") && !bytes.ends_with(b"0\r\n\r\n"), "{} bytes", bytes.len());
    assert!(!bytes.windows(10).any(|window| window == b"event: bye"));
    append(&server).await;
    good.expect("event").await;
    drop((good, server));
    place.finish().await;
}

async fn a_drain_tells_every_stream(place: Place) {
    let (mut server, metrics) = measured(&place, &[]).await;
    let tag = create(&server).await.etag();
    for n in 0..10 {
        server.put(format!("{SESSIONS}/s{n}")).json(json!({})).await.expect(201);
    }
    let watches = join_all((0..200).map(|n| live_at(asked(&server, &format!("{SESSIONS}/s{}/watch", n % 10))))).await;
    let api = server.api.clone();
    let events = tokio::spawn(async move { api.get(format!("{EVENTS}?wait=60")).await });
    let (api, tag_of) = (server.api.clone(), tag.clone());
    let session =
        tokio::spawn(async move { api.get(format!("{SESSION}?wait=60")).header("if-none-match", tag_of).await });
    let (api, tag_of) = (server.api.clone(), tag.clone());
    let state = tokio::spawn(async move { api.get(format!("{STATE}?wait=60")).header("if-none-match", tag_of).await });
    until_watchers(&metrics, 203).await;
    server.process.sigterm();
    join_all(watches.into_iter().map(|watch| watch.bye("drain"))).await;
    let events = events.await.expect("no panic").expect(200);
    assert_eq!(events.text(), r#"{"events":[],"revision":0}"#);
    for waiting in [session, state] {
        assert_eq!(waiting.await.expect("no panic").expect(304).etag(), tag);
    }
    let status = server.process.wait().await;
    assert!(status.success(), "{status}: {}", server.process.log());
    place.finish().await;
}

async fn streams_end_with_the_delay_of_the_shutdown(place: Place) {
    let mut server = Server::start(&place.url(), &["--shutdown-delay=8s"]).await;
    create(&server).await;
    let mut old = live(&server).await;
    server.process.sigterm();
    server.get_until("/readyz", 503).await;
    // Until the delay is over, nothing has changed.
    let mut new = live(&server).await;
    let api = server.api.clone();
    let waiting = tokio::spawn(async move { api.get(format!("{EVENTS}?wait=60&afterSequence=1")).await });
    append(&server).await;
    for watch in [&mut old, &mut new] {
        assert_eq!(watch.expect("event").await.json()["sequence"], 1);
    }
    old.bye("drain").await;
    new.bye("drain").await;
    // Asked before the event was there, it was beyond the log.
    let waited = waiting.await.expect("no panic");
    assert!(waited.status() == 410 || waited.text() == r#"{"events":[],"revision":1}"#, "{waited}");
    server.api.hang_up();
    let status = server.process.wait().await;
    assert!(status.success(), "{status}: {}", server.process.log());
    place.finish().await;
}

// ---- Access

/// As many servers as the database takes, but two at most, with an admin key.
async fn guarded(place: &Place, file: &TempFile) -> Vec<Server> {
    let args = [file.flag("--admin-key-file")];
    let args: Vec<&str> = args.iter().map(|arg| &**arg).collect();
    let mut servers = vec![Server::start(&place.url(), &args).await];
    if matches!(place, Place::Postgres(_)) {
        servers.push(Server::start(&place.url(), &args).await);
    }
    servers[0].put(SESSION).bearer(ADMIN).json(json!({})).await.expect(201);
    servers
}

async fn a_browser_shows_its_token_in_the_query(place: Place) {
    let file = TempFile::new(ADMIN);
    let servers = guarded(&place, &file).await;
    let api = &servers[0].api;
    let agent = make_key(api, json!({"role": "agent", "apps": ["a"]})).await;
    let token = mint(api, &agent, "a", "u").await;
    for server in &servers {
        let mut watch = live_at(asked(server, &format!("{WATCH}?access_token={token}"))).await;
        let mut other =
            live_at(asked(server, &format!("{WATCH}?include=state&access_token={token}&afterSequence=0"))).await;
        let mut header = live_at(asked(server, WATCH).bearer(&token)).await;
        api.post(EVENTS).bearer(&agent).json(json!({})).await.expect(201);
        for watch in [&mut watch, &mut other, &mut header] {
            watch.expect("event").await;
        }
    }
    api.head(format!("{WATCH}?access_token={token}")).await.expect(200);
    let unknown = api.get(WATCH).bearer("garbage").await.problem(401, "unauthenticated");
    for credential in [&agent, ADMIN, "garbage", "", &token[..token.len() - 1], "a.b.c"] {
        let answer = api.get(format!("{WATCH}?access_token={credential}")).await;
        assert_eq!(answer.problem(401, "unauthenticated")["detail"], unknown["detail"], "{credential}");
        assert!(answer.header("www-authenticate").is_some());
    }
    for request in [
        api.get(format!("{WATCH}?access_token={token}")).bearer(&token),
        api.get(format!("{WATCH}?access_token={token}")).bearer(&agent),
        api.get(format!("{WATCH}?access_token={token}&access_token={token}")),
    ] {
        request.await.problem(400, "invalid_request");
    }
    for path in [SESSION, EVENTS, STATE, SESSIONS, "/v1/whoami", "/v1/apps"] {
        api.get(format!("{path}?access_token={token}")).await.problem(400, "invalid_request");
    }
    api.get(format!("{EVENTS}?wait=1&access_token={token}")).await.problem(400, "invalid_request");
    // Of another user it shows nothing.
    let other = "/v1/apps/a/users/v/sessions/s/watch";
    api.get(format!("{other}?access_token={token}")).await.problem(404, "session_not_found");
    drop(servers);
    place.finish().await;
}

/// Streams, and a request that waits, with the same credential at each server.
struct Open {
    watches: Vec<Watch>,
    waits: Vec<tokio::task::JoinHandle<Answer>>,
}

impl Open {
    async fn with(servers: &[Server], credential: &str) -> Self {
        let mut open = Self { watches: Vec::new(), waits: Vec::new() };
        for server in servers {
            open.watches.push(live_at(asked(server, WATCH).bearer(credential)).await);
            let request = server.get(format!("{EVENTS}?wait=55&author=nobody")).bearer(credential);
            open.waits.push(tokio::spawn(async move { request.await }));
        }
        open
    }

    async fn end(self) {
        join_all(self.watches.into_iter().map(|watch| watch.bye("credential_expired"))).await;
        for wait in self.waits {
            wait.await.expect("no panic").problem(401, "unauthenticated");
        }
    }
}

async fn what_is_revoked_or_narrowed_ends_its_streams(place: Place) {
    let file = TempFile::new(ADMIN);
    let servers = guarded(&place, &file).await;
    let api = &servers[0].api;
    let id = async |key: &str| {
        api.get("/v1/whoami").bearer(key).await.expect(200).json()["id"].as_str().expect("an id").to_owned()
    };

    let grants = json!({"role": "agent", "apps": ["a"]});
    let [revoked, narrowed, minting, kept] = [
        make_key(api, grants.clone()).await,
        make_key(api, grants.clone()).await,
        make_key(api, grants.clone()).await,
        make_key(api, grants).await,
    ];
    let minted = mint(api, &minting, "a", "u").await;
    let of_narrowed = mint(api, &narrowed, "a", "u").await;
    let short = json!({"app": "a", "user": "u", "ttl": 4});
    let mut open = Vec::new();
    for credential in [&revoked, &narrowed, &minted, &of_narrowed] {
        open.push(Open::with(&servers, credential).await);
    }
    let mut lasting = Open::with(&servers, &kept).await;
    let by_admin = Open::with(&servers, ADMIN).await;

    api.delete(format!("/v1/keys/{}", id(&revoked).await)).bearer(ADMIN).await.expect(204);
    let change = json!({"apps": ["b"]});
    api.patch(format!("/v1/keys/{}", id(&narrowed).await)).bearer(ADMIN).json(change).await.expect(200);
    api.post("/v1/tokens/revoke").bearer(&minting).json(json!({"app": "a", "user": "u"})).await.expect(204);
    // What leaves the session within the grant ends nothing.
    let change = json!({"name": "another", "apps": ["a", "b"], "users": ["u"]});
    api.patch(format!("/v1/keys/{}", id(&kept).await)).bearer(ADMIN).json(change).await.expect(200);
    join_all(open.into_iter().map(Open::end)).await;

    // A token that ends by itself.
    let token = api.post("/v1/tokens").bearer(&minting).json(short).await.expect(201).json()["token"]
        .as_str()
        .expect("a token")
        .to_owned();
    let request = asked(api, &format!("{WATCH}?access_token={token}"));
    // On a slow machine it is over before it begins.
    if let Ok(watch) = Watch::try_open(request).await {
        watch.until_bye("credential_expired").await;
    }

    api.post(EVENTS).bearer(ADMIN).json(json!({})).await.expect(201);
    for watch in lasting.watches.iter_mut() {
        watch.expect("event").await;
    }
    for mut watch in by_admin.watches {
        watch.expect("event").await;
    }
    drop(servers);
    place.finish().await;
}

async fn readers_watch_what_they_may_read(place: Place) {
    let file = TempFile::new(ADMIN);
    let servers = guarded(&place, &file).await;
    let api = &servers[0].api;
    let reader = make_key(api, json!({"role": "reader", "apps": ["a"], "users": ["u"]})).await;
    let user = make_key(api, json!({"role": "user", "apps": ["a"], "users": ["u"]})).await;
    let foreign = make_key(api, json!({"role": "admin", "apps": ["b"]})).await;
    for credential in [&reader, &user] {
        live_at(asked(api, WATCH).bearer(credential)).await;
        api.get(format!("{EVENTS}?wait=0")).bearer(credential).await.expect(200);
    }
    // Outside of the grant all looks as if nothing were there: whatever is asked for, and without a wait.
    let none = format!("{SESSIONS}/none");
    for query in ["", "?afterSequence=9", "?afterSequence=now", "?include=state", "?lastEventId=1-1-00000000"] {
        let (there, not) = (
            api.get(format!("{WATCH}{query}")).bearer(&foreign).await,
            api.get(format!("{none}/watch{query}")).bearer(ADMIN).await,
        );
        assert_eq!(crate::contract::access::told(&there), crate::contract::access::told(&not), "{query}");
        there.problem(404, "session_not_found");
    }
    for (path, query) in
        [("/events", "?wait=60"), ("/events", "?wait=60&afterSequence=9"), ("", "?wait=60"), ("/state", "?wait=60")]
    {
        let (there, not) = (
            api.get(format!("{SESSION}{path}{query}")).bearer(&foreign).header("if-none-match", "\"0.0.0.1\"").await,
            api.get(format!("{none}{path}{query}")).bearer(ADMIN).header("if-none-match", "\"0.0.0.1\"").await,
        );
        assert_eq!(crate::contract::access::told(&there), crate::contract::access::told(&not), "{path}{query}");
        there.problem(404, "session_not_found");
    }
    let (there, not) = (api.head(WATCH).bearer(&foreign).await, api.head(format!("{none}/watch")).bearer(ADMIN).await);
    assert_eq!(crate::contract::access::told(&there), crate::contract::access::told(&not));
    drop(servers);
    place.finish().await;
}

// ---- Other servers on the same database

async fn what_another_server_does_is_seen(url: &str, args: &[&str]) {
    let (one, other) = (Server::start(url, args).await, Server::start(url, args).await);
    create(&one).await;
    let state =
        |revisions: &str, set: Value, removed: Value| json!({"revisions": revisions, "set": set, "removed": removed});
    let mark = one.get(SESSION).await.tag_parts()[3].clone();
    let mut watches = [live(&other).await, live_at(asked(&other, &format!("{WATCH}?include=state"))).await];
    for n in 1..20 {
        append(&one).await;
        for watch in &mut watches {
            assert_eq!(watch.expect("event").await.json()["sequence"], n);
        }
    }
    one.patch("/v1/apps/a/state").json(json!({"stateDelta": {"k": 1}})).await.expect(200);
    let frame = watches[1].expect("state").await;
    assert_eq!(frame.json(), state(&format!("19.0.1.{mark}"), json!({"app:k": 1}), json!([])));
    one.patch("/v1/apps/a/users/u/state").json(json!({"stateDelta": {"k": 2}})).await.expect(200);
    let frame = watches[1].expect("state").await;
    assert_eq!(frame.json(), state(&format!("19.1.1.{mark}"), json!({"user:k": 2}), json!([])));
    let event = json!({"author": "agent", "actions": {"stateOps": [{"op": "remove", "key": "app:k"}]}});
    one.post(EVENTS).json(event).await.expect(201);
    watches[0].expect("event").await;
    watches[1].expect("event").await;
    let frame = watches[1].expect("state").await;
    assert_eq!(frame.json(), state(&format!("20.1.2.{mark}"), json!({}), json!(["app:k"])));
    one.patch(SESSION).json(json!({"displayName": "n"})).await.expect(200);
    for watch in &mut watches {
        assert_eq!(watch.expect("metadata").await.json()["displayName"], "n");
    }

    // And waits.
    let tag = one.get(SESSION).await.etag();
    let waiting = |path: &str| {
        let request = other.get(format!("{SESSION}{path}")).header("if-none-match", &tag);
        tokio::spawn(async move { request.await })
    };
    let (session, of_state, events) =
        (waiting("?wait=55"), waiting("/state?wait=55"), waiting("/events?wait=55&afterSequence=20"));
    // So that they do wait; what is asserted holds without that, too.
    sleep(Duration::from_millis(150)).await;
    one.patch("/v1/apps/a/state").json(json!({"stateDelta": {"k": 3}})).await.expect(200);
    watches[1].expect("state").await;
    session.await.expect("no panic").expect(200);
    assert_eq!(of_state.await.expect("no panic").expect(200).json()["app:k"], 3);
    append(&one).await;
    assert_eq!(events.await.expect("no panic").expect(200).json()["events"][0]["sequence"], 21);

    for watch in &mut watches {
        watch.expect("event").await;
    }
    let gone = waiting("/events?wait=55&afterSequence=21");
    sleep(Duration::from_millis(150)).await;
    one.delete(SESSION).await.expect(204);
    for watch in watches {
        watch.deleted("deleted").await;
    }
    gone.await.expect("no panic").problem(404, "session_not_found");

    // When nobody watches any more, and then somebody does.
    create(&one).await;
    for n in 1..6 {
        let mut watch = live(&other).await;
        append(&one).await;
        assert_eq!(watch.expect("event").await.json()["sequence"], n);
    }
    // Made anew in between.
    let watch = live(&other).await;
    one.delete(SESSION).await.expect(204);
    create(&one).await;
    watch.deleted("deleted").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_another_server_does_is_seen_at_this_one() {
    let place = Place::postgres().await;
    what_another_server_does_is_seen(&place.url(), &[]).await;
    place.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn what_another_server_does_is_seen_behind_pgbouncer() {
    let database = database().await;
    let bouncer = PgBouncer::start(&database.url);
    let name = database.url.rsplit('/').next().expect("a name");
    what_another_server_does_is_seen(&bouncer.url(name), &["--pgbouncer"]).await;
}

// ---- A database that was restored

#[tokio::test(flavor = "multi_thread")]
async fn a_cursor_on_an_event_that_a_restore_lost_is_gone() {
    let place = Place::sqlite();
    let Place::Sqlite(dir) = &place else { panic!("it was made so") };
    // The log is a part of the database: a connection that is dropped may outlast the close of the others, and then it stays.
    let copy_over = |from: &str, to: &str| {
        for part in ["", "-wal", "-shm"] {
            let (from, to) = (dir.join(format!("{from}{part}")), dir.join(format!("{to}{part}")));
            let _ = fs::remove_file(&to);
            if from.exists() {
                fs::copy(&from, &to).expect("copy the database");
            }
        }
    };
    let stopped = async |mut server: Server| {
        server.process.sigterm();
        server.api.hang_up();
        assert!(server.process.wait().await.success());
    };
    let server = Server::start(&place.url(), &[]).await;
    create(&server).await;
    append(&server).await;
    append(&server).await;
    stopped(server).await;
    copy_over("data.db", "copy.db");

    let server = Server::start(&place.url(), &[]).await;
    append(&server).await;
    let (frames, lost) = Watch::open(asked(&server, WATCH)).await.caught_up().await;
    let (kept, lost) = (frames[1].cursor(), lost.cursor());
    assert!(kept.starts_with("2-") && lost.starts_with("3-"));
    stopped(server).await;
    copy_over("copy.db", "data.db");

    let server = Server::start(&place.url(), &[]).await;
    let resumed = |cursor: &str| asked(&server, WATCH).header("last-event-id", cursor);
    let gone = resumed(&lost).await.problem(410, "position_gone");
    assert_eq!((&gone["baseRevision"], &gone["revision"]), (&json!(0), &json!(2)));
    let mut watch = live_at(resumed(&kept)).await;
    // Another event has its number.
    append(&server).await;
    assert_eq!(watch.expect("event").await.json()["sequence"], 3);
    let gone = resumed(&lost).await.problem(410, "position_gone");
    assert_eq!(gone["revision"], 3);
    drop((watch, server));
    place.finish().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_cursor_on_an_event_that_a_failover_lost_is_gone() {
    let mut pair = Pair::start().await;
    let flags = ["--sweep-interval=24h"];
    let (server, other) = (Server::start(&pair.url(), &flags).await, Server::start(&pair.url(), &flags).await);
    create(&server).await;
    append(&server).await;
    append(&server).await;
    let mut open = Watch::open(asked(&server, WATCH)).await;
    let kept = open.caught_up().await.1.cursor();
    let whole = format!("{SESSIONS}/whole");
    server.put(&whole).json(json!({"events": [{"id": "1"}]})).await.expect(201);
    let mut goes_on = live_at(asked(&server, &format!("{whole}/watch"))).await;
    pair.catch_up().await;
    pair.replication.cut();
    append(&server).await;
    let lost = open.expect("event").await.cursor();
    pair.fail_over();
    for server in [&server, &other] {
        server.get_until("/readyz", 200).await;
    }
    for server in [&server, &other] {
        let resumed = |cursor: &str| asked(server, WATCH).header("last-event-id", cursor);
        resumed(&lost).await.problem(410, "position_gone");
        live_at(resumed(&kept)).await;
    }
    // A stream that has sent what is lost does not go on as if nothing had happened, nor wait for what comes.
    loop {
        match open.part().await {
            Ok(Part::Comment(_) | Part::Retry(_)) => {}
            Ok(Part::Frame(frame)) => assert_eq!(frame.event, "bye", "{frame:?}"),
            Err(End::Whole | End::Cut) => break,
        }
    }
    // One of which nothing was lost goes on, with what the other process writes there.
    other.post(format!("{whole}/events")).json(json!({"id": "2"})).await.expect(201);
    assert_eq!(goes_on.expect("event").await.json()["id"], "2");
    // The same number again, of another event.
    append(&other).await;
    append(&other).await;
    for server in [&server, &other] {
        let resumed = |cursor: &str| asked(server, WATCH).header("last-event-id", cursor);
        resumed(&lost).await.problem(410, "position_gone");
        let mut watch = Watch::open(resumed(&kept)).await;
        let sequences: Vec<_> =
            watch.caught_up().await.0.iter().map(|frame| frame.json()["sequence"].clone()).collect();
        assert_eq!(sequences[..2], [json!(3), json!(4)]);
    }
}
