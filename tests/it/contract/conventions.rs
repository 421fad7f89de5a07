//! Conventions: names, spellings, times, ids, request ids, content types, methods.

use serde_json::{Value, json};

use crate::support::client::{APP_STATE, Answer, EVENTS, ONE, S, STATE, USER_STATE, segment};
use crate::support::databases::on_both_databases;
use crate::support::server::TestServer;

on_both_databases! {
    async fn a_problem_names_the_trace_of_its_request(server: &TestServer) {
        let trace = "4bf92f3577b34da6a3ce929d0e0e4736";
        let named = |answer: &Answer| answer.problem(404, "session_not_found")["traceId"].clone();
        assert_eq!(named(&server.get(ONE).await), Value::Null);
        for (parent, expected) in [
            (format!("00-{trace}-00f067aa0ba902b7-01"), json!(trace)),
            (format!("00-{trace}-00f067aa0ba902b7-00"), json!(trace)),
            (format!("00-{trace}-0000000000000000-01"), Value::Null),
            ("nothing".to_owned(), Value::Null),
        ] {
            assert_eq!(named(&server.get(ONE).header("traceparent", parent).await), expected);
        }
    }

    async fn bodies_are_read_in_camel_case_and_in_snake_case(server: &TestServer) {
        for (n, body) in [
            r#"{"sessionId":"ID","displayName":"d","expireTime":9999999999,"state":{"a":1}}"#,
            r#"{"session_id":"ID","display_name":"d","expire_time":9999999999,"state":{"a":1}}"#,
        ]
        .iter()
        .enumerate()
        {
            let id = format!("s{n}");
            let session = server.post(S).json(body.replace("ID", &id)).await.expect(201).json();
            assert_eq!((&session["id"], &session["displayName"]), (&json!(id), &json!("d")));
            assert!(session["expireTime"].is_f64());
            assert!(session.as_object().unwrap().keys().all(|name| !name.contains('_')));
        }
    }

    async fn both_spellings_at_once_are_refused(server: &TestServer) {
        server.create("{}").await;
        server.post(S).json(r#"{"sessionId":"a","session_id":"a"}"#).await.invalid(&["sessionId"]);
        server.post(S).json(r#"{"session_id":null,"sessionId":"a"}"#).await.invalid(&["sessionId"]);
        server.patch(ONE).json(r#"{"displayName":"a","display_name":"a"}"#).await.invalid(&["displayName"]);
        server.patch(STATE).json(r#"{"eventId":"a","event_id":"a"}"#).await.invalid(&["eventId"]);
        server.get(format!("{EVENTS}?pageSize=1&page_size=1")).await.invalid(&["page_size"]);
    }

    async fn null_for_an_optional_field_means_absent(server: &TestServer) {
        let body = r#"{"sessionId":null,"state":null,"events":null,"displayName":null,"labels":null,"ttl":null,"expireTime":null}"#;
        let session = server.post(S).json(body).await.expect(201).json();
        assert_eq!((&session["state"], &session["events"]), (&json!({}), &json!([])));
        assert!(session.get("labels").is_none() && session.get("expireTime").is_none());
        let event = r#"{"sessionId":"s","events":[{"id":null,"timestamp":null,"author":null,"invocationId":null,"actions":null,"partial":null,"branch":null}]}"#;
        let created = server.post(S).json(event).await.expect(201);
        assert_eq!(created.json()["revision"], 1);
        let shown = created.json()["events"][0].take();
        let names: Vec<&str> = shown.as_object().unwrap().keys().map(String::as_str).collect();
        assert_eq!(names, ["id", "timestamp", "sequence", "commitTime"]);
    }

    async fn an_unknown_field_of_an_envelope_is_refused_by_its_name(server: &TestServer) {
        server.create("{}").await;
        for name in ["bogus", "my_field", "sessionid", "SessionId", "session-id", "id", "session__id", "sessionId_", ""] {
            let body = json!({ name: 1 }).to_string();
            server.post(S).json(body.as_str()).await.invalid(&[name]);
            server.put(format!("{S}/new")).json(body.as_str()).await.invalid(&[name]);
            server.patch(ONE).json(body.as_str()).await.invalid(&[name]);
            server.patch(STATE).json(body.as_str()).await.invalid(&[name]);
            server.patch(APP_STATE).json(body.as_str()).await.invalid(&[name]);
            server.patch(USER_STATE).json(body.as_str()).await.invalid(&[name]);
        }
        let all = server.post(S).json(r#"{"x":1,"sessionId":7,"labels":7,"y":2}"#).await;
        all.invalid(&["sessionId", "labels", "x", "y"]);
    }

    async fn every_unknown_query_parameter_is_refused_by_its_name(server: &TestServer) {
        server.create("{}").await;
        let key = format!("{STATE}/k");
        for (method, path) in [
            ("GET", "/v1/apps"),
            ("GET", "/v1/apps/app/users"),
            ("GET", "/v1/apps/app/sessions"),
            ("GET", APP_STATE),
            ("PATCH", APP_STATE),
            ("GET", USER_STATE),
            ("PATCH", USER_STATE),
            ("GET", S),
            ("POST", S),
            ("GET", ONE),
            ("PUT", ONE),
            ("PATCH", ONE),
            ("DELETE", ONE),
            ("GET", EVENTS),
            ("POST", EVENTS),
            ("GET", "/v1/apps/app/users/user/sessions/s/events/e"),
            ("GET", STATE),
            ("PATCH", STATE),
            ("GET", &key),
            ("PUT", &key),
            ("DELETE", &key),
            ("GET", "/openapi.yaml"),
            ("GET", "/openapi-adk.yaml"),
            ("GET", "/docs"),
        ] {
            let method = method.parse().expect("a method");
            server.request(method, &format!("{path}?bogus=1")).json("{}").await.invalid(&["bogus"]);
        }
        server.get(format!("{S}?a=1&b=2")).await.invalid(&["a", "b"]);
        server.get(format!("{S}?page_Size=1")).await.invalid(&["page_Size"]);
        server.get(format!("{S}?pageSize=%zz")).await.expect(422);
        assert_eq!(server.get(ONE).await.json()["revision"], 0);
    }

    async fn times_go_in_as_numbers_or_as_rfc_3339(server: &TestServer) {
        server.create("{}").await;
        for (given, shown) in [
            ("1763719000", "1763719000"),
            ("1763719000.123456", "1763719000.123456"),
            ("1763719000.1234567891", "1763719000.1234567891"),
            ("17.63719E8", "17.63719E8"),
            ("-62135596800", "-62135596800"),
            ("253402300799.999999", "253402300799.999999"),
            ("0", "0"),
            ("-0.0", "-0.0"),
            (r#""2025-11-21T09:56:40Z""#, "1763719000.000000"),
            (r#""2025-11-21T09:56:40.1234567Z""#, "1763719000.123456"),
            (r#""2025-11-21T11:56:40.5+02:00""#, "1763719000.500000"),
            (r#""1969-12-31T23:59:58.75Z""#, "-1.250000"),
            (r#""0001-01-01T00:00:00Z""#, "-62135596800.000000"),
            (r#""9999-12-31T23:59:59.999999Z""#, "253402300799.999999"),
        ] {
            let event = server.append(format!(r#"{{"timestamp":{given}}}"#)).await;
            assert_eq!(event.raw(&["timestamp"]), shown, "{given}");
            assert_eq!(server.get(ONE).await.raw(&["lastUpdateTime"]), shown, "{given}");
        }
    }

    async fn what_is_no_time_or_beyond_the_year_9999_is_refused(server: &TestServer) {
        server.create("{}").await;
        for bad in [
            "1763719000123",
            "253402300800",
            "1e18",
            "1e300",
            "-62135596801",
            "true",
            "{}",
            "[]",
            r#""""#,
            r#""now""#,
            r#""1763719000""#,
            r#""2025-11-21""#,
            r#""2025-11-21T09:56:40""#,
            r#""2025-13-01T00:00:00Z""#,
            r#""10000-01-01T00:00:00Z""#,
        ] {
            server.post(EVENTS).json(format!(r#"{{"timestamp":{bad}}}"#)).await.invalid(&["/timestamp"]);
            server.post(S).json(format!(r#"{{"events":[{{"timestamp":{bad}}}]}}"#)).await.invalid(&["/events/0/timestamp"]);
            server.post(S).json(format!(r#"{{"expireTime":{bad}}}"#)).await.invalid(&["expireTime"]);
            server.patch(ONE).json(format!(r#"{{"expireTime":{bad}}}"#)).await.invalid(&["expireTime"]);
        }
    }

    async fn an_id_is_any_text_of_up_to_256_bytes(server: &TestServer) {
        let longest = "é".repeat(128);
        for id in ["a/b", "a b", "日本語", "%2F", "%", "+", "a?b#c&d=e", "...", ".a", "😀", "e\u{301}", "é", "É", "*", "\\", "'\";--", &longest] {
            let id = segment(id);
            let path = format!("/v1/apps/{id}/users/{id}/sessions/{id}");
            server.put(&path).await.expect(201);
            server.put(&path).await.expect(200);
            server.put(format!("{path}/state/k")).json("1").await.expect(200);
            let session = server.get(&path).await.expect(200);
            assert_eq!(session.json()["id"], session.json()["appName"]);
            server.post(format!("{path}/events")).header("idempotency-key", "x").json("{}").await.expect(201);
            let stored = server.post(format!("{path}/events")).json(json!({"id": session.json()["id"]}).to_string()).await;
            assert_eq!(server.get(format!("{path}/events/{id}")).await.expect(200).text(), stored.expect(201).text());
        }
    }

    async fn ids_are_compared_bytewise(server: &TestServer) {
        for (n, id) in ["a", "A", "é", "e\u{301}", "a%20"].iter().enumerate() {
            let id = if n == 4 { (*id).to_owned() } else { segment(id) };
            server.put(format!("/v1/apps/{id}/users/u/sessions/s")).await.expect(201);
            server.put(format!("/v1/apps/x/users/{id}/sessions/s")).await.expect(201);
        }
        for id in ["b", "B", "é", "e\u{301}"] {
            server.put(format!("{S}/{}", segment(id))).await.expect(201);
        }
        let percent = segment("%61");
        server.put(format!("{S}/{percent}")).await.expect(201);
        server.get(format!("{S}/a")).await.expect(404);
        assert_eq!(server.get(format!("{S}/{percent}")).await.expect(200).json()["id"], "%61");
    }

    async fn an_id_that_breaks_the_rules_is_refused_by_its_name(server: &TestServer) {
        server.create("{}").await;
        let long = "x".repeat(257);
        let wide = segment(&"é".repeat(129));
        for bad in ["%00", "a%0Ab", "%7F", "%C2%85", &long, &wide] {
            server.get(format!("/v1/apps/{bad}/users")).await.invalid(&["appName"]);
            server.get(format!("/v1/apps/{bad}/state")).await.invalid(&["appName"]);
            server.get(format!("/v1/apps/app/users/{bad}/sessions")).await.invalid(&["userId"]);
            server.post(format!("/v1/apps/app/users/{bad}/sessions")).await.invalid(&["userId"]);
            server.get(format!("{EVENTS}/{bad}")).await.invalid(&["id"]);
        }
        for bad in ["a%00b", "a%0Ab", "%7F", &long, &wide] {
            server.get(format!("{S}/{bad}")).await.invalid(&["sessionId"]);
            server.put(format!("{S}/{bad}")).await.invalid(&["sessionId"]);
            server.delete(format!("{S}/{bad}")).await.invalid(&["sessionId"]);
        }
        for bad in [".", "..", "a\\u0000", "a\\nb", &long, &"é".repeat(129)] {
            server.post(S).json(format!(r#"{{"sessionId":"{bad}"}}"#)).await.invalid(&["sessionId"]);
            server.post(EVENTS).json(format!(r#"{{"id":"{bad}"}}"#)).await.invalid(&["/id"]);
        }
    }

    async fn a_dot_segment_is_an_id_that_is_refused_and_never_a_way_up(server: &TestServer) {
        for dots in [".", "..", "%2E", "%2e%2E", ".%2E", "%20..%20"] {
            let answer = server.raw_path("GET", &format!("{S}/{dots}")).await;
            answer.invalid(&["sessionId"]);
            if !dots.contains("%20") {
                server.raw_path("GET", &format!("/v1/apps/{dots}/users")).await.invalid(&["appName"]);
                server.raw_path("GET", &format!("/v1/apps/app/users/{dots}/sessions")).await.invalid(&["userId"]);
            }
        }
    }

    async fn a_bad_escape_or_an_empty_segment_is_refused(server: &TestServer) {
        for path in [
            "/v1/apps/%/users",
            "/v1/apps/%2/users",
            "/v1/apps/%zz/users",
            "/v1/apps/%ff/users",
            "/v1/apps/%C3/users",
            "/v1/apps/%ED%A0%80/users",
            "/v1/apps//users",
            "/v1/apps/app/users//sessions",
            "/v1/apps/app/users/user/sessions/",
            "/v1/apps/app/users/user/sessions//events",
            "/v1/apps/app/users/user/sessions/s/state/",
            "/v1/apps/",
        ] {
            for method in ["GET", "DELETE"] {
                server.raw_path(method, path).await.invalid(&["path"]);
            }
        }
    }

    async fn every_answer_names_its_request(server: &TestServer) {
        server.create("{}").await;
        for id in ["a", "req-1_./:{}", &"x".repeat(128)] {
            for answer in [
                server.get(ONE).header("x-request-id", id).await.expect(200),
                server.get("/nothing").header("x-request-id", id).await.expect(404),
                server.put(APP_STATE).header("x-request-id", id).await.expect(405),
                server.delete(format!("{S}/none")).header("x-request-id", id).await.expect(204),
                server.get(ONE).header("if-none-match", "*").header("x-request-id", id).await.expect(304),
            ] {
                assert_eq!(answer.header("x-request-id"), Some(id));
                if answer.status >= 400 {
                    assert_eq!(answer.json()["requestId"], id);
                }
            }
        }
        let mut seen = std::collections::BTreeSet::new();
        for id in ["", " ", "a b", "é", &"x".repeat(129), "a\tb"] {
            let answer = server.get(ONE).header("x-request-id", id).await.expect(200);
            let fresh = answer.header("x-request-id").expect("an id").to_owned();
            assert_ne!(fresh, id);
            assert!(seen.insert(fresh));
        }
    }

    async fn a_body_of_another_type_is_415(server: &TestServer) {
        server.create("{}").await;
        for content_type in [
            "text/plain",
            "application/x-www-form-urlencoded",
            "multipart/form-data; boundary=x",
            "application/jsonp",
            "application/xml",
            "application/json; charset=iso-8859-1",
            "text/plain, application/json",
        ] {
            for request in
                [server.post(S), server.put(ONE), server.patch(ONE), server.post(EVENTS), server.patch(STATE), server.patch(APP_STATE), server.put(format!("{STATE}/k"))]
            {
                request.body(content_type, "{}").await.problem(415, "unsupported_media_type");
            }
        }
        for request in [server.post(S), server.post(EVENTS), server.patch(STATE)] {
            request.body_without_type("{}").await.problem(415, "unsupported_media_type");
        }
        let hint = server.post(EVENTS).body("application/x-www-form-urlencoded", "{}").await;
        assert!(hint.json()["detail"].as_str().unwrap().contains("--json"));
        for content_type in ["application/json", "APPLICATION/JSON", "application/json;charset=UTF-8", "application/json; charset=\"utf-8\""] {
            server.post(EVENTS).body(content_type, "{}").await.expect(201);
        }
    }

    async fn a_missing_body_is_400_where_one_is_needed(server: &TestServer) {
        server.create("{}").await;
        let key = format!("{STATE}/k");
        for request in
            [server.patch(ONE), server.post(EVENTS), server.patch(STATE), server.put(&key), server.patch(APP_STATE), server.patch(USER_STATE)]
        {
            let problem = request.await.problem(400, "invalid_json");
            assert_eq!(problem["outcome"], "not_applied");
        }
        server.post(EVENTS).body("application/json", "").await.problem(400, "invalid_json");
    }

    async fn unknown_paths_are_404_with_every_method(server: &TestServer) {
        for path in ["/v1", "/v2/apps", "/v1/bogus", "/v1/apps/app", "/v1/apps/app/users/user", "/V1/apps", "/healthz/x", "/v1/apps/a/users/u/sessions/s/events/e/x", "//v1/apps"] {
            for method in ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"] {
                server.request(method.parse().unwrap(), path).await.problem(404, "not_found");
            }
            server.head(path).await.expect(404);
        }
    }

    async fn another_method_on_a_known_path_is_405_and_allow_lists_the_right_ones(server: &TestServer) {
        let event = format!("{EVENTS}/e");
        let key = format!("{STATE}/k");
        for (path, allowed) in [
            ("/v1/apps", "GET HEAD"),
            ("/v1/apps/app/users", "GET HEAD"),
            ("/v1/apps/app/sessions", "GET HEAD"),
            (APP_STATE, "GET HEAD PATCH"),
            (USER_STATE, "GET HEAD PATCH"),
            (S, "GET HEAD POST"),
            (ONE, "DELETE GET HEAD PATCH PUT"),
            (EVENTS, "GET HEAD POST"),
            (&event, "GET HEAD"),
            (STATE, "GET HEAD PATCH"),
            (&key, "DELETE GET HEAD PUT"),
            ("/healthz", "GET HEAD OPTIONS"),
            ("/readyz", "GET HEAD OPTIONS"),
            ("/openapi.yaml", "GET HEAD"),
            ("/openapi-adk.yaml", "GET HEAD"),
            ("/docs", "GET HEAD"),
            ("/v1/info", "GET HEAD"),
            ("/", "GET HEAD"),
            ("/console/", "GET HEAD"),
        ] {
            for method in ["GET", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "PROPFIND"] {
                if allowed.split(' ').any(|known| known == method) {
                    continue;
                }
                let answer = server.request(method.parse().unwrap(), path).await;
                answer.problem(405, "method_not_allowed");
                let mut allow: Vec<&str> = answer.header("allow").unwrap().split(',').map(str::trim).collect();
                allow.sort_unstable();
                assert_eq!(allow.join(" "), allowed, "{method} {path}");
            }
        }
    }

    async fn head_works_where_get_does(server: &TestServer) {
        server.create(r#"{"state":{"k":1},"events":[{"id":"e"}]}"#).await;
        let (event, key) = (format!("{EVENTS}/e"), format!("{STATE}/k"));
        for path in ["/v1/apps", "/v1/apps/app/users", "/v1/apps/app/sessions", APP_STATE, USER_STATE, S, ONE, EVENTS, &event, STATE, &key, "/healthz", "/readyz", "/openapi.yaml", "/openapi-adk.yaml", "/docs"] {
            let get = server.get(path).await.expect(200);
            let head = server.head(path).await.expect(200);
            for header in ["content-type", "etag", "content-length"] {
                assert_eq!(head.header(header), get.header(header), "{header} of {path}");
            }
        }
        server.head(format!("{S}/none")).await.expect(404);
        server.head(format!("{S}?bogus=1")).await.expect(422);
    }

    async fn the_service_tells_that_it_lives_and_is_ready(server: &TestServer) {
        assert_eq!(server.get("/healthz").await.expect(200).json(), json!({"status": "ok"}));
        assert_eq!(server.get("/readyz").await.expect(200).json(), json!({"status": "ready"}));
        assert!(server.get("/openapi.yaml").await.expect(200).header("content-type").unwrap().contains("yaml"));
        let docs = server.get("/docs").await.expect(200);
        assert!(docs.header("content-type").unwrap().starts_with("text/html"));
        for outside in ["src=\"http", "href=\"//", "src=\"//", "@import", "url(http"] {
            assert!(!docs.text().contains(outside), "{outside}");
        }
    }
}
