"""One turn at a time: invocations of a session, of any process, do not write into each other's turn."""

import asyncio
import gc
import itertools
import json
from collections.abc import AsyncIterator
from typing import Any

import httpx
import pytest
from google.adk.agents.parallel_agent import ParallelAgent
from google.adk.agents.sequential_agent import SequentialAgent
from google.adk.errors import StaleSessionError
from google.adk.errors.session_not_found_error import SessionNotFoundError
from google.adk.events.event import Event
from google.adk.sessions.session import Session
from google.adk.tools.tool_context import ToolContext
from google.adk.workflow import START, Workflow
from google.genai import types

from sessiond._paths import process_name
from sessiond_adk import SessionBusyError, SessiondError, SessiondSessionService, ops

from ..support.process import Server
from ..support.proxy import answering
from .model import call
from .test_runner import Talk, agent
from .test_service import get

pytestmark = pytest.mark.both_databases


@pytest.fixture
async def one(server: Server) -> AsyncIterator[SessiondSessionService]:
    async with SessiondSessionService(server.url, concurrency="lease") as service:
        yield service


@pytest.fixture
async def two(server: Server) -> AsyncIterator[SessiondSessionService]:
    async with SessiondSessionService(server.url, concurrency="lease") as service:
        yield service


@pytest.fixture
async def hasty(server: Server) -> AsyncIterator[SessiondSessionService]:
    async with SessiondSessionService(server.url, concurrency="lease", lease_wait=0) as service:
        yield service


def said(invocation: str, **rest: Any) -> Event:
    return Event(author="host", invocation_id=invocation, **rest)


def lease(plain: httpx.Client, session: Session) -> str:
    return f"/apps/{session.app_name}/users/{session.user_id}/sessions/{session.id}/lease"


def holder(plain: httpx.Client, session: Session) -> str | None:
    found = plain.get(lease(plain, session)).raise_for_status().json()
    owner: str | None = found.get("owner")
    return owner


async def free(plain: httpx.Client, session: Session) -> None:
    """Waits until nobody holds the lease."""
    for _ in range(1000):
        if holder(plain, session) is None:
            return
        await asyncio.sleep(0.01)
    raise AssertionError("somebody holds the lease")


async def nothing_kept(service: SessiondSessionService) -> None:
    leases = service._leases
    assert leases is not None
    for _ in range(1000):
        if not leases._turns and not leases._releases:
            return
        await asyncio.sleep(0.01)
    raise AssertionError(f"{leases._turns} are kept")


async def begun(task: "asyncio.Task[Any]") -> None:
    """Gives a task the time to come to where it waits."""
    await asyncio.sleep(0.3)
    assert not task.done()


async def test_a_turn_waits_for_the_one_before(
    one: SessiondSessionService, two: SessiondSessionService, app: str, plain: httpx.Client
) -> None:
    session = await one.create_session(app_name=app, user_id="u", state={"k": 0})
    loaded = await get(two, session)
    loaded.state["temp:t"] = 1

    async def other() -> None:
        await two.append_event(loaded, said("i2"))
        await two.append_event(loaded, said("i2"))

    await asyncio.create_task(one.append_event(session, said("i0")))
    # The task that ran it has ended, so its turn has, too.
    await free(plain, session)
    await one.append_event(session, said("i1", actions={"state_delta": {"k": 1, "app:a": 1}}))
    assert holder(plain, session) == process_name()
    second = asyncio.create_task(other())
    await begun(second)
    await one.append_event(session, said("i1", actions={"state_delta": {"user:u": 1}}))
    await begun(second)
    await one.flush()
    await asyncio.wait_for(second, 60)

    stored = await get(one, session)
    assert [event.invocation_id for event in stored.events] == ["i0", "i1", "i1", "i2", "i2"]
    # It knows what the turn before it did, so that it is not stale, and temporary state stays.
    assert loaded.events == stored.events
    assert loaded.state == {"k": 1, "app:a": 1, "user:u": 1, "temp:t": 1}


