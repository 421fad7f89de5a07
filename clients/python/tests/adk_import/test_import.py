"""`python -m sessiond_adk_import` brings the sessions of ADK's own services to sessiond."""

import asyncio
import hashlib
import json
import subprocess
import sys
import uuid
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from google.adk.events.event import Event
from google.adk.events.event_actions import EventActions
from google.adk.sessions.base_session_service import BaseSessionService
from google.adk.sessions.database_session_service import DatabaseSessionService
from google.adk.sessions.in_memory_session_service import InMemorySessionService
from google.adk.sessions.sqlite_session_service import SqliteSessionService
from google.adk.tools.tool_confirmation import ToolConfirmation
from google.genai import types

from sessiond_adk import SessiondSessionService
from sessiond_adk_import._exports import bring, exports
from sessiond_adk_import._lines import SessionLines, of_session
from sessiond_adk_import._sources import open_service

from ..support import postgres
from ..support.process import Server


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
            yield DatabaseSessionService("postgresql+asyncpg://" + postgres.database().partition("://")[2])
        case _:
            path.touch()
            yield open_service(f"sqlite:///{path}")


def said(id: str, timestamp: float, delta: dict[str, Any]) -> Event:
    return Event(id=id, author="agent", invocation_id="i", timestamp=timestamp, actions=EventActions(state_delta=delta))


async def lines(source: BaseSessionService) -> list[bytes]:
    written = [b"".join(export) async for export in exports(source, "app")]
    return b"".join(written).splitlines(keepends=True)


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
    assert (await lines(source))[1:] == written[1:]
    read = [json.loads(text) for text in written]
    assert b"temp:" not in b"".join(written)
    assert read[0]["type"] == "export"
    assert {"type": "app.state", "revision": 2, "state": {"motd": "hi"}} in read
    assert {"type": "user.state", "userId": "bob", "revision": 2, "state": {"name": "bob"}} in read
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
    await source.append_event(session, said("late", 2000.0, {"k": "late", "lost": 1}))
    await source.append_event(session, said("early", 1000.0, {"k": "early"}))
    stored = await source.get_session(app_name="app", user_id="u", session_id="s")
    assert stored is not None
    del stored.state["lost"]
    # As a service shows it that sorts by time: the state that is stored is that of the one appended last.
    stored.events.sort(key=lambda event: event.timestamp)

    lines = SessionLines(*of_session(stored))
    lines.end(saw=(0, 0))
    start, *events, end = [json.loads(text) for text in lines]
    assert [event["event"]["id"] for event in events[:2]] == ["early", "late"]
    closing = events[2]["event"]
    assert (closing["author"], closing["invocationId"]) == ("sessiond", "import")
    assert closing["actions"] == {"stateDelta": {"k": "early"}, "stateOps": [{"op": "remove", "key": "lost"}]}
    assert end["state"] == {"k": "early"} == folded(start, events)


async def test_a_session_that_is_not_json_is_named_and_the_rest_goes_on() -> None:
    source = InMemorySessionService()
    for id in ("good", "nan"):
        session = await source.create_session(app_name="app", user_id="u", session_id=id)
        value = float("nan") if id == "nan" else 1
        await source.append_event(session, said("e", 1000.0, {"k": value}))
    failed: list[dict[str, object]] = []
    written = b"".join([b"".join(export) async for export in exports(source, "app", None, failed)])
    assert [each["session"] for each in failed] == ["nan"] and failed[0]["result"] == "failed"
    ends = [json.loads(text) for text in written.splitlines() if b'"session.end"' in text]
    assert [each["id"] for each in ends] == ["good"]


@pytest.mark.parametrize("uri", ["nothing", "json:dumps", "nosuch://x"])
def test_a_source_that_is_no_session_service_is_refused(uri: str) -> None:
    with pytest.raises(ValueError):
        open_service(uri)


