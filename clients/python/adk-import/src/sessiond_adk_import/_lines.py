"""ADK's sessions as the lines of an export of sessiond: newline-delimited JSON, the same bytes for the same session."""

from __future__ import annotations

import base64
import copy
import hashlib
import json
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from decimal import ROUND_FLOOR, Decimal, InvalidOperation
from tempfile import SpooledTemporaryFile
from typing import Any

from google.adk.sessions.session import Session
from google.adk.sessions.state import State

from sessiond_adk._wire import event_to_wire, state_to_wire

from ._exact import (
    MAX_BYTES,
    MAX_KEY_BYTES,
    Encoder,
    Fault,
    Number,
    Path,
    Writer,
    camel,
    encode,
    heaviest,
    is_sound,
    pointer,
    renamed,
    same,
)

_SHARED = (State.APP_PREFIX, State.USER_PREFIX)
_STATE: Path = (None, "state")
_ID = re.compile("[^\x00-\x1f\x7f-\x9f\ud800-\udfff]{1,256}")
_TEMP = State.TEMP_PREFIX

# The app and user state of now, whose past nobody knows: the events saw the one before.
SHARED_REVISION = 2

# How many bytes of a session's lines are in memory before they are in a file.
_IN_MEMORY = 4 << 20

LAST_SECOND = Decimal("253402300799.999999")
"""The end of the year 9999."""


@dataclass(frozen=True)
class Told:
    """A `Fault`, and where it is."""

    fault: Fault
    event: str | None = None
    """The id of the event; None in a state."""


class Refused(ValueError):
    """A session, or a state, holds what sessiond does not take."""

    def __init__(self, told: list[Told]) -> None:
        """Takes all of it, the first first."""
        self.told = told
        super().__init__("; ".join(describe(each) for each in told[:10]) + ("" if len(told) <= 10 else "; and more"))


def describe(told: Told) -> str:
    """Returns what is wrong and where, without any value."""
    place = "" if told.event is None else f"event {short(told.event)}, "
    return f"{place}{short(told.fault.at) or 'all of it'}: {told.fault.what}"


def short(text: str) -> str:
    """Returns the name of a place, such as a person reads it."""
    said = text.encode(errors="replace").decode()
    return said if len(said) <= 300 else f"{said[:300]}…"


@dataclass
class StoredEvent:
    """An event of another service."""

    id: str
    fields: dict[str, Any]
    """Its fields but `id`, `timestamp` and those that only a server writes, in the case of ADK's API or of Python."""
    time: str | Number
    """When it was, as the number that is shown: Unix seconds."""
    order: tuple[Any, ...] = ()
    """Where it belongs among the events of its session."""
    encode: Encoder | None = None
    """What writes fields of Python's own types as they were stored."""
    exactly: Callable[[], StoredEvent] | None = None
    """The same event, with a `Number` for each number."""
    faults: tuple[Fault, ...] = ()
    """What could not be read of it."""


@dataclass
class StoredSession:
    """A session of another service, as it is stored, without its events."""

    app: str
    user: str
    id: str
    state: dict[str, Any]
    """What is stored under the session's own keys; other keys are not looked at."""
    created: Decimal
    updated: Decimal
    faults: tuple[Fault, ...] = ()
    """What could not be read of its state."""


