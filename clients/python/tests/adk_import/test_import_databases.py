"""`python -m sessiond_adk_import` reads the databases of ADK's own services, which these services made here."""

import hashlib
import json
import os
import shutil
import sqlite3
import subprocess
import uuid
from collections.abc import Callable
from decimal import Decimal
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import pytest
from google.adk.events.event import Event
from google.adk.events.event_actions import EventActions
from google.adk.sessions.base_session_service import BaseSessionService
from google.adk.sessions.database_session_service import DatabaseSessionService
from google.adk.sessions.schemas import v0
from google.adk.sessions.sqlite_session_service import SqliteSessionService
from google.genai import types
from sqlalchemy import create_engine

from sessiond_adk_import._exact import Encoder, camel, encode, read, read_exactly, read_plain, same
from sessiond_adk_import._lines import SessionLines, StoredEvent, StoredSession

from ..support import postgres, process
from ..support.process import Server
from .test_import import assert_same, fill, said

# The tests' own programs, which `run-tests` builds where there is a Go and an npm.
PORTS = Path(__file__).parents[2] / ".venv/ports"


def run(server: Server | None, uri: str, *options: str, zone: str = "UTC") -> subprocess.CompletedProcess[str]:
    """Runs the importer against a server, or writes the lines."""
    command = ["-m", "sessiond_adk_import", "--from", uri, "--to", server.url if server else "-"]
    return process.run(*command, *options, env={"TZ": zone})


def counts(done: subprocess.CompletedProcess[str]) -> str:
    """The last line, which counts."""
    return done.stderr.strip().splitlines()[-1]


def told(done: subprocess.CompletedProcess[str]) -> list[dict[str, Any]]:
    return [json.loads(text) for text in done.stdout.splitlines()]


def events_of(server: Server, app: str, user: str, id: str) -> list[dict[str, Any]]:
    with httpx.Client(base_url=server.url, timeout=60) as client:
        answer = client.get(f"/v1/apps/{app}/users/{user}/sessions/{id}/events")
        assert answer.status_code == 200, answer.text
        events: list[dict[str, Any]] = answer.json()["events"]
        return events


def state_of(server: Server, app: str, user: str, id: str) -> dict[str, Any]:
    with httpx.Client(base_url=server.url, timeout=60) as client:
        state: dict[str, Any] = client.get(f"/v1/apps/{app}/users/{user}/sessions/{id}/state").json()
        return state


@pytest.mark.parametrize("kind", ["sqlite", "database", "postgres"])
@pytest.mark.both_databases
async def test_a_database_of_python(kind: str, server: Server, tmp_path: Path) -> None:
    app, path = f"app_{uuid.uuid4().hex}", tmp_path / "adk.db"
    if kind == "postgres":
        uri = "postgresql+asyncpg://" + postgres.database().partition("://")[2]
        source: BaseSessionService = DatabaseSessionService(uri)
    else:
        uri = f"sqlite:///{path}"
        source = (
            DatabaseSessionService(f"sqlite+aiosqlite:///{path}")
            if kind == "database"
            else SqliteSessionService(str(path))
        )
    names = await fill(source, app)
    await fill(source, f"{app}_2")
    before = path.read_bytes() if path.exists() else b""
    assert counts(run(server, uri, "--app", app, "--dry-run")) == "5 created, 0 unchanged, 0 skipped, 0 failed"
    assert counts(run(server, uri, "--app", app)) == "5 created, 0 unchanged, 0 skipped, 0 failed"
    assert counts(run(server, uri)) == "5 created, 5 unchanged, 0 skipped, 0 failed"
    assert (path.read_bytes() if path.exists() else b"") == before
    await assert_same(source, server, app, names)
    session = await source.get_session(app_name=app, user_id="bob", session_id="s1")
    assert session is not None
    await source.append_event(session, said("e9", 2000.0, {}))
    again = run(server, uri, "--app", app)
    assert (again.returncode, counts(again)) == (1, "0 created, 4 unchanged, 0 skipped, 1 failed")
    assert run(server, uri, "--app", app, "--skip-existing").returncode == 0
    if isinstance(source, DatabaseSessionService):
        await source.close()


