"""ADK's sessions and events as sessiond's JSON, and back."""

from __future__ import annotations

import logging
import math
from typing import Any, cast

from google.adk.events.event import Event
from google.adk.events.event_actions import EventActions
from google.adk.sessions.base_session_service import GetSessionConfig
from google.adk.sessions.session import Session
from google.adk.sessions.state import State
from pydantic import BaseModel, PrivateAttr, ValidationError
from pydantic_core import PydanticSerializationError, to_jsonable_python

logger = logging.getLogger("sessiond_adk")


def _names(model: type[BaseModel]) -> frozenset[str]:
    return frozenset(name for field, info in model.model_fields.items() for name in (field, info.alias) if name)


# The fields that ADK knows. It refuses others in `actions`, such as `stateOps`, or those of a newer ADK; and some that
# are none of an event (`message`, `state`, ...) it takes for arguments of its constructor.
_EVENT, _ACTIONS = _names(Event), _names(EventActions)

# Where the `custom_metadata` of an event has what ADK refuses of it, and what ADK does not know.
REFUSED = "sessiond_refused"
UNKNOWN = "sessiond_unknown"

# What only the server reads and writes: an event's place, and operators, whose results are in its `state_delta`.
_SERVERS = frozenset({"sequence", "commitTime", "stateOps", "preconditions"})

# What is the event's own, and never put back from its metadata.
_OWN = frozenset({"id", "timestamp", "actions", "customMetadata", "errorMessage", "partial", "author", "invocationId"})

# Before the names of fields of `actions`.
_OF_ACTIONS = "actions."

_REFUSES = "google-adk refuses what is stored as {}."

_BOUNDS = ("startTimestamp", "endTimestamp")
_YEAR_9999 = 253402300799.999999


class StoredSession(Session):
    """A session as ADK knows it, with the revision at which it was seen in the store.

    Copies (`model_copy`, `copy.deepcopy`) have it, too; nothing that is written out does.
    """

    _revision: int = PrivateAttr(default=0)
    _config: GetSessionConfig | None = PrivateAttr(default=None)

    def saw(self, sequence: int) -> None:
        """Counts an event that was appended through this object.

        A gap before it means that others appended events which this object has not seen. Then the revision stays, and
        the object is stale.
        """
        if sequence == self._revision + 1:
            self._revision = sequence

    @property
    def seen(self) -> int:
        """The revision of the stored session up to which this object has seen all events."""
        return self._revision

    @property
    def config(self) -> GetSessionConfig | None:
        """What limited the events when an effective history was loaded."""
        return self._config


def session_from_wire(stored: dict[str, Any], config: GetSessionConfig | None = None) -> StoredSession:
    """Returns ADK's session for one that sessiond answered, without events if the answer has none."""
    session = StoredSession(
        id=stored["id"],
        app_name=stored["appName"],
        user_id=stored["userId"],
        state=stored.get("state", {}),
        events=[event_from_wire(event, stored["id"]) for event in stored.get("events", ())],
        last_update_time=stored["lastUpdateTime"],
    )
    session._revision = stored["revision"]
    session._config = config
    return session


def catch_up(session: Session, stored: StoredSession, *, whole: bool = False) -> None:
    """Shows in `session` what is stored now.

    `stored` has at least all the events that `session` has not seen; or with `whole`, all that are to be shown.
    """
    seen = session.seen if isinstance(session, StoredSession) else 0
    later = stored.events if whole else stored.events[max(0, len(stored.events) - stored.seen + seen) :]
    ids = {event.id for event in later}
    temporary = {key: value for key, value in session.state.items() if key.startswith(State.TEMP_PREFIX)}
    # In place, since others refer to them.
    session.state.clear()
    session.state.update(stored.state | temporary)
    session.events[:] = ([] if whole else [event for event in session.events if event.id not in ids]) + later
    session.last_update_time = stored.last_update_time
    if isinstance(session, StoredSession):
        session._revision = stored.seen


