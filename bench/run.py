#!/usr/bin/env python3
"""Measures sessiond and its yardsticks in turns, and writes docs/benchmarks.md. Started by scripts/bench."""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

import report
from lab import (
    Load,
    PostgreSQL,
    Sessiond,
    cpu_seconds,
    forget_peak,
    memory,
    pgbench,
    program,
    proportional_memory,
    say,
)

BENCH = Path(__file__).resolve().parent
ROOT = BENCH.parent
YARDSTICKS = BENCH / "yardsticks"
APP, SESSIONS, USERS = "bench", 1024, 256
# Events that each session has before anything is measured, so that there are ten to read.
EVENTS_BEFORE = 20


@dataclass
class Effort:
    """How much is measured. What the targets speak of gets `seconds`, the rest of the grid `grid_seconds`."""

    rounds: int = 5
    seconds: int = 3
    warmup: float = 1.0
    grid_seconds: float = 1.5
    grid_warmup: float = 0.4
    growth_seconds: float = 1
    growth_warmup: float = 0.3
    connections: list[int] = field(default_factory=lambda: [1, 8, 32, 64, 256])
    clients: list[int] = field(default_factory=lambda: [1, 4, 8, 16, 32, 64, 256])
    # Of the second form of the append, and of the read.
    fewer_clients: list[int] = field(default_factory=lambda: [1, 16, 32, 64])
    adk_concurrency: list[int] = field(default_factory=lambda: [8, 64])
    histories: list[int] = field(default_factory=lambda: [100, 1_000, 10_000, 100_000, 1_000_000])
    states: list[int] = field(default_factory=lambda: [10, 100, 1_000, 10_000])
    lists: list[int] = field(default_factory=lambda: [100, 1_000, 10_000, 100_000])
    # A page far back in the longest list, of 100 sessions each.
    far_page: int = 900


QUICK = Effort(
    rounds=1, seconds=1, warmup=0.3, grid_seconds=1, grid_warmup=0.2, growth_seconds=0.5,
    connections=[1, 64], clients=[1, 64], fewer_clients=[1, 64], adk_concurrency=[64], histories=[100, 20_000],
    states=[10, 1_000], lists=[100, 2_000], far_page=20,
)  # fmt: skip

# An event of a long history that is filled in before the measurement. Short, because it is the number that counts.
FILLED_EVENT_BYTES = 256
# How often a whole history is streamed.
STREAMS = 2
# Histories up to this length are made anew each round, since the appends that are measured make them longer.
FRESH_HISTORY = 10_000


