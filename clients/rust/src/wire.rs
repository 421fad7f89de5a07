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

use std::collections::HashMap;

use adk_core::{Content, Event};
use chrono::{DateTime, Utc};
use serde_json::{Map, Value, json};

use self::{
    content::encode_content,
    event::{decode, encode, unknown},
    normal::normalise,
};
use crate::error::Error;

mod answer;
mod content;
mod event;
mod normal;
mod response;
#[cfg(test)]
mod tests;
mod time;

pub(crate) use self::{
    answer::{Members, list, member, members, not_ours, text, time},
    content::decode_part,
    time::time_to_number,
};

/// The key of an event's `provider_metadata` under which there are, as one JSON text, those fields of the stored event
/// that ADK's `Event` cannot hold.
pub const UNKNOWN: &str = "sessiond.unknown";

/// The field of a stored event for what only ADK for Rust knows.
const OWN: &str = "adkRust";

/// The first version of an artifact, as ADK for Rust counts them. sessiond, as the other ADKs, counts from 0.
pub(crate) const FIRST: i64 = 1;

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
    timed(&Value::Object(object), event.timestamp)
}

/// An event that only says something.
pub(crate) fn said_to_text(id: &str, author: &str, timestamp: DateTime<Utc>, content: &Content) -> String {
    timed(&json!({"id": id, "author": author, "content": encode_content(content)}), timestamp)
}

/// An event and its time, whose number is written by its digits: a float has not enough of them for nanoseconds.
fn timed(event: &Value, timestamp: DateTime<Utc>) -> String {
    format!(r#"{{"timestamp":{},{}"#, time_to_number(timestamp), &event.to_string()[1..])
}
