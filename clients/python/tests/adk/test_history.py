"""What a session was, forks of it and ways back; and what is known of it beside state and events."""

import time
from typing import Any

import httpx
import pytest
from google.adk.errors import InvocationNotFoundError, StaleSessionError
from google.adk.errors.already_exists_error import AlreadyExistsError
from google.adk.errors.session_not_found_error import SessionNotFoundError
from google.adk.events.event import Event
from google.adk.events.event_actions import EventActions
from google.adk.sessions.base_session_service import GetSessionConfig, ListSessionsResponse
from google.adk.sessions.session import Session
from google.adk.tools.tool_context import ToolContext
from google.genai import types

from sessiond_adk import (
    ForkedFrom,
    SessionBusyError,
    SessiondInputError,
    SessiondSessionService,
    SessionMetadata,
)

from ..support.process import Server
from ..support.proxy import Proxy
from .model import call, text
from .test_runner import Talk, agent, requests
from .test_service import event, get


def turn(n: int) -> Event:
    delta = {"k": n, f"only {n}": n, "app:n": n, "user:n": n}
    return Event(author="user", invocation_id=f"i{n}", timestamp=float(n), actions=EventActions(state_delta=delta))


async def told(service: SessiondSessionService, app: str, turns: int = 4, **rest: Any) -> Session:
    """A session `s` after some turns."""
    session = await service.create_session(
        app_name=app, user_id="u", session_id="s", state={"k": 0, "first": 1}, **rest
    )
    for n in range(1, turns + 1):
        await service.append_event(session, turn(n))
    return session


def name(session: Session) -> dict[str, Any]:
    return {"app_name": session.app_name, "user_id": session.user_id, "session_id": session.id}


# The past


async def test_a_session_is_read_as_it_was(service: SessiondSessionService, app: str) -> None:
    created = await service.create_session(app_name=app, user_id="u", session_id="s", state={"k": 0, "first": 1})
    seen = [created.model_copy(deep=True)]
    for n in range(1, 5):
        await service.append_event(created, turn(n))
        seen.append(await get(service, created))
    other = await service.create_session(app_name=app, user_id="u", state={"app:n": "later"})
    await service.append_event(created, event({"k": "later"}, timestamp=0.5))
    for revision, then in enumerate(seen):
        assert await service.get_session(**name(created), at_revision=revision) == then
        assert await service.get_state(**name(created), at_revision=revision) == then.state
    assert (await get(service, other)).state["app:n"] == "later"


