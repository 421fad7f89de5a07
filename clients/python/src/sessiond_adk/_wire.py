"""ADK's sessions and events as sessiond's JSON, and back."""

from __future__ import annotations

import logging
from typing import Any, cast

from google.adk.events.event import Event
from google.adk.events.event_actions import EventActions
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


class StoredSession(Session):
    """A session as ADK knows it, with the revision at which it was seen in the store.

    Copies (`model_copy`, `copy.deepcopy`) have it, too; nothing that is written out does.
    """

    _revision: int = PrivateAttr(default=0)

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


def session_from_wire(stored: dict[str, Any]) -> StoredSession:
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
    return session


def catch_up(session: Session, stored: StoredSession) -> None:
    """Shows in `session` what is stored now; `stored` has at least all the events that `session` has not seen."""
    seen = session.seen if isinstance(session, StoredSession) else 0
    later = stored.events[max(0, len(stored.events) - stored.seen + seen) :]
    ids = {event.id for event in later}
    temporary = {key: value for key, value in session.state.items() if key.startswith(State.TEMP_PREFIX)}
    # In place, since others refer to them.
    session.state.clear()
    session.state.update(stored.state | temporary)
    session.events[:] = [event for event in session.events if event.id not in ids] + later
    session.last_update_time = stored.last_update_time
    if isinstance(session, StoredSession):
        session._revision = stored.seen


def event_from_wire(stored: dict[str, Any], session_id: str) -> Event:
    """Returns ADK's event for one that sessiond answered, whoever wrote it.

    Fields that the installed ADK does not know are in `custom_metadata["sessiond_unknown"]`, and are fields again when
    the event is sent; operators and preconditions are left out. A key that the event removed is shown in its
    `state_delta` as None, which is how ADK's rewind, that folds the deltas, recognises a removal.

    Other clients may store what ADK refuses, such as a `content` that is a string. One such event must not make the
    session unreadable: it comes without those fields, with an `error_message` that names them and with their values in
    `custom_metadata["sessiond_refused"]`, and there is a warning in the log. It has no `error_code`, by which ADK would
    take it for the end of a turn.
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
    fields["actions"] = {**known, "stateDelta": {**delta, **removed}}
    unknown, of_actions = _unknown(stored, _EVENT), _unknown(actions, _ACTIONS)
    if of_actions:
        unknown["actions"] = of_actions
    metadata = fields.get("customMetadata") or {}
    if unknown and isinstance(metadata, dict):
        fields["customMetadata"] = {**metadata, UNKNOWN: unknown}
    try:
        return Event.model_validate(fields)
    except ValidationError as error:
        return _without_refused(fields, error, session_id)


def _unknown(fields: Any, known: frozenset[str]) -> dict[str, Any]:
    """Returns the fields that ADK does not know, without those that mean something to the server."""
    if not isinstance(fields, dict):
        return {}
    return {name: value for name, value in fields.items() if name not in known | _SERVERS}


def _without_refused(fields: dict[str, Any], error: ValidationError, session_id: str) -> Event:
    """Returns the event without what ADK refuses."""
    # Fields of the event, and of its actions. Only their names are shown: a message of pydantic may quote a value.
    places = {fault["loc"][: 2 if fault["loc"][:1] == ("actions",) else 1] for fault in error.errors()}
    actions = {name: value for name, value in fields["actions"].items() if ("actions", name) not in places}
    kept = {name: value for name, value in {**fields, "actions": actions}.items() if (name,) not in places}
    try:
        Event.model_validate(kept)
    except ValidationError:
        # What is wrong is not said to be a field's: nothing is kept but what the server vouches for.
        kept = {name: fields[name] for name in ("id", "timestamp") if name in fields}
        actions = {}
    refused = {name: value for name, value in fields.items() if name not in kept}
    refused |= {f"actions.{name}": value for name, value in fields["actions"].items() if name not in actions}
    names = ", ".join(sorted(refused))
    event = Event.model_validate(
        {
            **kept,
            "errorMessage": kept.get("errorMessage") or f"google-adk refuses what is stored as {names}.",
            "customMetadata": {**(kept.get("customMetadata") or {}), REFUSED: refused},
        }
    )
    logger.warning(
        "Session %s, event %s: google-adk refuses what is stored as %s; the event is shown without it.",
        session_id,
        event.id,
        names,
    )
    return event


def event_to_wire(event: Event) -> dict[str, Any]:
    """Returns an event as sessiond takes it, without `temp:` keys. The event is left as it is."""
    written = event.model_dump(mode="json", by_alias=True, exclude_none=True, exclude={"actions": {"state_delta"}})
    written["actions"]["stateDelta"] = state_to_wire(event.actions.state_delta)
    metadata = written.pop("customMetadata", {})
    unknown = metadata.pop(UNKNOWN, {})
    if metadata:
        written["customMetadata"] = metadata
    written |= _unknown(unknown, _EVENT)
    written["actions"] |= _unknown(unknown.get("actions"), _ACTIONS) if isinstance(unknown, dict) else {}
    # Which no other language has, and which says nothing: the same event sent from one of them is to be recognised.
    if written.get("nodeInfo") == {"path": ""}:
        del written["nodeInfo"]
    return written


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
