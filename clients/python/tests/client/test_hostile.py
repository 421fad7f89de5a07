"""A server, or who stands before it, that gives more than it was asked for; and proxies that nobody meant."""

import gzip
import json
import sys

import pytest

from sessiond import CaughtUp, SessiondError, _reply
from sessiond._connect import is_loopback

from ..support.process import Server, free_port
from ..support.proxy import answering, scripted, stream
from .both import Connect


async def test_no_proxy_is_asked_for_this_machine(
    client: Connect, server: Server, app: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("HTTP_PROXY", "ALL_PROXY", "http_proxy", "all_proxy"):
        monkeypatch.setenv(name, f"http://127.0.0.1:{free_port()}")
    for url in (server.url, server.url.replace("127.0.0.1", "localhost")):
        s = client(url, token="secret", retry_for=0).session(app, "ada", "s1")
        await s.create(exist_ok=True)
        async for item in s.watch():
            if isinstance(item, CaughtUp):
                break


async def test_a_proxy_of_the_environment_is_asked_for_what_is_elsewhere(
    client: Connect, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("NO_PROXY", raising=False)
    monkeypatch.delenv("no_proxy", raising=False)
    refused = '401\n{"code": "unauthenticated", "detail": "no valid token"}'
    tokens = iter(["one", "two"])
    async with answering(refused, '200\n{"a": 1}', "200\nbytes", "502\n") as proxy:
        monkeypatch.setenv("HTTP_PROXY", proxy.url)
        monkeypatch.setenv("http_proxy", proxy.url)
        far = client("http://sessiond.example/base", token=lambda: next(tokens), retry_for=0)
        assert await far.app("a").state() == {"a": 1}
        assert [piece async for piece in far.session("a", "u", "s").artifacts.get("f")] == [b"bytes"]
        with pytest.raises(SessiondError, match="502"):
            await far.app("a").increment("n")
        asked = [request.splitlines()[0] for request in proxy.requests]
        assert asked[:2] == ["GET http://sessiond.example/base/v1/apps/a/state HTTP/1.1"] * 2 and len(asked) == 4
        assert "Bearer two" in proxy.requests[1] and "Bearer two" in proxy.requests[3]
    with pytest.raises(SessiondError, match="ConnectError") as failed:
        await far.app("a").increment("n")
    assert failed.value.outcome == "not_applied"
    monkeypatch.setitem(sys.modules, "httpx", None)
    with pytest.raises(ImportError, match=r"sessiond-client\[httpx\]"):
        client("http://sessiond.example")
    client("http://localhost")
    monkeypatch.setenv("NO_PROXY", "sessiond.example")
    monkeypatch.setenv("no_proxy", "sessiond.example")
    client("http://sessiond.example")


@pytest.mark.parametrize(
    ("url", "expected"),
    [
        ("http://127.0.0.1:8080", True),
        ("http://127.9.9.9", True),
        ("http://127.1", True),
        ("http://[::1]:8080", True),
        ("http://[::ffff:127.0.0.1]", True),
        ("https://LOCALHOST/base", True),
        ("http://localhost.:1", True),
        ("http://a.localhost", True),
        ("http://128.0.0.1", False),
        ("http://localhost.example", False),
        ("http://sessiond", False),
        ("http://[::2]", False),
    ],
)
def test_what_this_machine_is(url: str, expected: bool) -> None:
    assert is_loopback(url) is expected


async def test_an_answer_is_not_held_beyond_a_bound(client: Connect, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_reply, "LARGEST", 1000)
    for status in ("200", "404"):
        large = f"{status}\n" + json.dumps({"state": "x" * 1000})
        async with answering(large, large, large) as server:
            s = client(server.url).session("a", "u", "s")
            with pytest.raises(SessiondError, match=r"larger than 1000 bytes\. \(GET .*/state, 1 attempt"):
                await s.state()
            with pytest.raises(SessiondError, match="larger than 1000 bytes") as failed:
                await s.increment("n")
            assert failed.value.outcome == "unknown" and len(server.requests) == 2
    async with answering("403\n" + "x" * 2000) as server:
        with pytest.raises(SessiondError, match="larger than 1000 bytes"):
            await anext(aiter(client(server.url).session("a", "u", "s").watch()))


async def test_what_is_packed_is_not_unpacked(client: Connect) -> None:
    packed = gzip.compress(b" " * 1_000_000)
    head = f"HTTP/1.1 200 X\r\nContent-Encoding: gzip\r\nContent-Length: {len(packed)}\r\nConnection: close\r\n"
    answer = head.encode() + b"Content-Type: text/event-stream\r\n\r\n" + packed
    async with scripted(*[answer] * 4) as server:
        s = client(server.url).session("a", "u", "s")
        with pytest.raises(SessiondError, match="is packed"):
            await s.get()
        with pytest.raises(SessiondError, match="is packed"):
            await s.artifacts.get("f").read()
        with pytest.raises(SessiondError, match="is packed"):
            await anext(aiter(s.artifacts.get("f")))
        with pytest.raises(SessiondError, match="is packed"):
            await anext(aiter(s.watch()))
        assert all("accept-encoding: identity\r\n" in request.lower() for request in server.requests)


@pytest.mark.parametrize("lines", [["data: " + "x" * 2000], ["data: " + "x" * 400] * 4, ["data:"] * 100])
async def test_a_frame_of_a_watch_has_an_end(
    client: Connect, monkeypatch: pytest.MonkeyPatch, lines: list[str]
) -> None:
    monkeypatch.setattr(_reply, "LARGEST", 1000)
    caught = ["id: 0-ab-00000000", "event: caught_up", 'data: {"revision":0}', ""] * 100
    async with scripted(stream(*caught, *lines)) as server:
        with pytest.raises(SessiondError, match="larger than 1000 bytes"):
            async for item in client(server.url).session("a", "u", "s").watch():
                assert isinstance(item, CaughtUp)


async def test_pages_have_an_end(client: Connect, monkeypatch: pytest.MonkeyPatch) -> None:
    page = '200\n{"events":[],"revision":1,"nextPageToken":"%s"}'
    async with answering(page % "a", page % "a") as server:
        with pytest.raises(SessiondError, match="The pages of the answer have no end"):
            assert [each async for each in client(server.url).session("a", "u", "s").events()] == []
    for name in ("_async", "_sync"):
        monkeypatch.setattr(f"sessiond.{name}.http._EMPTY", 3)
    async with answering(*(page % token for token in "abc")) as server:
        with pytest.raises(SessiondError, match="The pages of the answer have no end"):
            assert [each async for each in client(server.url).session("a", "u", "s").events()] == []
