"""Measures google-adk's own session services, used as a library: no HTTP, no process in between.

    bench/yardsticks/python bench/yardsticks/adk_library.py --service database --url postgresql+asyncpg://HOST/EMPTY_DB
    bench/yardsticks/python bench/yardsticks/adk_library.py --service sqlite --path NEW_FILE

Prints one JSON object. An append is that of append.sql: an event of 1 KB, one session key, now and then a shared one.
Each task has sessions of its own and keeps their `Session` objects between appends, as the process of an agent does:
the service refuses an object that is older than what is stored. Where that happens the task loads the session again,
and the append with its repetitions is one request; `retries` counts them.

How durable an answer is shows as `durability`, asked of the database in the way that the service uses it:
- sqlite: the service sets neither `journal_mode` nor `synchronous`. SQLite's defaults are a rollback journal and FULL:
  each commit is on the disk when it returns (but for the journal's directory entry, which only EXTRA would sync).
- database: the server's defaults; nothing is set by the service.
"""

import argparse
import asyncio
import contextlib
import itertools
import random
import sqlite3

from google.adk.errors._stale_session_error import StaleSessionError
from google.adk.errors.already_exists_error import AlreadyExistsError
from google.adk.events.event import Event
from google.adk.events.event_actions import EventActions
from google.adk.sessions.base_session_service import BaseSessionService, GetSessionConfig
from google.adk.sessions.database_session_service import DatabaseSessionService
from google.adk.sessions.session import Session
from google.adk.sessions.sqlite_session_service import SqliteSessionService
from google.genai import types

import measure
from measure import APP, Tally, user_of

# How many sessions are made at the same time, before anything is measured.
SETUP_TASKS = 8


def event(delta: dict, text: str) -> Event:
    return Event(
        author="agent",
        invocation_id="i1",
        content=types.Content(role="model", parts=[types.Part(text=text)]),
        actions=EventActions(state_delta=delta),
    )


def text_of_an_event() -> str:
    """So long that an event with it is 1 KB of JSON, as it is stored."""
    without = event({"k0": 10**9}, "").model_dump_json(exclude_none=True)
    return "x" * (measure.EVENT_BYTES - len(without))


async def durability(options: argparse.Namespace) -> dict:
    if options.service == "sqlite":
        # A connection without settings, as the service's own are.
        with contextlib.closing(sqlite3.connect(options.path)) as connection:
            names = ("journal_mode", "synchronous")
            return {name: connection.execute(f"pragma {name}").fetchone()[0] for name in names}
    import asyncpg

    connection = await asyncpg.connect(options.url.replace("postgresql+asyncpg:", "postgresql:"))
    try:
        return {name: await connection.fetchval(f"show {name}") for name in ("fsync", "synchronous_commit")}
    finally:
        await connection.close()


async def session_of(service: BaseSessionService, number: int, options: argparse.Namespace) -> Session:
    """Made, or what an earlier run left of it, with its last events only: an agent that goes on reads no more."""
    key = {"app_name": APP, "user_id": user_of(number, options), "session_id": f"s{number}"}
    try:
        return await service.create_session(**key)
    except AlreadyExistsError:
        return await service.get_session(**key, config=GetSessionConfig(num_recent_events=10))


async def appends(service: BaseSessionService, sessions: list[Session], options: argparse.Namespace):
    """What one task does again and again: appends to its sessions in turn."""
    text = text_of_an_event()
    turns = [itertools.cycle(measure.sessions_of(task, options)) for task in range(options.concurrency)]
    randoms = [random.Random(task) for task in range(options.concurrency)]

    async def one(task: int, tally: Tally) -> None:
        number = next(turns[task])
        delta = measure.state_delta(randoms[task])
        while True:
            session = sessions[number]
            try:
                await service.append_event(session, event(delta, text))
                return
            except StaleSessionError:
                tally.retries += 1
                sessions[number] = await service.get_session(
                    app_name=APP,
                    user_id=session.user_id,
                    session_id=session.id,
                    config=GetSessionConfig(num_recent_events=10),
                )

    return one


async def gets(service: BaseSessionService, sessions: list[Session], options: argparse.Namespace):
    """Reads any session with its ten last events; each is given ten before."""
    text, random_numbers = text_of_an_event(), random.Random(1)

    async def fill(which: list[Session]) -> None:
        for session in which:
            for _ in range(10 - len(session.events)):
                await service.append_event(session, event(measure.state_delta(random_numbers), text))

    await asyncio.gather(*(fill(sessions[first::SETUP_TASKS]) for first in range(SETUP_TASKS)))

    async def one(_task: int, _tally: Tally) -> None:
        session = random_numbers.choice(sessions)
        found = await service.get_session(
            app_name=APP,
            user_id=session.user_id,
            session_id=session.id,
            config=GetSessionConfig(num_recent_events=10),
        )
        if found is None or len(found.events) != 10:
            raise LookupError("the session or its events are not there")

    return one


async def run(options: argparse.Namespace) -> dict:
    if options.service == "sqlite":
        service = SqliteSessionService(options.path)
    else:
        pool = {"pool_size": options.pool, "max_overflow": 0} if options.pool else {}
        service = DatabaseSessionService(options.url, **pool)
    try:
        # The first one alone: it makes the tables, and the rows of the app.
        sessions = [await session_of(service, 0, options)]
        for first in range(1, options.sessions, SETUP_TASKS):
            numbers = range(first, min(first + SETUP_TASKS, options.sessions))
            sessions += await asyncio.gather(*(session_of(service, number, options) for number in numbers))
        operation = gets if options.operation == "get" else appends
        tally, cpu_seconds = await measure.closed_loop(options, await operation(service, sessions, options))
    finally:
        await service.close()
    return tally.report(
        options.seconds,
        cpu_seconds,
        service=options.service,
        operation=options.operation,
        concurrency=options.concurrency,
        durability=await durability(options),
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--service", choices=("database", "sqlite"), required=True)
    parser.add_argument("--url", help="for --service database: of a database of its own, postgresql+asyncpg://...")
    parser.add_argument("--path", help="for --service sqlite: a file")
    parser.add_argument("--operation", choices=("append", "get"), default="append")
    parser.add_argument(
        "--pool", type=int, help="connections of the pool; by default SQLAlchemy's: 5, and 10 more under load"
    )
    measure.add_options(parser)
    options = parser.parse_args()
    if not (options.path if options.service == "sqlite" else options.url):
        parser.error("--service database needs --url, --service sqlite needs --path")
    measure.print_result(asyncio.run(run(options)))


if __name__ == "__main__":
    main()
