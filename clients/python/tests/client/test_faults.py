"""Lost answers, refusals, servers that are not there: what happens once happens once, and errors say what it was."""

import asyncio
import contextlib
import json
import re
import time
from email.utils import formatdate
from types import SimpleNamespace

import httpx
import pytest

from sessiond import (
    AccessError,
    AsyncClient,
    AsyncSession,
    BusyError,
    ConflictError,
    Event,
    GoneError,
    InputError,
    NotFoundError,
    SessiondError,
    StaleError,
    _times,
    text,
)

from ..support.process import Server, free_port
from ..support.proxy import Proxy, answering, proxy
from .both import Connect
from .conftest import PAUSES

pytestmark = pytest.mark.both_databases

MADE = json.dumps({"id": "s", "appName": "a", "userId": "u", "revision": 0, "state": {}, "events": []})


async def test_writes_happen_once_whatever_gets_lost(far: AsyncSession, s: AsyncSession, network: Proxy) -> None:
    def lose() -> None:
        network.lose_requests, network.lose_answers = 1, 1

    lose()
    await far.create(state={"k": 0})
    lose()
    said = await far.append(author="user", content=text("user", "Hi"), invocation_id="i1")
    lose()
    await far.append([{"author": "a"}, {"author": "b"}], if_revision=far.revision)
    for _ in range(2):
        lose()
        await far.increment("app:n")
    lose()
    await far.rewind(before_invocation="i1", if_revision=far.revision)
    lose()
    copy = await far.fork()
    lose()
    await far.set_metadata(display_name="Tea")
    assert [event.author async for event in s.events()] == ["user", "a", "b", "user", "user", "user"]
    assert said.sequence == 1 and (await s.state("app:n"), far.revision, copy.revision) == (2, 6, 6)
    lose()
    await far.delete()
    with pytest.raises(NotFoundError):
        await s.get()


async def test_scopes_change_once_whatever_gets_lost(client: Connect, network: Proxy, app: str) -> None:
    scope = client(network.url).app(app)
    for count in (1, 2):
        network.lose_answers = 2
        assert await scope.increment("n") == count


async def test_what_is_unknown_is_safe_to_send_again(client: Connect, network: Proxy, s: AsyncSession) -> None:
    await s.create()
    impatient = client(network.url, retry_for=0).session(s.app, s.user, s.id)
    network.lose_answers = 1
    with pytest.raises(SessiondError) as failed:
        await impatient.append(id="e1", author="a")
    assert failed.value.outcome == "unknown"
    assert (await impatient.append(id="e1", author="a")).replayed
    network.lose_answers = 1
    # What one call is given counts for this one.
    assert (await impatient.append(author="b", retry_for=30)).sequence == 2


async def test_connections_are_reused(far: AsyncSession, network: Proxy) -> None:
    await far.create()
    for _ in range(5):
        await far.append(author="a")
    assert network.connections == 1


async def test_the_pauses_between_attempts_grow(client: Connect, slept: list[float]) -> None:
    # The last one is a failure of the server that says itself that it does not know.
    answers = ["502\n<h1>"] * 5 + ['500\n{"outcome": "unknown"}', f"200\n{MADE}"]
    async with answering(*answers) as server:
        await client(server.url).session("a", "u", "s").create(exist_ok=True)
    # The very same each time, so that it cannot be applied twice.
    assert len(server.requests) == 7 and len(set(server.requests)) == 1
    lows = (0.2, 0.8, 3.2, 8.0, 8.0, 8.0)
    assert all(low <= pause <= 1.5 * low for pause, low in zip(slept, lows, strict=True))


