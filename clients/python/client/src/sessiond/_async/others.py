"""What others have said in a thread of LangGraph."""

from __future__ import annotations

from .. import _langgraph as lg
from .._errors import NotFoundError
from .._langgraph import CHECKPOINT, Codec
from .._others import Others, Said, of_others
from .session import AsyncSession

# Checkpoints that are asked for at a time, of which each may have values.
_PAGE = 10


async def said_since(session: AsyncSession, codec: Codec, ns: str, id: str | None, others: Others) -> list[Said]:
    """Returns what others have said since the last run began, before this checkpoint if one is named."""
    since = 0
    try:
        async for event in session.events(
            author=CHECKPOINT, branch=lg.branch(ns), rewound=False, reverse=True, page_size=_PAGE
        ):
            said = lg.mark(event)
            if id is not None and said.get("id") == id:
                id = None
            if id is None and said and codec.unpack(said["metadata"], {}).get("source") == "input":
                since = event.sequence
                break
        events = [event async for event in session.events(after=since, effective=True, page_size=1000)]
    except NotFoundError:
        return []
    return of_others((event for event in events if not event.author.startswith("langgraph.")), None, others)
