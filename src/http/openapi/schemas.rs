//! The component schemas: what the bodies of requests and answers look like.
//!
//! A schema of a request is as strict as the server is where JSON Schema can say it, and never stricter: whoever
//! validates requests with `openapi.yaml` must not refuse what the server takes. So envelopes list the snake_case
//! spelling of their fields too, and what only the server can judge (bytes of UTF-8, nesting) is in the descriptions.
//!
//! Clients are generated from the description too, which `scripts/openapi-client` checks. So none has the name that they give
//! to themselves (`Client`), none is a boolean,
//! every array has `items`, and what narrows a named schema stands beside its reference, not in another part of an
//! `allOf`: a generator that looks at the reference alone takes the named type, which is right, only less narrow.

use serde_json::{Map, Value, json};

use crate::domain::access::Role;
use crate::domain::event::ACTION_DEFAULTS;
use crate::domain::feed::ChangeKind;
use crate::domain::template::{Braces, MAX_NAMES, Missing};
use crate::http::adk::{EVENT_DEFAULTS, action_fields, event_fields};

/// The characters that `str::trim` removes. `\s` is another set in every dialect of regular expressions.
const SPACE: &str = r"[\t-\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]";

/// No control characters: U+0000 to U+001F and U+007F to U+009F.
const NO_CONTROL: &str = r"^[^\x00-\x1f\x7f-\x9f]+$";

/// A state key with its prefix: up to 512 bytes without it.
const KEY: &str = r"^(app:|user:|temp:)?[^\x00]{0,512}$";

/// The whole seconds of 0001-01-01T00:00:00Z and of 10000-01-01T00:00:00Z.
const FIRST_SECOND: i64 = -62_135_596_800;
const END_SECOND: i64 = 253_402_300_800;

/// Labels of a session, and the filter by them.
pub const LABEL_NAME: &str = "[a-z0-9_.-]{1,63}";

pub fn reference(name: &str) -> Value {
    json!({"$ref": format!("#/components/schemas/{name}")})
}

fn or_null(schema: Value) -> Value {
    json!({"anyOf": [schema, {"type": "null"}]})
}

pub fn label_value() -> Value {
    json!({"type": "string", "maxLength": 256, "pattern": r"^[^\x00]*$"})
}

/// All of them, by name.
pub fn all() -> Map<String, Value> {
    let schemas = [
        ("Session", session(true)),
        ("SessionSummary", session(false)),
        (
            "ForkedFrom",
            json!({
                "type": "object", "required": ["sessionId", "revision"],
                "description": "Of a fork: its source, and how much of it.",
                "properties": {"sessionId": reference("Id"), "revision": {"type": "integer", "minimum": 0}},
            }),
        ),
        ("SessionList", list("sessions", reference("SessionSummary"))),
        ("CreateSession", create_session(true)),
        ("GetOrCreateSession", create_session(false)),
        ("UpdateSession", envelope("What to change. Fields that are left out stay; `null` clears.", metadata())),
        ("Event", event(true)),
        ("Actions", actions(true)),
        ("EventInput", event(false)),
        ("ActionsInput", actions(false)),
        ("PartialEvent", partial_event()),
        ("AppendEvents", append_events()),
        ("AppendedEvents", appended_events()),
        ("EventList", event_list()),
        ("State", state()),
        ("StateDelta", state_delta()),
        (
            "ScopeDelta",
            json!({
                "type": "object", "propertyNames": reference("ScopeKey"), "additionalProperties": reference("Value"),
                "description": "Keys without prefix, with their new values.",
            }),
        ),
        ("StateOps", state_ops("StateOp")),
        ("StateOp", state_op("StoredKey")),
        ("ScopeOps", state_ops("ScopeOp")),
        ("ScopeOp", state_op("ScopeKey")),
        ("Preconditions", preconditions("Precondition")),
        ("Precondition", precondition("StoredKey")),
        ("ScopePreconditions", preconditions("ScopePrecondition")),
        ("ScopePrecondition", precondition("ScopeKey")),
        (
            "Value",
            json!({"description": "Any JSON value. It comes back byte for byte. Refused (422): unpaired surrogate \
            escapes, numbers beyond the range of a double, integers of more than 308 digits, nesting deeper than 64, duplicate keys, `\\u0000` in a key."}),
        ),
        (
            "AnyObject",
            json!({"type": "object", "additionalProperties": reference("Value"), "description": "Any JSON object."}),
        ),
        ("NoFields", json!({"type": "object", "maxProperties": 0, "description": "An object without fields."})),
        ("PatchState", patch_state()),
        ("ForkSession", fork_session()),
        ("RewindSession", rewind_session()),
        ("TrimSession", trim_session()),
        (
            "TrimmedSession",
            json!({"type": "object", "required": ["baseRevision", "trimmedEvents", "revision"], "properties": {
                "baseRevision": {"type": "integer", "minimum": 0, "description": "Where the log begins."},
                "trimmedEvents": {"type": "integer", "minimum": 0, "description": "How many events this request took."},
                "revision": {"type": "integer", "minimum": 0, "description": "Of the session: unchanged."},
            }}),
        ),
        ("TrimmedEvent", trimmed_event()),
        ("PatchScope", patch_scope()),
        ("Policy", policy()),
        ("PolicyAnswer", json!({"anyOf": [reference("Policy"), reference("PolicyTrial")]})),
        ("PolicyTrial", policy_trial()),
        ("Render", render()),
        ("Rendered", json!({"type": "object", "required": ["text"], "properties": {"text": {"type": "string"}}})),
        ("AppList", list("apps", named("appName", "Id"))),
        ("UserList", list("users", named("userId", "Id"))),
        ("CreateKey", key_draft(&["name", "role", "apps"])),
        ("UpdateKey", key_draft(&[])),
        ("Key", key(false)),
        ("CreatedKey", key(true)),
        ("KeyList", list("keys", reference("Key"))),
        ("CreateToken", create_token()),
        (
            "CreatedToken",
            json!({"type": "object", "required": ["token", "expireTime"], "properties": {
                "token": {"type": "string", "pattern": "^sdu_"}, "expireTime": reference("Time"),
            }}),
        ),
        ("RevokeTokens", required(envelope("Whose tokens.", of_user()), &["app", "user"])),
        ("EraseUser", erase_user()),
        ("Erasure", erasure()),
        ("ErasureCounts", erasure_counts()),
        ("ErasureReceipt", erasure_receipt()),
        ("ErasureList", list("erasures", reference("Erasure"))),
        (
            "ReceiptKeys",
            json!({"type": "object", "required": ["keys"], "properties": {"keys": {"type": "array", "items": {
                "type": "object", "required": ["keyId", "algorithm", "publicKey"], "properties": {
                    "keyId": {"type": "string"}, "algorithm": {"type": "string", "const": "Ed25519"},
                    "publicKey": {"type": "string", "description": "32 bytes in base64url."},
                },
            }}}}),
        ),
        ("Caller", caller()),
        ("Info", info()),
        (
            "Role",
            json!({"type": "string", "enum": Role::ALL.map(Role::as_str), "description": "Each may do what those before it may."}),
        ),
        ("KeyId", json!({"type": "string", "pattern": "^[^/]+$"})),
        (
            "NamePatterns",
            json!({
                "type": "array", "items": {"type": "string", "minLength": 1, "maxLength": 257}, "minItems": 1, "maxItems": 100,
                "description": "Names, or prefixes with a trailing `*`; `[\"*\"]` is all.",
            }),
        ),
        ("TakeLease", take_lease()),
        ("RenewLease", renew_lease()),
        ("GrantedLease", granted_lease()),
        ("Lease", lease()),
        ("Labels", labels()),
        ("Id", id()),
        ("SessionId", session_id()),
        ("StateKey", state_key()),
        ("StoredKey", stored_key()),
        ("ScopeKey", scope_key()),
        ("PathKey", path_key(state_key())),
        ("StoredPathKey", path_key(stored_key())),
        (
            "Time",
            json!({"type": "number", "description": "Unix seconds, with microseconds.", "examples": [1_763_719_000.123_456_f64]}),
        ),
        ("TimeIn", time_in()),
        ("EntityTags", entity_tags()),
        (
            "Status",
            json!({"type": "object", "required": ["status"],
            "properties": {"status": {"type": "string", "enum": ["ok", "ready"]},
                "warning": {"type": "string", "description": "What an operator should know, and no reason to send no traffic."}}}),
        ),
        ("Problem", problem()),
        ("AdkSession", adk_session(true)),
        ("AdkSessionList", json!({"type": "array", "items": adk_session(false)})),
        ("AdkEvent", adk_event()),
        ("AdkCreateSession", adk_create_session()),
        ("AdkNewSession", or_null(reference("AdkCreateSession"))),
        ("AdkRestoredEvent", adk_restored_event()),
        ("AdkInitialState", or_null(reference("StateDelta"))),
        ("AdkUpdateSession", adk_update_session()),
        ("AdkApps", json!({"type": "array", "items": reference("Id")})),
        ("AdkVersion", adk_version()),
        ("Null", json!({"type": "null"})),
        // Of no type: a reader may take it for its text, or for what that says.
        ("OpenApi", json!({"description": "An OpenAPI 3.1 document.", "contentMediaType": "application/yaml"})),
        (
            "EventStream",
            json!({
                "type": "string", "contentMediaType": "text/event-stream",
                "description": "Frames `event`, `caught_up`, `metadata`, `state`, `trimmed`, `deleted`, `bye` of a session (docs/live.md), `change`, `caught_up`, `bye` of a feed (docs/feed.md).",
            }),
        ),
        ("ChangePage", change_page()),
        ("Change", change()),
        ("ExportLines", lines("An object a line: docs/data.md.")),
        ("ImportLines", lines("The lines of an export.")),
        (
            "ImportedLines",
            lines(
                "`{session, userId, result, code?, detail?}` for each session; `{scope, userId?, result, code, detail}`, where \
                 `scope` is `app` or `user`, for shared state that was not taken; and at the end `{sessions, events}`.",
            ),
        ),
        ("Page", json!({"type": "string", "description": "HTML.", "contentMediaType": "text/html"})),
    ];
    schemas.into_iter().map(|(name, schema)| (name.to_owned(), schema)).collect()
}

