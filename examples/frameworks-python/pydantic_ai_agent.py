"""An agent of Pydantic AI, which goes on where it stopped: `pydantic_ai_agent.py CONVERSATION MESSAGE`.

The model is a script, so no key is needed.
"""

import asyncio
import sys
from typing import Any

from pydantic_ai import Agent
from pydantic_ai.conversation import Conversation
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart
from pydantic_ai.models.function import FunctionModel

from sessiond.pydantic_ai import SessiondStore


def waiter(messages: list[ModelMessage], _: Any) -> ModelResponse:
    """Counts what was asked for."""
    return ModelResponse(parts=[TextPart(f"Here is tea number {len(messages) // 2 + 1}.")])


async def main(conversation_id: str, message: str) -> None:
    """Says something to the agent."""
    store = SessiondStore(app="cafe", user="ada")
    conversation = await store.load(conversation_id) or Conversation(conversation_id=conversation_id)
    result = await Agent(FunctionModel(waiter)).run(message, conversation=conversation)
    await store.save(result)
    print(f"host: {result.output}")


asyncio.run(main(*sys.argv[1:]))
