import random
from collections.abc import AsyncIterator

import pytest

from sessiond import AsyncClient, Client, _times

from ..support.process import Server
from .wire import Wire, wired


@pytest.fixture
def wire(monkeypatch: pytest.MonkeyPatch) -> Wire:
    """What the clients below send their requests by."""
    monkeypatch.setattr(_times, "PAUSES", (0.001,) * 20)
    return Wire(random.Random(7))


@pytest.fixture
async def db(server: Server, wire: Wire) -> AsyncIterator[AsyncClient]:
    async with wired(AsyncClient(server.url), wire) as client:
        yield client


@pytest.fixture
def plain_db(server: Server, wire: Wire) -> Client:
    """The synchronous client."""
    return wired(Client(server.url), wire)
