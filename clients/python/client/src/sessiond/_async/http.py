"""Requests to sessiond: connections, bounded retries, errors."""

from __future__ import annotations

import io as files
import logging
import math
import random
import ssl
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from contextlib import asynccontextmanager
from itertools import chain, repeat
from typing import Any, BinaryIO

from .. import _times, _traces
from .._connect import uses_proxy
from .._errors import AccessError, Kinds, SessiondError, error_of, refusal
from .._http1 import Headers, LocalProtocolError, Origin, Request, Times, TransportError
from .._json import dumps
from .._reply import (
    NOT_SENT,
    RETRIED,
    Answer,
    NoAnswer,
    Reply,
    not_reached,
    retry_after,
    said,
    text_of,
    tried,
    with_outcome,
)
from . import io
from .pool import AsyncIncoming, AsyncPool
from .token import AsyncBearer

logger = logging.getLogger("sessiond")

# Bytes of a file that are handed to the connection at a time.
_PIECE = 1 << 18

# Pages that may have nothing, one after the other: each of a search has looked through 10,000 events.
_EMPTY = 10_000


class AsyncHttp:
    """Sends requests that may be sent twice, and does so if an answer does not come."""

    def __init__(
        self,
        url: str,
        *,
        token: str | Callable[[], str | Awaitable[str]] | None,
        headers: Headers,
        timeout: float,
        retry_for: float,
        ssl_context: ssl.SSLContext | None,
        kinds: Kinds,
    ) -> None:
        """See `AsyncClient`. `url` has no trailing slash; errors are of the classes that `kinds` has for them."""
        self._url = url
        self._auth = AsyncBearer(token, kinds) if token else None
        self._headers = headers
        self._timeout = timeout
        self._retry_for = retry_for
        self._kinds = kinds
        self._origin = Origin(url, ssl_context)
        self._uses_proxy = uses_proxy(url)
        self._pools = io.Pools(self._open)

    async def send(
        self,
        method: str,
        path: str,
        *,
        body: Any = None,
        content: bytes | BinaryIO | None = None,
        is_file: bool = False,
        params: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
        patience: float = 0.0,
        timeout: float | None = None,
        retry_for: float | None = None,
    ) -> Reply:
        """Sends a request until there is a final answer, or no time is left for another attempt.

        Args:
          method: The method of a request that has the same effect when it is sent twice.
          path: The path, percent-encoded, see `segment`.
          body: What is sent as JSON, if it is not None.
          content: The bytes of a file that are sent instead, or a file, from where it is, if it is not None.
          is_file: The answer of a success is a file: it is the `content` of the reply. With this or `content`, an
            attempt may take any time, as long as none passes in which no byte comes or goes.
          params: The query.
          headers: Headers of this request.
          patience: Seconds for which the server is asked to hold the answer back, on top of the time for attempts.
            Such a request has a connection of its own, so that those which wait leave the pool to the others.
          timeout: As in `Limits`.
          retry_for: As in `Limits`.

        Each attempt that failed and is not the last one is a warning in the log, with the request's method and URL, but
        without its query, headers and body.

        Raises:
          InputError: The body cannot be written as JSON, or the file cannot be read twice.
          AccessError: There is no credential, or it was refused, or it does not allow the request.
          SessiondError: There was no final answer in time. It says what the last attempt met, how many there were, and
            how long they took together.
        """
        timeout = self._timeout if timeout is None else timeout
        retry_for = self._retry_for if retry_for is None else retry_for
        sent = dict(headers or {})
        written: bytes | _Pieces | None = None
        size: int | None = None
        if content is not None:
            written = _Pieces(content, self._kinds)
            size = written.size
        elif body is not None:
            written = dumps(body, self._kinds)
            size = len(written)
            sent = {"Content-Type": "application/json", **sent}
        request = self._request(method, path, params, sent, written, size)
        url = self.url(path)
        began = time.monotonic()
        # With a file, time is for each of its pieces, and not for the whole call.
        limit = math.inf if is_file or content is not None else timeout + patience
        connect = min(_times.CONNECT, timeout)
        in_doubt = False
        for attempt, pause in enumerate(chain(_times.PAUSES, repeat(_times.LATER)), 1):
            status: int | None = None
            body = None
            cause: Exception | None = None
            asked = 0.0
            try:
                times = Times.whole(connect, limit) if limit < math.inf else Times(connect, timeout)
                answer = await self._exchange(request, times, patience > 0)
            except NoAnswer as error:
                message = f"{str(error).capitalize()}. ({tried(method, url, attempt, began)})"
                raise with_outcome(error_of(message, None, None, self._kinds), method, True) from None
            except AccessError as no_token:
                raise with_outcome(no_token, method, in_doubt) from no_token.__cause__
            except TransportError as error:
                cause, what = error, not_reached(error)
                in_doubt = in_doubt or not isinstance(error, NOT_SENT)
            except TimeoutError as error:
                cause, what = error, f"sessiond cannot be reached: no whole answer within {limit:.1f} s."
                in_doubt = True
            else:
                status = answer.status
                file = answer.content if is_file and status < 300 else b""
                body = None if is_file and status < 300 else answer.parsed()
                if status in (401, 403):
                    # It speaks of this attempt; those before may have been applied.
                    raise with_outcome(self._denied(answer, tried(method, url, attempt, began)), method, in_doubt)
                outcome = text_of(body, "outcome")
                if status not in RETRIED and outcome != "unknown":
                    asked_for = tried(method, url, attempt, began)
                    return Reply(status, answer.headers, body, asked_for, self._kinds, file, len(answer.content))
                in_doubt = in_doubt or outcome != "not_applied"
                what = said(status, body)
                asked = retry_after(answer.headers)
            left = retry_for + patience - (time.monotonic() - began)
            if asked > left or left <= 0:
                message = f"{what} (Gave up {tried(method, url, attempt, began)})"
                raise with_outcome(error_of(message, status, body, self._kinds), method, in_doubt) from cause
            # The last time is when it has all passed.
            wait = min(max(pause, asked) * random.uniform(1.0, 1.5), left)
            logger.warning("%s %s: attempt %d failed, trying again in %.1f s: %s", method, url, attempt, wait, what)
            await io.sleep(wait)
        raise AssertionError("the loop above has no other end")

    @asynccontextmanager
    async def stream(
        self, path: str, *, params: Mapping[str, str], headers: Mapping[str, str], silence: float
    ) -> AsyncIterator[AsyncIncoming]:
        """Opens a stream, once, with a connection of its own: streams take none from the pool of the requests.

        The body is the caller's to read. The connection is closed at the end of the block.

        Args:
          path: The path, percent-encoded, see `segment`.
          params: The query.
          headers: Headers of this request.
          silence: Seconds without a byte after which `ReadTimeout` is raised.

        Raises:
          AccessError: There is no credential, for its callback failed.
          TransportError: There is no connection, or it broke, also within the block.
        """
        request = self._request("GET", path, params, dict(headers), None, None)
        times = Times(min(_times.CONNECT, self._timeout), max(silence, self._timeout))
        pool = self._open()
        try:
            version = await self._show(request, 0, times)
            async with pool.stream(request, times) as answer:
                if not self._may_have_another(answer.status):
                    yield answer
                    return
                await answer.whole()
            await self._show(request, version, times)
            async with pool.stream(request, times) as answer:
                yield answer
        finally:
            await pool.close()

    async def read(self, path: str, answer: AsyncIncoming) -> Reply:
        """Reads an answer that is no stream. Raises `AccessError` if the credential was refused."""
        asked = f"GET {self.url(path)}"
        try:
            whole = await answer.whole()
        except NoAnswer as error:
            raise self.failed(f"{str(error).capitalize()}. ({asked})") from None
        if whole.status in (401, 403):
            raise self._denied(whole, asked)
        return Reply(whole.status, whole.headers, whole.parsed(), asked, self._kinds)

    async def pages(self, path: str, query: Mapping[str, str], limits: _times.Limits) -> AsyncIterator[Reply]:
        """Yields the pages of a list, which are asked for one by one. Raises what `Reply.success` raises."""
        query = dict(query)
        empty = 0
        while True:
            page = await self.send("GET", path, params=query, **limits)
            said = page.success()
            token = said.get("nextPageToken")
            yield page
            if token is None:
                return
            empty = 0 if any(isinstance(value, list) and value for value in said.values()) else empty + 1
            if token == query.get("pageToken") or empty == _EMPTY:
                raise self.failed(f"The pages of the answer have no end. ({page.tried})")
            query["pageToken"] = token

    def failed(self, message: str) -> SessiondError:
        """Returns the error of a request that got no answer."""
        return error_of(message, None, None, self._kinds)

    def refused(self, message: str) -> SessiondError:
        """Returns the error of a request that is not sent."""
        return refusal(message, self._kinds)

    def url(self, path: str) -> str:
        """Returns the URL of a path."""
        return self._url + path

    async def close(self) -> None:
        """Closes the connections; the next request opens new ones."""
        await self._pools.close()

    def _request(
        self,
        method: str,
        path: str,
        params: Mapping[str, str] | None,
        headers: dict[str, str],
        content: Any,
        size: int | None,
    ) -> Request:
        _traces.inject(headers)
        sent = Headers({**self._headers, **Headers(headers)})
        try:
            return Request(method, self._origin.target(path, params), sent, content, size)
        except ValueError as error:
            raise self.refused(str(error)) from None

    async def _exchange(self, request: Request, times: Times, alone: bool) -> Answer:
        """Sends a request with the token; and once more, if that was refused and there can be another."""
        pool = self._open() if alone else self._pools.get()
        try:
            version = await self._show(request, 0, times)
            answer = await pool.exchange(request, times)
            if self._may_have_another(answer.status):
                await self._show(request, version, times)
                answer = await pool.exchange(request, times)
            return answer
        finally:
            if alone:
                await pool.close()

    def _may_have_another(self, status: int) -> bool:
        """Whether there can be another token, as the one was refused."""
        return status == 401 and self._auth is not None and self._auth.is_asked

    async def _show(self, request: Request, version: int, times: Times) -> int:
        """Puts a token later than `version` into a request, and returns its version."""
        if self._auth is None:
            return 0
        known = self._auth.known_later_than(version)
        if known is None:
            known = await io.within(times.left(math.inf), self._auth.later_than(version))
        version, token = known
        request.headers["authorization"] = f"Bearer {token}"
        return version

    def _open(self) -> AsyncPool:
        if not self._uses_proxy:
            return AsyncPool(self._origin)
        from .proxied import AsyncProxied

        return AsyncProxied(self._origin)

    def _denied(self, answer: Answer, asked: str) -> SessiondError:
        body = answer.parsed()
        what = said(answer.status, body)
        if answer.status == 401 and self._auth is None and "Authorization" not in self._headers:
            what += " No token was sent: give `token`, or set SESSIOND_TOKEN."
        return error_of(f"{what} ({asked})", answer.status, body, self._kinds)


class _Pieces:
    """A file in pieces, from its beginning each time that they are iterated: each piece has a time limit of its own."""

    def __init__(self, content: bytes | BinaryIO, kinds: Kinds) -> None:
        self._file = files.BytesIO(content) if isinstance(content, bytes | bytearray | memoryview) else content
        if not self._file.seekable():
            raise refusal("The file cannot be read from its beginning again: give its bytes, or one on a disk.", kinds)
        self._from = self._file.tell()
        self.size = self._file.seek(0, files.SEEK_END) - self._from

    async def __aiter__(self) -> AsyncIterator[bytes]:
        self._file.seek(self._from)
        left = self.size
        while left > 0 and (piece := await io.read_piece(self._file, min(left, _PIECE))):
            left -= len(piece)
            yield piece
        if left:
            raise LocalProtocolError("The file has become shorter.")
