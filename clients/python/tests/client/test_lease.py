"""One turn at a time."""

import asyncio
import os

import pytest

from sessiond import AsyncClient, AsyncSession, BusyError, SessiondError, StaleError
from sessiond._paths import process_name

from ..support.proxy import Proxy, answering
from .both import Connect

pytestmark = pytest.mark.both_databases


async def test_turns_do_not_interleave(s: AsyncSession, db: AsyncClient, app: str) -> None:
    await s.create()

    async def work(n: int) -> None:
        mine = db.session(app, "ada", s.id)
        async with mine.lease() as turn:
            for _ in range(3):
                await turn.append(author=f"w{n}")
                await asyncio.sleep(0.01)
        assert mine.revision == turn.revision

    await asyncio.wait_for(asyncio.gather(*(work(n) for n in range(3))), 120)
    authors = [event.author async for event in s.events()]
    assert [authors[at] for at in (0, 3, 6)] == [authors[at] for at in (1, 4, 7)] == [authors[at] for at in (2, 5, 8)]
    assert len(set(authors)) == 3


async def test_a_session_that_is_busy(s: AsyncSession, db: AsyncClient, app: str) -> None:
    await s.create()
    await s.append(author="a")
    other = db.session(app, "ada", s.id)
    async with s.lease(owner="worker-1", exclusive="all") as turn:
        assert (turn.began, turn.revision) == (1, 1)
        for wait in (0, 0.2):
            with pytest.raises(BusyError) as busy:
                async with other.lease(wait=wait):
                    raise AssertionError
            assert (busy.value.status, busy.value.owner, busy.value.outcome) == (409, "worker-1", "not_applied")
            assert busy.value.expire_time is not None and busy.value.expire_time >= turn.expire_time
        # Nor may others write in between.
        with pytest.raises(BusyError):
            await other.append(author="b")
        await turn.increment("n")
        await turn.artifacts.save("f", b"x")
        await turn.set_metadata(display_name="Tea")
        await turn.rewind(to_revision=1)
    async with other.lease(wait=0) as late:
        assert late.began > late.revision == 0


async def test_who_was_superseded_writes_nothing(s: AsyncSession, db: AsyncClient, app: str) -> None:
    await s.create()
    async with s.lease() as turn:
        async with db.session(app, "ada", s.id).lease(steal=True) as thief:
            for write in (turn.append(author="a"), turn.increment("n"), turn.delete(), turn.renew()):
                with pytest.raises(StaleError) as fenced:
                    await write
                assert (fenced.value.code, fenced.value.revision) == ("fenced", None)
            await turn.release()
            await thief.append(author="thief")
    assert [event.author async for event in s.events()] == ["thief"]


async def test_a_lease_is_renewed_while_its_block_runs(s: AsyncSession, db: AsyncClient, app: str) -> None:
    await s.create()
    async with s.lease(ttl=3) as turn:
        granted = turn.expire_time
        for _ in range(1000):
            if turn.expire_time > granted + 3:
                break
            await asyncio.sleep(0.01)
        # Its time is over, and it goes on.
        assert turn.expire_time > granted + 3
        with pytest.raises(BusyError):
            await db.session(app, "ada", s.id).acquire(wait=0)
    mine = await s.acquire(owner="me", invocation_id="i", wait=0)
    # The same turn of the same holder is a retry.
    again = await db.session(app, "ada", s.id).acquire(owner="me", invocation_id="i", wait=0)
    await again.append(author="a")
    await mine.release()
    with pytest.raises(StaleError):
        await again.renew()


async def test_a_turn_ends_with_its_block(s: AsyncSession, db: AsyncClient) -> None:
    await s.create()
    with pytest.raises(ZeroDivisionError):
        async with s.lease():
            raise ZeroDivisionError
    async with s.lease(wait=0):
        await s.delete()


async def test_a_lease_is_taken_once_whatever_gets_lost(far: AsyncSession, s: AsyncSession, network: Proxy) -> None:
    await s.create()
    network.lose_answers = 2
    async with far.lease(wait=0) as turn:
        network.lose_answers = 1
        await turn.append(author="a")
        network.lose_answers = 1
    async with s.lease(wait=0) as turn:
        assert (turn._lease["epoch"], turn.began) == (2, 1)


async def test_a_wait_is_held_by_the_server(client: Connect) -> None:
    held = '409\n{"code": "lease_held", "owner": "o", "outcome": "not_applied"}'
    granted = '201\n{"epoch": 7, "incarnation": "ab", "expireTime": 2.5, "revision": 0}'
    async with answering(held, held, granted) as server:
        await client(server.url).session("a", "u", "s").acquire(owner="me", invocation_id="i", wait=100, ttl=5)
    path = "/v1/apps/a/users/u/sessions/s/lease"
    asked = [request.partition(" HTTP")[0] for request in server.requests]
    assert asked == [f"POST {path}", f"POST {path}?wait=30", f"POST {path}?wait=30"]
    assert server.requests[0].endswith('{"owner":"me","invocationId":"i","ttl":5}')


async def test_a_release_that_fails_does_not_fail_the_turn(client: Connect, caplog: pytest.LogCaptureFixture) -> None:
    granted = '201\n{"epoch": 7, "incarnation": "ab", "expireTime": 2.5, "revision": 0}'
    async with answering(granted, '500\n{"outcome": "not_applied"}') as server:
        async with client(server.url).session("a", "u", "s").lease():
            pass
    assert "not released" in caplog.text
    with pytest.raises(SessiondError):
        async with client("http://127.0.0.1:1", retry_for=0).session("a", "u", "s").lease():
            raise AssertionError


def test_a_process_has_a_name_of_its_own() -> None:
    mine = process_name()
    assert mine == process_name() and len(mine.encode()) <= 256
    read, write = os.pipe()
    if not (child := os.fork()):
        os.write(write, process_name().encode())
        os._exit(0)
    os.waitpid(child, 0)
    assert os.read(read, 999).decode() not in ("", mine)
    os.close(read)
    os.close(write)
