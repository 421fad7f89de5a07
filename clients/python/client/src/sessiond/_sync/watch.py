# Made by make_sync.py, of _async/watch.py.
"""Following a session, and how that goes on after its connection broke."""

from __future__ import annotations

import logging
import random
from collections.abc import Generator
from typing import Any

from .. import _times
from .._errors import SessiondError
from .._http1 import TransportError
from .._json import loads
from .._records import FRAMES, Deleted, WatchItem, item
from .._reply import RETRIED, NoAnswer, not_reached, retry_after, unpacked
from .._sse import Frame, Parser
from . import io
from .http import Http

logger = logging.getLogger("sessiond")


def watch(http: Http, path: str, *, after: str | int | None, include_state: bool) -> Generator[WatchItem, None, None]:
    """Yields what happens to the session whose watch is at `path`; see `Session.watch`."""
    cursor = "" if after is None else str(after)
    wait, asked, failures = _times.FIRST_WAIT, False, 0
    while True:
        parser = Parser(cursor)
        params = {**({"afterSequence": cursor} if cursor else {}), **({"include": "state"} if include_state else {})}
        ended, at_least, warn = "the stream ended", 0.0, False
        try:
            with http.stream(
                path, params=params, headers={"Accept": "text/event-stream"}, silence=_times.SILENCE
            ) as answer:
                if answer.status != 200:
                    refusal = http.read(path, answer)
                    if refusal.status not in RETRIED:
                        raise refusal.error
                    ended, at_least, warn = str(refusal.error), retry_after(refusal.headers), True
                elif answer.headers.get("Content-Type", "").partition(";")[0].strip() != "text/event-stream":
                    raise SessiondError(f"The answer to a watch is not sessiond's. (GET {http.url(path)})", status=200)
                else:
                    unpacked(answer.headers)
                    while chunk := answer.piece():
                        for frame in parser.feed(chunk):
                            if frame.name == "bye":
                                ended = f"sessiond ended the stream: {_object(frame).get('reason')}"
                            elif frame.name in FRAMES:
                                found = item(frame.name, _object(frame), frame.id)
                                cursor, failures = found.cursor, 0
                                yield found
                                if isinstance(found, Deleted):
                                    return
        except NoAnswer as error:
            raise http.failed(f"{str(error).capitalize()}. (GET {http.url(path)})") from None
        except TransportError as error:
            ended, warn = not_reached(error), True
        if parser.retry is not None:
            wait, asked = parser.retry / 1000, True
        # The server has spread the time for which it asks.
        limit = min(wait * 2**failures, max(wait, _times.LONGEST_WAIT))
        pause = max(at_least, limit if asked and not failures else random.uniform(0.0, limit))
        failures = min(failures + 1, 8)
        level = logging.WARNING if warn else logging.INFO
        logger.log(level, "Watch of %s: coming back in %.1f s: %s", http.url(path), pause, ended)
        io.sleep(pause)


def _object(frame: Frame) -> dict[str, Any]:
    try:
        said = loads(frame.data)
    except ValueError:
        said = None
    if not isinstance(said, dict):
        raise SessiondError(f"The stream has a frame {frame.name} that is not sessiond's.")
    return said
