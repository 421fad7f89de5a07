"""JSON of other programs as sessiond takes it: numbers stay as they were written, and what it refuses is found.

sessiond refuses what some client could never read again: half a character, a number that is none or beyond a double,
a NUL or the same name twice in an object, and what is nested too deeply or too long.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from decimal import Decimal
from hashlib import sha256
from typing import Any, TypeAlias

from pydantic_core import from_json, to_json

MAX_DEPTH = 64
MAX_KEY_BYTES = 512
MAX_BYTES = 4 << 20

_LONGEST_INTEGER = 308
_NO_CHARACTER = "\ufffd"
_quoted: Callable[[str], str] = json.encoder.encode_basestring

Path: TypeAlias = "tuple[Path, str | int] | None"
"""Where a value stands: where what holds it stands, and its name or its place in there."""


class Number(str):
    """A number as it was written; also `NaN` and the infinities, which JSON does not have."""

    __slots__ = ()


class Doubled(dict[str, Any]):
    """An object in which names come more than once: of each, what comes last counts."""


def _members(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members = dict(pairs)
    return members if len(members) == len(pairs) else Doubled(members)


_decoder = json.JSONDecoder(
    parse_float=Number, parse_int=Number, parse_constant=Number, object_pairs_hook=_members, strict=False
)


def read(text: str) -> Any:
    """Returns the value of a text, with a `Number` for each number.

    Raises:
      ValueError: It is no JSON, or nested so deeply that Python cannot read it.
    """
    try:
        return _decoder.decode(text)
    except RecursionError:
        raise ValueError("is nested too deeply to be read") from None


Encoder: TypeAlias = Callable[[Any], str]
"""Writes a value of Python's own types as compact JSON."""


def _encode(value: Any) -> str:
    return to_json(value).decode()


encode: Encoder = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode
"""As Python's own module writes it. Raises ValueError for a NaN or an infinity."""

_escaped = json.JSONEncoder(allow_nan=False).encode


def read_exactly(text: str) -> tuple[Any, Encoder | None]:
    """Returns what `read` does, which no encoder writes."""
    return read(text), None


def read_plain(text: str) -> tuple[Any, Encoder | None]:
    """Returns the value of a text in Python's own types, and what writes that very text again, but for white space.

    That is there for almost all texts, and several times as fast. For any other text it is None, and each number of
    the value a `Number`.

    Raises:
      ValueError: It is no JSON, or nested so deeply that Python cannot read it.
    """
    try:
        value = from_json(text, allow_inf_nan=False)
        if _encode(value).replace(" ", "") == text.replace(" ", ""):
            return value, _encode
        # As Python's own module writes it.
        if _escaped(value) == text:
            return value, encode
    except (ValueError, RecursionError):
        pass  # It is read again, and told of.
    return read_exactly(text)


def pointer(path: Path) -> str:
    """Returns the JSON pointer of a path."""
    steps: list[str] = []
    while path is not None:
        path, step = path
        steps.append(str(step).replace("~", "~0").replace("/", "~1"))
    return "".join(f"/{step}" for step in reversed(steps)).encode(errors="replace").decode()


@dataclass(frozen=True)
class Fault:
    """Something that sessiond does not take."""

    at: str
    """Its JSON pointer, in the event or the state."""
    what: str
    """What is wrong with it."""
    became: str
    """What is written in its place."""


