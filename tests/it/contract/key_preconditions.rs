//! Preconditions on keys: `actions.preconditions` of events, `preconditions` in patches.

use std::future::IntoFuture as _;

use serde_json::{Value, json};

use crate::support::client::{APP_STATE, Answer, Client, EVENTS, ONE, S, STATE, USER_STATE};
use crate::support::databases::on_both_databases;
use crate::support::server::TestServer;

/// An event with these preconditions that sets `done`.
fn guarded(preconditions: &str) -> String {
    format!(r#"{{"actions":{{"preconditions":{preconditions},"stateDelta":{{"done":true}}}}}}"#)
}

/// Asserts that a write with this one precondition fails, whole, at the place of it.
async fn assert_fails(server: &Client, precondition: &str) {
    let before = server.shown().await;
    let answer = server.post(EVENTS).json(guarded(&format!("[{precondition}]"))).await;
    assert_eq!(fields(&answer), ["/actions/preconditions/0"], "{precondition}");
    let answer =
        server.patch(STATE).json(format!(r#"{{"preconditions":[{precondition}],"stateDelta":{{"done":1}}}}"#)).await;
    assert_eq!(fields(&answer), ["/preconditions/0"], "{precondition}");
    assert_eq!(server.shown().await, before, "{precondition}");
}

/// Asserts that an event with this one precondition, which changes nothing, is appended.
async fn assert_holds(server: &Client, precondition: &str) {
    let event = format!(r#"{{"actions":{{"preconditions":[{precondition}]}}}}"#);
    let answer = server.post(EVENTS).json(event).await;
    assert_eq!(answer.status, 201, "{precondition}: {answer}");
}

/// Asserts that a key has changed since each of these revisions, or that they have not come yet.
async fn assert_changed(server: &Client, key: &str, since: impl IntoIterator<Item = i64>) {
    for revision in since {
        assert_fails(server, &format!(r#"{{"key":"{key}","revision":{revision}}}"#)).await;
    }
}

/// Asserts that a key is what it was at each of these revisions.
async fn assert_unchanged(server: &Client, key: &str, since: impl IntoIterator<Item = i64>) {
    for revision in since {
        assert_holds(server, &format!(r#"{{"key":"{key}","revision":{revision}}}"#)).await;
    }
}

/// The fields that a failed precondition names.
#[track_caller]
fn fields(answer: &Answer) -> Vec<String> {
    let problem = answer.problem(412, "revision_mismatch");
    let errors = problem["errors"].as_array().unwrap_or_else(|| panic!("no `errors` in {answer}"));
    errors.iter().map(|error| error["field"].as_str().unwrap().to_owned()).collect()
}

const ALL_SCOPES: &str = r#"{"state":{"k":1,"user:k":1,"app:k":1}}"#;

on_both_databases! {
    async fn exists_tells_what_is_there_from_what_is_not(server: &TestServer) {
        server.create(r#"{"state":{"k":null,"user:k":1,"app:k":1,"gone":1,"app:gone":1}}"#).await;
        server.append_ops(r#"[{"op":"remove","key":"gone"},{"op":"remove","key":"app:gone"}]"#).await;
        for key in ["k", "user:k", "app:k"] {
            assert_holds(server, &format!(r#"{{"key":"{key}","exists":true}}"#)).await;
            assert_fails(server, &format!(r#"{{"key":"{key}","exists":false}}"#)).await;
        }
        for key in ["none", "user:none", "app:none", "gone", "app:gone", "K", "User:k"] {
            assert_holds(server, &format!(r#"{{"key":"{key}","exists":false}}"#)).await;
            assert_fails(server, &format!(r#"{{"key":"{key}","exists":true}}"#)).await;
        }
    }

    async fn equals_is_json_equality_and_what_is_absent_equals_nothing(server: &TestServer) {
        let value = r#"{"a":[1.0,"\u00e9"],"b":null}"#;
        server.create(&format!(r#"{{"state":{{"v":{value},"user:v":{value},"app:v":{value},"n":1,"null":null,"big":9007199254740993}}}}"#)).await;
        for key in ["v", "user:v", "app:v"] {
            for same in [value, r#"{ "b" : null, "a" : [ 1, "é" ] }"#, r#"{"\u0061":[10e-1,"é"],"b":null}"#] {
                assert_holds(server, &format!(r#"{{"key":"{key}","equals":{same}}}"#)).await;
            }
            for other in [r#"{"a":[1.0,"é"]}"#, r#"{"a":["é",1.0],"b":null}"#, r#"{"a":["1","é"],"b":null}"#, "null", "[]", "1"] {
                assert_fails(server, &format!(r#"{{"key":"{key}","equals":{other}}}"#)).await;
            }
        }
        for same in [r#"{"key":"n","equals":1.00}"#, r#"{"key":"n","equals":1e0}"#, r#"{"key":"big","equals":9007199254740993.0}"#] {
            assert_holds(server, same).await;
        }
        for other in [
            r#"{"key":"n","equals":true}"#,
            r#"{"key":"n","equals":"1"}"#,
            r#"{"key":"n","equals":1.0000000000000000000001}"#,
            r#"{"key":"big","equals":9007199254740992}"#,
            r#"{"key":"none","equals":1}"#,
            r#"{"key":"app:none","equals":{}}"#,
        ] {
            assert_fails(server, other).await;
        }
    }

    async fn null_is_a_value_to_be_equal_to(server: &TestServer) {
        server.create(r#"{"state":{"null":null,"n":0}}"#).await;
        assert_holds(server, r#"{"key":"null","equals":null}"#).await;
        assert_fails(server, r#"{"key":"n","equals":null}"#).await;
        assert_fails(server, r#"{"key":"none","equals":null}"#).await;
    }

    async fn revision_holds_while_a_session_key_is_unchanged_since(server: &TestServer) {
        server.create(r#"{"state":{"initial":1}}"#).await;
        server.append_delta(r#"{"k":1}"#).await;
        server.append_delta(r#"{"other":1}"#).await;
        server.append_delta(r#"{"initial":1}"#).await;
        for (key, since) in [("k", 1), ("other", 2), ("initial", 3), ("none", 0)] {
            assert_changed(server, key, (0..since).chain([999])).await;
        }
        for (key, since) in [("k", 1), ("other", 2), ("initial", 3), ("none", 0)] {
            assert_unchanged(server, key, since..=3).await;
        }
    }

    async fn a_revision_that_is_not_reached_yet_fails(server: &TestServer) {
        server.create(ALL_SCOPES).await;
        for (key, current) in [("k", 0), ("none", 0), ("user:k", 1), ("user:none", 1), ("app:k", 1)] {
            assert_changed(server, key, [current + 1]).await;
        }
        for (key, current) in [("k", 0), ("none", 0), ("user:k", 1), ("user:none", 1), ("app:k", 1)] {
            assert_unchanged(server, key, [current]).await;
        }
    }

    async fn revision_of_a_shared_key_is_its_scopes(server: &TestServer) {
        server.create("{}").await;
        for (scope, prefix) in [(USER_STATE, "user:"), (APP_STATE, "app:")] {
            for key in ["a", "b", "a", "c"] {
                server.patch(scope).json(format!(r#"{{"stateDelta":{{"{key}":1}}}}"#)).await.expect(200);
            }
            for (key, since) in [("a", 3), ("b", 2), ("c", 4), ("none", 0)] {
                let key = format!("{prefix}{key}");
                assert_changed(server, &key, (0..since).chain([5])).await;
                assert_unchanged(server, &key, since..=4).await;
            }
        }
    }

    async fn a_shared_key_changes_through_every_session_and_without_one(server: &TestServer) {
        server.create(ALL_SCOPES).await;
        server.create(r#"{"sessionId":"t"}"#).await;
        let other = r#"{"actions":{"stateDelta":{"user:k":1,"app:k":1}}}"#;
        server.post(format!("{S}/t/events")).json(other).await.expect(201);
        for key in ["user:k", "app:k"] {
            assert_changed(server, key, [1]).await;
            assert_unchanged(server, key, [2]).await;
        }
        server.delete(format!("{S}/t")).await.expect(204);
        assert_changed(server, "app:k", [1]).await;
        server.post("/v1/apps/app/users/other/sessions").json(r#"{"state":{"app:k":1}}"#).await.expect(201);
        assert_changed(server, "app:k", [2]).await;
        assert_unchanged(server, "app:k", [3]).await;
        assert_unchanged(server, "user:k", [2]).await;
    }

    async fn a_key_that_left_and_came_back_has_changed(server: &TestServer) {
        server.create(ALL_SCOPES).await;
        let (remove, back) = (
            r#"[{"op":"remove","key":"k"},{"op":"remove","key":"user:k"},{"op":"remove","key":"app:k"}]"#,
            r#"{"k":1,"user:k":1,"app:k":1}"#,
        );
        // Session at 0, scopes at 1; removed at 1 and 2; back at 2 and 3; removed again at 3 and 4.
        server.append_ops(remove).await;
        for (key, at) in [("k", 0), ("user:k", 1), ("app:k", 1)] {
            assert_changed(server, key, [at]).await;
        }
        server.append_delta(back).await;
        for (key, at) in [("k", 0), ("user:k", 1), ("app:k", 1)] {
            assert_changed(server, key, [at, at + 1]).await;
        }
        server.append_ops(remove).await;
        for (key, at) in [("k", 0), ("user:k", 1), ("app:k", 1)] {
            assert_changed(server, key, at..at + 3).await;
        }
        for (key, at) in [("k", 3), ("user:k", 4), ("app:k", 4)] {
            assert_unchanged(server, key, [at]).await;
        }
    }

    async fn a_key_that_came_and_left_has_changed(server: &TestServer) {
        server.create("{}").await;
        server.append_delta(r#"{"k":1,"user:k":1,"app:k":1}"#).await;
        server.append_ops(r#"[{"op":"remove","key":"k"},{"op":"remove","key":"user:k"},{"op":"remove","key":"app:k"}]"#).await;
        for key in ["k", "user:k", "app:k"] {
            assert_changed(server, key, [0, 1]).await;
            assert_unchanged(server, key, [2]).await;
        }
    }

    async fn removing_what_was_never_there_is_no_change_of_it(server: &TestServer) {
        server.create("{}").await;
        server.append_ops(r#"[{"op":"remove","key":"k"},{"op":"remove","key":"app:k"}]"#).await;
        assert_unchanged(server, "k", [0]).await;
        assert_unchanged(server, "app:k", [0]).await;
    }

    async fn setting_the_same_value_is_a_change(server: &TestServer) {
        server.create(ALL_SCOPES).await;
        server.append_delta(r#"{"k":1,"app:k":1}"#).await;
        assert_changed(server, "k", [0]).await;
        assert_changed(server, "app:k", [1]).await;
        assert_holds(server, r#"{"key":"k","equals":1}"#).await;
    }

    async fn a_session_made_anew_has_no_past(server: &TestServer) {
        server.create("{}").await;
        server.append_delta(r#"{"k":1}"#).await;
        server.append_ops(r#"[{"op":"remove","key":"k"}]"#).await;
        server.delete(ONE).await.expect(204);
        server.create("{}").await;
        assert_unchanged(server, "k", [0]).await;
    }

    async fn preconditions_are_judged_before_the_writes_of_their_event(server: &TestServer) {
        server.create(r#"{"state":{"n":1}}"#).await;
        let event = server
            .append(
                r#"{"actions":{
                    "stateDelta":{"n":5,"new":1},
                    "preconditions":[{"key":"n","equals":1},{"key":"new","exists":false},{"key":"n","revision":0}],
                    "stateOps":[{"op":"remove","key":"n"}]}}"#,
            )
            .await;
        assert_eq!(event.json()["actions"]["stateDelta"], json!({"new": 1}));
        assert_eq!(server.state().await, json!({"new": 1}));
    }

    async fn all_of_a_list_must_hold(server: &TestServer) {
        server.create(ALL_SCOPES).await;
        let good = r#"{"key":"k","equals":1},{"key":"user:k","revision":1},{"key":"app:none","exists":false}"#;
        let refused = server.post(EVENTS).json(guarded(&format!(r#"[{good},{{"key":"app:k","equals":2}}]"#))).await;
        assert_eq!(fields(&refused), ["/actions/preconditions/3"]);
        let answer = server.post(EVENTS).json(guarded(&format!("[{good}]"))).await.expect(201);
        assert_eq!(answer.tag().0, 1);
        server.post(EVENTS).json(guarded("[]")).await.expect(201);
        server.post(EVENTS).json(guarded("null")).await.expect(201);
        assert_eq!(server.get(ONE).await.json()["revision"], 3);
    }

    async fn one_key_may_be_named_several_times(server: &TestServer) {
        server.create(ALL_SCOPES).await;
        server.append(guarded(r#"[{"key":"k","equals":1},{"key":"k","exists":true},{"key":"k","revision":0}]"#)).await;
        let refused = server.post(EVENTS).json(guarded(r#"[{"key":"k","exists":true},{"key":"k","exists":false}]"#)).await;
        assert_eq!(fields(&refused), ["/actions/preconditions/1"]);
    }

    async fn a_failure_tells_where_things_stand(server: &TestServer) {
        server.create(ALL_SCOPES).await;
        server.append_delta(r#"{"the-key":"secret","user:k":2}"#).await;
        server.patch(APP_STATE).json(r#"{"stateDelta":{"k":2}}"#).await.expect(200);
        server.patch(APP_STATE).json(r#"{"stateDelta":{"k":3}}"#).await.expect(200);
        let list = r#"[{"key":"k","exists":true},{"key":"the-key","equals":"hidden"}]"#;
        let event = guarded(list);
        for (write, field) in [
            (server.post(EVENTS).json(event.as_str()), "/actions/preconditions/1"),
            (server.post(EVENTS).json(format!("[{{}},{{}},{event}]")), "/2/actions/preconditions/1"),
            (server.patch(STATE).json(format!(r#"{{"preconditions":{list}}}"#)), "/preconditions/1"),
        ] {
            let answer = write.await;
            let problem = answer.problem(412, "revision_mismatch");
            let revisions = [&problem["revision"], &problem["userRevision"], &problem["appRevision"]];
            assert_eq!(revisions, [&json!(1), &json!(2), &json!(3)], "{answer}");
            assert_eq!((&problem["outcome"], fields(&answer)), (&json!("not_applied"), vec![field.to_owned()]));
            assert!(problem["errors"][0]["message"].as_str().unwrap().contains("the-key"), "{answer}");
            assert!(!answer.text().contains("secret") && !answer.text().contains("hidden"), "{answer}");
        }
        assert_eq!(server.get(ONE).await.json()["revision"], 1);
    }

    async fn a_failure_says_what_is_the_matter(server: &TestServer) {
        server.create(ALL_SCOPES).await;
        server.append_delta(r#"{"k":2}"#).await;
        for (condition, what) in [
            (r#"{"key":"none","equals":1}"#, "the key `none` is absent"),
            (r#"{"key":"app:none","equals":null}"#, "the key `app:none` is absent"),
            (r#"{"key":"k","equals":1}"#, "the key `k` has another value"),
            (r#"{"key":"k","revision":0}"#, "the key `k` has changed since that revision"),
            (r#"{"key":"k","revision":2}"#, "the key `k` is asked about since a revision that has not come yet"),
            (r#"{"key":"none","revision":2}"#, "the key `none` is asked about since a revision that has not come yet"),
            (r#"{"key":"app:k","revision":9}"#, "the key `app:k` is asked about since a revision that has not come yet"),
            (r#"{"key":"k","exists":false}"#, "the key `k` exists"),
            (r#"{"key":"none","exists":true}"#, "the key `none` does not exist"),
        ] {
            let problem = server.post(EVENTS).json(guarded(&format!("[{condition}]"))).await.problem(412, "revision_mismatch");
            assert_eq!(problem["errors"][0]["message"], what);
        }
    }

    async fn a_failure_on_a_scope_alone_tells_its_revision(server: &TestServer) {
        for scope in [USER_STATE, APP_STATE] {
            server.patch(scope).json(r#"{"stateDelta":{"k":1}}"#).await.expect(200);
            server.patch(scope).json(r#"{"stateDelta":{"l":1}}"#).await.expect(200);
            let body = r#"{"preconditions":[{"key":"k","revision":2},{"key":"l","revision":1}],"stateDelta":{"done":1}}"#;
            let answer = server.patch(scope).json(body).await;
            assert_eq!(answer.problem(412, "revision_mismatch")["revision"], 2);
            assert_eq!(fields(&answer), ["/preconditions/1"]);
            assert_eq!(server.get(scope).await.text(), r#"{"k":1,"l":1}"#);
        }
    }

    async fn a_scope_alone_takes_every_form(server: &TestServer) {
        for scope in [USER_STATE, APP_STATE] {
            server.patch(scope).json(r#"{"stateDelta":{"k":1,"gone":1}}"#).await.expect(200);
            server.patch(scope).json(r#"{"stateOps":[{"op":"remove","key":"gone"}]}"#).await.expect(200);
            for failing in [
                r#"{"key":"k","exists":false}"#,
                r#"{"key":"k","equals":2}"#,
                r#"{"key":"k","revision":0}"#,
                r#"{"key":"k","revision":3}"#,
                r#"{"key":"gone","exists":true}"#,
                r#"{"key":"gone","revision":1}"#,
                r#"{"key":"gone","equals":1}"#,
            ] {
                let body = format!(r#"{{"preconditions":[{failing}],"stateDelta":{{"done":1}}}}"#);
                assert_eq!(fields(&server.patch(scope).json(body).await), ["/preconditions/0"], "{failing}");
            }
            let body = r#"{"preconditions":[{"key":"k","equals":1.0},{"key":"k","revision":1},{"key":"gone","revision":2},{"key":"gone","exists":false}],
                "stateOps":[{"op":"increment","key":"k","value":1}]}"#;
            assert_eq!(server.patch(scope).json(body).await.expect(200).text(), r#"{"k":2}"#);
            assert_eq!(fields(&server.patch(scope).json(body).await).len(), 2);
            for key in ["app:k", "user:k", "temp:k"] {
                let body = json!({"preconditions": [{"key": key, "exists": true}]}).to_string();
                server.patch(scope).json(body).await.invalid(&["/preconditions/0"]);
            }
        }
    }

    async fn preconditions_alone_can_be_asked_of_a_scope(server: &TestServer) {
        for scope in [USER_STATE, APP_STATE] {
            let asked = server.patch(scope).json(r#"{"preconditions":[{"key":"k","exists":false}]}"#).await.expect(200);
            assert_eq!((asked.text(), asked.etag().as_str()), ("{}", "\"0\""));
            let refused = server.patch(scope).json(r#"{"preconditions":[{"key":"k","exists":true}]}"#).await;
            assert_eq!(refused.problem(412, "revision_mismatch")["revision"], 0);
        }
    }

    async fn if_match_and_preconditions_must_both_hold(server: &TestServer) {
        let created = server.create(ALL_SCOPES).await;
        let (holds, fails) = (r#"[{"key":"k","equals":1}]"#, r#"[{"key":"k","equals":2}]"#);
        let patch = |list: &str| format!(r#"{{"preconditions":{list},"stateDelta":{{"done":true}}}}"#);
        for (tag, list) in [("\"0\"", fails), (&created.etag(), fails), ("\"7\"", holds), ("\"0.0.0.0\"", holds), ("\"7\"", fails)] {
            for write in [server.post(EVENTS).json(guarded(list)), server.patch(STATE).json(patch(list))] {
                let problem = write.header("if-match", tag).await.problem(412, "revision_mismatch");
                assert_eq!(problem["revision"], 0, "{tag} {list}");
            }
        }
        assert_eq!(server.get(ONE).await.json()["revision"], 0);
        server.post(EVENTS).header("if-match", created.etag()).json(guarded(holds)).await.expect(201);
        server.patch(STATE).header("if-match", "\"1\"").json(patch(holds)).await.expect(200);
        for scope in [USER_STATE, APP_STATE] {
            for (tag, list) in [("\"1\"", fails), ("\"0\"", holds)] {
                server.patch(scope).header("if-match", tag).json(patch(list)).await.problem(412, "revision_mismatch");
            }
            server.patch(scope).header("if-match", "\"1\"").json(patch(holds)).await.expect(200);
        }
    }

    async fn a_retry_of_a_success_comes_before_its_preconditions(server: &TestServer) {
        server.create("{}").await;
        let event = r#"{"id":"e","actions":{"preconditions":[{"key":"k","exists":false},{"key":"k","revision":0}],"stateDelta":{"k":1}}}"#;
        let first = server.append(event).await;
        for again in [
            server.post(EVENTS).json(event).await.expect(200),
            server.post(EVENTS).json(first.text()).await.expect(200),
            server.post(EVENTS).header("if-match", "\"0\"").json(event).await.expect(200),
        ] {
            assert!(again.was_replayed());
            assert_eq!(again.text(), first.text());
        }
        let patch = || {
            let body = r#"{"preconditions":[{"key":"l","exists":false}],"stateDelta":{"l":1},"eventId":"p"}"#;
            server.patch(STATE).json(body)
        };
        assert!(!patch().await.expect(200).was_replayed());
        assert!(patch().await.expect(200).was_replayed());
        // Without the id it is no retry.
        assert_eq!(fields(&server.post(EVENTS).json(event.replace(r#""id":"e","#, "")).await).len(), 2);
        assert_eq!(server.get(ONE).await.json()["revision"], 2);
    }

    async fn in_a_batch_each_event_is_judged_in_its_place(server: &TestServer) {
        server.create(r#"{"state":{"n":0}}"#).await;
        let step = |from: i64| {
            format!(
                r#"{{"actions":{{"preconditions":[{{"key":"n","equals":{from}}},{{"key":"n","revision":{from}}}],"stateDelta":{{"n":{}}}}}}}"#,
                from + 1
            )
        };
        let refused = server.post(EVENTS).json(format!("[{},{}]", step(0), step(0))).await;
        assert_eq!(fields(&refused), ["/1/actions/preconditions/0", "/1/actions/preconditions/1"]);
        assert_eq!(server.get(ONE).await.json()["revision"], 0);
        server.append(format!("[{},{},{}]", step(0), step(1), step(2))).await;
        assert_eq!(server.state().await, json!({"n": 3}));
    }

    async fn in_a_batch_shared_keys_change_from_event_to_event(server: &TestServer) {
        server.create("{}").await;
        let sets = r#"{"actions":{"stateDelta":{"app:k":1}}}"#;
        let only_if_absent = guarded(r#"[{"key":"app:k","exists":false}]"#);
        let only_if_set = guarded(r#"[{"key":"app:k","equals":1}]"#);
        let since = guarded(r#"[{"key":"app:k","revision":0}]"#);
        for after in [&only_if_absent, &since] {
            assert_eq!(fields(&server.post(EVENTS).json(format!("[{sets},{after}]")).await), ["/1/actions/preconditions/0"]);
        }
        assert_eq!(fields(&server.post(EVENTS).json(format!("[{only_if_set},{sets}]")).await), ["/0/actions/preconditions/0"]);
        server.append(format!("[{only_if_absent},{since},{sets},{only_if_set}]")).await;
        assert_eq!(server.get(ONE).await.json()["revision"], 4);
    }

    async fn in_a_batch_a_retry_is_not_judged_again(server: &TestServer) {
        server.create("{}").await;
        let event = r#"{"id":"e","actions":{"preconditions":[{"key":"k","exists":false}],"stateDelta":{"k":1}}}"#;
        let first = server.append(event).await;
        let batch = server.append(format!(r#"[{event},{}]"#, guarded(r#"[{"key":"k","equals":1}]"#))).await;
        assert_eq!(batch.raw(&["0"]), first.text());
        assert_eq!(server.get(ONE).await.json()["revision"], 2);
    }

    async fn an_event_twice_in_a_batch_is_judged_once(server: &TestServer) {
        server.create("{}").await;
        let event = r#"{"id":"e","actions":{"preconditions":[{"key":"k","exists":false}],"stateDelta":{"k":1}}}"#;
        let batch = server.append(format!("[{event},{event}]")).await;
        assert_eq!(batch.raw(&["0"]), batch.raw(&["1"]));
        assert_eq!(server.get(ONE).await.json()["revision"], 1);
    }

    async fn events_of_a_creation_are_judged_too(server: &TestServer) {
        server.patch(APP_STATE).json(r#"{"stateDelta":{"k":1}}"#).await.expect(200);
        let create = |list: &str| server.post(S).json(format!(r#"{{"sessionId":"s","state":{{"n":1}},"events":[{{}},{}]}}"#, guarded(list)));
        for failing in [r#"{"key":"app:k","equals":2}"#, r#"{"key":"n","exists":false}"#, r#"{"key":"app:k","revision":0}"#] {
            assert_eq!(fields(&create(&format!("[{failing}]")).await), ["/events/1/actions/preconditions/0"], "{failing}");
            server.get(ONE).await.problem(404, "session_not_found");
        }
        assert_eq!(server.get(APP_STATE).await.etag(), "\"1\"");
        create(r#"[{"key":"app:k","equals":1},{"key":"app:k","revision":1},{"key":"n","exists":true},{"key":"user:k","exists":false}]"#).await.expect(201);
    }

    async fn a_precondition_has_its_form(server: &TestServer) {
        server.create(ALL_SCOPES).await;
        let before = server.shown().await;
        let long = format!(r#"{{"key":"{}","exists":false}}"#, "x".repeat(513));
        for bad in [
            r#"{"key":"k"}"#,
            r#"{"exists":true}"#,
            r#"{"key":"k","exists":true,"equals":1}"#,
            r#"{"key":"k","exists":true,"revision":0}"#,
            r#"{"key":"k","equals":1,"revision":0}"#,
            r#"{"key":"k","exists":true,"other":1}"#,
            r#"{"key":"k","exists":1}"#,
            r#"{"key":"k","exists":"true"}"#,
            r#"{"key":"k","revision":-1}"#,
            r#"{"key":"k","revision":"0"}"#,
            r#"{"key":"k","revision":0.5}"#,
            r#"{"key":"k","revision":true}"#,
            r#"{"key":7,"exists":true}"#,
            r#"{"key":null,"exists":true}"#,
            r#"{"key":"temp:k","exists":false}"#,
            r#"{"key":"a\u0000b","exists":false}"#,
            &long,
            r#"["k",1]"#,
            r#""k""#,
            "null",
        ] {
            let list = format!(r#"[{{"key":"k","exists":true}},{bad}]"#);
            let event = guarded(&list);
            for (request, field) in [
                (server.post(EVENTS).json(event.as_str()), "/actions/preconditions/1"),
                (server.post(EVENTS).json(format!("[{{}},{event}]")), "/1/actions/preconditions/1"),
                (server.post(S).json(format!(r#"{{"events":[{event}]}}"#)), "/events/0/actions/preconditions/1"),
                (server.patch(STATE).json(format!(r#"{{"preconditions":{list}}}"#)), "/preconditions/1"),
                (server.patch(USER_STATE).json(format!(r#"{{"preconditions":{list}}}"#)), "/preconditions/1"),
                (server.patch(APP_STATE).json(format!(r#"{{"preconditions":{list}}}"#)), "/preconditions/1"),
            ] {
                request.await.invalid(&[field]);
            }
        }
        for bad in ["{}", "7", r#"{"key":"k","exists":true}"#] {
            server.post(EVENTS).json(guarded(bad)).await.invalid(&["/actions/preconditions"]);
            server.patch(STATE).json(format!(r#"{{"preconditions":{bad}}}"#)).await.invalid(&["/preconditions"]);
            server.patch(APP_STATE).json(format!(r#"{{"preconditions":{bad}}}"#)).await.invalid(&["/preconditions"]);
        }
        assert_eq!(server.shown().await, before);
    }

    async fn a_broken_precondition_is_told_before_a_failed_one(server: &TestServer) {
        server.create("{}").await;
        let list = r#"[{"key":"k","exists":true},{"key":"k","exists":7}]"#;
        server.post(EVENTS).json(guarded(list)).await.invalid(&["/actions/preconditions/1"]);
        server.post(format!("{S}/none/events")).json(guarded(r#"[{"key":"k","exists":true}]"#)).await.problem(404, "session_not_found");
    }

    async fn a_failed_precondition_is_told_before_a_wrong_type(server: &TestServer) {
        server.create(r#"{"state":{"k":"text"}}"#).await;
        let event = r#"{"actions":{"preconditions":[{"key":"k","equals":1}],"stateOps":[{"op":"increment","key":"k","value":1}]}}"#;
        assert_eq!(fields(&server.post(EVENTS).json(event).await), ["/actions/preconditions/0"]);
        let event = event.replace("\"equals\":1", "\"equals\":\"text\"");
        server.post(EVENTS).json(event).await.invalid(&["/actions/stateOps/0"]);
    }

    async fn a_compare_and_swap_can_be_made_of_it(server: &TestServer) {
        server.create(r#"{"state":{"app:n":0}}"#).await;
        let swap = |from: i64| {
            let body = json!({"preconditions": [{"key": "n", "equals": from}], "stateDelta": {"n": from + 1}});
            server.patch(APP_STATE).json(body.to_string())
        };
        let increment = async || {
            loop {
                let from = server.get(APP_STATE).await.json()["n"].as_i64().unwrap();
                if swap(from).await.status == 200 {
                    break;
                }
            }
        };
        futures_util::future::join_all((0..8).map(|_| increment())).await;
        assert_eq!(server.get(APP_STATE).await.text(), r#"{"n":8}"#);
    }

    async fn writers_of_disjoint_keys_never_fail_one_another(server: &TestServer) {
        server.create("{}").await;
        server.create(r#"{"sessionId":"t"}"#).await;
        let event = |prefix: &str, n: usize| {
            format!(
                r#"{{"actions":{{"preconditions":[{{"key":"{prefix}k{n}","revision":0}},{{"key":"{prefix}k{n}","exists":false}}],"stateDelta":{{"{prefix}k{n}":1}}}}}}"#
            )
        };
        let writes = (0..8).flat_map(|n| {
            [
                server.post(EVENTS).json(event("", n)).into_future(),
                server.post(EVENTS).json(event("user:a", n)).into_future(),
                server.post(EVENTS).json(event("app:a", n)).into_future(),
                server.post(format!("{S}/t/events")).json(event("app:b", n)).into_future(),
                server.patch(APP_STATE).json(format!(r#"{{"preconditions":[{{"key":"c{n}","revision":0}}],"stateDelta":{{"c{n}":1}}}}"#)).into_future(),
            ]
        });
        for answer in futures_util::future::join_all(writes).await {
            assert!(answer.status < 300, "{answer}");
        }
        assert_eq!(server.state().await.as_object().map(serde_json::Map::len), Some(40));
    }

    async fn of_writers_of_one_key_exactly_one_wins(server: &TestServer) {
        server.create("{}").await;
        server.create(r#"{"sessionId":"t"}"#).await;
        for prefix in ["", "user:", "app:"] {
            let sessions = [ONE.to_owned(), if prefix.is_empty() { ONE.to_owned() } else { format!("{S}/t") }];
            for (key, form) in [(format!("{prefix}k"), json!({"revision": 0})), (format!("{prefix}l"), json!({"exists": false}))] {
                let mut precondition = form;
                precondition["key"] = json!(key);
                let event = json!({"actions": {"preconditions": [precondition], "stateDelta": {&key: 1}}}).to_string();
                let writes = (0..8).map(|n| server.post(format!("{}/events", sessions[n % 2])).json(event.as_str()).into_future());
                let mut statuses: Vec<u16> =
                    futures_util::future::join_all(writes).await.iter().map(|answer| answer.status).collect();
                statuses.sort_unstable();
                assert_eq!(statuses, [201, 412, 412, 412, 412, 412, 412, 412], "{key}");
            }
        }
    }

    async fn a_stored_event_keeps_its_preconditions(server: &TestServer) {
        server.create("{}").await;
        let list = r#"[ {"exists": false ,"key":"k"} ]"#;
        let stored = server.append(guarded(list)).await;
        assert_eq!(stored.raw(&["actions", "preconditions"]), list);
        assert_eq!(server.get(EVENTS).await.raw(&["events", "0"]), stored.text());
    }

    async fn a_partial_event_is_not_judged(server: &TestServer) {
        server.create("{}").await;
        let given = r#"{"partial":true,"actions":{"preconditions":[{"key":"k","exists":true}]}}"#;
        assert_eq!(server.post(EVENTS).json(given).await.expect(200).text(), given);
    }

    async fn revisions_hold_over_a_long_history(server: &TestServer) {
        server.create("{}").await;
        let events: Vec<Value> = (1..=300).map(|n| json!({"actions": {"stateDelta": {format!("k{n}"): n, "last": n}}})).collect();
        server.append(Value::from(events).to_string()).await;
        for n in [1, 2, 63, 64, 65, 127, 128, 129, 255, 256, 299, 300] {
            assert_changed(server, &format!("k{n}"), [n - 1]).await;
            assert_changed(server, "last", (n < 300).then_some(n)).await;
        }
        for n in [1, 2, 63, 64, 65, 127, 128, 129, 255, 256, 299, 300] {
            assert_unchanged(server, &format!("k{n}"), [n]).await;
        }
        assert_unchanged(server, "last", [300]).await;
    }
}
