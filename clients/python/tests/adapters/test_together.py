"""Agents of all frameworks in one session, and a graph: see run-adapter-tests, which makes an environment for each."""

import os
import subprocess
import uuid
from pathlib import Path

from google.genai import types

from sessiond_adk import SessiondSessionService

from ..adk.test_runner import Talk, agent, requests
from ..support.process import Server
from .test_documents import EXAMPLES

GRAPH = """
import sys
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.graph import START, MessagesState, StateGraph
from sessiond.langgraph import SessiondSaver

thread, message = sys.argv[1:]
builder = StateGraph(MessagesState)
builder.add_node("serve", lambda state: {"messages": [AIMessage("Here is tea number 1.")]})
builder.add_edge(START, "serve")
with SessiondSaver(app="cafe", user="ada", messages="messages") as saver:
    graph = builder.compile(checkpointer=saver)
    said = graph.invoke({"messages": [HumanMessage(message)]}, {"configurable": {"thread_id": thread}})
    print(said["messages"][-1].content)
"""

# The examples, and one more, whose graph has messages.
SCRIPTS = {
    "langgraph": ["-c", GRAPH],
    "openai": ["openai_agents.py"],
    "claude": ["claude_agent.py"],
    "strands": ["strands_agent.py"],
    "pydantic-ai": ["pydantic_ai_agent.py"],
}


def words(part: types.Part) -> str:
    call, response = part.function_call, part.function_response
    return part.text or (call and f"{call.name} {call.args}") or (response and str(response.response)) or ""


async def test_an_agent_of_adk_reads_what_all_have_said(server: Server) -> None:
    session_id = str(uuid.uuid4())

    def say(framework: str, message: str) -> str:
        ran = subprocess.run(
            [Path(os.environ["ADAPTERS"], framework, "bin/python"), *SCRIPTS[framework], session_id, message],
            cwd=EXAMPLES,
            env={**os.environ, "SESSIOND_URL": server.url},
            capture_output=True,
            encoding="utf-8",
            check=False,
        )
        assert ran.returncode == 0, ran.stderr
        return ran.stdout

    async with SessiondSessionService(server.url) as service:
        barista = agent("barista", "Welcome.", "All of it.")
        talk = Talk(service, "cafe", barista, user="ada")
        talk.id = session_id
        await talk.say("I am Ada.")
        for framework in SCRIPTS:
            assert "Here is tea number 1." in say(framework, f"{framework}, a tea, please.")
        # It goes on with its own conversation, whatever the others have written in between.
        assert "Here is tea number 2." in say("openai", "openai, another one.")
        await talk.say("What did I have?")
    read = "\n".join(words(part) for content in requests(barista)[-1].contents for part in content.parts or ())
    for framework in SCRIPTS:
        assert f"{framework}, a tea, please." in read
    assert read.count("Here is tea number 1.") == len(SCRIPTS) and read.count("Here is tea number 2.") == 1
    # The call of a tool, and what it answered.
    assert read.count("a green tea") == 2 and "Welcome." in read
