//! The sessions of which a view of the effective history is to be kept.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

use tokio::sync::Notify;

use crate::domain::ids::SessionKey;

/// How many sessions may wait. One that is not taken is told of again by its next reader.
const WAITING: usize = 10_000;

/// The sessions of which a view is to be kept.
#[derive(Default)]
pub struct Behind {
    sessions: Mutex<BTreeSet<SessionKey>>,
    more: Notify,
}

impl Behind {
    pub fn note(&self, key: &SessionKey) {
        let mut sessions = self.sessions.lock().unwrap_or_else(PoisonError::into_inner);
        if sessions.len() < WAITING && sessions.insert(key.clone()) {
            self.more.notify_one();
        }
    }

    pub async fn next(&self) -> SessionKey {
        loop {
            let next = self.sessions.lock().unwrap_or_else(PoisonError::into_inner).pop_first();
            match next {
                Some(key) => return key,
                None => self.more.notified().await,
            }
        }
    }
}
