"""What ADK asks of every session service, as its own tests of them do."""

import time
from datetime import datetime, timezone
from functools import partial
from typing import Any

import pytest
from google.adk.errors.already_exists_error import AlreadyExistsError
from google.adk.errors.session_not_found_error import SessionNotFoundError
from google.adk.events.event import Event
from google.adk.events.event_actions import EventActions
from google.adk.sessions.base_session_service import GetSessionConfig
from google.adk.sessions.session import Session
from google.adk.tools.tool_confirmation import ToolConfirmation
from google.genai import types

from sessiond_adk import SessiondArtifactService, SessiondInputError, SessiondSessionService


def event(delta: dict[str, Any] | None = None, **fields: Any) -> Event:
    return Event(author="user", invocation_id="i1", actions=EventActions(state_delta=delta or {}), **fields)


async def get(service: SessiondSessionService, session: Session, config: GetSessionConfig | None = None) -> Session:
    found = await service.get_session(
        app_name=session.app_name, user_id=session.user_id, session_id=session.id, config=config
    )
    assert found is not None
    return found


# Sessions


async def test_a_created_session_is_what_is_read(service: SessiondSessionService, app: str) -> None:
    before = time.time()
    created = await service.create_session(app_name=app, user_id="u", state={"key": "value"})
    assert (created.app_name, created.user_id, created.events) == (app, "u", [])
    assert created.id
    assert created.state == {"key": "value"}
    assert before - 1 <= created.last_update_time <= time.time() + 1
    assert await get(service, created) == created


async def test_there_is_nothing_where_nothing_was_created(service: SessiondSessionService, app: str) -> None:
    assert await service.get_session(app_name=app, user_id="u", session_id="s") is None
    assert (await service.list_sessions(app_name=app, user_id="u")).sessions == []
    assert (await service.list_sessions(app_name=app)).sessions == []
    assert await service.get_user_state(app_name=app, user_id="u") == {}
    await service.delete_session(app_name=app, user_id="u", session_id="s")


async def test_the_id_of_an_existing_session_is_refused(service: SessiondSessionService, app: str) -> None:
    await service.create_session(app_name=app, user_id="u", session_id="s", state={"k": 1, "user:k": 1})
    with pytest.raises(AlreadyExistsError):
        await service.create_session(app_name=app, user_id="u", session_id="s", state={"k": 2, "user:k": 2})
    # The same as the first time is no excuse, if its answer did arrive.
    with pytest.raises(AlreadyExistsError):
        await service.create_session(app_name=app, user_id="u", session_id="s", state={"k": 1, "user:k": 1})
    found = await service.get_session(app_name=app, user_id="u", session_id="s")
    assert found and found.state == {"k": 1, "user:k": 1}


async def test_white_space_around_a_session_id_is_not_part_of_it(service: SessiondSessionService, app: str) -> None:
    created = await service.create_session(app_name=app, user_id="u", session_id="  s ")
    assert created.id == "s"
    with pytest.raises(AlreadyExistsError):
        await service.create_session(app_name=app, user_id="u", session_id="s\n")
    assert await service.get_session(app_name=app, user_id="u", session_id=" s\t") == created
    await service.delete_session(app_name=app, user_id="u", session_id=" s ")
    assert await service.get_session(app_name=app, user_id="u", session_id="s") is None


async def test_a_blank_session_id_asks_for_a_generated_one(service: SessiondSessionService, app: str) -> None:
    first = await service.create_session(app_name=app, user_id="u", session_id="  ")
    second = await service.create_session(app_name=app, user_id="u", session_id="")
    assert first.id.strip() and second.id.strip() and first.id != second.id
    assert await service.get_session(app_name=app, user_id="u", session_id=" ") is None
    await service.delete_session(app_name=app, user_id="u", session_id=" ")
    assert len((await service.list_sessions(app_name=app, user_id="u")).sessions) == 2


async def test_deleting_takes_the_session_and_leaves_shared_state(service: SessiondSessionService, app: str) -> None:
    session = await service.create_session(
        app_name=app, user_id="u", session_id="s", state={"k": 1, "user:k": 2, "app:k": 3}
    )
    await service.append_event(session, event())
    await service.delete_session(app_name=app, user_id="u", session_id="s")
    assert await service.get_session(app_name=app, user_id="u", session_id="s") is None
    again = await service.create_session(app_name=app, user_id="u", session_id="s")
    assert again.state == {"user:k": 2, "app:k": 3}
    assert again.events == []


