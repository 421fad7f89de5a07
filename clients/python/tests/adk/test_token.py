"""The token that requests show: where it comes from, when it is asked for again, and that nobody else sees it."""

import asyncio
import contextvars
import functools
import json
import logging
import threading
import traceback
from collections.abc import Awaitable, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from sessiond_adk import MintedToken, SessiondAccessError, SessiondError, SessiondSessionService

from ..support.guard import Guard, guard
from ..support.process import free_port
from ..support.proxy import answering

FORBIDDEN = '403\n{"code": "permission_denied", "detail": "not yours", "outcome": "not_applied", "requestId": "r1"}'


@pytest.fixture
def guarded() -> Iterator[Guard]:
    """A server that takes the token `good`."""
    with guard("good") as guarded:
        yield guarded


class Tokens:
    """A callback that gives these tokens, in order; the exceptions among them are raised."""

    def __init__(self, *tokens: Any) -> None:
        self._left = list(tokens)
        self.asked = 0

    def __call__(self) -> str:
        self.asked += 1
        given = self._left.pop(0)
        if isinstance(given, BaseException):
            raise given
        token: str = given
        return token


async def state(service: SessiondSessionService) -> dict[str, Any]:
    return await service.get_user_state(app_name="a", user_id="u")


def shown(guarded: Guard) -> list[str]:
    return [token for token, _ in guarded.requests]


# Where it comes from

TOKEN = contextvars.ContextVar[str]("TOKEN")


async def asynchronous() -> str:
    await asyncio.sleep(0)
    return TOKEN.get()


class AsyncCallable:
    async def __call__(self) -> str:
        return await asynchronous()


@pytest.mark.parametrize(
    "callback",
    [
        lambda: TOKEN.get(),
        lambda: f" {TOKEN.get()}\n",
        asynchronous,
        lambda: asynchronous(),
        functools.partial(asyncio.sleep, 0, result="good"),
        AsyncCallable(),
    ],
)
async def test_callbacks_are_plain_or_async(guarded: Guard, callback: Callable[[], str | Awaitable[str]]) -> None:
    TOKEN.set("good")
    async with SessiondSessionService(guarded.url, token=callback) as service:
        assert await state(service) == {}
    assert shown(guarded) == ["good"]


async def test_a_callback_that_blocks_holds_up_nothing_else(guarded: Guard) -> None:
    called, released = threading.Event(), threading.Event()

    def blocks() -> str:
        called.set()
        assert released.wait(60)
        return "good"

    async with SessiondSessionService(guarded.url, token=blocks) as service:
        request = asyncio.create_task(state(service))
        await waiting([request], until=called.is_set)
        released.set()
        assert await request == {}


# When the callback fails


@pytest.mark.parametrize("failure", [RuntimeError("hunter2"), httpx.ConnectError("hunter2"), StopIteration("hunter2")])
async def test_a_callback_that_fails_is_the_cause(guarded: Guard, failure: Exception) -> None:
    async with SessiondSessionService(guarded.url, token=Tokens(failure)) as service:
        with pytest.raises(SessiondAccessError, match=r"^The callback for the token failed: \w+\.$") as failed:
            await state(service)
    cause = failed.value.__cause__
    assert cause is failure or (cause and cause.__cause__ is failure)


@pytest.mark.parametrize("wrong", [None, 7, b"good", ""])
async def test_what_is_no_text_is_no_token(guarded: Guard, wrong: Any) -> None:
    async with SessiondSessionService(guarded.url, token=Tokens(wrong)) as service:
        with pytest.raises(SessiondAccessError):
            await state(service)
    assert guarded.requests == []


