"""`python -m sessiond_adk.import`: brings the sessions of one of ADK's session services to sessiond.

It only lists and reads the sessions of the source. (A service of ADK may create its tables when it is opened, if it has
none.) A session that changes meanwhile is taken as it was read. The same command again changes nothing: run it again if
it was interrupted.
"""

from __future__ import annotations

import argparse
import asyncio
import importlib
import json
import os
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import httpx
from google.adk.cli.service_registry import get_service_registry
from google.adk.sessions.base_session_service import BaseSessionService
from google.adk.sessions.state import State

from ._lines import line, session_lines, shared
from ._token import Bearer
from ._version import __version__

# How much one request brings: a server answers while it reads, and a client that reads nothing meanwhile would fill
# what is between them.
_REQUEST_BYTES = 4 << 20
_REQUEST_SESSIONS = 500


@dataclass(frozen=True)
class Part:
    """A part of an export that makes sense alone: the state of an app or a user, or a session with its events."""

    lines: bytes
    events: int | None = None
    """How many events the session has; None of a state."""
    failed: dict[str, object] | None = None
    """Why there are no lines: as the server says it of a session that it refuses."""


async def parts(service: BaseSessionService, app: str, users: list[str] | None = None) -> AsyncIterator[Part]:
    """Yields what a service has of an app: app state, then for each user the state and the sessions, by their names.

    Args:
      service: Any session service of ADK.
      app: The app's name.
      users: Whose sessions; None means everybody's. A service that cannot list those needs it.

    ADK shows app and user state through sessions only: there is none of an app or a user without a session.
    """
    listed = []
    for user in [None] if users is None else users:
        listed += (await service.list_sessions(app_name=app, user_id=user)).sessions
    app_revision = user_revision = 0
    first, last_user = True, ""
    for user, id in sorted({(session.user_id, session.id) for session in listed}):
        session = await service.get_session(app_name=app, user_id=user, session_id=id)
        if session is None:
            continue  # Deleted since it was listed.
        try:
            shown = []
            if first:
                state = shared(session.state, State.APP_PREFIX)
                app_revision = 1 if state else 0
                if state:
                    shown.append(Part(line({"type": "app.state", "revision": 1, "state": state})))
            if first or user != last_user:
                state = shared(session.state, State.USER_PREFIX)
                user_revision = 1 if state else 0
                if state:
                    shown.append(Part(line({"type": "user.state", "userId": user, "revision": 1, "state": state})))
            lines = list(session_lines(session, saw=(user_revision, app_revision)))
        except ValueError as error:
            # A value is none that JSON has, such as a NaN.
            why = {"code": "invalid_json", "detail": str(error)}
            yield Part(b"", failed={"session": id, "userId": user, "result": "failed", **why})
            continue
        for part in shown:
            yield part
        first, last_user = False, user
        yield Part(b"".join(lines), len(lines) - 2)


async def exports(
    service: BaseSessionService, app: str, users: list[str] | None = None, failed: list[dict[str, object]] | None = None
) -> AsyncIterator[bytes]:
    """Yields what a service has of an app as exports of sessiond, each of a bounded number of sessions.

    Sessions that cannot be written out are left out, and told of in `failed`.
    """
    head = line(
        {
            "type": "export",
            "format": 1,
            "scope": "app",
            "appName": app,
            "time": time.time(),
            "server": f"sessiond-adk/{__version__}",
        }
    )
    export, sessions, events = bytearray(head), 0, 0
    async for part in parts(service, app, users):
        if part.failed is not None and failed is not None:
            failed.append(part.failed)
        if len(export) > _REQUEST_BYTES or sessions == _REQUEST_SESSIONS:
            yield bytes(export) + line({"type": "end", "sessions": sessions, "events": events})
            export, sessions, events = bytearray(head), 0, 0
        export += part.lines
        if part.events is not None:
            sessions, events = sessions + 1, events + part.events
    yield bytes(export) + line({"type": "end", "sessions": sessions, "events": events})


async def bring(
    client: httpx.AsyncClient, export: bytes, *, dry_run: bool = False, skip_existing: bool = False
) -> list[dict[str, object]]:
    """Imports one export, and returns what became of each session.

    Raises:
      httpx.HTTPStatusError: The server refused all of it.
    """
    params = {"dryRun": "true" if dry_run else "false", "onConflict": "skip" if skip_existing else "fail"}
    headers = {"content-type": "application/x-ndjson"}
    answer = await client.post("/v1/import", content=export, params=params, headers=headers)
    answer.raise_for_status()
    results = [json.loads(text) for text in answer.text.splitlines()]
    return [result for result in results if "result" in result]


class SourceError(Exception):
    """The source failed; the message says how, in one line."""

    def __init__(self, error: Exception) -> None:
        """Takes what the service of the source raised."""
        lines = str(error).strip().splitlines()
        super().__init__(f"the source cannot be read: {type(error).__name__}: {lines[0] if lines else ''}")


async def _read(export: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    try:
        async for lines in export:
            yield lines
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


async def _run(service: BaseSessionService, given: argparse.Namespace) -> int:
    results: list[dict[str, object]] = []
    if given.to == "-":
        async for export in _read(exports(service, given.app, given.user, results)):
            sys.stdout.buffer.write(export)
        sys.stdout.buffer.flush()
    else:
        auth = Bearer(token) if (token := os.environ.get("SESSIOND_TOKEN")) else None
        async with httpx.AsyncClient(base_url=given.to, auth=auth, timeout=None) as client:
            async for export in _read(exports(service, given.app, given.user, results)):
                results += await bring(client, export, dry_run=given.dry_run, skip_existing=given.skip_existing)
    became = Counter(str(result["result"]) for result in results)
    for result in results:
        if result["result"] not in ("created", "unchanged"):
            print(json.dumps(result, ensure_ascii=False), file=sys.stderr if given.to == "-" else sys.stdout)
    if given.to != "-":
        words = ("created", "unchanged", "skipped", "failed")
        print(", ".join(f"{became[word]} {word}" for word in words), file=sys.stderr)
    return 1 if became["failed"] else 0


def main() -> None:
    """Imports, and tells of sessions that are neither created nor unchanged; exit status 1 if one failed."""
    parser = argparse.ArgumentParser(prog="python -m sessiond_adk.import", description=(__doc__ or "").split("\n")[0])
    parser.add_argument(
        "--from", dest="uri", required=True, help="a URI as ADK's command line takes, or module:attribute"
    )
    parser.add_argument("--app", required=True, help="the app's name")
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
    given = parser.parse_args()
    try:
        service = open_service(given.uri)
    except ValueError as error:
        parser.error(str(error))
    except Exception as error:  # Any service has errors of its own.
        sys.exit(f"error: {SourceError(error)}")
    try:
        sys.exit(asyncio.run(_run(service, given)))
    except SourceError as error:
        hint = "; try `sessiond import adk`, which reads ADK's own databases" if given.uri[:6] == "sqlite" else ""
        sys.exit(f"error: {error}{hint}")
    except httpx.HTTPError as error:
        sys.exit(f"error: {error}")


if __name__ == "__main__":
    main()
