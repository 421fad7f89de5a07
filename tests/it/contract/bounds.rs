//! The limits that a policy sets on stored data.

use std::time::Duration;

use serde_json::{Value, json};

use crate::support::client::{Answer, Client, EVENTS, ONE, S, STATE};
use crate::support::databases::on_both_databases;
use crate::support::server::TestServer;

const POLICY: &str = "/v1/apps/app/policy";
const ADK: &str = "/apps/app/users/user/sessions";

async fn limit(server: &Client, limits: Value) {
    let policy = json!({"limits": limits});
    let shown = server.put(POLICY).json(&policy).await.expect(200);
    assert_eq!(shown.json(), policy);
}

/// A refusal by this bound.
#[track_caller]
fn reached(answer: &Answer, bound: &str) {
    let problem = answer.problem(409, "limit_reached");
    assert_eq!((&problem["limit"], &problem["outcome"]), (&json!(bound), &json!("not_applied")), "{answer}");
}

/// As ADK's paths say it.
#[track_caller]
fn adk_reached(answer: &Answer, bound: &str) {
    assert_eq!(answer.status(), 409, "{answer}");
    assert_eq!(answer.json()["limit"], bound, "{answer}");
}

fn events(ids: std::ops::Range<usize>) -> Value {
    ids.map(|n| json!({"id": format!("e{n}"), "author": "agent", "actions": {"stateDelta": {"k": n}}})).collect()
}

