//! The metrics and their names, in the format that Prometheus scrapes.
//!
//! Every label value comes from a closed set: route templates, known methods, constants. Nothing that a client sends
//! becomes a label, or clients could grow the memory of the service and of Prometheus without bound.

mod process;

use std::fmt;
use std::sync::OnceLock;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use prometheus_client::encoding::{EncodeLabelSet, EncodeMetric, MetricEncoder, text};
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Registry, Unit};

use crate::domain::time::Micros;
use crate::server::ConnectionObserver;
use crate::store::pool::{Nodes, PoolUse};

/// In seconds: from a single row in SQLite to the default request timeout.
const BUCKETS: [f64; 14] = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0];

/// A label whose value is a constant.
type Label = [(&'static str, &'static str); 1];

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct RouteLabels {
    pub method: &'static str,
    pub route: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
pub struct RequestLabels {
    pub method: &'static str,
    pub route: &'static str,
    pub status: u16,
}

/// The states of a database connection.
const CONNECTION_STATES: [&str; 2] = ["idle", "used"];

/// What stores of objects are asked for.
const STORE_OPERATIONS: [&str; 4] = ["write", "read", "remove", "list"];

/// Counters of one metric: one for each word that its label can be. All exist from the start at 0, so that "never" differs from "not
/// measured" and `rate()` sees the first step.
#[derive(Debug, Clone)]
pub struct Counts {
    counters: Family<Label, Counter>,
    label: &'static str,
    words: &'static [&'static str],
}

impl Counts {
    /// Without words: of a closed set that the caller [expects](Self::expect) at the start.
    fn by(label: &'static str, words: &'static [&'static str]) -> Self {
        let counts = Self { counters: Family::default(), label, words };
        words.iter().for_each(|word| counts.expect(word));
        counts
    }

    /// Begins to count at 0.
    pub fn expect(&self, word: &'static str) {
        drop(self.counters.get_or_create(&[(self.label, word)]));
    }

    pub fn inc(&self, word: &'static str) {
        self.add(word, 1);
    }

    pub fn add(&self, word: &'static str, count: usize) {
        debug_assert!(self.words.is_empty() || self.words.contains(&word), "{word} is no {}", self.label);
        self.counters.get_or_create(&[(self.label, word)]).inc_by(count as u64);
    }

    pub fn get(&self, word: &'static str) -> u64 {
        self.counters.get_or_create(&[(self.label, word)]).get()
    }
}

impl EncodeMetric for Counts {
    fn encode(&self, encoder: MetricEncoder<'_>) -> fmt::Result {
        self.counters.encode(encoder)
    }

