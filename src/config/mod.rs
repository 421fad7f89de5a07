//! Settings: every one is a flag, and every flag has a `SESSIOND_*` variable. `sessiond --help` is the reference.
//!
//! A flag takes precedence over its variable, and an empty variable counts as unset (compose files write `${NAME:-}`).
//! Invalid combinations are refused here, before anything is opened: a [`Config`] is consistent.

mod checks;
mod cli;
mod layers;
#[cfg(test)]
mod tests;
mod values;

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use clap::builder::BoolishValueParser;
use secrecy::SecretString;

use crate::access::audit::Sink;
use crate::blobs::open::ArtifactStore;
use crate::domain::access::Role;
use crate::origin::{AllowedHost, Origin};
use crate::telemetry::{self, LogFormat};

use values::{bytes, count, count_usize, duration, inline_bytes, log_filter, period, retention, role, secret};

pub use cli::{
    BackupArgs, Cli, Command, ErasuresCommand, ExportArgs, ImportArgs, ImportCommand, KeysCommand, ReceiptsCommand,
    unknown_variables,
};
pub use layers::{HttpSettings, RateLimits, WatchSettings};
pub use values::{Address, ConsoleLink, ListenError, MetricsListen, Rate};

const DATABASE: &str = "Database";
const HTTP: &str = "HTTP";
const ACCESS: &str = "Access";
const LIMITS: &str = "Limits";
const OBSERVABILITY: &str = "Observability";

/// The settings. The doc comments are the texts of `--help`.
#[derive(Debug, Clone, Args)]
pub struct Config {
    /// sqlite://PATH (the file is created) or postgres://USER:PASSWORD@HOST/NAME
    ///
    /// The variable SESSIOND_DATABASE_URL wins over DATABASE_URL. Prefer a variable to the flag if the URL holds a password:
    /// other users of the machine can read the command line. The URL is never logged.
    ///
    /// A PostgreSQL URL without some part uses the variables of libpq, if they are set: PGHOST, PGHOSTADDR,
    /// PGPORT, PGUSER, PGPASSWORD, PGDATABASE, PGSSLMODE, PGSSLROOTCERT, PGSSLCERT, PGSSLKEY, PGOPTIONS, PGAPPNAME; and a
    /// password from the file that PGPASSFILE names, or ~/.pgpass. A parameter that cannot be honoured is refused;
    /// docs/postgresql.md says what to write instead.
    #[arg(long, env = "DATABASE_URL", hide_env_values = true, default_value = "sqlite://sessiond.db")]
    // The parser cannot fail, because clap would quote the value in its message; `validate` checks it.
    #[arg(value_name = "URL", value_parser = secret, global = true, help_heading = DATABASE)]
    pub database_url: SecretString,

    /// Connections to the database; with SQLite, readers besides its one writer
    #[arg(long, env = "SESSIOND_DATABASE_CONNECTIONS", default_value = "16")]
    #[arg(value_name = "N", value_parser = count, global = true, help_heading = DATABASE)]
    pub database_connections: u32,

    /// Do not apply pending migrations at start
    ///
    /// `serve` then refuses to start while any is pending: run `sessiond migrate` first.
    #[arg(long, env = "SESSIOND_NO_MIGRATE", value_parser = BoolishValueParser::new())]
    #[arg(global = true, help_heading = DATABASE)]
    pub no_migrate: bool,

    /// PostgreSQL is reached through PgBouncer in transaction mode
    ///
    /// Every read becomes a transaction of its own, and nothing is prepared by name or set for a session.
    #[arg(long, env = "SESSIOND_PGBOUNCER", value_parser = BoolishValueParser::new())]
    #[arg(global = true, help_heading = DATABASE)]
    pub pgbouncer: bool,

    /// Longest run of one database statement, as a duration; a request that needs longer fails
    ///
    /// PostgreSQL enforces it; SQLite has no such limit. On both, the beginning of a transaction and its work before the
    /// commit may each take this and --acquire-timeout together.
    #[arg(long, env = "SESSIOND_STATEMENT_TIMEOUT", default_value = "5s")]
    #[arg(value_name = "DURATION", value_parser = period, global = true, help_heading = DATABASE)]
    pub statement_timeout: Duration,

