from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

import pytest

from sessiond import AsyncClient, AsyncSession, _times

from ..support.process import Server
from ..support.proxy import Proxy, proxy
from .both import Connect, connect

PAUSES = _times.PAUSES


@pytest.fixture(autouse=True)
def no_long_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Requests are tried again soon: the tests that say how soon take back their pauses."""
    monkeypatch.setattr(_times, "PAUSES", (0.01, 0.02, 0.04, 0.08))


@pytest.fixture(params=["sync", "async"])
async def client(request: pytest.FixtureRequest) -> AsyncIterator[Connect]:
    """What makes a client of either kind; all are asked with `await`, and closed at the end."""
    async with AsyncExitStack() as stack:
        yield connect(request.param, stack)


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves each kind of client one of both databases: the tests of the server hold that these answer alike."""
    left_out = {("sqlite", "async"), ("postgres", "sync")}

    def is_left_out(item: pytest.Item) -> bool:
        params = item.callspec.params if isinstance(item, pytest.Function) and hasattr(item, "callspec") else {}
        is_on_both = item.get_closest_marker("both_databases")
        return is_on_both is not None and (params.get("server"), params.get("client")) in left_out

    config.hook.pytest_deselected(items=[item for item in items if is_left_out(item)])
    items[:] = [item for item in items if not is_left_out(item)]


@pytest.fixture
def db(client: Connect, server: Server) -> AsyncClient:
    return client(server.url)


@pytest.fixture
def s(db: AsyncClient, app: str) -> AsyncSession:
    """A session that is not there yet."""
    return db.session(app, "ada", "s 1")


@pytest.fixture
async def network(server: Server) -> AsyncIterator[Proxy]:
    async with proxy(server.address) as network:
        yield network


@pytest.fixture
def far(client: Connect, network: Proxy, app: str) -> AsyncSession:
    """The same session, behind a network that loses things."""
    return client(network.url).session(app, "ada", "s 1")
