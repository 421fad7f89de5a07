#!/usr/bin/env python3
"""Appends, reads and lists on databases of different sizes, the largest of which is many times as large as the memory that
PostgreSQL may use.

    cargo build --profile dist && CARGO_TARGET_DIR=target/bench cargo build --release --manifest-path bench/load/Cargo.toml
    bench/size.py --sessiond target/dist/sessiond --programs target/bench/release

Writes docs/benchmarks/size.json, from which bench/report.py makes a part of docs/benchmarks.md. The limit of memory, which counts
the cache of files too, is a control group's: it needs root on Linux. Without it, the document says that there was none.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import subprocess
import tempfile
import time
from pathlib import Path

from lab import Load, PostgreSQL, Sessiond, cpu_seconds, say

BENCH = Path(__file__).resolve().parent
USERS, EACH = 256, 100
MIB = 2**20
SCENARIOS = [("append", 1), ("append", 64), ("get-events", 1), ("get-events", 64), ("list", 1)]


class ControlGroup:
    """A group of processes whose memory, with the files that they read and write, is limited."""

    def __init__(self, limit: int):
        root = Path("/sys/fs/cgroup")
        unified = (root / "cgroup.controllers").is_file()
        self.folder = (root if unified else root / "memory") / f"sessiond-bench-{os.getpid()}"
        self.folder.mkdir()
        (self.folder / ("memory.max" if unified else "memory.limit_in_bytes")).write_text(str(limit))

    def take(self, pid: int) -> None:
        """The process, if it is there; its children follow as they are born."""
        with contextlib.suppress(ProcessLookupError):
            (self.folder / "cgroup.procs").write_text(str(pid))

    def remove(self) -> None:
        self.folder.rmdir()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sessiond", type=Path, required=True)
    parser.add_argument("--programs", type=Path, required=True, help="the folder of sessiond-load")
    parser.add_argument("--events", type=int, nargs="+", default=[100_000, 1_000_000, 10_000_000])
    parser.add_argument("--memory", type=int, default=512, help="MiB for PostgreSQL and its cache of files")
    parser.add_argument("--seconds", type=float, default=5)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--out", type=Path, default=BENCH.parent / "docs/benchmarks/size.json")
    options = parser.parse_args()
    options.sessiond, options.programs = options.sessiond.resolve(), options.programs.resolve()
    with tempfile.TemporaryDirectory(prefix="sessiond-size-", dir=os.environ.get("BENCH_DIR", "/var/tmp")) as folder:
        found = measure(options, Path(folder))
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps(found, indent=1) + "\n")


def measure(options: argparse.Namespace, folder: Path) -> dict:
    postgresql = PostgreSQL(folder)
    try:
        sizes = {}
        for events in options.events:
            say(f"filling {events:,} events")
            sizes[events] = fill(postgresql, options.sessiond, events)
    finally:
        postgresql.stop()
    # Nothing of what was filled is in memory any more.
    os.sync()
    settings = {"shared_buffers": f"{options.memory // 4}MB"}
    try:
        Path("/proc/sys/vm/drop_caches").write_text("1")
        group = ControlGroup(options.memory * MIB)
    except OSError as error:
        say(f"no limit of memory: {error}")
        group = None
    postgresql.start(settings, group)
    results = []
    try:
        for turn in range(options.rounds):
            for events in options.events if turn % 2 == 0 else options.events[::-1]:
                results += [result | {"round": turn, "events": events} for result in cells(postgresql, options, folder, events)]
    finally:
        postgresql.stop()
        if group:
            group.remove()
    return {"memory": options.memory * MIB if group else None, "sizes": sizes, "settings": postgresql.settings, "results": results}


def fill(postgresql: PostgreSQL, sessiond: Path, events: int) -> dict:
    """A database of so many events; its size and how many sessions it has."""
    name = f"size{events}"
    url = postgresql.fresh(name)
    sessions = events // EACH
    subprocess.run([sessiond, "migrate", "--database-url", url], check=True, capture_output=True)
    variables = {"app": "bench", "sessions": sessions, "users": USERS}
    postgresql.sql(name, file=BENCH / "yardsticks/setup.sql", variables=variables)
    postgresql.sql(name, "set maintenance_work_mem = '1GB'", file=BENCH / "events.sql", variables=variables | {"each": EACH})
    postgresql.sql(name, "vacuum analyze")
    postgresql.settle(written_much=True)
    if events <= 100_000:
        # What was filled in is what the service would have written.
        subprocess.run([sessiond, "verify", "--database-url", url], check=True, capture_output=True)
    return {"sessions": sessions, "bytes": int(postgresql.sql(name, f"select pg_database_size('{name}')"))}


def bytes_read(pid: int) -> int:
    """From the disk, by the processes of a PostgreSQL that are there now."""
    total = 0
    for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split():
        try:
            fields = dict(line.split(": ") for line in Path(f"/proc/{child}/io").read_text().splitlines())
            total += int(fields["read_bytes"])
        except OSError:
            continue  # ended meanwhile
    return total


def cells(postgresql: PostgreSQL, options: argparse.Namespace, folder: Path, events: int) -> list[dict]:
    found = []
    load = Load(options.programs / "sessiond-load", events // EACH, USERS)
    with Sessiond(options.sessiond, postgresql.url(f"size{events}"), folder) as server:
        # Connections are there, and what fits into memory is in it.
        load(server, "get-events", connections=64, seconds=2 * options.seconds)
        for scenario, connections in SCENARIOS:
            postgresql.settle()
            before = cpu_seconds(server.pid), postgresql.cpu_seconds(), bytes_read(postgresql.process.pid)
            started = time.monotonic()
            result = load(server, scenario, connections=connections, seconds=options.seconds, warmup=0, app="bench")
            after = cpu_seconds(server.pid), postgresql.cpu_seconds(), bytes_read(postgresql.process.pid)
            requests = max(result.get("requests", 0), 1)
            server_s, database_s, read = (late - early for early, late in zip(before, after, strict=True))
            result |= {
                "server_us": server_s * 1e6 / requests,
                "database_us": database_s * 1e6 / requests,
                "read_bytes": read / requests,
                "scenario": scenario,
                "connections": connections,
            }
            say(
                f"  {events:,} {scenario} {connections}: {result.get('rate', 0):.0f}/s, p50 {result.get('p50', 0) / 1000:.2f} ms, "
                f"{read / requests / 1024:.1f} KiB read each, {time.monotonic() - started:.1f} s, errors {result['errors']}"
            )
            found.append(result)
    return found


if __name__ == "__main__":
    main()
