//! ADK's sessions and events as JSON, and back.
//!
//! ADK for Rust writes events in a form of its own: names in snake case, bytes as lists of numbers, thoughts and calls
//! without the names that the other ADKs give them. What this crate stores is the form of those, which sessiond's
//! clients of all languages read. Nothing gets lost on either way:
//!
//! - What that form cannot say, such as a confirmation of a tool, is stored besides, as ADK for Rust writes it, in the
//!   event's field `adkRust`.
//! - What ADK's `Event` cannot hold of events that others wrote is in its `provider_metadata`, as one JSON text under
//!   [`UNKNOWN`], and is sent with the event if it is appended again.

use std::collections::{BTreeMap, HashMap};

use adk_core::{CitationMetadata, Content, Event, EventActions, EventCompaction, FileDataPart, FinishReason};
use adk_core::{FunctionResponseData, InlineDataPart, KEY_PREFIX_TEMP, LlmResponse, Part, UsageMetadata};
use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE};
use chrono::{DateTime, Utc};
use serde_json::{Map, Value, json, value::RawValue};

use crate::error::{Error, ErrorKind};

/// The key of an event's `provider_metadata` under which there are, as one JSON text, those fields of the stored event
/// that ADK's `Event` cannot hold.
pub const UNKNOWN: &str = "sessiond.unknown";

/// The field of a stored event for what only ADK for Rust knows.
const OWN: &str = "adkRust";

/// The first version of an artifact, as ADK for Rust counts them. sessiond, as the other ADKs, counts from 0.
pub(crate) const FIRST: i64 = 1;

/// The first second that is no date any more.
const YEAR_10000: f64 = 253_402_300_800.0;

type Object = Map<String, Value>;

/// A session as sessiond answers it.
pub(crate) struct StoredSession {
    pub id: String,
    pub app_name: String,
    pub user_id: String,
    pub revision: u64,
    pub state: HashMap<String, Value>,
    pub events: Vec<StoredEvent>,
    pub last_update_time: DateTime<Utc>,
}

/// An event as sessiond answers it.
pub(crate) struct StoredEvent {
    pub event: Event,
    pub sequence: u64,
    pub commit_time: DateTime<Utc>,
    /// Whether it takes back what was before it.
    pub rewinds: bool,
    /// The values of the keys after it, if it was one of operators.
    pub state_delta: Object,
}

/// The members of an object, unread.
pub(crate) type Members<'a> = BTreeMap<String, &'a RawValue>;

pub(crate) fn members(body: &[u8]) -> Result<Members<'_>, Error> {
    serde_json::from_slice(body).map_err(|_| not_ours())
}

/// A member of an answer.
pub(crate) fn member<T: std::str::FromStr>(members: &Members<'_>, name: &str) -> Result<T, Error> {
    members.get(name).and_then(|raw| raw.get().parse().ok()).ok_or_else(not_ours)
}

/// A text of an answer.
pub(crate) fn text(members: &Members<'_>, name: &str) -> Option<String> {
    members.get(name).and_then(|raw| serde_json::from_str(raw.get()).ok())
}

/// The elements of a list in an answer.
pub(crate) fn list<'a>(members: &Members<'a>, name: &str) -> Result<Vec<&'a RawValue>, Error> {
    members.get(name).map_or(Ok(Vec::new()), |raw| serde_json::from_str(raw.get()).map_err(|_| not_ours()))
}

pub(crate) fn time(members: &Members<'_>, name: &str) -> Result<DateTime<Utc>, Error> {
    members.get(name).and_then(|raw| time_from_number(raw.get())).ok_or_else(not_ours)
}

pub(crate) fn not_ours() -> Error {
    Error::new(ErrorKind::Internal, "The answer is not sessiond's.")
}

pub(crate) fn session(body: &[u8]) -> Result<StoredSession, Error> {
    let members = members(body)?;
    let state = members.get("state").map_or(Ok(HashMap::new()), |raw| serde_json::from_str(raw.get()));
    Ok(StoredSession {
        id: text(&members, "id").ok_or_else(not_ours)?,
        app_name: text(&members, "appName").ok_or_else(not_ours)?,
        user_id: text(&members, "userId").ok_or_else(not_ours)?,
        revision: member(&members, "revision")?,
        state: state.map_err(|_| not_ours())?,
        events: list(&members, "events")?.into_iter().map(|raw| event(raw.get())).collect::<Result<_, _>>()?,
        last_update_time: time(&members, "lastUpdateTime")?,
    })
}

