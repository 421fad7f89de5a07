//! Fidelity: values come back byte for byte, or are refused with a pointer to the fault.

use crate::support::client::{APP_STATE, Answer, Client, EVENTS, ONE, S, STATE, USER_STATE, raw_in};
use crate::support::databases::on_both_databases;
use crate::support::server::TestServer;

/// Values that JSON libraries like to spoil.
pub const KEPT: &[&str] = &[
    "0",
    "-0",
    "1",
    "1.0",
    "1E2",
    "1e+2",
    "-0.0",
    "0e0",
    "1e-400",
    "0.1000000000000000055511151231257827",
    "1180591620717411303424",
    "-170141183460469231731687303715884105729",
    "1.7976931348623157e308",
    "9007199254740993",
    r#""\u0000""#,
    r#""a\u0000b\u001f\u007f""#,
    r#""\ud83d\ude00 😀 \u00e9 é e\u0301""#,
    r#""\/ / \" \\ \b\f\n\r\t""#,
    "\"\u{7f}\u{80}\u{2028}\u{feff}\u{fffd}\u{10ffff}\"",
    r#""""#,
    r#"{"b":1,"a":2,"":3,"B":4}"#,
    "{ \"a\" : [ 1 ,\t2 ] ,\r\n \"b\":{} }",
    "[ ]",
    r#"{"$serde_json::private::RawValue": "[1]"}"#,
    r#"{"$serde_json::private::Number": "1"}"#,
    r#"{"\u0061":1,"\ud83d\ude00":2,"\"\\\/":3}"#,
    r#"{"__proto__":1,"constructor":{"x":null}}"#,
    "true",
    "null",
];

