//! The shape of an event below its own fields, as google-adk reads it: the known names and their types.
//!
//! It has two uses. Names that ADK knows and a client gave in snake_case are stored in camelCase ([`renamed`]), as ADK's own
//! server returns them and its ports in other languages read them; names within data stay. And the paths of ADK's server show
//! nothing that its clients cannot read ([`read`]).

mod kinds;
#[rustfmt::skip]
#[path = "shape/gen/models.rs"]
mod models;

use std::borrow::Cow;

use kinds::{Object, Presence, Shape};
use memchr::memchr2;

use super::FieldError;
use super::envelope::pointer_to;
use super::json::{Json, Kind, ObjectText, push_string};

/// The parts of a content.
const PARTS: Shape = Shape::List(&Shape::Object(&models::PART));

/// The value of a field of an event, or of its `actions`, with the names that ADK knows in camelCase, otherwise byte for byte. A
/// content with parts that ADK cannot read is unchanged.
///
/// # Errors
/// A name that is given in both spellings, each below `pointer`.
pub fn renamed<'a>(
    json: Json<'a>,
    of: Of,
    name: &str,
    pointer: impl FnOnce() -> String,
) -> Result<Cow<'a, str>, Vec<FieldError>> {
    // A name to replace has an underscore, written as it is or as an escape. Most events have neither.
    let text = json.text();
    let is_suspect = memchr2(b'_', b'\\', text.as_bytes()).is_some() && (text.contains('_') || text.contains("\\u005"));
    let Some((_, _, shape)) = is_suspect.then(|| of.object().field(name)).flatten() else {
        return Ok(Cow::Borrowed(json.text()));
    };
    let mut renames = Renames { start: json.text().as_ptr().addr(), edits: Vec::new(), twice: Vec::new() };
    renames.walk(json, shape, &pointer());
    if !renames.twice.is_empty() {
        return Err(renames.twice);
    }
    if renames.edits.is_empty() {
        return Ok(Cow::Borrowed(json.text()));
    }
    let mut out = String::with_capacity(json.text().len());
    let mut from = 0;
    for (at, length, name) in renames.edits {
        out.push_str(&json.text()[from..at]);
        push_string(&mut out, name);
        from = at + length;
    }
    out.push_str(&json.text()[from..]);
    Ok(Cow::Owned(out))
}

/// The object that has the field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Of {
    Event,
    Actions,
}

impl Of {
    fn object(self) -> &'static Object {
        match self {
            Self::Event => &models::EVENT,
            Self::Actions => &models::EVENT_ACTIONS,
        }
    }
}

/// Names to replace.
struct Renames {
    /// The address of the text, from which offsets count.
    start: usize,
    /// Offset and length of each quoted name, and its replacement.
    edits: Vec<(usize, usize, &'static str)>,
    twice: Vec<FieldError>,
}

impl Renames {
    fn walk(&mut self, json: Json<'_>, shape: &'static Shape, pointer: &str) {
        match shape {
            Shape::Object(object) | Shape::ObjectOrAny(object) => self.members(json, object, pointer),
            Shape::List(element) => {
                let before = (self.edits.len(), self.twice.len());
                for (n, json) in json.as_array().into_iter().flatten().enumerate() {
                    self.walk(json, element, &format!("{pointer}/{n}"));
                }
                let is_parts =
                    matches!(element, Shape::Object(object) if std::ptr::eq(*object, &raw const models::PART));
                let is_changed = before != (self.edits.len(), self.twice.len());
                if is_parts && is_changed && !is_readable(json) {
                    self.edits.truncate(before.0);
                    self.twice.truncate(before.1);
                }
            }
            Shape::Map(value) => {
                for member in json.as_object().into_iter().flatten() {
                    self.walk(member.value, value, &pointer_to(pointer, &member.key));
                }
            }
            _ => {}
        }
    }