pub(crate) fn event(stored: &str) -> Result<StoredEvent, Error> {
    let members = members(stored.as_bytes())?;
    let mut object: Object = serde_json::from_str(stored).map_err(|_| not_ours())?;
    normalise(&mut object);
    let mut event = decode(&object);
    event.timestamp = time(&members, "timestamp")?;
    let unknown = unknown(&object, &event);
    if !unknown.is_empty() {
        event.provider_metadata.insert(UNKNOWN.into(), Value::Object(unknown).to_string());
    }
    let actions = &object.get("actions").unwrap_or(&Value::Null);
    Ok(StoredEvent {
        event,
        sequence: member(&members, "sequence")?,
        commit_time: time(&members, "commitTime")?,
        rewinds: actions["rewindBeforeInvocationId"].is_string(),
        state_delta: actions["stateDelta"].as_object().cloned().unwrap_or_default(),
    })
}

/// An event as sessiond takes it, without `temp:` keys.
pub(crate) fn event_to_text(event: &Event) -> String {
    let mut object = encode(event);
    let known = event.provider_metadata.get(UNKNOWN).and_then(|text| serde_json::from_str::<Object>(text).ok());
    if let Some(unknown) = known {
        // What was changed since it was read is as it is now.
        let (now, then) = (object.clone(), encode(&decode(&unknown)));
        let unchanged = |name: &str| now.get(name) == then.get(name);
        for (name, value) in unknown {
            match (name.as_str(), value, object.get_mut("actions")) {
                ("actions", Value::Object(members), Some(Value::Object(actions))) => {
                    for (name, value) in members {
                        if now["actions"].get(&name) == then["actions"].get(&name) {
                            actions.insert(name, value);
                        }
                    }
                }
                (_, value, _) if unchanged(&name) => drop(object.insert(name, value)),
                _ => {}
            }
        }
    }
    // The number is written by its digits: a float has not enough of them for nanoseconds.
    let rest = Value::Object(object).to_string();
    format!(r#"{{"timestamp":{},{}"#, time_to_number(event.timestamp), &rest[1..])
}

/// Gives a stored event the form in which the clients of all languages write one: bytes in the alphabet for URLs,
/// padded; a compaction in seconds; metadata as an object, which ADK for Java has had as a list of entries.
fn normalise(event: &mut Object) {
    if let Some(content) = event.get_mut("content") {
        normalise_content(content);
    }
    if let Some(entry) = event.get_mut("groundingMetadata").and_then(|metadata| metadata.get_mut("searchEntryPoint")) {
        normalise_bytes(entry, "sdkBlob");
    }
    if let Some(metadata) = event.get("customMetadata").and_then(Value::as_array).and_then(|entries| by_key(entries)) {
        event.insert("customMetadata".into(), metadata);
    }
    let Some(compaction) = event.get_mut("actions").and_then(|actions| actions.get_mut("compaction")) else {
        return;
    };
    for name in ["startTimestamp", "endTimestamp"] {
        // What is no date in seconds is in milliseconds.
        if let Some(bound) = compaction[name].as_f64().filter(|bound| *bound >= YEAR_10000) {
            compaction[name] = json!(bound / 1e3);
        }
    }
    if let Some(content) = compaction.get_mut("compactedContent") {
        normalise_content(content);
    }
}

fn normalise_content(content: &mut Value) {
    for part in content.get_mut("parts").and_then(Value::as_array_mut).into_iter().flatten() {
        normalise_bytes(part, "thoughtSignature");
        if let Some(blob) = part.get_mut("inlineData") {
            normalise_bytes(blob, "data");
        }
        if let Some(response) = part.get_mut("functionResponse") {
            normalise_content(response);
        }
    }
}

fn normalise_bytes(holder: &mut Value, name: &str) {
    if let Some(text) = holder.get_mut(name)
        && let Some(bytes) = bytes(text)
    {
        *text = json!(URL_SAFE.encode(bytes));
    }
}

/// A list of entries as an object.
fn by_key(entries: &[Value]) -> Option<Value> {
    let entry = |entry: &Value| {
        let values = [&entry["stringValue"], &entry["numericValue"], &entry["stringListValue"]["values"]];
        let value = values.into_iter().find(|value| !value.is_null()).cloned().unwrap_or_default();
        Some((entry["key"].as_str()?.to_owned(), value))
    };
    Some(Value::Object(entries.iter().map(entry).collect::<Option<Object>>()?))
}

/// What the stored event has and `event` does not say.
fn unknown(stored: &Object, event: &Event) -> Object {
    let again = encode(event);
    let differs = |name: &str, value: &Value| !value.is_null() && again.get(name) != Some(value);
    let mut unknown = Object::new();
    for (name, value) in stored {
        match (name.as_str(), value) {
            ("id" | "timestamp" | "sequence" | "commitTime" | OWN, _) => {}
            ("actions", Value::Object(actions)) => {
                let differs = |(name, value): &(&String, &Value)| {
                    !value.is_null() && again["actions"].get(name.as_str()) != Some(value)
                };
                let actions: Object = actions.iter().filter(differs).map(|(k, v)| (k.clone(), v.clone())).collect();
                if !actions.is_empty() {
                    unknown.insert(name.clone(), Value::Object(actions));
                }
            }
            _ if differs(name, value) => drop(unknown.insert(name.clone(), value.clone())),
            _ => {}
        }
    }
    unknown
}

/// The event in the form of all ADKs, without its time, and with what only ADK for Rust knows in [`OWN`].
fn encode(event: &Event) -> Object {
    let mut object = encode_shared(event);
    let own = own(&full(event), &full(&decode_shared(&object)));
    if !own.is_empty() {
        object.insert(OWN.into(), Value::Object(own));
    }
    object
}

fn decode(object: &Object) -> Event {
    let event = decode_shared(object);
    let Some(Value::Object(own)) = object.get(OWN) else {
        return event;
    };
    let mut full = full(&event);
    for (name, value) in own {
        match (name.as_str(), value, full.get_mut("actions")) {
            ("actions", Value::Object(own), Some(Value::Object(actions))) => actions.extend(own.clone()),
            _ => drop(full.insert(name.clone(), value.clone())),
        }
    }
    // Of a later version of ADK, it may say what this one does not know.
    serde_json::from_value(Value::Object(full)).unwrap_or(event)
}

/// An event as ADK for Rust writes it, without what [`encode_shared`] says in any case.
fn full(event: &Event) -> Object {
    let Ok(Value::Object(mut full)) = serde_json::to_value(event) else {
        return Object::new();
    };
    if let Some(Value::Object(metadata)) = full.get_mut("event_metadata") {
        metadata.remove(UNKNOWN);
        if metadata.is_empty() {
            full.remove("event_metadata");
        }
    }
    full
}

/// What `event` has and the shared form did not keep.
fn own(event: &Object, kept: &Object) -> Object {
    let mut own = Object::new();
    for (name, value) in event {
        match (name.as_str(), value) {
            ("timestamp", _) => {}
            ("actions", Value::Object(actions)) => {
                let actions: Object = (actions.iter())
                    .filter(|(name, value)| *name != "state_delta" && kept["actions"].get(name.as_str()) != Some(value))
                    .map(|(name, value)| (name.clone(), value.clone()))
                    .collect();
                if !actions.is_empty() {
                    own.insert(name.clone(), Value::Object(actions));
                }
            }
            _ if kept.get(name) != Some(value) => drop(own.insert(name.clone(), value.clone())),
            _ => {}
        }
    }
    own
}

fn encode_shared(event: &Event) -> Object {
    let (response, actions) = (&event.llm_response, &event.actions);
    let mut object = Object::new();
    let mut put = |name: &str, value: Option<Value>| {
        if let Some(value) = value {
            object.insert(name.into(), value);
        }
    };
    put("id", Some(json!(event.id)));
    put("author", Some(json!(event.author)));
    put("invocationId", Some(json!(event.invocation_id)));
    put("branch", (!event.branch.is_empty()).then(|| json!(event.branch)));
    put("content", response.content.as_ref().map(encode_content));
    put("partial", response.partial.then_some(Value::Bool(true)));
    put("turnComplete", response.turn_complete.then_some(Value::Bool(true)));
    put("interrupted", response.interrupted.then_some(Value::Bool(true)));
    put("errorCode", response.error_code.as_ref().map(|code| json!(code)));
    put("errorMessage", response.error_message.as_ref().map(|message| json!(message)));
    put("interactionId", response.interaction_id.as_ref().map(|id| json!(id)));
    put("finishReason", response.finish_reason.map(|reason| json!(finish_word(reason))));
    put("usageMetadata", response.usage_metadata.as_ref().map(encode_usage));
    put("citationMetadata", response.citation_metadata.as_ref().map(encode_citations));
    let long_running = &event.long_running_tool_ids;
    put("longRunningToolIds", (!long_running.is_empty()).then(|| json!(long_running)));
    let metadata: HashMap<_, _> = event.provider_metadata.iter().filter(|(name, _)| *name != UNKNOWN).collect();
    put("customMetadata", (!metadata.is_empty()).then(|| json!(metadata)));

    let delta: Object = (actions.state_delta.iter())
        .filter(|(key, _)| !key.starts_with(KEY_PREFIX_TEMP))
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect();
    // These four are in every event of an ADK.
    let mut done = Object::from_iter([
        ("stateDelta".into(), Value::Object(delta)),
        (
            "artifactDelta".into(),
            actions.artifact_delta.iter().map(|(name, n)| (name.clone(), json!(n.saturating_sub(FIRST)))).collect(),
        ),
        ("requestedAuthConfigs".into(), json!({})),
        ("requestedToolConfirmations".into(), json!({})),
    ]);
    if actions.skip_summarization {
        done.insert("skipSummarization".into(), json!(true));
    }
    if actions.escalate {
        done.insert("escalate".into(), json!(true));
    }
    if let Some(agent) = &actions.transfer_to_agent {
        done.insert("transferToAgent".into(), json!(agent));
    }
    if let Some(compaction) = &actions.compaction {
        let seconds = |time: DateTime<Utc>| time.timestamp_micros() as f64 / 1e6;
        let (start, end) = (seconds(compaction.start_timestamp), seconds(compaction.end_timestamp));
        let content = encode_content(&compaction.compacted_content);
        done.insert(
            "compaction".into(),
            json!({"startTimestamp": start, "endTimestamp": end, "compactedContent": content}),
        );
    }
    object.insert("actions".into(), Value::Object(done));
    object
}

fn decode_shared(object: &Object) -> Event {
    let nothing = Value::Null;
    let field = |name: &str| object.get(name).unwrap_or(&nothing);
    let text = |name: &str| field(name).as_str().map(str::to_owned);
    let flag = |name: &str| field(name).as_bool().unwrap_or_default();
    let mut event = Event::with_id(text("id").unwrap_or_default(), text("invocationId").unwrap_or_default());
    event.branch = text("branch").unwrap_or_default();
    event.author = text("author").unwrap_or_default();
    event.llm_response = LlmResponse {
        content: decode_content(field("content")),
        usage_metadata: decode_usage(field("usageMetadata")),
        finish_reason: field("finishReason").as_str().map(finish_reason),
        citation_metadata: decode_citations(field("citationMetadata")),
        partial: flag("partial"),
        turn_complete: flag("turnComplete"),
        interrupted: flag("interrupted"),
        error_code: text("errorCode"),
        error_message: text("errorMessage"),
        provider_metadata: None,
        interaction_id: text("interactionId"),
    };
    event.long_running_tool_ids = (field("longRunningToolIds").as_array().into_iter().flatten())
        .filter_map(|id| id.as_str().map(str::to_owned))
        .collect();
    event.provider_metadata = (field("customMetadata").as_object().into_iter().flatten())
        .filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned())))
        .collect();

    let actions = field("actions");
    let flag = |name: &str| actions[name].as_bool().unwrap_or_default();
    let members = |name: &str| actions[name].as_object().into_iter().flatten();
    event.actions = EventActions {
        state_delta: members("stateDelta").map(|(key, value)| (key.clone(), value.clone())).collect(),
        artifact_delta: (members("artifactDelta"))
            .filter_map(|(name, version)| Some((name.clone(), version.as_i64()?.checked_add(FIRST)?)))
            .collect(),
        skip_summarization: flag("skipSummarization"),
        transfer_to_agent: actions["transferToAgent"].as_str().map(str::to_owned),
        escalate: flag("escalate"),
        compaction: decode_compaction(&actions["compaction"]),
        ..EventActions::default()
    };
    event
}

