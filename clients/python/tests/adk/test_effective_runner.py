"""A Runner on the effective history behaves as on the whole log, and loads less."""

import random
import time
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from google.adk.agents.llm_agent import LlmAgent
from google.adk.apps.app import EventsCompactionConfig
from google.adk.apps.llm_event_summarizer import LlmEventSummarizer
from google.adk.errors import StaleSessionError
from google.adk.events.event import Event
from google.adk.events.event_actions import EventActions
from google.adk.models.llm_request import LlmRequest
from google.adk.runners import Runner
from google.adk.sessions.base_session_service import GetSessionConfig
from google.adk.tools.long_running_tool import LongRunningFunctionTool
from google.genai import types

import sessiond_adk.service
from sessiond_adk import SessiondSessionService

from ..support.process import Server
from .model import ScriptedModel, call, instruction, text
from .test_effective import log, prompt, rewound
from .test_runner import Talk

START = 1_700_000_000.0


class Counting(SessiondSessionService):
    """Counts the events that `get_session` loads."""

    loaded = 0

    async def get_session(self, **rest: Any) -> Any:
        found = await super().get_session(**rest)
        self.loaded = len(found.events) if found else 0
        return found


@pytest.fixture
async def full(server: Server) -> AsyncIterator[Counting]:
    service = Counting(server.url)
    async with service:
        yield service


@pytest.fixture
async def effective(server: Server) -> AsyncIterator[Counting]:
    service = Counting(server.url, history="effective")
    async with service:
        yield service


def summary(of: str, start: float, end: float) -> dict[str, Any]:
    content = {"role": "model", "parts": [{"text": of}]}
    return {"compaction": {"startTimestamp": start, "endTimestamp": end, "compactedContent": content}}


def fill(plain: httpx.Client, path: str, count: int, every: int = 100) -> None:
    """Appends `count` events to a new session, of which each `every`th sums up those since the one before."""
    plain.put(path).raise_for_status()
    events: list[dict[str, Any]] = []
    for n in range(count):
        at = START + n
        author = ("user", "host")[n % 2]
        event: dict[str, Any] = {"id": f"e{n}", "author": author, "invocationId": f"i{n // 2}", "timestamp": at}
        if n % every == every - 1:
            event["author"] = "user"
            event["actions"] = summary(f"summary {n}", at - every + 1, at - 1)
        else:
            event["content"] = {"role": ("user", "model")[n % 2], "parts": [{"text": f"text {n}"}]}
            event["actions"] = {"stateDelta": {"last": n}}
        events.append(event)
    for begin in range(0, count, 500):
        plain.post(f"{path}/events", json=events[begin : begin + 500]).raise_for_status()


def seen(requests: list[LlmRequest]) -> list[Any]:
    return [
        (instruction(request) if request.config.system_instruction else "", request.model_dump(include={"contents"}))
        for request in requests
    ]


def nameless(requests: list[LlmRequest]) -> Any:
    """What requests have, without the ids of calls, which ADK draws by chance."""
    said = []
    for request in requests:
        for content in request.contents:
            for part in content.parts or ():
                for named in (part.function_call, part.function_response):
                    if named:
                        named.id = None
        said.append(seen([request]))
    return said


def approve() -> None:
    """Takes long."""


def pend() -> dict[str, str]:
    """Takes long, and says so."""
    return {"status": "pending"}


class Compacting(Talk):
    """Turns of an agent whose app compacts, in a session of a service."""

    def __init__(self, service: Counting, app: str, session_id: str, script: list[Any], **compaction: int) -> None:
        self.summarizer = ScriptedModel(script=[lambda request: f"in short: {len(str(request.contents))}"] * 50)
        tools = [LongRunningFunctionTool(func=approve), LongRunningFunctionTool(func=pend)]
        self.expert_model = ScriptedModel(script=["The expert answers.", "Again."])
        expert = LlmAgent(name="expert", model=self.expert_model, description="knows")
        self.model = ScriptedModel(script=script)
        host = LlmAgent(
            name="host", model=self.model, instruction="After {last?}.", tools=[*tools], sub_agents=[expert]
        )
        config = EventsCompactionConfig(
            **{"compaction_interval": 3, "overlap_size": 1, **compaction},
            summarizer=LlmEventSummarizer(llm=self.summarizer),
        )
        super().__init__(service, app, host, events_compaction_config=config)
        self.id = session_id


