//! `openapi.yaml` and `openapi-adk.yaml` are valid, and strict enough to detect an answer that differs from
//! the description.

use std::collections::{BTreeSet, HashSet};

use serde_json::{Value, json};

use crate::support::{
    client::Client,
    process::Sessiond,
    schema::{against, check_answer, codes, document, documents},
};

#[test]
fn the_paths_of_adk_are_described_apart() {
    let [native, adk] = documents();
    let is_adk = |path: &&String| !path.starts_with("/v1/");
    let paths = |document: &Value| document["paths"].as_object().expect("paths").keys().cloned().collect::<Vec<_>>();
    let foreign: Vec<String> = paths(&native).iter().filter(is_adk).cloned().collect();
    assert_eq!(foreign, ["/healthz", "/readyz", "/openapi.yaml", "/openapi-adk.yaml", "/docs"]);
    assert!(paths(&adk).iter().all(|path| is_adk(&path)));
    assert!(!native["components"].to_string().contains("Adk"));
}

fn operations() -> impl Iterator<Item = (&'static str, &'static str, &'static Value)> {
    let paths = document()["paths"].as_object().expect("paths");
    paths.iter().flat_map(|(path, item)| {
        let item = item.as_object().expect("a path item");
        item.iter().map(|(method, operation)| (path.as_str(), method.as_str(), operation))
    })
}

fn walk<'a>(value: &'a Value, visit: &mut dyn FnMut(&'a Value)) {
    visit(value);
    match value {
        Value::Object(members) => members.values().for_each(|value| walk(value, visit)),
        Value::Array(items) => items.iter().for_each(|value| walk(value, visit)),
        _ => {}
    }
}

#[test]
fn operation_ids_are_unique_and_every_get_has_its_head() {
    let mut ids = HashSet::new();
    for (path, method, operation) in operations() {
        let id = operation["operationId"].as_str().expect("an operationId");
        assert!(ids.insert(id), "{id} twice");
        if method == "get" {
            assert!(!document()["paths"][path]["head"].is_null(), "{path}");
        }
    }
    assert!(ids.len() > 20);
}

#[test]
fn every_reference_resolves_and_every_component_is_used() {
    for document in &documents() {
        let mut used = HashSet::new();
        walk(document, &mut |value| {
            if let Some(reference) = value["$ref"].as_str() {
                let pointer = reference.strip_prefix('#').expect("a local reference");
                assert!(document.pointer(pointer).is_some(), "{reference}");
                used.insert(pointer);
            }
        });
        for (kind, components) in document["components"].as_object().expect("components") {
            for name in components.as_object().expect("components of a kind").keys() {
                if kind == "securitySchemes" {
                    assert!(document["security"][0].get(name).is_some(), "{name} is never asked for");
                    continue;
                }
                assert!(used.contains(&*format!("/components/{kind}/{name}")), "{kind}/{name} is never used");
            }
        }
    }
}

#[test]
fn every_parameter_of_a_path_is_described() {
    for (path, _, operation) in operations() {
        let described: HashSet<&str> = operation["parameters"]
            .as_array()
            .expect("parameters")
            .iter()
            .map(|parameter| match parameter["$ref"].as_str() {
                Some(reference) => document().pointer(&reference[1..]).expect("resolves"),
                None => parameter,
            })
            .filter(|parameter| parameter["in"] == "path")
            .filter_map(|parameter| parameter["name"].as_str())
            .collect();
        let named: HashSet<&str> =
            path.split('/').filter_map(|segment| segment.strip_prefix('{')?.strip_suffix('}')).collect();
        assert_eq!(described, named, "{path}");
    }
}

