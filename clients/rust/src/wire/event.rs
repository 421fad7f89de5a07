//! An event in the form of all ADKs, and back, with what only one side knows.

use std::collections::HashMap;

use adk_core::{Event, EventActions, KEY_PREFIX_TEMP, LlmResponse};
use chrono::{DateTime, Utc};
use serde_json::{Value, json};

use super::{
    FIRST, OWN, Object, UNKNOWN,
    content::{decode_content, encode_content},
    response::{
        decode_citations, decode_compaction, decode_usage, encode_citations, encode_usage, finish_reason, finish_word,
    },
};

/// The event in the form of all ADKs, without its time, and with what only ADK for Rust knows in [`OWN`].
pub(super) fn encode(event: &Event) -> Object {
    let mut object = encode_shared(event);
    let own = own(&full(event), &full(&decode_shared(&object)));
    if !own.is_empty() {
        object.insert(OWN.into(), Value::Object(own));
    }
    object
}

pub(super) fn decode(object: &Object) -> Event {
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

/// What the stored event has and `event` does not say.
pub(super) fn unknown(stored: &Object, event: &Event) -> Object {
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
