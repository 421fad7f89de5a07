"""The latest checkpoint in one request: its event, and all that was written for it, are among the last events."""

from typing import Any

import pytest
from langgraph.checkpoint.memory import InMemorySaver

from sessiond import AsyncClient, Event
from sessiond._langgraph import CHECKPOINT, WRITES, found_in, group, hashed
from sessiond.langgraph import SessiondSaver

from ..support.process import Server
from ..support.wire import Wire
from .puts import checkpoint_at, child, config, put


def event(author: str, sequence: int, event_id: str = "", **said: Any) -> Event:
    said = {
        "ns": "",
        "id": "c",
        "parent": "p",
        "task": "t",
        "path": "",
        "writes": [[0, "x", {"json": sequence}]],
        **said,
    }
    metadata = {"langgraph": said}
    return Event(id=event_id, author=author, sequence=sequence, invocationId=group("", "c"), customMetadata=metadata)


NEXT, WHOLE = hashed("", "c", "next"), hashed("", "c")


@pytest.mark.parametrize(
    ("last", "base", "is_whole"),
    [
        ([event(CHECKPOINT, 8, NEXT, since=7)], 0, True),
        ([event(CHECKPOINT, 8, NEXT, since=6)], 0, False),
        ([event(WRITES, 7), event(CHECKPOINT, 8, NEXT, since=6)], 0, True),
        ([event(WRITES, 7), event(WRITES, 8)], 0, False),
        # What was before is gone.
        ([event(CHECKPOINT, 8, NEXT, since=3)], 7, True),
        # A number that is of another log.
        ([event(CHECKPOINT, 8, NEXT, since=9)], 0, False),
        ([event(CHECKPOINT, 1, NEXT, since=9)], 0, True),
        # This may have replaced one.
        ([event(CHECKPOINT, 8, WHOLE, since=7)], 0, False),
        ([event(CHECKPOINT, 8, WHOLE, since=7, parent=None)], 0, True),
        ([event(CHECKPOINT, 8, "drawn", since=7, parent=None)], 0, False),
        ([event(WRITES, 1), event(CHECKPOINT, 2, "drawn", since=1)], 0, True),
        ([], 0, False),
    ],
)
def test_whether_the_last_events_have_all(last: list[Event], base: int, is_whole: bool) -> None:
    found = found_in(last, base, "", "c")
    assert (found is not None) == is_whole
    if found:
        assert [entry["json"] for _, _, entry in found.writes] == [
            event.sequence for event in last if event.author == WRITES
        ]


async def test_one_request(saver: SessiondSaver, thread: str, server: Server, app: str, wire: Wire) -> None:
    at = await put(saver, config(thread), {"x": 0, "y": 0})
    for step in range(1, 12):
        at = await put(saver, at, {"x": step}, parent=await checkpoint_at(saver, at))
        async with SessiondSaver(server.url, app=app) as other:
            wire.begin()
            assert await checkpoint_at(other, config(thread)) == await checkpoint_at(saver, config(thread))
            assert wire.spent[0] == 2
    # As many as this process has stored, it reads; another one finds that there are more, and reads those.
    for task in range(6):
        await saver.aput_writes(at, [("x", task)], f"task {task}")
    async with SessiondSaver(server.url, app=app) as other:
        for reader, requests in ((saver, 1), (other, 2), (other, 1)):
            wire.begin()
            found = await reader.aget_tuple(config(thread))
            assert wire.spent[0] == requests
            assert found and found.pending_writes == [(f"task {n}", "x", n) for n in range(6)]


def test_one_request_of_the_synchronous_saver(server: Server, app: str, thread: str, wire: Wire) -> None:
    with SessiondSaver(server.url, app=app) as saver:
        at = config(thread)
        before: Any = None
        for step in range(5):
            checkpoint, new = child(saver, before, {"x": step, "large": "m" * 5000} if step == 0 else {"x": step})
            at, before = saver.put(at, checkpoint, {}, new), checkpoint
        wire.begin()
        found = saver.get_tuple(config(thread))
        assert found and found.checkpoint["channel_values"] == {"x": 4, "large": "m" * 5000}
        assert wire.requests == 1
        assert saver.get_tuple(config(f"{thread} none")) is None