@pytest.mark.parametrize("server", ["postgres"], indirect=True)
async def test_prompts_are_equal_turn_by_turn(
    full: Counting, effective: Counting, plain: httpx.Client, app: str
) -> None:
    loaded = []
    prompts = []
    for service in (full, effective):
        name = "effective" if service is effective else "full"
        path = f"/apps/{app}/users/u/sessions/{name}"
        fill(plain, path, 2_000)
        script: list[Any] = [f"answer {n}" for n in range(10)]
        script[4:5] = [call("approve")]
        talk = Compacting(service, app, name, [*script, "approved", *(f"later {n}" for n in range(4))])
        said: list[Any] = []
        counts = []
        wanted = None
        for n in range(10):
            events = await talk.say(f"question {n}")
            counts.append(service.loaded)
            said.append([text(event.content) for event in events])
            wanted = wanted or next((call for event in events for call in event.get_function_calls()), None)
        assert wanted is not None
        response = types.FunctionResponse(id=wanted.id, name="approve", response={"ok": True})
        said.append([text(event.content) for event in await talk.say(types.Part(function_response=response))])
        for n in range(4):
            said.append([text(event.content) for event in await talk.say(f"and {n}")])
        loaded.append(counts)
        prompts.append((nameless(talk.model.requests), nameless(talk.summarizer.requests), said))
    assert prompts[0] == prompts[1]
    # The compactor has been at work, before and after the call.
    assert len(prompts[0][1]) >= 3
    # 20 summaries, and the last 100 events.
    assert loaded[0][0] == 2_000
    assert loaded[1][0] == 119
    assert all(count < 160 for count in loaded[1])


async def test_the_agent_that_replied_last_goes_on_when_its_reply_is_covered(effective: Counting, app: str) -> None:
    await effective.create_session(app_name=app, user_id="u", session_id="s")
    script = [call("transfer_to_agent", agent_name="expert")]
    talk = Compacting(effective, app, "s", script, compaction_interval=1, overlap_size=0)
    await talk.say("A hard question")
    session = await effective.get_session(app_name=app, user_id="u", session_id="s")
    assert session.events[-1].actions.compaction
    assert [event.author for event in await talk.say("Another one")] == ["expert"]
    said = [text(content) for content in talk.expert_model.requests[-1].contents]
    assert "A hard question" not in said and any("in short" in each for each in said)


async def test_a_call_that_is_pending_is_answered_after_a_compaction(effective: Counting, app: str) -> None:
    await effective.create_session(app_name=app, user_id="u", session_id="s")
    script = [call("pend"), "Waiting.", "one", "two", "three", "Done."]
    talk = Compacting(effective, app, "s", script, compaction_interval=1, overlap_size=0)
    events = await talk.say("Please")
    wanted = next(call for event in events for call in event.get_function_calls())
    for _ in range(3):
        await talk.say("Go on")
    response = types.FunctionResponse(id=wanted.id, name="pend", response={"ok": True})
    assert text((await talk.say(types.Part(function_response=response)))[-1].content) == "Done."
    parts = [part for content in talk.model.requests[-1].contents for part in content.parts or ()]
    assert [part.function_response.response for part in parts if part.function_response] == [{"ok": True}]