def planned(app: str) -> list[dict[str, Any]]:
    """Sessions with everything that ADK's ports write; in an hour that clocks in Berlin showed twice."""
    fold = 1761438600  # 2025-10-26 02:30 in summer, and 3600 s later in winter
    call = {"functionCall": {"id": "c1", "name": "look_up", "args": {"some_key": {"inner_key": [1, 2.5, None]}}}}
    back = {"functionResponse": {"id": "c1", "name": "look_up", "response": {"a_result": None, "b_c": "\u0001\u2028"}}}
    first = {"kept": {"a_b": [1, None]}, "n": 1, "user:name": "Zoë", "app:motd": "hi"}
    rich: dict[str, Any] = {
        "id": "e1",
        "author": "agent",
        "invocationId": "i1",
        "branch": "a.b",
        "timestamp": fold + 0.5,
        "content": {"role": "model", "parts": [call, back, {"text": "Olá ü", "thoughtSignature": "+//+"}]},
        "actions": {
            "stateDelta": {"n": 2, "deep_key": {"in_it": True}, "k": "late"},
            "artifactDelta": {"a_file.txt": 1},
        },
        "longRunningToolIds": ["c1"],
        "customMetadata": {"my_key": {"other_key": 1}},
        "usageMetadata": {"promptTokenCount": 7},
        "errorCode": "E1",
        "turnComplete": True,
    }
    later = {
        "id": "e2",
        "author": "user",
        "invocationId": "i2",
        "timestamp": fold + 3600.25,
        "content": {"role": "user", "parts": [{"text": "Zwei"}]},
        "actions": {"stateDelta": {"user:name": "Ada", "winter": 1}},
    }
    # Written last, and earlier than the others: what is stored is what it wrote.
    dated = {**later, "id": "e0", "timestamp": fold - 60, "actions": {"stateDelta": {"k": "early", "app:motd": "ho"}}}
    return [
        {"appName": app, "userId": "ada", "id": "s 1/ü", "state": first, "events": [rich, later]},
        {"appName": app, "userId": "ada", "id": "s2", "state": first, "events": [rich, later, dated]},
        {"appName": app, "userId": "bob", "id": "empty", "state": {"only": 1}, "events": []},
    ]


def port(name: str) -> list[str]:
    """The program that writes a database with ADK for this language. The test is skipped if its tool is missing."""
    tool, program = {"go": ("go", PORTS / "go"), "typescript": ("npm", PORTS / "typescript/make.mjs")}[name]
    if shutil.which(tool) is None:
        pytest.skip(f"{tool} is not installed: databases of ADK for {name} were not made")
    assert program.exists(), f"{program} is missing: run-tests builds it"
    return [str(program)] if name == "go" else ["node", str(program)]


def make(name: str, path: Path, plan: list[dict[str, Any]]) -> None:
    environment = {**os.environ, "TZ": "Europe/Berlin"}
    subprocess.run([*port(name), str(path)], input=json.dumps(plan), env=environment, text=True, check=True)


@pytest.mark.parametrize(("name", "owner"), [("go", "ADK for Go"), ("typescript", "ADK for TypeScript")])
@pytest.mark.both_databases
def test_a_database_of_another_port(name: str, owner: str, server: Server, tmp_path: Path) -> None:
    app, path = f"app_{uuid.uuid4().hex}", tmp_path / "adk.db"
    plan = planned(app)
    make(name, path, plan)
    # Here the clocks are others than those of the programs that wrote it.
    done = run(server, f"sqlite:///{path}", zone="America/New_York")
    assert counts(done) == "3 created, 0 unchanged, 0 skipped, 0 failed", done
    assert f"reading a database of {owner}" in done.stderr
    assert counts(run(server, f"sqlite:///{path}")) == "0 created, 3 unchanged, 0 skipped, 0 failed"
    assert server.command("verify").returncode == 0

    events = events_of(server, app, "ada", "s%201%2F%C3%BC")
    assert [event["id"] for event in events] == ["e1", "e2"], "an hour that came twice is in order"
    for event, wanted in zip(events, plan[0]["events"], strict=True):
        assert event["timestamp"] == wanted["timestamp"]
        for field in wanted.keys() - {"actions"}:
            assert event[field] == wanted[field], field
        assert event["actions"]["stateDelta"] == wanted["actions"]["stateDelta"]
    assert events[0]["actions"]["artifactDelta"] == {"a_file.txt": 1}
    shared = {"app:motd": "ho", "user:name": "Ada"}
    own = {"kept": {"a_b": [1, None]}, "n": 2, "deep_key": {"in_it": True}, "winter": 1}
    assert state_of(server, app, "ada", "s%201%2F%C3%BC") == {**own, "k": "late", **shared}
    # By their times, and then what is stored.
    dated = events_of(server, app, "ada", "s2")
    assert [event["id"] for event in dated[:3]] == ["e0", "e1", "e2"]
    assert dated[3]["author"] == "sessiond" and dated[3]["actions"]["stateDelta"] == {"k": "early"}
    assert state_of(server, app, "ada", "s2") == {**own, "k": "early", **shared}
    assert state_of(server, app, "bob", "empty") == {"only": 1, "app:motd": "ho"}


