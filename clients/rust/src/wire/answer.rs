//! The members of an answer.

use std::collections::BTreeMap;

use chrono::{DateTime, Utc};
use serde_json::value::RawValue;

use super::time::time_from_number;
use crate::error::{Error, ErrorKind};

/// The members of an object, unread.
pub(crate) type Members<'a> = BTreeMap<String, &'a RawValue>;

pub(crate) fn members(body: &[u8]) -> Result<Members<'_>, Error> {
    serde_json::from_slice(body).map_err(|_| not_ours())
}

/// A member of an answer.
pub(crate) fn member<T: std::str::FromStr>(members: &Members<'_>, name: &str) -> Result<T, Error> {
    members.get(name).and_then(|raw| raw.get().parse().ok()).ok_or_else(not_ours)
}

/// A text of an answer.
pub(crate) fn text(members: &Members<'_>, name: &str) -> Option<String> {
    members.get(name).and_then(|raw| serde_json::from_str(raw.get()).ok())
}

/// The elements of a list in an answer.
pub(crate) fn list<'a>(members: &Members<'a>, name: &str) -> Result<Vec<&'a RawValue>, Error> {
    members.get(name).map_or(Ok(Vec::new()), |raw| serde_json::from_str(raw.get()).map_err(|_| not_ours()))
}

pub(crate) fn time(members: &Members<'_>, name: &str) -> Result<DateTime<Utc>, Error> {
    members.get(name).and_then(|raw| time_from_number(raw.get())).ok_or_else(not_ours)
}

pub(crate) fn not_ours() -> Error {
    Error::new(ErrorKind::Internal, "The answer is not sessiond's.")
}
