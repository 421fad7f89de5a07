"""What others have said in a session, for an adapter: events that it has not written, and their places among its own.

What another agent says is told in the role of a model, with its name in front: so a user, whose words are a user's,
cannot pass for it. The agent's own name is itself, whatever framework it spoke in.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, TypeVar

from ._conversation import Call, Message, conversation, json_text, result_text
from ._frameworks import digest
from ._records import Event

T = TypeVar("T")

Others = bool | Callable[[str], bool]
"""Whether to read them; or a function that says whether the agent has a tool of this name."""

# What model APIs take as the name of a tool.
_NAME = re.compile(r"[A-Za-z0-9_-]{1,64}")


@dataclass(frozen=True)
class Said:
    """What somebody else said, as an agent is to read it."""

    place: int
    """A number of an event, behind which it stands."""
    id: str
    """Of the event."""
    role: Literal["user", "model"]
    text: str
    """May be empty, if there are calls."""
    calls: tuple[Call, ...]
    """With results, and ids that no other calls have."""


def is_marked(event: Event, *names: str) -> bool:
    """Returns whether an event has one of these members in its metadata, as those of an adapter have."""
    return isinstance(event.metadata, dict) and not event.metadata.keys().isdisjoint(names)


def of_others(events: Iterable[Event], author: str | None, others: Others) -> list[Said]:
    """Returns what events say that the adapter has not written, in order.

    Args:
      events: Those of the effective history, without the adapter's own.
      author: The name of the agent.
      others: Calls of tools that it does not have, are text.
    """
    said: list[Said] = []
    messages = conversation(events)
    place = 1 << 62
    # A summary stands before what is behind it, whatever its number.
    for message in reversed(messages):
        place = min(place, message.sequence)
        said.append(_said(message, place, author, others if callable(others) else lambda name: True))
    return said[::-1]


def _said(message: Message, place: int, author: str | None, has: Callable[[str], bool]) -> Said:
    calls = [call for call in message.calls if _NAME.fullmatch(call.name) and has(call.name)]
    lines = [message.text] if message.text else []
    for call in message.calls:
        if call not in calls:
            lines.append(
                f"[called {call.name}: {json_text(call.args)}]\n[{call.name} answered: {result_text(call.result)}]"
            )
    for file in message.files:
        lines.append(f"[file: {' '.join(filter(None, (file.name, file.content_type, file.uri)))}]")
    text = "\n".join(lines)
    if text and message.role == "model" and message.author != author:
        text = f"[{message.author}] {text}"
    named = tuple(
        Call(id=digest(message.id, str(at), call.id), name=call.name, args=call.args, result=call.result)
        for at, call in enumerate(calls)
    )
    return Said(place, message.id, message.role, text, named)


def tied(calls: Sequence[Collection[str]], results: Sequence[Collection[str]]) -> list[bool]:
    """Returns whether nothing may stand before each object of a framework; and last, whether nothing may at the end.

    That is between a call and its result, and behind a call that may still get one.

    Args:
      calls: The ids of the calls in each object.
      results: The ids of the results in each.
    """
    ties, opened = [False] * len(calls), dict[str, int]()
    for at, (made, given) in enumerate(zip(calls, results, strict=True)):
        for id in given:
            since = opened.pop(id, at)
            ties[since + 1 : at + 1] = [True] * (at - since)
        opened.update(dict.fromkeys(made, at))
    at = len(calls) - 1
    ends_open = at in opened.values()
    while at > 0 and {at, at - 1} <= set(opened.values()):
        # Calls of one answer of a model.
        ties[at] = True
        at -= 1
    return [*ties, ends_open]


def merged(own: Sequence[tuple[int, T]], others: Sequence[tuple[int, T]], ties: Sequence[bool]) -> list[T]:
    """Returns a framework's own objects and those of others, in the order of their numbers, but for ties.

    What was said between a call and its result stands before the call.
    """
    numbers = [number for number, _ in own]
    result, at = list[T](), 0
    for number, each in others:
        to = bisect_right(numbers, number)
        while to and ties[to]:
            to -= 1
        result += [mine for _, mine in own[at:to]]
        at = max(at, to)
        result.append(each)
    return result + [mine for _, mine in own[at:]]