/// What generators of clients stumble over; `scripts/openapi-client` runs one.
#[test]
fn schemas_are_such_that_clients_can_be_generated() {
    walk(document(), &mut |value| {
        for part in ["items", "not", "schema"] {
            assert!(!value[part].is_boolean(), "a boolean schema: {value}");
        }
        for part in ["allOf", "anyOf"] {
            assert!(value[part].as_array().into_iter().flatten().all(Value::is_object), "a boolean schema: {value}");
        }
        for part in ["properties", "patternProperties", "schemas"] {
            assert!(value[part].as_object().into_iter().flatten().all(|(_, of)| of.is_object()), "{value}");
        }
        let is_array =
            value["type"] == "array" || value["type"].as_array().is_some_and(|t| t.contains(&"array".into()));
        assert!(!is_array || value["items"].is_object(), "an array of what? {value}");
        let words = value["enum"].as_array().map_or(&[][..], Vec::as_slice);
        assert!(value["$ref"].is_null() || value.as_object().is_some_and(|members| members.len() == 1), "{value}");
        let lone = value["const"].is_boolean() || matches!(words, [Value::Bool(_)]);
        assert!(!lone, "a boolean of one value: {value}");
    });
    // openapi-typescript makes of them a type to which no literal can be assigned.
    walk(&document()["components"]["schemas"], &mut |value| assert!(value["patternProperties"].is_null(), "{value}"));
    // Generators have one name for the type of a schema and for that of a parameter, and one of their own.
    let names = |kind: &str| {
        document()["components"][kind].as_object().expect("components").keys().map(|name| name.to_lowercase())
    };
    let schemas: HashSet<String> = names("schemas").collect();
    assert!(!schemas.contains("client") && names("parameters").all(|name| !schemas.contains(&name)));
    for (_, method, operation) in operations() {
        for (status, answer) in operation["responses"].as_object().expect("responses") {
            let answer = answer["$ref"].as_str().map_or(answer, |at| document().pointer(&at[1..]).expect("resolves"));
            if status.as_str() >= "400" && method != "head" {
                // One type for all errors.
                let schema = &answer["content"]["application/problem+json"]["schema"];
                assert_eq!(schema["$ref"], "#/components/schemas/Problem", "{answer}");
                assert!(answer["x-codes"].as_array().is_some_and(|codes| !codes.is_empty()), "{answer}");
            }
        }
    }
    assert_eq!(document()["components"]["schemas"]["Problem"]["properties"]["status"], json!({"type": "integer"}));
}

#[test]
fn examples_are_valid() {
    let schemas = document()["components"]["schemas"].as_object().expect("schemas");
    for (name, schema) in schemas {
        for example in schema["examples"].as_array().into_iter().flatten() {
            against(name, example).unwrap_or_else(|fault| panic!("{name}: {fault}"));
        }
    }
}

/// docs/errors.md lists what the description does, and what is answered before there is an operation to describe.
#[test]
fn the_table_of_errors_is_complete() {
    let section = include_str!("../../docs/errors.md");
    let mut listed = BTreeSet::new();
    for row in section.lines().filter(|line| line.starts_with("| `")) {
        let mut cells = row.split('|').map(str::trim).skip(1);
        let (codes, status) = (cells.next().expect("codes"), cells.next().expect("a status"));
        let status: u16 = status.parse().unwrap_or_else(|_| panic!("no status in {row}"));
        listed.extend(codes.split(", ").map(|code| (code.trim_matches('`').to_owned(), status)));
    }
    let mut expected = codes().clone();
    expected.extend([("uri_too_long".to_owned(), 414), ("header_fields_too_large".to_owned(), 431)]);
    assert_eq!(listed, expected);
}

