"""How the checkpoints of LangGraph are kept: names, values, what events say. No I/O, and nothing of LangGraph."""

from __future__ import annotations

import base64
import hashlib
import json
import math
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import Any, Protocol

from ._errors import InputError
from ._json import dumps
from ._records import Event

CHECKPOINT = "langgraph.checkpoint"
WRITES = "langgraph.writes"
DROP = "langgraph.drop"
"""The authors: of a checkpoint, of what its tasks have written, and of the mark that it is not to be read any more."""

ALL_KEYS = "lg/"

OTHERS = "sessiond:"
"""What the ids of messages begin with that others have said, which the log has already."""

# Bytes of JSON: a larger value is a file, and so is what makes an event larger than the second. Servers take events of
# 4 MiB by default.
_LARGE = 1 << 20
_TOGETHER = 3 << 20

# Servers take 64.
_DEEPEST = 50

# Of which no one else's is a beginning: the root is the empty one.
_LONGEST_PLACE = 180


class Serde(Protocol):
    """A serializer of LangGraph."""

    def dumps_typed(self, obj: Any) -> tuple[str, bytes]:
        """Returns the type and the bytes of a value."""
        ...

    def loads_typed(self, data: tuple[str, bytes]) -> Any:
        """Returns the value."""
        ...


@dataclass(frozen=True)
class Codec:
    """Writes and reads values."""

    serde: Serde
    is_shown: bool
    """Whether plain JSON is kept as JSON, so that people can read it. False if the serializer must see all values."""

    def pack(self, value: Any) -> dict[str, Any]:
        """Returns the JSON of a value: itself; its text, if sessiond would not take that; or its type and bytes."""
        if self.is_shown and is_plain(value):
            return {"json": value}
        if self.is_shown and is_plain(value, 200, escaped=True):
            return {"text": json.dumps(value)}
        kind, data = self.serde.dumps_typed(value)
        return {"t": kind, "b": base64.b64encode(data).decode()}

    def unpack(self, entry: Mapping[str, Any], files: Mapping[str, bytes]) -> Any:
        """Returns the value; that of a file from its bytes, by its name."""
        if "json" in entry:
            return _copied(entry["json"])
        if "text" in entry:
            return json.loads(entry["text"])
        data = files[entry["artifact"]] if "artifact" in entry else base64.b64decode(entry["b"])
        return self.serde.loads_typed((entry["t"], data))


class Packing:
    """The values of one event. Those that are too large for it become files."""

    def __init__(self, codec: Codec, ns: str, content: Any = None) -> None:
        """Begins without a value. `content` is what the event says besides."""
        self._codec = codec
        self._ns = ns
        self._left = _TOGETHER - len(dumps(content))
        self.files: dict[str, bytes] = {}
        """What is to be saved before the event, by name."""

    def pack(self, value: Any, channel: str, version: object = "") -> dict[str, Any]:
        """Returns the JSON of a value of a channel."""
        entry = self._codec.pack(value)
        # Of most values, the length of the text of the bytes.
        size = len(entry["b"]) if "b" in entry else len(dumps(entry))
        if size <= min(_LARGE, self._left):
            self._left -= size
            return entry
        kind, data = self._codec.serde.dumps_typed(value)
        digest = file_digest(self._ns, channel, version, kind, hashlib.sha256(data).hexdigest())
        name = f"{key(self._ns, channel)}@{digest}"
        if len(name.encode()) > 256:
            name = f"{ALL_KEYS}@{digest}"
        self.files[name] = data
        return {"t": kind, "artifact": name}


def _copied(value: Any) -> Any:
    """Returns JSON of its own: `copy.deepcopy` takes five times as long."""
    if isinstance(value, dict):
        return {name: _copied(member) for name, member in value.items()}
    return [_copied(member) for member in value] if isinstance(value, list) else value


def is_plain(value: Any, deepest: int = _DEEPEST, *, escaped: bool = False) -> bool:
    """Whether a value comes back from JSON as it was, with the same types; and sessiond takes it, if not `escaped`."""
    kind: type = type(value)
    if kind is str:
        return escaped or _is_text(value)
    if kind is int:
        return bool(abs(value) < (10**308 if escaped else 2**53))
    if kind is float:
        return math.isfinite(value)
    if kind is list:
        return deepest > 0 and all(is_plain(member, deepest - 1, escaped=escaped) for member in value)
    if kind is dict:
        return deepest > 0 and all(
            type(name) is str
            and (escaped or ("\0" not in name and _is_text(name)))
            and is_plain(member, deepest - 1, escaped=escaped)
            for name, member in value.items()
        )
    return value is None or kind is bool


def _is_text(value: str) -> bool:
    try:
        value.encode()
    except UnicodeEncodeError:
        return False
    return True


