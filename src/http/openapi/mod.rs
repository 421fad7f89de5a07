//! The description of the API, made from the same table of endpoints as the router.
//!
//! `openapi.yaml` at the root of the repository is [`yaml()`], `openapi-adk.yaml` is [`adk_yaml()`], committed; a test compares
//! them. The API tests validate real answers against both. The paths of ADK have a document of their own, as a client that is
//! generated for the one API has no use for the other.

#![expect(clippy::disallowed_methods, reason = "`json!` calls `to_value`; nothing here is a stored value")]

mod examples;
mod fields;
mod html;
mod page;
mod schemas;
mod yaml;

use std::collections::{BTreeMap, HashSet};

use axum::http::{Method, StatusCode};
pub use html::{escape, hash_source};
pub use page::POLICY as PAGE_POLICY;
use schemas::{LABEL_NAME, label_value, reference};
use serde_json::{Map, Value, json};

use crate::domain::Limits;
use crate::http::describe::{Access, Charge, Header, Kind, PAGE_SIZE, Param, Reply};
use crate::http::reply::Code;
use crate::http::way::routes::Endpoint;

/// The description of the API as YAML, without the paths of ADK.
pub fn yaml(endpoints: &[Endpoint]) -> String {
    yaml::to_yaml(&document(endpoints, TITLE, GUIDE, |tag| tag != ADK))
}

/// The description of the paths of ADK as YAML.
pub fn adk_yaml(endpoints: &[Endpoint]) -> String {
    yaml::to_yaml(&document(endpoints, "sessiond, at the paths of ADK", ADK_GUIDE, |tag| tag == ADK))
}

/// Both descriptions as a page of HTML, which loads nothing from elsewhere.
pub fn page(endpoints: &[Endpoint]) -> String {
    page::render(&document(endpoints, TITLE, GUIDE, |_| true))
}

const TITLE: &str = "sessiond";
const GUIDE: &str = include_str!("guide.md");
const ADK: &str = "ADK";
const ADK_GUIDE: &str = "The paths of ADK's own server, in its shapes, over the same sessions: for clients written for `adk api_server`. \
     Parameters that are not known are ignored here.";

/// The tags, in the order of the page.
const TAGS: &[(&str, &str)] = &[
    ("Sessions", "Create, read, list, change and delete sessions."),
    ("Events", "The log of a session. Appending an event is how its state changes."),
    (
        "Changes",
        "What was committed, as one sequence, for whoever keeps something beside it: an index, an audit, a cache.",
    ),
    ("Export and import", "Sessions with all that belongs to them, as lines of JSON."),
    ("Policies", "How long the data of an app is kept."),
    ("State", "The merged state of a session, single keys of it, and app and user state on their own."),
    ("Leases", "One turn at a time: who was superseded is fenced."),
    ("Apps and users", "What exists."),
    ("Erasures", "Users are erased; what tells of it does not name them."),
    ("Access", "API keys, tokens for one user, and what a credential is worth."),
    ("System", "Health, readiness, and this description."),
    (ADK, ADK_GUIDE),
];

