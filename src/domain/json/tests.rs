use std::borrow::Cow;

use proptest::prelude::*;
use serde_json::Value;

use super::validate::{pointer_to, syntax};
use super::*;

const DEPTH: usize = 64;

fn parse(text: &str) -> Result<Json<'_>, JsonError> {
    Json::parse(text.as_bytes(), DEPTH)
}

#[track_caller]
fn canonical(text: &str) -> String {
    parse(text).unwrap().canonical()
}

#[track_caller]
fn assert_refused(text: &str, at: &str, reason: &str) {
    match parse(text) {
        Err(JsonError::Refused { pointer, what }) => {
            assert!(pointer == at && what.contains(reason), "{text}: {what} at {pointer:?}")
        }
        other => panic!("{text}: {other:?}"),
    }
}

const KEPT: &str = r#"
null true false 0 -0 -0.0 1.0 1E2 1e+2 1e-400 0e999999999999999999999 1e-999999999999999999999 1180591620717411303424
1.7976931348623157e308 "" "\u0000" "\ud83d\ude00" "\/" "é😀\uABcd" [] {} [[],{}] {"a":1,"A":2,"á":3} {"a":{"a":[{"a":0},{"a":0}]}}
"#;

#[test]
fn keeps_everything_that_clients_can_read() {
    let digits = "9".repeat(300);
    let spaced = [
        "{\"b\" : 1,  \"a\":[ 1 ,2 ],\n\"\":{ } }",
        "{\"$serde_json::private::RawValue\": \"[1]\"}",
        "\"\u{7f}\u{2028}\u{feff}\"",
        &digits,
    ];
    for text in KEPT.split_whitespace().chain(spaced) {
        assert_eq!(parse(text).unwrap().text(), text);
        assert_eq!(parse(&format!(" \t\r\n{text}\n ")).unwrap().text(), text);
    }
}

