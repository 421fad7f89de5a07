"""`sessiond://` and `sessiond+https://` as session service URIs of ADK's command line."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qsl

from google.adk.cli.service_registry import get_service_registry

from ._connect import split_url
from .service import SessiondSessionService

_OPTIONS: dict[str, Callable[[str], Any]] = {
    "concurrency": {word: word for word in ("none", "session", "lease")}.__getitem__,
    "lease_wait": float,
    "lease_ttl": float,
    "timeout": float,
    "retry_for": float,
}


def register() -> None:
    """Makes ADK know the URIs. Done by `import sessiond_adk`; to do it again changes nothing."""
    for scheme in ("sessiond", "sessiond+https"):
        get_service_registry().register_session_service(scheme, from_uri)


def from_uri(uri: str, **options: Any) -> SessiondSessionService:
    """Returns the service for `sessiond://HOST:PORT?concurrency=session&timeout=15`, all options optional.

    The token is in `SESSIOND_TOKEN`, never in the URI: a command line is there for others to read. `options` are what
    ADK passes (`agents_dir`, of no use here, and `session_db_kwargs`, which are arguments of the service).

    Raises:
      ValueError: An option is unknown or has a wrong value, or the URI is not of that form, or has a credential.
    """
    options.pop("agents_dir", None)
    parts = split_url(uri)
    for name, text in parse_qsl(parts.query, keep_blank_values=True):
        try:
            options[name] = _OPTIONS[name](text)
        except (KeyError, ValueError):
            raise ValueError(
                f"{parts.scheme}:// URIs take concurrency=none|session|lease, and in seconds lease_wait, lease_ttl, "
                "timeout and retry_for."
            ) from None
    return SessiondSessionService(parts._replace(query="").geturl(), **options)
