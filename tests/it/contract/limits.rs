//! Limits of size: a request over one is refused at once with 413, and nothing is written.

use serde_json::json;
use tokio::io::AsyncWriteExt as _;

use crate::support::client::{APP_STATE, EVENTS, ONE, S, STATE, USER_STATE};
use crate::support::databases::on_both_databases;
use crate::support::server::TestServer;

/// A JSON string of so many bytes, quotes included.
fn string(bytes: usize) -> String {
    format!("\"{}\"", "x".repeat(bytes - 2))
}

on_both_databases! {
    async fn a_body_over_its_limit_is_refused_by_its_announced_length_at_once(server: &TestServer)
        with ["--max-value-bytes=1000", "--max-event-bytes=1000", "--max-body-bytes=2000"]
    {
        server.create("{}").await;
        // The body is never sent: the head alone decides.
        for (method, path) in [("POST", S), ("POST", EVENTS), ("PATCH", STATE), ("PATCH", APP_STATE), ("PUT", ONE)] {
            let head = format!(
                "{method} {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 2001\r\n\
                 connection: close\r\n\r\n"
            );
            server.raw(head.as_bytes()).await.problem(413, "payload_too_large");
        }
        let padded = format!("{}{{}}", " ".repeat(1998));
        server.post(EVENTS).json(padded.as_str()).await.expect(201);
        server.post(EVENTS).json(format!(" {padded}")).await.problem(413, "payload_too_large");
    }

    async fn a_body_in_chunks_is_refused_once_it_is_over_its_limit(server: &TestServer)
        with ["--max-value-bytes=1000", "--max-event-bytes=1000", "--max-body-bytes=2000"]
    {
        server.create("{}").await;
        let chunk = || Ok::<_, std::io::Error>(" ".repeat(500));
        let chunks = |count: usize| {
            let body = futures_util::stream::iter((0..count).map(move |_| chunk()).chain([Ok("{}".to_owned())]));
            server.post(EVENTS).body("application/json", reqwest::Body::wrap_stream(body))
        };
        chunks(3).await.expect(201);
        chunks(4).await.problem(413, "payload_too_large");
        assert_eq!(server.get(ONE).await.json()["revision"], 1);
    }

    async fn a_body_that_ends_too_early_is_not_applied(server: &TestServer) {
        server.create("{}").await;
        for body in ["", "{", "{\"author\":\"a\"", "{}"] {
            let head = format!(
                "POST {EVENTS} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 100\r\n\
                 connection: close\r\n\r\n{body}"
            );
            server.cut_off(head.as_bytes()).await;
        }
        assert_eq!(server.get(ONE).await.json()["revision"], 0);
    }

    async fn an_event_over_its_limit_is_413(server: &TestServer)
        with ["--max-value-bytes=500", "--max-event-bytes=1000"]
    {
        server.create("{}").await;
        let event = |bytes: usize| format!(r#"{{"x":{}}}"#, string(bytes - r#"{"x":}"#.len()));
        server.post(EVENTS).json(event(1000)).await.expect(201);
        server.post(EVENTS).json(format!(" {} ", event(1000))).await.expect(201);
        server.post(EVENTS).json(event(1001)).await.problem(413, "payload_too_large");
        server.post(EVENTS).json(format!("[{{}},{}]", event(1001))).await.problem(413, "payload_too_large");
        server.post(EVENTS).json(format!("[{},{}]", event(1000), event(1000))).await.expect(201);
        server.post(S).json(format!(r#"{{"events":[{}]}}"#, event(1001))).await.problem(413, "payload_too_large");
        assert_eq!(server.get(ONE).await.json()["revision"], 4);
        assert_eq!(server.get(S).await.json()["sessions"].as_array().unwrap().len(), 1);
    }

    async fn a_value_over_its_limit_is_413(server: &TestServer) with ["--max-value-bytes=100"] {
        server.create("{}").await;
        for (bytes, fits) in [(100, true), (101, false)] {
            let value = string(bytes);
            for (request, status) in [
                (server.put(format!("{STATE}/k")).json(value.as_str()), 200),
                (server.put(format!("{STATE}/k")).json(format!("  {value}  ")), 200),
                (server.patch(STATE).json(format!(r#"{{"stateDelta":{{"k":{value}}}}}"#)), 200),
                (server.patch(APP_STATE).json(format!(r#"{{"stateDelta":{{"k":{value}}}}}"#)), 200),
                (server.patch(USER_STATE).json(format!(r#"{{"stateDelta":{{"k":{value}}}}}"#)), 200),
                (server.post(EVENTS).json(format!(r#"{{"actions":{{"stateDelta":{{"app:k":{value}}}}}}}"#)), 201),
                (server.post(S).json(format!(r#"{{"state":{{"user:k":{value}}}}}"#)), 201),
            ] {
                let answer = request.await;
                if fits {
                    answer.expect(status);
                } else {
                    assert_eq!(answer.problem(413, "payload_too_large")["outcome"], "not_applied");
                }
            }
        }
        // What is no state value is under the event's limit only.
        server.append(format!(r#"{{"content":{}}}"#, string(1000))).await;
    }

    async fn a_batch_over_its_limit_is_413(server: &TestServer) {
        server.create("{}").await;
        let batch = |count: usize| format!("[{}]", vec!["{}"; count].join(","));
        let thousand = server.post(EVENTS).json(batch(1000)).await.expect(201);
        assert_eq!(thousand.json().as_array().unwrap().len(), 1000);
        server.post(EVENTS).json(batch(1001)).await.problem(413, "payload_too_large");
        server.post(S).json(format!(r#"{{"events":{}}}"#, batch(1001))).await.problem(413, "payload_too_large");
        assert_eq!(server.get(ONE).await.json()["revision"], 1000);
    }

    async fn state_keys_over_their_limit_are_413(server: &TestServer) with ["--max-state-keys=4"] {
        server.create("{}").await;
        // Deltas, operators and preconditions of all events count together, each key as often as it is named.
        let keys = |count: usize| (0..count).map(|n| format!(r#""k{n}":{n}"#)).collect::<Vec<_>>().join(",");
        let edit = |count: usize| {
            format!(
                r#""stateDelta":{{{},"temp:t":1}},"stateOps":[{{"op":"increment","key":"k0","value":1}}],"preconditions":[{{"key":"none","exists":false}}]"#,
                keys(count)
            )
        };
        let event = |count: usize| format!(r#"{{"actions":{{{}}}}}"#, edit(count));
        let requests = |over: usize| {
            [
                server.post(EVENTS).json(event(2 + over)),
                server.post(EVENTS).json(format!("[{},{{}},{{\"actions\":{{\"stateDelta\":{{{}}}}}}}]", event(1), keys(1 + over))),
                server.patch(STATE).json(format!("{{{}}}", edit(2 + over))),
                server.patch(APP_STATE).json(format!(r#"{{"stateDelta":{{{}}}}}"#, keys(4 + over))),
                server.patch(USER_STATE).json(format!(r#"{{"stateDelta":{{{}}}}}"#, keys(4 + over))),
                server.post(S).json(format!(r#"{{"state":{{{}}},"events":[{}]}}"#, keys(1 + over), event(1))),
                server.put(format!("{S}/put{over}")).json(format!(r#"{{"state":{{{}}}}}"#, keys(4 + over))),
                server.post("/apps/app/users/user/sessions").json(format!(r#"{{"state":{{{}}}}}"#, keys(4 + over))),
                server.post(format!("/apps/app/users/user/sessions/adk{over}")).json(format!("{{{}}}", keys(4 + over))),
                server.patch("/apps/app/users/user/sessions/s").json(format!(r#"{{"stateDelta":{{{}}}}}"#, keys(4 + over))),
                server.get(format!("{STATE}?keys={}", vec!["k"; 4 + over].join(","))),
            ]
        };
        for request in requests(1) {
            request.await.problem(413, "payload_too_large");
        }
        assert_eq!(server.shown().await.0, server.get(ONE).await.text());
        assert_eq!(server.get(ONE).await.json()["revision"], 0);
        assert_eq!(server.get(S).await.json()["sessions"].as_array().unwrap().len(), 1);
        for request in requests(0) {
            let answer = request.await;
            assert!(answer.status < 300, "{answer}");
        }
        // What the server makes itself is not under it.
        server.post(format!("{ONE}/rewind")).json(r#"{"toRevision":0}"#).await.expect(200);
    }

    /// As many keys as the default allows, of all scopes and in all forms. The limits of time are as long as a slow machine
    /// may take.
    async fn as_many_state_keys_as_the_default_allows(server: &TestServer)
        with ["--lock-timeout=50s", "--acquire-timeout=50s", "--statement-timeout=50s", "--request-timeout=55s"]
    {
        let scope = |n: usize| ["", "user:", "app:"][n % 3];
        let list = |range: std::ops::Range<usize>, entry: &dyn Fn(usize) -> String| range.map(entry).collect::<Vec<_>>().join(",");
        let state = list(0..10_000, &|n| format!(r#""{}k{n}":{n}"#, scope(n)));
        server.create(&format!(r#"{{"state":{{{state}}}}}"#)).await;
        let delta = list(0..3000, &|n| format!(r#""{}d{n}":{n}"#, scope(n)));
        let ops = list(0..3500, &|n| format!(r#"{{"op":"increment","key":"{}k{n}","value":1}}"#, scope(n)));
        let conditions = list(0..3500, &|n| match n % 4 {
            0 => format!(r#"{{"key":"{}k{n}","equals":{n}}}"#, scope(n)),
            1 => format!(r#"{{"key":"{}k{n}","exists":true}}"#, scope(n)),
            2 => format!(r#"{{"key":"{}k{n}","revision":{}}}"#, scope(n), i64::from(n % 3 > 0)),
            // Of a key that is not there.
            _ => format!(r#"{{"key":"{}none{n}","revision":0}}"#, scope(n)),
        });
        let patch = |more: &str| {
            let body = format!(r#"{{"stateDelta":{{{delta}{more}}},"stateOps":[{ops}],"preconditions":[{conditions}]}}"#);
            server.patch(STATE).json(body)
        };
        patch(r#","one":"more""#).await.problem(413, "payload_too_large");
        let patched = patch("").await.expect(200).json();
        assert_eq!(patched.as_object().unwrap().len(), 13_000);
        assert_eq!((&patched["k3"], &patched["user:k1"], &patched["app:k3500"]), (&json!(4), &json!(2), &json!(3500)));
        patch("").await.problem(412, "revision_mismatch");
        server.post(format!("{ONE}/rewind")).json(r#"{"toRevision":0}"#).await.expect(200);
    }

    async fn the_defaults_take_values_of_megabytes(server: &TestServer) {
        server.create("{}").await;
        let value = string(4 << 20);
        let put = server.put(format!("{STATE}/k")).json(value.as_str()).await.expect(200);
        assert!(put.text() == value);
        assert!(server.get(format!("{STATE}/k")).await.expect(200).text() == value);
        server.put(format!("{STATE}/k")).json(string((4 << 20) + 1)).await.problem(413, "payload_too_large");
        server.post(EVENTS).json(format!(r#"{{"x":{value}}}"#)).await.problem(413, "payload_too_large");
        let announced = format!(
            "POST {EVENTS} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
            (8 << 20) + 1
        );
        server.raw(announced.as_bytes()).await.problem(413, "payload_too_large");
    }

    async fn more_than_can_be_buffered_is_refused_at_once(server: &TestServer)
        with ["--max-value-bytes=1KiB", "--max-event-bytes=1KiB", "--max-body-bytes=8KiB", "--max-buffered-bytes=8KiB",
            "--body-stall-timeout=10s"]
    {
        server.create("{}").await;
        // One body whose last byte never arrives holds all the memory that there is; unless another one has a part of it
        // just then.
        let (held, problem) = 'held: loop {
            let mut held = server.hold(EVENTS, 8 << 10).await;
            held.write_all(&[b' '; (8 << 10) - 1]).await.unwrap();
            for _ in 0..10 {
                let answer = server.post(EVENTS).json("{}").await;
                if answer.status != 201 {
                    break 'held (held, answer.problem(503, "overloaded"));
                }
            }
        };
        assert_eq!(problem["outcome"], "not_applied");
        let before = server.get(ONE).await.expect(200).json()["revision"].as_i64().unwrap();
        drop(held);
        // The server notices in its own time that the client has gone.
        while server.post(EVENTS).json("{}").await.status == 503 {
            tokio::task::yield_now().await;
        }
        assert_eq!(server.get(ONE).await.json()["revision"], json!(before + 1));
    }

    async fn more_requests_than_can_be_served_are_refused_at_once_but_health_is_answered(server: &TestServer)
        with ["--max-in-flight=1", "--body-stall-timeout=10s"]
    {
        server.create("{}").await;
        let held = server.hold(EVENTS, 100).await;
        while server.get(ONE).await.status == 200 {
            tokio::task::yield_now().await;
        }
        server.get(ONE).await.problem(503, "overloaded");
        server.get("/healthz").await.expect(200);
        server.get("/readyz").await.expect(200);
        drop(held);
        while server.get(ONE).await.status == 503 {
            tokio::task::yield_now().await;
        }
    }
}
