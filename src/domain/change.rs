//! Changes of state as requests write them: `stateDelta`, `stateOps` and `preconditions`.

use std::borrow::Cow;

use super::envelope::{Fields, check_depth, pointer_to};
use super::json::{Json, ObjectText, RawJson};
use super::ops::Op;
use super::scope::{Scope, check_key, split};
use super::{FieldError, Limits, Rejected};

/// A key's new value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Change {
    pub scope: Scope,
    pub key: Box<str>,
    pub value: RawJson,
}

/// An operator on a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Operation {
    pub scope: Scope,
    pub key: Box<str>,
    pub op: Op,
}

/// A condition on a key, checked right before the change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Precondition {
    pub scope: Scope,
    pub key: Box<str>,
    pub condition: Condition,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Condition {
    /// Neither set nor removed since its session, or its shared scope, was at this revision.
    Unchanged {
        since: i64,
    },
    Exists(bool),
    /// By JSON equality; a missing key equals nothing.
    Equals(RawJson),
}

/// The changes of state of one event, or of one change of a scope on its own. If all preconditions hold, it applies `sets` and
/// then the operators, in order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Edit {
    pub preconditions: Vec<Precondition>,
    pub sets: Vec<Change>,
    pub ops: Vec<Operation>,
}

impl Edit {
    /// Whether it depends on the scope's state, or changes it.
    pub fn touches(&self, scope: Scope) -> bool {
        self.scopes().any(|touched| touched == scope)
    }

    /// The scopes of the keys that it names.
    pub fn scopes(&self) -> impl Iterator<Item = Scope> {
        self.named().map(|(scope, _)| scope)
    }

    /// The keys that it names, without their prefixes.
    pub fn named(&self) -> impl Iterator<Item = (Scope, &str)> {
        let sets = self.sets.iter().map(|set| (set.scope, &*set.key));
        let ops = self.ops.iter().map(|op| (op.scope, &*op.key));
        let preconditions = self.preconditions.iter().map(|precondition| (precondition.scope, &*precondition.key));
        sets.chain(ops).chain(preconditions)
    }

    /// The keys that it names, as a request of these keys writes them.
    pub fn names(&self, keys: Keys) -> Vec<String> {
        self.named().map(|(scope, key)| keys.show(scope, key)).collect()
    }

    /// How many keys it names, repetitions included.
    pub fn keys(&self) -> usize {
        self.preconditions.len() + self.sets.len() + self.ops.len()
    }

    /// The keys on whose values it depends; with a revision, if it asks whether the key has changed since.
    pub fn reads(&self) -> impl Iterator<Item = (Scope, &str, Option<i64>)> {
        let ops = self.ops.iter().filter(|op| op.op.reads()).map(|op| (op.scope, &*op.key, None));
        ops.chain(self.preconditions.iter().map(|precondition| {
            let since = match precondition.condition {
                Condition::Unchanged { since } => Some(since),
                Condition::Exists(_) | Condition::Equals(_) => None,
            };
            (precondition.scope, &*precondition.key, since)
        }))
    }
}

/// An edit without an event yet, and the client's own text, byte for byte, in which its event will show it.
#[derive(Clone, Default)]
pub struct WrittenEdit<'a> {
    pub edit: Edit,
    /// `stateDelta` as given.
    pub(super) delta: Option<Json<'a>>,
    /// `stateOps` and `preconditions` as the event shows them.
    pub(super) ops: Option<Cow<'a, str>>,
    pub(super) preconditions: Option<Cow<'a, str>>,
}