/// What the server takes and refuses, the schemas take and refuse, where JSON Schema can tell.
#[test]
fn schemas_of_requests_are_as_strict_as_the_server() {
    for (schema, instance) in [
        ("CreateSession", json!({})),
        ("CreateSession", json!({"sessionId": "  ", "state": null, "ttl": null, "expireTime": 1})),
        ("CreateSession", json!({"sessionId": "\ts 1\n", "displayName": "n", "expireTime": "2030-01-01T00:00:00Z"})),
        ("CreateSession", json!({"ttl": "0.5s", "labels": {"a.b-c_1": ""}, "events": [{"invocation_id": "i"}]})),
        ("GetOrCreateSession", json!({"state": {"": 1, ":": 2, "app:": null}})),
        ("UpdateSession", json!({"ttl": 1e-6, "displayName": null})),
        ("AppendEvents", json!([{"id": "…/ü", "timestamp": "1970-01-01T00:00:00Z", "x": {"y": 1}}])),
        ("PatchState", json!({"stateOps": [{"op": "remove", "key": "app:k"}], "eventId": "e"})),
        (
            "PatchState",
            json!({"stateOps": [{"op": "set", "key": "k", "value": null}, {"op": "merge", "key": "k", "value": {}}]}),
        ),
        ("PatchState", json!({"preconditions": [{"key": "k", "revision": 0}, {"key": "app:k", "equals": null}]})),
        ("PatchScope", json!({"stateOps": [{"op": "increment", "key": "k", "value": 1.5}]})),
        ("ForkSession", json!({"sessionId": " ", "atRevision": 3})),
        ("RewindSession", json!({"beforeInvocationId": "i"})),
        ("PatchScope", json!({"stateDelta": {"temp": 1, "a:b": 2}})),
        ("Render", json!({"template": "", "braces": null, "missing": "keep"})),
        ("SessionId", json!("...")),
        ("SessionId", json!("\u{3000}s\u{85}")),
    ] {
        against(schema, &instance).unwrap_or_else(|fault| panic!("{schema} {instance}: {fault}"));
    }
    for (schema, instance) in [
        ("CreateSession", json!({"bogus": 1})),
        ("CreateSession", json!({"ttl": 1, "expireTime": 1})),
        ("CreateSession", json!({"expireTime": "tomorrow"})),
        ("CreateSession", json!({"ttl": "0s"})),
        ("CreateSession", json!({"labels": {"UPPER": "x"}})),
        ("CreateSession", json!({"expireTime": 1_763_719_000_123_i64})),
        ("GetOrCreateSession", json!({"sessionId": "a"})),
        ("AppendEvents", json!([])),
        ("AppendEvents", json!({"id": "."})),
        ("AppendEvents", json!({"id": "tab\t"})),
        ("AppendEvents", json!({"actions": {"stateDelta": {"k".repeat(513): 1}}})),
        ("PatchState", json!({"stateOps": [{"op": "increment", "key": "k"}]})),
        ("PatchState", json!({"stateOps": [{"op": "append", "key": "k", "value": 1}]})),
        ("PatchState", json!({"stateOps": [{"op": "remove", "key": "k", "value": 1}]})),
        ("PatchState", json!({"preconditions": [{"key": "k", "revision": 1, "exists": true}]})),
        ("PatchScope", json!({"stateOps": [{"op": "remove", "key": "app:k"}]})),
        ("ForkSession", json!({"atRevision": -1})),
        ("RewindSession", json!({})),
        ("PatchState", json!({"stateOps": [{"op": "remove", "key": "temp:k"}]})),
        ("PatchScope", json!({"stateDelta": {"app:k": 1}})),
        ("Render", json!({"braces": "adk"})),
        ("Render", json!({"template": "", "missing": "warn"})),
        ("SessionId", json!(" ")),
        ("SessionId", json!(" .. ")),
        ("Id", json!("\u{85}")),
    ] {
        assert!(against(schema, &instance).is_err(), "{schema} {instance}");
    }
}

const SESSION: &str = "/v1/apps/a/users/u/sessions/s";

fn answer(method: &str, path: &str, status: u16, content_type: Option<&str>, body: &str) {
    let headers = |name: &str| match name {
        "x-request-id" => Some("r".to_owned()),
        "ETag" => Some("\"1.0.0.abc\"".to_owned()),
        _ => None,
    };
    check_answer(method, path, status, content_type, &headers, body.as_bytes());
}

fn problem(status: u16, code: &str) -> String {
    json!({"type": "urn:x", "title": "t", "status": status, "detail": "d", "code": code, "requestId": "r"}).to_string()
}

const JSON: Option<&str> = Some("application/json");
const PROBLEM: Option<&str> = Some("application/problem+json");