def run(uri: str) -> subprocess.CompletedProcess[bytes]:
    """Runs the command, which writes the lines to standard output."""
    command = [sys.executable, "-m", "sessiond_adk_import", "--from", uri, "--app", "app", "--to", "-"]
    return subprocess.run(command, capture_output=True, check=False)


def test_the_command_writes_the_lines_and_says_what_is_wrong(tmp_path: Path) -> None:
    missing = run(f"sqlite:///{tmp_path}/typo.db")
    assert (missing.returncode, missing.stdout) == (2, b"")
    assert b"there is no file" in missing.stderr and not list(tmp_path.iterdir())
    (tmp_path / "adk.db").touch()
    empty = run(f"sqlite:///{tmp_path}/adk.db")
    assert (empty.returncode, empty.stdout) == (2, b"") and b"no session service of ADK" in empty.stderr
    wrong = run("nothing")
    assert (wrong.returncode, wrong.stdout) == (2, b"")
    assert b"module:attribute" in wrong.stderr and b"Traceback" not in wrong.stderr


def spoken(id: str, timestamp: float) -> Event:
    """An event with names that Python writes in another case, and data that has names of the same kind."""
    call = types.FunctionCall(id="c1", name="look_up", args={"some_key": {"inner_key": [1, 2.50]}})
    back = types.FunctionResponse(id="c1", name="look_up", response={"a_result": None, "b_result": "\u0001\u2028"})
    return Event(
        id=id,
        author="agent",
        invocation_id="i",
        timestamp=timestamp,
        content=types.Content(role="model", parts=[types.Part(function_call=call), types.Part(function_response=back)]),
        long_running_tool_ids={"c1"},
        usage_metadata=types.GenerateContentResponseUsageMetadata(prompt_token_count=7),
        custom_metadata={"my_key": {"other_key": 1}},
        actions=EventActions(
            state_delta={"deep_key": {"in_it": True}},
            artifact_delta={"a_file.txt": 1},
            requested_tool_confirmations={"c_1": ToolConfirmation(hint="h", payload={"p_q": 1})},
        ),
    )


async def fill(source: BaseSessionService, app: str) -> list[tuple[str, str]]:
    """Makes sessions of several users: with initial state, a back-dated event, keys that were set to None."""
    first = {"kept": {"a": [1, None, 1.0, 10**30]}, "n": 1, "user:name": "Zoë", "app:motd": "hi", "temp:x": 1}
    names = [("ada", "s 1/ü"), ("ada", "s2"), ("bob", "s1")]
    for user, id in names:
        session = await source.create_session(app_name=app, user_id=user, session_id=id, state=dict(first))
        await source.append_event(session, said("e1", 1000.5, {"n": 2, "deep": {"a": 1}, "gone": None, "temp:y": 1}))
        await source.append_event(session, said("e3", 1001.000123, {"k": "late", "app:motd": user}))
        # By its time it comes before the one that is there: what is stored is what it wrote.
        await source.append_event(session, said("e2", 1000.75, {"k": "early", "n": 0.1 + 0.2, "user:name": user}))
        await source.append_event(session, spoken("e4", 1002.5))
    await source.create_session(app_name=app, user_id="eve", session_id="empty", state={"only": "initial"})
    await source.create_session(app_name=app, user_id="eve", session_id="nothing")
    return [*names, ("eve", "empty"), ("eve", "nothing")]


