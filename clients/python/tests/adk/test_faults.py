"""Lost answers, restarts, refusals: what happens once happens once."""

import asyncio
import contextlib
import json
import re
import signal
import socket
import time
from collections.abc import AsyncIterator
from email.utils import formatdate

import httpx
import pytest
from google.adk.errors.already_exists_error import AlreadyExistsError
from opentelemetry import baggage, context
from opentelemetry.sdk.trace import TracerProvider

from sessiond import _times
from sessiond._async import io
from sessiond_adk import SessiondError, SessiondInputError, SessiondSessionService

from ..support.process import Server, free_port
from ..support.proxy import Proxy, answering, proxy
from .conftest import PAUSES
from .test_service import event, get

pytestmark = pytest.mark.both_databases

SESSION = json.dumps(
    {"id": "s", "appName": "a", "userId": "u", "revision": 0, "state": {}, "events": [], "lastUpdateTime": 1.5}
)


@pytest.fixture
def slept(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The pauses between attempts, which are not waited for."""
    pauses: list[float] = []

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)

    monkeypatch.setattr(_times, "PAUSES", PAUSES)
    monkeypatch.setattr(io, "sleep", sleep)
    return pauses


@pytest.fixture
async def network(server: Server) -> AsyncIterator[Proxy]:
    async with proxy(server.address) as network:
        yield network


@pytest.fixture
async def far(network: Proxy) -> AsyncIterator[SessiondSessionService]:
    """The service behind a network that loses things."""
    async with SessiondSessionService(network.url) as service:
        yield service


async def test_connections_are_reused(far: SessiondSessionService, network: Proxy, app: str) -> None:
    session = await far.create_session(app_name=app, user_id="u")
    for _ in range(10):
        await far.append_event(session, event())
        await get(far, session)
    assert network.connections == 1


@pytest.mark.parametrize("lost", ["answers", "requests"])
async def test_an_append_is_applied_once_whatever_gets_lost(
    far: SessiondSessionService, network: Proxy, app: str, lost: str
) -> None:
    session = await far.create_session(app_name=app, user_id="u")
    for n in range(4):
        setattr(network, f"lose_{lost}", n)
        await far.append_event(session, event({"n": n, f"app:{n}": n}))
    assert network.connections > 4
    assert len(session.events) == 4
    assert await get(far, session) == session


async def test_a_strict_append_whose_answer_was_lost_is_not_stale(server: Server, network: Proxy, app: str) -> None:
    async with SessiondSessionService(network.url, concurrency="session") as far:
        session = await far.create_session(app_name=app, user_id="u")
        for n in range(3):
            network.lose_answers = 1
            await far.append_event(session, event({"n": n}))
        assert await get(far, session) == session


@pytest.mark.parametrize("name", [None, "s"])
@pytest.mark.parametrize("lost", ["answers", "requests"])
async def test_a_session_is_created_once_whatever_gets_lost(
    far: SessiondSessionService, network: Proxy, app: str, name: str | None, lost: str
) -> None:
    setattr(network, f"lose_{lost}", 2)
    session = await far.create_session(app_name=app, user_id="u", session_id=name, state={"k": [1], "user:k": 2})
    assert (session.state, session.events) == ({"k": [1], "user:k": 2}, [])
    listed = (await far.list_sessions(app_name=app)).sessions
    assert [found.id for found in listed] == [session.id]
    assert await get(far, session) == session


async def test_a_lost_answer_does_not_make_another_session_ours(
    far: SessiondSessionService, service: SessiondSessionService, network: Proxy, app: str
) -> None:
    theirs = await service.create_session(app_name=app, user_id="u", session_id="s", state={"k": "theirs"})
    network.lose_answers = 1
    with pytest.raises(AlreadyExistsError):
        await far.create_session(app_name=app, user_id="u", session_id="s", state={"k": "mine"})
    # Not even if it looks the same.
    network.lose_answers = 1
    with pytest.raises(AlreadyExistsError):
        await far.create_session(app_name=app, user_id="u", session_id="s", state={"k": "theirs"})
    await service.append_event(theirs, event())
    network.lose_answers = 1
    with pytest.raises(AlreadyExistsError):
        await far.create_session(app_name=app, user_id="u", session_id="s", state={"k": "theirs"})
    assert await get(service, theirs) == theirs


async def test_reads_and_deletes_are_tried_again(far: SessiondSessionService, network: Proxy, app: str) -> None:
    session = await far.create_session(app_name=app, user_id="u", state={"user:k": 1})
    network.lose_answers = 1
    assert await get(far, session) == session
    network.lose_answers = 1
    assert await far.get_user_state(app_name=app, user_id="u") == {"k": 1}
    network.lose_answers = 1
    assert (await far.list_sessions(app_name=app)).sessions == [session]
    network.lose_answers = 1
    await far.delete_session(app_name=app, user_id="u", session_id=session.id)
    assert (await far.list_sessions(app_name=app)).sessions == []


async def test_what_failed_can_be_appended_again(server: Server, network: Proxy, app: str) -> None:
    async with SessiondSessionService(network.url, retry_for=0) as impatient:
        session = await impatient.create_session(app_name=app, user_id="u")
        once = event({"k": 1, "temp:k": 1})
        network.lose_answers = 1
        with pytest.raises(SessiondError) as failed:
            await impatient.append_event(session, once)
        assert failed.value.outcome == "unknown"
        # As if nothing had happened, though it has.
        assert (session.state, session.events, once.actions.state_delta) == ({}, [], {"k": 1, "temp:k": 1})
        assert len((await get(impatient, session)).events) == 1

        await impatient.append_event(session, once)
        assert (session.state, session.events) == ({"k": 1, "temp:k": 1}, [once])
        assert (await get(impatient, session)).events == [once]


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGKILL])
async def test_a_restart_of_the_server_is_not_noticed(
    own_server: Server, app: str, how: signal.Signals, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_times, "PAUSES", PAUSES)
    async with SessiondSessionService(own_server.url) as service:
        sessions = [await service.create_session(app_name=app, user_id=f"u{n}") for n in range(4)]
        stop = asyncio.Event()

        async def work(n: int) -> None:
            while not stop.is_set():
                await service.append_event(sessions[n], event({"n": len(sessions[n].events), f"app:{n}": n}))

        async def all_went_on() -> None:
            before = [len(session.events) for session in sessions]
            while any(len(session.events) == count for session, count in zip(sessions, before, strict=True)):
                assert not any(worker.done() for worker in workers)
                await asyncio.sleep(0.02)

        workers = [asyncio.create_task(work(n)) for n in range(4)]
        for _ in range(2):
            await all_went_on()
            await asyncio.to_thread(own_server.stop, how)
            await asyncio.sleep(0.5)
            await asyncio.to_thread(own_server.start)
        await all_went_on()
        stop.set()
        await asyncio.gather(*workers)
        for session in sessions:
            stored = await get(service, session)
            assert stored.events == session.events
            assert len(stored.events) > 2


async def test_a_server_that_is_not_there_is_said_to_be(caplog: pytest.LogCaptureFixture) -> None:
    url = f"http://127.0.0.1:{free_port()}"
    async with SessiondSessionService(url, token="hunter2", headers={"X-Key": "hunter2"}, retry_for=0.5) as nowhere:
        with pytest.raises(SessiondError, match="cannot be reached: ConnectError: ") as failed:
            await nowhere.create_session(app_name="a/b", user_id="u", state={"k": "hunter2"}, session_id="s")
        assert failed.value.outcome == "not_applied"
    logged = [record for record in caplog.records if record.name == "sessiond"]
    said = re.search(
        rf"\(Gave up POST {url}/v1/apps/a%2Fb/users/u/sessions, {len(logged) + 1} attempts in 0\.\d s\)$",
        str(failed.value),
    )
    assert said, failed.value
    assert len(logged) >= 4
    for attempt, record in enumerate(logged, 1):
        assert record.levelname == "WARNING"
        assert re.fullmatch(
            rf"POST {url}/v1/apps/a%2Fb/users/u/sessions: attempt {attempt} failed, trying again in 0\.\d s: "
            r"sessiond cannot be reached: ConnectError: .+\.",
            record.getMessage(),
        )
    assert "hunter2" not in caplog.text + str(failed.value)


async def test_one_attempt_without_an_answer_names_its_cause() -> None:
    async with SessiondSessionService(f"http://127.0.0.1:{free_port()}", retry_for=0) as nowhere:
        with pytest.raises(SessiondError, match=r"Gave up GET .*/v1/apps/a/users/u/state, 1 attempt in") as failed:
            await nowhere.get_user_state(app_name="a", user_id="u")
    assert isinstance(failed.value.__cause__, httpx.ConnectError)


async def test_a_busy_server_is_given_the_time_it_asks_for(slept: list[float]) -> None:
    busy = '503\nRetry-After: 1\n{"code": "overloaded", "outcome": "not_applied"}'
    late = "503\nRetry-After: 29\n{}"
    async with answering(busy, "429\nRetry-After: 0\n{}", late, f"201\n{SESSION}") as server:
        async with SessiondSessionService(server.url) as service:
            session = await service.create_session(app_name="a", user_id="u")
            assert session.id == "s"
        first, second, third = slept
        assert 1.0 <= first <= 1.5 and 0.8 <= second <= 1.2
        # Spread, but not beyond the time that there is.
        assert 29 <= third <= 30
        # The very same each time, so that it cannot be applied twice.
        assert len(server.requests) == 4 and len(set(server.requests)) == 1


async def test_an_outcome_that_the_server_does_not_know_is_found_out() -> None:
    async with answering('500\n{"outcome": "unknown"}', f"201\n{SESSION}") as server:
        async with SessiondSessionService(server.url) as service:
            assert (await service.create_session(app_name="a", user_id="u")).id == "s"


async def test_what_failed_for_good_is_not_tried_again() -> None:
    async with answering('500\n{"outcome": "not_applied"}') as server, SessiondSessionService(server.url) as service:
        with pytest.raises(SessiondError) as failed:
            await service.create_session(app_name="a", user_id="u")
    assert failed.value.outcome == "not_applied"


async def test_a_busy_server_is_not_waited_for_in_vain() -> None:
    problem = {"code": "overloaded", "detail": "try later", "outcome": "not_applied", "requestId": "r1"}
    busy = f"503\nRetry-After: 60\n{json.dumps(problem)}"
    async with answering(busy) as server, SessiondSessionService(server.url) as service:
        with pytest.raises(SessiondError, match="try later") as failed:
            await service.create_session(app_name="a", user_id="u")
        assert (failed.value.status, failed.value.code, failed.value.outcome) == (503, "overloaded", "not_applied")
        assert failed.value.request_id == "r1"
        # Nobody waits a minute when there is half of one.
        assert len(server.requests) == 1


async def test_a_proxy_may_say_when_to_come_back_as_a_date() -> None:
    later = formatdate(time.time() + 60, usegmt=True)
    async with answering(f"503\nRetry-After: {later}\n<h1>") as server, SessiondSessionService(server.url) as service:
        with pytest.raises(SessiondError, match="answered 503: the answer is not sessiond's") as failed:
            await service.create_session(app_name="a", user_id="u")
        assert (failed.value.status, failed.value.code, failed.value.request_id) == (503, None, None)
        assert len(server.requests) == 1


async def test_an_unknown_outcome_stays_unknown() -> None:
    lost, busy = '503\n{"outcome": "unknown"}', '503\nRetry-After: 9\n{"outcome": "not_applied"}'
    async with answering(lost, busy) as server, SessiondSessionService(server.url, retry_for=5) as service:
        with pytest.raises(SessiondError) as failed:
            await service.create_session(app_name="a", user_id="u")
        assert failed.value.outcome == "unknown"


async def test_errors_say_what_the_server_said(service: SessiondSessionService, app: str) -> None:
    with pytest.raises(
        SessiondInputError, match=r"`appName`.* \(PUT http://.*/v1/apps/%07/.*, 1 attempt in "
    ) as refused:
        await service.create_session(app_name="\x07", user_id="u")
    assert (refused.value.status, refused.value.code) == (422, "invalid_argument")
    assert refused.value.outcome == "not_applied"
    assert refused.value.request_id
    assert isinstance(refused.value, ValueError)
    # What ADK has a class of its own for has it as its cause.
    await service.create_session(app_name=app, user_id="u", session_id="s")
    with pytest.raises(AlreadyExistsError) as exists:
        await service.create_session(app_name=app, user_id="u", session_id="s")
    cause = exists.value.__cause__
    assert isinstance(cause, SessiondError)
    assert (cause.status, cause.code, cause.outcome) == (409, "session_already_exists", "not_applied")
    assert cause.request_id


@pytest.mark.parametrize(
    "answer", ["404\n<h1>", "200\n<h1>", "404\n{}", '404\n{"code": "not_found"}', "302\n", "200\n[]"]
)
async def test_another_server_is_not_taken_for_an_empty_one(answer: str) -> None:
    async with answering(answer) as server, SessiondSessionService(server.url) as service:
        with pytest.raises(SessiondError):
            await service.get_session(app_name="a", user_id="u", session_id="s")


async def test_a_slow_server_is_not_waited_for_forever() -> None:
    async def silence(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    listener = await asyncio.start_server(silence, "127.0.0.1", 0)
    url = "http://{}:{}".format(*listener.sockets[0].getsockname())
    async with SessiondSessionService(url, timeout=0.2, retry_for=0.5) as service:
        with pytest.raises(
            SessiondError, match=r"no whole answer within 0\.2 s\. \(Gave up GET .*, [23] attempts"
        ) as failed:
            await service.get_user_state(app_name="a", user_id="u")
        assert isinstance(failed.value.__cause__, TimeoutError)
        assert failed.value.outcome is None
        with pytest.raises(SessiondError) as unknown:
            await service.create_session(app_name="a", user_id="u")
        assert unknown.value.outcome == "unknown"
    listener.close()


async def test_the_whole_answer_has_to_come_in_time() -> None:
    async def drip(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n")
        with contextlib.suppress(ConnectionError):
            while not writer.is_closing():
                writer.write(b" ")
                await writer.drain()
                await asyncio.sleep(0.01)

    listener = await asyncio.start_server(drip, "127.0.0.1", 0)
    url = "http://{}:{}".format(*listener.sockets[0].getsockname())
    async with SessiondSessionService(url, timeout=0.3, retry_for=0) as service:
        with pytest.raises(SessiondError, match=r"no whole answer within 0\.3 s"):
            await service.get_user_state(app_name="a", user_id="u")
    listener.close()


async def test_a_connection_has_to_come_about_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    assert _times.CONNECT == 2.0
    monkeypatch.setattr(_times, "CONNECT", 0.2)
    with socket.socket() as full, contextlib.ExitStack() as waiting:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        # As many as the queue takes, which nobody accepts; the system does not answer further ones.
        for _ in range(4):
            client = waiting.enter_context(socket.socket())
            client.setblocking(False)
            client.connect_ex(full.getsockname())
        url = "http://{}:{}".format(*full.getsockname())
        async with SessiondSessionService(url, retry_for=0) as service:
            with pytest.raises(SessiondError, match="cannot be reached: ConnectTimeout") as failed:
                await service.create_session(app_name="a", user_id="u")
    assert failed.value.outcome == "not_applied"


async def test_a_program_that_traces_sends_its_span_and_nothing_else() -> None:
    tracer = TracerProvider().get_tracer("test")
    async with answering(*["200\n{}"] * 2, "404\n{}") as server, SessiondSessionService(server.url) as service:
        await service.get_user_state(app_name="a", user_id="u")
        token = context.attach(baggage.set_baggage("secret", "hunter2"))
        with tracer.start_as_current_span("run") as span:
            await service.get_user_state(app_name="a", user_id="u")
            with pytest.raises(SessiondError):
                await anext(service.watch(app_name="a", user_id="u", session_id="s"))
        context.detach(token)
    before, *within = server.requests
    assert "traceparent" not in before.lower()
    trace, parent = span.get_span_context().trace_id, span.get_span_context().span_id
    for request in within:
        assert f"\ntraceparent: 00-{trace:032x}-{parent:016x}-" in request.lower()
        assert "hunter2" not in request


async def test_headers_and_token_are_sent_with_every_request() -> None:
    async with answering(f"201\n{SESSION}", "200\n{}") as server:
        async with SessiondSessionService(server.url, token="secret", headers={"X-Tenant": "t"}) as service:
            await service.create_session(app_name="a", user_id="u")
            await service.get_user_state(app_name="a", user_id="u")
    for request in server.requests:
        lines = request.lower().splitlines()
        assert "authorization: bearer secret" in lines
        assert "x-tenant: t" in lines
        assert any(line.startswith("user-agent: sessiond-python/") for line in lines)
