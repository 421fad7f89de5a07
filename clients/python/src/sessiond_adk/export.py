"""`python -m sessiond_adk.export`: writes the sessions of one of ADK's session services as newline-delimited JSON.

Sessions are listed and read, and nothing else is asked of the source; a service of ADK may make its tables when it is
opened, if there are none. A session that changes meanwhile is written as it was read.
"""

from __future__ import annotations

import argparse
import asyncio
import importlib
import sys
import time
from collections.abc import AsyncIterator

from google.adk.cli.service_registry import get_service_registry
from google.adk.sessions.base_session_service import BaseSessionService
from google.adk.sessions.state import State

from ._lines import line, session_lines, shared
from ._version import __version__


async def export(service: BaseSessionService, app: str, users: list[str] | None = None) -> AsyncIterator[bytes]:
    """Yields the lines of an app: app state, then for each user the state and the sessions, by their names.

    Args:
      service: Any session service of ADK.
      app: The app's name.
      users: Whose sessions; None means everybody's. A service that cannot list those needs it.

    ADK shows app and user state through sessions only: there is none of an app or a user without a session.

    Raises:
      ValueError: A value is none that JSON has, such as a NaN.
    """
    listed = []
    for user in [None] if users is None else users:
        listed += (await service.list_sessions(app_name=app, user_id=user)).sessions
    names = sorted({(session.user_id, session.id) for session in listed})
    head = {"type": "export", "format": 1, "scope": "app", "appName": app, "time": time.time()}
    yield line({**head, "server": f"sessiond-adk/{__version__}"})
    app_revision = user_revision = sessions = events = 0
    first, last_user = True, ""
    for user, id in names:
        session = await service.get_session(app_name=app, user_id=user, session_id=id)
        if session is None:
            continue  # Deleted since it was listed.
        if first:
            state = shared(session.state, State.APP_PREFIX)
            app_revision = 1 if state else 0
            if state:
                yield line({"type": "app.state", "revision": 1, "state": state})
        if first or user != last_user:
            state = shared(session.state, State.USER_PREFIX)
            user_revision = 1 if state else 0
            if state:
                yield line({"type": "user.state", "userId": user, "revision": 1, "state": state})
        first, last_user = False, user
        count = 0
        for text in session_lines(session, saw=(user_revision, app_revision)):
            yield text
            count += 1
        sessions += 1
        events += count - 2
    yield line({"type": "end", "sessions": sessions, "events": events})


def open_service(uri: str) -> BaseSessionService:
    """Returns the service of a URI of ADK's command line, or of `module:attribute`.

    Raises:
      ValueError: The URI names none.
    """
    if "://" in uri:
        service = get_service_registry().create_session_service(uri, agents_dir=".")
    else:
        module, _, attribute = uri.partition(":")
        if not module or not attribute:
            raise ValueError("--from takes a URI such as sqlite:///sessions.db, or module:attribute")
        service = getattr(importlib.import_module(module), attribute)
    if not isinstance(service, BaseSessionService):
        raise ValueError("--from names no session service")
    return service


async def _write(service: BaseSessionService, app: str, users: list[str] | None) -> None:
    async for text in export(service, app, users):
        sys.stdout.buffer.write(text)
    sys.stdout.buffer.flush()


def main() -> None:
    """Writes the lines to standard output; a file without its `end` line is cut."""
    parser = argparse.ArgumentParser(prog="python -m sessiond_adk.export", description=(__doc__ or "").split("\n")[0])
    parser.add_argument(
        "--from", dest="uri", required=True, help="a URI as ADK's command line takes, or module:attribute"
    )
    parser.add_argument("--app", required=True, help="the app's name")
    parser.add_argument("--user", action="append", help="a user whose sessions are written; by default, all")
    given = parser.parse_args()
    try:
        service = open_service(given.uri)
    except ValueError as error:
        parser.error(str(error))
    asyncio.run(_write(service, given.app, given.user))


if __name__ == "__main__":
    main()