fn encode_content(content: &Content) -> Value {
    let mut object = Object::new();
    object.insert("parts".into(), content.parts.iter().map(encode_part).collect());
    if !content.role.is_empty() {
        object.insert("role".into(), json!(content.role));
    }
    Value::Object(object)
}

fn decode_content(content: &Value) -> Option<Content> {
    let content = content.as_object()?;
    let role = content.get("role").and_then(Value::as_str).unwrap_or_default().to_owned();
    let parts = content.get("parts").and_then(Value::as_array).into_iter().flatten().filter_map(decode_part).collect();
    Some(Content { role, parts })
}

fn encode_part(part: &Part) -> Value {
    match part {
        Part::Text { text } => json!({"text": text}),
        Part::Thinking { thinking, signature } => {
            present(json!({"text": thinking, "thought": true, "thoughtSignature": stored_signature(signature)}))
        }
        Part::InlineData { mime_type, data, .. } => inline_data(mime_type, data),
        Part::FileData { mime_type, file_uri, .. } => file_data(mime_type, file_uri),
        Part::FunctionCall { name, args, id, thought_signature } => present(json!({
            "functionCall": present(json!({"id": id, "name": name, "args": args})),
            "thoughtSignature": stored_signature(thought_signature),
        })),
        Part::FunctionResponse { function_response: said, id, .. } => {
            // The other ADKs take nothing but an object.
            let response =
                if said.response.is_object() { said.response.clone() } else { json!({"result": said.response}) };
            let inline = said.inline_data.iter().map(|part| inline_data(&part.mime_type, &part.data));
            let files = said.file_data.iter().map(|part| file_data(&part.mime_type, &part.file_uri));
            let parts: Vec<Value> = inline.chain(files).collect();
            let parts = if parts.is_empty() { Value::Null } else { Value::Array(parts) };
            json!({"functionResponse": present(json!({"id": id, "name": said.name, "response": response, "parts": parts}))})
        }
        // What no other ADK has, as ADK for Rust writes it; it is in `OWN`, too.
        Part::ServerToolCall { .. } | Part::ServerToolResponse { .. } | Part::EmbeddedResource { .. } => {
            json!({"partMetadata": {OWN: part}})
        }
    }
}