async def test_what_was_written_long_before(saver: SessiondSaver, thread: str, server: Server, app: str) -> None:
    first = await put(saver, config(thread), {"x": 1})
    checkpoint, new = child(saver, await checkpoint_at(saver, first), {"x": 2})
    at = config(thread, id=checkpoint["id"])
    await saver.aput_writes(at, [("x", 3)], "task")
    for task in range(20):
        await saver.aput_writes(first, [("x", 0)], f"task {task}")
    await saver.aput(first, checkpoint, {}, new)
    async with SessiondSaver(server.url, app=app) as other:
        for reader in (saver, other, other):
            found = await reader.aget_tuple(config(thread))
            assert found and found.pending_writes == [("task", "x", 3)]


async def test_what_was_written_for_one_that_was_replaced(
    saver: SessiondSaver, thread: str, server: Server, app: str
) -> None:
    model = InMemorySaver()
    for aside in (False, True):
        where = config(f"{thread} {aside}")
        first = await put(saver, where, {"x": 1})
        parent = await checkpoint_at(saver, first)
        checkpoint, new = child(saver, parent, {"x": 2})
        if aside:
            await put(saver, first, {"x": 7}, parent=parent)
        for _ in range(2):
            at = await saver.aput(first, checkpoint, {}, new)
            model.put(first, checkpoint, {}, new)
            for task in range(5):
                await saver.aput_writes(at, [("x", task)], f"task {task}")
                model.put_writes(at, [("x", task)], f"task {task}")
        await saver.aput(first, checkpoint, {"step": 2}, new)
        async with SessiondSaver(server.url, app=app) as other:
            for reader in (saver, other, other):
                found, expected = await reader.aget_tuple(where), model.get_tuple(where)
                assert found and expected and found.pending_writes == expected.pending_writes
                assert len(found.pending_writes or ()) == 5


async def test_what_is_of_others(saver: SessiondSaver, thread: str, server: Server, app: str, wire: Wire) -> None:
    at = await put(saver, config(thread), {"x": 1, "y": 1})
    async with AsyncClient(server.url) as client:
        session = client.session(app, "langgraph", thread)
        await session.append(author="a", delta={"app:k": "m" * 300_000})
        at = await put(saver, at, {"x": 2}, parent=await checkpoint_at(saver, at))
        assert (await checkpoint_at(saver, config(thread)))["channel_values"] == {"x": 2, "y": 1}
        # It has seen that there is much.
        wire.begin()
        assert (await checkpoint_at(saver, config(thread)))["channel_values"] == {"x": 2, "y": 1}
        requests, size = wire.spent
        assert requests == 2 and size < 8192
        # And looks again, much later.
        await session.remove("app:k")
        await session.append([{"author": "a"} for _ in range(150)])
        await put(saver, at, {"x": 3}, parent=await checkpoint_at(saver, at))
        wire.begin()
        assert (await checkpoint_at(saver, config(thread)))["channel_values"] == {"x": 3, "y": 1}
        assert wire.spent[0] == 1


async def test_a_log_without_its_beginning(saver: SessiondSaver, thread: str, server: Server, app: str) -> None:
    at = await put(saver, config(thread), {"x": 1, "y": 1})
    await saver.aput_writes(at, [("x", 7)], "task")
    at = await put(saver, at, {"x": 2}, parent=await checkpoint_at(saver, at))
    await saver.aput_writes(at, [("x", 8)], "task")
    await saver.aprune([thread])
    async with SessiondSaver(server.url, app=app) as other:
        found = await other.aget_tuple(config(thread))
        assert found and found.checkpoint["channel_values"] == {"x": 2, "y": 1}
        assert found.pending_writes == [("task", "x", 8)]
