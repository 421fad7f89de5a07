//! Errors as `application/problem+json` (RFC 9457): one table, one form, made in one place.

use axum::http::{HeaderName, HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde::Serialize;
use serde_json::value::RawValue;

use crate::domain::artifact::{MAX_VERSIONS, StoreFault};
use crate::domain::feed::FeedPosition;
use crate::domain::lease::LeaseRefusal;
use crate::domain::refusal::{Bound, Mismatch};
use crate::domain::word::words;
use crate::domain::{FieldError, Rejected};
use crate::service::{Cause, Error};
use crate::store::error::StoreError;

/// Identifies a request in its answer and in the log.
pub const REQUEST_ID: HeaderName = HeaderName::from_static("x-request-id");

const RATE_LIMIT: HeaderName = HeaderName::from_static("ratelimit");
const RATE_LIMIT_POLICY: HeaderName = HeaderName::from_static("ratelimit-policy");

/// Whether a request with this method may write, so that its errors state the outcome.
pub fn is_write(method: &Method) -> bool {
    !matches!(*method, Method::GET | Method::HEAD | Method::OPTIONS | Method::TRACE)
}

macro_rules! codes {
    ($($variant:ident, $code:literal, $status:ident, $title:literal;)*) => {
        /// The code of each kind of error. Codes never change.
        #[derive(Debug, Clone, Copy, PartialEq, Eq)]
        pub enum Code { $($variant),* }

        impl Code {
            pub const ALL: &[Self] = &[$(Self::$variant),*];

            /// The row of the error table: code, status, title.
            pub fn entry(self) -> (&'static str, StatusCode, &'static str) {
                match self { $(Self::$variant => ($code, StatusCode::$status, $title)),* }
            }
        }
    };
}

codes! {
    InvalidRequest, "invalid_request", BAD_REQUEST, "The request is not valid HTTP/1.1";
    InvalidJson, "invalid_json", BAD_REQUEST, "The body is not JSON";
    Unauthenticated, "unauthenticated", UNAUTHORIZED, "No valid credential";
    PermissionDenied, "permission_denied", FORBIDDEN, "The request is not allowed";
    SessionNotFound, "session_not_found", NOT_FOUND, "There is no such session";
    EventNotFound, "event_not_found", NOT_FOUND, "The session has no such event";
    StateKeyNotFound, "state_key_not_found", NOT_FOUND, "The state has no such key";
    ArtifactNotFound, "artifact_not_found", NOT_FOUND, "There is no such artifact";
    SearchOff, "search_off", CONFLICT, "What was said is not indexed";
    FeedDisabled, "feed_disabled", NOT_FOUND, "There is no change feed";
    NotFound, "not_found", NOT_FOUND, "There is nothing at this path";
    NotAcceptable, "not_acceptable", NOT_ACCEPTABLE, "The answer has no such type";
    MethodNotAllowed, "method_not_allowed", METHOD_NOT_ALLOWED, "The path does not take this method";
    RequestTimeout, "request_timeout", REQUEST_TIMEOUT, "The request took too long to arrive";
    SessionAlreadyExists, "session_already_exists", CONFLICT, "The session exists";
    EventIdConflict, "event_id_conflict", CONFLICT, "The event id is taken by other content";
    ArtifactVersionExists, "artifact_version_exists", CONFLICT, "The artifact has had that version";
    ErasureConflict, "erasure_conflict", CONFLICT, "The request made an erasure of another user";
    UserErased, "user_erased", GONE, "The user was erased";
    PositionGone, "position_gone", GONE, "The log has no such position";
    RevisionTrimmed, "revision_trimmed", GONE, "The past was trimmed";
    LeaseHeld, "lease_held", CONFLICT, "Someone else holds the lease";
    Fenced, "fenced", CONFLICT, "The lease was superseded";
    LimitReached, "limit_reached", CONFLICT, "The app's policy allows no more";
    RevisionMismatch, "revision_mismatch", PRECONDITION_FAILED, "The precondition failed";
    PayloadTooLarge, "payload_too_large", PAYLOAD_TOO_LARGE, "Over a size limit";
    UriTooLong, "uri_too_long", URI_TOO_LONG, "The URI is too long";
    UnsupportedMediaType, "unsupported_media_type", UNSUPPORTED_MEDIA_TYPE, "The body is not application/json";
    RangeNotSatisfiable, "range_not_satisfiable", RANGE_NOT_SATISFIABLE, "The artifact has no such bytes";
    InvalidArgument, "invalid_argument", UNPROCESSABLE_ENTITY, "The request breaks a rule";
    RateLimited, "rate_limited", TOO_MANY_REQUESTS, "Over a rate";
    HeaderFieldsTooLarge, "header_fields_too_large", REQUEST_HEADER_FIELDS_TOO_LARGE, "The head is too large";
    Internal, "internal", INTERNAL_SERVER_ERROR, "A bug in the server";
    Overloaded, "overloaded", SERVICE_UNAVAILABLE, "More than can be served now";
    StorageUnavailable, "storage_unavailable", SERVICE_UNAVAILABLE, "The storage does not answer";
}

words! {
    /// Whether a failed write may have happened.
    pub enum Outcome {
        NotApplied = "not_applied",
        Unknown = "unknown",
    }
}

/// The headers of a refusal by a rate: RFC 9110 and draft-ietf-httpapi-ratelimit-headers-11.
#[derive(Debug, Clone)]
pub struct Throttle {
    /// The limit, as the document names it.
    pub limit: &'static str,
    /// Whole seconds.
    pub retry_after: String,
    /// Only of a rate.
    pub fields: Option<RateFields>,
}

/// The values of `RateLimit` and `RateLimit-Policy`.
#[derive(Debug, Clone)]
pub struct RateFields {
    pub rate_limit: String,
    pub policy: String,
}

/// Details of an error beside its code and text.
#[derive(Debug, Clone)]
enum Tells {
    /// The current revisions, if a precondition failed.
    Mismatch(Mismatch),
    /// Where the log begins, and where it ends if a position is not in it.
    Log {
        base: i64,
        revision: Option<i64>,
    },
    /// The oldest position of the feed.
    Feed {
        oldest: FeedPosition,
    },
    Lease(LeaseRefusal),
    Throttle(Throttle),
    Bound(Bound),
    /// The latest version of an artifact, if there is one.
    Latest(Option<i64>),
    /// How many bytes there are.
    Size(u64),
    /// The methods that the path has.
    Methods(String),
}

/// The members of a document that only some errors have.
#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
struct Members<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    oldest: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    base_revision: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    revision: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    user_revision: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    app_revision: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    epoch: Option<i64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    owner: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    expire_time: Option<Box<RawValue>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    limit: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<i64>,
}

