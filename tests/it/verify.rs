//! `sessiond verify` finds every fault, says where it is, and reports nothing otherwise.

use std::{process::ExitStatus, time::Duration};

use serde_json::{Value, json};

use crate::support::{
    binary::{PATIENT, Server, ended, spawn},
    client::Client,
    databases::{Place, on_both_databases},
    load::{self, Load},
    pgbouncer::PgBouncer,
    postgres::database,
    process::free_port,
};

const APP: &str = "/v1/apps/shop";
const USER: &str = "/v1/apps/shop/users/ada";
const SESSIONS: &str = "/v1/apps/shop/users/ada/sessions";

/// What every value of these tests holds, and no report.
const SECRET: &str = "hunter2";

on_both_databases!(
    a_varied_history_is_verified,
    damage_is_found_and_named,
    damaged_artifacts_are_found_and_named,
    rows_of_nobody_are_found,
    one_broken_session_does_not_fill_the_report,
    a_database_in_use_is_verified,
    what_cannot_be_verified_is_trouble,
);

/// Runs it: its status and all that it wrote.
async fn run(database_url: &str, args: &[&str]) -> (ExitStatus, String) {
    let mut process = spawn(database_url, &[args, &["verify"]].concat());
    let status = process.wait().await;
    (status, process.log())
}

/// Says nothing against the database.
async fn is_clean(database_url: &str) {
    let (status, log) = run(database_url, &[]).await;
    assert_eq!(status.code(), Some(0), "{log}");
}

/// The differences that it reports, without the summary.
async fn differences(place: &Place) -> Vec<String> {
    let (status, log) = run(&place.url(), &[]).await;
    assert!(!log.contains(SECRET), "a value of some state is in {log}");
    // How far it is, of one that takes long.
    let is_told =
        |line: &&str| line.ends_with(" so far") || line.starts_with("verified ") || line.starts_with("error: ");
    let lines: Vec<_> = log.lines().filter(|line| !is_told(line)).collect();
    let summary = format!("differences={}", lines.len());
    assert!(lines.len() >= 20 || log.lines().any(|line| line.ends_with(&summary)), "{log}");
    assert_eq!(status.code(), Some(i32::from(!lines.is_empty())), "{log}");
    lines.into_iter().map(str::to_owned).collect()
}

fn value(n: usize) -> Value {
    json!({SECRET: n})
}

/// A session with four events, which set and overwrite keys of all scopes.
async fn create(api: &Client, sessions: &str, id: &str) {
    create_with(api, sessions, id, 0).await;
}

async fn create_with(api: &Client, sessions: &str, id: &str, more: usize) {
    let state = json!({"a": value(0), "b": value(0), "user:u": value(0), "app:x": value(0)});
    api.post(sessions).json(json!({"sessionId": id, "state": state})).await.expect(201);
    let events = format!("{sessions}/{id}/events");
    for n in 1..=4 {
        let value = value(n + more);
        let delta = json!({"a": value, "user:u": value, "app:x": value});
        let event = json!({"id": format!("e{n}"), "timestamp": n, "author": "a", "actions": {"stateDelta": delta}});
        api.post(&events).json(&event).await.expect(201);
    }
}

