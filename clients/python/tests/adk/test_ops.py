"""Operators: changes of state that many make at once, and none loses."""

import asyncio
from pathlib import Path
from typing import Any

import httpx
import pytest
from google.adk.agents.callback_context import CallbackContext
from google.adk.agents.llm_agent import LlmAgent
from google.adk.errors import StaleSessionError
from google.adk.errors.already_exists_error import AlreadyExistsError
from google.adk.errors.session_not_found_error import SessionNotFoundError
from google.adk.models.llm_request import LlmRequest
from google.adk.runners import InMemoryRunner, Runner
from google.adk.tools.tool_context import ToolContext
from google.genai import types

from sessiond_adk import SessiondError, SessiondInputError, SessiondSessionService, ops

from ..support.process import Program, Server
from ..support.proxy import Proxy
from .model import ScriptedModel, call, text
from .test_runner import Talk, agent
from .test_service import event, get


async def test_operators_change_what_is_there(either: SessiondSessionService, app: str) -> None:
    session = await either.create_session(
        app_name=app, user_id="u", state={"n": 2**70, "app:n": 1.5, "user:tags": ["a"], "gone": 1, "kept": 1}
    )
    values = await either.apply_ops(
        session,
        [
            {"op": "increment", "key": "n", "value": 1},
            {"op": "increment", "key": "app:n", "value": -0.5},
            {"op": "increment", "key": "new", "value": 3},
            {"op": "append", "key": "user:tags", "value": ["a", "b"]},
            {"op": "union", "key": "user:tags", "value": ["b", {"c": 1}]},
            {"op": "max", "key": "new", "value": 5},
            {"op": "merge", "key": "profile", "value": {"name": "Ada"}},
            {"op": "set", "key": "flag", "value": None},
            {"op": "remove", "key": "gone"},
        ],
        author="agent",
        invocation_id="i1",
    )
    changed = {
        "n": 2**70 + 1,
        "app:n": 1.0,
        "new": 5,
        "user:tags": ["a", "a", "b", {"c": 1}],
        "profile": {"name": "Ada"},
        "flag": None,
    }
    assert values == changed
    assert session.state == {**changed, "kept": 1}
    (applied,) = session.events
    assert (applied.author, applied.invocation_id) == ("agent", "i1")
    assert applied.actions.state_delta == {**changed, "gone": None}
    assert session.last_update_time == applied.timestamp
    assert await get(either, session) == session
    await either.append_event(session, event({"n": 0}))
    assert await get(either, session) == session


async def test_what_does_not_fit_is_refused_and_changes_nothing(either: SessiondSessionService, app: str) -> None:
    session = await either.create_session(app_name=app, user_id="u", state={"text": "a", "n": 1})
    for op in ({"op": "increment", "key": "text", "value": 1}, {"op": "conjure", "key": "n", "value": 1}):
        with pytest.raises(SessiondInputError):
            await either.apply_ops(session, [{"op": "increment", "key": "n", "value": 1}, op])
    assert (session.state, session.events) == ({"text": "a", "n": 1}, [])
    assert await get(either, session) == session
    await either.delete_session(app_name=app, user_id="u", session_id=session.id)
    with pytest.raises(SessionNotFoundError):
        await either.apply_ops(session, [{"op": "increment", "key": "n", "value": 1}])


async def test_operators_are_never_stale_and_say_who_is(strict: SessiondSessionService, app: str) -> None:
    mine = await strict.create_session(app_name=app, user_id="u")
    theirs = await get(strict, mine)
    await strict.apply_ops(theirs, [{"op": "increment", "key": "n", "value": 1}])
    assert await strict.apply_ops(mine, [{"op": "increment", "key": "n", "value": 1}]) == {"n": 2}
    # This object has not seen the first one.
    with pytest.raises(StaleSessionError):
        await strict.append_event(mine, event())


