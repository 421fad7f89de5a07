"""One turn at a time: the lease of a session, taken for an invocation and released at its end."""

from __future__ import annotations

import asyncio
import logging
import os
import random
import socket
import time
import uuid
import weakref
from collections.abc import Callable
from typing import Any

from google.adk.errors import StaleSessionError
from google.adk.errors.session_not_found_error import SessionNotFoundError
from google.adk.sessions.session import Session

from ._http import Client, Reply, SessionBusyError, SessiondError

logger = logging.getLogger("sessiond_adk")

# Seconds for which one request waits for the lease, so that a wait survives what closes idle connections.
_ONE_WAIT = 30

# Seconds until the next attempt, if the server ended a wait early.
_PAUSE = 0.2, 0.5

_owner: tuple[int, str] = (0, "")


def owner() -> str:
    """Returns what names this process among those that take leases; another one after a fork."""
    global _owner
    if _owner[0] != os.getpid():
        _owner = os.getpid(), f"{socket.gethostname()[:64]}/{os.getpid()}/{uuid.uuid4().hex[:12]}"
    return _owner[1]


class _Turn:
    """An invocation that runs on a session object."""

    def __init__(self, session: Session, path: str, invocation_id: str) -> None:
        self.session: weakref.ref[Session] = weakref.ref(session)
        self.name = id(session)
        self.path = path
        self.invocation_id = invocation_id
        self.loop = asyncio.get_running_loop()
        self.task = asyncio.current_task()
        # Of its lease.
        self.revision = 0
        self.epoch = 0
        self.incarnation = ""
        self.expire_time = 0.0
        self.released = False
        self.superseded: Reply | None = None
        # Takes the callback from the task.
        self.forget: Callable[[], object] = lambda: None

    def ended(self) -> bool:
        """Whether nobody goes on with it.

        ADK does not tell a session service when an invocation ends. Its last event does not, either: of several agents
        in a row, each has a final response. But a runner loads a session object for each invocation, and lets it go at
        the end; if something else keeps the object, the task that ran the invocation ends with it, or begins another.
        """
        return (
            self.session() is None
            or self.loop.is_closed()
            or (self.task is not None and (self.task.done() or self.task is asyncio.current_task()))
        )


