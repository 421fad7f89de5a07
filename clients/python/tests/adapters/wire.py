"""A network that loses answers after they were given, and counts; processes that share a session."""

import json
import os
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import httpx

from sessiond import AsyncClient, Client

C = TypeVar("C", AsyncClient, Client)


class Wire:
    """Counts requests and their bytes, both ways, and loses this part of the answers."""

    def __init__(self, chance: random.Random) -> None:
        self.loss = 0.0
        self.requests = 0
        self.bytes = 0
        self._chance = chance

    def begin(self) -> None:
        """Counts from here on."""
        self.requests = self.bytes = 0

    def passed(self, request: httpx.Request, response: httpx.Response) -> None:
        self.requests += 1
        self.bytes += int(request.headers.get("Content-Length", 0)) + len(response.content)
        if self._chance.random() < self.loss:
            raise httpx.ReadError("lost")


class _Async(httpx.AsyncHTTPTransport):
    def __init__(self, wire: Wire) -> None:
        super().__init__()
        self._wire = wire

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        response = await super().handle_async_request(request)
        await response.aread()
        self._wire.passed(request, response)
        return response


class _Sync(httpx.HTTPTransport):
    def __init__(self, wire: Wire) -> None:
        super().__init__()
        self._wire = wire

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        response = super().handle_request(request)
        response.read()
        self._wire.passed(request, response)
        return response


def wired(client: C, wire: Wire) -> C:
    """Returns the client, which sends by this wire from now on."""
    http: Any = client._http
    if isinstance(client, AsyncClient):
        http._open = lambda timeout, limits: httpx.AsyncClient(timeout=timeout, transport=_Async(wire))
    else:
        http._open = lambda timeout, limits: httpx.Client(timeout=timeout, transport=_Sync(wire))
    return client


def forked(folder: Path, work: Callable[[int], Any], processes: int = 4) -> list[Any]:
    """Runs this in so many processes; returns what each says, or its exit code if it says nothing."""
    children = []
    for number in range(processes):
        if child := os.fork():
            children.append(child)
            continue
        code = 1
        try:
            said = json.dumps(work(number))
            Path(folder, f"said-{number}").write_text(said, encoding="utf-8")
            code = 0
        finally:
            os._exit(code)
    said = []
    for number, child in enumerate(children):
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        path = Path(folder, f"said-{number}")
        said.append(json.loads(path.read_text(encoding="utf-8")) if code == 0 else code)
    return said
