"""A network that loses answers after they were given, and counts; processes that share a session."""

import json
import os
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from sessiond import AsyncClient, Client
from sessiond._async.pool import AsyncPool
from sessiond._http1 import Origin, ReadError, Request, Times
from sessiond._reply import Answer
from sessiond._sync.pool import Pool

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

    def passed(self, request: Request, answer: Answer) -> Answer:
        self.requests += 1
        self.bytes += int(request.headers.get("Content-Length", 0)) + len(answer.content)
        if self._chance.random() < self.loss:
            raise ReadError("lost")
        return answer


class _Async(AsyncPool):
    def __init__(self, origin: Origin, wire: Wire) -> None:
        super().__init__(origin)
        self._wire = wire

    async def exchange(self, request: Request, times: Times) -> Answer:
        return self._wire.passed(request, await super().exchange(request, times))


class _Sync(Pool):
    def __init__(self, origin: Origin, wire: Wire) -> None:
        super().__init__(origin)
        self._wire = wire

    def exchange(self, request: Request, times: Times) -> Answer:
        return self._wire.passed(request, super().exchange(request, times))


def wired(client: C, wire: Wire) -> C:
    """Returns the client, which sends by this wire from now on."""
    http: Any = client._http
    kind: Any = _Async if isinstance(client, AsyncClient) else _Sync
    http._open = http._pools._open = lambda: kind(http._origin, wire)
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
