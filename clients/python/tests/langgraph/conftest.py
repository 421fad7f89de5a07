import uuid
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

from sessiond import AsyncSession, Event, _times
from sessiond._async.pool import AsyncPool
from sessiond._reply import Answer
from sessiond.langgraph import SessiondSaver

from ..support.process import Server


@pytest.fixture(autouse=True)
def no_long_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Requests are tried again soon."""
    monkeypatch.setattr(_times, "PAUSES", (0.0, 0.0, 0.0, 0.0))


@pytest.fixture
async def saver(server: Server, app: str) -> AsyncIterator[SessiondSaver]:
    with SessiondSaver(server.url, app=app) as saver:
        async with saver:
            yield saver


@pytest.fixture
def thread() -> str:
    return f"t {uuid.uuid4()}"


class Wire:
    """The asynchronous requests of this process."""

    def __init__(self) -> None:
        self.answers: list[Answer] = []
        self.lose: Callable[[], bool] = lambda: False
        """Whether the next answer gets lost, after the server has done what was asked."""

    @property
    def spent(self) -> tuple[int, int]:
        """How many requests there were since this was asked before, and of how many bytes their answers were."""
        spent = len(self.answers), sum(len(answer.content) for answer in self.answers)
        self.answers.clear()
        return spent


@pytest.fixture
def wire(monkeypatch: pytest.MonkeyPatch) -> Wire:
    wire, exchange = Wire(), AsyncPool.exchange

    async def exchanged(*args: Any) -> Answer:
        answer = await exchange(*args)
        wire.answers.append(answer)
        if wire.lose():
            raise TimeoutError
        return answer

    monkeypatch.setattr(AsyncPool, "exchange", exchanged)
    return wire


class Held:
    """Holds events back within its block, to send them many at a time."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._monkeypatch = monkeypatch
        self._events: list[Any] = []
        self._session: AsyncSession | None = None
        self._append = AsyncSession.append
        self._count = 0

    def __enter__(self) -> None:
        async def append(session: AsyncSession, event: Any, **_: Any) -> Event:
            self._session, self._count = session, self._count + 1
            self._events.append(event)
            return Event({**event, "sequence": self._count})

        self._monkeypatch.setattr(AsyncSession, "append", append)

    def __exit__(self, *_: object) -> None:
        self._monkeypatch.setattr(AsyncSession, "append", self._append)

    async def send(self) -> None:
        """Sends them; two that are not held are to follow."""
        assert self._session
        for at in range(0, len(self._events), 500):
            await self._session.append(self._events[at : at + 500], create=True)
        self._events.clear()
        self._count += 2


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> Held:
    return Held(monkeypatch)
