//! Operators: compute the new value of a state key from its current value (docs/tour.md, "Change without reading first").
//!
//! Text in, text out: everything that an operator does not change keeps its bytes.

use std::borrow::Cow;
use std::cmp::Ordering;
use std::collections::{HashMap, HashSet};

use super::json::{Json, Kind, Member, ObjectText, RawJson};
use super::number;

/// A change of the value of one state key.
///
/// Operands have the type that [`Op::parse`] asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Op {
    /// Replaces the value, by `null` too.
    Set(RawJson),
    Remove,
    /// Adds a number; an absent value counts as 0. See [`number::sum`].
    Increment(RawJson),
    /// Adds the elements of an array at the end; an absent value counts as `[]`.
    Append(RawJson),
    /// As `Append`, without elements that are JSON-equal to a present or just added one.
    Union(RawJson),
    /// Replaces an absent or smaller number, as [`number::compare`] orders them.
    Max(RawJson),
    /// Replaces an absent or greater number.
    Min(RawJson),
    /// Merges an object into an object (RFC 7396); an absent value counts as `{}`.
    Merge(RawJson),
}

impl Op {
    /// Reads an operator from its name and operand. An absent operand is `None`; `null` is a value that `set` takes.
    ///
    /// The broken rule, in words for a client: an unknown name; an operand that is missing, of the wrong type, or given to
    /// `remove`.
    pub fn parse(name: &str, value: Option<Json<'_>>) -> Result<Self, &'static str> {
        let operand = |kind: Kind, what: &'static str| match value {
            Some(value) if value.kind() == kind => Ok(value.to_raw()),
            _ => Err(what),
        };
        match name {
            "set" => value.map(|value| Self::Set(value.to_raw())).ok_or("`set` needs a `value`"),
            "remove" if value.is_none_or(Json::is_null) => Ok(Self::Remove),
            "remove" => Err("`remove` takes no `value`"),
            "increment" => operand(Kind::Number, "`increment` needs a number as its `value`").map(Self::Increment),
            "append" => operand(Kind::Array, "`append` needs an array as its `value`").map(Self::Append),
            "union" => operand(Kind::Array, "`union` needs an array as its `value`").map(Self::Union),
            "max" => operand(Kind::Number, "`max` needs a number as its `value`").map(Self::Max),
            "min" => operand(Kind::Number, "`min` needs a number as its `value`").map(Self::Min),
            "merge" => operand(Kind::Object, "`merge` needs an object as its `value`").map(Self::Merge),
            _ => Err("`op` must be `set`, `remove`, `increment`, `append`, `union`, `max`, `min` or `merge`"),
        }
    }

    /// The operand that is combined with the current value; `None` if it ignores that value.
    pub fn operand(&self) -> Option<&RawJson> {
        match self {
            Self::Set(_) | Self::Remove => None,
            Self::Increment(operand)
            | Self::Append(operand)
            | Self::Union(operand)
            | Self::Max(operand)
            | Self::Min(operand)
            | Self::Merge(operand) => Some(operand),
        }
    }

    /// Whether its effect depends on the current value. That of `remove` does: removing a missing key changes nothing.
    pub fn reads(&self) -> bool {
        !matches!(self, Self::Set(_))
    }

    /// The resulting value, `None` if the key is removed; borrowed where the operand itself becomes the value.
    ///
    /// It is not much longer than `current` and the operand together (see [`number::sum`]) and nests no deeper than either. Takes
    /// O(n log n) in the lengths of both; `merge` takes this for each level of objects in the operand.
    ///
    /// The broken rule, in words for a client: the current value has the wrong type, or the sum cannot be written (see
    /// [`number::sum`]).
    pub fn apply(&self, current: Option<Json<'_>>) -> Result<Option<Cow<'_, RawJson>>, Cow<'static, str>> {
        let there = |name: &str, kind: Kind| match current {
            Some(value) if value.kind() != kind => {
                let (kind, found) = (kind.with_article(), value.kind().with_article());
                Err(Cow::Owned(format!("`{name}` needs {kind}, and the value that is there is {found}")))
            }
            _ => Ok(current),
        };
        let after = match self {
            Self::Set(value) => Cow::Borrowed(value),
            Self::Remove => return Ok(None),
            Self::Increment(by) => {
                owned(number::sum(there("increment", Kind::Number)?.map_or("0", Json::text), by.text())?)
            }
            Self::Append(more) => append(there("append", Kind::Array)?, more),
            Self::Union(more) => union(there("union", Kind::Array)?, more),
            Self::Max(bound) => beyond(there("max", Kind::Number)?, bound, Ordering::Greater),
            Self::Min(bound) => beyond(there("min", Kind::Number)?, bound, Ordering::Less),
            Self::Merge(patch) => match there("merge", Kind::Object)? {
                Some(current) => owned(merged(current, patch.json())),
                None => match without_nulls(patch.json()) {
                    Cow::Borrowed(_) => Cow::Borrowed(patch),
                    Cow::Owned(text) => owned(text),
                },
            },
        };
        Ok(Some(after))
    }
}