def place(ns: str) -> str:
    """Returns what names a namespace in keys: itself, without slashes; a long one by its hash."""
    said = ns.replace("%", "%25").replace("/", "%2F")
    return said if len(said.encode()) <= _LONGEST_PLACE else "%h" + hashed(ns)


def key(ns: str, channel: str = "") -> str:
    """Returns the key of a channel's value; without a channel, that of the namespace's head."""
    return f"{ALL_KEYS}{place(ns)}/{channel}"


def branch(ns: str) -> str:
    """Returns the branch of a namespace's events."""
    return "lg:" + place(ns)


def group(ns: str, id: str) -> str:
    """Returns the invocation id of all events of a checkpoint."""
    return f"{place(ns)}@{id}"


def hashed(*parts: str) -> str:
    """Returns an id for these texts, the same in every process."""
    joined = "".join(f"{len(part)}:{part}" for part in parts)
    return hashlib.sha256(joined.encode(errors="surrogatepass")).hexdigest()[:32]


def file_digest(ns: str, channel: str, version: object, kind: str, sha256: str) -> str:
    """Returns the digest that the name of a file ends with."""
    return hashed(ns, channel, str(version), kind, sha256)


def digest_of(ns: str, channel: str, entry: Mapping[str, Any]) -> str:
    """Returns the digest of a channel's entry, by which a checkpoint's event vouches for what is in the state."""
    said = {name: value for name, value in entry.items() if name != "v"}
    return hashed(ns, channel, str(entry.get("v")), canonical(said))


def canonical(value: Any) -> str:
    """Returns the one text of a JSON value, in every language (RFC 8785)."""
    if isinstance(value, str):
        return json.encoder.encode_basestring(value)
    if isinstance(value, dict):
        # In the order of UTF-16.
        names = sorted(value, key=lambda name: name.encode("utf-16-be", "surrogatepass"))
        return "{" + ",".join(f"{canonical(name)}:{canonical(value[name])}" for name in names) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(canonical, value)) + "]"
    if value is None or isinstance(value, bool):
        return json.dumps(value)
    number = float(value)
    if number == 0:
        return "0"
    if 1e-6 <= abs(number) < 1e21:
        return format(Decimal(repr(number)), "f").removesuffix(".0")
    mantissa, _, exponent = repr(number).partition("e")
    return f"{mantissa}e{int(exponent):+d}"


def mark(event: Event) -> dict[str, Any]:
    """Returns what an event says for LangGraph; nothing, if it was redacted or is another's."""
    said = event.metadata.get("langgraph") if isinstance(event.metadata, dict) else None
    return said if isinstance(said, dict) else {}


def floor(event: Event) -> int:
    """Returns the number of an event before all that were written for a checkpoint, from its own event."""
    since = mark(event).get("since", 0)
    # The number is of an earlier thread of that id, if it is not one of an earlier event.
    return since if since < event.sequence else 0


def head_of(state: Mapping[str, Any], ns: str) -> tuple[str | None, bool]:
    """Returns the id of the latest checkpoint, and whether the values in the state are its own."""
    head: Any = state.get(key(ns))
    # An object takes the place of one that was dropped.
    is_own = not isinstance(head, dict)
    id = head if is_own else head.get("id")
    return (id if isinstance(id, str) else None), is_own


@dataclass
class Found:
    """What the log says of a checkpoint."""

    event: Event
    writes: list[tuple[str, str, dict[str, Any]]]
    """Task, channel, and value as JSON, in the order in which LangGraph applies them."""
    ns: str = field(init=False)
    id: str = field(init=False)
    parent: str | None = field(init=False)

    def __post_init__(self) -> None:
        """Reads the names from the event."""
        said = mark(self.event)
        self.ns, self.id, self.parent = said["ns"], said["id"], said["parent"]


def folded(events: Iterable[Event]) -> Found | None:
    """Returns what the events of one checkpoint say, in the order of the log; None if there is no such checkpoint."""
    latest: Event | None = None
    writes: dict[tuple[str, int], tuple[tuple[str, str, int], str, dict[str, Any]]] = {}
    for event in events:
        said = mark(event)
        if event.author == DROP:
            latest, writes = None, {}
        elif said and event.author == CHECKPOINT:
            latest = event
        elif said and event.author == WRITES:
            task, path = said["task"], said["path"]
            for index, channel, entry in said["writes"]:
                # What a task has written stands; of errors, interrupts and answers to them, the last.
                if index < 0 or (task, index) not in writes:
                    writes[task, index] = (path, task, index), channel, entry
    if latest is None:
        return None
    ordered = sorted(writes.values(), key=lambda write: write[0])
    return Found(latest, [(at[1], channel, entry) for at, channel, entry in ordered])