@pytest.mark.parametrize("kind", [SequentialAgent, ParallelAgent, Workflow])
async def test_turns_of_several_agents_do_not_interleave(
    one: SessiondSessionService, two: SessiondSessionService, app: str, kind: Any
) -> None:
    async def slow(tool_context: ToolContext) -> dict[str, Any]:
        await asyncio.sleep(0.05)
        return {"count": await ops.increment(tool_context, "count")}

    def agents() -> Any:
        many = [agent(f"a{n}", call("slow"), f"answer {n}", tools=[slow]) for n in range(3)]
        return Workflow(name="many", edges=[(START, *many)]) if kind is Workflow else kind(name="many", sub_agents=many)

    session = await one.create_session(app_name=app, user_id="u", session_id="s")
    talks = [Talk(service, app, agents()) for service in (one, two, one, two)]
    # Each in a task of its own, as a server runs them.
    await asyncio.wait_for(asyncio.gather(*(talk.say(f"question {n}") for n, talk in enumerate(talks))), 120)
    stored = await get(one, session)
    turns = [
        (name, len(list(turn))) for name, turn in itertools.groupby(event.invocation_id for event in stored.events)
    ]
    # What the user says, and of each agent a call, the operator, its result and an answer.
    assert [length for _, length in turns] == [13] * 4
    assert stored.state["count"] == 12


async def test_a_session_that_is_busy_is_an_error_if_asked_for(
    one: SessiondSessionService, hasty: SessiondSessionService, app: str, plain: httpx.Client
) -> None:
    session = await one.create_session(app_name=app, user_id="u", session_id="s")
    await one.append_event(session, said("i1"))
    talk = Talk(hasty, app, agent("host", "Hello."))
    # ADK's own error for a write that lost.
    assert issubclass(SessionBusyError, StaleSessionError)
    with pytest.raises(SessionBusyError, match="Another turn has the session") as busy:
        await asyncio.create_task(talk.say("Hi"))
    assert busy.value.owner == process_name()
    assert busy.value.expire_time is not None
    assert busy.value.expire_time == plain.get(lease(plain, session)).json()["expireTime"]
    assert (busy.value.status, busy.value.code, busy.value.outcome) == (409, "lease_held", "not_applied")
    assert len((await get(one, session)).events) == 1

    await one.close()
    assert len(await asyncio.create_task(talk.say("Hi"))) == 1
    await free(plain, session)


async def test_who_was_superseded_learns_it_and_stores_nothing_more(
    one: SessiondSessionService, two: SessiondSessionService, app: str, plain: httpx.Client
) -> None:
    session = await one.create_session(app_name=app, user_id="u")
    await one.append_event(session, said("i1"))
    stolen = plain.post(lease(plain, session), json={"owner": "thief", "steal": True}).raise_for_status().json()
    event = said("i1", actions={"state_delta": {"k": 1}})
    for _ in range(2):
        with pytest.raises(StaleSessionError, match="i1 was superseded") as stale:
            await one.append_event(session, event)
        cause = stale.value.__cause__
        assert isinstance(cause, SessiondError)
        assert (cause.status, cause.code, cause.outcome) == (409, "fenced", "not_applied")
    with pytest.raises(StaleSessionError):
        await one.apply_ops(session, [{"op": "increment", "key": "k"}], invocation_id="i1")
    assert (len(session.events), session.state) == (1, {})
    assert await get(one, session) == session
    # Its end is not the thief's.
    await one.flush()
    assert holder(plain, session) == "thief"

    plain.delete(lease(plain, session), params={"epoch": stolen["epoch"]}).raise_for_status()
    again = await get(one, session)
    await one.append_event(again, said("i1"))
    assert len((await get(one, session)).events) == 2


