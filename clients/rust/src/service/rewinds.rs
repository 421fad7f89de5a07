//! Rewinds, which the server makes.

use adk_core::identity::AdkIdentity;
use adk_session::Session;
use reqwest::Method;
use serde_json::json;

use super::{Concurrency, SessiondSessionService, appends::leased, session_path};
#[cfg(doc)]
use crate::error::ErrorKind;
use crate::{error::Error, http::path, wire};

impl SessiondSessionService {
    /// As `rewind` of the trait, for the session that `identity` names.
    ///
    /// History is never truncated: the server appends an event that takes back those behind `event_id`, and what they
    /// did to the state of the session; app and user state stay. Sessions that this service reads are without what was
    /// taken back.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NotFound`]: there is no such session, or it has no such event.
    pub async fn rewind_for_identity(&self, identity: &AdkIdentity, event_id: &str) -> Result<Box<dyn Session>, Error> {
        let event = path(&[
            ("apps", identity.app_name.as_ref()),
            ("users", identity.user_id.as_ref()),
            ("sessions", identity.session_id.as_ref().trim()),
            ("events", event_id),
        ])?;
        let answer = self.0.http.send(self.0.http.call(Method::GET, &event)).await?;
        let sequence: u64 = wire::member(&wire::members(&answer)?, "sequence")?;
        self.rewind_to(identity, sequence).await
    }

    /// As `rewind_steps` of the trait, for the session that `identity` names.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NotFound`]: there is no such session. [`ErrorKind::InvalidInput`]: it has fewer events.
    pub async fn rewind_steps_for_identity(
        &self,
        identity: &AdkIdentity,
        steps: usize,
    ) -> Result<Box<dyn Session>, Error> {
        if steps == 0 {
            return Ok(Box::new(self.read(identity, None, None).await?));
        }
        let (_, events) = self.visible(identity, Some(steps.saturating_add(1)), None).await?;
        if events.len() < steps {
            return Err(Error::input(format!("The session has {} events, fewer than {steps}.", events.len())));
        }
        let target = if events.len() == steps { 0 } else { events.first().map_or(0, |event| event.sequence) };
        self.rewind_to(identity, target).await
    }

    async fn rewind_to(&self, identity: &AdkIdentity, sequence: u64) -> Result<Box<dyn Session>, Error> {
        let rewind = format!("{}/rewind", session_path(identity)?);
        let key = uuid::Uuid::new_v4().to_string();
        // To the last event is as it is.
        let now = self.0.http.call(Method::GET, &session_path(identity)?).query("numRecentEvents", "0");
        if wire::session(&self.0.http.send(now).await?)?.revision == sequence {
            return Ok(Box::new(self.read(identity, None, None).await?));
        }
        let call = self.0.http.call(Method::POST, &rewind).json(json!({"toRevision": sequence}).to_string());
        let (visit, seen) = self.0.memory.visit(identity, &key);
        let lease = self.lease(identity, visit.as_deref(), &key).await?;
        let mut call = leased(call.header("idempotency-key", &key), lease.as_ref());
        if self.0.concurrency == Concurrency::Session {
            call = self.if_seen(call, identity, visit.as_deref(), seen)?;
        }
        let sent = self.0.http.send(call).await;
        self.give_back(visit.as_deref(), lease).await;
        sent?;
        Ok(Box::new(self.read(identity, None, None).await?))
    }
}
