//! How an endpoint is described: by values that the code which serves it reads too.
//!
//! The router is made from the same list of endpoints as `openapi.yaml`, and a handler parses its query with the
//! [`Param`]s of its [`Operation`]: of paths, methods and queries, neither can say what the other does not do. What is
//! said of headers, bodies and answers is held by the tests, which check real answers against `openapi.yaml`.

use axum::http::StatusCode;

use super::problem::Code;

/// One operation of the API.
#[derive(Debug)]
pub struct Operation {
    /// `operationId`, in lowerCamelCase.
    pub id: &'static str,
    pub tag: &'static str,
    pub summary: &'static str,
    /// CommonMark.
    pub description: &'static str,
    pub query: &'static [Param],
    pub headers: &'static [Header],
    pub body: Option<Body>,
    pub answers: &'static [Answer],
    /// Errors beyond those that every operation of its kind can meet.
    pub errors: &'static [Code],
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
    OneOf(&'static [&'static str]),
    /// Unix seconds or RFC 3339.
    Time,
    /// Any number of parameters whose names begin with `name` and a dot: `label.NAME=VALUE`.
    Labels,
}

/// A request header that the operation reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Header {
    IfMatch,
    IfNoneMatch,
    IdempotencyKey,
}

#[derive(Debug, Clone, Copy)]
pub struct Body {
    /// A name among the schemas of `openapi.rs`.
    pub schema: &'static str,
    pub required: bool,
}

/// A successful answer.
#[derive(Debug, Clone, Copy)]
pub struct Answer {
    pub status: StatusCode,
    pub about: &'static str,
    /// A name among the schemas of `openapi.rs`; `None` for an empty answer.
    pub schema: Option<&'static str>,
    /// Which of the named response headers it carries.
    pub headers: &'static [&'static str],
}

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