pub(crate) fn decode_part(part: &Value) -> Option<Part> {
    let string = |value: &Value| value.as_str().map(str::to_owned);
    // ADK has the text that models give, which is in the standard alphabet.
    let signature = match &part["thoughtSignature"] {
        Value::Null => None,
        text => Some(STANDARD.encode(bytes(text)?)),
    };
    if let Some(text) = string(&part["text"]) {
        return Some(if part["thought"].as_bool() == Some(true) {
            Part::Thinking { thinking: text, signature }
        } else {
            Part::Text { text }
        });
    }
    if let (Some(mime_type), Some(data)) = (string(&part["inlineData"]["mimeType"]), bytes(&part["inlineData"]["data"]))
    {
        return Some(Part::InlineData { mime_type, data, uri: None, annotations: None });
    }
    if let Some(file_uri) = string(&part["fileData"]["fileUri"]) {
        let mime_type = string(&part["fileData"]["mimeType"]).unwrap_or_default();
        return Some(Part::FileData { mime_type, file_uri, annotations: None });
    }
    let call = &part["functionCall"];
    if let Some(name) = string(&call["name"]) {
        let args = if call["args"].is_null() { json!({}) } else { call["args"].clone() };
        return Some(Part::FunctionCall { name, args, id: string(&call["id"]), thought_signature: signature });
    }
    let response = &part["functionResponse"];
    let mut said = FunctionResponseData::new(string(&response["name"])?, response["response"].clone());
    for part in response["parts"].as_array().into_iter().flatten().filter_map(decode_part) {
        match part {
            Part::InlineData { mime_type, data, uri, annotations } => {
                said.inline_data.push(InlineDataPart { mime_type, data, uri, annotations });
            }
            Part::FileData { mime_type, file_uri, annotations } => {
                said.file_data.push(FileDataPart { mime_type, file_uri, annotations });
            }
            _ => {}
        }
    }
    Some(Part::FunctionResponse { function_response: said, id: string(&response["id"]), annotations: None })
}

