#!/usr/bin/env python3
"""What it costs to read what a model reads, as the log grows.

    cargo build --profile dist
    bench/effective.py --sessiond target/dist/sessiond

Sessions with a compaction every 100 events, each of all that was before. Prints as JSON, for SQLite and PostgreSQL, the median
milliseconds of a read with `history=effective` by the number of events, in turns, by how much the longest takes more than the
shortest, and the same of a read of the whole log. Then the same of the first hit of a search from the end, and of a page of a search
that finds nothing, and by how many KiB the memory of the server grew meanwhile.
"""

from __future__ import annotations

import argparse
import http.client
import json
import statistics
import tempfile
import time
from pathlib import Path
from urllib.parse import urlsplit

from lab import PostgreSQL, Sessiond, exchange, forget_peak, memory, say

BATCH = 1000
EVERY = 100
# As many events of text follow the last compaction.
TAIL = 10
WHOLE = 100_000
HIT = "text=xxx&order=desc&pageSize=1"
MISS = "text=nowhere&order=desc"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sessiond", type=Path, required=True)
    parser.add_argument("--events", type=int, nargs="+", default=[100, 1000, 10_000, 100_000, 1_000_000])
    parser.add_argument("--reads", type=int, default=300)
    parser.add_argument("--only", choices=["sqlite", "postgres"])
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="sessiond-effective-", dir="/var/tmp") as folder:
        print(json.dumps(measure(options, Path(folder)), indent=2))


def measure(options: argparse.Namespace, folder: Path) -> dict:
    results = {}
    if options.only != "postgres":
        results["sqlite"] = of_store(options, folder, f"sqlite://{folder}/sessiond.db")
    if options.only != "sqlite":
        # PostgreSQL is another user.
        folder.chmod(0o711)
        postgresql = PostgreSQL(folder)
        try:
            results["postgresql"] = of_store(options, folder, postgresql.fresh("effective"))
        finally:
            postgresql.stop()
    return results


def of_store(options: argparse.Namespace, folder: Path, url: str) -> dict:
    with Sessiond(options.sessiond, url, folder) as server:
        connection = http.client.HTTPConnection(urlsplit(server.url).netloc)
        filled = {}
        for events in options.events:
            begun = time.monotonic()
            fill(connection, events)
            filled[events] = round(time.monotonic() - begun, 1)
            say(f"{events} events: filled in {filled[events]} s")
        first = {events: timed(connection, effective(events), TAIL + 1) for events in options.events}
        times: dict[int, list[float]] = {events: [] for events in options.events}
        for _ in range(options.reads):
            for events, found in times.items():
                found.append(timed(connection, effective(events), TAIL + 1))
        whole = {}
        for events in options.events:
            if events <= WHOLE:
                whole[events] = statistics.median(timed(connection, path(events), events) for _ in range(3))
        medians = {events: statistics.median(found) for events, found in times.items()}
        growth = medians[options.events[-1]] / medians[options.events[0]]
        say(f"effective: {medians}, growth {growth:.2f}, first {first}, whole {whole}")
        before = memory(server.pid)["now"]
        forget_peak(server.pid)
        search: dict = {
            name: {
                events: statistics.median(timed(connection, f"{path(events)}/events?{query}", found) for _ in range(20))
                for events in options.events
            }
            for name, query, found in (("hit", HIT, 1), ("miss", MISS, 0))
        }
        search["memory"] = (memory(server.pid)["peak"] - before) // 1024
        say(f"search: {search}")
        return {
            "fill": filled,
            "first": first,
            "effective": medians,
            "growth": growth,
            "whole": whole,
            "search": search,
        }


def path(events: int) -> str:
    return f"/v1/apps/bench/users/u/sessions/e{events}"


def effective(events: int) -> str:
    return f"{path(events)}?history=effective"


def fill(connection: http.client.HTTPConnection, events: int) -> None:
    exchange(connection, "PUT", path(events), "{}")
    text = "x" * 200
    made: list[dict] = []
    for n in range(1, events + 1):
        event: dict = {"author": "user", "invocationId": f"i{n}", "timestamp": n}
        if n % EVERY == EVERY - TAIL:
            summary = {"role": "model", "parts": [{"text": text}]}
            event["actions"] = {"compaction": {"startTimestamp": 1, "endTimestamp": n - 1, "compactedContent": summary}}
        else:
            event["content"] = {"role": "user", "parts": [{"text": text}]}
        made.append(event)
        if len(made) == BATCH or n == events:
            exchange(connection, "POST", f"{path(events)}/events", json.dumps(made))
            made = []


def timed(connection: http.client.HTTPConnection, address: str, expected: int) -> float:
    """Milliseconds of one read, which has so many events."""
    begun = time.perf_counter()
    body = exchange(connection, "GET", address)
    took = (time.perf_counter() - begun) * 1000
    found = len(json.loads(body)["events"])
    if found != expected:
        raise SystemExit(f"{address}: {found} events")
    return round(took, 3)


if __name__ == "__main__":
    main()
