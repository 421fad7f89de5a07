"""What threads do: waiting, calling, sending. The asynchronous client has its own of this module."""

from __future__ import annotations

import inspect
import os
import socket
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from typing import BinaryIO, Generic, Protocol, TypeVar

from .._http1 import (
    ConnectError,
    ConnectTimeout,
    Origin,
    PoolTimeout,
    ReadError,
    ReadTimeout,
    Times,
    WriteError,
    WriteTimeout,
    is_readable,
)


class _Closes(Protocol):
    def close(self) -> None: ...


T = TypeVar("T")
P = TypeVar("P", bound=_Closes)

sleep = time.sleep


class Pools(Generic[P]):
    """A connection pool that all threads share, and another one after a fork: connections belong to a process."""

    def __init__(self, open: Callable[[], P]) -> None:
        """Takes what makes a pool."""
        self._open = open
        self._lock = threading.Lock()
        self._pools: dict[int, P] = {}

    def get(self) -> P:
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


class Slots:
    """So many at a time; all others wait for their turn."""

    def __init__(self, count: int) -> None:
        """Takes how many."""
        self._free = threading.Semaphore(count)

    def take(self, times: Times) -> None:
        """Waits for a turn. Raises `PoolTimeout`."""
        if not self._free.acquire(blocking=False) and not self._free.acquire(timeout=times.left()):
            raise PoolTimeout

    def give(self) -> None:
        """Ends a turn."""
        self._free.release()


class Wire:
    """A connection."""

    def __init__(self, connected: socket.socket) -> None:
        """Takes one that is there; see `open`."""
        self._socket = connected

    @classmethod
    def open(cls, origin: Origin, times: Times) -> Wire:
        """Opens a connection. Raises `ConnectError` or `ConnectTimeout`."""
        try:
            connected = socket.create_connection((origin.name, origin.port), times.left(times.connect))
            try:
                connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                if origin.tls is not None:
                    connected = origin.tls.wrap_socket(connected, server_hostname=origin.name)
            except BaseException:
                connected.close()
                raise
        except TimeoutError as late:
            raise ConnectTimeout(str(late)) from late
        except (OSError, UnicodeError) as error:
            raise ConnectError(str(error)) from error
        return cls(connected)

    def send(self, data: bytes, times: Times) -> None:
        """Sends bytes. Raises `WriteError` or `WriteTimeout`."""
        rest = memoryview(data)
        try:
            # `sendall` would have one time for all.
            while rest:
                self._socket.settimeout(times.left())
                rest = rest[self._socket.send(rest) :]
        except TimeoutError as late:
            raise WriteTimeout(str(late)) from late
        except OSError as error:
            raise WriteError(str(error)) from error

    def receive(self, times: Times) -> bytes:
        """Returns bytes that came; none at the end of the connection. Raises `ReadError` or `ReadTimeout`."""
        try:
            self._socket.settimeout(times.left())
            return self._socket.recv(1 << 16)
        except TimeoutError as late:
            raise ReadTimeout(str(late)) from late
        except OSError as error:
            raise ReadError(str(error)) from error

    def is_stale(self) -> bool:
        """Whether it has ended, or something came that nobody asked for."""
        return is_readable(self._socket.fileno())

    def close(self) -> None:
        """Closes it."""
        self._socket.close()


def within(limit: float | None, done: T) -> T:
    """Returns what was done: here that looks at the time itself."""
    return done


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
