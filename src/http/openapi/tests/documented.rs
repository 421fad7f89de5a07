//! Writes the API description, of the table of endpoints, of `operations.yaml`, and of `base.yaml`, which has the schemas, parameters and
//! headers; and compares it with the files. ADK's paths have a document of their own, because a client generated for one API has no use for the other.

use std::collections::{BTreeMap, HashSet};
use std::sync::LazyLock;
use std::{env, fs};

use axum::http::{Method, StatusCode};
use serde_json::{Map, Value, json};

use super::operations::{Answer, Told, tag};
use super::page;
use crate::access::ClientKind as Caller;
use crate::domain::Limits;
use crate::domain::access::Role;
use crate::domain::event::{ACTION_DEFAULTS, ACTION_FIELDS, EVENT_FIELDS, OWN_FIELDS};
use crate::domain::feed::ChangeKind;
use crate::domain::json::Json;
use crate::domain::lease::Exclusive;
use crate::domain::ops::Op;
use crate::domain::template::{Braces, MAX_ARTIFACTS, MAX_NAMES, Missing};
use crate::domain::writes::{ArtifactChange, Removal};
use crate::http::ENDPOINTS;
use crate::http::adk::shape::EVENT_DEFAULTS;
use crate::http::describe::{Access, Header, Kind, PAGE_SIZE, Param};
use crate::http::reply::{Code, Outcome, is_write};
use crate::http::way::routes::Endpoint;

/// `base.yaml`: the description without its operations.
static BASE: LazyLock<Value> = LazyLock::new(|| serde_saphyr::from_str(include_str!("../base.yaml")).unwrap());
const GUIDE: &str = include_str!("../guide.md");
const ADK: &str = "ADK";

/// The API description, without ADK's paths.
fn native() -> Value {
    document(ENDPOINTS, |tag| tag != ADK)
}

/// The description of ADK's paths.
fn adk() -> Value {
    let mut document = document(ENDPOINTS, |tag| tag == ADK);
    document["info"]["title"] = "sessiond, at the paths of ADK".into();
    document["info"]["description"] = document["tags"][0]["description"].clone();
    document
}

#[test]
fn the_committed_descriptions_are_current() {
    let page = page::render(&document(ENDPOINTS, |_| true));
    for (path, text) in [
        ("openapi.yaml", to_yaml(&native())),
        ("openapi-adk.yaml", to_yaml(&adk())),
        ("src/http/openapi/page.html", page),
    ] {
        let path = format!("{}/{path}", env!("CARGO_MANIFEST_DIR"));
        if env::var_os("UPDATE_DOCS").is_some() {
            fs::write(&path, &text).unwrap();
        }
        assert!(
            fs::read_to_string(&path).unwrap_or_default() == text,
            "{path} is out of date: `UPDATE_DOCS=1 cargo test --lib documented` makes it anew"
        );
    }
}

fn to_yaml(document: &Value) -> String {
    let options = serde_saphyr::ser_options! { compact_list_indent: false, folded_wrap_chars: 110 };
    serde_saphyr::to_string_with_options(document, options).unwrap()
}

/// OpenAPI 3.1 of the operations with a wanted tag.
fn document(endpoints: &[Endpoint], is_wanted: fn(&str) -> bool) -> Value {
    let mut responses = Map::new();
    let mut paths = Map::new();
    for endpoint in endpoints.iter().filter(|endpoint| is_wanted(tag(endpoint.operation.id))) {
        let operation = operation(endpoint, &mut responses);
        // OpenAPI has no name for a parameter of several segments.
        let item = paths.entry(endpoint.path.replace("{*", "{")).or_insert_with(|| json!({}));
        item[endpoint.method.as_str().to_lowercase()] = operation;
        if endpoint.method == Method::GET {
            item["head"] = head_of(&item["get"]);
        }
    }
    responses.sort_keys();
    let mut document = BASE.clone();
    document["info"]["version"] = env!("CARGO_PKG_VERSION").into();
    document["info"]["description"] = GUIDE.trim_end().into();
    if let Some(tags) = document["tags"].as_array_mut() {
        tags.retain(|tag| tag["name"].as_str().is_some_and(is_wanted));
    }
    document["paths"] = paths.into();
    document["components"]["responses"] = responses.into();
    while remove_unused(&mut document) {}
    document
}

/// Removes components without a reference. Returns whether there were any.
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

fn schema(name: &str) -> &'static Value {
    &BASE["components"]["schemas"][name]
}

fn reference(name: &str) -> Value {
    json!({"$ref": format!("#/components/schemas/{name}")})
}

