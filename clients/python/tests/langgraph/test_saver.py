"""What the suite of LangGraph does not ask."""

import asyncio
import itertools
import math
import operator
import subprocess
import sys
import uuid
from typing import Annotated, Any, TypedDict

import httpx
import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.types import Command, interrupt

from sessiond import AsyncClient, ConflictError, InputError
from sessiond.langgraph import SessiondSaver

from ..support.process import Server
from ..support.wire import Wire
from .puts import checkpoint_at, child, config, put


class State(TypedDict):
    messages: Annotated[list[Any], add_messages]
    total: Annotated[int, operator.add]


def graph(saver: BaseCheckpointSaver[Any]) -> Any:
    def ask(state: State) -> dict[str, Any]:
        return {"messages": [AIMessage(f"{interrupt('How many?')} it is.")], "total": 1}

    def serve(state: State) -> dict[str, Any]:
        return {"messages": [AIMessage("Here you are.")], "total": 10}

    builder = StateGraph(State)
    builder.add_sequence([ask, serve])
    builder.add_edge(START, "ask")
    builder.add_edge("serve", END)
    return builder.compile(checkpointer=saver)


def said(state: Any) -> list[str]:
    return [message.content for message in state.values["messages"]]


async def walk(saver: BaseCheckpointSaver[Any], thread: str, durability: str) -> list[Any]:
    run: Any = {"config": config(thread), "durability": durability}
    await graph(saver).ainvoke({"messages": [HumanMessage("Tea")], "total": 0}, **run)
    asked = (await graph(saver).aget_state(config(thread))).tasks[0].interrupts[0].value
    # The other kind of methods goes on with it.
    await asyncio.to_thread(graph(saver).invoke, Command(resume="Two"), **run)
    state = await graph(saver).aget_state(config(thread))
    past = [each async for each in graph(saver).aget_state_history(config(thread))]
    before = next(each for each in past if each.next == ("ask",))
    # Something else from there on makes a branch; what was there stays.
    forked = await graph(saver).aupdate_state(before.config, {"messages": [AIMessage("Three it is.")]}, as_node="ask")
    await graph(saver).ainvoke(None, forked, durability=durability)
    branch = said(await graph(saver).aget_state(config(thread)))
    return [
        asked,
        said(state),
        state.values["total"],
        state.next,
        branch,
        said(await graph(saver).aget_state(state.config)),
    ]


@pytest.mark.parametrize("durability", ["async", "sync", "exit"])
async def test_a_graph_goes_on_and_goes_back(saver: SessiondSaver, thread: str, durability: str) -> None:
    walked = await walk(saver, thread, durability)
    whole = ["Tea", "Two it is.", "Here you are."]
    assert walked[:4] == ["How many?", whole, 11, ()] and walked[5] == whole
    assert "Three it is." in walked[4]
    # Versions of LangGraph differ in what a branch begins with.
    assert walked == await walk(InMemorySaver(), thread, durability)


VALUES = {
    "plain": {"a": [1, 2.5, None, True, "ä\0\U0001f375"]},
    "types": [1, {2: {3}}, b"\xff"],
    "large": 2**70,
    "number": [math.inf, -0.0, 1e300, 5e-324],
    "half": "\ud800",
    "deep": [[[[[[[[[[]]]]]]]]]],
    "message": HumanMessage("Hello"),
    "comma,slash/": 1,
}


@pytest.mark.both_databases
async def test_values_come_back_as_they_were(saver: SessiondSaver, thread: str, plain: httpx.Client, app: str) -> None:
    for _ in range(45):
        VALUES["deep"] = [VALUES["deep"]]
    at = await put(saver, config(thread, "a/b%"), VALUES)
    await saver.aput_writes(at, [*VALUES.items()], "task")
    for ask in (at, config(thread, "a/b%")):
        found = await saver.aget_tuple(ask)
        assert found and repr(found.checkpoint["channel_values"]) == repr(VALUES)
        assert found.pending_writes and repr([each[1:] for each in found.pending_writes]) == repr([*VALUES.items()])
    assert await saver.aget_tuple(config(thread, "a")) is None
    state = plain.get(f"/apps/{app}/users/langgraph/sessions/{thread}/state").json()
    assert state["lg/a%2Fb%25/plain"]["json"] == VALUES["plain"]


class Cipher:
    """A serializer that lets nobody read."""

    def dumps_typed(self, obj: Any) -> tuple[str, bytes]:
        kind, data = InMemorySaver().serde.dumps_typed(obj)
        return f"{kind}+x", bytes(each ^ 255 for each in data)

    def loads_typed(self, data: tuple[str, bytes]) -> Any:
        return InMemorySaver().serde.loads_typed((data[0].removesuffix("+x"), bytes(each ^ 255 for each in data[1])))


