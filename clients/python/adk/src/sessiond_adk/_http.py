"""Requests to sessiond: one connection pool for each event loop, bounded retries, errors."""

from __future__ import annotations

import asyncio
import json
import logging
import math
import random
import ssl
import time
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import quote

import anyio
import httpx
from google.adk.errors import StaleSessionError
from google.adk.errors.input_validation_error import InputValidationError
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

logger = logging.getLogger("sessiond_adk")

# Answers to send the request again after: refused for now (429, 503), or no word from the server (the others, of which
# proxies make 502 and 504).
RETRIED = frozenset({408, 429, 502, 503, 504})

# The request never left this process, so it did not happen.
_NOT_SENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)

# Seconds before each further attempt, spread by jitter: a lost answer is soon made up for, and a server has the time to
# start again.
_PAUSES = (0.2, 0.8, 3.2, 8.0)

# Seconds for a connection to come about, at most.
_CONNECT = 2.0

# Bytes of a file that are handed to the connection at a time.
_PIECE = 1 << 18

# `traceparent` and `tracestate`, of the span that the host program is in; nothing if it does not trace. What else the
# program hands on, such as baggage, is not for a store of sessions.
_TRACE = TraceContextTextMapPropagator()


class SessiondError(Exception):
    """sessiond refused a request, or could not be reached for as long as the service keeps trying.

    Errors for which ADK has a class of its own are raised as that: `SessionNotFoundError`, `AlreadyExistsError`,
    `StaleSessionError`.
    """

    def __init__(
        self,
        message: str,
        *,
        status: int | None = None,
        code: str | None = None,
        outcome: str | None = None,
        request_id: str | None = None,
    ) -> None:
        """Takes what the answer said; all but the message is None if there was no answer, or no such field in it."""
        super().__init__(message)
        self.status = status
        """The HTTP status."""
        self.code = code
        """sessiond's stable word for the error."""
        self.outcome = outcome
        """`not_applied`, or `unknown` if a write may have happened. Appending the same event again is safe."""
        self.request_id = request_id
        """What to look for in the server's log."""


class SessiondInputError(SessiondError, InputValidationError):
    """What was sent breaks a rule of sessiond (status 400, 413, 414, 415 or 422): sending it again would not help.

    It is ADK's `InputValidationError`, and a `ValueError`, too.
    """


class SessiondAccessError(SessiondError):
    """The credential is missing or was refused (status 401), does not allow the request (403), or there is none.

    The last is when the callback for the token failed: then there is no status, and the failure is the `__cause__`.
    """


class SessionBusyError(SessiondError, StaleSessionError):
    """Another turn has the session (status 409): only in the mode `lease`, or if that one excludes all other writers.

    It is a `StaleSessionError`, too: what the session object shows is about to be superseded.
    """

    def __init__(self, owner: str | None, expire_time: float | None) -> None:
        """Takes what the server says of the holder."""
        super().__init__(
            f"Another turn has the session{f', of {owner}' if owner else ''}.",
            status=409,
            code="lease_held",
            outcome="not_applied",
        )
        self.owner = owner
        """What names the process that has it."""
        self.expire_time = expire_time
        """When others may take it over, in Unix seconds, if that process writes nothing until then."""


class PositionGoneError(SessiondError):
    """The place after which to follow a session is not in its log any more (status 410).

    The session was deleted and made anew, or the database was restored to an earlier moment. Read the session again,
    and follow it from there.
    """

    def __init__(
        self, message: str, answer: SessiondError, *, revision: int | None = None, base_revision: int | None = None
    ) -> None:
        """Takes what the answer said."""
        super().__init__(message, status=answer.status, code=answer.code, request_id=answer.request_id)
        self.revision = revision
        """The number of the last event that there is now."""
        self.base_revision = base_revision
        """The number of the last event that was trimmed; 0 if none was."""


