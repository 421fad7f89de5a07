"""HTTP/1.1 without I/O: a request as bytes, an answer from bytes, and the ways in which there is none."""

from __future__ import annotations

import math
import re
import select
import ssl
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, urlencode, urlsplit


class TransportError(Exception):
    """There was no whole answer."""


class ConnectError(TransportError):
    """There is no connection."""


class ConnectTimeout(TransportError):
    """A connection did not come about in time."""


class PoolTimeout(TransportError):
    """All connections were in use for too long."""


class ReadError(TransportError):
    """The connection broke while an answer was read."""


class ReadTimeout(TransportError):
    """No byte came for too long."""


class WriteError(TransportError):
    """The connection broke while a request was written."""


class WriteTimeout(TransportError):
    """No byte went for too long."""


class LocalProtocolError(TransportError):
    """The request is not what it was to be."""


class RemoteProtocolError(TransportError):
    """What came is no answer, or not a whole one."""


@dataclass(frozen=True)
class Times:
    """How long is waited, in seconds."""

    connect: float
    """For a connection to come about."""
    silence: float = math.inf
    """Without a byte that comes or goes."""
    ends: float = math.inf
    """When all has to have ended, by `time.monotonic`."""

    @classmethod
    def whole(cls, connect: float, limit: float) -> Times:
        """Returns those of what has to have ended in so many seconds from now on."""
        return cls(connect, ends=time.monotonic() + limit)

    def left(self, most: float | None = None) -> float | None:
        """Returns for how long to wait at most, by default without a byte; None for ever.

        Raises:
          TimeoutError: All should have ended.
        """
        most = self.silence if most is None else most
        if self.ends < math.inf:
            most = min(most, self.ends - time.monotonic())
            if most <= 0:
                raise TimeoutError
        return most if most < math.inf else None


class Headers(dict[str, str]):
    """Header fields, which are found whatever the case of their names. `repr` shows no values: some are credentials."""

    def __init__(self, fields: Mapping[str, str] | None = None) -> None:
        """Takes them; of names that differ in case alone, the last."""
        super().__init__({name.lower(): value for name, value in (fields or {}).items()})

    def get(self, name: str, default: Any = None) -> Any:
        """Returns the value of a field."""
        return super().get(name.lower(), default)

    def __contains__(self, name: object) -> bool:
        """Whether there is a field of that name."""
        return isinstance(name, str) and super().__contains__(name.lower())

    def __repr__(self) -> str:
        """Shows the names."""
        return f"{type(self).__name__}({sorted(self)})"


class Origin:
    """Where requests go."""

    def __init__(self, url: str, tls: ssl.SSLContext | None) -> None:
        """Takes a URL of a scheme that is known, without user, query and fragment, and for `https:` what it trusts."""
        parts = urlsplit(url)
        is_https = parts.scheme == "https"
        self.url = f"{parts.scheme}://{parts.netloc}"
        self.path = parts.path
        self.tls = (tls or _trusted()) if is_https else None
        self.name = parts.hostname or ""
        self.port = parts.port or (443 if is_https else 80)
        try:
            host = self.name.encode("idna").decode()
        except UnicodeError:
            raise ValueError("The URL of sessiond has no host that there can be.") from None
        host = f"[{host}]" if ":" in host else host
        self.host = host if self.port == (443 if is_https else 80) else f"{host}:{self.port}"

    def target(self, path: str, params: Mapping[str, str] | None) -> str:
        """Returns what a request asks for: a path, percent-encoded, and a query."""
        path = self.path + path
        if not _TARGET.fullmatch(path):
            path = quote(path, safe="!$%&'()*+,/:;=?@[]~")
        if not params:
            return path
        return f"{path}{'&' if '?' in path else '?'}{urlencode(params, quote_via=quote)}"


# The header of a proxy would show what is in other characters.
_TARGET = re.compile(r"[!$-~]+")
_NAME = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_VALUE = re.compile(r"[ -~]*")


def is_field(name: str, value: str) -> bool:
    """Whether a header can be sent."""
    return bool(_NAME.fullmatch(name) and _VALUE.fullmatch(value)) and value == value.strip()


class Request:
    """A request, which may be sent several times."""

    def __init__(self, method: str, target: str, headers: Headers, content: Any, size: int | None) -> None:
        """Takes the body as bytes, or what yields them, and its size; None for none.

        Raises:
          ValueError: The method or a header cannot be sent; the message does not show its value.
        """
        if not _NAME.fullmatch(method):
            raise ValueError("The method cannot be sent.")
        for name, value in headers.items():
            if not is_field(name, value):
                raise ValueError(f"The header {name!r} has a value that cannot be sent.")
        self.method = method
        self.target = target
        self.headers = headers
        self.content = content
        # Its end is where the size says.
        self.headers.pop("transfer-encoding", None)
        if size is not None or method in ("POST", "PUT", "PATCH"):
            self.headers["content-length"] = str(size or 0)

    def head(self, host: str) -> bytes:
        """Returns all that comes before the body."""
        lines = [f"{self.method} {self.target} HTTP/1.1"]
        if "host" not in self.headers:
            lines.append(f"host: {host}")
        lines += [f"{name}: {value}" for name, value in self.headers.items()]
        return ("\r\n".join(lines) + "\r\n\r\n").encode("ascii")


# Bytes of all heads of an answer and what follows its body, and of a line between chunks.
_HEADS = 1 << 16
_LINE = 1 << 12

_STATUS = re.compile(r"HTTP/1\.([01]) ([1-9][0-9][0-9])(?: [^\r\n]*)?")
_CONTROL = re.compile(r"[\r\n\0]")
_CHUNK = re.compile(rb"([0-9A-Fa-f]{1,15})[ \t]*(?:;.*)?")

