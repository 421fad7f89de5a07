"""Agents of ADK, run by ADK's own Runner, on sessions in sessiond."""

import asyncio
from typing import Any

import pytest
from google.adk.agents.llm_agent import LlmAgent
from google.adk.agents.parallel_agent import ParallelAgent
from google.adk.agents.run_config import RunConfig
from google.adk.agents.sequential_agent import SequentialAgent
from google.adk.apps.app import App, ResumabilityConfig
from google.adk.artifacts.base_artifact_service import BaseArtifactService
from google.adk.errors.session_not_found_error import SessionNotFoundError
from google.adk.events.event import Event
from google.adk.memory.base_memory_service import BaseMemoryService
from google.adk.runners import Runner
from google.adk.sessions.base_session_service import BaseSessionService, GetSessionConfig
from google.adk.sessions.session import Session
from google.adk.tools.long_running_tool import LongRunningFunctionTool
from google.adk.tools.tool_context import ToolContext
from google.adk.workflow import START, Workflow
from google.genai import types

from sessiond_adk import SessiondSessionService

from .model import ScriptedModel, call, instruction, text


class Talk:
    """A user's conversation with agents."""

    def __init__(
        self,
        service: BaseSessionService,
        app: str,
        agent: Any,
        user: str = "u",
        artifacts: BaseArtifactService | None = None,
        memory: BaseMemoryService | None = None,
        **rest: Any,
    ) -> None:
        """What else is given, is of the app."""
        self.service = service
        self.app, self.user, self.id = app, user, "s"
        what = {"app": App(name=app, root_agent=agent, **rest)} if rest else {"app_name": app, "agent": agent}
        self.runner = Runner(
            session_service=service,
            artifact_service=artifacts,
            memory_service=memory,
            auto_create_session=True,
            **what,
        )

    async def say(self, *said: str | types.Part, **rest: Any) -> list[Event]:
        parts = [types.Part(text=part) if isinstance(part, str) else part for part in said]
        content = types.Content(role="user", parts=parts)
        run = self.runner.run_async(user_id=self.user, session_id=self.id, new_message=content, **rest)
        return [event async for event in run]

    async def session(self, config: GetSessionConfig | None = None) -> Session:
        found = await self.service.get_session(app_name=self.app, user_id=self.user, session_id=self.id, config=config)
        assert found is not None
        return found


def agent(name: str, *script: Any, **rest: Any) -> LlmAgent:
    return LlmAgent(name=name, model=ScriptedModel(script=list(script)), **rest)


def requests(of: LlmAgent) -> list[Any]:
    assert isinstance(of.model, ScriptedModel)
    return of.model.requests


async def test_output_key_becomes_state(either: SessiondSessionService, app: str) -> None:
    for key in ("answer", "user:answer", "app:answer"):
        talk = Talk(either, app, agent("writer", f"for {key}", output_key=key), user=key)
        (event,) = await talk.say("Hello")
        session = await talk.session()
        assert [found.author for found in session.events] == ["user", "writer"]
        assert session.events[1] == event
        assert session.events[1].actions.state_delta == {key: f"for {key}"}
        assert session.state[key] == f"for {key}"
        assert session.last_update_time == event.timestamp
    assert (await talk.session()).state == {"app:answer": "for app:answer"}


async def test_a_tool_writes_state_of_every_scope(either: SessiondSessionService, app: str) -> None:
    def remember(name: str, tool_context: ToolContext) -> dict[str, Any]:
        tool_context.state["user:name"] = name
        tool_context.state["app:last"] = name
        tool_context.state["names"] = [*tool_context.state.get("names", []), name]
        tool_context.state["temp:secret"] = "not stored"
        return {"remembered": tool_context.state["temp:secret"]}

    talk = Talk(either, app, agent("host", call("remember", name="Ada"), "Welcome, Ada.", tools=[remember]))
    events = await talk.say("I am Ada.")
    session = await talk.session()
    assert session.state == {"user:name": "Ada", "app:last": "Ada", "names": ["Ada"]}
    assert session.events[1:] == events
    assert await either.get_user_state(app_name=app, user_id="u") == {"name": "Ada"}
    assert (await either.create_session(app_name=app, user_id="v")).state == {"app:last": "Ada"}


async def test_instructions_are_filled_from_state(either: SessiondSessionService, app: str) -> None:
    await either.create_session(
        app_name=app, user_id="u", session_id="s", state={"user:name": "Ada", "app:shop": "Shop", "topic": "tea"}
    )
    host = agent("host", "Hello.", instruction="{user:name} at {app:shop} about {topic}{missing?}{user:missing?}.")
    await Talk(either, app, host).say("Hello")
    assert "Ada at Shop about tea." in instruction(requests(host)[0])

    strangers = agent("host", "Hello.", instruction="Say hello to {user:name}.")
    with pytest.raises(KeyError):
        await Talk(either, app, strangers, user="v").say("Hello")


