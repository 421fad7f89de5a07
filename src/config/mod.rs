//! Settings: every one is a flag, and every flag has a `SESSIOND_*` variable. `sessiond --help` is the reference.
//!
//! A flag takes precedence over its variable, and an empty variable counts as unset (compose files write `${NAME:-}`).
//! Invalid combinations are refused here, before anything is opened: a [`Config`] is consistent.

mod cli;
mod values;

use std::io;
use std::io::IsTerminal as _;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use clap::builder::BoolishValueParser;
use secrecy::{ExposeSecret as _, SecretString};

use crate::access::audit::Sink;
use crate::access::jwt::{Apps, Jwt, JwtSettings, KeySource, RoleFrom};
use crate::access::{AdminKey, AuthSettings};
use crate::blobs::open::{ArtifactStore, BlobSettings};
use crate::domain::Limits;
use crate::domain::access::{Names, Role, Writer};
use crate::domain::query::EventQuery;
use crate::features::lacks;
use crate::origin::{AllowedHost, Origin, OriginPolicy};
use crate::server::ConnectionLimits;
use crate::store::limits::{PostgresOptions, StoreLimits};
use crate::store::open::check_url;
use crate::telemetry;
use crate::telemetry::LogFormat;
use crate::traces::{CollectorUrl, TraceSettings};

use values::{bytes, count, count_usize, duration, is_loopback, log_filter, period, retention, role, secret};

pub use cli::{
    BackupArgs, Cli, Command, ErasuresCommand, ExportArgs, ImportArgs, ImportCommand, KeysCommand, ReceiptsCommand,
    unknown_variables,
};
pub use values::{Address, ConsoleLink, ListenError, MetricsListen, Rate};

const DATABASE: &str = "Database";
const HTTP: &str = "HTTP";
const ACCESS: &str = "Access";
const LIMITS: &str = "Limits";
const OBSERVABILITY: &str = "Observability";

/// The size of request line and headers: enough for the longest ids, percent-encoded, so it is not a setting.
const MAX_HEADER_BYTES: usize = 64 << 10;

/// The largest request body in bytes. Neither database stores a longer text (SQLite 10^9 bytes, PostgreSQL 1 GiB).
const MAX_BODY_BYTES: usize = 1_000_000_000;

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
    metrics_explicit: bool,

    /// `otlp_endpoint` came from `OTEL_EXPORTER_OTLP_ENDPOINT`.
    #[arg(skip)]
    otlp_is_general: bool,
}

/// The settings of `http`.
#[derive(Debug, Clone)]
pub struct HttpSettings {
    /// Bytes of one request body.
    pub max_body_bytes: usize,
    /// Requests served at once, each until its answer begins.
    pub max_in_flight: usize,
    /// Answers streamed at once.
    pub max_streams: usize,
    /// How long no byte of a request body may arrive.
    pub body_stall_timeout: Duration,
    /// Least average rate of a request body, in bytes per second.
    pub min_rate: usize,
    /// Bytes of all request bodies held in memory together; at least `max_body_bytes`.
    pub max_buffered_bytes: usize,
    /// Bytes of all answers held in memory together, without small ones.
    pub max_answer_bytes: usize,
    /// The size limit of a part of a streamed answer.
    pub largest_part: usize,
    /// From the end of a request's head to the beginning of its answer.
    pub request_timeout: Duration,
    pub watch: WatchSettings,
    pub rates: RateLimits,
    /// Whether the console is served.
    pub console: bool,
    /// Links out of the console.
    pub links: Vec<ConsoleLink>,
    /// The URL of the metrics, for people to read.
    pub metrics: Option<String>,
    /// Decides which requests are foreign.
    pub origins: Arc<OriginPolicy>,
}