fn owned<'a>(text: impl Into<Box<str>>) -> Cow<'a, RawJson> {
    Cow::Owned(RawJson::trusted(text))
}

/// `bound` if it is on this side of the current value, or there is no value.
fn beyond<'a>(current: Option<Json<'_>>, bound: &'a RawJson, side: Ordering) -> Cow<'a, RawJson> {
    match current {
        Some(current) if number::compare(bound.text(), current.text()) != side => Cow::Owned(current.to_raw()),
        _ => Cow::Borrowed(bound),
    }
}

fn append<'a>(current: Option<Json<'_>>, more: &'a RawJson) -> Cow<'a, RawJson> {
    let added = elements(more.json());
    match current {
        Some(current) if added.is_empty() => Cow::Owned(current.to_raw()),
        Some(current) if !elements(current).is_empty() => owned(format!("[{},{added}]", elements(current))),
        _ => Cow::Borrowed(more),
    }
}

fn union<'a>(current: Option<Json<'_>>, more: &'a RawJson) -> Cow<'a, RawJson> {
    let mut missing: HashSet<String> = more.json().as_array().into_iter().flatten().map(Json::canonical).collect();
    for element in current.and_then(Json::as_array).into_iter().flatten() {
        if missing.is_empty() {
            break;
        }
        missing.remove(&element.canonical());
    }
    let mut complete = true;
    let mut added = String::from("[");
    for element in more.json().as_array().into_iter().flatten() {
        if !missing.remove(&element.canonical()) {
            complete = false;
            continue;
        }
        if added.len() > 1 {
            added.push(',');
        }
        added.push_str(element.text());
    }
    if complete {
        return append(current, more);
    }
    added.push(']');
    Cow::Owned(append(current, &RawJson::trusted(added)).into_owned())
}

/// The trimmed text between the brackets of an array: empty if there are no elements.
fn elements(array: Json<'_>) -> &str {
    array.text().get(1..array.text().len().saturating_sub(1)).unwrap_or_default().trim()
}

/// Merges an object into an object (RFC 7396); returns `target` borrowed if nothing changes. Members that the patch does not name
/// stay as written; members that it names keep their place and key; new ones follow in the patch's order.
///
/// Recurses once for each level of objects in the patch. State values nest at most 64 deep, which bounds the stack, and the time
/// to 64 scans of both texts.
fn merged<'a>(target: Json<'a>, patch: Json<'_>) -> Cow<'a, str> {
    let patch: Vec<_> = members(patch).collect();
    let mut unmet: HashMap<&str, Json<'_>> = patch.iter().map(|member| (&*member.key, member.value)).collect();
    let mut out = ObjectText::default();
    let mut changed = false;
    for member in members(target) {
        match unmet.remove(&*member.key) {
            None => out.push_raw(member.raw_key, member.value.text()),
            Some(patch) if patch.is_null() => changed = true,
            Some(patch) if patch.kind() == Kind::Object && member.value.kind() == Kind::Object => {
                let value = merged(member.value, patch);
                changed |= matches!(value, Cow::Owned(_));
                out.push_raw(member.raw_key, &value);
            }
            Some(patch) => {
                changed = true;
                out.push_raw(member.raw_key, &without_nulls(patch));
            }
        }
    }
    for member in patch.iter().filter(|member| !member.value.is_null() && unmet.contains_key(&*member.key)) {
        changed = true;
        out.push_raw(member.raw_key, &without_nulls(member.value));
    }
    if changed { Cow::Owned(out.close()) } else { Cow::Borrowed(target.text()) }
}