async def test_a_call_far_back_and_covered_needs_the_whole_log(
    full: Counting, effective: Counting, plain: httpx.Client, app: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sessiond_adk.service, "_LAST", 2)
    await effective.create_session(app_name=app, user_id="u", session_id="s")
    script = [call("pend"), "Waiting.", "one", "two"]
    talk = Compacting(effective, app, "s", script, compaction_interval=1, overlap_size=0)
    wanted = next(call for event in await talk.say("Please") for call in event.get_function_calls())
    for _ in range(2):
        await talk.say("Go on")
    answer = types.Part(function_response=types.FunctionResponse(id=wanted.id, name="pend", response={"ok": True}))
    with pytest.raises(ValueError, match="Function call not found"):
        await talk.say(answer)
    before = await full.get_session(app_name=app, user_id="u", session_id="s")
    assert "Done." == text((await Compacting(full, app, "s", ["Done."]).say(answer))[-1].content)
    # From now on the call is needed.
    session = await effective.get_session(app_name=app, user_id="u", session_id="s")
    assert len(session.events) < len(before.events)
    assert wanted.id in {call.id for event in session.events for call in event.get_function_calls()}


async def test_the_last_events_change_no_prompt(
    server: Server, plain: httpx.Client, app: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sessiond_adk.service, "_LAST", 4)
    async with SessiondSessionService(server.url, history="effective") as effective:
        more = 0
        for seed in range(1_000, 1_060):
            path = f"/apps/{app}/users/u/sessions/s{seed}"
            plain.put(path).raise_for_status()
            plain.post(f"{path}/events", json=log(random.Random(seed))).raise_for_status()
            whole = await effective.get_session(
                app_name=app, user_id="u", session_id=f"s{seed}", at_revision=len(plain.get(path).json()["events"])
            )
            session = await effective.get_session(app_name=app, user_id="u", session_id=f"s{seed}")
            assert whole is not None and session is not None
            bare = plain.get(path, params={"history": "effective"}).json()["events"]
            more += len(session.events) - len(bare)
            gone = {call.id for event in rewound(whole.events) for call in event.get_function_calls()}
            for branch in {event.branch for event in whole.events}:
                for scope in {event.isolation_scope for event in whole.events} - gone:
                    expected = prompt(whole.events, branch, scope, "a")
                    assert prompt(session.events, branch, scope, "a") == expected, (seed, branch, scope)
        assert more > 0


async def test_limits_count_what_is_left(effective: Counting, plain: httpx.Client, app: str) -> None:
    path = f"/apps/{app}/users/u/sessions/s"
    fill(plain, path, 250)

    async def ids(**config: Any) -> list[str]:
        found = await effective.get_session(
            app_name=app, user_id="u", session_id="s", config=GetSessionConfig(**config)
        )
        return [event.id for event in found.events]

    left = [f"e{n}" for n in range(200, 250)]
    assert await ids(num_recent_events=52) == ["e99", "e199", *left]
    assert await ids(num_recent_events=2) == left[-2:]
    assert await ids(after_timestamp=START + 248) == left[-2:]
    assert await ids(num_recent_events=0) == []
    past = await effective.get_session(app_name=app, user_id="u", session_id="s", at_revision=150)
    assert [event.id for event in past.events] == [f"e{n}" for n in range(150)]


async def test_rewinds(full: Counting, effective: Counting, plain: httpx.Client, app: str) -> None:
    path = f"/apps/{app}/users/u/sessions/s"
    fill(plain, path, 250)
    runner = Runner(app_name=app, agent=LlmAgent(name="host", model="none"), session_service=effective)
    # What ADK would restore lacks what the covered events did.
    with pytest.raises(ValueError, match="rewind_session"):
        await runner.rewind_async(user_id="u", session_id="s", rewind_before_invocation_id="i105")
    assert plain.get(path).json()["revision"] == 250

    session = await effective.get_session(app_name=app, user_id="u", session_id="s")
    # Of an invocation whose events are covered, and with it the summary of them.
    await effective.rewind_session(session, before_invocation_id="i60")
    assert session.state["last"] == 119
    again = await effective.get_session(app_name=app, user_id="u", session_id="s")
    assert session.events == again.events
    assert [event.id for event in again.events if not event.actions.compaction][-20:] == [
        f"e{n}" for n in range(100, 120)
    ]
    whole = await full.get_session(app_name=app, user_id="u", session_id="s")
    assert prompt(session.events, None, None, "host") == prompt(whole.events, None, None, "host")
    await effective.append_event(session, Event(author="user", content=types.UserContent("on")))


