//! Spans of requests for a collector of OpenTelemetry (OTLP over HTTP, protobuf). Off unless there is an endpoint.
//!
//! Spans wait in a queue of bounded length, and are dropped when it is full: a collector that is slow or away costs a request
//! nothing. What `OTEL_*` variables say of the service's name, resource, sampler, headers and queue counts.

use std::env;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use opentelemetry::trace::{Link, SpanBuilder, SpanKind, TraceContextExt as _, TracerProvider as _};
use opentelemetry::{Context, KeyValue, global};
use opentelemetry_http::{HttpClient, HttpError, Request, Response};
use opentelemetry_otlp::{ExporterBuildError, SpanExporter, WithExportConfig as _, WithHttpConfig as _};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::{Sampler, SdkTracer, SdkTracerProvider};
use reqwest::redirect;
use tokio::runtime::Handle;
use tokio::time::timeout;
use url::Url;

use crate::outgoing;

/// How long a collector may take for an answer, and a drain for the last spans.
const PATIENCE: Duration = Duration::from_secs(10);
const FLUSH: Duration = Duration::from_secs(2);

/// How many of the traces that begin here are recorded, unless `OTEL_TRACES_SAMPLER` says.
const RATIO: f64 = 0.1;

/// Why spans cannot be sent at all.
#[derive(Debug, thiserror::Error)]
pub enum SetupError {
    #[error(transparent)]
    Client(#[from] outgoing::SetupError),
    #[error(transparent)]
    Exporter(#[from] ExporterBuildError),
}

/// Where spans go.
pub struct Traces {
    provider: SdkTracerProvider,
    pub tracer: SdkTracer,
    /// Spans have the names of apps, users and sessions.
    pub has_names: bool,
}

impl Traces {
    /// Starts the thread that sends. In a runtime, in which the requests are made.
    ///
    /// # Errors
    /// The exporter cannot be set up. A collector that is away is none.
    pub fn start(endpoint: &Url, has_names: bool) -> Result<Self, SetupError> {
        let client = Collector {
            http: outgoing::client(redirect::Policy::none())?,
            runtime: Handle::current(),
            is_failing: AtomicBool::new(false),
        };
        let exporter = SpanExporter::builder()
            .with_http()
            .with_http_client(client)
            .with_endpoint(format!("{}/v1/traces", endpoint.as_str().trim_end_matches('/')))
            .build()?;
        let mut resource = Resource::builder();
        if env::var_os("OTEL_SERVICE_NAME").is_none() {
            resource = resource.with_service_name("sessiond");
        }
        let mut provider = SdkTracerProvider::builder().with_resource(resource.build()).with_batch_exporter(exporter);
        if env::var_os("OTEL_TRACES_SAMPLER").is_none() {
            provider = provider.with_sampler(Sampler::ParentBased(Box::new(Sampler::TraceIdRatioBased(RATIO))));
        }
        let provider = provider.build();
        // For spans of what requests share.
        global::set_tracer_provider(provider.clone());
        Ok(Self { tracer: provider.tracer("sessiond"), provider, has_names })
    }

    /// Sends what waits, for a moment.
    pub async fn stop(&self) {
        let provider = self.provider.clone();
        let _ = tokio::task::spawn_blocking(move || provider.shutdown_with_timeout(FLUSH)).await;
    }
}

/// The span of a transaction that these requests share, linked with theirs both ways: a part of the trace of the first that is
/// recorded, if one is.
pub struct Shared(Context);

impl Shared {
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

impl Drop for Shared {
    fn drop(&mut self) {
        self.0.span().end();
    }
}

/// The collector. The exporter's thread has no runtime: requests are made in the server's.
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
        // Once for each time that it goes away.
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
    let answer = http.execute(request).await.map_err(outgoing::told)?;
    let mut response = Response::new(Bytes::new());
    *response.status_mut() = answer.status();
    *response.headers_mut() = answer.headers().clone();
    *response.body_mut() = answer.bytes().await.map_err(outgoing::told)?;
    Ok(response)
}