async def test_a_serializer_that_encrypts_sees_all(server: Server, plain: httpx.Client, app: str, thread: str) -> None:
    async with SessiondSaver(server.url, app=app, serde=Cipher()) as saver:
        at = await put(saver, config(thread), {"channel": "secret", "messages": [AIMessage("secret")]}, secret="secret")
        await saver.aput_writes(at, [("channel", "secret")], "task")
        found = await saver.aget_tuple(at)
        assert found and found.checkpoint["channel_values"] == {"channel": "secret", "messages": [AIMessage("secret")]}
        assert [each async for each in saver.alist(config(thread), filter={"secret": "secret"})] == [found]
    assert "secret" not in plain.get(f"/apps/{app}/users/langgraph/sessions/{thread}").text.replace('"secret":{"t"', "")


@pytest.mark.both_databases
async def test_large_values_are_files(saver: SessiondSaver, thread: str, server: Server, app: str) -> None:
    one, two = "1" * (3 << 20), "2" * (3 << 20)
    at = await put(saver, config(thread), {"large": one, "small": 1})
    old = await checkpoint_at(saver, at)
    await saver.aput_writes(at, [("large", two)], "task")
    last = await put(saver, at, {"large": two, "other": two}, parent=old)
    await saver.acopy_thread(thread, f"{thread} copy")
    for name in (thread, f"{thread} copy"):
        values = [each.checkpoint["channel_values"] async for each in saver.alist(config(name))]
        assert values == [{"large": two, "small": 1, "other": two}, {"large": one, "small": 1}]
        found = await saver.aget_tuple(config(name, id=old["id"]))
        assert found and found.pending_writes == [("task", "large", two)]
    await saver.aprune([thread])
    assert (await checkpoint_at(saver, last))["channel_values"]["large"] == two
    async with AsyncClient(server.url) as db:
        assert len([each async for each in db.session(app, "langgraph", thread).artifacts]) == 2
    assert len([each async for each in saver.alist(config(thread))]) == 1
    with pytest.raises(ConflictError):
        await saver.acopy_thread(thread, f"{thread} copy")


async def test_writes_may_come_before_their_checkpoint(
    saver: SessiondSaver, thread: str, server: Server, app: str
) -> None:
    first = await put(saver, config(thread), {"x": 1})
    checkpoint, new = child(saver, await checkpoint_at(saver, first), {"x": 2})
    at = config(thread, id=checkpoint["id"])
    await saver.aput_writes(at, [("x", 3)], "task")
    assert await saver.aget_tuple(at) is None
    for _ in range(3):
        await saver.aput_writes(first, [("x", 0)], f"task {_}")
    await saver.aput(first, checkpoint, {}, new)
    async with SessiondSaver(server.url, app=app) as other:
        (found,) = [each async for each in other.alist(config(thread), limit=1)]
        assert found.pending_writes == [("task", "x", 3)]
        # Nor does a pruned log lack them.
        await other.aprune([thread])
        assert [each async for each in other.alist(config(thread))] == [found]


async def test_the_last_of_an_id_wins(saver: SessiondSaver, thread: str) -> None:
    first = await put(saver, config(thread), {"x": 0, "y": 0}, step=0)
    checkpoint, new = child(saver, await checkpoint_at(saver, first), {"x": 1})
    for step in (1, 2, 1):
        await saver.aput(first, checkpoint, {"step": step}, new)
        for ask in (config(thread), config(thread, id=checkpoint["id"])):
            found = await saver.aget_tuple(ask)
            assert found and found.metadata["step"] == step  # type: ignore[typeddict-item]
            assert found.checkpoint["channel_values"] == {"x": 1, "y": 0}
        assert [each.metadata["step"] async for each in saver.alist(config(thread), limit=9)] == [step, 0]


async def test_after_a_dropped_one(saver: SessiondSaver, thread: str) -> None:
    first = await put(saver, config(thread), {"x": 1, "y": 1}, run_id="a")
    kept = await checkpoint_at(saver, first)
    await put(saver, first, {"x": 2, "y": 2}, parent=kept, run_id="b")
    await saver.adelete_for_runs(["b"])
    found = await saver.aget_tuple(config(thread))
    assert found and found.checkpoint == kept
    await put(saver, first, {"x": 3}, parent=kept, run_id="c")
    assert (await checkpoint_at(saver, config(thread)))["channel_values"] == {"x": 3, "y": 1}
    await saver.adelete_for_runs(["a", "c"])
    assert await saver.aget_tuple(config(thread)) is None
    assert [each async for each in saver.alist(config(thread))] == []


