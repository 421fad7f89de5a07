"""The code that the README shows runs as it stands there."""

import re
import textwrap
from pathlib import Path
from typing import Any

import httpx
import pytest
from google.adk.errors import StaleSessionError
from google.adk.tools.tool_context import ToolContext
from google.genai import types

from sessiond_adk import (
    SessiondArtifactService,
    SessiondInputError,
    SessiondMemoryService,
    SessiondSessionService,
    ops,
)

from ..support.process import Server
from .model import ScriptedModel, call, text
from .test_artifacts_runner import FilesTalk
from .test_ops import responses
from .test_runner import Talk, agent
from .test_service import event

README = (Path(__file__).resolve().parents[2] / "adk/README.md").read_text(encoding="utf-8")


def code(heading: str) -> list[str]:
    """The Python of a section."""
    (section,) = re.findall(rf"^## {heading}\n(.*?)(?=^## |\Z)", README, re.MULTILINE | re.DOTALL)
    return re.findall(r"^```python\n(.*?)^```", section, re.MULTILINE | re.DOTALL)


async def run(block: str, names: dict[str, Any]) -> dict[str, Any]:
    """Runs a block that may await; returns what it knows then."""
    exec(f"async def run():\n{textwrap.indent(block, '    ')}\n    return locals()", names)
    known: dict[str, Any] = await names["run"]()
    return known


async def test_the_past(service: SessiondSessionService, app: str) -> None:
    block, redact = code("Go back, fork, read the past")
    session = await service.create_session(app_name=app, user_id="ada", session_id="s", state={"k": 0})
    for n in range(1, 5):
        await service.append_event(session, event({"k": n}, content=types.UserContent("a password")))
    invocation = "i1"
    known = await run(block.replace('"cafe"', repr(app)), {"session_service": service, "invocation_id": invocation})
    assert known["now"].revision == 4
    assert (known["then"].state, known["state"], known["fork"].state) == ({"k": 2}, {"k": 0}, {"k": 2})
    assert (known["session"].state, len(known["session"].events)) == ({"k": 0}, 5)
    said = known["session"].events[0]
    await run(redact, {"session_service": service, "names": known["names"], "event": said})
    left = await service.get_session(**known["names"])
    assert left is not None and left.events[0].id == said.id
    assert (left.events[0].content, left.events[0].actions.state_delta) == (None, {"k": 1})


async def test_metadata_and_templates(service: SessiondSessionService, app: str) -> None:
    (block,) = code("Names, labels, expiry, lists")
    known = await run(block.replace('"cafe"', repr(app)), {"session_service": service})
    assert [found.id for found in known["found"].sessions] == [known["session"].id]
    assert known["more"] is None

    (template,) = code("Templates")
    names = {"app_name": app, "user_id": "ada", "session_id": known["session"].id}
    with pytest.raises(SessiondInputError, match="user:name"):
        await run(template, {"session_service": service, "names": names})
    await service.append_event(known["session"], event({"user:name": "Ada"}))
    known = await run(template, {"session_service": service, "names": names})
    assert known["text"] == "You help Ada with ."


async def test_tools(service: SessiondSessionService, app: str) -> None:
    counters, seats = code("Counters and lists")
    names: dict[str, Any] = {"ToolContext": ToolContext, "StaleSessionError": StaleSessionError, "ops": ops}
    exec(counters, names)
    exec(seats, names)
    calls = [call("place_order", item="tea"), call("take_seat", seat="window"), call("take_seat", seat="window")]
    script = (calls, lambda request: str(responses(request)))
    talk = Talk(service, app, agent("host", *script, tools=[names["place_order"], names["take_seat"]]))
    said = text((await talk.say("Tea by the window."))[-1].content)
    assert said == "[{'number': 1}, {'result': 'yours'}, {'result': 'taken'}]"
    assert (await talk.session()).state == {"app:orders": 1, "user:items": ["tea"], "app:window": "u"}


async def test_files(service: SessiondSessionService, server: Server, app: str) -> None:
    (block,) = code("Files")
    names: dict[str, Any] = {}
    exec(block, names)
    async with SessiondArtifactService(server.url) as artifacts:
        host = agent("host", call("write_report", text="Quiet."), "Done.", tools=[names["write_report"]])
        talk = FilesTalk((service, artifacts), app, host)
        await talk.say("Write the report.")
        page = types.Part.from_bytes(data=b"Quiet.", mime_type="text/html")
        assert await talk.load("reports/today.html") == page


async def test_memory(service: SessiondSessionService, server: Server, plain: httpx.Client, app: str) -> None:
    (block,) = code("Memory")
    plain.put(f"/apps/{app}/policy", json={"search": {"index": True}}).raise_for_status()
    for session_id in ("monday", "tuesday"):
        session = await service.create_session(app_name=app, user_id="ada", session_id=session_id)
        if session_id == "monday":
            await service.append_event(session, event({}, content=types.UserContent("Sencha, please.")))
    model = ScriptedModel(script=["Coming up."])
    async with SessiondMemoryService(server.url) as memory:
        names = {"session_service": service, "memory_service": memory, "model": model}
        known = await run(block.replace('"cafe"', repr(app)), names)
        message = types.UserContent("One more sencha.")
        asked = known["runner"].run_async(user_id="ada", session_id="tuesday", new_message=message)
        assert [text(event.content) async for event in asked] == ["Coming up."]
    assert "Sencha, please." in str(model.requests[0].model_dump())