async fn histories(api: &Client) {
    create(api, SESSIONS, "s1").await;
    let other = "/v1/apps/a%2Fb/users/%F0%9F%98%80%20%22x%22/sessions";
    create(api, other, "s").await;
    let (events, state) = (format!("{SESSIONS}/s1/events"), format!("{SESSIONS}/s1/state"));
    let set = |key: &str, n| json!({"author": "a\0b\\", "branch": "x\\0", "actions": {"stateDelta": {key: value(n)}}});
    // Several events of one request, which write the same keys.
    api.post(&events)
        .json(json!([set("user:u", 5), set("a", 5), set("user:u", 6), set("a", 6), set("c", 6)]))
        .await
        .expect(201);
    api.patch(&state)
        .json(json!({"stateDelta": {"d": null}, "stateOps": [{"op": "remove", "key": "user:u"},
        {"op": "remove", "key": "a"}, {"op": "remove", "key": "never"}, {"op": "remove", "key": "app:never"}]}))
        .await
        .expect(200);
    api.post(&events)
        .json(json!([set("user:u", 7), set("a", 7), {"author": "a", "content": {"parts": [{"text": "t"}]}}]))
        .await
        .expect(201);
    api.put(format!("{state}/e")).json(json!(1.0)).await.expect(200);
    api.delete(format!("{state}/e")).await.expect(204);
    api.delete(format!("{state}/app:x")).await.expect(204);
    api.post(format!("{events}?outputKey=out")).json(json!({"content": {"parts": [{"text": "hi"}]}})).await.expect(201);
    api.patch(format!("{USER}/state")).json(json!({"stateDelta": {"v": 1, "w": "\u{0}"}})).await.expect(200);
    api.patch(format!("{APP}/state")).json(json!({"stateDelta": {"v": 1}})).await.expect(200);
    api.patch(format!("{APP}/users/only/state")).json(json!({"stateDelta": {"": 1}})).await.expect(200);
    api.patch(format!("{SESSIONS}/s1")).json(json!({"displayName": "n", "labels": {"a": "b"}})).await.expect(200);
    let ops = json!([{"op": "increment", "key": "n", "value": 1.50}, {"op": "append", "key": "user:l", "value": [1]},
        {"op": "union", "key": "app:l", "value": [1, 1.0]}, {"op": "merge", "key": "m", "value": {"a": 1, "b": null}},
        {"op": "max", "key": "app:x", "value": 1}, {"op": "remove", "key": "b"}, {"op": "set", "key": "b", "value": null},
        {"op": "set", "key": "gone", "value": 1}, {"op": "remove", "key": "gone"}, {"op": "remove", "key": "user:v"}]);
    let operators = json!({"author": "a", "actions": {"stateDelta": {"n": 1, "user:v": 1}, "stateOps": ops}});
    for _ in 0..3 {
        api.post(&events).json(json!([operators, operators])).await.expect(201);
        api.patch(format!("{APP}/state"))
            .json(json!({"stateOps": [{"op": "increment", "key": "x", "value": 1}]}))
            .await
            .expect(200);
    }
    let remove = json!({"stateOps": [{"op": "remove", "key": "x"}, {"op": "remove", "key": "never"}]});
    api.patch(format!("{APP}/state")).json(&remove).await.expect(200);
    api.patch(format!("{APP}/state")).json(&remove).await.expect(200);
    forks(api, "s1", 12).await;
    // Larger than a page, in one value and in all.
    api.put(format!("{state}/large")).json(json!("x".repeat(3_000_000))).await.expect(200);
    api.put(format!("{state}/large")).json(json!("y".repeat(3_000_000))).await.expect(200);
    for round in 0..3 {
        let batch: Vec<_> = (0..400).map(|n| set(&format!("k{n}"), round)).collect();
        api.post(&events).json(json!(batch)).await.expect(201);
    }
    // With events of its own; never written to; gone; gone and back; expired.
    let created = json!({"sessionId": "c", "state": {"user:u": 0, "k": 0}, "events": [set("user:u", 1), set("k", 1), set("k", 2)]});
    api.post(SESSIONS).json(&created).await.expect(201);
    api.put(format!("{SESSIONS}/empty")).json(json!({})).await.expect(201);
    for id in ["gone", "back"] {
        create(api, SESSIONS, id).await;
        api.delete(format!("{SESSIONS}/{id}")).await.expect(204);
    }
    create(api, SESSIONS, "back").await;
    api.post(SESSIONS).json(json!({"sessionId": "expired", "ttl": 0.001, "state": {"k": 1}})).await.expect(201);
}

async fn a_varied_history_is_verified(place: Place) {
    // Little is swept: most of what was deleted, or has expired, is still there.
    let server = Server::start(&place.url(), &[PATIENT, &["--sweep-interval=24h"]].concat()).await;
    histories(&server).await;
    assert_eq!(differences(&place).await, Vec::<String>::new());
    drop(server);
    let (status, log) = run(&place.url(), &[]).await;
    assert_eq!(status.code(), Some(0), "{log}");
    // A deletion asks for a sweep, which may have come late enough to take the one that has expired.
    assert!(log.contains("verified sessions=45 events=") || log.contains("verified sessions=44 "), "{log}");
}

