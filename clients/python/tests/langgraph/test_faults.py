"""Answers that get lost, processes that share a thread, and processes that die."""

import os
import random
from pathlib import Path
from typing import Any, TypedDict

import pytest
from langgraph.checkpoint.base import CheckpointTuple
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import StateGraph

from sessiond.langgraph import SessiondSaver

from ..support.process import Server
from ..support.wire import Wire, forked
from .puts import child, config, put

pytestmark = pytest.mark.both_databases


def shown(found: CheckpointTuple | None) -> Any:
    return found and (
        found.config["configurable"]["checkpoint_id"],
        found.checkpoint,
        found.metadata,
        found.parent_config,
        found.pending_writes,
    )


async def test_lost_answers_change_nothing(saver: SessiondSaver, thread: str, wire: Wire) -> None:
    """120 operations of which 30 % of the answers get lost, and the same in memory."""
    dice, model = random.Random(18), InMemorySaver()
    wire.loss = 0.3
    stored: list[Any] = []
    for step in range(120):
        ns = dice.choice(["", "", "child:1", "a/b"])
        of_ns = [each for each in stored if each["configurable"]["checkpoint_ns"] == ns]
        match (
            dice.choice(["put", "put", "put", "writes", "writes", "get", "latest", "list", "aside"]) if of_ns else "put"
        ):
            case "put" | "aside" as how:
                # As a rule after the latest one, else after any.
                at = (dice.choice(of_ns) if how == "aside" else of_ns[-1]) if of_ns else config(thread, ns)
                before = await model.aget_tuple(at)
                values = {name: [step, ("tuple", step)] for name in dice.sample(["x", "y", "z"], 2)}
                checkpoint = before.checkpoint if before else None
                stored.append(await put(Both(saver, model), at, values, parent=checkpoint, step=step))
            case "writes":
                at, task = dice.choice(of_ns), f"task {dice.randrange(3)}"
                writes = [("x", step), ("y", {"s": [step]}), ("__error__", f"e{step}")]
                await saver.aput_writes(at, writes, task, "~p")
                model.put_writes(at, writes, task, "~p")
            case "get":
                at = dice.choice(of_ns)
                assert shown(await saver.aget_tuple(at)) == shown(model.get_tuple(at))
            case "latest":
                latest = config(thread, ns)
                assert shown(await saver.aget_tuple(latest)) == shown(model.get_tuple(latest))
            case "list":
                limit, before = dice.choice([None, 3]), dice.choice([None, dice.choice(of_ns)])
                expected = [shown(each) for each in model.list(config(thread, ns), limit=limit, before=before)]
                found = saver.alist(config(thread, ns), limit=limit, before=before)
                assert [shown(each) async for each in found] == expected
    wire.loss = 0
    for at in stored:
        assert shown(await saver.aget_tuple(at)) == shown(model.get_tuple(at))


class Both:
    """Puts the same checkpoint into a saver, and then into the model."""

    def __init__(self, saver: SessiondSaver, model: InMemorySaver) -> None:
        self.saver, self.model = saver, model
        self.get_next_version = saver.get_next_version

    async def aput(self, *args: Any) -> Any:
        stored = await self.saver.aput(*args)
        self.model.put(*args)
        return stored


def test_processes_on_one_thread(server: Server, app: str, thread: str, tmp_path: Path) -> None:
    def work(number: int) -> None:
        name = "abcd"[number]
        with SessiondSaver(server.url, app=app) as saver:
            for step in range(10):
                found = saver.get_tuple(config(thread))
                log = found.checkpoint["channel_values"]["log"] if found else []
                changed = {"log": [*log, [name, step]], name: step}
                checkpoint, new = child(saver, found and found.checkpoint, changed)
                metadata: Any = {"step": step, "by": name}
                at = saver.put(found.config if found else config(thread), checkpoint, metadata, new)
                saver.put_writes(at, [("log", [name, step])], name)

    assert forked(tmp_path, work) == [None] * 4
    saver = SessiondSaver(server.url, app=app)
    found = {each.checkpoint["id"]: each for each in saver.list(config(thread))}
    assert len(found) == 40
    for each in found.values():
        # What a checkpoint has is what its parent has and what its writer has set, whoever wrote in between.
        values, (by, step) = each.checkpoint["channel_values"], (each.metadata["by"], each.metadata["step"])  # type: ignore[typeddict-item]
        parent = found[each.parent_config["configurable"]["checkpoint_id"]] if each.parent_config else None
        inherited = parent.checkpoint["channel_values"] if parent else {"log": []}
        assert values == {**inherited, "log": [*inherited["log"], [by, step]], by: step}
        assert each.pending_writes == [(by, "log", [by, step])]
        assert shown(saver.get_tuple(each.config)) == shown(each)


class Ran(TypedDict):
    ran: list[str]


def test_another_process_goes_on(server: Server, app: str, thread: str, tmp_path: Path) -> None:
    def run(dies: bool) -> Any:
        def first(state: Ran) -> Ran:
            return {"ran": [*state["ran"], "first"]}

        def second(state: Ran) -> Ran:
            if dies:
                os._exit(7)
            return {"ran": [*state["ran"], "second"]}

        builder = StateGraph(Ran)
        builder.add_sequence([first, second])
        builder.set_entry_point("first")
        with SessiondSaver(server.url, app=app) as saver:
            graph = builder.compile(checkpointer=saver)
            return graph.invoke({"ran": []} if dies else None, config(thread), durability="sync")

    assert forked(tmp_path, lambda _: run(True), 1) == [7]
    assert run(False)["ran"] == ["first", "second"]