@dataclass(frozen=True)
class Reply:
    """An answer that is final: a success, or an error that sending the request again would not change."""

    status: int
    headers: httpx.Headers
    body: Any
    """The JSON of the answer; None if it has none."""
    tried: str
    """What was asked, how often and for how long."""
    content: bytes = b""
    """The bytes of a success that was asked for as a file."""

    @property
    def code(self) -> str | None:
        """sessiond's word for the error; None for a success, and for an error that is not sessiond's."""
        return _text(self.body, "code") if self.status >= 400 else None

    @property
    def error(self) -> SessiondError:
        """What an answer that is an error says."""
        return _error(self.status, self.body, f"{_said(self.status, self.body)} ({self.tried})")

    def success(self) -> Any:
        """Returns the body of a success, and raises `SessiondError` otherwise."""
        if self.status in (200, 201):
            if not isinstance(self.body, dict):
                raise SessiondError(
                    f"The answer with status {self.status} is not sessiond's. ({self.tried})", status=self.status
                )
            return self.body
        if self.status == 204:
            return None
        raise self.error


class Client:
    """Sends requests that may be sent twice, and does so if an answer does not come.

    Every event loop that uses it gets a connection pool of its own, since connections belong to the loop that opened
    them; `Runner.run` starts a loop for each call.
    """

    def __init__(
        self,
        url: str,
        *,
        auth: httpx.Auth | None,
        headers: httpx.Headers,
        timeout: float,
        retry_for: float,
        ssl_context: ssl.SSLContext | None,
    ) -> None:
        """See `SessiondSessionService`. `url` has no trailing slash, `auth` is what shows the credential."""
        self._url = url
        self._auth = auth
        self._headers = headers
        self._timeout = timeout
        self._connect = min(_CONNECT, timeout)
        self._limits = httpx.Timeout(None, connect=self._connect)
        self._retry_for = retry_for
        # Made once, since to load the certificates takes longer than a request.
        self._tls = ssl_context or (httpx.create_ssl_context() if url.startswith("https:") else False)
        self._pools: dict[asyncio.AbstractEventLoop, httpx.AsyncClient] = {}

    async def send(
        self,
        method: str,
        path: str,
        *,
        body: Any = None,
        content: bytes | None = None,
        is_file: bool = False,
        params: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
        patience: float = 0.0,
    ) -> Reply:
        """Sends a request until there is a final answer, five attempts were made, or no time is left for another.

        Args:
          method: The method of a request that has the same effect when it is sent twice.
          path: The path, percent-encoded, see `segments`.
          body: What is sent as JSON, if it is not None.
          content: The bytes of a file that are sent instead, if they are not None.
          is_file: The answer of a success is a file: it is the `content` of the reply. With this or `content`, an
            attempt may take any time, as long as none passes in which no byte comes or goes.
          params: The query.
          headers: Headers of this request.
          patience: Seconds for which the server is asked to hold the answer back, on top of the time for attempts.
            Such a request has a connection of its own, so that those which wait leave the pool to the others.

        Each attempt that failed and is not the last one is a warning in the log, with the request's method and URL, but
        without its query, headers and body.

        Raises:
          SessiondAccessError: There is no credential, or it was refused, or it does not allow the request.
          SessiondError: There was no final answer in time. It says what the last attempt met, how many there were, and
            how long they took together.
          ValueError: The body cannot be written as JSON, for it holds a NaN, an infinity or half a character.
        """
        sent = dict(headers or {})
        written: bytes | _Pieces | None = None
        if content is not None:
            written = _Pieces(content)
            sent["Content-Length"] = str(len(content))
        elif body is not None:
            written = _json(body)
            sent = {"Content-Type": "application/json", **sent}
        _TRACE.inject(sent)
        url = self.url(path)
        began = time.monotonic()
        limit = math.inf if is_file or content is not None else self._timeout + patience
        # The time for a whole call is measured around it; with a file in it there is one for each of its pieces.
        times = self._limits if limit < math.inf else httpx.Timeout(self._timeout, connect=self._connect)
        in_doubt = False
        for attempt, pause in enumerate((*_PAUSES, math.inf), 1):
            status: int | None = None
            answer: Any = None
            cause: Exception | None = None
            wait = pause
            try:
                with anyio.fail_after(limit):
                    async with self._connections(patience) as client:
                        response = await client.request(
                            method, url, content=written, params=params, headers=sent, timeout=times
                        )
            except httpx.UnsupportedProtocol:
                raise
            except SessiondAccessError as no_token:
                raise _with_outcome(no_token, method, in_doubt) from no_token.__cause__
            except httpx.TransportError as error:
                cause, said = error, not_reached(error)
                in_doubt = in_doubt or not isinstance(error, _NOT_SENT)
            except TimeoutError as error:
                cause, said = error, f"sessiond cannot be reached: no whole answer within {limit:.1f} s."
                in_doubt = True
            else:
                status = response.status_code
                file = response.content if is_file and response.is_success else b""
                answer = None if is_file and response.is_success else _parse(response)
                if status in (401, 403):
                    # It speaks of this attempt; those before may have been applied.
                    tried = _tried(method, url, attempt, began)
                    raise _with_outcome(self._denied(status, answer, tried), method, in_doubt)
                outcome = _text(answer, "outcome")
                if status not in RETRIED and outcome != "unknown":
                    return Reply(status, response.headers, answer, _tried(method, url, attempt, began), file)
                in_doubt = in_doubt or outcome != "not_applied"
                said = _said(status, answer)
                wait = max(wait, retry_after(response.headers))
            left = self._retry_for + patience - (time.monotonic() - began)
            if wait > left:
                failure = _error(status, answer, f"{said} (Gave up {_tried(method, url, attempt, began)})")
                raise _with_outcome(failure, method, in_doubt) from cause
            wait = min(wait * random.uniform(1.0, 1.5), left)
            logger.warning("%s %s: attempt %d failed, trying again in %.1f s: %s", method, url, attempt, wait, said)
            await asyncio.sleep(wait)
        raise AssertionError("the loop above ends with an answer or an error")

    @asynccontextmanager
    async def stream(
        self, path: str, *, params: Mapping[str, str], headers: Mapping[str, str], silence: float
    ) -> AsyncIterator[httpx.Response]:
        """Opens a stream, once, with a connection of its own: streams take none from the pool of the requests.

        The body is the caller's to read. The connection is closed at the end of the block.

        Args:
          path: The path, percent-encoded, see `segments`.
          params: The query.
          headers: Headers of this request.
          silence: Seconds without a byte after which `httpx.ReadTimeout` is raised.

        Raises:
          SessiondAccessError: There is no credential, for its callback failed.
          httpx.TransportError: There is no connection, or it broke, also within the block.
        """
        sent = dict(headers)
        _TRACE.inject(sent)
        timeout = httpx.Timeout(self._timeout, connect=self._connect, read=max(silence, self._timeout))
        async with (
            self._open(timeout, httpx.Limits()) as client,
            client.stream("GET", self.url(path), params=params, headers=sent) as response,
        ):
            yield response

    async def read(self, response: httpx.Response) -> Reply:
        """Reads an answer that is no stream. Raises `SessiondAccessError` if the credential was refused."""
        await response.aread()
        answer, tried = _parse(response), f"GET {response.url.copy_with(query=None)}"
        if response.status_code in (401, 403):
            raise self._denied(response.status_code, answer, tried)
        return Reply(response.status_code, response.headers, answer, tried)

    def url(self, path: str) -> str:
        """Returns the URL of a path."""
        return self._url + path

    async def close(self) -> None:
        """Closes the connections of the running event loop, and forgets those of loops that ended.

        The next request opens new ones.
        """
        self._forget_ended_loops()
        pool = self._pools.pop(asyncio.get_running_loop(), None)
        if pool is not None:
            await pool.aclose()

    @asynccontextmanager
    async def _connections(self, patience: float) -> AsyncIterator[httpx.AsyncClient]:
        if not patience:
            yield self._pool()
            return
        async with self._open(self._limits, httpx.Limits()) as client:
            yield client

    def _pool(self) -> httpx.AsyncClient:
        loop = asyncio.get_running_loop()
        pool = self._pools.get(loop)
        if pool is None:
            self._forget_ended_loops()
            # Kept for less than the 75 s after which sessiond closes a connection that nobody uses.
            limits = httpx.Limits(max_connections=100, max_keepalive_connections=20, keepalive_expiry=60.0)
            pool = self._pools[loop] = self._open(self._limits, limits)
        return pool

    def _open(self, timeout: httpx.Timeout, limits: httpx.Limits) -> httpx.AsyncClient:
        return httpx.AsyncClient(
            auth=self._auth, headers=self._headers, timeout=timeout, verify=self._tls, limits=limits
        )

    def _denied(self, status: int, answer: Any, tried: str) -> SessiondError:
        said = _said(status, answer)
        if status == 401 and self._auth is None and "Authorization" not in self._headers:
            said += " No token was sent: give `token`, or set SESSIOND_TOKEN."
        return _error(status, answer, f"{said} ({tried})")

    def _forget_ended_loops(self) -> None:
        for loop in list(self._pools):
            if loop.is_closed():
                self._pools.pop(loop, None)


