"""A process that runs an agent again and again: `python -m tests.adk.worker URL APP SESSION RUNS`."""

import asyncio
import sys
from typing import Any

from google.adk.agents.llm_agent import LlmAgent
from google.adk.runners import Runner
from google.adk.tools.tool_context import ToolContext
from google.genai import types

from sessiond_adk import SessiondSessionService, ops

from .model import ScriptedModel, call, text


async def count(tool_context: ToolContext) -> dict[str, Any]:
    """A tool that counts its calls, for the user, for the app and for the session."""
    tool_context.state["mine"] = tool_context.state.get("mine", 0) + 1
    return {
        "user": await ops.increment(tool_context, "user:count"),
        "app": await ops.increment(tool_context, "app:count", 0.5),
        "session": await ops.append(tool_context, "log", tool_context.state["mine"]),
    }


async def work(url: str, app: str, session_id: str, runs: int) -> None:
    async with SessiondSessionService(url) as service:
        for run in range(runs):
            model = ScriptedModel(script=[call("count"), f"run {run}"])
            agent = LlmAgent(name="counter", model=model, tools=[count])
            runner = Runner(app_name=app, agent=agent, session_service=service)
            said = [
                text(event.content)
                async for event in runner.run_async(
                    user_id="u", session_id=session_id, new_message=types.UserContent("Count.")
                )
            ]
            assert said[-1] == f"run {run}", said


if __name__ == "__main__":
    _, url, app, session_id, runs = sys.argv
    asyncio.run(work(url, app, session_id, int(runs)))
