//! Answers that are files: a range of them (RFC 9110, section 14), and what they are called (RFC 6266).

use std::fmt::Write as _;
use std::ops::Range;

/// What a request asks of so many bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Ranged {
    Whole,
    /// These, which are there.
    Part(Range<u64>),
    /// Bytes beyond the end.
    Beyond,
}

/// The bytes that a `Range` asks for, of `size`. One range alone is honoured: several, another unit, and what is no range ask for the whole.
/// With an `If-Range` that is not `tag` (quoted), too.
pub fn ranged(range: Option<&str>, if_range: Option<&str>, tag: &str, size: u64) -> Ranged {
    let Some(spec) = range.and_then(|range| range.trim().strip_prefix("bytes=")) else { return Ranged::Whole };
    // A date does not match: nothing has one.
    if if_range.is_some_and(|wanted| wanted.trim() != tag) {
        return Ranged::Whole;
    }
    let Some((first, last)) = spec.trim().split_once('-') else { return Ranged::Whole };
    match (number(first), number(last)) {
        (Some(first), None) if last.is_empty() => part(first, size, size),
        (Some(first), Some(last)) if first <= last => part(first, last.saturating_add(1).min(size), size),
        (None, Some(length)) if first.is_empty() => part(size - length.min(size), size, size),
        _ => Ranged::Whole,
    }
}

fn part(first: u64, end: u64, size: u64) -> Ranged {
    if first < size { Ranged::Part(first..end) } else { Ranged::Beyond }
}

/// Digits of any number.
fn number(digits: &str) -> Option<u64> {
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_number.then(|| digits.parse().unwrap_or(u64::MAX))
}

/// The `Content-Disposition` of a file that is saved, never shown, under this name. A name that is not plain ASCII is there twice: for who
/// reads RFC 8187, and cut to what others read.
pub fn disposition(name: &str) -> String {
    let is_plain = |c: char| c == ' ' || c.is_ascii_graphic() && !matches!(c, '"' | '\\' | '%');
    let plain: String = name.chars().map(|c| if is_plain(c) { c } else { '_' }).collect();
    let mut value = format!("attachment; filename=\"{plain}\"");
    if plain != name {
        value.push_str("; filename*=UTF-8''");
        for byte in name.bytes() {
            let is_kept = byte.is_ascii_alphanumeric() || b"!#$&+-.^_`|~".contains(&byte);
            match is_kept {
                true => value.push(char::from(byte)),
                false => drop(write!(value, "%{byte:02X}")),
            }
        }
    }
    value
}

#[cfg(test)]
mod tests {
    use percent_encoding::percent_decode_str;
    use proptest::prelude::*;

    use super::*;

    fn of(range: &str, size: u64) -> Ranged {
        ranged(Some(range), None, "\"t\"", size)
    }

    #[test]
    fn one_range_is_a_part() {
        for (range, expected) in [
            ("bytes=0-0", 0..1),
            ("bytes=0-", 0..10),
            ("bytes=3-5", 3..6),
            ("bytes=3-99", 3..10),
            ("bytes=-4", 6..10),
            ("bytes=-99", 0..10),
            (" bytes=9- ", 9..10),
            ("bytes=2-99999999999999999999999", 2..10),
        ] {
            assert_eq!(of(range, 10), Ranged::Part(expected), "{range}");
        }
        for beyond in ["bytes=10-", "bytes=10-20", "bytes=99999999999999999999999-", "bytes=-0"] {
            assert_eq!(of(beyond, 10), Ranged::Beyond, "{beyond}");
        }
        assert_eq!(of("bytes=0-", 0), Ranged::Beyond);
        for whole in
            ["", "bytes", "bytes=", "bytes=-", "bytes=5-3", "bytes=0-1,3-4", "items=0-1", "bytes=a-b", "bytes=+1-2"]
        {
            assert_eq!(of(whole, 10), Ranged::Whole, "{whole}");
        }
    }

    #[test]
    fn a_range_of_another_version_is_the_whole() {
        let if_range = |wanted| ranged(Some("bytes=1-2"), Some(wanted), "\"3-ab\"", 10);
        assert_eq!(if_range("\"3-ab\""), Ranged::Part(1..3));
        for other in ["\"3\"", "W/\"3-ab\"", "\"4-ab\"", "Thu, 26 Nov 2026 00:00:00 GMT", ""] {
            assert_eq!(if_range(other), Ranged::Whole, "{other}");
        }
        assert_eq!(ranged(None, Some("\"3-ab\""), "\"3-ab\"", 10), Ranged::Whole);
    }

    #[test]
    fn a_name_is_never_more_than_a_name() {
        assert_eq!(disposition("a b.txt"), "attachment; filename=\"a b.txt\"");
        assert_eq!(disposition("é\"x"), "attachment; filename=\"__x\"; filename*=UTF-8''%C3%A9%22x");
    }

    proptest! {
        #[test]
        fn a_part_lies_within_the_whole(first in any::<u64>(), last in any::<u64>(), size in any::<u64>()) {
            for range in [format!("bytes={first}-{last}"), format!("bytes={first}-"), format!("bytes=-{last}")] {
                if let Ranged::Part(part) = of(&range, size) {
                    prop_assert!(part.start < part.end && part.end <= size, "{range} of {size}");
                }
            }
        }

        #[test]
        fn what_is_written_is_the_name(name in "[^\u{0}-\u{1f}\u{7f}-\u{9f}]{1,40}") {
            let value = disposition(&name);
            prop_assert!(value.bytes().all(|byte| (b' '..=b'~').contains(&byte)), "{value}");
            let quoted = value.strip_prefix("attachment; filename=\"").unwrap();
            let (plain, rest) = quoted.split_once('"').unwrap();
            prop_assert!(!plain.contains('\\'));
            let read = match rest.strip_prefix("; filename*=UTF-8''") {
                Some(encoded) => percent_decode_str(encoded).decode_utf8().unwrap().into_owned(),
                None => plain.to_owned(),
            };
            prop_assert_eq!(read, name);
        }
    }
}
