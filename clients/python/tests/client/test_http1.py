"""Answers as bytes, cut anywhere; and connections: which are used again, and which never."""

import asyncio
import contextlib
import random
import shutil
import socket
import ssl
import subprocess
import threading
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from sessiond import AsyncClient, Client, InputError, SessiondError
from sessiond._async import pool
from sessiond._http1 import Headers, Origin, Parser, RemoteProtocolError, Request

from ..support.proxy import listening
from .both import Connect

OK = b"HTTP/1.1 200 OK\r\n"
FULL = OK + b"Content-Length: 2\r\n\r\n{}"

WHOLE = [
    (FULL, b"{}", True),
    (b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early\r\nLink: x\r\n\r\n" + FULL, b"{}", True),
    (OK + b"content-length: 2, 2\r\n\r\n{}", b"{}", True),
    (OK + b"Content-Length: 2\r\nConnection: x, Close\r\n\r\n{}", b"{}", False),
    (b"HTTP/1.0 200 OK\r\nContent-Length: 2\r\n\r\n{}", b"{}", False),
    (FULL + b"HTTP", b"{}", False),
    (b"HTTP/1.1 204\r\n\r\n", b"", True),
    (OK + b"Transfer-Encoding: chunked\r\n\r\n1\r\n{\r\n01;a=b\r\n}\r\n0\r\nX: y\r\n\r\n", b"{}", True),
    (OK + b"Transfer-Encoding: Chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\nmore", b"{}", False),
    (OK + b"\r\n{}", b"{}", False),
]

BROKEN = [
    b"",
    b"SSH-2.0\r\n\r\n",
    b"HTTP/2 200\r\n\r\n",
    b"HTTP/1.1 101 Switching\r\n\r\n",
    OK + b"Content-Length: 3\r\n\r\n{}",
    OK + b"Content-Length: 2\r\nContent-Length: 3\r\n\r\n{}",
    OK + b"Content-Length: -2\r\n\r\n{}",
    OK + b"Content-Length: \xb2\r\n\r\n{}",
    OK + b"A: b\r\n c\r\n\r\n",
    OK + b"A : b\r\n\r\n",
    OK + b"A: b\nB: c\r\n\r\n",
    OK + b"A: " + b"x" * 70_000,
    b"HTTP/1.1 100 Continue\r\n\r\n" * 3000,
    OK + b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
    OK + b"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n0\r\n\r\n",
    OK + b"Transfer-Encoding: chunked\r\n\r\n2\r\n{}\r\n",
    OK + b"Transfer-Encoding: chunked\r\n\r\n1\r\n{}\r\n",
    OK + b"Transfer-Encoding: chunked\r\n\r\n-1\r\n",
    OK + b"Transfer-Encoding: chunked\r\n\r\n1;" + b"x" * 5000,
    OK + b"Transfer-Encoding: chunked\r\n\r\n0\r\n" + b"A: b\r\n" * 12_000,
]


def parsed(data: bytes, cuts: Callable[[int], int]) -> tuple[Parser, bytes]:
    parser, body, at = Parser("GET"), b"", 0
    while at < len(data):
        size = cuts(len(data) - at)
        body += b"".join(parser.feed(data[at : at + size]))
        at += size
    if not parser.done:
        body += b"".join(parser.feed(b""))
    return parser, body


@pytest.mark.parametrize(("data", "body", "keep"), WHOLE)
def test_an_answer_is_the_same_however_it_is_cut(data: bytes, body: bytes, keep: bool) -> None:
    dice = random.Random(5)
    for cuts in (lambda left: left, lambda left: 1, *[lambda left: dice.randint(1, min(left, 9))] * 20):
        parser, found = parsed(data, cuts)
        assert (parser.done, found, parser.keep) == (True, body, keep)


@pytest.mark.parametrize("data", BROKEN)
def test_what_is_no_answer_is_none(data: bytes) -> None:
    for size in (1 << 20, 1000, 1) if len(data) < 1000 else (1 << 20, 1000):
        with pytest.raises(RemoteProtocolError):
            parsed(data, lambda left, size=size: min(left, size))  # type: ignore[misc]


def test_an_answer_to_a_head_has_no_body() -> None:
    parser = Parser("HEAD")
    assert parser.feed(OK + b"Content-Length: 9\r\n\r\n") == [] and parser.done and parser.keep


def test_a_request_is_one_request() -> None:
    origin = Origin("https://h:8443/base", ssl.create_default_context())
    assert origin.target("/a b\r\nX: y#z", {"q": "ä &"}) == "/base/a%20b%0D%0AX:%20y%23z?q=%C3%A4%20%26"
    assert origin.target("/a%2Fb?c=d", {"q": "1"}) == "/base/a%2Fb?c=d&q=1"
    assert Request("POST", "/a", Headers({"X": "y"}), b"{}", 2).head("h") == (
        b"POST /a HTTP/1.1\r\nhost: h\r\nx: y\r\ncontent-length: 2\r\n\r\n"
    )
    for method, headers in (("GET ", {}), ("GET", {"X": "hunter2\r\nY: z"}), ("GET", {"X:": "hunter2"})):
        with pytest.raises(ValueError) as refused:
            Request(method, "/a", Headers(headers), None, None)
        assert "hunter2" not in str(refused.value)
    assert "hunter2" not in repr(Headers({"Authorization": "hunter2"}))


async def test_a_header_of_one_request_is_looked_at(client: Connect) -> None:
    with pytest.raises(InputError):
        await client("http://127.0.0.1:1").request("GET", "/v1/apps", headers={"X": "a\r\nY: b"})


class Peer:
    """Answers the n-th request of each connection with the n-th of these, and then closes it."""

    def __init__(self, *answers: bytes) -> None:
        self.answers = answers
        self.url = ""
        self.connections = 0
        self.hold = asyncio.Event()
        self.hold.set()

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
            for answer in self.answers:
                await reader.readuntil(b"\r\n\r\n")
                await self.hold.wait()
                writer.write(answer)
            await asyncio.sleep(0.02)
            writer.close()


@asynccontextmanager
async def peer(*answers: bytes) -> AsyncIterator[Peer]:
    made = Peer(*answers)
    async with listening(made.serve) as made.url:
        try:
            yield made
        finally:
            made.hold.set()


async def test_a_connection_that_the_server_closed_costs_no_attempt(client: Connect) -> None:
    async with peer(FULL, FULL) as server:
        app = client(server.url, retry_for=0).app("a")
        for _ in range(6):
            await app.state()
            await asyncio.sleep(0.05)
        # Each was closed after two, or found closed after one if this machine was slow.
        assert 3 <= server.connections <= 6


@pytest.mark.parametrize(
    "answer", [FULL + b"x", OK + b"Connection: close\r\nContent-Length: 2\r\n\r\n{}", OK + b"\r\n{}"]
)
async def test_a_connection_in_doubt_is_not_used_again(client: Connect, answer: bytes) -> None:
    async with peer(answer) as server:
        app = client(server.url, retry_for=0).app("a")
        for _ in range(3):
            assert await app.state() == {}
        assert server.connections == 3


async def test_an_answer_that_is_given_up_is_of_no_other_request() -> None:
    async with peer(FULL, FULL) as server:
        server.answers = (OK + b"Content-Length: 9\r\n\r\n", FULL)
        async with AsyncClient(server.url, retry_for=0) as db:
            waiting = asyncio.create_task(db.app("a").state())
            await asyncio.sleep(0.2)
            waiting.cancel()
            with pytest.raises(asyncio.CancelledError):
                await waiting
            server.answers = (FULL,)
            assert await db.app("a").state() == {} and server.connections == 2
            found = db._http._pools.get()
            assert found._slots._free == pool.MOST


async def test_all_wait_for_a_connection_in_turn(client: Connect, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("_async", "_sync"):
        monkeypatch.setattr(f"sessiond.{name}.pool.MOST", 2)
    async with peer(*[FULL] * 20) as server:
        app = client(server.url, retry_for=0).app("a")
        assert await asyncio.gather(*(app.state() for _ in range(10))) == [{}] * 10
        assert server.connections <= 2
        server.hold.clear()
        slow = [asyncio.ensure_future(app.state()) for _ in range(2)]
        await asyncio.sleep(0.5)
        with pytest.raises(SessiondError, match="PoolTimeout") as late:
            await app.increment("n", timeout=0.3)
        assert late.value.outcome == "not_applied"
        server.hold.set()
        assert await asyncio.gather(*slow) == [{}] * 2


def test_only_so_many_connections_are_kept() -> None:
    with socket.create_server(("127.0.0.1", 0), backlog=100) as listener:

        def answer(connection: socket.socket) -> None:
            with connection:
                while connection.recv(1 << 16):
                    time.sleep(0.2)
                    connection.sendall(FULL)

        def serve() -> None:
            with contextlib.suppress(OSError):
                while True:
                    threading.Thread(target=answer, args=(listener.accept()[0],), daemon=True).start()

        threading.Thread(target=serve, daemon=True).start()
        with Client("http://{}:{}".format(*listener.getsockname())) as db:
            users = [threading.Thread(target=db.app("a").state) for _ in range(40)]
            for user in users:
                user.start()
            for user in users:
                user.join()
            assert 1 <= len(db._http._pools.get()._idle) <= 20
        assert len(db._http._pools._pools) == 0


@pytest.mark.skipif(shutil.which("openssl") is None, reason="openssl is missing")
async def test_https_is_spoken_with_whom_is_trusted(client: Connect, tmp_path: Path) -> None:
    key, certificate = str(tmp_path / "key"), str(tmp_path / "certificate")
    made = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", key, "-out", certificate, "-days", "2"]
    names = ["-subj", "/CN=h", "-addext", "subjectAltName=DNS:localhost"]
    await asyncio.to_thread(subprocess.run, ["openssl", *made, *names], check=True, capture_output=True)
    server_side = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    server_side.load_cert_chain(certificate, key)
    server = Peer(*[FULL] * 3)
    listener = await asyncio.start_server(server.serve, "127.0.0.1", 0, ssl=server_side)
    port = listener.sockets[0].getsockname()[1]
    try:
        app = client(
            f"https://localhost:{port}", retry_for=0, ssl_context=ssl.create_default_context(cafile=certificate)
        ).app("a")
        assert [await app.state() for _ in range(3)] == [{}] * 3 and server.connections == 1
        for url, trusted in ((f"https://localhost:{port}", None), (f"https://127.0.0.1:{port}", certificate)):
            context = trusted and ssl.create_default_context(cafile=trusted)
            with pytest.raises(SessiondError, match=r"ConnectError: .*certificate") as failed:
                await client(url, retry_for=0, ssl_context=context).app("a").increment("n")
            assert failed.value.outcome == "not_applied"
    finally:
        listener.close()