def test_an_older_database_of_go(server: Server, tmp_path: Path) -> None:
    """The first versions of ADK for Go had none of the columns that tell it from pickled ones: the actions do."""
    app, path = f"app_{uuid.uuid4().hex}", tmp_path / "adk.db"
    make("go", path, planned(app))
    with sqlite3.connect(path) as db:
        for column in ("routes_json", "output_json", "node_info_json", "requested_input_json", "isolation_scope"):
            db.execute(f"alter table events drop column {column}")
    assert counts(run(server, f"sqlite:///{path}")) == "3 created, 0 unchanged, 0 skipped, 0 failed"


async def test_the_hour_that_a_clock_shows_twice(server: Server, tmp_path: Path) -> None:
    """Versions of google-adk before 2 wrote what a clock on the wall showed into the column of times."""
    app, path = f"app_{uuid.uuid4().hex}", tmp_path / "adk.db"
    source = DatabaseSessionService(f"sqlite+aiosqlite:///{path}")
    session = await source.create_session(app_name=app, user_id="u", session_id="s")
    await source.append_event(session, said("summer", 1761438600.5, {"k": 1}))
    await source.append_event(session, said("winter", 1761442200.25, {"k": 2}))
    await source.close()
    with sqlite3.connect(path) as db:
        db.execute("update events set timestamp = '2025-10-26 02:30:00.500000' where id = 'summer'")
        db.execute("update events set timestamp = '2025-10-26 02:30:00.250000' where id = 'winter'")
    assert counts(run(server, f"sqlite:///{path}")).startswith("1 created")
    events = events_of(server, app, "u", "s")
    assert [(event["id"], event["timestamp"]) for event in events] == [
        ("summer", 1761438600.5),
        ("winter", 1761442200.25),
    ]


def nested(depth: int) -> Any:
    value: Any = 1
    for _ in range(depth):
        value = {"d": value}
    return value


def result(id: str, timestamp: float, response: dict[str, Any], **delta: Any) -> Event:
    part = types.Part(function_response=types.FunctionResponse(id="c", name="f", response=response))
    return Event(
        id=id,
        author="agent",
        invocation_id="i",
        timestamp=timestamp,
        content=types.Content(role="user", parts=[part]),
        actions=EventActions(state_delta=delta),
    )


RESPONSE = "/content/parts/0/functionResponse/response"


