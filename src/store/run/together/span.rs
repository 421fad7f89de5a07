//! The span of what requests share.

use opentelemetry::trace::{Link, SpanBuilder, SpanKind, TraceContextExt as _};
use opentelemetry::{Context, KeyValue, global};

/// The span of a transaction that these requests share, linked with theirs both ways: a part of the trace of the first that is
/// recorded, if one is.
pub struct SharedSpan(Context);

impl SharedSpan {
    pub fn begin<'a>(name: &'static str, requests: impl Iterator<Item = &'a Context> + Clone) -> Option<Self> {
        let size = requests.clone().count() as i64;
        let recorded = requests.filter(|request| request.span().span_context().is_sampled());
        let first = recorded.clone().next()?;
        let links = recorded.clone().map(|request| Link::with_context(request.span().span_context().clone()));
        let span = SpanBuilder::from_name(name)
            .with_kind(SpanKind::Internal)
            .with_attributes([KeyValue::new("sessiond.batch_size", size)])
            .with_links(links.collect())
            .start_with_context(&global::tracer("sessiond"), first);
        let context = first.with_span(span);
        for request in recorded {
            request.span().add_link(context.span().span_context().clone(), Vec::new());
        }
        Some(Self(context))
    }
}

impl Drop for SharedSpan {
    fn drop(&mut self) {
        self.0.span().end();
    }
}
