//! The event log, and the revisions and the atomicity of requests.

use serde_json::{Value, json};

use crate::support::client::{APP_STATE, Answer, EVENTS, ONE, S, USER_STATE};
use crate::support::databases::on_both_databases;
use crate::support::server::TestServer;

on_both_databases! {
    async fn an_event_comes_back_stored_with_its_place(server: &TestServer) {
        server.create("{}").await;
        let event = server.append(r#"{"author":"agent","content":{"parts":[]}}"#).await;
        let json = event.json();
        assert_eq!(uuid::Uuid::parse_str(json["id"].as_str().unwrap()).unwrap().get_version_num(), 7);
        assert_eq!((&json["author"], &json["sequence"]), (&json!("agent"), &json!(1)));
        assert!(json["timestamp"].as_f64().unwrap() > 1.7e9);
        assert!(json["commitTime"].as_f64().unwrap() > 1.7e9);
        assert_eq!(event.tag().0, 1);
        let id = json["id"].as_str().unwrap();
        assert_eq!(server.get(format!("{EVENTS}/{id}")).await.expect(200).text(), event.text());
        assert_eq!(server.get(EVENTS).await.expect(200).raw(&["events", "0"]), event.text());
        assert_eq!(server.get(ONE).await.expect(200).raw(&["events", "0"]), event.text());
    }

    async fn an_array_is_answered_by_an_array_in_its_order(server: &TestServer) {
        server.create("{}").await;
        let answer = server.append(r#"[{"id":"b","timestamp":9},{"id":"a","timestamp":1},{"id":"c"}]"#).await;
        let events = answer.json();
        let shown: Vec<_> = events.as_array().unwrap().iter().map(|e| (e["id"].clone(), e["sequence"].clone())).collect();
        assert_eq!(shown, [(json!("b"), json!(1)), (json!("a"), json!(2)), (json!("c"), json!(3))]);
        assert!(server.append(r#"[{"id":"d"}]"#).await.json().is_array());
        server.post(EVENTS).json("[]").await.invalid(&[""]);
        server.post(EVENTS).json("[[{}]]").await.invalid(&["/0"]);
        server.post(EVENTS).json("7").await.invalid(&[""]);
        server.post(EVENTS).json("null").await.invalid(&[""]);
    }

    async fn sequences_are_dense_and_revision_is_the_last_of_them(server: &TestServer) {
        server.create("{}").await;
        server.append(r#"[{"id":"1"},{"id":"2"}]"#).await;
        server.post(EVENTS).json(r#"[{"id":"3"},{"id":7}]"#).await.expect(422);
        server.post(EVENTS).json(r#"{"partial":true}"#).await.expect(200);
        server.post(EVENTS).header("if-match", "\"9\"").json("{}").await.expect(412);
        server.post(EVENTS).json(r#"{"id":"1"}"#).await.expect(200);
        server.append(r#"{"id":"3"}"#).await;
        server.put(format!("{ONE}/state/k")).json("1").await.expect(200);
        server.patch(format!("{ONE}/state")).json(r#"{"stateDelta":{"a":1}}"#).await.expect(200);
        server.delete(format!("{ONE}/state/k")).await.expect(204);
        let session = server.get(ONE).await.expect(200).json();
        let sequences: Vec<i64> =
            session["events"].as_array().unwrap().iter().map(|e| e["sequence"].as_i64().unwrap()).collect();
        assert_eq!(sequences, [1, 2, 3, 4, 5, 6]);
        assert_eq!(session["revision"], 6);
    }

    async fn concurrent_appends_are_serialised_and_none_is_lost(server: &TestServer) {
        server.create("{}").await;
        let appends = (0..20).map(|n| server.append(format!(r#"{{"id":"e{n}","actions":{{"stateDelta":{{"k{n}":{n}}}}}}}"#)));
        futures_util::future::join_all(appends).await;
        let session = server.get(ONE).await.expect(200).json();
        let sequences: Vec<i64> =
            session["events"].as_array().unwrap().iter().map(|e| e["sequence"].as_i64().unwrap()).collect();
        assert_eq!(sequences, (1..=20).collect::<Vec<_>>());
        assert_eq!(session["state"].as_object().unwrap().len(), 20);
    }

    async fn concurrent_writes_to_different_shared_keys_lose_nothing(server: &TestServer) {
        let created = (0..10).map(|n| async move {
            let body = format!(r#"{{"sessionId":"s{n}","state":{{"app:c{n}":1,"user:c{n}":1}}}}"#);
            server.post(S).json(body).await.expect(201);
            let delta = format!(r#"{{"actions":{{"stateDelta":{{"app:e{n}":1,"user:e{n}":1}}}}}}"#);
            server.post(format!("{S}/s{n}/events")).json(delta).await.expect(201);
            server.patch(APP_STATE).json(format!(r#"{{"stateDelta":{{"p{n}":1}}}}"#)).await.expect(200);
        });
        futures_util::future::join_all(created).await;
        let app = server.get(APP_STATE).await.expect(200);
        assert_eq!(app.json().as_object().unwrap().len(), 30);
        assert_eq!(app.etag(), "\"30\"");
        let user = server.get(USER_STATE).await.expect(200);
        assert_eq!(user.json().as_object().unwrap().len(), 20);
        assert_eq!(user.etag(), "\"20\"");
    }

    async fn history_is_read_in_sequence_order_whatever_the_clocks_say(server: &TestServer) {
        server.create("{}").await;
        for (id, time) in [("a", 300), ("b", 100), ("c", 200), ("d", 100)] {
            server.append(format!(r#"{{"id":"{id}","timestamp":{time}}}"#)).await;
        }
        assert_eq!(server.get(ONE).await.event_ids(), "a b c d");
        assert_eq!(server.get(EVENTS).await.event_ids(), "a b c d");
        assert_eq!(server.get(format!("{EVENTS}?order=desc")).await.event_ids(), "d c b a");
    }

    async fn the_last_update_is_the_last_events_timestamp_and_can_go_backwards(server: &TestServer) {
        server.create("{}").await;
        for time in ["1763719000.123456", "5", "-1.50", "1E3", "0.1000000000000000055511151231257827"] {
            server.append(format!(r#"{{"timestamp":{time}}}"#)).await;
            assert_eq!(server.get(ONE).await.raw(&["lastUpdateTime"]), time);
            assert_eq!(server.get(S).await.raw(&["sessions", "0", "lastUpdateTime"]), time);
        }
        server.append(r#"[{"timestamp":9},{"timestamp":8}]"#).await;
        assert_eq!(server.get(ONE).await.raw(&["lastUpdateTime"]), "8");
    }

    async fn a_batch_is_appended_whole_or_not_at_all(server: &TestServer) {
        server.create(r#"{"state":{"app:a":0},"events":[{"id":"taken"}]}"#).await;
        let before = server.get(ONE).await;
        let good = r#"{"id":"new","actions":{"stateDelta":{"k":1,"app:a":1,"user:u":1}}}"#;
        for (bad, field) in [
            (r#"{"id":""}"#, "/1/id"),
            (r#"{"timestamp":"yesterday"}"#, "/1/timestamp"),
            (r#"{"actions":{"stateDelta":7}}"#, "/1/actions/stateDelta"),
            (r#"{"content":{"x":1e400}}"#, "/1/content/x"),
            ("null", "/1"),
        ] {
            server.post(EVENTS).json(format!("[{good},{bad}]")).await.invalid(&[field]);
        }
        server.post(EVENTS).json(format!(r#"[{good},{{"id":"taken","author":"x"}}]"#)).await.problem(409, "event_id_conflict");
        server.post(EVENTS).json(format!(r#"[{good},{{"id":"new"}}]"#)).await.problem(409, "event_id_conflict");
        let after = server.get(ONE).await;
        assert_eq!((after.text(), after.etag()), (before.text(), before.etag()));
    }

    async fn a_shared_scopes_revision_grows_by_one_with_each_request_that_changes_it(server: &TestServer) {
        let tag = |answer: &Answer| {
            let (revision, user, app, _) = answer.tag();
            (revision, user, app)
        };
        let created = server
            .create(r#"{"state":{"app:a":1,"app:b":1},"events":[{"actions":{"stateDelta":{"app:a":2}}}]}"#)
            .await;
        assert_eq!(tag(&created), (1, 0, 1));
        let batch = r#"[{"actions":{"stateDelta":{"user:a":1,"app:z":1}}},{"actions":{"stateDelta":{"user:b":1,"k":1}}}]"#;
        assert_eq!(tag(&server.append(batch).await), (3, 1, 2));
        assert_eq!(tag(&server.append_delta(r#"{"k":2}"#).await), (4, 1, 2));
        assert_eq!(tag(&server.append_delta(r#"{"temp:app:a":2}"#).await), (5, 1, 2));
        assert_eq!(server.patch(USER_STATE).json(r#"{"stateDelta":{"a":5}}"#).await.expect(200).etag(), "\"2\"");
        assert_eq!(server.patch(APP_STATE).json(r#"{"stateDelta":{"a":5,"c":1}}"#).await.expect(200).etag(), "\"3\"");
        assert_eq!(tag(&server.get(ONE).await), (5, 2, 3));
        assert_eq!(server.patch(APP_STATE).json(r#"{"stateDelta":{}}"#).await.expect(200).etag(), "\"3\"");
    }

    async fn events_are_filtered_by_everything_that_the_contract_names(server: &TestServer) {
        server.create("{}").await;
        server
            .append(
                r#"[{"id":"1","timestamp":50,"author":"user","invocationId":"i1"},
                    {"id":"2","timestamp":10,"author":"agent","invocationId":"i1","branch":"a.b"},
                    {"id":"3","timestamp":30,"author":"agent","invocation_id":"i2","branch":"a"},
                    {"id":"4","timestamp":20,"author":"ägent \u0000\\","invocationId":"i2"},
                    {"id":"5","timestamp":40}]"#,
            )
            .await;
        for (query, expected) in [
            ("author=agent", "2 3"),
            ("author=", "5"),
            ("author=Agent", ""),
            ("author=%C3%A4gent%20%00%5C", "4"),
            ("author=%C3%A4gent%20%5C0%5C", ""),
            ("invocationId=i1", "1 2"),
            ("invocation_id=i2", "3 4"),
            ("branch=a", "3"),
            ("branch=a.b", "2"),
            ("afterSequence=3", "4 5"),
            ("beforeSequence=3", "1 2"),
            ("afterSequence=1&beforeSequence=4", "2 3"),
            ("afterSequence=99", ""),
            ("afterSequence=0", "1 2 3 4 5"),
            ("beforeSequence=0", ""),
            ("afterTimestamp=30", "1 3 5"),
            ("afterTimestamp=1970-01-01T00:00:40Z&order=desc", "5 1"),
            ("order=desc&beforeSequence=3", "2 1"),
            ("author=agent&invocationId=i1&branch=a.b&afterTimestamp=10", "2"),
        ] {
            assert_eq!(server.get(format!("{EVENTS}?{query}")).await.expect(200).event_ids(), expected, "{query}");
        }
        for (query, field) in [
            ("order=up", "order"),
            ("afterSequence=-1", "afterSequence"),
            ("beforeSequence=x", "beforeSequence"),
            ("afterTimestamp=now", "afterTimestamp"),
            ("author=a&author=b", "author"),
        ] {
            server.get(format!("{EVENTS}?{query}")).await.invalid(&[field]);
        }
    }

    async fn a_missing_session_and_a_missing_event_are_told_apart(server: &TestServer) {
        server.get(EVENTS).await.problem(404, "session_not_found");
        server.get(format!("{EVENTS}/e")).await.problem(404, "session_not_found");
        server.post(EVENTS).json("{}").await.problem(404, "session_not_found");
        server.post(EVENTS).json(r#"{"partial":true}"#).await.problem(404, "session_not_found");
        server.create("{}").await;
        server.get(format!("{EVENTS}/e")).await.problem(404, "event_not_found");
        server.append(r#"{"id":"e"}"#).await;
        server.get(format!("{EVENTS}/E")).await.problem(404, "event_not_found");
        server.get(format!("{EVENTS}/e%20")).await.problem(404, "event_not_found");
    }

    async fn event_ids_belong_to_their_session(server: &TestServer) {
        server.create("{}").await;
        server.create(r#"{"sessionId":"t"}"#).await;
        server.append(r#"{"id":"e","author":"one"}"#).await;
        server.post(format!("{S}/t/events")).json(r#"{"id":"e","author":"two"}"#).await.expect(201);
    }

    async fn known_fields_in_snake_case_come_back_in_camel_case_and_what_adk_could_not_read_stays(server: &TestServer) {
        server.create("{}").await;
        let event = server
            .append(
                r#"{"id":"e","timestamp":1,"invocation_id":"i","error_code":"x","long_running_tool_ids":["a_b"],
                    "custom_metadata":{"my_key":{"state_delta":1}},"turn_complete":true,"my_field":{"a_b":1},
                    "content":{"parts":[{"function_call":{"error_code":1}}]},
                    "actions":{"state_delta":{"state_delta":1,"my_key":{"a_b":2}},"transfer_to_agent":"a_b",
                               "skip_summarization":false,"artifact_delta":{"x_y":1},"own_action":{"error_code":1}}}"#,
            )
            .await;
        let mut json = event.json();
        json.as_object_mut().unwrap().remove("commitTime");
        assert_eq!(
            json,
            json!({
                "id": "e", "timestamp": 1, "invocationId": "i", "errorCode": "x", "longRunningToolIds": ["a_b"],
                "customMetadata": {"my_key": {"state_delta": 1}}, "turnComplete": true, "my_field": {"a_b": 1},
                "content": {"parts": [{"function_call": {"error_code": 1}}]},
                "actions": {
                    "stateDelta": {"state_delta": 1, "my_key": {"a_b": 2}}, "transferToAgent": "a_b",
                    "skipSummarization": false, "artifactDelta": {"x_y": 1}, "own_action": {"error_code": 1}
                },
                "sequence": 1
            })
        );
        assert_eq!(server.state().await, json!({"state_delta": 1, "my_key": {"a_b": 2}}));
    }

    async fn an_unknown_field_of_an_event_is_kept_verbatim(server: &TestServer) {
        server.create("{}").await;
        // Close to known names, but not their snake_case.
        let names = ["author_", "_author", "id_", "invocation__id", "Invocation_id", "invocation_Id", "AUTHOR", "x_y", "", "a/b~"];
        let unknown: serde_json::Map<String, Value> =
            names.iter().enumerate().map(|(n, name)| ((*name).to_owned(), json!(n))).collect();
        let mut given = json!({"id": "e", "timestamp": 1, "author": "a", "invocationId": "i", "actions": unknown.clone()});
        given.as_object_mut().unwrap().extend(unknown);
        let mut stored = server.append(given.to_string()).await.json();
        stored.as_object_mut().unwrap().retain(|name, _| name != "sequence" && name != "commitTime");
        assert_eq!(stored, given);
    }

    async fn names_within_an_event_come_back_in_camel_case_whatever_way_it_came(server: &TestServer) {
        let given = r#""author":"user","timestamp":1,"content":{"role":"user","parts":[{"function_call":{"name":"f","args":{"in_args":{"mime_type":1.0}}}},{"inline_data":{"mime_type":"a/b","data":"QQ=="}},{"function_response":{"response":{"a_b": [ ]}}}]},"usage_metadata":{"total_token_count":1E2},"grounding_metadata":{"web_search_queries":["q_r"]},"custom_metadata":{"my_key":1"#;
        let kept = r#""author":"user","timestamp":1,"content":{"role":"user","parts":[{"functionCall":{"name":"f","args":{"in_args":{"mime_type":1.0}}}},{"inlineData":{"mimeType":"a/b","data":"QQ=="}},{"functionResponse":{"response":{"a_b": [ ]}}}]},"usageMetadata":{"totalTokenCount":1E2},"groundingMetadata":{"webSearchQueries":["q_r"]},"customMetadata":{"my_key":1"#;
        let event = |id: &str| format!(r#"{{"id":"{id}",{given}}}}}"#);
        let stored = async |session: &str, id: &str| {
            let text = server.get(format!("{S}/{session}/events/{id}")).await.expect(200).text().to_owned();
            assert!(text.starts_with(&format!(r#"{{"id":"{id}",{kept}"#)), "{text}");
            text
        };
        server.create(&format!(r#"{{"events":[{}]}}"#, event("created"))).await;
        stored("s", "created").await;
        server.append(event("one")).await;
        stored("s", "one").await;
        server.append(format!("[{},{}]", event("two"), event("three"))).await;
        stored("s", "three").await;
        server.put(format!("{S}/p")).json(format!(r#"{{"events":[{}]}}"#, event("put"))).await.expect(201);
        stored("p", "put").await;
        let of_adk = "/apps/app/users/user/sessions";
        server.post(of_adk).json(format!(r#"{{"sessionId":"a","events":[{}]}}"#, event("adk"))).await.expect(200);
        stored("a", "adk").await;

        // Either spelling is a retry of the other.
        for retry in [event("one"), format!(r#"{{"id":"one",{kept}}}}}"#)] {
            let again = server.post(EVENTS).json(retry).await.expect(200);
            assert_eq!(again.header("idempotent-replayed"), Some("true"));
        }
    }

    async fn a_field_in_both_spellings_is_refused(server: &TestServer) {
        server.create("{}").await;
        for (event, field) in [
            (r#"{"invocationId":"a","invocation_id":"a"}"#, "/invocationId"),
            (r#"{"error_code":1,"errorCode":1}"#, "/errorCode"),
            (r#"{"actions":{"stateDelta":{},"state_delta":{}}}"#, "/actions/stateDelta"),
            (r#"{"actions":{"transferToAgent":"a","transfer_to_agent":"a"}}"#, "/actions/transferToAgent"),
            (r#"{"content":{"parts":[{"functionCall":{},"function_call":{}}]}}"#, "/content/parts/0/functionCall"),
            (r#"{"usageMetadata":{"totalTokenCount":1,"total_token_count":1}}"#, "/usageMetadata/totalTokenCount"),
            (r#"{"actions":{"compaction":{"startTimestamp":1,"start_timestamp":1}}}"#, "/actions/compaction/startTimestamp"),
        ] {
            server.post(EVENTS).json(event).await.invalid(&[field]);
        }
    }

    async fn fields_that_the_server_reads_have_their_types(server: &TestServer) {
        server.create("{}").await;
        for (event, field) in [
            (r#"{"id":7}"#, "/id"),
            (r#"{"id":"."}"#, "/id"),
            (r#"{"author":["a"]}"#, "/author"),
            (r#"{"invocationId":1}"#, "/invocationId"),
            (r#"{"branch":{}}"#, "/branch"),
            (r#"{"partial":"true"}"#, "/partial"),
            (r#"{"actions":[]}"#, "/actions"),
            (r#"{"actions":{"stateDelta":[]}}"#, "/actions/stateDelta"),
            (r#"{"timestamp":{}}"#, "/timestamp"),
        ] {
            server.post(EVENTS).json(event).await.invalid(&[field]);
        }
        let all = server.post(EVENTS).json(r#"{"id":7,"author":7,"timestamp":true}"#).await;
        all.invalid(&["/id", "/timestamp", "/author"]);
        let nulls = r#""author":null,"invocation_id":null,"branch":null,"partial":null,"timestamp":null,"actions":null,"x":null"#;
        let given = server.append(format!(r#"{{"id":"nulls",{nulls}}}"#)).await;
        assert!(!given.text().contains("author") && !given.text().contains("nvocation"), "{given}");
        assert_eq!(given.raw(&["x"]), "null");
        for same in [r#"{"id":"nulls","x":null}"#.to_owned(), format!(r#"{{"id":"nulls",{nulls}}}"#)] {
            assert_eq!(server.post(EVENTS).json(same).await.expect(200).text(), given.text());
        }
        let actions = r#"{"actions":{"stateDelta":null,"state_ops":null,"preconditions":null}}"#;
        assert_eq!(server.append(actions).await.raw(&["actions"]), "{}");
        let empty = server.append(r#"{"author":"","invocationId":"","branch":"","id":null,"timestamp":null}"#).await;
        assert_eq!((empty.raw(&["author"]), empty.raw(&["invocationId"])), ("\"\"".to_owned(), "\"\"".to_owned()));
        assert!(empty.json()["id"].is_string() && empty.json()["timestamp"].is_f64());
    }

    async fn what_would_do_nothing_is_refused_and_names_its_place(server: &TestServer) {
        server.create("{}").await;
        let list = r#"[{"key":"owner","exists":false}]"#;
        for (fields, at, place) in [
            (format!(r#""preconditions":{list}"#), "/preconditions", "/actions/preconditions"),
            (r#""stateDelta":{"k":1}"#.to_owned(), "/stateDelta", "/actions/stateDelta"),
            (r#""state_ops":[]"#.to_owned(), "/state_ops", "/actions/stateOps"),
            (r#""action":{}"#.to_owned(), "/action", "/actions"),
            (format!(r#""actions":{{"precondition":{list}}}"#), "/actions/precondition", "/actions/preconditions"),
            (r#""actions":{"stateDeltas":{}}"#.to_owned(), "/actions/stateDeltas", "/actions/stateDelta"),
            (r#""actions":{"statedelta":{}}"#.to_owned(), "/actions/statedelta", "/actions/stateDelta"),
            (r#""actions":{"Escalate":true}"#.to_owned(), "/actions/Escalate", "/actions/escalate"),
        ] {
            let names = |answer: &Answer, below: &str| {
                let problem = answer.invalid(&[&format!("{below}{at}")]);
                let message = problem["errors"][0]["message"].as_str().unwrap().to_owned();
                assert!(message.ends_with(&format!("`{below}{place}`")), "{message}");
            };
            let event = format!("{{{fields}}}");
            names(&server.post(EVENTS).json(event.as_str()).await, "");
            names(&server.post(EVENTS).json(format!("[{{}},{event}]")).await, "/1");
            names(&server.post(EVENTS).json(format!(r#"{{"partial":true,{fields}}}"#)).await, "");
            names(&server.post(S).json(format!(r#"{{"events":[{event}]}}"#)).await, "/events/0");
            if !fields.starts_with("\"actions") {
                names(&server.post("/apps/app/users/user/sessions").json(format!(r#"{{"events":[{event}]}}"#)).await, "/events/0");
            }
        }
        // What is only like a known name is kept.
        let kept = r#"{"my_state":1,"deltas":{},"actions":{"state":{},"ops":[],"precond":1}}"#;
        let stored = server.append(kept).await;
        assert_eq!(stored.raw(&["actions"]), r#"{"state":{},"ops":[],"precond":1}"#);
        assert_eq!(server.get(ONE).await.json()["revision"], 1);
    }

    async fn what_the_server_adds_to_an_event_cannot_be_given(server: &TestServer) {
        server.create("{}").await;
        let event = server.append(r#"{"sequence":77,"commit_time":2,"author":"a"}"#).await;
        assert!(event.json()["commitTime"].as_f64().unwrap() > 1.7e9);
        assert_eq!(event.json()["sequence"], 1);
    }

    async fn partial_events_are_answered_as_given_and_never_stored(server: &TestServer) {
        server.create(r#"{"state":{"app:a":1}}"#).await;
        let before = server.get(ONE).await;
        let given = r#"{ "partial" : true, "invocation_id":"i", "actions":{"state_delta":{"k":1,"temp:t":1,"app:a":2}}, "x":1.0 }"#;
        let answer = server.post(EVENTS).json(given).await.expect(200);
        assert_eq!(answer.text(), given);
        assert!(!answer.was_replayed());
        let nulls = server.post(EVENTS).json(r#"{"partial":true,"author":null,"invocationId":null,"x": null}"#).await;
        assert_eq!(nulls.expect(200).text(), r#"{"partial":true,"x":null}"#);
        let batch = server.post(EVENTS).json(format!("[{given},{given}]")).await.expect(200);
        assert_eq!(batch.text(), format!("[{given},{given}]"));
        let after = server.get(ONE).await;
        assert_eq!((after.text(), after.etag()), (before.text(), before.etag()));
        let mixed = server.append(format!(r#"[{given},{{"id":"e","timestamp":1}},{{"partial":false,"id":"f"}}]"#)).await;
        assert_eq!(mixed.raw(&["0"]), given);
        assert_eq!((&mixed.json()[1]["sequence"], &mixed.json()[2]["sequence"]), (&json!(1), &json!(2)));
        assert_eq!(server.get(ONE).await.json()["revision"], 2);
    }

    async fn a_broken_partial_event_is_refused_like_any_other(server: &TestServer) {
        server.create("{}").await;
        server.post(EVENTS).json(r#"{"partial":true,"id":""}"#).await.invalid(&["/id"]);
        server.post(EVENTS).json(r#"{"partial":true,"x":1e400}"#).await.invalid(&["/x"]);
    }

    async fn output_key_keeps_the_text_of_a_final_response(server: &TestServer) {
        server.create("{}").await;
        let text = r#"{"text":"a"}"#;
        for (event, expected) in [
            (format!(r#"{{"content":{{"parts":[{text},{{"text":"\u00e9\n"}},{{"inlineData":{{}}}}]}}}}"#), Some(json!("aé\n"))),
            (format!(r#"{{"content":{{"parts":[{{"text":"no","thought":true}},{text}]}}}}"#), Some(json!("a"))),
            (format!(r#"{{"content":{{"parts":[{text},{{"functionCall":{{"name":"f"}}}}]}}}}"#), None),
            (format!(r#"{{"content":{{"parts":[{text},{{"function_call":{{"name":"f"}}}}]}}}}"#), None),
            (format!(r#"{{"content":{{"parts":[{{"functionResponse":{{}}}},{text}]}}}}"#), None),
            (format!(r#"{{"content":{{"parts":[{text},{{"codeExecutionResult":{{}}}}]}}}}"#), None),
            (format!(r#"{{"content":{{"parts":[{{"codeExecutionResult":{{}}}},{text}]}}}}"#), Some(json!("a"))),
            (
                format!(r#"{{"actions":{{"skipSummarization":true}},"content":{{"parts":[{{"functionResponse":{{}}}},{text}]}}}}"#),
                Some(json!("a")),
            ),
            (
                format!(r#"{{"actions":{{"skip_summarization":false}},"content":{{"parts":[{{"functionResponse":{{}}}},{text}]}}}}"#),
                None,
            ),
            (
                format!(r#"{{"longRunningToolIds":["t"],"content":{{"parts":[{text},{{"functionCall":{{}}}}]}}}}"#),
                Some(json!("a")),
            ),
            (format!(r#"{{"longRunningToolIds":[],"content":{{"parts":[{text},{{"functionCall":{{}}}}]}}}}"#), None),
            (
                format!(r#"{{"errorCode":"SAFETY","content":{{"parts":[{{"functionResponse":{{}}}},{text},{{"codeExecutionResult":{{}}}}]}}}}"#),
                Some(json!("a")),
            ),
            (format!(r#"{{"errorCode":"SAFETY","content":{{"parts":[{text},{{"functionCall":{{}}}}]}}}}"#), None),
            (format!(r#"{{"error_code":"","content":{{"parts":[{{"functionResponse":{{}}}},{text}]}}}}"#), None),
            (r#"{"content":{"parts":[{"inlineData":{}}]}}"#.to_owned(), None),
            (r#"{"content":{"parts":[]}}"#.to_owned(), None),
            (r#"{"content":null}"#.to_owned(), None),
            ("{}".to_owned(), None),
        ] {
            server.patch(format!("{ONE}/state")).json(r#"{"stateOps":[{"op":"remove","key":"out"}]}"#).await.expect(200);
            let answer = server.post(format!("{EVENTS}?outputKey=out")).json(event.as_str()).await.expect(201);
            assert_eq!(server.state().await.get("out"), expected.as_ref(), "{event}");
            assert_eq!(answer.json()["actions"]["stateDelta"].get("out"), expected.as_ref(), "{event}");
        }
    }

    async fn output_key_follows_scopes_and_is_retried_like_any_delta(server: &TestServer) {
        server.create("{}").await;
        let event = r#"{"id":"e","actions":{"stateDelta":{"b":1,"app:out":2}},"content":{"parts":[{"text":"t"}]}}"#;
        let path = format!("{EVENTS}?outputKey=app:out");
        let stored = server.post(&path).json(event).await.expect(201);
        assert_eq!(stored.json()["actions"]["stateDelta"], json!({"b": 1, "app:out": "t"}));
        assert_eq!(server.get(APP_STATE).await.json(), json!({"out": "t"}));
        let again = server.post(&path).json(event).await.expect(200);
        assert_eq!(again.text(), stored.text());
        server.post(EVENTS).json(event).await.problem(409, "event_id_conflict");
        let partial = r#"{"partial":true,"content":{"parts":[{"text":"t"}]}}"#;
        assert_eq!(server.post(&path).json(partial).await.expect(200).text(), partial);
        let each = r#"[{"content":{"parts":[{"text":"one"}]}},{"content":{"parts":[{"text":"two"}]}}]"#;
        server.post(format!("{EVENTS}?output_key=k")).json(each).await.expect(201);
        assert_eq!(server.state().await["k"], "two");
        let long = "k".repeat(513);
        server.post(format!("{EVENTS}?outputKey={long}")).json(event).await.invalid(&["outputKey"]);
    }

    async fn a_long_history_is_streamed_whole_valid_and_in_order(server: &TestServer) {
        server.create("{}").await;
        let filler = "x".repeat(2000);
        for batch in 0..6 {
            let events: Vec<String> = (0..500)
                .map(|n| format!(r#"{{"id":"e{}","timestamp":{},"content":"{filler}"}}"#, batch * 500 + n, 5000 - n))
                .collect();
            server.append(format!("[{}]", events.join(","))).await;
        }
        for (query, count, first) in [("", 3000, 1), ("?numRecentEvents=1000", 1000, 2001)] {
            let session = server.get(format!("{ONE}{query}")).await.expect(200).json();
            let events = session["events"].as_array().unwrap();
            assert_eq!(events.len(), count);
            for (n, event) in events.iter().enumerate() {
                assert_eq!(event["sequence"], n + first);
                assert_eq!(event["id"], format!("e{}", n + first - 1));
                assert_eq!(event["content"].as_str().map(str::len), Some(2000));
            }
        }
        let since = server.get(format!("{ONE}?afterTimestamp=4900")).await.expect(200).json();
        assert_eq!(since["events"].as_array().unwrap().len(), 6 * 101);
        let found = server.put(ONE).await.expect(200).json();
        assert_eq!(found["events"].as_array().unwrap().len(), 3000);
        let patched = server.patch(ONE).json(r#"{"displayName":"x"}"#).await.expect(200).json();
        assert_eq!(patched["events"].as_array().unwrap().len(), 3000);
    }

    async fn a_stream_whose_session_is_deleted_is_cut_and_not_silently_short(server: &TestServer) {
        server.create("{}").await;
        let filler = "x".repeat(50_000);
        for _ in 0..8 {
            let events: Vec<String> = (0..100).map(|_| format!(r#"{{"content":"{filler}"}}"#)).collect();
            server.append(format!("[{}]", events.join(","))).await;
        }
        // 40 MB, far more than what sockets buffer, so the server is still reading when the session goes.
        let response = server.get(ONE).stream().await;
        assert_eq!(response.status(), 200);
        server.delete(ONE).await.expect(204);
        match response.bytes().await {
            Err(_) => {}
            Ok(body) => {
                let session: Value = serde_json::from_slice(&body).expect("a whole document, or a cut");
                assert_eq!(session["events"].as_array().unwrap().len(), 800);
            }
        }
    }
}
