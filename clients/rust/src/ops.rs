//! Atomic changes of state, for tools and callbacks.
//!
//! To read `app:orders`, add one and put it into the `state_delta` loses an order if two agents do it at once. An
//! operator is applied by the server to what is there:
//!
//! ```
//! use std::sync::Arc;
//!
//! use adk_core::ToolContext;
//! use serde_json::{Value, json};
//! use sessiond_adk::ops;
//!
//! async fn take_order(ctx: Arc<dyn ToolContext>, drink: &str) -> adk_core::Result<Value> {
//!     let number = ops::increment(&ctx, "app:orders", 1).await?;
//!     ops::append(&ctx, "user:drinks", [drink]).await?;
//!     Ok(json!({"number": number}))
//! }
//! ```
//!
//! Each call is one event of the session, stored when it returns, by the agent that is running, in its invocation. It
//! is stored also if the tool fails afterwards. A key that the same tool also puts into its `state_delta` ends with
//! that value.
//!
//! The value is what the call returns. ADK shows no tool a way to change the state that the runner has in memory, so
//! `ctx.session()` and the instructions of later agents show it from the next invocation on; a tool that wants it there
//! now puts it into a key of its own, such as `temp:` or one of the session.
//!
//! A context does not say which service its runner has. These functions take the [`SessiondSessionService`] of this
//! process that runs the invocation, or the only one that there is. Their errors are those of
//! [`SessiondSessionService::apply_ops`], which is the way without a context.

use std::sync::Arc;

use adk_core::{
    ReadonlyContext,
    identity::{AdkIdentity, AppName, SessionId, UserId},
};
use serde_json::{Map, Value, json};

use crate::{error::Error, service::SessiondSessionService};

/// An operator and the key that it is for, with its prefix: `app:`, `user:`, or none for the state of the session.
#[derive(Debug, Clone, PartialEq)]
pub struct Op {
    op: &'static str,
    key: String,
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

/// Adds a number, an absent key being 0, and returns the sum.
pub async fn increment<C>(ctx: &Arc<C>, key: &str, by: impl Into<Value>) -> Result<Value, Error>
where
    C: ReadonlyContext + ?Sized,
{
    one(ctx, Op::increment(key, by)).await
}

/// Puts values at the end of a list, an absent key being an empty one, and returns the list.
pub async fn append<C, V: Into<Value>>(
    ctx: &Arc<C>,
    key: &str,
    values: impl IntoIterator<Item = V>,
) -> Result<Value, Error>
where
    C: ReadonlyContext + ?Sized,
{
    one(ctx, Op::append(key, values)).await
}

/// Puts those values at the end of a list that are not in it yet, and returns the list.
pub async fn union<C, V: Into<Value>>(
    ctx: &Arc<C>,
    key: &str,
    values: impl IntoIterator<Item = V>,
) -> Result<Value, Error>
where
    C: ReadonlyContext + ?Sized,
{
    one(ctx, Op::union(key, values)).await
}

/// Removes a key.
pub async fn remove<C>(ctx: &Arc<C>, key: &str) -> Result<(), Error>
where
    C: ReadonlyContext + ?Sized,
{
    apply(ctx, &[Op::remove(key)]).await.map(drop)
}

/// Applies several operators in order, all or none, and returns the values of the keys after it; a removed key is
/// absent.
pub async fn apply<C>(ctx: &Arc<C>, ops: &[Op]) -> Result<Map<String, Value>, Error>
where
    C: ReadonlyContext + ?Sized,
{
    apply_if(ctx, &[], ops).await
}

/// The same, if all preconditions hold, else the error is [`Stale`](crate::ErrorKind::Stale): see
/// [`SessiondSessionService::apply_ops_if`].
pub async fn apply_if<C>(ctx: &Arc<C>, preconditions: &[Value], ops: &[Op]) -> Result<Map<String, Value>, Error>
where
    C: ReadonlyContext + ?Sized,
{
    let identity = AdkIdentity::new(
        AppName::new_unchecked(ctx.app_name()),
        UserId::new_unchecked(ctx.user_id()),
        SessionId::new_unchecked(ctx.session_id()),
    );
    let service = SessiondSessionService::of(&identity, ctx.invocation_id())?;
    service.apply_ops_if(&identity, preconditions, ops, ctx.agent_name(), ctx.invocation_id()).await
}

async fn one<C>(ctx: &Arc<C>, op: Op) -> Result<Value, Error>
where
    C: ReadonlyContext + ?Sized,
{
    let key = op.key.clone();
    Ok(apply(ctx, &[op]).await?.remove(&key).unwrap_or_default())
}
