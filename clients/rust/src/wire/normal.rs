//! The form in which the clients of all languages write an event.

use base64::{Engine as _, engine::general_purpose::URL_SAFE};
use serde_json::{Value, json};

use super::{Object, content::bytes};

/// The first second that is no date any more.
const YEAR_10000: f64 = 253_402_300_800.0;

/// Gives a stored event the form in which the clients of all languages write one: bytes in the alphabet for URLs,
/// padded; a compaction in seconds; metadata as an object, which ADK for Java has had as a list of entries.
pub(super) fn normalise(event: &mut Object) {
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