impl<'a> WrittenEdit<'a> {
    /// Takes `stateDelta`, `stateOps` and `preconditions` from a request. Faults of their members are added to `fields`.
    ///
    /// # Errors
    /// Over a limit.
    pub fn take(fields: &mut Fields<'a>, keys: Keys, limits: &Limits) -> Result<Self, Rejected> {
        let (delta, ops) = (fields.take("stateDelta"), fields.take("stateOps"));
        let preconditions = fields.take("preconditions");
        let sets = fields.read_below("stateDelta", delta, |delta, at| parse_delta(delta, keys, at, limits))?;
        let operators = fields.read_below("stateOps", ops, |ops, at| parse_ops(ops, keys, at, limits))?;
        let conditions = fields
            .read_below("preconditions", preconditions, |list, at| parse_preconditions(list, keys, at, limits))?;
        let edit = Edit {
            preconditions: conditions.unwrap_or_default(),
            sets: sets.unwrap_or_default(),
            ops: operators.unwrap_or_default(),
        };
        limits.check_keys(edit.keys())?;
        limits.writer.check_keys(edit.named())?;
        let text = |list: Option<Json<'a>>| list.map(|list| Cow::Borrowed(list.text()));
        Ok(Self { edit, delta, ops: text(ops), preconditions: text(preconditions) })
    }

    /// A `stateDelta` alone, which stands at `pointer`; its keys have prefixes.
    ///
    /// # Errors
    /// As [`parse_delta`]; too many keys.
    pub fn of_delta(delta: Json<'a>, pointer: &str, limits: &Limits) -> Result<Self, Rejected> {
        let sets = parse_delta(delta, Keys::Merged, pointer, limits)?;
        limits.check_keys(sets.len())?;
        Ok(Self { edit: Edit { sets, ..Edit::default() }, delta: Some(delta), ..Self::default() })
    }

    /// Sets one key.
    pub fn set(scope: Scope, key: &str, value: RawJson) -> Self {
        let sets = vec![Change { scope, key: key.into(), value }];
        Self { edit: Edit { sets, ..Edit::default() }, ..Self::default() }
    }

    /// Sets some session keys, and removes others.
    pub fn restore(sets: Vec<(&str, RawJson)>, removed: Vec<&str>) -> Self {
        let scope = Scope::Session;
        let sets = sets.into_iter().map(|(key, value)| Change { scope, key: key.into(), value }).collect();
        let Self { edit, ops, .. } = Self::remove_all(removed.into_iter().map(|key| (scope, key)));
        Self { edit: Edit { sets, ..edit }, ops, ..Self::default() }
    }

    /// Removes some keys.
    pub fn remove_all<'k>(keys: impl IntoIterator<Item = (Scope, &'k str)>) -> Self {
        let (mut ops, mut written) = (Vec::new(), String::new());
        for (scope, key) in keys {
            ops.push(Operation { scope, key: key.into(), op: Op::Remove });
            written.push(if written.is_empty() { '[' } else { ',' });
            written.push_str(&removal(&Keys::Merged.show(scope, key)));
        }
        let written = (!written.is_empty()).then(|| Cow::Owned(written + "]"));
        Self { edit: Edit { ops, ..Edit::default() }, ops: written, ..Self::default() }
    }

    /// Removes one key.
    pub fn remove(scope: Scope, key: &str) -> Self {
        Self::remove_all([(scope, key)])
    }
}

/// The operator that removes a key, given as the merged state shows it.
pub(super) fn removal(key: &str) -> String {
    let mut op = ObjectText::default();
    op.push_str("op", "remove");
    op.push_str("key", key);
    op.close()
}

/// How a request writes keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keys {
    /// With prefixes, as the merged state shows them.
    Merged,
    /// Bare: all are of this scope.
    Of(Scope),
}

impl Keys {
    /// The scope and the key as stored; `None` for a `temp:` key.
    ///
    /// # Errors
    /// The broken rule, in words for a client.
    pub fn read(self, key: &str) -> Result<Option<(Scope, &str)>, &'static str> {
        let split = split(key);
        check_key(split.map_or(key, |(_, stored)| stored))?;
        match (self, split) {
            (Self::Merged, split) => Ok(split),
            (Self::Of(scope), Some((Scope::Session, key))) => Ok(Some((scope, key))),
            (Self::Of(_), _) => Err("keys have no prefix here: `app:`, `user:` and `temp:` are refused"),
        }
    }

    /// The key as the request writes it.
    pub fn show(self, scope: Scope, key: &str) -> String {
        match self {
            Self::Merged => format!("{}{key}", scope.prefix()),
            Self::Of(_) => key.to_owned(),
        }
    }
}