class Bench:
    def __init__(self, effort: Effort, arguments: argparse.Namespace, folder: Path):
        self.effort, self.folder = effort, folder
        self.binary, self.adk_rust = arguments.sessiond, arguments.adk_rust
        self.load = Load(arguments.load, SESSIONS, USERS)
        self.results: list[dict] = []
        self.round = 0
        self.postgresql = PostgreSQL(folder)
        self.variables = {"app": APP, "sessions": SESSIONS, "users": USERS}

    # ---- what all measurements do ----

    def rounds(self):
        for number in range(self.effort.rounds):
            self.round = number
            yield

    def note(self, block: str, system: str, result: dict, **what) -> None:
        entry = {"block": block, "round": self.round, "system": system} | what | result
        self.results.append(entry)
        rate = entry.get("rate")
        figures = f"{rate:.0f}/s" if rate is not None else ""
        if "p50" in entry:
            figures += f", p50 {entry['p50'] / 1000:.2f} ms, p99 {entry['p99'] / 1000:.2f} ms"
        trouble = f" ERRORS {entry['errors_by']} {entry.get('failure', '')[-300:]}" if entry.get("errors") else ""
        say(f"  {block} {system} {' '.join(str(value) for value in what.values())}: {figures}{trouble}")

    def server(self, database_url: str) -> Sessiond:
        return Sessiond(self.binary, database_url, self.folder)

    def fresh(self, database: str) -> str:
        return self.postgresql.fresh(database, "prepared")

    def settle(self) -> None:
        self.postgresql.settle()

    def cell(self, block: str, system: str, server: Sessiond, scenario: str, connections: int, long: bool, **options):
        """One scenario at one number of connections."""
        effort = self.effort
        seconds, warmup = (effort.seconds, effort.warmup) if long else (effort.grid_seconds, effort.grid_warmup)
        self.settle()
        result = self.load(server, scenario, connections=connections, seconds=seconds, warmup=warmup, **options)
        self.note(block, system, result, scenario=scenario, connections=connections)
        return result

    def in_turns(self, *sides) -> None:
        """A B in even rounds, B A in odd ones: neither always has what the other left behind."""
        for side in sides if self.round % 2 == 0 else reversed(sides):
            side()

    # ---- preparation ----

    def prepare(self) -> None:
        """The data that every measurement on PostgreSQL begins with, as a template, and the same for SQLite."""
        say("preparing")
        url = self.postgresql.fresh("prepared")
        subprocess.run([self.binary, "migrate", "--database-url", url], check=True, capture_output=True)
        self.postgresql.sql("prepared", file=YARDSTICKS / "setup.sql", variables=self.variables)
        with self.server(url) as server:
            self.load.prepare(server, "fill-each", events=EVENTS_BEFORE, connections=8)
        self.postgresql.sql("prepared", "vacuum analyze")

        self.sqlite_prepared = self.folder / "prepared.db"
        with self.server(f"sqlite://{self.sqlite_prepared}") as server:
            self.load.prepare(server, "setup", connections=8)
            self.load.prepare(server, "fill-each", events=EVENTS_BEFORE, connections=8)

    def fresh_sqlite(self) -> str:
        for old in self.folder.glob("bench.db*"):
            old.unlink()
        for part in self.folder.glob("prepared.db*"):
            if not part.name.endswith(".lock"):
                shutil.copy(part, self.folder / part.name.replace("prepared", "bench"))
        os.sync()
        return f"sqlite://{self.folder / 'bench.db'}"

    # ---- one round ----

    def measure_round(self) -> None:
        self.in_turns(self.appends, self.pgbench_appends)
        self.in_turns(self.reads, self.pgbench_reads)
        self.other_requests()
        self.in_turns(self.costs, self.pgbench_costs)
        self.contention()
        self.in_turns(self.adk_library, self.adk_server, self.adk_rust_library)
        self.in_turns(self.sqlite, self.sqlite_adk)

    def appends(self) -> None:
        with self.server(self.fresh("a")) as server:
            # An answer or two, so that it is the server's own memory and not yet what load makes of it.
            self.load(server, "get-state", seconds=0.2)
            idle = memory(server.pid)["now"]
            for connections in self.effort.connections:
                self.cell("grid", "sessiond", server, "append", connections, long=True)
            self.note("memory", "sessiond", {"idle": idle, "peak": memory(server.pid)["peak"], "errors": 0})

    def pgbench(self, script: str, clients: int) -> dict:
        return pgbench(self.postgresql, "b", YARDSTICKS / script, clients, self.effort.seconds, self.variables)

    def pgbench_appends(self) -> None:
        self.fresh("b")
        for script, counts in (("append.sql", self.effort.clients), ("append_function.sql", self.effort.fewer_clients)):
            for clients in counts:
                self.settle()
                self.note("pgbench", "pgbench", self.pgbench(script, clients), scenario=script, connections=clients)

    def reads(self) -> None:
        with self.server(self.fresh("a")) as server:
            for connections in self.effort.connections:
                self.cell("grid", "sessiond", server, "get-events", connections, long=connections == 32)
            for connections in self.effort.connections:
                self.cell("grid", "sessiond", server, "get-state", connections, long=False)

    def pgbench_reads(self) -> None:
        self.fresh("b")
        for clients in self.effort.fewer_clients:
            self.settle()
            self.note("pgbench", "pgbench", self.pgbench("read.sql", clients), scenario="read.sql", connections=clients)

    def other_requests(self) -> None:
        with self.server(self.fresh("a")) as server:
            for scenario in ("list", "mix", "create"):
                for connections in self.effort.connections:
                    self.cell("grid", "sessiond", server, scenario, connections, long=False)

    def costs(self) -> None:
        """Appends, with all that they cost. Warm: after a checkpoint, the first change of each page logs all of it."""
        with self.server(self.fresh("a")) as server:
            self.settle()
            self.load(server, "append", connections=64, seconds=self.effort.seconds)
            before = self.postgresql.cpu_seconds(), cpu_seconds(server.pid), self.postgresql.wal_bytes()
            result = self.load(server, "append", connections=64, seconds=self.effort.seconds)
            after = self.postgresql.cpu_seconds(), cpu_seconds(server.pid), self.postgresql.wal_bytes()
            self.note_costs("sessiond", before, after, result)

    def pgbench_costs(self) -> None:
        self.fresh("b")
        self.settle()
        self.pgbench("append.sql", 64)
        before = self.postgresql.cpu_seconds(), 0.0, self.postgresql.wal_bytes()
        result = self.pgbench("append.sql", 64)
        after = self.postgresql.cpu_seconds(), 0.0, self.postgresql.wal_bytes()
        self.note_costs("pgbench", before, after, result)

    def note_costs(self, system: str, before: tuple, after: tuple, result: dict) -> None:
        postgresql, server, wal = (b - a for a, b in zip(before, after, strict=True))
        costs = {"postgresql_cpu": postgresql, "server_cpu": server, "wal_bytes": wal}
        costs["postgresql_memory"] = proportional_memory(self.postgresql.process.pid)
        self.note("costs", system, result | costs)

    def contention(self) -> None:
        with self.server(self.fresh("a")) as server:
            for scenario in ("append", "append-own", "append-one-session", "append-one-app-key", "append-app-keys"):
                self.cell("contention", "sessiond", server, scenario, 64, long=True)

    def adk(self, system: str, command: list, database_option: str, make_database) -> None:
        """Appends by somebody else, who prints a result in the form of the load generator."""
        for concurrency in self.effort.adk_concurrency:
            more = [database_option, make_database(), "--seconds", self.effort.seconds, "--concurrency", concurrency]
            more += ["--sessions", SESSIONS, "--users", USERS]
            self.settle()
            result = program([str(part) for part in [*command, *more]], timeout=180)
            self.note("yardsticks", system, result, scenario="append", connections=concurrency)

    def asyncpg_database(self) -> str:
        return self.postgresql.fresh("b").replace("postgres://", "postgresql+asyncpg://")

    def adk_library(self) -> None:
        command = [YARDSTICKS / "python", YARDSTICKS / "adk_library.py", "--service", "database"]
        self.adk("google-adk library", command, "--url", self.asyncpg_database)

    def adk_server(self) -> None:
        command = [YARDSTICKS / "python", YARDSTICKS / "adk_server.py", "--drive"]
        self.adk("google-adk server", command, "--session-service-uri", self.asyncpg_database)

    def adk_rust_library(self) -> None:
        if self.adk_rust:
            self.adk("adk-rust library", [self.adk_rust], "--url", lambda: self.postgresql.fresh("b"))

    def sqlite(self) -> None:
        with self.server(self.fresh_sqlite()) as server:
            for connections in self.effort.connections:
                self.cell("sqlite", "sessiond", server, "append", connections, long=connections == 64)
            for connections in (1, 64):
                for scenario in ("get-state", "get-events"):
                    self.cell("sqlite", "sessiond", server, scenario, connections, long=False)

    def sqlite_adk(self) -> None:
        def new_file() -> Path:
            for old in self.folder.glob("adk.db*"):
                old.unlink()
            return self.folder / "adk.db"

        command = [YARDSTICKS / "python", YARDSTICKS / "adk_library.py", "--service", "sqlite"]
        self.adk("google-adk SqliteSessionService", command, "--path", new_file)

    # ---- after the rounds ----

    def open_loop(self) -> None:
        """Half of the best median rate that the rounds found, at fixed times."""
        rates = {scenario: report.peak(self.results, scenario) / 2 for scenario in ("append", "get-events", "mix")}
        for _ in self.rounds():
            with self.server(self.fresh("a")) as server:
                for scenario, rate in rates.items():
                    if rate:
                        self.cell("open", "sessiond", server, scenario, 64, long=True, rate=round(rate, 1))

    def growth(self) -> None:
        """What costs more as there is more: of one session's history, of its state, of the sessions of an app."""
        effort, fill = self.effort, {"body_bytes": FILLED_EVENT_BYTES}
        url = self.fresh("a")
        with self.server(url) as server:
            for events in effort.histories:
                if events > FRESH_HISTORY or events == effort.histories[-1]:
                    self.filled(server, "fill-history", events, events=events, connections=2, **fill)
            for count in effort.lists:
                self.filled(server, "fill-sessions", count, count=count, connections=32, app=f"list{count}")
        self.postgresql.sql("a", "vacuum analyze")
        self.streaming(url)
        with self.server(url) as server:
            for _ in self.rounds():
                for events in effort.histories:
                    session = f"h{events}"
                    if events <= FRESH_HISTORY:
                        session += f"-{self.round}"
                        self.load.prepare(server, "fill-history", events=events, session=session, **fill)
                    for scenario in ("get-state", "get-events", "append"):
                        self.grown(server, "history", events, scenario, session=session, user="u0")
                for keys in effort.states:
                    session = f"k{keys}-{self.round}"
                    self.load.prepare(server, "fill-state", keys=keys, session=session)
                    for scenario in ("get-state", "append"):
                        self.grown(server, "state", keys, scenario, session=session, user="u0")
                for count in effort.lists:
                    self.grown(server, "sessions", count, "list", app=f"list{count}")
                self.grown(server, "far page", count, "list", app=f"list{count}", walk=effort.far_page)

    def filled(self, server: Sessiond, scenario: str, size: int, **options) -> None:
        result = self.load.prepare(server, scenario, **options)
        self.note("fill", "sessiond", result, scenario=scenario, size=size)

    def grown(self, server: Sessiond, grows: str, size: int, scenario: str, **options) -> None:
        self.settle()
        seconds, warmup = self.effort.growth_seconds, self.effort.growth_warmup
        result = self.load(server, scenario, connections=1, seconds=seconds, warmup=warmup, **options)
        self.note("growth", "sessiond", result, grows=grows, size=size, scenario=scenario)

    def streaming(self, url: str) -> None:
        """The longest history, read whole. Of some rounds only: it is long, and its memory hardly differs."""
        events = self.effort.histories[-1]
        for number in range(min(STREAMS, self.effort.rounds)):
            self.round = number
            with self.server(url) as server:
                self.load(server, "get-state", seconds=0.2)
                idle = memory(server.pid)["now"]
                forget_peak(server.pid)
                result = self.load(server, "stream", session=f"h{events}", user="u0")
                sizes = {"idle": idle, "peak": memory(server.pid)["peak"]}
                self.note("streaming", "sessiond", result | sizes, size=events)

    def run(self) -> None:
        self.prepare()
        for _ in self.rounds():
            say(f"round {self.round + 1} of {self.effort.rounds}")
            self.measure_round()
        say("open loop")
        self.open_loop()
        say("growth")
        self.growth()


