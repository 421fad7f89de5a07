"""What a client does on each answer, as clients/wire/requests.json says it for all languages."""

import asyncio
import inspect
import json
import logging
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AsyncExitStack, aclosing
from pathlib import Path
from typing import Any

import httpx
import pytest
from google.adk.errors import InvocationNotFoundError, StaleSessionError
from google.adk.errors.already_exists_error import AlreadyExistsError
from google.adk.errors.session_not_found_error import SessionNotFoundError
from google.adk.events.event import Event as AdkEvent
from google.adk.events.event_actions import EventActions
from google.adk.sessions.session import Session

import sessiond as client
import sessiond_adk as adk
from sessiond import _times

from ..conftest import PAUSES
from .both import connect

WIRE = Path(__file__).parents[3] / "wire"
CASES = json.loads((WIRE / "requests.json").read_text(encoding="utf-8"))["cases"]

# Of a second, so that pauses are short.
SCALE = 0.05

KINDS: dict[str, tuple[type[Exception], ...]] = {
    "not_found": (client.NotFoundError, SessionNotFoundError, InvocationNotFoundError),
    "conflict": (client.ConflictError, AlreadyExistsError),
    "busy": (client.BusyError, adk.SessionBusyError),
    "stale": (client.StaleError, StaleSessionError),
    "gone": (client.GoneError, adk.PositionGoneError),
    "input": (client.InputError,),
    "denied": (client.AccessError,),
}


@pytest.fixture(scope="module")
def fake() -> Iterator[tuple[str, str]]:
    """The URL of the fake server, and one where nobody listens."""
    command = [sys.executable, str(WIRE / "fake_server.py")]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdin and server.stdout
        url, away = server.stdout.readline().split()
        yield url, away
        server.stdin.close()


def told(error: Exception) -> dict[str, Any]:
    """An error, as the fake server takes it."""
    kind = next((kind for kind, classes in KINDS.items() if isinstance(error, classes)), "other")
    said = error if isinstance(error, client.SessiondError) else error.__cause__
    assert isinstance(said, client.SessiondError)
    # What was not answered has a cause.
    assert said.status or said.__cause__ or "not sessiond's" in str(said)
    fields = {"kind": kind, "status": said.status, "code": said.code, "outcome": said.outcome}
    return {**fields, "requestId": said.request_id, "text": f"{error} {said!r} {said} {dict(said.problem)}"}


class Tokens:
    """A callback that gives these tokens, in order; it fails where there is none."""

    def __init__(self, tokens: list[str | None]) -> None:
        self._tokens = tokens
        self.asked = 0

    def __call__(self) -> str:
        self.asked += 1
        token = self._tokens[self.asked - 1]
        if token is None:
            raise RuntimeError("hunter2")
        return token


def item_text(item: Any) -> str:
    kinds = {"Event": "event", "EventItem": "event", "CaughtUp": "caught_up", "Deleted": "deleted"}
    kind = kinds[type(item).__name__]
    event = getattr(item, "event", item)
    return f"{kind} {event.id} {item.cursor}" if kind == "event" else f"{kind} {item.cursor}"


async def watch(items: Any, count: int, seen: list[str]) -> None:
    async with aclosing(items):
        async for item in items:
            seen.append(item_text(item))
            if len(seen) == count:
                break


def steps_of_a_client(made: client.AsyncClient) -> dict[str, Any]:
    s = made.session("a", "u", "s")

    async def listed() -> None:
        assert [found async for found in made.sessions("a", "u")] == []

    return {
        "append": lambda: s.append(id="e1", author="a", delta={"k": "hunter2"}),
        "create": lambda: made.session("a", "u", "s").create(state={"k": "hunter2"}),
        "get": lambda: s.get(),
        "list": listed,
        "delete": lambda: s.delete(),
        "watch": lambda: s.watch(),
    }


def steps_of_adk(made: adk.SessiondSessionService) -> dict[str, Any]:
    session = Session(id="s", app_name="a", user_id="u")
    event = AdkEvent(id="e1", author="a", timestamp=1, actions=EventActions(state_delta={"k": "hunter2"}))
    key: dict[str, Any] = {"app_name": "a", "user_id": "u", "session_id": "s"}
    return {
        "append": lambda: made.append_event(session, event),
        "create": lambda: made.create_session(**key, state={"k": "hunter2"}),
        "get": lambda: made.get_session(**key),
        "list": lambda: made.list_sessions(app_name="a", user_id="u"),
        "delete": lambda: made.delete_session(**key),
        "watch": lambda: made.watch(**key),
    }


async def complaints(fake: tuple[str, str], kind: str, name: str, caplog: pytest.LogCaptureFixture) -> list[str]:
    case = CASES[name]
    url = f"{fake[1] if 'away' in case else fake[0]}/python-{kind}/{name}"
    tokens = Tokens(case["tokens"]) if "tokens" in case else None
    options: dict[str, Any] = {"token": tokens or case.get("token", ""), "headers": {"X-Tenant": "hunter2"}}
    options["timeout"] = case.get("timeout", case.get("silence", 15.0))
    options["retry_for"] = 0.0 if "once" in case else case.get("retryFor", 30.0)
    results: list[dict[str, Any] | None] = []
    items: list[str] = []

    async def do(step: Any) -> None:
        try:
            doing = step()
            if inspect.isawaitable(doing):
                await doing
            else:
                await watch(doing, case["items"], items)
            results.append(None)
        except Exception as error:
            results.append(told(error))

    async with AsyncExitStack() as stack:
        if kind == "adk":
            steps = steps_of_adk(await stack.enter_async_context(adk.SessiondSessionService(f"{url}/", **options)))
        else:
            steps = steps_of_a_client(connect(kind, stack)(f"{url}/", **options))
        for step in case["do"]:
            await asyncio.gather(*(do(steps[step]) for _ in range(case.get("together", 1))))
        log = [record.getMessage() for record in caplog.records if f"/{name}/" in record.getMessage()]
        did = {"language": "python", "url": url, "results": results, "items": items, "scale": SCALE, "log": log}
        did["tenant"] = "hunter2"
        did["asked"] = tokens.asked if tokens else 0
    async with httpx.AsyncClient(timeout=60) as plain:
        answer = await plain.post(f"{fake[0]}/check/python-{kind}/{name}", json=did)
    wrong: list[str] = answer.json()
    return wrong


@pytest.mark.parametrize("kind", ["sync", "async", "adk"])
async def test_each_answer_is_met_as_the_data_says(
    fake: tuple[str, str], kind: str, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    caplog.set_level(logging.INFO, "sessiond")
    monkeypatch.setattr(_times, "PAUSES", tuple(pause * SCALE for pause in PAUSES))
    monkeypatch.setattr(_times, "LATER", _times.LATER * SCALE)
    monkeypatch.setattr(_times, "SILENCE", 1.0)
    monkeypatch.setattr(_times, "CONNECT", 60.0)
    asyncio.get_running_loop().set_default_executor(ThreadPoolExecutor(100))
    names = [name for name, case in CASES.items() if "python" in case.get("only", ["python"])]
    # Most cases wait. All at once would take one another's time on a slow machine.
    places = asyncio.Semaphore(8)

    async def in_turn(name: str) -> list[str]:
        async with places:
            return await complaints(fake, kind, name, caplog)

    every = await asyncio.gather(*(in_turn(name) for name in names))
    assert not any(every), "\n".join(wrong for each in every for wrong in each)