async def assert_same(source: BaseSessionService, server: Server, app: str, names: list[tuple[str, str]]) -> None:
    """All is there as ADK's own service reports it; of an event that closes a session ADK knows nothing."""
    async with SessiondSessionService(server.url) as service:
        for user, id in names:
            there = await source.get_session(app_name=app, user_id=user, session_id=id)
            here = await service.get_session(app_name=app, user_id=user, session_id=id)
            assert there is not None and here is not None, (user, id)
            assert here.state == there.state
            events = [event for event in here.events if event.author != "sessiond"]
            assert events == there.events
    async with httpx.AsyncClient(base_url=server.url, timeout=60) as client:
        answer = await client.get(f"/v1/apps/{app}/users/ada/sessions/s2/events/e4")
    event = answer.json()
    assert event["content"]["parts"][0]["functionCall"]["args"] == {"some_key": {"inner_key": [1, 2.5]}}
    assert event["usageMetadata"] == {"promptTokenCount": 7}
    assert event["longRunningToolIds"] == ["c1"]
    assert event["customMetadata"] == {"my_key": {"other_key": 1}}
    assert event["actions"]["stateDelta"] == {"deep_key": {"in_it": True}}
    assert event["actions"]["requestedToolConfirmations"]["c_1"]["payload"] == {"p_q": 1}
    verified = server.command("verify")
    assert verified.returncode == 0, verified.stdout


async def test_the_module_brings_what_any_service_holds(source: BaseSessionService, server: Server) -> None:
    app = f"app_{uuid.uuid4().hex}"
    names = await fill(source, app)

    async def imported(**options: bool) -> Counter[object]:
        async with httpx.AsyncClient(base_url=server.url, timeout=60) as client:
            results = [await bring(client, export, **options) async for export in exports(source, app)]
        return Counter(result["result"] for results_of_one in results for result in results_of_one)

    assert await imported(dry_run=True) == {"created": len(names)}
    assert await imported() == {"created": len(names)}
    assert await imported() == {"unchanged": len(names)}
    await assert_same(source, server, app, names)
    session = await source.get_session(app_name=app, user_id="bob", session_id="s1")
    assert session is not None
    await source.append_event(session, said("e9", 2000.0, {}))
    assert await imported() == {"unchanged": len(names) - 1, "failed": 1}
    assert await imported(skip_existing=True) == {"unchanged": len(names) - 1, "skipped": 1}


@pytest.mark.parametrize("options", [[], ["--from", "sqlite:///adk.db", "--app", "app", "--dry-run"]])
def test_the_command_that_there_was_names_this_one(options: list[str], server: Server) -> None:
    done = server.command("import", "adk", *options)
    assert (done.returncode, done.stdout) == (2, "")
    assert "`python3 -m sessiond_adk_import --from sqlite:///FILE --to " in done.stderr


def test_a_reader_that_has_enough_ends_the_command(tmp_path: Path) -> None:
    async def store() -> None:
        source = SqliteSessionService(f"{tmp_path}/adk.db")
        session = await source.create_session(app_name="app", user_id="u", session_id="s")
        await source.append_event(session, said("e", 1000.0, {"k": "x" * 1_000_000}))

    asyncio.run(store())
    command = [sys.executable, "-m", "sessiond_adk_import", "--from", f"sqlite:///{tmp_path}/adk.db", "--to", "-"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        assert process.stdout and process.stderr
        assert json.loads(process.stdout.readline())["type"] == "export"
        process.stdout.close()
        assert (b"Traceback" in process.stderr.read(), process.wait()) == (False, 1)


async def test_an_id_may_have_any_end_of_a_line_but_a_line_feed(server: Server, app: str, plain: httpx.Client) -> None:
    source = InMemorySessionService()
    ids = ["s\u2028one", "s\u2029two"]
    for id in ids:
        session = await source.create_session(app_name=app, user_id="u", session_id=id)
        await source.append_event(session, Event(id="e1", author="a", partial=False))
        await source.append_event(session, Event(id="e2", author="a"))
    async with httpx.AsyncClient(base_url=server.url) as client:
        results = [result async for export in exports(source, app) for result in await bring(client, export)]
    assert [(result["session"], result["result"]) for result in results] == [(id, "created") for id in ids]
    # What says that it is whole goes on to say so.
    events = plain.get(f"/apps/{app}/users/u/sessions/{ids[0]}/events").json()["events"]
    assert [event.get("partial") for event in events] == [False, None]