@pytest.mark.both_databases
async def test_operators_whose_answer_is_lost_are_applied_once(
    far: SessiondSessionService, network: Proxy, app: str
) -> None:
    session = await far.create_session(app_name=app, user_id="u")
    for n in range(1, 5):
        network.lose_answers = 1
        assert await far.apply_ops(session, [{"op": "increment", "key": "app:n", "value": 1}]) == {"app:n": n}
    assert await get(far, session) == session


@pytest.mark.both_databases
async def test_no_concurrent_increment_is_lost(service: SessiondSessionService, app: str) -> None:
    sessions = [await service.create_session(app_name=app, user_id="u") for _ in range(8)]
    operators = [{"op": "increment", "key": key, "value": 1} for key in ("app:n", "user:n", "n")]
    results = await asyncio.gather(*(service.apply_ops(sessions[n % 8], operators) for n in range(64)))
    assert sorted(result["app:n"] for result in results) == list(range(1, 65))
    assert sorted(result["user:n"] for result in results) == list(range(1, 65))
    for session in sessions:
        assert (await get(service, session)).state == {"app:n": 64, "user:n": 64, "n": 8}


async def test_tools_and_callbacks_use_them(either: SessiondSessionService, app: str) -> None:
    async def order(item: str, tool_context: ToolContext) -> dict[str, Any]:
        tool_context.state["last"] = item
        number = await ops.increment(tool_context, "app:orders")
        assert tool_context.state["app:orders"] == number
        items = await ops.append(tool_context, "items", item, item)
        tags = await ops.union(tool_context, "user:tags", "buyer", item)
        await ops.remove(tool_context, "draft")
        assert "draft" not in tool_context.state
        return {"number": number, "items": items, "tags": tags}

    async def count_runs(callback_context: CallbackContext) -> None:
        await ops.increment(callback_context, "user:runs")

    model = ScriptedModel(
        script=[
            call("order", item="tea"),
            lambda request: str(responses(request)),
        ]
        * 2
    )
    agent = LlmAgent(name="shop", model=model, tools=[order], before_agent_callback=count_runs)
    await either.create_session(app_name=app, user_id="u", session_id="s", state={"draft": 1})
    runner = Runner(app_name=app, agent=agent, session_service=either)
    said = []
    for _ in range(2):
        run = runner.run_async(user_id="u", session_id="s", new_message=types.UserContent("Tea, please."))
        said += [text(event.content) async for event in run if event.content and text(event.content)]
    assert said == [
        "[{'number': 1, 'items': ['tea', 'tea'], 'tags': ['buyer', 'tea']}]",
        "[{'number': 2, 'items': ['tea', 'tea', 'tea', 'tea'], 'tags': ['buyer', 'tea']}]",
    ]
    session = await either.get_session(app_name=app, user_id="u", session_id="s")
    assert session is not None
    assert session.state == {
        "app:orders": 2,
        "items": ["tea"] * 4,
        "user:tags": ["buyer", "tea"],
        "user:runs": 2,
        "last": "tea",
    }
    # The event of an operator belongs to the invocation, so that a rewind takes it along.
    invocations = list(dict.fromkeys(event.invocation_id for event in session.events))
    assert [event.author for event in session.events if event.invocation_id == invocations[0]] == ["user"] + [
        "shop"
    ] * 8
    await runner.rewind_async(user_id="u", session_id="s", rewind_before_invocation_id=invocations[1])
    rewound = await get(either, session)
    assert (rewound.state["items"], rewound.state["app:orders"]) == (["tea", "tea"], 2)


def responses(request: LlmRequest) -> list[Any]:
    parts = request.contents[-1].parts or ()
    return [part.function_response.response for part in parts if part.function_response]