def event_from_wire(stored: dict[str, Any], session_id: str) -> Event:
    """Returns ADK's event for one that sessiond answered, whoever wrote it.

    Fields that the installed ADK does not know are in `custom_metadata["sessiond_unknown"]`, and are fields again when
    the event is sent; operators and preconditions are left out. A key that the event removed is shown in its
    `state_delta` as None, which is how ADK's rewind, that folds the deltas, recognises a removal.

    Other clients may store what ADK refuses, such as a `content` that is a string or a part that is null. One such
    event must not make the session unreadable: it comes without that part or field, with an `error_message` that names
    the fields and with their values in `custom_metadata["sessiond_refused"]`, and there is a warning in the log. It has
    no `error_code`, by which ADK would take it for the end of a turn. Fields with a name within them that ADK does not
    know come without that name, and are whole under `sessiond_unknown`.
    """
    actions = stored.get("actions") or {}
    delta = actions.get("stateDelta") or {}
    removed = {
        operation["key"]: None
        for operation in actions.get("stateOps") or ()
        if operation["op"] == "remove" and operation["key"] not in delta
    }
    fields = {name: value for name, value in stored.items() if name in _EVENT}
    known = {name: value for name, value in actions.items() if name in _ACTIONS and value is not None}
    fields["actions"] = _in_seconds({**known, "stateDelta": {**delta, **removed}})
    unknown, of_actions = _unknown(stored, _EVENT), _unknown(actions, _ACTIONS)
    if of_actions:
        unknown["actions"] = of_actions
    fields["customMetadata"] = _metadata(fields.get("customMetadata"))
    if not unknown:
        try:
            return Event.model_validate(fields)
        except ValidationError:
            pass
    readable, refused, strange = _readable(fields)
    for name, value in strange.items():
        if name.startswith(_OF_ACTIONS):
            unknown.setdefault("actions", {})[name.removeprefix(_OF_ACTIONS)] = value
        else:
            unknown[name] = value
    metadata = readable.get("customMetadata") or {}
    kept = {UNKNOWN: unknown} if unknown else {}
    if refused:
        names = ", ".join(sorted(refused))
        kept[REFUSED] = refused
        readable["errorMessage"] = readable.get("errorMessage") or _REFUSES.format(names)
        logger.warning(
            "Session %s, event %s: google-adk refuses what is stored as %s; the event is shown without it.",
            session_id,
            readable.get("id"),
            names,
        )
    if kept:
        readable["customMetadata"] = {**metadata, **kept}
    return Event.model_validate(readable)


def _in_seconds(actions: dict[str, Any]) -> dict[str, Any]:
    """Returns actions whose compaction counts in seconds: what is beyond the year 9999 is in milliseconds."""
    compaction = actions.get("compaction")
    if not isinstance(compaction, dict):
        return actions
    bounds = {
        name: value / 1000
        for name, value in compaction.items()
        if name in _BOUNDS and isinstance(value, int | float) and value > _YEAR_9999
    }
    return {**actions, "compaction": {**compaction, **bounds}} if bounds else actions


def _metadata(stored: Any) -> Any:
    """Returns custom metadata as an object, also if it is a list of entries, as ADK for Java has it."""
    if not isinstance(stored, list) or not all(isinstance(entry, dict) and "key" in entry for entry in stored):
        return stored
    metadata = {}
    for entry in stored:
        values = entry.get("stringListValue")
        texts = values.get("values") if isinstance(values, dict) else None
        given = (entry.get("stringValue"), entry.get("numericValue"), texts)
        metadata[str(entry["key"])] = next((value for value in given if value is not None), None)
    return metadata


def _unknown(fields: Any, known: frozenset[str]) -> dict[str, Any]:
    """Returns the fields that ADK does not know, without those that mean something to the server."""
    if not isinstance(fields, dict):
        return {}
    known |= _SERVERS
    return {name: value for name, value in fields.items() if name not in known}


