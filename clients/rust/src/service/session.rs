//! A session as ADK sees it.

use std::{collections::HashMap, sync::Arc};

use adk_core::{Event, identity::AdkIdentity};
use adk_session::{Events, Session, State};
use chrono::{DateTime, Utc};
use serde_json::Value;

use crate::turn::Visit;

/// A session, as it was read.
pub(super) struct SessiondSession {
    pub(super) identity: AdkIdentity,
    pub(super) state: HashMap<String, Value>,
    pub(super) events: Vec<Event>,
    pub(super) last_update_time: DateTime<Utc>,
    /// By which the service knows what an invocation has seen, and when it is over.
    #[expect(dead_code, reason = "it is held, not used")]
    pub(super) visit: Option<Arc<Visit>>,
}

impl Session for SessiondSession {
    fn id(&self) -> &str {
        self.identity.session_id.as_ref()
    }

    fn app_name(&self) -> &str {
        self.identity.app_name.as_ref()
    }

    fn user_id(&self) -> &str {
        self.identity.user_id.as_ref()
    }

    fn state(&self) -> &dyn State {
        self
    }

    fn events(&self) -> &dyn Events {
        self
    }

    fn last_update_time(&self) -> DateTime<Utc> {
        self.last_update_time
    }
}

impl State for SessiondSession {
    fn get(&self, key: &str) -> Option<Value> {
        self.state.get(key).cloned()
    }

    fn set(&mut self, key: String, value: Value) {
        self.state.insert(key, value);
    }

    fn all(&self) -> HashMap<String, Value> {
        self.state.clone()
    }
}

impl Events for SessiondSession {
    fn all(&self) -> Vec<Event> {
        self.events.clone()
    }

    fn len(&self) -> usize {
        self.events.len()
    }

    fn at(&self, index: usize) -> Option<&Event> {
        self.events.get(index)
    }
}