/// What to put in, and the pointer below it at which it is refused.
const REFUSED: &[(&str, &str)] = &[
    (r#""\ud800""#, ""),
    (r#""\udc00\ud800""#, ""),
    (r#""a\ud83dA""#, ""),
    (r#""\ud83d\u0041""#, ""),
    (r#"{"\ud800":1}"#, "/\u{fffd}"),
    ("1e400", ""),
    ("-1e309", ""),
    (r#"[0,{"a/b":[1e999]}]"#, "/1/a~1b/0"),
    (r#"{"x":{"a":1,"b":2,"a":1}}"#, "/x/a"),
    (r#"{"a":1,"\u0061":2}"#, "/a"),
    (r#"[{"~":1,"~":2}]"#, "/0/~0"),
    (r#"{"\u0000":1}"#, "/\u{0}"),
    (r#"{"a":{"b\u0000":1}}"#, "/a/b\u{0}"),
];

fn nested(depth: usize) -> String {
    format!("{}{}", "[".repeat(depth), "]".repeat(depth))
}

fn kept() -> Vec<String> {
    let mut kept: Vec<String> = KEPT.iter().map(|value| (*value).to_owned()).collect();
    kept.push(nested(64));
    kept.push(format!("{}1{}", r#"{"k":"#.repeat(64), "}".repeat(64)));
    kept.push("9".repeat(308));
    kept.push(format!("-1{}", "0".repeat(307)));
    kept.push(format!("0.{}1", "0".repeat(400)));
    kept.push(format!("\"{}\"", "é\\n".repeat(5000)));
    kept
}

fn refused() -> Vec<(String, String)> {
    let mut refused: Vec<(String, String)> =
        REFUSED.iter().map(|(value, below)| ((*value).to_owned(), (*below).to_owned())).collect();
    refused.push((nested(65), "/0".repeat(64)));
    refused.push((format!("{}1{}", r#"{"k":"#.repeat(65), "}".repeat(65)), "/k".repeat(64)));
    refused.push((format!("1{}", "0".repeat(308)), String::new()));
    refused.push((format!("[-{}]", "1".repeat(309)), "/0".to_owned()));
    refused
}

/// Members `k0`, `k1`, ... of all kept values, each key after this prefix.
fn members(prefix: &str) -> String {
    let members: Vec<String> =
        kept().iter().enumerate().map(|(n, value)| format!(r#""{prefix}k{n}": {value}"#)).collect();
    members.join(" , ")
}

/// Asserts that the object at `path` holds every kept value under the keys of [`members`].
fn assert_kept(answer: &Answer, path: &[&str], prefix: &str) {
    let object = answer.raw(path);
    for (n, value) in kept().iter().enumerate() {
        let key = format!("{prefix}k{n}");
        assert_eq!(raw_in(&object, &[&key]).as_deref(), Some(&**value), "{key} at {path:?}");
    }
}

/// Asserts that every way out of [`ONE`] shows the kept values in state, all scopes.
async fn assert_state_is_kept(server: &Client) {
    let state = server.get(STATE).await.expect(200);
    let session = server.get(ONE).await.expect(200);
    let list = server.get(format!("{S}?includeState=true")).await.expect(200);
    for prefix in ["", "user:", "app:"] {
        assert_kept(&state, &[], prefix);
        assert_kept(&session, &["state"], prefix);
        assert_kept(&list, &["sessions", "0", "state"], prefix);
        for (n, value) in kept().iter().enumerate() {
            assert_eq!(server.get(format!("{STATE}/{prefix}k{n}")).await.expect(200).text(), value);
        }
    }
    assert_kept(&server.get(USER_STATE).await.expect(200), &[], "");
    assert_kept(&server.get(APP_STATE).await.expect(200), &[], "");
}

fn delta_of_all_scopes() -> String {
    format!("{{{},{},{}}}", members(""), members("user:"), members("app:"))
}

on_both_databases! {
    async fn values_given_at_creation_come_back_byte_for_byte(server: &TestServer) {
        let created = server.create(&format!(r#"{{"state":{}}}"#, delta_of_all_scopes())).await;
        assert_kept(&created, &["state"], "");
        assert_kept(&server.put(ONE).await.expect(200), &["state"], "user:");
        assert_state_is_kept(server).await;
    }

    async fn values_of_an_events_delta_come_back_byte_for_byte(server: &TestServer) {
        server.create("{}").await;
        let delta = delta_of_all_scopes();
        let event = server.append(format!(r#"{{"id":"e","actions":{{"stateDelta":{delta}}}}}"#)).await;
        assert_eq!(event.raw(&["actions", "stateDelta"]), delta);
        assert_state_is_kept(server).await;
        for (path, place) in [(format!("{EVENTS}/e"), &[][..]), (EVENTS.to_owned(), &["events", "0"]), (ONE.to_owned(), &["events", "0"])] {
            let stored = server.get(path).await.expect(200);
            assert_eq!(raw_in(&stored.raw(place), &["actions", "stateDelta"]), Some(delta.clone()));
        }
    }

    async fn values_beside_a_temp_key_come_back_byte_for_byte(server: &TestServer) {
        server.create("{}").await;
        let delta = format!(r#"{{"temp:a": 1 , {} , "temp:b":[]}}"#, members(""));
        let event = server.append(format!(r#"{{"actions":{{"stateDelta":{delta}}}}}"#)).await;
        assert_kept(&event, &["actions", "stateDelta"], "");
        assert_kept(&server.get(STATE).await.expect(200), &[], "");
    }

    async fn values_of_a_patch_come_back_byte_for_byte(server: &TestServer) {
        server.create("{}").await;
        let body = format!(r#"{{"stateDelta":{},"eventId":"e"}}"#, delta_of_all_scopes());
        assert_kept(&server.patch(STATE).json(body).await.expect(200), &[], "app:");
        assert_state_is_kept(server).await;
        assert_kept(&server.get(format!("{EVENTS}/e")).await.expect(200), &["actions", "stateDelta"], "");
    }

    async fn values_of_scopes_patched_alone_come_back_byte_for_byte(server: &TestServer) {
        let body = format!(r#"{{"stateDelta":{{{}}}}}"#, members(""));
        for path in [USER_STATE, APP_STATE] {
            assert_kept(&server.patch(path).json(body.as_str()).await.expect(200), &[], "");
            assert_kept(&server.get(path).await.expect(200), &[], "");
        }
        let created = server.create(&format!(r#"{{"state":{{{}}}}}"#, members(""))).await;
        assert_kept(&created, &["state"], "user:");
        assert_state_is_kept(server).await;
    }

    async fn values_put_under_a_key_come_back_byte_for_byte(server: &TestServer) {
        server.create("{}").await;
        for (n, value) in kept().iter().enumerate() {
            for prefix in ["", "user:", "app:"] {
                let put = server.put(format!("{STATE}/{prefix}k{n}")).json(format!(" \r\n\t{value} ")).await.expect(200);
                assert_eq!(put.text(), value);
            }
        }
        assert_state_is_kept(server).await;
    }

    async fn everything_in_an_event_comes_back_byte_for_byte(server: &TestServer) {
        let fields = ["content", "groundingMetadata", "customMetadata", "x-own", "errorMessage", "usageMetadata", "\\u0061b/~"];
        let event = |n: usize, value: &str| {
            let members: Vec<String> = fields.iter().map(|field| format!(r#""{field}": {value}"#)).collect();
            format!(r#"{{"id":"e{n}", {} ,"actions":{{"agentState":{value},"own":{value}}}}}"#, members.join(" , "))
        };
        let events: Vec<String> = kept().iter().enumerate().map(|(n, value)| event(n, value)).collect();
        // One at creation, the others appended.
        let created = server.create(&format!(r#"{{"events":[{}]}}"#, events[0])).await;
        let appended = server.append(format!("[{}]", events[1..].join(","))).await;
        let (session, list) = (server.get(ONE).await.expect(200), server.get(EVENTS).await.expect(200));
        for (n, value) in kept().iter().enumerate() {
            let stored = server.get(format!("{EVENTS}/e{n}")).await.expect(200).text().to_owned();
            for field in fields {
                let name = if field.contains('u') && field.starts_with('\\') { "ab/~" } else { field };
                assert_eq!(raw_in(&stored, &[name]).as_deref(), Some(&**value), "{field}");
            }
            assert_eq!(raw_in(&stored, &["actions", "agentState"]).as_deref(), Some(&**value));
            assert_eq!(raw_in(&stored, &["actions", "own"]).as_deref(), Some(&**value));
            let index = n.to_string();
            assert_eq!(session.raw(&["events", &index]), stored);
            assert_eq!(list.raw(&["events", &index]), stored);
            match n {
                0 => assert_eq!(created.raw(&["events", "0"]), stored),
                _ => assert_eq!(appended.raw(&[&(n - 1).to_string()]), stored),
            }
        }
    }

    async fn keys_of_any_characters_and_events_of_any_size_are_read_together(server: &TestServer) {
        let keys = ["", "a", "\u{1e}", "a\u{1f}b", "1\u{1f}a\u{1e}\"x\"\u{1f}b", "\"\\/\u{7f}", "é\u{1}"];
        let state: serde_json::Map<_, _> = keys
            .iter()
            .flat_map(|key| ["", "user:", "app:"].map(|prefix| (format!("{prefix}{key}"), (*key).into())))
            .filter(|(key, _)| !key.is_empty())
            .collect();
        let state = serde_json::Value::Object(state);
        server.put(ONE).json(serde_json::json!({ "state": state }).to_string()).await.expect(201);
        // On either side of an equal share of a page of 64 events, and of a whole page.
        for (n, size) in [10, 16_000, 17_000, 300_000, 10, 900_000, 900_000].into_iter().enumerate() {
            let text = "x".repeat(size);
            let event = format!(r#"{{"id":"e{n}","content":{{"parts":[{{"text":"{text}"}}]}}}}"#);
            server.post(EVENTS).json(event).await.expect(201);
        }
        for (count, ids) in [(64, "e0 e1 e2 e3 e4 e5 e6"), (3, "e4 e5 e6"), (1, "e6"), (99, "e0 e1 e2 e3 e4 e5 e6")] {
            let session = server.get(format!("{ONE}?numRecentEvents={count}")).await.expect(200).json();
            assert_eq!(session["state"], state, "{count}");
            let found = session["events"].as_array().unwrap().iter().map(|event| event["id"].as_str().unwrap());
            assert_eq!(found.collect::<Vec<_>>().join(" "), ids);
        }
        assert_eq!(server.get(STATE).await.expect(200).json(), state);
    }

    async fn members_of_an_event_keep_their_order(server: &TestServer) {
        server.create("{}").await;
        let event = server
            .append(r#"{ "z":1, "timestamp": 1.50, "actions" : {"z": 1, "stateDelta":{"b": 1,"a":2} ,"a":2}, "id":"e", "a":2 }"#)
            .await;
        let given = r#"{"z":1,"timestamp":1.50,"actions":{"z":1,"stateDelta":{"b": 1,"a":2},"a":2},"id":"e","a":2,"#;
        assert!(event.text().starts_with(given), "{event}");
    }

    async fn what_some_client_could_not_read_is_refused_in_a_state_with_its_pointer(server: &TestServer) {
        server.create("{}").await;
        let before = server.get(ONE).await.text().to_owned();
        for (value, below) in refused() {
            for (request, base) in [
                (server.post(S).json(format!(r#"{{"state":{{"ok":1,"k":{value}}}}}"#)), "/state/k"),
                (server.put(format!("{S}/new")).json(format!(r#"{{"state":{{"app:k":{value}}}}}"#)), "/state/app:k"),
                (
                    server.post(S).json(format!(r#"{{"events":[{{}},{{"actions":{{"stateDelta":{{"k":{value}}}}}}}]}}"#)),
                    "/events/1/actions/stateDelta/k",
                ),
                (server.post(EVENTS).json(format!(r#"{{"actions":{{"stateDelta":{{"k":{value}}}}}}}"#)), "/actions/stateDelta/k"),
                (
                    server.post(EVENTS).json(format!(r#"[{{"actions":{{"stateDelta":{{"temp:k":{value}}}}}}}]"#)),
                    "/0/actions/stateDelta/temp:k",
                ),
                (server.patch(STATE).json(format!(r#"{{"stateDelta":{{"user:k":{value}}}}}"#)), "/stateDelta/user:k"),
                (server.put(format!("{STATE}/k")).json(value.as_str()), ""),
                (server.patch(APP_STATE).json(format!(r#"{{"stateDelta":{{"k":{value}}}}}"#)), "/stateDelta/k"),
                (server.patch(USER_STATE).json(format!(r#"{{"stateDelta":{{"k":{value}}}}}"#)), "/stateDelta/k"),
            ] {
                request.await.invalid(&[&cut(&format!("{base}{below}"))]);
            }
        }
        assert_eq!(server.get(ONE).await.text(), before);
        assert_eq!(server.get(S).await.json()["sessions"].as_array().unwrap().len(), 1);
    }

    async fn what_some_client_could_not_read_is_refused_in_an_event_with_its_pointer(server: &TestServer) {
        server.create("{}").await;
        for (value, below) in refused() {
            for field in ["content", "x", "customMetadata"] {
                let pointer = cut(&format!("/{field}{below}"));
                server.post(EVENTS).json(format!(r#"{{"{field}":{value}}}"#)).await.invalid(&[&pointer]);
            }
            let pointer = cut(&format!("/1/actions/own{below}"));
            server.post(EVENTS).json(format!(r#"[{{}},{{"actions":{{"own":{value}}}}}]"#)).await.invalid(&[&pointer]);
        }
        assert_eq!(server.get(ONE).await.json()["revision"], 0);
    }

    async fn duplicate_keys_are_refused_in_every_object_of_a_body(server: &TestServer) {
        server.create("{}").await;
        for (body, pointer) in [
            (r#"{"stateDelta":{},"stateDelta":{}}"#, "/stateDelta"),
            (r#"{"stateDelta":{"a":1,"a":1}}"#, "/stateDelta/a"),
            (r#"{"stateDelta":{"a":1,"\u0061":2}}"#, "/stateDelta/a"),
            (r#"{"bogus":{"x":1,"x":1}}"#, "/bogus/x"),
        ] {
            server.patch(STATE).json(body).await.invalid(&[pointer]);
        }
        server.post(EVENTS).json(r#"{"id":"a","id":"b"}"#).await.invalid(&["/id"]);
        server.post(EVENTS).json(r#"{"actions":{},"actions":{}}"#).await.invalid(&["/actions"]);
    }

    async fn what_is_not_json_is_400(server: &TestServer) {
        server.create("{}").await;
        let bodies: [&[u8]; 26] = [
            b"x",
            b"{",
            b"{}x",
            b"{} {}",
            b"{'a':1}",
            b"{\"a\":1,}",
            b"[1,]",
            b"{\"a\"}",
            b"{a:1}",
            b"[1 2]",
            b"01",
            b"+1",
            b"1.",
            b".5",
            b"1e",
            b"-",
            b"NaN",
            b"Infinity",
            b"True",
            b"nul",
            b"\"a",
            b"\"\\x\"",
            b"\"\\u12g4\"",
            b"\"a\nb\"",
            b"\"\xff\"",
            b"\xef\xbb\xbf{}",
        ];
        for body in bodies.into_iter().chain([&b" "[..], b"// c\n{}", b"\"\xed\xa0\x80\"", b"{\"a\":1e400"]) {
            let shown = String::from_utf8_lossy(body).into_owned();
            let answer = server.put(format!("{STATE}/k")).body("application/json", body.to_vec()).await;
            assert_eq!(answer.problem(400, "invalid_json")["outcome"], "not_applied", "{shown}");
        }
        assert_eq!(server.get(ONE).await.json()["revision"], 0);
    }
}

/// A pointer as errors show it: cut to a length that fits.
fn cut(pointer: &str) -> String {
    match pointer.char_indices().nth(200) {
        Some((at, _)) => format!("{}…", &pointer[..at]),
        None => pointer.to_owned(),
    }
}
