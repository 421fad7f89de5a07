//! What a turn reads: the effective history (contract, section 14). ADK's own prompt assembly is the yardstick of the Python client's
//! `test_effective.py`; here the rule is written down once more, over what the server says of the whole log.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use crate::contract::transfer::{assert_all, exported, import};
use crate::support::client::{Answer, Client, EVENTS, ONE, S};
use crate::support::databases::on_both_databases;
use crate::support::random::Random;
use crate::support::server::TestServer;

/// The ids of the events that the rule leaves, of those that are not rewound.
pub fn rule(events: &[Value]) -> Vec<String> {
    let id = |event: &Value| event["id"].as_str().unwrap().to_owned();
    let text = |event: &Value, name: &str| event[name].as_str().filter(|text| !text.is_empty()).map(str::to_owned);
    let range = |event: &Value| {
        let compaction = &event["actions"]["compaction"];
        let bound = |name: &str| {
            let bound = compaction[name].as_f64()?;
            Some(if bound >= 253_402_300_800.0 { bound / 1000.0 } else { bound })
        };
        compaction["compactedContent"].as_object()?;
        Some((bound("startTimestamp")?, bound("endTimestamp")?))
    };
    let is_read_with = |compaction: &Value, event: &Value| {
        let (above, below) = (text(compaction, "branch"), text(event, "branch").unwrap_or_default());
        compaction["isolationScope"] == event["isolationScope"]
            && above.is_none_or(|above| below == above || below.starts_with(&format!("{above}.")))
    };
    let ranges: Vec<(usize, &Value, (f64, f64))> =
        events.iter().enumerate().filter_map(|(n, event)| Some((n, event, range(event)?))).collect();
    let kept: Vec<&(usize, &Value, (f64, f64))> = ranges
        .iter()
        .filter(|(n, event, (start, end))| {
            !ranges.iter().any(|(other, by, (from, to))| {
                other != n
                    && from <= start
                    && end <= to
                    && ((from, to) != (start, end) || other > n)
                    && is_read_with(by, event)
            })
        })
        .collect();
    let is_left = |n: usize, event: &Value| match range(event) {
        Some(_) => kept.iter().any(|(other, ..)| *other == n),
        None => {
            let time = event["timestamp"].as_f64().unwrap();
            !kept.iter().any(|(_, by, (start, end))| (*start..=*end).contains(&time) && is_read_with(by, event))
        }
    };
    let ids = |event: &Value, name: &str| -> BTreeSet<String> {
        let parts = event["content"]["parts"].as_array().into_iter().flatten();
        parts.filter_map(|part| part[name]["id"].as_str().map(str::to_owned)).collect()
    };
    let spoken = |event: &Value| &ids(event, "functionCall") | &ids(event, "functionResponse");
    let left = events.iter().enumerate().filter(|(n, event)| is_left(*n, event));
    let answered: BTreeSet<String> = left.flat_map(|(_, event)| ids(event, "functionResponse")).collect();
    let is_covered = |n: usize, event: &Value| range(event).is_none() && !is_left(n, event);
    let mut together = BTreeSet::new();
    for event in events.iter().filter(|event| !ids(event, "functionCall").is_disjoint(&answered)) {
        together.extend(spoken(event));
    }
    let names = |event: &Value| -> BTreeSet<String> {
        let branch = text(event, "branch").unwrap_or_default();
        let runs = branch.split('.').filter_map(|part| Some(part.rsplit_once('@')?.1.to_owned()));
        text(event, "isolationScope").into_iter().chain(runs).collect()
    };
    let mut shown: BTreeSet<usize> = BTreeSet::new();
    loop {
        let named: BTreeSet<String> = shown.iter().flat_map(|n| names(&events[*n])).collect();
        let stays =
            |event: &Value| !spoken(event).is_disjoint(&together) || !ids(event, "functionCall").is_disjoint(&named);
        let all = events.iter().enumerate();
        let more = all.filter(|(n, event)| is_left(*n, event) || is_covered(*n, event) && stays(event));
        let more: BTreeSet<usize> = more.map(|(n, _)| n).collect();
        if more == shown {
            return shown.iter().map(|n| id(&events[*n])).collect();
        }
        shown = more;
    }
}

