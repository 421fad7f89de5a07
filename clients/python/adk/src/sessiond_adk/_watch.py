"""Following a session: what a watch yields, and how it goes on after its connection broke."""

from __future__ import annotations

import asyncio
import json
import logging
import random
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from typing import Any

import httpx
from google.adk.errors.session_not_found_error import SessionNotFoundError
from google.adk.events.event import Event

from ._http import RETRIED, Client, PositionGoneError, Reply, SessiondError, not_reached, retry_after
from ._sse import Frame, Parser
from ._wire import event_from_wire

logger = logging.getLogger("sessiond_adk")

# Seconds without a byte after which a connection is taken for dead: three of the heartbeats (15 s) that sessiond sends.
_SILENCE = 45.0

# Seconds before the first attempt to come back, doubled for each further one up to the second number.
_FIRST_WAIT, _LONGEST_WAIT = 1.0, 30.0


@dataclass(frozen=True, kw_only=True)
class _Item:
    cursor: str
    """The place in the log: a watch with `after=cursor` goes on behind what was yielded so far."""


@dataclass(frozen=True, kw_only=True)
class EventItem(_Item):
    """An event of the session. Each comes once, in the order of the log."""

    event: Event
    """The event, as `get_session` would show it."""
    sequence: int
    """Its number in the log, from 1 on."""
    commit_time: float
    """When it was stored, in Unix seconds, by the server's clock."""


@dataclass(frozen=True, kw_only=True)
class CaughtUp(_Item):
    """All that was stored when the connection was made has been yielded; what follows is new.

    It comes again after each reconnect, and after a burst of more than a page.
    """

    revision: int
    """The number of the last event."""


@dataclass(frozen=True, kw_only=True)
class StateChange(_Item):
    """The merged state, just before `CaughtUp`, and then changes of app and user state; only with `include_state`.

    The state of the session itself changes with its events: their `actions.state_delta` is to be applied.
    """

    state: dict[str, Any] | None = None
    """The whole merged state, in place of what was known; None if this is a change."""
    set: dict[str, Any] = field(default_factory=dict)
    """What has changed, keys with their prefix."""
    removed: tuple[str, ...] = ()
    """The keys that are gone, with their prefix."""
    revisions: str
    """The revisions of session, user state and app state, and the session's incarnation, as in the ETag."""


@dataclass(frozen=True, kw_only=True)
class MetadataChange(_Item):
    """The metadata of the session: once before `CaughtUp`, then when it has changed."""

    display_name: str | None
    labels: dict[str, str]
    expire_time: float | None
    """When the session expires, in Unix seconds; None if never."""


@dataclass(frozen=True, kw_only=True)
class Deleted(_Item):
    """The session is gone, or was deleted and made anew. Nothing follows."""

    reason: str
    """`deleted` or `expired`; other words may come."""


WatchItem = EventItem | CaughtUp | StateChange | MetadataChange | Deleted


async def watch(
    http: Client, path: str, session_id: str, *, after: str | int | None, include_state: bool
) -> AsyncGenerator[WatchItem, None]:
    """Yields what happens to the session at `path`; see `SessiondSessionService.watch`."""
    cursor = "" if after is None else str(after)
    wait, asked, failures = _FIRST_WAIT, False, 0
    while True:
        parser = Parser(cursor)
        params = {**({"afterSequence": cursor} if cursor else {}), **({"include": "state"} if include_state else {})}
        ended, at_least, warn = "the stream ended", 0.0, False
        try:
            async with http.stream(
                path, params=params, headers={"Accept": "text/event-stream"}, silence=_SILENCE
            ) as response:
                if response.status_code != 200:
                    refusal = await http.read(response)
                    if refusal.status not in RETRIED:
                        raise _refused(refusal, session_id)
                    ended, at_least, warn = str(refusal.error), retry_after(refusal.headers), True
                elif response.headers.get("Content-Type", "").partition(";")[0].strip() != "text/event-stream":
                    raise SessiondError(f"The answer to a watch is not sessiond's. (GET {http.url(path)})", status=200)
                else:
                    async for chunk in response.aiter_bytes():
                        for frame in parser.feed(chunk):
                            if frame.name == "bye":
                                ended = f"sessiond ended the stream: {_object(frame).get('reason')}"
                            elif item := _item(frame, session_id):
                                cursor, failures = item.cursor, 0
                                yield item
                                if isinstance(item, Deleted):
                                    return
        except httpx.UnsupportedProtocol:
            raise
        except httpx.TransportError as error:
            ended, warn = not_reached(error), True
        if parser.retry is not None:
            wait, asked = parser.retry / 1000, True
        # The server has spread the time for which it asks.
        limit = min(wait * 2**failures, max(wait, _LONGEST_WAIT))
        pause = max(at_least, limit if asked and not failures else random.uniform(0.0, limit))
        failures = min(failures + 1, 8)
        level = logging.WARNING if warn else logging.INFO
        logger.log(level, "Watch of %s: coming back in %.1f s: %s", http.url(path), pause, ended)
        await asyncio.sleep(pause)


def _refused(refusal: Reply, session_id: str) -> Exception:
    """Returns what is raised for an answer that would be the same again."""
    error: Exception = refusal.error
    if refusal.code == "session_not_found":
        error = SessionNotFoundError(f"Session {session_id} not found.")
        error.__cause__ = refusal.error
    elif refusal.code == "position_gone":
        revision, base = (refusal.body.get(name) for name in ("revision", "baseRevision"))
        error = PositionGoneError(str(refusal.error), refusal.error, revision=revision, base_revision=base)
    return error


def _item(frame: Frame, session_id: str) -> WatchItem | None:
    """Returns what a frame says; None if it is of a kind that this version does not know."""
    if frame.name not in ("event", "caught_up", "state", "metadata", "deleted"):
        return None
    said, cursor = _object(frame), frame.id
    match frame.name:
        case "event":
            event = event_from_wire(said, session_id)
            return EventItem(cursor=cursor, event=event, sequence=said["sequence"], commit_time=said["commitTime"])
        case "caught_up":
            return CaughtUp(cursor=cursor, revision=said["revision"])
        case "state":
            return StateChange(
                cursor=cursor,
                state=said.get("state"),
                set=said.get("set") or {},
                removed=tuple(said.get("removed") or ()),
                revisions=said["revisions"],
            )
        case "metadata":
            return MetadataChange(
                cursor=cursor,
                display_name=said["displayName"],
                labels=said["labels"],
                expire_time=said["expireTime"],
            )
        case _:
            return Deleted(cursor=cursor, reason=said["reason"])


def _object(frame: Frame) -> dict[str, Any]:
    try:
        said = json.loads(frame.data)
    except ValueError:
        said = None
    if not isinstance(said, dict):
        raise SessiondError(f"The stream has a frame {frame.name} that is not sessiond's.")
    return said