/// Reads a `stateDelta` (or initial state): every value whole, `temp:` keys checked and dropped.
///
/// # Errors
/// Each fault, at `pointer` or below: not an object, a key or value over its limit, nesting over 64, a prefix where none is
/// allowed.
pub fn parse_delta(json: Json<'_>, keys: Keys, pointer: &str, limits: &Limits) -> Result<Vec<Change>, Rejected> {
    let Some(members) = json.as_object() else {
        return Err(Rejected::field(pointer, "must be an object"));
    };
    let mut changes = Vec::new();
    let mut errors = Vec::new();
    for member in members {
        match keys.read(&member.key) {
            Ok(found) => {
                check_value(member.value, || pointer_to(pointer, &member.key), limits)?;
                changes.extend(found.map(|(scope, key)| Change {
                    scope,
                    key: key.into(),
                    value: member.value.to_raw(),
                }));
            }
            // A key that is too long would make the pointer too long.
            Err(message) if check_key(&member.key).is_err() => errors.push(FieldError::new(pointer, message)),
            Err(message) => errors.push(FieldError::new(pointer_to(pointer, &member.key), message)),
        }
    }
    limits.writer.check_keys(changes.iter().map(|change| (change.scope, &*change.key)))?;
    if errors.is_empty() { Ok(changes) } else { Err(Rejected::Invalid(errors)) }
}

/// Reads `stateOps`: a list of `{op, key, value?}`.
///
/// # Errors
/// The pointer of each entry that is not an operator, lacks a fitting operand, or names an invalid key.
pub fn parse_ops(json: Json<'_>, keys: Keys, pointer: &str, limits: &Limits) -> Result<Vec<Operation>, Rejected> {
    parse_list(json, pointer, "must be an array", |element, at| {
        let entry = Entry::parse(element, at, keys, &["op", "value"])?;
        let Some(name) = entry.get("op").and_then(Json::as_str) else {
            return Err(Rejected::field(at, "`op` must name an operator"));
        };
        let value = entry.get("value");
        if let Some(value) = value {
            check_value(value, || format!("{at}/value"), limits)?;
        }
        let op = Op::parse(&name, value).map_err(|message| {
            Rejected::field(at, format!("the key `{}`: {message}", keys.show(entry.scope, &entry.key)))
        })?;
        Ok(Operation { scope: entry.scope, key: entry.key, op })
    })
}

/// Reads `preconditions`: a list of `{key, revision}`, `{key, exists}` or `{key, equals}`.
///
/// # Errors
/// The pointer of each entry that is none of these, or names an invalid key.
pub fn parse_preconditions(
    json: Json<'_>,
    keys: Keys,
    pointer: &str,
    limits: &Limits,
) -> Result<Vec<Precondition>, Rejected> {
    parse_list(json, pointer, "must be an array", |element, at| {
        let entry = Entry::parse(element, at, keys, &["revision", "exists", "equals"])?;
        let fault = |message: &str| Err(Rejected::field(at, message));
        let condition = match entry.others.as_slice() {
            [(name, value)] if name == "revision" => match value.as_count() {
                Some(since) => Condition::Unchanged { since },
                None => return fault("`revision` must be an integer of at least 0"),
            },
            [(name, value)] if name == "exists" => match value.as_bool() {
                Some(exists) => Condition::Exists(exists),
                None => return fault("`exists` must be a boolean"),
            },
            [(_, value)] => {
                check_value(*value, || format!("{at}/equals"), limits)?;
                Condition::Equals(value.to_raw())
            }
            _ => return fault("takes `key` and one of `revision`, `exists` and `equals`"),
        };
        Ok(Precondition { scope: entry.scope, key: entry.key, condition })
    })
}