class Writer:
    """Writes values as compact JSON that sessiond takes, and notes in `faults` what it replaced."""

    def __init__(self) -> None:
        """Begins without faults."""
        self.faults: list[Fault] = []

    def fault(self, path: Path, what: str, became: str) -> None:
        """Notes a fault."""
        self.faults.append(Fault(pointer(path), what, became))

    def value(self, value: Any, path: Path, rename: Callable[[str, str], str] | None = None, name: str = "") -> str:
        """Returns the text of a value.

        `rename` gives the name of a member for the one that is there and the field that holds it; where it returns the
        name of a field of data, the keys within stay. `name` is that of the field that this is the value of.
        """
        return self._write(value, path, MAX_DEPTH, rename, name)

    def _write(self, value: Any, path: Path, room: int, rename: Callable[[str, str], str] | None, name: str) -> str:
        kind = type(value)
        if kind is str:
            return self.string(value, path)
        if kind is Number:
            return self._number(value, path)
        if value is None:
            return "null"
        if kind is bool:
            return "true" if value else "false"
        if isinstance(value, dict):
            if room == 0:
                return self._too_deep(value, path)
            if kind is Doubled:
                self.fault(path, "a name comes more than once in an object", "what comes last of each name")
            if rename is not None and name in DATA:
                rename = None
            parts = []
            for key, member in value.items():
                inner = key if rename is None else rename(key, name)
                below = (path, inner)
                said = self.key(inner, below, value)
                # What a field is does not follow from an id.
                field = "" if name == _BY_ID else inner
                parts.append(f"{_quoted(said)}:{self._write(member, below, room - 1, rename, field)}")
            return "{" + ",".join(parts) + "}"
        if isinstance(value, list | tuple):
            if room == 0:
                return self._too_deep(value, path)
            if rename is not None and name in DATA:
                rename = None
            return (
                "["
                + ",".join([self._write(each, (path, at), room - 1, rename, name) for at, each in enumerate(value)])
                + "]"
            )
        if isinstance(value, str):
            return self.string(value, path)
        if isinstance(value, int | float):
            # A subclass may write itself in another way.
            return self._number(Number(int.__repr__(value) if isinstance(value, int) else float.__repr__(value)), path)
        raise ValueError(f"a {type(value).__name__} is no value of JSON")

    def string(self, text: str, path: Path) -> str:
        """Returns a text in quotes."""
        if not text.isascii():
            try:
                text.encode()
            except UnicodeEncodeError:
                self.fault(path, "half a character (an unpaired surrogate)", "U+FFFD in its place")
                text = whole(text)
        return _quoted(text)

    def key(self, key: str, path: Path, others: Iterable[str] = (), longest: int | None = None) -> str:
        """Returns a key that sessiond takes, and that none of the others is."""
        said = key
        if not key.isascii() and whole(key) != key:
            said = whole(said)
            self.fault(path, "half a character (an unpaired surrogate) in a name", "U+FFFD in its place")
        if "\0" in said:
            said = said.replace("\0", _NO_CHARACTER)
            self.fault(path, "a NUL in a name", "U+FFFD in its place")
        if longest is not None and len(said.encode()) > longest:
            size = len(said.encode())
            mark = "~" + sha256(said.encode()).hexdigest()[:8]
            said = said.encode()[: longest - len(mark)].decode(errors="ignore") + mark
            self.fault(path, f"a key of {size} bytes, where {longest} are allowed", f"its beginning, and {mark}")
        if said != key:
            taken = set(others)
            while said in taken:
                said += "~"
        return said

    def _number(self, text: Number, path: Path) -> str:
        if len(text) <= _LONGEST_INTEGER and text.lstrip("-").isdecimal():
            return str(text)
        if text.lstrip("-") in ("NaN", "Infinity", "inf", "nan"):
            self.fault(
                path, f"{'NaN' if text.lower().endswith('nan') else 'an infinity'}, which JSON does not have", "null"
            )
            return "null"
        if not math.isfinite(float(text)) or (
            text.lstrip("-").isdecimal() and len(text.lstrip("-")) > _LONGEST_INTEGER
        ):
            self.fault(path, "a number beyond the range of a double", "null")
            return "null"
        return str(text)

    def _too_deep(self, value: Any, path: Path) -> str:
        self.fault(path, f"nested deeper than {MAX_DEPTH}", "its JSON, as a text")
        inner = Writer()
        # As deep as it is: the text is not read again.
        return _quoted(inner._write(value, None, 1 << 20, None, ""))


