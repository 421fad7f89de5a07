//! What a service appends to a session, within the turns of its invocations.

use adk_core::identity::AdkIdentity;
use reqwest::Method;

use super::{Concurrency, SessiondSessionService, session_path};
use crate::{
    error::{Error, ErrorKind},
    http::Call,
    turn::{Lease, Visit},
    wire,
};

impl SessiondSessionService {
    /// Appends an event, once, and returns of it as it is stored what `answer` says.
    pub(super) async fn append(
        &self,
        identity: &AdkIdentity,
        body: String,
        answer: &str,
        invocation: &str,
        if_seen: bool,
    ) -> Result<String, Error> {
        let (visit, seen) = self.0.memory.visit(identity, invocation);
        let lease = self.lease(identity, visit.as_deref(), invocation).await?;
        let events = format!("{}/events", session_path(identity)?);
        let call = self.0.http.call(Method::POST, &events).query("answer", answer).json(body);
        let mut call = leased(call, lease.as_ref());
        if if_seen {
            call = self.if_seen(call, identity, visit.as_deref(), seen)?;
        }
        let sent = self.0.http.send(call).await;
        self.give_back(visit.as_deref(), lease).await;
        let stored = sent?;
        let sequence = wire::member(&wire::members(&stored)?, "sequence")?;
        self.0.memory.appended(identity, visit.as_deref(), sequence);
        Ok(String::from_utf8_lossy(&stored).into_owned())
    }

    pub(super) fn if_seen(
        &self,
        call: Call,
        identity: &AdkIdentity,
        visit: Option<&Visit>,
        seen: Option<u64>,
    ) -> Result<Call, Error> {
        let revision = visit.map(Visit::revision).or(seen).ok_or_else(|| {
            let message = format!("Session {} was not read by this service: get it first.", identity.session_id);
            Error { outcome: Some(crate::Outcome::NotApplied), ..Error::new(ErrorKind::Stale, message) }
        })?;
        Ok(call.header("if-match", &format!("\"{revision}\"")))
    }

    /// The lease of the turn, or of the invocation, which is taken if it has none.
    pub(super) async fn lease(
        &self,
        identity: &AdkIdentity,
        visit: Option<&Visit>,
        invocation: &str,
    ) -> Result<Option<Lease>, Error> {
        let Concurrency::Lease { wait, ttl } = self.0.concurrency else {
            return match visit {
                Some(visit) => Ok(visit.lease().await.clone()),
                None => Ok(None),
            };
        };
        let path = session_path(identity)?;
        let Some(visit) = visit else {
            if invocation.is_empty() {
                return Ok(None);
            }
            return Lease::take(&self.0.http, &path, invocation, ttl, wait).await.map(Some);
        };
        let mut held = visit.lease().await;
        if held.is_none() {
            let lease = Lease::take(&self.0.http, &path, invocation, ttl, wait).await?;
            if lease.revision != visit.revision() {
                lease.release().await?;
                let message = format!("Session {} has changed since it was read.", identity.session_id);
                return Err(Error {
                    outcome: Some(crate::Outcome::NotApplied),
                    ..Error::new(ErrorKind::Stale, message)
                });
            }
            *held = Some(lease);
        }
        Ok(held.clone())
    }

    /// Releases a lease that nobody holds on to: that of an append without a session object.
    pub(super) async fn give_back(&self, visit: Option<&Visit>, lease: Option<Lease>) {
        if let (None, Some(lease)) = (visit, lease)
            && let Err(error) = lease.release().await
        {
            tracing::warn!("a lease is not released, and ends by itself: {error}");
        }
    }
}

pub(super) fn leased(call: Call, lease: Option<&Lease>) -> Call {
    match lease {
        Some(lease) => call.header("sessiond-lease", &lease.shown()),
        None => call,
    }
}
