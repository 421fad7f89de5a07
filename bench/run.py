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
from collections.abc import Callable, Iterator
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
    """How much is measured. What the targets speak of gets `rounds` of `seconds`, the rest `other_rounds` of
    `other_seconds`."""

    rounds: int = 5
    seconds: int = 2
    warmup: float = 1.0
    other_rounds: int = 3
    other_seconds: float = 0.8
    other_warmup: float = 0.2
    growth_seconds: float = 0.5
    growth_warmup: float = 0.2
    connections: list[int] = field(default_factory=lambda: [1, 8, 32, 64, 256])
    # The best of these is the peak; the last, times `report.OVERLOAD`, is more than the service has places for.
    peak_connections: list[int] = field(default_factory=lambda: [64, 128, 256])
    # Of pgbench: it is compared at its best, so it is asked for it in every round.
    clients: list[int] = field(default_factory=lambda: [1, 8, 16, 32, 64])
    reading_clients: list[int] = field(default_factory=lambda: [8, 16, 32])
    # Of the ADKs, which take most of their time to start and to make their sessions. What the targets speak of is
    # measured with the last number in the rounds of the targets, and with the others in those of the rest.
    adk_concurrency: list[int] = field(default_factory=lambda: [8, 64])
    histories: list[int] = field(default_factory=lambda: [100, 1_000, 10_000, 100_000, 1_000_000])
    states: list[int] = field(default_factory=lambda: [10, 100, 1_000, 10_000])
    lists: list[int] = field(default_factory=lambda: [100, 1_000, 10_000, 100_000])
    # A page far back in the longest list, of 100 sessions each.
    far_page: int = 900


QUICK = Effort(
    rounds=1, seconds=1, warmup=0.1, other_rounds=1, other_seconds=0.2, other_warmup=0.1, growth_seconds=0.2, growth_warmup=0.1,
    connections=[1, 32, 64, 256], peak_connections=[64, 256], clients=[1, 16, 64], reading_clients=[16], adk_concurrency=[64],
    histories=[100, 2_000], states=[10, 100], lists=[100, 500], far_page=4,
)  # fmt: skip

# Of what is measured over several numbers of connections, those that the targets speak of.
TARGET_CONNECTIONS = {("grid", "append"): (1, 64, 256), ("grid", "get-events"): (32,), ("sqlite", "append"): (64,)}

# An event of a long history that is filled in before the measurement. Short, because it is the number that counts.
FILLED_EVENT_BYTES = 256
FILL = {"body_bytes": FILLED_EVENT_BYTES}
# How often a whole history is streamed.
STREAMS = 2
# Histories up to this length are made anew each round, since the appends that are measured make them longer.
FRESH_HISTORY = 10_000


class OutOfTime(Exception):
    """What was measured is reported; the rest is said not to be measured."""


