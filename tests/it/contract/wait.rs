//! Requests that wait for a change.

use std::time::Duration;

use serde_json::json;
use tokio::join;
use tokio::time::sleep;

use crate::support::client::{APP_STATE, Answer, Client, EVENTS, ONE, S, STATE, USER_STATE};
use crate::support::databases::on_both_databases;
use crate::support::server::TestServer;

/// Does this when a request that was sent with it has had the time to begin its wait. What is asserted holds without that, too.
async fn then<T>(act: impl IntoFuture<Output = T>) -> T {
    sleep(Duration::from_millis(150)).await;
    act.await
}

/// Waits for far longer than it has to.
async fn events(server: &Client, query: &str) -> Answer {
    server.get(format!("{EVENTS}?wait=55&{query}")).await
}

on_both_databases! {
    async fn a_wait_has_a_form(server: &TestServer) {
        server.create(r#"{"events":[{"id":"a"}]}"#).await;
        for good in ["0", "0s", "1", "30", "30s", "60", "60s"] {
            for path in [EVENTS, ONE, STATE] {
                server.get(format!("{path}?wait={good}")).await.expect(200);
            }
        }
        for bad in ["", "s", "-1", "61", "61s", "1.5", "1m", "1ms", "30S", "+1", "%2B1", "%201", "1e1", "x", "99999999999999999999999", "30ss"] {
            for path in [EVENTS, ONE, STATE] {
                server.get(format!("{path}?wait={bad}")).await.invalid(&["wait"]);
            }
        }
        server.get(format!("{EVENTS}?wait=1&wait=1")).await.problem(422, "invalid_argument");
    }

    async fn events_that_are_there_are_answered_at_once(server: &TestServer) {
        server.create(r#"{"events":[{"id":"a"},{"id":"b","author":"x"}]}"#).await;
        assert_eq!(events(server, "").await.expect(200).event_ids(), "a b");
        let answer = events(server, "afterSequence=1&pageSize=1&order=asc").await.expect(200);
        assert_eq!((answer.event_ids().as_str(), &answer.json()["revision"]), ("b", &json!(2)));
        assert_eq!(events(server, "author=x").await.event_ids(), "b");
    }

    async fn an_append_ends_the_wait(server: &TestServer) {
        server.create("{}").await;
        for n in 0..3 {
            let query = format!("afterSequence={n}");
            let (answer, appended) = join!(events(server, &query), then(server.append("{}")));
            let answer = answer.expect(200);
            assert_eq!(answer.raw(&["events", "0"]), appended.text());
            assert_eq!((answer.json()["revision"].as_i64(), answer.etag()), (Some(n + 1), appended.etag()));
        }
        // By whatever makes events.
        let (answer, _) = join!(events(server, "afterSequence=3"), then(server.put(format!("{STATE}/k")).json("1")));
        assert_eq!(answer.expect(200).json()["events"][0]["sequence"], 4);
        // Many wait for the same.
        let many = futures_util::future::join_all((0..10).map(|_| events(server, "afterSequence=4")));
        let (answers, appended) = join!(many, then(server.append(r#"[{"id":"x"},{"id":"y"}]"#)));
        appended.expect(201);
        assert!(answers.iter().all(|answer| answer.event_ids() == "x y"));
    }

    async fn an_event_that_does_not_match_ends_no_wait(server: &TestServer) {
        server.create(r#"{"events":[{"id":"old","author":"agent"}]}"#).await;
        let appends = async {
            for (id, author) in [("a", "user"), ("b", "other"), ("c", "agent"), ("d", "agent")] {
                server.append(json!({"id": id, "author": author, "invocationId": id, "branch": id})).await;
                sleep(Duration::from_millis(50)).await;
            }
        };
        let asked = async {
            let (author, invocation, branch) = join!(
                events(server, "afterSequence=1&author=agent"),
                events(server, "invocationId=c&afterSequence=0"),
                events(server, "branch=c"),
            );
            // As many as there were when it looked.
            assert!(["c", "c d"].contains(&&*author.expect(200).event_ids()));
            assert_eq!(invocation.expect(200).event_ids(), "c");
            assert_eq!(branch.expect(200).event_ids(), "c");
        };
        join!(asked, then(appends));
    }

    async fn a_wait_that_was_for_nothing_is_empty(server: &TestServer) {
        server.create(r#"{"events":[{"id":"a"}]}"#).await;
        let answer = server.get(format!("{EVENTS}?wait=1&afterSequence=1")).await.expect(200);
        assert_eq!(answer.text(), r#"{"events":[],"revision":1}"#);
        assert_eq!(answer.etag(), server.get(ONE).await.etag());
        // What does not match is none, but counts.
        let (answer, _) = join!(server.get(format!("{EVENTS}?wait=2&author=nobody")), then(server.append("{}")));
        let answer = answer.expect(200).json();
        assert_eq!((&answer["events"], answer.get("nextPageToken")), (&json!([]), None));
    }

    async fn nothing_is_waited_for_beyond_the_log(server: &TestServer) {
        server.create(r#"{"events":[{"id":"a"}]}"#).await;
        for wait in ["0", "1", "60s"] {
            for after in ["2", "9223372036854775807", &"9".repeat(100)] {
                let gone = server.get(format!("{EVENTS}?wait={wait}&afterSequence={after}")).await.problem(410, "position_gone");
                assert_eq!((&gone["baseRevision"], &gone["revision"]), (&json!(0), &json!(1)));
            }
        }
        // Without `wait` it is a list like any other.
        assert_eq!(server.get(format!("{EVENTS}?afterSequence=2")).await.expect(200).json()["events"], json!([]));
    }

    async fn what_is_over_cannot_be_waited_for(server: &TestServer) {
        server.create(r#"{"state":{"k":1},"events":[{"id":"a"},{"id":"b"}]}"#).await;
        let token = server.get(format!("{EVENTS}?pageSize=1")).await.json()["nextPageToken"].as_str().expect("a token").to_owned();
        for wait in ["0", "5"] {
            for query in ["order=desc", "beforeSequence=9", &format!("pageSize=1&pageToken={token}")] {
                server.get(format!("{EVENTS}?wait={wait}&{query}")).await.invalid(&["wait"]);
            }
            server.get(format!("{STATE}?wait={wait}&atRevision=1")).await.invalid(&["wait"]);
            for path in [S, "/v1/apps/app/sessions", &format!("{EVENTS}/a"), &format!("{STATE}/k"), APP_STATE, USER_STATE, "/v1/apps", "/v1/apps/app/users", "/v1/info"] {
                let answer = server.get(format!("{path}?wait={wait}")).await;
                if answer.status() != 404 {
                    answer.invalid(&["wait"]);
                }
            }
            let query = format!("?wait={wait}");
            server.post(format!("{EVENTS}{query}")).json("{}").await.invalid(&["wait"]);
            server.patch(format!("{STATE}{query}")).json("{}").await.invalid(&["wait"]);
            server.patch(format!("{ONE}{query}")).json("{}").await.invalid(&["wait"]);
            server.put(format!("{S}/new{query}")).json("{}").await.invalid(&["wait"]);
            server.delete(format!("{ONE}{query}")).await.invalid(&["wait"]);
        }
        server.get(format!("{EVENTS}?wait=1&order=asc")).await.expect(200);
    }

    async fn a_session_that_goes_ends_the_wait(server: &TestServer) with ["--sweep-interval=24h"] {
        let tag = server.create("{}").await.etag();
        let (events_of, session, state, _) = join!(
            events(server, ""),
            server.get(format!("{ONE}?wait=55")).header("if-none-match", &tag),
            server.get(format!("{STATE}?wait=55")).header("if-none-match", &tag),
            then(server.delete(ONE)),
        );
        for answer in [events_of, session, state] {
            answer.problem(404, "session_not_found");
        }
        // It expires, and nobody sweeps.
        let tag = server.create(r#"{"ttl":2}"#).await.etag();
        let (one, two, session) = join!(
            events(server, ""), events(server, ""), server.get(format!("{ONE}?wait=55")).header("if-none-match", &tag),
        );
        for answer in [one, two, session] {
            answer.problem(404, "session_not_found");
        }
        events(server, "").await.problem(404, "session_not_found");
    }

    async fn what_has_not_changed_is_waited_for(server: &TestServer) {
        let tag = server.create(r#"{"state":{"k":1}}"#).await.etag();
        for path in [ONE, STATE] {
            let answer = server.get(format!("{path}?wait=1")).header("if-none-match", &tag).await.expect(304);
            assert_eq!(answer.etag(), tag);
            server.get(format!("{path}?wait=0")).header("if-none-match", &tag).await.expect(304);
            // Nothing to wait for.
            server.get(format!("{path}?wait=55")).await.expect(200);
            server.get(format!("{path}?wait=55")).header("if-none-match", "\"0.0.0.1\"").await.expect(200);
        }
        server.get(format!("{ONE}?wait=55&numRecentEvents=0")).await.expect(200);
    }

    async fn a_change_of_any_scope_ends_the_wait(server: &TestServer) {
        server.create("{}").await;
        server.post(S).json(r#"{"sessionId":"other"}"#).await.expect(201);
        for change in ["session", "user", "app", "other", "metadata"] {
            let tag = server.get(ONE).await.etag();
            let act = match change {
                "session" => server.post(EVENTS).json(r#"{"actions":{"stateDelta":{"k":1}}}"#),
                "user" => server.patch(USER_STATE).json(r#"{"stateDelta":{"k":1}}"#),
                "app" => server.patch(APP_STATE).json(r#"{"stateDelta":{"k":1}}"#),
                "other" => server.post(format!("{S}/other/events")).json(r#"{"actions":{"stateDelta":{"app:j":1}}}"#),
                _ => server.patch(ONE).json(r#"{"displayName":"n"}"#),
            };
            let (session, state, done) = join!(
                server.get(format!("{ONE}?wait=55")).header("if-none-match", &tag),
                server.get(format!("{STATE}?wait=55s")).header("if-none-match", &tag),
                then(act),
            );
            assert!(done.status() < 300, "{done}");
            let now = server.get(ONE).await;
            assert_ne!(now.etag(), tag, "{change}");
            assert_eq!(session.expect(200).text(), now.text(), "{change}");
            let state = state.expect(200);
            assert_eq!((state.etag(), state.json()), (now.etag(), now.json()["state"].clone()), "{change}");
        }
    }

    async fn a_part_of_the_state_can_be_waited_for(server: &TestServer) {
        let tag = server.create(r#"{"state":{"k":1,"app:a":1}}"#).await.etag();
        let (app, keys, _) = join!(
            server.get(format!("{STATE}?wait=55&scope=app")).header("if-none-match", &tag),
            server.get(format!("{STATE}?wait=55&keys=k")).header("if-none-match", &tag),
            then(server.append_delta(r#"{"k":2,"app:a":2}"#)),
        );
        assert_eq!((app.expect(200).json(), keys.expect(200).json()), (json!({"app:a": 2}), json!({"k": 2})));
    }

    async fn waiting_is_no_time_of_the_request(server: &TestServer) with ["--request-timeout=2s", "--statement-timeout=2s"] {
        let tag = server.create("{}").await.etag();
        let (empty, same, state) = join!(
            server.get(format!("{EVENTS}?wait=4")),
            server.get(format!("{ONE}?wait=4")).header("if-none-match", &tag),
            server.get(format!("{STATE}?wait=4")).header("if-none-match", &tag),
        );
        assert_eq!(empty.expect(200).json()["events"], json!([]));
        same.expect(304);
        state.expect(304);
        let late = async {
            sleep(Duration::from_secs(3)).await;
            server.append(r#"{"id":"late"}"#).await
        };
        let (answer, _) = join!(events(server, ""), late);
        assert_eq!(answer.expect(200).event_ids(), "late");
    }
}