    /// Longest wait for a lock in the database, as a duration; then 503 `overloaded`
    ///
    /// Enforced by the database. With SQLite, requests wait not for locks but for the connection that writes: see
    /// --acquire-timeout.
    #[arg(long, env = "SESSIOND_LOCK_TIMEOUT", default_value = "2s")]
    #[arg(value_name = "DURATION", value_parser = period, global = true, help_heading = DATABASE)]
    pub lock_timeout: Duration,

    /// Longest wait for a free database connection, as a duration; then 503 `overloaded`
    ///
    /// Enforced by sessiond. With SQLite it also bounds the wait for the one connection that writes. With either database it
    /// bounds the wait of an append for its turn in a group commit.
    #[arg(long, env = "SESSIOND_ACQUIRE_TIMEOUT", default_value = "2s")]
    #[arg(value_name = "DURATION", value_parser = period, global = true, help_heading = DATABASE)]
    pub acquire_timeout: Duration,

    /// Where the bytes of artifacts are, separated by commas: `database`, file:///DIR, s3://BUCKET/PREFIX, gs://…, az://…
    ///
    /// The first takes what is new. What was saved before stays readable as long as its store is among the others; what is in the
    /// database always is. The stores of AWS, Google and Azure read their usual variables: AWS_ACCESS_KEY_ID, AWS_REGION,
    /// AWS_ENDPOINT_URL, GOOGLE_APPLICATION_CREDENTIALS, AZURE_STORAGE_ACCOUNT_NAME and so on.
    #[arg(long, env = "SESSIOND_ARTIFACT_STORE", value_delimiter = ',', default_value = "database")]
    #[arg(value_name = "STORES", global = true, help_heading = DATABASE)]
    pub artifact_store: Vec<ArtifactStore>,

    /// Artifacts up to this size stay in the database, whatever the store, at most 256KiB; 0: none
    ///
    /// A small file is saved with its version by one transaction, without a request to the store.
    #[arg(long, env = "SESSIOND_ARTIFACT_INLINE_MAX", default_value = "64KiB")]
    #[arg(value_name = "BYTES", value_parser = inline_bytes, global = true, help_heading = DATABASE)]
    pub artifact_inline_max: usize,

    /// Longest time for one step of an artifact store, as a duration: to take a part of an object, to begin one, to remove one
    ///
    /// With its repetitions. Then 503 for the bytes; everything else is served.
    #[arg(long, env = "SESSIOND_ARTIFACT_STORE_TIMEOUT", default_value = "30s")]
    #[arg(value_name = "DURATION", value_parser = period, global = true, help_heading = DATABASE)]
    pub artifact_store_timeout: Duration,

    /// Time between two sweeps, which remove the rows of expired and deleted sessions, as a duration
    ///
    /// Such sessions answer 404 from the moment they expire or are deleted; this is about their storage.
    #[arg(long, env = "SESSIOND_SWEEP_INTERVAL", default_value = "60s")]
    #[arg(value_name = "DURATION", value_parser = period, global = true, help_heading = DATABASE)]
    pub sweep_interval: Duration,

    /// Where to serve the API; port 0 picks a free one, which the log names
    ///
    /// An address that is not loopback needs authentication (see Access), or --insecure-no-auth.
    #[arg(long, env = "SESSIOND_LISTEN", default_value = "127.0.0.1:8080")]
    #[arg(value_name = "HOST:PORT", global = true, help_heading = HTTP)]
    pub listen: Address,

    /// Host names that clients may use for this server, separated by commas: NAME, NAME:PORT, or `*` for all
    ///
    /// IP addresses, localhost and names below it need not be listed. If no credential is required, and for the metrics, a
    /// request with any other `Host` is 403. Otherwise any web page could reach this server by a name of its own that resolves
    /// to the server's address (DNS rebinding). So use `*` only where no browser can reach it.
    #[arg(long, env = "SESSIOND_ALLOWED_HOSTS", value_delimiter = ',')]
    #[arg(value_name = "HOSTS", global = true, help_heading = HTTP)]
    pub allowed_hosts: Vec<AllowedHost>,

