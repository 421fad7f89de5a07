"""What asyncio does: waiting, calling, sending. The synchronous client has its own of this module."""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import threading
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from concurrent.futures import Future
from contextlib import asynccontextmanager
from io import BytesIO
from typing import Any, BinaryIO, Generic, Protocol, TypeVar, cast

from .._http1 import (
    ConnectError,
    ConnectTimeout,
    Origin,
    PoolTimeout,
    ReadError,
    ReadTimeout,
    Times,
    TransportError,
    WriteError,
    WriteTimeout,
    is_readable,
)


class _Closes(Protocol):
    async def close(self) -> None: ...


T = TypeVar("T")
P = TypeVar("P", bound=_Closes)

sleep = asyncio.sleep


class Pools(Generic[P]):
    """A connection pool for each event loop, since connections belong to the loop that opened them."""

    def __init__(self, open: Callable[[], P]) -> None:
        """Takes what makes a pool."""
        self._open = open
        self._pools: dict[asyncio.AbstractEventLoop, P] = {}

    def get(self) -> P:
        """Returns that of the running event loop."""
        loop = asyncio.get_running_loop()
        pool = self._pools.get(loop)
        if pool is None:
            self._forget_ended_loops()
            pool = self._pools[loop] = self._open()
        return pool

    async def close(self) -> None:
        """Closes that of the running event loop, and forgets those of loops that ended."""
        self._forget_ended_loops()
        pool = self._pools.pop(asyncio.get_running_loop(), None)
        if pool is not None:
            await pool.close()

    def _forget_ended_loops(self) -> None:
        for loop in list(self._pools):
            if loop.is_closed():
                self._pools.pop(loop, None)


class Slots:
    """So many at a time; all others wait for their turn."""

    def __init__(self, count: int) -> None:
        """Takes how many."""
        self._free = count
        self._waiting: deque[asyncio.Future[None]] = deque()

    async def take(self, times: Times) -> None:
        """Waits for a turn. Raises `PoolTimeout`."""
        if self._free:
            self._free -= 1
            return
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self._waiting.append(turn)
        try:
            await _until(turn, times, PoolTimeout)
        except asyncio.CancelledError:
            if turn.done() and not turn.cancelled() and turn.exception() is None:
                self.give()
            raise

    def give(self) -> None:
        """Ends a turn."""
        while self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                return
        self._free += 1


# Bytes that are read before somebody asks for them.
_AHEAD = 1 << 20


