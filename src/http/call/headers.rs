//! The headers that make a request conditional or safe to retry.

use axum::http::{HeaderMap, HeaderName, header};

use crate::domain::FieldError;
use crate::domain::artifact::IfVersion;
use crate::domain::ids::{EventId, IdempotencyKey};
use crate::domain::lease::LeaseMark;
use crate::domain::tag::{IfMatch, none_match_hits};
use crate::http::describe::{Header, Operation};
use crate::http::reply::{Answer, Problem};
use crate::service::Guard;

pub struct Headers(HeaderMap);

impl Headers {
    /// # Errors
    /// A write has a safety header that its operation cannot honour: no client may rely on one in vain.
    pub fn read(headers: HeaderMap, of_write: bool, operation: &Operation) -> Result<Self, Problem> {
        if of_write {
            check(operation, &headers)?;
        }
        Ok(Self(headers))
    }

    pub fn all(&self) -> &HeaderMap {
        &self.0
    }

    fn parsed<T>(
        &self,
        header: Header,
        parse: impl FnOnce(&str) -> Result<T, &'static str>,
    ) -> Result<Option<T>, Problem> {
        let mut values = self.0.get_all(header.title()).iter();
        let refuse = |message| Problem::field(header.title(), message);
        let Some(value) = values.next() else { return Ok(None) };
        if values.next().is_some() {
            return Err(refuse("must be given once"));
        }
        let value = std::str::from_utf8(value.as_bytes()).map_err(|_| refuse("must be UTF-8"))?;
        parse(value).map(Some).map_err(refuse)
    }

    pub fn if_match(&self) -> Result<Option<IfMatch>, Problem> {
        self.parsed(Header::IfMatch, IfMatch::parse)
    }

    /// A precondition on the latest version of an artifact.
    pub fn if_version(&self) -> Result<Option<IfVersion>, Problem> {
        self.parsed(Header::IfMatch, IfVersion::parse)
    }

    /// The lease under which a write is made.
    pub fn lease(&self) -> Result<Option<LeaseMark>, Problem> {
        self.parsed(Header::Lease, LeaseMark::parse)
    }

    /// The conditions of a write to a session.
    pub fn guard(&self) -> Result<Guard, Problem> {
        Ok(Guard { lease: self.lease()?, if_match: self.if_match()? })
    }

    /// Whether the write may only create.
    pub fn is_create_only(&self) -> Result<bool, Problem> {
        Ok(self.parsed(Header::CreateOnly, parse_create_only)?.is_some())
    }

    /// Where a stream of events resumes. An empty header counts as absent: a browser sends it before its first event.
    pub fn last_event_id<T>(&self, parse: impl Fn(&str) -> Result<T, &'static str>) -> Result<Option<T>, Problem> {
        let position = |text: &str| (!text.is_empty()).then(|| parse(text)).transpose();
        Ok(self.parsed(Header::LastEventId, position)?.flatten())
    }

    /// Whether the client already has the version with this `tag` (quoted).
    pub fn has_current(&self, tag: &str) -> Result<bool, Problem> {
        Ok(self.parsed(Header::IfNoneMatch, |header| none_match_hits(header, tag))?.unwrap_or(false))
    }

    /// A body with this tag, or 304 if the client already has that version.
    pub fn tagged(&self, tag: impl ToString, body: impl FnOnce() -> String) -> Result<Answer, Problem> {
        let tag = tag.to_string();
        match self.has_current(&tag)? {
            true => Ok(Answer::not_modified(tag)),
            false => Ok(Answer::ok().tag(tag).json(body())),
        }
    }

    /// The `Idempotency-Key` as an event id, for a request that appends one event.
    pub fn idempotency_key(&self) -> Result<Option<EventId>, Problem> {
        self.parsed(Header::IdempotencyKey, EventId::parse)
    }

    /// The `Idempotency-Key` of a request that appends no event.
    pub fn request_key(&self) -> Result<Option<IdempotencyKey>, Problem> {
        self.parsed(Header::IdempotencyKey, IdempotencyKey::parse)
    }

    pub fn asks_if_none_match(&self) -> bool {
        self.0.contains_key(header::IF_NONE_MATCH)
    }

    /// All values of a header that may be repeated.
    pub fn list(&self, name: &HeaderName) -> impl Iterator<Item = &str> {
        let texts = self.0.get_all(name).iter().filter_map(|value| value.to_str().ok());
        texts.flat_map(|text| text.split(',')).map(str::trim).filter(|part| !part.is_empty())
    }

    /// The `Host` header: host and port, as the client wrote them.
    pub fn host(&self) -> Option<&str> {
        self.0.get(header::HOST).and_then(|host| host.to_str().ok())
    }
}

/// Refuses safety headers that the operation cannot honour.
fn check(operation: &Operation, headers: &HeaderMap) -> Result<(), Problem> {
    let mut errors = Vec::new();
    for asked in [Header::IdempotencyKey, Header::IfMatch, Header::CreateOnly, Header::Lease] {
        if headers.contains_key(asked.title()) && !operation.headers.contains(&asked) {
            errors.push(FieldError::new(asked.title(), "is not honoured by this request, so it is refused"));
        }
    }
    if errors.is_empty() { Ok(()) } else { Err(Problem::invalid(errors)) }
}

fn parse_create_only(header: &str) -> Result<(), &'static str> {
    if header.trim() == "*" { Ok(()) } else { Err("of a write must be `*`: only if there is none yet") }
}
