//! Errors as `application/problem+json` (RFC 9457): one table, one form, made in one place.

use axum::http::{HeaderName, HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse, Response};

use crate::domain::artifact::{MAX_VERSIONS, StoreFault};
use crate::domain::feed::FeedPosition;
use crate::domain::json::ObjectText;
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

impl Tells {
    /// Adds the members that only some errors have.
    fn tell(&self, document: &mut ObjectText) {
        match self {
            Self::Mismatch(Mismatch { revision, shared, .. }) => {
                document.push("revision", &revision.to_string());
                document.push_some("userRevision", shared.map(|(user, _)| user.to_string()));
                document.push_some("appRevision", shared.map(|(_, app)| app.to_string()));
            }
            Self::Log { base, revision } => {
                document.push("baseRevision", &base.to_string());
                document.push_some("revision", revision.map(|revision| revision.to_string()));
            }
            Self::Feed { oldest } => document.push_str("oldest", &oldest.to_string()),
            Self::Lease(LeaseRefusal::Held(held)) => {
                document.push("epoch", &held.epoch.to_string());
                document.push_str("owner", &held.owner);
                document.push("expireTime", &held.expire_time.to_number());
            }
            Self::Lease(LeaseRefusal::Fenced { epoch }) => document.push("epoch", &epoch.to_string()),
            Self::Throttle(throttle) => document.push_str("limit", throttle.limit),
            Self::Bound(bound) => document.push_str("limit", bound.as_str()),
            Self::Latest(version) => document.push_some("version", version.map(|version| version.to_string())),
            Self::Methods(_) | Self::Size(_) => {}
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

    fn telling(self, tells: Tells) -> Self {
        Self { tells: Some(Box::new(tells)), ..self }
    }

    /// A limit refused the request. The metrics call it `limit`.
    pub fn over(limit: &'static str, code: Code, detail: impl Into<String>) -> Self {
        Self { limit: Some(limit), ..Self::new(code, detail) }
    }

    /// A rate refused the request. The metrics call it `limit`.
    pub fn throttled(limit: &'static str, throttle: Throttle, detail: impl Into<String>) -> Self {
        Self::over(limit, Code::RateLimited, detail).telling(Tells::Throttle(throttle))
    }

    /// The path does not have the method of the request. It has these.
    pub fn method(allowed: String) -> Self {
        let detail = format!("the path does not take this method, but {}", allowed.replace(',', ", "));
        Self::new(Code::MethodNotAllowed, detail).telling(Tells::Methods(allowed))
    }

    /// Shows only the first faults: a body may have one in each of its fields.
    pub fn invalid(mut errors: Vec<FieldError>) -> Self {
        const MOST: usize = 20;
        errors.truncate(MOST);
        let told = |FieldError { field, message }: &FieldError| match &*shown(field) {
            "" => format!("the body: {message}"),
            field => format!("`{field}`: {message}"),
        };
        let details: Vec<String> = errors.iter().map(told).collect();
        Self { errors, ..Self::new(Code::InvalidArgument, details.join("; ")) }
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
        Self { code: Code::RevisionMismatch, ..Self::invalid(errors) }.telling(Tells::Latest(latest))
    }

    /// A range that is beyond the end of so many bytes.
    pub fn beyond(size: u64) -> Self {
        Self::new(Code::RangeNotSatisfiable, format!("there are {size} bytes")).telling(Tells::Size(size))
    }

    /// A panic: it is unknown what was done before.
    pub fn panicked() -> Self {
        Self { outcome: Outcome::Unknown, ..Self::new(Code::Internal, "the server met a bug; it is in its log") }
    }

    /// The document for the request with these ids. `of_write` adds the outcome.
    pub fn text(&self, ids: Ids<'_>, of_write: bool) -> String {
        let (code, status, title) = self.code.entry();
        let mut document = ObjectText::default();
        document.push_str("type", &format!("urn:sessiond:problem:{code}"));
        document.push_str("title", title);
        document.push("status", status.as_str());
        document.push_str("detail", &self.detail);
        document.push_str("code", code);
        let field = |FieldError { field, message }: &FieldError| {
            let mut error = ObjectText::default();
            error.push_str("field", &shown(field));
            error.push_str("message", message);
            error.close()
        };
        if !self.errors.is_empty() {
            document.push_array("errors", &self.errors.iter().map(field).collect::<Vec<_>>());
        }
        if let Some(tells) = &self.tells {
            tells.tell(&mut document);
        }
        document.push_some_str("outcome", of_write.then(|| self.outcome.as_str()));
        document.push_some_str("traceId", ids.trace);
        document.push_str("requestId", ids.request);
        document.close() + "\n"
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
        let told = match self.tells.as_deref() {
            // Whole seconds until the lease expires, at least 1.
            Some(Tells::Lease(LeaseRefusal::Held(held))) => {
                vec![(header::RETRY_AFTER, ((held.left.max(1) + 999_999) / 1_000_000).to_string())]
            }
            Some(Tells::Throttle(Throttle { retry_after, fields, .. })) => {
                let mut told = vec![(header::RETRY_AFTER, retry_after.clone())];
                if let Some(RateFields { rate_limit, policy }) = fields.clone() {
                    told.extend([(RATE_LIMIT, rate_limit), (RATE_LIMIT_POLICY, policy)]);
                }
                told
            }
            Some(Tells::Methods(methods)) => vec![(header::ALLOW, methods.clone())],
            Some(Tells::Size(size)) => vec![(header::CONTENT_RANGE, format!("bytes */{size}"))],
            _ => Vec::new(),
        };
        for (name, value) in told {
            if let Ok(value) = HeaderValue::from_str(&value) {
                headers.insert(name, value);
            }
        }
        if self.code == Code::InvalidRequest {
            // The end of this request is unclear, and so is the start of the next one.
            headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
        }
        if status == StatusCode::UNAUTHORIZED {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
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

/// What each error is told as: by a code, a text and, some, by details beside them; or by a problem of its own.
macro_rules! told {
    ($error:ident; $($kind:pat => $code:ident, $detail:expr $(, $tells:expr)?;)*; $($other:pat => $problem:expr,)*) => {
        match $error {
            $($kind => Self::new(Code::$code, $detail)$(.telling($tells))?,)*
            $($other => $problem),*
        }
    };
}

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        told! { error;
            Error::SessionNotFound => SessionNotFound, "there is no such session, or it has expired";
            Error::SessionCut => SessionNotFound, "the session was deleted or trimmed, or an artifact deleted, meanwhile";
            Error::EventNotFound => EventNotFound, "the session has no event of this id";
            Error::InvocationNotFound => EventNotFound, "the session has no event of this invocation";
            Error::StateKeyNotFound => StateKeyNotFound, "the merged state has no such key";
            Error::SessionAlreadyExists => SessionAlreadyExists,
                "the session exists and was left as it is; PUT gets or creates";
            Error::CreationKeyConflict => SessionAlreadyExists,
                "this Idempotency-Key made a session by another request; it was left as it is";
            Error::PatchKeyConflict => EventIdConflict,
                "this Idempotency-Key came with another change of this state; nothing was changed";
            Error::EventIdConflict => EventIdConflict,
                "the session has an event of this id with other content; nothing was appended";
            Error::UserErased => UserErased,
                "the user was erased, and is refused since; an erasure with `block: false` lifts that";
            Error::ErasureConflict => ErasureConflict,
                "this requestId came with the erasure of another user; nothing was erased";
            Error::ErasureNotFound => NotFound, "there is no such erasure";
            Error::ArtifactNotFound => ArtifactNotFound, "there is no such artifact, or it has no such version";
            Error::ArtifactVersionExists => ArtifactVersionExists,
                "the artifact has had this version, or a higher one, or can have no higher one; nothing was saved";
            Error::ArtifactKeyConflict => EventIdConflict,
                "this Idempotency-Key came with other content of this artifact; nothing was saved";
            Error::ArtifactMismatch { latest } => RevisionMismatch,
                "the latest version of the artifact is another one, or there is none", Tells::Latest(latest);
            Error::LimitReached(bound @ Bound::ArtifactVersions) => LimitReached,
                format!("there are {MAX_VERSIONS} versions of artifacts, as many as there may be; nothing was saved"),
                Tells::Bound(bound);
            Error::LimitReached(bound) => LimitReached,
                format!("the policy of the app has a bound, `{}`, which this would exceed; nothing was written", bound.as_str()),
                Tells::Bound(bound);
            Error::Trimmed { base } => RevisionTrimmed,
                format!("this was trimmed: the session begins at revision {base}"), Tells::Log { base, revision: None };
            Error::Forgotten { base } => RevisionTrimmed,
                "what user and app state were then is no longer kept; `scope=session` shows the state of the session alone",
                Tells::Log { base, revision: None };
            Error::SearchOff => SearchOff,
                "what was said is not indexed; PUT /v1/apps/{app}/policy with `\"search\": {\"index\": true}` in the policy switches it on";
            Error::FeedDisabled => FeedDisabled,
                "there is no feed: the server keeps none (--feed-retention), or the credential is not for these names";
            Error::FeedGone { oldest } => PositionGone,
                "the feed has no such position, or not any more; take a position, read what there is, and go on from it",
                Tells::Feed { oldest };
            Error::PositionGone { base, revision } => PositionGone,
                "the log has no such position: the session was made anew, or the event is not in it; read the session anew",
                Tells::Log { base, revision: Some(revision) };
            Error::Lease(refusal @ LeaseRefusal::Held(_)) => LeaseHeld,
                "someone else holds the lease of the session, and it has not expired", Tells::Lease(refusal);
            Error::Lease(refusal @ LeaseRefusal::Fenced { epoch }) => Fenced,
                format!("the lease was superseded or released, or is of another session; the epoch is {epoch}"),
                Tells::Lease(refusal);
            ;
            Error::Rejected(rejected) => rejected.into(),
            Error::RevisionMismatch(mismatch) => Self::of_mismatch(mismatch),
            Error::ArtifactStore(fault) => Self::of_artifact_store(&fault),
            Error::Store(error) => Self::of_database(&error),
        }
    }
}

impl Problem {
    fn of_mismatch(mut mismatch: Mismatch) -> Self {
        let failed = std::mem::take(&mut mismatch.failed);
        let revision = mismatch.revision;
        let problem = match failed.is_empty() {
            true => Self::new(
                Code::RevisionMismatch,
                format!("what If-Match asks for is not what is there; the current revision is {revision}"),
            ),
            false => Self { code: Code::RevisionMismatch, ..Self::invalid(failed) },
        };
        problem.telling(Tells::Mismatch(mismatch))
    }

    fn of_artifact_store(fault: &StoreFault) -> Self {
        let detail = match fault {
            StoreFault::NotConfigured => {
                "the artifact store of these bytes is not configured; everything else is served"
            }
            StoreFault::Lacks => "the artifact store has lost these bytes; everything else is served",
            StoreFault::Fails(_) => "the artifact store does not answer, or refuses; everything else is served",
        };
        Self { cause: Some(fault.to_string()), ..Self::new(Code::StorageUnavailable, detail) }
    }

    fn of_database(error: &StoreError) -> Self {
        let (code, detail) = match error.cause {
            Cause::Overloaded => (Code::Overloaded, "the database is busy; try again"),
            Cause::Internal => (Code::Internal, "the server met a bug; it is in its log"),
            // Whatever the cause: the next one finds it so.
            Cause::Unavailable if error.is_disk_full() => {
                (Code::StorageUnavailable, "the disk of the database is full: it takes no writes now; reads are served")
            }
            Cause::ReadOnly => (Code::StorageUnavailable, "the database takes no writes now; reads are served"),
            Cause::Conflict
            | Cause::ConnectionLost
            | Cause::Unavailable
            | Cause::Refused
            | Cause::Config
            | Cause::Timeout => (Code::StorageUnavailable, "the database did not answer; try again"),
        };
        let (outcome, detail) = match error.unclear {
            true => (
                Outcome::Unknown,
                "the answer to the commit was lost, so the write may have happened; what has an event id can be sent \
                 again as it is, before anything else look at what is there",
            ),
            false => (Outcome::NotApplied, detail),
        };
        Self { outcome, cause: Some(error.to_string()), ..Self::new(code, detail) }
    }
}
