#!/usr/bin/env python3
"""How long an event takes from its commit to those who follow its session, and what they cost.

    cargo build --profile dist && CARGO_TARGET_DIR=target/bench cargo build --release --manifest-path bench/load/Cargo.toml
    bench/live.py --sessiond target/dist/sessiond --programs target/bench/release

Prints as JSON, for SQLite and for PostgreSQL:

- delivery: p50 and p99 in microseconds from the commit, beside those of the appends themselves, with --watchers on as many
  sessions and --rate appends a second to them; on PostgreSQL also through another process than the one that takes the appends
- cost: appends a second with --watchers on other sessions, by those without, in turns; and the share of a core that sessiond and
  PostgreSQL use for these watchers while nothing is written
- idle: bytes of memory of --idle watchers above those of an idle server
"""

from __future__ import annotations

import argparse
import contextlib
import json
import resource
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

from lab import Load, PostgreSQL, Sessiond, cpu_seconds, memory, say

USERS = 256
WATCHED, OTHERS = "watched", "others"


class Watchers:
    """Follow sessions of an app while they are open. To be used in a `with`; `result` is there after it."""

    def __init__(self, programs: Path, server: Sessiond, count: int, sessions: int):
        command = [programs / "sessiond-watch", "--url", server.url, "--watchers", str(count)]
        command += ["--sessions", str(sessions), "--users", str(USERS), "--app", WATCHED]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        line = self.process.stderr.readline()
        if line.strip() != "ready":
            raise SystemExit(f"the watches did not begin: {line}{self.process.stderr.read()}")
        self.result: dict = {}

    def __enter__(self) -> Watchers:
        return self

    def __exit__(self, *_) -> None:
        out, errors = self.process.communicate("")
        if self.process.returncode != 0:
            raise SystemExit(f"the watches failed: {errors}")
        self.result = json.loads(out)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sessiond", type=Path, required=True)
    parser.add_argument("--programs", type=Path, required=True, help="the folder of sessiond-load and sessiond-watch")
    parser.add_argument("--watchers", type=int, default=1000)
    parser.add_argument("--rate", type=int, default=1000)
    parser.add_argument("--idle", type=int, default=10000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=4)
    parser.add_argument("--only", choices=["sqlite", "postgres"])
    options = parser.parse_args()
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    with tempfile.TemporaryDirectory(prefix="sessiond-live-", dir="/var/tmp") as folder:
        print(json.dumps(measure(options, Path(folder)), indent=2))


def measure(options: argparse.Namespace, folder: Path) -> dict:
    results = {}
    if options.only != "postgres":
        results["sqlite"] = of_database(options, folder, f"sqlite://{folder}/sessiond.db", None)
    if options.only != "sqlite":
        postgresql = PostgreSQL(folder)
        try:
            results["postgresql"] = of_database(options, folder, postgresql.fresh("live"), postgresql)
        finally:
            postgresql.stop()
    return results


def of_database(options: argparse.Namespace, folder: Path, url: str, postgresql: PostgreSQL | None) -> dict:
    load = Load((options.programs / "sessiond-load").resolve(), options.watchers, USERS)
    places = ["--max-watchers", str(options.idle + 1000), "--max-connections", str(options.idle + 2000)]
    binary = options.sessiond.resolve()
    other_folder = folder / "other"
    other_folder.mkdir(exist_ok=True)
    with contextlib.ExitStack() as stack:
        server = stack.enter_context(Sessiond(binary, url, folder, *places))
        other = stack.enter_context(Sessiond(binary, url, other_folder, *places)) if postgresql else None
        for app in (WATCHED, OTHERS):
            load.prepare(server, "setup", connections=4, app=app)
        result = {"delivery": delivery(options, load, server, server)}
        if other:
            result["delivery_of_another_process"] = delivery(options, load, server, other)
        result["cost"] = cost(options, load, server, postgresql)
        result["idle"] = idle(options, server)
    return result


def delivery(options: argparse.Namespace, load: Load, writer: Sessiond, reader: Sessiond) -> dict:
    rounds = []
    for _ in range(options.rounds):
        with Watchers(options.programs, reader, options.watchers, options.watchers) as watchers:
            appended = load(writer, "append", app=WATCHED, rate=options.rate, connections=32, seconds=options.seconds)
            time.sleep(0.5)
        append = {name: appended[name] for name in ("p50", "p99", "rate", "errors")}
        rounds.append(watchers.result | {"append": append})
        say(f"delivery: {rounds[-1]}")
    median = {name: statistics.median(result[name] for result in rounds) for name in ("p50", "p99")}
    median["append"] = {name: statistics.median(result["append"][name] for result in rounds) for name in ("p50", "p99")}
    return {"median": median, "rounds": rounds}


def cost(options: argparse.Namespace, load: Load, server: Sessiond, postgresql: PostgreSQL | None) -> dict:
    def used() -> tuple[float, float]:
        return cpu_seconds(server.pid), postgresql.cpu_seconds() if postgresql else 0.0

    def appends() -> float:
        return load(server, "append", app=OTHERS, connections=64, seconds=options.seconds, warmup=0.5)["rate"]

    ratios = []
    for _ in range(options.rounds):
        without = appends()
        with Watchers(options.programs, server, options.watchers, options.watchers):
            ratios.append(appends() / without)
        say(f"appends beside {options.watchers} watchers: {ratios[-1]:.3f} of those without")
    with Watchers(options.programs, server, options.watchers, options.watchers):
        time.sleep(1)
        before = used()
        time.sleep(options.seconds)
        cores = [(after - before) / options.seconds for before, after in zip(before, used(), strict=True)]
    say(f"{options.watchers} watchers of idle sessions: {cores[0]:.3f} cores of sessiond, {cores[1]:.3f} of PostgreSQL")
    return {"median": statistics.median(ratios), "rounds": ratios, "idle_cores": cores}


def idle(options: argparse.Namespace, server: Sessiond) -> dict:
    before = memory(server.pid)["now"]
    with Watchers(options.programs, server, options.idle, options.watchers):
        time.sleep(2)
        with_watchers = memory(server.pid)["now"]
    say(f"{options.idle} idle watchers: {(with_watchers - before) / 2**20:.0f} MiB")
    return {"watchers": options.idle, "bytes": with_watchers - before}


if __name__ == "__main__":
    main()
