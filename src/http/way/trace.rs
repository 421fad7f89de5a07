//! The trace of a request: the client's `traceparent` (W3C Trace Context), and our own span in it.

use axum::http::{HeaderMap, StatusCode};
use opentelemetry::trace::{
    SpanBuilder, SpanContext, SpanId, SpanKind, Status, TraceContextExt as _, TraceFlags, TraceId, TraceState,
};
use opentelemetry::{Context, KeyValue};

use crate::access::audit::names;
use crate::http::reply::Problem;
use crate::metrics::{OTHER_METHOD, known_method};
use crate::traces::Traces;

const TRACEPARENT: &str = "traceparent";
const TRACESTATE: &str = "tracestate";

/// How many bytes of `tracestate` a service must pass on (W3C Trace Context, 3.3.1.5).
const MAX_STATE: usize = 512;

/// The parent span of a request, as its client sent it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TraceParent {
    /// 32 lowercase hexadecimal digits, not all zero.
    pub trace_id: String,
    /// The client's span: 16 lowercase hexadecimal digits, not all zero.
    pub span_id: String,
    /// Whether the client records its own span.
    pub sampled: bool,
    /// The client's `tracestate`. It is only passed on to the collector.
    pub state: TraceState,
}

impl TraceParent {
    fn context(&self) -> Context {
        let id = |text: &str| u128::from_str_radix(text, 16).unwrap_or_default();
        let (trace, span) = (TraceId::from(id(&self.trace_id)), SpanId::from(id(&self.span_id) as u64));
        let flags = if self.sampled { TraceFlags::SAMPLED } else { TraceFlags::NOT_SAMPLED };
        Context::new().with_remote_span_context(SpanContext::new(trace, span, flags, true, self.state.clone()))
    }

    /// `None` if it is missing or malformed. A request is never refused for it.
    pub fn of(headers: &HeaderMap) -> Option<Self> {
        let mut values = headers.get_all(TRACEPARENT).iter();
        let (Some(value), None) = (values.next(), values.next()) else { return None };
        let state = state(headers).unwrap_or_default();
        Some(Self { state, ..Self::parse(value.to_str().ok()?)? })
    }

    fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split('-');
        let mut hex = |digits: usize| {
            let is_digit = |b: u8| b.is_ascii_digit() || (b'a'..=b'f').contains(&b);
            parts.next().filter(|part| part.len() == digits && part.bytes().all(is_digit))
        };
        let (version, trace_id, span_id, flags) = (hex(2)?, hex(32)?, hex(16)?, hex(2)?);
        let is_zero = |id: &str| id.bytes().all(|b| b == b'0');
        // Later versions may have more fields.
        let more = parts.next().is_some();
        if version == "ff" || version == "00" && more || is_zero(trace_id) || is_zero(span_id) {
            return None;
        }
        let sampled = u8::from_str_radix(flags, 16).is_ok_and(|flags| flags & 1 == 1);
        Some(Self { trace_id: trace_id.to_owned(), span_id: span_id.to_owned(), sampled, state: TraceState::NONE })
    }
}

/// `None` if it is malformed, or too long to pass on.
fn state(headers: &HeaderMap) -> Option<TraceState> {
    let parts: Result<Vec<&str>, _> = headers.get_all(TRACESTATE).iter().map(|value| value.to_str()).collect();
    let text = parts.ok()?.join(",");
    if text.len() > MAX_STATE { None } else { text.parse().ok() }
}

/// The span of a request, by the semantic conventions of HTTP servers, as the context in which its work runs.
pub struct RequestSpan(Context);

impl RequestSpan {
    pub fn begin(traces: &Traces, parent: Option<&TraceParent>, method: &str, route: Option<&str>, path: &str) -> Self {
        let method = known_method(method);
        let mut attributes = vec![KeyValue::new("http.request.method", method), KeyValue::new("url.scheme", "http")];
        if let Some(route) = route {
            attributes.push(KeyValue::new("http.route", route.to_owned()));
            if traces.has_names() {
                let named = names(route, path).filter_map(|(name, value)| {
                    let attribute = match name {
                        "app" => "sessiond.app",
                        "user" => "enduser.id",
                        "session" => "gen_ai.conversation.id",
                        _ => return None,
                    };
                    Some(KeyValue::new(attribute, value))
                });
                attributes.extend(named);
            }
        }
        let word = if method == OTHER_METHOD { "HTTP" } else { method };
        let name = route.map_or_else(|| word.to_owned(), |route| format!("{word} {route}"));
        let span = SpanBuilder::from_name(name).with_kind(SpanKind::Server).with_attributes(attributes);
        let parent = parent.map_or_else(Context::new, TraceParent::context);
        Self(traces.begin(span, &parent))
    }

    /// The context for work on the request.
    pub fn context(&self) -> Context {
        self.0.clone()
    }

    /// The trace id: 32 hexadecimal digits.
    pub fn trace_id(&self) -> String {
        self.0.span().span_context().trace_id().to_string()
    }

    pub fn end(self, status: StatusCode, problem: Option<&Problem>, of_write: bool, replayed: bool) {
        let span = self.0.span();
        span.set_attribute(KeyValue::new("http.response.status_code", i64::from(status.as_u16())));
        if let Some(problem) = problem {
            if of_write {
                span.set_attribute(KeyValue::new("sessiond.outcome", problem.outcome.as_str()));
            }
            span.set_attribute(KeyValue::new("error.type", problem.code.entry().0));
        }
        if replayed {
            span.set_attribute(KeyValue::new("sessiond.replayed", true));
        }
        // A client's mistake is not an error of the server.
        if status.is_server_error() {
            span.set_status(Status::error(""));
        }
        span.end();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
    const SPAN: &str = "00f067aa0ba902b7";

    #[test]
    fn a_parent_is_read_as_the_recommendation_says() {
        let parent = |sampled| {
            Some(TraceParent { trace_id: TRACE.to_owned(), span_id: SPAN.to_owned(), sampled, state: TraceState::NONE })
        };
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
        headers.append(TRACESTATE, "rojo=00f067".parse().unwrap());
        headers.append(TRACESTATE, "congo=t61".parse().unwrap());
        let state = |headers: &_| TraceParent::of(headers).map(|parent| parent.state.header());
        assert_eq!(state(&headers).as_deref(), Some("rojo=00f067,congo=t61"));
        headers.append(TRACESTATE, format!("a={}", "x".repeat(MAX_STATE)).parse().unwrap());
        assert_eq!(state(&headers).as_deref(), Some(""));
        headers.append(TRACEPARENT, value.parse().unwrap());
        assert_eq!(TraceParent::of(&headers), None);
    }
}
