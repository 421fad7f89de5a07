//! Events of this ADK and of others, there and back.

use adk_core::{
    Content, Event, EventActions, EventCompaction, FileDataPart, FinishReason, FunctionResponseData, InlineDataPart,
    LlmResponse, Part, UsageMetadata,
};
use serde_json::{Value, json};

use super::{
    OWN, UNKNOWN, event,
    event::{decode, encode},
    event_to_text,
    time::{time_from_number, time_to_number},
};

#[test]
fn times_keep_their_nanoseconds() {
    for number in ["0", "1", "1763836383.123456789", "1763836383.5", "-1.5", "-0.000000001", "253402300799.999999"] {
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
