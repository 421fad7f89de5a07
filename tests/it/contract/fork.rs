//! Forks: a new session with the history of another.

use std::future::IntoFuture as _;

use serde_json::{Value, json};

use crate::support::client::{APP_STATE, Answer, Client, EVENTS, ONE, S, STATE, USER_STATE, raw_in};
use crate::support::databases::on_both_databases;
use crate::support::server::TestServer;
use crate::support::state::{ODD_KEYS, assert_folds, elements, fold, members, own};

const FORK: &str = "/v1/apps/app/users/user/sessions/s/fork";
/// The fork that [`fork`] makes.
const TWO: &str = "/v1/apps/app/users/user/sessions/f";

/// Forks [`ONE`] at a revision into [`TWO`].
async fn fork(server: &Client, revision: usize) -> Answer {
    server.post(FORK).json(format!(r#"{{"sessionId":"f","atRevision":{revision}}}"#)).await.expect(201)
}

/// Fills [`ONE`] with a history of four events that change, add and remove keys of all scopes.
async fn fill(server: &Client) {
    server
        .create(
            r#"{"state":{"k":0,"gone":{ "a" : 1.0 },"app:k":0,"user:k":0},"displayName":"Name","labels":{"env":"prod"}}"#,
        )
        .await;
    server.append(r#"{"id":"e1","timestamp":10.50,"author":"user","invocationId":"i1","actions":{"stateDelta":{"k":1,"app:k":1}}}"#).await;
    server
        .append(
            r#"[{"id":"e2","timestamp":5,"invocationId":"i1","actions":{"stateDelta":{"l":[ 1 ]},"stateOps":[{"op":"remove","key":"gone"}]}},
                {"id":"e3","timestamp":7,"invocationId":"i2","content":{"parts":[{"text":"\u00e9"}]},"actions":{"stateDelta":{"user:k":3,"gone":null}}}]"#,
        )
        .await;
    server
        .append(r#"{"id":"e4","invocationId":"i3","actions":{"stateOps":[{"op":"increment","key":"k","value":1.0}]}}"#)
        .await;
}

/// The session's own keys at a revision, as text.
async fn own_at(server: &Client, session: &str, revision: usize) -> String {
    server.get(format!("{session}/state?scope=session&atRevision={revision}")).await.expect(200).text().to_owned()
}

on_both_databases! {
    async fn a_fork_has_the_events_of_its_source_byte_for_byte(server: &TestServer) {
        fill(server).await;
        let source = elements(&server.get(ONE).await.raw(&["events"]));
        for revision in 0..=4 {
            let answer = server.post(FORK).json(format!(r#"{{"atRevision":{revision}}}"#)).await.expect(201);
            assert_eq!(elements(&answer.raw(&["events"])), source[..revision]);
            let path = answer.header("location").expect("Location").to_owned();
            assert_eq!(server.get(&path).await.expect(200).text(), answer.text());
            assert_eq!(elements(&server.get(format!("{path}/events")).await.raw(&["events"])), source[..revision]);
            for event in &source[..revision] {
                let id = raw_in(event, &["id"]).unwrap();
                let read = server.get(format!("{path}/events/{}", id.trim_matches('"'))).await.expect(200);
                assert_eq!(read.text(), event);
            }
            server.get(format!("{path}/events/e{}", revision + 1)).await.problem(404, "event_not_found");
        }
    }

    async fn a_fork_has_the_session_state_of_its_moment_and_the_shared_state_of_now(server: &TestServer) {
        fill(server).await;
        server.patch(APP_STATE).json(r#"{"stateDelta":{"k":"now"}}"#).await.expect(200);
        server.patch(USER_STATE).json(r#"{"stateOps":[{"op":"remove","key":"k"}]}"#).await.expect(200);
        for (revision, state) in [
            (0, json!({"app:k": "now", "k": 0, "gone": {"a": 1.0}})),
            (1, json!({"app:k": "now", "k": 1, "gone": {"a": 1.0}})),
            (2, json!({"app:k": "now", "k": 1, "l": [1]})),
            (3, json!({"app:k": "now", "k": 1, "l": [1], "gone": null})),
            (4, json!({"app:k": "now", "k": 2.0, "l": [1], "gone": null})),
        ] {
            let forked = server.post(FORK).json(format!(r#"{{"atRevision":{revision}}}"#)).await.expect(201);
            assert_eq!(forked.json()["state"], state, "at {revision}");
            assert_eq!(forked.json()["revision"], revision);
            let path = forked.header("location").unwrap();
            let own = server.get(format!("{path}/state?scope=session")).await.expect(200);
            assert_eq!(own.text(), own_at(server, ONE, revision).await);
        }
        // Forks write nothing to what is shared.
        let shared = [server.get(APP_STATE).await, server.get(USER_STATE).await];
        assert_eq!(shared.map(|scope| (scope.text().to_owned(), scope.etag())), [
            (r#"{"k":"now"}"#.to_owned(), "\"3\"".to_owned()),
            ("{}".to_owned(), "\"3\"".to_owned()),
        ]);
    }

    async fn a_fork_is_a_session_of_its_own(server: &TestServer) {
        fill(server).await;
        let source = server.get(ONE).await;
        let forked = fork(server, 2).await;
        let session = forked.json();
        assert_eq!(
            (&session["id"], &session["appName"], &session["userId"], &session["revision"]),
            (&json!("f"), &json!("app"), &json!("user"), &json!(2))
        );
        assert_eq!(forked.header("location"), Some(TWO));
        assert_eq!(session["forkedFrom"], json!({"sessionId": "s", "revision": 2}));
        assert!(session["createTime"].as_f64() > source.json()["createTime"].as_f64());
        // As in every session, the timestamp of its last event.
        assert_eq!(forked.raw(&["lastUpdateTime"]), "5");
        let (revision, user, app, mark) = forked.tag();
        assert_eq!((revision, user, app), (2, 2, 2));
        assert_ne!(mark, source.tag().3);
        assert_eq!(server.get(TWO).await.etag(), forked.etag());
    }

    async fn the_source_is_untouched(server: &TestServer) {
        fill(server).await;
        let (before, list) = (server.shown().await, server.get(format!("{S}?includeState=true")).await.text().to_owned());
        for revision in [0, 2, 4] {
            fork(server, revision).await;
            assert_eq!(server.shown().await, before);
            server.post(format!("{TWO}/events")).json(r#"{"actions":{"stateDelta":{"k":9}}}"#).await.expect(201);
            assert_eq!(server.shown().await, before);
            server.delete(TWO).await.expect(204);
            assert_eq!(server.get(format!("{S}?includeState=true")).await.text(), list);
        }
        server.get(ONE).header("if-none-match", before.1).await.expect(304);
    }

    async fn a_fork_without_a_body_is_of_now_and_gets_an_id(server: &TestServer) {
        fill(server).await;
        for request in [
            server.post(FORK),
            server.post(FORK).json("{}"),
            server.post(FORK).body("application/json", ""),
            server.post(FORK).json(r#"{"atRevision":null,"sessionId":null}"#),
            server.post(FORK).json(r#"{"session_id":"  "}"#),
            server.post(FORK).json(r#"{"at_revision":4,"sessionId":""}"#),
        ] {
            let session = request.await.expect(201).json();
            assert_eq!(uuid::Uuid::parse_str(session["id"].as_str().unwrap()).unwrap().get_version_num(), 7);
            assert_eq!(session["forkedFrom"], json!({"sessionId": "s", "revision": 4}));
            assert_eq!(session["state"], server.state().await);
        }
        assert_eq!(server.get(S).await.json()["sessions"].as_array().unwrap().len(), 7);
    }

    async fn a_fork_at_creation_has_the_initial_state_and_no_events(server: &TestServer) {
        fill(server).await;
        let forked = fork(server, 0).await.json();
        assert_eq!((&forked["revision"], &forked["events"]), (&json!(0), &json!([])));
        assert_eq!(forked["lastUpdateTime"], forked["createTime"]);
        assert_eq!(forked["forkedFrom"], json!({"sessionId": "s", "revision": 0}));
        let appended = server.post(format!("{TWO}/events")).json(r#"{"id":"e1"}"#).await.expect(201);
        assert_eq!(appended.json()["sequence"], 1);
    }

    async fn a_session_without_events_can_be_forked(server: &TestServer) {
        server.create(r#"{"state":{"k":1}}"#).await;
        let forked = server.post(FORK).await.expect(201).json();
        assert_eq!((&forked["state"], &forked["revision"]), (&json!({"k": 1}), &json!(0)));
        server.post(FORK).json(r#"{"atRevision":1}"#).await.invalid(&["atRevision"]);
    }

    async fn both_go_on_on_their_own(server: &TestServer) {
        fill(server).await;
        fork(server, 2).await;
        server.append_delta(r#"{"k":"source"}"#).await;
        let appended = server
            .post(format!("{TWO}/events"))
            .json(r#"{"id":"e3","actions":{"stateDelta":{"k":"fork"},"stateOps":[{"op":"append","key":"l","value":[2]}]}}"#)
            .await
            .expect(201);
        assert_eq!(appended.json()["sequence"], 3);
        server.delete(format!("{STATE}/l")).await.expect(204);
        server.put(format!("{TWO}/state/own")).json("1").await.expect(200);
        server.patch(ONE).json(r#"{"displayName":"Other"}"#).await.expect(200);
        let (source, forked) = (server.get(ONE).await.json(), server.get(TWO).await.json());
        assert_eq!(source["state"], json!({"app:k": 1, "user:k": 3, "k": "source", "gone": null}));
        assert_eq!(forked["state"], json!({"app:k": 1, "user:k": 3, "k": "fork", "l": [1, 2], "own": 1}));
        assert_eq!((&source["revision"], &forked["revision"]), (&json!(6), &json!(4)));
        assert_eq!((&source["displayName"], &forked["displayName"]), (&json!("Other"), &json!("Name")));
        for session in [ONE, TWO] {
            assert_folds(server, session).await;
        }
        // What is shared stays shared.
        server.put(format!("{TWO}/state/app:k")).json("5").await.expect(200);
        assert_eq!(server.state().await["app:k"], 5);
    }

    async fn a_retry_of_an_event_is_a_retry_in_the_fork_too(server: &TestServer) {
        fill(server).await;
        let first = server.get(format!("{EVENTS}/e1")).await.text().to_owned();
        fork(server, 2).await;
        let events = format!("{TWO}/events");
        let event = r#"{"id":"e1","timestamp":10.50,"author":"user","invocationId":"i1","actions":{"stateDelta":{"k":1,"app:k":1}}}"#;
        for same in [event, &first] {
            let again = server.post(&events).json(same).await.expect(200);
            assert!(again.was_replayed());
            assert_eq!(again.text(), first);
        }
        server.post(&events).json(r#"{"id":"e2"}"#).await.problem(409, "event_id_conflict");
        // What came after the fork is not in it.
        assert_eq!(server.post(&events).json(r#"{"id":"e4"}"#).await.expect(201).json()["sequence"], 3);
        assert_eq!(server.get(TWO).await.json()["revision"], 3);
    }

    async fn where_a_fork_is_from_is_shown_wherever_it_is(server: &TestServer) {
        fill(server).await;
        fork(server, 3).await;
        let from = json!({"sessionId": "s", "revision": 3});
        assert_eq!(server.get(TWO).await.json()["forkedFrom"], from);
        assert_eq!(server.put(TWO).await.expect(200).json()["forkedFrom"], from);
        assert_eq!(server.patch(TWO).json(r#"{"displayName":"x"}"#).await.expect(200).json()["forkedFrom"], from);
        for list in [S, "/v1/apps/app/sessions"] {
            let list = server.get(format!("{list}?orderBy=createTime")).await.expect(200).json();
            assert_eq!(list["sessions"][1]["forkedFrom"], from);
            assert!(list["sessions"][0].get("forkedFrom").is_none());
        }
        assert!(server.get(ONE).await.json().get("forkedFrom").is_none());
        server.post(format!("{TWO}/events")).json("{}").await.expect(201);
        server.delete(ONE).await.expect(204);
        assert_eq!(server.get(TWO).await.json()["forkedFrom"], from);
    }

    async fn metadata_are_copied_once(server: &TestServer) {
        server.create(r#"{"displayName":"Name \u00e9","labels":{"env":"prod","b":""},"expireTime":4102444800}"#).await;
        let forked = fork(server, 0).await;
        for field in ["displayName", "labels", "expireTime"] {
            assert_eq!(forked.raw(&[field]), server.get(ONE).await.raw(&[field]), "{field}");
        }
        assert_eq!(server.get(format!("{S}?label.env=prod")).await.json()["sessions"].as_array().unwrap().len(), 2);
        server.patch(ONE).json(r#"{"displayName":null,"labels":null,"ttl":null}"#).await.expect(200);
        assert_eq!(server.get(TWO).await.text(), forked.text());
        // What the source has no more is not copied.
        let bare = server.post(FORK).await.expect(201).json();
        for field in ["displayName", "labels", "expireTime"] {
            assert!(bare.get(field).is_none(), "{field}");
        }
    }

    async fn an_id_that_is_taken_is_a_conflict(server: &TestServer) {
        fill(server).await;
        server.create(r#"{"sessionId":"f","state":{"own":1}}"#).await;
        let (before, other) = (server.shown().await, server.get(TWO).await.text().to_owned());
        for taken in ["f", "s", " f "] {
            let answer = server.post(FORK).json(format!(r#"{{"sessionId":"{taken}"}}"#)).await;
            assert_eq!(answer.problem(409, "session_already_exists")["outcome"], "not_applied");
        }
        assert_eq!((server.shown().await, server.get(TWO).await.text().to_owned()), (before, other));
        // One of another user is none of ours.
        server.put("/v1/apps/app/users/other/sessions/g").await.expect(201);
        server.post(FORK).json(r#"{"sessionId":"g"}"#).await.expect(201);
    }

    async fn an_id_of_the_past_is_free(server: &TestServer) {
        fill(server).await;
        server.create(r#"{"sessionId":"f","state":{"old":1},"events":[{"id":"old"}]}"#).await;
        server.delete(TWO).await.expect(204);
        assert_eq!(fork(server, 1).await.json()["state"], json!({"app:k": 1, "user:k": 3, "k": 1, "gone": {"a": 1.0}}));
        server.get(format!("{TWO}/events/old")).await.problem(404, "event_not_found");
        server.patch(TWO).json(r#"{"expireTime":1}"#).await.expect(200);
        assert_eq!(fork(server, 2).await.json()["revision"], 2);
    }

    async fn a_source_that_is_not_there_is_404(server: &TestServer) {
        server.post(FORK).await.problem(404, "session_not_found");
        server.post(FORK).json(r#"{"atRevision":5,"sessionId":"f"}"#).await.problem(404, "session_not_found");
        server.create(r#"{"expireTime":1}"#).await;
        server.post(FORK).await.problem(404, "session_not_found");
        server.get(TWO).await.problem(404, "session_not_found");
        server.post(format!("{S}/%20/fork")).await.invalid(&["sessionId"]);
    }

    async fn a_body_has_its_form(server: &TestServer) {
        fill(server).await;
        for (body, field) in [
            (r#"{"atRevision":5}"#, "atRevision"),
            (r#"{"atRevision":9223372036854775808}"#, "atRevision"),
            (r#"{"atRevision":-1}"#, "atRevision"),
            (r#"{"atRevision":1.5}"#, "atRevision"),
            (r#"{"atRevision":"1"}"#, "atRevision"),
            (r#"{"atRevision":true}"#, "atRevision"),
            (r#"{"atRevision":1,"at_revision":1}"#, "atRevision"),
            (r#"{"sessionId":7}"#, "sessionId"),
            (r#"{"sessionId":".."}"#, "sessionId"),
            (r#"{"sessionId":"a","session_id":"a"}"#, "sessionId"),
            (r#"{"revision":1}"#, "revision"),
            (r#"{"state":{}}"#, "state"),
            ("[]", ""),
            ("7", ""),
        ] {
            assert_eq!(server.post(FORK).json(body).await.invalid(&[field])["outcome"], "not_applied", "{body}");
        }
        server.post(FORK).json("{").await.problem(400, "invalid_json");
        server.post(FORK).body("text/plain", "{}").await.problem(415, "unsupported_media_type");
        server.post(format!("{FORK}?atRevision=1")).await.invalid(&["atRevision"]);
        server.get(FORK).await.problem(405, "method_not_allowed");
        assert_eq!(server.get(S).await.json()["sessions"].as_array().unwrap().len(), 1);
    }

    async fn a_fork_remembers_the_past_of_its_source(server: &TestServer) {
        fill(server).await;
        let past = async |session: &str, revision: usize| {
            let shown = server.get(format!("{session}/state?atRevision={revision}")).await.expect(200);
            let (revision, user, app, _) = shown.tag();
            (shown.text().to_owned(), revision, user, app)
        };
        let mut source = Vec::new();
        for revision in 0..=4 {
            source.push(past(ONE, revision).await);
        }
        fork(server, 3).await;
        server.post(format!("{TWO}/events")).json(r#"{"actions":{"stateDelta":{"k":9,"app:k":9}}}"#).await.expect(201);
        server.append_delta(r#"{"k":8,"gone":8,"user:k":8}"#).await;
        for _ in 0..2 {
            for (revision, shown) in source[..=3].iter().enumerate() {
                assert_eq!(past(TWO, revision).await, *shown, "at {revision}");
            }
            assert_eq!(own_at(server, TWO, 4).await, r#"{"gone":null,"k":9,"l":[ 1 ]}"#);
            server.get(format!("{TWO}/state?atRevision=5")).await.invalid(&["atRevision"]);
            // It needs its source no more.
            server.delete(ONE).await.expect(204);
        }
    }

    async fn a_fork_can_be_forked(server: &TestServer) {
        fill(server).await;
        fork(server, 3).await;
        server.post(format!("{TWO}/events")).json(r#"{"id":"f4","actions":{"stateDelta":{"k":"f","f":1}}}"#).await.expect(201);
        let third = server.post(format!("{TWO}/fork")).json(r#"{"sessionId":"g"}"#).await.expect(201);
        assert_eq!(third.json()["forkedFrom"], json!({"sessionId": "f", "revision": 4}));
        assert_eq!(third.event_ids(), "e1 e2 e3 f4");
        assert_eq!(third.raw(&["events"]), server.get(TWO).await.raw(&["events"]));
        let early = server.post(format!("{TWO}/fork")).json(r#"{"sessionId":"h","atRevision":1}"#).await.expect(201);
        assert_eq!((early.event_ids().as_str(), &early.json()["state"]["k"]), ("e1", &json!(1)));
        let g = format!("{S}/g");
        server.post(format!("{g}/events")).json(r#"{"actions":{"stateDelta":{"k":"g"},"stateOps":[{"op":"remove","key":"f"}]}}"#).await.expect(201);
        for session in [ONE, TWO, &g, &format!("{S}/h")] {
            assert_folds(server, session).await;
        }
        for revision in 0..=3 {
            assert_eq!(own_at(server, &g, revision).await, own_at(server, ONE, revision).await, "at {revision}");
        }
        assert_eq!(own_at(server, &g, 4).await, own_at(server, TWO, 4).await);
        server.delete(ONE).await.expect(204);
        server.delete(TWO).await.expect(204);
        assert_folds(server, &g).await;
    }

    async fn revisions_of_keys_are_those_of_the_source(server: &TestServer) {
        fill(server).await;
        fork(server, 3).await;
        let guarded = |key: &str, revision: i64| {
            let event = json!({"actions": {"preconditions": [{"key": key, "revision": revision}]}});
            server.post(format!("{TWO}/events")).json(event.to_string())
        };
        for (key, since) in [("k", 1), ("l", 2), ("gone", 3), ("none", 0)] {
            if since > 0 {
                guarded(key, since - 1).await.problem(412, "revision_mismatch");
            }
            guarded(key, since).await.expect(201);
        }
    }

    async fn a_fork_is_conditional_on_its_own_tag(server: &TestServer) {
        fill(server).await;
        let source = server.get(ONE).await.etag();
        let forked = fork(server, 4).await.etag();
        let append = |tag: &str| server.post(format!("{TWO}/events")).header("if-match", tag).json("{}");
        append(&source).await.problem(412, "revision_mismatch");
        server.post(EVENTS).header("if-match", &forked).json("{}").await.problem(412, "revision_mismatch");
        append(&forked).await.expect(201);
        append("\"5\"").await.expect(201);
    }

    async fn a_fork_of_a_rewound_session_knows_what_was_rewound(server: &TestServer) {
        fill(server).await;
        server.post(format!("{ONE}/rewind")).json(r#"{"beforeInvocationId":"i2"}"#).await.expect(200);
        server.append(r#"{"id":"after"}"#).await;
        let forked = fork(server, 6).await.json();
        assert_eq!(forked["state"], server.state().await);
        for session in [ONE, TWO] {
            assert_eq!(server.get(format!("{session}/events?excludeRewound=true")).await.event_ids(), "e1 e2 after");
        }
        server.delete(TWO).await.expect(204);
        // Before the rewind nothing was.
        fork(server, 4).await;
        assert_eq!(server.get(format!("{TWO}/events?excludeRewound=true")).await.event_ids(), "e1 e2 e3 e4");
    }

    async fn a_long_history_is_forked_whole(server: &TestServer) {
        server.create(r#"{"state":{"n":0}}"#).await;
        let filler = "x".repeat(2000);
        for batch in 0..5 {
            let events: Vec<String> = (1..=500)
                .map(|n| format!(r#"{{"id":"e{0}","content":"{filler}","actions":{{"stateDelta":{{"n":{0}}}}}}}"#, batch * 500 + n))
                .collect();
            server.append(format!("[{}]", events.join(","))).await;
        }
        for revision in [2500, 1777] {
            let forked = fork(server, revision).await;
            let (events, source) = (forked.raw(&["events"]), server.get(ONE).await.raw(&["events"]));
            assert!(elements(&events) == elements(&source)[..revision]);
            assert_eq!(forked.json()["state"], json!({"n": revision}));
            for n in [1, 999, 1000, 1001, 1776] {
                assert_eq!(own_at(server, TWO, n).await, format!(r#"{{"n":{n}}}"#));
            }
            server.delete(TWO).await.expect(204);
        }
    }

    async fn a_fork_among_writers_is_of_one_moment(server: &TestServer) {
        server.create("{}").await;
        let event = r#"{"actions":{"stateOps":[{"op":"increment","key":"n","value":1},{"op":"append","key":"l","value":[1]}]}}"#;
        let appends = (0..20).map(|_| server.post(EVENTS).json(event).into_future());
        let forks = (0..10).map(|_| server.post(FORK).into_future());
        let (appended, forked) =
            futures_util::future::join(futures_util::future::join_all(appends), futures_util::future::join_all(forks)).await;
        assert!(appended.iter().all(|answer| answer.status == 201));
        for answer in forked {
            let session = answer.expect(201);
            let events = elements(&session.raw(&["events"]));
            let mut folded = members("{}");
            events.iter().for_each(|event| fold(&mut folded, event));
            assert_eq!(own(&members(&session.raw(&["state"]))), folded);
            assert_eq!(session.json()["revision"], events.len());
            assert_eq!(session.json()["forkedFrom"]["revision"], events.len());
        }
    }

    async fn of_several_forks_with_one_id_exactly_one_is_made(server: &TestServer) {
        fill(server).await;
        let forks = (0..8).map(|_| server.post(FORK).json(r#"{"sessionId":"f"}"#).into_future());
        let mut statuses: Vec<u16> =
            futures_util::future::join_all(forks).await.iter().map(|answer| answer.status).collect();
        statuses.sort_unstable();
        assert_eq!(statuses, [201, 409, 409, 409, 409, 409, 409, 409]);
    }

    async fn keys_of_any_kind_are_copied(server: &TestServer) {
        let all = |value: i64| Value::from(ODD_KEYS.iter().map(|key| ((*key).to_owned(), json!(value))).collect::<serde_json::Map<_, _>>());
        server.create(&json!({"sessionId": "s", "state": all(0)}).to_string()).await;
        server.append_delta(&all(1).to_string()).await;
        server.append_delta(&all(2).to_string()).await;
        for revision in [0, 1, 2] {
            assert_eq!(fork(server, revision).await.json()["state"], all(revision as i64));
            assert_folds(server, TWO).await;
            server.delete(TWO).await.expect(204);
        }
    }

    async fn ids_of_any_script_can_be_forked(server: &TestServer) {
        let base = "/v1/apps/a%2Fb/users/%C3%A9%20%25/sessions";
        server.put(format!("{base}/%E6%97%A5%2F")).json(r#"{"state":{"k":1}}"#).await.expect(201);
        let forked = server.post(format!("{base}/%E6%97%A5%2F/fork")).json(r#"{"sessionId":"a/b \u00e9"}"#).await.expect(201);
        assert_eq!(forked.json()["forkedFrom"], json!({"sessionId": "日/", "revision": 0}));
        assert_eq!(server.get(forked.header("location").unwrap()).await.expect(200).json()["id"], "a/b é");
    }
}
