"""An agent of the OpenAI Agents SDK, which goes on where it stopped: `openai_agents.py SESSION MESSAGE`.

The model is a script, so no key is needed.
"""

import asyncio
import sys

from agents import Agent, RunConfig, Runner, function_tool
from agents.testing import ScriptedModel
from openai.types.responses import ResponseFunctionToolCall, ResponseOutputMessage, ResponseOutputText

from sessiond.openai import SessiondSession


@function_tool
def brew(tea: str) -> str:
    """Makes a tea."""
    return f"a {tea} tea"


async def main(session_id: str, message: str) -> None:
    """Says something to the agent."""
    session = SessiondSession(session_id, app="cafe", user="ada")
    orders = sum(item.get("type") == "function_call" for item in await session.get_items())
    model = ScriptedModel()
    args = '{"tea": "green"}'
    model.enqueue([ResponseFunctionToolCall(call_id="c", type="function_call", name="brew", arguments=args)])
    said = ResponseOutputText(text=f"Here is tea number {orders + 1}.", type="output_text", annotations=[])
    model.enqueue([ResponseOutputMessage(id="m", type="message", role="assistant", content=[said], status="completed")])

    agent = Agent(name="host", model=model, tools=[brew])
    with session.turn(f"{orders}: {message}"):  # repeated after a crash, the message is there once
        result = await Runner.run(agent, message, session=session, run_config=RunConfig(tracing_disabled=True))
    print(f"host: {result.final_output}")


asyncio.run(main(*sys.argv[1:]))
