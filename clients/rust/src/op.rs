//! Operators: what a change of state asks the server to do with a key.

use serde_json::{Value, json};

/// An operator and the key that it is for, with its prefix: `app:`, `user:`, or none for the state of the session.
#[derive(Debug, Clone, PartialEq)]
pub struct Op {
    op: &'static str,
    pub(crate) key: String,
    value: Option<Value>,
}

impl Op {
    fn new(op: &'static str, key: impl Into<String>, value: Option<Value>) -> Self {
        Self { op, key: key.into(), value }
    }

    /// Sets a key.
    pub fn set(key: impl Into<String>, value: impl Into<Value>) -> Self {
        Self::new("set", key, Some(value.into()))
    }

    /// Removes a key, which is something else than to set it to null. An absent key stays absent.
    pub fn remove(key: impl Into<String>) -> Self {
        Self::new("remove", key, None)
    }

    /// Adds a number; an absent key is 0. Exact for integers of any size.
    pub fn increment(key: impl Into<String>, by: impl Into<Value>) -> Self {
        Self::new("increment", key, Some(by.into()))
    }

    /// Puts values at the end of a list; an absent key is an empty one.
    pub fn append<V: Into<Value>>(key: impl Into<String>, values: impl IntoIterator<Item = V>) -> Self {
        Self::new("append", key, Some(values.into_iter().map(Into::into).collect()))
    }

    /// Puts those values at the end of a list that are not in it yet.
    pub fn union<V: Into<Value>>(key: impl Into<String>, values: impl IntoIterator<Item = V>) -> Self {
        Self::new("union", key, Some(values.into_iter().map(Into::into).collect()))
    }

    /// Sets a number if it is greater than what is there.
    pub fn max(key: impl Into<String>, value: impl Into<Value>) -> Self {
        Self::new("max", key, Some(value.into()))
    }

    /// Sets a number if it is less than what is there.
    pub fn min(key: impl Into<String>, value: impl Into<Value>) -> Self {
        Self::new("min", key, Some(value.into()))
    }

    /// Merges an object into what is there (RFC 7396): null removes a member.
    pub fn merge(key: impl Into<String>, value: impl Into<Value>) -> Self {
        Self::new("merge", key, Some(value.into()))
    }

    pub(crate) fn to_json(&self) -> Value {
        let mut operation = json!({"op": self.op, "key": self.key});
        if let Some(value) = &self.value {
            operation["value"] = value.clone();
        }
        operation
    }
}