class Wire(asyncio.Protocol):
    """A connection."""

    def __init__(self) -> None:
        """Is not connected yet; see `open`."""
        self._transport: asyncio.Transport | None = None
        self._received: list[bytes] = []
        self._size = 0
        self._ended = False
        self._error: Exception | None = None
        self._is_full = False
        # Of who reads, or waits until more can be written: there is one at a time.
        self._waiting: asyncio.Future[None] | None = None

    @classmethod
    async def open(cls, origin: Origin, times: Times) -> Wire:
        """Opens a connection. Raises `ConnectError` or `ConnectTimeout`."""
        loop = asyncio.get_running_loop()
        wire = cls()
        options: dict[str, Any] = {"ssl": origin.tls, "server_hostname": origin.name} if origin.tls else {}
        if isinstance(loop, asyncio.BaseEventLoop):
            # If one address of several leads nowhere; other event loops do not know how.
            options["happy_eyeballs_delay"] = 0.25
        connecting = loop.create_connection(lambda: wire, origin.name, origin.port, **options)
        try:
            await within(times.left(times.connect), connecting)
        except TimeoutError as late:
            wire.close()
            raise ConnectTimeout from late
        except (OSError, UnicodeError) as error:
            wire.close()
            raise ConnectError(str(error)) from error
        except BaseException:
            wire.close()
            raise
        return wire

    async def send(self, data: bytes, times: Times) -> None:
        """Sends bytes, or leaves them to be sent while not many others are. Raises `WriteError` or `WriteTimeout`."""
        if self._ended or self._transport is None:
            raise WriteError(str(self._error or "")) from self._error
        self._transport.write(data)
        while self._is_full and not self._ended:
            await self._wait(times, WriteTimeout)

    async def receive(self, times: Times) -> bytes:
        """Returns bytes that came; none at the end of the connection. Raises `ReadError` or `ReadTimeout`."""
        # However fast they come.
        times.left()
        while not self._received:
            if self._error is not None:
                raise ReadError(str(self._error)) from self._error
            if self._ended:
                return b""
            await self._wait(times, ReadTimeout)
        data = self._received[0] if len(self._received) == 1 else b"".join(self._received)
        self._received.clear()
        if self._size > _AHEAD and self._transport is not None:
            self._transport.resume_reading()
        self._size = 0
        return data

    def is_stale(self) -> bool:
        """Whether it has ended, or something came that nobody asked for."""
        if self._ended or self._received or self._transport is None or self._transport.is_closing():
            return True
        return is_readable(self._transport.get_extra_info("socket").fileno())

    def close(self) -> None:
        """Closes it."""
        if self._transport is not None:
            self._transport.abort()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Is told of the connection."""
        self._transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        """Takes bytes; not many more than somebody asks for."""
        self._received.append(data)
        self._size += len(data)
        if self._size > _AHEAD and self._transport is not None:
            self._transport.pause_reading()
        self._wake()

    def eof_received(self) -> None:
        """Is told that no more will come."""
        self._ended = True
        self._wake()

    def connection_lost(self, error: Exception | None) -> None:
        """Is told that the connection has ended, and why."""
        # A transport that has ended can no longer be closed.
        self._ended, self._error, self._transport = True, error, None
        self._wake()

    def pause_writing(self) -> None:
        """Is told that much is still to be sent."""
        self._is_full = True

    def resume_writing(self) -> None:
        """Is told that it has been sent."""
        self._is_full = False
        self._wake()

    def _wake(self) -> None:
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(None)

    async def _wait(self, times: Times, late: type[TransportError]) -> None:
        self._waiting = asyncio.get_running_loop().create_future()
        try:
            await _until(self._waiting, times, late)
        finally:
            self._waiting = None


async def _until(future: asyncio.Future[None], times: Times, late: type[TransportError]) -> None:
    """Waits for a future, whose end is this error if no time is left."""

    def give_up() -> None:
        if not future.done():
            future.set_exception(late())

    left = times.left()
    timer = None if left is None else future.get_loop().call_later(left, give_up)
    try:
        await future
    finally:
        if timer is not None:
            timer.cancel()


async def within(limit: float | None, doing: Coroutine[Any, Any, T]) -> T:
    """Does what may take so many seconds. Raises TimeoutError, after what was done has been cancelled."""
    task = asyncio.ensure_future(doing)
    try:
        await asyncio.wait({task}, timeout=limit)
    finally:
        is_late = not task.done()
        if is_late:
            # It closes what it has opened.
            task.cancel()
            await asyncio.wait({task})
    if is_late and task.cancelled():
        raise TimeoutError
    return task.result()


async def read_piece(file: BinaryIO, size: int) -> bytes:
    """Reads from a file, in a thread if it is one on a disk."""
    if isinstance(file, BytesIO):
        return file.read(size)
    return await asyncio.to_thread(file.read, size)


async def result(future: Future[T]) -> T:
    """Waits for what another event loop or thread does."""
    return await asyncio.wrap_future(future)


async def call(callback: Callable[[], str | Awaitable[str]]) -> str:
    """Calls a callback in a thread, for it may block, and awaits what it returns in this event loop.

    The thread is its own: those of a pool might all be waiting for the token.
    """
    returned = Future[str | Awaitable[str] | BaseException]()
    returned.set_running_or_notify_cancel()

    def run() -> None:
        try:
            returned.set_result(callback())
        except BaseException as error:
            returned.set_result(error)

    context = contextvars.copy_context()
    threading.Thread(target=context.run, args=(run,), name="sessiond-token", daemon=True).start()
    said = await result(returned)
    if isinstance(said, BaseException):
        raise said
    return await said if inspect.isawaitable(said) else said


@asynccontextmanager
async def repeating(do: Callable[[], Awaitable[bool]], every: float) -> AsyncIterator[None]:
    """Does something every so many seconds, beside the block, until it returns False."""

    async def repeat() -> None:
        while True:
            await asyncio.sleep(every)
            if not await do():
                return

    task = asyncio.create_task(repeat())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