class _Pieces:
    """Bytes in pieces, from the first one each time that they are iterated: each piece has a time limit of its own."""

    def __init__(self, content: bytes) -> None:
        self._content = content

    async def __aiter__(self) -> AsyncIterator[bytes]:
        for at in range(0, len(self._content), _PIECE):
            yield self._content[at : at + _PIECE]


def segments(*ids: str) -> str:
    """Returns ids as segments of a path, each with its slash before it, percent-encoded."""
    # Dots are never encoded by `quote`, and a client may resolve such segments: the server must see and refuse them.
    return "".join("/" + (id.replace(".", "%2E") if id in (".", "..") else quote(id, safe="")) for id in ids)


def not_reached(error: httpx.TransportError) -> str:
    """Says that there was no answer."""
    why = str(error).rstrip(".")
    return f"sessiond cannot be reached: {type(error).__name__}{f': {why}' if why else ''}."


def _json(body: Any) -> bytes:
    return json.dumps(body, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode()


def _parse(response: httpx.Response) -> Any:
    try:
        return json.loads(response.content)
    except ValueError:
        return None


def _text(body: Any, field: str) -> str | None:
    value = body.get(field) if isinstance(body, dict) else None
    return value if isinstance(value, str) else None


def _said(status: int, body: Any) -> str:
    code = _text(body, "code")
    detail = _text(body, "detail") or _text(body, "title") or "the answer is not sessiond's"
    return f"sessiond answered {status}{f' {code}' if code else ''}: {detail}."


def _tried(method: str, url: str, attempts: int, began: float) -> str:
    spent = time.monotonic() - began
    return f"{method} {url}, {attempts} attempt{'' if attempts == 1 else 's'} in {spent:.1f} s"


def _error(status: int | None, body: Any, message: str) -> SessiondError:
    kind = SessiondError
    if status in (400, 413, 414, 415, 422):
        kind = SessiondInputError
    elif status in (401, 403):
        kind = SessiondAccessError
    return kind(
        message,
        status=status,
        code=_text(body, "code"),
        outcome=_text(body, "outcome"),
        request_id=_text(body, "requestId"),
    )


def _with_outcome(failure: SessiondError, method: str, in_doubt: bool) -> SessiondError:
    """Returns the error of a request that nothing will come of any more, with what that means if it is a write."""
    if method != "GET":
        failure.outcome = "unknown" if in_doubt else "not_applied"
    return failure


def retry_after(headers: httpx.Headers) -> float:
    """Returns the seconds that the answer asks to wait for, which proxies may say as a date; 0 if it does not."""
    value = headers.get("Retry-After", "0")
    try:
        return max(0.0, float(value))
    except ValueError:
        pass
    try:
        return max(0.0, parsedate_to_datetime(value).timestamp() - time.time())
    except ValueError:
        return 0.0