    /// Origins of web pages that may use this server, separated by commas: SCHEME://HOST or SCHEME://HOST:PORT
    ///
    /// Scheme, host and port must match exactly. Their pages may read the answers (CORS). If no credential is required,
    /// requests from pages of any other origin, except the server's own, are 403.
    #[arg(long, env = "SESSIOND_CORS_ORIGINS", value_delimiter = ',')]
    #[arg(value_name = "ORIGINS", global = true, help_heading = HTTP)]
    pub cors_origins: Vec<Origin>,

    /// Serve no console
    ///
    /// Then /console/ is 404.
    #[arg(long, env = "SESSIOND_NO_CONSOLE", value_parser = BoolishValueParser::new())]
    #[arg(global = true, help_heading = HTTP)]
    pub no_console: bool,

    /// Links from sessions in the console to other pages, separated by commas: NAME=URL
    ///
    /// The URL is http or https. Behind its host it may have {app}, {user}, {session}, {invocation} and {event}, which are
    /// percent-encoded; one with {invocation} or {event} is shown at events. Everyone whose credential is accepted can read
    /// them. Write %2C for a comma.
    #[arg(long, env = "SESSIOND_CONSOLE_LINK", value_delimiter = ',')]
    #[arg(value_name = "LINKS", global = true, help_heading = HTTP)]
    pub console_link: Vec<ConsoleLink>,

    /// Require a credential, even if the database has no key yet
    ///
    /// A credential is required with this, with --admin-key-file, with --jwt-issuer, and as soon as the database has a key
    /// (`sessiond keys create`), even a revoked or expired one.
    #[arg(long, env = "SESSIOND_REQUIRE_AUTH", value_parser = BoolishValueParser::new())]
    #[arg(global = true, help_heading = ACCESS)]
    pub require_auth: bool,

    /// Serve without authentication on an address that is not loopback
    ///
    /// Everyone who can reach the address can then read and change every session.
    #[arg(long, env = "SESSIOND_INSECURE_NO_AUTH", value_parser = BoolishValueParser::new())]
    #[arg(global = true, help_heading = ACCESS)]
    pub insecure_no_auth: bool,

    /// A file whose content, trimmed, is a credential of the role `admin`
    ///
    /// 32 to 256 characters of A-Z, a-z, 0-9, `_` and `-`. A change takes effect within 5 s.
    #[arg(long, env = "SESSIOND_ADMIN_KEY_FILE", value_name = "FILE", global = true, help_heading = ACCESS)]
    pub admin_key_file: Option<PathBuf>,

    /// The issuer (`iss`) whose JWTs are credentials; needs --jwt-audience, and --jwt-jwks-url or --jwt-jwks-file
    ///
    /// Signed with RS256, ES256 or EdDSA, and with an expiry.
    #[arg(long, env = "SESSIOND_JWT_ISSUER", value_name = "ISSUER", global = true, help_heading = ACCESS)]
    pub jwt_issuer: Option<String>,

    /// The audience (`aud`) that a JWT must name
    #[arg(long, env = "SESSIOND_JWT_AUDIENCE", value_name = "AUDIENCE", global = true, help_heading = ACCESS)]
    pub jwt_audience: Option<String>,

    /// Where the issuer publishes its keys (JWKS): an https URL, or http on this machine
    #[arg(long, env = "SESSIOND_JWT_JWKS_URL", value_name = "URL", global = true, help_heading = ACCESS)]
    pub jwt_jwks_url: Option<String>,

    /// A file with the issuer's keys (JWKS); read again when it changes
    #[arg(long, env = "SESSIOND_JWT_JWKS_FILE", value_name = "FILE", global = true, help_heading = ACCESS)]
    pub jwt_jwks_file: Option<PathBuf>,