async def test_users_may_have_sessions_of_the_same_id(service: SessiondSessionService, app: str) -> None:
    first = await service.create_session(app_name=app, user_id="u1", session_id="s")
    await service.append_event(first, event({"k": 1}))
    await service.create_session(app_name=app, user_id="u2", session_id="s")
    second = await service.get_session(app_name=app, user_id="u2", session_id="s")
    assert second and (second.user_id, second.events, second.state) == ("u2", [], {})


async def test_sessions_are_listed_without_events_and_with_merged_state(
    service: SessiondSessionService, app: str
) -> None:
    session = await service.create_session(app_name=app, user_id="u", session_id="s", state={"app:a": 1, "k": 2})
    await service.append_event(session, event({"user:b": 3}))
    other = await service.create_session(app_name=app, user_id="v", session_id="t")
    await service.create_session(app_name=f"{app}x", user_id="u", session_id="elsewhere")

    (mine,) = (await service.list_sessions(app_name=app, user_id="u")).sessions
    assert (mine.id, mine.events, mine.state) == ("s", [], {"app:a": 1, "user:b": 3, "k": 2})
    assert mine.last_update_time == session.last_update_time

    everybodys = (await service.list_sessions(app_name=app)).sessions
    assert [(found.user_id, found.id) for found in everybodys] == [("u", "s"), ("v", "t")]
    assert everybodys[1].state == {"app:a": 1} == other.state


async def test_sessions_are_listed_by_last_update(service: SessiondSessionService, app: str) -> None:
    for name, timestamp in [("a", 30.0), ("b", 10.0), ("c", 20.0), ("d", 10.0)]:
        session = await service.create_session(app_name=app, user_id="u", session_id=name)
        await service.append_event(session, event(timestamp=timestamp))
    listed = (await service.list_sessions(app_name=app, user_id="u")).sessions
    assert [session.id for session in listed] == ["b", "d", "c", "a"]