async def test_a_runner_is_told_that_its_turn_was_superseded(
    one: SessiondSessionService, app: str, plain: httpx.Client
) -> None:
    session = await one.create_session(app_name=app, user_id="u", session_id="s")

    def steal() -> str:
        plain.post(lease(plain, session), json={"owner": "thief", "steal": True}).raise_for_status()
        return "stolen"

    talk = Talk(one, app, agent("host", call("steal"), "Hello.", tools=[steal]))
    with pytest.raises(StaleSessionError):
        await talk.say("Hi")
    # What the user said, and the call.
    assert len((await get(one, session)).events) == 2


async def test_the_server_is_asked_to_hold_its_answer_back() -> None:
    held = json.dumps({"code": "lease_held", "owner": "other", "expireTime": 1.5, "outcome": "not_applied"})
    granted = json.dumps({"epoch": 7, "incarnation": "ab", "expireTime": 2.5, "revision": 0})
    stored = json.dumps({"sequence": 1, "actions": {}})
    script = (f"409\n{held}", f"409\n{held}", f"201\n{granted}", f"201\n{stored}", "204\n")
    async with answering(*script) as server:
        async with SessiondSessionService(server.url, concurrency="lease", lease_wait=100, lease_ttl=5) as service:
            session = Session(app_name="a", user_id="u", id="s")
            await service.append_event(session, said("i1"))
    path = "/v1/apps/a/users/u/sessions/s"
    assert [request.partition(" HTTP")[0] for request in server.requests] == [
        f"POST {path}/lease",
        f"POST {path}/lease?wait=30",
        f"POST {path}/lease?wait=30",
        f"POST {path}/events?answer=minimal",
        f"DELETE {path}/lease?epoch=7&incarnation=ab",
    ]
    bodies = [json.loads(request.partition("\r\n\r\n")[2]) for request in server.requests[:3]]
    assert bodies == [{"owner": process_name(), "invocationId": "i1", "ttl": 5}] * 3
    assert "sessiond-lease: 7-ab" in server.requests[3].lower().splitlines()


async def test_the_wait_has_an_end(server: Server, one: SessiondSessionService, app: str) -> None:
    session = await one.create_session(app_name=app, user_id="u")
    await one.append_event(session, said("i1"))
    async with SessiondSessionService(server.url, concurrency="lease", lease_wait=0.5) as other:
        with pytest.raises(SessionBusyError):
            await asyncio.create_task(other.append_event(await get(other, session), said("i2")))


@pytest.mark.parametrize("root", ["single", "several", "workflow", "left"])
async def test_the_end_of_a_run_ends_its_turn(
    one: SessiondSessionService, app: str, plain: httpx.Client, root: str
) -> None:
    session = await one.create_session(app_name=app, user_id="u", session_id="s")
    made: Any = agent("host", "Hello.")
    if root == "several":
        made = SequentialAgent(name="several", sub_agents=[made, agent("last", "Bye.")])
    elif root == "workflow":
        made = Workflow(name="several", edges=[(START, made, agent("last", "Bye."))])
    talk = Talk(one, app, made)
    run = talk.runner.run_async(user_id="u", session_id="s", new_message=types.UserContent("Hi"))
    async for _ in run:
        assert holder(plain, session) == process_name()
        if root == "left":
            break
    await run.aclose()
    # Some agents of ADK leave cycles.
    gc.collect()
    await free(plain, session)
    await nothing_kept(one)


@pytest.mark.parametrize("how", ["done", "failed", "cancelled"])
async def test_the_end_of_its_task_ends_a_turn(
    one: SessiondSessionService, app: str, plain: httpx.Client, how: str
) -> None:
    session = await one.create_session(app_name=app, user_id="u")

    taken = asyncio.Event()

    async def turn() -> None:
        await one.append_event(session, said("i1"))
        taken.set()
        if how == "failed":
            raise ZeroDivisionError
        if how == "cancelled":
            await asyncio.sleep(60)

    task = asyncio.create_task(turn())
    await taken.wait()
    if how == "cancelled":
        task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    await free(plain, session)
    # Who goes on nevertheless is superseded by the next turn, and does not write into it.
    await one.append_event(session, said("i1"))
    loaded = await get(one, session)
    await one.append_event(loaded, said("i2"))
    with pytest.raises(StaleSessionError):
        await one.append_event(session, said("i1"))
    assert len((await get(one, session)).events) == 3


