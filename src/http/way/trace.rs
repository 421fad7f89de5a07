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

/// The span of the client, as it sent it with a request; `None` if that is missing or malformed. A request is never refused for it.
pub fn parent(headers: &HeaderMap) -> Option<SpanContext> {
    let mut values = headers.get_all(TRACEPARENT).iter();
    let (Some(value), None) = (values.next(), values.next()) else { return None };
    parse(value.to_str().ok()?, state(headers).unwrap_or_default())
}

/// The span that a `traceparent` names. The `tracestate` is only passed on to the collector.
fn parse(text: &str, state: TraceState) -> Option<SpanContext> {
    let mut parts = text.split('-');
    let mut hex = |digits: usize| {
        let is_digit = |b: u8| b.is_ascii_digit() || (b'a'..=b'f').contains(&b);
        parts.next().filter(|part| part.len() == digits && part.bytes().all(is_digit))
    };
    let (version, trace_id, span_id, flags) = (hex(2)?, hex(32)?, hex(16)?, hex(2)?);
    // Later versions may have more fields.
    let more = parts.next().is_some();
    if version == "ff" || version == "00" && more {
        return None;
    }
    let (trace_id, span_id) = (TraceId::from_hex(trace_id).ok()?, SpanId::from_hex(span_id).ok()?);
    // Whether the client records its own span; no other flag is known.
    let flags = TraceFlags::new(u8::from_str_radix(flags, 16).ok()?) & TraceFlags::SAMPLED;
    Some(SpanContext::new(trace_id, span_id, flags, true, state)).filter(SpanContext::is_valid)
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
    pub fn begin(traces: &Traces, parent: Option<&SpanContext>, method: &str, route: Option<&str>, path: &str) -> Self {
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
        let parent = parent.map_or_else(Context::new, |parent| Context::new().with_remote_span_context(parent.clone()));
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
            let (trace_id, span_id) = (TraceId::from_hex(TRACE).unwrap(), SpanId::from_hex(SPAN).unwrap());
            Some(SpanContext::new(trace_id, span_id, sampled, true, TraceState::NONE))
        };
        for (text, expected) in [
            (format!("00-{TRACE}-{SPAN}-01"), parent(TraceFlags::SAMPLED)),
            (format!("00-{TRACE}-{SPAN}-00"), parent(TraceFlags::NOT_SAMPLED)),
            (format!("00-{TRACE}-{SPAN}-fe"), parent(TraceFlags::NOT_SAMPLED)),
            (format!("cc-{TRACE}-{SPAN}-03-what-comes"), parent(TraceFlags::SAMPLED)),
            (format!("00-{TRACE}-{SPAN}-01-more"), None),
            (format!("ff-{TRACE}-{SPAN}-01"), None),
            (format!("00-{}-{SPAN}-01", TRACE.to_uppercase()), None),
            (format!("00-{}-{SPAN}-01", "0".repeat(32)), None),
            (format!("00-{TRACE}-{}-01", "0".repeat(16)), None),
            (format!("00-{TRACE}-{SPAN}"), None),
            (format!("00-{TRACE}-{SPAN}-1"), None),
            (String::new(), None),
        ] {
            assert_eq!(parse(&text, TraceState::NONE), expected, "{text}");
        }
    }

    #[test]
    fn two_parents_are_none() {
        let value = format!("00-{TRACE}-{SPAN}-01");
        let mut headers = HeaderMap::new();
        assert_eq!(parent(&headers), None);
        headers.append(TRACEPARENT, value.parse().unwrap());
        headers.append(TRACESTATE, "rojo=00f067".parse().unwrap());
        headers.append(TRACESTATE, "congo=t61".parse().unwrap());
        let state = |headers: &_| parent(headers).map(|parent| parent.trace_state().header());
        assert_eq!(state(&headers).as_deref(), Some("rojo=00f067,congo=t61"));
        headers.append(TRACESTATE, format!("a={}", "x".repeat(MAX_STATE)).parse().unwrap());
        assert_eq!(state(&headers).as_deref(), Some(""));
        headers.append(TRACEPARENT, value.parse().unwrap());
        assert_eq!(parent(&headers), None);
    }
}
