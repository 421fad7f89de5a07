use super::*;
use crate::domain::Rejected;

fn check(event: &str) -> Result<String, Vec<String>> {
    let mut fields = Fields::of(Json::trusted("{}"), "").unwrap();
    let text = restored(Json::trusted(event), 3, &mut fields);
    match fields.finish() {
        Ok(()) => Ok(text),
        Err(Rejected::Invalid(errors)) => Err(errors.into_iter().map(|error| error.field).collect()),
        Err(other) => panic!("{other:?}"),
    }
}

#[test]
fn an_event_is_marked_and_otherwise_kept() {
    for (given, kept) in [
        (r#"{}"#, r#"{"customMetadata":{"__adk_internal_restored_event":true}}"#),
        (
            r#"{"x": 1.0,"custom_metadata":{"a": "}","__adk_internal_a":1},"actions":{"state_delta":{},"escalate":null}}"#,
            r#"{"x":1.0,"actions":{"state_delta":{},"escalate":null},"customMetadata":{"a":"}","__adk_internal_restored_event":true}}"#,
        ),
        (
            r#"{"content":{"parts":[{"functionCall":{"name":"f"}}]},"longRunningToolIds":[ ],"customMetadata":null}"#,
            r#"{"content":{"parts":[{"functionCall":{"name":"f"}}]},"longRunningToolIds":[ ],"customMetadata":{"__adk_internal_restored_event":true}}"#,
        ),
        ("[1]", "[1]"),
    ] {
        assert_eq!(check(given).as_deref(), Ok(kept));
    }
}

#[test]
fn what_only_an_agent_does_is_refused() {
    for (event, field) in [
        (r#"{"actions":{"stateDelta":{"k":1}}}"#, "/events/3/actions"),
        (r#"{"actions":{"agentState":{}}}"#, "/events/3/actions"),
        (r#"{"actions":1}"#, "/events/3/actions"),
        (r#"{"long_running_tool_ids":["a"]}"#, "/events/3/long_running_tool_ids"),
        (r#"{"longRunningToolIds":{}}"#, "/events/3/longRunningToolIds"),
        (r#"{"content":{"parts":[{},{"function_response":{"name":"adk_request_input"}}]}}"#, "/events/3/content"),
        (r#"{"customMetadata":[]}"#, "/events/3/customMetadata"),
        (r#"{"message":"m"}"#, "/events/3/message"),
    ] {
        assert_eq!(check(event), Err(vec![field.to_owned()]), "{event}");
    }
}
