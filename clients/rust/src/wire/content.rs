//! Contents, their parts and bytes.

use adk_core::{Content, FileDataPart, FunctionResponseData, InlineDataPart, Part};
use base64::{
    Engine as _,
    engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE},
};
use serde_json::{Value, json};

use super::{OWN, Object};

pub(super) fn encode_content(content: &Content) -> Value {
    let mut object = Object::new();
    object.insert("parts".into(), content.parts.iter().map(encode_part).collect());
    if !content.role.is_empty() {
        object.insert("role".into(), json!(content.role));
    }
    Value::Object(object)
}

pub(super) fn decode_content(content: &Value) -> Option<Content> {
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
pub(super) fn bytes(text: &Value) -> Option<Vec<u8>> {
    STANDARD_NO_PAD.decode(text.as_str()?.trim_end_matches('=').replace('-', "+").replace('_', "/")).ok()
}

/// The object without its members that are null.
pub(super) fn present(mut object: Value) -> Value {
    if let Some(members) = object.as_object_mut() {
        members.retain(|_, value| !value.is_null());
    }
    object
}
