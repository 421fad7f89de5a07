//! Canonical text: what JSON-equal values share.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::mem;

use super::strings::{push_string, unescape};
use super::tokens::{Token, Tokens};
use super::value::{Json, Kind};
use crate::domain::number::sum_of_integers;

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
        let start = out.len();
        let mut open: Vec<Open> = Vec::new();
        let mut members: Vec<Member<'_>> = Vec::new();
        let mut unsorted: Vec<Unsorted> = Vec::new();
        for (_, token) in Tokens::of(self.text()) {
            match token {
                Token::Open(bracket) => {
                    out.push(char::from(bracket));
                    let is_object = bracket == b'{';
                    open.push(Open { first: is_object.then_some(members.len()), awaits_key: is_object });
                }
                Token::Comma => {
                    out.push(',');
                    if let Some(innermost) = open.last_mut() {
                        innermost.awaits_key = innermost.first.is_some();
                    }
                }
                Token::Scalar(text) => {
                    if open.last_mut().is_some_and(|innermost| mem::take(&mut innermost.awaits_key)) {
                        let start = out.len();
                        members.push(Member { key: push_canonical_string(out, text), start });
                        out.push(':');
                    } else {
                        push_scalar(out, text);
                    }
                }
                Token::Close => match open.pop() {
                    Some(Open { first: Some(first), .. }) => {
                        unsorted.extend(Unsorted::of(members.get(first..).unwrap_or_default(), out.len()));
                        members.truncate(first);
                        out.push('}');
                    }
                    _ => out.push(']'),
                },
            }
        }
        if !unsorted.is_empty() {
            unsorted.sort_unstable_by_key(|object| object.at);
            let text = out.split_off(start);
            push_sorted(out, &text, start, &unsorted);
        }
    }

    /// JSON equality, as [`Json::canonical`] defines it.
    pub fn same(self, other: Json<'_>) -> bool {
        self.text() == other.text() || (self.kind() == other.kind() && self.canonical() == other.canonical())
    }
}

/// A container whose canonical text is being written.
struct Open {
    /// Of an object, its first member among those of all that are open.
    first: Option<usize>,
    awaits_key: bool,
}

struct Member<'a> {
    key: Cow<'a, str>,
    /// Where it begins in the canonical text.
    start: usize,
}

/// An object whose members are not in the order of their keys.
struct Unsorted {
    /// Where its brace is.
    at: usize,
    end: usize,
    /// Where each begins and ends, in the order of their keys.
    members: Vec<(usize, usize)>,
}

impl Unsorted {
    /// Of the members of an object, the last of which ends at `end`; `None` if they are in order.
    fn of(members: &[Member<'_>], end: usize) -> Option<Self> {
        let first = members.first()?.start;
        if members.is_sorted_by(|a, b| a.key <= b.key) {
            return None;
        }
        let ends = members.iter().skip(1).map(|next| next.start - 1).chain([end]);
        let mut sorted: Vec<_> = members.iter().zip(ends).collect();
        sorted.sort_by(|(a, _), (b, _)| a.key.cmp(&b.key));
        let members = sorted.into_iter().map(|(member, end)| (member.start, end)).collect();
        Some(Self { at: first - 1, end, members })
    }
}

/// Appends a text, whose places count from `start`, with the members of those objects, which are all that are not in order, in order.
fn push_sorted(out: &mut String, text: &str, start: usize, unsorted: &[Unsorted]) {
    // What is left, the last of it first.
    let mut left = vec![(start, start + text.len())];
    while let Some((from, to)) = left.pop() {
        let next = unsorted.partition_point(|object| object.at < from);
        let object = unsorted.get(next).filter(|object| object.at < to);
        let plain_to = object.map_or(to, |object| object.at + 1);
        out.push_str(text.get(from - start..plain_to - start).unwrap_or_default());
        if let Some(object) = object {
            left.push((object.end, to));
            let comma = object.members.iter().map(|(_, end)| *end).min().unwrap_or_default();
            for (n, member) in object.members.iter().enumerate().rev() {
                left.push(*member);
                if n > 0 {
                    left.push((comma, comma + 1));
                }
            }
        }
    }
}

fn push_scalar(out: &mut String, text: &str) {
    match Json::trusted(text).kind() {
        Kind::String => drop(push_canonical_string(out, text)),
        Kind::Number => push_number(out, text),
        _ => out.push_str(text),
    }
}

/// Appends a string, given with its quotes, and returns what it means. One without escapes is canonical as it stands.
fn push_canonical_string<'a>(out: &mut String, quoted: &'a str) -> Cow<'a, str> {
    let meant = unescape(quoted);
    match &meant {
        Cow::Borrowed(_) => out.push_str(quoted),
        Cow::Owned(meant) => push_string(out, meant),
    }
    meant
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
        // Beyond `i128`.
        None => drop(write!(out, "e{}", sum_of_integers(exponent, shift))),
    }
}
