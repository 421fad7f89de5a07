"""Memory: the cases of ADK's own services, and what those cannot."""

import asyncio
from collections.abc import AsyncIterator, Callable
from datetime import datetime, timezone
from typing import Any

import httpx
import pytest
from google.adk.agents.llm_agent import LlmAgent
from google.adk.cli.service_registry import get_service_registry
from google.adk.events.event import Event
from google.adk.events.event_actions import EventActions
from google.adk.memory.base_memory_service import BaseMemoryService
from google.adk.memory.memory_entry import MemoryEntry
from google.adk.models.llm_request import LlmRequest
from google.adk.sessions.in_memory_session_service import InMemorySessionService
from google.adk.sessions.session import Session
from google.adk.tools.load_memory_tool import load_memory_tool
from google.adk.tools.preload_memory_tool import preload_memory_tool
from google.adk.tools.tool_context import ToolContext
from google.genai import types

from sessiond_adk import SessiondInputError, SessiondMemoryService, SessiondSessionService

from ..support.process import Server
from .model import ScriptedModel, call, text
from .test_runner import Talk

USER = {"user_id": "ada"}


@pytest.fixture
async def memory(server: Server) -> AsyncIterator[SessiondMemoryService]:
    async with SessiondMemoryService(server.url) as memory:
        yield memory


@pytest.fixture
def indexed(plain: httpx.Client, app: str) -> str:
    """The name of an app whose words are indexed."""
    plain.put(f"/apps/{app}/policy", json={"search": {"index": True}}).raise_for_status()
    return app


def said(words: str, author: str = "user", **fields: Any) -> Event:
    role = "user" if author == "user" else "model"
    content = types.Content(role=role, parts=[types.Part(text=words)])
    return Event(author=author, invocation_id="i", content=content, **fields)


Search = Callable[..., Any]


@pytest.fixture
def search(memory: SessiondMemoryService, indexed: str) -> Search:
    async def search(query: str, **who: Any) -> list[MemoryEntry]:
        found = await memory.search_memory(**{"app_name": indexed, **USER, "query": query, **who})
        return list(found.memories)

    return search


def texts(entries: list[MemoryEntry]) -> list[str]:
    return [text(entry.content) for entry in entries]


async def talk(service: SessiondSessionService, app: str, *events: Event, session_id: str = "s", **who: Any) -> Session:
    names: dict[str, Any] = {"app_name": app, **USER, **who}
    session = await service.get_session(**names, session_id=session_id)
    session = session or await service.create_session(**names, session_id=session_id)
    for event in events:
        await service.append_event(session, event)
    return session


@pytest.mark.both_databases
async def test_what_was_said_is_remembered(service: SessiondSessionService, search: Search, indexed: str) -> None:
    first = said("My favourite tea is Sencha.", timestamp=1_700_000_000.5)
    await talk(service, indexed, first, said("Noted: Sencha.", "waiter"))
    await talk(service, indexed, said("I live in Bremen."), session_id="other/s")
    await talk(service, indexed, said("Sencha is mine"), user_id="bob")
    best, other = await search("which SENCHA is my favourite?")
    assert text(best.content) == "My favourite tea is Sencha." and text(other.content) == "Noted: Sencha."
    assert (best.author, other.author, best.content.role, other.content.role) == ("user", "waiter", "user", "model")
    assert best.timestamp == datetime.fromtimestamp(1_700_000_000.5, timezone.utc).isoformat()
    assert best.custom_metadata == {"session_id": "s", "event_id": first.id}
    (bremen,) = await search("Bremen")
    assert bremen.id and bremen.id.startswith("other%2Fs/")
    # Words are whole, as in ADK's services.
    assert await search("Brem") == []
    assert await search("Bremen", user_id="bob") == [] and await search("Bremen", user_id="nobody") == []
    assert texts(await search("Bremen Sencha", except_session_id="s")) == ["I live in Bremen."]