/// One case to a line.
const NOT_JSON: &str = r#"nul
nulll
True
NaN
-Infinity
'a'
a
1 2
{} {}
[
]
[1
[1,
[1,]
[,1]
[1 2]
[1}
{
}
{"a"
{"a":
{"a":1
{"a":1,
{"a":1,}
{"a" 1}
{a:1}
{1:1}
{,}
{"a":1]
{"a":1 "b":2}
{"a":}
01
-
-a
-01
+1
.5
1.
1.e1
1e
1e+
1ee1
0x1
1_0
"
"a
"\"
"\
"\x"
"\u12"
"\u12g4"
"\u+123"
"\u123é"
"\ud800\u12"
/**/1
1//"#;

#[test]
fn refuses_what_is_not_json() {
    let invisible = ["\"\n\"", "\"\0\"", "\"\u{1f}\"", "\u{a0}1", "\u{b}1", "\u{feff}1", "1\u{feff}", "[1]\0"];
    for text in NOT_JSON.lines().chain(invisible) {
        let ours = parse(text);
        assert!(matches!(ours, Err(JsonError::Syntax { .. })), "{text}: {ours:?}");
        assert!(serde_json::from_str::<Value>(text).is_err(), "{text}");
    }
    for text in ["", " ", "\r\n\t "] {
        assert_eq!(parse(text).unwrap_err(), syntax(text.len(), "the body is empty"));
    }
    let utf8 = |bytes| Json::parse(bytes, DEPTH).unwrap_err();
    assert_eq!(utf8(b"[\"\xFF\"]"), syntax(2, "invalid UTF-8"));
    assert_eq!(utf8(b"\"\xED\xA0\x80\""), syntax(1, "invalid UTF-8"));
    assert_eq!(parse("[1, x]").unwrap_err(), syntax(4, "expected a value"));
    assert_eq!(parse("\u{feff}1").unwrap_err(), syntax(0, "a byte order mark"));
}

#[test]
fn refuses_what_some_client_cannot_read() {
    for (text, pointer, what) in [
        (r#""\ud800""#, "", "surrogate"),
        (r#""\udc00\ud800""#, "", "surrogate"),
        (r#"[0,"\ud83dx\ude00"]"#, "/1", "surrogate"),
        (r#"["\ud800\ud83d\ude00"]"#, "/0", "surrogate"),
        (r#""\ud800\n""#, "", "surrogate"),
        (r#"{"\ud800":1}"#, "/\u{FFFD}", "surrogate"),
        ("1e400", "", "double"),
        (r#"{"a/b":[-1e309]}"#, "/a~1b/0", "double"),
        (r#"{"m~n":{"":[[],{},1.8E+308]}}"#, "/m~0n//2", "double"),
        ("1e999999999999999999999", "", "double"),
        (r#"{"x":{"y":1},"a":1,"b":2,"a":3}"#, "/a", "duplicate"),
        (r#"{"é":1,"\u00e9":2}"#, "/é", "duplicate"),
        (r#"[{},{"/":{"k":[],"k":{}}}]"#, "/1/~1/k", "duplicate"),
        (r#"{"":1,"":2}"#, "/", "duplicate"),
        (r#"{"a\u0000":1}"#, "/a\0", "U+0000"),
        (r#"{"a":1,"\u0000":{}}"#, "/\0", "U+0000"),
        // The first in document order is the one that is named, though a duplicate shows late.
        (r#"{"k":0,"k":1e400}"#, "/k", "duplicate"),
        (r#"{"k":1e400,"k":0}"#, "/k", "double"),
        (r#"[{"a":"\ud800"},{"b":1e400}]"#, "/0/a", "surrogate"),
        (r#"{"k":0,"k":{"j":0,"j":0}}"#, "/k", "duplicate"),
        (r#"{"j":{"b":0,"b":0},"j":0}"#, "/j/b", "duplicate"),
    ] {
        assert_refused(text, pointer, what);
        for broken in [format!("{text}]"), format!("[{text}"), format!("[{text},]")] {
            assert!(matches!(parse(&broken), Err(JsonError::Syntax { .. })), "{broken}");
        }
    }
    assert_refused(&"9".repeat(400), "", "double");
    assert_refused(&format!("[-1{}]", "0".repeat(308)), "/0", "308 digits");
    assert_refused(&format!("[1{}.5]", "0".repeat(310)), "/0", "double");
}

#[test]
fn counts_depth() {
    for (text, depth) in [("1", 0), ("\"[[\"", 0), ("[]", 1), ("[[],{}]", 2), (r#"{"a":[{"]":[1]}],"b":{}}"#, 4)] {
        assert_eq!(parse(text).unwrap().depth(), depth, "{text}");
        assert!(Json::parse(text.as_bytes(), depth).is_ok(), "{text}");
        assert!(
            depth == 0 || matches!(Json::parse(text.as_bytes(), depth - 1), Err(JsonError::Refused { .. })),
            "{text}"
        );
    }
    let nested = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
    assert_eq!(parse(&nested(DEPTH)).unwrap().depth(), DEPTH);
    assert_refused(&nested(DEPTH + 1), &"/0".repeat(DEPTH), "deep");
    assert_refused(&format!("{{\"k\":{}}}", nested(DEPTH)), &format!("/k{}", "/0".repeat(DEPTH - 1)), "deep");
    assert_eq!(
        Json::parse(br#"[1,{"a":{"b":0,"b":1e400}}]"#, 2).unwrap_err(),
        JsonError::Refused { pointer: "/1/a".into(), what: "nested too deeply" }
    );
    assert!(matches!(parse(&format!("{}}}", nested(DEPTH + 1))), Err(JsonError::Syntax { .. })));
}

#[test]
fn bears_hostile_documents() {
    let mebi = 1 << 20;
    assert!(matches!(parse(&"[".repeat(4 * mebi)), Err(JsonError::Syntax { .. })));
    let deep = format!("{}0{}", "[".repeat(mebi), "]".repeat(mebi));
    assert_refused(&deep, &"/0".repeat(DEPTH), "deep");
    let levels = 50_000;
    let objects = format!("{}0{}", r#"{"k":0,"j":"#.repeat(levels), "}".repeat(levels));
    for text in [&deep, &objects] {
        let json = Json::parse(text.as_bytes(), usize::MAX).unwrap();
        assert_eq!(Json::trusted(&json.canonical()).depth(), json.depth());
    }
    let duplicates = objects.replace('j', "k");
    assert!(
        matches!(Json::parse(duplicates.as_bytes(), usize::MAX), Err(JsonError::Refused { pointer, .. }) if pointer == "/k")
    );
    let wide: Vec<_> = (0..100_000).map(|i| format!("\"key{i}\":{i}")).collect();
    assert_eq!(parse(&format!("{{{}}}", wide.join(","))).unwrap().as_object().unwrap().count(), wide.len());
    assert_refused(&format!("{{{},\"key7\":0}}", wide.join(",")), "/key7", "duplicate");
}

#[test]
fn looks_inside() {
    let json = parse(
        r#" {"s":"a\n\"\/\u00e9\ud83d\ude00","b":true,"n":null,"\u0061":[1, "]" ,{"x":[]},[ ]],"f":false,"d":-1.50} "#,
    )
    .unwrap();
    assert_eq!(json.kind(), Kind::Object);
    assert_eq!(json.get("s").unwrap().as_str().unwrap(), "a\n\"/é😀");
    assert_eq!(json.get("b").unwrap().as_bool(), Some(true));
    assert_eq!(json.get("f").unwrap().as_bool(), Some(false));
    assert!(json.get("n").unwrap().is_null());
    let elements: Vec<_> = json.get("a").unwrap().as_array().unwrap().map(Json::text).collect();
    assert_eq!(elements, ["1", "\"]\"", "{\"x\":[]}", "[ ]"]);
    assert_eq!((json.get("d").unwrap().text(), json.get("d").unwrap().kind()), ("-1.50", Kind::Number));
    let keys: Vec<_> = json.as_object().unwrap().map(|m| (m.raw_key, m.key)).collect();
    assert_eq!(keys[3], (r#""\u0061""#, Cow::Borrowed("a")));
    assert!(
        json.get("z").is_none() && json.as_array().is_none() && json.as_str().is_none() && json.as_bool().is_none()
    );
    assert!(matches!(parse("\"plain\"").unwrap().as_str(), Some(Cow::Borrowed("plain"))));
    assert!(parse("[\"a\"]").unwrap().get("a").is_none());
    assert_eq!(
        (parse("{ }").unwrap().as_object().unwrap().count(), parse("[ ]").unwrap().as_array().unwrap().count()),
        (0, 0)
    );
}

#[test]
fn debug_shows_no_value() {
    assert_eq!(format!("{:?}", parse("[\"secret\"]").unwrap()), "Json(Array, 10 bytes)");
    assert_eq!(format!("{:?}", RawJson::string("secret")), "RawJson(8 bytes)");
}

#[test]
fn equality_goes_by_value() {
    let huge = "9".repeat(60);
    for group in [
        &["1", "1.0", "1e0", "10E-1", "0.1e1", "1.000", "1E+00000000000000000000000000000000000000000000000000"][..],
        &["0", "-0", "-0.0", "0e5", "0.000E-99999999999999999999999999999999999999999999999"],
        &["100", "1e2", "1E+2", "0.01e4"],
        &["-1.5", "-15e-1", "-0.15E1"],
        &["12345678901234567890123", "12345678901234567890123.0", "1.2345678901234567890123e22"],
        &["12345678901234567890124"],
        &["1e-400", "10e-401", "0.1e-399"],
        &["1e-999999999999999999999", "10e-1000000000000000000000", "0.1e-999999999999999999998"],
        &["1e-170141183460469231731687303715884105728", "0.1e-170141183460469231731687303715884105727"],
        &[
            &format!("1e-{huge}"),
            &format!("10e-1{}", "0".repeat(60)),
            &format!("0.1e-{}8", &huge[1..]),
            &format!("100e-001{}1", "0".repeat(59)),
        ],
        &["\"a/é😀\\n\"", r#""\u0061\/\u00e9\ud83d\ude00\u000A""#],
        &["\"1\""],
        &["[1,2]", " [ 1.0 , 2e0 ] "],
        &["[2,1]"],
        &["[]"],
        &["{}"],
        &["[[]]"],
        &["[{}]"],
        &[r#"{"a":[],"b":{"x":1,"y":null}}"#, r#"{ "\u0062" : {"y":null,"x":1.0}, "a" : [ ] }"#],
        &[r#"{"a":1}"#],
        &["true"],
        &["false"],
        &["null"],
    ]
    .windows(2)
    {
        for a in group[0] {
            for b in group[0] {
                assert!(parse(a).unwrap().same(parse(b).unwrap()), "{a} {b}");
            }
            for b in group[1] {
                assert!(!parse(a).unwrap().same(parse(b).unwrap()), "{a} {b}");
            }
        }
    }
    assert_eq!(
        canonical(r#"{"b":[1500, -0.0 ,1.50],"a":"\u001F\u007f\t\/","":{}}"#),
        "{\"\":{},\"a\":\"\\u001f\u{7f}\\t/\",\"b\":[15e2,0,15e-1]}"
    );
    // Sums that carry over a whole exponent too long for i128, both ways.
    let (zeros, nines) = ("0".repeat(50), "9".repeat(50));
    let small = |mantissa: &str, exponent: String| canonical(&format!("{mantissa}e-{exponent}"));
    assert_eq!(small("1", nines.clone()), format!("1e-{nines}"));
    assert_eq!(small("0.1", nines.clone()), format!("1e-1{zeros}"));
    assert_eq!(small("10", format!("1{zeros}")), format!("1e-{nines}"));
    let huge = format!("1000e+{nines}");
    assert_eq!(Json::trusted(&huge).canonical(), format!("1e1{}2", "0".repeat(49)));
}

#[test]
fn writes_strings() {
    for s in ["", "a\"b\\c/", "\u{0}\u{8}\t\n\u{b}\u{c}\r\u{1f} \u{7f}é😀\u{2028}"] {
        let raw = RawJson::string(s);
        assert_eq!(raw.text(), serde_json::to_string(s).unwrap());
        assert_eq!(parse(raw.text()).unwrap().as_str().unwrap(), s);
        assert_eq!(
            (raw.json().to_raw(), raw.clone().into_string()),
            (RawJson::trusted(raw.text()), raw.text().to_owned())
        );
    }
}

fn value() -> impl Strategy<Value = Value> {
    let text = || prop::collection::vec(any::<char>(), 0..6).prop_map(|chars| chars.into_iter().collect::<String>());
    let key = prop_oneof!["[ab]{0,2}", text().prop_map(|key| key.replace('\0', ""))];
    let scalar = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        (-9_i8..10).prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        text().prop_map(Value::from),
    ];
    scalar.prop_recursive(5, 64, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::btree_map(key.clone(), inner, 0..6)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

/// Text that is nearly JSON.
fn soup() -> impl Strategy<Value = String> {
    const WORDS: &[&str] = &[
        "{", "}", "[", "]", ",", ":", "\"", "\\", " ", "\n", "null", "true", "0", "1", "-", ".", "e", "+", "\"a\"",
        "\"a\":", "\\u0000", "\\ud800", "\\udc00", "\\n", "é", "\u{1}", "1e400", "{\"b\":", "[]", "\"\"",
    ];
    prop::collection::vec(prop::sample::select(WORDS), 0..24).prop_map(|words| words.concat())
}

/// Valid JSON with one byte replaced, removed or cut off after.
fn broken() -> impl Strategy<Value = Vec<u8>> {
    (value(), any::<prop::sample::Index>(), 0..3, any::<u8>()).prop_map(|(value, index, how, byte)| {
        let mut bytes = value.to_string().into_bytes();
        let at = index.index(bytes.len());
        match how {
            0 => bytes[at] = byte,
            1 => drop(bytes.remove(at)),
            _ => bytes.truncate(at),
        }
        bytes
    })
}

fn agrees_with_serde_json(bytes: &[u8]) {
    let theirs = serde_json::from_slice::<Value>(bytes);
    match Json::parse(bytes, DEPTH) {
        Ok(json) => {
            let theirs = theirs.unwrap();
            assert_eq!(serde_json::from_str::<Value>(json.text()).unwrap(), theirs);
            assert_eq!(serde_json::from_str::<Value>(&rebuilt(json)).unwrap(), theirs);
        }
        Err(JsonError::Syntax { offset, .. }) => {
            assert!(theirs.is_err() && offset <= bytes.len(), "{bytes:?}")
        }
        Err(JsonError::Refused { .. }) => {}
    }
}

/// The same value put together again from its parts.
fn rebuilt(json: Json<'_>) -> String {
    if let Some(members) = json.as_object() {
        let members: Vec<_> = members.map(|m| format!("{}:{}", m.raw_key, rebuilt(m.value))).collect();
        format!("{{{}}}", members.join(","))
    } else if let Some(elements) = json.as_array() {
        format!("[{}]", elements.map(rebuilt).collect::<Vec<_>>().join(","))
    } else {
        json.text().to_owned()
    }
}

/// The same value written otherwise: members backwards, white space, every character of a string escaped.
fn disguised(value: &Value) -> String {
    let string = |s: &str| format!("\"{}\"", s.encode_utf16().map(|unit| format!("\\u{unit:04X}")).collect::<String>());
    match value {
        Value::Object(map) => {
            let members: Vec<_> =
                map.iter().rev().map(|(k, v)| format!("\n{} : {}", string(k), disguised(v))).collect();
            format!("{{ {} }}", members.join(" ,"))
        }
        Value::Array(elements) => {
            format!("[\t{}\r]", elements.iter().map(disguised).collect::<Vec<_>>().join(" , "))
        }
        Value::String(s) => string(s),
        Value::Number(n) if n.is_f64() => n.to_string(),
        Value::Number(n) => format!("{n}.00E+0"),
        other => other.to_string(),
    }
}

/// Everything that reads trusted text must bear any text.
fn reads_without_panic(text: &str) {
    let json = Json::trusted(text);
    let _ = (json.canonical(), json.depth(), json.as_str(), json.get("a"), pointer_to(text, text.len()));
    let _ = (json.as_object().map(Iterator::count), json.as_array().map(Iterator::count));
}

proptest! {
    #[test]
    fn keeps_any_value_as_text(value in value()) {
        for text in [value.to_string(), serde_json::to_string_pretty(&value).unwrap()] {
            let json = parse(&text).unwrap();
            prop_assert_eq!(json.text(), &text);
            prop_assert_eq!(json.to_raw().into_string(), text);
        }
    }

    #[test]
    fn judges_as_serde_json_does(bytes in prop::collection::vec(any::<u8>(), 0..64), broken in broken(), soup in soup(), value in value()) {
        for bytes in [&bytes, &broken, soup.as_bytes(), disguised(&value).as_bytes()] {
            agrees_with_serde_json(bytes);
            reads_without_panic(&String::from_utf8_lossy(bytes));
        }
    }

    #[test]
    fn canonical_depends_on_the_value_alone(value in value(), other in value()) {
        let text = value.to_string();
        let canonical = canonical(&text);
        prop_assert_eq!(&self::canonical(&canonical), &canonical);
        prop_assert_eq!(&self::canonical(&disguised(&value)), &canonical);
        // 1 and 1.0 differ for serde_json, but not for us.
        if value != other && !format!("{value}{other}").contains(".0") {
            prop_assert!(!parse(&text).unwrap().same(parse(&other.to_string()).unwrap()));
        }
    }

    /// Long strings, as most text is in, with something to find at any place of them.
    #[test]
    fn a_long_string_is_read_as_serde_json_reads_it(
        plain in prop::collection::vec("[ !#-Z^-~\u{80}-\u{10FFFF}]{0,150}", 1..4),
        between in prop::sample::select(vec!["", "\\n", "\\\"", "\\\\", "\\u00e9", "\\ud83d\\ude00", "\"", "\n", "\u{1f}"]),
    ) {
        let string = format!("\"{}\"", plain.join(between));
        for text in [&string, &format!("[0,{string}, {string}]"), &format!("{{\"a\":{string},{string}:1}}")] {
            agrees_with_serde_json(text.as_bytes());
            reads_without_panic(text);
            if let Ok(json) = parse(text) {
                let meant = serde_json::from_str::<Value>(json.text()).unwrap();
                prop_assert_eq!(serde_json::from_str::<Value>(&json.canonical()).unwrap(), meant.clone());
                prop_assert_eq!(&canonical(&disguised(&meant)), &json.canonical());
            }
        }
    }

    #[test]
    fn parts_make_up_the_whole(value in value()) {
        prop_assert_eq!(rebuilt(parse(&value.to_string()).unwrap()), value.to_string());
        let pretty = serde_json::to_string_pretty(&value).unwrap();
        prop_assert_eq!(rebuilt(parse(&pretty).unwrap()), value.to_string());
    }
}
