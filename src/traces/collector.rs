//! Sends spans.
//!
//! Spans wait in a queue of limited length, and are dropped when it is full, so a slow or missing collector does not
//! affect requests. The `OTEL_*` variables for service name, resource, sampler, headers and queue are honoured; an
//! empty one counts as unset.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use opentelemetry::trace::{SpanBuilder, TraceContextExt as _, TracerProvider as _};
use opentelemetry::{Context, KeyValue, global};
use opentelemetry_http::{HttpClient, HttpError, Request, Response};
use opentelemetry_otlp::{ExporterBuildError, Protocol, SpanExporter, WithExportConfig as _, WithHttpConfig as _};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::resource::{EnvResourceDetector, TelemetryResourceDetector};
use opentelemetry_sdk::trace::{
    BatchConfigBuilder, BatchSpanProcessor, Sampler, SdkTracer, SdkTracerProvider, Span, SpanData, SpanProcessor,
};
use reqwest::redirect;
use tokio::runtime::Handle;
use tokio::time::timeout;
use url::Url;

use super::{CollectorUrl, DISABLED, EXPORTERS, destination, exporters, variable};
use crate::metrics::Metrics;
use crate::outgoing;
use crate::service::{Clock as _, SystemClock};

/// The time limit for a collector's answer, and for the last spans in a drain.
const PATIENCE: Duration = Duration::from_secs(10);
const FLUSH: Duration = Duration::from_secs(2);

/// The fraction of the traces starting here that is recorded, unless `OTEL_TRACES_SAMPLER` and
/// `OTEL_TRACES_SAMPLER_ARG` are set.
const RATIO: f64 = 0.1;

/// How many spans may wait for the collector, including those being sent, unless `OTEL_BSP_MAX_QUEUE_SIZE` is set.
const QUEUE: usize = 2048;

