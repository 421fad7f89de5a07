"""Several writers, event loops and threads."""

import asyncio
from concurrent.futures import ThreadPoolExecutor

import pytest
from google.adk.errors import StaleSessionError
from google.adk.sessions.base_session_service import GetSessionConfig
from google.adk.sessions.session import Session

from sessiond_adk import SessiondSessionService

from .test_service import event, get

pytestmark = pytest.mark.both_databases


async def test_stale_writers_are_let_through(service: SessiondSessionService, app: str) -> None:
    mine = await service.create_session(app_name=app, user_id="u")
    theirs = await get(service, mine)
    await service.append_event(theirs, event({"k": 1, "theirs": 1}))
    await service.append_event(mine, event({"k": 2, "mine": 1}))
    # A session object shows what it was loaded with and what was appended through it.
    assert mine.state == {"k": 2, "mine": 1}
    stored = await get(service, mine)
    assert stored.state == {"k": 2, "mine": 1, "theirs": 1}
    assert stored.events == [*theirs.events, *mine.events]


async def test_strict_refuses_stale_writers(strict: SessiondSessionService, app: str) -> None:
    mine = await strict.create_session(app_name=app, user_id="u")
    await strict.append_event(mine, event({"k1": 1}))
    theirs = await get(strict, mine)
    await strict.append_event(theirs, event({"k2": 2}))
    late = event({"k3": 3, "temp:k": 1})
    with pytest.raises(StaleSessionError, match="modified in storage"):
        await strict.append_event(mine, late)
    assert (mine.state, len(mine.events)) == ({"k1": 1}, 1)
    assert late.actions.state_delta == {"k3": 3, "temp:k": 1}
    assert await get(strict, mine) == theirs

    reloaded = await get(strict, mine, GetSessionConfig(num_recent_events=0))
    await strict.append_event(reloaded, late)
    assert (await get(strict, mine)).state == {"k1": 1, "k2": 2, "k3": 3}


async def test_strict_does_not_guess(strict: SessiondSessionService, app: str) -> None:
    session = await strict.create_session(app_name=app, user_id="u")
    with pytest.raises(StaleSessionError):
        await strict.append_event(Session(app_name=app, user_id="u", id=session.id), event())


async def test_strict_is_not_about_clocks_nor_shared_state(strict: SessiondSessionService, app: str) -> None:
    session = await strict.create_session(app_name=app, user_id="u")
    other = await strict.create_session(app_name=app, user_id="u")
    await strict.append_event(session, event(timestamp=2_000_000_000.0))
    await strict.append_event(other, event({"user:k": 1, "app:k": 1}))
    session.last_update_time = 0.0
    await strict.append_event(session, event(timestamp=1.0))
    # The same event again is no other writer's.
    await strict.append_event(session, session.events[0])
    await strict.append_event(session, event())
    assert len((await get(strict, session)).events) == 3


@pytest.mark.parametrize("deep", [False, True])
async def test_of_two_strict_writers_one_wins(strict: SessiondSessionService, app: str, deep: bool) -> None:
    session = await strict.create_session(app_name=app, user_id="u")
    for turn in range(8):
        latest = await get(strict, session)
        copies = [latest.model_copy(deep=deep, update={} if deep else {"events": []}) for _ in range(2)]
        results = await asyncio.gather(
            *(strict.append_event(copy, event({f"{turn}-{n}": n})) for n, copy in enumerate(copies)),
            return_exceptions=True,
        )
        assert sorted(type(result).__name__ for result in results) == ["Event", "StaleSessionError"]
    stored = await get(strict, session)
    assert (len(stored.events), len(stored.state)) == (8, 8)


@pytest.mark.parametrize("is_strict", [False, True])
async def test_appends_through_one_session_object_take_turns(
    service: SessiondSessionService, strict: SessiondSessionService, app: str, is_strict: bool
) -> None:
    through = strict if is_strict else service
    session = await through.create_session(app_name=app, user_id="u")
    await asyncio.gather(*(through.append_event(session, event({"last": n, f"k{n}": n})) for n in range(32)))
    assert await get(through, session) == session
    assert len(session.events) == 32


async def test_no_concurrent_write_of_shared_state_is_lost(service: SessiondSessionService, app: str) -> None:
    sessions = [await service.create_session(app_name=app, user_id=f"u{n % 4}") for n in range(64)]
    await asyncio.gather(
        *(
            service.append_event(session, event({f"app:k{n}": n, f"user:k{n}": n, f"k{n}": n}))
            for n, session in enumerate(sessions)
        )
    )
    for n, session in enumerate(sessions):
        expected = {f"app:k{m}": m for m in range(64)} | {f"user:k{m}": m for m in range(64) if m % 4 == n % 4}
        assert (await get(service, session)).state == {**expected, f"k{n}": n}


async def test_of_concurrent_creators_one_wins(service: SessiondSessionService, app: str) -> None:
    results = await asyncio.gather(
        *(service.create_session(app_name=app, user_id="u", session_id="s", state={"n": n}) for n in range(8)),
        return_exceptions=True,
    )
    winners = [result for result in results if isinstance(result, Session)]
    assert len(winners) == 1
    assert await get(service, winners[0]) == winners[0]
    assert {type(result).__name__ for result in results if result is not winners[0]} == {"AlreadyExistsError"}


def test_event_loops_and_threads_share_a_service(strict: SessiondSessionService, app: str) -> None:
    session = asyncio.run(strict.create_session(app_name=app, user_id="u"))
    for _ in range(3):
        asyncio.run(strict.append_event(session, event()))

    def work(number: int) -> None:
        async def append() -> None:
            mine = await strict.create_session(app_name=app, user_id="u")
            await asyncio.gather(*(strict.append_event(mine, event({f"app:{number}-{n}": n})) for n in range(4)))

        asyncio.run(append())

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(work, range(16)))
    stored = asyncio.run(get(strict, session))
    assert (len(stored.events), len(stored.state)) == (3, 64)
    # Connections of loops that ended are not kept.
    assert len(strict._http._pools._pools) <= 2


async def test_a_closed_service_can_be_used_again(service: SessiondSessionService, app: str) -> None:
    session = await service.create_session(app_name=app, user_id="u")
    await service.close()
    await service.close()
    assert await get(service, session) == session
