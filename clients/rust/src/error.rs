//! What can go wrong, and what ADK is told about it.

use adk_core::{AdkError, ErrorCategory, ErrorComponent, ErrorDetails};
use serde_json::{Value, json};

/// Why a request to sessiond failed.
///
/// The methods of `adk_session::SessionService`, `adk_artifact::ArtifactService` and `adk_memory::MemoryService` give an
/// [`AdkError`] that is made of it: its `code` is [`Error::adk_code`], its `details` have the status, the request id and, as
/// metadata, sessiond's own `code` and the `outcome`; this error is its `source`. No token, no state and no content of an event is ever part of it.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct Error {
    /// What kind of failure it is.
    pub kind: ErrorKind,
    /// One sentence or more for people: what sessiond said or what happened, and for a request that was given up its
    /// method and URL, how often it was tried and for how long.
    pub message: String,
    /// The HTTP status of the last answer; none if there was no answer.
    pub status: Option<u16>,
    /// sessiond's word for the error, such as `revision_mismatch`; none if the error is not sessiond's.
    pub code: Option<String>,
    /// Of a write: whether it was applied.
    pub outcome: Option<Outcome>,
    /// The id of the request in the server's log.
    pub request_id: Option<String>,
}

/// The kinds of [`Error`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ErrorKind {
    /// There is no such session, or no more; or it has no such event or artifact.
    NotFound,
    /// There is a session with this id already, or an artifact has a version of this number or a higher one. What is
    /// there is untouched.
    AlreadyExists,
    /// The session has another event with this id.
    EventIdConflict,
    /// Others have written to the session since it was read, or another turn has taken over from this one. Nothing was
    /// stored.
    Stale,
    /// Another turn has the session.
    Busy,
    /// A watch cannot go on from its cursor: the session was made anew, trimmed, or the database was restored.
    PositionGone,
    /// The app has no index of words: an operator switches it on, as the message says.
    SearchOff,
    /// The request breaks a rule or a limit of sessiond, or of this client.
    InvalidInput,
    /// The credential is missing, not valid, or its callback failed.
    Unauthenticated,
    /// The credential does not allow the request.
    Forbidden,
    /// The server refuses for now: it has too much to do.
    RateLimited,
    /// There was no final answer in time, or the server could not be reached. A write may be sent again as it is.
    Unavailable,
    /// The answer is not what sessiond answers, or reports a bug of it.
    Internal,
}

/// What became of a write that failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// It did not happen and never will.
    NotApplied,
    /// It may have happened. The same event may be appended again: its id makes sure that it is stored once.
    Unknown,
}