/// Settings of watches and of requests that wait.
#[derive(Debug, Clone, Copy)]
pub struct WatchSettings {
    /// How many at once.
    pub places: usize,
    pub heartbeat: Duration,
    pub lifetime: Duration,
    /// How long a client may accept no byte of a watch.
    pub stall: Duration,
    /// Caps the wait that a request asks for.
    pub longest_wait: Duration,
}

/// The rates above which requests are refused; `None` for no limit.
#[derive(Debug, Clone, Copy, Default)]
pub struct RateLimits {
    /// Of each app.
    pub app: Option<Rate>,
    /// Of each API key.
    pub key: Option<Rate>,
    /// Of each user of an app.
    pub user: Option<Rate>,
}

impl Config {
    /// Checks that involve several options. Messages never contain the database URL.
    fn validate(&self) -> Result<(), String> {
        let url = self.database_url.expose_secret();
        check_url(url).map_err(|error| format!("--database-url (DATABASE_URL): {error}"))?;
        if self.max_body_bytes > MAX_BODY_BYTES {
            return Err(format!(
                "--max-body-bytes ({}) must not exceed {MAX_BODY_BYTES}, the longest text that a database takes",
                self.max_body_bytes
            ));
        }
        let at_most = [
            ("--max-value-bytes", self.max_value_bytes, "--max-event-bytes", self.max_event_bytes),
            ("--max-event-bytes", self.max_event_bytes, "--max-body-bytes", self.max_body_bytes),
            ("--max-body-bytes", self.max_body_bytes, "--max-buffered-bytes", self.max_buffered_bytes),
            ("--max-page-bytes", self.max_page_bytes, "--max-answer-bytes", self.max_answer_bytes),
        ];
        for (part, part_bytes, whole, whole_bytes) in at_most {
            if part_bytes > whole_bytes {
                return Err(format!("{part} ({part_bytes}) must not exceed {whole} ({whole_bytes}), which holds it"));
            }
        }
        self.validate_access()?;
        // A connection is silent while its request is being served.
        if self.idle_timeout <= self.request_timeout {
            return Err(format!(
                "--idle-timeout ({:?}) must exceed --request-timeout ({:?})",
                self.idle_timeout, self.request_timeout
            ));
        }
        if self.idle_timeout <= self.watch_heartbeat {
            return Err(format!(
                "--idle-timeout ({:?}) must exceed --watch-heartbeat ({:?})",
                self.idle_timeout, self.watch_heartbeat
            ));
        }
        Ok(())
    }

    fn validate_access(&self) -> Result<(), String> {
        let is_given = [
            ("--jwt-issuer", self.jwt_issuer.is_some()),
            ("--jwt-audience", self.jwt_audience.is_some()),
            ("--jwt-jwks-url", self.jwt_jwks_url.is_some()),
            ("--jwt-jwks-file", self.jwt_jwks_file.is_some()),
            ("--jwt-user-claim", self.jwt_user_claim.is_some()),
            ("--jwt-apps", !self.jwt_apps.is_empty()),
            ("--jwt-apps-claim", self.jwt_apps_claim.is_some()),
            ("--jwt-role", self.jwt_role.is_some()),
            ("--jwt-role-claim", self.jwt_role_claim.is_some()),
        ];
        let Some((flag, _)) = is_given.into_iter().find(|(_, is_given)| *is_given) else { return Ok(()) };
        if !cfg!(feature = "jwt") {
            return Err(lacks(flag, "jwt"));
        }
        if self.jwt_issuer.is_none() {
            return Err(format!("{flag} says something about JWTs: --jwt-issuer is needed, too"));
        }
        if self.jwt_audience.is_none() {
            return Err("--jwt-issuer needs --jwt-audience: JWTs for other services would hold here".to_owned());
        }
        if self.jwt_jwks_url.is_some() == self.jwt_jwks_file.is_some() {
            return Err("--jwt-issuer needs either --jwt-jwks-url or --jwt-jwks-file".to_owned());
        }
        if self.jwt_apps.is_empty() == self.jwt_apps_claim.is_none() {
            return Err("--jwt-issuer needs either --jwt-apps or --jwt-apps-claim".to_owned());
        }
        if self.jwt_role.is_some() && self.jwt_role_claim.is_some() {
            return Err("either --jwt-role or --jwt-role-claim says the role of a JWT, not both".to_owned());
        }
        self.jwks_source().map(drop)
    }

