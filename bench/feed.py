#!/usr/bin/env python3
"""What the change feed costs those who append, and how far it is behind.

    cargo build --profile dist && CARGO_TARGET_DIR=target/bench cargo build --release --manifest-path bench/load/Cargo.toml
    bench/feed.py --sessiond target/dist/sessiond --programs target/bench/release

Prints as JSON:

- for SQLite and for PostgreSQL, appends a second of a server with a feed by those of one without, in turns: each round has one
  measurement of both, in alternating order
- for PostgreSQL, milliseconds from the commit of a change to its arrival at a reader of another process, under that load
"""

from __future__ import annotations

import argparse
import contextlib
import http.client
import json
import statistics
import tempfile
import threading
import time
from pathlib import Path
from urllib.parse import urlsplit

from lab import Load, PostgreSQL, Sessiond, say

ON, OFF = "--feed-retention=24h", "--feed-retention=0"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sessiond", type=Path, required=True)
    parser.add_argument("--programs", type=Path, required=True, help="the folder of sessiond-load")
    parser.add_argument("--connections", type=int, nargs="+", default=[64, 256])
    parser.add_argument("--seconds", type=float, default=3)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--only", choices=["sqlite", "postgres"])
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="sessiond-feed-", dir="/var/tmp") as folder:
        print(json.dumps(measure(options, Path(folder)), indent=2))


def measure(options: argparse.Namespace, folder: Path) -> dict:
    results = {}
    if options.only != "postgres":
        urls = [f"sqlite://{folder}/{name}.db" for name in ("with_feed", "without")]
        results["sqlite"] = {"cost": cost(options, folder, urls)}
    if options.only != "sqlite":
        postgresql = PostgreSQL(folder)
        try:
            urls = [postgresql.fresh(name) for name in ("with_feed", "without")]
            results["postgresql"] = {"cost": cost(options, folder, urls), "behind": behind(options, folder, postgresql, urls[0])}
        finally:
            postgresql.stop()
    return results


def cost(options: argparse.Namespace, folder: Path, urls: list[str]) -> list[dict]:
    load = Load((options.programs / "sessiond-load").resolve(), 1024, 256)
    found = []
    with contextlib.ExitStack() as stack:
        servers = []
        for url, setting in zip(urls, (ON, OFF), strict=True):
            home = folder / setting.split("=")[1]
            home.mkdir(exist_ok=True)
            servers.append(stack.enter_context(Sessiond(options.sessiond.resolve(), url, home, setting)))
            load.prepare(servers[-1], "setup", connections=4, app="feed")
        for connections in options.connections:
            rates: tuple[list, list] = ([], [])
            for turn in range(options.rounds):
                for which in (0, 1) if turn % 2 else (1, 0):
                    result = load(servers[which], "append", app="feed", connections=connections, seconds=options.seconds, warmup=0.5)
                    rates[which].append(result["rate"])
            ratio = statistics.median(on / off for on, off in zip(*rates, strict=True))
            found.append({"connections": connections, "ratio": ratio, "on": rates[0], "off": rates[1]})
            say(f"{connections} connections: {ratio:.3f} ({statistics.median(rates[0]):.0f} : {statistics.median(rates[1]):.0f})")
    return found


def behind(options: argparse.Namespace, folder: Path, postgresql: PostgreSQL, url: str) -> dict:
    load = Load((options.programs / "sessiond-load").resolve(), 1024, 256)
    homes = [folder / name for name in ("writer", "reader")]
    for home in homes:
        home.mkdir()
    postgresql.settle(written_much=True)
    writer = Sessiond(options.sessiond.resolve(), url, homes[0], ON)
    reader = Sessiond(options.sessiond.resolve(), url, homes[1], ON)
    with writer, reader:
        delays: list[float] = []
        caught_up = threading.Event()
        threading.Thread(target=follow, args=(reader.url, delays, caught_up), daemon=True).start()
        caught_up.wait()
        # A tenth of the load that it can take: what is behind is the feed, and not the processors.
        appends = load(writer, "append", app="feed", connections=2, seconds=10, warmup=0)
        time.sleep(1)
        quantiles = statistics.quantiles(delays, n=1000)
        result = {"changes": len(delays), "p50": quantiles[499], "p99": quantiles[989], "max": max(delays),
                  "slowest_append": appends["max"] / 1000}
        say(f"behind by {result}")
        return result


def follow(url: str, delays: list[float], caught_up: threading.Event) -> None:
    connection = http.client.HTTPConnection(urlsplit(url).netloc)
    connection.request("GET", "/v1/feed?after=now&include=none", headers={"accept": "text/event-stream"})
    answer = connection.getresponse()
    event = ""
    while True:
        line = answer.readline().decode().rstrip("\n")
        name, _, value = line.partition(": ")
        if name == "event":
            event = value
        if name == "event" and value == "caught_up":
            caught_up.set()
        if name == "data" and event == "change":
            delays.append((time.time() - json.loads(value)["time"]) * 1000)


if __name__ == "__main__":
    main()
