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

The functions need the `SessiondSessionService` of the runner, and raise `TypeError` with any other: none of them could
keep the promise. They raise what `SessiondSessionService.apply_ops` raises, which is the same for programs that have a
session and no context.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from google.adk.agents.readonly_context import ReadonlyContext

from .service import SessiondSessionService


async def increment(context: ReadonlyContext, key: str, by: float = 1) -> Any:
    """Adds a number, an absent key being 0, and returns the sum. Exact for integers of any size."""
    return await _one(context, "increment", key, by)


async def append(context: ReadonlyContext, key: str, *values: Any) -> Any:
    """Puts values at the end of a list, an absent key being an empty one, and returns the list."""
    return await _one(context, "append", key, list(values))


async def union(context: ReadonlyContext, key: str, *values: Any) -> Any:
    """Puts those values at the end of a list that are not in it yet, and returns the list."""
    return await _one(context, "union", key, list(values))


async def remove(context: ReadonlyContext, key: str) -> None:
    """Removes a key, which is something else than to set it to None. An absent key stays absent."""
    await apply(context, [{"op": "remove", "key": key}])


async def apply(context: ReadonlyContext, ops: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Applies several operators in order, all or none; see `SessiondSessionService.apply_ops`."""
    # ADK has no public way from every kind of context to the service.
    invocation = context._invocation_context
    service = invocation.session_service
    if not isinstance(service, SessiondSessionService):
        raise TypeError(f"sessiond_adk.ops needs a SessiondSessionService; the runner has a {type(service).__name__}.")
    return await service.apply_ops(
        invocation.session, ops, author=context.agent_name, invocation_id=context.invocation_id
    )


async def _one(context: ReadonlyContext, op: str, key: str, value: Any) -> Any:
    return (await apply(context, [{"op": op, "key": key, "value": value}]))[key]