    /// Where the issuer's keys are.
    fn jwks_source(&self) -> Result<KeySource, String> {
        match (&self.jwt_jwks_url, &self.jwt_jwks_file) {
            (Some(url), _) => KeySource::url(url).map_err(|why| format!("--jwt-jwks-url: {why}")),
            (None, file) => Ok(KeySource::File(file.clone().unwrap_or_default())),
        }
    }

    /// How clients authenticate.
    ///
    /// # Errors
    /// A file or an issuer cannot be used; the message says which.
    pub fn access(&self) -> Result<AuthSettings, String> {
        let admin_key = self.admin_key_file.as_deref().map(AdminKey::open).transpose()?;
        Ok(AuthSettings { required: self.require_auth, admin_key, jwt: self.jwt()? })
    }

    fn jwt(&self) -> Result<Option<Jwt>, String> {
        let (Some(issuer), Some(audience)) = (&self.jwt_issuer, &self.jwt_audience) else { return Ok(None) };
        let source = self.jwks_source()?;
        let apps = match &self.jwt_apps_claim {
            Some(claim) => Apps::Claim(claim.clone()),
            None => {
                let apps: Vec<&str> = self.jwt_apps.iter().map(String::as_str).collect();
                Apps::Fixed(Names::parse("--jwt-apps", &apps).map_err(|refused| refused.to_string())?)
            }
        };
        let fixed = RoleFrom::Fixed(self.jwt_role.unwrap_or(Role::User));
        let role = self.jwt_role_claim.clone().map_or(fixed, RoleFrom::Claim);
        let user_claim = self.jwt_user_claim.clone().unwrap_or_else(|| "sub".to_owned());
        let (issuer, audience) = (issuer.clone(), audience.clone());
        let settings = JwtSettings { issuer, audience, source, user_claim, apps, role };
        Jwt::new(settings).map(Some)
    }

    /// Where to send spans, if anywhere.
    ///
    /// # Errors
    /// `--otlp-endpoint` or a variable of OpenTelemetry is invalid; the message says which.
    pub fn traces(&self) -> Result<Option<TraceSettings>, String> {
        let is_general = self.otlp_is_general;
        let endpoint = self.otlp_endpoint.as_deref().map(|url| CollectorUrl { url, is_general });
        TraceSettings::new(endpoint, self.trace_names)
    }

    pub fn limits(&self) -> Limits {
        Limits {
            writer: Writer::Anyone,
            event_bytes: self.max_event_bytes,
            value_bytes: self.max_value_bytes,
            batch_events: self.max_batch_events,
            state_keys: self.max_state_keys,
            page_rows: self.max_page_rows,
            page_bytes: self.max_page_bytes,
            artifact_bytes: self.max_artifact_bytes as u64,
        }
    }

    pub(crate) fn blobs(&self) -> BlobSettings {
        BlobSettings { stores: self.artifact_store.clone(), patience: self.artifact_store_timeout }
    }

    pub fn store_limits(&self) -> StoreLimits {
        StoreLimits {
            statement: self.statement_timeout,
            lock_wait: self.lock_timeout,
            acquire: self.acquire_timeout,
            connections: self.database_connections,
            feed: self.feed_retention,
        }
    }

    pub fn postgres_options(&self) -> PostgresOptions {
        PostgresOptions { pgbouncer: self.pgbouncer }
    }

    /// Whether the database is a local file that one process uses alone.
    pub fn database_is_file(&self) -> bool {
        self.database_url.expose_secret().starts_with("sqlite://")
    }