    fn members(&mut self, json: Json<'_>, object: &'static Object, pointer: &str) {
        let mut seen: Vec<&str> = Vec::new();
        for member in json.as_object().into_iter().flatten() {
            let Some((name, _, shape)) = object.field(&member.key) else { continue };
            let at = pointer_to(pointer, name);
            if seen.contains(name) {
                self.twice.push(FieldError::new(at, "is given twice, in camelCase and in snake_case"));
                continue;
            }
            seen.push(name);
            if member.key != *name {
                self.edits.push((member.raw_key.as_ptr().addr() - self.start, member.raw_key.len(), name));
            }
            self.walk(member.value, shape, &at);
        }
    }
}

/// Whether ADK can read these parts, apart from names in both spellings.
fn is_readable(parts: Json<'_>) -> bool {
    let mut unread = Unread::default();
    value(parts, &PARTS, &mut unread).is_some() && unread.found.iter().all(|found| found.why == Why::Twice)
}

/// The part of a field's value that ADK reads, with names in camelCase; `None` if ADK cannot read any. Omitted parts are added to
/// `unread`.
pub fn read<'a>(json: Json<'a>, of: Of, name: &str, unread: &mut Unread) -> Option<Cow<'a, str>> {
    let Some((_, presence, shape)) = of.object().field(name) else { return Some(Cow::Borrowed(json.text())) };
    unread.within(name, |unread| field(json, *presence, shape, unread))
}

/// Values that do not have ADK's shape.
#[derive(Debug, Default)]
pub struct Unread {
    place: String,
    found: Vec<Found>,
}

#[derive(Debug)]
struct Found {
    place: String,
    text: String,
    why: Why,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Why {
    /// It has another type.
    Type,
    /// The name is unknown.
    Name,
    /// The same name is there in the other spelling.
    Twice,
}

impl Unread {
    /// Values of the actions of an event.
    pub fn of_actions() -> Self {
        Self { place: "actions".into(), ..Self::default() }
    }

    pub fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    pub fn append(&mut self, mut other: Self) {
        self.found.append(&mut other.found);
    }

    /// An object from places to values. A place is a path in the event, such as `content.parts.1`.
    pub fn to_json(&self) -> String {
        let mut object = ObjectText::default();
        for found in &self.found {
            object.push(&found.place, &found.text);
        }
        object.close()
    }

    fn within<T>(&mut self, name: &str, work: impl FnOnce(&mut Self) -> T) -> T {
        let length = self.place.len();
        if length > 0 {
            self.place.push('.');
        }
        self.place.push_str(name);
        let done = work(self);
        self.place.truncate(length);
        done
    }

    fn add(&mut self, json: Json<'_>, why: Why) {
        self.found.push(Found { place: self.place.clone(), text: json.text().to_owned(), why });
    }
}

/// A value that is omitted by itself if it cannot be read.
fn field<'a>(json: Json<'a>, presence: Presence, shape: &Shape, unread: &mut Unread) -> Option<Cow<'a, str>> {
    let read = match (json.is_null(), presence) {
        (true, Presence::Nullable) => Some(Cow::Borrowed(json.text())),
        (true, _) if !matches!(shape, Shape::Any) => None,
        _ => value(json, shape, unread),
    };
    if read.is_none() {
        unread.add(json, Why::Type);
    }
    read
}

