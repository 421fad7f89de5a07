//! Policies: how long the data of an app is kept.

use std::time::Duration;

use serde_json::{Value, json};

use crate::support::client::{Client, EVENTS, ONE, S, STATE};
use crate::support::databases::on_both_databases;
use crate::support::server::TestServer;
use crate::support::sse::Watch;

const POLICY: &str = "/v1/apps/app/policy";

async fn put(server: &Client, policy: &Value) {
    server.put(POLICY).json(policy).await.expect(200);
}

async fn dry_run(server: &Client, policy: &Value) -> Value {
    server.put(format!("{POLICY}?dryRun=true")).json(policy).await.expect(200).json()
}

async fn would_expire(server: &Client, policy: &Value) -> u64 {
    let answer = dry_run(server, policy).await;
    assert_eq!(answer["wouldTrim"], json!({"sessions": 0, "events": 0}));
    answer["wouldExpire"]["sessions"].as_u64().expect("a count")
}

/// How many sessions, and how many events of them.
async fn would_trim(server: &Client, policy: &Value) -> (u64, u64) {
    let answer = dry_run(server, policy).await;
    assert_eq!(answer["wouldExpire"], json!({"sessions": 0}));
    let count = |name: &str| answer["wouldTrim"][name].as_u64().expect("a count");
    (count("sessions"), count("events"))
}

/// A session with events `e1` to `eN`, which say of themselves what is not so.
async fn fill(server: &Client, id: &str, events: usize) {
    server.put(format!("{S}/{id}")).json("{}").await.expect(201);
    for n in 1..=events {
        let timestamp = if n.is_multiple_of(2) { 1 } else { 4_000_000_000_i64 };
        let event = json!({"id": format!("e{n}"), "timestamp": timestamp, "actions": {"stateDelta": {"n": n}}});
        server.post(format!("{S}/{id}/events")).json(event).await.expect(201);
    }
}

/// Makes the first events of a session seem to be of forty days ago.
async fn age(server: &TestServer, id: &str, events: usize) {
    let by = 40 * 86_400_000_000_i64;
    let sql = format!(
        "update events set commit_time = commit_time - {by} where session_id = '{id}' and sequence <= {events}"
    );
    server.execute(&sql).await;
}

async fn base(server: &Client, id: &str) -> u64 {
    server.get(format!("{S}/{id}")).await.expect(200).json()["baseRevision"].as_u64().unwrap_or(0)
}