async def test_queries_without_words_and_long_ones(
    service: SessiondSessionService, search: Search, indexed: str
) -> None:
    await talk(service, indexed, said("Tea!"))
    for query in ("", " ", "?!", "\n"):
        assert await search(query) == []
    assert texts(await search("tea " * 100_000)) == ["Tea!"]
    assert texts(await search("is 'tea' % OR AND \" * NEAR(")) == ["Tea!"]


async def test_scripts_and_accents(service: SessiondSessionService, search: Search, indexed: str) -> None:
    japanese, french = "私はPythonを使う", "Le café est brûlé"
    await talk(service, indexed, said(japanese), said(french))
    for query, found in [("Python", japanese), ("使う", japanese), ("cafe", french), ("BRULÉ", french)]:
        assert texts(await search(query)) == [found]
    assert await search("thon") == []


async def test_the_best_first_and_not_all(server: Server, service: SessiondSessionService, indexed: str) -> None:
    await talk(service, indexed, *(said(f"tea number {n}") for n in range(15)), said("green tea with milk"))
    async with SessiondMemoryService(server.url) as memory:
        names: dict[str, Any] = {"app_name": indexed, **USER}
        found = (await memory.search_memory(**names, query="green tea milk")).memories
        assert len(found) == 10 and text(found[0].content) == "green tea with milk"
        assert texts(found[1:3]) == ["tea number 14", "tea number 13"]
        # The question itself is no memory.
        found = (await memory.search_memory(**names, query=" green tea  with milk")).memories
        assert len(found) == 10 and "green tea with milk" not in texts(found)
    async with SessiondMemoryService(server.url, limit=2) as memory:
        assert len((await memory.search_memory(**names, query="tea")).memories) == 2
    for limit in (0, 101):
        with pytest.raises(ValueError, match="limit"):
            SessiondMemoryService(server.url, limit=limit)


async def test_only_text_is_remembered(service: SessiondSessionService, search: Search, indexed: str) -> None:
    parts = [
        types.Part(text="plan: tea", thought=True),
        types.Part(text="Here is tea"),
        types.Part(inline_data=types.Blob(data=b"x", mime_type="image/png")),
    ]
    event = Event(author="waiter", content=types.Content(role="model", parts=parts))
    await talk(service, indexed, event, Event(author="waiter"))
    (entry,) = await search("tea")
    assert entry.content.parts == [types.Part(text="Here is tea")]
    assert await search("plan") == []


@pytest.mark.both_databases
async def test_what_is_taken_back_is_forgotten(
    service: SessiondSessionService, memory: SessiondMemoryService, search: Search, indexed: str, plain: httpx.Client
) -> None:
    names: dict[str, Any] = {"app_name": indexed, **USER, "session_id": "s"}
    await talk(service, indexed, said("password one"))
    session = await talk(service, indexed, said("password two"))
    await memory.add_session_to_memory(session)
    await service.rewind_session(session, to_revision=1)
    assert texts(await search("password")) == ["password one"]
    (entry,) = await search("password")
    await service.redact_event(**names, event_id=entry.custom_metadata["event_id"])
    assert await search("password") == []
    await talk(service, indexed, said("password three"), session_id="t")
    assert texts(await search("password")) == ["password three"]
    await service.delete_session(**{**names, "session_id": "t"})
    assert await search("password") == []
    await talk(service, indexed, said("password four"), session_id="u")
    assert plain.post(f"/apps/{indexed}/users/ada/erasure", json={}).is_success
    assert await search("password") == []


