//! Validates real answers against `openapi.yaml` and `openapi-adk.yaml`.

use std::{
    collections::{BTreeSet, HashMap},
    sync::{Arc, Mutex, OnceLock, PoisonError},
};

use jsonschema::{Draft, Validator};
use serde_json::{Value, json};

use super::client::is_file;

/// Both committed descriptions, merged.
pub fn document() -> &'static Value {
    static DOCUMENT: OnceLock<Value> = OnceLock::new();
    DOCUMENT.get_or_init(|| {
        let [mut whole, adk] = documents();
        for path in
            ["/paths", "/components/parameters", "/components/headers", "/components/responses", "/components/schemas"]
        {
            let members = whole.pointer_mut(path).and_then(Value::as_object_mut).expect("an object");
            for (name, value) in adk.pointer(path).and_then(Value::as_object).expect("an object") {
                let there = members.insert(name.clone(), value.clone());
                assert!(there.is_none_or(|there| there == *value), "{path}/{name} is another one in openapi-adk.yaml");
            }
        }
        whole
    })
}

/// The description of the API, and that of ADK's paths.
pub fn documents() -> [Value; 2] {
    [include_str!("../../../openapi.yaml"), include_str!("../../../openapi-adk.yaml")]
        .map(|yaml| serde_saphyr::from_str(yaml).expect("YAML"))
}

/// Validates an answer of the server: its status is listed for the operation, each promised header is there, and
/// content type and body match the description. `path` is the request's, as sent; a query is ignored. An answer to a
/// request that is no operation must be a problem with 400, 401, 403, 404, 405 or 422, the 204 of a preflight, or a
/// page for people.
///
/// Panics with the difference.
pub fn check_answer(
    method: &str,
    path: &str,
    status: u16,
    content_type: Option<&str>,
    headers: &dyn Fn(&str) -> Option<String>,
    body: &[u8],
) {
    if let Err(fault) = answer_fault(method, path, status, content_type, headers, body) {
        let body = String::from_utf8_lossy(&body[..body.len().min(2000)]);
        panic!("{method} {path} answered {status}, against openapi.yaml: {fault}\n{body}");
    }
}

fn answer_fault(
    method: &str,
    path: &str,
    status: u16,
    content_type: Option<&str>,
    headers: &dyn Fn(&str) -> Option<String>,
    body: &[u8],
) -> Result<(), String> {
    let media_type = content_type.map(|value| value.split(';').next().unwrap_or_default().trim());
    let Some(operation) = operation(method, path) else {
        if method == "OPTIONS" && status == 204 && body.is_empty() {
            return Ok(());
        }
        // Pages for people are not in the description.
        if matches!(status, 200 | 304 | 308) && (path == "/" || path.starts_with("/console")) {
            return Ok(());
        }
        if !matches!(status, 400 | 401 | 403 | 404 | 405 | 422) || media_type != Some("application/problem+json") {
            return Err("no operation is described there, and this is not a problem that says so".to_owned());
        }
        return if method == "HEAD" { Ok(()) } else { body_fault("/components/schemas/Problem", body) };
    };
    let at = format!("{operation}/responses/{status}");
    if document().pointer(&at).is_none() {
        return Err("the status is not listed".to_owned());
    }
    let at = resolved(at);
    for name in at_pointer(&format!("{at}/headers")).as_object().into_iter().flat_map(|headers| headers.keys()) {
        let header = resolved(format!("{at}/headers/{}", escaped(name)));
        match headers(name) {
            Some(value) => {
                fault(&format!("{header}/schema"), &Value::from(value)).map_err(|e| format!("{name}: {e}"))?
            }
            None if at_pointer(&format!("{header}/required")) == &Value::Bool(true) => {
                return Err(format!("the header {name} is missing"));
            }
            None => {}
        }
    }
    let Some(content) = at_pointer(&format!("{at}/content")).as_object() else {
        return if body.is_empty() { Ok(()) } else { Err("there is a body".to_owned()) };
    };
    let media_type = media_type.ok_or("there is no content type")?;
    // A file, of any type.
    if content.contains_key("application/octet-stream") && is_file(method, path) {
        return Ok(());
    }
    if !content.contains_key(media_type) {
        return Err(format!("the content type {media_type} is not listed"));
    }
    if method == "HEAD" {
        return if body.is_empty() { Ok(()) } else { Err("there is a body".to_owned()) };
    }
    let schema = format!("{at}/content/{}/schema", escaped(media_type));
    if media_type == "application/json" || media_type.ends_with("+json") {
        body_fault(&schema, body)?;
        problem_fault(status, at_pointer(&format!("{at}/x-codes")), body)
    } else {
        let text = std::str::from_utf8(body).map_err(|_| "the body is not UTF-8")?;
        fault(&schema, &Value::from(text))
    }
}