async def test_what_is_not_allowed_is_named_and_can_be_replaced(server: Server, tmp_path: Path) -> None:
    app, path = f"app_{uuid.uuid4().hex}", tmp_path / "adk.db"
    source = DatabaseSessionService(f"sqlite+aiosqlite:///{path}")
    session = await source.create_session(app_name=app, user_id="u", session_id="s", state={"first": 1})
    long = "k" * 600
    for event in (
        result("half", 1000, {"text": "half \ud83d", "list": ["ok", "\udc00"]}),
        result("nul", 1001, {"a\0b": 1, "a\ufffdb": 2}),
        result("deep", 1002, {"d": nested(80)}),
        result("key", 1003, {}, **{long: 1}),
        result("large", 1004, {"text": "x" * (5 << 20), "other": 1}),
        result("nan", 1005, {"n": 1.5}, k=2),
        result("good", 1006, {"ok": True}, done=1),
    ):
        await source.append_event(session, event)
    other = await source.create_session(app_name=app, user_id="u", session_id="good")
    await source.append_event(other, said("e", 1000, {"k": 1}))
    await source.close()
    with sqlite3.connect(path) as db:
        # As its versions before 2 stored it.
        db.execute("update events set event_data = replace(event_data, '1.5', 'NaN') where id = 'nan'")
        db.execute("update sessions set state = replace(state, '\"k\": 2', '\"k\": -Infinity') where id = 's'")
        db.execute("update events set event_data = replace(event_data, '\"k\": 2', '\"k\": 1e400') where id = 'nan'")

    uri = f"sqlite:///{path}"
    refused = run(server, uri)
    assert (refused.returncode, counts(refused)) == (1, "1 created, 0 unchanged, 0 skipped, 1 failed")
    (failed,) = told(refused)
    assert (failed["session"], failed["userId"], failed["result"]) == ("s", "u", "failed")
    for place in (
        f"event half, {RESPONSE}/text: half a character",
        f"event half, {RESPONSE}/list/1: half a character",
        f"event nul, {RESPONSE}/a\0b: a NUL in a name",
        f"event deep, {RESPONSE}/d/d/",
        "nested deeper than 64",
        "event key, /actions/stateDelta/kkk",
        "a key of 600 bytes",
        f"event large, {RESPONSE}/text: an event of 52",
        f"event nan, {RESPONSE}/n: NaN",
        "event nan, /actions/stateDelta/k: a number beyond",
    ):
        assert place in failed["detail"], place

    replaced = run(server, uri, "--replace")
    assert replaced.returncode == 0, replaced
    assert counts(replaced) == "1 created, 1 unchanged, 0 skipped, 0 failed, 10 replaced"
    places = [(each.get("event"), each["at"]) for each in told(replaced) if each["result"] == "replaced"]
    assert [event for event, _ in places] == ["half", "half", "nul", "deep", "key", "large", "nan", "nan", None, None]
    assert places[8][1] == "/state/k" and places[9][1].startswith("/state/kkk")
    events = {event["id"]: event for event in events_of(server, app, "u", "s")}

    def response(id: str) -> Any:
        return events[id]["content"]["parts"][0]["functionResponse"]["response"]

    assert response("half") == {"text": "half \ufffd", "list": ["ok", "\ufffd"]}
    assert response("nul") == {"a\ufffdb~": 1, "a\ufffdb": 2}
    assert "[5242882 bytes" in response("large")["text"] and response("large")["other"] == 1
    assert response("nan") == {"n": None}
    inner, depth = response("deep"), 0
    while isinstance(inner, dict):
        (inner,), depth = inner.values(), depth + 1
    assert depth < 64 and json.loads(inner) == nested(81 - depth)
    state = state_of(server, app, "u", "s")
    (short,) = (key for key in state if key.startswith("kkk"))
    assert len(short) == 512 and state == {"first": 1, "k": None, "done": 1, short: 1}
    # Which is the same again.
    assert counts(run(server, uri, "--replace")) == "0 created, 2 unchanged, 0 skipped, 0 failed, 10 replaced"
    assert server.command("verify").returncode == 0


def test_an_event_that_is_no_json_is_named(server: Server, tmp_path: Path) -> None:
    app, path = f"app_{uuid.uuid4().hex}", tmp_path / "adk.db"
    make("go", path, planned(app))
    with sqlite3.connect(path) as db:
        db.execute("update events set content = '{' where id = 'e1' and session_id = 's2'")
        db.execute("update sessions set state = '[]' where id = 'empty'")
    done = run(server, f"sqlite:///{path}")
    details = {each["session"]: each["detail"] for each in told(done)}
    assert details["s2"].startswith("event e1, /content: is no JSON")
    assert details["empty"] == "all of it: is no object of JSON"
    assert (
        counts(run(server, f"sqlite:///{path}", "--replace"))
        == "2 created, 1 unchanged, 0 skipped, 0 failed, 2 replaced"
    )


def test_state_without_a_session_comes_along(server: Server, tmp_path: Path) -> None:
    app, path = f"app_{uuid.uuid4().hex}", tmp_path / "adk.db"
    make("go", path, planned(app))
    with sqlite3.connect(path) as db:
        db.execute("delete from events")
        db.execute("delete from sessions")
    assert run(server, f"sqlite:///{path}").returncode == 0
    with httpx.Client(base_url=f"{server.url}/v1/apps/{app}", timeout=60) as client:
        assert client.get("/state").json() == {"motd": "ho"}
        assert client.get("/users/ada/state").json() == {"name": "Ada"}


