//! Time travel: the merged state as of an event.

use serde_json::{Value, json};

use crate::support::client::{APP_STATE, Client, EVENTS, ONE, S, STATE, USER_STATE, segment};
use crate::support::databases::on_both_databases;
use crate::support::server::TestServer;
use crate::support::state::{ODD_KEYS, assert_folds};

/// The state of [`ONE`] as it was shown when each of its revisions was the current one, with its tag.
#[derive(Default)]
struct Recorded(Vec<(String, String)>);

impl Recorded {
    /// Takes down the state of now, which must be that of the next revision.
    async fn note(&mut self, server: &Client) {
        let state = server.get(STATE).await.expect(200);
        assert_eq!(state.tag().0, self.0.len() as i64, "a revision was skipped");
        self.0.push((state.text().to_owned(), state.etag()));
    }

    /// Asserts that every revision is shown exactly as it was.
    async fn assert_shown(&self, server: &Client, when: &str) {
        for (revision, (state, tag)) in self.0.iter().enumerate() {
            let shown = server.get(at(revision)).await.expect(200);
            assert_eq!((shown.text(), &shown.etag()), (state.as_str(), tag), "at {revision}, {when}");
        }
    }
}

fn at(revision: usize) -> String {
    format!("{STATE}?atRevision={revision}")
}

/// The state of [`ONE`] at a revision.
async fn state_at(server: &Client, revision: usize) -> Value {
    server.get(at(revision)).await.expect(200).json()
}

