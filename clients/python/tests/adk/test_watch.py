"""Following a session: each event once and in order, whatever breaks."""

import asyncio
import json
import random
from collections.abc import AsyncGenerator
from contextlib import aclosing
from typing import Any

import httpx
import pytest
from google.adk.events.event import Event
from google.adk.sessions.session import Session

from sessiond import _times
from sessiond._async import io
from sessiond._async import watch as watching
from sessiond_adk import (
    CaughtUp,
    Deleted,
    EventItem,
    MetadataChange,
    PositionGoneError,
    SessiondSessionService,
    StateChange,
    WatchItem,
)

from ..support.process import Server
from ..support.proxy import scripted, stream
from .test_service import event, get

Watch = AsyncGenerator[WatchItem, None]


def watch(service: SessiondSessionService, session: Session, **rest: Any) -> Watch:
    return service.watch(app_name=session.app_name, user_id=session.user_id, session_id=session.id, **rest)


async def until(items: Watch, kind: type) -> list[WatchItem]:
    """The items up to the first of a kind."""
    found: list[WatchItem] = []
    while not found or not isinstance(found[-1], kind):
        found.append(await asyncio.wait_for(anext(items), 60))
    return found


async def events(items: Watch, count: int) -> list[EventItem]:
    """The next events, whatever else comes between."""
    return [item for _ in range(count) if isinstance(item := (await until(items, EventItem))[-1], EventItem)]


async def appended(service: SessiondSessionService, session: Session, count: int) -> list[Event]:
    return [await service.append_event(session, event({"n": n, "text": "日本 😀"})) for n in range(count)]


