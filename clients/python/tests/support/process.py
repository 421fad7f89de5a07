"""Processes of the tests."""

import json
import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

_ROOT = Path(__file__).resolve().parents[4]


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


class Server:
    """A running sessiond, which can be stopped and started again at its address."""

    def __init__(self, database_url: str, log: Path, *options: str) -> None:
        self._database_url = database_url
        self._log = log
        self._options = options
        self._port = 0
        self.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._port}"

    @property
    def address(self) -> tuple[str, int]:
        return "127.0.0.1", self._port

    def start(self) -> None:
        """Starts it; it is ready when this returns."""
        program = Path(os.environ.get("SESSIOND_BIN") or _ROOT / "target/debug/sessiond").resolve()
        assert program.is_file(), f"{program} is missing: build it with `cargo build`, or set SESSIOND_BIN"
        with self._log.open("w") as log:
            self._process = subprocess.Popen(
                [
                    program,
                    *("--listen", f"127.0.0.1:{self._port}", "--metrics-listen", "off", "--log-format", "json"),
                    *self._options,
                ],
                env={**os.environ, "SESSIOND_DATABASE_URL": self._database_url},
                stdin=subprocess.DEVNULL,
                stderr=log,
            )
        deadline = time.monotonic() + 30
        while not (line := self._listening()):
            assert self._process.poll() is None and time.monotonic() < deadline, self._log.read_text()
            time.sleep(0.02)
        self._port = int(json.loads(line)["address"].rpartition(":")[2])

    def stop(self, how: signal.Signals = signal.SIGTERM) -> None:
        self._process.send_signal(how)
        self._process.wait(30)

    def _listening(self) -> str | None:
        return next((line for line in self._log.read_text().splitlines() if '"message":"listening"' in line), None)


@contextmanager
def running(*command: str, url: str, env: dict[str, str] | None = None) -> Iterator[None]:
    """Runs another server, from when `url` answers on."""
    with subprocess.Popen(
        command,
        env={**os.environ, **(env or {})},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    ) as process:
        try:
            deadline = time.monotonic() + 60
            while True:
                try:
                    httpx.get(url).raise_for_status()
                    break
                except httpx.HTTPError:
                    ended = process.poll() is not None
                    assert not ended and time.monotonic() < deadline, process.stdout and process.stdout.read()
                    time.sleep(0.1)
            yield
        finally:
            process.terminate()
            process.communicate(timeout=30)
