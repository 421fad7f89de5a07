"""Where sessiond is, and with which headers it is asked."""

from __future__ import annotations

import importlib.util
import ipaddress
import os
import socket
from collections.abc import Mapping
from urllib.parse import SplitResult, parse_qsl, urlsplit
from urllib.request import getproxies, proxy_bypass

from ._http1 import Headers, is_field
from ._version import __version__

# sessiond's default.
_PORT = 8080

_URL = (
    "The URL of sessiond is http://HOST:PORT, https://HOST, sessiond://HOST:PORT or sessiond+https://HOST, without a "
    "user, a query and a fragment."
)


def sent_headers(headers: Mapping[str, str] | None) -> Headers:
    """Returns what is sent with every request. Raises ValueError, without the value, if one cannot be sent."""
    # sessiond packs no answer, and what others have packed may be of any size.
    sent = Headers({"User-Agent": f"sessiond-python/{__version__}", "Accept-Encoding": "identity", **(headers or {})})
    for name, value in sent.items():
        if not is_field(name, value):
            raise ValueError(f"The header {name} has a value that cannot be sent.")
    return sent


def has_credential(headers: Headers, token: object) -> bool:
    """Whether the headers have a credential. Raises ValueError if there is a token, too."""
    if "Authorization" not in headers:
        return False
    if token:
        raise ValueError("There are two credentials: `token`, and `Authorization` in `headers`.")
    return True


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


def http_url(url: str | None) -> str:
    """Returns the URL without a trailing slash; that of SESSIOND_URL, or of a server on this machine, for None.

    Raises:
      ValueError: It is not of a form that is known, or has a credential.
    """
    if url is not None and not isinstance(url, str):
        raise ValueError(_URL)
    parts = split_url(os.environ.get("SESSIOND_URL") or f"http://127.0.0.1:{_PORT}" if url is None else url)
    scheme = {"sessiond": "http", "sessiond+http": "http", "sessiond+https": "https"}.get(parts.scheme, parts.scheme)
    if scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
        raise ValueError(_URL)
    port = f":{_PORT}" if parts.scheme == "sessiond" and parts.port is None else ""
    return f"{scheme}://{parts.netloc.rstrip(':')}{port}{parts.path.rstrip('/')}"


def is_loopback(url: str) -> bool:
    """Whether a URL is of this machine, so that no proxy of the environment is to see what is sent there."""
    host = (urlsplit(url).hostname or "").rstrip(".")
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        # Also as systems take it, such as 127.1.
        return socket.inet_aton(host)[0] == 127
    except OSError:
        pass
    try:
        address = ipaddress.IPv6Address(host)
    except ValueError:
        return False
    return (address.ipv4_mapped or address).is_loopback


def uses_proxy(url: str) -> bool:
    """Whether the environment names a proxy for a URL.

    Raises:
      ImportError: It does, and there is no httpx, which speaks with proxies.
    """
    parts, proxies = urlsplit(url), getproxies()
    if is_loopback(url) or not (proxies.get(parts.scheme) or proxies.get("all")) or proxy_bypass(parts.netloc):
        return False
    if importlib.util.find_spec("httpx") is None:
        raise ImportError(
            f"The environment names a proxy for {url}, which needs httpx: install sessiond-client[httpx], or name the "
            "host in NO_PROXY."
        )
    return True
