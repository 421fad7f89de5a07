//! Resolves an [`Edit`] against the current values: preconditions on keys, and then operators, in order.

use std::borrow::Cow;
use std::collections::HashMap;

use super::change::{Change, Condition, Edit, Keys, value_too_large};
use super::ids::StateAddress;
use super::json::RawJson;
use super::loaded::StateEntry;
use super::scope::Scope;
use super::tag::Tag;
use super::{FieldError, Limits, Rejected};

/// The most bytes of values that the operators and preconditions of one request may read together: they may do so under locks.
const MOST_WORK: usize = 32 << 20;

/// Why nothing was written.
#[derive(Debug, Clone, PartialEq)]
pub enum Refusal {
    /// The session has this event id with other content.
    EventIdConflict,
    /// A precondition failed.
    RevisionMismatch(Mismatch),
    /// An operator does not fit the current value, or its result is over a limit.
    Rejected(Rejected),
}

/// The current revisions, where a precondition failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Mismatch {
    /// Of the session, or of the scope that was addressed on its own.
    pub revision: i64,
    /// Of user and app state, where a session was addressed.
    pub shared: Option<(i64, i64)>,
    /// The preconditions on keys that failed; none if it was the one on the entity tag.
    pub failed: Vec<FieldError>,
}

impl Mismatch {
    pub fn of_session(tag: &Tag, failed: Vec<FieldError>) -> Self {
        Self { revision: tag.revision, shared: Some((tag.user, tag.app)), failed }
    }

    pub fn of_scope(revision: i64, failed: Vec<FieldError>) -> Self {
        Self { revision, shared: None, failed }
    }
}

/// A key's value after an event; `None` if it is removed.
pub struct Resolved<'a> {
    pub scope: Scope,
    pub key: &'a str,
    pub value: Option<Cow<'a, RawJson>>,
}

/// The loaded keys while the edits of one request are resolved, one after the other.
pub struct Working<'h> {
    loaded: &'h HashMap<StateAddress, StateEntry>,
    /// Of the loaded keys, those that this request has changed.
    changed: HashMap<StateAddress, StateEntry>,
    work: usize,
}

impl<'h> Working<'h> {
    pub fn new(loaded: &'h HashMap<StateAddress, StateEntry>) -> Self {
        Self { loaded, changed: HashMap::new(), work: 0 }
    }

    fn value(&self, address: &StateAddress) -> Option<&RawJson> {
        self.held(address).and_then(|held| held.value.as_ref())
    }

    fn held(&self, address: &StateAddress) -> Option<&StateEntry> {
        self.changed.get(address).or_else(|| self.loaded.get(address))
    }

    /// Sets the value of a key for later edits.
    pub fn set(&mut self, address: StateAddress, value: Option<&RawJson>, revision: i64) {
        if self.loaded.contains_key(&address) {
            self.changed.insert(address, StateEntry { value: value.cloned(), revision });
        }
    }

    /// Counts bytes that are read.
    fn spend(&mut self, bytes: usize) -> Result<(), Refusal> {
        self.work += bytes;
        if self.work <= MOST_WORK {
            return Ok(());
        }
        Err(Refusal::Rejected(Rejected::TooLarge {
            limit: "operators",
            detail: format!("the operators of one request may read {} MiB of values together", MOST_WORK >> 20),
        }))
    }

    /// Which of the preconditions do not hold, given the revision that each scope is at. `pointer` is that of what holds them.
    ///
    /// # Errors
    /// They read too much.
    pub fn failed(
        &mut self,
        edit: &Edit,
        keys: Keys,
        pointer: &str,
        address: &impl Fn(Scope, &str) -> StateAddress,
        revision: impl Fn(Scope) -> i64,
    ) -> Result<Vec<FieldError>, Refusal> {
        let mut failed = Vec::new();
        for (n, precondition) in edit.preconditions.iter().enumerate() {
            let (scope, key) = (precondition.scope, &*precondition.key);
            let address = address(scope, key);
            let value = self.value(&address);
            let fault = match &precondition.condition {
                Condition::Unchanged { since } if *since > revision(scope) => {
                    Some("is asked about since a revision that has not come yet")
                }
                Condition::Unchanged { since } => {
                    let changed = self.held(&address).map_or(0, |held| held.revision);
                    (changed > *since).then_some("has changed since that revision")
                }
                Condition::Exists(true) => value.is_none().then_some("does not exist"),
                Condition::Exists(false) => value.is_some().then_some("exists"),
                Condition::Equals(wanted) => {
                    let fault = match value {
                        None => Some("is absent"),
                        Some(value) => (!value.json().same(wanted.json())).then_some("has another value"),
                    };
                    self.spend(value.map_or(0, |value| value.text().len()) + wanted.text().len())?;
                    fault
                }
            };
            if let Some(what) = fault {
                let field = format!("{pointer}/preconditions/{n}");
                failed.push(FieldError::new(field, format!("the key `{}` {what}", keys.show(scope, key))));
            }
        }
        Ok(failed)
    }

    /// The result of the edit: each key that it changes, once. `pointer` is that of the object with the operators.
    ///
    /// # Errors
    /// An operator does not fit the current value, its result is over a limit, or the operators read too much.
    pub fn resolve<'a>(
        &mut self,
        edit: &'a Edit,
        keys: Keys,
        pointer: &str,
        address: &impl Fn(Scope, &str) -> StateAddress,
        limits: &Limits,
    ) -> Result<Vec<Resolved<'a>>, Refusal> {
        let set =
            |set: &'a Change| Resolved { scope: set.scope, key: &set.key, value: Some(Cow::Borrowed(&set.value)) };
        let mut changes: Vec<Resolved<'a>> = edit.sets.iter().map(set).collect();
        if edit.ops.is_empty() {
            return Ok(changes);
        }
        let mut places: HashMap<(Scope, &str), usize> =
            changes.iter().enumerate().map(|(at, change)| ((change.scope, change.key), at)).collect();
        for (n, operation) in edit.ops.iter().enumerate() {
            let (scope, key) = (operation.scope, &*operation.key);
            let place = places.get(&(scope, key)).copied();
            let held = match place.and_then(|at| changes.get(at)) {
                Some(change) => change.value.as_deref(),
                None => self.value(&address(scope, key)),
            };
            let bytes = operation
                .op
                .operand()
                .map_or(0, |operand| operand.text().len() + held.map_or(0, |value| value.text().len()));
            let pointer = || format!("{pointer}/stateOps/{n}");
            let value = operation.op.apply(held.map(RawJson::json)).map_err(|what| {
                let message = format!("the key `{}`: {what}", keys.show(scope, key));
                Refusal::Rejected(Rejected::field(pointer(), message))
            })?;
            self.spend(bytes)?;
            if value.as_ref().is_some_and(|value| value.text().len() > limits.value_bytes) {
                return Err(Refusal::Rejected(value_too_large(&pointer(), limits)));
            }
            let change = Resolved { scope, key, value };
            match place.and_then(|at| changes.get_mut(at)) {
                Some(place) => *place = change,
                None => {
                    places.insert((scope, key), changes.len());
                    changes.push(change);
                }
            }
        }
        // Removing a missing key is no change.
        changes.retain(|change| change.value.is_some() || self.value(&address(change.scope, change.key)).is_some());
        Ok(changes)
    }
}
