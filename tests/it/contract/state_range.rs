//! Parts of a state: keys with a prefix, some keys of a scope, pages in byte order.

use serde_json::{Value, json};

use crate::contract::access::Guarded;
use crate::support::client::{APP_STATE, Client, ONE, S, STATE, USER_STATE, segment};
use crate::support::databases::on_both_databases;
use crate::support::server::TestServer;

/// The state of each page, and of the last one the `ETag`.
async fn pages(server: &Client, path: &str) -> (Vec<String>, String) {
    let (mut all, mut token): (_, Option<String>) = (Vec::new(), None);
    loop {
        let token_of = token.map(|token| format!("&pageToken={token}")).unwrap_or_default();
        let answer = server.get(format!("{path}{token_of}")).await.expect(200);
        let page = answer.json();
        let names: Vec<&String> = page.as_object().unwrap().keys().collect();
        assert!(names.iter().all(|name| ["state", "nextPageToken"].contains(&name.as_str())), "{answer}");
        all.push(answer.raw(&["state"]).to_owned());
        token = page["nextPageToken"].as_str().map(str::to_owned);
        if token.is_none() {
            return (all, answer.etag());
        }
        assert!(all.len() < 50, "paging does not end");
    }
}

fn keys(text: &str) -> Vec<String> {
    serde_json::from_str::<Value>(text).unwrap().as_object().unwrap().keys().cloned().collect()
}

const MIXED: &str = r#"{"state":{"a":1,"lg/x":{"v": 1.0},"lg/y":2,"lg0":3,"z":4,"é":5,"us":6,"app":7,"user:lg/u":8,"user:m":9,"app:lg/a":10,"app:b":11}}"#;