/// Forks at every revision, and of forks; rewinds in them, and forks of what was rewound.
async fn forks(api: &Client, source: &str, revisions: i64) {
    for at in 0..=revisions {
        let id = format!("fork{at}");
        let path = format!("{SESSIONS}/{id}");
        api.post(format!("{SESSIONS}/{source}/fork"))
            .json(json!({"atRevision": at, "sessionId": id}))
            .await
            .expect(201);
        let event =
            json!({"invocationId": "i", "actions": {"stateDelta": {"a": 1, "new": 1, "user:u": value(9), "app:x": 9}}});
        api.post(format!("{path}/events")).json(&event).await.expect(201);
        api.post(format!("{path}/rewind")).json(json!({"toRevision": at / 2})).await.expect(200);
        api.post(format!("{path}/fork")).json(json!({})).await.expect(201);
        api.post(format!("{path}/rewind")).json(json!({"beforeInvocationId": "i"})).await.expect(200);
        api.post(format!("{path}/events"))
            .json(json!({"actions": {"rewindBeforeInvocationId": "unknown"}}))
            .await
            .expect(201);
        api.post(format!("{path}/fork")).json(json!({"atRevision": at + 1})).await.expect(201);
    }
}

/// Each kind of damage, in a session and a user of its own, one on top of the other.
async fn damage_is_found_and_named(place: Place) {
    let server = Server::start(&place.url(), PATIENT).await;
    let of = |n: usize| format!("/v1/apps/a{n}/users/ada/sessions");
    let damages = [
        ("delete from events where {session} and sequence = 2", &["session: event 2 is missing"][..]),
        (
            "update events set body = replace(body, '\"a\":{', '\"b\":{') where {session} and sequence = 1",
            &["session: event 1: the digest of the body is not the one that was stored with it"],
        ),
        (
            "update events set body = twin.body, digest = twin.digest from (select body, digest from events \
               where app_name = 'twin' and sequence = 4) as twin where {session} and sequence = 4",
            &[
                "session: key \"a\": the state has not the value of event 4",
                "session: key \"user:u\": the user log has another value for what an event did to it at revision 5",
            ],
        ),
        (
            "update session_state set value = '0' where {session} and key = 'a'",
            &["session: key \"a\": the state has not the value of event 4"],
        ),
        (
            "insert into session_state select app_name, user_id, session_id, incarnation, 'z', value, revision \
               from session_state where {session} and key = 'a'",
            &["session: key \"z\": it is in the state, and should not be"],
        ),
        ("update sessions set revision = 5 where app_name = '{app}'", &["session: event 5 is missing"]),
        ("update sessions set revision = 3 where app_name = '{app}'", &["session: event 4 is not one of 1 to 3"]),
        (
            "update user_state set value = '0' where app_name = '{app}' and key = 'u'",
            &["user: key \"u\": the state has not the value that the log has at revision 5"],
        ),
        (
            "delete from app_state where app_name = '{app}' and key = 'x'",
            &["app: key \"x\": the state lacks it, and the log has it at revision 5"],
        ),
        (
            "delete from user_log where app_name = '{app}' and revision = 3",
            &[
                "session: key \"user:u\": the user log lacks what an event did to it at revision 3",
                "user: revisions that are not in the log: 1, the first of them 3",
            ],
        ),
        (
            "delete from session_spans where {session} and valid_from = 2",
            &["session: key \"a\": its span from 2 to 3 is missing"],
        ),
        (
            "update session_spans set value = '0' where {session} and valid_from = 1",
            &["session: key \"a\": its span from 1 to 2 has another value"],
        ),
        (
            "update session_spans set removed = true where {session} and valid_from = 1",
            &["session: key \"a\": its span from 1 to 2 has another end"],
        ),
        (
            "insert into session_spans select app_name, user_id, session_id, incarnation, 64, key, 63, 65, removed, value \
               from session_spans where {session} and valid_from = 1",
            &["session: spans without a value that was overwritten or removed: 1"],
        ),
        (
            "delete from user_spans where app_name = '{app}' and valid_from = 2",
            &["user: key \"u\": its span from 2 to 3 is missing"],
        ),
        (
            "update app_spans set valid_to = 9 where app_name = '{app}' and valid_from = 2",
            &["app: key \"x\": its span from 2 to 3 has other bounds"],
        ),
        (
            "update user_scopes set revision = 4 where app_name = '{app}'",
            &[
                "session: event 4: user_revision is 5, and the user state is at 4",
                "user: key \"u\": the log has revision 5, not one of 1 to 4",
            ],
        ),
        ("delete from app_scopes where app_name = '{app}'", &["app: its row of the scope's revision is missing"]),
        (
            "update events set author = 'b' where {session} and sequence = 1",
            &["session: event 1: the author of the body is not the one that was stored with it"],
        ),
        (
            "update sessions set update_time = 70000000 where app_name = '{app}'",
            &[
                "session: the update time is not that of the last event, or of the creation",
                "session: the list by last update does not have it at its update time",
                "session: the list by last update has it at a time that is not its own",
            ],
        ),
        (
            "insert into session_updates select app_name, user_id, id, rough, place + 1 from session_updates \
             where app_name = '{app}'",
            &["session: the list by last update has it at a time that is not its own"],
        ),
        (
            "update sessions set lease_owner = 'o' where app_name = '{app}'",
            &["session: the columns of the lease do not agree"],
        ),
        (
            "delete from session_updates where app_name = '{app}'",
            &["session: the list by last update does not have it at its update time"],
        ),
    ];
    for n in 0..damages.len() {
        create(&server, &of(n), "s").await;
    }
    // The same events with other values.
    let twin = "/v1/apps/twin/users/ada/sessions";
    create_with(&server, twin, "s", 1).await;

    let mut before = differences(&place).await;
    assert_eq!(before, Vec::<String>::new());
    for (n, (sql, found)) in damages.iter().enumerate() {
        let app = format!("a{n}");
        let session = format!("app_name = '{app}' and user_id = 'ada' and session_id = 's'");
        place.execute(sql.replace("{session}", &session).replace("{app}", &app)).await;
        let after = differences(&place).await;
        let new: Vec<_> = after.iter().filter(|line| !before.contains(line)).collect();
        for line in *found {
            let (kind, what) = line.split_once(": ").unwrap();
            let subject = match kind {
                "session" => format!("session {app}/ada/s"),
                "user" => format!("user {app}/ada"),
                _ => format!("app {app}"),
            };
            assert!(new.contains(&&format!("{subject}: {what}")), "{sql}: no {line:?} in {new:#?}");
        }
        let strange =
            new.iter().find(|line| !line.contains(&format!(" {app}/ada")) && !line.contains(&format!("app {app}: ")));
        assert!(strange.is_none(), "{sql}: {strange:?}");
        before = after;
    }
}