async fn append(server: &Client, path: &str, events: &Value) {
    server.post(format!("{path}/events")).json(events.to_string()).await.expect(201);
}

fn ids(events: &Value) -> Vec<String> {
    events.as_array().unwrap().iter().map(|event| event["id"].as_str().unwrap().to_owned()).collect()
}

/// The pages of a list put together.
async fn pages(server: &Client, path: &str, query: &str) -> Vec<String> {
    let (mut found, mut token) = (Vec::new(), String::new());
    loop {
        let page = server.get(format!("{path}/events?{query}{token}")).await.expect(200).json();
        found.extend(ids(&page["events"]));
        match page["nextPageToken"].as_str() {
            Some(next) => token = format!("&pageToken={next}"),
            None => return found,
        }
    }
}

/// That a session's effective history is what the rule leaves.
async fn assert_rule(server: &Client, path: &str, seed: u64, size: u64) {
    let visible = server.get(format!("{path}/events?excludeRewound=true&pageSize=1000")).await.expect(200).json();
    let mut expected = rule(visible["events"].as_array().unwrap());
    let session = server.get(format!("{path}?history=effective")).await.expect(200).json();
    assert_eq!(ids(&session["events"]), expected, "seed {seed}");
    let query = format!("history=effective&pageSize={size}");
    assert_eq!(pages(server, path, &query).await, expected, "seed {seed}, by {size}");
    let recent = server.get(format!("{path}?history=effective&numRecentEvents={size}")).await.expect(200).json();
    assert_eq!(ids(&recent["events"]), expected[expected.len().saturating_sub(size as usize)..], "seed {seed}");
    expected.reverse();
    assert_eq!(pages(server, path, &format!("{query}&order=desc")).await, expected, "seed {seed}, backwards by {size}");
}

const BRANCHES: [Option<&str>; 5] = [None, Some("a"), Some("a.b"), Some("a.t@c1"), Some("ab")];
const SCOPES: [Option<&str>; 4] = [None, None, Some("s"), Some("c2")];

/// An event of a random log; `n` is its number, `clock` the time so far.
fn event(random: &mut Random, n: u64, clock: &mut f64) -> Value {
    *clock += [0.0, 0.5, 1.0, 2.125][random.below(4) as usize];
    let mut event = json!({
        "id": format!("e{n}"),
        "author": (if random.below(2) == 0 { "user" } else { "a" }),
        "invocationId": format!("i{}", n / 3),
        "timestamp": (*clock - [0.0, 0.0, 0.0, 1.0, 4.0][random.below(5) as usize]),
    });
    if let Some(branch) = BRANCHES[random.below(9).min(4) as usize].filter(|_| random.below(2) == 0) {
        event["branch"] = branch.into();
    }
    if let Some(scope) = SCOPES[random.below(4) as usize].filter(|_| random.below(3) == 0) {
        event["isolationScope"] = scope.into();
    }
    let call = |random: &mut Random| format!("c{}", random.below(6));
    match random.below(10) {
        0 | 1 => {
            let end = *clock - [0.0, 0.5, 1.0, 3.0][random.below(4) as usize];
            let start = end - [0.0, 1.0, 4.0, 8.0, 1000.0][random.below(5) as usize];
            let in_millis = if random.below(5) == 0 { 1000.0 } else { 1.0 };
            event["actions"] = json!({"compaction": {"startTimestamp": (start * in_millis), "endTimestamp": (end * in_millis),
                "compactedContent": {"role": "model", "parts": [{"text": "summary"}]}}});
        }
        2..=4 => {
            let (one, other) = (call(random), call(random));
            event["content"] = json!({"role": "model", "parts": [{"functionCall": {"id": one, "name": "f"}},
                {"functionCall": {"id": other, "name": "f"}}]});
        }
        5..=7 => {
            let id = call(random);
            event["content"] = json!({"role": "user", "parts": [{"functionResponse": {"id": id, "name": "f"}}]});
        }
        _ => event["content"] = json!({"role": "user", "parts": [{"text": "hello"}]}),
    }
    event
}