fn lines(about: &str) -> Value {
    json!({"type": "string", "contentMediaType": "application/x-ndjson", "description": about})
}

fn id() -> Value {
    json!({
        "type": "string", "minLength": 1, "maxLength": 256, "pattern": NO_CONTROL, "not": {"enum": [".", ".."]},
        "description": "1 to 256 bytes of UTF-8 (fewer characters, if they are not ASCII), no control characters, not \
                        `.` or `..`. Compared bytewise: never normalised or case-folded.",
        "examples": ["support-bot"],
    })
}

fn session_id() -> Value {
    let visible = r"[^\s\x00-\x1f\x7f-\x9f]";
    json!({
        "type": "string", "minLength": 1, "maxLength": 256,
        "pattern": format!(r"^{SPACE}*{visible}([^\x00-\x1f\x7f-\x9f]*{visible})?{SPACE}*$"),
        "not": {"pattern": format!(r"^{SPACE}*\.{{1,2}}{SPACE}*$")},
        "description": "An id, like the others; white space around it is not part of it.",
        "examples": ["s1"],
    })
}

fn state_key() -> Value {
    json!({
        "type": "string", "maxLength": 517, "pattern": KEY,
        "description": "A state key with its prefix: `app:`, `user:` or none. Up to 512 bytes of UTF-8 without it.",
        "examples": ["user:name"],
    })
}

fn stored_key() -> Value {
    // Not by a reference in an `allOf`, of which generators make no type.
    json!({
        "type": "string", "maxLength": 517, "pattern": KEY, "not": {"pattern": "^temp:"},
        "description": "A state key with its prefix; not `temp:`, which is never stored.",
        "examples": ["user:name"],
    })
}

fn scope_key() -> Value {
    json!({
        "type": "string", "maxLength": 512, "pattern": r"^[^\x00]{0,512}$", "not": {"pattern": "^(app:|user:|temp:)"},
        "description": "A state key without prefix. Up to 512 bytes of UTF-8.",
        "examples": ["name"],
    })
}

/// A segment of a path: not empty; `.` and `..` mean something else there.
fn path_key(mut key: Value) -> Value {
    key["minLength"] = 1.into();
    key["not"] = match key["not"].take() {
        Value::Null => json!({"enum": [".", ".."]}),
        other => json!({"anyOf": [other, {"enum": [".", ".."]}]}),
    };
    key
}