async def test_a_task_that_goes_on_begins_a_turn_after_the_other(
    hasty: SessiondSessionService, app: str, plain: httpx.Client
) -> None:
    session = await hasty.create_session(app_name=app, user_id="u", session_id="s")
    flow = Workflow(name="flow", edges=[(START, agent("host", "Hello.", "Hello."), agent("last", "Bye.", "Bye."))])
    talk = Talk(hasty, app, flow)
    gc.disable()
    try:
        # Whatever is left of the first one in memory.
        for _ in range(2):
            await talk.say("Hi")
    finally:
        gc.enable()
    # With one session object, too.
    loaded = await get(hasty, session)
    for turn in ("i1", "i2"):
        await hasty.append_event(loaded, said(turn))
    assert plain.get(lease(plain, session)).json()["epoch"] == 4
    del loaded
    gc.collect()
    await nothing_kept(hasty)


def test_turns_of_loops_that_ended_do_not_stay(server: Server, app: str, plain: httpx.Client) -> None:
    service = SessiondSessionService(server.url, concurrency="lease", lease_wait=0)
    talk = Talk(service, app, agent("host", "one", "two", "three"))
    for _ in range(3):
        run = talk.runner.run(user_id="u", session_id="s", new_message=types.UserContent("Hi"))
        assert len(list(run)) == 1

    async def end() -> None:
        await service.close()
        await free(plain, await talk.session())

    asyncio.run(end())


async def test_one_invocation_is_one_turn_in_one_process(
    hasty: SessiondSessionService, app: str, plain: httpx.Client
) -> None:
    session = await hasty.create_session(app_name=app, user_id="u")
    await hasty.append_event(session, said("i1"))
    # Two requests that resume the same invocation.
    with pytest.raises(SessionBusyError):
        await asyncio.create_task(hasty.append_event(await get(hasty, session), said("i1")))


async def test_what_is_no_turn_takes_no_lease(
    service: SessiondSessionService, one: SessiondSessionService, app: str, plain: httpx.Client
) -> None:
    session = await service.create_session(app_name=app, user_id="u")
    await service.append_event(session, said("i1"))
    await one.append_event(await get(one, session), said(""))
    assert plain.get(lease(plain, session)).json()["epoch"] == 0
    # Such writers may do so within the turn of another one, unless it excludes them.
    asked = {"owner": "me", "exclusive": "turn"}
    plain.post(lease(plain, session), json=asked).raise_for_status()
    await service.append_event(await get(service, session), said("i2"))
    plain.post(lease(plain, session), json=asked | {"exclusive": "all"}).raise_for_status()
    with pytest.raises(SessionBusyError) as busy:
        await service.append_event(await get(service, session), said("i3"))
    assert busy.value.owner == "me"


async def test_a_session_that_is_gone_has_no_lease(one: SessiondSessionService, app: str) -> None:
    session = await one.create_session(app_name=app, user_id="u")
    await one.delete_session(app_name=app, user_id="u", session_id=session.id)
    with pytest.raises(SessionNotFoundError):
        await one.append_event(session, said("i1"))
    anew = await one.create_session(app_name=app, user_id="u")
    await one.append_event(anew, said("i1"))
    await one.delete_session(app_name=app, user_id="u", session_id=anew.id)
    await one.flush()


def test_other_words_are_refused() -> None:
    with pytest.raises(ValueError, match="concurrency"):
        SessiondSessionService("http://h", concurrency="maybe")  # type: ignore[arg-type]
