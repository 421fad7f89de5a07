//! What ADK asks of a session service.

use std::collections::HashMap;

use adk_core::{
    Event,
    identity::{AdkIdentity, AppName, SessionId, UserId},
};
use adk_session::{
    AppendEventRequest, CreateRequest, DeleteRequest, GetRequest, KEY_PREFIX_TEMP, ListRequest, Session, SessionService,
};
use async_trait::async_trait;
use reqwest::Method;
use serde_json::json;

use super::{
    Concurrency, SessiondSessionService, appends::leased, reads::PAGE, session::SessiondSession, session_path,
};
use crate::{
    http::path,
    wire::{self, StoredSession},
};

/// Where `LlmAgent` puts what it has asked the model, and what that has answered, besides the field `llm_request`.
const MODEL_REQUESTS: [&str; 2] = ["gcp.vertex.agent.llm_request", "gcp.vertex.agent.llm_response"];

#[async_trait]
impl SessionService for SessiondSessionService {
    /// Creates a session, once, also if the first answer gets lost. `app:` and `user:` keys go to app and user state,
    /// `temp:` keys nowhere.
    async fn create(&self, req: CreateRequest) -> adk_core::Result<Box<dyn Session>> {
        let (app, user) = (req.try_app_name()?, req.try_user_id()?);
        req.try_session_id()?;
        let sessions = format!("{}/sessions", path(&[("apps", app.as_ref()), ("users", user.as_ref())])?);
        let state: HashMap<_, _> = req.state.iter().filter(|(key, _)| !key.starts_with(KEY_PREFIX_TEMP)).collect();
        let call = match &req.session_id {
            // Nobody else knows this id: what a get-or-create gets can only be what an attempt before has created.
            None => (self.0.http)
                .call(Method::PUT, &format!("{sessions}/{}", uuid::Uuid::new_v4()))
                .json(json!({"state": state}).to_string()),
            Some(id) => {
                path(&[("sessions", id.trim())])?;
                (self.0.http)
                    .call(Method::POST, &sessions)
                    .json(json!({"sessionId": id.trim(), "state": state}).to_string())
                    // By which sessiond knows what an attempt before has created.
                    .header("idempotency-key", &uuid::Uuid::new_v4().to_string())
            }
        };
        let answer = self.0.http.send(call).await?;
        Ok(Box::new(self.given(wire::session(&answer)?)))
    }

    /// Returns a session with its merged state and its events, as of one moment. `num_recent_events` and `after` go to
    /// the server: first the last ones, of these those that are not before `after`.
    async fn get(&self, req: GetRequest) -> adk_core::Result<Box<dyn Session>> {
        Ok(Box::new(self.read(&req.try_identity()?, req.num_recent_events, req.after).await?))
    }

    /// Returns the sessions of a user, with merged state and without events, those that were updated last first.
    async fn list(&self, req: ListRequest) -> adk_core::Result<Vec<Box<dyn Session>>> {
        let (app, user) = (req.try_app_name()?, req.try_user_id()?);
        let sessions = format!("{}/sessions", path(&[("apps", app.as_ref()), ("users", user.as_ref())])?);
        let offset = req.offset.unwrap_or_default();
        let end = req.limit.map_or(usize::MAX, |limit| offset.saturating_add(limit));
        let size = end.clamp(1, PAGE).to_string();
        let parameters = [("includeState", "true"), ("order", "desc"), ("pageSize", &*size)];
        let (mut place, mut listed) = (0, Vec::new());
        if end > offset {
            let visit = |stored: &str| {
                if place >= offset {
                    listed.push(wire::session(stored.as_bytes())?);
                }
                place += 1;
                Ok(place < end)
            };
            self.each(&sessions, &parameters, "sessions", visit).await?;
        }
        let shown = |stored: StoredSession| {
            let identity = AdkIdentity::new(
                AppName::new_unchecked(stored.app_name),
                UserId::new_unchecked(stored.user_id),
                SessionId::new_unchecked(stored.id),
            );
            let (state, last_update_time) = (stored.state, stored.last_update_time);
            // Nobody appends on the grounds of a list.
            Box::new(SessiondSession { visit: None, identity, state, events: Vec::new(), last_update_time }) as _
        };
        Ok(listed.into_iter().map(shown).collect())
    }

    /// Deletes a session with its events and its own state, if there is one. App and user state stay.
    async fn delete(&self, req: DeleteRequest) -> adk_core::Result<()> {
        let identity = req.try_identity()?;
        let (visit, _) = self.0.memory.visit(&identity, "");
        let lease = match visit {
            Some(visit) => visit.lease().await.clone(),
            None => None,
        };
        let call = self.0.http.call(Method::DELETE, &session_path(&identity)?);
        self.0.http.send(leased(call, lease.as_ref())).await?;
        self.0.memory.forget(&identity);
        Ok(())
    }

    /// Appends to the session with this id that this service has created or read. If there is none, or if there are
    /// several, of other apps or users, it is an error. Runners use [`SessionService::append_event_for_identity`].
    async fn append_event(&self, session_id: &str, event: Event) -> adk_core::Result<()> {
        if event.llm_response.partial {
            return Ok(());
        }
        let identity = self.find(session_id)?;
        self.append_event_for_identity(AppendEventRequest { identity, event }).await
    }

    /// Appends an event and applies its `state_delta`. A partial event is not stored, nor are `temp:` keys.
    async fn append_event_for_identity(&self, req: AppendEventRequest) -> adk_core::Result<()> {
        let AppendEventRequest { identity, mut event } = req;
        if event.llm_response.partial {
            return Ok(());
        }
        if !self.0.keep_model_requests {
            event.llm_request = None;
            event.provider_metadata.retain(|name, _| !MODEL_REQUESTS.contains(&name.as_str()));
        }
        let if_seen = self.0.concurrency == Concurrency::Session;
        self.append(&identity, wire::event_to_text(&event), "minimal", &event.invocation_id, if_seen).await?;
        Ok(())
    }

    /// Deletes the sessions of a user. User state stays: sessiond has an erasure for a person.
    async fn delete_all_sessions(&self, app_name: &str, user_id: &str) -> adk_core::Result<()> {
        let sessions = format!("{}/sessions", path(&[("apps", app_name), ("users", user_id)])?);
        let mut ids = Vec::new();
        self.each(&sessions, &[("pageSize", "1000")], "sessions", |stored| {
            ids.push(wire::session(stored.as_bytes())?.id);
            Ok(true)
        })
        .await?;
        for session_id in ids {
            let (app_name, user_id) = (app_name.to_owned(), user_id.to_owned());
            self.delete(DeleteRequest { app_name, user_id, session_id }).await?;
        }
        Ok(())
    }

    /// Rewinds the session with this id that this service has created or read: see
    /// [`SessiondSessionService::rewind_for_identity`].
    async fn rewind(&self, session_id: &str, target_event_id: &str) -> adk_core::Result<Box<dyn Session>> {
        Ok(self.rewind_for_identity(&self.find(session_id)?, target_event_id).await?)
    }

    /// Rewinds the session with this id that this service has created or read: see
    /// [`SessiondSessionService::rewind_steps_for_identity`].
    async fn rewind_steps(&self, session_id: &str, steps: usize) -> adk_core::Result<Box<dyn Session>> {
        Ok(self.rewind_steps_for_identity(&self.find(session_id)?, steps).await?)
    }

    /// Whether sessiond is there and has its database. It is asked once.
    async fn health_check(&self) -> adk_core::Result<()> {
        Ok(self.0.http.once(Method::GET, "/readyz").await?)
    }
}
