//! How an endpoint is described: by values that its own code reads, too.
//!
//! The routes and `openapi.yaml` are built from the same list of endpoints, and a handler parses its query with the [`Param`]s of
//! its [`Operation`]. So the description of paths, methods and queries cannot differ from what is served. A header that asks a
//! write for safety is refused unless the [`Operation`] declares it. For bodies and answers, tests check real answers against
//! `openapi.yaml`.

use axum::http::{HeaderName, StatusCode, header};

use crate::domain::access::Role;
use crate::http::reply::Code;

/// One operation of the API.
#[derive(Debug)]
pub struct Operation {
    /// `operationId`, in lowerCamelCase.
    pub id: &'static str,
    pub tag: &'static str,
    pub serving: Serving,
    pub access: Access,
    pub summary: &'static str,
    /// CommonMark.
    pub description: &'static str,
    pub query: &'static [Param],
    /// The conditional headers that it takes. A write refuses the others.
    pub headers: &'static [Header],
    pub body: Option<Body>,
    pub answers: &'static [Reply],
    /// Errors beyond those that every operation of its kind can meet.
    pub errors: &'static [Code],
}

/// Which clients an operation is for (contract, section 11). The names are those of its path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// All, without a credential.
    Open,
    /// All with a valid credential.
    Known,
    /// Those with this role or a higher one. Outside of a client's grant it is as if nothing were there.
    Read(Role),
    /// As `Read`; a path that names an app and no user is for clients of any of its users, who see what is theirs.
    ReadShared(Role),
    /// Those with this role or a higher one. Outside of a client's grant it is refused.
    Write(Role),
}

/// Which of the rules for all requests hold for an operation.
#[derive(Debug, Clone, Copy)]
pub struct Serving {
    /// Served beyond the limits of admission: however many requests are under way, and on connections beyond their limit.
    pub always: bool,
    /// It asks the database, so it can fail with it.
    pub database: bool,
    /// A path that fits but for an empty segment is refused as such, rather than not found. Holds for all paths with the same
    /// first segment.
    pub strict_path: bool,
    /// Query parameters that the operation does not know are refused.
    pub strict_query: bool,
    /// A page for people, to which other sites may link. It shows nothing that is stored.
    pub page: bool,
    /// It takes a user token as `access_token` in its query: a browser cannot send a header with a stream of events.
    pub token_in_query: bool,
    pub charge: Charge,
}

/// What a request costs the rates of its app, its key and its user.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Charge {
    Nothing,
    /// One event, before anything else is done with it; what it stores beyond, by its handler:
    /// [`Call::charge`](crate::http::call::Call::charge). It is given back if the answer is 401 or 403.
    Request,
}

impl Serving {
    /// What is stored, in the API's own forms.
    pub const NATIVE: Self = Self {
        always: false,
        database: true,
        strict_path: true,
        strict_query: true,
        page: false,
        token_in_query: false,
        charge: Charge::Request,
    };
    /// A stream of events.
    pub const WATCH: Self = Self { token_in_query: true, ..Self::NATIVE };
    /// What is stored, in ADK's forms.
    pub const ADK: Self = Self { strict_path: false, strict_query: false, ..Self::NATIVE };
    /// What the process knows by itself.
    pub const PROCESS: Self =
        Self { always: false, database: false, strict_path: false, charge: Charge::Nothing, ..Self::NATIVE };
}

#[derive(Debug, Clone, Copy)]
pub struct Param {
    pub name: &'static str,
    pub kind: Kind,
    pub about: &'static str,
}

#[derive(Debug, Clone, Copy)]
pub enum Kind {
    /// An integer of at least `min`; what is above `max` is refused.
    Integer {
        min: i64,
        max: i64,
    },
    Text,
    /// A state key, with its prefix.
    StateKey,
    /// State keys, separated by commas.
    StateKeys,
    Boolean,
    /// Whole seconds to wait, with or without an `s`: 0 to 60.
    Wait,
    OneOf(&'static [&'static str]),
    /// Unix seconds or RFC 3339.
    Time,
    /// The epoch of a lease: digits. Required.
    Epoch,
    /// The incarnation of a lease: hexadecimal digits.
    Incarnation,
    /// Any number of parameters whose names begin with `name` and a dot: `label.NAME=VALUE`.
    Labels,
}

/// A request header that makes a request conditional, or safe to send again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Header {
    IfMatch,
    /// Of a read: the tags of what the client has.
    IfNoneMatch,
    /// `If-None-Match: *` of a write: only if there is none yet.
    CreateOnly,
    IdempotencyKey,
    /// Of a stream of events: where it goes on.
    LastEventId,
    /// The lease that a write is made under.
    Lease,
}

impl Header {
    pub fn name(self) -> HeaderName {
        match self {
            Self::IfMatch => header::IF_MATCH,
            Self::IfNoneMatch | Self::CreateOnly => header::IF_NONE_MATCH,
            Self::IdempotencyKey => HeaderName::from_static("idempotency-key"),
            Self::LastEventId => HeaderName::from_static("last-event-id"),
            Self::Lease => HeaderName::from_static("sessiond-lease"),
        }
    }

    /// As documents write it.
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

#[derive(Debug, Clone, Copy)]
pub struct Body {
    /// A name among the schemas of `openapi.rs`.
    pub schema: &'static str,
    pub required: bool,
}

/// A successful answer, as it is described.
#[derive(Debug, Clone, Copy)]
pub struct Reply {
    pub status: StatusCode,
    pub about: &'static str,
    /// A name among the schemas of `openapi.rs`; `None` for an empty answer.
    pub schema: Option<&'static str>,
    /// Which of the named response headers it carries.
    pub headers: &'static [&'static str],
}

/// Where a stream takes a user token.
pub const QUERY_TOKEN: &str = "access_token";

pub const WAIT: Param = Param {
    name: "wait",
    kind: Kind::Wait,
    about: "For how long to wait for what is not there yet, in seconds, up to 60: `30` or `30s`.",
};
pub const PAGE_SIZE: Param = Param {
    name: "pageSize",
    kind: Kind::Integer { min: 1, max: i64::MAX },
    about: "Rows of a page: 1 to 1000, 100 if it is not given. A page also ends at 8 MiB. Both limits are settings of \
            the server; these are their defaults.",
};
pub const PAGE_TOKEN: Param = Param {
    name: "pageToken",
    kind: Kind::Text,
    about: "`nextPageToken` of the answer before; only together with the parameters of that request.",
};
