//! The change feed: one sequence of committed changes, for every reader and every process.

use std::collections::BTreeSet;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use futures_util::future::join_all;
use serde_json::{Value, json};
use sqlx::{Connection as _, PgConnection};

use crate::contract::access::Guarded;
use crate::support::binary::Server;
use crate::support::client::{Client, EVENTS, ONE, Request, S};
use crate::support::databases::{Fixture as _, Place, on_both_databases};
use crate::support::server::TestServer;
use crate::support::sse::Watch;

const ALL: &str = "/v1/feed";
const APP: &str = "/v1/apps/app/feed";
const USER: &str = "/v1/apps/app/users/user/feed";
const FED: &str = "--feed-retention=1h";

/// All changes behind a position, in pages of this size, and the position behind them.
async fn read(server: &Client, feed: &str, after: &str, page: usize) -> (Vec<Value>, String) {
    let (mut changes, mut position) = (Vec::new(), after.to_owned());
    loop {
        let answer = server.get(format!("{feed}?after={position}&pageSize={page}")).await.expect(200).json();
        let found = answer["changes"].as_array().expect("changes");
        assert!(found.len() <= page, "{answer}");
        changes.extend(found.iter().cloned());
        position = answer["position"].as_str().expect("a position").to_owned();
        if answer["upToDate"] == json!(true) {
            return (changes, position);
        }
    }
}

/// What a reader gets who waits until there are so many changes.
async fn wait_for(server: &Client, feed: &str, after: &str, count: usize) -> (Vec<Value>, String) {
    let (mut changes, mut position) = (Vec::new(), after.to_owned());
    while changes.len() < count {
        let answer = server.get(format!("{feed}?after={position}&wait=20")).await.expect(200).json();
        let found = answer["changes"].as_array().expect("changes");
        assert!(!found.is_empty() || answer["upToDate"] == json!(false), "{count} changes, but there are {changes:?}");
        changes.extend(found.iter().cloned());
        position = answer["position"].as_str().expect("a position").to_owned();
    }
    assert_eq!(changes.len(), count, "{changes:?}");
    (changes, position)
}

async fn now(server: &Client) -> String {
    server.get(format!("{ALL}?after=now")).await.expect(200).json()["position"].as_str().expect("a position").to_owned()
}

/// What is left of a change without what differs from run to run.
fn core(change: &Value) -> Value {
    let mut change = change.clone();
    let object = change.as_object_mut().expect("an object");
    for key in ["position", "time", "subject", "incarnation", "events", "erasureId"] {
        object.remove(key);
    }
    change
}

fn stream(server: &Client, feed: &str, query: &str) -> Request {
    server.get(format!("{feed}{query}")).header("accept", "text/event-stream")
}

