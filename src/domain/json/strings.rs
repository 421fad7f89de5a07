//! JSON strings: the end of their plain text, what escapes mean, and how a string is written.

use std::borrow::Cow;

use memchr::memchr;

/// How many bytes there are before the first that a JSON string cannot hold unescaped: a quote, a backslash or a control
/// character.
pub fn plain_bytes(bytes: &[u8]) -> usize {
    const BLOCK: usize = 64;
    // Most strings are shorter than this, and most text is in longer ones.
    let (short, long) = bytes.split_at(bytes.len().min(BLOCK / 2));
    if let Some(at) = first_special(short) {
        return at;
    }
    // The compiler makes vector instructions of this loop, for it has no way out of its middle.
    let is_plain =
        |block: &&[u8; BLOCK]| !block.iter().fold(false, |any, b| any | (*b < b' ') | (*b == b'"') | (*b == b'\\'));
    let plain = short.len() + BLOCK * long.as_chunks().0.iter().take_while(is_plain).count();
    let rest = bytes.get(plain..).unwrap_or_default();
    plain + first_special(rest).unwrap_or(rest.len())
}

/// Where the first byte is that [`plain_bytes`] ends at: eight bytes a step.
fn first_special(bytes: &[u8]) -> Option<usize> {
    const ONES: u64 = u64::MAX / 0xFF;
    // Of each byte below `least` (0x80 at most) the highest bit is set; of a byte after such a one, it may be, too.
    let below = |word: u64, least: u8| word.wrapping_sub(ONES * u64::from(least)) & !word & (ONES << 7);
    let (words, tail) = bytes.as_chunks();
    for (n, word) in words.iter().enumerate() {
        let word = u64::from_le_bytes(*word);
        let is = |byte: u8| below(word ^ (ONES * u64::from(byte)), 1);
        let found = below(word, b' ') | is(b'"') | is(b'\\');
        if found != 0 {
            return Some(n * 8 + found.trailing_zeros() as usize / 8);
        }
    }
    let at = tail.iter().position(|b| *b < b' ' || *b == b'"' || *b == b'\\');
    at.map(|at| words.len() * 8 + at)
}

/// What a JSON string, given with its quotes, means. Unpaired surrogates, which [`parse`](super::Json::parse) refuses, become U+FFFD.
pub fn unescape(quoted: &str) -> Cow<'_, str> {
    let raw = quoted.get(1..quoted.len().saturating_sub(1)).unwrap_or_default();
    if memchr(b'\\', raw.as_bytes()).is_none() {
        return Cow::Borrowed(raw);
    }
    let mut out = String::with_capacity(raw.len());
    let mut rest = raw;
    while let Some((plain, escape)) = rest.split_once('\\') {
        out.push_str(plain);
        let mut chars = escape.chars();
        let char = match chars.next() {
            Some('b') => Some('\u{8}'),
            Some('f') => Some('\u{C}'),
            Some('n') => Some('\n'),
            Some('r') => Some('\r'),
            Some('t') => Some('\t'),
            Some('u') => {
                let (char, after) = unicode_escape(chars.as_str()).unwrap_or((None, chars.as_str()));
                chars = after.chars();
                char
            }
            itself => itself,
        };
        out.push(char.unwrap_or(char::REPLACEMENT_CHARACTER));
        rest = chars.as_str();
    }
    out.push_str(rest);
    Cow::Owned(out)
}

/// Reads on after `\u`: the character, or `None` for an unpaired surrogate, and the text after it. A pair takes two escapes
/// (RFC 8259, section 7). `None` overall if there are no four hexadecimal digits.
pub fn unicode_escape(text: &str) -> Option<(Option<char>, &str)> {
    let (unit, rest) = hex4(text)?;
    if let 0xD800..=0xDBFF = unit
        && let Some((low @ 0xDC00..=0xDFFF, rest)) = rest.strip_prefix("\\u").and_then(hex4)
    {
        return Some((char::from_u32(0x1_0000 + ((unit - 0xD800) << 10) + (low - 0xDC00)), rest));
    }
    Some((char::from_u32(unit), rest))
}

fn hex4(text: &str) -> Option<(u32, &str)> {
    let (digits, rest) = text.split_at_checked(4)?;
    let unit = digits.chars().try_fold(0, |unit, digit| Some(unit << 4 | digit.to_digit(16)?))?;
    Some((unit, rest))
}

/// Appends `s` as a JSON string: quotes around it, and only the escapes that RFC 8259 (section 7) demands, the short ones where there
/// are any and `\u00xx` in lower case otherwise.
pub fn push_string(out: &mut String, s: &str) {
    out.push('"');
    let mut rest = s;
    loop {
        let (plain, special) = rest.split_at(plain_bytes(rest.as_bytes()));
        out.push_str(plain);
        match special.as_bytes().first() {
            None => break,
            Some(b'"') => out.push_str("\\\""),
            Some(b'\\') => out.push_str("\\\\"),
            Some(0x08) => out.push_str("\\b"),
            Some(b'\t') => out.push_str("\\t"),
            Some(b'\n') => out.push_str("\\n"),
            Some(0x0C) => out.push_str("\\f"),
            Some(b'\r') => out.push_str("\\r"),
            other => {
                out.push_str("\\u00");
                let byte = other.copied().unwrap_or_default();
                out.extend([byte >> 4, byte & 0xF].map(|nibble| char::from(b"0123456789abcdef"[usize::from(nibble)])));
            }
        }
        rest = special.get(1..).unwrap_or_default();
    }
    out.push('"');
}

/// The JSON array of these strings.
pub fn string_array(strings: impl IntoIterator<Item: AsRef<str>>) -> String {
    let mut out = String::from("[");
    for string in strings {
        if out.len() > 1 {
            out.push(',');
        }
        push_string(&mut out, string.as_ref());
    }
    out.push(']');
    out
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// Byte by byte.
    fn naive(bytes: &[u8]) -> usize {
        bytes.iter().position(|b| *b < 0x20 || matches!(b, b'"' | b'\\')).unwrap_or(bytes.len())
    }

    #[test]
    fn every_byte_is_judged_at_every_place() {
        for length in 0..=200 {
            let mut bytes = vec![b'a'; length];
            assert_eq!(plain_bytes(&bytes), length);
            for at in 0..length {
                for byte in [0, 0x1F, 0x20, b'!', b'"', b'#', b'[', b'\\', b']', 0x7F, 0x80, 0xA2, 0xDC, 0xFF] {
                    bytes[at] = byte;
                    assert_eq!(plain_bytes(&bytes), naive(&bytes), "{byte} at {at} of {length}");
                }
                bytes[at] = b'a';
            }
        }
    }

    proptest! {
        #[test]
        fn plain_bytes_end_where_a_naive_scan_ends(
            plain in "[ -~\u{80}-\u{10FFFF}]{0,200}",
            special in "[\u{0}-\u{1F}\"\\\\ ]{0,3}",
            rest in prop::collection::vec(any::<u8>(), 0..40),
        ) {
            let bytes = [plain.as_bytes(), special.as_bytes(), &rest].concat();
            for start in 0..=bytes.len().min(40) {
                prop_assert_eq!(plain_bytes(&bytes[start..]), naive(&bytes[start..]));
            }
        }
    }
}