@pytest.mark.parametrize("wrong", [" ", "a secret", "secret\r\nX: y", "sécret", "secret\x00", "=" * 3])
def test_what_is_no_token_is_refused_without_being_shown(wrong: str) -> None:
    with pytest.raises(ValueError, match="token is empty, or has characters") as refused:
        SessiondSessionService("http://h", token=wrong)
    with pytest.raises(ValueError) as unsendable:
        SessiondSessionService("http://h", headers={"Authorization": f"{wrong}\n"})
    for error in (refused.value, unsendable.value):
        assert "cret" not in "".join(traceback.format_exception_only(error))
        assert error.__cause__ is None or "cret" not in str(error.__cause__)


# Once for all


@pytest.mark.parametrize(("threads", "tasks"), [(1, 32), (8, 4)])
@pytest.mark.parametrize("kind", ["plain", "async"])
def test_all_who_wait_ask_once(guarded: Guard, threads: int, tasks: int, kind: str) -> None:
    tokens = Tokens("old", "good")
    guarded.refused_together = threading.Barrier(threads * tasks)
    started = threading.Barrier(threads)

    async def asynchronous() -> str:
        token = tokens()
        await asyncio.sleep(0.05)
        return token

    service = SessiondSessionService(guarded.url, token=tokens if kind == "plain" else asynchronous)

    async def work() -> None:
        started.wait(60)
        await asyncio.gather(*(state(service) for _ in range(tasks)))
        await service.close()

    with ThreadPoolExecutor(threads) as pool:
        for worker in [pool.submit(asyncio.run, work()) for _ in range(threads)]:
            worker.result(60)
    assert tokens.asked == 2
    assert sorted(shown(guarded)) == ["good"] * (threads * tasks) + ["old"] * (threads * tasks)


async def test_a_late_refusal_of_an_old_token_asks_nobody(guarded: Guard) -> None:
    tokens = Tokens("old", "good")
    guarded.refused_together = held = threading.Barrier(2)
    async with SessiondSessionService(guarded.url, token=tokens) as service:
        late = asyncio.create_task(state(service))
        await waiting([late], until=lambda: len(guarded.requests) == 1)
        # Its refusal waits, while another request gets the token replaced.
        guarded.refused_together = threading.Barrier(1)
        assert await state(service) == {}
        await asyncio.to_thread(held.wait, 30)
        assert await late == {}
    assert (tokens.asked, shown(guarded)) == (2, ["old", "old", "good", "good"])


async def test_all_who_wait_hear_of_the_failure(guarded: Guard) -> None:
    asked, released = 0, asyncio.Event()

    async def fails() -> str:
        nonlocal asked
        asked += 1
        await released.wait()
        raise RuntimeError("down")

    async with SessiondSessionService(guarded.url, token=fails) as service:
        requests = [asyncio.create_task(state(service)) for _ in range(8)]
        await waiting(requests, until=lambda: asked == 1)
        released.set()
        results = await asyncio.gather(*requests, return_exceptions=True)
    assert [type(result) for result in results] == [SessiondAccessError] * 8
    # Each has an error of its own, for each says what became of its request.
    assert len({id(result) for result in results}) == 8
    assert (asked, guarded.requests) == (1, [])


@pytest.mark.parametrize("cancelled", [0, 1])
async def test_a_request_that_is_cancelled_leaves_the_others_alone(guarded: Guard, cancelled: int) -> None:
    asked, released = 0, asyncio.Event()

    async def waits() -> str:
        nonlocal asked
        asked += 1
        await released.wait()
        return "good"

    async with SessiondSessionService(guarded.url, token=waits) as service:
        requests = [asyncio.create_task(state(service)) for _ in range(4)]
        await waiting(requests, until=lambda: asked == 1)
        requests[cancelled].cancel()
        # If it was the one that asked, another one does.
        await waiting(requests, until=lambda: asked == (2 if cancelled == 0 else 1))
        released.set()
        results = await asyncio.gather(*requests, return_exceptions=True)
    assert isinstance(results.pop(cancelled), asyncio.CancelledError)
    assert results == [{}] * 3
    assert shown(guarded) == ["good"] * 3


