"""`sessiond://` and `sessiond+https://` as URIs of ADK's command line, for sessions, artifacts and memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import parse_qsl

from google.adk.cli.service_registry import get_service_registry

from sessiond._connect import split_url

from .artifacts import SessiondArtifactService
from .memory import SessiondMemoryService
from .service import SessiondSessionService

_Options = Mapping[str, Callable[[str], Any]]

_OF_ALL: _Options = {"timeout": float, "retry_for": float}
_OF_SESSIONS: _Options = {
    "concurrency": {word: word for word in ("none", "session", "lease")}.__getitem__,
    "history": {word: word for word in ("full", "effective")}.__getitem__,
    "lease_wait": float,
    "lease_ttl": float,
    **_OF_ALL,
}
_OF_MEMORY: _Options = {"limit": int, **_OF_ALL}


def register() -> None:
    """Makes ADK know the URIs. Done by `import sessiond_adk`; to do it again changes nothing."""
    registry = get_service_registry()
    for scheme in ("sessiond", "sessiond+https"):
        registry.register_session_service(scheme, from_uri)
        registry.register_artifact_service(scheme, artifacts_from_uri)
        registry.register_memory_service(scheme, memory_from_uri)


def from_uri(uri: str, **options: Any) -> SessiondSessionService:
    """Returns the service for `sessiond://HOST:PORT?concurrency=session&history=effective`, all options optional.

    The token is in `SESSIOND_TOKEN`, never in the URI: a command line is there for others to read. `options` are what
    ADK passes (`agents_dir`, of no use here, and `session_db_kwargs`, which are arguments of the service).

    Raises:
      ValueError: An option is unknown or has a wrong value, or the URI is not of that form, or has a credential.
    """
    options.pop("agents_dir", None)
    takes = (
        "concurrency=none|session|lease, history=full|effective, and in seconds lease_wait, lease_ttl, timeout and "
        "retry_for"
    )
    url, given = _read(uri, _OF_SESSIONS, takes)
    return SessiondSessionService(url, **{**options, **given})


def artifacts_from_uri(uri: str, **options: Any) -> SessiondArtifactService:
    """Returns the artifact service for `sessiond://HOST:PORT?timeout=15`, all options optional.

    The token is in `SESSIOND_TOKEN`. `options` are what ADK passes, of no use here.

    Raises:
      ValueError: An option is unknown or has a wrong value, or the URI is not of that form, or has a credential.
    """
    url, given = _read(uri, _OF_ALL, "for artifacts, in seconds, timeout and retry_for")
    return SessiondArtifactService(url, **given)


def memory_from_uri(uri: str, **options: Any) -> SessiondMemoryService:
    """Returns the memory service for `sessiond://HOST:PORT?limit=10&timeout=15`, all options optional.

    The token is in `SESSIOND_TOKEN`. `options` are what ADK passes, of no use here.

    Raises:
      ValueError: An option is unknown or has a wrong value, or the URI is not of that form, or has a credential.
    """
    url, given = _read(uri, _OF_MEMORY, "for memory limit, and in seconds timeout and retry_for")
    return SessiondMemoryService(url, **given)


def _read(uri: str, known: _Options, takes: str) -> tuple[str, dict[str, Any]]:
    """Returns the URL without its query, and the options that are in the query."""
    parts = split_url(uri)
    given = {}
    for name, text in parse_qsl(parts.query, keep_blank_values=True):
        try:
            given[name] = known[name](text)
        except (KeyError, ValueError):
            raise ValueError(f"{parts.scheme}:// URIs take {takes}.") from None
    return parts._replace(query="").geturl(), given
