"""Exports of sessiond of what a source has, and the server that takes them."""

from __future__ import annotations

import json
import time
from collections.abc import AsyncIterator, Iterable, Iterator

import httpx
from google.adk.sessions.base_session_service import BaseSessionService

from ._databases import Database
from ._lines import SessionLines, is_id, line
from ._sources import NAME_RULE, Part, parts
from ._version import __version__

# How much one request brings: a server answers while it reads, and a client that reads nothing meanwhile would fill
# what is between them. What is larger is one session alone, which is answered with a line.
_REQUEST_BYTES = 4 << 20
_REQUEST_SESSIONS = 500
# How many bytes of lines are sent at a time.
_PIECE = 256 << 10


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
            "server": f"sessiond-adk-import/{__version__}",
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
            {
                "app": app,
                "result": "failed",
                "code": "invalid_argument",
                "detail": f"the app's name is no id: {NAME_RULE}",
            }
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
