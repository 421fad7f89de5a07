"""How items of LangGraph's stores lie in the state of sessions: `docs/frameworks.md` says it for all languages."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import quote, unquote

from ._errors import InputError
from ._frameworks import Kept, is_kept, shown
from ._paths import text_of

SESSIONS = "store/"
KEYS = "lg/store/"
AUTHOR = "langgraph.store"

_CREATED = ";created"

# What separates, control characters and white space: the same in all languages.
_ESCAPED = re.compile("[\0- %,/;\x7f-\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]")

# Bytes of the query of a read; of longer ones all items that begin alike are read.
_QUERY = 2000

Name = tuple[tuple[str, ...], str]
"""A namespace, and a key in it."""

Changes = Mapping[Name, Mapping[str, Any] | None]
"""Values that are put; None for those that are deleted."""


def escaped(label: str) -> str:
    """Returns a label of a namespace, or a key, as a part of a name in sessiond."""
    return _ESCAPED.sub(lambda found: quote(found[0], safe=""), text_of(label, "label or key"))


def unescaped(part: str) -> str:
    """Returns the label, or the key."""
    return unquote(part)


def prefix(labels: Sequence[str]) -> str:
    """Returns what the keys of all items below a namespace begin with; its root is none of the labels."""
    return KEYS + "".join(escaped(label) + "/" for label in labels)


def key_of(name: Name) -> str:
    """Returns the key of an item in the session of its root."""
    namespace, key = name
    return prefix(namespace[1:]) + escaped(key)


def root_of(namespace: Sequence[str]) -> str:
    """Returns the first label of a namespace. Raises InputError if there is none."""
    if not namespace:
        raise InputError("An item has no namespace.", problem={"outcome": "not_applied"})
    return namespace[0]


@dataclass(frozen=True)
class Stored:
    """An item."""

    name: Name
    value: dict[str, Any]
    created: float
    updated: float


def items_in(root: str, state: Mapping[str, Any]) -> dict[Name, Stored]:
    """Returns the items that the state of the session of a root has, in its order."""
    items = {}
    for key, entry in state.items():
        if not key.startswith(KEYS) or ";" in key or not is_kept(entry, "value"):
            continue
        *labels, last = map(unescaped, key[len(KEYS) :].split("/"))
        name, updated = ((root, *labels), last), float(entry["updated"])
        items[name] = Stored(name, shown("value", entry), float(state.get(key + _CREATED, updated)), updated)
    return items


def event_of(name: Name, value: Mapping[str, Any] | None) -> dict[str, Any]:
    """Returns the event that puts an item, or deletes it."""
    key = key_of(name)
    if value is None:
        actions: dict[str, Any] = {"stateOps": [{"op": "remove", "key": each} for each in (key, key + _CREATED)]}
    else:
        now = time.time()
        actions = {
            "stateDelta": {key: Kept("value", dict(value), updated=now)},
            # The first time stays.
            "stateOps": [{"op": "min", "key": key + _CREATED, "value": now}],
        }
    return {"author": AUTHOR, "actions": actions}


@dataclass
class Wanted:
    """What a batch reads of the session of a root."""

    names: set[Name] = field(default_factory=set)
    prefixes: set[str] = field(default_factory=set)

    def query(self) -> dict[str, Any]:
        """Returns what one read of state asks for, so that all of it is there."""
        keys = sorted(map(key_of, self.names))
        if not self.prefixes and sum(map(len, keys)) <= _QUERY:
            return {"keys": [each for key in keys for each in (key, key + _CREATED)]}
        all_read = [*keys, *self.prefixes]
        least, most = min(all_read), max(all_read)
        alike = next((at for at, (a, b) in enumerate(zip(least, most, strict=False)) if a != b), len(least))
        return {"prefix": least[:alike]}


def found(items: Mapping[Name, Stored], below: Sequence[str], filter: Mapping[str, Any] | None) -> list[Stored]:
    """Returns the items below a namespace that match a filter, those that were updated last first."""
    wanted = tuple(below)
    matching = [
        item
        for item in items.values()
        if item.name[0][: len(wanted)] == wanted
        and all(matches(item.value.get(name), condition) for name, condition in (filter or {}).items())
    ]
    return sorted(matching, key=lambda item: -item.updated)


def matches(value: Any, condition: Any) -> bool:
    """Whether a value is what a filter asks for. Raises ValueError for an unknown operator."""
    if isinstance(condition, Mapping):
        if any(name.startswith("$") for name in condition):
            return all(_holds(value, operator, other) for operator, other in condition.items())
        return isinstance(value, Mapping) and all(matches(value.get(name), each) for name, each in condition.items())
    if isinstance(condition, list | tuple):
        return isinstance(value, list) and len(value) == len(condition) and all(map(matches, value, condition))
    return _equal(value, condition)


_COMPARED: dict[str, Callable[[Any, Any], bool]] = {
    "$gt": lambda value, other: value > other,
    "$gte": lambda value, other: value >= other,
    "$lt": lambda value, other: value < other,
    "$lte": lambda value, other: value <= other,
}


def _holds(value: Any, operator: str, other: Any) -> bool:
    if operator in ("$eq", "$ne"):
        return _equal(value, other) == (operator == "$eq")
    if operator not in _COMPARED:
        raise ValueError(f"A filter has no operator {operator}: there are $eq, $ne, $gt, $gte, $lt and $lte.")
    return _kind(value) == _kind(other) and _kind(value) in (str, float) and _COMPARED[operator](value, other)


def _kind(value: Any) -> type:
    if isinstance(value, bool):
        return bool
    return float if isinstance(value, int | float) else type(value)


def _equal(value: Any, other: Any) -> bool:
    """Compares as JSON does: true is no 1."""
    if isinstance(value, Mapping) and isinstance(other, Mapping):
        return value.keys() == other.keys() and all(_equal(value[name], other[name]) for name in value)
    if isinstance(value, list | tuple) and isinstance(other, list | tuple):
        return len(value) == len(other) and all(map(_equal, value, other))
    return _kind(value) == _kind(other) and bool(value == other)


def namespaces(
    items: Mapping[Name, Stored], conditions: Sequence[tuple[str, Sequence[str]]], max_depth: int | None
) -> list[tuple[str, ...]]:
    """Returns the namespaces that have items and meet all conditions, cut to a depth, in order."""
    there = {name[0] for name in items}
    return sorted({each[:max_depth] for each in there if all(_meets(each, *condition) for condition in conditions)})


def _meets(namespace: Sequence[str], kind: str, path: Sequence[str]) -> bool:
    if kind not in ("prefix", "suffix"):
        raise ValueError(f"Namespaces are matched by prefix or suffix, not by {kind}.")
    part = namespace[: len(path)] if kind == "prefix" else namespace[-len(path) :] if path else ()
    return len(part) == len(path) and all(wanted in ("*", label) for label, wanted in zip(part, path, strict=True))


def one_root(conditions: Sequence[tuple[str, Sequence[str]]]) -> str | None:
    """Returns the root of all namespaces that meet conditions; None if there may be several."""
    return next((path[0] for kind, path in conditions if kind == "prefix" and path and path[0] != "*"), None)