async def test_temp_state_is_handed_from_agent_to_agent(either: SessiondSessionService, app: str) -> None:
    second = agent("second", "polished", instruction="Polish: {temp:draft}", output_key="result")
    third = agent("third", "done", instruction="Check: {temp:draft} and {result}")
    first = agent("first", "a draft", output_key="temp:draft")
    talk = Talk(either, app, SequentialAgent(name="writers", sub_agents=[first, second, third]))
    await talk.say("Write.")
    assert "Polish: a draft" in instruction(requests(second)[0])
    assert "Check: a draft and polished" in instruction(requests(third)[0])
    session = await talk.session()
    assert session.state == {"result": "polished"}
    assert [event.actions.state_delta for event in session.events] == [{}, {}, {"result": "polished"}, {}]


@pytest.mark.both_databases
async def test_parallel_agents_share_a_session(either: SessiondSessionService, app: str) -> None:
    workers = [agent(f"worker{n}", f"result {n}", output_key=f"app:{n}") for n in range(8)]
    talk = Talk(either, app, ParallelAgent(name="workers", sub_agents=list(workers)))
    events = await talk.say("Work.")
    session = await talk.session()
    assert session.events[1:] == events
    assert session.state == {f"app:{n}": f"result {n}" for n in range(8)}
    assert {event.branch for event in events} == {f"workers.worker{n}" for n in range(8)}


async def test_temp_state_is_handed_through_a_workflow(either: SessiondSessionService, app: str) -> None:
    second = agent("second", "polished", instruction="Polish: {temp:draft}", output_key="result")
    first = agent("first", "a draft", output_key="temp:draft")
    talk = Talk(either, app, Workflow(name="writers", edges=[(START, first, second)]))
    await talk.say("Write.")
    assert "Polish: a draft" in instruction(requests(second)[0])
    assert (await talk.session()).state == {"result": "polished"}


async def test_agents_transfer_to_each_other_over_turns(either: SessiondSessionService, app: str) -> None:
    expert = agent("expert", "The expert answers.", "The expert again.", description="knows")
    front = agent("front", call("transfer_to_agent", agent_name="expert"), sub_agents=[expert])
    talk = Talk(either, app, front)
    await talk.say("A hard question")
    # The next message goes to whom the stored events say is in charge.
    events = await talk.say("Another one")
    assert [(event.author, text(event.content)) for event in events] == [("expert", "The expert again.")]
    assert (await talk.session()).events[2].actions.transfer_to_agent == "expert"


async def test_the_model_sees_the_history_of_earlier_runs(either: SessiondSessionService, app: str) -> None:
    await Talk(either, app, agent("host", "First answer.")).say("First question")
    host = agent("host", "Second answer.")
    await Talk(either, app, host).say("Second question")
    said = [text(content) for content in requests(host)[0].contents]
    assert said == ["First question", "First answer.", "Second question"]


async def test_streamed_fragments_are_not_stored(either: SessiondSessionService, app: str) -> None:
    talk = Talk(either, app, agent("host", "Hello.", output_key="said"))
    events = await talk.say("Hi", run_config=RunConfig.model_validate({"streaming_mode": "sse"}))
    assert [event.partial for event in events] == [True, None]
    session = await talk.session()
    assert [text(event.content) for event in session.events] == ["Hi", "Hello."]
    assert session.state == {"said": "Hello."}


async def test_state_of_the_caller_comes_with_the_message(either: SessiondSessionService, app: str) -> None:
    host = agent("host", "Hello.", instruction="In {lang}, {temp:mood}.")
    talk = Talk(either, app, host)
    await talk.say("Hi", state_delta={"lang": "German", "user:lang": "de", "temp:mood": "happy"})
    assert "In German, happy." in instruction(requests(host)[0])
    assert (await talk.session()).state == {"lang": "German", "user:lang": "de"}


async def test_a_long_running_tool_is_answered_later(either: SessiondSessionService, app: str) -> None:
    def ask_for_approval(amount: int, tool_context: ToolContext) -> dict[str, Any]:
        tool_context.state["asked"] = amount
        return {"status": "pending", "ticket": "t1"}

    def clerk(*script: Any) -> LlmAgent:
        return agent("clerk", *script, tools=[LongRunningFunctionTool(func=ask_for_approval)])

    first = Talk(either, app, clerk(call("ask_for_approval", amount=9), "Waiting."))
    asked = (await first.say("Refund 9, please."))[0]
    (wanted,) = asked.get_function_calls()
    assert wanted.id is not None
    assert asked.long_running_tool_ids == {wanted.id}
    session = await first.session()
    assert session.events[1] == asked
    assert session.state == {"asked": 9}

    # Later, by another process, which has nothing but the session.
    later = clerk("Approved.")
    approval = types.FunctionResponse(id=wanted.id, name=wanted.name, response={"status": "approved"})
    answer = await Talk(either, app, later).say(types.Part(function_response=approval))
    assert text(answer[-1].content) == "Approved."
    seen = [part.function_response for content in requests(later)[0].contents for part in content.parts or ()]
    assert [response.response for response in seen if response] == [{"status": "approved"}]


