#!/usr/bin/env python3
"""Bytes on disk of a session, an event, a key, a change, a file, on both databases: what docs/sizing.md counts with.

    bench/units.py --sessiond target/dist/sessiond

Each is made --count times by requests, in a database of its own; its bytes are what tables and indexes have grown by after a
vacuum. Of a thing that comes with another one, such as a key with its session, the other's are taken off. Texts are random, so that nothing
compresses. Prints a table.
"""

from __future__ import annotations

import argparse
import contextlib
import http.client
import json
import os
import random
import sqlite3
import string
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.parse import urlsplit

from lab import PostgreSQL, Sessiond, say

APP = "/v1/apps/shop"
USERS = 200
dice = random.Random(1)


def text(length: int) -> str:
    return "".join(dice.choices(string.ascii_letters + string.digits, k=length))


def user(n: int) -> str:
    return f"{APP}/users/user-{n % USERS:08}"


def event(said: int, **delta) -> dict:
    """Of the service's own id; with a text of so many bytes."""
    actions = {"stateDelta": delta} if delta else {}
    content = {"role": "model", "parts": [{"text": text(said)}]}
    return {"author": "agent", "invocationId": text(12), "content": content} | ({"actions": actions} if delta else {})


def sessions(n: int, keys: int = 0, keyed: bool = False):
    state = {"state": {f"key{k:05}": text(10) for k in range(keys)}} if keys else {}
    return "POST", f"{user(n)}/sessions", state, {"idempotency-key": text(36)} if keyed else {}


def batches(n: int, said: int, changes: int = 0):
    """A session with 50 events in batches of 10: the first of its batches makes it."""
    delta = {f"key{k:05}": text(10) for k in range(changes)}
    body = [event(said, **delta) for _ in range(10)]
    return "POST", f"{user(n // 5)}/sessions/s{n // 5}/events?create=true&answer=minimal", body, {}


def single(n: int):
    return "POST", f"{user(n // 50)}/sessions/s{n // 50}/events?create=true&answer=minimal", event(100), {}


def patches(n: int, of: str = "", keyed: bool = False):
    body = {"stateDelta": {"key00000": text(10)}}
    headers = {"idempotency-key": text(36)} if keyed else {}
    return "PATCH", (user(n) if of == "user" else APP) + "/state?answer=changed", body, headers


def files(n: int, size: int):
    return "PUT", f"{user(n)}/artifacts/user:file{n // USERS}?event=none", dice.randbytes(size), {}


# What makes it, how many of it each request makes, and what is taken off: so many of the other one's requests.
UNITS: dict[str, tuple] = {
    "session without state": (sessions, 1, None, 0),
    "key of a session, since its creation": (lambda n: sessions(n, keys=20), 20, "session without state", 1),
    "`Idempotency-Key` of a creation": (lambda n: sessions(n, keyed=True), 1, "session without state", 1),
    "event with a text of 100 bytes": (lambda n: batches(n, 100), 10, "session without state", 0.2),
    "event with a text of 1,000 bytes": (lambda n: batches(n, 1000), 10, "session without state", 0.2),
    "change of a key of the session by an event": (lambda n: batches(n, 100, changes=1), 10, "event with a text of 100 bytes", 1),
    "change of a key of the user": (lambda n: patches(n, "user"), 1, None, 0),
    "change of a key of the app": (patches, 1, None, 0),
    "`Idempotency-Key` of such a change": (lambda n: patches(n, "user", keyed=True), 1, "change of a key of the user", 1),
    "version of a file of 1,000 bytes": (lambda n: files(n, 1000), 1, None, 0),
    "version of a file of 100,000 bytes": (lambda n: files(n, 100_000), 1, None, 0),
    "event with a text of 100 bytes, in a request of its own": (single, 1, "session without state", 0.02),
    "change in the feed": (single, 1, "event with a text of 100 bytes, in a request of its own", 1),
}  # fmt: skip


def size_of(postgresql: PostgreSQL | None, name: str, file: Path) -> tuple[int, int]:
    """Bytes of all tables, and of their indexes, of which SQLite does not tell."""
    if postgresql:
        postgresql.sql(name, "vacuum")
        query = "select sum(pg_table_size(oid)), sum(pg_indexes_size(oid)) from pg_class where relkind = 'r' and relnamespace = "
        rows, indexes = postgresql.sql(name, query + "'public'::regnamespace").split("|")
        return int(rows), int(indexes)
    with contextlib.closing(sqlite3.connect(file)) as connection:
        facts = ("page_count", "freelist_count", "page_size")
        pages, free, size = (connection.execute(f"pragma {each}").fetchone()[0] for each in facts)
    return (pages - free) * size, 0


def make(url: str, requests: list[tuple]) -> None:
    local = threading.local()

    def ask(request: tuple) -> None:
        method, path, body, headers = request
        if not hasattr(local, "connection"):
            local.connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=60)
        if not isinstance(body, bytes):
            body, headers = json.dumps(body), headers | {"content-type": "application/json"}
        local.connection.request(method, path, body, headers)
        answer = local.connection.getresponse()
        said = answer.read()
        if answer.status not in (200, 201):
            raise SystemExit(f"{method} {path}: {answer.status} {said[:300]!r}")

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(ask, requests))


def measure(options: argparse.Namespace, folder: Path, postgresql: PostgreSQL | None) -> dict[str, tuple[float, float]]:
    whole: dict[str, tuple[float, float]] = {}
    for number, (title, (request, each, _, _)) in enumerate(UNITS.items()):
        name, file = f"unit{number}", folder / f"unit{number}.db"
        url = postgresql.fresh(name) if postgresql else f"sqlite://{file}"
        count = min(options.count, 200) if "100,000" in title else options.count
        flags = ["--feed-retention=1h"] if "feed" in title else []
        with Sessiond(options.sessiond, url, folder, *flags):
            pass
        before = size_of(postgresql, name, file)
        with Sessiond(options.sessiond, url, folder, *flags) as server:
            make(server.url, [request(n) for n in range(count)])
        after = size_of(postgresql, name, file)
        # Of each request.
        whole[title] = tuple((late - early) / count for early, late in zip(before, after, strict=True))
        say(f"{title}: {sum(whole[title]) / each:.0f}")
        if postgresql:
            postgresql.drop(name)
        file.unlink(missing_ok=True)
    found = {}
    for title, (_, each, other, times) in UNITS.items():
        less = whole[other] if other else (0, 0)
        found[title] = tuple((own - times * of) / each for own, of in zip(whole[title], less, strict=True))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sessiond", type=Path, required=True)
    parser.add_argument("--count", type=int, default=3000)
    options = parser.parse_args()
    options.sessiond = options.sessiond.resolve()
    with tempfile.TemporaryDirectory(prefix="sessiond-units-", dir=os.environ.get("BENCH_DIR", "/var/tmp")) as name:
        folder = Path(name)
        sqlite = measure(options, folder, None)
        server = PostgreSQL(folder)
        try:
            postgresql = measure(options, folder, server)
        finally:
            server.stop()
    print("| bytes of one | SQLite | PostgreSQL | of them indexes |\n|---|---|---|---|")
    for title in UNITS:
        print(f"| {title} | {sum(sqlite[title]):,.0f} | {sum(postgresql[title]):,.0f} | {postgresql[title][1]:,.0f} |")


if __name__ == "__main__":
    main()
