"""The command line: `python -m sessiond_adk_import`."""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import os
import sys
from collections import Counter
from collections.abc import AsyncIterator
from typing import TextIO

import httpx
from google.adk.sessions.base_session_service import BaseSessionService

from sessiond._connect import is_loopback
from sessiond._token import checked

from . import __doc__ as about
from ._databases import Database, NotAdk, is_database, open_database
from ._exports import Export, bring, exports
from ._sources import open_service


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


async def _run(source: BaseSessionService | Database, given: argparse.Namespace) -> int:
    if given.app is not None:
        apps = [given.app]
    elif isinstance(source, Database):
        apps = await source.apps()
    else:
        raise NotAdk("a session service does not list its apps: name one with --app")
    became: Counter[str] = Counter()
    token = os.environ.get("SESSIOND_TOKEN")
    headers = {"Authorization": f"Bearer {checked(token)}"} if token else {}
    is_file = given.to == "-"
    url = "" if is_file else given.to
    async with httpx.AsyncClient(base_url=url, headers=headers, timeout=None, trust_env=not is_loopback(url)) as client:
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
    parser = argparse.ArgumentParser(prog="python3 -m sessiond_adk_import", description=(about or "").split("\n")[0])
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
