"""Following a session."""

import asyncio
from contextlib import aclosing
from typing import Any

import pytest

from sessiond import (
    AsyncSession,
    CaughtUp,
    Deleted,
    Event,
    GoneError,
    MetadataChange,
    Redacted,
    StateChange,
    Trimmed,
    WatchItem,
    _times,
)

from ..support.proxy import Proxy


async def until(items: Any, kind: type[WatchItem]) -> list[WatchItem]:
    """What comes, to the first of this kind."""
    seen: list[WatchItem] = []
    while not (seen and isinstance(seen[-1], kind)):
        seen.append(await asyncio.wait_for(anext(items), 60))
    return seen


async def test_all_that_happens_is_yielded(s: AsyncSession) -> None:
    await s.create(state={"k": 1}, labels={"a": "b"})
    await s.append(author="user", delta={"k": 2})
    async with aclosing(s.watch(include_state=True)) as items:
        event, *rest, caught = await until(items, CaughtUp)
        assert isinstance(event, Event) and (event.sequence, event.delta) == (1, {"k": 2})
        assert isinstance(caught, CaughtUp) and (caught.revision, caught.cursor) == (1, event.cursor)
        (state,) = [item.state for item in rest if isinstance(item, StateChange)]
        (labels,) = [item.labels for item in rest if isinstance(item, MetadataChange)]
        assert (state, labels) == ({"k": 2}, {"a": "b"})
        said = await s.append(author="user", delta={"app:x": 1})
        changed = await until(items, StateChange)
        assert isinstance(changed[-1], StateChange) and (changed[0], changed[-1].set) == (said, {"app:x": 1})
        await s.redact(said.id)
        (redacted,) = await until(items, Redacted)
        assert isinstance(redacted, Redacted) and redacted.event.sequence == 2 and redacted.event.redacted
        # What a watch shows does not make the handle see it.
        assert s.revision == 2
        await s.set_metadata(display_name="Tea")
        renamed = (await until(items, MetadataChange))[-1]
        assert isinstance(renamed, MetadataChange) and renamed.display_name == "Tea"
        await s.delete()
        gone = (await until(items, Deleted))[-1]
        assert isinstance(gone, Deleted) and gone.reason == "deleted"
        with pytest.raises(StopAsyncIteration):
            await anext(items)


async def test_a_watch_goes_on_behind_a_cursor(s: AsyncSession) -> None:
    await s.create()
    await s.append([{"author": "a"}, {"author": "b"}, {"author": "c"}])
    async with aclosing(s.watch()) as items:
        cursor = (await until(items, Event))[-1].cursor
    for after, expected in ((None, [1, 2, 3]), (cursor, [2, 3]), (2, [3]), ("now", [])):
        async with aclosing(s.watch(after=after)) as items:
            seen = await until(items, CaughtUp)
            assert [item.sequence for item in seen if isinstance(item, Event)] == expected
    with pytest.raises(GoneError) as gone:
        await anext(aiter(s.watch(after=9)))
    assert (gone.value.code, gone.value.revision, gone.value.base_revision) == ("position_gone", 3, 0)
    await s.trim(before=3)
    async with aclosing(s.watch()) as items:
        trimmed, *_ = await until(items, CaughtUp)
        assert isinstance(trimmed, Trimmed) and trimmed.base_revision == 2


@pytest.mark.both_databases
async def test_connections_that_break_lose_and_double_nothing(
    far: AsyncSession, s: AsyncSession, network: Proxy, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_times, "FIRST_WAIT", 0.01)
    await s.create()
    await s.append([{"author": "a"} for _ in range(20)])
    network.cut_after = lambda: 1500
    seen: list[int] = []
    async with aclosing(far.watch()) as items:
        async for item in items:
            if isinstance(item, Event):
                seen.append(item.sequence)
                if len(seen) == 20:
                    await s.append(author="b")
                if len(seen) == 21:
                    break
    assert seen == list(range(1, 22)) and network.connections > 2
