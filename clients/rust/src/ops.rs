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

/// The operators for a change that has an id, the same in every run of the program: the session makes a change of this
/// id once. So a tool that died in the middle may run again:
///
/// ```
/// # use std::sync::Arc;
/// # use adk_core::ToolContext;
/// # use sessiond_adk::ops;
/// # async fn take_order(ctx: Arc<dyn ToolContext>, order: &str) -> adk_core::Result<()> {
/// let number = ops::once(format!("number of {order}")).increment(&ctx, "app:orders", 1).await?;
/// # Ok(()) }
/// ```
///
/// Made again, a change changes nothing, and returns what it returned the first time. Each call needs an id of its own:
/// another change of the same id is [`EventIdConflict`](crate::ErrorKind::EventIdConflict).
pub fn once(id: impl Into<String>) -> Once {
    Once { id: Some(id.into()) }
}

/// Adds a number, an absent key being 0, and returns the sum.
pub async fn increment<C>(ctx: &Arc<C>, key: &str, by: impl Into<Value>) -> Result<Value, Error>
where
    C: ReadonlyContext + ?Sized,
{
    EACH.increment(ctx, key, by).await
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
    EACH.append(ctx, key, values).await
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
    EACH.union(ctx, key, values).await
}

/// Removes a key.
pub async fn remove<C>(ctx: &Arc<C>, key: &str) -> Result<(), Error>
where
    C: ReadonlyContext + ?Sized,
{
    EACH.remove(ctx, key).await
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
    EACH.apply_if(ctx, preconditions, ops).await
}

/// The operators for a change that is made once: see [`once`].
#[derive(Debug, Clone)]
pub struct Once {
    id: Option<String>,
}

impl Once {
    /// As [`increment`].
    pub async fn increment<C>(&self, ctx: &Arc<C>, key: &str, by: impl Into<Value>) -> Result<Value, Error>
    where
        C: ReadonlyContext + ?Sized,
    {
        self.one(ctx, Op::increment(key, by)).await
    }

    /// As [`append`].
    pub async fn append<C, V: Into<Value>>(
        &self,
        ctx: &Arc<C>,
        key: &str,
        values: impl IntoIterator<Item = V>,
    ) -> Result<Value, Error>
    where
        C: ReadonlyContext + ?Sized,
    {
        self.one(ctx, Op::append(key, values)).await
    }

    /// As [`union`].
    pub async fn union<C, V: Into<Value>>(
        &self,
        ctx: &Arc<C>,
        key: &str,
        values: impl IntoIterator<Item = V>,
    ) -> Result<Value, Error>
    where
        C: ReadonlyContext + ?Sized,
    {
        self.one(ctx, Op::union(key, values)).await
    }

    /// As [`remove`].
    pub async fn remove<C>(&self, ctx: &Arc<C>, key: &str) -> Result<(), Error>
    where
        C: ReadonlyContext + ?Sized,
    {
        self.apply_if(ctx, &[], &[Op::remove(key)]).await.map(drop)
    }

    /// As [`apply`].
    pub async fn apply<C>(&self, ctx: &Arc<C>, ops: &[Op]) -> Result<Map<String, Value>, Error>
    where
        C: ReadonlyContext + ?Sized,
    {
        self.apply_if(ctx, &[], ops).await
    }

    /// As [`apply_if`].
    pub async fn apply_if<C>(
        &self,
        ctx: &Arc<C>,
        preconditions: &[Value],
        ops: &[Op],
    ) -> Result<Map<String, Value>, Error>
    where
        C: ReadonlyContext + ?Sized,
    {
        let identity = AdkIdentity::new(
            AppName::new_unchecked(ctx.app_name()),
            UserId::new_unchecked(ctx.user_id()),
            SessionId::new_unchecked(ctx.session_id()),
        );
        let service = SessiondSessionService::of(&identity, ctx.invocation_id())?;
        let once = self.id.as_deref();
        service.change(&identity, once, preconditions, ops, ctx.agent_name(), ctx.invocation_id()).await
    }

    async fn one<C>(&self, ctx: &Arc<C>, op: Op) -> Result<Value, Error>
    where
        C: ReadonlyContext + ?Sized,
    {
        let key = op.key.clone();
        Ok(self.apply(ctx, &[op]).await?.remove(&key).unwrap_or_default())
    }
}

/// Of a change that has no id.
const EACH: Once = Once { id: None };
