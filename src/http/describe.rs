//! What serves an operation: the routes and `openapi.yaml` are built from the same list of endpoints, and a handler parses its query with
//! the [`Param`]s of its [`Operation`]. So the description of paths, methods and queries cannot differ from what is served. A header
//! that asks a write for safety is refused unless the [`Operation`] declares it.
//!
//! What is only told of an operation is in `openapi/operations.yaml`. For bodies and answers, tests check real ones against
//! `openapi.yaml`.

use crate::domain::access::Role;

/// One operation of the API.
#[derive(Debug)]
pub struct Operation {
    /// `operationId`, in lowerCamelCase.
    pub id: &'static str,
    pub serving: Serving,
    pub access: Access,
    pub query: &'static [Param],
    /// The conditional headers that it accepts. A write refuses the others.
    pub headers: &'static [Header],
}

impl Operation {
    /// Of stored data, in the API's own form, with neither query nor headers.
    pub const fn of(id: &'static str, access: Access) -> Self {
        Self { id, serving: Serving::NATIVE, access, query: &[], headers: &[] }
    }

    pub const fn serving(self, serving: Serving) -> Self {
        Self { serving, ..self }
    }

    pub const fn query(self, query: &'static [Param]) -> Self {
        Self { query, ..self }
    }

    pub const fn headers(self, headers: &'static [Header]) -> Self {
        Self { headers, ..self }
    }
}

/// Which clients may use an operation (contract, section 11). The names are those in its path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// Everyone, without a credential.
    Open,
    /// Every client with a valid credential.
    Known,
    /// Clients with this role or a higher one. Outside of the client's grant, reads find nothing.
    Read(Role),
    /// As `Read`. A path that names an app but no user is open to clients of any of its users; each sees its own data.
    ReadShared(Role),
    /// Clients with this role or a higher one. Writes outside of the client's grant are refused.
    Write(Role),
}

/// Which of the rules for all requests apply to an operation.
#[derive(Debug, Clone, Copy)]
pub struct Serving {
    /// Exempt from admission: served even when the limits on requests and connections are reached. Polled every few
    /// seconds, even when the server is idle.
    pub always: bool,
    /// A path with an empty segment is refused as a bad path instead of answered with 404. Applies to all paths with
    /// the same first segment.
    pub strict_path: bool,
    /// Unknown query parameters are refused.
    pub strict_query: bool,
    /// A page for people, to which other sites may link. It shows no stored data.
    pub page: bool,
    /// It accepts a user token as `access_token` in its query, because a browser cannot send headers with an
    /// `EventSource`.
    pub token_in_query: bool,
    /// It costs the rates of its app, its key and its user one event, taken before the request is handled, and given back
    /// if the answer is 401 or 403. The handler charges what it stores beyond that:
    /// [`Call::charge`](crate::http::call::Call::charge).
    pub is_charged: bool,
}

impl Serving {
    /// Stored data, in the API's own form.
    pub const NATIVE: Self = Self {
        always: false,
        strict_path: true,
        strict_query: true,
        page: false,
        token_in_query: false,
        is_charged: true,
    };
    /// A stream of events.
    pub const WATCH: Self = Self { token_in_query: true, ..Self::NATIVE };
    /// Stored data, in ADK's form.
    pub const ADK: Self = Self { strict_path: false, strict_query: false, ..Self::NATIVE };
    /// Data of the process itself, without the database.
    pub const PROCESS: Self = Self { strict_path: false, is_charged: false, ..Self::NATIVE };
}

#[derive(Debug, Clone, Copy)]
pub struct Param {
    pub name: &'static str,
    pub kind: Kind,
}

impl Param {
    pub const fn new(name: &'static str, kind: Kind) -> Self {
        Self { name, kind }
    }

    pub fn is_required(&self) -> bool {
        matches!(self.kind, Kind::Epoch | Kind::Words { required: true })
    }
}

#[derive(Debug, Clone, Copy)]
pub enum Kind {
    /// An integer of at least `min`. A value above `max` is refused.
    Integer {
        min: i64,
        max: i64,
    },
    Text,
    /// What ids begin with.
    Prefix,
    /// Where a watch begins: a sequence, or the id of one of its events.
    Cursor,
    /// The same, or `now`.
    CursorOrNow,
    /// A position of a feed, `start` or `now`.
    FeedPosition,
    /// A state key, with its prefix.
    StateKey,
    /// State keys, separated by commas.
    StateKeys,
    Boolean,
    /// Whole seconds to wait, with or without an `s`: 0 to 60.
    Wait,
    OneOf(&'static [&'static str]),
    /// Some of these, separated by commas.
    SomeOf(&'static [&'static str]),
    /// Words to look for.
    Words {
        required: bool,
    },
    /// An id.
    Id,
    /// Unix seconds or RFC 3339.
    Time,
    /// The epoch of a lease: digits. Required.
    Epoch,
    /// The incarnation of a lease: hexadecimal digits.
    Incarnation,
    /// Any number of parameters whose names begin with `name` and a dot: `label.NAME=VALUE`.
    Labels,
}

impl Kind {
    pub const fn at_least(min: i64) -> Self {
        Self::Integer { min, max: i64::MAX }
    }
}

/// A request header that makes a request conditional or safe to retry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Header {
    IfMatch,
    /// Of a read: the tags that the client has.
    IfNoneMatch,
    /// `If-None-Match: *` of a write: create only, never replace.
    CreateOnly,
    IdempotencyKey,
    /// Of a stream of events: where to resume.
    LastEventId,
    /// The lease under which a write is made.
    Lease,
}

impl Header {
    /// Its name, as documents spell it: case does not matter.
    pub fn title(self) -> &'static str {
        match self {
            Self::IfMatch => "If-Match",
            Self::IfNoneMatch | Self::CreateOnly => "If-None-Match",
            Self::IdempotencyKey => "Idempotency-Key",
            Self::LastEventId => "Last-Event-ID",
            Self::Lease => "Sessiond-Lease",
        }
    }
}

/// The query parameter with a user token, for streams.
pub const QUERY_TOKEN: &str = "access_token";

pub const WAIT: Param = Param::new("wait", Kind::Wait);
pub const ANSWER: Param = Param::new("answer", Kind::OneOf(&["full", "minimal"]));
pub const PAGE_SIZE: Param = Param::new("pageSize", Kind::at_least(1));
pub const PAGE_TOKEN: Param = Param::new("pageToken", Kind::Text);
