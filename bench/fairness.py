#!/usr/bin/env python3
"""By how much an app at ten times its rate slows down another one.

A quiet app appends at half of --rate, in an open loop: alone, and beside a noisy app that asks for ten times --rate, in turns. Prints
the p99 of the quiet app's appends, in microseconds, as the median of the rounds, and the ratio of both, as JSON.

    cargo build --profile dist && CARGO_TARGET_DIR=target/bench cargo build --release --manifest-path bench/load/Cargo.toml
    bench/fairness.py --sessiond target/dist/sessiond --load target/bench/release/sessiond-load
    bench/fairness.py ... --no-limit     without --rate-limit-app: by fair turns alone
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import threading
from pathlib import Path

from lab import Load, PostgreSQL, Sessiond, say

SESSIONS, USERS = 64, 16
# The noisy app asks from before the quiet one is measured until after.
MARGIN = 0.5


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sessiond", type=Path, required=True)
    parser.add_argument("--load", type=Path, required=True)
    parser.add_argument("--database", choices=["sqlite", "postgres"], default="sqlite")
    parser.add_argument("--rate", type=float, default=200, help="events per second that an app may ask for")
    parser.add_argument("--no-limit", action="store_true", help="the server does not know of the rate")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=3)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="sessiond-fairness-", dir="/var/tmp") as folder:
        print(json.dumps(measure(options, Path(folder)), indent=2))


def measure(options: argparse.Namespace, folder: Path) -> dict:
    postgresql = PostgreSQL(folder) if options.database == "postgres" else None
    url = postgresql.fresh("fairness") if postgresql else f"sqlite://{folder}/sessiond.db"
    load = Load(options.load.resolve(), SESSIONS, USERS)
    binary = options.sessiond.resolve()
    try:
        with Sessiond(binary, url, folder) as server:
            for app in ("quiet", "noisy"):
                load.prepare(server, "setup", connections=4, app=app)
        limit = [] if options.no_limit else [f"--rate-limit-app={options.rate}"]
        with Sessiond(binary, url, folder, *limit) as server:
            return rounds(options, load, server)
    finally:
        if postgresql:
            postgresql.stop()


def rounds(options: argparse.Namespace, load: Load, server: Sessiond) -> dict:
    def ask(app: str, rate: float, connections: int, seconds: float) -> dict:
        return load(server, "append", app=app, rate=rate, connections=connections, seconds=seconds, warmup=MARGIN)

    def quiet() -> dict:
        result = ask("quiet", options.rate / 2, 8, options.seconds)
        if result["errors"]:
            raise SystemExit(f"the quiet app was refused or failed: {result}")
        return result

    alone, beside, noisy = [], [], []
    for number in range(options.rounds):
        alone.append(quiet()["p99"])
        others = threading.Thread(
            target=lambda: noisy.append(ask("noisy", options.rate * 10, 64, options.seconds + 2 * MARGIN))
        )
        others.start()
        beside.append(quiet()["p99"])
        others.join()
        say(f"round {number + 1}: alone {alone[-1]}, beside the noisy app {beside[-1]}")
    before, with_noise = statistics.median(alone), statistics.median(beside)
    return {
        "database": options.database,
        "rate": options.rate,
        "limited": not options.no_limit,
        "p99_alone": alone,
        "p99_beside": beside,
        "noisy_rate": [result.get("rate") for result in noisy],
        "noisy_refused": [result["errors"] for result in noisy],
        "ratio": round(with_noise / before, 3),
    }


if __name__ == "__main__":
    main()
