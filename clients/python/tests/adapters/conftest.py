from collections.abc import AsyncIterator

import pytest

from sessiond import AsyncClient, Client

from ..support.process import Server


@pytest.fixture
async def db(server: Server) -> AsyncIterator[AsyncClient]:
    async with AsyncClient(server.url) as client:
        yield client


@pytest.fixture
def plain_db(server: Server) -> Client:
    """The synchronous client."""
    return Client(server.url)