/// Each kind of damage to artifacts, in a session and a user of its own, one on top of the other.
async fn damaged_artifacts_are_found_and_named(place: Place) {
    let server = Server::start(&place.url(), PATIENT).await;
    let damages: [(&str, &[(&str, &str)]); 20] = [
        (
            "delete from artifact_state where {session} and name = 'f'",
            &[("session", "artifact \"f\": what event 5 names is lacking")],
        ),
        (
            "update artifact_state set version = 7 where {session} and name = 'f'",
            &[("session", "artifact \"f\": it has not the version, or not the revision, of event 5")],
        ),
        (
            "insert into artifact_state select app_name, user_id, session_id, incarnation, 'z', 0, 4 from artifact_state \
             where {session} and name = 'f'",
            &[("session", "artifact \"z\": no event names it at revision 4")],
        ),
        (
            "delete from artifact_spans where {session} and valid_from = 3",
            &[("session", "artifact \"f\": its span from 3 to 5 is missing")],
        ),
        (
            "update artifact_spans set version = 5 where {session} and valid_from = 3",
            &[("session", "artifact \"f\": its span from 3 to 5 has other bounds, or another version")],
        ),
        (
            "update artifact_spans set valid_to = 5 where {session} and valid_to = 3",
            &[("session", "artifact \"f\": no event ends its span to 5")],
        ),
        (
            "insert into artifact_spans select app_name, user_id, session_id, incarnation, 64, name, 63, 65, version \
             from artifact_spans where {session} and valid_from = 3",
            &[("session", "spans of versions of artifacts: 2, where events ended 1")],
        ),
        (
            "update artifact_names set next = 2 where {session} and name = 'f'",
            &[("session", "artifact f: the next version is to be 2, which has been used")],
        ),
        (
            "update artifact_names set versions = 9 where {session} and name = 'f'",
            &[("session", "artifact f: 9 versions are counted, and there are 3")],
        ),
        (
            "update artifact_names set latest = null where {session} and name = 'f'",
            &[("session", "artifact f: the latest version is 2, and none is noted")],
        ),
        (
            "delete from artifact_names where {session} and name = 'f'",
            &[
                ("session", "artifact f version 0: the row of its name is missing"),
                ("session", "artifact f version 2: the row of its name is missing"),
            ],
        ),
        (
            "update artifact_places set versions = 9 where {session}",
            &[("session", "9 versions of artifacts are counted, and there are 4")],
        ),
        (
            "delete from artifact_places where app_name = '{app}' and session_id = ''",
            &[("user", "artifact user%3Au: nothing counts the versions of its session or user")],
        ),
        (
            "update artifacts set kind = 'uri' where {session} and name = 'text'",
            &[("session", "artifact text version 0: it does not have what its kind has")],
        ),
        ("update blobs set versions = 3 where {f}", &[("user", "1 versions hold it, and 3 are counted")]),
        ("update blobs set loose_since = 1 where {f}", &[("user", "it is noted as loose, and 1 versions hold it")]),
        (
            "update blobs set size = 1 where {f}",
            &[
                ("session", "artifact f version 0: there are 1 bytes, and not 300000"),
                ("user", "its chunks have 300000 bytes, and not 1"),
            ],
        ),
        (
            "delete from blobs where {f}",
            &[
                ("session", "artifact f version 0: the database has no bytes of it"),
                ("user", "there are chunks of it, and it is not there"),
            ],
        ),
        ("delete from blob_chunks where n = 0 and {chunks}", &[("user", "a chunk of it is missing")]),
        ("delete from blob_chunks where {chunks}", &[("user", "it has no chunks")]),
    ];
    for n in 0..damages.len() {
        let session = format!("/v1/apps/a{n}/users/ada/sessions/s");
        server.put(&session).json("{}").await.expect(201);
        let put = async |name: &str, bytes: Vec<u8>| {
            server.put(format!("{session}/artifacts/{name}")).body("a/b", bytes).await.expect(201)
        };
        put("f", vec![b'x'; 300_000]).await;
        server.post(format!("{session}/events")).json("{}").await.expect(201);
        put("f", b"1".to_vec()).await;
        server.post(format!("{session}/events")).json("{}").await.expect(201);
        put("f", b"2".to_vec()).await;
        put("user:u", b"u".to_vec()).await;
        let text = json!({"name": "text", "part": {"text": SECRET}, "event": "none"});
        server.post(format!("{session}/artifacts")).json(text).await.expect(201);
        server.post(format!("{session}/trim")).json(json!({"beforeSequence": 3})).await.expect(200);
    }
    let mut before = differences(&place).await;
    assert_eq!(before, Vec::<String>::new());
    for (n, (sql, found)) in damages.iter().enumerate() {
        let app = format!("a{n}");
        let session = format!("app_name = '{app}' and user_id = 'ada' and session_id = 's'");
        let blob = format!("(select blob from artifacts where app_name = '{app}' and name = 'f' and version = 0)");
        let sql = sql.replace("{session}", &session).replace("{app}", &app);
        let sql = sql.replace("{f}", &format!("app_name = '{app}' and id = {blob}"));
        place.execute(sql.replace("{chunks}", &format!("app_name = '{app}' and blob = {blob}"))).await;
        let after = differences(&place).await;
        let new: Vec<_> = after.iter().filter(|line| !before.contains(line)).collect();
        for (kind, what) in *found {
            let subject =
                if *kind == "session" { format!("session {app}/ada/s: ") } else { format!("user {app}/ada: ") };
            let is_it = |line: &&&String| line.starts_with(&subject) && line.ends_with(what);
            assert!(new.iter().any(|line| is_it(&line)), "{sql}: no {what:?} in {new:#?}");
        }
        let strange = new.iter().find(|line| !line.contains(&format!(" {app}/ada")));
        assert!(strange.is_none(), "{sql}: {strange:?}");
        before = after;
    }
}

