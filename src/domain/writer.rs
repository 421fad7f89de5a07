//! Who writes, and what that forbids.

use super::fault::Rejected;
use super::json::Json;
use super::scope::Scope;

/// Who writes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Writer {
    #[default]
    Anyone,
    /// A client of role `user`: it may not write as the agent, nor use the agent's actions.
    User,
}

impl Writer {
    /// The author of events without one.
    pub fn default_author(self) -> Option<&'static str> {
        (self == Self::User).then_some(USER)
    }

    /// # Errors
    /// An author that the writer may not name.
    pub fn check_author(self, author: &str) -> Result<(), Rejected> {
        let is_allowed = self == Self::Anyone || author == USER;
        if is_allowed {
            Ok(())
        } else {
            Err(denied("the role `user` writes as the author `user` alone; `agent` could"))
        }
    }

    /// # Errors
    /// Keys of app state.
    pub fn check_scopes(self, mut scopes: impl Iterator<Item = Scope>) -> Result<(), Rejected> {
        let is_allowed = self == Self::Anyone || scopes.all(|scope| scope != Scope::App);
        if is_allowed { Ok(()) } else { Err(denied("the role `user` may not name `app:` keys; `agent` could")) }
    }

    /// Checks a member of an event's actions other than those that change state.
    ///
    /// # Errors
    /// It is not empty, and only an agent may use it.
    pub fn check_action(self, value: Json<'_>) -> Result<(), Rejected> {
        let is_empty = || value.is_null() || matches!(value.canonical().as_ref(), "{}" | "[]" | "\"\"");
        let is_allowed = self == Self::Anyone || is_empty();
        if is_allowed {
            Ok(())
        } else {
            Err(denied("the role `user` may not send actions beyond changes of state; `agent` could"))
        }
    }
}

/// The author of a user's messages, as in ADK.
const USER: &str = "user";

fn denied(detail: &'static str) -> Rejected {
    Rejected::Denied { detail }
}