class Bench:
    def __init__(self, effort: Effort, arguments: argparse.Namespace, folder: Path, keep: Callable[[list], None]):
        """`keep` is called with all results whenever there is one more."""
        self.effort, self.folder, self.keep = effort, folder, keep
        self.deadline = time.monotonic() + arguments.minutes * 60
        self.binary, self.adk_rust = arguments.sessiond, arguments.adk_rust
        self.load = Load(arguments.load, SESSIONS, USERS)
        self.results: list[dict] = []
        self.round = 0
        # Whether it is of what no target speaks of.
        self.other = False
        self.postgresql = PostgreSQL(folder)
        self.variables = {"app": APP, "sessions": SESSIONS, "users": USERS}

    # ---- what all measurements do ----

    def rounds(self, count: int, of: str) -> Iterator[None]:
        for number in range(count):
            self.round = number
            say(f"{of}, round {number + 1} of {count}")
            yield

    def note(self, block: str, system: str, result: dict, **what) -> None:
        entry = {"block": block, "round": self.round, "system": system} | what | result
        self.results.append(entry)
        self.keep(self.results)
        rate = entry.get("rate")
        figures = f"{rate:.0f}/s" if rate is not None else ""
        if "p50" in entry:
            figures += f", p50 {entry['p50'] / 1000:.2f} ms, p99 {entry['p99'] / 1000:.2f} ms"
        trouble = f" ERRORS {entry['errors_by']} {entry.get('failure', '')[-300:]}" if entry.get("errors") else ""
        say(f"  {block} {system} {' '.join(str(value) for value in what.values())}: {figures}{trouble}")

    def server(self, database_url: str) -> Sessiond:
        return Sessiond(self.binary, database_url, self.folder)

    def fresh(self, database: str) -> str:
        """The URL of a new copy of what was prepared."""
        return self.postgresql.fresh(database, "prepared")

    def settle(self, written_much: bool = False) -> None:
        """Called before each measurement."""
        if time.monotonic() > self.deadline:
            raise OutOfTime
        self.postgresql.settle(written_much)

    def cell(self, block: str, system: str, server: Sessiond, scenario: str, connections: int, **options):
        """One scenario at one number of connections."""
        effort = self.effort
        seconds, warmup = (effort.other_seconds, effort.other_warmup) if self.other else (effort.seconds, effort.warmup)
        self.settle()
        before = cpu_seconds(server.pid), self.postgresql.cpu_seconds()
        result = self.load(server, scenario, connections=connections, seconds=seconds, warmup=warmup, **options)
        after = cpu_seconds(server.pid), self.postgresql.cpu_seconds()
        # What is not counted as a request took processor time, too.
        requests = result["rate"] * (seconds + warmup)
        if requests:
            result["server_us"], result["database_us"] = (
                (late - early) * 1e6 / requests for early, late in zip(before, after, strict=True)
            )
        if block.startswith("sqlite"):
            result.pop("database_us", None)
        self.note(block, system, result, scenario=scenario, connections=connections)
        return result

    def cells(self, block: str, server: Sessiond, *scenarios: str) -> None:
        """Scenarios at those numbers of connections that the targets speak of, or else at the others."""
        for scenario in scenarios:
            for connections in self.effort.connections:
                if self.other != (connections in TARGET_CONNECTIONS.get((block, scenario), ())):
                    self.cell(block, "sessiond", server, scenario, connections)

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
        # Nobody writes to this copy, so it need not be made anew.
        self.reading_url = self.fresh("reading")

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
        self.settle(written_much=True)
        return f"sqlite://{self.folder / 'bench.db'}"

    # ---- what the targets speak of ----

    def measure_targets(self) -> None:
        self.in_turns(self.appends, self.pgbench_appends)
        self.in_turns(self.reads, self.pgbench_reads)
        self.contention("append", "append-one-session")
        self.in_turns(self.adk_server, self.adk_rust_library)
        self.in_turns(self.sqlite, self.sqlite_adk)
        self.overload()
        self.growth()

    def overload(self) -> None:
        """Appends at the peak, and then by clients that send again at once what was refused. Of one server, one after
        the other, so that what else the machine does meanwhile is in both."""
        for database, url in (("PostgreSQL", lambda: self.fresh("a")), ("SQLite", self.fresh_sqlite)):
            with self.server(url()) as server:
                # What has just been started, or copied, is slower.
                self.load(server, "append", connections=64, seconds=self.effort.warmup)
                peaks = {}
                for connections in self.effort.peak_connections:
                    self.settle()
                    result = self.load(
                        server, "append", connections=connections, seconds=self.effort.seconds, warmup=0.3
                    )
                    peaks[connections] = result.get("rate", 0)
                connections *= report.OVERLOAD
                self.settle()
                # Longer, as it takes a while until all are connected.
                result = self.load(
                    server, "append", connections=connections, seconds=2 * self.effort.seconds, warmup=1.5
                )
                refused = result["errors_by"].pop("503", 0)
                result["errors"] -= refused
                result |= {"peak": max(peaks.values()), "refused": refused / result.get("seconds", 1)}
                self.note("overload", "sessiond", result, database=database, connections=connections)

    def appends(self) -> None:
        with self.server(self.fresh("a")) as server:
            # An answer or two, so that it is the server's own memory and not yet what load makes of it.
            self.load(server, "get-state", seconds=0.2)
            idle = memory(server.pid)["now"]
            self.cells("grid", server, "append")
            if not self.other:
                self.note("memory", "sessiond", {"idle": idle, "peak": memory(server.pid)["peak"], "errors": 0})

    def pgbench(self, script: str, clients: int, database: str = "b") -> dict:
        before = self.postgresql.cpu_seconds()
        result = pgbench(self.postgresql, database, YARDSTICKS / script, clients, self.effort.seconds, self.variables)
        # One that failed has no rate.
        if requests := result.get("requests"):
            result["database_us"] = (self.postgresql.cpu_seconds() - before) * 1e6 / requests
        return result

    def pgbench_appends(self) -> None:
        """Both forms at every number of clients, as sessiond is compared with the best of them."""
        self.fresh("b")
        for clients in self.effort.clients:
            for script in ("append.sql", "append_function.sql"):
                self.settle()
                self.note("pgbench", "pgbench", self.pgbench(script, clients), scenario=script, connections=clients)

    def reads(self) -> None:
        with self.server(self.reading_url) as server:
            self.cells("grid", server, "get-events")

    def pgbench_reads(self) -> None:
        for clients in self.effort.reading_clients:
            self.settle()
            result = self.pgbench("read.sql", clients, "reading")
            self.note("pgbench", "pgbench", result, scenario="read.sql", connections=clients)

    # ---- the rest ----

    def measure_others(self) -> None:
        self.other = True
        self.appends()
        with self.server(self.reading_url) as server:
            self.cells("grid", server, "get-events", "get-state")
        with self.server(self.fresh("a")) as server:
            self.cells("grid", server, "list", "mix", "create")
        self.in_turns(self.costs, self.pgbench_costs)
        self.contention("append-own", "append-one-app-key", "append-app-keys")
        self.in_turns(self.adk_library, self.adk_server, self.adk_rust_library, self.sqlite_adk)
        with self.server(self.fresh_sqlite()) as server:
            self.cells("sqlite", server, "append")
            for scenario in ("get-state", "get-events"):
                for connections in (1, 64):
                    self.cell("sqlite", "sessiond", server, scenario, connections)
        self.growth()

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
        self.pgbench("append_function.sql", 64)
        before = self.postgresql.cpu_seconds(), 0.0, self.postgresql.wal_bytes()
        result = self.pgbench("append_function.sql", 64)
        after = self.postgresql.cpu_seconds(), 0.0, self.postgresql.wal_bytes()
        self.note_costs("pgbench", before, after, result)

    def note_costs(self, system: str, before: tuple, after: tuple, result: dict) -> None:
        postgresql, server, wal = (b - a for a, b in zip(before, after, strict=True))
        costs = {"postgresql_cpu": postgresql, "server_cpu": server, "wal_bytes": wal}
        costs["postgresql_memory"] = proportional_memory(self.postgresql.process.pid)
        self.note("costs", system, result | costs)

    def contention(self, *scenarios: str) -> None:
        with self.server(self.fresh("a")) as server:
            for scenario in scenarios:
                self.cell("contention", "sessiond", server, scenario, 64)

    def adk(self, system: str, command: list, database_option: str, make_database) -> None:
        """Appends by somebody else, who prints a result in the form of the load generator."""
        counts = self.effort.adk_concurrency
        if system != "google-adk library":  # which no target speaks of
            counts = counts[:-1] if self.other else counts[-1:]
        for concurrency in counts:
            more = [database_option, make_database(), "--seconds", self.effort.seconds, "--concurrency", concurrency]
            more += ["--sessions", SESSIONS, "--users", USERS]
            self.settle()  # `make_database` has waited for the disk
            timeout = min(180, self.deadline + 20 - time.monotonic())
            result = program([str(part) for part in [*command, *more]], timeout)
            if result["errors"] and time.monotonic() > self.deadline:
                raise OutOfTime
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
            self.cells("sqlite", server, "append")

    def sqlite_adk(self) -> None:
        def new_file() -> Path:
            for old in self.folder.glob("adk.db*"):
                old.unlink()
            return self.folder / "adk.db"

        command = [YARDSTICKS / "python", YARDSTICKS / "adk_library.py", "--service", "sqlite"]
        self.adk("google-adk SqliteSessionService", command, "--path", new_file)

    def open_loop(self) -> None:
        """Half of the best median rate that the rounds found, at fixed times."""
        rates = {scenario: report.peak(self.results, scenario) / 2 for scenario in ("append", "get-events", "mix")}
        for _ in self.rounds(self.effort.other_rounds, "open loop"):
            with self.server(self.fresh("a")) as server:
                # What it lags behind while it makes its connections, it would carry along to the end.
                self.load(server, "append", connections=64, seconds=self.effort.warmup)
                for scenario, rate in rates.items():
                    if rate:
                        self.cell("open", "sessiond", server, scenario, 64, rate=round(rate, 1))

    # ---- what costs more as there is more: of one session's history, of its state, of the sessions of an app ----

    def fill(self) -> None:
        """What is too long to be made anew in each round."""
        effort = self.effort
        self.growth_url = self.fresh("growth")
        with self.server(self.growth_url) as server:
            for events in effort.histories:
                if events > FRESH_HISTORY or events == effort.histories[-1]:
                    self.filled(server, "fill-history", events, events=events, connections=2, **FILL)
        for count in effort.lists:
            say(f"  {count} sessions")
            variables = {"app": f"list{count}", "count": count, "users": USERS}
            self.postgresql.sql("growth", file=BENCH / "sessions.sql", variables=variables)
        say("vacuum")
        self.postgresql.sql("growth", "vacuum analyze")
        self.settle(written_much=True)

    def growth(self) -> None:
        effort = self.effort
        # The targets compare the least with the most.
        ends = lambda sizes: {sizes[0], sizes[-1]}  # noqa: E731
        listed = {effort.lists[0], 100_000 if 100_000 in effort.lists else effort.lists[-1]}
        with self.server(self.growth_url) as server:
            mark = f"{self.round}{'o' if self.other else ''}"
            for events in effort.histories if self.other else sorted(ends(effort.histories)):
                session = f"h{events}"
                if events <= FRESH_HISTORY:
                    session += f"-{mark}"
                    self.load.prepare(server, "fill-history", events=events, session=session, **FILL)
                scenarios = {"get-state", "append"} if self.other != (events in ends(effort.histories)) else set()
                # What is appended makes the history longer, so it comes last.
                for scenario in sorted(scenarios | ({"get-events"} if self.other else set()), reverse=True):
                    self.grown(server, "history", events, scenario, session=session, user="u0")
            for keys in effort.states:
                scenarios = {"append": keys in ends(effort.states), "get-state": False}
                wanted_now = [scenario for scenario, target in scenarios.items() if self.other != target]
                session = f"k{keys}-{mark}"
                if wanted_now:
                    self.load.prepare(server, "fill-state", keys=keys, session=session)
                for scenario in wanted_now:
                    self.grown(server, "state", keys, scenario, session=session, user="u0")
            for count in effort.lists:
                if self.other != (count in listed):
                    self.grown(server, "sessions", count, "list", app=f"list{count}")
            if self.other:
                self.grown(server, "far page", count, "list", app=f"list{count}", walk=effort.far_page)

    def filled(self, server: Sessiond, scenario: str, size: int, **options) -> None:
        result = self.load.prepare(server, scenario, **options)
        self.note("fill", "sessiond", result, scenario=scenario, size=size)

    def grown(self, server: Sessiond, grows: str, size: int, scenario: str, **options) -> None:
        self.settle()
        seconds, warmup = self.effort.growth_seconds, self.effort.growth_warmup
        if not self.other:
            seconds *= 2
        result = self.load(server, scenario, connections=1, seconds=seconds, warmup=warmup, **options)
        self.note("growth", "sessiond", result, grows=grows, size=size, scenario=scenario)

    def streaming(self) -> None:
        """The longest history, read whole. Of some rounds only: it is long, and its memory hardly differs."""
        events = self.effort.histories[-1]
        for number in range(min(STREAMS, self.effort.rounds)):
            self.round = number
            self.settle(written_much=True)
            with self.server(self.growth_url) as server:
                self.load(server, "get-state", seconds=0.2)
                idle = memory(server.pid)["now"]
                forget_peak(server.pid)
                result = self.load(server, "stream", session=f"h{events}", user="u0")
                sizes = {"idle": idle, "peak": memory(server.pid)["peak"]}
                self.note("streaming", "sessiond", result | sizes, size=events)

    def run(self, only: str | None) -> None:
        """What the targets speak of comes first, as the time may not suffice for all."""
        self.prepare()
        if only == "overload":
            for _ in self.rounds(self.effort.rounds, "overload"):
                self.overload()
            return
        say("filling")
        self.fill()
        say("streaming")
        self.streaming()
        for _ in self.rounds(self.effort.rounds, "targets"):
            self.measure_targets()
        for _ in self.rounds(self.effort.other_rounds, "the rest"):
            self.measure_others()
        self.open_loop()


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