# ---- facts -----------------------------------------------------------------------------------------------------------


def output(*command) -> str:
    try:
        return subprocess.run([str(part) for part in command], capture_output=True, text=True, cwd=ROOT).stdout.strip()
    except OSError:
        return ""


def adk_rust_version() -> str:
    found = re.search(r'^adk-session = .*"=?([\d.]+)"', (YARDSTICKS / "adk_rust/Cargo.toml").read_text(), re.M)
    return found[1] if found else "of unknown version"


def facts(bench: Bench, arguments: argparse.Namespace) -> dict:
    cpu = re.search(r"^model name\s*: (.*)", Path("/proc/cpuinfo").read_text(), re.M)
    packages = "import importlib.metadata as m; print(m.version('google-adk'))"
    changed = output("git", "status", "--porcelain", "--", "src", "migrations", "Cargo.toml", "Cargo.lock", "bench")
    return {
        "date": time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()),
        "quick": arguments.quick,
        "commit": output("git", "rev-parse", "--short=12", "HEAD") + (", with changes" if changed else ""),
        "cpu": cpu[1] if cpu else platform.machine(),
        "cores": os.cpu_count(),
        "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
        "kernel": platform.release(),
        "filesystem": output("stat", "-f", "-c", "%T", bench.folder),
        "postgresql": bench.postgresql.version,
        "settings": bench.postgresql.settings,
        "sync_method": bench.postgresql.sync_method(),
        "sync_microseconds": bench.postgresql.sync_times(),
        "rustc": output("rustc", "--version"),
        "sessiond": output(arguments.sessiond, "--version"),
        "google_adk": output(YARDSTICKS / "python", "-c", packages),
        "adk_rust": adk_rust_version() if arguments.adk_rust else "",
        "load_average": os.getloadavg()[0],
        "app_sessions": SESSIONS,
        "app_users": USERS,
        "events_before": EVENTS_BEFORE,
        "filled_event_bytes": FILLED_EVENT_BYTES,
        "effort": vars(bench.effort),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sessiond", type=Path, help="the binary")
    parser.add_argument("--load", type=Path, help="the binary of bench/load")
    parser.add_argument("--adk-rust", type=Path, help="the binary of bench/yardsticks/adk_rust, if it is there")
    parser.add_argument("--out", type=Path, default=ROOT / "docs", help="where benchmarks.md goes")
    parser.add_argument("--quick", action="store_true", help="one short round, whose figures mean nothing")
    parser.add_argument("--large", action="store_true", help="lists of up to 1,000,000 sessions too")
    parser.add_argument("--report", action="store_true", help="only write the document anew, from results.json")
    arguments = parser.parse_args()

    results = arguments.out / "benchmarks" / "results.json"
    if not arguments.report:
        if not arguments.sessiond or not arguments.load:
            parser.error("--sessiond and --load are needed: scripts/bench builds them")
        arguments.sessiond, arguments.load = arguments.sessiond.resolve(), arguments.load.resolve()
        effort = QUICK if arguments.quick else Effort()
        if arguments.large:
            effort.lists.append(1_000_000)
        # On a disk, not in memory, which /tmp may be.
        parent = os.environ.get("BENCH_DIR", "/var/tmp")
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
        with tempfile.TemporaryDirectory(prefix="sessiond-bench-", dir=parent) as folder:
            started = time.monotonic()
            bench = Bench(effort, arguments, Path(folder))
            try:
                known = facts(bench, arguments)
                bench.run()
            except BaseException:
                left = Path(tempfile.gettempdir()) / "sessiond-bench-unfinished.json"
                left.write_text(json.dumps(bench.results))
                say(f"not finished; what was measured is in {left}")
                raise
            finally:
                bench.postgresql.stop()
            known["minutes"] = round((time.monotonic() - started) / 60, 1)
        results.parent.mkdir(parents=True, exist_ok=True)
        # One line for each measurement, so that a diff of two runs can be read.
        lines = ",\n".join(json.dumps(result) for result in bench.results)
        results.write_text(f'{{"facts": {json.dumps(known)},\n"results": [\n{lines}\n]}}\n')
    report.write(json.loads(results.read_text()), arguments.out)
    say(f"written: {arguments.out / 'benchmarks.md'}")


if __name__ == "__main__":
    main()