/// The result of a patch where the target is no object (RFC 7396): the patch without members that are `null`, also in nested
/// objects, but not in arrays. Borrowed if there are none. Recurses as [`merged`] does.
fn without_nulls(patch: Json<'_>) -> Cow<'_, str> {
    let mut out = ObjectText::default();
    let mut changed = false;
    for member in members(patch) {
        if member.value.is_null() {
            changed = true;
            continue;
        }
        let value = without_nulls(member.value);
        changed |= matches!(value, Cow::Owned(_));
        out.push_raw(member.raw_key, &value);
    }
    if changed { Cow::Owned(out.close()) } else { Cow::Borrowed(patch.text()) }
}

/// The members of an object; none for another value.
fn members(json: Json<'_>) -> impl Iterator<Item = Member<'_>> {
    json.as_object().into_iter().flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::{Map, Value};

    fn op(name: &str, value: &str) -> Op {
        Op::parse(name, Some(Json::parse(value.as_bytes(), 64).unwrap())).unwrap()
    }

    /// The text of the value afterwards.
    fn apply(name: &str, value: &str, current: Option<&str>) -> Result<String, String> {
        let current = current.map(|current| Json::parse(current.as_bytes(), 64).unwrap());
        let after = op(name, value).apply(current).map(|after| after.unwrap().text().to_owned());
        after.map_err(Cow::into_owned)
    }

    #[track_caller]
    fn assert_applies(name: &str, cases: &[(Option<&str>, &str, &str)]) {
        for (current, value, expected) in cases {
            assert_eq!(apply(name, value, *current), Ok((*expected).to_owned()), "{name} {current:?} {value}");
        }
    }

    const OF_EACH_KIND: [(&str, Kind); 6] = [
        ("null", Kind::Null),
        ("true", Kind::Bool),
        ("1", Kind::Number),
        ("\"1\"", Kind::String),
        ("[1]", Kind::Array),
        ("{\"a\":1}", Kind::Object),
    ];

    const TYPED: [(&str, Kind, &str); 6] = [
        ("increment", Kind::Number, "a number"),
        ("append", Kind::Array, "an array"),
        ("union", Kind::Array, "an array"),
        ("max", Kind::Number, "a number"),
        ("min", Kind::Number, "a number"),
        ("merge", Kind::Object, "an object"),
    ];

    #[test]
    fn operands_have_the_type_that_the_operator_takes() {
        let parse = |name, value| Op::parse(name, Some(Json::trusted(value)));
        for (name, takes, wording) in TYPED {
            for (value, kind) in OF_EACH_KIND {
                let expected = format!("`{name}` needs {wording} as its `value`");
                assert_eq!(
                    parse(name, value).map_err(str::to_owned).err(),
                    (kind != takes).then_some(expected),
                    "{value}"
                );
            }
            assert!(Op::parse(name, None).is_err());
        }
        for (value, _) in OF_EACH_KIND {
            assert_eq!(parse("set", value), Ok(Op::Set(RawJson::trusted(value))));
            assert_eq!(parse("remove", value).is_ok(), value == "null");
        }
        assert_eq!(Op::parse("remove", None), Ok(Op::Remove));
        assert_eq!(Op::parse("set", None), Err("`set` needs a `value`"));
        for name in ["", "Set", "set ", "inc", "push", "unset"] {
            assert!(parse(name, "1").unwrap_err().starts_with("`op` must be"));
        }
    }

    #[test]
    fn what_is_there_has_the_type_that_the_operator_takes() {
        for (name, takes, wording) in TYPED {
            let operand = OF_EACH_KIND.iter().find(|(_, kind)| *kind == takes).unwrap().0;
            for (current, kind) in OF_EACH_KIND {
                let is = kind.with_article();
                let expected = format!("`{name}` needs {wording}, and the value that is there is {is}");
                let outcome = apply(name, operand, Some(current));
                assert_eq!(outcome.err(), (kind != takes).then_some(expected), "{current}");
            }
            assert!(apply(name, operand, None).is_ok());
        }
    }

    #[test]
    fn all_but_set_read() {
        assert!(Op::Remove.reads());
        for (value, _) in OF_EACH_KIND {
            assert!(!op("set", value).reads());
        }
        for (name, takes, _) in TYPED {
            assert!(op(name, OF_EACH_KIND.iter().find(|(_, kind)| *kind == takes).unwrap().0).reads());
        }
    }

    #[test]
    fn sets_and_removes() {
        for current in [None, Some("1"), Some("{}")] {
            assert_applies("set", &[(current, "null", "null"), (current, "{ \"a\" : 1.0 }", "{ \"a\" : 1.0 }")]);
            assert_eq!(Op::Remove.apply(current.map(Json::trusted)), Ok(None));
        }
    }

    #[test]
    fn increments() {
        assert_applies(
            "increment",
            &[
                (None, "1", "1"),
                (None, "1.50", "1.50"),
                (None, "1e2", "100"),
                (None, "-0", "0"),
                (Some("1.10"), "2.2", "3.30"),
                (Some("1E2"), "0", "100"),
                (Some("-0.0"), "0", "0.0"),
                (Some("99999999999999999999"), "1", "100000000000000000000"),
                (Some("1"), "-1", "0"),
            ],
        );
        assert_eq!(
            apply("increment", "1e308", Some("1e308")),
            Err("the sum is beyond the range of a double, or an integer of more than 308 digits".to_owned())
        );
        assert_eq!(apply("increment", "1e-999999999", Some("1")), Err("the sum has too many digits".to_owned()));
        assert_eq!(apply("increment", "1e-999999999", None), Err("the sum has too many digits".to_owned()));
    }

    #[test]
    fn the_bound_wins_or_what_is_there_stays() {
        for (current, value, max, min) in [
            (None, "-1.0", "-1.0", "-1.0"),
            (None, "-0", "-0", "-0"),
            (Some("1"), "2E0", "2E0", "1"),
            (Some("2"), "1.50", "2", "1.50"),
            // On equality, the one that is there.
            (Some("1.0"), "1", "1.0", "1.0"),
            (Some("0"), "-0", "0", "0"),
            (Some("1e2"), "100", "1e2", "1e2"),
            (Some("-1"), "-2", "-1", "-2"),
            (Some("9007199254740992"), "9007199254740993", "9007199254740993", "9007199254740992"),
            (Some("1e308"), "1e-400", "1e308", "1e-400"),
            (Some("1e-999999999"), "0", "1e-999999999", "0"),
            (
                Some("-1e-999999999"),
                "1e-9999999999999999999999999999999999999999",
                "1e-9999999999999999999999999999999999999999",
                "-1e-999999999",
            ),
        ] {
            assert_applies("max", &[(current, value, max)]);
            assert_applies("min", &[(current, value, min)]);
        }
    }

    #[test]
    fn appends() {
        assert_applies(
            "append",
            &[
                (None, "[]", "[]"),
                (None, "[ 1.0 ]", "[ 1.0 ]"),
                (Some("[]"), "[1,1]", "[1,1]"),
                (Some("[ \n]"), "[ 1 ]", "[ 1 ]"),
                (Some("[ 1 ]"), "[ ]", "[ 1 ]"),
                (Some("[]"), "[]", "[]"),
                (Some("[1]"), "[1]", "[1,1]"),
                (Some("[[]]"), "[[]]", "[[],[]]"),
                (Some("[null]"), "[[null],{}]", "[null,[null],{}]"),
                (Some("[\" ]\"]"), "[\"[ \"]", "[\" ]\",\"[ \"]"),
                (
                    Some("[ { \"b\" : 1E2 , \"a\":-0.0},\t\"\\u00e9\\/\\ud83d\\ude00\" ]"),
                    "[\n 1.50 , \"\\u0000\u{a0}é\"\n]",
                    "[{ \"b\" : 1E2 , \"a\":-0.0},\t\"\\u00e9\\/\\ud83d\\ude00\",1.50 , \"\\u0000\u{a0}é\"]",
                ),
            ],
        );
    }

    #[test]
    fn unites() {
        assert_applies(
            "union",
            &[
                (None, "[]", "[]"),
                (None, "[ 2, 1 ]", "[ 2, 1 ]"),
                (Some("[ 1 ]"), "[]", "[ 1 ]"),
                (Some("[]"), "[1]", "[1]"),
                (Some("[1,2]"), "[3,2,4]", "[1,2,3,4]"),
                (Some("[ 1, 2 ]"), "[2,1]", "[ 1, 2 ]"),
                (Some("[ 1, 2 ]"), "[ 3 , 4 ]", "[1, 2,3 , 4]"),
                // The first of equals stays, as it is written.
                (None, "[1.0, 1, 10e-1]", "[1.0]"),
                (Some("[1]"), "[1.0,2.0,2]", "[1,2.0]"),
                // What was there twice stays twice.
                (Some("[1,1]"), "[1,2]", "[1,1,2]"),
                (
                    Some("[{\"a\":1,\"b\":[ ]},\"é\"]"),
                    "[{ \"b\" : [], \"a\" : 1e0 },\"\\u00e9\",{\"a\":1},\"e\"]",
                    "[{\"a\":1,\"b\":[ ]},\"é\",{\"a\":1},\"e\"]",
                ),
                (Some("[0,\"\",null]"), "[\"0\",false,[],{},null,-0.0]", "[0,\"\",null,\"0\",false,[],{}]"),
            ],
        );
    }

    #[test]
    fn merges() {
        assert_applies(
            "merge",
            &[
                // RFC 7396, appendix A, where target and patch are objects.
                (Some(r#"{"a":"b"}"#), r#"{"a":"c"}"#, r#"{"a":"c"}"#),
                (Some(r#"{"a":"b"}"#), r#"{"b":"c"}"#, r#"{"a":"b","b":"c"}"#),
                (Some(r#"{"a":"b"}"#), r#"{"a":null}"#, r#"{}"#),
                (Some(r#"{"a":"b","b":"c"}"#), r#"{"a":null}"#, r#"{"b":"c"}"#),
                (Some(r#"{"a":["b"]}"#), r#"{"a":"c"}"#, r#"{"a":"c"}"#),
                (Some(r#"{"a":"c"}"#), r#"{"a":["b"]}"#, r#"{"a":["b"]}"#),
                (Some(r#"{"a":{"b":"c"}}"#), r#"{"a":{"b":"d","c":null}}"#, r#"{"a":{"b":"d"}}"#),
                (Some(r#"{"a":[{"b":"c"}]}"#), r#"{"a":[1]}"#, r#"{"a":[1]}"#),
                (Some(r#"{"e":null}"#), r#"{"a":1}"#, r#"{"e":null,"a":1}"#),
                (Some("{}"), r#"{"a":{"bb":{"ccc":null}}}"#, r#"{"a":{"bb":{}}}"#),
                // An absent value counts as {}.
                (None, "{ }", "{ }"),
                (None, r#"{ "a" : { "b" : [null, {"c":null}] } }"#, r#"{ "a" : { "b" : [null, {"c":null}] } }"#),
                (None, r#"{"a":null}"#, "{}"),
                (None, r#"{ "a" : { "b" : null, "c": [ ] }, "d" : { } }"#, r#"{"a":{"c":[ ]},"d":{ }}"#),
                // What is not an object is replaced.
                (Some(r#"{"a":1}"#), r#"{"a":{"b":null,"c":1}}"#, r#"{"a":{"c":1}}"#),
                (Some(r#"{"a":null}"#), r#"{"a":{}}"#, r#"{"a":{}}"#),
                (Some(r#"{"a":{"b":1}}"#), r#"{"a":[null]}"#, r#"{"a":[null]}"#),
                // Bytes and order stay, and new members come last in the order of the patch.
                (
                    Some(r#"{ "a" : 1E2 , "z":{ "y" : -0.0 }, "b":[ 1 ] }"#),
                    r#"{"new" : { "x" : 1 }, "a": 2.50 , "n":"é"}"#,
                    r#"{"a":2.50,"z":{ "y" : -0.0 },"b":[ 1 ],"new":{ "x" : 1 },"n":"é"}"#,
                ),
                (Some(r#"{"c":1,"a":2,"b":3}"#), r#"{"b":0,"c":0}"#, r#"{"c":0,"a":2,"b":0}"#),
                (Some(r#"{"é":1,"/":2}"#), r#"{"é":null,"\/":3}"#, r#"{"/":3}"#),
                (Some(r#"{"":{"":1}}"#), r#"{"":{"":{"":2}}}"#, r#"{"":{"":{"":2}}}"#),
                // Changing nothing changes no byte.
                (Some(r#"{ "a" : { "b" : 1 } }"#), "{}", r#"{ "a" : { "b" : 1 } }"#),
                (Some(r#"{ "a" : { "b" : 1 } }"#), r#"{"x":null,"a":{"y":null}}"#, r#"{ "a" : { "b" : 1 } }"#),
                (
                    Some(r#"{"a" : { "b" : 1 },"c":{ "d":1}}"#),
                    r#"{"a":{},"c":{"d":2}}"#,
                    r#"{"a":{ "b" : 1 },"c":{"d":2}}"#,
                ),
            ],
        );
    }

    #[test]
    fn borrows_the_operand_where_it_is_the_result() {
        for (name, value, current) in [
            ("set", "1", Some("2")),
            ("append", "[ 1 ]", None),
            ("append", "[ 1 ]", Some("[ ]")),
            ("union", "[1, 2]", Some("[]")),
            ("max", "2", Some("1")),
            ("min", "2", None),
            ("merge", "{ \"a\" : 1 }", None),
        ] {
            let op = op(name, value);
            assert!(matches!(op.apply(current.map(Json::trusted)), Ok(Some(Cow::Borrowed(_)))), "{name} {value}");
        }
    }

    /// Quadratic time would show here: each would take minutes.
    #[test]
    fn bears_large_values() {
        let count = 100_000;
        let list = |from: usize| {
            format!("[{}]", (from..from + count).map(|n| format!("\"k{n}\"")).collect::<Vec<_>>().join(","))
        };
        let united = apply("union", &list(count / 2), Some(&list(0))).unwrap();
        assert_eq!(Json::trusted(&united).as_array().unwrap().count(), count + count / 2);
        assert_eq!(apply("union", &list(0), Some(&list(0))).unwrap(), list(0));
        assert_eq!(apply("append", &list(count), Some(&list(0))).unwrap().len(), list(0).len() + list(count).len() - 1);

        let object = |from: usize, value: &str| {
            let members: Vec<_> = (from..from + count).map(|n| format!("\"k{n}\":{value}")).collect();
            format!("{{{}}}", members.join(","))
        };
        let all = apply("merge", &object(count, "2"), Some(&object(0, "1"))).unwrap();
        assert_eq!(Json::trusted(&all).as_object().unwrap().count(), 2 * count);
        assert_eq!(apply("merge", &object(0, "null"), Some(&all)).unwrap(), object(count, "2"));
        assert_eq!(apply("merge", &object(0, "null"), None).unwrap(), "{}");

        let deep = |leaf: &str| format!("{}{leaf}{}", "{\"a\":".repeat(64), "}".repeat(64));
        assert_eq!(apply("merge", &deep("2"), Some(&deep("1"))).unwrap(), deep("2"));
        assert_eq!(apply("merge", &deep("null"), Some(&deep("1"))).unwrap(), deep("1").replace("\"a\":1", ""));
        let long = format!("\"{}\"", "x".repeat(1 << 20));
        assert_eq!(apply("merge", &deep("null"), Some(&deep(&long))).unwrap(), deep("1").replace("\"a\":1", ""));
    }

    /// RFC 7396, section 2, word for word.
    fn merge_patch(target: Option<Value>, patch: &Value) -> Value {
        let Value::Object(patch) = patch else {
            return patch.clone();
        };
        let mut target = match target {
            Some(Value::Object(target)) => target,
            _ => Map::new(),
        };
        for (name, value) in patch {
            if value.is_null() {
                target.shift_remove(name);
            } else {
                let merged = merge_patch(target.get(name).cloned(), value);
                target.insert(name.clone(), merged);
            }
        }
        Value::Object(target)
    }

    fn value() -> impl Strategy<Value = Value> {
        let scalar = prop_oneof![
            3 => Just(Value::Null),
            1 => any::<bool>().prop_map(Value::from),
            2 => (0..3).prop_map(Value::from),
            2 => "[ab\"\\\\é{}\\[\\], ]{0,2}".prop_map(Value::from),
        ];
        scalar.prop_recursive(4, 32, 5, |inner| {
            prop_oneof![
                1 => prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
                4 => members_of(inner),
            ]
        })
    }

    fn members_of(value: impl Strategy<Value = Value>) -> impl Strategy<Value = Value> {
        // Few keys, so that they meet.
        prop::collection::vec(("[a-c\"\\\\é]{0,1}", value), 0..5)
            .prop_map(|members| Value::Object(members.into_iter().collect()))
    }

    fn array() -> impl Strategy<Value = Vec<Value>> {
        prop::collection::vec(value(), 0..6)
    }

    fn written(value: &impl serde::Serialize, pretty: bool) -> String {
        let text = if pretty { serde_json::to_string_pretty(value) } else { serde_json::to_string(value) };
        text.unwrap()
    }

    fn read(text: &str) -> Value {
        assert!(Json::parse(text.as_bytes(), 64).is_ok(), "{text}");
        serde_json::from_str(text).unwrap()
    }

    proptest! {
        #[test]
        fn merge_agrees_with_the_rfc(target in prop::option::of(members_of(value())), patch in members_of(value())) {
            let expected = merge_patch(target.clone(), &patch);
            let ours = |pretty| apply("merge", &written(&patch, pretty), target.as_ref().map(|t| written(t, pretty)).as_deref());
            // Compact as they are, the texts agree, order included.
            prop_assert_eq!(ours(false), Ok(written(&expected, false)));
            let pretty = ours(true).unwrap();
            prop_assert_eq!(read(&pretty).to_string(), expected.to_string());
            // Once more changes nothing, not a byte.
            let again = apply("merge", &written(&patch, true), Some(&pretty)).unwrap();
            prop_assert_eq!(read(&again).to_string(), expected.to_string());
        }

        #[test]
        fn append_joins(there in array(), more in array(), pretty: bool) {
            let after = apply("append", &written(&more, pretty), Some(&written(&there, !pretty))).unwrap();
            prop_assert_eq!(read(&after), Value::from([there, more].concat()));
        }

        #[test]
        fn union_adds_what_is_missing_once(there in array(), more in array(), pretty: bool) {
            let mut expected = there.clone();
            for value in &more {
                if !expected.contains(value) {
                    expected.push(value.clone());
                }
            }
            let (there, more) = (written(&there, pretty), written(&more, !pretty));
            let after = apply("union", &more, Some(&there)).unwrap();
            prop_assert_eq!(read(&after), Value::from(expected));
            prop_assert_eq!(apply("union", &more, Some(&after)).unwrap(), after);
        }

        #[test]
        fn counters_commute(start in any::<i64>(), a in any::<i32>(), b in -1e9..1e9_f64) {
            let after = |ops: [(&str, String); 2]| ops.iter().fold(start.to_string(), |there, (name, value)| {
                apply(name, value, Some(&there)).unwrap()
            });
            for name in ["increment", "max", "min"] {
                let (a, b) = ((name, a.to_string()), (name, b.to_string()));
                prop_assert_eq!(after([a.clone(), b.clone()]), after([b, a]));
            }
        }

        #[test]
        fn other_text_does_no_harm(value in "[\\[\\]{},:\"\\\\a1e.é -]{0,16}", current in "[\\[\\]{},:\"\\\\a1e.é -]{0,16}") {
            let operand = RawJson::trusted(&*value);
            type Make = fn(RawJson) -> Op;
            for make in [Op::Set as Make, Op::Increment, Op::Append, Op::Union, Op::Max, Op::Min, Op::Merge] {
                let _ = make(operand.clone()).apply(Some(Json::trusted(&current)));
                let _ = make(operand.clone()).apply(None);
            }
        }
    }
}