fn operation(endpoint: &Endpoint, responses: &mut Map<String, Value>) -> Value {
    let described = endpoint.operation;
    let told = Told::of(described.id);
    let mut operation = json!({
        "operationId": described.id,
        "tags": [tag(described.id)],
        "summary": told.summary,
    });
    if !told.description.is_empty() {
        operation["description"] = (*told.description).into();
    }
    if described.access == Access::Open {
        operation["security"] = json!([]);
    }
    let shared = |name: &str| json!({"$ref": format!("#/components/parameters/{name}")});
    let mut parameters: Vec<Value> = path_parameters(endpoint).iter().map(|name| shared(name)).collect();
    parameters.extend(described.query.iter().map(|param| query(param, told.about(param.name))));
    parameters.extend(described.headers.iter().map(|header| shared(header_name(*header))));
    parameters.push(shared("x-request-id"));
    operation["parameters"] = parameters.into();
    if let Some(body) = &told.body {
        operation["requestBody"] = json!({
            "required": body.required,
            "content": {media_type(&body.schema): {"schema": reference(&body.schema)}},
        });
    }
    let mut answers: BTreeMap<String, Value> =
        told.answers.iter().map(|(status, answer)| (status.clone(), success(answer))).collect();
    if described.headers.contains(&Header::IfNoneMatch) {
        let about = "The client has it already: `If-None-Match` names what is there.".to_owned();
        let unchanged = Answer { about, headers: vec!["ETag".to_owned()], ..Answer::default() };
        answers.insert("304".to_owned(), success(&unchanged));
    }
    for (status, codes) in errors(endpoint, told) {
        let name = codes.iter().map(|code| format!("{code:?}")).collect::<Vec<_>>().join("Or");
        answers.insert(status.as_str().to_owned(), json!({"$ref": format!("#/components/responses/{name}")}));
        responses.entry(name).or_insert_with(|| failure(status, &codes));
    }
    operation["responses"] = json!(answers);
    operation
}

/// The HEAD operation of a GET: the same request, answered without a body.
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

/// The errors of an operation: its own, and those of all operations of its kind.
fn errors(endpoint: &Endpoint, told: &Told) -> BTreeMap<StatusCode, Vec<Code>> {
    let named = |name: &String| *Code::ALL.iter().find(|code| code.entry().0 == name).expect(name);
    let mut codes: Vec<Code> = told.errors.iter().map(named).collect();
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
    let is_charged = endpoint.operation.serving.is_charged;
    // What costs something reads the database, and so does readiness.
    if is_charged || endpoint.path == "/readyz" {
        codes.push(Code::StorageUnavailable);
    }
    if is_charged {
        codes.push(Code::RateLimited);
    }
    let takes = |header| endpoint.operation.headers.contains(&header);
    if takes(Header::Lease) {
        codes.extend([Code::LeaseHeld, Code::Fenced]);
    }
    if is_write(&endpoint.method) && (takes(Header::IfMatch) || takes(Header::CreateOnly)) {
        codes.push(Code::RevisionMismatch);
    }
    if told.body.is_some() {
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
        // Not next to the reference, which generators refuse, nor in an `allOf`, which would create a type for each
        // answer.
        "x-codes": words,
        "content": {"application/problem+json": {"schema": reference("Problem")}},
    })
}

fn success(answer: &Answer) -> Value {
    let headers: Vec<&str> = answer.headers.iter().map(String::as_str).collect();
    let mut response = json!({"description": answer.about, "headers": response_headers(&headers)});
    for name in &answer.schemas {
        response["content"][media_type(name)] = json!({"schema": reference(name)});
    }
    response
}

/// The media type of an answer with this schema. Text that is not JSON names its type in the schema.
fn media_type(name: &str) -> &'static str {
    schema(name)["contentMediaType"].as_str().unwrap_or("application/json")
}

fn response_headers(names: &[&str]) -> Value {
    let shared = |name: &&str| ((*name).to_owned(), json!({"$ref": format!("#/components/headers/{name}")}));
    names.iter().chain(&["x-request-id"]).map(shared).collect::<Map<_, _>>().into()
}

/// The names of the path's parameters among the shared parameters. They differ from schema names, because generators
/// use one namespace for both.
fn path_parameters(endpoint: &Endpoint) -> Vec<&'static str> {
    let names = endpoint.path.split('/').filter_map(|segment| segment.strip_prefix('{')?.strip_suffix('}'));
    // A read accepts ids that can never be stored; a write does not.
    names
        .map(|name| match name {
            "app" => "AppSegment",
            "user" => "UserSegment",
            "session" => "SessionSegment",
            "event" => "EventSegment",
            "artifact" if !endpoint.path.contains("/{session}/") => "UserArtifactSegment",
            "artifact" => "ArtifactSegment",
            "*artifact" => "ArtifactSegments",
            "version" => "VersionSegment",
            "key" if !endpoint.path.contains("/{session}/") => "ScopeKeySegment",
            "key" if endpoint.method == Method::GET => "KeySegment",
            "key" => "StoredKeySegment",
            _ if endpoint.path.starts_with("/v1/erasures") => "ErasureSegment",
            _ => "KeyIdSegment",
        })
        .collect()
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

