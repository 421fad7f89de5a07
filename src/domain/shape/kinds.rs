//! The types that describe the shape of a value.

use crate::domain::envelope::to_camel;
use crate::domain::json::Json;

/// The type of a value.
#[derive(Debug)]
pub enum Shape {
    Any,
    Text,
    /// Of any size, also with an exponent, such as `1E2`.
    Integer,
    Number,
    Bool,
    /// Base64 in either alphabet, padded or not.
    Base64,
    /// One of these texts.
    OneOf(&'static [&'static str]),
    List(&'static Shape),
    /// An object whose names are data.
    Map(&'static Shape),
    Object(&'static Object),
    /// An object of one of these shapes, or any value that is not an object.
    ObjectOrAny(&'static Object),
    /// A security scheme of OpenAPI.
    Scheme,
    Either(&'static [Shape]),
}

/// Whether a field may be absent, and may be `null`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Presence {
    Required,
    /// May be absent, and is not `null`.
    Present,
    Nullable,
}

#[derive(Debug)]
pub struct Object {
    pub fields: &'static [(&'static str, Presence, Shape)],
    /// Whether it may have other members.
    pub open: bool,
    /// If one field cannot be read, the whole object cannot.
    pub whole: bool,
    /// A condition between its fields.
    pub rule: Option<fn(Json<'_>) -> bool>,
}

pub const CLOSED: Object = Object { fields: &[], open: false, whole: false, rule: None };
pub const OPEN: Object = Object { open: true, ..CLOSED };

impl Object {
    /// The field that a member is, in camelCase or in snake_case.
    pub fn field(&self, key: &str) -> Option<&'static (&'static str, Presence, Shape)> {
        let find = |name: &str| self.fields.iter().find(|field| field.0 == name);
        find(key).or_else(|| key.contains('_').then(|| find(&to_camel(key))).flatten())
    }
}

/// A cache is in use, or it is not.
pub fn cache_metadata(json: Json<'_>) -> bool {
    let is_there = |name: &&str| json.get(name).is_some_and(|value| !value.is_null());
    let of_use = ["cache_name", "expire_time", "invocations_used"];
    let counts = ["contents_count", "invocations_used"];
    matches!(of_use.iter().filter(|name| is_there(name)).count(), 0 | 3)
        && counts.iter().all(|name| json.get(name).is_none_or(|count| !count.text().starts_with('-')))
}

pub fn service_account(json: Json<'_>) -> bool {
    let is = |name: &str| json.get(name).and_then(Json::as_bool) == Some(true);
    let has_credential = json.get("serviceAccountCredential").is_some_and(|value| !value.is_null());
    let has_audience = json.get("audience").and_then(Json::as_str).is_some_and(|audience| !audience.is_empty());
    (is("useDefaultCredential") || has_credential) && (!is("useIdToken") || has_audience)
}
