"""One order, which agents of different frameworks take on: `one_order.py FRAMEWORK SESSION MESSAGE`.

Each writes a ticket after the one that it has read, whoever wrote that. The frameworks are adk, langgraph, openai,
claude, strands and pydantic-ai. The models are scripts, so no key is needed.
"""

import asyncio
import os
import re
import sys
import uuid
from collections.abc import AsyncGenerator
from typing import Any


def answer(heard: str) -> str:
    """Returns what a model says to all that it was sent: the next ticket."""
    tickets = re.findall(r"Ticket (\d+): ([\w ]+)\.", heard)
    if not tickets:
        ordered = re.search(r"A ([\w ]+), please", heard)
        return f"Ticket 1: {ordered[1]}." if ordered else "What would you like?"
    number, drink = max(tickets, key=lambda ticket: int(ticket[0]))
    return f"Ticket {int(number) + 1}: {drink}."


async def adk(session_id: str, message: str) -> str:
    """ADK reads all events of a session without more."""
    from google.adk.agents import LlmAgent
    from google.adk.models import BaseLlm, LlmRequest, LlmResponse
    from google.adk.runners import Runner
    from google.genai import types

    from sessiond_adk import SessiondSessionService

    class Script(BaseLlm):
        async def generate_content_async(
            self, llm_request: LlmRequest, stream: bool = False
        ) -> AsyncGenerator[LlmResponse, None]:
            """Answers."""
            heard = "\n".join(str(part) for content in llm_request.contents for part in content.parts or ())
            yield LlmResponse(content=types.ModelContent(answer(heard)))

    said = ""
    async with SessiondSessionService(os.environ.get("SESSIOND_URL", "http://127.0.0.1:8080")) as sessions:
        agent = LlmAgent(name="waiter", model=Script(model="script"))
        runner = Runner(app_name="cafe", agent=agent, session_service=sessions, auto_create_session=True)
        async for event in runner.run_async(
            user_id="ada", session_id=session_id, new_message=types.UserContent(message)
        ):
            said += "".join(part.text or "" for part in (event.content and event.content.parts) or ())
    return said


async def langgraph(session_id: str, message: str) -> str:
    """What others have said goes into the next input of a graph."""
    from langchain_core.messages import AIMessage, HumanMessage
    from langgraph.graph import START, MessagesState, StateGraph

    from sessiond.langgraph import SessiondSaver

    builder = StateGraph(MessagesState)
    builder.add_node("write", lambda state: {"messages": [AIMessage(answer(str(state["messages"])))]})
    builder.add_edge(START, "write")
    config: Any = {"configurable": {"thread_id": session_id}}
    async with SessiondSaver(app="cafe", user="ada") as saver:
        graph = builder.compile(checkpointer=saver)
        # A turn whose process died is taken to its end.
        is_cut = (await graph.aget_state(config)).tasks
        messages = [] if is_cut else [*await saver.aothers(config), HumanMessage(message)]
        state = await graph.ainvoke(None if is_cut else {"messages": messages}, config)
    return str(state["messages"][-1].content)


async def openai(session_id: str, message: str) -> str:
    """The session has it, with `others`."""
    from agents import Agent, Model, ModelResponse, RunConfig, Runner, Usage
    from openai.types.responses import ResponseOutputMessage, ResponseOutputText

    from sessiond.openai import SessiondSession

    class Script(Model):
        async def get_response(self, system_instructions: Any, input: Any, *args: Any, **kwargs: Any) -> ModelResponse:
            """Answers."""
            text = ResponseOutputText(text=answer(str(input)), type="output_text", annotations=[])
            said = ResponseOutputMessage(id="m", type="message", role="assistant", content=[text], status="completed")
            return ModelResponse(output=[said], usage=Usage(), response_id=None)

        def stream_response(self, *args: Any, **kwargs: Any) -> Any:
            """Is not asked for."""
            raise NotImplementedError

    session = SessiondSession(session_id, app="cafe", user="ada", author="host", others=True)
    agent = Agent(name="host", model=Script())
    result = await Runner.run(agent, message, session=session, run_config=RunConfig(tracing_disabled=True))
    return str(result.final_output)


async def claude(session_id: str, message: str) -> str:
    """A transcript begins with it. A script takes the place of the SDK's program, which needs a key."""
    from claude_agent_sdk import get_session_messages_from_store, project_key_for_directory

    from sessiond.claude import SessiondStore

    store = SessiondStore(app="cafe", user=lambda project_key: "ada", others=True)
    key: Any = {"project_key": project_key_for_directory("."), "session_id": session_id}
    before = await get_session_messages_from_store(store, session_id, directory=".")
    said = answer(str([message.message for message in before]) + message)
    parent = before[-1].uuid if before else None
    for kind, text in (("user", message), ("assistant", said)):
        entry: Any = {
            "type": kind,
            "uuid": str(uuid.uuid4()),
            "parentUuid": parent,
            "sessionId": session_id,
            "isSidechain": False,
            "message": {"role": kind, "content": [{"type": "text", "text": text}]},
        }
        await store.append(key, [entry])
        parent = entry["uuid"]
    return said


async def strands(session_id: str, message: str) -> str:
    """The repository has it, with `others`; an agent that is new in the session begins with it."""
    from strands import Agent
    from strands.models import Model
    from strands.session.repository_session_manager import RepositorySessionManager

    from sessiond.strands import SessiondRepository

    class Script(Model):
        stateful = False

        def update_config(self, **config: Any) -> None:
            """Takes none."""

        def get_config(self) -> Any:
            """Has none."""
            return {}

        def structured_output(self, *args: Any, **kwargs: Any) -> Any:
            """Says texts alone."""
            raise NotImplementedError

        async def stream(self, messages: Any, *args: Any, **kwargs: Any) -> AsyncGenerator[Any, None]:
            """Answers."""
            yield {"messageStart": {"role": "assistant"}}
            yield {"contentBlockDelta": {"delta": {"text": answer(str(messages))}}}
            yield {"contentBlockStop": {}}
            yield {"messageStop": {"stopReason": "end_turn"}}

    def run() -> str:
        repository = SessiondRepository(app="cafe", user="ada", others=True)
        agent = Agent(
            model=Script(),
            agent_id="barista",
            messages=repository.others(session_id, "barista"),
            session_manager=RepositorySessionManager(session_id=session_id, session_repository=repository),
            callback_handler=None,
        )
        return str(agent(message)).strip()

    return await asyncio.to_thread(run)


async def pydantic_ai(session_id: str, message: str) -> str:
    """The store has it, with `others`."""
    from pydantic_ai import Agent
    from pydantic_ai.conversation import Conversation
    from pydantic_ai.messages import ModelResponse, TextPart
    from pydantic_ai.models.function import FunctionModel

    from sessiond.pydantic_ai import SessiondStore

    def script(messages: Any, _: Any) -> ModelResponse:
        return ModelResponse(parts=[TextPart(answer(str(messages)))])

    store = SessiondStore(app="cafe", user="ada", author="cashier", others=True)
    conversation = await store.load(session_id) or Conversation(conversation_id=session_id)
    result = await Agent(FunctionModel(script)).run(message, conversation=conversation)
    await store.save(result)
    return str(result.output)


FRAMEWORKS = {
    "adk": adk,
    "langgraph": langgraph,
    "openai": openai,
    "claude": claude,
    "strands": strands,
    "pydantic-ai": pydantic_ai,
}

if __name__ == "__main__":
    name, session, *words = sys.argv[1:]
    print(f"{name}: {asyncio.run(FRAMEWORKS[name](session, ' '.join(words)))}")