async def test_an_object_that_missed_a_compaction_is_stale(server: Server, plain: httpx.Client, app: str) -> None:
    path = f"/apps/{app}/users/u/sessions/s"
    fill(plain, path, 150)
    async with SessiondSessionService(server.url, concurrency="session", history="effective") as strict:
        session = await strict.get_session(app_name=app, user_id="u", session_id="s")
        assert session is not None
        await strict.append_event(session, Event(author="user", content=types.UserContent("mine")))
        compaction = {"author": "user", "timestamp": START + 150, "actions": summary("all", START, START + 149)}
        plain.post(f"{path}/events", json=compaction).raise_for_status()
        with pytest.raises(StaleSessionError):
            await strict.append_event(session, Event(author="user", content=types.UserContent("late")))
        again = await strict.get_session(app_name=app, user_id="u", session_id="s")
        assert again is not None
        await strict.append_event(again, Event(author="user", content=types.UserContent("late")))


async def test_an_event_that_is_covered_is_not_applied_again(
    effective: Counting, plain: httpx.Client, app: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sessiond_adk.service, "_LAST", 1)
    path = f"/apps/{app}/users/u/sessions/s"
    plain.put(path).raise_for_status()
    first = Event(id="first", author="user", timestamp=START, actions=EventActions(state_delta={"key": "old"}))
    session = await effective.get_session(app_name=app, user_id="u", session_id="s")
    await effective.append_event(session, first.model_copy(deep=True))
    for event in (
        {"author": "a", "timestamp": START + 1, "actions": {"stateDelta": {"key": "new"}}},
        {"author": "user", "timestamp": START + 2, "actions": summary("both", START, START + 1)},
    ):
        plain.post(f"{path}/events", json=event).raise_for_status()
    later = await effective.get_session(app_name=app, user_id="u", session_id="s")
    await effective.append_event(later, first)
    assert later.state == {"key": "new"}
    assert len(later.events) == 1


async def test_a_turn_sees_what_the_turn_before_it_compacted(server: Server, plain: httpx.Client, app: str) -> None:
    path = f"/apps/{app}/users/u/sessions/s"
    fill(plain, path, 250)
    async with SessiondSessionService(server.url, concurrency="lease", history="effective") as turns:
        everything = await turns.get_session(app_name=app, user_id="u", session_id="s")
        recent = await turns.get_session(
            app_name=app, user_id="u", session_id="s", config=GetSessionConfig(num_recent_events=3)
        )
        assert everything is not None and recent is not None
        now = time.time()
        plain.post(f"{path}/rewind", json={"beforeInvocationId": "i110"}).raise_for_status()
        said = {"id": "said", "author": "user", "timestamp": now, "content": {"parts": [{"text": "said"}]}}
        plain.post(f"{path}/events", json=said).raise_for_status()
        for name, session in (("first", everything), ("second", recent)):
            turn = Event(id=name, author="user", invocation_id=name, content=types.UserContent("mine"))
            await turns.append_event(session, turn)
            await turns.flush()
    whole = [f"e{n}" for n in (99, 199)] + [f"e{n}" for n in range(200, 220)]
    assert [event.id for event in everything.events if event.id in whole][-22:] == whole
    assert [event.id for event in everything.events[-2:]] == ["said", "first"]
    # Three, and as many as came since.
    assert [event.id for event in recent.events] == [*whole[-4:], "said", "first", "second"]


def test_only_these_words(server: Server) -> None:
    with pytest.raises(ValueError, match="history"):
        SessiondSessionService(server.url, history="some")  # type: ignore[arg-type]
