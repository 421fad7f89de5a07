//! The fields of an event and of its actions. The names are those of google-adk 2.13 (`Event`, `LlmResponse`, `EventActions`) and
//! sessiond's own.

/// Sorted, as [`ACTION_FIELDS`] are: a name is found by binary search.
pub const EVENT_FIELDS: &[&str] = &[
    "actions",
    "author",
    "avgLogprobs",
    "branch",
    "cacheMetadata",
    "citationMetadata",
    "commitTime",
    "content",
    "customMetadata",
    "environmentId",
    "errorCode",
    "errorMessage",
    "finishReason",
    "goAway",
    "groundingMetadata",
    "id",
    "inputTranscription",
    "interactionId",
    "interactionStatus",
    "interrupted",
    "invocationId",
    "isolationScope",
    "liveSessionId",
    "liveSessionResumptionUpdate",
    "logprobsResult",
    "longRunningToolIds",
    "modelVersion",
    "nodeInfo",
    "output",
    "outputTranscription",
    "partial",
    "redacted",
    "sequence",
    "timestamp",
    "turnComplete",
    "turnCompleteReason",
    "usageMetadata",
    "voiceActivity",
];

/// What ADK always shows of the actions of an event, with what stands there if they say nothing: an empty map.
pub const ACTION_DEFAULTS: &[(&str, &str)] = &[
    ("stateDelta", "{}"),
    ("artifactDelta", "{}"),
    ("requestedAuthConfigs", "{}"),
    ("requestedToolConfirmations", "{}"),
];

pub const ACTION_FIELDS: &[&str] = &[
    "agentState",
    "artifactDelta",
    "compaction",
    "endOfAgent",
    "escalate",
    "preconditions",
    "renderUiWidgets",
    "requestedAuthConfigs",
    "requestedToolConfirmations",
    "rewindBeforeInvocationId",
    "route",
    "setModelResponse",
    "skipSummarization",
    "stateDelta",
    "stateOps",
    "transferReason",
    "transferToAgent",
];

/// Fields that the server reads. `null` there means absent, so it is dropped, and a retry may leave the field out. Stored
/// events have no such `null`: ADK's own types could not read it.
pub const READ_FIELDS: &[&str] = &["actions", "author", "branch", "id", "invocationId", "partial", "timestamp"];

/// What changes state, or guards a change. Of these, too, `null` means absent.
pub const STATE_FIELDS: &[&str] = &["preconditions", "stateDelta", "stateOps"];

/// Fields that the server adds to an event that is stored. In an event that a client sends they are dropped.
pub const SERVER_FIELDS: &[&str] = &["commitTime", "redacted", "sequence"];

/// Those of the known fields that ADK does not have.
pub const OWN_FIELDS: &[&str] = &["commitTime", "preconditions", "redacted", "sequence", "stateOps"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_sorted() {
        assert!(EVENT_FIELDS.is_sorted() && ACTION_FIELDS.is_sorted());
    }
}
