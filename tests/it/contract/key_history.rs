//! The past of a key: each change, when it was made, and by which event.

use std::time::Duration;

use serde_json::{Value, json};

use crate::contract::access::Guarded;
use crate::contract::transfer::{EXPORT, assert_all, exported, import};
use crate::support::client::{APP_STATE, Client, EVENTS, ONE, S, STATE, USER_STATE};
use crate::support::databases::{Fixture as _, on_both_databases};
use crate::support::random::Random;
use crate::support::server::TestServer;

async fn append(server: &Client, id: &str, delta: Value) -> f64 {
    let event =
        json!({"id": id, "author": "agent", "invocationId": format!("i-{id}"), "actions": {"stateDelta": delta}});
    server.append(event.to_string()).await.expect(201).json()["commitTime"].as_f64().expect("a time")
}

/// The changes, without their times.
async fn changes(server: &Client, path: &str) -> Vec<Value> {
    let answer = server.get(path).await.expect(200);
    assert!(answer.json().get("nextPageToken").is_none(), "{answer}");
    let mut changes = answer.json()["changes"].as_array().expect("changes").clone();
    for change in &mut changes {
        let time = change.as_object_mut().expect("a change").remove("time");
        assert!(time.is_some_and(|time| time.as_f64() > Some(1e9)), "{answer}");
    }
    changes
}

/// All changes of the key `k`, by pages.
async fn paged(server: &Client, path: &str, order: &str, size: usize) -> Vec<Value> {
    let (mut shown, mut token) = (Vec::new(), String::new());
    loop {
        let page = server.get(format!("{path}/k/history?order={order}&pageSize={size}{token}")).await.expect(200);
        let changes = page.json()["changes"].as_array().expect("changes").clone();
        assert!((1..=size).contains(&changes.len()) && page.text().len() < 4 << 20);
        shown.extend(changes);
        let Some(next) = page.json()["nextPageToken"].as_str().map(str::to_owned) else { return shown };
        token = format!("&pageToken={next}");
    }
}

fn by(event: &str, sequence: i64) -> Value {
    json!({"userId": "user", "sessionId": "s", "eventId": event, "sequence": sequence, "author": "agent", "invocationId": format!("i-{event}")})
}

