"""ADK's sessions as the lines of an export of sessiond: newline-delimited JSON, the same bytes for the same session."""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterator
from typing import Any

from google.adk.sessions.session import Session
from google.adk.sessions.state import State

from ._wire import event_to_wire, state_to_wire

_SHARED = (State.APP_PREFIX, State.USER_PREFIX)


def line(fields: dict[str, Any]) -> bytes:
    """Returns one line, with its line feed.

    Raises:
      ValueError: There is a NaN, an infinity or half a character in it.
    """
    return json.dumps(fields, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode() + b"\n"


def shared(state: dict[str, Any], prefix: str) -> dict[str, Any]:
    """Returns the keys of the scope with this prefix, without it, in the order of their names."""
    written = state_to_wire(state)
    return {key.removeprefix(prefix): written[key] for key in sorted(written) if key.startswith(prefix)}


def session_lines(session: Session, *, saw: tuple[int, int]) -> Iterator[bytes]:
    """Yields the lines of a session: `session`, an `event` for each, `session.end`.

    The base state has what no event explains: each stored key that no event writes. If the events do not lead to the
    stored value of some key, one more event does, of the author `sessiond` and the invocation `import`.

    `saw` are the revisions of user and app state that every event shows.
    """
    stored = _own(state_to_wire(session.state))
    written = [event_to_wire(event) for event in session.events]
    deltas = [_own(event["actions"]["stateDelta"]) for event in written]
    touched = {key for delta in deltas for key in delta}
    base = {key: value for key, value in stored.items() if key not in touched}
    state = dict(base)
    for delta in deltas:
        state |= delta
    if (closing := _closing(session, state, stored)) is not None:
        written.append(closing)
    created = min([session.last_update_time, *(event.timestamp for event in session.events)])

    digest = hashlib.sha256()
    start: dict[str, Any] = {
        "type": "session",
        "userId": session.user_id,
        "id": session.id,
        "incarnation": _incarnation(session),
        "createTime": created,
        "baseRevision": 0,
        "baseState": base,
    }
    head = line(start)
    digest.update(head)
    yield head
    for sequence, event in enumerate(written, 1):
        # As the service stores it, to the byte.
        stored_event = line(event)[:-2] + f',"sequence":{sequence},"commitTime":{event["timestamp"]:.6f}}}'.encode()
        text = b'{"type":"event","event":' + stored_event + b',"saw":[%d,%d]}\n' % saw
        digest.update(text)
        yield text
    end: dict[str, Any] = {
        "type": "session.end",
        "id": session.id,
        "revision": len(written),
        "state": stored,
        "sha256": digest.hexdigest(),
    }
    yield line(end)


def _own(state: dict[str, Any]) -> dict[str, Any]:
    """Returns the keys of the session alone, in the order of their names."""
    return {key: state[key] for key in sorted(state) if not key.startswith(_SHARED)}


def _closing(session: Session, folded: dict[str, Any], stored: dict[str, Any]) -> dict[str, Any] | None:
    """Returns the event that leads from what the events say to what is stored; None if that is the same."""
    # As text, for in Python 1 == 1.0 == True.
    delta = {
        key: value for key, value in stored.items() if key not in folded or line({"": folded[key]}) != line({"": value})
    }
    removed = sorted(folded.keys() - stored.keys())
    if not delta and not removed:
        return None
    actions: dict[str, Any] = {"stateDelta": delta}
    if removed:
        actions["stateOps"] = [{"op": "remove", "key": key} for key in removed]
    return {
        "id": f"import-{_incarnation(session)}",
        "timestamp": session.last_update_time,
        "author": "sessiond",
        "invocationId": "import",
        "actions": actions,
    }


def _incarnation(session: Session) -> str:
    """Returns what names this session and no other, the same whenever it is read."""
    name = line({"": [session.app_name, session.user_id, session.id]})
    return base64.b32encode(hashlib.sha256(name).digest()[:10]).decode().lower()