fn compaction(id: &str, start: f64, end: f64) -> String {
    json!({"id": id, "author": "user", "timestamp": (end + 0.25), "actions": {"compaction": {"startTimestamp": start,
        "endTimestamp": end, "compactedContent": {"role": "model", "parts": [{"text": id}]}}}})
    .to_string()
}

fn said(n: usize) -> String {
    json!({"id": format!("e{n}"), "author": (["user", "agent"][n % 2]), "invocationId": format!("i{n}"), "timestamp": n,
        "content": {"role": "user", "parts": [{"text": n.to_string()}]}})
    .to_string()
}

async fn effective(server: &Client, query: &str) -> Answer {
    server.get(format!("{EVENTS}?history=effective{query}")).await.expect(200)
}

on_both_databases! {
    async fn what_is_covered_is_left_out(server: &TestServer) {
        server.create("{}").await;
        for n in 1..=4 {
            server.append(said(n)).await;
        }
        server.append(compaction("c1", 1.0, 2.0)).await;
        server.append(said(6)).await;
        assert_eq!(effective(server, "").await.event_ids(), "e3 e4 c1 e6");
        // One that has the first one's range within takes its place.
        server.append(compaction("c2", 1.0, 4.0)).await;
        for (query, left) in [
            ("", "e6 c2"),
            ("&order=desc", "c2 e6"),
            ("&author=user", "e6 c2"),
            ("&author=agent", ""),
            ("&invocationId=i6", "e6"),
            ("&afterSequence=6", "c2"),
            ("&beforeSequence=7", "e6"),
            ("&afterTimestamp=5", "e6"),
            ("&excludeRewound=true", "e6 c2"),
        ] {
            assert_eq!(effective(server, query).await.event_ids(), left, "{query}");
        }
        assert_eq!(server.get(format!("{EVENTS}?history=full")).await.expect(200).event_ids(), "e1 e2 e3 e4 c1 e6 c2");
        for (query, left) in [("", "e6 c2"), ("&numRecentEvents=1", "c2"), ("&numRecentEvents=0", ""), ("&afterTimestamp=5", "e6")] {
            let session = server.get(format!("{ONE}?history=effective{query}")).await.expect(200).json();
            assert_eq!(ids(&session["events"]).join(" "), left, "{query}");
            assert_eq!(session["revision"], 7);
        }
        // A call that was covered comes back with its late answer.
        let part = |part: &str| format!(r#"{{"timestamp":9,"author":"agent","content":{{"parts":[{part}]}}"#);
        server.append(part(r#"{"functionCall":{"id":"x","name":"f"}},{"functionCall":{"id":"y","name":"f"}}"#) + r#","id":"call"}"#).await;
        server.append(part(r#"{"functionResponse":{"id":"y","name":"f"}}"#) + r#","id":"sibling"}"#).await;
        server.append(compaction("c3", 6.0, 9.0)).await;
        assert_eq!(effective(server, "").await.event_ids(), "c2 c3");
        server.append(r#"{"id":"late","timestamp":11,"content":{"parts":[{"functionResponse":{"id":"x","name":"f"}}]}}"#).await;
        assert_eq!(effective(server, "").await.event_ids(), "c2 call sibling c3 late");
        // An event that is dated back into a range was covered before it came.
        server.append(r#"{"id":"back","timestamp":3}"#).await;
        assert_eq!(effective(server, "").await.event_ids(), "c2 call sibling c3 late");
        for bad in ["", "whole", "Effective"] {
            server.get(format!("{EVENTS}?history={bad}")).await.invalid(&["history"]);
            server.get(format!("{ONE}?history={bad}")).await.invalid(&["history"]);
        }
    }

    async fn a_rewind_undoes_compactions(server: &TestServer) {
        server.create("{}").await;
        for n in 1..=3 {
            server.append(said(n)).await;
        }
        server.append(compaction("c1", 1.0, 2.0)).await;
        server.append(said(5)).await;
        server.append(compaction("c2", 1.0, 5.0)).await;
        assert_eq!(effective(server, "").await.event_ids(), "c2");
        server.post(format!("{ONE}/rewind")).json(r#"{"beforeInvocationId":"i5"}"#).await.expect(200);
        assert_eq!(effective(server, "").await.event_ids(), "e3 c1");
        let fork = server.post(format!("{ONE}/fork")).json(r#"{"atRevision":6,"sessionId":"f"}"#).await.expect(201);
        assert_eq!(fork.json()["revision"], 6);
        assert_eq!(server.get(format!("{S}/f?history=effective")).await.expect(200).event_ids(), "c2");
        server.post(format!("{ONE}/rewind")).json(r#"{"toRevision":2}"#).await.expect(200);
        assert_eq!(effective(server, "").await.event_ids(), "e1 e2");
    }

    /// Nanoseconds, or all of time.
    async fn bounds_may_be_any_numbers(server: &TestServer) {
        server.create("{}").await;
        for n in 1..=3 {
            server.append(said(n)).await;
        }
        for (n, (start, end)) in [(0.0, 1e16), (-1e300, 1e300), (1.7e18, 1.8e18), (-1e18, -1e17)].into_iter().enumerate() {
            let mut event: Value = serde_json::from_str(&compaction(&format!("c{n}"), start, end)).unwrap();
            event["timestamp"] = json!(10 + n);
            server.append(event.to_string()).await;
            assert_ne!(effective(server, "").await.event_ids(), "", "{start} to {end}");
            assert_ne!(effective(server, "&pageSize=1&order=desc").await.event_ids(), "");
        }
    }

    async fn a_page_token_keeps_to_its_history(server: &TestServer) {
        server.create("{}").await;
        for n in 1..=6 {
            server.append(said(n)).await;
        }
        server.append(compaction("c1", 1.0, 1.0)).await;
        let mut page = effective(server, "&pageSize=2&order=desc").await;
        assert_eq!(page.event_ids(), "c1 e6");
        server.append(compaction("c2", 1.0, 6.0)).await;
        let mut rest = Vec::new();
        while let Some(token) = page.json()["nextPageToken"].as_str() {
            page = effective(server, &format!("&pageSize=2&order=desc&pageToken={token}")).await;
            assert_eq!(page.json()["revision"], 7, "that of the first page");
            rest.push(page.event_ids());
        }
        assert_eq!(rest.join(" "), "e5 e4 e3 e2", "a compaction came, and took no event from between two pages");
        assert_eq!(effective(server, "").await.event_ids(), "c2");
        let token = effective(server, "&pageSize=1&afterSequence=0").await;
        assert!(token.json().get("nextPageToken").is_none());
    }

    async fn a_trimmed_compaction_covers_nothing(server: &TestServer) {
        server.create("{}").await;
        server.append(said(1)).await;
        server.append(compaction("c1", 1.0, 100.0)).await;
        server.append(said(3)).await;
        server.append(said(4)).await;
        assert_eq!(effective(server, "").await.event_ids(), "c1");
        for n in 5..400 {
            server.append(said(n)).await;
        }
        assert_eq!(effective(server, "&pageSize=1").await.event_ids(), "c1");
        server.post(format!("{ONE}/trim")).json(r#"{"beforeSequence":4}"#).await.expect(200);
        assert_eq!(effective(server, "&pageSize=2").await.event_ids(), "e4 e5");
        server.until_swept().await;
        assert_eq!(effective(server, "&pageSize=2").await.event_ids(), "e4 e5");
        server.append(compaction("c2", 4.0, 398.0)).await;
        assert_eq!(effective(server, "").await.event_ids(), "e399 c2");
    }

    async fn the_rule_holds_whatever_happens(server: &TestServer) {
        let mut random = Random::new();
        for round in 0..4 {
            let seed = random.below(1 << 32);
            let mut random = Random(seed);
            let path = format!("{S}/r{round}");
            server.put(&path).await.expect(201);
            let (mut clock, mut n) = (1000.0, 0);
            for step in 0..12 {
                match random.below(10) {
                    0 if n > 3 => {
                        let to = random.below(n);
                        let rewound = server.post(format!("{path}/rewind")).json(format!(r#"{{"toRevision":{to}}}"#)).await;
                        assert!([200, 410].contains(&rewound.status()), "{}", rewound.text());
                    }
                    1 => {
                        let copy = format!("f{round}-{step}");
                        let fork = json!({"sessionId": copy}).to_string();
                        server.post(format!("{path}/fork")).json(fork).await.expect(201);
                        assert_rule(server, &format!("{S}/{copy}"), seed, 1 + random.below(9)).await;
                    }
                    2 => {
                        let keep = json!({"keepLast": 1 + random.below(30)}).to_string();
                        server.post(format!("{path}/trim")).json(keep).await.expect(200);
                        if random.below(2) == 0 {
                            server.until_swept().await;
                        }
                    }
                    3 => {
                        let lines = exported(server, &format!("{path}/export")).await;
                        server.delete(&path).await.expect(204);
                        assert_all(&import(server, "", &lines).await, "created", 1);
                    }
                    4 => {
                        let log = server.get(format!("{path}/events?pageSize=1000")).await.expect(200).json();
                        for id in ids(&log["events"]).into_iter().filter(|_| random.below(4) == 0) {
                            server.post(format!("{path}/events/{id}/redact")).await.expect(200);
                        }
                    }
                    _ => {
                        let count = [1, 3, 10, 60][random.below(4) as usize];
                        let events: Vec<Value> = (0..count).map(|_| { n += 1; event(&mut random, n, &mut clock) }).collect();
                        append(server, &path, &json!(events)).await;
                    }
                }
                assert_rule(server, &path, seed, 1 + random.below(9)).await;
            }
        }
    }

    async fn each_answer_is_that_of_its_revision(server: &TestServer) {
        server.create("{}").await;
        let (mut random, mut clock) = (Random::new(), 1000.0);
        let events: Vec<Value> = (0..150).map(|n| event(&mut random, n, &mut clock)).collect();
        let writing = async {
            for events in events.chunks(3) {
                append(server, ONE, &json!(events)).await;
            }
        };
        let reading = async {
            let mut seen = Vec::new();
            while seen.last().is_none_or(|(revision, _)| *revision < 150) {
                let session = server.get(format!("{ONE}?history=effective")).await.expect(200).json();
                seen.push((session["revision"].as_u64().unwrap(), ids(&session["events"])));
            }
            seen
        };
        let ((), seen, others) = tokio::join!(writing, reading, reading_too(server));
        for (revision, found) in seen.into_iter().chain(others) {
            assert_eq!(found, rule(&events[..revision as usize]), "at {revision}");
        }
    }
}

async fn reading_too(server: &Client) -> Vec<(u64, Vec<String>)> {
    let mut seen: Vec<(u64, Vec<String>)> = Vec::new();
    while seen.last().is_none_or(|(revision, _)| *revision < 150) {
        let page = server.get(format!("{EVENTS}?history=effective&pageSize=1000")).await.expect(200).json();
        seen.push((page["revision"].as_u64().unwrap(), ids(&page["events"])));
    }
    seen
}
