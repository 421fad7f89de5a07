"""A network that loses answers after they were given, and counts; processes that share a session."""

import json
import os
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from sessiond._async.pool import AsyncPool
from sessiond._http1 import ReadError, Request, Times
from sessiond._reply import Answer
from sessiond._sync.pool import Pool


class Wire:
    """Counts the requests of this process and their bytes, and loses this part of the answers."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.loss = 0.0
        self.requests = self.bytes = self.received = 0
        self._chance = random.Random(7)
        exchange, exchange_async = Pool.exchange, AsyncPool.exchange

        def passed(pool: Pool, request: Request, times: Times) -> Answer:
            return self._passed(request, exchange(pool, request, times))

        async def passed_async(pool: AsyncPool, request: Request, times: Times) -> Answer:
            return self._passed(request, await exchange_async(pool, request, times))

        monkeypatch.setattr(Pool, "exchange", passed)
        monkeypatch.setattr(AsyncPool, "exchange", passed_async)

    def begin(self) -> None:
        """Counts from here on."""
        self.requests = self.bytes = self.received = 0

    @property
    def spent(self) -> tuple[int, int]:
        """How many requests there were since it began to count, which it does anew, and the bytes of their answers."""
        spent = self.requests, self.received
        self.begin()
        return spent

    def _passed(self, request: Request, answer: Answer) -> Answer:
        self.requests += 1
        self.received += len(answer.content)
        self.bytes += int(request.headers.get("Content-Length", 0)) + len(answer.content)
        if self._chance.random() < self.loss:
            raise ReadError("lost")
        return answer


def forked(folder: Path, work: Callable[[int], Any], processes: int = 4) -> list[Any]:
    """Runs this in so many processes; returns what each says, or its exit code if it says nothing."""
    children = []
    for number in range(processes):
        if child := os.fork():
            children.append(child)
            continue
        code = 1
        try:
            Path(folder, f"said-{number}").write_text(json.dumps(work(number)), encoding="utf-8")
            code = 0
        finally:
            os._exit(code)
    said: list[Any] = []
    for number, child in enumerate(children):
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        path = Path(folder, f"said-{number}")
        said.append(json.loads(path.read_text(encoding="utf-8")) if code == 0 else code)
    return said
