//! Paging: sizes, opaque tokens bound to their query, rows that arrive meanwhile.

use std::collections::BTreeSet;

use crate::support::client::{Client, EVENTS, ONE, S, segment};
use crate::support::databases::on_both_databases;
use crate::support::server::TestServer;

const OF_APP: &str = "/v1/apps/app/sessions";

/// One row as text: an event's or a session's id, or a name.
fn row(value: &serde_json::Value) -> String {
    let text = |name: &str| value[name].as_str().unwrap_or_default();
    match value.get("id") {
        Some(_) => format!("{}/{}", text("userId"), text("id")),
        None => format!("{}{}", text("appName"), text("userId")),
    }
}

/// A page: its rows and the token of the next one.
async fn page(server: &Client, path: &str, token: Option<&str>) -> (Vec<String>, Option<String>) {
    let joint = if path.contains('?') { '&' } else { '?' };
    let answer = match token {
        Some(token) => server.get(format!("{path}{joint}pageToken={token}")),
        None => server.get(path),
    };
    let body = answer.await.expect(200).json();
    let rows = body.as_object().unwrap().values().find_map(|value| value.as_array()).expect("rows");
    (rows.iter().map(row).collect(), body["nextPageToken"].as_str().map(str::to_owned))
}

/// All rows, page by page, and the sizes of the pages.
async fn pages(server: &Client, path: &str) -> (Vec<String>, Vec<usize>) {
    let (mut all, mut sizes, mut token) = (Vec::new(), Vec::new(), None);
    loop {
        let (rows, next) = page(server, path, token.as_deref()).await;
        sizes.push(rows.len());
        all.extend(rows);
        token = next;
        if token.is_none() {
            return (all, sizes);
        }
        assert!(sizes.len() < 100, "paging does not end");
    }
}