fn value<'a>(json: Json<'a>, shape: &Shape, unread: &mut Unread) -> Option<Cow<'a, str>> {
    let is_text = |accepts: &dyn Fn(&str) -> bool| json.as_str().is_some_and(|text| accepts(&text));
    let fits = match shape {
        Shape::Any => true,
        Shape::Text => json.kind() == Kind::String,
        Shape::Integer => json.kind() == Kind::Number && is_integer(json.text()),
        Shape::Number => json.kind() == Kind::Number,
        Shape::Bool => json.as_bool().is_some(),
        Shape::Base64 => is_text(&is_base64),
        Shape::OneOf(texts) => is_text(&|text| texts.contains(&text)),
        Shape::Scheme => is_scheme(json),
        Shape::Either(shapes) => shapes.iter().any(|shape| {
            let mut none = Unread::default();
            value(json, shape, &mut none).is_some() && none.is_empty()
        }),
        Shape::ObjectOrAny(_) if json.kind() != Kind::Object => true,
        Shape::Object(shape) | Shape::ObjectOrAny(shape) => return object(json, shape, unread),
        Shape::List(shape) => {
            let (mut texts, mut is_changed) = (Vec::new(), false);
            for (n, json) in json.as_array()?.enumerate() {
                let read = unread.within(&n.to_string(), |unread| field(json, Presence::Required, shape, unread));
                is_changed |= !matches!(read, Some(Cow::Borrowed(_)));
                texts.extend(read);
            }
            return Some(if is_changed { format!("[{}]", texts.join(",")).into() } else { json.text().into() });
        }
        Shape::Map(shape) => {
            let (mut out, mut is_changed) = (ObjectText::default(), false);
            for member in json.as_object()? {
                // Any value is readable.
                if matches!(shape, Shape::Any) {
                    break;
                }
                let value = member.value;
                let read = unread.within(&member.key, |unread| field(value, Presence::Required, shape, unread));
                is_changed |= !matches!(read, Some(Cow::Borrowed(_)));
                if let Some(text) = read {
                    out.push_raw(member.raw_key, &text);
                }
            }
            return Some(if is_changed { out.close().into() } else { json.text().into() });
        }
    };
    fits.then(|| json.text().into())
}

fn object<'a>(json: Json<'a>, shape: &'static Object, unread: &mut Unread) -> Option<Cow<'a, str>> {
    let before = unread.found.len();
    let (mut out, mut is_changed, mut is_read) = (ObjectText::default(), false, true);
    let mut seen: Vec<&str> = Vec::new();
    for member in json.as_object()? {
        let Some((name, presence, of)) = shape.field(&member.key) else {
            if shape.open {
                out.push_raw(member.raw_key, member.value.text());
            } else {
                is_changed = true;
                unread.within(&member.key, |unread| unread.add(member.value, Why::Name));
            }
            continue;
        };
        if seen.contains(name) {
            is_changed = true;
            unread.within(&member.key, |unread| unread.add(member.value, Why::Twice));
            continue;
        }
        match unread.within(name, |unread| field(member.value, *presence, of, unread)) {
            Some(text) if member.key == *name => {
                is_changed |= matches!(text, Cow::Owned(_));
                out.push_raw(member.raw_key, &text);
            }
            Some(text) => {
                is_changed = true;
                out.push(name, &text);
            }
            None => {
                is_changed = true;
                is_read &= *presence != Presence::Required;
            }
        }
        seen.push(name);
    }
    let is_lost = |found: &[Found]| found.iter().any(|found| found.why == Why::Type);
    is_read &= shape.fields.iter().all(|(name, presence, _)| *presence != Presence::Required || seen.contains(name));
    is_read &= !(shape.whole && is_lost(&unread.found[before..]));
    let text = if is_changed { Cow::Owned(out.close()) } else { Cow::Borrowed(json.text()) };
    is_read &= shape.rule.is_none_or(|rule| rule(Json::trusted(&text)));
    if !is_read {
        // The whole value is reported.
        unread.found.truncate(before);
        return None;
    }
    Some(text)
}

/// Whether a number has an integer value, as a reader of floats sees it.
fn is_integer(number: &str) -> bool {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    let is_written = number.bytes().all(|b| b.is_ascii_digit() || b == b'-');
    is_written || number.parse().is_ok_and(|value: f64| value.fract() == 0.0 && value.abs() <= EXACT)
}