    fn metric_type(&self) -> MetricType {
        self.counters.metric_type()
    }
}

/// Defines [`Metrics`]: for each metric a field with its type and, if it has no default, its constructor; its name and
/// help, to which the encoder appends `_total` or the unit, and a full stop; and the label whose values exist from the
/// start, as those of [`Counts`].
macro_rules! metrics {
    ($($field:ident: $kind:ty $([$new:expr])? = $name:literal $(in $unit:ident)?, $help:literal $(, $label:ident of $words:expr)?;)*) => {
        /// The metrics of one service. Methods are cheap enough for the hot path and never block on I/O.
        pub struct Metrics {
            registry: Registry,
            $(#[doc = $help] pub $field: $kind,)*
            database: OnceLock<Box<dyn Fn() -> (PoolUse, Option<Nodes>) + Send + Sync>>,
        }

        impl Metrics {
            /// Without `_total` and units.
            #[cfg(test)]
            const NAMES: &[&str] = &[$($name),*];

            pub fn new() -> Self {
                let mut registry = Registry::default();
                $(
                    let $field: $kind = metrics!(@new $($new)?);
                    metrics!(@register registry, $name, $help, $field $(, $unit)?);
                    $($words.into_iter().for_each(|word| drop($field.get_or_create(&[(stringify!($label), word)])));)?
                )*
                registry.register_collector(Box::new(process::Process));
                let metrics = Self { registry, $($field,)* database: OnceLock::new() };
                metrics.build_info.get_or_create(&[("version", env!("CARGO_PKG_VERSION"))]).set(1);
                metrics
            }
        }
    };
    (@new) => { Default::default() };
    (@new $new:expr) => { $new };
    (@register $registry:ident, $name:literal, $help:literal, $field:ident) => {
        $registry.register($name, $help, $field.clone())
    };
    (@register $registry:ident, $name:literal, $help:literal, $field:ident, $unit:ident) => {
        $registry.register_with_unit($name, $help, Unit::$unit, $field.clone())
    };
}

metrics! {
    requests: Family<RequestLabels, Counter> = "sessiond_http_requests",
        "Requests answered, by route template";
    request_duration: Family<RouteLabels, Histogram, fn() -> Histogram> [Family::new_with_constructor(latency as fn() -> Histogram)] =
        "sessiond_http_request_duration" in Seconds,
        "Time from the head of a request to the head of its answer, of requests that did not wait for a change";
    in_flight: Gauge = "sessiond_http_requests_in_flight",
        "Requests being served now, streamed answers included";
    connections: Gauge = "sessiond_http_connections",
        "HTTP connections open now";
    problems: Counts [Counts::by("code", &[])] = "sessiond_problems",
        "Answers that are problem documents, by code";
    // Limits, rates, grants, and the checks of `Host` and `Origin`.
    rejections: Counts [Counts::by("limit", &[
        "connections", "in_flight", "streams", "buffered_bytes", "answer_bytes", "look_ups", "watchers", "transfers", "uploads",
        "turns", "body", "artifact", "event", "value", "batch", "state_keys", "operators", "template", "rendered",
        "rate_app", "rate_key", "rate_user", "host", "origin", "credential", "role", "grant",
    ])] = "sessiond_rejections",
        "Requests and connections refused, by limit";
    // In general, and of JWTs. The reason is visible nowhere else.
    credentials_refused: Counts [Counts::by("reason", &[
        "missing", "malformed", "invalid", "expired", "header", "algorithm", "no_keys", "unknown_key", "signature", "issuer",
        "audience", "not_yet_valid", "no_expiry", "user", "apps", "role",
    ])] = "sessiond_credentials_refused",
        "Credentials that did not hold, by reason";
    database_connections: Family<Label, Gauge> = "sessiond_database_connections",
        "Database connections open now, by what they do",
        state of CONNECTION_STATES;
    database_nodes: Family<Label, Gauge> = "sessiond_database_nodes",
        "Nodes of a distributed database, by whether they answered when readiness was last asked for";
    database_wait: Histogram [latency()] = "sessiond_database_wait" in Seconds,
        "Time to get a database connection and begin a transaction";
    // A transaction lost a race, the connection failed before COMMIT, or the answer to COMMIT was lost.
    database_retries: Counts [Counts::by("cause", &["conflict", "connection_lost", "unclear_commit"])] =
        "sessiond_database_retries",
        "Transactions tried again, by cause";
    unknown_outcomes: Counter = "sessiond_unknown_outcomes",
        "Writes answered without knowing whether they were applied";
    clock_skew: Gauge<f64, AtomicU64> = "sessiond_clock_skew" in Seconds,
        "How far the clock of the database is ahead of this process, as of the last sweep";
    replayed_events: Counter = "sessiond_replayed_events",
        "Events sent again that the session already had";
    appended_events: Counter = "sessiond_appended_events",
        "Events committed";
    watchers: Gauge = "sessiond_watchers",
        "Watches and waiting requests open now";
    // The session was deleted or trimmed beyond the position, the server says `bye`, the log was rolled back, the database failed, or
    // the client left or stopped reading.
    watch_ends: Counts [Counts::by("reason", &[
        "deleted", "trimmed", "drain", "lifetime", "credential_expired", "overloaded", "position_gone", "storage", "client",
    ])] = "sessiond_watch_ends",
        "Watches that ended, by reason";
    watch_delivery: Histogram [latency()] = "sessiond_watch_delivery" in Seconds,
        "Time from the commit of an event to its writing to a watch that had all before it";
    watch_polls: Counter = "sessiond_watch_polls",
        "Looks at what other processes have committed of watched sessions";
    leases: Counts [Counts::by("result", &["granted", "retried", "stolen", "held", "renewed", "released"])] = "sessiond_leases",
        "Requests about leases, by result";
    fenced: Counter = "sessiond_fenced",
        "Requests that named a superseded lease";
    // The sweep, each policy and each artifact store that it applies to, the views of effective histories, the feed, the poll for other
    // processes' commits, reads of the issuer's keys and of the admin key, and writes to the access log.
    background_failures: Counts [Counts::by("task", &[
        "sweep", "policy", "artifact_store", "views", "feed", "watch_poll", "issuer_keys", "admin_key", "access_log",
    ])] = "sessiond_background_failures",
        "What failed beside requests and is tried again, by task";
    sweep_completed: Gauge<f64, AtomicU64> = "sessiond_sweep_completed_timestamp" in Seconds,
        "When a sweep last left nothing to do, or the process started if none has, in Unix time";
    erasures_waiting: Gauge = "sessiond_erasures_waiting",
        "Erasures that wait for a reader of the SQLite file, which holds its log";
    // A version, one that an earlier request saved, a refusal, a failure; or the bytes never came whole.
    artifact_saves: Counts [Counts::by("outcome", &["saved", "replayed", "refused", "failed", "cut"])] = "sessiond_artifact_saves",
        "Saves of artifacts, by outcome";
    artifact_bytes: Counts [Counts::by("direction", &["in", "out"])] = "sessiond_artifact_bytes",
        "Bytes of artifacts that came from clients, or were read for them, by direction";
    artifact_orphans: Counter = "sessiond_artifact_orphans",
        "Uploads and versions that are gone, whose bytes were removed";
    artifact_store_duration: Family<Label, Histogram, fn() -> Histogram> [Family::new_with_constructor(latency as fn() -> Histogram)] =
        "sessiond_artifact_store_duration" in Seconds,
        "Time that an object store took to write an object, to begin reading one, to remove one, or to list some",
        operation of STORE_OPERATIONS;
    artifact_store_failures: Counts [Counts::by("operation", &STORE_OPERATIONS)] = "sessiond_artifact_store_failures",
        "Operations in which an object store failed, or had lost an object";
    artifact_strays: Counter = "sessiond_artifact_strays",
        "Objects removed from a store because the database does not have them";
    // The collector accepted them, the queue was full, or the collector did not accept them.
    spans: Counts [Counts::by("result", &["sent", "dropped", "failed"])] = "sessiond_spans",
        "Spans for the collector, by result";
    build_info: Family<Label, Gauge> = "sessiond_build_info",
        "The running version, always 1";
}

impl Metrics {
    /// Sets the source of the metrics of the pool and of the nodes, which each scrape calls. Only the first call counts.
    pub fn watch_database(&self, database: impl Fn() -> (PoolUse, Option<Nodes>) + Send + Sync + 'static) {
        // An error means that it was set before; a process has one pool.
        let _ = self.database.set(Box::new(database));
    }

    /// Counts an answered request. `route` is the template that it matched (`/v1/apps/{app}`), never the path itself;
    /// `None` if it matched none. No `duration` for a request that waited for a change, as long as its client wished.
    pub fn request(&self, method: &str, route: Option<&'static str>, status: u16, duration: Option<Duration>) {
        let method = known_method(method);
        let route = route.unwrap_or("unmatched");
        if let Some(duration) = duration {
            self.request_duration.get_or_create(&RouteLabels { method, route }).observe(duration.as_secs_f64());
        }
        self.requests.get_or_create(&RequestLabels { method, route, status }).inc();
    }

    /// The requests that were answered: their method, route and status, and how many.
    pub fn requests(&self) -> Vec<(String, String, u16, u64)> {
        // A family is read by its text alone.
        let mut registry = Registry::default();
        registry.register("requests", "", self.requests.clone());
        let mut text = String::new();
        if let Err(error) = text::encode(&mut text, &registry) {
            tracing::error!(%error, "the counts of requests cannot be encoded");
        }
        let read = |line: &str| {
            let (labels, count) = line.strip_prefix("requests_total{")?.rsplit_once("} ")?;
            let mut values = labels.split('"').skip(1).step_by(2);
            let (method, route, status) = (values.next()?, values.next()?, values.next()?);
            Some((method.to_owned(), route.to_owned(), status.parse().ok()?, count.parse().ok()?))
        };
        text.lines().filter_map(read).collect()
    }

    /// Records the wait for a connection and its BEGIN, successful or not.
    pub fn database_wait(&self, duration: Duration) {
        self.database_wait.observe(duration.as_secs_f64());
    }

    /// Sets by how many microseconds the database's clock is ahead.
    pub fn clock_skew(&self, micros: i64) {
        self.clock_skew.set(micros as f64 / 1e6);
    }

    /// Records how many microseconds after its commit an event was written to a watch.
    pub fn delivered(&self, micros: i64) {
        self.watch_delivery.observe(micros.max(0) as f64 / 1e6);
    }

    /// Records that a sweep left nothing to do, or that none was due yet.
    pub fn swept(&self, now: Micros) {
        self.sweep_completed.set(now.0 as f64 / 1e6);
    }

    /// Sets how many erasures wait for a reader of the database file.
    pub fn erasures_wait(&self, count: usize) {
        self.erasures_waiting.set(i64::try_from(count).unwrap_or(i64::MAX));
    }

    /// Records an operation of an object store, one of [`STORE_OPERATIONS`].
    pub fn artifact_store(&self, operation: &'static str, duration: Duration, succeeded: bool) {
        debug_assert!(STORE_OPERATIONS.contains(&operation), "{operation} is not in the list of operations");
        let label = [("operation", operation)];
        self.artifact_store_duration.get_or_create(&label).observe(duration.as_secs_f64());
        if !succeeded {
            self.artifact_store_failures.inc(operation);
        }
    }

    /// All metrics in the OpenMetrics text format 1.0.0.
    pub fn encode(&self) -> String {
        if let Some(database) = self.database.get() {
            let (PoolUse { open, idle }, nodes) = database();
            let counts = [idle.min(open), open.saturating_sub(idle)];
            for (state, connections) in CONNECTION_STATES.into_iter().zip(counts) {
                self.database_connections.get_or_create(&[("state", state)]).set(connections.into());
            }
            if let Some(Nodes { all, gone }) = nodes {
                for (state, nodes) in [("answering", all.saturating_sub(gone)), ("gone", gone)] {
                    self.database_nodes.get_or_create(&[("state", state)]).set(nodes.into());
                }
            }
        }
        let mut text = String::new();
        if let Err(error) = text::encode(&mut text, &self.registry) {
            // Without the `# EOF` at the end, a scraper correctly refuses the text.
            tracing::error!(%error, "metrics cannot be encoded");
        }
        text
    }
}

impl Default for Metrics {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Metrics").finish_non_exhaustive()
    }
}

impl ConnectionObserver for Metrics {
    fn opened(&self) {
        self.connections.inc();
    }

