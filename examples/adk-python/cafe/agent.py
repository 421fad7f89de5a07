"""A café of three agents. Their model is scripted, so they need no key; a real one would be used in the same way."""

from __future__ import annotations

import re
from collections.abc import AsyncGenerator, Callable
from typing import Any

from google.adk.agents.llm_agent import LlmAgent
from google.adk.agents.sequential_agent import SequentialAgent
from google.adk.models.base_llm import BaseLlm
from google.adk.models.llm_request import LlmRequest
from google.adk.models.llm_response import LlmResponse
from google.adk.tools.tool_context import ToolContext
from google.genai import types

from sessiond_adk import ops


class ScriptedModel(BaseLlm):
    """Answers by a rule, from the instruction and from the last thing that it was told."""

    model: str = "scripted"
    rule: Callable[[str, types.Part], str | types.Part]

    async def generate_content_async(
        self, llm_request: LlmRequest, stream: bool = False
    ) -> AsyncGenerator[LlmResponse, None]:
        last = (llm_request.contents[-1].parts or [types.Part(text="")])[-1]
        answer = self.rule(str(llm_request.config.system_instruction), last)
        part = types.Part(text=answer) if isinstance(answer, str) else answer
        usage = types.GenerateContentResponseUsageMetadata(prompt_token_count=1, candidates_token_count=1)
        yield LlmResponse(content=types.Content(role="model", parts=[part]), usage_metadata=usage)


async def take_order(drink: str, guest: str, tool_context: ToolContext) -> dict[str, Any]:
    """Takes an order."""
    tool_context.state["drink"] = drink  # of this session
    tool_context.state["user:name"] = guest  # of this user, in every session
    tool_context.state["user:usual"] = drink
    # Of the app: of all users, who may order at the same time. Read, add one and write back would lose orders.
    number = await ops.increment(tool_context, "app:orders")
    return {"number": number}


def waiter_says(instruction: str, last: types.Part) -> str | types.Part:
    if last.function_response:
        return "Coming."
    name, usual = re.findall(r"<(.*?)>", instruction)
    said = last.text or ""
    if named := re.search(r"I am (\w+)", said):
        name = named[1]
    if ordered := re.search(r"[Aa] ([\w ]+), please", said):
        usual = ordered[1]
    return types.Part(function_call=types.FunctionCall(name="take_order", args={"drink": usual, "guest": name}))


def barista_says(instruction: str, last: types.Part) -> str:
    (drink,) = re.findall(r"<(.*?)>", instruction)
    return f"one {drink}, hot"


def server_says(instruction: str, last: types.Part) -> str:
    number, made, name = re.findall(r"<(.*?)>", instruction)
    return f"Order {number}: {made}, for {name}."


# The values of state that ADK puts into the instructions are between angle brackets, for the scripts to find.
waiter = LlmAgent(
    name="waiter",
    instruction="Take the order. The guest is <{user:name?}>, who usually has <{user:usual?}>.",
    model=ScriptedModel(rule=waiter_says),
    tools=[take_order],
)
barista = LlmAgent(
    name="barista",
    instruction="Make <{drink}>.",
    model=ScriptedModel(rule=barista_says),
    # From one agent to the next, and not stored.
    output_key="temp:made",
)
server = LlmAgent(
    name="server",
    instruction="Serve order <{app:orders}>: <{temp:made}>, for <{user:name}>.",
    model=ScriptedModel(rule=server_says),
    output_key="served",
)

root_agent = SequentialAgent(name="cafe", sub_agents=[waiter, barista, server])