on_both_databases! {
    async fn every_kind_of_change_is_told_in_the_order_of_commits(server: &TestServer) with ["--feed-retention=1h"] {
        let start = now(server).await;
        server.create(r#"{"state":{"a":1},"events":[{"author":"user"}]}"#).await;
        server.append(r#"[{"author":"agent","actions":{"stateDelta":{"x":1,"user:u":1,"app:p":1}}},{"author":"agent","actions":{"stateDelta":{"user:u":2}}}]"#).await;
        server.append_ops(r#"[{"op":"remove","key":"user:u"}]"#).await;
        server.patch(ONE).json(json!({"displayName": "one", "labels": {"l": "v"}})).await.expect(200);
        server.patch("/v1/apps/app/state").json(json!({"stateDelta": {"q": [1.0]}})).await.expect(200);
        server.post(format!("{ONE}/fork")).json(json!({"sessionId": "f", "atRevision": 2})).await.expect(201);
        server.post(format!("{ONE}/trim")).json(json!({"keepLast": 1})).await.expect(200);
        server.delete(format!("{S}/f")).await.expect(204);
        server.post(format!("{S}/c/events?create=true")).json(r#"[{"author":"user"},{"author":"user"}]"#).await.expect(201);
        let of = |kind: &str, rest: Value| {
            let mut change = json!({"kind": kind, "appName": "app", "userId": "user"});
            change.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
            change
        };
        let expected = [
            of("session.created", json!({"sessionId": "s", "revision": 1})),
            of("events", json!({"sessionId": "s", "firstSequence": 1, "lastSequence": 1, "gone": true})),
            of("events", json!({"sessionId": "s", "firstSequence": 2, "lastSequence": 3, "gone": true})),
            of("user.state", json!({"firstRevision": 1, "revision": 1, "set": {"u": 2}, "removed": []})),
            json!({"kind": "app.state", "appName": "app", "firstRevision": 1, "revision": 1, "set": {"p": 1}, "removed": []}),
            of("events", json!({"sessionId": "s", "firstSequence": 4, "lastSequence": 4})),
            of("user.state", json!({"firstRevision": 2, "revision": 2, "set": {}, "removed": ["u"]})),
            of("session.updated", json!({"sessionId": "s", "metadata": {"displayName": "one", "labels": {"l": "v"}, "expireTime": null}})),
            json!({"kind": "app.state", "appName": "app", "firstRevision": 2, "revision": 2, "set": {"q": [1.0]}, "removed": []}),
            of("session.created", json!({"sessionId": "f", "revision": 2, "forkedFrom": {"sessionId": "s", "revision": 2}})),
            of("events", json!({"sessionId": "f", "firstSequence": 1, "lastSequence": 2, "gone": true})),
            of("session.trimmed", json!({"sessionId": "s", "baseRevision": 3})),
            of("session.deleted", json!({"sessionId": "f", "reason": "deleted"})),
            of("session.created", json!({"sessionId": "c", "revision": 0})),
            of("events", json!({"sessionId": "c", "firstSequence": 1, "lastSequence": 2})),
        ];
        let (changes, end) = wait_for(server, ALL, &start, expected.len()).await;
        assert_eq!(changes.iter().map(core).collect::<Vec<_>>(), expected);
        // Events are those of the log, byte for byte, and what is not there any more is said to be gone.
        let last = &changes[5];
        let stored = server.get(EVENTS).await.expect(200).json();
        assert_eq!(last["events"], stored["events"]);
        assert_eq!(changes[1]["events"], json!([]));
        // The same of narrower feeds, and their positions go on in each other.
        assert_eq!(read(server, APP, &start, 100).await.0, changes);
        let of_user: Vec<Value> = changes.iter().filter(|change| change["kind"] != "app.state").cloned().collect();
        assert_eq!(read(server, USER, &start, 3).await.0, of_user);
        let middle = changes[6]["position"].as_str().unwrap();
        assert_eq!(read(server, APP, middle, 2).await.0, changes[7..]);
        assert_eq!(read(server, USER, middle, 100).await.0, of_user[6..]);
        assert_eq!(read(server, "/v1/apps/app/users/other/feed", &start, 100).await.0, [] as [Value; 0]);
        assert_eq!(read(server, "/v1/apps/other/feed", &start, 100).await.0, [] as [Value; 0]);
        assert_eq!(read(server, ALL, &end, 100).await, (vec![], end));
        // Kinds, and without contents.
        let kinds = server.get(format!("{ALL}?after={start}&kinds=session.deleted,app.state&include=none")).await.expect(200).json();
        let found: Vec<&str> = kinds["changes"].as_array().unwrap().iter().map(|change| change["kind"].as_str().unwrap()).collect();
        assert_eq!(found, ["app.state", "app.state", "session.deleted"]);
        assert!(kinds["changes"][0].get("set").is_none(), "{kinds}");
    }

    async fn artifacts_are_told_of(server: &TestServer) with ["--feed-retention=1h", "--sweep-interval=1s"] {
        const FILES: &str = "/v1/apps/app/users/user/sessions/s/artifacts";
        const OF_USER: &str = "/v1/apps/app/users/user/artifacts";
        server.create("{}").await;
        let start = now(server).await;
        let put = |path: String, text: &'static str| server.put(path).body("a/b", text);
        let event = |n: i64| json!({"kind": "events", "appName": "app", "userId": "user", "sessionId": "s", "firstSequence": n, "lastSequence": n});
        let of_session = |kind: &str, rest: Value| {
            let mut change = json!({"kind": kind, "appName": "app", "userId": "user", "sessionId": "s", "name": "f"});
            change.as_object_mut().unwrap().extend(rest.as_object().unwrap().clone());
            change
        };
        let of_user = |kind: &str, rest: Value| {
            let mut change = of_session(kind, rest);
            change["name"] = json!("user:u");
            change.as_object_mut().unwrap().remove("sessionId");
            change
        };
        // With an event and without, of a user from both paths, of an address; a retry is told once, and a refusal not at all.
        put(format!("{FILES}/f"), "abc").await.expect(201);
        put(format!("{FILES}/f?event=none"), "").await.expect(201);
        put(format!("{OF_USER}/u"), "u").header("idempotency-key", "k").await.expect(201);
        put(format!("{OF_USER}/u"), "u").header("idempotency-key", "k").await.expect(200);
        put(format!("{OF_USER}/u"), "u").header("if-match", "\"7\"").await.problem(412, "revision_mismatch");
        put(format!("{FILES}/user:u?event=none&version=5"), "uu").await.expect(201);
        let address = json!({"name": "f", "part": {"fileData": {"fileUri": "gs://a/b"}}, "event": "none"});
        server.post(FILES).json(address).await.expect(201);
        server.delete(format!("{FILES}/f?version=0")).await.expect(204);
        server.delete(format!("{FILES}/f?version=0")).await.expect(204);
        server.delete(format!("{FILES}/f?version=2")).await.expect(204);
        server.delete(format!("{FILES}/user:u")).await.expect(204);
        server.delete(format!("{FILES}/none")).await.expect(204);
        let mut expected = vec![
            of_session("artifact.saved", json!({"version": 0, "size": 3})),
            event(1),
            of_session("artifact.saved", json!({"version": 1, "size": 0})),
            of_user("artifact.saved", json!({"version": 0, "size": 1})),
            of_user("artifact.saved", json!({"version": 5, "size": 2})),
            of_session("artifact.saved", json!({"version": 2})),
            of_session("artifact.deleted", json!({"version": 0, "size": 3, "reason": "deleted"})),
            of_session("artifact.deleted", json!({"version": 2, "reason": "deleted"})),
            of_user("artifact.deleted", json!({"reason": "deleted"})),
        ];
        let (changes, _) = wait_for(server, USER, &start, expected.len()).await;
        assert_eq!(changes.iter().map(core).collect::<Vec<_>>(), expected);
        // As of the session's other changes.
        assert_eq!(changes[0]["incarnation"], changes[1]["incarnation"]);
        assert!(changes[0]["incarnation"].is_string() && changes[3].get("incarnation").is_none());
        assert_eq!(changes[3]["subject"], changes[0]["subject"]);

        // By a rewind: what it restores and what it takes back.
        put(format!("{FILES}/f"), "xy").await.expect(201);
        put(format!("{FILES}/f"), "z").await.expect(201);
        server.post(format!("{ONE}/rewind")).json(json!({"toRevision": 2})).await.expect(200);
        server.post(format!("{ONE}/rewind")).json(json!({"toRevision": 0})).await.expect(200);
        expected.extend([
            of_session("artifact.saved", json!({"version": 3, "size": 2})),
            event(2),
            of_session("artifact.saved", json!({"version": 4, "size": 1})),
            event(3),
            of_session("artifact.saved", json!({"version": 5, "size": 2})),
            event(4),
            of_session("artifact.deleted", json!({"version": 6, "reason": "rewound"})),
            event(5),
        ]);
        // A fork has its versions with it, and a deletion takes them along.
        server.post(format!("{ONE}/fork")).json(json!({"sessionId": "t", "atRevision": 3})).await.expect(201);
        server.delete(format!("{S}/t")).await.expect(204);
        let of_fork = |kind: &str, rest: Value| {
            let mut change = of_session(kind, rest);
            change["sessionId"] = json!("t");
            change.as_object_mut().unwrap().remove("name");
            change
        };
        expected.extend([
            of_fork("session.created", json!({"revision": 3, "forkedFrom": {"sessionId": "s", "revision": 3}})),
            of_fork("events", json!({"firstSequence": 1, "lastSequence": 3, "gone": true})),
            of_fork("session.deleted", json!({"reason": "deleted"})),
        ]);
        let (changes, end) = wait_for(server, APP, &start, expected.len()).await;
        assert_eq!(changes.iter().map(core).collect::<Vec<_>>(), expected);

        // By a policy.
        server.put("/v1/apps/app/policy").json(json!({"artifacts": {"keepVersions": 2}})).await.expect(200);
        let (outdated, end) = wait_for(server, ALL, &end, 1).await;
        assert_eq!(core(&outdated[0]), of_session("artifact.deleted", json!({"throughVersion": 4, "reason": "retention"})));
        let kinds = server.get(format!("{ALL}?after={start}&kinds=artifact.deleted&include=none")).await.expect(200).json();
        assert_eq!(kinds["changes"].as_array().map(Vec::len), Some(5));
        assert_eq!(server.get(format!("/v1/apps/app/users/other/feed?after={start}")).await.json()["changes"], json!([]));

        // An erasure takes the names out of the feed.
        server.post("/v1/apps/app/users/user/erasure").json(json!({})).await.expect(202);
        let (left, _) = wait_for(server, ALL, &end, 1).await;
        assert_eq!(left[0]["kind"], "user.erased");
        assert_eq!(server.number("select count(*) from changes where detail like '%\"name\"%'").await, 0);
        let whole = read(server, ALL, &start, 100).await.0;
        assert_eq!(whole, left);
    }

    async fn a_stream_goes_on_behind_its_last_change(server: &TestServer) with ["--feed-retention=1h"] {
        let mut live = Watch::open(stream(server, USER, "?after=now")).await;
        live.expect("caught_up").await;
        server.create("{}").await;
        let created = live.expect("change").await;
        assert_eq!(created.json()["kind"], "session.created");
        assert_eq!(created.cursor(), created.json()["position"]);
        server.append_delta(r#"{"k":1}"#).await;
        let events = live.expect("change").await;
        assert_eq!(events.json()["events"][0]["actions"]["stateDelta"], json!({"k": 1}));
        // What the header says wins over the query.
        let resumed = stream(server, APP, "?after=now").header("last-event-id", created.cursor());
        let mut resumed = Watch::open(resumed).await;
        assert_eq!(resumed.expect("change").await, events);
        resumed.expect("caught_up").await;
        let whole = Watch::open(stream(server, ALL, "")).await.caught_up().await.0;
        assert_eq!(whole, [created, events]);
    }

    async fn an_erasure_takes_what_names_the_user(server: &TestServer) with ["--feed-retention=1h"] {
        let start = now(server).await;
        server.create(r#"{"displayName":"canary"}"#).await;
        server.append_delta(r#"{"user:k":"canary","app:k":1}"#).await;
        let (changes, _) = wait_for(server, ALL, &start, 4).await;
        let subject = changes[0]["subject"].clone();
        assert_eq!(subject.as_str().map(str::len), Some(64));
        let middle = changes[1]["position"].as_str().unwrap();
        server.post("/v1/apps/app/users/user/erasure").json(json!({})).await.expect(202);
        let (left, _) = wait_for(server, ALL, &start, 2).await;
        assert_eq!(core(&left[0]), core(&changes[3]));
        assert_eq!((&left[1]["kind"], &left[1]["subject"]), (&json!("user.erased"), &subject));
        assert!(left[1]["erasureId"].is_string() && left[1].get("userId").is_none(), "{left:?}");
        // Positions within what is gone still hold.
        assert_eq!(read(server, ALL, middle, 100).await.0, left);
        assert_eq!(server.number("select count(*) from changes where user_id is not null or session_id is not null").await, 0);
    }

    async fn a_position_that_is_not_in_the_feed_is_gone(server: &TestServer) with ["--feed-retention=1h"] {
        let start = now(server).await;
        server.create("{}").await;
        let (changes, end) = wait_for(server, ALL, &start, 1).await;
        let mut altered = end.clone().into_bytes();
        altered[0] = if altered[0] == b'0' { b'1' } else { b'0' };
        // Of no feed, and of another database.
        for position in [std::str::from_utf8(&altered).unwrap(), &"A".repeat(43)] {
            let gone = server.get(format!("{APP}?after={position}")).await.problem(410, "position_gone");
            assert_eq!(read(server, APP, gone["oldest"].as_str().unwrap(), 10).await.0, changes);
            stream(server, APP, "").header("last-event-id", position).await.problem(410, "position_gone");
        }
        for bad in ["x", "1", "-1", "1-00000000", &end[1..], &format!("{end}A"), &format!("{end}=")] {
            server.get(format!("{APP}?after={bad}")).await.invalid(&["after"]);
            stream(server, APP, "").header("last-event-id", bad).await.invalid(&["Last-Event-ID"]);
        }
        server.get(format!("{APP}?kinds=event")).await.invalid(&["kinds"]);
        server.get(format!("{APP}?include=state")).await.invalid(&["include"]);
        stream(server, APP, "?wait=1").await.invalid(&["wait"]);
    }

    async fn positions_tell_nothing_of_what_others_write(server: &TestServer) with ["--feed-retention=1h"] {
        const OTHERS: &str = "/v1/apps/other/users/other/state";
        let position = async |query: &str| {
            let page = server.get(query).await.expect(200).json();
            assert_eq!((&page["changes"], &page["upToDate"]), (&json!([]), &json!(true)), "{query}");
            page["position"].as_str().expect("a position").to_owned()
        };
        let write = async |n: usize| {
            server.patch(OTHERS).json(json!({"stateDelta": {"k": n}})).await.expect(200);
        };
        // Of a reader of one user, of one app, and of some kinds: none of them sees what the others write.
        let readers = [format!("{USER}?"), format!("{APP}?"), format!("{ALL}?kinds=session.created&")];
        let mut given = Vec::new();
        for reader in &readers {
            given.push(position(&format!("{reader}after=now")).await);
        }
        let mut moved = Vec::new();
        for n in 0..30 {
            write(n).await;
            for (reader, given) in readers.iter().zip(&given) {
                for query in [format!("{reader}after=now"), format!("{reader}after={given}"), format!("{reader}after={given}&wait=0")] {
                    assert_eq!(position(&query).await, *given, "{query}");
                }
            }
            moved.push(position(&format!("{ALL}?after=now")).await);
        }
        let mut waiting = Watch::open(stream(server, USER, &format!("?after={}", given[0]))).await;
        assert_eq!(waiting.expect("caught_up").await.json()["position"], given[0]);
        let one = tokio::spawn({
            let asked = server.get(format!("{USER}?after={}&wait=1", given[0]));
            async move { asked.await }
        });
        write(30).await;
        assert_eq!(one.await.expect("no panic").expect(200).json()["position"], given[0]);
        // Who sees them has a position each. These do not grow, nor has one a beginning in common with the next.
        for position in &moved {
            assert_eq!(position.len(), 43, "{position}");
            assert!(position.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'-' || b == b'_'), "{position}");
        }
        let grows = moved.windows(2).filter(|pair| pair[0] < pair[1]).count();
        assert!((4..=25).contains(&grows), "{moved:#?}");
        assert!(moved.windows(2).all(|pair| pair[0] != pair[1] && pair[0][..8] != pair[1][..8]), "{moved:#?}");
        // The place moves with what the reader sees, and stays there.
        server.create("{}").await;
        write(31).await;
        for (reader, given) in readers.iter().zip(&given) {
            for after in [given, &moved[7]] {
                let page = server.get(format!("{reader}after={after}")).await.expect(200).json();
                let changes = page["changes"].as_array().unwrap();
                assert_eq!((changes.len(), &page["position"]), (1, &changes[0]["position"]), "{page}");
                assert_eq!(page["position"], position(&format!("{reader}after=now")).await);
            }
        }
        assert_eq!(waiting.expect("change").await.json()["kind"], "session.created");
    }

    /// Though there is nothing for it: of what is kept, a position of the first half is exchanged.
    async fn a_position_does_not_go_while_its_reader_asks(server: &TestServer) with ["--feed-retention=6s", "--sweep-interval=50ms"] {
        server.create("{}").await;
        let first = server.get(format!("{USER}?after=now")).await.expect(200).json()["position"].as_str().expect("a position").to_owned();
        let mut position = first.clone();
        let mut seen = BTreeSet::new();
        while server.get(format!("{ALL}?after={first}&pageSize=1")).await.status() != 410 {
            server.patch("/v1/apps/other/state").json(json!({"stateDelta": {"k": seen.len()}})).await.expect(200);
            let page = server.get(format!("{USER}?after={position}")).await.expect(200).json();
            assert_eq!(page["changes"], json!([]));
            position = page["position"].as_str().expect("a position").to_owned();
            seen.insert(position.clone());
        }
        // By the time alone.
        assert!(seen.len() <= 4, "{seen:?}");
        server.append_delta(r#"{"k":1}"#).await;
        let page = server.get(format!("{USER}?after={position}")).await.expect(200).json();
        assert_eq!(page["changes"].as_array().map(Vec::len), Some(1));
    }

    async fn what_is_too_old_goes_and_the_last_position_stays(server: &TestServer) with ["--feed-retention=1h", "--sweep-interval=50ms"] {
        let start = now(server).await;
        server.create(r#"{"state":{"user:k":1,"app:k":1}}"#).await;
        let (changes, _) = wait_for(server, ALL, &start, 3).await;
        // Two hours ago, by ticks and by changes. What is old may be gone at once.
        let has_ticks = server.number("select count(*) from changes where kind = 0").await == 0;
        server.execute("update changes set time = time - 7200000000").await;
        if has_ticks {
            server.execute("update ticks set time = time - 7200000000").await;
        }
        // Behind a change whose successors of the same commit are removed: all of these, or no answer.
        let within = changes[0]["position"].as_str().unwrap();
        let is_young = |change: &Value| change["kind"] == "events";
        while !read(server, ALL, "start", 100).await.0.iter().all(is_young) {
            let rest = server.get(format!("{ALL}?after={within}")).await;
            if rest.status() != 410 {
                assert_eq!(rest.expect(200).json()["changes"][0], changes[1]);
            }
            server.append_delta(r#"{"k":2}"#).await;
        }
        server.get(format!("{ALL}?after={within}")).await.problem(410, "position_gone");
    }

    async fn readers_get_the_same_whatever_their_pages(server: &TestServer) with ["--feed-retention=1h"] {
        const SESSIONS: usize = 8;
        const APPENDS: usize = 12;
        let start = now(server).await;
        let write = |n: usize| async move {
            let path = format!("/v1/apps/app{}/users/u{}/sessions", n % 2, n % 3);
            server.post(&path).json(json!({"sessionId": format!("s{n}")})).await.expect(201);
            for k in 0..APPENDS {
                let event = json!({"author": "agent", "actions": {"stateDelta": {"k": k, "user:k": k, "app:k": k}}});
                server.post(format!("{path}/s{n}/events")).json(event).await.expect(201);
            }
        };
        let follow = async {
            let mut changes = Vec::new();
            let mut live = Watch::open(stream(server, ALL, &format!("?after={start}"))).await;
            let mut events = 0;
            while events < SESSIONS * APPENDS {
                let frame = live.frame().await;
                if frame.event == "change" {
                    let change = frame.json();
                    if change["kind"] == "events" {
                        events += change["events"].as_array().unwrap().len();
                    }
                    changes.push(change);
                }
            }
            changes
        };
        let (_, streamed) = tokio::join!(join_all((0..SESSIONS).map(write)), follow);
        let (whole, _) = read(server, ALL, &start, 1000).await;
        let (single, _) = read(server, ALL, &start, 1).await;
        assert_eq!(whole, single);
        assert_eq!(streamed, whole[..streamed.len()]);
        // Every event once, those of a session in order; and every revision of a scope.
        let mut seen: BTreeSet<(String, i64)> = BTreeSet::new();
        for change in &whole {
            let key = |fields: &[&str]| fields.iter().map(|field| change[*field].to_string()).collect::<String>();
            let (of, first, last) = match change["kind"].as_str().unwrap() {
                "events" => (key(&["sessionId"]), &change["firstSequence"], &change["lastSequence"]),
                kind @ ("user.state" | "app.state") => {
                    (format!("{kind}{}", key(&["appName", "userId"])), &change["firstRevision"], &change["revision"])
                }
                _ => continue,
            };
            for at in first.as_i64().unwrap()..=last.as_i64().unwrap() {
                assert!(at == 1 || seen.contains(&(of.clone(), at - 1)), "{of} {at}");
                assert!(seen.insert((of.clone(), at)), "{of} {at} twice");
            }
        }
        let events = seen.iter().filter(|(of, _)| of.starts_with("\"s")).count();
        assert_eq!(events, SESSIONS * APPENDS);
        let shared = seen.len() - events;
        assert_eq!(shared as i64, server.number("select cast((select sum(revision) from user_scopes) + (select sum(revision) from app_scopes) as bigint)").await);
    }

    async fn there_is_none_unless_it_is_asked_for(server: &TestServer) with ["--feed-retention=0"] {
        server.create("{}").await;
        for feed in [ALL, APP, USER] {
            server.get(feed).await.problem(404, "feed_disabled");
            stream(server, feed, "").await.problem(404, "feed_disabled");
        }
        assert_eq!(server.number("select count(*) from changes where kind <> 0").await, 0);
    }

    async fn a_key_sees_the_changes_of_its_grant(server: &Guarded) with ["--feed-retention=1h"] {
        for (app, user) in [("a1", "u1"), ("a1", "v1"), ("b1", "u1")] {
            let path = format!("/v1/apps/{app}/users/{user}/sessions");
            server.admin("POST", &path).json(json!({"sessionId": "s", "state": {"app:k": 1}})).await.expect(201);
        }
        let seen = async |grant: Value, feed: &str| {
            let key = server.key(grant).await;
            loop {
                let page = server.with(&key, "GET", feed).await.expect(200).json();
                if page["upToDate"] == json!(true) {
                    let changes = page["changes"].as_array().unwrap().clone();
                    let name = |change: &Value| format!("{} {} {}", change["appName"], change["userId"], change["kind"]).replace('"', "");
                    return changes.iter().map(name).collect::<Vec<_>>();
                }
            }
        };
        // The last of them is there, so all are.
        let all = json!({"role": "reader", "apps": ["*"]});
        while seen(all.clone(), ALL).await.len() < 6 {}
        let created = |app: &str, user: &str| format!("{app} {user} session.created");
        let state = |app: &str| format!("{app} null app.state");
        let some = json!({"role": "reader", "apps": ["a*"], "users": ["u*"]});
        assert_eq!(seen(some.clone(), ALL).await, [created("a1", "u1"), state("a1"), state("a1")]);
        assert_eq!(seen(some.clone(), "/v1/apps/a1/users/u1/feed").await, [created("a1", "u1")]);
        // Outside of the grant there is none.
        let some_key = server.key(some.clone()).await;
        for feed in ["/v1/apps/a1/feed", "/v1/apps/b1/feed", "/v1/apps/b1/users/u1/feed", "/v1/apps/a1/users/v1/feed"] {
            server.with(&some_key, "GET", feed).await.problem(404, "feed_disabled");
        }
        assert_eq!(seen(json!({"role": "reader", "apps": ["b1"]}), "/v1/apps/b1/feed").await, [created("b1", "u1"), state("b1")]);
    }
}

/// Two processes, and a consumer that goes from one to the other.
#[tokio::test(flavor = "multi_thread")]
async fn every_process_tells_the_same() {
    let first = TestServer::start(Place::postgres().await, &[FED]).await;
    let second = first.replica_with(&[FED]).await;
    let start = now(&first).await;
    let mut live = Watch::open(stream(&second, ALL, "?after=now")).await;
    live.expect("caught_up").await;
    first.create("{}").await;
    assert_eq!(live.expect("change").await.json()["kind"], "session.created");
    for n in 0..20 {
        let server = if n % 2 == 0 { &first } else { &second };
        server.append_delta(&format!(r#"{{"k":{n}}}"#)).await;
    }
    let mut sequence = 0;
    while sequence < 20 {
        let change = live.expect("change").await.json();
        assert_eq!(change["firstSequence"], sequence + 1);
        sequence = change["lastSequence"].as_i64().unwrap();
    }
    assert_eq!(read(&first, ALL, &start, 3).await, read(&second, ALL, &start, 100).await);
    second.stop().await;
    first.stop().await;
}

/// A transaction that stays open neither stalls the feed nor is left out. One that has drawn its id before another and commits after it
/// comes after it.
#[tokio::test(flavor = "multi_thread")]
async fn a_late_commit_is_told_late() {
    const INSERT: &str = "insert into changes (kind, app_name, user_id, session_id, incarnation, first_revision, last_revision, detail) \
                          values (5, 'app', 'user', 'late', 1, 0, 0, 'deleted')";
    let server = TestServer::start(Place::postgres().await, &[FED]).await;
    let start = now(&server).await;
    let mut late = PgConnection::connect(&server.database_url()).await.unwrap();
    let mut late = late.begin().await.unwrap();
    sqlx::query(INSERT).execute(&mut *late).await.unwrap();
    server.create("{}").await;
    let (_, position) = wait_for(&server, ALL, &start, 1).await;
    server.append_delta(r#"{"k":1}"#).await;
    let (_, position) = wait_for(&server, ALL, &position, 1).await;
    late.commit().await.unwrap();
    let (told, _) = wait_for(&server, ALL, &position, 1).await;
    assert_eq!(told[0]["sessionId"], "late");
    let (all, _) = read(&server, USER, &start, 1).await;
    let sessions: Vec<&str> = all.iter().map(|change| change["sessionId"].as_str().unwrap()).collect();
    assert_eq!(sessions, ["s", "s", "late"]);
    server.stop().await;
}

/// A dump that is restored into a younger server has transaction ids of the future. Nothing is passed over in silence: old positions are
/// gone, and the feed begins with what comes.
#[tokio::test(flavor = "multi_thread")]
async fn a_restored_dump_begins_a_new_feed() {
    let server = TestServer::start(Place::postgres().await, &[FED]).await;
    let second = server.replica_with(&[FED]).await;
    let start = now(&server).await;
    server.create("{}").await;
    let (_, position) = wait_for(&server, ALL, &start, 1).await;
    // As if the ids had come from a server that has seen more.
    server
        .execute(
            "update changes set tx = '900000000000'; \
             update ticks set since = '899999999999:899999999999:', snapshot = '900000000001:900000000001:'",
        )
        .await;
    // Before the first tick of the new server there is no feed; a read brings it about. Of several at once, by two processes, one
    // does: the positions that all of them got hold.
    let begins = join_all((0..12).map(|n| now(if n % 2 == 0 { &server } else { &second }))).await;
    for begin in &begins {
        server.get(format!("{ALL}?after={begin}")).await.expect(200);
    }
    let begin = &begins[0];
    server.append_delta(r#"{"k":1}"#).await;
    let (changes, _) = wait_for(&server, ALL, begin, 1).await;
    assert_eq!(changes[0]["kind"], "events");
    assert_eq!(read(&server, ALL, "start", 1).await.0, changes);
    for old in [start, position] {
        server.get(format!("{ALL}?after={old}")).await.problem(410, "position_gone");
    }
    // What would turn up when the ids come to it.
    assert_eq!(server.number("select count(*) from changes where tx = '900000000000'").await, 0);
    second.stop().await;
    server.stop().await;
}

/// What was answered is in the next read that says that it is up to date, by whatever process, also if nobody has followed the feed,
/// or others read all the time.
#[tokio::test(flavor = "multi_thread")]
async fn a_read_has_what_was_committed_before() {
    let first = TestServer::start(Place::postgres().await, &[FED]).await;
    let second = first.replica_with(&[FED]).await;
    first.create("{}").await;
    let mut position = now(&second).await;
    let reading = AtomicBool::new(true);
    let others = async {
        while reading.load(Relaxed) {
            for server in [&first, &second] {
                server.get(format!("{ALL}?after=now")).await.expect(200);
            }
        }
    };
    let rounds = async {
        for n in 1..=60 {
            let (writer, reader) = if n % 3 == 0 { (&first, &first) } else { (&first, &second) };
            writer.append_delta(r#"{"k":1}"#).await;
            // On a busy machine it may not be said yet; once it is, it is true.
            let mut changes = Vec::new();
            loop {
                let page = reader.get(format!("{ALL}?after={position}")).await.expect(200).json();
                position = page["position"].as_str().unwrap().to_owned();
                changes.extend(page["changes"].as_array().unwrap().clone());
                if page["upToDate"] == true {
                    break;
                }
            }
            assert_eq!(changes.len(), 1, "{n}");
            if n % 10 == 0 {
                writer.append_delta(r#"{"k":2}"#).await;
                let mut live = Watch::open(stream(reader, ALL, &format!("?after={position}"))).await;
                assert_eq!(
                    live.expect("change").await.json()["lastSequence"],
                    changes[0]["lastSequence"].as_i64().unwrap() + 1
                );
                position = live.expect("caught_up").await.json()["position"].as_str().unwrap().to_owned();
            }
        }
        reading.store(false, Relaxed);
    };
    tokio::join!(rounds, others);
    second.stop().await;
    first.stop().await;
}

/// Whether the database has statistics or not, ticks have few rows or many.
#[tokio::test(flavor = "multi_thread")]
async fn large_ticks_are_read_in_pages() {
    let server = TestServer::start(Place::postgres().await, &[FED]).await;
    let start = now(&server).await;
    for _ in 0..3 {
        server
            .execute(
                "insert into changes (kind, app_name, user_id, session_id, incarnation, first_revision, last_revision, detail) \
                 select 5, 'app', 'user', 's' || n, 1, 0, 0, 'deleted' from generate_series(1, 2500) n",
            )
            .await;
        tokio::time::sleep(Duration::from_millis(50)).await;
        now(&server).await;
    }
    server.execute("analyze changes; analyze ticks").await;
    let (whole, end) = read(&server, ALL, &start, 1000).await;
    assert_eq!(whole.len(), 7500);
    assert_eq!(read(&server, USER, &start, 700).await, (whole, end));
    server.stop().await;
}

/// The server of a file, and its end.
async fn serve(place: &Place, args: &[&str]) -> Server {
    Server::start(&place.url(), args).await
}

async fn end(mut server: Server) {
    server.process.sigterm();
    assert!(server.process.wait().await.success());
}

/// A file that is restored from a copy goes on from there, and what a reader has seen since is not taken for it.
#[tokio::test(flavor = "multi_thread")]
async fn a_restored_file_has_other_positions() {
    let place = Place::sqlite();
    let Place::Sqlite(folder) = &place else { panic!("a file") };
    let (file, copy) = (folder.join("data.db"), folder.join("copy.db"));
    let server = serve(&place, &[FED]).await;
    server.create("{}").await;
    let kept = now(&server).await;
    place.execute(format!("vacuum into '{}'", copy.display())).await;
    server.append_delta(r#"{"k":1}"#).await;
    let lost = now(&server).await;
    end(server).await;
    for suffix in ["", "-wal", "-shm"] {
        let _ = std::fs::remove_file(format!("{}{suffix}", file.display()));
    }
    std::fs::rename(&copy, &file).unwrap();
    let server = serve(&place, &[FED]).await;
    server.append_delta(r#"{"k":2}"#).await;
    server.get(format!("{ALL}?after={lost}")).await.problem(410, "position_gone");
    let (changes, _) = read(&server, ALL, &kept, 10).await;
    assert_eq!(changes[0]["events"][0]["actions"]["stateDelta"], json!({"k": 2}));
}

on_both_databases!(a_feed_that_was_off_does_not_go_on);

/// Behind a position from before, changes are missing: it is gone, also if none was recorded before, or no sweep came to it.
async fn a_feed_that_was_off_does_not_go_on(place: Place) {
    let server = serve(&place, &[FED]).await;
    let first = now(&server).await;
    end(server).await;
    let unfed = &["--feed-retention=0", "--sweep-interval=1h"];
    let server = serve(&place, unfed).await;
    server.create("{}").await;
    end(server).await;
    let server = serve(&place, &[FED]).await;
    server.get(format!("{ALL}?after={first}")).await.problem(410, "position_gone");
    let start = now(&server).await;
    server.append_delta(r#"{"k":1}"#).await;
    let (_, second) = wait_for(&server, ALL, &start, 1).await;
    end(server).await;
    let server = serve(&place, unfed).await;
    server.append_delta(r#"{"k":2}"#).await;
    end(server).await;
    let server = serve(&place, &[FED]).await;
    for position in [first, start, second] {
        server.get(format!("{ALL}?after={position}")).await.problem(410, "position_gone");
    }
    server.append_delta(r#"{"k":3}"#).await;
    let (changes, _) = wait_for(&server, ALL, "start", 1).await;
    assert_eq!(changes[0]["firstSequence"], 3);
}
