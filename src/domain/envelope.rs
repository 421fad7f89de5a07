//! Reading a request body field by field (contract, section 2: "Input envelopes").
//!
//! camelCase and snake_case name the same field, `null` means absent, what is unknown is refused by name.
//! All faults of one body are gathered, so that a caller mends them in one go.

use std::borrow::Cow;

use super::json::{Json, JsonError, Kind};
use super::{FieldError, Rejected};

/// How deep a stored value may nest (contract, section 1: Fidelity).
pub const MAX_VALUE_DEPTH: usize = 64;

/// How deep a body may nest: a value of full depth inside of the deepest envelope,
/// `{"events":[{"actions":{"stateDelta":{"k":VALUE}}}]}`, with room to spare.
pub const MAX_BODY_DEPTH: usize = MAX_VALUE_DEPTH + 8;

/// Parses a body as it came from the wire.
///
/// # Errors
/// Not JSON, or JSON that breaks the rules of fidelity.
pub fn parse_body(body: &[u8]) -> Result<Json<'_>, Rejected> {
    Ok(Json::parse(body, MAX_BODY_DEPTH)?)
}

/// Refuses a value that nests deeper than a stored value may; the envelope around it does not count.
///
/// # Errors
/// The pointer of the first container that is too deep.
pub fn check_depth(value: Json<'_>, pointer: impl Fn() -> String) -> Result<(), Rejected> {
    if value.depth() <= MAX_VALUE_DEPTH {
        return Ok(());
    }
    match Json::parse(value.text().as_bytes(), MAX_VALUE_DEPTH) {
        Err(JsonError::Refused { pointer: below, what }) => Err(Rejected::field(format!("{}{below}", pointer()), what)),
        _ => Ok(()),
    }
}

/// The JSON pointer of a member of the container at `base` (RFC 6901).
pub fn pointer_to(base: &str, key: &str) -> String {
    format!("{base}/{}", key.replace('~', "~0").replace('/', "~1"))
}

/// `session_id` as `sessionId`; a name without underscores stays itself.
pub fn to_camel(name: &str) -> Cow<'_, str> {
    if !name.contains('_') {
        return Cow::Borrowed(name);
    }
    let mut out = String::with_capacity(name.len());
    let mut upper = false;
    for c in name.chars() {
        if c == '_' {
            upper = true;
        } else if std::mem::take(&mut upper) {
            out.push(c.to_ascii_uppercase());
        } else {
            out.push(c);
        }
    }
    Cow::Owned(out)
}

fn camel(name: Cow<'_, str>) -> Cow<'_, str> {
    match to_camel(&name) {
        Cow::Owned(camel) => Cow::Owned(camel),
        Cow::Borrowed(_) => name,
    }
}

/// The fields of one envelope. `take` each one that the request knows, then `finish`.
pub struct Fields<'a> {
    pointer: String,
    members: Vec<(Cow<'a, str>, Json<'a>)>,
    errors: Vec<FieldError>,
}

impl<'a> Fields<'a> {
    /// # Errors
    /// The value is not an object.
    pub fn of(json: Json<'a>, pointer: &str) -> Result<Self, Rejected> {
        let Some(object) = json.as_object() else {
            return Err(Rejected::field(pointer, "must be an object"));
        };
        let members = object.map(|member| (camel(member.key), member.value)).collect();
        Ok(Self { pointer: pointer.to_owned(), members, errors: Vec::new() })
    }

    /// The name of a field as errors show it: bare at the top of a body, a pointer below.
    pub fn path(&self, name: &str) -> String {
        if self.pointer.is_empty() { name.to_owned() } else { pointer_to(&self.pointer, name) }
    }

    /// The JSON pointer of a field, for what is read below it.
    pub fn pointer(&self, name: &str) -> String {
        pointer_to(&self.pointer, name)
    }

    pub fn refuse(&mut self, name: &str, message: impl Into<String>) {
        let field = self.path(name);
        self.errors.push(FieldError::new(field, message));
    }