/// Why spans cannot be sent at all.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    #[error(transparent)]
    Client(#[from] outgoing::SetupError),
    #[error(transparent)]
    Exporter(#[from] ExporterBuildError),
}

/// Where to send spans, and which.
#[derive(Debug)]
pub struct TraceSettings {
    /// Including its path.
    endpoint: String,
    sampler: Sampler,
    /// Spans have the names of apps, users and sessions.
    has_names: bool,
    /// Variables with an unknown value, which is ignored (OpenTelemetry, "Environment Variable Specification").
    warnings: Vec<String>,
}

impl TraceSettings {
    /// `None` if no endpoint is set, or if `OTEL_SDK_DISABLED` or `OTEL_TRACES_EXPORTER` turns spans off.
    ///
    /// # Errors
    /// The endpoint is not an HTTP URL, or `OTEL_TRACES_SAMPLER` or `OTEL_TRACES_SAMPLER_ARG` is invalid; the message
    /// says which.
    pub fn new(endpoint: Option<CollectorUrl<'_>>, has_names: bool) -> Result<Option<Self>, String> {
        Self::read(endpoint, has_names, variable)
    }

    fn read(
        endpoint: Option<CollectorUrl<'_>>,
        has_names: bool,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<Option<Self>, String> {
        let Some((name, url, path)) = destination(endpoint, &variable) else { return Ok(None) };
        let mut warnings = Vec::new();
        let mut unknown =
            |name: &str, value: &str, then: &str| warnings.push(format!("{name}={value:.64} is not known: {then}"));
        if let Some(value) = variable(DISABLED)
            && !value.eq_ignore_ascii_case("false")
        {
            unknown(DISABLED, &value, "write true or false");
        }
        for other in exporters(&variable).iter().filter(|exporter| *exporter != "otlp") {
            unknown(EXPORTERS, other, "spans are sent by `otlp`, or not at all with `none`");
        }
        let protocols = ["OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"];
        if let Some((name, protocol)) = protocols.iter().find_map(|name| Some((name, variable(name)?)))
            && protocol != "http/protobuf"
        {
            unknown(name, &protocol, "spans are sent as http/protobuf");
        }
        let is_http = Url::parse(&url).is_ok_and(|url| matches!(url.scheme(), "http" | "https"));
        if !is_http {
            return Err(format!(
                "{name}: must be a URL like http://127.0.0.1:4318{}",
                if path.is_none() { "/v1/traces" } else { "" }
            ));
        }
        let endpoint = path.map_or_else(|| url.clone(), |path| format!("{}{path}", url.trim_end_matches('/')));
        let (name, argument) = (variable("OTEL_TRACES_SAMPLER"), variable("OTEL_TRACES_SAMPLER_ARG"));
        let sampler = sampler(name.as_deref(), argument.as_deref())?;
        Ok(Some(Self { endpoint, sampler, has_names, warnings }))
    }
}

/// The sampler of this name, with this argument.
fn sampler(name: Option<&str>, argument: Option<&str>) -> Result<Sampler, String> {
    let ratio = match argument.map(str::parse) {
        None => RATIO,
        Some(Ok(ratio @ 0.0..=1.0)) => ratio,
        Some(_) => return Err("OTEL_TRACES_SAMPLER_ARG: must be a number from 0 to 1".to_owned()),
    };
    let (is_by_parent, root) = match name.map(|name| name.strip_prefix("parentbased_").ok_or(name)) {
        None => (true, "traceidratio"),
        Some(Ok(root)) => (true, root),
        Some(Err(root)) => (false, root),
    };
    let root = match root {
        "always_on" => Sampler::AlwaysOn,
        "always_off" => Sampler::AlwaysOff,
        "traceidratio" => Sampler::TraceIdRatioBased(ratio),
        _ => {
            return Err(
                "OTEL_TRACES_SAMPLER: must be always_on, always_off, traceidratio, or one of them after `parentbased_`"
                    .to_owned(),
            );
        }
    };
    Ok(if is_by_parent { Sampler::ParentBased(Box::new(root)) } else { root })
}

/// The tracer, and its connection to the collector.
pub struct Traces {
    provider: SdkTracerProvider,
    tracer: SdkTracer,
    has_names: bool,
}

impl Traces {
    /// Starts the thread that sends. Call it within a runtime, which runs the HTTP requests.
    ///
    /// # Errors
    /// The exporter cannot be set up. An unreachable collector is not an error.
    pub fn start(settings: TraceSettings, metrics: Arc<Metrics>) -> Result<Self, SetupError> {
        let TraceSettings { endpoint, sampler, has_names, warnings } = settings;
        for warning in warnings {
            tracing::warn!("{warning}");
        }
        let client = Collector {
            http: outgoing::client(redirect::Policy::none())?,
            runtime: Handle::current(),
            is_failing: AtomicBool::new(false),
        };
        let exporter = SpanExporter::builder()
            .with_http()
            .with_http_client(client)
            .with_protocol(Protocol::HttpBinary)
            .with_endpoint(endpoint)
            .build()?;
        // Later values win.
        let mut resource = Resource::builder_empty()
            .with_service_name("sessiond")
            .with_attribute(KeyValue::new("service.version", env!("CARGO_PKG_VERSION")))
            .with_attribute(KeyValue::new("service.instance.id", SystemClock.fresh_id().to_string()))
            .with_detectors(&[Box::new(TelemetryResourceDetector), Box::new(EnvResourceDetector::new())]);
        if let Some(name) = variable("OTEL_SERVICE_NAME") {
            resource = resource.with_service_name(name);
        }
        let provider = SdkTracerProvider::builder()
            .with_resource(resource.build())
            .with_sampler(sampler)
            .with_span_processor(SpanQueue::new(exporter, metrics))
            .build();
        // For spans of work that requests share.
        global::set_tracer_provider(provider.clone());
        Ok(Self { tracer: provider.tracer("sessiond"), provider, has_names })
    }

    /// Begins a span.
    pub fn begin(&self, span: SpanBuilder, parent: &Context) -> Context {
        parent.with_span(span.start_with_context(&self.tracer, parent))
    }

    /// See [`TraceSettings`].
    pub fn has_names(&self) -> bool {
        self.has_names
    }

    /// Sends the waiting spans, within a short time limit.
    pub async fn stop(&self) {
        let provider = self.provider.clone();
        let _ = tokio::task::spawn_blocking(move || provider.shutdown_with_timeout(FLUSH)).await;
    }
}

/// The queue for the collector: a batch processor that counts the results of spans, which the SDK's own does not
/// report. Its own queue never overflows, because excess spans are dropped before it.
#[derive(Debug)]
struct SpanQueue {
    batches: BatchSpanProcessor,
    size: usize,
    told: AtomicBool,
    state: Arc<QueueState>,
}

#[derive(Debug)]
struct QueueState {
    waiting: AtomicUsize,
    metrics: Arc<Metrics>,
}

impl SpanQueue {
    fn new(exporter: SpanExporter, metrics: Arc<Metrics>) -> Self {
        let size = variable("OTEL_BSP_MAX_QUEUE_SIZE").and_then(|size| size.parse().ok()).unwrap_or(QUEUE);
        let state = Arc::new(QueueState { waiting: AtomicUsize::new(0), metrics });
        let batches = BatchSpanProcessor::builder(Counting { exporter, state: state.clone() })
            .with_batch_config(BatchConfigBuilder::default().with_max_queue_size(size).build())
            .build();
        Self { batches, size, told: AtomicBool::new(false), state }
    }
}

impl SpanProcessor for SpanQueue {
    fn on_start(&self, span: &mut Span, context: &Context) {
        self.batches.on_start(span, context);
    }

    fn on_end(&self, span: SpanData) {
        let one_more = |waiting: usize| (waiting < self.size).then_some(waiting + 1);
        if self.state.waiting.fetch_update(Ordering::Relaxed, Ordering::Relaxed, one_more).is_ok() {
            return self.batches.on_end(span);
        }
        self.state.metrics.spans.add("dropped", 1);
        if !self.told.swap(true, Ordering::Relaxed) {
            tracing::warn!("spans are dropped: too many wait for the collector. The metrics count them from now on");
        }
    }

    fn force_flush(&self) -> OTelSdkResult {
        self.batches.force_flush()
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.batches.shutdown_with_timeout(timeout)
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.batches.set_resource(resource);
    }
}

/// The exporter of a [`SpanQueue`].
#[derive(Debug)]
struct Counting {
    exporter: SpanExporter,
    state: Arc<QueueState>,
}

impl opentelemetry_sdk::trace::SpanExporter for Counting {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        let size = batch.len();
        let result = self.exporter.export(batch).await;
        self.state.waiting.fetch_sub(size, Ordering::Relaxed);
        self.state.metrics.spans.add(if result.is_ok() { "sent" } else { "failed" }, size);
        result
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.exporter.shutdown_with_timeout(timeout)
    }

    fn force_flush(&self) -> OTelSdkResult {
        self.exporter.force_flush()
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.exporter.set_resource(resource);
    }
}

/// The collector. The exporter's thread has no runtime, so HTTP requests run in the server's.
#[derive(Debug)]
struct Collector {
    http: reqwest::Client,
    runtime: Handle,
    is_failing: AtomicBool,
}

#[async_trait]
impl HttpClient for Collector {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let request = reqwest::Request::try_from(request)?;
        let http = self.http.clone();
        let sent = self.runtime.spawn(async move { timeout(PATIENCE, send(http, request)).await }).await?;
        let result = sent.unwrap_or_else(|_| Err("no answer within 10 s".to_owned()));
        // Logged only when the state changes.
        match &result {
            Ok(response) if response.status().is_success() => {
                if self.is_failing.swap(false, Ordering::Relaxed) {
                    tracing::info!("the collector takes spans again");
                }
            }
            other => {
                let cause = other.as_ref().map_or_else(Clone::clone, |answer| format!("status {}", answer.status()));
                if !self.is_failing.swap(true, Ordering::Relaxed) {
                    tracing::warn!(cause, "the collector takes no spans; they are dropped until it does");
                }
            }
        }
        result.map_err(HttpError::from)
    }
}

