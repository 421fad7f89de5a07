//! Operators on state: `actions.stateOps` of events, `stateOps` of patches.

use std::future::IntoFuture as _;

use serde_json::json;

use crate::support::client::{APP_STATE, Client, EVENTS, ONE, S, STATE, USER_STATE};
use crate::support::databases::on_both_databases;
use crate::support::server::TestServer;
use crate::support::state::{ODD_KEYS, fold, members, own};

/// The value that is there (none: the empty text), the operator with its operand, and what the two come to.
type Case<'a> = (&'a str, &'a str, &'a str, &'a str);

/// The first values as an object and the operators as a list: one key for each case, after this prefix.
fn written(prefix: &str, cases: &[Case<'_>]) -> (String, String) {
    let (mut there, mut ops) = (Vec::new(), Vec::new());
    for (n, (value, op, operand, _)) in cases.iter().enumerate() {
        if !value.is_empty() {
            there.push(format!(r#""{prefix}k{n}":{value}"#));
        }
        ops.push(format!(r#"{{"op":"{op}","key":"{prefix}k{n}","value":{operand}}}"#));
    }
    (format!("{{{}}}", there.join(",")), format!("[{}]", ops.join(",")))
}

#[track_caller]
fn assert_results(way: &str, object: &str, prefix: &str, cases: &[Case<'_>]) {
    let shown = members(object);
    for (n, (there, op, operand, result)) in cases.iter().enumerate() {
        let key = format!("{prefix}k{n}");
        assert_eq!(shown.get(&key).map(String::as_str), Some(*result), "{there} {op} {operand}, {way}");
    }
}

/// Asserts what operators come to, in each scope and by each way of writing.
async fn assert_resolves(server: &Client, cases: &[Case<'_>]) {
    for (prefix, name) in [("", "session"), ("user:", "user"), ("app:", "app")] {
        let (there, ops) = written(prefix, cases);
        for way in ["event", "patch", "creation"] {
            let sessions = format!("/v1/apps/{way}-{name}/users/user/sessions");
            let events = match way {
                "creation" => format!(r#"[{{"actions":{{"stateOps":{ops}}}}}]"#),
                _ => "[]".to_owned(),
            };
            let body = format!(r#"{{"sessionId":"s","state":{there},"events":{events}}}"#);
            server.post(&sessions).json(body).await.expect(201);
            let session = format!("{sessions}/s");
            if way == "event" {
                let event = format!(r#"{{"actions":{{"stateOps":{ops}}}}}"#);
                server.post(format!("{session}/events")).json(event).await.expect(201);
            } else if way == "patch" {
                let body = format!(r#"{{"stateOps":{ops}}}"#);
                let patched = server.patch(format!("{session}/state")).json(body).await.expect(200);
                assert_results(way, patched.text(), prefix, cases);
            }
            let session = server.get(session).await.expect(200);
            assert_results(way, &session.raw(&["state"]), prefix, cases);
            assert_results(way, &session.raw(&["events", "0", "actions", "stateDelta"]), prefix, cases);
        }
    }
    let (there, ops) = written("", cases);
    for scope in [USER_STATE, APP_STATE] {
        server.patch(scope).json(format!(r#"{{"stateDelta":{there}}}"#)).await.expect(200);
        let patched = server.patch(scope).json(format!(r#"{{"stateOps":{ops}}}"#)).await.expect(200);
        assert_results(scope, patched.text(), "", cases);
        assert_results(scope, server.get(scope).await.expect(200).text(), "", cases);
    }
}

fn with_ops(ops: &str) -> String {
    format!(r#"{{"actions":{{"stateOps":{ops}}}}}"#)
}

on_both_databases! {
    async fn set_takes_any_value(server: &TestServer) {
        let cases = [
            ("", "set", "1.0", "1.0"),
            ("1", "set", "null", "null"),
            ("null", "set", r#"{ "a" : [1E2 , -0.0] }"#, r#"{ "a" : [1E2 , -0.0] }"#),
            ("[]", "set", r#""\u0000\/""#, r#""\u0000\/""#),
            ("1", "set", "1", "1"),
            ("", "set", "18446744073709551617", "18446744073709551617"),
        ];
        assert_resolves(server, &cases).await;
    }

    async fn increment_is_exact_and_keeps_the_larger_scale(server: &TestServer) {
        let cases = [
            ("", "increment", "1", "1"),
            ("", "increment", "0.10", "0.10"),
            ("", "increment", "-5", "-5"),
            ("5", "increment", "-7", "-2"),
            ("41", "increment", "1", "42"),
            ("7", "increment", "0", "7"),
            ("1.10", "increment", "2.2", "3.30"),
            ("1", "increment", "0.5", "1.5"),
            ("1.0", "increment", "1", "2.0"),
            ("0.1", "increment", "0.2", "0.3"),
            ("0.9", "increment", "0.1", "1.0"),
            ("-1.5", "increment", "1", "-0.5"),
            ("99.99", "increment", "0.01", "100.00"),
            ("100", "increment", "-0.01", "99.99"),
            ("9007199254740993", "increment", "1", "9007199254740994"),
            ("18446744073709551615", "increment", "1", "18446744073709551616"),
            ("-9223372036854775808", "increment", "-1", "-9223372036854775809"),
            ("0.1000000000000000055511151231257827", "increment", "1", "1.1000000000000000055511151231257827"),
        ];
        assert_resolves(server, &cases).await;
    }

    async fn increment_writes_plain_digits_and_no_negative_zero(server: &TestServer) {
        let cases: &[Case<'_>] = &[
            ("", "increment", "1e2", "100"),
            ("1e2", "increment", "1", "101"),
            ("1E+2", "increment", "0.5", "100.5"),
            ("1.5e-3", "increment", "1", "1.0015"),
            ("1.5e1", "increment", "0", "15"),
            ("1e-400", "increment", "-1e-400", &format!("0.{}", "0".repeat(400))),
            ("0e999999999", "increment", "1", "1"),
            ("", "increment", "-0", "0"),
            ("-0", "increment", "0", "0"),
            ("-0.0", "increment", "-0.0", "0.0"),
            ("-1", "increment", "1", "0"),
            ("-0.50", "increment", "0.5", "0.00"),
        ];
        assert_resolves(server, cases).await;
    }

    async fn increment_takes_hundreds_of_digits(server: &TestServer) {
        let (nines, zeros) = ("9".repeat(307), "0".repeat(307));
        let small = format!("0.{}1", "0".repeat(398));
        let mixed = format!("{nines}.{}", "9".repeat(400));
        let cases: &[Case<'_>] = &[
            (&nines, "increment", "1", &format!("1{zeros}")),
            (&format!("1{zeros}"), "increment", "-1", &nines),
            (&format!("-{nines}"), "increment", &nines, "0"),
            (&small, "increment", &small, &format!("0.{}2", "0".repeat(398))),
            (&small, "increment", &nines, &format!("{nines}.{}1", "0".repeat(398))),
            (&mixed, "increment", &format!("0.{}1", "0".repeat(399)), &format!("1{zeros}.{}", "0".repeat(400))),
            ("1.7e307", "increment", "1", &format!("17{}1", "0".repeat(305))),
            ("1e-2000", "increment", "1", &format!("1.{}1", "0".repeat(1999))),
        ];
        assert_resolves(server, cases).await;
    }

    async fn increment_beyond_what_can_be_read_is_refused(server: &TestServer) {
        let nines = "9".repeat(308);
        let state = format!(r#"{{"big":1.7e308,"low":-1.7e308,"tiny":1e-999999999,"nines":{nines}}}"#);
        server.create(&format!(r#"{{"state":{state}}}"#)).await;
        let before = server.shown().await;
        for (key, operand) in [("big", "1.7e308"), ("low", "-1.7e308"), ("tiny", "1"), ("nines", "1")] {
            let op = format!(r#"[{{"op":"increment","key":"{key}","value":{operand}}}]"#);
            let problem = server.post(EVENTS).json(with_ops(&op)).await.invalid(&["/actions/stateOps/0"]);
            assert!(problem["errors"][0]["message"].as_str().unwrap().contains(key), "{problem}");
        }
        assert_eq!(server.shown().await, before);
    }

    async fn append_puts_elements_at_the_end(server: &TestServer) {
        let cases = [
            ("", "append", "[]", "[]"),
            ("", "append", "[1]", "[1]"),
            ("[]", "append", "[null]", "[null]"),
            ("[1]", "append", "[]", "[1]"),
            ("[1]", "append", "[1,[2],[]]", "[1,1,[2],[]]"),
            (r#"["a",{"b":1}]"#, "append", r#"[{"c":[]},"a"]"#, r#"["a",{"b":1},{"c":[]},"a"]"#),
        ];
        assert_resolves(server, &cases).await;
    }

    async fn union_appends_what_is_not_there_yet_by_json_equality(server: &TestServer) {
        let cases = [
            ("", "union", "[]", "[]"),
            ("", "union", "[2,1,2]", "[2,1]"),
            ("[1,2]", "union", "[2.0,3,3,1]", "[1,2,3]"),
            ("[100]", "union", "[1e2,100.00,1E+2,10]", "[100,10]"),
            ("[1,1]", "union", "[1]", "[1,1]"),
            ("[0]", "union", r#"[-0,-0.0,false,null,"0",[],{}]"#, r#"[0,false,null,"0",[],{}]"#),
            (r#"[{"a":1,"b":[2]}]"#, "union", r#"[{"b":[2.0],"a":1},{"a":1}]"#, r#"[{"a":1,"b":[2]},{"a":1}]"#),
            (r#"["é"]"#, "union", r#"["\u00e9","e\u0301"]"#, r#"["é","e\u0301"]"#),
            (r#"["/"]"#, "union", r#"["\/","\u002F","\\/"]"#, r#"["/","\\/"]"#),
            ("[9007199254740993]", "union", "[9007199254740992,9007199254740993]", "[9007199254740993,9007199254740992]"),
            ("[1e-400]", "union", "[0,1e-401,10e-401]", "[1e-400,0,1e-401]"),
            ("[[1,2]]", "union", "[[2,1],[1,2]]", "[[1,2],[2,1]]"),
        ];
        assert_resolves(server, &cases).await;
    }

    async fn max_and_min_compare_exactly_and_leave_equals_as_they_are(server: &TestServer) {
        let cases = [
            ("", "max", "5", "5"),
            ("", "min", "-5.0", "-5.0"),
            ("1", "max", "2", "2"),
            ("2", "max", "1", "2"),
            ("2", "max", "2.0", "2"),
            ("1e2", "max", "100", "1e2"),
            ("1e2", "min", "100.0", "1e2"),
            ("-0", "max", "0", "-0"),
            ("-2", "max", "-1", "-1"),
            ("-1", "min", "-2", "-2"),
            ("1", "min", "2", "1"),
            ("10", "max", "9", "10"),
            ("10", "min", "9.99", "9.99"),
            ("9007199254740992", "max", "9007199254740993", "9007199254740993"),
            ("0.1", "max", "0.1000000000000000055511151231257827", "0.1000000000000000055511151231257827"),
            ("0", "max", "1e-400", "1e-400"),
            ("0", "min", "-1e-400", "-1e-400"),
            ("1e-999999999", "max", "2E0", "2E0"),
            ("1e300", "max", "1e-300", "1e300"),
        ];
        assert_resolves(server, &cases).await;
    }

    async fn merge_is_rfc_7396(server: &TestServer) {
        let cases = [
            // The examples of its appendix A whose target and patch are objects.
            (r#"{"a":"b"}"#, "merge", r#"{"a":"c"}"#, r#"{"a":"c"}"#),
            (r#"{"a":"b"}"#, "merge", r#"{"b":"c"}"#, r#"{"a":"b","b":"c"}"#),
            (r#"{"a":"b"}"#, "merge", r#"{"a":null}"#, "{}"),
            (r#"{"a":"b","b":"c"}"#, "merge", r#"{"a":null}"#, r#"{"b":"c"}"#),
            (r#"{"a":["b"]}"#, "merge", r#"{"a":"c"}"#, r#"{"a":"c"}"#),
            (r#"{"a":"c"}"#, "merge", r#"{"a":["b"]}"#, r#"{"a":["b"]}"#),
            (r#"{"a":{"b":"c"}}"#, "merge", r#"{"a":{"b":"d","c":null}}"#, r#"{"a":{"b":"d"}}"#),
            (r#"{"a":[{"b":"c"}]}"#, "merge", r#"{"a":[1]}"#, r#"{"a":[1]}"#),
            (r#"{"e":null}"#, "merge", r#"{"a":1}"#, r#"{"e":null,"a":1}"#),
            ("{}", "merge", r#"{"a":{"bb":{"ccc":null}}}"#, r#"{"a":{"bb":{}}}"#),
            // And what it says besides.
            ("", "merge", "{}", "{}"),
            ("", "merge", r#"{"a":null,"b":{"c":null,"d":1}}"#, r#"{"b":{"d":1}}"#),
            (r#"{"a":1}"#, "merge", r#"{"a":{"b":null,"c":2}}"#, r#"{"a":{"c":2}}"#),
            (r#"{"a":{"b":1}}"#, "merge", r#"{"a":[null,{"b":null}]}"#, r#"{"a":[null,{"b":null}]}"#),
            (r#"{"a":{"b":1}}"#, "merge", "{}", r#"{"a":{"b":1}}"#),
        ];
        assert_resolves(server, &cases).await;
    }

    async fn what_operators_do_not_touch_keeps_its_bytes(server: &TestServer) {
        server.create(r#"{"state":{"list":[ 1.0 ,{"b": 1,"a":-0.0}],"map":{"z": 1.50,"\u0061":{ "y":1E2 , "x":1},"c":[ ]}}}"#).await;
        let event = server
            .append_ops(
                r#"[{"op":"append","key":"list","value":[ {"q": 1e-400} ]},
                    {"op":"union","key":"list","value":[1, "\u00e9"]},
                    {"op":"merge","key":"map","value":{"a":{"x":null,"w":2.0},"d":{"v": "\/"}}}]"#,
            )
            .await;
        let state = server.get(STATE).await.expect(200);
        for body in [event.raw(&["actions", "stateDelta"]), state.text().to_owned()] {
            let tight = body.replace(' ', "");
            assert!(tight.contains(r#""list":[1.0,{"b":1,"a":-0.0},{"q":1e-400},"\u00e9"]"#), "{body}");
            for kept in [r#"{"b": 1,"a":-0.0}"#, r#"{"q": 1e-400}"#, r#"{"v": "\/"}"#, "[ ]"] {
                assert!(body.contains(kept), "{kept} in {body}");
            }
        }
        let map = state.raw(&["map"]).replace(' ', "");
        let merged = r#"{"z":1.50,"a":{"y":1E2,"w":2.0},"c":[],"d":{"v":"\/"}}"#;
        assert_eq!(map.replace(r"\u0061", "a"), merged);
    }

    async fn remove_takes_a_key_away_and_is_listed(server: &TestServer) {
        server.create(r#"{"state":{"k":1,"l":1,"user:k":1,"app:k":1}}"#).await;
        let ops = r#"[{"op":"remove","key":"k"},{"op":"remove","key":"user:k","value":null},{"op":"remove","key":"app:k"}]"#;
        let event = server.append_ops(ops).await;
        assert_eq!((event.raw(&["actions", "stateOps"]).as_str(), event.raw(&["actions", "stateDelta"]).as_str()), (ops, "{}"));
        assert_eq!(server.state().await, json!({"l": 1}));
        assert_eq!(event.tag(), (1, 2, 2, event.tag().3));
    }

    async fn removing_what_is_not_there_changes_nothing(server: &TestServer) {
        server.create(r#"{"state":{"k":1}}"#).await;
        let ops = r#"[{"op":"remove","key":"none"},{"op":"remove","key":"user:none"},{"op":"remove","key":"app:none"}]"#;
        let event = server.append_ops(ops).await;
        assert_eq!(event.raw(&["actions", "stateOps"]), ops);
        assert_eq!(event.tag(), (1, 0, 0, event.tag().3));
        assert_eq!(server.state().await, json!({"k": 1}));
        for scope in [USER_STATE, APP_STATE] {
            let patched = server.patch(scope).json(r#"{"stateOps":[{"op":"remove","key":"none"}]}"#).await.expect(200);
            assert_eq!((patched.text(), patched.etag().as_str()), ("{}", "\"0\""));
        }
    }

    async fn a_list_is_applied_in_order_after_the_delta(server: &TestServer) {
        server.create(r#"{"state":{"n":5,"gone":1,"back":1,"list":[0]}}"#).await;
        let event = server
            .append(
                r#"{"actions":{
                    "stateOps":[
                        {"op":"increment","key":"n","value":1},
                        {"op":"max","key":"n","value":0},
                        {"op":"increment","key":"n","value":0.5},
                        {"op":"set","key":"new","value":1},
                        {"op":"increment","key":"new","value":1},
                        {"op":"set","key":"gone","value":2},
                        {"op":"remove","key":"gone"},
                        {"op":"remove","key":"back"},
                        {"op":"increment","key":"back","value":7},
                        {"op":"remove","key":"list"},
                        {"op":"append","key":"list","value":[1]},
                        {"op":"union","key":"list","value":[1,2]},
                        {"op":"set","key":"app:x","value":{"a":1}},
                        {"op":"merge","key":"app:x","value":{"a":null,"b":2}}],
                    "stateDelta":{"n":10,"gone":9}}}"#,
            )
            .await;
        let after = json!({"app:x": {"b": 2}, "n": 11.5, "new": 2, "back": 7, "list": [1, 2]});
        assert_eq!(server.state().await, after);
        assert_eq!(event.json()["actions"]["stateDelta"], after);
    }

    async fn a_delta_keeps_its_order_and_what_operators_came_to_follows(server: &TestServer) {
        server.create("{}").await;
        let event = server
            .append(
                r#"{"actions":{"stateDelta":{"z": 1 ,"b":[ 1 ],"a":3},
                    "stateOps":[{"op":"set","key":"y","value":4},{"op":"set","key":"c","value":5}]}}"#,
            )
            .await;
        let delta = event.json()["actions"]["stateDelta"].take();
        assert_eq!(delta.as_object().unwrap().keys().collect::<Vec<_>>(), ["z", "b", "a", "y", "c"]);
        assert_eq!(event.raw(&["actions", "stateDelta", "b"]), "[ 1 ]");
    }

    async fn an_event_keeps_its_operators_as_given_wherever_it_is_read(server: &TestServer) {
        server.create("{}").await;
        let ops = r#"[ {"value": 1.0 , "op":"increment","key":"k"} ,{"key":"\u006c","op":"remove"},{"op":"set","key":"app:m","value":{ "a":1 }}]"#;
        let event = server.append(format!(r#"{{"id":"e","actions":{{"state_ops":{ops}}}}}"#)).await;
        assert_eq!(event.raw(&["actions", "stateOps"]), ops);
        assert_eq!(members(&event.raw(&["actions", "stateDelta"])), members(r#"{"k":1.0,"app:m":{ "a":1 }}"#));
        assert!(event.find_raw(&["actions", "state_ops"]).is_none());
        assert_eq!(server.get(format!("{EVENTS}/e")).await.expect(200).text(), event.text());
        assert_eq!(server.get(EVENTS).await.expect(200).raw(&["events", "0"]), event.text());
        assert_eq!(server.get(ONE).await.expect(200).raw(&["events", "0"]), event.text());
    }

    async fn a_reader_that_knows_only_the_delta_and_removals_folds_to_the_state(server: &TestServer) {
        let mut folded = members(&server.create(r#"{"state":{"n":1,"list":[1],"map":{"a":1},"gone":1,"user:u":1}}"#).await.raw(&["state"]));
        for actions in [
            r#"{"stateDelta":{"n":5},"stateOps":[{"op":"increment","key":"n","value":0.25}]}"#,
            r#"{"stateOps":[{"op":"append","key":"list","value":[2]},{"op":"increment","key":"app:n","value":1}]}"#,
            r#"{"stateOps":[{"op":"remove","key":"gone"},{"op":"union","key":"list","value":[2,3]}]}"#,
            r#"{"stateOps":[{"op":"set","key":"gone","value":null},{"op":"remove","key":"n"}]}"#,
            r#"{"stateOps":[{"op":"remove","key":"gone"},{"op":"set","key":"gone","value":2}],"stateDelta":{"gone":1}}"#,
            r#"{"stateOps":[{"op":"set","key":"gone","value":3},{"op":"remove","key":"gone"}],"stateDelta":{"gone":1}}"#,
            r#"{"stateOps":[{"op":"merge","key":"map","value":{"a":null,"b":1}},{"op":"min","key":"user:u","value":0}]}"#,
            r#"{"stateOps":[{"op":"remove","key":"user:u"},{"op":"remove","key":"none"},{"op":"max","key":"m","value":1}]}"#,
        ] {
            let event = server.append(format!(r#"{{"actions":{actions}}}"#)).await;
            fold(&mut folded, event.text());
            let state = members(server.get(STATE).await.expect(200).text());
            assert_eq!(folded, state, "{actions}");
        }
        let session = server.get(ONE).await.expect(200);
        assert_eq!(own(&folded), members(server.get(format!("{STATE}?scope=session")).await.text()));
        assert_eq!(session.json()["revision"], 8);
    }

    async fn events_of_a_batch_see_one_another(server: &TestServer) {
        server.create("{}").await;
        let one = with_ops(r#"[{"op":"increment","key":"n","value":1},{"op":"append","key":"app:l","value":[1]},{"op":"increment","key":"user:n","value":2}]"#);
        let batch = server.append(format!("[{one},{one},{one}]")).await;
        for (n, event) in batch.json().as_array().unwrap().iter().enumerate() {
            let delta = &event["actions"]["stateDelta"];
            let list = vec![1; n + 1];
            assert_eq!(*delta, json!({"n": n + 1, "app:l": list, "user:n": 2 * (n + 1)}));
        }
        assert_eq!(server.state().await, json!({"app:l": [1, 1, 1], "user:n": 6, "n": 3}));
        // One request, one step of each scope.
        assert_eq!(batch.tag(), (3, 1, 1, batch.tag().3));
    }

    async fn events_of_a_creation_see_its_state_and_what_is_shared(server: &TestServer) {
        server.patch(APP_STATE).json(r#"{"stateDelta":{"n":10}}"#).await.expect(200);
        server.patch(USER_STATE).json(r#"{"stateDelta":{"n":20}}"#).await.expect(200);
        let ops = r#"[{"op":"increment","key":"n","value":1},{"op":"increment","key":"app:n","value":1},{"op":"increment","key":"user:n","value":1}]"#;
        let event = with_ops(ops);
        let created = server.create(&format!(r#"{{"state":{{"n":30,"user:n":25}},"events":[{event},{event}]}}"#)).await;
        assert_eq!(created.json()["state"], json!({"app:n": 12, "user:n": 27, "n": 32}));
        assert_eq!(created.json()["events"][0]["actions"]["stateDelta"], json!({"n": 31, "app:n": 11, "user:n": 26}));
        let put = server.put(format!("{S}/t")).json(format!(r#"{{"events":[{event}]}}"#)).await.expect(201);
        assert_eq!(put.json()["state"], json!({"app:n": 13, "user:n": 28, "n": 1}));
        let again = server.put(format!("{S}/t")).json(format!(r#"{{"events":[{event}]}}"#)).await.expect(200);
        assert_eq!(again.text(), put.text());
    }

    async fn a_wrong_type_names_the_key_and_writes_nothing(server: &TestServer) {
        for (value, operators) in [
            (r#""1""#, "increment max min append union merge"),
            ("null", "increment max min append union merge"),
            ("true", "increment max min append union merge"),
            ("[1]", "increment max min merge"),
            (r#"{"a":1}"#, "increment max min append union"),
            ("1", "append union merge"),
        ] {
            server.create(&format!(r#"{{"state":{{"the-key":{value},"user:the-key":{value},"app:the-key":{value}}}}}"#)).await;
            let before = server.shown().await;
            for (op, operand) in
                [("increment", "1"), ("max", "1"), ("min", "1"), ("append", "[1]"), ("union", "[1]"), ("merge", r#"{"b":1}"#)]
            {
                if !operators.contains(op) {
                    continue;
                }
                for prefix in ["", "user:", "app:"] {
                    let ops = format!(
                        r#"[{{"op":"set","key":"fine","value":1}},{{"op":"{op}","key":"{prefix}the-key","value":{operand}}}]"#
                    );
                    let event = with_ops(&ops);
                    let fine = r#"{"actions":{"stateDelta":{"fine":1,"app:fine":1,"user:fine":1}}}"#;
                    let scope = if prefix == "app:" { APP_STATE } else { USER_STATE };
                    for (request, field) in [
                        (server.post(EVENTS).json(event.as_str()), "/actions/stateOps/1"),
                        (server.post(EVENTS).json(format!("[{fine},{event},{fine}]")), "/1/actions/stateOps/1"),
                        (server.patch(STATE).json(format!(r#"{{"stateOps":{ops}}}"#)), "/stateOps/1"),
                        (
                            server.patch(scope).json(format!(r#"{{"stateOps":{}}}"#, ops.replace("app:", "").replace("user:", ""))),
                            "/stateOps/1",
                        ),
                    ] {
                        let problem = request.await.invalid(&[field]);
                        assert_eq!(problem["outcome"], "not_applied");
                        let message = problem["errors"][0]["message"].as_str().unwrap();
                        assert!(message.contains("the-key"), "{value} {op}: {message}");
                    }
                    if !prefix.is_empty() {
                        let body = format!(r#"{{"sessionId":"new","state":{{"k":1}},"events":[{fine},{event}]}}"#);
                        server.post(S).json(body).await.invalid(&["/events/1/actions/stateOps/1"]);
                        server.get(format!("{S}/new")).await.problem(404, "session_not_found");
                    }
                    assert_eq!(server.shown().await, before, "{value} {op} {prefix}");
                }
            }
            server.delete(ONE).await.expect(204);
        }
    }

    async fn an_error_shows_no_value(server: &TestServer) {
        server.create(r#"{"state":{"k":"secret-1"}}"#).await;
        let answer = server.post(EVENTS).json(with_ops(r#"[{"op":"increment","key":"k","value":770077}]"#)).await.expect(422);
        assert!(!answer.text().contains("secret-1") && !answer.text().contains("770077"), "{answer}");
    }

    async fn a_wrong_operand_is_refused_whatever_is_there(server: &TestServer) {
        server.create("{}").await;
        for (op, operands) in [
            ("increment", r#""1" null true [] {}"#),
            ("max", r#""1" null true [] {}"#),
            ("min", r#""1" null true [] {}"#),
            ("append", r#""x" null true 1 {}"#),
            ("union", r#""x" null true 1 {}"#),
            ("merge", r#""x" null true 1 []"#),
        ] {
            for operand in operands.split(' ') {
                let ops = format!(r#"[{{"op":"{op}","key":"the-key","value":{operand}}}]"#);
                let problem = server.post(EVENTS).json(with_ops(&ops)).await.invalid(&["/actions/stateOps/0"]);
                assert!(problem["errors"][0]["message"].as_str().unwrap().contains("the-key"), "{problem}");
            }
        }
        assert_eq!(server.get(ONE).await.json()["revision"], 0);
    }

    async fn an_operator_has_its_form(server: &TestServer) {
        server.create(r#"{"state":{"k":1}}"#).await;
        let before = server.shown().await;
        for bad in [
            r#"{"op":"set","key":"k"}"#,
            r#"{"op":"increment","key":"k"}"#,
            r#"{"op":"remove","key":"k","value":1}"#,
            r#"{"op":"add","key":"k","value":1}"#,
            r#"{"op":"SET","key":"k","value":1}"#,
            r#"{"op":"","key":"k","value":1}"#,
            r#"{"op":7,"key":"k","value":1}"#,
            r#"{"key":"k","value":1}"#,
            r#"{"op":"set","value":1}"#,
            r#"{"op":"set","key":7,"value":1}"#,
            r#"{"op":"set","key":null,"value":1}"#,
            r#"{"op":"set","key":"k","value":1,"by":2}"#,
            r#"{"op":"set","key":"temp:k","value":1}"#,
            r#"{"op":"increment","key":"temp:","value":1}"#,
            r#"{"op":"remove","key":"temp:k"}"#,
            r#"["set","k",1]"#,
            r#""remove""#,
            "null",
            "7",
        ] {
            let ops = format!(r#"[{{"op":"set","key":"a","value":1}},{bad}]"#);
            let event = with_ops(&ops);
            for (request, field) in [
                (server.post(EVENTS).json(event.as_str()), "/actions/stateOps/1"),
                (server.post(EVENTS).json(format!("[{{}},{{}},{{}},{event}]")), "/3/actions/stateOps/1"),
                (server.post(S).json(format!(r#"{{"events":[{event}]}}"#)), "/events/0/actions/stateOps/1"),
                (server.patch(STATE).json(format!(r#"{{"stateOps":{ops}}}"#)), "/stateOps/1"),
                (server.patch(USER_STATE).json(format!(r#"{{"stateOps":{ops}}}"#)), "/stateOps/1"),
                (server.patch(APP_STATE).json(format!(r#"{{"stateOps":{ops}}}"#)), "/stateOps/1"),
            ] {
                request.await.invalid(&[field]);
            }
        }
        for bad in [r#"{"op":"set","key":"k","value":1}"#, "{}", "7", r#""x""#] {
            server.post(EVENTS).json(with_ops(bad)).await.invalid(&["/actions/stateOps"]);
            server.patch(STATE).json(format!(r#"{{"stateOps":{bad}}}"#)).await.invalid(&["/stateOps"]);
            server.patch(APP_STATE).json(format!(r#"{{"stateOps":{bad}}}"#)).await.invalid(&["/stateOps"]);
        }
        server.patch(STATE).json(r#"{"stateOps":[],"state_ops":[]}"#).await.invalid(&["stateOps"]);
        server.post(EVENTS).json(r#"{"actions":{"stateOps":[],"state_ops":[]}}"#).await.invalid(&["/actions/stateOps"]);
        assert_eq!(server.shown().await, before);
    }

    async fn no_operators_are_none(server: &TestServer) {
        server.create("{}").await;
        for none in ["[]", "null"] {
            server.append_ops(none).await;
            server.patch(STATE).json(format!(r#"{{"stateOps":{none}}}"#)).await.expect(200);
            for scope in [USER_STATE, APP_STATE] {
                let patched = server.patch(scope).json(format!(r#"{{"stateOps":{none}}}"#)).await.expect(200);
                assert_eq!((patched.text(), patched.etag().as_str()), ("{}", "\"0\""));
            }
        }
        assert_eq!(server.state().await, json!({}));
        assert_eq!(server.get(ONE).await.json()["revision"], 4);
    }

    async fn keys_of_operators_are_state_keys(server: &TestServer) {
        server.create("{}").await;
        let longest = "é".repeat(256);
        for prefix in ["", "user:", "app:"] {
            let op = |key: &str| format!(r#"[{{"op":"set","key":"{prefix}{key}","value":1}}]"#);
            server.append_ops(&op(&longest)).await;
            for bad in [&format!("{longest}x"), "a\\u0000b"] {
                server.post(EVENTS).json(with_ops(&op(bad))).await.invalid(&["/actions/stateOps/0"]);
                server.patch(STATE).json(format!(r#"{{"stateOps":{}}}"#, op(bad))).await.invalid(&["/stateOps/0"]);
            }
        }
        let odd = r#"[{"op":"set","key":"","value":1},{"op":"set","key":"app:","value":2},{"op":"set","key":"Temp:x","value":3},
                      {"op":"set","key":"foo:bar","value":4},{"op":"increment","key":"\u0061pp:x","value":5}]"#;
        server.append_ops(odd).await;
        let state = server.state().await;
        for (key, value) in [("", 1), ("app:", 2), ("Temp:x", 3), ("foo:bar", 4), ("app:x", 5)] {
            assert_eq!(state[key], value, "{key}");
        }
        assert_eq!(server.get(APP_STATE).await.json()["x"], 5);
    }

    async fn keys_of_any_kind_are_shown_as_they_are(server: &TestServer) {
        server.create("{}").await;
        for key in ODD_KEYS {
            for prefix in ["", "user:", "app:"] {
                let key = format!("{prefix}{key}");
                let increment = json!([{"op": "increment", "key": key, "value": 1}]).to_string();
                for n in 1..=2 {
                    let event = server.append_ops(&increment).await;
                    assert_eq!(event.json()["actions"]["stateDelta"], json!({&key: n}));
                }
                let guarded = json!({"actions": {"preconditions": [{"key": key, "equals": 2}], "stateOps": [{"op": "remove", "key": key}]}});
                assert_eq!(server.append(guarded.to_string()).await.json()["actions"]["stateDelta"], json!({}));
                assert_eq!(server.state().await, json!({}));
            }
        }
    }

    async fn what_the_operators_of_one_request_read_is_bounded(server: &TestServer) {
        server.create("{}").await;
        let list = format!("[\"{}\"]", "x".repeat(2 << 20));
        server.put(format!("{STATE}/k")).json(list.as_str()).await.expect(200);
        let before = server.shown().await;
        let one = with_ops(r#"[{"op":"append","key":"k","value":[1]}]"#);
        let many = |count: usize| format!("[{}]", vec![one.as_str(); count].join(","));
        server.post(EVENTS).json(many(1000)).await.problem(413, "payload_too_large");
        let ops = format!("[{}]", vec![r#"{"op":"union","key":"k","value":[1]}"#; 50_000].join(","));
        server.post(EVENTS).json(with_ops(&ops)).await.problem(413, "payload_too_large");
        server.patch(STATE).json(format!(r#"{{"stateOps":{ops}}}"#)).await.problem(413, "payload_too_large");
        assert!(server.shown().await == before);
        server.append(many(3)).await;
    }

    async fn a_scope_alone_takes_keys_without_prefix(server: &TestServer) {
        for scope in [USER_STATE, APP_STATE] {
            for key in ["app:k", "user:k", "temp:k", "app:"] {
                for op in [json!({"op": "set", "key": key, "value": 1}), json!({"op": "remove", "key": key})] {
                    let body = json!({"stateDelta": {"good": 1}, "stateOps": [op]}).to_string();
                    server.patch(scope).json(body).await.invalid(&["/stateOps/0"]);
                }
            }
            assert_eq!(server.get(scope).await.text(), "{}");
        }
    }

    async fn a_scope_alone_takes_a_delta_and_operators_in_one_step(server: &TestServer) {
        for scope in [USER_STATE, APP_STATE] {
            let body = r#"{"stateDelta":{"n":1,"gone":1},"state_ops":[{"op":"increment","key":"n","value":1.5},{"op":"remove","key":"gone"}]}"#;
            let patched = server.patch(scope).header("if-match", "\"0\"").json(body).await.expect(200);
            assert_eq!((patched.text(), patched.etag().as_str()), (r#"{"n":2.5}"#, "\"1\""));
            server.patch(scope).header("if-match", "\"0\"").json(body).await.problem(412, "revision_mismatch");
            let removed = server.patch(scope).json(r#"{"stateOps":[{"op":"remove","key":"n"}]}"#).await.expect(200);
            assert_eq!((removed.text(), removed.etag().as_str()), ("{}", "\"2\""));
        }
    }

    async fn patching_state_with_operators_appends_one_event(server: &TestServer) {
        server.create(r#"{"state":{"n":1}}"#).await;
        let ops = r#"[{"op":"increment","key":"n","value": 1.0},{"op":"append","key":"user:l","value":[1]}]"#;
        let body = format!(r#"{{"stateDelta":{{"k":1}},"stateOps":{ops},"author":"agent","invocationId":"i","eventId":"e"}}"#);
        let patched = server.patch(STATE).json(body).await.expect(200);
        assert_eq!(patched.json(), json!({"user:l": [1], "n": 2.0, "k": 1}));
        let event = server.get(format!("{EVENTS}/e")).await.expect(200);
        assert_eq!(event.raw(&["actions", "stateOps"]), ops);
        assert_eq!(event.json()["actions"]["stateDelta"], json!({"k": 1, "n": 2.0, "user:l": [1]}));
        assert_eq!((&event.json()["author"], &event.json()["sequence"]), (&json!("agent"), &json!(1)));
    }

    async fn temp_keys_of_a_delta_are_dropped_beside_operators(server: &TestServer) {
        server.create("{}").await;
        let event = server
            .append(r#"{"actions":{"stateDelta":{"temp:t":1,"k":1},"stateOps":[{"op":"increment","key":"k","value":1}]}}"#)
            .await;
        assert_eq!(event.raw(&["actions", "stateDelta"]).replace(' ', ""), r#"{"k":2}"#);
        assert_eq!(server.state().await, json!({"k": 2}));
    }

    async fn a_partial_event_with_operators_is_echoed_and_applies_nothing(server: &TestServer) {
        server.create(r#"{"state":{"n":1}}"#).await;
        let before = server.shown().await;
        let given = r#"{"partial":true,"actions":{"stateOps":[{"op":"increment","key":"n","value":1}]}}"#;
        assert_eq!(server.post(EVENTS).json(given).await.expect(200).text(), given);
        assert_eq!(server.shown().await, before);
    }

    async fn the_text_of_a_response_is_there_before_the_operators(server: &TestServer) {
        server.create("{}").await;
        let event = |ops: &str| format!(r#"{{"content":{{"parts":[{{"text":"t"}}]}},"actions":{{"stateOps":{ops}}}}}"#);
        let path = format!("{EVENTS}?outputKey=out");
        let other = server.post(&path).json(event(r#"[{"op":"increment","key":"n","value":1}]"#)).await.expect(201);
        assert_eq!(other.json()["actions"]["stateDelta"], json!({"out": "t", "n": 1}));
        server.post(&path).json(event(r#"[{"op":"append","key":"out","value":[1]}]"#)).await.invalid(&["/actions/stateOps/0"]);
        server.post(&path).json(event(r#"[{"op":"remove","key":"out"}]"#)).await.expect(201);
        assert_eq!(server.state().await, json!({"n": 1}));
        server.post(&path).json(event(r#"[{"op":"set","key":"out","value":2}]"#)).await.expect(201);
        assert_eq!(server.state().await, json!({"n": 1, "out": 2}));
    }

    async fn a_retry_applies_nothing_twice(server: &TestServer) {
        server.create("{}").await;
        let event = r#"{"id":"e","timestamp":1,"actions":{"stateDelta":{"k":1},"stateOps":[{"op":"increment","key":"n","value":1},{"op":"append","key":"app:l","value":[1]}]}}"#;
        let first = server.append(event).await;
        server.append_ops(r#"[{"op":"increment","key":"n","value":10},{"op":"set","key":"app:l","value":"no list"}]"#).await;
        let before = server.shown().await;
        for same in [event, &event.replace(",\"timestamp\":1", ""), &event.replace("\"value\":1}", "\"value\":1.0}")] {
            let again = server.post(EVENTS).json(same).await.expect(200);
            assert!(again.was_replayed());
            assert_eq!(again.text(), first.text());
        }
        let batch = server.post(EVENTS).json(format!("[{event},{event}]")).await.expect(200);
        assert_eq!((batch.raw(&["0"]), batch.raw(&["1"])), (first.text().to_owned(), first.text().to_owned()));
        assert_eq!(server.shown().await, before);
    }

    async fn other_operators_under_the_same_id_are_a_conflict(server: &TestServer) {
        server.create("{}").await;
        let event = |ops: &str| format!(r#"{{"id":"e","actions":{{"stateOps":{ops}}}}}"#);
        let ops = r#"[{"op":"increment","key":"n","value":1},{"op":"set","key":"k","value":1}]"#;
        server.append(event(ops)).await;
        let before = server.shown().await;
        for other in [
            r#"[{"op":"increment","key":"n","value":2},{"op":"set","key":"k","value":1}]"#,
            r#"[{"op":"max","key":"n","value":1},{"op":"set","key":"k","value":1}]"#,
            r#"[{"op":"set","key":"k","value":1},{"op":"increment","key":"n","value":1}]"#,
            r#"[{"op":"increment","key":"n","value":1}]"#,
            "[]",
        ] {
            server.post(EVENTS).json(event(other)).await.problem(409, "event_id_conflict");
        }
        // The same state, set without operators, is other content too.
        server.post(EVENTS).json(r#"{"id":"e","actions":{"stateDelta":{"n":1,"k":1}}}"#).await.problem(409, "event_id_conflict");
        assert_eq!(server.shown().await, before);
    }

    async fn a_stored_event_sent_back_is_a_retry(server: &TestServer) {
        server.create(r#"{"state":{"n":1,"gone":1}}"#).await;
        for actions in [
            r#"{"stateOps":[{"op":"increment","key":"n","value":1}]}"#,
            r#"{"stateDelta":{"n":5,"k":1,"temp:t":1},"stateOps":[{"op":"increment","key":"n","value":1},{"op":"set","key":"app:a","value":1}]}"#,
            r#"{"stateDelta":{"k":1,"gone":2},"stateOps":[{"op":"remove","key":"gone"}]}"#,
            r#"{"stateOps":[{"op":"remove","key":"none"}]}"#,
            r#"{"stateDelta":{"k":1},"stateOps":[]}"#,
        ] {
            let stored = server.append(format!(r#"{{"actions":{actions}}}"#)).await;
            let before = server.shown().await;
            let again = server.post(EVENTS).json(stored.text()).await.expect(200);
            assert!(again.was_replayed());
            assert_eq!(again.text(), stored.text());
            assert_eq!(server.shown().await, before);
        }
    }

    async fn a_patch_with_operators_can_be_retried_and_honours_if_match(server: &TestServer) {
        let created = server.create("{}").await;
        let ops = r#"{"stateOps":[{"op":"increment","key":"n","value":1},{"op":"increment","key":"app:n","value":1}]}"#;
        let by_header = || server.patch(STATE).header("idempotency-key", "a").header("if-match", created.etag()).json(ops);
        let by_id = || {
            let body = ops.replace("{\"stateOps\"", "{\"eventId\":\"b\",\"stateOps\"");
            server.patch(STATE).header("if-match", "\"1\"").json(body)
        };
        by_id().await.problem(412, "revision_mismatch");
        assert!(!by_header().await.expect(200).was_replayed());
        assert!(!by_id().await.expect(200).was_replayed());
        for again in [by_header().await.expect(200), by_id().await.expect(200)] {
            assert!(again.was_replayed());
            assert_eq!(again.json(), json!({"app:n": 2, "n": 2}));
        }
        let other = r#"{"stateOps":[{"op":"increment","key":"n","value":2}]}"#;
        server.patch(STATE).header("idempotency-key", "a").json(other).await.problem(409, "event_id_conflict");
        server.patch(STATE).header("if-match", "\"0\"").json(ops).await.problem(412, "revision_mismatch");
        assert_eq!(server.get(ONE).await.json()["revision"], 2);
    }

    async fn an_event_twice_in_a_request_is_applied_once(server: &TestServer) {
        let event = r#"{"id":"e","actions":{"stateOps":[{"op":"increment","key":"n","value":1}]}}"#;
        let created = server.create(&format!(r#"{{"events":[{event},{event}]}}"#)).await;
        assert_eq!((&created.json()["revision"], &created.json()["state"]), (&json!(1), &json!({"n": 1})));
        let other = event.replace("\"e\"", "\"f\"");
        let batch = server.append(format!("[{other},{event},{other}]")).await;
        assert_eq!(batch.raw(&["0"]), batch.raw(&["2"]));
        assert_eq!(server.state().await, json!({"n": 2}));
    }

    async fn a_value_that_outgrows_its_limit_is_413(server: &TestServer) with ["--max-value-bytes=100"] {
        let list = format!("[\"{}\"]", "x".repeat(60));
        let there = format!(r#"{{"k":{list},"user:k":{list},"app:k":{list}}}"#);
        server.create(&format!(r#"{{"state":{there}}}"#)).await;
        let before = server.shown().await;
        for (op, operand) in [("append", list.clone()), ("union", format!("[\"{}\"]", "y".repeat(60)))] {
            let ops = |key: &str| format!(r#"[{{"op":"set","key":"a","value":1}},{{"op":"{op}","key":"{key}","value":{operand}}}]"#);
            for key in ["k", "user:k", "app:k"] {
                let event = with_ops(&ops(key));
                for refused in [
                    server.post(EVENTS).json(event.as_str()),
                    server.post(EVENTS).json(format!(r#"[{{"actions":{{"stateDelta":{{"b":1}}}}}},{event}]"#)),
                    server.patch(STATE).json(format!(r#"{{"stateOps":{}}}"#, ops(key))),
                ] {
                    assert_eq!(refused.await.problem(413, "payload_too_large")["outcome"], "not_applied");
                }
            }
            for scope in [USER_STATE, APP_STATE] {
                server.patch(scope).json(format!(r#"{{"stateOps":{}}}"#, ops("k"))).await.problem(413, "payload_too_large");
            }
            assert_eq!(server.shown().await, before);
        }
        let fits = format!(r#"[{{"op":"append","key":"k","value":["{}"]}}]"#, "y".repeat(31));
        server.append_ops(&fits).await;
        assert!(server.get(format!("{STATE}/k")).await.text().len() <= 100);
    }

    async fn an_operand_over_the_limit_of_values_is_413(server: &TestServer) with ["--max-value-bytes=100"] {
        server.create("{}").await;
        for (op, operand) in [("set", format!("\"{}\"", "x".repeat(99))), ("append", format!("[\"{}\"]", "x".repeat(97)))] {
            let ops = format!(r#"[{{"op":"{op}","key":"k","value":{operand}}}]"#);
            server.post(EVENTS).json(with_ops(&ops)).await.problem(413, "payload_too_large");
            server.patch(APP_STATE).json(format!(r#"{{"stateOps":{ops}}}"#)).await.problem(413, "payload_too_large");
        }
        assert_eq!(server.get(ONE).await.json()["revision"], 0);
    }

    async fn values_of_operators_are_kept_or_refused_like_any_value(server: &TestServer) {
        server.create("{}").await;
        let deep = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        server.append_ops(&format!(r#"[{{"op":"set","key":"deep","value":{}}}]"#, deep(64))).await;
        assert_eq!(server.get(format!("{STATE}/deep")).await.text(), deep(64));
        for (value, below) in [("1e400", ""), (r#""\ud800""#, ""), (r#"{"a":1,"a":2}"#, "/a"), (r#"{"\u0000":1}"#, "/\u{0}")] {
            let ops = format!(r#"[{{"op":"set","key":"k","value":{value}}}]"#);
            server.post(EVENTS).json(with_ops(&ops)).await.invalid(&[&format!("/actions/stateOps/0/value{below}")]);
            server.patch(APP_STATE).json(format!(r#"{{"stateOps":{ops}}}"#)).await.invalid(&[&format!("/stateOps/0/value{below}")]);
        }
        server.post(EVENTS).json(with_ops(&format!(r#"[{{"op":"set","key":"k","value":{}}}]"#, deep(65)))).await.expect(422);
        server.post(EVENTS).json(with_ops(r#"[{"op":"set","op":"set","key":"k","value":1}]"#)).await.expect(422);
        assert_eq!(server.get(ONE).await.json()["revision"], 1);
    }

    async fn a_long_list_is_applied_whole(server: &TestServer) {
        server.create("{}").await;
        let ops: Vec<String> = (0..1000).map(|n| format!(r#"{{"op":"increment","key":"k{}","value":0.1}}"#, n % 3)).collect();
        let event = server.append_ops(&format!("[{}]", ops.join(","))).await;
        assert_eq!(server.state().await, json!({"k0": 33.4, "k1": 33.3, "k2": 33.3}));
        assert_eq!(event.json()["actions"]["stateOps"].as_array().unwrap().len(), 1000);
    }

    async fn concurrent_increments_lose_nothing(server: &TestServer) {
        server.create("{}").await;
        server.create(r#"{"sessionId":"t"}"#).await;
        let op = r#"[{"op":"increment","key":"app:n","value":1},{"op":"increment","key":"user:n","value":1},{"op":"increment","key":"n","value":1}]"#;
        let writes = (0..10).flat_map(|_| {
            [
                server.post(EVENTS).json(with_ops(op)).into_future(),
                server.post(format!("{S}/t/events")).json(with_ops(op)).into_future(),
                server.patch(STATE).json(format!(r#"{{"stateOps":{op}}}"#)).into_future(),
                server.patch(APP_STATE).json(r#"{"stateOps":[{"op":"increment","key":"n","value":1}]}"#).into_future(),
            ]
        });
        for answer in futures_util::future::join_all(writes).await {
            assert!(answer.status < 300, "{answer}");
        }
        assert_eq!(server.state().await, json!({"app:n": 40, "user:n": 30, "n": 20}));
        assert_eq!(server.get(APP_STATE).await.etag(), "\"40\"");
    }
}
