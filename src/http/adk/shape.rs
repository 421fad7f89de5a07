//! The forms of sessions and events in google-adk 2.13.

use std::borrow::Cow;

use super::secrets::{of_credential, without_secrets};
use crate::domain::event::{ACTION_DEFAULTS, ACTION_FIELDS, EVENT_FIELDS, OWN_FIELDS, StoredEvent};
use crate::domain::json::{Json, Member, ObjectText};
use crate::domain::query::SessionView;
use crate::domain::shape::{self, Of, Unread};
use crate::http::reply::Form;

pub const FORM: Form = Form { session: session_object, event: write_event };

/// The prefix of keys in an event's `customMetadata` that ADK keeps to itself.
pub const INTERNAL_PREFIX: &str = "__adk_internal_";

/// Fields that ADK always shows of an event, with their defaults.
pub const EVENT_DEFAULTS: &[(&str, &str)] =
    &[("invocationId", "\"\""), ("author", "\"\""), ("nodeInfo", "{\"path\":\"\"}")];

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

/// The metadata key that lists the parts of an event that ADK could not read, with their values.
const REFUSED: &str = "sessiond_refused";

fn write_event(event: &StoredEvent, out: &mut String) {
    let mut unread = Unread::default();
    let mut members: Vec<(Member<'_>, Cow<'_, str>)> = Vec::new();
    for member in shown(Json::trusted(&event.body), EVENT_FIELDS) {
        let value = match &*member.key {
            "actions" => Some(Cow::Owned(actions(member.value, &mut unread))),
            "customMetadata" => custom_metadata(member.value)
                .and_then(|metadata| read(metadata, Of::Event, "customMetadata", &mut unread)),
            name => read(without_secrets(member.value), Of::Event, name, &mut unread),
        };
        members.extend(value.map(|value| (member, value)));
    }
    let has = |name: &str| members.iter().any(|(member, _)| member.key == name);
    let (has_actions, has_metadata) = (has("actions"), has("customMetadata"));
    let missing: Vec<_> = EVENT_DEFAULTS.iter().filter(|(name, _)| !has(name)).collect();
    let mut object = ObjectText::with_capacity(event.body.len() + 256);
    for (member, value) in members {
        match &*member.key {
            "customMetadata" => object.push_raw(member.raw_key, &with_refused(value, &unread)),
            _ => object.push_raw(member.raw_key, &value),
        }
    }
    if !has_actions {
        object.push("actions", &actions(Json::trusted("{}"), &mut unread));
    }
    for (name, default) in missing {
        object.push(name, default);
    }
    if !has_metadata && !unread.is_empty() {
        object.push("customMetadata", &with_refused("{}".into(), &unread));
    }
    out.push_str(&object.close());
}

/// The part of a value that ADK can read.
fn read<'a>(value: Cow<'a, str>, of: Of, name: &str, unread: &mut Unread) -> Option<Cow<'a, str>> {
    match value {
        Cow::Borrowed(text) => shape::read(Json::trusted(text), of, name, unread),
        Cow::Owned(text) => {
            let text = shape::read(Json::trusted(&text), of, name, unread)?.into_owned();
            Some(Cow::Owned(text))
        }
    }
}

/// Metadata that also lists the parts that were left out of the event.
fn with_refused<'a>(metadata: Cow<'a, str>, unread: &Unread) -> Cow<'a, str> {
    if unread.is_empty() {
        return metadata;
    }
    let mut object = ObjectText::default();
    for member in Json::trusted(&metadata).as_object().into_iter().flatten() {
        if member.key != REFUSED {
            object.push_raw(member.raw_key, member.value.text());
        }
    }
    object.push(REFUSED, &unread.to_json());
    Cow::Owned(object.close())
}

fn actions(json: Json<'_>, unread: &mut Unread) -> String {
    let mut object = ObjectText::default();
    let mut of_actions = Unread::of_actions();
    let mut written = Vec::new();
    for member in shown(json, ACTION_FIELDS) {
        let value = match &*member.key {
            "requestedAuthConfigs" => of_credential(member.value),
            _ => without_secrets(member.value),
        };
        if let Some(value) = read(value, Of::Actions, &member.key, &mut of_actions) {
            object.push_raw(member.raw_key, &value);
            written.push(member.key);
        }
    }
    for (name, default) in ACTION_DEFAULTS.iter().filter(|(name, _)| !written.iter().any(|written| written == name)) {
        object.push(name, default);
    }
    unread.append(of_actions);
    object.close()
}

/// Members that ADK knows and shows, without those that are null.
fn shown<'a>(json: Json<'a>, fields: &'static [&'static str]) -> impl Iterator<Item = Member<'a>> {
    let is_shown = |member: &Member<'_>| {
        let key = &*member.key;
        !member.value.is_null() && fields.contains(&key) && !OWN_FIELDS.contains(&key)
    };
    json.as_object().into_iter().flatten().filter(is_shown)
}

/// Metadata without ADK's own keys, if any other is left.
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

    #[test]
    fn what_adk_could_not_read_is_left_out_and_named() {
        let parts = |event: &str| {
            let event = shown(event);
            let event = Json::trusted(&event);
            let text = |json: Option<Json<'_>>| json.map(|json| json.text().to_owned());
            let refused = event.get("customMetadata").and_then(|metadata| metadata.get(REFUSED));
            (text(event.get("content")), text(refused))
        };
        let some = |text: &str| Some(text.to_owned());
        for (event, content, refused) in [
            (r#"{"content": {"parts": [ {"text":"a"} ]}}"#, some(r#"{"parts": [ {"text":"a"} ]}"#), None),
            (r#"{"content":"just text"}"#, None, some(r#"{"content":"just text"}"#)),
            (
                r#"{"content":{"role":"user","parts":[null,{"text":5},{"text":"b","x":{}}]},"usageMetadata":[]}"#,
                some(r#"{"role":"user","parts":[{"text":"b"}]}"#),
                some(
                    r#"{"content.parts.0":null,"content.parts.1":{"text":5},"content.parts.2.x":{},"usageMetadata":[]}"#,
                ),
            ),
            (r#"{"customMetadata":[1]}"#, None, some(r#"{"customMetadata":[1]}"#)),
            (
                r#"{"content":{"parts":[{"function_call":{"name":"f"}},null]}}"#,
                some(r#"{"parts":[{"functionCall":{"name":"f"}}]}"#),
                some(r#"{"content.parts.1":null}"#),
            ),
        ] {
            assert_eq!(parts(event), (content, refused), "{event}");
        }
        let mine = shown(
            r#"{"customMetadata":{"mine":1,"sessiond_refused":2},"actions":{"artifactDelta":[],"compaction":{}}}"#,
        );
        let mine = Json::trusted(&mine);
        let metadata = r#"{"mine":1,"sessiond_refused":{"actions.artifactDelta":[],"actions.compaction":{}}}"#;
        assert_eq!(mine.get("customMetadata").map(Json::text), Some(metadata));
        assert_eq!(mine.get("actions").map(Json::text), Some(NOTHING));
    }

    #[test]
    fn what_is_named_holds_no_secret() {
        let event = shown(
            r#"{"actions":{"requestedAuthConfigs":{"f":{"rawAuthCredential":{"authType":"oauth2","oauth2":{"clientSecret":5,"clientId":6}}}}},"content":{"parts":[5,{"x":{"authType":"oauth2","oauth2":{"accessToken":"s"}}}]}}"#,
        );
        assert!(!event.contains("clientSecret") && !event.contains("accessToken"), "{event}");
    }
}
