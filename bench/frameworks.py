#!/usr/bin/env python3
"""What the adapters of the Python client take, beside the stores that their frameworks ship.

    cargo build --profile dist
    bench/yardsticks/frameworks bench/frameworks.py --sessiond target/dist/sessiond

Checkpoints of LangGraph (`SessiondSaver`, `PostgresSaver`, `SqliteSaver`) and sessions of the OpenAI Agents SDK (`SessiondSession`,
`SQLAlchemySession` on PostgreSQL, `SQLiteSession`), one caller, by how much there is already. The stores take turns, in an order that
alternates. Writes docs/benchmarks/frameworks.json, from which bench/report.py makes a part of docs/benchmarks.md.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import inspect
import json
import os
import sqlite3
import statistics
import subprocess
import tempfile
import time
from collections.abc import Awaitable, Callable, Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any

from agents import SQLiteSession
from agents.extensions.memory import SQLAlchemySession
from lab import PostgreSQL, Sessiond, running_time, say
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.base.id import uuid6
from langgraph.checkpoint.postgres import PostgresSaver
from langgraph.checkpoint.sqlite import SqliteSaver
from sqlalchemy.ext.asyncio import create_async_engine

from sessiond import AsyncClient
from sessiond.langgraph import SessiondSaver
from sessiond.openai import SessiondSession

PACKAGES = ("langgraph-checkpoint-postgres", "langgraph-checkpoint-sqlite", "openai-agents", "psycopg", "asyncpg")
SIZES = [10, 100, 1000]
# A round adds a twentieth, in threads and sessions of which the small ones are many.
FILLED = 400
GROWTH = 20
READS = 40
TURN = 4
LIMIT = 10
TEXT = "x" * 200

# Database, name, what is in it, and the processes that it asks.
Store = tuple[str, str, Any, tuple[int, ...]]
Operation = Callable[[], Awaitable[Any] | Any]


class Savers:
    """Threads of LangGraph in one store. A step changes two of three channels: ten messages, and a number."""

    operations = ("put", "get_tuple")

    def __init__(self, saver: Any) -> None:
        self._saver = saver
        # By size: the place and the content of the latest checkpoint of each thread.
        self._tips: dict[int, list[tuple[Any, Any]]] = {}
        self._turn = 0

    async def fill(self, size: int) -> None:
        self._tips[size] = [self._filled(f"{size}-{n}", size) for n in range(max(1, FILLED // size))]

    def _filled(self, thread: str, size: int) -> tuple[Any, Any]:
        tip = {"configurable": {"thread_id": thread, "checkpoint_ns": ""}}, None
        for _ in range(size):
            tip = self._put(*tip, self._next(tip[1]))
        return tip

    def _next(self, parent: Any) -> tuple[Any, Any]:
        checkpoint: Any = empty_checkpoint()
        checkpoint["id"] = str(uuid6())
        versions, values = {}, {}
        if parent is not None:
            versions, values = dict(parent["channel_versions"]), dict(parent["channel_values"])
        step = values.get("step", 0) + 1
        kinds = (HumanMessage, AIMessage)
        changed = {"step": step, "messages": [kinds[n % 2](TEXT, id=f"{n}") for n in range(step, step + 10)]}
        if parent is None:
            changed["document"] = TEXT * 10
        new = {name: self._saver.get_next_version(versions.get(name), None) for name in changed}
        checkpoint["channel_versions"], checkpoint["channel_values"] = versions | new, values | changed
        return checkpoint, new

    def _put(self, at: Any, _parent: Any, following: tuple[Any, Any]) -> tuple[Any, Any]:
        checkpoint, new = following
        return self._saver.put(at, checkpoint, {"step": checkpoint["channel_values"]["step"]}, new), checkpoint

    def count(self, operation: str, size: int) -> int:
        return len(self._tips[size]) * size // GROWTH if operation == "put" else READS

    def prepare(self, operation: str, size: int) -> Operation:
        tips = self._tips[size]
        self._turn += 1
        place = self._turn % len(tips)
        at, parent = tips[place]
        if operation == "put":
            following = self._next(parent)

            def put() -> None:
                tips[place] = self._put(at, parent, following)

            return put
        thread = {"configurable": {"thread_id": at["configurable"]["thread_id"], "checkpoint_ns": ""}}

        def get_tuple() -> None:
            found = self._saver.get_tuple(thread)
            assert found and found.checkpoint["id"] == parent["id"] and len(found.checkpoint["channel_values"]) == 3

        return get_tuple


class Sessions:
    """Sessions of the OpenAI Agents SDK in one store. A turn is a question, a call, its result, and an answer."""

    operations = ("add_items of a turn", f"get_items({LIMIT})", "get_items()")

    def __init__(self, opened: Callable[[str], Any]) -> None:
        self._opened = opened
        self._sessions: dict[int, list[Any]] = {}
        self._turn = 0

    async def fill(self, size: int) -> None:
        self._sessions[size] = [self._opened(f"{size}-{n}") for n in range(max(1, FILLED // size))]
        for session in self._sessions[size]:
            items = [item for _ in range(-(-size // TURN)) for item in self._items()]
            await session.add_items(items[:size])

    def _items(self) -> list[Any]:
        self._turn += 1
        call = f"call_{self._turn}"
        return [
            {"role": "user", "content": TEXT},
            {"type": "function_call", "call_id": call, "name": "brew", "arguments": json.dumps({"tea": TEXT})},
            {"type": "function_call_output", "call_id": call, "output": TEXT},
            {"role": "assistant", "content": TEXT},
        ]

    def count(self, operation: str, size: int) -> int:
        return len(self._sessions[size]) * size // GROWTH // TURN if operation.startswith("add") else READS

    def prepare(self, operation: str, size: int) -> Operation:
        items = self._items()
        session = self._sessions[size][self._turn % len(self._sessions[size])]
        if operation.startswith("add"):
            return lambda: session.add_items(items)
        limit = None if operation == "get_items()" else LIMIT

        async def get_items() -> None:
            found = await session.get_items(limit)
            assert len(found) >= (limit or size) and (limit is None or len(found) == limit)

        return get_items


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sessiond", type=Path, required=True)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    parser.add_argument("--out", type=Path, default=Path(__file__).resolve().parent.parent / "docs/benchmarks/frameworks.json")
    options = parser.parse_args()
    options.sessiond = options.sessiond.resolve()
    with tempfile.TemporaryDirectory(prefix="sessiond-frameworks-", dir=os.environ.get("BENCH_DIR", "/var/tmp")) as folder:
        found = asyncio.run(measure(options, Path(folder)))
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps(found, indent=1) + "\n")
    say(f"written: {options.out}")


async def measure(options: argparse.Namespace, folder: Path) -> dict:
    load = os.getloadavg()[0]
    postgresql = PostgreSQL(folder)
    try:
        with stores(options.sessiond, folder, postgresql) as made:
            results = await all_rounds(options, made, postgresql)
    finally:
        postgresql.stop()
    return {
        "facts": {
            "sessiond": subprocess.run([options.sessiond, "--version"], capture_output=True, text=True, check=True).stdout.strip(),
            "postgresql": postgresql.version,
            "sqlite": sqlite3.sqlite_version,
            "packages": {name: version(name) for name in PACKAGES},
            "durability": durability(folder),
            "rounds": options.rounds,
            "load": load,
        },
        "results": results,
    }


@contextlib.contextmanager
def stores(sessiond: Path, folder: Path, postgresql: PostgreSQL) -> Iterator[list[Store]]:
    """All of them, empty."""
    urls = {"PostgreSQL": postgresql.fresh("ours"), "SQLite": f"sqlite://{folder}/sessiond.db"}
    at = (postgresql.process.pid,)
    with contextlib.ExitStack() as stack:
        made: list[Store] = []
        for database, url in urls.items():
            place = folder / database
            place.mkdir()
            server = stack.enter_context(Sessiond(sessiond, url, place))
            saver = stack.enter_context(SessiondSaver(server.url, app="bench"))
            asked = (server.pid, *(at if database == "PostgreSQL" else ()))
            made.append((database, "SessiondSaver", Savers(saver), asked))
            client = AsyncClient(server.url)
            made.append((database, "SessiondSession", Sessions(ours(client)), asked))
        theirs = stack.enter_context(PostgresSaver.from_conn_string(postgresql.fresh("langgraph")))
        theirs.setup()
        made.append(("PostgreSQL", "PostgresSaver", Savers(theirs), at))
        theirs = stack.enter_context(SqliteSaver.from_conn_string(str(folder / "langgraph.db")))
        made.append(("SQLite", "SqliteSaver", Savers(theirs), ()))
        engine = create_async_engine(postgresql.fresh("openai").replace("postgres://", "postgresql+asyncpg://"))
        sessions = Sessions(lambda name: SQLAlchemySession(name, engine=engine, create_tables=True))
        made.append(("PostgreSQL", "SQLAlchemySession", sessions, at))
        made.append(("SQLite", "SQLiteSession", Sessions(lambda name: SQLiteSession(name, folder / "openai.db")), ()))
        yield made


def ours(client: AsyncClient) -> Callable[[str], Any]:
    return lambda name: SessiondSession(name, app="bench", user="u", client=client)


def durability(folder: Path) -> dict[str, str]:
    """The journal of each file of SQLite that a framework has made. `synchronous` is of a connection: none of them sets it."""
    found = {}
    for name in ("langgraph.db", "openai.db"):
        with contextlib.closing(sqlite3.connect(folder / name)) as connection:
            found[name] = ", ".join(
                f"{what}={connection.execute(f'PRAGMA {what}').fetchone()[0]}" for what in ("journal_mode", "synchronous")
            )
    return found


async def all_rounds(options: argparse.Namespace, made: list[Store], postgresql: PostgreSQL) -> list[dict]:
    for size in options.sizes:
        for database, name, store, _ in made:
            begun = time.monotonic()
            await store.fill(size)
            say(f"{name} on {database}, {size}: filled in {time.monotonic() - begun:.1f} s")
    results = []
    # The first one is not counted: plans are made, and connections opened.
    for turn in range(options.rounds + 1):
        postgresql.settle()
        for size in options.sizes:
            for database, name, store, asked in made if turn % 2 == 0 else made[::-1]:
                for operation in store.operations:
                    before = sum(map(running_time, asked))
                    taken = [await timed(store.prepare(operation, size)) for _ in range(max(1, store.count(operation, size)))]
                    servers = (sum(map(running_time, asked)) - before) / 1e3 / len(taken)
                    if turn:
                        results.append(
                            {
                                "operation": operation,
                                "database": database,
                                "store": name,
                                "size": size,
                                "round": turn,
                                "count": len(taken),
                                "p50": round(statistics.median(time for time, _ in taken), 1),
                                "cpu": round(statistics.median(own for _, own in taken) + servers, 1),
                            }
                        )
        say(f"round {turn} of {options.rounds}")
    return results


async def timed(operation: Operation) -> tuple[float, float]:
    """How long it took, and the processor time of this process, in microseconds."""
    begun, own = time.perf_counter(), time.process_time()
    answer = operation()
    if inspect.isawaitable(answer):
        await answer
    return (time.perf_counter() - begun) * 1e6, (time.process_time() - own) * 1e6


if __name__ == "__main__":
    main()