    /// The claim that names the user; `sub` unless given
    #[arg(long, env = "SESSIOND_JWT_USER_CLAIM", value_name = "CLAIM", global = true, help_heading = ACCESS)]
    pub jwt_user_claim: Option<String>,

    /// The apps of every JWT, separated by commas: names, or prefixes with a trailing `*`
    #[arg(long, env = "SESSIOND_JWT_APPS", value_delimiter = ',', value_name = "APPS")]
    #[arg(global = true, help_heading = ACCESS)]
    pub jwt_apps: Vec<String>,

    /// The claim that names the apps: a string, or an array of strings
    #[arg(long, env = "SESSIOND_JWT_APPS_CLAIM", value_name = "CLAIM", global = true, help_heading = ACCESS)]
    pub jwt_apps_claim: Option<String>,

    /// The role of every JWT: reader, user, agent, operator or admin; `user` unless given
    #[arg(long, env = "SESSIOND_JWT_ROLE", value_name = "ROLE", value_parser = role)]
    #[arg(global = true, help_heading = ACCESS)]
    pub jwt_role: Option<Role>,

    /// The claim that names the role, instead of --jwt-role
    #[arg(long, env = "SESSIOND_JWT_ROLE_CLAIM", value_name = "CLAIM", global = true, help_heading = ACCESS)]
    pub jwt_role_claim: Option<String>,

    /// Where to log who did what to which names: a file, or `stderr`
    ///
    /// One JSON object per line and request, except for paths that need no credential. It has the names of apps, users and
    /// sessions, and never a credential or a value. A file is reopened on SIGHUP.
    #[arg(long, env = "SESSIOND_AUDIT_LOG", value_name = "FILE|stderr", global = true, help_heading = ACCESS)]
    pub audit_log: Option<Sink>,

    /// Time for one request in the service, as a duration; then 503
    #[arg(long, env = "SESSIOND_REQUEST_TIMEOUT", default_value = "10s")]
    #[arg(value_name = "DURATION", value_parser = period, global = true, help_heading = HTTP)]
    pub request_timeout: Duration,

    /// Silence after which a watch sends a comment, as a duration; must be shorter than --idle-timeout
    ///
    /// It should also be shorter than the idle timeout of a proxy in front.
    #[arg(long, env = "SESSIOND_WATCH_HEARTBEAT", default_value = "15s")]
    #[arg(value_name = "DURATION", value_parser = period, global = true, help_heading = HTTP)]
    pub watch_heartbeat: Duration,

    /// Life of a watch, give or take a tenth, as a duration; then it says `bye`, and its client reconnects
    #[arg(long, env = "SESSIOND_WATCH_LIFETIME", default_value = "15m")]
    #[arg(value_name = "DURATION", value_parser = period, global = true, help_heading = HTTP)]
    pub watch_lifetime: Duration,

    /// Longest time for which a client may read no byte of a watch, as a duration; then the connection is cut
    #[arg(long, env = "SESSIOND_WATCH_STALL", default_value = "30s")]
    #[arg(value_name = "DURATION", value_parser = period, global = true, help_heading = HTTP)]
    pub watch_stall: Duration,

    /// Time between polls for other processes' commits to watched sessions, as a duration
    ///
    /// With PostgreSQL, while a client watches or waits. Commits of this process wake it at once.
    #[arg(long, env = "SESSIOND_WATCH_POLL", default_value = "50ms")]
    #[arg(value_name = "DURATION", value_parser = period, global = true, help_heading = DATABASE)]
    pub watch_poll: Duration,

    /// Time for which changes stay in the change feed, as a duration; 0 for no feed
    ///
    /// At most 7d. The same for all processes on one database: changes committed by one without a feed are missing in the feed.
    #[arg(long, env = "SESSIOND_FEED_RETENTION", default_value = "0")]
    #[arg(value_name = "DURATION", value_parser = retention, global = true, help_heading = DATABASE)]
    pub feed_retention: Duration,

    /// Time for a client to send the head of a request, as a duration; then the connection is closed
    #[arg(long, env = "SESSIOND_HEADER_TIMEOUT", default_value = "10s")]
    #[arg(value_name = "DURATION", value_parser = period, global = true, help_heading = HTTP)]
    pub header_timeout: Duration,

