"""What becomes of names and shapes below the fields of an event, held against google-adk's own models.

Every field of every model, under the names of Python, is stored under the names of the wire, and data keeps its own. And
whatever is appended, ADK's own client can read the session at the paths of its server.
"""

import enum
import inspect
import json
import random
import typing

from google.adk.auth.auth_tool import AuthConfig
from google.adk.events.event import Event
from google.adk.sessions.session import Session
from pydantic import BaseModel
from pydantic.alias_generators import to_camel

DATA = {"in_data": {"mime_type": [1.5, None]}}
PLAIN = {str: "a_b", bool: True, int: 7, float: 1.5, bytes: "-__-", typing.Any: DATA}
# Whose value is not that of any text.
FIXED = {"id": "all", "timestamp": 5.5, "partial": False, "auth_scheme": {"type": "apiKey", "in": "header", "name": "n"}}
PATH = "users/odd/sessions"


def sample(kind, wire):
    """A value of a type in which every field is there, by the names of the wire or by those of Python."""
    origin, args = typing.get_origin(kind), typing.get_args(kind)
    if kind in PLAIN:
        return PLAIN[kind]
    if inspect.isclass(kind) and issubclass(kind, enum.Enum):
        return next(iter(kind)).value
    if inspect.isclass(kind) and issubclass(kind, BaseModel):
        value = {}
        for name, field in kind.model_fields.items():
            # `type_` and `in_` are names that Python reserves.
            key = field.alias if field.alias and (wire or name.endswith("_")) else name
            value[key] = FIXED[name] if name in FIXED else field_sample(name, field.annotation, wire)
        return value
    if origin is typing.Literal:
        return args[0]
    if origin in (list, set):
        return [sample(args[0], wire)]
    if origin is dict:
        return DATA if args[1] is typing.Any else {"a_b": sample(args[1], wire)}
    return sample(args[0], wire)


def field_sample(name, kind, wire):
    return {"a_b": sample(AuthConfig, wire)} if name == "requested_auth_configs" else sample(kind, wire)


def places(value, at=()):
    """The ways to all that is in a value."""
    yield at
    if isinstance(value, dict):
        for name, member in value.items():
            yield from places(member, (*at, name))
    elif isinstance(value, list):
        for n, element in enumerate(value):
            yield from places(element, (*at, n))


def mutated(event, chance):
    """The event with something else somewhere."""
    event = json.loads(json.dumps(event))
    event.pop("id")
    for _ in range(chance.randint(1, 3)):
        at = chance.choice([way for way in places(event) if way and to_camel(way[0]) not in SERVERS and not is_state(way)])
        holder = event
        for step in at[:-1]:
            holder = holder[step]
        other = chance.choice([None, 5, -1, 2.5, 1e30, True, "x", "", "QQ", [], {}, [None], {"x_y": 1}, [[]], [{"text": 5}]])
        if isinstance(holder, dict) and chance.random() < 0.3:
            holder[chance.choice(["x_y", "z"])] = other
        else:
            holder[at[-1]] = other
    return event


# What the server reads itself, and refuses if it is of another shape.
SERVERS = {"id", "timestamp", "author", "invocationId", "branch", "partial"}


def is_state(way):
    return way[0] == "actions" and (len(way) == 1 or to_camel(way[1]) == "stateDelta")


def check(sessiond, rounds=400, seed=13):
    """Yields what is not as it should be."""
    native = f"/v1/apps/demo/{PATH}"
    sessiond.post(native, json={"sessionId": "all"}).raise_for_status()
    by_python, by_wire = sample(Event, wire=False), sample(Event, wire=True)
    answer = sessiond.post(f"{native}/all/events", json=by_python)
    stored = answer.json()
    for name in ("sequence", "commitTime"):
        stored.pop(name, None)
    if stored != by_wire:
        yield f"the names of all models are stored as {json.dumps(stored)}"
    shown = sessiond.get(f"/apps/demo/{PATH}/all").json()
    refused = (shown["events"][0].get("customMetadata") or {}).get("sessiond_refused")
    # A service account without its secrets is none that ADK could read.
    if [place for place in refused or () if not place.endswith(".serviceAccountCredential")]:
        yield f"what ADK takes is refused: {refused}"

    chance = random.Random(seed)
    for n in range(rounds):
        session = f"odd-{n}"
        sessiond.post(native, json={"sessionId": session}).raise_for_status()
        event = mutated(chance.choice([by_wire, by_wire, by_python]), chance)
        answer = sessiond.post(f"{native}/{session}/events", json=event | {"id": "e"})
        if answer.status_code == 422:
            continue
        answer.raise_for_status()
        shown = sessiond.get(f"/apps/demo/{PATH}/{session}")
        try:
            Session.model_validate(shown.json())
        except Exception as error:  # noqa: BLE001 - of any kind: enums of google-genai raise AttributeError
            yield f"ADK cannot read {shown.text}: {error}"