@pytest.mark.parametrize(
    ("statements", "words"),
    [
        ([], "its tables are none"),
        (["create table t (a)"], "its tables are t"),
        (["create table sessions (id, data)", "create table events (id, name)"], "its tables are events, sessions"),
    ],
)
def test_a_database_of_nobody_is_refused(statements: list[str], words: str, tmp_path: Path) -> None:
    path = tmp_path / "other.db"
    with sqlite3.connect(path) as db:
        for statement in statements:
            db.execute(statement)
    before = path.read_bytes()
    done = run(None, f"sqlite:///{path}")
    assert (done.returncode, done.stdout) == (2, "") and words in done.stderr
    assert path.read_bytes() == before and [each.name for each in tmp_path.iterdir()] == ["other.db"]


async def test_other_schemas_are_refused_before_anything_is_read(tmp_path: Path) -> None:
    pickled = tmp_path / "pickled.db"
    engine = create_engine(f"sqlite:///{pickled}")
    v0.Base.metadata.create_all(engine)
    engine.dispose()
    done = run(None, f"sqlite:///{pickled}")
    assert (done.returncode, done.stdout) == (2, "")
    assert "adk migrate session --source_db_url=" in done.stderr and "Traceback" not in done.stderr

    newer = tmp_path / "newer.db"
    source = DatabaseSessionService(f"sqlite+aiosqlite:///{newer}")
    await source.create_session(app_name="app", user_id="u", session_id="s", state={"app:k": 1})
    await source.close()
    with sqlite3.connect(newer) as db:
        db.execute("update adk_internal_metadata set value = '2'")
    done = run(None, f"sqlite:///{newer}")
    assert (done.returncode, done.stdout) == (2, "") and "version 2" in done.stderr
    missing = run(None, f"sqlite:///{tmp_path}/typo.db")
    assert (missing.returncode, missing.stdout) == (2, "") and "there is no file" in missing.stderr
    for uri in ("postgresql://u:secret@127.0.0.1:1/d", "mysql://u:secret@h/d"):
        wrong = run(None, uri)
        assert wrong.returncode != 0 and "secret" not in wrong.stderr and "Traceback" not in wrong.stderr


def lines(state: str, *events: tuple[str, str]) -> list[dict[str, Any]]:
    stored = [StoredEvent(id, read(fields), "7") for id, fields in events]
    written = SessionLines(StoredSession("a", "u", "s", read(state), Decimal(1), Decimal(9)), stored)
    written.end(saw=(1, 0))
    assert list(written) == list(written)
    return [json.loads(text, parse_float=str, parse_int=str) for text in written]


def test_names_are_camel_case_and_keys_of_data_and_numbers_stay() -> None:
    (_, event, _) = lines(
        "{}",
        (
            "e",
            '{"id":"x","author":"a","long_running_tool_ids":["t_1"],"partial":false,"timestamp":1.50,'
            '"content":{"parts":[{"function_call":{"args":{"a_b":{"c_d":-0.0}}},"part_metadata":{"e_f":1E2}}]},'
            '"actions":{"state_delta":{"temp:t":1,"user:g_h":{"i_j":1.10}},"requested_tool_confirmations":'
            '{"k_l":{"some_field":123456789012345678901234567890,"payload":{"m_n":1}}},'
            '"compaction":{"start_timestamp":1795579734880,"end_timestamp":1795579735.5}}}',
        ),
    )
    assert event["event"] == {
        "id": "e",
        "timestamp": "7",
        "author": "a",
        "longRunningToolIds": ["t_1"],
        "partial": False,
        "content": {
            "parts": [{"functionCall": {"args": {"a_b": {"c_d": "-0.0"}}}, "partMetadata": {"e_f": "1E2"}}],
        },
        "actions": {
            "stateDelta": {"user:g_h": {"i_j": "1.10"}},
            "requestedToolConfirmations": {
                "k_l": {"someField": "123456789012345678901234567890", "payload": {"m_n": "1"}}
            },
            "compaction": {"startTimestamp": "1795579734.88", "endTimestamp": "1795579735.5"},
        },
        "sequence": "1",
        "commitTime": "7.000000",
    }
    names = ("session_id", "session_Id", "id_", "_id", "session__id", "a1_2b")
    assert [camel(name) for name in names] == ["sessionId", "session_Id", "id_", "_id", "session__id", "a12b"]