    /// Connections on which nothing moves for this duration are closed; must exceed --request-timeout
    ///
    /// It should also exceed the idle timeout of a proxy in front, which otherwise uses connections that just closed.
    #[arg(long, env = "SESSIOND_IDLE_TIMEOUT", default_value = "75s")]
    #[arg(value_name = "DURATION", value_parser = period, global = true, help_heading = HTTP)]
    pub idle_timeout: Duration,

    /// Longest time for which no byte of a request body may arrive, as a duration; then 408
    ///
    /// A client that sends more slowly than --min-rate on average uses this time up, too.
    #[arg(long, env = "SESSIOND_BODY_STALL_TIMEOUT", default_value = "5s")]
    #[arg(value_name = "DURATION", value_parser = period, global = true, help_heading = HTTP)]
    pub body_stall_timeout: Duration,

    /// Longest time for which a client may read no byte of its answer, as a duration; then the connection is cut
    ///
    /// A client that reads it more slowly than --min-rate on average uses this time up, too.
    #[arg(long, env = "SESSIOND_ANSWER_STALL_TIMEOUT", default_value = "30s")]
    #[arg(value_name = "DURATION", value_parser = period, global = true, help_heading = HTTP)]
    pub answer_stall_timeout: Duration,

    /// Least average rate at which a client sends a request body and reads its answer, in bytes per second
    ///
    /// Only time in which the service waits for the client counts. Waiting uses up --body-stall-timeout and
    /// --answer-stall-timeout, and every byte that moves earns a part of them back.
    #[arg(long, env = "SESSIOND_MIN_RATE", default_value = "4KiB")]
    #[arg(value_name = "BYTES", value_parser = bytes, global = true, help_heading = HTTP)]
    pub min_rate: usize,

    /// Time after SIGTERM in which /readyz says 503 and everything else is still served, as a duration; then the drain
    ///
    /// Gives load balancers time to notice. A second SIGTERM or SIGINT ends it.
    #[arg(long, env = "SESSIOND_SHUTDOWN_DELAY", default_value = "0s")]
    #[arg(value_name = "DURATION", value_parser = duration, global = true, help_heading = HTTP)]
    pub shutdown_delay: Duration,

    /// Time for requests under way to finish after SIGTERM and --shutdown-delay, as a duration; then they are cut off. 0
    /// does not wait
    #[arg(long, env = "SESSIOND_DRAIN_TIMEOUT", default_value = "25s")]
    #[arg(value_name = "DURATION", value_parser = duration, global = true, help_heading = HTTP)]
    pub drain_timeout: Duration,

    /// HTTP connections open at once; further ones are answered 503 `overloaded` and closed
    ///
    /// A few connections beyond the limit may still ask for /healthz, /readyz and /health, once each.
    #[arg(long, env = "SESSIOND_MAX_CONNECTIONS", default_value = "4096")]
    #[arg(value_name = "N", value_parser = count_usize, global = true, help_heading = LIMITS)]
    pub max_connections: usize,

    /// Requests served at once; further ones are answered 503 `overloaded`
    ///
    /// A request counts until its answer begins. Streamed answers are bounded by --max-streams. While another app has asked within
    /// the last 10 s, requests of one app get at most half of the places.
    #[arg(long, env = "SESSIOND_MAX_IN_FLIGHT", default_value = "1024")]
    #[arg(value_name = "N", value_parser = count_usize, global = true, help_heading = LIMITS)]
    pub max_in_flight: usize,

    /// Answers streamed at once, such as long histories; further ones are answered 503 `overloaded`
    ///
    /// They are counted apart from --max-in-flight, until their last byte is sent.
    #[arg(long, env = "SESSIOND_MAX_STREAMS", default_value = "256")]
    #[arg(value_name = "N", value_parser = count_usize, global = true, help_heading = LIMITS)]
    pub max_streams: usize,