async def test_the_events_of_the_past_can_be_limited(
    service: SessiondSessionService, app: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = await told(service, app, 6)
    asked: list[dict[str, str]] = []
    send = service._http.send

    async def spied(method: str, path: str, **rest: Any) -> Any:
        if path.endswith("/events"):
            # Pages may be shorter than what was asked for.
            rest["params"] = {**rest["params"], "pageSize": str(min(2, int(rest["params"]["pageSize"])))}
            asked.append(rest["params"])
        return await send(method, path, **rest)

    monkeypatch.setattr(service._http, "send", spied)

    async def times(revision: int, **config: Any) -> list[float]:
        asked.clear()
        limits = GetSessionConfig(**config)
        found = await service.get_session(**name(session), config=limits, at_revision=revision)
        assert found is not None and found.last_update_time == revision and found.state["k"] == revision
        return [event.timestamp for event in found.events]

    assert await times(5) == [1, 2, 3, 4, 5]
    assert len(asked) == 3
    assert await times(5, num_recent_events=2) == [4, 5]
    # Never more than what is wanted.
    assert [params["pageSize"] for params in asked] == ["2"]
    assert await times(5, num_recent_events=0) == []
    assert await times(5, num_recent_events=9) == [1, 2, 3, 4, 5]
    assert await times(5, after_timestamp=4.0) == [4, 5]
    assert await times(5, num_recent_events=3, after_timestamp=4.0) == [4, 5]
    assert await times(5, num_recent_events=1, after_timestamp=1.0) == [5]


async def test_there_is_no_future(service: SessiondSessionService, app: str) -> None:
    session = await told(service, app, 1)
    for revision in (2, -1):
        with pytest.raises(SessiondInputError, match="atRevision"):
            await service.get_session(**name(session), at_revision=revision)
        with pytest.raises(SessiondInputError, match="atRevision"):
            await service.get_state(**name(session), at_revision=revision)
    gone = {**name(session), "session_id": "never was"}
    assert await service.get_session(**gone, at_revision=0) is None
    assert await service.get_state(**gone, at_revision=0) is None
    assert await service.get_session(**{**gone, "session_id": " "}, at_revision=0) is None


async def test_who_writes_on_from_the_past_is_stale(strict: SessiondSessionService, app: str) -> None:
    session = await told(strict, app, 2)
    past = await strict.get_session(**name(session), at_revision=1)
    assert past is not None
    with pytest.raises(StaleSessionError):
        await strict.append_event(past, event())


async def test_a_session_that_is_made_anew_meanwhile_is_read_anew(
    service: SessiondSessionService, strict: SessiondSessionService, app: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = await told(service, app, 2)
    send = service._http.send
    reads = 0

    async def late(method: str, path: str, **rest: Any) -> Any:
        nonlocal reads
        reads += 1
        if reads == 3:
            await strict.delete_session(**name(session))
            await strict.create_session(**name(session), state={"k": "anew"})
            await strict.append_event(await get(strict, session), event({"x": 1}, timestamp=7.0))
        return await send(method, path, **rest)

    monkeypatch.setattr(service._http, "send", late)
    found = await service.get_session(**name(session), at_revision=1)
    assert found == await get(strict, session)
    assert reads == 6


async def test_a_session_begins_where_it_was_trimmed(
    service: SessiondSessionService, app: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = await told(service, app, 5)
    send = service._http.send

    async def trimmed(method: str, path: str, **rest: Any) -> Any:
        if path.endswith("/events"):
            rest["params"]["afterSequence"] = "2"
        return await send(method, path, **rest)

    monkeypatch.setattr(service._http, "send", trimmed)
    found = await service.get_session(**name(session), at_revision=4)
    assert found is not None
    assert [event.timestamp for event in found.events] == [3, 4]
    assert (found.state["k"], found.last_update_time) == (4, 4.0)


async def test_state_is_read_without_events(service: SessiondSessionService, app: str) -> None:
    session = await told(service, app, 1)
    state = await service.get_state(**name(session))
    assert state == session.state == {"k": 1, "first": 1, "only 1": 1, "app:n": 1, "user:n": 1}
    assert await service.get_state(**name(session), scope="app") == {"app:n": 1}
    assert await service.get_state(**name(session), scope="user", at_revision=0) == {}
    await service.delete_session(**name(session))
    assert await service.get_state(**name(session)) is None


# Forks


async def test_what_an_event_said_is_removed(service: SessiondSessionService, app: str) -> None:
    session = await service.create_session(app_name=app, user_id="u", session_id="s")
    said = await service.append_event(session, event({"secret": "x"}, content=types.UserContent("my password")))
    fork = await service.fork_session(**name(session), new_session_id="f")
    redacted = await service.redact_event(**name(session), event_id=said.id, reason="a password")
    assert (redacted.id, redacted.author, redacted.content) == (said.id, "user", None)
    assert redacted.actions.state_delta == {"secret": "x"}
    for one in (session, fork):
        now = await get(service, one)
        assert [event.content for event in now.events] == [None] and now.state == {"secret": "x"}
    redacted = await service.redact_event(**name(session), event_id=said.id, state="remove")
    assert redacted.actions.state_delta == {"secret": None}
    assert (await get(service, session)).state == {}
    with pytest.raises(SessionNotFoundError):
        await service.redact_event(app_name=app, user_id="u", session_id="none", event_id=said.id)
    with pytest.raises(SessiondInputError):
        await service.redact_event(**name(session), event_id=said.id, reason="x" * 257)


async def test_a_fork_begins_where_its_source_was(service: SessiondSessionService, app: str) -> None:
    source = await told(service, app, 3, display_name="Tea", labels={"env": "prod"})
    before = await get(service, source)
    fork = await service.fork_session(**name(source), at_revision=2, new_session_id=" f ")
    assert (fork.app_name, fork.user_id, fork.id) == (app, "u", "f")
    assert fork.events == before.events[:2]
    # Its own state is that of then, what all share is that of now.
    assert fork.state == {"k": 2, "first": 1, "only 1": 1, "only 2": 2, "app:n": 3, "user:n": 3}
    assert await get(service, fork) == fork
    known = await service.get_metadata(**name(fork))
    assert known is not None
    assert (known.forked_from, known.revision) == (ForkedFrom("s", 2), 2)
    assert (known.display_name, known.labels) == ("Tea", {"env": "prod"})

    await service.append_event(fork, event({"k": "forked"}))
    assert await get(service, source) == before
    whole = await service.fork_session(**name(source))
    assert whole.events == before.events and whole.id not in ("s", "f")


async def test_forks_that_cannot_be(service: SessiondSessionService, app: str) -> None:
    source = await told(service, app, 1)
    with pytest.raises(AlreadyExistsError, match="id s already"):
        await service.fork_session(**name(source), new_session_id="s")
    with pytest.raises(SessiondInputError):
        await service.fork_session(**name(source), at_revision=2)
    await service.delete_session(**name(source))
    with pytest.raises(SessionNotFoundError):
        await service.fork_session(**name(source))


# Ways back


@pytest.mark.parametrize("to", [{"before_invocation_id": "i2"}, {"to_revision": 1}])
async def test_a_rewind_restores_the_state_of_the_session(
    strict: SessiondSessionService, app: str, to: dict[str, Any]
) -> None:
    session = await told(strict, app, 3)
    events, state = session.events, session.state
    session.state["temp:t"] = 1
    await strict.rewind_session(session, **to)
    rewound = {"k": 1, "first": 1, "only 1": 1, "app:n": 3, "user:n": 3}
    stored = await get(strict, session)
    assert stored.state == rewound
    assert session.state == {**rewound, "temp:t": 1}
    assert session.events == stored.events and len(session.events) == 4
    assert session.last_update_time == stored.last_update_time
    assert session.events[3].actions.rewind_before_invocation_id == "i2"
    # In place, since a runner holds on to them.
    assert session.events is events and session.state is state
    # It has seen the event.
    await strict.append_event(session, event({"k": "on"}))
    await strict.rewind_session(session, to_revision=0)
    assert (await strict.get_state(**name(session), scope="session")) == {"k": 0, "first": 1}


async def test_a_rewind_shows_what_others_did(service: SessiondSessionService, app: str) -> None:
    session = await told(service, app, 2)
    recent = await get(service, session, GetSessionConfig(num_recent_events=1))
    by_hand = Session(app_name=app, user_id="u", id="s")
    await service.append_event(session, event({"theirs": 1}))
    # There is a gap between what it has seen and what it has appended.
    await service.append_event(recent, event({"mine": 1}))
    await service.rewind_session(recent, to_revision=2)
    stored = await get(service, session)
    assert (recent.events, recent.state) == (stored.events[1:], stored.state)
    await service.rewind_session(by_hand, to_revision=2)
    assert by_hand.model_dump() == (await get(service, session)).model_dump()


@pytest.mark.both_databases
async def test_a_rewind_happens_once_whatever_gets_lost(network: Proxy, app: str) -> None:
    async with SessiondSessionService(network.url, concurrency="session") as far:
        session = await told(far, app, 2)
        network.lose_answers = 2
        await far.rewind_session(session, to_revision=1)
        assert len(session.events) == 3
        assert await get(far, session) == session


async def test_rewinds_that_cannot_be(
    service: SessiondSessionService, strict: SessiondSessionService, plain: httpx.Client, app: str
) -> None:
    session = await told(strict, app, 1)
    with pytest.raises(InvocationNotFoundError):
        await strict.rewind_session(session, before_invocation_id="never was")
    wrong: list[dict[str, Any]] = [{}, {"to_revision": 2}, {"to_revision": 0, "before_invocation_id": "i1"}]
    for to in wrong:
        with pytest.raises(SessiondInputError):
            await strict.rewind_session(session, **to)
    await service.append_event(await get(service, session), event())
    with pytest.raises(StaleSessionError, match="modified in storage"):
        await strict.rewind_session(session, to_revision=0)
    assert (len(session.events), session.state["k"]) == (1, 1)

    path = f"/apps/{app}/users/u/sessions/s/lease"
    plain.post(path, json={"owner": "me", "exclusive": "all"}).raise_for_status()
    with pytest.raises(SessionBusyError):
        await service.rewind_session(session, to_revision=0)
    with pytest.raises(SessionBusyError):
        await service.delete_session(**name(session))


async def test_a_turn_that_was_superseded_takes_nothing_back(server: Server, plain: httpx.Client, app: str) -> None:
    async with SessiondSessionService(server.url, concurrency="lease") as service:
        session = await told(service, app, 1)
        path = f"/apps/{app}/users/u/sessions/s/lease"
        plain.post(path, json={"owner": "thief", "steal": True}).raise_for_status()
        for _ in range(2):
            with pytest.raises(StaleSessionError, match="i1 was superseded"):
                await service.rewind_session(session, to_revision=0)
        assert len((await get(service, session)).events) == 1
        with pytest.raises(SessionNotFoundError):
            await service.rewind_session(Session(app_name=app, user_id="u", id="never was"), to_revision=0)


async def test_agents_go_on_from_where_the_server_rewound_to(strict: SessiondSessionService, app: str) -> None:
    def note(word: str, tool_context: ToolContext) -> None:
        tool_context.state["word"] = word
        tool_context.state[f"only {word}"] = True

    turns = [turn for word in ("one", "two") for turn in (call("note", word=word), f"Noted {word}.")]
    host = agent("host", *turns, "What was it?", tools=[note])
    talk = Talk(strict, app, host)
    ids = [(await talk.say(word))[0].invocation_id for word in ("one", "two")]
    session = await talk.session()
    await strict.rewind_session(session, before_invocation_id=ids[1])
    # Not there any more, where ADK's own rewind leaves None.
    assert session.state == {"word": "one", "only one": True}
    await talk.say("Go on.")
    said = [text(content) for content in requests(host)[-1].contents]
    assert "Noted one." in said and "two" not in said and "Noted two." not in said


@pytest.mark.parametrize(("to", "kept"), [(1, ["one"]), (3, ["one", "Noted one.", "two"])])
async def test_an_agent_sees_what_a_rewind_into_an_invocation_kept(
    strict: SessiondSessionService, app: str, to: int, kept: list[str]
) -> None:
    host = agent("host", "Noted one.", "Noted two.", "What was it?")
    talk = Talk(strict, app, host)
    for word in ("one", "two"):
        await talk.say(word)
    session = await talk.session()
    await strict.rewind_session(session, to_revision=to)
    assert session.events == (await get(strict, session)).events
    # Others have it, too, and the session that was taken back goes on.
    await strict.append_event(session, event({"k": 1}))
    await talk.say("Go on.")
    said = [text(content) for content in requests(host)[-1].contents]
    assert [one for one in said if one] == [*kept, "Go on."]


# Templates


async def test_templates_are_filled_in_from_state(service: SessiondSessionService, app: str) -> None:
    session = await service.create_session(
        app_name=app,
        user_id="u",
        state={"topic": "tea", "user:name": "Ada", "app:open": True, "list": [1, "a"], "n": None},
    )

    async def rendered(template: str, **rest: Any) -> str:
        return await service.render_template(**name(session), template=template, **rest)

    assert (
        await rendered("{user:name} on {topic}{n}{gone?}: {list} {app:open} {a-b}") == 'Ada on tea: [1,"a"] true {a-b}'
    )
    assert await rendered("{{topic}}") == "tea"
    assert await rendered("{{topic}}", braces="literal") == "{topic}"
    assert await rendered("{gone}.", missing="keep") == "{gone}."
    assert await rendered("{gone}.", missing="empty") == "."
    with pytest.raises(SessiondInputError, match=r"`gone`, `user:gone`"):
        await rendered("{gone} {user:gone} {topic}")
    await service.delete_session(**name(session))
    with pytest.raises(SessionNotFoundError):
        await rendered("")


# Metadata


async def test_a_session_has_a_name_labels_and_an_end(service: SessiondSessionService, app: str) -> None:
    now = time.time()
    for given in (None, "s"):
        session = await service.create_session(
            app_name=app, user_id="u", session_id=given, display_name="Tea", labels={"env": "prod"}, ttl=900
        )
        await service.append_event(session, event(timestamp=5.0))
        known = await service.get_metadata(**name(session))
        assert known is not None
        assert (known.display_name, known.labels, known.forked_from) == ("Tea", {"env": "prod"}, None)
        assert (known.revision, known.last_update_time) == (1, 5.0)
        assert known.expire_time is not None and known.expire_time == pytest.approx(known.create_time + 900)
        assert now - 60 < known.create_time < time.time() + 60
    bare = await service.create_session(app_name=app, user_id="u")
    assert await service.get_metadata(**name(bare)) == SessionMetadata(
        revision=0,
        create_time=bare.last_update_time,
        last_update_time=bare.last_update_time,
        display_name=None,
        labels={},
        expire_time=None,
        forked_from=None,
    )
    assert await service.get_metadata(app_name=app, user_id="u", session_id="never was") is None


async def test_an_expired_session_is_gone(service: SessiondSessionService, app: str) -> None:
    session = await service.create_session(app_name=app, user_id="u", ttl=0.001)
    while await service.get_session(**name(session)):
        pass
    with pytest.raises(SessionNotFoundError):
        await service.append_event(session, event())


async def test_metadata_is_changed_in_part(strict: SessiondSessionService, app: str) -> None:
    session = await strict.create_session(app_name=app, user_id="u", display_name="Tea", labels={"a": "1"}, ttl=900)
    changed = await strict.update_session(**name(session), labels={"b": "2", "c": "3"})
    assert (changed.display_name, changed.labels) == ("Tea", {"b": "2", "c": "3"})
    assert changed.expire_time is not None
    changed = await strict.update_session(**name(session), display_name=None, ttl=None)
    assert (changed.display_name, changed.labels, changed.expire_time) == (None, {"b": "2", "c": "3"}, None)
    changed = await strict.update_session(**name(session), display_name="Coffee", labels=None, ttl=60)
    assert (changed.display_name, changed.labels) == ("Coffee", {})
    assert changed.expire_time is not None
    assert await strict.get_metadata(**name(session)) == changed
    # It is no event.
    assert changed.revision == 0
    await strict.append_event(session, event())


async def test_metadata_breaks_no_rule(service: SessiondSessionService, app: str) -> None:
    session = await service.create_session(app_name=app, user_id="u")
    wrong: list[dict[str, Any]] = [{"labels": {"NOT": "lower"}}, {"ttl": -1}, {"display_name": "x" * 1025}]
    for what in wrong:
        with pytest.raises(SessiondInputError):
            await service.update_session(**name(session), **what)
        with pytest.raises(SessiondInputError):
            await service.create_session(app_name=app, user_id="u", **what)
    await service.delete_session(**name(session))
    with pytest.raises(SessionNotFoundError):
        await service.update_session(**name(session), display_name="x")


# Lists


async def test_lists_come_in_pages_if_asked_for(service: SessiondSessionService, app: str) -> None:
    names = [f"s{n}" for n in range(5)]
    for session_id in names:
        await service.create_session(app_name=app, user_id="u", session_id=session_id, state={"k": session_id})
    for user in ("u", None):
        pages: list[list[str]] = []
        token = None
        while not pages or token is not None:
            page = await service.list_sessions(app_name=app, user_id=user, page_size=2, page_token=token)
            assert isinstance(page, ListSessionsResponse)
            pages.append([session.id for session in page.sessions])
            assert all(session.state == {"k": session.id} for session in page.sessions)
            token = page.next_page_token
        assert pages == [names[:2], names[2:4], names[4:]]
    whole = await service.list_sessions(app_name=app, user_id="u")
    assert ([session.id for session in whole.sessions], whole.next_page_token) == (names, None)
    default = await service.list_sessions(app_name=app, user_id="u", page_size=5)
    assert (len(default.sessions), default.next_page_token) == (5, None)


@pytest.mark.parametrize("wrong", [{"page_size": 0}, {"page_size": 1001}, {"page_token": "x"}, {"page_token": ""}])
async def test_pages_that_are_none_are_refused(service: SessiondSessionService, app: str, wrong: Any) -> None:
    with pytest.raises(SessiondInputError):
        await service.list_sessions(app_name=app, **wrong)


async def test_lists_are_filtered_by_labels(service: SessiondSessionService, app: str) -> None:
    for session_id, labels in {"a": {"env": "prod", "team": "x"}, "b": {"env": "prod"}, "c": None}.items():
        await service.create_session(app_name=app, user_id="u", session_id=session_id, labels=labels)

    async def listed(**labels: str) -> list[str]:
        return [found.id for found in (await service.list_sessions(app_name=app, labels=labels)).sessions]

    assert await listed(env="prod") == ["a", "b"]
    assert await listed(env="prod", team="x") == ["a"]
    assert await listed(env="test") == []
    assert await listed() == ["a", "b", "c"]
