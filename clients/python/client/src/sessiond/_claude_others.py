"""What others have said before a transcript of the Claude Agent SDK began, as its first entry."""

from __future__ import annotations

import uuid
from collections.abc import Iterable
from datetime import datetime, timezone
from typing import Any

from ._others import is_marked, of_others
from ._records import Event


def first_id(session_id: str) -> str:
    """Returns the `uuid` of that entry, which is not stored: the entry behind it names it as its parent."""
    return str(uuid.uuid5(uuid.NAMESPACE_URL, f"sessiond:{session_id}"))


def first_entry(session_id: str, events: Iterable[Event]) -> dict[str, Any] | None:
    """Returns the entry; None if others have said nothing.

    It is a message of the user, with a line for each that was said: what begins a line is who said it.
    """
    own = [event for event in events if not _is_own(event)]
    said = of_others(own, None, lambda tool: False)
    if not said:
        return None
    lines = [("user: " if each.role == "user" else "") + each.text.replace("\n", "\n  ") for each in said]
    text = "What was said in this conversation before:\n\n" + "\n".join(lines)
    time = datetime.fromtimestamp(own[-1].timestamp, timezone.utc)
    return {
        "type": "user",
        "uuid": first_id(session_id),
        "parentUuid": None,
        "sessionId": session_id,
        "isSidechain": False,
        "timestamp": time.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        "message": {"role": "user", "content": [{"type": "text", "text": text}]},
    }


def _is_own(event: Event) -> bool:
    return event.author == "claude" or is_marked(event, "claude")