def write(path: Path, known: dict, found: list[dict]) -> None:
    """The raw results: one line for each measurement, so that a diff of two runs can be read."""
    lines = ",\n".join(json.dumps(result) for result in found)
    path.parent.mkdir(parents=True, exist_ok=True)
    new = path.with_suffix(".new")
    new.write_text(f'{{"facts": {json.dumps(known)},\n"results": [\n{lines}\n]}}\n')
    new.replace(path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sessiond", type=Path, help="the binary")
    parser.add_argument("--load", type=Path, help="the binary of bench/load")
    parser.add_argument("--adk-rust", type=Path, help="the binary of bench/yardsticks/adk_rust, if it is there")
    parser.add_argument("--out", type=Path, default=ROOT / "docs", help="where benchmarks.md goes")
    parser.add_argument("--quick", action="store_true", help="one short round, whose figures mean nothing")
    parser.add_argument("--only", choices=["overload"], help="measure nothing else")
    parser.add_argument("--large", action="store_true", help="lists of up to 1,000,000 sessions too")
    parser.add_argument("--minutes", type=float, default=24, help="what is not measured until then is left out")
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
            known: dict = {}

            def keep(found: list[dict]) -> None:
                """After each measurement, so that a run that is cut off can still be reported."""
                known["minutes"] = round((time.monotonic() - started) / 60, 1)
                write(results, known, found)

            bench = Bench(effort, arguments, Path(folder), keep)
            try:
                known |= facts(bench, arguments) | {"complete": False}
                bench.run(arguments.only)
                known["complete"] = True
            except OutOfTime:
                say(f"the {arguments.minutes:g} minutes are over; the rest is not measured")
            finally:
                bench.postgresql.stop()
            keep(bench.results)
    report.write(json.loads(results.read_text()), arguments.out)
    say(f"written: {arguments.out / 'benchmarks.md'}")


if __name__ == "__main__":
    main()
