"""Atomic changes of state, for tools and callbacks.

`tool_context.state["app:orders"] += 1` reads, adds and writes back: of two agents that do so at the same time, one
loses. An operator is applied by the server to what is there, so none does:

    from sessiond_adk import ops

    async def place_order(item: str, tool_context: ToolContext) -> dict:
        number = await ops.increment(tool_context, "app:orders")
        await ops.append(tool_context, "user:items", item)
        return {"number": number}

Each call is one event of the session, stored when it returns, by the agent that is running, in the current invocation;
`tool_context.state` shows the new value. It is stored also if the tool fails afterwards. A key that the same tool also
assigns, as in `tool_context.state[key] = value`, ends with the assigned value.

With `preconditions`, they do so only if those hold right before. Otherwise they change nothing, and raise ADK's
`StaleSessionError`:

    await ops.increment(tool_context, "app:stock", -1, preconditions=[ops.equals("app:open", True)])

A tool that may run again, as the process died in the middle of it, names each change by an id that is the same in every
run. The server makes a change of an id once for the life of the session; made again, it changes nothing, and returns
what it returned the first time:

    async def place_order(order: str, item: str, tool_context: ToolContext) -> dict:
        number = await ops.increment(tool_context, "app:orders", once=f"number of {order}")
        await ops.append(tool_context, "user:items", item, once=f"items of {order}")
        return {"number": number}

The functions need the `SessiondSessionService` of the runner, and raise `TypeError` with any other: none of them could
keep the promise. They raise what `SessiondSessionService.apply_ops` raises, which is the same for programs that have a
session and no context.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from google.adk.agents.readonly_context import ReadonlyContext

from sessiond import absent, equals, exists, unchanged

from .service import SessiondSessionService

__all__ = ["absent", "append", "apply", "equals", "exists", "increment", "remove", "unchanged", "union"]

Preconditions = Sequence[Mapping[str, Any]]
"""What must hold of keys right before a change: what `exists`, `absent`, `equals` and `unchanged` return."""


async def increment(
    context: ReadonlyContext, key: str, by: float = 1, *, preconditions: Preconditions = (), once: str | None = None
) -> Any:
    """Adds a number, an absent key being 0, and returns the sum. Exact for integers of any size."""
    return await _one(context, "increment", key, by, preconditions, once)


async def append(
    context: ReadonlyContext, key: str, *values: Any, preconditions: Preconditions = (), once: str | None = None
) -> Any:
    """Puts values at the end of a list, an absent key being an empty one, and returns the list."""
    return await _one(context, "append", key, list(values), preconditions, once)


async def union(
    context: ReadonlyContext, key: str, *values: Any, preconditions: Preconditions = (), once: str | None = None
) -> Any:
    """Puts those values at the end of a list that are not in it yet, and returns the list."""
    return await _one(context, "union", key, list(values), preconditions, once)


async def remove(
    context: ReadonlyContext, key: str, *, preconditions: Preconditions = (), once: str | None = None
) -> None:
    """Removes a key, which is something else than to set it to None. An absent key stays absent."""
    await apply(context, [{"op": "remove", "key": key}], preconditions=preconditions, once=once)


async def apply(
    context: ReadonlyContext,
    ops: Sequence[Mapping[str, Any]],
    *,
    preconditions: Preconditions = (),
    once: str | None = None,
) -> dict[str, Any]:
    """Applies several operators in order, all or none; see `SessiondSessionService.apply_ops`."""
    # ADK has no public way from every kind of context to the service.
    invocation = context._invocation_context
    service = invocation.session_service
    if not isinstance(service, SessiondSessionService):
        raise TypeError(f"sessiond_adk.ops needs a SessiondSessionService; the runner has a {type(service).__name__}.")
    return await service.apply_ops(
        invocation.session,
        ops,
        preconditions=preconditions,
        author=context.agent_name,
        invocation_id=context.invocation_id,
        once=once,
    )


async def _one(
    context: ReadonlyContext, op: str, key: str, value: Any, preconditions: Preconditions, once: str | None
) -> Any:
    operator = {"op": op, "key": key, "value": value}
    return (await apply(context, [operator], preconditions=preconditions, once=once))[key]
