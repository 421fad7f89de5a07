//! Changes of app or user state on their own, without a session and without an event.

use std::collections::HashMap;

use super::Limits;
use super::change::{Edit, Keys};
use super::ids::{ScopeKey, StateAddress};
use super::loaded::{KeyNeeds, StateEntry, need_key};
use super::request_key::RequestKey;
use super::resolve::{Mismatch, Refusal, Resolved, Working};
use super::scope::Scope;
use super::tag::IfMatch;
use super::time::Micros;
use super::writes::{ScopeUpdate, Writes};

/// A change of app or user state on its own.
#[derive(Debug)]
pub struct ScopeWrite {
    pub scope: ScopeKey,
    pub edit: Edit,
    pub if_match: Option<IfMatch>,
    /// Remembered beside the scope, so that a retry changes nothing twice.
    pub request: Option<RequestKey>,
    pub limits: Limits,
    pub now: Micros,
}

impl ScopeWrite {
    /// The keys to be loaded.
    pub fn needs(&self) -> KeyNeeds {
        let mut needs = KeyNeeds::new();
        for (_, key, since) in self.edit.reads() {
            need_key(&mut needs, self.scope.address(key), since);
        }
        needs
    }
}

/// Decides a change of a shared scope on its own, at `revision`, given the keys that it needs: what to write.
///
/// # Errors
/// A precondition or an operator refuses.
pub fn decide_scope<'a>(
    values: &HashMap<StateAddress, StateEntry>,
    write: &'a ScopeWrite,
    revision: i64,
) -> Result<Writes<'a>, Refusal> {
    let mismatch = |failed| Refusal::RevisionMismatch(Mismatch::of_scope(revision, failed));
    if write.if_match.as_ref().is_some_and(|if_match| !if_match.holds_for_scope(revision)) {
        return Err(mismatch(Vec::new()));
    }
    let scope = match write.scope {
        ScopeKey::App(_) => Scope::App,
        ScopeKey::User(_) => Scope::User,
    };
    let address = |_: Scope, key: &str| write.scope.address(key);
    let mut working = Working::new(values);
    let failed = working.failed(&write.edit, Keys::Of(scope), "", &address, |_| revision)?;
    if !failed.is_empty() {
        return Err(mismatch(failed));
    }
    let mut writes = Writes::default();
    let update = ScopeUpdate { was: revision, revision: revision + 1 };
    for Resolved { key, value, .. } in working.resolve(&write.edit, Keys::Of(scope), "", &address, &write.limits)? {
        match &write.scope {
            ScopeKey::App(app) => {
                writes.apps.insert(app, update);
                writes.app_state.write((app, key), value, revision + 1);
            }
            ScopeKey::User(user) => {
                writes.users.insert(user, update);
                writes.user_state.write((user, key), value, revision + 1);
            }
        }
    }
    Ok(writes)
}
