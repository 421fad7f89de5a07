"""What people and models said, without a framework: the cases of clients/wire/conversation.json, and of a server."""

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from sessiond import AsyncSession, Attachment, Event, Message, conversation, text

CASES = json.loads((Path(__file__).parents[3] / "wire/conversation.json").read_text(encoding="utf-8"))


def written(message: Message) -> dict[str, Any]:
    """Returns a message as the file of cases has it."""
    calls, files = [vars(call) for call in message.calls], [written_file(file) for file in message.files]
    return filled({**vars(message), "calls": calls or None, "files": files or None})


def written_file(file: Attachment) -> dict[str, Any]:
    bytes64 = None if file.data is None else base64.b64encode(file.data).decode()
    fields = {"name": file.name, "mimeType": file.content_type, "base64": bytes64, "uri": file.uri}
    return filled({**fields, "version": file.version})


def filled(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}


@pytest.mark.parametrize("case", [pytest.param(case, id=case["promise"]) for case in CASES])
def test_it_is_what_all_clients_tell(case: dict[str, Any]) -> None:
    assert [written(message) for message in conversation(case["events"])] == case["messages"]


async def test_of_the_effective_history(s: AsyncSession) -> None:
    called = {"role": "model", "parts": [{"functionCall": {"id": "c", "name": "brew", "args": {"tea": "green"}}}]}
    answered = {"role": "user", "parts": [{"functionResponse": {"id": "c", "name": "brew", "response": {"cups": 1}}}]}
    await s.create()
    await s.append(
        [
            {"content": text("user", "A tea, please."), "author": "user", "invocationId": "one", "timestamp": 1},
            {"content": called, "author": "barista", "invocationId": "one", "timestamp": 2},
            {"content": answered, "author": "barista", "invocationId": "one", "timestamp": 3},
            {"content": text("user", "No, coffee."), "author": "user", "invocationId": "two", "timestamp": 4},
        ]
    )
    await s.rewind(before_invocation="two")
    await s.append({"content": text("user", "Thank you."), "author": "user", "timestamp": 5})
    messages = await s.conversation()
    assert [(each.sequence, each.text) for each in messages] == [(1, "A tea, please."), (2, ""), (6, "Thank you.")]
    assert [call.result for each in messages for call in each.calls] == [{"cups": 1}]
    later = await s.conversation(after=2)
    assert [each.text for each in later] == ['[brew answered: {"cups":1}]', "Thank you."]
    # A summary takes the place of what it covers.
    content = {"role": "model", "parts": [{"text": "A tea was had."}]}
    compaction = {"startTimestamp": 1, "endTimestamp": 4, "compactedContent": content}
    await s.append({"author": "user", "timestamp": 6, "actions": {"compaction": compaction}})
    assert [(each.author, each.text) for each in await s.conversation()] == [
        ("model", "A tea was had."),
        ("user", "Thank you."),
    ]


@pytest.mark.parametrize("content", ["Hi.", {"parts": 5}, {"parts": {"text": "Hi."}}, {"parts": ["Hi.", {"text": 5}]}])
def test_content_of_another_shape_has_no_text(content: Any) -> None:
    assert Event({"content": content}).text == ""
