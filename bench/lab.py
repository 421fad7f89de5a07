"""What the benchmark measures with: a PostgreSQL of its own, sessiond, the load generator, pgbench, other programs.

Linux only: CPU time and memory are read from /proc, and a child dies with its parent.
"""

from __future__ import annotations

import contextlib
import ctypes
import glob
import http.client
import json
import os
import pwd
import re
import resource
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

TICKS = os.sysconf("SC_CLK_TCK")
# How long anything may take to start or to end.
PATIENCE = 60
# What sessiond sets for its own connections to PostgreSQL (Postgres::open): pgbench gets it too, so that both have the
# same plans.
PLANS = {
    "plan_cache_mode": "force_generic_plan",
    "enable_seqscan": "off",
    "enable_hashjoin": "off",
    "enable_mergejoin": "off",
    "jit": "off",
}

_prctl = ctypes.CDLL(None, use_errno=True).prctl


def say(text: str) -> None:
    print(f"{time.strftime('%H:%M:%S')} {text}", file=sys.stderr, flush=True)


def dies_with_us(signal_number: int):
    """For `preexec_fn`: the child gets this signal when this process ends, be it by SIGKILL."""
    PR_SET_PDEATHSIG = 1
    return lambda: _prctl(PR_SET_PDEATHSIG, signal_number)


def free_port() -> int:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def settings_removed() -> dict[str, str]:
    """The environment without what would change the settings of what is measured."""
    foreign = ("SESSIOND_", "PG")
    return {k: v for k, v in os.environ.items() if not k.startswith(foreign) and k not in ("DATABASE_URL", "RUST_LOG")}


# ---- processes -------------------------------------------------------------------------------------------------------


def cpu_seconds(pid: int) -> float:
    """User and system time of a process and all below it, those that have ended included."""
    children: dict[int, list[int]] = {}
    own: dict[int, float] = {}
    for path in glob.glob("/proc/[0-9]*/stat"):
        try:
            text = Path(path).read_text()
        except OSError:
            continue  # ended meanwhile
        fields = text[text.rindex(")") + 2 :].split()
        process, parent = int(text.split(" ", 1)[0]), int(fields[1])
        children.setdefault(parent, []).append(process)
        # utime and stime, and both of the children that were waited for.
        own[process] = sum(int(field) for field in fields[11:15]) / TICKS
    total, todo = 0.0, [pid]
    while todo:
        process = todo.pop()
        total += own.get(process, 0.0)
        todo += children.get(process, [])
    return total


def running_time(pid: int) -> int:
    """Nanoseconds that the threads of a process and of its children have run, of those that are still there."""
    total = 0
    for path in glob.glob("/proc/[0-9]*/stat"):
        with contextlib.suppress(OSError):  # ended meanwhile
            text = Path(path).read_text()
            if pid in (int(text.split(" ", 1)[0]), int(text[text.rindex(")") + 2 :].split()[1])):
                total += sum(int(Path(task).read_text().split()[0]) for task in glob.glob(path[: -len("stat")] + "task/*/schedstat"))
    return total


def memory(pid: int) -> dict[str, int]:
    """Resident bytes now, and the peak since the start or the last `forget_peak`."""
    status = Path(f"/proc/{pid}/status").read_text()
    kib = {name: int(value) for name, value in re.findall(r"^(VmRSS|VmHWM):\s+(\d+) kB", status, re.M)}
    return {"now": kib["VmRSS"] * 1024, "peak": kib["VmHWM"] * 1024}


def forget_peak(pid: int) -> None:
    Path(f"/proc/{pid}/clear_refs").write_text("5")