async fn send(http: reqwest::Client, request: reqwest::Request) -> Result<Response<Bytes>, String> {
    let answer = http.execute(request).await.map_err(outgoing::describe)?;
    let mut response = Response::new(Bytes::new());
    *response.status_mut() = answer.status();
    *response.headers_mut() = answer.headers().clone();
    *response.body_mut() = answer.bytes().await.map_err(outgoing::describe)?;
    Ok(response)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samplers_are_named_as_everywhere() {
        let of = |name, argument| sampler(name, argument).map(|sampler| format!("{sampler:?}"));
        let by_ratio = |ratio| Sampler::TraceIdRatioBased(ratio);
        for (name, argument, expected) in [
            (None, None, Sampler::ParentBased(Box::new(by_ratio(RATIO)))),
            (None, Some("0.5"), Sampler::ParentBased(Box::new(by_ratio(0.5)))),
            (Some("traceidratio"), Some("1"), by_ratio(1.0)),
            (Some("traceidratio"), None, by_ratio(RATIO)),
            (Some("parentbased_traceidratio"), Some("0"), Sampler::ParentBased(Box::new(by_ratio(0.0)))),
            (Some("always_on"), None, Sampler::AlwaysOn),
            (Some("parentbased_always_off"), None, Sampler::ParentBased(Box::new(Sampler::AlwaysOff))),
        ] {
            assert_eq!(of(name, argument), Ok(format!("{expected:?}")), "{name:?} {argument:?}");
        }
        for (name, argument) in [
            (Some("bogus"), None),
            (Some("parentbased_"), None),
            (Some("parentbased_jaeger_remote"), None),
            (Some("traceidratio"), Some("10%")),
            (None, Some("1.5")),
            (None, Some("-1")),
            (None, Some("NaN")),
        ] {
            assert!(of(name, argument).is_err(), "{name:?} {argument:?}");
        }
    }
}