@pytest.fixture
def pauses(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The pauses of a watch, which are not waited for; those by chance are as long as they can be."""
    paused: list[float] = []

    async def sleep(seconds: float) -> None:
        paused.append(round(seconds, 3))
        await asyncio.sleep(0)

    class Chance:
        @staticmethod
        def uniform(low: float, high: float) -> float:
            assert low == 0.0
            return high

    monkeypatch.setattr(io, "sleep", sleep)
    monkeypatch.setattr(watching, "random", Chance)
    return paused


async def test_what_is_there_is_yielded_and_then_what_comes(
    server: Server, service: SessiondSessionService, plain: httpx.Client, app: str
) -> None:
    session = await service.create_session(app_name=app, user_id="u", state={"app:a": 1, "k": [1]})
    before = await appended(service, session, 3)
    async with aclosing(watch(service, session, include_state=True)) as items:
        found = await until(items, CaughtUp)
        assert [item.event for item in found if isinstance(item, EventItem)] == before
        assert [item.sequence for item in found if isinstance(item, EventItem)] == [1, 2, 3]
        (metadata,) = (item for item in found if isinstance(item, MetadataChange))
        assert (metadata.display_name, metadata.labels, metadata.expire_time) == (None, {}, None)
        (state,) = (item for item in found if isinstance(item, StateChange))
        assert state.state == session.state | {"app:a": 1, "k": [1]}
        assert state.revisions.startswith("3.0.1.")
        assert isinstance(found[-1], CaughtUp) and found[-1].revision == 3

        # By another process, as far as the watch knows.
        async with SessiondSessionService(server.url) as other:
            theirs = await other.append_event(await get(other, session), event({"user:u": 2}))
        (live,) = await events(items, 1)
        assert (live.event, live.sequence) == (theirs, 4)
        assert live.commit_time > 0
        change = (await until(items, StateChange))[-1]
        assert isinstance(change, StateChange)
        assert (change.state, change.set, change.removed) == (None, {"user:u": 2}, ())
        await service.apply_ops(session, [{"op": "remove", "key": "app:a"}])
        change = (await until(items, StateChange))[-1]
        assert isinstance(change, StateChange) and (change.set, change.removed) == ({}, ("app:a",))

        plain.patch(f"/apps/{app}/users/u/sessions/{session.id}", json={"labels": {"a": "b"}}).raise_for_status()
        changed = (await until(items, MetadataChange))[-1]
        assert isinstance(changed, MetadataChange) and changed.labels == {"a": "b"}

        await service.delete_session(app_name=app, user_id="u", session_id=session.id)
        gone = (await until(items, Deleted))[-1]
        assert isinstance(gone, Deleted) and gone.reason == "deleted"
        assert [item async for item in items] == []


async def test_a_place_that_is_gone_is_an_error(service: SessiondSessionService, app: str) -> None:
    session = await service.create_session(app_name=app, user_id="u", session_id="s")
    await appended(service, session, 3)
    with pytest.raises(PositionGoneError) as beyond:
        await anext(watch(service, session, after=4))
    assert (beyond.value.status, beyond.value.code, beyond.value.revision) == (410, "position_gone", 3)


async def test_watches_leave_the_connections_of_requests_alone(service: SessiondSessionService, app: str) -> None:
    session = await service.create_session(app_name=app, user_id="u")
    # More than the pool of requests has.
    watches = [watch(service, session, after="now") for _ in range(101)]
    await asyncio.gather(*(until(items, CaughtUp) for items in watches))
    (new,) = await appended(service, session, 1)
    for (item,) in await asyncio.gather(*(events(items, 1) for items in watches)):
        assert item.event == new
    await asyncio.gather(*(items.aclose() for items in watches))


EVENT = {"author": "user", "timestamp": 1.5, "commitTime": 1.5, "actions": {}}


def frame(sequence: int) -> tuple[str, ...]:
    data = json.dumps({**EVENT, "id": f"e{sequence}", "sequence": sequence})
    return f"id: {sequence}-a-b", "event: event", f"data: {data}", ""


def status(code: int, *headers: str, body: str = "{}") -> bytes:
    head = (f"HTTP/1.1 {code} X", "Connection: close", f"Content-Length: {len(body)}", *headers, "", body)
    return "\r\n".join(head).encode()


def places(requests: list[str]) -> list[str]:
    """Where each request asks to begin."""
    return [httpx.URL(request.split()[1]).params.get("afterSequence", "") for request in requests]


async def read(url: str, count: int, **settings: Any) -> list[int]:
    """The sequences of the first events at a scripted server."""
    async with SessiondSessionService(url, **settings) as service:
        async with aclosing(service.watch(app_name="a", user_id="u", session_id="s")) as items:
            return [item.sequence for item in await events(items, count)]


BYE = ("retry: 3000", "event: bye", 'data: {"reason":"lifetime"}', "")


async def test_pauses_grow_to_half_a_minute(pauses: list[float]) -> None:
    assert _times.SILENCE == 45.0
    async with scripted(*[b""] * 8, stream(*frame(1))) as server:
        assert await read(server.url, 1) == [1]
    assert pauses == [1.0, 2.0, 4.0, 8.0, 16.0, 30.0, 30.0, 30.0]


async def test_the_server_says_when_to_come_back(pauses: list[float]) -> None:
    full = status(429, "Retry-After: 7", body='{"code":"rate_limited","limit":"watchers"}')
    busy = status(503, "Retry-After: 40")
    proxys = status(502, body="<h1>")
    answers = [full, busy, proxys, stream(*frame(1), *BYE), stream(*BYE), stream(*frame(2))]
    async with scripted(*answers) as server:
        assert await read(server.url, 2) == [1, 2]
    # Exactly as long as `retry` says, which the server has spread; doubled if the next stream ends as well.
    assert pauses == [7.0, 40.0, 4.0, 3.0, 6.0]
    assert places(server.requests) == ["", "", "", "", "1-a-b", "1-a-b"]


async def test_pauses_are_spread(monkeypatch: pytest.MonkeyPatch, pauses: list[float]) -> None:
    monkeypatch.setattr(watching, "random", random.Random(5))
    async with scripted(*[b""] * 8, stream(*frame(1))) as server:
        assert await read(server.url, 1) == [1]
    assert len(set(pauses)) == 8
    assert all(0 <= pause <= limit for pause, limit in zip(pauses, [1, 2, 4, 8, 16, 30, 30, 30], strict=True))
