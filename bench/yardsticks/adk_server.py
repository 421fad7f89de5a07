"""google-adk behind its own HTTP server, `adk api_server`, and what it does under load.

    bench/yardsticks/python bench/yardsticks/adk_server.py --session-service-uri postgresql+asyncpg://HOST/EMPTY_DB

starts the server on a free port, with one trivial agent, and prints `{"url": ..., "port": ..., "pid": ...}` when it is
healthy. It runs until stdin closes, or SIGTERM.

    bench/yardsticks/python bench/yardsticks/adk_server.py --drive --url http://127.0.0.1:PORT --concurrency 8

measures such a server, and prints one JSON object. With --session-service-uri in place of --url it starts one of its
own for as long as it measures, and `server_cpu_seconds` is what that took from its start to its end.

What is measured is PATCH of a session with a `stateDelta`: the only way to append an event to the server without
running an agent. The server makes the event of it, so the content is part of the delta: one key with the text that
brings the event to 1 KB, beside the keys of the other yardsticks. It is one key, so that the state, which the server
writes as a whole, does not grow. The server loads the session with all its events for each request, and answers with
them: it gets slower with every event. A second PATCH of the same session at the same time may fail with 500, so each
connection has sessions of its own.

The requests are written by hand: an HTTP client in Python would take as much of the processors as the server.
"""

import argparse
import asyncio
import contextlib
import itertools
import json
import os
import random
import resource
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.parse
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import measure
from measure import APP, Tally, user_of

START_SECONDS = 60
SETUP_TASKS = 8
# What an event of this server has around a delta: id, times, empty fields.
EVENT_WITHOUT_TEXT = 330

AGENT = """from google.adk.agents import Agent

root_agent = Agent(name="bench", model="none")
"""


class HttpError(Exception):
    pass


@contextlib.contextmanager
def server(uri: str) -> Iterator[tuple[subprocess.Popen, int]]:
    """Runs `adk api_server` in a temporary folder; its output is shown if it does not start."""
    with tempfile.TemporaryDirectory(prefix="adk-server-") as folder:
        agent = Path(folder, "agents", APP)
        agent.mkdir(parents=True)
        agent.joinpath("__init__.py").write_text("from . import agent\n")
        agent.joinpath("agent.py").write_text(AGENT)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        command = [sys.executable, "-m", "google.adk.cli", "api_server", "--host", "127.0.0.1", "--port", str(port)]
        # A line of log for each request is not what is measured.
        command += ["--log_level", "error", "--session_service_uri", uri, str(agent.parent)]
        log_path = Path(folder, "log")
        with log_path.open("wb") as log:
            process = subprocess.Popen(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        try:
            wait_until_healthy(process, port, log_path)
            yield process, port
        finally:
            process.terminate()
            try:
                process.wait(10)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def wait_until_healthy(process: subprocess.Popen, port: int, log: Path) -> None:
    deadline = time.monotonic() + START_SECONDS
    while time.monotonic() < deadline and process.poll() is None:
        with contextlib.suppress(OSError):
            urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=5).close()
            return
        time.sleep(0.1)
    raise RuntimeError(f"adk api_server did not start:\n{log.read_text(errors='replace')[-4000:]}")


class Connection:
    """A keep-alive connection; made anew after whatever went wrong."""

    def __init__(self, url: str) -> None:
        parts = urllib.parse.urlsplit(url)
        self.host, self.port = parts.hostname, parts.port or 80
        self.reader: asyncio.StreamReader | None = None
        self.writer: asyncio.StreamWriter | None = None

    async def request(self, method: str, path: str, body: dict) -> int:
        try:
            return await self._request(method, path, json.dumps(body).encode())
        except BaseException:
            self.close()
            raise

    async def _request(self, method: str, path: str, body: bytes) -> int:
        if self.reader is None or self.writer is None:
            # Sessions with many events are long answers.
            self.reader, self.writer = await asyncio.open_connection(self.host, self.port, limit=1 << 20)
        head = f"{method} {path} HTTP/1.1\r\nHost: {self.host}:{self.port}\r\nContent-Type: application/json\r\n"
        self.writer.write(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
        status, *fields = (await self.reader.readuntil(b"\r\n\r\n")).decode("latin-1").split("\r\n")
        headers = {name.strip().lower(): value.strip() for name, _, value in (field.partition(":") for field in fields)}
        await self.reader.readexactly(int(headers["content-length"]))
        if headers.get("connection") == "close":
            self.close()
        return int(status.split(" ")[1])

    def close(self) -> None:
        if self.writer is not None:
            self.writer.close()
        self.reader = self.writer = None


def path_of(session: int, options: argparse.Namespace) -> str:
    return f"/apps/{APP}/users/{user_of(session, options)}/sessions/s{session}"


async def drive(url: str, options: argparse.Namespace) -> tuple[Tally, float]:
    connections = [Connection(url) for _ in range(max(options.concurrency, SETUP_TASKS))]

    async def make(which: int) -> None:
        # 409: an earlier run has made it.
        for session in range(which, options.sessions, SETUP_TASKS):
            status = await connections[which].request("POST", path_of(session, options), {})
            if status not in (200, 409):
                raise HttpError(f"a session could not be made: {status}")

    # The first one alone: the server makes its tables with it.
    await connections[0].request("POST", path_of(0, options), {})
    await asyncio.gather(*(make(which) for which in range(SETUP_TASKS)))

    text = "x" * (measure.EVENT_BYTES - EVENT_WITHOUT_TEXT)
    turns = [itertools.cycle(measure.sessions_of(task, options)) for task in range(options.concurrency)]
    randoms = [random.Random(task) for task in range(options.concurrency)]

    async def patch(task: int, _tally: Tally) -> None:
        delta = {**measure.state_delta(randoms[task]), "said": text}
        status = await connections[task].request("PATCH", path_of(next(turns[task]), options), {"stateDelta": delta})
        if status != 200:
            # Its name is what it is counted under.
            raise type(f"http_{status}", (HttpError,), {})

    try:
        return await measure.closed_loop(options, patch)
    finally:
        for connection in connections:
            connection.close()


def measured(options: argparse.Namespace) -> dict:
    facts = {"service": "adk api_server", "operation": "append", "concurrency": options.concurrency}
    if options.url:
        tally, cpu_seconds = asyncio.run(drive(options.url, options))
    else:
        with server(options.session_service_uri) as (_, port):
            tally, cpu_seconds = asyncio.run(drive(f"http://127.0.0.1:{port}", options))
        used = resource.getrusage(resource.RUSAGE_CHILDREN)
        facts["server_cpu_seconds"] = round(used.ru_utime + used.ru_stime, 3)
    return tally.report(options.seconds, cpu_seconds, **facts)


def serve(options: argparse.Namespace) -> None:
    with server(options.session_service_uri) as (process, port):
        ready = {"url": f"http://127.0.0.1:{port}", "port": port, "pid": process.pid}
        print(json.dumps(ready), flush=True)
        while os.read(0, 1024):
            pass


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--session-service-uri", help="what `adk api_server --session_service_uri` takes")
    parser.add_argument("--drive", action="store_true", help="measure a server")
    parser.add_argument("--url", help="with --drive: the server to measure")
    measure.add_options(parser)
    options = parser.parse_args()
    if not options.session_service_uri and not (options.drive and options.url):
        parser.error("--session-service-uri, or --drive and --url, must be given")
    # Ends as an exception does, so that the server is stopped.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    if options.drive:
        measure.print_result(measured(options))
    else:
        serve(options)


if __name__ == "__main__":
    main()
