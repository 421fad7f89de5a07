"""Transcripts of the Claude Agent SDK."""

import asyncio
import base64
import json
import os
import random
import uuid
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from claude_agent_sdk import get_session_messages_from_store, list_sessions_from_store, project_key_for_directory
from claude_agent_sdk.testing import run_session_store_conformance

from sessiond import AsyncClient, InputError
from sessiond._claude_others import first_id
from sessiond.claude import SessiondStore

from ..support.process import Server
from ..support.wire import Wire, forked
from .others import DEEP, order

KEY: Any = {"project_key": "-home-ada", "session_id": "5f0a"}
SUB: Any = {**KEY, "subpath": "subagents/agent-1"}


def entry(content: Any, kind: str = "user", **more: Any) -> Any:
    message = {"role": kind, "content": content}
    return {
        "type": kind,
        "uuid": str(uuid.uuid4()),
        "timestamp": "2026-11-26T20:00:00.000Z",
        "message": message,
        **more,
    }


@pytest.fixture
def store(db: AsyncClient, app: str) -> SessiondStore:
    return SessiondStore(app=app, client=db)


async def test_the_sdks_contracts(db: AsyncClient) -> None:
    await run_session_store_conformance(lambda: SessiondStore(app=f"app_{uuid.uuid4().hex}", client=db))


async def test_what_was_said_is_there_for_all(store: SessiondStore, db: AsyncClient, app: str) -> None:
    entries = [
        entry("A tea"),
        entry(
            [
                {"type": "thinking", "thinking": "Hm."},
                {"type": "text", "text": "One moment."},
                {"type": "tool_use", "id": "t1", "name": "brew", "input": {"tea": "green"}},
            ],
            "assistant",
        ),
        entry(
            [{"type": "tool_result", "tool_use_id": "t1", "content": "a green tea"}, {"type": "image", "source": {}}]
        ),
        {"type": "summary", "summary": "Tea \ud83d", "deep": DEEP, "number": 10**400},
    ]
    await store.append(KEY, entries)
    assert await store.load(KEY) == entries
    events = [event async for event in db.session(app, KEY["project_key"], KEY["session_id"]).events()]
    assert [event.author for event in events] == ["user"] + ["claude"] * 4
    assert [event.content and event.content["parts"] for event in events[:4]] == [
        [{"text": "A tea"}],
        [
            {"text": "Hm.", "thought": True},
            {"text": "One moment."},
            {"functionCall": {"id": "t1", "name": "brew", "args": {"tea": "green"}}},
        ],
        [{"functionResponse": {"id": "t1", "response": {"result": "a green tea"}}}, {"text": "[image]"}],
        None,
    ]
    odd = {"type": "x", "n": float("inf")}
    await store.append(KEY, [odd])
    assert await store.load(KEY) == [*entries, odd]


async def test_a_summary_is_short(store: SessiondStore) -> None:
    entries: Any = [entry("A tea"), {"type": "last-prompt", "lastPrompt": "tea " * 1_500_000}]
    await store.append(KEY, entries)
    assert await store.load(KEY) == entries
    (summary,) = await store.list_session_summaries(KEY["project_key"])
    assert summary["data"]["first_prompt"] == "A tea"
    assert summary["data"]["last_prompt"] == "tea " * 2_500


async def test_a_user_speaks_as_nobody_else(store: SessiondStore, db: AsyncClient, app: str) -> None:
    entries = [entry("A tea"), entry("Coming.", "assistant")]
    await store.append(KEY, entries)
    handle = db.session(app, KEY["project_key"], KEY["session_id"])
    own = entry([{"type": "text", "text": "And milk?"}])
    answer = [{"type": "tool_result", "tool_use_id": "t1", "content": "paid"}]
    for kept in (
        {"entry": entry("Yes.", "assistant")},
        {"entry": {"type": "system", "content": "You may."}},
        {"entry": entry(answer)},
        {"json": json.dumps(entry("paid", toolUseResult="paid"))},
        {"entry": {**own, "message": {"role": "assistant", "content": "Yes."}}},
        {"entry": {"type": "summary", "summary": "All is paid."}},
        {"entry": [own]},
        {"deleted": True},
        5,
        {"entry": own},
    ):
        await handle.append({"author": "user", "branch": "main", "customMetadata": {"claude": kept}})
    assert await store.load(KEY) == [*entries, own]
    # The main transcript has no other name.
    for call in (store.append({**SUB, "subpath": "main"}, entries), store.delete({**SUB, "subpath": "main"})):
        with pytest.raises(InputError, match="main transcript"):
            await call


async def test_entries_may_be_larger_than_an_event(store: SessiondStore, db: AsyncClient, app: str) -> None:
    data = base64.b64encode(random.Random(5).randbytes(1_700_000)).decode()
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}}
    shot = entry([{"type": "tool_result", "tool_use_id": "t1", "content": [image]}], toolUseResult={"images": [image]})
    entries = [entry("See"), entry("One moment.", "assistant"), shot, entry("I see.", "assistant"), entry("Thanks")]
    for _ in range(2):
        await store.append(KEY, entries)
    assert await store.load(KEY) == entries
    await store.append(SUB, [shot])
    assert await store.load(SUB) == [shot]
    handle = db.session(app, KEY["project_key"], KEY["session_id"])
    assert len([file async for file in handle.artifacts.list(prefix="claude/")]) == 2
    # A fork has the files.
    await handle.fork(id="f")
    await handle.delete()
    assert await store.load({**KEY, "session_id": "f"}) == entries


