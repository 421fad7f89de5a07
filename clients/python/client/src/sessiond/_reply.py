"""Answers, and what is said about them."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any

from ._errors import Kinds, SessiondError, error_of
from ._http1 import ConnectError, ConnectTimeout, Headers, PoolTimeout
from ._json import loads

# Answers to send the request again after: refused for now (429, 503), or no word from the server (the others, of which
# proxies make 502 and 504).
RETRIED = frozenset({408, 429, 502, 503, 504})

# The request never left this process, so it did not happen.
NOT_SENT = (ConnectError, ConnectTimeout, PoolTimeout)


LARGEST = 512 << 20
"""Bytes of an answer that are held, at most; and of a frame of a stream. What is larger can be read in pieces."""


class NoAnswer(Exception):
    """What came is no answer of sessiond: it is too large, or packed."""


def unpacked(headers: Headers) -> None:
    """Raises NoAnswer for an answer that is packed, which was not asked for, and whose bytes may be any number."""
    if headers.get("Content-Encoding", "identity").strip().lower() not in ("", "identity"):
        raise NoAnswer("the answer is packed (Content-Encoding), which sessiond's are not")


def held(size: int) -> None:
    """Raises NoAnswer if an answer has more bytes than are held."""
    if size > LARGEST:
        raise NoAnswer(f"the answer is larger than {LARGEST} bytes")


@dataclass(frozen=True)
class Answer:
    """What came back from one attempt."""

    status: int
    headers: Headers
    content: bytes

    def parsed(self) -> Any:
        """Returns its JSON; None if it is none."""
        try:
            return loads(self.content)
        except (ValueError, RecursionError):
            return None


@dataclass(frozen=True)
class Reply:
    """An answer that is final: a success, or an error that sending the request again would not change."""

    status: int
    headers: Headers
    body: Any
    """The JSON of the answer; None if it has none."""
    tried: str
    """What was asked, how often and for how long."""
    kinds: Kinds
    """Classes of errors."""
    content: bytes = b""
    """The bytes of a success that was asked for as a file."""
    size: int = 0
    """How many bytes the answer has."""

    @property
    def code(self) -> str | None:
        """sessiond's word for the error; None for a success, and for an error that is not sessiond's."""
        return text_of(self.body, "code") if self.status >= 400 else None

    @property
    def error(self) -> SessiondError:
        """What an answer that is an error says."""
        return error_of(f"{said(self.status, self.body)} ({self.tried})", self.status, self.body, self.kinds)

    @property
    def replayed(self) -> bool:
        """Whether an attempt before, or somebody else, has done what was asked."""
        return "Idempotent-Replayed" in self.headers

    def success(self, kind: type = dict) -> Any:
        """Returns the body of a success, which is of this type; and raises the error otherwise."""
        if self.status in (200, 201, 202):
            if not isinstance(self.body, kind):
                raise SessiondError(
                    f"The answer with status {self.status} is not sessiond's. ({self.tried})", status=self.status
                )
            return self.body
        if self.status == 204:
            return None
        raise self.error


def text_of(body: Any, field: str) -> str | None:
    """Returns a text that an answer has."""
    value = body.get(field) if isinstance(body, dict) else None
    return value if isinstance(value, str) else None


def said(status: int, body: Any) -> str:
    """Says what an answer that is an error says."""
    code = text_of(body, "code")
    detail = text_of(body, "detail") or text_of(body, "title") or "the answer is not sessiond's"
    return f"sessiond answered {status}{f' {code}' if code else ''}: {detail}."


def tried(method: str, url: str, attempts: int, began: float) -> str:
    """Says what was asked, how often, and for how long."""
    spent = time.monotonic() - began
    return f"{method} {url}, {attempts} attempt{'' if attempts == 1 else 's'} in {spent:.1f} s"


def not_reached(error: Exception) -> str:
    """Says that there was no answer."""
    why = _why(error).rstrip(".")
    return f"sessiond cannot be reached: {type(error).__name__}{f': {why}' if why else ''}."


def _why(error: BaseException) -> str:
    """Returns what the system has said, where a library has words of its own for it; else what the error says."""
    inner: BaseException | None = error
    while inner is not None:
        if isinstance(inner, ConnectionError) and inner.errno:
            # An event loop, too, says it in its own words.
            return os.strerror(inner.errno)
        if isinstance(inner, OSError) and inner.strerror:
            return inner.strerror
        # One for each address of a host.
        several: tuple[BaseException, ...] = getattr(inner, "exceptions", ())
        inner = several[0] if several else inner.__cause__ or inner.__context__
    return str(error)


def with_outcome(failure: SessiondError, method: str, in_doubt: bool) -> SessiondError:
    """Returns the error of a request that nothing will come of any more, with what that means if it is a write."""
    if method != "GET":
        failure.outcome = "unknown" if in_doubt else "not_applied"
    return failure


def retry_after(headers: Headers) -> float:
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
