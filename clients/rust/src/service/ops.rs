//! Changes of state by operators.

use adk_core::identity::AdkIdentity;
use chrono::Utc;
use reqwest::Method;
use serde_json::{Map, Value, json};

#[cfg(doc)]
use super::Concurrency;
use super::SessiondSessionService;
use crate::{
    error::{Error, ErrorKind},
    http::path,
    op::Op,
    wire,
};

impl SessiondSessionService {
    /// Changes state by operators, which the server applies to what is there: nothing is lost between writers.
    ///
    /// They are applied in order, all or none, through one event that is appended to the session, once, also if the
    /// first answer gets lost. [`Concurrency::Session`] does not matter here. For tools, see [`ops`](crate::ops).
    ///
    /// Returns the values of the keys after it; a removed key is absent.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::NotFound`]: there is no such session. [`ErrorKind::InvalidInput`]: an operator does not fit the
    /// value that is there; nothing was changed.
    pub async fn apply_ops(
        &self,
        identity: &AdkIdentity,
        ops: &[Op],
        author: &str,
        invocation_id: &str,
    ) -> Result<Map<String, Value>, Error> {
        self.apply_ops_if(identity, &[], ops, author, invocation_id).await
    }

    /// The same, if all preconditions hold, each an object of sessiond's: a `key`, and `equals`, a value, or `exists`, a
    /// bool, or `revision`, since which it is unchanged.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Stale`]: one does not hold; nothing was changed. Otherwise as
    /// [`SessiondSessionService::apply_ops`].
    pub async fn apply_ops_if(
        &self,
        identity: &AdkIdentity,
        preconditions: &[Value],
        ops: &[Op],
        author: &str,
        invocation_id: &str,
    ) -> Result<Map<String, Value>, Error> {
        self.change(identity, None, preconditions, ops, author, invocation_id).await
    }

    /// The same, once: `once` is an id for this change, the same in every run of the program, and the id of its event.
    ///
    /// Where the change was made before, whoever made it, nothing is changed, and the values are those that it had then.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::EventIdConflict`]: the session has another change, or another event, of this id. Otherwise as
    /// [`SessiondSessionService::apply_ops_if`].
    pub async fn apply_ops_once(
        &self,
        identity: &AdkIdentity,
        once: &str,
        preconditions: &[Value],
        ops: &[Op],
        author: &str,
        invocation_id: &str,
    ) -> Result<Map<String, Value>, Error> {
        self.change(identity, Some(once), preconditions, ops, author, invocation_id).await
    }

    pub(crate) async fn change(
        &self,
        identity: &AdkIdentity,
        once: Option<&str>,
        preconditions: &[Value],
        ops: &[Op],
        author: &str,
        invocation_id: &str,
    ) -> Result<Map<String, Value>, Error> {
        let mut actions = Map::new();
        actions.insert("stateOps".into(), ops.iter().map(Op::to_json).collect());
        if !preconditions.is_empty() {
            actions.insert("preconditions".into(), preconditions.to_vec().into());
        }
        let id = once.map_or_else(|| uuid::Uuid::new_v4().to_string(), str::to_owned);
        let body = json!({"id": id, "author": author, "invocationId": invocation_id, "actions": actions}).to_string();
        let body = match once {
            // A change that is made again has the time of the first one.
            Some(_) => body,
            // By the clock of this process, as the events of an agent are.
            None => format!(r#"{{"timestamp":{},{}"#, wire::time_to_number(Utc::now()), &body[1..]),
        };
        match self.append(identity, body, "full", invocation_id, false).await {
            Ok(stored) => Ok(wire::event(&stored)?.state_delta),
            Err(conflict) if once.is_some() && conflict.kind == ErrorKind::EventIdConflict => {
                self.made(identity, &id, &actions, conflict).await
            }
            Err(error) => Err(error),
        }
    }

    /// The values of a change that was made before, by another agent or in another invocation.
    async fn made(
        &self,
        identity: &AdkIdentity,
        id: &str,
        actions: &Map<String, Value>,
        conflict: Error,
    ) -> Result<Map<String, Value>, Error> {
        let event = path(&[
            ("apps", identity.app_name.as_ref()),
            ("users", identity.user_id.as_ref()),
            ("sessions", identity.session_id.as_ref().trim()),
            ("events", id),
        ])?;
        let answer = self.0.http.send(self.0.http.call(Method::GET, &event)).await?;
        let stored: Value = serde_json::from_slice(&answer).map_err(|_| wire::not_ours())?;
        let same = |name: &str| stored["actions"].get(name) == actions.get(name);
        if !same("stateOps") || !same("preconditions") {
            return Err(conflict);
        }
        Ok(stored["actions"]["stateDelta"].as_object().cloned().unwrap_or_default())
    }
}
