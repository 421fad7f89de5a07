#!/usr/bin/env python3
"""What a search over a user's sessions costs, and the index that it reads.

    cargo build --profile dist
    bench/search.py --sessiond target/dist/sessiond

One user has a hundred sessions, and other users two each: texts of twelve words that are as rare and as common as words are. Prints as
JSON, for SQLite and PostgreSQL, the processor time of service and database for an event, and of its index; how long it took until all
was indexed; the median milliseconds of searches by their words; and by how many KiB the memory of the server grew meanwhile.
"""

from __future__ import annotations

import argparse
import http.client
import itertools
import json
import random
import statistics
import tempfile
import time
from pathlib import Path
from urllib.parse import quote, urlsplit

from lab import PostgreSQL, Sessiond, cpu_seconds, exchange, forget_peak, memory, say

BATCH = 500
WORDS = [f"w{n:05d}" for n in range(20_000)]
WEIGHTS = list(itertools.accumulate(1 / (n + 3) for n in range(len(WORDS))))
# Of the user with many events: what is looked for.
SEARCHES = {"none": "nowhere", "rare": WORDS[-1], "common": WORDS[0], "three": " ".join(WORDS[:3])}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sessiond", type=Path, required=True)
    parser.add_argument("--events", type=int, default=100_000, help="of the user who has many")
    parser.add_argument("--others", type=int, default=1000, help="users with a thousand events each")
    parser.add_argument("--searches", type=int, default=50)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="sessiond-search-", dir="/var/tmp") as name:
        folder = Path(name)
        results = {"sqlite": of_store(options, folder, f"sqlite://{folder}/sessiond.db", None)}
        # PostgreSQL is another user.
        folder.chmod(0o711)
        postgresql = PostgreSQL(folder)
        try:
            results["postgresql"] = of_store(options, folder, postgresql.fresh("search"), postgresql)
        finally:
            postgresql.stop()
        print(json.dumps({"events": options.events, "others": options.others, "results": results}, indent=2))


def of_store(options: argparse.Namespace, folder: Path, url: str, postgresql: PostgreSQL | None) -> dict:
    with Sessiond(options.sessiond, url, folder) as server:
        connection = http.client.HTTPConnection(urlsplit(server.url).netloc)

        def used() -> float:
            return cpu_seconds(server.pid) + (postgresql.cpu_seconds() if postgresql else 0)

        events = options.events + 1000 * options.others
        begun = used()
        for session in range(100):
            fill(connection, f"many/sessions/s{session}", options.events // 100, session)
        for user in range(options.others):
            for session in range(2):
                fill(connection, f"u{user}/sessions/s{session}", 500, 2 * user + session)
        written = used()
        exchange(connection, "PUT", "/v1/apps/bench/policy", '{"search":{"index":true}}')
        switched = time.monotonic()
        last_used, idle = used(), 0
        # The walk is over when the server has done nothing for a while.
        while idle < 5:
            time.sleep(1)
            now = used()
            idle = idle + 1 if now - last_used < 0.05 else 0
            last_used = now
        complete = time.monotonic() - switched - idle
        # The server has closed what was idle for so long.
        connection.close()
        before = memory(server.pid)["now"]
        forget_peak(server.pid)
        medians = {}
        for name, words in SEARCHES.items():
            times = [search(connection, "many", words) for _ in range(options.searches)]
            medians[name] = statistics.median(times)
        found = {
            "event": round((written - begun) / events * 1e6, 1),
            "indexed": round((last_used - written) / events * 1e6, 1),
            "complete": round(complete, 1),
            "many": medians,
            "one": statistics.median(search(connection, f"u{n % options.others}", WORDS[0]) for n in range(options.searches)),
            "memory": (memory(server.pid)["peak"] - before) // 1024,
        }
        say(f"search: {found}")
        return found


def fill(connection: http.client.HTTPConnection, session: str, events: int, seed: int) -> None:
    chosen = random.Random(seed)
    for first in range(0, events, BATCH):
        texts = [" ".join(chosen.choices(WORDS, cum_weights=WEIGHTS, k=12)) for _ in range(min(BATCH, events - first))]
        made = [{"author": "user", "content": {"role": "user", "parts": [{"text": text}]}} for text in texts]
        exchange(connection, "POST", f"/v1/apps/bench/users/{session}/events?create=true&answer=minimal", json.dumps(made))


def search(connection: http.client.HTTPConnection, user: str, words: str) -> float:
    """Milliseconds of one search."""
    begun = time.perf_counter()
    exchange(connection, "GET", f"/v1/apps/bench/users/{user}/search?limit=20&text={quote(words)}")
    return round((time.perf_counter() - begun) * 1000, 3)


if __name__ == "__main__":
    main()
