//! The digest of an event's content, which tells a retry from a conflict.

use sha2::{Digest as _, Sha256};

use super::names::ACTION_DEFAULTS;
use crate::domain::json::{Json, ObjectText, push_string};

/// What a member of an event adds to its digest.
pub fn content_of<'a>(name: &'a str, text: &str) -> Option<(&'a str, String)> {
    match name {
        "actions" => actions_content(text),
        name => Some((name, Json::trusted(text).canonical())),
    }
}

/// What actions add to the digest of an event. Some of ADK's ports always write their [defaults](ACTION_DEFAULTS), and others
/// never do: an event is the same from either.
pub fn actions_content(text: &str) -> Option<(&'static str, String)> {
    let actions = Json::trusted(text);
    let Some(members) = actions.as_object() else { return Some(("actions", actions.canonical())) };
    let is_empty = |value: Json<'_>| value.as_object().is_some_and(|mut members| members.next().is_none());
    let mut content = ObjectText::with_capacity(text.len());
    for member in members {
        let has_default = ACTION_DEFAULTS.iter().any(|(name, _)| *name == member.key);
        if !(has_default && is_empty(member.value)) {
            content.push(&member.key, member.value.text());
        }
    }
    let content = content.close();
    (content != "{}").then(|| ("actions", Json::trusted(&content).canonical()))
}

/// The digest of named values in canonical form, in whatever order.
pub fn digest<K: AsRef<str> + Ord>(mut content: Vec<(K, String)>) -> [u8; 32] {
    content.sort();
    let mut hash = Sha256::new();
    let mut name = String::new();
    for (key, canonical) in content {
        name.clear();
        push_string(&mut name, key.as_ref());
        hash.update(&name);
        hash.update(":");
        hash.update(canonical);
        hash.update(",");
    }
    hash.finalize().into()
}
