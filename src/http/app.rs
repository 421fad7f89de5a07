//! What handlers and the pipeline share: the service, the settings, the limits of what is under way, and what is derived
//! from the table of endpoints.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::Instant;

use crate::access::Authenticator;
use crate::access::audit::Audit;
use crate::config::HttpSettings;
use crate::http::limits::admission::Places;
use crate::http::limits::memory::Memory;
use crate::http::limits::rates::Rates;
use crate::http::reply::Code;
use crate::metrics::Metrics;
use crate::service::{Clock, Reader, Service};
use crate::traces::Traces;

/// The description of the API, made from the table of endpoints.
pub struct Description {
    /// As YAML.
    pub openapi: LazyLock<String>,
    /// That of the paths of ADK.
    pub openapi_adk: LazyLock<String>,
    /// Both as a page of HTML.
    pub docs: LazyLock<String>,
}

/// What tells of requests beside the log.
pub struct Observers {
    pub audit: Option<Arc<Audit>>,
    pub traces: Option<Arc<Traces>>,
}

/// What handlers share.
pub struct App {
    /// Not for handlers: theirs is [`Call::service`](crate::http::call::Call).
    service: Arc<Service>,
    /// A store that holds nothing.
    nowhere: Arc<Reader>,
    pub authenticator: Arc<Authenticator>,
    pub audit: Option<Arc<Audit>>,
    pub traces: Option<Arc<Traces>>,
    pub settings: HttpSettings,
    pub metrics: Arc<Metrics>,
    pub description: &'static Description,
    pub clock: Arc<dyn Clock>,
    pub places: Places,
    pub memory: Memory,
    pub rates: Rates,
    /// When a failure was last told of that a client without a credential met.
    last_failure: Mutex<Option<Instant>>,
    stopping: AtomicBool,
    /// Watches and waits are to end.
    ending: watch::Sender<bool>,
}

impl App {
    pub fn new(
        description: &'static Description,
        service: Arc<Service>,
        authenticator: Arc<Authenticator>,
        observers: Observers,
        settings: HttpSettings,
        metrics: Arc<Metrics>,
        clock: Arc<dyn Clock>,
    ) -> Arc<Self> {
        for code in Code::ALL {
            metrics.expect_problems(code.entry().0);
        }
        Arc::new(Self {
            nowhere: Arc::new(service.nowhere()),
            service,
            authenticator,
            audit: observers.audit,
            traces: observers.traces,
            metrics,
            description,
            clock,
            places: Places::new(&settings),
            memory: Memory::new(settings.max_buffered_bytes, settings.max_body_bytes),
            rates: Rates::new(settings.rates),
            last_failure: Mutex::default(),
            stopping: AtomicBool::new(false),
            ending: watch::Sender::new(false),
            settings,
        })
    }

    /// What a request reads: what is stored or, outside of its client's grant, what looks as if nothing were, and asks no database.
    pub fn reader(&self, is_within: bool) -> &Arc<Reader> {
        if is_within { &self.service } else { &self.nowhere }
    }

    /// What writes, to whatever it is given: handlers that write names of their path have `Call::writer`.
    pub fn writer(&self) -> &Arc<Service> {
        &self.service
    }

    /// From now on the server is not ready, so that a load balancer sends its requests elsewhere.
    pub fn stop(&self) {
        self.stopping.store(true, Ordering::Relaxed);
    }

    /// Whether the log is to tell of a failure that a client without a credential met: once a second.
    pub fn tells_of_failure(&self, now: Instant) -> bool {
        let mut last = self.last_failure.lock().unwrap_or_else(PoisonError::into_inner);
        let is_due = last.is_none_or(|last| now.saturating_duration_since(last) >= Duration::from_secs(1));
        if is_due {
            *last = Some(now);
        }
        is_due
    }

    /// From now on watches and waits end.
    pub fn end_watches(&self) {
        self.ending.send_replace(true);
    }

    /// Is `true` once watches and waits are to end.
    pub fn ending(&self) -> watch::Receiver<bool> {
        self.ending.subscribe()
    }

    pub fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Relaxed)
    }
}
