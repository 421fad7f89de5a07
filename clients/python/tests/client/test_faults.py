"""Lost answers, refusals, servers that are not there: what happens once happens once, and errors say what it was."""

import asyncio

import pytest

from sessiond import (
    AccessError,
    AsyncClient,
    AsyncSession,
    Event,
    NotFoundError,
    SessiondError,
    _times,
    text,
)

from ..conftest import PAUSES
from ..support.process import Server
from ..support.proxy import Proxy, answering
from .both import Connect

pytestmark = pytest.mark.both_databases


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
    assert (await far.fork(id="f")).revision == 6
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


async def test_what_one_call_is_given_counts_for_this_one(client: Connect, network: Proxy, s: AsyncSession) -> None:
    await s.create()
    impatient = client(network.url, retry_for=0).session(s.app, s.user, s.id)
    network.lose_answers = 1
    assert (await impatient.append(author="b", retry_for=30)).sequence == 1


async def test_connections_are_reused(far: AsyncSession, network: Proxy) -> None:
    await far.create()
    for _ in range(5):
        await far.append(author="a")
    assert network.connections == 1


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
    async with answering(*["200\n{}"] * 4) as server:
        monkeypatch.setenv("SESSIOND_URL", server.url)
        await client(headers={"X-Tenant": "t"}).app("a").state()
        await client(headers={"Authorization": "Basic x"}).app("a").state()
        await client(token="").app("a").state()
        await client(token="given").app("a").state()
    first, second, third, fourth = (request.lower().splitlines() for request in server.requests)
    assert {"authorization: bearer secret", "x-tenant: t"} <= set(first)
    assert any(line.startswith("user-agent: sessiond-python/") for line in first)
    assert "authorization: basic x" in second
    assert not any(line.startswith("authorization") for line in third)
    assert "authorization: bearer given" in fourth


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
