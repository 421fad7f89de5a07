//! The shapes of google-adk 2.13: what a session and an event look like to its clients.

use std::borrow::Cow;

use super::secrets::{of_credential, without_secrets};
use crate::domain::event::{ACTION_DEFAULTS, ACTION_FIELDS, EVENT_FIELDS, OWN_FIELDS, StoredEvent};
use crate::domain::json::{Json, Member, ObjectText};
use crate::domain::query::SessionView;
use crate::http::answer::Form;

pub const FORM: Form = Form { session: session_object, event: write_event };

/// Keys of an event's `customMetadata` that ADK keeps to itself.
pub const INTERNAL_PREFIX: &str = "__adk_internal_";

/// What ADK always shows of an event, with what stands there if the event says nothing.
pub const EVENT_DEFAULTS: &[(&str, &str)] =
    &[("invocationId", "\"\""), ("author", "\"\""), ("nodeInfo", "{\"path\":\"\"}")];
/// The fields of an event, or of its actions, that ADK knows.
pub fn event_fields() -> impl Iterator<Item = &'static str> {
    adk_only(EVENT_FIELDS)
}

pub fn action_fields() -> impl Iterator<Item = &'static str> {
    adk_only(ACTION_FIELDS)
}

fn adk_only(fields: &'static [&'static str]) -> impl Iterator<Item = &'static str> {
    fields.iter().copied().filter(|name| !OWN_FIELDS.contains(name))
}

/// A session without its events.
pub fn session_object(view: &SessionView) -> ObjectText {
    let key = &view.head.key;
    let mut object = ObjectText::default();
    object.push_str("id", key.session.as_str());
    object.push_str("appName", key.app().as_str());
    object.push_str("userId", key.user.user.as_str());
    object.push("state", &without_secrets(Json::trusted(view.state.as_deref().unwrap_or("{}"))));
    object.push("lastUpdateTime", view.head.update_time.number.text());
    object
}

/// An element of a list of sessions.
pub fn summary(view: &SessionView) -> String {
    let mut object = session_object(view);
    object.push("events", "[]");
    object.close()
}

fn write_event(event: &StoredEvent, out: &mut String) {
    let mut object = ObjectText::default();
    let mut has_actions = false;
    for member in shown(Json::trusted(&event.body), EVENT_FIELDS) {
        let value = match &*member.key {
            "actions" => {
                has_actions = true;
                Cow::Owned(actions(member.value))
            }
            "customMetadata" => match custom_metadata(member.value) {
                Some(metadata) => metadata,
                None => continue,
            },
            _ => without_secrets(member.value),
        };
        object.push_raw(member.raw_key, &value);
    }
    if !has_actions {
        object.push("actions", &actions(Json::trusted("{}")));
    }
    push_defaults(&mut object, Json::trusted(&event.body), EVENT_DEFAULTS);
    out.push_str(&object.close());
}

fn actions(json: Json<'_>) -> String {
    let mut object = ObjectText::default();
    for member in shown(json, ACTION_FIELDS) {
        let value = match &*member.key {
            "requestedAuthConfigs" => of_credential(member.value),
            _ => without_secrets(member.value),
        };
        object.push_raw(member.raw_key, &value);
    }
    push_defaults(&mut object, json, ACTION_DEFAULTS);
    object.close()
}

/// Members that ADK knows and that say something.
fn shown<'a>(json: Json<'a>, fields: &'static [&'static str]) -> impl Iterator<Item = Member<'a>> {
    let is_shown = |member: &Member<'_>| {
        let key = &*member.key;
        !member.value.is_null() && fields.contains(&key) && !OWN_FIELDS.contains(&key)
    };
    json.as_object().into_iter().flatten().filter(is_shown)
}

fn push_defaults(object: &mut ObjectText, json: Json<'_>, defaults: &[(&str, &str)]) {
    for (name, default) in defaults {
        if json.get(name).is_none_or(Json::is_null) {
            object.push(name, default);
        }
    }
}

/// Metadata without ADK's own, if anything is left of it.
fn custom_metadata(json: Json<'_>) -> Option<Cow<'_, str>> {
    let is_internal = |member: &Member<'_>| member.key.starts_with(INTERNAL_PREFIX);
    let Some(mut members) = json.as_object() else { return Some(without_secrets(json)) };
    if !members.any(|member| is_internal(&member)) {
        return Some(without_secrets(json));
    }
    let text = public_metadata(json)?.close();
    Some(Cow::Owned(without_secrets(Json::trusted(&text)).into_owned()))
}

/// The members of metadata that are not ADK's own; `None` if there are none.
pub fn public_metadata(json: Json<'_>) -> Option<ObjectText> {
    let mut members = json.as_object()?.filter(|member| !member.key.starts_with(INTERNAL_PREFIX)).peekable();
    members.peek()?;
    let mut object = ObjectText::default();
    for member in members {
        object.push_raw(member.raw_key, member.value.text());
    }
    Some(object)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::domain::time::Micros;

    fn shown(body: &str) -> String {
        let mut out = String::new();
        write_event(&StoredEvent::new(3, Micros(1), body), &mut out);
        out
    }

    const NOTHING: &str =
        r#"{"stateDelta":{},"artifactDelta":{},"requestedAuthConfigs":{},"requestedToolConfirmations":{}}"#;

    #[test]
    fn what_adk_always_shows_is_there() {
        let all = format!(r#"{{"id":"e","actions":{NOTHING},"invocationId":"","author":"","nodeInfo":{{"path":""}}}}"#);
        for body in [r#"{"id":"e"}"#, r#"{"id":"e","author":null,"actions":null,"branch":null,"nodeInfo":null}"#] {
            assert_eq!(shown(body), all, "{body}");
        }
    }

    #[test]
    fn what_adk_does_not_know_is_left_out() {
        let event = r#"{"id":"e","invocationId":"i","author":"a","nodeInfo":{},"mine":1,"sequence":9,"actions":{"stateDelta":{"k": 1.0},"stateOps":[],"preconditions":[],"mine":1,"escalate":null,"route":"r","artifactDelta":{"f":1},"requestedAuthConfigs":{},"requestedToolConfirmations":{}}}"#;
        let all = r#"{"id":"e","invocationId":"i","author":"a","nodeInfo":{},"actions":{"stateDelta":{"k": 1.0},"route":"r","artifactDelta":{"f":1},"requestedAuthConfigs":{},"requestedToolConfirmations":{}}}"#;
        assert_eq!(shown(event), all);
    }

    #[test]
    fn the_metadata_of_adk_itself_is_left_out() {
        let metadata = |given: &str| {
            let event = shown(&format!(r#"{{"id":"e","customMetadata":{given}}}"#));
            Json::trusted(&event).get("customMetadata").map(|json| json.text().to_owned())
        };
        assert_eq!(metadata(r#"{"a": null}"#).as_deref(), Some(r#"{"a": null}"#));
        assert_eq!(metadata(r#"{"a": 1,"__adk_internal_x":2}"#).as_deref(), Some(r#"{"a":1}"#));
        assert_eq!(metadata(r#"{"__adk_internal_x":2}"#), None);
        assert_eq!(metadata("{}").as_deref(), Some("{}"));
    }
}
