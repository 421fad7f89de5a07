//! Canonical text: what JSON-equal values share.

use std::borrow::Cow;
use std::fmt::Write as _;

use super::strings::{push_string, unescape};
use super::tokens::{Child, Children, container_ends};
use super::value::{Json, Kind};

impl Json<'_> {
    /// Text that two values share exactly when they are JSON-equal; itself valid JSON and its own canonical text.
    ///
    /// Members are sorted by the bytes of the unescaped key, strings escaped as by [`push_string`], numbers written by their
    /// mathematical value to any precision (`1`, `1.0` and `10e-1` alike), white space left out.
    pub fn canonical(self) -> String {
        let mut out = String::with_capacity(self.text().len());
        self.push_canonical(&mut out);
        out
    }

    /// Appends its [canonical](Json::canonical) text.
    pub fn push_canonical(self, out: &mut String) {
        let ends =
            if matches!(self.kind(), Kind::Array | Kind::Object) { container_ends(self.text()) } else { Vec::new() };
        let mut open: Vec<Open<'_>> = Vec::new();
        let (mut at, mut value) = (0, self);
        loop {
            match value.kind() {
                Kind::Null | Kind::Bool => out.push_str(value.text()),
                Kind::Number => push_number(out, value.text()),
                Kind::String => push_canonical_string(out, value.text()),
                Kind::Array => {
                    out.push('[');
                    open.push(Open::Array(Children::of(self.text(), at, &ends)));
                }
                Kind::Object => {
                    out.push('{');
                    open.push(Open::object(Children::of(self.text(), at, &ends)));
                }
            }
            (at, value) = loop {
                let Some(innermost) = open.last_mut() else {
                    return;
                };
                if let Some(child) = innermost.next() {
                    // Only a container that was opened a moment ago leaves a bracket last: every value ends otherwise.
                    if !out.ends_with(['[', '{']) {
                        out.push(',');
                    }
                    if !child.raw_key.is_empty() {
                        push_canonical_string(out, child.raw_key);
                        out.push(':');
                    }
                    break (child.at, Json::trusted(child.text));
                }
                out.push(innermost.bracket());
                open.pop();
            };
        }
    }

    /// JSON equality, as [`Json::canonical`] defines it.
    pub fn same(self, other: Json<'_>) -> bool {
        self.text() == other.text() || (self.kind() == other.kind() && self.canonical() == other.canonical())
    }
}

/// Appends a string, given with its quotes. One without escapes is canonical as it stands.
fn push_canonical_string(out: &mut String, quoted: &str) {
    match unescape(quoted) {
        Cow::Borrowed(_) => out.push_str(quoted),
        Cow::Owned(meant) => push_string(out, &meant),
    }
}

/// A container whose canonical text is being written: what is left of it.
enum Open<'a> {
    Array(Children<'a>),
    Object(std::vec::IntoIter<(Cow<'a, str>, Child<'a>)>),
}

impl<'a> Open<'a> {
    fn object(members: Children<'a>) -> Self {
        let mut members: Vec<_> = members.map(|child| (unescape(child.raw_key), child)).collect();
        members.sort_by(|(a, _), (b, _)| a.cmp(b));
        Open::Object(members.into_iter())
    }

    fn next(&mut self) -> Option<Child<'a>> {
        match self {
            Open::Array(elements) => elements.next(),
            Open::Object(members) => members.next().map(|(_, child)| child),
        }
    }

    fn bracket(&self) -> char {
        match self {
            Open::Array(_) => ']',
            Open::Object(_) => '}',
        }
    }
}

/// Appends a number by its mathematical value: sign, significant digits as an integer without trailing zeros, and the power of ten
/// unless it is 0. So `-0.0` gives `0`, `1500` gives `15e2` and `1.50` gives `15e-1`.
fn push_number(out: &mut String, text: &str) {
    let (sign, unsigned) = text.strip_prefix('-').map_or(("", text), |unsigned| ("-", unsigned));
    let (mantissa, exponent) = unsigned.split_once(['e', 'E']).unwrap_or((unsigned, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = if fraction.is_empty() { Cow::Borrowed(whole) } else { Cow::Owned([whole, fraction].concat()) };
    let significant = digits.trim_end_matches('0');
    let shift = (digits.len() - significant.len()) as i128 - fraction.len() as i128;
    let significant = significant.trim_start_matches('0');
    if significant.is_empty() {
        return out.push('0');
    }
    out.push_str(sign);
    out.push_str(significant);
    match exponent.parse::<i128>().ok().and_then(|exponent| exponent.checked_add(shift)) {
        Some(0) => {}
        Some(sum) => drop(write!(out, "e{sum}")),
        None => {
            out.push('e');
            push_huge_sum(out, exponent, shift);
        }
    }
}

/// Appends the sum of an exponent beyond `i128` and a shift, which is a difference of lengths and hence cannot turn its sign.
fn push_huge_sum(out: &mut String, exponent: &str, shift: i128) {
    let negative = exponent.starts_with('-');
    let magnitude = exponent.trim_start_matches(['+', '-']).trim_start_matches('0');
    let mut carry = if negative { -shift } else { shift };
    let mut digits = Vec::with_capacity(magnitude.len() + 1);
    for digit in magnitude.bytes().rev() {
        let sum = carry + i128::from(digit.wrapping_sub(b'0'));
        digits.push(b'0' + sum.rem_euclid(10) as u8);
        carry = sum.div_euclid(10);
    }
    if carry > 0 {
        digits.push(b'1');
    }
    out.push_str(if negative { "-" } else { "" });
    out.extend(digits.iter().rev().skip_while(|&&digit| digit == b'0').map(|&digit| char::from(digit)));
}