async def test_operators_may_have_preconditions(either: SessiondSessionService, app: str) -> None:
    session = await either.create_session(app_name=app, user_id="u", state={"k": 1, "user:u": None, "app:a": [1.0]})
    increment = [{"op": "increment", "key": "n", "value": 1}]
    holds = [
        *(ops.exists("k"), ops.exists("user:u"), ops.absent("n"), ops.absent("app:n")),
        *(ops.equals("k", 1.0), ops.equals("user:u", None), ops.equals("app:a", [1])),
        *(ops.unchanged("k", 0), ops.unchanged("app:a", 1)),
    ]
    assert await either.apply_ops(session, increment, preconditions=holds) == {"n": 1}
    for fails in (ops.exists("gone"), ops.absent("k"), ops.equals("k", 2), ops.unchanged("n", 0)):
        with pytest.raises(StaleSessionError, match=f"`{fails['key']}`") as refused:
            await either.apply_ops(session, increment, preconditions=[ops.exists("k"), fails])
        cause = refused.value.__cause__
        assert isinstance(cause, SessiondError)
        assert (cause.status, cause.code, cause.outcome) == (412, "revision_mismatch", "not_applied")
    assert session.state["n"] == 1
    assert await get(either, session) == session


@pytest.mark.both_databases
async def test_of_many_tools_one_takes_what_is_free(either: SessiondSessionService, app: str) -> None:
    async def take(seat: str, tool_context: ToolContext) -> str:
        try:
            await ops.apply(
                tool_context,
                [{"op": "set", "key": f"app:{seat}", "value": tool_context.function_call_id}],
                preconditions=[ops.absent(f"app:{seat}")],
            )
        except StaleSessionError:
            return "taken"
        assert await ops.increment(tool_context, "n", preconditions=[ops.absent("n")]) == 1
        assert await ops.append(tool_context, "l", 1, preconditions=[ops.absent("l")]) == [1]
        assert await ops.union(tool_context, "l", 1, 2, preconditions=[ops.equals("l", [1])]) == [1, 2]
        await ops.remove(tool_context, "l", preconditions=[ops.equals("l", [1, 2])])
        with pytest.raises(StaleSessionError):
            await ops.remove(tool_context, "n", preconditions=[ops.exists("l")])
        return "yours"

    host = agent("host", [call("take", seat="window")] * 4, lambda request: str(responses(request)), tools=[take])
    said = text((await Talk(either, app, host).say("A seat."))[-1].content)
    assert (said.count("yours"), said.count("taken")) == (1, 3)


@pytest.mark.both_databases
async def test_parallel_calls_of_a_tool_lose_nothing(either: SessiondSessionService, app: str) -> None:
    async def count(tool_context: ToolContext) -> Any:
        return await ops.increment(tool_context, "n")

    agent = LlmAgent(name="a", model=ScriptedModel(script=[[call("count")] * 8, "done"]), tools=[count])
    runner = Runner(app_name=app, agent=agent, session_service=either, auto_create_session=True)
    async for _ in runner.run_async(user_id="u", session_id="s", new_message=types.UserContent("Go.")):
        pass
    session = await either.get_session(app_name=app, user_id="u", session_id="s")
    assert session is not None and session.state == {"n": 8}


async def test_other_services_are_no_substitute() -> None:
    async def count(tool_context: ToolContext) -> None:
        await ops.increment(tool_context, "n")

    runner = InMemoryRunner(LlmAgent(name="a", model=ScriptedModel(script=[call("count")]), tools=[count]))
    session = await runner.session_service.create_session(app_name=runner.app_name, user_id="u")
    with pytest.raises(TypeError, match="InMemorySessionService"):
        async for _ in runner.run_async(user_id="u", session_id=session.id, new_message=types.UserContent("Go.")):
            pass


