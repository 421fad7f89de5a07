"""What others have said, as messages of Pydantic AI."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable, Sequence
from dataclasses import replace
from datetime import datetime, timezone
from typing import TYPE_CHECKING, Any

from pydantic_ai.conversation_store import ConversationEntry, ConversationRecord, ConversationStore
from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from ._others import Others, Said, is_marked, merged, of_others, tied

if TYPE_CHECKING:
    from ._records import Event

# In the metadata of a message, which models do not see: it is not to be stored.
_MARK = "sessiond"

Numbered = list[tuple[int, ConversationEntry]]


class WithOthers(ConversationStore):
    """A store to load from: its histories have what others have said."""

    def __init__(
        self,
        record: ConversationRecord,
        read: Callable[[str | None, int | None], Coroutine[Any, Any, Numbered]],
        others: Numbered,
    ) -> None:
        """Takes the record that is loaded, what reads its own entries with their numbers, and what others have said."""
        self._record = record
        self._own = read
        self._others = others

    async def read_record(self, conversation_id: str) -> ConversationRecord | None:
        """Returns the record."""
        return self._record

    async def read_history(self, head_id: str | None, *, limit: int | None = None) -> list[ConversationEntry]:
        """Returns all entries, or the last of them, but no result of others without its call."""
        own = await self._own(head_id, limit)
        entries = merged(own, self._others, _ties([entry.message for _, entry in own]))
        if limit is not None:
            entries = entries[-limit:] if limit else []
            while entries and is_others(entries[0].message) and _results(entries[0].message):
                del entries[0]
        return entries

    async def read_entry(self, entry_id: str) -> ConversationEntry:
        """Is not asked for."""
        raise LookupError(entry_id)

    async def read_records(self, **which: Any) -> Sequence[ConversationRecord]:
        """Is not asked for."""
        return [self._record]

    async def write_record(self, *args: Any, **kwargs: Any) -> None:
        """Is not asked for."""
        raise NotImplementedError

    async def delete_record(self, *args: Any, **kwargs: Any) -> None:
        """Is not asked for."""
        raise NotImplementedError


def entries_of(events: Sequence[Event], author: str, others: Others) -> Numbered:
    """Returns what others have said, with its places, as entries that are not to be stored."""
    groups = {event.invocation_id for event in events if is_marked(event, "pydantic")}

    def is_own(event: Event) -> bool:
        # A prompt with instructions is two events.
        return is_marked(event, "pydantic") or (event.author == "user" and event.invocation_id in groups)

    said = of_others((event for event in events if not is_own(event)), author, others)
    times = {event.id: datetime.fromtimestamp(event.timestamp, timezone.utc) for event in events}
    return [
        (each.place, ConversationEntry(id=f"{each.id}/{at}", parent_id=None, message=message))
        for each in said
        for at, message in enumerate(_messages(each, times[each.id]))
    ]


def is_others(message: ModelMessage) -> bool:
    """Whether a message is one of others, which the log has already."""
    return isinstance(message.metadata, dict) and _MARK in message.metadata


def without_others(
    record: ConversationRecord, entries: Iterable[ConversationEntry]
) -> tuple[ConversationRecord, list[ConversationEntry]]:
    """Returns what is to be stored of a record and its new entries."""
    gone: dict[str | None, str | None] = {}
    kept = []
    for entry in entries:
        parent = gone.get(entry.parent_id, entry.parent_id)
        if is_others(entry.message):
            gone[entry.id] = parent
        else:
            kept.append(replace(entry, parent_id=parent))
    return replace(record, head_id=gone.get(record.head_id, record.head_id)), kept


def _messages(said: Said, time: datetime) -> list[ModelMessage]:
    mark = {_MARK: said.id}
    if said.role == "user":
        return [ModelRequest(parts=[UserPromptPart(said.text, timestamp=time)], timestamp=time, metadata=mark)]
    texts = [TextPart(said.text)] if said.text else []
    calls = [ToolCallPart(call.name, dict(call.args), tool_call_id=call.id) for call in said.calls]
    answer = ModelResponse(parts=[*texts, *calls], timestamp=time, metadata=mark)
    results = [
        ToolReturnPart(call.name, dict(call.result), tool_call_id=call.id, timestamp=time) for call in said.calls
    ]
    return [answer, ModelRequest(parts=results, timestamp=time, metadata=mark)] if results else [answer]


def _calls(message: ModelMessage) -> set[str]:
    return {part.tool_call_id for part in message.parts if isinstance(part, ToolCallPart)}


def _results(message: ModelMessage) -> set[str]:
    parts = message.parts if isinstance(message, ModelRequest) else ()
    return {part.tool_call_id for part in parts if getattr(part, "tool_call_id", None) and hasattr(part, "tool_name")}


def _ties(messages: Sequence[ModelMessage]) -> list[bool]:
    return tied([_calls(each) for each in messages], [_results(each) for each in messages])
