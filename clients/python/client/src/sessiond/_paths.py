"""Paths and ids."""

from __future__ import annotations

import os
import socket
import uuid
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

from ._errors import refusal

# What Unicode calls white space, as the server does.
_WHITE = "\t\n\v\f\r \x85\xa0\u1680\u2028\u2029\u202f\u205f\u3000" + "".join(map(chr, range(0x2000, 0x200B)))

_owner: tuple[int, str] = (0, "")


def fault_of(value: Any, *, may_be_any_text: bool = False) -> str | None:
    """Returns why this is no name, as the rest of a sentence that begins with what it is to name; None if it is one.

    A name is a segment of a path, so it is not empty, and not `.` or `..`: the path would be that of something else.
    """
    if not isinstance(value, str):
        return f"is {'None' if value is None else f'of type {type(value).__name__}'}: it has to be a text"
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            return "has half of a character: a surrogate without its partner"
    if may_be_any_text:
        return None
    if not value:
        return "is empty"
    return f'is "{value}", which would address another path' if value in (".", "..") else None


def text_of(value: Any, what: str) -> str:
    """Returns a text. Raises InputError for None and for all else that is none, which would be somebody's name."""
    if fault := fault_of(value, may_be_any_text=True):
        raise refusal(f"The {what} {fault}.", {})
    return str(value)


def name_of(value: Any, what: str) -> str:
    """Returns a name. Raises InputError for what is none: see `fault_of`."""
    if fault := fault_of(value):
        raise refusal(f"The {what} {fault}.", {})
    return str(value)


def trimmed(id: str) -> str:
    """Returns the id of a session without white space around it: what the server takes for it, not quite Python."""
    return id.strip(_WHITE)


def whole_id(value: Any, what: str = "id of the session") -> str:
    """Returns an id of a framework, to be the id of a session.

    Raises:
      InputError: It is no name; or it has white space at an end, which sessiond takes off: two ids of the framework
        would be one.
    """
    if name_of(value, what) != trimmed(value):
        raise refusal(f"The {what} begins or ends with white space: {value!r}.", {})
    return str(value)


def segment(value: Any, what: str) -> str:
    """Returns a name as a segment of a path, with its slash before it, percent-encoded. Raises as `name_of` does."""
    return "/" + quote(name_of(value, what), safe="")


def user_path(app: str, *user: str) -> str:
    """Returns the path of an app, or of a user in it."""
    path = "/v1/apps" + segment(app, "name of the app")
    return path + "".join("/users" + segment(each, "id of the user") for each in user)


def session_path(app: str, user: str, id: str) -> str:
    """Returns the path of a session, whose id has no white space around it."""
    return user_path(app, user) + "/sessions" + segment(trimmed(text_of(id, "id of the session")), "id of the session")


# What are names in a query; all else are numbers and words of this package.
_NAMES = frozenset(
    "author branch displayName exceptSession forkedFrom idPrefix invocationId keys pageToken prefix session text title "
    "userPrefix".split()
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