    pub fn connection_limits(&self, always_served: &'static [&'static str]) -> ConnectionLimits {
        ConnectionLimits {
            max_connections: self.max_connections,
            header_read_timeout: self.header_timeout,
            idle_timeout: self.idle_timeout,
            stall_timeout: self.answer_stall_timeout,
            min_rate: self.min_rate,
            always_served,
            max_header_bytes: MAX_HEADER_BYTES,
            drain_deadline: self.drain_timeout,
        }
    }

    pub fn http_settings(&self) -> HttpSettings {
        HttpSettings {
            max_body_bytes: self.max_body_bytes,
            max_in_flight: self.max_in_flight,
            max_streams: self.max_streams,
            body_stall_timeout: self.body_stall_timeout,
            min_rate: self.min_rate,
            max_buffered_bytes: self.max_buffered_bytes,
            max_answer_bytes: self.max_answer_bytes,
            largest_part: EventQuery::all().max_bytes.max(self.max_event_bytes),
            request_timeout: self.request_timeout,
            watch: WatchSettings {
                places: self.max_watchers,
                heartbeat: self.watch_heartbeat,
                lifetime: self.watch_lifetime,
                stall: self.watch_stall,
                // A connection is silent while its request waits.
                longest_wait: self.idle_timeout.mul_f64(0.8),
            },
            rates: RateLimits { app: self.rate_limit_app, key: self.rate_limit_key, user: self.rate_limit_user },
            console: !self.no_console,
            links: self.console_link.clone(),
            metrics: None,
            origins: Arc::new(OriginPolicy { hosts: self.allowed_hosts.clone(), origins: self.cors_origins.clone() }),
        }
    }

    /// The configured format, or pretty on a terminal and JSON otherwise.
    pub fn log_format(&self) -> LogFormat {
        self.log_format.unwrap_or(if io::stderr().is_terminal() { LogFormat::Pretty } else { LogFormat::Json })
    }

    /// The metrics address was set explicitly: failing to bind it is an error.
    pub fn metrics_listen_is_explicit(&self) -> bool {
        self.metrics_explicit
    }

    /// The addresses to listen on. Bind these instead of resolving the name again, which may then return another
    /// address.
    ///
    /// # Errors
    /// The name cannot be resolved.
    pub async fn listen_addresses(&self) -> Result<Vec<SocketAddr>, ListenError> {
        self.listen.resolve().await.map_err(|error| ListenError::Unknown(self.listen.clone(), error))
    }

    /// # Errors
    /// One of these addresses is reachable by others without a credential, and `insecure_no_auth` does not allow that.
    pub fn check_exposure(&self, addresses: &[SocketAddr]) -> Result<(), ListenError> {
        // Check all, because any of them may be bound.
        match addresses.iter().find(|address| !is_loopback(**address)) {
            Some(exposed) if !self.insecure_no_auth => Err(ListenError::Exposed(*exposed)),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::ffi::OsStr;

    use clap::CommandFactory;
    use clap::builder::Resettable;
    use clap::error::ErrorKind;

    use super::cli::*;
    use super::values::*;
    use super::*;

    /// The command without the environment of the test run.
    fn read(args: &[&str]) -> Result<Cli, String> {
        let command = <Cli as CommandFactory>::command().mut_args(|arg| arg.env(Resettable::Reset));
        Cli::read(command, ["sessiond"].iter().chain(args)).map_err(|error| error.to_string())
    }

    fn config(args: &[&str]) -> Config {
        read(args).expect("valid settings").config
    }

    #[test]
    fn the_command_is_well_formed() {
        <Cli as CommandFactory>::command().debug_assert();
    }

    #[test]
    fn a_subcommand_shows_its_own_options_and_takes_all_settings() {
        let help = |args: &[&str]| {
            let error = command().try_get_matches_from([&["sessiond"], args, &["--help"]].concat()).expect_err("help");
            assert_eq!(error.kind(), ErrorKind::DisplayHelp, "{error}");
            error.to_string()
        };
        for (args, own) in [
            (&["export"][..], &["--output", "--app", "--database-url"][..]),
            (&["import"], &["--skip-existing", "--database-url"]),
            (&["keys", "create"], &["--role", "--users", "--database-url"]),
            (&["erasures", "replay"], &["--database-url"]),
            (&["receipts", "verify"], &["--key"]),
            (&["verify"], &["--database-url"]),
            (&["healthcheck"], &["--listen"]),
            (&["openapi"], &["--adk"]),
        ] {
            let text = help(args);
            assert!(own.iter().all(|option| text.contains(option)), "{args:?}: {text}");
            assert!(text.lines().count() < 80, "{args:?}: {text}");
            assert!(!text.contains("--max-body-bytes") && text.contains("sessiond --help"), "{args:?}: {text}");
        }
        for args in [&[][..], &["serve"]] {
            assert!(help(args).contains("--max-body-bytes"));
        }
        for args in [["export", "--max-connections=3"], ["--max-connections=3", "export"]] {
            assert_eq!(config(&args).max_connections, 3);
        }
    }

    #[test]
    fn whoever_knew_the_importer_of_adk_is_sent_on() {
        for given in [&[][..], &["--from", "sqlite:///adk.db", "--dry-run", "--app=a"], &["--app", "a", "--from=x"]] {
            let Command::Import(args) = read(&[&["import", "adk"], given].concat()).unwrap().command() else {
                panic!("{given:?}")
            };
            assert!(args.other.is_some(), "{given:?}");
        }
    }

    #[test]
    fn every_setting_has_a_variable_a_heading_and_a_help_text() {
        let command = <Cli as CommandFactory>::command();
        for arg in command.get_arguments().filter(|arg| !["help", "version"].contains(&arg.get_id().as_str())) {
            let long = arg.get_long().expect("a long flag");
            let variable = format!("SESSIOND_{}", long.to_uppercase().replace('-', "_"));
            let expected = match long {
                "database-url" => "DATABASE_URL",
                // The standard name of OpenTelemetry.
                "otlp-endpoint" => "OTEL_EXPORTER_OTLP_ENDPOINT",
                _ => &variable,
            };
            assert_eq!(arg.get_env().and_then(OsStr::to_str), Some(expected));
            assert!([DATABASE, HTTP, ACCESS, LIMITS, OBSERVABILITY].contains(&arg.get_help_heading().expect(long)));
            assert!(arg.get_help().is_some(), "{long}");
            assert!(arg.is_global_set(), "{long}");
        }
    }

    #[test]
    fn defaults_are_those_of_the_layers_below() {
        let config = config(&[]);
        assert_eq!(format!("{:?}", config.limits()), format!("{:?}", Limits::default()));
        assert_eq!(format!("{:?}", config.store_limits()), format!("{:?}", StoreLimits::default()));
        assert_eq!(config.database_url.expose_secret(), "sqlite://sessiond.db");
        assert_eq!(config.listen.to_string(), "127.0.0.1:8080");
        assert_eq!(config.max_body_bytes, 8 << 20);
        assert_eq!(config.request_timeout, Duration::from_secs(10));
        assert_eq!(config.drain_timeout, Duration::from_secs(25));
        assert_eq!(config.shutdown_delay, Duration::ZERO);
        assert!(!config.metrics_listen_is_explicit());
    }

    #[test]
    fn hosts_and_origins_are_lists() {
        assert_eq!(config(&[]).allowed_hosts, []);
        let config = config(&["--allowed-hosts=a, B.example:80,*", "--cors-origins", "https://a,http://b:1"]);
        let hosts = ["a", "b.example:80", "*"].map(|host| host.parse().unwrap());
        assert_eq!(config.allowed_hosts, hosts);
        assert_eq!(
            config.http_settings().origins.origins,
            ["https://a", "http://b:1"].map(|origin| origin.parse().unwrap())
        );
        for bad in ["--allowed-hosts=http://a", "--allowed-hosts=a,,b", "--cors-origins=*", "--cors-origins=a"] {
            assert!(read(&[bad]).is_err(), "{bad}");
        }
    }

    #[test]
    fn links_of_the_console_are_urls_with_placeholders_behind_the_host() {
        assert_eq!(config(&[]).console_link, []);
        let both = config(&[
            "--console-link=Trace=https://t.example/{app}/{session}?i={invocation}, Log=http://l:3000/?u={user}",
        ]);
        let links = both.http_settings().links;
        assert_eq!(
            (&*links[0].name, &*links[0].template),
            ("Trace", "https://t.example/{app}/{session}?i={invocation}")
        );
        assert_eq!((&*links[1].name, &*links[1].template), ("Log", "http://l:3000/?u={user}"));
        for bad in [
            "Trace",
            "=https://t/",
            "Trace=javascript:alert(1)//",
            "Trace=ftp://t/",
            "Trace=https://t",
            "Trace=https:///path",
            "Trace=https://{app}.example/",
            "Trace=https://ada@t/",
            "Trace=https://t/{tenant}",
            "Trace=https://t/{app",
            "Trace=https://t/app}",
            "Trace=https://t/{app}}",
            "Trace=https://t/a b",
            "Trace=https://t/\"x",
        ] {
            let error = read(&[&format!("--console-link={bad}")]).unwrap_err();
            assert!(error.contains("--console-link"), "{bad}: {error}");
        }
    }

    #[test]
    fn serve_is_the_default_and_flags_go_before_or_after_the_command() {
        assert_eq!(read(&[]).unwrap().command(), Command::Serve);
        assert_eq!(read(&["openapi"]).unwrap().command(), Command::Openapi { adk: false });
        assert_eq!(read(&["openapi", "--adk"]).unwrap().command(), Command::Openapi { adk: true });
        for args in [
            &["--listen=[::1]:1", "--metrics-listen=off"][..],
            &["--listen", "[::1]:1", "--metrics-listen=off", "serve"],
            &["serve", "--listen", "[::1]:1", "--metrics-listen=off"],
            &["--listen=[::1]:1", "healthcheck", "--metrics-listen=off"],
        ] {
            let config = config(args);
            assert_eq!(config.listen.to_string(), "[::1]:1", "{args:?}");
            assert_eq!(config.metrics_listen, MetricsListen::Off, "{args:?}");
            assert!(config.metrics_listen_is_explicit(), "{args:?}");
        }
    }

    #[test]
    fn the_database_url_is_never_shown() {
        let url = "postgres://user:hunter2@db/name";
        let cli = read(&["--database-url", url]).unwrap();
        assert_eq!(cli.config.database_url.expose_secret(), url);
        assert!(!format!("{cli:?}").contains("hunter2"));
        let error = read(&["--database-url", "mysql://user:hunter2@db/name"]).unwrap_err();
        assert!(error.contains("--database-url") && !error.contains("hunter2"), "{error}");
    }

    #[test]
    fn sizes_must_fit_into_each_other() {
        for (args, flags) in [
            (&["--max-value-bytes=5MiB"][..], ["--max-value-bytes", "--max-event-bytes"]),
            (&["--max-event-bytes=9MiB"], ["--max-event-bytes", "--max-body-bytes"]),
            (&["--max-buffered-bytes=7MiB"], ["--max-body-bytes", "--max-buffered-bytes"]),
            (&["--idle-timeout=10s"], ["--idle-timeout", "--request-timeout"]),
            (&["--max-body-bytes=1GiB", "--max-buffered-bytes=2GiB"], ["--max-body-bytes", "1000000000"]),
        ] {
            let error = read(args).unwrap_err();
            assert!(flags.iter().all(|flag| error.contains(flag)), "{error}");
        }
        config(&["--max-body-bytes=100", "--max-event-bytes=100", "--max-value-bytes=100", "--max-buffered-bytes=100"]);
    }

    #[test]
    fn senseless_values_are_refused() {
        for arg in [
            "--max-body-bytes=0",
            "--max-connections=0",
            "--max-connections=-1",
            "--max-in-flight=99999999999",
            "--database-connections=0",
            "--request-timeout=0s",
            "--sweep-interval=0",
            "--rate-limit-app=0",
            "--rate-limit-key=-1",
            "--rate-limit-user=1e3",
            "--rate-limit-user=inf",
            "--listen=8080",
            "--log=info,sessiond=loud",
            "--log-format=xml",
        ] {
            let error = read(&[arg]).unwrap_err();
            assert!(error.contains(arg.split('=').next().unwrap()), "{error}");
        }
        assert_eq!(config(&["--drain-timeout=0"]).drain_timeout, Duration::ZERO);
    }

    #[test]
    fn what_a_program_is_built_without_is_refused() {
        for (feature, is_there, args) in [
            ("buckets", cfg!(feature = "buckets"), &["--artifact-store=database,s3://bucket"][..]),
            (
                "jwt",
                cfg!(feature = "jwt"),
                &["--jwt-issuer=i", "--jwt-audience=a", "--jwt-jwks-file=f", "--jwt-apps=a"],
            ),
            ("traces", cfg!(feature = "traces"), &["--otlp-endpoint=http://127.0.0.1:1"]),
        ] {
            let named = command().render_help().to_string().contains(&format!("`{feature}` ("));
            match read(args) {
                Ok(_) => assert!(is_there && !named, "{feature}"),
                Err(error) => {
                    let way =
                        format!("needs the feature `{feature}`, without which this program is built: `cargo build");
                    assert!(!is_there && named && error.contains(&way), "{error}");
                }
            }
        }
        config(&["--artifact-store=file:///srv/artifacts"]);
    }

    #[cfg(feature = "jwt")]
    #[test]
    fn whatever_is_said_about_jwts_needs_their_issuer() {
        for arg in [
            "--jwt-audience=a",
            "--jwt-jwks-url=https://issuer.example/keys",
            "--jwt-jwks-file=keys.json",
            "--jwt-user-claim=sub",
            "--jwt-apps=a",
            "--jwt-apps-claim=apps",
            "--jwt-role=user",
            "--jwt-role-claim=role",
        ] {
            let error = read(&[arg]).unwrap_err();
            let flag = arg.split('=').next().unwrap();
            assert!(error.contains(&format!("{flag} says something about JWTs: --jwt-issuer is needed")), "{error}");
        }
        let complete = ["--jwt-issuer=i", "--jwt-audience=a", "--jwt-apps=a"];
        let with = |more: &[&str]| read(&[&complete, more].concat());
        for (url, why) in [
            ("", "must be a URL"),
            ("issuer.example/keys", "must be a URL"),
            ("https://", "must be a URL"),
            ("https://issuer.example:port/", "must be a URL"),
            ("ftp://issuer.example/keys", "must be an https URL"),
            ("file:///keys.json", "must be an https URL"),
            ("http://issuer.example/keys", "must be https"),
        ] {
            let error = with(&["--jwt-jwks-url", url]).unwrap_err();
            assert!(error.contains("--jwt-jwks-url: ") && error.contains(why), "{url}: {error}");
        }
        let error = with(&["--jwt-jwks-file=f", "--jwt-role=agent", "--jwt-role-claim=role"]).unwrap_err();
        assert!(error.contains("--jwt-role-claim"), "{error}");
        for url in ["https://issuer.example/keys", "http://127.0.0.1:1/keys", "http://localhost/keys"] {
            assert!(with(&["--jwt-jwks-url", url, "--jwt-role=agent", "--jwt-user-claim=email"]).is_ok(), "{url}");
        }
    }

    #[test]
    fn sizes_are_plain_or_with_a_binary_unit() {
        assert_eq!(bytes("1"), Ok(1));
        assert_eq!(bytes("512KiB"), Ok(512 << 10));
        assert_eq!(bytes("8 MiB"), Ok(8 << 20));
        assert_eq!(bytes("1024GiB"), Ok(1 << 40));
        for wrong in ["", "0", "0MiB", "-1", "+1", "1.5MiB", "8MB", "8mib", "MiB", "1025GiB", "99999999999999999999999"]
        {
            assert!(bytes(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn durations_are_seconds_or_have_a_unit() {
        assert_eq!(duration("0"), Ok(Duration::ZERO));
        assert_eq!(duration("10"), Ok(Duration::from_secs(10)));
        assert_eq!(duration("10s"), Ok(Duration::from_secs(10)));
        assert_eq!(duration("500ms"), Ok(Duration::from_millis(500)));
        assert_eq!(duration("2m"), Ok(Duration::from_secs(120)));
        assert_eq!(duration("24h"), Ok(MAX_DURATION));
        for wrong in ["", "s", "-1s", "1.5s", "1 day", "25h", "10S", "18446744073709551616m"] {
            assert!(duration(wrong).is_err(), "{wrong}");
        }
        assert_eq!(period("1ms"), Ok(Duration::from_millis(1)));
        assert_eq!(retention("0"), Ok(Duration::ZERO));
        assert_eq!(retention("48h"), Ok(2 * DAY));
        assert_eq!(retention("7d"), Ok(MAX_RETENTION));
        for wrong in ["8d", "169h", "4294967295d", "d", "1.5d"] {
            assert!(retention(wrong).is_err(), "{wrong}");
        }
        assert!(period("0ms").is_err());
    }

    #[test]
    fn addresses_are_host_and_port() {
        for right in ["127.0.0.1:0", "[::1]:8080", "localhost:8080", "0.0.0.0:65535", "a.example:1"] {
            assert_eq!(right.parse::<Address>().unwrap().to_string(), right);
        }
        for wrong in
            ["", "8080", ":8080", "localhost", "localhost:", "::1:8080", "[::1]", "a:65536", "http://a:80", "*:80"]
        {
            assert!(wrong.parse::<Address>().is_err(), "{wrong}");
        }
        assert!("127.0.0.1:9464".parse::<MetricsListen>().is_ok());
        assert!("OFF".parse::<MetricsListen>().is_err());
    }

    #[tokio::test]
    async fn only_loopback_needs_no_consent() {
        for (address, loopback) in [
            ("127.0.0.1:1", true),
            ("127.9.9.9:1", true),
            ("[::1]:1", true),
            ("[::ffff:127.0.0.1]:1", true),
            ("localhost:1", true),
            ("0.0.0.0:1", false),
            ("[::]:1", false),
            ("192.0.2.1:1", false),
            ("[::ffff:192.0.2.1]:1", false),
        ] {
            let (careful, careless) =
                (config(&["--listen", address]), config(&["--listen", address, "--insecure-no-auth"]));
            let addresses = careful.listen_addresses().await.unwrap();
            assert_eq!(careful.check_exposure(&addresses).is_ok(), loopback, "{address}");
            assert!(careless.check_exposure(&addresses).is_ok());
        }
    }

    #[tokio::test]
    async fn every_address_is_reached_through_loopback() {
        for (listen, connect) in
            [("0.0.0.0:80", "127.0.0.1:80"), ("[::]:80", "[::1]:80"), ("192.0.2.1:80", "192.0.2.1:80")]
        {
            let address: Address = listen.parse().unwrap();
            assert_eq!(address.resolve_to_connect().await.unwrap(), [connect.parse().unwrap()]);
        }
    }
}
