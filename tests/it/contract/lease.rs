//! One turn at a time: leases.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use reqwest::Method;
use serde_json::{Value, json};
use tokio::join;
use tokio::time::sleep;

use crate::support::client::{Answer, Client, EVENTS, ONE, Request, S, STATE};
use crate::support::databases::on_both_databases;
use crate::support::server::TestServer;

const LEASE: &str = "/v1/apps/app/users/user/sessions/s/lease";
const ADK: &str = "/apps/app/users/user/sessions/s";

/// Asks for the lease of [`ONE`].
fn take(server: &Client, body: Value) -> Request {
    server.post(LEASE).json(body)
}

/// `E-I`, of a lease.
fn name(lease: &Answer) -> String {
    let lease = lease.json();
    format!("{}-{}", lease["epoch"], lease["incarnation"].as_str().expect("an incarnation"))
}

fn members(answer: &Answer) -> Vec<String> {
    let mut members: Vec<String> = answer.json().as_object().expect("an object").keys().cloned().collect();
    members.sort_unstable();
    members
}

fn now() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).expect("after 1970").as_secs_f64()
}

fn expire_time(answer: &Answer) -> f64 {
    answer.json()["expireTime"].as_f64().expect("a time")
}

/// The same, exactly.
fn micros(answer: &Answer) -> i64 {
    answer.raw(&["expireTime"]).replace('.', "").parse().expect("a time with six decimals")
}

/// Lets the lease of [`ONE`] expire.
async fn expire(server: &TestServer) {
    server.execute("update sessions set lease_expire = 1 where id = 's'").await;
}