    /// Watches, and requests that wait, at once; further ones are answered 429 `rate_limited`
    ///
    /// They are counted apart from --max-in-flight and --max-streams. Each also holds one of --max-connections.
    #[arg(long, env = "SESSIOND_MAX_WATCHERS", default_value = "3000")]
    #[arg(value_name = "N", value_parser = count_usize, global = true, help_heading = LIMITS)]
    pub max_watchers: usize,

    /// Request bodies held in memory, all together, in bytes; a request beyond it is answered 503 `overloaded`
    ///
    /// Bytes count as they arrive, not as they are announced. Up to an eighth is reserved for bodies of up to 64 KiB.
    #[arg(long, env = "SESSIOND_MAX_BUFFERED_BYTES", default_value = "256MiB")]
    #[arg(value_name = "BYTES", value_parser = bytes, global = true, help_heading = LIMITS)]
    pub max_buffered_bytes: usize,

    /// Answers held in memory, all together, in bytes; one beyond it is 503 `overloaded`
    ///
    /// Answers of up to 64 KiB do not count. Streamed answers wait for room for their next part, and a watch says `bye`. While
    /// another app asks for large answers, those of one app get at most half.
    #[arg(long, env = "SESSIOND_MAX_ANSWER_BYTES", default_value = "256MiB")]
    #[arg(value_name = "BYTES", value_parser = bytes, global = true, help_heading = LIMITS)]
    pub max_answer_bytes: usize,

    /// One request body, in bytes; a larger one is 413
    #[arg(long, env = "SESSIOND_MAX_BODY_BYTES", default_value = "8MiB")]
    #[arg(value_name = "BYTES", value_parser = bytes, global = true, help_heading = LIMITS)]
    pub max_body_bytes: usize,

    /// One event, in bytes; a larger one is 413
    #[arg(long, env = "SESSIOND_MAX_EVENT_BYTES", default_value = "4MiB")]
    #[arg(value_name = "BYTES", value_parser = bytes, global = true, help_heading = LIMITS)]
    pub max_event_bytes: usize,

    /// One state value, in bytes; a larger one is 413
    #[arg(long, env = "SESSIOND_MAX_VALUE_BYTES", default_value = "4MiB")]
    #[arg(value_name = "BYTES", value_parser = bytes, global = true, help_heading = LIMITS)]
    pub max_value_bytes: usize,

    /// One artifact, in bytes; a larger one is 413
    ///
    /// Its bytes are streamed: apart from --max-body-bytes, and not held in memory. One that comes as JSON is bound by that, too.
    #[arg(long, env = "SESSIOND_MAX_ARTIFACT_BYTES", default_value = "64MiB")]
    #[arg(value_name = "BYTES", value_parser = bytes, global = true, help_heading = LIMITS)]
    pub max_artifact_bytes: usize,

    /// Events in one request; more are 413
    #[arg(long, env = "SESSIOND_MAX_BATCH_EVENTS", default_value = "1000")]
    #[arg(value_name = "N", value_parser = count_usize, global = true, help_heading = LIMITS)]
    pub max_batch_events: usize,

    /// State keys that one request names, in all its deltas, operators and preconditions together; more are 413
    #[arg(long, env = "SESSIOND_MAX_STATE_KEYS", default_value = "10000")]
    #[arg(value_name = "N", value_parser = count_usize, global = true, help_heading = LIMITS)]
    pub max_state_keys: usize,

    /// Rows of one page of an answer, the largest `pageSize`
    #[arg(long, env = "SESSIOND_MAX_PAGE_ROWS", default_value = "1000")]
    #[arg(value_name = "N", value_parser = count_usize, global = true, help_heading = LIMITS)]
    pub max_page_rows: usize,

    /// One page of an answer, in bytes; a page ends early rather than grow beyond it, but always holds at least one row.
    /// Also a rendered template, which is refused beyond it
    #[arg(long, env = "SESSIOND_MAX_PAGE_BYTES", default_value = "8MiB")]
    #[arg(value_name = "BYTES", value_parser = bytes, global = true, help_heading = LIMITS)]
    pub max_page_bytes: usize,

