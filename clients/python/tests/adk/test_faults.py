"""Lost answers: what happens once happens once. What a client does on each answer is in clients/wire/requests.json."""

import pytest
from google.adk.errors.already_exists_error import AlreadyExistsError

from sessiond_adk import SessiondError, SessiondSessionService

from ..support.proxy import Proxy
from .test_service import event, get

pytestmark = pytest.mark.both_databases


async def test_a_strict_append_whose_answer_was_lost_is_not_stale(network: Proxy, app: str) -> None:
    async with SessiondSessionService(network.url, concurrency="session") as far:
        session = await far.create_session(app_name=app, user_id="u")
        for n in range(3):
            network.lose_answers = 1
            await far.append_event(session, event({"n": n}))
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


async def test_what_failed_can_be_appended_again(network: Proxy, app: str) -> None:
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
