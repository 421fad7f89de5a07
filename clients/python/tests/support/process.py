"""Processes of the tests."""

import json
import multiprocessing
import os
import runpy
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import httpx

_ROOT = Path(__file__).resolve().parents[4]


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port: int = listener.getsockname()[1]
        return port


def _program() -> Path:
    program = Path(os.environ.get("SESSIOND_BIN") or _ROOT / "target/debug/sessiond").resolve()
    assert program.is_file(), f"{program} is missing: build it with `cargo build`, or set SESSIOND_BIN"
    return program


class Guard:
    """Kills a process when the tests end, be it by SIGKILL: then the pipe ends from which it reads."""

    def __init__(self, pid: int) -> None:
        # It leads a session of its own, for Ctrl-C not to end it before.
        self._shell = subprocess.Popen(
            ["sh", "-c", 'read -r _ || kill -9 "$1"', "guard", str(pid)], stdin=subprocess.PIPE, start_new_session=True
        )

    def leave(self) -> None:
        """The process has ended: its number may be another's."""
        self._shell.communicate(b"ended\n")


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
        with self._log.open("w", encoding="utf-8") as log:
            self._process = subprocess.Popen(
                [
                    _program(),
                    *("--listen", f"127.0.0.1:{self._port}", "--metrics-listen", "off", "--log-format", "json"),
                    *self._options,
                ],
                # A busy machine may take longer to open a file than a server should.
                env={"SESSIOND_ACQUIRE_TIMEOUT": "20s", **os.environ, "SESSIOND_DATABASE_URL": self._database_url},
                stdin=subprocess.DEVNULL,
                stderr=log,
            )
        self._guard = Guard(self._process.pid)
        deadline = time.monotonic() + 120
        while not (line := self._listening()):
            assert self._process.poll() is None and time.monotonic() < deadline, self._log.read_text(encoding="utf-8")
            time.sleep(0.02)
        self._port = int(json.loads(line)["address"].rpartition(":")[2])

    def command(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Runs `sessiond ARGUMENTS` on its database."""
        env = {**os.environ, "SESSIOND_DATABASE_URL": self._database_url}
        return subprocess.run([_program(), *arguments], env=env, capture_output=True, encoding="utf-8", check=False)

    def stop(self, how: signal.Signals = signal.SIGTERM) -> None:
        self._process.send_signal(how)
        self._process.wait(120)
        self._guard.leave()

    def _listening(self) -> str | None:
        return next(
            (line for line in self._log.read_text(encoding="utf-8").splitlines() if '"message":"listening"' in line),
            None,
        )


class Program:
    """A Python program in a process of its own, which is forked from one that has ADK loaded: that takes seconds."""

    def __init__(
        self, *command: str, cwd: Path | None = None, env: dict[str, str] | None = None, said: str = ""
    ) -> None:
        """Starts `python COMMAND`, a script or `-m` and a module, and says something to it."""
        self._files = tempfile.TemporaryDirectory()
        self._stdout, self._stderr = (Path(self._files.name, name) for name in ("stdout", "stderr"))
        stdin = Path(self._files.name, "stdin")
        stdin.write_text(said, encoding="utf-8")
        streams = [str(path) for path in (stdin, self._stdout, self._stderr)]
        environment = {**os.environ, **(env or {})}
        self._process = _forks.Process(target=_run, args=(command, str(cwd or Path.cwd()), environment, streams))
        self._process.start()
        assert self._process.pid is not None
        self._guard = Guard(self._process.pid)

    @property
    def is_running(self) -> bool:
        return self._process.is_alive()

    @property
    def output(self) -> str:
        """What it printed so far."""
        return self._stdout.read_text(encoding="utf-8") if self._stdout.exists() else ""

    @property
    def errors(self) -> str:
        return self._stderr.read_text(encoding="utf-8") if self._stderr.exists() else ""

    def wait(self) -> int:
        """Waits for its end, and returns its exit code."""
        self._process.join(120)
        assert self._process.exitcode is not None, self.errors
        self._guard.leave()
        return self._process.exitcode

    def terminate(self) -> None:
        self._process.terminate()
        self.wait()


def run(*command: str, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """Runs such a program to its end."""
    program = Program(*command, env=env)
    code = program.wait()
    return subprocess.CompletedProcess(command, code, program.output, program.errors)


_forks = multiprocessing.get_context("forkserver")
_forks.set_forkserver_preload(
    [
        "tests.support.process",
        "google.adk.runners",
        "google.adk.cli.cli_tools_click",
        # What the importer and its databases need.
        "sessiond_adk",
        "google.adk.sessions.database_session_service",
        "sqlalchemy.dialects.sqlite.aiosqlite",
        "sqlalchemy.dialects.postgresql.asyncpg",
    ]
)


def _run(command: Sequence[str], cwd: str, env: dict[str, str], streams: Sequence[str]) -> None:
    for number, (path, mode) in enumerate(zip(streams, (os.O_RDONLY, os.O_WRONLY, os.O_WRONLY), strict=True)):
        os.dup2(os.open(path, mode | os.O_CREAT), number)
    sys.stdin, sys.stdout, sys.stderr = (
        open(number, mode, closefd=False, encoding="utf-8") for number, mode in enumerate(("r", "w", "w"))
    )
    os.chdir(cwd)
    os.environ.clear()
    os.environ.update(env)
    time.tzset()
    sys.path[:0] = [path for path in env.get("PYTHONPATH", "").split(os.pathsep) if path]
    try:
        if command[0] == "-m":
            sys.path.insert(0, cwd)
            sys.argv = list(command[1:])
            runpy.run_module(command[1], run_name="__main__", alter_sys=True)
        else:
            sys.path.insert(0, str(Path(cwd, command[0]).parent))
            sys.argv = list(command)
            runpy.run_path(command[0], run_name="__main__")
    finally:
        sys.stdout.flush()


@contextmanager
def running(*command: str, url: str, env: dict[str, str] | None = None) -> Iterator[None]:
    """Runs a server that is a Python program, from when `url` answers on."""
    program = Program(*command, env=env)
    try:
        deadline = time.monotonic() + 120
        while True:
            try:
                httpx.get(url).raise_for_status()
                break
            except httpx.HTTPError:
                assert program.is_running and time.monotonic() < deadline, program.errors
                time.sleep(0.05)
        yield
    finally:
        program.terminate()
