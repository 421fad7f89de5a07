//! State as text: from a body, and from folding events.

use std::collections::BTreeMap;

use serde_json::value::RawValue;

use super::client::{Client, raw_in};

/// Session keys that are easily damaged on their way.
pub const ODD_KEYS: [&str; 11] =
    ["", ":", "\"", "a\"b\\c", "\u{1}\n\u{7f}", "é😀", "Temp:x", "foo:bar", "a/b~c", "%' --", " "];

/// Keys with their values, as written.
pub type State = BTreeMap<String, String>;

/// The members of a JSON object.
pub fn members(object: &str) -> State {
    let members: BTreeMap<String, &RawValue> = serde_json::from_str(object).expect("a JSON object");
    members.into_iter().map(|(key, value)| (key, value.get().to_owned())).collect()
}

/// The elements of a JSON array.
pub fn elements(array: &str) -> Vec<String> {
    let elements: Vec<&RawValue> = serde_json::from_str(array).expect("a JSON array");
    elements.into_iter().map(|element| element.get().to_owned()).collect()
}

/// The session's own keys of a merged state.
pub fn own(state: &State) -> State {
    let shared = |key: &str| key.starts_with("app:") || key.starts_with("user:");
    state.iter().filter(|(key, _)| !shared(key)).map(|(key, value)| (key.clone(), value.clone())).collect()
}

/// Folds an event like a reader that knows only `stateDelta` and the operator `remove`.
pub fn fold(state: &mut State, event: &str) {
    for op in raw_in(event, &["actions", "stateOps"]).iter().flat_map(|ops| elements(ops)) {
        let op: serde_json::Value = serde_json::from_str(&op).expect("an operator");
        if op["op"] == "remove" {
            state.remove(op["key"].as_str().expect("a key"));
        }
    }
    state.extend(raw_in(event, &["actions", "stateDelta"]).iter().flat_map(|delta| members(delta)));
}

/// Asserts the invariant at every revision of a session: its initial state with the events folded over it is, key by
/// key and byte for byte, the state that the service shows.
pub async fn assert_folds(client: &Client, session: &str) {
    let events = elements(&client.get(session).await.expect(200).raw(&["events"]));
    let shown = async |revision: usize| {
        members(client.get(format!("{session}/state?scope=session&atRevision={revision}")).await.expect(200).text())
    };
    let mut folded = shown(0).await;
    for (n, event) in events.iter().enumerate() {
        fold(&mut folded, event);
        assert_eq!(own(&folded), shown(n + 1).await, "{session} at {}", n + 1);
    }
    let now = client.get(format!("{session}/state?scope=session")).await.expect(200);
    assert_eq!(own(&folded), members(now.text()), "{session} now");
}