async def test_a_session_that_is_here_is_only_looked_at(
    service: SessiondSessionService, memory: SessiondMemoryService, search: Search, indexed: str, plain: httpx.Client
) -> None:
    events = [said("black tea"), said("white tea", "waiter")]
    session = await talk(service, indexed, *events)
    for _ in range(2):
        await memory.add_session_to_memory(session)
        names: dict[str, Any] = {"app_name": indexed, **USER}
        await memory.add_events_to_memory(**names, events=events[:1], session_id="s")
        # As another session service would have loaded it.
        copy = Session(app_name=indexed, user_id="ada", id="s", events=session.events)
        await memory.add_session_to_memory(copy)
    assert len(await search("tea")) == 2
    sessions = plain.get(f"/apps/{indexed}/users/ada/sessions").json()["sessions"]
    assert [(each["id"], each["revision"]) for each in sessions] == [("s", 2)]
    await service.delete_session(**names, session_id="s")
    with pytest.raises(Exception, match="not found"):
        await memory.add_session_to_memory(session)


async def test_sessions_of_elsewhere_are_kept_once(
    memory: SessiondMemoryService, search: Search, indexed: str, plain: httpx.Client
) -> None:
    elsewhere = InMemorySessionService()
    session = await elsewhere.create_session(app_name=indexed, user_id="ada", session_id="far")
    first = said("oolong tea", actions=EventActions(state_delta={"user:x": 1}))
    await elsewhere.append_event(session, first)
    await elsewhere.append_event(session, Event(author="waiter"))
    for _ in range(2):
        await memory.add_session_to_memory(session)
    await elsewhere.append_event(session, said("assam tea", "waiter"))
    await asyncio.gather(*(memory.add_session_to_memory(session) for _ in range(4)))
    assert sorted(texts(await search("tea"))) == ["assam tea", "oolong tea"]
    kept = plain.get(f"/apps/{indexed}/users/ada/sessions/memories").json()
    assert kept["revision"] == 2 and kept["state"] == {}
    assert kept["events"][0]["timestamp"] == first.timestamp and kept["events"][0]["id"] == first.id
    # An event that was changed there is what it was; the others are kept all the same.
    names: dict[str, Any] = {"app_name": indexed, **USER}
    changed = [said("other tea", id=first.id), said("mint tea")]
    await memory.add_events_to_memory(**names, events=changed, session_id="far", custom_metadata={"source": "crm"})
    assert sorted(texts(await search("tea"))) == ["assam tea", "mint tea", "oolong tea"]
    (mint,) = await search("mint")
    assert mint.custom_metadata == {"source": "crm", "session_id": "memories", "event_id": changed[1].id}
    # What was deleted is not taken for new.
    await memory.delete_memory(**names, memory_id=mint.id)
    await memory.add_events_to_memory(**names, events=changed)
    assert sorted(texts(await search("tea"))) == ["assam tea", "oolong tea"]
    await memory.add_events_to_memory(**names, events=[])


async def test_memories_of_ones_own(memory: SessiondMemoryService, search: Search, indexed: str) -> None:
    names: dict[str, Any] = {"app_name": indexed, **USER}

    def entry(words: str, **fields: Any) -> MemoryEntry:
        return MemoryEntry(content=types.Content(parts=[types.Part(text=words)]), **fields)

    entries = [
        entry("likes jasmine", id="fact 1", author="crm", custom_metadata={"kind": "taste"}),
        entry("likes hiking", timestamp="2026-01-02T03:04:05Z"),
        entry("likes chess", timestamp=datetime.fromtimestamp(1_700_000_000).isoformat()),
    ]
    await memory.add_memory(**names, memories=entries, custom_metadata={"from": "import"})
    await memory.add_memory(**names, memories=entries[:1], custom_metadata={"from": "import"})
    assert len(await search("likes")) == 3
    (jasmine,), (hiking,), (chess,) = [await search(word) for word in ("jasmine", "hiking", "chess")]
    assert (jasmine.id, jasmine.author) == ("memories/fact%201", "crm")
    assert jasmine.custom_metadata == {
        **{"from": "import", "kind": "taste"},
        **{"session_id": "memories", "event_id": "fact 1"},
    }
    assert hiking.author is None and hiking.timestamp == "2026-01-02T03:04:05+00:00"
    assert chess.timestamp == datetime.fromtimestamp(1_700_000_000, timezone.utc).isoformat()
    for id in (hiking.id, "fact 1", None, "", "never was", "no/such", "memories/never was"):
        await memory.delete_memory(**names, memory_id=id)
    assert texts(await search("likes")) == ["likes chess"]
    with pytest.raises(SessiondInputError):
        await memory.add_memory(**names, memories=[entry("likes nothing", timestamp="yesterday")])


