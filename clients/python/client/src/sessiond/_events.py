"""What is sent: events, and what must hold before a change."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ._errors import refusal
from ._paths import new_id, text_of
from ._records import Event
from ._times import Limits

Op = Mapping[str, Any]
"""`{"op", "key", "value"}`: `set`, `remove` (without value), `increment`, `append`, `union`, `max`, `min`, `merge`."""

Condition = Mapping[str, Any]
"""What must hold of a key right before a change: what `exists`, `absent`, `equals` and `unchanged` return."""


class Change(Limits, total=False):
    """How a change is made."""

    when: Sequence[Condition]
    """What must hold right before, or nothing is changed: see `exists`, `absent`, `equals`, `unchanged`."""
    once: str | None
    """An id for the change, the same in every run of the program: a change of an id is made once."""
    if_revision: int | None
    """Only if this is the present revision."""


class EventFields(Limits, total=False):
    """The fields of an event; what else it has is given as a whole event."""

    id: str
    """By which it is stored once; one is drawn by default."""
    author: str
    """Who says it: `user`, or the name of an agent."""
    content: Any
    """What is said: see `text`."""
    delta: Mapping[str, Any]
    """State to set: keys that begin with `user:` and `app:` are shared, `temp:` keys are not stored."""
    ops: Sequence[Op]
    """Operators, applied in order after `delta`."""
    when: Sequence[Condition]
    """What must hold right before, or nothing is written."""
    invocation_id: str
    """The turn that it is part of."""
    branch: str
    metadata: Mapping[str, Any]
    """Data of your own, kept as it is (`customMetadata`)."""
    partial: bool
    """It is a part of what follows whole: it is answered, and not stored."""


def text(role: str, *texts: str) -> dict[str, Any]:
    """Returns content of texts; `role` is `user` or `model`. Raises InputError if there are none, or other things."""
    if not texts or not all(isinstance(each, str) for each in texts):
        raise refusal('What is said is a role, and texts: text("user", "A green tea, please.").', {})
    return {"role": role, "parts": [{"text": each} for each in texts]}


def exists(key: str) -> dict[str, Any]:
    """The precondition that a key is there, be its value None."""
    return {"key": key, "exists": True}


def absent(key: str) -> dict[str, Any]:
    """The precondition that a key is not there."""
    return {"key": key, "exists": False}


def equals(key: str, value: Any) -> dict[str, Any]:
    """The precondition that a key has this value, as JSON compares: 1 and 1.0 are equal."""
    return {"key": key, "equals": value}


def unchanged(key: str, revision: int) -> dict[str, Any]:
    """The precondition that a key was neither set nor removed since its session was at this revision.

    That of an `app:` or `user:` key is the revision of app or user state.
    """
    return {"key": key, "revision": revision}


def event_of(fields: EventFields) -> dict[str, Any]:
    """Returns the event that has these fields, but for limits. Raises TypeError for one that is none."""
    event: dict[str, Any] = {}
    actions: dict[str, Any] = {}
    for name, value in fields.items():
        if name not in _FIELDS:
            raise TypeError(f"An event has no field {name}: give what else it has as a whole event.")
        if value is not None:
            place, field = _FIELDS[name]
            (actions if place else event)[field] = value
    return {**event, "actions": actions} if actions else event


def _was_read(event: Mapping[str, Any]) -> bool:
    metadata = event.get("customMetadata")
    return isinstance(event, Event) or (isinstance(metadata, Mapping) and "rewindCopyOf" in metadata)


# Whether a field is one of `actions`, and its name in JSON.
_FIELDS = {
    "id": (False, "id"),
    "author": (False, "author"),
    "content": (False, "content"),
    "invocation_id": (False, "invocationId"),
    "branch": (False, "branch"),
    "metadata": (False, "customMetadata"),
    "partial": (False, "partial"),
    "delta": (True, "stateDelta"),
    "ops": (True, "stateOps"),
    "when": (True, "preconditions"),
}


def split_limits(fields: dict[str, Any]) -> tuple[dict[str, Any], Limits]:
    """Returns fields without limits, and the limits."""
    limits: Limits = {}
    for name in ("timeout", "retry_for"):
        if name in fields:
            limits[name] = fields[name]
    return {name: value for name, value in fields.items() if name not in limits}, limits


def keyed(ops: Sequence[Op]) -> list[Op]:
    """Returns operators as a list. Raises InputError for a key that is no text."""
    for op in ops:
        text_of(op.get("key"), "key")
    return list(ops)


_EVENT = 'append(author="user", content=text("user", "A green tea, please."))'


def is_one(event: Any) -> bool:
    """Whether this is no list of events: one, or what is meant to be one."""
    return isinstance(event, Mapping | str | bytes) or hasattr(event, "model_dump") or not isinstance(event, Iterable)


def _is_seen(content: Any) -> bool:
    """Whether readers of a content would see it. Of what is no JSON, the error comes when it is sent."""
    if not isinstance(content, Mapping):
        return not isinstance(content, str | int | float | list | tuple)
    parts = content.get("parts")
    if not parts:
        return content.keys() <= {"role", "parts"}
    return isinstance(parts, list | tuple) and not any(isinstance(part, str) for part in parts)


def named(event: Any) -> Mapping[str, Any]:
    """Returns an event that has an id.

    Raises:
      InputError: It is none, a name in it is no text, or its content is one, which nobody would be shown. An event that
        was read goes back as it is.
    """
    if not isinstance(event, Mapping):
        dumped = ', or of an object its `.model_dump(mode="json")`' if hasattr(event, "model_dump") else ""
        said = f"An event is an object, as JSON has it{dumped}; this is a {type(event).__name__}."
        raise refusal(f"{said} Its fields by name: {_EVENT}.", {})
    if not _is_seen(event.get("content")) and not _was_read(event):
        raise refusal(f'The `content` of an event is {{"role", "parts"}}, and each part an object: {_EVENT}.', {})
    for name in ("id", "author", "invocationId", "branch"):
        if event.get(name) is not None:
            text_of(event[name], f"`{name}` of an event")
    return event if event.get("id") is not None else {**event, "id": new_id()}
