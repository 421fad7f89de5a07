"""What docs/frameworks.md and the examples print, in an environment with what the page installs, and nothing else.

Run by run-adapter-tests, which has the `uv` that makes these.
"""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from sessiond import Client

from ..support.process import Server

ROOT = Path(__file__).resolve().parents[4]
EXAMPLES = ROOT / "examples/frameworks-python"
PAGE = (ROOT / "docs/frameworks.md").read_text(encoding="utf-8")
LANGGRAPH = (ROOT / "clients/python/langgraph-checkpoint/README.md").read_text(encoding="utf-8")

# Of each page: its example, and what its lines need that is a reader's own.
PAGES = {
    "LangGraph": (
        "langgraph_graph.py",
        """
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.graph import START, MessagesState, StateGraph

builder = StateGraph(MessagesState)
builder.add_node("serve", lambda state: {"messages": [AIMessage("Coming up.")]})
builder.add_edge(START, "serve")
""",
    ),
    "OpenAI Agents SDK": (
        "openai_agents.py",
        """
from agents import Agent, set_tracing_disabled
from agents.testing import ScriptedModel
from openai.types.responses import ResponseOutputMessage, ResponseOutputText

set_tracing_disabled(True)
said = ResponseOutputText(text="Coming up.", type="output_text", annotations=[])
model = ScriptedModel()
model.enqueue([ResponseOutputMessage(id="m", type="message", role="assistant", content=[said], status="completed")])
agent = Agent(name="host", model=model)
""",
    ),
    # Without a key there is no answer: what the SDK sends to the store is written by hand.
    "Claude Agent SDK": (
        "claude_agent.py",
        """
import claude_agent_sdk

async def query(prompt, options):
    key = {"project_key": "langgraph", "session_id": options.resume}
    entry = {"type": "user", "uuid": "u", "message": {"role": "user", "content": "A green tea, please."}}
    await options.session_store.append(key, [entry])
    yield "Coming up."

claude_agent_sdk.query = query
session_id = "s1"
""",
    ),
    "Strands": (
        "strands_agent.py",
        """
import sys

sys.argv[1:] = ["s0", "Hello"]
from strands_agent import Waiter

model = Waiter()
""",
    ),
    "Pydantic AI": (
        "pydantic_ai_agent.py",
        """
from pydantic_ai import Agent
from pydantic_ai.models.test import TestModel

agent = Agent(TestModel())
""",
    ),
}

# Runs lines as they would be typed: they may await.
TYPED = """
import ast, asyncio, sys

given, lines = sys.argv[1:3]
names = {"__name__": "typed"}
exec(given, names)
awaited = eval(compile(lines, "docs/frameworks.md", "exec", ast.PyCF_ALLOW_TOP_LEVEL_AWAIT), names)
if awaited is not None:
    asyncio.run(awaited)
"""


def section(heading: str) -> str:
    (found,) = re.findall(rf"^## {heading}\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL)
    return str(found)


def code(text: str) -> str:
    (block,) = re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    return str(block)


def run(*command: str | Path, server: Server) -> str:
    env = {**os.environ, "SESSIOND_URL": server.url}
    ran = subprocess.run(command, cwd=EXAMPLES, env=env, capture_output=True, encoding="utf-8", check=False)
    assert ran.returncode == 0, ran.stderr
    return ran.stdout


@pytest.mark.parametrize("heading", PAGES)
def test_a_newcomer(heading: str, own_server: Server, tmp_path: Path) -> None:
    example, given = PAGES[heading]
    (published,) = re.findall(r"^pip install (.*)$", section(heading), re.MULTILINE)
    install = published.replace("sessiond-client", "./clients/python/client")
    python = tmp_path / "venv/bin/python"
    subprocess.run([os.environ["UV"], "venv", "--quiet", "--python", sys.executable, tmp_path / "venv"], check=True)
    uv = [os.environ["UV"], "pip", "install", "--quiet", "--python", python]
    subprocess.run([*uv, *shlex.split(install)], cwd=ROOT, check=True)

    run(python, "-c", TYPED, given, code(section(heading)), server=own_server)
    with Client(own_server.url) as db:
        (session,) = (each for each in db.sessions("cafe") if each.id == "s1")
        events = list(db.session("cafe", session.user, "s1").events())
    assert "A green tea, please." in str(events)

    readme = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    transcript = re.findall(rf"^\$ \S+/bin/python ({example} .*)\n((?:[^$`].*\n)+)", readme, re.MULTILINE)
    assert transcript
    for command, shown in transcript:
        assert run(python, *shlex.split(command), server=own_server) == shown

    if heading == "LangGraph":
        # The package of LangGraph's name has the same.
        subprocess.run([*uv, "--no-deps", "./clients/python/langgraph-checkpoint"], cwd=ROOT, check=True)
        run(python, "-c", TYPED, given, code(LANGGRAPH), server=own_server)
