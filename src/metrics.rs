//! The metrics and their names, in the format that Prometheus scrapes.
//!
//! Every label value comes from a closed set: route templates, known methods, constants. Nothing that a client sends
//! becomes a label, or clients could grow the memory of the service and of Prometheus without bound.

mod process;

use std::fmt;
use std::sync::OnceLock;
use std::sync::atomic::AtomicU64;
use std::time::Duration;

use prometheus_client::encoding::{EncodeLabelSet, text};
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
struct RouteLabels {
    method: &'static str,
    route: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RequestLabels {
    method: &'static str,
    route: &'static str,
    status: u16,
}

/// The reasons of refusals: limits, rates, grants, and the checks of `Host` and `Origin`.
const LIMITS: [&str; 27] = [
    "connections",
    "in_flight",
    "streams",
    "buffered_bytes",
    "answer_bytes",
    "look_ups",
    "watchers",
    "transfers",
    "uploads",
    "turns",
    "body",
    "artifact",
    "event",
    "value",
    "batch",
    "state_keys",
    "operators",
    "template",
    "rendered",
    "rate_app",
    "rate_key",
    "rate_user",
    "host",
    "origin",
    "credential",
    "role",
    "grant",
];

/// Why credentials are invalid: in general, and for JWTs.
const REFUSALS: [&str; 16] = [
    "missing",
    "malformed",
    "invalid",
    "expired",
    "header",
    "algorithm",
    "no_keys",
    "unknown_key",
    "signature",
    "issuer",
    "audience",
    "not_yet_valid",
    "no_expiry",
    "user",
    "apps",
    "role",
];

/// The results of requests about leases.
const LEASE_RESULTS: [&str; 6] = ["granted", "retried", "stolen", "held", "renewed", "released"];

/// The states of a database connection.
const CONNECTION_STATES: [&str; 2] = ["idle", "used"];

/// Why a transaction is retried: it lost a race, the connection failed before COMMIT, or the answer to COMMIT was lost.
const RETRY_CAUSES: [&str; 3] = ["conflict", "connection_lost", "unclear_commit"];

/// Why a watch ends: its session was deleted or trimmed beyond its position, the server says `bye`, the log was rolled
/// back, the database failed, or the client left or stopped reading.
const WATCH_ENDS: [&str; 9] = [
    "deleted",
    "trimmed",
    "drain",
    "lifetime",
    "credential_expired",
    "overloaded",
    "position_gone",
    "storage",
    "client",
];

/// Background tasks that are retried when they fail: the sweep, each policy and each artifact store that it applies to, the poll for other
/// processes' commits, reads of the issuer's keys and of the admin key, and writes to the access log.
const BACKGROUND: [&str; 8] =
    ["sweep", "policy", "artifact_store", "feed", "watch_poll", "issuer_keys", "admin_key", "access_log"];

/// What becomes of saves of artifacts: a version, one that an earlier request saved, a refusal, a failure; or their bytes never came whole.
const SAVE_OUTCOMES: [&str; 5] = ["saved", "replayed", "refused", "failed", "cut"];

/// Which way the bytes of artifacts go: from clients, to clients.
const DIRECTIONS: [&str; 2] = ["in", "out"];

/// What stores of objects are asked for.
const STORE_OPERATIONS: [&str; 4] = ["write", "read", "remove", "list"];

/// The results of spans: the collector accepted them, the queue was full, or the collector did not accept them.
const SPAN_RESULTS: [&str; 3] = ["sent", "dropped", "failed"];

/// Defines [`Metrics`]: for each metric a field with its type and, if it has no default, its constructor; its name and
/// help, to which the encoder appends `_total` or the unit, and a full stop; and the label whose values exist from the
/// start at 0, so that "never" differs from "not measured" and `rate()` sees the first step.
macro_rules! metrics {
    ($($field:ident: $kind:ty $([$new:expr])? = $name:literal $(in $unit:ident)?, $help:literal $(, $label:ident of $words:ident)?;)*) => {
        /// The metrics of one service. Methods are cheap enough for the hot path and never block on I/O.
        pub struct Metrics {
            registry: Registry,
            $($field: $kind,)*
            nodes: OnceLock<Box<dyn Fn() -> Option<Nodes> + Send + Sync>>,
            pool: OnceLock<Box<dyn Fn() -> PoolUse + Send + Sync>>,
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
                let metrics = Self { registry, $($field,)* nodes: OnceLock::new(), pool: OnceLock::new() };
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
    problems: Family<Label, Counter> = "sessiond_problems",
        "Answers that are problem documents, by code";
    rejections: Family<Label, Counter> = "sessiond_rejections",
        "Requests and connections refused, by limit",
        limit of LIMITS;
    credentials_refused: Family<Label, Counter> = "sessiond_credentials_refused",
        "Credentials that did not hold, by reason",
        reason of REFUSALS;
    database_connections: Family<Label, Gauge> = "sessiond_database_connections",
        "Database connections open now, by what they do",
        state of CONNECTION_STATES;
    database_nodes: Family<Label, Gauge> = "sessiond_database_nodes",
        "Nodes of a distributed database, by whether they answered when readiness was last asked for";
    database_wait: Histogram [latency()] = "sessiond_database_wait" in Seconds,
        "Time to get a database connection and begin a transaction";
    database_retries: Family<Label, Counter> = "sessiond_database_retries",
        "Transactions tried again, by cause",
        cause of RETRY_CAUSES;
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
    watch_ends: Family<Label, Counter> = "sessiond_watch_ends",
        "Watches that ended, by reason",
        reason of WATCH_ENDS;
    watch_delivery: Histogram [latency()] = "sessiond_watch_delivery" in Seconds,
        "Time from the commit of an event to its writing to a watch that had all before it";
    watch_polls: Counter = "sessiond_watch_polls",
        "Looks at what other processes have committed of watched sessions";
    leases: Family<Label, Counter> = "sessiond_leases",
        "Requests about leases, by result",
        result of LEASE_RESULTS;
    fenced: Counter = "sessiond_fenced",
        "Requests that named a superseded lease";
    background_failures: Family<Label, Counter> = "sessiond_background_failures",
        "What failed beside requests and is tried again, by task",
        task of BACKGROUND;
    sweep_completed: Gauge<f64, AtomicU64> = "sessiond_sweep_completed_timestamp" in Seconds,
        "When a sweep last left nothing to do, or the process started if none has, in Unix time";
    erasures_waiting: Gauge = "sessiond_erasures_waiting",
        "Erasures that wait for a reader of the SQLite file, which holds its log";
    artifact_saves: Family<Label, Counter> = "sessiond_artifact_saves",
        "Saves of artifacts, by outcome",
        outcome of SAVE_OUTCOMES;
    artifact_bytes: Family<Label, Counter> = "sessiond_artifact_bytes",
        "Bytes of artifacts that came from clients, or were read for them, by direction",
        direction of DIRECTIONS;
    artifact_orphans: Counter = "sessiond_artifact_orphans",
        "Uploads and versions that are gone, whose bytes were removed";
    artifact_store_duration: Family<Label, Histogram, fn() -> Histogram> [Family::new_with_constructor(latency as fn() -> Histogram)] =
        "sessiond_artifact_store_duration" in Seconds,
        "Time that an object store took to write an object, to begin reading one, to remove one, or to list some",
        operation of STORE_OPERATIONS;
    artifact_store_failures: Family<Label, Counter> = "sessiond_artifact_store_failures",
        "Operations in which an object store failed, or had lost an object",
        operation of STORE_OPERATIONS;
    artifact_strays: Counter = "sessiond_artifact_strays",
        "Objects removed from a store because the database does not have them";
    spans: Family<Label, Counter> = "sessiond_spans",
        "Spans for the collector, by result",
        result of SPAN_RESULTS;
    build_info: Family<Label, Gauge> = "sessiond_build_info",
        "The running version, always 1";
}

impl Metrics {
    /// Sets the source of the node metrics, which each scrape calls. Only the first call counts.
    pub fn watch_nodes(&self, nodes: impl Fn() -> Option<Nodes> + Send + Sync + 'static) {
        // An error means that it was set before.
        let _ = self.nodes.set(Box::new(nodes));
    }

    /// Sets the source of the pool metrics, which each scrape calls. Only the first call counts.
    pub fn watch_pool(&self, pool: impl Fn() -> PoolUse + Send + Sync + 'static) {
        // An error means that it was set before; a process has one pool.
        let _ = self.pool.set(Box::new(pool));
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

    /// Counts a request as in flight until the guard is dropped, even by a panic or a disconnect.
    #[must_use = "the request counts as in flight for as long as this lives"]
    pub fn in_flight(&self) -> InFlight {
        self.in_flight.inc();
        InFlight(self.in_flight.clone())
    }

    /// Initializes the counter of this problem code at 0, as for all counters with a label.
    pub fn expect_problems(&self, code: &'static str) {
        drop(self.problems.get_or_create(&[("code", code)]));
    }

    /// Counts a problem document with this code.
    pub fn problem(&self, code: &'static str) {
        self.problems.get_or_create(&[("code", code)]).inc();
    }

    /// Counts a refusal by the limit of this name, one of [`LIMITS`].
    pub fn rejected(&self, limit: &'static str) {
        debug_assert!(LIMITS.contains(&limit), "{limit} is not in the list of limits");
        self.rejections.get_or_create(&[("limit", limit)]).inc();
    }

    /// Counts an invalid credential. The reason is visible nowhere else.
    pub fn credential_refused(&self, reason: &'static str) {
        self.credentials_refused.get_or_create(&[("reason", reason)]).inc();
    }

    /// The number of refusals by the limit of this name.
    pub fn rejections(&self, limit: &'static str) -> u64 {
        self.rejections.get_or_create(&[("limit", limit)]).get()
    }

    /// Records the wait for a connection and its BEGIN, successful or not.
    pub fn database_wait(&self, duration: Duration) {
        self.database_wait.observe(duration.as_secs_f64());
    }

    /// Counts a retry of a transaction because of `conflict`, `connection_lost` or `unclear_commit`.
    pub fn retried(&self, cause: &'static str) {
        self.database_retries.get_or_create(&[("cause", cause)]).inc();
    }

    /// Sets by how many microseconds the database's clock is ahead.
    pub fn clock_skew(&self, micros: i64) {
        self.clock_skew.set(micros as f64 / 1e6);
    }

    /// Counts a write that was answered with `outcome: "unknown"`.
    pub fn unknown_outcome(&self) {
        self.unknown_outcomes.inc();
    }

    /// Counts a request about a lease with this result, one of [`LEASE_RESULTS`].
    pub fn lease(&self, result: &'static str) {
        debug_assert!(LEASE_RESULTS.contains(&result), "{result} is not in the list of results");
        self.leases.get_or_create(&[("result", result)]).inc();
    }

    /// Counts a request that named a superseded lease.
    pub fn fenced(&self) {
        self.fenced.inc();
    }

    /// Counts events whose earlier result was returned again.
    pub fn replayed(&self, count: usize) {
        self.replayed_events.inc_by(count as u64);
    }

    /// Counts a watch, or a request that waits, until the guard is dropped.
    #[must_use = "it counts for as long as this lives"]
    pub fn watcher(&self) -> InFlight {
        self.watchers.inc();
        InFlight(self.watchers.clone())
    }

    /// Counts the end of a watch, for one of [`WATCH_ENDS`].
    pub fn watch_ended(&self, reason: &'static str) {
        debug_assert!(WATCH_ENDS.contains(&reason), "{reason} is not in the list");
        self.watch_ends.get_or_create(&[("reason", reason)]).inc();
    }

    /// Records how many microseconds after its commit an event was written to a watch.
    pub fn delivered(&self, micros: i64) {
        self.watch_delivery.observe(micros.max(0) as f64 / 1e6);
    }

    /// Counts a poll for commits of other processes to watched sessions.
    pub fn polled(&self) {
        self.watch_polls.inc();
    }

    /// Counts a failure of a background task, one of [`BACKGROUND`].
    pub fn failed(&self, task: &'static str) {
        debug_assert!(BACKGROUND.contains(&task), "{task} is not in the list of tasks");
        self.background_failures.get_or_create(&[("task", task)]).inc();
    }

    /// Records that a sweep left nothing to do, or that none was due yet.
    pub fn swept(&self, now: Micros) {
        self.sweep_completed.set(now.0 as f64 / 1e6);
    }

    /// Sets how many erasures wait for a reader of the database file.
    pub fn erasures_wait(&self, count: usize) {
        self.erasures_waiting.set(i64::try_from(count).unwrap_or(i64::MAX));
    }

    /// Counts a save of an artifact with this outcome, one of [`SAVE_OUTCOMES`].
    pub fn artifact_save(&self, outcome: &'static str) {
        debug_assert!(SAVE_OUTCOMES.contains(&outcome), "{outcome} is not in the list of outcomes");
        self.artifact_saves.get_or_create(&[("outcome", outcome)]).inc();
    }

    /// Counts bytes of artifacts that go one of [`DIRECTIONS`].
    pub fn artifact_bytes(&self, direction: &'static str, bytes: usize) {
        debug_assert!(DIRECTIONS.contains(&direction), "{direction} is not in the list of directions");
        self.artifact_bytes.get_or_create(&[("direction", direction)]).inc_by(bytes as u64);
    }

    /// Counts bytes that were removed because no version holds them.
    pub fn orphan_removed(&self) {
        self.artifact_orphans.inc();
    }

    /// Records an operation of an object store, one of [`STORE_OPERATIONS`].
    pub fn artifact_store(&self, operation: &'static str, duration: Duration, succeeded: bool) {
        debug_assert!(STORE_OPERATIONS.contains(&operation), "{operation} is not in the list of operations");
        let label = [("operation", operation)];
        self.artifact_store_duration.get_or_create(&label).observe(duration.as_secs_f64());
        if !succeeded {
            self.artifact_store_failures.get_or_create(&label).inc();
        }
    }

    /// Counts an object that was removed because the database does not have it.
    pub fn stray_removed(&self) {
        self.artifact_strays.inc();
    }

    /// Counts spans with this result, one of [`SPAN_RESULTS`].
    pub fn spans(&self, result: &'static str, count: usize) {
        debug_assert!(SPAN_RESULTS.contains(&result), "{result} is not in the list of results");
        self.spans.get_or_create(&[("result", result)]).inc_by(count as u64);
    }

    /// Counts newly committed events.
    pub fn appended(&self, count: usize) {
        self.appended_events.inc_by(count as u64);
    }

    /// All metrics in the OpenMetrics text format 1.0.0.
    pub fn encode(&self) -> String {
        if let Some(pool) = self.pool.get() {
            let PoolUse { open, idle } = pool();
            let counts = [idle.min(open), open.saturating_sub(idle)];
            for (state, connections) in CONNECTION_STATES.into_iter().zip(counts) {
                self.database_connections.get_or_create(&[("state", state)]).set(connections.into());
            }
        }
        if let Some(Nodes { all, gone }) = self.nodes.get().and_then(|nodes| nodes()) {
            for (state, nodes) in [("answering", all.saturating_sub(gone)), ("gone", gone)] {
                self.database_nodes.get_or_create(&[("state", state)]).set(nodes.into());
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
        self.rejected("connections");
    }
}

/// A request in flight; see [`Metrics::in_flight`].
#[derive(Debug)]
pub struct InFlight(Gauge);

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
    match method {
        "GET" => "GET",
        "HEAD" => "HEAD",
        "POST" => "POST",
        "PUT" => "PUT",
        "PATCH" => "PATCH",
        "DELETE" => "DELETE",
        "OPTIONS" => "OPTIONS",
        _ => OTHER_METHOD,
    }
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
        metrics.watch_pool(|| PoolUse { open: 5, idle: 3 });
        metrics.request("GET", Some("/v1/apps/{app}"), 200, Some(Duration::from_millis(3)));
        metrics.request("BREW", None, 404, None);
        let mut requests = metrics.requests();
        requests.sort();
        let of = |method: &str, route: &str, status| (method.to_owned(), route.to_owned(), status, 1);
        assert_eq!(requests, [of("GET", "/v1/apps/{app}", 200), of("_OTHER", "unmatched", 404)]);
        let guard = metrics.in_flight();
        metrics.opened();
        metrics.refused();
        metrics.rejected("body");
        metrics.database_wait(Duration::from_micros(400));
        metrics.retried("unclear_commit");
        metrics.unknown_outcome();
        metrics.clock_skew(-3_600_500_000);
        metrics.replayed(2);
        metrics.appended(3);
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
