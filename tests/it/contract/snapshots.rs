//! The exact text of every kind of error body, on both databases: `tests/it/snapshots/errors.json`.
//!
//! Clients match on `code` and people read the rest, so every change must be visible in review.

use std::fmt::Write as _;
use std::path::Path;

use serde_json::{Value, json};

use crate::support::client::{APP_STATE, Answer, Client, EVENTS, ONE, S, STATE};
use crate::support::databases::on_both_databases;
use crate::support::server::TestServer;

const GOLDEN: &str = "tests/it/snapshots/errors.json";
const UPDATE: &str = "UPDATE_SNAPSHOTS";

/// Title, method, path, body, and a header.
type Case = (&'static str, &'static str, String, Option<&'static str>, Option<(&'static str, &'static str)>);

fn cases() -> Vec<Case> {
    let below = |parent: &str, rest: &str| format!("{parent}{rest}");
    let case = |title, method, path: &str, body| (title, method, path.to_owned(), body, None);
    let event = |title, body| (title, "POST", EVENTS.to_owned(), Some(body), None);
    vec![
        case("not JSON", "POST", S, Some("{'a':1}")),
        case("truncated JSON", "POST", S, Some(r#"{"state":{"k""#)),
        case("data after the body", "POST", S, Some("{} {}")),
        case("no body", "PATCH", ONE, None),
        case("no such session", "GET", &below(S, "/none"), None),
        case("no such session, to write", "POST", &below(S, "/none/events"), Some("{}")),
        case("no such event", "GET", &below(EVENTS, "/none"), None),
        case("no such state key", "GET", &below(STATE, "/none"), None),
        case("no such path", "GET", "/v1/nothing", None),
        case("no such path, to write", "POST", "/v1/nothing", None),
        case("no such method", "PUT", APP_STATE, Some("{}")),
        case("session exists", "POST", S, Some(r#"{"sessionId":"s"}"#)),
        event("event id taken", r#"{"id":"e","author":"other"}"#),
        ("If-Match of a session", "POST", EVENTS.to_owned(), Some("{}"), Some(("if-match", "\"0\""))),
        ("If-Match of a scope", "PATCH", APP_STATE.to_owned(), Some("{}"), Some(("if-match", "\"7\""))),
        ("If-Match that is no tag", "POST", EVENTS.to_owned(), Some("{}"), Some(("if-match", "7"))),
        ("If-None-Match that is no tag", "GET", ONE.to_owned(), None, Some(("if-none-match", "7"))),
        ("Idempotency-Key that is no id", "POST", EVENTS.to_owned(), Some("{}"), Some(("idempotency-key", ".."))),
        ("Idempotency-Key for several", "POST", EVENTS.to_owned(), Some("[{}]"), Some(("idempotency-key", "k"))),
        (
            "Idempotency-Key against eventId",
            "PATCH",
            STATE.to_owned(),
            Some(r#"{"eventId":"a"}"#),
            Some(("idempotency-key", "b")),
        ),
        case("body too large", "POST", S, Some(LARGE_BODY)),
        event("event too large", LARGE_EVENT),
        case("value too large", "PATCH", STATE, Some(LARGE_VALUE)),
        event("batch too large", "[{},{},{}]"),
        event("empty batch", "[]"),
        (
            "form type",
            "POST",
            EVENTS.to_owned(),
            Some("{}"),
            Some(("content-type", "application/x-www-form-urlencoded")),
        ),
        ("other type", "POST", EVENTS.to_owned(), Some("{}"), Some(("content-type", "text/plain"))),
        (
            "other charset",
            "POST",
            EVENTS.to_owned(),
            Some("{}"),
            Some(("content-type", "application/json; charset=latin1")),
        ),
        ("no type", "POST", EVENTS.to_owned(), Some("{}"), Some(("content-type", ""))),
        case("unknown field", "POST", S, Some(r#"{"bogus":1}"#)),
        case("both spellings", "POST", S, Some(r#"{"sessionId":"a","session_id":"a"}"#)),
        case(
            "several faults",
            "POST",
            S,
            Some(r#"{"sessionId":7,"state":[],"events":[{"id":""}],"labels":{"A":""},"ttl":"1h"}"#),
        ),
        case("body is no object", "PATCH", STATE, Some("7")),
        case("ttl and expireTime", "PATCH", ONE, Some(r#"{"ttl":1,"expireTime":1}"#)),
        event("milliseconds by mistake", r#"{"timestamp":1763719000123}"#),
        event("no time", r#"{"timestamp":"yesterday"}"#),
        event("wrong types in an event", r#"{"id":7,"author":7,"partial":7,"actions":7}"#),
        event("event is no object", "[7]"),
        event("operator", r#"{"actions":{"stateOps":[{"op":"bogus","key":"k"}]}}"#),
        event("unpaired surrogate", r#"{"content":{"a/b":["\ud800"]}}"#),
        event("number beyond a double", r#"{"actions":{"stateDelta":{"k":1e400}}}"#),
        event("duplicate key", r#"{"actions":{"stateDelta":{"k":1,"k":2}}}"#),
        event("U+0000 in a key", r#"{"actions":{"stateDelta":{"a\u0000":1}}}"#),
        case("prefix in a scope", "PATCH", APP_STATE, Some(r#"{"stateDelta":{"app:k":1}}"#)),
        case("temp: key", "PUT", &below(STATE, "/temp:k"), Some("1")),
        case("unknown parameter", "GET", &below(ONE, "?bogus=1"), None),
        case(
            "parameters of the wrong kind",
            "GET",
            &below(EVENTS, "?order=up&pageSize=0&afterTimestamp=x&author=%zz"),
            None,
        ),
        case("page too large", "GET", &below(S, "?pageSize=1001"), None),
        case("parameter twice", "GET", &below(S, "?order=asc&order=asc"), None),
        case("negative count", "GET", &below(ONE, "?numRecentEvents=-1"), None),
        case("label name", "GET", &below(S, "?label.A=1"), None),
        case("page token", "GET", &below(S, "?pageToken=00"), None),
        case("app name with a control character", "GET", "/v1/apps/a%0A/users", None),
        case("blank session id", "GET", &below(S, "/%20"), None),
        case("bad escape", "GET", "/v1/apps/%zz/users", None),
        case("empty segment", "GET", "/v1/apps//users", None),
    ]
}

const LARGE_BODY: &str = concat!(
    r#"{"displayName":"0123456789012345678901234567890123456789012345678901234567890123456789"#,
    r#"0123456789012345678901234567890123456789012345678901234567890123456789012345678901234567"}"#
);
const LARGE_EVENT: &str =
    r#"{"x":"01234567890123456789012345678901234567890123456789012345678901234567890123456789012345"}"#;
const LARGE_VALUE: &str = r#"{"stateDelta":{"k":"012345678901234567890123456789012345678901234567890"}}"#;

async fn ask(server: &Client, (_, method, path, body, header): &Case) -> Answer {
    let mut request = server.request(method.parse().expect("a method"), path);
    if let Some(body) = body {
        request = match header {
            Some(("content-type", "")) => request.body_without_type(body),
            Some(("content-type", value)) => request.body(value, *body),
            _ => request.json(*body),
        };
    }
    if let Some((name, value)) = header
        && *name != "content-type"
    {
        request = request.header(name, value);
    }
    request.await
}

/// What the file holds of one case.
fn entry(case: &Case, answer: &Answer) -> Value {
    let (title, method, path, body, header) = case;
    let mut body_of_answer = answer.json();
    body_of_answer["requestId"] = json!("REQUEST-ID");
    let mut request = json!({ "line": format!("{method} {path}") });
    if let Some(body) = body {
        request["body"] = json!(body);
    }
    if let Some((name, value)) = header {
        request["header"] = json!(format!("{name}: {value}"));
    }
    json!({ "case": title, "request": request, "status": answer.status, "answer": body_of_answer })
}

fn lines(entries: &[Value]) -> Vec<String> {
    let text = serde_json::to_string_pretty(entries).expect("JSON");
    text.lines().map(str::to_owned).collect()
}

/// The lines that differ, by the longest common subsequence.
fn diff(old: &[String], new: &[String]) -> String {
    let mut common = vec![vec![0; new.len() + 1]; old.len() + 1];
    for (i, was) in old.iter().enumerate().rev() {
        for (j, is) in new.iter().enumerate().rev() {
            common[i][j] = if was == is { common[i + 1][j + 1] + 1 } else { common[i + 1][j].max(common[i][j + 1]) };
        }
    }
    let (mut i, mut j, mut out) = (0, 0, String::new());
    while i < old.len() || j < new.len() {
        if i < old.len() && j < new.len() && old[i] == new[j] {
            (i, j) = (i + 1, j + 1);
        } else if j == new.len() || (i < old.len() && common[i + 1][j] >= common[i][j + 1]) {
            let _ = writeln!(out, "{:>5} -{}", i + 1, old[i]);
            i += 1;
        } else {
            let _ = writeln!(out, "{:>5} +{}", j + 1, new[j]);
            j += 1;
        }
    }
    out
}

on_both_databases! {
    async fn every_error_body_is_as_agreed(server: &TestServer)
        with ["--max-value-bytes=50", "--max-event-bytes=90", "--max-body-bytes=170", "--max-batch-events=2"]
    {
        server.create(r#"{"events":[{"id":"e"}]}"#).await;
        let mut entries = Vec::new();
        for case in cases() {
            entries.push(entry(&case, &ask(server, &case).await));
        }
        // Whatever was asked, nothing was done.
        assert_eq!(server.get(ONE).await.json()["revision"], 1);
        let path = Path::new(crate::support::ROOT).join(GOLDEN);
        let new = lines(&entries);
        if std::env::var_os(UPDATE).is_some() {
            std::fs::write(&path, new.join("\n") + "\n").expect("write the golden file");
            return;
        }
        let old = std::fs::read_to_string(&path).unwrap_or_default();
        let old: Vec<String> = old.lines().map(str::to_owned).collect();
        assert!(
            old == new,
            "error bodies differ from {GOLDEN}:\n{}\nIf that is meant, run the tests with {UPDATE}=1 and commit the file.",
            diff(&old, &new)
        );
    }
}