class Leases:
    """The leases of a service's turns. Safe to use from several event loops and threads."""

    def __init__(self, http: Client, *, wait: float, ttl: float) -> None:
        """Takes the seconds to wait for a turn of others, and those after which a silent turn may be superseded."""
        self._http = http
        self._wait = wait
        self._ttl = ttl
        # By the id of their session object.
        self._turns: dict[int, _Turn] = {}
        self._releases: set[asyncio.Task[None]] = set()

    async def take(self, session: Session, path: str, invocation_id: str) -> int:
        """Takes the lease of the session at `path`, unless this turn has it.

        Returns:
          The revision of the session when this turn got the lease.

        Raises:
          SessionBusyError: Another turn holds it, also after the wait.
          SessionNotFoundError: There is no such session.
        """
        before = self._turns.get(id(session))
        if before and before.session() is session and before.invocation_id == invocation_id:
            return before.revision
        for other in list(self._turns.values()):
            if other is before or (other.path == path and other.ended()):
                await self._end(other)
            elif other.loop.is_closed() and not (other.released and other.session()):
                self._start(asyncio.get_running_loop(), other)
        turn = _Turn(session, path, invocation_id)
        granted = await self._granted(turn, session.id)
        turn.epoch, turn.incarnation = granted["epoch"], granted["incarnation"]
        turn.expire_time, turn.revision = granted["expireTime"], granted["revision"]
        self._turns[turn.name] = turn
        self._end_with(turn, session)
        return turn.revision

    def headers(self, session: Session) -> dict[str, str]:
        """Returns what the writes of this turn carry. Raises `StaleSessionError` if it has been superseded."""
        turn = self._turns.get(id(session))
        if turn is None or turn.session() is not session:
            return {}
        if turn.superseded:
            raise self._stale(turn, turn.superseded)
        return {"Sessiond-Lease": f"{turn.epoch}-{turn.incarnation}"}

    def fenced(self, session: Session, reply: Reply) -> StaleSessionError:
        """Notes that the turn was superseded, and returns what it is told, now and at each further write."""
        turn = self._turns[id(session)]
        turn.superseded = reply
        return self._stale(turn, reply)

    async def release(self) -> None:
        """Releases the leases of the running event loop, and of loops that ended.

        A turn that goes on may do so until another one takes the lease: then it is superseded.
        """
        running = asyncio.get_running_loop()
        # First what is under way, so that it does not go on while connections are closed.
        await asyncio.gather(*(task for task in list(self._releases) if task.get_loop() is running))
        for turn in list(self._turns.values()):
            if turn.loop is running or turn.loop.is_closed():
                await self._release(turn)

    async def _granted(self, turn: _Turn, session_id: str) -> dict[str, Any]:
        asked = {"owner": owner(), "invocationId": turn.invocation_id, "ttl": self._ttl}
        deadline = time.monotonic() + self._wait
        wait = 0
        while True:
            rival = self._rival(turn)
            if rival:
                holder, expires = owner(), rival.expire_time
            else:
                reply = await self._http.send(
                    "POST",
                    f"{turn.path}/lease",
                    body=asked,
                    params={"wait": str(wait)} if wait else None,
                    patience=wait,
                )
                if reply.code == "session_not_found":
                    raise SessionNotFoundError(f"Session {session_id} not found.") from reply.error
                if reply.code != "lease_held":
                    granted: dict[str, Any] = reply.success()
                    return granted
                holder, expires = reply.body.get("owner"), reply.body.get("expireTime")
            left = deadline - time.monotonic()
            if left <= 0:
                raise SessionBusyError(holder, expires)
            if rival or wait:
                await asyncio.sleep(min(left, random.uniform(*_PAUSE)))
            wait = max(1, min(_ONE_WAIT, int(left)))

    def _rival(self, turn: _Turn) -> _Turn | None:
        """Returns another turn of this process that runs the same invocation: to the server, they would be one."""
        same = (turn.path, turn.invocation_id)
        others = (other for other in list(self._turns.values()) if (other.path, other.invocation_id) == same)
        return next((other for other in others if not other.ended()), None)

    def _end_with(self, turn: _Turn, session: Session) -> None:
        """Sees to it that the lease is released when the session object is gone, or the running task has ended."""

        def ended(_: object) -> None:
            try:
                turn.loop.call_soon_threadsafe(self._start, turn.loop, turn)
            except RuntimeError:
                # The loop is closed. The next turn of this process releases the lease, or it expires.
                pass

        turn.session = weakref.ref(session, ended)
        if turn.task:
            turn.task.add_done_callback(ended)
            # A task may run many turns.
            turn.forget = lambda: turn.task and turn.task.remove_done_callback(ended)

    def _start(self, loop: asyncio.AbstractEventLoop, turn: _Turn) -> None:
        if self._turns.get(turn.name) is turn:
            release = loop.create_task(self._end(turn))
            self._releases.add(release)
            release.add_done_callback(self._releases.discard)

    async def _end(self, turn: _Turn) -> None:
        await self._release(turn)
        turn.forget()
        # While there is the session object, someone may go on with it all the same: then without the lease, and only
        # until another turn takes it. To take it again might be to write into that one.
        if turn.session() is None and self._turns.get(turn.name) is turn:
            del self._turns[turn.name]

    async def _release(self, turn: _Turn) -> None:
        if turn.released or turn.superseded:
            return
        params = {"epoch": str(turn.epoch), "incarnation": turn.incarnation}
        try:
            reply = await self._http.send("DELETE", f"{turn.path}/lease", params=params)
            if reply.code != "session_not_found":
                reply.success()
        except SessiondError as error:
            # It expires.
            logger.warning("The lease of a turn was not released: %s", error)
        turn.released = True

    def _stale(self, turn: _Turn, reply: Reply) -> StaleSessionError:
        error = StaleSessionError(
            f"The invocation {turn.invocation_id} was superseded: another turn has taken the lease of its session. "
            "Load the session again."
        )
        error.__cause__ = reply.error
        return error