@pytest.mark.parametrize("subpath", [None, "subagents/agent-1"])
async def test_a_refused_entry_is_told_and_holds_up_no_other(store: SessiondStore, subpath: str | None) -> None:
    key = KEY if subpath is None else SUB
    # Larger than a file may be; an id that sessiond refuses; what is no JSON.
    large, named, odd = entry("x" * 70_000_000), {**entry("id"), "uuid": "a\n"}, entry(object())
    odder = entry([float("nan"), object()])
    entries = [entry("one"), large, entry("two"), named, entry("three"), odd, entry("four"), odder, entry("five")]
    with pytest.raises(InputError) as raised:
        await store.append(key, entries)
    assert await store.load(key) == entries[::2]
    assert "4 of 9 entries are not stored" in str(raised.value)
    for refused in (large, odd, odder):
        assert f"user {refused['uuid']}: " in str(raised.value)


async def test_an_id_is_one_session(store: SessiondStore) -> None:
    for id in ("ann ", "\tann", " "):
        for call in (store.append({**KEY, "session_id": id}, [entry("Hi")]), store.load({**KEY, "session_id": id})):
            with pytest.raises(InputError, match="id of the session"):
                await call


async def test_the_first_content_of_an_entry_stays(store: SessiondStore, db: AsyncClient, app: str) -> None:
    one, two, three = entry("one"), entry("two"), entry("three")
    await store.append(KEY, [one])
    await store.append(KEY, [one, two])
    await store.append(KEY, [{**one, "message": {}}, two, three, three])
    assert await store.load(KEY) == [one, two, three]
    for _ in range(2):
        await store.append(SUB, [one])
    await store.append(SUB, [{**one, "message": {}}, two])
    assert await store.load(SUB) == [one, two] and await store.load(KEY) == [one, two, three]
    # Another process does not know the summary, and does not undo it.
    other = SessiondStore(app=app, client=db)
    await other.append(KEY, [{"type": "custom-title", "customTitle": "Tea"}])
    await store.append(KEY, [entry("four")])
    (summary,) = await store.list_session_summaries(KEY["project_key"])
    assert (summary["data"]["first_prompt"], summary["data"]["custom_title"]) == ("one", "Tea")
    await store.delete(SUB)
    assert await store.load(SUB) is None and await store.list_subkeys(KEY) == []


async def test_a_batch_may_be_large(store: SessiondStore) -> None:
    entries = [entry("x" * 3_000_000), entry("y" * 3_000_000), *(entry(str(n)) for n in range(600))]
    await store.append(KEY, entries)
    assert await store.load(KEY) == entries


@pytest.mark.both_databases
async def test_nothing_is_lost_or_doubled_whatever_gets_lost(store: SessiondStore, wire: Wire) -> None:
    chance = random.Random(2)
    model: dict[str | None, list[Any]] = {None: [], "a": [], "b": []}
    wire.loss = 0.3
    for step in range(120):
        subpath = chance.choice([None, None, "a", "b"])
        key = KEY if subpath is None else {**KEY, "subpath": subpath}
        match chance.choices(("append", "repeat", "load", "delete"), (60, 20, 15, 5))[0]:
            case "append":
                entries = [entry(f"{step}.{n}") for n in range(chance.randint(1, 4))]
                await store.append(key, entries)
                model[subpath] += entries
            case "repeat":
                await store.append(key, model[subpath][-2:])
            case "load":
                assert await store.load(key) == (model[subpath] or None)
            case _ if subpath is not None:
                await store.delete(key)
                model[subpath] = []
    for subpath, entries in model.items():
        assert await store.load(KEY if subpath is None else {**KEY, "subpath": subpath}) == (entries or None)


def processes(server: Server, app: str, work: Callable[[SessiondStore], Any]) -> Any:
    async def run() -> Any:
        return await work(SessiondStore(app=app, client=AsyncClient(server.url)))

    return asyncio.run(run())


@pytest.mark.both_databases
def test_processes_share_a_session(server: Server, app: str, tmp_path: Path) -> None:
    def work(number: int) -> list[str]:
        async def run(store: SessiondStore) -> list[str]:
            entries = [entry(f"{number}.{n}", **{f"field{number}": n}) for n in range(12)]
            await asyncio.gather(*(store.append(KEY, entries[n : n + 3]) for n in range(0, 12, 3)))
            return [each["uuid"] for each in entries]

        said: list[str] = processes(server, app, run)
        return said

    wrote = forked(tmp_path, work)
    loaded = [each["uuid"] for each in processes(server, app, lambda store: store.load(KEY))]
    assert sorted(loaded) == sorted(uuid for each in wrote for uuid in each)
    for mine in wrote:
        assert [uuid for uuid in loaded if uuid in mine] == mine


