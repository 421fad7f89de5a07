"""What others have said, as items of the OpenAI Agents SDK."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ._conversation import json_text, result_text
from ._others import Others, Said, is_marked, merged, of_others, tied
from ._records import Event


def with_others(
    own: Sequence[tuple[int, Any]], events: Iterable[Event], author: str, others: Others, count: int | None
) -> list[Any]:
    """Returns the items of the adapter, given with their numbers, among those of others; of all the last `count`."""
    said = of_others((event for event in events if not is_marked(event, "openai", "openai_usage")), author, others)
    told = [(each.place, item) for each in said for item in _items(each)]
    items = merged(own, told, _ties([item for _, item in own]))
    if count:
        items = items[-count:]
        outputs = [item for _, item in told if item.get("type") == "function_call_output"]
        # Half of a pair of others.
        while items and any(items[0] is output for output in outputs):
            del items[0]
    return items


def _items(said: Said) -> list[dict[str, Any]]:
    text = [{"role": "user" if said.role == "user" else "assistant", "content": said.text}] if said.text else []
    calls = [
        {"type": "function_call", "call_id": call.id, "name": call.name, "arguments": json_text(call.args)}
        for call in said.calls
    ]
    outputs = [
        {"type": "function_call_output", "call_id": call.id, "output": result_text(call.result)} for call in said.calls
    ]
    return [*text, *calls, *outputs]


def _ties(items: Sequence[Mapping[str, Any]]) -> list[bool]:
    def ids(end: str) -> list[set[str]]:
        return [{str(item.get("call_id"))} if str(item.get("type")).endswith(end) else set() for item in items]

    ties = tied(ids("_call"), ids("_call_output"))
    for at, item in enumerate(items[:-1]):
        # Models refuse a thought without what came of it.
        ties[at + 1] = ties[at + 1] or item.get("type") == "reasoning"
    return ties
