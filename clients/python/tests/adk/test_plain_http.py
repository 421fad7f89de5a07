"""The same sessions, by this client and by plain HTTP."""

import json
from typing import Any

import httpx
import pytest
from google.adk.events.event import Event
from google.genai import types

from sessiond_adk import SessiondSessionService

from .test_service import event, get


@pytest.mark.both_databases
async def test_what_the_client_writes_is_plain_to_others(
    service: SessiondSessionService, plain: httpx.Client, app: str
) -> None:
    session = await service.create_session(app_name=app, user_id="Ada/1", session_id="s 1", state={"app:model": "m"})
    said = event({"step": 1, "user:name": "Ada", "temp:draft": "?"}, id="e1", timestamp=1700000000.25)
    said.content = types.Content(role="user", parts=[types.Part(text="Hello")])
    await service.append_event(session, said)

    stored = plain.get(f"/apps/{app}/users/Ada%2F1/sessions/s%201").json()
    assert stored["revision"] == 1
    assert stored["lastUpdateTime"] == 1700000000.25
    assert stored["state"] == {"app:model": "m", "user:name": "Ada", "step": 1}
    (read,) = stored["events"]
    assert (read["id"], read["author"], read["invocationId"], read["sequence"]) == ("e1", "user", "i1", 1)
    assert read["content"] == {"parts": [{"text": "Hello"}], "role": "user"}
    assert read["actions"]["stateDelta"] == {"step": 1, "user:name": "Ada"}
    assert "temp:" not in json.dumps(stored)
    assert plain.get(f"/apps/{app}/users/Ada%2F1/state").json() == {"name": "Ada"}


@pytest.mark.both_databases
async def test_what_others_write_is_read_by_the_client(
    service: SessiondSessionService, plain: httpx.Client, app: str
) -> None:
    path = f"/apps/{app}/users/u/sessions"
    created = plain.post(path, json={"sessionId": "s", "state": {"k": 1, "gone": 1}, "labels": {"env": "test"}}).json()
    plain.patch(f"/apps/{app}/state", json={"stateDelta": {"model": "m"}})
    appended = plain.post(
        f"{path}/s/events",
        json={
            "author": "agent",
            "content": {"role": "model", "parts": [{"text": "Hello"}]},
            "actions": {
                "stateDelta": {"k": 2},
                "stateOps": [{"op": "remove", "key": "gone"}],
                "somethingNew": {"x": 1},
                "escalate": None,
            },
            "somethingElse": True,
        },
    ).json()
    plain.put(f"{path}/s/state/k", json=3)

    session = await service.get_session(app_name=app, user_id="u", session_id="s")
    assert session is not None
    assert session.state == {"k": 3, "app:model": "m"}
    assert session.last_update_time > created["createTime"]
    first, second = session.events
    assert (first.id, first.author, first.timestamp) == (appended["id"], "agent", appended["timestamp"])
    assert first.content == types.Content(role="model", parts=[types.Part(text="Hello")])
    # A removed key is shown as ADK shows it.
    assert first.actions.state_delta == {"k": 2, "gone": None}
    assert second.actions.state_delta == {"k": 3}
    # What ADK does not know is not lost, also if the event is sent on.
    unknown: dict[str, Any] = {"somethingElse": True, "actions": {"somethingNew": {"x": 1}}}
    assert (first.custom_metadata, second.custom_metadata) == ({"sessiond_unknown": unknown}, None)
    other = await service.create_session(app_name=app, user_id="u", session_id="t")
    smuggled = {**unknown, "id": "x", "actions": {**unknown["actions"], "stateOps": [], "escalate": True}}
    for metadata in ({"mine": 1, "sessiond_unknown": smuggled}, {"sessiond_unknown": [1]}):
        copy = first.model_copy(deep=True, update={"id": Event.new_id(), "custom_metadata": metadata})
        await service.append_event(other, copy)
    whole, without = plain.get(f"{path}/t/events").json()["events"]
    assert (whole["somethingElse"], whole["actions"]["somethingNew"]) == (True, {"x": 1})
    assert whole["customMetadata"] == {"mine": 1} and whole["id"] != "x"
    assert not {"stateOps", "escalate"} & set(whole["actions"])
    assert "customMetadata" not in without and "somethingElse" not in without
    assert (await get(service, other)).events[0].custom_metadata == {"mine": 1, "sessiond_unknown": unknown}
    await service.delete_session(app_name=app, user_id="u", session_id="t")
    assert (await service.list_sessions(app_name=app)).sessions[0].state == session.state

    await service.append_event(session, event({"k": 4}))
    assert plain.get(f"{path}/s/state/k").json() == 4


