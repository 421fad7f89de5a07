"""The sessions of an app, from a database of ADK or from any session service, in parts of an export."""

from __future__ import annotations

import importlib
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol
from urllib.parse import urlsplit

from google.adk.cli.service_registry import get_service_registry
from google.adk.sessions.base_session_service import BaseSessionService
from google.adk.sessions.state import State

from ._databases import Database
from ._lines import (
    SHARED_REVISION,
    Refused,
    SessionLines,
    StoredEvent,
    StoredSession,
    Told,
    is_id,
    of_session,
    shared,
    shared_line,
    short,
)

NAME_RULE = "1 to 256 bytes without control characters, not `.` or `..`"


@dataclass(frozen=True)
class Part:
    """A part of an export that makes sense alone: the state of an app or a user, or a session with its events."""

    lines: bytes | SessionLines
    failed: dict[str, object] | None = None
    """Why there are no lines: as the server says it of a session that it refuses."""
    replaced: tuple[dict[str, object], ...] = ()
    """What was replaced in it, one by one."""


@dataclass(frozen=True)
class _Found:
    """A session of a source."""

    session: StoredSession
    events: AsyncIterator[list[StoredEvent]]
    shown: dict[str, Any]
    """The merged state, of which the shared scopes are read where a source has them nowhere else."""


class _Source(Protocol):
    """Sessions of an app, wherever they are."""

    def names(self) -> AsyncIterator[tuple[str, str]]:
        """Yields users and ids of sessions, sorted."""

    def session(self, user: str, id: str) -> AbstractAsyncContextManager[_Found | None]:
        """Opens a session; None if it is no more there."""

    async def shared(self, user: str | None, shown: dict[str, Any]) -> dict[str, Any]:
        """Returns the state of the app, or of a user, without prefixes."""

    async def owners(self) -> list[str | None]:
        """Returns who may have state without a session: users, and None for the app."""


async def _at_once(events: list[StoredEvent]) -> AsyncIterator[list[StoredEvent]]:
    yield events


class _OfService:
    """ADK shows app and user state through sessions only: there is none of an app or a user without a session."""

    def __init__(self, service: BaseSessionService, app: str, users: list[str] | None) -> None:
        self._service, self._app, self._users = service, app, users

    async def names(self) -> AsyncIterator[tuple[str, str]]:
        listed = []
        for user in [None] if self._users is None else self._users:
            listed += (await self._service.list_sessions(app_name=self._app, user_id=user)).sessions
        for name in sorted({(session.user_id, session.id) for session in listed}):
            yield name

    @asynccontextmanager
    async def session(self, user: str, id: str) -> AsyncIterator[_Found | None]:
        session = await self._service.get_session(app_name=self._app, user_id=user, session_id=id)
        if session is None:
            yield None
        else:
            stored, events = of_session(session)
            yield _Found(stored, _at_once(events), session.state)

    async def shared(self, user: str | None, shown: dict[str, Any]) -> dict[str, Any]:
        return shared(shown, State.APP_PREFIX if user is None else State.USER_PREFIX)

    async def owners(self) -> list[str | None]:
        return []


class _OfDatabase:
    def __init__(self, database: Database, app: str, users: list[str] | None) -> None:
        self._database, self._app, self._users = database, app, users

    async def names(self) -> AsyncIterator[tuple[str, str]]:
        async for user, id in self._database.sessions(self._app):
            if self._users is None or user in self._users:
                yield user, id

    @asynccontextmanager
    async def session(self, user: str, id: str) -> AsyncIterator[_Found | None]:
        async with self._database.session(self._app, user, id) as found:
            yield None if found is None else _Found(*found, {})

    async def shared(self, user: str | None, shown: dict[str, Any]) -> dict[str, Any]:
        if user is None:
            return await self._database.app_state(self._app)
        return await self._database.user_state(self._app, user)

    async def owners(self) -> list[str | None]:
        owners = await self._database.owners(self._app)
        return [None, *(user for user in owners if self._users is None or user in self._users)]


def _source(source: BaseSessionService | Database, app: str, users: list[str] | None) -> _Source:
    return _OfDatabase(source, app, users) if isinstance(source, Database) else _OfService(source, app, users)


