//! A valid JSON value, borrowed or owned, and what is inside.

use std::borrow::Cow;
use std::fmt;

use memchr::memchr2_iter;

use super::strings::{push_string, unescape};
use super::tokens::{Child, Children, Token, Tokens};

/// A valid JSON value, borrowed, without surrounding white space.
///
/// `Debug` shows kind and length only: values must not reach logs.
#[derive(Clone, Copy)]
pub struct Json<'a>(&'a str);

/// Below it, every integer has a floating-point number of its own.
const EXACT: f64 = (1_u64 << 53) as f64;

/// The six kinds of JSON value (RFC 8259, section 3); `true` and `false` are one kind here.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Null,
    Bool,
    Number,
    String,
    Array,
    Object,
}

impl Kind {
    /// For a sentence.
    pub const fn with_article(self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool => "a boolean",
            Self::Number => "a number",
            Self::String => "a string",
            Self::Array => "an array",
            Self::Object => "an object",
        }
    }
}

/// One member of an object.
pub struct Member<'a> {
    /// The key as written: with its quotes and escapes.
    pub raw_key: &'a str,
    /// The key that is meant.
    pub key: Cow<'a, str>,
    pub value: Json<'a>,
}

impl fmt::Debug for Json<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Json({:?}, {} bytes)", self.kind(), self.0.len())
    }
}

impl<'a> Json<'a> {
    /// Wraps text that is known to be valid: read from the store, or composed of validated pieces. Trims nothing, so there must be
    /// nothing to trim. Other text gives meaningless answers, but no panic.
    pub fn trusted(text: &'a str) -> Json<'a> {
        Json(text)
    }

    /// The value as it was written.
    pub fn text(self) -> &'a str {
        self.0
    }

    pub fn kind(self) -> Kind {
        match self.0.as_bytes().first() {
            Some(b'n') => Kind::Null,
            Some(b't' | b'f') => Kind::Bool,
            Some(b'"') => Kind::String,
            Some(b'[') => Kind::Array,
            Some(b'{') => Kind::Object,
            _ => Kind::Number,
        }
    }

    pub fn is_null(self) -> bool {
        self.kind() == Kind::Null
    }

    pub fn as_bool(self) -> Option<bool> {
        (self.kind() == Kind::Bool).then_some(self.0 == "true")
    }

    /// The integer that is meant, however it is written: `7`, `7.0` and `7e0` are one to JSON Schema. `None` for another kind, a fraction,
    /// or what has no exact place in 64 bits.
    pub fn as_integer(self) -> Option<i64> {
        let number = Some(self.0).filter(|_| self.kind() == Kind::Number)?;
        let is_whole = |number: &f64| number.fract() == 0.0 && number.abs() < EXACT;
        number.parse().ok().or_else(|| number.parse().ok().filter(is_whole).map(|number| number as i64))
    }

    /// The integer of at least 0 that is meant, of any size: the largest of 64 bits for what has no exact place there.
    pub fn as_count(self) -> Option<i64> {
        let is_beyond = |number: f64| number.fract() == 0.0 && number >= EXACT;
        let beyond = || (self.kind() == Kind::Number && self.0.parse().is_ok_and(is_beyond)).then_some(i64::MAX);
        self.as_integer().filter(|number| *number >= 0).or_else(beyond)
    }

    /// The string that is meant, or `None` for another kind. Borrowed unless it was written with escapes.
    pub fn as_str(self) -> Option<Cow<'a, str>> {
        (self.kind() == Kind::String).then(|| unescape(self.0))
    }

    /// The members in written order, or `None` for another kind. Values are skipped over, not looked into: a walk through all costs
    /// one scan.
    pub fn as_object(self) -> Option<impl Iterator<Item = Member<'a>>> {
        let member = |Child { raw_key, text }| Member { raw_key, key: unescape(raw_key), value: Json(text) };
        (self.kind() == Kind::Object).then(|| Children::of(self.0).map(member))
    }

    /// The elements in order, or `None` for another kind.
    pub fn as_array(self) -> Option<impl Iterator<Item = Json<'a>>> {
        (self.kind() == Kind::Array).then(|| Children::of(self.0).map(|child| Json(child.text)))
    }

    /// The value of the member with this (unescaped) key; `None` if there is none or this is no object. Reads the object up to it.
    pub fn get(self, key: &str) -> Option<Json<'a>> {
        self.as_object()?.find(|member| member.key == key).map(|member| member.value)
    }

    /// How deep containers nest in this value: 0 for a scalar, 1 for `[]`.
    pub fn depth(self) -> usize {
        let (mut depth, mut deepest) = (0_usize, 0);
        for (_, token) in Tokens::of(self.0) {
            match token {
                Token::Open(_) => depth += 1,
                Token::Close => depth = depth.saturating_sub(1),
                _ => {}
            }
            deepest = deepest.max(depth);
        }
        deepest
    }

    /// Whether it has enough brackets to nest deeper than this, those within strings included: an upper bound of its
    /// [depth](Json::depth) that costs far less.
    pub fn may_nest_deeper_than(self, depth: usize) -> bool {
        memchr2_iter(b'{', b'[', self.0.as_bytes()).nth(depth).is_some()
    }

    /// The scalars within, in written order, and the keys: a string as it is meant, any other as it was written.
    pub fn scalars(self) -> impl Iterator<Item = (Kind, Cow<'a, str>)> {
        Tokens::of(self.0).filter_map(|(_, token)| {
            let Token::Scalar(text) = token else { return None };
            let kind = Json(text).kind();
            Some((kind, if kind == Kind::String { unescape(text) } else { Cow::Borrowed(text) }))
        })
    }

    pub fn to_raw(self) -> RawJson {
        RawJson(self.0.into())
    }
}

/// A valid JSON value, owned. `==` and `Hash` go by the text, not by JSON equality (see [`Json::same`]).
///
/// `Debug` shows the length only: values must not reach logs.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct RawJson(Box<str>);

impl RawJson {
    /// As [`Json::trusted`].
    pub fn trusted(text: impl Into<Box<str>>) -> Self {
        RawJson(text.into())
    }

    /// The JSON string that means `s`.
    pub fn string(s: &str) -> Self {
        let mut out = String::with_capacity(s.len() + 2);
        push_string(&mut out, s);
        RawJson(out.into())
    }

    pub fn text(&self) -> &str {
        &self.0
    }

    pub fn json(&self) -> Json<'_> {
        Json(&self.0)
    }

    pub fn into_string(self) -> String {
        self.0.into()
    }
}

impl fmt::Debug for RawJson {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "RawJson({} bytes)", self.0.len())
    }
}
