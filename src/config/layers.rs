//! What each layer is given of the settings.

use std::io;
use std::io::IsTerminal as _;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use secrecy::ExposeSecret as _;

use super::Config;
use super::values::{ConsoleLink, ListenError, Rate, is_loopback};
use crate::access::jwt::{Jwt, JwtSettings, Said};
use crate::access::{AdminKey, AuthSettings};
use crate::blobs::open::BlobSettings;
use crate::domain::Limits;
use crate::domain::access::{Names, Role, Writer};
use crate::domain::query::EventQuery;
use crate::origin::OriginPolicy;
use crate::server::ConnectionLimits;
use crate::store::limits::{PostgresOptions, StoreLimits};
use crate::telemetry::LogFormat;
use crate::traces::{CollectorUrl, TraceSettings};

/// The size of request line and headers: enough for the longest ids, percent-encoded, so it is not a setting.
const MAX_HEADER_BYTES: usize = 64 << 10;

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
            Some(claim) => Said::Claim(claim.clone()),
            None => {
                let apps: Vec<&str> = self.jwt_apps.iter().map(String::as_str).collect();
                Said::Fixed(Names::parse("--jwt-apps", &apps).map_err(|refused| refused.to_string())?)
            }
        };
        let fixed = Said::Fixed(self.jwt_role.unwrap_or(Role::User));
        let role = self.jwt_role_claim.clone().map_or(fixed, Said::Claim);
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
        BlobSettings {
            stores: self.artifact_store.clone(),
            inline_max: self.artifact_inline_max as u64,
            patience: self.artifact_store_timeout,
        }
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