    /// Events per second of one app in this process; more are 429 `rate_limited` [default: no limit]
    ///
    /// A batch costs its number of events, any other request one. 2 seconds' worth may come at once. A larger batch passes
    /// after an idle time, and later requests wait for the excess.
    #[arg(long, env = "SESSIOND_RATE_LIMIT_APP")]
    #[arg(value_name = "N", global = true, help_heading = LIMITS)]
    pub rate_limit_app: Option<Rate>,

    /// Events per second of one API key in this process, counted as of --rate-limit-app [default: no limit]
    #[arg(long, env = "SESSIOND_RATE_LIMIT_KEY")]
    #[arg(value_name = "N", global = true, help_heading = LIMITS)]
    pub rate_limit_key: Option<Rate>,

    /// Events per second of one user of an app in this process, counted as of --rate-limit-app [default: no limit]
    ///
    /// The user is the one in the path, whoever sends the request.
    #[arg(long, env = "SESSIOND_RATE_LIMIT_USER")]
    #[arg(value_name = "N", global = true, help_heading = LIMITS)]
    pub rate_limit_user: Option<Rate>,

    /// Where to serve GET /metrics for Prometheus, or `off`
    ///
    /// Metrics hold no state of any session, so they may be served on any address. If the default address is taken, the
    /// service runs without metrics and says so in the log. If an address given here is taken, it does not start.
    #[arg(long, env = "SESSIOND_METRICS_LISTEN", default_value = "127.0.0.1:9464")]
    #[arg(value_name = "HOST:PORT", global = true, help_heading = OBSERVABILITY)]
    pub metrics_listen: MetricsListen,

    /// Form of the log on stderr [default: pretty on a terminal, else json]
    #[arg(long, env = "SESSIOND_LOG_FORMAT", value_enum)]
    #[arg(value_name = "FORMAT", global = true, help_heading = OBSERVABILITY)]
    pub log_format: Option<LogFormat>,

    /// What to log: a level, or TARGET=LEVEL pairs, separated by commas
    ///
    /// Levels are off, error, warn, info, debug and trace. SQL statements are never logged.
    #[arg(long, env = "SESSIOND_LOG", default_value = telemetry::DEFAULT_FILTER)]
    #[arg(value_name = "FILTER", value_parser = log_filter, global = true, help_heading = OBSERVABILITY)]
    pub log: String,

    /// A collector of OpenTelemetry that takes spans of requests, OTLP over HTTP: http://HOST:4318 [default: none]
    ///
    /// This and the variable SESSIOND_OTLP_ENDPOINT win over OTEL_EXPORTER_OTLP_TRACES_ENDPOINT, which is taken with its path, and
    /// that over OTEL_EXPORTER_OTLP_ENDPOINT. The variables OTEL_SDK_DISABLED, OTEL_TRACES_EXPORTER (`none`), OTEL_SERVICE_NAME,
    /// OTEL_RESOURCE_ATTRIBUTES, OTEL_EXPORTER_OTLP_HEADERS, OTEL_TRACES_SAMPLER, OTEL_TRACES_SAMPLER_ARG and OTEL_BSP_* count. Of
    /// traces that begin here, one in ten is recorded; a caller's traceparent decides about its own. A slow or missing collector does
    /// not affect requests: spans are dropped.
    #[arg(long, env = "OTEL_EXPORTER_OTLP_ENDPOINT", value_name = "URL", global = true, help_heading = OBSERVABILITY)]
    pub otlp_endpoint: Option<String>,

    /// Give spans the names of their app, user and session
    #[arg(long, env = "SESSIOND_TRACE_NAMES", value_parser = BoolishValueParser::new())]
    #[arg(global = true, help_heading = OBSERVABILITY)]
    pub trace_names: bool,

    /// `metrics_listen` was set by flag or variable, so failing to bind it is an error.
    #[arg(skip)]
    pub metrics_explicit: bool,

    /// `otlp_endpoint` came from `OTEL_EXPORTER_OTLP_ENDPOINT`.
    #[arg(skip)]
    otlp_is_general: bool,
}
