//! The trace that a request belongs to: what the client's `traceparent` says (W3C Trace Context).

use axum::http::HeaderMap;

const TRACEPARENT: &str = "traceparent";

/// The place of a request in the trace of its client.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceParent {
    /// 32 lowercase hexadecimal digits, not all zero.
    pub trace_id: Box<str>,
    /// The client's span: 16 lowercase hexadecimal digits, not all zero.
    pub span_id: Box<str>,
    /// The client records its part.
    pub sampled: bool,
}

impl TraceParent {
    /// `None` if there is none, or none that the rules allow; a request is never refused for it.
    pub fn of(headers: &HeaderMap) -> Option<Self> {
        let mut values = headers.get_all(TRACEPARENT).iter();
        let (Some(value), None) = (values.next(), values.next()) else { return None };
        Self::parse(value.to_str().ok()?)
    }

    fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split('-');
        let mut hex = |digits: usize| {
            let is_digit = |b: u8| b.is_ascii_digit() || (b'a'..=b'f').contains(&b);
            parts.next().filter(|part| part.len() == digits && part.bytes().all(is_digit))
        };
        let (version, trace_id, span_id, flags) = (hex(2)?, hex(32)?, hex(16)?, hex(2)?);
        let is_zero = |id: &str| id.bytes().all(|b| b == b'0');
        // A later version may say more.
        let more = parts.next().is_some();
        if version == "ff" || version == "00" && more || is_zero(trace_id) || is_zero(span_id) {
            return None;
        }
        let sampled = u8::from_str_radix(flags, 16).is_ok_and(|flags| flags & 1 == 1);
        Some(Self { trace_id: trace_id.into(), span_id: span_id.into(), sampled })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
    const SPAN: &str = "00f067aa0ba902b7";

    #[test]
    fn a_parent_is_read_as_the_recommendation_says() {
        let parent = |sampled| Some(TraceParent { trace_id: TRACE.into(), span_id: SPAN.into(), sampled });
        for (text, expected) in [
            (format!("00-{TRACE}-{SPAN}-01"), parent(true)),
            (format!("00-{TRACE}-{SPAN}-00"), parent(false)),
            (format!("00-{TRACE}-{SPAN}-fe"), parent(false)),
            (format!("cc-{TRACE}-{SPAN}-03-what-comes"), parent(true)),
            (format!("00-{TRACE}-{SPAN}-01-more"), None),
            (format!("ff-{TRACE}-{SPAN}-01"), None),
            (format!("00-{}-{SPAN}-01", TRACE.to_uppercase()), None),
            (format!("00-{}-{SPAN}-01", "0".repeat(32)), None),
            (format!("00-{TRACE}-{}-01", "0".repeat(16)), None),
            (format!("00-{TRACE}-{SPAN}"), None),
            (format!("00-{TRACE}-{SPAN}-1"), None),
            (String::new(), None),
        ] {
            assert_eq!(TraceParent::parse(&text), expected, "{text}");
        }
    }

    #[test]
    fn two_parents_are_none() {
        let value = format!("00-{TRACE}-{SPAN}-01");
        let mut headers = HeaderMap::new();
        assert_eq!(TraceParent::of(&headers), None);
        headers.append(TRACEPARENT, value.parse().unwrap());
        assert!(TraceParent::of(&headers).is_some());
        headers.append(TRACEPARENT, value.parse().unwrap());
        assert_eq!(TraceParent::of(&headers), None);
    }
}
