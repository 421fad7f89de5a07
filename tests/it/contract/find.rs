//! `text` on the events of a session, and `title` on lists of sessions.

use serde_json::{Value, json};
use tokio::join;

use crate::support::client::{Answer, Client, EVENTS, ONE, S, segment};
use crate::support::databases::on_both_databases;
use crate::support::random::Random;
use crate::support::server::TestServer;

const OF_APP: &str = "/v1/apps/app/sessions";

fn said(id: impl ToString, text: &str) -> Value {
    let id = id.to_string();
    json!({"id": id, "author": "user", "invocationId": format!("i{id}"), "content": {"parts": [{"text": text}]}})
}

async fn find(server: &Client, words: &str, more: &str) -> Answer {
    server.get(format!("{EVENTS}?text={}{more}", segment(words))).await.expect(200)
}

fn ids(page: &Value, list: &str) -> Vec<String> {
    page[list].as_array().unwrap().iter().map(|one| one["id"].as_str().unwrap().to_owned()).collect()
}

/// The ids of all pages, and how many there were.
async fn pages(server: &Client, path: &str, list: &str) -> (String, usize) {
    let (mut all, mut count, mut next) = (Vec::new(), 0, String::new());
    loop {
        let page = server.get(format!("{path}{next}")).await.expect(200).json();
        all.extend(ids(&page, list));
        count += 1;
        match page["nextPageToken"].as_str() {
            Some(token) => next = format!("&pageToken={token}"),
            None => return (all.join(" "), count),
        }
        assert!(count < 200, "paging does not end");
    }
}