    fn closed(&self) {
        self.connections.dec();
    }

    fn refused(&self) {
        self.rejections.inc("connections");
    }
}

/// Counts a request, or a watch, in a gauge until it is dropped, even by a panic or a disconnect.
#[derive(Debug)]
#[must_use = "it counts for as long as this lives"]
pub struct InFlight(Gauge);

impl InFlight {
    pub fn of(gauge: &Gauge) -> Self {
        gauge.inc();
        Self(gauge.clone())
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        self.0.dec();
    }
}

fn latency() -> Histogram {
    Histogram::new(BUCKETS)
}

/// The label of any method that no endpoint has, by OpenTelemetry's semantic conventions.
pub const OTHER_METHOD: &str = "_OTHER";

/// The label of a method.
pub fn known_method(method: &str) -> &'static str {
    const KNOWN: [&str; 7] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];
    KNOWN.into_iter().find(|known| *known == method).unwrap_or(OTHER_METHOD)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn assert_line(text: &str, line: &str) {
        assert!(text.lines().any(|l| l == line), "no line {line} in:\n{text}");
    }

    /// The table of docs/metrics.md has a row for each metric, and no others.
    #[test]
    fn every_metric_is_documented() {
        let rows =
            include_str!("../docs/metrics.md").lines().filter_map(|line| line.strip_prefix("| `")?.split_once(" |"));
        let names = rows.flat_map(|(names, _)| names.split(", ")).map(|name| name.trim_matches('`'));
        let (ours, process): (Vec<&str>, Vec<&str>) = names.partition(|name| name.starts_with("sessiond_"));
        let bare = |name| str::strip_suffix(name, "_total").or(str::strip_suffix(name, "_seconds")).unwrap_or(name);
        let mut ours: Vec<&str> = ours.into_iter().map(bare).collect();
        let mut registered = Metrics::NAMES.to_vec();
        ours.sort_unstable();
        registered.sort_unstable();
        assert_eq!(ours, registered);
        let text = Metrics::new().encode();
        let shown = text.lines().filter(|line| line.starts_with("# TYPE process_")).count();
        assert!(shown == 0 || shown == process.len(), "{process:?}");
        assert!(process.into_iter().all(|name| shown == 0 || text.contains(&format!("\n{name} "))));
    }

    #[test]
    fn names_and_labels_are_as_documented() {
        let metrics = Metrics::new();
        metrics.watch_database(|| (PoolUse { open: 5, idle: 3 }, None));
        metrics.request("GET", Some("/v1/apps/{app}"), 200, Some(Duration::from_millis(3)));
        metrics.request("BREW", None, 404, None);
        let mut requests = metrics.requests();
        requests.sort();
        let of = |method: &str, route: &str, status| (method.to_owned(), route.to_owned(), status, 1);
        assert_eq!(requests, [of("GET", "/v1/apps/{app}", 200), of("_OTHER", "unmatched", 404)]);
        let guard = InFlight::of(&metrics.in_flight);
        metrics.opened();
        metrics.refused();
        metrics.rejections.inc("body");
        metrics.database_wait(Duration::from_micros(400));
        metrics.database_retries.inc("unclear_commit");
        metrics.unknown_outcomes.inc();
        metrics.clock_skew(-3_600_500_000);
        metrics.replayed_events.inc_by(2);
        metrics.appended_events.inc_by(3);
        let text = metrics.encode();
        for line in [
            r#"sessiond_http_requests_total{method="GET",route="/v1/apps/{app}",status="200"} 1"#,
            r#"sessiond_http_requests_total{method="_OTHER",route="unmatched",status="404"} 1"#,
            r#"sessiond_http_request_duration_seconds_bucket{le="0.0025",method="GET",route="/v1/apps/{app}"} 0"#,
            r#"sessiond_http_request_duration_seconds_bucket{le="0.005",method="GET",route="/v1/apps/{app}"} 1"#,
            r#"sessiond_http_request_duration_seconds_bucket{le="10.0",method="GET",route="/v1/apps/{app}"} 1"#,
            "sessiond_http_requests_in_flight 1",
            "sessiond_http_connections 1",
            r#"sessiond_rejections_total{limit="connections"} 1"#,
            r#"sessiond_rejections_total{limit="body"} 1"#,
            r#"sessiond_database_connections{state="idle"} 3"#,
            r#"sessiond_database_connections{state="used"} 2"#,
            r#"sessiond_database_wait_seconds_bucket{le="0.0005"} 1"#,
            r#"sessiond_database_retries_total{cause="conflict"} 0"#,
            r#"sessiond_database_retries_total{cause="connection_lost"} 0"#,
            r#"sessiond_database_retries_total{cause="unclear_commit"} 1"#,
            "sessiond_unknown_outcomes_total 1",
            "sessiond_clock_skew_seconds -3600.5",
            "sessiond_replayed_events_total 2",
            "sessiond_appended_events_total 3",
            concat!(r#"sessiond_build_info{version=""#, env!("CARGO_PKG_VERSION"), r#""} 1"#),
            "# EOF",
        ] {
            assert_line(&text, line);
        }
        drop(guard);
        metrics.closed();
        let text = metrics.encode();
        assert_line(&text, "sessiond_http_requests_in_flight 0");
        assert_line(&text, "sessiond_http_connections 0");
    }
}
