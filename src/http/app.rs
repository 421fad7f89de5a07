//! State that handlers and the pipeline share: the service, the settings, the limits on concurrent work, and data
//! derived from the table of endpoints.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
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

/// Sinks that record requests, besides the log.
pub struct Observers {
    pub audit: Option<Arc<Audit>>,
    pub traces: Option<Arc<Traces>>,
}

/// State that handlers share.
pub struct App {
    /// Private: handlers use [`Call::service`](crate::http::call::Call).
    service: Arc<Service>,
    /// Reads of an empty store.
    nowhere: Arc<Reader>,
    pub authenticator: Arc<Authenticator>,
    pub audit: Option<Arc<Audit>>,
    pub traces: Option<Arc<Traces>>,
    pub settings: HttpSettings,
    pub metrics: Arc<Metrics>,
    pub clock: Arc<dyn Clock>,
    pub places: Places,
    pub memory: Memory,
    pub rates: Rates,
    /// When the log last reported a failure of a request without a credential.
    last_failure: Mutex<Option<Instant>>,
    stopping: AtomicBool,
    /// `true` once watches and waits must end.
    ending: watch::Sender<bool>,
}

impl App {
    /// Builds the state that all requests share.
    pub fn new(
        service: Arc<Service>,
        authenticator: Arc<Authenticator>,
        observers: Observers,
        settings: HttpSettings,
        metrics: Arc<Metrics>,
        clock: Arc<dyn Clock>,
    ) -> Arc<Self> {
        for code in Code::ALL {
            metrics.problems.expect(code.entry().0);
        }
        Arc::new(Self {
            nowhere: Arc::new(service.nowhere()),
            service,
            authenticator,
            audit: observers.audit,
            traces: observers.traces,
            metrics,
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

    /// The reads for a request. Outside of the client's grant they find nothing and do not query the database.
    pub fn reader(&self, is_within: bool) -> &Arc<Reader> {
        if is_within { &self.service } else { &self.nowhere }
    }

    /// The writes, without a check of the grant. Handlers whose path names the target use `Call::writer`.
    pub fn writer(&self) -> &Arc<Service> {
        &self.service
    }

    /// Makes the server report that it is not ready, so that a load balancer sends requests elsewhere.
    pub fn stop(&self) {
        self.stopping.store(true, Ordering::Relaxed);
    }

    /// Whether to log a failure of a request without a credential: at most once a second.
    pub fn may_log_failure(&self, now: Instant) -> bool {
        let mut last = self.last_failure.lock().unwrap_or_else(PoisonError::into_inner);
        let is_due = last.is_none_or(|last| now.saturating_duration_since(last) >= Duration::from_secs(1));
        if is_due {
            *last = Some(now);
        }
        is_due
    }

    /// Ends all watches and waits.
    pub fn end_watches(&self) {
        self.ending.send_replace(true);
    }

    /// Becomes `true` when watches and waits must end.
    pub fn ending(&self) -> watch::Receiver<bool> {
        self.ending.subscribe()
    }

    pub fn is_stopping(&self) -> bool {
        self.stopping.load(Ordering::Relaxed)
    }
}
