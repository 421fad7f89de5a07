"""Requests through a proxy that the environment names, which httpx knows how to ask."""

from __future__ import annotations

import math
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx

from .. import _http1
from .._http1 import Headers, Origin, Request, Times
from .._reply import Answer
from . import io
from .pool import KEPT, KEPT_FOR, MOST, AsyncIncoming, AsyncPool

_KINDS = {
    kind.__name__: kind
    for kind in (
        _http1.ConnectError,
        _http1.ConnectTimeout,
        _http1.PoolTimeout,
        _http1.ReadError,
        _http1.ReadTimeout,
        _http1.WriteError,
        _http1.WriteTimeout,
        _http1.RemoteProtocolError,
    )
}


class _Incoming(AsyncIncoming):
    def __init__(self, response: httpx.Response, times: Times) -> None:
        self._response = response
        self._headers = Headers(response.headers)
        self._raw = response.aiter_raw()
        self._times = times

    @property
    def status(self) -> int:
        return self._response.status_code

    @property
    def headers(self) -> Headers:
        return self._headers

    async def piece(self) -> bytes:
        self._times.left()
        return await anext(self._raw, b"")


class AsyncProxied(AsyncPool):
    """A pool whose requests go through the proxy. It raises what a pool raises."""

    def __init__(self, origin: Origin) -> None:
        """Opens no connection yet."""
        super().__init__(origin)
        limits = httpx.Limits(max_connections=MOST, max_keepalive_connections=KEPT, keepalive_expiry=KEPT_FOR)
        self._client = httpx.AsyncClient(verify=origin.tls or False, limits=limits)

    async def exchange(self, request: Request, times: Times) -> Answer:
        """Sends a request once, and returns the whole answer."""
        return await io.within(times.left(math.inf), super().exchange(request, times))

    @asynccontextmanager
    async def stream(self, request: Request, times: Times) -> AsyncIterator[AsyncIncoming]:
        """Sends a request once, and gives the answer when its head has come."""
        sent: dict[str, Any] = {"headers": request.headers, "content": request.content}
        timeout = httpx.Timeout(times.left(), connect=times.left(times.connect))
        try:
            async with self._client.stream(
                request.method, self._origin.url + request.target, timeout=timeout, **sent
            ) as response:
                yield _Incoming(response, times)
        except httpx.TransportError as error:
            raise _KINDS.get(type(error).__name__, _http1.TransportError)(str(error)) from error

    async def close(self) -> None:
        """Closes the connections."""
        await self._client.aclose()
