"""What a thread looks like in sessiond, for whoever else reads it: clients/wire/langgraph.json.

`UPDATE_WIRE=1` writes the file anew.
"""

import base64
import json
import os
from pathlib import Path
from typing import Any

import httpx
import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.memory import InMemorySaver

from sessiond import AsyncClient
from sessiond.langgraph import SessiondSaver

from ..support.process import Server
from .puts import config

FILE = Path(__file__).resolve().parents[3] / "wire/langgraph.json"
IDS = [f"1f0ca000-0000-6000-8000-00000000000{n}" for n in range(1, 4)]
# What no two machines write alike.
DRAWN = ("sequence", "timestamp", "commitTime")


async def write(saver: SessiondSaver, thread: str) -> None:
    """Three checkpoints, of which the third comes after the first; one of a subgraph; and writes."""
    order = {"tea": "grün", "cups": 2, "price": 2.5, "hot": True, "note": None, "extras": ["milk"]}
    steps: list[tuple[int, int | None, str, dict[str, Any]]] = [
        (0, None, "", {"messages": [HumanMessage("A tea, please.", id="m1")], "order": order, "picture": b"\0\xff"}),
        (1, 0, "", {"messages": [HumanMessage("A tea, please.", id="m1"), AIMessage("Coming.", id="m2")]}),
        (2, 0, "", {"order": {**order, "cups": 1}}),
        (0, None, "barista:1", {"step": 7}),
    ]
    made: dict[tuple[str, int], Any] = {}
    for number, parent, ns, changed in steps:
        nothing: Any = {"channel_values": {}, "channel_versions": {}}
        before = made.get((ns, -1 if parent is None else parent), nothing)
        new = {name: f"{number + 1:032}.00000000" for name in changed}
        checkpoint: Any = {
            "v": 4,
            "id": IDS[number],
            "ts": "2026-11-26T12:00:00+00:00",
            "channel_values": {**before["channel_values"], **changed},
            "channel_versions": {**before["channel_versions"], **new},
            "versions_seen": {"serve": new},
            "updated_channels": sorted(changed),
        }
        made[ns, number] = checkpoint
        at = config(thread, ns, None if parent is None else IDS[parent])
        await saver.aput(at, checkpoint, {"source": "loop", "step": number, "parents": {}}, new)
        writes = [("order", {"cups": number}), ("__error__", "none left")]
        await saver.aput_writes(config(thread, ns, IDS[number]), writes, "task-1", "~__pregel_pull, serve")


def simple(value: Any) -> Any:
    """A value as JSON has it: a message by what it says, bytes in hex."""
    if isinstance(value, HumanMessage | AIMessage):
        return {"type": value.type, "id": value.id, "content": value.content}
    if isinstance(value, list | tuple):
        return [simple(each) for each in value]
    if isinstance(value, dict):
        return {name: simple(each) for name, each in value.items()}
    return {"hex": value.hex()} if isinstance(value, bytes) else value


def opened(value: Any) -> Any:
    """What was written, with values in the place of their bytes, which other versions of LangChain write otherwise."""
    if isinstance(value, dict) and value.keys() >= {"t", "b"}:
        kept = InMemorySaver().serde.loads_typed((value["t"], base64.b64decode(value["b"])))
        return {**value, "b": simple(kept)}
    if isinstance(value, dict):
        return {name: opened(each) for name, each in value.items()}
    return [opened(each) for each in value] if isinstance(value, list) else value


async def read(saver: SessiondSaver, thread: str) -> list[Any]:
    """What the saver says of the thread, of all namespaces, latest first."""
    return [
        {
            "config": {name: value for name, value in each.config["configurable"].items() if name != "thread_id"},
            "parent": each.parent_config and each.parent_config["configurable"]["checkpoint_id"],
            "versions": each.checkpoint["channel_versions"],
            "values": simple(each.checkpoint["channel_values"]),
            "metadata": each.metadata,
            "writes": simple(each.pending_writes),
        }
        async for each in saver.alist({"configurable": {"thread_id": thread}})
    ]


@pytest.mark.both_databases
async def test_it_is_written_as_the_file_says(server: Server, plain: httpx.Client, app: str) -> None:
    async with SessiondSaver(server.url, app=app, messages="messages") as saver:
        await write(saver, "t1")
        tuples = await read(saver, "t1")
    path = f"/apps/{app}/users/langgraph/sessions/t1"
    found = plain.get(f"{path}/events").json()["events"]
    events = [{name: value for name, value in event.items() if name not in DRAWN} for event in found]
    said = {"events": events, "state": plain.get(f"{path}/state").json(), "tuples": tuples}
    if os.environ.get("UPDATE_WIRE"):
        FILE.write_text(json.dumps(said, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    expected = json.loads(FILE.read_text(encoding="utf-8"))
    assert opened(said) == opened(expected)


async def test_the_file_is_read(server: Server, app: str) -> None:
    expected = json.loads(FILE.read_text(encoding="utf-8"))
    async with AsyncClient(server.url) as db, SessiondSaver(server.url, app=app) as saver:
        session = db.session(app, "langgraph", "t1")
        await session.append(expected["events"], create=True)
        assert await session.state() == expected["state"]
        assert await read(saver, "t1") == expected["tuples"]