@pytest.mark.parametrize(
    "fields",
    [
        {},
        {"author": "ü „x“ \u0001\u007f\u2028 😀", "long_running_tool_ids": ["t_1"], "partial": False, "id": "x"},
        {"content": {"parts": [{"function_call": {"args": {"a_b": [{"c_d": -0.5}, 10**30, 1e16, 1e-7, 0.1 + 0.2]}}}]}},
        {
            "actions": {
                "state_delta": {"temp:t": 1, "user:g_h": 1.0, "k_l": {"a": []}},
                "artifact_delta": {"a_b.txt": 1},
            }
        },
        {"actions": {"requested_tool_confirmations": {"k_l": {"some_field": 1, "payload": {"m_n": "a_b"}}}}},
        {
            "actions": {"compaction": {"start_timestamp": 1795579734880, "end_timestamp": 1.5}},
            "usage_metadata": {"a_b": 1},
        },
        {"custom_metadata": nested(60)},
        {"function_call": 1, "functionCall": 2},
    ],
)
@pytest.mark.parametrize("spaced", [True, False])
@pytest.mark.parametrize("escaped", [True, False])
def test_the_short_way_leads_to_the_same_bytes(fields: dict[str, Any], spaced: bool, escaped: bool) -> None:
    text = json.dumps(fields, ensure_ascii=escaped, separators=(", ", ": ") if spaced else (",", ":"))

    def written(reader: Callable[[str], tuple[Any, Encoder | None]]) -> list[bytes]:
        def event(reader: Callable[[str], tuple[Any, Encoder | None]]) -> StoredEvent:
            value, encoder = reader(text)
            return StoredEvent("e", value, "7", encode=encoder, exactly=partial(event, read_exactly))

        lines = SessionLines(StoredSession("a", "u", "s", {}, Decimal(1), Decimal(9)), [event(reader)])
        lines.end(saw=(0, 0))
        assert not lines.told
        return list(lines)

    assert written(read_plain) == written(read_exactly)


@pytest.mark.parametrize(
    "text", ['{"a":1.50}', '{"a":-0}', '{"a":1E2}', '{"a":1,"a":1}', '{"a":NaN}', '{"a":"\\ud83d"}']
)
def test_what_would_come_out_in_another_way_is_not_plain(text: str) -> None:
    assert read_plain(text)[1] is None
    assert read_plain(text.replace(":", ": "))[1] is None


def test_a_large_session_waits_in_a_file_and_comes_out_in_order() -> None:
    events = [
        StoredEvent(f"e{n}", {"author": "a", "text": "x" * 1000}, f"{n}", (n,), encode=encode)
        for n in (*range(5000, 10_000), *range(5000))
    ]
    lines = SessionLines(StoredSession("a", "u", "s", {}, Decimal(1), Decimal(9)), events)
    lines.end(saw=(0, 0))
    start, *written, end = list(lines)
    digest = hashlib.sha256(b"".join((start, *written))).hexdigest()
    assert (json.loads(end)["revision"], json.loads(end)["sha256"]) == (10_000, digest)
    places = [(event["id"], event["sequence"]) for event in (json.loads(text)["event"] for text in written)]
    assert places == [(f"e{n}", n + 1) for n in range(10_000)]
    assert lines.size > 10_000_000
    lines.close()


def test_what_no_event_explains_is_the_base_or_the_last_event() -> None:
    def event(delta: str) -> tuple[str, str]:
        return "e", f'{{"actions":{{"state_delta":{delta}}}}}'

    start, _, end = lines('{"b": 2.0, "a": [1]}', event('{"b":2,"user:x":1,"temp:y":1}'))
    assert start["baseState"] == {"a": ["1"]}
    assert end["state"] == {"a": ["1"], "b": "2"}, "as the event wrote it"
    _, _, closing, end = lines('{"b":3}', event('{"b":2,"gone":1}'))
    assert closing["event"]["author"] == "sessiond"
    assert closing["event"]["actions"] == {"stateDelta": {"b": "3"}, "stateOps": [{"op": "remove", "key": "gone"}]}
    assert (end["revision"], end["state"]) == ("2", {"b": "3"})
    assert same("[1, 1E2]", "[1.0,100]") and not same("1", "true") and not same("1", '"1"')


