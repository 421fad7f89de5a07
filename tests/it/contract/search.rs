//! Search over what was said: which events are found, in which order, and what is forgotten.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::{sleep, timeout};

use crate::support::client::{Answer, Client, PATIENCE, segment};
use crate::support::databases::on_both_databases;
use crate::support::random::Random;
use crate::support::server::TestServer;

const USER: &str = "/v1/apps/app/users/ada";
const POLICY: &str = "/v1/apps/app/policy";

async fn switch_on(server: &Client) {
    server.put(POLICY).json(r#"{"search":{"index":true}}"#).await.expect(200);
}

async fn say(server: &Client, session: &str, author: &str, text: &str) -> Value {
    let event = json!({"author": author, "content": {"role": "user", "parts": [{"text": text}]}});
    server
        .post(format!("{USER}/sessions/{session}/events?create=true"))
        .json(event.to_string())
        .await
        .expect(201)
        .json()
}

async fn search(server: &Client, query: &str) -> Answer {
    server.get(format!("{USER}/search?{query}")).await.expect(200)
}

/// The hits, as `session/sequence`.
async fn found(server: &Client, query: &str) -> String {
    let answer = search(server, query).await.json();
    assert_eq!(answer["complete"], true, "{query}: {answer}");
    let name = |hit: &Value| format!("{}/{}", hit["sessionId"].as_str().unwrap(), hit["event"]["sequence"]);
    answer["hits"].as_array().unwrap().iter().map(name).collect::<Vec<_>>().join(" ")
}

/// Waits until the index has all events, or if `gone`, none.
async fn until_indexed(server: &TestServer, gone: bool) {
    let left = if gone {
        "select count(*) from event_words"
    } else {
        "select count(*) from sessions s where s.revision > s.base_revision and s.revision > coalesce((select max(w.sequence) \
           from event_words w where w.app_name = s.app_name and w.incarnation = s.incarnation), 0)"
    };
    let done = async {
        while server.number(left).await > 0 {
            sleep(Duration::from_millis(20)).await;
        }
    };
    timeout(PATIENCE, done).await.expect("the index");
}

on_both_databases! {
    async fn it_is_off_until_the_policy_says_so(server: &TestServer) with ["--sweep-interval=1s"] {
        say(server, "s", "user", "Where is my refund?").await;
        let off = server.get(format!("{USER}/search?text=refund")).await;
        assert!(off.problem(409, "search_off")["detail"].as_str().unwrap().contains("/policy"));
        switch_on(server).await;
        assert_eq!(server.get(POLICY).await.expect(200).json(), json!({"search": {"index": true}}));
        assert_eq!(found(server, "text=refund").await, "s/1");
        until_indexed(server, false).await;
        assert_eq!(found(server, "text=refund").await, "s/1");
        server.put(POLICY).json(r#"{"search":{"index":false}}"#).await.expect(200);
        server.get(format!("{USER}/search?text=refund")).await.problem(409, "search_off");
        until_indexed(server, true).await;
        switch_on(server).await;
        until_indexed(server, false).await;
        server.delete(POLICY).await.expect(204);
        server.get(format!("{USER}/search?text=refund")).await.problem(409, "search_off");
        until_indexed(server, true).await;
        server.put(POLICY).json(r#"{"search":{"index":1}}"#).await.invalid(&["/search/index"]);
        server.put(POLICY).json(r#"{"search":{"on":true}}"#).await.invalid(&["/search/on"]);
    }

    async fn whole_words_are_found_the_best_first(server: &TestServer) {
        switch_on(server).await;
        say(server, "a", "user", "Wo ist meine Rückzahlung?").await;
        say(server, "a", "agent", "Die RUCKZAHLUNG kommt zur Straße 7.").await;
        say(server, "b", "user", "東京タワー, zur 7").await;
        server.patch(format!("{USER}/sessions/b")).json(r#"{"displayName":"Tōkyō"}"#).await.expect(200);
        let parts = json!([{"text": "rückzahlung", "thought": true}, {"functionCall": {"name": "rückzahlung", "args": {"a": "strasse"}}}]);
        let silent = json!({"author": "agent", "content": {"role": "model", "parts": parts}, "customMetadata": {"text": "zur"}});
        server.post(format!("{USER}/sessions/a/events")).json(silent.to_string()).await.expect(201);
        say(server, "c", "user", "zur").await;
        server.post("/v1/apps/app/users/bob/sessions/a/events?create=true")
            .json(r#"{"author":"user","content":{"parts":[{"text":"zur Rückzahlung"}]}}"#).await.expect(201);

        for (text, hits) in [
            ("rückzahlung", "a/2 a/1"),
            ("STRASSE rückzahlung", "a/2 a/1"),
            ("rück", ""),
            ("7 zur", "b/1 a/2 c/1"),
            ("京タ", "b/1"),
            ("東京", "b/1"),
            ("京", ""),
            ("tokyo", ""),
        ] {
            assert_eq!(found(server, &format!("text={}", segment(text))).await, hits, "{text}");
        }
        let hits = search(server, "text=7%20zur&limit=2").await.json()["hits"].as_array().unwrap().clone();
        assert_eq!(hits.len(), 2);
        let score = (1.0f64 + 3.0 / 2.0).ln() + 2.0f64.ln();
        assert!((hits[0]["score"].as_f64().unwrap() - score).abs() < 1e-12);
        assert_eq!((&hits[0]["displayName"], hits[1].get("displayName")), (&json!("Tōkyō"), None));
        let event = server.get(format!("{USER}/sessions/b/events")).await.expect(200).json()["events"][0].clone();
        assert_eq!(hits[0]["event"], event);
        let time = event["commitTime"].to_string();
        for (filter, hits) in [
            ("author=agent", "a/2".to_owned()),
            ("session=c", "c/1".to_owned()),
            ("session=nowhere", String::new()),
            ("exceptSession=b", "a/2 c/1".to_owned()),
            (&format!("from={time}"), "b/1 c/1".to_owned()),
            (&format!("to={time}"), "a/2".to_owned()),
        ] {
            assert_eq!(found(server, &format!("text=7%20zur&{filter}")).await, hits, "{filter}");
        }
        for (query, field) in [("", "text"), ("text=…", "text"), ("text=a&limit=0", "limit"), ("text=a&limit=101", "limit")] {
            server.get(format!("{USER}/search?{query}")).await.invalid(&[field]);
        }
        assert_eq!(found(server, &format!("text={}%20zur", (0..32).map(|n| format!("x{n}%20")).collect::<String>())).await, "");
        assert_eq!(server.get("/v1/apps/app/users/nobody/search?text=zur").await.expect(200).json()["hits"], json!([]));
    }

    /// More events have the word than one answer looks at: those with the rare word are there all the same, with both scores.
    async fn common_words_are_cut(server: &TestServer) with ["--sweep-interval=1s"] {
        switch_on(server).await;
        for chunk in 0..11 {
            let events: Vec<Value> = (0..1000).map(|n| {
                let text = if chunk == 3 && n < 2 { "common rare" } else { "common" };
                json!({"author": "user", "content": {"parts": [{"text": text}]}})
            }).collect();
            let path = format!("{USER}/sessions/s{chunk}/events?create=true&answer=minimal");
            server.post(path).json(Value::from(events).to_string()).await.expect(201);
        }
        until_indexed(server, false).await;
        let answer = search(server, "text=common%20rare&limit=3").await.json();
        assert_eq!(answer["complete"], false);
        let names: Vec<String> = answer["hits"].as_array().unwrap().iter()
            .map(|hit| format!("{}/{}", hit["sessionId"].as_str().unwrap(), hit["event"]["sequence"])).collect();
        assert_eq!(names[..2], ["s3/2", "s3/1"]);
        assert_eq!(found(server, "text=rare").await, "s3/2 s3/1");
    }

    /// Whatever became of sessions and events, what is found is what a plain scan of the logs finds, in its order.
    async fn a_plain_scan_finds_the_same(server: &TestServer) with ["--sweep-interval=1s"] {
        let mut random = Random::new();
        switch_on(server).await;
        let mut sources: BTreeMap<String, String> = BTreeMap::new();
        let mut live: Vec<String> = Vec::new();
        for step in 0..160u64 {
            let pick = if live.is_empty() { 0 } else { random.below(live.len() as u64) as usize };
            let of = live.get(pick).cloned().unwrap_or_default();
            let path = format!("{USER}/sessions/{of}");
            match random.below(if live.is_empty() { 1 } else { 16 }) {
                0 => {
                    live.push(format!("s{step}"));
                    say(server, &format!("s{step}"), "user", &text(&mut random)).await;
                }
                1..8 => drop(say(server, &of, "agent", &text(&mut random)).await),
                8..10 => {
                    let revision = server.get(&path).await.expect(200).json();
                    let (base, end) = (revision["baseRevision"].as_u64().unwrap_or(0), revision["revision"].as_u64().unwrap());
                    let fork = json!({"sessionId": format!("s{step}"), "atRevision": base + random.below(end - base + 1)});
                    server.post(format!("{path}/fork")).json(fork.to_string()).await.expect(201);
                    sources.insert(format!("s{step}"), of);
                    live.push(format!("s{step}"));
                }
                10..12 => {
                    let session = server.get(&path).await.expect(200).json();
                    let (base, end) = (session["baseRevision"].as_u64().unwrap_or(0), session["revision"].as_u64().unwrap());
                    if base < end {
                        let to = base + random.below(end - base);
                        server.post(format!("{path}/rewind")).json(json!({"toRevision": to}).to_string()).await.expect(200);
                    }
                }
                12..14 => {
                    let page = server.get(format!("{path}/events")).await.expect(200).json();
                    let events = page["events"].as_array().unwrap();
                    if !events.is_empty() {
                        let id = events[random.below(events.len() as u64) as usize]["id"].as_str().unwrap();
                        server.post(format!("{path}/events/{id}/redact")).json("{}").await.expect(200);
                    }
                }
                14 => {
                    let end = server.get(&path).await.expect(200).json()["revision"].as_u64().unwrap();
                    let trim = json!({"beforeSequence": 1 + random.below(end + 1)});
                    server.post(format!("{path}/trim")).json(trim.to_string()).await;
                }
                _ => {
                    server.delete(&path).await.expect(204);
                    live.remove(pick);
                }
            }
            if step % 40 == 39 {
                until_indexed(server, false).await;
            }
            let words: BTreeSet<usize> = (0..=random.below(3)).map(|_| random.below(WORDS.len() as u64) as usize).collect();
            let asked: Vec<&str> = words.iter().map(|word| WORDS[*word].1).collect();
            let expected = scan(server, &live, &sources, &words).await;
            let answer = search(server, &format!("limit=100&text={}", segment(&asked.join(" ")))).await.json();
            assert_eq!(answer["complete"], true);
            let hits: Vec<(String, u64)> = answer["hits"].as_array().unwrap().iter()
                .map(|hit| (hit["sessionId"].as_str().unwrap().to_owned(), hit["event"]["sequence"].as_u64().unwrap())).collect();
            assert_eq!(hits, expected.into_iter().take(100).collect::<Vec<_>>(), "{asked:?} after step {step}: {}", answer["hits"]);
        }
        for id in live {
            server.delete(format!("{USER}/sessions/{id}")).await.expect(204);
        }
        assert_eq!(found(server, "text=refund").await, "");
        server.until_swept().await;
        until_indexed(server, true).await;
    }
}

/// Words as they are said, and as they are asked for.
const WORDS: [(&str, &str); 8] = [
    ("Refund", "REFUND"),
    ("Rückzahlung", "ruckzahlung"),
    ("Straße", "STRASSE"),
    ("東京", "東京"),
    ("ไท", "ไท"),
    ("ÉRIC", "e\u{301}ric"),
    ("4711", "4711"),
    ("дом", "ДОМ"),
];

fn text(random: &mut Random) -> String {
    let words = (0..random.below(4)).map(|_| WORDS[random.below(WORDS.len() as u64) as usize].0);
    words.collect::<Vec<_>>().join(", ")
}

/// What the logs have, in the order of the contract.
async fn scan(
    server: &Client,
    live: &[String],
    sources: &BTreeMap<String, String>,
    asked: &BTreeSet<usize>,
) -> Vec<(String, u64)> {
    // Of each session: events that have some of the words, by id.
    let mut logs: BTreeMap<&str, BTreeMap<String, (Value, BTreeSet<usize>)>> = BTreeMap::new();
    let mut forked: BTreeMap<&str, u64> = BTreeMap::new();
    for id in live {
        let path = format!("{USER}/sessions/{id}");
        let head = server.get(&path).await.expect(200).json();
        forked.insert(id, head["forkedFrom"]["revision"].as_u64().unwrap_or(0));
        let page = server.get(format!("{path}/events?excludeRewound=true&pageSize=1000")).await.expect(200).json();
        let log = logs.entry(id).or_default();
        for event in page["events"].as_array().unwrap() {
            let said = event["content"]["parts"][0]["text"].as_str().unwrap_or_default();
            let words: BTreeSet<usize> =
                asked.iter().copied().filter(|word| said.split(", ").any(|one| one == WORDS[*word].0)).collect();
            if !words.is_empty() {
                log.insert(event["id"].as_str().unwrap().to_owned(), (event.clone(), words));
            }
        }
    }
    let mut all = Vec::new();
    for (id, log) in &logs {
        for (event_id, (event, words)) in log {
            let sequence = event["sequence"].as_u64().unwrap();
            let mut above = sources.get(*id).filter(|_| sequence <= forked[id]);
            let mut is_copy = false;
            while let Some(source) = above {
                is_copy |= logs.get(source.as_str()).is_some_and(|log| log.contains_key(event_id));
                above = sources.get(source);
            }
            if !is_copy {
                all.push((*id, sequence, event["commitTime"].as_f64().unwrap(), words));
            }
        }
    }
    let holders = |word: &usize| all.iter().filter(|(.., words)| words.contains(word)).count() as f64;
    let score = |words: &BTreeSet<usize>| -> f64 {
        words.iter().map(|word| (1.0 + all.len() as f64 / holders(word)).ln()).sum()
    };
    let mut ranked: Vec<_> =
        all.iter().map(|(id, sequence, time, words)| (score(words), *time, *sequence, *id)).collect();
    ranked.sort_by(|a, b| {
        // Sums of the same numbers in another order.
        let by_score = if (a.0 - b.0).abs() < 1e-9 { std::cmp::Ordering::Equal } else { b.0.total_cmp(&a.0) };
        by_score.then(b.1.total_cmp(&a.1)).then(b.2.cmp(&a.2)).then(a.3.cmp(b.3))
    });
    ranked.into_iter().map(|(_, _, sequence, id)| (id.to_owned(), sequence)).collect()
}
