import uuid
from collections.abc import AsyncIterator
from typing import Any

import pytest

from sessiond import AsyncSession, Event
from sessiond.langgraph import SessiondSaver

from ..support.process import Server


@pytest.fixture
async def saver(server: Server, app: str) -> AsyncIterator[SessiondSaver]:
    with SessiondSaver(server.url, app=app) as saver:
        async with saver:
            yield saver


@pytest.fixture
def thread() -> str:
    return f"t {uuid.uuid4()}"


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