async fn rows_of_nobody_are_found(place: Place) {
    let server = Server::start(&place.url(), PATIENT).await;
    create(&server, SESSIONS, "s").await;
    place
        .execute(
            "insert into events select app_name, user_id, session_id, 7, sequence, id, event_time, commit_time, author, \
               invocation_id, branch, user_revision, app_revision, effect, digest, body, redaction from events; \
             insert into session_state select app_name, user_id, 't', incarnation, key, value, revision \
               from session_state; \
             insert into session_spans select app_name, user_id, session_id, 8, node, key, valid_from, valid_to, removed, value \
               from session_spans; \
             insert into user_log (app_name, user_id, key, revision) values ('shop', 'eve', 'k', 1); \
             insert into session_updates (app_name, user_id, id, place) values ('shop', 'eve', 'u', 7)",
        )
        .await;
    let found = differences(&place).await;
    let incarnation = found[2].split(' ').nth(5).unwrap().trim_end_matches(',');
    assert_eq!(
        found,
        [
            "user shop/eve: its row of the scope's revision is missing",
            "session shop/ada/s: events of incarnation 7, which is not there",
            &format!("session shop/ada/t: state of incarnation {incarnation}, which is not there"),
            "session shop/ada/s: spans of past values of incarnation 8, which is not there",
            "session shop/eve/u: the list by last update has it at a time that is not its own",
        ]
    );
    // What was deleted and is yet to be swept is nobody's either, and in order.
    place
        .execute(
            "insert into buried_sessions values ('shop', 'ada', 's', 7, null), ('shop', 'ada', 's', 8, null); \
             delete from session_state where session_id = 't'; delete from user_log where user_id = 'eve'; \
             delete from session_updates where user_id = 'eve'",
        )
        .await;
    assert_eq!(differences(&place).await, Vec::<String>::new());
}