/// Every write that takes the header: a request of what is there, which changes something.
fn writes(server: &Client) -> Vec<(&'static str, Request)> {
    vec![
        ("append", server.post(EVENTS).json(r#"{"actions":{"stateDelta":{"new":1}}}"#)),
        ("batch", server.post(EVENTS).json(r#"[{"author":"a"},{"author":"b"}]"#)),
        ("patch state", server.patch(STATE).json(r#"{"stateDelta":{"k":2}}"#)),
        ("put key", server.put(format!("{STATE}/k")).json("3")),
        ("delete key", server.delete(format!("{STATE}/k"))),
        ("rewind", server.post(format!("{ONE}/rewind")).json(r#"{"toRevision":0}"#)),
        ("metadata", server.patch(ONE).json(r#"{"displayName":"n"}"#)),
        ("adk patch", server.patch(ADK).json(r#"{"stateDelta":{"k":4}}"#)),
        ("delete", server.delete(ONE)),
    ]
}

async fn fill(server: &Client) {
    server.create(r#"{"state":{"k":1},"events":[{"id":"e","invocationId":"i"}]}"#).await;
}

/// What [`ONE`] shows, with its lease.
async fn shown(server: &Client) -> (String, String, String) {
    let (text, tag) = server.shown().await;
    (text, tag, server.get(LEASE).await.expect(200).text().to_owned())
}

on_both_databases! {
    async fn a_lease_is_granted_shown_and_released(server: &TestServer) {
        fill(server).await;
        let never = server.get(LEASE).await.expect(200);
        let mark = server.get(ONE).await.tag().3;
        assert_eq!(never.json(), json!({"epoch": 0, "incarnation": mark, "watchers": 0}));
        server.head(LEASE).await.expect(200);

        let before = (server.shown().await, now());
        let granted = take(server, json!({"owner": "pod-7/4f1c", "invocationId": "i1", "ttl": "30s"})).await.expect(201);
        assert_eq!(
            members(&granted),
            ["epoch", "exclusive", "expireTime", "incarnation", "invocationId", "owner", "revision"]
        );
        let lease = granted.json();
        assert_eq!((&lease["epoch"], &lease["incarnation"]), (&json!(1), &json!(mark)));
        assert_eq!((&lease["owner"], &lease["invocationId"]), (&json!("pod-7/4f1c"), &json!("i1")));
        assert_eq!((&lease["exclusive"], &lease["revision"]), (&json!("turn"), &json!(1)));
        let lasts = expire_time(&granted) - before.1;
        assert!((29.0..600.0).contains(&lasts), "{lasts}");
        // It is no change of the session.
        assert_eq!(server.shown().await, before.0);
        let held = server.get(LEASE).await.expect(200);
        assert_eq!(members(&held), ["epoch", "expireTime", "incarnation", "owner", "watchers"]);
        assert_eq!(held.json()["owner"], "pod-7/4f1c");
        assert_eq!(held.raw(&["expireTime"]), granted.raw(&["expireTime"]));

        server.delete(format!("{LEASE}?epoch=1&incarnation={mark}")).await.expect(204);
        assert_eq!(server.get(LEASE).await.json(), json!({"epoch": 1, "incarnation": mark, "watchers": 0}));
        assert_eq!(server.shown().await, before.0);
        // A minute, if nothing is said.
        let next = take(server, json!({"owner": "b"})).await.expect(201);
        assert_eq!((next.json()["epoch"].clone(), next.json().get("invocationId")), (json!(2), None));
        let lasts = expire_time(&next) - now();
        assert!((30.0..=60.5).contains(&lasts), "{lasts}");
    }

    async fn a_lease_that_is_held_is_refused_with_its_holder(server: &TestServer) {
        fill(server).await;
        let granted = take(server, json!({"owner": "a", "ttl": 100})).await.expect(201);
        let refused = take(server, json!({"owner": "b", "ttl": 5})).await;
        let problem = refused.problem(409, "lease_held");
        assert_eq!(problem["outcome"], "not_applied");
        assert_eq!((&problem["owner"], &problem["epoch"]), (&json!("a"), &json!(1)));
        assert_eq!(refused.raw(&["expireTime"]), granted.raw(&["expireTime"]));
        let seconds: u64 = refused.header("retry-after").expect("when").parse().expect("whole seconds");
        assert!((1..=100).contains(&seconds), "{seconds}");
        // The same owner, but another turn.
        take(server, json!({"owner": "a", "invocationId": "i"})).await.problem(409, "lease_held");
        expire(server).await;
        // It is shown until someone takes it over.
        assert_eq!(server.get(LEASE).await.json()["owner"], "a");
        let next = take(server, json!({"owner": "b", "ttl": 100})).await.expect(201);
        assert_eq!(next.json()["epoch"], 2);
        let refused = take(server, json!({"owner": "a"})).await;
        let seconds: u64 = refused.header("retry-after").expect("when").parse().expect("whole seconds");
        assert!((1..=100).contains(&seconds), "{seconds}");
        let stolen = take(server, json!({"owner": "a", "steal": true})).await.expect(201);
        assert_eq!(stolen.json()["epoch"], 3);
    }

    async fn the_same_request_again_is_a_retry_until_someone_supersedes_it(server: &TestServer) {
        fill(server).await;
        for (owner, invocation) in [("a", Value::Null), ("a", json!("i")), ("b", json!(""))] {
            let ask = |more: Value| {
                let mut body = json!({"owner": owner, "invocationId": invocation, "ttl": 100});
                body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
                take(server, body)
            };
            let first = ask(json!({"steal": true})).await.expect(201);
            let again = ask(json!({"ttl": 500, "exclusive": "all"})).await.expect(200);
            assert_eq!(name(&again), name(&first));
            assert_eq!(again.json()["exclusive"], "all");
            assert!(expire_time(&again) > expire_time(&first) + 10.0, "{again}");
            // As it is now asked, and not as before.
            let again = ask(json!({"steal": true})).await.expect(200);
            assert_eq!((name(&again), &again.json()["exclusive"]), (name(&first), &json!("turn")));
            // Also once it has expired.
            expire(server).await;
            assert_eq!(name(&ask(json!({})).await.expect(200)), name(&first));
        }
        let epoch = server.get(LEASE).await.json()["epoch"].as_i64().unwrap();
        let other = take(server, json!({"owner": "c", "steal": true, "ttl": 60})).await.expect(201);
        assert_eq!(other.json()["epoch"], epoch + 1);
        // Superseded: an ordinary request.
        let late = json!({"owner": "b", "invocationId": ""});
        take(server, late.clone()).await.problem(409, "lease_held");
        server.delete(format!("{LEASE}?epoch={}", epoch + 1)).await.expect(204);
        assert_eq!(take(server, late.clone()).await.expect(201).json()["epoch"], epoch + 2);
        // Released: not a retry any more.
        server.delete(format!("{LEASE}?epoch={}", epoch + 2)).await.expect(204);
        assert_eq!(take(server, late).await.expect(201).json()["epoch"], epoch + 3);
    }

    async fn a_lease_is_renewed_by_its_holder_alone(server: &TestServer) {
        fill(server).await;
        let put = |body: Value| server.put(LEASE).json(body);
        assert_eq!(put(json!({"epoch": 0, "ttl": 5})).await.problem(409, "fenced")["epoch"], 0);
        let first = take(server, json!({"owner": "a", "ttl": 100, "exclusive": "all"})).await.expect(201);
        let mark = first.json()["incarnation"].clone();
        expire(server).await;
        // Expiry is not part of it.
        let renewed = put(json!({"epoch": 1, "incarnation": mark, "ttl": "300s"})).await.expect(200);
        assert_eq!(members(&renewed), members(&first));
        assert_eq!((name(&renewed), &renewed.json()["exclusive"]), (name(&first), &json!("all")));
        assert!(expire_time(&renewed) > now() + 100.0, "{renewed}");
        let shorter = put(json!({"epoch": 1, "ttl": 2})).await.expect(200);
        assert!(expire_time(&shorter) < expire_time(&renewed), "{shorter}");
        for (epoch, incarnation) in [(0, mark.clone()), (2, mark.clone()), (1, json!("7")), (1, json!("ffffffffffffffff"))] {
            let problem = put(json!({"epoch": epoch, "incarnation": incarnation, "ttl": 5})).await.problem(409, "fenced");
            assert_eq!((&problem["epoch"], &problem["outcome"]), (&json!(1), &json!("not_applied")));
            assert!(problem.get("owner").is_none() && problem.get("expireTime").is_none());
        }
        take(server, json!({"owner": "b", "steal": true})).await.expect(201);
        assert_eq!(put(json!({"epoch": 1, "ttl": 5})).await.problem(409, "fenced")["epoch"], 2);
        server.delete(format!("{LEASE}?epoch=2")).await.expect(204);
        assert_eq!(put(json!({"epoch": 2, "ttl": 5})).await.problem(409, "fenced")["epoch"], 2);
    }

    async fn a_release_of_another_lease_has_no_effect(server: &TestServer) {
        fill(server).await;
        server.delete(format!("{LEASE}?epoch=0")).await.expect(204);
        let first = take(server, json!({"owner": "a"})).await.expect(201);
        let mark = first.json()["incarnation"].as_str().unwrap().to_owned();
        let held = server.get(LEASE).await.text().to_owned();
        for query in ["epoch=0", "epoch=2", "epoch=1&incarnation=7", "epoch=99999999999999999999"] {
            server.delete(format!("{LEASE}?{query}")).await.expect(204);
            assert_eq!(server.get(LEASE).await.text(), held, "{query}");
        }
        for _ in 0..2 {
            server.delete(format!("{LEASE}?incarnation={mark}&epoch=1")).await.expect(204);
            assert!(server.get(LEASE).await.json().get("owner").is_none());
        }
        for (query, field) in [
            ("", "epoch"), ("?epoch=", "epoch"), ("?epoch=-1", "epoch"), ("?epoch=x", "epoch"), ("?incarnation=7", "epoch"),
            ("?epoch=1&incarnation=", "incarnation"), ("?epoch=1&incarnation=x", "incarnation"), ("?epoch=1&owner=a", "owner"),
        ] {
            server.delete(format!("{LEASE}{query}")).await.invalid(&[field]);
        }
    }

    async fn a_request_that_breaks_a_rule_is_refused(server: &TestServer) {
        fill(server).await;
        for (body, field) in [
            (json!({}), "owner"),
            (json!({"owner": ""}), "owner"),
            (json!({"owner": 7}), "owner"),
            (json!({"owner": "x".repeat(257)}), "owner"),
            (json!({"owner": "a", "ttl": 0}), "ttl"),
            (json!({"owner": "a", "ttl": 0.5}), "ttl"),
            (json!({"owner": "a", "ttl": 901}), "ttl"),
            (json!({"owner": "a", "ttl": "901s"}), "ttl"),
            (json!({"owner": "a", "exclusive": "none"}), "exclusive"),
            (json!({"owner": "a", "steal": "yes"}), "steal"),
            (json!({"owner": "a", "epoch": 1}), "epoch"),
        ] {
            take(server, body).await.invalid(&[field]);
        }
        for (body, fields) in [
            (json!({}), &["epoch", "ttl"][..]),
            (json!({"epoch": -1, "ttl": 5}), &["epoch"]),
            (json!({"epoch": "1", "ttl": 5}), &["epoch"]),
            (json!({"epoch": 1, "ttl": 0.9}), &["ttl"]),
            (json!({"epoch": 1, "ttl": 901}), &["ttl"]),
            (json!({"epoch": 1, "ttl": 5, "incarnation": "x"}), &["incarnation"]),
            (json!({"epoch": 1, "ttl": 5, "owner": "a"}), &["owner"]),
        ] {
            server.put(LEASE).json(body).await.invalid(fields);
        }
        server.post(LEASE).await.problem(400, "invalid_json");
        assert_eq!(server.get(LEASE).await.json()["epoch"], 0);
        // What is at the bounds is taken: also by snake_case, and an owner of any characters.
        let owner = "\u{0}\\é\"".to_owned() + &"x".repeat(251);
        let bounds = json!({"owner": owner, "invocation_id": "\u{0}i", "ttl": "1s", "exclusive": null, "steal": null});
        let granted = take(server, bounds.clone()).await.expect(201);
        assert_eq!((&granted.json()["owner"], &granted.json()["invocationId"]), (&json!(owner), &json!("\u{0}i")));
        assert_eq!(take(server, bounds).await.expect(200).json()["owner"], json!(owner));
        take(server, json!({"owner": "b", "steal": true, "ttl": 900})).await.expect(201);
        for (method, path) in [("GET", LEASE), ("PUT", LEASE), ("POST", LEASE)] {
            let path = path.replace("/s/", "/none/");
            let body = if method == "PUT" { json!({"epoch": 1, "ttl": 5}) } else { json!({"owner": "a"}) };
            let request = server.request(Method::from_bytes(method.as_bytes()).unwrap(), &path);
            let answer = if method == "GET" { request.await } else { request.json(body).await };
            answer.problem(404, "session_not_found");
        }
        server.delete(format!("{S}/none/lease?epoch=1")).await.problem(404, "session_not_found");
        server.patch(LEASE).json("{}").await.problem(405, "method_not_allowed");
    }

    async fn a_write_under_the_present_lease_passes_and_under_another_is_fenced(server: &TestServer) {
        for exclusive in ["turn", "all"] {
            for (n, (what, _)) in writes(server).into_iter().enumerate() {
                let write = || writes(server).swap_remove(n).1;
                fill(server).await;
                let old = take(server, json!({"owner": "a"})).await.expect(201);
                let present = take(server, json!({"owner": "b", "steal": true, "exclusive": exclusive})).await.expect(201);
                let before = shown(server).await;
                let mark = present.json()["incarnation"].as_str().unwrap().to_owned();
                for other in [name(&old), "1".into(), "0".into(), "3".into(), format!("3-{mark}"), "2-7".into(), "99999999999999999999".into()] {
                    // Whatever If-Match says: that comes later.
                    let mut request = write().header("sessiond-lease", &other);
                    if !what.starts_with("adk") {
                        request = request.header("if-match", "\"77\"");
                    }
                    let problem = request.await.problem(409, "fenced");
                    assert_eq!((&problem["epoch"], &problem["outcome"]), (&json!(2), &json!("not_applied")), "{what} {other}");
                    assert_eq!(shown(server).await, before, "{what} {other}");
                }
                if !what.starts_with("adk") {
                    let late = write().header("sessiond-lease", name(&present)).header("if-match", "\"77\"").await;
                    late.problem(412, "revision_mismatch");
                }
                for bad in ["", "x", "-", "2-", "-7", "+2", "2,2", "2-x", "2-7-7", "2.0", "2-11111111111111111"] {
                    write().header("sessiond-lease", bad).await.invalid(&["Sessiond-Lease"]);
                }
                write().header("sessiond-lease", "2").header("sessiond-lease", "2").await.invalid(&["Sessiond-Lease"]);
                assert_eq!(shown(server).await, before, "{what}");
                let lease = if exclusive == "all" { name(&present) } else { "2".to_owned() };
                let passed = write().header("sessiond-lease", lease).await;
                assert!(passed.status < 300, "{what}: {passed}");
                if what == "delete" {
                    server.get(ONE).await.expect(404);
                } else {
                    server.delete(ONE).header("sessiond-lease", "2").await.expect(204);
                }
            }
        }
    }

    async fn a_write_without_a_lease_passes_unless_all_are_excluded(server: &TestServer) {
        let all = |server: &Client| {
            let mut all = writes(server);
            all.push(("partial", server.post(EVENTS).json(r#"{"partial":true,"author":"a"}"#)));
            all.push(("adk delete", server.delete(ADK)));
            all
        };
        for (n, (what, _)) in all(server).into_iter().enumerate() {
            let write = || all(server).swap_remove(n).1;
            fill(server).await;
            let granted = take(server, json!({"owner": "a", "exclusive": "all", "ttl": 100})).await.expect(201);
            let before = shown(server).await;
            let refused = write().await;
            let problem = refused.problem(409, "lease_held");
            assert_eq!((&problem["owner"], &problem["epoch"]), (&json!("a"), &json!(1)), "{what}");
            assert_eq!(problem["outcome"], "not_applied", "{what}");
            assert_eq!(refused.raw(&["expireTime"]), granted.raw(&["expireTime"]), "{what}");
            let seconds: u64 = refused.header("retry-after").expect("when").parse().expect("whole seconds");
            assert!((1..=100).contains(&seconds), "{what}: {seconds}");
            assert_eq!(shown(server).await, before, "{what}");
            // Before `If-Match`, where that is taken.
            if !what.starts_with("adk") {
                write().header("if-match", "\"77\"").await.problem(409, "lease_held");
            }
            // The holder lets others in.
            take(server, json!({"owner": "a"})).await.expect(200);
            let passed = write().await;
            assert!(passed.status < 300, "{what}: {passed}");
            if server.get(ONE).await.status == 200 {
                server.delete(ONE).await.expect(204);
            }
        }
    }

    async fn an_exclusive_lease_that_has_expired_or_was_released_excludes_nobody(server: &TestServer) {
        fill(server).await;
        let granted = take(server, json!({"owner": "a", "exclusive": "all", "ttl": 100})).await.expect(201);
        server.post(EVENTS).json("{}").await.problem(409, "lease_held");
        expire(server).await;
        server.append("{}").await;
        server.patch(ONE).json(r#"{"displayName":"n"}"#).await.expect(200);
        server.post(EVENTS).json(r#"{"partial":true}"#).await.expect(200);
        server.patch(STATE).json(r#"{"stateDelta":{"k":7}}"#).await.expect(200);
        // Nobody superseded the holder, who goes on, and by that excludes others again.
        server.post(EVENTS).header("sessiond-lease", name(&granted)).json("{}").await.expect(201);
        server.post(EVENTS).json("{}").await.problem(409, "lease_held");
        server.delete(format!("{LEASE}?epoch=1")).await.expect(204);
        server.append("{}").await;
        server.delete(ONE).await.expect(204);
    }

    async fn who_follows_a_session_is_counted(server: &TestServer) {
        fill(server).await;
        let watchers = async || server.get(LEASE).await.expect(200).json()["watchers"].clone();
        let watch = server.get(format!("{ONE}/watch")).stream().await;
        assert_eq!((watch.status().as_u16(), watchers().await), (200, json!(1)));
        drop(watch);
        while watchers().await != 0 {
            sleep(Duration::from_millis(10)).await;
        }
    }

    async fn what_is_no_write_to_the_session_takes_no_notice(server: &TestServer) {
        fill(server).await;
        take(server, json!({"owner": "a", "exclusive": "all"})).await.expect(201);
        let fork = server.post(format!("{ONE}/fork")).json(r#"{"sessionId":"f"}"#).await.expect(201);
        // A fork begins without one.
        let lease = server.get(format!("{S}/f/lease")).await.expect(200);
        assert_eq!(lease.json(), json!({"epoch": 0, "incarnation": fork.tag().3, "watchers": 0}));
        server.post(format!("{S}/f/events")).header("sessiond-lease", "0").json("{}").await.expect(201);
        server.put(ONE).json("{}").await.expect(200);
        server.patch("/v1/apps/app/users/user/state").json(r#"{"stateDelta":{"k":1}}"#).await.expect(200);
        server.patch("/v1/apps/app/state").json(r#"{"stateDelta":{"k":1}}"#).await.expect(200);
        server.post(format!("{ONE}/render")).json(r#"{"template":"{k}"}"#).await.expect(200);
        for path in [ONE, EVENTS, STATE, ADK, LEASE] {
            // A read does not look at it.
            server.get(path).header("sessiond-lease", "x").await.expect(200);
        }
        // And the other writes refuse the header.
        for request in [
            server.post(S).json("{}"),
            server.put(ONE).json("{}"),
            server.post(format!("{ONE}/fork")).json("{}"),
            server.patch("/v1/apps/app/users/user/state").json("{}"),
            server.patch("/v1/apps/app/state").json("{}"),
            server.delete(ADK),
            server.post("/apps/app/users/user/sessions").json("{}"),
            server.post(ADK).json("{}"),
            server.post(LEASE).json(r#"{"owner":"a"}"#),
            server.put(LEASE).json(r#"{"epoch":1,"ttl":5}"#),
            server.delete(format!("{LEASE}?epoch=1")),
        ] {
            request.header("sessiond-lease", "1").await.invalid(&["Sessiond-Lease"]);
        }
    }

    async fn a_retry_succeeds_whatever_the_lease(server: &TestServer) {
        fill(server).await;
        let first = take(server, json!({"owner": "a"})).await.expect(201);
        let event = r#"{"id":"x","author":"a","actions":{"stateDelta":{"k":5}}}"#;
        let append = |lease: &str, body: &str| server.post(EVENTS).header("sessiond-lease", lease).json(body);
        let keyed = |request: Request, key: &str| request.header("sessiond-lease", name(&first)).header("idempotency-key", key);
        let stored = append(&name(&first), event).await.expect(201);
        let all = || vec![
            (200, keyed(server.patch(STATE).json(r#"{"stateDelta":{"k":6}}"#), "patch")),
            (200, keyed(server.put(format!("{STATE}/k")).json("7"), "put")),
            (204, keyed(server.delete(format!("{STATE}/k")), "delete")),
            (200, keyed(server.post(format!("{ONE}/rewind")).json(r#"{"toRevision":0}"#), "rewind")),
            (200, keyed(server.patch(ADK).json(r#"{"stateDelta":{"k":8}}"#), "adk")),
        ];
        for (status, request) in all() {
            request.await.expect(status);
        }
        take(server, json!({"owner": "b", "steal": true, "exclusive": "all"})).await.expect(201);
        let before = shown(server).await;
        let again = append(&name(&first), event).await.expect(200);
        assert!(again.was_replayed());
        assert_eq!(again.text(), stored.text());
        assert!(server.post(EVENTS).json(event).await.expect(200).was_replayed());
        for (status, request) in all() {
            assert!(request.await.expect(status).was_replayed());
        }
        // A conflict is one, and what is new is fenced, with all that came with it.
        append(&name(&first), r#"{"id":"x","author":"b"}"#).await.problem(409, "event_id_conflict");
        append(&name(&first), &format!("[{event},{{}}]")).await.problem(409, "fenced");
        assert_eq!(shown(server).await, before);
    }

    async fn an_append_extends_its_lease_and_never_shortens_it(server: &TestServer) {
        fill(server).await;
        let granted = take(server, json!({"owner": "a", "ttl": 20})).await.expect(201);
        let until = async || micros(&server.get(LEASE).await.expect(200));
        let lease = name(&granted);
        let mut last = until().await;
        for request in [
            server.post(EVENTS).json("{}"),
            server.patch(STATE).json(r#"{"stateDelta":{"k":6}}"#),
            server.put(format!("{STATE}/k")).json("7"),
            server.delete(format!("{STATE}/k")),
            server.post(format!("{ONE}/rewind")).json(r#"{"toRevision":0}"#),
            server.patch(ADK).json(r#"{"stateDelta":{"k":8}}"#),
        ] {
            let answer = request.header("sessiond-lease", &lease).await;
            assert!(answer.status < 300, "{answer}");
            let extended = until().await;
            assert!(extended > last && extended <= (now() * 1e6) as i64 + 20_500_000, "{extended} after {last}");
            last = extended;
        }
        // Nothing else does: no side write, no retry, no partial event, no metadata.
        server.append(r#"{"id":"x"}"#).await;
        server.post(EVENTS).header("sessiond-lease", &lease).json(r#"{"id":"x"}"#).await.expect(200);
        server.post(EVENTS).header("sessiond-lease", &lease).json(r#"{"partial":true}"#).await.expect(200);
        server.patch(ONE).header("sessiond-lease", &lease).json(r#"{"displayName":"n"}"#).await.expect(200);
        assert_eq!(until().await, last);
        // A longer lease is not cut short by its ttl of later on.
        server.put(LEASE).json(json!({"epoch": 1, "ttl": 800})).await.expect(200);
        let long = until().await;
        server.execute("update sessions set lease_ttl = 1000000").await;
        server.post(EVENTS).header("sessiond-lease", &lease).json("{}").await.expect(201);
        assert_eq!(until().await, long);
    }

    async fn after_a_release_the_epoch_stays_and_brings_nothing_back(server: &TestServer) {
        fill(server).await;
        let granted = take(server, json!({"owner": "a", "exclusive": "all"})).await.expect(201);
        server.delete(format!("{LEASE}?epoch=1")).await.expect(204);
        let released = server.get(LEASE).await.expect(200).text().to_owned();
        for request in [
            server.post(EVENTS).json("{}"),
            server.patch(STATE).json(r#"{"stateDelta":{"k":6}}"#),
            server.patch(ONE).json(r#"{"displayName":"n"}"#),
            server.post(EVENTS).json(r#"{"partial":true}"#),
        ] {
            let answer = request.header("sessiond-lease", name(&granted)).await;
            assert!(answer.status < 300, "{answer}");
            assert_eq!(server.get(LEASE).await.text(), released);
        }
        server.append("{}").await;
        take(server, json!({"owner": "b"})).await.expect(201);
        server.post(EVENTS).header("sessiond-lease", name(&granted)).json("{}").await.problem(409, "fenced");
    }

    async fn zero_means_that_nobody_has_ever_had_a_lease(server: &TestServer) {
        fill(server).await;
        let mark = server.get(ONE).await.tag().3;
        for zero in ["0".to_owned(), format!("0-{mark}")] {
            server.post(EVENTS).header("sessiond-lease", &zero).json("{}").await.expect(201);
            server.patch(ONE).header("sessiond-lease", &zero).json(r#"{"displayName":"n"}"#).await.expect(200);
        }
        server.post(EVENTS).header("sessiond-lease", "0-7").json("{}").await.problem(409, "fenced");
        server.post(EVENTS).header("sessiond-lease", "1").json("{}").await.problem(409, "fenced");
        take(server, json!({"owner": "a"})).await.expect(201);
        server.delete(format!("{LEASE}?epoch=1")).await.expect(204);
        server.post(EVENTS).header("sessiond-lease", "0").json("{}").await.problem(409, "fenced");
    }

    async fn a_partial_event_is_judged_as_the_whole_one_would_be(server: &TestServer) {
        fill(server).await;
        let partial = |lease: Option<&str>| {
            let request = server.post(EVENTS).json(r#"{"partial":true,"author":"a"}"#);
            match lease {
                Some(lease) => request.header("sessiond-lease", lease),
                None => request,
            }
        };
        partial(Some("0")).await.expect(200);
        partial(Some("1")).await.problem(409, "fenced");
        let lease = name(&take(server, json!({"owner": "a", "exclusive": "all"})).await.expect(201));
        partial(Some(&lease)).await.expect(200);
        partial(Some("0")).await.problem(409, "fenced");
        let refused = partial(None).await;
        assert_eq!(refused.problem(409, "lease_held")["owner"], "a");
        // Before `If-Match`.
        partial(Some("0")).header("if-match", "\"7\"").await.problem(409, "fenced");
        partial(Some(&lease)).header("if-match", "\"7\"").await.problem(412, "revision_mismatch");
        let mixed = r#"[{"partial":true},{"author":"b"}]"#;
        server.post(EVENTS).header("sessiond-lease", "0").json(mixed).await.problem(409, "fenced");
        server.post(EVENTS).header("sessiond-lease", &lease).json(mixed).await.expect(201);
    }

    async fn a_lease_ends_with_its_incarnation(server: &TestServer) {
        fill(server).await;
        let old = take(server, json!({"owner": "a"})).await.expect(201);
        server.delete(ONE).header("sessiond-lease", name(&old)).await.expect(204);
        // There is nothing left to protect.
        server.delete(ONE).header("sessiond-lease", name(&old)).await.expect(204);
        server.post(EVENTS).header("sessiond-lease", name(&old)).json("{}").await.problem(404, "session_not_found");
        fill(server).await;
        assert_eq!(server.get(LEASE).await.json()["epoch"], 0);
        let new = take(server, json!({"owner": "b"})).await.expect(201);
        assert_eq!(new.json()["epoch"], 1);
        assert_ne!(name(&new), name(&old));
        for (n, (what, _)) in writes(server).into_iter().enumerate() {
            let fenced = writes(server).swap_remove(n).1.header("sessiond-lease", name(&old)).await;
            assert_eq!(fenced.problem(409, "fenced")["epoch"], 1, "{what}");
        }
        let mark = &old.json()["incarnation"];
        server.put(LEASE).json(json!({"epoch": 1, "incarnation": mark, "ttl": 5})).await.problem(409, "fenced");
        server.delete(format!("{LEASE}?epoch=1&incarnation={}", mark.as_str().unwrap())).await.expect(204);
        assert_eq!(server.get(LEASE).await.json()["owner"], "b");
        server.patch(ONE).json(r#"{"expireTime":1}"#).await.expect(200);
        server.get(LEASE).await.problem(404, "session_not_found");
        take(server, json!({"owner": "a"})).await.problem(404, "session_not_found");
    }

    async fn a_lease_is_waited_for(server: &TestServer) {
        fill(server).await;
        let wait = |owner: &str| server.post(format!("{LEASE}?wait=55")).json(json!({"owner": owner}));
        // What is free is granted at once, and a retry is one.
        let first = wait("a").await.expect(201);
        wait("a").await.expect(200);
        let refused = server.post(format!("{LEASE}?wait=1")).json(json!({"owner": "b"})).await;
        assert_eq!(refused.problem(409, "lease_held")["owner"], "a");
        for bad in ["61", "-1", "x", ""] {
            server.post(format!("{LEASE}?wait={bad}")).json(json!({"owner": "b"})).await.invalid(&["wait"]);
        }
        // A release, an expiry and a deletion end the wait.
        let later = async |request: Request| {
            sleep(Duration::from_millis(150)).await;
            request.await.expect(204)
        };
        let release = server.delete(format!("{LEASE}?epoch={}", first.json()["epoch"]));
        let (second, _) = join!(wait("b"), later(release));
        assert_eq!(second.expect(201).json()["epoch"], 2);
        take(server, json!({"owner": "c", "ttl": 1, "steal": true})).await.expect(201);
        let third = wait("d").await.expect(201);
        assert_eq!((&third.json()["epoch"], &third.json()["owner"]), (&json!(4), &json!("d")));
        let (gone, _) = join!(wait("e"), later(server.delete(ONE)));
        gone.problem(404, "session_not_found");
    }

    /// Its place is free again before the lease is, so the grant is not its.
    async fn whoever_has_gone_is_not_granted_a_lease(server: &TestServer) with ["--max-watchers=1"] {
        fill(server).await;
        let epoch = take(server, json!({"owner": "a"})).await.expect(201).json()["epoch"].clone();
        let request = server.post(format!("{LEASE}?wait=55")).json(json!({"owner": "gone"}));
        tokio::time::timeout(Duration::from_millis(300), request.send()).await.expect_err("it waits");
        while waits_in_vain(server).await.status() == 429 {
            sleep(Duration::from_millis(20)).await;
        }
        server.delete(format!("{LEASE}?epoch={epoch}")).await.expect(204);
        let next = take(server, json!({"owner": "b"})).await.expect(201);
        assert_eq!(next.json()["epoch"], 2);
    }
}

async fn waits_in_vain(server: &Client) -> Answer {
    server.post(format!("{LEASE}?wait=1")).json(json!({"owner": "other"})).await
}
