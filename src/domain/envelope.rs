//! Reading a request body field by field (`openapi.yaml`, "Conventions").
//!
//! camelCase and snake_case name the same field, `null` means absent, and unknown fields are refused by name. All faults of one
//! body are collected, so that a client can correct them at once.

use std::borrow::Cow;
use std::ops::RangeBounds;

use super::json::{Json, JsonError, Kind, Member};
use super::{FieldError, Rejected};

/// How deep a stored value may nest (README, "Fidelity").
pub const MAX_VALUE_DEPTH: usize = 64;

/// How deep a body may nest: a value of full depth in the deepest envelope,
/// `{"events":[{"actions":{"stateDelta":{"k":VALUE}}}]}`, and some more.
pub const MAX_BODY_DEPTH: usize = MAX_VALUE_DEPTH + 8;

/// Parses a raw body.
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
    if !value.may_nest_deeper_than(MAX_VALUE_DEPTH) || value.depth() <= MAX_VALUE_DEPTH {
        return Ok(());
    }
    match Json::parse(value.text().as_bytes(), MAX_VALUE_DEPTH) {
        Err(JsonError::Refused { pointer: below, what }) => Err(Rejected::field(format!("{}{below}", pointer()), what)),
        _ => Ok(()),
    }
}

/// The JSON pointer of a member of the container at `base` (RFC 6901).
pub fn pointer_to(base: &str, key: &str) -> String {
    if key.contains(['~', '/']) {
        return format!("{base}/{}", key.replace('~', "~0").replace('/', "~1"));
    }
    [base, "/", key].concat()
}

/// `session_id` as `sessionId`; a name that is not snake_case (`session_Id`, `id_`, `_id`, `session__id`) is unchanged.
pub fn to_camel(name: &str) -> Cow<'_, str> {
    let is_word = |word: &str| !word.is_empty() && word.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit());
    if !name.contains('_') || !name.split('_').all(is_word) {
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

/// The known name that is most similar to a misspelt one: the first of those with the fewest changes, at most two, and fewer for
/// short names.
pub fn meant<'k>(name: &str, known: impl IntoIterator<Item = &'k str>) -> Option<&'k str> {
    const LONGEST: usize = 64;
    if name.len() > LONGEST {
        return None;
    }
    let text = to_camel(name).to_lowercase();
    let given: Vec<char> = text.chars().collect();
    let near = known.into_iter().filter_map(|known| {
        let lower = known.to_lowercase();
        let changes = changes(&given, &lower.chars().collect::<Vec<_>>());
        // Not `state` for `myState`.
        if changes > 1 && text.contains(&lower) {
            return None;
        }
        let most = if known.len().min(given.len()) < 8 { 1 } else { 2 };
        (changes <= most && changes < known.len().div_ceil(2)).then_some((changes, known))
    });
    near.min_by_key(|(changes, _)| *changes).map(|(_, known)| known)
}

/// The edit distance of two texts: added, removed, replaced, and swapped characters.
fn changes(from: &[char], to: &[char]) -> usize {
    let mut rows: Vec<Vec<usize>> = vec![(0..=to.len()).collect()];
    for i in 1..=from.len() {
        let mut row = vec![i];
        for j in 1..=to.len() {
            let replaced = rows[i - 1][j - 1] + usize::from(from[i - 1] != to[j - 1]);
            let mut least = replaced.min(rows[i - 1][j] + 1).min(row[j - 1] + 1);
            if i > 1 && j > 1 && from[i - 1] == to[j - 2] && from[i - 2] == to[j - 1] {
                least = least.min(rows[i - 2][j - 2] + 1);
            }
            row.push(least);
        }
        rows.push(row);
    }
    rows[from.len()][to.len()]
}

/// What others call fields of ours.
const ELSEWHERE: [(&str, &[&str]); 2] =
    [("sessionId", &["id", "session"]), ("displayName", &["name", "title", "display"])];

struct Field<'a> {
    /// In camelCase.
    name: String,
    /// As the client wrote it.
    given: Cow<'a, str>,
    value: Json<'a>,
}

/// The fields of one envelope. `take` each field that the request knows, then `finish`.
pub struct Fields<'a> {
    pointer: String,
    members: Vec<Field<'a>>,
    /// The names that were taken, to suggest one for an unknown name.
    known: Vec<Box<str>>,
    errors: Vec<FieldError>,
}