/// An object with a `key` and other members with known names.
struct Entry<'a> {
    scope: Scope,
    key: Box<str>,
    others: Vec<(Cow<'a, str>, Json<'a>)>,
}

impl<'a> Entry<'a> {
    fn parse(json: Json<'a>, at: &str, keys: Keys, known: &[&str]) -> Result<Self, Rejected> {
        let fault = |message: String| Err(Rejected::field(at, message));
        let Some(members) = json.as_object() else {
            return fault("must be an object".into());
        };
        let (mut key, mut others) = (None, Vec::new());
        for member in members {
            match &*member.key {
                "key" => key = member.value.as_str(),
                name if known.contains(&name) => others.push((member.key, member.value)),
                _ => return fault(format!("has a member that is none of `key`, `{}`", known.join("`, `"))),
            }
        }
        let Some(key) = key else {
            return fault("`key` must be a string".into());
        };
        match keys.read(&key) {
            Ok(Some((scope, key))) => Ok(Self { scope, key: key.into(), others }),
            Ok(None) => fault("`temp:` keys are not stored, so there is nothing to look at or to change".into()),
            Err(message) => fault(message.into()),
        }
    }

    fn get(&self, name: &str) -> Option<Json<'a>> {
        self.others.iter().find(|(known, _)| known == name).map(|(_, value)| *value)
    }
}