/// A signature as it is stored; one that is no base64 as it is.
fn stored_signature(signature: &Option<String>) -> Value {
    match signature {
        Some(text) => json!(bytes(&json!(text)).map_or_else(|| text.clone(), |bytes| URL_SAFE.encode(bytes))),
        None => Value::Null,
    }
}

fn inline_data(mime_type: &str, data: &[u8]) -> Value {
    json!({"inlineData": {"mimeType": mime_type, "data": URL_SAFE.encode(data)}})
}

fn file_data(mime_type: &str, file_uri: &str) -> Value {
    json!({"fileData": {"mimeType": mime_type, "fileUri": file_uri}})
}

/// Bytes in either of the alphabets that ADKs write.
fn bytes(text: &Value) -> Option<Vec<u8>> {
    STANDARD_NO_PAD.decode(text.as_str()?.trim_end_matches('=').replace('-', "+").replace('_', "/")).ok()
}

/// The object without its members that are null.
fn present(mut object: Value) -> Value {
    if let Some(members) = object.as_object_mut() {
        members.retain(|_, value| !value.is_null());
    }
    object
}

fn encode_usage(usage: &UsageMetadata) -> Value {
    present(json!({
        "promptTokenCount": usage.prompt_token_count,
        "candidatesTokenCount": usage.candidates_token_count,
        "totalTokenCount": usage.total_token_count,
        "cachedContentTokenCount": usage.cache_read_input_token_count,
        "thoughtsTokenCount": usage.thinking_token_count,
    }))
}

fn decode_usage(usage: &Value) -> Option<UsageMetadata> {
    let count = |name: &str| usage.get(name)?.as_i64()?.try_into().ok();
    usage.as_object()?;
    Some(UsageMetadata {
        prompt_token_count: count("promptTokenCount").unwrap_or_default(),
        candidates_token_count: count("candidatesTokenCount").unwrap_or_default(),
        total_token_count: count("totalTokenCount").unwrap_or_default(),
        cache_read_input_token_count: count("cachedContentTokenCount"),
        thinking_token_count: count("thoughtsTokenCount"),
        ..UsageMetadata::default()
    })
}

fn encode_citations(metadata: &CitationMetadata) -> Value {
    let sources = metadata.citation_sources.iter().map(|source| {
        present(json!({
            "uri": source.uri,
            "title": source.title,
            "startIndex": source.start_index,
            "endIndex": source.end_index,
            "license": source.license,
        }))
    });
    json!({"citations": sources.collect::<Vec<_>>()})
}