/// Whether a text is base64 in either alphabet, padded or not, of a whole number of bytes.
fn is_base64(text: &str) -> bool {
    let digits = text.trim_end_matches('=');
    let padding = text.len() - digits.len();
    let is_of = |extra: &[u8]| digits.bytes().all(|b| b.is_ascii_alphanumeric() || extra.contains(&b));
    let last = digits.bytes().last().map_or(0, |b| match b {
        b'A'..=b'Z' => b - b'A',
        b'a'..=b'z' => b - b'a' + 26,
        b'0'..=b'9' => b - b'0' + 52,
        b'+' | b'-' => 62,
        _ => 63,
    });
    let ends = match digits.len() % 4 {
        0 => padding == 0,
        2 => padding <= 2 && last.is_multiple_of(16),
        3 => padding <= 1 && last.is_multiple_of(4),
        _ => false,
    };
    ends && (is_of(b"+/") || is_of(b"-_"))
}

/// Any object with a `type` that is a string is a custom scheme.
fn is_scheme(json: Json<'_>) -> bool {
    let is_text = |name: &str| json.get(name).map(|value| value.kind() == Kind::String);
    json.kind() == Kind::Object && is_text("type").or_else(|| is_text("scheme")).unwrap_or(true)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn stored(name: &str, text: &str) -> Result<String, Vec<String>> {
        let read = renamed(Json::trusted(text), Of::Event, name, || format!("/{name}"));
        read.map(Cow::into_owned).map_err(|errors| errors.into_iter().map(|error| error.field).collect())
    }

    fn shown(name: &str, text: &str) -> (Option<String>, String) {
        let mut unread = Unread::default();
        let read = read(Json::trusted(text), Of::Event, name, &mut unread).map(Cow::into_owned);
        (read, unread.to_json())
    }

    #[test]
    fn names_that_adk_knows_are_stored_in_camel_case_and_nothing_else_changes() {
        for (name, given, kept) in [
            (
                "content",
                r#"{ "parts" : [ {"function_call" :{"name":"f", "args":{"a_b":{"function_call":1.0}} }, "thought_signature":"-__-"}]}"#,
                r#"{ "parts" : [ {"functionCall" :{"name":"f", "args":{"a_b":{"function_call":1.0}} }, "thoughtSignature":"-__-"}]}"#,
            ),
            (
                "content",
                r#"{"parts":[{"function\u005fresponse":{"response":{"mime_type":1},"will_continue":null}},{"inline_data":{"mime_type":"a/b","data":"QQ=="}}]}"#,
                r#"{"parts":[{"functionResponse":{"response":{"mime_type":1},"willContinue":null}},{"inlineData":{"mimeType":"a/b","data":"QQ=="}}]}"#,
            ),
            ("usageMetadata", r#"{"total_token_count": 1E2,"own_name":1}"#, r#"{"totalTokenCount": 1E2,"own_name":1}"#),
            (
                "groundingMetadata",
                r#"{"grounding_chunks":[{"retrieved_context":{"custom_metadata":[{"key":"a_b","string_value":"c_d"}]}}]}"#,
                r#"{"groundingChunks":[{"retrievedContext":{"customMetadata":[{"key":"a_b","stringValue":"c_d"}]}}]}"#,
            ),
            ("customMetadata", r#"{"function_call":{"mime_type":1}}"#, r#"{"function_call":{"mime_type":1}}"#),
            ("output", r#"{"function_call":{"mime_type":1}}"#, r#"{"function_call":{"mime_type":1}}"#),
            // As ADK's own server answers it.
            ("cacheMetadata", r#"{"contents_count":1,"fingerprint":"f"}"#, r#"{"contents_count":1,"fingerprint":"f"}"#),
            ("content", r#""function_call""#, r#""function_call""#),
        ] {
            assert_eq!(stored(name, given).as_deref(), Ok(kept));
        }
        let compaction =
            r#"{"start_timestamp":1,"end_timestamp":2,"compacted_content":{"parts":[{"file_data":{"file_uri":"u"}}]}}"#;
        let kept =
            r#"{"startTimestamp":1,"endTimestamp":2,"compactedContent":{"parts":[{"fileData":{"fileUri":"u"}}]}}"#;
        assert_eq!(renamed(Json::trusted(compaction), Of::Actions, "compaction", String::new).unwrap(), kept);
        let config = r#"{"call_1":{"auth_scheme":{"type":"oauth2","token_endpoint":"t"},"raw_auth_credential":{"auth_type":"oauth2"}}}"#;
        let kept = r#"{"call_1":{"authScheme":{"type":"oauth2","token_endpoint":"t"},"rawAuthCredential":{"authType":"oauth2"}}}"#;
        assert_eq!(renamed(Json::trusted(config), Of::Actions, "requestedAuthConfigs", String::new).unwrap(), kept);
    }

    #[test]
    fn content_whose_parts_adk_could_not_read_stays_as_it_is() {
        for parts in [
            r#"[{"function_call":{"error_code":1}}]"#,
            r#"[{"function_call":{"name":"f"}},null]"#,
            r#"[{"inline_data":{"mime_type":5}}]"#,
            r#"[{"inline_data":{"data":"-_+/"}}]"#,
            r#"[{"function_call":{"args":[]},"functionCall":{}}]"#,
            r#"{"function_call":{}}"#,
        ] {
            let content = format!(r#"{{"role":"user","parts":{parts}}}"#);
            assert_eq!(stored("content", &content).as_deref(), Ok(&*content));
        }
    }

    #[test]
    fn both_spellings_are_refused() {
        for (name, given, at) in [
            ("content", r#"{"parts":[{},{"functionCall":{},"function_call":{}}]}"#, "/content/parts/1/functionCall"),
            (
                "content",
                r#"{"parts":[{"inlineData":{"mime_type":"a","mimeType":"a"}}]}"#,
                "/content/parts/0/inlineData/mimeType",
            ),
            ("usageMetadata", r#"{"total_token_count":1,"totalTokenCount":1}"#, "/usageMetadata/totalTokenCount"),
        ] {
            assert_eq!(stored(name, given), Err(vec![at.to_owned()]));
        }
    }

    #[test]
    fn what_adk_takes_is_shown_as_it_is() {
        for (name, text) in [
            ("content", r#"{"role":null,"parts":[{"text":"","thought":true,"thoughtSignature":"-__-P-8="}]}"#),
            ("content", r#"{ "parts": [{"functionCall":{"args":{"a":[null]}}}, {}]}"#),
            ("usageMetadata", r#"{"promptTokenCount":1E2,"candidatesTokenCount":123456789012345678901234567890}"#),
            ("finishReason", r#""OF_A_LATER_VERSION""#),
            ("output", "null"),
            ("longRunningToolIds", r#"["a","a"]"#),
            ("nodeInfo", r#"{"path":"p","later":1}"#),
            ("citationMetadata", r#"{"citationSources":[{"uri":"u"}]}"#),
            ("cacheMetadata", r#"{"fingerprint":"f","contents_count":1,"cache_name":null}"#),
        ] {
            assert_eq!(shown(name, text), (Some(text.to_owned()), "{}".to_owned()));
        }
    }

    #[test]
    fn of_what_adk_refuses_as_little_as_possible_is_left_out() {
        for (name, text, kept, unread) in [
            (
                "usageMetadata",
                r#"{"a":1,"promptTokenCount":"5","totalTokenCount":5.5,"trafficType":"x"}"#,
                Some(r#"{"trafficType":"x"}"#),
                r#"{"usageMetadata.a":1,"usageMetadata.promptTokenCount":"5","usageMetadata.totalTokenCount":5.5}"#,
            ),
            (
                "groundingMetadata",
                r#"{"groundingChunks":[{"web":{"uri":5,"title":"t"}},7]}"#,
                Some(r#"{"groundingChunks":[{"web":{"title":"t"}}]}"#),
                r#"{"groundingMetadata.groundingChunks.0.web.uri":5,"groundingMetadata.groundingChunks.1":7}"#,
            ),
            ("cacheMetadata", r#"{"fingerprint":"f"}"#, None, r#"{"cacheMetadata":{"fingerprint":"f"}}"#),
            (
                "cacheMetadata",
                r#"{"fingerprint":"f","contents_count":1,"cache_name":"c"}"#,
                None,
                r#"{"cacheMetadata":{"fingerprint":"f","contents_count":1,"cache_name":"c"}}"#,
            ),
            ("nodeInfo", r#"{"path":null}"#, Some("{}"), r#"{"nodeInfo.path":null}"#),
            ("turnComplete", "1", None, r#"{"turnComplete":1}"#),
        ] {
            assert_eq!(shown(name, text), (kept.map(str::to_owned), unread.to_owned()));
        }
    }

    #[test]
    fn base64_is_read_as_python_reads_it() {
        for good in ["", "QQ", "QQ=", "QQ==", "QUI", "QUI=", "-_-_", "+/+/"] {
            assert!(is_base64(good), "{good}");
        }
        for bad in ["Q", "QR", "QUJ", "QUJD=", "QQ===", "-_+/", "QU\nI", "Q=Q", "é"] {
            assert!(!is_base64(bad), "{bad}");
        }
    }

    /// Values of any shape, with the names and texts that matter here.
    fn any() -> impl Strategy<Value = String> {
        let names = prop::sample::select(vec![
            "parts",
            "role",
            "text",
            "function_call",
            "functionCall",
            "args",
            "name",
            "inline_data",
            "mime_type",
            "data",
            "web_search_queries",
            "grounding_chunks",
            "web",
            "uri",
            "thought",
            "functionResponse",
            "response",
            "total_token_count",
            "x_y",
            "",
        ]);
        let leaf =
            prop::sample::select(vec!["null", "true", "5", "1E2", "5.5", r#""QQ==""#, r#""a_b""#, r#""""#, "{}", "[]"]);
        leaf.prop_map(str::to_owned).prop_recursive(5, 40, 4, move |inner| {
            let members = prop::collection::btree_map(names.clone(), inner.clone(), 0..4);
            prop_oneof![
                prop::collection::vec(inner, 0..4).prop_map(|elements| format!("[{}]", elements.join(" , "))),
                members.prop_map(|members| {
                    let members: Vec<_> =
                        members.into_iter().map(|(name, text)| format!("\"{name}\": {text}")).collect();
                    format!("{{{}}}", members.join(","))
                }),
            ]
        })
    }

    proptest! {
        #[test]
        fn renaming_changes_names_alone_and_once(
            name in prop::sample::select(vec!["content", "groundingMetadata", "usageMetadata", "customMetadata"]),
            text in any(),
        ) {
            let Ok(first) = stored(name, &text) else { return Ok(()) };
            prop_assert_eq!(stored(name, &first), Ok(first.clone()));
            let letters = |text: &str| text.replace('_', "").to_lowercase();
            prop_assert_eq!(letters(&first), letters(&text));
        }

        #[test]
        fn what_is_shown_can_be_read(
            name in prop::sample::select(vec!["content", "groundingMetadata", "usageMetadata", "customMetadata"]),
            text in any(),
        ) {
            let (read, unread) = shown(name, &text);
            prop_assert!(Json::parse(unread.as_bytes(), 64).is_ok());
            if let Some(read) = read {
                prop_assert!(Json::parse(read.as_bytes(), 64).is_ok());
                prop_assert_eq!(shown(name, &read), (Some(read), "{}".to_owned()));
            } else {
                prop_assert_eq!(unread, format!("{{\"{name}\":{text}}}"));
            }
        }
    }
}
