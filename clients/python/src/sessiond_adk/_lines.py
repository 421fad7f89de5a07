"""ADK's sessions as the lines of an export of sessiond: newline-delimited JSON, the same bytes for the same session."""

from __future__ import annotations

import base64
import copy
import hashlib
import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from decimal import ROUND_FLOOR, Decimal, InvalidOperation
from typing import Any

from google.adk.sessions.session import Session
from google.adk.sessions.state import State

from ._exact import MAX_BYTES, MAX_KEY_BYTES, Fault, Number, Path, Writer, camel, heaviest, pointer, same, whole
from ._wire import event_to_wire, state_to_wire

_SHARED = (State.APP_PREFIX, State.USER_PREFIX)
_STATE: Path = (None, "state")
_TEMP = State.TEMP_PREFIX

# The app and user state of now, whose past nobody knows: the events saw the one before.
SHARED_REVISION = 2

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
    """What decides between events of the same time."""


@dataclass
class StoredSession:
    """A session of another service, as it is stored."""

    app: str
    user: str
    id: str
    state: dict[str, Any]
    """What is stored under the session's own keys; other keys are not looked at."""
    created: Decimal
    updated: Decimal
    events: list[StoredEvent] = field(default_factory=list)


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


def session_lines(session: Session, *, saw: tuple[int, int]) -> Iterator[bytes]:
    """Yields the lines of a session as ADK shows it.

    Raises:
      Refused: There is something in it that sessiond does not take.
    """
    told: list[Told] = []
    lines = stored_lines(of_session(session), saw=saw, told=told)
    if told:
        raise Refused(told)
    yield from lines


def of_session(session: Session) -> StoredSession:
    """Returns a session as ADK shows it, in the order in which it has the events."""
    events = []
    for event in session.events:
        try:
            fields = event_to_wire(event)
        except ValueError as error:
            fault = Fault("", str(error).splitlines()[0], "")
            raise Refused([Told(fault, event.id)]) from None
        events.append(StoredEvent(fields.pop("id"), fields, Number(repr(fields.pop("timestamp")))))
    times = [session.last_update_time, *(event.timestamp for event in session.events)]
    return StoredSession(
        session.app_name,
        session.user_id,
        session.id,
        state_to_wire(session.state),
        Decimal(repr(min(times))),
        Decimal(repr(session.last_update_time)),
        events,
    )


def stored_lines(session: StoredSession, *, saw: tuple[int, int], told: list[Told]) -> list[bytes]:
    """Returns the lines of a session: `session`, an `event` for each, `session.end`.

    The base state has what no event explains: each stored key that no event writes. If the events do not lead to the
    stored value of some key, one more event does, of the author `sessiond` and the invocation `import`.

    `saw` are the revisions of user and app state that every event shows. What sessiond does not take is replaced, and
    told of in `told`: unless that stays empty, the lines say something else than the session.
    """
    written = [_event(event, told) for event in session.events]
    folded: dict[str, str] = {}
    for event in written:
        folded |= event.sets
    stored = _state(session.state, told, "")
    base = {key: text for key, text in stored.items() if key not in folded}
    changed = {key: text for key, text in stored.items() if key in folded and not same(folded[key], text)}
    removed = [key for key in sorted(folded) if key not in stored]
    if changed or removed:
        written.append(_closing(session, changed, removed))
    # As the events wrote it, where that is the same.
    last = {key: folded[key] if key in folded and key not in changed else text for key, text in stored.items()}

    digest = hashlib.sha256()
    lines = []

    def add(text: str) -> None:
        said = text.encode()
        digest.update(said)
        lines.append(said)

    add(
        f'{{"type":"session","userId":{_text(session.user)},"id":{_text(session.id)},'
        f'"incarnation":"{_incarnation(session)}","createTime":{_seconds(session.created)},"baseRevision":0,'
        f'"baseState":{_object(base)}}}\n'
    )
    commit = None
    for sequence, event in enumerate(written, 1):
        # A session's times of commits never go back.
        commit = event.time if commit is None else max(commit, event.time)
        add(
            f'{{"type":"event","event":{{{event.members},"sequence":{sequence},"commitTime":{_seconds(commit)}}},'
            f'"saw":[{saw[0]},{saw[1]}]}}\n'
        )
    end = f'"revision":{len(written)},"state":{_object(last)},"sha256":"{digest.hexdigest()}"'
    lines.append(f'{{"type":"session.end","id":{_text(session.id)},{end}}}\n'.encode())
    return lines


@dataclass(frozen=True)
class _Written:
    members: str
    """The text of its members, without braces."""
    time: Decimal
    sets: dict[str, str]
    """The session keys that it sets, and the text of each value."""


def _event(event: StoredEvent, told: list[Told]) -> _Written:
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
            if name in ("id", "timestamp", "partial") or (name == "invocationId" and "invocation_id" in fields):
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
    told += [Told(fault, event.id) for fault in (*lightened, *writer.faults)]
    return _Written(members, time, sets)


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
    controls = any(ord(character) < 32 or 127 <= ord(character) < 160 for character in text)
    return (
        1 <= len(text.encode(errors="surrogatepass")) <= 256
        and whole(text) == text
        and not controls
        and text not in (".", "..")
    )


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
    return _Written(members, session.updated, changed)


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
