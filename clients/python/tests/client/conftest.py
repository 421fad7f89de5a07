from collections.abc import AsyncIterator
from contextlib import AsyncExitStack

import pytest

from sessiond import AsyncClient, AsyncSession

from ..support.process import Server
from ..support.proxy import Proxy
from .both import Connect, connect


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
def far(client: Connect, network: Proxy, app: str) -> AsyncSession:
    """The same session, behind a network that loses things."""
    return client(network.url).session(app, "ada", "s 1")