def line(fields: dict[str, Any]) -> bytes:
    """Returns one line, with its line feed.

    Raises:
      ValueError: There is a NaN, an infinity or half a character in it.
    """
    return json.dumps(fields, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode() + b"\n"


def shared(state: dict[str, Any], prefix: str) -> dict[str, Any]:
    """Returns the keys of the scope with this prefix, without it, in the order of their names."""
    written = state_to_wire(state)
    return {key.removeprefix(prefix): written[key] for key in sorted(written) if key.startswith(prefix)}


def shared_line(user: str | None, state: dict[str, Any], told: list[Told]) -> bytes:
    """Returns the line of the state of an app, or of a user, whose keys have no prefix."""
    kind = f'"user.state","userId":{_text(user)}' if user is not None else '"app.state"'
    texts = _state(state, told, None)
    return f'{{"type":{kind},"revision":{SHARED_REVISION},"state":{_object(texts)}}}\n'.encode()


def of_session(session: Session) -> tuple[StoredSession, list[StoredEvent]]:
    """Returns a session as ADK shows it, and its events in the order in which it has them."""
    events = []
    for at, event in enumerate(session.events):
        try:
            fields = event_to_wire(event)
        except ValueError as error:
            fault = Fault("", str(error).splitlines()[0], "")
            raise Refused([Told(fault, event.id)]) from None
        time = Number(repr(fields.pop("timestamp")))
        events.append(StoredEvent(fields.pop("id"), fields, time, (at,), encode))
    times = [session.last_update_time, *(event.timestamp for event in session.events)]
    stored = StoredSession(
        session.app_name,
        session.user_id,
        session.id,
        state_to_wire(session.state),
        Decimal(repr(min(times))),
        Decimal(repr(session.last_update_time)),
    )
    return stored, events


class SessionLines:
    """The lines of a session: `session`, an `event` for each, `session.end`.

    Events are added in any order, and come out in theirs. They wait in a file, which is in memory while it is small;
    of each event no more than its place is.

    The base state has what no event explains: each stored key that no event writes. If the events do not lead to the
    stored value of some key, one more event does, of the author `sessiond` and the invocation `import`.

    What sessiond does not take is replaced, and told of in `told`: unless that is empty, the lines say something else
    than the session.
    """

    def __init__(self, session: StoredSession, events: Iterable[StoredEvent] = ()) -> None:
        """Begins with some events, or none."""
        self._session = session
        self._file = SpooledTemporaryFile[bytes](_IN_MEMORY)
        # Of each event its order, where its line begins, and its time.
        self._places: list[tuple[tuple[Any, ...], int, Decimal]] = []
        self._size = 0
        self._is_sorted = True
        self._folded: dict[str, tuple[tuple[Any, ...], str]] = {}
        self._faults: list[tuple[tuple[Any, ...], Told]] = []
        self.told: list[Told] = []
        self._saw = (0, 0)
        self._start = self._end = ""
        for event in events:
            self.add(event)

    def add(self, event: StoredEvent) -> None:
        """Takes an event."""
        written = None if event.encode is None or event.faults else _plainly(event, event.encode)
        if written is None:
            event = event if event.exactly is None else event.exactly()
            faults = list(event.faults)
            written = _event(event, faults)
            self._faults += [(event.order, Told(fault, event.id)) for fault in faults]
        for key, text in written.sets.items():
            before = self._folded.get(key)
            if before is None or before[0] <= event.order:
                self._folded[key] = event.order, text
        self._put(event.order, written)

    def _put(self, order: tuple[Any, ...], event: _Written) -> None:
        if self._places and order < self._places[-1][0]:
            self._is_sorted = False
        self._places.append((order, self._size, event.time))
        self._size += self._file.write(event.members + b"\n")

    @property
    def events(self) -> int:
        """How many events the lines have."""
        return len(self._places)

    @property
    def size(self) -> int:
        """About how many bytes the lines have."""
        return self._size + 100 * len(self._places) + len(self._start) + len(self._end)

    def end(self, saw: tuple[int, int]) -> None:
        """After the last event; `saw` are the revisions of user and app state that every event shows."""
        session, self._saw = self._session, saw
        if not self._is_sorted:
            self._places.sort(key=lambda place: place[0])
            self._faults.sort(key=lambda fault: fault[0])
        self.told = [told for _, told in self._faults] + [Told(fault) for fault in session.faults]
        folded = {key: text for key, (_, text) in self._folded.items()}
        stored = _state(session.state, self.told, "")
        base = {key: text for key, text in stored.items() if key not in folded}
        changed = {key: text for key, text in stored.items() if key in folded and not same(folded[key], text)}
        removed = [key for key in sorted(folded) if key not in stored]
        if changed or removed:
            # Behind all of them.
            self._put(self._places[-1][0] if self._places else (), _closing(session, changed, removed))
        # As the events wrote it, where that is the same.
        last = {key: folded[key] if key in folded and key not in changed else text for key, text in stored.items()}
        self._start = (
            f'{{"type":"session","userId":{_text(session.user)},"id":{_text(session.id)},'
            f'"incarnation":"{_incarnation(session)}","createTime":{_seconds(session.created)},"baseRevision":0,'
            f'"baseState":{_object(base)}}}\n'
        )
        end = f'"revision":{self.events},"state":{_object(last)},"sha256":'
        self._end = f'{{"type":"session.end","id":{_text(session.id)},{end}'

    def __iter__(self) -> Iterator[bytes]:
        """Yields the lines, once `end` was called."""
        digest = hashlib.sha256()
        start = self._start.encode()
        digest.update(start)
        yield start
        tail = f'}},"saw":[{self._saw[0]},{self._saw[1]}]}}\n'
        commit = None
        self._file.seek(0)
        for sequence, (_, at, time) in enumerate(self._places, 1):
            if not self._is_sorted:
                self._file.seek(at)
            # A session's times of commits never go back.
            commit = time if commit is None else max(commit, time)
            place = f',"sequence":{sequence},"commitTime":{_seconds(commit)}{tail}'
            said = b'{"type":"event","event":{%b%b' % (self._file.readline()[:-1], place.encode())
            digest.update(said)
            yield said
        yield f'{self._end}"{digest.hexdigest()}"}}\n'.encode()

    def take(self) -> bytes:
        """Returns all lines, and closes the file."""
        lines = b"".join(self)
        self.close()
        return lines

    def close(self) -> None:
        """Closes the file."""
        self._file.close()


@dataclass(frozen=True)
class _Written:
    members: bytes
    """The text of its members, without braces."""
    time: Decimal
    sets: dict[str, str]
    """The session keys that it sets, and the text of each value."""


def _plainly(event: StoredEvent, encode: Encoder) -> _Written | None:
    """Returns what `_event` does, of a plain event in which nothing is to be replaced; None if that is not sure."""
    fields: dict[str, Any] = {}
    sets: dict[str, str] = {}
    try:
        time = Decimal(event.time)
        for name, value in event.fields.items():
            if "_" in name:
                name = camel(name)
            # What the columns say counts; and nothing that is stored is partial.
            if name == "id" or name == "timestamp" or (name == "partial" and value is not False):
                continue
            if name in fields:
                return None
            fields[name] = renamed(value, name) if type(value) is dict or type(value) is list else value
        actions = fields.get("actions")
        if type(actions) is dict and "compaction" in actions:
            return None
        if type(actions) is dict and type(delta := actions.get("stateDelta")) is dict:
            actions["stateDelta"] = {key: value for key, value in delta.items() if not key.startswith(_TEMP)}
            for key, value in actions["stateDelta"].items():
                if 4 * len(key) > MAX_KEY_BYTES:
                    return None
                if not key.startswith(_SHARED):
                    sets[key] = encode(value)
        text = encode(fields)
        members = f'"id":{_text(event.id)},"timestamp":{event.time},{text[1:-1]}'.rstrip(",").encode()
        is_fit = abs(time) <= LAST_SECOND and is_id(event.id) and len(members) + 2 <= MAX_BYTES
    except (ValueError, RecursionError, InvalidOperation):
        return None
    return _Written(members, time, sets) if is_fit and is_sound(fields, text) else None


def _event(event: StoredEvent, faults: list[Fault]) -> _Written:
    lightened: list[Fault] = []
    fields = event.fields
    while True:
        writer = Writer()
        sets: dict[str, str] = {}
        id = _event_id(event.id, writer)
        time, number = _time(event.time, writer)
        parts = [f'"id":{_text(id)}']
        if "invocationId" not in fields and (invocation := fields.get("invocation_id")):
            parts.append(f'"invocationId":{writer.string(str(invocation), (None, "invocationId"))}')
        parts.append(f'"timestamp":{number}')
        for name, value in fields.items():
            name = camel(name)
            # What the columns say counts; and nothing that is stored is partial.
            if name in ("id", "timestamp") or (name == "invocationId" and "invocation_id" in fields):
                continue
            if name == "partial" and value is not False:
                continue
            path = (None, name)
            if name == "actions" and isinstance(value, dict):
                parts.append(f'"actions":{_actions(value, path, writer, sets)}')
            else:
                parts.append(f"{writer.string(name, path)}:{writer.value(value, path, camel, name)}")
        members = ",".join(parts)
        size = len(members.encode()) + 2
        if size <= MAX_BYTES:
            break
        # Again, without what is largest in it.
        fields = copy.deepcopy(fields)
        if (fault := _lighten(fields, f"an event of {size} bytes, where {MAX_BYTES} are allowed")) is None:
            break
        lightened.append(fault)
    faults += (*lightened, *writer.faults)
    return _Written(members.encode(), time, sets)


def _actions(actions: dict[str, Any], path: Any, writer: Writer, sets: dict[str, str]) -> str:
    parts = []
    for name, value in actions.items():
        name = camel(name)
        below = (path, name)
        if name == "stateDelta" and isinstance(value, dict):
            texts = []
            for key, member in value.items():
                if key.startswith(_TEMP):
                    continue
                said = writer.key(key, (below, key), value, MAX_KEY_BYTES + _prefix(key))
                text = writer.value(member, (below, key))
                texts.append(f"{_text(said)}:{text}")
                if not key.startswith(_SHARED):
                    sets[said] = text
            parts.append(f'"stateDelta":{{{",".join(texts)}}}')
        elif name == "compaction" and isinstance(value, dict):
            bounds = {key: _bound(key, member) for key, member in value.items()}
            parts.append(f'"compaction":{writer.value(bounds, below, camel, name)}')
        else:
            parts.append(f"{writer.string(name, below)}:{writer.value(value, below, camel, name)}")
    return "{" + ",".join(parts) + "}"


def _bound(key: str, value: Any) -> Any:
    """Returns the bound of a compaction in seconds: beyond the year 9999 it is in milliseconds."""
    if camel(key) not in ("startTimestamp", "endTimestamp") or not isinstance(value, int | float | Number):
        return value
    try:
        number = Decimal(str(value))
    except InvalidOperation:
        return value
    return seconds_of_millis(number) if number > LAST_SECOND else value


def seconds_of_millis(millis: Decimal) -> Number:
    """Returns milliseconds as seconds, exactly."""
    return Number(f"{(millis / 1000).normalize():f}")


def _lighten(fields: dict[str, Any], what: str) -> Fault | None:
    """Takes out what is largest in an event, and keeps its type: ADK goes on reading the event."""
    inner = {name: value for name, value in fields.items() if isinstance(value, dict | list | str)}
    if (found := heaviest(inner)) is None:
        return None
    holder, place, size = found
    value = holder[place]
    note = f"[{size} bytes were left out by the import]"
    if isinstance(value, dict | list):
        new: Any = type(value)() if isinstance(value, list) else {}
        became = "an empty one"
    elif place in ("data", "thoughtSignature", "thought_signature", "imageBytes", "image_bytes"):
        new, became = "", "an empty text"
    else:
        new, became = note, "a note of how many bytes it had"
    path = _path_to(inner, holder, place)
    if holder is inner:
        fields[place] = new
    holder[place] = new
    return Fault(pointer(path), what, became)


def _path_to(value: Any, holder: Any, place: Any, path: Any = None) -> Any:
    """Returns the path of a place in a value."""
    if value is holder:
        return (path, camel(place) if isinstance(place, str) else place)
    members: Iterable[tuple[Any, Any]] = value.items() if isinstance(value, dict) else enumerate(value)
    for name, member in members:
        below = (path, camel(name) if isinstance(name, str) else name)
        if isinstance(member, dict | list) and (found := _path_to(member, holder, place, below)) is not None:
            return found
    return None


def _event_id(id: str, writer: Writer) -> str:
    said = writer.string(id, (None, "id"))
    plain: str = json.loads(said)
    if is_id(plain):
        return plain
    mark = hashlib.sha256(plain.encode()).hexdigest()[:32]
    writer.fault((None, "id"), "is no id: 1 to 256 bytes without control characters, not `.` or `..`", mark)
    return mark


def is_id(text: str) -> bool:
    """Whether a text is one that sessiond takes as an id."""
    return bool(_ID.fullmatch(text)) and len(text.encode()) <= 256 and text not in (".", "..")


def _time(time: str | Number, writer: Writer) -> tuple[Decimal, str]:
    """Returns a time in seconds, and the number that says so."""
    try:
        seconds = Decimal(time)
        if abs(seconds) <= LAST_SECOND:
            return seconds, str(time)
    except InvalidOperation:
        pass
    writer.fault((None, "timestamp"), "is no time", "0")
    return Decimal(0), "0"


def _state(state: dict[str, Any], told: list[Told], own: str | None) -> dict[str, str]:
    """Returns the texts of a state's values, in the order of its keys. With `own`, of the keys of a session alone."""
    writer = Writer()
    texts = {}
    for key in sorted(state, key=lambda key: key.encode(errors="surrogatepass")):
        if own is not None and key.startswith((*_SHARED, _TEMP)):
            continue
        said = writer.key(key, (_STATE, key), state, MAX_KEY_BYTES)
        texts[said] = writer.value(state[key], (_STATE, key))
        if len(texts[said].encode()) > MAX_BYTES:
            size = len(texts[said].encode())
            texts[said] = json.dumps(f"[{size} bytes were left out by the import]")
            became = "a note of how many bytes it had"
            writer.fault((_STATE, key), f"a value of {size} bytes, where {MAX_BYTES} are allowed", became)
    told += [Told(fault) for fault in writer.faults]
    return texts


def _closing(session: StoredSession, changed: dict[str, str], removed: list[str]) -> _Written:
    """Returns the event that leads from what the events say to what is stored."""
    actions = f'"stateDelta":{_object(changed)}'
    if removed:
        ops = ",".join(f'{{"op":"remove","key":{_text(key)}}}' for key in removed)
        actions += f',"stateOps":[{ops}]'
    members = (
        f'"id":"import-{_incarnation(session)}","invocationId":"import","timestamp":{_seconds(session.updated)},'
        f'"author":"sessiond","actions":{{{actions}}}'
    )
    return _Written(members.encode(), session.updated, changed)


def _prefix(key: str) -> int:
    """Returns how many bytes of a key are its prefix, which is not stored."""
    return next((len(prefix) for prefix in _SHARED if key.startswith(prefix)), 0)


def _object(texts: dict[str, str]) -> str:
    return "{" + ",".join(f"{_text(key)}:{text}" for key, text in texts.items()) + "}"


def _text(text: str | None) -> str:
    return json.dumps(text, ensure_ascii=False)


def _seconds(time: Decimal) -> str:
    """Returns a time with whole microseconds."""
    return f"{time.quantize(Decimal('0.000001'), rounding=ROUND_FLOOR):f}"


def _incarnation(session: StoredSession) -> str:
    """Returns what names this session and no other, the same whenever it is read."""
    name = line({"": [session.app, session.user, session.id]})
    return base64.b32encode(hashlib.sha256(name).digest()[:10]).decode().lower()