async def test_attempts_go_on_until_the_time_is_used_up(
    client: Connect, slept: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    # Refused connections take no time of their own: it is that of the pauses.
    clock = SimpleNamespace(monotonic=lambda: sum(slept), time=time.time)
    for name in ("_async.http", "_sync.http", "_reply"):
        monkeypatch.setattr(f"sessiond.{name}.time", clock)
    with pytest.raises(SessiondError, match=r"Gave up PUT .* attempts in 30\.0 s\)") as failed:
        await client(f"http://127.0.0.1:{free_port()}").session("a", "u", "s").create(exist_ok=True)
    assert failed.value.outcome == "not_applied" and sum(slept) == pytest.approx(30)


async def test_a_busy_server_is_given_the_time_it_asks_for(client: Connect, slept: list[float]) -> None:
    busy = '503\nRetry-After: 1\n{"code": "overloaded", "outcome": "not_applied"}'
    late = "503\nRetry-After: 29\n{}"
    async with answering(busy, "429\nRetry-After: 0\n{}", late, f"201\n{MADE}") as server:
        assert (await client(server.url).session("a", "u", "s").create()).id == "s"
    first, second, third = slept
    assert 1.0 <= first <= 1.5 and 0.8 <= second <= 1.2
    # Spread, but not beyond the time that there is.
    assert 29 <= third <= 30


async def test_a_busy_server_is_not_waited_for_in_vain(client: Connect) -> None:
    problem = {"code": "overloaded", "detail": "try later", "outcome": "not_applied", "requestId": "r1"}
    soon, later = "60", formatdate(time.time() + 60, usegmt=True)
    for when in (soon, later):
        async with answering(f"503\nRetry-After: {when}\n{json.dumps(problem)}") as server:
            with pytest.raises(SessiondError, match="try later") as failed:
                await client(server.url).app("a").increment("n")
        error = failed.value
        assert (error.status, error.code, error.outcome) == (503, "overloaded", "not_applied")
        assert error.request_id == "r1" and len(server.requests) == 1


async def test_an_unknown_outcome_stays_unknown(client: Connect) -> None:
    lost, busy = '503\n{"outcome": "unknown"}', '503\nRetry-After: 9\n{"outcome": "not_applied"}'
    async with answering(lost, busy) as server:
        with pytest.raises(SessiondError) as failed:
            await client(server.url, retry_for=5).app("a").increment("n")
    assert failed.value.outcome == "unknown"


@pytest.mark.parametrize(
    ("status", "code", "kind"),
    [
        (400, "invalid_json", InputError),
        (401, "unauthenticated", AccessError),
        (403, "permission_denied", AccessError),
        (404, "session_not_found", NotFoundError),
        (404, "event_not_found", NotFoundError),
        (404, "artifact_not_found", NotFoundError),
        (404, "state_key_not_found", NotFoundError),
        (404, "not_found", SessiondError),
        (405, "method_not_allowed", SessiondError),
        (409, "session_already_exists", ConflictError),
        (409, "event_id_conflict", ConflictError),
        (409, "limit_reached", ConflictError),
        (409, "artifact_version_exists", ConflictError),
        (409, "lease_held", BusyError),
        (409, "fenced", StaleError),
        (410, "position_gone", GoneError),
        (410, "revision_trimmed", GoneError),
        (410, "user_erased", GoneError),
        (412, "revision_mismatch", StaleError),
        (413, "payload_too_large", InputError),
        (415, "unsupported_media_type", InputError),
        (422, "invalid_argument", InputError),
        (500, "internal", SessiondError),
    ],
)
async def test_errors_have_their_classes(client: Connect, status: int, code: str, kind: type[SessiondError]) -> None:
    problem = {"code": code, "detail": "why", "outcome": "not_applied", "requestId": "r1", "revision": 7}
    async with answering(f"{status}\n{json.dumps(problem)}") as server:
        with pytest.raises(SessiondError, match="why") as refused:
            await client(server.url).session("a", "u", "s").append(author="a")
    error = refused.value
    assert type(error) is kind
    assert (error.status, error.code, error.outcome, error.request_id) == (status, code, "not_applied", "r1")
    assert error.problem["detail"] == "why"
    if isinstance(error, StaleError | GoneError):
        assert error.revision == 7


@pytest.mark.parametrize("answer", ["404\n<h1>", "409\n<h1>", "200\n<h1>", "404\n{}", "302\n", "200\n[]"])
async def test_another_server_is_not_taken_for_an_empty_one(client: Connect, answer: str) -> None:
    async with answering(answer) as server:
        with pytest.raises(SessiondError) as odd:
            await client(server.url).session("a", "u", "s").get()
    assert type(odd.value) is SessiondError


async def test_a_server_that_is_not_there_is_said_to_be(client: Connect, caplog: pytest.LogCaptureFixture) -> None:
    url = f"http://127.0.0.1:{free_port()}"
    nowhere = client(url, token="hunter2", headers={"X-Key": "hunter2"}, retry_for=0.5)
    # In the words of the system, whichever client it is.
    with pytest.raises(SessiondError, match="cannot be reached: ConnectError: Connection refused") as failed:
        await nowhere.session("a/b", "u", "s").create(state={"k": "hunter2"})
    assert (failed.value.status, failed.value.outcome) == (None, "not_applied")
    asked = rf"POST {url}/v1/apps/a%2Fb/users/u/sessions"
    logged = [record.getMessage() for record in caplog.records if record.name == "sessiond"]
    assert re.search(rf"\(Gave up {asked}, {len(logged) + 1} attempts in 0\.\d s\)$", str(failed.value)), failed.value
    assert len(logged) >= 4
    for attempt, line in enumerate(logged, 1):
        assert re.match(rf"{asked}: attempt {attempt} failed, trying again in 0\.\d s: ", line), line
    assert "hunter2" not in caplog.text + str(failed.value)
    with pytest.raises(SessiondError, match="1 attempt in") as once:
        await nowhere.session("a", "u", "s").get(retry_for=0)
    assert isinstance(once.value.__cause__, httpx.ConnectError) and once.value.outcome is None


async def test_a_slow_server_is_not_waited_for_forever(client: Connect) -> None:
    async def silence(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()
        writer.close()

    async def drip(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\n")
        with contextlib.suppress(ConnectionError):
            while not writer.is_closing():
                writer.write(b" ")
                await writer.drain()
                await asyncio.sleep(0.01)

    for serve in (silence, drip):
        listener = await asyncio.start_server(serve, "127.0.0.1", 0)
        url = "http://{}:{}".format(*listener.sockets[0].getsockname())
        slow = client(url, timeout=60, retry_for=0).session("a", "u", "s")
        with pytest.raises(SessiondError, match=r"no whole answer within 0\.3 s\. \(Gave up GET .*, 1 attempt") as late:
            await slow.get(timeout=0.3)
        assert isinstance(late.value.__cause__, TimeoutError)
        listener.close()


async def test_a_connection_has_to_come_about_soon(client: Connect, monkeypatch: pytest.MonkeyPatch) -> None:
    assert _times.CONNECT == 2.0
    with pytest.raises(SessiondError) as failed:
        # An address of a network that there is not, for examples.
        monkeypatch.setattr(_times, "CONNECT", 0.1)
        await client("http://192.0.2.1", retry_for=0).session("a", "u", "s").create()
    assert failed.value.outcome == "not_applied"


async def test_a_restart_of_the_server_is_not_noticed(
    client: Connect, own_server: Server, app: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_times, "PAUSES", PAUSES)
    s = client(own_server.url).session(app, "ada")
    await s.create()
    stop = asyncio.Event()

    async def work() -> int:
        count = 0
        while not stop.is_set():
            await s.append(author="a", delta={"n": (count := count + 1)})
        return count

    worker = asyncio.create_task(work())
    await anext(item async for item in s.watch() if isinstance(item, Event) and item.sequence == 3)
    await asyncio.to_thread(own_server.stop)
    await asyncio.to_thread(own_server.start)
    stop.set()
    count = await worker
    assert (await s.get(last=0)).revision == await s.state("n") == count


async def test_headers_are_sent_with_every_request(client: Connect, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SESSIOND_TOKEN", "secret")
    async with answering("200\n{}", "200\n{}", "200\n{}") as server:
        monkeypatch.setenv("SESSIOND_URL", server.url)
        await client(headers={"X-Tenant": "t"}).app("a").state()
        await client(headers={"Authorization": "Basic x"}).app("a").state()
        await client(token="").app("a").state()
    first, second, third = (request.lower().splitlines() for request in server.requests)
    assert {"authorization: bearer secret", "x-tenant: t"} <= set(first)
    assert any(line.startswith("user-agent: sessiond-python/") for line in first)
    assert "authorization: basic x" in second
    assert not any(line.startswith("authorization") for line in third)


async def test_a_token_is_asked_for_again_when_it_is_refused(client: Connect) -> None:
    refused = '401\n{"code": "unauthenticated", "detail": "no valid token"}'
    tokens = iter(["one", "two"])
    async with answering(refused, "200\n{}", "200\n{}", refused) as server:
        app = client(server.url, token=lambda: next(tokens)).app("a")
        await app.state()
        await app.state()
        with pytest.raises(AccessError, match="callback for the token failed") as failed:
            await app.increment("n")
        assert failed.value.__cause__ is not None and failed.value.outcome == "not_applied"
    shown = [re.findall(r"(?im)^authorization: bearer (\w+)", request) for request in server.requests]
    assert shown == [["one"], ["two"], ["two"], ["two"]]
    async with answering(refused) as server:
        with pytest.raises(AccessError, match="No token was sent") as missing:
            await client(server.url).app("a").state()
        assert missing.value.status == 401


async def test_an_async_function_gives_tokens_to_the_asynchronous_client(client: Connect) -> None:
    async def token() -> str:
        return "one"

    async with answering("200\n{}") as server:
        asked = client(server.url, token=token)
        if isinstance(asked, AsyncClient):
            await asked.app("a").state()
            assert "Bearer one" in server.requests[0]
        else:
            with pytest.raises(AccessError) as failed:
                await asked.app("a").state()
            assert isinstance(failed.value.__cause__, TypeError)


@pytest.mark.parametrize(
    "url", ["localhost:8080", "ftp://h", "http://u:hunter2@h", "http://h?token=hunter2", "http://"]
)
def test_other_urls_are_refused(url: str) -> None:
    with pytest.raises(ValueError, match="URL of sessiond") as refused:
        AsyncClient(url)
    assert "hunter2" not in str(refused.value)


def test_what_cannot_be_sent_is_refused() -> None:
    for wrong in ({"token": "a b"}, {"headers": {"X": "hunter2\n"}}):
        with pytest.raises(ValueError) as refused:
            AsyncClient("http://h", **wrong)
        assert "hunter2" not in str(refused.value)
    with pytest.raises(ValueError, match="two credentials"):
        AsyncClient("http://h", token="t", headers={"Authorization": "Bearer t"})


async def test_a_server_behind_a_proxy_has_a_path(client: Connect, server: Server) -> None:
    async with proxy(server.address) as through:
        with pytest.raises(SessiondError, match="/base/v1/apps/a/state"):
            await client(f"{through.url}/base/").app("a").state()
