//! A session as a stream of server-sent events.

use serde_json::{Value, json};

use crate::support::client::{APP_STATE, Answer, Client, EVENTS, ONE, Request, S, STATE, USER_STATE};
use crate::support::databases::on_both_databases;
use crate::support::server::TestServer;
use crate::support::sse::{Frame, Watch};

const WATCH: &str = "/v1/apps/app/users/user/sessions/s/watch";
/// Of the same app and user.
const OTHER: &str = "/v1/apps/app/users/user/sessions/other";
const NO_METADATA: &str = r#"{"displayName":null,"labels":{},"expireTime":null}"#;

fn asked(server: &Client, query: &str) -> Request {
    server.get(format!("{WATCH}{query}")).header("accept", "text/event-stream")
}

async fn watch(server: &Client, query: &str) -> Watch {
    Watch::open(asked(server, query)).await
}

/// Behind this cursor, as a browser that comes back asks.
fn resumed(server: &Client, cursor: &str) -> Request {
    asked(server, "").header("last-event-id", cursor)
}

/// A watch of what comes.
async fn live(server: &Client, query: &str) -> Watch {
    let mut watch = watch(server, query).await;
    watch.caught_up().await;
    watch
}

/// What `GET events` shows of [`ONE`], each event as text.
async fn stored(server: &Client) -> Vec<String> {
    let page = server.get(format!("{EVENTS}?pageSize=1000")).await.expect(200);
    let count = page.json()["events"].as_array().expect("events").len();
    (0..count).map(|n| page.raw(&["events", &n.to_string()])).collect()
}

/// The mark of the incarnation in an entity tag.
fn mark(answer: &Answer) -> String {
    answer.etag().trim_matches('"').split('.').nth(3).expect("a mark").split('-').next().expect("a part").to_owned()
}

/// `R.U.A.I` of a session.
async fn revisions(server: &Client) -> String {
    let etag = server.get(ONE).await.expect(200).etag();
    etag.trim_matches('"').split('-').next().expect("a part").to_owned()
}

#[track_caller]
fn assert_form(cursor: &str, sequence: usize, mark: &str) {
    let parts: Vec<&str> = cursor.split('-').collect();
    let &[at, incarnation, digest] = &*parts else { panic!("{cursor}") };
    assert_eq!((at, incarnation), (&*sequence.to_string(), mark), "{cursor}");
    let is_hex = digest.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
    assert!(digest.len() == 8 && is_hex, "{cursor}");
}

fn sequences(frames: &[Frame]) -> Vec<i64> {
    let events = frames.iter().filter(|frame| frame.event == "event");
    events.map(|frame| frame.json()["sequence"].as_i64().expect("a sequence")).collect()
}

fn batch(count: usize) -> String {
    json!((0..count).map(|_| json!({"author": "agent"})).collect::<Vec<_>>()).to_string()
}

/// Applies a `state` frame to the shared state that was known before it; its revisions.
fn apply(frame: &Frame, shared: &mut serde_json::Map<String, Value>) -> Vec<i64> {
    let change = frame.json();
    if let Some(whole) = change.get("state") {
        *shared = whole.as_object().expect("an object").clone();
        shared.retain(|key, _| key.starts_with("app:") || key.starts_with("user:"));
    } else {
        shared.extend(change["set"].as_object().expect("an object").clone());
        for key in change["removed"].as_array().expect("an array") {
            assert!(shared.remove(key.as_str().expect("a key")).is_some(), "{key} was not there: {frame:?}");
        }
    }
    let revisions = change["revisions"].as_str().expect("revisions");
    revisions.split('.').take(3).map(|part| part.parse().expect("a revision")).collect()
}