@pytest.mark.parametrize("sessions", [["one", "other"], ["same", "same"]], ids=["two sessions", "one session"])
@pytest.mark.both_databases
def test_runners_in_two_processes_lose_nothing(
    server: Server, plain: httpx.Client, app: str, sessions: list[str]
) -> None:
    runs = 8
    users = f"/apps/{app}/users/u"
    for session in set(sessions):
        plain.put(f"{users}/sessions/{session}").raise_for_status()
    client = Path(__file__).resolve().parents[2]
    workers = [
        Program("-m", "tests.adk.worker", server.url, app, session, str(runs), cwd=client) for session in sessions
    ]
    for worker in workers:
        assert worker.wait() == 0, worker.errors

    assert plain.get(f"{users}/state").json() == {"count": 2 * runs}
    assert plain.get(f"/apps/{app}/state").json() == {"count": 1.0 * runs}
    for session in set(sessions):
        stored = plain.get(f"{users}/sessions/{session}").json()
        share = runs * sessions.count(session)
        assert len(stored["state"]["log"]) == share
        # In each run: the message, the call, three operators, the tool's answer, the last word.
        assert [event["sequence"] for event in stored["events"]] == list(range(1, 7 * share + 1))


async def test_a_change_with_an_id_is_made_once(either: SessiondSessionService, app: str) -> None:
    session = await either.create_session(app_name=app, user_id="u", session_id="s", state={"n": 1})
    add: list[dict[str, Any]] = [{"op": "increment", "key": "n", "value": 1}, {"op": "remove", "key": "gone"}]
    at_one = [ops.equals("n", 1)]
    assert await either.apply_ops(session, add, once="order 17", preconditions=at_one) == {"n": 2}
    await either.apply_ops(session, [{"op": "set", "key": "n", "value": 10}])
    # Of the same agent, of another one, in another invocation, through another object; the precondition held then.
    other = await get(either, session)
    for target, author, invocation in ((session, "user", ""), (session, "agent", "i2"), (other, "agent", "i3")):
        values = await either.apply_ops(
            target, add, once="order 17", preconditions=at_one, author=author, invocation_id=invocation
        )
        assert values == {"n": 2}
        assert (target.state, len(target.events)) == ({"n": 10}, 2)
        assert await get(either, session) == target
    # Another change, or another event, of the same id is none of ours.
    with pytest.raises(AlreadyExistsError):
        await either.apply_ops(session, [{"op": "increment", "key": "n", "value": 2}], once="order 17")
    said = event({"n": 0})
    await either.append_event(session, said)
    with pytest.raises(AlreadyExistsError):
        await either.apply_ops(session, add, once=said.id)
    assert await get(either, session) == session


async def test_a_change_that_the_session_object_has_not_seen_shows_in_it(
    either: SessiondSessionService, app: str
) -> None:
    session = await either.create_session(app_name=app, user_id="u", session_id="s")
    other = await get(either, session)
    for target in (session, other):
        assert await either.apply_ops(target, [{"op": "increment", "key": "n", "value": 1}], once="first") == {"n": 1}
    assert session.state == other.state == {"n": 1}
    assert await get(either, session) == other == session


@pytest.mark.both_databases
def test_a_tool_that_dies_in_the_middle_and_runs_again_changes_each_thing_once(
    server: Server, plain: httpx.Client, app: str
) -> None:
    users = f"/apps/{app}/users/u"
    plain.put(f"{users}/sessions/s").raise_for_status()
    client = Path(__file__).resolve().parents[2]
    for where, code in (("in the middle", 9), ("at the end", 9), ("nowhere", 0), ("nowhere", 0)):
        program = Program("-m", "tests.adk.crash", server.url, app, "s", where, cwd=client)
        assert program.wait() == code, program.errors
    assert program.output == "{'number': 1, 'items': ['tea']}\n"
    assert plain.get(f"/apps/{app}/state").json() == {"orders": 1}
    assert plain.get(f"{users}/state").json() == {"items": ["tea"]}
    events = plain.get(f"{users}/sessions/s/events").json()["events"]
    assert [event["id"] for event in events if "stateOps" in event["actions"]] == ["number of tea", "items of tea"]
