"""A process whose agent dies in a tool, or does not: `python -m tests.adk.crash URL APP SESSION WHERE`."""

import asyncio
import os
import sys
from typing import Any

from google.adk.agents.llm_agent import LlmAgent
from google.adk.runners import Runner
from google.adk.tools.tool_context import ToolContext
from google.genai import types

from sessiond_adk import SessiondSessionService, ops

from .model import ScriptedModel, call


async def work(url: str, app: str, session_id: str, where: str) -> None:
    async def order(order: str, tool_context: ToolContext) -> dict[str, Any]:
        """Takes an order, and dies where it is told to."""
        number = await ops.increment(tool_context, "app:orders", once=f"number of {order}")
        if where == "in the middle":
            os._exit(9)
        items = await ops.append(tool_context, "user:items", order, once=f"items of {order}")
        if where == "at the end":
            os._exit(9)
        return {"number": number, "items": items}

    async with SessiondSessionService(url) as service:
        model = ScriptedModel(script=[call("order", order="tea"), "Done."])
        agent = LlmAgent(name="waiter", model=model, tools=[order])
        runner = Runner(app_name=app, agent=agent, session_service=service)
        said = types.UserContent("Tea, please.")
        async for event in runner.run_async(user_id="u", session_id=session_id, new_message=said):
            for response in event.get_function_responses():
                print(response.response, flush=True)


if __name__ == "__main__":
    _, url, app, session_id, where = sys.argv
    asyncio.run(work(url, app, session_id, where))
