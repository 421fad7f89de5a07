"""Server-sent events, as the HTML standard has them (section 9.2.6, "Interpreting an event stream")."""

from __future__ import annotations

import codecs
import re
from dataclasses import dataclass

from ._reply import held

# A CRLF is one end of a line, and so is each of its halves.
_ENDS = re.compile(r"\r\n|\n|\r")

# Milliseconds. More than a day means nothing to somebody who waits, and `int` refuses thousands of digits.
_LONGEST_RETRY = 86_400_000


@dataclass(frozen=True)
class Frame:
    """An event of the stream."""

    name: str
    """Its `event:`, `message` if it has none."""
    data: str
    """Its lines of `data:`, joined by line feeds."""
    id: str
    """The last `id:` of the stream: its own, else that of an earlier frame."""


class Parser:
    """Reads one stream, in chunks that may be cut anywhere, also within a character or a line's end.

    A frame is returned by the `feed` that brings its end. What comes after the last end is no frame: the stream was
    cut there. A frame that is larger than an answer may be raises `NoAnswer`.
    """

    def __init__(self, last_id: str = "") -> None:
        """Takes the id that the stream begins behind."""
        self.last_id = last_id
        """The id of the last frame that ended."""
        self.retry: int | None = None
        """The last `retry:` of the stream, in milliseconds, at most a day."""
        self._decoder = codecs.getincrementaldecoder("utf-8")(errors="replace")
        self._begun = False
        self._after_cr = False
        # The line that has not ended, in pieces.
        self._line: list[str] = []
        # The frame that has not ended.
        self._name = ""
        self._data: list[str] = []
        self._id = last_id
        # Of both, about, in bytes: an empty line takes some, too.
        self._line_size = self._data_size = 0

    def feed(self, chunk: bytes) -> list[Frame]:
        """Returns the frames that end within this chunk."""
        text = self._decoder.decode(chunk)
        if not text:
            return []
        if not self._begun:
            self._begun = True
            text = text.removeprefix("\ufeff")
        if self._after_cr:
            text = text.removeprefix("\n")
            self._after_cr = False
        # The line feed of this line's end may come with the next chunk. The line itself need not wait for it.
        self._after_cr = text.endswith("\r")
        *lines, rest = _ENDS.split(text)
        if lines:
            lines[0] = "".join((*self._line, lines[0]))
            self._line.clear()
            self._line_size = 0
        self._line.append(rest)
        self._line_size += len(rest)
        frames = [frame for line in lines if (frame := self._take(line))]
        held(self._line_size + self._data_size)
        return frames

    def _take(self, line: str) -> Frame | None:
        if not line:
            return self._end()
        # A line that begins with a colon is a comment: it has the field ``, which means nothing.
        field, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if field == "data":
            self._data.append(value)
            self._data_size += 64 + len(value)
        elif field == "event":
            self._name = value
        elif field == "id" and "\0" not in value:
            self._id = value
        elif field == "retry" and value.isascii() and value.isdigit():
            self.retry = min(int(value), _LONGEST_RETRY) if len(value) < 20 else _LONGEST_RETRY
        return None

    def _end(self) -> Frame | None:
        name, data = self._name, self._data
        self._name, self._data, self._data_size = "", [], 0
        self.last_id = self._id
        return Frame(name or "message", "\n".join(data), self.last_id) if data else None