impl Tells {
    fn members(&self) -> Members<'_> {
        let none = Members::default();
        match self {
            Self::Mismatch(Mismatch { revision, shared, .. }) => Members {
                revision: Some(*revision),
                user_revision: shared.map(|(user, _)| user),
                app_revision: shared.map(|(_, app)| app),
                ..none
            },
            Self::Log { base, revision } => Members { base_revision: Some(*base), revision: *revision, ..none },
            Self::Feed { oldest } => Members { oldest: Some(oldest.to_string()), ..none },
            Self::Lease(LeaseRefusal::Held(held)) => Members {
                epoch: Some(held.epoch),
                owner: Some(&held.owner),
                expire_time: RawValue::from_string(held.expire_time.to_number()).ok(),
                ..none
            },
            Self::Lease(LeaseRefusal::Fenced { epoch }) => Members { epoch: Some(*epoch), ..none },
            Self::Throttle(throttle) => Members { limit: Some(throttle.limit), ..none },
            Self::Bound(bound) => Members { limit: Some(bound.as_str()), ..none },
            Self::Latest(version) => Members { version: *version, ..none },
            Self::Methods(_) | Self::Size(_) => none,
        }
    }
}

/// An error on its way to the client. [`Problem::finish`] turns it into text, with the ids of the request.
#[derive(Debug, Clone)]
pub struct Problem {
    pub code: Code,
    detail: String,
    errors: Vec<FieldError>,
    tells: Option<Box<Tells>>,
    pub outcome: Outcome,
    /// The limit that refused the request, for the metrics.
    pub limit: Option<&'static str>,
    /// The body had a content coding; the answer says that none is accepted.
    pub content_coding: bool,
    /// For the log, not for the client.
    pub cause: Option<String>,
}