on_both_databases! {
    async fn every_revision_is_shown_exactly_as_it_was(server: &TestServer) {
        server.patch(APP_STATE).json(r#"{"stateDelta":{"before":1,"k":0}}"#).await.expect(200);
        let mut recorded = Recorded::default();
        server.create(r#"{"state":{"a":{ "x" : 1.0 },"b":null,"c":"\u00e9","user:k":1,"app:k":1,"temp:t":1}}"#).await;
        recorded.note(server).await;
        for event in [
            r#"{"stateDelta":{"a":1E2,"d":[ ]}}"#,
            r#"{"stateDelta":{"user:k":2,"user:l":-0.0}}"#,
            r#"{"stateDelta":{"app:k":2,"b":1},"stateOps":[{"op":"remove","key":"a"}]}"#,
            "{}",
            r#"{"stateOps":[{"op":"increment","key":"n","value":0.10},{"op":"append","key":"app:l","value":[1]}]}"#,
            r#"{"stateDelta":{"a":null},"stateOps":[{"op":"remove","key":"user:k"},{"op":"remove","key":"app:before"}]}"#,
            r#"{"stateDelta":{"user:k":3,"app:before":2}}"#,
            r#"{"stateDelta":{"a":null}}"#,
        ] {
            server.append(format!(r#"{{"actions":{event}}}"#)).await;
            recorded.note(server).await;
        }
        server.put(format!("{STATE}/put")).json(" [1] ").await.expect(200);
        recorded.note(server).await;
        server.delete(format!("{STATE}/put")).await.expect(204);
        recorded.note(server).await;
        server.delete(format!("{STATE}/user:k")).await.expect(204);
        recorded.note(server).await;
        server.patch(STATE).json(r#"{"stateDelta":{"p":1,"app:p":1}}"#).await.expect(200);
        recorded.note(server).await;
        recorded.assert_shown(server, "at once").await;
        assert_folds(server, ONE).await;
    }

    async fn what_others_write_later_is_not_seen(server: &TestServer) {
        let mut recorded = Recorded::default();
        server.create(r#"{"state":{"k":1,"user:k":1,"app:k":1}}"#).await;
        recorded.note(server).await;
        server.append_delta(r#"{"k":2,"user:l":1,"app:l":1}"#).await;
        recorded.note(server).await;
        let others = "/v1/apps/app/users/other/sessions";
        let overwrite = r#"{"sessionId":"t","state":{"user:k":"t","app:k":"t","app:new":"t"},"events":[{"actions":{"stateDelta":{"user:l":"t","app:l":"t"}}}]}"#;
        for step in 0..7 {
            match step {
                0 => server.post(S).json(overwrite).await.expect(201),
                1 => server.post(others).json(overwrite).await.expect(201),
                2 => server.patch(APP_STATE).json(r#"{"stateDelta":{"k":null,"newer":1}}"#).await.expect(200),
                3 => server.patch(USER_STATE).json(r#"{"stateOps":[{"op":"remove","key":"k"}]}"#).await.expect(200),
                4 => server.delete(format!("{S}/t/state/app:l")).await.expect(204),
                // Nor is anything lost with the session that wrote it.
                5 => server.delete(format!("{S}/t")).await.expect(204),
                _ => server.delete(format!("{others}/t")).await.expect(204),
            };
            recorded.assert_shown(server, &format!("after step {step}")).await;
        }
        // An event that changes no shared key sees what is there by now.
        server.append_delta(r#"{"k":3}"#).await;
        recorded.note(server).await;
        assert_eq!(recorded.0[2].0, server.get(STATE).await.text());
        server.patch(APP_STATE).json(r#"{"stateDelta":{"k":5}}"#).await.expect(200);
        recorded.assert_shown(server, "at the end").await;
    }

    async fn what_was_there_before_is_seen(server: &TestServer) {
        for n in 0..3 {
            server.patch(APP_STATE).json(format!(r#"{{"stateDelta":{{"k":{n}}}}}"#)).await.expect(200);
            server.patch(USER_STATE).json(format!(r#"{{"stateDelta":{{"k{n}":{n}}}}}"#)).await.expect(200);
        }
        let created = server.create("{}").await;
        let shown = json!({"app:k": 2, "user:k0": 0, "user:k1": 1, "user:k2": 2});
        server.append_delta(r#"{"app:k":9}"#).await;
        let first = server.get(at(0)).await.expect(200);
        assert_eq!((first.json(), first.etag()), (shown, created.etag()));
        assert_eq!(first.tag(), (0, 3, 3, created.tag().3));
    }

    async fn the_tag_is_that_of_the_moment(server: &TestServer) {
        let created = server.create(r#"{"state":{"app:k":1}}"#).await;
        let mark = created.tag().3;
        server.append_delta(r#"{"user:k":1}"#).await;
        server.patch(APP_STATE).json(r#"{"stateDelta":{"k":2}}"#).await.expect(200);
        server.append("{}").await;
        server.patch(USER_STATE).json(r#"{"stateDelta":{"k":2}}"#).await.expect(200);
        for (revision, user, app) in [(0, 0, 1), (1, 1, 1), (2, 1, 2)] {
            let shown = server.get(at(revision as usize)).await.expect(200);
            assert_eq!(shown.tag(), (revision, user, app, mark.clone()));
            assert_eq!(server.head(at(revision as usize)).await.expect(200).etag(), shown.etag());
            let not_modified = server.get(at(revision as usize)).header("if-none-match", shown.etag()).await.expect(304);
            assert_eq!(not_modified.etag(), shown.etag());
            server.head(at(revision as usize)).header("if-none-match", shown.etag()).await.expect(304);
        }
        // The current tag is that of no past moment.
        let now = server.get(STATE).await.etag();
        for revision in 0..3 {
            server.get(at(revision)).header("if-none-match", &now).await.expect(200);
        }
        assert_eq!(server.get(STATE).await.tag(), (2, 2, 2, mark));
    }

    async fn events_of_one_request_see_its_shared_state_as_it_left_it(server: &TestServer) {
        server.create(r#"{"state":{"app:a":0,"k":0}}"#).await;
        server
            .append(
                r#"[{"actions":{"stateDelta":{"k":1,"app:a":1,"user:gone":1}}},
                    {"actions":{"stateDelta":{"k":2,"app:a":2,"app:b":2}}},
                    {"actions":{"stateDelta":{"k":3},"stateOps":[{"op":"remove","key":"user:gone"},{"op":"set","key":"user:u","value":3}]}}]"#,
            )
            .await;
        server.append_delta(r#"{"app:a":9,"user:u":9,"app:b":9}"#).await;
        assert_eq!(state_at(server, 0).await, json!({"app:a": 0, "k": 0}));
        for revision in 1..=3 {
            assert_eq!(state_at(server, revision).await, json!({"app:a": 2, "app:b": 2, "user:u": 3, "k": revision}));
            assert_eq!(server.get(at(revision)).await.tag().1, 1);
        }
    }

    async fn a_creation_with_events_is_one_request(server: &TestServer) {
        let created = server
            .create(
                r#"{"state":{"k":0,"app:a":0,"user:u":0},"events":[
                    {"actions":{"stateDelta":{"k":1,"app:a":1}}},
                    {"actions":{"stateDelta":{"app:b":2},"stateOps":[{"op":"remove","key":"k"},{"op":"remove","key":"user:u"}]}}]}"#,
            )
            .await;
        assert_eq!(created.tag(), (2, 1, 1, created.tag().3));
        assert_eq!(state_at(server, 0).await, json!({"app:a": 1, "app:b": 2, "k": 0}));
        assert_eq!(state_at(server, 1).await, json!({"app:a": 1, "app:b": 2, "k": 1}));
        assert_eq!(state_at(server, 2).await, json!({"app:a": 1, "app:b": 2}));
    }

    async fn keys_come_and_go(server: &TestServer) {
        server.create(r#"{"state":{"app:k":0}}"#).await;
        for n in 1..=6 {
            match n % 3 {
                0 => server.append_ops(r#"[{"op":"remove","key":"k"},{"op":"remove","key":"user:k"},{"op":"remove","key":"app:k"}]"#).await,
                _ => server.append_delta(&format!(r#"{{"k":{n},"user:k":{n},"app:k":{n}}}"#)).await,
            };
        }
        assert_eq!(state_at(server, 0).await, json!({"app:k": 0}));
        for n in 1..=6 {
            let shown = if n % 3 == 0 { json!({}) } else { json!({"app:k": n, "user:k": n, "k": n}) };
            assert_eq!(state_at(server, n).await, shown, "at {n}");
        }
    }

    async fn null_and_absent_are_different_in_the_past_too(server: &TestServer) {
        server.create(r#"{"state":{"a":null}}"#).await;
        server.append_delta(r#"{"a":1,"b":null,"app:c":null}"#).await;
        server.append_ops(r#"[{"op":"remove","key":"b"},{"op":"remove","key":"app:c"}]"#).await;
        assert_eq!(server.get(at(0)).await.text(), r#"{"a":null}"#);
        assert_eq!(state_at(server, 1).await, json!({"app:c": null, "a": 1, "b": null}));
        assert_eq!(state_at(server, 2).await, json!({"a": 1}));
    }

    async fn a_key_set_and_removed_by_one_request_never_was(server: &TestServer) {
        server.create("{}").await;
        server
            .append(
                r#"[{"actions":{"stateDelta":{"app:k":1,"k":1}}},
                    {"actions":{"stateOps":[{"op":"remove","key":"app:k"},{"op":"remove","key":"k"}]}},
                    {"actions":{"stateOps":[{"op":"set","key":"l","value":1},{"op":"remove","key":"l"}]}}]"#,
            )
            .await;
        server.append_delta(r#"{"app:k":2,"k":2}"#).await;
        // Each event has its own session keys; shared ones are of the request as a whole.
        for (revision, shown) in [(0, json!({})), (1, json!({"k": 1})), (2, json!({})), (3, json!({})), (4, json!({"app:k": 2, "k": 2}))] {
            assert_eq!(state_at(server, revision).await, shown, "at {revision}");
        }
    }

    async fn scope_and_keys_narrow_the_past_as_they_do_the_present(server: &TestServer) {
        server.create(r#"{"state":{"a":1,"b":1,"user:a":1,"user:b":1,"app:a":1,"app:b":1}}"#).await;
        server.append_delta(r#"{"a":2,"c":2,"user:a":2,"user:c":2,"app:a":2,"app:c":2}"#).await;
        server.append_ops(r#"[{"op":"remove","key":"a"},{"op":"remove","key":"user:a"},{"op":"remove","key":"app:a"}]"#).await;
        for (query, zero, one, two) in [
            ("scope=session", json!({"a": 1, "b": 1}), json!({"a": 2, "b": 1, "c": 2}), json!({"b": 1, "c": 2})),
            (
                "scope=user",
                json!({"user:a": 1, "user:b": 1}),
                json!({"user:a": 2, "user:b": 1, "user:c": 2}),
                json!({"user:b": 1, "user:c": 2}),
            ),
            (
                "scope=app",
                json!({"app:a": 1, "app:b": 1}),
                json!({"app:a": 2, "app:b": 1, "app:c": 2}),
                json!({"app:b": 1, "app:c": 2}),
            ),
            ("keys=a,user:c,app:a,none", json!({"app:a": 1, "a": 1}), json!({"app:a": 2, "user:c": 2, "a": 2}), json!({"user:c": 2})),
            ("keys=a,app:a,c&scope=session", json!({"a": 1}), json!({"a": 2, "c": 2}), json!({"c": 2})),
            ("keys=none", json!({}), json!({}), json!({})),
        ] {
            for (revision, shown) in [zero, one, two].iter().enumerate() {
                let answer = server.get(format!("{}&{query}", at(revision))).await.expect(200);
                assert_eq!(answer.json(), *shown, "{query} at {revision}");
                assert_eq!(answer.etag(), server.get(at(revision)).await.etag());
            }
        }
    }

    async fn a_revision_that_is_not_there_is_refused(server: &TestServer) {
        server.create("{}").await;
        server.append("{}").await;
        for bad in ["2", "3", "9223372036854775807", "9223372036854775808", "-1", "x", "", "1.0", "1e0", "+1", "0x1", "null"] {
            server.get(format!("{STATE}?atRevision={bad}")).await.invalid(&["atRevision"]);
            server.get(format!("{STATE}?atRevision={bad}")).header("if-none-match", "*").await.invalid(&["atRevision"]);
        }
        server.get(format!("{STATE}?atRevision=0&atRevision=1")).await.invalid(&["atRevision"]);
        server.get(format!("{STATE}?at_revision=1")).await.expect(200);
        server.get(format!("{STATE}?atRevision=1&scope=nobody")).await.invalid(&["scope"]);
    }

    async fn a_session_that_is_not_there_has_no_past(server: &TestServer) {
        server.get(at(0)).await.problem(404, "session_not_found");
        server.get(at(7)).await.problem(404, "session_not_found");
        server.create(r#"{"state":{"k":1},"events":[{}],"expireTime":1}"#).await;
        server.get(at(0)).await.problem(404, "session_not_found");
    }

    async fn a_session_made_anew_has_its_own_past(server: &TestServer) {
        server.create(r#"{"state":{"old":1,"app:k":1}}"#).await;
        for n in 0..3 {
            server.append_delta(&format!(r#"{{"k":{n},"old":{n},"app:k":{n}}}"#)).await;
        }
        let old = server.get(at(1)).await.etag();
        server.delete(ONE).await.expect(204);
        server.create(r#"{"state":{"new":1}}"#).await;
        assert_eq!(state_at(server, 0).await, json!({"app:k": 2, "new": 1}));
        server.get(at(1)).await.invalid(&["atRevision"]);
        server.append_delta(r#"{"new":2}"#).await;
        assert_eq!(state_at(server, 1).await, json!({"app:k": 2, "new": 2}));
        server.get(at(1)).header("if-none-match", old).await.expect(200);
    }

    async fn what_is_only_read_or_refused_adds_no_moment(server: &TestServer) {
        let mut recorded = Recorded::default();
        server.create(r#"{"state":{"k":1}}"#).await;
        recorded.note(server).await;
        server.append(r#"{"id":"e","actions":{"stateDelta":{"k":2}}}"#).await;
        recorded.note(server).await;
        server.post(EVENTS).json(r#"{"id":"e","actions":{"stateDelta":{"k":2}}}"#).await.expect(200);
        server.post(EVENTS).json(r#"{"id":"e","actions":{"stateDelta":{"k":3}}}"#).await.expect(409);
        server.post(EVENTS).header("if-match", "\"0\"").json("{}").await.expect(412);
        server.post(EVENTS).json(r#"{"partial":true,"actions":{"stateDelta":{"k":4}}}"#).await.expect(200);
        server.patch(STATE).json(r#"{"stateOps":[{"op":"append","key":"k","value":[1]}]}"#).await.expect(422);
        server.delete(format!("{STATE}/none")).await.expect(204);
        recorded.assert_shown(server, "after all that").await;
        server.get(at(2)).await.invalid(&["atRevision"]);
    }

    async fn a_rewind_leaves_the_past_as_it_was(server: &TestServer) {
        let mut recorded = Recorded::default();
        server.create(r#"{"state":{"k":0,"gone":0,"app:k":0}}"#).await;
        recorded.note(server).await;
        for n in 1..=3 {
            let actions = format!(r#"{{"stateDelta":{{"k":{n},"k{n}":1,"app:k":{n}}},"stateOps":[{{"op":"remove","key":"gone"}}]}}"#);
            server.append(format!(r#"{{"invocationId":"i{n}","actions":{actions}}}"#)).await;
            recorded.note(server).await;
        }
        for body in [r#"{"beforeInvocationId":"i2"}"#, r#"{"toRevision":0}"#, r#"{"toRevision":3}"#] {
            server.post(format!("{ONE}/rewind")).json(body).await.expect(200);
            recorded.note(server).await;
        }
        server.append_delta(r#"{"k":9}"#).await;
        recorded.note(server).await;
        recorded.assert_shown(server, "after rewinds").await;
        assert_folds(server, ONE).await;
    }

    async fn keys_of_any_kind_have_a_past(server: &TestServer) {
        let all = |value: i64| {
            let keys = ["", "user:", "app:"].iter().flat_map(|prefix| ODD_KEYS.map(|key| format!("{prefix}{key}")));
            Value::from(keys.map(|key| (key, json!(value))).collect::<serde_json::Map<_, _>>())
        };
        server.create(&json!({"sessionId": "s", "state": all(0)}).to_string()).await;
        server.append_delta(&all(1).to_string()).await;
        let removals: Vec<Value> = all(0).as_object().unwrap().keys().map(|key| json!({"op": "remove", "key": key})).collect();
        server.append_ops(&Value::from(removals).to_string()).await;
        for (revision, shown) in [(0, all(0)), (1, all(1)), (2, json!({}))] {
            assert_eq!(state_at(server, revision).await, shown, "at {revision}");
        }
        for key in ODD_KEYS {
            let keys = segment(&format!("app:{key}"));
            let shown = server.get(format!("{}&keys={keys}", at(1))).await.expect(200).json();
            assert_eq!(shown, json!({format!("app:{key}"): 1}));
        }
    }

    async fn many_keys_over_many_revisions(server: &TestServer) {
        server.create("{}").await;
        // Each event sets a key of its own and what all share, and every third removes an older one.
        let events: Vec<Value> = (1..=300)
            .map(|n| {
                let ops = if n % 3 == 0 { json!([{"op": "remove", "key": format!("k{}", n / 3)}]) } else { json!([]) };
                json!({"actions": {"stateDelta": {format!("k{n}"): n, "last": n}, "stateOps": ops}})
            })
            .collect();
        for chunk in events.chunks(100) {
            server.append(Value::from(chunk).to_string()).await;
        }
        for revision in [0, 1, 2, 3, 4, 5, 31, 32, 33, 63, 64, 65, 127, 128, 129, 255, 256, 257, 299, 300] {
            let mut shown = serde_json::Map::new();
            for n in 1..=revision {
                shown.insert(format!("k{n}"), json!(n));
                if n % 3 == 0 {
                    shown.remove(&format!("k{}", n / 3));
                }
                shown.insert("last".to_owned(), json!(n));
            }
            assert_eq!(state_at(server, revision).await, Value::from(shown), "at {revision}");
        }
    }

    async fn shared_state_over_many_revisions(server: &TestServer) {
        server.create("{}").await;
        for n in 1..=140 {
            let actions = match n % 4 {
                0 => format!(r#"{{"stateOps":[{{"op":"remove","key":"app:c{}"}},{{"op":"set","key":"user:n","value":{n}}}]}}"#, n / 4),
                _ => format!(r#"{{"stateDelta":{{"app:n":{n},"app:c{n}":1}}}}"#),
            };
            server.append(format!(r#"{{"actions":{actions}}}"#)).await;
            // Steps that no event of this session takes.
            server.patch(APP_STATE).json(format!(r#"{{"stateDelta":{{"between":{n}}}}}"#)).await.expect(200);
        }
        let mut shown = serde_json::Map::new();
        for n in 0..=140 {
            if n > 0 {
                if n % 4 == 0 {
                    shown.remove(&format!("app:c{}", n / 4));
                    shown.insert("user:n".to_owned(), json!(n));
                } else {
                    shown.insert("app:n".to_owned(), json!(n));
                    shown.insert(format!("app:c{n}"), json!(1));
                }
                if n > 1 {
                    shown.insert("app:between".to_owned(), json!(n - 1));
                }
            }
            assert_eq!(state_at(server, n).await, Value::from(shown.clone()), "at {n}");
        }
    }

    async fn large_values_of_the_past_come_back_whole(server: &TestServer) {
        server.create("{}").await;
        let value = |letter: &str| format!("\"{}\"", letter.repeat(1 << 20));
        for letter in ["a", "b", "c"] {
            server.append_delta(&format!(r#"{{"k":{0},"app:k":{0}}}"#, value(letter))).await;
        }
        for (n, letter) in ["a", "b", "c"].iter().enumerate() {
            let shown = server.get(at(n + 1)).await.expect(200);
            assert!(shown.raw(&["k"]) == value(letter) && shown.raw(&["app:k"]) == value(letter), "at {n}");
        }
    }
}