fn time_in() -> Value {
    json!({
        "description": "Unix seconds as a number, or RFC 3339; within the years 1 to 9999.",
        "anyOf": [
            {"type": "number", "minimum": FIRST_SECOND, "exclusiveMaximum": END_SECOND},
            // Not `format`: of a number or a time, generators make a type that does not compile.
            {"type": "string", "pattern": r"^[0-9]{4}-[0-9]{2}-[0-9]{2}[Tt][0-9]{2}:[0-9]{2}:[0-9]{2}(\.[0-9]+)?([Zz]|[+-][0-9]{2}:[0-9]{2})$"},
        ],
    })
}

fn entity_tags() -> Value {
    json!({
        "description": "`*`, or quoted entity tags separated by commas.",
        "type": "string",
        "pattern": r#"^(\*|(W/)?"[^",]*"([ \t]*,[ \t]*(W/)?"[^",]*")*)$"#,
        "examples": ["\"7.2.0.3039ab5c\"", "\"7\"", "*"],
    })
}

fn named(name: &str, schema: &str) -> Value {
    json!({"type": "object", "required": [name], "properties": {name: reference(schema)}})
}

fn list(name: &str, item: Value) -> Value {
    json!({
        "type": "object", "required": [name],
        "properties": {
            name: {"type": "array", "items": item},
            "nextPageToken": {"type": "string", "description": "There when there is more: the `pageToken` of the next request."},
        },
    })
}

fn change_page() -> Value {
    json!({
        "type": "object", "required": ["changes", "position", "upToDate"],
        "properties": {
            "changes": {"type": "array", "items": reference("Change")},
            "position": {"type": "string", "maxLength": 64, "pattern": "^[A-Za-z0-9._-]+$"},
            "upToDate": {"type": "boolean", "description": "There was nothing behind the position."},
        },
    })
}

fn change() -> Value {
    json!({
        "type": "object", "required": ["position", "time", "kind", "appName"],
        "properties": {
            "position": {"type": "string", "maxLength": 64, "pattern": "^[A-Za-z0-9._-]+$"},
            "time": {"type": "number", "description": "When it was committed, about: Unix seconds."},
            "kind": {"type": "string", "enum": ChangeKind::NAMES},
            "appName": {"type": "string"},
            "userId": {"type": "string"},
            "subject": {"type": "string", "pattern": "^[0-9a-f]{64}$",
                "description": "Stands for app and user, also where nothing names the user any more: a keyed hash."},
            "sessionId": {"type": "string"},
            "incarnation": {"type": "string", "pattern": "^[0-9a-f]{1,16}$",
                "description": "Tells a session from another one of the same id."},
            "revision": {"type": "integer", "minimum": 0},
            "firstRevision": {"type": "integer", "minimum": 1},
            "firstSequence": {"type": "integer", "minimum": 1},
            "lastSequence": {"type": "integer", "minimum": 1},
            "baseRevision": {"type": "integer", "minimum": 1},
            "forkedFrom": {"type": "object", "required": ["sessionId", "revision"],
                "properties": {"sessionId": {"type": "string"}, "revision": {"type": "integer", "minimum": 0}}},
            "metadata": {"type": "object"},
            "reason": {"type": "string", "enum": ["deleted", "expired", "retention"]},
            "erasureId": {"type": "string"},
            "events": {"type": "array", "items": reference("Event")},
            "set": {"type": "object", "description": "Keys without prefix, with their values after the change."},
            "removed": {"type": "array", "items": {"type": "string"}},
            "gone": {"type": "boolean", "description": "A part of the content is not there any more."},
        },
    })
}

fn event_list() -> Value {
    let mut schema = list("events", reference("Event"));
    schema["properties"]["revision"] = json!({"type": "integer", "minimum": 0, "description": "Of the session."});
    schema["properties"]["trimmedThrough"] = json!({
        "type": "integer", "minimum": 1, "description": "The log begins behind this sequence. Absent: nothing was trimmed.",
    });
    schema["required"] = json!(["events", "revision"]);
    schema
}

/// An envelope of a request: these fields and no others. The guide says that the server takes them in snake_case, too: as part of
/// the schema, generators make a type of it to which nothing can be assigned.
fn envelope(about: &str, fields: Map<String, Value>) -> Value {
    let is_timed = fields.contains_key("ttl") && fields.contains_key("expireTime");
    let mut schema = json!({"type": "object", "description": about, "properties": fields});
    if is_timed {
        let given = json!({"not": {"type": "null"}});
        schema["not"] = json!({"required": ["ttl", "expireTime"], "properties": {"ttl": given, "expireTime": given}});
    }
    schema["additionalProperties"] = false.into();
    schema
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(map) => map,
        _ => Map::new(),
    }
}

fn labels() -> Value {
    json!({
        "type": "object", "maxProperties": 64,
        "propertyNames": {"pattern": format!("^{LABEL_NAME}$")},
        "additionalProperties": label_value(),
        "description": "Up to 64 pairs of strings; values of up to 256 bytes, without U+0000.",
        "examples": [{"env": "prod", "team": "billing"}],
    })
}

fn required(mut schema: Value, fields: &[&str]) -> Value {
    if !fields.is_empty() {
        schema["required"] = json!(fields);
    }
    schema
}

/// What a key is made of.
fn key_draft(needed: &[&str]) -> Value {
    let mut fields = metadata();
    fields.retain(|name, _| matches!(&**name, "ttl" | "expireTime"));
    let or_absent = |schema: Value, field: &str| if needed.contains(&field) { schema } else { or_null(schema) };
    let name =
        json!({"type": "string", "minLength": 1, "maxLength": 256, "description": "For people. Up to 256 bytes."});
    for (field, schema) in [
        ("name", name),
        ("role", reference("Role")),
        ("apps", reference("NamePatterns")),
        ("users", reference("NamePatterns")),
    ] {
        fields.insert(field.to_owned(), or_absent(schema, field));
    }
    required(
        envelope("Of the role `user`, `users` is exactly one name; else all, unless they are named.", fields),
        needed,
    )
}

fn key(is_new: bool) -> Value {
    let mut schema = json!({
        "type": "object", "required": ["id", "name", "role", "apps", "users", "createTime"],
        "properties": {
            "id": reference("KeyId"), "name": {"type": "string"}, "role": reference("Role"),
            "apps": reference("NamePatterns"), "users": reference("NamePatterns"), "createTime": reference("Time"),
            "expireTime": reference("Time"),
            "lastUsedTime": {"type": "number", "description": "To about an hour. Unix seconds."},
        },
    });
    if is_new {
        schema["properties"]["key"] = json!({"type": "string", "pattern": "^sdk_", "description": "Shown here alone."});
        schema["required"] = json!(["id", "name", "role", "apps", "users", "createTime", "key"]);
    }
    schema
}

