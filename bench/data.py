#!/usr/bin/env python3
"""What it costs to trim, to export, to import and to sweep.

    cargo build --profile dist && CARGO_TARGET_DIR=target/bench cargo build --release --manifest-path bench/load/Cargo.toml
    bench/data.py --sessiond target/dist/sessiond --programs target/bench/release

Prints as JSON, for SQLite and for PostgreSQL, over one session of --events events:

- export, import: events a second over HTTP, and by how many bytes the server's peak of memory grew meanwhile, also with a tenth
  of the events; the import is into the same database, under another name of the app
- trim: milliseconds of the answer, of all events but ten
- sweep: appends a second to another app while the trimmed events are emptied, by those without, in turns
"""

from __future__ import annotations

import argparse
import contextlib
import http.client
import json
import sqlite3
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

from lab import Load, PostgreSQL, Sessiond, exchange, forget_peak, memory, say

BATCH = 1000
OTHERS = "others"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sessiond", type=Path, required=True)
    parser.add_argument("--programs", type=Path, required=True, help="the folder of sessiond-load")
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--connections", type=int, default=64)
    parser.add_argument("--seconds", type=float, default=4)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--only", choices=["sqlite", "postgres"])
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="sessiond-data-", dir="/var/tmp") as folder:
        print(json.dumps(measure(options, Path(folder)), indent=2))


def measure(options: argparse.Namespace, folder: Path) -> dict:
    results = {}
    if options.only != "postgres":
        file = folder / "sessiond.db"
        results["sqlite"] = of_database(options, folder, f"sqlite://{file}", lambda query: of_file(file, query))
    if options.only != "sqlite":
        postgresql = PostgreSQL(folder)
        try:
            url = postgresql.fresh("data")
            results["postgresql"] = of_database(options, folder, url, lambda query: int(postgresql.sql("data", query)))
        finally:
            postgresql.stop()
    return results


def of_database(options: argparse.Namespace, folder: Path, url: str, count: Callable[[str], int]) -> dict:
    """`count` gives the number that a query has."""
    def is_sweeping() -> bool:
        return count("select count(*) from trims") > 0

    load = Load((options.programs / "sessiond-load").resolve(), 256, 64)
    result: dict = {}
    with Sessiond(options.sessiond.resolve(), url, folder) as server:
        load.prepare(server, "setup", connections=4, app=OTHERS)
        for name, events in (("tenth", options.events // 10), ("whole", options.events)):
            filled(server, name, events)
            file = folder / f"{name}.ndjson"
            result[name] = {"export": exported(server, name, events, file), "import": imported(server, name, events, file)}
            file.unlink()
        result["trim"] = []
        result["sweep"] = []
        # The import made a second session of as many events: each is trimmed, and swept, once.
        for app in ("whole", "whole-again"):
            say(f"trim and sweep of {app}")
            while is_sweeping():
                time.sleep(1)
            without = [appends(options, load, server) for _ in range(options.rounds)]
            trim = trimmed(server, app)
            result["trim"].append(trim)
            say(f"trim: {trim['ms']:.1f} ms")
            during = []
            while is_sweeping() and len(during) < options.rounds:
                during.append(appends(options, load, server))
            # The last of them saw the end of it, unless it is still going on.
            if not is_sweeping() and len(during) > 1:
                during.pop()
            ratio = statistics.median(during) / statistics.median(without)
            result["sweep"].append({"ratio": ratio, "without": without, "during": during})
            say(f"appends beside the sweep: {ratio:.3f} of those without ({without}, {during})")
    return result


def of_file(file: Path, query: str) -> int:
    with contextlib.closing(sqlite3.connect(f"file:{file}?mode=ro", uri=True)) as database:
        return database.execute(query).fetchone()[0]


def connection(server: Sessiond) -> http.client.HTTPConnection:
    return http.client.HTTPConnection(urlsplit(server.url).netloc, timeout=600)


def path(app: str) -> str:
    return f"/v1/apps/{app}/users/ada/sessions"


def ask(server: Sessiond, method: str, address: str, body: str | None = None) -> dict:
    return json.loads(exchange(connection(server), method, address, body))


def filled(server: Sessiond, app: str, events: int) -> None:
    """A session with so many events of the size of a short message, each of which changes two keys."""
    ask(server, "POST", path(app), '{"sessionId":"s1"}')
    to = connection(server)
    text = "x" * 200
    start = time.monotonic()
    for first in range(0, events, BATCH):
        batch = [
            f'{{"id":"e{n}","author":"agent","invocationId":"i{n // 10}","content":{{"role":"model","parts":[{{"text":"{text}"}}]}},'
            f'"actions":{{"stateDelta":{{"step":{n},"k{n % 20}":{n}}}}}}}'
            for n in range(first, min(first + BATCH, events))
        ]
        to.request("POST", f"{path(app)}/s1/events", f"[{','.join(batch)}]", {"content-type": "application/json"})
        answer = to.getresponse()
        answer.read()
        if answer.status != 201:
            raise SystemExit(f"an append was answered {answer.status}")
    say(f"{events} events in {time.monotonic() - start:.1f} s")


class Peak:
    """By how many bytes the peak of a server's memory was above what it had before."""

    def __init__(self, server: Sessiond):
        self.pid = server.pid

    def __enter__(self) -> Peak:
        forget_peak(self.pid)
        self.before = memory(self.pid)["now"]
        return self

    def __exit__(self, *_) -> None:
        self.bytes = memory(self.pid)["peak"] - self.before


def exported(server: Sessiond, app: str, events: int, file: Path) -> dict:
    to = connection(server)
    with Peak(server) as peak, open(file, "wb") as out:
        start = time.monotonic()
        to.request("GET", f"{path(app)}/s1/export")
        answer = to.getresponse()
        last = b""
        while part := answer.read(1 << 20):
            out.write(part)
            last = (last + part)[-200:]
        seconds = time.monotonic() - start
    if b'"type":"end"' not in last:
        raise SystemExit(f"the export was cut: {last!r}")
    return said("export", events, seconds, peak)


def imported(server: Sessiond, app: str, events: int, file: Path) -> dict:
    to = connection(server)
    with Peak(server) as peak, open(file, "rb") as body:
        start = time.monotonic()
        headers = {"content-type": "application/x-ndjson", "content-length": str(file.stat().st_size)}
        to.request("POST", f"/v1/import?appName={app}-again", body, headers)
        lines = to.getresponse().read().rstrip(b"\n").split(b"\n")
        seconds = time.monotonic() - start
    if json.loads(lines[-1]) != {"sessions": 1, "events": events}:
        raise SystemExit(f"the import failed: {lines}")
    return said("import", events, seconds, peak)


def said(what: str, events: int, seconds: float, peak: Peak) -> dict:
    say(f"{what}: {events / seconds:.0f} events/s, {peak.bytes / 2**20:.1f} MiB")
    return {"events_per_second": events / seconds, "peak_bytes": peak.bytes}


def trimmed(server: Sessiond, app: str) -> dict:
    start = time.monotonic()
    answer = ask(server, "POST", f"{path(app)}/s1/trim", '{"keepLast":10}')
    return {"ms": (time.monotonic() - start) * 1000, "events": answer["trimmedEvents"]}


def appends(options: argparse.Namespace, load: Load, server: Sessiond) -> float:
    result = load(server, "append", app=OTHERS, connections=options.connections, seconds=options.seconds, warmup=0.5)
    return result["rate"]


if __name__ == "__main__":
    main()