fn decode_citations(metadata: &Value) -> Option<CitationMetadata> {
    serde_json::from_value(json!({"citationSources": metadata.get("citations")?})).ok()
}

fn decode_compaction(compaction: &Value) -> Option<EventCompaction> {
    let time = |name: &str| DateTime::from_timestamp_micros((compaction[name].as_f64()? * 1e6).round() as i64);
    Some(EventCompaction {
        start_timestamp: time("startTimestamp")?,
        end_timestamp: time("endTimestamp")?,
        compacted_content: decode_content(&compaction["compactedContent"])?,
    })
}

fn finish_word(reason: FinishReason) -> &'static str {
    match reason {
        FinishReason::Stop => "STOP",
        FinishReason::MaxTokens => "MAX_TOKENS",
        FinishReason::Safety => "SAFETY",
        FinishReason::Recitation => "RECITATION",
        FinishReason::Other => "OTHER",
    }
}

fn finish_reason(word: &str) -> FinishReason {
    match word {
        "STOP" => FinishReason::Stop,
        "MAX_TOKENS" => FinishReason::MaxTokens,
        "SAFETY" => FinishReason::Safety,
        "RECITATION" => FinishReason::Recitation,
        _ => FinishReason::Other,
    }
}

/// Unix seconds, as a JSON number with as many digits as the time has, at most nine behind the point.
pub(crate) fn time_to_number(time: DateTime<Utc>) -> String {
    let nanos = i128::from(time.timestamp()) * 1_000_000_000 + i128::from(time.timestamp_subsec_nanos());
    let (sign, nanos) = (if nanos < 0 { "-" } else { "" }, nanos.unsigned_abs());
    let text = format!("{sign}{}.{:09}", nanos / 1_000_000_000, nanos % 1_000_000_000);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// The time of Unix seconds as a JSON number, to the nanosecond.
fn time_from_number(number: &str) -> Option<DateTime<Utc>> {
    let nanos = match number.contains(['e', 'E']) {
        true => (number.parse::<f64>().ok()? * 1e9).round() as i128,
        false => {
            let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
            let digits: String = fraction.chars().chain("000000000".chars()).take(9).collect();
            let size =
                whole.trim_start_matches('-').parse::<i128>().ok()? * 1_000_000_000 + digits.parse::<i128>().ok()?;
            if whole.starts_with('-') { -size } else { size }
        }
    };
    let seconds = i64::try_from(nanos.div_euclid(1_000_000_000)).ok()?;
    DateTime::from_timestamp(seconds, u32::try_from(nanos.rem_euclid(1_000_000_000)).ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_keep_their_nanoseconds() {
        for number in ["0", "1", "1763836383.123456789", "1763836383.5", "-1.5", "-0.000000001", "253402300799.999999"]
        {
            assert_eq!(time_to_number(time_from_number(number).unwrap()), number);
        }
        assert_eq!(time_from_number("1.7e9"), time_from_number("1700000000.0"));
        assert_eq!(time_from_number("1.00000000099"), time_from_number("1"));
        assert_eq!(time_from_number("1e300"), None);
    }

    fn parts() -> Vec<Part> {
        let image = InlineDataPart { mime_type: "image/png".into(), data: vec![250, 1], uri: None, annotations: None };
        let mut response = FunctionResponseData::with_inline_data("draw", json!({"ok": true}), vec![image]);
        response.file_data.push(FileDataPart {
            mime_type: "text/plain".into(),
            file_uri: "gs://a/b".into(),
            annotations: None,
        });
        vec![
            Part::Text { text: "hello".into() },
            Part::Thinking { thinking: "hm".into(), signature: Some("c2ln".into()) },
            Part::InlineData { mime_type: "image/png".into(), data: vec![251, 255, 0], uri: None, annotations: None },
            Part::FileData { mime_type: "a/b".into(), file_uri: "gs://a".into(), annotations: None },
            Part::FunctionCall {
                name: "draw".into(),
                args: json!({"n": 1}),
                id: Some("c1".into()),
                thought_signature: Some("c2ln".into()),
            },
            Part::FunctionResponse { function_response: response, id: Some("c1".into()), annotations: None },
        ]
    }

    fn event_of(parts: Vec<Part>) -> Event {
        let mut event = Event::with_id("e", "i");
        event.author = "agent".into();
        event.set_content(Content { role: "model".into(), parts });
        event
    }

    #[test]
    fn parts_have_the_form_of_all_adks() {
        let event = event_of(parts());
        let object = encode(&event);
        assert_eq!(
            object["content"],
            json!({"role": "model", "parts": [
                {"text": "hello"},
                {"text": "hm", "thought": true, "thoughtSignature": "c2ln"},
                {"inlineData": {"mimeType": "image/png", "data": "-_8A"}},
                {"fileData": {"mimeType": "a/b", "fileUri": "gs://a"}},
                {"functionCall": {"id": "c1", "name": "draw", "args": {"n": 1}}, "thoughtSignature": "c2ln"},
                {"functionResponse": {"id": "c1", "name": "draw", "response": {"ok": true}, "parts": [
                    {"inlineData": {"mimeType": "image/png", "data": "-gE="}},
                    {"fileData": {"mimeType": "text/plain", "fileUri": "gs://a/b"}}
                ]}}
            ]})
        );
        // That form says it all.
        assert_eq!(object.get(OWN), None);
        assert_eq!(decode(&object).llm_response.content.unwrap().parts, parts());
    }

    #[test]
    fn what_only_this_adk_knows_comes_back() {
        let mut event = event_of(vec![
            Part::InlineData {
                mime_type: "image/png".into(),
                data: vec![1],
                uri: Some("file:///a".into()),
                annotations: Some(json!({"x": 1})),
            },
            Part::FunctionResponse {
                function_response: FunctionResponseData::new("f", json!("bare text")),
                id: None,
                annotations: None,
            },
            Part::ServerToolCall { server_tool_call: json!({"a": 1.5}) },
        ]);
        event.llm_request = Some("{}".into());
        event.llm_response.provider_metadata = Some(json!({"id": 7}));
        event.llm_response.finish_reason = Some(FinishReason::MaxTokens);
        event.llm_response.usage_metadata =
            Some(UsageMetadata { prompt_token_count: 3, cost: Some(0.1), ..UsageMetadata::default() });
        event.llm_response.citation_metadata = serde_json::from_value(json!({"citationSources": [
            {"uri": "http://a", "title": null, "startIndex": 1, "endIndex": 2, "license": null, "publicationDate": "2026"}
        ]}))
        .unwrap();
        event.actions.route = Some(vec!["next".into()]);
        event.actions.compaction = Some(EventCompaction {
            start_timestamp: time_from_number("1763836383.123456789").unwrap(),
            end_timestamp: time_from_number("1763836384.987654321").unwrap(),
            compacted_content: Content::new("model").with_text("short"),
        });
        event.provider_metadata.insert("trace".into(), "t1".into());
        let object = encode(&event);
        assert_eq!(object["customMetadata"], json!({"trace": "t1"}));
        assert_eq!(object["content"]["parts"][1]["functionResponse"]["response"], json!({"result": "bare text"}));
        let mut again = decode(&object);
        again.timestamp = event.timestamp;
        assert_eq!(serde_json::to_value(again).unwrap(), serde_json::to_value(event).unwrap());
    }

    #[test]
    fn what_others_know_is_kept_and_sent_again() {
        let stored = r#"{"id":"e","timestamp":1.5,"author":"agent","invocationId":"i","sequence":1,"commitTime":2,
            "content":{"parts":[{"text":"hi"},{"executableCode":{"code":"1"}}]},"finishReason":"MALFORMED_FUNCTION_CALL",
            "groundingMetadata":{"q":["x"]},"customMetadata":{"a":"b","n":1},
            "actions":{"stateDelta":{"k":1},"stateOps":[{"op":"increment","key":"k","value":1}],"endOfAgent":true}}"#;
        let mut event = event(stored).unwrap().event;
        assert_eq!(event.llm_response.content.as_ref().unwrap().parts, [Part::Text { text: "hi".into() }]);
        assert_eq!(event.llm_response.finish_reason, Some(FinishReason::Other));
        assert_eq!(event.provider_metadata["a"], "b");
        let again: Value = serde_json::from_str(&event_to_text(&event)).unwrap();
        let stored: Value = serde_json::from_str(stored).unwrap();
        for name in ["content", "finishReason", "groundingMetadata", "customMetadata", "timestamp"] {
            assert_eq!(again[name], stored[name], "{name}");
        }
        for name in ["stateDelta", "stateOps", "endOfAgent"] {
            assert_eq!(again["actions"][name], stored["actions"][name], "{name}");
        }
        // What the program changed is sent as it is now.
        event.set_content(Content::new("model").with_text("other"));
        let changed: Value = serde_json::from_str(&event_to_text(&event)).unwrap();
        assert_eq!(changed["content"], json!({"role": "model", "parts": [{"text": "other"}]}));
        assert_eq!(changed["groundingMetadata"], stored["groundingMetadata"]);
    }

    fn golden() -> Vec<Value> {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../wire/events.json");
        let file: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
        file["events"].as_array().unwrap().clone()
    }

    fn read(stored: &Value) -> Event {
        let mut stored = stored.clone();
        (stored["sequence"], stored["commitTime"]) = (json!(1), json!(1.0));
        event(&stored.to_string()).unwrap().event
    }

    fn texts(event: &Event) -> Vec<&str> {
        event.llm_response.content.as_ref().unwrap().parts.iter().filter_map(Part::text).collect()
    }

    #[test]
    fn golden_events_are_read_and_written_whole() {
        for one in golden() {
            let expected = ["written", "event"].into_iter().find_map(|name| one.get(name)).unwrap();
            let event = read(&one["event"]);
            let written: Value = serde_json::from_str(&event_to_text(&event)).unwrap();
            assert_eq!(&written, expected, "{}", one["name"]);
            // So it is after it was stored and read once more.
            let again: Value = serde_json::from_str(&event_to_text(&read(&written))).unwrap();
            assert_eq!(&again, expected, "{}", one["name"]);
            if let Some(expected) = one["texts"].as_array() {
                assert_eq!(json!(texts(&event)), json!(expected));
            }
        }
    }

    fn golden_event(id: &str) -> Event {
        read(&golden().iter().find(|one| one["event"]["id"] == id).unwrap()["event"])
    }

    #[test]
    fn bytes_are_read_in_both_alphabets_and_written_in_one() {
        for id in ["golden-url", "golden-standard"] {
            let event = golden_event(id);
            let part = &event.llm_response.content.as_ref().unwrap().parts[1];
            assert!(matches!(part, Part::InlineData { data, .. } if data == &[0xfb, 0xff, 0xfe]), "{part:?}");
        }
        // As models give it.
        let signature = Some("+//+P+8=".to_owned());
        let event = event_of(vec![Part::Thinking { thinking: "hm".into(), signature: signature.clone() }]);
        let object = encode(&event);
        assert_eq!(object["content"]["parts"][0]["thoughtSignature"], "-__-P-8=");
        let parts = decode(&object).llm_response.content.unwrap().parts;
        assert_eq!(parts, [Part::Thinking { thinking: "hm".into(), signature }]);
    }

    #[test]
    fn a_compaction_is_read_in_seconds_whoever_wrote_it() {
        for id in ["golden-compaction", "golden-millis"] {
            let compaction = golden_event(id).actions.compaction.unwrap();
            let bounds = [compaction.start_timestamp, compaction.end_timestamp].map(time_to_number);
            assert_eq!(bounds, ["1795579734.88", "1795579738.25"], "{id}");
        }
    }

    #[test]
    fn metadata_is_an_object_whoever_wrote_it() {
        assert_eq!(golden_event("golden-list").provider_metadata["trace"], "abc");
    }

    /// The names of the fields of a type: one that is new does not compile.
    macro_rules! fields {
        ($type:ident { $($name:ident),* $(,)? }, $value:expr) => {{
            let $type { $($name: _),* } = $value;
            let mut names = vec![$(stringify!($name)),*];
            names.sort_unstable();
            names
        }};
    }

    /// A new field of ADK fails here first: add it here, to clients/wire/fields.json and to the golden event, and see
    /// what the other languages make of it.
    #[test]
    fn every_field_of_an_event_is_known() {
        let event = Event::new("i");
        let found = json!({
            "event": fields!(Event {
                id, timestamp, invocation_id, branch, author, llm_response, actions, long_running_tool_ids, llm_request,
                provider_metadata
            }, event.clone()),
            "response": fields!(LlmResponse {
                content, usage_metadata, finish_reason, citation_metadata, partial, turn_complete, interrupted,
                error_code, error_message, provider_metadata, interaction_id
            }, event.llm_response),
            "actions": fields!(EventActions {
                state_delta, artifact_delta, skip_summarization, transfer_to_agent, escalate, tool_confirmation,
                tool_confirmation_decision, compaction, route
            }, event.actions),
            "compaction": fields!(EventCompaction { start_timestamp, end_timestamp, compacted_content },
                golden_event("golden-compaction").actions.compaction.unwrap()),
        });
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../wire/fields.json");
        let file: Value = serde_json::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
        assert_eq!(found, file["rust"]);
    }

    #[test]
    fn an_event_that_adk_cannot_hold_is_read_all_the_same() {
        let stored = r#"{"id":"e","timestamp":1,"author":"a","invocationId":"i","sequence":1,"commitTime":2,
            "content":"text","usageMetadata":7,"actions":{"stateDelta":{},"artifactDelta":{"f":"x"}}}"#;
        let event = event(stored).unwrap().event;
        assert!(event.llm_response.content.is_none());
        let unknown: Value = serde_json::from_str(&event.provider_metadata[UNKNOWN]).unwrap();
        let expected = json!({"content": "text", "usageMetadata": 7, "actions": {"artifactDelta": {"f": "x"}}});
        assert_eq!(unknown, expected);
    }
}
