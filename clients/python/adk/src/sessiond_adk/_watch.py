"""Following a session: what a watch yields."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass

from google.adk.events.event import Event

import sessiond
from sessiond import AsyncSession, CaughtUp, Deleted, MetadataChange, StateChange

from ._errors import of_adk
from ._wire import event_from_wire


@dataclass(frozen=True, kw_only=True)
class EventItem:
    """An event of the session. Each comes once, in the order of the log."""

    cursor: str
    """The place in the log: a watch with `after=cursor` goes on behind what was yielded so far."""
    event: Event
    """The event, as `get_session` would show it."""
    sequence: int
    """Its number in the log, from 1 on."""
    commit_time: float
    """When it was stored, in Unix seconds, by the server's clock."""


WatchItem = EventItem | CaughtUp | StateChange | MetadataChange | Deleted


async def watch(
    session: AsyncSession, *, after: str | int | None, include_state: bool
) -> AsyncGenerator[WatchItem, None]:
    """Yields what happens to the session; see `SessiondSessionService.watch`."""
    with of_adk(session.id):
        async with aclosing(session.watch(after=after, include_state=include_state)) as items:
            async for item in items:
                if isinstance(item, sessiond.Event):
                    yield EventItem(
                        cursor=item.cursor,
                        event=event_from_wire(item, session.id),
                        sequence=item.sequence,
                        commit_time=item.commit_time,
                    )
                elif isinstance(item, CaughtUp | StateChange | MetadataChange | Deleted):
                    yield item