async def test_what_cannot_be_taken_is_named_and_the_rest_goes_on(server: Server, tmp_path: Path) -> None:
    app, path = f"app_{uuid.uuid4().hex}", tmp_path / "adk.db"
    source = SqliteSessionService(str(path))
    for id in ("bad_event", "bad_state", "good", "nan"):
        session = await source.create_session(app_name=app, user_id="u", session_id=id, state={"k": 1})
        await source.append_event(session, said("e", 1000.0, {"k": 2}))
    for user in ("nan_state", "u"):
        await source.create_session(app_name=f"{app}_2", user_id=user, session_id="s", state={"user:k": 1})
    with sqlite3.connect(path) as db:
        db.execute("update user_states set state = '{\"k\": NaN}' where user_id = 'nan_state'")
        db.execute("insert into app_states values ('', '{\"k\": 1}', 1)")
        db.execute("update events set event_data = '{' where session_id = 'bad_event'")
        db.execute("update sessions set state = '[]' where id = 'bad_state'")
        not_a_number = '{"author":"a","actions":{"state_delta":{"k":NaN}}}'
        db.execute("update events set event_data = ? where session_id = 'nan'", (not_a_number,))
    done = run(server, f"sqlite:///{path}")
    assert (done.returncode, counts(done)) == (1, "3 created, 0 unchanged, 0 skipped, 5 failed")
    # A state is of no session; nor is an app without a name.
    assert [(each["app"], each.get("userId"), each.get("session")) for each in told(done)] == [
        ("", None, None),
        (app, "u", "bad_event"),
        (app, "u", "bad_state"),
        (app, "u", "nan"),
        (f"{app}_2", "nan_state", None),
    ]
    assert all(each["result"] == "failed" for each in told(done))
    assert state_of(server, f"{app}_2", "u", "s") == {"user:k": 1}
    assert state_of(server, f"{app}_2", "nan_state", "s") == {}


async def test_sessions_have_the_ids_that_they_have_here_and_their_creation(server: Server, tmp_path: Path) -> None:
    app, path = f"app_{uuid.uuid4().hex}", tmp_path / "adk.db"
    source = SqliteSessionService(str(path))
    session = await source.create_session(app_name=app, user_id="ada", session_id="s9", state={"b": 1})
    await source.append_event(session, said("e1", 101.0, {"b": 1}))
    with sqlite3.connect(path) as db:
        db.execute("pragma foreign_keys = off")
        db.execute("update sessions set id = ' s9 ', create_time = 100.5, update_time = 200.25")
        db.execute("update events set session_id = ' s9 '")
    for became in ("1 created, 0 unchanged", "0 created, 1 unchanged"):
        assert counts(run(server, f"sqlite:///{path}")) == f"{became}, 0 skipped, 0 failed"
        with httpx.Client(base_url=f"{server.url}/v1/apps/{app}/users/ada/sessions", timeout=60) as client:
            here = client.get("/s9").json()
            assert (here["id"], here["state"], here["revision"], here["createTime"]) == ("s9", {"b": 1}, 1, 100.5)
            assert client.get("/s9/events/e1").json()["commitTime"] == 101
    # Of two that have one id here, the second is told of.
    with sqlite3.connect(path) as db:
        for id in ("s9", "  "):
            db.execute("insert into sessions values (?, 'ada', ?, '{}', 100.5, 200.5)", (app, id))
    again = run(server, f"sqlite:///{path}")
    assert (again.returncode, counts(again)) == (1, "0 created, 1 unchanged, 0 skipped, 2 failed")
    assert sorted(each["code"] for each in told(again)) == ["invalid_argument", "session_already_exists"]


@pytest.mark.parametrize("name", ["", "x" * 257, "a\nb", ".."])
def test_names_that_are_no_ids_are_told_of(name: str, tmp_path: Path, server: Server) -> None:
    app, path = f"app_{uuid.uuid4().hex}", tmp_path / "adk.db"
    make("go", path, planned(app))
    with sqlite3.connect(path) as db:
        db.execute("update sessions set user_id = ? where id = 'empty'", (name,))
    done = run(server, f"sqlite:///{path}")
    assert counts(done) == "2 created, 0 unchanged, 0 skipped, 1 failed"
    assert told(done)[0]["detail"].startswith("the user's id is no id")