/// The ids of a request.
#[derive(Debug, Clone, Copy)]
pub struct Ids<'a> {
    pub request: &'a str,
    /// The trace id that its client sent.
    pub trace: Option<&'a str>,
}

impl<'a> Ids<'a> {
    /// For a request without a trace.
    pub fn of(request: &'a str) -> Self {
        Self { request, trace: None }
    }
}

impl Problem {
    pub fn new(code: Code, detail: impl Into<String>) -> Self {
        let detail = detail.into();
        let outcome = Outcome::NotApplied;
        Self { code, detail, errors: Vec::new(), tells: None, outcome, limit: None, content_coding: false, cause: None }
    }

    /// A limit refused the request. The metrics call it `limit`.
    pub fn over(limit: &'static str, code: Code, detail: impl Into<String>) -> Self {
        Self { limit: Some(limit), ..Self::new(code, detail) }
    }

    /// A rate refused the request. The metrics call it `limit`.
    pub fn throttled(limit: &'static str, throttle: Throttle, detail: impl Into<String>) -> Self {
        Self { tells: Some(Box::new(Tells::Throttle(throttle))), ..Self::over(limit, Code::RateLimited, detail) }
    }

    /// The path does not have the method of the request. It has these.
    pub fn method(allowed: String) -> Self {
        let detail = format!("the path does not take this method, but {}", allowed.replace(',', ", "));
        Self { tells: Some(Box::new(Tells::Methods(allowed))), ..Self::new(Code::MethodNotAllowed, detail) }
    }

    /// Shows only the first faults: a body may have one in each of its fields.
    pub fn invalid(mut errors: Vec<FieldError>) -> Self {
        const MOST: usize = 20;
        errors.truncate(MOST);
        let mut detail = String::new();
        for error in &errors {
            if !detail.is_empty() {
                detail.push_str("; ");
            }
            let field = shown(&error.field);
            match field.as_str() {
                "" => detail.push_str("the body: "),
                field => {
                    detail.push('`');
                    detail.push_str(field);
                    detail.push_str("`: ");
                }
            }
            detail.push_str(&error.message);
        }
        Self { errors, ..Self::new(Code::InvalidArgument, detail) }
    }

    pub fn field(field: impl Into<String>, message: impl Into<String>) -> Self {
        Self::invalid(vec![FieldError::new(field, message)])
    }

    /// The database did not answer before anything was done.
    pub fn unavailable(error: &StoreError) -> Self {
        let code = if error.cause == Cause::Overloaded { Code::Overloaded } else { Code::StorageUnavailable };
        Self { cause: Some(error.to_string()), ..Self::new(code, "the database did not answer; try again") }
    }

    /// An artifact has a version of this number although it was to have none.
    pub fn has_version(latest: Option<i64>, field: &str) -> Self {
        let errors = vec![FieldError::new(field, "the artifact has a version")];
        let tells = Some(Box::new(Tells::Latest(latest)));
        Self { code: Code::RevisionMismatch, tells, ..Self::invalid(errors) }
    }

    /// A range that is beyond the end of so many bytes.
    pub fn beyond(size: u64) -> Self {
        let tells = Some(Box::new(Tells::Size(size)));
        Self { tells, ..Self::new(Code::RangeNotSatisfiable, format!("there are {size} bytes")) }
    }

    /// A panic: it is unknown what was done before.
    pub fn panicked() -> Self {
        Self { outcome: Outcome::Unknown, ..Self::new(Code::Internal, "the server met a bug; it is in its log") }
    }

