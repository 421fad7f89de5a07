"""The credential that requests show, asked for again when it is refused."""

from __future__ import annotations

import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import Future

from .._errors import AccessError, Kinds
from .._token import checked
from . import io


class AsyncBearer:
    """`Authorization: Bearer TOKEN`, with a fixed token or those of a callback.

    A callback is asked when the first request needs a token, and when the server refuses the one that it gave (401):
    once for all requests that wait, of whatever event loop and thread. Each of them is then sent once more. If the
    callback fails, so do they; the next request asks it again.
    """

    def __init__(self, token: str | Callable[[], str | Awaitable[str]], kinds: Kinds) -> None:
        """Asks for no token yet. Raises `ValueError`, without the token, if a fixed one cannot be sent."""
        self._callback = None if isinstance(token, str) else token
        self._error = kinds.get(AccessError, AccessError)
        self._lock = threading.Lock()  # Held for no longer than it takes to look at, or to set, what follows.
        self._token = checked(token) if isinstance(token, str) else ""
        # How many tokens there were: the callback may give the same one twice.
        self._version = 1 if isinstance(token, str) else 0
        # Done when the callback was asked: with its failure, if it failed.
        self._asking: Future[Exception | None] | None = None

    @property
    def is_asked(self) -> bool:
        """Whether there can be another token after one that was refused."""
        return self._callback is not None

    def known_later_than(self, version: int) -> tuple[int, str] | None:
        """Returns the token and its version; None if there is none later than `version` yet."""
        with self._lock:
            return (self._version, self._token) if self._version > version else None

    async def later_than(self, version: int) -> tuple[int, str]:
        """Returns the token and its version, after the callback was asked if there is none later than `version`.

        Raises `AccessError` if the callback failed.
        """
        while True:
            with self._lock:
                if self._version > version:
                    return self._version, self._token
                asking = self._asking
                if asking is None:
                    mine = self._asking = Future[Exception | None]()
                    # So that none who waits can cancel it for the others.
                    mine.set_running_or_notify_cancel()
            failure = await (self._ask(mine) if asking is None else io.result(asking))
            if failure is not None:
                raise self._error(f"The callback for the token failed: {type(failure).__name__}.") from failure

    async def _ask(self, asking: Future[Exception | None]) -> Exception | None:
        """Asks the callback, for all who wait; returns its failure.

        If the request that asks is cancelled, one of those that wait asks anew.
        """
        assert self._callback is not None
        token, failure = None, None
        try:
            token = checked(await io.call(self._callback))
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
