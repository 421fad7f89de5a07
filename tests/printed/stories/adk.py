import asyncio
import os
import subprocess
from pathlib import Path

from google.adk.agents import LlmAgent
from google.adk.events import Event
from google.adk.runners import Runner
from google.adk.tools.tool_context import ToolContext
from google.genai import types
from sessiond_adk import SessiondAccessError, SessiondSessionService, ops
from tests.adk.model import ScriptedModel, call

<<< clients/python/adk/README.md: SessiondMemoryService, SessiondSessionService
<<< clients/python/adk/README.md: history="effective"
<<< clients/python/adk/README.md: concurrency="lease"

key = "a-key"
<<< clients/python/adk/README.md: From a function


printed = []


def print(*words):
    printed.append(words)


async def follow(stored_cursor):
    <<< clients/python/adk/README.md: CaughtUp, EventItem


async def mint(session_service):
    <<< clients/python/adk/README.md: mint_token


model = ScriptedModel(script=[call("take_order", drink="green tea"), "Coming."])
<<< docs/clients.md: async def take_order


async def all_of_it():
    await main()
    session = await session_service.get_session(app_name="cafe", user_id="ada", session_id="s")
    assert session.state["user:usual"] == "green tea" and session.state["app:orders"] >= 1, session.state
    following = asyncio.create_task(follow(None))
    while ("What follows is new.",) not in printed:
        await asyncio.sleep(0.01)
    await session_service.delete_session(app_name="cafe", user_id="ada", session_id="s")
    await following
    try:
        await mint(session_service)
    except SessiondAccessError as error:
        assert error.status == 403
    else:
        raise AssertionError("a server without keys mints")
    made = [os.environ["SESSIOND_BIN"], "keys", "create", "--name", "k", "--role", "agent", "--apps", "cafe"]
    key = subprocess.run(made, stdout=subprocess.PIPE, encoding="utf-8", check=True).stdout.strip()
    for _ in range(100):
        try:
            minted = await mint(SessiondSessionService(os.environ["SESSIOND_URL"], token=key))
            break
        except SessiondAccessError:
            await asyncio.sleep(0.1)
    assert minted["token"].startswith("sdu_")


asyncio.run(all_of_it())