fn query(param: &Param, about: &str) -> Value {
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
        Kind::Prefix => json!({"type": "string", "pattern": r"^[^\x00-\x1f\x7f-\x9f]*$"}),
        Kind::Cursor => json!({"type": "string", "pattern": "^([0-9]+(-[0-9a-f]+-[0-9a-f]{8})?)?$"}),
        Kind::CursorOrNow => json!({"type": "string", "pattern": "^(now|[0-9]+(-[0-9a-f]+-[0-9a-f]{8})?)?$"}),
        // 32 bytes in base64url.
        Kind::FeedPosition => {
            json!({"type": "string", "pattern": "^(start|now|[0-9A-Za-z_-]{42}[048AEIMQUYcgkosw])?$"})
        }
        Kind::SomeOf(words) => {
            let word = format!("({})", words.join("|").replace('.', r"\."));
            json!({"type": "string", "pattern": format!("^{word}(,{word})*$")})
        }
        // A letter or a digit, or what no pattern that all languages have can tell from one.
        Kind::Words { .. } => json!({"type": "string", "pattern": r"[0-9A-Za-z\u00c0-\uffff]"}),
        Kind::Id => reference("Id"),
        Kind::StateKey => reference("StateKey"),
        Kind::StateKeys => json!({"type": "string", "pattern": r"^[^\x00]*$"}),
        Kind::Boolean => json!({"type": "boolean"}),
        Kind::Wait => json!({"type": "string", "pattern": "^0*([0-5]?[0-9]|60)s?$"}),
        // Spellings of the same word: not an enum, because generators would give them the same name.
        Kind::OneOf(words) if words.iter().skip(1).any(|word| word.eq_ignore_ascii_case(words[0])) => {
            json!({"type": "string", "pattern": format!("^({})$", words.join("|"))})
        }
        Kind::OneOf(words) => json!({"type": "string", "enum": words}),
        Kind::Time => reference("TimeIn"),
        Kind::Epoch => json!({"type": "integer", "minimum": 0}),
        Kind::Incarnation => json!({"type": "string", "pattern": "^[0-9a-fA-F]{1,16}$"}),
        // An exploded form has one parameter per member, with the member's name.
        Kind::Labels => {
            let labels = schema("Labels");
            let pattern = labels["propertyNames"]["pattern"].as_str().unwrap_or_default();
            let name = format!(r"^{}\.{}", param.name, pattern.trim_start_matches('^'));
            // In a query, all of these are text.
            let mut value = labels["additionalProperties"].clone();
            value["type"] = json!(["string", "number", "boolean"]);
            let schema = json!({"type": "object", "patternProperties": {name: value}, "additionalProperties": false});
            return json!({
                "name": param.name, "in": "query", "style": "form", "explode": true, "schema": schema, "description": about,
            });
        }
    };
    let mut query = json!({"name": param.name, "in": "query"});
    if param.is_required() {
        query["required"] = true.into();
    }
    query["schema"] = schema;
    query["description"] = about.into();
    query
}

#[test]
fn every_component_of_the_base_is_used_and_every_reference_resolves() {
    fn check(document: &Value, value: &Value) {
        match value {
            Value::Object(members) => {
                if let Some(target) = members.get("$ref").and_then(Value::as_str) {
                    let pointer = target.strip_prefix('#').expect("a local reference");
                    assert!(document.pointer(pointer).is_some(), "{target}");
                }
                members.values().for_each(|value| check(document, value));
            }
            Value::Array(items) => items.iter().for_each(|value| check(document, value)),
            _ => {}
        }
    }
    let document = document(ENDPOINTS, |_| true);
    check(&document, &document);
    for kind in ["parameters", "headers", "schemas"] {
        let names = |of: &Value| -> Vec<String> {
            of["components"][kind].as_object().expect("components").keys().cloned().collect()
        };
        assert_eq!(names(&document), names(&BASE), "{kind}");
    }
    let tags: HashSet<&str> = ENDPOINTS.iter().map(|endpoint| tag(endpoint.operation.id)).collect();
    let listed = document["tags"].as_array().expect("tags");
    assert_eq!(listed.iter().filter_map(|tag| tag["name"].as_str()).collect::<HashSet<_>>(), tags);
    assert_eq!(listed.len(), tags.len(), "a tag twice");
}