def whole(text: str) -> str:
    """Returns a text with U+FFFD for each half of a character."""
    return _HALVES.sub(_NO_CHARACTER, text)


_HALVES = re.compile("[\ud800-\udfff]")

# Fields of events whose keys are data, in camelCase. The keys of all others are names, in Python in snake_case.
DATA = frozenset(
    {
        "agentState",
        "args",
        "artifactDelta",
        "customMetadata",
        "output",
        "partMetadata",
        "payload",
        "requestedAuthConfigs",
        "response",
        "setModelResponse",
        "stateDelta",
    }
)

# The field whose keys are ids, and their values have names again.
_BY_ID = "requestedToolConfirmations"

_LONG_INTEGER = re.compile(rf"[0-9]{{{_LONGEST_INTEGER + 1}}}")


def is_sound(value: Any, text: str) -> bool:
    """Whether sessiond takes a plain value, whose text this is, for sure. If not, a `Writer` says so.

    What is half a character is no UTF-8, and found when the text is encoded.
    """
    return (
        "\\u0000" not in text
        and (text.count("{") + text.count("[") <= MAX_DEPTH or _is_shallow(value, MAX_DEPTH))
        and not _LONG_INTEGER.search(text)
    )


def _is_shallow(value: Any, room: int) -> bool:
    inner = value.values() if type(value) is dict else value
    return room > 0 and all(_is_shallow(each, room - 1) for each in inner if type(each) in (dict, list))


def renamed(value: Any, name: str) -> Any:
    """Returns a plain object or list with its names as `camel` has them; `name` is that of the field which has it.

    Raises:
      ValueError: Two names become the same.
    """
    if name in DATA:
        return value
    if type(value) is list:
        return [renamed(each, name) if type(each) is dict or type(each) is list else each for each in value]
    are_ids = name == _BY_ID
    said = {}
    for key, member in value.items():
        if not are_ids and "_" in key:
            key = _known.get(key) or camel(key)
        inner = type(member)
        said[key] = renamed(member, "" if are_ids else key) if inner is dict or inner is list else member
    if len(said) != len(value):
        raise ValueError("two names are the same in camelCase")
    return said


_SNAKE = re.compile(r"[a-z0-9]+(?:_[a-z0-9]+)+")
_known: dict[str, str] = {}


def camel(name: str, field: str = "") -> str:
    """Returns a name in camelCase, unless it is an id; what is no snake_case stays itself."""
    if field == _BY_ID or "_" not in name:
        return name
    said = _known.get(name)
    if said is None:
        said = name
        if _SNAKE.fullmatch(name):
            first, *others = name.split("_")
            said = first + "".join(word[0].upper() + word[1:] for word in others)
        if len(_known) < 10_000:
            _known[name] = said
    return said


def same(one: str, other: str) -> bool:
    """Whether two texts of JSON say the same: numbers by what they count, objects in whatever order."""
    return one == other or _canonical(read(one)) == _canonical(read(other))


def _canonical(value: Any) -> Any:
    if isinstance(value, Number):
        return ("number", Decimal(value))
    if isinstance(value, dict):
        return {key: _canonical(member) for key, member in value.items()}
    if isinstance(value, list):
        return [_canonical(each) for each in value]
    # In Python True is 1.
    return (type(value), value)


def heaviest(value: Any) -> tuple[Any, Any, int] | None:
    """Returns where most of a value's text is: the object or list that holds it, its name or place there, its bytes.

    None if the value is no object or list, or has nothing in it.
    """
    found: tuple[Any, Any, int] | None = None
    while isinstance(value, dict | list) and value:
        members: Iterable[tuple[Any, Any]] = value.items() if isinstance(value, dict) else enumerate(value)
        size, at = max(((_weight(member), at) for at, member in members), key=lambda pair: pair[0])
        if found is not None and 2 * size < found[2]:
            break
        found = (value, at, size)
        value = value[at]
    return found


def _weight(value: Any) -> int:
    return len(Writer()._write(value, None, 1 << 20, None, "").encode())
