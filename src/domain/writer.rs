//! In whose name a request writes, and what that forbids.

use super::fault::Rejected;
use super::json::Json;
use super::scope::Scope;

/// In whose name a request writes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Writer {
    #[default]
    Anyone,
    /// A client of role `user`: it may neither speak as the agent nor do what only an agent does.
    User,
}

impl Writer {
    /// The author of events that name none.
    pub fn default_author(self) -> Option<&'static str> {
        (self == Self::User).then_some(USER)
    }

    /// # Errors
    /// Another author than the writer may name.
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

    /// A member of an event's actions beside those that change state.
    ///
    /// # Errors
    /// It asks for something.
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

/// The author of what a user says, as in ADK.
const USER: &str = "user";

fn denied(detail: &'static str) -> Rejected {
    Rejected::Denied { detail }
}
