//! Policies: how long the data of an app is kept.

use std::time::Duration;

use serde_json::{Value, json};

use crate::support::client::{Client, EVENTS, ONE, S};
use crate::support::databases::on_both_databases;
use crate::support::server::TestServer;

const POLICY: &str = "/v1/apps/app/policy";

async fn put(server: &Client, policy: &Value) {
    server.put(POLICY).json(policy).await.expect(200);
}

async fn would_expire(server: &Client, policy: &Value) -> u64 {
    let answer = server.put(format!("{POLICY}?dryRun=true")).json(policy).await.expect(200).json();
    assert_eq!(answer["wouldTrim"], json!({"sessions": 0, "events": 0}));
    answer["wouldExpire"]["sessions"].as_u64().expect("a count")
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
                 update session_updates set update_time = 1700000000000000 where id < 's0700'",
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
}
