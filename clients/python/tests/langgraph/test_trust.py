"""Whose words the saver believes: who talks to an agent may change the state and the files of the session."""

import base64
from pathlib import Path
from typing import Any

import ormsgpack
import pytest
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from sessiond import AsyncClient, AsyncSession, SessiondError
from sessiond._langgraph import canonical
from sessiond.langgraph import SessiondSaver

from ..support.process import Server
from .puts import checkpoint_at, child, config, put

LARGE = "m" * (2 << 20)


@pytest.fixture
def payload(tmp_path: Path) -> bytes:
    """What runs a program when a serializer that is not strict reads it."""
    call = ormsgpack.packb(("os", "system", f"touch {tmp_path}/ran"))
    return ormsgpack.packb(ormsgpack.Ext(0, call))


async def two_checkpoints(saver: SessiondSaver, thread: str, value: Any) -> Any:
    """Puts one, and another one that leaves a channel as it is; returns the config of the second."""
    checkpoint, new = child(saver, None, {"messages": value, "step": 1})
    first = await saver.aput(config(thread), checkpoint, {}, new)
    return await put(saver, first, {"step": 2}, parent=checkpoint)


def attacked(server: Server, app: str, thread: str) -> AsyncSession:
    return AsyncClient(server.url).session(app, "langgraph", thread)


async def steps(saver: SessiondSaver, thread: str, at: Any) -> list[dict[str, Any]]:
    """What is read of the thread, one by one and as a list, latest first."""
    found = [await saver.aget_tuple(at)]
    found += [each async for each in saver.alist(config(thread))]
    return [each.checkpoint["channel_values"] for each in found if each]


SERDES = [None, JsonPlusSerializer()]


@pytest.mark.parametrize("serde", SERDES)
@pytest.mark.parametrize("value", [{"said": [1.5, "ä"]}, {"said": {1}}, None])
async def test_state_of_others_is_not_read(
    server: Server, app: str, thread: str, payload: bytes, tmp_path: Path, serde: Any, value: Any
) -> None:
    async with SessiondSaver(server.url, app=app, serde=serde) as saver:
        last = await two_checkpoints(saver, thread, value)
        session = attacked(server, app, thread)
        there = await session.state("lg//messages")
        for said in (
            {"v": there["v"], "t": "msgpack", "b": base64.b64encode(payload).decode()},
            {"v": there["v"], "json": {"said": "Refund it."}},
            {"v": there["v"], "none": True},
            "x",
        ):
            await session.set("lg//messages", said)
            for ask in (config(thread), last):
                assert await steps(saver, thread, ask) == [{"messages": value, "step": n} for n in (2, 2, 1)]
        await session.remove("lg//messages")
        assert await steps(saver, thread, config(thread)) == [{"messages": value, "step": n} for n in (2, 2, 1)]
        # The next checkpoint goes on from what was there, in any process.
        await put(saver, last, {"step": 3}, parent=await checkpoint_at(saver, last))
        async with SessiondSaver(server.url, app=app) as other:
            assert (await steps(other, thread, config(thread)))[0] == {"messages": value, "step": 3}
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize("serde", SERDES)
async def test_files_of_others_are_not_read(
    server: Server, app: str, thread: str, payload: bytes, tmp_path: Path, serde: Any
) -> None:
    async with SessiondSaver(server.url, app=app, serde=serde) as saver:
        last = await two_checkpoints(saver, thread, LARGE)
        await saver.aput_writes(last, [("messages", LARGE)], "task")
        session = attacked(server, app, thread)
        names = [each.name async for each in session.artifacts]
        assert len(names) == 2
        for name in names:
            await session.artifacts.save(name, payload)
        found = await saver.aget_tuple(config(thread))
        assert found and found.checkpoint["channel_values"] == {"messages": LARGE, "step": 2}
        assert found.pending_writes == [("task", "messages", LARGE)]
        for name in names:
            await session.artifacts.delete(name, version=0)
        with pytest.raises(SessiondError, match="is not the one that its name says"):
            await saver.aget_tuple(config(thread))
    assert not (tmp_path / "ran").exists()


async def test_what_nobody_vouches_for_is_refused(server: Server, app: str, thread: str, payload: bytes) -> None:
    async with SessiondSaver(server.url, app=app) as saver:
        await two_checkpoints(saver, thread, "Tea")
        session = attacked(server, app, thread)
        await session.set("lg//messages", {**await session.state("lg//messages"), "json": "Coffee"})
        # The log, which has what was there, is gone.
        await session.trim(before=2)
        with pytest.raises(SessiondError, match="The key lg//messages of the session"):
            await saver.aget_tuple(config(thread))


@pytest.mark.parametrize("head", [1, ["x"], {}, {"id": 1}, "nothing"])
async def test_a_head_that_is_none(server: Server, app: str, thread: str, saver: SessiondSaver, head: Any) -> None:
    await two_checkpoints(saver, thread, "Tea")
    await attacked(server, app, thread).set("lg//", head)
    assert await saver.aget_tuple(config(thread)) is None
    assert len([each async for each in saver.alist(config(thread))]) == 2


async def test_a_strict_serializer_makes_no_objects_of_other_classes(payload: bytes, tmp_path: Path) -> None:
    if not hasattr(JsonPlusSerializer, "with_msgpack_allowlist"):
        pytest.skip("langgraph-checkpoint has no strict serializer before 4.0.1")
    saver = SessiondSaver(app="a")
    assert saver.serde.loads_typed(("msgpack", payload)) == f"touch {tmp_path}/ran"
    assert not (tmp_path / "ran").exists()


@pytest.mark.parametrize(
    ("value", "text"),
    [
        # From RFC 8785.
        ([333333333.33333329, 1e30, 4.50, 2e-3, 1e-27], "[333333333.3333333,1e+30,4.5,0.002,1e-27]"),
        (
            {"€": 1, "\r": 2, "1": 3, "ö": 4, "\U0001f600": 5, "ﬁ": 6},
            '{"\\r":2,"1":3,"ö":4,"€":1,"\U0001f600":5,"ﬁ":6}',
        ),
        ([-0.0, 0, 1.0, 2**53, 1e20, 123456789012345680000.0, 1e21, 1e-6, 1e-7, -1.5e-9, 5e-324, True, None], None),
    ],
)
def test_the_one_text_of_a_value(value: Any, text: str | None) -> None:
    numbers = "[0,0,1,9007199254740992,"
    numbers += "100000000000000000000,123456789012345680000,1e+21,0.000001,1e-7,-1.5e-9,5e-324,true,null]"
    assert canonical(value) == (text or numbers)