async def parts(
    service: BaseSessionService | Database, app: str, users: list[str] | None = None, *, replace: bool = False
) -> AsyncIterator[Part]:
    """Yields what a source has of an app: app state, then for each user the state and the sessions, by their names.

    Args:
      service: A database of ADK's own services, or any session service of ADK.
      app: The app's name.
      users: Whose sessions; None means everybody's. A service that cannot list those needs it.
      replace: Whether to replace what sessiond does not take, and to tell of each, rather than to leave the session.
    """
    source = _source(service, app, users)
    # By whom: the app is None.
    revisions: dict[str | None, int] = {}
    async for user, id in source.names():
        named: dict[str, object] = {"app": app, "session": id, "userId": user}
        states: list[Part | None] = []
        part: Part | None = None
        try:
            if (what := _no_id(user, id)) is not None:
                yield _failed(named, "invalid_argument", f"{what} is no id: {NAME_RULE}")
                continue
            async with source.session(user, id) as found:
                if found is None:
                    continue  # Deleted since it was listed.
                for owner in (None, user):
                    if owner not in revisions:
                        state, revisions[owner] = await _shared(source, app, owner, found.shown, replace)
                        states.append(state)
                lines = SessionLines(found.session)
                async for events in found.events:
                    for event in events:
                        lines.add(event)
            lines.end((_seen(revisions[user]), _seen(revisions[None])))
            if lines.told and not replace:
                raise Refused(lines.told)
            part = Part(lines, replaced=tuple(_replaced(named, each) for each in lines.told))
        except (ValueError, RecursionError) as error:
            part = _failed(named, "invalid_json", str(error) or "too deep")
        for each in (*states, part):
            if each is not None:
                yield each
    for owner in await source.owners():
        if owner not in revisions and (owner is None or is_id(owner)):
            state, revisions[owner] = await _shared(source, app, owner, {}, replace)
            if state is not None:
                yield state


def _seen(revision: int) -> int:
    """Returns the revision that events saw of a shared scope: none, or the one before that of now."""
    return max(0, revision - 1)


async def _shared(
    source: _Source, app: str, user: str | None, shown: dict[str, Any], replace: bool
) -> tuple[Part | None, int]:
    named: dict[str, object] = {"app": app, **({} if user is None else {"userId": user})}
    told: list[Told] = []
    try:
        state = await source.shared(user, shown)
        if not state:
            return None, 0
        text = shared_line(user, state, told)
        if told and not replace:
            raise Refused(told)
    except (ValueError, RecursionError) as error:
        of = "the app's state" if user is None else "the user's state"
        return _failed(named, "invalid_json", f"{of}: {error}"), 0
    return Part(text, replaced=tuple(_replaced(named, each) for each in told)), SHARED_REVISION


def _no_id(user: str, id: str) -> str | None:
    """Returns which of the names of a session sessiond does not take."""
    if not is_id(user):
        return "the user's id"
    return None if is_id(id.strip()) else "the session's id"


def _failed(named: dict[str, object], code: str, detail: str) -> Part:
    return Part(b"", failed={**named, "result": "failed", "code": code, "detail": detail})


def _replaced(named: dict[str, object], told: Told) -> dict[str, object]:
    event = {} if told.event is None else {"event": told.event}
    fault = told.fault
    return {
        **named,
        **event,
        "at": short(fault.at),
        "result": "replaced",
        "detail": f"{fault.what}; now {fault.became}",
    }


def open_service(uri: str) -> BaseSessionService:
    """Returns the service of a URI of ADK's command line, or of `module:attribute`.

    Raises:
      ValueError: The URI names none, or a SQLite file that does not exist: ADK's service would create it.
    """
    if "://" in uri:
        url = urlsplit(uri)
        if url.scheme == "sqlite" and not Path(url.path[1:]).is_file():
            raise ValueError(f"there is no file {url.path[1:]!r}")
        service = get_service_registry().create_session_service(uri, agents_dir=".")
    else:
        module, _, attribute = uri.partition(":")
        if not module or not attribute:
            raise ValueError("--from takes a URI such as sqlite:///sessions.db, or module:attribute")
        service = getattr(importlib.import_module(module), attribute)
    if not isinstance(service, BaseSessionService):
        raise ValueError("--from names no session service")
    return service
