"""What others have said, as messages of Strands."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from strands.types.session import SessionMessage

from ._conversation import result_text
from ._frameworks import digest
from ._others import Others, Said, is_marked, merged, of_others, tied

if TYPE_CHECKING:
    from ._records import Event

# What the tracking id of a message begins with that is not to be stored; the rest is its place and a digest.
_MARK = "sessiond-"

Numbered = list[tuple[int, SessionMessage]]


@dataclass
class Held:
    """Which messages an agent holds, for what its conversation manager counts as removed.

    It counts those of others, too; what is stored is how many of the agent's own are removed, and behind which place
    those of others are.
    """

    removed: int
    """How many the conversation manager had removed when the agent got these: its own."""
    behind: int
    """The place up to which those of others were removed then."""
    messages: list[tuple[bool, int]]
    """Whether each is one of others, and its place, else its number."""

    def stored(self, state: Mapping[str, Any]) -> tuple[dict[str, Any], int]:
        """Returns the state of the conversation manager as it is stored, and the place."""
        count = state.get("removed_message_count")
        if not isinstance(count, int):
            return {**state}, self.behind
        gone = self.messages[: max(0, count - self.removed)]
        own = max((number + 1 for is_others, number in gone if not is_others), default=self.removed)
        behind = max((place for is_others, place in gone if is_others), default=self.behind)
        return {**state, "removed_message_count": own}, behind


def place_of(message: Mapping[str, Any]) -> int | None:
    """Returns the place of a message of others; None of one that is the agent's own."""
    mark = str(message.get("tracking_id"))
    return int(mark.removeprefix(_MARK).partition("-")[0]) if mark.startswith(_MARK) else None


def messages_of(events: Iterable[Event], agent_id: str, others: Others) -> list[tuple[int, Any]]:
    """Returns what others have said, and its places."""
    said = of_others((event for event in events if not _is_own(event)), agent_id, others)
    return [(each.place, message) for each in said for message in _messages(each)]


def with_others(own: Numbered, others: Sequence[tuple[int, Any]], removed: int = 0) -> list[SessionMessage]:
    """Returns messages of an agent, given with the numbers of their events, among those of others.

    Those of others have the number of the agent's own before them, behind which the next one is. `removed` of its own
    are not here any more.
    """
    ties = tied(*([_ids(each.to_message(), kind) for _, each in own] for kind in ("toolUse", "toolResult")))
    told = [(place, SessionMessage.from_message(message, -1)) for place, message in others]
    result = list[SessionMessage]()
    for each in merged(own, told, ties):
        before = result[-1] if result else None
        if place_of(each.message) is None:
            result.append(each)
        elif before is not None and place_of(before.message) is not None and _may_join(before.message, each.message):
            before.message["content"] = [*before.message["content"], *each.message["content"]]
            before.message["tracking_id"] = each.message["tracking_id"]
        else:
            each.message_id = before.message_id if before is not None else removed - 1
            if before is None and not _ids(each.message, "toolUse"):
                # Some models want a user to begin.
                each.message["role"] = "user"
            result.append(each)
    return result


def joined(messages: Iterable[Any]) -> list[Any]:
    """Returns messages of others for an agent that has none of its own."""
    return [each.message for each in with_others([], [(0, message) for message in messages])]


def _is_own(event: Event) -> bool:
    return event.author == "strands" or is_marked(event, "strands")


def _messages(said: Said) -> list[dict[str, Any]]:
    texts = [{"text": said.text}] if said.text else []
    calls = [{"toolUse": {"toolUseId": call.id, "name": call.name, "input": dict(call.args)}} for call in said.calls]
    results = [
        {"toolResult": {"toolUseId": call.id, "status": "success", "content": [{"text": result_text(call.result)}]}}
        for call in said.calls
    ]
    told: list[tuple[str, list[Any]]] = [("user" if said.role == "user" else "assistant", [*texts, *calls])]
    if results:
        told.append(("user", results))
    return [
        {"role": role, "content": content, "tracking_id": f"{_MARK}{said.place}-{digest(said.id, str(at))}"}
        for at, (role, content) in enumerate(told)
    ]


def _may_join(before: Mapping[str, Any], message: Mapping[str, Any]) -> bool:
    """Whether two messages may be one, as some models want the roles to take turns: texts of one role."""
    return before["role"] == message["role"] and not any(
        _ids(each, kind) for each in (before, message) for kind in ("toolUse", "toolResult")
    )


def _ids(message: Mapping[str, Any], kind: str) -> set[str]:
    return {block[kind]["toolUseId"] for block in message["content"] if kind in block}