on_both_databases! {
    async fn the_log_is_sent_and_then_what_comes(server: &TestServer) {
        let created = server.create(r#"{"state":{"k":1},"events":[{"author":"user","content":{"a":[1.0,"ä\u0000"]}},{"author":"agent"}]}"#).await;
        server.append_delta(r#"{"k":2,"temp:x":3,"app:k":4}"#).await;
        let mark = mark(&created);
        let events = stored(server).await;
        let mut watch = watch(server, "").await;
        let mut last = String::new();
        for (n, event) in events.iter().enumerate() {
            let frame = watch.expect("event").await;
            assert_eq!(&frame.data, event);
            last = frame.cursor();
            assert_form(&last, n + 1, &mark);
        }
        let metadata = watch.expect("metadata").await;
        assert_eq!(metadata.data, NO_METADATA);
        let caught_up = watch.expect("caught_up").await;
        assert_eq!((&*caught_up.data, &*caught_up.cursor()), (r#"{"revision":3}"#, &*last));

        // One by one, and not caught up again.
        for n in 4..7 {
            let event = server.append(r#"{"author":"agent"}"#).await;
            let frame = watch.expect("event").await;
            assert_eq!(frame.data, event.text());
            assert_form(&frame.cursor(), n, &mark);
        }
        // Changes of state are events, too.
        for request in [
            server.put(format!("{STATE}/k")).json("[1]"),
            server.patch(STATE).json(r#"{"stateDelta":{"j":1}}"#),
            server.post(format!("{ONE}/rewind")).json(r#"{"toRevision":3}"#),
        ] {
            request.await.expect(200);
            let frame = watch.expect("event").await;
            assert_eq!(Some(&frame.data), stored(server).await.last());
        }
        // A batch is in order.
        server.append(batch(20)).await;
        for n in 10..30 {
            assert_eq!(watch.expect("event").await.json()["sequence"], n);
        }
    }

    async fn an_empty_log_is_caught_up_at_once(server: &TestServer) {
        let zero = format!("0-{}-00000000", mark(&server.create(r#"{"state":{"k":1}}"#).await));
        for query in ["", "?afterSequence=now", "?afterSequence=0", "?lastEventId=0", &format!("?lastEventId={zero}")] {
            let mut watch = watch(server, query).await;
            let (before, caught_up) = watch.caught_up().await;
            assert_eq!(before.iter().map(|frame| &*frame.event).collect::<Vec<_>>(), ["metadata"], "{query}");
            assert_eq!((caught_up.data.as_str(), caught_up.id.as_ref()), (r#"{"revision":0}"#, Some(&zero)));
        }
        let mut watch = Watch::open(resumed(server, &zero)).await;
        watch.caught_up().await;
        server.append("{}").await;
        assert_eq!(watch.expect("event").await.json()["sequence"], 1);
    }

    async fn now_is_behind_the_log(server: &TestServer) {
        server.create(r#"{"events":[{"id":"a"},{"id":"b"}]}"#).await;
        let (frames, _) = watch(server, "").await.caught_up().await;
        let mut now = watch(server, "?afterSequence=now").await;
        let (before, caught_up) = now.caught_up().await;
        assert_eq!(sequences(&before), [0; 0]);
        assert_eq!((caught_up.data.as_str(), &caught_up.id), (r#"{"revision":2}"#, &frames[1].id));
        server.append("{}").await;
        assert_eq!(now.expect("event").await.json()["sequence"], 3);
        let mut again = Watch::open(resumed(server, &caught_up.cursor())).await;
        assert_eq!(sequences(&again.caught_up().await.0), [3]);
    }

    async fn bursts_longer_than_a_page_are_caught_up_with(server: &TestServer) with ["--max-page-rows=10"] {
        server.create("{}").await;
        server.append(batch(35)).await;
        let mut watch = watch(server, "").await;
        let (before, caught_up) = watch.caught_up().await;
        assert_eq!(sequences(&before), (1..=35).collect::<Vec<_>>());
        assert_eq!(caught_up.data, r#"{"revision":35}"#);
        assert_eq!(caught_up.id, before[34].id);
        assert_eq!(before[35].event, "metadata");
        server.append(batch(25)).await;
        let (burst, caught_up) = watch.caught_up().await;
        assert_eq!(sequences(&burst), (36..=60).collect::<Vec<_>>());
        assert_eq!(burst.len(), 25, "no metadata again");
        assert_eq!((caught_up.data.as_str(), &caught_up.id), (r#"{"revision":60}"#, &burst[24].id));
        // As long as a page is no longer than it.
        server.append(batch(10)).await;
        for n in 61..71 {
            assert_eq!(watch.expect("event").await.json()["sequence"], n);
        }
        server.append("{}").await;
        assert_eq!(watch.expect("event").await.json()["sequence"], 71);
    }

    async fn pages_of_one_lose_and_double_nothing(server: &TestServer) with ["--max-page-rows=1"] {
        server.create("{}").await;
        server.append(batch(5)).await;
        let mut watch = watch(server, "?include=state").await;
        assert_eq!(sequences(&watch.caught_up().await.0), [1, 2, 3, 4, 5]);
        server.append(batch(3)).await;
        let (burst, caught_up) = watch.caught_up().await;
        assert_eq!((sequences(&burst), burst.len()), (vec![6, 7, 8], 3));
        assert_eq!(caught_up.id, burst[2].id);
    }

    async fn a_burst_of_large_events_is_whole(server: &TestServer) {
        server.create("{}").await;
        let mut watch = live(server, "").await;
        let large = "x".repeat(100 << 10);
        let events: Vec<Value> = (0..12).map(|n| json!({"id": n.to_string(), "author": "agent", "content": large})).collect();
        server.append(json!(events)).await;
        let stored = stored(server).await;
        let (burst, caught_up) = watch.caught_up().await;
        assert!(burst.iter().map(|frame| &frame.data).eq(&stored));
        assert_eq!(caught_up.data, r#"{"revision":12}"#);
    }

    async fn partial_events_are_not_sent(server: &TestServer) {
        server.create("{}").await;
        let mut watch = live(server, "").await;
        server.post(EVENTS).json(r#"{"author":"agent","partial":true,"content":1}"#).await.expect(200);
        server.append(r#"{"id":"whole"}"#).await;
        assert_eq!(watch.expect("event").await.json()["id"], "whole");
    }

    async fn a_replay_is_not_sent_again(server: &TestServer) {
        server.create("{}").await;
        let mut watch = live(server, "").await;
        server.append(r#"{"id":"a"}"#).await;
        assert!(server.post(EVENTS).json(r#"{"id":"a"}"#).await.expect(200).was_replayed());
        server.append(r#"{"id":"b"}"#).await;
        for id in ["a", "b"] {
            assert_eq!(watch.expect("event").await.json()["id"], id);
        }
    }

    async fn the_metadata_comes_once_and_at_each_change(server: &TestServer) {
        server.create(r#"{"displayName":"first","labels":{"a":"1"}}"#).await;
        let mut watch = watch(server, "").await;
        assert_eq!(watch.expect("metadata").await.data, r#"{"displayName":"first","labels":{"a":"1"},"expireTime":null}"#);
        watch.expect("caught_up").await;
        for (patch, shown) in [
            (r#"{"displayName":"ä\n"}"#, json!({"displayName": "ä\n", "labels": {"a": "1"}, "expireTime": null})),
            (r#"{"labels":{"b":"2"}}"#, json!({"displayName": "ä\n", "labels": {"b": "2"}, "expireTime": null})),
            (r#"{"expireTime":4102444800}"#, json!({"displayName": "ä\n", "labels": {"b": "2"}, "expireTime": 4102444800.0})),
            (r#"{"displayName":null,"labels":null,"expireTime":null}"#, json!({"displayName": null, "labels": {}, "expireTime": null})),
        ] {
            server.patch(ONE).json(patch).await.expect(200);
            let frame = watch.expect("metadata").await;
            assert_eq!(frame.json(), shown);
            assert_eq!(frame.json().as_object().map(|all| all.len()), Some(3));
        }
        // And not with an event, nor where it is as it was.
        server.append("{}").await;
        watch.expect("event").await;
        server.patch(ONE).json(r#"{"displayName":null,"labels":{}}"#).await.expect(200);
        server.post(format!("{ONE}/trim")).json(r#"{"keepLast":0}"#).await.expect(200);
        server.append("{}").await;
        watch.expect("event").await;
    }

    async fn the_state_comes_whole_and_then_what_others_change(server: &TestServer) {
        let body = r#"{"state":{"k":1.0,"app:a":1E2,"user:u":[ null,{"b":1}]},"events":[{"author":"agent","actions":{"stateDelta":{"j":"x"}}}]}"#;
        server.create(body).await;
        server.post(S).json(r#"{"sessionId":"other"}"#).await.expect(201);
        let mut watch = watch(server, "?include=state").await;
        let (before, caught_up) = watch.caught_up().await;
        let names: Vec<&str> = before.iter().map(|frame| &*frame.event).collect();
        assert_eq!(names, ["event", "metadata", "state"]);
        let (whole, state) = (server.get(STATE).await.expect(200), revisions(server).await);
        assert_eq!(before[2].data, format!(r#"{{"revisions":"{state}","state":{}}}"#, whole.text()));
        assert_eq!(caught_up.data, r#"{"revision":1}"#);

        let changed = async |watch: &mut Watch, set: &str, removed: &str| {
            let frame = watch.expect("state").await;
            let revisions = revisions(server).await;
            assert_eq!(frame.data, format!(r#"{{"revisions":"{revisions}","set":{set},"removed":{removed}}}"#));
        };
        // Own keys follow from the events.
        server.append_delta(r#"{"k":2}"#).await;
        watch.expect("event").await;
        // Shared keys come behind the event that wrote them.
        server.append_delta(r#"{"k":3,"user:u":10e1}"#).await;
        assert_eq!(watch.expect("event").await.json()["sequence"], 3);
        changed(&mut watch, r#"{"user:u":10e1}"#, "[]").await;
        server.append_ops(r#"[{"op":"remove","key":"app:a"},{"op":"set","key":"app:","value":"e"}]"#).await;
        assert_eq!(watch.expect("event").await.json()["sequence"], 4);
        changed(&mut watch, r#"{"app:":"e"}"#, r#"["app:a"]"#).await;
        // By the scope's own path.
        server.patch(APP_STATE).json(r#"{"stateDelta":{"a":null}}"#).await.expect(200);
        changed(&mut watch, r#"{"app:a":null}"#, "[]").await;
        server.patch(USER_STATE).json(r#"{"stateDelta":{"v":{"x": 1}},"stateOps":[{"op":"remove","key":"u"}]}"#).await.expect(200);
        changed(&mut watch, r#"{"user:v":{"x": 1}}"#, r#"["user:u"]"#).await;
        // By other sessions, of the user and of other users.
        server.post(format!("{OTHER}/events")).json(r#"{"actions":{"stateDelta":{"user:v":2,"k":"other"}}}"#).await.expect(201);
        changed(&mut watch, r#"{"user:v":2}"#, "[]").await;
        server.post("/v1/apps/app/users/second/sessions").json(r#"{"state":{"app:a":7,"user:v":"theirs","k":1}}"#).await.expect(201);
        changed(&mut watch, r#"{"app:a":7}"#, "[]").await;
        // Other apps and users are others.
        server.patch("/v1/apps/another/state").json(r#"{"stateDelta":{"a":1}}"#).await.expect(200);
        server.patch("/v1/apps/app/users/second/state").json(r#"{"stateDelta":{"v":1}}"#).await.expect(200);
        server.append_delta(r#"{"k":4,"app:a":8}"#).await;
        assert_eq!(watch.expect("event").await.json()["sequence"], 5);
        changed(&mut watch, r#"{"app:a":8}"#, "[]").await;
    }

    async fn without_include_no_state_comes(server: &TestServer) {
        server.create(r#"{"state":{"k":1}}"#).await;
        for query in ["", "?include="] {
            let answer = asked(server, query).stream().await;
            if query.is_empty() {
                let mut watch = Watch::of(answer);
                let (before, _) = watch.caught_up().await;
                assert_eq!(before.len(), 1);
                server.patch(APP_STATE).json(r#"{"stateDelta":{"a":1}}"#).await.expect(200);
                server.append_delta(r#"{"app:a":2}"#).await;
                server.append_delta(r#"{"app:a":3}"#).await;
                assert_eq!(sequences(&[watch.expect("event").await, watch.expect("event").await]), [1, 2]);
            } else {
                assert_eq!(answer.status(), 422);
            }
        }
    }

    async fn whoever_applies_the_changes_has_the_state(server: &TestServer) {
        server.create(r#"{"state":{"app:n":0,"user:n":0}}"#).await;
        server.post(S).json(r#"{"sessionId":"other"}"#).await.expect(201);
        let mut watch = watch(server, "?include=state").await;
        let writers = async {
            let own = async {
                for n in 1..=30 {
                    server.append_delta(&format!(r#"{{"k":{n},"app:own":{n},"user:own{}":{n}}}"#, n % 5)).await;
                }
            };
            let app = async {
                for n in 1..=30 {
                    let op = if n % 3 == 0 { json!({"op": "remove", "key": "x"}) } else { json!({"op": "set", "key": "x", "value": n}) };
                    server.patch(APP_STATE).json(json!({"stateOps": [op]})).await.expect(200);
                }
            };
            let other = async {
                for n in 1..=30 {
                    let event = format!(r#"{{"actions":{{"stateDelta":{{"user:other":{n},"k":{n}}}}}}}"#);
                    server.post(format!("{OTHER}/events")).json(event).await.expect(201);
                }
            };
            futures_util::join!(own, app, other);
            // The last of all.
            server.append_delta(r#"{"app:end":true}"#).await;
        };
        let reader = async {
            let (mut shared, mut last, mut sequence) = (serde_json::Map::new(), vec![0, 0, 0], 0);
            while !shared.contains_key("app:end") {
                let frame = watch.frame().await;
                match &*frame.event {
                    "event" => {
                        sequence += 1;
                        assert_eq!(frame.json()["sequence"], sequence);
                    }
                    "state" => {
                        let revisions = apply(&frame, &mut shared);
                        assert!(revisions.iter().zip(&last).all(|(now, then)| now >= then), "{last:?} {frame:?}");
                        assert_eq!(revisions[0], sequence, "the events come first: {frame:?}");
                        last = revisions;
                    }
                    "metadata" | "caught_up" => {}
                    other => panic!("{other}"),
                }
            }
            shared
        };
        let ((), shared) = futures_util::join!(writers, reader);
        let mut state = server.state().await.as_object().expect("an object").clone();
        state.retain(|key, _| key.starts_with("app:") || key.starts_with("user:"));
        assert_eq!(shared, state);
    }

    async fn a_deleted_session_ends_its_watches(server: &TestServer) {
        server.create(r#"{"events":[{"id":"a"}]}"#).await;
        let mut first = watch(server, "").await;
        let (frames, _) = first.caught_up().await;
        let second = live(server, "?include=state").await;
        server.delete(ONE).await.expect(204);
        first.deleted("deleted").await;
        second.deleted("deleted").await;
        for cursor in ["", "1", &frames[0].cursor(), "now"] {
            asked(server, &format!("?afterSequence={cursor}")).await.problem(404, "session_not_found");
        }
        resumed(server, &frames[0].cursor()).await.problem(404, "session_not_found");
    }

    async fn a_session_made_anew_is_another(server: &TestServer) {
        server.create(r#"{"events":[{"id":"a","timestamp":1}]}"#).await;
        let mut watch = watch(server, "").await;
        let cursor = watch.caught_up().await.1.cursor();
        server.delete(ONE).await.expect(204);
        server.create(r#"{"events":[{"id":"a","timestamp":1},{"id":"b"}]}"#).await;
        watch.deleted("deleted").await;
        let zero = format!("0-{}-00000000", cursor.split('-').nth(1).expect("a mark"));
        for cursor in [&cursor, &zero] {
            let gone = resumed(server, cursor).await.problem(410, "position_gone");
            assert_eq!((&gone["baseRevision"], &gone["revision"]), (&json!(0), &json!(2)));
        }
        asked(server, &format!("?lastEventId={cursor}")).await.problem(410, "position_gone");
        asked(server, &format!("?afterSequence={cursor}")).await.problem(410, "position_gone");
        // A bare sequence knows no better.
        assert_eq!(sequences(&live_frames(server, "?afterSequence=1").await), [2]);
    }

    async fn an_expired_session_ends_its_watches_without_a_sweep(server: &TestServer) with ["--sweep-interval=24h"] {
        server.create("{}").await;
        let mut watches = [live(server, "").await, live(server, "?include=state").await, live(server, "").await];
        // All know the same, and from one read.
        server.append("{}").await;
        for watch in &mut watches {
            watch.expect("event").await;
        }
        server.patch(ONE).json(r#"{"ttl":1.5}"#).await.expect(200);
        for mut watch in watches {
            let mut frame = watch.frame().await;
            let knows = frame.event == "metadata";
            if knows {
                assert!(frame.json()["expireTime"].is_number());
                frame = watch.frame().await;
            }
            assert_eq!(frame.event, "deleted");
            // On a slow machine it is over before anybody looked.
            let reason = &frame.json()["reason"];
            assert!(*reason == "expired" || !knows && *reason == "deleted", "{frame:?}");
            watch.end().await;
        }
        asked(server, "").await.problem(404, "session_not_found");
    }

    async fn a_session_lives_on_if_its_end_is_put_off(server: &TestServer) {
        server.create("{}").await;
        let mut watch = live(server, "").await;
        server.patch(ONE).json(r#"{"ttl":3600}"#).await.expect(200);
        watch.expect("metadata").await;
        server.patch(ONE).json(r#"{"expireTime":null}"#).await.expect(200);
        watch.expect("metadata").await;
        server.append("{}").await;
        watch.expect("event").await;
        server.patch(ONE).json(r#"{"expireTime":1}"#).await.expect(200);
        let last = watch.expect("deleted").await;
        assert!(["deleted", "expired"].map(Value::from).contains(&last.json()["reason"]));
        watch.end().await;
    }

    async fn a_head_takes_no_place(server: &TestServer) with ["--max-watchers=1"] {
        server.create("{}").await;
        for _ in 0..3 {
            let head = server.head(WATCH).header("accept", "text/event-stream").await.expect(200);
            assert_eq!(head.header("content-type"), Some("text/event-stream"));
            assert_eq!(head.header("cache-control"), Some("no-store, no-transform"));
            assert_eq!(head.header("x-accel-buffering"), Some("no"));
            assert_eq!((head.header("etag"), head.header("content-length")), (None, None));
        }
        let _only = live(server, "").await;
        server.head(WATCH).await.expect(200);
        server.get(WATCH).await.problem(429, "rate_limited");
        server.head(format!("{OTHER}/watch")).await.expect(404);
        server.head(format!("{WATCH}?afterSequence=9")).await.expect(410);
        server.head(format!("{WATCH}?afterSequence=x")).await.expect(422);
        server.head(WATCH).header("accept", "text/html").await.expect(406);
    }

    async fn only_a_stream_can_be_had(server: &TestServer) {
        server.create("{}").await;
        for accept in [
            "text/event-stream", "*/*", "Text/Event-Stream", "text/event-stream, */*;q=0.1", "application/json, text/event-stream;q=0.5",
            "text/event-stream;charset=utf-8", "",
        ] {
            let mut watch = Watch::open(server.get(WATCH).header("accept", accept)).await;
            watch.caught_up().await;
        }
        let request = format!("GET {WATCH} HTTP/1.1\r\nhost: localhost\r\n\r\n");
        assert!(first_bytes(server, &request).await.starts_with("HTTP/1.1 200"));
        for accept in ["application/json", "text/html", "text/plain, application/json", "text/event-stream;q=0", "text/event-streams", "*/*;q=0.0"] {
            server.get(WATCH).header("accept", accept).await.problem(406, "not_acceptable");
        }
    }

    async fn it_is_never_compressed(server: &TestServer) {
        server.create("{}").await;
        for encoding in ["gzip", "br, gzip, deflate, zstd", "*", "identity;q=0, gzip"] {
            // `Watch` takes no coding.
            let mut watch = Watch::open(asked(server, "").header("accept-encoding", encoding)).await;
            watch.caught_up().await;
        }
    }

    async fn a_watch_goes_on_at_each_id(server: &TestServer) with ["--max-page-rows=3"] {
        server.create("{}").await;
        for _ in 0..4 {
            server.append(batch(2)).await;
        }
        let (frames, caught_up) = watch(server, "").await.caught_up().await;
        let events: Vec<&Frame> = frames.iter().filter(|frame| frame.event == "event").collect();
        assert_eq!(events.len(), 8);
        for (at, event) in events.iter().enumerate() {
            let cursor = event.cursor();
            let rest: Vec<i64> = (at as i64 + 2..=8).collect();
            for request in [
                resumed(server, &cursor),
                resumed(server, &(at + 1).to_string()),
                asked(server, &format!("?lastEventId={cursor}")),
                asked(server, &format!("?afterSequence={cursor}")),
                asked(server, &format!("?lastEventId={}", at + 1)),
                asked(server, &format!("?afterSequence={}", at + 1)),
            ] {
                let (again, end) = Watch::open(request).await.caught_up().await;
                assert_eq!(sequences(&again), rest, "{cursor}");
                assert_eq!(end, caught_up);
                assert!(again.iter().filter(|frame| frame.event == "event").eq(events[at + 1..].iter().copied()));
            }
        }
    }

    async fn the_header_wins_over_the_query(server: &TestServer) {
        server.create("{}").await;
        server.append(batch(3)).await;
        for query in ["?afterSequence=0", "?afterSequence=now", "?lastEventId=1", "?afterSequence=99"] {
            let (frames, _) = Watch::open(asked(server, query).header("last-event-id", "2")).await.caught_up().await;
            assert_eq!(sequences(&frames), [3], "{query}");
        }
        // Empty is absent.
        for request in [
            asked(server, "").header("last-event-id", ""),
            asked(server, "?lastEventId="),
            asked(server, "?afterSequence="),
            asked(server, "?lastEventId=&afterSequence="),
            asked(server, "?lastEventId=0&afterSequence="),
        ] {
            assert_eq!(sequences(&Watch::open(request).await.caught_up().await.0), [1, 2, 3]);
        }
        let (frames, _) = Watch::open(asked(server, "?afterSequence=2").header("last-event-id", "")).await.caught_up().await;
        assert_eq!(sequences(&frames), [3]);
    }

    async fn a_cursor_has_a_form(server: &TestServer) {
        let mark = mark(&server.create(r#"{"events":[{"id":"a"}]}"#).await);
        server.get(format!("{WATCH}?lastEventId=0&afterSequence=0")).await.problem(422, "invalid_argument");
        for bad in [
            "x", "-1", "1.0", "1e0", "NOW", "1-", "1--", "0x1", "1-1", &format!("1-{mark}"), &format!("1-{mark}-"), &format!("1-{mark}-0000000"),
            &format!("1-{mark}-000000000"), &format!("1-{mark}-0000000g"), &format!("1-{mark}-00000000-"), &format!("-{mark}-00000000"),
            &format!("1-{mark}x-00000000"), "1 1", "null",
        ] {
            let query = bad.replace(' ', "%20");
            server.get(format!("{WATCH}?lastEventId={query}")).await.invalid(&["lastEventId"]);
            server.get(format!("{WATCH}?afterSequence={query}")).await.invalid(&["afterSequence"]);
            resumed(server, bad).await.invalid(&["Last-Event-ID"]);
        }
        server.get(format!("{WATCH}?lastEventId=now")).await.invalid(&["lastEventId"]);
        resumed(server, "now").await.invalid(&["Last-Event-ID"]);
        server.get(format!("{WATCH}?bogus=1")).await.invalid(&["bogus"]);
        server.get(format!("{WATCH}?include=events")).await.invalid(&["include"]);
        server.get(format!("{WATCH}?wait=1")).await.invalid(&["wait"]);
        server.get(format!("{WATCH}?pageSize=1")).await.invalid(&["pageSize"]);
        server.post(WATCH).json("{}").await.problem(405, "method_not_allowed");
        server.get("/v1/apps/app/users/user/sessions/none/watch").await.problem(404, "session_not_found");
    }

    async fn a_cursor_proves_itself(server: &TestServer) {
        server.create("{}").await;
        server.append(batch(3)).await;
        let cursor = watch(server, "").await.frame().await.cursor();
        let (at, rest) = cursor.split_once('-').expect("parts");
        let (mark, digest) = rest.split_once('-').expect("parts");
        assert_eq!(at, "1");
        let other_digest = format!("{:08x}", u32::from_str_radix(digest, 16).expect("hexadecimal") ^ 1);
        let other_mark = format!("{:x}", u64::from_str_radix(mark, 16).expect("hexadecimal") ^ (1 << 40));
        let beyond = "9".repeat(400);
        for gone in [
            format!("1-{mark}-{other_digest}"), format!("1-{other_mark}-{digest}"), format!("2-{mark}-{digest}"), format!("4-{mark}-{digest}"),
            format!("0-{mark}-{digest}"), format!("1-{mark}-00000000"), format!("0-{other_mark}-00000000"), "4".to_owned(),
            "9223372036854775807".to_owned(), "9223372036854775808".to_owned(), "18446744073709551617".to_owned(), beyond.clone(),
            format!("{beyond}-{mark}-{digest}"),
        ] {
            for request in [
                resumed(server, &gone),
                server.get(format!("{WATCH}?lastEventId={gone}")),
                server.get(format!("{WATCH}?afterSequence={gone}")),
            ] {
                let problem = request.await.problem(410, "position_gone");
                assert_eq!((&problem["baseRevision"], &problem["revision"]), (&json!(0), &json!(3)), "{gone}");
            }
        }
        // Zeros in front are no other number.
        let (frames, _) = watch(server, "?afterSequence=002").await.caught_up().await;
        assert_eq!(sequences(&frames), [3]);
    }

    async fn line_breaks_between_tokens_are_lines_of_data(server: &TestServer) {
        server.create("{}").await;
        let mut watch = live(server, "").await;
        for breaks in ["\n", "\r", "\r\n", "\n\n", "\r\r", "\r\n\r\n", "\n\r", "\r\r\n", " \n\t"] {
            let event = format!(
                "{{\"author\":\"agent\",\"content\":{breaks}{{\"a\":{breaks}\"x\\r\\n\\ny\\u2028\u{2028}\u{85}\",{breaks}\"b\":[{breaks}1.0{breaks},{breaks}2]{breaks}}}{breaks}}}"
            );
            let stored = server.append(&event).await;
            let frame = watch.expect("event").await;
            assert_eq!(frame.data, stored.text().replace("\r\n", "\n").replace('\r', "\n"), "{breaks:?}");
            assert_eq!(frame.json(), stored.json());
        }
        // In state and metadata, too.
        server.patch(APP_STATE).json("{\"stateDelta\":{\"a\":[\r\n1,\r2]}}").await.expect(200);
        let (before, _) = self::watch(server, "?include=state").await.caught_up().await;
        let state = before.last().expect("a frame").json();
        assert_eq!(state["state"]["app:a"], json!([1, 2]));
    }

    async fn names_are_decoded_once(server: &TestServer) {
        let path = "/v1/apps/a%2Fb/users/%C3%BC/sessions/x%25y";
        server.put(path).json(r#"{"events":[{"id":"a"}]}"#).await.expect(201);
        let mut watch = Watch::open(server.get(format!("{path}/watch"))).await;
        assert_eq!(sequences(&watch.caught_up().await.0), [1]);
        server.post(format!("{path}/events")).json("{}").await.expect(201);
        watch.expect("event").await;
    }

    async fn many_watch_the_same(server: &TestServer) {
        server.create("{}").await;
        let mut watches = Vec::new();
        for n in 0..20 {
            watches.push(watch(server, if n % 2 == 0 { "" } else { "?include=state" }).await);
        }
        let writers = (0..40).map(async |n| server.append_delta(&format!(r#"{{"k":{n},"app:k":{n}}}"#)).await);
        let reading = watches.iter_mut().map(async |watch| {
            let mut seen = Vec::new();
            while seen.len() < 40 {
                let frame = watch.frame().await;
                if frame.event == "event" {
                    seen.push(frame.data);
                }
            }
            seen
        });
        let (_, seen) = futures_util::join!(futures_util::future::join_all(writers), futures_util::future::join_all(reading));
        let stored = stored(server).await;
        assert!(seen.iter().all(|seen| *seen == stored));
    }
}

/// The frames up to the first `caught_up`.
async fn live_frames(server: &Client, query: &str) -> Vec<Frame> {
    watch(server, query).await.caught_up().await.0
}

/// The beginning of what comes to a request.
async fn first_bytes(server: &Client, request: &str) -> String {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
    let mut stream = tokio::net::TcpStream::connect(server.address()).await.expect("connect");
    stream.write_all(request.as_bytes()).await.expect("send");
    let mut bytes = [0; 12];
    stream.read_exact(&mut bytes).await.expect("an answer");
    String::from_utf8_lossy(&bytes).into_owned()
}
