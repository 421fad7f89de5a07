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
use serde_json::{Map, Value};

pub use crate::op::Op;
use crate::{error::Error, service::SessiondSessionService};

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