async fn until_none(server: &TestServer, count: &str) {
    while server.number(count).await > 0 {
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

on_both_databases! {
    async fn each_change_says_when_and_by_which_event(server: &TestServer) {
        server.create(r#"{"state":{"k":0,"user:k":1,"other":1}}"#).await;
        let created = server.get(ONE).await.json()["createTime"].clone();
        let first = append(server, "a", json!({"k": {"v": 1.0}, "user:k": 2, "app:k": null})).await;
        append(server, "b", json!({"k": {"v": 1.0}})).await;
        server.delete(format!("{STATE}/k")).await.expect(204);
        server.patch(USER_STATE).json(json!({"stateOps": [{"op": "remove", "key": "k"}]})).await.expect(200);
        append(server, "c", json!({"k": 5})).await;

        let answer = server.get(format!("{STATE}/k/history")).await.expect(200);
        assert!(answer.header("etag").is_none());
        assert_eq!(answer.raw(&["changes", "3", "value"]), r#"{"v":1.0}"#);
        assert_eq!(answer.json()["changes"][3]["time"].as_f64(), Some(first));
        assert_eq!(answer.json()["changes"][4]["time"], created);
        let deleted = server.get(format!("{EVENTS}?afterSequence=2&pageSize=1")).await.json()["events"][0]["id"].clone();
        let expected = [
            json!({"revision": 4, "value": 5, "by": by("c", 4)}),
            json!({"revision": 3, "removed": true,
                   "by": {"userId": "user", "sessionId": "s", "eventId": deleted, "sequence": 3, "author": "user"}}),
            json!({"revision": 2, "value": {"v": 1.0}, "by": by("b", 2)}),
            json!({"revision": 1, "value": {"v": 1.0}, "by": by("a", 1)}),
            json!({"revision": 0, "value": 0, "base": true}),
        ];
        let mut shown = changes(server, &format!("{STATE}/k/history")).await;
        assert_eq!(shown, expected);
        shown.reverse();
        assert_eq!(changes(server, &format!("{STATE}/k/history?order=asc")).await, shown);
        assert_eq!(changes(server, &format!("{STATE}/other/history")).await, [json!({"revision": 0, "value": 1, "base": true})]);

        // Of a scope it is the same by whatever path.
        let of_user = [
            json!({"revision": 3, "removed": true}),
            json!({"revision": 2, "value": 2, "by": by("a", 1)}),
            json!({"revision": 1, "value": 1}),
        ];
        for path in [format!("{STATE}/user:k/history"), format!("{USER_STATE}/k/history")] {
            assert_eq!(changes(server, &path).await, of_user);
        }
        for path in [format!("{STATE}/app:k/history"), format!("{APP_STATE}/k/history")] {
            assert_eq!(changes(server, &path).await, [json!({"revision": 1, "value": null, "by": by("a", 1)})]);
        }
    }

    async fn what_never_was_is_not_found(server: &TestServer) {
        server.create(r#"{"state":{"k":0}}"#).await;
        for path in [
            format!("{STATE}/none/history"), format!("{STATE}/user:k/history"), format!("{STATE}/temp:k/history"),
            format!("{USER_STATE}/k/history"), format!("{APP_STATE}/k/history"),
            "/v1/apps/none/state/k/history".to_owned(),
        ] {
            server.get(path).await.problem(404, "state_key_not_found");
        }
        server.get(format!("{USER_STATE}/user:k/history")).await.invalid(&["key"]);
        for key in ["k", "user:k", "temp:k"] {
            server.get(format!("{S}/none/state/{key}/history")).await.problem(404, "session_not_found");
        }
        // Set and removed by one request, it never was.
        let ops = json!([{"op": "set", "key": "user:k", "value": 1}, {"op": "remove", "key": "user:k"}]);
        server.append_ops(&ops.to_string()).await;
        let events = json!([{"actions": {"stateDelta": {"user:k": 1}}}, {"actions": {"stateOps": [{"op": "remove", "key": "user:k"}]}}]);
        server.append(events.to_string()).await.expect(201);
        server.get(format!("{USER_STATE}/k/history")).await.problem(404, "state_key_not_found");
        server.post(format!("{STATE}/k/history")).json("{}").await.problem(405, "method_not_allowed");
        for query in ["order=up", "pageSize=0", "keys=a"] {
            assert_eq!(server.get(format!("{STATE}/k/history?{query}")).await.status(), 422, "{query}");
        }
    }

    async fn a_page_goes_on_where_the_last_one_ended(server: &TestServer) with ["--max-page-bytes=2500000"] {
        server.create(r#"{"state":{"k":"0"}}"#).await;
        let long = "x".repeat(1 << 20);
        for n in 1..=4 {
            append(server, &format!("e{n}"), json!({"k": format!("{n}{long}"), "user:k": format!("{n}{long}")})).await;
        }
        server.delete(format!("{STATE}/k")).await.expect(204);
        append(server, "e6", json!({"k": 6})).await;
        for (path, revisions) in [(STATE, vec![6, 5, 4, 3, 2, 1, 0]), (USER_STATE, vec![4, 3, 2, 1])] {
            for (order, size) in [("desc", 1), ("asc", 1), ("desc", 2), ("asc", 2), ("desc", 100), ("asc", 100)] {
                let mut shown: Vec<i64> =
                    paged(server, path, order, size).await.iter().filter_map(|change| change["revision"].as_i64()).collect();
                if order == "asc" {
                    shown.reverse();
                }
                assert_eq!(shown, revisions, "{path} {order} {size}");
            }
        }
        let token = server.get(format!("{STATE}/k/history?pageSize=1")).await.json()["nextPageToken"].as_str().expect("a token").to_owned();
        for other in [
            format!("{STATE}/other/history?pageToken={token}"), format!("{STATE}/k/history?order=asc&pageToken={token}"),
            format!("{USER_STATE}/k/history?pageToken={token}"), format!("{STATE}/k/history?pageToken=00"),
        ] {
            server.get(other).await.invalid(&["pageToken"]);
        }
        server.delete(ONE).await.expect(204);
        server.create(r#"{"state":{"k":"0"}}"#).await;
        server.get(format!("{STATE}/k/history?pageToken={token}")).await.invalid(&["pageToken"]);
    }

    async fn who_made_a_change_outlasts_its_event(server: &TestServer) with ["--sweep-interval=20ms"] {
        server.create("{}").await;
        for n in 1..=4 {
            let event = json!({"id": format!("e{n}"), "author": "a\0\\b", "invocationId": "i\\",
                "actions": {"stateDelta": {"user:k": n, "app:k": n, "app:j": n}}});
            server.append(event.to_string()).await.expect(201);
        }
        let paths = [format!("{USER_STATE}/k/history"), format!("{APP_STATE}/k/history"), format!("{APP_STATE}/j/history")];
        let told = async || {
            let mut all = Vec::new();
            for path in &paths {
                all.push(changes(server, path).await);
            }
            all
        };
        let before = told().await;
        let maker = json!({"userId": "user", "sessionId": "s", "eventId": "e3", "sequence": 3, "author": "a\0\\b", "invocationId": "i\\"});
        assert_eq!(before[1][1], json!({"revision": 3, "value": 3, "by": maker}));
        server.post(format!("{ONE}/trim")).json(json!({"beforeSequence": 3})).await.expect(200);
        assert_eq!(told().await, before);
        until_none(server, "select count(*) from trims").await;
        assert_eq!(told().await, before);
        server.delete(ONE).await.expect(204);
        assert_eq!(told().await, before);
        until_none(server, "select count(*) from events").await;
        assert_eq!(told().await, before);
        // And a session of the same name is another.
        server.create("{}").await;
        append(server, "e3", json!({"app:k": 5})).await;
        let export = exported(server, EXPORT).await;
        let other = TestServer::start(Place::sqlite(), &[]).await;
        assert_all(&import(&other, "", &export).await, "created", 1);
        for (path, before) in paths.iter().zip(&before) {
            let there = changes(&other, path).await;
            assert_eq!(there, changes(server, path).await);
            assert!(there.ends_with(before));
        }
        other.stop().await;
        let erased = server.post("/v1/apps/app/users/user/erasure").json("{}").await.expect(202);
        let expected: Vec<Value> = (1..=5).rev().map(|n| json!({"revision": n, "value": n})).collect();
        assert_eq!(changes(server, &paths[1]).await, expected);
        crate::contract::erasure::done(server, &erased).await;
        assert_eq!(changes(server, &paths[1]).await, expected);
        server.get(&paths[0]).await.problem(404, "state_key_not_found");
        assert_eq!(server.number("select count(*) from app_log where incarnation is not null or sequence is not null").await, 0);
    }

    async fn an_import_names_nobody_who_was_erased_since_it_began(server: &TestServer) {
        for user in ["ada", "bob"] {
            let body = json!({"sessionId": "s", "events": [{"id": "e", "author": "agent", "actions": {"stateDelta": {"app:k": user}}}]});
            server.post(format!("/v1/apps/app/users/{user}/sessions")).json(body).await.expect(201);
        }
        let export = exported(server, EXPORT).await;
        server.post("/v1/apps/copy/users/ada/erasure").json(json!({"block": true})).await.expect(202);
        import(server, "?appName=copy", &export).await;
        let makers = |changes: Vec<Value>| -> Vec<Value> { changes.iter().map(|change| change["by"]["userId"].clone()).collect() };
        assert_eq!(makers(changes(server, &format!("{APP_STATE}/k/history")).await), [json!("bob"), json!("ada")]);
        assert_eq!(makers(changes(server, "/v1/apps/copy/state/k/history").await), [json!("bob"), Value::Null]);
    }

    async fn a_base_is_where_the_known_past_begins(server: &TestServer) with ["--sweep-interval=20ms"] {
        server.create(r#"{"state":{"k":0,"gone":1}}"#).await;
        for n in 1..=5 {
            append(server, &format!("e{n}"), json!({"k": n, "user:k": n, "user:once": 1})).await;
        }
        server.append_ops(r#"[{"op":"remove","key":"gone"}]"#).await;
        server.post(format!("{ONE}/trim")).json(json!({"beforeSequence": 4})).await.expect(200);
        for round in 0..2 {
            let shown = changes(server, &format!("{STATE}/k/history")).await;
            assert_eq!(shown[1..], [json!({"revision": 4, "value": 4, "by": by("e4", 4)}), json!({"revision": 3, "value": 3, "base": true})], "{round}");
            until_none(server, "select count(*) from trims").await;
        }
        assert_eq!(changes(server, &format!("{STATE}/gone/history?order=asc")).await[0], json!({"revision": 3, "value": 1, "base": true}));
        server.execute("update user_log set time = time - 3456000000000 where revision <= 2").await;
        server.put("/v1/apps/app/policy").json(r#"{"sharedHistory":{"maxAge":"30d"}}"#).await.expect(200);
        while server.number("select count(*) from user_scopes where emptied = 2").await == 0 {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        for path in [USER_STATE, STATE] {
            let prefix = if path == STATE { "user:" } else { "" };
            let shown = changes(server, &format!("{path}/{prefix}k/history?order=asc")).await;
            assert_eq!(shown[0], json!({"revision": 2, "value": 2, "base": true}));
            assert_eq!(shown[1], json!({"revision": 3, "value": 3, "by": by("e3", 3)}));
        }
        assert_eq!(changes(server, &format!("{USER_STATE}/once/history?order=asc")).await[0], json!({"revision": 2, "value": 1, "base": true}));
    }

    async fn a_past_is_whole_however_often_a_key_changes(server: &TestServer) with ["--sweep-interval=20ms"] {
        let mut random = Random::new();
        for often in [1, 2, 5, 20] {
            server.create("{}").await;
            // What each event makes of the key: a value, or nothing.
            let mut log: Vec<Option<Value>> = Vec::new();
            let mut now = Value::Null;
            while log.len() < 400 {
                let events: Vec<Value> = (0..=random.below(5)).map(|_| {
                    let n = log.len() + 1;
                    let value = match random.below(often) {
                        0 if random.below(3) == 0 => Value::Null,
                        0 => json!(n),
                        _ => now.clone(),
                    };
                    let changes = value != now || (!value.is_null() && random.below(often) == 0);
                    now.clone_from(&value);
                    let actions = match &value {
                        _ if !changes => json!({"stateDelta": {"x": n}}),
                        Value::Null => json!({"stateDelta": {"x": n}, "stateOps": [{"op": "remove", "key": "k"}]}),
                        value => json!({"stateDelta": {"k": value, "x": n}}),
                    };
                    log.push(changes.then_some(value));
                    json!({"id": format!("e{n}"), "author": "agent", "actions": actions})
                }).collect();
                server.append(Value::from(events).to_string()).await.expect(201);
            }
            for _ in 0..20 {
                let at = random.below(log.len() as u64) as usize;
                // Of a present value, a redaction appends a removal.
                let is_past = log[at + 1..].iter().any(Option::is_some);
                if is_past && log[at].as_ref().is_some_and(|value| !value.is_null()) {
                    server.post(format!("{EVENTS}/e{}/redact", at + 1)).json(json!({"state": "remove"})).await.expect(200);
                    log[at] = Some(Value::Null);
                }
            }
            let base = random.below(2) * random.below(380);
            server.post(format!("{ONE}/trim")).json(json!({"keepLast": log.len() as u64 - base})).await.expect(200);
            let (mut held, mut expected) = (Value::Null, Vec::new());
            for (at, change) in (1..).zip(&log) {
                let was = held.clone();
                if let Some(value) = change {
                    held.clone_from(value);
                    if at > base && !(was.is_null() && held.is_null()) {
                        expected.push((at, held.clone()));
                    }
                }
                if at == base && !held.is_null() {
                    expected.push((at, held.clone()));
                }
            }
            server.post(format!("{ONE}/fork")).json(json!({"sessionId": "fork"})).await.expect(201);
            for place in ["s", "fork"] {
                let path = STATE.replace("/s/", &format!("/{place}/"));
                for (order, size) in [("desc", 1), ("desc", 7), ("asc", 7), ("desc", 1000), ("asc", 1000)] {
                    let mut shown: Vec<(u64, Value)> = paged(server, &path, order, size).await.into_iter()
                        .map(|change| (change["revision"].as_u64().expect("a revision"), change["value"].clone())).collect();
                    if order == "desc" {
                        shown.reverse();
                    }
                    assert_eq!(shown, expected, "{place} {order} {size} {often} {base} {log:?}");
                }
                server.delete(path.trim_end_matches("/state")).await.expect(204);
            }
        }
    }

    async fn a_redacted_value_was_never_there(server: &TestServer) {
        server.create(r#"{"state":{"k":0}}"#).await;
        append(server, "a", json!({"k": 1, "user:k": 1, "user:j": 1})).await;
        append(server, "b", json!({"k": 2, "user:k": 2})).await;
        append(server, "c", json!({"k": 3, "user:k": 3})).await;
        for (event, body) in [("a", json!({"state": "keep"})), ("b", json!({"state": "remove"})), ("a", json!({"state": "remove"}))] {
            server.post(format!("{EVENTS}/{event}/redact")).json(body).await.expect(200);
        }
        let expected = [
            json!({"revision": 3, "value": 3, "by": by("c", 3)}),
            json!({"revision": 1, "removed": true, "by": by("a", 1)}),
            json!({"revision": 0, "value": 0, "base": true}),
        ];
        assert_eq!(changes(server, &format!("{STATE}/k/history")).await, expected);
        assert_eq!(changes(server, &format!("{USER_STATE}/k/history")).await, [json!({"revision": 3, "value": 3, "by": by("c", 3)})]);
        server.get(format!("{USER_STATE}/j/history")).await.problem(404, "state_key_not_found");
    }
}

on_both_databases! {
    async fn who_may_not_read_a_session_does_not_learn_of_it(server: &Guarded) {
        for user in ["ada", "bob"] {
            let body = json!({"sessionId": "secret", "events": [{"id": "e", "author": "agent", "actions": {"stateDelta": {"app:k": user}}}]});
            server.admin("POST", &format!("/v1/apps/app/users/{user}/sessions")).json(body).await.expect(201);
        }
        let of_ada = server.key(json!({"role": "reader", "apps": ["app"], "users": ["ada"]})).await;
        let path = "/v1/apps/app/state/k/history";
        let paths = [path, "/v1/apps/app/users/ada/sessions/secret/state/app:k/history"];
        for path in paths {
            let answer = server.with(&of_ada, "GET", path).await.expect(200);
            assert!(!answer.json()["changes"][0].as_object().expect("a change").contains_key("by"), "{answer}");
            assert_eq!(answer.json()["changes"][1]["by"]["sessionId"], "secret");
        }
        let all = server.admin("GET", path).await.expect(200);
        assert_eq!(all.json()["changes"][0]["by"]["userId"], "bob");
        for path in ["/v1/apps/app/users/bob/state/k/history", "/v1/apps/other/state/k/history"] {
            server.with(&of_ada, "GET", path).await.problem(404, "state_key_not_found");
        }
        server.with(&of_ada, "GET", "/v1/apps/app/users/bob/sessions/secret/state/k/history").await.problem(404, "session_not_found");
        // A deleted session is still that user's.
        server.admin("DELETE", "/v1/apps/app/users/ada/sessions/secret").await.expect(204);
        assert_eq!(server.with(&of_ada, "GET", path).await.json()["changes"][1]["by"]["sessionId"], "secret");
    }
}
