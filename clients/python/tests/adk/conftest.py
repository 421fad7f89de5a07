from collections.abc import AsyncIterator

import pytest

from sessiond import _times
from sessiond_adk import SessiondSessionService

from ..support.process import Server


@pytest.fixture(autouse=True)
def no_long_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Requests are tried again soon."""
    monkeypatch.setattr(_times, "PAUSES", (0.01, 0.02, 0.04, 0.08))


@pytest.fixture
async def service(server: Server) -> AsyncIterator[SessiondSessionService]:
    async with SessiondSessionService(server.url) as service:
        yield service


@pytest.fixture
async def strict(server: Server) -> AsyncIterator[SessiondSessionService]:
    async with SessiondSessionService(server.url, concurrency="session") as service:
        yield service