#[test]
fn a_good_answer_passes() {
    answer("GET", &format!("{SESSION}/state?keys=a%2Fb"), 200, JSON, r#"{"a":1}"#);
    answer("HEAD", &format!("{SESSION}/state"), 200, JSON, "");
    answer("GET", &format!("{SESSION}/state/app%3Ak"), 304, None, "");
    answer("GET", &format!("{SESSION}/state/k"), 404, PROBLEM, &problem(404, "state_key_not_found"));
    answer("GET", "/nothing", 404, PROBLEM, &problem(404, "not_found"));
    answer("PUT", "/v1/apps", 405, PROBLEM, &problem(405, "method_not_allowed"));
    answer("GET", "/docs", 200, Some("text/html; charset=utf-8"), "<html>");
}

#[test]
#[should_panic = "the status is not listed"]
fn a_status_that_is_not_listed_fails() {
    answer("GET", SESSION, 418, JSON, "{}");
}

#[test]
#[should_panic = "the content type text/plain is not listed"]
fn a_foreign_content_type_fails() {
    answer("GET", "/healthz", 200, Some("text/plain"), "ok");
}

#[test]
#[should_panic = "events"]
fn a_body_without_a_promised_field_fails() {
    let body = r#"{"id":"s","appName":"a","userId":"u","revision":0,"createTime":1,"lastUpdateTime":1,"state":{}}"#;
    answer("GET", SESSION, 200, JSON, body);
}

#[test]
#[should_panic = "event_not_found"]
fn a_code_of_another_operation_fails() {
    answer("GET", SESSION, 404, PROBLEM, &problem(404, "event_not_found"));
}

#[test]
#[should_panic = "the header Retry-After is missing"]
fn a_missing_header_fails() {
    answer("GET", SESSION, 503, PROBLEM, &problem(503, "overloaded"));
}

#[test]
#[should_panic = "is not JSON"]
fn a_cut_body_fails() {
    answer("GET", "/healthz", 200, JSON, "{\"status\":");
}

/// Every operation that is described is there, and answers as described: to a request with nothing but the path's
/// examples, and then to one that it must refuse.
#[tokio::test]
async fn every_operation_is_served() {
    let mut server = Sessiond::spawn(&["serve", "--listen", "127.0.0.1:0", "--metrics-listen", "off"], &[]);
    let base = server.base_url().await;
    let http = Client::connections();
    for (template, method, operation) in operations() {
        // A server of ADK ignores parameters that it does not know, and so do its paths here; and whoever checks the health of a server
        // may say who it is.
        let lenient = operation["tags"][0] == "ADK" || ["/healthz", "/readyz"].contains(&template);
        let parameters = document()["components"]["parameters"].as_object().expect("parameters");
        let path =
            parameters.values().filter(|parameter| parameter["in"] == "path").fold(template.to_owned(), |path, p| {
                path.replace(
                    &format!("{{{}}}", p["name"].as_str().expect("a name")),
                    p["example"].as_str().expect("an example"),
                )
            });
        for query in ["", "?bogus=1"] {
            let url = format!("{}{path}{query}", base);
            let method: reqwest::Method = method.to_uppercase().parse().expect("a method");
            let response = http.request(method.clone(), url).send().await.expect("an answer");
            let (status, headers) = (response.status().as_u16(), response.headers().clone());
            let header = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
            let body = response.bytes().await.expect("a body");
            check_answer(method.as_str(), &path, status, header("content-type").as_deref(), &header, &body);
            assert!(
                query.is_empty() || lenient || status == 422,
                "{method} {path} took a parameter that it does not know"
            );
            let text = String::from_utf8_lossy(&body);
            // What is at the path may not be there.
            let is_served = !text.contains("\"not_found\"") || text.contains("there is no such erasure");
            assert!(is_served && status != 405, "{method} {path} is not served: {text}");
        }
    }
}

/// A bad request is refused, whatever the client has.
#[tokio::test]
async fn a_page_size_is_checked_before_the_tag() {
    let mut server = Sessiond::spawn(&["serve", "--listen", "127.0.0.1:0", "--metrics-listen", "off"], &[]);
    let base = server.base_url().await;
    let url = format!("{}{SESSION}", base);
    let http = Client::connections();
    assert_eq!(http.put(&url).send().await.expect("an answer").status(), 201);
    for (size, status) in [("1000", 304), ("1001", 422)] {
        let request = http.get(format!("{url}/events?pageSize={size}")).header("if-none-match", "*");
        assert_eq!(request.send().await.expect("an answer").status(), status, "{size}");
    }
}
