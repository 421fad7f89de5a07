"""Paths and ids."""

from __future__ import annotations

import os
import socket
import uuid
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote

_owner: tuple[int, str] = (0, "")


def segments(*ids: str) -> str:
    """Returns ids as segments of a path, each with its slash before it, percent-encoded."""
    # Dots are never encoded by `quote`, and a client may resolve such segments: the server must see and refuse them.
    return "".join("/" + (id.replace(".", "%2E") if id in (".", "..") else quote(id, safe="")) for id in ids)


def user_path(app: str, user: str | None = None) -> str:
    """Returns the path of an app, or of a user in it."""
    return "/v1/apps" + segments(app) + ("" if user is None else "/users" + segments(user))


def params(**given: Any) -> dict[str, str]:
    """Returns the query of what is not None."""
    return {name: _said(value) for name, value in given.items() if value is not None}


def given(**fields: Any) -> dict[str, Any]:
    """Returns the fields that are not None."""
    return {name: value for name, value in fields.items() if value is not None}


def label_params(wanted: Mapping[str, str] | None) -> dict[str, str]:
    """Returns the query for sessions that have all of these labels."""
    return {f"label.{name}": value for name, value in (wanted or {}).items()}


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