async fn until<F: Future<Output = bool>>(holds: impl Fn() -> F) {
    while !holds().await {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// The ids of all sessions, in order.
async fn ids(server: &Client) -> Vec<String> {
    let list = server.get("/v1/apps/app/sessions?pageSize=1000").await.expect(200).json();
    let sessions = list["sessions"].as_array().expect("sessions").iter();
    let mut ids: Vec<String> = sessions.map(|session| session["id"].as_str().expect("an id").to_owned()).collect();
    ids.sort();
    ids
}

/// Until the session has gone.
async fn until_gone(server: &Client, id: &str) {
    while server.get(format!("{S}/{id}")).await.status == 200 {
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

on_both_databases! {
    async fn a_policy_is_replaced_read_and_removed(server: &TestServer) {
        let none = server.get(POLICY).await.expect(200);
        assert_eq!((none.text(), &*none.etag()), ("{}", "\"0\""));
        server.delete(POLICY).await.expect(204);
        let written = r#"{"sessions":{"idle_ttl":"30d","maxAge":null},"events":{},"shared_history":{"maxAge":86400}}"#;
        let shown = r#"{"sessions":{"idleTtl":"30d"},"sharedHistory":{"maxAge":86400}}"#;
        let answer = server.put(POLICY).json(written).await.expect(200);
        assert_eq!((answer.text(), &*answer.etag()), (shown, "\"1\""));
        // What is shown can be written, and is the same.
        let again = server.put(POLICY).json(shown).await.expect(200);
        assert_eq!((again.text(), &*again.etag()), (shown, "\"1\""));
        let read = server.get(POLICY).await.expect(200);
        assert_eq!((read.text(), &*read.etag()), (shown, "\"1\""));
        server.get(POLICY).header("if-none-match", "\"1\"").await.expect(304);
        assert_eq!(server.get("/v1/apps/other/policy").await.expect(200).text(), "{}");

        put(server, &json!({"events": {"maxCount": 10}})).await;
        assert_eq!(server.get(POLICY).await.expect(200).text(), r#"{"events":{"maxCount":10}}"#);
        server.delete(POLICY).header("if-match", "\"1\"").await.problem(412, "revision_mismatch");
        server.delete(POLICY).header("if-match", "\"2\"").await.expect(204);
        let none = server.get(POLICY).await.expect(200);
        // No revision comes twice.
        assert_eq!((none.text(), &*none.etag()), ("{}", "\"3\""));
        let only = || server.put(POLICY).header("if-none-match", "*").json("{}");
        assert_eq!(only().await.expect(200).etag(), "\"4\"");
        only().await.problem(412, "revision_mismatch");
        server.put(POLICY).header("if-match", "\"3\"").json("{}").await.problem(412, "revision_mismatch");
    }

    async fn a_policy_that_breaks_a_rule_is_refused(server: &TestServer) {
        for (policy, field) in [
            (json!({"sessions": {"idleTtl": 86399}}), "/sessions/idleTtl"),
            (json!({"sessions": {"maxAge": "1439m"}}), "/sessions/maxAge"),
            (json!({"events": {"maxAge": "0d"}}), "/events/maxAge"),
            (json!({"events": {"maxCount": 0}}), "/events/maxCount"),
            (json!({"events": {"keepLast": -1}}), "/events/keepLast"),
            (json!({"events": {"keepLast": 1.5}}), "/events/keepLast"),
            (json!({"sharedHistory": {"maxAge": "23h"}}), "/sharedHistory/maxAge"),
            (json!({"sessions": []}), "/sessions"),
            (json!({"session": {}}), "session"),
            (json!({"events": {"max_ages": 1}}), "/events/max_ages"),
        ] {
            for query in ["", "?dryRun=true"] {
                server.put(format!("{POLICY}{query}")).json(&policy).await.invalid(&[field]);
            }
        }
        server.put(POLICY).json("[]").await.expect(422);
        assert_eq!(server.get(POLICY).await.text(), "{}");
    }

    async fn a_policy_meets_sessions_that_are_older(server: &TestServer) with ["--sweep-interval=20ms"] {
        for id in ["busy", "idle", "leased", "new", "old", "own"] {
            let body = if id == "own" { json!({"ttl": 1_000_000}) } else { json!({"state": {"k": 1}}) };
            server.put(format!("{S}/{id}")).json(body).await.expect(201);
        }
        // All but one seem to be of long ago. A commit counts, and no read; nor what an event says.
        server.execute("update sessions set active_day = active_day - 40 where id <> 'new'").await;
        server.execute("update sessions set create_time = create_time - 8640000000000 where id = 'old'").await;
        server.put(format!("{S}/busy/state/k")).json("2").await.expect(200);
        server.get(format!("{S}/idle")).await.expect(200);
        server.post(format!("{S}/leased/lease")).json(r#"{"owner":"o"}"#).await.expect(201);
        for (id, timestamp) in [("early", 1), ("late", 4_000_000_000_i64)] {
            let body = json!({"sessionId": id, "events": [{"timestamp": timestamp}]});
            server.post(S).json(body).await.expect(201);
        }
        server.execute("update sessions set active_day = active_day - 40 where id = 'late'").await;
        let idle = json!({"sessions": {"idleTtl": "30d"}});
        let old = json!({"sessions": {"maxAge": "60d"}});
        assert_eq!(would_expire(server, &idle).await, 4);
        assert_eq!(would_expire(server, &old).await, 1);
        assert_eq!(would_expire(server, &json!({"sessions": {"idleTtl": "41d", "maxAge": "200d"}})).await, 0);
        assert_eq!((server.get(POLICY).await.text(), ids(server).await.len()), ("{}", 8));

        put(server, &old).await;
        until_gone(server, "old").await;
        assert_eq!(ids(server).await, ["busy", "early", "idle", "late", "leased", "new", "own"]);
        put(server, &idle).await;
        for id in ["idle", "late", "leased"] {
            until_gone(server, id).await;
        }
        assert_eq!(ids(server).await, ["busy", "early", "new", "own"]);
        let busy = server.get(format!("{S}/busy")).await.expect(200).json();
        assert!(busy.get("expireTime").is_none());
    }

    async fn a_watch_is_told_that_a_policy_took_its_session(server: &TestServer) with ["--sweep-interval=20ms"] {
        server.create("{}").await;
        let request = server.get(format!("{ONE}/watch")).header("accept", "text/event-stream");
        let mut watch = Watch::open(request).await;
        watch.caught_up().await;
        server.execute("update sessions set active_day = active_day - 40").await;
        put(server, &json!({"sessions": {"idleTtl": "30d"}})).await;
        watch.deleted("retention").await;
    }

    async fn every_commit_counts(server: &TestServer) {
        let policy = json!({"sessions": {"idleTtl": "30d"}});
        server.create(r#"{"events":[{"id":"e"}]}"#).await;
        let age = async || server.execute("update sessions set active_day = active_day - 40").await;
        for n in 0..5 {
            age().await;
            assert_eq!(would_expire(server, &policy).await, 1, "{n}");
            match n {
                0 => server.post(EVENTS).json("{}").await.expect(201),
                1 => server.patch(ONE).json(r#"{"displayName":"n"}"#).await.expect(200),
                2 => server.patch(format!("{ONE}/state")).json(r#"{"stateDelta":{"k":1}}"#).await.expect(200),
                3 => server.post(format!("{ONE}/rewind")).json(r#"{"toRevision":1}"#).await.expect(200),
                _ => server.post(EVENTS).json(r#"[{},{}]"#).await.expect(201),
            };
            assert_eq!(would_expire(server, &policy).await, 0, "{n}");
        }
        age().await;
        server.post(format!("{ONE}/fork")).json(r#"{"sessionId":"fork"}"#).await.expect(201);
        assert_eq!(would_expire(server, &policy).await, 1);
    }

    async fn a_dry_run_says_what_the_sweep_takes(server: &TestServer) with ["--sweep-interval=20ms"] {
        // More than one part of a walk, and more than it may bury at once.
        for n in 0..1100 {
            server.put(format!("{S}/s{n:04}")).json("{}").await.expect(201);
        }
        server.execute("update sessions set active_day = active_day - 40 where id like '%7' or id like '%3'").await;
        // Made at the same moment.
        server
            .execute(
                "update sessions set create_time = 1700000000000000, update_time = 1700000000000000, \
                   update_time_number = '1700000000.000000' where id < 's0700'; \
                 update session_updates set place = 1700000000000000 where id < 's0700'",
            )
            .await;
        let policy = json!({"sessions": {"idleTtl": "30d"}});
        assert_eq!(would_expire(server, &policy).await, 220);
        put(server, &policy).await;
        let left: Vec<String> = (0..1100).filter(|n| n % 10 != 7 && n % 10 != 3).map(|n| format!("s{n:04}")).collect();
        let count = async || server.number("select count(*) from sessions").await;
        while count().await > 880 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
        assert_eq!(ids(server).await, left[..left.len().min(1000)]);
        assert_eq!(would_expire(server, &policy).await, 0);
    }

    async fn events_go_by_age_and_count(server: &TestServer) with ["--sweep-interval=20ms"] {
        for (id, events, old) in [("young", 6, 0), ("half", 6, 3), ("old", 6, 6), ("own", 6, 6), ("empty", 0, 0)] {
            fill(server, id, events).await;
            age(server, id, old).await;
        }
        server.patch(format!("{S}/own")).json(r#"{"ttl":1000000}"#).await.expect(200);
        // What a lease keeps others from is writing.
        server.post(format!("{S}/old/lease")).json(r#"{"owner":"o","exclusive":"all"}"#).await.expect(201);
        let aged = json!({"events": {"maxAge": "30d"}});
        for (policy, expected) in [
            (json!({}), (0, 0)),
            (json!({"events": {"keepLast": 1, "stubsMaxAge": 1}}), (0, 0)),
            (aged.clone(), (3, 15)),
            (json!({"events": {"maxAge": "41d"}}), (0, 0)),
            (json!({"events": {"maxAge": "30d", "keepLast": 4}}), (3, 6)),
            (json!({"events": {"maxCount": 5}}), (4, 4)),
            (json!({"events": {"maxCount": 5, "keepLast": 6}}), (0, 0)),
            (json!({"events": {"maxAge": "30d", "maxCount": 2, "keepLast": 1}}), (4, 18)),
        ] {
            assert_eq!(would_trim(server, &policy).await, expected, "{policy}");
        }
        // Who goes is not trimmed.
        server.execute("update sessions set active_day = active_day - 40 where id = 'old'").await;
        let both = json!({"sessions": {"idleTtl": "30d"}, "events": {"maxAge": "30d"}});
        let expected = json!({"wouldExpire": {"sessions": 1}, "wouldTrim": {"sessions": 2, "events": 9}});
        assert_eq!(dry_run(server, &both).await, expected);
        server.execute("update sessions set active_day = active_day + 40 where id = 'old'").await;
        assert_eq!(base(server, "half").await, 0);

        let (states, etag) = (server.get(format!("{S}/half/state")).await, server.get(format!("{S}/young")).await.etag());
        put(server, &aged).await;
        until(async || base(server, "own").await == 6).await;
        until(async || base(server, "old").await == 6).await;
        until(async || base(server, "half").await == 3).await;
        assert_eq!((base(server, "young").await, base(server, "empty").await), (0, 0));
        assert_eq!(server.get(format!("{S}/young")).await.etag(), etag);
        let half = server.get(format!("{S}/half")).await.expect(200);
        assert_eq!(half.event_ids(), "e4 e5 e6");
        assert_eq!(server.get(format!("{S}/half/state")).await.text(), states.text());
        server.get(format!("{S}/half/state?atRevision=2")).await.problem(410, "revision_trimmed");
        let retry = json!({"id": "e2", "timestamp": 1, "actions": {"stateDelta": {"n": 2}}});
        let again = server.post(format!("{S}/half/events")).json(&retry).await.expect(200);
        assert_eq!(again.json(), json!({"id": "e2", "sequence": 2, "trimmed": true}));
        assert_eq!(would_trim(server, &aged).await, (0, 0));

        put(server, &json!({"events": {"maxCount": 2}})).await;
        until(async || base(server, "young").await == 4).await;
        until(async || base(server, "half").await == 4).await;
        // It goes on with each event.
        server.post(format!("{S}/young/events")).json(r#"[{},{}]"#).await.expect(201);
        until(async || base(server, "young").await == 6).await;
    }

    async fn many_sessions_are_trimmed_in_parts(server: &TestServer) with ["--sweep-interval=20ms"] {
        for n in 0..130 {
            fill(server, &format!("s{n:03}"), 2).await;
        }
        let policy = json!({"events": {"maxCount": 1}});
        assert_eq!(would_trim(server, &policy).await, (130, 130));
        put(server, &policy).await;
        until(async || server.number("select count(*) from sessions where base_revision = 1").await == 130).await;
        assert_eq!(would_trim(server, &policy).await, (0, 0));
    }

    async fn stubs_go_when_they_are_old(server: &TestServer) with ["--sweep-interval=20ms"] {
        fill(server, "s", 6).await;
        server.post(format!("{S}/s/trim")).json(r#"{"keepLast":1}"#).await.expect(200);
        let event = |n: usize, k: &str| json!({"id": format!("e{n}"), "timestamp": if n.is_multiple_of(2) { 1 } else { 4_000_000_000_i64 },
            "actions": {"stateDelta": {k: n}}});
        let send = async |n: usize, k: &str| server.post(EVENTS).json(event(n, k)).await;
        age(server, "s", 3).await;
        put(server, &json!({"events": {"stubsMaxAge": "30d"}})).await;
        until(async || server.number("select count(*) from events").await == 3).await;
        send(4, "n").await.expect(200);
        send(4, "m").await.problem(409, "event_id_conflict");
        // The id is unknown.
        assert_eq!(send(2, "m").await.expect(201).json()["sequence"], 7);
        put(server, &json!({"events": {"stubsMaxAge": 0.000001}})).await;
        until(async || server.number("select count(*) from events").await == 2).await;
        assert_eq!(send(5, "m").await.expect(201).json()["sequence"], 8);
        let fork = server.post(format!("{S}/s/fork")).json(r#"{"atRevision":5}"#).await.expect(201).json();
        assert_eq!((&fork["revision"], &fork["state"]["n"]), (&json!(5), &json!(5)));
        // Whoever moves it takes what there is.
        let export = server.get(format!("{S}/s/export")).await.expect(200);
        let import = server.post("/v1/import?appName=moved");
        let lines = import.body("application/x-ndjson", export.text().to_owned()).await.expect(200);
        assert!(lines.text().contains(r#""result":"created""#), "{}", lines.text());
    }

    async fn shared_state_of_long_ago_is_forgotten(server: &TestServer) with ["--sweep-interval=20ms"] {
        // Event N sets user:n and app:n to N, and `user:only` lives from the third to the fourth.
        for n in 1..=6 {
            let mut delta = json!({"n": n, "user:n": n, "app:n": n, "user:kept": 1});
            if n == 3 {
                delta["user:only"] = json!(3);
            }
            let ops = if n == 4 { json!([{"op": "remove", "key": "user:only"}]) } else { json!([]) };
            if n == 1 {
                server.create("{}").await;
            }
            server.append(json!({"id": format!("e{n}"), "actions": {"stateDelta": delta, "stateOps": ops}}).to_string()).await;
        }
        let at = async |n: usize, scope: &str| server.get(format!("{STATE}?atRevision={n}{scope}")).await;
        let mut states = Vec::new();
        for n in 0..=6 {
            states.push(at(n, "").await.expect(200).text().to_owned());
        }
        for log in ["user_log", "app_log"] {
            server.execute(&format!("update {log} set time = time - 3456000000000 where revision <= 4")).await;
        }
        let rows = async |table: &str| server.number(&format!("select count(*) from {table}")).await;
        let spans = async || (rows("user_spans").await, rows("app_spans").await);
        assert_eq!(spans().await, (11, 5));
        put(server, &json!({"sharedHistory": {"maxAge": "41d"}})).await;
        tokio::time::sleep(Duration::from_millis(100)).await;
        assert_eq!(spans().await, (11, 5));
        put(server, &json!({"sharedHistory": {"maxAge": "30d"}})).await;
        until(async || spans().await == (4, 2)).await;
        until(async || server.number("select count(*) from user_log where value is null").await == 0).await;
        // What is kept: of each value that held at the fourth revision or later.
        assert_eq!((rows("user_log").await, rows("app_log").await), (6, 3));
        // Nothing shared was there at the creation.
        for n in [0, 4, 5, 6] {
            assert_eq!(at(n, "").await.expect(200).text(), states[n], "{n}");
        }
        for n in 1..4 {
            at(n, "").await.problem(410, "revision_trimmed");
            at(n, "&scope=user").await.problem(410, "revision_trimmed");
            assert_eq!(at(n, "&scope=session").await.expect(200).text(), format!(r#"{{"n":{n}}}"#));
        }
        // When a key was removed is not known, so it may have been after the third event.
        let given = |since: usize| {
            let actions = json!({"stateDelta": {"x": 1}, "preconditions": [{"key": "user:only", "revision": since}]});
            json!({"actions": actions})
        };
        server.post(EVENTS).json(given(3)).await.problem(412, "revision_mismatch");
        server.post(EVENTS).json(given(4)).await.expect(201);
        // It goes on.
        server.append(r#"{"actions":{"stateDelta":{"user:n":7,"user:kept":2}}}"#).await;
        server.execute("update user_log set time = time - 3456000000000").await;
        until(async || rows("user_spans").await == 0).await;
        at(6, "").await.problem(410, "revision_trimmed");
        let now = server.get(STATE).await.expect(200);
        assert_eq!(at(8, "").await.expect(200).text(), now.text());
    }

    async fn much_shared_history_is_forgotten_in_parts(server: &TestServer) with ["--sweep-interval=20ms"] {
        let users: Vec<String> = (0..120).map(|n| format!("/v1/apps/app/users/u{n:03}/state")).collect();
        for user in &users {
            for n in 0..2 {
                server.patch(user).json(json!({"stateDelta": {"a": n}})).await.expect(200);
            }
        }
        // More in one revision, and in one scope, than goes at once.
        for n in 0..3 {
            let delta: serde_json::Map<_, _> = (0..900).map(|key| (format!("k{key}"), json!(n))).collect();
            server.patch("/v1/apps/app/state").json(json!({"stateDelta": delta})).await.expect(200);
            let gone: Vec<_> = (0..900).map(|key| json!({"op": "remove", "key": format!("k{key}")})).collect();
            server.patch("/v1/apps/app/state").json(json!({"stateOps": gone})).await.expect(200);
        }
        server.execute("update user_log set time = time - 3456000000000; update app_log set time = time - 3456000000000").await;
        put(server, &json!({"sharedHistory": {"maxAge": "1d"}})).await;
        let left = async || {
            let count = async |table: &str| server.number(&format!("select count(*) from {table}")).await;
            (count("user_log").await, count("user_spans").await, count("app_log").await, count("app_spans").await)
        };
        until(async || left().await == (120, 0, 0, 0)).await;
        until(async || server.number("select count(*) from user_scopes where emptied = 2").await == 120).await;
        assert_eq!(server.get(&users[7]).await.expect(200).text(), r#"{"a":1}"#);
    }
}
