"""A transcript of the Claude Agent SDK, written and read as the SDK does it: `claude_agent.py SESSION MESSAGE`.

With a key, the SDK itself writes it: `query(prompt=..., options=ClaudeAgentOptions(session_store=store))`. Here a
script takes the place of the model, so no key is needed.
"""

import asyncio
import sys
import uuid
from typing import Any

from claude_agent_sdk import get_session_messages_from_store, project_key_for_directory

from sessiond.claude import SessiondStore


def entry(kind: str, text: str, session_id: str, parent: str | None) -> Any:
    """Returns an entry as the SDK makes it."""
    message = {"role": kind, "content": [{"type": "text", "text": text}]}
    rest = {"sessionId": session_id, "parentUuid": parent, "isSidechain": False}
    return {"type": kind, "uuid": str(uuid.uuid4()), "message": message, **rest}


async def main(session_id: str, text: str) -> None:
    """Says something, and shows the session as the SDK reads it."""
    store = SessiondStore(app="cafe", user=lambda project_key: "ada")
    key: Any = {"project_key": project_key_for_directory("."), "session_id": session_id}
    before = await store.load(key) or []
    said = entry("user", text, session_id, before[-1]["uuid"] if before else None)
    answer = entry("assistant", f"Here is tea number {len(before) // 2 + 1}.", session_id, said["uuid"])
    await store.append(key, [said, answer])
    for message in await get_session_messages_from_store(store, session_id, directory="."):
        print(f"{message.type}: {message.message['content'][0]['text']}")


asyncio.run(main(*sys.argv[1:]))
