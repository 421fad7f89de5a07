"""Agents of ADK, run by ADK's own Runner, whose files are in sessiond."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
from google.adk.artifacts.base_artifact_service import BaseArtifactService
from google.adk.artifacts.in_memory_artifact_service import InMemoryArtifactService
from google.adk.plugins.save_files_as_artifacts_plugin import SaveFilesAsArtifactsPlugin
from google.adk.sessions.base_session_service import BaseSessionService
from google.adk.sessions.in_memory_session_service import InMemorySessionService
from google.adk.tools.load_artifacts_tool import load_artifacts_tool
from google.adk.tools.tool_context import ToolContext
from google.genai import types

from sessiond_adk import SessiondArtifactService, SessiondSessionService

from ..support.process import Server
from .model import call
from .test_runner import Talk, agent, requests

Services = tuple[BaseSessionService, BaseArtifactService]


@pytest.fixture(params=["ADK's own", "sessiond"])
async def services(request: pytest.FixtureRequest, server: Server) -> AsyncIterator[Services]:
    """What these tests say of agents on sessiond, they say of agents on ADK's own services, too."""
    if request.param == "sessiond":
        async with SessiondSessionService(server.url) as sessions, SessiondArtifactService(server.url) as artifacts:
            yield sessions, artifacts
    else:
        yield InMemorySessionService(), InMemoryArtifactService()


class FilesTalk(Talk):
    """A user's conversation with agents that have files."""

    def __init__(self, services: Services, app: str, agent: Any, **rest: Any) -> None:
        sessions, self.artifacts = services
        super().__init__(sessions, app, agent, artifacts=self.artifacts, **rest)
        self.names: dict[str, Any] = {"app_name": app, "user_id": "u", "session_id": "s"}

    async def load(self, name: str, version: int | None = None) -> types.Part | None:
        return await self.artifacts.load_artifact(**self.names, filename=name, version=version)

    async def versions(self, name: str) -> list[int]:
        return await self.artifacts.list_versions(**self.names, filename=name)


async def write(name: str, content: str, tool_context: ToolContext) -> dict[str, Any]:
    """A tool that writes a file, a text or, if it is a page, bytes."""
    as_bytes = types.Part(inline_data=types.Blob(data=content.encode(), mime_type="text/html"))
    part = as_bytes if name.endswith(".html") else types.Part(text=content)
    return {"version": await tool_context.save_artifact(name, part)}


def writes(name: str, content: str) -> types.Part:
    return call("write", name=name, content=content)


def page(content: str) -> types.Part:
    return types.Part(inline_data=types.Blob(data=content.encode(), mime_type="text/html"))


async def test_a_tool_saves_files_that_the_log_names(services: Services, app: str) -> None:
    calls = [writes("a/b.html", "<p>"), writes("note", "1"), writes("user:note", "mine")]
    talk = FilesTalk(services, app, agent("writer", calls, writes("note", "2"), "Done.", tools=[write]))
    events = await talk.say("Write.")
    session = await talk.session()
    assert session.events[1:] == events
    assert session.events[2].actions.artifact_delta == {"a/b.html": 0, "note": 0, "user:note": 0}
    assert session.events[4].actions.artifact_delta == {"note": 1}
    # Later, by another process, which has nothing but the names.
    later = FilesTalk(services, app, agent("reader"))
    assert await later.load("a/b.html") == page("<p>")
    assert [await later.load("note", at) for at in (0, 1)] == [types.Part(text="1"), types.Part(text="2")]
    assert await later.load("user:note") == types.Part(text="mine")


async def test_a_model_is_shown_the_files_that_it_asks_for(services: Services, app: str) -> None:
    asks = call("load_artifacts", artifact_names=["a/b.html", "user:note"])
    script = ([writes("a/b.html", "<p>Hällo"), writes("user:note", "mine")], "Done.", asks, "Read.")
    host = agent("host", *script, tools=[write, load_artifacts_tool])
    talk = FilesTalk(services, app, host)
    await talk.say("Write.")
    await talk.say("Read.")
    instruction = requests(host)[2].config.system_instruction
    assert "a/b.html" in instruction and "user:note" in instruction
    shown = [part for content in requests(host)[3].contents for part in content.parts or ()]
    seen = [part.text or (part.inline_data and (part.inline_data.data or b"").decode()) for part in shown]
    assert "<p>Hällo" in seen and "mine" in seen