impl Error {
    pub(crate) fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self { kind, message: message.into(), status: None, code: None, outcome: None, request_id: None }
    }

    /// An error that this client found before anything was sent.
    pub(crate) fn input(message: impl Into<String>) -> Self {
        let code = Some("invalid_argument".into());
        Self { code, outcome: Some(Outcome::NotApplied), ..Self::new(ErrorKind::InvalidInput, message) }
    }

    /// What an answer says that is no success.
    pub(crate) fn answered(status: u16, body: &[u8]) -> Self {
        let body: Value = serde_json::from_slice(body).unwrap_or(Value::Null);
        let text = |name: &str| body[name].as_str().map(str::to_owned);
        let code = text("code");
        let said = text("detail").or_else(|| text("title")).unwrap_or_else(|| "the answer is not sessiond's".into());
        let shown = code.as_ref().map(|code| format!(" {code}")).unwrap_or_default();
        Self {
            kind: kind(status, code.as_deref()),
            message: format!("sessiond answered {status}{shown}: {}.", said.trim_end_matches('.')),
            status: Some(status),
            code,
            outcome: match body["outcome"].as_str() {
                Some("not_applied") => Some(Outcome::NotApplied),
                Some("unknown") => Some(Outcome::Unknown),
                _ => None,
            },
            request_id: text("requestId"),
        }
    }

    /// The `code` of the [`AdkError`] of a session service: `session.not_found`, as the trait asks for it,
    /// `session.already_exists`, `session.event_id_conflict`, `session.stale`, `session.busy`, `session.position_gone`,
    /// `session.search_off`, `session.invalid_input`, `session.unauthenticated`, `session.forbidden`, `session.rate_limited`,
    /// `session.unavailable`, `session.internal`. Of an artifact service, they begin with `artifact.`, of a memory service with
    /// `memory.`.
    pub fn adk_code(&self) -> &'static str {
        self.words().0[0]
    }

    /// The codes for sessions, artifacts and memories, and the category.
    fn words(&self) -> ([&'static str; 3], ErrorCategory) {
        macro_rules! words {
            ($word:literal, $category:ident) => {
                (
                    [concat!("session.", $word), concat!("artifact.", $word), concat!("memory.", $word)],
                    ErrorCategory::$category,
                )
            };
        }
        match self.kind {
            ErrorKind::NotFound => words!("not_found", NotFound),
            ErrorKind::AlreadyExists => words!("already_exists", InvalidInput),
            ErrorKind::EventIdConflict => words!("event_id_conflict", InvalidInput),
            ErrorKind::Stale => words!("stale", Cancelled),
            ErrorKind::Busy => words!("busy", Unavailable),
            ErrorKind::PositionGone => words!("position_gone", NotFound),
            ErrorKind::SearchOff => words!("search_off", Unsupported),
            ErrorKind::InvalidInput => words!("invalid_input", InvalidInput),
            ErrorKind::Unauthenticated => words!("unauthenticated", Unauthorized),
            ErrorKind::Forbidden => words!("forbidden", Forbidden),
            ErrorKind::RateLimited => words!("rate_limited", RateLimited),
            ErrorKind::Unavailable => words!("unavailable", Unavailable),
            ErrorKind::Internal => words!("internal", Internal),
        }
    }

    /// The error of an artifact service.
    pub(crate) fn of_artifact(self) -> AdkError {
        let ([_, code, _], category) = self.words();
        self.into_adk(ErrorComponent::Artifact, category, code)
    }

    /// The error of a memory service.
    pub(crate) fn of_memory(self) -> AdkError {
        let ([_, _, code], category) = self.words();
        self.into_adk(ErrorComponent::Memory, category, code)
    }

    fn into_adk(self, component: ErrorComponent, category: ErrorCategory, code: &'static str) -> AdkError {
        let outcome = self.outcome.map(|outcome| match outcome {
            Outcome::NotApplied => "not_applied",
            Outcome::Unknown => "unknown",
        });
        let known = [("code", self.code.as_deref()), ("outcome", outcome)];
        let details = ErrorDetails {
            upstream_status_code: self.status,
            request_id: self.request_id.clone(),
            provider: Some("sessiond".into()),
            metadata: known.into_iter().filter_map(|(name, word)| Some((name.into(), json!(word?)))).collect(),
        };
        AdkError::new(component, category, code, self.message.clone()).with_details(details).with_source(self)
    }
}

impl From<Error> for AdkError {
    fn from(error: Error) -> Self {
        let ([code, _, _], category) = error.words();
        error.into_adk(ErrorComponent::Session, category, code)
    }
}

fn kind(status: u16, code: Option<&str>) -> ErrorKind {
    match (status, code.unwrap_or_default()) {
        (404, "session_not_found" | "event_not_found" | "artifact_not_found") => ErrorKind::NotFound,
        (409, "session_already_exists" | "artifact_version_exists") => ErrorKind::AlreadyExists,
        (409, "event_id_conflict") => ErrorKind::EventIdConflict,
        (409, "fenced") | (412, _) => ErrorKind::Stale,
        (409, "lease_held") => ErrorKind::Busy,
        (409, "search_off") => ErrorKind::SearchOff,
        (410, "position_gone" | "revision_trimmed") => ErrorKind::PositionGone,
        (400 | 413 | 414 | 415 | 422, _) => ErrorKind::InvalidInput,
        (401, _) => ErrorKind::Unauthenticated,
        (403, _) | (410, "user_erased") => ErrorKind::Forbidden,
        (429, _) => ErrorKind::RateLimited,
        (408 | 502..=504, _) => ErrorKind::Unavailable,
        _ => ErrorKind::Internal,
    }
}
