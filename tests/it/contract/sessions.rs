//! Sessions: their creation, their metadata, their end.

use serde_json::json;

use crate::support::client::{EVENTS, ONE, S, STATE, segment};
use crate::support::databases::on_both_databases;
use crate::support::server::TestServer;

on_both_databases! {
    async fn a_session_needs_no_body(server: &TestServer) {
        let answer = server.post(S).await.expect(201);
        let session = answer.json();
        assert_eq!(session["appName"], "app");
        assert_eq!(session["userId"], "user");
        assert_eq!(session["revision"], 0);
        assert_eq!(session["state"], json!({}));
        assert_eq!(session["events"], json!([]));
        assert_eq!(session["createTime"], session["lastUpdateTime"]);
        let id = session["id"].as_str().unwrap();
        assert_eq!(uuid::Uuid::parse_str(id).unwrap().get_version_num(), 7);
        for absent in ["displayName", "labels", "expireTime", "forkedFrom"] {
            assert!(session.get(absent).is_none(), "{absent}");
        }
    }

    async fn an_empty_body_with_a_content_type_is_no_body(server: &TestServer) {
        server.post(S).body("application/json", "").await.expect(201);
        server.put(format!("{S}/x")).body("application/json", "").await.expect(201);
    }

    async fn a_blank_id_asks_for_a_generated_one(server: &TestServer) {
        for id in ["", "  ", "\\t\\n", "\\u3000"] {
            let created = server.post(S).json(format!(r#"{{"sessionId":"{id}"}}"#)).await.expect(201);
            assert_eq!(created.json()["id"].as_str().unwrap().len(), 36, "{id}");
        }
        server.post(S).json(r#"{"sessionId":null}"#).await.expect(201);
    }

    async fn session_ids_are_trimmed_in_every_operation(server: &TestServer) {
        let created = server.post(S).json(r#"{"sessionId":" \ts 1\n "}"#).await.expect(201);
        assert_eq!(created.json()["id"], "s 1");
        let padded = format!("{S}/%20%09s%201%E3%80%80");
        assert_eq!(server.get(&padded).await.expect(200).json()["id"], "s 1");
        assert_eq!(server.put(&padded).await.expect(200).json()["id"], "s 1");
        server.patch(&padded).json(r#"{"displayName":"x"}"#).await.expect(200);
        server.post(format!("{padded}/events")).json(r#"{"id":"e"}"#).await.expect(201);
        server.get(format!("{padded}/events")).await.expect(200);
        server.get(format!("{padded}/events/e")).await.expect(200);
        server.put(format!("{padded}/state/k")).json("1").await.expect(200);
        server.get(format!("{padded}/state")).await.expect(200);
        server.get(format!("{padded}/state/k")).await.expect(200);
        server.patch(format!("{padded}/state")).json("{}").await.expect(200);
        server.delete(format!("{padded}/state/k")).await.expect(204);
        server.post(S).json(r#"{"sessionId":"s 1 "}"#).await.problem(409, "session_already_exists");
        server.delete(&padded).await.expect(204);
        server.get(format!("{S}/s%201")).await.problem(404, "session_not_found");
    }

    async fn a_blank_session_id_in_a_path_is_refused(server: &TestServer) {
        let blank = format!("{S}/%20");
        server.get(&blank).await.invalid(&["sessionId"]);
        server.put(&blank).await.invalid(&["sessionId"]);
        server.patch(&blank).json("{}").await.invalid(&["sessionId"]);
        server.delete(&blank).await.invalid(&["sessionId"]);
        server.get(format!("{blank}/events")).await.invalid(&["sessionId"]);
        server.post(format!("{blank}/events")).json("{}").await.invalid(&["sessionId"]);
        server.get(format!("{blank}/state")).await.invalid(&["sessionId"]);
        server.put(format!("{blank}/state/k")).json("1").await.invalid(&["sessionId"]);
    }

    async fn location_leads_to_the_session_whatever_its_names(server: &TestServer) {
        let names = ["a/b c", "é%2F?#", "日本 &+;"].map(segment);
        let path = format!("/v1/apps/{}/users/{}/sessions", names[0], names[1]);
        let created = server.post(&path).json(r#"{"sessionId":"日本 &+;\"/"}"#).await.expect(201);
        let location = created.header("location").expect("Location");
        let read = server.get(location).await.expect(200);
        assert_eq!(read.text(), created.text());
        let session = read.json();
        assert_eq!((&session["appName"], &session["userId"]), (&json!("a/b c"), &json!("é%2F?#")));
        let put = server.put(format!("{path}/{}", names[2])).await.expect(201);
        assert_eq!(server.get(put.header("location").expect("Location")).await.expect(200).json()["id"], "日本 &+;");
    }

    async fn initial_state_is_routed_and_merged_over_what_the_app_and_the_user_hold(server: &TestServer) {
        server.create(r#"{"state":{"app:a":1,"app:b":1,"user:a":1,"user:b":1}}"#).await;
        let second = server
            .create(r#"{"sessionId":"t","state":{"app:b":2,"user:b":2,"b":2,"temp:c":3}}"#)
            .await;
        let merged = json!({"app:a": 1, "app:b": 2, "user:a": 1, "user:b": 2, "b": 2});
        assert_eq!(second.json()["state"], merged);
        assert_eq!(server.get(format!("{S}/t")).await.json()["state"], merged);
    }

    async fn initial_events_are_appended_in_order_with_their_deltas(server: &TestServer) {
        let created = server
            .create(
                r#"{"state":{"a":0,"b":0,"user:u":0},"events":[
                    {"id":"1","timestamp":20,"actions":{"stateDelta":{"a":1,"c":1,"user:u":1}}},
                    {"id":"2","timestamp":10,"actions":{"stateDelta":{"a":2,"app:x":2}}}]}"#,
            )
            .await;
        let session = created.json();
        assert_eq!(session["revision"], 2);
        assert_eq!(session["state"], json!({"a": 2, "b": 0, "c": 1, "user:u": 1, "app:x": 2}));
        assert_eq!(session["lastUpdateTime"], 10);
        let events = session["events"].as_array().unwrap();
        let shown: Vec<_> = events.iter().map(|e| (e["id"].as_str(), e["sequence"].as_i64())).collect();
        assert_eq!(shown, [(Some("1"), Some(1)), (Some("2"), Some(2))]);
        assert_eq!(server.get(ONE).await.expect(200).text(), created.text());
    }

    async fn a_partial_event_at_creation_is_not_stored(server: &TestServer) {
        let created = server
            .create(r#"{"events":[{"partial":true,"actions":{"stateDelta":{"a":1}}},{"id":"e"}]}"#)
            .await;
        assert_eq!((&created.json()["revision"], &created.json()["state"]), (&json!(1), &json!({})));
    }

    async fn creation_with_one_bad_event_creates_nothing(server: &TestServer) {
        let bad = r#"{"sessionId":"s","state":{"app:a":1,"user:u":1},"events":[{"id":"a"},{"id":7}]}"#;
        server.post(S).json(bad).await.invalid(&["/events/1/id"]);
        let conflict =
            r#"{"sessionId":"s","state":{"app:a":1,"user:u":1},"events":[{"id":"a"},{"id":"a","author":"other"}]}"#;
        server.post(S).json(conflict).await.problem(409, "event_id_conflict");
        server.get(ONE).await.problem(404, "session_not_found");
        assert_eq!(server.get("/v1/apps/app/state").await.text(), "{}");
        assert_eq!(server.get("/v1/apps").await.json(), json!({"apps": []}));
    }

    async fn the_same_event_twice_at_creation_is_stored_once(server: &TestServer) {
        let created = server.create(r#"{"events":[{"id":"a","author":"x"},{"id":"a","author":"x"}]}"#).await;
        assert_eq!(created.json()["revision"], 1);
        assert_eq!(server.get(EVENTS).await.json()["events"].as_array().unwrap().len(), 1);
    }

    async fn creating_what_exists_is_409_and_leaves_it_alone(server: &TestServer) {
        let created = server.create(r#"{"state":{"k":1,"app:a":1},"displayName":"first"}"#).await;
        let again = r#"{"sessionId":"s","state":{"k":2,"app:a":2},"events":[{}],"displayName":"second"}"#;
        server.post(S).json(again).await.problem(409, "session_already_exists");
        assert_eq!(server.get(ONE).await.expect(200).text(), created.text());
        server.post("/v1/apps/app/users/other/sessions").json(r#"{"sessionId":"s"}"#).await.expect(201);
    }

    async fn put_creates_once_and_then_returns_the_session_untouched(server: &TestServer) {
        let created = server.put(ONE).json(r#"{"state":{"k":1,"app:a":1},"events":[{"id":"e"}]}"#).await.expect(201);
        assert!(created.header("location").is_some());
        assert_eq!((&created.json()["id"], &created.json()["revision"]), (&json!("s"), &json!(1)));
        let body = r#"{"state":{"k":2,"app:a":2},"events":[{"id":"f"}],"displayName":"x","ttl":1}"#;
        let found = server.put(ONE).json(body).await.expect(200);
        assert_eq!(found.text(), created.text());
        assert_eq!(found.etag(), created.etag());
        assert_eq!(server.put(ONE).await.expect(200).text(), created.text());
        assert_eq!(server.get(ONE).await.expect(200).text(), created.text());
    }

    async fn put_takes_no_session_id_in_its_body(server: &TestServer) {
        server.put(ONE).json(r#"{"sessionId":"s"}"#).await.invalid(&["sessionId"]);
        server.get(ONE).await.problem(404, "session_not_found");
    }

    async fn the_number_of_recent_events_and_the_time_narrow_a_read(server: &TestServer) {
        server.create("{}").await;
        let events: Vec<String> =
            [5, 1, 4, 2, 3].iter().map(|time| format!(r#"{{"id":"t{time}","timestamp":{time}}}"#)).collect();
        server.append(format!("[{}]", events.join(","))).await;
        for (query, expected) in [
            ("", "t5 t1 t4 t2 t3"),
            ("?numRecentEvents=0", ""),
            ("?numRecentEvents=2", "t2 t3"),
            ("?numRecentEvents=99", "t5 t1 t4 t2 t3"),
            ("?numRecentEvents=99999999999999999999999", "t5 t1 t4 t2 t3"),
            ("?num_recent_events=1", "t3"),
            ("?afterTimestamp=0", "t5 t1 t4 t2 t3"),
            ("?afterTimestamp=4", "t5 t4"),
            ("?afterTimestamp=4.0000001", "t5 t4"),
            ("?afterTimestamp=4.000001", "t5"),
            ("?afterTimestamp=-1", "t5 t1 t4 t2 t3"),
            ("?afterTimestamp=1970-01-01T00:00:04Z", "t5 t4"),
            ("?afterTimestamp=1970-01-01T02:00:04%2B02:00", "t5 t4"),
            ("?after_timestamp=6", ""),
            ("?numRecentEvents=2&afterTimestamp=3", "t3"),
            ("?numRecentEvents=0&afterTimestamp=0", ""),
        ] {
            let session = server.get(format!("{ONE}{query}")).await.expect(200).json();
            let ids: Vec<&str> =
                session["events"].as_array().unwrap().iter().map(|e| e["id"].as_str().unwrap()).collect();
            assert_eq!(ids.join(" "), expected, "{query}");
            assert_eq!((&session["revision"], &session["lastUpdateTime"]), (&json!(5), &json!(3)), "{query}");
        }
        for (query, field) in [
            ("numRecentEvents=-1", "numRecentEvents"),
            ("numRecentEvents=-99999999999999999999999", "numRecentEvents"),
            ("numRecentEvents=1.5", "numRecentEvents"),
            ("numRecentEvents=", "numRecentEvents"),
            ("afterTimestamp=x", "afterTimestamp"),
            ("afterTimestamp=", "afterTimestamp"),
            ("afterTimestamp=1763719000123", "afterTimestamp"),
            ("numRecentEvents=1&numRecentEvents=1", "numRecentEvents"),
        ] {
            server.get(format!("{ONE}?{query}")).await.invalid(&[field]);
        }
    }

    async fn zero_is_a_real_time_and_not_a_missing_one(server: &TestServer) {
        server.create(r#"{"events":[{"id":"before","timestamp":-1},{"id":"at","timestamp":0}]}"#).await;
        let session = server.get(format!("{ONE}?afterTimestamp=0")).await.expect(200).json();
        assert_eq!(session["events"].as_array().unwrap().len(), 1);
        assert_eq!(session["events"][0]["id"], "at");
        assert_eq!(session["lastUpdateTime"], 0);
    }

    async fn metadata_is_patched_without_a_new_revision(server: &TestServer) {
        server.create(r#"{"state":{"k":1},"events":[{"timestamp":7}],"displayName":"a","labels":{"x":"1"}}"#).await;
        let patched = server.patch(ONE).json(r#"{"displayName":"b"}"#).await.expect(200).json();
        assert_eq!((&patched["displayName"], &patched["labels"]), (&json!("b"), &json!({"x": "1"})));
        assert_eq!((&patched["revision"], &patched["lastUpdateTime"]), (&json!(1), &json!(7)));
        assert_eq!((&patched["state"], &patched["events"][0]["sequence"]), (&json!({"k": 1}), &json!(1)));
        let patched = server.patch(ONE).json(r#"{"labels":{"y":"2"}}"#).await.expect(200).json();
        assert_eq!((&patched["displayName"], &patched["labels"]), (&json!("b"), &json!({"y": "2"})));
        let patched = server.patch(ONE).json(r#"{"displayName":null,"labels":null}"#).await.expect(200).json();
        assert!(patched.get("displayName").is_none() && patched.get("labels").is_none());
        assert_eq!(server.get(ONE).await.expect(200).json(), patched);
    }

    async fn an_empty_patch_changes_nothing(server: &TestServer) {
        let created = server.create(r#"{"displayName":"a"}"#).await;
        let patched = server.patch(ONE).json("{}").await.expect(200);
        assert_eq!((patched.text(), patched.etag()), (created.text(), created.etag()));
    }

    async fn a_patch_of_metadata_takes_no_state_and_no_missing_session(server: &TestServer) {
        server.create("{}").await;
        for field in ["state", "events", "sessionId", "revision", "stateDelta"] {
            server.patch(ONE).json(format!(r#"{{"{field}":{{}}}}"#)).await.invalid(&[field]);
        }
        server.patch(ONE).await.problem(400, "invalid_json");
        server.patch(format!("{S}/none")).json("{}").await.problem(404, "session_not_found");
    }

    async fn labels_follow_their_rules(server: &TestServer) {
        let pairs = |count: usize| {
            let pairs: Vec<String> = (0..count).map(|n| format!(r#""l{n}":"""#)).collect();
            format!("{{{}}}", pairs.join(","))
        };
        let name = "abcdefghijklmnopqrstuvwxyz0123456789_.-abcdefghijklmnopqrstuvwxy";
        let longest = format!(r#"{{"{}":"{}"}}"#, &name[..63], "é".repeat(128));
        for good in ["{}", r#"{"a":"x y/Z\u00e9"}"#, &pairs(64), &longest, r#"{"_":"","-":"",".":"","0":""}"#] {
            let patched = server.put(ONE).await;
            assert!(patched.status < 300);
            let patched = server.patch(ONE).json(format!(r#"{{"labels":{good}}}"#)).await.expect(200);
            assert_eq!(patched.raw(&["labels"]), good);
        }
        let before = server.get(ONE).await.expect(200).text().to_owned();
        for bad in [
            "[]",
            "7",
            r#"{"A":"x"}"#,
            r#"{"":"x"}"#,
            r#"{"a b":"x"}"#,
            r#"{"é":"x"}"#,
            r#"{"a":1}"#,
            r#"{"a":null}"#,
            r#"{"a":["x"]}"#,
            &pairs(65),
            &format!(r#"{{"{}":""}}"#, "a".repeat(64)),
            &format!(r#"{{"a":"{}x"}}"#, "é".repeat(128)),
        ] {
            server.patch(ONE).json(format!(r#"{{"labels":{bad}}}"#)).await.invalid(&["labels"]);
            server.post(S).json(format!(r#"{{"labels":{bad}}}"#)).await.invalid(&["labels"]);
        }
        assert_eq!(server.get(ONE).await.expect(200).text(), before);
    }

    async fn a_display_name_is_any_string(server: &TestServer) {
        for name in [r#""""#, r#""日本 \u0000 \" /""#] {
            server.delete(ONE).await.expect(204);
            let created = server.create(&format!(r#"{{"displayName":{name}}}"#)).await;
            assert_eq!(created.raw(&["displayName"]), name);
        }
        server.patch(ONE).json(r#"{"displayName":7}"#).await.invalid(&["displayName"]);
    }

    async fn delete_takes_events_and_session_state_and_leaves_shared_state(server: &TestServer) {
        server.create(r#"{"state":{"k":1,"user:u":1,"app:a":1},"events":[{"id":"e"}]}"#).await;
        let deleted = server.delete(ONE).await.expect(204);
        assert_eq!(deleted.text(), "");
        for path in [ONE, EVENTS, STATE, &format!("{EVENTS}/e"), &format!("{STATE}/k"), &format!("{STATE}/app:a")] {
            server.get(path).await.problem(404, "session_not_found");
        }
        server.post(EVENTS).json("{}").await.problem(404, "session_not_found");
        assert_eq!(server.get("/v1/apps/app/state").await.text(), r#"{"a":1}"#);
        assert_eq!(server.get("/v1/apps/app/users/user/state").await.text(), r#"{"u":1}"#);
        assert_eq!(server.get(S).await.json(), json!({"sessions": []}));
        let again = server.create("{}").await.json();
        assert_eq!(again["state"], json!({"app:a": 1, "user:u": 1}));
        assert_eq!((&again["revision"], &again["events"]), (&json!(0), &json!([])));
        server.get(format!("{EVENTS}/e")).await.problem(404, "event_not_found");
    }

    async fn deleting_what_is_not_there_is_fine(server: &TestServer) {
        server.delete(ONE).await.expect(204);
        server.create("{}").await;
        server.delete(ONE).await.expect(204);
        server.delete(ONE).await.expect(204);
    }

    async fn create_time_is_the_servers_and_stays(server: &TestServer) {
        let created = server.create(r#"{"events":[{"timestamp":5}]}"#).await;
        let time = created.raw(&["createTime"]);
        assert!(created.json()["createTime"].as_f64().unwrap() > 1.7e9);
        let (_, decimals) = time.split_once('.').expect("microseconds");
        assert_eq!(decimals.len(), 6);
        server.append(r#"{"timestamp":99}"#).await;
        assert_eq!(server.get(ONE).await.raw(&["createTime"]), time);
    }

    async fn what_exists_is_listed_by_app_and_by_user_in_byte_order(server: &TestServer) {
        assert_eq!(server.get("/v1/apps").await.expect(200).json(), json!({"apps": []}));
        assert_eq!(server.get("/v1/apps/none/users").await.expect(200).json(), json!({"users": []}));
        for (app, user) in [("b", "x"), ("a", "é"), ("a", "z"), ("B", "x"), ("a/ b", "x"), ("é", "x"), ("a", "Z")] {
            let path = format!("/v1/apps/{}/users/{}/sessions", segment(app), segment(user));
            server.post(&path).await.expect(201);
            server.post(&path).await.expect(201);
        }
        server.patch("/v1/apps/state-only/state").json(r#"{"stateDelta":{"k":1}}"#).await.expect(200);
        server.patch("/v1/apps/user-only/users/u/state").json(r#"{"stateDelta":{"k":1}}"#).await.expect(200);
        let apps = server.get("/v1/apps").await.expect(200).json();
        let names: Vec<&str> =
            apps["apps"].as_array().unwrap().iter().map(|app| app["appName"].as_str().unwrap()).collect();
        assert_eq!(names, ["B", "a", "a/ b", "b", "state-only", "user-only", "é"]);
        let users = server.get("/v1/apps/a/users").await.expect(200).json();
        assert_eq!(users, json!({"users": [{"userId": "Z"}, {"userId": "z"}, {"userId": "é"}]}));
        assert_eq!(server.get("/v1/apps/user-only/users").await.json(), json!({"users": [{"userId": "u"}]}));
    }

    async fn an_app_without_anything_left_is_not_listed(server: &TestServer) {
        server.create("{}").await;
        server.delete(ONE).await.expect(204);
        assert_eq!(server.get("/v1/apps").await.json(), json!({"apps": []}));
        assert_eq!(server.get("/v1/apps/app/users").await.json(), json!({"users": []}));
    }
}