/// The codes of errors with their statuses: those of the operations, and those of unknown paths and methods.
pub fn codes() -> &'static BTreeSet<(String, u16)> {
    static CODES: OnceLock<BTreeSet<(String, u16)>> = OnceLock::new();
    CODES.get_or_init(|| {
        let paths = document()["paths"].as_object().expect("paths").values();
        let operations = paths.flat_map(|path| path.as_object().expect("operations").values());
        let answers = operations.filter_map(|operation| operation["responses"].as_object()).flatten();
        let mut codes = BTreeSet::from([("not_found".to_owned(), 404), ("method_not_allowed".to_owned(), 405)]);
        for (status, answer) in answers.filter(|(status, _)| status.as_str() >= "400") {
            let answer = answer["$ref"].as_str().map_or(answer, |at| at_pointer(&at[1..]));
            let listed = &answer["x-codes"];
            let listed = listed.as_array().into_iter().flatten().filter_map(Value::as_str);
            codes.extend(listed.map(|code| (code.to_owned(), status.parse().expect("a status"))));
        }
        codes
    })
}

/// The pointer of the operation that a request addresses. If two paths match, the one with more words of its own.
fn operation(method: &str, path: &str) -> Option<String> {
    let path = path.split(['?', '#']).next().unwrap_or_default();
    let segments: Vec<&str> = path.split('/').collect();
    let fits = |template: &&String| {
        let mut parts: Vec<&str> = template.split('/').collect();
        // At ADK's paths, the name of an artifact may have slashes.
        let may_be_empty = template.contains("{artifact}") && !path.ends_with('/');
        let several = parts.iter().position(|part| template.starts_with("/apps/") && *part == "{artifact}");
        while let Some(at) = several.filter(|_| parts.len() < segments.len()) {
            parts.insert(at, "{artifact}");
        }
        parts.len() == segments.len()
            && parts.iter().zip(&segments).all(|(part, segment)| {
                part == segment || part.starts_with('{') && (!segment.is_empty() || may_be_empty)
            })
    };
    let paths = document()["paths"].as_object().expect("paths");
    let words = |template: &&String| template.split('/').filter(|part| !part.starts_with('{')).count();
    let template = paths.keys().filter(fits).max_by_key(words)?;
    let method = method.to_lowercase();
    paths[template].get(&method)?;
    Some(format!("/paths/{}/{method}", escaped(template)))
}

fn at_pointer(pointer: &str) -> &'static Value {
    document().pointer(pointer).unwrap_or(&Value::Null)
}

/// Follows a reference at the pointer, if there is one.
fn resolved(pointer: String) -> String {
    match at_pointer(&pointer)["$ref"].as_str() {
        Some(reference) => reference.trim_start_matches('#').to_owned(),
        None => pointer,
    }
}

fn escaped(token: &str) -> String {
    token.replace('~', "~0").replace('/', "~1")
}

fn body_fault(schema: &str, body: &[u8]) -> Result<(), String> {
    // serde_json reads an object with this key as something else.
    let text = String::from_utf8_lossy(body).replace("$serde_json::private", "_serde_json::private");
    let body: Value = serde_json::from_str(&text).map_err(|error| format!("the body is not JSON: {error}"))?;
    fault(schema, &body)
}

/// The status in a problem must be that of the answer (RFC 9457, section 3.1.2), and its code must be listed for it.
fn problem_fault(status: u16, codes: &Value, body: &[u8]) -> Result<(), String> {
    let Ok(Value::Object(body)) = serde_json::from_slice(body) else { return Ok(()) };
    match body.get("status") {
        Some(named) if status >= 400 && *named != status => {
            return Err(format!("the problem's status is {named}"));
        }
        _ => {}
    }
    match (codes.as_array(), body.get("code")) {
        (Some(codes), Some(code)) if !codes.contains(code) => Err(format!("the code {code} is not listed")),
        _ => Ok(()),
    }
}

/// Validates against the schema at a pointer, which is compiled once.
fn fault(schema: &str, instance: &Value) -> Result<(), String> {
    static COMPILED: OnceLock<Mutex<HashMap<String, Arc<Validator>>>> = OnceLock::new();
    let compiled = COMPILED.get_or_init(Mutex::default);
    let known = compiled.lock().unwrap_or_else(PoisonError::into_inner).get(schema).cloned();
    let validator = known.unwrap_or_else(|| {
        // In a URI, so these characters are percent-encoded.
        let fragment = schema.replace('{', "%7B").replace('}', "%7D");
        let root = json!({"$ref": format!("#{fragment}"), "paths": document()["paths"], "components": document()["components"]});
        let options = jsonschema::options().with_draft(Draft::Draft202012).should_validate_formats(true);
        let validator = Arc::new(options.build(&root).unwrap_or_else(|error| panic!("the schema at {schema}: {error}")));
        compiled.lock().unwrap_or_else(PoisonError::into_inner).insert(schema.to_owned(), validator.clone());
        validator
    });
    let faults: Vec<String> =
        validator.iter_errors(instance).map(|error| format!("at `{}`: {error}", error.instance_path())).collect();
    if faults.is_empty() { Ok(()) } else { Err(faults.join("\n")) }
}

/// Validates a value against a component schema.
pub fn against(name: &str, instance: &Value) -> Result<(), String> {
    fault(&format!("/components/schemas/{name}"), instance)
}