    /// The document for the request with these ids. `of_write` adds the outcome.
    pub fn text(&self, ids: Ids<'_>, of_write: bool) -> String {
        #[derive(Serialize)]
        struct Field<'a> {
            field: String,
            message: &'a str,
        }
        #[derive(Serialize)]
        #[serde(rename_all = "camelCase")]
        struct Body<'a> {
            r#type: String,
            title: &'a str,
            status: u16,
            detail: &'a str,
            code: &'a str,
            #[serde(skip_serializing_if = "Vec::is_empty")]
            errors: Vec<Field<'a>>,
            #[serde(flatten)]
            members: Members<'a>,
            #[serde(skip_serializing_if = "Option::is_none")]
            outcome: Option<&'a str>,
            #[serde(skip_serializing_if = "Option::is_none")]
            trace_id: Option<&'a str>,
            request_id: &'a str,
        }
        let (code, status, title) = self.code.entry();
        let body = Body {
            r#type: format!("urn:sessiond:problem:{code}"),
            title,
            status: status.as_u16(),
            detail: &self.detail,
            code,
            errors: self.errors.iter().map(|e| Field { field: shown(&e.field), message: &e.message }).collect(),
            members: self.tells.as_deref().map(Tells::members).unwrap_or_default(),
            outcome: of_write.then(|| self.outcome.as_str()),
            trace_id: ids.trace,
            request_id: ids.request,
        };
        // Serializing strings and numbers cannot fail.
        let mut text = serde_json::to_string(&body).unwrap_or_default();
        text.push('\n');
        text
    }

    /// The answer with an id of its own, when nothing else sets the header.
    pub fn finish_alone(&self, id: &str, of_write: bool) -> Response {
        let mut response = self.finish(Ids::of(id), of_write);
        response.headers_mut().extend(HeaderValue::from_str(id).map(|id| (REQUEST_ID, id)));
        response
    }

    /// The answer to the request with these ids.
    pub fn finish(&self, ids: Ids<'_>, of_write: bool) -> Response {
        let status = self.code.entry().1;
        let mut response = (status, self.text(ids, of_write)).into_response();
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
        if status == StatusCode::SERVICE_UNAVAILABLE {
            headers.insert(header::RETRY_AFTER, HeaderValue::from_static("1"));
        }
        if let Some(Tells::Lease(LeaseRefusal::Held(held))) = self.tells.as_deref() {
            // Whole seconds until the lease expires, at least 1.
            let seconds = (held.left.max(1) + 999_999) / 1_000_000;
            headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        if let Some(Tells::Throttle(Throttle { retry_after, fields, .. })) = self.tells.as_deref() {
            let fields = fields
                .iter()
                .flat_map(|RateFields { rate_limit, policy }| [(RATE_LIMIT, rate_limit), (RATE_LIMIT_POLICY, policy)]);
            for (name, value) in fields.chain([(header::RETRY_AFTER, retry_after)]) {
                if let Ok(value) = HeaderValue::from_str(value) {
                    headers.insert(name, value);
                }
            }
        }
        if self.code == Code::InvalidRequest {
            // The end of this request is unclear, and so is the start of the next one.
            headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
        if status == StatusCode::UNAUTHORIZED {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        if let Some(Tells::Methods(methods)) = self.tells.as_deref()
            && let Ok(methods) = HeaderValue::from_str(methods)
        {
            headers.insert(header::ALLOW, methods);
        }
        if let Some(Tells::Size(size)) = self.tells.as_deref()
            && let Ok(range) = HeaderValue::from_str(&format!("bytes */{size}"))
        {
            headers.insert(header::CONTENT_RANGE, range);
        }
        if self.content_coding {
            // Distinguishes this 415 from that for a content type (RFC 9110 section 12.5.3).
            headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_static("identity"));
        }
        response
    }
}

/// The name or the pointer of a field, cut to a length that fits in an error: a pointer may contain long keys.
fn shown(field: &str) -> String {
    const MOST: usize = 200;
    match field.char_indices().nth(MOST) {
        Some((at, _)) => format!("{}…", &field[..at]),
        None => field.to_owned(),
    }
}

impl From<Rejected> for Problem {
    fn from(rejected: Rejected) -> Self {
        match rejected {
            Rejected::InvalidJson { offset, what } => {
                Self::new(Code::InvalidJson, format!("{what} (at byte {offset} of the body)"))
            }
            Rejected::Invalid(errors) => Self::invalid(errors),
            Rejected::Denied { detail } => Self::over("role", Code::PermissionDenied, detail),
            Rejected::TooLarge { limit, detail } => Self::over(limit, Code::PayloadTooLarge, detail),
        }
    }
}

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        match error {
            Error::Rejected(rejected) => rejected.into(),
            Error::SessionNotFound => Self::new(Code::SessionNotFound, "there is no such session, or it has expired"),
            Error::EventNotFound => Self::new(Code::EventNotFound, "the session has no event of this id"),
            Error::InvocationNotFound => Self::new(Code::EventNotFound, "the session has no event of this invocation"),
            Error::SessionCut => Self::new(
                Code::SessionNotFound,
                "the session was deleted or trimmed, or an artifact deleted, meanwhile",
            ),
            Error::StateKeyNotFound => Self::new(Code::StateKeyNotFound, "the merged state has no such key"),
            Error::SessionAlreadyExists => {
                Self::new(Code::SessionAlreadyExists, "the session exists and was left as it is; PUT gets or creates")
            }
            Error::CreationKeyConflict => Self::new(
                Code::SessionAlreadyExists,
                "this Idempotency-Key made a session by another request; it was left as it is",
            ),
            Error::PatchKeyConflict => Self::new(
                Code::EventIdConflict,
                "this Idempotency-Key came with another change of this state; nothing was changed",
            ),
            Error::EventIdConflict => Self::new(
                Code::EventIdConflict,
                "the session has an event of this id with other content; nothing was appended",
            ),
            Error::UserErased => Self::new(
                Code::UserErased,
                "the user was erased, and is refused since; an erasure with `block: false` lifts that",
            ),
            Error::ErasureConflict => Self::new(
                Code::ErasureConflict,
                "this requestId came with the erasure of another user; nothing was erased",
            ),
            Error::ArtifactNotFound => {
                Self::new(Code::ArtifactNotFound, "there is no such artifact, or it has no such version")
            }
            Error::ArtifactVersionExists => Self::new(
                Code::ArtifactVersionExists,
                "the artifact has had this version, or a higher one, or can have no higher one; nothing was saved",
            ),
            Error::ArtifactKeyConflict => Self::new(
                Code::EventIdConflict,
                "this Idempotency-Key came with other content of this artifact; nothing was saved",
            ),
            Error::ArtifactMismatch { latest } => Self {
                tells: Some(Box::new(Tells::Latest(latest))),
                ..Self::new(
                    Code::RevisionMismatch,
                    "the latest version of the artifact is another one, or there is none",
                )
            },
            Error::LimitReached(Bound::ArtifactVersions) => Self {
                tells: Some(Box::new(Tells::Bound(Bound::ArtifactVersions))),
                ..Self::new(
                    Code::LimitReached,
                    format!(
                        "there are {MAX_VERSIONS} versions of artifacts, as many as there may be; nothing was saved"
                    ),
                )
            },
            Error::LimitReached(bound) => Self {
                tells: Some(Box::new(Tells::Bound(bound))),
                ..Self::new(
                    Code::LimitReached,
                    format!(
                        "the policy of the app has a bound, `{}`, which this would exceed; nothing was written",
                        bound.as_str()
                    ),
                )
            },
            Error::ErasureNotFound => Self::new(Code::NotFound, "there is no such erasure"),
            Error::Trimmed { base } => Self {
                tells: Some(Box::new(Tells::Log { base, revision: None })),
                ..Self::new(Code::RevisionTrimmed, format!("this was trimmed: the session begins at revision {base}"))
            },
            Error::Forgotten { base } => Self {
                tells: Some(Box::new(Tells::Log { base, revision: None })),
                ..Self::new(
                    Code::RevisionTrimmed,
                    "what user and app state were then is no longer kept; `scope=session` shows the state of the session alone",
                )
            },
            Error::SearchOff => Self::new(
                Code::SearchOff,
                "what was said is not indexed; PUT /v1/apps/{app}/policy with `\"search\": {\"index\": true}` in the policy switches it on",
            ),
            Error::FeedDisabled => Self::new(
                Code::FeedDisabled,
                "there is no feed: the server keeps none (--feed-retention), or the credential is not for these names",
            ),
            Error::FeedGone { oldest } => Self {
                tells: Some(Box::new(Tells::Feed { oldest })),
                ..Self::new(
                    Code::PositionGone,
                    "the feed has no such position, or not any more; take a position, read what there is, and go on from it",
                )
            },
            Error::PositionGone { base, revision } => Self {
                tells: Some(Box::new(Tells::Log { base, revision: Some(revision) })),
                ..Self::new(
                    Code::PositionGone,
                    "the log has no such position: the session was made anew, or the event is not in it; read the session anew",
                )
            },
            Error::Lease(refusal) => {
                let problem = match &refusal {
                    LeaseRefusal::Held(_) => Self::new(
                        Code::LeaseHeld,
                        "someone else holds the lease of the session, and it has not expired",
                    ),
                    LeaseRefusal::Fenced { epoch } => Self::new(
                        Code::Fenced,
                        format!("the lease was superseded or released, or is of another session; the epoch is {epoch}"),
                    ),
                };
                Self { tells: Some(Box::new(Tells::Lease(refusal))), ..problem }
            }
            Error::RevisionMismatch(mut mismatch) => {
                let failed = std::mem::take(&mut mismatch.failed);
                let Mismatch { revision, .. } = mismatch;
                let problem = match failed.is_empty() {
                    true => Self::new(
                        Code::RevisionMismatch,
                        format!("what If-Match asks for is not what is there; the current revision is {revision}"),
                    ),
                    false => Self { code: Code::RevisionMismatch, ..Self::invalid(failed) },
                };
                Self { tells: Some(Box::new(Tells::Mismatch(mismatch))), ..problem }
            }
            Error::ArtifactStore(fault) => {
                let detail = match fault {
                    StoreFault::NotConfigured => {
                        "the artifact store of these bytes is not configured; everything else is served"
                    }
                    StoreFault::Lacks => "the artifact store has lost these bytes; everything else is served",
                    StoreFault::Fails(_) => "the artifact store does not answer, or refuses; everything else is served",
                };
                Self { cause: Some(fault.to_string()), ..Self::new(Code::StorageUnavailable, detail) }
            }
            Error::Store(error) => {
                let (code, detail) = match error.cause {
                    Cause::Overloaded => (Code::Overloaded, "the database is busy; try again"),
                    Cause::Internal => (Code::Internal, "the server met a bug; it is in its log"),
                    // Whatever the cause: the next one finds it so.
                    Cause::Unavailable if error.is_disk_full() => (
                        Code::StorageUnavailable,
                        "the disk of the database is full: it takes no writes now; reads are served",
                    ),
                    Cause::ReadOnly => (Code::StorageUnavailable, "the database takes no writes now; reads are served"),
                    Cause::Conflict
                    | Cause::ConnectionLost
                    | Cause::Unavailable
                    | Cause::Refused
                    | Cause::Config
                    | Cause::Timeout => (Code::StorageUnavailable, "the database did not answer; try again"),
                };
                let detail = if error.unclear {
                    "the answer to the commit was lost, so the write may have happened; what has an event id can be \
                     sent again as it is, before anything else look at what is there"
                } else {
                    detail
                };
                Self {
                    outcome: if error.unclear { Outcome::Unknown } else { Outcome::NotApplied },
                    cause: Some(error.to_string()),
                    ..Self::new(code, detail)
                }
            }
        }
    }
}