async fn one_broken_session_does_not_fill_the_report(place: Place) {
    let server = Server::start(&place.url(), PATIENT).await;
    for id in ["s1", "s2"] {
        create(&server, SESSIONS, id).await;
    }
    let batch: Vec<_> = (0..100).map(|n| json!({"id": format!("b{n}")})).collect();
    server.post(format!("{SESSIONS}/s1/events")).json(json!(batch)).await.expect(201);
    place.execute("update events set author = 'x' where session_id = 's1' or sequence = 1").await;
    let found = differences(&place).await;
    assert_eq!(found.len(), 22, "{found:#?}");
    assert_eq!(found[20], "session shop/ada/s1: 84 more differences");
    assert!(found[21].starts_with("session shop/ada/s2: event 1: "), "{found:#?}");
}

/// Writers, and those who create, fork, rewind, delete and expire sessions meanwhile: nothing is reported that is not so.
///
/// So much is written beside each verification, and no more, however long it takes: on a slow machine it has no more to
/// read than on a fast one.
async fn a_database_in_use_is_verified(place: Place) {
    const ROUNDS: usize = 5;
    const WRITES: usize = 20;
    const CHURNS: usize = 4;
    let server = Server::start(&place.url(), &[PATIENT, &["--sweep-interval=20ms"]].concat()).await;
    load::create_sessions(&server).await;
    let url = place.url();
    for round in 0..ROUNDS {
        let load = Load::start_paced(&server, &format!("live{round}"), WRITES, Duration::from_millis(30));
        let churning = async {
            for n in round * CHURNS..(round + 1) * CHURNS {
                churn(&server, n).await;
                tokio::time::sleep(Duration::from_millis(100)).await;
            }
        };
        tokio::join!(is_clean(&url), churning);
        load.stop().await;
    }
    is_clean(&url).await;
}

async fn churn(api: &Client, n: usize) {
    let id = format!("s{}", n % 3);
    create(api, SESSIONS, &id).await;
    api.post(SESSIONS).json(json!({"ttl": 0.01, "events": [{"id": "e"}]})).await.expect(201);
    let busy = format!("/v1/apps/load/users/u/sessions/s{}", n % 2);
    let fork = api.post(format!("{busy}/fork")).json(json!({})).await.expect(201);
    let fork = fork.header("location").unwrap().to_owned();
    for path in [&fork, &busy] {
        let rewound = api.post(format!("{path}/rewind")).json(json!({"toRevision": n})).await;
        assert!([200, 422].contains(&rewound.status), "{rewound:?}");
    }
    let remove = json!({"stateOps": [{"op": "remove", "key": "w3"}]});
    api.patch("/v1/apps/load/users/u/state").json(&remove).await.expect(200);
    api.delete(format!("{SESSIONS}/{id}")).await.expect(204);
}