fn erase_user() -> Value {
    let text =
        |about: &str| json!({"type": ["string", "null"], "minLength": 1, "maxLength": 256, "description": about});
    let mut fields = Map::new();
    fields.insert("requestId".to_owned(), text("By which a retry is recognised, for ever; stored as a keyed hash."));
    fields
        .insert("reference".to_owned(), text("Your own words, such as the number of a case. It is kept: name nobody."));
    fields.insert(
        "block".to_owned(),
        json!({"type": ["boolean", "null"], "description": "Whether the user gets new sessions and state from then on."}),
    );
    envelope("An erasure.", fields)
}

fn erasure() -> Value {
    json!({
        "type": "object", "required": ["id", "appName", "state", "requestTime", "counts"],
        "properties": {
            "id": {"type": "string"}, "appName": reference("Id"), "reference": {"type": "string"},
            "state": {"type": "string", "enum": ["running", "done"]},
            "requestTime": reference("Time"), "doneTime": reference("Time"), "counts": reference("ErasureCounts"),
            "reason": {"type": "string", "description": "Why it still runs, although no row is left."},
            "receipt": reference("ErasureReceipt"),
        },
    })
}

fn erasure_counts() -> Value {
    let count = |about: &str| json!({"type": "integer", "minimum": 0, "description": about});
    json!({
        "type": "object", "description": "What was removed, so far.",
        "required": ["sessions", "events", "stateKeys", "changes"],
        "properties": {
            "sessions": count("Those that were deleted before and not yet removed included."), "events": count("Events."),
            "stateKeys": count("Keys of the state of sessions and of the user."),
            "changes": count("Entries of the history of these keys."),
        },
    })
}

fn erasure_receipt() -> Value {
    json!({
        "type": "object", "description": "Signed: docs/reference.md says what, and by which key.",
        "required": ["id", "appName", "subject", "requestTime", "doneTime", "counts", "blocked", "remains", "instance",
                     "keyId", "signature"],
        "properties": {
            "id": {"type": "string"}, "appName": reference("Id"),
            "subject": {"type": "string", "pattern": "^[0-9a-f]{64}$",
                        "description": "HMAC-SHA256 of app, a NUL and user, under the secret salt of the database."},
            "reference": {"type": "string"}, "requestTime": reference("Time"), "doneTime": reference("Time"),
            "counts": reference("ErasureCounts"),
            "blocked": {"type": "boolean", "description": "The user is refused since."},
            "remains": {"type": "array", "items": {"type": "string"}, "description": "What was not erased."},
            "instance": {"type": "string", "description": "Tells databases apart."}, "keyId": {"type": "string"},
            "signature": {"type": "string", "description": "Ed25519, in base64url."},
        },
    })
}

/// How long a lease lasts.
fn lease_ttl(is_needed: bool) -> Value {
    let mut forms = vec![
        json!({"type": "number", "minimum": 1, "maximum": 900}),
        json!({"type": "string", "pattern": r"^[0-9]+(\.[0-9]+)?s$"}),
    ];
    let mut about = "Seconds, 1 to 900: a number, or a string like `\"60s\"`.".to_owned();
    if !is_needed {
        forms.push(json!({"type": "null"}));
        about.push_str(" 60 unless given.");
    }
    json!({"description": about, "anyOf": forms})
}

fn take_lease() -> Value {
    let fields = object(json!({
        "owner": {
            "type": "string", "minLength": 1, "maxLength": 256,
            "description": "Names one process, which draws it at its start. No secret: it is shown to who may read. Up to 256 \
                            bytes.",
        },
        "ttl": lease_ttl(false),
        "invocationId": {"type": ["string", "null"], "maxLength": 1024, "description": "The turn. Up to 1024 bytes."},
        "exclusive": {
            "type": ["string", "null"], "enum": ["turn", "all", null],
            "description": "`turn` (unless given): against other holders. `all`: against writes without a lease, too, until it \
                            expires.",
        },
        "steal": {"type": ["boolean", "null"], "description": "Whoever holds it is superseded."},
    }));
    let mut schema = required(envelope("Whose turn, and for how long.", fields), &["owner"]);
    schema["examples"] = json!([{"owner": "pod-7/4f1c", "invocationId": "e-1", "ttl": "60s"}]);
    schema
}

fn renew_lease() -> Value {
    let fields = object(json!({
        "epoch": {"type": "integer", "minimum": 0, "description": "That of the lease."},
        "incarnation": {"type": ["string", "null"], "pattern": "^[0-9a-fA-F]{1,16}$", "description": "That of the lease."},
        "ttl": lease_ttl(true),
    }));
    required(envelope("Which lease, and for how long from now.", fields), &["epoch", "ttl"])
}

/// What every answer about a lease has.
fn lease_fields() -> Map<String, Value> {
    object(json!({
        "epoch": {"type": "integer", "minimum": 0, "description": "How often a lease of the session was granted."},
        "incarnation": {
            "type": "string", "pattern": "^[0-9a-f]{1,16}$",
            "description": "The mark of the session's incarnation, as in its ETag.",
        },
        "owner": {"type": "string", "minLength": 1, "description": "Who holds it; absent if nobody does."},
        "expireTime": reference("Time"),
    }))
}

fn granted_lease() -> Value {
    let mut fields = lease_fields();
    fields.extend(object(json!({
        "invocationId": {"type": "string"},
        "exclusive": {"type": "string", "enum": ["turn", "all"]},
        "revision": {"type": "integer", "minimum": 0, "description": "The session's."},
    })));
    json!({
        "type": "object", "required": ["epoch", "incarnation", "owner", "expireTime", "exclusive", "revision"],
        "properties": fields,
    })
}

fn lease() -> Value {
    json!({"type": "object", "required": ["epoch", "incarnation"], "properties": lease_fields()})
}

fn of_user() -> Map<String, Value> {
    object(json!({"app": reference("Id"), "user": reference("Id")}))
}

fn create_token() -> Value {
    let mut fields = of_user();
    fields.insert("role".to_owned(), or_null(reference("Role")));
    let ttl = json!({
        "description": "Seconds, a number, or a string like `\"3600s\"`: an hour unless given, at most 24 hours.",
        "anyOf": [{"type": "number", "minimum": 0.000_001, "maximum": 86400}, {"type": "string", "pattern": "^[0-9.]+s$"}, {"type": "null"}],
    });
    fields.insert("ttl".to_owned(), ttl);
    required(envelope("For whom, and for how long.", fields), &["app", "user"])
}

