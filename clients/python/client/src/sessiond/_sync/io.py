"""What threads do: waiting, calling, sending. The asynchronous client has its own of this module."""

from __future__ import annotations

import inspect
import os
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Any, BinaryIO, TypeVar

import httpx

from .._reply import Answer, held, unpacked

T = TypeVar("T")

sleep = time.sleep


class Pools:
    """A connection pool that all threads share, and another one after a fork: connections belong to a process."""

    def __init__(self, open: Callable[[], httpx.Client]) -> None:
        """Takes what makes a pool."""
        self._open = open
        self._lock = threading.Lock()
        self._pools: dict[int, httpx.Client] = {}

    def get(self) -> httpx.Client:
        """Returns that of this process."""
        pool = self._pools.get(os.getpid())
        if pool is None:
            with self._lock:
                pool = self._pools.get(os.getpid())
                if pool is None:
                    pool = self._pools[os.getpid()] = self._open()
        return pool

    def close(self) -> None:
        """Closes it."""
        pool = self._pools.pop(os.getpid(), None)
        if pool is not None:
            pool.close()


def exchange(client: httpx.Client, limit: float, method: str, url: str, **request: Any) -> Answer:
    """Sends a request once. Raises TimeoutError if the answer has not ended within `limit` seconds.

    That is looked at when bytes come, and none may be missing for `limit` seconds: so it takes at most twice the time.
    """
    ends = time.monotonic() + limit
    timeout: httpx.Timeout = request.pop("timeout")
    if timeout.read is None:
        timeout = httpx.Timeout(limit, connect=timeout.connect)
    content = bytearray()
    try:
        with client.stream(method, url, timeout=timeout, **request) as response:
            unpacked(response.headers)
            for piece in response.iter_bytes():
                content += piece
                held(len(content))
                if time.monotonic() > ends:
                    raise TimeoutError
    except (httpx.ReadTimeout, httpx.WriteTimeout) as late:
        if limit < float("inf"):
            raise TimeoutError from late
        raise
    return Answer(response.status_code, response.headers, bytes(content))


def read_piece(file: BinaryIO, size: int) -> bytes:
    """Reads from a file."""
    return file.read(size)


def result(future: Future[T]) -> T:
    """Waits for what another thread does."""
    return future.result()


def call(callback: Callable[[], str]) -> str:
    """Calls a callback."""
    said = callback()
    if inspect.iscoroutine(said):
        said.close()
        raise TypeError("An async function gives tokens to an AsyncClient alone.")
    return said


@contextmanager
def repeating(do: Callable[[], bool], every: float) -> Iterator[None]:
    """Does something every so many seconds, beside the block, until it returns False."""
    ended = threading.Event()

    def repeat() -> None:
        while not ended.wait(every) and do():
            pass

    thread = threading.Thread(target=repeat, name="sessiond-lease", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
