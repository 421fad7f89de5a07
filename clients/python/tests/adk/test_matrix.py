"""The program by which the test over all languages drives this client."""

import json
from pathlib import Path
from typing import Any

import httpx
import pytest

from ..support.process import Program, Server

PROGRAM = Path(__file__).resolve().parents[3] / "matrix/python_program.py"


def test_it_does_what_its_lines_say(server: Server, plain: httpx.Client, app: str) -> None:
    names = {"app": app, "user": "u", "session": "a/b ?"}
    sessions = f"/apps/{app}/users/u/sessions"
    plain.post(sessions, json={"sessionId": "a/b ?", "state": {"user:x": 1}}).raise_for_status()

    def said(event_id: str, text: str) -> dict[str, Any]:
        delta = {"k": text, "user:y": 2, "temp:t": 3}
        return {
            "do": "append",
            **names,
            "event": {
                **{"id": event_id, "author": "user", "invocationId": "i", "timestamp": 12.5},
                **{"text": text, "stateDelta": delta},
            },
        }

    lines: list[dict[str, Any]] = [
        said("e1", "Hällo"),
        {"do": "increment", **names, "key": "app:n", "by": 2},
        said("e1", "Hällo"),
        said("e1", "other"),
        said("e2", "more"),
        {"do": "get", **names},
        {"do": "watch", **names, "count": 3},
        {"do": "get", **names, "session": "never was"},
        {"do": "fly", **names},
    ]
    program = Program(
        str(PROGRAM), env={"SESSIOND_URL": server.url}, said="".join(f"{json.dumps(line)}\n" for line in lines)
    )
    assert program.wait() == 0, program.errors
    first, count, again, other, more, got, watched, missing, wrong = map(json.loads, program.output.splitlines())
    shared = {"user:x": 1, "user:y": 2}
    assert first == {"ok": True, "state": {**shared, "k": "Hällo", "temp:t": 3}}
    assert count == {"ok": True, "value": 2}
    assert again["ok"] and again["state"]["k"] == "Hällo"
    assert (other["ok"], other["code"], other["status"]) == (False, "event_id_conflict", 409)
    assert more["ok"] and more["state"]["app:n"] == 2
    assert got["ok"] and got["state"] == {**shared, "k": "more", "app:n": 2}
    assert got["lastUpdateTime"] == 12.5
    assert [got["events"][0], got["events"][2]] == ["e1", "e2"]
    assert watched == {"ok": True, "events": got["events"]}
    assert (missing["ok"], missing["code"], missing["status"]) == (False, "session_not_found", 404)
    assert (wrong["ok"], wrong["code"], wrong["status"]) == (False, None, None)


def test_it_does_with_files_what_its_lines_say(server: Server, plain: httpx.Client, app: str) -> None:
    names = {"app": app, "user": "u", "session": "s"}
    plain.put(f"/apps/{app}/users/u/sessions/s").raise_for_status()
    delta = {"stateDelta": {}, "artifactDelta": {"a/b": 1}}
    event = {"id": "e", "author": "user", "invocationId": "i", "timestamp": 12.5, "text": "x", **delta}
    lines: list[dict[str, Any]] = [
        {"do": "load", **names, "name": "a/b"},
        {"do": "save", **names, "name": "a/b", "data": "AP8=", "mimeType": "image/png"},
        {"do": "save", **names, "name": "a/b", "text": "Hällo"},
        {"do": "append", **names, "event": event},
        {"do": "get", **names},
        {"do": "load", **names, "name": "a/b"},
        {"do": "load", **names, "name": "a/b", "version": 0},
        {"do": "files", **names},
        {"do": "save", **names, "session": "never was", "name": "a/b", "text": "x"},
    ]
    program = Program(
        str(PROGRAM), env={"SESSIOND_URL": server.url}, said="".join(f"{json.dumps(line)}\n" for line in lines)
    )
    assert program.wait() == 0, program.errors
    missing, first, second, _, got, text, data, listed, lost = map(json.loads, program.output.splitlines())
    assert (missing, first, second) == ({"ok": True}, {"ok": True, "version": 0}, {"ok": True, "version": 1})
    assert got["artifacts"] == {"a/b": 1}
    assert text == {"ok": True, "text": "Hällo"}
    assert data == {"ok": True, "data": "AP8=", "mimeType": "image/png"}
    assert listed == {"ok": True, "names": ["a/b"]}
    assert (lost["ok"], lost["code"], lost["status"]) == (False, "session_not_found", 404)


@pytest.mark.both_databases
def test_an_event_of_another_language_is_the_same_one(server: Server, plain: httpx.Client, app: str) -> None:
    """Clients agree on what they write: four maps of actions, always, and nothing else that is empty."""
    path = f"/apps/{app}/users/u/sessions/s"
    plain.put(path).raise_for_status()
    actions = {
        "stateDelta": {"k": 1},
        "artifactDelta": {},
        "requestedAuthConfigs": {},
        "requestedToolConfirmations": {},
    }
    event = {"id": "e", "author": "agent", "invocationId": "i", "timestamp": 12.5, "actions": actions}
    content = {"role": "model", "parts": [{"text": "x"}]}
    plain.post(f"{path}/events", json={**event, "content": content}).raise_for_status()
    again = {**event, "text": "x", "stateDelta": {"k": 1}}
    line = {"do": "append", "app": app, "user": "u", "session": "s", "event": again}
    program = Program(str(PROGRAM), env={"SESSIOND_URL": server.url}, said=json.dumps(line))
    assert program.wait() == 0, program.errors
    assert json.loads(program.output)["ok"], program.output
    assert plain.get(path).json()["revision"] == 1