async def test_a_long_list_is_complete(
    service: SessiondSessionService, strict: SessiondSessionService, app: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = [f"s{number:02}" for number in range(25)]
    created = [await service.create_session(app_name=app, user_id="u", session_id=name) for name in names]
    send = service._http.send
    pages = 0

    async def small_pages(method: str, path: str, *, params: dict[str, str]) -> Any:
        nonlocal pages
        pages += 1
        if pages == 2:
            # A session that is updated between two pages is listed once, in its new place.
            await strict.append_event(created[0], event())
        return await send(method, path, params={**params, "pageSize": "10"})

    monkeypatch.setattr(service._http, "send", small_pages)
    listed = (await service.list_sessions(app_name=app, user_id="u")).sessions
    assert [session.id for session in listed] == [*names[1:], "s00"]
    assert pages == 3


@pytest.mark.parametrize(
    "name", ["a/b", "..", "a b", "100%", "%2F", "a?b#c", "ключ", "日本語", "😀", "a+b&c=d;e", "~'\"<>\\^`{|}", "a:b@c"]
)
@pytest.mark.both_databases
async def test_ids_may_be_any_text(service: SessiondSessionService, app: str, name: str) -> None:
    if name == "..":
        # It must not be taken for the way to another resource.
        with pytest.raises(SessiondInputError):
            await service.create_session(app_name=app, user_id=name)
        with pytest.raises(SessiondInputError):
            await service.delete_session(app_name=app, user_id="u", session_id=name)
        return
    session = await service.create_session(app_name=app + name, user_id=name, session_id=name, state={name: name})
    await service.append_event(session, event({f"user:{name}": name}))
    assert (session.app_name, session.user_id, session.id) == (app + name, name, name)
    assert await get(service, session) == session
    assert (await service.list_sessions(app_name=app + name, user_id=name)).sessions[0].id == name
    assert await service.get_user_state(app_name=app + name, user_id=name) == {name: name}
    await service.delete_session(app_name=app + name, user_id=name, session_id=name)
    assert await service.get_session(app_name=app + name, user_id=name, session_id=name) is None


# State


async def test_state_is_of_the_app_the_user_or_the_session(service: SessiondSessionService, app: str) -> None:
    first = {"app:k1": "v1", "user:k1": "v1", "k1": "v1"}
    session = await service.create_session(app_name=app, user_id="u1", state=first)
    await service.append_event(session, event({"app:k2": "v2", "user:k2": "v2", "k2": "v2"}))
    of_app, of_user = {"app:k1": "v1", "app:k2": "v2"}, {"user:k1": "v1", "user:k2": "v2"}
    assert (await get(service, session)).state == {**of_app, **of_user, "k1": "v1", "k2": "v2"}
    assert (await service.create_session(app_name=app, user_id="u1")).state == {**of_app, **of_user}
    assert (await service.create_session(app_name=app, user_id="u2")).state == of_app
    assert (await service.create_session(app_name=f"{app}x", user_id="u1")).state == {}


async def test_temp_state_is_seen_by_the_caller_and_never_stored(service: SessiondSessionService, app: str) -> None:
    session = await service.create_session(app_name=app, user_id="u", state={"temp:initial": 1, "k": 1})
    assert session.state == {"k": 1}
    first = event({"temp:output": "of agent 1", "k": 2})
    await service.append_event(session, first)
    assert session.state == {"temp:output": "of agent 1", "k": 2}
    assert first.actions.state_delta == {"k": 2}
    # It stays for the invocation, that is, as long as this session object.
    await service.append_event(session, event())
    assert session.state["temp:output"] == "of agent 1"

    stored = await get(service, session)
    assert stored.state == {"k": 2}
    assert stored.events[0].actions.state_delta == {"k": 2}


async def test_none_is_a_value(service: SessiondSessionService, app: str) -> None:
    session = await service.create_session(app_name=app, user_id="u", state={"k": 1, "user:k": None})
    await service.append_event(session, event({"k": None, "nested": {"x": None}}))
    assert session.state == {"k": None, "nested": {"x": None}, "user:k": None}
    assert await get(service, session) == session


@pytest.mark.both_databases
async def test_values_are_what_they_were(service: SessiondSessionService, app: str) -> None:
    values = {
        "int": 2**200,
        "float": 0.1 + 0.2,
        "large": 1.7e308,
        "text": "Grüße, 世界 😀 \u0000 \u2028 \"'\\",
        "nested": {"a": [1, {"b": [None, True, 1.5]}]},
        "": "the empty key",
        "foo:bar": 1,
        "Temp:x": 2,
    }
    session = await service.create_session(app_name=app, user_id="u", state=values)
    assert session.state == values
    await service.append_event(session, event({"again": values}))
    assert (await get(service, session)).state == {**values, "again": values}


@pytest.mark.both_databases
async def test_objects_are_stored_as_what_json_has_for_them(
    service: SessiondSessionService, app: str, caplog: pytest.LogCaptureFixture
) -> None:
    moment = datetime(2030, 1, 2, tzinfo=timezone.utc)
    state = {"time": moment, "tuple": (1, 2), "model": types.Part(text="x"), "set": {"a"}}
    session = await service.create_session(app_name=app, user_id="u", state=state)
    await service.append_event(session, event({f"app:{key}": value for key, value in state.items()}))
    assert session.state["app:time"] is moment
    stored = (await get(service, session)).state
    assert (stored["time"], stored["tuple"], stored["set"]) == ("2030-01-02T00:00:00Z", [1, 2], ["a"])
    assert stored["model"]["text"] == "x"
    assert {key: stored[f"app:{key}"] for key in state} == {key: stored[key] for key in state}
    assert caplog.messages == []
    await service.append_event(session, event({"function": len}))
    assert "not JSON" in caplog.text
    assert "built-in function len" in (await get(service, session)).state["function"]


@pytest.mark.parametrize("value", [float("nan"), float("inf"), "\ud800"], ids=["nan", "infinity", "half a character"])
async def test_what_json_cannot_say_is_refused_and_changes_nothing(
    service: SessiondSessionService, app: str, value: object
) -> None:
    session = await service.create_session(app_name=app, user_id="u")
    refused = event({"k": value, "temp:k": 1})
    with pytest.raises(ValueError):
        await service.append_event(session, refused)
    assert (session.state, session.events) == ({}, [])
    assert "temp:k" in refused.actions.state_delta
    assert await get(service, session) == session


async def test_user_state_is_read_without_a_session(service: SessiondSessionService, app: str) -> None:
    session = await service.create_session(app_name=app, user_id="u")
    await service.append_event(session, event({"user:profile": {"name": "Ada"}, "user:n": 1, "k": 1, "app:k": 1}))
    await service.append_event(session, event({"user:n": 2}))
    await service.delete_session(app_name=app, user_id="u", session_id=session.id)
    assert await service.get_user_state(app_name=app, user_id="u") == {"profile": {"name": "Ada"}, "n": 2}
    assert await service.get_user_state(app_name=app, user_id="v") == {}
    assert await service.get_user_state(app_name=f"{app}x", user_id="u") == {}


# Events


@pytest.mark.both_databases
async def test_an_event_with_everything_comes_back_equal(service: SessiondSessionService, app: str) -> None:
    session = await service.create_session(app_name=app, user_id="u")
    everything = Event(
        invocation_id="i1",
        author="agent",
        content=types.Content(
            role="model",
            parts=[
                types.Part(text="text", thought=True, thought_signature=b"\x00\xff signature"),
                types.Part.from_bytes(data=bytes(range(256)), mime_type="image/png"),
                types.Part(function_call=types.FunctionCall(id="c1", name="f", args={"x": [1, None]})),
                types.Part(function_response=types.FunctionResponse(id="c1", name="f", response={"result": None})),
            ],
        ),
        turn_complete=True,
        partial=False,
        actions=EventActions(
            state_delta={"k": 1},
            artifact_delta={"file": 0},
            transfer_to_agent="agent",
            escalate=True,
            skip_summarization=True,
            requested_tool_confirmations={"c1": ToolConfirmation(hint="sure?", confirmed=True, payload={"p": 1})},
            end_of_agent=True,
            agent_state={"step": 1},
        ),
        long_running_tool_ids={"c1", "c2"},
        branch="a.b",
        error_code="error_code",
        error_message="error_message",
        interrupted=True,
        grounding_metadata=types.GroundingMetadata(
            web_search_queries=["q"], search_entry_point=types.SearchEntryPoint(sdk_blob=b"blob")
        ),
        usage_metadata=types.GenerateContentResponseUsageMetadata(prompt_token_count=1, total_token_count=2),
        citation_metadata=types.CitationMetadata(),
        custom_metadata={"key": "value", "none": None},
        timestamp=1700000000.123,
        input_transcription=types.Transcription(text="in", finished=True),
        output_transcription=types.Transcription(text="out", finished=True),
        finish_reason=types.FinishReason.STOP,
    )
    await service.append_event(session, everything)
    assert session.events == [everything]
    assert await get(service, session) == session


async def test_last_update_time_is_that_of_the_last_event(service: SessiondSessionService, app: str) -> None:
    session = await service.create_session(app_name=app, user_id="u")
    for timestamp in (session.last_update_time + 10, 1700000000.123456, 1700000000.1234567, 5.0):
        await service.append_event(session, event(timestamp=timestamp))
        assert session.last_update_time == timestamp
        assert (await get(service, session)).last_update_time == timestamp


async def test_which_events_are_read_can_be_limited(service: SessiondSessionService, app: str) -> None:
    session = await service.create_session(app_name=app, user_id="u")
    for timestamp in range(1, 6):
        await service.append_event(session, event({"k": timestamp}, timestamp=float(timestamp)))

    async def times(**config: Any) -> list[float]:
        found = await get(service, session, GetSessionConfig(**config))
        assert found.state == {"k": 5}
        return [event.timestamp for event in found.events]

    assert await times() == [1, 2, 3, 4, 5]
    assert await times(num_recent_events=0) == []
    assert await times(num_recent_events=3) == [3, 4, 5]
    assert await times(num_recent_events=9) == [1, 2, 3, 4, 5]
    assert await times(after_timestamp=4.0) == [4, 5]
    assert await times(after_timestamp=0.0) == [1, 2, 3, 4, 5]
    assert await times(after_timestamp=50.5) == []
    assert await times(num_recent_events=3, after_timestamp=4.0) == [4, 5]
    assert await times(num_recent_events=1, after_timestamp=1.0) == [5]


async def test_partial_events_are_not_sent(service: SessiondSessionService, app: str) -> None:
    session = await service.create_session(app_name=app, user_id="u")
    partial = event({"k": 1, "temp:k": 1}, partial=True)
    assert await service.append_event(session, partial) is partial
    assert (session.state, session.events) == ({}, [])
    assert partial.actions.state_delta == {"k": 1, "temp:k": 1}
    assert await get(service, session) == session


async def test_an_event_needs_its_session(service: SessiondSessionService, app: str) -> None:
    session = await service.create_session(app_name=app, user_id="u")
    await service.delete_session(app_name=app, user_id="u", session_id=session.id)
    for gone in (session, Session(app_name=app, user_id="u", id="never was")):
        with pytest.raises(SessionNotFoundError):
            await service.append_event(gone, event({"app:k": 1}))
        assert (gone.state, gone.events) == ({}, [])
    assert (await service.create_session(app_name=app, user_id="u")).state == {}


async def test_a_session_object_made_by_hand_can_be_appended_to(service: SessiondSessionService, app: str) -> None:
    session = await service.create_session(app_name=app, user_id="u")
    await service.append_event(Session(app_name=app, user_id="u", id=session.id), event({"k": 1}))
    assert (await get(service, session)).state == {"k": 1}


@pytest.mark.both_databases
async def test_the_same_event_again_changes_nothing(service: SessiondSessionService, app: str) -> None:
    session = await service.create_session(app_name=app, user_id="u")
    once = event({"k": 1, "temp:k": 1})
    copy = once.model_copy(deep=True)
    await service.append_event(session, once)
    await service.append_event(session, event({"k": 2}))
    await service.append_event(session, once)
    await service.append_event(session, copy)
    assert (session.state["k"], len(session.events)) == (2, 2)
    stored = await get(service, session)
    assert (stored.state, stored.events) == ({"k": 2}, session.events)


async def test_another_event_with_the_same_id_is_refused(service: SessiondSessionService, app: str) -> None:
    session = await service.create_session(app_name=app, user_id="u")
    await service.append_event(session, event({"k": 1}, id="e"))
    with pytest.raises(AlreadyExistsError):
        await service.append_event(session, event({"k": 2}, id="e"))
    assert (session.state, len(session.events)) == ({"k": 1}, 1)
    assert await get(service, session) == session


async def test_flush_has_nothing_to_do(service: SessiondSessionService) -> None:
    await service.flush()


NAMES = {"app_name": "name of the app", "user_id": "id of the user", "session_id": "id of the session"}


@pytest.mark.parametrize("wrong", [None, 5, b"u", object(), "", ".", "..", "half \ud83d"])
async def test_names_are_texts(wrong: Any) -> None:
    async with (
        SessiondSessionService("http://127.0.0.1:1", retry_for=0) as service,
        SessiondArtifactService("http://127.0.0.1:1", retry_for=0) as files,
    ):
        right = {"app_name": "a", "user_id": "u", "session_id": "s"}
        for name in right:
            names: dict[str, Any] = {**right, name: wrong}
            calls: list[Any] = [service.get_session, service.delete_session, service.fork_session]
            if name == "session_id" and wrong == "":
                # As in ADK, there is no such session.
                assert await service.get_session(**names) is None
                calls = [service.fork_session, partial(files.load_artifact, filename="f")]
            elif wrong is not None or name != "session_id":
                calls += [service.create_session, partial(files.load_artifact, filename="f")]
            for call in calls:
                with pytest.raises(SessiondInputError, match=f"^The {NAMES[name]} (is|has) "):
                    await call(**names)
        with pytest.raises(SessiondInputError):
            await service.get_user_state(app_name="a", user_id=wrong)
        with pytest.raises(SessiondInputError):
            await service.mint_token("a", wrong)
        with pytest.raises(SessiondInputError):
            await files.save_artifact(app_name="a", user_id="u", filename=wrong, artifact=types.Part(text="x"))
