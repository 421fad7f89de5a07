//! Events that a client sends with a new session. Like `adk api_server`, this accepts messages but nothing that only an
//! agent may claim: no actions, no long-running calls, none of ADK's own function calls. A client that may call one
//! server may call the other.

#[cfg(test)]
mod tests;

use super::shape::public_metadata;
use crate::domain::envelope::{Fields, pointer_to, to_camel};
use crate::domain::event::ACTION_DEFAULTS;
use crate::domain::json::{Json, Kind, ObjectText};

/// Function calls with which ADK asks a person.
const PROTOCOL_CALLS: &[&str] = &["adk_request_confirmation", "adk_request_credential", "adk_request_input"];

/// Arguments of the constructor of ADK's `Event` in Python that are not fields of it.
const CONSTRUCTOR_ARGUMENTS: &[&str] = &["message", "node_path", "route", "state"];

/// Marks an event as restored, for ADK's plugin that checks tool calls: it cannot verify the calls of such an event.
const MARK: &str = "__adk_internal_restored_event";

/// Checks the `n`th event of a request and marks it as restored. A value that is not an object is returned unchanged;
/// the event parser refuses it.
pub fn restored(event: Json<'_>, n: usize, fields: &mut Fields<'_>) -> String {
    let Some(members) = event.as_object() else { return event.text().to_owned() };
    let mut object = ObjectText::default();
    let mut metadata = None;
    for member in members {
        let mut refuse = |message: &str| fields.refuse(&pointer_to(&format!("/events/{n}"), &member.key), message);
        match &*to_camel(&member.key) {
            "actions" if !has_no_actions(member.value) => refuse("must be empty: only an agent acts"),
            "longRunningToolIds" if !is_empty(member.value, Kind::Array) => {
                refuse("must be empty: only an agent calls tools")
            }
            "content" if has_protocol_call(member.value) => refuse("must be without ADK's own function calls"),
            "customMetadata" => {
                if !matches!(member.value.kind(), Kind::Object | Kind::Null) {
                    refuse("must be an object");
                }
                if metadata.replace(member.value).is_some() {
                    refuse("is given twice, in camelCase and in snake_case");
                }
                continue;
            }
            _ if CONSTRUCTOR_ARGUMENTS.contains(&&*member.key) => refuse("is not a field of an event"),
            _ => {}
        }
        object.push_raw(member.raw_key, member.value.text());
    }
    let mut metadata = metadata.and_then(public_metadata).unwrap_or_default();
    metadata.push(MARK, "true");
    object.push("customMetadata", &metadata.close());
    object.close()
}

/// Whether it is null or an empty container of this kind.
fn is_empty(json: Json<'_>, kind: Kind) -> bool {
    let mut children =
        (json.as_object().into_iter().flatten().map(drop)).chain(json.as_array().into_iter().flatten().map(drop));
    json.is_null() || json.kind() == kind && children.next().is_none()
}

fn has_no_actions(actions: Json<'_>) -> bool {
    let by_default = |name: &str| ACTION_DEFAULTS.iter().any(|(shown, _)| *shown == to_camel(name));
    actions.is_null()
        || actions.as_object().is_some_and(|mut members| {
            members
                .all(|member| member.value.is_null() || by_default(&member.key) && is_empty(member.value, Kind::Object))
        })
}

fn has_protocol_call(content: Json<'_>) -> bool {
    let is_protocol_call = |part: Json<'_>| {
        ["functionCall", "function_call", "functionResponse", "function_response"].iter().any(|kind| {
            let name = part.get(kind).and_then(|call| call.get("name")).and_then(Json::as_str);
            name.is_some_and(|name| PROTOCOL_CALLS.contains(&&*name))
        })
    };
    content.get("parts").and_then(Json::as_array).is_some_and(|mut parts| parts.any(is_protocol_call))
}