on_both_databases! {
    async fn words_are_found_in_what_was_said_called_and_answered(server: &TestServer) {
        let parts = |id: &str, parts: Value| json!({"id": id, "author": "agent", "content": {"parts": parts}});
        server.create("{}").await;
        let events = json!([
            said("said", "Wo ist meine Rückzahlung? Straße 5"),
            parts("called", json!([{"functionCall": {"name": "find_refund", "args": {"orderId": 4711, "to": ["Ada"]}}}])),
            parts("answered", json!([{"functionResponse": {"name": "find_refund", "response": {"city": "STRASSE \u{1F600}"}}}])),
            {"id": "other", "author": "refund", "customMetadata": {"text": "refund"}, "actions": {"stateDelta": {"refund": "refund"}}},
        ]);
        server.append(events.to_string()).await;
        for (words, found) in [
            ("RUCKZAHLUNG", "said"),
            ("zahl wo", "said"),
            ("strasse", "said answered"),
            ("straße", "said answered"),
            ("refund", "called answered"),
            ("refund 471 ADA", "called"),
            ("orderid", "called"),
            ("😀", "answered"),
            ("refund zahlung", ""),
            ("none", ""),
        ] {
            assert_eq!(find(server, words, "").await.event_ids(), found, "{words}");
            let backwards: Vec<&str> = found.split(' ').rev().collect();
            assert_eq!(find(server, words, "&order=desc").await.event_ids(), backwards.join(" "), "{words}");
        }
        for (filter, found) in [
            ("&author=agent", "called answered"),
            ("&author=user", "said"),
            ("&afterSequence=1", "called answered"),
            ("&beforeSequence=3", "said called"),
            ("&invocationId=isaid", "said"),
            ("&branch=b", ""),
            ("&afterTimestamp=0", "said called answered"),
        ] {
            assert_eq!(find(server, "a", filter).await.event_ids(), found, "{filter}");
        }
        for bad in ["", "%20%09", "%CC%81", &"a+".repeat(17), &"a".repeat(257)] {
            server.get(format!("{EVENTS}?text={bad}")).await.invalid(&["text"]);
        }
        server.get(format!("{EVENTS}?text=a&text=b")).await.problem(422, "invalid_argument");
        server.get(format!("{ONE}?text=a")).await.problem(422, "invalid_argument");
    }

    async fn pages_of_what_is_found_agree_with_a_plain_scan(server: &TestServer) {
        let mut random = Random::new();
        let seed = random.below(1 << 32);
        let mut random = Random(seed);
        server.create("{}").await;
        let texts: Vec<String> = (0..60)
            .map(|_| (0..3).map(|_| ["tea ", "TÉA", "coffee", "\"\\", " "][random.below(5) as usize]).collect())
            .collect();
        let events: Vec<Value> = texts.iter().enumerate().map(|(n, text)| said(n + 1, text)).collect();
        server.append(json!(events).to_string()).await;
        let mut expected: Vec<String> = texts
            .iter()
            .enumerate()
            .filter(|(_, text)| text.to_lowercase().replace('é', "e").contains("tea") && text.contains("off"))
            .map(|(n, _)| (n + 1).to_string())
            .collect();
        for order in ["asc", "desc"] {
            for size in [1, 7, 1000] {
                let path = format!("{EVENTS}?text=off+t%C3%A9A&order={order}&pageSize={size}");
                assert_eq!(pages(server, &path, "events").await.0, expected.join(" "), "seed {seed}, {path}");
            }
            expected.reverse();
        }
        // A token is of its words.
        let token = find(server, "e", "&pageSize=1").await.json()["nextPageToken"].as_str().unwrap().to_owned();
        find(server, "e", &format!("&pageToken={token}")).await;
        server.get(format!("{EVENTS}?text=f&pageToken={token}")).await.invalid(&["pageToken"]);
        server.get(format!("{EVENTS}?pageToken={token}")).await.invalid(&["pageToken"]);
    }

    async fn one_request_looks_through_so_many_events(server: &TestServer) {
        server.create("{}").await;
        server.append(said("first", "tea").to_string()).await;
        let batch = format!("[{}]", vec!["{}"; 1000].join(","));
        for _ in 0..10 {
            server.append(batch.clone()).await;
        }
        server.append(said("last", "tea").to_string()).await;
        for (order, first, second) in [("asc", "first", "last"), ("desc", "last", "first")] {
            let page = find(server, "tea", &format!("&order={order}")).await;
            assert_eq!(page.event_ids(), first);
            let token = page.json()["nextPageToken"].as_str().expect("there is more to look at").to_owned();
            let page = find(server, "tea", &format!("&order={order}&pageToken={token}")).await;
            assert_eq!(page.event_ids(), second);
            assert!(page.json().get("nextPageToken").is_none());
            let path = format!("{EVENTS}?text=coffee&order={order}");
            assert_eq!(pages(server, &path, "events").await, (String::new(), 2));
            // A full page ends the search.
            let page = find(server, "tea", &format!("&order={order}&pageSize=1")).await;
            assert_eq!(page.event_ids(), first);
            assert!(page.json()["nextPageToken"].is_string());
        }
        // Of what the other parameters select.
        assert_eq!(pages(server, &format!("{EVENTS}?text=tea&author=user"), "events").await, ("first last".to_owned(), 1));
        // One that would wait says first that there is more.
        let page = find(server, "coffee", "&wait=55").await.json();
        assert_eq!(page["events"], json!([]));
        let token = page["nextPageToken"].as_str().unwrap();
        let page = find(server, "coffee", &format!("&pageToken={token}")).await.json();
        assert!(page["events"] == json!([]) && page.get("nextPageToken").is_none());
    }

    async fn one_request_looks_through_so_many_bytes(server: &TestServer) with ["--max-page-bytes=4000"] {
        server.create("{}").await;
        let long = "x".repeat(1000);
        let events: Vec<Value> = (1..=12).map(|n| said(n, &format!("{long} {}", if n % 6 == 0 { "tea" } else { "" }))).collect();
        server.append(json!(events).to_string()).await;
        for order in ["asc", "desc"] {
            let page = find(server, "coffee", &format!("&order={order}")).await.json();
            assert!(page["events"] == json!([]) && page["nextPageToken"].is_string());
            let (found, count) = pages(server, &format!("{EVENTS}?text=tea&order={order}"), "events").await;
            assert_eq!(found, if order == "asc" { "6 12" } else { "12 6" });
            assert!(count > 2, "{count}");
        }
    }

    async fn what_was_taken_back_or_away_is_not_found(server: &TestServer) {
        server.create("{}").await;
        let events: Vec<Value> = (1..=6).map(|n| said(n, &format!("tea {n}"))).collect();
        server.append(json!(events).to_string()).await;
        let found = async |more: &str| find(server, "TEA", more).await.event_ids();
        server.post(format!("{EVENTS}/3/redact")).json("{}").await.expect(200);
        assert_eq!(found("").await, "1 2 4 5 6");
        server.post(format!("{ONE}/rewind")).json(r#"{"beforeInvocationId":"i6"}"#).await.expect(200);
        assert_eq!(found("").await, "1 2 4 5 6");
        assert_eq!(found("&excludeRewound=true").await, "1 2 4 5");
        assert_eq!(found("&history=effective").await, "1 2 4 5");
        let compaction = json!({"id": "c", "timestamp": 20, "author": "user", "actions": {"compaction":
            {"startTimestamp": 10, "endTimestamp": 11, "compactedContent": {"role": "model", "parts": [{"text": "tea"}]}}}});
        let mut dated = said("old", "tea, long ago");
        dated["timestamp"] = json!(10.5);
        server.append(json!([dated, compaction]).to_string()).await;
        assert_eq!(found("").await, "1 2 4 5 6 old");
        assert_eq!(found("&history=effective").await, "1 2 4 5");
        for order in ["asc", "desc"] {
            let path = format!("{EVENTS}?text=tea&history=effective&pageSize=1&order={order}");
            let all = pages(server, &path, "events").await.0;
            assert_eq!(all, if order == "asc" { "1 2 4 5" } else { "5 4 2 1" });
        }
        server.post(format!("{ONE}/trim")).json(r#"{"beforeSequence":3}"#).await.expect(200);
        assert_eq!(found("").await, "4 5 6 old");
        assert_eq!(found("&history=effective").await, "4 5");
    }

    async fn a_wait_is_for_an_event_with_the_words(server: &TestServer) {
        server.create(&json!({"events": [said(1, "coffee")]}).to_string()).await;
        let path = format!("{EVENTS}?text=tea&wait=55");
        let (found, ()) = join!(server.get(&path), async {
            server.append(said(2, "milk").to_string()).await;
            server.append(said(3, "TEA").to_string()).await;
        });
        assert_eq!(found.expect(200).event_ids(), "3");
        assert_eq!(server.get(&path).await.expect(200).event_ids(), "3");
    }

    async fn sessions_are_found_by_title(server: &TestServer) {
        for (user, id, name) in [
            ("user", "order-7", Some("Invoice of Éric")),
            ("user", "x", Some("The ORDER, and an invoice")),
            ("user", "y", None),
            ("eve", "z", Some("\"Straße\" \\ order")),
        ] {
            let body = json!({"sessionId": id, "displayName": name, "state": {"order": 1}});
            server.post(format!("/v1/apps/app/users/{user}/sessions")).json(body.to_string()).await.expect(201);
        }
        for (list, title, found) in [
            (S, "order", "order-7 x"),
            (S, "INVOICE order", "order-7 x"),
            (S, "7 eric", "order-7"),
            (S, "y", "y"),
            (S, "user", ""),
            (OF_APP, "order", "order-7 x z"),
            (OF_APP, "strasse \"", "z"),
        ] {
            for by in ["createTime", "lastUpdateTime"] {
                for size in [1, 2, 1000] {
                    for state in ["", "&includeState=true"] {
                        let path = format!("{list}?title={}&orderBy={by}&pageSize={size}{state}", segment(title));
                        assert_eq!(pages(server, &path, "sessions").await.0, found, "{path}");
                        let backwards: Vec<&str> = found.split(' ').rev().collect();
                        let path = format!("{path}&order=desc");
                        assert_eq!(pages(server, &path, "sessions").await.0, backwards.join(" "), "{path}");
                    }
                }
            }
        }
        assert_eq!(pages(server, &format!("{OF_APP}?title=order&userPrefix=e"), "sessions").await.0, "z");
        assert_eq!(pages(server, &format!("{S}?title=order&idPrefix=x"), "sessions").await.0, "x");
        let token = server.get(format!("{S}?title=order&pageSize=1")).await.json()["nextPageToken"].as_str().unwrap().to_owned();
        server.get(format!("{S}?title=invoice&pageToken={token}")).await.invalid(&["pageToken"]);
        server.get(format!("{S}?pageToken={token}")).await.invalid(&["pageToken"]);
        for list in [S, OF_APP, "/v1/apps/none/sessions"] {
            server.get(format!("{list}?title=")).await.invalid(&["title"]);
        }
    }

    async fn one_request_looks_through_so_many_bytes_of_sessions(server: &TestServer) with ["--max-page-bytes=3000"] {
        for n in 0..30 {
            let name = if n == 14 { "tea" } else { "coffee" };
            let body = json!({"sessionId": format!("s{n:02}"), "displayName": name});
            server.post(S).json(body.to_string()).await.expect(201);
        }
        for query in ["title=tea", "title=tea&order=desc", "title=tea&includeState=true&orderBy=createTime"] {
            let first = server.get(format!("{S}?{query}")).await.expect(200).json();
            assert!(first["sessions"] == json!([]) && first["nextPageToken"].is_string(), "{query}");
            assert_eq!(pages(server, &format!("{S}?{query}"), "sessions").await.0, "s14", "{query}");
        }
    }
}