    /// Takes a field as it is, `null` included. Both spellings at once are refused.
    pub fn take_nullable(&mut self, name: &str) -> Option<Json<'a>> {
        let at = self.members.iter().position(|(seen, _)| seen == name)?;
        let (_, value) = self.members.remove(at);
        if let Some(again) = self.members.iter().position(|(seen, _)| seen == name) {
            self.members.remove(again);
            self.refuse(name, "is given twice, in camelCase and in snake_case");
        }
        Some(value)
    }

    /// Takes a field; `null` is absent.
    pub fn take(&mut self, name: &str) -> Option<Json<'a>> {
        self.take_nullable(name).filter(|value| !value.is_null())
    }

    /// Takes a field that must be a string.
    pub fn take_str(&mut self, name: &str) -> Option<Cow<'a, str>> {
        let value = self.take(name)?;
        if value.kind() != Kind::String {
            self.refuse(name, "must be a string");
        }
        value.as_str()
    }

    /// Takes a field and reads it with `parse`, whose refusal is noted under the field's name.
    pub fn take_with<T>(&mut self, name: &str, parse: impl FnOnce(Json<'a>) -> Result<T, &'static str>) -> Option<T> {
        let value = self.take(name)?;
        parse(value).map_err(|message| self.refuse(name, message)).ok()
    }

    /// Takes a string field and reads it with `parse`.
    pub fn take_str_with<T>(&mut self, name: &str, parse: impl FnOnce(&str) -> Result<T, &'static str>) -> Option<T> {
        let text = self.take_str(name)?;
        parse(&text).map_err(|message| self.refuse(name, message)).ok()
    }

    /// Keeps the faults of something read below this envelope, and returns it if it had none.
    ///
    /// # Errors
    /// What is not a matter of fields (too large, not JSON) ends the reading at once.
    pub fn absorb<T>(&mut self, result: Result<T, Rejected>) -> Result<Option<T>, Rejected> {
        match result {
            Ok(value) => Ok(Some(value)),
            Err(Rejected::Invalid(errors)) => {
                self.errors.extend(errors);
                Ok(None)
            }
            Err(other) => Err(other),
        }
    }

    /// # Errors
    /// All that was refused, and every field that nobody took.
    pub fn finish(mut self) -> Result<(), Rejected> {
        for (name, _) in std::mem::take(&mut self.members) {
            self.refuse(&name, "is not a field of this request");
        }
        if self.errors.is_empty() { Ok(()) } else { Err(Rejected::Invalid(self.errors)) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(text: &'static str) -> Fields<'static> {
        Fields::of(Json::trusted(text), "").unwrap()
    }

    #[test]
    fn both_spellings_name_one_field() {
        assert_eq!(fields(r#"{"session_id":"a"}"#).take_str("sessionId").as_deref(), Some("a"));
        assert_eq!(fields(r#"{"sessionId":"a"}"#).take_str("sessionId").as_deref(), Some("a"));
        let mut both = fields(r#"{"sessionId":"a","session_id":null}"#);
        both.take("sessionId");
        assert_eq!(both.finish(), Err(Rejected::field("sessionId", "is given twice, in camelCase and in snake_case")));
    }

    #[test]
    fn null_is_absent_and_the_unknown_is_named() {
        let mut envelope = fields(r#"{"state":null,"bogus":1,"nested_bogus":2}"#);
        assert!(envelope.take("state").is_none());
        let Err(Rejected::Invalid(errors)) = envelope.finish() else { panic!("refused") };
        let names: Vec<&str> = errors.iter().map(|e| e.field.as_str()).collect();
        assert_eq!(names, ["bogus", "nestedBogus"]);
    }

    #[test]
    fn only_the_value_counts_for_depth() {
        let nested = |depth: usize| format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        assert_eq!(check_depth(Json::trusted(&nested(64)), String::new), Ok(()));
        let Err(Rejected::Invalid(errors)) = check_depth(Json::trusted(&nested(65)), || "/k".into()) else {
            panic!("refused")
        };
        assert_eq!(errors[0].field, format!("/k{}", "/0".repeat(64)));
    }
}
