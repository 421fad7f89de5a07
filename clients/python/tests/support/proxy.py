"""A network that loses things."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any


@asynccontextmanager
async def listening(serve: Callable[..., Any]) -> AsyncIterator[str]:
    """Serves connections at the URL that it yields."""
    listener = await asyncio.start_server(serve, "127.0.0.1", 0)
    # Connections end with the client's; `Server.wait_closed` would wait for them.
    try:
        yield "http://{}:{}".format(*listener.sockets[0].getsockname())
    finally:
        listener.close()


class Proxy:
    """Stands between a client and a server, both of one request at a time for each connection."""

    def __init__(self, target: tuple[str, int]) -> None:
        self._target = target
        self.url = ""
        self.connections = 0
        self.lose_answers = 0
        """So many of the next answers get lost, each with its connection, after the server has done what was asked."""
        self.lose_requests = 0
        """So many of the next requests get lost, each with its connection, before the server has seen them."""
        self.cut_after: Callable[[], int] | None = None
        """After how many bytes of answers a new connection breaks; never, if None."""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        up_reader, up_writer = await asyncio.open_connection(*self._target)

        async def requests() -> None:
            while data := await reader.read(65536):
                if self.lose_requests:
                    self.lose_requests -= 1
                    return
                up_writer.write(data)
                await up_writer.drain()

        async def answers() -> None:
            left = self.cut_after() if self.cut_after else None
            while data := await up_reader.read(65536):
                if left is not None:
                    writer.write(data[:left])
                    await writer.drain()
                    left -= len(data)
                    if left <= 0:
                        return
                    continue
                if self.lose_answers:
                    self.lose_answers -= 1
                    return
                writer.write(data)
                await writer.drain()

        ways = [asyncio.create_task(requests()), asyncio.create_task(answers())]
        try:
            await asyncio.wait(ways, return_when=asyncio.FIRST_COMPLETED)
        finally:
            for way in ways:
                way.cancel()
            await asyncio.gather(*ways, return_exceptions=True)
            writer.close()
            up_writer.close()


@asynccontextmanager
async def proxy(target: tuple[str, int]) -> AsyncIterator[Proxy]:
    """Runs a proxy, at its `url`."""
    through = Proxy(target)
    async with listening(through.serve) as through.url:
        yield through


class Answers:
    """A server that answers with what it is given, in order, and keeps the requests."""

    def __init__(self, *answers: str) -> None:
        self._answers = list(answers)
        self.url = ""
        self.requests: list[str] = []

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        length = next((int(line[15:]) for line in head.splitlines() if line.lower().startswith("content-length:")), 0)
        self.requests.append(head + (await reader.readexactly(length)).decode())
        status, _, rest = self._answers.pop(0).partition("\n")
        header, _, body = rest.rpartition("\n")
        writer.write(
            f"HTTP/1.1 {status} X\r\nConnection: close\r\nContent-Length: {len(body.encode())}\r\n"
            f"{header + chr(13) + chr(10) if header else ''}\r\n{body}".encode()
        )
        writer.close()


@asynccontextmanager
async def answering(*answers: str) -> AsyncIterator[Answers]:
    """Runs a server that gives the answers `STATUS`, `STATUS\\nBODY` or `STATUS\\nHEADER\\nBODY`."""
    scripted = Answers(*answers)
    async with listening(scripted.serve) as scripted.url:
        yield scripted


class Script:
    """Answers each connection with the next bytes that it is given, and then closes it, or with `hang` does not."""

    def __init__(self, *answers: bytes, hang: bool) -> None:
        self._answers = list(answers)
        self._hang = hang
        self.url = ""
        self.requests: list[str] = []

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.requests.append((await reader.readuntil(b"\r\n\r\n")).decode())
        writer.write(self._answers.pop(0))
        await writer.drain()
        if self._hang:
            await reader.read()
        writer.close()


def stream(*lines: str) -> bytes:
    """The answer to a watch, with these lines, up to where the connection ends."""
    head = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"
    return (head + "".join(f"{line}\n" for line in lines)).encode()


@asynccontextmanager
async def scripted(*answers: bytes, hang: bool = False) -> AsyncIterator[Script]:
    """Runs a server that answers with these bytes."""
    script = Script(*answers, hang=hang)
    async with listening(script.serve) as script.url:
        yield script