/// OpenAPI 3.1 of the operations whose tag is wanted.
fn document(endpoints: &[Endpoint], title: &str, guide: &str, is_wanted: fn(&str) -> bool) -> Value {
    let mut responses = Map::new();
    let mut paths = Map::new();
    for endpoint in endpoints.iter().filter(|endpoint| is_wanted(endpoint.operation.tag)) {
        let operation = operation(endpoint, &mut responses);
        let item = paths.entry(endpoint.path).or_insert_with(|| json!({}));
        item[endpoint.method.as_str().to_lowercase()] = operation;
        if endpoint.method == Method::GET {
            item["head"] = head_of(&item["get"]);
        }
    }
    responses.sort_keys();
    let tags = TAGS.iter().filter(|(name, _)| is_wanted(name));
    let mut document = json!({
        "openapi": "3.1.0",
        "info": {
            "title": title,
            "version": env!("CARGO_PKG_VERSION"),
            "summary": "Session state for AI agents as a service",
            "description": guide.trim_end(),
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "servers": [{"url": "/"}],
        "tags": tags.map(|(name, about)| json!({"name": name, "description": about})).collect::<Vec<_>>(),
        "paths": paths,
        "components": {
            "parameters": parameters(),
            "headers": headers(),
            "responses": responses,
            "schemas": schemas::all(),
            "securitySchemes": {"bearer": {
                "type": "http", "scheme": "bearer",
                "description": "An API key (`sdk_...`), a user token (`sdu_...`) or a JWT of the configured issuer. Where no \
                                credential is asked for, none is looked at.",
            }},
        },
        "security": [{"bearer": []}, {}],
    });
    while remove_unused(&mut document) {}
    document
}

/// Removes the components that nothing refers to; whether there were any.
fn remove_unused(document: &mut Value) -> bool {
    fn note(value: &Value, used: &mut HashSet<String>) {
        match value {
            Value::Object(members) => {
                used.extend(members.get("$ref").and_then(Value::as_str).map(str::to_owned));
                members.values().for_each(|value| note(value, used));
            }
            Value::Array(items) => items.iter().for_each(|value| note(value, used)),
            _ => {}
        }
    }
    let mut used = HashSet::new();
    note(document, &mut used);
    let mut is_removed = false;
    for kind in ["parameters", "headers", "responses", "schemas"] {
        if let Some(components) = document["components"][kind].as_object_mut() {
            let before = components.len();
            components.retain(|name, _| used.contains(&format!("#/components/{kind}/{name}")));
            is_removed |= components.len() < before;
        }
    }
    is_removed
}

fn operation(endpoint: &Endpoint, responses: &mut Map<String, Value>) -> Value {
    let described = endpoint.operation;
    let mut operation = json!({
        "operationId": described.id,
        "tags": [described.tag],
        "summary": described.summary,
    });
    if !described.description.is_empty() {
        operation["description"] = described.description.into();
    }
    if described.access == Access::Open {
        operation["security"] = json!([]);
    }
    let shared = |name: &str| json!({"$ref": format!("#/components/parameters/{name}")});
    let mut parameters: Vec<Value> =
        path_parameters(endpoint).iter().map(|name| shared(name)).chain(described.query.iter().map(query)).collect();
    parameters.extend(described.headers.iter().map(|header| shared(header_name(*header))));
    parameters.push(shared("x-request-id"));
    operation["parameters"] = parameters.into();
    if let Some(body) = &described.body {
        operation["requestBody"] = json!({
            "required": body.required,
            "content": {media_type(body.schema): {"schema": reference(body.schema)}},
        });
    }
    let mut answers: BTreeMap<String, Value> = BTreeMap::new();
    for reply in described.answers {
        let answer = answers.entry(reply.status.as_str().to_owned()).or_insert_with(|| success(reply));
        // Another type of the same answer.
        if let Some(name) = reply.schema {
            answer["content"][media_type(name)] = json!({"schema": reference(name)});
        }
    }
    if described.headers.contains(&Header::IfNoneMatch) {
        let about = "The client has it already: `If-None-Match` names what is there.";
        let unchanged = Reply { status: StatusCode::NOT_MODIFIED, about, schema: None, headers: &["ETag"] };
        answers.insert("304".to_owned(), success(&unchanged));
    }
    for (status, codes) in errors(endpoint) {
        let name = codes.iter().map(|code| format!("{code:?}")).collect::<Vec<_>>().join("Or");
        answers.insert(status.as_str().to_owned(), json!({"$ref": format!("#/components/responses/{name}")}));
        responses.entry(name).or_insert_with(|| failure(status, &codes));
    }
    operation["responses"] = json!(answers);
    operation
}

/// The same request, answered without a body.
fn head_of(get: &Value) -> Value {
    let mut head = get.clone();
    head["operationId"] = format!("{}Head", get["operationId"].as_str().unwrap_or_default()).into();
    head["summary"] = format!("{} (headers only)", get["summary"].as_str().unwrap_or_default()).into();
    if let Some(answers) = head["responses"].as_object_mut() {
        for answer in answers.values_mut().filter_map(Value::as_object_mut) {
            answer.remove("content");
        }
    }
    head
}

/// Errors that an operation can meet: its own, and those that come with its kind.
fn errors(endpoint: &Endpoint) -> BTreeMap<StatusCode, Vec<Code>> {
    let mut codes = endpoint.operation.errors.to_vec();
    codes.extend([
        Code::InvalidRequest,
        Code::PermissionDenied,
        Code::InvalidArgument,
        Code::Internal,
        Code::Overloaded,
    ]);
    if endpoint.operation.access != Access::Open {
        codes.push(Code::Unauthenticated);
    }
    if endpoint.operation.serving.database {
        codes.push(Code::StorageUnavailable);
    }
    if endpoint.operation.serving.charge != Charge::Nothing {
        codes.push(Code::RateLimited);
    }
    if endpoint.operation.body.is_some() {
        codes.extend([Code::InvalidJson, Code::RequestTimeout, Code::PayloadTooLarge, Code::UnsupportedMediaType]);
    }
    let mut by_status: BTreeMap<StatusCode, Vec<Code>> = BTreeMap::new();
    for code in Code::ALL.iter().filter(|code| codes.contains(code)) {
        by_status.entry(code.entry().1).or_default().push(*code);
    }
    by_status
}

fn failure(status: StatusCode, codes: &[Code]) -> Value {
    let words: Vec<&str> = codes.iter().map(|code| code.entry().0).collect();
    let about: Vec<String> = codes.iter().map(|code| format!("`{}`: {}.", code.entry().0, code.entry().2)).collect();
    let headers: &[&str] = match status {
        StatusCode::SERVICE_UNAVAILABLE => &["Retry-After"],
        StatusCode::UNAUTHORIZED => &["WWW-Authenticate"],
        StatusCode::TOO_MANY_REQUESTS => &["Retry-After", "RateLimit", "RateLimit-Policy"],
        _ => &[],
    };
    let mut headers = response_headers(headers);
    if codes.contains(&Code::LeaseHeld) {
        headers["Retry-After"] = json!({
            "description": "Of `lease_held`: seconds until the lease expires.",
            "schema": {"type": "string", "pattern": "^[0-9]+$"},
        });
    }
    json!({
        "description": about.join(" "),
        "headers": headers,
        // Not beside the reference, where generators refuse it, nor in an `allOf`, which would be a type for each answer.
        "x-codes": words,
        "content": {"application/problem+json": {"schema": reference("Problem")}},
    })
}

fn success(reply: &Reply) -> Value {
    let mut response = json!({"description": reply.about, "headers": response_headers(reply.headers)});
    if let Some(name) = reply.schema {
        response["content"] = json!({media_type(name): {"schema": reference(name)}});
    }
    response
}

/// Of what has this schema: a text that is no JSON names its type itself.
fn media_type(schema: &str) -> String {
    let schemas = schemas::all();
    let media = schemas.get(schema).and_then(|schema| schema["contentMediaType"].as_str());
    media.unwrap_or("application/json").to_owned()
}

fn response_headers(names: &[&str]) -> Value {
    let shared = |name: &&str| ((*name).to_owned(), json!({"$ref": format!("#/components/headers/{name}")}));
    names.iter().chain(&["x-request-id"]).map(shared).collect::<Map<_, _>>().into()
}

fn headers() -> Value {
    json!({
        "ETag": {
            "description": "What the answer shows, to ask with `If-None-Match` and to demand with `If-Match`.",
            "required": true,
            "schema": {"type": "string", "pattern": r#"^"[0-9]+(\.[0-9]+\.[0-9]+\.[0-9a-f]+(-[0-9]+)?)?"$"#},
        },
        "Location": {
            "description": "The path of what was created.",
            "required": true,
            "schema": {"type": "string", "format": "uri-reference"},
        },
        "Idempotent-Replayed": {
            "description": "`true` if this was a retry, answered with what the first request did.",
            "schema": {"type": "string", "const": "true"},
        },
        "Retry-After": {
            "description": "Seconds to wait before trying again.",
            "required": true,
            "schema": {"type": "string", "pattern": "^[0-9]+$"},
        },
        "WWW-Authenticate": {
            "description": "How to show a credential (RFC 6750).",
            "required": true,
            "schema": {"type": "string", "pattern": "^Bearer"},
        },
        "RateLimit": {
            "description": "The limit that refused (`app`, `key` or `user`), the events that are left of it, and in how many \
                            seconds the request would pass (draft-ietf-httpapi-ratelimit-headers). Of rates alone.",
            "schema": {"type": "string", "pattern": r#"^"[a-z]+";r=[0-9]+;t=[0-9]+$"#},
        },
        "RateLimit-Policy": {
            "description": "The limits that apply: how many events at once, and in how many seconds they come back. Of rates alone.",
            "schema": {"type": "string", "pattern": r#"^"[a-z]+";q=[0-9]+;w=[0-9]+(, "[a-z]+";q=[0-9]+;w=[0-9]+)*$"#},
        },
        "x-request-id": {
            "description": "The caller's, if it sent 1 to 128 visible ASCII characters; else a fresh one.",
            "required": true,
            "schema": {"type": "string", "pattern": "^[!-~]{1,128}$"},
        },
    })
}

/// The names of the path's parameters among the shared ones: not those of schemas, as generators have one name for both.
fn path_parameters(endpoint: &Endpoint) -> Vec<&'static str> {
    let names = endpoint.path.split('/').filter_map(|segment| segment.strip_prefix('{')?.strip_suffix('}'));
    // What is never stored can be asked for, in vain, but not written.
    names
        .map(|name| match name {
            "app" => "AppSegment",
            "user" => "UserSegment",
            "session" => "SessionSegment",
            "event" => "EventSegment",
            "key" if endpoint.method == Method::GET => "KeySegment",
            "key" => "StoredKeySegment",
            _ if endpoint.path.starts_with("/v1/erasures") => "ErasureSegment",
            _ => "KeyIdSegment",
        })
        .collect()
}

fn parameters() -> Value {
    let path = |name: &str, schema: &str, example: &str, about: &str| {
        let schema = reference(schema);
        json!({"name": name, "in": "path", "required": true, "schema": schema, "description": about, "example": example})
    };
    let header = |name: &str, schema: Value, about: &str| json!({"name": name, "in": "header", "schema": schema, "description": about});
    json!({
        "AppSegment": path("app", "Id", "support-bot", "The app."),
        "UserSegment": path("user", "Id", "ada", "The user, within the app."),
        "SessionSegment": path("session", "SessionId", "s1", "The session, within the user."),
        "KeyIdSegment": path("id", "KeyId", "k3vq7m2hx4ab", "The id of the API key."),
        "ErasureSegment": path("id", "KeyId", "019ac5f0-7b1e-7c3a-9d2e-1f2a3b4c5d6e", "The id of the erasure."),
        "EventSegment": path("event", "Id", "evt-1", "The event's id, within the session."),
        "KeySegment": path("key", "PathKey", "user:name", "The state key, with its prefix."),
        "StoredKeySegment": path("key", "StoredPathKey", "user:name", "The state key, with its prefix; not `temp:`."),
        "If-Match": header(
            "If-Match",
            reference("EntityTags"),
            "Only if the ETag still is this one: whole (nothing that the merged state shows has changed) or just `\"R\"` \
             (the session's revision is R); `*` for whatever is there. Otherwise 412, and nothing is written.",
        ),
        "If-None-Match": header(
            "If-None-Match",
            reference("EntityTags"),
            "304 without a body if the ETag still is this one.",
        ),
        "If-None-Match-Any": header(
            "If-None-Match",
            json!({"type": "string", "pattern": "^\\*$"}),
            "`*`: only if there is none yet. Otherwise 412, and nothing is written.",
        ),
        "Idempotency-Key": header(
            "Idempotency-Key",
            reference("Id"),
            "Names the request, so that it changes nothing twice when it is sent again. It is the id of the event that the \
             request appends; where none is appended, what the request made or changed remembers it.",
        ),
        "Last-Event-ID": header(
            "Last-Event-ID",
            json!({"type": "string", "pattern": "^([0-9]+(-[0-9a-f]+-[0-9a-f]{8})?)?$"}),
            "Begin behind this event: the `id` of the last frame that had one, or a sequence. It wins over the query.",
        ),
        "Sessiond-Lease": header(
            "Sessiond-Lease",
            json!({"type": "string", "pattern": "^[0-9]+(-[0-9a-fA-F]{1,16})?$"}),
            "The lease that the write is made under: `EPOCH-INCARNATION`, or `EPOCH` alone. 409 `fenced` if it was superseded, \
             and nothing is written; an append extends it. Without this header, a lease with `exclusive: all` refuses the \
             write until it expires.",
        ),
        "x-request-id": header("x-request-id", json!({"type": "string"}), "Names the request in the answer and in the server's log."),
    })
}

fn header_name(header: Header) -> &'static str {
    match header {
        Header::IfMatch => "If-Match",
        Header::IfNoneMatch => "If-None-Match",
        Header::CreateOnly => "If-None-Match-Any",
        Header::IdempotencyKey => "Idempotency-Key",
        Header::LastEventId => "Last-Event-ID",
        Header::Lease => "Sessiond-Lease",
    }
}

fn query(param: &Param) -> Value {
    let schema = match param.kind {
        Kind::Integer { min, max } => {
            let mut schema = json!({"type": "integer", "minimum": min});
            // A setting; this is its default.
            let max = if param.name == PAGE_SIZE.name { Limits::default().page_rows as i64 } else { max };
            if max < i64::MAX {
                schema["maximum"] = max.into();
            }
            schema
        }
        Kind::Text => json!({"type": "string"}),
        Kind::StateKey => reference("StateKey"),
        Kind::StateKeys => json!({"type": "string", "pattern": r"^[^\x00]*$"}),
        Kind::Boolean => json!({"type": "boolean"}),
        Kind::Wait => json!({"type": "string", "pattern": "^[0-9]+s?$"}),
        // Spellings of one word: no enum, as they would have one name in the code that is generated for it.
        Kind::OneOf(words) if words.iter().skip(1).any(|word| word.eq_ignore_ascii_case(words[0])) => {
            json!({"type": "string", "pattern": format!("^({})$", words.join("|"))})
        }
        Kind::OneOf(words) => json!({"type": "string", "enum": words}),
        Kind::Time => reference("TimeIn"),
        Kind::Epoch => {
            let schema = json!({"type": "integer", "minimum": 0});
            return json!({
                "name": param.name, "in": "query", "required": true, "schema": schema, "description": param.about,
            });
        }
        Kind::Incarnation => json!({"type": "string", "pattern": "^[0-9a-fA-F]{1,16}$"}),
        // An exploded form has one parameter for each member, of the member's name.
        Kind::Labels => {
            let name = format!(r"^{}\.{LABEL_NAME}$", param.name);
            // In a query, all of these are text.
            let mut value = label_value();
            value["type"] = json!(["string", "number", "boolean"]);
            let schema = json!({"type": "object", "patternProperties": {name: value}, "additionalProperties": false});
            return json!({
                "name": param.name, "in": "query", "style": "form", "explode": true, "schema": schema, "description": param.about,
            });
        }
    };
    json!({"name": param.name, "in": "query", "schema": schema, "description": param.about})
}