async fn append_events(server: &Client, count: usize) {
    let events: Vec<String> = (1..=count)
        .map(|n| {
            format!(r#"{{"id":"{n}","timestamp":{},"author":"{}"}}"#, 100 - n, if n % 2 == 0 { "even" } else { "odd" })
        })
        .collect();
    server.append(format!("[{}]", events.join(","))).await;
}

on_both_databases! {
    async fn a_page_has_100_rows_unless_told_otherwise(server: &TestServer) {
        server.create("{}").await;
        server.append(format!("[{}]", vec!["{}"; 150].join(","))).await;
        assert_eq!(pages(server, EVENTS).await.1, [100, 50]);
        assert_eq!(pages(server, &format!("{EVENTS}?pageSize=1000")).await.1, [150]);
        assert_eq!(pages(server, &format!("{EVENTS}?pageSize=75")).await.1, [75, 75]);
        assert_eq!(pages(server, &format!("{EVENTS}?page_size=149")).await.1, [149, 1]);
        for path in [EVENTS, S, OF_APP, "/v1/apps", "/v1/apps/app/users"] {
            for bad in ["0", "-1", "1001", "99999999999999999999", "x", "", "1.0"] {
                server.get(format!("{path}?pageSize={bad}")).await.invalid(&["pageSize"]);
            }
            server.get(format!("{path}?pageSize=1000")).await.expect(200);
            server.get(format!("{path}?pageSize=1")).await.expect(200);
        }
    }

    async fn pages_put_together_are_the_whole_in_every_order(server: &TestServer) {
        server.create("{}").await;
        append_events(server, 23).await;
        for user in ["a", "b", "é"] {
            for id in ["x", "X", "é", "1", "2"] {
                let body = format!(r#"{{"sessionId":"{id}","labels":{{"l":"v"}},"events":[{{"timestamp":{}}}]}}"#, id.len());
                server.post(format!("/v1/apps/app/users/{}/sessions", segment(user))).json(body).await.expect(201);
            }
        }
        for app in ["x", "y", "é", "Z"] {
            server.post(format!("/v1/apps/{}/users/u/sessions", segment(app))).await.expect(201);
        }
        let events = |query: &str| format!("{EVENTS}?{query}");
        let list = |query: &str| format!("{OF_APP}?{query}");
        for path in [
            events("order=asc"),
            events("order=desc"),
            events("author=even"),
            events("author=odd&order=desc&afterTimestamp=80"),
            events("afterSequence=3&beforeSequence=20"),
            list("order=asc"),
            list("order=desc"),
            list("orderBy=createTime"),
            list("orderBy=createTime&order=desc"),
            list("label.l=v&includeState=true"),
            "/v1/apps/app/users/a/sessions?order=desc".to_owned(),
            "/v1/apps?".to_owned(),
            "/v1/apps/app/users?".to_owned(),
        ] {
            let (whole, sizes) = pages(server, &path).await;
            assert_eq!(sizes.len(), 1);
            assert_eq!(whole.iter().collect::<BTreeSet<_>>().len(), whole.len());
            assert!(whole.len() >= 4, "{path}");
            for size in [1, 2, 3, whole.len() - 1, whole.len(), whole.len() + 1] {
                let (rows, sizes) = pages(server, &format!("{path}&pageSize={size}")).await;
                assert_eq!(rows, whole, "{path} by {size}");
                // No empty page at the end.
                assert_eq!(sizes.len(), whole.len().div_ceil(size), "{path} by {size}");
            }
        }
    }

    async fn a_token_belongs_to_its_query(server: &TestServer) {
        server.create(r#"{"labels":{"l":"v"}}"#).await;
        server.create(r#"{"sessionId":"t","labels":{"l":"v"},"events":[{},{},{}]}"#).await;
        server.put("/v1/apps/app/users/other/sessions/s").await.expect(201);
        server.put("/v1/apps/other/users/user/sessions/s").await.expect(201);
        append_events(server, 5).await;
        let token = |path: String| async move { page(server, &path, None).await.1.expect("another page") };
        let events = token(format!("{EVENTS}?pageSize=1")).await;
        for other in [
            "order=desc",
            "author=odd",
            "afterSequence=1",
            "beforeSequence=9",
            "afterTimestamp=1",
            "invocationId=i",
            "branch=b",
        ] {
            server.get(format!("{EVENTS}?pageSize=1&{other}&pageToken={events}")).await.invalid(&["pageToken"]);
        }
        server.get(format!("{S}/t/events?pageToken={events}")).await.invalid(&["pageToken"]);
        let sessions = token(format!("{S}?pageSize=1")).await;
        for other in ["order=desc", "orderBy=createTime", "label.l=v"] {
            server.get(format!("{S}?{other}&pageToken={sessions}")).await.invalid(&["pageToken"]);
        }
        for path in [OF_APP, "/v1/apps/app/users/other/sessions", "/v1/apps/other/users/user/sessions", EVENTS, "/v1/apps", "/v1/apps/app/users"] {
            server.get(format!("{path}?pageToken={sessions}")).await.invalid(&["pageToken"]);
        }
        let (apps, users) = (token("/v1/apps?pageSize=1".to_owned()).await, token("/v1/apps/app/users?pageSize=1".to_owned()).await);
        server.get(format!("/v1/apps?pageToken={users}")).await.invalid(&["pageToken"]);
        server.get(format!("/v1/apps/app/users?pageToken={apps}")).await.invalid(&["pageToken"]);
        server.get(format!("/v1/apps/other/users?pageToken={users}")).await.invalid(&["pageToken"]);
        for path in [EVENTS, S, OF_APP, "/v1/apps", "/v1/apps/app/users"] {
            for forged in ["", "x", "0", "00", "%00", "é", "zzzz", &events[..events.len() - 2], &format!("{events}00")] {
                let forged = segment(forged);
                server.get(format!("{path}?pageToken={forged}")).await.invalid(&["pageToken"]);
            }
        }
        // The size of the page, and how parameters are spelled, are not what the token is bound to.
        server.get(format!("{EVENTS}?page_size=2&page_token={events}")).await.expect(200);
        server.get(format!("{S}?includeState=true&pageToken={sessions}")).await.expect(200);
    }

    async fn a_token_of_an_earlier_incarnation_is_refused(server: &TestServer) {
        server.create("{}").await;
        append_events(server, 3).await;
        let path = format!("{EVENTS}?pageSize=1");
        let token = page(server, &path, None).await.1.expect("another page");
        server.delete(ONE).await.expect(204);
        server.get(format!("{path}&pageToken={token}")).await.problem(404, "session_not_found");
        server.create("{}").await;
        append_events(server, 3).await;
        server.get(format!("{path}&pageToken={token}")).await.invalid(&["pageToken"]);
    }

    async fn rows_that_arrive_meanwhile_shift_nothing(server: &TestServer) {
        server.create("{}").await;
        append_events(server, 4).await;
        let ascending = format!("{EVENTS}?pageSize=2");
        let descending = format!("{EVENTS}?pageSize=2&order=desc");
        let up = page(server, &ascending, None).await;
        let down = page(server, &descending, None).await;
        server.append(r#"{"id":"late"}"#).await;
        assert_eq!(page(server, &ascending, up.1.as_deref()).await.0, ["/3", "/4"]);
        assert_eq!(page(server, &descending, down.1.as_deref()).await.0, ["/2", "/1"]);
        let users = |id: &str, time: i64| {
            let body = format!(r#"{{"sessionId":"{id}","events":[{{"timestamp":{time}}}]}}"#);
            server.post("/v1/apps/lists/users/u/sessions").json(body)
        };
        for (id, time) in [("a", 10), ("b", 20), ("c", 20), ("d", 30)] {
            users(id, time).await.expect(201);
        }
        let path = "/v1/apps/lists/sessions?pageSize=2";
        let (first, token) = page(server, path, None).await;
        assert_eq!(first, ["u/a", "u/b"]);
        // One before the page's end, one after it, and one that is gone.
        for (id, time) in [("early", 1), ("bb", 20)] {
            users(id, time).await.expect(201);
        }
        server.delete("/v1/apps/lists/users/u/sessions/b").await.expect(204);
        assert_eq!(page(server, path, token.as_deref()).await.0, ["u/bb", "u/c"]);
    }

    async fn a_page_ends_before_it_grows_too_large_but_has_a_row_at_least(server: &TestServer)
        with ["--max-page-bytes=3000"]
    {
        server.create("{}").await;
        let filler = |bytes: usize| "x".repeat(bytes);
        for (id, bytes) in [("1", 1000), ("2", 1000), ("3", 1000), ("4", 1000), ("5", 9000), ("6", 100)] {
            server.append(format!(r#"{{"id":"{id}","x":"{}"}}"#, filler(bytes))).await;
        }
        for order in ["asc", "desc"] {
            let path = format!("{EVENTS}?order={order}");
            let (rows, sizes) = pages(server, &path).await;
            assert_eq!(rows.len(), 6);
            assert!(sizes.len() >= 3 && sizes.iter().all(|size| (1..=4).contains(size)), "{sizes:?}");
        }
        // A session in full is no page.
        assert_eq!(server.get(ONE).await.expect(200).json()["events"].as_array().unwrap().len(), 6);
        for id in ["a", "b", "c", "d"] {
            let body = format!(r#"{{"sessionId":"{id}","state":{{"k":"{}"}}}}"#, filler(1500));
            server.post("/v1/apps/lists/users/u/sessions").json(body).await.expect(201);
        }
        let (rows, sizes) = pages(server, "/v1/apps/lists/sessions?includeState=true").await;
        assert_eq!(rows, ["u/a", "u/b", "u/c", "u/d"]);
        assert!(sizes.len() >= 2, "{sizes:?}");
        assert_eq!(pages(server, "/v1/apps/lists/sessions").await.1, [4]);
    }

    async fn the_largest_page_is_a_setting(server: &TestServer) with ["--max-page-rows=2"] {
        server.create("{}").await;
        append_events(server, 3).await;
        assert_eq!(pages(server, EVENTS).await.1, [2, 1]);
        server.get(format!("{EVENTS}?pageSize=3")).await.invalid(&["pageSize"]);
    }

    async fn a_token_that_was_made_up_is_refused(server: &TestServer) {
        server.create("{}").await;
        // Checksum and position as a client could compute them; the position is a name with U+0000.
        for token in ["51416eb331f2f5a022615c753030303022", "00", "zz", ""] {
            server.get(format!("/v1/apps?pageToken={token}")).await.invalid(&["pageToken"]);
        }
        let known = server.get(EVENTS).header("if-none-match", "*");
        known.await.expect(304);
        server.get(format!("{EVENTS}?pageToken=zz")).header("if-none-match", "*").await.invalid(&["pageToken"]);
    }

    async fn an_empty_filter_is_another_query_than_none(server: &TestServer) {
        server.create("{}").await;
        append_events(server, 3).await;
        let filtered = server.get(format!("{EVENTS}?invocationId=&pageSize=1")).await.expect(200).json();
        let token = filtered["nextPageToken"].as_str().expect("a second page").to_owned();
        server.get(format!("{EVENTS}?pageToken={token}")).await.invalid(&["pageToken"]);
        server.get(format!("{EVENTS}?invocationId=&order=asc&pageToken={token}")).await.expect(200);
    }

    async fn sessions_of_equal_times_are_paged_by_id(server: &TestServer) {
        for n in 0..5 {
            let body = format!(r#"{{"sessionId":"s{n}","events":[{{"timestamp":0}}]}}"#);
            server.post("/v1/apps/lists/users/u/sessions").json(body).await.expect(201);
        }
        for (order, expected) in [("asc", ["u/s0", "u/s1", "u/s2", "u/s3", "u/s4"]), ("desc", ["u/s4", "u/s3", "u/s2", "u/s1", "u/s0"])] {
            for path in ["/v1/apps/lists/users/u/sessions", "/v1/apps/lists/sessions"] {
                assert_eq!(pages(server, &format!("{path}?order={order}&pageSize=2")).await.0, expected);
            }
        }
    }
}