impl<'a> Fields<'a> {
    /// # Errors
    /// The value is not an object.
    pub fn of(json: Json<'a>, pointer: &str) -> Result<Self, Rejected> {
        let Some(object) = json.as_object() else {
            return Err(Rejected::field(pointer, "must be an object"));
        };
        let field = |member: Member<'a>| Field {
            name: to_camel(&member.key).into_owned(),
            given: member.key,
            value: member.value,
        };
        Ok(Self {
            pointer: pointer.to_owned(),
            members: object.map(field).collect(),
            known: Vec::new(),
            errors: Vec::new(),
        })
    }

    /// The name of a field in errors: the bare name at the top of a body, a pointer below.
    pub fn path(&self, name: &str) -> String {
        if self.pointer.is_empty() { name.to_owned() } else { pointer_to(&self.pointer, name) }
    }

    /// The JSON pointer of a field.
    pub fn pointer(&self, name: &str) -> String {
        pointer_to(&self.pointer, name)
    }

    pub fn refuse(&mut self, name: &str, message: impl Into<String>) {
        let field = self.path(name);
        self.errors.push(FieldError::new(field, message));
    }

    /// Whether a fault of this field was noted.
    fn is_refused(&self, name: &str) -> bool {
        let path = self.path(name);
        self.errors.iter().any(|error| error.field == path)
    }

    /// Takes a field, `null` included. Both spellings at once are refused.
    pub fn take_nullable(&mut self, name: &str) -> Option<Json<'a>> {
        if !self.members.is_empty() {
            self.known.push(name.into());
        }
        let at = self.members.iter().position(|field| field.name == name)?;
        // Keeps the order, in which unknown fields are reported.
        let taken = self.members.remove(at);
        if let Some(again) = self.members.iter().position(|field| field.name == name) {
            self.members.remove(again);
            self.refuse(name, "is given twice, in camelCase and in snake_case");
        }
        Some(taken.value)
    }

    /// Takes a field; `null` is absent.
    pub fn take(&mut self, name: &str) -> Option<Json<'a>> {
        self.take_nullable(name).filter(|value| !value.is_null())
    }

    /// Takes a field and reads it with `parse`.
    pub fn take_with<T, M: Into<String>>(
        &mut self,
        name: &str,
        parse: impl FnOnce(Json<'a>) -> Result<T, M>,
    ) -> Option<T> {
        let value = self.take(name)?;
        parse(value).map_err(|message| self.refuse(name, message)).ok()
    }

    /// Takes a field of which all is read below this envelope, at the pointer that `read` is given.
    ///
    /// # Errors
    /// As of [`Fields::absorb`].
    pub fn take_below<T>(
        &mut self,
        name: &str,
        read: impl FnOnce(Json<'a>, &str) -> Result<T, Rejected>,
    ) -> Result<Option<T>, Rejected> {
        let taken = self.take(name);
        self.read_below(name, taken, read)
    }

    /// As [`Fields::take_below`], of a field that was taken before.
    ///
    /// # Errors
    /// As of [`Fields::absorb`].
    pub fn read_below<T>(
        &mut self,
        name: &str,
        taken: Option<Json<'a>>,
        read: impl FnOnce(Json<'a>, &str) -> Result<T, Rejected>,
    ) -> Result<Option<T>, Rejected> {
        let Some(value) = taken else { return Ok(None) };
        let read = read(value, &self.pointer(name));
        self.absorb(read)
    }

    /// Takes a field that must be a boolean.
    pub fn take_bool(&mut self, name: &str) -> Option<bool> {
        self.take_with(name, |value| value.as_bool().ok_or("must be true or false"))
    }

    /// Refuses a field that is missing.
    pub fn require<T>(&mut self, name: &str, taken: &Option<T>) {
        if taken.is_none() && !self.is_refused(name) {
            self.refuse(name, "is required");
        }
    }

    /// Takes a field that must be an integer of this range; else refuses it with this message.
    pub fn take_integer(&mut self, name: &str, range: impl RangeBounds<i64>, message: &'static str) -> Option<i64> {
        self.take_with(name, |value| value.as_integer().filter(|number| range.contains(number)).ok_or(message))
    }

    /// Takes a field that must be a string.
    pub fn take_str(&mut self, name: &str) -> Option<Cow<'a, str>> {
        let value = self.take(name)?;
        if value.kind() != Kind::String {
            self.refuse(name, "must be a string");
        }
        value.as_str()
    }

    /// Takes a string field and reads it with `parse`.
    pub fn take_str_with<T>(&mut self, name: &str, parse: impl FnOnce(&str) -> Result<T, &'static str>) -> Option<T> {
        let text = self.take_str(name)?;
        parse(&text).map_err(|message| self.refuse(name, message)).ok()
    }

    /// Takes a string of so many bytes; else refuses it with this message.
    pub fn take_text(&mut self, name: &str, bytes: impl RangeBounds<usize>, message: &'static str) -> Option<String> {
        self.take_str_with(name, |text| bytes.contains(&text.len()).then(|| text.to_owned()).ok_or(message))
    }

    /// Adds the faults of something read below this envelope; returns it if it had none.
    ///
    /// # Errors
    /// A fault that is not about a field (too large, not JSON) is returned at once.
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

    /// Ignores the fields that were not taken.
    pub fn ignore_others(&mut self) {
        self.members.clear();
    }

    /// # Errors
    /// All faults, also of every field that was not taken.
    pub fn finish(mut self) -> Result<(), Rejected> {
        for field in std::mem::take(&mut self.members) {
            let known = || self.known.iter().map(|name| &**name);
            let elsewhere = |name: &str| {
                let (ours, _) = ELSEWHERE.iter().find(|(_, theirs)| theirs.contains(&name))?;
                known().find(|known| known == ours)
            };
            let hint = match meant(&field.given, known()).or_else(|| elsewhere(&field.given)) {
                Some(name) => format!(": did you mean `{name}`?"),
                // A change of state is asked for as if it were the state.
                None if known().any(|known| known == "stateDelta") && !known().any(|known| known == "content") => {
                    ": a key of state belongs into `stateDelta`".to_owned()
                }
                None => String::new(),
            };
            self.refuse(&field.given, format!("is not a field of this request{hint}"));
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
    fn only_snake_case_is_a_spelling_of_camel_case() {
        for (name, camel) in [("session_id", "sessionId"), ("a_b_c", "aBC"), ("sessionId", "sessionId"), ("a", "a")] {
            assert_eq!(to_camel(name), camel);
        }
        for other in ["session_Id", "Session_id", "id_", "_id", "session__id", "_", "", "é_a"] {
            assert_eq!(to_camel(other), other);
        }
    }

    #[test]
    fn null_is_absent_and_the_unknown_is_named() {
        let mut envelope = fields(r#"{"state":null,"bogus":1,"nested_bogus":2}"#);
        assert!(envelope.take("state").is_none());
        let Err(Rejected::Invalid(errors)) = envelope.finish() else { panic!("refused") };
        let names: Vec<&str> = errors.iter().map(|e| e.field.as_str()).collect();
        assert_eq!(names, ["bogus", "nested_bogus"]);
    }

    #[test]
    fn a_misspelt_name_gets_what_was_meant() {
        let known = ["sessionId", "state", "events", "displayName", "labels", "ttl", "expireTime"];
        for (given, wanted) in [
            ("sesionId", Some("sessionId")),
            ("session_ids", Some("sessionId")),
            ("sessoinID", Some("sessionId")),
            ("evnets", Some("events")),
            ("State", Some("state")),
            ("tll", Some("ttl")),
            ("expiry_time", Some("expireTime")),
            ("bogus", None),
            ("myDisplayName", None),
            ("name", None),
            ("", None),
        ] {
            assert_eq!(meant(given, known), wanted, "{given}");
        }
        assert_eq!(meant(&"x".repeat(100_000), known), None);
        let mut envelope = fields(r#"{"sate":1,"bogus":2}"#);
        envelope.take("state");
        let Err(Rejected::Invalid(errors)) = envelope.finish() else { panic!("refused") };
        assert_eq!(errors[0].message, "is not a field of this request: did you mean `state`?");
        assert_eq!(errors[1].message, "is not a field of this request");
    }

    #[test]
    fn what_others_call_a_field_is_known() {
        let refused = |mut envelope: Fields<'static>, known: &[&str]| {
            for name in known {
                envelope.take(name);
            }
            let Err(Rejected::Invalid(errors)) = envelope.finish() else { panic!("refused") };
            errors.into_iter().map(|error| error.message).collect::<Vec<_>>()
        };
        let create = ["sessionId", "state", "displayName"];
        let messages = refused(fields(r#"{"id":"a","title":"t","bogus":1}"#), &create);
        let unknown = "is not a field of this request";
        assert_eq!(
            messages,
            [
                format!("{unknown}: did you mean `sessionId`?"),
                format!("{unknown}: did you mean `displayName`?"),
                unknown.to_owned()
            ]
        );
        let messages = refused(fields(r#"{"step":2,"stateDetla":{}}"#), &["stateDelta", "stateOps"]);
        assert_eq!(messages[0], format!("{unknown}: a key of state belongs into `stateDelta`"));
        assert_eq!(messages[1], format!("{unknown}: did you mean `stateDelta`?"));
        assert_eq!(refused(fields(r#"{"id":"a"}"#), &["toRevision"]), [unknown]);
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
