from collections.abc import AsyncIterator

import pytest

from sessiond_adk import SessiondSessionService

from ..support.process import Server
from ..support.proxy import Proxy


@pytest.fixture
async def service(server: Server) -> AsyncIterator[SessiondSessionService]:
    async with SessiondSessionService(server.url) as service:
        yield service


@pytest.fixture
async def strict(server: Server) -> AsyncIterator[SessiondSessionService]:
    async with SessiondSessionService(server.url, concurrency="session") as service:
        yield service


@pytest.fixture
async def far(network: Proxy) -> AsyncIterator[SessiondSessionService]:
    """The service behind a network that loses things."""
    async with SessiondSessionService(network.url) as service:
        yield service


@pytest.fixture(params=["unconditional", "strict"])
def either(
    request: pytest.FixtureRequest, service: SessiondSessionService, strict: SessiondSessionService
) -> SessiondSessionService:
    """Agents behave the same with both kinds of appends, as long as nobody else appends."""
    return strict if request.param == "strict" else service
