//! Lists of sessions, of a user and of an app.

use serde_json::json;

use crate::support::client::{Answer, Client, EVENTS, ONE, S, segment};
use crate::support::databases::on_both_databases;
use crate::support::server::TestServer;

const OF_APP: &str = "/v1/apps/app/sessions";

/// The sessions of a page, as `user/id`.
fn names(answer: &Answer) -> Vec<String> {
    let sessions = answer.json();
    let name = |session: &serde_json::Value| {
        format!("{}/{}", session["userId"].as_str().expect("a user"), session["id"].as_str().expect("an id"))
    };
    sessions["sessions"].as_array().expect("sessions").iter().map(name).collect()
}

async fn make(server: &Client, user: &str, id: &str, time: &str) {
    let body = json!({ "sessionId": id }).to_string();
    let body = format!(r#"{},"events":[{{"timestamp":{time}}}]}}"#, body.trim_end_matches('}'));
    server.post(format!("/v1/apps/app/users/{}/sessions", segment(user))).json(body).await.expect(201);
}

on_both_databases! {
    async fn the_activity_of_an_app_is_its_sessions_events_and_last_error(server: &TestServer) {
        const ACTIVITY: &str = "/v1/apps/app/activity";
        let nothing = json!({"sessions": 0, "moreSessions": false, "events": 0, "moreEvents": false});
        assert_eq!(server.get(ACTIVITY).await.expect(200).json(), nothing);
        make(server, "u", "old", "7").await;
        make(server, "v", "new", "8").await;
        server.post("/v1/apps/other/users/u/sessions").json(r#"{"events":[{"errorCode":"FOREIGN"}]}"#).await.expect(201);
        let before = server.get(ACTIVITY).await.expect(200).json();
        assert_eq!(before, json!({"sessions": 2, "moreSessions": false, "events": 2, "moreEvents": false}));
        let events = "/v1/apps/app/users/v/sessions/new/events";
        let said = r#"[{"id":"e1","content":{"parts":[{"text":"\"errorCode\""}]}},{"id":"e2","errorCode":"QUOTA","errorMessage":"Too much"}]"#;
        server.post(events).json(said).await.expect(201);
        let mut with = server.get(ACTIVITY).await.expect(200).json();
        assert!(with["lastError"]["commitTime"].take().is_number());
        let error = json!({
            "userId": "v", "sessionId": "new", "eventId": "e2", "sequence": 3, "commitTime": null, "errorCode": "QUOTA", "errorMessage": "Too much",
        });
        assert_eq!(with, json!({"sessions": 2, "moreSessions": false, "events": 4, "moreEvents": false, "lastError": error}));
        // What went on after it is no error.
        server.post(events).json(r#"{"author":"agent"}"#).await.expect(201);
        assert_eq!(server.get(ACTIVITY).await.expect(200).json()["lastError"], json!(null));
    }

    async fn an_unknown_app_or_user_has_no_sessions(server: &TestServer) {
        server.create("{}").await;
        for path in ["/v1/apps/none/sessions", "/v1/apps/none/users/user/sessions", "/v1/apps/app/users/none/sessions"] {
            let answer = server.get(path).await.expect(200);
            assert_eq!(answer.json(), json!({"sessions": []}));
        }
    }

    async fn a_list_shows_sessions_without_events_and_without_state_unless_asked(server: &TestServer) {
        server
            .create(r#"{"state":{"k":1.0,"user:u":2,"app:a":3},"events":[{"timestamp":7.50}],"displayName":"d","labels":{"x":"y"}}"#)
            .await;
        let whole = server.get(ONE).await.json();
        for path in [S, OF_APP] {
            let mut listed = server.get(path).await.expect(200).json()["sessions"][0].clone();
            let mut expected = whole.clone();
            expected.as_object_mut().unwrap().retain(|name, _| name != "events" && name != "state");
            assert_eq!(listed, expected);
            let answer = server.get(format!("{path}?includeState=true")).await.expect(200);
            listed = answer.json()["sessions"][0].clone();
            expected["state"] = whole["state"].clone();
            assert_eq!(listed, expected);
            assert_eq!(answer.raw(&["sessions", "0", "state", "k"]), "1.0");
            let without = server.get(format!("{path}?includeState=false")).await.expect(200);
            assert!(without.json()["sessions"][0].get("state").is_none());
        }
    }

    async fn state_in_a_list_is_that_of_each_session_and_user(server: &TestServer) {
        server.post("/v1/apps/app/users/a/sessions").json(r#"{"sessionId":"1","state":{"k":1,"user:u":"a","app:x":1}}"#).await.expect(201);
        server.post("/v1/apps/app/users/b/sessions").json(r#"{"sessionId":"2","state":{"k":2,"user:u":"b","app:x":2}}"#).await.expect(201);
        server.post("/v1/apps/app/users/b/sessions").json(r#"{"sessionId":"3"}"#).await.expect(201);
        let list = server.get(format!("{OF_APP}?includeState=true&orderBy=createTime")).await.expect(200).json();
        let states: Vec<_> = list["sessions"].as_array().unwrap().iter().map(|s| s["state"].clone()).collect();
        assert_eq!(
            states,
            [
                json!({"app:x": 2, "user:u": "a", "k": 1}),
                json!({"app:x": 2, "user:u": "b", "k": 2}),
                json!({"app:x": 2, "user:u": "b"})
            ]
        );
    }

    async fn the_default_order_is_the_last_update_then_user_then_id(server: &TestServer) {
        for (user, id, time) in [
            ("b", "x", "5"),
            ("b", "é", "3"),
            ("a", "z", "3"),
            ("a", "B", "3.0"),
            ("a", "a", "3.0000001"),
            ("é", "x", "-1"),
            ("Z", "x", "3e0"),
        ] {
            make(server, user, id, time).await;
        }
        let ascending = ["é/x", "Z/x", "a/B", "a/a", "a/z", "b/é", "b/x"];
        for query in ["", "?order=asc", "?orderBy=lastUpdateTime", "?order_by=lastUpdateTime&order=asc"] {
            assert_eq!(names(&server.get(format!("{OF_APP}{query}")).await.expect(200)), ascending, "{query}");
        }
        let descending: Vec<&str> = ascending.iter().rev().copied().collect();
        assert_eq!(names(&server.get(format!("{OF_APP}?order=desc")).await.expect(200)), descending);
        assert_eq!(names(&server.get("/v1/apps/app/users/a/sessions").await.expect(200)), ["a/B", "a/a", "a/z"]);
        server.get(format!("{OF_APP}?order=up")).await.invalid(&["order"]);
        server.get(format!("{OF_APP}?orderBy=updateTime")).await.invalid(&["orderBy"]);
        server.get(format!("{OF_APP}?includeState=1")).await.invalid(&["includeState"]);
    }

    async fn a_list_can_be_ordered_by_creation(server: &TestServer) {
        for (id, time) in [("c", "1"), ("a", "3"), ("b", "2")] {
            make(server, "user", id, time).await;
        }
        assert_eq!(names(&server.get(format!("{S}?orderBy=createTime")).await.expect(200)), ["user/c", "user/a", "user/b"]);
        let newest = server.get(format!("{S}?orderBy=createTime&order=desc")).await.expect(200);
        assert_eq!(names(&newest), ["user/b", "user/a", "user/c"]);
    }

    async fn an_append_moves_a_session_in_the_order_of_updates(server: &TestServer) {
        for (id, time) in [("s", "1"), ("t", "2")] {
            make(server, "user", id, time).await;
        }
        assert_eq!(names(&server.get(S).await), ["user/s", "user/t"]);
        server.append(r#"{"timestamp":3}"#).await;
        assert_eq!(names(&server.get(S).await), ["user/t", "user/s"]);
        server.post(EVENTS).json(r#"{"timestamp":0.5}"#).await.expect(201);
        assert_eq!(names(&server.get(S).await), ["user/s", "user/t"]);
    }

    async fn prefixes_filter_byte_by_byte(server: &TestServer) {
        for (user, id) in [("ada", "x-1"), ("ada", "x-2"), ("ada", "y"), ("Ada", "x-1"), ("adam", "x"), ("ad%", "x_1"), ("é", "\u{10ffff}z")] {
            let path = format!("/v1/apps/app/users/{}/sessions", segment(user));
            server.post(path).json(json!({"sessionId": id}).to_string()).await.expect(201);
        }
        for (query, expected) in [
            ("userPrefix=ada", "ada/x-1 ada/x-2 ada/y adam/x"),
            ("userPrefix=ada&idPrefix=x-", "ada/x-1 ada/x-2"),
            ("userPrefix=A", "Ada/x-1"),
            ("userPrefix=ad%25", "ad%/x_1"),
            ("userPrefix=%C3%A9", "é/\u{10ffff}z"),
            ("idPrefix=%F4%8F%BF%BF", "é/\u{10ffff}z"),
            ("idPrefix=x_", "ad%/x_1"),
            ("idPrefix=none", ""),
            ("userPrefix=&idPrefix=y", "ada/y"),
        ] {
            for order in ["createTime", "lastUpdateTime"] {
                let list = server.get(format!("{OF_APP}?{query}&orderBy={order}")).await.expect(200);
                let mut found = names(&list);
                found.sort_unstable();
                assert_eq!(found.join(" "), expected, "{query} {order}");
            }
        }
        let of_ada = "/v1/apps/app/users/ada/sessions";
        assert_eq!(names(&server.get(format!("{of_ada}?idPrefix=x&orderBy=createTime")).await), ["ada/x-1", "ada/x-2"]);
        assert_eq!(names(&server.get(format!("{of_ada}?userPrefix=b")).await), [""; 0]);
        // A page token is of these prefixes.
        let first = server.get(format!("{OF_APP}?userPrefix=ada&pageSize=2")).await.expect(200).json();
        let token = first["nextPageToken"].as_str().unwrap();
        let second = server.get(format!("{OF_APP}?userPrefix=ada&pageToken={token}")).await.expect(200);
        assert_eq!(names(&second).len(), 2);
        for other in ["userPrefix=ad", "userPrefix=ada&idPrefix=x", "idPrefix=ada"] {
            server.get(format!("{OF_APP}?{other}&pageToken={token}")).await.problem(422, "invalid_argument");
        }
        server.get(format!("{OF_APP}?idPrefix=%00")).await.problem(422, "invalid_argument");
    }

    async fn a_query_has_no_more_labels_than_a_session_can_have(server: &TestServer) {
        let query = |count: usize| {
            let labels: Vec<String> = (0..count).map(|n| format!("label.l{n}=x")).collect();
            format!("{S}?{}", labels.join("&"))
        };
        server.get(query(64)).await.expect(200);
        server.get(query(65)).await.invalid(&["label.l64"]);
        server.get(query(2000)).await.problem(422, "invalid_argument");
    }

    async fn labels_filter_by_exact_value(server: &TestServer) {
        for (id, labels) in [
            ("1", r#"{"env":"prod","a.b-c_9":"x y"}"#),
            ("2", r#"{"env":"dev"}"#),
            ("3", r#"{"env":""}"#),
            ("4", r#"{"env":"\u0070rod","team":"\ud83d\ude00 é\"\\"}"#),
            ("5", "{}"),
        ] {
            server.post(S).json(format!(r#"{{"sessionId":"{id}","labels":{labels}}}"#)).await.expect(201);
        }
        server.create("{}").await;
        for (query, expected) in [
            ("label.env=prod", "1 4"),
            ("label.env=dev", "2"),
            ("label.env=", "3"),
            ("label.env=Prod", ""),
            ("label.env=pro", ""),
            ("label.none=x", ""),
            ("label.a.b-c_9=x+y", "1"),
            ("label.a.b-c_9=x%20y&label.env=prod", "1"),
            ("label.team=%F0%9F%98%80%20%C3%A9%22%5C", "4"),
            ("label.team=%F0%9F%98%80+%C3%A9%22%5C&label.env=prod", "4"),
        ] {
            for path in [S, OF_APP] {
                let list = server.get(format!("{path}?{query}")).await.expect(200);
                let ids: Vec<String> = names(&list).iter().map(|name| name.replace("user/", "")).collect();
                assert_eq!(ids.join(" "), expected, "{query}");
            }
        }
        for bad in ["label.env=prod&label.env=dev", "label.=x", "label.A=x", "label=x", "label.a%20b=x", &format!("label.{}=x", "a".repeat(64)), &format!("label.a={}", "x".repeat(257))] {
            server.get(format!("{S}?{bad}")).await.expect(422);
        }
        server.patch(format!("{S}/2")).json(r#"{"labels":{"env":"prod"}}"#).await.expect(200);
        server.patch(format!("{S}/1")).json(r#"{"labels":null}"#).await.expect(200);
        assert_eq!(names(&server.get(format!("{S}?label.env=prod&orderBy=createTime")).await), ["user/2", "user/4"]);
    }
}