/// Reads the elements of an array, and collects their faults; `message` is for what is none.
pub(super) fn parse_list<T>(
    json: Json<'_>,
    pointer: &str,
    message: &str,
    mut parse: impl FnMut(Json<'_>, &str) -> Result<T, Rejected>,
) -> Result<Vec<T>, Rejected> {
    let Some(elements) = json.as_array() else {
        return Err(Rejected::field(pointer, message));
    };
    let (mut list, mut errors) = (Vec::new(), Vec::new());
    for (n, element) in elements.enumerate() {
        match parse(element, &format!("{pointer}/{n}")) {
            Ok(parsed) => list.push(parsed),
            Err(Rejected::Invalid(found)) => errors.extend(found),
            Err(other) => return Err(other),
        }
    }
    if errors.is_empty() { Ok(list) } else { Err(Rejected::Invalid(errors)) }
}

/// Checks one state value: its size and its nesting.
///
/// # Errors
/// [`Rejected`], with the value's pointer.
pub fn check_value(value: Json<'_>, pointer: impl Fn() -> String, limits: &Limits) -> Result<(), Rejected> {
    if value.text().len() > limits.value_bytes {
        return Err(value_too_large(&pointer(), limits));
    }
    check_depth(value, pointer)
}

/// The error for a value over its limit.
pub fn value_too_large(pointer: &str, limits: &Limits) -> Rejected {
    Rejected::too_large("value", format!("the value at `{pointer}` is larger than {} bytes", limits.value_bytes))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn delta(text: &str) -> Result<Vec<Change>, Rejected> {
        parse_delta(Json::trusted(text), Keys::Merged, "/stateDelta", &Limits::default())
    }

    #[test]
    fn limits_name_the_place() {
        assert!(delta(&format!("{{\"app:{}\":1}}", "k".repeat(512))).is_ok());
        assert!(matches!(delta(&format!("{{\"{}\":1}}", "k".repeat(513))), Err(Rejected::Invalid(_))));
        let deep = format!("{{\"a/b\":{}{}}}", "[".repeat(65), "]".repeat(65));
        let at = format!("/stateDelta/a~1b{}", "/0".repeat(64));
        assert!(matches!(delta(&deep), Err(Rejected::Invalid(e)) if e[0].field == at));
        let small = Limits { value_bytes: 3, ..Limits::default() };
        let large = parse_delta(Json::trusted("{\"k\":1234}"), Keys::Merged, "/s", &small);
        assert!(matches!(large, Err(Rejected::TooLarge { detail, .. }) if detail.contains("/s/k")));
        assert_eq!(delta("[]"), Err(Rejected::field("/stateDelta", "must be an object")));
    }

    #[test]
    fn a_scope_of_its_own_takes_no_prefix() {
        let parse = |text: &str| parse_delta(Json::trusted(text), Keys::Of(Scope::User), "", &Limits::default());
        assert_eq!(parse("{\"a\":1,\"temp\":2}").unwrap().len(), 2);
        for key in ["app:a", "user:a", "temp:a"] {
            assert!(matches!(parse(&format!("{{\"{key}\":1}}")), Err(Rejected::Invalid(_))), "{key}");
        }
    }

    #[test]
    fn operators_and_preconditions_are_lists_of_small_objects() {
        let ops = |text: &str| parse_ops(Json::trusted(text), Keys::Merged, "/stateOps", &Limits::default());
        let conditions = |text: &str| parse_preconditions(Json::trusted(text), Keys::Merged, "/p", &Limits::default());
        let read = ops(r#"[{"op":"remove","key":"user:a"},{"value":null,"key":"b","op":"set"}]"#).unwrap();
        assert_eq!((read[0].scope, &*read[0].key, &read[0].op), (Scope::User, "a", &Op::Remove));
        assert_eq!(read[1].op, Op::Set(RawJson::trusted("null")));
        for bad in [
            r#"{"key":"k"}"#,
            r#"{"op":"remove"}"#,
            r#"{"op":"remove","key":7}"#,
            r#"{"op":"remove","key":"temp:a"}"#,
            r#"{"op":"remove","key":"a\u0000"}"#,
            r#"{"op":"increment","key":"a"}"#,
            r#"{"op":"bogus","key":"a","value":1}"#,
            r#"{"op":"set","key":"a","value":1,"extra":1}"#,
            "7",
        ] {
            let Err(Rejected::Invalid(errors)) = ops(&format!(r#"[{{"op":"remove","key":"k"}},{bad}]"#)) else {
                panic!("{bad}")
            };
            assert_eq!((errors.len(), errors[0].field.as_str()), (1, "/stateOps/1"), "{bad}");
        }
        let read = conditions(r#"[{"key":"a","revision":3},{"exists":false,"key":"b"},{"key":"c","equals":null}]"#);
        let read: Vec<_> = read.unwrap().into_iter().map(|precondition| precondition.condition).collect();
        let expected =
            [Condition::Unchanged { since: 3 }, Condition::Exists(false), Condition::Equals(RawJson::trusted("null"))];
        assert_eq!(read, expected);
        for bad in [
            r#"{"key":"a"}"#,
            r#"{"key":"a","revision":-1}"#,
            r#"{"key":"a","revision":"1"}"#,
            r#"{"key":"a","revision":1.5}"#,
            r#"{"key":"a","exists":1}"#,
            r#"{"key":"a","exists":true,"revision":1}"#,
            r#"{"exists":true}"#,
            r#"{"key":"temp:a","exists":true}"#,
            r#"{"key":"a","bogus":1}"#,
        ] {
            let Err(Rejected::Invalid(errors)) = conditions(&format!("[{bad}]")) else { panic!("{bad}") };
            assert_eq!(errors[0].field, "/p/0", "{bad}");
        }
    }

    proptest! {
        #[test]
        fn a_delta_keeps_all_but_temp(keys in prop::collection::btree_set("(app:|user:|temp:)?[a-z\"\\\\é]{0,6}", 0..20)) {
            let mut text = String::from("{");
            for (n, key) in keys.iter().enumerate() {
                if n > 0 { text.push(','); }
                super::super::json::push_string(&mut text, key);
                text.push_str(&format!(":{n}"));
            }
            text.push('}');
            let changes = delta(&text).unwrap();
            let expected: Vec<String> = keys.iter().filter(|k| !k.starts_with("temp:")).cloned().collect();
            let shown: Vec<String> = changes.iter().map(|c| format!("{}{}", c.scope.prefix(), c.key)).collect();
            prop_assert_eq!(shown, expected);
        }
    }
}