fn caller() -> Value {
    json!({
        "type": "object", "required": ["kind", "role", "apps", "users"],
        "properties": {
            "kind": {"type": "string", "enum": ["none", "key", "token", "jwt"]},
            "id": {"type": "string", "description": "Of a key its id, of a token that of its key, of a JWT its subject."},
            "role": reference("Role"),
            "apps": {"type": "array", "items": {"type": "string"}, "description": SHOWN},
            "users": {"type": "array", "items": {"type": "string"}, "description": SHOWN},
            "expireTime": reference("Time"),
        },
    })
}

const SHOWN: &str = "Names, or prefixes with a trailing `*`; `[\"*\"]` is all. A name that an issuer or a token says is literal: if it ends with `*`, a backslash is before that.";

fn info() -> Value {
    let count = json!({"type": "integer", "minimum": 0});
    json!({
        "type": "object", "required": ["version", "database", "features", "limits"],
        "properties": {
            "version": {"type": "string"},
            "database": {"type": "string", "enum": ["sqlite", "postgresql"]},
            "features": {"type": "array", "items": {"type": "string"}, "description": "Names, to which later versions add."},
            "limits": {
                "type": "object", "description": "The settings of this server. Later versions add to them.",
                "properties": {
                    "bodyBytes": count, "eventBytes": count, "valueBytes": count, "batchEvents": count, "stateKeys": count,
                    "pageSize": count, "pageBytes": count, "watchers": count, "requestSeconds": {"type": "number"},
                },
            },
        },
    })
}

fn metadata() -> Map<String, Value> {
    object(json!({
        "displayName": {"type": ["string", "null"], "maxLength": 1024, "description": "Up to 1024 bytes."},
        "labels": or_null(reference("Labels")),
        "ttl": {
            "description": "Expires so many seconds from now: a number, or a string like `\"3600s\"`. Not together \
                            with `expireTime`.",
            "anyOf": [
                {"type": "number", "minimum": 0.000_001, "exclusiveMaximum": END_SECOND},
                {"type": "string", "pattern": r"^(0\.[0-9]{0,5}[1-9][0-9]*|(1[0-9]{11}|[1-9][0-9]{0,10})(\.[0-9]+)?)s$"},
                {"type": "null"},
            ],
        },
        "expireTime": or_null(reference("TimeIn")),
    }))
}

fn create_session(takes_id: bool) -> Value {
    let mut fields = Map::new();
    if takes_id {
        fields.insert(
            "sessionId".to_owned(),
            json!({
                "description": "Blank or missing: one is generated (UUIDv7).",
                "anyOf": [
                    reference("SessionId"),
                    {"type": "string", "pattern": format!("^{SPACE}*$")},
                    {"type": "null"},
                ],
            }),
        );
    }
    fields.insert("state".to_owned(), or_null(reference("StateDelta")));
    fields.insert(
        "events".to_owned(),
        json!({"type": ["array", "null"], "maxItems": 1000, "items": reference("EventInput"),
               "description": "Appended in order, with their deltas."}),
    );
    fields.extend(metadata());
    let mut schema = envelope("What a new session begins with. Every field may be left out.", fields);
    schema["examples"] = json!([{
        "state": {"topic": "billing", "user:name": "Ada", "app:model": "gemini-2.5-pro"},
        "labels": {"env": "prod"},
        "ttl": "3600s",
    }]);
    schema
}

/// A session; `whole` with its events and state, as opposed to a row of a list.
fn session(whole: bool) -> Value {
    let mut required = vec!["id", "appName", "userId", "revision", "createTime", "lastUpdateTime"];
    let mut properties = object(json!({
        "id": reference("Id"),
        "appName": reference("Id"),
        "userId": reference("Id"),
        "revision": {"type": "integer", "minimum": 0, "description": "How many events it has."},
        "createTime": reference("Time"),
        "lastUpdateTime": {"type": "number", "description": "The `timestamp` of the last event, so it can go backwards."},
        "displayName": {"type": "string"},
        "labels": reference("Labels"),
        "expireTime": {"type": "number", "description": "From then on it answers 404. Unix seconds."},
        "forkedFrom": reference("ForkedFrom"),
        "baseRevision": {
            "type": "integer",
            "minimum": 1,
            "description": "Where the log begins: the events up to here were trimmed. Absent: nothing was.",
        },
        "state": reference("State"),
    }));
    if whole {
        required.extend(["state", "events"]);
        properties.insert(
            "events".to_owned(),
            json!({"type": "array", "items": reference("Event"), "description": "In order of `sequence`."}),
        );
    } else {
        properties["state"] = json!({"allOf": [reference("State")], "description": "With `includeState=true`."});
    }
    json!({"type": "object", "required": required, "properties": properties})
}

/// An event, as stored and given out, or as a client gives it.
fn event(stored: bool) -> Value {
    let text = |about: &str| json!({"type": ["string", "null"], "description": about});
    let mut properties = object(json!({
        "id": reference("Id"),
        "timestamp": {"type": "number", "description": "The client's, given back as the very number that it was."},
        "author": text("Who said or did it: `user`, or the name of an agent."),
        "invocationId": text("The run of the agent that it belongs to."),
        "branch": text("The branch of a tree of agents."),
        "partial": {"type": ["boolean", "null"], "description": "A piece of a stream: answered, never stored."},
        "content": {"description": "What was said: `{role, parts}`, as in ADK."},
        "actions": or_null(reference(if stored { "Actions" } else { "ActionsInput" })),
        "turnComplete": {}, "errorCode": {}, "errorMessage": {}, "longRunningToolIds": {}, "customMetadata": {},
    }));
    if stored {
        properties.insert(
            "sequence".to_owned(),
            json!({"type": "integer", "minimum": 1, "description": "Its place in the log: 1, 2, 3, ..."}),
        );
        properties
            .insert("commitTime".to_owned(), json!({"type": "number", "description": "When it was committed: by the clock of PostgreSQL, or of the process that has the SQLite file. Never before an earlier event of the session."}));
        return json!({
            "type": "object", "required": ["id", "timestamp", "sequence", "commitTime"], "properties": properties,
            "description": "A stored event: as it was given, without `temp:` keys, with its place in the log.",
        });
    }
    properties["id"] = json!({"anyOf": [reference("Id"), {"type": "null"}], "description": "Generated if missing. Give one, and a retry is safe."});
    properties["timestamp"] =
        json!({"anyOf": [reference("TimeIn"), {"type": "null"}], "description": "Now, if missing."});
    json!({
        "type": "object", "properties": properties,
        "description": "An ADK event. Unknown fields are kept byte for byte; known ones, and names that ADK knows below \
                        them, may be given in snake_case and come back in camelCase. `sequence` and `commitTime` are the server's: given ones are dropped.",
        "examples": [{
            "id": "evt-1", "author": "user", "invocationId": "inv-1",
            "content": {"role": "user", "parts": [{"text": "Where is my invoice?"}]},
            "actions": {"stateDelta": {"topic": "billing", "temp:draft": 1}},
        }],
    })
}

