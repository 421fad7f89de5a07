//! Spans of requests for an OpenTelemetry collector (OTLP over HTTP, protobuf). Off unless an endpoint is set.
//!
//! - `collector`: sends them
//! - `none`: in its place, in a program that is built without the feature `traces`

#[cfg(feature = "traces")]
mod collector;
#[cfg(not(feature = "traces"))]
mod none;

use std::env;

#[cfg(feature = "traces")]
pub use collector::{TraceSettings, Traces};
#[cfg(not(feature = "traces"))]
pub use none::{TraceSettings, Traces};

const DISABLED: &str = "OTEL_SDK_DISABLED";
const EXPORTERS: &str = "OTEL_TRACES_EXPORTER";

/// The collector in the settings.
#[derive(Debug, Clone, Copy)]
pub struct CollectorUrl<'a> {
    pub url: &'a str,
    /// It comes from `OTEL_EXPORTER_OTLP_ENDPOINT`. The variable for spans alone takes precedence over it.
    pub is_general: bool,
}

/// Where spans go: the setting or variable that says so, its URL, and the path behind that. `None` if no endpoint is set, or if
/// [`DISABLED`] or [`EXPORTERS`] turns spans off.
fn destination(
    configured: Option<CollectorUrl<'_>>,
    variable: &impl Fn(&str) -> Option<String>,
) -> Option<(&'static str, String, Option<&'static str>)> {
    const OF_SPANS: &str = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT";
    let is_off = variable(DISABLED).is_some_and(|value| value.eq_ignore_ascii_case("true"));
    if is_off || exporters(variable).iter().any(|exporter| exporter == "none") {
        return None;
    }
    // Used unchanged.
    let of_spans = variable(OF_SPANS).filter(|_| configured.is_none_or(|configured| configured.is_general));
    let general = || configured.map(|configured| ("--otlp-endpoint", configured.url.to_owned(), Some("/v1/traces")));
    of_spans.map(|url| (OF_SPANS, url, None)).or_else(general)
}

/// The names in [`EXPORTERS`].
fn exporters(variable: &impl Fn(&str) -> Option<String>) -> Vec<String> {
    let names = variable(EXPORTERS).unwrap_or_default();
    names.split(',').map(str::trim).filter(|name| !name.is_empty()).map(str::to_owned).collect()
}

/// A standard variable of OpenTelemetry, unless it is empty.
fn variable(name: &str) -> Option<String> {
    env::var_os(name).map(|value| value.to_string_lossy().into_owned()).filter(|value| !value.is_empty())
}