async def test_what_the_user_uploads_is_a_file(services: Services, app: str) -> None:
    host = agent("host", "Thank you.")
    talk = FilesTalk(services, app, host, plugins=[SaveFilesAsArtifactsPlugin()])
    content = bytes(range(256)) * 4096
    blob = types.Blob(data=content, mime_type="image/png", display_name="my picture.png")
    await talk.say("Look:", types.Part(inline_data=blob))
    found = await talk.load("my picture.png")
    assert found and found.inline_data
    assert found.inline_data == blob
    events = (await talk.session()).events
    assert all(part.inline_data is None for event in events if event.content for part in event.content.parts or ())
    assert events[-1].author == "host"


async def test_a_rewind_restores_files(services: Services, app: str) -> None:
    turns = [
        [writes("kept", "0"), writes("page.html", "<p>0"), writes("user:note", "0")],
        "Written.",
        [writes("page.html", "<p>1"), writes("new", "0"), writes("new.html", "<p>")],
        writes("page.html", "<p>2"),
        "Written.",
        [writes("user:note", "1"), writes("new", "1")],
        "Written.",
    ]
    talk = FilesTalk(services, app, agent("host", *turns, [writes("new", "2")], "Again.", tools=[write]))
    ids = [(await talk.say(f"turn {at}"))[0].invocation_id for at in range(3)]
    before = await talk.session()
    assert await talk.load("page.html") == page("<p>2")

    await talk.runner.rewind_async(user_id="u", session_id="s", rewind_before_invocation_id=ids[1])
    after = await talk.session()
    assert after.events[:-1] == before.events
    assert after.events[-1].actions.artifact_delta == {"page.html": 3, "new": 2, "new.html": 1}
    assert await talk.load("kept") == types.Part(text="0")
    assert await talk.load("page.html") == page("<p>0")
    assert (await talk.load("new"), await talk.load("new.html")) == (None, None)
    # Files of the user stay, and so do all versions.
    assert await talk.load("user:note") == types.Part(text="1")
    assert [await talk.load("page.html", at) for at in range(3)] == [page(f"<p>{at}") for at in range(3)]
    assert [await talk.load("new", at) for at in range(2)] == [types.Part(text="0"), types.Part(text="1")]
    assert (await talk.versions("kept"), await talk.versions("new.html")) == ([0], [0, 1])

    await talk.say("Go on.")
    assert (await talk.versions("new"), await talk.load("new")) == ([0, 1, 2, 3], types.Part(text="2"))
    # Back to where the first rewind was made: what was not there then is gone again, and what was is back.
    await talk.runner.rewind_async(user_id="u", session_id="s", rewind_before_invocation_id=ids[2])
    assert await talk.load("page.html") == page("<p>2")
    assert (await talk.load("new"), await talk.load("new.html")) == (types.Part(text="0"), page("<p>"))
    assert await talk.load("kept") == types.Part(text="0")


async def test_a_rewind_may_be_made_again(services: Services, app: str) -> None:
    turns = [[writes("a", "0")], "Written.", [writes("a", "1"), writes("b", "0")], "Written."]
    talk = FilesTalk(services, app, agent("host", *turns, tools=[write]))
    ids = [(await talk.say(f"turn {at}"))[0].invocation_id for at in range(2)]
    for _ in range(2):
        await talk.runner.rewind_async(user_id="u", session_id="s", rewind_before_invocation_id=ids[1])
        assert (await talk.load("a"), await talk.load("b")) == (types.Part(text="0"), None)
    delta = [event.actions.artifact_delta for event in (await talk.session()).events]
    assert [each for each in delta if each] == [{"a": 0}, {"a": 1, "b": 0}, *[{"a": 2, "b": 1}, {"a": 3, "b": 2}]]