async fn what_cannot_be_verified_is_trouble(place: Place) {
    let trouble = async |url: &str, says: &str| {
        let (status, log) = run(url, &[]).await;
        assert_eq!(status.code(), Some(2), "{log}");
        assert!(log.contains("error: ") && log.contains(says), "{log}");
    };
    trouble("mysql://nowhere", "must begin with sqlite:// or postgres://").await;
    match &place {
        Place::Sqlite(dir) => {
            trouble(&place.url(), "there is no file").await;
            assert_eq!(std::fs::read_dir(dir).unwrap().count(), 0, "nothing was created");
            std::fs::write(dir.join("data.db"), "no database, but long enough to be taken for one".repeat(100))
                .unwrap();
            trouble(&place.url(), "not a database").await;
            std::fs::write(dir.join("data.db"), "").unwrap();
        }
        Place::Postgres(_) => {
            trouble(&format!("postgres://postgres@127.0.0.1:{}/x", free_port()), "cannot be reached").await;
        }
    }
    trouble(&place.url(), "migrations are pending: run `sessiond migrate`").await;
    let mut migrate = spawn(&place.url(), &["migrate"]);
    assert_eq!(migrate.wait().await.code(), Some(0), "{}", migrate.log());
    is_clean(&place.url()).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_backup_is_verified() {
    let place = Place::sqlite();
    let server = Server::start(&place.url(), PATIENT).await;
    histories(&server).await;
    let Place::Sqlite(dir) = &place else { panic!("it is SQLite") };
    let backup = dir.join("backup.db");
    let (status, log) = ended(&place.url(), &["backup", "--verify", backup.to_str().unwrap()]).await;
    assert!(status.success() && log.contains("differences=0"), "{log}");
    is_clean(&format!("sqlite://{}", backup.display())).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn pgbouncer_in_between_changes_nothing() {
    let database = database().await;
    let bouncer = PgBouncer::start(&database.url);
    let server = Server::start(&database.url, PATIENT).await;
    histories(&server).await;
    let url = bouncer.url(database.url.rsplit('/').next().unwrap());
    let mut both: Vec<_> = (0..2).map(|_| spawn(&url, &["verify", "--pgbouncer"])).collect();
    for process in &mut both {
        assert_eq!(process.wait().await.code(), Some(0), "{}", process.log());
    }
}

/// A planner that does not know how many events a session has must not go through all of them for each page.
#[tokio::test(flavor = "multi_thread")]
async fn a_long_session_is_read_once() {
    const EVENTS: i64 = 4000;
    let place = Place::Postgres(database().await);
    let server = Server::start(&place.url(), PATIENT).await;
    server.post(SESSIONS).json(json!({"sessionId": "long"})).await.expect(201);
    for batch in 0..EVENTS / 1000 {
        let event = |n: i64| json!({"author": "a", "actions": {"stateDelta": {"k": n, "user:k": n}}});
        let events: Vec<Value> = (0..1000).map(|n| event(1000 * batch + n)).collect();
        server.post(format!("{SESSIONS}/long/events")).json(json!(events)).await.expect(201);
    }
    drop(server);
    // What processes have counted that ended; a connection that stays tells it later.
    let read = async |table: &str| {
        let sql = format!(
            "select coalesce(sum(idx_tup_fetch), 0)::bigint from pg_stat_user_tables where relname = '{table}'"
        );
        place.number(&sql).await
    };
    tokio::time::sleep(Duration::from_secs(1)).await;
    let tables = ["events", "session_spans", "user_log"];
    let mut before = Vec::new();
    for table in tables {
        before.push(read(table).await);
    }
    is_clean(&place.url()).await;
    tokio::time::sleep(Duration::from_secs(1)).await;
    for (table, before) in tables.into_iter().zip(before) {
        let rows = read(table).await - before;
        assert!(rows < 20 * EVENTS, "{rows} rows of {table}");
    }
    assert!(read("events").await > 0);
    place.finish().await;
}
