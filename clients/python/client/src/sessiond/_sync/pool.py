# Made by make_sync.py, of _async/pool.py.
"""Connections to sessiond, and requests over them."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager

from .._http1 import Headers, Origin, Parser, ReadTimeout, Request, Times, WriteError, WriteTimeout
from .._reply import Answer, held, unpacked
from . import io

# Connections at once, those that are kept while nobody uses them, and for how many seconds: for less than the 75 after
# which sessiond closes them.
MOST = 100
KEPT = 20
KEPT_FOR = 60.0


class Incoming:
    """An answer whose head has come, and whose body comes."""

    def __init__(self, wire: io.Wire, parser: Parser, pieces: list[bytes], times: Times) -> None:
        """Takes where it comes from, and what of the body has come."""
        self.wire = wire
        self.parser = parser
        self._pieces = deque(pieces)
        self._times = times

    @property
    def status(self) -> int:
        """The status."""
        return self.parser.status

    @property
    def headers(self) -> Headers:
        """The headers."""
        return self.parser.headers

    def piece(self) -> bytes:
        """Returns the next bytes of the body; none at its end. Raises `TransportError` if the connection broke."""
        while not self._pieces:
            if self.parser.done:
                return b""
            self._pieces.extend(self.parser.feed(self.wire.receive(self._times)))
        return self._pieces.popleft()

    def whole(self) -> Answer:
        """Reads what is left. Raises `NoAnswer` if it is packed or too large."""
        unpacked(self.headers)
        content = bytearray()
        while piece := self.piece():
            content += piece
            held(len(content))
        return Answer(self.status, self.headers, bytes(content))


class Pool:
    """Sends requests, each over a connection that no other uses meanwhile. Such as can be used again are kept."""

    def __init__(self, origin: Origin) -> None:
        """Opens no connection yet."""
        self._origin = origin
        self._slots = io.Slots(MOST)
        # Those that are not in use, and since when.
        self._idle: deque[tuple[io.Wire, float]] = deque()
        self._closed = False

    def exchange(self, request: Request, times: Times) -> Answer:
        """Sends a request once, and returns the whole answer.

        Raises:
          TransportError: There was none. What is among `NOT_SENT` has certainly not been sent.
          TimeoutError: It was not there at the end of the time for all.
          NoAnswer: It is packed or too large.
        """
        try:
            with self.stream(request, times) as answer:
                return answer.whole()
        except (ReadTimeout, WriteTimeout) as late:
            if times.ends < float("inf"):
                raise TimeoutError from late
            raise

    @contextmanager
    def stream(self, request: Request, times: Times) -> Iterator[Incoming]:
        """Sends a request once, and gives the answer when its head has come. Raises `TransportError`."""
        self._slots.take(times)
        try:
            wire = self._unused() or io.Wire.open(self._origin, times)
            parser, whole = Parser(request.method), False
            try:
                whole = self._write(wire, request, times)
                pieces: list[bytes] = []
                while not parser.status:
                    pieces += parser.feed(wire.receive(times))
                yield Incoming(wire, parser, pieces, times)
            finally:
                # Else it is in the midst of something.
                if whole and parser.done and parser.keep:
                    self._keep(wire)
                else:
                    wire.close()
        finally:
            self._slots.give()

    def close(self) -> None:
        """Closes the connections, those in use when they are not any more."""
        self._closed = True
        self._close_idle(0)

    def _write(self, wire: io.Wire, request: Request, times: Times) -> bool:
        """Writes a request; returns whether all of it has gone.

        Who refuses a request may close the connection before it has all come. The answer says why.
        """
        head, content = request.head(self._origin.host), request.content
        try:
            if content is None or isinstance(content, bytes):
                wire.send(head + (content or b""), times)
            else:
                wire.send(head, times)
                for piece in content:
                    wire.send(piece, times)
        except WriteError:
            return False
        return True

    def _unused(self) -> io.Wire | None:
        """Returns a connection that is there, and that the server has not closed."""
        while self._idle:
            try:
                wire, since = self._idle.pop()
            except IndexError:
                # Another thread was faster.
                break
            if time.monotonic() - since < KEPT_FOR and not wire.is_stale():
                return wire
            wire.close()
        return None

    def _keep(self, wire: io.Wire) -> None:
        self._idle.append((wire, time.monotonic()))
        self._close_idle(0 if self._closed else KEPT)

    def _close_idle(self, most: int) -> None:
        """Closes those that have been unused for longest, but for so many."""
        while len(self._idle) > most:
            try:
                self._idle.popleft()[0].close()
            except IndexError:
                break
