import os
import signal
import uuid
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack
from pathlib import Path

import httpx
import pytest

from sessiond import _times

from .support import postgres
from .support.process import Server
from .support.proxy import Proxy, proxy
from .support.wire import Wire

PAUSES = _times.PAUSES

# As Ctrl-C: what the tests started ends with them.
signal.signal(signal.SIGTERM, signal.default_int_handler)

# The tests say themselves which credential is sent.
os.environ.pop("SESSIOND_TOKEN", None)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Tests are run on SQLite. If bytes, faults or concurrency are their matter, `both_databases`: on PostgreSQL, too.

    That databases answer alike is what the tests of the server hold.
    """
    is_chosen = any("server" in mark.args[0] for mark in metafunc.definition.iter_markers("parametrize"))
    if "server" in metafunc.fixturenames and not is_chosen:
        is_on_both = metafunc.definition.get_closest_marker("both_databases")
        metafunc.parametrize("server", ["sqlite", "postgres"] if is_on_both else ["sqlite"], indirect=True)


@pytest.fixture(autouse=True)
def no_long_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    """Requests are tried again soon: the tests that say how soon take back their pauses."""
    monkeypatch.setattr(_times, "PAUSES", (0.01,) * 20)


@pytest.fixture(scope="session")
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """A server that all tests on its database share."""
    with ExitStack() as stack:
        folder = tmp_path_factory.mktemp(request.param)
        url = f"sqlite://{folder}/test.db" if request.param == "sqlite" else postgres.database()
        server = Server(url, folder / "sessiond.log")
        stack.callback(server.stop)
        yield server


@pytest.fixture
def own_server(tmp_path: Path) -> Iterator[Server]:
    """A server for one test, on SQLite, that it may stop and start."""
    server = Server(f"sqlite://{tmp_path}/test.db", tmp_path / "sessiond.log")
    yield server
    server.stop()


@pytest.fixture
async def network(server: Server) -> AsyncIterator[Proxy]:
    async with proxy(server.address) as network:
        yield network


@pytest.fixture
def wire(monkeypatch: pytest.MonkeyPatch) -> Wire:
    """What clients send their requests by, from here on."""
    return Wire(monkeypatch)


@pytest.fixture
def app() -> str:
    """The name of an app that no other test uses."""
    return f"app_{uuid.uuid4().hex}"


@pytest.fixture
def plain(server: Server) -> Iterator[httpx.Client]:
    """Another client of the same server, of plain HTTP."""
    with httpx.Client(base_url=f"{server.url}/v1", timeout=60) as client:
        yield client