def _readable(fields: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    """Returns what ADK can read of an event's fields; and whole, under their names, the fields that it cannot read in
    part or at all, and those in which it does not know a name.
    """
    readable = fields
    refused: set[str] = set()
    strange: set[str] = set()
    while True:
        try:
            Event.model_validate(readable)
            break
        except ValidationError as error:
            faults = error.errors(include_url=False, include_input=False)
        places = {_place(fault["type"], fault["loc"]) for fault in faults}
        kept = _without(readable, places)
        if kept == readable:
            places = {fault["loc"][: 2 if fault["loc"][:1] == ("actions",) else 1] for fault in faults}
            kept = _without(readable, places)
        if kept == readable:
            # What is wrong is not said to be a field's: nothing is kept but what the server vouches for.
            kept = {name: fields[name] for name in ("id", "timestamp") if name in fields} | {"actions": {}}
            places = {(name,) for name in fields.keys() - kept.keys()}
            places |= {("actions", name) for name in fields["actions"]}
        for fault in faults:
            named = strange if fault["type"] == "extra_forbidden" else refused
            named.update(_name(place) for place in places if fault["loc"][: len(place)] == place)
        refused.update(_name(place) for place in places if len(place) == (2 if place[0] == "actions" else 1))
        readable = kept
    whole = fields | {f"{_OF_ACTIONS}{name}": value for name, value in fields["actions"].items()}
    return (
        dict(readable),
        {name: whole[name] for name in refused if name in whole},
        {name: whole[name] for name in strange - refused if name in whole},
    )


def _place(kind: str, loc: tuple[int | str, ...]) -> tuple[int | str, ...]:
    """Returns what a fault costs: a name that ADK does not know, the part of a content, or the field."""
    if kind == "extra_forbidden":
        return loc
    for at, step in enumerate(loc[1:], 1):
        if loc[at - 1] == "parts" and isinstance(step, int):
            return loc[: at + 1]
    return loc[: 2 if loc[:1] == ("actions",) else 1]


def _name(place: tuple[int | str, ...]) -> str:
    # Only names are shown: a message of pydantic may quote a value.
    return f"{_OF_ACTIONS}{place[1]}" if place[0] == "actions" and len(place) > 1 else str(place[0])


def _without(value: Any, places: set[tuple[int | str, ...]]) -> Any:
    """Returns a value without what is in some places."""
    if not places:
        return value
    if isinstance(value, dict):
        return {
            name: _without(member, {place[1:] for place in places if place[0] == name and len(place) > 1})
            for name, member in value.items()
            if (name,) not in places
        }
    if isinstance(value, list):
        return [
            _without(element, {place[1:] for place in places if place[0] == at and len(place) > 1})
            for at, element in enumerate(value)
            if (at,) not in places
        ]
    return value


def event_to_wire(event: Event) -> dict[str, Any]:
    """Returns an event as sessiond takes it, without `temp:` keys. The event is left as it is."""
    dumped = event.model_dump(mode="json", by_alias=True, exclude_none=True, exclude={"actions": {"state_delta"}})
    written = {name: value if name == "timestamp" else _finite(value) for name, value in dumped.items()}
    written["actions"]["stateDelta"] = state_to_wire(event.actions.state_delta)
    metadata = written.pop("customMetadata", {})
    unknown, refused = metadata.pop(UNKNOWN, {}), metadata.pop(REFUSED, {})
    if metadata:
        written["customMetadata"] = metadata
    written |= _unknown(unknown, _EVENT)
    written["actions"] |= _unknown(unknown.get("actions"), _ACTIONS) if isinstance(unknown, dict) else {}
    if isinstance(refused, dict) and written.get("errorMessage") == _REFUSES.format(", ".join(sorted(refused))):
        del written["errorMessage"]
    _restore(written, unknown)
    _restore(written, refused)
    # Which no other language has, and which says nothing: the same event sent from one of them is to be recognised.
    if written.get("nodeInfo") == {"path": ""}:
        del written["nodeInfo"]
    return written


def _finite(value: Any) -> Any:
    """Returns JSON with null for NaN and infinities, which pydantic leaves in fields of numbers, as `avgLogprobs`."""
    if isinstance(value, dict):
        return {name: _finite(member) for name, member in value.items()}
    if isinstance(value, list):
        return [_finite(member) for member in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _restore(written: dict[str, Any], kept: Any) -> None:
    """Puts fields back that ADK could not read whole, unless the event has another value by now."""
    if not isinstance(kept, dict):
        return
    own = kept.get("actions")
    whole = {name: value for name, value in kept.items() if name in _EVENT and name not in _OWN}
    of_actions = {name: value for name, value in own.items() if name in _ACTIONS} if isinstance(own, dict) else {}
    of_actions |= {
        name.removeprefix(_OF_ACTIONS): value for name, value in kept.items() if name.startswith(_OF_ACTIONS)
    }
    of_actions.pop("stateDelta", None)
    if not whole and not of_actions:
        return
    readable, _, _ = _readable({**whole, "actions": of_actions})
    again = Event.model_validate(readable).model_dump(mode="json", by_alias=True, exclude_none=True)
    for fields, raw, then in ((written, whole, again), (written["actions"], of_actions, again["actions"])):
        for name, value in raw.items():
            if name in _ACTIONS | _EVENT and fields.get(name) == then.get(name):
                fields[name] = value


def state_to_wire(state: dict[str, Any]) -> dict[str, Any]:
    """Returns state as JSON, without `temp:` keys.

    What JSON does not have is converted as ADK does it, times and models faithfully, objects like functions to their
    `repr`, with a warning. A NaN or an infinity stays, to be refused by whoever writes it out: as null it would be read
    back as something else.
    """
    kept = {key: value for key, value in state.items() if not key.startswith(State.TEMP_PREFIX)}
    try:
        written = to_jsonable_python(kept)
    except PydanticSerializationError:
        logger.warning("Some values of state are not JSON; a text that describes them is stored in their place.")
        written = to_jsonable_python(kept, serialize_unknown=True)
    return cast(dict[str, Any], written)