on_both_databases! {
    async fn a_session_has_no_more_events_than_its_policy_allows(server: &TestServer) {
        const BOUND: &str = "eventsPerSession";
        server.create("{}").await;
        server.append(events(0..3)).await;
        limit(server, json!({"eventsPerSession": 4})).await;
        let before = server.shown().await;
        reached(&server.post(EVENTS).json(events(3..5)).await, BOUND);
        assert_eq!(server.shown().await, before, "a batch is refused as a whole");
        server.append(events(3..4)).await;

        let full = server.shown().await;
        reached(&server.post(EVENTS).json(events(4..5)).await, BOUND);
        reached(&server.patch(STATE).json(json!({"stateDelta": {"k": 9}})).await, BOUND);
        reached(&server.put(format!("{STATE}/x")).json("1").await, BOUND);
        reached(&server.delete(format!("{STATE}/k")).await, BOUND);
        reached(&server.post(format!("{ONE}/rewind")).json(json!({"toRevision": 1})).await, BOUND);
        adk_reached(&server.patch(format!("{ADK}/s")).json(json!({"stateDelta": {"k": 9}})).await, BOUND);
        assert_eq!(server.shown().await, full);
        // What stores nothing is no event too many.
        let again = server.post(EVENTS).json(events(1..4)).await.expect(200);
        assert_eq!(again.header("idempotent-replayed"), Some("true"));
        server.post(EVENTS).json(json!({"partial": true, "author": "agent"})).await.expect(200);
        server.delete(format!("{STATE}/none")).await.expect(204);
        server.post(EVENTS).json(json!({"id": "e1", "author": "other"})).await.problem(409, "event_id_conflict");
        server.patch("/v1/apps/app/state").json(json!({"stateDelta": {"k": 1}})).await.expect(200);
        server.patch(ONE).json(json!({"displayName": "n"})).await.expect(200);

        // Trimmed events do not count.
        server.post(format!("{ONE}/trim")).json(json!({"beforeSequence": 3})).await.expect(200);
        reached(&server.post(EVENTS).json(events(4..7)).await, BOUND);
        server.append(events(4..6)).await;
        reached(&server.post(EVENTS).json(events(6..7)).await, BOUND);
        // What is there stays, and is read as ever.
        limit(server, json!({"eventsPerSession": 1})).await;
        assert_eq!(server.get(EVENTS).await.expect(200).json()["events"].as_array().expect("a list").len(), 4);
        reached(&server.post(EVENTS).json(events(6..7)).await, BOUND);
        limit(server, json!({"eventsPerSession": 5})).await;
        server.append(events(6..7)).await;
        reached(&server.post(EVENTS).json(events(7..8)).await, BOUND);
        server.delete(POLICY).await.expect(204);
        server.append(events(7..30)).await;
        // Of another app, nothing is bounded.
        limit(server, json!({"eventsPerSession": 1})).await;
        let other = json!({"sessionId": "s", "events": events(0..5)});
        server.post("/v1/apps/other/users/user/sessions").json(other).await.expect(201);
    }

    async fn no_session_begins_with_more_events_than_its_policy_allows(server: &TestServer) {
        const BOUND: &str = "eventsPerSession";
        server.create(&json!({"sessionId": "s", "events": events(0..6)}).to_string()).await;
        server.post(format!("{ONE}/trim")).json(json!({"beforeSequence": 2})).await.expect(200);
        limit(server, json!({"eventsPerSession": 3})).await;
        let four = |id: &str| json!({"sessionId": id, "events": events(0..4)});
        reached(&server.post(S).json(four("a")).await, BOUND);
        reached(&server.put(format!("{S}/a")).json(json!({"events": events(0..4)})).await, BOUND);
        // At ADK's path, events come without actions.
        let plain: Value = (0..4).map(|n| json!({"id": format!("e{n}"), "author": "agent"})).collect();
        adk_reached(&server.post(ADK).json(json!({"sessionId": "a", "events": plain})).await, BOUND);
        reached(&server.post(format!("{ONE}/fork")).json(json!({"sessionId": "a"})).await, BOUND);
        reached(&server.post(format!("{ONE}/fork")).json(json!({"sessionId": "a", "atRevision": 5})).await, BOUND);
        server.get(format!("{S}/a")).await.problem(404, "session_not_found");
        server.post(format!("{ONE}/fork")).json(json!({"sessionId": "f", "atRevision": 4})).await.expect(201);
        reached(&server.post(format!("{S}/f/events")).json(events(6..7)).await, BOUND);
        server.post(S).json(json!({"sessionId": "b", "events": events(0..3)})).await.expect(201);
        reached(&server.post(format!("{S}/b/events")).json(events(6..7)).await, BOUND);
        // A session that is there is found, whatever the request would have made.
        server.put(format!("{S}/b")).json(json!({"events": events(0..4)})).await.expect(200);
    }

    async fn a_user_has_no_more_sessions_than_the_policy_allows(server: &TestServer) {
        const BOUND: &str = "sessionsPerUser";
        let create = |id: &str| server.post(S).json(json!({"sessionId": id}));
        create("a").header("idempotency-key", "k").await.expect(201);
        limit(server, json!({"sessionsPerUser": 2, "eventsPerSession": 10})).await;
        create("b").await.expect(201);
        reached(&create("c").await, BOUND);
        reached(&server.post(S).await, BOUND);
        reached(&server.post(S).json(json!({"state": {"app:k": 1}, "events": events(0..2)})).await, BOUND);
        reached(&server.put(format!("{S}/c")).await, BOUND);
        reached(&server.put(format!("{S}/c")).header("if-none-match", "*").await, BOUND);
        reached(&server.post(format!("{S}/a/fork")).await, BOUND);
        adk_reached(&server.post(ADK).await, BOUND);
        adk_reached(&server.post(format!("{ADK}/c")).json("{}").await, BOUND);
        assert_eq!(server.get("/v1/apps/app/state").await.expect(200).json(), json!({}));
        // What makes no session is no session too many.
        let again = create("a").header("idempotency-key", "k").await.expect(200);
        assert_eq!(again.header("idempotent-replayed"), Some("true"));
        server.put(format!("{S}/a")).await.expect(200);
        create("a").await.problem(409, "session_already_exists");
        server.post(format!("{S}/a/events")).json(events(0..2)).await.expect(201);
        server.post("/v1/apps/app/users/other/sessions").await.expect(201);
        server.post("/v1/apps/other/users/user/sessions").await.expect(201);
        // What is gone leaves room, what has expired too.
        server.delete(format!("{S}/b")).await.expect(204);
        server.post(S).json(json!({"sessionId": "d", "ttl": 0.2})).await.expect(201);
        server.get_until(&format!("{S}/d"), 404).await;
        create("e").await.expect(201);
        reached(&create("f").await, BOUND);
        limit(server, json!({"sessionsPerUser": 1})).await;
        let list = server.get(S).await.expect(200).json();
        assert_eq!(list["sessions"].as_array().expect("a list").len(), 2, "what is there stays");
        reached(&create("f").await, BOUND);
        limit(server, json!({"sessionsPerUser": 3})).await;
        server.post(format!("{S}/a/fork")).json(json!({"sessionId": "f"})).await.expect(201);
        reached(&create("g").await, BOUND);
    }

    async fn a_user_has_no_more_bytes_of_files_than_the_policy_allows(server: &TestServer) {
        const BOUND: &str = "artifactBytesPerUser";
        const FILES: &str = "/v1/apps/app/users/user/sessions/s/artifacts";
        for id in ["s", "t"] {
            server.post(S).json(json!({"sessionId": id})).await.expect(201);
        }
        limit(server, json!({"artifactBytesPerUser": 300_000})).await;
        let put = |path: &str, bytes: usize| server.put(path).body("a/b", vec![b'x'; bytes]);
        let t = FILES.replace("/s/", "/t/");
        put(&format!("{FILES}/a"), 200_000).await.expect(201);
        put(&format!("{FILES}/a"), 50_000).await.expect(201);
        let before = server.shown().await;
        for path in [format!("{FILES}/a"), format!("{t}/b"), format!("{FILES}/user:c"), "/v1/apps/app/users/user/artifacts/c".to_owned()] {
            for bytes in [50_001, 100_000] {
                reached(&put(&path, bytes).await, BOUND);
            }
        }
        let text = "x".repeat(50_001);
        reached(&server.post(FILES).json(json!({"name": "d", "part": {"text": text}})).await, BOUND);
        let part = json!({"filename": "d", "artifact": {"text": text}});
        adk_reached(&server.post(format!("{ADK}/s/artifacts")).json(part).await, BOUND);
        assert_eq!(server.shown().await, before, "no event of what was refused");
        // Copies share their bytes, and what has none is no byte too many.
        server.post(format!("{ONE}/fork")).json(json!({"sessionId": "f"})).await.expect(201);
        server.post(format!("{ONE}/rewind")).json(json!({"toRevision": 1})).await.expect(200);
        put(&format!("{FILES}/user:c"), 50_000).await.expect(201);
        put(&format!("{t}/e"), 0).await.expect(201);
        server.post(FILES).json(json!({"name": "g", "part": {"fileData": {"fileUri": "gs://a/b"}}})).await.expect(201);
        reached(&put(&format!("{t}/b"), 1).await, BOUND);
        put("/v1/apps/app/users/other/artifacts/c", 300_000).await.expect(201);
        reached(&put("/v1/apps/app/users/other/artifacts/c", 1).await, BOUND);
        // What is gone leaves room: a version, a session, one that has expired.
        server.delete(format!("{FILES}/user:c")).await.expect(204);
        put(&format!("{t}/b"), 50_000).await.expect(201);
        server.delete(format!("{S}/t")).await.expect(204);
        put(&format!("{FILES}/h"), 50_000).await.expect(201);
        for id in ["s", "f"] {
            reached(&put(&format!("{FILES}/h"), 1).await, BOUND);
            server.delete(format!("{S}/{id}")).await.expect(204);
            if id == "s" {
                server.post(S).json(json!({"sessionId": "s"})).await.expect(201);
                // The fork has the first two.
                put(&format!("{FILES}/h"), 50_000).await.expect(201);
            }
        }
    }

    async fn saves_at_the_same_time_do_not_exceed_the_bytes_of_a_user(server: &TestServer) {
        server.put(POLICY).json(json!({"limits": {"artifactBytesPerUser": 1000}})).await.expect(200);
        for n in 0..8 {
            server.post(S).json(json!({"sessionId": n.to_string()})).await.expect(201);
        }
        let save = |n: usize| server.put(format!("{S}/{n}/artifacts/f")).body("a/b", vec![b'x'; 300]);
        let answers = futures_util::future::join_all((0..8).map(|n| async move { save(n).await })).await;
        assert_eq!(answers.iter().filter(|answer| answer.status() == 201).count(), 3, "{answers:?}");
        answers.iter().filter(|answer| answer.status() != 201).for_each(|answer| reached(answer, "artifactBytesPerUser"));
    }

    async fn an_import_is_bounded_by_no_policy(server: &TestServer) {
        for id in ["a", "b", "c"] {
            server.post(S).json(json!({"sessionId": id, "events": events(0..3)})).await.expect(201);
        }
        for path in [format!("{S}/a/artifacts/f?event=none"), "/v1/apps/app/users/user/artifacts/f".to_owned()] {
            server.put(path).body("a/b", "bytes").await.expect(201);
        }
        let export = server.get("/v1/apps/app/export").await.expect(200).text().to_owned() + "\n";
        let policy = json!({"limits": {"sessionsPerUser": 1, "eventsPerSession": 1, "artifactBytesPerUser": 1}});
        server.put("/v1/apps/to/policy").json(policy).await.expect(200);
        let answer = server.post("/v1/import?appName=to").body("application/x-ndjson", export).await.expect(200);
        assert!(answer.text().contains(r#"{"sessions":3,"events":9,"artifacts":2}"#), "{answer}");
        let made = server.post("/v1/apps/to/users/user/sessions").await;
        reached(&made, "sessionsPerUser");
        let saved = server.put("/v1/apps/to/users/user/artifacts/g").body("a/b", "x").await;
        reached(&saved, "artifactBytesPerUser");
        reached(&server.post("/v1/apps/to/users/user/sessions/a/events").json(events(5..6)).await, "eventsPerSession");
    }

    async fn a_bound_is_a_whole_number_from_1(server: &TestServer) {
        for (limits, field) in [
            (json!({"sessionsPerUser": 0}), "/limits/sessionsPerUser"),
            (json!({"eventsPerSession": -1}), "/limits/eventsPerSession"),
            (json!({"artifactBytesPerUser": 0}), "/limits/artifactBytesPerUser"),
            (json!({"eventsPerSession": 1.5}), "/limits/eventsPerSession"),
            (json!({"eventsPerSession": "10"}), "/limits/eventsPerSession"),
            (json!({"events": 1}), "/limits/events"),
            (json!([]), "/limits"),
        ] {
            let answer = server.put(POLICY).json(json!({"limits": limits})).await;
            let problem = answer.problem(422, "invalid_argument");
            assert_eq!(problem["errors"][0]["field"], field, "{answer}");
        }
        let snake = json!({"limits": {"sessions_per_user": 7, "events_per_session": null}, "sessions": {"maxAge": "9d"}});
        let shown = server.put(POLICY).json(snake).await.expect(200).json();
        assert_eq!(shown, json!({"sessions": {"maxAge": "9d"}, "limits": {"sessionsPerUser": 7}}));
        // They remove nothing.
        server.create("{}").await;
        server.append(events(0..5)).await;
        let trial = server.put(format!("{POLICY}?dryRun=true")).json(json!({"limits": {"eventsPerSession": 1}}));
        let nothing = json!({"wouldExpire": {"sessions": 0}, "wouldTrim": {"sessions": 0, "events": 0}});
        assert_eq!(trial.await.expect(200).json(), nothing);
        // A dry run bounds nothing.
        server.append(events(5..6)).await;
        limit(server, json!({"eventsPerSession": 1})).await;
        tokio::time::sleep(Duration::from_millis(50)).await;
        assert_eq!(server.get(EVENTS).await.expect(200).json()["events"].as_array().expect("a list").len(), 6);
    }
}