fn actions(stored: bool) -> Value {
    json!({
        "type": "object",
        "description": "What an event did. Fields that are not listed are kept byte for byte.",
        "properties": {
            "stateDelta": or_null(reference(if stored { "State" } else { "StateDelta" })),
            "stateOps": or_null(reference("StateOps")),
            "preconditions": or_null(reference("Preconditions")),
            "rewindBeforeInvocationId": {
                "description": "Takes back the events from the first one of this invocation on, for readers that \
                                leave out what was taken back (`excludeRewound`).",
            },
        },
    })
}

fn partial_event() -> Value {
    json!({
        "description": "A partial event, as it was given: nothing was stored.",
        "allOf": [reference("EventInput")],
        "required": ["partial"],
        "properties": {"partial": {"description": "`true`.", "not": {"enum": [false, null]}}},
    })
}

fn append_events() -> Value {
    json!({
        "description": "One event, or an array of them.",
        "anyOf": [
            reference("EventInput"),
            {"type": "array", "minItems": 1, "maxItems": 1000, "items": reference("EventInput")},
        ],
        "examples": [{
            "id": "evt-1", "author": "user",
            "content": {"role": "user", "parts": [{"text": "Where is my invoice?"}]},
            "actions": {"stateDelta": {"topic": "billing"}},
        }],
    })
}

fn appended_events() -> Value {
    let one = json!([reference("Event"), reference("PartialEvent"), reference("TrimmedEvent")]);
    json!({
        "description": "The event, or an array of them: as the request was.",
        "anyOf": [one[0], one[1], one[2], {"type": "array", "items": {"anyOf": one}}],
    })
}

fn state() -> Value {
    json!({
        "type": "object", "additionalProperties": reference("Value"),
        "description": "State: an object of any keys and values, in the order of the scopes.",
        "examples": [{"topic": "billing", "user:name": "Ada", "app:model": "gemini-2.5-pro"}],
    })
}

fn state_delta() -> Value {
    json!({
        "type": "object", "propertyNames": reference("StateKey"), "additionalProperties": reference("Value"),
        "description": "Keys with their new values, each replaced whole; `null` is a value. `temp:` keys are dropped.",
        "examples": [{"topic": "billing", "user:name": "Ada"}],
    })
}

fn state_ops(operator: &str) -> Value {
    json!({
        "type": "array",
        "description": "Operators, applied in order, after `stateDelta`, in the same transaction. They work on what is \
                        there when their turn comes, so that nobody has to read it first. `increment` adds exactly, \
                        integers and decimals of any size (nothing there counts as 0; the result has as many decimals \
                        as the operand that has more); `max` and `min` keep the greater or the smaller number; \
                        `append` adds elements to an array, `union` those that are not there yet by JSON equality \
                        (nothing there counts as `[]`); `merge` is RFC 7396 into an object (nothing there counts as \
                        `{}`); `set` sets, `remove` removes. If what is there is of another type, the request is \
                        refused and nothing is written. The stored event keeps the operators, and its `stateDelta` \
                        shows what they came to: to fold it, remove the keys of its `remove`s, then set its \
                        `stateDelta`.",
        "items": reference(operator),
        "examples": [[{"op": "increment", "key": "visits", "value": 1}, {"op": "remove", "key": "draft"}]],
    })
}

/// One type for all operators, as generators have no good one for a choice of objects: which value an operator takes stands beside
/// its fields, for those who validate.
fn state_op(key: &str) -> Value {
    let choice = |ops: &[&str], value: Value, others: Value| json!({"if": {"properties": {"op": {"enum": ops}}}, "then": {"properties": {"value": value}}, "else": others});
    let merge = choice(&["merge"], json!({"type": "object"}), json!({}));
    let array = choice(&["append", "union"], json!({"type": "array", "items": {}}), merge);
    let mut valued = choice(&["increment", "max", "min"], json!({"type": "number"}), array);
    valued["required"] = json!(["value"]);
    let mut schema = choice(&["remove"], json!({"type": "null"}), valued);
    schema["type"] = "object".into();
    schema["required"] = json!(["op", "key"]);
    schema["additionalProperties"] = false.into();
    schema["properties"] = json!({
        "op": {"type": "string", "enum": ["set", "remove", "increment", "max", "min", "append", "union", "merge"]},
        "key": reference(key),
        "value": {"description": "Of all but `remove`: any value for `set`, a number for `increment`, `max` and `min`, an array for `append` \
                                  and `union`, an object for `merge`."},
    });
    schema
}

fn preconditions(condition: &str) -> Value {
    json!({
        "type": "array",
        "description": "What must hold of keys right before the change; otherwise 412, and nothing is written. \
                        `revision`: the key has been neither set nor removed since its session, or for `app:` and \
                        `user:` keys that scope, was at this revision. `exists`: it is there, or it is not. `equals`: \
                        it has this value, by JSON equality. Writers of other keys do not matter.",
        "items": reference(condition),
        "examples": [[{"key": "owner", "exists": false}]],
    })
}

/// One type for all conditions, for the same reason.
fn precondition(key: &str) -> Value {
    json!({
        "type": "object", "required": ["key"], "additionalProperties": false, "minProperties": 2, "maxProperties": 2,
        "description": "A key, and one of the three.",
        "properties": {
            "key": reference(key), "revision": {"type": "integer", "minimum": 0}, "exists": {"type": "boolean"},
            "equals": {"description": "Any JSON value."},
        },
    })
}

fn fork_session() -> Value {
    let fields = json!({
        "atRevision": {
            "type": ["integer", "null"], "minimum": 0,
            "description": "How many events to begin with; all by default.",
        },
        "sessionId": {
            "description": "Blank or missing: one is generated (UUIDv7).",
            "anyOf": [reference("SessionId"), {"type": "string", "pattern": format!("^{SPACE}*$")}, {"type": "null"}],
        },
    });
    let mut schema = envelope("Where to fork, and the new session's id. Every field may be left out.", object(fields));
    schema["examples"] = json!([{"atRevision": 1}]);
    schema
}