async def waiting(requests: list[asyncio.Task[Any]], until: Callable[[], bool]) -> None:
    """Returns when it is so, after all requests have had their turns."""
    for _ in range(10_000):
        if until():
            break
        assert any(not request.done() for request in requests)
        await asyncio.sleep(0.001)
    assert until()
    for _ in range(20):
        await asyncio.sleep(0)


def test_an_event_loop_that_ends_leaves_the_others_alone(guarded: Guard) -> None:
    tokens = Tokens("lost", "good")
    asked = threading.Event()

    async def asynchronous() -> str:
        if tokens() == "lost":
            asked.set()
            await asyncio.Event().wait()
        return "good"

    service = SessiondSessionService(guarded.url, token=asynchronous)

    async def gives_up() -> None:
        request = asyncio.create_task(state(service))
        await asyncio.to_thread(waits_too.wait, 30)
        assert not request.done()

    async def goes_on() -> dict[str, Any]:
        request = asyncio.create_task(state(service))
        await asyncio.sleep(0)
        waits_too.set()
        return await request

    waits_too = threading.Event()
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(asyncio.run, gives_up())
        assert asked.wait(60)
        assert pool.submit(asyncio.run, goes_on()).result(30) == {}
        first.result(30)
    assert (tokens.asked, shown(guarded)) == (2, ["good"])


# Nobody else sees it


@pytest.mark.parametrize("where", ["refused", "unreachable", "broken", "proxied"])
@pytest.mark.parametrize("given", [("sdk_hunter2",), ("sdk_hunter2", "hunter2"), ("sdk_hunter2", "sdk hunter2")])
async def test_the_token_is_in_no_log_no_error_and_no_repr(
    guarded: Guard,
    where: str,
    given: tuple[str, ...],
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    caplog.set_level(logging.DEBUG)
    for name in ("HTTP_PROXY", "http_proxy"):
        monkeypatch.setenv(name, guarded.url)
    for name in ("NO_PROXY", "no_proxy"):
        monkeypatch.delenv(name, raising=False)
    async with answering("503\n", "200\n<h1>") as broken:
        urls = {"refused": guarded.url, "unreachable": f"http://127.0.0.1:{free_port()}", "broken": broken.url}
        url = urls.get(where, "http://sessiond.example")
        token = given[0] if len(given) == 1 else Tokens(*given)
        async with SessiondSessionService(url, token=token, retry_for=0.3) as service:
            with pytest.raises(SessiondError) as failed:
                await state(service)
            shown = [repr(part) for part in (service, service._http, service._http._auth, service._http._headers)]
    # What httpx logs is looked at, too.
    assert any(record.name.startswith("httpcore.") for record in caplog.records) == (where == "proxied")
    assert "hunter2" not in "".join([caplog.text, *shown, *traceback.format_exception(failed.value)])


async def test_a_minted_token_is_what_was_asked_for(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    answer = f"201\n{json.dumps({'token': 'sdu_x', 'expireTime': 1700000000.25})}"
    async with answering(answer, answer, FORBIDDEN) as server:
        async with SessiondSessionService(server.url, token="sdk_x") as service:
            assert await service.mint_token("a/b", "Ada") == MintedToken("sdu_x", 1700000000.25)
            minted = await service.mint_token("a", "u", role="reader", ttl=90)
            with pytest.raises(SessiondAccessError, match="not yours"):
                await service.mint_token("a", "u", role="admin")
    assert repr(minted) == str(minted) == "MintedToken(expire_time=1700000000.25)"
    assert "sdu_x" not in caplog.text and "sdk_x" not in caplog.text
    assert all(request.startswith("POST /v1/tokens HTTP/1.1\r\n") for request in server.requests)
    bodies = [json.loads(request.partition("\r\n\r\n")[2]) for request in server.requests]
    assert bodies == [
        {"app": "a/b", "user": "Ada"},
        {"app": "a", "user": "u", "role": "reader", "ttl": 90},
        {"app": "a", "user": "u", "role": "admin"},
    ]
