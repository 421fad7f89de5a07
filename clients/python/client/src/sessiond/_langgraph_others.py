"""What others have said, as messages of LangChain."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage

from ._conversation import result_text
from ._langgraph import OTHERS
from ._others import Said


def messages_of(said: Sequence[Said], known: Collection[Any]) -> list[AnyMessage]:
    """Returns messages whose ids are made of those of the events, but for what has a message of a known id."""
    messages: list[AnyMessage] = []
    for each in said:
        id = OTHERS + each.id
        if id in known:
            continue
        if each.role == "user":
            messages.append(HumanMessage(each.text, id=id))
            continue
        calls: Any = [{"name": call.name, "args": dict(call.args), "id": call.id} for call in each.calls]
        messages.append(AIMessage(each.text, id=id, tool_calls=calls))
        messages += [
            ToolMessage(result_text(call.result), id=f"{id}/{at}", tool_call_id=call.id, name=call.name)
            for at, call in enumerate(each.calls)
        ]
    return messages