fn rewind_session() -> Value {
    let fields = json!({
        "beforeInvocationId": {
            "type": ["string", "null"], "minLength": 1,
            "description": "To before the first event of this invocation.",
        },
        "toRevision": {
            "type": ["integer", "null"], "minimum": 0,
            "description": "To right after the event of this sequence; 0 for before all.",
        },
    });
    let mut schema = envelope("To where: one of the two.", object(fields));
    schema["minProperties"] = 1.into();
    schema["examples"] = json!([{"toRevision": 0}]);
    schema
}

fn trim_session() -> Value {
    let integer = |about: &str| json!({"type": ["integer", "null"], "minimum": 0, "description": about});
    let fields = json!({
        "beforeSequence": integer("The log begins with this event."),
        "keepLast": integer("So many events stay."),
        "beforeTime": or_null(reference("TimeIn")),
    });
    let mut schema = envelope(
        "Where to cut: one of the three. `beforeTime` is compared with `commitTime`, and not before 1970.",
        object(fields),
    );
    schema["minProperties"] = 1.into();
    schema["examples"] = json!([{"keepLast": 100}]);
    schema
}

fn trimmed_event() -> Value {
    json!({
        "type": "object", "required": ["id", "sequence", "trimmed"], "additionalProperties": false,
        "description": "A retry of an event that was trimmed since: it was stored once, and is not applied again.",
        "properties": {
            "id": reference("Id"),
            "sequence": {"type": "integer", "minimum": 1},
            "trimmed": {"type": "boolean", "description": "true"},
        },
    })
}

fn patch_state() -> Value {
    let fields = json!({
        "stateDelta": or_null(reference("StateDelta")),
        "stateOps": or_null(reference("StateOps")),
        "preconditions": or_null(reference("Preconditions")),
        "author": {"type": ["string", "null"], "description": "The author of the event; `user` by default."},
        "invocationId": {"type": ["string", "null"]},
        "eventId": {"anyOf": [reference("Id"), {"type": "null"}], "description": "The id of the event; must be that of `Idempotency-Key`, if both are given."},
    });
    let mut schema = envelope("A change of the state of a session, and of its user and its app.", object(fields));
    schema["examples"] = json!([{"stateDelta": {"topic": "billing"}, "stateOps": [{"op": "remove", "key": "draft"}]}]);
    schema
}

fn patch_scope() -> Value {
    let fields = json!({
        "stateDelta": or_null(reference("ScopeDelta")),
        "stateOps": or_null(reference("ScopeOps")),
        "preconditions": or_null(reference("ScopePreconditions")),
    });
    let mut schema = envelope("A change of app state or user state on its own.", object(fields));
    schema["examples"] = json!([{"stateDelta": {"model": "gemini-2.5-pro"}}]);
    schema
}

fn policy() -> Value {
    let span = |about: &str| {
        let text = json!({"type": "string", "pattern": "^[0-9].*[sd]$"});
        let span = json!({"anyOf": [{"type": "number", "exclusiveMinimum": 0}, text, {"type": "null"}]});
        let mut span = span;
        span["description"] = json!(format!("{about} Seconds as a number or as `\"3600s\"`, or days as `\"30d\"`."));
        span
    };
    let count = |least: i64, about: &str| json!({"anyOf": [{"type": "integer", "minimum": least}, {"type": "null"}], "description": about});
    let bound = |about: &str| {
        let number = json!({"type": "integer", "minimum": 1, "maximum": (1_u64 << 53) - 1});
        json!({"anyOf": [number, {"type": "null"}], "description": about})
    };
    let group = |about: &str, fields: Value| or_null(envelope(about, object(fields)));
    let fields = json!({
        "sessions": group("Which sessions go.", json!({
            "idleTtl": span("So long after their last commit, to the day; at least a day."),
            "maxAge": span("So long after their creation; at least a day."),
        })),
        "events": group("Which events are trimmed.", json!({
            "maxAge": span("Those that were committed so long ago; at least a day."),
            "maxCount": count(1, "All but so many of the last."),
            "keepLast": count(0, "So many of the last stay, whatever the others say."),
            "stubsMaxAge": span("So long after its commit a trimmed event is forgotten altogether."),
        })),
        "sharedHistory": group("What of the past of app and user state goes.", json!({
            "maxAge": span("What was replaced so long ago; at least a day."),
        })),
        "limits": group("What may be stored. What would exceed it is 409 `limit_reached`; what is there stays.", json!({
            "sessionsPerUser": bound("Sessions of one user that have not expired."),
            "eventsPerSession": bound("Events of one session that are not trimmed."),
        })),
    });
    let mut schema = envelope(
        "How long the data of an app is kept, and how much; what is absent, for good and without a bound.",
        object(fields),
    );
    schema["examples"] = json!([{"sessions": {"idleTtl": "30d"}}]);
    schema
}

fn policy_trial() -> Value {
    let count = json!({"type": "integer", "minimum": 0});
    json!({
        "type": "object", "required": ["wouldExpire", "wouldTrim"],
        "description": "What a sweep would remove now.",
        "properties": {
            "wouldExpire": {"type": "object", "required": ["sessions"], "properties": {"sessions": count}},
            "wouldTrim": {
                "type": "object", "required": ["sessions", "events"], "properties": {"sessions": count, "events": count},
            },
        },
    })
}

fn render() -> Value {
    let word = |words: &[&str], about: &str| json!({"anyOf": [{"type": "string", "enum": words}, {"type": "null"}], "description": about});
    let fields = json!({
        "template": {"type": "string", "description": format!("At most {MAX_NAMES} different names.")},
        "braces": word(Braces::WORDS, "`adk`, the default: `{{key}}` is the value, as `{key}` is. `literal`: it is the text `{key}`."),
        "missing": word(
            Missing::WORDS,
            "What becomes of a key that is not there and not optional. `error`, the default: 422, naming all of them. \
             `empty`: nothing. `keep`: its placeholder stays as it is.",
        ),
    });
    let mut schema = envelope("A template, and how to read it.", object(fields));
    schema["required"] = json!(["template"]);
    schema["examples"] = json!([{"template": "You help {user:name} with {topic?}."}]);
    schema
}

