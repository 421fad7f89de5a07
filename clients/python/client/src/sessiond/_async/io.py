"""What asyncio does: waiting, calling, sending. The synchronous client has its own of this module."""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from concurrent.futures import Future
from contextlib import asynccontextmanager
from io import BytesIO
from typing import Any, BinaryIO, TypeVar

import anyio
import httpx

from .._reply import Answer, held, unpacked

T = TypeVar("T")

sleep = asyncio.sleep


class Pools:
    """A connection pool for each event loop, since connections belong to the loop that opened them."""

    def __init__(self, open: Callable[[], httpx.AsyncClient]) -> None:
        """Takes what makes a pool."""
        self._open = open
        self._pools: dict[asyncio.AbstractEventLoop, httpx.AsyncClient] = {}

    def get(self) -> httpx.AsyncClient:
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
            await pool.aclose()

    def _forget_ended_loops(self) -> None:
        for loop in list(self._pools):
            if loop.is_closed():
                self._pools.pop(loop, None)


async def exchange(client: httpx.AsyncClient, limit: float, method: str, url: str, **request: Any) -> Answer:
    """Sends a request once. Raises TimeoutError if the whole answer is not there within `limit` seconds."""
    content = bytearray()
    with anyio.fail_after(limit):
        async with client.stream(method, url, **request) as response:
            unpacked(response.headers)
            async for piece in response.aiter_bytes():
                content += piece
                held(len(content))
    return Answer(response.status_code, response.headers, bytes(content))


async def read_piece(file: BinaryIO, size: int) -> bytes:
    """Reads from a file, in a thread if it is one on a disk."""
    if isinstance(file, BytesIO):
        return file.read(size)
    return await anyio.to_thread.run_sync(file.read, size)


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