async def test_an_event_that_adk_refuses_does_not_take_the_session_with_it(
    service: SessiondSessionService, plain: httpx.Client, app: str, caplog: pytest.LogCaptureFixture
) -> None:
    session = await service.create_session(app_name=app, user_id="u")
    await service.append_event(session, event({"k": 1}))
    events: list[dict[str, Any]] = [
        {"author": "agent", "content": "hunter2", "actions": {"stateDelta": {"k": 2}}, "customMetadata": {"mine": 1}},
        {
            "author": "agent",
            "content": {"parts": [{"text": "Hello"}], "hunter2": 1},
            "turnComplete": "hunter2",
            "longRunningToolIds": {"hunter2": 1},
            "customMetadata": "hunter2",
            "errorMessage": "theirs",
            "actions": {"escalate": "hunter2", "transferToAgent": "b", "stateDelta": {"k": 3}},
        },
        # No fields of an event, but arguments of ADK's constructor.
        {"author": "agent", "message": "hunter2", "node_path": 1, "route": 1, "content": {"parts": []}},
    ]
    stored = plain.post(f"/apps/{app}/users/u/sessions/{session.id}/events", json=events).json()

    found = await get(service, session)
    assert found.state == {"k": 3}
    assert [(event.id, event.author, event.timestamp) for event in found.events[1:]] == [
        (event["id"], "agent", event["timestamp"]) for event in stored
    ]
    _, first, second, third = found.events
    assert (first.content, first.actions.state_delta, first.error_code) == (None, {"k": 2}, None)
    assert first.error_message == "google-adk refuses what is stored as content."
    assert first.custom_metadata == {"mine": 1, "sessiond_refused": {"content": "hunter2"}}
    # A name that ADK does not know costs nothing else.
    assert second.content == types.Content(parts=[types.Part(text="Hello")])
    assert (second.error_message, second.actions.transfer_to_agent) == ("theirs", "b")
    assert second.actions.state_delta == {"k": 3}
    assert second.custom_metadata is not None
    assert second.custom_metadata["sessiond_refused"] == {
        "actions.escalate": "hunter2",
        **{name: events[1][name] for name in ("customMetadata", "longRunningToolIds", "turnComplete")},
    }
    assert second.custom_metadata["sessiond_unknown"] == {"content": events[1]["content"]}
    arguments = {name: events[2][name] for name in ("message", "node_path", "route")}
    assert (third.error_message, third.actions.state_delta) == (None, {})
    assert third.custom_metadata == {"sessiond_unknown": arguments}
    warnings = [record.getMessage() for record in caplog.records if record.levelname == "WARNING"]
    assert warnings == [
        f"Session {session.id}, event {event.id}: google-adk refuses what is stored as {names}; "
        "the event is shown without it."
        for event, names in (
            (first, "content"),
            (second, "actions.escalate, customMetadata, longRunningToolIds, turnComplete"),
        )
    ]
    # Such a session can be gone on with.
    await service.append_event(found, event({"k": 4}))
    assert (await get(service, session)).state == {"k": 4}


@pytest.mark.both_databases
async def test_an_event_is_sent_as_adk_writes_it(
    service: SessiondSessionService, plain: httpx.Client, app: str
) -> None:
    session = await service.create_session(app_name=app, user_id="u")
    said = event({"k": 1}, content=types.Content(parts=[types.Part.from_bytes(data=b"\x00\xff", mime_type="a/b")]))
    await service.append_event(session, said)
    stored = plain.get(f"/apps/{app}/users/u/sessions/{session.id}/events/{said.id}").json()
    del stored["sequence"], stored["commitTime"]
    written = json.loads(said.model_dump_json(by_alias=True, exclude_none=True))
    # What says nothing is left out, so that clients in other languages, which do not have it, write the same event.
    assert written.pop("nodeInfo", {"path": ""}) == {"path": ""}
    assert stored == written
    assert Event.model_validate(stored) == said


@pytest.mark.both_databases
async def test_an_event_of_another_language_is_the_same_one(
    service: SessiondSessionService, plain: httpx.Client, app: str
) -> None:
    """Clients agree on what they write: four maps of actions, always, and nothing else that is empty."""
    session = await service.create_session(app_name=app, user_id="u", session_id="s")
    maps = ("artifactDelta", "requestedAuthConfigs", "requestedToolConfirmations")
    actions = {"stateDelta": {"k": 1}, **{name: {} for name in maps}}
    theirs = {"id": "e", "author": "user", "invocationId": "i1", "timestamp": 12.5, "actions": actions}
    path = f"/apps/{app}/users/u/sessions/s"
    plain.post(
        f"{path}/events", json={**theirs, "content": {"role": "user", "parts": [{"text": "x"}]}}
    ).raise_for_status()
    await service.append_event(session, event({"k": 1}, id="e", timestamp=12.5, content=types.UserContent("x")))
    assert plain.get(path).json()["revision"] == 1