/// A session of ADK: these fields and no others. `whole` with its events, as opposed to a row of a list.
fn adk_session(whole: bool) -> Value {
    let mut events = json!({"type": "array", "items": reference("AdkEvent")});
    if !whole {
        events["maxItems"] = 0.into();
    }
    json!({
        "type": "object", "additionalProperties": false,
        "required": ["id", "appName", "userId", "state", "events", "lastUpdateTime"],
        "properties": {
            "id": reference("Id"),
            "appName": reference("Id"),
            "userId": reference("Id"),
            "state": reference("State"),
            "events": events,
            "lastUpdateTime": {"type": "number"},
        },
    })
}

/// An event of ADK: its fields and no others, none of them `null`.
fn adk_event() -> Value {
    let given = json!({"not": {"type": "null"}});
    let fields = |names: &mut dyn Iterator<Item = &'static str>| -> Map<String, Value> {
        names.map(|name| (name.to_owned(), given.clone())).collect()
    };
    let names = |defaults: &[(&'static str, &str)]| defaults.iter().map(|(name, _)| *name).collect::<Vec<_>>();
    let mut actions = fields(&mut action_fields());
    for name in names(ACTION_DEFAULTS) {
        actions.insert(name.to_owned(), json!({"type": "object"}));
    }
    let mut properties = fields(&mut event_fields());
    properties.extend(object(json!({
        "id": reference("Id"),
        "timestamp": {"type": "number"},
        "author": {"type": "string"},
        "invocationId": {"type": "string"},
        "actions": {
            "type": "object", "required": names(ACTION_DEFAULTS), "properties": actions, "additionalProperties": false,
        },
    })));
    let mut required = vec!["id", "timestamp", "actions"];
    required.extend(names(EVENT_DEFAULTS));
    json!({
        "type": "object", "required": required, "properties": properties, "additionalProperties": false,
        "description": "An event with the fields that ADK knows, without those that are absent or `null`, and without \
                        secrets of credentials.",
    })
}

/// An envelope in which other fields are ignored.
fn adk_envelope(about: &str, fields: Value) -> Value {
    let mut schema = object(envelope(about, object(fields)));
    schema.remove("additionalProperties");
    schema.into()
}

fn adk_create_session() -> Value {
    let mut fields = object(create_session(true)["properties"].clone());
    fields.retain(|name, _| matches!(name.as_str(), "sessionId" | "state"));
    fields.extend(object(json!({
        "events": {
            "type": ["array", "null"], "maxItems": 1000, "items": reference("AdkRestoredEvent"),
            "description": "Appended in order.",
        },
        "options": {"anyOf": [reference("NoFields"), {"type": "null"}], "description": "There are none."},
    })));
    let mut schema = adk_envelope("What a new session begins with. Every field may be left out.", fields.into());
    schema["examples"] = json!([{"sessionId": "s1", "state": {"topic": "billing", "user:name": "Ada"}}]);
    schema
}

fn adk_restored_event() -> Value {
    let nothing = or_null(reference("NoFields"));
    let never = json!({"not": {}});
    let actions = ACTION_DEFAULTS.iter().map(|(name, _)| ((*name).to_owned(), nothing.clone())).collect();
    let mut actions = envelope("None.", actions);
    actions["type"] = json!(["object", "null"]);
    actions["additionalProperties"] = json!({"type": "null"});
    let mut fields = adk_envelope(
        "What was said before, by anybody: an event without actions, without long-running calls, and without calls of \
         ADK's own functions (`adk_request_credential`, `adk_request_confirmation`, `adk_request_input`).",
        json!({
            "longRunningToolIds": {"type": ["array", "null"], "items": reference("Value"), "maxItems": 0},
            "customMetadata": or_null(reference("AnyObject")),
            "message": never, "node_path": never, "route": never, "state": never,
        }),
    );
    fields["properties"]["actions"] = actions;
    fields["allOf"] = json!([reference("EventInput")]);
    fields
}

fn adk_update_session() -> Value {
    let mut schema = adk_envelope("A change of state.", json!({"stateDelta": reference("StateDelta")}));
    schema["required"] = json!(["stateDelta"]);
    schema["examples"] = json!([{"stateDelta": {"topic": "billing"}}]);
    schema
}

fn adk_version() -> Value {
    let names = ["version", "language", "language_version"];
    let properties: Map<String, Value> =
        names.iter().map(|name| ((*name).to_owned(), json!({"type": "string"}))).collect();
    json!({"type": "object", "required": names, "properties": properties, "additionalProperties": false})
}

fn problem() -> Value {
    json!({
        "type": "object", "required": ["type", "title", "status", "detail", "code", "requestId"],
        "description": "An error (RFC 9457). No value of any state ever appears in one.",
        "properties": {
            "type": {"type": "string", "format": "uri"},
            "title": {"type": "string"},
            "status": {"type": "integer"},
            "detail": {"type": "string", "description": "For people; its wording may change."},
            "code": {"type": "string", "description": "A stable word; what programs should look at."},
            "errors": {
                "type": "array", "description": "The fields at fault, all of them.",
                "items": {
                    "type": "object", "required": ["field", "message"],
                    "properties": {
                        "field": {"type": "string", "description": "A name, or a JSON pointer into the body."},
                        "message": {"type": "string"},
                    },
                },
            },
            "baseRevision": {"type": "integer", "description": "Where the log begins, if a position is not in it."},
            "revision": {"type": "integer", "description": "The current one, where a precondition failed, or a position is gone."},
            "userRevision": {"type": "integer", "description": "That of the user's state, where a session was addressed."},
            "appRevision": {"type": "integer", "description": "That of the app's state, where a session was addressed."},
            "limit": {"type": "string", "description": "What refused: the rate of `app`, `key` or `user`, or the places of `watchers`; the bound of a policy, `sessionsPerUser` or `eventsPerSession`."},
            "epoch": {"type": "integer", "description": "Of the session's lease, where that refused."},
            "oldest": {"type": "string", "description": "The oldest position of the feed."},
            "owner": {"type": "string", "description": "Who holds the lease that is in the way."},
            "expireTime": {"type": "number", "description": "When the lease that is in the way expires."},
            "outcome": {
                "type": "string", "enum": ["not_applied", "unknown"],
                "description": "Of a write: it did not happen and never will, or it may have happened.",
            },
            "traceId": {"type": "string", "description": "That of the request's `traceparent`, if it has one."},
            "requestId": {"type": "string", "description": "As in `x-request-id` and in the server's log."},
        },
    })
}
