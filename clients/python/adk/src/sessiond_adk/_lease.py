"""One turn at a time: the lease of a session, taken for an invocation and released at its end."""

from __future__ import annotations

import asyncio
import logging
import random
import time
import weakref
from collections.abc import Callable

from google.adk.errors import StaleSessionError
from google.adk.sessions.session import Session

from sessiond import AsyncSession, AsyncTurn, SessiondError, StaleError
from sessiond._paths import process_name

from ._errors import busy, of_adk

logger = logging.getLogger("sessiond_adk")

# Seconds until it is looked again whether another turn of this process has ended.
_PAUSE = 0.2, 0.5


class _Turn:
    """An invocation that runs on a session object."""

    def __init__(self, session: Session, handle: AsyncSession, invocation_id: str) -> None:
        self.session: weakref.ref[Session] = weakref.ref(session)
        self.name = id(session)
        self.place = (handle.app, handle.user, handle.id)
        self.invocation_id = invocation_id
        self.loop = asyncio.get_running_loop()
        self.task = asyncio.current_task()
        # Its lease, from when it has one.
        self.lease: AsyncTurn | None = None
        self.released = False
        self.superseded: StaleError | None = None
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

    def __init__(self, *, wait: float, ttl: float) -> None:
        """Takes the seconds to wait for a turn of others, and those after which a silent turn may be superseded."""
        self._wait = wait
        self._ttl = ttl
        # By the id of their session object.
        self._turns: dict[int, _Turn] = {}
        self._releases: set[asyncio.Task[None]] = set()

    async def take(self, session: Session, handle: AsyncSession, invocation_id: str) -> int:
        """Takes the lease of the session, unless this turn has it.

        Returns:
          The revision of the session when this turn got the lease.

        Raises:
          SessionBusyError: Another turn holds it, also after the wait.
          SessionNotFoundError: There is no such session.
        """
        before = self._turns.get(id(session))
        if before and before.lease and before.session() is session and before.invocation_id == invocation_id:
            return before.lease.began
        turn = _Turn(session, handle, invocation_id)
        for other in list(self._turns.values()):
            if other is before or (other.place == turn.place and other.ended()):
                await self._end(other)
            elif other.loop.is_closed() and not (other.released and other.session()):
                self._start(asyncio.get_running_loop(), other)
        turn.lease = await self._granted(turn, handle)
        self._turns[turn.name] = turn
        self._end_with(turn, session)
        return turn.lease.began

    def handle(self, session: Session) -> AsyncSession | None:
        """Returns the handle of this turn, if it is one. Raises `StaleSessionError` if it has been superseded."""
        turn = self._turns.get(id(session))
        if turn is None or turn.session() is not session:
            return None
        if turn.superseded:
            raise self._stale(turn, turn.superseded)
        return turn.lease

    def fenced(self, session: Session, error: StaleError) -> StaleSessionError:
        """Notes that the turn was superseded, and returns what it is told, now and at each further write."""
        turn = self._turns[id(session)]
        turn.superseded = error
        return self._stale(turn, error)

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

    async def _granted(self, turn: _Turn, handle: AsyncSession) -> AsyncTurn:
        deadline = time.monotonic() + self._wait
        while rival := self._rival(turn):
            if (left := deadline - time.monotonic()) <= 0:
                raise busy(process_name(), rival.expire_time)
            await asyncio.sleep(min(left, random.uniform(*_PAUSE)))
        with of_adk(handle.id):
            wait = max(0.0, deadline - time.monotonic())
            return await handle.acquire(ttl=self._ttl, wait=wait, invocation_id=turn.invocation_id)

    def _rival(self, turn: _Turn) -> AsyncTurn | None:
        """Returns the lease of another turn of this process that runs the same invocation.

        To the server, both would be one.
        """
        same = (turn.place, turn.invocation_id)
        others = (other for other in list(self._turns.values()) if (other.place, other.invocation_id) == same)
        return next((other.lease for other in others if not other.ended()), None)

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
        if turn.lease is None or turn.released or turn.superseded:
            return
        try:
            await turn.lease.release()
        except SessiondError as error:
            # It expires.
            logger.warning("The lease of a turn was not released: %s", error)
        turn.released = True

    def _stale(self, turn: _Turn, cause: StaleError) -> StaleSessionError:
        error = StaleSessionError(
            f"The invocation {turn.invocation_id} was superseded: another turn has taken the lease of its session. "
            "Load the session again."
        )
        error.__cause__ = cause
        return error
