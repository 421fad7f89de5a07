"""Fixtures: a server, its API, a browser, a page. A test fails if a script failed or the content security policy was broken.

`@pytest.mark.server("--require-auth")` gives a test a server of its own with these flags; without, all share one, and each
has an `app` of its own there. `@pytest.mark.page(width=360, dark=True)` is for the `page`.
"""

import fcntl
import itertools
import os
import pickle

import pytest

import demo
from browser import Browser
from server import Server, path, until

numbers = itertools.count(1)


def pytest_configure(config):
    config.addinivalue_line("markers", "server(*flags): a server of its own, with these flags")
    config.addinivalue_line("markers", "page(**options): width, height, dark, kind, credential of the page")


@pytest.fixture(scope="session")
def shared_server(tmp_path_factory):
    server = Server(tmp_path_factory.mktemp("shared"))
    yield server
    server.stop()


@pytest.fixture
def server(request):
    mark = request.node.get_closest_marker("server")
    if mark is None:
        yield request.getfixturevalue("shared_server")
        return
    server = Server(request.getfixturevalue("tmp_path"), *mark.args)
    yield server
    if server.process.poll() is None:
        server.stop()


@pytest.fixture(scope="session")
def shop(tmp_path_factory):
    """A server that asks for a credential, with the week of the demo and a file; the app warehouse is searched. It is only looked at. The first process fills one for all."""
    folder = tmp_path_factory.mktemp("shop")
    common = tmp_path_factory.getbasetemp()
    filled = (common if "PYTEST_XDIST_WORKER" not in os.environ else common.parent) / "shop"
    with filled.with_suffix(".lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not filled.exists():
            server = Server(folder, "--require-auth", "--feed-retention=1d")
            server.api.ask("PUT", path("apps", "warehouse", "policy"), {"search": {"index": True}})
            demo.fill(server)
            server.api.save(path("apps", "shop", "users", "zoe", "sessions", "voucher-1093"), "voucher.txt", b"A voucher\n" * 99, "text/plain", event="none")
            filled.write_bytes(pickle.dumps(server.keyed()))
    server = Server(folder, "--require-auth", "--feed-retention=1d", keyed=pickle.loads(filled.read_bytes()))
    yield server
    server.stop()


@pytest.fixture
def api(server):
    return server.api


@pytest.fixture
def app():
    """A name that no other test uses."""
    return f"app-{next(numbers)}"


@pytest.fixture(scope="session")
def shared_browser():
    browser = Browser()
    yield browser
    browser.quit()


@pytest.fixture
def browser(shared_browser, server):
    shared_browser.new_faults()
    yield shared_browser
    shared_browser.close_pages()
    assert shared_browser.new_faults() == []


@pytest.fixture
def page(request, browser, server):
    mark = request.node.get_closest_marker("page")
    return browser.page(server, **(mark.kwargs if mark else {}))


@pytest.fixture
def copied(browser):
    """What the next click copies."""
    browser.driver.execute_cdp_cmd("Browser.grantPermissions", {"permissions": ["clipboardReadWrite", "clipboardSanitizedWrite"]})

    def copied(page, act):
        page.cdp("Page.bringToFront")
        page.js("return navigator.clipboard.writeText('')")
        act()
        return until("copied text", lambda: page.value("navigator.clipboard.readText()"))

    return copied
