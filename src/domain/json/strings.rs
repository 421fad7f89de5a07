//! JSON strings: the end of their plain text, what escapes mean, and how a string is written.

use std::borrow::Cow;

/// How many bytes there are before the first that a JSON string does not hold as it is: a quote, a backslash or a control
/// character.
pub fn plain_bytes(bytes: &[u8]) -> usize {
    let is_plain = |b: &u8| *b >= 0x20 && *b != b'"' && *b != b'\\';
    // Most of a document is the text of its strings. A chunk without a way out of its middle is one comparison.
    let (chunks, _) = bytes.as_chunks::<32>();
    let whole = 32 * chunks.iter().take_while(|chunk| chunk.iter().fold(true, |all, b| all & is_plain(b))).count();
    whole + bytes.iter().skip(whole).take_while(|b| is_plain(b)).count()
}

/// What a JSON string, given with its quotes, means. Unpaired surrogates, which [`parse`](super::Json::parse) refuses, become U+FFFD.
pub fn unescape(quoted: &str) -> Cow<'_, str> {
    let raw = quoted.get(1..quoted.len().saturating_sub(1)).unwrap_or_default();
    if !raw.contains('\\') {
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
pub fn string_array(strings: &[String]) -> String {
    let mut out = String::from("[");
    for string in strings {
        if out.len() > 1 {
            out.push(',');
        }
        push_string(&mut out, string);
    }
    out.push(']');
    out
}
