"""Paths and ids."""

from __future__ import annotations

import os
import socket
import uuid
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from ._errors import refusal

_owner: tuple[int, str] = (0, "")


def text_of(value: Any, what: str) -> str:
    """Returns a name. Raises InputError for None and for all else that is no text, which would be somebody's name."""
    if not isinstance(value, str):
        said = "None" if value is None else f"a {type(value).__name__}"
        raise refusal(f"The {what} is a text (str), but this is {said}.", {})
    return value


def whole_id(value: Any, what: str = "id of the session") -> str:
    """Returns an id of a framework, to be the id of a session.

    Raises:
      InputError: It is no text, or empty; or it has white space at an end, which sessiond takes off: two ids of the
        framework would be one.
    """
    if not text_of(value, what) or value != value.strip():
        raise refusal(f"The {what} is empty, or begins or ends with white space: {value!r}.", {})
    return str(value)


def segments(*ids: str) -> str:
    """Returns ids as segments of a path, each with its slash before it, percent-encoded."""
    for id in ids:
        text_of(id, "name")
    # Dots are never encoded by `quote`, and a client may resolve such segments: the server must see and refuse them.
    return "".join("/" + (id.replace(".", "%2E") if id in (".", "..") else quote(id, safe="")) for id in ids)


def user_path(app: str, *user: str) -> str:
    """Returns the path of an app, or of a user in it."""
    path = "/v1/apps" + segments(text_of(app, "name of the app"))
    return path + "".join("/users" + segments(text_of(each, "id of the user")) for each in user)


# What are names in a query; all else are numbers and words of this package.
_NAMES = frozenset(
    "author branch displayName forkedFrom idPrefix invocationId keys pageToken prefix text title userPrefix".split()
)


def params(**given: Any) -> dict[str, str]:
    """Returns the query of what is not None."""
    for name in given.keys() & _NAMES:
        if given[name] is not None:
            text_of(given[name], name)
    return {name: _said(value) for name, value in given.items() if value is not None}


def given(**fields: Any) -> dict[str, Any]:
    """Returns the fields that are not None."""
    return {name: value for name, value in fields.items() if value is not None}


def label_params(wanted: Mapping[str, str] | None) -> dict[str, str]:
    """Returns the query for sessions that have all of these labels."""
    return {f"label.{text_of(name, 'label')}": text_of(value, "label") for name, value in (wanted or {}).items()}


def new_id() -> str:
    """Returns an id that nobody has: an event or a request under it is told from all others."""
    return str(uuid.uuid4())


def process_name() -> str:
    """Returns what names this process among those that take leases; another one after a fork."""
    global _owner
    if _owner[0] != os.getpid():
        _owner = os.getpid(), f"{socket.gethostname()[:64]}/{os.getpid()}/{uuid.uuid4().hex[:12]}"
    return _owner[1]


def _said(value: Any) -> str:
    return "true" if value is True else str(value)