on_both_databases! {
    async fn a_prefix_is_of_the_keys_as_they_are_shown(server: &TestServer) {
        server.create(MIXED).await;
        let whole = server.get(STATE).await;
        for (prefix, expected) in [
            ("lg/", r#"{"lg/x":{"v": 1.0},"lg/y":2}"#),
            ("lg", r#"{"lg/x":{"v": 1.0},"lg/y":2,"lg0":3}"#),
            ("LG", "{}"),
            ("lg/x ", "{}"),
            ("user:", r#"{"user:lg/u":8,"user:m":9}"#),
            ("user:lg/", r#"{"user:lg/u":8}"#),
            ("us", r#"{"user:lg/u":8,"user:m":9,"us":6}"#),
            ("app", r#"{"app:b":11,"app:lg/a":10,"app":7}"#),
            ("temp:", "{}"),
            ("é", r#"{"é":5}"#),
            ("", whole.text()),
        ] {
            let answer = server.get(format!("{STATE}?prefix={}", segment(prefix))).await.expect(200);
            assert_eq!((answer.text(), answer.etag()), (expected, whole.etag()), "{prefix}");
        }
        for (query, expected) in [
            ("scope=session&prefix=us", r#"{"us":6}"#),
            ("scope=user&prefix=us", r#"{"user:lg/u":8,"user:m":9}"#),
            ("scope=app&prefix=us", "{}"),
            ("scope=user&prefix=app%3A", "{}"),
        ] {
            assert_eq!(server.get(format!("{STATE}?{query}")).await.expect(200).text(), expected, "{query}");
        }
        for (path, prefix, expected) in [
            (USER_STATE, "lg/", r#"{"lg/u":8}"#),
            (USER_STATE, "user:", "{}"),
            (APP_STATE, "", r#"{"b":11,"lg/a":10}"#),
            (APP_STATE, "b", r#"{"b":11}"#),
            ("/v1/apps/none/state", "b", "{}"),
        ] {
            assert_eq!(server.get(format!("{path}?prefix={}", segment(prefix))).await.expect(200).text(), expected);
        }
        let tag = server.get(format!("{STATE}?prefix=lg")).header("if-none-match", whole.etag()).await;
        assert_eq!(tag.status, 304);
        server.get(format!("{S}/none/state?prefix=a")).await.problem(404, "session_not_found");
        for bad in ["prefix=a&keys=a", "pageSize=1&keys=a", "pageToken=00&keys=a"] {
            for path in [STATE, USER_STATE, APP_STATE] {
                server.get(format!("{path}?{bad}")).await.invalid(&["keys"]);
            }
        }
        for path in [STATE, USER_STATE, APP_STATE] {
            server.get(format!("{path}?prefix=a%00")).await.invalid(&["prefix"]);
            server.get(format!("{path}?prefix={}", "x".repeat(513))).await.invalid(&["prefix"]);
            server.get(format!("{path}?pageSize=0")).await.invalid(&["pageSize"]);
            server.get(format!("{path}?pageSize=1001")).await.invalid(&["pageSize"]);
            server.get(format!("{path}?pageToken=00")).await.invalid(&["pageToken"]);
        }
        server.get(format!("{STATE}?pageToken=00&wait=1")).await.invalid(&["wait"]);
    }

    async fn some_keys_of_a_scope_are_read(server: &TestServer) {
        server.create(MIXED).await;
        for (path, keys, expected, tag) in [
            (USER_STATE, "m,none,lg/u,m", r#"{"lg/u":8,"m":9}"#, "\"1\""),
            (APP_STATE, "b,u", r#"{"b":11}"#, "\"1\""),
            (APP_STATE, "", "{}", "\"1\""),
            ("/v1/apps/app/users/other/state", "m", "{}", "\"0\""),
        ] {
            let answer = server.get(format!("{path}?keys={}", segment(keys))).await.expect(200);
            assert_eq!((answer.text(), &*answer.etag()), (expected, tag), "{keys}");
            let same = server.get(format!("{path}?keys={}", segment(keys))).header("if-none-match", tag).await;
            assert_eq!(same.status, 304);
        }
        server.get(format!("{APP_STATE}?keys=b,app:b")).await.invalid(&["keys"]);
        server.get(format!("{USER_STATE}?keys={}", vec!["k"; 10_001].join(","))).await.problem(413, "payload_too_large");
    }

    async fn pages_are_in_byte_order_of_what_is_shown(server: &TestServer) {
        server.create(MIXED).await;
        let all = ["a", "app", "app:b", "app:lg/a", "lg/x", "lg/y", "lg0", "us", "user:lg/u", "user:m", "z", "é"];
        for size in [1, 2, 3, 5, 12, 1000] {
            let (found, tag) = pages(server, &format!("{STATE}?pageSize={size}")).await;
            let sizes: Vec<usize> = found.iter().map(|page| keys(page).len()).collect();
            let expected: Vec<usize> = all.chunks(size).map(<[&str]>::len).collect();
            assert_eq!(sizes, expected);
            let found: Vec<String> = found.iter().flat_map(|page| {
                let text = page.clone();
                // As they stand in the text, not as a map sorts them.
                let mut found = keys(&text);
                found.sort_by_key(|key| text.find(&format!("{}:", json!(key))).unwrap());
                found
            }).collect();
            assert_eq!(found, all);
            assert_eq!(tag, server.get(STATE).await.etag());
        }
        assert_eq!(pages(server, &format!("{STATE}?pageSize=1&prefix=lg%2F")).await.0, [r#"{"lg/x":{"v": 1.0}}"#, r#"{"lg/y":2}"#]);
        assert_eq!(pages(server, &format!("{STATE}?pageSize=1&scope=app")).await.0, [r#"{"app:b":11}"#, r#"{"app:lg/a":10}"#]);
        assert_eq!(pages(server, &format!("{APP_STATE}?pageSize=1")).await.0, [r#"{"b":11}"#, r#"{"lg/a":10}"#]);
        assert_eq!(pages(server, &format!("{USER_STATE}?pageSize=1&prefix=m")).await.0, [r#"{"m":9}"#]);
        assert_eq!(pages(server, "/v1/apps/none/state?pageSize=1").await.0, ["{}"]);
    }

    async fn what_changes_between_pages_moves_nothing_that_stays(server: &TestServer) {
        server.create(r#"{"state":{"b":1,"d":2,"f":3,"user:b":4,"user:d":5}}"#).await;
        let first = async |path: &str| server.get(format!("{path}?pageSize=1")).await.json()["nextPageToken"].as_str().unwrap().to_owned();
        let (token, of_user) = (first(STATE).await, first(USER_STATE).await);
        let next = async |path: &str, token: &str| server.get(format!("{path}?pageSize=1&pageToken={token}")).await.expect(200).json();
        server.append(r#"{"actions":{"stateDelta":{"a":0,"c":7,"d":8,"user:a":0,"user:c":9},"stateOps":[{"op":"remove","key":"b"},{"op":"remove","key":"user:b"}]}}"#).await;
        let page = next(STATE, &token).await;
        assert_eq!(page["state"], json!({"c": 7}));
        assert_eq!(next(STATE, page["nextPageToken"].as_str().unwrap()).await["state"], json!({"d": 8}));
        assert_eq!(next(USER_STATE, &of_user).await["state"], json!({"c": 9}));

        // A token is of its query, and of its session.
        for query in [format!("prefix=b&pageToken={token}"), format!("scope=session&pageToken={token}"), format!("atRevision=0&pageToken={token}")] {
            server.get(format!("{STATE}?{query}")).await.invalid(&["pageToken"]);
        }
        server.get(format!("{USER_STATE}?pageToken={token}")).await.invalid(&["pageToken"]);
        server.get(format!("{APP_STATE}?pageToken={of_user}")).await.invalid(&["pageToken"]);
        server.get(format!("/v1/apps/app/users/other/state?pageToken={of_user}")).await.invalid(&["pageToken"]);
        assert_eq!(server.get(format!("{STATE}?pageSize=3&pageToken={token}")).await.expect(200).json()["state"], json!({"c": 7, "d": 8, "f": 3}));
        server.delete(ONE).await.expect(204);
        server.get(format!("{STATE}?pageToken={token}")).await.problem(404, "session_not_found");
        server.create("{}").await;
        server.get(format!("{STATE}?pageToken={token}")).await.invalid(&["pageToken"]);
    }

    async fn the_past_has_parts_and_pages_too(server: &TestServer) {
        server.create(MIXED).await;
        server.append(r#"{"actions":{"stateDelta":{"lg/x":"new","lg/z":1,"user:lg/u":"new","app:lg/n":1},"stateOps":[{"op":"remove","key":"lg/y"},{"op":"remove","key":"app:lg/a"}]}}"#).await;
        server.append(r#"{"actions":{"stateDelta":{"lg/y":"again","lg/x":"newer","user:lg/u":"newer"}}}"#).await;
        let at = async |revision: i64, query: &str| server.get(format!("{STATE}?atRevision={revision}&{query}")).await.expect(200);
        assert_eq!(at(0, "prefix=lg%2F").await.text(), r#"{"lg/x":{"v": 1.0},"lg/y":2}"#);
        assert_eq!(at(1, "prefix=lg%2F").await.text(), r#"{"lg/x":"new","lg/z":1}"#);
        assert_eq!(at(2, "prefix=lg%2F").await.text(), r#"{"lg/x":"newer","lg/y":"again","lg/z":1}"#);
        assert_eq!(at(0, "prefix=app%3Alg&scope=app").await.text(), r#"{"app:lg/a":10}"#);
        assert_eq!(at(1, "prefix=app%3Alg").await.text(), r#"{"app:lg/n":1}"#);
        assert_eq!(at(0, "prefix=user%3Al").await.text(), r#"{"user:lg/u":8}"#);
        assert_eq!(at(1, "prefix=").await.text(), at(1, "").await.text());
        for revision in 0..=2 {
            let whole = at(revision, "").await;
            let (found, tag) = pages(server, &format!("{STATE}?atRevision={revision}&pageSize=3")).await;
            assert_eq!(tag, whole.etag());
            let mut all = serde_json::Map::new();
            for page in &found {
                all.extend(serde_json::from_str::<Value>(page).unwrap().as_object().unwrap().clone());
            }
            assert_eq!(json!(all), whole.json());
        }
        server.get(format!("{STATE}?atRevision=9&prefix=a")).await.invalid(&["atRevision"]);
        server.post(format!("{ONE}/trim")).json(r#"{"keepLast":1}"#).await.expect(200);
        server.get(format!("{STATE}?atRevision=0&prefix=a")).await.problem(410, "revision_trimmed");
        assert_eq!(at(1, "prefix=lg%2F").await.text(), r#"{"lg/x":"new","lg/z":1}"#);
    }

    async fn a_page_of_large_values_is_small(server: &TestServer) {
        let large = format!("\"{}\"", "x".repeat(3 << 20));
        for key in ["a", "b", "user%3Ac", "d"] {
            if key == "a" {
                server.create("{}").await;
            }
            server.put(format!("{STATE}/{key}")).json(large.as_str()).await.expect(200);
        }
        let (found, _) = pages(server, &format!("{STATE}?pageSize=100")).await;
        assert_eq!(found.iter().map(|page| keys(page)).collect::<Vec<_>>(), [vec!["a", "b"], vec!["d", "user:c"]]);
    }

    async fn pages_show_no_more_than_the_client_may_read(server: &Guarded) {
        server.fill(&[("a", "u"), ("a", "v")]).await;
        let of_u = server.key(json!({"role": "reader", "apps": ["a"], "users": ["u"]})).await;
        for (path, expected) in [
            ("/v1/apps/a/users/u/state?pageSize=1", r#"{"state":{"k":2}}"#),
            ("/v1/apps/a/users/v/state?pageSize=1", r#"{"state":{}}"#),
            ("/v1/apps/a/users/v/state?keys=k", "{}"),
            ("/v1/apps/a/users/v/state?prefix=k", "{}"),
            ("/v1/apps/a/state?prefix=k", r#"{"k":3}"#),
            ("/v1/apps/b/state?prefix=k", "{}"),
        ] {
            assert_eq!(server.with(&of_u, "GET", path).await.expect(200).text(), expected, "{path}");
        }
        server.with(&of_u, "GET", "/v1/apps/a/users/v/sessions/s/state?prefix=k").await.problem(404, "session_not_found");
    }
}
