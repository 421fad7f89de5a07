"""The credential that requests show, asked for again when it is refused."""

from __future__ import annotations

import asyncio
import contextvars
import inspect
import re
import threading
from collections.abc import AsyncGenerator, Awaitable, Callable
from concurrent.futures import Future

import httpx

from ._http import SessiondAccessError

# What RFC 6750, section 2.1, lets a token consist of. Everything else would end as an error of the HTTP library, which
# shows the header.
_TOKEN = re.compile(r"[A-Za-z0-9._~+/-]+=*")


class Bearer(httpx.Auth):
    """`Authorization: Bearer TOKEN`, with a fixed token or those of a callback.

    A callback is asked when the first request needs a token, and when the server refuses the one that it gave (401):
    once for all requests that wait, of whatever event loop and thread. Each of them is then sent once more. If the
    callback fails, so do they; the next request asks it again.
    """

    def __init__(self, token: str | Callable[[], str | Awaitable[str]]) -> None:
        """Asks for no token yet. Raises `ValueError`, without the token, if a fixed one cannot be sent."""
        self._callback = None if isinstance(token, str) else token
        self._lock = threading.Lock()  # Held for no longer than it takes to look at, or to set, what follows.
        self._token = _checked(token) if isinstance(token, str) else ""
        # How many tokens there were: the callback may give the same one twice.
        self._version = 1 if isinstance(token, str) else 0
        # Done when the callback was asked: with its failure, if it failed.
        self._asking: Future[Exception | None] | None = None

    async def async_auth_flow(self, request: httpx.Request) -> AsyncGenerator[httpx.Request, httpx.Response]:
        """Sends a request with the token, and once more if that is refused and there can be another."""
        version, token = await self._later_than(0)
        request.headers["Authorization"] = f"Bearer {token}"
        response = yield request
        if response.status_code == 401 and self._callback is not None:
            _, token = await self._later_than(version)
            request.headers["Authorization"] = f"Bearer {token}"
            yield request

    async def _later_than(self, version: int) -> tuple[int, str]:
        """Returns the token and its version, after the callback was asked if there is none later than `version`."""
        while True:
            with self._lock:
                if self._version > version:
                    return self._version, self._token
                asking = self._asking
                if asking is None:
                    mine = self._asking = Future[Exception | None]()
                    # So that none who waits can cancel it for the others.
                    mine.set_running_or_notify_cancel()
            failure = await (self._ask(mine) if asking is None else asyncio.wrap_future(asking))
            if failure is not None:
                raise SessiondAccessError(f"The callback for the token failed: {type(failure).__name__}.") from failure

    async def _ask(self, asking: Future[Exception | None]) -> Exception | None:
        """Asks the callback, for all who wait; returns its failure.

        If the request that asks is cancelled, one of those that wait asks anew.
        """
        assert self._callback is not None
        token, failure = None, None
        try:
            token = _checked(await _call(self._callback))
        except Exception as error:
            failure = error
        finally:
            with self._lock:
                if token is not None:
                    self._token = token
                    self._version += 1
                self._asking = None
            asking.set_result(failure)
        return failure


async def _call(callback: Callable[[], str | Awaitable[str]]) -> str:
    """Calls a callback in a thread, for it may block, and awaits what it returns in this event loop.

    The thread is its own: those of a pool might all be waiting for the token.
    """
    returned = Future[str | Awaitable[str] | BaseException]()
    returned.set_running_or_notify_cancel()

    def call() -> None:
        try:
            returned.set_result(callback())
        except BaseException as error:
            returned.set_result(error)

    run = contextvars.copy_context().run
    threading.Thread(target=run, args=(call,), name="sessiond-token", daemon=True).start()
    result = await asyncio.wrap_future(returned)
    if isinstance(result, BaseException):
        raise result
    return await result if inspect.isawaitable(result) else result


def _checked(token: str) -> str:
    """Returns the token without white space around it, which a file may have."""
    if not isinstance(token, str):
        raise TypeError("The token is not a string.")
    token = token.strip()
    if not _TOKEN.fullmatch(token):
        raise ValueError("The token is empty, or has characters that no token has.")
    return token