async def test_an_invocation_is_resumed_from_the_store(either: SessiondSessionService, app: str) -> None:
    def approve() -> None:
        """Takes long."""

    def steps(*script: Any) -> SequentialAgent:
        first = agent("first", *script, tools=[LongRunningFunctionTool(func=approve)])
        return SequentialAgent(name="steps", sub_agents=[first, agent("second", "all done")])

    def talk(*script: Any) -> Talk:
        return Talk(either, app, steps(*script), resumability_config=ResumabilityConfig(is_resumable=True))

    paused = await talk(call("approve")).say("Go.")
    wanted = next(call for event in paused for call in event.get_function_calls())
    assert "all done" not in [text(event.content) for event in paused]

    approval = types.FunctionResponse(id=wanted.id, name="approve", response={"ok": True})
    resumed = await talk("approved").say(types.Part(function_response=approval), invocation_id=paused[0].invocation_id)
    assert "all done" in [text(event.content) for event in resumed]
    stored = (await talk().session()).events
    assert [event for event in stored if event.author != "user"] == [*paused, *resumed]
    assert any(event.actions.end_of_agent for event in stored)


async def test_a_session_is_rewound(either: SessiondSessionService, app: str) -> None:
    def note(word: str, tool_context: ToolContext) -> None:
        tool_context.state["word"] = word
        tool_context.state[f"only {word}"] = True
        tool_context.state["user:word"] = word

    turns = [turn for word in ("one", "two", "three") for turn in (call("note", word=word), f"Noted {word}.")]
    host = agent("host", *turns, "What was it?", tools=[note])
    talk = Talk(either, app, host)
    ids = [(await talk.say(word))[0].invocation_id for word in ("one", "two", "three")]
    before = await talk.session()
    assert before.state["word"] == "three"

    await talk.runner.rewind_async(user_id="u", session_id="s", rewind_before_invocation_id=ids[1])
    rewound = await talk.session()
    assert rewound.state == {
        "word": "one",
        "only one": True,
        # As ADK removes: a rewind sets to None.
        "only two": None,
        "only three": None,
        "user:word": "three",
    }
    assert rewound.events[:-1] == before.events
    assert rewound.events[-1].actions.rewind_before_invocation_id == ids[1]

    await talk.say("Go on.")
    said = [text(content) for content in requests(host)[-1].contents]
    assert "Noted one." in said and "two" not in said and "Noted three." not in said

    with pytest.raises(ValueError):
        await talk.runner.rewind_async(user_id="u", session_id="s", rewind_before_invocation_id="never was")


async def test_a_run_can_do_with_recent_events(either: SessiondSessionService, app: str) -> None:
    host = agent("host", *(f"answer {n}" for n in range(4)), output_key="last")
    talk = Talk(either, app, host)
    for n in range(3):
        await talk.say(f"question {n}")
    await talk.say("question 3", run_config=RunConfig(get_session_config=GetSessionConfig(num_recent_events=2)))
    assert [text(content) for content in requests(host)[-1].contents] == ["question 2", "answer 2", "question 3"]
    session = await talk.session()
    assert [text(event.content) for event in session.events[-2:]] == ["question 3", "answer 3"]
    assert (len(session.events), session.state) == (8, {"last": "answer 3"})


async def test_a_missing_session_is_an_error_unless_it_is_to_be_created(
    either: SessiondSessionService, app: str
) -> None:
    runner = Runner(app_name=app, agent=agent("host"), session_service=either)
    with pytest.raises(SessionNotFoundError):
        async for _ in runner.run_async(user_id="u", session_id="s", new_message=types.UserContent("Hi")):
            pass


def test_the_synchronous_run_works(strict: SessiondSessionService, app: str) -> None:
    talk = Talk(strict, app, agent("host", "one", "two", output_key="last"))
    for answer in ("one", "two"):
        events = list(talk.runner.run(user_id="u", session_id="s", new_message=types.UserContent("Hi")))
        assert [text(event.content) for event in events] == [answer]
    session = asyncio.run(talk.session())
    assert (len(session.events), session.state) == (4, {"last": "two"})


async def test_closing_the_runner_leaves_the_service_usable(either: SessiondSessionService, app: str) -> None:
    talk = Talk(either, app, agent("host", "Hello."))
    await talk.say("Hi")
    await talk.runner.close()
    assert len((await talk.session()).events) == 2
