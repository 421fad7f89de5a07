"""Where sessiond is, and with which credential it is asked."""

from __future__ import annotations

import os
import ssl
from collections.abc import Awaitable, Callable, Mapping
from urllib.parse import SplitResult, parse_qsl, urlsplit

import httpx

from ._http import Client
from ._token import Bearer
from ._version import __version__

# sessiond's default.
_PORT = 8080

_URL = (
    "The URL of sessiond is http://HOST:PORT, https://HOST, sessiond://HOST:PORT or sessiond+https://HOST, without a "
    "user, a query and a fragment."
)


def connect(
    url: str,
    *,
    token: str | Callable[[], str | Awaitable[str]] | None,
    headers: Mapping[str, str] | None,
    timeout: float,
    retry_for: float,
    ssl_context: ssl.SSLContext | None,
) -> Client:
    """Returns what sends requests; opens no connection yet. See `SessiondSessionService` for the arguments.

    Raises:
      ValueError: The URL is not of that form or has a credential, the token or a header cannot be sent, or there are
        a token and a header `Authorization`.
    """
    sent = httpx.Headers({"User-Agent": f"sessiond-python/{__version__}"})
    sent.update(headers)
    for name, value in sent.items():
        # The HTTP library shows the value in its error.
        if not value.isprintable() or value != value.strip():
            raise ValueError(f"The header {name} has a value that cannot be sent.")
    if "Authorization" not in sent:
        token = os.environ.get("SESSIOND_TOKEN") if token is None else token
    elif token:
        raise ValueError("There are two credentials: `token`, and `Authorization` in `headers`.")
    return Client(
        _http_url(url),
        auth=Bearer(token) if token else None,
        headers=sent,
        timeout=timeout,
        retry_for=retry_for,
        ssl_context=ssl_context,
    )


def split_url(url: str) -> SplitResult:
    """Splits a URL that has no credential in it.

    Raises:
      ValueError: It cannot be split, or has a credential; the message shows nothing of it.
    """
    try:
        parts = urlsplit(url)
        parts.port  # noqa: B018 - reads the port, which may be no number.
    except ValueError:
        raise ValueError(_URL) from None
    names = {name for name, _ in parse_qsl(parts.query, keep_blank_values=True)}
    if "@" in parts.netloc or names & {"token", "access_token"}:
        raise ValueError(
            "The URL of sessiond holds no credential, for lists of processes and logs would show it. Give it as "
            "`token`, or in the variable SESSIOND_TOKEN."
        )
    return parts


def _http_url(url: str) -> str:
    parts = split_url(url)
    scheme = {"sessiond": "http", "sessiond+http": "http", "sessiond+https": "https"}.get(parts.scheme, parts.scheme)
    if scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
        raise ValueError(_URL)
    port = f":{_PORT}" if parts.scheme == "sessiond" and parts.port is None else ""
    return f"{scheme}://{parts.netloc.rstrip(':')}{port}{parts.path.rstrip('/')}"