# Between chunks: what the next line is.
_SIZE, _END_OF_DATA, _TRAILER = range(3)


class Parser:
    """Reads one answer, in pieces that may be cut anywhere."""

    def __init__(self, method: str) -> None:
        """Takes the method that it answers."""
        self._method = method
        self.status = 0
        """0 until the head has come."""
        self.headers = Headers()
        self.done = False
        """Whether it has come to its end."""
        self.keep = False
        """Whether the connection can be used for another one."""
        self._rest = b""
        self._heads = 0
        # Bytes of the body, or of this chunk of it, that are to come; None up to the end of the connection.
        self._left: int | None = 0
        self._chunked = False
        self._next = _SIZE

    def feed(self, data: bytes) -> list[bytes]:
        """Returns what of the body has come with these bytes; none are the end of the connection.

        Raises:
          RemoteProtocolError: It is no answer, or the connection ended before it.
        """
        if not data:
            return self._ended()
        if not self.status:
            self._rest += data
            if not self._read_head():
                return []
            data, self._rest = self._rest, b""
        if self._chunked and not self.done:
            return self._chunks(data)
        if self._left is None:
            return [data] if data else []
        body = data[: self._left]
        self._left -= len(body)
        self.done = self._left == 0
        if len(data) > len(body):
            # Nobody has asked for more.
            self.keep = False
        return [body] if body else []

    def _ended(self) -> list[bytes]:
        self.keep = False
        if self.status and self._left is None:
            self.done = True
        if self.done:
            return []
        if not self.status and not self._heads and not self._rest:
            raise RemoteProtocolError("Server disconnected without sending a response.")
        raise RemoteProtocolError("The server closed the connection before the end of the answer.")

    def _read_head(self) -> bool:
        while True:
            end = self._rest.find(b"\r\n\r\n")
            size = len(self._rest) if end < 0 else end + 4
            if self._heads + size > _HEADS:
                raise RemoteProtocolError("The head of the answer is too large.")
            if end < 0:
                return False
            first, *lines = self._rest[:end].decode("latin-1").split("\r\n")
            self._rest = self._rest[size:]
            self._heads += size
            version_and_status = _STATUS.fullmatch(first)
            if version_and_status is None or version_and_status[2] == "101":
                raise RemoteProtocolError("What came is no answer of HTTP/1.1.")
            status = int(version_and_status[2])
            if status >= 200:
                break
        fields = self.headers
        for line in lines:
            name, colon, value = line.partition(":")
            if not colon or not _NAME.fullmatch(name) or _CONTROL.search(value):
                raise RemoteProtocolError("The answer has a header that is none.")
            name, value = name.lower(), value.strip(" \t")
            fields[name] = f"{fields[name]}, {value}" if name in fields else value
        self.status = status
        said = {word.strip().lower() for word in fields.get("connection", "").split(",")}
        self.keep = version_and_status[1] == "1" and "close" not in said
        self._frame()
        return True

    def _frame(self) -> None:
        """Says where the body ends (RFC 9112, section 6.3)."""
        coding, size = self.headers.get("transfer-encoding"), self.headers.get("content-length")
        if self._method == "HEAD" or self.status in (204, 304):
            self.done = True
        elif coding is not None:
            # With both, somebody on the way might see another end.
            if coding.lower() != "chunked" or size is not None:
                raise RemoteProtocolError("The body of the answer has an end that cannot be told.")
            self._chunked = True
        elif size is None:
            self._left, self.keep = None, False
        else:
            sizes = {each.strip(" \t") for each in size.split(",")}
            said = sizes.pop()
            if sizes or not (said.isascii() and said.isdigit() and len(said) < 19):
                raise RemoteProtocolError("The answer has a size that is none.")
            self._left = int(said)
            self.done = self._left == 0

    def _chunks(self, data: bytes) -> list[bytes]:
        if self._rest:
            data = self._rest + data
        pieces: list[bytes] = []
        at = 0
        while not self.done:
            if self._left:
                piece = data[at : at + self._left]
                if not piece:
                    break
                pieces.append(piece)
                at += len(piece)
                self._left -= len(piece)
                continue
            end = data.find(b"\r\n", at)
            if (len(data) if end < 0 else end) - at > _LINE:
                raise RemoteProtocolError("A line between chunks is too long.")
            if end < 0:
                break
            self._line(data[at:end])
            at = end + 2
        self._rest = data[at:]
        if self.done and self._rest:
            self.keep = False
        return pieces

    def _line(self, line: bytes) -> None:
        """Takes a line between chunks."""
        if self._next == _TRAILER:
            # What it says is not asked for.
            self._heads += len(line) + 2
            if self._heads > _HEADS:
                raise RemoteProtocolError("What follows the answer is too large.")
            self.done = not line
        elif self._next == _END_OF_DATA:
            if line:
                raise RemoteProtocolError("A chunk of the answer is longer than it says.")
            self._next = _SIZE
        else:
            size = _CHUNK.fullmatch(line)
            if size is None:
                raise RemoteProtocolError("A chunk of the answer has a size that is none.")
            self._left = int(size[1], 16)
            self._next = _END_OF_DATA if self._left else _TRAILER


def is_readable(descriptor: int) -> bool:
    """Whether a connection has bytes, or has ended: while nobody has asked for anything, it is of no more use."""
    if not hasattr(select, "poll"):
        return bool(select.select([descriptor], [], [], 0)[0])
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    return bool(poll.poll(0))


def _trusted() -> ssl.SSLContext:
    """Returns what trusts the authorities of the system, or those that `SSL_CERT_FILE` and `SSL_CERT_DIR` name."""
    context = ssl.create_default_context()
    context.set_alpn_protocols(["http/1.1"])
    return context
