"""The lines of an export, from sessions that ADK's own services hold."""

import hashlib
import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from google.adk.events.event import Event
from google.adk.events.event_actions import EventActions
from google.adk.sessions.base_session_service import BaseSessionService
from google.adk.sessions.database_session_service import DatabaseSessionService
from google.adk.sessions.in_memory_session_service import InMemorySessionService
from google.adk.sessions.sqlite_session_service import SqliteSessionService

from sessiond_adk._lines import session_lines
from sessiond_adk.export import export, open_service

from .support import postgres


@pytest.fixture(params=["memory", "sqlite", "database", "postgres", "uri"])
def source(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[BaseSessionService]:
    path = tmp_path / "adk.db"
    match request.param:
        case "memory":
            yield InMemorySessionService()
        case "sqlite":
            yield SqliteSessionService(str(path))
        case "database":
            yield DatabaseSessionService(f"sqlite+aiosqlite:///{path}")
        case "postgres":
            with postgres.database() as url:
                yield DatabaseSessionService("postgresql+asyncpg://" + url.partition("://")[2])
        case _:
            yield open_service(f"sqlite:///{path}")


def said(id: str, timestamp: float, delta: dict[str, Any]) -> Event:
    return Event(id=id, author="agent", invocation_id="i", timestamp=timestamp, actions=EventActions(state_delta=delta))


async def lines(source: BaseSessionService) -> list[bytes]:
    return [text async for text in export(source, "app")]


def folded(session: dict[str, Any], events: list[dict[str, Any]]) -> dict[str, Any]:
    """The state that the lines lead to, by the rule of the service."""
    state: dict[str, Any] = dict(session["baseState"])
    for event in events:
        actions = event["event"]["actions"]
        delta = actions["stateDelta"]
        state |= {key: value for key, value in delta.items() if not key.startswith(("app:", "user:"))}
        for operation in actions.get("stateOps", ()):
            assert operation["op"] == "remove"
            del state[operation["key"]]
    return state


async def test_lines_lead_to_the_state_that_adk_reports(source: BaseSessionService) -> None:
    first = {"kept": {"a": [1, None]}, "n": 1, "user:name": "Zoë", "app:motd": "hi", "temp:x": 1}
    for user, id in [("ada", "s/1 ü"), ("bob", "s2")]:
        session = await source.create_session(app_name="app", user_id=user, session_id=id, state=dict(first))
        await source.append_event(session, said("e1", 1000.5, {"n": 2, "deep": {"a": 1}, "gone": None, "temp:y": 1}))
        await source.append_event(session, said("e2", 1001.5, {"n": 3, "deep": {"b": None}, "user:name": user}))

    written = await lines(source)
    assert [text for text in await lines(source)][1:] == written[1:]
    read = [json.loads(text) for text in written]
    assert b"temp:" not in b"".join(written)
    assert read[0]["type"] == "export"
    assert {"type": "app.state", "revision": 1, "state": {"motd": "hi"}} in read
    assert {"type": "user.state", "userId": "bob", "revision": 1, "state": {"name": "bob"}} in read
    assert read[-1]["type"] == "end" and read[-1]["sessions"] == 2
    starts = [at for at, fields in enumerate(read) if fields["type"] == "session"]
    ends = [at for at, fields in enumerate(read) if fields["type"] == "session.end"]
    assert len(starts) == len(ends) == 2
    for start, end in zip(starts, ends, strict=True):
        session_line, events, last = read[start], read[start + 1 : end], read[end]
        assert session_line["baseState"] == {"kept": {"a": [1, None]}}
        assert [event["saw"] for event in events] == [[1, 1]] * len(events)
        assert [event["event"]["sequence"] for event in events] == list(range(1, last["revision"] + 1))
        assert last["sha256"] == hashlib.sha256(b"".join(written[start:end])).hexdigest()
        reported = await source.get_session(app_name="app", user_id=session_line["userId"], session_id=last["id"])
        assert reported is not None
        own = {key: value for key, value in reported.state.items() if not key.startswith(("app:", "user:"))}
        assert last["state"] == own == folded(session_line, events)


async def test_what_the_events_do_not_lead_to_is_one_more_event() -> None:
    source = InMemorySessionService()
    session = await source.create_session(app_name="app", user_id="u", session_id="s")
    # Back-dated: by time it comes first, and the state that is stored is that of the one appended last.
    await source.append_event(session, said("late", 2000.0, {"k": "late", "lost": 1}))
    await source.append_event(session, said("early", 1000.0, {"k": "early"}))
    stored = await source.get_session(app_name="app", user_id="u", session_id="s")
    assert stored is not None
    del stored.state["lost"]

    start, *events, end = [json.loads(text) for text in session_lines(stored, saw=(0, 0))]
    assert [event["event"]["id"] for event in events[:2]] == ["early", "late"]
    closing = events[2]["event"]
    assert (closing["author"], closing["invocationId"]) == ("sessiond", "import")
    assert closing["actions"] == {"stateDelta": {"k": "early"}, "stateOps": [{"op": "remove", "key": "lost"}]}
    assert end["state"] == {"k": "early"} == folded(start, events)


@pytest.mark.parametrize("uri", ["nothing", "json:dumps", "nosuch://x"])
def test_a_source_that_is_no_session_service_is_refused(uri: str) -> None:
    with pytest.raises(ValueError):
        open_service(uri)


def test_the_command_writes_the_lines_and_says_what_is_wrong(tmp_path: Path) -> None:
    def run(uri: str) -> subprocess.CompletedProcess[bytes]:
        command = [sys.executable, "-m", "sessiond_adk.export", "--from", uri, "--app", "app"]
        return subprocess.run(command, capture_output=True, check=False)

    empty = run(f"sqlite:///{tmp_path}/adk.db")
    assert [json.loads(text)["type"] for text in empty.stdout.splitlines()] == ["export", "end"]
    assert empty.returncode == 0
    wrong = run("nothing")
    assert (wrong.returncode, wrong.stdout) == (2, b"")
    assert b"module:attribute" in wrong.stderr and b"Traceback" not in wrong.stderr