async def test_names_are_looked_at(memory: SessiondMemoryService) -> None:
    with pytest.raises(SessiondInputError):
        await memory.search_memory(app_name="", user_id="ada", query="tea")


def test_it_has_what_a_memory_service_has() -> None:
    for name in vars(BaseMemoryService):
        if not name.startswith("_"):
            assert name in vars(SessiondMemoryService), name


async def asked(of: Talk, session_id: str, words: str) -> str:
    """What the agent answers last, in a session of its own."""
    of.id = session_id
    return text((await of.say(words))[-1].content)


def waiter(
    app: str, model: ScriptedModel, tool: Any, sessions: SessiondSessionService, memory: BaseMemoryService
) -> Talk:
    return Talk(sessions, app, LlmAgent(name="waiter", model=model, tools=[tool]), "ada", memory=memory)


@pytest.mark.both_databases
async def test_agents_look_it_up(service: SessiondSessionService, memory: SessiondMemoryService, indexed: str) -> None:
    def repeat(request: LlmRequest) -> str:
        return str(request.contents[-1].model_dump())

    model = ScriptedModel(script=["Sencha it is.", call("load_memory", query="favourite tea"), repeat])
    runs = waiter(indexed, model, load_memory_tool, service, memory)
    await asked(runs, "monday", "My favourite tea is sencha.")
    assert "My favourite tea is sencha." in await asked(runs, "tuesday", "What do I drink?")


async def test_agents_are_told_before_they_answer(
    service: SessiondSessionService, memory: SessiondMemoryService, indexed: str
) -> None:
    model = ScriptedModel(script=["Noted.", "Sencha."])
    runs = waiter(indexed, model, preload_memory_tool, service, memory)
    await asked(runs, "monday", "My favourite tea is sencha.")
    await asked(runs, "tuesday", "Which tea is my favourite?")
    first, second = [
        "".join(text(content) for content in request.contents if "PAST_CONVERSATIONS" in text(content))
        for request in model.requests
    ]
    assert first == ""
    assert "user: My favourite tea is sencha." in second and "Which tea" not in second


async def test_tools_may_say_what_is_to_be_remembered(
    service: SessiondSessionService, memory: SessiondMemoryService, search: Search, indexed: str
) -> None:
    async def remember(fact: str, tool_context: ToolContext) -> None:
        entry = MemoryEntry(content=types.Content(parts=[types.Part(text=fact)]))
        await tool_context.add_memory(memories=[entry])
        await tool_context.add_session_to_memory()

    model = ScriptedModel(script=[call("remember", fact="allergic to nuts"), "Noted."])
    await asked(waiter(indexed, model, remember, service, memory), "monday", "Take care.")
    (entry,) = await search("nuts")
    assert text(entry.content) == "allergic to nuts"


async def test_the_uri_of_adk(server: Server, service: SessiondSessionService, indexed: str) -> None:
    await talk(service, indexed, *(said(f"tea {n}") for n in range(5)))
    registry = get_service_registry()
    uri = server.url.replace("http://", "sessiond://")
    made = registry.create_memory_service(f"{uri}?limit=3&timeout=2.5", agents_dir=".")
    assert isinstance(made, SessiondMemoryService)
    async with made:
        assert len((await made.search_memory(app_name=indexed, user_id="ada", query="tea")).memories) == 3
    for query in ("limit=many", "concurrency=none", "limit=0"):
        with pytest.raises(ValueError, match="limit"):
            registry.create_memory_service(f"{uri}?{query}")