def proportional_memory(pid: int) -> int:
    """Bytes of a process and its children, with what they share counted once."""
    pids = [pid] + [int(p) for p in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    total = 0
    for process in pids:
        try:
            rollup = Path(f"/proc/{process}/smaps_rollup").read_text()
        except OSError:
            continue
        total += int(re.search(r"^Pss:\s+(\d+) kB", rollup, re.M)[1]) * 1024
    return total


# ---- PostgreSQL ------------------------------------------------------------------------------------------------------


def postgresql_programs() -> Path:
    """The folder with initdb and the others, found as the tests find it."""
    candidates = []
    if shutil.which("pg_config"):
        candidates.append(subprocess.run(["pg_config", "--bindir"], capture_output=True, text=True).stdout.strip())
    versions = glob.glob("/usr/lib/postgresql/*/bin") + glob.glob("/usr/pgsql-*/bin")
    candidates += sorted(versions, key=lambda path: int(re.search(r"(\d+)/bin$", path)[1]), reverse=True)
    candidates += os.environ["PATH"].split(":")
    for folder in map(Path, candidates):
        if all((folder / program).is_file() for program in ("initdb", "postgres", "pgbench", "psql")):
            return folder
    raise SystemExit("PostgreSQL with pgbench is not found: apt-get install postgresql")


class PostgreSQL:
    """A server of its own, durable as a real one: fsync and synchronous_commit are on."""

    def __init__(self, folder: Path):
        self.programs = postgresql_programs()
        self.folder = folder / "postgresql"
        self.folder.mkdir()
        # PostgreSQL refuses to be root.
        self.user: dict = {}
        if os.getuid() == 0:
            try:
                entry = pwd.getpwnam("postgres")
            except KeyError:
                entry = pwd.getpwnam("nobody")
            self.user = {"user": entry.pw_uid, "group": entry.pw_gid, "extra_groups": []}
            os.chown(self.folder, entry.pw_uid, entry.pw_gid)
            folder.chmod(0o711)
        self._run("initdb", "-D", "data", "-U", "postgres", "--auth=trust", "--encoding=UTF8", "--locale=C")
        self.start()

    def start(self, other_settings: dict[str, str] | None = None, group=None, port: int | None = None) -> None:
        """Starts it, again with other settings, in a control group of the caller's, on a port that it had."""
        data = self.folder / "data"
        total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
        self.settings = {
            "fsync": "on",
            "synchronous_commit": "on",
            "full_page_writes": "on",
            "shared_buffers": f"{min(1024, total // 4 // 2**20)}MB",
            "max_wal_size": "8GB",
            "checkpoint_timeout": "30min",
            "max_connections": "300",
            # Of a disk that does not turn.
            "random_page_cost": "1.1",
        } | (other_settings or {})
        self.port = port or free_port()
        log = open(self.folder / "log", "wb")
        command = [self.programs / "postgres", "-D", data, "-p", str(self.port), "-k", self.folder]
        for name, value in (self.settings | {"listen_addresses": "127.0.0.1"}).items():
            command += ["-c", f"{name}={value}"]
        self.process = subprocess.Popen(
            command, cwd=self.folder, env=settings_removed(), stdin=subprocess.DEVNULL, stdout=log, stderr=log,
            preexec_fn=dies_with_us(signal.SIGINT), start_new_session=True, **self.user,
        )  # fmt: skip
        deadline = time.monotonic() + PATIENCE
        while True:
            try:
                self.version = self.sql("postgres", "show server_version")
                break
            except subprocess.CalledProcessError as error:
                if self.process.poll() is not None or time.monotonic() > deadline:
                    raise SystemExit("PostgreSQL does not start:\n" + (self.folder / "log").read_text()) from error
                time.sleep(0.1)
        if group:
            children = Path(f"/proc/{self.process.pid}/task/{self.process.pid}/children").read_text().split()
            for process in [self.process.pid, *map(int, children)]:
                group.take(process)

    def _run(self, program: str, *arguments) -> str:
        done = subprocess.run(
            [self.programs / program, *arguments], cwd=self.folder, env=settings_removed(), capture_output=True,
            text=True, **self.user,
        )  # fmt: skip
        if done.returncode != 0:
            raise SystemExit(f"{program} failed:\n{done.stdout}{done.stderr}")
        return done.stdout

    def url(self, database: str) -> str:
        return f"postgres://postgres@127.0.0.1:{self.port}/{database}"

    def sql(self, database: str, *statements: str, variables: dict | None = None, file: Path | None = None) -> str:
        command = [self.programs / "psql", "-X", "-q", "-A", "-t", "-v", "ON_ERROR_STOP=1", "-d", self.url(database)]
        for name, value in (variables or {}).items():
            command += ["-v", f"{name}={value}"]
        for statement in statements:
            command += ["-c", statement]
        if file:
            command += ["-f", file]
        done = subprocess.run(command, check=True, capture_output=True, text=True, env=settings_removed())
        return done.stdout.strip()

    def fresh(self, database: str, template: str = "template0") -> str:
        """The URL of a database made anew as a copy of another."""
        self.drop(database)
        self.sql("postgres", f"create database {database} template {template}")
        self.settle(written_much=True)
        return self.url(database)

    def drop(self, database: str) -> None:
        self.sql("postgres", f"drop database if exists {database} with (force)")

    def settle(self, written_much: bool = False) -> None:
        """No measurement pays for what came before it: for what was left to be written, and, after large files were
        written, for a disk that is still busy with them."""
        if written_much:
            os.sync()
        self.sql("postgres", "checkpoint")
        time.sleep(1 if written_much else 0.3)

    def wal_bytes(self) -> int:
        return int(self.sql("postgres", "select pg_wal_lsn_diff(pg_current_wal_lsn(), '0/0')::bigint"))

    def cpu_seconds(self) -> float:
        return cpu_seconds(self.process.pid)

    def sync_method(self) -> str:
        return self.sql("postgres", "show wal_sync_method")

    def sync_times(self) -> dict[str, float]:
        """Microseconds of one 8 kB write that is synchronised to disk, by method, from pg_test_fsync."""
        target = self.folder / "sync-test"
        process = subprocess.Popen(
            [self.programs / "pg_test_fsync", "-s", "1", "-f", target], cwd=self.folder, stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL, text=True, **self.user,
        )  # fmt: skip
        times: dict[str, float] = {}
        for line in process.stdout:
            if line.startswith("Compare file sync methods using two"):
                break  # the rest is about larger writes
            if found := re.match(r"\s+(\w+)\s+[\d.]+ ops/sec\s+(\d+) usecs/op", line):
                times[found[1]] = float(found[2])
        process.terminate()
        process.wait()
        return times

    def stop(self) -> None:
        end(self.process, signal.SIGINT)


def frames(answer: http.client.HTTPResponse) -> Iterator[dict[str, str]]:
    """The fields of each frame of a stream, and nothing for a comment, until it ends."""
    fields: dict[str, str] = {}
    while line := answer.readline():
        if text := line.decode().rstrip("\r\n"):
            name, _, value = text.partition(": ")
            fields[name] = value
        else:
            yield fields
            fields = {}


def end(process: subprocess.Popen, signal_number: int = signal.SIGTERM) -> None:
    if process.poll() is None:
        process.send_signal(signal_number)
        try:
            process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


# ---- sessiond and its load -------------------------------------------------------------------------------------------


class Sessiond:
    """A running server, with the settings that it has by default and those given. To be used in a `with`."""

    def __init__(self, binary: Path, database_url: str, folder: Path, *settings: str):
        log = folder / "sessiond.log"
        log.unlink(missing_ok=True)
        self.log = log
        with open(log, "wb") as out:
            self.process = subprocess.Popen(
                [binary, "serve", "--database-url", database_url, "--listen", "127.0.0.1:0", "--metrics-listen", "off",
                 "--log-format", "json", *settings],
                cwd=folder, env=settings_removed(), stdin=subprocess.DEVNULL, stdout=out, stderr=out,
                preexec_fn=dies_with_us(signal.SIGKILL),
            )  # fmt: skip
        self.pid = self.process.pid
        deadline = time.monotonic() + PATIENCE
        while True:
            ended = self.process.poll() is not None
            found = re.search(r'"message":"listening","address":"(127\.0\.0\.1:\d+)"', log.read_text())
            if found:
                break
            if ended or time.monotonic() > deadline:
                raise SystemExit("sessiond does not start:\n" + log.read_text()[-2000:])
            time.sleep(0.02)
        self.url = "http://" + found[1]

    def __enter__(self) -> Sessiond:
        return self

    def __exit__(self, *_) -> None:
        end(self.process)


def exchange(
    to: http.client.HTTPConnection,
    method: str,
    path: str,
    body: str | bytes | None = None,
    content_type: str | None = "application/json",
) -> bytes:
    """The body of an answer, which has to be a success."""
    to.request(method, path, body, {"content-type": content_type} if body and content_type else {})
    answer = to.getresponse()
    text = answer.read()
    if answer.status >= 300:
        raise SystemExit(f"{method} {path}: {answer.status} {text[:500]!r}")
    return text


class Load:
    """The load generator."""

    def __init__(self, binary: Path, sessions: int, users: int):
        self.binary = binary
        self.common = {"sessions": sessions, "users": users}

    def __call__(self, server: Sessiond, scenario: str, **options) -> dict:
        command = [self.binary, "--url", server.url, "--scenario", scenario]
        for name, value in (self.common | options).items():
            command += ["--" + name.replace("_", "-"), str(value)]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            return failure(done.stderr)
        return json.loads(done.stdout)

    def prepare(self, server: Sessiond, scenario: str, **options) -> dict:
        """For what the measurements stand on. Tried again, as what is filled twice is there once."""
        for _ in range(3):
            result = self(server, scenario, **options)
            if not result["errors"]:
                return result
            say(f"  {scenario} {options}: {result['errors_by']}, again")
        raise SystemExit(f"{scenario} {options} failed: {result}\n{server.log.read_text()[-2000:]}")


def failure(text: str) -> dict:
    """A measurement that did not come about, as a result: it counts as an error and has no figures."""
    return {"errors": 1, "errors_by": {"failed": 1}, "failure": text.strip()[-1000:]}


def pgbench(postgresql: PostgreSQL, database: str, script: Path, clients: int, seconds: int, variables: dict) -> dict:
    """Runs a script of one transaction. The first second is not counted: sessiond is warm when it is measured, too."""
    threads = min(clients, 2, os.cpu_count() or 1)
    command = [postgresql.programs / "pgbench", "-n", "-M", "prepared", "-P", "1", "-f", script]
    # Of the last second, there is no line on a busy machine.
    command += ["-c", str(clients), "-j", str(threads), "-T", str(max(seconds + 1, 3))]
    for name, value in variables.items():
        command += ["-D", f"{name}={value}"]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    environment = settings_removed() | {"PGOPTIONS": " ".join(f"-c {name}={value}" for name, value in PLANS.items())}
    done = subprocess.run([*command, postgresql.url(database)], capture_output=True, text=True, env=environment)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    progress = re.findall(r"^progress: ([\d.]+) s, ([\d.]+) tps, lat ([\d.]+) ms", done.stderr, re.M)
    failed = re.search(r"number of failed transactions: (\d+)", done.stdout)
    processed = re.search(r"number of transactions actually processed: (\d+)", done.stdout)
    whole = re.search(r"tps = ([\d.]+) \(without initial connection time\)", done.stdout)
    if done.returncode != 0 or len(progress) < 2 or not (failed and processed and whole):
        return failure(done.stdout + done.stderr)
    rates = [float(rate) for _, rate, _ in progress[1:]]
    # Each second's mean counts by its transactions.
    mean = sum(float(rate) * float(latency) for _, rate, latency in progress[1:]) / max(sum(rates), 1e-9)
    errors = int(failed[1])
    return {
        "rate": sum(rates) / len(rates),
        "mean": mean * 1000,
        "rate_with_first_second": float(whole[1]),
        "requests": int(processed[1]) + errors,
        "errors": errors,
        "errors_by": {"failed": errors} if errors else {},
        "cpu_seconds": after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
    }


def program(command: list, timeout: float) -> dict:
    """Runs another yardstick, whose last line is its result in the form of the load generator's."""
    try:
        process = subprocess.Popen(
            command, env=settings_removed(), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            text=True, preexec_fn=dies_with_us(signal.SIGTERM),
        )  # fmt: skip
        try:
            out, err = process.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            end(process)
            return failure(f"no result after {timeout} s")
        lines = out.strip().splitlines()
        if process.returncode != 0 or not lines:
            return failure(out + err)
        return json.loads(lines[-1])
    except (OSError, ValueError) as error:
        return failure(str(error))
