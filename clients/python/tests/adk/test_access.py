"""A server that asks who it is: keys, minted tokens, and what each is refused."""

import asyncio
import secrets
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from google.adk.events.event import Event

from sessiond_adk import SessiondAccessError, SessiondSessionService

from ..support.process import Program, Server
from .test_cli import ADK, AGENT
from .test_service import event, get

CLIENT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Closed:
    """A server that asks for a credential, and the file with that of the administrator."""

    server: Server
    admin_key_file: Path

    def service(self, token: str | Callable[[], str | Awaitable[str]] | None) -> SessiondSessionService:
        return SessiondSessionService(self.server.url, token=token)

    def plain(self) -> httpx.Client:
        """The administrator, by plain HTTP."""
        headers = {"Authorization": f"Bearer {self.admin_key_file.read_text(encoding='utf-8').strip()}"}
        return httpx.Client(base_url=f"{self.server.url}/v1", headers=headers, timeout=60)

    def key(self, app: str, role: str = "agent") -> dict[str, Any]:
        """Makes a key for all users of an app."""
        with self.plain() as plain:
            answer = plain.post("/keys", json={"name": "test", "role": role, "apps": [app]}).raise_for_status()
            key: dict[str, Any] = answer.json()
            return key


@pytest.fixture(scope="module")
def closed(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Closed]:
    folder = tmp_path_factory.mktemp("closed")
    file = folder / "admin.key"
    file.write_text(secrets.token_urlsafe(32) + "\n", encoding="utf-8")
    server = Server(f"sqlite://{folder}/test.db", folder / "sessiond.log", "--admin-key-file", str(file))
    yield Closed(server, file)
    server.stop()


@pytest.mark.parametrize("token", [None, "garbage"])
async def test_without_a_valid_credential_nothing_is_done(closed: Closed, app: str, token: str | None) -> None:
    async with closed.service(token) as stranger, closed.service(closed.admin_key_file.read_text) as admin:
        session = await admin.create_session(app_name=app, user_id="u", session_id="s")
        for request, outcome in [
            (stranger.create_session(app_name=app, user_id="u"), "not_applied"),
            (stranger.append_event(session, event({"k": 1})), "not_applied"),
            (stranger.delete_session(app_name=app, user_id="u", session_id="s"), "not_applied"),
            (stranger.mint_token(app, "u"), "not_applied"),
            (stranger.get_session(app_name=app, user_id="u", session_id="s"), None),
            (stranger.list_sessions(app_name=app), None),
            (stranger.get_user_state(app_name=app, user_id="u"), None),
        ]:
            with pytest.raises(SessiondAccessError) as refused:
                await request
            error = refused.value
            assert (error.status, error.code, error.outcome) == (401, "unauthenticated", outcome)
            assert error.request_id
            assert ("No token was sent" in str(error)) == (token is None)
        assert await get(admin, session) == session
        assert [found.id for found in (await admin.list_sessions(app_name=app)).sessions] == ["s"]


async def test_a_key_of_an_app_keeps_its_sessions(closed: Closed, app: str) -> None:
    async with closed.service(closed.key(app)["key"]) as service:
        session = await service.create_session(app_name=app, user_id="u", state={"app:k": 1, "user:k": 2})
        await service.append_event(session, Event(author="agent", invocation_id="i1"))
        assert await service.apply_ops(session, [{"op": "increment", "key": "app:k", "value": 1}]) == {"app:k": 2}
        assert await get(service, session) == session

        # Of another app there is nothing to read.
        assert (await service.list_sessions(app_name=f"{app}_other")).sessions == []


async def test_a_minted_token_is_for_one_user_of_one_app(closed: Closed, app: str) -> None:
    key = closed.key(app)
    async with closed.service(key["key"]) as service:
        minted = await service.mint_token(app, "Ada/1")
        theirs = await service.create_session(app_name=app, user_id="Bob", session_id="s")
        longer = await service.mint_token(app, "Ada/1", ttl=7200)
    assert longer.expire_time - minted.expire_time > 3599
    assert minted.token.startswith("sdu_")

    with httpx.Client(headers={"Authorization": f"Bearer {minted.token}"}, timeout=60) as plain:
        known = plain.get(f"{closed.server.url}/v1/whoami").raise_for_status().json()
    assert (known["role"], known["apps"], known["users"]) == ("user", [app], ["Ada/1"])
    assert known["expireTime"] == minted.expire_time

    async with closed.service(minted.token) as ada:
        session = await ada.create_session(app_name=app, user_id="Ada/1", state={"k": 1, "user:k": 2})
        await ada.append_event(session, event({"k": 3}))
        assert await get(ada, session) == session
        assert await ada.get_user_state(app_name=app, user_id="Ada/1") == {"k": 2}
        # The list of the app is that of its own sessions.
        listed = (await ada.list_sessions(app_name=app)).sessions
        assert [(found.user_id, found.id) for found in listed] == [("Ada/1", session.id)]
        # Of somebody else: nothing to read, and nothing may be written.
        assert await ada.get_session(app_name=app, user_id="Bob", session_id="s") is None
        with pytest.raises(SessiondAccessError, match="403 permission_denied"):
            await ada.append_event(theirs, event({"k": 1}))
        assert theirs.state == {}


async def test_the_token_of_a_program_comes_from_the_environment(
    closed: Closed, app: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SESSIOND_TOKEN", closed.key(app)["key"])
    (tmp_path / app).mkdir()
    (tmp_path / app / "agent.py").write_text(AGENT, encoding="utf-8")
    (tmp_path / app / "services.py").write_text("import sessiond_adk\n", encoding="utf-8")
    uri = closed.server.url.replace("http://", "sessiond://")
    monkeypatch.setenv("PYTHONPATH", str(CLIENT))
    ran = Program(*ADK, "run", f"--session_service_uri={uri}", str(tmp_path / app), said="Hello\nexit\n")
    assert await asyncio.to_thread(ran.wait) == 0, ran.errors
    assert "[greeter]: Hello, I am scripted." in ran.output
    async with SessiondSessionService(closed.server.url) as service:
        (session,) = (await service.list_sessions(app_name=app)).sessions
        assert session.state == {"user:greeting": "Hello, I am scripted."}