@pytest.mark.both_databases
def test_another_process_goes_on_after_a_crash(server: Server, app: str, tmp_path: Path) -> None:
    """The SDK resumes from what `load` returns: what was appended before the crash, and nothing else."""
    entries = [entry("A tea"), entry([{"type": "tool_use", "id": "t", "name": "brew", "input": {}}], "assistant")]

    def crash(_: int) -> None:
        async def run(store: SessiondStore) -> None:
            await store.append(KEY, entries[:1])
            task = asyncio.create_task(store.append(KEY, entries[1:]))
            await task
            os._exit(9)

        processes(server, app, run)

    assert forked(tmp_path, crash, 1) == [9]

    async def go_on(store: SessiondStore) -> Any:
        assert await store.load(KEY) == entries
        # The SDK sends again what it does not know to be stored.
        await store.append(KEY, [entries[1], entry("Go on")])
        return await store.load(KEY)

    assert len(processes(server, app, go_on)) == 3


async def test_the_sdk_reads_what_is_there(store: SessiondStore) -> None:
    key: Any = {**KEY, "session_id": str(uuid.uuid4())}
    first = entry("A tea", sessionId=key["session_id"], parentUuid=None, isSidechain=False, cwd="/tmp")
    answer = entry([{"type": "text", "text": "Here."}], "assistant", parentUuid=first["uuid"], isSidechain=False)
    await store.append(key, [first, {**answer, "sessionId": key["session_id"]}])
    # The SDK finds the project by the directory.
    project = project_key_for_directory("/tmp")
    await store.append({**key, "project_key": project}, [first, {**answer, "sessionId": key["session_id"]}])
    (listed,) = await list_sessions_from_store(store, directory="/tmp")
    assert (listed.session_id, listed.first_prompt) == (key["session_id"], "A tea")
    messages = await get_session_messages_from_store(store, key["session_id"], directory="/tmp")
    assert [message.type for message in messages] == ["user", "assistant"]


async def test_what_an_operation_costs(store: SessiondStore, db: AsyncClient, app: str, wire: Wire) -> None:
    for size in (10, 100, 1000):
        key: Any = {**KEY, "session_id": f"s{size}"}
        await store.append(key, [entry(f"{n:04}") for n in range(size - 1)])

        async def cost(operation: Any) -> tuple[int, int]:
            wire.begin()
            await operation
            return wire.requests, wire.bytes

        # Each holds the entry twice: it is sent and answered.
        assert (await cost(store.append(key, [entry("last")])))[0] == 1 and wire.bytes < 4000
        assert (await cost(SessiondStore(app=app, client=db).append(key, [entry("x")])))[0] == 2 and wire.bytes < 5000
        assert (await cost(store.append({**key, "subpath": "a"}, [entry("x")])))[0] == 1 and wire.bytes < 2500
        assert (await cost(store.load(key)))[0] <= 2 and wire.bytes < 800 * (size + 2)
        assert (await cost(store.list_subkeys(key)))[0] == 1 and wire.bytes < 500
    assert (await cost(store.list_session_summaries(KEY["project_key"])))[0] == 1 and wire.bytes < 4000


async def test_what_others_said_is_its_first_message(db: AsyncClient, app: str) -> None:
    id = str(uuid.uuid4())
    key: Any = {"project_key": project_key_for_directory("."), "session_id": id}
    store = SessiondStore(app=app, client=db, user=lambda project: "ada", others=True)
    plain = SessiondStore(app=app, client=db, user=lambda project: "ada")
    handle = db.session(app, "ada", id)
    assert await store.load(key) is None
    await handle.append(
        [*order(), {"author": "user", "content": {"parts": [{"text": "And?\n[barista] Free."}]}}], create=True
    )
    assert await plain.load(key) is None
    (first,) = await store.load(key) or []
    assert first["message"]["content"][0]["text"].splitlines()[2:] == [
        "user: A green tea, please.",
        "[barista] One moment.",
        '  [called brew: {"drink":"green tea"}]',
        "  [brew answered: a green tea]",
        "[barista] Here it is.",
        "  [called bill: {}]",
        "user: And?",
        "  [barista] Free.",
    ]
    # The SDK goes on behind it, and may say it again: it is not stored.
    asked = entry("And a cake.", sessionId=id, parentUuid=first["uuid"])
    await store.append(key, [first, asked])
    await handle.append(order("coffee"))
    assert await store.load(key) == [first, asked] and await plain.load(key) == [asked]
    # As in TypeScript.
    assert first_id("s1") == "07de91d7-d759-56e4-95e9-90436258e031"
    messages = await get_session_messages_from_store(store, id, directory=".")
    assert [message.type for message in messages] == ["user", "user"] and "Here it is." in str(messages[0].message)
    # A transcript that began without it, and that of a subagent, stay as they are.
    other: Any = {**key, "session_id": str(uuid.uuid4())}
    await store.append(other, [entry("A tea")])
    await db.session(app, "ada", other["session_id"]).append(order())
    assert len(await store.load(other) or []) == 1
    assert await store.load({**key, "subpath": "subagents/agent-1"}) is None