/// Lists of words in `base.yaml` equal those in the code.
#[test]
fn lists_of_words_are_those_of_the_code() {
    let of = |at: &str, expected: &[&str]| {
        let (name, pointer) = at.split_once('/').unwrap_or((at, ""));
        let found = schema(name).pointer(&format!("/{pointer}")).expect(at);
        let mut found: Vec<&str> = match found {
            Value::Object(members) => members.keys().map(String::as_str).collect(),
            words => words.as_array().expect(at).iter().filter_map(Value::as_str).collect(),
        };
        let mut expected = expected.to_vec();
        // Names of fields have no order.
        if !at.ends_with("enum") {
            found.sort_unstable();
            expected.sort_unstable();
        }
        assert_eq!(found, expected, "{at}");
    };
    of("Role/enum", &Role::ALL.map(Role::as_str));
    of("Change/properties/kind/enum", &ChangeKind::WORDS);
    of("Render/properties/braces/anyOf/0/enum", &Braces::WORDS);
    of("Render/properties/missing/anyOf/0/enum", &Missing::WORDS);
    of("TakeLease/properties/exclusive/enum", &Exclusive::ALL.map(Exclusive::as_str));
    of("GrantedLease/properties/exclusive/enum", &Exclusive::ALL.map(Exclusive::as_str));
    of("Problem/properties/outcome/enum", &[Outcome::NotApplied, Outcome::Unknown].map(Outcome::as_str));
    of("Caller/properties/kind/enum", &[Caller::None, Caller::Key, Caller::Token, Caller::Jwt].map(Caller::as_str));
    let removals = [Removal::Deleted, Removal::Expired, Removal::Retention].map(Removal::as_str);
    of("Change/properties/reason/enum", &[&removals[..], &[ArtifactChange::REWOUND]].concat());
    let limits = schema("Render")["properties"]["template"]["description"].as_str().unwrap();
    for limit in [format!("{MAX_NAMES} different names"), format!("{MAX_ARTIFACTS} different artifacts")] {
        assert!(limits.contains(&limit), "{limit}");
    }

    let defaults = |of: &[(&'static str, &str)]| -> Vec<&'static str> { of.iter().map(|(name, _)| *name).collect() };
    let of_adk = |fields: &[&'static str]| -> Vec<&'static str> {
        fields.iter().copied().filter(|name| !OWN_FIELDS.contains(name)).collect()
    };
    let shown = defaults(ACTION_DEFAULTS);
    of("AdkEvent/properties", &of_adk(EVENT_FIELDS));
    of("AdkEvent/required", &[vec!["id", "timestamp", "actions"], defaults(EVENT_DEFAULTS)].concat());
    of("AdkEvent/properties/actions/properties", &of_adk(ACTION_FIELDS));
    of("AdkEvent/properties/actions/required", &shown);
    of("AdkRestoredEvent/properties/actions/properties", &shown);
}

#[test]
fn the_operators_are_those_that_the_code_takes() {
    let operators = schema("StateOp")["properties"]["op"]["enum"].as_array().unwrap();
    for operator in operators {
        let takes = |value: Option<&str>| Op::parse(operator.as_str().unwrap(), value.map(Json::trusted)).is_ok();
        assert!([None, Some("1"), Some("[]"), Some("{}")].into_iter().any(takes), "{operator}");
    }
    let message = Op::parse("", None).unwrap_err();
    assert_eq!(message.matches('`').count() / 2, operators.len() + 1, "{message}");
}

/// Our parser reads it back. Generators of clients use others, some of YAML 1.1.
#[test]
fn what_is_written_is_read_back() {
    let odd = json!({
        "": ["yes", "No", "on", "y", "null", "~", "1", "1.0", "1e3", "- a", "a: b", "a #b", "'", "\"", "é", " a", "a ", "\t"],
        "y": [0, -1, 1e-6, 1.5e300, 0.25, 9_007_199_254_740_993_i64, null, true, [], {}, [[], ["c"]]],
        "lines": "a\n\n  b: c\n# d\ne", "folded": "many words ".repeat(40).trim_end(), "spaces": "two  spaces ".repeat(40),
    });
    for value in [odd, document(ENDPOINTS, |_| true)] {
        let text = to_yaml(&value);
        let read: Value = serde_saphyr::from_str(&text).unwrap();
        assert_eq!(read, value);
    }
    let odd = to_yaml(&json!({"y": "no", "least": 1e-6}));
    assert_eq!(odd, "\"y\": \"no\"\nleast: 1.0e-6\n");
    assert!(!to_yaml(&document(ENDPOINTS, |_| true)).contains(": &"), "an anchor");
}