def found_in(last: Sequence[Event], base: int, ns: str, id: str) -> Found | None:
    """Returns a checkpoint from the last events of a session; None if there may be more of it before these.

    Args:
      last: The events, up to the end of the log.
      base: How many events are gone from its beginning.
      ns: The namespace.
      id: The checkpoint.
    """
    name = group(ns, id)
    found = folded(event for event in last if event.get("invocationId") == name)
    if found is None:
        return None
    # Of one that has replaced another, what was written for that one is before its own number.
    is_first = found.event.id in (hashed(ns, id, "next"), hashed(ns, id) if found.parent is None else None)
    since = max(base, floor(found.event) if is_first else 0)
    return found if last[0].sequence <= since + 1 else None


def versions(event: Event, codec: Codec) -> dict[str, Any]:
    """Returns the versions of the channels of a checkpoint."""
    entry = mark(event)["checkpoint"]
    checkpoint = entry["json"] if "json" in entry else codec.unpack(entry, {})
    return dict(checkpoint["channel_versions"])


def digests(event: Event) -> dict[str, str]:
    """Returns the digests of the channels of a checkpoint; of one that an earlier version has stored, none."""
    said = mark(event).get("digests")
    return said if isinstance(said, dict) else {}


def values_of(state: Mapping[str, Any], ns: str, wanted: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Returns the channels that a state has in these versions; also those that are empty."""
    entries = ((channel, state.get(key(ns, channel)), version) for channel, version in wanted.items())
    return {
        channel: entry for channel, entry, version in entries if isinstance(entry, dict) and entry.get("v") == version
    }


def files_in(value: Any) -> set[str]:
    """Returns the names of the files that entries of a state or of writes name."""
    entries = value.values() if isinstance(value, dict) else (entry for _, _, entry in value)
    return {
        entry["artifact"] for entry in entries if isinstance(entry, dict) and isinstance(entry.get("artifact"), str)
    }


def content_of(messages: Any) -> dict[str, Any] | None:
    """Returns the content of an event that says the last of LangChain's messages; of tools, all that answer at the end.

    None if that says nothing, is what others have said, or more than goes into an event beside the values.
    """
    last: list[tuple[Callable[[str], Any], Any]] = []
    given: list[Any] = messages if isinstance(messages, list) else []
    for message in reversed(given):
        get = _getter(message)
        kind = get("type") or get("role")
        if str(get("id")).startswith(OTHERS) or (last and kind != "tool"):
            break
        last.insert(0, (get, kind))
        if kind != "tool":
            break
    parts = [part for get, kind in last for part in _parts(get, kind)]
    content = {"role": "model" if last and last[0][1] in ("ai", "assistant") else "user", "parts": parts}
    return content if parts and is_plain(content) and len(dumps(content)) <= _LARGE else None


def _getter(message: Any) -> Callable[[str], Any]:
    return message.get if isinstance(message, dict) else lambda name: getattr(message, name, None)


def _parts(get: Callable[[str], Any], kind: Any) -> list[dict[str, Any]]:
    said = get("content")
    blocks = said if isinstance(said, list) else [said]
    texts = [block.get("text") if isinstance(block, dict) else block for block in blocks]
    parts: list[dict[str, Any]] = [{"text": text} for text in texts if isinstance(text, str) and text]
    if kind == "tool":
        answer = {"result": "".join(part["text"] for part in parts)}
        return [{"functionResponse": {"id": get("tool_call_id"), "name": get("name") or "", "response": answer}}]
    for call in get("tool_calls") or () if kind in ("ai", "assistant") else ():
        if isinstance(call, dict) and "args" in call:
            parts.append({"functionCall": {"id": call.get("id"), "name": call.get("name"), "args": call["args"]}})
    return parts


def check_channels(channels: Iterable[str]) -> None:
    """Raises InputError for a channel without a name, whose key is that of the head."""
    if "" in channels:
        raise InputError("A channel has no name.", problem={"outcome": "not_applied"})


class Memory:
    """What this process knows of threads: a bounded number of things, of which the ones set first are forgotten.

    Of a thread that is forgotten, later lists read more than they need.
    """

    def __init__(self, size: int = 20_000) -> None:
        """Knows nothing."""
        self._size = size
        self._known: OrderedDict[tuple[str, ...], Any] = OrderedDict()

    def get(self, name: tuple[str, ...], default: Any = None) -> Any:
        """Returns what was set."""
        return self._known.get(name, default)

    def set(self, name: tuple[str, ...], value: Any) -> None:
        """Sets it."""
        self._known[name] = value
        while len(self._known) > self._size:
            self._known.popitem(last=False)

    def pop(self, name: tuple[str, ...]) -> None:
        """Forgets it."""
        self._known.pop(name, None)


def chunks(items: Sequence[Any], size: int) -> Iterable[Sequence[Any]]:
    """Yields items, so many at a time."""
    return (items[at : at + size] for at in range(0, len(items), size))