async def test_delta_channels(saver: SessiondSaver, thread: str, wire: Wire) -> None:
    delta = pytest.importorskip("langgraph.channels.delta")

    def joined(was: list[str], writes: list[list[str]]) -> list[str]:
        return [*was, *itertools.chain(*writes)]

    class Log(TypedDict):
        log: Annotated[list[str], delta.DeltaChannel(joined, snapshot_frequency=7)]

    def built(saver: BaseCheckpointSaver[Any]) -> Any:
        builder = StateGraph(Log)
        builder.add_sequence([(f"n{n}", lambda state, n=n: {"log": [f"n{n}"]}) for n in range(4)])
        builder.add_edge(START, "n0")
        return builder.compile(checkpointer=saver)

    expected: list[str] = []
    for turn in range(4):
        await built(saver).ainvoke({"log": [f"turn {turn}"]}, config(thread), durability="sync")
        expected += [f"turn {turn}", "n0", "n1", "n2", "n3"]
        assert (await built(saver).aget_state(config(thread))).values["log"] == expected
    wire.begin()
    async for each in saver.alist(config(thread)):
        wire.begin()
        history: Any = await saver.aget_delta_channel_history(config=each.config, channels=["log"])
        assert wire.spent[0] <= 4
        base = await BaseCheckpointSaver.aget_delta_channel_history(saver, config=each.config, channels=["log"])
        assert repr(history) == repr(base)
    with pytest.raises(InputError, match="DeltaChannel"):
        await saver.aprune([thread])


async def test_messages_for_people(server: Server, plain: httpx.Client, app: str, thread: str) -> None:
    async with SessiondSaver(server.url, app=app, user="ada") as saver:
        await graph(saver).ainvoke({"messages": [HumanMessage("Tea")], "total": 0}, config(thread))
        await graph(saver).ainvoke(Command(resume="Two"), config(thread))
    events = plain.get(f"/apps/{app}/users/ada/sessions/{thread}/events").json()["events"]
    contents = [event["content"] for event in events if "content" in event]
    assert [(each["role"], each["parts"][0]["text"]) for each in contents] == [
        ("user", "Tea"),
        ("model", "Two it is."),
        ("model", "Here you are."),
    ]
    async with SessiondSaver(server.url, app=app, user="bob", messages=None) as saver:
        await graph(saver).ainvoke({"messages": [HumanMessage("Tea")], "total": 0}, config(thread))
    events = plain.get(f"/apps/{app}/users/bob/sessions/{thread}/events").json()["events"]
    assert events and not [event for event in events if "content" in event]


async def test_a_large_message_is_no_content(server: Server, plain: httpx.Client, app: str, thread: str) -> None:
    async with SessiondSaver(server.url, app=app, messages="messages") as saver:
        values = {name: name * 900_000 for name in "abcd"}
        at = config(thread)
        for length in (1_000_000, 1_100_000):
            at = await put(saver, at, {"messages": [HumanMessage("m" * length)], **values})
            assert (await checkpoint_at(saver, at))["channel_values"]["messages"][0].content == "m" * length
    path = f"/apps/{app}/users/langgraph/sessions/{thread}/events"
    assert ["content" in event for event in plain.get(path).json()["events"]] == [True, False]


async def test_each_user_has_threads(server: Server, app: str) -> None:
    def user(config: Any) -> str:
        name: str = config["configurable"]["thread_id"].partition(":")[0]
        return name

    async with SessiondSaver(server.url, app=app, user=user) as saver:
        for name in ("ada:1", "bob:1"):
            await put(saver, config(name), {"x": name}, run_id=name)
        assert {each.checkpoint["channel_values"]["x"] async for each in saver.alist(None)} == {"ada:1", "bob:1"}
        await saver.adelete_for_runs(["bob:1"])
        await saver.adelete_thread("ada:1")
        assert [each async for each in saver.alist(None)] == []


def test_without_langgraph_it_says_what_is_missing() -> None:
    blocked = "import sys; sys.modules['langgraph'] = None; import sessiond; import sessiond.langgraph"
    ran = subprocess.run([sys.executable, "-c", blocked], capture_output=True, encoding="utf-8", check=False)
    assert "install `sessiond-client[langgraph]`" in ran.stderr


@pytest.mark.parametrize("thread_id", ["ann ", " ann", "ann\u2003", None, True, 1.5, ["ann"]])
async def test_two_threads_are_not_one(saver: SessiondSaver, thread_id: Any) -> None:
    with pytest.raises(
        InputError, match=r"The id of the thread (is (empty|None|of type)|begins or ends with white space)"
    ):
        await put(saver, config(thread_id), {"x": 1})
    with pytest.raises(InputError):
        await saver.aget_tuple(config(thread_id))
    with pytest.raises(InputError):
        await saver.adelete_thread(thread_id)
    with pytest.raises(InputError):
        await saver.acopy_thread("ann", thread_id)
    with pytest.raises(InputError):
        saver.get_tuple(config(thread_id))


async def test_numbers_name_threads_as_with_langgraphs_own(saver: SessiondSaver) -> None:
    for thread_id in (7, uuid.uuid4()):
        await put(saver, config(thread_id), {"x": 1})  # type: ignore[arg-type]
        assert (await checkpoint_at(saver, config(str(thread_id))))["channel_values"] == {"x": 1}
