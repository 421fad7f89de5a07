//! JSON and decimal numbers for the model: nothing is rounded, reordered or dropped.

use std::{cmp::Ordering, collections::BTreeMap, fmt};

use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, Visitor},
};
use serde_json::value::RawValue;

/// A JSON value. Two are `==` if they are written alike: digit for digit and member for member, white space aside.
/// [`Json::same`] is what JSON calls equal.
#[derive(Clone, PartialEq, Eq)]
pub enum Json {
    Null,
    Bool(bool),
    Number(String),
    String(String),
    Array(Vec<Self>),
    Object(Members),
}

type Members = Vec<(String, Json)>;

/// The keys of a scope, or of all of them, with their values.
pub type State = BTreeMap<String, Json>;

impl Json {
    /// Panics unless the text is JSON.
    pub fn parse(text: &str) -> Self {
        let read = |text: &RawValue| Self::parse(text.get());
        match text.trim_start().as_bytes()[0] {
            b'n' => Self::Null,
            b't' => Self::Bool(true),
            b'f' => Self::Bool(false),
            b'"' => Self::String(serde_json::from_str(text).expect("a JSON string")),
            b'[' => {
                let elements: Vec<&RawValue> = serde_json::from_str(text).expect("a JSON array");
                Self::Array(elements.into_iter().map(read).collect())
            }
            b'{' => {
                let Raw(members) = serde_json::from_str(text).expect("a JSON object");
                Self::Object(members.into_iter().map(|(name, value)| (name, read(value))).collect())
            }
            _ => Self::Number(text.trim().to_owned()),
        }
    }

    pub fn string(text: impl Into<String>) -> Self {
        Self::String(text.into())
    }

    pub fn object<'a>(members: impl IntoIterator<Item = (&'a str, Self)>) -> Self {
        Self::Object(members.into_iter().map(|(name, value)| (name.to_owned(), value)).collect())
    }

    pub fn get(&self, name: &str) -> Option<&Self> {
        let Self::Object(members) = self else { return None };
        members.iter().find(|(key, _)| key == name).map(|(_, value)| value)
    }

    /// A member that is a string.
    pub fn text(&self, name: &str) -> Option<&str> {
        match self.get(name)? {
            Self::String(text) => Some(text),
            _ => None,
        }
    }

    /// An object as state. Panics if it is none.
    pub fn into_state(self) -> State {
        let Self::Object(members) = self else { panic!("not an object: {self}") };
        members.into_iter().collect()
    }

    /// JSON equality: numbers by value, members in any order.
    pub fn same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Number(a), Self::Number(b)) => Decimal::parse(a).compare(&Decimal::parse(b)).is_eq(),
            (Self::Array(a), Self::Array(b)) => a.len() == b.len() && a.iter().zip(b).all(|(a, b)| a.same(b)),
            (Self::Object(a), Self::Object(b)) => {
                a.len() == b.len() && a.iter().all(|(name, a)| other.get(name).is_some_and(|b| a.same(b)))
            }
            _ => self == other,
        }
    }

    /// RFC 7396, this being the target: members that stay keep their place, new ones go last.
    pub fn merged(&self, patch: &Self) -> Self {
        let Self::Object(patch) = patch else { return patch.clone() };
        let mut members = if let Self::Object(members) = self { members.clone() } else { Vec::new() };
        for (name, value) in patch {
            let place = members.iter().position(|(known, _)| known == name);
            match (value, place) {
                (Self::Null, Some(place)) => drop(members.remove(place)),
                (Self::Null, None) => {}
                (value, Some(place)) => members[place].1 = members[place].1.merged(value),
                (value, None) => members.push((name.clone(), Self::Null.merged(value))),
            }
        }
        Self::Object(members)
    }
}

/// The compact text.
impl fmt::Display for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let quoted = |text: &str| serde_json::to_string(text).expect("a string");
        match self {
            Self::Null => f.write_str("null"),
            Self::Bool(value) => write!(f, "{value}"),
            Self::Number(text) => f.write_str(text),
            Self::String(text) => f.write_str(&quoted(text)),
            Self::Array(elements) => {
                let elements: Vec<_> = elements.iter().map(Self::to_string).collect();
                write!(f, "[{}]", elements.join(","))
            }
            Self::Object(members) => {
                let members: Vec<_> = members.iter().map(|(name, value)| format!("{}:{value}", quoted(name))).collect();
                write!(f, "{{{}}}", members.join(","))
            }
        }
    }
}

impl fmt::Debug for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{self}")
    }
}

/// The members of an object, in written order.
struct Raw<'a>(Vec<(String, &'a RawValue)>);

impl<'de> Deserialize<'de> for Raw<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct InOrder;
        impl<'de> Visitor<'de> for InOrder {
            type Value = Raw<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Raw<'de>, A::Error> {
                let mut members = Vec::new();
                while let Some(member) = map.next_entry()? {
                    members.push(member);
                }
                Ok(Raw(members))
            }
        }
        deserializer.deserialize_map(InOrder)
    }
}

/// A decimal number, exactly: `units`, of which 10 to the power of `scale` make 1. As wide as these tests need.
#[derive(Clone, Copy)]
pub struct Decimal {
    units: i128,
    scale: u32,
}

impl Decimal {
    /// Reads a JSON number, one with an exponent as the plain decimal that it means.
    pub fn parse(text: &str) -> Self {
        let (mantissa, exponent) = text.split_once(['e', 'E']).unwrap_or((text, "0"));
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let units: i128 = format!("{whole}{fraction}").parse().expect("a number of these tests");
        let scale = i32::try_from(fraction.len()).expect("few digits") - exponent.parse::<i32>().expect("an exponent");
        match u32::try_from(scale) {
            Ok(scale) => Self { units, scale },
            Err(_) => Self { units: units * 10_i128.pow(scale.unsigned_abs()), scale: 0 },
        }
    }

    /// The units of both at the larger of their scales, and that scale.
    fn aligned(self, other: Self) -> (i128, i128, u32) {
        let scale = self.scale.max(other.scale);
        let units = |number: Self| number.units * 10_i128.pow(scale - number.scale);
        (units(self), units(other), scale)
    }

    pub fn plus(self, other: Self) -> Self {
        let (a, b, scale) = self.aligned(other);
        Self { units: a + b, scale }
    }

    pub fn compare(&self, other: &Self) -> Ordering {
        let (a, b, _) = self.aligned(*other);
        a.cmp(&b)
    }
}

/// Without exponent, with all digits of its scale, and without a sign if it is zero.
impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.units < 0 { "-" } else { "" };
        let scale = self.scale as usize;
        let digits = format!("{:0>1$}", self.units.unsigned_abs(), scale + 1);
        let (whole, fraction) = digits.split_at(digits.len() - scale);
        let point = if fraction.is_empty() { "" } else { "." };
        write!(f, "{sign}{whole}{point}{fraction}")
    }
}
