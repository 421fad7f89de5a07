"""`python -m sessiond_adk.import`: brings the sessions of one of ADK's session services to sessiond.

It reads the databases of ADK's own services in Python, Go and TypeScript as they are, and changes nothing in them. From
any other service it lists and reads the sessions. (A service of ADK may create its tables when it is opened, if it has
none.) A session that changes meanwhile is taken as it was read. The same command again changes nothing: run it again if
it was interrupted.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import importlib
import json
import os
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TextIO
from urllib.parse import urlsplit

import httpx
from google.adk.cli.service_registry import get_service_registry
from google.adk.sessions.base_session_service import BaseSessionService
from google.adk.sessions.state import State

from sessiond._async.token import AsyncBearer
from sessiond._connect import is_loopback

from ._databases import Database, NotAdk, is_database, open_database
from ._lines import (
    SHARED_REVISION,
    Refused,
    SessionLines,
    StoredEvent,
    StoredSession,
    Told,
    is_id,
    line,
    of_session,
    shared,
    shared_line,
    short,
)
from ._version import __version__

# How much one request brings: a server answers while it reads, and a client that reads nothing meanwhile would fill
# what is between them. What is larger is one session alone, which is answered with a line.
_REQUEST_BYTES = 4 << 20
_REQUEST_SESSIONS = 500
# How many bytes of lines are sent at a time.
_PIECE = 256 << 10


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
                yield _failed(named, "invalid_argument", f"{what} is no id: {_ID}")
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


_ID = "1 to 256 bytes without control characters, not `.` or `..`"


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


class Export:
    """An export of sessiond, of a bounded number of sessions: iterated once, it gives its bytes piece by piece."""

    def __init__(self, app: str) -> None:
        """Begins with its first line."""
        head = {
            "type": "export",
            "format": 1,
            "scope": "app",
            "appName": app,
            "time": time.time(),
            "server": f"sessiond-adk/{__version__}",
        }
        self._pieces: list[bytes | SessionLines] = [line(head)]
        self._size = self._sessions = self._events = 0

    @property
    def is_full(self) -> bool:
        """Whether what comes next belongs into another export."""
        return self._size > _REQUEST_BYTES or self._sessions == _REQUEST_SESSIONS

    def add(self, part: Part) -> None:
        """Adds a part."""
        lines = part.lines
        if isinstance(lines, SessionLines):
            self._sessions, self._events = self._sessions + 1, self._events + lines.events
            self._size += lines.size
            # What is small needs no file.
            self._pieces.append(lines if lines.size > _PIECE else lines.take())
        else:
            self._size += len(lines)
            self._pieces.append(lines)

    def __iter__(self) -> Iterator[bytes]:
        """Yields its bytes."""
        end = line({"type": "end", "sessions": self._sessions, "events": self._events})
        piece = bytearray()
        for lines in (*self._pieces, end):
            for each in [lines] if isinstance(lines, bytes) else lines:
                piece += each
                if len(piece) >= _PIECE:
                    yield bytes(piece)
                    piece.clear()
        yield bytes(piece)

    def close(self) -> None:
        """Gives back what it holds."""
        for lines in self._pieces:
            if isinstance(lines, SessionLines):
                lines.close()


async def exports(
    service: BaseSessionService | Database,
    app: str,
    users: list[str] | None = None,
    failed: list[dict[str, object]] | None = None,
    *,
    replace: bool = False,
) -> AsyncIterator[Export]:
    """Yields what a source has of an app as exports of sessiond, each until the next one is asked for.

    Sessions that cannot be written out are left out, and told of in `failed`; so is each thing that was replaced.
    """
    failed = [] if failed is None else failed
    if not is_id(app):
        failed.append(
            {"app": app, "result": "failed", "code": "invalid_argument", "detail": f"the app's name is no id: {_ID}"}
        )
        return
    export = Export(app)
    try:
        async for part in parts(service, app, users, replace=replace):
            failed += [part.failed] if part.failed is not None else part.replaced
            if export.is_full:
                yield export
                export.close()
                export = Export(app)
            export.add(part)
        yield export
    finally:
        export.close()


async def bring(
    client: httpx.AsyncClient, export: Iterable[bytes], *, dry_run: bool = False, skip_existing: bool = False
) -> list[dict[str, object]]:
    """Imports one export, and returns what became of each session.

    Raises:
      httpx.HTTPStatusError: The server refused all of it.
    """

    async def body() -> AsyncIterator[bytes]:
        for piece in export:
            yield piece

    params = {"dryRun": "true" if dry_run else "false", "onConflict": "skip" if skip_existing else "fail"}
    headers = {"content-type": "application/x-ndjson"}
    answer = await client.post("/v1/import", content=body(), params=params, headers=headers)
    answer.raise_for_status()
    # A line ends with a line feed; other ends of lines may be in an id.
    results = [json.loads(text) for text in answer.content.split(b"\n") if text]
    return [result for result in results if "result" in result]


class SourceError(Exception):
    """The source failed; the message says how, in one line."""

    def __init__(self, error: Exception) -> None:
        """Takes what the service of the source raised."""
        lines = str(error).strip().splitlines()
        super().__init__(f"the source cannot be read: {type(error).__name__}: {lines[0] if lines else ''}")


async def _read(exports: AsyncIterator[Export]) -> AsyncIterator[Export]:
    try:
        async for export in exports:
            yield export
    except Exception as error:  # Any service has errors of its own.
        raise SourceError(error) from error


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


async def _run(source: BaseSessionService | Database, given: argparse.Namespace) -> int:
    if given.app is not None:
        apps = [given.app]
    elif isinstance(source, Database):
        apps = await source.apps()
    else:
        raise NotAdk("a session service does not list its apps: name one with --app")
    became: Counter[str] = Counter()
    auth = AsyncBearer(token, {}) if (token := os.environ.get("SESSIOND_TOKEN")) else None
    is_file = given.to == "-"
    url = "" if is_file else given.to
    async with httpx.AsyncClient(base_url=url, auth=auth, timeout=None, trust_env=not is_loopback(url)) as client:
        for app in apps:
            told: list[dict[str, object]] = []
            async for export in _read(exports(source, app, given.user, told, replace=given.replace)):
                if is_file:
                    sys.stdout.buffer.writelines(export)
                else:
                    told += await bring(client, export, dry_run=given.dry_run, skip_existing=given.skip_existing)
                _tell(told, became, sys.stderr if is_file else sys.stdout)
            _tell(told, became, sys.stderr if is_file else sys.stdout)
    sys.stdout.buffer.flush()
    words = ("created", "unchanged", "skipped", "failed", *(["replaced"] if given.replace else []))
    if not is_file:
        print(", ".join(f"{became[word]} {word}" for word in words), file=sys.stderr)
    return 1 if became["failed"] else 0


def _tell(told: list[dict[str, object]], became: Counter[str], to: TextIO) -> None:
    """Writes what was neither created nor unchanged, and counts all of it."""
    for result in told:
        became[str(result["result"])] += 1
        if result["result"] not in ("created", "unchanged"):
            # What is no character cannot be shown as one.
            print(json.dumps(result, ensure_ascii=False).encode(errors="replace").decode(), file=to)
    told.clear()


async def _import(service: BaseSessionService | None, given: argparse.Namespace) -> int:
    if service is not None:
        return await _run(service, given)
    try:
        database = await open_database(given.uri)
    except NotAdk:
        raise
    except Exception as error:  # Any driver has errors of its own.
        raise SourceError(error) from error
    print(f"reading a database of {database.kind.value}", file=sys.stderr)
    try:
        return await _run(database, given)
    finally:
        await database.close()


def main() -> None:
    """Imports, and tells of sessions that are neither created nor unchanged; exit status 1 if one failed."""
    parser = argparse.ArgumentParser(prog="python -m sessiond_adk.import", description=(__doc__ or "").split("\n")[0])
    parser.add_argument(
        "--from",
        dest="uri",
        required=True,
        help="a database of ADK for Python, Go or TypeScript: sqlite:///FILE or postgresql://USER@HOST/DATABASE; "
        "or another URI as ADK's command line takes, or module:attribute",
    )
    parser.add_argument("--app", help="the app's name; by default, all apps of a database")
    parser.add_argument("--user", action="append", help="a user whose sessions are taken; by default, all")
    parser.add_argument(
        "--to",
        default="http://127.0.0.1:8080",
        help="the server, with SESSIOND_TOKEN as its credential; - writes lines of an export to standard output",
    )
    parser.add_argument("--dry-run", action="store_true", help="judge every session, and write nothing")
    parser.add_argument(
        "--skip-existing", action="store_true", help="sessions of which there is another one are skipped"
    )
    parser.add_argument(
        "--replace",
        action="store_true",
        help="replace what sessiond does not take (half a character, NaN, what is too deep or too large), and tell of "
        "each, so that the rest of its session comes along",
    )
    given = parser.parse_args()
    # A value may be nested as deeply as the source could write it.
    sys.setrecursionlimit(5000)
    # What is read has no cycles, and is much.
    gc.set_threshold(100_000)
    try:
        service = None if is_database(given.uri) else open_service(given.uri)
    except ValueError as error:
        parser.error(str(error))
    except Exception as error:  # Any service has errors of its own.
        sys.exit(f"error: {SourceError(error)}")
    try:
        sys.exit(asyncio.run(_import(service, given)))
    except NotAdk as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)
    except (SourceError, httpx.HTTPError) as error:
        sys.exit(f"error: {error}")
    except BrokenPipeError:
        # Whoever reads the lines, such as `head`, has enough. Python writes the rest of its buffer when it ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)


if __name__ == "__main__":
    main()
