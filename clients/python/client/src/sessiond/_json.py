"""JSON as sessiond keeps it: what was read can be written again, and is the same.

Integers of any size and the order of keys are Python's own. A number that no `float` writes as it was, such as `1.10`
or `1E2`, is read as a `Number`.
"""

from __future__ import annotations

import json
import re
from types import MappingProxyType
from typing import Any, ClassVar

from ._errors import Kinds, refusal

orjson: Any
try:
    import orjson
except ImportError:
    orjson = None

_quoted = json.encoder.encode_basestring
_encode = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode


class Number(float):
    """A float that is written as it was read: `1.10`, `1E2`, `-0`, or with more digits than a float has."""

    __slots__ = ("text",)
    made: ClassVar[bool] = False
    """Whether there was one: as a rule there is none, and nothing is searched for them."""
    text: str
    """The number as it was read."""

    def __new__(cls, text: str) -> Number:
        """Takes a number of JSON."""
        number = super().__new__(cls, text)
        number.text = text
        cls.made = True
        return number

    def __getnewargs__(self) -> tuple[str]:  # type: ignore[override]
        """Copies are numbers of the same text."""
        return (self.text,)


def _float(text: str) -> float:
    # A time in microseconds: so small a number is the only one of six places for its double.
    if len(text) == 17 and text[10] == "." and text < "8" and text[11:].isdecimal() and text[16] != "0":
        return float(text)
    value = float(text)
    return value if repr(value) == text else Number(text)


def _int(text: str) -> int | Number:
    # The one integer that Python does not have.
    return Number(text) if text == "-0" else int(text)


_decode = json.JSONDecoder(parse_float=_float).decode
_MINUS_ZERO = re.compile(r"-0(?<![^\s:,[]-0)(?![^\s\],}])")
_decode_zeros = json.JSONDecoder(parse_float=_float, parse_int=_int).decode


def loads(text: bytes | str) -> Any:
    """Returns the value of a text. Raises ValueError if it is not JSON in UTF-8."""
    if orjson is not None and isinstance(text, bytes) and len(text) >= _LARGE and b"\\u" not in text:
        try:
            return _proved(text)
        except (ValueError, TypeError, AttributeError):
            pass
    said = text.decode() if isinstance(text, bytes) else text
    # A function for each integer costs time, and "-0" is in many an id.
    return (_decode_zeros if "-0" in said and _MINUS_ZERO.search(said) else _decode)(said)


# Bytes of a text from which on orjson takes less time, with the proof that it has read what the standard parser reads.
_LARGE = 64 << 10

# The zero at the end of a time of the server, and floats for which Python, unlike orjson, may write an exponent, or
# another one.
_ZERO = re.compile(rb"\.\d{5}0(?=[,}])")
_EXPONENT = re.compile(rb"e(?=[-\d])(?:(?<=[:,[]\de)|(?<=[:,[]-\de))")
_PLACES = re.compile(rb"\.(?:0000(?<=[:,[-]0\.0000)|\d+e-?\d+[],}])")


def _proved(text: bytes) -> Any:
    """Returns the value of a text by orjson. Raises an error if that might not be the standard parser's."""
    value = orjson.loads(text)
    times = [text[zero.start() - 10 : zero.end()] for zero in _ZERO.finditer(text)]
    if zeros := {float(time): time.decode() for time in times}:
        for event in value.get("events", ()):
            for name in ("timestamp", "commitTime"):
                if event.get(name) in zeros:
                    event[name] = Number(zeros[event[name]])
    if _EXPONENT.search(text) or _PLACES.search(text) or orjson.dumps(value, default=_exact) != text.rstrip(b"\n"):
        raise ValueError
    return value


def _exact(number: Number) -> Any:
    return orjson.Fragment(number.text)


def dumps(value: Any, kinds: Kinds = MappingProxyType({})) -> bytes:
    """Returns the text of a value.

    Raises:
      InputError: It has a NaN, an infinity, half of a character or what is no JSON; the error says where.
    """
    try:
        return (_written(value) if Number.made and _has_number(value) else _encode(value)).encode()
    except (ValueError, TypeError, RecursionError):
        try:
            what, at = _fault(value, "") or ("what no text says", "")
        except RecursionError:
            what, at = "an object in itself, or nested too deeply", ""
        raise refusal(f"What is to be sent is no JSON: it has {what}{at and f' at {at}'}.", kinds) from None


def _has_number(value: Any) -> bool:
    if isinstance(value, dict):
        return any(_has_number(member) for member in value.values() if type(member) not in _PLAIN)
    if isinstance(value, list | tuple):
        return any(_has_number(member) for member in value if type(member) not in _PLAIN)
    return type(value) is Number


_PLAIN = frozenset({str, int, bool, float, type(None)})


def _written(value: Any) -> str:
    """Writes a value that has a `Number`, whose text the encoder would not take."""
    if type(value) is Number:
        return value.text
    if not _has_number(value):
        return _encode(value)
    if isinstance(value, dict):
        return "{" + ",".join(f"{_key(name)}:{_written(member)}" for name, member in value.items()) + "}"
    return "[" + ",".join(map(_written, value)) + "]"


def _key(name: Any) -> str:
    return _quoted(name) if isinstance(name, str) else _encode({name: 0})[1:-3]


def _fault(value: Any, at: str) -> tuple[str, str] | None:
    """Returns what cannot be written, and its JSON pointer."""
    if isinstance(value, dict):
        members: Any = value.items()
    elif isinstance(value, list | tuple):
        members = enumerate(value)
    else:
        try:
            _encode(value).encode()
        except UnicodeEncodeError:
            return "half of a character", at
        except ValueError:
            return "a number that JSON does not have", at
        except TypeError:
            dumped = ', of which `.model_dump(mode="json")` is JSON,' if hasattr(value, "model_dump") else ""
            return f"a {type(value).__name__}{dumped}", at
        return None
    for name, member in members:
        step = str(name).replace("~", "~0").replace("/", "~1").encode(errors="replace").decode()
        if isinstance(name, str) and (found := _fault(name, f"{at}/{step}")):
            return found
        if found := _fault(member, f"{at}/{step}"):
            return found
    return None
